//! The demo's question about queues: if all sources of a network send as much as they may, do
//! delays stay within the computed bounds? The switches run in virtual time, so the answer does not
//! depend on the host.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use ::queues::network::Flow;
use calculus::Rational;
use calculus::network::Format;
use pipeline::Switch;
use report::page::document::Section;
use report::page::{Cell, Table};
use report::value::Value;
use softswitch::topology_json::TopologyJson;
use statistics::Unit;
use stf::{Network, Options, Report, run_network};

use super::network::{Bounded, bounded, time};
use super::{Environment, Part};
use crate::bound::topology::{flows, network_text};
use crate::failure::Failure;
use crate::stf::topology::Topology;

/// The file name and the source of the program that the demo's switches run.
const PROGRAM: (&str, &str) = ("queues.p4", include_str!("../../../../examples/queues/queues.p4"));
/// The file name and the text of the topology: the switches with their queues, and the flows.
const TOPOLOGY: (&str, &str) =
    ("topology.json", include_str!("../../../../examples/queues/topology.json"));
/// The host that sends the packets of all flows.
const SENDER: &str = "h1";
/// The virtual time for which each flow sends.
const RUN: Duration = Duration::from_secs(1);

pub(super) fn part(environment: &Environment<'_>) -> Result<Part, Failure> {
    let (name, text) = TOPOLOGY;
    let read = TopologyJson::parse(text).map_err(Failure::run)?;
    let flows = flows(&read).map_err(Failure::run)?;
    let network = network_text(Path::new(name), "json", text)?;
    let bounds = bounded(environment, "queues", &network, Format::Json)?;
    let delays = delays(read, &flows)?;
    let rows: Vec<Row<'_>> = flows
        .iter()
        .zip(delays)
        .map(|(flow, delays)| Row::new(flow, &delays, &bounds))
        .collect::<Result<_, _>>()?;
    Ok(Part { findings: findings(&rows), notes: Vec::new(), section: section(&rows) })
}

/// Runs the network in virtual time. Returns the delays of the packets of each flow.
fn delays(read: TopologyJson, flows: &[Flow]) -> Result<Vec<Vec<Duration>>, Failure> {
    let program = crate::program::embedded(PROGRAM.0, PROGRAM.1)?;
    let mut network = Network::default();
    for (name, described) in &read.switches {
        let switch = Switch::new(program.clone()).map_err(Failure::run)?;
        let at = network.switch(name, switch);
        network.set_queues(at, described.queues.clone());
    }
    let topology = Topology::new(TOPOLOGY.0, read);
    topology.connect(&mut network);
    // Each flow has two lines of sources after their times.
    let script: String = flows.iter().map(sources).collect();
    let script = topology.parse(Path::new("queues.stf"), &script)?;
    let options = Options { keeps_crossings: true, ..Options::default() };
    let report = run_network(&mut network, &script, options)
        .map_err(|(line, error)| Failure::run(format!("queues.stf:{line}: {error}")))?;
    if let Some(failure) = report.failures.first() {
        return Err(Failure::run(report.describe(failure)));
    }
    Ok((0..flows.len()).map(|position| of_flow(&report, position)).collect())
}

/// The number of lines that [`sources`] writes for a flow.
const LINES: usize = 4;

/// Returns the delays of the packets of the flow with this index.
fn of_flow(report: &Report, position: usize) -> Vec<Duration> {
    let crossings = report.crossings.iter();
    let own = crossings.filter(|crossing| (crossing.line - 1) / LINES == position);
    own.map(|crossing| crossing.left.saturating_sub(crossing.entered)).collect()
}

/// Returns the STF statements for a greedy source, which sends its whole burst at once, and then a
/// packet whenever its token bucket has enough tokens for one. Sources of all queues but the least
/// urgent one begin a nanosecond later, when a packet of the least urgent queue is already on the
/// wire.
fn sources(flow: &Flow) -> String {
    let class_selector = flow.queue.number() << 5;
    let frame = format!(
        "length {} 020000000002020000000001 0800 45{class_selector:02x}{:04x}00000000401100000a0000010a000002",
        flow.packet,
        flow.packet.saturating_sub(14)
    );
    let start = u64::from(flow.queue.number() != 0);
    let at_once = flow.burst / flow.packet;
    // A packet is late by what its token bucket lacks, rounded up, so that it obeys the bucket.
    let lasts = |bytes: u64| (8 * bytes * 1_000_000_000).div_ceil(flow.rate.max(1));
    let first = start + lasts((at_once + 1) * flow.packet - flow.burst);
    let every = lasts(flow.packet);
    let run = u64::try_from(RUN.as_nanos()).unwrap_or(u64::MAX);
    let times = run.saturating_sub(first) / every.max(1);
    let mut text = String::new();
    // Writing to a string never fails.
    for (first, every, times) in [(start, 0, at_once), (first, every, times)] {
        let _ =
            writeln!(text, "at {first}ns every {every}ns times {times}\nsource {SENDER} {frame}");
    }
    text
}

