"""Drawings of curves with matplotlib."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Optional, cast

import numpy as np

from planimeter._packages import optional

if TYPE_CHECKING:
    from planimeter._native import Curve
    from planimeter._types import Number

# Blue for arrivals, green for service, red for the marks: distinct also without colour vision.
_ARRIVAL, _SERVICE, _MARK = "#0072b2", "#009e73", "#d55e00"


def _fraction(value: object) -> Optional[Fraction]:
    """Returns a finite number, or None for an infinite one."""
    return value if isinstance(value, Fraction) else None


def _last_time(curves: list[Curve], marks: list[Fraction]) -> Fraction:
    """Returns a time after all breakpoints, two periods and all marks."""
    last = Fraction(0)
    for curve in curves:
        last = max(last, curve.pieces[-1].start)
        period = curve.period
        if period is not None:
            last = max(last, period.start + 2 * period.length)
    last = max([last, *marks])
    return last * Fraction(5, 4) if last > 0 else Fraction(1)


def _draw(ax: Any, curve: Curve, until: Number, colour: str, label: Optional[str]) -> None:
    times, values = curve.corners(until)
    # An infinite value ends the line; a gap of matplotlib is not a number.
    ax.plot(times, np.where(np.isfinite(values), values, np.nan), color=colour, label=label)


def plot_curve(
    curve: Curve,
    service: Optional[Curve],
    until: Optional[Number],
    ax: Any,
    label: Optional[str],
) -> Any:
    """Draws a curve. `Curve.plot` explains the parameters."""
    if ax is None:
        _, ax = optional("matplotlib.pyplot", "to draw curves").subplots()
    if service is None:
        last: Number = until if until is not None else _last_time([curve], [])
        _draw(ax, curve, last, _ARRIVAL, label)
    else:
        delay, backlog = curve.horizontal_deviation(service), curve.vertical_deviation(service)
        sent, wait = delay.at, _fraction(delay.value)
        full, amount = backlog.at, _fraction(backlog.value)
        marks = [] if sent is None or wait is None else [sent + wait]
        marks += [] if full is None or amount is None else [full]
        last = until if until is not None else _last_time([curve, service], marks)
        _draw(ax, curve, last, _ARRIVAL, label or "arrivals")
        _draw(ax, service, last, _SERVICE, "service")
        if sent is not None and wait is not None:
            height = _reached(curve, service, sent, wait)
            if height is not None:
                ax.hlines(
                    height,
                    float(sent),
                    float(sent + wait),
                    colors=_MARK,
                    linestyles="dashed",
                    label=f"delay {float(wait):.6g}",
                )
        if full is not None and amount is not None:
            low = _fraction(service(full))
            if low is not None:
                ax.vlines(
                    float(full),
                    float(low),
                    float(low + amount),
                    colors=_MARK,
                    linestyles="dotted",
                    label=f"backlog {float(amount):.6g}",
                )
    ax.set_xlabel("time")
    ax.set_ylabel("data")
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=min(0.0, cast(float, ax.get_ylim()[0])))
    if service is not None or label is not None:
        ax.legend()
    return ax


def _reached(curve: Curve, service: Curve, sent: Fraction, wait: Fraction) -> Optional[float]:
    """Returns the data that arrive at `sent` and leave `wait` later, or None if they are infinite."""
    arrived = _fraction(curve.right_limit(sent))
    served = _fraction(service.right_limit(sent + wait))
    if arrived is None:
        return None
    return float(arrived if served is None else min(arrived, served))
