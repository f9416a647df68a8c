//! The arguments of `planimeter tables`, its manual, and the conversion of arguments to lists.

use std::path::PathBuf;
use std::time::Duration;

use ::tables::measure::{Operation, Sharing};
use ::tables::{EntryLock, Fill, Storage, UpdateMethod, Wait};
use clap::{Args, Parser};
use report::RunDirectory;
use statistics::Condition;

use super::measure::METRICS;
use crate::failure::Failure;
use crate::output::{self, ForPapers, Printed};
use crate::parsers::{self, List, binary, count, decimal, duration, list_of, sizes_of};
use crate::program::Sources;
use crate::threshold;

/// The maximum width in columns of the manual. On a narrower terminal, it is as wide as the
/// terminal.
const WIDTH: usize = 100;
/// The maximum number of keys in one batch lookup, for `--batch`.
pub(super) const MAX_KEYS: usize = 512;

const ABOUT: &str = "Compare table designs: measure them, or predict memory and cache fit";

const LONG_ABOUT: &str = "\
Compare table designs: measure them on this machine, or predict memory and cache fit.

Packets may write the tables that they match: a counter in an entry, a flow's state, an entry that was \
missing. The speed depends on where entries lie in memory, on how cores that share a table are synchronized, \
and on how an update reaches the entry. This command measures all three and says which design to use.

  storage    original  hash, index, pointer array, 64 B aligned entry (the design of Simon et al., ANCS 2021)
             dynamic   hash, pointer, 64 B aligned entry, which is allocated when it is inserted
             static    hash, index, one array of 16 B aligned entries
             inline    key, action and parameters in the bucket: a lookup reads one cache line
  sync       double-buffer  two replicas: write to one, swap, wait, write to the other
             optimistic     one replica for all cores
             sharded        one table for each core, with all entries and without locks
  lock       on, off   whether an action holds its entry exclusively from its start to its end
  update     pointer   in place
             change    by a second lookup, as the control plane does
             digest    by a message to a controller and its answer, through loopback TCP

Without flags, the command measures what the paper compares and the inline design beside it, in about a minute: \
every storage with and without locks on one core and on all, one replica against two, and the three update \
methods. With --storage, --sync, --lock, --update or --operation, it measures every combination of the named \
values. A combination that no table supports is listed as not offered, with the reason.

Figures have a 95 % confidence interval. Updates are counted in the entries, so that a design that loses updates \
that it must keep fails the run. Ctrl-C ends the run and keeps its results up to then. A run leaves a directory \
with report.html, result.json, cases.csv and histograms.";

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
    planimeter tables --storage all --sync optimistic --size 2^8..2^20:2 --key-bits 32,64,128 \\
        --parameter-bytes 4,16,32

  Every combination, from 1 to 4,194,304 entries (takes hours, and gigabytes of memory):
    planimeter tables --full -o runs/full

  A check in continuous integration:
    planimeter tables --storage inline --sync sharded --size 2^16 --cores 1 -t 'rate >= 50M'

  The number of 10^8 updates that the paper's data race loses, without locks and with:
    planimeter tables --lost-updates 100M

  Memory and cache fit by the model, without measuring:
    planimeter tables --predict --key-bits 32 --parameter-bytes 9 --size 1M --cache 15M
    planimeter tables --predict programs/heavy_hitter.p4";

const COLUMNS: &str = "\
Columns:
  on       the number of cores
  rate     operations per second of all cores, as the mean over turns and its 95 % confidence interval
  ns/op    nanoseconds of one core for each operation
  p50 ...  latency of a single update, from its call until it is in the table, without the cost of the clock
  misses   misses of the last-level cache for each operation, from the processor's counters; n/a where the
           kernel offers no counters, with the reason in the notes
  clock    cpu or wall: the clock whose seconds the rate refers to; wall shows each rate by the wall clock
  lost     updates that are missing in the entries; a dash where they cannot be counted. digest loses updates
           on one core too: a packet that hits an entry before the controller's answer reads the old value

Exit status:
  0    everything was measured
  1    a threshold does not hold, an update was lost that must not be, or nothing could be measured
  2    the input was wrong
  130  the run was interrupted; the results up to then are kept";

/// The arguments of `planimeter tables`.
#[derive(Debug, Parser)]
#[command(
    name = "tables",
    about = ABOUT,
    long_about = LONG_ABOUT,
    after_long_help = format!("{EXAMPLES}\n\n{COLUMNS}"),
    max_term_width = WIDTH
)]
pub(crate) struct Arguments {
    /// A program, as P4_16 source or BMv2 JSON, whose tables are measured with their keys,
    /// parameters and sizes
    #[arg(value_name = "PROGRAM", conflicts_with_all = ["key_bits", "parameter_bytes", "size"])]
    pub(super) program: Option<PathBuf>,
    #[command(flatten)]
    pub(super) designs: Designs,
    #[command(flatten)]
    pub(super) shapes: Shapes,
    #[command(flatten)]
    pub(super) effort: Effort,
    #[command(flatten)]
    pub(super) output: Output,
    #[command(flatten)]
    pub(super) prediction: Prediction,
    #[command(flatten)]
    pub(super) sources: Sources,
}

