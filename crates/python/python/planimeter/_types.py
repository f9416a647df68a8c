"""Types of arguments and results that several modules share."""

from __future__ import annotations

import os
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Optional, Protocol, Union

Number = Union[int, Fraction, Decimal, str, float]
"""A finite number. A float means the decimal that Python prints for it."""
Level = Number
"""A number, or an infinite float."""
Value = Union[Fraction, float]
"""A number: a Fraction, or an infinite float."""
PathLike = Union[str, "os.PathLike[str]"]
"""The path of a file or directory."""


class ClassOfPort(Protocol):
    """A class of traffic at a port, such as `planimeter.calculus.PortClass`."""

    @property
    def priority(self) -> int: ...
    @property
    def minimum_packet(self) -> Number: ...
    @property
    def maximum_packet(self) -> Number: ...
    @property
    def share(self) -> Optional[Number]: ...
    @property
    def windows(self) -> Optional[Sequence[tuple[Number, Number]]]: ...


class AnalysisSettings(Protocol):
    """The conventions of an analysis."""

    @property
    def multiplexing(self) -> Optional[str]: ...
    @property
    def flow_of_interest(self) -> str: ...
    @property
    def arrival_bounds(self) -> Sequence[str]: ...
    @property
    def cap_bursts(self) -> bool: ...
    @property
    def prolong(self) -> bool: ...
    @property
    def deadline_s(self) -> Optional[Number]: ...
    @property
    def threads(self) -> int: ...
