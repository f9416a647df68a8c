"""The pytest plugin: what a failing test shows and leaves."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Callable

from planimeter.calculus import Network, NetworkBounds
from planimeter.testing import _Frames
from routing import ROOT, ROUTER

TEST = '''
import pytest
from planimeter import Action
from routing import ipv4

@pytest.fixture
def router(p4_switch):
    switch = p4_switch({router!r})
    switch.table("routes").insert({{"destination": "10.0.0.0/8"}}, Action("connected", port=3))
    return switch

def test_that_passes(router):
    assert router.send(ipv4("11.0.0.1"), port=1) == []

def test_that_fails(router):
    router.table("neighbours").insert({{"next_hop": "10.0.0.9"}}, Action("to_neighbour", destination=5))
    router.send_batch([ipv4("10.0.0.9")] * 2, port=4)
    router.advance(1.5)
    with pytest.raises(Exception):
        router.table("routes").insert({{"destination": "10.0.0.0/8"}}, Action("drop"))
    [out] = router.send(ipv4("10.0.0.9"), port=1)
    router.table("neighbours").delete({{"next_hop": "10.0.0.9"}})
    assert out.port == 4

def test_that_serves(p4_switch):
    switch = p4_switch({router!r})
    with switch.serve():
        pass
    assert switch.names is None
'''


def run(directory: Path, *options: str) -> str:
    (directory / "test_sample.py").write_text(TEST.format(router=str(ROUTER)))
    call = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, "test_sample.py"]
    here = str(Path(__file__).parent)
    path = ":".join([here, *(one for one in sys.path if one)])
    done = subprocess.run(
        call, capture_output=True, text=True, cwd=directory, env={"PYTHONPATH": path}, timeout=120
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "2 failed, 1 passed" in done.stdout
    return done.stdout


def test_a_failing_test_shows_the_trace_in_the_state_that_the_packet_saw(tmp_path: Path) -> None:
    shown = run(tmp_path, "--packets-dir", str(tmp_path / "packets"))
    assert "Packets of router.p4" in shown and "At 1.5 s:" in shown
    # The neighbour existed when the packet came, and does not when the test ends.
    assert "to_neighbour(destination = 0x5)" in shown
    assert "what controllers wrote is not replayed" in shown and "The test sent no packet" not in shown
    assert [one.name for one in (tmp_path / "packets").iterdir()] == ["test_that_fails.pcapng"]


def test_the_capture_has_all_packets_with_ports_and_times(tmp_path: Path) -> None:
    shown = run(tmp_path)
    [path] = re.findall(r"All packets are in (\S+)", shown)
    frames = _read(Path(path).read_bytes())
    # Two packets in by port 4 and out by 3, and after 1.5 s one in by 1 and out by 3.
    assert [(port, direction, now) for port, direction, now, _ in frames] == [
        ("port 4", 1, 0), ("port 4", 1, 0), ("port 3", 2, 0), ("port 3", 2, 0),
        ("port 1", 1, 1_500_000_000), ("port 3", 2, 1_500_000_000),
    ]  # fmt: skip
    assert frames[5][3][:6] == bytes([0, 0, 0, 0, 0, 5])


def _read(data: bytes) -> list[tuple[str, int, int, bytes]]:
    """Read a capture by the rules of draft-ietf-opsawg-pcapng: port, direction, time, packet."""

    def number(at: int, size: int = 4) -> int:
        return int.from_bytes(data[at : at + size], "little")

    at, interfaces, frames = 0, [], []
    while at < len(data):
        kind, length = number(at), number(at + 4)
        assert number(at + length - 4) == length and length % 4 == 0
        if kind == 1:
            assert (number(at + 8, 2), number(at + 16, 2)) == (1, 2)
            interfaces.append(data[at + 20 : at + 20 + number(at + 18, 2)].decode())
        elif kind == 6:
            stamp, size = number(at + 12) << 32 | number(at + 16), number(at + 20)
            options = at + 28 + size + -size % 4
            assert (number(options, 2), number(options + 2, 2)) == (2, 4)
            packet = data[at + 28 : at + 28 + size]
            frames.append((interfaces[number(at + 8)], number(options + 4), stamp, packet))
        at += length
    return frames


def test_the_example_has_twenty_tests_that_pass() -> None:
    call = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations=0"]
    example = ROOT / "examples" / "pytest"
    path = ":".join([str(example), *(one for one in sys.path if one)])
    done = subprocess.run(
        call, capture_output=True, text=True, cwd=example, env={"PYTHONPATH": path}, timeout=120
    )
    assert done.returncode == 0 and "20 passed" in done.stdout, done.stdout
    print(done.stdout.splitlines()[-1])


def test_a_network_is_bounded(network_bounds: Callable[..., NetworkBounds]) -> None:
    path = ROOT / "examples" / "networks" / "two-hops.toml"
    bounds = network_bounds(path, "sfa")
    assert bounds["f0"].delay == Network.read(path).bounds("sfa")["f0"].delay
    assert network_bounds(Network.read(path))["f0"].delay <= bounds["f0"].delay


def test_a_capture_file_may_be_empty_of_padding(tmp_path: Path) -> None:
    frames = _Frames()
    for size in range(5):
        frames.add(size * 1e-9, 7, bytes([size]) * size, "in")
    frames.write(tmp_path / "deep" / "sizes.pcapng")
    read = _read((tmp_path / "deep" / "sizes.pcapng").read_bytes())
    assert read == [("port 7", 1, size, bytes([size]) * size) for size in range(5)]
