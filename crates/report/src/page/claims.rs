//! Claims of publications, each with the verdict that a run reached on it.

mod html;
mod json;
mod terminal;

pub(super) use html::table;
pub(super) use json::to_json;
use statistics::{Agreement, Criterion, Interval, Unit};
pub(super) use terminal::text;

use super::Tone;
use crate::format::figure;

/// The claims of one publication.
#[derive(Clone, Debug)]
pub struct ClaimGroup {
    /// The short title of the publication.
    pub publication: String,
    /// The claims, in the order of the publication.
    pub claims: Vec<Claim>,
}

/// A claim and its verdict.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The short name, such as `T8`.
    pub id: String,
    /// The claim as a sentence.
    pub sentence: String,
    /// The section and the figure in the publication.
    pub source: String,
    /// The published figures as printed, with their marks.
    pub published: Vec<String>,
    /// The verdict of this run.
    pub verdict: Verdict,
    /// The system that decided, in words; empty if none did.
    pub decided_by: String,
    /// The parts of the claim, of which each has one figure.
    pub parts: Vec<Part>,
    /// The identifier of the section with the evidence, if the document has one.
    pub section: Option<String>,
    /// The command that measures the evidence again, if there is one.
    pub command: Option<String>,
}

/// The verdict on a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The measurement is equivalent to what is published.
    Reproduced,
    /// The measurement has the shape of what is published.
    InShape,
    /// The measurement contradicts the claim.
    NotReproduced,
    /// The run does not decide the claim, for the reason given.
    NotTold(String),
}

/// A figure that belongs to a claim, and the regions by which it is judged.
#[derive(Clone, Debug)]
pub struct Part {
    /// The name of the figure.
    pub name: String,
    /// The unit of the figure and of its regions.
    pub unit: Unit,
    /// The regions that were fixed before the measurement.
    pub criterion: Criterion,
    /// The measured figure, if there is one.
    pub measured: Option<Measured>,
}

/// A measured figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The mean over rounds, or the computed value.
    pub value: f64,
    /// The interval at the confidence of the claim.
    pub interval: Interval,
    /// The number of rounds; 0 for a computed value.
    pub rounds: usize,
}

impl Verdict {
    /// All kinds of verdicts in the order of reports, each with its words.
    pub const WORDS: [&'static str; 4] =
        ["reproduced", "reproduced in shape", "not reproduced", "not told"];

    /// Returns the verdict in words, without the reason.
    #[must_use]
    pub fn words(&self) -> &'static str {
        let [reproduced, in_shape, not_reproduced, not_told] = Self::WORDS;
        match self {
            Self::Reproduced => reproduced,
            Self::InShape => in_shape,
            Self::NotReproduced => not_reproduced,
            Self::NotTold(_) => not_told,
        }
    }

    /// Returns the reason why a claim is not told; empty for other verdicts.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::NotTold(reason) => reason,
            Self::Reproduced | Self::InShape | Self::NotReproduced => "",
        }
    }

    fn tone(&self) -> Tone {
        match self {
            Self::Reproduced | Self::InShape => Tone::Good,
            Self::NotReproduced => Tone::Bad,
            Self::NotTold(_) => Tone::Plain,
        }
    }
}

impl Part {
    /// Formats the measured figure with its interval: `1.40 (1.31 to 1.49)`.
    fn measured(&self) -> Option<String> {
        let Measured { value, interval, rounds } = self.measured?;
        let one = |value: f64| number(value, self.unit);
        Some(match rounds {
            0 => one(value),
            _ => format!("{} ({} to {})", one(value), one(interval.low), one(interval.high)),
        })
    }

    /// Returns the agreement of the measured figure with the regions.
    fn agreement(&self) -> Option<Agreement> {
        Some(self.criterion.judge(self.measured?.interval))
    }

    /// Returns the regions in words.
    fn regions(&self) -> String {
        let shape = self.criterion.shape();
        match self.criterion.equivalent() {
            Some(equivalent) if equivalent != shape => {
                format!("equivalent: {equivalent}; in shape: {shape}")
            }
            Some(equivalent) => format!("equivalent: {equivalent}"),
            None => format!("in shape: {shape}"),
        }
    }
}

/// Formats a figure of a claim. Ratios have three significant digits.
fn number(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Index if value != 0.0 => {
            let digits = (2.0 - value.abs().log10().floor()).clamp(0.0, 6.0) as usize;
            format!("{value:.digits$}")
        }
        _ => figure(value, unit),
    }
}

fn agreement_in_words(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::Equivalent => "equivalent",
        Agreement::Shape => "in shape",
        Agreement::Contradicted => "contradicts",
        Agreement::Undecided => "undecided",
    }
}

impl Claim {
    /// Returns the measured figures of the parts in words.
    fn measured(&self) -> Vec<String> {
        let one = |part: &Part| Some(format!("{}: {}", part.name, part.measured()?));
        self.parts.iter().filter_map(one).collect()
    }
}

/// Returns the number of claims of each verdict, as a sentence: `36 claims: 2 reproduced, ...`.
#[must_use]
pub fn counts(groups: &[ClaimGroup]) -> String {
    let verdicts = || groups.iter().flat_map(|group| &group.claims).map(|claim| &claim.verdict);
    let parts: Vec<String> = Verdict::WORDS
        .into_iter()
        .map(|words| {
            let count = verdicts().filter(|verdict| verdict.words() == words).count();
            format!("{count} {words}")
        })
        .collect();
    format!("{} claims: {}.", verdicts().count(), parts.join(", "))
}
