"""The server's entry point: HTTP through Django, websockets through Channels, upkeep for the server's lifetime."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import Any

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")
http_application = get_asgi_application()

# These need Django's apps, which the line above has loaded.
from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402

from webapp.config.upkeep import Upkeep  # noqa: E402
from webapp.live.routing import websocket_urlpatterns  # noqa: E402
from webapp.preview.pool import pool as preview_pool  # noqa: E402
from webapp.preview.pool import shutdown as preview_shutdown  # noqa: E402

Message = dict[str, Any]


async def lifespan(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    """ASGI's start and stop: the upkeep thread and the preview children live in between."""
    upkeep = Upkeep()
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            upkeep.start()
            preview_pool().start()
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            upkeep.stop()
            preview_shutdown()
            await send({"type": "lifespan.shutdown.complete"})
            return


application = ProtocolTypeRouter(
    {
        "http": http_application,
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
        "lifespan": lifespan,
    }
)
