"""Everything that a fitted explainer publishes, taken apart and compared bit for bit."""

from __future__ import annotations

import dataclasses
import io
import pickle
import re
import struct
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from interpret_dp._documents import SEAL
from interpret_dp.accounting.guarantee import Guarantee

__all__ = ["differences", "explanation_parts", "published_parts"]

_HEAD = "(ledger head)"
_SEAL = re.compile(rf'(?<="{SEAL}": ")[0-9a-f]{{64}}')


def published_parts(explainer: Any) -> dict[str, Any]:
    """Return what a fitted explainer publishes, by name.

    Parameters
    ----------
    explainer : object
        A fitted explainer. Its attributes and its pickle are always taken; ``to_json(file)``,
        ``save(path)`` and ``explain_global()`` where it has them.

    Returns
    -------
    dict of str to object
        ``"attributes"``, ``"pickle"``, ``"repr"``, ``"to_json"``, ``"save"`` and
        ``"explain_global"``. Ledgers are left out and the ledger's head is masked, and with it
        the seal of a file that holds it: they are public bookkeeping that differs from one fit to
        the next.
    """
    head = _ledger_head(explainer)
    parts: dict[str, Any] = {
        "attributes": {name: _without_head(part, head) for name, part in vars(explainer).items()},
        "pickle": _pickled(explainer, head),
    }
    # The default of `object` shows a memory address.
    if any("__repr__" in vars(kind) for kind in type(explainer).__mro__[:-1]):
        parts["repr"] = repr(explainer)
    if hasattr(explainer, "to_json"):
        file = io.StringIO()
        with warnings.catch_warnings():
            # interpret warns that its format may change, which does not matter here.
            warnings.simplefilter("ignore")
            explainer.to_json(file)
        parts["to_json"] = file.getvalue()
    if hasattr(explainer, "save"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            explainer.save(path)
            # A function of all the rest of the file, of which only the head is masked.
            parts["save"] = _SEAL.sub("(seal)", path.read_bytes().decode("utf-8"))
    # A background has none of its own: it explains whatever model it is given.
    if hasattr(explainer, "explain_global") and not hasattr(explainer, "background_"):
        parts["explain_global"] = explanation_parts(explainer.explain_global(name="replay"))
    if head is not None:
        for name, part in parts.items():
            if isinstance(part, str):
                parts[name] = part.replace(head, _HEAD)
    return parts


def differences(first: Any, second: Any) -> list[str]:
    """Return the paths at which two structures differ, bit for bit; empty if they are the same.

    Parameters
    ----------
    first, second : object
        Arrays, numbers, texts, containers, pandas objects, and objects made of them. Types,
        dtypes, shapes, the order of keys and every bit of a float count; ledgers do not.
    """
    return list(_differences("", first, second, {}))


def _ledger_head(explainer: Any) -> str | None:
    # Released figures, which are no estimator, carry it without the underscore.
    guarantee = getattr(explainer, "guarantee_", getattr(explainer, "guarantee", None))
    return guarantee.ledger_head if isinstance(guarantee, Guarantee) else None


def _without_head(part: Any, head: str | None) -> Any:
    if isinstance(part, Guarantee) and part.ledger_head == head is not None:
        return dataclasses.replace(part, ledger_head=_HEAD)
    if dataclasses.is_dataclass(part) and isinstance(getattr(part, "guarantee", None), Guarantee):
        return {
            field.name: _without_head(getattr(part, field.name), head)
            for field in dataclasses.fields(part)
        }
    return part


def explanation_parts(explanation: Any) -> dict[str, Any]:
    """Return all data that one of interpret's explanations shows, by key."""
    selector = getattr(explanation, "selector", None)
    keys = [None, -1, *range(0 if selector is None else len(selector))]
    return {"selector": selector} | {f"data({key})": explanation.data(key) for key in keys}


class _MaskingPickler(pickle.Pickler):
    """Pickles everything but ledgers and the ledger's head."""

    def __init__(self, file: io.BytesIO, head: str | None) -> None:
        super().__init__(file, protocol=5)
        self._head = head

    def persistent_id(self, obj: Any) -> str | None:
        if _is_ledger(obj):
            return "ledger"
        return _HEAD if isinstance(obj, str) and obj == self._head else None


def _pickled(explainer: Any, head: str | None) -> bytes:
    file = io.BytesIO()
    _MaskingPickler(file, head).dump(explainer)
    return file.getvalue()


def _is_ledger(value: Any) -> bool:
    from interpret_dp.ledger import PrivacyLedger

    return isinstance(value, PrivacyLedger)


def _differences(
    path: str, first: Any, second: Any, seen: dict[tuple[int, int], tuple[Any, Any]]
) -> Iterator[str]:
    """Walk both structures in step; a pair that is under way or done is not walked again."""
    if first is second or (_is_ledger(first) and _is_ledger(second)):
        return
    if type(first) is not type(second):
        yield path
        return
    if isinstance(first, float):
        if struct.pack("d", first) != struct.pack("d", second):
            yield path
        return
    if isinstance(first, str | bytes | int | complex | type) or callable(first):
        if first != second:
            yield path
        return
    if (id(first), id(second)) in seen:
        return
    # The pair is kept alive, so that no other object gets its identity.
    seen[id(first), id(second)] = first, second
    if isinstance(first, np.ndarray | np.generic) and first.dtype != object:
        if _raw(first) != _raw(second):
            yield path
        return
    first_parts, second_parts = _children(first), _children(second)
    if list(first_parts) != list(second_parts):
        yield path
        return
    for name, part in first_parts.items():
        yield from _differences(f"{path}{name}", part, second_parts[name], seen)


def _raw(array: Any) -> tuple[str, tuple[int, ...], bytes]:
    return str(array.dtype), array.shape, array.tobytes()


def _children(value: Any) -> dict[str, Any]:
    """Return the parts of a composed value by the text that leads to them."""
    if isinstance(value, Mapping):
        return {f"[{key!r}]": part for key, part in value.items()}
    if isinstance(value, list | tuple):
        return {f"[{index}]": part for index, part in enumerate(value)}
    if isinstance(value, set | frozenset):
        return {f"{{{part!r}}}": None for part in sorted(value, key=repr)}
    if isinstance(value, np.ndarray):
        return {".shape": value.shape} | _children(list(value.ravel()))
    if hasattr(value, "iloc"):  # a pandas object
        labels = getattr(value, "columns", ())
        return {".labels": list(labels), ".index": list(value.index), ".cells": value.to_numpy()}
    if isinstance(value, Guarantee) and value.ledger_head is not None:
        value = dataclasses.replace(value, ledger_head=_HEAD)
    slots = [slot for kind in type(value).__mro__ for slot in getattr(kind, "__slots__", ())]
    parts = {f".{slot}": getattr(value, slot) for slot in slots if hasattr(value, slot)}
    parts |= {f".{name}": part for name, part in getattr(value, "__dict__", {}).items()}
    # Without visible parts (a compiled type) the pickle is all there is to compare.
    return parts or {".pickle": pickle.dumps(value)}
