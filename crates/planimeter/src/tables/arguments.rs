//! The arguments of `planimeter tables`: the manual, and from words to lists.

use std::path::PathBuf;

use ::tables::measure::{Operation, Sharing};
use ::tables::{EntryLock, Fill, Storage, UpdateMethod, Wait};
use clap::{Arg, ArgMatches, Command, value_parser};

use crate::failure::Failure;
use crate::output;
use crate::program;
use crate::words::{binary, count, decimal, duration, each, flag, list, sizes_of};

/// Columns of the manual, where the terminal has as many.
const WIDTH: usize = 100;
/// The most keys that one call takes: as many digests can be under way at once.
pub(super) const MOST_KEYS: usize = 512;

const ABOUT: &str = "Compare table designs: measure them, or predict memory and cache fit";

const LONG_ABOUT: &str = "\
Compare table designs: measure them on this machine, or predict memory and cache fit.

Packets may write the tables that they match: a counter in an entry, a flow's state, an entry that was \
missing. How fast that is depends on where entries lie, on how cores that use one table are kept apart, and \
on the way an update takes. This command measures all of it and says which design to use.

  storage    original  hash, index, pointer array, entry at 64 B (the designs of Simon et al., ANCS 2021)
             dynamic   hash, pointer, entry at 64 B, allocated when it is added
             static    hash, index, one array of entries at 16 B
             inline    key, action and parameters in the bucket: one cache line for a lookup
  sync       double-buffer  two replicas: write to one, swap, wait, write to the other
             optimistic     one replica; readers take no lock, check a version and read again
             sharded        a table for each core, placed by key; no entry locks, one
                            compare-and-exchange for each call
  lock       on, off   whether an action holds its entry alone from its start to its end
  update     pointer   in place
             change    by a second lookup, as the control plane makes it
             digest    by a message to a controller and back, through loopback TCP

Without flags it measures what the paper compares, with our own design beside it, in about a minute: every \
storage with and without locks on one core and on all, one replica against two, and the three update methods. \
With --storage, --sync, --lock, --update or --operation it measures every combination of what they name. A \
combination that no table can honour is listed as not offered, with the reason.

Figures come with their 95 % confidence interval; updates are counted in the entries, so that a design that \
loses what it must not lose fails the run. Ctrl-C ends the run with what it has. A run leaves a directory with \
report.html, result.json, cases.csv and histograms.";

const EXAMPLES: &str = "\
Examples:
  What the paper compares, in about a minute; a first look in ten seconds:
    planimeter tables
    planimeter tables --quick

  The tables of a program, at their sizes, with the designs that it can use:
    planimeter tables programs/entry_update.p4

  One question: what do locks cost at 2^20 entries on two cores?
    planimeter tables --storage inline,static --sync optimistic --lock both --size 2^20 --cores 2

  Wide keys and parameters, every second power of two:
    planimeter tables --storage all --sync optimistic --size 2^8..2^20:2 --key-bits 32,128,296 \\
        --parameter-bytes 4,16,64

  Everything there is, from 1 to 4,194,304 entries (hours, and gigabytes of memory):
    planimeter tables --full -o runs/full

  A check in continuous integration:
    planimeter tables --storage inline --sync sharded --size 2^16 --cores 1 -t 'rate >= 50M'

  How many of 10^8 updates the paper's data race costs, without locks and with:
    planimeter tables --lost-updates 100M

  Memory and cache fit by the model, without measuring:
    planimeter tables --predict --key-bits 32 --parameter-bytes 9 --size 1M --cache 15M
    planimeter tables --predict programs/heavy_hitter.p4";

const COLUMNS: &str = "\
Columns:
  on       cores
  rate     operations per second, all cores together, mean over turns and 95 % confidence interval
  ns/op    nanoseconds of one core for each operation
  p50 ...  latency of one update alone, from its call until the table has it, clock cost subtracted
  misses   misses of the last cache for each operation, from the processor's counters; n/a where the
           kernel offers none, with the reason in the notes
  clock    cpu or wall: what time the rate is per second of; wall is the rate of every row by the wall clock
  lost     updates that the entries know nothing of; a dash where they cannot tell. digest loses them on one
           core too: packets that meet an entry before the controller's answer is back read the old number

