"""REST: live previews and the catalog."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils.translation import get_language
from ninja import Router

from webapp.accounts.auth import AsyncSessionAuth
from webapp.accounts.models import User
from webapp.preview import catalog, services
from webapp.preview.schemas import (
    CatalogOperator,
    CatalogTarget,
    GalleryItem,
    PreviewAnswer,
    PreviewRequest,
)
from webapp.workspaces.models import Workspace

preview_router = Router(tags=["preview"])
catalog_router = Router(tags=["catalog"])


@preview_router.post("", response=PreviewAnswer, auth=AsyncSessionAuth(), summary="Code for several targets, at once")
async def preview(request: HttpRequest, body: PreviewRequest) -> PreviewAnswer:
    user = await request.auser()
    assert isinstance(user, User)
    workspace = await Workspace.objects.aget(owner=user)
    return await services.preview(workspace, body, user.language or getattr(request, "LANGUAGE_CODE", ""))


@catalog_router.get("/targets", response=list[CatalogTarget], summary="Targets and what is online for them")
def target_list(request: HttpRequest) -> list[CatalogTarget]:
    return catalog.targets()


@catalog_router.get("/operators", response=list[CatalogOperator], summary="Named operators of the notation")
def operator_list(request: HttpRequest) -> list[CatalogOperator]:
    return catalog.operators()


@catalog_router.get("/gallery", response=list[GalleryItem], summary="Formulas to start from")
def gallery_list(request: HttpRequest) -> list[GalleryItem]:
    return catalog.gallery(get_language() or "")
