"""A pytest plugin for P4 programs: switches as fixtures, and the trace of a packet that fails a test.

The fixture `p4_switch` compiles each program once per session and makes a fresh `Switch` for each
test. Everything that changes the switch is recorded. When the test fails, the record is replayed on
the interpreter, so that the trace shows the state that the packet saw; the report has the traces of
the last packets, and a capture file with all packets.

The fixture `planimeter_switch` starts the real switch, a process with its ports on veth pairs, and
`network_bounds` bounds a network. `emulated_switches` makes switches for a controller under test, and
`planimeter_probe`, `planimeter_bench` and `planimeter_dut` measure; the marker ``thresholds`` judges
what they return.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Generator, Iterator, List, Optional, Tuple, Union

import pytest

if TYPE_CHECKING:
    from planimeter.calculus import Network, NetworkBounds
    from planimeter.emulated import OpenFlowSwitch, P4RuntimeSwitch
    from planimeter.program import Program
    from planimeter.results import Result
    from planimeter.switch import Switch
    from planimeter.veth import VethSwitch

__all__ = [
    "RecordedNative",
    "emulated_switches",
    "network_bounds",
    "p4_switch",
    "planimeter_bench",
    "planimeter_dut",
    "planimeter_probe",
    "planimeter_switch",
]

#: The methods of the native switch that change its state, and are therefore replayed.
_CHANGING = frozenset(
    {
        "advance",
        "enable_digest",
        "packet_out",
        "process",
        "process_arrays",
        "process_list",
        "set_port_up",
        "trace",
        "write_clone_session",
        "write_counter",
        "write_entries",
        "write_group",
        "write_member",
        "write_meter",
        "write_multicast_group",
        "write_register",
        "write_value_set",
    }
)
#: The number of packets whose traces a failing test shows.
_TRACES = 3
#: The number of calls that are recorded. A longer test is not replayed.
_MOST_CALLS = 100_000
#: The number of packets in the capture file of a failing test.
_MOST_FRAMES = 100_000


class RecordedNative:
    """A native switch that records the calls which change it, with the times and the packets.

    A test does not use it directly: the switches of `p4_switch` have one inside.
    """

    def __init__(self, native: Any, remake: Callable[[], Any]) -> None:
        self._native = native
        self._remake = remake
        self._calls: list[tuple[str, tuple[Any, ...]]] = []
        self._served = False
        self._overflown = False

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._native, name)
        if name == "serve":
            self._served = True
            return method
        if name not in _CHANGING:
            return method

        def recorded(*arguments: Any) -> Any:
            if len(self._calls) < _MOST_CALLS:
                self._calls.append((name, arguments))
            else:
                self._overflown = True
            return method(*arguments)

        return recorded

    def report(self, capture: Path) -> str:
        """Return the traces of the last packets, and write all packets to a file.

        The calls are replayed on a fresh interpreter, where the last packets are traced.
        """
        if self._overflown:
            return f"The test made more than {_MOST_CALLS} calls, so its packets are not replayed."
        lines = []
        if self._served:
            lines.append("The switch was served: what controllers wrote is not replayed.")
        native = self._remake()
        packets = [at for at, call in enumerate(self._calls) if call[0] in ("process", "trace")]
        last = set(packets[-_TRACES:])
        frames = _Frames()
        for at, (name, arguments) in enumerate(self._calls):
            now = native.now_s
            if at not in last:
                frames.replay(native, name, arguments)
                continue
            packet, port = bytes(arguments[0]), arguments[1]
            effects = arguments[2] if name == "trace" else True
            outputs, error, text, _, _ = native.trace(packet, port, effects, "values", None)
            frames.add(now, port, packet, "in")
            frames.add_all(now, outputs)
            lines.append(f"At {now:g} s:\n{text.rstrip()}")
            if error is not None:
                lines.append(f"The program failed: {error}")
        if len(frames) > 0:
            frames.write(capture)
            lines.append(f"All packets are in {capture}")
        return "\n\n".join(lines) or "The test sent no packet."


class _Frames:
    """Packets for a capture file in the format pcapng, with an interface for each port."""

    def __init__(self) -> None:
        self._frames: list[tuple[float, int, bytes, str]] = []

    def __len__(self) -> int:
        return len(self._frames)

    def add(self, now: float, port: int, packet: bytes, direction: str) -> None:
        if len(self._frames) < _MOST_FRAMES:
            self._frames.append((now, port, packet, direction))

    def add_all(self, now: float, outputs: list[tuple[int, bytes]]) -> None:
        for port, packet in outputs:
            self.add(now, port, packet, "out")

    def replay(self, native: Any, name: str, arguments: tuple[Any, ...]) -> None:
        """Make a recorded call, and add the packets that it passes and returns."""
        now = native.now_s
        if name in ("process", "trace"):
            self.add(now, arguments[1], bytes(arguments[0]), "in")
        elif name == "process_list":
            each = arguments[2] or [arguments[1]] * len(arguments[0])
            for packet, port in zip(arguments[0], each):
                self.add(now, port, bytes(packet), "in")
        try:
            result = getattr(native, name)(*arguments)
        except Exception:
            # The call failed in the test too.
            return
        if name in ("process", "packet_out"):
            self.add_all(now, result)
        elif name == "trace":
            self.add_all(now, result[0])
        elif name in ("process_list", "process_arrays"):
            data, offsets, ports, _ = result[0]
            ends = offsets.tolist()
            for at, port in enumerate(ports.tolist()):
                self.add(now, port, data[ends[at] : ends[at + 1]].tobytes(), "out")

    def write(self, path: Path) -> None:
        ports = sorted({port for _, port, _, _ in self._frames})
        blocks = [_block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
        for port in ports:
            name = _option(2, f"port {port}".encode())
            resolution = _option(9, b"\x09")
            head = struct.pack("<HHI", 1, 0, 0)
            blocks.append(_block(1, head + name + resolution + _option(0, b"")))
        for now, port, packet, direction in self._frames:
            nanos = round(now * 1e9)
            head = struct.pack(
                "<IIIII", ports.index(port), nanos >> 32, nanos & 0xFFFFFFFF, len(packet), len(packet)
            )
            flags = _option(2, struct.pack("<I", 1 if direction == "in" else 2))
            blocks.append(_block(6, head + _padded(packet) + flags + _option(0, b"")))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(blocks))


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _block(kind: int, body: bytes) -> bytes:
    length = 12 + len(body)
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


_Recorded = List[Tuple[str, RecordedNative]]
_SWITCHES = pytest.StashKey[_Recorded]()
_PROGRAMS = pytest.StashKey["dict[Any, Program]"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that says where capture files of failing tests go."""
    group = parser.getgroup("planimeter")
    group.addoption(
        "--packets-dir",
        metavar="DIR",
        help="where failing tests leave capture files of their packets (default: the test's "
        "temporary directory)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker of conditions on measurements."""
    config.addinivalue_line(
        "markers",
        "thresholds(*conditions, whole_interval=True): conditions such as 'rtt.p99 < 5ms' that each "
        "result of planimeter_probe, planimeter_bench and planimeter_dut must meet. With "
        "whole_interval, a condition must hold on the whole 95 % interval of a figure that has one.",
    )


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Generator[None, Any, None]:
    """Add the traces of the last packets to the report of a test that fails."""
    outcome = yield
    report = outcome.get_result()
    if report.when != "call" or not report.failed:
        return
    recorded = item.stash[_SWITCHES] if _SWITCHES in item.stash else []
    for number, (name, native) in enumerate(recorded):
        capture = _directory(item) / f"{_file_name(item)}{f'-{number}' if number else ''}.pcapng"
        try:
            text = native.report(capture)
        except Exception as error:  # A fault here must not hide the failure of the test.
            text = f"The packets could not be replayed: {error}"
        report.sections.append((f"Packets of {name}", text))


def _directory(item: pytest.Item) -> Path:
    chosen = item.config.getoption("--packets-dir")
    if chosen is not None:
        return Path(chosen)
    factory: pytest.TempPathFactory = item.config._tmp_path_factory  # type: ignore[attr-defined]
    return factory.mktemp("packets", numbered=True)


def _file_name(item: pytest.Item) -> str:
    return "".join(one if one.isalnum() or one in "-_" else "_" for one in item.name)


@pytest.fixture
def p4_switch(request: pytest.FixtureRequest) -> Callable[..., Switch]:
    """Make switches in process.

    Call it with a program, and with the options of `planimeter.Switch` or of `planimeter.compile`.
    A path is relative to the directory of the test's file, or to where pytest was started. A program
    is compiled once per session; each call makes a fresh switch.

    Examples
    --------
    >>> @pytest.fixture
    ... def router(p4_switch):
    ...     switch = p4_switch("programs/router.p4")
    ...     switch.table("routes").insert({"destination": "10.0.3.0/24"}, Action("connected", port=3))
    ...     return switch
    """

    def make(
        program: Union[Program, str, os.PathLike[str]],
        *,
        path: str = "interpreter",
        seed: int = 0,
        cpu_port: int = 255,
        **options: Any,
    ) -> Switch:
        from planimeter import _native
        from planimeter.program import Program
        from planimeter.switch import Switch

        if not isinstance(program, Program):
            program = _compiled(request, program, options)
        switch = Switch(program, path=path, seed=seed, cpu_port=cpu_port)  # type: ignore[arg-type]
        native = program._native
        recorded = RecordedNative(
            switch._native, lambda: _native.Switch(native, "interpreter", seed, cpu_port)
        )
        switch._native = recorded  # type: ignore[assignment]
        known = request.node.stash.setdefault(_SWITCHES, [])
        known.append((os.path.basename(program.path), recorded))
        return switch

    return make


def _compiled(
    request: pytest.FixtureRequest, program: Union[str, os.PathLike[str]], options: dict[str, Any]
) -> Program:
    from planimeter.program import compile

    beside = Path(request.path).parent / program
    path = beside if beside.exists() else Path(program)
    key = (str(path.resolve()), repr(sorted(options.items())))
    programs = request.session.stash.setdefault(_PROGRAMS, {})
    if key not in programs:
        programs[key] = compile(path, **options)
    return programs[key]


@pytest.fixture
def network_bounds() -> Callable[..., NetworkBounds]:
    """Bound networks: call it with a `Network`, or a file that ``planimeter bound`` reads.

    Further arguments are those of `Network.bounds`.

    Examples
    --------
    >>> def test_the_video_arrives_in_time(network_bounds):
    ...     assert network_bounds("networks/plant.toml")["video"].delay_s < 0.002
    """

    def bounds(network: Union[Network, str, os.PathLike[str]], *arguments: Any, **settings: Any) -> NetworkBounds:
        from planimeter.calculus import Network

        checked = network if isinstance(network, Network) else Network.read(network)
        return checked.bounds(*arguments, **settings)

    return bounds


@pytest.fixture
def planimeter_switch(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[..., VethSwitch]]:
    """Start switches as processes of their own, with ports on veth pairs.

    Call it with a program and the number of ports. It needs root, the command ``ip``, and the
    command ``planimeter`` (or its path in the variable ``PLANIMETER_BINARY``); a test that lacks
    them is skipped with the reason.

    Examples
    --------
    >>> def test_a_packet_is_routed(planimeter_switch):
    ...     switch = planimeter_switch("programs/router.p4", ports=2)
    ...     switch.send(b"...", port=1)
    """
    from planimeter.veth import VethSwitch, missing

    started: list[VethSwitch] = []

    def start(program: Union[str, os.PathLike[str]], ports: int = 2, *arguments: str) -> VethSwitch:
        reason: Optional[str] = missing()
        if reason is not None:
            pytest.skip(f"planimeter_switch needs {reason}")
        beside = Path(request.path).parent / program
        path = beside if beside.exists() else Path(program)
        started.append(VethSwitch(path, ports, arguments, tmp_path))
        return started[-1]

    yield start
    for switch in started:
        switch.stop()


def _measuring(
    measure: Callable[..., Result], request: pytest.FixtureRequest, directory: Path
) -> Callable[..., Result]:
    """Return a function that measures, and judges the result by the conditions of the test."""
    count = 0

    def measured(*arguments: Any, **settings: Any) -> Result:
        nonlocal count
        count += 1
        settings.setdefault("output", directory / f"run-{count}")
        settings.setdefault("progress", False)
        result = measure(*arguments, **settings)
        for marker in request.node.iter_markers("thresholds"):
            result.check(*marker.args, **{"whole_interval": True, **marker.kwargs})
        return result

    return measured


@pytest.fixture
def planimeter_probe(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Callable[..., Result]:
    """Benchmark controllers: call it with the arguments of `planimeter.probe`.

    The run directory is in the test's temporary directory. The conditions of the marker
    ``thresholds`` are judged on the whole 95 % interval of each figure.

    Examples
    --------
    >>> @pytest.mark.thresholds("loss == 0", "rtt.p99 < 5ms")
    ... def test_my_controller(planimeter_probe):
    ...     planimeter_probe("127.0.0.1:6653", switches=16, rate_per_s=1000)
    """
    from planimeter.running import probe

    return _measuring(probe, request, tmp_path)


@pytest.fixture
def planimeter_bench(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Callable[..., Result]:
    """Measure programs: call it with the arguments of `planimeter.bench`. See `planimeter_probe`."""
    from planimeter.running import bench

    return _measuring(bench, request, tmp_path)


@pytest.fixture
def planimeter_dut(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Callable[..., Result]:
    """Measure switches: call it with the arguments of `planimeter.dut`. See `planimeter_probe`."""
    from planimeter.running import dut

    return _measuring(dut, request, tmp_path)


@pytest.fixture
def emulated_switches(
    request: pytest.FixtureRequest,
) -> Iterator[Callable[..., List[Any]]]:
    """Emulate switches for a controller under test.

    Call it with a P4 program for P4Runtime switches, to whose ``address`` the controller connects; or
    with ``openflow``, the address of a controller, for OpenFlow switches that connect to it. ``count``
    is their number. Further options are those of `planimeter.emulated.P4RuntimeSwitch` and
    `planimeter.emulated.OpenFlowSwitch`. The switches are disconnected at the end of the test.

    Examples
    --------
    >>> def test_the_controller_answers(emulated_switches):
    ...     [switch] = emulated_switches(openflow="127.0.0.1:6653")
    ...     switch.expect_ready()
    ...     switch.expect_flows()
    ...     switch.packet_in(PACKET, port=1)
    ...     assert switch.expect_packet_out().latency_s < 0.1
    """
    from planimeter.emulated import OpenFlowSwitch, P4RuntimeSwitch

    made: list[Union[OpenFlowSwitch, P4RuntimeSwitch]] = []

    def make(
        program: Union[Program, str, os.PathLike[str], None] = None,
        *,
        openflow: Optional[str] = None,
        count: int = 1,
        **options: Any,
    ) -> List[Any]:
        if (program is None) == (openflow is None):
            raise TypeError("name either a program, for P4Runtime, or openflow=, a controller")
        first = len(made)
        for number in range(count):
            if openflow is not None:
                own: dict[str, Any] = {"datapath_id": first + number + 1, **options}
                made.append(OpenFlowSwitch(openflow, **own))
            else:
                compiled = _program(request, program)
                made.append(P4RuntimeSwitch(compiled, **options))
        return list(made[first:])

    yield make
    for switch in made:
        switch.close()


def _program(request: pytest.FixtureRequest, program: Any) -> Program:
    """Return a program, compiled once per session."""
    from planimeter.program import Program

    return program if isinstance(program, Program) else _compiled(request, program, {})