/// The flags that select the table designs to compare.
#[derive(Debug, Args)]
#[command(next_help_heading = "Designs")]
pub(super) struct Designs {
    /// The storages: original, dynamic, static, inline, or all [all]
    #[arg(long, value_name = "LIST", value_parser = list_of(
        "original, dynamic, static, inline or all",
        |word| match word {
            "all" => Some(Storage::ALL.to_vec()),
            name => Some(vec![Storage::named(name)?]),
        },
    ))]
    storage: Vec<List<Storage>>,
    /// The synchronization: double-buffer, optimistic, sharded, or all [all]
    #[arg(
        long,
        value_name = "LIST",
        value_parser = list_of(
            "double-buffer, double-buffer:quiescent, double-buffer:TIME, optimistic, sharded or all",
            sharings_of,
        ),
        long_help = "The synchronization of cores: double-buffer, optimistic, sharded, or all [all]. double-buffer stands \
                     for both of its waits: double-buffer:quiescent waits until every worker has passed a point at which \
                     it holds no entry, and double-buffer:200us waits for a fixed time, such as the paper's 200 us."
    )]
    sync: Vec<List<Sharing>>,
    /// The entry locks: on, off, or both [off]
    #[arg(long, value_name = "LIST", value_parser = list_of("on, off or both", |word| match word {
        "off" => Some(vec![EntryLock::None]),
        "on" => Some(vec![EntryLock::PerEntry]),
        "both" | "all" => Some(LOCKS.to_vec()),
        _ => None,
    }))]
    lock: Vec<List<EntryLock>>,
    /// The update methods: pointer, change, digest, or all [pointer]
    #[arg(long, value_name = "LIST", value_parser = list_of("pointer, change, digest or all", |word| match word {
        "pointer" => Some(vec![UpdateMethod::Pointer]),
        "change" => Some(vec![UpdateMethod::Change]),
        "digest" => Some(vec![UpdateMethod::Digest]),
        "all" => Some(UPDATES.to_vec()),
        _ => None,
    }))]
    update: Vec<List<UpdateMethod>>,
    /// The operations: update, read, or both [update]
    #[arg(long, value_name = "LIST", value_parser = list_of("update, read or both", |word| match word {
        "update" => Some(vec![Operation::Update]),
        "read" => Some(vec![Operation::Read]),
        "both" | "all" => Some(OPERATIONS.to_vec()),
        _ => None,
    }))]
    operation: Vec<List<Operation>>,
    /// Measure every combination, with sizes from 2^0 to 2^22
    #[arg(long, conflicts_with = "quick")]
    pub(super) full: bool,
    /// List what would be measured and what is not offered, and exit
    #[arg(long)]
    pub(super) list: bool,
}

const LOCKS: [EntryLock; 2] = [EntryLock::None, EntryLock::PerEntry];
const UPDATES: [UpdateMethod; 3] =
    [UpdateMethod::Pointer, UpdateMethod::Change, UpdateMethod::Digest];
const OPERATIONS: [Operation; 2] = [Operation::Update, Operation::Read];

impl Designs {
    /// Returns whether the user chose properties of designs, so that all combinations of them are
    /// measured.
    pub(super) fn are_chosen(&self) -> bool {
        let Self { storage, sync, lock, update, operation, .. } = self;
        let none = storage.is_empty()
            && sync.is_empty()
            && lock.is_empty()
            && update.is_empty()
            && operation.is_empty();
        !none
    }

    pub(super) fn storages(&self) -> Vec<Storage> {
        List::join(&self.storage).unwrap_or_else(|| Storage::ALL.to_vec())
    }

    pub(super) fn sharings(&self) -> Vec<Sharing> {
        List::join(&self.sync).unwrap_or_else(all_sharings)
    }

    pub(super) fn locks(&self) -> Vec<EntryLock> {
        self.named_or_usual(&self.lock, &LOCKS, EntryLock::None)
    }

    pub(super) fn updates(&self) -> Vec<UpdateMethod> {
        self.named_or_usual(&self.update, &UPDATES, UpdateMethod::Pointer)
    }

    pub(super) fn operations(&self) -> Vec<Operation> {
        self.named_or_usual(&self.operation, &OPERATIONS, Operation::Update)
    }

