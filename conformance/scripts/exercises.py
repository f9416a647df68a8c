"""What the programs of pipelines/exercises do with packets.

    exercises.py EXERCISE H1 H2 H3

The interfaces are the far ends of port 1 of device 1, port 1 of device 2, and port 3 of device 1; the
second ports of both devices are joined. Whatever is not as it should be ends the script with an error.
"""
import struct
import subprocess
import sys

from wire import Wire

IPV4, OWN, PROBE = 0x0800, 0x1234, 0x0812
H1, H2, H3, SERVICE = "10.0.1.1", "10.0.2.2", "10.0.3.3", "10.0.0.1"
hosts = Wire(dict(enumerate(sys.argv[2:], 1)), (IPV4, OWN, PROBE))


def ethernet(ether_type, destination=9, source=1):
    station = lambda number: bytes([2, 0, 0, 0, 0, number])
    return station(destination) + station(source) + struct.pack("!H", ether_type)


def address(text):
    return bytes(int(part) for part in text.split("."))


def checksum(header):
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv4(source, destination, payload=b"", protocol=17, options=b"", service=0):
    words = 5 + len(options) // 4
    length = 4 * words + len(payload)
    front = struct.pack("!BBHHHBB", 0x40 | words, service, length, 7, 0, 64, protocol)
    ends = address(source) + address(destination)
    summed = checksum(front + b"\0\0" + ends)
    return front + struct.pack("!H", summed) + ends + options + payload


def tcp(source, destination, flags):
    return struct.pack("!HHIIBBHHH", source, destination, 1, 0, 0x50, flags, 1000, 0, 0)


def routed(frame, hops):
    """The IPv4 header of what came, which so many hops have passed on."""
    header = frame[14:34]
    assert header[8] == 64 - hops, f"time to live {header[8]}"
    assert checksum(header) == 0, "the header's checksum is not renewed"
    return header


def source_routing():
    packet = ipv4(H1, H2, b"payload")
    hosts.send(1, ethernet(OWN) + struct.pack("!HH", 2, 0x8001) + packet)
    came = hosts.receive(2)
    assert came[12:14] == b"\x08\x00" and came[34:] == b"payload", came
    routed(came, 2)
    # Nine ports are what there is room for: it comes home over the cable between the devices.
    hosts.send(1, ethernet(OWN) + struct.pack("!9H", *[2] * 8, 0x8001) + packet)
    routed(hosts.receive(1), 9)
    # Without a route nothing passes.
    hosts.send(1, ethernet(IPV4) + packet)
    hosts.send(1, ethernet(OWN) + struct.pack("!HH", 2, 0x8001) + ipv4(H1, H2, b"behind it"))
    assert hosts.receive(2)[34:] == b"behind it"


def path_trace():
    option = struct.pack("!BBH", 31, 4, 0)
    hosts.send(1, ethernet(IPV4) + ipv4(H1, H2, b"payload", options=option, service=1))
    came = hosts.receive(2)
    words, length = came[14] & 15, struct.unpack_from("!H", came, 16)[0]
    kind, option_length, count = struct.unpack_from("!BBH", came, 34)
    assert (words, length, kind, option_length, count) == (10, 24 + 16 + 7, 31, 20, 2), came
    visits = struct.unpack_from("!4I", came, 38)
    # The last one comes first; nobody waited in a queue, and congestion is not told.
    assert visits == (2, 0, 1, 0), visits
    assert came[15] & 3 == 1 and came[54:] == b"payload", came
    # A header of no length is an error of the parser: headers behind it are not there.
    broken = bytearray(ethernet(IPV4) + ipv4(H1, H2, b"too short"))
    broken[14] = 0x44
    hosts.send(1, bytes(broken))
    assert hosts.receive(2)[14] == 0x44


    # Behind a slow cable packets wait: the switch before it says how many, and that this is many.
    subprocess.run("tc qdisc add dev x1 root tbf rate 200kbit burst 2kb limit 1mb".split(), check=True)
    sent = ethernet(IPV4) + ipv4(H1, H2, bytes(500), options=option, service=1)
    marked = None
    # Fewer come than are sent, so that the queue grows.
    for _ in range(20):
        for _ in range(20):
            hosts.send(1, sent)
        marked = next((came for came in map(hosts.receive, [2] * 10) if came[15] & 3 == 3), None)
        if marked:
            break
    assert marked, "no packet says that it met a long queue"
    identity, none, first, depth = struct.unpack_from("!4I", marked, 38)
    assert (identity, none, first) == (2, 0, 1) and depth >= 10, (identity, none, first, depth)


