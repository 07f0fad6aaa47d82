from django.db import migrations, models
from django.db.models import F


def end_what_had_none(apps, _editor):
    """Let an asking without a deadline be over: it can be asked anew, then with the mandate's end as its deadline."""
    apps.get_model('plans', 'Approval').objects.filter(deadline=None).update(deadline=F('asked_at'))


class Migration(migrations.Migration):

    dependencies = [
        ('plans', '0002_executions'),
    ]

    operations = [
        migrations.RunPython(end_what_had_none, migrations.RunPython.noop),
        migrations.AlterField(
            model_name='approval',
            name='deadline',
            field=models.DateTimeField(),
        ),
    ]
