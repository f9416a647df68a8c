//! The traces of the packets in scripts: the flags that request them, and the files and the page to
//! which they are written.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use pipeline::Detail;
use report::RunDirectory;
use stf::Report;
use traces::{Contents, DEFAULT_OUTCOMES, Format, Trace};

use crate::failure::Failure;
use crate::parsers::one_of;
use crate::report::traces as page;

/// The flags of traces.
#[derive(Debug, Args)]
pub(super) struct Tracing {
    /// Print the trace of each packet: what each table, action and copy did; with =FILE, write the
    /// traces to FILE instead
    #[arg(long, value_name = "FILE", require_equals = true)]
    trace: Option<Option<PathBuf>>,
    /// The form of traces: lines, a line of JSON for each packet, or messages
    /// planimeter.trace.v1.Trace, each behind its length as a varint
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = one_of([
        ("text", Format::Text),
        ("json", Format::Json),
        ("proto", Format::Proto),
    ]))]
    trace_format: Format,
    /// Trace everything that could happen to each packet: what follows each member of a group that
    /// its hash could choose. The members are tried, and the packet is then processed as usual
    #[arg(long)]
    all_outcomes: bool,
    /// The largest number of outcomes of one packet
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = DEFAULT_OUTCOMES,
        requires = "all_outcomes",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    outcomes_limit: u64,
    /// Add parser states, branches with their lines, assignments, externs and emitted headers to
    /// the lines of traces
    #[arg(long, short)]
    verbose: bool,
    /// Write the traces to a run directory, with a page that draws them
    #[arg(long, short, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
}

impl Tracing {
    /// Returns which details traces contain, or `None` if packets are not traced.
    pub(super) fn contents(&self) -> Option<Contents> {
        let is_traced = self.prints() || self.trace.is_some() || self.output.is_some();
        let outcomes = self.all_outcomes.then_some(self.outcomes_limit);
        is_traced.then_some(Contents { detail: Detail::Values, outcomes })
    }

    /// Returns whether traces are printed on standard output.
    fn prints(&self) -> bool {
        match &self.trace {
            Some(file) => file.is_none(),
            None => self.output.is_none() && (self.all_outcomes || self.verbose),
        }
    }

    fn format(&self) -> Format {
        match self.trace_format {
            Format::Text if self.verbose => Format::VerboseText,
            other => other,
        }
    }
}

/// The outputs to which the traces of a run are written.
pub(super) struct Kept {
    format: Format,
    prints: bool,
    file: Option<(PathBuf, File)>,
    directory: Option<RunDirectory>,
    /// The traces for the page in the run directory.
    traces: Vec<Trace>,
}

impl Kept {
    /// Creates the file and the directory that the command line names.
    pub(super) fn new(arguments: &Tracing) -> Result<Self, Failure> {
        if arguments.prints() && arguments.trace_format == Format::Proto {
            return Err(Failure::input(
                "--trace-format proto is binary and is not printed; name a file: --trace=FILE",
            ));
        }
        let file = arguments.trace.iter().flatten().next().map(|path| {
            let file = File::create(path).map_err(|error| unwritable(path, &error))?;
            Ok((path.clone(), file))
        });
        let directory = arguments.output.as_deref();
        let directory =
            directory.map(|path| RunDirectory::create(Some(path)).map_err(Failure::input));
        Ok(Self {
            format: arguments.format(),
            prints: arguments.prints(),
            file: file.transpose()?,
            directory: directory.transpose()?,
            traces: Vec::new(),
        })
    }

    /// Prints the traces of a script, or writes them to the file.
    pub(super) fn keep(&mut self, script: &Path, report: &Report) -> Result<(), Failure> {
        for (index, (line, trace)) in report.trace.iter().enumerate() {
            let mut origin = format!("{}:{line}", script.display());
            if let Some(switch) = report.passed.get(index) {
                origin += &format!(": {switch}");
            }
            let trace = Trace { origin, ..trace.clone() };
            if self.prints {
                let bytes = self.format.bytes(&trace);
                print!("{}", String::from_utf8_lossy(&bytes));
            }
            if let Some((path, file)) = &mut self.file {
                let written = file.write_all(&self.format.bytes(&trace));
                written.map_err(|error| unwritable(path, &error))?;
            }
            if self.directory.is_some() {
                self.traces.push(trace);
            }
        }
        Ok(())
    }

    /// Writes the run directory, if the command line names one.
    pub(super) fn finish(self, program: &Path, passed: bool) -> Result<(), Failure> {
        let Some(directory) = self.directory else { return Ok(()) };
        let path = directory.path().join(page::FILE);
        let json: Vec<u8> =
            self.traces.iter().flat_map(|trace| Format::Json.bytes(trace)).collect();
        std::fs::write(&path, json).map_err(|error| unwritable(&path, &error))?;
        let title = format!("Packets through {}", program.display());
        let verdict = match passed {
            true => "All packets left as the scripts expect.",
            false => "Packets differ from what the scripts expect: see the output of the command.",
        };
        let page = page::page(&title, &[verdict], &self.traces);
        directory.write_page(&page, &[]).map_err(Failure::run)?;
        println!("Report: {}", directory.path().join("report.html").display());
        Ok(())
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::input(format!("cannot write {}: {error}", path.display()))
}
