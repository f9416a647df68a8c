//! Delays and histograms as text, one record per line.

use super::{Imported, of_samples};
use crate::campaign::{Counts, Picoseconds, Sample};

/// The reason why a text is not a list or a histogram of delays.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// A line of the text has unexpected content.
    #[error("line {line}: '{text}' is not a {what}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// The content of the line.
        text: String,
        /// A description of the content that was expected.
        what: &'static str,
    },
    /// The text has more packets than an import may contain.
    #[error("line {line}: more than {most} packets; cut the file")]
    TooMany {
        /// The number of the line at which the limit was exceeded, from 1.
        line: usize,
        /// The largest allowed number of packets.
        most: u32,
    },
    /// The text contains no delay.
    #[error("it contains no delay")]
    Empty,
}

/// The largest number of packets in one imported file.
const MAX: u32 = 10_000_000;

/// Reads delays from text, either one per line or as `packet,delay`. `unit` is the length of one
/// unit of delay in picoseconds.
///
/// A first line that begins with a letter or a quotation mark is a header, and `#` begins a
/// comment. A missing packet number counts as a lost packet, and a repeated one as a duplicate.
/// Without packet numbers, neither can be detected.
///
/// # Errors
/// Returns a [`TextError`] if a line is malformed, the file has too many packets, or it has no
/// delay.
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
        if samples.len() >= MAX as usize {
            return Err(TextError::TooMany { line, most: MAX });
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

/// Reads a histogram of delays with lines of `delay,count`, as MoonGen's timestamping writes it.
/// `unit` is the length of one unit of delay in picoseconds.
///
/// # Errors
/// Returns a [`TextError`] if a line is malformed, the file has too many packets, or it has no
/// delay.
pub fn histogram(text: &str, unit: f64) -> Result<Imported, TextError> {
    let mut samples = Vec::new();
    for (line, fields) in lines(text) {
        let wrong = |what| TextError::Line { line, text: fields.join(","), what };
        let [delay, count] = fields.as_slice() else { return Err(wrong("delay and its count")) };
        let delay = picoseconds(delay, unit).ok_or_else(|| wrong("delay"))?;
        let count: u32 = count.parse().map_err(|_| wrong("count"))?;
        if samples.len() as u64 + u64::from(count) > u64::from(MAX) {
            return Err(TextError::TooMany { line, most: MAX });
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
    // The samples are not in order of time, so clock steps are not searched for.
    Ok(Imported { samples, counts, numbered: false, duration_ns: 0, remarks: vec![remark] })
}

/// Returns the line number and the fields of each line that is not blank. A first line that begins
/// with a letter or a quotation mark is a header and is left out.
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
    // Doubles beyond this limit do not represent every integer.
    (value.abs() < 9e15).then_some(Picoseconds(value as i64))
}
