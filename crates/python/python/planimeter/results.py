"""Results of measurements: the run directories that the verbs of the command leave.

Examples
--------
>>> import planimeter
>>> after = planimeter.load("runs/onos-2.7")                                # doctest: +SKIP
>>> p99 = after.at(switches=16, rate_per_s=1000)["rtt.p99"]                 # doctest: +SKIP
>>> f"{p99.value * 1e3:.2f} ms, 95 % in [{p99.low:.2g}, {p99.high:.2g}]"    # doctest: +SKIP
"""

from __future__ import annotations

import csv
import html
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from planimeter import _native
from planimeter._packages import optional
from planimeter._types import PathLike
from planimeter.errors import InputError, NotFoundError, ResultError, ThresholdError

if TYPE_CHECKING:
    from typing import Literal

    import numpy as np
    import numpy.typing as npt

    Condition = Literal["machine", "configuration"]

__all__ = [
    "Comparison",
    "Figure",
    "Histogram",
    "Machine",
    "Metric",
    "Result",
    "Table",
    "compare",
    "load",
]

# The number of rows that a notebook shows of a table.
_SHOWN = 60


class Table(Sequence[Mapping[str, Any]]):
    """A table as a sequence of rows, each a mapping from the names of columns to values."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._rows = list(rows)
        names: dict[str, None] = {}
        for row in self._rows:
            names.update(dict.fromkeys(row))
        self._columns = list(names)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return self._rows[index]

    def __repr__(self) -> str:
        return f"<Table of {len(self)} rows: {', '.join(self._columns)}>"

    def to_pandas(self) -> Any:
        """Returns the table as a pandas.DataFrame.

        Raises
        ------
        MissingPackageError
            pandas is not installed.
        """
        return optional("pandas", "for data frames").DataFrame(self._rows, columns=self._columns)

    def to_polars(self) -> Any:
        """Returns the table as a polars.DataFrame.

        Raises
        ------
        MissingPackageError
            polars is not installed.
        """
        columns = {name: [row.get(name) for row in self._rows] for name in self._columns}
        return optional("polars", "for data frames").DataFrame(columns, strict=False)

    def _repr_html_(self) -> str:
        shown = self._rows[:_SHOWN]
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self._columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{_cell(row.get(name))}</td>" for name in self._columns) + "</tr>"
            for row in shown
        )
        more = len(self) - len(shown)
        note = f"<p>and {more} more rows</p>" if more > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"


def _cell(value: object) -> str:
    if value is None:
        return ""
    return html.escape(f"{value:.6g}" if isinstance(value, float) else str(value))


class Metric(NamedTuple):
    """A figure with its unit and its interval."""

    metric: str
    """The name, such as ``rtt.p99``."""
    value: float
    """The value, in the unit: a mean over repetitions, if it was repeated; ``math.inf`` for a flow
    without a bound."""
    unit: str
    """The unit: ``seconds``, ``per second``, ``count``, ``fraction``, ``bytes``, ..."""
    low: Optional[float]
    """The lower end of the 95 % confidence interval, or None if it is not known."""
    high: Optional[float]
    """The upper end of the interval."""
    n: Optional[int]
    """The number of repetitions."""
    doubt: Optional[str]
    """The reason to doubt the figure, such as that the probe was the limit."""
    place: str
    """The subject and the place of the figure, in words."""


class Machine(NamedTuple):
    """The machine on which figures were measured."""

    hostname: str
    """The host name."""
    processor: str
    """The model of the processor."""
    cores: int
    """The number of cores that could be used."""


class Histogram(NamedTuple):
    """Counts of times, for ``matplotlib.pyplot.stairs(histogram.counts, histogram.edges_s)``."""

    edges_s: npt.NDArray[np.float64]
    """The edges of the bins in seconds, ascending; shape (n + 1,), or (0,) without counts."""
    counts: npt.NDArray[np.uint64]
    """The number of times in each bin; shape (n,)."""


class Figure:
    """A figure of a report.

    Attributes
    ----------
    name : str
        The name of its files.
    path : pathlib.Path
        Its SVG file.
    """

    name: str
    path: Path

    def __init__(self, path: Path) -> None:
        self.name = path.stem
        self.path = path

    @property
    def svg(self) -> str:
        """The figure as SVG."""
        return self.path.read_text(encoding="utf-8")

    @property
    def data(self) -> Table:
        """The data of the figure: a row for each point. Numbers are floats."""
        with self.path.with_suffix(".csv").open(encoding="utf-8", newline="") as file:
            rows = [{name: _number(text) for name, text in row.items()} for row in csv.DictReader(file)]
        return Table(rows)

    def plot(self, ax: Any = None) -> Any:
        """Draws the lines of the figure with matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on. By default, those of a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Raises
        ------
        InputError
            The figure is not a plot of lines.
        MissingPackageError
            matplotlib is not installed.
        """
        data = self.data
        columns = data.columns
        if columns[:1] != ["series"] or columns[3:] != ["ci95", "low", "high"]:
            raise InputError("the figure is not a plot of lines", where=self.name, remedy="use its svg")
        if ax is None:
            _, ax = optional("matplotlib.pyplot", "to draw figures").subplots()
        across, up = columns[1:3]
        lines: dict[str, list[Mapping[str, Any]]] = {}
        areas: dict[str, list[Mapping[str, Any]]] = {}
        for row in data:
            (lines if row[up] is not None else areas).setdefault(str(row["series"]), []).append(row)
        for name, rows in areas.items():
            lows, highs = [row["low"] for row in rows], [row["high"] for row in rows]
            ax.fill_between([row[across] for row in rows], lows, highs, alpha=0.3, label=name)
        for name, rows in lines.items():
            halves = [row["ci95"] or 0.0 for row in rows]
            ax.errorbar(
                [row[across] for row in rows],
                [row[up] for row in rows],
                yerr=halves if any(halves) else None,
                label=name,
            )
        ax.set_xlabel(across)
        ax.set_ylabel(up)
        if lines or areas:
            ax.legend()
        return ax

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Figure {self.name}>"


def _number(text: Optional[str]) -> Union[float, str, None]:
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        return text


class Result:
    """A result of any verb: figures with units and intervals, histograms, and drawings.

    `load` reads a result, and `at` selects a part of it.
    """

    def __init__(
        self,
        path: Path,
        recorded: _native.Recorded,
        chosen: Sequence[int],
        figures: Sequence[dict[str, Any]],
    ) -> None:
        self._path = path
        self._recorded = recorded
        self._all = figures
        self._chosen = list(chosen)

    @property
    def path(self) -> Path:
        """The run directory, or the file of the result."""
        return self._path

    @property
    def name(self) -> str:
        """The name of the result in comparisons."""
        return self._recorded.name

    @property
    def verb(self) -> str:
        """The verb that left the result, such as ``probe``."""
        return self._recorded.verb

    @property
    def about(self) -> str:
        """What was measured, in one line."""
        return self._recorded.about

    @property
    def started_at(self) -> str:
        """The time at which the run started, in RFC 3339."""
        return self._recorded.started_at

    @property
    def partial(self) -> Optional[str]:
        """The reason why the result is incomplete, or None if it is complete."""
        return self._recorded.partial

    @property
    def machine(self) -> Optional[Machine]:
        """The machine on which figures were measured, or None if they depend on none."""
        machine = self._recorded.machine
        return None if machine is None else Machine(*machine)

    @property
    def settings(self) -> dict[str, str]:
        """The settings that influence the figures, by name."""
        return self._recorded.settings

    @property
    def metrics(self) -> Table:
        """All figures: a row for each, with its metric, value, unit, interval and dimensions."""
        keys = ("metric", "value", "unit", "low", "high", "n", "doubt")
        rows = [
            {**{key: figure[key] for key in keys}, **figure["dimensions"]} for figure in self._figures()
        ]
        return Table(rows)

    @property
    def dimensions(self) -> dict[str, list[Union[float, str]]]:
        """The dimensions by which `at` selects, each with the values that occur."""
        found: dict[str, dict[Union[float, str], None]] = {}
        for figure in self._figures():
            for name, value in figure["dimensions"].items():
                found.setdefault(name, {})[value] = None
        return {name: list(values) for name, values in found.items()}

    @property
    def figures(self) -> dict[str, Figure]:
        """The drawings of the report, by the names of their files."""
        folder = self._path / "figures"
        return {path.stem: Figure(path) for path in sorted(folder.glob("*.svg"))}

    def _figures(self) -> list[dict[str, Any]]:
        return [self._all[index] for index in self._chosen]

    def at(self, **place: Union[float, str]) -> Result:
        """Returns the part of the result at some place.

        Parameters
        ----------
        **place : float or str
            Values of dimensions, such as ``switches=16, rate_per_s=1000``.

        Returns
        -------
        Result
            The figures that have these values.

        Raises
        ------
        NotFoundError
            No figure has them; the remedy names the values that occur.
        """
        known = self.dimensions
        for name, value in place.items():
            if name not in known:
                raise NotFoundError(
                    f"there is no dimension {name!r}", remedy=f"the dimensions are {', '.join(known)}"
                )
            if value not in known[name]:
                values = ", ".join(f"{value!r}" for value in known[name][:20])
                raise NotFoundError(
                    f"no figure is at {name}={value!r}", remedy=f"the values of {name} are {values}"
                )
        chosen = [
            index
            for index in self._chosen
            if all(self._all[index]["dimensions"].get(name) == value for name, value in place.items())
        ]
        if not chosen:
            where = ", ".join(f"{name}={value!r}" for name, value in place.items())
            raise NotFoundError(f"no figure is at {where}", remedy="choose another combination")
        return Result(self._path, self._recorded, chosen, self._all)

    def __getitem__(self, metric: str) -> Metric:
        """Returns the figure of a metric.

        Raises
        ------
        NotFoundError
            There is no such metric, or there are several figures of it; `at` selects one of them.
        """
        found = [figure for figure in self._figures() if figure["metric"] == metric]
        if not found:
            names = ", ".join(dict.fromkeys(figure["metric"] for figure in self._figures()))
            raise NotFoundError(f"there is no metric {metric!r}", remedy=f"the metrics are {names}")
        if len(found) > 1:
            differing = [
                name
                for name, values in self.dimensions.items()
                if len(values) > 1 and any(name in figure["dimensions"] for figure in found)
            ]
            raise NotFoundError(
                f"there are {len(found)} figures of {metric!r}",
                remedy=f"select one by at(), with some of {', '.join(differing)}",
            )
        return self._metric(found[0])

    @staticmethod
    def _metric(figure: Mapping[str, Any]) -> Metric:
        place = ", ".join(part for part in (figure["subject"], figure["place"]) if part)
        return Metric(
            figure["metric"],
            figure["value"],
            figure["unit"],
            figure["low"],
            figure["high"],
            figure["n"],
            figure["doubt"],
            place,
        )

    def __contains__(self, metric: object) -> bool:
        return any(figure["metric"] == metric for figure in self._figures())

    def __iter__(self) -> Iterator[Metric]:
        return (self._metric(figure) for figure in self._figures())

    def __len__(self) -> int:
        return len(self._chosen)

    @property
    def histograms(self) -> list[str]:
        """The kinds of histograms that the run has left at this place."""
        return list(dict.fromkeys(kind for kind, _ in self._logs()))

    def _logs(self) -> list[tuple[str, str]]:
        """Returns the kind and the path of each histogram at this place."""
        key = "point" if self.verb == "probe" else "case"
        numbers = {figure["dimensions"].get(key) for figure in self._figures()}
        logs = _native.list_histograms(str(self._path))
        return [(kind, str(path)) for kind, number, _, path in logs if number in numbers]

    def histogram(self, kind: str) -> Histogram:
        """Returns a histogram of times, over all trials at this place.

        Parameters
        ----------
        kind : str
            The kind of time: ``rtt_from_due``, ``rtt_from_sent``, ``send_lag``, ... of a probe, and
            ``latency`` of a bench. `histograms` lists them.

        Returns
        -------
        Histogram
            The edges of its bins in seconds, and their counts.

        Raises
        ------
        NotFoundError
            The run has left no such histogram.
        ResultError
            A file of the histogram is damaged.
        """
        logs = self._logs()
        paths = [path for known, path in logs if known == kind]
        if not paths:
            kinds = ", ".join(self.histograms) or "none"
            raise NotFoundError(
                f"there is no histogram {kind!r}", where=str(self._path), remedy=f"there are {kinds}"
            )
        return Histogram(*_native.read_histograms(paths))

    def check(self, *conditions: str, whole_interval: bool = False) -> None:
        """Checks conditions on the figures, such as ``rtt.p99 < 5ms``.

        The figures themselves are judged; the error says where their intervals contain the limit.

        Parameters
        ----------
        *conditions : str
            A metric, a comparison (``<``, ``<=``, ``>``, ``>=``, ``==``, ``!=``) and a limit with its
            unit. A condition must hold for all figures of its metric.
        whole_interval : bool, optional
            Whether a condition must hold on the whole 95 % interval of a figure that has one.

        Raises
        ------
        ThresholdError
            A condition does not hold, or the result is incomplete.
        InputError
            A condition is not understood.
        """
        if self.partial is not None:
            raise ThresholdError(f"the result is incomplete: {self.partial}", where=str(self._path))
        broken = self._broken(conditions, whole_interval)
        if broken:
            raise ThresholdError("\n".join(broken), where=str(self._path))

    def passes(self, *conditions: str, whole_interval: bool = False) -> bool:
        """Returns whether conditions hold, such as ``mean-error(median) < 1 %``.

        Parameters
        ----------
        *conditions, whole_interval
            As in `check`.

        Returns
        -------
        bool
            Whether all conditions hold for all figures of their metrics. They do not if the result
            is incomplete.

        Raises
        ------
        InputError
            A condition is not understood.
        """
        return not self._broken(conditions, whole_interval) and self.partial is None

    def _broken(self, conditions: Sequence[str], whole_interval: bool) -> list[str]:
        """Returns a sentence for each figure that does not meet a condition."""
        broken = []
        for condition in conditions:
            for index, held, is_certain in self._recorded.judge(condition, self._chosen):
                figure = self._all[index]
                is_open = whole_interval and figure["low"] is not None and not is_certain
                if not held:
                    broken.append(f"{condition} does not hold: {_stated(figure, is_certain)}")
                elif is_open:
                    broken.append(f"{condition} is not certain: {_stated(figure, is_certain)}")
        return broken

    def _repr_html_(self) -> str:
        note = f"<p><b>{html.escape(self.partial)}</b></p>" if self.partial else ""
        shown = [figure for figure in self._figures() if figure["headline"]]
        columns = ("metric", "value", "unit", "low", "high", "n", "place", "doubt")
        rows = [{**figure, "place": self._metric(figure).place} for figure in shown]
        table = Table([{name: row[name] for name in columns} for row in rows])
        return f"<p>{html.escape(self.about)}</p>{note}{table._repr_html_()}"

    def __repr__(self) -> str:
        return f"<Result of {self.verb} in {self._path}: {len(self)} figures>"


def _stated(figure: Mapping[str, Any], is_certain: bool) -> str:
    text = f"{figure['metric']} is {figure['value']:.4g} {figure['unit']}"
    if figure["low"] is not None:
        text += f" (95 % in [{figure['low']:.4g}, {figure['high']:.4g}]"
        text += "" if is_certain else ", which contains the limit"
        text += ")"
    place = ", ".join(part for part in (figure["subject"], figure["place"]) if part)
    return f"{text} at {place}" if place else text


def load(run: PathLike, /) -> Result:
    """Reads the result of a run.

    Parameters
    ----------
    run : str or os.PathLike
        A run directory that a verb left, or its result.json.

    Returns
    -------
    Result
        Its figures, histograms and drawings.

    Raises
    ------
    ResultError
        There is no result, or it was written in an unknown form.
    """
    path = Path(os.fspath(run))
    file = path / "result.json" if path.is_dir() else path
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ResultError(
            "there is no result",
            where=str(file),
            remedy="name a run directory that a verb left, or its result.json",
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ResultError(f"the result cannot be read: {error}", where=str(file)) from None
    directory = file.resolve().parent
    name = directory.name if file.name == "result.json" else file.stem
    try:
        recorded = _native.Recorded.read(name, text)
    except ResultError as error:
        raise ResultError(error.what, where=str(file), remedy=error.remedy) from None
    figures = recorded.figures()
    return Result(path if path.is_dir() else directory, recorded, range(len(figures)), figures)


class Comparison:
    """Results compared with the first of them, figure by figure."""

    def __init__(self, compared: _native.Compared) -> None:
        self._compared = compared

    @property
    def rows(self) -> Table:
        """A row for each figure that a result and the base have in common.

        ``change`` is the difference from the base, ``change_low`` and ``change_high`` the ends of its
        95 % confidence interval, and ``shown`` says whether that excludes 0.
        """
        keys = ("result", "metric", "unit", "base", "value", "change", "change_low", "change_high", "shown")
        rows = self._compared.rows()
        return Table([{**{key: row[key] for key in keys}, **row["dimensions"]} for row in rows])

    @property
    def doubts(self) -> list[str]:
        """Reasons to doubt the comparison."""
        return self._compared.doubts()

    def check(self) -> None:
        """Raises an error unless all conditions hold that were given to `compare`.

        Raises
        ------
        ThresholdError
            A condition does not hold.
        """
        broken = [
            f"{condition} does not hold: {found}"
            for condition, held, found in self._compared.judged()
            if not held
        ]
        if broken:
            raise ThresholdError("\n".join(broken))

    def __str__(self) -> str:
        return self._compared.text(100)

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.rows)} figures>"

    def _repr_html_(self) -> str:
        doubts = "".join(f"<p><b>{html.escape(doubt)}</b></p>" for doubt in self.doubts)
        return doubts + self.rows._repr_html_()


def compare(
    base: Result,
    *others: Result,
    conditions: Sequence[str] = (),
    despite: Collection[Condition] = (),
) -> Comparison:
    """Compares results with a base.

    All figures of the results are compared, also where `Result.at` selected a part of them.

    Parameters
    ----------
    base : Result
        The result with which the others are compared.
    *others : Result
        The other results, of the same verb.
    conditions : sequence of str
        Conditions such as ``rtt.p50 < +10%``; a limit with a sign is a change from the base.
        `Comparison.check` judges them.
    despite : collection of {'machine', 'configuration'}
        What may differ between the results.

    Returns
    -------
    Comparison
        The differences, with their confidence intervals.

    Raises
    ------
    ResultError
        The results cannot be compared: they are of different verbs, machines or configurations.
    InputError
        A condition is not understood, or there is no other result.
    """
    if not others:
        raise InputError("one result cannot be compared", where="others", remedy="give another result")
    results = [result._recorded for result in (base, *others)]
    return Comparison(_native.Compared(results, list(despite), list(conditions)))
