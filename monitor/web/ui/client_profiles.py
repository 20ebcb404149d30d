"""The pages of client profiles: all of them with the form of a new one, and the form of one."""

from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError
from starlette.datastructures import FormData

from monitor.bootstrap import App
from monitor.errors import Conflict, UsageError
from monitor.i18n.message import Message
from monitor.i18n.model import describe_validation_error
from monitor.services.client_profiles import MAX_PROFILE_NAME_CHARS, ClientProfileForm, ClientProfileSchema
from monitor.web.api.briefings import parse_compose_form
from monitor.web.api.client_profiles import ProfileId
from monitor.web.auth import AppDep, Editor, Reader
from monitor.web.ui.briefings import list_condition_options
from monitor.web.ui.rendering import PageRenderer, Renderer

router = APIRouter(prefix="/briefings/profiles")


@router.get("")
async def client_profiles(app: AppDep, renderer: Renderer, request: Request, _: Reader) -> Response:
    """Show the profiles, and the form of a new one; a link may say what is to stand in it."""
    return await _render_list(app, renderer, parse_compose_form(request.query_params, renderer.language))


@router.post("")
async def add(app: AppDep, renderer: Renderer, request: Request, principal: Editor) -> Response:
    fields = _parse(await request.form(), renderer.language)
    try:
        await app.client_profiles.add(ClientProfileForm.model_validate(fields), by=principal)
    except (ValidationError, UsageError, Conflict) as error:
        return await _render_list(app, renderer, fields, _describe(error))
    return renderer.redirect("/briefings/profiles", notice="client_profile_saved")


@router.get("/{profile_id}")
async def client_profile(app: AppDep, renderer: Renderer, _: Editor, profile_id: ProfileId) -> Response:
    profile = await app.client_profiles.get(profile_id)
    fields = profile.compose_fields | {"name": profile.name, "targets": profile.targets}
    fields["team"] = await app.teams.get_name(profile.team_id) or ""
    return await _render_one(app, renderer, profile, fields)


@router.post("/{profile_id}")
async def edit(app: AppDep, renderer: Renderer, request: Request, principal: Editor, profile_id: ProfileId) -> Response:
    profile = await app.client_profiles.get(profile_id)
    fields = _parse(await request.form(), renderer.language)
    try:
        await app.client_profiles.edit(profile_id, ClientProfileForm.model_validate(fields), by=principal)
    except (ValidationError, UsageError, Conflict) as error:
        return await _render_one(app, renderer, profile, fields, _describe(error))
    return renderer.redirect("/briefings/profiles", notice="client_profile_saved")


@router.post("/{profile_id}/remove")
async def remove(app: AppDep, renderer: Renderer, principal: Editor, profile_id: ProfileId) -> Response:
    await app.client_profiles.remove(profile_id, by=principal)
    return renderer.redirect("/briefings/profiles", notice="client_profile_removed")


def _parse(form: FormData, language: str) -> dict[str, Any]:
    fields = parse_compose_form(form, language)
    fields.pop("day", None)  # a profile is of no day
    fields["name"] = str(form.get("name", "")).strip()
    fields["targets"] = [str(name) for name in form.getlist("target")]
    return fields


def _describe(error: ValidationError | UsageError | Conflict) -> Message:
    return describe_validation_error(error.errors()[0]) if isinstance(error, ValidationError) else error.message


async def _render_list(
    app: App, renderer: PageRenderer, fields: dict[str, Any], trouble: Message | None = None
) -> Response:
    profiles = await app.client_profiles.list()
    return await _render(app, renderer, "briefings/profiles.html", fields, trouble, profiles=profiles)


async def _render_one(
    app: App,
    renderer: PageRenderer,
    profile: ClientProfileSchema,
    fields: dict[str, Any],
    trouble: Message | None = None,
) -> Response:
    return await _render(app, renderer, "briefings/profile.html", fields, trouble, profile=profile)


async def _render(
    app: App, renderer: PageRenderer, template: str, fields: dict[str, Any], trouble: Message | None, **shown: Any
) -> Response:
    return renderer.render(
        template,
        section="briefings",
        status=400 if trouble else 200,
        fields=fields,
        trouble=trouble,
        targets=[(name, name) for name in await app.targets.list_names()],
        max_name=MAX_PROFILE_NAME_CHARS,
        **shown,
        **await list_condition_options(app, renderer),
    )
