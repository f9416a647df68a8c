#!/usr/bin/env python3
"""Measures how exactly `planimeter switch` keeps the rates of its queues on interfaces, and what a
queue costs. As root, from the root of the repository:

    python3 examples/queues/measure.py target/release/planimeter

Everything is in a network namespace of its own: a sender (a ring of AF_PACKET), a pair of virtual
Ethernet interfaces into the switch, and a pair out of it, whose counters are read. The first table
has the rates that leave a port whose queue is never empty. The second has the packets per second
without queues and with one queue at each port, in turns.
"""

import argparse
import ctypes
import mmap
import multiprocessing
import os
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

PROGRAM = "examples/queues/queues.p4"
RATES = [("1Mbps", 1e6), ("10Mbps", 1e7), ("100Mbps", 1e8), ("1Gbps", 1e9)]
CLONE_NEWNET = 0x40000000

# <linux/if_packet.h>
SOL_PACKET = 263
PACKET_VERSION, TPACKET_V2 = 10, 1
PACKET_TX_RING, PACKET_QDISC_BYPASS = 13, 20
TP_STATUS_AVAILABLE, TP_STATUS_SEND_REQUEST = 0, 1
DATA = 32  # the offset of a packet in its frame: tpacket2_hdr
FRAMES, BLOCK = 1024, 1 << 16


def frame(length):
    """An IPv4 packet in an Ethernet frame of this length, without payload."""
    ethernet = bytes.fromhex("020000000002" "020000000001" "0800")
    header = struct.pack("!BBHHHBBH", 0x45, 0, length - 14, 0, 0, 64, 17, 0)
    addresses = bytes([10, 0, 0, 1, 10, 0, 0, 2])
    return (ethernet + header + addresses).ljust(length, b"\0")


