//! Reports of bounds on delay and backlog in a network: the table, `result.json`, and plots of
//! curves.
//!
//! The input is the result of [`calculus::network::Analyser`]. Nothing here computes a bound. Every
//! form states the analysis and the convention of a bound, and how close a simulated run came to
//! it.

mod effort;
mod graph;
mod json;
mod page;
mod plots;
mod required;
mod sweep;
mod table;

use calculus::network::{
    Analysis, Assessed, FlowId, FlowOfInterest, Load, Network, Part, Priority, Reason, ServerBound,
    ServerId, Settings, Unit, Untried,
};
use calculus::{Extended, Rational};

use provenance::Provenance;

use crate::format::printable;
use crate::page::{Note, Tone};

pub use json::{SCHEMA, to_csv, to_json};
pub use page::page;
pub use plots::curves;
pub use required::{Required, Threshold};
pub use sweep::{SWEEP_SCHEMA, Sweep, SweepPoint};
pub use table::{orders, table};

/// The largest number of derivations that the HTML page shows. If no other output needs
/// derivations, analyses have to keep the steps of a bound only for this number of flows, counted
/// from the first.
pub const EXPLAINED: usize = table::MAX_ROWS;

/// The largest number of flows that a sentence names.
const MAX_NAMED: usize = 5;

/// The bounds of a network, and the settings and results that the report shows with them.
#[derive(Debug)]
pub struct Bounds<'a> {
    /// The network to which the bounds apply.
    pub network: &'a Network,
    /// The analyses with which bounds were computed.
    pub analyses: &'a [Analysis],
    /// The conventions that all analyses follow.
    pub settings: &'a Settings,
    /// The bounds of each requested flow: one element per flow, which has one bound per analysis.
    pub flows: &'a [Vec<Assessed>],
    /// The bounds on delay and backlog at each server.
    pub servers: &'a [ServerBound],
    /// The load of each server, in the order of the network.
    pub loads: &'a [Load],
    /// The unit in which the report shows times.
    pub time_unit: Unit,
    /// The unit in which the report shows amounts of data.
    pub data_unit: Unit,
    /// The thresholds of the user, and whether they hold.
    pub thresholds: &'a [Threshold],
    /// Whether the report shows how each bound was derived.
    pub derivations: bool,
    /// The analyses that were left out to save time.
    pub untried: Vec<Untried>,
    /// Whether bursts of cross traffic were rounded up because their numbers had become long.
    pub rounded: bool,
}

/// A run of `planimeter bound`, which computes bounds of a network: the bounds and their origin.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// The computed bounds, with the settings and results that the report shows.
    pub bounds: &'a Bounds<'a>,
    /// The command, the time and the host of the run.
    pub provenance: &'a Provenance,
}

impl Bounds<'_> {
    /// Returns the bounds for which the report shows a derivation. A bound is left out if an
    /// earlier bound of the same flow has the same derivation. For example, `best` repeats the
    /// derivation of the analysis that it selected.
    fn derived(&self) -> impl Iterator<Item = &Assessed> {
        self.flows.iter().flat_map(|row| {
            row.iter().enumerate().filter_map(|(place, assessed)| {
                let of = |one: &Assessed| {
                    let by = &one.bound.delay_by;
                    (by.analysis, by.derivation.lines(self.network))
                };
                let shown = row.iter().take(place).any(|before| of(before) == of(assessed));
                (!shown).then_some(assessed)
            })
        })
    }

    /// Returns a sentence for each bound that a simulated run exceeded. There are none unless
    /// something is wrong.
    #[must_use]
    pub fn contradictions(&self) -> Vec<String> {
        let mut found = Vec::new();
        for assessed in self.flows.iter().flatten() {
            if let Some(contradiction) = assessed.contradiction() {
                let source = match contradiction.what {
                    "delay" => &assessed.bound.delay_by,
                    _ => &assessed.bound.backlog_by,
                };
                found.push(format!(
                    "flow '{}': the {} bound {} of {} is below {}, which happens in a run",
                    self.network.flow(assessed.bound.flow).name,
                    contradiction.what,
                    contradiction.bound,
                    source.analysis,
                    contradiction.run,
                ));
            }
        }
        found
    }

    /// Returns sentences about flows for which no analysis found finite bounds on both delay and
    /// backlog, with the reasons.
    #[must_use]
    pub fn unbounded(&self) -> Vec<String> {
        let infinite = |assessed: &Assessed| {
            let bound = &assessed.bound;
            !bound.delay.is_finite() || !bound.backlog.is_finite()
        };
        let flows: Vec<FlowId> = self
            .flows
            .iter()
            .filter(|row| row.iter().all(infinite))
            .filter_map(|row| Some(row.first()?.bound.flow))
            .collect();
        let sentence = |(reason, flows): (Reason, Vec<FlowId>)| {
            let names = flows.iter().map(|flow| format!("'{}'", self.network.flow(*flow).name));
            let names = listed(names);
            let (flows, have) = if flows.len() == 1 { ("flow", "has") } else { ("flows", "have") };
            format!("{flows} {names} {have} no bound: {}", reason.describe(self.network))
        };
        self.network.unbounded(&flows).into_iter().map(sentence).collect()
    }

    /// Returns the names of the servers, flows and links whose curves were replaced by simpler
    /// ones, because the exact curves are too long.
    #[must_use]
    pub fn stand_ins(&self) -> Vec<String> {
        let server = |id| &self.network.server(id).name;
        let name = |part| match part {
            Part::Server(id) => format!("server '{}'", server(id)),
            Part::Flow(id) => format!("flow '{}'", self.network.flow(id).name),
            Part::Link(from, to) => format!("link '{}' to '{}'", server(from), server(to)),
        };
        self.network.outlined().map(name).collect()
    }

    /// Returns whether some bounds were computed with simpler curves than those of the network.
    fn outlined(&self) -> bool {
        let mut bounds = self.flows.iter().flatten().map(|assessed| &assessed.bound);
        bounds.any(|bound| bound.delay_by.outlined || bound.backlog_by.outlined)
    }

    /// Returns a sentence for each overloaded server.
    #[must_use]
    pub fn overloads(&self) -> Vec<String> {
        let over = self.loads.iter().filter(|load| load.is_over());
        over.map(|load| {
            let percent = 100.0 * load.ratio();
            // Enough digits to show that the load is more than 100 %.
            let visible =
                |digits: &usize| format!("{percent:.digits$}") != format!("{:.digits$}", 100.0);
            let digits = (1..9).find(visible).unwrap_or(9);
            format!(
                "server '{}' is overloaded, at {percent:.digits$} %: nothing that passes it can be \
                 bounded",
                self.network.server(load.server).name,
            )
        })
        .collect()
    }

    /// Returns the number of flows that have this priority at a server.
    fn in_class(&self, server: ServerId, priority: Priority) -> usize {
        let flows = self.network.flows_at(server).iter();
        flows.filter(|id| self.network.flow(**id).priority == priority).count()
    }

    fn time(&self, value: &Extended) -> Extended {
        scaled(value, &self.time_unit)
    }
}

