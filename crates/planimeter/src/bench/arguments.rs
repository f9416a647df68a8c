//! The arguments of `planimeter bench`: the manual, and from words to lists.

use std::path::PathBuf;
use std::time::Duration;

use ::tables::machine;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use pipeline::Path;
use throughput::UpdateMethod;
use throughput::ports::Io;
use throughput::run::Settings;

use crate::failure::Failure;
use crate::output;
use crate::program;
use crate::words::{count, duration, each, list, sizes_of};

/// Columns of the manual, where the terminal has as many.
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

pub(crate) fn command() -> Command {
    Command::new("bench")
        .about(ABOUT)
        .long_about(LONG_ABOUT)
        .after_long_help(EXAMPLES)
        .max_term_width(WIDTH)
        .arg(
            Arg::new("program")
                .value_name("PROGRAM")
                .value_parser(value_parser!(PathBuf))
                .help("P4_16 source, BMv2 JSON or IR [the program of the paper's evaluation]"),
        )
        .args(traffic())
        .args(effort())
        .args(output())
        .args(output::papers().map(|arg| arg.help_heading("Output")))
        .args(program::arguments())
        .arg(crate::storage::argument().help_heading("The program"))
}

fn traffic() -> [Arg; 6] {
    let heading = |arg: Arg| arg.help_heading("Traffic");
    [
        list(
            "entries",
            "LIST",
            "Flows, and entries that they hit: 1024, 64k, 2^16, 2^8..2^20:4 [2^16]",
        ),
        Arg::new("packet-size")
            .long("packet-size")
            .value_name("BYTES")
            .value_parser(count(14..=65_535))
            .help("Bytes of a packet, at least as many as the parser takes [84]"),
        Arg::new("traffic")
            .long("traffic")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .conflicts_with_all(["entries", "packet-size"])
            .help("Packets from a pcap or pcapng file, each a flow; entries are made for them"),
        Arg::new("skew")
            .long("skew")
            .value_name("EXPONENT")
            .value_parser(skew)
            .help("Draw flows by Zipf's law with this exponent, up to 10; 0 draws all alike [0]"),
        Arg::new("any-core")
            .long("any-core")
            .action(ArgAction::SetTrue)
            .help("Let every core draw all flows; each flow stays on its core without it"),
        list(
            "method",
            "LIST",
            "How packets change entries: pointer, change, digest, or all [as the program says]",
        )
        .long_help(
            "How packets change the entries that they hit, one method beside the other: pointer (in place), change (as the \
             control plane does, through two replicas), digest (by way of a controller behind loopback TCP), or all. Says \
             also how long it takes until a packet finds a new value. Rates of change and digest are by the wall clock.",
        ),
    ]
    .map(heading)
}

fn effort() -> [Arg; 7] {
    let heading = |arg: Arg| arg.help_heading("Effort");
    [
        list("path", "LIST", "interpreter, compiled, or all [all]"),
        list("cores", "LIST", "Numbers of cores, each with a worker [1]"),
        Arg::new("io")
            .long("io")
            .value_name("PORTS")
            .value_parser(io)
            .conflicts_with_all(["cores", "method"])
            .help("Where packets come from and go: memory, veth, xdp, pcap or dpdk [memory]")
            .long_help(
                "Where packets come from and go: memory (slots as a card leaves them), veth or xdp (packet sockets or XDP \
                 sockets on a pair of interfaces in a network namespace that is made and removed; as root), pcap (a capture \
                 in, a capture out), dpdk (shared memory, if this program was built with DPDK). Between ports a worker has \
                 one core and a generator another.",
            ),
        Arg::new("time")
            .long("time")
            .value_name("TIME")
            .value_parser(duration)
            .help("Of a repetition, with what is done while its clock stands [200ms]"),
        Arg::new("repetitions")
            .long("repetitions")
            .value_name("COUNT")
            .value_parser(count(1..=10_000))
            .help("Of each case [5]"),
        Arg::new("load")
            .long("load")
            .value_name("PERCENT")
            .value_parser(value_parser!(u8).range(1..=100))
            .help("Offered rate when latency is measured, of the rate that was reached [50]"),
        Arg::new("seed")
            .long("seed")
            .value_name("NUMBER")
            .value_parser(value_parser!(u64))
            .help("What packets and their order depend on; printed with the result [1]"),
    ]
    .map(heading)
}

fn output() -> [Arg; 4] {
    let heading = |arg: Arg| arg.help_heading("Output");
    [
        output::output("The run directory, new or empty [runs/<time>-bench]"),
        output::json_flag(),
        output::quiet(),
        output::threshold("Fail unless it holds for every case, such as 'rate >= 5M'")
            .long_help(
                "Fail, with exit status 1, unless the condition holds for every case: a metric (rate in packets per \
                 second, cost in time of a core, p50, p99 and p99.9 of the latency, wrong packets), one of <, <=, >, >=, \
                 ==, and a number (5M, 200ns, 1.5us, 0). Cases on several cores have no latency.",
            ),
    ]
    .map(heading)
}

