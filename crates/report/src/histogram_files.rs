//! Writes raw latency histograms in the two formats that HdrHistogram's tools read.
//!
//! `.hlog` is its interval log: one interval, V2 encoding, compressed, base64. It contains every
//! bucket in nanoseconds and can be merged with others. `.hgrm` is its percentile distribution as
//! text, in microseconds, for its plotter.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, IntervalLogWriterError};

/// The number by which nanoseconds are divided in the percentile distribution, which is in
/// microseconds.
const DISTRIBUTION_UNIT: f64 = 1e3;
/// The divisor that converts nanoseconds to milliseconds, in which an interval log states the
/// largest value of an interval.
const INTERVAL_LOG_UNIT: f64 = 1e6;
/// The number of rows of the percentile distribution for each halving of the distance to 100 %, as
/// in HdrHistogram's default.
const ROWS_PER_HALVING: u32 = 5;

/// Writes a histogram as an interval log, the content of a `.hlog` file.
pub(crate) fn write_interval_log(
    writer: &mut impl Write,
    histogram: &Histogram<u64>,
    what: &str,
    length: Duration,
) -> io::Result<()> {
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment(&format!("{what}, nanoseconds"))
        // Times of the interval count from the start of the measure window.
        .with_base_time(SystemTime::UNIX_EPOCH)
        .with_max_value_divisor(INTERVAL_LOG_UNIT)
        .begin_log_with(writer, &mut serializer)?;
    log.write_histogram(histogram, Duration::ZERO, length, None).map_err(|error| match error {
        IntervalLogWriterError::IoError(error) => error,
        error => io::Error::other(error.to_string()),
    })
}

/// Writes a histogram as a percentile distribution, the content of a `.hgrm` file.
pub(crate) fn write_distribution(
    writer: &mut impl Write,
    histogram: &Histogram<u64>,
) -> io::Result<()> {
    writeln!(
        writer,
        "{:>12} {:>14} {:>10} {:>14}\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    )?;
    let mut count = 0;
    for row in histogram.iter_quantiles(ROWS_PER_HALVING) {
        count += row.count_since_last_iteration();
        let (value, quantile) =
            (row.value_iterated_to() as f64 / DISTRIBUTION_UNIT, row.quantile_iterated_to());
        if quantile < 1.0 {
            writeln!(
                writer,
                "{value:12.3} {quantile:2.12} {count:10} {:14.2}",
                1.0 / (1.0 - quantile)
            )?;
        } else {
            writeln!(writer, "{value:12.3} {quantile:2.12} {count:10}")?;
        }
    }
    writeln!(
        writer,
        "#[Mean    = {:12.3}, StdDeviation   = {:12.3}]",
        histogram.mean() / DISTRIBUTION_UNIT,
        histogram.stdev() / DISTRIBUTION_UNIT
    )?;
    writeln!(
        writer,
        "#[Max     = {:12.3}, Total count    = {:12}]",
        histogram.max() as f64 / DISTRIBUTION_UNIT,
        histogram.len()
    )?;
    writeln!(
        writer,
        "#[Buckets = {:12}, SubBuckets     = {:12}]",
        histogram.buckets(),
        sub_buckets(histogram.sigfig())
    )
}

/// Returns the number of sub-buckets of a histogram that keeps `significant_digits` significant
/// digits. It is the smallest power of two that is at least twice the number of values with that
/// number of digits (HdrHistogram, "Footprint estimation").
fn sub_buckets(significant_digits: u8) -> u64 {
    (2 * 10_u64.pow(u32::from(significant_digits))).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    fn histogram() -> Histogram<u64> {
        let mut histogram = Histogram::new(3).expect("3 digits");
        for value in 1..=10_000_u64 {
            histogram.record(value * 1_000).expect("in range");
        }
        histogram
    }

    #[test]
    fn an_interval_log_reads_back_equal() {
        let histogram = histogram();
        let mut bytes = Vec::new();
        write_interval_log(&mut bytes, &histogram, "round-trip time", Duration::from_secs(60))
            .expect("written");
        let intervals: Vec<_> = IntervalLogIterator::new(&bytes)
            .map(|entry| entry.expect("a valid log"))
            .filter_map(|entry| match entry {
                LogEntry::Interval(interval) => Some(interval),
                _ => None,
            })
            .collect();
        assert_eq!(intervals.len(), 1);
        assert_eq!(intervals[0].duration(), Duration::from_secs(60));
        assert!((intervals[0].max() - 10.0).abs() < 0.01, "{} ms", intervals[0].max());
        let raw = base64_decode(intervals[0].encoded_histogram());
        let back: Histogram<u64> =
            Deserializer::new().deserialize(&mut raw.as_slice()).expect("decodes");
        assert_eq!(back, histogram);
    }

    #[test]
    fn a_distribution_has_the_rows_that_plotters_read() {
        let mut bytes = Vec::new();
        write_distribution(&mut bytes, &histogram()).expect("written");
        let text = String::from_utf8(bytes).expect("UTF-8");
        let rows: Vec<Vec<f64>> = text
            .lines()
            .skip(2)
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.split_whitespace().map(|n| n.parse().expect("a number")).collect())
            .collect();
        assert!(rows.len() > 40);
        assert!(
            rows.windows(2).all(|w| w[0][0] <= w[1][0] && w[0][1] <= w[1][1] && w[0][2] <= w[1][2])
        );
        let median = rows.iter().find(|r| r[1] == 0.5).expect("a row for the median");
        assert!(
            (median[0] - 5_000.0).abs() < 5.0
                && (median[2] - 5_000.0).abs() < 5.0
                && median[3] == 2.0,
            "{median:?}"
        );
        let last = rows.last().expect("rows");
        assert_eq!((last[1], last[2], last.len()), (1.0, 10_000.0, 3), "no 1/(1-p) for everything");
        assert!(text.contains("Total count    =        10000]"), "{text}");
        assert!(text.contains("SubBuckets     =         2048]"), "{text}");
    }

    /// Decodes standard base64 with padding, as far as the test needs it.
    fn base64_decode(text: &str) -> Vec<u8> {
        const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let digits = text.bytes().filter(|b| *b != b'=');
        let values: Vec<u32> =
            digits.map(|b| ALPHABET.iter().position(|a| *a == b).expect("base64") as u32).collect();
        let mut bytes = Vec::new();
        for group in values.chunks(4) {
            let word = group.iter().fold(0, |word, v| word << 6 | v) << (6 * (4 - group.len()));
            bytes.extend(word.to_be_bytes()[1..group.len()].iter());
        }
        bytes
    }
}
