//! Saihu's output-port networks (Tsai, Tabatabaee, Plassart and Le Boudec, "Saihu: a common
//! interface of worst-case delay analysis tools for time-sensitive networks", 2023).
//!
//! Token buckets are given by `bursts` and `rates`, rate-latency curves by `latencies` and `rates`.
//! The unit of a number is the one that is written with it. If there is none, it is that of its
//! flow or server, or else that of the network. By default, units are seconds, bits and bits per
//! second. The `capacity` of a server shapes its output, unless `analysis_option` exists and does
//! not list `IS` (input shaping). A service rate above the capacity is lowered to the capacity. A
//! flow with `multicast` becomes several flows, named `flow_path`, which carry the same data until
//! their paths part.

use std::collections::HashMap;

use super::foreign::{self, Options, Way};
use super::quantity::{Dimension, Units, unit};
use super::tree::{Fields, Node};
use super::{FormatError, path};
use crate::excerpt::excerpt;
use crate::network::{Flow, Multiplexing, Network, NetworkBuilder, Server, ServerId, Unit};
use crate::{Curve, Rational};

/// The fields of a network. Those about curves, capacity and packets are defaults for its flows and
/// servers.
const OF_NETWORK: [&str; 12] = [
    "name",
    "multiplexing",
    "packetizer",
    "analysis_option",
    "time_unit",
    "data_unit",
    "rate_unit",
    "arrival_curve",
    "service_curve",
    "capacity",
    "max_packet_length",
    "min_packet_length",
];
/// The fields of a server, and of a flow. Saihu adds an `id` to both when it writes files.
const OF_SERVER: [&str; 7] =
    ["name", "service_curve", "capacity", "time_unit", "data_unit", "rate_unit", "id"];
const OF_FLOW: [&str; 11] = [
    "name",
    "path",
    "path_name",
    "multicast",
    "arrival_curve",
    "max_packet_length",
    "min_packet_length",
    "time_unit",
    "data_unit",
    "rate_unit",
    "id",
];

/// Reads a network in Saihu's format from the root of a file.
pub(super) fn network(root: &Node<'_>) -> Result<Network, FormatError> {
    // The adjacency matrix is not used, because it follows from the paths.
    let fields = root.fields(&["network", "flows", "servers", "adjacency_matrix"])?;
    let nothing = Node::empty();
    let common = fields.get("network").unwrap_or(&nothing);
    let common = common.fields(&OF_NETWORK)?;
    let units = units(&common, &Units::default())?;
    let name = common.get("name").map_or(Ok(""), Node::text)?;
    let mut builder = NetworkBuilder::new(name);
    let mut options = Options::default();
    if let Some(node) = common.get("multiplexing") {
        multiplexing(node, &mut options)?;
    }
    if let Some(node) = common.get("analysis_option") {
        for option in node.list()? {
            options.add(option.text()?).map_err(|message| option.fault(message))?;
        }
    }
    options.note(&mut builder);
    let general = General {
        multiplexing: options.order.unwrap_or(Multiplexing::Fifo),
        packetizer: common.get("packetizer").map_or(Ok(false), Node::flag)? || options.packetizer,
        shaping: common.get("analysis_option").is_none() || options.shaping,
        units: units.clone(),
        fields: common,
    };
    if let Some(node) = common.get("time_unit") {
        builder.time_unit(Unit { name: node.text()?.to_owned(), size: units.time.clone() });
    }
    if let Some(node) = common.get("data_unit") {
        builder.data_unit(Unit { name: node.text()?.to_owned(), size: units.data.clone() });
    }
    let mut ids = HashMap::new();
    for node in fields.need("servers")?.list()? {
        let server = server(node, &general, &mut builder)?;
        let name = server.name.clone();
        let id = builder.server(server);
        ids.entry(name).or_insert(id);
    }
    let mut fluids = Vec::new();
    for node in fields.need("flows")?.list()? {
        let like = flow(node, &general, &ids, &mut builder)?;
        if general.packetizer && !like.maximum_packet.is_positive() {
            fluids.push(like.name);
        }
    }
    foreign::note_fluids(&fluids, &mut builder);
    Ok(builder.build()?)
}

/// The properties of the network that apply to all its flows and servers.
struct General<'a> {
    multiplexing: Multiplexing,
    packetizer: bool,
    shaping: bool,
    units: Units,
    /// The fields of the network, some of which are defaults for flows and servers.
    fields: Fields<'a>,
}

fn multiplexing(node: &Node<'_>, options: &mut Options) -> Result<(), FormatError> {
    let word = node.text()?;
    match word.to_ascii_uppercase().as_str() {
        "FIFO" | "ARBITRARY" => options.add(word).map_err(|message| node.fault(message)),
        _ => Err(node.fault("must be FIFO or ARBITRARY")),
    }
}

/// Returns the units of a network, flow or server. It inherits those that it does not define from
/// `outside`.
fn units(fields: &Fields<'_>, outside: &Units) -> Result<Units, FormatError> {
    let of = |name: &str, dimension: Dimension, outside: &Rational| {
        let Some(node) = fields.get(name) else { return Ok(outside.clone()) };
        let text = node.text()?;
        unit(text, dimension)
            .ok_or_else(|| node.fault(format!("'{}' is not a known unit", excerpt(text))))
    };
    Ok(Units {
        time: of("time_unit", Dimension::Time, &outside.time)?,
        data: of("data_unit", Dimension::Data, &outside.data)?,
        rate: of("rate_unit", Dimension::Rate, &outside.rate)?,
    })
}

