//! Reports of throughput benchmarks of P4 programs: terminal table, `report.html`, `result.json`
//! and `cases.csv`.
//!
//! The input is [`throughput::run::Findings`] for each number of table entries. Nothing here
//! measures.

mod findings;
mod json;
mod page;
mod terminal;

use ::throughput::ports::Io;
use ::throughput::run::{Case, Findings, Stages, TableAccess};
use ::throughput::times::Times;
use hdrhistogram::Histogram;
use pipeline::Path;
use provenance::Provenance;
use statistics::{Estimate, Unit};
use std::time::Duration;

use crate::alarm::{self, Alarm};
use crate::format::{capital, duration, estimate, figure, plural, printable, whole};
use crate::page::Note;
use crate::plot::power_of_two;

pub use json::{SCHEMA, to_csv, to_json};
pub use page::{document, page};
pub use terminal::table;

/// The largest share of its time that a worker may be without packets before a remark reports that
/// it was idle.
const NOTEWORTHY_IDLE: f64 = 0.05;

/// A run of `planimeter bench`, which measures the throughput of a P4 program: its measurements and
/// their origin.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// The path of the measured P4 program.
    pub program: &'a str,
    /// The measurements for each number of table entries, in the order in which they were
    /// requested.
    pub points: &'a [Point],
    /// The settings with which throughput was measured.
    pub settings: &'a ::throughput::run::Settings,
    /// The thresholds of the user that do not hold, each as a sentence.
    pub broken: &'a [String],
    /// The command, the time and the host of the run.
    pub provenance: &'a Provenance,
}

/// Returns the failures of a run, which reports show above everything else.
fn alarms(run: &Run<'_>) -> Vec<Alarm> {
    let mut alarms = alarm::broken(run.broken);
    if run.points.iter().any(|point| point.findings.interrupted) {
        alarms
            .push(Alarm::interrupted("Some cases have fewer repetitions than requested, or none."));
    }
    let cases = || run.points.iter().flat_map(|point| &point.findings.cases);
    let refused = cases().filter_map(|case| Some((path(case), case.refused.as_ref()?)));
    alarms.extend(refused.map(|(path, reason)| {
        Alarm::new(alarm::Kind::Partial, "NOT RUN", format!("{path} was not run: {reason}"))
    }));
    let faults = cases().filter_map(fault);
    alarms.extend(faults.map(|text| Alarm::new(alarm::Kind::Wrong, "WRONG", text)));
    alarms
}

/// The measurements of a program with one number of table entries.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct Point {
    /// The name of the scenario, or `None` if entries were generated for the packets.
    #[serde(default)]
    pub scenario: Option<String>,
    /// The number of flows, each of which repeats one packet. It equals the requested number of
    /// entries.
    pub flows: usize,
    /// The mean length of a packet, in bytes, where every flow counts once.
    pub packet_bytes: f64,
    /// The number of entries that were created in each table, by the name of the table.
    pub entries: Vec<(String, usize)>,
    /// The number of flows whose packets are forwarded rather than dropped.
    pub leaving: usize,
    /// Remarks on the generated traffic, as sentences.
    pub notes: Vec<String>,
    /// The tables that ordinary generated packets do not reach, so that packets were computed for
    /// them by a solver. Each has the number of flows with such packets.
    #[serde(default)]
    pub solved: Vec<(String, usize)>,
    /// The tables with keys in which no packet finds an entry, each with the reason.
    #[serde(default)]
    pub unhit: Vec<(String, String)>,
    /// The throughputs and latencies measured with this number of entries.
    pub findings: Findings,
}

impl Point {
    /// Returns the name of the point: its number of entries, as in `2^8 entries`, or the name of
    /// its scenario.
    #[must_use]
    pub fn place(&self) -> String {
        match &self.scenario {
            None => format!("{} entries", size(self.flows)),
            Some(name) => format!("scenario {}", printable(name)),
        }
    }

    /// Formats a number of entries or flows: as a power of two if possible, unless a scenario
    /// determines the number.
    fn count(&self, count: usize) -> String {
        match &self.scenario {
            None => size(count),
            Some(_) => whole(count as u64),
        }
    }

    /// Returns a short name of the point for a cell of a table in the column that [`heading`]
    /// names.
    fn label(&self) -> String {
        match &self.scenario {
            None => size(self.flows),
            Some(name) => printable(name),
        }
    }
}

