"""A router with entries, and packets for it, which several tests share."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Literal

import planimeter
from planimeter import Action

ROOT = Path(__file__).resolve().parents[3]
ROUTER = ROOT / "programs" / "router.p4"
PROGRAM = planimeter.compile(ROUTER)


def ipv4(destination: str, *, ttl: int = 64, source: str = "172.16.0.1", wrong: bool = False) -> bytes:
    """Return an Ethernet frame with an IPv4 packet, whose checksum is wrong if so wanted."""
    parts = [bytes(int(part) for part in address.split(".")) for address in (source, destination)]
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 24, 0, 0, ttl, 17, 0, *parts)
    total = sum(struct.unpack("!10H", header))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    checksum = (~total + wrong) & 0xFFFF
    ethernet = bytes.fromhex("02000000000102000000000f0800")
    return ethernet + header[:10] + struct.pack("!H", checksum) + header[12:] + b"data"


def router(path: Literal["compiled", "interpreter"] = "compiled") -> planimeter.Switch:
    """Return a router with 1,008 routes of several lengths over four neighbours."""
    switch = planimeter.Switch(PROGRAM, path=path)
    routes = [
        (
            {"destination": f"10.{second}.{third * 16}.0/{20 + third % 2}"},
            Action("via", next_hop=f"192.168.0.{1 + second % 4}", port=1 + second % 4),
        )
        for second in range(63)
        for third in range(16)
    ]
    switch.table("routes").insert_many(routes)
    for port in range(1, 5):
        hop, station = f"192.168.0.{port}", f"00:00:00:00:00:b{port}"
        switch.table("neighbours").insert({"next_hop": hop}, Action("to_neighbour", destination=station))
        switch.table("interfaces").insert(
            {"egress_port": port}, Action("from_interface", source=f"00:00:00:00:00:f{port}")
        )
    return switch


def packets(number: int) -> list[bytes]:
    """Return distinct packets, most of which a route exists for."""
    draw = random.Random(3)
    made: set[bytes] = set()
    while len(made) < number:
        destination = f"10.{draw.randrange(72)}.{draw.randrange(256)}.{draw.randrange(256)}"
        made.add(ipv4(destination, ttl=draw.choice((1, 2, 64, 64, 64)), wrong=draw.random() < 0.1))
    return sorted(made, key=lambda _: draw.random())
