//! The claims of the papers, which are read from data files and checked.

use serde::{Deserialize, Serialize};
use statistics::{Criterion, Region, Unit};

use super::published::PublishedUnit;

/// The data file with the claims of a paper.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    claim: Vec<Claim>,
}

/// A claim of a paper, and how measurements decide whether it holds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Claim {
    /// The identifier of the claim: the letter of its paper and a number, such as `C15`.
    pub(super) id: String,
    pub(super) sentence: String,
    /// The section of the paper that states the claim, with its figure or table.
    pub(super) section: String,
    /// The figures that the paper prints for the claim (empty if it states the claim without
    /// figures).
    pub(super) published: Vec<Printed>,
    /// The kinds of systems whose measurements may decide the claim, the most conclusive first.
    pub(super) decided_by: Deciders,
    /// The figure or table whose experiment measures the claim, or `None` if no experiment of this
    /// version does.
    pub(super) exhibit: Option<String>,
    /// A description of the measurement that would decide the claim, for readers of a run that
    /// cannot decide it.
    pub(super) would_tell: String,
    /// The measured figures on which the claim depends. All of them must agree with the claim.
    pub(super) parts: Vec<Part>,
}

/// A published figure as text, and whether it is exact, rounded or derived.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub(super) struct Printed {
    pub(super) mark: Mark,
    pub(super) text: String,
}

/// Whether the paper prints a figure of a claim exactly, rounded, or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// The paper prints exactly this figure.
    Exact,
    /// The paper prints this figure as rounded, with a word such as "around".
    Rounded,
    /// The figure is derived from other figures that the paper prints.
    Derived,
}

impl From<String> for Printed {
    fn from(text: String) -> Self {
        let marks = [("≈ ", Mark::Rounded), ("† ", Mark::Derived)];
        for (prefix, mark) in marks {
            if let Some(text) = text.strip_prefix(prefix) {
                return Self { mark, text: text.to_owned() };
            }
        }
        Self { mark: Mark::Exact, text }
    }
}

impl Printed {
    /// Returns the figure with a sign: `≈` if the paper rounds it, and `†` if it is derived.
    pub(super) fn words(&self) -> String {
        match self.mark {
            Mark::Exact => self.text.clone(),
            Mark::Rounded => format!("≈ {}", self.text),
            Mark::Derived => format!("{} †", self.text),
        }
    }
}

/// A kind of system whose measurements may decide a claim. Data files name it by a letter, which is
/// given in parentheses below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum System {
    /// A model of the controller that the paper measured (A).
    Model,
    /// A controller from a package registry (B).
    Registry,
    /// This project's reference controller, over OpenFlow and P4Runtime (R).
    Reference,
    /// The controller of the reader of the report (C).
    Yours,
    /// A P4 program that processes whole packets in memory, without ports (M).
    Memory,
    /// Tables that are accessed alone, without packets (T).
    TableAlone,
    /// The software switch `planimeter switch` on virtual Ethernet interfaces (V).
    Veth,
    /// The software switch Open vSwitch (O).
    OpenVswitch,
    /// A computation instead of a measurement (K).
    Computed,
}

impl System {
    const LETTERS: [(char, Self); 9] = [
        ('a', Self::Model),
        ('b', Self::Registry),
        ('r', Self::Reference),
        ('c', Self::Yours),
        ('m', Self::Memory),
        ('t', Self::TableAlone),
        ('v', Self::Veth),
        ('o', Self::OpenVswitch),
        ('k', Self::Computed),
    ];

    /// Returns the name of the system for readers of the report.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Model => "a model of the paper's controller",
            Self::Registry => "a controller of a registry",
            Self::Reference => "the reference controller",
            Self::Yours => "your controller",
            Self::Memory => "packets in memory",
            Self::TableAlone => "the table alone",
            Self::Veth => "planimeter switch on veth",
            Self::OpenVswitch => "Open vSwitch",
            Self::Computed => "computation",
        }
    }
}

/// The strongest verdict on a claim to which measurements of a system may lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strongest {
    Reproduced,
    InShape,
    /// The system is a model, whose figures are known in advance. Its measurements show whether the
    /// probe recovers these figures, and nothing about the paper.
    RecoversModel,
}

/// A kind of system that may decide a claim, and the strongest verdict to which its measurements
/// may lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decider {
    pub(super) system: System,
    pub(super) strongest: Strongest,
}

/// The kinds of systems that may decide a claim. Data files write them as letters separated by
/// spaces. An upper-case letter allows the verdict "reproduced", a lower-case letter at most "in
/// shape". The letter of [`System::Model`] allows only "recovers the model", in either case.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Deciders(pub(super) Vec<Decider>);

