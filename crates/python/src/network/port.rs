//! The schedulers of ports, from the keyword arguments of Python.

use calculus::Rational;
use calculus::network::Priority;
use calculus::network::port::{Class, Gate, Scheduler, Window};
use pyo3::prelude::*;

use crate::errors::{Fault, Kind};
use crate::numbers::Number;

/// A class of traffic at a port.
#[derive(FromPyObject)]
pub(super) struct ClassOfPort {
    priority: u32,
    minimum_packet: Number,
    maximum_packet: Number,
    /// The idle slope, the quantum or the weight of the class, by the scheduler of the port.
    share: Option<Number>,
    /// The windows in which the gate of the class is open, each as time and length.
    windows: Option<Vec<(Number, Number)>>,
}

impl ClassOfPort {
    fn class<S>(&self, share: S) -> Class<S> {
        Class {
            priority: Priority(self.priority),
            minimum_packet: self.minimum_packet.0.clone(),
            maximum_packet: self.maximum_packet.0.clone(),
            share,
        }
    }

    fn fault(&self, what: &str) -> Fault {
        Fault::new(Kind::Network, what).at(format!("classes, priority {}", self.priority))
    }

    fn needed_share(&self, name: &str) -> Result<&Rational, Fault> {
        let share = self.share.as_ref().map(|share| &share.0);
        share.ok_or_else(|| self.fault(&format!("the {name} of the class is missing")))
    }

    fn weight(&self) -> Result<u32, Fault> {
        let weight = self.needed_share("weight")?.to_i64();
        let weight = weight.and_then(|weight| u32::try_from(weight).ok());
        weight.ok_or_else(|| self.fault("the weight of the class is not a whole number from 0 on"))
    }
}

/// Returns the scheduler with the given name.
pub(super) fn scheduler(
    name: &str,
    classes: Vec<ClassOfPort>,
    cycle: Option<Rational>,
) -> Result<Scheduler, Fault> {
    let weights = || {
        let weighted = classes.iter().map(|class| Ok(class.class(class.weight()?)));
        weighted.collect::<Result<Vec<_>, Fault>>()
    };
    if name != "gated" {
        if let Some(class) = classes.iter().find(|class| class.windows.is_some()) {
            return Err(class.fault("the class has windows, and only gated ports have gates"));
        }
        if cycle.is_some() {
            return Err(Fault::new(Kind::Network, "only gated ports have a cycle").at("cycle"));
        }
    }
    match name {
        "credit-based" => Ok(Scheduler::CreditBased(
            classes.iter().map(|class| class.class(class.share.clone().map(|s| s.0))).collect(),
        )),
        "deficit-round-robin" => {
            let quanta = classes.iter().map(|c| Ok(c.class(c.needed_share("quantum")?.clone())));
            Ok(Scheduler::DeficitRoundRobin(quanta.collect::<Result<_, Fault>>()?))
        }
        "weighted-round-robin" => Ok(Scheduler::WeightedRoundRobin(weights()?)),
        "interleaved-weighted-round-robin" => {
            Ok(Scheduler::InterleavedWeightedRoundRobin(weights()?))
        }
        "gated" => {
            let gate = |class: &ClassOfPort| match (&class.windows, &class.share) {
                (Some(windows), None) => {
                    let window = |(at, length): &(Number, Number)| Window {
                        at: at.0.clone(),
                        length: length.0.clone(),
                    };
                    Ok(class.class(Gate::Open(windows.iter().map(window).collect())))
                }
                (None, Some(slope)) => Ok(class.class(Gate::Shaped(slope.0.clone()))),
                (None, None) => Ok(class.class(Gate::BestEffort)),
                (Some(_), Some(_)) => Err(class.fault("the class has windows and an idle slope")),
            };
            let cycle = cycle.ok_or_else(|| {
                Fault::new(Kind::Network, "the cycle of the gates is missing").at("cycle")
            })?;
            Ok(Scheduler::Gated {
                cycle,
                classes: classes.iter().map(gate).collect::<Result<_, _>>()?,
            })
        }
        other => Err(Fault::new(Kind::Input, format!("'{other}' is not known"))
            .at("scheduler")
            .mended_by(
                "write one of credit-based, gated, deficit-round-robin, weighted-round-robin, \
                 interleaved-weighted-round-robin",
            )),
    }
}
