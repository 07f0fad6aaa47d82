"""Which rows does this app keep?"""

from sideeffects.models.batches import Batch, BatchItem
from sideeffects.models.fences import Fence
from sideeffects.models.groups import Above, Declaration, Effect, Group
from sideeffects.models.heartbeat import Heartbeat
from sideeffects.models.people import Agent, AgentToken, Role
from sideeffects.models.requests import Attempt, Callback, Notice, Request, SigningKey
from sideeffects.models.revocations import MemberOutcome, Revocation
from sideeffects.models.tools import Target, Tool, ToolVersion

__all__ = [
    "Above",
    "Agent",
    "AgentToken",
    "Attempt",
    "Batch",
    "BatchItem",
    "Callback",
    "Declaration",
    "Effect",
    "Fence",
    "Group",
    "Heartbeat",
    "MemberOutcome",
    "Notice",
    "Request",
    "Revocation",
    "Role",
    "SigningKey",
    "Target",
    "Tool",
    "ToolVersion",
]
