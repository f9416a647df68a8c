//! Compares the methods by which packets update table entries, as in Table 1 of Simon et al. (ANCS
//! 2021), the paper that the crate `tables` cites. The page shows by how much writing in place is
//! faster than the other two methods (a change through two replicas, and a digest to the
//! controller), and what the paper found.
//!
//! All rates are by wall-clock time, since processor time does not include waiting. A ratio is
//! computed within each repetition, in which both methods had the same conditions. Its interval is
//! the 95 % confidence interval of the mean over repetitions.

use ::tables::measure::{Case, Findings, Measured, Operation};
use ::tables::{EntryLock, Synchronisation, UpdateMethod, Wait};
use statistics::{Estimate, Unit};

use super::{design, method, percentile, sharing, size, stated, wall_rate};
use crate::describe::distinct;
use crate::format::{estimate, whole};
use crate::page::{Block, Column, Data, Figure, Table};
use crate::plot::{Axis, Line, Origin, Plot, Point, Style};
use crate::value::Spread;

/// A result from the paper for an update method on one core with 2²⁰ entries. The packets pass a
/// switch and network cards. The figures are from Simon et al., ANCS 2021, Table 1. Those of the
/// method that changes replicas without waiting are from section 5.1.
struct Published {
    name: &'static str,
    /// The published number of updates per second.
    rate: f64,
    /// The published median latency of a packet, in seconds.
    median: f64,
}

const POINTER: Published = Published { name: "pointer", rate: 1.73e6, median: 26.5e-6 };
const CHANGE: Published = Published { name: "change, 200 us", rate: 3.39e3, median: 322e-6 };
const CHANGE_WITHOUT_WAIT: Published =
    Published { name: "change, quiescent", rate: 1.12e6, median: 27.9e-6 };
const DIGEST: Published = Published { name: "digest", rate: 4.1e3, median: 65.3e-6 };

/// The comparison of an update method with the method that writes in place, on the same storage.
pub(super) struct Against<'a> {
    /// The measurement of the method that does not write in place.
    pub(super) other: &'a Measured,
    /// The update rate of the method that writes in place, divided by the rate of the other method.
    pub(super) rate: Option<Estimate>,
    /// The median time of an update by the other method, divided by that of the method that writes
    /// in place.
    pub(super) median: Option<Estimate>,
    /// The two ratios as the paper publishes them: that of rates, and that of median latencies.
    /// `None` if the paper does not have the method.
    pub(super) published: Option<(f64, f64)>,
}

/// Returns the measurements of update methods on one core without entry locks. The table is the
/// largest one with which any method besides writing in place was measured.
pub(super) fn measured(findings: &Findings) -> Vec<&Measured> {
    let is_alone = |case: &Case| {
        case.cores == 1
            && case.operation == Operation::Update
            && case.design.entry_lock == EntryLock::None
    };
    let is_method = |case: &Case| is_alone(case) && case.design.update != UpdateMethod::Pointer;
    let cases = || findings.measured.iter().filter(|one| is_alone(&one.case));
    let sizes = cases().filter(|one| is_method(&one.case)).map(|one| one.case.layout.size());
    let Some(largest) = sizes.max() else { return Vec::new() };
    let mut found: Vec<&Measured> =
        cases().filter(|one| one.case.layout.size() == largest).collect();
    found.sort_by_key(|one| (one.case.design.update as u8, one.case.design.storage.to_string()));
    found
}

