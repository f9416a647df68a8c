//! Planimeter's own format: `[[server]]`, `[[port]]`, `[[class]]`, `[[flow]]`, `[[link]]` and
//! `clocks`, with the terms of network calculus.

use std::collections::{BTreeMap, HashMap};

use super::curves::{Bounds, Given, curve};
use super::ports::{self, Named};
use super::quantity::{Dimension, Units, unit};
use super::tree::{Fields, Node};
use super::{FormatError, path};
use crate::Rational;
use crate::excerpt::excerpt;
use crate::network::{
    Clocks, Flow, Link, ModelError, Multiplexing, Network, NetworkBuilder, Part, Priority,
    Regulator, Server, ServerId, Unit,
};

/// Reads a network in Planimeter's own format from the root of a file.
pub(super) fn network(root: &Node<'_>) -> Result<Network, FormatError> {
    let known = [
        "name",
        "time-unit",
        "data-unit",
        "rate-unit",
        "multiplexing",
        "packetizer",
        "regulator",
        "clocks",
        "server",
        "port",
        "class",
        "flow",
        "link",
    ];
    let fields = root.fields(&known)?;
    let name = fields.get("name").map_or(Ok(""), Node::text)?;
    let units = units(&fields)?;
    let common = Common {
        multiplexing: fields.get("multiplexing").map(multiplexing).transpose()?,
        packetizer: fields.get("packetizer").map_or(Ok(false), Node::flag)?,
        regulator: fields.get("regulator").map_or(Ok(None), regulator)?,
    };
    let mut builder = NetworkBuilder::new(name);
    if let Some(node) = fields.get("time-unit") {
        builder.time_unit(Unit { name: node.text()?.to_owned(), size: units.time.clone() });
    }
    if let Some(node) = fields.get("data-unit") {
        builder.data_unit(Unit { name: node.text()?.to_owned(), size: units.data.clone() });
    }
    let mut ids = HashMap::new();
    let mut labels: Vec<Label> = Vec::new();
    for node in fields.get("server").map_or(Ok(&[][..]), Node::list)? {
        let (server, outlined) = server(node, &units, &common)?;
        let name = server.name.clone();
        // A second server of the same name is an error when the network is built.
        let id = builder.server(server);
        if outlined {
            builder.outlined(Part::Server(id));
        }
        if let Some(text) = node.any_fields()?.get("rests-on") {
            let (server, text) = (name.clone(), text.text()?.to_owned());
            labels.push(Label { id, server, text, flows: Vec::new() });
        }
        ids.entry(name).or_insert(id);
    }
    let placed = ports(&fields, &units, &common, &mut ids, &mut builder)?;
    let mut classes = classes(&fields, &units)?;
    for node in fields.get("flow").map_or(Ok(&[][..]), Node::list)? {
        let (mut flow, outlined) = flow(node, &units, &ids, &placed)?;
        if let Some(class) = classes.get_mut(&flow.priority) {
            class.has_flows = true;
            flow.maximum_delay.get_or_insert_with(|| class.maximum_delay.clone());
        }
        for label in labels.iter_mut().filter(|label| flow.path.contains(&label.id)) {
            label.flows.push(flow.name.clone());
        }
        let id = builder.flow(flow);
        if outlined {
            builder.outlined(Part::Flow(id));
        }
    }
    if let Some(class) = classes.values().find(|class| !class.has_flows) {
        return Err(class.node.fault("is a class without flows: none has its priority"));
    }
    for node in fields.get("link").map_or(Ok(&[][..]), Node::list)? {
        let (link, outlined) = link(node, &units, &ids)?;
        if outlined {
            builder.outlined(Part::Link(link.from, link.to));
        }
        builder.link(link);
    }
    labels.iter().filter_map(Label::note).for_each(|note| builder.note(note));
    let network = builder.build()?;
    let Some(node) = fields.get("clocks") else { return Ok(network) };
    network
        .by_clocks(&clocks(node, &units)?)
        .map_err(|error| node.fault(format!("do not fit: {error}")))
}

/// The label of a server, a text in the file that says what its service curve stands for.
struct Label {
    id: ServerId,
    server: String,
    text: String,
    /// The names of the flows that visit the server.
    flows: Vec<String>,
}

impl Label {
    /// Returns a remark which names the flows whose bounds depend on the server, or `None` if no
    /// flow visits the server.
    fn note(&self) -> Option<String> {
        let flows = match self.flows.as_slice() {
            [] => return None,
            [one] => format!("flow '{one}'"),
            [first, others @ ..] => format!("flow '{first}' and {} more", others.len()),
        };
        let Self { server, text, .. } = self;
        Some(format!("the bounds of {flows} rest on server '{server}', {text}"))
    }
}

