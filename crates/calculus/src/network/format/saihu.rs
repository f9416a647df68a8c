//! Saihu's output-port networks (Tsai, Tabatabaee, Plassart, Le Boudec, "Saihu: a common interface
//! of worst-case delay analysis tools for time-sensitive networks", 2023).
//!
//! Token buckets in `bursts` and `rates`, rate-latency curves in `latencies` and `rates`. Units
//! come from the number itself, else from its flow or server, else from the network, else they are
//! seconds, bits and bits per second. The `capacity` of a server shapes its output, unless
//! `analysis_option` is there and does not list `IS` (input shaping).

use std::collections::HashMap;

use super::quantity::{Dimension, Units, unit};
use super::tree::{Fields, Node};
use super::{FormatError, path};
use crate::excerpt::excerpt;
use crate::network::{Flow, Multiplexing, Network, NetworkBuilder, Server, ServerId, Unit};
use crate::{Curve, Rational};

/// Reads a network.
pub(super) fn network(root: &Node<'_>) -> Result<Network, FormatError> {
    let fields = root.any_fields()?;
    let nothing = Node::empty();
    let common = fields.get("network").unwrap_or(&nothing);
    let common = common.any_fields()?;
    let units = units(&common, &Units::default())?;
    let name = common.get("name").map_or(Ok(""), Node::text)?;
    let mut options = Vec::new();
    if let Some(node) = common.get("analysis_option") {
        for option in node.list()? {
            options.push(option.text()?.to_ascii_uppercase());
        }
    }
    let has = |option: &str| options.iter().any(|other| other == option);
    let general = General {
        multiplexing: match common.get("multiplexing") {
            Some(node) => multiplexing(node)?,
            None => Multiplexing::Fifo,
        },
        packetizer: common.get("packetizer").map_or(Ok(false), Node::flag)? || has("PK"),
        shaping: common.get("analysis_option").is_none() || has("IS"),
        units: units.clone(),
        fields: common,
    };
    let mut builder = NetworkBuilder::new(name);
    if let Some(node) = common.get("time_unit") {
        builder.time_unit(Unit { name: node.text()?.to_owned(), size: units.time.clone() });
    }
    if let Some(node) = common.get("data_unit") {
        builder.data_unit(Unit { name: node.text()?.to_owned(), size: units.data.clone() });
    }
    let mut ids = HashMap::new();
    for node in fields.need("servers")?.list()? {
        let server = server(node, &general)?;
        let name = server.name.clone();
        let id = builder.server(server);
        ids.entry(name).or_insert(id);
    }
    for node in fields.need("flows")?.list()? {
        builder.flow(flow(node, &general, &ids)?);
    }
    Ok(builder.build()?)
}

/// What the network says for all.
struct General<'a> {
    multiplexing: Multiplexing,
    packetizer: bool,
    shaping: bool,
    units: Units,
    /// Values of fields that flows and servers may leave out.
    fields: Fields<'a>,
}

fn multiplexing(node: &Node<'_>) -> Result<Multiplexing, FormatError> {
    match node.text()?.to_ascii_uppercase().as_str() {
        "FIFO" => Ok(Multiplexing::Fifo),
        "ARBITRARY" => Ok(Multiplexing::Arbitrary),
        _ => Err(node.fault("must be FIFO or ARBITRARY")),
    }
}

/// Units of a network, flow or server; what it does not say is as outside.
fn units(fields: &Fields<'_>, outside: &Units) -> Result<Units, FormatError> {
    let of = |name: &str, dimension: Dimension, outside: &Rational| {
        let Some(node) = fields.get(name) else { return Ok(outside.clone()) };
        let text = node.text()?;
        unit(text, dimension)
            .ok_or_else(|| node.fault(format!("'{}' is no such unit", excerpt(text))))
    };
    Ok(Units {
        time: of("time_unit", Dimension::Time, &outside.time)?,
        data: of("data_unit", Dimension::Data, &outside.data)?,
        rate: of("rate_unit", Dimension::Rate, &outside.rate)?,
    })
}

/// Two lists of one length as pairs.
fn pairs(
    node: &Node<'_>,
    (first, of_first): (&str, Dimension),
    units: &Units,
) -> Result<Vec<(Rational, Rational)>, FormatError> {
    let fields = node.any_fields()?;
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

/// A field of a flow or server, or what the network says for all.
fn field<'a>(
    fields: &Fields<'a>,
    general: &General<'a>,
    name: &str,
) -> Option<(&'a Node<'a>, bool)> {
    let own = fields.get(name).map(|node| (node, true));
    own.or_else(|| general.fields.get(name).map(|node| (node, false)))
}

fn server(node: &Node<'_>, general: &General<'_>) -> Result<Server, FormatError> {
    let fields = node.any_fields()?;
    let own = units(&fields, &general.units)?;
    let chosen = |is_own: bool| if is_own { &own } else { &general.units };
    let name = fields.need("name")?.text()?;
    let (service, is_own) = field(&fields, general, "service_curve")
        .ok_or_else(|| node.fault("has no 'service_curve'"))?;
    let pairs = pairs(service, ("latencies", Dimension::Time), chosen(is_own))?;
    let curves = pairs.into_iter().map(|(latency, rate)| (rate, latency));
    let curve = Curve::rate_latencies(curves)
        .map_err(|error| service.fault(format!("is no curve: {error}")))?;
    let mut server = Server::new(name, curve).multiplexed(general.multiplexing);
    server.packetizer = general.packetizer;
    if let Some((capacity, is_own)) =
        field(&fields, general, "capacity").filter(|_| general.shaping)
    {
        let rate = chosen(is_own).read(capacity, Dimension::Rate)?;
        let shaping = Curve::token_bucket(Rational::ZERO, rate)
            .map_err(|error| capacity.fault(format!("is no capacity: {error}")))?;
        server = server.shaped(shaping);
    }
    Ok(server)
}

fn flow(
    node: &Node<'_>,
    general: &General<'_>,
    servers: &HashMap<String, ServerId>,
) -> Result<Flow, FormatError> {
    let fields = node.any_fields()?;
    let own = units(&fields, &general.units)?;
    let chosen = |is_own: bool| if is_own { &own } else { &general.units };
    let name = fields.need("name")?.text()?;
    let path = path(name, fields.need("path")?, |_, name| Ok(servers.get(name).copied()))?;
    let (arrival, is_own) = field(&fields, general, "arrival_curve")
        .ok_or_else(|| node.fault("has no 'arrival_curve'"))?;
    let buckets = pairs(arrival, ("bursts", Dimension::Data), chosen(is_own))?;
    let curve = Curve::token_buckets(buckets)
        .map_err(|error| arrival.fault(format!("is no curve: {error}")))?;
    let mut flow = Flow::new(name, path, curve);
    if let Some((packet, is_own)) = field(&fields, general, "max_packet_length") {
        flow.maximum_packet = chosen(is_own).read(packet, Dimension::Data)?;
    }
    Ok(flow)
}
