"""NVIDIA FLARE's server and clients carry the messages of sites.

FLARE makes both objects in its own processes, from a job that brings no code. It authenticates the
sites and encrypts their messages. What a site fits is in its own file (`interpret_dp.cli.sites`).
"""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

from interpret_dp._documents import canonical_json, parse_json
from interpret_dp._optional import import_optional
from interpret_dp.cli.sites import (
    FITTED,
    NOT_READY,
    PATIENCE,
    fit_at_site,
    remove_journal,
    site_file,
)
from interpret_dp.sites import Coordinator
from interpret_dp.sites.masks import Header, digest, packed

import_optional("nvflare", extra="flare", purpose="A study by NVIDIA FLARE")

from nvflare.collab import CollabRecipe, collab  # noqa: E402
from nvflare.recipe.secrets import PotentialSecretWarning  # noqa: E402

#: What FLARE may build at a server and at a site: its resources.json lists this, and no more.
CLASSES = [
    "nvflare.collab.runtime.controller.CollabController",
    "nvflare.collab.runtime.executor.CollabExecutor",
    f"{__name__}.Study",
    f"{__name__}.Hospital",
]
# A call without an answer by then was lost.
_CALL_SECONDS = 120.0
# Until each site has loaded its libraries.
_START_SECONDS = 600
_LONGEST_FIT = 7 * 86400.0


class Study:
    """FLARE's server: it starts the fit at all sites, and adds their masked numbers.

    Parameters
    ----------
    participants : dict of str to str
        The public key of each site by its name.
    """

    def __init__(self, participants: dict[str, str]) -> None:
        # FLARE writes the attribute of this name into the job.
        self.participants = participants
        self._coordinator: Coordinator | None = None
        self._is_over = False

    @collab.main
    def run(self) -> None:
        """Fit at all sites at once; FLARE's job fails if one did not.

        What was lost, with a site or this server, goes on in the next job of the same sites.
        """
        name = f"interpret_dp.{digest(self.participants)[:16]}.journal"
        journal = Path(collab.workspace.get_site_config_dir()) / name
        self._coordinator = Coordinator(self.participants, timeout=PATIENCE, journal=journal)
        clients = collab.clients(timeout=_LONGEST_FIT, process_resp_cb=self._ended)
        results = clients.fit()
        ends = dict(results) | dict.fromkeys(results.failures, "lost")
        if "lost" not in ends.values():
            remove_journal(str(journal))
        if len(ends) < len(self.participants) or set(ends.values()) != {FITTED}:
            raise RuntimeError(f"Not all sites fitted: {ends}. The log at each site says why.")

    def _ended(self, _call: Any, outcome: str) -> str:
        # Such a site has no key that its stop could be signed with.
        self._is_over |= outcome == NOT_READY
        return outcome

    @collab.publish
    def exchange(self, header: str, payload: bytes) -> bytes:
        """Pass a site's message on, and return the answer to all."""
        if self._coordinator is None or self._is_over:
            return packed({"stop": "A site was not ready, so that the fit stopped."})
        return self._coordinator.exchange(parse_json(header, "The header"), payload)


class Hospital:
    """FLARE's client at one site. It takes no arguments: a job cannot tell it what to read."""

    @collab.publish
    def fit(self) -> str:
        """Fit on this site's rows; say how it ended, and nothing of the reason."""
        folder = Path(collab.workspace.get_site_config_dir())
        return fit_at_site(site_file(folder, collab.site_name), _ServerTransport(collab.server))


class _ServerTransport:
    """Calls of the server, with a text and bytes as arguments."""

    def __init__(self, server: Any) -> None:
        self._server = server

    def exchange(self, header: Header, payload: bytes) -> bytes:
        try:
            call = self._server(timeout=_CALL_SECONDS).exchange
            return bytes(call(canonical_json(header), payload))
        except Exception:
            # FLARE ends this process where it aborts the job; the journal holds no stop then.
            raise ConnectionError("FLARE lost a message or its answer.") from None


def write_job(folder: Path, participants: dict[str, str]) -> None:
    """Write a study as FLARE's job folder, which has no code in it."""
    recipe = CollabRecipe(
        job_name=folder.name,
        server=Study(participants),
        client=Hospital(),
        min_clients=len(participants),
        sync_task_timeout=_START_SECONDS,
        # A message that is sent again waits beside the first one.
        max_call_threads_for_server=(2 + int(PATIENCE / _CALL_SECONDS)) * len(participants),
    )
    with warnings.catch_warnings():
        # FLARE takes public keys for secrets.
        warnings.simplefilter("ignore", PotentialSecretWarning)
        recipe.export(str(folder.parent))
    # FLARE copies sources of the objects. A site that ran code of jobs could not protect its rows.
    for custom in folder.glob("*/custom"):
        shutil.rmtree(custom)
