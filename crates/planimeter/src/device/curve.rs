//! `planimeter device curve`: derives service curves directly from captures before and after a
//! device.

use std::path::PathBuf;
use std::process::ExitCode;

use calculus::Rational;
use calculus::network::format;
use clap::Args;
use device::campaign::{Counts, Picoseconds};
use device::export::{HEAD, Server};
use device::import::{Identity, match_captures};
use device::trace::{Arrived, AtRate, Rate, Trace};
use provenance::Provenance;
use report::page::document::{Document, Section};
use report::page::{Cell, Table};
use report::value::Value;
use statistics::Unit;

use super::capture;
use crate::failure::Failure;
use crate::invocation;
use crate::output::Printed;

const EXAMPLES: &str = "\
Examples:
    planimeter device curve in.pcap out.pcap
    planimeter device curve in.pcap out.pcapng --identity 42:4 --rate 800Mbps --rate 1Gbps
    planimeter device curve in.pcap out.pcap --rate 1Gbps --name access > server.toml
    planimeter device curve in.pcap out.pcap --json

For each rate R the least latency T with which R (t - T) is a minimum service curve of the trace, the
largest with which it is a maximum service curve, the least burst of an arrival curve with this rate,
and the delay bound that follows: no packet of the trace took longer. Packets that wait for each other
are not counted twice.";

/// The rates of the service curves that are derived without `--rate`, as multiples of the average
/// arrival rate.
const MULTIPLES: [f64; 7] = [1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0];
/// The length in bytes of the Ethernet frame check sequence, which captures omit.
const CHECK_SEQUENCE: u32 = 4;

/// The arguments of `planimeter device curve`.
#[derive(Debug, Args)]
#[command(
    about = "Derive service curves from captures before and after a device",
    after_help = EXAMPLES
)]
pub(super) struct Arguments {
    /// The packets that entered the device, as pcap or pcapng from a tap
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// The packets that left the device, with time stamps of the same clock
    #[arg(value_name = "AFTER")]
    after: PathBuf,
    /// The bytes that identify a packet [the last 16]
    #[arg(long, value_name = "OFFSET:LENGTH", value_parser = identity)]
    identity: Option<Identity>,
    /// The rate R, such as 1Gbps, of frames with check sequence [1 to 10 times the arrival rate]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate: Vec<Rate>,
    /// Print instead a server of this name and with this one --rate for `planimeter bound`
    #[arg(long, value_name = "NAME", requires = "rate", conflicts_with_all = ["json", "output"])]
    name: Option<String>,
    #[command(flatten)]
    printed: Printed,
}

fn identity(text: &str) -> Result<Identity, String> {
    let numbers = text.split_once(':').and_then(|(offset, length)| {
        Some((offset.trim().parse().ok()?, length.trim().parse().ok()?))
    });
    match numbers {
        Some((offset, length)) if length > 0 => Ok(Identity::At { offset, length }),
        _ => Err("write the offset and the length in bytes, such as 42:4".to_owned()),
    }
}