/// Returns whether each point of the run is a scenario rather than a number of entries.
fn has_scenarios(run: &Run<'_>) -> bool {
    run.points.iter().any(|point| point.scenario.is_some())
}

/// Returns the heading of the column that names the points of a run.
fn heading(run: &Run<'_>) -> &'static str {
    if has_scenarios(run) { "scenario" } else { "entries" }
}

/// Returns the throughput of all workers together, in packets per second, as a mean over
/// repetitions.
#[must_use]
pub fn rate(case: &Case) -> Option<Estimate> {
    Estimate::of(&case.rates)
}

/// Returns the processing time of one packet on one core, in seconds, as a mean over repetitions.
fn cost(case: &Case) -> Option<Estimate> {
    let costs: Vec<f64> = case.rates.iter().map(|rate| case.cores as f64 / rate).collect();
    Estimate::of(&costs)
}

fn path(case: &Case) -> &'static str {
    match case.path {
        Path::Interpreter => "interpreter",
        Path::Compiled => "compiled",
    }
}

fn size(entries: usize) -> String {
    power_of_two(entries as f64).unwrap_or_else(|| whole(entries as u64))
}

/// Returns the latencies of packets at a fixed rate, or `None` if they were not measured.
fn latency(case: &Case) -> Option<&Times> {
    case.latency.as_ref().map(|latency| &latency.times)
}

/// Formats a percentile of latencies with its interval over repetitions, or a dash if there is
/// none.
fn percentile(times: Option<&Times>, share: f64) -> String {
    let found = times.and_then(|times| times.percentile(share));
    found.map_or_else(|| "–".to_owned(), |found| estimate(&found, Unit::Seconds))
}

/// Returns a name for the throughput that is possible without any P4 program, when packets are only
/// copied in memory or sent back through the port.
fn limit(io: Io) -> &'static str {
    match io {
        Io::Memory => "copying alone",
        _ => "sending back alone",
    }
}

/// Returns the rows of the table of costs, one for each case whose costs were measured. The cells
/// are the number of entries, the method, the cycles of a packet in the parser (with its copy),
/// after the parser and around both, and the share of the time that table lookups take.
fn stages(run: &Run<'_>) -> Vec<[String; 6]> {
    let cases = run
        .points
        .iter()
        .flat_map(|point| point.findings.cases.iter().map(move |case| (point, case)));
    let rows = cases.filter_map(|(point, case)| {
        let share = case.table_access.as_ref().and_then(TableAccess::share);
        if case.stages.is_none() && share.is_none() {
            return None;
        }
        let none = || "–".to_owned();
        let cycles = |of: fn(&Stages) -> f64| {
            case.stages.as_ref().map_or_else(none, |stages| format!("{:.0}", of(stages)))
        };
        Some([
            point.label(),
            case.method.name().to_owned(),
            cycles(|stages| stages.parser),
            cycles(|stages| stages.after_parser),
            cycles(|stages| stages.around),
            share.map_or_else(none, |share| saved(&share)),
        ])
    });
    rows.collect()
}

/// Formats the share of a packet's processing time that table lookups take. It is the difference of
/// two measurements, so it may be negative by chance. In this case, the text states only the upper
/// end of the confidence interval, or `none` if that is not positive either.
fn saved(share: &Estimate) -> String {
    if share.mean >= 0.0 {
        return estimate(share, Unit::Fraction);
    }
    match share.mean + share.ci95.unwrap_or_default() {
        high if high > 0.0 => format!("below {}", figure(high, Unit::Fraction)),
        _ => "none".to_owned(),
    }
}

/// Formats the number and the length of the measurements of each case.
fn repetitions(count: usize, time: Duration) -> String {
    let count = plural(count as u64, "repetition", "repetitions");
    format!("{count} of {}", duration(time.as_secs_f64()))
}

/// Returns whether the run compares methods by which packets change table entries.
fn has_methods(run: &Run<'_>) -> bool {
    run.points.iter().flat_map(|point| &point.findings.cases).any(|case| case.seen.is_some())
}

/// Formats the share of the timed packets whose output was compared with that of the interpreter.
fn checked(case: &Case) -> String {
    if case.counts.processed == 0 {
        return "–".to_owned();
    }
    // Between ports, packets may be lost after the worker.
    figure(case.counts.checked as f64 / case.counts.processed as f64, Unit::Fraction)
}