/// Reads the ports of a file, and adds their queues to the servers by name.
fn ports(
    fields: &Fields<'_>,
    units: &Units,
    common: &Common,
    ids: &mut HashMap<String, ServerId>,
    builder: &mut NetworkBuilder,
) -> Result<Vec<Named>, FormatError> {
    let mut placed = Vec::new();
    for node in fields.get("port").map_or(Ok(&[][..]), Node::list)? {
        let (port, regulated) = ports::port(node, units)?;
        let name = port.name.clone();
        if ids.contains_key(&name) || placed.iter().any(|other: &Named| other.name == name) {
            return Err(ModelError::Duplicate { kind: "server or port", name }.into());
        }
        let queues =
            builder.port(port).map_err(|error| node.fault(format!("is not a port: {error}")))?;
        let regulator = regulated.map_or(Ok(common.regulator), regulator)?;
        for (id, _) in &queues {
            builder.regulate(*id, regulator);
        }
        placed.push(Named { name, queues });
    }
    // In links and paths, a queue is named "port/classes".
    for (id, name) in placed.iter().flat_map(|port| {
        port.queues.iter().map(|(id, classes)| {
            let classes: Vec<String> = classes.iter().map(Priority::to_string).collect();
            (*id, format!("{}/{}", port.name, classes.join(",")))
        })
    }) {
        ids.entry(name).or_insert(id);
    }
    Ok(placed)
}

/// The delay requirement of a priority, for its flows that have none of their own.
struct Class<'a> {
    node: &'a Node<'a>,
    maximum_delay: Rational,
    has_flows: bool,
}

fn classes<'a>(
    fields: &Fields<'a>,
    units: &Units,
) -> Result<BTreeMap<Priority, Class<'a>>, FormatError> {
    let mut classes = BTreeMap::new();
    for node in fields.get("class").map_or(Ok(&[][..]), Node::list)? {
        let of_class = node.fields(&["priority", "maximum-delay"])?;
        let priority = of_class.need("priority")?.whole().map(Priority)?;
        let maximum_delay = units.read(of_class.need("maximum-delay")?, Dimension::Time)?;
        if classes.insert(priority, Class { node, maximum_delay, has_flows: false }).is_some() {
            return Err(node.fault(format!("is a second class of priority {priority}")));
        }
    }
    Ok(classes)
}

/// Reads the bounds on the deviation of clocks from true time.
fn clocks(node: &Node<'_>, units: &Units) -> Result<Clocks, FormatError> {
    let fields = node.fields(&["stability", "jitter", "error"])?;
    let time = |node: &Node<'_>| units.read(node, Dimension::Time);
    Ok(Clocks {
        stability: fields.get("stability").map_or(Ok(Rational::ONE), Node::number)?,
        jitter: fields.get("jitter").map_or(Ok(Rational::ZERO), time)?,
        error: fields.get("error").map(time).transpose()?,
    })
}

fn regulator(node: &Node<'_>) -> Result<Option<Regulator>, FormatError> {
    match node.text()? {
        "none" => Ok(None),
        "per-flow" => Ok(Some(Regulator::PerFlow)),
        "interleaved" => Ok(Some(Regulator::Interleaved)),
        _ => Err(node.fault("must be none, per-flow or interleaved")),
    }
}

/// The properties of servers that have none of their own.
struct Common {
    multiplexing: Option<Multiplexing>,
    packetizer: bool,
    regulator: Option<Regulator>,
}

fn units(fields: &Fields<'_>) -> Result<Units, FormatError> {
    let of = |name: &str, dimension: Dimension| {
        let Some(node) = fields.get(name) else { return Ok(None) };
        let text = node.text()?;
        match unit(text, dimension) {
            Some(size) => Ok(Some(size)),
            None => Err(node.fault(format!("'{}' is not a known unit", excerpt(text)))),
        }
    };
    let mut units = Units::default();
    if let Some(time) = of("time-unit", Dimension::Time)? {
        units.time = time;
    }
    if let Some(data) = of("data-unit", Dimension::Data)? {
        units.data = data;
    }
    if let Some(rate) = of("rate-unit", Dimension::Rate)? {
        units.rate = rate;
    }
    Ok(units)
}

