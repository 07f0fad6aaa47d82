"""Does the API describe itself in full, and are its views as thin as they should be?"""

import ast

import pytest
from django.core.management import call_command
from django.urls import get_resolver
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator

from config.access import TABLE
from tests.rules.house import ROOT, python_files

LONGEST_VIEW, SHARE = 10, 0.9
FACES = ("api", "views", "console")


@pytest.fixture(scope="module")
def schema():
    GENERATOR_STATS.reset()
    return SchemaGenerator().get_schema(request=None, public=True)


def test_the_schema_comes_without_a_warning(tmp_path):
    call_command("spectacular", "--fail-on-warn", "--validate", "--file", str(tmp_path / "schema.yaml"))


def test_it_is_openapi_3_1_and_says_how_to_sign_in(schema):
    assert schema["openapi"] == "3.1.0"
    assert schema["components"]["securitySchemes"].keys() == {"agentToken", "cookieAuth"}


def test_every_address_of_the_api_is_described(schema):
    described = {(path, method.upper()) for path, methods in schema["paths"].items() for method in methods}
    listed = set()
    for name in TABLE:
        if name.startswith("api-") and name not in {"api-schema", "api-docs"}:
            [(pattern, _)] = get_resolver().reverse_dict.getlist(name)[0][0]
            path = "/" + pattern.replace("%(", "{").replace(")s", "}")
            listed |= {(path, method) for method in TABLE[name]}
    assert described == listed


# What is given out to be checked elsewhere is no JSON.
FILES = {
    "/api/v1/audit/records/{uid}/receipt": ["text/plain", "application/zip"],
    "/api/v1/audit/export": ["application/x-ndjson", "text/csv"],
}


def test_every_call_says_how_it_refuses(schema):
    for path, methods in schema["paths"].items():
        for method, call in methods.items():
            wanted = {"400", "401", "403"} | ({"404"} if "{" in path else set())
            assert wanted <= call["responses"].keys(), (method, path)
            for status, answer in call["responses"].items():
                kinds = ["application/problem+json"] if status >= "400" else FILES.get(path, ["application/json"])
                assert list(answer["content"]) == kinds, (method, path, status)


def faces():
    """Return every function of a face that answers a request, by its name."""
    found: dict[str, ast.FunctionDef] = {}
    for path in python_files():
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[0] in {"sideeffects", "audit", "plans"} and len(parts) > 1 and parts[1] in FACES:
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.FunctionDef) and {"request", "_request"} & {one.arg for one in node.args.args}:
                    found[f"{'/'.join(parts)}: {node.name} {node.lineno}"] = node
    return found


def test_views_are_thin():
    long = {}
    for name, node in faces().items():
        body = [part for part in node.body if not isinstance(getattr(part, "value", None), ast.Constant)]
        lines = (node.end_lineno or 0) - body[0].lineno + 1 if body else 0
        if lines > LONGEST_VIEW:
            long[name] = lines
    assert len(long) <= (1 - SHARE) * len(faces()), long


def test_no_view_tries():
    """Refusals are answered by the one table."""
    assert [name for name, node in faces().items() if any(isinstance(part, ast.Try) for part in ast.walk(node))] == []
