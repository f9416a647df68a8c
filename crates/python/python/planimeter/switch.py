"""P4 switches in process: no root, no threads, and time that passes when it is told to."""

from __future__ import annotations

import os
from types import TracebackType
from typing import TYPE_CHECKING, Any, Iterable, Literal, Mapping, Optional, Sequence, Union

from planimeter import _native
from planimeter import program as _program
from planimeter.arrays import Counter, Meter, Register
from planimeter.entries import Action, CounterValue, Entry, Match, MeterConfig, TableAction
from planimeter.entries import Value, call_of, entry_of
from planimeter.packets import Digest, Event, Failed, IdleEntry, Packet, PacketIn, PacketLike
from planimeter.packets import Packets, Sent, Trace

if TYPE_CHECKING:
    from planimeter._native import Switch as _NativeSwitch
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Controlled", "Profile", "Server", "Switch", "SwitchTable", "ValueSet"]

#: A replica of a multicast group or clone session: a port, or a port and an instance.
Replica = Union[int, "tuple[int, int]"]


def _replicas(given: Iterable[Replica]) -> list[tuple[int, int]]:
    """Number the replicas of a port that have no instance, since they must differ."""
    found: list[tuple[int, int]] = []
    for one in given:
        found.append(one if isinstance(one, tuple) else (one, 1))
    return found


class SwitchTable:
    """A table of a switch. `Switch.table` returns one."""

    def __init__(self, native: _native.Switch, name: str) -> None:
        self._native = native
        self.name = name

    def __repr__(self) -> str:
        return f"<table {self.name}>"

    def insert(
        self,
        match: Mapping[str, Match],
        action: TableAction,
        *,
        priority: int = 0,
        idle_timeout_s: float = 0.0,
        counter: Optional[CounterValue] = None,
        meter: Optional[MeterConfig] = None,
        metadata: bytes = b"",
        controller_metadata: int = 0,
    ) -> None:
        """Insert an entry that must not exist.

        Parameters
        ----------
        match : mapping of str to Match
            Values by field: ``"10.0.0.0/8"``, ``5``, ``"00:00:00:00:00:b2"``, ``(value, mask)``,
            ``(low, high)``. A field that is left out matches everything, unless it is exact.
        action : TableAction
            An `Action`, or a `Member`, `Group` or `OneShot` of the table's action profile.
        priority : int, optional
            The largest priority wins. Tables with ternary, range or optional fields need one.
        idle_timeout_s : float, optional
            The time without a packet after which the entry is an event, in seconds.
        counter, meter, metadata, controller_metadata
            The other parts of an `Entry`.

        Raises
        ------
        NotFoundError
            If a field, action or parameter has another name.
        InputError
            If a value does not fit.
        RefusedError
            If the entry exists already, or the table takes no entries.
        LimitError
            If the table is full.
        """
        self._write(
            "insert",
            [
                Entry(
                    dict(match),
                    action,
                    priority,
                    idle_timeout_s,
                    counter,
                    meter,
                    metadata,
                    controller_metadata,
                )
            ],
        )

    def insert_many(self, entries: Iterable[Union[Entry, tuple[Mapping[str, Match], TableAction]]]) -> None:
        """Insert entries, all or none.

        Parameters
        ----------
        entries : iterable of Entry, or of pairs of match and action

        Raises
        ------
        PlanimeterError
            As `insert`. The error's ``where`` has the position of the entry.
        """
        self._write(
            "insert",
            [
                one if isinstance(one, Entry) else Entry(dict(one[0]), one[1])
                for one in entries
            ],
        )

    def modify(
        self,
        match: Mapping[str, Match],
        action: Optional[TableAction] = None,
        *,
        priority: int = 0,
        idle_timeout_s: float = 0.0,
        counter: Optional[CounterValue] = None,
        meter: Optional[MeterConfig] = None,
    ) -> None:
        """Modify an entry that must exist. Without an action, the entry keeps its action."""
        entry = Entry(dict(match), action, priority, idle_timeout_s, counter, meter)
        self._write("modify", [entry])

    def delete(self, match: Mapping[str, Match], *, priority: int = 0) -> None:
        """Delete an entry that must exist."""
        self._write("delete", [Entry(dict(match), None, priority)])

    def clear(self) -> None:
        """Delete all entries that are not constant. The default entry stays."""
        self._write("delete", [one for one in self.entries() if not one.is_const])

    def entries(self) -> list[Entry]:
        """Return the entries of the table, without the default entry.

        Values are numbers, or text for addresses and strings: 48 bits are an Ethernet address, 128
        bits an IPv6 address, and 32 bits an IPv4 address if the field is matched by prefix, has a
        name such as ``source``, or has the annotation ``@format(IPV4_ADDRESS)``.
        """
        return [entry_of(one) for one in self._native.read_entries(self.name, False)]

    @property
    def default_entry(self) -> Optional[Entry]:
        """The entry of packets that match no other, or ``None`` if the table has none."""
        found = self._native.read_entries(self.name, True)
        return entry_of(found[0]) if found else None

    def set_default(self, action: Optional[TableAction]) -> None:
        """Set the default action. ``None`` restores that of the program."""
        self._write("modify", [Entry(None, action)])

    def __len__(self) -> int:
        return len(self._native.read_entries(self.name, False))

    def _write(self, kind: str, entries: list[Entry]) -> None:
        self._native.write_entries(kind, self.name, entries)


