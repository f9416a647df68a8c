//! Formats claims of publications as text for a terminal.

use super::{Claim, ClaimGroup};
use crate::format::printable;
use crate::terminal::{Layout, Paint};

/// The width of the column that contains verdicts, in characters.
const VERDICT: usize = 28;

/// Formats each claim with its verdict, the published figures and the measured ones.
pub(in super::super) fn text(groups: &[ClaimGroup], layout: Layout) -> String {
    let mut out = String::new();
    for group in groups {
        out.push_str(&layout.heading(&format!("Claims: {}", printable(&group.publication))));
        for one in &group.claims {
            out.push_str(&claim(one, layout));
        }
    }
    out
}

fn claim(claim: &Claim, layout: Layout) -> String {
    let lead = format!("{:<4} {:<VERDICT$} ", claim.id, claim.verdict.words());
    let sentence = format!("{} ({})", claim.sentence, claim.source);
    let mut out = layout.paragraph(&lead, &printable(&sentence), Paint::from(claim.verdict.tone()));
    let indent = " ".repeat(lead.chars().count());
    let mut remark = |name: &str, text: String| {
        if !text.is_empty() {
            let text = format!("{name}: {}", printable(&text));
            out.push_str(&layout.paragraph(&indent, &text, Paint::Faint));
        }
    };
    remark("published", claim.published.join("; "));
    let by = match claim.decided_by.as_str() {
        "" => "measured".to_owned(),
        by => format!("measured ({by})"),
    };
    remark(&by, claim.measured().join("; "));
    remark(claim.verdict.words(), claim.reason());
    out
}
