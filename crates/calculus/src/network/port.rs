//! Output ports: a link of constant rate that classes of traffic share by shapers, gates or turns.
//!
//! What a class gets depends on the scheduler and on the largest packets of the others, not on how much the others
//! send. So each class is a FIFO server of its own, with a service curve that follows from the parameters of the port,
//! and every analysis applies. Classes that only static priority tells apart (best effort below credit-based shapers,
//! classes whose gates open at the same times) share one server that serves by priority. Proofs of the curves are
//! with the schedulers: `credit`, `gates` and `turns`.
//!
//! All curves count bits on the wire, and packets are whole numbers of bits. Data leave in packets, and each class
//! obeys the rate of the link besides.

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

/// A link and what shares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name; that of the server of a class is this, a slash and the class.
    pub name: String,
    /// Rate of the link, in bits per second.
    pub rate: Rational,
    /// Time until a packet that has come is in its queue, at most, in seconds.
    pub latency: Rational,
    /// What shares the link.
    pub scheduler: Scheduler,
}

/// A class of traffic at a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class<S> {
    /// Flows of that priority; 0 is served first where priorities count.
    pub priority: Priority,
    /// Its smallest packet in bits, as it is on the wire.
    pub minimum_packet: Rational,
    /// Its largest packet in bits, as it is on the wire.
    pub maximum_packet: Rational,
    /// What it has of the port.
    pub share: S,
}

/// How classes share a link. Packets are not preempted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// Credit-based shapers (IEEE 802.1Q, 8.6.8.2) of idle slopes in bits per second, in the order of priorities; classes
    /// without one are best effort, below all others.
    CreditBased(Vec<Class<Option<Rational>>>),
    /// Gates that open and close at set times of a cycle in seconds (IEEE 802.1Q, 8.6.8.4). A packet begins only if it ends
    /// before its gate closes. Classes without windows share the time in which no window is, by shapers and priority.
    Gated {
        /// The cycle.
        cycle: Rational,
        /// When the gate of each class is open.
        classes: Vec<Class<Gate>>,
    },
    /// Deficit round robin (Shreedhar and Varghese, 1996) with quanta in bits.
    DeficitRoundRobin(Vec<Class<Rational>>),
    /// Round robin with so many packets a turn.
    WeightedRoundRobin(Vec<Class<u32>>),
    /// The same with one packet of each class a round, as long as its weight lasts.
    InterleavedWeightedRoundRobin(Vec<Class<u32>>),
}

/// When the gate of a class is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// In these windows.
    Open(Vec<Window>),
    /// When no window of another class is, with a credit-based shaper whose idle slope is this, in bits per second of the
    /// whole cycle. Credit is frozen while the gate is shut.
    Shaped(Rational),
    /// At the same times, below all shapers.
    BestEffort,
}

/// When a gate is open, within a cycle, in seconds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Window {
    /// When it opens.
    pub at: Rational,
    /// For how long.
    pub length: Rational,
}

/// Why a port is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PortError {
    /// Something of the port.
    #[error("port '{}' {fault}", excerpt(port))]
    Port {
        /// The port.
        port: String,
        /// What is wrong and what to do.
        fault: &'static str,
    },
    /// Something of a class.
    #[error("class {priority} of port '{}' {fault}", excerpt(port))]
    Class {
        /// The port.
        port: String,
        /// The class.
        priority: Priority,
        /// What is wrong and what to do.
        fault: &'static str,
    },
    /// Gates of classes with different times are open at one time.
    #[error(
        "the gates of classes {first} and {second} of port '{}' are open at one time, but not always: what one \
         leaves over for the other has no curve of its own; open them at the same times, or one after the other",
        excerpt(port)
    )]
    Overlap {
        /// The port.
        port: String,
        /// A class.
        first: Priority,
        /// Another one.
        second: Priority,
    },
    /// A parameter makes no curve.
    #[error(transparent)]
    Curve(#[from] CurveError),
    /// A curve is beyond what the algebra does.
    #[error(transparent)]
    Algebra(#[from] AlgebraError),
}

/// A queue of a port: classes that are served by priority among each other, and what they get.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    pub(super) priorities: Vec<Priority>,
    pub(super) server: Server,
}

/// What a queue gets: service, whether that is strict, and what it lets out besides the rate of the link.
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
    /// Classes with their smallest and largest packets.
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
    /// Its queues.
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

    /// Whether classes take turns.
    pub(super) fn takes_turns(&self) -> bool {
        matches!(
            self.scheduler,
            Scheduler::DeficitRoundRobin(_)
                | Scheduler::WeightedRoundRobin(_)
                | Scheduler::InterleavedWeightedRoundRobin(_)
        )
    }

    /// How many of so many bits are of a class that always has something to send, at least, if some classes send nothing.
    pub(super) fn turns_without(
        &self,
        own: Priority,
        without: &[Priority],
    ) -> Result<Option<Curve>, PortError> {
        turns::own(&self.scheduler, own, without)
    }

    fn queue(&self, share: Share) -> Result<Queue, PortError> {
        let Share { priorities, service, strict, shaping } = share;
        let several = priorities.len() > 1;
        if several && self.latency.is_positive() {
            // Packets that are late in their queue are not served in the order of priorities of those that have come.
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
                return Err(self.class_fault(*priority, "is there twice; join both into one"));
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

/// Of a class with a credit-based shaper, behind those that are more urgent.
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

/// Classes in the order of priorities.
fn by_priority<S>(classes: &[Class<S>]) -> Vec<&Class<S>> {
    let mut sorted: Vec<&Class<S>> = classes.iter().collect();
    sorted.sort_by_key(|class| class.priority);
    sorted
}

#[cfg(test)]
mod tests;