class Profile:
    """An action profile or action selector of a switch. `Switch.profile` returns one."""

    def __init__(self, native: _native.Switch, name: str) -> None:
        self._native = native
        self.name = name

    def insert_member(self, member: int, action: Action) -> None:
        """Insert a member with a number."""
        self._native.write_member("insert", self.name, member, action)

    def modify_member(self, member: int, action: Action) -> None:
        """Change the action of a member."""
        self._native.write_member("modify", self.name, member, action)

    def delete_member(self, member: int) -> None:
        """Delete a member, which no group and no entry may use."""
        self._native.write_member("delete", self.name, member, None)

    def insert_group(self, group: int, members: Mapping[int, int]) -> None:
        """Insert a group of an action selector: the weight of each member by its number."""
        self._native.write_group("insert", self.name, group, list(members.items()))

    def modify_group(self, group: int, members: Mapping[int, int]) -> None:
        """Replace the members of a group."""
        self._native.write_group("modify", self.name, group, list(members.items()))

    def delete_group(self, group: int) -> None:
        """Delete a group, which no entry may use."""
        self._native.write_group("delete", self.name, group, [])

    @property
    def members(self) -> dict[int, Optional[Action]]:
        """The action of each member, by its number."""
        found = self._native.read_members(self.name)
        return {member: None if call is None else call_of(call) for member, call in found}

    @property
    def groups(self) -> dict[int, dict[int, int]]:
        """The weights of each group's members, by number."""
        return {group: dict(members) for group, members in self._native.read_groups(self.name)}


class ValueSet:
    """A value set of a parser. `Switch.value_set` returns one."""

    def __init__(self, native: _native.Switch, name: str) -> None:
        self._native = native
        self.name = name

    @property
    def members(self) -> list[dict[str, Match]]:
        """The members, each by its fields."""
        return self._native.read_value_set(self.name)

    @members.setter
    def members(self, members: Sequence[Mapping[str, Match]]) -> None:
        self._native.write_value_set(self.name, [dict(one) for one in members])


class Server:
    """A P4Runtime server of a switch. `Switch.serve` returns one; leaving its ``with`` stops it.

    Attributes
    ----------
    address : str
        The address at which it listens, such as ``"127.0.0.1:40123"``.
    """

    address: str

    def __init__(self, native: _native.Server) -> None:
        self._native = native
        self.address = native.address

    @property
    def port(self) -> int:
        """The TCP port at which it listens."""
        return int(self.address.rpartition(":")[2])

    def stop(self) -> None:
        """Disconnect all controllers. A server that is stopped stays stopped."""
        self._native.stop()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "at" if self._native.is_running else "stopped, was at"
        return f"<P4Runtime server {state} {self.address}>"


