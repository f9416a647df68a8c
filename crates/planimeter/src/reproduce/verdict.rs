//! Verdicts on the claims of papers, which follow from the figures that a run measured.

use report::page::claims::{self, ClaimGroup, Measured as MeasuredPart, Verdict};
use serde::{Deserialize, Serialize};
use statistics::{
    Agreement, Confidence, FEWEST_ROUNDS, Interval, Noise, Unit, over_rounds, rounds_to_decide,
};

use super::claims::{Claim, Decider, Part, Strongest, System};
use super::published::Paper;
use crate::invocation;

/// The largest permitted probability that a claim is judged wrongly by chance. It is divided among
/// the parts of the claim.
const RISK: f64 = 0.01;

/// The evidence on one part of a claim from measurements of one kind of system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Evidence {
    /// The key of the part of the claim.
    pub(super) key: String,
    pub(super) system: System,
    pub(super) found: Found,
}

/// The measured or computed figure for a part of a claim, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Found {
    /// The value of the measured figure in each round.
    Rounds(Vec<f64>),
    /// The computed figure.
    Exact(f64),
    /// The run measured the system but cannot decide the part of the claim, for this reason.
    Untold(String),
}

/// The results of a run from which verdicts on claims follow.
pub(super) struct Run<'r> {
    pub(super) evidence: &'r [&'r Evidence],
    /// The identifiers of the figures and tables for which the run has a section.
    pub(super) exhibits: &'r [&'r str],
}

/// Returns all claims of a paper with the verdicts that follow from a run.
pub(super) fn of_paper(paper: &Paper, run: &Run<'_>) -> ClaimGroup {
    ClaimGroup {
        publication: paper.short.clone(),
        claims: paper.claims.iter().map(|claim| of_claim(claim, run)).collect(),
    }
}

fn of_claim(claim: &Claim, run: &Run<'_>) -> claims::Claim {
    let judged = judge(claim, run);
    let section = claim.exhibit.clone().filter(|id| run.exhibits.contains(&id.as_str()));
    let command = claim.exhibit.as_ref();
    let command = command.map(|id| invocation::typed(&format!("planimeter reproduce {id}")));
    claims::Claim {
        id: claim.id.clone(),
        sentence: claim.sentence.clone(),
        source: claim.section.clone(),
        published: claim.published.iter().map(|one| one.words()).collect(),
        verdict: judged.verdict,
        decided_by: judged.system.map_or_else(String::new, |system| system.words().to_owned()),
        parts: judged.parts,
        section,
        command,
    }
}

/// The verdict on a claim, with the system whose measurements decided it and the figures of its
/// parts.
struct Judged {
    verdict: Verdict,
    system: Option<System>,
    parts: Vec<claims::Part>,
}

/// Judges a claim by the first of its systems whose measurements decide it. If no system decides
/// it, the verdict is that of the first measured system, which is inconclusive and has a reason.
fn judge(claim: &Claim, run: &Run<'_>) -> Judged {
    let mut inconclusive = None;
    for decider in &claim.decided_by.0 {
        let Some(judged) = judge_by(claim, *decider, run) else { continue };
        if !matches!(judged.verdict, Verdict::NotTold(_)) {
            return judged;
        }
        inconclusive = inconclusive.or(Some(judged));
    }
    inconclusive.unwrap_or_else(|| Judged {
        verdict: Verdict::NotTold(not_measured(claim, run)),
        system: None,
        parts: claim.parts.iter().map(|part| shown(part, None)).collect(),
    })
}

/// Returns the reason why nothing was measured for a claim, and what would decide it.
fn not_measured(claim: &Claim, run: &Run<'_>) -> String {
    match claim.exhibit.as_deref() {
        Some(id) if run.exhibits.contains(&id) => {
            format!("{id} yielded no figure in this run; what would tell: {}", claim.would_tell)
        }
        Some(id) => format!("not in this run; `planimeter reproduce {id}` measures it"),
        None => format!("not measured by this version; what would tell: {}", claim.would_tell),
    }
}

