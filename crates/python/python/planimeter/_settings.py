"""Settings of measurements as words of the command line.

The flags of a verb are read from the command itself, so a setting that Python code names is known
here as soon as the command knows it.
"""

from __future__ import annotations

import difflib
import functools
import numbers
import os
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, Optional

from planimeter import _native
from planimeter.errors import SettingError

#: Flags that are arguments of their own in Python, or that make no measurement; each with the
#: remedy.
_ELSEWHERE = {
    "help": "planimeter.running.settings(verb) lists the settings",
    "json": "the result has all figures; result.path / 'result.json' is the file",
    "output": "name it with output=",
    "print-config": "run the command: planimeter probe --print-config",
    "quiet": "write progress=False",
    "serve": "run the command: planimeter probe --serve",
    "threshold": "name conditions with thresholds=[...]",
}
#: The names of values that are times, and of values that are rates per second.
_TIMES = ("DURATION", "TIME")
_RATES = ("RATE", "RATES")
#: Units of time, the largest first, in nanoseconds.
_UNITS = (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1))


class Flag(NamedTuple):
    """A flag of a verb."""

    name: str
    """The name of the flag without the dashes in front."""
    aliases: list[str]
    """Other names, such as the key of the setting in a TOML file."""
    kind: str
    """``presence``, ``boolean``, ``value`` or ``list``."""
    value_name: Optional[str]
    """The word that stands for the value in the help text."""
    about: str
    """The help text."""


@functools.lru_cache(maxsize=None)
def flags(verb: str) -> Mapping[str, Flag]:
    """Returns the flags of a verb, such as ``device measure``, by the names of their settings."""
    found: dict[str, Flag] = {}
    for parts in _native.command_flags(verb.split()):
        flag = Flag(*parts)
        for name in (flag.name, *flag.aliases):
            found.setdefault(_python_name(name), flag)
    return found


def _python_name(name: str) -> str:
    return name.replace("-", "_").replace(".", "_")


def words(verb: str, settings: Mapping[str, Any]) -> list[str]:
    """Returns settings as words of the command line.

    Raises
    ------
    SettingError
        There is no such setting, or the value has another type.
    """
    written: list[str] = []
    for name, value in settings.items():
        flag, unit = _find(verb, name)
        if flag.name in _ELSEWHERE:
            raise SettingError("it is no setting in Python", where=name, remedy=_ELSEWHERE[flag.name])
        if value is not None:
            written += _words_of(flag, name, unit, value)
    return written


def _find(verb: str, name: str) -> tuple[Flag, str]:
    """Returns the flag of a setting, and the unit that its name ends with."""
    known = flags(verb)
    # A name that is a word of Python itself has an underscore behind it.
    plain = name.rstrip("_")
    if plain in known:
        return known[plain], ""
    for unit, ending, values in (("per_s", "_per_s", _RATES), ("s", "_s", _TIMES)):
        flag = known.get(plain[: -len(ending)]) if plain.endswith(ending) else None
        if flag is not None and flag.value_name in values:
            return flag, unit
    own = [_python_name(flag.name) for flag in known.values() if flag.name not in _ELSEWHERE]
    near = difflib.get_close_matches(plain, own, n=1) or difflib.get_close_matches(
        plain.removesuffix("_s").removesuffix("_per"), own, n=1
    )
    remedy = f"did you mean {near[0]}?" if near else f"planimeter.running.settings({verb!r}) lists them"
    raise SettingError(f"{verb} has no such setting", where=name, remedy=remedy)


def _words_of(flag: Flag, name: str, unit: str, value: Any) -> list[str]:
    if flag.kind in ("presence", "boolean"):
        if not isinstance(value, bool):
            raise SettingError("the value must be True or False", where=name)
        if flag.kind == "boolean":
            return [f"--{flag.name}={'true' if value else 'false'}"]
        return [f"--{flag.name}"] if value else []
    # Several values of a setting that takes one are a list as the command line writes it.
    several = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
    texts = [_text(name, unit, one) for one in value] if several else [_text(name, unit, value)]
    if several and flag.kind == "value":
        texts = [",".join(texts)]
    return [f"--{flag.name}={text}" for text in texts]


def _text(name: str, unit: str, value: Any) -> str:
    """Returns a value as the command line writes it."""
    if isinstance(value, (str, os.PathLike)) and not unit:
        text = os.fspath(value)
        if isinstance(text, str):
            return text
    if isinstance(value, (numbers.Real, Decimal)) and not isinstance(value, bool):
        try:
            exact = Fraction(str(value))
        except ValueError:
            raise SettingError(f"{value} is not finite", where=name) from None
        if unit == "s":
            return _duration(name, exact)
        if exact.denominator == 1:
            return str(exact.numerator)
        return format(Decimal(exact.numerator) / Decimal(exact.denominator), "f")
    kinds = "a number" if unit else "a number, a str or a path"
    raise SettingError(f"the value must be {kinds}, not {type(value).__name__}", where=name)


def _duration(name: str, seconds: Fraction) -> str:
    nanos = round(seconds * 10**9)
    if nanos < 0:
        raise SettingError(f"{float(seconds):g} is negative", where=name)
    unit, size = next((unit, size) for unit, size in _UNITS if nanos % size == 0)
    return f"{nanos // size}{unit}"
