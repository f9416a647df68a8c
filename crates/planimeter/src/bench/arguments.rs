//! The arguments of `planimeter bench`, its manual, and the conversion of arguments to settings.

use std::path::PathBuf;
use std::time::Duration;

use ::tables::machine;
use clap::{Args, Parser, value_parser};
use pipeline::Path;
use report::RunDirectory;
use statistics::Condition;
use throughput::UpdateMethod;
use throughput::ports::Io;
use throughput::run::Settings;

use super::METRICS;
use crate::failure::Failure;
use crate::output::{self, ForPapers};
use crate::parsers::{List, cores, count, duration, list_of, sizes_of};
use crate::storage::Stored;
use crate::threshold;

/// The width of the manual in columns, if the terminal is wide enough.
const WIDTH: usize = 100;

const ABOUT: &str = "How fast a P4 program runs: throughput and latency against entries and cores";

const LONG_ABOUT: &str = "\
How fast a P4 program runs: throughput and latency against table entries and cores, on the interpreter and as \
machine code, side by side.

Traffic is made from the program: packets that its parser takes apart, and entries that they hit in every table \
on their way. It lies in memory, as a card would leave it. Every packet that leaves is held against what the \
reference interpreter does, so a figure is never that of a program that does something else.

Without a program it is the one of the paper's evaluation (Simon et al., ANCS 2021, section 4): each packet \
writes the entry that it hits, and carries the old value away.";

const EXAMPLES: &str = "\
Examples:
  The paper's program, and one of your own:
    planimeter bench
    planimeter bench programs/router.p4 --entries 2^4,2^8,2^12

  Machine code alone, on one core and on two, as a check in continuous integration:
    planimeter bench --path compiled --cores 1,2 -t 'rate >= 5M' -t 'wrong == 0'

  Packets of your own; entries are made for them:
    planimeter bench programs/l2.p4 --traffic trace.pcap

  The paper's ways to change an entry, and how long it takes until packets find a change:
    planimeter bench --path compiled --entries 2^20 --method all

  Between packet sockets, with what a worker without a program reaches there:
    planimeter bench --path compiled --io veth

  Some flows more often than others:
    planimeter bench --path compiled --entries 2^20 --skew 1.1

Exit status:
  0  done
  1  a threshold does not hold, a packet left with a wrong content, or nothing could be measured
  2  the input was wrong
  130  interrupted; what was measured until then is left";

/// The arguments of the verb.
#[derive(Debug, Parser)]
#[command(
    name = "bench",
    about = ABOUT,
    long_about = LONG_ABOUT,
    after_long_help = EXAMPLES,
    max_term_width = WIDTH
)]
pub(crate) struct Arguments {
    /// P4_16 source, BMv2 JSON or IR [the program of the paper's evaluation]
    #[arg(value_name = "PROGRAM")]
    pub(super) program: Option<PathBuf>,
    #[command(flatten)]
    pub(super) traffic: Traffic,
    #[command(flatten)]
    pub(super) effort: Effort,
    #[command(flatten)]
    pub(super) output: Output,
    #[command(flatten)]
    pub(super) stored: Stored,
}

/// What packets there are, and what they do.
#[derive(Debug, Args)]
#[command(next_help_heading = "Traffic")]
pub(super) struct Traffic {
    /// Flows, and entries that they hit: 1024, 64k, 2^16, 2^8..2^20:4 [2^16]
    #[arg(long, value_name = "LIST", value_parser = list_of(
        "a number such as 1024, 64k, 2^16 or 2^8..2^20",
        |word| sizes_of(word).filter(|sizes| !sizes.contains(&0)),
    ))]
    entries: Vec<List<usize>>,
    /// Bytes of a packet, at least as many as the parser takes [84]
    #[arg(long, value_name = "BYTES", value_parser = count(14..=65_535))]
    packet_size: Option<usize>,
    /// Packets from a pcap or pcapng file, each a flow; entries are made for them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["entries", "packet_size"])]
    pub(super) traffic: Option<PathBuf>,
    /// Draw flows by Zipf's law with this exponent, up to 10; 0 draws all alike [0]
    #[arg(long, value_name = "EXPONENT", value_parser = skew)]
    skew: Option<f64>,
    /// Let every core draw all flows; each flow stays on its core without it
    #[arg(long)]
    any_core: bool,
    /// How packets change entries: pointer, change, digest, or all [as the program says]
    #[arg(
        long,
        value_name = "LIST",
        value_parser = list_of("pointer, change, digest or all", |word| match word {
            "all" => Some(UpdateMethod::ALL.to_vec()),
            name => Some(vec![UpdateMethod::named(name)?]),
        }),
        long_help = "How packets change the entries that they hit, one method beside the other: pointer (in place), change (as \
                     the control plane does, through two replicas), digest (by way of a controller behind loopback TCP), or \
                     all. Says also how long it takes until a packet finds a new value. Rates of change and digest are by the \
                     wall clock."
    )]
    method: Vec<List<UpdateMethod>>,
}