impl TryFrom<String> for Deciders {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let decider = |letter: char| {
            let small = letter.to_ascii_lowercase();
            let found = System::LETTERS.into_iter().find(|(own, _)| *own == small);
            let strongest = |system| match letter.is_ascii_uppercase() {
                _ if system == System::Model => Strongest::RecoversModel,
                true => Strongest::Reproduced,
                false => Strongest::InShape,
            };
            found
                .map(|(_, system)| Decider { system, strongest: strongest(system) })
                .ok_or_else(|| format!("no system has the letter `{letter}`"))
        };
        let letters = text.chars().filter(|letter| !letter.is_whitespace());
        letters.map(decider).collect::<Result<_, _>>().map(Self)
    }
}

/// A measurable part of a claim: a figure, and the criterion that it must meet.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "PartFile")]
pub(super) struct Part {
    /// The key under which experiments store the measured figure.
    pub(super) key: String,
    pub(super) what: String,
    pub(super) unit: Unit,
    pub(super) criterion: Criterion,
    /// The figure by which a measurement of [`System::Model`] is judged, or `None` if the model
    /// predicts nothing for this part of the claim.
    model: Option<OfModel>,
}

/// A figure of the modelled controller that a measurement must recover. A data file states its kind
/// (`rate` or `time`), which determines the permitted deviation. If the figure has another key than
/// the part of the claim, a colon and that key follow.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
struct OfModel {
    figure: Option<String>,
    /// The region in which the ratio of the measured value to the model's value must lie.
    region: Region,
}

impl TryFrom<String> for OfModel {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (kind, figure) = match text.split_once(": ") {
            Some((kind, figure)) => (kind, Some(figure.to_owned())),
            None => (text.as_str(), None),
        };
        // Times in overload vary more than rates, since stalls of the host lengthen them.
        let region = match kind {
            "rate" => "0.95..1.05",
            "time" => "0.9..1.1",
            _ => return Err(format!("`{kind}` is neither rate nor time")),
        };
        let region = region.parse().map_err(|error| format!("{region}: {error}"))?;
        Ok(Self { figure, region })
    }
}

