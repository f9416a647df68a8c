//! WOPANets' physical networks, as Saihu and xTFA read them.
//!
//! Stations and switches have a service (`service-rate`, `service-latency`) at each output port
//! that a link leaves; a link may have its own. Each such port is a server, named `node-port`.
//! Ports without a service are no servers: data pass them at once. The attribute `technology` of
//! the network lists, joined by `+`, `FIFO`, `IS` (the `transmission-capacity` of a link shapes
//! what flows over it) and `PK` (packets). A flow with several targets is several flows, named
//! `flow_target`. Data are in bytes, rates in bits per second where no unit says otherwise.

use std::collections::HashMap;

use super::FormatError;
use super::quantity::{Dimension, Units};
use super::xml::Element;
use crate::excerpt::excerpt;
use crate::network::{Flow, Multiplexing, Network, NetworkBuilder, Server, ServerId, Unit};
use crate::{Curve, Rational};

/// Reads a network.
pub(super) fn network(text: &str) -> Result<Network, FormatError> {
    let root = Element::read(text)?;
    let mut networks = root.each("network");
    let Some(general) = networks.next() else {
        return Err(root.fault("has no <network>; WOPANets files have one in <elements>"));
    };
    if networks.next().is_some() {
        return Err(root.fault("has more than one <network>"));
    }
    let technology: Vec<&str> = general.get("technology").unwrap_or("FIFO").split('+').collect();
    let reader = Reader {
        general,
        units: Units { data: Rational::from(8), ..Units::default() },
        multiplexing: match technology.contains(&"FIFO") {
            true => Multiplexing::Fifo,
            false => Multiplexing::Arbitrary,
        },
        shaping: technology.contains(&"IS"),
        packetizer: technology.contains(&"PK"),
    };
    let mut builder = NetworkBuilder::new(general.get("name").unwrap_or_default());
    let microsecond = Rational::ratio(1, 1_000_000);
    builder.time_unit(Unit { name: "us".to_owned(), size: microsecond });
    builder.data_unit(Unit { name: "B".to_owned(), size: Rational::from(8) });
    let ports = reader.ports(&root, &mut builder)?;
    for element in root.each("flow") {
        reader.flow(element, &ports, &mut builder)?;
    }
    Ok(builder.build()?)
}

/// What holds for the whole file.
struct Reader<'a> {
    general: &'a Element,
    units: Units,
    multiplexing: Multiplexing,
    shaping: bool,
    packetizer: bool,
}

/// The output ports between neighbours: node and next node, the server if there is one.
type Ports<'a> = HashMap<(&'a str, &'a str), Option<ServerId>>;

impl Reader<'_> {
    fn ports<'a>(
        &self,
        root: &'a Element,
        builder: &mut NetworkBuilder,
    ) -> Result<Ports<'a>, FormatError> {
        let mut nodes = HashMap::new();
        for element in root.each("station").chain(root.each("switch")) {
            if nodes.insert(element.need("name")?, element).is_some() {
                return Err(element.fault("has a name that another station or switch has"));
            }
        }
        let mut ports = Ports::new();
        let mut servers = HashMap::<(&str, &str), Option<ServerId>>::new();
        for link in root.each("link") {
            let (from, to) = (link.need("from")?, link.need("to")?);
            let missing =
                |name: &str| link.fault(format!("names '{}', which is not there", excerpt(name)));
            let node = *nodes.get(from).ok_or_else(|| missing(from))?;
            nodes.get(to).ok_or_else(|| missing(to))?;
            let port = link.get("fromPort").unwrap_or("o0");
            let server = match servers.get(&(from, port)) {
                Some(server) => *server,
                None => {
                    let server = self.server(node, link, &format!("{from}-{port}"))?;
                    let server = server.map(|server| builder.server(server));
                    servers.insert((from, port), server);
                    server
                }
            };
            ports.entry((from, to)).or_insert(server);
        }
        Ok(ports)
    }

    /// The server of an output port; none if neither node nor link has a service.
    fn server(
        &self,
        node: &Element,
        link: &Element,
        name: &str,
    ) -> Result<Option<Server>, FormatError> {
        let from = |name: &str| {
            let own = link.get(name).map(|text| (link, text));
            own.or_else(|| node.get(name).map(|text| (node, text)))
                .or_else(|| self.general.get(name).map(|text| (self.general, text)))
        };
        let read = |(element, text): (&Element, &str), dimension| {
            self.units.parse(text, dimension).map_err(|message| element.fault(message))
        };
        let Some(rate) = from("service-rate") else { return Ok(None) };
        let latency = match from("service-latency") {
            Some(latency) => read(latency, Dimension::Time)?,
            None => Rational::ZERO,
        };
        let curve = Curve::rate_latency(read(rate, Dimension::Rate)?, latency)
            .map_err(|error| node.fault(error.to_string()))?;
        let mut server = Server::new(name, curve).multiplexed(self.multiplexing);
        server.packetizer = self.packetizer;
        if let Some(capacity) = from("transmission-capacity").filter(|_| self.shaping) {
            let capacity = read(capacity, Dimension::Rate)?;
            let shaping = Curve::token_bucket(Rational::ZERO, capacity)
                .map_err(|error| link.fault(error.to_string()))?;
            server = server.shaped(shaping);
        }
        Ok(Some(server))
    }

    fn flow(
        &self,
        element: &Element,
        ports: &Ports<'_>,
        builder: &mut NetworkBuilder,
    ) -> Result<(), FormatError> {
        let name = element.need("name")?;
        let value = |name: &str| element.get(name).or_else(|| self.general.get(name));
        let read = |name: &str, dimension| {
            let Some(text) = value(name) else {
                return Err(element.fault(format!("has no attribute {name}")));
            };
            self.units.parse(text, dimension).map_err(|message| element.fault(message))
        };
        let packet = match value("maximum-packet-size") {
            Some(_) => read("maximum-packet-size", Dimension::Data)?,
            None => Rational::ZERO,
        };
        let arrival = match value("arrival-curve").unwrap_or("leaky-bucket") {
            "leaky-bucket" => Curve::token_bucket(
                read("lb-burst", Dimension::Data)?,
                read("lb-rate", Dimension::Rate)?,
            ),
            "periodic" => Curve::staircase(packet.clone(), read("period", Dimension::Time)?),
            other => {
                let other = excerpt(other);
                let message = format!("has arrival-curve '{other}'; known: leaky-bucket, periodic");
                return Err(element.fault(message));
            }
        };
        let arrival = arrival.map_err(|error| element.fault(error.to_string()))?;
        let targets: Vec<&Element> = element.each("target").collect();
        if targets.is_empty() {
            return Err(element.fault("has no <target>"));
        }
        for (index, target) in targets.iter().enumerate() {
            let full_name = match (targets.len(), target.get("name")) {
                (1, _) => name.to_owned(),
                (_, Some(target)) => format!("{name}_{target}"),
                (_, None) => format!("{name}_p{index}"),
            };
            let mut at = element.need("source")?;
            let mut path = Vec::new();
            for step in target.each("path") {
                let next = step.need("node")?;
                let port = ports.get(&(at, next)).ok_or_else(|| {
                    let (name, at, next) = (excerpt(name), excerpt(at), excerpt(next));
                    step.fault(format!("of flow '{name}' goes from '{at}' to '{next}': no link"))
                })?;
                path.extend(*port);
                at = next;
            }
            let mut flow = Flow::new(full_name, path, arrival.clone());
            flow.maximum_packet = packet.clone();
            builder.flow(flow);
        }
        Ok(())
    }
}