/// Returns the remarks that stand above the bounds, the most serious first.
fn notes(bounds: &Bounds<'_>) -> Vec<Note> {
    let wrong = [
        bounds.contradictions(),
        bounds.missed(),
        bounds.broken(),
        bounds.overloads(),
        bounds.unbounded(),
    ];
    let of = |tone, text: String| Note { tone, text: printable(&text) };
    let mut notes: Vec<Note> =
        wrong.into_iter().flatten().map(|text| of(Tone::Bad, text)).collect();
    if notes.is_empty() {
        notes.extend(bounds.all_met().map(|text| of(Tone::Good, text)));
    }
    let stand_ins = bounds.stand_ins();
    if !stand_ins.is_empty() {
        let text = format!(
            "the curves of {} repeat after a time that is too long to compute with: the least concave \
             curve above an arrival curve or a limit, and the greatest convex one below a service, \
             stands in for each. Bounds hold, but may be larger; in runs these flows send nothing, and \
             none is made for them or over these servers and links.",
            listed(stand_ins.into_iter())
        );
        notes.push(Note::warning(printable(&text)));
    } else if bounds.outlined() {
        let text = "the common period of some curves is too long to compute with: bounds are those of \
                    the least concave arrival curves above and the greatest convex service curves \
                    below, and hold for the exact ones, too. Periods on a coarser grid, such as \
                    whole milliseconds, give exact ones.";
        notes.push(Note::warning(text));
    }
    notes.extend(effort::sentences(bounds).into_iter().map(Note::warning));
    notes.extend(bounds.network.notes().iter().map(|note| Note::warning(printable(note))));
    let sources = bounds.flows.iter().flatten().map(|assessed| &assessed.bound.delay_by);
    let unproven = sources.filter(|source| !source.proven).count();
    if unproven > 0 {
        let text = format!(
            "cross traffic is bounded {}, as DNC does; that is proven only where servers serve in \
             any order and no traffic leaves the path of the flow and returns. --flow-of-interest \
             lowest-priority-where-proven gives bounds that are proven.",
            FlowOfInterest::LowestPriority
        );
        notes.push(Note::warning(text));
    }
    notes
}

/// Formats names as part of a sentence: only the first few if there are many.
fn listed(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(MAX_NAMED);
    let first: Vec<String> = names.take(MAX_NAMED).collect();
    match more {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// Converts a value in seconds or bits to another unit.
fn scaled(value: &Extended, unit: &Unit) -> Extended {
    match value {
        Extended::Finite(value) => Extended::Finite(in_unit(value, unit)),
        infinite => infinite.clone(),
    }
}

fn in_unit(value: &Rational, unit: &Unit) -> Rational {
    value.checked_div(&unit.size).unwrap_or_else(|| value.clone())
}
