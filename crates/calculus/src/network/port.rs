//! Output ports: a link of constant rate that classes of traffic share by credit-based shapers,
//! gates or round robin.
//!
//! The service of a class depends on the scheduler and on the largest packets of the other classes,
//! but not on their arrivals. So each class becomes a FIFO server of its own, whose service curve
//! follows from the parameters of the port, and every analysis applies. Classes that only static
//! priority distinguishes (best effort below credit-based shapers, classes whose gates open at the
//! same times) share one server with static-priority multiplexing. The proofs of the curves are in
//! the modules of the schedulers: `credit`, `gates` and `turns`.
//!
//! All curves count bits on the wire, and packets are whole numbers of bits. Data leave in packets,
//! and the output of each class also conforms to the rate of the link.

mod credit;
mod frozen;
mod gates;
mod placed;
mod turns;

use std::fmt;

pub(super) use gates::openings;
pub(super) use placed::Ports;

use super::elements::{Multiplexing, Priority, Server};
use crate::excerpt::excerpt;
use crate::{AlgebraError, Curve, CurveError, Rational};

/// An output port: a link, and the scheduler by which classes of traffic share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// The name of the port. The server of a queue is named `port/class`, with this name and the
    /// priority of the class, or the priorities of all classes in the queue, separated by commas.
    pub name: String,
    /// The rate of the link, in bits per second.
    pub rate: Rational,
    /// An upper bound on the time from the arrival of a packet until it is in its queue, in
    /// seconds.
    pub latency: Rational,
    /// The scheduler by which classes share the link.
    pub scheduler: Scheduler,
}

/// A class of traffic at a port. `S` is the type of the parameter that the port's scheduler has for
/// each class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class<S> {
    /// The priority of the flows in the class. Where the scheduler uses priorities, 0 is the most
    /// urgent.
    pub priority: Priority,
    /// The size of the smallest packet of the class, in bits on the wire.
    pub minimum_packet: Rational,
    /// The size of the largest packet of the class, in bits on the wire.
    pub maximum_packet: Rational,
    /// The parameter by which the scheduler determines this class's share of the link: an idle
    /// slope, a gate, a quantum or a weight.
    pub share: S,
}

/// The scheduler of a link, with the classes that it serves. No scheduler preempts packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// Credit-based shapers (IEEE 802.1Q, 8.6.8.2). Classes with an idle slope, in bits per second,
    /// are served in the order of priorities. Classes without an idle slope are best effort, after
    /// all others.
    CreditBased(Vec<Class<Option<Rational>>>),
    /// Gates that open and close at set times of a cycle (IEEE 802.1Q, 8.6.8.4). A packet starts
    /// only if it ends before its gate closes. Classes without windows of their own share the time
    /// outside of all windows, by credit-based shapers and priority.
    Gated {
        /// The length of the cycle of all gates, in seconds.
        cycle: Rational,
        /// The classes with their gates.
        classes: Vec<Class<Gate>>,
    },
    /// Deficit round robin (Shreedhar and Varghese, 1996), with the quantum of each class in bits.
    DeficitRoundRobin(Vec<Class<Rational>>),
    /// Weighted round robin. In its turn, each class sends at most the number of packets that its
    /// weight states.
    WeightedRoundRobin(Vec<Class<u32>>),
    /// Interleaved weighted round robin, with a weight for each class. In each round, every class
    /// whose weight is not used up yet sends one packet.
    InterleavedWeightedRoundRobin(Vec<Class<u32>>),
}

/// The times at which the gate of a class is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// The gate is open in these windows of the cycle.
    Open(Vec<Window>),
    /// The gate is open outside of the windows of all other classes. The class has a credit-based
    /// shaper with this idle slope, in bits per second of the whole cycle. Credit is frozen while
    /// the gate is closed.
    Shaped(Rational),
    /// The gate is open outside of the windows of all other classes, and the class is served after
    /// all classes with an idle slope.
    BestEffort,
}

