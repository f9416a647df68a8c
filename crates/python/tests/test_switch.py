"""A switch in process: packets, batches, traces, time, and controllers."""

from __future__ import annotations

import ipaddress
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import planimeter
from planimeter import Action, IdleEntry, Packet, PacketIn, Packets
from planimeter.errors import InputError, NotFoundError, PlanimeterError, ProgramError, RefusedError
from routing import PROGRAM, ROOT, ROUTER, ipv4, packets, router

PROGRAMS = Path(__file__).parent / "programs"


def test_a_packet_goes_in_and_out() -> None:
    switch = router()
    [out] = switch.send(ipv4("10.1.2.3"), port=1)
    assert out.port == 2
    assert out.data[:12] == bytes.fromhex("0000000000b20000000000f2")
    # The time to live, and the checksum that follows from it.
    assert out.data[14:] == ipv4("10.1.2.3", ttl=63)[14:]
    assert bytes(out) == out.data and len(out) == len(ipv4("10.1.2.3"))


def test_packets_for_the_controller_are_events() -> None:
    switch = router("interpreter")
    assert switch.send(ipv4("10.1.2.3", ttl=1), port=3) == []
    assert switch.take_events() == [PacketIn(ipv4("10.1.2.3", ttl=1), {})]
    assert switch.take_events() == []


def test_ten_thousand_packets_are_those_of_the_interpreter() -> None:
    """Each output of machine code, and every counter, against the reference interpreter."""
    compiled, oracle = router("compiled"), router("interpreter")
    sent = packets(10_000)
    began = time.perf_counter()
    left = compiled.send_batch(sent, port=1)
    took_s = time.perf_counter() - began
    print(f"{len(sent) / took_s / 1000:.0f} k packets/s from a list")
    batch = Packets(sent)
    again = router("compiled")
    began = time.perf_counter()
    of_arrays = again.send_batch(batch, port=1)
    took_s = time.perf_counter() - began
    print(f"{len(sent) / took_s / 1000:.0f} k packets/s from arrays")

    expected, sources = [], []
    for at, packet in enumerate(sent):
        outputs = oracle.send(packet, port=1)
        expected += outputs
        sources += [at] * len(outputs)
    assert 4_000 < len(expected) < 6_000
    assert list(left) == expected and left.sources.tolist() == sources
    assert list(of_arrays) == expected and of_arrays.sources.tolist() == sources
    assert left.errors == {}
    events = oracle.take_events()
    assert len(events) > 1_000
    assert compiled.take_events() == events
    for name in ("routes", "neighbours", "interfaces"):
        read = compiled.table(name).entries()
        assert read == oracle.table(name).entries()
    assert sum(one.counter.packets for one in compiled.table("routes").entries() if one.counter) > 4_000
    assert list(compiled.counter("dropped")) == list(oracle.counter("dropped"))
    assert compiled.counter("dropped")[1].packets > 500


def test_a_batch_may_be_given_in_every_form() -> None:
    sent = packets(300)
    ports = [1 + at % 4 for at in range(300)]
    switch = router()
    wanted = [out for packet, port in zip(sent, ports) for out in switch.send(packet, port=port)]
    for given in (sent, tuple(sent), [bytearray(one) for one in sent], [memoryview(one) for one in sent]):
        assert list(switch.send_batch(given, port=ports)) == wanted
    left = switch.send_batch(Packets(sent), port=np.array(ports, dtype=np.int64))
    assert list(left) == wanted and len(wanted) > 100
    assert left[-1] == wanted[-1] and left[:2] == wanted[:2]
    assert len(switch.send_batch([], port=1)) == 0


def test_wrong_packets_and_batches_are_refused() -> None:
    switch = router()
    for wrong in ("text", 5, None):
        with pytest.raises(TypeError):
            switch.send(wrong, port=1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="2 ports for 1 packets"):
        switch.send_batch([b""], port=[1, 2])
    offsets = np.array([0, 5, 3], dtype=np.int64)
    wrong_offsets = Packets.of_arrays(np.zeros(5, np.uint8), offsets, np.zeros(2, np.uint32))
    with pytest.raises(InputError, match="packet 1: the offsets"):
        switch.send_batch(wrong_offsets, port=1)


def test_scapy_s_packets_are_taken_where_it_is_installed() -> None:
    scapy = pytest.importorskip("scapy.layers.l2", reason="scapy is not installed")
    inet = pytest.importorskip("scapy.layers.inet", reason="scapy is not installed")
    packet = scapy.Ether(dst="02:00:00:00:00:01") / inet.IP(dst="10.1.2.3") / inet.UDP()
    [out] = router().send(packet, port=1)
    assert scapy.Ether(out.data).dst == "00:00:00:00:00:b2"


