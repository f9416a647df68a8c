"""Emulated switches for tests of controllers: OpenFlow and P4Runtime.

The fixture ``emulated_switches`` of the pytest plugin makes them.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Mapping, NamedTuple, Optional, Union

from planimeter import _native
from planimeter.entries import Entry, Match
from planimeter.errors import ExpectationError
from planimeter.packets import Packet, PacketIn, PacketLike, Sent
from planimeter.switch import Switch

if TYPE_CHECKING:
    import os

    from planimeter.program import Program

__all__ = ["Answer", "OpenFlowSwitch", "P4RuntimeSwitch"]

#: The time between two looks at a switch in process, in seconds.
_LOOK_S = 0.001


class Answer(NamedTuple):
    """A packet that a controller sent out of a port of an emulated switch."""

    data: bytes
    """The bytes of the packet."""
    port: int
    """The port by which it left."""
    latency_s: Optional[float]
    """The time since the last packet-in, in seconds, or None if there was none."""


class P4RuntimeSwitch:
    """An emulated P4Runtime switch, to whose address a controller connects.

    Parameters
    ----------
    program : Program or path
        The program that the switch runs.
    **options
        The options of `planimeter.Switch`.

    Attributes
    ----------
    switch : Switch
        The switch in process, whose tables the controller fills.
    address : str
        The address of its P4Runtime server; the device id is 1.
    """

    switch: Switch
    address: str

    def __init__(
        self, program: Union[Program, str, os.PathLike[str]], /, **options: Any
    ) -> None:
        self.switch = Switch(program, **options)
        self._server = self.switch.serve()
        self.address = self._server.address
        self._asked: Optional[float] = None
        self._sent: deque[tuple[float, Packet]] = deque()

    def send(self, packet: PacketLike, /, port: int) -> list[Packet]:
        """Process a packet that arrives on a port, and return the packets that leave by ports."""
        return self.switch.send(packet, port)

    def packet_in(self, packet: PacketLike, /, port: int) -> None:
        """Process a packet that the program must send to the controller.

        Raises
        ------
        ExpectationError
            If the program does not.
        """
        self._take()
        asked = time.monotonic()
        self.switch.send(packet, port)
        if not self._take():
            raise ExpectationError(
                "the program did not send the packet to the controller", remedy="see switch.trace(packet, port)"
            )
        self._asked = asked

    def expect_packet_out(self, timeout_s: float = 1.0) -> Answer:
        """Return the next packet that a packet-out of the controller sends by a port.

        Its latency is measured in Python, and up to some milliseconds too long.

        Raises
        ------
        ExpectationError
            If there is none within the time, in seconds.
        """
        def has_sent() -> bool:
            self._take()
            return bool(self._sent)

        _until(has_sent, timeout_s)
        if not self._sent:
            raise ExpectationError(f"the controller sent no packet-out within {timeout_s:g} s")
        at, packet = self._sent.popleft()
        return Answer(packet.data, packet.port, None if self._asked is None else at - self._asked)

    def expect_entry(
        self, table: str, match: Optional[Mapping[str, Match]] = None, *, timeout_s: float = 1.0
    ) -> Entry:
        """Return an entry that the controller has inserted, or inserts within the time.

        Parameters
        ----------
        table : str
            The name of the table.
        match : mapping of str to Match, optional
            Fields that the entry must have, as `SwitchTable.entries` returns them.
        timeout_s : float, optional
            The time to wait, in seconds.

        Raises
        ------
        ExpectationError
            If there is no such entry.
        """
        wanted = dict(match or {})

        def found() -> Optional[Entry]:
            for entry in self.switch.table(table).entries():
                fields = entry.match or {}
                if all(fields.get(name) == value for name, value in wanted.items()):
                    return entry
            return None

        _until(lambda: found() is not None, timeout_s)
        entry = found()
        if entry is None:
            which = f" with {wanted}" if wanted else ""
            raise ExpectationError(
                f"the controller inserted no entry{which} within {timeout_s:g} s", where=f"table {table}"
            )
        return entry

    def close(self) -> None:
        """Disconnect the controller."""
        self._server.stop()

    def _take(self) -> bool:
        """Take the events of the switch, and return whether there was a packet-in."""
        now, was_asked = time.monotonic(), False
        for event in self.switch.take_events():
            was_asked |= isinstance(event, PacketIn)
            if isinstance(event, Sent):
                self._sent.append((now, event.packet))
        return was_asked


class OpenFlowSwitch:
    """An emulated OpenFlow switch, which connects to a controller.

    Parameters
    ----------
    controller : str
        The address of the controller, such as ``127.0.0.1:6653``.
    version : {"1.3", "1.0"}, optional
        The version of OpenFlow that it speaks.
    datapath_id : int, optional
        The datapath id by which the controller identifies it.
    ports : int, optional
        The number of ports, which are counted from 1.

    Raises
    ------
    UnreachableError
        If the controller cannot be reached. Later calls raise it if the session ended.
    """

    def __init__(
        self, controller: str, /, *, version: str = "1.3", datapath_id: int = 1, ports: int = 4
    ) -> None:
        self._native = _native.OpenFlowSwitch(controller, version, datapath_id, ports)
        self._asked: Optional[float] = None
        self.datapath_id = datapath_id

    def expect_ready(self, timeout_s: float = 5.0) -> None:
        """Wait until the controller has finished the handshake.

        Raises
        ------
        ExpectationError
            If it has not within the time, in seconds.
        """
        if not self._native.wait_ready(timeout_s):
            raise ExpectationError(f"the controller did not finish the handshake within {timeout_s:g} s")

    def send(self, packet: PacketLike, /, port: int) -> list[Packet]:
        """Pass a packet through the flow tables, and return the packets that leave by ports."""
        _, _, left = self._native.process(packet, port)
        return [Packet(data, to) for to, data in left]

    def packet_in(self, packet: PacketLike, /, port: int) -> None:
        """Pass a packet through the flow tables, which must send it to the controller.

        Raises
        ------
        ExpectationError
            If they do not. OpenFlow 1.3 drops packets until the controller has installed an entry
            that sends them to it.
        """
        at, fate, _ = self._native.process(packet, port)
        if fate != "controller":
            raise ExpectationError(
                f"the packet was {fate} and not sent to the controller",
                remedy="expect_flows() waits for the entry that sends packets to the controller",
            )
        self._asked = at

    def expect_packet_out(self, timeout_s: float = 1.0) -> Answer:
        """Return the next packet that a packet-out of the controller sends by a port.

        Raises
        ------
        ExpectationError
            If there is none within the time, in seconds.
        """
        found = self._native.wait_sent(timeout_s)
        if found is None:
            raise ExpectationError(f"the controller sent no packet-out within {timeout_s:g} s")
        at, port, data = found
        return Answer(data, port, None if self._asked is None else at - self._asked)

    def expect_flows(self, least: int = 1, *, timeout_s: float = 1.0) -> int:
        """Wait until the flow tables have some entries, and return their number.

        `send` shows what they do with a packet.

        Raises
        ------
        ExpectationError
            If there are fewer within the time, in seconds.
        """
        found = self._native.wait_entries(least, timeout_s)
        if found < least:
            raise ExpectationError(
                f"the controller installed {found} entries, and not {least}, within {timeout_s:g} s"
            )
        return found

    def close(self) -> None:
        """End the connection."""
        self._native.close()


def _until(holds: Callable[[], bool], timeout_s: float) -> None:
    """Wait until something holds, at most for a time."""
    end = time.monotonic() + timeout_s
    while not holds() and time.monotonic() < end:
        time.sleep(_LOOK_S)
