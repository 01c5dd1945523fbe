"""A wire between client and server that can be cut at the moment of a commit."""

import contextlib
import socket
import threading

# The command, and the server's answer to it; "READ COMMITTED" is part of each beginning.
_COMMIT = b"COMMIT\x00"


class CutWire:
    """Forwards connections to a server on this machine.

    Parameters
    ----------
    port : int
        The server's.

    Attributes
    ----------
    port : int
        Where the wire listens.
    cut : {"before", "after"} or None
        What happens at the next COMMIT, once: the wire is cut before the server gets it, or after
        the server has answered it.
    refuses, refuses_after_cut : bool
        Whether new connections are closed at once: now, and from the next cut on.
    cuts : int
        How often the wire was cut.
    """

    def __init__(self, port):
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.cut = None
        self.refuses = False
        self.refuses_after_cut = False
        self.cuts = 0
        self._answered = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        """Take no more connections."""
        self._listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.refuses:
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self._target))
                pair = (client, server)
                threading.Thread(target=self._forward, args=pair, daemon=True).start()
                threading.Thread(target=self._answer, args=pair, daemon=True).start()

    def _forward(self, client, server):
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                if self.cut is not None and _COMMIT in data:
                    self._cut(client, server, data)
                    return
                server.sendall(data)
        _close(client, server)

    def _cut(self, client, server, data):
        cut, self.cut = self.cut, None
        self.refuses = self.refuses_after_cut
        if cut == "after":
            # The answering thread hears the answer, and fails to pass it on.
            client.shutdown(socket.SHUT_RDWR)
            self._answered.clear()
            server.sendall(data)
            self._answered.wait(10)
        self.cuts += 1
        _close(client, server)

    def _answer(self, client, server):
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                if _COMMIT in data:
                    self._answered.set()
                client.sendall(data)
        _close(client, server)


def _close(*ends):
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
