//! Reads and writes the files of a campaign. The writer appends one block (a run of packets) after
//! the other, and the reader loads the whole campaign into memory.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::control::{self, CONTROL_BYTES, Control};
use super::journal::{JournalLine, SAMPLE_BYTES, decode, encode};
use super::{
    Block, Campaign, CellId, Counts, Description, DescriptionError, Machine, MeasuredBlock, Note,
    RateTrial, Sample,
};

const DESCRIPTION: &str = "campaign.json";
const JOURNAL: &str = "journal.jsonl";
const DELAYS: &str = "delays.bin";

/// The reason why results of a campaign cannot be written to disk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// A file of the campaign cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Io {
        /// The path of the file that cannot be written.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The directory already contains a campaign.
    #[error("{} has a campaign; resume it, or name another directory", path.display())]
    Exists {
        /// The path of the directory that contains the campaign.
        path: PathBuf,
    },
    /// The description of the campaign is invalid.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// A block (one run of packets) names an unknown cell, or has more samples or control windows
    /// than a block can hold.
    #[error("a block of cell {} with {samples} samples cannot be kept: there are {cells} cells", cell.0)]
    Block {
        /// The unknown or overfull cell (the set of functions) to which the block belongs.
        cell: CellId,
        /// The number of samples (packets with their delays) in the block.
        samples: usize,
        /// The number of cells (sets of functions under one setting) in the campaign.
        cells: usize,
    },
}

/// The reason why a campaign cannot be read from disk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The directory contains no campaign.
    #[error("{} {found}; name a run directory that `planimeter device measure` or `device import` left", directory.display())]
    None {
        /// The path where a campaign was expected.
        directory: PathBuf,
        /// The description of what was found instead of a campaign, such as a directory without a
        /// result.
        found: Found,
    },
    /// A file of the campaign cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The path of the file that cannot be read.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// A line of a file is not the expected JSON.
    #[error("{}, line {line}: {cause}", path.display())]
    Json {
        /// The path of the file with the unexpected line.
        path: PathBuf,
        /// The number of the unexpected line, from 1.
        line: usize,
        /// The message of the JSON parser.
        cause: String,
    },
    /// The description in `campaign.json` is invalid.
    #[error("{}: {source}", path.display())]
    Description {
        /// The path of the file with the invalid description.
        path: PathBuf,
        /// The reason why the description is invalid.
        source: DescriptionError,
    },
    /// The delays in `delays.bin` do not match the lines of the journal.
    #[error("{}: {what}; the file was changed or cut since it was measured", path.display())]
    Delays {
        /// The path of the file with the delays.
        path: PathBuf,
        /// A description of the difference between the file of delays and the journal.
        what: String,
    },
}

/// The kind of file or directory at a path where no campaign was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Found {
    /// There is neither a file nor a directory.
    Nothing,
    /// There is a file instead of a directory.
    File,
    /// There is a directory with the result of another command.
    OtherResult,
    /// There is a directory without a result.
    Directory,
}

impl Found {
    fn at(path: &Path) -> Self {
        match path.metadata() {
            Err(_) => Self::Nothing,
            Ok(data) if !data.is_dir() => Self::File,
            Ok(_) if path.join("result.json").exists() => Self::OtherResult,
            Ok(_) => Self::Directory,
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "does not exist",
            Self::File => "is a file, and a campaign is a directory",
            Self::OtherResult => "has a result, and no campaign (campaign.json) that it came from",
            Self::Directory => "has no campaign (campaign.json)",
        })
    }
}

/// A run of packets to be recorded: a [`Block`] without the fields that the writer computes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockPlan {
    /// The cell (a set of functions under one setting) through which the packets went.
    pub cell: CellId,
    /// The number of times that the campaign had measured the cell before this run of packets.
    pub repetition: u32,
    /// The time from the start of the campaign to the first packet of the run, in nanoseconds.
    pub started_ns: u64,
    /// The time from the first packet of the run to the last, in nanoseconds.
    pub duration_ns: u64,
    /// The rate at which packets were sent, in packets per second, or `None` if each packet waited
    /// for the arrival of the previous one.
    pub packets_per_second: Option<f64>,
    /// The counts of the block's packets, such as lost ones.
    pub counts: Counts,
    /// The state of the measuring machine around the block, such as its speed, or `None` if it was
    /// not observed.
    pub machine: Option<Machine>,
}

/// A writer that appends measurements to the files of a campaign.
///
/// Appended data survive the end of this process at once, but a crash of the machine only after
/// [`Writer::sync`]. The writer does not sync by itself, because the disk would disturb the
/// measurement that follows.
#[derive(Debug)]
pub struct Writer {
    directory: PathBuf,
    cells: usize,
    journal: File,
    delays: File,
    offset: u64,
}

