//! Ports in Planimeter's own format: `[[port]]` with a `scheduler` and `[[port.class]]`.

use super::FormatError;
use super::quantity::{Dimension, Units};
use super::tree::{Fields, Node};
use crate::Rational;
use crate::excerpt::excerpt;
use crate::network::port::{Class, Gate, Port, Scheduler, Window};
use crate::network::{Priority, ServerId};

/// The name of a port, with the servers of its queues and the classes in each queue.
pub(super) struct Named {
    pub(super) name: String,
    pub(super) queues: Vec<(ServerId, Vec<Priority>)>,
}

impl Named {
    /// Returns the server of the queue that flows of a priority take at this port.
    pub(super) fn queue(
        &self,
        step: &Node<'_>,
        priority: Priority,
    ) -> Result<ServerId, FormatError> {
        let own = self.queues.iter().find(|(_, classes)| classes.contains(&priority));
        own.map(|(id, _)| *id).ok_or_else(|| {
            let classes = self.queues.iter().flat_map(|(_, classes)| classes);
            let classes: Vec<String> = classes.map(Priority::to_string).collect();
            step.fault(format!(
                "is port '{}', which has no class for priority {priority}; it has {}",
                excerpt(&self.name),
                classes.join(", ")
            ))
        })
    }
}

/// Reads a port from a node of a file. The second result is the node of its `regulator` field, if
/// it has one.
pub(super) fn port<'a>(
    node: &'a Node<'_>,
    units: &Units,
) -> Result<(Port, Option<&'a Node<'a>>), FormatError> {
    let known = [
        "name",
        "rate",
        "latency",
        "scheduler",
        "cycle",
        "minimum-packet",
        "maximum-packet",
        "regulator",
        "class",
    ];
    let fields = node.fields(&known)?;
    let kind = fields.need("scheduler")?;
    let gated = kind.text()? == "gated";
    if !gated && let Some(cycle) = fields.get("cycle") {
        return Err(cycle.fault("is for gates; this port has another scheduler"));
    }
    let of = Reader { port: &fields, units };
    let scheduler = match kind.text()? {
        "credit-based" => Scheduler::CreditBased(of.classes(&["idle-slope"], |class| {
            class.get("idle-slope").map(|node| units.read(node, Dimension::Rate)).transpose()
        })?),
        "gated" => Scheduler::Gated {
            cycle: units.read(fields.need("cycle")?, Dimension::Time)?,
            classes: of.classes(&["open", "idle-slope"], |class| gate(class, units))?,
        },
        "deficit-round-robin" => {
            Scheduler::DeficitRoundRobin(of.classes(&["quantum"], |class| {
                units.read(class.need("quantum")?, Dimension::Data)
            })?)
        }
        "weighted-round-robin" => Scheduler::WeightedRoundRobin(of.classes(&["weight"], weight)?),
        "interleaved-weighted-round-robin" => {
            Scheduler::InterleavedWeightedRoundRobin(of.classes(&["weight"], weight)?)
        }
        _ => {
            return Err(kind.fault(
                "must be credit-based, gated, deficit-round-robin, weighted-round-robin or interleaved-weighted-round-robin",
            ));
        }
    };
    let latency = fields.get("latency").map(|node| units.read(node, Dimension::Time));
    let port = Port {
        name: fields.need("name")?.text()?.to_owned(),
        rate: units.read(fields.need("rate")?, Dimension::Rate)?,
        latency: latency.transpose()?.unwrap_or(Rational::ZERO),
        scheduler,
    };
    Ok((port, fields.get("regulator")))
}

fn weight(class: &Fields<'_>) -> Result<u32, FormatError> {
    class.need("weight")?.whole()
}

fn gate(class: &Fields<'_>, units: &Units) -> Result<Gate, FormatError> {
    match (class.get("open"), class.get("idle-slope")) {
        (Some(_), Some(slope)) => Err(slope.fault(
            "is for classes without windows of their own; leave out 'open', and the gate is open when no other window is",
        )),
        (Some(open), None) => {
            let windows = open.list()?.iter().map(|node| window(node, units));
            Ok(Gate::Open(windows.collect::<Result<_, _>>()?))
        }
        (None, Some(slope)) => Ok(Gate::Shaped(units.read(slope, Dimension::Rate)?)),
        (None, None) => Ok(Gate::BestEffort),
    }
}

fn window(node: &Node<'_>, units: &Units) -> Result<Window, FormatError> {
    let fields = node.fields(&["at", "for"])?;
    let time = |name| units.read(fields.need(name)?, Dimension::Time);
    Ok(Window { at: time("at")?, length: time("for")? })
}

/// A reader of the description of one port.
struct Reader<'a> {
    port: &'a Fields<'a>,
    units: &'a Units,
}

impl Reader<'_> {
    /// Reads the classes of the port. `names` are the fields of the scheduler's parameter, from
    /// which `share` reads the parameter.
    fn classes<S>(
        &self,
        names: &[&'static str],
        share: impl Fn(&Fields<'_>) -> Result<S, FormatError>,
    ) -> Result<Vec<Class<S>>, FormatError> {
        let known = [&["priority", "minimum-packet", "maximum-packet"][..], names].concat();
        let class = |node: &Node<'_>| {
            let fields = node.fields(&known)?;
            let size = |name| -> Result<Option<Rational>, FormatError> {
                let size = fields.get(name).or_else(|| self.port.get(name));
                size.map(|node| self.units.read(node, Dimension::Data)).transpose()
            };
            let missing = |name| {
                move || {
                    node.fault(format!(
                        "has no '{name}', nor has its port; give the size on the wire"
                    ))
                }
            };
            let minimum_packet = match size("minimum-packet")? {
                Some(size) => size,
                // Weights count packets, not bits, so the smallest packet matters.
                None if names == ["weight"] => return Err(missing("minimum-packet")()),
                None => Rational::ONE,
            };
            Ok(Class {
                priority: Priority(fields.need("priority")?.whole()?),
                minimum_packet,
                maximum_packet: size("maximum-packet")?.ok_or_else(missing("maximum-packet"))?,
                share: share(&fields)?,
            })
        };
        self.port.need("class")?.list()?.iter().map(class).collect()
    }
}