Exit status:
  0  done
  1  a threshold does not hold, an update was lost that must not be, or nothing could be measured
  2  the input was wrong
  130  interrupted; what was measured until then is left";

pub(crate) fn command() -> Command {
    Command::new("tables")
        .about(ABOUT)
        .long_about(LONG_ABOUT)
        .after_long_help(format!("{EXAMPLES}\n\n{COLUMNS}"))
        .max_term_width(WIDTH)
        .arg(
            Arg::new("program")
                .value_name("PROGRAM")
                .value_parser(value_parser!(PathBuf))
                .conflicts_with_all(["key-bits", "parameter-bytes", "size"])
                .help(
                    "P4_16 source, or BMv2 JSON: its tables, with their keys, parameters and sizes",
                ),
        )
        .args(designs())
        .args(tables())
        .args(effort())
        .args(output())
        .args(output::papers().map(|arg| arg.help_heading("Output")))
        .args(prediction())
        .args(program::arguments())
}

fn designs() -> [Arg; 7] {
    let heading = |arg: Arg| arg.help_heading("Designs");
    [
        list("storage", "LIST", "original, dynamic, static, inline, or all [all]"),
        list("sync", "LIST", "double-buffer, optimistic, sharded, or all [all]").long_help(
            "double-buffer, optimistic, sharded, or all [all]. double-buffer is both of its waits: \
             double-buffer:quiescent waits until every worker has passed a point at which it holds no entry, \
             double-buffer:200us for a fixed time, which is the paper's 200 us or another.",
        ),
        list("lock", "LIST", "Entry locks: on, off, or both [off]"),
        list("update", "LIST", "pointer, change, digest, or all [pointer]"),
        list("operation", "LIST", "update, read, or both [update]"),
        flag("full", "Every combination, sizes 2^0 to 2^22").conflicts_with("quick"),
        flag("list", "Say what would be measured and what is not offered, and end"),
    ]
    .map(heading)
}

fn tables() -> [Arg; 6] {
    let heading = |arg: Arg| arg.help_heading("Tables and load");
    [
        list("size", "LIST", "Entries, such as 1024, 64k, 2^16, 2^0..2^22, 2^8..2^20:4")
            .visible_alias("entries")
            .long_help(
                "Declared sizes: numbers (1024, 64k, 1M are powers of 1024), powers (2^16), or ranges of powers \
                 (2^0..2^22, and 2^8..2^20:4 for every fourth) [2^0..2^20:4].",
            ),
        list("key-bits", "LIST", "Width of the key [32]"),
        list("parameter-bytes", "LIST", "Parameters of the action with most [4]"),
        Arg::new("fill")
            .long("fill")
            .value_name("PERCENT")
            .default_value("100")
            .help("Share of the size that is filled"),
        list("cores", "LIST", "Numbers of cores [1 and all]"),
        Arg::new("batch")
            .long("batch")
            .value_name("KEYS")
            .value_parser(count(1..=MOST_KEYS))
            .help("Keys of one call, up to 512 [32]"),
    ]
    .map(heading)
}

fn effort() -> [Arg; 6] {
    let heading = |arg: Arg| arg.help_heading("Effort");
    let time = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("TIME").value_parser(duration).help(help)
    };
    [
        flag("quick", "Three sizes, three short turns: a first look"),
        time("time", "Timed part of a turn, such as 20ms [20ms; 5ms with --quick]"),
        time("warm-up", "Untimed part before it [half of --time]"),
        Arg::new("repetitions")
            .long("repetitions")
            .value_name("TURNS")
            .value_parser(count(1..=10_000))
            .help("Turns of each case [5; 3 with --quick]"),
        Arg::new("seed")
            .long("seed")
            .value_name("NUMBER")
            .value_parser(value_parser!(u64))
            .help("What the order of keys depends on; printed with the result [1]"),
        flag("prefetch-next", "Before each call, prefetch the keys of the next one"),
    ]
    .map(heading)
}

