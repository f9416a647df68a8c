//! The costs of the work that packets need, in processor cycles, and the predictions that follow
//! from them.

use device::{Level, Model, SettingModel};
use ir::Program;
use packetio::cycles::CycleCounter;
use statistics::{AdditiveFit, Observation, Prediction};
use std::time::Duration;

use super::work::{Counts, Kind, Packet, Work};
use crate::device::contract::weights;
use crate::failure::Failure;

/// The number by which costs in cycles are multiplied to become the integer weights of the solver.
const UNITS: f64 = 16.0;
/// The time for which the cycle counter is compared with the clock, to measure its rate.
const CALIBRATION: Duration = Duration::from_millis(200);

/// The origin of the costs by which the cycles of packets are predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The costs of kinds of work, fitted to measurements of generated packets.
    Fit,
    /// The costs that a device model states for the parts of the program.
    Model,
}

/// The costs of the work that packets need, in cycles.
pub(super) enum Costs {
    /// A constant for each packet, and a cost for each unit of each kind of work.
    Fitted(AdditiveFit),
    /// A constant for each packet, and a cost for each goal (part of the program) that the packet
    /// reaches.
    Modelled { constant: f64, goals: Vec<f64> },
}

/// The integer weights of goals. A solver searches for the paths with the largest sum of weights.
pub(super) struct Weights {
    pub(super) goals: Vec<u32>,
    /// Whether a goal counts each time that a packet reaches it, rather than once.
    pub(super) each_time: bool,
    /// The weight of each packet that leaves the switch.
    pub(super) per_output: u32,
}

impl Costs {
    /// Returns the median costs that a device model predicts for the goals of a program.
    pub(super) fn of_model(
        program: &Program,
        model: &Model,
        under: &SettingModel,
    ) -> Result<Self, Failure> {
        let counter = CycleCounter::calibrate(CALIBRATION).ok_or_else(|| {
            Failure::run("this processor has no cycle counter that runs at a constant rate")
        })?;
        let cycles = |picoseconds: i64| picoseconds as f64 * 1e-12 * counter.frequency();
        let baseline = under.f0.profile.level(Level::Median).ok_or_else(|| {
            Failure::input("--model: the model has no median delay; derive it again")
        })?;
        let goals = symbolic::goals::list(program);
        let weights = weights(program, &goals, model, under, Level::Median);
        Ok(Self::Modelled {
            constant: cycles(baseline.value.0),
            goals: weights.into_iter().map(cycles).collect(),
        })
    }

    /// Fits the costs of the kinds of work to the measured cycles of packets. Returns `None` if
    /// there are no packets, or if a packet takes no cycles.
    pub(super) fn fit(work: &Work, packets: &[Packet], cycles: &[f64]) -> Option<Self> {
        let observation = |(packet, cycles): (&Packet, &f64)| Observation {
            counts: packet.work(work).row().to_vec(),
            cost: *cycles,
        };
        let observations: Vec<Observation> = packets.iter().zip(cycles).map(observation).collect();
        AdditiveFit::of(&observations).map(Self::Fitted)
    }

    /// Returns the costs as integer weights of goals. They are rounded up, so that the sum of the
    /// weights of a path is never below its cost.
    pub(super) fn weights(&self, work: &Work) -> Weights {
        let weight = |cost: f64| (cost * UNITS).ceil() as u32;
        match self {
            Self::Fitted(fit) => Weights {
                goals: work.costs(fit.each()).map(weight).collect(),
                each_time: true,
                per_output: weight(cost_of(fit, Kind::Output)),
            },
            Self::Modelled { goals, .. } => Weights {
                goals: goals.iter().copied().map(weight).collect(),
                each_time: false,
                per_output: 0,
            },
        }
    }

    /// Returns the largest number of cycles that a packet of `bytes` bytes can take if the sum of
    /// its weights is at most `weight`.
    pub(super) fn bound(&self, bytes: f64, weight: u64) -> f64 {
        let path = weight as f64 / UNITS;
        match self {
            Self::Fitted(fit) => fit.predict(Work::of_length(bytes).row()).cost + path,
            Self::Modelled { constant, .. } => constant + path,
        }
    }

    /// Predicts the number of cycles that a packet takes.
    pub(super) fn predict(&self, work: &Work, packet: &Packet) -> Prediction {
        match self {
            Self::Fitted(fit) => fit.predict(packet.work(work).row()),
            Self::Modelled { constant, goals } => {
                let goals: f64 = packet.reached.iter().filter_map(|at| goals.get(*at)).sum();
                let cost = constant + goals;
                Prediction { cost, interval: None, undetermined: Vec::new() }
            }
        }
    }

    /// Returns the median error of the predictions, as a share of the measured cycles. For fitted
    /// costs, each packet is predicted by a fit that leaves this packet out.
    pub(super) fn error(&self, work: &Work, packets: &[Packet], cycles: &[f64]) -> Option<f64> {
        match self {
            Self::Fitted(fit) => fit.median_error(),
            Self::Modelled { .. } => {
                let error = |(packet, cycles): (&Packet, &f64)| {
                    (self.predict(work, packet).cost / cycles - 1.0).abs()
                };
                let errors = packets.iter().zip(cycles).map(error).collect();
                statistics::Ordered::of_numbers(errors).at(0.5)
            }
        }
    }
}

/// Returns the cost of one unit of a kind of work.
fn cost_of(fit: &AdditiveFit, kind: Kind) -> f64 {
    fit.each().get(kind as usize).copied().unwrap_or(0.0)
}

/// A kind of work with its cost, and the smallest and largest amount of it among the packets.
pub(super) struct KindCost {
    pub(super) kind: Kind,
    /// The cost of one unit in cycles. `None` if all packets need the same amount, because the cost
    /// is then part of the constant.
    pub(super) cost: Option<f64>,
    pub(super) least: f64,
    pub(super) most: f64,
}

/// Returns the costs of those kinds of work that any of the packets needs.
pub(super) fn kind_costs(fit: &AdditiveFit, work: &Work, packets: &[Packet]) -> Vec<KindCost> {
    let counts: Vec<Counts> = packets.iter().map(|packet| packet.work(work)).collect();
    let mut costs = Vec::new();
    for (position, kind) in Kind::ALL.into_iter().enumerate() {
        let of_kind: Vec<f64> =
            counts.iter().filter_map(|counts| counts.row().get(position).copied()).collect();
        let least = of_kind.iter().copied().fold(f64::INFINITY, f64::min);
        let most = of_kind.iter().copied().fold(0.0, f64::max);
        if most > 0.0 {
            let varies = !fit.unvaried().contains(&position);
            let cost = varies.then(|| cost_of(fit, kind));
            costs.push(KindCost { kind, cost, least, most });
        }
    }
    costs
}

/// Returns weights that count the work of one kind that each goal causes, or `None` if no goal
/// causes any.
pub(super) fn weights_of_kind(work: &Work, kind: Kind) -> Option<Weights> {
    // Parts are whole or, for bytes, eighths of them.
    let goals: Vec<u32> = work.of_kind(kind).map(|count| (count * 8.0).ceil() as u32).collect();
    let per_output = u32::from(kind == Kind::Output);
    let any = per_output > 0 || goals.iter().any(|weight| *weight > 0);
    any.then_some(Weights { goals, each_time: true, per_output })
}
