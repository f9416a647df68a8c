"""Models of devices: campaigns of measurements, their verification, and predictions.

Examples
--------
>>> from planimeter import device
>>> campaign = device.measure("examples/device/memory-compiled.toml")   # doctest: +SKIP
>>> campaign.verify().check("mean-error(median) < 1 %")                  # doctest: +SKIP
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional, Union

from planimeter import running
from planimeter import _settings
from planimeter._progress import Watcher
from planimeter._types import PathLike
from planimeter.results import Result

__all__ = ["Campaign", "measure", "predict", "verify"]


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

    def predict(self, program: Optional[PathLike] = None, /, **settings: Any) -> str:
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
    **settings: Any,
) -> str:
    """Predicts delays and service curves, as ``planimeter device predict`` does.

    Parameters
    ----------
    model : Campaign or str or os.PathLike
        A campaign, its run directory, or the file of a model.
    program : str or os.PathLike, optional
        A P4 program, each path of which is predicted. Without it, ``match``, ``action`` and
        ``function`` name the functions of a packet.
    **settings
        The flags of ``planimeter device predict``.

    Returns
    -------
    str
        The prediction as text: a table of delays, and the service curves.

    Raises
    ------
    SettingError
        The model lacks a function, or a setting is wrong.
    """
    if program is not None:
        settings = {**settings, "program": program}
    words = _settings.words("device predict", settings)
    path = _path(model)
    if not os.path.isdir(path):
        return _printed("device predict", [*words, path])
    with tempfile.TemporaryDirectory() as folder:
        made = os.path.join(folder, "model.json")
        _printed("device model", [f"--output={made}", path])
        return _printed("device predict", [*words, made])


def _path(of: Union[Campaign, PathLike]) -> str:
    return running._positional(of.path if isinstance(of, Campaign) else of)


def _printed(verb: str, words: Sequence[str]) -> str:
    """Runs a verb that leaves no run directory, and returns what it prints."""
    ended = running.run(verb, [*verb.split(), *words], None, True)
    if ended.status != 0:
        raise running.fault(verb, ended, None)
    return ended.output