/// Reads a curve as pairs of numbers from two lists of equal length: the one named `first`, and
/// `rates`.
fn pairs(
    node: &Node<'_>,
    first: &str,
    of_first: Dimension,
    units: &Units,
) -> Result<Vec<(Rational, Rational)>, FormatError> {
    let fields = node.fields(&[first, "rates"])?;
    let (firsts, rates) = (fields.need(first)?.list()?, fields.need("rates")?.list()?);
    if firsts.len() != rates.len() || firsts.is_empty() {
        let (a, b) = (firsts.len(), rates.len());
        return Err(node.fault(format!("has {a} {first} and {b} rates; it takes as many of both")));
    }
    firsts
        .iter()
        .zip(rates)
        .map(|(first, rate)| Ok((units.read(first, of_first)?, units.read(rate, Dimension::Rate)?)))
        .collect()
}

/// Returns a field of a flow or server. If it has no such field, returns the default of the
/// network. The second result says whether the field is that of the flow or server itself.
fn field<'a>(
    fields: &Fields<'a>,
    general: &General<'a>,
    name: &str,
) -> Option<(&'a Node<'a>, bool)> {
    let own = fields.get(name).map(|node| (node, true));
    own.or_else(|| general.fields.get(name).map(|node| (node, false)))
}

fn server(
    node: &Node<'_>,
    general: &General<'_>,
    builder: &mut NetworkBuilder,
) -> Result<Server, FormatError> {
    let fields = node.fields(&OF_SERVER)?;
    let own = units(&fields, &general.units)?;
    let chosen = |is_own: bool| if is_own { &own } else { &general.units };
    let name = fields.need("name")?.text()?;
    let (service, is_own) = field(&fields, general, "service_curve")
        .ok_or_else(|| node.fault("has no 'service_curve'"))?;
    let pairs = pairs(service, "latencies", Dimension::Time, chosen(is_own))?;
    let curves = pairs.into_iter().map(|(latency, rate)| (rate, latency));
    let curve = Curve::rate_latencies(curves)
        .map_err(|error| service.fault(format!("is not a curve: {error}")))?;
    let mut server = Server::new(name, curve).multiplexed(general.multiplexing);
    server.packetizer = general.packetizer;
    let Some((capacity, is_own)) = field(&fields, general, "capacity") else { return Ok(server) };
    let rate = chosen(is_own).read(capacity, Dimension::Rate)?;
    foreign::limited(server, rate, general.shaping, builder)
        .map_err(|error| capacity.fault(format!("is not a capacity: {error}")))
}

/// Adds the flows that a node describes, one for each destination. Returns a flow with their common
/// properties.
fn flow(
    node: &Node<'_>,
    general: &General<'_>,
    servers: &HashMap<String, ServerId>,
    builder: &mut NetworkBuilder,
) -> Result<Flow, FormatError> {
    let fields = node.fields(&OF_FLOW)?;
    let own = units(&fields, &general.units)?;
    let chosen = |is_own: bool| if is_own { &own } else { &general.units };
    let name = fields.need("name")?.text()?;
    let (arrival, is_own) = field(&fields, general, "arrival_curve")
        .ok_or_else(|| node.fault("has no 'arrival_curve'"))?;
    let buckets = pairs(arrival, "bursts", Dimension::Data, chosen(is_own))?;
    let curve = Curve::token_buckets(buckets)
        .map_err(|error| arrival.fault(format!("is not a curve: {error}")))?;
    let mut like = Flow::new(name, Vec::new(), curve);
    if let Some((packet, is_own)) = field(&fields, general, "max_packet_length") {
        like.maximum_packet = chosen(is_own).read(packet, Dimension::Data)?;
    }
    if let Some((packet, is_own)) = field(&fields, general, "min_packet_length") {
        // Bounds do not depend on the smallest packet, but an invalid size is an error.
        chosen(is_own).read(packet, Dimension::Data)?;
    }
    let further = fields.get("multicast").map_or(Ok(&[][..]), Node::list)?;
    let own_path = fields.need("path")?;
    let own_name = fields.get("path_name");
    let mut ways = vec![way(name, own_path, servers)?];
    for node in further {
        let fields = node.fields(&["name", "path"])?;
        ways.push(way(name, fields.need("path")?, servers)?);
    }
    if ways.len() > 1 {
        let names = further.iter().map(|node| Ok(node.any_fields()?.get("name")));
        let names: Result<Vec<_>, FormatError> = [Ok(own_name)].into_iter().chain(names).collect();
        for (index, (way, given)) in ways.iter_mut().zip(names?).enumerate() {
            way.name = match given {
                Some(given) => format!("{name}_{}", given.text()?),
                None => format!("{name}_p{index}"),
            };
        }
    }
    foreign::add_ways(builder, name, ways, &like);
    Ok(like)
}

/// Reads the path of a flow to one destination. Every node on it is a server.
fn way<'a>(
    flow: &str,
    node: &'a Node<'_>,
    servers: &HashMap<String, ServerId>,
) -> Result<Way<'a>, FormatError> {
    let path = path(flow, node, |_, name| Ok(servers.get(name).copied()))?;
    let nodes = node.list()?.iter().map(Node::text).collect::<Result<Vec<&str>, FormatError>>()?;
    Ok(Way { name: flow.to_owned(), places: (0..path.len()).collect(), path, nodes })
}
