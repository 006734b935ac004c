"""The live topics of jobs: job:{id} and workspace:{id}."""

from __future__ import annotations

from webapp.jobs.models import Job
from webapp.jobs.selectors import job_snapshot, workspace_snapshot
from webapp.live.registry import TopicKind, Visitor, register
from webapp.workspaces.selectors import may_see


def job_allowed(user: Visitor, job_id: str) -> bool:
    workspace_id = Job.objects.filter(id=job_id).values_list("workspace_id", flat=True).first()
    return workspace_id is not None and may_see(user, workspace_id)


def register_topics() -> None:
    register(TopicKind("job", job_allowed, job_snapshot))
    register(TopicKind("workspace", may_see, workspace_snapshot))
