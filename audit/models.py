"""What does the log consist of? Append-only rows, save the sealer's lock and its queue."""

from django.db import models

from audit.bodies import LIMITS
from audit.loaded import Loaded


class Record(Loaded):
    """One entry of the log: the exact bytes that were hashed, and the columns it is found by.

    Columns are derived from the body and compared again by the verifier. Nothing refers out of the log, which outlives
    what it describes. Within it no constraint ties the tables together either: nothing is ever taken away, the
    verifier finds what stands alone, and each row of such a check would lock the record it points to.
    """

    log = models.CharField(max_length=LIMITS["log"])
    uid = models.UUIDField(unique=True)  # UUIDv7
    body = models.TextField()
    leaf_hash = models.CharField(max_length=64)
    action = models.CharField(max_length=LIMITS["action"])
    target_type = models.CharField(max_length=LIMITS["target_type"])
    target_id = models.CharField(max_length=LIMITS["target_id"])
    group = models.CharField(max_length=LIMITS["group"])
    actor = models.CharField(max_length=LIMITS["actor"])
    owner = models.CharField(max_length=LIMITS["owner"])
    outcome = models.CharField(max_length=LIMITS["outcome"])
    occurred_at = models.DateTimeField()

    class Meta:
        default_permissions = ("view",)
        indexes = tuple(
            models.Index(fields=["log", name], name=f"audit_record_{name}")
            for name in ("action", "actor", "owner", "group", "outcome", "occurred_at")
        )

    def __str__(self) -> str:
        return f"{self.action} {self.target_type} {self.target_id}"


class Subject(Loaded):
    """An object a record speaks of, so that the record is found by each of them."""

    record = models.ForeignKey(Record, models.PROTECT, related_name="subjects", db_index=False, db_constraint=False)
    object_type = models.CharField(max_length=LIMITS["target_type"])
    object_id = models.CharField(max_length=LIMITS["target_id"])

    class Meta:
        default_permissions = ("view",)
        constraints = (
            models.UniqueConstraint(fields=["record", "object_type", "object_id"], name="audit_subject_once"),
        )
        indexes = (models.Index(fields=["object_type", "object_id", "record"], name="audit_subject_object"),)

    def __str__(self) -> str:
        return f"{self.object_type} {self.object_id}"


class Seal(Loaded):
    """A record's place: its number in the log, and the chain value up to it."""

    log = models.CharField(max_length=LIMITS["log"])
    seq = models.BigIntegerField()
    record = models.OneToOneField(Record, models.PROTECT, db_constraint=False)
    chain = models.CharField(max_length=64)

    class Meta:
        default_permissions = ("view",)
        constraints = (models.UniqueConstraint(fields=["log", "seq"], name="audit_seal_place"),)

    def __str__(self) -> str:
        return f"{self.log} {self.seq}"


class Tile(models.Model):
    """One hash of the tree: the root of the 256 hashes below it, once all of them are there.

    Of level 1 above 256 leaves, of level 2 above 256 of level 1, and so on: what tlog-tiles
    holds in its tiles from level 1 up. Leaf hashes are in the records; whatever is not full yet is computed from these.
    """

    log = models.CharField(max_length=LIMITS["log"])
    level = models.SmallIntegerField()
    number = models.BigIntegerField()
    root = models.CharField(max_length=64)

    class Meta:
        default_permissions = ("view",)
        constraints = (models.UniqueConstraint(fields=["log", "level", "number"], name="audit_tile_place"),)

    def __str__(self) -> str:
        return f"{self.log} {self.level} {self.number}"


class Checkpoint(models.Model):
    """A signed head of the log that has been published; what counts is the copy that is held elsewhere.

    `origin` names the log and its epoch, `key` is the public key that signed it, `size` how many records it covers.
    """

    log = models.CharField(max_length=LIMITS["log"])
    origin = models.CharField(max_length=200)
    size = models.BigIntegerField()
    root = models.CharField(max_length=64)
    note = models.TextField()
    key = models.TextField()
    published_at = models.DateTimeField()

    class Meta:
        default_permissions = ("view",)
        constraints = (models.UniqueConstraint(fields=["log", "origin", "size"], name="audit_checkpoint_head"),)

    def __str__(self) -> str:
        return f"{self.origin} {self.size}"


class Head(models.Model):
    """The sealer's lock of one log; it holds nothing, the last seal is the head. Mutable."""

    log = models.CharField(max_length=LIMITS["log"], primary_key=True)

    class Meta:
        default_permissions = ("view",)

    def __str__(self) -> str:
        return self.log


class Unsealed(models.Model):
    """The queue of records that have no place yet; it makes finding them cheap. Mutable."""

    record = models.OneToOneField(Record, models.PROTECT, primary_key=True, db_constraint=False)

    class Meta:
        default_permissions = ("view",)
        verbose_name_plural = "unsealed"

    def __str__(self) -> str:
        return str(self.record_id)