def test_a_program_that_fails_says_why_and_the_batch_goes_on() -> None:
    switch = planimeter.Switch(PROGRAMS / "everything.p4", path="interpreter")
    fails, passes = bytes([6, 0, 0, 0, 0, 0, 0, 0]), bytes([3, 1, 0, 0, 0, 0, 0, 0])
    with pytest.raises(ProgramError, match="assert"):
        switch.send(fails, port=1)
    left = switch.send_batch([passes, fails, passes], port=1)
    assert left.sources.tolist() == [0, 2] and set(left.errors) == {1}
    assert "assert" in left.errors[1]


def test_a_trace_says_what_the_program_did() -> None:
    switch = router()
    trace = switch.trace(ipv4("10.1.2.3"), port=1, effects=False)
    assert trace.outputs == switch.send(ipv4("10.1.2.3"), port=1)
    assert "to_neighbour" in str(trace) and "routes" in str(trace)
    assert len(trace.full_text) > len(trace.text)
    assert trace.to_dict()["port"] == 1 and trace.error is None
    # The packet was only tried: one packet was counted, that of `send`.
    counted = [one.counter.packets for one in switch.table("routes").entries() if one.counter]
    assert sum(counted) == 1
    switch.trace(ipv4("10.1.2.3"), port=1)
    counted = [one.counter.packets for one in switch.table("routes").entries() if one.counter]
    assert sum(counted) == 2
    with pytest.raises(InputError, match="write 'passes', 'steps' or 'values'"):
        switch.trace(b"", port=1, detail="all")  # type: ignore[arg-type]


def test_random_numbers_follow_from_the_seed() -> None:
    source = PROGRAMS / "draws.p4"
    paths: tuple[Literal["compiled", "interpreter"], ...] = ("compiled", "interpreter")
    for path in paths:
        drawn: dict[int, list[bytes]] = {}
        for seed in (1, 1, 2):
            switch = planimeter.Switch(source, path=path, seed=seed)
            outputs = [switch.send(bytes(4), port=1)[0].data for _ in range(5)]
            assert drawn.setdefault(seed, outputs) == outputs
        assert drawn[1] != drawn[2]


def test_time_passes_by_advance_alone() -> None:
    switch = planimeter.Switch(ROOT / "programs" / "learning_switch.p4")
    table = switch.table("sources")
    table.insert({"source": "00:00:00:00:00:05"}, Action("at_port", port=1), idle_timeout_s=2.0)
    switch.advance(1.5)
    [entry] = table.entries()
    assert (entry.since_hit_s, entry.idle_timeout_s) == (1.5, 2.0)
    assert switch.take_events() == []
    switch.advance(0.5)
    [event] = switch.take_events()
    assert isinstance(event, IdleEntry)
    assert (event.table, event.entry.match) == ("sources", {"source": "00:00:00:00:00:05"})
    assert switch.now_s == 2.0
    for wrong in (-1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="is not a time"):
            switch.advance(wrong)


