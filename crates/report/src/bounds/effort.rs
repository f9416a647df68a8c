//! Sentences that state how close the computed bounds are to the best possible ones: which analyses
//! were left out, how many flows meet the requested deadline, and whether numbers were rounded.

use calculus::Extended;
use calculus::network::describe::Round;
use calculus::network::{Analysis, Assessed, Estimate, Untried};

use super::{Bounds, table};
use crate::format::{duration, plural};

/// Returns sentences on how close the bounds are to the best that could be computed: which analyses
/// may have smaller bounds, how many flows meet the requested deadline, and how numbers were
/// rounded.
pub(super) fn sentences(bounds: &Bounds<'_>) -> Vec<String> {
    let is_of = |analysis| bounds.analyses.contains(&analysis);
    let mut sentences = Vec::new();
    let is_cyclic = bounds.network.order().is_err();
    if is_of(Analysis::Quick) && is_cyclic {
        let of = "quick is tfa++ in this network, since it is cyclic; other analyses may have smaller bounds, or bounds where it \
                  has none.";
        sentences.push(of.to_owned());
    } else if is_of(Analysis::Quick) {
        let of = "quick is the smallest of tfa++, sfa and pmoo (and tfa in any order of service), each by one convention; other \
                  analyses may have smaller bounds.";
        sentences.push(of.to_owned());
    }
    if is_of(Analysis::Best) && is_cyclic {
        let ways = "best bounds arrivals of cross traffic by some of the ways of --arrival-bound, since this network is cyclic; \
                    other ways may have smaller bounds.";
        sentences.push(ways.to_owned());
    } else if is_of(Analysis::Best) && !bounds.network.is_searched_thoroughly() {
        let ways = "best bounds arrivals of cross traffic by aggregate and segregated PBOO, in any order of service by PMOO as \
                    well, since this network is large; other ways of --arrival-bound may have smaller bounds.";
        sentences.push(ways.to_owned());
    }
    if !bounds.untried.is_empty() {
        let untried: Vec<String> = bounds.untried.iter().map(describe).collect();
        sentences.push(format!(
            "left out because they would take too long: {}; the times are estimates for all requested flows. Choose \
             them with --analysis, and flows with --flow.",
            untried.join(", ")
        ));
    }
    sentences.extend(deadline(bounds));
    if bounds.rounded {
        let rounded = "bursts of cross traffic whose exact fractions have more than 1,024 bits are rounded up by less than one part in \
                       2^190: bounds hold, and are larger by about that.";
        sentences.push(rounded.to_owned());
    }
    sentences
}

fn describe(untried: &Untried) -> String {
    let time = match untried.time {
        Estimate::About(time) => format!("about {}", duration(time.as_secs_f64())),
        Estimate::AtLeast(time) => format!("at least {}", duration(time.as_secs_f64())),
    };
    format!("{} ({time})", untried.analysis)
}

/// Returns a sentence on the requested deadline: the number of flows that are proven to meet it,
/// and the number of flows for which the search for smaller bounds ended once they met it. Returns
/// `None` if no deadline was requested.
fn deadline(bounds: &Bounds<'_>) -> Option<String> {
    let deadline = bounds.settings.deadline.as_ref()?;
    let limit = Extended::from(deadline);
    let in_time = |row: &&Vec<Assessed>| row.iter().any(|assessed| assessed.bound.delay <= limit);
    let (all, in_time) = (bounds.flows.len(), bounds.flows.iter().filter(in_time).count());
    let is_cut_short = |row: &&Vec<Assessed>| row.iter().any(|assessed| assessed.bound.cut_short);
    let cut_short = bounds.flows.iter().filter(is_cut_short).count();
    let deadline = table::figure(bounds, &limit, true, Round::Down);
    let mut text = format!(
        "{in_time} of {} proven to be within the deadline of {deadline} {}.",
        plural(all as u64, "flow is", "flows are"),
        bounds.time_unit.name
    );
    if cut_short > 0 {
        text.push_str(&format!(
            " Bounds of {} are cut short (marked so, or with *): once a flow met its deadline, smaller bounds were \
             not searched.",
            plural(cut_short as u64, "flow", "flows")
        ));
    }
    Some(text)
}
