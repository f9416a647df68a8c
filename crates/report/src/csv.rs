//! Writes the CSV files of a controller benchmark (RFC 4180, with a header row).
//!
//! Every row names its point of the sweep completely, so that a file can be read without the
//! others. Units are part of the column names. Shares and indexes have no unit. A cell without a
//! measurement is empty.

use std::fmt::{self, Display};
use std::io::{self, Write};

use probe::metrics::Metric;
use probe::outcome::{Point, RunResult, Trial};
use statistics::Unit;

use crate::verdict;

/// The first columns of every CSV file. They identify the point of the sweep.
const POINT: &str = "point,protocol,mode,switches,rate_per_switch_per_s,window";

/// Writes `summary.csv`, with one row per point of the sweep: mean, 95 % confidence interval and
/// number of trials of each metric.
pub(crate) fn summary(writer: &mut dyn Write, result: &RunResult) -> io::Result<()> {
    write!(writer, "{POINT},offered_rate_per_s,trials,saturated")?;
    for metric in Metric::all() {
        let (name, unit) = (metric.name, suffix(metric.unit));
        write!(writer, ",{name}.mean{unit},{name}.ci95{unit},{name}.n")?;
    }
    writeln!(writer)?;
    for (number, point) in numbered(result) {
        write!(
            writer,
            "{},{},{},",
            Row(number, point),
            Cell(point.offered_rate),
            point.trials.len()
        )?;
        write!(writer, "{}", Text(verdict::word(verdict::of_point(point).side)))?;
        for metric in Metric::all() {
            match point.summary.get(metric.name) {
                Some(estimate) => {
                    write!(
                        writer,
                        ",{},{},{}",
                        Cell(Some(estimate.mean)),
                        Cell(estimate.ci95),
                        estimate.n
                    )?;
                }
                None => write!(writer, ",,,")?,
            }
        }
        writeln!(writer)?;
    }
    Ok(())
}

/// Writes `per_second.csv`, with one row per point, trial and second. Seconds are counted from the
/// moment at which the first packet was due to be sent, so they include the warm-up.
pub(crate) fn per_second(writer: &mut dyn Write, result: &RunResult) -> io::Result<()> {
    writeln!(writer, "{POINT},trial,second,measured,sent,received,rules")?;
    each_trial(result, |number, point, trial| {
        let series = &trial.series;
        let length =
            series.sent_per_s.len().max(series.received_per_s.len()).max(series.rules_per_s.len());
        for second in 0..length {
            // A second counts as measured only if it lies completely within the measure window.
            let measured = second as f64 >= series.measure_from_s
                && (second + 1) as f64 <= series.measure_to_s;
            writeln!(
                writer,
                "{},{},{second},{},{},{},{}",
                Row(number, point),
                trial.repetition,
                u8::from(measured),
                in_second(&series.sent_per_s, second),
                in_second(&series.received_per_s, second),
                in_second(&series.rules_per_s, second),
            )?;
        }
        Ok(())
    })
}

/// Returns the count in a second, or zero beyond the end of a list.
fn in_second(values: &[u64], second: usize) -> u64 {
    values.get(second).copied().unwrap_or(0)
}

/// Writes `samples.csv`, with one row per point, trial and sample of queues and resources.
pub(crate) fn samples(writer: &mut dyn Write, result: &RunResult) -> io::Result<()> {
    writeln!(
        writer,
        "{POINT},trial,time_s,outstanding,controller_cpu_percent,controller_rss_bytes,probe_cpu_percent"
    )?;
    each_trial(result, |number, point, trial| {
        let series = &trial.series;
        let length = (series.outstanding.len())
            .max(series.controller_cpu_percent.len())
            .max(series.controller_rss_bytes.len())
            .max(series.probe_cpu_percent.len());
        for sample in 0..length {
            writeln!(
                writer,
                "{},{},{:.3},{},{},{},{}",
                Row(number, point),
                trial.repetition,
                sample as f64 * series.sample_interval_s,
                Cell(series.outstanding.get(sample)),
                Cell(series.controller_cpu_percent.get(sample).copied().flatten()),
                Cell(series.controller_rss_bytes.get(sample).copied().flatten()),
                Cell(series.probe_cpu_percent.get(sample).copied().flatten()),
            )?;
        }
        Ok(())
    })
}

