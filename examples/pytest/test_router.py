"""Tests of programs/router.p4: routes, neighbours, checksums, times to live, counters.

Run them with ``pytest examples/pytest``. When one fails, the report has the trace of the packet, and
names a capture file.
"""

from __future__ import annotations

from typing import Callable

import pytest

import planimeter
from packets import ipv4, routed
from planimeter import Action, CounterValue, Packet, PacketIn

PROGRAM = "../../programs/router.p4"


@pytest.fixture
def router(p4_switch: Callable[..., planimeter.Switch]) -> planimeter.Switch:
    """A router with a subnet on port 3, a neighbour behind port 2, and a default route."""
    switch = p4_switch(PROGRAM)
    switch.table("routes").insert_many(
        [
            ({"destination": "10.0.3.0/24"}, Action("connected", port=3)),
            ({"destination": "10.0.0.0/8"}, Action("via", next_hop="192.168.0.2", port=2)),
            ({"destination": "10.0.4.0/24"}, Action("drop")),
            ({"destination": "10.0.5.0/24"}, Action("to_controller")),
        ]
    )
    switch.table("neighbours").insert_many(
        [
            ({"next_hop": "10.0.3.3"}, Action("to_neighbour", destination="00:00:00:00:00:b3")),
            ({"next_hop": "192.168.0.2"}, Action("to_neighbour", destination="00:00:00:00:00:b2")),
        ]
    )
    for port in (2, 3):
        station = f"00:00:00:00:00:f{port}"
        switch.table("interfaces").insert({"egress_port": port}, Action("from_interface", source=station))
    return switch


def test_a_connected_subnet_is_reached(router: planimeter.Switch) -> None:
    packet = ipv4("10.0.3.3")
    expected = routed(packet, source="00:00:00:00:00:f3", destination="00:00:00:00:00:b3")
    assert router.send(packet, port=1) == [Packet(expected, 3)]


def test_a_next_hop_is_reached(router: planimeter.Switch) -> None:
    packet = ipv4("10.9.9.9")
    expected = routed(packet, source="00:00:00:00:00:f2", destination="00:00:00:00:00:b2")
    assert router.send(packet, port=1) == [Packet(expected, 2)]


def test_the_longest_prefix_wins(router: planimeter.Switch) -> None:
    router.table("routes").insert(
        {"destination": "10.0.3.128/25"}, Action("via", next_hop="192.168.0.2", port=2)
    )
    assert [out.port for out in router.send(ipv4("10.0.3.3"), port=1)] == [3]
    assert [out.port for out in router.send(ipv4("10.0.3.200"), port=1)] == [2]


def test_an_unknown_destination_is_dropped(router: planimeter.Switch) -> None:
    assert router.send(ipv4("11.0.0.1"), port=1) == []
    assert router.take_events() == []


def test_a_default_route_is_a_prefix_of_no_bits(router: planimeter.Switch) -> None:
    router.table("routes").set_default(Action("via", next_hop="192.168.0.2", port=2))
    assert [out.port for out in router.send(ipv4("11.0.0.1"), port=1)] == [2]


def test_a_route_may_drop(router: planimeter.Switch) -> None:
    assert router.send(ipv4("10.0.4.4"), port=1) == []


def test_a_route_may_lead_to_the_controller(router: planimeter.Switch) -> None:
    assert router.send(ipv4("10.0.5.5"), port=1) == []
    assert router.take_events() == [PacketIn(ipv4("10.0.5.5"), {})]


def test_a_neighbour_that_is_not_known_is_left_to_the_controller(router: planimeter.Switch) -> None:
    assert router.send(ipv4("10.0.3.4"), port=1) == []
    assert router.take_events() == [PacketIn(ipv4("10.0.3.4"), {})]
    router.table("neighbours").insert(
        {"next_hop": "10.0.3.4"}, Action("to_neighbour", destination="00:00:00:00:00:b4")
    )
    assert [out.port for out in router.send(ipv4("10.0.3.4"), port=1)] == [3]


