//! The run directory, into which every command writes its results and its report.
//!
//! ```text
//! runs/20251121T090000Z-probe/
//!   config.toml      the configuration as resolved
//!   result.json      everything measured, see schemas/probe-result.v1.schema.json
//!   report.html      the report with tables and plots, opens offline
//!   figures/         each figure of the report as SVG, as PDF, and its data as CSV
//!   tables/          the tables of the report for LaTeX, if requested
//!   summary.csv      a row per point: mean, 95 % confidence interval and n of each metric
//!   per_second.csv   a row per point, trial and second: sent, received, rules
//!   samples.csv      a row per point, trial and sample: outstanding, CPU, memory
//!   per_switch.csv   a row per point, trial and switch
//!   histograms/      per point, trial and kind: .hlog (HDR V2) and .hgrm (distribution)
//! ```
//!
//! A run may take hours, so its directory is created before it starts, and a file that cannot be
//! written does not prevent the others. Every file appears under its name only when it is complete.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use probe::outcome::{Point, RunResult};
use provenance::Provenance;

use crate::compare::{self, Candidate, Comparison, Outcome};
use crate::histogram_files::{write_distribution, write_interval_log};
use crate::page::document::{self, Document};
use crate::page::{Page, latex};
use crate::plot::Width;
use crate::{bounds, csv, designs, html, json, models, rfc8456, throughput};

/// The directory with the output of a run.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
    /// The resolved configuration of the run as TOML, which the report shows.
    configuration: String,
    /// Whether the name of the directory was generated rather than given by the user. If so, the
    /// directory is removed if it stays empty.
    is_own: bool,
    papers: Papers,
}

/// The options for additional files in a run directory, which are meant for use in papers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Papers {
    /// The width for which the files of figures are laid out, or `None` for their width in the
    /// page.
    pub figure_width: Option<Width>,
    /// Whether the tables of the page are also written as LaTeX files, into `tables/`.
    pub latex: bool,
}

