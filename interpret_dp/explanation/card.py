"""Cards: of a published model for its readers, and of an estimator in a notebook."""

from __future__ import annotations

import html
import os
import re
import textwrap
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from interpret_dp._documents import ending_of, write_file
from interpret_dp._validate import check_real, enumerated
from interpret_dp._version import __version__
from interpret_dp.accounting.guarantee import DOES_NOT_HOLD, Guarantee
from interpret_dp.accounting.lattice import Neighbourhood
from interpret_dp.accounting.registry import PREPARATION, checked_statements
from interpret_dp.explanation.budget import OF_SEVERAL_ROWS
from interpret_dp.explanation.influence import of_hundred, top_k, top_shares
from interpret_dp.explanation.markup import TextTable, render, template_value
from interpret_dp.explanation.pages import Released, edits_table, render_html, title_of
from interpret_dp.explanation.panel import EDGES, TITLES
from interpret_dp.explanation.plots.bars import ratio_text
from interpret_dp.explanation.plots.parts import score_unit
from interpret_dp.explanation.spend import PrivacySpend
from interpret_dp.released import AdditiveModel, ModelSummary, summarise
from interpret_dp.released.background import Background
from interpret_dp.released.locally_linear import LocallyLinearModel
from interpret_dp.released.summary import term_sentence
from interpret_dp.schema import Schema

# Questions of NIST SP 800-226 about a privacy guarantee, answered for what was published.
#
# The guidelines ("Guidelines for Evaluating Differential Privacy Guarantees", March 2025) go from
# the guarantee itself, through the algorithm, to the deployment that it depends on.

NOT_COVERED, STATED = "Not covered", "Stated by the publishers"
"""Evidence of answers that nothing in the package backs, and of those that people give."""

_NOT_STATED = "Those who publish the model state nothing."
_SELECTIONS = ("levels", "labels", "bounds", "target bounds", "largest weight")
# Of each kind of released thing, the name under which `kinds.txt` has what cards say of it.
_KINDS = {AdditiveModel: "curves", LocallyLinearModel: "maps", Background: "background"}


def _words_of(model: Released) -> Any:
    return template_value("kinds.txt", "kinds")[_KINDS[type(model)]]


def question_table(model: Released, statements: Mapping[str, Any]) -> TextTable:
    """Return the questions in the order of the guidelines, with answers and what backs them.

    Parameters
    ----------
    model : AdditiveModel, LocallyLinearModel or Background
    statements : mapping of str to str
        What the publishers say, by the names of a registry's record.

    Returns
    -------
    TextTable
        The last column has paths of proofs, pages and tests in the source of the package,
        :data:`STATED` or :data:`NOT_COVERED`.
    """
    promise = model.guarantee
    said = {name: str(text) for name, text in statements.items()}
    if promise.state_sentence:
        said[PREPARATION] = promise.checked_preparation(said.get(PREPARATION, _NOT_STATED))
    billed = {share.name for share in promise.releases}
    rows = template_value(
        "questions.txt",
        "rows",
        own=_words_of(model),
        promise=promise,
        known=promise.registry_sections(),
        is_void=promise.state == DOES_NOT_HOLD,
        undeclared=", ".join(name for name in _SELECTIONS if name in billed),
        several=OF_SEVERAL_ROWS if promise.unit == Neighbourhood().unit_text else "",
        stated={name: (text, STATED) for name, text in said.items()},
        not_stated=(_NOT_STATED, NOT_COVERED),
        not_covered=NOT_COVERED,
        preparation=PREPARATION,
    )
    return TextTable(["part", "topic", "question", "answer", "proof, page or test"], rows)


# The card below scikit-learn's diagram in a notebook: an estimator's guarantee, or its plan.

_PLANNED = "#8a949c"
_FIGURES = ("epsilon", "delta")
_PASSWORD = re.compile(r"(://[^/@:]*):[^/@]*@")


def guarantee_card(guarantee: Guarantee) -> str:
    """Return the promise as a piece of HTML, its full record folded away.

    Parameters
    ----------
    guarantee : Guarantee

    Returns
    -------
    str
        One ``div`` without scripts or style sheets; every text in it is escaped.
    """
    return render(
        "card.html",
        kind="guarantee",
        edge=EDGES[guarantee.state],
        title=TITLES[guarantee.state],
        lines=[guarantee.sentence],
        record=guarantee._repr_html_(),
    )


