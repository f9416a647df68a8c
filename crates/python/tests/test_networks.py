"""Networks: bounds of papers, elements and files, graphs, and faults with their places."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx  # type: ignore[import-untyped]
import pytest

from planimeter.calculus import Curve, Network, PortClass
from planimeter.errors import InputError, NetworkError, NotFoundError, RefusedError

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "networks"


def two_hops() -> Network:
    network = Network("two hops")
    network.server("s0", Curve.rate_latency(10, 10), multiplexing="arbitrary")
    network.server("s1", Curve.rate_latency(6, 6), multiplexing="arbitrary")
    for name in ("f0", "f1"):
        network.flow(name, ["s0", "s1"], Curve.token_bucket("12.5", "2.5"))
    return network


def test_the_two_hops_of_dnc() -> None:
    bounds = two_hops().bounds("sfa")
    bound = bounds["f0"]
    assert bound.delay == Fraction(277, 7)
    assert bound.delay_s >= bound.delay and bound.delay_s - Fraction(277, 7) < 1e-13
    assert (bound.analysis, bound.proven, bound.cut_short) == ("sfa", True, False)
    assert "s0: cross traffic f1 arrives with TB(12.5, 2.5)" in bound.derivation
    assert list(bounds) == ["f0", "f1"] and len(bounds) == 2 and "f0" in bounds
    # A residual service curve of the path yields the same bound.
    arrival = Curve.token_bucket("12.5", "2.5")
    delays = [arrival.horizontal_deviation(service).value for service in bound.services]
    assert delays == [Fraction(277, 7)]


@pytest.mark.parametrize("hops", [1, 2, 7])
def test_the_interleaved_tandem_by_pmoo(hops: int) -> None:
    """A flow over all servers and one over each pair of neighbours: 100 (n + 1) / 433."""
    network = Network()
    names = [f"s{i}" for i in range(hops)]
    for name in names:
        network.server(name, Curve.rate_latency(10, 0.1))
    paths = [names, names[:1], *(names[i - 1 : i + 1] for i in range(1, hops)), names[-1:]]
    for i, path in enumerate(paths):
        network.flow(f"f{i}", path, Curve.token_bucket(1, 0.67))
    bounds = network.bounds("pmoo", multiplexing="arbitrary", flows=["f0"])
    assert list(bounds) == ["f0"]
    assert bounds["f0"].delay == Fraction(100 * (hops + 1), 433)


def test_the_best_bound_is_no_more_than_any() -> None:
    network = two_hops()
    best = network.bounds()["f0"]
    for analysis in ("tfa", "tfa++", "sfa", "pmoo", "tma", "ulp"):
        assert best.delay <= network.bounds(analysis)["f0"].delay
    run = network.simulate("f0")
    assert run is not None and run.delay <= best.delay and run.backlog <= best.backlog


def test_priorities_at_a_server() -> None:
    """The urgent flow: 2 + 4/10 and 4 + 1 * 2. The other: 8/3 + 6/9 and 6 + 2 * 8/3."""
    network = Network()
    network.server("s", Curve.rate_latency(10, 2), multiplexing="static-priority")
    network.flow("urgent", ["s"], Curve.token_bucket(4, 1), priority=0)
    network.flow("other", ["s"], Curve.token_bucket(6, 2), priority=1)
    server = network.server_bounds("tfa")["s"]
    assert server.classes == [(0, Fraction(12, 5), 6), (1, Fraction(10, 3), Fraction(34, 3))]
    assert (server.delay, server.backlog) == (Fraction(10, 3), 16)
    assert network.loads() == {"s": 0.3}


def test_a_port_with_weights_is_that_of_the_file() -> None:
    """Two classes of weight 1 share the link evenly, packet by packet."""
    network = Network()
    classes = [PortClass(0, 1000, share=1, minimum_packet=1000), PortClass(1, 1000, share=1, minimum_packet=1000)]
    network.port("p", 10**6, scheduler="weighted-round-robin", classes=classes)
    assert network.servers == ["p/0", "p/1"]
    network.flow("f", ["p"], Curve.token_bucket(1000, 1000), priority=1, maximum_packet=1000)
    assert network.path("f") == ["p/1"]
    # The class waits for one packet of the other, and has half of the link in the long run.
    service = network.service("p/1")
    assert service.ultimate_rate == 500_000
    assert service(Fraction(1, 1000)) == 0 < service(Fraction(3, 1000))


@pytest.mark.parametrize("file", ["two-hops.toml", "priorities.toml", "credit-based.toml", "ring.json"])
def test_files_are_read_as_the_command_reads_them(file: str) -> None:
    network = Network.read(EXAMPLES / file)
    bounds = network.bounds("tfa++")
    assert list(bounds) == network.flows
    assert all(bound.delay_s < float("inf") for bound in bounds.values())


def test_a_network_from_a_file_is_as_it_is() -> None:
    network = Network.read(str(EXAMPLES / "two-hops.toml"))
    with pytest.raises(RefusedError, match="build the network in Python"):
        network.server("more", Curve.zero())


def test_faults_of_files_have_their_place(tmp_path: Path) -> None:
    file = tmp_path / "network.toml"
    file.write_text('[[server]]\nname = "s"\nservice = { rate-latency = { rate = "1", latency = "soon" } }\n')
    with pytest.raises(NetworkError) as error:
        Network.read(file)
    assert error.value.where is not None and error.value.where.startswith(f"{file}:")
    with pytest.raises(InputError, match="unknown ending"):
        Network.read(Path(__file__))
    with pytest.raises(InputError, match="cannot be read"):
        Network.read(tmp_path / "none.toml")


def test_faults_of_elements_are_named() -> None:
    network = two_hops()
    with pytest.raises(NotFoundError) as missing:
        network.flow("f2", ["s9"], Curve.zero())
    assert (missing.value.what, missing.value.where) == ("there is no server or port 's9'", "path")
    assert isinstance(missing.value, KeyError)
    for again in (lambda: network.server("s0", Curve.zero()), lambda: network.flow("f0", ["s0"], Curve.zero())):
        with pytest.raises(NetworkError, match="already"):
            again()  # type: ignore[no-untyped-call]
    with pytest.raises(InputError, match="one of fifo, arbitrary"):
        network.server("s2", Curve.zero(), multiplexing="random")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="tfa"):
        network.bounds("guess")  # type: ignore[arg-type]
    with pytest.raises(NotFoundError):
        network.bounds("tfa")["f9"]
    with pytest.raises(NotFoundError):
        network.bounds("tfa", flows=["f9"])
    with pytest.raises(NetworkError, match="no servers"):
        Network().bounds()
    # None of these calls has changed the network.
    assert (network.servers, network.flows) == (["s0", "s1"], ["f0", "f1"])


def test_an_overloaded_server_is_the_reason_for_no_bound() -> None:
    network = Network()
    network.server("slow", Curve.rate_latency(1, 0))
    network.flow("f", ["slow"], Curve.token_bucket(1, 2))
    bounds = network.bounds("tfa")
    assert bounds["f"].delay == float("inf") == bounds["f"].delay_s
    assert "slow" in bounds.unbounded()["f"]
    assert two_hops().bounds("tfa").unbounded() == {}


def test_a_deadline_ends_the_search() -> None:
    bound = two_hops().bounds("best", deadline_s=1000)["f0"]
    assert bound.cut_short and bound.delay <= 1000


def test_a_graph_is_a_network() -> None:
    graph = networkx.DiGraph()
    graph.add_edge("a", "b", rate=10, latency=10, multiplexing="arbitrary")
    graph.add_edge("b", "c", service=Curve.rate_latency(6, 6), multiplexing="arbitrary")
    graph.add_edge("a", "c", rate=1)
    bucket = Curve.token_bucket("12.5", "2.5")
    flows: dict[str, dict[str, Any]] = {
        "f0": {"path": ["a", "b", "c"], "arrival": bucket},
        "f1": {"path": ("a", "b", "c"), "arrival": bucket, "maximum_delay_s": 40},
    }
    network = Network.from_networkx(graph, flows, name="two hops")
    # The edge that no flow visits is no server.
    assert network.servers == ["a->b", "b->c"]
    assert network.bounds("sfa")["f0"].delay == Fraction(277, 7)
    assert network.maximum_delay("f1") == 40 and network.maximum_delay("f0") is None
    shortest = {"f": {"source": "a", "target": "c", "arrival": Curve.token_bucket(1, 0)}}
    assert Network.from_networkx(graph, shortest).path("f") == ["a->c"]


@pytest.mark.parametrize(
    ("flow", "kind"),
    [
        ({"path": ["a", "x"]}, NotFoundError),
        ({"source": "b", "target": "a"}, NotFoundError),
        ({"source": "a"}, NetworkError),
        ({"path": ["a", "b"], "speed": 1}, NetworkError),
    ],
)
def test_faults_of_graphs_are_named(flow: dict[str, Any], kind: type[Exception]) -> None:
    graph = networkx.DiGraph([("a", "b", {"rate": 1})])
    with pytest.raises(kind, match="flow 'f'"):
        Network.from_networkx(graph, {"f": {"arrival": Curve.zero(), **flow}})


def test_bounds_are_frames_and_tables() -> None:
    bounds = two_hops().bounds("sfa")
    frame = bounds.to_pandas()
    assert frame.loc["f1", "delay_s"] == bounds["f1"].delay_s
    assert list(frame.columns) == ["delay_s", "backlog_bits", "analysis", "proven"]
    assert bounds.to_polars()["flow"].to_list() == ["f0", "f1"]
    network = two_hops()
    network.flow("<b>", ["s0"], Curve.token_bucket(0, 0))
    page = network.bounds("tfa")._repr_html_()
    assert "&lt;b&gt;" in page and "<b>" not in page