fn output() -> [Arg; 5] {
    let heading = |arg: Arg| arg.help_heading("Output");
    [
        output::output("The run directory, new or empty [runs/<time>-tables]"),
        output::json_flag(),
        output::quiet(),
        output::threshold("Fail unless it holds for every case, such as 'rate >= 50M'")
            .long_help(
                "Fail, with exit status 1, unless the condition holds for every case: a metric (rate in operations per \
                 second, cost in time of a core, p50, p99 and p99.9 of single operations, lost updates), one of <, <=, \
                 >, >=, ==, and a number (50M, 12ns, 1.5us, 0).",
            ),
        Arg::new("lost-updates")
            .long("lost-updates")
            .value_name("COUNT")
            .value_parser(decimal)
            .help("Only count how many of so many updates are lost without locks and with, such as 100M"),
    ]
    .map(heading)
}

fn prediction() -> [Arg; 4] {
    let heading = |arg: Arg| arg.help_heading("Prediction");
    [
        flag("predict", "Predict memory and cache fit, and recommend a design; measure nothing")
            .long_help(
                "For a table of the given key, parameters and size, or for each table of a program: the bytes that \
                 every storage takes at the given fill, how many entries fit each cache of this machine, from which \
                 fill static storage takes less than dynamic, and which design to use, with the reason. The \
                 equations are 1 to 5 of Simon et al., ANCS 2021; the tests of the crate `tables` check them against \
                 the bytes that tables allocate.",
            ),
        Arg::new("cache")
            .long("cache")
            .value_name("BYTES")
            .value_parser(binary)
            .requires("predict")
            .help("A cache, such as 15M, in place of this machine's"),
        flag("shared", "Packets on different cores write the same entry, and no write may be lost")
            .requires("predict"),
        flag("references", "Packets write entries: action parameters are references (@__ref)")
            .requires("predict")
            .conflicts_with("program"),
    ]
    .map(heading)
}

/// Whether designs are chosen one by one, so that every combination is wanted.
pub(super) fn chooses(matches: &ArgMatches) -> bool {
    ["storage", "sync", "lock", "update", "operation"].iter().any(|name| matches.contains_id(name))
}

pub(super) fn storages(matches: &ArgMatches) -> Result<Option<Vec<Storage>>, Failure> {
    each(matches, "storage", "original, dynamic, static, inline or all", |word| match word {
        "all" => Some(Storage::ALL.to_vec()),
        name => Some(vec![Storage::named(name)?]),
    })
}

/// Every synchronisation.
pub(super) fn all_sharings() -> Vec<Sharing> {
    let double = [Wait::PAPER, Wait::Quiescent].map(Sharing::DoubleBuffer);
    [&double[..], &[Sharing::Optimistic, Sharing::Sharded]].concat()
}

pub(super) fn sharings(matches: &ArgMatches) -> Result<Option<Vec<Sharing>>, Failure> {
    let known =
        "double-buffer, double-buffer:quiescent, double-buffer:TIME, optimistic, sharded or all";
    each(matches, "sync", known, |word| match word {
        "double-buffer" => Some([Wait::PAPER, Wait::Quiescent].map(Sharing::DoubleBuffer).to_vec()),
        "double-buffer:quiescent" => Some(vec![Sharing::DoubleBuffer(Wait::Quiescent)]),
        "optimistic" => Some(vec![Sharing::Optimistic]),
        "sharded" => Some(vec![Sharing::Sharded]),
        "all" => Some(all_sharings()),
        _ => {
            let time = duration(word.strip_prefix("double-buffer:")?).ok()?;
            Some(vec![Sharing::DoubleBuffer(Wait::Fixed(time))])
        }
    })
}