def send(interface, length, rate, sent, stop):
    """Sends packets at a rate in packets per second, or as fast as it can if the rate is 0."""
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    port.setsockopt(SOL_PACKET, PACKET_VERSION, TPACKET_V2)
    port.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, 1)
    size = 256 if length + DATA <= 256 else 2048
    request = struct.pack("IIII", BLOCK, size * FRAMES // BLOCK, size, FRAMES)
    port.setsockopt(SOL_PACKET, PACKET_TX_RING, request)
    ring = mmap.mmap(port.fileno(), size * FRAMES)
    port.bind((interface, 0))
    packet = frame(length)
    for number in range(FRAMES):
        start = number * size
        ring[start + 4 : start + 8] = struct.pack("I", length)
        ring[start + DATA : start + DATA + length] = packet
    if not rate:
        flood(port, ring, size, sent, stop)
        return
    words = memoryview(ring).cast("I")
    batch = max(1, min(64, int(rate / 1000)))
    position, due = 0, time.monotonic()
    while not stop.is_set():
        for number in range(position, position + batch):
            at = number % FRAMES * (size // 4)
            while words[at] != TP_STATUS_AVAILABLE:
                pass
            words[at] = TP_STATUS_SEND_REQUEST
        position = (position + batch) % FRAMES
        if push(port):
            sent.value += batch
        due += batch / rate
        wait = due - time.monotonic()
        if wait > 0:
            time.sleep(wait)


def flood(port, ring, size, sent, stop):
    """Sends as fast as it can: the whole ring is filled by one copy, and sent by one call."""
    for start in range(0, size * FRAMES, size):
        ring[start : start + 4] = struct.pack("I", TP_STATUS_SEND_REQUEST)
    full = ring[:]
    while not stop.is_set():
        ring[:] = full
        if push(port):
            sent.value += FRAMES


def push(port):
    """Sends what the ring requests. Returns whether the kernel took it."""
    try:
        port.send(b"")
        return True
    except OSError:
        return False


def received(interface):
    """The time, and the bytes and packets that an interface has received."""
    before = time.monotonic_ns()
    with open("/proc/net/dev") as table:
        lines = table.read().splitlines()
    now = (before + time.monotonic_ns()) / 2e9
    for line in lines:
        name, _, counters = line.partition(":")
        if name.strip() == interface:
            counters = counters.split()
            return now, int(counters[0]), int(counters[1])
    raise SystemExit(f"there is no interface {interface}")


class Switch:
    """A switch that forwards from port 1 to port 2, and a sender at port 1."""

    def __init__(self, planimeter, queues, length, rate):
        arguments = [planimeter, "switch", "-i", "1@in", "-i", "2@out", "--p4", PROGRAM]
        arguments += ["--path", "compiled", "--grpc-server-addr", "127.0.0.1:0"]
        for queue in queues:
            arguments += ["--queue", queue]
        self.output = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(arguments, stdout=self.output, stderr=self.output)
        deadline = time.monotonic() + 30
        while "listening" not in self.text():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"the switch did not start:\n{self.text()}")
            time.sleep(0.05)
        self.stop = multiprocessing.Event()
        self.sent = multiprocessing.Value("Q", 0)
        arguments = ("sender", length, rate, self.sent, self.stop)
        self.sender = multiprocessing.Process(target=send, args=arguments, daemon=True)
        self.sender.start()

    def text(self):
        self.output.seek(0)
        return self.output.read()

    def end(self):
        """Ends both, and returns what the switch says of its queues."""
        self.stop.set()
        self.sender.join(2)
        self.sender.kill()
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
        return [line for line in self.text().splitlines() if "paced" in line]


def windows(interface, seconds, count):
    """Bytes and packets per second in a number of windows."""
    readings = [received(interface)]
    for _ in range(count):
        time.sleep(seconds)
        readings.append(received(interface))
    pairs = list(zip(readings, readings[1:]))
    return [((b[1] - a[1]) / (b[0] - a[0]), (b[2] - a[2]) / (b[0] - a[0])) for a, b in pairs]


def rates(planimeter, options):
    """Measures each rate. Returns the largest error of a mean in percent, or None if the sender was
    too slow for one, so that it says nothing."""
    columns = ["set", "frame", "offered", "mean", "its error", "largest error", "99 % late"]
    print("| " + " | ".join(columns) + " |")
    print("| --- " * len(columns) + "|")
    worst, complete = 0.0, True
    for name, rate in RATES:
        length = 1514 if rate > 1e6 else 250
        offered = 1.5 * rate / 8 / length
        switch = Switch(planimeter, [f"port=2 rate={name} depth=1000"], length, offered)
        time.sleep(options.warm_up)
        before, start = switch.sent.value, time.monotonic()
        found = [8 * bytes_ for bytes_, _ in windows("sink", options.window, options.windows)]
        offered = 8 * length * (switch.sent.value - before) / (time.monotonic() - start)
        lines = switch.end()
        errors = [100 * (one / rate - 1) for one in found]
        mean = statistics.mean(errors)
        largest = max(errors, key=abs)
        complete = complete and offered > 1.05 * rate
        worst = max(worst, abs(mean))
        late = lines[0].split("within ")[1].split(",")[0] if lines else "?"
        measured = statistics.mean(found) / 1e6
        print(f"| {name} | {length} B | {offered / 1e6:.2f} Mbit/s | {measured:.4f} Mbit/s "
              f"| {mean:+.3f} % | {largest:+.3f} % | {late} |")
        sys.stdout.flush()
    return worst if complete else None


def throughput(planimeter, options):
    kinds = {"no queues": [], "one queue per port": ["port=1 depth=1000", "port=2 depth=1000"]}
    found = {kind: [] for kind in kinds}
    offered = []
    for _ in range(options.rounds):
        for kind, queues in kinds.items():
            switch = Switch(planimeter, queues, 60, 0)
            time.sleep(options.warm_up)
            before, start = switch.sent.value, time.monotonic()
            (_, packets), = windows("sink", options.window, 1)
            offered.append((switch.sent.value - before) / (time.monotonic() - start))
            switch.end()
            found[kind].append(packets)
    print("\n| 60-byte frames | packets/s, median | all rounds |")
    print("| --- | --- | --- |")
    for kind, all_ in found.items():
        spread = f"{min(all_) / 1e3:.0f} to {max(all_) / 1e3:.0f} k"
        print(f"| {kind} | {statistics.median(all_) / 1e3:.0f} k | {spread} |")
    pairs = [b / a for a, b in zip(*found.values())]
    print(f"\nWith queues, {100 * statistics.median(pairs):.0f} % of that without "
          f"({100 * min(pairs):.0f} to {100 * max(pairs):.0f} % in {len(pairs)} rounds); "
          f"{min(offered) / 1e3:.0f} to {max(offered) / 1e3:.0f} k packets/s were offered.")
    return statistics.median(pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("planimeter", help="the command, built with --release")
    parser.add_argument("--window", type=float, default=1.0, help="seconds of a window [1]")
    parser.add_argument("--windows", type=int, default=5, help="windows for each rate [5]")
    parser.add_argument("--warm-up", type=float, default=2.0, help="seconds before a window [2]")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of the second table [5]")
    options = parser.parse_args()
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        raise SystemExit("a network namespace of its own takes root")
    for command in [
        "link set lo up",
        "link add sender type veth peer name in",
        "link add sink type veth peer name out",
        *[f"link set {name} mtu 1500 up" for name in ("sender", "in", "sink", "out")],
    ]:
        subprocess.run(["ip", *command.split()], check=True)
    for name in ("sender", "in", "sink", "out"):
        # The kernel's own packets would be counted.
        path = f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6"
        if os.path.exists(path):
            with open(path, "w") as setting:
                setting.write("1")
    print(f"load average {os.getloadavg()[0]:.1f} of {os.cpu_count()} cores before\n")
    worst = rates(options.planimeter, options)
    share = throughput(options.planimeter, options)
    print(f"load average {os.getloadavg()[0]:.1f} after")
    if worst is None:
        raise SystemExit("the sender was too slow for a rate: use a machine that is less busy")
    print(f"\nlargest error of a mean {worst:.3f} % (goal: within 2 %), "
          f"throughput with queues {100 * share:.0f} % (goal: at least 50 %)")
    sys.exit(0 if worst <= 2 and share >= 0.5 else 1)


if __name__ == "__main__":
    main()
