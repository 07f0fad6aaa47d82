"""Which background work exists, and when does it run? The app and the whole beat schedule, in one table."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("takeback")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.update(
    task_ignore_result=True,
    task_publish_retry=False,  # a web request never waits for a broker that hangs
    broker_transport_options={
        "polling_interval": 0.05,
        "socket_timeout": 5,
        "socket_connect_timeout": 2,
        "health_check_interval": 10,
        "visibility_timeout": 600,
    },
    broker_connection_retry_on_startup=True,
    worker_redirect_stdouts=False,
    worker_hijack_root_logger=False,
    beat_scheduler="celery.beat:Scheduler",
    timezone="UTC",
    beat_schedule={
        "show that beat and worker live": {"task": "config.heartbeat", "schedule": 30.0},
        "seal what is not sealed": {"task": "audit.seal", "schedule": 10.0},
        "carry what is due to targets": {"task": "sideeffects.carry_out", "schedule": 5.0},
        "go on with batches": {"task": "sideeffects.work_batches", "schedule": 5.0},
        "fire fences whose calls have arrived": {"task": "sideeffects.fire_fences", "schedule": 10.0},
        "flag what is unresolved for too long": {"task": "sideeffects.flag_stale", "schedule": 60.0},
        "watch the undo windows of executions": {"task": "plans.sweep_executions", "schedule": 10.0},
        "announce and purge what has lain in the trash until its date": {
            "task": "sideeffects.purge",
            "schedule": 300.0,
        },
        "write to people about what waits for them": {"task": "sideeffects.send_notices", "schedule": 60.0},
        "sign the head of the log": {"task": "audit.checkpoint", "schedule": 60.0},
    },
)
app.autodiscover_tasks()
