"""Results: figures with places and intervals, histograms, conditions, comparisons and drawings."""

from __future__ import annotations

import base64
import json
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest

import planimeter
from planimeter.errors import InputError, NotFoundError, ResultError, ThresholdError
from planimeter.results import Machine, Result

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "networks"


def bench(rates: dict[int, list[float]], cpu: str = "c") -> dict[str, Any]:
    """Returns a result of `planimeter bench` at some numbers of flows."""
    latency = {"p50_ns": 1500, "p99_ns": 2000, "p999_ns": 9000, "repetitions": [
        {"p50_ns": 1000, "p99_ns": 1800, "p999_ns": 7000},
        {"p50_ns": 2000, "p99_ns": 2200, "p999_ns": 8000}]}
    return {
        "schema": "planimeter-bench-result.v1", "program": "p.p4", "completion": "complete",
        "started_at": "2026-01-02T03:04:05Z", "settings": {"time_s": 1.0, "load": 0.5, "seed": 1},
        "host": {"hostname": "h", "cpu_model": cpu, "cpus": 2},
        "points": [{"flows": flows, "cases": [
            {"path": "compiled", "cores": 2, "rates": found, "latency": latency, "seen": None}]}
            for flows, found in rates.items()],
    }


def run(folder: Path, result: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "result.json").write_text(json.dumps(result))
    return folder


def zigzag(number: int) -> bytes:
    """Encodes a number as HdrHistogram does: zigzag, then seven bits in a byte, the least first."""
    number = (number << 1) ^ (number >> 63)
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


def interval_log(counts: list[int], greatest: int = 3_600_000_000_000) -> str:
    """Returns a log of HdrHistogram, encoding V2, for values 0, 1, 2, ... below 2048.

    From 2048 to 4095, a count is of two values. The histogram takes values up to ``greatest``.
    """
    body = b"".join(zigzag(count) for count in counts)
    # Cookie, length, offset, significant digits, least and greatest value, ratio.
    plain = struct.pack(">iiiiqqd", 0x1C849313, len(body), 0, 3, 1, greatest, 1.0) + body
    packed = zlib.compress(plain)
    text = base64.b64encode(struct.pack(">ii", 0x1C849314, len(packed)) + packed).decode()
    return f"#[Histogram log format version 1.3]\n0.000,1.000,0.000,{text}\n"


def test_figures_have_values_intervals_and_places(tmp_path: Path) -> None:
    result = planimeter.load(run(tmp_path / "run", bench({16: [1e6, 3e6], 64: [1e6, 1e6]})))
    assert (result.verb, result.name, result.about) == ("bench", "run", "program p.p4")
    assert result.machine == Machine("h", "c", 2) and result.partial is None
    assert result.dimensions["flows"] == [16, 64]
    rate = result.at(flows=16)["rate"]
    assert (rate.value, rate.unit, rate.n) == (2e6, "per second", 2)
    # Two repetitions: the 97.5 % quantile of Student's t with one degree of freedom is 12.706, and the
    # standard error is 1e6. No rate is below 0.
    assert rate.low == 0 and rate.high == pytest.approx(2e6 + 12.7062 * 1e6, rel=1e-4)
    assert result.at(flows=64, cores=2)["p50"].value == pytest.approx(1.5e-6)
    assert len(result) == 2 * len(result.at(flows=16)) and "rate" in result and "x" not in result


def test_what_is_not_there_is_named_with_what_is(tmp_path: Path) -> None:
    result = planimeter.load(run(tmp_path, bench({16: [1e6], 64: [1e6]})))
    for look, text in [
        (lambda: result["rate"], "at\\(\\), with some of case, flows"),
        (lambda: result["speed"], "the metrics are rate, cost, p50, p99, p99.9"),
        (lambda: result.at(ports=2), "the dimensions are case, path, flows, cores"),
        (lambda: result.at(flows=17), "the values of flows are 16.0, 64.0"),
        (lambda: result.at(flows=16, case=2), "another combination"),
        (lambda: result.histogram("latency"), "there are none"),
    ]:
        with pytest.raises(NotFoundError, match=text):
            look()  # type: ignore[no-untyped-call]


def test_metrics_are_a_table_and_a_frame(tmp_path: Path) -> None:
    metrics = planimeter.load(run(tmp_path, bench({16: [1e6, 3e6], 64: [5e6, 5e6]}))).metrics
    assert metrics[0]["metric"] == "rate" and metrics.columns[:3] == ["metric", "value", "unit"]
    frame = metrics.to_pandas()
    rates = frame.query("metric == 'rate'").set_index("flows")["value"]
    assert rates.to_dict() == {16.0: 2e6, 64.0: 5e6}
    polar = metrics.to_polars()
    assert polar.filter(metric="rate")["value"].to_list() == [2e6, 5e6]
    assert metrics._repr_html_().count("<tr>") == len(metrics) + 1