pub(super) fn locks(matches: &ArgMatches) -> Result<Option<Vec<EntryLock>>, Failure> {
    each(matches, "lock", "on, off or both", |word| match word {
        "off" => Some(vec![EntryLock::None]),
        "on" => Some(vec![EntryLock::PerEntry]),
        "both" | "all" => Some(vec![EntryLock::None, EntryLock::PerEntry]),
        _ => None,
    })
}

pub(super) fn updates(matches: &ArgMatches) -> Result<Option<Vec<UpdateMethod>>, Failure> {
    let all = [UpdateMethod::Pointer, UpdateMethod::Change, UpdateMethod::Digest];
    each(matches, "update", "pointer, change, digest or all", |word| match word {
        "pointer" => Some(vec![UpdateMethod::Pointer]),
        "change" => Some(vec![UpdateMethod::Change]),
        "digest" => Some(vec![UpdateMethod::Digest]),
        "all" => Some(all.to_vec()),
        _ => None,
    })
}

pub(super) fn operations(matches: &ArgMatches) -> Result<Option<Vec<Operation>>, Failure> {
    each(matches, "operation", "update, read or both", |word| match word {
        "update" => Some(vec![Operation::Update]),
        "read" => Some(vec![Operation::Read]),
        "both" | "all" => Some(vec![Operation::Update, Operation::Read]),
        _ => None,
    })
}

pub(super) fn sizes(matches: &ArgMatches) -> Result<Option<Vec<usize>>, Failure> {
    each(matches, "size", "a number such as 1024, 64k, 2^16 or 2^0..2^22", sizes_of)
}

pub(super) fn key_bits(matches: &ArgMatches) -> Result<Option<Vec<u32>>, Failure> {
    each(matches, "key-bits", "a number of bits", |word| Some(vec![word.parse().ok()?]))
}

pub(super) fn parameter_bytes(matches: &ArgMatches) -> Result<Option<Vec<usize>>, Failure> {
    each(matches, "parameter-bytes", "a number of bytes", |word| Some(vec![binary(word).ok()?]))
}

pub(super) fn cores(matches: &ArgMatches) -> Result<Option<Vec<usize>>, Failure> {
    let cores = each(matches, "cores", "a number of cores, at least 1", |word| {
        Some(vec![word.parse().ok()?])
    })?;
    match &cores {
        Some(cores) if cores.contains(&0) => {
            Err(Failure::input("--cores 0: at least one core runs the program"))
        }
        _ => Ok(cores),
    }
}

pub(super) fn fill(matches: &ArgMatches) -> Result<Fill, Failure> {
    let text = matches.get_one::<String>("fill").map_or("100", String::as_str);
    text.trim_end_matches('%')
        .trim()
        .parse::<f64>()
        .ok()
        .and_then(|percent| Fill::new(percent / 100.0))
        .ok_or_else(|| {
            Failure::input(format!("--fill {text}: a percentage from 0 to 100 is wanted"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_manual_is_complete() {
        command().debug_assert();
        let manual = command().render_long_help().to_string();
        for word in ["digest", "2^8..2^20:4", "Exit status", "not offered", "misses"] {
            assert!(manual.contains(word), "{word}");
        }
    }

    #[test]
    fn lists_name_each_thing_once() {
        let matches =
            |line: &str| command().try_get_matches_from(line.split(' ')).expect("understood");
        let some = matches(
            "tables --storage inline,static --storage all --sync double-buffer:50us,sharded",
        );
        assert_eq!(storages(&some).expect("known").expect("given").len(), 4);
        let sharings = sharings(&some).expect("known").expect("given");
        let wait = Wait::Fixed(Duration::from_micros(50));
        assert_eq!(sharings, [Sharing::DoubleBuffer(wait), Sharing::Sharded]);
        assert!(storages(&matches("tables --storage fast")).is_err());
        assert!(cores(&matches("tables --cores 0")).is_err());
        assert_eq!(
            key_bits(&matches("tables --key-bits 8,16")).expect("numbers"),
            Some(vec![8, 16])
        );
        assert!(!chooses(&matches("tables --size 8")) && chooses(&some));
    }
}