/// The measured delays of a flow beside its bound.
struct Row<'f> {
    flow: &'f Flow,
    packets: usize,
    longest: Duration,
    /// The delay bound of the flow, as the report shows it.
    bound: Value,
    /// The longest measured delay as a share of the bound.
    share: f64,
}

impl<'f> Row<'f> {
    fn new(flow: &'f Flow, delays: &[Duration], bounds: &Bounded) -> Result<Self, Failure> {
        let name = &flow.name;
        let bound = bounds.flow(name).map(|row| &row.bound.delay);
        let exact = bound.and_then(|bound| bound.finite());
        let shown = bound.and_then(time);
        let (Some(exact), Some(bound)) = (exact, shown) else {
            return Err(Failure::run(format!("flow {name} of {} has no bound", TOPOLOGY.0)));
        };
        let Some(longest) = delays.iter().max().copied() else {
            return Err(Failure::run(format!("no packet of flow {name} has left the network")));
        };
        let nanoseconds = i64::try_from(longest.as_nanos()).unwrap_or(i64::MAX);
        let longest_exact = Rational::ratio(nanoseconds, 1_000_000_000);
        if longest_exact > *exact {
            return Err(Failure::run(format!(
                "a packet of flow {name} took {longest:?}, which is longer than its bound of {}; please report this as a bug",
                bound.words()
            )));
        }
        let share = (&longest_exact / exact).to_f64();
        Ok(Self { flow, packets: delays.len(), longest, bound, share })
    }

    fn longest(&self) -> Value {
        Value::new(self.longest.as_secs_f64(), Unit::Seconds)
    }

    fn share(&self) -> Value {
        Value::new(self.share, Unit::Fraction)
    }
}

fn findings(rows: &[Row<'_>]) -> Vec<String> {
    let packets: usize = rows.iter().map(|row| row.packets).sum();
    let flows: Vec<String> = rows
        .iter()
        .map(|row| {
            let Row { flow, bound, .. } = row;
            let (longest, share) = (row.longest().words(), row.share().words());
            format!("{} {longest} of at most {} ({share})", flow.name, bound.words())
        })
        .collect();
    vec![format!(
        "Queues, run and bounded: none of {packets} packets of greedy sources took longer than its bound. Longest delays: {}.",
        flows.join(", ")
    )]
}

fn section(rows: &[Row<'_>]) -> Section {
    let mut table = Table::of_values(
        "Delays of greedy sources in virtual time, and their bounds",
        ["flow", "queue", "packets", "longest delay", "bound", "reached"],
    );
    for row in rows {
        table.row([
            Cell::text(&row.flow.name),
            Cell::text(row.flow.queue.to_string()),
            Cell::text(row.packets.to_string()),
            Cell::from(row.longest()),
            Cell::from(row.bound),
            Cell::from(row.share()),
        ]);
    }
    Section {
        id: "queues".to_owned(),
        title: "Do packets in queues stay within their bounds?".to_owned(),
        text: vec![
            "Two switches have ports of 1 Mbit/s with eight queues in strict priority. Each source sends as much as its token \
             bucket allows, as early as it can. The switches run in virtual time, so the delays are those of the \
             queues alone and the same on every machine. The bounds are those of network calculus for the same file."
                .to_owned(),
        ],
        tables: vec![table],
        figures: Vec::new(),
        commands: vec![
            (
                "Your network, with packets of a script:".to_owned(),
                "planimeter stf --topology examples/queues/topology.json examples/queues/queues.p4".to_owned(),
            ),
            (
                "Its bounds:".to_owned(),
                "planimeter bound examples/queues/topology.json --derivation".to_owned(),
            ),
        ],
        links: vec![
            ("The network".to_owned(), "queues/network.json".to_owned()),
            ("All of its bounds".to_owned(), "queues/report.html".to_owned()),
        ],
    }
}