/// A window: a time within a cycle during which a gate is open.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Window {
    /// The time in the cycle at which the gate opens, in seconds.
    pub at: Rational,
    /// The length of the window, in seconds.
    pub length: Rational,
}

/// The reason why an output port is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PortError {
    /// A parameter of the port is invalid.
    #[error("port '{}' {fault}", excerpt(port))]
    Port {
        /// The name of the port.
        port: String,
        /// The fault of the parameter and its remedy.
        fault: &'static str,
    },
    /// A parameter of a class is invalid.
    #[error("class {priority} of port '{}' {fault}", excerpt(port))]
    Class {
        /// The name of the port.
        port: String,
        /// The priority of the class.
        priority: Priority,
        /// The fault of the parameter and its remedy.
        fault: &'static str,
    },
    /// The gates of two classes are open at the same time, although their windows are not the same.
    #[error(
        "the gates of classes {first} and {second} of port '{}' are open at the same time for only a part of the \
         cycle, and what one leaves over for the other then has no curve of its own; open them at the same times, or \
         one after the other",
        excerpt(port)
    )]
    Overlap {
        /// The name of the port.
        port: String,
        /// The priority of one class.
        first: Priority,
        /// The priority of the other class.
        second: Priority,
    },
    /// A parameter of the port is invalid for a service or shaping curve.
    #[error(transparent)]
    Curve(#[from] CurveError),
    /// The algebra cannot compute a service or shaping curve of the port.
    #[error(transparent)]
    Algebra(#[from] AlgebraError),
}

/// A queue of a port: the classes in it, which only static priority distinguishes, and the server
/// that stands for the queue.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    pub(super) priorities: Vec<Priority>,
    pub(super) server: Server,
}

/// The service that a scheduler grants the classes of one queue, and the shaping of their output in
/// addition to the rate of the link.
struct Share {
    priorities: Vec<Priority>,
    service: Curve,
    strict: bool,
    shaping: Option<Curve>,
}

impl fmt::Display for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::CreditBased(_) => "credit-based",
            Self::Gated { .. } => "gated",
            Self::DeficitRoundRobin(_) => "deficit-round-robin",
            Self::WeightedRoundRobin(_) => "weighted-round-robin",
            Self::InterleavedWeightedRoundRobin(_) => "interleaved-weighted-round-robin",
        })
    }
}

impl Scheduler {
    /// Returns, for each class, its priority and the sizes of its smallest and its largest packet.
    pub(super) fn packets(&self) -> Vec<(Priority, &Rational, &Rational)> {
        fn of<S>(classes: &[Class<S>]) -> Vec<(Priority, &Rational, &Rational)> {
            classes.iter().map(|c| (c.priority, &c.minimum_packet, &c.maximum_packet)).collect()
        }
        match self {
            Self::CreditBased(classes) => of(classes),
            Self::Gated { classes, .. } => of(classes),
            Self::DeficitRoundRobin(classes) => of(classes),
            Self::WeightedRoundRobin(classes) | Self::InterleavedWeightedRoundRobin(classes) => {
                of(classes)
            }
        }
    }
}

impl Port {
    /// Checks the port and returns its queues.
    pub(super) fn queues(&self) -> Result<Vec<Queue>, PortError> {
        self.check()?;
        let shares = match &self.scheduler {
            Scheduler::CreditBased(classes) => credit::shares(self, classes)?,
            Scheduler::Gated { cycle, classes } => gates::shares(self, cycle, classes)?,
            Scheduler::DeficitRoundRobin(classes) => turns::deficits(self, classes)?,
            Scheduler::WeightedRoundRobin(classes) => turns::weights(self, classes, false)?,
            Scheduler::InterleavedWeightedRoundRobin(classes) => {
                turns::weights(self, classes, true)?
            }
        };
        shares.into_iter().map(|share| self.queue(share)).collect()
    }

    /// Returns whether the scheduler is deficit, weighted or interleaved weighted round robin.
    pub(super) fn takes_turns(&self) -> bool {
        matches!(
            self.scheduler,
            Scheduler::DeficitRoundRobin(_)
                | Scheduler::WeightedRoundRobin(_)
                | Scheduler::InterleavedWeightedRoundRobin(_)
        )
    }

