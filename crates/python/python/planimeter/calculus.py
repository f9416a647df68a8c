"""Network calculus in exact arithmetic: curves, and bounds of networks.

Numbers are exact. They are given as int, Fraction, Decimal, str or float, where a float means the
decimal that Python prints for it (``0.1`` is one tenth), and returned as `fractions.Fraction`. An
infinite value is returned as ``float('inf')``. Names that end in ``_s`` or ``_bits`` are floats in
seconds or bits, rounded such that a bound remains a bound.

Examples
--------
>>> from planimeter.calculus import Curve, Network
>>> network = Network("two hops")
>>> network.server("s0", Curve.rate_latency(10, 10), multiplexing="arbitrary")
>>> network.server("s1", Curve.rate_latency(6, 6), multiplexing="arbitrary")
>>> for name in ("f0", "f1"):
...     network.flow(name, ["s0", "s1"], Curve.token_bucket("12.5", "2.5"))
>>> network.bounds("sfa")["f0"].delay
Fraction(277, 7)
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from planimeter import _native
from planimeter._native import Curve, Deviation, FlowBound, ServerBound
from planimeter._packages import optional
from planimeter._types import ClassOfPort, Level, Number, PathLike
from planimeter.errors import NotFoundError

if TYPE_CHECKING:
    from typing import Literal

    AnalysisName = Literal[
        "best", "quick", "tfa", "tfa++", "sfa", "pmoo", "tma", "sink-tree", "ludb", "plp", "elp", "ulp"
    ]
    ArrivalBoundName = Literal[
        "aggregate-pboo",
        "aggregate-pboo-per-server",
        "aggregate-pmoo",
        "aggregate-tm",
        "segregated-pboo",
        "segregated-pmoo",
        "segregated-tm",
    ]
    Order = Literal["fifo", "arbitrary", "static-priority"]
    RegulatorName = Literal["per-flow", "interleaved"]
    RoleName = Literal["lowest-priority", "lowest-priority-where-proven", "interferes"]
    SchedulerName = Literal[
        "credit-based",
        "gated",
        "deficit-round-robin",
        "weighted-round-robin",
        "interleaved-weighted-round-robin",
    ]

__all__ = [
    "Curve",
    "Deviation",
    "FlowBound",
    "Network",
    "NetworkBounds",
    "Period",
    "Piece",
    "PortClass",
    "Run",
    "ServerBound",
]


class Piece(NamedTuple):
    """A breakpoint of a curve and the open segment after it."""

    start: Fraction
    """The time of the breakpoint."""
    value: Union[Fraction, float]
    """The value at the breakpoint."""
    right_limit: Union[Fraction, float]
    """The limit from the right, from which the segment starts."""
    slope: Fraction
    """The slope of the segment."""


class Period(NamedTuple):
    """The repetition of a curve: from ``start`` on, ``f(t + length) = f(t) + increment``."""

    start: Fraction
    """The time from which the curve repeats."""
    length: Fraction
    """The length of the period."""
    increment: Fraction
    """The rise of the curve per period."""


def _curve_of(
    pieces: Sequence[tuple[Number, Level, Level, Number]],
    period: Optional[tuple[Number, Number, Number]],
) -> Curve:
    """Returns the curve that was pickled as these numbers."""
    return Curve.from_pieces(pieces, period)


class Run(NamedTuple):
    """The worst values of a flow in simulated runs of a network: lower bounds of the worst case."""

    delay: Fraction
    """The longest delay, in seconds."""
    backlog: Fraction
    """The largest backlog, in bits."""


class PortClass(NamedTuple):
    """A class of traffic at a port.

    The meaning of ``share`` depends on the scheduler: an idle slope in bits per second
    (``credit-based`` and ``gated``; without it the class is best effort), a quantum in bits
    (``deficit-round-robin``), or a weight (``weighted-round-robin`` and its interleaved form).
    """

    priority: int
    """The priority of the flows in the class; 0 is the most urgent."""
    maximum_packet: Number
    """The size of the largest packet, in bits."""
    share: Optional[Number] = None
    """The idle slope, the quantum or the weight."""
    minimum_packet: Number = 1
    """The size of the smallest packet, in bits. Round robin by packets has better bounds with it."""
    windows: Optional[Sequence[tuple[Number, Number]]] = None
    """The windows of a gate as (time in the cycle, length), in seconds."""


class _Settings(NamedTuple):
    """The conventions of an analysis, as the native module takes them."""

    multiplexing: Optional[str] = None
    flow_of_interest: str = "lowest-priority"
    arrival_bounds: Sequence[str] = ("aggregate-pboo",)
    cap_bursts: bool = False
    prolong: bool = False
    deadline_s: Optional[Number] = None
    threads: int = 0


class NetworkBounds(Mapping[str, FlowBound]):
    """The bounds of flows by an analysis: a mapping from the names of flows to `FlowBound`.

    Attributes
    ----------
    analysis : str
        The analysis that was asked for. Each bound names the one that found it.
    """

    analysis: str

    def __init__(self, analysis: str, bounds: Iterable[FlowBound], network: _native.Network) -> None:
        self.analysis = analysis
        self._bounds = {bound.flow: bound for bound in bounds}
        self._network = network

    def __getitem__(self, flow: str) -> FlowBound:
        try:
            return self._bounds[flow]
        except KeyError:
            known = ", ".join(list(self._bounds)[:10])
            raise NotFoundError(
                f"there is no bound of a flow {flow!r}", remedy=f"the flows are {known}"
            ) from None

    def __contains__(self, flow: object) -> bool:
        return flow in self._bounds

    def __iter__(self) -> Iterator[str]:
        return iter(self._bounds)

    def __len__(self) -> int:
        return len(self._bounds)

    def __repr__(self) -> str:
        return f"<NetworkBounds of {len(self)} flows by {self.analysis}>"

    def unbounded(self) -> dict[str, str]:
        """Returns the flows without a finite delay bound, each with the reason."""
        flows = [name for name, bound in self._bounds.items() if bound.delay_s == float("inf")]
        reasons = self._network.reasons(flows) if flows else []
        return {flow: reason for reason, names in reasons for flow in names}

    def rows(self) -> list[dict[str, Any]]:
        """Returns a row for each flow: its name, bounds in seconds and bits, and their origin."""
        return [
            {
                "flow": bound.flow,
                "delay_s": bound.delay_s,
                "backlog_bits": bound.backlog_bits,
                "analysis": bound.analysis,
                "proven": bound.proven,
            }
            for bound in self._bounds.values()
        ]

    def to_pandas(self) -> Any:
        """Returns the rows as a pandas.DataFrame, with the names of flows as its index.

        Raises
        ------
        MissingPackageError
            pandas is not installed.
        """
        frame = optional("pandas", "for data frames").DataFrame(self.rows())
        return frame.set_index("flow")

    def to_polars(self) -> Any:
        """Returns the rows as a polars.DataFrame.

        Raises
        ------
        MissingPackageError
            polars is not installed.
        """
        return optional("polars", "for data frames").DataFrame(self.rows())

    def _repr_html_(self) -> str:
        head = "<tr><th>flow</th><th>delay (s)</th><th>backlog (bits)</th><th>analysis</th></tr>"
        shown = self.rows()[:60]
        body = "".join(
            f"<tr><td>{html.escape(row['flow'])}</td><td>{row['delay_s']:.6g}</td>"
            f"<td>{row['backlog_bits']:.6g}</td><td>{row['analysis']}"
            f"{'' if row['proven'] else ' (not proven)'}</td></tr>"
            for row in shown
        )
        more = len(self) - len(shown)
        note = f"<p>and {more} more flows</p>" if more > 0 else ""
        return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>{note}"


class Network:
    """A network of servers and flows, of which delays and backlogs are bounded.

    Times are in seconds and data in bits.

    Parameters
    ----------
    name : str, optional
        The name of the network.
    """

    def __init__(self, name: str = "") -> None:
        self._native = _native.Network(name)

    @classmethod
    def read(cls, path: PathLike, /) -> Network:
        """Reads a network from a file, as the command ``planimeter bound`` does.

        Parameters
        ----------
        path : str or os.PathLike
            A file in Planimeter's own format (.toml, .json), of Saihu (.json) or WOPANets (.xml).

        Raises
        ------
        InputError
            The file cannot be read.
        NetworkError
            The file does not describe a network; ``where`` is the file and the line.
        """
        network = cls.__new__(cls)
        network._native = _native.Network.read(path)
        return network

    @classmethod
    def from_networkx(
        cls, graph: Any, flows: Mapping[str, Mapping[str, Any]], *, name: str = ""
    ) -> Network:
        """Builds a network from a graph of NetworkX, whose edges are the servers.

        Parameters
        ----------
        graph : networkx.DiGraph
            Each edge that a flow visits has the attribute ``service`` (a `Curve`), or ``rate`` and
            ``latency``. It may have the keyword arguments of `server` as further attributes. Its
            server is named ``"source->target"``.
        flows : mapping of str to mapping
            For each flow ``arrival``, and either ``path`` (nodes) or ``source`` and ``target``, between
            which a shortest path is taken; and the keyword arguments of `flow`.
        name : str, optional
            The name of the network.

        Raises
        ------
        NetworkError
            An edge has no service, or a flow is not complete.
        NotFoundError
            A flow visits an edge or node that does not exist.
        """
        from planimeter._graphs import add_graph

        network = cls(name)
        add_graph(network, graph, flows)
        return network

    @property
    def name(self) -> str:
        """The name of the network."""
        return self._native.name

    @property
    def servers(self) -> list[str]:
        """The names of the servers, in the order in which they were added."""
        return self._native.servers

    @property
    def flows(self) -> list[str]:
        """The names of the flows, in the order in which they were added."""
        return self._native.flows

    @property
    def notes(self) -> list[str]:
        """Remarks on the origin of the network which a reader of its bounds must know."""
        return self._native.notes

    def server(
        self,
        name: str,
        service: Curve,
        *,
        multiplexing: Order = "fifo",
        shaping: Optional[Curve] = None,
        strict: bool = True,
        maximum_service: Optional[Curve] = None,
        packetizer: bool = False,
        regulator: Optional[RegulatorName] = None,
        eliminates: bool = False,
    ) -> None:
        """Adds a server.

        Parameters
        ----------
        name : str
            The name of the server.
        service : Curve
            Its service curve, in bits over seconds.
        multiplexing : {'fifo', 'arbitrary', 'static-priority'}
            The order in which it serves data of different flows.
        shaping : Curve, optional
            An arrival curve of its output, such as the rate of its link.
        strict : bool
            Whether the service curve is strict: it holds whenever the server is backlogged.
        maximum_service : Curve, optional
            An upper bound on the data that it serves.
        packetizer : bool
            Whether it sends whole packets.
        regulator : {'per-flow', 'interleaved'}, optional
            The regulator after the server.
        eliminates : bool
            Whether it eliminates copies of replicated flows.

        Raises
        ------
        NetworkError
            The name is taken.
        RefusedError
            The network was read from a file.
        """
        self._native.add_server(
            name,
            service,
            multiplexing=multiplexing,
            strict=strict,
            maximum_service=maximum_service,
            shaping=shaping,
            packetizer=packetizer,
            regulator=regulator,
            eliminates=eliminates,
        )

    def port(
        self,
        name: str,
        rate: Number,
        *,
        scheduler: SchedulerName,
        classes: Iterable[PortClass],
        latency: Number = 0,
        cycle: Optional[Number] = None,
        regulator: Optional[RegulatorName] = None,
    ) -> None:
        """Adds an output port, whose link is shared by classes of traffic.

        A flow visits the port by its name; its priority selects the class.

        Parameters
        ----------
        name : str
            The name of the port.
        rate : Number
            The rate of the link, in bits per second.
        scheduler : str
            The scheduler: 'credit-based', 'gated', 'deficit-round-robin', 'weighted-round-robin' or
            'interleaved-weighted-round-robin'.
        classes : iterable of PortClass
            The classes of traffic.
        latency : Number
            The time until an arrived packet is in its queue, in seconds.
        cycle : Number, optional
            The length of the cycle of gates, in seconds.
        regulator : {'per-flow', 'interleaved'}, optional
            The regulator after each queue.

        Raises
        ------
        NetworkError
            The port is not valid.
        """
        listed: list[ClassOfPort] = list(classes)
        self._native.add_port(
            name,
            rate,
            scheduler=scheduler,
            classes=listed,
            latency=latency,
            cycle=cycle,
            regulator=regulator,
        )

    def flow(
        self,
        name: str,
        path: Sequence[str],
        arrival: Curve,
        *,
        priority: int = 0,
        maximum_packet: Number = 0,
        maximum_delay_s: Optional[Number] = None,
        multicast: Optional[str] = None,
        replicated: Optional[str] = None,
    ) -> None:
        """Adds a flow.

        Parameters
        ----------
        name : str
            The name of the flow.
        path : sequence of str
            The servers and ports that it visits, in their order.
        arrival : Curve
            Its arrival curve, in bits over seconds.
        priority : int
            Its priority; 0 is the most urgent.
        maximum_packet : Number
            The size of its largest packet in bits, or 0 for a fluid.
        maximum_delay_s : Number, optional
            The delay that it must not exceed. No bound depends on it.
        multicast : str, optional
            The group of flows that carry the same data to several destinations.
        replicated : str, optional
            The group of flows that carry copies of the same packets on several paths.

        Raises
        ------
        NotFoundError
            The path names a server that does not exist.
        NetworkError
            The name is taken.
        RefusedError
            The network was read from a file.
        """
        self._native.add_flow(
            name,
            path,
            arrival,
            priority=priority,
            maximum_packet=maximum_packet,
            maximum_delay=maximum_delay_s,
            multicast=multicast,
            replicated=replicated,
        )

    def link(self, source: str, target: str, shaping: Curve) -> None:
        """Adds a shaping curve for the flows that go from one server directly to another.

        Parameters
        ----------
        source, target : str
            The names of the servers.
        shaping : Curve
            An arrival curve of all these flows together.

        Raises
        ------
        NotFoundError
            A server does not exist.
        """
        self._native.add_link(source, target, shaping)

    def service(self, server: str) -> Curve:
        """Returns the service curve of a server, or of the queue of a port (``port/class``)."""
        return self._native.service_of(server)

    def arrival(self, flow: str) -> Curve:
        """Returns the arrival curve of a flow."""
        return self._native.arrival_of(flow)

    def path(self, flow: str) -> list[str]:
        """Returns the names of the servers that a flow visits."""
        return self._native.path_of(flow)[0]

    def maximum_delay(self, flow: str) -> Optional[Fraction]:
        """Returns the delay that a flow must not exceed, in seconds, or None."""
        return self._native.path_of(flow)[1]

    def loads(self) -> dict[str, float]:
        """Returns the load of each server: its arrival rate divided by its service rate."""
        return dict(self._native.loads())

    def bounds(
        self,
        analysis: Optional[AnalysisName] = None,
        *,
        flows: Optional[Iterable[str]] = None,
        multiplexing: Optional[Order] = None,
        flow_of_interest: RoleName = "lowest-priority",
        arrival_bounds: Sequence[ArrivalBoundName] = ("aggregate-pboo",),
        cap_bursts: bool = False,
        prolong: bool = False,
        deadline_s: Optional[Number] = None,
        threads: int = 0,
        progress: Optional[Callable[[int, int], object]] = None,
    ) -> NetworkBounds:
        """Bounds the delay and the backlog of flows.

        The call runs without the GIL and ends within 0.2 s after Ctrl-C.

        Parameters
        ----------
        analysis : str, optional
            The analysis. By default 'best', the smallest bound of all that are proven and apply, and
            'quick' for networks whose flows have more than 2000 hops together.
        flows : iterable of str, optional
            The flows. By default all.
        multiplexing : {'fifo', 'arbitrary', 'static-priority'}, optional
            The order of service at all servers, instead of their own.
        flow_of_interest : str
            Whether the flow itself delays its cross traffic: 'lowest-priority' (as DNC; not proven in
            all networks), 'lowest-priority-where-proven' or 'interferes'.
        arrival_bounds : sequence of str
            The methods that bound arrivals of cross traffic, of which the least counts.
        cap_bursts : bool
            Whether bursts are also bounded by the backlog of the server from which they come.
        prolong : bool
            Whether cross traffic is assumed to stay longer where that helps ('pmoo' and 'tma').
        deadline_s : Number, optional
            The delay in seconds that 'best' and 'quick' must prove. The search for a smaller bound
            of a flow ends there.
        threads : int
            The number of threads; 0 is one for each core.
        progress : callable, optional
            Called about every 50 ms with the number of flows that are bounded, and of all.

        Returns
        -------
        NetworkBounds
            A mapping from the names of flows to their bounds. Bounds are infinite at overloaded
            servers; `NetworkBounds.unbounded` says why.

        Raises
        ------
        NetworkError
            The network is not valid, or the analysis does not apply to it.
        NotFoundError
            A flow does not exist.
        InputError
            A name of an analysis or method is not known.
        """
        settings = _Settings(
            multiplexing, flow_of_interest, arrival_bounds, cap_bursts, prolong, deadline_s, threads
        )
        named = None if flows is None else list(flows)
        name, bounds = self._native.bound_flows(analysis, named, settings, progress)
        return NetworkBounds(name, bounds, self._native)

    def server_bounds(
        self, analysis: Optional[AnalysisName] = None, *, multiplexing: Optional[Order] = None, threads: int = 0
    ) -> dict[str, ServerBound]:
        """Bounds the delay and the backlog of all traffic at each server.

        Parameters
        ----------
        analysis : str, optional
            'tfa' or 'tfa++'. For all others, the smaller bound of these two is taken.
        multiplexing : {'fifo', 'arbitrary', 'static-priority'}, optional
            The order of service at all servers, instead of their own.
        threads : int
            The number of threads; 0 is one for each core.

        Returns
        -------
        dict of str to ServerBound
            The bounds by the names of servers.

        Raises
        ------
        NetworkError
            The network is not valid, or the analysis does not apply to it.
        """
        settings = _Settings(multiplexing, threads=threads)
        return {bound.server: bound for bound in self._native.bound_servers(analysis, settings)}

    def simulate(self, flow: str, *, multiplexing: Optional[Order] = None) -> Optional[Run]:
        """Searches for a run of the network in which a flow has a long delay.

        Parameters
        ----------
        flow : str
            The flow.
        multiplexing : {'fifo', 'arbitrary', 'static-priority'}, optional
            The order of service at all servers, instead of their own.

        Returns
        -------
        Run or None
            The longest delay and the largest backlog that were found: lower bounds of the worst case.
            None if the simulation does not support the network.

        Raises
        ------
        NotFoundError
            The flow does not exist.
        """
        run = self._native.simulate(flow, _Settings(multiplexing))
        return None if run is None else Run(*run)

    def __repr__(self) -> str:
        return f"<Network {self.name!r}>" if self.name else "<Network>"
