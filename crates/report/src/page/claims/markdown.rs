//! Formats claims of publications as Markdown, for pages that are kept beside the sources.

use super::{Claim, ClaimGroup};
use crate::format::{capital, printable};

/// Formats each publication as a heading and a table of its claims, followed by a list that says
/// how each claim was judged.
pub(in super::super) fn text(groups: &[ClaimGroup]) -> String {
    groups.iter().map(group).collect()
}

fn group(group: &ClaimGroup) -> String {
    let mut out = format!("\n## {}\n\n", cell(&group.publication));
    out.push_str("| claim | verdict | published | measured here |\n| --- | --- | --- | --- |\n");
    for claim in &group.claims {
        out.push_str(&row(claim));
    }
    out.push_str("\nHow each claim is judged (the regions were fixed before the measurement):\n\n");
    for claim in &group.claims {
        out.push_str(&judged(claim));
    }
    out
}

fn row(claim: &Claim) -> String {
    let by = match claim.decided_by.as_str() {
        "" => String::new(),
        by => format!(" (by {})", cell(by)),
    };
    format!(
        "| **{}** {} ({}) | {} | {} | {}{by} |\n",
        cell(&claim.id),
        cell(&claim.sentence),
        cell(&claim.source),
        claim.verdict.words(),
        cell(&claim.published.join("; ")),
        cell(&claim.measured().join("; ")),
    )
}

/// Formats the parts of a claim with their regions as an item of a list. If the claim is not
/// confirmed, a last sentence has the reason.
fn judged(claim: &Claim) -> String {
    let parts: Vec<String> = claim.parts.iter().map(|part| cell(&part.judged())).collect();
    let reason = match claim.reason() {
        reason if reason.is_empty() => String::new(),
        reason => {
            format!(" {}: {}.", capital(claim.verdict.words()), cell(&reason))
        }
    };
    format!("* **{}**: {}.{reason}\n", cell(&claim.id), parts.join("; "))
}

/// Escapes text so that Markdown shows it unchanged, also in a cell of a table.
pub(in super::super) fn cell(text: &str) -> String {
    let mut out = String::new();
    for letter in printable(text).chars() {
        if matches!(letter, '\\' | '|' | '<' | '>' | '*' | '_' | '`' | '[' | ']' | '#' | '~') {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_shown_as_it_is_in_one_cell() {
        assert_eq!(cell("a | b < c"), "a \\| b \\< c");
        assert_eq!(cell("*x* [1] `y`"), "\\*x\\* \\[1\\] \\`y\\`");
        assert!(!cell("a\nb").contains('\n'));
    }
}
