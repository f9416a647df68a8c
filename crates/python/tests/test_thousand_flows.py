"""A network of 1,000 flows, built in Python, whose bounds are compared with a formula.

The test prints the time that they take. Run by itself, the file does the same::

    python crates/python/tests/test_thousand_flows.py
"""

from __future__ import annotations

import time
from fractions import Fraction

from planimeter.calculus import Curve, Network

SERVERS, FLOWS = 40, 1000
RATE, LATENCY = 10**9, Fraction(1, 100_000)


def path(flow: int) -> list[int]:
    """Return the servers of a flow, from two to four neighbours."""
    first = (7 * flow) % (SERVERS - 4)
    return list(range(first, first + 2 + flow % 3))


def bucket(flow: int) -> tuple[int, int]:
    """Return the burst of a flow in bits, and its rate in bits per second."""
    return 1000 + flow, 100_000 + 17 * flow


def build() -> Network:
    network = Network("a thousand flows")
    for server in range(SERVERS):
        network.server(f"s{server}", Curve.rate_latency(RATE, LATENCY))
    for flow in range(FLOWS):
        network.flow(f"f{flow}", [f"s{server}" for server in path(flow)], Curve.token_bucket(*bucket(flow)))
    return network


def total_flow_delays() -> list[Fraction]:
    """Return the delay bounds of total flow analysis, by its formula for token buckets.

    A FIFO server of rate R and latency T delays flows with bursts b by at most T + sum(b) / R. A
    flow of rate r that is delayed by d leaves with the burst b + r d (Le Boudec and Thiran, Network
    Calculus, sections 1.4 and 6.3). Links do not limit what arrives here, so that `tfa++` has the
    same bounds, but for the fractions that it rounds.
    """
    bursts = [Fraction(bucket(flow)[0]) for flow in range(FLOWS)]
    delays = [Fraction(0)] * FLOWS
    # Every path visits its servers in ascending order.
    for server in range(SERVERS):
        present = [flow for flow in range(FLOWS) if server in path(flow)]
        delay = LATENCY + sum((bursts[flow] for flow in present), Fraction()) / RATE
        for flow in present:
            delays[flow] += delay
            bursts[flow] += bucket(flow)[1] * delay
    return delays


def test_a_thousand_flows_are_bounded_as_by_the_formula() -> None:
    began = time.perf_counter()
    network = build()
    built = time.perf_counter()
    bounds = network.bounds("tfa++")
    ended = time.perf_counter()
    print(f"{FLOWS} flows: built in {built - began:.3f} s, bounded by tfa++ in {ended - built:.3f} s")
    # A burst may be rounded up by one part in 2^190 at each server (docs/bound.md).
    most = 1 + Fraction(SERVERS, 2**190)
    for flow, delay in enumerate(total_flow_delays()):
        assert delay <= bounds[f"f{flow}"].delay <= delay * most, flow


if __name__ == "__main__":
    test_a_thousand_flows_are_bounded_as_by_the_formula()