/// Compares each update method with the pointer method, which writes in place, on the same storage.
/// Methods are left out if the pointer method was not measured on their storage.
pub(super) fn against<'a>(methods: &[&'a Measured]) -> Vec<Against<'a>> {
    let in_place = |one: &Measured, like: &Measured| {
        let (design, other) = (one.case.design, like.case.design);
        design.update == UpdateMethod::Pointer
            && design.synchronisation == Synchronisation::Optimistic
            && (design.storage, one.case.layout) == (other.storage, like.case.layout)
    };
    let one = |other: &'a Measured| {
        let pointer = methods.iter().find(|one| in_place(one, other))?;
        let medians = pointer.turns.iter().zip(&other.turns).filter_map(|(below, above)| {
            Some((f64::from(above.single.p50?), f64::from(below.single.p50?)))
        });
        let (above, below): (Vec<f64>, Vec<f64>) =
            medians.filter(|(_, below)| *below > 0.0).unzip();
        let published = published(&other.case)
            .map(|found| (POINTER.rate / found.rate, found.median / POINTER.median));
        Some(Against {
            other,
            rate: Estimate::of_ratio(&pointer.rates_by_wall(), &other.rates_by_wall()),
            median: Estimate::of_ratio(&above, &below),
            published,
        })
    };
    let others = methods.iter().filter(|one| one.case.design.update != UpdateMethod::Pointer);
    others.filter_map(|other| one(other)).collect()
}

/// Returns the paper's result for the update method of a case, or `None` if the paper has none.
fn published(case: &Case) -> Option<&'static Published> {
    match (case.design.update, case.design.synchronisation) {
        (UpdateMethod::Pointer, _) => Some(&POINTER),
        (UpdateMethod::Digest, _) => Some(&DIGEST),
        (UpdateMethod::Change, Synchronisation::DoubleBuffer { wait: Wait::Quiescent }) => {
            Some(&CHANGE_WITHOUT_WAIT)
        }
        (UpdateMethod::Change, Synchronisation::DoubleBuffer { wait }) if wait == Wait::PAPER => {
            Some(&CHANGE)
        }
        (UpdateMethod::Change, _) => None,
    }
}

/// Formats a ratio with its interval, such as `510 ± 12`, or a dash if there is none.
pub(super) fn times(ratio: Option<&Estimate>) -> String {
    ratio.map_or_else(|| "–".to_owned(), |ratio| estimate(ratio, Unit::Count))
}

/// Formats the mean of a ratio, or a dash if there is none.
pub(super) fn mean_times(ratio: Option<&Estimate>) -> String {
    ratio.map_or_else(|| "–".to_owned(), |ratio| crate::format::figure(ratio.mean, Unit::Count))
}

/// Formats a ratio published in the paper, or a dash if the paper has none.
pub(super) fn published_times(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "–".to_owned(), |ratio| crate::format::figure(ratio, Unit::Count))
}

/// Returns the blocks of the section about update methods: the results of each method, the ratios
/// by which writing in place is faster, and a plot of throughput against latency.
pub(super) fn blocks(findings: &Findings) -> Vec<Block> {
    let methods = measured(findings);
    let Some(first) = methods.first() else { return Vec::new() };
    let place = format!("{} entries, one core", size(first.case.layout.size()));
    let mut blocks = vec![Block::Table(all(&methods, &place))];
    let against = against(&methods);
    if !against.is_empty() {
        blocks.push(Block::Table(gains(&against)));
        let remark = "Within each turn, by the wall clock; of latencies the medians of one update alone. The paper has 2²⁰ \
                      entries behind a packet generator, and its latencies are those of packets through a switch and its \
                      network cards, these of the table alone: a method that takes microseconds by itself gains more here.";
        blocks.push(Block::Remark(remark.into()));
    }
    blocks.push(Block::Figures(vec![drawn(&methods, &place)]));
    blocks
}