/// Judges a claim by the measurements of one system. Returns `None` if that system was not
/// measured.
fn judge_by(claim: &Claim, decider: Decider, run: &Run<'_>) -> Option<Judged> {
    let of = |part: &Part| {
        let is = |one: &&&Evidence| one.key == part.key && one.system == decider.system;
        run.evidence.iter().find(is).map(|one| &one.found)
    };
    let judged_by = claim.parts.iter().filter_map(|part| part.for_system(decider.system));
    let judged_by: Vec<Part> = judged_by.collect();
    if judged_by.iter().all(|part| of(part).is_none()) {
        return None;
    }
    let confidence =
        Confidence::new(1.0 - RISK / judged_by.len() as f64).unwrap_or(Confidence::P99);
    let mut parts = Vec::new();
    let mut agreements = Agreements::default();
    let mut reasons = Vec::new();
    for part in &judged_by {
        let measured = of(part).and_then(|found| measured(found, part.unit, confidence));
        let agreement = measured.map(|measured| part.criterion.judge(measured.interval));
        let reason = reason(part, of(part), agreement, confidence);
        reasons.extend(reason.filter(|reason| !reasons.contains(reason)));
        agreements.all.push(agreement.unwrap_or(Agreement::Undecided));
        if part.criterion.equivalent().is_some() {
            agreements.with_value.extend(agreement);
        }
        parts.push(shown(part, measured));
    }
    if !reasons.is_empty() {
        reasons.push(format!("what would tell: {}", claim.would_tell));
    }
    let verdict = verdict(&agreements, decider.strongest, &reasons.join("; "));
    Some(Judged { verdict, system: Some(decider.system), parts })
}

/// The agreement of the measured figures with the parts of a claim.
#[derive(Default)]
struct Agreements {
    all: Vec<Agreement>,
    /// The agreements with those parts of the claim that have a published value.
    with_value: Vec<Agreement>,
}

/// Derives the verdict on a claim from its parts. One contradicted part refutes the claim, unless
/// the measured system is a model: then the verdict is inconclusive. Without contradicted parts,
/// one undecided part makes the verdict inconclusive for `reason`. The verdict "reproduced"
/// requires, in addition to `strongest`, that some parts have published values and all of these are
/// equivalent to them.
fn verdict(agreements: &Agreements, strongest: Strongest, reason: &str) -> Verdict {
    let any = |one: Agreement| agreements.all.contains(&one);
    let values = &agreements.with_value;
    let is_equivalent =
        !values.is_empty() && values.iter().all(|one| *one == Agreement::Equivalent);
    match strongest {
        // A figure that the probe does not recover says nothing on the paper.
        Strongest::RecoversModel if any(Agreement::Contradicted) => {
            Verdict::NotTold("the probe does not recover the model".to_owned())
        }
        _ if any(Agreement::Contradicted) => Verdict::NotReproduced,
        _ if any(Agreement::Undecided) => Verdict::NotTold(reason.to_owned()),
        Strongest::Reproduced if is_equivalent => Verdict::Reproduced,
        Strongest::RecoversModel => Verdict::RecoversModel,
        Strongest::Reproduced | Strongest::InShape => Verdict::InShape,
    }
}

/// Returns the measured figure of a part of a claim with its confidence interval, or `None` if
/// there are too few rounds.
fn measured(found: &Found, unit: Unit, confidence: Confidence) -> Option<MeasuredPart> {
    match found {
        Found::Exact(value) => {
            let interval = Interval { low: *value, high: *value };
            Some(MeasuredPart { value: *value, interval, rounds: 0 })
        }
        Found::Rounds(rounds) => {
            let over = over_rounds(rounds, confidence, Noise::of(unit, rounds))?;
            let (value, interval) = (over.centre, over.interval);
            Some(MeasuredPart { value, interval, rounds: rounds.len() })
        }
        Found::Untold(_) => None,
    }
}

