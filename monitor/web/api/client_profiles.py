"""Client profiles over HTTP: what the briefings of a client are of, kept under a name."""

from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel

from monitor.services.client_profiles import ClientProfileForm, ClientProfileSchema
from monitor.services.cursors import cut_list
from monitor.web.api.cursors import DEFAULT_LONG_LIMIT, Cursor, Limit
from monitor.web.auth import AppDep, Editor, Reader
from monitor.web.problems import PROBLEM_RESPONSES

ProfileId = Annotated[int, Path(ge=1, le=2**31 - 1, description="The number of a client profile.")]

router = APIRouter(prefix="/api/v1/briefings/profiles", tags=["briefings"], responses=PROBLEM_RESPONSES)


class ClientProfileListSchema(BaseModel):
    """Client profiles by name, and the cursor with which the list goes on."""

    profiles: list[ClientProfileSchema]
    next: str | None


@router.get("", summary="List the client profiles")
async def list_client_profiles(
    app: AppDep, _: Reader, limit: Limit = DEFAULT_LONG_LIMIT, cursor: Cursor = None
) -> ClientProfileListSchema:
    """By name: what the briefings of each client are of, and the targets that they go to."""
    found = await app.client_profiles.list()
    page, following = cut_list(found, limit, cursor, lambda profile: (profile.name, profile.id), str, int)
    return ClientProfileListSchema(profiles=page, next=following)


@router.post("", summary="Add a client profile", status_code=201)
async def add_client_profile(
    app: AppDep, principal: Editor, wanted: ClientProfileForm, response: Response
) -> ClientProfileSchema:
    """To compose by it, send its fields to `POST /api/v1/briefings`. 409 where the name is taken."""
    profile = await app.client_profiles.add(wanted, by=principal)
    response.headers["Location"] = f"/api/v1/briefings/profiles/{profile.id}"
    return profile


@router.get("/{profile_id}", summary="Show a client profile")
async def get_client_profile(app: AppDep, _: Reader, profile_id: ProfileId) -> ClientProfileSchema:
    """What the briefings of the client are of, and the targets that they go to."""
    return await app.client_profiles.get(profile_id)


@router.put("/{profile_id}", summary="Change a client profile")
async def edit_client_profile(
    app: AppDep, principal: Editor, profile_id: ProfileId, wanted: ClientProfileForm
) -> ClientProfileSchema:
    """As a whole. Briefings that were composed by it stay as they are. 409 where the name is taken."""
    return await app.client_profiles.edit(profile_id, wanted, by=principal)


@router.delete("/{profile_id}", summary="Remove a client profile", status_code=204)
async def remove_client_profile(app: AppDep, principal: Editor, profile_id: ProfileId) -> None:
    """Briefings that were composed by it stay."""
    await app.client_profiles.remove(profile_id, by=principal)