/// Removes the directory if it is empty and its name was generated, so that a run which failed
/// before it wrote anything leaves nothing behind.
impl Drop for RunDirectory {
    fn drop(&mut self) {
        if self.is_own {
            // `remove_dir` fails if the directory contains a file.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// The reason why a run directory cannot be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// The directory that the user named is not empty.
    #[error("run directory {} is not empty; name a new directory, or omit the flag for a new one under runs/", path.display())]
    NotEmpty {
        /// The path of the directory that the user named.
        path: PathBuf,
    },
    /// A file with the name of the directory exists already.
    #[error("run directory {} is a file; name a directory", path.display())]
    NotADirectory {
        /// The path of the file that has the name of the directory.
        path: PathBuf,
    },
    /// The directory cannot be created or read.
    #[error("cannot create run directory {}: {source}", path.display())]
    Io {
        /// The path of the run directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// The error that some files of a run directory could not be written. The other files were
/// written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", list(.failures))]
pub struct WriteError {
    /// The files that could not be written. There is at least one.
    pub failures: Vec<FileFailure>,
    /// The paths of the files that were written in spite of the failures.
    pub written: Vec<PathBuf>,
}

/// A file that could not be written.
#[derive(Debug)]
pub struct FileFailure {
    /// The path of the file that could not be written.
    pub path: PathBuf,
    /// The error of the operating system.
    pub cause: io::Error,
}

impl RunDirectory {
    /// Creates the directory of a controller benchmark before the run starts, so that a bad path
    /// fails early. The directory `given` must be new or empty. If it is `None`, the directory is
    /// `runs/<UTC time>-probe`.
    ///
    /// # Errors
    /// Returns a [`CreateError`] if the directory cannot be created or used.
    pub fn create(given: Option<&Path>) -> Result<Self, CreateError> {
        Self::create_for(given, "probe")
    }

    /// Creates the directory for the run of another command: the given directory, or
    /// `runs/<UTC time>-<verb>`.
    ///
    /// # Errors
    /// Returns a [`CreateError`] if the directory cannot be created or used.
    pub fn create_for(given: Option<&Path>, verb: &str) -> Result<Self, CreateError> {
        let path = match given {
            Some(path) => claim(path)?,
            None => claim_new(Path::new("runs"), verb, SystemTime::now())?,
        };
        // An existing directory may not be writable.
        write_file(&path.join("writable"), Durability::Cached, |_| Ok(()))
            .and_then(|()| fs::remove_file(path.join("writable")))
            .map_err(|source| CreateError::Io { path: path.clone(), source })?;
        Ok(Self {
            path,
            configuration: String::new(),
            is_own: given.is_none(),
            papers: Papers::default(),
        })
    }

    /// Returns the directory of an earlier run that is to be continued. Nothing is created or
    /// written.
    ///
    /// # Errors
    /// Returns a [`CreateError`] if the path does not exist, cannot be read or is not a directory.
    pub fn reopen(path: &Path) -> Result<Self, CreateError> {
        let io = |source| CreateError::Io { path: path.to_owned(), source };
        if !fs::metadata(path).map_err(io)?.is_dir() {
            return Err(CreateError::NotADirectory { path: path.to_owned() });
        }
        Ok(Self {
            path: path.to_owned(),
            configuration: String::new(),
            is_own: false,
            papers: Papers::default(),
        })
    }

    /// Returns the run directory with these options for additional files.
    #[must_use]
    pub fn for_papers(self, papers: Papers) -> Self {
        let mut own = self;
        own.papers = papers;
        own
    }

    /// Returns the path of the run directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes `config.toml`, the resolved configuration. `report.html` will show it, too.
    ///
    /// # Errors
    /// Returns a [`WriteError`] if a file cannot be written.
    pub fn write_configuration(&mut self, toml: &str) -> Result<(), WriteError> {
        toml.clone_into(&mut self.configuration);
        let mut writing = Writing::default();
        writing.file(self.path.join("config.toml"), Durability::Synced, |w| {
            w.write_all(toml.as_bytes())
        });
        writing.finish().map(|_| ())
    }

    /// Writes all files of a controller benchmark: `result.json`, `report.html`, the CSV files and
    /// the raw histograms. Returns the files written. Partial and failed results are written in the
    /// same way.
    ///
    /// # Errors
    /// Returns a [`WriteError`] if a file cannot be written. The files that could be written
    /// remain.
    pub fn write(&self, result: &RunResult) -> Result<Vec<PathBuf>, WriteError> {
        let mut writing = Writing::default();
        // Files that cannot be recomputed are written first, so that they fit if the disk is nearly
        // full.
        self.result_json(&mut writing, result);
        self.histograms(&mut writing, result);
        let files: [(&str, CsvWriter); 4] = [
            ("summary.csv", csv::summary),
            ("per_second.csv", csv::per_second),
            ("samples.csv", csv::samples),
            ("per_switch.csv", csv::per_switch),
        ];
        for (name, write) in files {
            writing.file(self.path.join(name), Durability::Synced, |w| write(w, result));
        }
        self.page(&mut writing, &html::page(result, &self.configuration));
        writing.finish()
    }

    /// Writes `report.html` and its figures for earlier controller benchmarks. If there are
    /// several, their lines share plots.
    ///
    /// # Errors
    /// Returns a [`WriteError`] if a file cannot be written. The files that could be written
    /// remain.
    pub fn write_report(&self, runs: &[Candidate<'_>]) -> Result<Vec<PathBuf>, WriteError> {
        let mut writing = Writing::default();
        let page = match runs {
            [run] => html::page(run.result, &self.configuration),
            runs => html::overlay(runs),
        };
        self.page(&mut writing, &page);
        writing.finish()
    }

    /// Writes a page as `report.html`, its figures as files, and additional text files, which are
    /// given by name and content.
    ///
    /// # Errors
    /// Returns a [`WriteError`] if a file cannot be written. The files that could be written
    /// remain.
    pub fn write_page(
        &self,
        page: &Page,
        texts: &[(&str, &str)],
    ) -> Result<Vec<PathBuf>, WriteError> {
        let mut writing = Writing::default();
        self.texts(&mut writing, texts);
        self.page(&mut writing, page);
        writing.finish()
    }

    /// Writes the page of a report, and its figures as files.
    fn page(&self, writing: &mut Writing, page: &Page) {
        if self.papers.latex {
            self.latex(writing, page);
        }
        let page = page.render();
        writing.file(self.path.join("report.html"), Durability::Synced, |w| {
            w.write_all(page.html.as_bytes())
        });
        let directory = self.path.join("figures");
        if page.figures.is_empty() {
            return;
        }
        if let Err(cause) = fs::create_dir_all(&directory) {
            writing.failures.push(FileFailure { path: directory, cause });
            return;
        }
        for (number, figure) in (1..).zip(&page.figures) {
            let path = directory.join(figure.file_name(number));
            match figure.drawing(self.papers.figure_width) {
                Ok(drawing) => {
                    writing.file(path.with_extension("svg"), Durability::Cached, |w| {
                        w.write_all(drawing.svg().as_bytes())
                    });
                    writing.file(path.with_extension("pdf"), Durability::Cached, |w| {
                        w.write_all(&drawing.pdf().map_err(io::Error::other)?)
                    });
                    writing.file(path.with_extension("csv"), Durability::Cached, |w| {
                        w.write_all(figure.csv.as_bytes())
                    });
                }
                Err(error) => {
                    writing.failures.push(FileFailure { path, cause: io::Error::other(error) });
                }
            }
        }
    }

    /// Writes the tables of a page as LaTeX files, if they were requested.
    fn latex(&self, writing: &mut Writing, page: &Page) {
        let files = latex::files(page);
        let directory = self.path.join("tables");
        if files.is_empty() {
            return;
        }
        if let Err(cause) = fs::create_dir_all(&directory) {
            writing.failures.push(FileFailure { path: directory, cause });
            return;
        }
        for file in files {
            writing.file(directory.join(&file.name), Durability::Cached, |w| {
                w.write_all(file.text.as_bytes())
            });
        }
    }

    /// Writes a report of several measurements: `result.json`, `report.html` with its figures,
    /// `data/` with a CSV file for each table, and additional text files, which are given by name
    /// and content.
    ///
    /// # Errors
    /// Returns a [`WriteError`] if a file cannot be written. The files that could be written
    /// remain.
    pub fn write_document(
        &self,
        document: &Document,
        texts: &[(&str, &str)],
    ) -> Result<Vec<PathBuf>, WriteError> {
        let mut writing = Writing::default();
        self.texts(&mut writing, texts);
        writing.file(self.path.join("result.json"), Durability::Synced, |w| {
            w.write_all(document::json::to_json(document).as_bytes())
        });
        self.page(&mut writing, &document.page());
        let data = self.path.join("data");
        match fs::create_dir_all(&data) {
            Ok(()) => {
                for (name, text) in document::csv::files(document) {
                    writing.file(data.join(name), Durability::Cached, |w| {
                        w.write_all(text.as_bytes())
                    });
                }
            }
            Err(cause) => writing.failures.push(FileFailure { path: data, cause }),
        }
        writing.finish()
    }

    /// Writes a comparison of table designs: `result.json`, `report.html`, `cases.csv` and the raw
    /// histograms.
    ///
    /// # Errors
    /// Returns a [`WriteError`] if a file cannot be written. The files that could be written
    /// remain.
    pub fn write_designs(&self, run: &designs::Run<'_>) -> Result<Vec<PathBuf>, WriteError> {
        let mut writing = Writing::default();
        let texts = [("result.json", designs::to_json(run)), ("cases.csv", designs::to_csv(run))];
        self.texts(&mut writing, &texts);
        self.page(&mut writing, &designs::page(run));
        let histograms = designs::histograms(run)
            .map(|(number, what, histogram)| (format!("case-{number:03}_single"), what, histogram));
        self.write_histograms(&mut writing, histograms);
        writing.finish()
    }

    fn texts(&self, writing: &mut Writing, texts: &[(&str, impl AsRef<str>)]) {
        for (name, text) in texts {
            writing.file(self.path.join(name), Durability::Synced, |w| {
                w.write_all(text.as_ref().as_bytes())
            });
        }
    }

    fn write_histograms(
        &self,
        writing: &mut Writing,
        histograms: impl Iterator<Item = (String, String, Histogram<u64>)>,
    ) {
        let directory = self.path.join("histograms");
        if let Err(cause) = fs::create_dir_all(&directory) {
            writing.failures.push(FileFailure { path: directory, cause });
            return;
        }
        for (name, what, histogram) in histograms {
            let stem = directory.join(name);
            writing.file(stem.with_extension("hlog"), Durability::Cached, |mut w| {
                write_interval_log(&mut w, &histogram, &what, Duration::ZERO)
            });
            writing.file(stem.with_extension("hgrm"), Durability::Cached, |mut w| {
                write_distribution(&mut w, &histogram)
            });
        }
    }

    /// Writes the throughput benchmark of a P4 program: `result.json`, `report.html`, `cases.csv`,
    /// and its latencies as histograms.
    ///
    /// # Errors
    /// Returns the errors of [`Self::write`].
    pub fn write_throughput(&self, run: &throughput::Run<'_>) -> Result<Vec<PathBuf>, WriteError> {
        let mut writing = Writing::default();
        let texts =
            [("result.json", throughput::to_json(run)), ("cases.csv", throughput::to_csv(run))];
        self.texts(&mut writing, &texts);
        self.page(&mut writing, &throughput::page(run));
        let histograms = throughput::histograms(run).map(|(number, what, histogram)| {
            (format!("case-{number:03}_latency"), what, histogram)
        });
        self.write_histograms(&mut writing, histograms);
        writing.finish()
    }

    /// Writes a run of the tests of RFC 8456: `result.json`, `report.html` and `trials.csv`.
    ///
    /// # Errors
    /// Returns a [`WriteError`] if a file cannot be written. The files that could be written
    /// remain.
    pub fn write_rfc8456(&self, run: &rfc8456::Candidate<'_>) -> Result<Vec<PathBuf>, WriteError> {
        let mut writing = Writing::default();
        writing.file(self.path.join("result.json"), Durability::Synced, |w| {
            w.write_all(rfc8456::to_json(run.result).map_err(io::Error::other)?.as_bytes())
        });
        self.texts(&mut writing, &[("trials.csv", rfc8456::to_csv(run.result))]);
        self.page(&mut writing, &rfc8456::page(&[*run]));
        writing.finish()
    }

    /// Writes the verification of a device model: `result.json`, `report.html`, `cells.csv`, and
    /// the model as `model.json`.
    ///
    /// # Errors
    /// Returns a [`WriteError`] if a file cannot be written. The files that could be written
    /// remain.
    pub fn write_models(&self, run: &models::Run<'_>) -> Result<Vec<PathBuf>, WriteError> {
        let mut writing = Writing::default();
        let texts = [("result.json", models::to_json(run)), ("cells.csv", models::to_csv(run))];
        self.texts(&mut writing, &texts);
        self.page(&mut writing, &models::page(run));
        writing.file(self.path.join("model.json"), Durability::Synced, |w| {
            serde_json::to_writer_pretty(w, run.model).map_err(io::Error::other)
        });
        writing.finish()
    }

    /// Writes the bounds of a network: `result.json`, `report.html` and `bounds.csv`.
    ///
    /// # Errors
    /// Returns a [`WriteError`] if a file cannot be written. The files that could be written
    /// remain.
    pub fn write_bounds(&self, run: &bounds::Run<'_>) -> Result<Vec<PathBuf>, WriteError> {
        let json = bounds::to_json(run);
        let csv = bounds::to_csv(run.bounds);
        self.write_page(&bounds::page(run), &[("result.json", &json), ("bounds.csv", &csv)])
    }

    /// Writes a comparison of results: `result.json`, `report.html` and `differences.csv`.
    ///
    /// # Errors
    /// Returns a [`WriteError`] if a file cannot be written. The files that could be written
    /// remain.
    pub fn write_comparison(
        &self,
        comparison: &Comparison<'_>,
        outcomes: &[Outcome],
        provenance: &Provenance,
    ) -> Result<Vec<PathBuf>, WriteError> {
        let json = compare::to_json(comparison, outcomes, provenance);
        let csv = compare::to_csv(comparison);
        let page = compare::page(comparison, outcomes, provenance);
        self.write_page(&page, &[("result.json", &json), ("differences.csv", &csv)])
    }

    /// Writes only `result.json` of a controller benchmark that is not finished. This is fast
    /// enough to be called after every trial of a long sweep, so that a killed run leaves its
    /// measurements behind. [`write`](Self::write) replaces the file.
    ///
    /// # Errors
    /// Returns a [`WriteError`] if a file cannot be written.
    pub fn write_partial(&self, result: &RunResult) -> Result<PathBuf, WriteError> {
        let mut writing = Writing::default();
        self.result_json(&mut writing, result);
        writing.finish().map(|_| self.path.join("result.json"))
    }

    fn result_json(&self, writing: &mut Writing, result: &RunResult) {
        writing.file(self.path.join("result.json"), Durability::Synced, |w| {
            w.write_all(json::to_json(result).map_err(io::Error::other)?.as_bytes())
        });
    }

    /// Writes the histograms of all trials.
    fn histograms(&self, writing: &mut Writing, result: &RunResult) {
        for (position, point) in result.points.iter().enumerate() {
            let directory = self.path.join("histograms").join(directory_name(position + 1, point));
            let mut made = false;
            for trial in &point.trials {
                let kinds = [
                    ("rtt_from_due", &trial.histograms.rtt_from_due),
                    ("rtt_from_sent", &trial.histograms.rtt_from_sent),
                    ("rtt_in_window", &trial.histograms.rtt_in_window),
                    ("send_lag", &trial.histograms.send_lag),
                    ("read_delay", &trial.histograms.read_delay),
                ];
                for (kind, histogram) in
                    kinds.into_iter().filter(|(_, histogram)| !histogram.is_empty())
                {
                    if !made {
                        if let Err(cause) = fs::create_dir_all(&directory) {
                            writing.failures.push(FileFailure { path: directory, cause });
                            return;
                        }
                        made = true;
                    }
                    let stem = directory.join(format!("trial-{:02}_{kind}", trial.repetition));
                    let what = format!("{kind} of {}, trial {}", point.label(), trial.repetition);
                    let length = Duration::try_from_secs_f64(trial.measured_s).unwrap_or_default();
                    writing.file(stem.with_extension("hlog"), Durability::Cached, |mut w| {
                        write_interval_log(&mut w, histogram, &what, length)
                    });
                    writing.file(stem.with_extension("hgrm"), Durability::Cached, |mut w| {
                        write_distribution(&mut w, histogram)
                    });
                }
            }
        }
    }
}

type CsvWriter = fn(&mut dyn Write, &RunResult) -> io::Result<()>;

/// The files of a run directory that were written so far, and those that failed.
#[derive(Default)]
struct Writing {
    written: Vec<PathBuf>,
    failures: Vec<FileFailure>,
}

/// Whether the content of a file must be on the disk before the file appears under its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Durability {
    /// The file is synced and survives a loss of power.
    Synced,
    /// The file is not synced, because there may be thousands of files and each sync takes
    /// milliseconds.
    Cached,
}

impl Writing {
    fn file(
        &mut self,
        path: PathBuf,
        durability: Durability,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) {
        match write_file(&path, durability, write) {
            Ok(()) => self.written.push(path),
            Err(cause) => self.failures.push(FileFailure { path, cause }),
        }
    }

    fn finish(self) -> Result<Vec<PathBuf>, WriteError> {
        if self.failures.is_empty() {
            Ok(self.written)
        } else {
            Err(WriteError { failures: self.failures, written: self.written })
        }
    }
}

/// Writes a file under a temporary name in the same directory and renames it, so that the file is
/// either complete or absent.
fn write_file(
    path: &Path,
    durability: Durability,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let filled = File::create(&temporary).and_then(|file| {
        let mut writer = BufWriter::with_capacity(64 * 1024, file);
        write(&mut writer)?;
        let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
        if durability == Durability::Synced { file.sync_all() } else { Ok(()) }
    });
    filled.and_then(|()| fs::rename(&temporary, path)).inspect_err(|_| {
        // The first error is reported. A leftover temporary file does no harm.
        let _ = fs::remove_file(&temporary);
    })
}

/// Creates the run directory that the user named, or checks that it is empty.
fn claim(path: &Path) -> Result<PathBuf, CreateError> {
    let io = |source| CreateError::Io { path: path.to_owned(), source };
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_dir() => {
            Err(CreateError::NotADirectory { path: path.to_owned() })
        }
        Ok(_) if fs::read_dir(path).map_err(io)?.next().is_some() => {
            Err(CreateError::NotEmpty { path: path.to_owned() })
        }
        Ok(_) => Ok(path.to_owned()),
        Err(_) => fs::create_dir_all(path).map(|()| path.to_owned()).map_err(io),
    }
}

/// Creates a run directory that is named after the time. Further runs within one second get a
/// number.
fn claim_new(base: &Path, verb: &str, now: SystemTime) -> Result<PathBuf, CreateError> {
    let io = |path: &Path, source| CreateError::Io { path: path.to_owned(), source };
    fs::create_dir_all(base).map_err(|source| io(base, source))?;
    // RFC 3339 without the characters that some file systems refuse.
    let stamp = humantime::format_rfc3339_seconds(now).to_string().replace(['-', ':'], "");
    let mut path = base.join(format!("{stamp}-{verb}"));
    let mut number = 1_u32;
    loop {
        // Creating the directory is free of races with other runs, unlike a check whether it
        // exists.
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 10_000 => {
                number += 1;
                path = base.join(format!("{stamp}-{verb}-{number}"));
            }
            Err(source) => return Err(io(&path, source)),
        }
    }
}

/// Returns the name of the directory for the histograms of one point, such as
/// `point-03_openflow13_50-switches_100-per-s`. It contains no character that could lead out of the
/// run directory.
fn directory_name(number: usize, point: &Point) -> String {
    let load = match (point.rate_per_switch, point.window) {
        (Some(rate), _) => format!("{rate}-per-s"),
        (None, Some(window)) => format!("window-{window}"),
        (None, None) => point.mode.clone(),
    };
    let name = format!("point-{number:02}_{}_{}-switches_{load}", point.protocol, point.switches);
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    name.chars().map(safe).take(120).collect()
}

fn list(failures: &[FileFailure]) -> String {
    // If the disk is full, every file fails, and the first few failures suffice.
    let mut text: Vec<_> =
        failures.iter().take(3).map(|f| format!("{}: {}", f.path.display(), f.cause)).collect();
    if failures.len() > text.len() {
        text.push(format!("and {} more files", failures.len() - text.len()));
    }
    text.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_directory_must_be_new_or_empty() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let new = root.path().join("a/b");
        assert_eq!(RunDirectory::create(Some(&new)).expect("new").path(), new);
        assert_eq!(fs::read_dir(&new).expect("there").count(), 0, "nothing is left behind");
        RunDirectory::create(Some(&new)).expect("still empty");
        fs::write(new.join("result.json"), "{}").expect("written");
        let error = RunDirectory::create(Some(&new)).expect_err("not empty").to_string();
        assert!(
            error.contains("is not empty; name a new directory") && error.contains("a/b"),
            "{error}"
        );
        let error =
            RunDirectory::create(Some(&new.join("result.json"))).expect_err("a file").to_string();
        assert!(error.contains("is a file"), "{error}");
        let error = RunDirectory::create(Some(&new.join("result.json/x")))
            .expect_err("under a file")
            .to_string();
        assert!(error.contains("cannot create run directory"), "{error}");
    }

    #[test]
    fn two_runs_of_one_second_do_not_share_a_directory() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_763_715_600);
        let names: Vec<_> = (0..3)
            .map(|_| claim_new(&root.path().join("runs"), "probe", now).expect("made"))
            .map(|path| path.file_name().expect("a name").to_string_lossy().into_owned())
            .collect();
        let stamp = "20251121T090000Z-probe";
        assert_eq!(names, [stamp.to_owned(), format!("{stamp}-2"), format!("{stamp}-3")]);
    }

    #[test]
    fn a_run_that_leaves_nothing_leaves_no_directory_unless_it_was_named() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let directory = |name: &str, is_own| {
            let path = root.path().join(name);
            fs::create_dir(&path).expect("made");
            RunDirectory {
                path: path.clone(),
                configuration: String::new(),
                is_own,
                papers: Papers::default(),
            }
        };
        drop(directory("own", true));
        drop(directory("named", false));
        let mut kept = directory("kept", true);
        kept.write_configuration("seed = 1").expect("written");
        drop(kept);
        let there = |name: &str| root.path().join(name).exists();
        assert_eq!([there("own"), there("named"), there("kept")], [false, true, true]);
    }

    #[test]
    fn a_file_that_fails_half_way_leaves_the_old_one_and_no_rubbish() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let path = root.path().join("result.json");
        fs::write(&path, "old").expect("written");
        let mut writing = Writing::default();
        writing.file(path.clone(), Durability::Cached, |w| {
            w.write_all(&[b'x'; 200_000])?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        });
        let error = writing.finish().expect_err("full").to_string();
        assert_eq!(error, format!("cannot write {}: no storage space", path.display()));
        assert_eq!(fs::read_to_string(&path).expect("there"), "old");
        assert_eq!(fs::read_dir(root.path()).expect("there").count(), 1);
    }

    #[test]
    fn directory_names_stay_inside() {
        let point = Point {
            protocol: "../../etc".to_owned(),
            mode: "open".to_owned(),
            switches: 2,
            rate_per_switch: Some(0.5),
            offered_rate: Some(1.0),
            window: None,
            trials: Vec::new(),
            summary: std::collections::BTreeMap::new(),
        };
        assert_eq!(directory_name(7, &point), "point-07_.._.._etc_2-switches_0.5-per-s");
    }
}
