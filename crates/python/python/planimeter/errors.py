"""Exceptions: a class for each kind of fault.

Each says what is wrong, where, and the remedy. Each is also an exception of Python's own, so that
``except ValueError`` catches a wrong value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from planimeter.results import Result

__all__ = [
    "CurveError",
    "ExpectationError",
    "FailedError",
    "ForkError",
    "InputError",
    "InternalError",
    "LimitError",
    "MissingPackageError",
    "NetworkError",
    "NotFoundError",
    "PlanimeterError",
    "ProgramError",
    "RefusedError",
    "ResultError",
    "SettingError",
    "SystemFault",
    "ThresholdError",
    "UnreachableError",
]


class PlanimeterError(Exception):
    """A fault that Planimeter found. All its exceptions derive from this class.

    Parameters
    ----------
    what : str
        The fault.
    where : str, optional
        The place of the fault: an argument, a setting, a table, or a file with line and column.
    remedy : str, optional
        A change that mends the fault.

    Attributes
    ----------
    what : str
        The fault.
    where : str or None
        The place of the fault.
    remedy : str or None
        A change that mends the fault.
    """

    what: str
    where: Optional[str]
    remedy: Optional[str]

    def __init__(self, what: str, where: Optional[str] = None, remedy: Optional[str] = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        text = self.what if self.where is None else f"{self.where}: {self.what}"
        return text if self.remedy is None else f"{text}; {self.remedy}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.what, self.where, self.remedy))


class InputError(PlanimeterError, ValueError):
    """A value or a file is wrong."""


class SettingError(InputError):
    """A setting of a measurement is wrong."""


class CurveError(InputError):
    """A curve is wrong, or an operation on curves has no result."""


class NetworkError(InputError):
    """A network is wrong, or an analysis does not apply to it."""


class ProgramError(InputError):
    """A program in P4 is wrong."""


class ResultError(InputError):
    """A run directory cannot be read."""


class NotFoundError(PlanimeterError, KeyError):
    """Something is named that does not exist."""


class RefusedError(PlanimeterError):
    """The state of an object does not allow the operation."""


class UnreachableError(PlanimeterError, ConnectionError):
    """The system under test could not be reached."""


class ThresholdError(PlanimeterError, AssertionError):
    """A condition does not hold.

    Attributes
    ----------
    result : planimeter.results.Result or None
        The result of the measurement, if a condition of its ``thresholds`` does not hold.
    """

    result: Optional[Result] = None


class ExpectationError(PlanimeterError, AssertionError):
    """A controller under test did not do in time what a test expects."""


class FailedError(PlanimeterError, RuntimeError):
    """A measurement failed, or could not measure all that was asked for.

    Attributes
    ----------
    result : planimeter.results.Result or None
        What was measured, if anything was.
    """

    result: Optional[Result] = None


class LimitError(PlanimeterError):
    """A computation would exceed a limit of memory or steps."""


class SystemFault(PlanimeterError, OSError):
    """The operating system refuses something."""


class MissingPackageError(PlanimeterError, ImportError):
    """A Python package is needed that is not installed."""


class ForkError(PlanimeterError, RuntimeError):
    """The object has threads, which do not exist in a forked process."""


class InternalError(PlanimeterError, RuntimeError):
    """A fault of Planimeter itself. Please report it."""
