"""REST: jobs and evidence."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Status

from webapp.accounts.selectors import signed_in
from webapp.common.schemas import Paging
from webapp.jobs import selectors, services
from webapp.jobs.schemas import (
    EvidencePage,
    JobCreate,
    JobPage,
    JobsCreated,
    JobSummary,
    JobWithRevision,
    QueuePlace,
)
from webapp.live.selectors import snapshot
from webapp.workspaces.selectors import personal_workspace

router = Router(tags=["jobs"])
evidence_router = Router(tags=["evidence"])
DIGESTS_LIMIT = 50


@router.get("", response=JobPage, summary="Jobs of the workspace, newest first")
def job_list(
    request: HttpRequest,
    paging: Query[Paging],
    kind: str = "",
    state: str = "",
    target: str = "",
    operator: str = "",
) -> JobPage:
    chosen = selectors.JobFilter(kind, state, target, operator)
    return selectors.job_page(personal_workspace(signed_in(request)), chosen, paging.limit, paging.offset)


@router.post("", response={201: JobsCreated}, summary="Queue one job per target")
def job_create(request: HttpRequest, body: JobCreate) -> Status[JobsCreated]:
    user = signed_in(request)
    jobs = services.jobs_create(personal_workspace(user), user, body)
    return Status(201, JobsCreated(jobs=[selectors.job_summary(job) for job in jobs]))


@router.get("/{job_id}", response=JobWithRevision, summary="Everything about one job")
def job_get(request: HttpRequest, job_id: str) -> JobWithRevision:
    job = selectors.job_get(signed_in(request), job_id)
    taken = snapshot(f"job:{job.id}")
    return JobWithRevision.model_validate({"revision": taken.revision, "snapshot": taken.value})


@router.post("/{job_id}/cancel", response=JobSummary, summary="Stop a job; a running one is killed")
def job_cancel(request: HttpRequest, job_id: str) -> JobSummary:
    return selectors.job_summary(services.job_cancel(selectors.job_get(signed_in(request), job_id)))


@router.post("/{job_id}/retry", response={201: JobSummary}, summary="A new job with the same request")
def job_retry(request: HttpRequest, job_id: str) -> Status[JobSummary]:
    user = signed_in(request)
    return Status(201, selectors.job_summary(services.job_retry(selectors.job_get(user, job_id), user)))


@router.get("/{job_id}/queue", response=QueuePlace, summary="Why the job is not running")
def job_queue(request: HttpRequest, job_id: str) -> QueuePlace:
    return selectors.queue_place(selectors.job_get(signed_in(request), job_id))


@router.get("/{job_id}/artifacts/{artifact_id}", summary="The text of an artifact", response={200: str})
def artifact_get(request: HttpRequest, job_id: str, artifact_id: str) -> HttpResponse:
    job = selectors.job_get(signed_in(request), job_id)
    return HttpResponse(
        selectors.artifact_get(job, artifact_id).text,
        content_type="text/plain; charset=utf-8",
        headers={"X-Content-Type-Options": "nosniff"},
    )


@evidence_router.get("", response=EvidencePage, summary="What is known about source texts, by digest")
def evidence_list(request: HttpRequest, digests: str) -> EvidencePage:
    wanted = [digest for digest in digests.split(",") if digest][:DIGESTS_LIMIT]
    workspace = personal_workspace(signed_in(request))
    return EvidencePage(items=selectors.evidence_of(workspace, wanted))
