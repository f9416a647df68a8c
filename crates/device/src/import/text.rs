//! Delays and histograms as text.

use super::{Imported, of_samples};
use crate::campaign::{Counts, Picoseconds, Sample};

/// Why a text is no list of delays.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// A line is none.
    #[error("line {line}: '{text}' is no {what}")]
    Line {
        /// From 1.
        line: usize,
        /// What is there.
        text: String,
        /// What should be.
        what: &'static str,
    },
    /// More packets than a block has room for.
    #[error("line {line}: more than {most} packets; cut the file")]
    TooMany {
        /// From 1.
        line: usize,
        /// How many there may be.
        most: u32,
    },
    /// There is no delay at all.
    #[error("there is no delay in it")]
    Empty,
}

/// Packets of one file, at most.
const MOST: u32 = 10_000_000;

/// Reads delays, one a line, or `packet,delay`; a first line of words is a header, and a `#` begins a comment. `unit` is
/// how many picoseconds a delay of one is. A packet number that is missing is a lost packet, one that comes again a
/// duplicate; without numbers nothing can be said about either.
///
/// # Errors
/// See [`TextError`].
pub fn delays(text: &str, unit: f64) -> Result<Imported, TextError> {
    let mut samples: Vec<Sample> = Vec::new();
    let mut counts = Counts::default();
    let mut numbered = false;
    let mut seen = std::collections::BTreeSet::new();
    let mut last = None;
    for (line, fields) in lines(text) {
        let wrong = |what| TextError::Line { line, text: fields.join(","), what };
        let (packet, delay) = match fields.as_slice() {
            [delay] => (None, delay),
            [packet, delay] => {
                (Some(packet.parse::<u32>().map_err(|_| wrong("number of a packet"))?), delay)
            }
            _ => return Err(wrong("delay, nor a packet and its delay")),
        };
        let delay = picoseconds(delay, unit).ok_or_else(|| wrong("delay"))?;
        if samples.len() >= MOST as usize {
            return Err(TextError::TooMany { line, most: MOST });
        }
        if !samples.is_empty() && numbered != packet.is_some() {
            return Err(wrong(
                "line like those before: packets have numbers in all of them or in none",
            ));
        }
        let number = packet.unwrap_or(samples.len() as u32);
        if packet.is_some() {
            numbered = true;
            if !seen.insert(number) {
                counts.duplicated += 1;
                continue;
            }
            counts.reordered += u64::from(last.is_some_and(|last| number < last));
            last = last.max(Some(number));
        }
        samples.push(Sample { packet: number, delay });
    }
    if samples.is_empty() {
        return Err(TextError::Empty);
    }
    counts.received = samples.len() as u64;
    counts.sent = counts.received;
    let mut remarks = Vec::new();
    if let (true, Some(first), Some(last)) = (numbered, seen.first(), seen.last()) {
        counts.sent = u64::from(last - first) + 1;
        counts.lost = counts.sent - counts.received;
    } else {
        remarks.push(
            "packets have no numbers: losses, duplicates and reordering cannot be seen".to_owned(),
        );
    }
    Ok(Imported { numbered, ..of_samples(samples, counts, 0, remarks) })
}

/// Reads a histogram, `delay,count` a line, as MoonGen's timestamping writes it.
///
/// # Errors
/// See [`TextError`].
pub fn histogram(text: &str, unit: f64) -> Result<Imported, TextError> {
    let mut samples = Vec::new();
    for (line, fields) in lines(text) {
        let wrong = |what| TextError::Line { line, text: fields.join(","), what };
        let [delay, count] = fields.as_slice() else { return Err(wrong("delay and its count")) };
        let delay = picoseconds(delay, unit).ok_or_else(|| wrong("delay"))?;
        let count: u32 = count.parse().map_err(|_| wrong("count"))?;
        if samples.len() as u64 + u64::from(count) > u64::from(MOST) {
            return Err(TextError::TooMany { line, most: MOST });
        }
        let first = samples.len() as u32;
        samples.extend((first..first + count).map(|packet| Sample { packet, delay }));
    }
    if samples.is_empty() {
        return Err(TextError::Empty);
    }
    let received = samples.len() as u64;
    let counts = Counts { sent: received, received, ..Counts::default() };
    let remark =
        "a histogram has no order: losses, drift and clock steps cannot be seen".to_owned();
    // Sorted delays would look like steps.
    Ok(Imported { samples, counts, numbered: false, duration_ns: 0, remarks: vec![remark] })
}

/// The fields of each line that has any; a first line that begins with a letter is a header.
fn lines(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    let content = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let filled = (1..).zip(content).filter(|(_, line)| !line.is_empty());
    let header = |line: &str| line.starts_with(|c: char| c.is_alphabetic() || c == '"');
    filled
        .enumerate()
        .filter(move |(position, (_, line))| *position > 0 || !header(line))
        .map(|(_, (number, line))| (number, line.split([',', ';', '\t']).map(str::trim).collect()))
}

fn picoseconds(text: &str, unit: f64) -> Option<Picoseconds> {
    let value = (text.parse::<f64>().ok()? * unit).round();
    // Beyond, doubles are no whole numbers.
    (value.abs() < 9e15).then_some(Picoseconds(value as i64))
}