impl Writer {
    /// Creates the files of a new campaign in an existing directory.
    ///
    /// # Errors
    /// Returns a [`WriteError`] if the description is invalid, the directory contains a campaign,
    /// or a file cannot be written.
    pub fn create(directory: &Path, description: &Description) -> Result<Self, WriteError> {
        description.check()?;
        let path = directory.join(DESCRIPTION);
        if path.exists() {
            return Err(WriteError::Exists { path: directory.to_owned() });
        }
        let failed = |source| WriteError::Io { path: path.clone(), source };
        let mut text =
            serde_json::to_string_pretty(description).map_err(|error| failed(error.into()))?;
        text.push('\n');
        // Because of the renaming, the description appears completely or not at all.
        let partial = directory.join("campaign.json.partial");
        fs::write(&partial, text).and_then(|()| fs::rename(&partial, &path)).map_err(failed)?;
        Self::open(directory, description.cells.len(), 0, 0)
    }

    /// Opens the files of an interrupted campaign to append to them. Returns the writer, and the
    /// campaign up to the last complete line of its journal. Data after this line are truncated.
    ///
    /// # Errors
    /// Returns a [`ReadError`] as the outer error if the campaign cannot be read, and a
    /// [`WriteError`] as the inner error if its files cannot be opened for writing.
    pub fn resume(directory: &Path) -> Result<Result<(Self, Campaign), WriteError>, ReadError> {
        let (campaign, whole) = read(directory)?;
        let end = campaign.blocks.iter().map(|measured| end_of(&measured.block)).max().unwrap_or(0);
        let writer = Self::open(directory, campaign.description.cells.len(), whole, end);
        Ok(writer.map(|writer| (writer, campaign)))
    }

    fn open(
        directory: &Path,
        cells: usize,
        journal_end: u64,
        offset: u64,
    ) -> Result<Self, WriteError> {
        let open = |name: &str, end: u64| {
            let path = directory.join(name);
            let file =
                OpenOptions::new().create(true).truncate(false).write(true).open(&path).and_then(
                    |mut file| {
                        file.set_len(end)?;
                        file.seek(SeekFrom::End(0))?;
                        Ok(file)
                    },
                );
            file.map_err(|source| WriteError::Io { path, source })
        };
        Ok(Self {
            directory: directory.to_owned(),
            cells,
            journal: open(JOURNAL, journal_end)?,
            delays: open(DELAYS, offset)?,
            offset,
        })
    }

    /// Appends a run of packets: first its delays and control windows, then its line in the
    /// journal. Returns the line.
    ///
    /// # Errors
    /// Returns a [`WriteError`] if the cell is unknown, the samples are too many, or a file cannot
    /// be written.
    pub fn block(
        &mut self,
        plan: &BlockPlan,
        samples: &[Sample],
        controls: &[Control],
    ) -> Result<Block, WriteError> {
        let known = (plan.cell.0 as usize) < self.cells;
        let counts = u32::try_from(samples.len()).ok().zip(u32::try_from(controls.len()).ok());
        let Some((count, control_count)) = counts.filter(|_| known) else {
            return Err(WriteError::Block {
                cell: plan.cell,
                samples: samples.len(),
                cells: self.cells,
            });
        };
        let mut bytes = encode(samples);
        bytes.extend(control::encode(controls));
        let block = Block {
            cell: plan.cell,
            repetition: plan.repetition,
            started_ns: plan.started_ns,
            duration_ns: plan.duration_ns,
            packets_per_second: plan.packets_per_second,
            counts: plan.counts,
            machine: plan.machine,
            samples: count,
            controls: control_count,
            offset: self.offset,
            checksum: crc32fast::hash(&bytes),
        };
        let path = || self.directory.join(DELAYS);
        self.delays.write_all(&bytes).map_err(|source| WriteError::Io { path: path(), source })?;
        self.offset = end_of(&block);
        self.line(&JournalLine::Block(block.clone()))?;
        Ok(block)
    }

    /// Appends the result of sending packets at one rate to the journal.
    ///
    /// # Errors
    /// Returns a [`WriteError`] if the journal cannot be written.
    pub fn rate(&mut self, trial: &RateTrial) -> Result<(), WriteError> {
        self.line(&JournalLine::Rate(trial.clone()))
    }

    /// Appends a remark on an event to the journal.
    ///
    /// # Errors
    /// Returns a [`WriteError`] if the journal cannot be written.
    pub fn note(&mut self, note: &Note) -> Result<(), WriteError> {
        self.line(&JournalLine::Note(note.clone()))
    }

    /// Waits until everything that was appended is on the disk.
    ///
    /// # Errors
    /// Returns a [`WriteError`] if the disk fails.
    pub fn sync(&mut self) -> Result<(), WriteError> {
        // The journal is synced last, because its lines are valid only if their delays are on the
        // disk.
        for (file, name) in [(&self.delays, DELAYS), (&self.journal, JOURNAL)] {
            let failed = |source| WriteError::Io { path: self.directory.join(name), source };
            file.sync_all().map_err(failed)?;
        }
        Ok(())
    }

