"""A PostgreSQL server of our own: a private folder, a free port, gone at the end.

The workers of a run share one. The first that needs it starts it, and says where it is in a file of
the run's temporary folder; the process that started the workers removes it.
"""

import contextlib
import fcntl
import itertools
import os
import pickle
import pwd
import re
import secrets
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

PROGRAMS_VARIABLE = "INTERPRET_DP_POSTGRES"
_USER = "postgres"
_names = itertools.count(1)


def find_programs():
    """Return the folder of initdb and pg_ctl; None if there is none."""
    if PROGRAMS_VARIABLE in os.environ:
        return Path(os.environ[PROGRAMS_VARIABLE])
    # Debian installs several versions side by side, and none on the path.
    versions = [
        (int(found[1]), path)
        for path in Path("/usr/lib/postgresql").glob("*/bin")
        if (path / "initdb").exists() and (found := re.search(r"/(\d+)/bin$", str(path)))
    ]
    if versions:
        return max(versions)[1]
    on_path = shutil.which("initdb")
    return None if on_path is None else Path(on_path).resolve().parent


def why_not():
    """Return why no server can be started here; None if one can."""
    if find_programs() is None:
        return (
            "no PostgreSQL: run scripts/install_postgres.sh, or set "
            f"{PROGRAMS_VARIABLE} to the folder of initdb and pg_ctl"
        )
    if os.getuid() == 0 and _USER not in {account.pw_name for account in pwd.getpwall()}:
        return f"initdb refuses root, and there is no user {_USER!r} to run it as"
    return None


def _free_port():
    """Return a port that is free now, and that no outgoing connection gets during a restart."""
    for _ in range(100):
        # Linux gives ports from 32,768 on to outgoing connections.
        port = 15_000 + secrets.randbelow(17_000)
        with socket.socket() as listener, contextlib.suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port
    raise OSError("Of 100 ports that were tried, all are in use.")


class PostgresServer:
    """A running server with passwords.

    Parameters
    ----------
    durable : bool
        Write to the disk before a commit returns, as a server for users must: for measurements.
    """

    def __init__(self, *, durable=False):
        self.password = secrets.token_hex(8)
        self._programs = find_programs()
        self._folder = Path(tempfile.mkdtemp(prefix="idp-pg-"))
        self._data = self._folder / "data"
        self.port = _free_port()
        file = self._folder / "password"
        file.write_text(self.password)
        if os.getuid() == 0:
            shutil.chown(self._folder, _USER, _USER)
            shutil.chown(file, _USER, _USER)
        arguments = ["-U", _USER, "-E", "UTF8", "--locale=C", "--no-sync"]
        self._run("initdb", "-D", self._data, *arguments, "-A", "scram-sha-256", "--pwfile", file)
        settings = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self._folder,
            "fsync": "on" if durable else "off",
            "max_connections": 100,
        }
        self._options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        self.start()

    def start(self):
        """Start the server and wait until it answers."""
        log = self._folder / "log"
        self._run("pg_ctl", "-D", self._data, "-l", log, "-w", "-o", self._options, "start")

    def stop(self, mode="fast"):
        """Stop the server; ``immediate`` is a crash."""
        self._run("pg_ctl", "-D", self._data, "-w", "-m", mode, "stop")

    def remove(self):
        """Stop the server and remove its folder."""
        self.stop("immediate")
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, program, *arguments):
        assert self._programs is not None
        command = [str(self._programs / program), *map(str, arguments)]
        if os.getuid() == 0:
            command = ["runuser", "-u", _USER, "--", *command]
        # A started server would keep a pipe open for ever, so that its output goes to a file.
        with tempfile.TemporaryFile("w+") as output:
            done = subprocess.run(command, stdout=output, stderr=output, cwd="/", timeout=120)
            output.seek(0)
            assert done.returncode == 0, output.read()

    def url(self, database="postgres", *, user=_USER, password=None, port=None):
        """Return the URL of a database, with a password."""
        secret = password or self.password
        return f"postgresql://{user}:{secret}@127.0.0.1:{port or self.port}/{database}"

    def execute(self, *statements, database="postgres", user=_USER):
        """Run statements, each on its own; return the rows of the last one."""
        import psycopg

        rows = []
        with psycopg.connect(self.url(database, user=user), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
                rows = cursor.fetchall() if cursor.description else []
        return rows

    def new_database(self, options=""):
        """Create an empty database; return its name."""
        name = f"ledger_{os.getpid()}_{next(_names)}"
        self.execute(f"CREATE DATABASE {name} {options}")
        return name


@contextlib.contextmanager
def running_server(*, durable=False):
    """Start a server; remove it at the end."""
    server = PostgresServer(durable=durable)
    try:
        yield server
    finally:
        server.remove()


@contextlib.contextmanager
def locked(folder, name):
    """Shut out the other workers of the run, whose common folder this is."""
    with (folder / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def shared_server(folder):
    """Return the server of the run; start it if no worker has done so."""
    kept = folder / "postgres.pickle"
    with locked(folder, "postgres"):
        if not kept.exists():
            kept.write_bytes(pickle.dumps(PostgresServer()))
        return pickle.loads(kept.read_bytes())


def remove_shared_server(folder):
    """Remove the server of the run, if there is one."""
    kept = folder / "postgres.pickle"
    if kept.exists():
        pickle.loads(kept.read_bytes()).remove()
        # The folder may be gone already: pytest keeps the last three.
        kept.unlink(missing_ok=True)
