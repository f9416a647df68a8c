"""Controllers and switches: devices that run already, and emulated switches for a controller."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import planimeter
from planimeter import Action, CounterValue, Digest, MeterConfig, PacketIn
from planimeter.entries import Match
from planimeter.errors import ExpectationError, InputError, NotFoundError, RefusedError
from planimeter.errors import UnreachableError

PROGRAM = planimeter.compile(Path(__file__).parent / "programs" / "everything.p4")
# A test that fails waits for this time.
LONG_S = 10.0


def request(kind: int, key: int = 0, source: int = 0) -> bytes:
    return bytes([kind, key, 0, 0]) + source.to_bytes(4, "big")


@pytest.fixture
def switch() -> planimeter.Switch:
    return planimeter.Switch(PROGRAM, path="interpreter")


@pytest.fixture
def device(switch: planimeter.Switch) -> Iterator[planimeter.Device]:
    with switch.serve(clock="virtual") as server, planimeter.attach(server.address) as device:
        yield device


def test_a_device_has_the_entries_of_its_switch(
    switch: planimeter.Switch, device: planimeter.Device
) -> None:
    here, there = switch.table("acl"), device.table("acl")
    match: dict[str, Match] = {"source": ("10.0.0.0", "255.0.0.0"), "key": 6}
    there.insert(match, Action("forward", port=3), priority=2)
    assert [packet.port for packet in switch.send(request(1, 6, 0x0A010101), port=1)] == [3]
    assert there.entries() == here.entries() and there.entries()[0].match == match
    assert there.entries()[0].counter == CounterValue(1, 8)
    there.modify(match, Action("forward", port=4), priority=2)
    assert here.entries()[0].action == Action("forward", port=4)
    with pytest.raises(RefusedError, match="table acl"):
        there.insert(match, Action("drop"), priority=2)
    with pytest.raises(NotFoundError, match="nothing"):
        there.insert({"nothing": 1}, Action("drop"), priority=1)
    there.insert_many([planimeter.Entry({"key": key}, Action("drop"), key) for key in (1, 3)])
    with pytest.raises(RefusedError, match="entry 1"):
        there.insert_many([planimeter.Entry({"key": key}, Action("drop"), key) for key in (4, 3)])
    assert len(here) == 3, "the first of two entries was kept, although the second was refused"
    there.clear()
    assert len(here) == 0 and there.default_entry == here.default_entry
    there.set_default(Action("forward", port=7))
    default = there.default_entry
    assert default is not None and default.action == Action("forward", port=7)
    assert here.default_entry == default
    assert device.names == switch.names


def test_a_device_has_the_arrays_and_groups_of_its_switch(
    switch: planimeter.Switch, device: planimeter.Device
) -> None:
    switch.send(request(1), port=1)
    device.counter("kinds")[2] = CounterValue(5, 500)
    assert device.counter("kinds").read().tolist() == [[0, 0], [1, 8], [5, 500], [0, 0]]
    assert switch.counter("kinds")[2] == CounterValue(5, 500)
    config = MeterConfig(committed_rate=1, committed_burst=2, peak_rate=1, peak_burst=4)
    device.meter("limits")[1] = config
    assert [one.config for one in device.meter("limits")] == [None, config, None, None]
    device.profile("servers").insert_member(1, Action("forward", port=5))
    device.profile("servers").insert_group(2, {1: 3})
    assert device.profile("servers").members == switch.profile("servers").members
    assert switch.profile("servers").groups == {2: {1: 3}} == device.profile("servers").groups
    device.set_multicast_group(5, [2, (3, 2)])
    device.set_clone_session(7, [8], length=4)
    assert switch.multicast_groups == {5: [(2, 1), (3, 2)]} == device.multicast_groups
    assert switch.clone_sessions == {7: [(8, 1)]} == device.clone_sessions


def test_a_device_sends_packet_ins_and_digests(
    switch: planimeter.Switch, device: planimeter.Device
) -> None:
    [name] = device.names["digest"]
    device.enable_digest(name)
    device.enable_digest(name)
    switch.send(request(5, 1), port=6)
    assert device.wait_event(LONG_S) == PacketIn(request(5, 1), {"ingress_port": 6, "reason": 3})
    switch.send(request(4, source=9), port=3)
    assert device.wait_event(LONG_S) == Digest(name, (9, 3))
    assert device.take_events() == [] and device.wait_event(0.01) is None
    with pytest.raises(InputError, match="10 bits"):
        device.packet_out(request(1), egress_port=512)


def test_a_device_that_cannot_be_controlled_is_an_error(switch: planimeter.Switch) -> None:
    with switch.serve() as server:
        with planimeter.attach(server.address) as first:
            with pytest.raises(RefusedError):
                planimeter.attach(server.address)
        with pytest.raises(RefusedError, match="closed"):
            first.table("acl").entries()
        # The first has gone, so that the next is primary at once.
        with planimeter.attach(server.address, p4info=PROGRAM) as second:
            assert second.table("acl").entries() == []
    with pytest.raises(UnreachableError) as caught:
        planimeter.attach(server.address, timeout_s=1.0)
    assert caught.value.where == server.address and caught.value.remedy is not None


Emulated = Callable[..., list[Any]]


def test_emulated_p4runtime_switches_show_what_a_controller_does(emulated_switches: Emulated) -> None:
    [switch] = emulated_switches("programs/everything.p4", path="interpreter")
    with planimeter.attach(switch.address) as controller:
        switch.packet_in(request(5, 1), port=6)
        event = controller.wait_event(LONG_S)
        assert isinstance(event, PacketIn)
        controller.packet_out(request(1, 9), egress_port=4)
        answer = switch.expect_packet_out(LONG_S)
        assert (answer.data, answer.port) == (request(1, 9), 4) and 0 < answer.latency_s < LONG_S
        controller.table("acl").insert({"key": 6}, Action("forward", port=3), priority=1)
        assert switch.expect_entry("acl", {"key": 6}).action == Action("forward", port=3)
        with pytest.raises(ExpectationError, match="table acl"):
            switch.expect_entry("acl", {"key": 7}, timeout_s=0.02)
        with pytest.raises(ExpectationError, match="no packet-out within 0.02 s"):
            switch.expect_packet_out(0.02)
        with pytest.raises(ExpectationError, match="did not send the packet"):
            switch.packet_in(request(1), port=6)


@pytest.fixture
def learning_controller() -> Iterator[str]:
    """The address of a controller that learns where hosts are."""
    call = [sys.executable, "-m", "planimeter", "controller", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    try:
        words = process.stdout.readline().split()
        yield next(word for word in words if word.startswith("127.0.0.1:"))
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


@pytest.mark.parametrize("version", ["1.0", "1.3"])
def test_emulated_openflow_switches_show_what_a_controller_does(
    emulated_switches: Emulated, learning_controller: str, version: str
) -> None:
    first, second = emulated_switches(openflow=learning_controller, count=2, version=version)
    assert (first.datapath_id, second.datapath_id) == (1, 2)
    for switch in (first, second):
        switch.expect_ready(LONG_S)
    if version == "1.3":
        # It drops packets until the controller has installed the table-miss entry.
        first.expect_flows(timeout_s=LONG_S)
    there = bytes.fromhex("0200000000020200000000010800") + b"there"
    back = bytes.fromhex("0200000000010200000000020800") + b"back"
    first.packet_in(there, port=1)
    # The destination is unknown, so the packet is flooded.
    answers = [first.expect_packet_out(LONG_S) for _ in range(3)]
    assert sorted(answer.port for answer in answers) == [2, 3, 4]
    assert {answer.data for answer in answers} == {there}
    assert all(0 < answer.latency_s < LONG_S for answer in answers)
    before = first.expect_flows(0)
    first.packet_in(back, port=2)
    assert first.expect_packet_out(LONG_S).port == 1
    assert first.expect_flows(before + 1, timeout_s=LONG_S) > before
    assert [(packet.port, packet.data) for packet in first.send(back, port=2)] == [(1, back)]
    with pytest.raises(ExpectationError, match="no packet-out"):
        second.expect_packet_out(0.02)
    with pytest.raises(ExpectationError, match="not 1000"):
        second.expect_flows(1000, timeout_s=0.02)


def test_an_openflow_controller_that_is_not_there_is_an_error(emulated_switches: Emulated) -> None:
    with pytest.raises(UnreachableError):
        emulated_switches(openflow="127.0.0.1:1")
    with pytest.raises(InputError, match="1.5"):
        emulated_switches(openflow="127.0.0.1:1", version="1.5")
    with pytest.raises(TypeError):
        emulated_switches()


@pytest.fixture
def stalled() -> Iterator[tuple[socket.socket, str]]:
    """A controller that accepts connections into small buffers, and its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        yield listening, f"127.0.0.1:{listening.getsockname()[1]}"


