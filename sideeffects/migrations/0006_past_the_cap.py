"""Stand a row for what was counted past the cap before such rows were kept, so that a person decides about it."""

from django.db import migrations


def stand(apps, _schema_editor):
    """Give each group that counted declarations without keeping them one undecided row for all of them."""
    Declaration = apps.get_model("sideeffects", "Declaration")
    for group in apps.get_model("sideeffects", "Group").objects.filter(declarations_not_kept__gt=0):
        seen_at = group.landed_at or group.opened_at
        Declaration.objects.create(
            group=group,
            digest="past the cap 1",
            effects=[],
            held=False,
            kept=False,
            seen=group.declarations_not_kept,
            first_seen_at=seen_at,
            last_seen_at=seen_at,
            declared_by=group.opened_by,
        )


class Migration(migrations.Migration):
    dependencies = [("sideeffects", "0005_fences_and_resolutions")]
    operations = [migrations.RunPython(stand, migrations.RunPython.noop)]
