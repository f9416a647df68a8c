//! Common parts of the formats of other tools: options, flows with several destinations, capacities
//! of servers.

use std::collections::BTreeSet;

use crate::network::{Flow, Multiplexing, NetworkBuilder, Server, ServerId};
use crate::{Curve, CurveError, Rational};

/// Options in files of other tools that select algorithms of these tools. They do not describe the
/// network.
const OF_OTHER_TOOLS: [&str; 3] = ["CEIL", "MOH", "TDMI"];

/// The largest number of names that a note lists.
const NAMED: usize = 5;

/// The options in a network file, each a word such as `FIFO`: Saihu's field `analysis_option` or
/// WOPANets' attribute `technology`.
#[derive(Debug, Default)]
pub(super) struct Options {
    /// The order of service at all servers, by the option `FIFO` or `ARBITRARY`, or `None` if
    /// neither is given.
    pub(super) order: Option<Multiplexing>,
    /// Whether the capacities of servers shape their output, by the option `IS` (input shaping).
    pub(super) shaping: bool,
    /// Whether data leave servers in whole packets, by the option `PK`.
    pub(super) packetizer: bool,
    /// The words of the options in the file that have no effect on bounds.
    without_effect: BTreeSet<String>,
}

impl Options {
    /// Adds the option with the given word.
    ///
    /// # Errors
    ///
    /// Returns the fault of the word, as a sentence.
    pub(super) fn add(&mut self, word: &str) -> Result<(), String> {
        let order = match word.to_ascii_uppercase().as_str() {
            "FIFO" => Multiplexing::Fifo,
            "ARBITRARY" => Multiplexing::Arbitrary,
            "IS" => {
                self.shaping = true;
                return Ok(());
            }
            "PK" => {
                self.packetizer = true;
                return Ok(());
            }
            other if OF_OTHER_TOOLS.contains(&other) => {
                self.without_effect.insert(other.to_owned());
                return Ok(());
            }
            _ => {
                let known = OF_OTHER_TOOLS.join(", ");
                return Err(format!(
                    "is not known here; known are FIFO, ARBITRARY, IS, PK, {known}"
                ));
            }
        };
        match self.order.replace(order) {
            Some(other) if other != order => {
                Err("names both FIFO and ARBITRARY; a server has one order of service".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Adds a note to the network about the options that have no effect.
    pub(super) fn note(&self, builder: &mut NetworkBuilder) {
        if !self.without_effect.is_empty() {
            let words: Vec<&str> = self.without_effect.iter().map(String::as_str).collect();
            builder.note(format!(
                "the options {} select algorithms of other tools and have no effect here",
                words.join(", ")
            ));
        }
    }
}

/// Returns a server with the capacity of its output. The capacity limits the service, and it shapes
/// the output if `shapes`. If it lowers the service, a note says so.
pub(super) fn limited(
    server: Server,
    capacity: Rational,
    shapes: bool,
    builder: &mut NetworkBuilder,
) -> Result<Server, CurveError> {
    let line = Curve::token_bucket(Rational::ZERO, capacity)?;
    let mut server = server;
    if !server.service.is_at_most(&line).unwrap_or(true) {
        // The capacity is a second server in series, so the service curves are convolved.
        if let Ok(service) = server.service.convolution(&line) {
            builder.note(format!(
                "the capacity of server '{}' is below the rate of its service, so it is served at the rate of the capacity",
                crate::excerpt::excerpt(&server.name)
            ));
            server.service = service;
        }
    }
    Ok(if shapes { server.shaped(line) } else { server })
}

/// Adds a note to the network about flows without a packet size, which packetizers do not hold
/// back.
pub(super) fn note_fluids(flows: &[String], builder: &mut NetworkBuilder) {
    if !flows.is_empty() {
        builder.note(format!(
            "data leaves in packets, but flows {} have no packet size: they are treated as fluids, which no \
             packetizer delays",
            listed(flows)
        ));
    }
}

/// Returns a list of names as text for a sentence. If there are many names, only the first few are
/// listed.
pub(super) fn listed(names: &[String]) -> String {
    let first: Vec<String> = names
        .iter()
        .take(NAMED)
        .map(|name| format!("'{}'", crate::excerpt::excerpt(name)))
        .collect();
    match names.len().saturating_sub(NAMED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// A path of a flow from its source to one of its destinations.
#[derive(Clone, Debug)]
pub(super) struct Way<'t> {
    /// The name that the flow gets on this path.
    pub(super) name: String,
    pub(super) path: Vec<ServerId>,
    /// The names of the nodes on the path. For each server in `path`, the field `places` has the
    /// index of its node in this list.
    pub(super) nodes: Vec<&'t str>,
    pub(super) places: Vec<usize>,
}

impl Way<'_> {
    /// Returns whether two paths begin with the same servers, and visit the same nodes up to the
    /// last of these.
    fn begins_as(&self, other: &Self) -> bool {
        let common = self.path.iter().zip(&other.path).take_while(|(a, b)| a == b).count();
        let up_to =
            |way: &Self| -> Option<usize> { way.places.get(common.checked_sub(1)?).copied() };
        match (up_to(self), up_to(other)) {
            (Some(own), Some(theirs)) => {
                own == theirs && self.nodes.get(..=own) == other.nodes.get(..=theirs)
            }
            _ => false,
        }
    }
}

/// Adds a flow for each path of a flow with several destinations. The flows whose paths begin with
/// common servers carry the same data until they part. Others are independent.
pub(super) fn add_ways(builder: &mut NetworkBuilder, flow: &str, ways: Vec<Way<'_>>, like: &Flow) {
    let mut groups = Vec::<Vec<Way<'_>>>::new();
    for way in ways {
        match groups.iter_mut().find(|group| group.iter().all(|other| way.begins_as(other))) {
            Some(group) => group.push(way),
            None => groups.push(vec![way]),
        }
    }
    for (number, group) in groups.into_iter().enumerate() {
        let name = if number == 0 { flow.to_owned() } else { format!("{flow}/{number}") };
        let multicast = (group.len() > 1).then_some(name);
        for way in group {
            let multicast = multicast.clone();
            builder.flow(Flow { name: way.name, path: way.path, multicast, ..like.clone() });
        }
    }
}

#[cfg(test)]
mod tests;
