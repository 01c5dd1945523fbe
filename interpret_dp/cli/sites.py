"""One site of a study: its key, the file that says what it fits, and that fit."""

from __future__ import annotations

import os
import re
import traceback
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interpret_dp._documents import check_keys, read_json
from interpret_dp.cli import console
from interpret_dp.exceptions import InterpretDPError

if TYPE_CHECKING:
    from interpret_dp.sites import SigningKey, Site, Transport

# Seconds that the server waits for a site, such as one that restarts. A site waits longer.
PATIENCE = 3600.0

# All that a site tells FLARE of how a fit ended.
FITTED, STOPPED, NOT_READY = "fitted", "stopped", "not ready"

_REQUIRED = {"key": "text", "participants": "object", "fit": "list of texts"}
# Arguments of `Site`.
_OPTIONAL = {"n_colluding": "integer", "max_sites": "integer", "journal": "text"}
_PUBLIC = re.compile("[0-9a-f]{64}")


def checked_participants(what: str, given: Any) -> dict[str, str]:
    """Return public keys by name; ValueError, which says what is wrong, if they are none."""
    mend = "Enter what `interpret-dp sites key` printed at each site."
    if not isinstance(given, dict) or len(given) < 2:
        raise ValueError(
            f"{what} has {given!r} for participants; they must be an object of two or more names, "
            f"each with its public key. {mend}"
        )
    for name, public in given.items():
        if not isinstance(public, str) or not _PUBLIC.fullmatch(public):
            raise ValueError(
                f"{what} has {public!r} as the public key of {name!r}; it must be a text of 64 "
                f"digits 0 to 9 and a to f. {mend}"
            )
    return given


def made_key(file: Path) -> SigningKey:
    """Return the signing key in a file, which is made if it is not there."""
    from interpret_dp.sites import SigningKey

    if not file.exists():
        with console.pending_file(str(file), overwrite=False, option="FILE") as pending:
            pending.chmod(0o600)
            pending.write_text(f"{SigningKey.generate().secret.hex()}\n", encoding="ascii")
    return read_key(str(file))


def read_key(file: str) -> SigningKey:
    """Return the signing key in a file that only its owner can read."""
    from interpret_dp.sites import SigningKey

    if os.name == "posix" and os.stat(file).st_mode & 0o077:
        raise ValueError(f"The key {file!r} can be read by others. Restrict it: chmod 600 {file}.")
    with suppress(ValueError):
        secret = bytes.fromhex(Path(file).read_text(encoding="ascii"))
        if len(secret) == 32:
            return SigningKey(secret)
    # What is in the file stays out of the message.
    raise ValueError(f"{file!r} holds no signing key; `interpret-dp sites key FILE` makes one.")


def site_file(folder: Path, name: str) -> Path:
    """Return where a site's own file is, in the folder of FLARE that no job can write to."""
    return folder / f"interpret_dp.{name}.json"


def read_site(file: Path, transport: Transport) -> tuple[Site, dict[str, Any]]:
    """Return the site that a file describes, and the file's content.

    Raises
    ------
    ValueError, OSError, SitesError
        If it has an unknown key, a value of another type, or no key of a participant; or if its
        journal cannot be used.
    """
    from interpret_dp.sites import Site

    what, mend = f"The site's file {str(file)!r}", "Correct it by hand."
    given = read_json(file)
    check_keys(what, given, _REQUIRED, _OPTIONAL, mend=mend)
    participants = checked_participants(what, given["participants"])
    own = read_key(given["key"])
    names = [name for name, public in participants.items() if public == own.public]
    if len(names) != 1:
        raise ValueError(
            f"{what} has the key {given['key']!r}, whose public part is {own.public}, and "
            f"{len(names)} participants with that part; one must have it. {mend}"
        )
    options = {name: given[name] for name in _OPTIONAL if name in given}
    site = Site(names[0], own, participants, transport, patience=2.0 * PATIENCE, **options)
    return site, given


def fit_at_site(file: Path, transport: Transport) -> str:
    """Run this site's ``interpret-dp fit``; what it prints and each error stay in a log beside it.

    Parameters
    ----------
    file : Path
        The site's own file. Paths in it start at its folder.
    transport : Transport

    Returns
    -------
    str
        ``FITTED``, ``STOPPED``, or ``NOT_READY`` if the file cannot be used. No error is raised:
        FLARE would send its text to the server.
    """
    from interpret_dp.cli import main

    site, outcome = None, NOT_READY
    given: dict[str, Any] = {}
    with (
        suppress(BaseException),
        open(file.with_suffix(".log"), "a", encoding="utf-8", buffering=1) as log,
        redirect_stdout(log),
        redirect_stderr(log),
        chdir(file.parent),
    ):
        try:
            site, given = read_site(file, transport)
            outcome = STOPPED
            outcome = STOPPED if main(["fit", *given["fit"]], site=site) else FITTED
        except (InterpretDPError, OSError, ValueError) as error:
            console.say(f"interpret-dp: {error}")
        except BaseException:
            traceback.print_exc()
        finally:
            if site is not None:
                site.stop()
                remove_journal(given.get("journal"))
    return outcome


def remove_journal(path: str | None) -> None:
    """Remove the journal of a fit that is over: only a process that was killed leaves one."""
    for part in () if path is None else (path, f"{path}-journal"):
        Path(part).unlink(missing_ok=True)
