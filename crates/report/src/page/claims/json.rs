//! Converts claims of publications to JSON for `result.json`.

use serde_json::{Value as Json, json};

use super::{Claim, ClaimGroup, Part, agreement_in_words};

/// Returns the claims of all publications as one list in JSON.
pub(in super::super) fn to_json(groups: &[ClaimGroup]) -> Vec<Json> {
    let of_group = |group: &ClaimGroup| {
        let publication = group.publication.clone();
        group.claims.iter().map(move |one| claim(one, &publication)).collect::<Vec<_>>()
    };
    groups.iter().flat_map(of_group).collect()
}

fn claim(claim: &Claim, publication: &str) -> Json {
    let reason = Some(claim.reason()).filter(|reason| !reason.is_empty());
    let decided_by = Some(&claim.decided_by).filter(|words| !words.is_empty());
    json!({
        "id": claim.id,
        "publication": publication,
        "claim": claim.sentence,
        "source": claim.source,
        "published": claim.published,
        "verdict": claim.verdict.words(),
        "reason": reason,
        "decided_by": decided_by,
        "section": claim.section,
        "parts": claim.parts.iter().map(part).collect::<Vec<_>>(),
    })
}

fn part(part: &Part) -> Json {
    let finite = |number: f64| number.is_finite().then_some(number);
    let measured = part.measured.map(|measured| {
        json!({
            "value": finite(measured.value),
            "low": finite(measured.interval.low),
            "high": finite(measured.interval.high),
            "rounds": measured.rounds,
        })
    });
    json!({
        "name": part.name,
        "unit": part.unit.text(),
        "equivalent": part.criterion.equivalent().map(|region| region.to_string()),
        "shape": part.criterion.shape().to_string(),
        "measured": measured,
        "agreement": part.agreement().map(agreement_in_words),
    })
}
