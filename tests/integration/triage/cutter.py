# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A test double of a network: passes connections on to a server until a test cuts them all."""

from __future__ import annotations

import socket
import threading
import time
from types import TracebackType
from urllib.parse import urlsplit


class Cutter:
    """Listens on loopback and passes bytes through; ``cut`` drops every connection and refuses new ones for a while."""

    def __init__(self, server: str) -> None:
        parts = urlsplit(server)
        self._target = (str(parts.hostname), int(parts.port or 443))
        self._scheme = parts.scheme
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._closed_until = 0.0
        self.dropped = 0

    @property
    def url(self) -> str:
        """The server's address as seen through here."""
        return f"{self._scheme}://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Cutter:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        self._drop()

    def cut(self, seconds: float) -> None:
        """Drop every connection now, and every new one for ``seconds``."""
        self._closed_until = time.monotonic() + seconds
        self._drop()

    def _drop(self) -> None:
        with self._lock:
            for one in self._open:
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue
                self.dropped += 1
            self._open.clear()

    def _accept(self) -> None:
        while True:
            try:
                here, _address = self._listener.accept()
            except OSError:
                return
            if time.monotonic() < self._closed_until:
                here.close()
                continue
            there = socket.create_connection(self._target)
            with self._lock:
                self._open |= {here, there}
            for one, other in ((here, there), (there, here)):
                threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass
        for one in (source, target):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
