"""Models of devices: campaigns of measurements, their verification, and predictions.

Examples
--------
>>> from planimeter import device
>>> campaign = device.measure("examples/device/memory-compiled.toml")   # doctest: +SKIP
>>> campaign.verify().check("mean-error(median) < 1 %")                  # doctest: +SKIP
"""

from __future__ import annotations

import html
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

from planimeter import running
from planimeter import _settings
from planimeter._progress import Watcher
from planimeter._types import PathLike
from planimeter.errors import NotFoundError
from planimeter.results import Result, Table, load

__all__ = ["Campaign", "Delay", "PredictedPath", "Prediction", "measure", "predict", "verify"]


class Delay(NamedTuple):
    """A predicted delay at one level. Times are in seconds."""

    level: str
    """The level: ``minimum``, ``median``, ``mean``, ``maximum`` or a percentile such as ``p99``."""
    delay_s: float
    """The predicted delay."""
    low_s: Optional[float]
    """The lower end of its confidence interval, or None if it is not known."""
    high_s: Optional[float]
    """The upper end of the interval."""
    bound_s: Optional[float]
    """The delay to use as a bound, or None for a level that is no upper bound."""
    share_beyond: Optional[float]
    """The largest share of packets that may exceed the bound, or None if it is not known."""
    rests_on: str
    """What the delay rests on: ``confidence 97 %``, ``empirical``, ..."""


class PredictedPath(NamedTuple):
    """A path of a program with its predicted delays. Times are in seconds."""

    number: int
    """The number of the path, counted from 1; the slowest path is the first."""
    delays_s: dict[str, Optional[float]]
    """The predicted delay at each level, or None where the sum of costs is negative."""
    feasibility: str
    """``feasible``, ``cut short``, ``infeasible``, ``given up`` or ``not tried``."""
    packet: Optional[bytes]
    """A packet that takes the path, or takes it until it is dropped; None if none was found."""
    port: Optional[int]
    """The port on which the packet arrives."""
    entries: Optional[int]
    """The number of table entries with which the packet takes the path."""
    script: Optional[str]
    """A script for ``planimeter stf`` with what the control plane writes, the packet, and the packets
    that leave the switch."""
    reason: Optional[str]
    """The reason why the search for a packet was given up."""
    unmeasured: int
    """The number of parts that the model has no measurement of; if it is not 0, the delays are lower
    bounds."""
    ways: int
    """The number of paths of the program that cost the same."""
    functions: list[str]
    """The functions of the model whose costs make up the delays, beyond the baseline."""
    decisions: list[str]
    """The decisions along one of these paths."""