    /// Returns the values of a property that its flag names. If the flag was not given, returns all
    /// values with `--full`, and otherwise only `usual`.
    fn named_or_usual<T: Clone + PartialEq>(
        &self,
        named: &[List<T>],
        all: &[T],
        usual: T,
    ) -> Vec<T> {
        List::join(named).unwrap_or_else(|| if self.full { all.to_vec() } else { vec![usual] })
    }
}

/// The flags for the tables to measure and for the work on them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Tables and load")]
pub(super) struct Shapes {
    /// The declared sizes, such as 1024, 64k, 2^16, 2^0..2^22, 2^8..2^20:4
    #[arg(
        long,
        visible_alias = "entries",
        value_name = "LIST",
        value_parser = list_of("a number such as 1024, 64k, 2^16 or 2^0..2^22", sizes_of),
        long_help = "The declared sizes: numbers (k and M are powers of 1024: 64k, 1M), powers (2^16), or ranges of powers \
                     (2^0..2^22, and 2^8..2^20:4 for every fourth) [2^0..2^20:4]."
    )]
    size: Vec<List<usize>>,
    /// The widths of the key in bits [32]
    #[arg(long, value_name = "LIST", value_parser = list_of(
        "a number of bits",
        |word| Some(vec![word.parse::<u32>().ok()?]),
    ))]
    key_bits: Vec<List<u32>>,
    /// The bytes of the parameters of the largest action [4]
    #[arg(long, value_name = "LIST", value_parser = list_of(
        "a number of bytes",
        |word| Some(vec![binary(word).ok()?]),
    ))]
    parameter_bytes: Vec<List<usize>>,
    /// The share of the declared size that is filled with entries
    #[arg(long, value_name = "PERCENT", default_value = "100", value_parser = fill)]
    pub(super) fill: Fill,
    /// The numbers of cores [1 and all]
    #[arg(long, value_name = "LIST", value_parser = list_of("a number of cores, at least 1", parsers::cores))]
    cores: Vec<List<usize>>,
    /// The number of keys in one batch lookup, up to 512 [32]
    #[arg(long, value_name = "KEYS", value_parser = count(1..=MAX_KEYS))]
    pub(super) batch: Option<usize>,
}

impl Shapes {
    pub(super) fn sizes(&self) -> Option<Vec<usize>> {
        List::join(&self.size)
    }

    pub(super) fn key_bits(&self) -> Option<Vec<u32>> {
        List::join(&self.key_bits)
    }

    pub(super) fn parameter_bytes(&self) -> Option<Vec<usize>> {
        List::join(&self.parameter_bytes)
    }

    pub(super) fn cores(&self) -> Option<Vec<usize>> {
        List::join(&self.cores)
    }
}

/// The flags for the duration of a measurement.
#[derive(Debug, Args)]
#[command(next_help_heading = "Effort")]
pub(super) struct Effort {
    /// Measure three sizes in three short turns, for a first look
    #[arg(long)]
    pub(super) quick: bool,
    /// The measured part of a turn, such as 20ms [20ms; 5ms with --quick]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(super) time: Option<Duration>,
    /// The part of a turn before the measured part [half of --time]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) warm_up: Option<Duration>,
    /// The number of turns of each case [5; 3 with --quick]
    #[arg(long, value_name = "TURNS", value_parser = count(1..=10_000))]
    pub(super) repetitions: Option<usize>,
    /// The seed of the order of keys; printed with the result [1]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Prefetch the next batch of keys before each batch lookup
    #[arg(long)]
    pub(super) prefetch_next: bool,
}

impl Effort {
    pub(super) fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }
}

/// The flags for the output of the result, and for the thresholds that it must meet.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(super) struct Output {
    /// The run directory, new or empty [runs/<time>-tables]
    #[arg(long, short, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
    /// Print result.json instead of the tables
    #[arg(long)]
    pub(super) json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(super) quiet: bool,
    /// Fail unless this condition holds for every case, such as 'rate >= 50M'
    #[arg(
        long,
        short,
        value_name = "CONDITION",
        value_parser = threshold::condition(&METRICS),
        long_help = "Fail, with exit status 1, unless the condition holds for every case: a metric (rate in operations per \
                     second, cost in core time, p50, p99 and p99.9 of single operations, lost updates), one of <, <=, \
                     >, >=, ==, and a number (50M, 12ns, 1.5us, 0)."
    )]
    pub(super) threshold: Vec<Condition>,
    /// Only count how many of this number of updates, such as 100M, are lost without and with locks
    #[arg(long, value_name = "COUNT", value_parser = decimal)]
    pub(super) lost_updates: Option<u64>,
    #[command(flatten)]
    papers: ForPapers,
}