pub(super) fn settings(matches: &ArgMatches) -> Result<Settings, Failure> {
    let paths = each(matches, "path", "interpreter, compiled or all", |word| match word {
        "interpreter" => Some(vec![Path::Interpreter]),
        "compiled" => Some(vec![Path::Compiled]),
        "all" => Some(vec![Path::Interpreter, Path::Compiled]),
        _ => None,
    })?;
    let cores = each(matches, "cores", "a number of cores, at least 1", |word| {
        Some(vec![word.parse().ok().filter(|cores| *cores > 0)?])
    })?
    .unwrap_or_else(|| vec![1]);
    let all = machine::cores().map_err(Failure::run)?.len();
    if let Some(&most) = cores.iter().find(|&&cores| cores > all) {
        return Err(Failure::input(format!(
            "--cores {most}: this process may use {all}, and a worker without a core of its own measures nothing"
        )));
    }
    let time = matches.get_one::<Duration>("time").copied().unwrap_or(Duration::from_millis(200));
    if time < Duration::from_millis(1) {
        return Err(Failure::input("--time: less than 1ms is less than one turn of packets"));
    }
    Ok(Settings {
        paths: paths.unwrap_or_else(|| vec![Path::Interpreter, Path::Compiled]),
        cores,
        repetitions: matches.get_one::<usize>("repetitions").copied().unwrap_or(5),
        time,
        load: f64::from(matches.get_one::<u8>("load").copied().unwrap_or(50)) / 100.0,
        skew: matches.get_one::<f64>("skew").copied().unwrap_or(0.0),
        any_core: matches.get_flag("any-core"),
        seed: matches.get_one::<u64>("seed").copied().unwrap_or(1),
    })
}

/// A kind of ports.
fn io(word: &str) -> Result<Io, String> {
    let known = Io::ALL.into_iter().find(|io| io.name() == word);
    known.ok_or_else(|| "expected memory, veth, xdp, pcap or dpdk".to_owned())
}

/// An exponent of Zipf's law.
fn skew(word: &str) -> Result<f64, String> {
    let exponent = word.parse().ok().filter(|exponent| (0.0..=10.0).contains(exponent));
    exponent.ok_or_else(|| "expected a number from 0 to 10".to_owned())
}

/// Numbers of entries.
pub(super) fn entries(matches: &ArgMatches) -> Result<Vec<usize>, Failure> {
    let known = "a number such as 1024, 64k, 2^16 or 2^8..2^20";
    let positive = |word: &str| sizes_of(word).filter(|sizes| !sizes.contains(&0));
    let entries = each(matches, "entries", known, positive)?.unwrap_or_else(|| vec![1 << 16]);
    let most = entries.iter().copied().max().unwrap_or(0);
    if most > MAX_FLOWS {
        return Err(Failure::input(format!(
            "--entries: {most} are more than a table takes; {MAX_FLOWS} (2^27) is the most"
        )));
    }
    // The least that they take; entries come on top.
    let packets = most.saturating_mul(packet_size(matches) + size_of::<Vec<u8>>());
    match tables::machine::available_memory() {
        Some(bytes) if packets > bytes => Err(Failure::input(format!(
            "--entries {most}: a packet for each takes {} MiB, and {} MiB are free; take fewer, or --packet-size smaller",
            packets >> 20,
            bytes >> 20
        ))),
        _ => Ok(entries),
    }
}

/// Tables have room for twice as many entries as there are flows.
const MAX_FLOWS: usize = tables::MAX_SIZE / 2;

/// Methods of change, if some are asked for.
pub(super) fn methods(matches: &ArgMatches) -> Result<Option<Vec<UpdateMethod>>, Failure> {
    each(matches, "method", "pointer, change, digest or all", |word| match word {
        "all" => Some(UpdateMethod::ALL.to_vec()),
        name => Some(vec![UpdateMethod::named(name)?]),
    })
}

pub(super) fn packet_size(matches: &ArgMatches) -> usize {
    matches.get_one::<usize>("packet-size").copied().unwrap_or(84)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_is_complete() {
        command().debug_assert();
        let manual = command().render_long_help().to_string();
        for word in ["2^8..2^20:4", "Exit status", "--path", "--traffic"] {
            assert!(manual.contains(word), "{word}");
        }
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        let matches =
            |line: &str| command().try_get_matches_from(line.split(' ')).expect("understood");
        for line in
            ["bench --cores 0", "bench --cores 100000", "bench --path both", "bench --time 10us"]
        {
            assert!(settings(&matches(line)).is_err(), "{line}");
        }
        for line in ["bench --skew -1", "bench --skew 11", "bench --skew much", "bench --skew nan"]
        {
            assert!(command().try_get_matches_from(line.split(' ')).is_err(), "{line}");
        }
        assert_eq!(settings(&matches("bench --skew 0.9")).expect("settings").skew, 0.9);
        for line in [
            "bench --entries 0",
            "bench --entries many",
            "bench --entries 2^28",
            "bench --entries 2^40",
        ] {
            assert!(entries(&matches(line)).is_err(), "{line}");
        }
        assert_eq!(entries(&matches("bench --entries 2^3,5")).expect("sizes"), [8, 5]);
        assert!(methods(&matches("bench --method by-hand")).is_err());
        let all = methods(&matches("bench --method all")).expect("methods");
        assert_eq!(all, Some(UpdateMethod::ALL.to_vec()));
    }
}