class Prediction:
    """A prediction of delays and service curves, or of the paths of a program.

    ``str(prediction)`` is the text that the command prints.

    Attributes
    ----------
    title : str
        The device, the functions and the setting.
    findings : list of str
        The findings, such as the worst path of a program.
    notes : list of str
        Remarks that a reader needs to judge the figures.
    tables : dict of str to Table
        The tables by their captions. Figures are floats in SI units.
    units : dict of str to (dict of str to str)
        The unit of each column with figures, for each table.
    result : Result
        All figures, as `planimeter.load` returns them. Its files remain only if ``output`` named a
        directory.
    """

    title: str
    findings: list[str]
    notes: list[str]
    tables: dict[str, Table]
    units: dict[str, dict[str, str]]
    result: Result

    def __init__(
        self,
        text: str,
        document: Mapping[str, Any],
        result: Result,
        scripts: Optional[Mapping[str, str]] = None,
    ) -> None:
        self._text = text
        self._scripts = dict(scripts or {})
        self.title = document["title"]
        self.findings = list(document["findings"])
        self.notes = list(document["notes"])
        self.result = result
        self.tables = {}
        self.units = {}
        for section in document["sections"]:
            for table in section["tables"]:
                columns = table["columns"]
                rows = [dict(zip(columns, map(_figure, row))) for row in table["rows"]]
                self.tables[table["caption"]] = Table(rows)
                self.units[table["caption"]] = {
                    column: cell["unit"]
                    for row in table["rows"]
                    for column, cell in zip(columns, row)
                    if isinstance(cell, dict)
                }

    @property
    def delays(self) -> list[Delay]:
        """The predicted delays, one for each level; empty for the paths of a program."""
        return [
            Delay(
                row["level"],
                row["delay"],
                row["low"],
                row["high"],
                row["bound"],
                row["share beyond"],
                row["rests on"],
            )
            for row in self.tables.get("Delays", Table([]))
        ]

    @property
    def paths(self) -> list[PredictedPath]:
        """The paths of a program, the slowest first; empty without a program.

        ``tables["Paths"]`` has them as a table, for data frames.
        """
        table = self.tables.get("Paths", Table([]))
        return [self._path(row) for row in table]

    @property
    def worst(self) -> Optional[PredictedPath]:
        """The slowest path that is not proved infeasible, or None if there is none."""
        return next((path for path in self.paths if path.feasibility != "infeasible"), None)

    def _path(self, row: Mapping[str, Any]) -> PredictedPath:
        names = list(row)
        levels = names[names.index("path") + 1 : names.index("not measured")]
        functions = row["functions"]
        return PredictedPath(
            number=int(row["path"]),
            delays_s={level: row[level] for level in levels},
            feasibility=row["feasibility"],
            packet=None if row["packet"] is None else bytes.fromhex(row["packet"]),
            port=None if row["port"] is None else int(row["port"]),
            entries=None if row["entries"] is None else int(row["entries"]),
            script=self._scripts.get(f"path-{row['path']}.stf"),
            reason=row["reason"],
            unmeasured=int(row["not measured"]),
            ways=int(row["stands for"]),
            functions=[] if functions == "the baseline" else functions.split(" + "),
            decisions=row["decisions"].split(" \u203a ") if row["decisions"] else [],
        )

    @property
    def services(self) -> Table:
        """The service curves: rates in bits per second, latencies in seconds."""
        return self.tables.get("Service curves", Table([]))

    def __getitem__(self, level: str) -> Delay:
        """Returns the delay at a level.

        Raises
        ------
        NotFoundError
            The prediction has no delay at the level.
        """
        found = [delay for delay in self.delays if delay.level == level]
        if not found:
            levels = ", ".join(delay.level for delay in self.delays) or "none"
            raise NotFoundError(f"there is no level {level!r}", remedy=f"the levels are {levels}")
        return found[0]

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Prediction of {self.title}>"

    def _repr_html_(self) -> str:
        lines = [f"<p>{html.escape(line)}</p>" for line in (self.title, *self.findings, *self.notes)]
        for caption, table in self.tables.items():
            lines.append(f"<p>{html.escape(caption)}</p>{table._repr_html_()}")
        return "".join(lines)


def _figure(cell: Any) -> Any:
    """Returns the value of a cell: a number, a text, or None."""
    return cell["value"] if isinstance(cell, dict) else cell


class Campaign:
    """A campaign of measurements of a device.

    Parameters
    ----------
    path : str or os.PathLike
        The run directory that `measure`, or the command, left.

    Attributes
    ----------
    path : pathlib.Path
        The run directory.
    """

    path: Path

    def __init__(self, path: PathLike) -> None:
        self.path = Path(os.fspath(path))

    def verify(self, **settings: Any) -> Result:
        """Verifies the model of the campaign. See `planimeter.device.verify`."""
        return verify(self, **settings)

    def predict(self, program: Optional[PathLike] = None, /, **settings: Any) -> Prediction:
        """Predicts delays by the model of the campaign. See `planimeter.device.predict`."""
        return predict(self, program, **settings)

    def __repr__(self) -> str:
        return f"<Campaign in {self.path}>"


