//! Reports of comparisons of table designs: terminal tables, `report.html`, `result.json`,
//! `cases.csv`.
//!
//! The input is [`tables::measure::Findings`]. Nothing here measures. This module has what all
//! forms share: the names of designs, estimates with their confidence intervals, and the answer to
//! the question of the run.

mod json;
mod methods;
mod page;
mod plots;
mod terminal;

use std::fmt;

use ::tables::measure::{Case, Findings, Measured, Operation};
use ::tables::{EntryLock, Synchronisation, UpdateMethod, Wait};
use hdrhistogram::Histogram;
use provenance::Provenance;
use statistics::{Estimate, Unit};

use crate::alarm::{self, Alarm};
use crate::format::{estimate, figure, plural, whole};
use crate::page::Note;
use crate::plot::power_of_two;

pub use json::{SCHEMA, to_csv, to_json};
pub use page::{document, page};
pub use terminal::table;

/// A run of `planimeter tables`, which compares designs of match-action tables: its measurements
/// and their origin.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// The measurements of all table designs.
    pub findings: &'a Findings,
    /// The thresholds of the user that do not hold, each as a sentence.
    pub broken: &'a [String],
    /// The command, the time and the host of the run.
    pub provenance: &'a Provenance,
}

/// Returns the failures of a run, which reports show above everything else.
fn alarms(run: &Run<'_>) -> Vec<Alarm> {
    let findings = run.findings;
    let mut alarms = alarm::broken(run.broken);
    if findings.interrupted {
        let fewer = |one: &&Measured| one.turns.len() < findings.settings.repetitions;
        let fewer = findings.measured.iter().filter(fewer).count();
        let missing = plural(findings.unfinished.len() as u64, "case was", "cases were");
        alarms.push(Alarm::interrupted(format!(
            "{missing} not measured, and {fewer} have fewer turns than requested."
        )));
    }
    alarms.extend(findings.broken_promises().map(|one| {
        let text = format!("{} of {} updates are missing", lost(one), whole(one.updates));
        let at = format!("{}, {}, {}", design(&one.case), method(&one.case), cores(one.case.cores));
        Alarm::new(alarm::Kind::Wrong, "LOST", text)
            .with(format!("in {at}: a bug in Planimeter; please report it."))
    }));
    alarms
}

/// Returns a short name for how workers share the table: its synchronisation, and whether entries
/// have locks.
pub(crate) fn sharing(case: &Case) -> String {
    let name = match case.design.synchronisation {
        Synchronisation::Optimistic => "optimistic".to_owned(),
        Synchronisation::Sharded { .. } => "sharded".to_owned(),
        Synchronisation::DoubleBuffer { wait: Wait::Quiescent } => "double-buffer".to_owned(),
        Synchronisation::DoubleBuffer { wait: Wait::Fixed(time) } => {
            format!("double-buffer {}us", time.as_micros())
        }
    };
    match case.design.entry_lock {
        EntryLock::None => name,
        EntryLock::PerEntry => format!("{name}, lock"),
    }
}

/// Returns the name of the measured operation: `read`, or the method by which entries are updated.
pub(crate) fn method(case: &Case) -> &'static str {
    match (case.operation, case.design.update) {
        (Operation::Read, _) => "read",
        (Operation::Update, UpdateMethod::Pointer) => "pointer",
        (Operation::Update, UpdateMethod::Change) => "change",
        (Operation::Update, UpdateMethod::Digest) => "digest",
    }
}

/// Returns the name of a table design as the paper writes it: storage/synchronisation.
pub(crate) fn design(case: &Case) -> String {
    format!("{}/{}", case.design.storage, sharing(case))
}

/// Formats a number of table entries, as a power of two (`2²⁰`) if it is one.
pub(crate) fn size(entries: usize) -> String {
    power_of_two(entries as f64).unwrap_or_else(|| crate::format::whole(entries as u64))
}

/// Formats a number of cores: `1 core`, `2 cores`.
pub(crate) fn cores(count: usize) -> String {
    crate::format::plural(count as u64, "core", "cores")
}

pub(crate) fn rate(one: &Measured) -> Option<Estimate> {
    Estimate::of(&one.rates())
}

/// Returns the rate of operations per second of wall-clock time, even for designs whose rate is
/// usually stated by processor time.
pub(crate) fn wall_rate(one: &Measured) -> Option<Estimate> {
    Estimate::of(&one.rates_by_wall())
}

/// Returns the name of the clock by which the rate of a case is measured: `wall` if the case waits,
/// otherwise `cpu`.
pub(crate) fn clock(case: &Case) -> &'static str {
    if case.waits() { "wall" } else { "cpu" }
}

