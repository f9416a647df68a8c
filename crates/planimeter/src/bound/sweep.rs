//! `--vary`: bounds the network for each value of one of its quantities.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use calculus::Rational;
use calculus::network::format::Variation;
use calculus::network::{Analyser, Format, Settings};
use provenance::{Began, Provenance};
use report::bounds::{Sweep, SweepPoint, orders};
use report::shares;
use serde::{Deserialize, Serialize};

use super::{Applied, Arguments, bounds_of, with_runs};
use crate::failure::{Failure, INTERRUPTED};
use crate::interrupt;
use crate::output::layout;
use crate::rank_group::{Items, RankGroup};

pub(super) fn run(
    arguments: &Arguments,
    started: &Began,
    variation: &Variation,
    (file, text, format): (&Path, &str, Format),
    settings: &Settings,
    mut ranks: RankGroup,
) -> Result<ExitCode, Failure> {
    let interrupt = interrupt::flag();
    let at = |value: &Rational| {
        let network = variation.network(text, format, value);
        let network = network.map_err(|error| format!("{}: {error}", file.display()))?;
        let network = arguments.network(network);
        network.map_err(|error| format!("{}: {error}", file.display()))
    };
    let values = variation.values();
    let first = values
        .first()
        .ok_or_else(|| Failure::input("--vary has no value; give at least one step"))?;
    let network = at(first).map_err(Failure::input)?;
    let asked = arguments.analyses(&network);
    let flows = arguments.flows(&network)?;
    if flows.iter().any(|id| network.flow(*id).maximum_delay.is_some()) {
        eprintln!("planimeter: --vary holds no bound against the maximum-delay of its flow");
    }
    let with_runs = with_runs(arguments, &flows);
    let items = Items {
        names: values
            .iter()
            .map(|value| format!("{} {value}{}", variation.place(), variation.unit()))
            .collect(),
        basis: format!("{text} {settings:?} {asked:?} {with_runs} {flows:?}"),
        cores: None,
    };
    let each = |number: usize| {
        let Some(value) = values.get(number) else {
            return Err("there is no such value".to_owned());
        };
        let network = at(value)?;
        let analyser = Analyser::new(&network, settings.clone()).stopped_by(Arc::clone(&interrupt));
        let applied = Applied::of(&analyser, &flows, &asked, with_runs)?;
        let bounds = bounds_of(
            arguments,
            &network,
            (&applied.analyses, settings),
            &applied.flows,
            (&[], &[]),
        );
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
    let analyses = Applied::common(&asked, known.iter_mut().map(|(_, at)| &mut at.applied));
    let mut points = Vec::new();
    for (value, At { applied, unbounded, contradictions }) in known {
        for contradiction in &contradictions {
            eprintln!("planimeter: {contradiction}; please report this network as a bug");
        }
        points.push(SweepPoint {
            value: value.clone(),
            flows: applied.flows,
            unbounded,
            contradictions,
        });
    }
    if points.is_empty() {
        return Err(Failure::run("interrupted before anything was bounded"));
    }
    let names: Vec<String> = flows.iter().map(|id| network.flow(*id).name.clone()).collect();
    let bounds = bounds_of(arguments, &network, (&analyses, settings), &[], (&[], &[]));
    let (time_unit, data_unit) = (bounds.time_unit.clone(), bounds.data_unit.clone());
    let sweep = Sweep {
        network: network.name(),
        place: &variation.place(),
        unit: variation.unit(),
        analyses: &analyses,
        settings,
        orders: &orders(&network),
        flows: &names,
        points: &points,
        time_unit,
        data_unit,
    };
    let provenance = Provenance { shares: found.shares, ..started.provenance() };
    show(arguments, &sweep, &provenance)?;
    let never = (0..names.len()).any(|flow| {
        points.iter().all(|point| {
            point.flows.get(flow).is_none_or(|row| {
                let infinite = |found: &calculus::network::Assessed| !found.bound.delay.is_finite();
                row.iter().all(infinite)
            })
        })
    });
    let wrong = points.iter().any(|point| !point.contradictions.is_empty());
    let incomplete = provenance.missing().is_some();
    let failed = wrong || incomplete || never && !arguments.allow_unbounded;
    ranks.leave(if interrupt.load(Ordering::Relaxed) { INTERRUPTED } else { u8::from(failed) })
}

/// The results at one value.
#[derive(Serialize, Deserialize)]
struct At {
    applied: Applied,
    unbounded: Vec<String>,
    contradictions: Vec<String>,
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
