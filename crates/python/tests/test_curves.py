"""Curves: values of papers, laws that brute force confirms, and exact numbers in and out."""

from __future__ import annotations

import pickle
import random
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest

from planimeter.calculus import Curve, Period, Piece
from planimeter.errors import CurveError, InputError, LimitError, PlanimeterError

INFINITE = float("inf")


def test_the_three_bounds_of_a_token_bucket_at_a_rate_latency_server() -> None:
    """Le Boudec and Thiran, "Network Calculus", section 1.4: T + b / R, b + r T, and its output."""
    arrival, service = Curve.token_bucket(burst=4, rate=3), Curve.rate_latency(rate=4, latency=3)
    delay, backlog = arrival.horizontal_deviation(service), arrival.vertical_deviation(service)
    assert delay.value == 4 and backlog.value == 13 and backlog.at == 3
    assert isinstance(delay.value, Fraction)
    assert arrival.deconvolution(service) == Curve.line(13, 3)


def test_servers_in_series_add_their_latencies() -> None:
    assert Curve.rate_latency(4, 3) @ Curve.rate_latency(5, "1/3") == Curve.rate_latency(4, "10/3")


def test_the_residual_service_is_one_expression() -> None:
    left = Curve.rate_latency(10, 5) - Curve.token_bucket(10, 4)
    assert left.non_negative().upper_non_decreasing() == Curve.rate_latency(6, 10)


def test_a_t_spec_delay_is_that_of_rfc_2212() -> None:
    """RFC 2212: (b - M) / R * (p - R) / (p - r) + (M + C) / R + D for p > R >= r."""
    packet, peak, rate, burst = 1500, 10**7, 10**6, 20_000
    reserved, rated, fixed = 2 * 10**6, 1500, Fraction(1, 1000)
    arrival = Curve.t_spec(packet, peak, rate, burst)
    service = Curve.rate_latency(reserved, fixed + Fraction(rated, reserved))
    expected = (
        Fraction(burst - packet, reserved) * Fraction(peak - reserved, peak - rate)
        + Fraction(packet + rated, reserved)
        + fixed
    )
    assert arrival.horizontal_deviation(service).value == expected


def random_curve(source: random.Random, rate: int) -> tuple[Curve, list[int]]:
    """Returns a continuous curve with breakpoints at whole times, and its values at times 0 to 39."""
    values = [source.randrange(4)]
    for _ in range(source.randrange(1, 6)):
        values.append(values[-1] + source.randrange(4))
    curve = Curve.from_points(list(enumerate(values)), rate=rate)
    last = len(values) - 1
    return curve, [values[t] if t <= last else values[last] + rate * (t - last) for t in range(40)]


@pytest.mark.parametrize("seed", range(20))
def test_operations_agree_with_brute_force(seed: int) -> None:
    """With breakpoints at whole times, the optimum at a whole time is at a whole split."""
    source = random.Random(seed)
    f, of_f = random_curve(source, rate=source.randrange(3))
    g, of_g = random_curve(source, rate=3)
    for t in range(20):
        assert (f + g)(t) == of_f[t] + of_g[t]
        assert (f - g)(t) == of_f[t] - of_g[t]
        assert (f & g)(t) == min(of_f[t], of_g[t])
        assert (f | g)(t) == max(of_f[t], of_g[t])
        assert (f @ g)(t) == min(of_f[s] + of_g[t - s] for s in range(t + 1))
        assert f.max_plus_convolution(g)(t) == max(of_f[s] + of_g[t - s] for s in range(t + 1))
        # The rate of g is greater, so the supremum is reached before time 20.
        assert f.deconvolution(g)(t) == max(of_f[t + u] - of_g[u] for u in range(20))
    backlog = max(a - b for a, b in zip(of_f, of_g))
    assert f.vertical_deviation(g).value == backlog
    wait = f.horizontal_deviation(g).value
    assert isinstance(wait, Fraction)
    # Whatever arrives has left by then, and some data have not left sooner.
    assert all(f(t) <= g(t + wait) for t in range(20))
    if wait > 0:
        sooner = wait - Fraction(1, 10_000)
        # Where g rests, the longest delay is that of data just after those at which it rests.
        times = [Fraction(t, 60) + Fraction(1, 100_000) for t in range(20 * 60)]
        assert any(f(t) > g(t + sooner) for t in times)