def large(number: int) -> bytes:
    """Return an Ethernet frame of 60 kB, so that a few hundred exceed all buffers."""
    return bytes.fromhex("02000000000202000000000188b5") + number.to_bytes(4, "big") + bytes(60_000)


def packet_ins(stream: bytes) -> list[bytes]:
    """Return the packets of the packet-ins in messages of OpenFlow 1.0 (sections 5.1 and 5.4.1)."""
    at, found = 0, []
    while at < len(stream):
        length = int.from_bytes(stream[at + 2 : at + 4], "big")
        if stream[at + 1] == 10:
            found.append(stream[at + 18 : at + length])
        at += length
    assert at == len(stream)
    return found


def test_packets_do_not_wait_for_a_controller_that_stops_reading(
    emulated_switches: Emulated, stalled: tuple[socket.socket, str]
) -> None:
    listening, address = stalled
    [switch] = emulated_switches(openflow=address, version="1.0")
    connection, _ = listening.accept()
    packets = [large(number) for number in range(200)]
    is_done = threading.Event()

    def send() -> None:
        for packet in packets:
            switch.packet_in(packet, port=1)
        is_done.set()

    with connection:
        threading.Thread(target=send, daemon=True).start()
        assert is_done.wait(LONG_S), "a packet waits for the controller"
        # The controller reads again, and receives all of them in order.
        connection.settimeout(LONG_S)
        received = bytearray()
        while not received.endswith(packets[-1]):
            chunk = connection.recv(1 << 16)
            assert chunk, "the switch has disconnected"
            received += chunk
    assert packet_ins(bytes(received)) == packets


def test_a_session_ends_when_too_much_waits_for_the_controller(
    emulated_switches: Emulated, stalled: tuple[socket.socket, str]
) -> None:
    listening, address = stalled
    [switch] = emulated_switches(openflow=address, version="1.0")
    connection, _ = listening.accept()
    with connection:
        for number in range(500):
            switch.packet_in(large(number), port=1)
        with pytest.raises(UnreachableError, match="the controller does not read"):
            switch.expect_packet_out(LONG_S)
