//! WOPANets' physical networks, as Saihu and xTFA read them.
//!
//! Stations and switches have a service (`service-rate`, `service-latency`) at each output port
//! that a link leaves. A link may override this service. Each such port becomes a server, named
//! `node-port`. Ports without a service do not become servers, because data pass them without
//! delay. The attribute `technology` of the network lists, joined by `+`, `FIFO` or `ARBITRARY`,
//! `IS` (the `transmission-capacity` of a link shapes the flows over it) and `PK` (packets).
//! Without the attribute, the order is `FIFO`. If the attribute names no order, the order is
//! `ARBITRARY`. A flow with several targets becomes several flows, named `flow_target`, which carry
//! the same data until their paths part. Without a unit, data are in bytes, rates in bits per
//! second, and times in seconds.

use std::collections::HashMap;

use super::FormatError;
use super::foreign::{self, Options, Way};
use super::quantity::{Dimension, Units};
use super::xml::Element;
use crate::excerpt::excerpt;
use crate::network::{Flow, Multiplexing, Network, NetworkBuilder, Server, ServerId, Unit};
use crate::{Curve, Rational};

/// The attributes that an element inherits from the network if it has none of its own.
const SERVICE: [&str; 3] = ["service-rate", "service-latency", "transmission-capacity"];
const TRAFFIC: [&str; 7] = [
    "arrival-curve",
    "lb-burst",
    "lb-rate",
    "period",
    "maximum-packet-size",
    "minimum-packet-size",
    "overhead",
];

/// Reads a network in WOPANets' format from the text of an XML file.
pub(super) fn network(text: &str) -> Result<Network, FormatError> {
    let root = Element::read(text)?;
    root.check(&["name"], &["network", "station", "switch", "link", "flow"])?;
    let mut networks = root.each("network");
    let Some(general) = networks.next() else {
        return Err(root.fault("has no <network>; WOPANets files have one in <elements>"));
    };
    if networks.next().is_some() {
        return Err(root.fault("has more than one <network>"));
    }
    general.check(&[&["name", "technology"][..], &SERVICE, &TRAFFIC].concat(), &[])?;
    let mut builder = NetworkBuilder::new(general.get("name").unwrap_or_default());
    let mut options = Options::default();
    for word in general.get("technology").unwrap_or("FIFO").split('+') {
        let fault =
            |message| general.fault(format!("has technology '{}', which {message}", excerpt(word)));
        options.add(word.trim()).map_err(fault)?;
    }
    options.note(&mut builder);
    let reader = Reader {
        general,
        units: Units { data: Rational::from(8), ..Units::default() },
        multiplexing: options.order.unwrap_or(Multiplexing::Arbitrary),
        shaping: options.shaping,
        packetizer: options.packetizer,
    };
    let microsecond = Rational::ratio(1, 1_000_000);
    builder.time_unit(Unit { name: "us".to_owned(), size: microsecond });
    builder.data_unit(Unit { name: "B".to_owned(), size: Rational::from(8) });
    let ports = reader.ports(&root, &mut builder)?;
    let mut fluids = Vec::new();
    for element in root.each("flow") {
        let like = reader.flow(element, &ports, &mut builder)?;
        if reader.packetizer && !like.maximum_packet.is_positive() {
            fluids.push(like.name);
        }
    }
    foreign::note_fluids(&fluids, &mut builder);
    Ok(builder.build()?)
}

/// The properties that the whole file has in common.
struct Reader<'a> {
    general: &'a Element,
    units: Units,
    multiplexing: Multiplexing,
    shaping: bool,
    packetizer: bool,
}

/// The links between neighbouring nodes, by the names of the two nodes: the one at which the link
/// begins, and the one at which it ends.
type Ports<'a> = HashMap<(&'a str, &'a str), Link<'a>>;

/// A link from one node to the next, with the output port at which it begins.
struct Link<'a> {
    element: &'a Element,
    /// The name of the output port at which the link begins. The field `server` is the server of
    /// that port, if it has a service.
    port: &'a str,
    server: Option<ServerId>,
    /// A second link between the same nodes, with the name of the other output port at which it
    /// begins. `None` if there is only one link.
    other: Option<(&'a Element, &'a str)>,
}

/// The service and the capacity of an output port, if the file states them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Output {
    service: Option<Curve>,
    capacity: Option<Rational>,
}

