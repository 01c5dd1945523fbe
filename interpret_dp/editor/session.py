"""The editing session: a history of edits over an immutable released model, and its tables."""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from interpret_dp._documents import read_json, write_sealed
from interpret_dp.editor.autosave import Autosave
from interpret_dp.editor.bins import TermView, bin_edges, code_labels
from interpret_dp.editor.history import EditHistory
from interpret_dp.editor.operations import Preview
from interpret_dp.editor.state import base_digest, find_term, steps_of
from interpret_dp.editor.verdict import ALPHA, Suggestion, Verdict, judge, suggest_repairs
from interpret_dp.released import AdditiveModel, AdditiveTerm, EditRecord, FeaturePair

if TYPE_CHECKING:
    import pandas as pd

    from interpret_dp.ui.notebook.editor import NotebookEditor


_ROUNDING = 1e-12


class Editable(Protocol):
    """A model that opens a session over itself."""

    def edit(self, author: str | None = None, *, autosave: bool = True) -> EditSession:
        """Return a new session."""


class EditSession(EditHistory):
    """Edits of a released model's shape functions, with undo, messages and a file.

    Each operation takes effect at once and is *pending*. :meth:`commit` writes one message on all
    pending edits and changes nothing else; :meth:`cancel` undoes them. :meth:`undo` and
    :meth:`redo` go through all edits, one at a time, committed or not.

    Editing is post-processing of released numbers: it costs no privacy and the guarantee of the
    base model holds for every model of the session, as long as the person edits by what is public
    (the model, the literature, medical knowledge) and not by looking at the rows.

    Parameters
    ----------
    base : AdditiveModel
        The model to edit; it is never changed.
    build : callable
        Makes a fitted estimator of a released model. ``estimator.edit()`` hands it in.
    author : str, default=None
        Who is written into the history; the login name if None.
    autosave : bool, default=True
        Whether edits are kept in a file as they are made, once a dashboard or a notebook editor
        shows the session.

    Raises
    ------
    TypeError, ValueError
        If the author is no text or is empty.

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(2_000)
    >>> model = DPExplainableBoostingClassifier(schema=patients.schema)
    >>> session = model.fit(patients.X, patients.y).edit(author="Ada")
    >>> record = session.shift("age", 0.1)
    >>> session.commit("the ward counts years from admission")  # how many edits have this message
    1
    >>> session.model.guarantee_.epsilon == model.guarantee_.epsilon  # editing is free
    True
    """

    def __init__(
        self,
        base: AdditiveModel,
        build: Callable[[AdditiveModel], Any],
        *,
        author: str | None = None,
        autosave: bool = True,
    ) -> None:
        super().__init__(base, build, author)
        self._has_autosave = autosave
        self._shown: NotebookEditor | None = None

    def __repr__(self) -> str:
        """Show how many edits there are."""
        return (
            f"EditSession({len(self.base.terms)} terms, {len(self._steps)} edits, "
            f"{len(self.pending)} of them pending)"
        )

    # ------------------------------------------------------------------------------ the state

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the terms."""
        return self.base.term_names

    @property
    def class_labels(self) -> tuple[Any, ...]:
        """Labels of the columns of the scores; empty unless there are more than two classes."""
        return (self.base.classes or ()) if len(self.base.intercept) > 1 else ()

    @property
    def released(self) -> AdditiveModel:
        """The released model with all edits made so far."""
        with self._lock:
            return self._state.model(self.base, self.history)

    @property
    def model(self) -> Any:
        """A new fitted estimator with all edits made so far.

        It predicts, explains, saves and shows like any other. Its guarantee is that of the base
        model, and its explanations say how many changes were made.
        """
        return self._build(self.released)

    def view(self, term: str | int, *, entry: int | None = None) -> TermView:
        """Return all that a drawing of one term needs, as of one moment.

        Parameters
        ----------
        term : str or int
            Its name or number.
        entry : int, default=None
            Number of an edit, as :meth:`go_back` counts: ``last`` then holds the scores after it.

        Raises
        ------
        TypeError, ValueError
            If there is no such term or entry.
        """
        with self._lock:
            index = find_term(self.base, term)
            original, current = self.base.terms[index].as_released, self._state.terms[index]
            feature = self.base.subject(original)
            last = self._state_before_last if entry is None else self._state_at(entry)
            curve = None if isinstance(feature, FeaturePair) else feature
            return TermView(
                name=feature.name,
                kind=feature.kind,
                labels=code_labels(feature),
                edges=None if curve is None or curve.cuts is None else bin_edges(curve),
                weights=original.weights,
                original=original.scores,
                last=last.terms[index].scores,
                current=current.scores,
                band=_band(original),
                current_band=_band(current),
                version=self.version,
            )

    def preview(self, kind: str, term: str | int, **arguments: Any) -> Preview:
        """Return the result of an operation, without doing it.

        Parameters
        ----------
        kind : str
            Name of the operation's method, such as ``"make_monotone"``.
        term : str or int
            Name or number of the term.
        **arguments
            The operation's own, and those that every operation takes:

            between : (float, float)
                Every bin of a continuous term that overlaps this range, in the feature's units.
                Of a pair of features a mapping by feature, such as ``{"age": (40, 60)}``.
            levels : list
                Levels of a categorical term; of a pair a mapping by feature.
            bins : int, slice or list of int
                Indices into the term's scores: 0 is the missing bin, the last is the undeclared.
            classes : label or list of labels
                Classes whose scores are edited, if there are more than two; all by default.
            recentre : bool, default=True
                Take the change of the term's mean, weighted by the released bin weights, out of
                the intercept, so that the mean score over the released histogram stays. The
                scores are exactly as edited either way.

            At most one of ``between``, ``levels`` and ``bins`` may be given; with none of them the
            operation works on all bins but the missing and the undeclared one, :meth:`cap` and
            :meth:`remove_effect` on all.

        Raises
        ------
        TypeError, ValueError
            If an argument is unknown or out of range, the selection is empty, or the operation
            makes no sense for the term.
        """
        with self._lock:
            state = self._state
            operation = self._planned(kind, term, arguments)
            after = state.after(self.base, operation)
            record = self._record(operation, after)
            index = find_term(self.base, term)
            return Preview(
                record=record,
                after=after.terms[index].scores,
                released=after.model(self.base, (*self.history, record)),
                changed=not after.same_scores(state),
            )

    def diff(self) -> pd.DataFrame:
        """Return the changes against the base model, one row a changed term (and class).

        Returns
        -------
        DataFrame
            Columns ``term``, ``class`` (None unless there are more than two), ``bins`` (how many
            changed), ``largest_change`` (signed, in units of score), ``at`` (where it is), and
            ``moved`` (what the intercept gave up for it).
        """
        import pandas as pd

        base, state = self.base, self._state
        rows = []
        for index, name in enumerate(base.term_names):
            change = state.terms[index].scores - base.terms[index].scores
            columns = change.reshape(len(change), -1).T
            labels = self.class_labels or (None,)
            for label, column, moved in zip(labels, columns, state.moved[index], strict=True):
                largest = int(np.argmax(np.abs(column)))
                if column[largest] or moved:
                    rows.append(
                        {
                            "term": name,
                            "class": label,
                            "bins": int(np.count_nonzero(column)),
                            "largest_change": float(column[largest]),
                            "at": code_labels(base.subject(base.terms[index]))[largest],
                            # What rounding leaves of nothing is shown as nothing.
                            "moved": float(moved) if abs(moved) > _ROUNDING else 0.0,
                        }
                    )
        names = ["term", "class", "bins", "largest_change", "at", "moved"]
        return pd.DataFrame(rows, columns=names)

    def correlated(self, term: str | int) -> pd.Series:
        """Return the features that a term's feature is most correlated with.

        The fit released the correlations, with noise; nothing is computed of rows. Models of
        earlier versions have none, and neither have pairs.

        Parameters
        ----------
        term : str or int

        Returns
        -------
        Series of float64
            Correlations by feature, the largest first: from -1 to 1, without a sign where one of
            both features is nominal.

        Raises
        ------
        TypeError, ValueError
            If there is no such term.
        """
        import pandas as pd

        name = self.base.term_names[find_term(self.base, term)]
        known = {
            second if first == name else first: value
            for first, second, value in self.base.correlations
            if name in (first, second)
        }
        return pd.Series(known, dtype=float).sort_values(key=abs, ascending=False)

    # ------------------------------------------------------------------------------- notebooks

    def widget(self, term: str | int = 0) -> NotebookEditor:
        """Return a live editor for a notebook, which opens no port.

        For JupyterLab, JupyterHub, VS Code and Colab (there, first call
        ``google.colab.output.enable_custom_widget_manager()``). Several editors may show one
        session. A session that is the last value of a cell shows one as well.

        Parameters
        ----------
        term : str or int, default=0
            Name or number of the term that is shown first.

        Raises
        ------
        ModuleNotFoundError
            If the extra ``notebook`` is not installed.
        TypeError, ValueError
            If there is no such term.
        """
        from interpret_dp.ui.notebook.editor import NotebookEditor

        return NotebookEditor(self, term)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Show the live editor in a notebook, and a line of text where it cannot run."""
        from interpret_dp.ui.notebook.editor import session_mimebundle

        bundle, self._shown = session_mimebundle(self, self._shown)
        return bundle

    # ----------------------------------------------------------------------------------- files

    @functools.cached_property
    def autosave(self) -> Autosave:
        """The file that keeps the edits as they are made, and the edits of earlier sessions."""
        return Autosave(self, self._has_autosave)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the session as JSON: who, when, what with all parameters, why; no row.

        Edits that were undone are not written. The file carries the digest of its content, so
        that a changed byte is an error when it is read. That guards against accidents, not against
        forgery.

        Parameters
        ----------
        path : str or path-like
            Where to write it; a file that is there is replaced.

        Raises
        ------
        OSError
            If the file cannot be written; one that is there then stays as it is.
        """
        write_sealed(path, self.to_dict(), indent=1)

    @classmethod
    def from_dict(
        cls, document: Mapping[str, Any], model: Editable, author: str | None = None
    ) -> EditSession:
        """Replay the edits of a document on the model that they were made on.

        Parameters
        ----------
        document : mapping
            What :meth:`to_dict` returned.
        model : estimator
            The fitted model, or the same one loaded from its file.
        author : str, default=None
            Who is written into the history from now on.

        Raises
        ------
        TypeError
            If the model is no estimator that can be edited.
        ValueError
            If the document is of another format or version, belongs to another model, or is
            damaged.
        """
        if not callable(getattr(model, "edit", None)):
            raise TypeError(
                f"model is of type {type(model).__name__}; it must be the fitted estimator that "
                "the session was made from. interpret_dp.load_model(path) reads one from its file."
            )
        session = model.edit(author=author, autosave=False)
        session._has_autosave = True
        session._steps = steps_of(document, session.base, session._start)
        return session

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], model: Editable, author: str | None = None
    ) -> EditSession:
        """Read a file that :meth:`save` wrote, and replay it as :meth:`from_dict` does.

        Parameters
        ----------
        path : str or path-like
        model : estimator
            The fitted model, or the same one loaded from its file.
        author : str, default=None
            Who edits from now on; by default the user of this process.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        TypeError, ValueError
            If it is no such file, or for any reason of :meth:`from_dict`.
        """
        return cls.from_dict(read_json(path), model, author)

    # ------------------------------------------------------------------------- signal or noise

    def verdict(
        self,
        term: str | int,
        shape: str = "monotone",
        *,
        class_label: Any = None,
        alpha: float = ALPHA,
        **selection: Any,
    ) -> Verdict:
        """Test whether the noise of the mechanism explains a term's departure from a shape.

        About the released curve: edits do not count, those of a loaded model included. See
        :func:`interpret_dp.editor.verdict.judge` for the test and what it does not take into
        account.

        Parameters
        ----------
        term : str or int
        shape : {"monotone", "increasing", "decreasing", "flat"}, default="monotone"
            Shape that the curve is tested for; "monotone" is either direction.
        class_label : label, default=None
            The class whose curve is meant; needed if there are more than two.
        alpha : float, default=0.05
            Departures with a p-value of at most this are called signal.
        between, levels, bins
            The part that is judged, as in :meth:`preview`; all of the curve by default. P-values
            hold for any part, chosen before or after looking at the curve.

        Raises
        ------
        TypeError, ValueError
            If the term's noise covariance is not known, the bins have no order, or an argument is
            unknown or out of range.
        """
        index = find_term(self.base, term)
        codes = self._codes(index, **selection) if selection else None
        return judge(self.base, index, shape, class_label, alpha, codes)

    def suggest_repairs(
        self,
        monotone: Mapping[str, str],
        alpha: float = ALPHA,
        *,
        bins: Sequence[int] | None = None,
    ) -> tuple[Suggestion, ...]:
        """List terms whose bumps against declared directions could be noise.

        Parameters
        ----------
        monotone : mapping of str to {"+", "-"}
            Direction that the user knows for a term, such as ``{"age": "+"}``.
        alpha : float, default=0.05
            Bumps with a larger p-value are taken as noise.
        bins : sequence of int, default=None
            The bins of one term that may be repaired; all by default.

        Returns
        -------
        tuple of Suggestion
            For :meth:`apply`. Bumps too large to be noise are left out, and so is a term that now
            keeps its direction.
        """
        with self._lock:
            return suggest_repairs(self.base, self._state, monotone, alpha, bins)

    def apply(self, suggestions: Iterable[Suggestion]) -> tuple[EditRecord, ...]:
        """Make the suggested terms monotone; each is one pending edit.

        Parameters
        ----------
        suggestions : iterable of Suggestion
            All or some of those that :meth:`suggest_repairs` returned.

        Raises
        ------
        TypeError
            If something else than suggestions is given; nothing was changed.
        """
        chosen = tuple(suggestions)
        for entry in chosen:
            if not isinstance(entry, Suggestion):
                raise TypeError(f"{entry!r} is no Suggestion; use what suggest_repairs() returns.")
        records = [self.make_monotone(entry.term, **entry.arguments) for entry in chosen]
        return tuple(record for record in records if record is not None)


# Terms are immutable, so that a band is computed once.
_band = lru_cache(maxsize=64)(functools.partial(AdditiveTerm.band, sampling=True))
_lock = threading.Lock()
_sessions: weakref.WeakValueDictionary[str, EditSession] = weakref.WeakValueDictionary()


def opened_session(base: AdditiveModel) -> EditSession | None:
    """Return the session that explanations of a model share; None if nobody has opened it."""
    with _lock:
        # To hash a large model takes a while.
        return _sessions.get(base_digest(base)) if _sessions else None


def shared_session(base: AdditiveModel, build: Callable[[AdditiveModel], Any]) -> EditSession:
    """Return the session that all explanations of a model share; open it if there is none.

    It lives as long as one of them is alive. ``model.edit()`` opens one that nobody shares.

    Parameters
    ----------
    base : AdditiveModel
        The model; two of the same digest are one.
    build : callable
        Makes a fitted estimator of a released model; used by whoever comes first.
    """
    identity = base_digest(base)
    with _lock:
        session = _sessions.get(identity)
        if session is None:
            session = _sessions[identity] = EditSession(base, build)
        return session
