"""What does each word on the pages mean? One word per idea."""

from django.utils.translation import gettext_lazy as _

# In the order in which a newcomer meets them.
WORDS = (
    ("agent", _("agent"), _("A program that acts for a person. It has tokens, never a password or a role.")),
    ("tool", _("tool, target"), _("What an agent called; the system that holds the result.")),
    ("effect", _("side effect"), _("One object that a tool call created, changed or deleted.")),
    (
        "group",
        _("action (compensation group)"),
        _("All side effects of one tool call. Taking back any of them takes back all of them."),
    ),
    ("principal", _("principal"), _("The first object of an action, the one it is about. It is marked ◆.")),
    (
        "class",
        _("class"),
        _(
            "How far a revoke can get. none: it cannot be taken back. local_compensate: taken back here and now, "
            "restorable. governed_external: another system is asked, and decides."
        ),
    ),
    ("revoke", _("revoke"), _("Take back what an agent did.")),
    ("revocation", _("revocation"), _("One asking: who, when, why, which actions.")),
    ("restore", _("restore"), _("Change your mind about a revocation: exactly what it removed comes back.")),
    (
        "batch",
        _("batch"),
        _(
            "Many actions taken back, or brought back, by one asking. Which ones is frozen when it is asked for; what "
            "lands later is no part of it. Each action stays all or none, whatever becomes of its neighbours."
        ),
    ),
    (
        "skipped",
        _("skipped, failed"),
        _(
            "Said of an action in a batch. Skipped: left as it was, for the reason beside it. Failed: tried, and "
            "nothing of it was changed. Where the reason may have passed, both can be tried again."
        ),
    ),
    ("trash", _("trash"), _("Where restorable things lie until their date.")),
    (
        "purge",
        _("purge"),
        _("Let what lies in the trash leave it for good on its date: announced before, and held while it is disputed."),
    ),
    (
        "override",
        _("override"),
        _("Take back over what someone changed since: a person's decision, about the difference that was shown."),
    ),
    (
        "builds-on",
        _("builds on"),
        _("A later action builds on an earlier one: it changed or deleted its objects, or created under them."),
    ),
    ("declaration", _("declaration"), _("What a call says it wrote. What was declared is what is known.")),
    ("conflict", _("conflict"), _("Two declarations for the same call that disagree. A person resolves it.")),
    ("in-flight", _("in flight"), _("A call that has not landed: nobody knows yet what it wrote.")),
    (
        "adopt",
        _("adopt, split, dismiss"),
        _(
            "The three ways to resolve a conflict: what only the repeat declared joins the action; the repeat becomes "
            "an action of its own; or it counts for nothing. Each stands for ever under a person's name."
        ),
    ),
    (
        "fence",
        _("fence"),
        _("“Revoke it when it arrives”, said of a call in flight. Whether that is allowed is checked again then."),
    ),
    (
        "requested",
        _("requested"),
        _("Another system has been asked to undo something. It is not revoked: the outcome is there, not here."),
    ),
    ("unknown", _("unknown"), _("A request may or may not have arrived. Silence is never taken for a yes.")),
    ("gone", _("was already gone"), _("When it was to be taken back it was not there any more, and not by this.")),
    (
        "suspended",
        _("suspended"),
        _("A request whose target was changed after it was asked. It goes on when an admin has looked."),
    ),
    (
        "attest",
        _("attest"),
        _("Hold something for undone on a person's own word, with evidence. It is never shown as the target's word."),
    ),
    (
        "undo-window",
        _("undo window"),
        _("Until when a target can undo something, as declared; the target decides. Undeclared, it is unknown."),
    ),
    ("plan", _("plan, step"), _("What an agent proposes to do, step by step, each with its way back.")),
    ("pivot", _("pivot"), _("The step past which there is no rollback.")),
    ("execution", _("execution"), _("An accepted plan being carried out, bound to the plan's digest.")),
    (
        "approval",
        _("approval"),
        _("A step that waits for a person until its deadline. Silence decides nothing; asked anew, it is another one."),
    ),
    (
        "perishing",
        _("perishing, unrecoverable"),
        _("An undo window is about to close, or has closed, while the execution still goes well."),
    ),
    ("stale", _("stale"), _("Unresolved for longer than its threshold.")),
    (
        "record",
        _("record"),
        _("One entry of the log. It is written together with the change it tells of, or not at all."),
    ),
    ("seal", _("seal"), _("A record's place in the chain. A record that is not sealed yet is named so.")),
    ("owner", _("owner"), _("For whom an agent acted. Everyone sees and takes back their own.")),
    (
        "admin",
        _("role admin"),
        _("Takes back anyone's actions, with a typed reason; looks after people, agents and tools."),
    ),
    ("auditor", _("role auditor"), _("Reads the log and has it verified. Changes nothing.")),
    (
        "scope",
        _("scope"),
        _(
            "What a token allows its agent: record, propose, execute, revoke-own, read. "
            "Restoring and every other judgment are for persons."
        ),
    ),
)
