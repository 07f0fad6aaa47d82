"""Is JSON read strictly, and is what is wrong named by its path?"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sideeffects.api.parsers import DEEPEST, BadBodyError, parse


def errors(body: bytes) -> list[tuple[str, str]]:
    """Return what the parser names as wrong."""
    with pytest.raises(BadBodyError) as caught:
        parse(body)
    return [(error["member"], error["detail"]) for error in caught.value.errors]


def test_what_is_fine_is_read_as_it_stands():
    body = {"a": [1, -2.5, True, None, "ü \U0001f600"], "": {"b": {}}}
    assert parse(json.dumps(body).encode()) == body
    assert parse(json.dumps(body, ensure_ascii=False).encode()) == body


@pytest.mark.parametrize(
    ("body", "member", "words"),
    [
        (b'{"effects": [{}, {"id": "a", "id": "b"}]}', "effects[1].id", "more than once"),
        (b'{"a": 1, "a": 1}', "a", "more than once"),
        (b'{"a": {"b": NaN}}', "a.b", "NaN"),
        (b"[-Infinity]", "[0]", "Infinity"),
        (b'{"a": 1e400}', "a", "Larger"),
        (b'{"a": 18446744073709551616}', "a", "64 bits"),
        (b'{"a": ' + b"9" * 5000 + b"}", "a", "64 bits"),
        (b'{"a": "x\\u0000y"}', "a", "NUL"),
        (b'{"a": ["\\ud800"]}', "a[0]", "surrogate"),
        (b'{"a": {"\\u0000": 1}}', "a", "NUL"),
        (b'{"\\udfff": 1}', "", "surrogate"),
        (b'"\\u0000"', "", "NUL"),
    ],
)
def test_a_bad_member_is_named_by_its_path(body: bytes, member: str, words: str):
    found = errors(body)
    assert [name for name, _ in found] == [member]
    assert words in found[0][1]


def test_every_bad_member_is_named_at_once():
    assert {name for name, _ in errors(b'{"a": NaN, "b": [1, "\\u0000"], "c": 1e999}')} == {"a", "b[1]", "c"}


def test_a_list_of_errors_stays_readable():
    assert len(errors(b"[" + b"NaN," * 5000 + b"NaN]")) == 50


@pytest.mark.parametrize(
    "body", [b"", b"{", b"nul", b'{"a": 1,}', b"\xff\xfe", b'"\xed\xa0\x80"', b"\xef\xbb\xbf{}", b"{} {}"]
)
def test_what_is_no_json_is_refused_in_words(body: bytes):
    assert errors(body) == []


@pytest.mark.parametrize(
    "deep", [b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 50_000 + b"1" + b"}" * 50_000]
)
def test_deep_nesting_is_refused_and_exhausts_nothing(deep: bytes):
    with pytest.raises(BadBodyError, match=r"too deeply|cannot be read|Not JSON"):
        parse(deep)


def test_what_is_wrong_with_the_whole_is_said_without_words_of_python():
    for body, words in ((b"\xef\xbb\xbf{}", "without one"), (b"[" * 100_000, "The body is nested too deeply")):
        with pytest.raises(BadBodyError, match=words) as caught:
            parse(body)
        assert "sig" not in str(caught.value)


def test_the_depth_that_is_allowed_is_read():
    assert parse(b"[" * DEEPEST + b"]" * DEEPEST)
    assert "too deeply" in errors(b"[" * (DEEPEST + 2) + b"]" * (DEEPEST + 2))[0][1]


def test_surrogate_pairs_are_one_character():
    assert parse(b'"\\ud83d\\ude00"') == "\U0001f600"


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(body: bytes):
    try:
        parse(body)
    except BadBodyError:
        return


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), inner)
    ),
    max_leaves=20,
)


@given(plain)
def test_honest_json_is_never_refused(value: object):
    assert parse(json.dumps(value).encode()) == value
