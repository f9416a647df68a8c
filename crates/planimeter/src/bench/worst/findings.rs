//! The results of a search for the costliest paths.

use pipeline::Path;
use statistics::{Confidence, Interval, LargestPrediction, Ordered, Prediction};
use symbolic::goals::{Goal, Kind};

use super::costs::{Costs, Origin};
use super::work::Packet;

/// A packet with the processor cycles that it was measured to take.
pub(super) struct Measured {
    pub(super) packet: Packet,
    /// The median of the cycles per packet.
    pub(super) cycles: f64,
    /// The 95 % confidence interval of the median, or `None` if the packet had too few turns.
    pub(super) interval: Option<Interval>,
}

impl Measured {
    /// Summarises the cycles that a packet took in its turns. Returns `None` if there were no
    /// turns.
    pub(super) fn of(packet: Packet, turns: &Ordered<f64>) -> Option<Self> {
        let cycles = turns.at(0.5)?;
        let interval = match turns.interval(0.5, Confidence::P95) {
            [Some(low), Some(high)] => Some(Interval { low, high }),
            _ => None,
        };
        Some(Self { packet, cycles, interval })
    }

    /// Returns whether the confidence intervals of both packets overlap, so that the measurement
    /// cannot tell which of them costs more.
    pub(super) fn may_equal(&self, other: &Self) -> bool {
        match (self.interval, other.interval) {
            (Some(one), Some(other)) => one.low <= other.high && other.low <= one.high,
            (None, _) | (_, None) => self.cycles.total_cmp(&other.cycles).is_eq(),
        }
    }
}

/// A path that was predicted to be costly, and its measurement.
pub(super) struct Predicted {
    pub(super) measured: Measured,
    pub(super) length: u32,
    pub(super) prediction: Prediction,
    /// The number of cycles that no packet of this length exceeds, provided that the costs are
    /// right.
    pub(super) bound: f64,
}

/// The results of the search on one execution path.
pub(super) struct Findings {
    pub(super) path: Path,
    /// The reason why nothing was measured, or `None` if packets were measured.
    pub(super) refused: Option<String>,
    pub(super) origin: Origin,
    /// The costs by which cycles were predicted, or `None` if nothing was measured.
    pub(super) costs: Option<Costs>,
    /// The median error of the predictions for generated packets, as a share of the measured
    /// cycles.
    pub(super) error: Option<f64>,
    /// The rate of the cycle counter in cycles per second.
    pub(super) frequency: f64,
    /// The measurements of the generated packets, to which costs were fitted.
    pub(super) generated: Vec<Measured>,
    pub(super) predicted: Vec<Predicted>,
    /// The path with the largest prediction, and those whose predictions are not clearly smaller.
    pub(super) largest: Option<LargestPrediction>,
    /// Remarks on packets that were not found or not measured, as sentences.
    pub(super) remarks: Vec<String>,
}

impl Findings {
    /// Returns the findings of an execution path on which nothing has been measured.
    pub(super) fn new(path: Path, origin: Origin) -> Self {
        Self {
            path,
            refused: None,
            origin,
            costs: None,
            error: None,
            frequency: 0.0,
            generated: Vec::new(),
            predicted: Vec::new(),
            largest: None,
            remarks: Vec::new(),
        }
    }

    /// Returns all packets that were measured.
    fn measured(&self) -> impl Iterator<Item = &Measured> {
        let predicted = self.predicted.iter().map(|one| &one.measured);
        self.generated.iter().chain(predicted)
    }

    /// Returns the measured packets that are no longer than this one. Longer packets are left out
    /// because they may cost more, whatever their path.
    pub(super) fn comparable(&self, packet: &Measured) -> impl Iterator<Item = &Measured> {
        let bytes = packet.packet.bytes();
        self.measured().filter(move |other| other.packet.bytes() <= bytes)
    }

    /// Returns the rank of a packet by its cycles among the measured packets that are no longer,
    /// from 1 for the costliest.
    pub(super) fn place(&self, packet: &Measured) -> usize {
        self.comparable(packet).filter(|other| other.cycles > packet.cycles).count() + 1
    }

    /// Returns the predicted path with the largest prediction.
    pub(super) fn worst(&self) -> Option<&Predicted> {
        self.predicted.get(self.largest.as_ref()?.position)
    }
}

/// Returns the names of the actions that tables run on a path, separated by commas.
pub(super) fn actions(goals: &[Goal], reached: &[usize]) -> String {
    let reached = reached.iter().filter_map(|at| goals.get(*at));
    let actions = reached.filter(|goal| goal.kind == Kind::Action).map(|goal| goal.name.as_str());
    let actions: Vec<&str> = actions.collect();
    if actions.is_empty() { "no table".to_owned() } else { actions.join(", ") }
}