def test_a_closure_is_the_least_of_all_powers() -> None:
    f = Curve.from_points([(0, 0), (0, 5), (2, 5), (3, 6)], rate=4)
    closure = f.sub_additive_closure()
    assert closure.is_sub_additive() and closure <= f and closure(0) == 0
    power = f
    for _ in range(6):
        power = power & (power @ power)
    assert all(closure(Fraction(t, 2)) == power(Fraction(t, 2)) for t in range(1, 60))


@pytest.mark.parametrize(
    "number", [0.1, "0.1", "1/10", Decimal("0.1"), Fraction(1, 10), np.float64(0.1), "1e-1"]
)
def test_a_tenth_is_a_tenth(number: Any) -> None:
    assert Curve.line(number, 0)(0) == Fraction(1, 10)


@pytest.mark.parametrize("number", [7, np.int64(7), np.uint8(7), 7.0, True + 6])
def test_whole_numbers_are_whole(number: Any) -> None:
    assert Curve.line(0, number)(1) == 7


def test_numbers_of_any_length_go_in_and_out() -> None:
    """Python converts at most 4300 digits to text and back, so parts travel as integers."""
    long = Fraction(10**5000 + 1, 3**9000)
    assert Curve.line(long, 1)(0) == long
    assert Curve.line(-long, 0)(1) == -long


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        ("a tenth", InputError),
        ("1/0", InputError),
        (float("nan"), InputError),
        (INFINITE, InputError),
        (None, TypeError),
        ([1], TypeError),
        (1j, TypeError),
    ],
)
def test_what_is_no_number_is_refused(number: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        Curve.line(number, 0)


def test_infinite_values_are_floats() -> None:
    delay = Curve.burst_delay(2)
    assert (delay(2), delay(3), delay.right_limit(2)) == (0, INFINITE, INFINITE)
    assert Curve.token_bucket(1, 5).horizontal_deviation(Curve.rate_latency(4, 1)).value == INFINITE
    assert Curve.constant(-INFINITE).infimum == -INFINITE


def test_pieces_and_periods() -> None:
    stairs = Curve.staircase(height=5, length=10, offset=2)
    assert stairs.pieces == [Piece(Fraction(0), Fraction(0), Fraction(0), Fraction(0)),
                             Piece(Fraction(2), Fraction(0), Fraction(5), Fraction(0))]
    assert stairs.period == Period(Fraction(0), Fraction(10), Fraction(5))
    assert Curve.zero().period is None
    assert (stairs.ultimate_rate, stairs.left_limit(12), stairs.right_limit(12)) == (Fraction(1, 2), 5, 10)
    assert Curve.from_pieces(stairs.pieces, stairs.period) == stairs


def test_points_with_jumps() -> None:
    curve = Curve.from_points([(0, 0), (0, 2), (3, 5), (3, 6), (3, 7), (4, 7)], rate="1/2")
    assert [curve(t) for t in (0, 1, 3, 4, 6)] == [0, 3, 6, 7, 8]
    assert (curve.left_limit(3), curve.right_limit(3)) == (5, 7)
    again = Curve.from_points([(0, 0), (0, 5), (10, 5)], repeat_from=0, increment=5)
    assert again == Curve.staircase(5, 10)


@pytest.mark.parametrize(
    ("points", "where"),
    [([], "points"), ([(1, 0)], "points[0]"), ([(0, 0), (2, 1), (1, 1)], "points[2]"),
     ([(0, 0), (0, 1), (0, 2)], "points[2]")],
)
def test_points_out_of_order_are_named(points: list[tuple[int, int]], where: str) -> None:
    with pytest.raises(CurveError) as error:
        Curve.from_points(points, rate=0)
    assert error.value.where == where


def test_the_end_of_points_must_be_given() -> None:
    with pytest.raises(CurveError, match="repeat_from and increment"):
        Curve.from_points([(0, 0)])
    with pytest.raises(CurveError):
        Curve.from_points([(0, 0), (1, 1)], rate=1, repeat_from=0, increment=1)


def test_points_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "curve.csv"
    file.write_text("time,bits\n# measured\n0,0\n0;4\n0.5 5.5\n\n1\t7\n")
    assert Curve.from_csv(file, rate=3) == Curve.token_bucket(4, 3)
    assert Curve.from_csv(str(file), rate=3) == Curve.token_bucket(4, 3)
    file.write_text("0,0\n1,one\n")
    with pytest.raises(InputError) as error:
        Curve.from_csv(file, rate=0)
    assert error.value.where == f"{file}:2"
    with pytest.raises(InputError) as error:
        Curve.from_csv(tmp_path / "none.csv", rate=0)
    assert error.value.where == str(tmp_path / "none.csv")


def test_curves_are_values() -> None:
    curve = Curve.staircase("1/3", 2) + Curve.token_bucket(4, 3)
    same = pickle.loads(pickle.dumps(curve))
    assert same == curve and hash(same) == hash(curve) and len({same, curve}) == 1
    assert curve != Curve.zero() and curve != "curve"
    assert Curve.zero() <= curve and curve >= Curve.zero() and not curve <= Curve.zero()
    with pytest.raises(TypeError):
        curve < curve  # type: ignore[operator]
    with pytest.raises(AttributeError):
        curve.pieces = []  # type: ignore[misc]
    assert repr(Curve.token_bucket(4, 3)) == "<Curve TB(4, 3)>"


def test_operators_refuse_other_types() -> None:
    curve = Curve.token_bucket(4, 3)
    assert 2 * curve == curve * 2 == curve + curve
    assert -(-curve) == curve
    with pytest.raises(TypeError):
        curve + 1  # type: ignore[operator]
    with pytest.raises(TypeError):
        curve @ "x"  # type: ignore[operator]
    with pytest.raises(TypeError):
        curve & None  # type: ignore[operator]
    with pytest.raises(TypeError):
        curve * None  # type: ignore[operator]


def test_errors_say_where_and_how() -> None:
    falling = Curve.from_points([(0, 5), (1, 3)], rate=0)
    with pytest.raises(CurveError) as error:
        falling.horizontal_deviation(Curve.rate_latency(1, 0))
    assert error.value.where == "horizontal deviation"
    assert "non-decreasing" in str(error.value.remedy)
    assert isinstance(error.value, (ValueError, PlanimeterError))
    assert str(error.value) == "horizontal deviation: the curve falls at time 0; " + str(error.value.remedy)
    with pytest.raises(CurveError, match="burst of a token bucket"):
        Curve.token_bucket(-1, 0)
    with pytest.raises(LimitError):
        Curve.staircase(1, "1/1999993") + Curve.staircase(1, "1/2999999")
    again = pickle.loads(pickle.dumps(error.value))
    assert (again.what, again.where, again.remedy) == (
        error.value.what, error.value.where, error.value.remedy)


def test_samples_and_corners_are_arrays() -> None:
    curve = Curve.token_bucket(4, 3)
    values = curve.sample([0, 0.5, 2])
    assert values.dtype == np.float64 and values.tolist() == [0.0, 5.5, 10.0]
    assert curve.sample(np.arange(3)).tolist() == [0.0, 7.0, 10.0]
    with pytest.raises(InputError):
        curve.sample([INFINITE])
    times, values = curve.corners(2)
    assert times.tolist() == [0.0, 0.0, 2.0] and values.tolist() == [0.0, 4.0, 10.0]


def test_a_drawing_marks_delay_and_backlog() -> None:
    matplotlib.use("svg")
    arrival, service = Curve.token_bucket(4, 3), Curve.rate_latency(4, 3)
    ax = arrival.plot(service=service)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["arrivals", "service", "delay 4", "backlog 13"]
    delay, backlog = ax.collections
    # The burst of 4 arrives at once and has been served at time 4; at time 3, 13 bits wait.
    assert delay.get_segments()[0].tolist() == [[0.0, 4.0], [4.0, 4.0]]
    assert backlog.get_segments()[0].tolist() == [[3.0, 0.0], [3.0, 13.0]]
    assert Curve.staircase(1, 1).plot(label="stairs").get_legend() is not None