fn multiplexing(node: &Node<'_>) -> Result<Multiplexing, FormatError> {
    match node.text()? {
        "fifo" => Ok(Multiplexing::Fifo),
        "arbitrary" => Ok(Multiplexing::Arbitrary),
        "static-priority" => Ok(Multiplexing::StaticPriority),
        _ => Err(node.fault("must be fifo, arbitrary or static-priority")),
    }
}

/// Reads a server. The second result is whether one of its curves is an outline: a simple bound on
/// a curve whose period is too long.
fn server(node: &Node<'_>, units: &Units, common: &Common) -> Result<(Server, bool), FormatError> {
    let known = [
        "name",
        "service",
        "strict",
        "maximum-service",
        "shaping",
        "multiplexing",
        "packetizer",
        "regulator",
        "eliminates",
        "rests-on",
    ];
    let fields = node.fields(&known)?;
    let above =
        |name: &str| fields.get(name).map(|node| curve(node, units, Bounds::FromAbove)).transpose();
    let service = curve(fields.need("service")?, units, Bounds::FromBelow)?;
    let (maximum_service, shaping) = (above("maximum-service")?, above("shaping")?);
    let limits = [&maximum_service, &shaping].into_iter().flatten();
    let outlined = limits.chain([&service]).any(|given| given.outlined);
    let curve = |given: Option<Given>| given.map(|given| given.curve);
    let server = Server {
        name: fields.need("name")?.text()?.to_owned(),
        service: service.curve,
        strict: fields.get("strict").map_or(Ok(true), Node::flag)?,
        maximum_service: curve(maximum_service),
        shaping: curve(shaping),
        multiplexing: match fields.get("multiplexing") {
            Some(node) => multiplexing(node)?,
            None => common.multiplexing.unwrap_or_default(),
        },
        packetizer: fields.get("packetizer").map_or(Ok(common.packetizer), Node::flag)?,
        regulator: fields.get("regulator").map_or(Ok(common.regulator), regulator)?,
        eliminates: fields.get("eliminates").map_or(Ok(false), Node::flag)?,
    };
    Ok((server, outlined))
}

/// Reads a flow. The second result is whether its arrival curve is an outline: a simple bound on a
/// curve whose period is too long.
fn flow(
    node: &Node<'_>,
    units: &Units,
    servers: &HashMap<String, ServerId>,
    ports: &[Named],
) -> Result<(Flow, bool), FormatError> {
    let fields = node.fields(&[
        "name",
        "path",
        "arrival",
        "priority",
        "maximum-packet",
        "maximum-delay",
        "multicast",
        "replicated",
    ])?;
    let name = fields.need("name")?.text()?;
    let priority = fields.get("priority").map_or(Ok(0), Node::whole).map(Priority)?;
    let path = path(name, fields.need("path")?, |step, name| {
        if let Some(id) = servers.get(name) {
            return Ok(Some(*id));
        }
        let port = ports.iter().find(|port| port.name == name);
        port.map(|port| port.queue(step, priority)).transpose()
    })?;
    let arrival = curve(fields.need("arrival")?, units, Bounds::FromAbove)?;
    let mut flow = Flow::new(name, path, arrival.curve).prioritised(priority);
    if let Some(node) = fields.get("maximum-packet") {
        flow.maximum_packet = units.read(node, Dimension::Data)?;
    }
    if let Some(node) = fields.get("maximum-delay") {
        flow.maximum_delay = Some(units.read(node, Dimension::Time)?);
    }
    if let Some(node) = fields.get("multicast") {
        flow.multicast = Some(node.text()?.to_owned());
    }
    if let Some(node) = fields.get("replicated") {
        flow.replicated = Some(node.text()?.to_owned());
    }
    Ok((flow, arrival.outlined))
}

/// Reads a link. The second result is whether its shaping curve is an outline: a simple bound on a
/// curve whose period is too long.
fn link(
    node: &Node<'_>,
    units: &Units,
    servers: &HashMap<String, ServerId>,
) -> Result<(Link, bool), FormatError> {
    let fields = node.fields(&["from", "to", "shaping"])?;
    let server = |name: &str| {
        let node = fields.need(name)?;
        let text = node.text()?;
        servers
            .get(text)
            .copied()
            .ok_or_else(|| node.fault(format!("'{}' is not the name of a server", excerpt(text))))
    };
    let shaping = curve(fields.need("shaping")?, units, Bounds::FromAbove)?;
    let link = Link { from: server("from")?, to: server("to")?, shaping: shaping.curve };
    Ok((link, shaping.outlined))
}