/// What runs the program, and how long.
#[derive(Debug, Args)]
#[command(next_help_heading = "Effort")]
pub(super) struct Effort {
    /// interpreter, compiled, or all [all]
    #[arg(long, value_name = "LIST", value_parser = list_of("interpreter, compiled or all", |word| match word {
        "interpreter" => Some(vec![Path::Interpreter]),
        "compiled" => Some(vec![Path::Compiled]),
        "all" => Some(vec![Path::Interpreter, Path::Compiled]),
        _ => None,
    }))]
    path: Vec<List<Path>>,
    /// Numbers of cores, each with a worker [1]
    #[arg(long, value_name = "LIST", value_parser = list_of("a number of cores, at least 1", cores))]
    cores: Vec<List<usize>>,
    /// Where packets come from and go: memory, veth, xdp, pcap or dpdk [memory]
    #[arg(
        long,
        value_name = "PORTS",
        value_parser = io,
        conflicts_with_all = ["cores", "method"],
        long_help = "Where packets come from and go: memory (slots as a card leaves them), veth or xdp (packet sockets or XDP \
                     sockets on a pair of interfaces in a network namespace that is made and removed; as root), pcap (a \
                     capture in, a capture out), dpdk (shared memory, if this program was built with DPDK). Between ports a \
                     worker has one core and a generator another."
    )]
    pub(super) io: Option<Io>,
    /// Of a repetition, with what is done while its clock stands [200ms]
    #[arg(long, value_name = "TIME", value_parser = time)]
    time: Option<Duration>,
    /// Of each case [5]
    #[arg(long, value_name = "COUNT", value_parser = count(1..=10_000))]
    repetitions: Option<usize>,
    /// Offered rate when latency is measured, of the rate that was reached [50]
    #[arg(long, value_name = "PERCENT", value_parser = value_parser!(u8).range(1..=100))]
    load: Option<u8>,
    /// What packets and their order depend on; printed with the result [1]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
}

/// Where the result goes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(super) struct Output {
    /// The run directory, new or empty [runs/<time>-bench]
    #[arg(long, short, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
    /// Print result.json in place of the tables
    #[arg(long)]
    pub(super) json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(super) quiet: bool,
    /// Fail unless it holds for every case, such as 'rate >= 5M'
    #[arg(
        long,
        short,
        value_name = "CONDITION",
        value_parser = threshold::condition(&METRICS),
        long_help = "Fail, with exit status 1, unless the condition holds for every case: a metric (rate in packets per second, \
                     cost in time of a core, p50, p99 and p99.9 of the latency, wrong packets), one of <, <=, >, >=, ==, and \
                     a number (5M, 200ns, 1.5us, 0). Cases on several cores have no latency."
    )]
    pub(super) threshold: Vec<Condition>,
    #[command(flatten)]
    papers: ForPapers,
}

impl Output {
    pub(super) fn directory(&self) -> Result<RunDirectory, Failure> {
        output::directory(self.output.as_deref(), "bench", self.papers)
    }
}