def plan_card(estimator: Any) -> str:
    """Return what an estimator will promise once it is fitted, as a piece of HTML.

    Parameters
    ----------
    estimator : scikit-learn estimator
        One of ours. Its parameters are shown as they are: only ``fit`` says whether they make
        sense.

    Returns
    -------
    str
        One ``div`` as :func:`guarantee_card` returns it.
    """
    is_void = getattr(estimator, "random_state", None) is not None
    if is_void:
        promise = "nothing. random_state is set, which is for tests only; leave it out."
    else:
        figures = (f"{name} {_figure(getattr(estimator, name, None))}" for name in _FIGURES)
        relation = str(getattr(estimator, "neighboring", "add_or_remove_one")).replace("_", " ")
        promise = f"({', '.join(figures)})-differential privacy; neighbouring tables: {relation}."
    return render(
        "card.html",
        kind="plan",
        edge=EDGES[DOES_NOT_HOLD] if is_void else _PLANNED,
        title="Privacy: not fitted, nothing spent",
        lines=[
            f"Will promise: {promise}",
            f"Declared: {_declared_text(getattr(estimator, 'schema', None))}",
            f"Will be charged to: {_account_text(estimator)}",
        ],
        record="",
    )


def _figure(value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:g}" if is_number else repr(value)


def _declared_text(schema: Any) -> str:
    if not isinstance(schema, Schema):
        return (
            "no schema. Bounds and levels that the other arguments leave open are estimated "
            "privately, from the same budget; declaring them is free and exact."
        )
    kinds = Counter(type(spec).__name__.lower() for spec in schema.features.values())
    parts = [", ".join(f"{number} {kind}" for kind, number in kinds.items()) or "no column by name"]
    if schema.default is not None:
        parts.append("a default for all others")
    parts.append("the target" if schema.target is not None else "not the target")
    unit = "one row" if schema.people is None else f"all rows of one {schema.people.name!r}"
    return f"{'; '.join(parts)}. Protected: {unit}."


def _account_text(settings: Any) -> str:
    dataset, ledger = getattr(settings, "dataset", None), getattr(settings, "ledger", None)
    name = "a data set without a name" if dataset is None else f"data set {dataset!r}"
    if ledger is None:
        return f"{name}, in the ledger of this process, which sets no limit."
    where = _PASSWORD.sub(r"\1:***@", str(getattr(ledger, "display_url", ledger)))
    return f"{name}, in the ledger {where}."


_LABELS = {
    "description": "Description",
    "intended_use": "Intended use",
    "data_product_sector": "Sector",
    "data_product_region": "Region",
}
_NOT_MEASURED = (
    "Not measured. Figures on private rows are private too: interpret_dp.private_metrics releases "
    "them, for a price."
)
_NO_PREDICTION = "A background predicts nothing that could be measured."
_ON_PUBLIC_ROWS = (
    "Measured on public rows, as those who publish the model state; the package checks no figure."
)


