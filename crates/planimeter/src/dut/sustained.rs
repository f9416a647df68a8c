//! The section of the report on the highest sustained rate of updates.

use ::dut::sustained::{Measured, Point};
use report::page::document::Section;
use report::page::{Cell, Figure, Table};
use report::plot::{Axis, Line, Origin, Plot};
use report::value::Value;
use statistics::Unit;

use super::rates::limit_words;
use super::refusal::refusal_words;
use super::transport;

fn per_second(rate: f64) -> Value {
    Value::new(rate, Unit::PerSecond)
}

/// Returns a sentence about the highest sustained rate, and one about the rate above which response
/// times rise sharply (the knee), if there is one.
pub(super) fn findings(measured: &Measured) -> Vec<String> {
    let Measured { found, batch, entries, .. } = measured;
    let limit = measured.limit.map_or("nothing that was tried", limit_words);
    let rate = match (found.loss_free_rate, found.lossy_rate) {
        (Some(low), Some(high)) => {
            format!("{} to {}", per_second(low).words(), per_second(high).words())
        }
        (Some(low), None) => format!("at least {}", per_second(low).words()),
        (None, _) => "none of the rates that were tried".to_owned(),
    };
    let confidence = found.confidence.map_or_else(String::new, |confidence| {
        format!(" with {:.0} % confidence", 100.0 * confidence)
    });
    let mut findings = vec![format!(
        "sustained: {rate}{confidence}, with {batch} updates in a request and about {entries} entries in the table; limited \
         by {limit}."
    )];
    if let Some(knee) = found.knee.found {
        findings.push(format!(
            "sustained: from {} on, the time to the answer grows faster than the rate (the knee is between {} and {}).",
            per_second(knee.rate).words(),
            per_second(knee.low).words(),
            per_second(knee.high).words()
        ));
    }
    if measured.wrong > 0 {
        findings.push(format!(
            "sustained: after trials, the table had {} entries too many or too few, although the switch had accepted the \
             updates.",
            measured.wrong
        ));
    }
    findings
}

pub(super) fn section(measured: &Measured) -> Section {
    let found = &measured.found;
    let count = |count: usize| Cell::from(Value::new(count as f64, Unit::Count));
    let rate = |rate: Option<f64>| Cell::optional(rate.map(per_second));
    let mut results = Table::of_values("Sustained rate of updates", ["figure", "value"]);
    results.row([Cell::text("highest rate that is sustained"), rate(found.loss_free_rate)]);
    results.row([Cell::text("lowest rate that is not"), rate(found.lossy_rate)]);
    let confidence = found.confidence.map(|share| Value::new(share, Unit::Fraction));
    results.row([Cell::text("confidence"), Cell::optional(confidence)]);
    let limit = measured.limit.map_or("nothing that was tried", limit_words);
    results.row([Cell::text("limited by"), Cell::text(limit)]);
    results.row([
        Cell::text("highest rate of answers"),
        per_second(found.maximum_received_rate).into(),
    ]);
    let knee = found.knee.found;
    results.row([Cell::text("knee of the response time"), rate(knee.map(|knee| knee.rate))]);
    results.row([Cell::text("knee, lower end"), rate(knee.map(|knee| knee.low))]);
    results.row([Cell::text("knee, upper end"), rate(knee.map(|knee| knee.high))]);
    results.row([Cell::text("updates in a request"), count(measured.batch)]);
    results.row([Cell::text("entries in the table"), count(measured.entries)]);
    results.row([Cell::text("trials"), count(measured.points.len())]);
    results.row([
        Cell::text("trials that Planimeter disturbed"),
        Value::new(found.disturbed_trials.into(), Unit::Count).into(),
    ]);
    results.row([Cell::text("entries too many or too few"), count(measured.wrong)]);
    let refused = measured
        .refusal
        .as_ref()
        .map(|refusal| format!("The first refusal was {}.", refusal_words(refusal)));
    Section {
        id: "sustained".to_owned(),
        title: "Sustained rate of updates".to_owned(),
        text: [
            "Requests are due by a schedule of even spacing: insertions and deletions of the oldest entries take turns, so that \
             the number of entries stays. A rate is sustained if nothing is refused, requests without an answer do not become \
             more, and the table has all entries in the end."
                .to_owned(),
            found.loss_free_method.clone(),
            sentence(&found.knee.method),
        ]
        .into_iter()
        .chain(refused)
        .chain(measured.transport.map(|_| transport::TEXT.to_owned()))
        .collect(),
        tables: [results, trials(&measured.points)].into_iter().chain(connection(measured)).collect(),
        figures: vec![Figure::plot(responses(&measured.points), "")],
        ..Section::default()
    }
}

/// Returns a table of the TCP evidence from the trials that decided whether the switch, this host
/// or the network was the limit. Returns `None` if no requests piled up in these trials, or if
/// nothing is known about the connection.
fn connection(measured: &Measured) -> Option<Table> {
    let work = "trials at the lowest rates that failed".to_owned();
    let (answer, sees) = (None, transport::Sees::Bulk);
    transport::table(measured.transport.map(|seen| transport::Row { work, seen, answer, sees }))
}

/// Returns a text as a sentence: with a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str().trim_end_matches('.'))
}

fn seconds(point: &Point) -> Option<Value> {
    point.response.map(|time| Value::new(time.as_secs_f64(), Unit::Seconds))
}

fn trials(points: &[Point]) -> Table {
    let mut table =
        Table::of_values("Trials", ["trial", "due", "answered", "response", "lost", "verdict"]);
    for (number, point) in points.iter().enumerate() {
        let verdict = match point {
            Point { is_limited_here: true, .. } => "disturbed by Planimeter",
            Point { is_growing: true, .. } => "requests piled up",
            Point { lost, .. } if *lost > 0.0 => "updates were lost",
            _ => "sustained",
        };
        table.row([
            Cell::text((number + 1).to_string()),
            per_second(point.offered).into(),
            per_second(point.answered).into(),
            Cell::optional(seconds(point)),
            Value::new(point.lost, Unit::Fraction).into(),
            Cell::text(verdict),
        ]);
    }
    table.only_in_page()
}

/// Returns a chart of the response time against the rate of updates.
fn responses(points: &[Point]) -> Plot {
    let steady = points.iter().filter(|point| !point.is_growing && !point.is_limited_here);
    let mut shown: Vec<(f64, Value)> =
        steady.filter_map(|point| Some((point.offered, seconds(point)?))).collect();
    shown.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    Plot::of_values(
        "Mean time to the answer, where requests did not pile up",
        Axis::linear("updates that are due", Unit::PerSecond),
        Axis::linear("request to answer", Unit::Seconds),
        vec![Line::of_values("trials", Origin::Measured, shown)],
    )
}
