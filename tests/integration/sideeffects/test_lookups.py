"""Does a lookup whose SQL is built once find what the ORM finds?"""

import pytest

from sideeffects.lookups import Lookup
from sideeffects.models import Agent, AgentToken, Target, Tool, ToolVersion
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.both]


def columns(row):
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields} if row else None


def test_a_lookup_finds_the_row_and_all_that_it_refers_to_as_it_is_now(django_assert_num_queries):
    factories.crm(factories.person("admin"))
    factories.planner()
    for lookup, asked, names in (
        (Lookup(AgentToken, "prefix", "agent", "owner"), AgentToken.objects.get().prefix, ("agent", "owner")),
        (
            Lookup(ToolVersion, "tool__name", "target", "tool", order="-number"),
            "crm.create_contact",
            ("target", "tool"),
        ),
    ):
        for _ in range(2):  # built, and built already
            wanted = lookup._model._default_manager.select_related(*names).get()
            with django_assert_num_queries(1):
                found = lookup.first(asked)
                assert columns(found) == columns(wanted)
                assert all(columns(getattr(found, name)) == columns(getattr(wanted, name)) for name in names)
            Agent.objects.update(name="renamed")
            Target.objects.update(base_url="https://crm.example")


def test_a_lookup_finds_the_first_in_its_order_nothing_where_there_is_none_and_no_row_that_is_not_referred_to():
    tool = Tool.objects.create(name="t")
    versions = [
        ToolVersion.objects.create(
            tool=tool, number=number, contract={}, digest=str(number), declared_at=factories.NOW, declared_by="user:a"
        )
        for number in (1, 3, 2)
    ]
    newest = Lookup(ToolVersion, "tool__name", "target", order="-number")
    found = newest.first("t")
    assert found == versions[1]
    assert found.target is None
    assert newest.first("T") is None
    ToolVersion.objects.filter(number=1).update(digest="new", number=4)
    assert columns(newest.first("t")) == columns(ToolVersion.objects.get(number=4))