class Controlled:
    """The tables, arrays and groups of a program, which are read and written by name.

    `Switch` and `planimeter.attached.Device` have them.
    """

    _native: _NativeSwitch

    @property
    def names(self) -> dict[str, list[str]]:
        """The names of tables, counters, meters, registers, ... of the program, by kind."""
        return self._native.names()

    def table(self, name: str) -> SwitchTable:
        """Return a table by its name."""
        return SwitchTable(self._native, self._native.table_name(name))

    def counter(self, name: str) -> Counter:
        """Return a counter array by its name. Direct counters are in the entries of their table."""
        return Counter(self._native, name)

    def meter(self, name: str) -> Meter:
        """Return a meter array by its name. Direct meters are in the entries of their table."""
        return Meter(self._native, name)

    def register(self, name: str) -> Register:
        """Return a register array by its name."""
        return Register(self._native, name)

    def profile(self, name: str) -> Profile:
        """Return an action profile or action selector by its name."""
        return Profile(self._native, self._native.profile_name(name))

    def value_set(self, name: str) -> ValueSet:
        """Return a value set of a parser by its name."""
        self._native.read_value_set(name)
        return ValueSet(self._native, name)

    def enable_digest(self, name: str, enabled: bool = True) -> None:
        """Enable a digest, whose messages are events from now on, or disable it.

        As in P4Runtime, a digest that is not enabled is not sent.
        """
        self._native.enable_digest(self._native.digest_name(name), enabled)

    def set_multicast_group(self, group: int, ports: Iterable[Replica]) -> None:
        """Set the replicas of a multicast group. Without any, the group is deleted."""
        known = dict(self._native.read_multicast_groups())
        kind = _kind(group in known, replicas := _replicas(ports))
        if kind is not None:
            self._native.write_multicast_group(kind, group, replicas)

    @property
    def multicast_groups(self) -> dict[int, list[tuple[int, int]]]:
        """The replicas of each multicast group, as pairs of port and instance."""
        return dict(self._native.read_multicast_groups())

    def set_clone_session(self, session: int, ports: Iterable[Replica], *, length: int = 0) -> None:
        """Set the replicas of a clone session. Without any, the session is deleted.

        Copies are cut to ``length`` bytes; 0 leaves them whole.
        """
        known = dict(self._native.read_clone_sessions())
        kind = _kind(session in known, replicas := _replicas(ports))
        if kind is not None:
            self._native.write_clone_session(kind, session, replicas, length)

    @property
    def clone_sessions(self) -> dict[int, list[tuple[int, int]]]:
        """The replicas of each clone session, as pairs of port and instance."""
        return dict(self._native.read_clone_sessions())


