//! A model of a controller: the stages that a packet-in passes, and the time that each stage takes.
//!
//! A [`Model`] is read from a file that describes the stages for both protocols. A [`ServiceQueue`]
//! computes when each packet-in is answered. The queue uses neither a clock nor sockets, because
//! callers pass the time. A running controller can therefore delay its answers until the times that
//! the queue returns, and [`forecast`] can predict the results of a measurement without waiting.
//!
//! ```
//! use controllers::model::{Model, PAPER, Variant};
//! use controllers::p4runtime::AnswerAfter;
//! use std::time::Duration;
//!
//! let model = Model::from_toml(PAPER)?;
//! let mut queue = model.p4runtime(Variant::Original, AnswerAfter::Decoding);
//! let first = queue.admit(Duration::ZERO, 1).expect("P4Runtime loses nothing");
//! let second = queue.admit(Duration::ZERO, 1).expect("P4Runtime loses nothing");
//! assert_eq!(second - first, Duration::from_micros(545));
//! # Ok::<(), controllers::model::ModelError>(())
//! ```

pub mod forecast;
mod queue;

use std::time::Duration;

use serde::Deserialize;

use crate::p4runtime::AnswerAfter;
pub use queue::ServiceQueue;
pub(crate) use queue::{Overload, Row, StageTimes};

/// The text of the model file for the controller that was measured in the P4RCProbe paper.
pub const PAPER: &str = include_str!("../../../examples/paths/paper.toml");

/// The version of a modelled controller: before or after the change that the P4RCProbe paper
/// proposes in section V.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Variant {
    /// The controller reads the description of the pipeline (P4Info) again for every packet-in.
    #[default]
    Original,
    /// The controller reads the description of the pipeline only once.
    Enhanced,
}

/// A model of a controller, with its stages over each protocol.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// A short description of the modelled controller.
    pub title: String,
    /// The stages of the controller over OpenFlow.
    pub openflow: Stages,
    /// The stages of the controller over P4Runtime.
    pub p4runtime: Stages,
}

/// The stages of a modelled controller over one protocol, and its losses.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Stages {
    /// The time from the end of the last stage until the answer is sent, in microseconds.
    pub delay_us: f64,
    /// The largest number of packet-ins that may be unanswered at a time, or `None` for no limit. A
    /// packet-in that arrives beyond this limit is lost.
    pub most_waiting: Option<usize>,
    /// The loss of packet-ins at high rates, or `None` if no packet-in is lost.
    pub loss: Option<Loss>,
    /// The stages in the order in which a packet-in passes them.
    #[serde(rename = "stage")]
    pub stages: Vec<Stage>,
}

/// The loss of packet-ins above a certain rate.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Loss {
    /// The number of packet-ins per second up to which no packet-in is lost.
    pub above_per_second: f64,
    /// The share of the packet-ins above that rate that are lost, from 0 to 1.
    pub share: f64,
    /// The number of packet-ins above that rate that may arrive in a burst before any packet-in is
    /// lost.
    pub burst: f64,
}

/// A stage of a modelled controller.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Stage {
    /// The block of the controller to which the stage belongs: gRPC, decoding or application. If a
    /// controller answers after an earlier block, packet-ins do not pass this stage.
    #[serde(with = "block")]
    pub answers_after: AnswerAfter,
    /// The time that the stage takes for one packet-in while a single switch is connected.
    pub cost_us: Cost,
    /// The factors that apply to `cost_us` while more switches are connected, in increasing order
    /// of [`Factor::from`].
    #[serde(default)]
    pub switches: Vec<Factor>,
}

/// The time that a stage takes for one packet-in, in each variant of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// The time in microseconds in [`Variant::Original`].
    pub original: f64,
    /// The time in microseconds in [`Variant::Enhanced`].
    pub enhanced: f64,
}

/// The factor by which a stage takes longer while several switches are connected.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    /// The number of connected switches from which the factor applies.
    pub from: usize,
    /// The factor, which multiplies [`Stage::cost_us`].
    pub factor: f64,
    /// The additional factor while the controller is overloaded, or `None` if there is none.
    pub overload: Option<OverloadFactor>,
}

/// The factor by which a stage takes longer while the controller is overloaded.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverloadFactor {
    /// The number of unanswered packet-ins above which the controller counts as overloaded.
    pub above: usize,
    /// The factor, which multiplies the time that the stage takes otherwise.
    pub factor: f64,
}

/// Reads a block of the controller from its name in a model file.
mod block {
    use serde::{Deserialize, Deserializer, de::Error};

