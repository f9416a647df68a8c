"""Counters, meters and registers of a switch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterator, Optional

from planimeter import _native
from planimeter.entries import CounterValue, MeterConfig

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Counter", "Meter", "MeterValue", "Register"]


@dataclass(frozen=True)
class MeterValue:
    """A cell of a meter: its configuration, and the packets that it has marked."""

    config: Optional[MeterConfig]
    green: CounterValue = CounterValue()
    yellow: CounterValue = CounterValue()
    red: CounterValue = CounterValue()


class _Array:
    """An array with named cells. A size of ``None`` means that the program does not say it."""

    size: Optional[int]

    def __len__(self) -> int:
        if self.size is None:
            raise TypeError("the program does not say the size of the array")
        return self.size

    def _index(self, index: int) -> int:
        size = self.size
        if index < 0 and size is not None:
            index += size
        if index < 0 or (size is not None and index >= size):
            raise IndexError(f"index {index} of an array of {size} cells")
        return index


class Counter(_Array):
    """A counter array. `Switch.counter` returns one; ``counter[i]`` is a `CounterValue`.

    Attributes
    ----------
    name : str
        The name of the counter.
    size : int or None
        The number of cells.
    unit : str
        ``"packets"``, ``"bytes"`` or ``"both"``.
    """

    def __init__(self, native: _native.Switch, name: str) -> None:
        self._native = native
        self.name = name
        self.size, self.unit = native.counter_info(name)

    def __getitem__(self, index: int) -> CounterValue:
        return CounterValue(*self._native.read_counter(self.name, self._index(index))[0])

    def __setitem__(self, index: int, value: CounterValue) -> None:
        self._native.write_counter(self.name, self._index(index), value)

    def __iter__(self) -> Iterator[CounterValue]:
        return (CounterValue(*one) for one in self._native.read_counter(self.name, None))

    def read(self) -> NDArray[np.uint64]:
        """Return all cells, shape (cells, 2): packets and bytes."""
        import numpy as np

        cells = self._native.read_counter(self.name, None)
        return np.array(cells, dtype=np.uint64).reshape(-1, 2)

    def reset(self) -> None:
        """Set all cells to zero."""
        self._native.write_counter(self.name, None, CounterValue())


class Meter(_Array):
    """A meter array. `Switch.meter` returns one; ``meter[i]`` is a `MeterValue`.

    Attributes
    ----------
    name : str
        The name of the meter.
    size : int or None
        The number of cells.
    unit : str
        ``"packets"`` or ``"bytes"``, in which rates per second and bursts count.
    """

    def __init__(self, native: _native.Switch, name: str) -> None:
        self._native = native
        self.name = name
        self.size, self.unit = native.meter_info(name)

    def __getitem__(self, index: int) -> MeterValue:
        return _meter_value(self._native.read_meter(self.name, self._index(index))[0])

    def __setitem__(self, index: int, config: Optional[MeterConfig]) -> None:
        self._native.write_meter(self.name, self._index(index), config)

    def __iter__(self) -> Iterator[MeterValue]:
        return (_meter_value(one) for one in self._native.read_meter(self.name, None))

    def configure(self, config: Optional[MeterConfig]) -> None:
        """Configure all cells. Without a configuration, a meter marks all packets green."""
        self._native.write_meter(self.name, None, config)


def _meter_value(shown: tuple[Any, Any]) -> MeterValue:
    config, marked = shown
    config = None if config is None else MeterConfig(*config)
    return MeterValue(config, *(CounterValue(*one) for one in marked or ()))


class Register(_Array):
    """A register array. `Switch.register` returns one.

    ``register[i]`` is an ``int``, ``bool``, the name of an enum's member, or a tuple of them for a
    struct.

    Attributes
    ----------
    name : str
        The name of the register.
    size : int or None
        The number of cells.
    """

    def __init__(self, native: _native.Switch, name: str) -> None:
        self._native = native
        self.name = name
        self.size = native.register_size(name)

    def __getitem__(self, index: int) -> Any:
        return self._native.read_register(self.name, self._index(index))[0]

    def __setitem__(self, index: int, value: Any) -> None:
        self._native.write_register(self.name, self._index(index), value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._native.read_register(self.name, None))

    def fill(self, value: Any) -> None:
        """Set all cells to a value."""
        self._native.write_register(self.name, None, value)
