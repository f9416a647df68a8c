//! Summarises how a result differs from the base: the number of differences, and the surest of
//! them.

use super::text::{conclusion, is_shown, percent, place};
use super::{Against, Row};
use crate::describe::distinct;
use crate::format::plural;
use crate::page::Tone;
use crate::results::Spread;

/// The largest number of differences that a summary names.
const MAX_NAMED: usize = 6;

/// The summary of how a result differs from the base.
pub(super) struct Finding {
    /// The tone of the summary. It is good if all differences are good, and bad if all are bad,
    /// provided that the number of differences is more than twice the number expected by chance.
    /// Otherwise it is plain.
    pub(super) tone: Tone,
    /// A sentence with the number of differences, and the number that chance alone would explain.
    pub(super) summary: String,
    /// The surest differences, with a line for each point, case, cell or flow.
    pub(super) differences: Vec<String>,
}

/// Returns a summary of which figures of a result differ from the base, and in which direction.
/// `base` is the name of the base.
pub(super) fn finding(against: &Against<'_>, base: &str) -> Finding {
    let shown: Vec<&Row<'_>> = against.rows.iter().filter(|row| is_shown(row)).collect();
    let mut differ: Vec<&Row<'_>> =
        shown.iter().copied().filter(|row| row.change.is_shown()).collect();
    let count = differ.len();
    let all = plural(shown.len() as u64, "figure", "figures");
    if count == 0 {
        let apart = |row: &&&Row<'_>| row.change.value != 0.0 && row.change.interval.is_none();
        let summary = match shown.iter().filter(apart).count() {
            0 => format!("No difference from {base} is shown in {all}."),
            untold => format!(
                "No difference from {base} is shown, and {untold} of {all} could not show one: they have no \
                 interval, since they are single measurements. Repeat them (--repetitions 5) to distinguish a \
                 difference from chance."
            ),
        };
        return Finding { tone: Tone::Plain, summary, differences: Vec::new() };
    }
    // Without any difference, one in twenty 95 % confidence intervals over repetitions excludes
    // zero.
    let repeated = shown.iter().filter(|row| matches!(row.base.spread, Spread::Repetitions(_)));
    let by_chance = 0.05 * repeated.count() as f64;
    let tones = distinct(differ.iter().map(|row| conclusion(row).1));
    let tone = match tones.as_slice() {
        [tone] if count as f64 > 2.0 * by_chance => *tone,
        _ => Tone::Plain,
    };
    let verb = if count == 1 { "differs" } else { "differ" };
    let chance = match by_chance.round() {
        0.0 => String::new(),
        some => format!(" With intervals of 95 %, about {some} of them are expected by chance."),
    };
    differ.sort_by(|a, b| certainty(b).total_cmp(&certainty(a)));
    let most = &differ[..count.min(MAX_NAMED)];
    let several = distinct(shown.iter().map(|row| place(row))).len() > 1;
    let mut differences: Vec<String> = distinct(most.iter().map(|row| place(row)))
        .into_iter()
        .map(|at| {
            let own = most.iter().filter(|row| place(row) == at);
            let own: Vec<String> = own.map(|row| named(row)).collect();
            let at = if several { format!("{at}: ") } else { String::new() };
            at + &own.join(", ")
        })
        .collect();
    differences.extend((count > MAX_NAMED).then(|| format!("and {} more", count - MAX_NAMED)));
    Finding { tone, summary: format!("{count} of {all} {verb} from {base}.{chance}"), differences }
}

/// Returns the certainty of a difference: its absolute value divided by half the width of its
/// confidence interval, or 0 without an interval.
pub(super) fn certainty(row: &Row<'_>) -> f64 {
    let half = row.change.interval.map_or(f64::INFINITY, |(low, high)| (high - low) / 2.0);
    row.change.value.abs() / half
}

fn named(row: &Row<'_>) -> String {
    let judged = match conclusion(row).1 {
        Tone::Good => " (better)",
        Tone::Bad => " (worse)",
        _ => "",
    };
    format!("{} {}{judged}", row.base.metric, percent(row.change, row.base))
}
