"""The state of a switch in process: entries of all match kinds, groups, arrays, digests, packet-ins."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import planimeter
from planimeter import Action, CounterValue, Digest, Group, Member, MeterConfig, OneShot
from planimeter import Packet, PacketIn
from planimeter.errors import InputError, LimitError, NotFoundError, RefusedError

PROGRAM = planimeter.compile(Path(__file__).parent / "programs" / "everything.p4")


@pytest.fixture(params=["compiled", "interpreter"])
def switch(request: pytest.FixtureRequest) -> planimeter.Switch:
    path: Literal["compiled", "interpreter"] = request.param
    return planimeter.Switch(PROGRAM, path=path)


def request(kind: int, key: int = 0, number: int = 0, source: int = 0) -> bytes:
    return bytes([kind, key]) + number.to_bytes(2, "big") + source.to_bytes(4, "big")


def ports(packets: list[Packet]) -> list[int]:
    return [packet.port for packet in packets]


def test_matches_of_each_kind_are_written_and_read(switch: planimeter.Switch) -> None:
    acl = switch.table("acl")
    acl.insert(
        {"source": ("10.0.0.0", "255.0.0.0"), "number": (80, 443), "key": 6},
        Action("forward", port=3),
        priority=2,
    )
    acl.insert({"source": "10.1.0.0/16"}, Action("forward", port=4), priority=1)
    assert ports(switch.send(request(1, 6, 443, 0x0A010101), port=1)) == [3]
    assert ports(switch.send(request(1, 6, 444, 0x0A010101), port=1)) == [4]
    assert ports(switch.send(request(1, 6, 443, 0x0B010101), port=1)) == []
    first, second = acl.entries()
    assert first.match == {"source": ("10.0.0.0", "255.0.0.0"), "number": (80, 443), "key": 6}
    assert second.match == {"source": ("10.1.0.0", "255.255.0.0")}
    assert (first.priority, second.priority) == (2, 1)
    assert first.counter is not None and first.counter.packets == 1
    # What is read can be written again.
    acl.delete(first.match, priority=2)
    acl.insert_many([first])
    assert acl.entries()[-1].match == first.match


def test_entries_are_modified_deleted_and_refused(switch: planimeter.Switch) -> None:
    acl = switch.table("acl")
    with pytest.raises(InputError, match="the priority is 0"):
        acl.insert({}, Action("drop"))
    for priority in range(1, 5):
        acl.insert({"key": priority}, Action("drop"), priority=priority)
    with pytest.raises(LimitError, match="table acl"):
        acl.insert({"key": 9}, Action("drop"), priority=9)
    acl.modify({"key": 1}, Action("forward", port=5), priority=1)
    assert ports(switch.send(request(1, 1), port=1)) == [5]
    acl.delete({"key": 1}, priority=1)
    with pytest.raises(NotFoundError):
        acl.modify({"key": 1}, Action("drop"), priority=1)
    acl.set_default(Action("forward", port=7))
    assert ports(switch.send(request(1, 99), port=1)) == [7]
    assert acl.default_entry is not None and acl.default_entry.action == Action("forward", port=7)
    acl.set_default(None)
    assert acl.default_entry is not None and acl.default_entry.action == Action("drop")


def test_members_groups_and_one_shot_groups(switch: planimeter.Switch) -> None:
    servers, balanced = switch.profile("servers"), switch.table("balanced")
    servers.insert_member(1, Action("forward", port=1))
    servers.insert_member(2, Action("forward", port=2))
    servers.insert_group(5, {1: 1, 2: 1})
    balanced.insert({"key": 1}, Group(5))
    balanced.insert({"key": 2}, Member(2))
    chosen = {port for number in range(64) for port in ports(switch.send(request(2, 1, number), port=1))}
    assert chosen == {1, 2}
    assert ports(switch.send(request(2, 2), port=1)) == [2]
    assert servers.members == {1: Action("forward", port=1), 2: Action("forward", port=2)}
    assert servers.groups == {5: {1: 1, 2: 1}}
    assert [entry.action for entry in balanced.entries()] == [Group(5), Member(2)]
    servers.modify_group(5, {2: 1})
    assert {*ports(switch.send(request(2, 1, 7), port=1))} == {2}
    servers.modify_member(2, Action("forward", port=9))
    assert ports(switch.send(request(2, 1, 7), port=1)) == [9]
    with pytest.raises(RefusedError, match="profile TestIngress.servers, member 2"):
        servers.delete_member(2)
    balanced.delete({"key": 1})
    servers.delete_group(5)
    assert servers.groups == {}


def test_a_one_shot_group_is_in_its_entry(switch: planimeter.Switch) -> None:
    balanced = switch.table("balanced")
    choices = [(Action("forward", port=3), 1), (Action("forward", port=4), 3)]
    balanced.insert({"key": 3}, OneShot(choices))
    numbers = random.Random(1).sample(range(1 << 16), 200)
    chosen = [port for number in numbers for port in ports(switch.send(request(2, 3, number), port=1))]
    # Three quarters within four standard deviations.
    assert set(chosen) == {3, 4} and 126 < chosen.count(4) < 174
    [entry] = balanced.entries()
    assert isinstance(entry.action, OneShot) and list(entry.action.choices) == choices
    with pytest.raises(InputError, match="action sets"):
        switch.profile("servers").insert_member(1, Action("drop"))


def test_a_trace_may_have_all_outcomes_of_a_group(switch: planimeter.Switch) -> None:
    choices = [(Action("forward", port=port), 1) for port in (3, 4, 5)]
    switch.table("balanced").insert({"key": 3}, OneShot(choices))
    trace = switch.trace(request(2, 3), port=1, effects=False, outcomes=10)
    assert all(f"port {port}" in trace.text for port in (3, 4, 5))


def test_counters_are_read_and_set(switch: planimeter.Switch) -> None:
    kinds = switch.counter("kinds")
    assert (len(kinds), kinds.unit, kinds.size) == (4, "both", 4)
    switch.send(request(1), port=1)
    assert kinds[1] == CounterValue(1, 8) and kinds[-3] == kinds[1]
    kinds[2] = CounterValue(5, 500)
    assert kinds.read().tolist() == [[0, 0], [1, 8], [5, 500], [0, 0]]
    assert kinds.read().dtype == np.uint64
    kinds.reset()
    assert list(kinds) == [CounterValue()] * 4
    for index in (4, -5):
        with pytest.raises(IndexError):
            kinds[index]


def test_registers_are_read_and_set(switch: planimeter.Switch) -> None:
    last = switch.register("last")
    switch.send(request(3, 2, source=77), port=1)
    assert (len(last), last[2], list(last)) == (8, 77, [0, 0, 77, 0, 0, 0, 0, 0])
    last[7] = "10.0.0.1"
    assert last[-1] == 0x0A000001
    last.fill(3)
    assert set(last) == {3}
    signed = switch.register("signed_values")
    signed[1] = -32768
    assert list(signed) == [0, -32768, 0, 0]
    with pytest.raises(InputError, match="int<16>"):
        signed[1] = 32768
    with pytest.raises(InputError, match="33 bits"):
        last[0] = 1 << 32


def test_meters_mark_by_virtual_time(switch: planimeter.Switch) -> None:
    limits = switch.meter("limits")
    config = MeterConfig(committed_rate=1, committed_burst=2, peak_rate=1, peak_burst=4)
    limits[0] = config
    assert (limits.unit, limits[0].config, limits[1].config) == ("packets", config, None)
    # Two packets are green, two yellow, and the others red: colors 0, 1 and 2 leave by 1, 2 and 3.
    colors = [ports(switch.send(request(3), port=1)) for _ in range(6)]
    assert colors == [[1], [1], [2], [2], [3], [3]]
    switch.advance(1.0)
    assert ports(switch.send(request(3), port=1)) == [1]
    limits.configure(None)
    assert [one.config for one in limits] == [None] * 4
    assert ports(switch.send(request(3), port=1)) == [1]


def test_digests_are_events_once_they_are_enabled(switch: planimeter.Switch) -> None:
    switch.send(request(4, source=9), port=3)
    assert switch.take_events() == []
    [name] = switch.names["digest"]
    switch.enable_digest(name)
    switch.enable_digest(name)
    switch.send(request(4, source=9), port=3)
    assert switch.take_events() == [Digest(name, (9, 3))]
    switch.enable_digest(name, False)
    switch.send(request(4, source=9), port=3)
    assert switch.take_events() == []


def test_packet_ins_and_packet_outs_have_their_headers(switch: planimeter.Switch) -> None:
    assert switch.send(request(5, 1), port=6) == []
    assert switch.take_events() == [PacketIn(request(5, 1), {"ingress_port": 6, "reason": 3})]
    assert switch.packet_out(request(1), egress_port=4) == [Packet(request(1), 4)]
    with pytest.raises(NotFoundError, match="field of packet_out 'port'"):
        switch.packet_out(request(1), port=4)
    with pytest.raises(InputError, match="10 bits"):
        switch.packet_out(request(1), egress_port=512)


def test_multicast_groups_and_clone_sessions(switch: planimeter.Switch) -> None:
    acl = switch.table("acl")
    acl.insert({"key": 1}, Action("flood", group=5), priority=1)
    acl.insert({"key": 2}, Action("mirror", port=2), priority=1)
    assert ports(switch.send(request(1, 1), port=1)) == []
    switch.set_multicast_group(5, [2, 3, (3, 2)])
    assert ports(switch.send(request(1, 1), port=1)) == [2, 3, 3]
    assert switch.multicast_groups == {5: [(2, 1), (3, 1), (3, 2)]}
    switch.set_multicast_group(5, [4])
    assert ports(switch.send(request(1, 1), port=1)) == [4]
    switch.set_multicast_group(5, [])
    switch.set_multicast_group(5, [])
    assert switch.multicast_groups == {}
    switch.set_clone_session(7, [8], length=4)
    out = {packet.port: packet.data for packet in switch.send(request(1, 2), port=1)}
    assert out == {2: request(1, 2), 8: request(1, 2)[:4]}
    assert switch.clone_sessions == {7: [(8, 1)]}
    switch.set_clone_session(7, [])
    assert ports(switch.send(request(1, 2), port=1)) == [2]


def test_value_sets_are_set(switch: planimeter.Switch) -> None:
    known = switch.value_set("known_kinds")
    assert known.members == [] and ports(switch.send(request(4), port=1)) == []
    [field] = _field_of(switch)
    known.members = [{field: 4}, {field: 77}]
    assert known.members == [{field: 4}, {field: 77}]
    assert ports(switch.send(request(4), port=1)) == [9]
    with pytest.raises(LimitError, match="value set known_kinds"):
        known.members = [{field: number} for number in range(5)]


def _field_of(switch: planimeter.Switch) -> list[str]:
    """Return the name of the field of the value set, which P4Info may leave empty."""
    try:
        switch.value_set("known_kinds").members = [{"nothing": 1}]
    except NotFoundError as error:
        assert error.remedy is not None
        return [error.remedy.removeprefix("there are ")]
    raise AssertionError("a field has another name")


def test_more_events_than_are_kept_are_counted() -> None:
    switch = planimeter.Switch(PROGRAM)
    switch.send_batch([request(5)] * 70_000, port=1)
    assert switch.lost_events == 70_000 - 65_536
    assert len(switch.take_events()) == 65_536