/// Returns a sentence about a wrong output of a case, or `None` if all outputs were right.
#[must_use]
pub fn fault(case: &Case) -> Option<String> {
    if let Some(difference) = &case.comparison.difference {
        return Some(format!(
            "{} differs from the interpreter for the packet {}: a bug in Planimeter; please report it",
            path(case),
            hex(&difference.packet)
        ));
    }
    if case.counts.divided > 0 {
        return Some(format!(
            "packets of several cores wrote {} entries of sharded tables, each core its own: their flows do not stay on one \
             core, so use optimistic, and locked where no write may be lost",
            whole(case.counts.divided)
        ));
    }
    (case.counts.wrong > 0).then(|| {
        format!(
            "{} of {} checked packets left with wrong content, {} on {}: this is a data race, or a bug in Planimeter",
            whole(case.counts.wrong),
            whole(case.counts.checked),
            path(case),
            plural(case.cores as u64, "core", "cores")
        )
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a description of the distribution by which each packet was assigned to a flow.
fn drawn(skew: f64) -> String {
    if skew > 0.0 { format!("by Zipf's law with exponent {skew}") } else { "uniformly".to_owned() }
}

/// Returns the remarks on a run that reports show, without repetition.
fn remarks(run: &Run<'_>) -> Vec<Note> {
    let warnings = crate::unoptimised("programs").into_iter().chain(busy(run)).map(Note::warning);
    warnings.chain(facts(run).into_iter().map(Note::plain)).collect()
}

/// Returns a warning if other processes used the cores of workers while latencies were measured.
fn busy(run: &Run<'_>) -> Option<String> {
    let cases = run.points.iter().flat_map(|point| &point.findings.cases);
    let shares = cases.filter_map(|case| case.latency.as_ref()?.had_core);
    let least = shares.fold(1.0, f64::min);
    // At p99, a hundredth of the time affects the figure.
    (least < 0.99).then(|| {
        format!(
            "Other processes used the cores: in the worst repetition the worker whose latency was measured had its \
             core for {} of the time. Latencies include the waits; rates are per second of processor \
             time and exclude them. Measure again on a quiet machine before you publish.",
            figure(least, Unit::Fraction)
        )
    })
}

/// Returns the sentences that a reader should know about the measurements, each only once.
fn facts(run: &Run<'_>) -> Vec<String> {
    let mut remarks: Vec<String> = Vec::new();
    if run.settings.any_core {
        remarks.push(
            "Every core draws from all flows: packets of several cores use the same entries."
                .to_owned(),
        );
    }
    let mut say = |text: String| {
        let text = capital(&text);
        if !remarks.contains(&text) {
            remarks.push(text);
        }
    };
    for point in run.points {
        if point.leaving < point.flows {
            say(format!(
                "at {} packets of {} of {} flows leave; the others are dropped, which may take less time",
                point.place(),
                whole(point.leaving as u64),
                whole(point.flows as u64)
            ));
        }
        point.notes.iter().cloned().for_each(&mut say);
        for case in &point.findings.cases {
            facts_of_case(point, case, &mut say);
        }
    }
    if has_methods(run) {
        say("Method: pointer writes the entry in place; change writes it at the end of the action as the control \
             plane does, in one replica after the other; digest sends the new entry through loopback TCP to a \
             controller and writes its answer. Seen: the time from the arrival of a packet that updates its entry to \
             the arrival of a packet that finds the new value, one packet at a time. Rates of change and digest are \
             by the wall clock, until the last change is written."
            .to_owned());
    }
    say(how_measured(run.points.first().map_or(Io::Memory, |point| point.findings.io)));
    remarks
}

/// Passes sentences that a reader should know about the measurement of a case to the function
/// `say`.
fn facts_of_case(point: &Point, case: &Case, say: &mut impl FnMut(String)) {
    for (place, what) in &case.interpreted {
        say(format!("compiled: {place} is interpreted: {what}"));
    }
    if let (Some(why), Path::Compiled) = (&case.one_by_one, case.path) {
        say(format!("compiled: packets are processed one by one and not in bursts: {why}"));
    }
    if case.counts.unwritten > 0 {
        say(format!(
            "{}: {} digests of packets changed no entry",
            case.method.name(),
            whole(case.counts.unwritten)
        ));
    }
    if case.counts.overwritten > 0 {
        say(format!(
            "{}: {} digests overwrote a value that their packets had not read, which is lost",
            case.method.name(),
            whole(case.counts.overwritten)
        ));
    }
    if let Some(idle) = Estimate::of(&case.idle).filter(|idle| idle.mean > NOTEWORTHY_IDLE) {
        say(format!(
            "{} at {}: the generator was slower than the worker, which waited for packets for {:.0} % of its \
             time",
            path(case),
            point.place(),
            100.0 * idle.mean
        ));
    }
    if let Some(latency) = case.latency.as_ref().filter(|latency| latency.lossy > 0) {
        say(format!(
            "{} at {}: packets were lost in {} of {} repetitions of the open loop; the latency is that of the \
             others",
            path(case),
            point.place(),
            latency.lossy,
            latency.lossy + latency.times.repetitions().len()
        ));
    }
    if case.counts.errors > 0 {
        say(format!(
            "{} of {} packets could not be processed to completion",
            whole(case.counts.errors),
            whole(case.counts.processed)
        ));
    }
    let random = point.findings.random_flows;
    if random > 0 {
        say(format!(
            "at {}, {} of {} flows draw random numbers, on which their outputs depend: they were not checked \
             while the clock ran. In a run before, each path drew the same numbers, so that a difference would have \
             been found",
            point.place(),
            whole(random as u64),
            whole(point.flows as u64)
        ));
    }
    if case.counts.processed > 0 && case.counts.checked == 0 && random < point.flows {
        say("outputs depend on more than the packet and the entries that it alone writes, so they were not checked \
             while the clock ran"
            .to_owned());
    }
    if case.comparison.compared > 0 {
        say(format!(
            "{}: the same as the interpreter, packet by packet, for {} packets before the clock ran",
            path(case),
            whole(case.comparison.compared as u64)
        ));
    }
}

/// Returns an explanation of how rates and latencies are measured with this kind of packet input
/// and output.
fn how_measured(io: Io) -> String {
    match io {
        Io::Memory => "Rates are per second of the processor time of the workers. Packets lie in memory and in the \
             cache; outputs are copied. Latency: the time from when a packet is due until its output is in place, in \
             an open loop of one worker; percentiles are means over repetitions with their 95 % confidence \
             intervals."
            .to_owned(),
        Io::Pcap => {
            "Between captures (pcap): one worker, which begins when the packets are in a file. Rates are per second \
             of its processor time, with the reading and the writing of files; sending back alone is the same worker \
             without a program. Checked: packets in the file that it wrote that equal the interpreter's output for \
             some flow."
                .to_owned()
        }
        io => format!(
            "Between ports ({}): one worker, and a generator on another core that sends as fast as it can. Rates are \
             per second of the worker's processor time, without the time in which it waited for packets; sending \
             back alone is the same worker without a program. Latency: the time from when a packet is due until the \
             generator receives it, in an open loop, percentiles with their intervals over repetitions; a dash where \
             packets were lost. Checked: packets that came back and equal the interpreter's output for some flow.",
            io.name()
        ),
    }
}

/// Returns the latencies of each case as a histogram, with the number of the case and a
/// description.
pub(crate) fn histograms<'a>(
    run: &Run<'a>,
) -> impl Iterator<Item = (usize, String, Histogram<u64>)> + use<'a> {
    let cases = run
        .points
        .iter()
        .flat_map(|point| point.findings.cases.iter().map(move |case| (point, case)));
    cases.enumerate().filter_map(|(position, (point, case))| {
        let latency = case.latency.as_ref()?;
        let what = format!("latency of {}, {}", path(case), point.place());
        Some((position + 1, what, latency.times.all()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_repetition_is_singular() {
        let second = Duration::from_secs(1);
        assert_eq!(repetitions(1, second), "1 repetition of 1 s");
        assert_eq!(repetitions(5, second), "5 repetitions of 1 s");
    }

    #[test]
    fn no_share_of_the_time_is_negative() {
        let share = |values: &[f64]| saved(&Estimate::of(values).expect("values"));
        assert_eq!(share(&[0.25]), "25.0 %");
        assert_eq!(share(&[-0.02]), "none");
        assert_eq!(share(&[-0.02, -0.02]), "none");
        // The mean is -1 %, and its interval ends at 24.4 %.
        assert_eq!(share(&[-0.03, 0.01]), "below 24.4 %");
    }
}
