//! Trees whose parts a reader can fold, such as the trace of a packet.

use maud::{Markup, html};

use super::escape;

/// A part of a tree, with the parts into which it splits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Branch {
    /// The line that is always visible and folds the others.
    pub head: String,
    /// The lines of the part, in up to three columns.
    pub rows: Vec<[String; 3]>,
    /// The parts into which this one splits.
    pub children: Vec<Self>,
    /// Remarks below all lines.
    pub remarks: Vec<String>,
    /// Whether the part is folded until the reader opens it.
    pub is_folded: bool,
}

/// Renders the parts of a tree.
pub(super) fn tree(branches: &[Branch]) -> Markup {
    html! {
        div.tree { @for branch in branches { (part(branch)) "\n" } }
    }
}

fn part(branch: &Branch) -> Markup {
    html! {
        details open[!branch.is_folded] {
            summary { (escape(&branch.head)) }
            @if !branch.rows.is_empty() {
                table {
                    tbody {
                        @for [label, middle, right] in &branch.rows {
                            @if middle.is_empty() && right.is_empty() {
                                tr { td colspan="3" { (escape(label)) } }
                            } @else {
                                tr {
                                    th scope="row" { (escape(label)) }
                                    td { code { (escape(middle)) } }
                                    td { code { (escape(right)) } }
                                }
                            }
                            "\n"
                        }
                    }
                }
            }
            @for child in &branch.children { (part(child)) "\n" }
            @for remark in &branch.remarks { p.remark { (escape(remark)) } }
        }
    }
}
