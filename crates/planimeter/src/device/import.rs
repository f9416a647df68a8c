//! `planimeter device import`: converts measurements of other tools to a campaign, as
//! `planimeter device measure` writes it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use clap::Args;
use device::campaign::{
    BlockPlan, Cell, CellId, Clock, ClockSource, Description, Device, Dimension, Function,
    FunctionName, Note, Origin, Picoseconds, SCHEMA, Setting, Writer,
};
use device::import::{Identity, Imported, delays, histogram, match_captures};
use report::directory::Papers;
use serde::Deserialize;
use statistics::Ordered;

use super::capture;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
The file says which measurement is in which files:

    device = \"Zodiac FX\"
    packet-bytes = 64
    rules = 1                        # 1 where nothing is said
    line-rate = 100_000_000          # bit/s, where known
    tick-ns = 7.5                    # resolution; else the least step seen
    baseline = { match = \"port\", action = \"output\" }

    [[cell]]                         # the baseline
    # Delays, one a line, or packet,delay. Several files are repetitions.
    delays = [\"f0.csv\"]
    # Else the unit that the head of the column names, as latency_us does;
    # else ns.
    unit = \"us\"

    [[cell]]
    match = \"five-tuple\"
    # delay,count, as MoonGen writes it.
    histogram = [\"five-tuple.csv\"]

    [[cell]]
    match = \"five-tuple\"
    action = \"set-nw-src\"
    # pcap or pcapng from taps.
    before = [\"in.pcap\"]
    after = [\"out.pcapng\"]
    # By what packets are known: the last 16 bytes if nothing is said; or
    # { tail = 8 }.
    identity = { offset = 42, length = 4 }

File names are relative to the file itself.";

/// The content of the TOML file that assigns files to measurements.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Sources {
    device: String,
    packet_bytes: u32,
    #[serde(default = "one")]
    rules: u32,
    line_rate: Option<u64>,
    tick_ns: Option<f64>,
    baseline: Names,
    cell: Vec<CellSources>,
}

fn one() -> u32 {
    1
}

/// The match and the action of a measured combination, as the user writes them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    #[serde(rename = "match")]
    matched: Option<String>,
    action: Option<String>,
}

/// The table `[[cell]]`: a combination of functions, and the files with its measurements.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct CellSources {
    #[serde(rename = "match")]
    matched: Option<String>,
    action: Option<String>,
    #[serde(default)]
    delays: Vec<PathBuf>,
    #[serde(default)]
    histogram: Vec<PathBuf>,
    #[serde(default)]
    before: Vec<PathBuf>,
    #[serde(default)]
    after: Vec<PathBuf>,
    unit: Option<Unit>,
    identity: Option<IdentityOf>,
}

/// The unit of the delays in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Ps,
    Ns,
    Us,
    Ms,
    S,
}

impl Unit {
    /// Returns the name of this unit of time, and its length in picoseconds.
    fn about(self) -> (&'static str, f64) {
        match self {
            Self::Ps => ("ps", 1.0),
            Self::Ns => ("ns", 1e3),
            Self::Us => ("us", 1e6),
            Self::Ms => ("ms", 1e9),
            Self::S => ("s", 1e12),
        }
    }

    /// Returns the unit of time that the heading of a column names, as in `latency_us` or `delay
    /// [ns]`, or `None` if it names none.
    fn of_head(head: &str) -> Option<Self> {
        let words = head.split(|c: char| !c.is_alphabetic()).map(str::to_lowercase);
        let of = |word: String| match word.as_str() {
            "ps" | "picoseconds" => Some(Self::Ps),
            "ns" | "nanoseconds" => Some(Self::Ns),
            "us" | "\u{b5}s" | "\u{3bc}s" | "microseconds" => Some(Self::Us),
            "ms" | "milliseconds" => Some(Self::Ms),
            "s" | "sec" | "seconds" => Some(Self::S),
            _ => None,
        };
        words.filter_map(of).next_back()
    }
}

/// The bytes by which the same packet is recognised in both captures: the last `tail` bytes, or
/// `length` bytes from an offset on.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum IdentityOf {
    Tail { tail: usize },
    At { offset: usize, length: usize },
}