impl Part {
    /// Returns the part with the criterion for measurements of `system`, or `None` if such
    /// measurements say nothing about the part.
    pub(super) fn for_system(&self, system: System) -> Option<Self> {
        if system != System::Model {
            return Some(self.clone());
        }
        let OfModel { figure, region } = self.model.as_ref()?;
        Some(Self {
            what: format!("{}, measured over model", figure.as_ref().unwrap_or(&self.what)),
            unit: Unit::Index,
            criterion: Criterion::of_shape(*region),
            ..self.clone()
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PartFile {
    key: String,
    what: String,
    /// The unit of the figure, or `None` for a ratio.
    unit: Option<PublishedUnit>,
    equivalent: Option<String>,
    shape: String,
    model: Option<OfModel>,
}

impl TryFrom<PartFile> for Part {
    type Error = String;

    fn try_from(file: PartFile) -> Result<Self, String> {
        let region =
            |text: &str| text.parse::<Region>().map_err(|error| format!("{}: {error}", file.key));
        let shape = region(&file.shape)?;
        let criterion = match &file.equivalent {
            None => Criterion::of_shape(shape),
            Some(text) => Criterion::new(region(text)?, shape)
                .map_err(|error| format!("{}: {error}", file.key))?,
        };
        let unit = file.unit.map_or(Unit::Index, PublishedUnit::unit);
        Ok(Self { key: file.key, what: file.what, unit, criterion, model: file.model })
    }
}

/// Parses the text of a data file with claims.
pub(super) fn read(text: &str) -> Result<Vec<Claim>, toml::de::Error> {
    Ok(toml::from_str::<File>(text)?.claim)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::published::papers;
    use super::*;

    #[test]
    fn every_claim_is_complete_and_its_exhibit_exists() {
        let papers = papers().expect("the files");
        let exhibits: BTreeSet<&str> =
            papers.iter().flat_map(|paper| &paper.exhibits).map(|one| one.id.as_str()).collect();
        let mut keys = BTreeSet::new();
        for (paper, (letter, count)) in papers.iter().zip([('C', 15), ('T', 13), ('D', 8)]) {
            let ids: Vec<&str> = paper.claims.iter().map(|claim| claim.id.as_str()).collect();
            let expected: Vec<String> =
                (1..=count).map(|number| format!("{letter}{number}")).collect();
            assert_eq!(ids, expected);
            for claim in &paper.claims {
                let id = &claim.id;
                assert!(claim.sentence.ends_with('.') && !claim.section.is_empty(), "{id}");
                assert!(!claim.would_tell.is_empty() && !claim.would_tell.ends_with('.'), "{id}");
                assert!(claim.exhibit.iter().all(|one| exhibits.contains(one.as_str())), "{id}");
                assert!(!claim.parts.is_empty(), "{id}");
                assert!(claim.parts.iter().all(|part| keys.insert(&part.key)), "{id}: a key twice");
                assert!(claim.published.iter().all(|one| !one.text.is_empty()), "{id}");
                // A part without a published value has a shape, but no value to which it could be
                // equivalent.
                let has_value =
                    claim.parts.iter().any(|part| part.criterion.equivalent().is_some());
                assert_eq!(claim.published.is_empty(), !has_value, "{id}");
                let mut systems = Vec::new();
                for Decider { system, .. } in &claim.decided_by.0 {
                    assert!(!systems.contains(system), "{id}: {system:?} twice");
                    systems.push(*system);
                }
                assert_eq!(systems.is_empty(), id == "T13", "{id}: no system decides it");
            }
        }
    }

    #[test]
    fn marks_letters_and_regions_are_read_and_refused() {
        let printed = |text: &str| Printed::from(text.to_owned());
        assert_eq!(printed("≈ around 42k pps").mark, Mark::Rounded);
        assert_eq!(printed("† ratio 1.4").words(), "ratio 1.4 †");
        assert_eq!(printed("3.58 Mpps").mark, Mark::Exact);
        let deciders = Deciders::try_from("C r".to_owned()).expect("letters");
        assert_eq!(deciders.0[1].system, System::Reference);
        let strongest: Vec<Strongest> = deciders.0.iter().map(|one| one.strongest).collect();
        assert_eq!(strongest, [Strongest::Reproduced, Strongest::InShape]);
        assert!(Deciders::try_from("C x".to_owned()).is_err());
        let part = |equivalent: &str, shape: &str| {
            toml::from_str::<Part>(&format!(
                "key = \"k\"\nwhat = \"w\"\nequivalent = \"{equivalent}\"\nshape = \"{shape}\""
            ))
        };
        assert!(part("1..2", "> 0").is_ok());
        assert!(part("1..2", "> 1.5").expect_err("not nested").to_string().contains("not within"));
        assert!(part("about 1", "> 0").is_err());
    }

    #[test]
    fn derived_figures_follow_from_printed_ones() {
        let papers = papers().expect("the files");
        let claims: Vec<&Claim> = papers.iter().flat_map(|paper| &paper.claims).collect();
        for (id, text, value) in [
            ("C1", "1.4", 42.0 / 30.0),
            ("C2", "28", 42.0 / 1.5),
            ("C8", "6.9", 61.0 / 8.9),
            ("C10", "2.16", 5500.0 / 2550.0),
            ("C10", "42.5", 2550.0 / 60.0),
            ("C10", "91.7", 5500.0 / 60.0),
            ("C13", "0.183", 1836.0 / 10030.0),
            ("C14", "447", 100.0 * (10050.0 / 1836.0 - 1.0)),
            ("C15", "17.1", 100.0 * (1723.0 / 1471.0 - 1.0)),
            // The standard deviation of a ratio: relative deviations add in squares.
            ("C15", "2.2", 100.0 * 1723.0 / 1471.0 * (30.0f64 / 1723.0).hypot(10.0 / 1471.0)),
            ("T1", "0.997", 3.57 / 3.58),
            ("T2", "1.54", 1.73 / 1.12),
            ("T4", "330", 1.12e6 / 3.39e3),
            ("T5", "2.46", 65.3 / 26.5),
            ("T7", "-2.3", 100.0 * (10.16 / 10.40 - 1.0)),
            ("T7", "3.7", 100.0 * (5.04 / 4.86 - 1.0)),
            ("T10", "59.0", 100.0 * (628.0 / 395.0 - 1.0)),
            ("T10", "2.67", f64::from(1 << 19) / 196_608.0),
            ("T13", "12.0", 10e9 / (8.0 * (84.0 + 20.0)) / 1e6),
            ("D1", "2", 6.0 / 3.0),
            ("D2", "1.8", 9.0 / 5.0),
            ("D2", "2.25", 9.0 / 4.0),
            ("D6", "1.5", 0.01 * 1.867 / 0.0125),
            ("D7", "0.73", 6.6 / 9.0),
        ] {
            let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
            assert_eq!(format!("{value:.decimals$}"), text, "{id}");
            let claim = claims.iter().find(|claim| claim.id == id).expect("the claim");
            let mut derived = claim.published.iter().filter(|one| one.mark == Mark::Derived);
            assert!(derived.any(|one| one.text.contains(text)), "{id}: {text}");
        }
    }
}
