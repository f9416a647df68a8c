"""IPv4 packets for the tests, made by hand: scapy's are taken as well."""

from __future__ import annotations

import struct

ROUTER = bytes.fromhex("020000000001")
STATION = bytes.fromhex("02000000000f")


def checksum(header: bytes) -> int:
    """Return the Internet checksum of RFC 1071."""
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv4(
    destination: str, *, ttl: int = 64, options: bytes = b"", payload: bytes = b"payload", wrong: int = 0
) -> bytes:
    """Return an Ethernet frame with an IPv4 packet. ``wrong`` is added to its checksum."""
    words = 5 + len(options) // 4
    addresses = bytes([172, 16, 0, 1]) + bytes(int(part) for part in destination.split("."))
    first = struct.pack("!BBHHHBB", 0x40 | words, 0, 4 * words + len(payload), 0, 0, ttl, 17)
    sum_of = checksum(first + b"\0\0" + addresses + options) + wrong & 0xFFFF
    header = first + struct.pack("!H", sum_of) + addresses + options
    return ROUTER + STATION + b"\x08\x00" + header + payload


def routed(packet: bytes, *, source: str, destination: str) -> bytes:
    """Return the packet as a router forwards it: new stations, and one hop less to live."""
    stations = bytes.fromhex((destination + source).replace(":", ""))
    size = 4 * (packet[14] & 0x0F)
    header = bytearray(packet[14 : 14 + size])
    header[8] -= 1
    header[10:12] = b"\0\0"
    header[10:12] = checksum(bytes(header)).to_bytes(2, "big")
    return stations + packet[12:14] + bytes(header) + packet[14 + size :]