/// Returns whether some of these rates are measured by the wall clock and others by processor time.
pub(crate) fn mixes_clocks(measured: &[&Measured]) -> bool {
    let waits = |one: &&Measured| one.case.waits();
    measured.iter().any(waits) && !measured.iter().all(waits)
}

/// Returns the processor time of one operation in seconds, as a mean over repetitions.
pub(crate) fn cost(one: &Measured) -> Option<Estimate> {
    let seconds: Vec<f64> = one.costs().into_iter().map(|nanoseconds| nanoseconds / 1e9).collect();
    Estimate::of(&seconds)
}

pub(crate) fn misses(one: &Measured) -> Option<Estimate> {
    Estimate::of(&one.misses())
}

/// Formats a percentile of all samples together, which is given in nanoseconds. Returns a dash for
/// `None`, which means that there are too few samples.
pub(crate) fn percentile(nanoseconds: Option<u32>) -> String {
    let seconds = nanoseconds.map(|time| f64::from(time) / 1e9);
    seconds.map_or_else(|| "–".to_owned(), |time| figure(time, Unit::Seconds))
}

/// Formats a percentile with its interval over repetitions, or a dash if there is none.
pub(crate) fn stated(percentile: Option<&Estimate>) -> String {
    percentile.map_or_else(|| "–".to_owned(), |found| estimate(found, Unit::Seconds))
}

/// Formats the number of lost updates, or a dash if the table entries cannot show losses.
pub(crate) fn lost(one: &Measured) -> String {
    one.lost.map_or_else(|| "–".to_owned(), |lost| figure(lost as f64, Unit::Count))
}

/// Returns the combinations of storage and synchronisation that cannot be measured because no table
/// supports them, grouped by reason. Each element has the names of up to six combinations, and the
/// reason.
pub(crate) fn not_offered(findings: &Findings) -> Vec<(String, String)> {
    let mut grouped: Vec<(Vec<&str>, &str)> = Vec::new();
    for combination in &findings.not_offered {
        match grouped.iter_mut().find(|(_, reason)| *reason == combination.reason) {
            Some((names, _)) => names.push(&combination.what),
            None => grouped.push((vec![&combination.what], &combination.reason)),
        }
    }
    let line = |(names, reason): (Vec<&str>, &str)| {
        let mut shown = names[..names.len().min(6)].join("; ");
        if names.len() > 6 {
            shown.push_str(&format!("; and {} more", names.len() - 6));
        }
        (shown, reason.to_owned())
    };
    grouped.into_iter().map(line).collect()
}

/// Returns the different key and parameter sizes of the measured tables, in order.
pub(crate) fn shapes(findings: &Findings) -> Vec<Shape> {
    crate::describe::distinct(findings.measured.iter().map(shape))
}

pub(crate) fn shape(one: &Measured) -> Shape {
    let layout = &one.case.layout;
    Shape { key_bits: layout.key_bits(), parameter_bytes: layout.parameter_bytes() }
}

/// The sizes of a table's keys and action parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    key_bits: u32,
    parameter_bytes: usize,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "keys of {} bits, parameters of {} B", self.key_bits, self.parameter_bytes)
    }
}

/// Returns sentences with figures that answer the question "which design should my program use",
/// for the largest measured table.
pub(crate) fn answers(findings: &Findings) -> Vec<String> {
    let mut answers = Vec::new();
    for shape_of in shapes(findings) {
        let of_shape =
            |one: &&Measured| shape(one) == shape_of && one.case.operation == Operation::Update;
        let largest =
            findings.measured.iter().filter(of_shape).map(|one| one.case.layout.size()).max();
        let Some(largest) = largest else { continue };
        let candidates: Vec<&Measured> = findings
            .measured
            .iter()
            .filter(of_shape)
            .filter(|one| one.case.layout.size() == largest)
            .collect();
        let best = |wanted: &dyn Fn(&Case) -> bool| {
            let rates = candidates
                .iter()
                .filter(|one| wanted(&one.case))
                .filter_map(|one| Some((*one, rate(one)?)));
            rates.max_by(|(_, a), (_, b)| a.mean.total_cmp(&b.mean))
        };
        let say = |intent: String, found: Option<(&Measured, Estimate)>| {
            let (one, rate) = found?;
            let ns = cost(one).map_or_else(String::new, |cost| {
                format!(", {} of a core for each", estimate(&cost, Unit::Seconds))
            });
            Some(format!(
                "{intent}: {}, {}{ns}",
                design(&one.case),
                estimate(&rate, Unit::PerSecond)
            ))
        };
        let place = if shapes(findings).len() > 1 {
            format!("{} entries, {}", size(largest), shape_of)
        } else {
            format!("{} entries", size(largest))
        };
        for count in crate::describe::distinct(candidates.iter().map(|one| one.case.cores)) {
            let alone = |case: &Case| {
                case.cores == count
                    && (count == 1
                        || !is_shared(case)
                        || case.design.entry_lock == EntryLock::PerEntry)
            };
            let place = format!("{place}, {}", cores(count));
            if count == 1 {
                answers.extend(say(format!("Fastest, {place}"), best(&alone)));
                continue;
            }
            let sharded = |case: &Case| case.cores == count && !is_shared(case);
            let shared = |case: &Case| alone(case) && is_shared(case);
            answers.extend(say(format!("Each flow on one core, {place}"), best(&sharded)));
            answers.extend(say(
                format!("Entries that all cores write without loss, {place}"),
                best(&shared),
            ));
        }
    }
    answers
}

