"""Is what beat sends known to the workers?"""

from config.celery import app


def test_every_beat_entry_is_a_registered_task():
    app.loader.import_default_modules()
    entries = app.conf.beat_schedule
    assert entries
    assert {entry["task"] for entry in entries.values()} <= set(app.tasks)


def test_no_result_is_kept_and_no_request_waits_for_the_broker():
    assert app.conf.task_ignore_result
    assert not app.conf.task_publish_retry
    assert app.conf.broker_transport_options["socket_connect_timeout"] <= 2