impl Arguments {
    pub(super) fn settings(&self) -> Result<Settings, Failure> {
        let Self { traffic, effort, .. } = self;
        let cores = List::join(&effort.cores).unwrap_or_else(|| vec![1]);
        let all = machine::cores().map_err(Failure::run)?.len();
        if let Some(&most) = cores.iter().find(|&&cores| cores > all) {
            return Err(Failure::input(format!(
                "--cores {most}: this process may use {all}, and a worker without a core of its own measures nothing"
            )));
        }
        Ok(Settings {
            paths: List::join(&effort.path)
                .unwrap_or_else(|| vec![Path::Interpreter, Path::Compiled]),
            cores,
            repetitions: effort.repetitions.unwrap_or(5),
            time: effort.time.unwrap_or(Duration::from_millis(200)),
            load: f64::from(effort.load.unwrap_or(50)) / 100.0,
            skew: traffic.skew.unwrap_or(0.0),
            any_core: traffic.any_core,
            seed: self.seed(),
        })
    }

    pub(super) fn seed(&self) -> u64 {
        self.effort.seed.unwrap_or(1)
    }
}

/// Parses the time of a repetition.
fn time(word: &str) -> Result<Duration, String> {
    let least = Duration::from_millis(1);
    match duration(word)? {
        time if time < least => Err("less than 1ms is less than one turn of packets".to_owned()),
        time => Ok(time),
    }
}

/// Parses a kind of ports.
fn io(word: &str) -> Result<Io, String> {
    let known = Io::ALL.into_iter().find(|io| io.name() == word);
    known.ok_or_else(|| "expected memory, veth, xdp, pcap or dpdk".to_owned())
}

/// Parses an exponent of Zipf's law.
fn skew(word: &str) -> Result<f64, String> {
    let exponent = word.parse().ok().filter(|exponent| (0.0..=10.0).contains(exponent));
    exponent.ok_or_else(|| "expected a number from 0 to 10".to_owned())
}

impl Traffic {
    /// Returns the numbers of entries.
    pub(super) fn entries(&self) -> Result<Vec<usize>, Failure> {
        let entries = List::join(&self.entries).unwrap_or_else(|| vec![1 << 16]);
        let most = entries.iter().copied().max().unwrap_or(0);
        if most > MAX_FLOWS {
            return Err(Failure::input(format!(
                "--entries: {most} are more than a table takes; {MAX_FLOWS} (2^27) is the most"
            )));
        }
        // This is the memory of the packets alone; entries take more.
        let packets = most.saturating_mul(self.packet_size() + size_of::<Vec<u8>>());
        match tables::machine::available_memory() {
            Some(bytes) if packets > bytes => Err(Failure::input(format!(
                "--entries {most}: a packet for each takes {} MiB, and {} MiB are free; take fewer, or --packet-size smaller",
                packets >> 20,
                bytes >> 20
            ))),
            _ => Ok(entries),
        }
    }

    /// Returns the requested update methods.
    pub(super) fn methods(&self) -> Vec<UpdateMethod> {
        List::join(&self.method).unwrap_or_default()
    }

    pub(super) fn packet_size(&self) -> usize {
        self.packet_size.unwrap_or(84)
    }
}

/// The maximum number of flows. Tables have room for twice as many entries.
const MAX_FLOWS: usize = tables::MAX_SIZE / 2;

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn given(line: &str) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from(line.split(' '))
    }

    #[test]
    fn the_manual_is_complete() {
        Arguments::command().debug_assert();
        let manual = Arguments::command().render_long_help().to_string();
        for word in ["2^8..2^20:4", "Exit status", "--path", "--traffic"] {
            assert!(manual.contains(word), "{word}");
        }
    }

    #[test]
    fn invalid_measurements_are_refused() {
        let skews = ["bench --skew -1", "bench --skew 11", "bench --skew much", "bench --skew nan"];
        let words = ["bench --cores 0", "bench --path both", "bench --time 10us"];
        let lists = ["bench --entries 0", "bench --entries many", "bench --method by-hand"];
        for line in skews.iter().chain(&words).chain(&lists) {
            assert!(given(line).is_err(), "{line}");
        }
        let given = |line| given(line).expect("understood");
        assert!(given("bench --cores 100000").settings().is_err());
        assert_eq!(given("bench --skew 0.9").settings().expect("settings").skew, 0.9);
        for line in ["bench --entries 2^28", "bench --entries 2^40"] {
            assert!(given(line).traffic.entries().is_err(), "{line}");
        }
        assert_eq!(given("bench --entries 2^3,5").traffic.entries().expect("sizes"), [8, 5]);
        assert_eq!(given("bench --method all").traffic.methods(), UpdateMethod::ALL);
    }
}
