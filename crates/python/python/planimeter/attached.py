"""Devices that run already, behind a P4Runtime server: any switch, of Planimeter or not."""

from __future__ import annotations

from types import TracebackType
from typing import Optional, Union

from planimeter import _native
from planimeter.entries import Value
from planimeter.packets import Event, PacketLike
from planimeter.program import Program
from planimeter.switch import Controlled, event_of

__all__ = ["Device", "attach"]


class Device(Controlled):
    """A device behind a P4Runtime server. `attach` returns one; leaving its ``with`` detaches it.

    It has the tables, arrays and groups of a `planimeter.Switch`, with the same names and values.
    Several entries at once (``insert_many``) need a device that can undo them.

    Attributes
    ----------
    address : str
        The address of the server.
    """

    address: str

    def __init__(self, native: _native.Switch, address: str) -> None:
        self._native = native
        self.address = address

    def packet_out(self, packet: PacketLike, /, **fields: Value) -> None:
        """Send a packet-out.

        Parameters
        ----------
        packet : PacketLike
            The packet behind the controller header.
        **fields : Value
            The fields of the program's header ``packet_out``. Those left out are zero.
        """
        self._native.send_packet_out(packet, fields)

    def wait_event(self, timeout_s: float = 1.0) -> Optional[Event]:
        """Return the next packet-in, digest or idle entry.

        Parameters
        ----------
        timeout_s : float, optional
            The time to wait for it, in seconds.

        Returns
        -------
        Event or None
            `planimeter.PacketIn`, `planimeter.Digest`, `planimeter.IdleEntry`, or
            `planimeter.packets.Failed` if the device refused something that was sent. ``None`` if
            nothing arrived in time.

        Raises
        ------
        UnreachableError
            If the connection has ended.
        """
        found = self._native.wait_event(timeout_s)
        return None if found is None else event_of(*found)

    def take_events(self) -> list[Event]:
        """Return the events that have arrived and were not returned yet, the oldest first."""
        events: list[Event] = []
        while (event := self.wait_event(0.0)) is not None:
            events.append(event)
        return events

    def close(self) -> None:
        """End the connection. Another controller may then become primary."""
        self._native.close()

    def __enter__(self) -> Device:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Device at {self.address}>"


def attach(
    address: str,
    /,
    *,
    device_id: int = 1,
    role: str = "",
    election_id: Optional[int] = None,
    timeout_s: float = 5.0,
    p4info: Union[Program, bytes, None] = None,
) -> Device:
    """Connect to a device, and become its primary controller.

    Parameters
    ----------
    address : str
        The address of its P4Runtime server, such as ``127.0.0.1:9559``.
    device_id : int, optional
        The id of the device.
    role : str, optional
        The name of the controller's role; the default role without it.
    election_id : int, optional
        The election id, of at most 128 bits. By default the smallest with which no other controller
        is displaced.
    timeout_s : float, optional
        The time within which the device must answer, in seconds.
    p4info : Program or bytes, optional
        The P4Info, for a device that does not return it.

    Returns
    -------
    Device
        The device.

    Raises
    ------
    UnreachableError
        If no server answers.
    RefusedError
        If another controller is primary, or the device runs no program.

    Examples
    --------
    >>> switch = Switch("programs/router.p4")
    >>> with switch.serve() as server, attach(server.address) as device:
    ...     device.table("routes").insert({"destination": "10.0.0.0/8"}, Action("drop"))
    ...     len(switch.table("routes"))
    1
    """
    given = p4info.p4info if isinstance(p4info, Program) else p4info
    native = _native.Switch.attach(address, device_id, role, election_id, timeout_s, given)
    return Device(native, address)