impl Output {
    /// Returns the output flags in the form that `Printed` has, in which a result is printed, and
    /// written to files only if a directory is named.
    pub(super) fn printed(&self) -> Printed {
        Printed { json: self.json, output: self.output.clone() }
    }

    pub(super) fn directory(&self) -> Result<RunDirectory, Failure> {
        output::directory(self.output.as_deref(), "tables", self.papers)
    }
}

/// The flags for a prediction, which takes the place of a measurement.
#[derive(Debug, Args)]
#[command(next_help_heading = "Prediction")]
pub(super) struct Prediction {
    /// Predict memory and cache fit, and recommend a design; measure no design
    #[arg(
        long,
        long_help = "Predict memory and cache fit, and recommend a design, without measuring designs. For a table of the given key, \
                     parameters and size, or for each table of a program, the prediction contains the bytes that every \
                     storage takes at the given fill, how many entries fit each cache of this machine (the size of \
                     the last one is measured by latency, in a second or two, unless --cache says it), the fill from \
                     which static storage takes less memory than dynamic, and the recommended design with the reason. \
                     The model consists of equations 1 to 5 of Simon et al., ANCS 2021; the tests of the crate `tables` check them against \
                     the bytes that tables allocate."
    )]
    pub(super) predict: bool,
    /// The size of a cache, such as 15M, instead of this machine's caches
    #[arg(long, value_name = "BYTES", value_parser = binary, requires = "predict")]
    pub(super) cache: Option<usize>,
    /// Assume that packets on different cores write the same entry, and that no write may be lost
    #[arg(long, requires = "predict")]
    pub(super) shared: bool,
    /// Assume that packets write entries: action parameters are references (@__ref)
    #[arg(long, requires = "predict", conflicts_with = "program")]
    pub(super) references: bool,
}

/// Returns every kind of synchronisation between readers and writers of a table.
fn all_sharings() -> Vec<Sharing> {
    let double = [Wait::PAPER, Wait::Quiescent].map(Sharing::DoubleBuffer);
    [&double[..], &[Sharing::Optimistic, Sharing::Sharded]].concat()
}

/// Returns the kinds of synchronisation for which a word of `--sync` stands, or `None` for an
/// unknown word.
fn sharings_of(word: &str) -> Option<Vec<Sharing>> {
    Some(match word {
        "double-buffer" => [Wait::PAPER, Wait::Quiescent].map(Sharing::DoubleBuffer).to_vec(),
        "double-buffer:quiescent" => vec![Sharing::DoubleBuffer(Wait::Quiescent)],
        "optimistic" => vec![Sharing::Optimistic],
        "sharded" => vec![Sharing::Sharded],
        "all" => all_sharings(),
        _ => {
            let time = duration(word.strip_prefix("double-buffer:")?).ok()?;
            vec![Sharing::DoubleBuffer(Wait::Fixed(time))]
        }
    })
}

/// Parses the duration of a turn, such as `20ms`, which must be at least 100 us.
fn time(word: &str) -> Result<Duration, String> {
    match duration(word)? {
        time if time < Duration::from_micros(100) => {
            Err("a turn takes at least 100us, since a shorter one would measure the clock"
                .to_owned())
        }
        time => Ok(time),
    }
}

fn fill(word: &str) -> Result<Fill, &'static str> {
    let percent = word.trim_end_matches('%').trim().parse::<f64>().ok();
    let fill = percent.and_then(|percent| Fill::new(percent / 100.0));
    fill.ok_or("expected a percentage from 0 to 100")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_manual_is_complete() {
        Arguments::command().debug_assert();
        let manual = Arguments::command().render_long_help().to_string();
        for word in ["digest", "2^8..2^20:4", "Exit status", "not offered", "misses"] {
            assert!(manual.contains(word), "{word}");
        }
    }

    #[test]
    fn lists_name_each_thing_once() {
        let given = |line: &str| Arguments::try_parse_from(line.split(' '));
        let some =
            given("tables --storage inline,static --storage all --sync double-buffer:50us,sharded")
                .expect("understood");
        assert_eq!(some.designs.storages().len(), 4);
        let wait = Wait::Fixed(Duration::from_micros(50));
        assert_eq!(some.designs.sharings(), [Sharing::DoubleBuffer(wait), Sharing::Sharded]);
        for line in ["tables --storage fast", "tables --storage ,", "tables --cores 0"] {
            assert!(given(line).is_err(), "{line}");
        }
        let bits = given("tables --key-bits 8,16").expect("understood");
        assert_eq!(bits.shapes.key_bits(), Some(vec![8, 16]));
        assert!(!bits.designs.are_chosen() && some.designs.are_chosen());
    }
}
