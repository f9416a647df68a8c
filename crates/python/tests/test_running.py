"""Measurements from Python: settings, results, progress, thresholds, errors, and Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import planimeter
from planimeter import _child, _settings, running
from planimeter._progress import Drawn
from planimeter.errors import FailedError, NotFoundError, SettingError, ThresholdError, UnreachableError
from planimeter.results import Result
from planimeter.running import Progress

# The claim of the documents: a call ends within this time after Ctrl-C.
WITHIN_S = 0.2
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_settings_are_the_flags_of_the_command() -> None:
    given = {
        "switches": 16, "rate_per_s": 1000, "duration_s": 0.25, "settle": "1m30s", "calibrate": True,
        "isolate": False, "sweep_rates": [100, "200..400:100"], "repetitions": None,
    }
    assert _settings.words("probe", given) == [
        "--switches=16", "--rate=1000", "--duration=250ms", "--settle=1m30s", "--calibrate",
        "--isolate=false", "--sweep-rates=100", "--sweep-rates=200..400:100",
    ]
    assert _settings.words("bench", {"time_s": Fraction(1, 8), "skew": 1.5, "path": "compiled"}) == [
        "--time=125ms", "--skew=1.5", "--path=compiled",
    ]
    # The key of a TOML file works as the flag does.
    assert _settings.words("probe", {"traffic_rate": 5}) == ["--rate=5"]
    listed = running.settings("probe")
    assert {"switches", "rate", "duration"} <= set(listed) and all(listed.values())
    assert {"table", "quick"} <= set(running.settings("dut"))
    assert "resume" in running.settings("device measure")


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("swiches", 16, "did you mean switches?"),
        ("durations_s", 1, "did you mean duration?"),
        ("duration_s", "1s", "must be a number"),
        ("duration_s", -1, "negative"),
        ("duration_s", float("inf"), "not finite"),
        ("switches", {}, "not dict"),
        ("calibrate", 1, "True or False"),
        ("switches_s", 1, "did you mean switches?"),
        ("serve", True, "--serve"),
        ("threshold", "loss == 0", "thresholds="),
        ("json", True, "result.path"),
    ],
)
def test_a_wrong_setting_is_refused_with_the_remedy(name: str, value: object, what: str) -> None:
    with pytest.raises(SettingError) as caught:
        _settings.words("probe", {name: value})
    assert caught.value.where == name and what in str(caught.value)


def test_a_setting_that_the_command_refuses_is_an_error(directory: Path) -> None:
    with pytest.raises(SettingError) as caught:
        planimeter.probe(rate_per_s=-1, progress=False)
    assert caught.value.where == "rate" and "planimeter:" not in caught.value.what
    assert list(directory.glob("runs/*")) == [], "a run directory without a run was left"


def test_a_controller_that_is_not_there_is_an_error() -> None:
    with pytest.raises(UnreachableError):
        planimeter.probe("127.0.0.1:1", switches=1, connect_timeout_s=0.1, progress=False)


def test_a_bench_returns_its_result_and_judges_thresholds(directory: Path) -> None:
    seen: list[Progress] = []
    quick: dict[str, Any] = {"path": "compiled", "entries": [16], "time_s": 0.001, "repetitions": 2}
    result = planimeter.bench(progress=seen.append, thresholds="rate > 1", **quick)
    assert isinstance(result, Result) and result.verb == "bench" and result.partial is None
    assert result.path.parent == Path("runs") and result["rate"].n == 2
    assert result.passes("rate > 1") and not result.passes("rate < 1")
    assert seen and all(isinstance(one, Progress) and one.text for one in seen)
    with pytest.raises(ThresholdError, match="rate < 1") as caught:
        planimeter.bench(progress=False, thresholds=["rate < 1"], output="slow", **quick)
    assert caught.value.result is not None and caught.value.result.path == Path("slow")
    assert caught.value.result["rate"].value > 1


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_ends_a_run_soon(directory: Path) -> None:
    sent: list[float] = []

    def first(progress: Progress) -> None:
        if not sent:
            sent.append(time.monotonic())
            interrupt()

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt, match="long"):
        planimeter.bench(
            path="compiled", entries=[16], time_s=0.2, repetitions=1000, progress=first, output="long"
        )
    took = time.monotonic() - sent[0]
    # The child ends with what it has, and nothing of it stays.
    ends = time.monotonic() + 20
    while threading.active_count() > before and time.monotonic() < ends:
        time.sleep(0.02)
    assert threading.active_count() <= before
    assert took < 2 * WITHIN_S, "the machine may be busy, but not that busy"


def is_running(process: int) -> bool:
    """Return whether a process exists that has not ended (proc(5), ``stat``)."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"


@pytest.mark.parametrize("beginning", ["", "trap '' INT"])
def test_processes_that_a_run_has_started_end_with_it(
    directory: Path, monkeypatch: pytest.MonkeyPatch, beginning: str
) -> None:
    """A shell that waits for a child stands for the command. One of two ignores interrupts."""
    shell = directory / "shell"
    # A child in the background of a shell ignores interrupts (POSIX, Shell Command Language, 2.12).
    shell.write_text(f"#!/bin/sh\n{beginning}\nsleep 1000 &\necho $! >&2\nwait\n")
    shell.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(shell))
    monkeypatch.setattr(_child, "_PATIENCE_S", 0.1)
    started: list[int] = []

    class Refusing(Drawn):
        def note(self, line: str) -> None:
            started.append(int(line))
            assert is_running(started[0])
            raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        _child.run([], Refusing())
    ends = time.monotonic() + 20
    while is_running(started[0]) and time.monotonic() < ends:
        time.sleep(0.01)
    assert not is_running(started[0]), "the child of the run was left behind"


