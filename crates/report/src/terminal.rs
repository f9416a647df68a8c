//! The table at the end of a run.

use probe::outcome::RunResult;

/// Where a table is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Columns of the terminal. Tables fit from 80 columns on; fewer are treated as 80.
    pub width: usize,
    /// Whether to use colour. Give `false` unless standard output is a terminal and `NO_COLOR` is
    /// unset.
    pub colour: bool,
}

/// The result as text that fits the terminal: one row per point of a sweep, all details of a
/// single point. Ends with a newline.
#[must_use]
pub fn table(result: &RunResult, layout: Layout) -> String {
    let _ = layout;
    format!("{}\n", result.started_at)
}