/// Returns the reason why a part of a claim remains undecided, or `None` if it is decided.
fn reason(
    part: &Part,
    found: Option<&Found>,
    agreement: Option<Agreement>,
    confidence: Confidence,
) -> Option<String> {
    let what = &part.what;
    match (found, agreement) {
        (None, _) => Some(format!("{what} was not measured in this run")),
        (Some(Found::Untold(reason)), _) => Some(reason.clone()),
        (Some(Found::Rounds(rounds)), None) => {
            Some(format!("{what}: {} rounds, of which {FEWEST_ROUNDS} are needed", rounds.len()))
        }
        (Some(Found::Rounds(rounds)), Some(Agreement::Undecided)) => {
            let region = part.criterion.shape();
            Some(match rounds_to_decide(rounds, confidence, Noise::of(part.unit, rounds), region) {
                Some(more) => format!(
                    "{what}: its interval meets {region} and the opposite; about {more} rounds would decide"
                ),
                None => format!("{what}: it is too close to the end of {region}"),
            })
        }
        (Some(Found::Exact(_) | Found::Rounds(_)), _) => None,
    }
}

fn shown(part: &Part, measured: Option<MeasuredPart>) -> claims::Part {
    claims::Part { name: part.what.clone(), unit: part.unit, criterion: part.criterion, measured }
}

#[cfg(test)]
mod tests {
    use statistics::Region;

    use super::super::published::papers;
    use super::*;

    /// Numbers with which the criteria of all claims are tested. For each region of a criterion,
    /// some of the numbers are inside and some outside.
    const NUMBERS: [f64; 48] = [
        0.0, 0.00005, 0.0005, 0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.12, 0.15, 0.2, 0.25, 0.35,
        0.4, 0.5, 0.6, 0.7, 0.75, 0.85, 0.95, 0.995, 1.0, 1.02, 1.1, 1.3, 1.5, 1.7, 2.0, 2.5, 3.0,
        4.0, 5.0, 6.0, 12.0, 25.0, 42.0, 60.0, 90.0, 200.0, 500.0, 1500.0, 3000.0, 4500.0, 6000.0,
        178_734.0, 196_608.0, 491_520.0,
    ];

    fn number(accept: impl Fn(f64) -> bool) -> Option<f64> {
        NUMBERS.into_iter().flat_map(|number| [number, -number]).find(|number| accept(*number))
    }

    fn judged(claim: &Claim, decider: Decider, found: &dyn Fn(&Part) -> Found) -> Judged {
        let evidence: Vec<Evidence> = claim
            .parts
            .iter()
            .map(|part| Evidence {
                key: part.key.clone(),
                system: decider.system,
                found: found(part),
            })
            .collect();
        let evidence: Vec<&Evidence> = evidence.iter().collect();
        judge(claim, &Run { evidence: &evidence, exhibits: &[] })
    }

    #[test]
    fn every_claim_gets_every_verdict_that_its_systems_allow() {
        for claim in papers().expect("the files").iter().flat_map(|paper| &paper.claims) {
            for decider in &claim.decided_by.0 {
                let name = format!("{} by {:?}", claim.id, decider.system);
                let parts: Vec<Part> =
                    claim.parts.iter().filter_map(|part| part.for_system(decider.system)).collect();
                let judged_as = |part: &Part| {
                    parts.iter().find(|one| one.key == part.key).unwrap_or(part).clone()
                };
                // A number at the end of a region is avoided, because there the rounding of a mean
                // would decide.
                let within = |region: Region| {
                    let is_inside = |value: f64| {
                        [0.999, 1.001].iter().all(|factor| region.contains(value * factor))
                    };
                    let found =
                        number(is_inside).or_else(|| number(|value| region.contains(value)));
                    found.unwrap_or_else(|| panic!("{name}"))
                };
                let outside = |part: &Part| {
                    let shape = judged_as(part).criterion.shape();
                    number(|value| !shape.contains(value)).unwrap_or_else(|| panic!("{name}"))
                };
                let best = |part: &Part| {
                    let part = judged_as(part);
                    within(part.criterion.equivalent().unwrap_or(part.criterion.shape()))
                };
                let rounds = |value: f64| Found::Rounds(vec![value; 3]);
                let found = judged(claim, *decider, &|part| rounds(best(part)));
                let has_value = !claim.published.is_empty();
                let refuted = match decider.strongest {
                    Strongest::RecoversModel => {
                        Verdict::NotTold("the probe does not recover the model".to_owned())
                    }
                    Strongest::Reproduced | Strongest::InShape => Verdict::NotReproduced,
                };
                let expected = match decider.strongest {
                    Strongest::RecoversModel => Verdict::RecoversModel,
                    Strongest::Reproduced if has_value => Verdict::Reproduced,
                    _ => Verdict::InShape,
                };
                assert_eq!(found.verdict, expected, "{name}");
                assert_eq!(found.system, Some(decider.system), "{name}");
                let found = judged(claim, *decider, &|part| rounds(outside(part)));
                assert_eq!(found.verdict, refuted, "{name}");
                // One refuted part refutes the claim, even if another part is not decided.
                let noise =
                    |part: &Part| Found::Rounds(vec![best(part), outside(part), best(part)]);
                let found = judged(claim, *decider, &|part| match part.key == parts[0].key {
                    true => rounds(outside(part)),
                    false => noise(part),
                });
                assert_eq!(found.verdict, refuted, "{name}");
                let found = judged(claim, *decider, &noise);
                assert!(found.verdict.reason().contains("what would tell"), "{name}");
            }
        }
    }

