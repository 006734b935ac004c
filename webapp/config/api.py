"""The REST API: every app's router, one way to sign in, one error envelope."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import structlog
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.renderers import JSONRenderer
from ninja.responses import NinjaJSONEncoder

from kernelcat_core.errors import KernelcatError
from webapp.accounts.api import router as accounts_router
from webapp.accounts.auth import SessionAuth
from webapp.common.errors import WebError, envelope, not_found, status_of
from webapp.hosts.api import router as hosts_router
from webapp.jobs.api import evidence_router
from webapp.jobs.api import router as jobs_router
from webapp.leaderboard.api import router as boards_router
from webapp.operators.api import router as operators_router
from webapp.preview.api import catalog_router, preview_router

log = structlog.get_logger(__name__)


class ExactTimes(NinjaJSONEncoder):
    """Times to the microsecond, as live events write them: a refetch must equal snapshot and events."""

    def default(self, o: Any) -> Any:
        if isinstance(o, datetime):
            return o.isoformat().removesuffix("+00:00") + "Z"
        return super().default(o)


class ExactRenderer(JSONRenderer):
    encoder_class = ExactTimes


api = NinjaAPI(
    title="KernelCAT",
    version="1",
    description="Formulas in, checked and tuned kernels out. Errors: `{error: {code, message, hint, ...}}`.",
    auth=SessionAuth(),
    renderer=ExactRenderer(),
    urls_namespace="api",
)
api.add_router("/me", accounts_router)
api.add_router("/catalog", catalog_router)
api.add_router("/preview", preview_router)
api.add_router("/operators", operators_router)
api.add_router("/jobs", jobs_router)
api.add_router("/evidence", evidence_router)
api.add_router("/hosts", hosts_router)
api.add_router("/boards", boards_router)


def _answer(request: HttpRequest, error: KernelcatError, status: int | None = None) -> HttpResponse:
    return api.create_response(request, envelope(error), status=status or status_of(error.code))


@api.exception_handler(KernelcatError)
def on_coded(request: HttpRequest, error: KernelcatError) -> HttpResponse:
    return _answer(request, error)


@api.exception_handler(AuthenticationError)
def on_anonymous(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    return _answer(request, WebError("KC-W001", "Nobody is signed in."))


@api.exception_handler(Http404)
def on_missing(request: HttpRequest, error: Http404) -> HttpResponse:
    return _answer(request, not_found("page"))


@api.exception_handler(ValidationError)
def on_malformed(request: HttpRequest, error: ValidationError) -> HttpResponse:
    return _answer(request, WebError("KC-W004", _places(error.errors), hint="See /api/docs for what is expected."))


@api.exception_handler(HttpError)
def on_http(request: HttpRequest, error: HttpError) -> HttpResponse:
    if error.status_code == 403:
        coded = WebError("KC-W003", "The request carries no valid CSRF token.", hint="Reload the page, try again.")
    else:
        coded = WebError("KC-W004", str(error), hint="See /api/docs for what is expected.")
    return _answer(request, coded, error.status_code)


@api.exception_handler(Exception)
def on_failure(request: HttpRequest, error: Exception) -> HttpResponse:
    log.exception("request_failed", path=request.path)
    return _answer(request, WebError("KC-X010", "The server failed to answer."))


def _places(errors: list[dict[str, Any]]) -> str:
    """`body.targets: Field required; ...`, at most five."""
    return "; ".join(
        f"{'.'.join(str(step) for step in error.get('loc', ()))}: {error.get('msg', 'not valid')}"
        for error in errors[:5]
    )
