//! Two or more results side by side.

use probe::outcome::RunResult;

use crate::Layout;

/// One of the results to compare.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// How the result is called in the table, such as its run directory.
    pub name: &'a str,
    /// The result.
    pub result: &'a RunResult,
}

/// The results side by side, the first being the base that the others are held against.
#[must_use]
pub fn compare(candidates: &[Candidate<'_>], layout: Layout) -> String {
    let _ = layout;
    candidates.iter().map(|c| format!("{} {}\n", c.name, c.result.started_at)).collect()
}
