//! Bounds of a network: the table, `result.json`, plots of curves.
//!
//! Input is what [`calculus::network::Analyser`] found; nothing here computes a bound. Every form
//! says by which analysis and under which convention a bound holds, and how far a run came to it.

mod json;
mod plots;
mod table;

use calculus::network::{Analysis, Assessed, Load, Network, ServerBound, Settings, Unit};
use calculus::{Extended, Rational};

pub use json::{SCHEMA, to_json};
pub use plots::curves;
pub use table::table;

/// Everything that is to be shown.
#[derive(Debug)]
pub struct Bounds<'a> {
    /// The network.
    pub network: &'a Network,
    /// What it was asked for.
    pub analyses: &'a [Analysis],
    /// Conventions.
    pub settings: &'a Settings,
    /// For each flow that was asked for, a bound for each analysis.
    pub flows: &'a [Vec<Assessed>],
    /// Bounds of servers.
    pub servers: &'a [ServerBound],
    /// Loads of servers, in the order of the network.
    pub loads: &'a [Load],
    /// Unit of times.
    pub time_unit: Unit,
    /// Unit of data.
    pub data_unit: Unit,
    /// Whether to say how each bound came about.
    pub derivations: bool,
}

impl Bounds<'_> {
    /// Bounds that are below a run, as sentences. There is none unless something is wrong.
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

    /// Overloaded servers, as sentences.
    #[must_use]
    pub fn overloads(&self) -> Vec<String> {
        let over = self.loads.iter().filter(|load| load.is_over());
        over.map(|load| {
            let percent = 100.0 * load.ratio();
            // As many digits as it takes to see that it is more than all.
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

    fn time(&self, value: &Extended) -> Extended {
        scaled(value, &self.time_unit)
    }

    fn data(&self, value: &Extended) -> Extended {
        scaled(value, &self.data_unit)
    }
}

/// A value in a unit.
fn scaled(value: &Extended, unit: &Unit) -> Extended {
    match value {
        Extended::Finite(value) => Extended::Finite(in_unit(value, unit)),
        infinite => infinite.clone(),
    }
}

fn in_unit(value: &Rational, unit: &Unit) -> Rational {
    value.checked_div(&unit.size).unwrap_or_else(|| value.clone())
}
