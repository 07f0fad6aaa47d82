"""Can text that an agent wrote do anything on a page?"""

import pytest

from audit.inert import shows_nothing, visible


def test_controls_and_bidirectional_characters_are_written_out():
    assert visible("a\u202eb\x00c\u2066\n") == "a⟨U+202E⟩b⟨U+0000⟩c⟨U+2066⟩⟨U+000A⟩"


def test_letters_of_any_script_stay_as_they_are():
    assert visible("Ärger, 日本, שלום, 🎉") == "Ärger, 日本, שלום, 🎉"


@pytest.mark.parametrize("text", ["", " \u00a0\n", "\u200b\u200d", "\u202e \ufeff"])
def test_text_without_anything_to_see_is_told_from_words(text):
    assert shows_nothing(text)
    assert not shows_nothing(f"{text}x")