    /// Returns a lower bound on the data of the class `own` that the link sends, as a curve over
    /// the amount of data that the link sends of all classes together. The bound holds while the
    /// class `own` is backlogged, if the classes in `without` send nothing. Returns `None` if the
    /// scheduler is not a form of round robin.
    pub(super) fn turns_without(
        &self,
        own: Priority,
        without: &[Priority],
    ) -> Result<Option<Curve>, PortError> {
        turns::own(&self.scheduler, own, without)
    }

    /// Returns the queue of the classes in `share`, which are served by priority among each other,
    /// as a server.
    fn queue(&self, share: Share) -> Result<Queue, PortError> {
        let Share { priorities, service, strict, shaping } = share;
        let several = priorities.len() > 1;
        if several && self.latency.is_positive() {
            // Packets that are delayed on their way into the queue are not served by priority.
            return Err(self.fault(
                "has a latency and classes that share a queue by priority; give the latency to a server of its own before it",
            ));
        }
        let names: Vec<String> = priorities.iter().map(Priority::to_string).collect();
        let link = Curve::line(Rational::ZERO, self.rate.clone());
        let shaping = match shaping {
            None => link,
            Some(shaping) => shaping.minimum(&link)?,
        };
        let server = Server {
            strict: strict && self.latency.is_zero(),
            shaping: Some(shaping),
            multiplexing: match several {
                true => Multiplexing::StaticPriority,
                false => Multiplexing::Fifo,
            },
            packetizer: true,
            ..Server::new(
                format!("{}/{}", self.name, names.join(",")),
                service.delayed(&self.latency),
            )
        };
        Ok(Queue { priorities, server })
    }

    fn check(&self) -> Result<(), PortError> {
        if !self.rate.is_positive() {
            return Err(self.fault("has no rate above zero; give that of its link"));
        }
        if self.latency.is_negative() {
            return Err(self.fault("has a negative latency"));
        }
        let classes = self.scheduler.packets();
        if classes.is_empty() {
            return Err(self.fault("has no class; give at least one"));
        }
        for (place, (priority, least, most)) in classes.iter().enumerate() {
            if classes.iter().take(place).any(|(other, ..)| other == priority) {
                return Err(self.class_fault(*priority, "is given twice; join both into one"));
            }
            if !most.is_positive() || !most.is_integer() {
                let fault = "needs a maximum packet of a whole number of bits above zero";
                return Err(self.class_fault(*priority, fault));
            }
            if !least.is_positive() || least > most {
                let fault = "needs a minimum packet above zero, and not above the maximum packet";
                return Err(self.class_fault(*priority, fault));
            }
        }
        Ok(())
    }

    fn fault(&self, fault: &'static str) -> PortError {
        PortError::Port { port: self.name.clone(), fault }
    }

    fn class_fault(&self, priority: Priority, fault: &'static str) -> PortError {
        PortError::Class { port: self.name.clone(), priority, fault }
    }
}

/// Checks the idle slope of a class. `follows_shaped_ones` says that all more urgent classes have
/// an idle slope.
fn check_idle_slope<S>(
    port: &Port,
    class: &Class<S>,
    slope: &Rational,
    follows_shaped_ones: bool,
) -> Result<(), PortError> {
    let fault = match (follows_shaped_ones, slope.is_positive()) {
        (true, true) => return Ok(()),
        (true, false) => "needs an idle slope above zero",
        (false, _) => {
            "has an idle slope below a class that has none; classes with shapers are the most urgent ones"
        }
    };
    Err(port.class_fault(class.priority, fault))
}

/// Returns the classes of a port in the order of their priorities, the most urgent first.
fn by_priority<S>(classes: &[Class<S>]) -> Vec<&Class<S>> {
    let mut sorted: Vec<&Class<S>> = classes.iter().collect();
    sorted.sort_by_key(|class| class.priority);
    sorted
}

#[cfg(test)]
mod tests;
