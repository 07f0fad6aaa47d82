"""Are notes, checkpoints and receipts those that public tools read, and is everything else refused?"""

import pytest

from audit import merkle, note
from tests.unit.audit import vectors

KEY = note.make_signer("example.com/log")
HEAD = note.Head("example.com/log", 5, b"r" * 32)


def test_the_specifications_own_note_opens():
    given = vectors.own()["note"]
    verifier = note.read_verifier(given["vkey"])
    text, signed = note.open_note(given["note"], [verifier])
    assert text == "This is an example message.\n"
    assert signed == [verifier]
    assert str(verifier) == given["vkey"]


def test_a_real_tree_head_opens_though_its_origin_is_not_its_keys_name():
    given = vectors.own()["checkpoint"]
    head = note.open_checkpoint(given["checkpoint"], [note.read_verifier(given["vkey"])])
    assert (head.origin, head.size) == ("go.sum database tree", 35225469)
    assert given["checkpoint"].startswith(str(head))


def test_what_is_signed_opens_and_the_key_survives_its_file():
    again = note.read_signer(KEY.skey + "\n")
    signed = note.sign(str(HEAD), again)
    assert note.open_checkpoint(signed, [note.read_verifier(str(KEY.verifier))]) == HEAD
    assert KEY.skey not in repr(KEY)


def test_signatures_by_strangers_are_ignored_and_a_false_one_spoils_the_note():
    stranger = note.make_signer("other.example")
    both = note.sign(str(HEAD), stranger, KEY)
    assert note.open_checkpoint(both, [KEY.verifier]) == HEAD
    with pytest.raises(note.UnsignedError, match="none"):
        note.open_checkpoint(note.sign(str(HEAD), stranger), [KEY.verifier])
    altered = both.replace("\n5\n", "\n6\n")
    with pytest.raises(note.UnsignedError, match="false"):
        note.open_checkpoint(altered, [KEY.verifier])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no signatures\n",
        "text\n\n",
        "text\n\n— example.com/log\n",
        "text\n\n— example.com/log AAAA\n",
        "text\n\n- example.com/log AAAAAAAA\n",
        "text\n\n— example.com/log AAAAAAA=",
        "text\n\n— a+b AAAAAAAA\n",
        "te\rxt\n\n— example.com/log AAAAAAAA\n",
        "text\n\n" + "— example.com/log AAAAAAAA\n" * 101,
        "t" * 1_000_001 + "\n\n— example.com/log AAAAAAAA\n",
    ],
)
def test_what_is_no_note_is_refused(text):
    with pytest.raises(note.BadNoteError):
        note.open_note(text, [KEY.verifier])


@pytest.mark.parametrize(
    "text",
    [
        "origin\n5\n",
        "origin\n05\nAAAA\n",
        "origin\n-5\n" + "A" * 43 + "=\n",
        "\n5\n" + "A" * 43 + "=\n",
        "origin\n5\nAAAA\n",
        "origin\n5\n" + "A" * 42 + "B=\n",
        "origin\n5\n" + "A" * 43 + "=\n\nextension\n",
        "origin\n99999999999999999999\n" + "A" * 43 + "=\n",
    ],
)
def test_what_is_no_checkpoint_is_refused(text):
    with pytest.raises(note.BadNoteError):
        note.read_head(text)


def test_extension_lines_are_passed_over():
    assert note.read_head(f"{HEAD}more\n") == HEAD


@pytest.mark.parametrize(
    "vkey",
    ["", "a+b", "a+00000000+AAAA", "a b+00000000+x", pytest.param("x" + str(KEY.verifier), id="another name")],
)
def test_what_is_no_key_is_refused(vkey):
    with pytest.raises(note.BadNoteError):
        note.read_verifiers(vkey)


def test_a_private_key_is_no_public_one_nor_the_other_way_round():
    with pytest.raises(note.BadNoteError):
        note.read_verifier(KEY.skey)
    with pytest.raises(note.BadNoteError):
        note.read_signer(str(KEY.verifier))


def test_a_receipt_comes_back_as_it_was_written():
    leaves = [bytes([number]) * 32 for number in range(5)]
    tree = merkle.tree_of(leaves)
    signed = note.sign(str(note.Head("example.com/log", 5, tree.root(5))), KEY)
    proof = note.Proof(3, tuple(tree.inclusion(3, 5)), signed, b'{"action":"x"}')
    assert note.read_proof(str(proof)) == proof
    assert str(proof).startswith("c2sp.org/tlog-proof@v1\nextra ")
    bare = note.Proof(0, (), signed)
    assert note.read_proof(str(bare)) == bare


@pytest.mark.parametrize(
    "text",
    [
        "",
        "c2sp.org/tlog-proof@v2\nindex 0\n\nx",
        "c2sp.org/tlog-proof@v1\n\nx",
        "c2sp.org/tlog-proof@v1\nindex 01\n\nx",
        "c2sp.org/tlog-proof@v1\nindex -1\n\nx",
        "c2sp.org/tlog-proof@v1\nindex 0\nAAAA\n\nx",
        "c2sp.org/tlog-proof@v1\nextra !!\nindex 0\n\nx",
        "c2sp.org/tlog-proof@v1\nindex 0\n" + ("A" * 43 + "=\n") * 64 + "\nx",
    ],
)
def test_what_is_no_receipt_is_refused(text):
    with pytest.raises(note.BadNoteError):
        note.read_proof(text)
