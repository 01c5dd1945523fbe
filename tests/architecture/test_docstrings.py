"""Every public name, method and property has a numpydoc docstring with all of its parameters."""

import dataclasses
import inspect

import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate

import interpret_dp

PUBLIC = [name for name in interpret_dp.__all__ if name != "__version__"]
LONGEST_SUMMARY = 100
# Sections out of order, as examples before errors; no docstring; a summary without capital or full
# stop, or of several lines.
SUMMARY = ("GL07", "GL08", "SS02", "SS03", "SS06")
# A parameter that is not documented; one that is documented and not there.
PARAMETERS = ("PR01", "PR02")


def written_here(cls):
    """Yield public methods and properties that this package wrote, inherited ones included."""
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        function = getattr(member, "__func__", getattr(member, "fget", member))
        ours = getattr(function, "__module__", "") or ""
        if not name.startswith("_") and ours.startswith("interpret_dp."):
            yield name, function


def faults(path, thing):
    """Yield what numpydoc finds wrong with the docstring of ``thing`` at an import path."""
    is_error = isinstance(thing, type) and issubclass(thing, BaseException)
    taken = {} if is_error else inspect.signature(thing).parameters
    # Keywords that a method collects are documented by their own names.
    has_keywords = any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values())
    codes = SUMMARY if is_error or has_keywords else (*SUMMARY, *PARAMETERS)
    if dataclasses.is_dataclass(thing):
        # What is given is an attribute afterwards, and documented as one.
        entries = NumpyDocString(inspect.getdoc(thing))["Attributes"]
        attributes = {name for entry in entries for name in entry.name.split(", ")}
        codes = SUMMARY if set(taken) <= attributes else codes
    for code, message in validate(path)["errors"]:
        if code in codes:
            yield f"{path}: {message}"
    summary = (thing.__doc__ or "").strip().partition("\n")[0]
    if len(summary) > LONGEST_SUMMARY:
        yield f"{path}: The summary has {len(summary)} characters"


def all_faults(path, thing):
    """Return what is wrong with the docstrings of a public name and of its members."""
    members = written_here(thing) if isinstance(thing, type) else ()
    found = [*faults(path, thing)]
    for name, member in members:
        found += faults(f"{path}.{name}", member)
    return found


@pytest.mark.parametrize("name", PUBLIC)
def test_everything_public_is_documented(name):
    assert all_faults(f"interpret_dp.{name}", getattr(interpret_dp, name)) == []


def test_every_summary_is_of_its_own():
    summaries = [getattr(interpret_dp, name).__doc__.partition("\n")[0] for name in PUBLIC]
    assert len(set(summaries)) == len(summaries)


class Planted:
    """no sentence.

    Parameters
    ----------
    given : int
    gone : int
    """

    def __init__(self, given, forgotten): ...

    def silent(self): ...

    @property
    def said(self):
        """What it is."""
        return 1


Planted.silent.__module__ = "interpret_dp.planted"


def test_the_check_finds_planted_faults():
    assert all_faults(f"{__name__}.Planted", Planted) == [
        f"{__name__}.Planted: Summary does not start with a capital letter",
        f"{__name__}.Planted: Parameters {{'forgotten'}} not documented",
        f"{__name__}.Planted: Unknown parameters {{'gone'}}",
        f"{__name__}.Planted.silent: The object does not have a docstring",
    ]
