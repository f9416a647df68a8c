//! `planimeter bound --vary`: bounds a network for each value of one of its quantities, such as the
//! rate of a flow.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use calculus::Rational;
use calculus::network::Analyser;
use calculus::network::format::Variation;
use provenance::{Began, Provenance};
use report::bounds::{Sweep, SweepPoint, orders};
use report::shares;
use serde::{Deserialize, Serialize};

use super::thresholds::Figures;
use super::{Applied, Arguments, Source, bounds_of, with_runs};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::layout;
use crate::rank_group::{Items, RankGroup, status};

pub(super) fn run(
    arguments: &Arguments,
    started: &Began,
    variation: &Variation,
    source: Source<'_>,
    mut ranks: RankGroup,
) -> Result<ExitCode, Failure> {
    let settings = arguments.settings();
    let interrupt = interrupt::flag();
    let at = |value: &Rational| {
        let network = variation.network(source.text, source.format, value);
        let network = network.map_err(|error| format!("{}: {error}", source.file.display()))?;
        let network = arguments.network(network);
        network.map_err(|error| format!("{}: {error}", source.file.display()))
    };
    let values = variation.values();
    let first = values
        .first()
        .ok_or_else(|| Failure::input("--vary has no value; give at least one step"))?;
    let network = at(first).map_err(Failure::input)?;
    let requested = arguments.analyses(&network);
    let flows = arguments.flows(&network)?;
    if flows.iter().any(|id| network.flow(*id).maximum_delay.is_some()) {
        eprintln!(
            "planimeter: --vary does not compare bounds with the maximum-delay of their flows"
        );
    }
    let with_runs = with_runs(arguments, &flows);
    let items = Items {
        names: values
            .iter()
            .map(|value| format!("{} {value}{}", variation.place(), variation.unit()))
            .collect(),
        basis: format!("{} {settings:?} {requested:?} {with_runs} {flows:?}", source.text),
        cores: None,
    };
    let each = |number: usize| -> Result<At, String> {
        let value = values.get(number).ok_or("there is no such value")?;
        let network = at(value)?;
        let analyser = Analyser::new(&network, settings.clone()).stopped_by(Arc::clone(&interrupt));
        let applied = Applied::of(&analyser, &flows, &requested, with_runs)?;
        let figures =
            Figures { network: &network, flows: &applied.flows, servers: &[], loads: &[] };
        let bounds = bounds_of(arguments, &figures, &applied.analyses, &settings);
        let (unbounded, contradictions) = (bounds.unbounded(), bounds.contradictions());
        Ok(At { applied, unbounded, contradictions })
    };
    let Some(found) = ranks.share(items, &interrupt, each)? else {
        return ranks.leave_helper(&interrupt);
    };
    let mut known = Vec::new();
    for (value, at) in values.iter().zip(found.results) {
        known.extend(at.transpose().map_err(Failure::input)?.map(|at| (value, at)));
    }
    known.retain(|(_, at)| at.is_complete(flows.len()));
    let analyses = Applied::common(&requested, known.iter_mut().map(|(_, at)| &mut at.applied));
    let points: Vec<SweepPoint> = known.into_iter().map(|(value, at)| at.point(value)).collect();
    for contradiction in points.iter().flat_map(|point| &point.contradictions) {
        eprintln!("planimeter: {contradiction}; please report this network as a bug");
    }
    if points.is_empty() {
        return Err(Failure::Interrupted);
    }
    let names: Vec<String> = flows.iter().map(|id| network.flow(*id).name.clone()).collect();
    let sweep = Sweep {
        network: network.name(),
        place: &variation.place(),
        unit: variation.unit(),
        analyses: &analyses,
        settings: &settings,
        orders: &orders(&network),
        flows: &names,
        points: &points,
        time_unit: arguments.time_unit(&network),
        data_unit: arguments.data_unit(&network),
    };
    let provenance = Provenance { shares: found.shares, ..started.provenance() };
    show(arguments, &sweep, &provenance)?;
    let never = (0..names.len()).any(|flow| is_never_bounded(flow, &points));
    let wrong = points.iter().any(|point| !point.contradictions.is_empty());
    // A flow without a bound may have one for a value that an interrupt left out.
    let interrupted = interrupt.load(Ordering::Relaxed);
    let failed = wrong || (never && !arguments.allow_unbounded && !interrupted);
    ranks.leave(status(u8::from(failed), &provenance, interrupted))
}

/// The results for one value of the varied quantity.
#[derive(Serialize, Deserialize)]
struct At {
    applied: Applied,
    unbounded: Vec<String>,
    contradictions: Vec<String>,
}

impl At {
    /// Returns whether the results cover all of the network's `flows` flows. An interrupted
    /// analysis omits flows, so that the index of a row is no longer the index of its flow.
    fn is_complete(&self, flows: usize) -> bool {
        self.applied.flows.len() == flows
    }

    fn point(self, value: &Rational) -> SweepPoint {
        let Self { applied, unbounded, contradictions } = self;
        SweepPoint { value: value.clone(), flows: applied.flows, unbounded, contradictions }
    }
}

/// Returns whether no analysis bounds the delay of the flow with index `flow`, for any value of the
/// varied quantity.
fn is_never_bounded(flow: usize, points: &[SweepPoint]) -> bool {
    points.iter().all(|point| {
        let row = point.flows.get(flow);
        row.is_none_or(|row| row.iter().all(|found| !found.bound.delay.is_finite()))
    })
}

fn show(arguments: &Arguments, sweep: &Sweep<'_>, provenance: &Provenance) -> Result<(), Failure> {
    let (json, csv) = (sweep.to_json(provenance), sweep.to_csv());
    if arguments.json {
        print!("{json}");
    } else if arguments.csv {
        print!("{csv}");
    } else {
        print!("{}{}", sweep.table(layout()), shares::text(provenance, layout()));
    }
    let Some(directory) = arguments.directory()? else { return Ok(()) };
    let page = sweep.page(provenance);
    let files = [("result.json", json.as_str()), ("sweep.csv", csv.as_str())];
    directory.write_page(&page, &files).map_err(Failure::run)?;
    eprintln!("Report: {}", directory.path().join("report.html").display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_at_which_flows_are_missing_is_not_complete() {
        let at = |flows: usize| At {
            applied: Applied {
                analyses: Vec::new(),
                flows: vec![Vec::new(); flows],
                left_out: Vec::new(),
                rounded: false,
            },
            unbounded: Vec::new(),
            contradictions: Vec::new(),
        };
        assert!(at(3).is_complete(3) && !at(2).is_complete(3));
    }
}