/// The arguments of `planimeter device import`.
#[derive(Debug, Args)]
#[command(
    about = "Make a campaign of delays that other tools measured: CSV, histograms, captures",
    after_help = EXAMPLES
)]
pub(super) struct Arguments {
    /// A file that says which measurement is in which files
    #[arg(value_name = "FILE.toml")]
    sources: PathBuf,
    /// The run directory of the campaign [runs/<time>-device-import]
    #[arg(long, short, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let file = &arguments.sources;
    let wrong =
        |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", file.display()));
    let text = input::read_text(file).map_err(|error| wrong(&error))?;
    let sources: Sources = toml::from_str(&text).map_err(|error| match text.contains('=') {
        true => wrong(&error),
        // A text without `=` is not TOML, and probably a file of delays.
        false => wrong(
            &"this file does not say which measurement is in which files; write a FILE.toml that does (planimeter \
              device import --help shows one)",
        ),
    })?;
    let folder = file.parent().unwrap_or(Path::new("."));
    let imported =
        sources.cell.iter().map(|cell| cell.read(folder)).collect::<Result<Vec<_>, _>>()?;
    let tick = match sources.tick_ns {
        Some(tick) => ticks(tick).map_err(|error| wrong(&error))?,
        None => {
            let tick = least_step(imported.iter().flatten().map(|(_, block)| block));
            eprintln!(
                "planimeter: tick-ns is not set; the least difference between delays, {tick}, is taken as the \
                 resolution of the clock"
            );
            tick
        }
    };
    let description = sources.description(tick);
    description.check().map_err(|error| wrong(&error))?;
    let directory =
        output::directory(arguments.output.as_deref(), "device-import", Papers::default())?;
    write_blocks(directory.path(), &description, &imported)?;
    println!("Campaign: {}", directory.path().display());
    Ok(ExitCode::SUCCESS)
}

/// Writes the imported measurements into `directory` as a campaign. Prints a line for each block,
/// which is one repetition of a measured combination of functions, and for each kind of remark.
fn write_blocks(
    directory: &Path,
    description: &Description,
    imported: &[Vec<(PathBuf, Imported)>],
) -> Result<(), Failure> {
    let mut writer = Writer::create(directory, description).map_err(Failure::run)?;
    // The repetitions are taken to have run in turns over all cells, since the files do not say
    // otherwise.
    let repetitions = imported.iter().map(Vec::len).max().unwrap_or(0);
    let mut started_ns = 0;
    let mut remarks: BTreeMap<&String, Vec<&PathBuf>> = BTreeMap::new();
    for repetition in 0..repetitions {
        for (cell, blocks) in (0..).zip(imported) {
            let Some((name, block)) = blocks.get(repetition) else { continue };
            let plan = BlockPlan {
                cell: CellId(cell),
                repetition: u32::try_from(repetition).unwrap_or(u32::MAX),
                started_ns,
                duration_ns: block.duration_ns,
                packets_per_second: None,
                counts: block.counts,
                machine: None,
            };
            writer.block(&plan, &block.samples, &[]).map_err(Failure::run)?;
            for remark in &block.remarks {
                let text = format!("{}: {remark}", name.display());
                writer.note(&Note { at_ns: started_ns, text }).map_err(Failure::run)?;
                remarks.entry(remark).or_default().push(name);
            }
            let cell = &description.cells[cell as usize];
            let median =
                Ordered::of(block.samples.iter().map(|sample| sample.delay).collect()).at(0.5);
            let median = median.map_or_else(String::new, |median| {
                format!(
                    "; median {}",
                    report::quantity(median.0 as f64 / 1e12, report::plot::Unit::Seconds)
                )
            });
            // Losses can be observed only if the packets are numbered. Otherwise their number is
            // not printed.
            let counts = match block.numbered {
                true => block.counts.to_string(),
                false => format!("{} delays", block.counts.received),
            };
            println!("{cell} {}: {counts}{median}", name.display());
            started_ns += block.duration_ns.max(1);
        }
    }
    for (remark, files) in remarks {
        let [first, others @ ..] = files.as_slice() else { continue };
        let others = match others.len() {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        eprintln!("planimeter: {}{others}: {remark}", first.display());
    }
    Ok(())
}

/// Splits a line of a file into its columns, at commas, semicolons and tabs.
fn column(line: &str) -> impl Iterator<Item = String> {
    line.split([',', ';', '\t']).map(|text| text.trim().to_owned())
}

/// Converts the resolution of a clock from nanoseconds to picoseconds. Returns an error if it is
/// not plausible.
fn ticks(nanoseconds: f64) -> Result<Picoseconds, &'static str> {
    let tick = (nanoseconds * 1000.0).round();
    match (0.0..1e15).contains(&tick) {
        true => Ok(Picoseconds(tick as i64)),
        false => Err("tick-ns is not a resolution of a clock"),
    }
}

/// Returns the smallest difference between two different delays, or 0 if all are equal. It
/// estimates the resolution of the clock that measured the delays.
fn least_step<'b>(blocks: impl Iterator<Item = &'b Imported>) -> Picoseconds {
    let mut delays: Vec<i64> =
        blocks.flat_map(|block| block.samples.iter().map(|sample| sample.delay.0)).collect();
    delays.sort_unstable();
    delays.dedup();
    let steps = delays.windows(2).map(|pair| pair[1] - pair[0]);
    Picoseconds(steps.min().unwrap_or(0))
}

