"""Files of released models: the file that a model of this process was read from or saved to."""

from __future__ import annotations

import os
import weakref
from pathlib import Path

from interpret_dp.released.additive_model import AdditiveModel

# Beside the models, and not in them: a pickle or a document of a model names no path.
_files: weakref.WeakKeyDictionary[AdditiveModel, Path] = weakref.WeakKeyDictionary()


def note_file(model: AdditiveModel, path: str | os.PathLike[str] | None) -> None:
    """Note the file that holds a model; None notes nothing."""
    if path is not None:
        _files[model] = Path(os.path.abspath(path))


def file_of(model: AdditiveModel) -> Path | None:
    """Return the file that a model was read from or saved to; None if there is none."""
    return _files.get(model)
