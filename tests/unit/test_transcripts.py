"""Are calls and their results read from transcripts as they were, and is every line that cannot be read named?"""

import io
import json
import tracemalloc
from typing import Any

import pytest

from sideeffects import transcripts
from sideeffects.transcripts import BadLine, Conversation


def call(name, arguments: Any = "{}", id_="call_1", **more):
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def asked(*calls):
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def result(content: Any, id_: str | None = "call_1"):
    return {"role": "tool", "tool_call_id": id_, "content": content}


def line(*messages, conversation: Any = "c", **more):
    return json.dumps({"conversation": conversation, "messages": list(messages), **more}).encode()


def read(*lines):
    return list(transcripts.read(io.BytesIO(b"\n".join(lines))))


def calls_of(*messages):
    [conversation] = read(line(*messages))
    assert isinstance(conversation, Conversation), str(conversation)
    return [(use.tool, use.result) for use in conversation.calls]


def fault(*lines):
    [bad] = read(*lines)
    assert isinstance(bad, BadLine)
    return str(bad)


# -- Which result belongs to which call -------------------------------------------------------------------------------


def test_results_come_in_any_order_within_their_message():
    both = asked(call("a", id_="1"), call("b", id_="2"))
    assert calls_of(both, result("B", "2"), result("A", "1")) == [("a", "A"), ("b", "B")]


def test_an_id_used_again_means_the_newest_call():
    assert calls_of(asked(call("a")), result("A"), asked(call("b")), result("B")) == [("a", "A"), ("b", "B")]


def test_an_id_used_again_never_gives_an_older_call_the_newer_result():
    assert calls_of(asked(call("a")), asked(call("b")), result("B")) == [("a", None), ("b", "B")]


def test_one_id_twice_in_a_message_goes_by_order():
    assert calls_of(asked(call("a"), call("b")), result("A"), result("B")) == [("a", "A"), ("b", "B")]


def test_a_result_without_an_id_goes_to_the_first_call_that_waits():
    both = asked(call("a", id_="1"), call("b", id_="2"))
    assert calls_of(both, result("A", None), result("B", None)) == [("a", "A"), ("b", "B")]


def test_a_result_that_comes_late_finds_its_call():
    assert calls_of(asked(call("a", id_="1")), asked(call("b", id_="2")), result("B", "2"), result("A", "1")) == [
        ("a", "A"),
        ("b", "B"),
    ]


def test_a_call_without_a_result_has_none():
    assert calls_of(asked(call("a", id_="1"), call("b", id_="2")), result("", "2")) == [("a", None), ("b", "")]


def test_the_older_form_of_calls_is_read_too():
    older = {"role": "assistant", "content": None, "function_call": {"name": "a", "arguments": "{}"}}
    assert calls_of(older, {"role": "function", "name": "a", "content": "A"}) == [("a", "A")]


def test_a_result_in_parts_is_one_text():
    parts = [{"type": "text", "text": "Err"}, {"type": "text", "text": "or"}]
    assert calls_of(asked(call("a")), result(parts)) == [("a", "Error")]


def test_other_messages_and_other_members_are_not_read():
    talk = [{"role": role, "content": "x", "extra": 1} for role in ("system", "developer", "user", "assistant")]
    assert calls_of(*talk) == []
    [conversation] = read(line(*talk, model="gpt", run="r"))
    assert (conversation.name, conversation.run, conversation.line) == ("c", "r", 1)


# -- Arguments --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ('{"a": 1}', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ("", {}),
        (" ", {}),
        ('{"id": 1180422931839467521}', {"id": 1180422931839467521}),
    ],
)
def test_arguments_are_read(written, arguments):
    [conversation] = read(line(asked(call("a", written))))
    [use] = conversation.calls
    assert (use.arguments, use.readable) == (arguments, True)


@pytest.mark.parametrize(
    "written",
    [
        '{"a": 1',
        "[1]",
        "null",
        "NaN",
        '{"a": NaN}',
        '{"a": 1, "a": 2}',
        '{"a": "\\ud800"}',
        "\ud800",
        "[" * 100_000,
        '{"a":' * 5_000 + "1" + "}" * 5_000,
        "9" * 10_000,
    ],
    ids=lambda text: ascii(text)[:20],
)
def test_what_a_model_wrote_instead_of_arguments_is_kept_as_text_so_that_the_call_is_not_lost(written):
    [conversation] = read(line(asked(call("a", written)), result("ok")))
    [use] = conversation.calls
    assert (use.readable, use.result) == (False, "ok")
    assert set(use.arguments) == {transcripts.UNREADABLE}
    use.arguments[transcripts.UNREADABLE].encode()