def test_histograms_with_different_ranges_are_added_up(tmp_path: Path) -> None:
    folder = run(tmp_path, bench({16: [1e6], 64: [1e6]}))
    (folder / "histograms").mkdir()
    # Values 2, 2, 3 and 7 of the first case, and 2248 of the second, which the first cannot hold.
    short, long = interval_log([-2, 2, 1, -3, 1], greatest=2047), interval_log([-2148, 1], greatest=4095)
    (folder / "histograms" / "case-001_latency.hlog").write_text(short)
    (folder / "histograms" / "case-002_latency.hlog").write_text(long)
    both = planimeter.load(folder).histogram("latency")
    assert both.counts.tolist() == [2, 1, 0, 1, 0, 1]
    assert both.edges_s.tolist() == pytest.approx([2e-9, 3e-9, 4e-9, 7e-9, 8e-9, 2248e-9, 2250e-9])


def test_histograms_are_read_and_added_up(tmp_path: Path) -> None:
    folder = run(tmp_path, bench({16: [1e6], 64: [1e6]}))
    (folder / "histograms").mkdir()
    # Values 2, 2, 3 and 7 of the first case, and 5 of the second; a negative count is a run of zeros.
    (folder / "histograms" / "case-001_latency.hlog").write_text(interval_log([-2, 2, 1, -3, 1]))
    (folder / "histograms" / "case-002_latency.hlog").write_text(interval_log([-5, 1]))
    result = planimeter.load(folder)
    assert result.histograms == ["latency"]
    histogram = result.at(flows=16).histogram("latency")
    assert histogram.counts.dtype == np.uint64 and histogram.counts.tolist() == [2, 1, 0, 1]
    assert histogram.edges_s.tolist() == pytest.approx([2e-9, 3e-9, 4e-9, 7e-9, 8e-9])
    both = result.histogram("latency")
    assert both.counts.tolist() == [2, 1, 0, 1, 0, 1]
    (folder / "histograms" / "case-001_latency.hlog").write_text("0.000,1.000,0.000,SGlzdG9ncmFt\n")
    with pytest.raises(ResultError) as error:
        result.histogram("latency")
    assert error.value.where == str(folder / "histograms" / "case-001_latency.hlog")


def test_conditions_are_judged_with_their_intervals(tmp_path: Path) -> None:
    result = planimeter.load(run(tmp_path, bench({16: [1e6, 3e6], 64: [5e6, 5e6]})))
    result.check("rate >= 2M", "p99 < 5us")
    with pytest.raises(ThresholdError) as error:
        result.check("rate > 3M", "p99 < 1us")
    text = str(error.value)
    assert "rate > 3M does not hold: rate is 2e+06 per second" in text
    assert "which contains the limit" in text and text.count("p99 < 1us") == 2
    assert isinstance(error.value, AssertionError)
    result.at(flows=64).check("rate > 3M")
    for condition, column in [("rate < 5ms", 9), ("speed > 1", 1), ("rate ~ 1", 6)]:
        with pytest.raises(InputError) as wrong:
            result.check(condition)
        assert wrong.value.where == f'"{condition}", column {column}'


def test_a_partial_result_holds_no_condition(tmp_path: Path) -> None:
    result = planimeter.load(run(tmp_path, {**bench({16: [1e6]}), "completion": "partial"}))
    assert result.partial is not None and result.partial in result._repr_html_()
    with pytest.raises(ThresholdError, match="PARTIAL"):
        result.check("rate > 0")


def test_results_are_compared_by_welch(tmp_path: Path) -> None:
    before = planimeter.load(run(tmp_path / "a", bench({16: [1.00e6, 1.02e6], 64: [1e6]})))
    after = planimeter.load(run(tmp_path / "b", bench({16: [2.00e6, 2.02e6]})))
    comparison = planimeter.compare(before, after, conditions=["rate > +50%", "rate < 1M"])
    [row] = [row for row in comparison.rows if row["metric"] == "rate"]
    assert (row["result"], row["base"], row["change"], row["flows"]) == ("b", 1.01e6, 1e6, 16)
    # Equal spreads: two degrees of freedom, whose quantile is 4.3027; the standard error is 14142.
    assert row["change_high"] - row["change"] == pytest.approx(4.30265 * 14142.1, rel=1e-3)
    assert row["shown"] is True
    with pytest.raises(ThresholdError) as error:
        comparison.check()
    assert "rate < 1M" in str(error.value) and "+50%" not in str(error.value)
    assert "rate" in str(comparison) and "change" in comparison._repr_html_()


def test_other_machines_are_refused_unless_they_are_allowed(tmp_path: Path) -> None:
    before = planimeter.load(run(tmp_path / "a", bench({16: [1e6]})))
    after = planimeter.load(run(tmp_path / "b", bench({16: [1e6]}, cpu="another")))
    with pytest.raises(ResultError, match="despite=.'machine'."):
        planimeter.compare(before, after)
    assert planimeter.compare(before, after, despite={"machine"}).doubts != []
    with pytest.raises(InputError):
        planimeter.compare(before, after, despite={"weather"})  # type: ignore[arg-type]
    with pytest.raises(InputError):
        planimeter.compare(before)


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": "planimeter-bench-result.v9"}'])
def test_what_is_no_result_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "result.json").write_text(text)
    with pytest.raises(ResultError) as error:
        planimeter.load(tmp_path)
    assert error.value.where == str(tmp_path / "result.json")
    with pytest.raises(ResultError, match="run directory"):
        planimeter.load(tmp_path / "none")


