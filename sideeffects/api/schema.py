"""How does the API describe itself? Problems, who may ask, and what each call takes and answers."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers

PROBLEM_JSON = "application/problem+json"
SAID = {
    400: "Something in it cannot be read or cannot be right; `errors` names each bad member.",
    401: "Nobody is signed in, or the token opens nothing.",
    403: "Whoever asks may not do this.",
    404: "It is not there, or it is another's: the answer is the same.",
    406: "Only JSON is answered.",
    409: "Not possible as things stand; `type` says why.",
    413: "The body is too large.",
    415: "Only JSON is read.",
    422: "Understood and refused; `type` says why.",
    429: "More than an agent may do without a person.",
}
ALWAYS, WITH_A_BODY, FINDING = (400, 401, 403, 406), (413, 415), 404


class BadMemberSerializer(serializers.Serializer[Any]):
    """One bad member of what was sent, by its path."""

    member = serializers.CharField()
    detail = serializers.CharField()


class ProblemSerializer(serializers.Serializer[Any]):
    """A refusal (RFC 9457); `type` is the address of its explanation. It may have members of its own."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    errors = BadMemberSerializer(many=True, required=False)  # type: ignore[assignment]  # (a member, not the property)


def problems(*statuses: int) -> dict[Any, OpenApiResponse]:
    """Return how a schema says that these statuses are answered with a problem."""
    return {(status, PROBLEM_JSON): OpenApiResponse(ProblemSerializer, description=SAID[status]) for status in statuses}


def reads(answer: Any, **options: Any) -> Callable[[Any], Any]:
    """Describe a view that answers a GET."""
    return extend_schema(responses={200: answer}, **options)


def does(body: Any, answers: dict[int, Any], *refused: int, **options: Any) -> Callable[[Any], Any]:
    """Describe a view that changes something, and with which statuses it refuses to."""
    return extend_schema(request=body, responses={**answers, **problems(*refused)}, **options)


def add_common_problems(result: dict[str, Any], **_context: Any) -> dict[str, Any]:
    """Add to each call the refusals that any call of its kind can meet; a hook of the schema's generator."""
    reference = {"schema": {"$ref": "#/components/schemas/Problem"}}
    for call in (call for path in result["paths"].values() for call in path.values()):
        found_by = {parameter["in"] for parameter in call.get("parameters", ()) if parameter["name"] != "limit"}
        statuses = [
            *ALWAYS,
            *(WITH_A_BODY if "requestBody" in call else ()),
            *([FINDING] if "path" in found_by else ()),
        ]
        for status in statuses:
            refusal = {"description": SAID[status], "content": {PROBLEM_JSON: reference}}
            call["responses"].setdefault(str(status), refusal)
    return result


KEY_HEADER = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!#-~]([ -~]*[!-~])?$"},
    OpenApiParameter.HEADER,
    description="The caller's own key for this call: 1 to 200 printable ASCII characters, quoted or not. Without it "
    "the same tool, arguments and conversation are the same call.",
)
REPLAYED_HEADER = OpenApiParameter(
    "Idempotency-Replayed",
    bool,
    OpenApiParameter.HEADER,
    response=[200],
    description="true: this was declared before; nothing was written.",
)
LOCATION_HEADER = OpenApiParameter(
    "Location", str, OpenApiParameter.HEADER, response=[201], description="Where the group is."
)


class AgentTokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # (registers itself)
    """Names the agents' tokens."""

    target_class = "sideeffects.api.auth.AgentTokenAuthentication"
    name = "agentToken"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:  # noqa: ARG002  (spectacular's signature)
        """Return the scheme."""
        return {"type": "http", "scheme": "bearer", "description": "An agent's token, made by create_agent_token."}
