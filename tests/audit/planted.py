"""A search for values that were planted in a private table, in everything that a result holds."""

import pickletools
import re
import struct
from collections.abc import Mapping

import numpy as np
import pandas as pd

from interpret_dp import PrivacyLedger
from interpret_dp.audit import published_parts

N_ROWS = 2749
N_YES = 1117
N_SITE_A = 1303
RARE_NUMBER = 48.72951386
RARE_TARGET = 17.31986253
TEXTS = ["Zebulon", "undeclared-label"]
# Counts and cells that occur nowhere else.
NUMBERS = [N_ROWS, N_YES, N_ROWS - N_YES, N_SITE_A, RARE_NUMBER, RARE_TARGET]
TEXT_FORMS = [text.encode(code) for text in TEXTS for code in ("utf-8", "utf-16-le")]
# How numbers that are no integers are written as bytes.
FRACTIONS = ["<d", ">d", "<f"]


def private_table(task):
    """Return a table of columns age and site with the planted values in it."""
    rng = np.random.default_rng(3)
    age = rng.uniform(0, 100, N_ROWS)
    age[7] = RARE_NUMBER
    site = np.array(["a"] * N_SITE_A + ["b"] * (N_ROWS - N_SITE_A - 1) + ["Zebulon"], dtype=object)
    if task == "classification":
        y = np.array(["yes"] * N_YES + ["no"] * (N_ROWS - N_YES - 1) + ["undeclared-label"])
    else:
        y = rng.uniform(0, 20, N_ROWS)
        y[9] = RARE_TARGET
    return pd.DataFrame({"age": age, "site": site}), pd.Series(y)


def leaves(value, path, seen):
    """Yield every text, number and array inside a value, ledgers apart, with its path."""
    if id(value) in seen or isinstance(value, PrivacyLedger | type) or callable(value):
        return
    if isinstance(value, str | bytes | int | float | np.generic):
        yield path, value
        return
    seen[id(value)] = value
    if isinstance(value, np.ndarray) and value.dtype != object:
        yield path, value
        return
    if isinstance(value, pd.DataFrame | pd.Series):
        value = {"index": value.index.tolist(), "cells": value.to_numpy().tolist()}
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from leaves(key, f"{path} key", seen)
            yield from leaves(part, f"{path}[{key!r}]", seen)
    elif isinstance(value, list | tuple | set | frozenset | np.ndarray):
        for index, part in enumerate(value):
            yield from leaves(part, f"{path}[{index}]", seen)
    else:
        for name, part in getattr(value, "__dict__", {}).items():
            yield from leaves(part, f"{path}.{name}", seen)


def planted_in(value):
    """Whether a leaf is or holds a planted value: as itself, as text, or as raw bytes."""
    if isinstance(value, bytes):
        return any(text in value for text in TEXT_FORMS) or any(
            holds_number(value, form) for form in number_forms()
        )
    if isinstance(value, str):
        numbers = re.findall(r"(?<![\w.])[-+]?\d+\.?\d*(?:e[-+]?\d+)?(?![\w.]*\w)", value)
        return any(text in value for text in TEXTS) or any(
            float(number) in NUMBERS for number in numbers
        )
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        return any(text in str(array.tolist()) for text in TEXTS)
    return any((np.abs(array) == number).any() for number in NUMBERS)


def number_forms():
    for number in NUMBERS:
        is_count = number == int(number)
        yield from (struct.pack(form, number) for form in (["<d"] if is_count else FRACTIONS))
        if is_count:
            yield struct.pack("<q", int(number))


def holds_number(value, form):
    """Whether bytes hold a number: anywhere, or as an item of an array if its form is short.

    A form with zeros in it, or of four bytes, would be met by chance across two other numbers.
    """
    at = value.find(form)
    if len(form) == 8 and 0 not in form:
        return at >= 0
    while at >= 0 and at % len(form):
        at = value.find(form, at + 1)
    return at >= 0


def inside_pickle(pickled):
    """Yield what each opcode carries: short numbers would hide among other bytes."""
    for opcode, argument, _ in pickletools.genops(pickled):
        if isinstance(argument, str | bytes | bytearray | int | float):
            is_address = "GET" in opcode.name or "PUT" in opcode.name or opcode.name == "FRAME"
            if not is_address:
                found = bytes(argument) if isinstance(argument, bytearray) else argument
                yield f"pickle {opcode.name}", found


def find_planted(model):
    parts = published_parts(model)
    seen = {}
    found = [path for path, leaf in leaves(vars(model), "", seen) if planted_in(leaf)]
    found += [path for path, leaf in leaves(parts, "", seen) if planted_in(leaf)]
    found += [path for path, leaf in inside_pickle(parts["pickle"]) if planted_in(leaf)]
    return found
