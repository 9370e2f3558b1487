import msgspec

from kueue_fast.api.batch import Job, JobSpec, JobStatus
from kueue_fast.api.core import PodTemplateSpec
from kueue_fast.api.meta import ObjectMeta
from kueue_fast.jobs.job import STOPPING, BatchJob
from kueue_fast.jobs.job_writes import next_write


def job(*, suspend, start_time=None, **annotations):
    return Job(
        metadata=ObjectMeta(name="j", namespace="ns", annotations=annotations or None),
        spec=JobSpec(template=PodTemplateSpec(), suspend=suspend),
        status=JobStatus(start_time=start_time),
    )


def test_stop_takes_three_writes_and_is_not_over_before():
    integration = BatchJob()
    running = job(suspend=False, start_time="2026-01-01T00:00:00Z")
    held = next_write(running, integration.stop(running, []).job)
    assert held.spec.suspend
    assert held.metadata.annotations == {STOPPING: "true"}
    assert held.status.start_time is not None
    assert not integration.suspended(held)
    cleared = next_write(held, integration.stop(held, []).job)
    assert cleared.status.start_time is None
    assert cleared.metadata == held.metadata
    restored = next_write(cleared, integration.stop(cleared, []).job)
    assert restored.metadata.annotations == {}
    assert integration.suspended(restored)
    assert integration.stop(restored, []).job is restored


def test_start_is_one_write():
    held = job(suspend=True)
    wanted = msgspec.structs.replace(held, spec=msgspec.structs.replace(held.spec, suspend=False))
    assert next_write(held, wanted) is wanted


def test_the_template_waits_for_the_pods():
    """Kubernetes v1.36 refuses another template as long as pods are active."""
    held = job(suspend=True, **{STOPPING: "true"})
    restored = PodTemplateSpec(metadata=ObjectMeta(name="", labels={"a": "b"}))
    wanted = msgspec.structs.replace(held, spec=msgspec.structs.replace(held.spec, template=restored))
    active = msgspec.structs.replace(held.status, active=2)
    busy, wanted_busy = (msgspec.structs.replace(each, status=active) for each in (held, wanted))
    assert next_write(busy, wanted_busy) is busy
    assert next_write(held, wanted) is wanted
    # The mark may go at once where the template is as it was.
    bare = msgspec.structs.replace(busy, metadata=msgspec.structs.replace(busy.metadata, annotations={}))
    assert next_write(busy, bare) is bare
