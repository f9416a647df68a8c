"""Measures programmable networks: curves and bounds, P4 programs, measurements and their results.

Names are loaded on first use, so that ``import planimeter`` takes milliseconds.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planimeter import calculus as calculus
    from planimeter import device as device
    from planimeter import errors as errors
    from planimeter import results as results
    from planimeter import running as running
    from planimeter.attached import Device as Device
    from planimeter.attached import attach as attach
    from planimeter.errors import PlanimeterError as PlanimeterError
    from planimeter.entries import Action as Action
    from planimeter.entries import CounterValue as CounterValue
    from planimeter.entries import Entry as Entry
    from planimeter.entries import Group as Group
    from planimeter.entries import Member as Member
    from planimeter.entries import MeterConfig as MeterConfig
    from planimeter.entries import OneShot as OneShot
    from planimeter.packets import Digest as Digest
    from planimeter.packets import IdleEntry as IdleEntry
    from planimeter.packets import Packet as Packet
    from planimeter.packets import PacketIn as PacketIn
    from planimeter.packets import Packets as Packets
    from planimeter.packets import Trace as Trace
    from planimeter.program import Diagnostic as Diagnostic
    from planimeter.program import Program as Program
    from planimeter.program import compile as compile
    from planimeter.switch import Switch as Switch
    from planimeter.results import Comparison as Comparison
    from planimeter.results import Result as Result
    from planimeter.results import compare as compare
    from planimeter.results import load as load
    from planimeter.running import bench as bench
    from planimeter.running import dut as dut
    from planimeter.running import probe as probe

# The module of each name of the package. A name without one here is a module itself.
_PLACES = {
    "Action": "planimeter.entries",
    "Comparison": "planimeter.results",
    "CounterValue": "planimeter.entries",
    "Device": "planimeter.attached",
    "Diagnostic": "planimeter.program",
    "Digest": "planimeter.packets",
    "Entry": "planimeter.entries",
    "Group": "planimeter.entries",
    "IdleEntry": "planimeter.packets",
    "Member": "planimeter.entries",
    "MeterConfig": "planimeter.entries",
    "OneShot": "planimeter.entries",
    "Packet": "planimeter.packets",
    "PacketIn": "planimeter.packets",
    "Packets": "planimeter.packets",
    "PlanimeterError": "planimeter.errors",
    "Program": "planimeter.program",
    "Result": "planimeter.results",
    "Switch": "planimeter.switch",
    "Trace": "planimeter.packets",
    "attach": "planimeter.attached",
    "bench": "planimeter.running",
    "compare": "planimeter.results",
    "compile": "planimeter.program",
    "dut": "planimeter.running",
    "load": "planimeter.results",
    "probe": "planimeter.running",
}
_MODULES = ("calculus", "device", "errors", "results", "running")

__all__ = [
    "Action",
    "Comparison",
    "CounterValue",
    "Device",
    "Diagnostic",
    "Digest",
    "Entry",
    "Group",
    "IdleEntry",
    "Member",
    "MeterConfig",
    "OneShot",
    "Packet",
    "PacketIn",
    "Packets",
    "PlanimeterError",
    "Program",
    "Result",
    "Switch",
    "Trace",
    "attach",
    "bench",
    "calculus",
    "compare",
    "compile",
    "device",
    "dut",
    "errors",
    "load",
    "probe",
    "results",
    "running",
]


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        value = getattr(importlib.import_module(_PLACES[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(f"planimeter.{name}")
    else:
        raise AttributeError(f"module 'planimeter' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
