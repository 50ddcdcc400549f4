"""observatory serve: the app, on the loopback address only."""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys

from observatory import paths
from observatory.errors import InputError

FIRST_PORT, TRIED = 8501, 50


def main(options: argparse.Namespace) -> int:
    port = _port(options.port)
    environment = dict(os.environ, OMP_WAIT_POLICY="passive")
    if options.store:
        environment["OBSERVATORY_STORE"] = options.store
    if options.read_only:
        environment["OBSERVATORY_READ_ONLY"] = "1"
    command = [
        sys.executable, "-m", "streamlit", "run", str(paths.ROOT / "app.py"), "--server.port", str(port),
        "--server.address", "127.0.0.1", "--server.headless", "true", "--browser.gatherUsageStats", "false",
    ]
    print(f"Retrieval Observatory: http://127.0.0.1:{port} (stop with Ctrl-C)", flush=True)
    process = subprocess.Popen(command, cwd=paths.ROOT, env=environment)
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        return 0


def _port(wanted: int | None) -> int:
    """The port asked for, or the first free one. InputError where it is taken or no port at all."""
    if wanted is not None and not 1 <= wanted <= 65535:
        raise InputError("is no port", value=wanted, mend=f"write --port {FIRST_PORT}")
    candidates = [wanted] if wanted is not None else range(FIRST_PORT, FIRST_PORT + TRIED)
    for port in candidates:
        if _is_free(port):
            return port
    raise InputError("the port is in use", value=wanted or FIRST_PORT, mend="end the other program, or choose another --port")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
