"""Whatever a document says, it is refused by a message of ours, or works."""

import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from interpret_dp._documents import SEAL
from interpret_dp.exceptions import LedgerError
from tests.edges.contents import NAMES, contents, says_the_same

# What Python and NumPy say where nobody checked.
BARE = re.compile(
    r"\((Key|Index|Attribute|Overflow|Lookup|Recursion)Error|object is not|has no len|unhashable"
    r"|argument must be|unexpected keyword|has no attribute|invalid literal|could not convert"
    r"|not supported between|not subscriptable|not iterable|positional arg|truth value"
    r"|inhomogeneous|ufunc|broadcast|too large to convert|unsupported operand|values to unpack"
)
# Keys that may be left out, or written in two ways (one column or a list of it): what is there
# without them says the same.
DEFAULTS = {"scale", "ordered", "max_rows", "features", "scope", "delta", "column"}


def outcome(name, path, value):
    """Return "refused" or "works"; or what went wrong, with the place and the value."""
    kind, fault = contents(name), ""
    document = kind.changed(path, value)
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        # Our own warnings of what older versions released may come.
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        try:
            found = kind.read(document)
        except (ValueError, TypeError, LedgerError) as error:
            if not BARE.search(str(error)):
                return "refused"
            fault = str(error)
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
        else:
            try:
                said = kind.use(found)
            except Exception as error:
                fault = f"{type(error).__name__}: {error}"
            else:
                document.pop(SEAL, None)
                if said is None or DEFAULTS & set(path[-1:]) or says_the_same(document, said):
                    return "works"
                fault = "it is read as something else"
    return f"{path} is {value!r:.60}: {fault:.300}"


@pytest.mark.parametrize("name", NAMES)
def test_documents_work_as_they_are(name):
    kind = contents(name)
    kind.use(kind.read(kind.document))


@settings(max_examples=250, deadline=None)
@given(data=st.data())
def test_a_wrong_value_is_refused_or_works(data):
    name = data.draw(st.sampled_from(NAMES), label="kind")
    path = data.draw(st.sampled_from(contents(name).paths()), label="path")
    value = data.draw(st.sampled_from(contents(name).values(path)), label="value")
    assert outcome(name, path, value) in ("refused", "works")