fn rate(text: &str) -> Result<Rate, String> {
    let bits = format::rate(text)?;
    let whole = bits.to_f64();
    let rate = (whole < 1e15)
        .then_some(whole as u64)
        .filter(|whole| Rational::from(*whole as i64) == bits);
    rate.and_then(Rate::new)
        .ok_or_else(|| "a rate is a whole number of bits per second from 1 to 10^15".to_owned())
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let started = invocation::start();
    let Arguments { before, after, .. } = arguments;
    let (sent, received) = (capture::read(before)?, capture::read(after)?);
    let identity = arguments.identity.unwrap_or(Identity::Tail(16));
    let imported = match_captures(&capture::packets(&sent), &capture::packets(&received), identity);
    for remark in &imported.remarks {
        eprintln!("planimeter: {}: {remark}", after.display());
    }
    let arrived: Vec<Arrived> = sent
        .iter()
        .map(|frame| Arrived { timestamp: frame.timestamp, bytes: frame.bytes + CHECK_SEQUENCE })
        .collect();
    let trace = Trace::new(&arrived, &imported.samples).ok_or_else(|| {
        Failure::input(format!(
            "none of {} packets in {} is in {}; name the bytes that identify a packet with --identity",
            sent.len(),
            before.display(),
            after.display()
        ))
    })?;
    let rates = match arguments.rate.is_empty() {
        false => arguments.rate.clone(),
        true => multiples(&trace).ok_or_else(|| {
            Failure::input("one packet, or packets at one time, have no rate; name one with --rate")
        })?,
    };
    let what = format!("Traced between {} and {}.", before.display(), after.display());
    match (&arguments.name, &rates[..]) {
        (Some(name), [rate]) => {
            let server = Server::of_trace(name, &trace, &trace.at(*rate), &what);
            print!("{HEAD}{}", server.to_toml());
        }
        (Some(_), _) => return Err(Failure::input("a server has one rate: name --rate once")),
        (None, rates) => {
            let curves: Vec<AtRate> = rates.iter().map(|rate| trace.at(*rate)).collect();
            let longest = trace.longest();
            let traced = Traced { what, counts: imported.counts, longest, curves: &curves };
            let document = traced.document(imported.remarks.clone(), started.provenance());
            let text = || {
                let head = format!(
                    "{}; longest delay {longest}\n{:>17} {:>13} {:>13} {:>13} {:>13}\n",
                    traced.counts, "R", "T minimum", "T maximum", "burst", "delay bound"
                );
                head + &curves.iter().map(line).collect::<String>()
            };
            arguments.printed.leave("device-curve", &document, text, &[])?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The figures that captures before and after a device yield.
struct Traced<'c> {
    what: String,
    counts: Counts,
    longest: Picoseconds,
    curves: &'c [AtRate],
}

impl Traced<'_> {
    /// Returns the figures as a document: rates in bits per second, bursts in bytes.
    fn document(&self, remarks: Vec<String>, provenance: Provenance) -> Document {
        let seconds = |time: Picoseconds| Value::new(time.0 as f64 * 1e-12, Unit::Seconds);
        let count = |number: u64| Cell::from(Value::new(number as f64, Unit::Count));
        let columns = ["R", "R (bits)", "T minimum", "T maximum", "burst", "delay bound"];
        let mut curves = Table::of_values("Service and arrival curves", columns);
        for at in self.curves {
            let rate = at.rate.bits_per_second() as f64;
            curves.row([
                Cell::text(megabits(rate)),
                Cell::from(Value::new(rate, Unit::PerSecond)),
                Cell::from(seconds(at.latency)),
                Cell::optional(at.least_latency.map(seconds)),
                Cell::from(Value::new(at.burst.div_ceil(8) as f64, Unit::Bytes)),
                Cell::from(seconds(at.delay_bound())),
            ]);
        }
        let Counts { sent, received, lost, reordered, duplicated, unmatched, clock_steps } =
            self.counts;
        let columns = [
            "trace",
            "sent",
            "received",
            "lost",
            "reordered",
            "duplicated",
            "unmatched",
            "clock steps",
            "longest delay",
        ];
        let mut packets = Table::of_values("Packets", columns);
        let mut cells = vec![Cell::text("all packets")];
        cells.extend(
            [sent, received, lost, reordered, duplicated, unmatched, clock_steps].map(count),
        );
        cells.push(Cell::from(seconds(self.longest)));
        packets.row(cells);
        Document {
            kind: "device curve",
            title: self.what.clone(),
            findings: Vec::new(),
            notes: remarks,
            partial: None,
            claims: Vec::new(),
            sections: vec![Section {
                id: "curves".to_owned(),
                title: "Curves".to_owned(),
                tables: vec![curves, packets],
                ..Section::default()
            }],
            provenance,
        }
    }
}

fn multiples(trace: &Trace) -> Option<Vec<Rate>> {
    let mean = trace.mean_rate()?.bits_per_second() as f64;
    MULTIPLES.iter().map(|multiple| Rate::new((mean * multiple).ceil() as u64)).collect()
}

/// Returns a rate in bits per second as text.
fn megabits(rate: f64) -> String {
    format!("{:.3} Mbps", rate / 1e6)
}

fn line(at: &AtRate) -> String {
    // If packets left faster than R, no T is early enough.
    let least = at.least_latency.map_or_else(|| "none".to_owned(), |latency| latency.to_string());
    format!(
        "{:>16} {:>13} {:>13} {:>11} B {:>13}\n",
        megabits(at.rate.bits_per_second() as f64),
        at.latency,
        least,
        at.burst.div_ceil(8),
        at.delay_bound()
    )
}
