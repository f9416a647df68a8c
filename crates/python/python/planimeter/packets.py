"""Packets, batches of packets, traces, and what a switch sends to its owner."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Optional, Sequence, SupportsBytes, Union

from planimeter.entries import Entry, Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Digest",
    "Event",
    "Failed",
    "IdleEntry",
    "Packet",
    "PacketIn",
    "Packets",
    "Sent",
    "Trace",
]

#: A packet that goes in: ``bytes``, or an object that becomes ``bytes``, as scapy's packets do.
PacketLike = Union[bytes, bytearray, memoryview, SupportsBytes]


@dataclass(frozen=True)
class Packet:
    """A packet that left by a port."""

    data: bytes
    port: int

    def __bytes__(self) -> bytes:
        return self.data

    def __len__(self) -> int:
        return len(self.data)


@dataclass(frozen=True)
class PacketIn:
    """A packet that the program sent to the controller.

    ``metadata`` has the fields of the controller header, which ``data`` does not contain.
    """

    data: bytes
    metadata: Mapping[str, Value]

    def __bytes__(self) -> bytes:
        return self.data


@dataclass(frozen=True)
class Digest:
    """A digest that the program sent. Structs are tuples, in the order of their fields."""

    name: str
    data: Any


@dataclass(frozen=True)
class IdleEntry:
    """An entry that no packet hit for its idle timeout."""

    table: str
    entry: Entry


@dataclass(frozen=True)
class Sent:
    """A packet that left because a controller of the served switch sent a packet-out."""

    packet: Packet


@dataclass(frozen=True)
class Failed:
    """A packet that could not be processed or delivered, and the reason."""

    reason: str
    data: bytes = b""


Event = Union[PacketIn, Digest, IdleEntry, Sent, Failed]


class Packets(Sequence[Packet]):
    """Packets that lie one after the other in memory, in the layout of Arrow's large binary.

    Parameters
    ----------
    packets : sequence of PacketLike
        The packets.
    port : int or sequence of int, optional
        The port of all packets, or of each.

    Attributes
    ----------
    data : ndarray of uint8, shape (bytes,)
        The bytes of all packets.
    offsets : ndarray of int64, shape (n + 1,)
        Packet ``i`` is ``data[offsets[i]:offsets[i + 1]]``.
    ports : ndarray of uint32, shape (n,)
        The port of each packet.
    sources : ndarray of uint32, shape (n,)
        For packets that left: the position of the packet that caused each.
    errors : dict of int to str
        For packets that left: the positions of packets with which the program failed.
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    ports: NDArray[np.uint32]
    sources: NDArray[np.uint32]
    errors: dict[int, str]

    def __init__(
        self, packets: Sequence[PacketLike] = (), port: Union[int, Sequence[int]] = 0
    ) -> None:
        import numpy as np

        each = [bytes(packet) for packet in packets]
        self.data = np.frombuffer(b"".join(each), dtype=np.uint8)
        self.offsets = np.zeros(len(each) + 1, dtype=np.int64)
        np.cumsum([len(packet) for packet in each], out=self.offsets[1:])
        self.ports = np.broadcast_to(np.asarray(port, dtype=np.uint32), (len(each),)).copy()
        self.sources = np.arange(len(each), dtype=np.uint32)
        self.errors = {}

    @classmethod
    def of_arrays(
        cls,
        data: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        ports: NDArray[np.uint32],
        sources: Optional[NDArray[np.uint32]] = None,
    ) -> Packets:
        """Return packets in arrays, which are not copied."""
        import numpy as np

        made = cls.__new__(cls)
        made.data, made.offsets, made.ports = data, offsets, ports
        made.sources = np.arange(len(ports), dtype=np.uint32) if sources is None else sources
        made.errors = {}
        return made

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        at = range(len(self))[index]
        start, end = int(self.offsets[at]), int(self.offsets[at + 1])
        return Packet(self.data[start:end].tobytes(), int(self.ports[at]))

    def __iter__(self) -> Iterator[Packet]:
        data, ends = self.data.tobytes(), self.offsets.tolist()
        for at, port in enumerate(self.ports.tolist()):
            yield Packet(data[ends[at] : ends[at + 1]], port)

    def __repr__(self) -> str:
        return f"<{len(self)} packets of {len(self.data)} bytes>"


@dataclass(frozen=True)
class Trace:
    """What a program did with a packet, or everything that it could have done.

    ``str()`` returns the trace as lines for people.

    Attributes
    ----------
    outputs : list of Packet
        The packets that left by ports.
    error : str, optional
        The reason why the program failed, if it did.
    full_text : str
        The lines with parser states, assignments and branches too.
    """

    outputs: list[Packet]
    error: Optional[str]
    text: str = field(repr=False)
    full_text: str = field(repr=False)
    _json: str = field(repr=False)

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the trace as the JSON of the message ``planimeter.trace.v1.Trace``."""
        value: dict[str, Any] = json.loads(self._json)
        return value