class Switch(Controlled):
    """A P4 switch in process.

    A packet goes in by a port, and the packets that leave are returned. Time begins at 0 and passes
    only by `advance`. Table entries, groups, counters, meters and registers are named as in the
    program; a name may be cut in front at a dot.

    Parameters
    ----------
    program : Program or path
        A compiled program, or a file to compile.
    path : {"compiled", "interpreter"}, optional
        Machine code, or the reference interpreter. A program that machine code cannot run is an
        error, which says where.
    seed : int, optional
        The number from which random numbers start.
    cpu_port : int, optional
        The port that stands for the controller: packets to it become `PacketIn` events.

    Raises
    ------
    ProgramError
        If the program has errors, or cannot run on the path.

    Examples
    --------
    >>> switch = Switch("programs/router.p4")
    >>> switch.table("routes").insert(
    ...     {"destination": "10.0.0.0/8"}, Action("via", next_hop="192.168.0.2", port=2))
    >>> len(switch.table("routes"))
    1
    """

    program: _program.Program

    def __init__(
        self,
        program: Union[_program.Program, str, "os.PathLike[str]"],
        /,
        *,
        path: Literal["compiled", "interpreter"] = "compiled",
        seed: int = 0,
        cpu_port: int = 255,
    ) -> None:
        if not isinstance(program, _program.Program):
            program = _program.compile(program)
        self.program = program
        self._native = _native.Switch(program._native, path, seed, cpu_port)

    def __repr__(self) -> str:
        return f"<Switch of {self.program.path}>"

    # Packets

    def send(self, packet: PacketLike, /, port: int) -> list[Packet]:
        """Process a packet that arrives on a port.

        Parameters
        ----------
        packet : PacketLike
            ``bytes``, or an object that becomes ``bytes``, such as a packet of scapy.
        port : int

        Returns
        -------
        list of Packet
            The packets that leave by ports. Packets to the controller are events instead.

        Raises
        ------
        ProgramError
            If an assertion of the program fails, or the packet exceeds a limit.
        """
        return [Packet(data, to) for to, data in self._native.process(packet, port)]

    def send_batch(
        self,
        packets: Union[Packets, Sequence[PacketLike]],
        /,
        port: Union[int, Sequence[int], NDArray[np.uint32]],
    ) -> Packets:
        """Process packets in order, all at the present time.

        Parameters
        ----------
        packets : Packets or sequence of PacketLike
        port : int, or array of int, shape (n,)
            The port on which all packets arrive, or each.

        Returns
        -------
        Packets
            The packets that leave by ports, in order. ``sources`` has the position of the cause of
            each, and ``errors`` the packets with which the program failed.
        """
        import numpy as np

        ports: Optional[NDArray[np.uint32]] = None
        number = 0
        if isinstance(port, int):
            number = port
        else:
            ports = np.ascontiguousarray(port, dtype=np.uint32)
        if isinstance(packets, Packets):
            arrays, errors = self._native.process_arrays(
                packets.data, packets.offsets, number, ports
            )
        else:
            each = packets if isinstance(packets, list) else list(packets)
            listed = None if ports is None else ports.tolist()
            arrays, errors = self._native.process_list(each, number, listed)
        left = Packets.of_arrays(*arrays)
        left.errors = dict(errors)
        return left

    def trace(
        self,
        packet: PacketLike,
        /,
        port: int,
        *,
        effects: bool = True,
        detail: Literal["passes", "steps", "values"] = "values",
        outcomes: Optional[int] = None,
    ) -> Trace:
        """Process a packet in the interpreter, and return what the program did with it.

        Parameters
        ----------
        packet, port
            As in `send`.
        effects : bool, optional
            Whether the packet changes counters, registers and entries, as any other does. If not,
            it is only tried.
        detail : {"passes", "steps", "values"}, optional
            How much is recorded.
        outcomes : int, optional
            Enumerate what every member of a group would do, up to this many outcomes.
        """
        outputs, error, short, long, as_json = self._native.trace(
            packet, port, effects, detail, outcomes
        )
        return Trace([Packet(data, to) for to, data in outputs], error, short, long, as_json)

    def packet_out(self, packet: PacketLike, /, **fields: Value) -> list[Packet]:
        """Process a packet-out, as from a controller.

        ``fields`` are those of the program's header ``packet_out``; those left out are zero.
        """
        return [Packet(data, to) for to, data in self._native.packet_out(packet, fields)]

    def take_events(self) -> list[Event]:
        """Return what the switch sent to its owner since the last call, the oldest first.

        At most 65,536 events are kept; `lost_events` counts those that were lost.
        """
        return [event_of(kind, what) for kind, what in self._native.take_events()]

    @property
    def lost_events(self) -> int:
        """The number of events that were lost because nobody took them."""
        return self._native.lost_events

    def set_port_up(self, port: int, up: bool) -> None:
        """Set whether a port is up, for groups whose members watch ports. All are up at first."""
        self._native.set_port_up(port, up)

    # Time

    @property
    def now_s(self) -> float:
        """The time since the switch was made, in seconds."""
        return self._native.now_s

    def advance(self, seconds: float) -> None:
        """Advance the time, which meters, timestamps and timeouts read.

        Raises
        ------
        RefusedError
            While the switch is served by the wall clock.
        """
        self._native.advance(seconds)

    # Controllers

    def serve(
        self, address: str = "127.0.0.1:0", *, clock: Literal["wall", "virtual"] = "wall"
    ) -> Server:
        """Serve P4Runtime, so that a controller drives the same switch (device id 1).

        Parameters
        ----------
        address : str, optional
            An IP address and a TCP port; port 0 selects a free one.
        clock : {"wall", "virtual"}, optional
            Whether time passes by itself while the switch is served, or only by `advance`.

        Returns
        -------
        Server

        Raises
        ------
        RefusedError
            If the switch is served already.
        SystemFault
            If the system refuses the address.

        Examples
        --------
        >>> switch = Switch("programs/router.p4")
        >>> with switch.serve() as server:
        ...     server.address.startswith("127.0.0.1:")
        True
        """
        return Server(self._native.serve(address, clock))


def _kind(is_known: bool, replicas: Sequence[object]) -> Optional[str]:
    if replicas:
        return "modify" if is_known else "insert"
    return "delete" if is_known else None


def event_of(kind: str, what: dict[str, Any]) -> Event:
    """Return the event that the native module describes."""
    if kind == "packet_in":
        return PacketIn(**what)
    if kind == "digest":
        return Digest(**what)
    if kind == "idle":
        return IdleEntry(what["table"], entry_of(what["entry"]))
    if kind == "sent":
        return Sent(Packet(what["data"], what["port"]))
    return Failed(**what)
