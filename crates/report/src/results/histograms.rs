//! Reads the histograms that a command left in its run directory.
//!
//! `probe` leaves one for each point, trial and kind of time; `bench` and `tables` leave one for
//! each case. All of them count nanoseconds.

use std::fs;
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

/// A histogram file in a run directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistogramFile {
    /// The kind of latency that the histogram counts, such as `rtt_from_due` or `latency`.
    pub kind: String,
    /// The number of the measured point or case, from 1.
    pub number: u32,
    /// The number of the trial, from 1, or `None` for a case, whose repetitions share one
    /// histogram.
    pub trial: Option<u32>,
    /// The path of the file.
    pub path: PathBuf,
}

/// The reason why a histogram cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct HistogramError {
    /// The path of the file.
    pub path: PathBuf,
    /// The fault of the file.
    pub reason: String,
}

/// Returns the histograms in a run directory, in the order of points or cases, trials and kinds.
/// The list is empty if the command left none.
///
/// # Errors
/// Returns an error if the directory cannot be read.
pub fn list(run: &Path) -> io::Result<Vec<HistogramFile>> {
    let mut found = Vec::new();
    for path in entries(&run.join("histograms"))? {
        let name = file_name(&path);
        if let Some(number) = number_after(name, "point-") {
            found.extend(entries(&path)?.into_iter().filter_map(|path| of_trial(path, number)));
        } else if let Some(number) = number_after(name, "case-") {
            found.extend(log(path).map(|(kind, path)| HistogramFile {
                kind,
                number,
                trial: None,
                path,
            }));
        }
    }
    found.sort_by(|a, b| (a.number, a.trial, &a.kind).cmp(&(b.number, b.trial, &b.kind)));
    Ok(found)
}

fn of_trial(path: PathBuf, number: u32) -> Option<HistogramFile> {
    let trial = number_after(file_name(&path), "trial-")?;
    let (kind, path) = log(path)?;
    Some(HistogramFile { kind, number, trial: Some(trial), path })
}

/// Returns the paths in a directory, or none if there is no such directory.
fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(directory) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Returns the number after a prefix, as in `trial-02_rtt_from_due.hlog`.
fn number_after(name: &str, prefix: &str) -> Option<u32> {
    name.strip_prefix(prefix)?.split('_').next()?.parse().ok()
}

/// Returns the kind of an interval log with its path, or `None` for other files.
fn log(path: PathBuf) -> Option<(String, PathBuf)> {
    let (_, kind) = file_name(&path).strip_suffix(".hlog")?.split_once('_')?;
    Some((kind.to_owned(), path))
}

impl HistogramFile {
    /// Reads the histogram, which counts nanoseconds.
    ///
    /// # Errors
    /// Returns a [`HistogramError`] if the file cannot be read, or is no interval log.
    pub fn read(&self) -> Result<Histogram<u64>, HistogramError> {
        read(&self.path).map_err(|reason| HistogramError { path: self.path.clone(), reason })
    }
}

fn read(path: &Path) -> Result<Histogram<u64>, String> {
    let text = input::read(path).map_err(|error| error.to_string())?;
    let mut sum: Option<Histogram<u64>> = None;
    for entry in IntervalLogIterator::new(&text) {
        let interval = match entry {
            Ok(LogEntry::Interval(interval)) => interval,
            Ok(_) => continue,
            Err(error) => return Err(format!("it is not an interval log ({error:?})")),
        };
        let bytes = STANDARD
            .decode(interval.encoded_histogram())
            .map_err(|error| format!("its histogram is damaged ({error})"))?;
        let one: Histogram<u64> = Deserializer::new()
            .deserialize(&mut Cursor::new(bytes))
            .map_err(|error| format!("its histogram is damaged ({error})"))?;
        match &mut sum {
            None => sum = Some(one),
            Some(sum) => sum.add(&one).map_err(|error| error.to_string())?,
        }
    }
    sum.ok_or_else(|| "it has no histogram".to_owned())
}

/// The counts of a histogram in adjacent bins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bins {
    /// The edges of the bins in nanoseconds, ascending. There is one edge more than there are bins,
    /// or none if there are no bins.
    pub edges: Vec<u64>,
    /// The number of latencies in each bin. A bin includes its lower edge, but not its upper one.
    pub counts: Vec<u64>,
}

impl Bins {
    /// Returns the bins of a histogram with their counts. Neighbouring values without counts are
    /// merged into one bin.
    #[must_use]
    pub fn of(histogram: &Histogram<u64>) -> Self {
        let mut bins = Self::default();
        for bucket in histogram.iter_recorded() {
            let value = bucket.value_iterated_to();
            let low = histogram.lowest_equivalent(value);
            let high = histogram.next_non_equivalent(value);
            match bins.edges.last() {
                None => bins.edges.push(low),
                Some(last) if *last < low => {
                    bins.edges.push(low);
                    bins.counts.push(0);
                }
                Some(_) => {}
            }
            bins.edges.push(high);
            bins.counts.push(bucket.count_at_value());
        }
        bins
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram_files::{write_distribution, write_interval_log};
    use std::time::Duration;

    fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram<u64> {
        let mut histogram = Histogram::new(3).expect("3 digits");
        for value in values {
            histogram.record(value).expect("in range");
        }
        histogram
    }

    fn write(path: &Path, histogram: &Histogram<u64>) {
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        let mut log = Vec::new();
        write_interval_log(&mut log, histogram, "times", Duration::ZERO).expect("written");
        fs::write(path.with_extension("hlog"), log).expect("written");
        let mut text = Vec::new();
        write_distribution(&mut text, histogram).expect("written");
        fs::write(path.with_extension("hgrm"), text).expect("written");
    }

    #[test]
    fn histograms_of_points_and_cases_are_found_and_read_back() {
        let run = tempfile::tempdir().expect("a directory");
        assert_eq!(list(run.path()).expect("readable"), []);
        let folder = run.path().join("histograms");
        let (one, other) = (histogram(1..5_000), histogram([7, 7, 1_000_000]));
        write(&folder.join("point-02_openflow13_4-switches_flood/trial-01_rtt_from_due"), &other);
        write(&folder.join("point-01_openflow13_4-switches_flood/trial-02_send_lag"), &one);
        write(&folder.join("case-003_latency"), &one);
        let found = list(run.path()).expect("readable");
        let names: Vec<_> =
            found.iter().map(|file| (file.number, file.trial, file.kind.as_str())).collect();
        assert_eq!(
            names,
            [(1, Some(2), "send_lag"), (2, Some(1), "rtt_from_due"), (3, None, "latency")]
        );
        assert_eq!(found[0].read().expect("a histogram"), one);
        assert_eq!(found[1].read().expect("a histogram"), other);
        fs::write(&found[0].path, "nothing").expect("written");
        assert!(found[0].read().is_err());
    }

    #[test]
    fn bins_have_no_gaps_and_lose_no_count() {
        let histogram = histogram([3, 3, 4, 9, 1_000_000, 1_000_100]);
        let Bins { edges, counts } = Bins::of(&histogram);
        assert_eq!(counts.len() + 1, edges.len());
        assert!(edges.is_sorted_by(|a, b| a < b), "{edges:?}");
        assert_eq!(counts.iter().sum::<u64>(), histogram.len());
        assert_eq!((&edges[..3], &counts[..3]), (&[3, 4, 5][..], &[2, 1, 0][..]));
        assert_eq!(Bins::of(&Histogram::new(3).expect("3 digits")), Bins::default());
    }
}
