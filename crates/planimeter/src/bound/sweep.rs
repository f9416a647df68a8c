//! `--vary`: the same network for each value of one of its quantities.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use calculus::Rational;
use calculus::network::format::Variation;
use calculus::network::{Format, Settings};
use clap::ArgMatches;
use provenance::{Began, Provenance};
use report::RunDirectory;
use report::bounds::{Sweep, SweepPoint, orders};

use super::{arguments, assess, bounds_of};
use crate::failure::Failure;
use crate::output::layout;

pub(super) fn run(
    matches: &ArgMatches,
    began: &Began,
    variation: &Variation,
    (file, text, format): (&Path, &str, Format),
    settings: &Settings,
) -> Result<ExitCode, Failure> {
    let at = |value: &Rational| {
        let network = variation.network(text, format, value);
        network.map_err(|error| Failure::input(format!("{}: {error}", file.display())))
    };
    let mut analyses = arguments::analyses(matches);
    let mut points = Vec::new();
    let mut known = None;
    for value in variation.values() {
        let network = at(&value)?;
        let flows = arguments::flows(matches, &network)?;
        let (applied, assessed) = assess(matches, &network, settings, &analyses, &flows)?;
        // What does not apply to the network is told once.
        analyses = applied;
        let bounds = bounds_of(matches, &network, (&analyses, settings), &assessed, (&[], &[]));
        let (unbounded, contradictions) = (bounds.unbounded(), bounds.contradictions());
        for contradiction in &contradictions {
            eprintln!("planimeter: {contradiction}; please report this network as a bug");
        }
        points.push(SweepPoint { value, flows: assessed, unbounded, contradictions });
        known.get_or_insert((network, flows));
    }
    let (network, flows) =
        known.ok_or_else(|| Failure::input("--vary has no value; give at least one step"))?;
    let names: Vec<String> = flows.iter().map(|id| network.flow(*id).name.clone()).collect();
    let bounds = bounds_of(matches, &network, (&analyses, settings), &[], (&[], &[]));
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
    show(matches, &sweep, &began.provenance())?;
    let never = (0..names.len()).any(|flow| {
        points.iter().all(|point| {
            point.flows.get(flow).is_none_or(|row| {
                let infinite = |found: &calculus::network::Assessed| !found.bound.delay.is_finite();
                row.iter().all(infinite)
            })
        })
    });
    let wrong = points.iter().any(|point| !point.contradictions.is_empty());
    Ok(ExitCode::from(u8::from(wrong || never && !matches.get_flag("allow-unbounded"))))
}

fn show(matches: &ArgMatches, sweep: &Sweep<'_>, provenance: &Provenance) -> Result<(), Failure> {
    let (json, csv) = (sweep.to_json(provenance), sweep.to_csv());
    if matches.get_flag("json") {
        print!("{json}");
    } else if matches.get_flag("csv") {
        print!("{csv}");
    } else {
        print!("{}", sweep.table(layout()));
    }
    let Some(folder) = matches.get_one::<PathBuf>("output") else { return Ok(()) };
    let directory = RunDirectory::create(Some(folder)).map_err(Failure::input)?;
    let page = sweep.page(provenance);
    let files = [("result.json", json.as_str()), ("sweep.csv", csv.as_str())];
    directory.write_page(&page, &files).map_err(Failure::run)?;
    eprintln!("Report: {}", directory.path().join("report.html").display());
    Ok(())
}
