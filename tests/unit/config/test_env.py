"""Does a setting that cannot be meant stop the start?"""

import pytest

from config import env


@pytest.mark.parametrize(("value", "meant"), [("", False), ("1", True), ("YES", True), ("off", False), (" 0 ", False)])
def test_a_flag_is_yes_or_no(monkeypatch, value, meant):
    monkeypatch.setenv("TAKEBACK_X", value)
    assert env.flag("TAKEBACK_X") is meant


@pytest.mark.parametrize("value", ["2", "maybe", "-1"])
def test_any_other_flag_is_refused(monkeypatch, value):
    monkeypatch.setenv("TAKEBACK_X", value)
    with pytest.raises(env.BadSettingError, match="TAKEBACK_X"):
        env.flag("TAKEBACK_X")


@pytest.mark.parametrize("value", ["0", "-3", "3.5", "٣", "many"])
def test_a_number_below_the_least_or_none_at_all_is_refused(monkeypatch, value):
    monkeypatch.setenv("TAKEBACK_X", value)
    with pytest.raises(env.BadSettingError, match="at least 1"):
        env.number("TAKEBACK_X", 5, least=1)


def test_words_lose_their_blanks(monkeypatch):
    monkeypatch.setenv("TAKEBACK_X", " a, b ,,c")
    assert env.words("TAKEBACK_X", []) == ["a", "b", "c"]
    monkeypatch.delenv("TAKEBACK_X")
    assert env.words("TAKEBACK_X", ["d"]) == ["d"]


def test_a_secret_is_made_once_for_its_owner_alone(monkeypatch, tmp_path):
    monkeypatch.delenv("TAKEBACK_X", raising=False)
    kept = tmp_path / "keys" / "secret"
    first = env.secret("TAKEBACK_X", kept)
    assert env.secret("TAKEBACK_X", kept) == first
    assert len(first) >= 50
    assert kept.stat().st_mode & 0o777 == 0o600
    assert list(kept.parent.iterdir()) == [kept]
