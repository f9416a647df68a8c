//! `--delays`: writes the delay of each packet that crosses a network as CSV.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use stf::{Crossing, Report};

use crate::failure::Failure;

/// The CSV file with the delays of packets in all scripts.
pub(super) struct File {
    path: PathBuf,
    writer: BufWriter<fs::File>,
}

impl File {
    /// Creates the file with the names of its columns.
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        let created = fs::File::create(path).map(BufWriter::new).and_then(|mut writer| {
            writeln!(writer, "script,line,from,to,bytes,entered_ns,left_ns,delay_ns")?;
            Ok(writer)
        });
        let writer = created
            .map_err(|error| Failure::input(format!("--delays {}: {error}", path.display())))?;
        Ok(Self { path: path.to_owned(), writer })
    }

    /// Adds a line for each packet that crossed the network, in the order in which the packets left
    /// it.
    pub(super) fn add(&mut self, script: &Path, report: &Report) -> Result<(), Failure> {
        let mut write = || -> io::Result<()> {
            for Crossing { line, from, to, entered, left, length } in &report.crossings {
                let [from, to] = [from, to].map(|port| report.port(*port));
                let (entered, left) = (entered.as_nanos(), left.as_nanos());
                let delay = left.saturating_sub(entered);
                let script = script.display();
                writeln!(
                    self.writer,
                    "{script},{line},{from},{to},{length},{entered},{left},{delay}"
                )?;
            }
            Ok(())
        };
        write().map_err(|error| Failure::run(format!("{}: {error}", self.path.display())))
    }

    /// Writes the lines that are still buffered.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        let flushed = self.writer.flush();
        flushed.map_err(|error| Failure::run(format!("{}: {error}", self.path.display())))
    }
}
