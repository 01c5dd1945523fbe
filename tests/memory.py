"""How much memory a call needs."""

import tracemalloc


def peak_of(call):
    """Return what a call returns, and the most bytes that were held meanwhile."""
    tracemalloc.start()
    try:
        found = call()
        return found, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
