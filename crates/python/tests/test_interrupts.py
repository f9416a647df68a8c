"""Ctrl-C ends long calls, and other threads go on meanwhile."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from planimeter import Packets
from planimeter.calculus import Curve, Network
from planimeter.errors import InputError
from routing import ipv4, router

# The claim of the documents: a call ends within this time after Ctrl-C.
WITHIN_S = 0.2
# The machine of a test may be busy with others, so that a thread waits for its processor.
ATTEMPTS = 8


# Its closure convolves curves of thousands of pieces with themselves, for many seconds.
JAGGED = Curve.from_points(
    [(0, 0), (0, 90), *((k, 90 + (37 * k) % 83 + k) for k in range(1, 1000))], rate=4
)


def long_closure() -> object:
    return JAGGED.sub_additive_closure()


def mesh() -> Network:
    """A network of 1,000 flows over 40 servers, whose best bounds take minutes."""
    network = Network()
    for i in range(40):
        network.server(f"s{i}", Curve.rate_latency(10**9, "0.00001"))
    for i in range(1000):
        first = (7 * i) % 36
        path = [f"s{j}" for j in range(first, first + 2 + i % 3)]
        network.flow(f"f{i}", path, Curve.token_bucket(1000 + i, 100_000 + 17 * i))
    return network


NETWORK = mesh()


def jagged() -> Network:
    """A network whose arrival curves have thousands of pieces, so that each operation is long."""
    corners = [(k, 90 + (37 * k) % 83 + 84 * k) for k in range(1, 3000)]
    arrival = Curve.from_points([(0, 0), (0, 90), *corners], rate=90)
    network = Network()
    for i in range(6):
        network.server(f"s{i}", Curve.rate_latency(100_000, 3))
    for i in range(200):
        network.flow(f"f{i}", [f"s{j}" for j in range(i % 3, 4 + i % 3)], arrival)
    return network


JAGGED_NETWORK = jagged()

# The interpreter takes seconds for so many packets.
INTERPRETER = router("interpreter")
PACKETS = [ipv4("10.1.2.3")] * 200_000
PACKET_ARRAYS = Packets(PACKETS)

# The analyses, each with a network that it takes long for.
ANALYSES: dict[str, Network] = {
    "best": NETWORK,
    "quick": JAGGED_NETWORK,
    "tfa": JAGGED_NETWORK,
    "tfa++": JAGGED_NETWORK,
    "sfa": JAGGED_NETWORK,
    "pmoo": JAGGED_NETWORK,
    "tma": JAGGED_NETWORK,
    "ludb": NETWORK,
    "plp": NETWORK,
    "elp": NETWORK,
    "ulp": NETWORK,
}

LONG_CALLS: dict[str, Callable[[], object]] = {
    "closure": long_closure,
    "sfa with segregated-tm": lambda: NETWORK.bounds("sfa", arrival_bounds=["segregated-tm"]),
    "servers": lambda: JAGGED_NETWORK.server_bounds("tfa"),
    "packets in a list": lambda: INTERPRETER.send_batch(PACKETS, port=1),
    "packets in arrays": lambda: INTERPRETER.send_batch(PACKET_ARRAYS, port=1),
    **{name: partial(network.bounds, name) for name, network in ANALYSES.items()},  # type: ignore[arg-type]
}


def test_each_analysis_is_interrupted() -> None:
    """The formula for sink trees takes no time that could be interrupted."""
    with pytest.raises(InputError) as caught:
        NETWORK.bounds("unknown")  # type: ignore[arg-type]
    remedy = str(caught.value.remedy)
    assert {*ANALYSES, "sink-tree"} == set(remedy.removeprefix("write one of ").split(", "))


def interrupted_after(call: Callable[[], object]) -> float:
    """Returns the time from Ctrl-C, during the call, to its exception, in seconds."""
    sent: list[float] = []
    ended = False

    def interrupt() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.15, interrupt)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
            ended = True
            time.sleep(5)
        took = time.monotonic() - sent[0]
        assert not ended, "the call was over before it was interrupted"
        return took
    finally:
        timer.cancel()


def worked_in_the_background() -> float:
    """Waits until interrupted calls have ended, and returns their processor time, in seconds."""

    def is_working() -> bool:
        names = []
        for task in Path("/proc/self/task").iterdir():
            try:
                names.append((task / "comm").read_text().strip())
            except OSError:
                # The thread has ended meanwhile.
                continue
        return "planimeter" in names

    began, ends = time.process_time(), time.monotonic() + 20
    while is_working():
        assert time.monotonic() < ends, "an interrupted call goes on"
        time.sleep(0.005)
    return time.process_time() - began


@pytest.mark.parametrize("name", LONG_CALLS)
def test_a_long_call_ends_soon_after_ctrl_c(name: str) -> None:
    took = []
    for _ in range(ATTEMPTS):
        took.append(interrupted_after(LONG_CALLS[name]))
        assert worked_in_the_background() < 1
        if took[-1] < WITHIN_S:
            return
    pytest.fail(f"{name} ended {', '.join(f'{t:.3f}' for t in took)} s after Ctrl-C")


def test_an_interrupted_network_can_be_bounded_again() -> None:
    before = NETWORK.bounds("tfa++", flows=["f7"])["f7"].delay
    with pytest.raises(KeyboardInterrupt):
        threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        NETWORK.bounds("best")
    assert NETWORK.bounds("tfa++", flows=["f7"])["f7"].delay == before


@pytest.mark.parametrize("name", ["closure", "best"])
def test_another_thread_proceeds_meanwhile(name: str) -> None:
    """A thread counts while the call runs: that it has counted at all shows that the GIL was free."""
    counted = 0
    is_over = threading.Event()

    def count() -> None:
        nonlocal counted
        while not is_over.wait(0.001):
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    try:
        began = counted
        interrupted_after(LONG_CALLS[name])
        assert counted - began > 10
    finally:
        is_over.set()
        thread.join()


def test_a_handler_may_compute_with_curves() -> None:
    """The handler runs while the call checks for signals, and makes such checks of its own."""
    found: list[object] = []

    def handler(number: int, frame: object) -> None:
        found.append((Curve.staircase(1, 3) + Curve.staircase(1, 7))(1))
        raise InterruptedError

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGUSR1)).start()
        with pytest.raises(InterruptedError):
            long_closure()
        assert found == [2]
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_handler_may_use_the_switch_that_processes_a_batch() -> None:
    """The handler runs between two bursts of packets, while the switch is not locked."""
    found: list[object] = []

    def handler(number: int, frame: object) -> None:
        found.append(INTERPRETER.send(ipv4("10.1.2.3"), port=1))
        raise InterruptedError

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGUSR1)).start()
        with pytest.raises(InterruptedError):
            INTERPRETER.send_batch(PACKETS, port=1)
        assert found == [INTERPRETER.send(ipv4("10.1.2.3"), port=1)]
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_progress_counts_the_flows_and_may_end_the_call() -> None:
    seen: list[tuple[int, int]] = []

    class Enough(Exception):
        pass

    def progress(done: int, of: int) -> None:
        seen.append((done, of))
        if len(seen) == 3:
            raise Enough

    with pytest.raises(Enough):
        NETWORK.bounds("best", progress=progress)
    assert len(seen) == 3 and all(of == 1000 and done <= of for done, of in seen)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
