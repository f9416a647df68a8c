"""The fixture that starts the real switch on veth pairs. It needs root, as users of it do."""

from __future__ import annotations

import subprocess
from typing import Callable

import pytest

from planimeter.errors import PlanimeterError
from planimeter.veth import VethSwitch, missing
from routing import ROUTER, ipv4


def test_the_switch_on_veth_pairs_is_driven_and_removed(
    planimeter_switch: Callable[..., VethSwitch],
) -> None:
    assert missing() is None, missing()
    switch = planimeter_switch(ROUTER, 2)
    switch.control("table add routes destination=10.0.0.0/8 via next_hop=192.168.0.2 port=2")
    switch.control("table add neighbours next_hop=192.168.0.2 to_neighbour destination=00:00:00:00:00:b2")
    switch.send(ipv4("10.0.0.1"), port=1)
    received = switch.receive(2, timeout_s=20)
    assert received is not None and received[:6] == bytes([0, 0, 0, 0, 0, 0xB2])
    assert received[14:] == ipv4("10.0.0.1", ttl=63)[14:]
    assert switch.receive(1, timeout_s=0.01) is None
    with pytest.raises(PlanimeterError, match="did you mean 'routes'"):
        switch.control("table dump rutes")
    interfaces = list(switch._far.values())
    switch.stop()
    known = subprocess.run(["ip", "link"], capture_output=True, text=True, check=True).stdout
    assert not any(name in known for name in interfaces)


def test_a_switch_that_does_not_start_says_why(planimeter_switch: Callable[..., VethSwitch]) -> None:
    with pytest.raises(PlanimeterError, match="did not start: .*nothing.p4"):
        planimeter_switch("nothing.p4", 1)
