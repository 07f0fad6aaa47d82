"""Are canonical bytes, digests, keys and signatures the ones that others compute?"""

import base64
import json
import struct
from pathlib import Path

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from plans.core import canonical, signature
from plans.core.artifact import SAFE_INTEGER
from tests.unit.plans.samples import fixture, found, judge, with_step

HERE = Path(__file__).parent
VECTORS = HERE / "vectors"
SIGNED = json.loads((HERE / "signed" / "by-node.json").read_text())
KEYS = {"planner": [base64.b64decode(SIGNED["publicKey"])]}


@pytest.mark.parametrize("name", ["arrays", "french", "structures", "unicode", "values", "weird"])
def test_the_published_vectors_come_out_byte_for_byte(name):
    value = json.loads((VECTORS / "input" / f"{name}.json").read_bytes())
    assert canonical.encode(value) == (VECTORS / "output" / f"{name}.json").read_bytes()


@pytest.mark.parametrize("vector", json.loads((VECTORS / "numbers-appendix-b.json").read_text())["vectors"])
def test_numbers_come_out_as_in_appendix_b(vector):
    (number,) = struct.unpack(">d", bytes.fromhex(vector["ieee754_hex"]))
    if vector["expected"] is None:
        with pytest.raises(ValueError):  # noqa: PT011  (rfc8785 has its own subclass)
            canonical.encode(number)
    else:
        assert canonical.encode(number).decode() == vector["expected"]


@pytest.mark.parametrize("name", json.loads((VECTORS / "negative.json").read_text())["must_reject_json_text_hex"])
def test_what_no_canonical_form_exists_for_is_refused_inside_a_plan(name):
    text = bytes.fromhex(json.loads((VECTORS / "negative.json").read_text())["must_reject_json_text_hex"][name])
    plan = json.dumps(with_step(fixture("sound"), 0, compensation={"tool": "x", "args": {"a": "HERE"}}))
    assert not judge(plan.encode().replace(b'"HERE"', text)).ok


texts = st.text(st.characters(codec="utf-8"))
numbers = st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-SAFE_INTEGER, SAFE_INTEGER) | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=40, deadline=None)
@given(values)
def test_the_fast_encoder_equals_the_oracle(value):
    assert canonical.encode(value) == rfc8785.dumps(value)


def _shuffled(value):
    if isinstance(value, dict):
        return {name: _shuffled(value[name]) for name in reversed(value)}
    return [_shuffled(item) for item in value] if isinstance(value, list) else value


def test_a_permuted_plan_has_the_same_digest_and_the_same_keys():
    plan = fixture("sound")
    assert list(_shuffled(plan)) != list(plan)
    assert judge(plan).digest == judge(_shuffled(plan)).digest == judge(json.dumps(plan, indent=7).encode()).digest
    assert [canonical.key("s", step, whole=True) for step in plan["steps"]] == [
        canonical.key("s", step, whole=True) for step in _shuffled(plan)["steps"]
    ]


def test_omitted_and_explicit_at_the_default_differ():
    plan = fixture("sound")
    explicit, omitted = plan | {"planVersion": 1}, {k: v for k, v in plan.items() if k != "planVersion"}
    assert judge(explicit).digest != judge(omitted).digest
    bare = with_step(plan, 0, compensation={"tool": "x"})["steps"][0]
    empty = with_step(plan, 0, compensation={"tool": "x", "args": {}})["steps"][0]
    assert canonical.step_hash(bare) != canonical.step_hash(empty)


def test_the_signature_is_not_part_of_the_digest_nor_a_key_of_its_own_hash():
    plan = fixture("sound")
    assert judge(plan).digest == judge(plan | {"signature": "ed25519:another"}).digest
    step = plan["steps"][0]
    assert canonical.step_hash(step) == canonical.step_hash(step | {"idempotencyKey": "another"})


def test_a_key_may_carry_the_hash_of_its_step_in_any_order_of_members():
    plan = fixture("sound")
    for step in plan["steps"]:
        step["idempotencyKey"] = canonical.key("sg_library", step, whole=True)
    assert found(judge(plan)) == found(judge(_shuffled(plan))) == []
    assert found(judge(with_step(plan, 1, maxDurationSeconds=3_601))) == [("key-integrity", "steps.1.idempotencyKey")]


def test_a_signature_made_by_a_javascript_client_verifies():
    verdict = judge(SIGNED["plan"], keys=KEYS)
    assert (verdict.signature, verdict.digest) == ("verified", SIGNED["digest"])
    assert verdict.ok
    assert judge(json.dumps(_shuffled(SIGNED["plan"]), ensure_ascii=False).encode(), keys=KEYS, signed=True).ok


@pytest.mark.parametrize("bit", [0, 7, 255, 511])
def test_a_flipped_bit_in_the_signature_does_not_verify(bit):
    raw = bytearray(signature.read(SIGNED["plan"]["signature"]) or b"")
    raw[bit // 8] ^= 1 << bit % 8
    flipped = "ed25519:" + base64.b64encode(raw).decode()
    verdict = judge(SIGNED["plan"] | {"signature": flipped}, keys=KEYS)
    assert (verdict.signature, verdict.ok, found(verdict)) == ("wrong", False, [("signature", "signature")])


def test_a_changed_plan_does_not_verify():
    changed = with_step(SIGNED["plan"], 2, maxSpendEur=179.96)
    assert judge(changed, keys=KEYS).signature == "wrong"


@pytest.mark.parametrize("text", ["ed25519:", "ed25519:AAAA", "rsa:AAAA", "ed25519:!!", "x"])
def test_what_is_no_signature_does_not_verify(text):
    assert judge(SIGNED["plan"] | {"signature": text}, keys=KEYS).signature == "wrong"


def test_a_signature_nobody_can_check_is_called_so_and_refused_only_where_signatures_are_required():
    assert judge(SIGNED["plan"]).signature == "unchecked"
    assert judge(SIGNED["plan"], keys={"someone else": KEYS["planner"]}).ok
    assert found(judge(SIGNED["plan"], signed=True)) == [("signature", "signature")]
    unsigned = {name: value for name, value in SIGNED["plan"].items() if name != "signature"}
    assert judge(unsigned, keys=KEYS).ok
    assert found(judge(unsigned, keys=KEYS, signed=True)) == [("signature", "signature")]
