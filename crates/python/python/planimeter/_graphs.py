"""Networks from graphs of NetworkX."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

from planimeter._native import Curve
from planimeter._packages import optional
from planimeter.errors import NetworkError, NotFoundError

if TYPE_CHECKING:
    from planimeter.calculus import Network

# The keyword arguments of `Network.server` that an edge may have as attributes.
_OF_SERVER = (
    "multiplexing",
    "strict",
    "maximum_service",
    "shaping",
    "packetizer",
    "regulator",
    "eliminates",
)
# The keyword arguments of `Network.flow` that a flow may have.
_OF_FLOW = ("priority", "maximum_packet", "maximum_delay_s", "multicast", "replicated")


def name_of_edge(source: Hashable, target: Hashable) -> str:
    """Returns the name of the server of an edge."""
    return f"{source}->{target}"


def _service(attributes: Mapping[str, Any], where: str) -> Curve:
    if "service" in attributes:
        service = attributes["service"]
        if not isinstance(service, Curve):
            raise NetworkError("the service is not a Curve", where=where)
        return service
    if "rate" in attributes:
        return Curve.rate_latency(attributes["rate"], attributes.get("latency", 0))
    raise NetworkError(
        "the edge has no service",
        where=where,
        remedy="give it the attribute service (a Curve), or rate and latency",
    )


def add_graph(network: Network, graph: Any, flows: Mapping[str, Mapping[str, Any]]) -> None:
    """Adds the servers and flows of a graph. `Network.from_networkx` explains the parameters."""
    visited: dict[tuple[Hashable, Hashable], None] = {}
    paths: dict[str, list[Hashable]] = {}
    for name, flow in flows.items():
        where = f"flow '{name}'"
        unknown = set(flow) - {"path", "source", "target", "arrival", *_OF_FLOW}
        if unknown:
            raise NetworkError(f"the attribute {sorted(unknown)[0]!r} is not known", where=where)
        if "arrival" not in flow:
            raise NetworkError("the arrival curve is missing", where=where)
        paths[name] = nodes = _nodes(graph, flow, where)
        for edge in zip(nodes, nodes[1:]):
            if not graph.has_edge(*edge):
                raise NotFoundError(f"there is no edge {name_of_edge(*edge)}", where=where)
            visited[edge] = None
    for source, target in visited:
        edge_name = name_of_edge(source, target)
        attributes = graph.edges[source, target]
        options = {key: attributes[key] for key in _OF_SERVER if key in attributes}
        network.server(edge_name, _service(attributes, f"edge {edge_name}"), **options)
    for name, flow in flows.items():
        nodes = paths[name]
        path = [name_of_edge(*edge) for edge in zip(nodes, nodes[1:])]
        options = {key: flow[key] for key in _OF_FLOW if key in flow}
        network.flow(name, path, flow["arrival"], **options)


def _nodes(graph: Any, flow: Mapping[str, Any], where: str) -> list[Hashable]:
    if graph.is_multigraph():
        raise NetworkError("a multigraph has several edges between two nodes", remedy="use a DiGraph")
    if "path" in flow:
        return list(flow["path"])
    if "source" not in flow or "target" not in flow:
        raise NetworkError("the path is missing", where=where, remedy="give path, or source and target")
    networkx = optional("networkx", "to find the paths of flows")
    try:
        return list(networkx.shortest_path(graph, flow["source"], flow["target"]))
    except (networkx.NetworkXNoPath, networkx.NodeNotFound) as error:
        raise NotFoundError(str(error), where=where) from None