def test_wrong_checksums_are_counted(router: planimeter.Switch) -> None:
    assert router.send(ipv4("10.0.3.3", wrong=1), port=1) == []
    assert [cell.packets for cell in router.counter("dropped")] == [0, 1, 0]


@pytest.mark.parametrize("ttl", [0, 1])
def test_a_packet_that_has_lived_long_enough_goes_to_the_controller(
    router: planimeter.Switch, ttl: int
) -> None:
    assert router.send(ipv4("10.0.3.3", ttl=ttl), port=1) == []
    assert router.take_events() == [PacketIn(ipv4("10.0.3.3", ttl=ttl), {})]
    assert router.counter("dropped")[2].packets == 1


def test_the_last_hop_but_one_is_forwarded(router: planimeter.Switch) -> None:
    [out] = router.send(ipv4("10.0.3.3", ttl=2), port=1)
    assert out.data[22] == 1


def test_options_stay_and_are_in_the_checksum(router: planimeter.Switch) -> None:
    packet = ipv4("10.0.3.3", options=bytes([7, 7, 4, 0, 0, 0, 0, 1]))
    expected = routed(packet, source="00:00:00:00:00:f3", destination="00:00:00:00:00:b3")
    assert router.send(packet, port=1) == [Packet(expected, 3)]


def test_a_packet_of_another_protocol_is_counted(router: planimeter.Switch) -> None:
    assert router.send(bytes(12) + b"\x86\xdd" + bytes(40), port=1) == []
    assert router.counter("dropped")[0].packets == 1


def test_a_header_that_is_cut_short_is_counted(router: planimeter.Switch) -> None:
    assert router.send(ipv4("10.0.3.3")[:20], port=1) == []
    assert router.counter("dropped")[0].packets == 1


def test_a_header_of_another_version_is_counted(router: planimeter.Switch) -> None:
    packet = bytearray(ipv4("10.0.3.3"))
    packet[14] = 0x65
    assert router.send(packet, port=1) == []
    assert router.counter("dropped")[0].packets == 1


def test_each_route_counts_its_packets(router: planimeter.Switch) -> None:
    packet = ipv4("10.0.3.3")
    router.send_batch([packet] * 5, port=1)
    counted = {
        entry.match["destination"]: entry.counter for entry in router.table("routes").entries() if entry.match
    }
    assert counted["10.0.3.0/24"] == CounterValue(5, 5 * len(packet))
    assert counted["10.0.0.0/8"] == CounterValue()


def test_a_route_may_change(router: planimeter.Switch) -> None:
    routes = router.table("routes")
    routes.modify({"destination": "10.0.3.0/24"}, Action("via", next_hop="192.168.0.2", port=2))
    assert [out.port for out in router.send(ipv4("10.0.3.3"), port=1)] == [2]
    routes.delete({"destination": "10.0.3.0/24"})
    routes.delete({"destination": "10.0.0.0/8"})
    assert router.send(ipv4("10.0.3.3"), port=1) == []


def test_an_interface_without_an_entry_keeps_the_source(router: planimeter.Switch) -> None:
    router.table("interfaces").clear()
    [out] = router.send(ipv4("10.0.3.3"), port=1)
    assert out.data[6:12] == ipv4("10.0.3.3")[6:12]


def test_machine_code_forwards_as_the_interpreter_does(
    router: planimeter.Switch, p4_switch: Callable[..., planimeter.Switch]
) -> None:
    compiled = p4_switch(PROGRAM, path="compiled")
    for table in ("routes", "neighbours", "interfaces"):
        compiled.table(table).insert_many(router.table(table).entries())
    packets = [ipv4(f"10.{n % 7}.{n % 11}.{n % 5}", ttl=n % 4, wrong=n % 3 == 0) for n in range(500)]
    left = compiled.send_batch(packets, port=1)
    assert list(left) == list(router.send_batch(packets, port=1)) and len(left) > 50
    assert compiled.take_events() == router.take_events()
