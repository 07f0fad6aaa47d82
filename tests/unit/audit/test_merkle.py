"""Is the tree the one of RFC 6962, and does a proof prove what it says and nothing else?"""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import chain, merkle
from tests.unit.audit import vectors

LEAVES = [bytes.fromhex(text) for text in vectors.own()["roots"]["leaf_inputs_hex"]]
ROOTS = [bytes.fromhex(text) for text in vectors.own()["roots"]["root_by_size_hex"]]


def hashes(count: int) -> list[bytes]:
    return [chain.leaf_hash(b"%d" % number) for number in range(count)]


def plainly(leaves: list[bytes]) -> bytes:
    """The root as RFC 6962 defines it, word by word: what nothing here is computed with."""
    if not leaves:
        return sha256().digest()
    if len(leaves) == 1:
        return leaves[0]
    half = 1
    while half * 2 < len(leaves):
        half *= 2
    return sha256(b"\x01" + plainly(leaves[:half]) + plainly(leaves[half:])).digest()


@pytest.mark.parametrize("size", range(9))
def test_roots_are_those_of_the_certificate_transparency_tests(size):
    leaves = [chain.leaf_hash(leaf) for leaf in LEAVES[:size]]
    frontier = merkle.Frontier()
    frontier.add(leaves)
    assert merkle.tree_of(leaves).root(size) == frontier.root == ROOTS[size]


@pytest.mark.parametrize("vector", vectors.of("inclusion", "rfc6962-merkle/inclusion.json"), ids=lambda v: v["desc"])
def test_inclusion_vectors(vector):
    proof = [vectors.raw(text) for text in vector["proof"] or []]
    leaf, root = vectors.raw(vector["leafHash"]), vectors.raw(vector["root"])
    found = merkle.proves_inclusion(leaf, vector["leafIdx"], vector["treeSize"], proof, root)
    assert found is not vector["wantErr"]


@pytest.mark.parametrize(
    "vector", vectors.of("consistency", "rfc6962-merkle/consistency.json"), ids=lambda v: v["desc"]
)
def test_consistency_vectors(vector):
    proof = [vectors.raw(text) for text in vector["proof"] or []]
    old, root = vectors.raw(vector["root1"]), vectors.raw(vector["root2"])
    found = merkle.proves_consistency(vector["size1"], vector["size2"], old, root, proof)
    assert found is not vector["wantErr"]


def test_from_nothing_only_the_empty_proof_leads_to_a_root():
    assert merkle.proves_consistency(0, 8, merkle.EMPTY, ROOTS[8], [])
    assert not merkle.proves_consistency(0, 8, merkle.EMPTY, ROOTS[8], [ROOTS[8]])
    assert not merkle.proves_consistency(0, 8, ROOTS[1], ROOTS[8], [])
    assert not merkle.proves_consistency(9, 8, ROOTS[8], ROOTS[8], [])


@pytest.mark.parametrize("size", [*range(1, 34), 255, 256, 257, 300, 511, 513, 700])
def test_every_place_and_every_smaller_tree_is_proven(size):
    leaves = hashes(size)
    tree, root = merkle.tree_of(leaves), plainly(leaves)
    assert tree.root(size) == root
    for place in range(0, size, max(1, size // 40)):
        proof = tree.inclusion(place, size)
        assert merkle.proves_inclusion(leaves[place], place, size, proof, root)
        assert not merkle.proves_inclusion(leaves[place], place, size, [*proof, root], root)
        assert not any(merkle.proves_inclusion(leaves[place], other, size, proof, root) for other in (place ^ 1, size))
    for before in range(1, size + 1, max(1, size // 40)):
        proof = tree.consistency(before, size)
        old = plainly(leaves[:before])
        assert merkle.proves_consistency(before, size, old, root, proof)
        assert not merkle.proves_consistency(before, size, root[::-1], root, proof)


def test_seventy_thousand_leaves_have_tiles_of_two_levels():
    leaves = hashes(70_000)
    asked: list[tuple[int, int, int]] = []
    whole = merkle.tree_of(leaves)

    def entries(level, first, count):
        asked.append((level, first, count))
        return whole._entries(level, first, count)

    root = plainly(leaves)
    tree = merkle.Tree(entries, 70_000)
    assert merkle.proves_inclusion(leaves[1234], 1234, 70_000, tree.inclusion(1234, 70_000), root)
    assert len(asked) == 4  # its own tile and the last one, of leaves and of level 1
    assert len(asked) == len(set(asked))
    assert all(count <= merkle.WIDTH for _, _, count in asked)
    old = plainly(leaves[:65_537])
    assert merkle.proves_consistency(65_537, 70_000, old, root, tree.consistency(65_537, 70_000))


@given(st.lists(st.integers(1, 700), min_size=1, max_size=6))
def test_a_tree_that_grows_in_steps_has_the_same_root(steps):
    leaves, frontier = hashes(sum(steps)), merkle.Frontier()
    for step in steps:
        frontier = merkle.Frontier(frontier.size, frontier.peaks)
        frontier.add(leaves[frontier.size : frontier.size + step])
    assert frontier.size == len(leaves)
    assert frontier.root == merkle.tree_of(leaves).root(len(leaves))


def test_what_is_no_frontier_is_refused():
    with pytest.raises(ValueError, match="peaks"):
        merkle.Frontier(3, [b"x" * 32])
    with pytest.raises(ValueError, match="peaks"):
        merkle.Frontier(1, [b"x"])


def test_what_the_tree_does_not_have_cannot_be_proven():
    tree = merkle.tree_of(hashes(5))
    for ask in (lambda: tree.inclusion(5, 5), lambda: tree.consistency(0, 5), lambda: tree.consistency(6, 5)):
        with pytest.raises(merkle.NoSuchProofError):
            ask()
    with pytest.raises(merkle.NoSuchProofError):
        tree.root(6)


def test_tiles_are_named_and_counted_as_c2sp_does():
    given = vectors.own()["tiles"]
    for number, path in given["index_to_path"].items():
        assert merkle.tile_path(int(number)) == path
    wanted = given["tree_size_70000"]
    found = merkle.tiles_of(70_000)
    assert found[0] == (wanted["full_level0"], wanted["partial_level0_width"])
    assert found[1] == (wanted["full_level1"], wanted["partial_level1_width"])
    assert found[2] == (0, wanted["partial_level2_width"])
    assert merkle.tiles_of(256) == {0: (1, 0), 1: (0, 1)}