    fn line(&mut self, entry: &JournalLine) -> Result<(), WriteError> {
        let failed = |source| WriteError::Io { path: self.directory.join(JOURNAL), source };
        let mut line = serde_json::to_string(entry).map_err(|error| failed(error.into()))?;
        line.push('\n');
        self.journal.write_all(line.as_bytes()).map_err(failed)
    }
}

impl Campaign {
    /// Reads a campaign from its directory. An incomplete last line of the journal, which an
    /// interruption leaves, is ignored.
    ///
    /// # Errors
    /// Returns a [`ReadError`] if a file is missing, unreadable or inconsistent.
    pub fn read(directory: &Path) -> Result<Self, ReadError> {
        read(directory).map(|(campaign, _)| campaign)
    }
}

/// Returns the campaign in a directory, and the length in bytes of the complete lines of its
/// journal.
fn read(directory: &Path) -> Result<(Campaign, u64), ReadError> {
    let path = directory.join(DESCRIPTION);
    if !path.exists() {
        let found = Found::at(directory);
        return Err(ReadError::None { directory: directory.to_owned(), found });
    }
    let description = read_description(&path)?;
    let path = directory.join(JOURNAL);
    let journal =
        input::read(&path).map_err(|source| ReadError::Io { path: path.clone(), source })?;
    let whole = journal.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let mut delays = Delays::open(directory.join(DELAYS))?;
    let mut campaign =
        Campaign { description, blocks: Vec::new(), rates: Vec::new(), notes: Vec::new() };
    let cells = campaign.description.cells.len();
    for (line, text) in (1..)
        .zip(journal[..whole].split(|byte| *byte == b'\n'))
        .filter(|(_, text)| !text.is_empty())
    {
        let wrong = |cause: String| ReadError::Json { path: path.clone(), line, cause };
        let entry: JournalLine =
            serde_json::from_slice(text).map_err(|error| wrong(error.to_string()))?;
        let known = |cell: CellId| match (cell.0 as usize) < cells {
            true => Ok(()),
            false => Err(wrong(format!("cell {} does not exist: there are {cells} cells", cell.0))),
        };
        match entry {
            JournalLine::Block(block) => {
                known(block.cell)?;
                let (samples, controls) = delays.of(&block)?;
                campaign.blocks.push(MeasuredBlock { block, samples, controls });
            }
            JournalLine::Rate(trial) => {
                known(trial.cell)?;
                campaign.rates.push(trial);
            }
            JournalLine::Note(note) => campaign.notes.push(note),
        }
    }
    Ok((campaign, whole as u64))
}

fn read_description(path: &Path) -> Result<Description, ReadError> {
    let text =
        input::read_text(path).map_err(|source| ReadError::Io { path: path.to_owned(), source })?;
    let description: Description = serde_json::from_str(&text).map_err(|error| {
        ReadError::Json { path: path.to_owned(), line: error.line(), cause: error.to_string() }
    })?;
    description
        .check()
        .map_err(|source| ReadError::Description { path: path.to_owned(), source })?;
    Ok(description)
}

/// The file `delays.bin` of a campaign, opened for reading.
struct Delays {
    path: PathBuf,
    file: File,
    length: u64,
}

impl Delays {
    fn open(path: PathBuf) -> Result<Self, ReadError> {
        let opened = File::open(&path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (length, file) =
            opened.map_err(|source| ReadError::Io { path: path.clone(), source })?;
        Ok(Self { path, file, length })
    }

    fn of(&mut self, block: &Block) -> Result<(Vec<Sample>, Vec<Control>), ReadError> {
        let wrong = |path: &Path, what: &str| ReadError::Delays {
            path: path.to_owned(),
            what: format!("the block at byte {} {what}", block.offset),
        };
        if block.offset.checked_add(bytes_of(block)).is_none_or(|end| end > self.length) {
            return Err(wrong(&self.path, "is incomplete"));
        }
        let mut bytes = vec![0; usize::try_from(bytes_of(block)).unwrap_or(usize::MAX)];
        let result = self
            .file
            .seek(SeekFrom::Start(block.offset))
            .and_then(|_| self.file.read_exact(&mut bytes));
        result.map_err(|source| ReadError::Io { path: self.path.clone(), source })?;
        if crc32fast::hash(&bytes) != block.checksum {
            return Err(wrong(&self.path, "has another checksum"));
        }
        let end = (block.samples as usize).saturating_mul(SAMPLE_BYTES).min(bytes.len());
        let (samples, controls) = bytes.split_at(end);
        Ok((decode(samples), control::decode(controls)))
    }
}

fn bytes_of(block: &Block) -> u64 {
    u64::from(block.samples) * SAMPLE_BYTES as u64
        + u64::from(block.controls) * CONTROL_BYTES as u64
}

fn end_of(block: &Block) -> u64 {
    block.offset.saturating_add(bytes_of(block))
}

#[cfg(test)]
mod tests;