impl Sources {
    fn description(&self, tick: Picoseconds) -> Description {
        let function = |name: &String, dimension| Function {
            name: FunctionName::new(name.as_str()),
            dimension,
            description: None,
            consists_of: Vec::new(),
        };
        let mut functions: Vec<Function> = Vec::new();
        let named = self.cell.iter().flat_map(|cell| {
            [(&cell.matched, Dimension::Match), (&cell.action, Dimension::Action)]
        });
        for (name, dimension) in named {
            let in_baseline = |name: &String| {
                self.baseline.matched.as_ref() == Some(name)
                    || self.baseline.action.as_ref() == Some(name)
            };
            if let Some(name) = name.as_ref().filter(|name| !in_baseline(name)) {
                let new = function(name, dimension);
                if !functions.contains(&new) {
                    functions.push(new);
                }
            }
        }
        let beyond = |name: &Option<String>| {
            let name = FunctionName::new(name.as_ref()?.as_str());
            functions.iter().any(|function| function.name == name).then_some(name)
        };
        let setting = Setting {
            packet_bytes: self.packet_bytes,
            rules: self.rules,
            conditions: BTreeMap::new(),
        };
        let cell = |cell: &CellSources| Cell {
            functions: [&cell.matched, &cell.action].into_iter().filter_map(beyond).collect(),
            setting: setting.clone(),
        };
        let baseline = [
            (&self.baseline.matched, Dimension::Match),
            (&self.baseline.action, Dimension::Action),
        ];
        let files = self.cell.iter().flat_map(|cell| {
            [&cell.delays, &cell.histogram, &cell.before, &cell.after].into_iter().flatten()
        });
        Description {
            schema: SCHEMA.to_owned(),
            created: provenance::timestamp(SystemTime::now()),
            origin: Origin::Imported {
                files: files.map(|file| file.display().to_string()).collect(),
            },
            device: Device {
                name: self.device.clone(),
                driver: "import".to_owned(),
                details: BTreeMap::new(),
            },
            baseline: baseline
                .into_iter()
                .filter_map(|(name, dimension)| Some(function(name.as_ref()?, dimension)))
                .collect(),
            cells: self.cell.iter().map(cell).collect(),
            functions,
            line_rate: self.line_rate,
            clock: Clock { source: ClockSource::Unknown, tick, reference: None },
            seed: 0,
            host: BTreeMap::new(),
        }
    }
}

impl CellSources {
    /// Reads the files with the repetitions of this cell from the directory `folder`. Returns each
    /// repetition with the path of its file.
    fn read(&self, folder: &Path) -> Result<Vec<(PathBuf, Imported)>, Failure> {
        let mut blocks = Vec::new();
        // Delays are in the last column of their files, and in the first column of histograms.
        let (last, first) = (|line: &str| column(line).last(), |line: &str| column(line).next());
        for (names, read, head) in [
            (&self.delays, delays as fn(&str, f64) -> _, last as fn(&str) -> Option<String>),
            (&self.histogram, histogram, first),
        ] {
            for name in names {
                let wrong = |error: &dyn std::fmt::Display| {
                    Failure::input(format!("{}: {error}", name.display()))
                };
                let text = input::read_text(&folder.join(name)).map_err(|error| wrong(&error))?;
                let mut content =
                    text.lines().map(|line| line.split('#').next().unwrap_or_default());
                let head_unit = content.find(|line| !line.trim().is_empty()).and_then(head);
                let head_unit = head_unit.and_then(|head| Unit::of_head(&head));
                let unit = match (self.unit, head_unit) {
                    (Some(unit), Some(head_unit)) if unit != head_unit => {
                        return Err(wrong(&format!(
                            "its head names {}, and the cell has unit = \"{}\": which one is it?",
                            head_unit.about().0,
                            unit.about().0
                        )));
                    }
                    (Some(unit), _) | (None, Some(unit)) => unit,
                    (None, None) => Unit::Ns,
                };
                let read = read(&text, unit.about().1).map_err(|error| wrong(&error))?;
                blocks.push((name.clone(), read));
            }
        }
        if self.before.len() != self.after.len() {
            return Err(Failure::input(
                "a cell has as many captures `before` the device as `after` it",
            ));
        }
        let identity = match self.identity {
            None => Identity::Tail(16),
            Some(IdentityOf::Tail { tail }) => Identity::Tail(tail),
            Some(IdentityOf::At { offset, length }) => Identity::At { offset, length },
        };
        for (before, after) in self.before.iter().zip(&self.after) {
            let (sent, received) =
                (capture::read(&folder.join(before))?, capture::read(&folder.join(after))?);
            let imported =
                match_captures(&capture::packets(&sent), &capture::packets(&received), identity);
            blocks.push((after.clone(), imported));
        }
        if blocks.is_empty() {
            return Err(Failure::input(
                "a cell has no files: give delays, histogram, or before and after",
            ));
        }
        Ok(blocks)
    }
}
