"""Server-rendered pages. Each reads through selectors and hands its island the same shapes as the REST API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, cast

from django.contrib.auth.decorators import login_required
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from kernelcat_core.errors import KernelcatError
from webapp.accounts.selectors import signed_in
from webapp.common.core_texts import error_in
from webapp.common.errors import WebError, envelope, not_found, status_of
from webapp.hosts.selectors import host_list, targets_alike
from webapp.jobs import states
from webapp.jobs.selectors import JobFilter, job_get, job_summary, jobs_of, queue_place
from webapp.leaderboard.selectors import board_get, boards_of, operators_on
from webapp.live.selectors import snapshot
from webapp.operators.selectors import operator_detail, operator_get, operators_of, version_detail, version_of
from webapp.pages.context import page_render
from webapp.preview import catalog
from webapp.workspaces.selectors import personal_workspace

PAGE_SIZE = 50
DEFAULT_TARGETS = ["c", "cuda:sm_80", "ascend:910b"]
OPERATOR_JOBS = 20
P = ParamSpec("P")


def coded(view: Callable[P, HttpResponse]) -> Callable[P, HttpResponse]:
    """Turns coded errors of a page into the error page."""

    def answer(*args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            return view(*args, **kwargs)
        except KernelcatError as error:
            return problem(cast(HttpRequest, args[0]), error)

    answer.__name__ = view.__name__
    return answer


def problem(request: HttpRequest, error: KernelcatError) -> HttpResponse:
    """The error page: code, message, next step."""
    shown = error_in(error.to_dict(), get_language() or "")
    return page_render(request, "error", {"error": shown}, status=status_of(error.code))


def paged(request: HttpRequest, rows: QuerySet[Any]) -> Page[Any]:
    return Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))


@require_safe
def start(request: HttpRequest) -> HttpResponse:
    return redirect("operators" if request.user.is_authenticated else "sign-in")


@require_safe
def health(request: HttpRequest) -> HttpResponse:
    """For supervisors: the server answers."""
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
@login_required
@coded
def operators(request: HttpRequest) -> HttpResponse:
    query = request.GET.get("query", "")
    rows = operators_of(personal_workspace(request.user), query)
    return page_render(request, "operators", {"rows": paged(request, rows), "query": query})


@require_safe
@login_required
@coded
def operator_unsaved(request: HttpRequest) -> HttpResponse:
    """The operator page with a text that is not saved yet: empty, or a gallery formula (`?from=slug`)."""
    slug = request.GET.get("from", "")
    item = catalog.gallery_item(slug, get_language() or "") if slug else None
    if slug and item is None:
        raise not_found("gallery formula")
    handed = {"operator": None, "version": None, "gallery_item": item, "targets": DEFAULT_TARGETS, "jobs": []}
    return page_render(request, "operator", {"title": item.title if item else _("New operator")}, handed)


@require_safe
@login_required
@coded
def operator(request: HttpRequest, operator_id: str, number: int | None = None) -> HttpResponse:
    row = operator_get(signed_in(request), operator_id)
    version = version_of(row, number if number is not None else row.latest_number)
    jobs = jobs_of(row.workspace, JobFilter(operator=row.id))[:OPERATOR_JOBS]
    handed = {
        "operator": operator_detail(row),
        "version": version_detail(version),
        "gallery_item": None,
        "targets": DEFAULT_TARGETS,
        "jobs": [job_summary(job) for job in jobs],
    }
    return page_render(request, "operator", {"title": row.name}, handed)


@require_safe
@login_required
@coded
def gallery(request: HttpRequest) -> HttpResponse:
    return page_render(request, "gallery", {"items": catalog.gallery(get_language() or "")})


@require_safe
@login_required
@coded
def jobs(request: HttpRequest) -> HttpResponse:
    names = ("kind", "state", "target", "operator")
    chosen = JobFilter(**{name: request.GET.get(name, "") for name in names})
    workspace = personal_workspace(request.user)
    rows = paged(request, jobs_of(workspace, chosen))
    targets = jobs_of(workspace, JobFilter()).order_by("target").values_list("target", flat=True).distinct()
    shown = {
        "rows": rows,
        "chosen": chosen,
        "kinds": states.KINDS,
        "states": list(states.TRANSITIONS),
        "targets": list(targets),
    }
    return page_render(request, "jobs", shown, {"jobs": [job_summary(row) for row in rows]})


@require_safe
@login_required
@coded
def job(request: HttpRequest, job_id: str) -> HttpResponse:
    row = job_get(signed_in(request), job_id)
    taken = snapshot(f"job:{row.id}")
    handed = {"revision": taken.revision, "snapshot": taken.value}
    shown = {"job": row, "snapshot": taken.value, "place": queue_place(row), "over": row.state in states.FINAL}
    return page_render(request, "job", shown, handed)


@require_safe
@login_required
@coded
def hosts(request: HttpRequest) -> HttpResponse:
    rows = host_list()
    shown = [(host, targets_alike(host)) for host in rows.items]
    return page_render(request, "hosts", {"hosts": shown}, {"hosts": rows})


@require_safe
@login_required
@coded
def boards(request: HttpRequest) -> HttpResponse:
    query, target = request.GET.get("query", ""), request.GET.get("target", "")
    workspace = personal_workspace(request.user)
    rows = boards_of(workspace, query, target)
    targets = boards_of(workspace).order_by("target").values_list("target", flat=True).distinct()
    shown = {"rows": paged(request, rows), "query": query, "target": target, "targets": sorted(set(targets))}
    return page_render(request, "boards", shown)


@require_safe
@login_required
@coded
def board(request: HttpRequest, board_id: str) -> HttpResponse:
    row = board_get(signed_in(request), board_id)
    taken = snapshot(f"board:{row.id}")
    operators = operators_on(row)
    return page_render(
        request, "board", {"detail": taken.value, "operators": operators}, {"revision": taken.revision, "board": taken.value}
    )


def api_unknown(request: HttpRequest) -> HttpResponse:
    return JsonResponse(envelope(not_found("address")), status=404)


def page_missing(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem(request, not_found("page"))


def csrf_refused(request: HttpRequest, reason: str = "") -> HttpResponse:
    hint = _("Go back, reload the page and try again.")
    return problem(request, WebError("KC-W003", _("The form was sent without a valid token."), hint=hint))


def server_failed(request: HttpRequest) -> HttpResponse:
    """Must not touch the database: it may be what failed."""
    error = WebError("KC-X010", "The server failed to answer.")
    return HttpResponse(f"{error}\n", status=500, content_type="text/plain; charset=utf-8")
