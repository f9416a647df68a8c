"""The real switch in a test: a process of its own, with ports on veth pairs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sysconfig
import time
from pathlib import Path
from typing import Optional, Sequence

from planimeter.errors import RefusedError, SystemFault, UnreachableError
from planimeter.packets import PacketLike

__all__ = ["VethSwitch", "missing"]

#: The time within which a switch starts or stops, in seconds.
_PATIENCE_S = 30.0
#: All protocols, as a packet socket is bound to them (linux/if_ether.h).
_ETH_P_ALL = 0x0003
#: The type of a packet that this host sent (linux/if_packet.h).
_PACKET_OUTGOING = 4


def _command() -> Optional[str]:
    named = os.environ.get("PLANIMETER_BINARY")
    beside = os.path.join(sysconfig.get_path("scripts"), "planimeter")
    return named or (beside if os.path.exists(beside) else shutil.which("planimeter"))


def missing() -> Optional[str]:
    """Return what is missing for a switch on veth pairs, or ``None`` if nothing is."""
    if os.geteuid() != 0:
        return "root, to make veth pairs"
    if shutil.which("ip") is None:
        return "the command ip, of iproute2"
    if _command() is None:
        return "the command planimeter, or its path in the variable PLANIMETER_BINARY"
    return None


class VethSwitch:
    """A running ``planimeter switch`` with ports 1, 2, ... on veth pairs.

    The pairs are made in the present network namespace, and removed when the switch stops.

    Parameters
    ----------
    program : path
        The program that the switch runs.
    ports : int
        The number of ports.
    arguments : sequence of str, optional
        Further arguments of the command, such as ``"--path", "compiled"``.
    directory : Path, optional
        Where the log of the switch goes.

    Attributes
    ----------
    address : str
        The address at which the switch serves P4Runtime (device id 1).
    """

    address: str

    def __init__(
        self,
        program: Path,
        ports: int,
        arguments: Sequence[str] = (),
        directory: Path = Path("."),
    ) -> None:
        command = _command()
        if command is None:
            raise RefusedError("there is no command planimeter", None, "pip install planimeter")
        self._command = command
        self._sockets: dict[int, socket.socket] = {}
        self._process: Optional[subprocess.Popen[str]] = None
        self._far = {port: f"pl{os.getpid() % 100_000}h{port}" for port in range(1, ports + 1)}
        self._log = directory / "switch.log"
        try:
            interfaces = []
            for port, far in self._far.items():
                near = far.replace("h", "s")
                _ip("link", "add", near, "type", "veth", "peer", "name", far)
                for name in (near, far):
                    # The kernel would otherwise send packets of its own.
                    _ip("link", "set", "dev", name, "addrgenmode", "none")
                    _ip("link", "set", "dev", name, "up")
                interfaces += ["-i", f"{port}@{near}"]
                opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
                opened.bind((far, 0))
                self._sockets[port] = opened
            call = [command, "switch", *interfaces, "--grpc-server-addr", "127.0.0.1:0"]
            call += ["--device-id", "1", "--p4", os.fspath(program), *arguments]
            with open(self._log, "w") as log:
                self._process = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=log, text=True)
            self.address = self._started()
        except BaseException:
            self.stop()
            raise

    def _started(self) -> str:
        process = self._process
        assert process is not None and process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"127\.0\.0\.1:\d+", line)
        if found is None:
            log = self._log.read_text().strip()
            raise UnreachableError(f"the switch did not start: {log or line}", os.fspath(self._log))
        return found.group()

    def send(self, packet: PacketLike, /, port: int) -> None:
        """Send a packet into a port."""
        self._sockets[port].send(bytes(packet))

    def receive(self, port: int, *, timeout_s: float = 5.0) -> Optional[bytes]:
        """Return the next packet that leaves by a port, or ``None`` if none does in time."""
        opened, ends = self._sockets[port], time.monotonic() + timeout_s
        while (left := ends - time.monotonic()) > 0:
            opened.settimeout(left)
            try:
                packet, address = opened.recvfrom(1 << 16)
            except socket.timeout:
                break
            if address[2] != _PACKET_OUTGOING:
                return packet
        return None

    def control(self, line: str) -> str:
        """Run a line of ``planimeter ctl``, such as ``"table add ..."``, and return what it prints."""
        call = [self._command, "ctl", "--device-id", "1", self.address, *shlex.split(line)]
        done = subprocess.run(call, capture_output=True, text=True, timeout=_PATIENCE_S)
        if done.returncode != 0:
            raise RefusedError(done.stderr.strip(), line)
        return done.stdout

    def stop(self) -> None:
        """Stop the switch, and remove its ports."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(_PATIENCE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
            self._process = None
        for opened in self._sockets.values():
            opened.close()
        self._sockets.clear()
        for far in self._far.values():
            subprocess.run(["ip", "link", "del", far], capture_output=True)
        self._far.clear()


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemFault(done.stderr.strip(), f"ip {' '.join(words)}")