def calculator():
    def asked(operation, left, right):
        return b"P4\x01" + operation + struct.pack("!III", left, right, 0xFFFF_FFFF)

    hosts.send(1, ethernet(OWN) + asked(b"*", 2, 3))
    hosts.send(1, ethernet(OWN) + b"P5\x01+" + struct.pack("!III", 2, 3, 0))
    for operation, result in {b"+": 9, b"-": 0xFFFF_FFFD, b"&": 2, b"|": 7, b"^": 5}.items():
        hosts.send(1, ethernet(OWN) + asked(operation, 3, 6))
        came = hosts.receive(1)
        assert came[:12] == ethernet(OWN, destination=1, source=9)[:12], came
        assert came[14:] == asked(operation, 3, 6)[:12] + struct.pack("!I", result), came


def crc16(data):
    """CRC-16/ARC."""
    value = 0
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0xA001 if value & 1 else 0)
    return value


def load_balance():
    seen = set()
    for port in range(40_000, 40_032):
        for _ in range(2):
            hosts.send(1, ethernet(IPV4) + ipv4(H1, SERVICE, tcp(port, 80, 2), protocol=6))
            key = address(H1) + address(SERVICE) + b"\x06" + struct.pack("!HH", port, 80)
            server = crc16(key) % 2
            came = hosts.receive((2, 3)[server])
            header = routed(came, (2, 1)[server])
            assert header[16:20] == address((H2, H3)[server]), header
            assert came[6:12] == bytes.fromhex(("02000000fe21", "02000000fe13")[server]), came
            assert struct.unpack_from("!H", came, 34)[0] == port
            seen.add(server)
    assert seen == {0, 1}, "both servers have connections"


def multicast():
    everywhere, to_h3 = ethernet(OWN, 200) + b"to all", ethernet(OWN, 3) + b"to one"
    hosts.send(1, everywhere)
    assert hosts.receive(2) == hosts.receive(3) == everywhere
    hosts.send(1, to_h3)
    hosts.send(3, ethernet(OWN, 201) + b"back")
    # Nothing came back to its sender, and what was for one came to nobody else.
    assert hosts.receive(3) == to_h3
    assert hosts.receive(1) == hosts.receive(2) == ethernet(OWN, 201) + b"back"


def firewall():
    syn, ack = 2, 16
    inside = lambda port, flags: ethernet(IPV4) + ipv4(H1, H2, tcp(port, 80, flags), protocol=6)
    outside = lambda port, flags: ethernet(IPV4) + ipv4(H2, H1, tcp(80, port, flags), protocol=6)
    ports = lambda frame: struct.unpack_from("!HH", frame, 34)
    # What was not opened from inside does not come in; only a SYN opens.
    hosts.send(2, outside(5000, syn))
    hosts.send(1, inside(5001, ack))
    assert ports(hosts.receive(2)) == (5001, 80)
    hosts.send(2, outside(5001, ack))
    hosts.send(1, inside(5002, syn))
    assert ports(hosts.receive(2)) == (5002, 80)
    hosts.send(2, outside(5002, syn | ack))
    came = hosts.receive(1)
    assert ports(came) == (80, 5002), came
    routed(came, 2)
    # Packets of no connection are not its affair.
    hosts.send(2, ethernet(IPV4) + ipv4(H2, H1, b"datagram"))
    assert hosts.receive(1)[34:] == b"datagram"


def link_monitor():
    report = struct.Struct("!BBI6s6s")

    def probe():
        """Over both switches and back; what passed each port on the way, the last one first."""
        sent = ethernet(PROBE) + bytes([0, 2, 2, 1])
        hosts.send(1, sent)
        came = hosts.receive(1)
        assert came[14] == 3 and came[-3:] == bytes([2, 2, 1]), came
        reports = []
        for number in range(3):
            who, port, count, last, this = report.unpack_from(came, 15 + number * report.size)
            times = int.from_bytes(last, "big"), int.from_bytes(this, "big")
            reports.append((who >> 7, who & 127, port, count, *times))
        assert [one[:3] for one in reports] == [(0, 1, 1), (0, 2, 2), (1, 1, 2)], reports
        # Each switch counts the packet as it came: longer by a report at every hop.
        lengths = [len(sent) + hops * report.size for hops in (2, 1, 0)]
        return [(one[3] - length, *one[4:]) for one, length in zip(reports, lengths)]

    first = probe()
    assert [count for count, _, _ in first] == [0, 0, 0], first
    assert all(last == 0 and this > 0 for _, last, this in first), first
    for _ in range(5):
        hosts.send(1, ethernet(IPV4) + ipv4(H1, H2, bytes(66)))
        assert len(hosts.receive(2)) == 100
    second = probe()
    assert [count for count, _, _ in second] == [0, 0, 500], second
    assert [last for _, last, _ in second] == [this for _, _, this in first], (first, second)
    assert all(this > last for _, last, this in second), second


globals()[sys.argv[1]]()
print("done", flush=True)