    use crate::p4runtime::AnswerAfter;

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<AnswerAfter, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// The reason why a file is not a valid model of a controller.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The file is not TOML, or a key is missing or unknown.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// The model has no stage for the named protocol.
    #[error("`{0}` has no stage; name at least one with [[{0}.stage]]")]
    NoStage(&'static str),
    /// A number in the model is negative, infinite or out of its valid range.
    #[error("`{protocol}`: {name} is {value}, but must be {wanted}")]
    Number {
        /// The protocol whose stages contain the number.
        protocol: &'static str,
        /// The key in the file to which the number belongs.
        name: &'static str,
        /// The number in the file.
        value: f64,
        /// The valid range of the number, in words.
        wanted: &'static str,
    },
    /// The rows of `switches` in the stages of the named protocol are not in increasing order of
    /// the number of switches.
    #[error("`{0}`: the rows of `switches` are not in increasing order of `from`")]
    Order(&'static str),
}

impl Model {
    /// Parses the text of a model file and checks its numbers.
    ///
    /// # Errors
    ///
    /// Returns a [`ModelError`] if the text is not a valid model.
    pub fn from_toml(text: &str) -> Result<Self, ModelError> {
        let model: Self = toml::from_str(text)?;
        model.openflow.check("openflow")?;
        model.p4runtime.check("p4runtime")?;
        Ok(model)
    }

    /// Returns the queue in which the controller serves packet-ins over OpenFlow.
    #[must_use]
    pub fn openflow(&self, variant: Variant) -> ServiceQueue {
        self.openflow.queue(variant, AnswerAfter::Application)
    }

    /// Returns the queue in which the controller serves packet-ins over P4Runtime. It contains the
    /// stages up to the block `answer_after`, after which the controller answers.
    #[must_use]
    pub fn p4runtime(&self, variant: Variant, answer_after: AnswerAfter) -> ServiceQueue {
        self.p4runtime.queue(variant, answer_after)
    }
}

impl Stages {
    fn queue(&self, variant: Variant, answer_after: AnswerAfter) -> ServiceQueue {
        let depth = |after: AnswerAfter| AnswerAfter::ALL.iter().position(|one| *one == after);
        let passed = self
            .stages
            .iter()
            .filter(|stage| depth(stage.answers_after) <= depth(answer_after))
            .map(|stage| stage.times(variant));
        let delay = microseconds(self.delay_us);
        let queue = ServiceQueue::new(passed.collect()).with_delay(delay);
        queue.losing(self.loss).with_limit(self.most_waiting)
    }

    fn check(&self, protocol: &'static str) -> Result<(), ModelError> {
        const TIME: &str = "a time from 0 to 1e9";
        const FACTOR: &str = "a factor above 0 and at most 1e6";
        let within = |name, value: f64, is_valid: bool, wanted| match is_valid {
            true => Ok(()),
            false => Err(ModelError::Number { protocol, name, value, wanted }),
        };
        let time = |name, value: f64| within(name, value, (0.0..=1e9).contains(&value), TIME);
        let factor = |value: f64| within("factor", value, value > 0.0 && value <= 1e6, FACTOR);
        if self.stages.is_empty() {
            return Err(ModelError::NoStage(protocol));
        }
        time("delay-us", self.delay_us)?;
        if let Some(Loss { above_per_second: rate, share, burst }) = self.loss {
            within("above-per-second", rate, rate > 0.0 && rate <= 1e9, "above 0 and at most 1e9")?;
            within("share", share, (0.0..=1.0).contains(&share), "from 0 to 1")?;
            within("burst", burst, (1.0..=1e9).contains(&burst), "from 1 to 1e9")?;
        }
        for stage in &self.stages {
            time("cost-us", stage.cost_us.original)?;
            time("cost-us", stage.cost_us.enhanced)?;
            if !stage.switches.is_sorted_by(|a, b| a.from < b.from) {
                return Err(ModelError::Order(protocol));
            }
            for row in &stage.switches {
                factor(row.factor)?;
                row.overload.map_or(Ok(()), |overload| factor(overload.factor))?;
            }
        }
        Ok(())
    }
}

impl Stage {
    fn times(&self, variant: Variant) -> StageTimes {
        let cost = match variant {
            Variant::Original => self.cost_us.original,
            Variant::Enhanced => self.cost_us.enhanced,
        };
        let row = |row: &Factor| Row {
            from: row.from,
            cost: microseconds(cost * row.factor),
            overload: row.overload.map(|overload| Overload {
                above: overload.above,
                cost: microseconds(cost * row.factor * overload.factor),
            }),
        };
        let alone = Row { from: 0, cost: microseconds(cost), overload: None };
        StageTimes(std::iter::once(alone).chain(self.switches.iter().map(row)).collect())
    }
}

fn microseconds(time: f64) -> Duration {
    Duration::from_nanos((time * 1e3).round() as u64)
}

#[cfg(test)]
mod tests;