# -- Lines that cannot be read ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        (b"{", "line 1 is not JSON"),
        (b"\xff{}", "line 1 is not UTF-8 at byte 0"),
        (b"[1]", "line 1 is no object"),
        (b"[" * 100_000, "line 1 is JSON that no reader"),
        (b'{"conversation": "a", "conversation": "b", "messages": []}', "line 1: conversation: stands there twice"),
        (b'{"messages": []}', "line 1: conversation: is missing"),
        (b'{"conversation": "a"}', "line 1: messages: is missing"),
        (line(conversation=7), "line 1: conversation: right is a text"),
        (line(conversation=""), "line 1: conversation: has 1 to 200"),
        (line(conversation="x" * 201), "line 1: conversation: has 1 to 200"),
        (line(conversation="\u200b \u2066"), "line 1: conversation: needs at least one visible character"),
        (line(conversation="a\0b"), "line 1: conversation: has 1 to 200 characters, and no NUL"),
        (line(run=3), "line 1: run: right is a text"),
        (line(7), "line 1: messages[0]: right is an object"),
        (line({"role": "asistant"}), "line 1: messages[0].role: right is one of"),
        (line({"role": "user", "tool_calls": [call("a")]}), "line 1: messages[0].tool_calls: only an assistant"),
        (line({"role": "assistant", "tool_calls": {}}), "line 1: messages[0].tool_calls: right is a list"),
        (line(asked(7)), "line 1: messages[0].tool_calls[0]: right is an object"),
        (line(asked(call("a"), {"id": "1"})), "line 1: messages[0].tool_calls[1].function: is missing"),
        (line(asked(call("a", type="custom"))), "line 1: messages[0].tool_calls[0].type: right is function"),
        (line(asked(call("a", id_=7))), "line 1: messages[0].tool_calls[0].id: right is a text"),
        (line(asked(call(""))), "line 1: messages[0].tool_calls[0].function.name: has 1 to 200"),
        (line(asked(call("a", [1]))), "line 1: messages[0].tool_calls[0].function.arguments: right is JSON in a text"),
        (line(result("x")), "line 1: messages[0].tool_call_id: no call before this result waits for it"),
        (line(asked(call("a")), result("x"), result("x")), "line 1: messages[2].tool_call_id: no call"),
        (line(asked(call("a")), result("x", "other")), "line 1: messages[1].tool_call_id: no call"),
        (line(asked(call("a")), result(7)), "line 1: messages[1].content: right is a text"),
        (line(asked(call("a")), result([{"type": "image_url"}])), "line 1: messages[1].content: right is a text"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_line_that_cannot_be_read_is_named_with_its_member(bad, named):
    assert fault(bad).startswith(named)


def test_the_lines_after_a_bad_one_are_read():
    found = read(line(conversation="a"), b"", b"{", line(conversation="b"), b"  \r", b"]")
    assert [getattr(item, "name", None) for item in found] == ["a", None, "b", None]
    assert [item.line for item in found] == [1, 3, 4, 6]


def test_a_line_without_an_end_is_named_and_passed_over_without_being_held(monkeypatch):
    monkeypatch.setattr(transcripts, "LONGEST_LINE", 1000)
    found = read(b'{"a": "' + b"x" * 10_000, line(conversation="b"))
    assert str(found[0]) == "line 1 is longer than 1000 bytes"
    assert found[1].name == "b"
    assert read(b"x" * 5_000)[0].line == 1


def test_a_byte_order_mark_and_windows_ends_of_lines_are_nothing():
    [conversation] = read(b"\xef\xbb\xbf" + line() + b"\r")
    assert conversation.name == "c"


def test_memory_does_not_grow_with_the_file():
    def peak(count):
        one = line(*[message for _ in range(4) for message in (asked(call("a", '{"n": 1}')), result("x" * 500))])

        class Long(io.BytesIO):
            left = count

            def readline(self, size: int | None = -1, /) -> bytes:
                self.left -= 1
                return one + b"\n" if self.left >= 0 else b""

        tracemalloc.start()
        for _ in transcripts.read(Long()):
            pass
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    peak(2)
    assert peak(200) < 1.5 * peak(10)