@pytest.fixture(scope="module")
def bounded(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """The result of the command for a network, with a figure for each of its plots."""
    folder = tmp_path_factory.mktemp("bound") / "run"
    command = [sys.executable, "-m", "planimeter", "bound", str(EXAMPLES / "two-hops.toml")]
    subprocess.run([*command, "--output", str(folder)], check=True, capture_output=True)
    return planimeter.load(folder)


def test_the_command_and_python_agree(bounded: Result) -> None:
    from planimeter.calculus import Network

    assert bounded.verb == "bound" and bounded.machine is None
    network = Network.read(EXAMPLES / "two-hops.toml")
    for flow, bound in network.bounds().items():
        figure = bounded.at(flow=flow)["delay"]
        assert (figure.value, figure.low, figure.unit) == (bound.delay_s, bound.delay_s, "seconds")


def test_figures_are_svg_and_axes(bounded: Result) -> None:
    matplotlib.use("svg")
    figures = bounded.figures
    assert figures and all(figure.svg.startswith("<svg") for figure in figures.values())
    drawn = 0
    for figure in figures.values():
        if figure.data.columns[:1] == ["series"]:
            ax = figure.plot()
            names = {str(row["series"]) for row in figure.data}
            assert {text.get_text() for text in ax.get_legend().get_texts()} == names
            drawn += 1
    assert drawn > 0


def test_sweeps_of_bounds_are_read(tmp_path: Path) -> None:
    """The video delays the flows of lower priority only, and the more the higher its rate."""
    command = [sys.executable, "-m", "planimeter", "bound", str(EXAMPLES / "ethernet.toml")]
    vary = ["--vary", "video.rate=0..60Mbps:3", "--output", str(tmp_path / "run")]
    subprocess.run([*command, *vary], check=True, capture_output=True)
    result = planimeter.load(tmp_path / "run")
    assert result.dimensions["video.rate"] == [0, 20, 40, 60]

    def delays(flow: str) -> list[float]:
        return [result.at(flow=flow, **{"video.rate": rate})["delay"].value for rate in (0, 20, 40, 60)]

    assert len(set(delays("control"))) == 1
    assert delays("best effort") == sorted(delays("best effort"))
    assert delays("best effort")[0] < delays("best effort")[-1]


def test_a_bound_that_is_infinite_is_a_figure(tmp_path: Path) -> None:
    bounds = [{"analysis": "tfa", "delay": {"exact": "+inf", "value": None},
               "backlog": {"exact": "5", "value": 5.0}}]
    flows = [{"name": "f", "run": None, "bounds": bounds}]
    result = planimeter.load(run(tmp_path / "run", {
        "schema": "planimeter-bounds-result.v1", "network": "n", "completion": "complete",
        "started_at": "2026-01-02T03:04:05Z", "flows": flows}))
    delay = result.at(flow="f")["delay"]
    assert delay.value == float("inf") and result["backlog"].value == 5
    assert not result.passes("delay < 1s") and not result.passes("delay <= 1s")
    assert result.passes("delay > 1s")


def test_a_condition_may_have_to_hold_on_the_whole_interval(tmp_path: Path) -> None:
    result = planimeter.load(run(tmp_path / "run", bench({16: [1e6, 3e6]})))
    assert result.passes("rate > 1M") and not result.passes("rate > 1M", whole_interval=True)
    assert result.passes("rate >= 0", whole_interval=True)
    with pytest.raises(ThresholdError, match="rate > 1M is not certain: .* which contains the limit"):
        result.check("rate > 1M", whole_interval=True)
    partial = {**bench({16: [1e6, 3e6]}), "completion": "partial"}
    assert not planimeter.load(run(tmp_path / "partial", partial)).passes("rate > 1")


def printed(folder: Path, *words: str) -> Result:
    """Returns what a verb prints as JSON, as `planimeter.load` reads it."""
    call = [sys.executable, "-m", "planimeter", *words, "--json"]
    root = EXAMPLES.parents[1]
    text = subprocess.run(call, capture_output=True, text=True, check=True, cwd=root).stdout
    (folder / "result.json").write_text(text)
    return planimeter.load(folder)


def test_what_verbs_print_is_loaded(tmp_path: Path) -> None:
    compiled = printed(tmp_path, "compile", "programs/router.p4", "--explain")
    program = compiled.at(section="program")
    assert (program["tables"].value, program["actions"].value) == (3, 7)
    assert compiled.at(section="paths", path="1")["number-of-parts"].value > 1
    raced = printed(tmp_path, "tables", "--lost-updates", "20k", "--storage", "inline")
    assert raced.at(lock="on")["lost"].value == 0
    assert raced.at(lock="off")["updates"].value == 20_000
    question = ("--predict", "--key-bits", "32", "--parameter-bytes", "9", "--size", "1M")
    predicted = printed(tmp_path, "tables", *question, "--cache", "15M")
    memory = predicted.at(storage="inline")["memory"]
    assert memory.unit == "bytes" and memory.value > 1e6
