//! Draws a network as a graph of servers and the paths of flows. Servers with a higher load have a
//! deeper colour.

use calculus::network::ServerId;
use calculus::network::describe::Round;

use super::Bounds;
use super::table::figure;
use crate::format::printable;
use crate::page::Figure;
use crate::plot::{Graph, GraphNode, GraphWay};

/// The largest number of servers with flows for which the graph of a network shows all of them.
const ALL_DRAWN: usize = 40;
/// The number of servers that are drawn if the network has more than [`ALL_DRAWN`].
const SOME_DRAWN: usize = 30;

/// Returns the graph of a network, or `None` if the network has no flows.
pub(super) fn figure_of(bounds: &Bounds<'_>) -> Option<Figure> {
    let network = bounds.network;
    let ratio = |id: &ServerId| bounds.loads.get(id.index()).map_or(0.0, |load| load.ratio());
    let mut drawn: Vec<ServerId> = network
        .servers()
        .map(|(id, _)| id)
        .filter(|id| !network.flows_at(*id).is_empty())
        .collect();
    let count = drawn.len();
    if count > ALL_DRAWN {
        // The most loaded servers are drawn. Among equal loads, those with most flows come first.
        drawn.sort_by(|a, b| {
            let flows = |id: &ServerId| network.flows_at(*id).len();
            ratio(b).total_cmp(&ratio(a)).then_with(|| flows(b).cmp(&flows(a)))
        });
        drawn.truncate(SOME_DRAWN);
        drawn.sort_unstable();
    }
    let mut places = vec![None; network.servers().len()];
    for (place, id) in drawn.iter().enumerate() {
        places[id.index()] = Some(place);
    }
    let nodes = drawn.iter().map(|id| {
        let name = printable(&network.server(*id).name);
        let flows = network.flows_at(*id).len();
        let found = bounds.servers.iter().find(|bound| bound.server == *id);
        let delay = found.map_or_else(String::new, |bound| {
            let delay = figure(bounds, &bound.delay, true, Round::Up);
            format!(", delay {delay} {}", bounds.time_unit.name)
        });
        let load = 100.0 * ratio(id);
        let tip = format!("{name}: load {load:.1} %, flows {flows}{delay}");
        GraphNode { name, value: ratio(id), tip }
    });
    let nodes: Vec<GraphNode> = nodes.collect();
    let ways: Vec<GraphWay> = network
        .flows()
        .map(|(_, flow)| GraphWay {
            name: printable(&flow.name),
            nodes: flow.path.iter().map(|id| places[id.index()]).collect(),
        })
        .filter(|way: &GraphWay| way.nodes.iter().any(Option::is_some))
        .collect();
    if ways.is_empty() {
        return None;
    }
    let remark = match count > ALL_DRAWN {
        true => format!(
            "The {SOME_DRAWN} most loaded of {count} servers with flows; where flows pass others in between, no line is drawn."
        ),
        false => String::new(),
    };
    let graph = Graph {
        title: "Servers and flows".to_owned(),
        description: "Servers as boxes, joined where flows go from one to the next; the deeper the colour, the larger the load. \
                      The tables below have the same figures."
            .to_owned(),
        node_title: "server".to_owned(),
        way_title: "flow".to_owned(),
        value_title: "load".to_owned(),
        nodes,
        ways,
    };
    Some(Figure::graph(graph, remark))
}
