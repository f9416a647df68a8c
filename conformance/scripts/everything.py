"""The packets of pipelines/everything.p4, and what becomes of them."""
import struct
from enum import IntEnum

from wire import Wire

PROBE_TYPE, OTHER_TYPE = 0x88B5, 0x88B6
# The group that holds all ports but the first, which packets come in by.
ALL_PORTS = 99


class Part(IntEnum):
    EXACT = 1
    PREFIX = 2
    TERNARY = 3
    RANGE = 4
    OPTIONAL = 5
    GROUP = 6
    PROFILE = 7
    COUNTER = 8
    METER = 9
    REGISTER = 10
    MULTICAST = 11
    CLONE = 12
    DIGEST = 13
    AGED = 14
    FIXED = 15
    NONE = 200


def frame(part, key=0, small=0, ether_type=PROBE_TYPE, tail=b""):
    ethernet = bytes.fromhex("02000000000b 02000000000a") + struct.pack("!H", ether_type)
    return ethernet + struct.pack("!BIHI", part, key, small, 0xFFFF_FFFF) + tail


def result(seen):
    """What the switch wrote into a frame."""
    return struct.unpack_from("!I", seen, 21)[0]


class Hosts(Wire):
    """Hosts at the ports of a switch that runs the program."""

    def __init__(self, names):
        super().__init__(dict(enumerate(names, 1)), (PROBE_TYPE, OTHER_TYPE))

    def frames(self, sent, ports=(2, 3, 4)):
        """Sends frames to port 1; what comes out of each of the others.

        Behind them goes one that all ports get: what is not there before it does not come.
        """
        for one in sent:
            self.send(1, one)
        self.send(1, frame(Part.MULTICAST, ALL_PORTS, ether_type=OTHER_TYPE))
        found = {}
        for port in ports:
            while struct.unpack_from("!H", seen := self.receive(port), 12)[0] != OTHER_TYPE:
                found.setdefault(port, []).append(seen)
        return found

    def ask(self, part, key=0, small=0, ports=(2, 3, 4)):
        """Sends a packet; the result in what comes out of each port."""
        found = self.frames([frame(part, key, small)], ports)
        return {port: [result(seen) for seen in frames] for port, frames in found.items()}