impl Reader<'_> {
    /// Reads the links, and adds a server for each output port of a station or switch.
    fn ports<'a>(
        &self,
        root: &'a Element,
        builder: &mut NetworkBuilder,
    ) -> Result<Ports<'a>, FormatError> {
        let mut nodes = HashMap::new();
        for element in root.each("station").chain(root.each("switch")) {
            element.check(&[&["name"][..], &SERVICE].concat(), &[])?;
            if nodes.insert(element.need("name")?, element).is_some() {
                return Err(element.fault("has a name that another station or switch has"));
            }
        }
        let mut ports = Ports::new();
        let mut outputs = HashMap::<(&str, &str), (Output, &Element, Option<ServerId>)>::new();
        let mut unserved = Vec::new();
        for link in root.each("link") {
            link.check(
                &[&["name", "from", "to", "fromPort", "toPort"][..], &SERVICE].concat(),
                &[],
            )?;
            let (from, to) = (link.need("from")?, link.need("to")?);
            let missing =
                |name: &str| link.fault(format!("names '{}', which does not exist", excerpt(name)));
            let node = *nodes.get(from).ok_or_else(|| missing(from))?;
            nodes.get(to).ok_or_else(|| missing(to))?;
            let port = link.get("fromPort").unwrap_or("o0");
            let name = format!("{from}-{port}");
            let output = self.output(node, link)?;
            let server = match outputs.get(&(from, port)) {
                Some((known, ..)) if *known == output => outputs[&(from, port)].2,
                Some((_, first, _)) => {
                    return Err(link.fault(format!(
                        "leaves port '{}' of '{}' with another service or capacity than the link in line {}; a port has one \
                         of each, so give the links ports of their own",
                        excerpt(port),
                        excerpt(from),
                        first.line
                    )));
                }
                None => {
                    if output.service.is_none() && output.capacity.is_some() {
                        unserved.push(name.clone());
                    }
                    let server = self.server(&output, link, name, builder)?;
                    let server = server.map(|server| builder.server(server));
                    outputs.insert((from, port), (output, link, server));
                    server
                }
            };
            match ports.get_mut(&(from, to)) {
                None => {
                    ports.insert((from, to), Link { element: link, port, server, other: None });
                }
                Some(known) if known.port != port => known.other = Some((link, port)),
                Some(_) => {}
            }
        }
        if !unserved.is_empty() {
            builder.note(format!(
                "the output ports {} have a capacity and no service, so that data pass them at once; with a service-rate they \
                 are servers",
                foreign::listed(&unserved)
            ));
        }
        Ok(ports)
    }

    /// Reads the service and the capacity of the output port that a link leaves. Each attribute is
    /// that of the link, or else of its node, or else of the network.
    fn output(&self, node: &Element, link: &Element) -> Result<Output, FormatError> {
        let from = |name: &str| {
            let own = link.get(name).map(|text| (link, text));
            own.or_else(|| node.get(name).map(|text| (node, text)))
                .or_else(|| self.general.get(name).map(|text| (self.general, text)))
        };
        let read = |(element, text): (&Element, &str), dimension| {
            self.units.parse(text, dimension).map_err(|message| element.fault(message))
        };
        let latency = from("service-latency");
        let service = match (from("service-rate"), latency) {
            (None, None) => None,
            (None, Some((element, _))) => {
                return Err(element.fault("has a service-latency, but no service-rate holds there"));
            }
            (Some(rate), latency) => {
                let latency = latency.map(|latency| read(latency, Dimension::Time)).transpose()?;
                let rate = read(rate, Dimension::Rate)?;
                let curve = Curve::rate_latency(rate, latency.unwrap_or(Rational::ZERO));
                Some(curve.map_err(|error| node.fault(error.to_string()))?)
            }
        };
        let capacity =
            from("transmission-capacity").map(|capacity| read(capacity, Dimension::Rate));
        Ok(Output { service, capacity: capacity.transpose()? })
    }

    /// Returns the server of an output port, or `None` if the port has no service.
    fn server(
        &self,
        output: &Output,
        link: &Element,
        name: String,
        builder: &mut NetworkBuilder,
    ) -> Result<Option<Server>, FormatError> {
        let Some(service) = &output.service else { return Ok(None) };
        let mut server = Server::new(name, service.clone()).multiplexed(self.multiplexing);
        server.packetizer = self.packetizer;
        let Some(capacity) = &output.capacity else { return Ok(Some(server)) };
        foreign::limited(server, capacity.clone(), self.shaping, builder)
            .map(Some)
            .map_err(|error| link.fault(error.to_string()))
    }

    /// Adds the flows that an element describes, one for each target. Returns a flow with their
    /// common properties.
    fn flow(
        &self,
        element: &Element,
        ports: &Ports<'_>,
        builder: &mut NetworkBuilder,
    ) -> Result<Flow, FormatError> {
        element.check(&[&["name", "source"][..], &TRAFFIC].concat(), &["target"])?;
        let name = element.need("name")?;
        let like = self.traffic(element, name)?;
        let targets: Vec<&Element> = element.each("target").collect();
        if targets.is_empty() {
            return Err(element.fault("has no <target>"));
        }
        let mut ways = Vec::with_capacity(targets.len());
        for (index, target) in targets.iter().enumerate() {
            target.check(&["name"], &["path"])?;
            let full_name = match (targets.len(), target.get("name")) {
                (1, _) => name.to_owned(),
                (_, Some(target)) => format!("{name}_{target}"),
                (_, None) => format!("{name}_p{index}"),
            };
            ways.push(way(element, target, full_name, ports)?);
        }
        foreign::add_ways(builder, name, ways, &like);
        Ok(like)
    }

    /// Reads a flow, without its path, from an XML element.
    fn traffic(&self, element: &Element, name: &str) -> Result<Flow, FormatError> {
        let value = |name: &str| element.get(name).or_else(|| self.general.get(name));
        let read = |name: &str, dimension| {
            let Some(text) = value(name) else {
                return Err(element.fault(format!("has no attribute {name}")));
            };
            self.units.parse(text, dimension).map_err(|message| element.fault(message))
        };
        let optional = |name: &str| value(name).map(|_| read(name, Dimension::Data)).transpose();
        if optional("overhead")?.is_some_and(|overhead| overhead.is_positive()) {
            return Err(element.fault(
                "has a packet overhead, which is not supported here; add it to the sizes of packets, and once for \
                 each packet to bursts and rates",
            ));
        }
        // Bounds do not depend on the smallest packet, but an invalid size is an error.
        optional("minimum-packet-size")?;
        let packet = optional("maximum-packet-size")?;
        let without_effect = |names: &[&str], kind: &str| match names
            .iter()
            .find(|name| element.get(name).is_some())
        {
            None => Ok(()),
            Some(name) => {
                Err(element.fault(format!("has a {name}, which is not for {kind} arrival curves")))
            }
        };
        let arrival = match value("arrival-curve").unwrap_or("leaky-bucket") {
            "leaky-bucket" => {
                without_effect(&["period"], "leaky-bucket")?;
                let burst = read("lb-burst", Dimension::Data)?;
                Curve::token_bucket(burst, read("lb-rate", Dimension::Rate)?)
            }
            "periodic" => {
                without_effect(&["lb-burst", "lb-rate"], "periodic")?;
                let Some(packet) = packet.clone().filter(Rational::is_positive) else {
                    return Err(element.fault(
                        "is periodic and has no maximum-packet-size, which is the amount that arrives each period",
                    ));
                };
                Curve::staircase(packet, read("period", Dimension::Time)?)
            }
            other => {
                let other = excerpt(other);
                let message = format!("has arrival-curve '{other}'; known: leaky-bucket, periodic");
                return Err(element.fault(message));
            }
        };
        let arrival = arrival.map_err(|error| element.fault(error.to_string()))?;
        let like = Flow::new(name, Vec::new(), arrival);
        Ok(Flow { maximum_packet: packet.unwrap_or(Rational::ZERO), ..like })
    }
}

