"""Serves the explorer on the loopback address."""

import socket
from collections.abc import Callable

import uvicorn

from workbench.play.address import build_query
from workbench.play.application import build_application
from workbench.play.board import Position

ADDRESS = "127.0.0.1"
MOST_CONNECTIONS = 64
MOST_REQUEST_BYTES = 16_384


def serve(position: Position, port: int, announce: Callable[[str], None]) -> None:
    """Serve the explorer until it is interrupted, and announce its address once it listens.

    A port of 0 is one that the system picks. `OSError` if the port is taken.
    """
    first = build_query(position)
    with socket.create_server((ADDRESS, port)) as listener:
        announce(f"http://{ADDRESS}:{listener.getsockname()[1]}{first}")
        config = uvicorn.Config(
            build_application(first),
            http="h11",
            ws="none",
            lifespan="off",
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=MOST_CONNECTIONS,
            h11_max_incomplete_event_size=MOST_REQUEST_BYTES,
            timeout_graceful_shutdown=1,
        )
        uvicorn.Server(config).run(sockets=[listener])
