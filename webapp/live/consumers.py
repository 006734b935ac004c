"""The websocket door: subscriptions in, snapshots and events out."""

from __future__ import annotations

import asyncio
import contextlib
from urllib.parse import parse_qs

import pydantic
import structlog
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import DatabaseError
from ninja import Schema
from redis.exceptions import RedisError

from kernelcat_core.errors import KernelcatError
from webapp.common.errors import WebError
from webapp.common.schemas import ErrorBody
from webapp.live import selectors, stream
from webapp.live.hub import Mailbox, hub
from webapp.live.schemas import (
    ClientMessage,
    CurrentMessage,
    EventMessage,
    RefusedMessage,
    SnapshotMessage,
    Subscribe,
)

log = structlog.get_logger(__name__)
CLOSE_ANONYMOUS = 4401
CLOSE_MALFORMED = 4400
TOPICS_LIMIT = 64
READ_RETRY_S = 2.0
client_message: pydantic.TypeAdapter[ClientMessage] = pydantic.TypeAdapter(ClientMessage)


class LiveConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels ships no types
    """One socket; each topic it follows is a task with its own mailbox and revision."""

    async def connect(self) -> None:
        self.followers: dict[str, asyncio.Task[None]] = {}
        user = self.scope["user"]
        await self.accept()
        if not (user.is_authenticated and user.is_active):
            await self.close(code=CLOSE_ANONYMOUS)  # after accept: a browser shows no code of a refused handshake
            return
        query = parse_qs(self.scope.get("query_string", b"").decode("ascii", "replace"))
        since = query.get("since", [])
        for place, topic in enumerate(query.get("topic", [])):
            known = since[place] if place < len(since) else ""
            await self._subscribe(topic[:80], int(known) if known.isdigit() else None)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        try:
            message = client_message.validate_json(text_data or "")
        except pydantic.ValidationError:
            await self.close(code=CLOSE_MALFORMED)
            return
        if isinstance(message, Subscribe):
            await self._subscribe(message.topic, message.since)
        else:
            await self._unsubscribe(message.topic)

    async def disconnect(self, code: int) -> None:
        for topic in list(self.followers):
            await self._unsubscribe(topic)

    async def _subscribe(self, topic: str, since: int | None) -> None:
        await self._unsubscribe(topic)
        if len(self.followers) >= TOPICS_LIMIT:
            refusal = WebError("KC-W011", "This connection follows too many topics.", hint="Close some panes.")
            await self._refuse(topic, refusal)
            return
        self.followers[topic] = asyncio.create_task(self._follow(topic, since))

    async def _unsubscribe(self, topic: str) -> None:
        task = self.followers.pop(topic, None)
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _follow(self, topic: str, since: int | None) -> None:
        """Permission, then mailbox, then snapshot or replay, then events without a hole, until cancelled."""
        try:
            await database_sync_to_async(selectors.topic_check)(self.scope["user"], topic)
        except KernelcatError as error:
            self.followers.pop(topic, None)
            await self._refuse(topic, error)
            return
        while True:
            try:
                async with hub().follow(topic) as box:
                    await self._relay(topic, box, since)
            except (RedisError, OSError, DatabaseError) as error:
                log.warning("live_follow_failed", topic=topic, error=str(error))
                await asyncio.sleep(READ_RETRY_S)
                since = None

    async def _relay(self, topic: str, box: Mailbox, since: int | None) -> None:
        revision = await self._begin(topic, since)
        while True:
            event = await box.get()
            if event is not None and event.revision <= revision:
                continue
            if event is None or event.revision != revision + 1:
                revision = await self._snapshot(topic)  # we lost something: start over rather than show a hole
                continue
            await self._send(EventMessage(topic=topic, revision=event.revision, event=event.event))
            revision = event.revision

    async def _begin(self, topic: str, since: int | None) -> int:
        if since is None:
            return await self._snapshot(topic)
        upto: int = await database_sync_to_async(selectors.revision_of)(topic)
        events = await asyncio.to_thread(stream.missed, topic, since, upto)
        if events is None:
            return await self._snapshot(topic)
        for event in events:
            await self._send(EventMessage(topic=topic, revision=event.revision, event=event.event))
        await self._send(CurrentMessage(topic=topic, revision=upto))
        return upto

    async def _snapshot(self, topic: str) -> int:
        taken: selectors.Snapshot = await database_sync_to_async(selectors.snapshot)(topic)
        value = taken.value.model_dump(mode="json")
        await self._send(SnapshotMessage(topic=topic, revision=taken.revision, snapshot=value))
        return taken.revision

    async def _refuse(self, topic: str, error: KernelcatError) -> None:
        await self._send(RefusedMessage(topic=topic, error=ErrorBody(**error.to_dict())))

    async def _send(self, message: Schema) -> None:
        await self.send(text_data=message.model_dump_json())
