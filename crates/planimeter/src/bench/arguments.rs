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

use super::{METRICS, SOLVING};
use crate::failure::Failure;
use crate::output::{self, ForPapers};
use crate::parsers::{List, cores, count, duration, list_of, sizes_of};
use crate::storage::Stored;
use crate::threshold;

/// The maximum width in columns of the manual. On a narrower terminal, it is as wide as the
/// terminal.
const WIDTH: usize = 100;

const ABOUT: &str =
    "Measure throughput and latency of a P4 program against table entries and cores";

const LONG_ABOUT: &str = "\
Measure throughput and latency of a P4 program against table entries and cores. The interpreter and the \
program compiled to machine code are measured side by side.

Traffic is generated from the program: packets that its parser accepts, and entries that they hit in every table \
on their way. Packets lie in memory, as a network card would leave them. Every packet that leaves is compared with \
the output of the interpreter, so that no figure is that of a program that does something else.

Without a PROGRAM, the program of the paper's evaluation is measured (Simon et al., ANCS 2021, section 4): each \
packet writes the entry that it hits, and leaves with the previous value.";

const EXAMPLES: &str = "\
Examples:
  The paper's program, and one of your own:
    planimeter bench
    planimeter bench programs/router.p4 --entries 2^4,2^8,2^12

  The compiled program alone, on one core and on two, as a check in continuous integration:
    planimeter bench --path compiled --cores 1,2 -t 'rate >= 5M' -t 'wrong == 0'

  Packets of your own, for which entries are generated:
    planimeter bench programs/l2.p4 --traffic trace.pcap

  Entries and packets of your own, by scenario:
    planimeter bench programs/middleblock.p4 --scenarios examples/bench/middleblock.toml

  The paper's methods to update an entry, and the time until packets find the update:
    planimeter bench --path compiled --entries 2^20 --method all

  Between packet sockets, beside a worker that forwards without a program:
    planimeter bench --path compiled --io veth

  The costliest packets and entries, with what they were predicted to cost:
    planimeter bench programs/router.p4 --worst

  Some flows more often than others:
    planimeter bench --path compiled --entries 2^20 --skew 1.1

Exit status:
  0    everything was measured
  1    a threshold does not hold, a packet left with a wrong content, or nothing could be measured
  2    the input was wrong
  130  the run was interrupted; the results up to then are kept";

/// The arguments of `planimeter bench`.
#[derive(Debug, Parser)]
#[command(
    name = "bench",
    about = ABOUT,
    long_about = LONG_ABOUT,
    after_long_help = EXAMPLES,
    max_term_width = WIDTH
)]
pub(crate) struct Arguments {
    /// The program, as P4_16 source, BMv2 JSON or IR [the program of the paper's evaluation]
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

/// The flags for the packets that are processed, and for how they update table entries.
#[derive(Debug, Args)]
#[command(next_help_heading = "Traffic")]
pub(super) struct Traffic {
    /// The numbers of flows, each with an entry: 1024, 64k, 2^16, 2^8..2^20:4 [2^16]
    #[arg(long, value_name = "LIST", value_parser = list_of(
        "a number such as 1024, 64k, 2^16 or 2^8..2^20",
        |word| sizes_of(word).filter(|sizes| !sizes.contains(&0)),
    ))]
    entries: Vec<List<usize>>,
    /// The length of packets, at least that of the headers that the parser extracts [84]
    #[arg(long, value_name = "BYTES", value_parser = count(14..=65_535))]
    packet_size: Option<usize>,
    /// Read packets from a pcap or pcapng file, each a flow, and generate entries for them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["entries", "packet_size"])]
    pub(super) traffic: Option<PathBuf>,
    /// Measure each scenario of this TOML file: entries, groups and packets that it describes
    #[arg(
        long,
        value_name = "FILE",
        requires = "program",
        conflicts_with_all = ["entries", "packet_size", "traffic", "method", "io"],
        long_help = "Measure each scenario of this TOML file, which describes the entries, groups and packets of a \
                     program as parts of an STF script that may be repeated with numbers that count up. docs/bench.md \
                     describes the file, and examples/bench/middleblock.toml is one."
    )]
    pub(super) scenarios: Option<PathBuf>,
    /// Search for the packets and entries that cost most, and measure them beside the prediction
    #[arg(
        long,
        requires = "program",
        conflicts_with_all = [
            "entries", "traffic", "scenarios", "skew", "any_core", "method", "cores", "io", "load", "threshold",
        ],
        long_help = "Search for the packets and entries that cost most, for packets of 64, 256, 1024 and 1514 bytes or of \
                     --packet-size, and measure them beside the prediction. The costs of kinds of work, such as bytes, \
                     headers, operations and lookups, are fitted to the cycles of generated packets, and a solver finds the \
                     costliest feasible paths. Each packet is measured for a tenth of --time in each repetition and in each \
                     of two passes, without other packets and entries. Programs are those that planimeter testgen executes."
    )]
    pub(super) worst: bool,
    /// Predict the costs of --worst by this device model instead of fitting them
    #[arg(
        long,
        value_name = "MODEL",
        requires = "worst",
        long_help = "Predict the costs of --worst by this model, which planimeter device model -o wrote, instead of fitting \
                     them to generated packets. Packets have the length of the model's setting; if it has several, \
                     --packet-size selects one (without the frame check sequence of 4 bytes). Each part of the program \
                     costs as much as the costliest function of the model that contains it, at the median."
    )]
    pub(super) model: Option<PathBuf>,
    /// Draw flows by Zipf's law with this exponent, up to 10; 0 draws all equally often [0]
    #[arg(long, value_name = "EXPONENT", value_parser = skew)]
    skew: Option<f64>,
    /// Let every core draw from all flows, instead of from flows of its own
    #[arg(long)]
    any_core: bool,
    /// The methods by which packets update entries: pointer, change, digest, or all [as the program
    /// says]
    #[arg(
        long,
        value_name = "LIST",
        value_parser = list_of("pointer, change, digest or all", |word| match word {
            "all" => Some(UpdateMethod::ALL.to_vec()),
            name => Some(vec![UpdateMethod::named(name)?]),
        }),
        long_help = "The methods by which packets update the entries that they hit, each measured in turn: pointer (in \
                     place), change (through two replicas, as the control plane does), digest (by a controller behind \
                     loopback TCP), or all. The report also says how long it takes until a packet finds a new value. The \
                     rates of change and digest are measured by the wall clock."
    )]
    method: Vec<List<UpdateMethod>>,
    /// The time for which packets are solved for that hit tables which others do not; 0s for none
    /// [60s]
    #[arg(
        long,
        value_name = "TIME",
        value_parser = duration,
        conflicts_with_all = ["traffic", "scenarios", "worst"],
        long_help = "The time after which packets are solved for no further table. Packets along the paths of the parser do \
                     not hit tables that are applied only after certain actions of others. A solver finds packets and \
                     entries for these tables, which replace up to half of the flows; the result names the tables. With \
                     0s there are none. [60s]"
    )]
    solve: Option<Duration>,
}