fn is_shared(case: &Case) -> bool {
    !matches!(case.design.synchronisation, Synchronisation::Sharded { .. })
}

/// Returns the remarks that concern all figures: on clocks, memory pages, pinning and counters.
pub(crate) fn remarks(findings: &Findings) -> Vec<Note> {
    let (mut warnings, mut remarks) = (Vec::new(), Vec::new());
    warnings.extend(crate::unoptimised("tables"));
    let shares = findings.measured.iter().flat_map(|one| &one.turns);
    let working = findings
        .measured
        .iter()
        .filter(|one| !one.case.waits())
        .flat_map(|one| &one.turns)
        .map(|turn| turn.share)
        .fold(f64::INFINITY, f64::min);
    if let Some(cache) = findings.machine.caches.iter().find(|cache| !cache.agrees()) {
        remarks.push(format!(
            "Latency shows another last cache than the processor reports: {cache}. Models, and the latency of that cache, \
             are for the measured size."
        ));
    }
    if working < 0.95 {
        warnings.push(format!(
            "Other processes used the cores: in the worst turn, threads had their cores for {} of the time. Rates of \
             designs that never wait are per second of processor time and exclude the rest; latencies and cache \
             contents are affected. Measure again on a quiet machine before you publish.",
            figure(working, Unit::Fraction)
        ));
    }
    if shares.count() > 0 && findings.measured.iter().any(|one| one.case.waits()) {
        remarks.push(
            "Rates of change through two replicas and of digest are by the wall clock, since these methods wait; all \
             others are per second of processor time. Compare them by the columns with the wall clock."
                .to_owned(),
        );
    }
    let lost_on_the_way = |one: &&Measured| {
        one.case.operation == Operation::Update
            && one.case.design.update == UpdateMethod::Digest
            && one.lost.is_some_and(|lost| lost > 0)
    };
    if findings.measured.iter().any(|one| lost_on_the_way(&one)) {
        remarks.push(
            "Digest loses updates also on one core: packets that hit an entry before the controller's answer arrives \
             read the old number, and their answers overwrite each other."
                .to_owned(),
        );
    }
    let machine = &findings.machine;
    if let Err(reason) = &machine.counters {
        remarks.push(format!("Cache misses: not counted, {reason}."));
    }
    if let Err(reason) = &machine.pinned {
        warnings.push(format!("Threads are not pinned: {reason}."));
    }
    remarks.push(format!(
        "Latency: one update alone, from its call until the table has it. Reading the clock costs {} ns, which is \
         subtracted, and it steps by {} ns.",
        machine.clock.cost, machine.clock.step
    ));
    let large: Vec<_> =
        findings.measured.iter().filter(|one| one.memory.total() >= 4 << 20).collect();
    if !large.is_empty() {
        let refused = large.iter().filter(|one| one.memory.pages == ::tables::Pages::Base).count();
        remarks.push(match refused {
            0 => "Huge pages: requested by madvise for every table of 2 MiB and more, and accepted by the kernel; \
                  entries of original and dynamic storage are allocated one by one and lie on base pages."
                .to_owned(),
            refused => format!("Huge pages: refused by the kernel for {refused} tables; they lie on base pages."),
        });
    }
    let warnings = warnings.into_iter().map(Note::warning);
    warnings.chain(remarks.into_iter().map(Note::plain)).collect()
}

/// Returns, for each case, its number from 1, its description, and a histogram of the times of
/// single operations in nanoseconds.
pub(crate) fn histograms<'a>(
    run: &Run<'a>,
) -> impl Iterator<Item = (usize, String, Histogram<u64>)> + use<'a> {
    run.findings.measured.iter().enumerate().filter_map(|(position, one)| {
        let mut histogram = Histogram::new(3).ok()?;
        for &time in one.single.samples() {
            histogram.saturating_record(u64::from(time));
        }
        let what = format!(
            "single operations of {}, {}, {} entries, {}",
            design(&one.case),
            method(&one.case),
            one.case.layout.size(),
            cores(one.case.cores)
        );
        Some((position + 1, what, histogram))
    })
}
