"""Autosave files of editing sessions.

An autosave file is a session's own document. It lies beside the model's file, or in the user's
data folder for a model that has none. Every session has a file of its own, so that two processes
that edit one model never write over each other's edits.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import re
import threading
import weakref
from dataclasses import dataclass, field
from pathlib import Path

from interpret_dp._documents import parse_json, write_sealed
from interpret_dp.editor.history import EditHistory
from interpret_dp.editor.state import base_digest, edits_of
from interpret_dp.exceptions import warn_caller
from interpret_dp.released import AdditiveModel
from interpret_dp.released.additive_model import file_of

AUTOSAVE_VARIABLE = "INTERPRET_DP_AUTOSAVE"
"""Environment variable that switches autosave files off for a whole process."""

_SWITCH = {"": True, "on": True, "off": False}
_live: weakref.WeakSet[Autosave] = weakref.WeakSet()


@dataclass(frozen=True)
class EarlierEdits:
    """Edits of one model that an earlier session left in an autosave file.

    Attributes
    ----------
    path : Path
        The file.
    count : int
        Number of edits.
    who, when : str
        Author and time (UTC) of the last edit.
    problem : str
        Why the file cannot be taken: it is damaged, or belongs to another model. Empty if it can.
    digest : str
        SHA-256 of the file, so that one that changes later is noticed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from interpret_dp.editor import EarlierEdits
    >>> print(EarlierEdits(Path("edits.json"), 2, who="Ada", when="2026-11-27T13:25:12Z"))
    2 edits, the last by Ada at 2026-11-27 13:25 UTC, in 'edits.json'
    """

    path: Path
    count: int = 0
    who: str = ""
    when: str = ""
    problem: str = ""
    digest: str = field(default="", repr=False)

    @property
    def time(self) -> str:
        """The minute of the last edit."""
        return self.when.replace("T", " ").removesuffix("Z")[:16] + " UTC"

    def __str__(self) -> str:
        """Return one line with the number of edits, their author, time and file."""
        if self.problem:
            return self.problem
        edits = f"{self.count} edit{'' if self.count == 1 else 's'}"
        return f"{edits}, the last by {self.who} at {self.time}, in {str(self.path)!r}"


class Autosave:
    """The autosave file of one session; ``session.autosave``.

    A dashboard or a notebook editor that shows the session starts it. From then on every edit is
    written at once, atomically, to a file that its owner alone may read. A file is removed when no
    edit is left in its session.

    Parameters
    ----------
    session : EditSession
    is_on : bool
        False: no file is written or read. The environment variable ``INTERPRET_DP_AUTOSAVE=off``
        does the same.

    Attributes
    ----------
    is_on : bool
        Whether files are written and read.
    path : Path or None
        The file that holds the edits of this session; None while there is none.
    problem : str
        Why the latest edits are in no file; empty if nothing failed.

    Raises
    ------
    ValueError
        If the environment variable is neither ``on`` nor ``off``.

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(500)
    >>> model = DPExplainableBoostingClassifier(schema=patients.schema, max_rounds=2)
    >>> session = model.fit(patients.X, patients.y).edit(author="Ada", autosave=False)
    >>> session.autosave.is_on, session.autosave.path
    (False, None)
    """

    def __init__(self, session: EditHistory, is_on: bool = True) -> None:
        switch = os.environ.get(AUTOSAVE_VARIABLE, "").strip().lower()
        if switch not in _SWITCH:
            raise ValueError(
                f"The environment variable {AUTOSAVE_VARIABLE} is {switch!r}; it must be 'on' or "
                "'off'."
            )
        self._session = session
        self.is_on = is_on and _SWITCH[switch]
        self._has_started = False
        self._lock = threading.RLock()
        self.path: Path | None = None
        self._mark: tuple[int, ...] = ()
        self.problem = ""

    def start(self) -> None:
        """Write every edit from now on. A second call does nothing."""
        with self._lock:
            if self._has_started or not self.is_on:
                return
            self._has_started = True
        _live.add(self)
        self._session.subscribe(lambda session: self.write())

    def stop(self) -> None:
        """Write and read no file from now on; one that is there stays."""
        self.is_on = False

    def write(self) -> None:
        """Write the edits as they are now.

        A failure is a RuntimeWarning and ``problem``: the edits themselves stand.
        """
        with self._lock:
            if not self.is_on:
                return
            try:
                self._write()
            except OSError as error:
                is_new = not self.problem
                self.problem = (
                    f"The edits cannot be kept in a file ({error}). Download them, or save them "
                    "with session.save(path)."
                )
                if is_new:
                    warn_caller(self.problem, RuntimeWarning)
            else:
                self.problem = ""

    def _write(self) -> None:
        document = self._session.to_dict()
        is_own = self._is_own()
        if not document["edits"]:
            if is_own and self.path is not None:
                self.path.unlink()
            self.path = None
            return
        path = self.path if is_own and self.path is not None else self._new_file()
        try:
            write_sealed(path, document)
        except OSError:
            if not is_own:
                path.unlink(missing_ok=True)
            raise
        self.path, self._mark = path, _mark_of(path)

    def _is_own(self) -> bool:
        """Whether the file is as this session wrote it: others may have taken or discarded it."""
        return self.path is not None and _mark_of(self.path) == self._mark != ()

    def _new_file(self) -> Path:
        """Return a new, empty file; beside the model where that folder can be written."""
        folder, stem = _beside(self._session.base)
        if folder is not None:
            with contextlib.suppress(OSError):
                return _claim(folder, stem)
        folder, stem = _user_folder(), self._stem()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        return _claim(folder, stem)

    def _stem(self) -> str:
        """Return how the names of this model's files in the user's folder begin."""
        return f"{base_digest(self._session.base)[:32]}.autosave"

    # ------------------------------------------------------------------------- earlier sessions

    @property
    def earlier(self) -> tuple[EarlierEdits, ...]:
        """Edits that earlier sessions left, the latest first; files with a problem come last.

        Files that open sessions of this process write to are left out, and so are those that
        belong to another user.
        """
        if not self.is_on:
            return ()
        open_files = {self.path, *(other.path for other in list(_live) if other._is_own())}
        paths = _files_in(*_beside(self._session.base))
        if _is_in_use():
            paths += _files_in(_user_folder(), self._stem())
        entries = [self._read(path) for path in paths if path not in open_files]
        readable = [entry for entry in entries if entry is not None]
        return tuple(sorted(readable, key=lambda e: (not e.problem, e.when), reverse=True))

    def _read(self, path: Path) -> EarlierEdits | None:
        try:
            content = path.read_bytes()
        except (FileNotFoundError, PermissionError):
            return None
        except OSError as error:
            return EarlierEdits(path, problem=f"{str(path)!r} cannot be read: {error}.")
        try:
            edits = edits_of(parse_json(content, repr(str(path))), self._session.base)
            if not edits:
                raise ValueError("it holds no edits. Delete it.")
            last = edits[-1]
            digest = hashlib.sha256(content).hexdigest()
            return EarlierEdits(path, len(edits), last["who"], last["when"], digest=digest)
        except ValueError as error:
            problem = f"{str(path)!r} is left as it is: {error}"
            return EarlierEdits(path, problem=problem)

    def take(self, earlier: EarlierEdits | None = None) -> int:
        """Bring the edits of an earlier session into this one, which goes on in their file.

        Parameters
        ----------
        earlier : EarlierEdits, default=None
            One of :attr:`earlier`; the only one if None.

        Returns
        -------
        int
            How many edits were added.

        Raises
        ------
        ValueError
            If there is no such file any more, it was changed since, it is damaged or of another
            model, or it does not begin with the edits of this session, which would be lost. The
            file and the session then stay as they are.
        """
        with self._lock:
            path, content = self._unchanged(earlier)
            document = parse_json(content, repr(str(path)))
            state = self.path, self._mark
            before = self.path if self._is_own() else None
            self.path, self._mark = path, _mark_of(path)
            try:
                added = self._session.continue_from(document)
            except Exception:
                self.path, self._mark = state
                raise
            if before is not None:
                before.unlink(missing_ok=True)
        self.start()
        return added

    def discard(self, earlier: EarlierEdits | None = None) -> None:
        """Delete the file of an earlier session.

        Parameters
        ----------
        earlier : EarlierEdits, default=None
            One of :attr:`earlier`; the only one if None.

        Raises
        ------
        ValueError
            If there is no such file any more, it was changed since, or it is damaged or of
            another model: such a file is yours to delete.
        """
        with self._lock:
            path, _ = self._unchanged(earlier)
            path.unlink()

    def _unchanged(self, earlier: EarlierEdits | None) -> tuple[Path, bytes]:
        """Return the file that is meant and its content, if that is still what was read."""
        if earlier is None:
            found = [entry for entry in self.earlier if not entry.problem]
            if len(found) != 1:
                raise ValueError(
                    f"{len(found)} earlier sessions left edits of this model; name one of "
                    "session.autosave.earlier."
                )
            earlier = found[0]
        if earlier.problem:
            raise ValueError(earlier.problem)
        path = earlier.path
        try:
            content = path.read_bytes()
        except OSError as error:
            raise ValueError(
                f"{str(path)!r} is no longer there ({error.strerror}): another session took or "
                "discarded its edits."
            ) from None
        if hashlib.sha256(content).hexdigest() != earlier.digest:
            raise ValueError(
                f"{str(path)!r} was changed since it was read: another session edits the model. "
                "Look at session.autosave.earlier again."
            )
        return path, content


def may_have_edits(base: AdditiveModel) -> bool:
    """Return whether there may be edits of earlier sessions of a model, without hashing it."""
    return bool(_files_in(*_beside(base))) or _is_in_use()


def autosaves() -> list[Autosave]:
    """Return the autosaves of this process whose edits are in a file, with the files up to date."""
    for autosave in list(_live):
        path = autosave.path
        if path is not None and not path.exists():
            # Another session discarded the file.
            autosave.write()
    with_file = [a for a in list(_live) if a.path is not None and a.path.exists()]
    return sorted(with_file, key=lambda autosave: str(autosave.path))


def _user_folder() -> Path:
    from platformdirs import user_data_path

    try:
        return user_data_path("interpret_dp", appauthor=False) / "edits"
    except RuntimeError as error:
        raise OSError("this user has no home folder") from error


def _claim(folder: Path, stem: str) -> Path:
    for number in itertools.count(1):
        path = folder / (f"{stem}.json" if number == 1 else f"{stem}-{number}.json")
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            continue
        return path
    raise AssertionError("itertools.count ended")


def _beside(base: AdditiveModel) -> tuple[Path | None, str]:
    """Return the folder of the model's file, if it is in one, and how names begin there."""
    file = file_of(base)
    return (None, "") if file is None else (file.parent, f"{file.stem}.autosave")


def _files_in(folder: Path | None, stem: str) -> list[Path]:
    name = re.compile(rf"{re.escape(stem)}(-\d+)?\.json")
    try:
        entries = sorted(folder.iterdir()) if folder is not None else []
    except OSError:
        return []
    return [entry for entry in entries if name.fullmatch(entry.name)]


def _is_in_use() -> bool:
    """Whether the user's folder holds a file; names there need a hash, which takes a while."""
    try:
        return any(_user_folder().iterdir())
    except OSError:
        return False


def _mark_of(path: Path) -> tuple[int, ...]:
    """Return what changes when a file is replaced; empty if it is not there."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size
