"""Redis side of live events: a capped stream per topic for replay, a channel per topic for delivery."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import redis
from django.conf import settings

STREAM_LENGTH = 500
STREAM_SECONDS = 24 * 3600


@dataclass(frozen=True)
class Published:
    """One event on the wire; `event` is the JSON object of an app's event."""

    topic: str
    revision: int
    event: dict[str, Any]

    def dumps(self) -> str:
        return json.dumps({"revision": self.revision, "event": self.event}, separators=(",", ":"))


def channel_name(topic: str) -> str:
    return f"kc:live:{topic}"


def stream_name(topic: str) -> str:
    return f"kc:stream:{topic}"


def loads(topic: str, text: str) -> Published:
    body = json.loads(text)
    return Published(topic, int(body["revision"]), body["event"])


@lru_cache(maxsize=4)
def _client(url: str) -> redis.Redis:
    return redis.Redis.from_url(url, decode_responses=True, socket_timeout=5, socket_connect_timeout=2)


def client() -> redis.Redis:
    """The process's synchronous connection pool."""
    return _client(settings.REDIS_URL)


def send(events: Iterable[Published]) -> None:
    """Appends to the streams and publishes, in one round trip. Raises redis.RedisError when Redis is away."""
    with client().pipeline(transaction=False) as pipe:
        for event in events:
            text = event.dumps()
            pipe.xadd(stream_name(event.topic), {"e": text}, maxlen=STREAM_LENGTH, approximate=True)
            pipe.expire(stream_name(event.topic), STREAM_SECONDS)
            pipe.publish(channel_name(event.topic), text)
        pipe.execute()


def missed(topic: str, since: int, upto: int) -> list[Published] | None:
    """Events since+1 .. upto in order, or None when the stream no longer has all of them."""
    if since == upto:
        return []
    if since > upto or upto - since > STREAM_LENGTH:
        return None
    rows: Any = client().xrevrange(stream_name(topic), count=STREAM_LENGTH + 100)
    found = {event.revision: event for event in (loads(topic, fields["e"]) for _, fields in rows)}
    wanted = range(since + 1, upto + 1)
    return [found[revision] for revision in wanted] if all(r in found for r in wanted) else None
