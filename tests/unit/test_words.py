"""Do sentences say of a whole only what is true of each part?"""

from sideeffects import words
from sideeffects.transitions import EffectState, Operation, Standing


def sentence(counts, *, none=0):
    facts = words.GroupFacts(
        standing=Standing.INCOMPLETE,
        counts=counts,
        none=none,
        conflict_open=True,
        more_declared=1,
        targets="crm",
        revoked=frozenset({Operation.CREATE}),
    )
    return str(words.of_group(facts))


def test_undone_as_declared_is_said_only_where_all_that_is_held_is_undone():
    whole = "undone as declared; a retry declared 1 more"
    assert sentence({EffectState.REVOKED: 2, EffectState.COMPENSATED: 1}) == f"Incomplete: {whole}"
    assert sentence({EffectState.REVOKED: 1, EffectState.PURGED: 1}).endswith(whole)
    for state in set(EffectState) - {EffectState.REVOKED, EffectState.PURGED, EffectState.COMPENSATED}:
        said = sentence({EffectState.REVOKED: 1, state: 1})
        assert "undone as declared" not in said, said
        assert said.endswith("a retry declared 1 more")
    assert "undone as declared" not in sentence({EffectState.REVOKED: 1, EffectState.ACTIVE: 1}, none=1)
    assert sentence({EffectState.REQUESTING: 1}) == "Incomplete: 1 not sent yet; a retry declared 1 more"