/// Writes `per_switch.csv`, with one row per point, trial and switch.
pub(crate) fn per_switch(writer: &mut dyn Write, result: &RunResult) -> io::Result<()> {
    writeln!(
        writer,
        "{POINT},trial,switch,id,due,sent,answered,late,lost,duplicated,unmatched,rules_installed,\
         disconnects,malformed,sent_rate_per_s,received_rate_per_s,rtt_mean_s,rtt_max_s,forwarded_by_rules,\
         dropped_by_rules,unsent"
    )?;
    each_trial(result, |number, point, trial| {
        for switch in &trial.per_switch {
            let counts = &switch.counts;
            writeln!(
                writer,
                "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
                Row(number, point),
                trial.repetition,
                switch.index,
                switch.id,
                counts.due,
                counts.sent,
                counts.answered,
                counts.late,
                counts.lost,
                counts.duplicated,
                counts.unmatched,
                counts.rules_installed,
                counts.disconnects,
                counts.malformed,
                Cell(Some(switch.sent_rate)),
                Cell(Some(switch.received_rate)),
                Cell(switch.rtt_mean_ns.map(|ns| ns / 1e9)),
                Cell(switch.rtt_max_ns.map(|ns| ns as f64 / 1e9)),
                counts.forwarded_by_rules,
                counts.dropped_by_rules,
                counts.unsent,
            )?;
        }
        Ok(())
    })
}

fn numbered(result: &RunResult) -> impl Iterator<Item = (usize, &Point)> {
    result.points.iter().enumerate().map(|(position, point)| (position + 1, point))
}

fn each_trial(
    result: &RunResult,
    mut write: impl FnMut(usize, &Point, &Trial) -> io::Result<()>,
) -> io::Result<()> {
    numbered(result).try_for_each(|(number, point)| {
        point.trials.iter().try_for_each(|trial| write(number, point, trial))
    })
}

fn suffix(unit: Unit) -> &'static str {
    match unit {
        Unit::Seconds => "_s",
        Unit::PerSecond => "_per_s",
        Unit::CpuPercent => "_percent",
        Unit::Bytes => "_bytes",
        Unit::Count | Unit::Fraction | Unit::Index => "",
    }
}

/// The number and the settings of a point, formatted as the cells of [`POINT`].
struct Row<'a>(usize, &'a Point);

impl Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(number, point) = self;
        write!(
            f,
            "{number},{},{},{},{},{}",
            Text(&point.protocol),
            Text(&point.mode),
            point.switches,
            Cell(point.rate_per_switch),
            Cell(point.window)
        )
    }
}

/// A CSV cell that is empty if there is no value.
pub(crate) struct Cell<T>(pub(crate) Option<T>);

impl<T: Display> Display for Cell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |value| value.fmt(f))
    }
}

/// A CSV cell with text, which is quoted where RFC 4180 requires it.
pub(crate) struct Text<'a>(pub(crate) &'a str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.contains(['"', ',', '\n', '\r']) {
            Quoted(self.0).fmt(f)
        } else {
            f.write_str(self.0)
        }
    }
}

/// A CSV cell with text, which is always quoted (RFC 4180, section 2).
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.replace('"', "\"\""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_quoted_when_it_must_be() {
        assert_eq!(Text("openflow13").to_string(), "openflow13");
        assert_eq!(Text("a,\"b\"\nc").to_string(), "\"a,\"\"b\"\"\nc\"");
        assert_eq!(Quoted("openflow13").to_string(), "\"openflow13\"");
        assert_eq!(Cell::<u32>(None).to_string(), "");
    }
}