    fn claim(id: &str) -> Claim {
        let claims = papers().expect("the files").into_iter().flat_map(|paper| paper.claims);
        claims.into_iter().find(|claim| claim.id == id).expect("the claim")
    }

    fn judge_rounds(id: &str, rounds: &[f64]) -> Verdict {
        let claim = claim(id);
        let decider = claim.decided_by.0[0];
        judged(&claim, decider, &|_| Found::Rounds(rounds.to_vec())).verdict
    }

    #[test]
    fn a_loss_whose_interval_contains_a_gain_is_not_told() {
        let verdict = judge_rounds("T8", &[-0.3, 0.4, -0.2]);
        assert!(verdict.reason().starts_with("rate lost by the lock of one entry: its interval"));
        assert_eq!(judge_rounds("T8", &[0.059, 0.0592, 0.0588]), Verdict::Reproduced);
        assert_eq!(judge_rounds("T8", &[0.3, 0.31, 0.3]), Verdict::InShape);
        assert_eq!(judge_rounds("T8", &[-0.1, -0.11, -0.1]), Verdict::NotReproduced);
    }

    #[test]
    fn ratios_are_judged_over_their_logarithms() {
        // The interval around the arithmetic mean reaches down to -69, where the ratio is not
        // above 50.
        let verdict = judge_rounds("T4", &[300.0, 420.0, 580.0]);
        assert_eq!(verdict, Verdict::InShape);
    }

    #[test]
    fn fewer_than_three_rounds_and_missing_parts_are_not_told() {
        let verdict = judge_rounds("T8", &[0.059, 0.059]);
        assert!(verdict.reason().contains("2 rounds, of which 3 are needed"), "{verdict:?}");
        let claim = claim("T2");
        let evidence = Evidence {
            key: claim.parts[0].key.clone(),
            system: System::Memory,
            found: Found::Rounds(vec![1.5; 3]),
        };
        let found = judge(&claim, &Run { evidence: &[&evidence], exhibits: &["tables-table-1"] });
        assert!(found.verdict.reason().contains("was not measured in this run"));
    }

    #[test]
    fn a_claim_without_evidence_names_what_would_tell_it() {
        let nothing = Run { evidence: &[], exhibits: &[] };
        let reason = |id: &str| judge(&claim(id), &nothing).verdict.reason().to_owned();
        assert_eq!(
            reason("T8"),
            "not in this run; `planimeter reproduce tables-fig-6` measures it"
        );
        assert!(reason("T13").contains("two 10 Gbit/s ports with DPDK"), "{}", reason("T13"));
    }

    #[test]
    fn the_subject_that_tells_something_overrules_one_that_does_not() {
        let claim = claim("T8");
        let of = |system, rounds: &[f64]| Evidence {
            key: claim.parts[0].key.clone(),
            system,
            found: Found::Rounds(rounds.to_vec()),
        };
        let packets = of(System::Memory, &[-0.5, 0.5, 0.0]);
        let table = of(System::TableAlone, &[0.06, 0.0601, 0.0599]);
        let run = Run { evidence: &[&packets, &table], exhibits: &[] };
        let found = judge(&claim, &run);
        // The figures of the table alone agree with the published value, but that system allows no
        // stronger verdict than "in shape".
        assert_eq!((found.verdict, found.system), (Verdict::InShape, Some(System::TableAlone)));
    }
}
