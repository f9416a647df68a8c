"""Measurements: the verbs ``probe``, ``bench`` and ``dut`` of the command, run from Python.

Each runs in a child process, leaves a run directory, and returns its result as
`planimeter.results.load` does. Settings are keyword arguments with the names of the flags.

Examples
--------
>>> import planimeter
>>> result = planimeter.probe("127.0.0.1:6653", switches=16, rate_per_s=1000)  # doctest: +SKIP
>>> result.check("loss == 0", "rtt.p99 < 5ms")                                  # doctest: +SKIP
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Union

from planimeter import _child, _settings
from planimeter._progress import Progress, Watcher, drawn
from planimeter._types import PathLike
from planimeter.errors import FailedError, InternalError, PlanimeterError, SettingError
from planimeter.errors import SystemFault, ThresholdError, UnreachableError
from planimeter.results import Result, load

if TYPE_CHECKING:
    from planimeter._child import Ended

__all__ = ["Progress", "bench", "dut", "probe", "settings"]

#: The exit statuses of the command.
_DONE, _FAILED, _WRONG, _OUT_OF_REACH, _INTERRUPTED = 0, 1, 2, 3, 130
#: Control sequences of terminals (ECMA-48, CSI).
_STYLE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def probe(
    controller: Optional[str] = None,
    /,
    *,
    output: Optional[PathLike] = None,
    thresholds: Union[str, Sequence[str]] = (),
    progress: Watcher = True,
    **settings: Any,
) -> Result:
    """Benchmarks a controller with emulated switches, as ``planimeter probe`` does.

    Parameters
    ----------
    controller : str, optional
        The address of the controller, such as ``127.0.0.1:6653``.
    output : str or os.PathLike, optional
        The run directory, new or empty. By default ``runs/<time>-probe``.
    thresholds : str or sequence of str, optional
        Conditions such as ``rtt.p99 < 5ms``.
    progress : bool or callable, optional
        Whether progress is drawn on the terminal or in the notebook, or a function that is called
        with a `Progress` at most each 50 ms. An exception that it raises ends the run.
    **settings
        The flags of the verb, with ``_`` for ``-``: ``switches=16``, ``plan="sweep"``,
        ``calibrate=True``. A sequence repeats a flag. A time is text such as ``"10s"``, or a number
        in a setting with ``_s`` behind its name (``duration_s=10``); a rate per second may have
        ``_per_s`` behind its name (``rate_per_s=1000``). `settings` lists them.

    Returns
    -------
    Result
        The result, with the run directory as its ``path``.

    Raises
    ------
    SettingError
        A setting does not exist, or has a wrong value.
    UnreachableError
        The controller could not be reached.
    ThresholdError
        A condition of ``thresholds`` does not hold. Its ``result`` is the result.
    FailedError
        The run failed or is incomplete. Its ``result`` has what was measured.
    KeyboardInterrupt
        After Ctrl-C, within 0.2 s. The run leaves what it has measured in its directory, which the
        text of the exception names, within a second.
    """
    given = {} if controller is None else {"controller": controller}
    return _measured("probe", [], output, thresholds, progress, {**given, **settings})


def bench(
    program: Optional[PathLike] = None,
    /,
    *,
    output: Optional[PathLike] = None,
    thresholds: Union[str, Sequence[str]] = (),
    progress: Watcher = True,
    **settings: Any,
) -> Result:
    """Measures throughput and latency of a P4 program, as ``planimeter bench`` does.

    Parameters
    ----------
    program : str or os.PathLike, optional
        The program. By default, that of the paper's evaluation.
    output, thresholds, progress, **settings
        As in `probe`, with the flags of ``planimeter bench``: ``path="compiled"``,
        ``entries=[16, 256]``, ``time_s=0.2``.

    Returns
    -------
    Result
        The result.

    Raises
    ------
    SettingError, ThresholdError, FailedError, KeyboardInterrupt
        As in `probe`.
    """
    words = [] if program is None else [_positional(program)]
    return _measured("bench", words, output, thresholds, progress, settings)


def dut(
    address: Optional[str] = None,
    /,
    *,
    output: Optional[PathLike] = None,
    thresholds: Union[str, Sequence[str]] = (),
    progress: Watcher = True,
    **settings: Any,
) -> Result:
    """Measures a P4Runtime or OpenFlow switch, as ``planimeter dut`` does.

    Parameters
    ----------
    address : str, optional
        The address of a P4Runtime server. Without it, ``openflow="0.0.0.0:6653"`` names where an
        OpenFlow switch connects.
    output, thresholds, progress, **settings
        As in `probe`, with the flags of ``planimeter dut``: ``table="routes"``, ``quick=True``.

    Returns
    -------
    Result
        The result.

    Raises
    ------
    SettingError, UnreachableError, ThresholdError, FailedError, KeyboardInterrupt
        As in `probe`.
    """
    words = [] if address is None else [address]
    return _measured("dut", words, output, thresholds, progress, settings)


def settings(verb: str, /) -> dict[str, str]:
    """Returns the settings of a verb with their meaning.

    Parameters
    ----------
    verb : str
        The verb as on the command line: ``probe``, ``bench``, ``dut``, ``device measure``, ...

    Returns
    -------
    dict of str to str
        The help text of each setting, by the name of its keyword argument.
    """
    flags = _settings.flags(verb)
    return {name: flag.about for name, flag in flags.items() if flag.name.replace("-", "_") == name}


def _positional(path: PathLike) -> str:
    """Returns a path as a word that is no flag."""
    text = os.fspath(path)
    return os.path.join(os.curdir, text) if text.startswith("-") else text


def _measured(
    verb: str,
    words: Sequence[str],
    output: Optional[PathLike],
    thresholds: Union[str, Sequence[str]],
    progress: Watcher,
    given: dict[str, Any],
) -> Result:
    """Runs a verb that leaves a result in its run directory, and reads the result."""
    conditions = [thresholds] if isinstance(thresholds, str) else list(thresholds)
    flags = _settings.words(verb, given) + [f"--threshold={condition}" for condition in conditions]
    directory = claimed(output, verb)
    call = [*verb.split(), *flags, f"--output={directory}", *words]
    ended = run(verb, call, directory, progress)
    result = load(directory) if (directory / "result.json").exists() else None
    if ended.status == _DONE and result is not None:
        return result
    raise _fault(verb, ended, result, conditions)


def run(verb: str, words: Sequence[str], directory: Optional[Path], progress: Watcher) -> Ended:
    """Runs a verb of the command, and returns its end.

    Raises
    ------
    SettingError
        The command refuses its arguments.
    KeyboardInterrupt
        After Ctrl-C, with the run directory in its text.
    """
    try:
        ended = _child.run(words, drawn(progress))
    except KeyboardInterrupt:
        where = "" if directory is None else f"; what was measured is left in {directory}"
        raise KeyboardInterrupt(f"{verb} was interrupted{where}") from None
    except SystemFault:
        _release(directory)
        raise
    if ended.status == _WRONG:
        _release(directory)
        raise _setting_error(verb, ended)
    return ended


def claimed(output: Optional[PathLike], verb: str) -> Path:
    """Returns the run directory. One without a name gets that which the command would give it."""
    if output is not None:
        return Path(os.fspath(output))
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    stem = f"{stamp}-{verb.replace(' ', '-')}"
    number = 1
    while True:
        path = Path("runs", stem if number == 1 else f"{stem}-{number}")
        try:
            # Creating it is free of races with other runs, unlike a check whether it exists.
            path.mkdir(parents=True)
            return path
        except FileExistsError:
            number += 1


def _release(directory: Optional[Path]) -> None:
    """Removes a run directory in which nothing was left."""
    if directory is not None:
        try:
            directory.rmdir()
        except OSError:
            # It has files, or the command did not create it.
            pass


def _said(text: str) -> str:
    """Returns what the command said on standard error, without its name and styles."""
    lines = [line.removeprefix("planimeter: ") for line in _STYLE.sub("", text).splitlines()]
    lines = [line.removeprefix("error: ") for line in lines if not line.startswith("For more information")]
    return "\n".join(lines).strip()


def _setting_error(verb: str, ended: Ended) -> SettingError:
    what = _said(ended.errors)
    known = {flag.name for flag in _settings.flags(verb).values()}
    # A fault names its flag, at its beginning or within.
    named = re.findall(r"--([a-z0-9][a-z0-9-]*)", what) + re.findall(r"^([a-z0-9-]+): ", what, re.M)
    where = next((name.replace("-", "_") for name in named if name in known), verb)
    return SettingError(what, where=where)


def fault(verb: str, ended: Ended, result: Optional[Result]) -> PlanimeterError:
    """Returns the error of a verb that did not end as it should."""
    what = _said(ended.errors) or f"planimeter {verb} ended with status {ended.status}"
    if ended.status == _OUT_OF_REACH:
        return UnreachableError(what, where=verb)
    if ended.status in (_FAILED, _INTERRUPTED):
        if result is not None and result.partial is not None:
            what = f"the result is incomplete: {result.partial}"
        failed = FailedError(what, where=verb)
        failed.result = result
        return failed
    if ended.status == _DONE:
        return InternalError("the run left no result", where=verb, remedy="please report it")
    return InternalError(what, where=verb, remedy="please report it, with the call that led to it")


def _fault(
    verb: str, ended: Ended, result: Optional[Result], conditions: Sequence[str]
) -> PlanimeterError:
    broken = _broken(ended, result) if conditions and ended.status == _FAILED else []
    if not broken:
        return fault(verb, ended, result)
    error = ThresholdError("\n".join(broken), where=None if result is None else str(result.path))
    error.result = result
    return error


def _broken(ended: Ended, result: Optional[Result]) -> list[str]:
    """Returns the thresholds that do not hold, as the verb prints them or its result has them."""
    printed = [line for line in _said(ended.errors).splitlines() if line.startswith("threshold ")]
    if printed or result is None:
        return printed
    recorded = json.loads((result.path / "result.json").read_text(encoding="utf-8"))
    judged = [one for one in recorded.get("thresholds", []) if not one["held"]]
    return [f"threshold {one['condition']} does not hold: it is {one['value']}" for one in judged]