/// Returns the table of all measured update methods.
fn all(methods: &[&Measured], place: &str) -> Table {
    let mut columns = vec![
        Column::words("method"),
        Column::words("design"),
        Column::figures("throughput, wall clock"),
    ];
    columns.extend(["p25", "p50", "p75", "p99", "samples"].map(Column::figures));
    columns.push(Column::prose("waits for"));
    let mut table = Table::new(format!("{place}; latency of one update alone"), columns);
    for one in methods {
        let waits = match (one.case.design.update, one.case.design.synchronisation) {
            (UpdateMethod::Digest, _) => "the controller, over loopback TCP",
            (UpdateMethod::Change, Synchronisation::DoubleBuffer { wait: Wait::Fixed(_) }) => {
                "a fixed time after each swap"
            }
            (UpdateMethod::Change, Synchronisation::DoubleBuffer { .. }) => {
                "workers to pass a quiescent state"
            }
            _ => "nothing",
        };
        let throughput = wall_rate(one).map(|rate| estimate(&rate, Unit::PerSecond));
        let mut row =
            vec![method(&one.case).to_owned(), design(&one.case), throughput.unwrap_or_default()];
        let quartile = |share: f64| percentile(one.single.tail_at(share));
        let [p50, p99, _] = one.percentiles().map(|found| stated(found.as_ref()));
        row.extend([quartile(0.25), p50, quartile(0.75), p99]);
        row.extend([whole(one.single.len() as u64), waits.to_owned()]);
        table.row(row);
    }
    table
}

fn gains(against: &[Against<'_>]) -> Table {
    let columns = [
        Column::words("pointer against"),
        Column::words("design"),
        Column::figures("updates, by this factor"),
        Column::figures("in the paper"),
        Column::figures("their median is longer by this factor"),
        Column::figures("in the paper"),
    ];
    let mut table = Table::new("Gain of writing in place", columns);
    for one in against {
        let (rate, median) = one.published.unzip();
        table.row([
            method(&one.other.case).to_owned(),
            design(&one.other.case),
            times(one.rate.as_ref()),
            published_times(rate),
            times(one.median.as_ref()),
            published_times(median),
        ]);
    }
    table
}

/// Returns the plot of update methods: throughput against median latency. It has a point for each
/// method and storage, and the points of the paper are hollow.
fn drawn(methods: &[&Measured], place: &str) -> Figure {
    let name = |one: &Measured| format!("{}, {}", method(&one.case), sharing(&one.case));
    let mut lines = Vec::new();
    for (hue, text) in distinct(methods.iter().map(|one| name(one))).into_iter().enumerate() {
        let own = methods.iter().filter(|one| name(one) == text);
        let points = own.filter_map(|one| {
            let ([median, ..], rate) = (one.percentiles(), wall_rate(one)?);
            let median = median?;
            let storage = one.case.design.storage;
            let point = Point {
                // A median below the resolution of the clock reads as zero, which a logarithmic
                // axis cannot show.
                x: median.mean.max(1e-9),
                y: rate.mean,
                spread: Spread::of(&rate, Unit::PerSecond),
                tip: Some(format!(
                    "{text}, {storage}: {}, median {}",
                    estimate(&rate, Unit::PerSecond),
                    stated(Some(&median))
                )),
            };
            // A point whose height is not a number interrupts the line, so that points of different
            // storages are not joined.
            let gap = Point::new(point.x, f64::NAN);
            Some([point, gap])
        });
        lines.push(Line::new(
            text.clone(),
            points.flatten().collect(),
            Style::series(hue).filled(),
        ));
    }
    for published in [POINTER, CHANGE, CHANGE_WITHOUT_WAIT, DIGEST] {
        let name = format!("the paper: {}", published.name);
        let point = Point::new(published.median, published.rate);
        let style = Style::series(lines.len()).hollow();
        lines.push(Line { origin: Origin::Published, ..Line::new(name, vec![point], style) });
    }
    let plot = Plot::new(
        format!("Update methods: throughput and latency, {place} (Table 1 of the paper)"),
        "Updates per second by the wall clock against the median time of one update alone, a point for each method. Points of \
         the paper are hollow.",
        Axis::logarithmic("median latency of an update", Unit::Seconds),
        Axis::logarithmic("updates per second, wall clock", Unit::PerSecond),
    );
    let remark = "Up and to the left is better. A point for each storage; hollow: the paper, whose latencies are those of whole \
                  packets.";
    Figure::plot(Plot { lines, ..plot }, remark).with_data(Data::Elsewhere)
}