def measure(
    plan: PathLike,
    /,
    *,
    output: Optional[PathLike] = None,
    progress: Watcher = True,
    **settings: Any,
) -> Campaign:
    """Measures a device by a plan, as ``planimeter device measure`` does.

    Parameters
    ----------
    plan : str or os.PathLike
        The plan of the campaign, a TOML file.
    output, progress, **settings
        As in `planimeter.probe`, with the flags of ``planimeter device measure``. ``resume``
        continues the campaign of a run directory.

    Returns
    -------
    Campaign
        The campaign, which is complete.

    Raises
    ------
    SettingError
        The plan or a setting is wrong.
    UnreachableError
        The device could not be reached.
    FailedError
        The device or a link failed.
    KeyboardInterrupt
        After Ctrl-C. ``measure(plan, resume=directory)`` continues.
    """
    verb = "device measure"
    words = _settings.words(verb, settings)
    if "resume" in settings:
        directory = Path(os.fspath(settings["resume"]))
    else:
        directory = running.claimed(output, "device")
        words.append(f"--output={directory}")
    ended = running.run(verb, [*verb.split(), *words, running._positional(plan)], directory, progress)
    if ended.status != 0:
        raise running.fault(verb, ended, None)
    return Campaign(directory)


def verify(
    campaign: Union[Campaign, PathLike],
    /,
    *,
    output: Optional[PathLike] = None,
    thresholds: Union[str, Sequence[str]] = (),
    **settings: Any,
) -> Result:
    """Compares the predictions of a model with measurements, as ``planimeter device verify`` does.

    Parameters
    ----------
    campaign : Campaign or str or os.PathLike
        The campaign, or its run directory.
    output, thresholds, **settings
        As in `planimeter.probe`, with the flags of ``planimeter device verify``.

    Returns
    -------
    Result
        The errors of the predictions.

    Raises
    ------
    SettingError, ThresholdError, KeyboardInterrupt
        As in `planimeter.probe`.
    """
    words = [_path(campaign)]
    return running._measured("device verify", words, output, thresholds, True, settings)


def predict(
    model: Union[Campaign, PathLike],
    program: Optional[PathLike] = None,
    /,
    *,
    output: Optional[PathLike] = None,
    **settings: Any,
) -> Prediction:
    """Predicts delays and service curves, as ``planimeter device predict`` does.

    Parameters
    ----------
    model : Campaign or str or os.PathLike
        A campaign, its run directory, or the file of a model.
    program : str or os.PathLike, optional
        A P4 program, each path of which is predicted. Without it, ``match``, ``action`` and
        ``function`` name the functions of a packet.
    output : str or os.PathLike, optional
        A directory in which the report and the packets of paths are left. By default, nothing is left.
    **settings
        The flags of ``planimeter device predict``.

    Returns
    -------
    Prediction
        The delays and the service curves, or the paths of the program.

    Raises
    ------
    SettingError
        The model lacks a function, or a setting is wrong.
    """
    if program is not None:
        settings = {**settings, "program": program}
    words = _settings.words("device predict", settings)
    path = _path(model)
    with tempfile.TemporaryDirectory() as folder:
        if os.path.isdir(path):
            made = os.path.join(folder, "model.json")
            _printed("device model", [f"--output={made}", path])
            path = made
        left = Path(folder, "prediction") if output is None else Path(os.fspath(output))
        printed = _printed("device predict", [*words, f"--output={left}", path])
        document = json.loads((left / "result.json").read_text(encoding="utf-8"))
        text = printed.rpartition("\nReport: ")[0]
        scripts = {file.name: file.read_text(encoding="utf-8") for file in left.glob("path-*.stf")}
        return Prediction(text, document, load(left), scripts)


def _path(of: Union[Campaign, PathLike]) -> str:
    return running._positional(of.path if isinstance(of, Campaign) else of)


def _printed(verb: str, words: Sequence[str]) -> str:
    """Runs a verb that leaves no run directory, and returns what it prints."""
    ended = running.run(verb, [*verb.split(), *words], None, True)
    if ended.status != 0:
        raise running.fault(verb, ended, None)
    return ended.output