/// The flags for the execution paths, the cores, the ports and the time of a measurement.
#[derive(Debug, Args)]
#[command(next_help_heading = "Effort")]
pub(super) struct Effort {
    /// The execution paths: interpreter, compiled, or all [all]
    #[arg(long, value_name = "LIST", value_parser = list_of("interpreter, compiled or all", |word| match word {
        "interpreter" => Some(vec![Path::Interpreter]),
        "compiled" => Some(vec![Path::Compiled]),
        "all" => Some(vec![Path::Interpreter, Path::Compiled]),
        _ => None,
    }))]
    path: Vec<List<Path>>,
    /// The numbers of cores, with one worker on each core [1]
    #[arg(long, value_name = "LIST", value_parser = list_of("a number of cores, at least 1", cores))]
    cores: Vec<List<usize>>,
    /// The ports that packets arrive at and leave by: memory, veth, xdp, pcap or dpdk [memory]
    #[arg(
        long,
        value_name = "PORTS",
        value_parser = io,
        conflicts_with_all = ["cores", "method"],
        long_help = "The ports that packets arrive at and leave by: memory (buffers as a network card leaves them), veth or \
                     xdp (packet sockets or XDP sockets on a pair of interfaces in a temporary network namespace; needs \
                     root), pcap (from one capture file to another), dpdk (shared memory, if planimeter was built with \
                     DPDK). With ports, the worker has one core and the traffic generator another."
    )]
    pub(super) io: Option<Io>,
    /// The time of a repetition, including work outside the measured part [200ms]
    #[arg(long, value_name = "TIME", value_parser = time)]
    time: Option<Duration>,
    /// The number of repetitions of each case [5]
    #[arg(long, value_name = "COUNT", value_parser = count(1..=10_000))]
    repetitions: Option<usize>,
    /// The offered rate for latency, as a share of the measured throughput [50]
    #[arg(long, value_name = "PERCENT", value_parser = value_parser!(u8).range(1..=100))]
    load: Option<u8>,
    /// The seed of packets and their order; printed with the result [1]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
}