def test_a_controller_drives_the_same_switch() -> None:
    """`planimeter ctl` stands for any client of P4Runtime."""
    switch = router()
    with switch.serve(clock="virtual") as server:
        command = [sys.executable, "-m", "planimeter", "ctl", "--device-id", "1", server.address]
        line = "table add routes destination=172.20.0.0/16 via next_hop=192.168.0.3 port=3"
        done = subprocess.run([*command, *line.split()], capture_output=True, text=True, timeout=60, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        [out] = switch.send(ipv4("172.20.1.1"), port=1)
        assert out.port == 3
        switch.table("routes").delete({"destination": "172.20.0.0/16"})
        done = subprocess.run(
            [*command, "table", "dump", "routes"], capture_output=True, text=True, timeout=60, cwd=ROOT
        )
        assert "172.20.0.0" not in done.stdout and "10.1.16.0/21" in done.stdout
        switch.advance(1.0)
        with pytest.raises(RefusedError, match="served already"):
            switch.serve()
    with switch.serve() as server:
        assert server.port > 0
        with pytest.raises(RefusedError, match="clock='virtual'"):
            switch.advance(1.0)
    switch.advance(1.0)
    assert switch.now_s >= 2.0
    with pytest.raises(InputError, match="127.0.0.1:0"):
        switch.serve("localhost")


def test_other_threads_go_on_while_a_batch_runs() -> None:
    """Packets run without the GIL."""
    switch = router("interpreter")
    sent = packets(2_000)
    turns, ended = [0], threading.Event()

    def turn() -> None:
        while not ended.is_set():
            turns[0] += 1

    thread = threading.Thread(target=turn)
    thread.start()
    try:
        # With the GIL, the batch would be one call of native code in which no turn is taken.
        before = turns[0]
        switch.send_batch(sent, port=1)
        assert turns[0] > before + 1_000
    finally:
        ended.set()
        thread.join()


def test_programs_are_compiled_with_diagnostics() -> None:
    program = planimeter.compile(ROUTER)
    assert program.diagnostics == () and "routes" in program.p4info_text
    again = pickle.loads(pickle.dumps(program))
    assert again.p4info == program.p4info and len(program.p4info) > 100
    assert planimeter.Switch(again).names["table"] == ["interfaces", "neighbours", "routes"]
    with pytest.raises(ProgramError) as raised:
        planimeter.compile(PROGRAMS / "wrong.p4", defines={"WIDTH": 9, "FLAG": True})
    error = raised.value
    assert error.where is not None and error.where.endswith("wrong.p4:13:24")
    first, *_ = error.diagnostics  # type: ignore[attr-defined]
    assert (first.severity, first.kind, first.where) == ("error", "undeclared-name", error.where)
    assert "nothing" in first.what and "^" in first.text
    with pytest.raises(ProgramError, match="No such file"):
        planimeter.compile("nothing.p4")


def test_a_program_that_machine_code_cannot_run_is_refused_with_its_place() -> None:
    source = PROGRAMS / "odd_header.p4"
    with pytest.raises(ProgramError) as raised:
        planimeter.Switch(source)
    assert raised.value.remedy == "path='interpreter' runs every program"
    assert "odd_header.p4:" in raised.value.what
    [out] = planimeter.Switch(source, path="interpreter").send(b"\x80\x00", port=1)
    assert out == Packet(b"\x80\x00", 1)


def test_names_may_be_cut_in_front_and_faults_name_what_exists() -> None:
    switch = router()
    assert switch.table("RouterIngress.routes").name == switch.table("routes").name
    with pytest.raises(NotFoundError) as raised:
        switch.table("rutes")
    assert (raised.value.what, raised.value.remedy) == (
        "there is no table 'rutes'", "did you mean 'routes'?",
    )
    with pytest.raises(NotFoundError, match="switch.table\\('routes'\\).entries()"):
        switch.counter("per_route")
    for kind in ("table", "counter", "meter", "register", "profile", "value_set"):
        with pytest.raises(KeyError):
            getattr(switch, kind)("nothing")
    with pytest.raises(KeyError):
        switch.enable_digest("nothing")


@pytest.mark.parametrize(
    ("destination", "action", "what"),
    [
        ("10.0.0.256/8", Action("drop"), "table routes: '10.0.0.256/8' is not a value"),
        ("10.0.0.0/33", Action("drop"), "the length of a prefix is 0 to 32"),
        ("2001:db8::/32", Action("drop"), "the address has 128 bits, the type has 32"),
        (-1, Action("drop"), "-1 is negative"),
        (1 << 32, Action("drop"), "the value needs 33 bits, the type has 32"),
        (True, Action("drop"), "a truth value has 1 bit"),
        ((1, 2, 3), Action("drop"), "a match is a value or two, not 3"),
        ("11.0.0.0/8", Action("via", port=1), "table routes, action via: it needs parameter next_hop"),
        ("11.0.0.0/8", Action("via", next_hop=1, port=512), "512 is not a value of port"),
        ("11.0.0.0/8", Action("via", next_hop=1, port=1, x=1), "there is no parameter 'x'"),
        ("11.0.0.0/8", Action("to_neighbour"), "there is no action 'to_neighbour'"),
        ("10.0.16.0/21", Action("drop"), "table routes: an entry with these match fields"),
    ],
)
def test_wrong_entries_are_refused_with_the_reason(
    destination: planimeter.entries.Match, action: Action, what: str
) -> None:
    switch = planimeter.Switch(PROGRAM, path="interpreter")
    table = switch.table("routes")
    table.insert({"destination": "10.0.16.0/21"}, Action("drop"))
    before = table.entries()
    with pytest.raises(PlanimeterError) as raised:
        table.insert({"destination": destination}, action)
    assert what in str(raised.value)
    assert table.entries() == before


def test_many_entries_are_inserted_all_or_none() -> None:
    switch = router()
    table = switch.table("neighbours")
    good = ({"next_hop": ipaddress.ip_address("192.168.9.9")}, Action("to_controller"))
    with pytest.raises(RefusedError, match="table neighbours, entry 2"):
        table.insert_many([good, ({"next_hop": 7}, Action("to_controller")), good])  # type: ignore[list-item]
    assert len(table) == 4
    table.insert_many([good])  # type: ignore[list-item]
    assert len(table) == 5
    table.clear()
    assert len(table) == 0
