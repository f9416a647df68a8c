"""Measurements from Python: settings, results, progress, thresholds, errors, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import planimeter
from planimeter import _settings, running
from planimeter.errors import FailedError, SettingError, ThresholdError, UnreachableError
from planimeter.results import Result
from planimeter.running import Progress

# The claim of the documents: a call ends within this time after Ctrl-C.
WITHIN_S = 0.2


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


def test_the_marker_judges_what_fixtures_measure(
    planimeter_bench: Callable[..., Result], request: pytest.FixtureRequest
) -> None:
    request.node.add_marker(pytest.mark.thresholds("rate < 1"))
    with pytest.raises(AssertionError, match="rate < 1 does not hold"):
        planimeter_bench(path="compiled", entries=[16], time_s=0.001, repetitions=1)
