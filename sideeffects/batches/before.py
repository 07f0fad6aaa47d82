"""What would taking back many actions come to? The numbers that are shown before the click."""

from dataclasses import dataclass
from functools import cached_property

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from audit.inert import visible
from sideeffects import batches
from sideeffects.batches.questions import some
from sideeffects.questions import Line


@dataclass(frozen=True)
class Before:
    """What taking back a selection would come to, by the numbers that a look at it found."""

    preview: batches.Preview

    @property
    def here(self) -> int:
        """Return how many objects would be taken back here."""
        return int(self.preview.by_class["here"])

    @property
    def asked(self) -> int:
        """Return how many objects would only be requested of their targets."""
        return sum(self.preview.by_class["asked"].values())

    @property
    def can(self) -> bool:
        """Say whether anything would be taken back here or asked of a target."""
        return bool(self.here or self.asked)

    @property
    def why(self) -> str:
        """Say why there is nothing to confirm."""
        if not self.preview.groups:
            return _("No action that you may take back meets this.")
        return _("Nothing of these can be taken back now.")

    @property
    def button(self) -> str:
        """Say what the click will do."""
        if not self.asked:
            return ngettext("Revoke {n} object", "Revoke {n} objects", self.here).format(n=self.here)
        if not self.here:
            return ngettext("Ask about {n} object", "Ask about {n} objects", self.asked).format(n=self.asked)
        return _("Revoke {here} here, ask about {asked}").format(here=self.here, asked=self.asked)

    @cached_property
    def lines(self) -> list[Line]:
        """Return what would become of the objects, one line a fate: together they are all of them."""
        found, classes = self.preview, self.preview.by_class
        asked = [
            Line(
                number,
                _("will only be requested of {name}").format(name=visible(name)),
                _("It decides; the outcome is there, not here."),
            )
            for name, number in sorted(classes["asked"].items())
        ]
        out = [
            Line(
                number,
                _("stay as they are in {name}").format(name=visible(name)),
                _("Nothing may be asked of it: no admin has registered it."),
            )
            for name, number in sorted(classes["out of reach"].items())
        ]
        known = self.here + classes["not revocable"] + sum(line.count for line in (*asked, *out))
        gone = _("Taken back, asked about or gone before; not touched again.")
        return some(
            Line(
                self.here,
                _("will be taken back here"),
                _("What was created goes to the trash, restorable under the same ids."),
            ),
            *asked,
            *out,
            Line(classes["not revocable"], _("cannot come back"), _("Their tools declare no way back; they stay.")),
            Line(found.effects - known, _("not standing any more"), gone),
        )

    @property
    def cautions(self) -> list[Line]:
        """Return what is to be known of the actions besides."""
        return [*self._states(), *self._windows(), *self._since()]

    def _states(self) -> list[Line]:
        found = self.preview
        flight = _("Skipped: what they write is not known before they land. They can be tried again then.")
        conflict = _("What is held is taken back; a person still has to decide about the rest.")
        return some(
            Line(found.in_flight, ngettext("action is in flight", "actions are in flight", found.in_flight), flight),
            Line(
                found.failed,
                ngettext("action wrote nothing", "actions wrote nothing", found.failed),
                _("By the agent's word."),
            ),
            Line(
                found.already,
                ngettext("action has nothing left to do", "actions have nothing left to do", found.already),
                _("Taken back before, not by this."),
            ),
            Line(
                found.conflicts, ngettext("action has a conflict", "actions have a conflict", found.conflicts), conflict
            ),
        )

    def _windows(self) -> list[Line]:
        windows = self.preview.windows
        over = _("As declared; its target may refuse.")
        late = _("Only an admin may still ask for these.")
        return some(
            Line(windows.over, ngettext("undo window is over", "undo windows are over", windows.over), late),
            Line(
                windows.soon,
                ngettext("undo window closes within the hour", "undo windows close within the hour", windows.soon),
                over,
            ),
        )

    def _since(self) -> list[Line]:
        edited, outside = self.preview.edited, self.preview.built_on_outside
        changed = _("Skipped: nothing is taken back over what someone changed. Each can be looked at on its own page.")
        build = _("What they build on is skipped, unless you say otherwise below.")
        return some(
            Line(edited or 0, ngettext("action was changed since", "actions were changed since", edited or 0), changed),
            Line(
                outside or 0,
                ngettext(
                    "action outside of this builds on these", "actions outside of this build on these", outside or 0
                ),
                build,
            ),
        )

    @property
    def is_too_many_to_look(self) -> bool:
        """Say whether it was not looked at what was changed since and what builds on these."""
        return self.preview.edited is None