/// The flags for the output of the result, and for the thresholds that it must meet.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(super) struct Output {
    /// The run directory, new or empty [runs/<time>-bench]
    #[arg(long, short, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
    /// Print result.json instead of the tables
    #[arg(long)]
    pub(super) json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(super) quiet: bool,
    /// Fail unless this condition holds for every case, such as 'rate >= 5M'
    #[arg(
        long,
        short,
        value_name = "CONDITION",
        value_parser = threshold::condition(&METRICS),
        long_help = "Fail, with exit status 1, unless the condition holds for every case: a metric (rate in packets per second, \
                     cost in core time, p50, p99 and p99.9 of the latency, wrong packets), one of <, <=, >, >=, ==, and \
                     a number (5M, 200ns, 1.5us, 0). Latency is not measured on several cores."
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
                "--cores {most}: this process may use {all} cores, and each worker needs a core of its own; name at most {all}"
            )));
        }
        Ok(Settings {
            paths: List::join(&effort.path)
                .unwrap_or_else(|| vec![Path::Interpreter, Path::Compiled]),
            cores,
            repetitions: effort.repetitions.unwrap_or(5),
            time: effort.time.unwrap_or(Duration::from_millis(200)),
            warm_up: Duration::ZERO,
            load: f64::from(effort.load.unwrap_or(50)) / 100.0,
            skew: traffic.skew.unwrap_or(0.0),
            any_core: traffic.any_core,
            by_wall_clock: false,
            seed: self.seed(),
        })
    }

    pub(super) fn seed(&self) -> u64 {
        self.effort.seed.unwrap_or(1)
    }
}

/// Parses the duration of a repetition, such as `200ms`, which must be at least 1 ms.
fn time(word: &str) -> Result<Duration, String> {
    let least = Duration::from_millis(1);
    match duration(word)? {
        time if time < least => Err("a repetition takes at least 1ms".to_owned()),
        time => Ok(time),
    }
}

/// Parses the value of `--io`, which names the kind of ports by which packets arrive and leave.
fn io(word: &str) -> Result<Io, String> {
    let known = Io::ALL.into_iter().find(|io| io.name() == word);
    known.ok_or_else(|| "expected memory, veth, xdp, pcap or dpdk".to_owned())
}

/// Parses an exponent of Zipf's law, which must be from 0 to 10.
fn skew(word: &str) -> Result<f64, String> {
    let exponent = word.parse().ok().filter(|exponent| (0.0..=10.0).contains(exponent));
    exponent.ok_or_else(|| "expected a number from 0 to 10".to_owned())
}

impl Traffic {
    /// Returns the numbers of entries to measure: those of `--entries`, or 2^16 without the flag.
    /// Returns an error if the largest number exceeds [`MAX_FLOWS`], or its packets do not fit the
    /// free memory.
    pub(super) fn entries(&self) -> Result<Vec<usize>, Failure> {
        let entries = List::join(&self.entries).unwrap_or_else(|| vec![1 << 16]);
        let most = entries.iter().copied().max().unwrap_or(0);
        if most > MAX_FLOWS {
            return Err(Failure::input(format!(
                "--entries: {most} exceeds the maximum of {MAX_FLOWS} (2^27)"
            )));
        }
        // This is the memory of the packets alone; entries take more.
        let packets = most.saturating_mul(self.packet_size() + size_of::<Vec<u8>>());
        match tables::machine::available_memory() {
            Some(bytes) if packets > bytes => Err(Failure::input(format!(
                "--entries {most}: a packet for each entry takes {} MiB, but {} MiB are free; name fewer entries or a smaller --packet-size",
                packets >> 20,
                bytes >> 20
            ))),
            _ => Ok(entries),
        }
    }

    /// Returns the update methods that `--method` names (empty without the flag, so that the
    /// program decides).
    pub(super) fn methods(&self) -> Vec<UpdateMethod> {
        List::join(&self.method).unwrap_or_default()
    }

    /// Returns the time that a solver may take to compute packets for tables that generated packets
    /// do not hit.
    pub(super) fn solving(&self) -> Duration {
        self.solve.unwrap_or(SOLVING)
    }

    pub(super) fn packet_size(&self) -> usize {
        self.packet_size.unwrap_or(84)
    }

    /// Returns the length that `--packet-size` names, or `None` without the flag.
    pub(super) fn given_packet_size(&self) -> Option<usize> {
        self.packet_size
    }
}

/// The maximum number of flows of a measurement, which is half the maximum size of a table.
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
    fn the_time_for_solving_is_read() {
        let solving = |line| given(line).expect("understood").traffic.solving();
        assert_eq!(solving("bench"), Duration::from_secs(60));
        assert_eq!(solving("bench --solve 0s"), Duration::ZERO);
        assert!(given("bench --solve soon").is_err());
        assert!(given("bench a.p4 --solve 1s --traffic b.pcap").is_err());
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
        for line in
            ["bench --worst", "bench a.p4 --worst --entries 8", "bench a.p4 --worst --cores 2"]
        {
            assert!(Arguments::try_parse_from(line.split(' ')).is_err(), "{line}");
        }
        for line in ["bench --entries 2^28", "bench --entries 2^40"] {
            assert!(given(line).traffic.entries().is_err(), "{line}");
        }
        assert_eq!(given("bench --entries 2^3,5").traffic.entries().expect("sizes"), [8, 5]);
        assert_eq!(given("bench --method all").traffic.methods(), UpdateMethod::ALL);
    }
}
