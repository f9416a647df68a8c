//! Claims of publications, each with the verdict of a run on it.

mod html;
mod json;
pub(super) mod markdown;
mod terminal;

pub(super) use html::table;
pub(super) use json::to_json;
use statistics::{Agreement, Criterion, Interval, Unit};
pub(super) use terminal::text;

use super::Tone;
use crate::format::figure;

/// The claims of one publication, with the verdict of this run on each.
#[derive(Clone, Debug)]
pub struct ClaimGroup {
    /// The short title of the publication.
    pub publication: String,
    /// The claims of the publication, in its order.
    pub claims: Vec<Claim>,
}

/// A claim of a publication, with the verdict of this run on it.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The short name of the claim, such as `T8`.
    pub id: String,
    /// The claim of the publication, as a sentence.
    pub sentence: String,
    /// The section and the figure of the publication that make the claim.
    pub source: String,
    /// The figures that support the claim, as they are printed in the publication.
    pub published: Vec<String>,
    /// The verdict of this run on the claim.
    pub verdict: Verdict,
    /// The system whose measurement decided the verdict, in words (empty if none did).
    pub decided_by: String,
    /// The parts into which the claim is divided. Each has one figure, by which it is judged.
    pub parts: Vec<Part>,
    /// The identifier of the section of the document that contains the evidence, or `None` if there
    /// is none.
    pub section: Option<String>,
    /// The command that repeats the measurement, or `None` if there is none.
    pub command: Option<String>,
}

/// Whether a run confirms a claim of a publication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The measured figures are equivalent to the published ones.
    Reproduced,
    /// The measured figures are not equivalent to the published ones, but they lie in the wider
    /// region (the shape) in which the claim still holds.
    InShape,
    /// The measured system is a model, and the measurement yields the figures of that model. This
    /// shows that the measurement works, and proves nothing about the publication.
    RecoversModel,
    /// The measured figures contradict the claim.
    NotReproduced,
    /// The run cannot decide the claim, for the given reason.
    NotTold(String),
}

/// A part of a claim: a figure, and the regions of values that decide whether the figure confirms
/// the claim.
#[derive(Clone, Debug)]
pub struct Part {
    /// The name of the figure by which this part of the claim is judged.
    pub name: String,
    /// The unit of the figure and of the regions.
    pub unit: Unit,
    /// The regions of values, which were fixed before the measurement.
    pub criterion: Criterion,
    /// The measured figure, or `None` if it was not measured.
    pub measured: Option<Measured>,
}

/// A measured or computed figure by which a part of a claim is judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The mean over the rounds of the measurement, or the computed value.
    pub value: f64,
    /// The confidence interval of the figure, at the confidence at which the claim is judged.
    pub interval: Interval,
    /// The number of rounds of the measurement, or 0 for a computed value.
    pub rounds: usize,
}

impl Verdict {
    /// The words for each kind of verdict, in the order of reports.
    const WORDS: [&'static str; 5] = [
        "reproduced",
        "reproduced in shape",
        "the probe recovers the model",
        "not reproduced",
        "not told",
    ];

    /// Returns the verdict in words, without the reason.
    #[must_use]
    pub fn words(&self) -> &'static str {
        let [reproduced, in_shape, recovers_model, not_reproduced, not_told] = Self::WORDS;
        match self {
            Self::Reproduced => reproduced,
            Self::InShape => in_shape,
            Self::RecoversModel => recovers_model,
            Self::NotReproduced => not_reproduced,
            Self::NotTold(_) => not_told,
        }
    }

    /// Returns the reason why the run cannot decide the claim (empty for other verdicts).
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::NotTold(reason) => reason,
            Self::Reproduced | Self::InShape | Self::RecoversModel | Self::NotReproduced => "",
        }
    }

    fn tone(&self) -> Tone {
        match self {
            Self::Reproduced | Self::InShape => Tone::Good,
            Self::NotReproduced => Tone::Bad,
            Self::RecoversModel | Self::NotTold(_) => Tone::Plain,
        }
    }
}

impl Part {
    /// Formats the measured figure with its interval, such as `1.40 (1.31 to 1.49)`. Returns `None`
    /// if it was not measured.
    fn measured(&self) -> Option<String> {
        let Measured { value, interval, rounds } = self.measured?;
        let one = |value: f64| number(value, self.unit);
        Some(match rounds {
            0 => one(value),
            _ => format!("{} ({} to {})", one(value), one(interval.low), one(interval.high)),
        })
    }

    /// Returns how the measured figure agrees with the regions of values by which the claim is
    /// judged, or `None` if the figure was not measured.
    fn agreement(&self) -> Option<Agreement> {
        Some(self.criterion.judge(self.measured?.interval))
    }

    /// Returns a line about this part: its regions, its measured figure, and whether they agree.
    fn judged(&self) -> String {
        let mut text = format!("{} ({})", self.name, self.regions());
        match (self.measured(), self.measured, self.agreement()) {
            (Some(words), Some(measured), Some(agreement)) => {
                let over = match measured.rounds {
                    0 => "computed".to_owned(),
                    rounds => format!("{rounds} rounds"),
                };
                text.push_str(&format!(": {words}, {over}: {}", agreement_in_words(agreement)));
            }
            _ => text.push_str(": not measured"),
        }
        text
    }

    /// Returns a description of the regions by which the figure is judged.
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

/// Formats a figure of a claim in its unit. Ratios have three significant digits.
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
    /// Returns the reason why the run does not confirm the claim (empty if it does): why it cannot
    /// decide the claim, or which figures contradict the claim.
    fn reason(&self) -> String {
        let contradicts = |part: &&Part| part.agreement() == Some(Agreement::Contradicted);
        let figure = |part: &Part| {
            let shape = part.criterion.shape();
            Some(format!("{} is {}, and not {shape}", part.name, part.measured()?))
        };
        if self.verdict != Verdict::NotReproduced {
            return self.verdict.reason().to_owned();
        }
        let figures = self.parts.iter().filter(contradicts).filter_map(figure);
        figures.collect::<Vec<_>>().join("; ")
    }

    /// Returns the measured figures of all parts of the claim, as text.
    fn measured(&self) -> Vec<String> {
        let one = |part: &Part| Some(format!("{}: {}", part.name, part.measured()?));
        self.parts.iter().filter_map(one).collect()
    }
}

/// Returns a sentence with the number of claims of each verdict that occurs, such as
/// `36 claims: 2 reproduced, 34 not told.`
#[must_use]
pub fn counts(groups: &[ClaimGroup]) -> String {
    let verdicts = || groups.iter().flat_map(|group| &group.claims).map(|claim| &claim.verdict);
    let parts: Vec<String> = Verdict::WORDS
        .into_iter()
        .filter_map(|words| {
            let counted = || verdicts().filter(|verdict| verdict.words() == words);
            let link = match counted().next()? {
                Verdict::RecoversModel => "where ",
                _ => "",
            };
            Some(format!("{} {link}{words}", counted().count()))
        })
        .collect();
    format!("{} claims: {}.", verdicts().count(), parts.join(", "))
}
