"""The identity of a ledger object: its URL, opening it, copies, pickles and forks."""

from __future__ import annotations

import functools
import itertools
import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from interpret_dp._validate import check_name, check_real
from interpret_dp.exceptions import ConnectionLostError, LedgerError

if TYPE_CHECKING:
    from sqlalchemy import URL

    from interpret_dp.ledger.store import Store


_P = ParamSpec("_P")
_T = TypeVar("_T")
_MEMORY = "memory:"
_serial_numbers = itertools.count(1)


class LedgerHandle:
    """The identity of a ledger and its connection to the store.

    Parameters
    ----------
    url : str
        Of a file, ``sqlite:///privacy.db``, or of a server's database,
        ``postgresql://user@host/database``.
    timeout : float
        Seconds to wait while another process holds the ledger, or its server restarts.

    Notes
    -----
    Copies and deep copies are the same object, for a copied budget could be spent twice. A pickle
    carries URL, timeout and purpose only and opens the ledger on first use, so that a pickled model
    can be loaded, and predict, where its ledger is not. A password stays in this object: neither a
    pickle nor a report carries it.
    """

    _store: Store | None
    _looks_at: LedgerHandle

    def __init__(self, url: str = "sqlite:///privacy.db", *, timeout: float = 30.0) -> None:
        from interpret_dp.ledger.store import Store

        self._store = Store(self._locate(url, timeout), timeout=self._timeout)

    @classmethod
    def in_memory(cls) -> Self:
        """Return a new ledger that ends with this process and needs no budget."""
        from interpret_dp.ledger.store import Store

        # The time keeps apart processes that had the same id one after the other.
        url = f"{_MEMORY}{os.getpid()}-{time.time_ns()}-{next(_serial_numbers)}"
        ledger = cls.__new__(cls)
        ledger._set(url, 0.0)
        store = Store(None, timeout=0.0)
        store.create()
        ledger._store = store
        weakref.finalize(ledger, store.close)
        _in_memory[url] = ledger
        return ledger

    @classmethod
    def existing(cls, url: str, *, timeout: float = 30.0) -> Self:
        """Return the ledger at a URL, to be opened on first use, and never created.

        For whoever only reads: a new file would say that nothing was spent.

        Parameters
        ----------
        url : str
            As the constructor takes it.
        timeout : float, default=30.0
            Seconds to wait while another process holds the ledger.

        Raises
        ------
        TypeError, ValueError
            If the URL cannot be read. That the file is gone shows on first use, as LedgerError.
        """
        ledger = cls.__new__(cls)
        ledger._locate(url, timeout)
        return ledger

    def _locate(self, url: str, timeout: float) -> URL:
        """Set everything but the store; return the checked URL, with its password."""
        from interpret_dp.ledger.store import resolve_url
        from interpret_dp.ledger.tables import without_password

        resolved = resolve_url(url)
        password = None if resolved.password is None else str(resolved.password)
        self._set(without_password(resolved), timeout, password)
        return resolved

    def _set(self, url: str, timeout: float, password: str | None = None) -> None:
        self._url = url
        self._purpose = ""
        self._password = password
        self._timeout = check_real("timeout", timeout, low=0)
        self._owner = os.getpid()
        self._store = None
        self._opening = threading.Lock()

    @property
    def url(self) -> str:
        """The place of the ledger: a file with its full path, or a server's database.

        Without a password; ``memory:...`` for a ledger in memory.
        """
        return self._url

    @property
    def purpose(self) -> str:
        """The purpose of all spending through this object; empty if nobody stated one."""
        return self._purpose

    def for_purpose(self, purpose: str) -> Self:
        """Return the same ledger, which writes a purpose to everything that is spent through it.

        It is given to an estimator or an explainer as its ``ledger``. Copies and pickles keep the
        purpose; the ledger from which it was made stays as it is.

        Parameters
        ----------
        purpose : str
            In your own words, such as ``"quarterly audit"``; not about any person in the data.

        Raises
        ------
        TypeError, ValueError
            If it is no printable text in one line.
        """
        purpose = check_name("purpose", purpose, longest=None)
        view = type(self).__new__(type(self))
        # The view of an in-memory ledger keeps alive what it looks at.
        vars(view).update(vars(self), _purpose=purpose, _looks_at=self)
        return view

    @property
    def persistent(self) -> bool:
        """Whether the ledger outlives the process."""
        return not self._url.startswith(_MEMORY)

    @property
    def display_url(self) -> str:
        """The URL for eyes and reports: without any password."""
        return self._url if self.persistent else "in memory"

    def __repr__(self) -> str:
        """Return the call that opens this ledger, without any password."""
        name = type(self).__name__
        call = f"{name}({self.display_url!r})" if self.persistent else f"{name}.in_memory()"
        return f"{call}.for_purpose({self._purpose!r})" if self._purpose else call

    def __eq__(self, other: object) -> bool:
        """Whether both are the same ledger, by URL."""
        return isinstance(other, LedgerHandle) and self._url == other._url

    def __hash__(self) -> int:
        """Hash by URL."""
        return hash(self._url)

    def __copy__(self) -> Self:
        """Return the ledger itself."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return the ledger itself."""
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle URL, timeout and purpose, nothing else."""
        return _restore, (type(self), self._url, self._timeout, self._purpose)

    def _opened(self, *, creates: bool = False) -> Store:
        """Return the store; open it if this object came out of a pickle.

        Parameters
        ----------
        creates : bool
            Begin a ledger if there is none.
        """
        if not self.persistent:
            if self._store is None or self._owner != os.getpid():
                raise LedgerError(
                    "This in-memory ledger belongs to another process and exists only there. To "
                    "share a budget between processes use PrivacyLedger('sqlite:///privacy.db')."
                )
            return self._store
        from interpret_dp.ledger.store import Store, resolve_url

        with self._opening:
            if self._store is None:
                url = resolve_url(self._url)
                if self._password is not None:
                    url = url.set(password=self._password)
                self._store = Store(url, timeout=self._timeout, must_exist=True)
            if creates:
                self._store.create()
            return self._store


def tried_again(method: Callable[_P, _T]) -> Callable[_P, _T]:
    """Call a ledger's method again if its connection was lost and nothing was written.

    For as long as the ledger's timeout says.
    """

    @functools.wraps(method)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        ledger: Any = args[0]
        deadline = time.monotonic() + ledger._timeout
        while True:
            try:
                return method(*args, **kwargs)
            except ConnectionLostError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.1)

    return call


_Handle = TypeVar("_Handle", bound=LedgerHandle)
_in_memory: weakref.WeakValueDictionary[str, LedgerHandle] = weakref.WeakValueDictionary()


def _restore(kind: type[_Handle], url: str, timeout: float, purpose: str = "") -> _Handle:
    """Return the ledger of a pickle: the very same in its own process, else a handle by URL."""
    known = _in_memory.get(url)
    if isinstance(known, kind):
        ledger = known
    else:
        ledger = kind.__new__(kind)
        ledger._set(url, timeout)
    return ledger.for_purpose(purpose) if purpose else ledger
