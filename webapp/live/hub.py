"""One Redis subscription per server process; local fan-out to bounded queues."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from weakref import WeakKeyDictionary

import redis.asyncio as aredis
import structlog
from django.conf import settings
from redis.exceptions import RedisError

from webapp.live.stream import Published, channel_name, loads

log = structlog.get_logger(__name__)
QUEUE_LENGTH = 256
RETRY_S = 0.5


class Mailbox:
    """What one follower of one topic has not sent yet. A follower that is too slow loses it all and is told so."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self._queue: asyncio.Queue[Published | None] = asyncio.Queue(QUEUE_LENGTH)

    def put(self, event: Published) -> None:
        if self._queue.full():
            self.lose()
        else:
            self._queue.put_nowait(event)

    def lose(self) -> None:
        """Drops everything; the follower reads None next and takes a new snapshot."""
        while not self._queue.empty():
            self._queue.get_nowait()
        self._queue.put_nowait(None)

    async def get(self) -> Published | None:
        """The next event, or None after a loss."""
        return await self._queue.get()


class Hub:
    """Joins mailboxes to topics. All methods run on one event loop."""

    def __init__(self, url: str) -> None:
        # socket_timeout None: redis-py's default would drop a subscription that is idle for five seconds.
        self._redis = aredis.Redis.from_url(url, decode_responses=True, socket_timeout=None)
        self._pubsub = self._redis.pubsub(ignore_subscribe_messages=True)
        self._boxes: dict[str, set[Mailbox]] = {}
        self._reader: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def follow(self, topic: str) -> AsyncIterator[Mailbox]:
        """A mailbox that receives every event published after this returns."""
        box = Mailbox(topic)
        async with self._lock:  # concurrent first joins without one each start a reader, and events go missing
            boxes = self._boxes.setdefault(channel_name(topic), set())
            boxes.add(box)
            if len(boxes) == 1:
                await self._pubsub.subscribe(channel_name(topic))
            if self._reader is None or self._reader.done():
                self._reader = asyncio.create_task(self._read())
        try:
            yield box
        finally:
            async with self._lock:
                boxes.discard(box)
                if not boxes:
                    self._boxes.pop(channel_name(topic), None)
                    with contextlib.suppress(RedisError):
                        await self._pubsub.unsubscribe(channel_name(topic))

    async def _read(self) -> None:
        while True:
            try:
                message = await self._pubsub.get_message(timeout=30.0)
            except (RedisError, OSError) as error:
                # The next read reconnects and subscribes again; what was published in between is lost to us.
                log.warning("live_subscription_lost", error=str(error))
                self._lose_all()
                await asyncio.sleep(RETRY_S)
                continue
            if message is None:
                if not self._pubsub.subscribed:
                    await asyncio.sleep(0.05)
                continue
            for box in tuple(self._boxes.get(message["channel"], ())):
                box.put(loads(box.topic, message["data"]))

    def _lose_all(self) -> None:
        for boxes in self._boxes.values():
            for box in boxes:
                box.lose()


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def hub() -> Hub:
    """The hub of the running event loop; a server process has one loop, so one hub."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs[loop] = Hub(settings.REDIS_URL)
    return _hubs[loop]
