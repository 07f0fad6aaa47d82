"""Which tools do plans bring along? The step at which a person decides."""

from sideeffects.tools import Contract, declare
from sideeffects.transitions import RevokeClass

NOTHING_WRITTEN = "A person's decision: nothing was written that could be taken back"

declare("human.approve", Contract(revoke_class=RevokeClass.NONE, reason=NOTHING_WRITTEN, human=True))