/// Returns the path of a flow to one of its targets.
fn way<'a>(
    flow: &'a Element,
    target: &'a Element,
    name: String,
    ports: &Ports<'_>,
) -> Result<Way<'a>, FormatError> {
    let mut at = flow.need("source")?;
    let mut way = Way { name, path: Vec::new(), nodes: vec![at], places: Vec::new() };
    for step in target.each("path") {
        step.check(&["node"], &[])?;
        let next = step.need("node")?;
        let of = || excerpt(flow.get("name").unwrap_or_default());
        let link = ports.get(&(at, next)).ok_or_else(|| {
            let (at, next) = (excerpt(at), excerpt(next));
            step.fault(format!("of flow '{}' goes from '{at}' to '{next}': no link", of()))
        })?;
        if let Some((other, port)) = link.other {
            return Err(step.fault(format!(
                "of flow '{}' goes from '{}' to '{}', between which there are two links: by port '{}' in line {} and by '{}' in \
                 line {}. A path names nodes only, so leave one link out, or put a node of its own in it",
                of(),
                excerpt(at),
                excerpt(next),
                excerpt(link.port),
                link.element.line,
                excerpt(port),
                other.line
            )));
        }
        if let Some(server) = link.server {
            // The server belongs to the output port of the node that the step leaves.
            way.places.push(way.nodes.len() - 1);
            way.path.push(server);
        }
        way.nodes.push(next);
        at = next;
    }
    Ok(way)
}