def children(process: int) -> list[int]:
    """Return the children of a process (proc(5), ``stat``)."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(state[1]) == process:
            found.append(int(path.parent.name))
    return found


def test_a_run_ends_with_the_program_that_started_it(directory: Path) -> None:
    code = """
import planimeter
planimeter.bench(path="compiled", entries=[16], time_s=0.2, repetitions=1000, output="long",
                 progress=lambda progress: print("running", flush=True))
"""
    program = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    with program:
        assert program.stdout.readline() == "running\n"
        [run] = children(program.pid)
        # The program cannot do anything about it.
        program.kill()
        program.wait()
    ends = time.monotonic() + 20
    while is_running(run) and time.monotonic() < ends:
        time.sleep(0.01)
    assert not is_running(run), "the run goes on"


def test_an_error_of_the_progress_function_ends_a_run() -> None:
    def refuse(progress: Progress) -> None:
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        planimeter.bench(path="compiled", entries=[16], time_s=0.2, repetitions=1000, progress=refuse)


def test_a_failed_campaign_is_an_error(directory: Path) -> None:
    (directory / "plan.toml").write_text("nothing = 1\n")
    with pytest.raises(SettingError, match="plan.toml"):
        planimeter.device.measure("plan.toml", progress=False)
    with pytest.raises(SettingError):
        planimeter.device.predict("none.json", function="x")
    with pytest.raises(SettingError):
        planimeter.device.verify("none")
    assert issubclass(FailedError, RuntimeError)


def test_a_prediction_has_figures_with_units(directory: Path) -> None:
    model = EXAMPLES / "device" / "zodiac-fx.json"
    prediction = planimeter.device.predict(model, match="five-tuple", action="set-nw-src")
    median = prediction["median"]
    assert [delay.level for delay in prediction.delays if delay == median] == ["median"]
    # The figure and the text that the command prints are the same.
    shown = next(line for line in str(prediction).splitlines() if line.strip().startswith("median"))
    assert float(shown.split()[1]) == pytest.approx(median.delay_s * 1e6, rel=1e-4)
    assert shown.split()[2] == "µs"
    assert prediction.units["Delays"]["delay"] == "seconds"
    assert len(prediction.services) > 0
    with pytest.raises(NotFoundError, match="p12"):
        prediction["p12"]
    # Nothing is left but where it is wanted.
    assert list(directory.iterdir()) == []
    planimeter.device.predict(model, function="five-tuple", output="left")
    assert (directory / "left" / "result.json").exists()


# Two branches that exclude each other: no packet takes the most expensive path.
BRANCHES = """#include <core.p4>
#include <v1model.p4>
header t { bit<8> x; }
struct H { t a; } struct M { bit<8> x; bit<16> y; }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
    state start { p.extract(h.a); transition accept; }
}
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    apply { if (h.a.x > 100) { m.x = 1; } if (h.a.x < 50) { m.y = 2; } s.egress_spec = 1; }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in H h) { apply { p.emit(h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"""


def test_the_paths_of_a_program_have_packets(directory: Path) -> None:
    model = json.loads((EXAMPLES / "device" / "zodiac-fx.json").read_text(encoding="utf-8"))
    first, second = model["settings"][0]["functions"][:2]
    first["function"]["consists_of"] = ["assign 8"]
    second["function"]["consists_of"] = ["assign 16"]
    (directory / "model.json").write_text(json.dumps(model), encoding="utf-8")
    (directory / "branches.p4").write_text(BRANCHES, encoding="utf-8")
    prediction = planimeter.device.predict("model.json", "branches.p4")
    paths = prediction.paths
    assert [path.number for path in paths] == [1, 2, 3, 4]
    assert [path.feasibility for path in paths] == ["infeasible", *["feasible"] * 3]
    assert paths[0].packet is None and paths[0].script is None
    assert prediction.worst == paths[1]
    for path in paths[1:]:
        assert path.packet is not None and path.script is not None
        none_holds = sum(decision.startswith("if not") for decision in path.decisions) == 2
        assert (50 <= path.packet[0] <= 100) == none_holds, path
        assert path.packet.hex() in path.script.lower()
        assert path.entries == 0 and path.reason is None
        median = path.delays_s["median"]
        assert median is not None and 0 < median < 1
    # The packet of the worst path passes through the program as the search says.
    switch = planimeter.Switch(directory / "branches.p4")
    worst = prediction.worst
    assert worst is not None and worst.packet is not None and worst.port is not None
    assert [packet.port for packet in switch.send(worst.packet, port=worst.port)] == [1]


def test_the_marker_judges_what_fixtures_measure(
    planimeter_bench: Callable[..., Result], request: pytest.FixtureRequest
) -> None:
    request.node.add_marker(pytest.mark.thresholds("rate < 1"))
    with pytest.raises(AssertionError, match="rate < 1 does not hold"):
        planimeter_bench(path="compiled", entries=[16], time_s=0.001, repetitions=1)
