//! Builds the table of claims in a page. On a narrow screen, the style sheet (`style.css`) displays
//! each row as a card.

use maud::{Markup, html};

use super::super::escape;
use super::super::render::{class, sign};
use super::{Claim, ClaimGroup};
use crate::format::printable;

/// Returns the table of claims, with a group of rows for each publication.
pub(in super::super) fn table(groups: &[ClaimGroup]) -> Markup {
    html! {
        table.claims {
            thead {
                tr {
                    @for name in ["verdict", "claim", "published", "measured here"] {
                        th.text scope="col" { (name) }
                    }
                }
                "\n"
            }
            @for group in groups {
                tbody {
                    tr {
                        th scope="rowgroup" colspan="4" { (escape(&printable(&group.publication))) }
                    }
                    "\n"
                    @for claim in &group.claims { (row(claim)) "\n" }
                }
            }
        }
    }
}

fn row(claim: &Claim) -> Markup {
    let measured = claim.measured();
    let reason = claim.reason();
    html! {
        tr id={ "claim-" (claim.id) } {
            th.verdict.text scope="row" {
                @if let Some(class) = class(claim.verdict.tone()) {
                    span class=(class) {
                        @if let Some(sign) = sign(claim.verdict.tone()) {
                            span.sign aria-hidden="true" { (sign) } " "
                        }
                        (claim.verdict.words())
                    }
                } @else {
                    span.remark { (claim.verdict.words()) }
                }
            }
            td.text.prose {
                b { (escape(&claim.id)) } " " (escape(&printable(&claim.sentence)))
                " " span.remark { "(" (escape(&claim.source)) ")" }
                (evidence(claim))
            }
            td.text.prose { (escape(&printable(&claim.published.join("; ")))) }
            td.text.prose {
                @if !measured.is_empty() { (escape(&printable(&measured.join("; ")))) }
                @if !claim.decided_by.is_empty() {
                    " " span.remark { "by " (escape(&claim.decided_by)) }
                }
                @if !reason.is_empty() {
                    @if !measured.is_empty() { br; }
                    span.remark { (claim.verdict.words()) ": " (escape(&printable(&reason))) }
                }
            }
        }
    }
}

/// Returns the regions, the measured figures and the command of a claim, which stay hidden until
/// the reader opens them.
fn evidence(claim: &Claim) -> Markup {
    html! {
        details {
            summary { "How it is judged" }
            ul.notes {
                @for part in &claim.parts { li { (escape(&printable(&part.judged()))) } }
            }
            @if let Some(section) = &claim.section {
                p.remark { "Evidence: " a href={ "#" (section) } { (escape(section)) } }
            }
            @if let Some(command) = &claim.command {
                p.command { code { (escape(&printable(command))) } }
            }
        }
    }
}