@dataclass(frozen=True, eq=False)
class ModelCard:
    """One page about something published; from released numbers and statements alone.

    A notebook shows the Markdown; :meth:`save` writes either form.

    Attributes
    ----------
    model : AdditiveModel, LocallyLinearModel or Background
    statements : mapping of str to str or list of str
        What only people know, by the names of ``guarantee_.to_registry``; none is required.
    accuracy : PrivateMetrics, mapping of str to float, or None
        What was paid for; or figures on public rows, by name.

    even_if_void : bool
        Make a card of a model whose promise does not hold; its first line says so.
    explanation : PrivateExplanation or None
        Of a black box, whose figures the page shows in place of those of the background.

    Raises
    ------
    TypeError, ValueError
        If a statement is unknown or of another form, ``accuracy`` is neither, or the promise does
        not hold.

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(500)
    >>> model = DPExplainableBoostingClassifier(schema=patients.schema, max_rounds=2)
    >>> card = model.fit(patients.X, patients.y).card(name="Risk", intended_use="Teaching")
    >>> "Teaching" in card.to_markdown()
    True
    """

    model: Released
    statements: Mapping[str, Any]
    accuracy: Any = None
    even_if_void: bool = False
    explanation: Any = None

    def __post_init__(self) -> None:
        """Check what the publishers state, and that something is promised."""
        self.guarantee.refuse_void(self.even_if_void)
        object.__setattr__(self, "statements", checked_statements(self.statements))
        if isinstance(self.accuracy, Mapping):
            for name, value in self.accuracy.items():
                check_real(f"accuracy[{name!r}]", value)
        elif self.accuracy is not None and not hasattr(self.accuracy, "standard_errors"):
            raise TypeError(
                f"accuracy is of type {type(self.accuracy).__name__}; it must be what "
                "private_metrics returned, or a mapping such as {'AUROC': 0.84} of figures that "
                "were measured on public rows."
            )
        elif self.accuracy is not None:
            self.accuracy.guarantee.refuse_void(self.even_if_void)

    def to_html(self) -> str:
        """Return the card as a complete HTML document that asks no server for anything."""
        # The promise of the model alone: a card says nothing of the account of the data set.
        spend = PrivacySpend(guarantee=self.guarantee, ledger="not part of a card")
        return render_html(self.model, spend, card=self, explanation=self.explanation)

    def to_markdown(self) -> str:
        """Return the card as Markdown; names in it are shown literally."""
        return render("model_card.md", card=self, edits=edits_table(self.model))

    def text_for(self, path: str | os.PathLike[str]) -> str:
        """Return the card in the form that the ending of a file's name says.

        Parameters
        ----------
        path : str or path-like
            Ends in ``.html`` or ``.md``.

        Raises
        ------
        ValueError
            If it ends in anything else.
        """
        ending = ending_of("The card's path", path, (".html", ".md"))
        return self.to_html() if ending == ".html" else self.to_markdown()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the card; a file that is there is replaced.

        Parameters
        ----------
        path : str or path-like
            Ends in ``.html`` or ``.md``.

        Raises
        ------
        ValueError
            If it ends in anything else.
        OSError
            If the file cannot be written; one that is there then stays as it is.
        """
        write_file(path, self.text_for(path))

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    # ------------------------------------------------------------- what the templates show

    @property
    def guarantee(self) -> Guarantee:
        """What is promised: of a black box it also depends on how its model was trained."""
        shown = self.explanation
        return self.model.guarantee if shown is None else shown.privacy.guarantee

    @property
    def title(self) -> str:
        """The stated name, or that of the data set."""
        return str(self.statements.get("name", title_of(self.model)))

    @property
    def about(self) -> list[tuple[str, str]]:
        """What it predicts, on whom, and for what, each with a label."""
        model, guarantee = self.model, self.guarantee
        dataset = f" of data set {guarantee.dataset!r}" if guarantee.dataset else ""
        noun = "people" if getattr(model, "is_of_people", False) else "rows"
        speaks_of, learned = getattr(model, "speaks_of", ""), f"The {noun}{dataset}."
        if not isinstance(model, LocallyLinearModel):
            learned = f"About {model.n_rows:,.0f} {noun}{dataset}; the count is noisy."
        predicts = _predicted_text(model)
        if self.explanation is not None:
            predicts = f"Nothing: it explains the {self.explanation.output} of another model."
        return [
            ("Predicts", predicts),
            *((label, self.statements[k]) for k, label in _LABELS.items() if k in self.statements),
            ("Learned from", learned),
            *([("Speaks of", f"{speaks_of}.")] if speaks_of else []),
            ("Protected unit", guarantee.unit),
            ("Form", _form_text(model)),
        ]

    @property
    def accuracy_table(self) -> TextTable | None:
        """The figures; None where there are none."""
        if self.accuracy is None:
            return None
        if isinstance(self.accuracy, Mapping):
            rows = [[str(name), f"{value:.4g}"] for name, value in self.accuracy.items()]
            return TextTable(["figure", "value"], rows)
        table, errors = self.accuracy.table, self.accuracy.standard_errors
        return TextTable(
            ["model", *table.columns],
            [
                [str(name), *(f"{table.at[name, c]:.4g} ± {errors.at[name, c]:.2g}" for c in table)]
                for name in table.index
            ],
        )

    @property
    def accuracy_note(self) -> str:
        """On which rows the figures were measured, and at what cost."""
        if self.accuracy is None:
            return _NO_PREDICTION if isinstance(self.model, Background) else _NOT_MEASURED
        if isinstance(self.accuracy, Mapping):
            return _ON_PUBLIC_ROWS
        paid = self.accuracy.guarantee
        return (
            f"Measured on private rows and paid for: {paid.promised}, on top of the model. "
            "After ± is what the added noise does to a figure; sampling error is not included."
        )

    @property
    def terms(self) -> TextTable:
        """A line a term or column, the most important first; empty of a background by itself."""
        model = self.model
        if not isinstance(model, AdditiveModel):
            sizes = [(line.name, line.weight) for line in self.summary.columns]
            if self.explanation is not None:
                curves = self.explanation.curves
                sizes = [(name, curves.terms[at].size) for at, name in enumerate(curves.term_names)]
            known = sorted((-size, name) for name, size in sizes if size is not None)
            rows = [[name, f"{-size:.3g}"] for size, name in known]
            return TextTable(["column", "importance"], rows)
        k = top_k(model)
        shares = top_shares(model, k) if k else {}
        named = zip(model.term_names, model.terms, strict=True)
        head = ["term", "importance", "signal to noise", "what the curve shows"]
        rows = [
            [name, f"{term.size:.3g}", ratio_text(term), term_sentence(model, term)]
            for name, term in sorted(named, key=lambda entry: -entry[1].size)
        ]
        if k:
            head.insert(3, f"among the {k} most important" if k > 1 else "most important")
            for row in rows:
                row.insert(3, f"in {of_hundred(shares[row[0]])} draws")
        return TextTable(head, rows)

    @property
    def average(self) -> str:
        """How right a regression is on average; empty where that is not known."""
        return summarise(self.model).average

    @cached_property
    def summary(self) -> ModelSummary:
        """A line a column of the schema."""
        return replace(summarise(self.model), average="")  # it is beside the accuracy

    @property
    def columns(self) -> str:
        """The summary as a block of code in Markdown, whatever names hold."""
        return textwrap.indent("\n".join(str(self.summary).splitlines()), "    ", lambda _: True)

    @property
    def limits(self) -> list[str]:
        """What a reader must not conclude."""
        names = map(repr, getattr(self.model, "term_names", ()))
        named = list(zip(names, getattr(self.model, "terms", ()), strict=True))
        faults = {
            "May be noise alone": [n for n, term in named if term.may_be_noise],
            "Some values have too few rows to be learned": [
                n for n, term in named if term.too_few_rows[1:-1].any()
            ],
            "The noise is not known": [n for n, t in named if t.noise_deviations is None],
        }
        limits = [f"{text}: {enumerated(names)}." for text, names in faults.items() if names]
        stated = [self.statements["notes"]] if "notes" in self.statements else []
        findings = (*self.summary.privacy_findings, *self.summary.findings)
        return [*stated, *findings, *limits, *_words_of(self.model)["limits"]]

    @property
    def questions(self) -> TextTable:
        """The questions of NIST SP 800-226 with answers and evidence."""
        return question_table(replace(self.model, guarantee=self.guarantee), self.statements)

    @property
    def citation(self) -> list[str]:
        """How to cite the model, the package and the method."""
        curators = enumerated(self.statements.get("data_curators", ["Publishers not stated"]))
        date = self.statements.get("publication_date", "date not stated")
        head = self.model.guarantee.ledger_head or "none"
        return [
            f"{curators} ({date}): {self.title}.",
            f"SHA-256 of the model: {self.model.digest}. Ledger head after the fit: {head}. "
            "interpret-dp show FILE --text prints both.",
            f"Made with interpret_dp {__version__}; its source has CITATION.cff.",
            _words_of(self.model)["method"],
        ]


def _form_text(model: Released) -> str:
    if isinstance(model, LocallyLinearModel):
        n_classes, n_maps, n_inputs = model.weights.shape
        return f"{n_classes} classes, each of {n_maps} linear maps of {n_inputs:,} inputs."
    if isinstance(model, Background):
        pairs = "" if model.dependence is None else ", and how they depend on each other"
        return f"The distribution of each of {len(model.columns):,} columns{pairs}."
    n_pairs = sum(term.partner is not None for term in model.terms)
    pairs = f" and {n_pairs} of pairs of features" if n_pairs else ""
    unit = html.unescape(score_unit(model))  # written for plotly
    return f"A sum of {len(model.terms) - n_pairs} curves{pairs}; unit: {unit}."


def _predicted_text(model: Released) -> str:
    if isinstance(model, Background):
        return "Nothing: it says which values are typical, for explanations of any model."
    if isinstance(model, AdditiveModel) and model.baseline is not None:
        _, latest = model.baseline_of_times
        return f"The hazard ratio of events up to time {latest:g}, and curves of survival."
    if model.classes is None:
        return f"A number, declared as {model.schema.target!r}."
    labels = [repr(label) for label in model.classes]
    if len(labels) == 2:
        return f"The probability of {labels[1]}; the other class is {labels[0]}."
    return f"The probability of each class: {enumerated(labels)}."
