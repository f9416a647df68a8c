"""Table entries, their actions, and the values of counters and meters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Sequence, Tuple, Union

__all__ = [
    "Action",
    "CounterValue",
    "Entry",
    "Group",
    "Match",
    "Member",
    "MeterConfig",
    "OneShot",
    "TableAction",
    "Value",
]

#: A plain value: a number, a truth value, an address or a number as text, or big-endian bytes.
Value = Union[int, bool, str, bytes]
#: A match of one field: a value, or a value and its mask or prefix length, or the ends of a range.
Match = Union[Value, Tuple[Value, Value], None]


class Action:
    """A call of an action.

    Parameters
    ----------
    name : str
        The name of the action, which may be cut in front at a dot.
    **arguments : Value
        The arguments by parameter.

    Examples
    --------
    >>> Action("via", next_hop="192.168.0.2", port=2)
    Action('via', next_hop='192.168.0.2', port=2)
    """

    __slots__ = ("name", "arguments")

    name: str
    arguments: dict[str, Value]

    def __init__(self, name: str, /, **arguments: Value) -> None:
        self.name = name
        self.arguments = arguments

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Action):
            return NotImplemented
        return (self.name, self.arguments) == (other.name, other.arguments)

    def __hash__(self) -> int:
        return hash((self.name, tuple(sorted(self.arguments.items(), key=lambda one: one[0]))))

    def __repr__(self) -> str:
        return f"Action({', '.join([repr(self.name), *(f'{k}={v!r}' for k, v in self.arguments.items())])})"


@dataclass(frozen=True)
class Member:
    """The action of a member of the table's action profile."""

    member: int


@dataclass(frozen=True)
class Group:
    """The action of a member that the action selector chooses from a group."""

    group: int


@dataclass(frozen=True)
class OneShot:
    """Actions in the entry itself, from which the action selector chooses by weight."""

    choices: Sequence[tuple[Action, int]]


TableAction = Union[Action, Member, Group, OneShot]


@dataclass(frozen=True)
class CounterValue:
    """The value of a counter. A counter of packets alone has no bytes, and the other way round."""

    packets: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class MeterConfig:
    """The configuration of a meter, in bytes or packets as the program declares it.

    Rates are per second, bursts are amounts (RFC 2697 and RFC 2698).
    """

    committed_rate: int
    committed_burst: int
    peak_rate: int
    peak_burst: int
    excess_burst: int = 0


@dataclass(frozen=True)
class Entry:
    """An entry of a table.

    Attributes
    ----------
    match : mapping of str to Match, or None
        The matches by field; a field that is left out matches everything. ``None`` in the default
        entry.
    action : TableAction, optional
        What the entry does with a packet.
    priority : int
        The largest priority wins, in tables with ternary, range or optional fields.
    idle_timeout_s : float
        The time without a packet after which the entry is reported, in seconds; 0 for never.
    counter, meter
        The direct counter and the direct meter, if the table has them.
    metadata, controller_metadata
        What the controller stored with the entry.
    is_const : bool
        Whether the entry cannot be changed. Only read.
    since_hit_s : float, optional
        The seconds since the last packet, in tables with idle timeouts. Only read.
    """

    match: Optional[Mapping[str, Match]]
    action: Optional[TableAction] = None
    priority: int = 0
    idle_timeout_s: float = 0.0
    counter: Optional[CounterValue] = None
    meter: Optional[MeterConfig] = None
    metadata: bytes = b""
    controller_metadata: int = 0
    is_const: bool = field(default=False, compare=False)
    since_hit_s: Optional[float] = field(default=None, compare=False)


def action_of(shown: Optional[tuple[str, Any]]) -> Optional[TableAction]:
    """Return the action that the native module describes."""
    if shown is None:
        return None
    kind, what = shown
    if kind == "call":
        return call_of(what)
    if kind == "member":
        return Member(what)
    if kind == "group":
        return Group(what)
    return OneShot(tuple((call_of(call), weight) for call, weight in what))


def call_of(shown: tuple[str, dict[str, Value]]) -> Action:
    """Return the call that the native module describes."""
    name, arguments = shown
    action = Action(name)
    action.arguments = arguments
    return action


def entry_of(shown: dict[str, Any]) -> Entry:
    """Return the entry that the native module describes."""
    counter, meter = shown["counter"], shown["meter"]
    return Entry(
        **{
            **shown,
            "action": action_of(shown["action"]),
            "counter": None if counter is None else CounterValue(*counter),
            "meter": None if meter is None else MeterConfig(*meter),
        }
    )
