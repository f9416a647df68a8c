//! Recorded times between packet-ins, which are read from a file and replayed.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use packetio::pcap::{self, CaptureReader};

use super::error::ScheduleError;
use super::share::{ends_of, gaps_of};

/// The maximum number of times that are read from a file. Each takes 16 bytes of memory.
const MAX_TIMES: usize = 16_000_000;
/// The maximum length of a line that is read, in bytes.
const MAX_LINE: u64 = 256;
/// The longest time between two packet-ins that a file may contain, in seconds.
const MAX_SECONDS: f64 = 1e9;

/// Recorded times between packet-ins in nanoseconds. After the last time, the recording starts over
/// with the first.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Recording {
    pub(super) gaps: Vec<f64>,
    /// The cumulative sums of the times.
    pub(super) ends: Vec<f64>,
    /// The time that replaces the first gap on the first pass through the recording.
    pub(super) first: Option<f64>,
}

impl Recording {
    /// Reads the times from a capture or, if the file is not a capture, from a text file of
    /// seconds.
    pub(super) fn read(path: &Path) -> Result<Self, ScheduleError> {
        let unreadable = |source| ScheduleError::Read { path: path.to_owned(), source };
        if pcap::is_capture(path).map_err(unreadable)? {
            let mut reader = CaptureReader::open(path)?;
            let mut stamps = Vec::new();
            while let Some(frame) = reader.next_frame()? {
                let Some(stamp) = frame.timestamp else {
                    return Err(unusable(
                        path,
                        format!("frame {} has no time stamp", stamps.len() + 1),
                    ));
                };
                stamps.push(stamp);
                within_limit(path, stamps.len())?;
            }
            Self::from_stamps(path, stamps)
        } else {
            let file = File::open(path).map_err(unreadable)?;
            Self::from_lines(path, BufReader::new(file))
        }
    }

    fn of(gaps: Vec<f64>, first: Option<f64>) -> Self {
        Self { ends: ends_of(&gaps), gaps, first }
    }

    /// Creates a recording from the time stamps of a capture. The first packet-in is due
    /// immediately. The recorded gap between the last frame and the first frame of the next pass is
    /// the mean of the other gaps, so that every frame keeps its own gap on each pass. Frames that
    /// were captured out of order are sorted by time.
    fn from_stamps(path: &Path, mut stamps: Vec<u64>) -> Result<Self, ScheduleError> {
        stamps.sort_unstable();
        if stamps.is_empty() {
            return Err(unusable(path, "the capture has no frames".into()));
        }
        let gaps = gaps_of(&stamps).ok_or_else(|| {
            unusable(
                path,
                "all frames have the same time stamp, so no inter-arrival time is known".into(),
            )
        })?;
        Ok(Self::of(gaps, Some(0.0)))
    }

    /// Reads a text with one number of seconds per line. Empty lines and lines that start with `#`
    /// are ignored.
    fn from_lines(path: &Path, mut input: impl BufRead) -> Result<Self, ScheduleError> {
        let mut gaps = Vec::new();
        let mut text = Vec::new();
        for line in 1.. {
            text.clear();
            let read = (&mut input)
                .take(MAX_LINE)
                .read_until(b'\n', &mut text)
                .map_err(|source| ScheduleError::Read { path: path.to_owned(), source })?;
            if read == 0 {
                break;
            }
            let refuse = |reason| ScheduleError::Line { path: path.to_owned(), line, reason };
            if read as u64 == MAX_LINE && text.last() != Some(&b'\n') {
                return Err(refuse(format!("a line of more than {MAX_LINE} bytes is not a time")));
            }
            let word = String::from_utf8_lossy(&text);
            let word = word.trim();
            if word.is_empty() || word.starts_with('#') {
                continue;
            }
            match word.parse::<f64>() {
                Ok(seconds) if (0.0..=MAX_SECONDS).contains(&seconds) => gaps.push(seconds * 1e9),
                _ => {
                    return Err(refuse(format!(
                        "`{}` is not an inter-arrival time; give seconds, from 0 to {MAX_SECONDS:e}",
                        word.escape_debug()
                    )));
                }
            }
            within_limit(path, gaps.len())?;
        }
        if gaps.is_empty() {
            return Err(unusable(path, "the file has no inter-arrival times".into()));
        }
        if gaps.iter().sum::<f64>() < 1.0 {
            return Err(unusable(
                path,
                "the inter-arrival times add up to less than a nanosecond".into(),
            ));
        }
        Ok(Self::of(gaps, None))
    }
}

fn within_limit(path: &Path, times: usize) -> Result<(), ScheduleError> {
    if times > MAX_TIMES {
        return Err(unusable(path, format!("more than {MAX_TIMES} times; cut the file")));
    }
    Ok(())
}

fn unusable(path: &Path, reason: String) -> ScheduleError {
    ScheduleError::Unusable { path: path.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Result<Recording, ScheduleError> {
        Recording::from_lines(Path::new("gaps.txt"), text.as_bytes())
    }

    #[test]
    fn a_file_of_seconds_is_read() {
        let recording = lines("# recorded\n0.001\n\n  2e-6 \n0").unwrap();
        assert_eq!(recording, Recording::of(vec![1e6, 2e3, 0.0], None));
    }

    #[test]
    fn a_malformed_line_is_named() {
        for (text, line) in
            [("1\n2\nthree\n", 3), ("-1", 1), ("1\nNaN", 2), ("inf", 1), ("1e99", 1)]
        {
            let message = lines(text).unwrap_err().to_string();
            assert!(message.starts_with(&format!("gaps.txt:{line}: ")), "{message}");
        }
        let long = format!("1\n{}", "1".repeat(10_000));
        assert!(lines(&long).unwrap_err().to_string().starts_with("gaps.txt:2: a line of more"));
    }

    #[test]
    fn a_file_that_never_advances_is_refused() {
        for text in ["", "# nothing\n", "0\n0\n"] {
            assert!(matches!(lines(text), Err(ScheduleError::Unusable { .. })), "{text:?}");
        }
    }

    #[test]
    fn stamps_become_gaps_that_keep_their_frames() {
        let path = Path::new("gaps.pcap");
        let recording = Recording::from_stamps(path, vec![100, 400, 300]).unwrap();
        assert_eq!(recording, Recording::of(vec![150.0, 200.0, 100.0], Some(0.0)));
        assert!(Recording::from_stamps(path, vec![]).is_err());
        assert!(Recording::from_stamps(path, vec![7, 7]).is_err());
    }
}
