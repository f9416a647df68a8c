//! The section of the report on when packets obey updates, and on what happens to them meanwhile.

use ::dut::BatchAtomicity;
use ::dut::effects::{Excess, Percentile, Range, Silence, Summary};
use ::dut::live::{Kind, Measured};
use report::page::document::Section;
use report::page::{Cell, Table};
use report::value::{Spread, Value};
use statistics::Unit;

/// Returns a sentence for each kind of update request, and one for each fault that was found.
pub(super) fn findings(found: &Measured) -> Vec<String> {
    let mut findings = Vec::new();
    for kind in &found.kinds {
        let (name, summary) = (name(kind), &kind.summary);
        if let Some(time) = median(&summary.lags) {
            findings.push(format!(
                "{name}: {} from the answer to packets (p50); packets obeyed {} of {} rules before the answer and {} after \
                 it, {} are undecided.",
                time.words(),
                summary.late,
                summary.rules,
                summary.early,
                summary.undecided
            ));
        }
        findings.extend(faults(summary).into_iter().map(|fault| format!("{name}: {fault}.")));
        findings.extend(torn(kind));
    }
    findings
}

/// Returns a sentence if packets saw a request applied in part, although the switch promised to
/// apply it atomically in the data plane.
fn torn(kind: &Kind) -> Option<String> {
    let summary = &kind.summary;
    let is_forbidden = match kind.atomicity {
        BatchAtomicity::ContinueOnError | BatchAtomicity::RollbackOnError => false,
        BatchAtomicity::DataplaneAtomic => true,
    };
    (is_forbidden && summary.torn > 0).then(|| {
        format!(
            "{}: {} of {} requests were visible in part, although they had to take effect at once.",
            name(kind),
            summary.torn,
            summary.batches
        )
    })
}

/// Returns a sentence that says whether an OpenFlow switch replied to a barrier before packets
/// obeyed the rule that precedes the barrier. Returns `None` if this is undecided for all rules.
pub(super) fn barriers(found: &Measured) -> Option<String> {
    let summaries = found.kinds.iter().map(|kind| &kind.summary);
    let sum = |count: fn(&Summary) -> u64| -> u64 { summaries.clone().map(count).sum() };
    let [early, late, undecided] =
        [sum(|one| one.early), sum(|one| one.late), sum(|one| one.undecided)];
    let decided = early + late + undecided;
    match early {
        _ if decided == 0 => None,
        0 => Some(format!(
            "barrier: no reply was shown to come before packets obeyed; packets obeyed {late} of {decided} rules before it, and \
             {undecided} are undecided."
        )),
        _ => Some(format!(
            "barrier: it does not tell the truth: its reply came before packets obeyed {early} of {decided} rules."
        )),
    }
}

fn faults(summary: &Summary) -> Vec<String> {
    let mut faults = Vec::new();
    if summary.flapped > 0 {
        faults.push(format!(
            "{} of {} rules went back to their old state meanwhile",
            summary.flapped, summary.rules
        ));
    }
    if summary.unbounded > 0 {
        faults.push(format!(
            "packets did not show {} of {} changes",
            summary.unbounded, summary.rules
        ));
    }
    for (what, excess) in
        [("lost", summary.losses), ("altered or sent elsewhere", summary.astray())]
    {
        if excess.is_found() {
            faults.push(format!(
                "{} of {} packets were {what} during changes, and {} of {} before them",
                excess.changes.wrong,
                excess.changes.probes,
                excess.control.wrong,
                excess.control.probes
            ));
        }
    }
    faults
}

fn name(kind: &Kind) -> String {
    let rules = if kind.rules == 1 { "rule" } else { "rules" };
    let atomicity = match kind.atomicity {
        BatchAtomicity::ContinueOnError => String::new(),
        other => format!(", {}", other.name()),
    };
    format!("{} of {} {rules}{atomicity}", kind.operation.verb(), kind.rules)
}

/// Returns the median of times, each of which is known only as a range. The spread of the result is
/// the wider half of the median's confidence interval, which accounts for the width of the ranges.
fn median(times: &[Range]) -> Option<Value> {
    let median = Percentile::of(times, 0.5)?;
    let [least, most] =
        [median.of_samples.least, median.of_samples.most].map(|time| time.as_seconds());
    let value = f64::midpoint(least, most);
    // The wider half stands for both, since an interval with negative ends is hard to read.
    let spread = median.interval.map_or(Spread::None, |interval| {
        let [low, high] = [interval.least, interval.most].map(|time| time.as_seconds());
        Spread::Confidence((high - value).max(value - low))
    });
    Some(Value { value, unit: Unit::Seconds, spread })
}

fn count(count: u64) -> Cell {
    Value::new(count as f64, Unit::Count).into()
}

/// Returns the section on effects of updates, with all figures.
pub(super) fn section(found: &Measured) -> Section {
    let mut text = vec![
        format!(
            "Table {}, {} rules, each with a flow of packets; {:.0} packets per second in all, of {:.0} that were due. A change lies between the latest sending of a packet that \
             met the old state and the earliest arrival of one that met the new state. Intervals of medians are at 95 % \
             over requests and contain this uncertainty. Times to packets are those to the last rule of a request, and \
             are negative if packets obey before the answer. Before means that packets obeyed when the answer came, after \
             that they did not.",
            found.table, found.rules, found.probes_per_second, found.due_per_second
        ),
        "Packets during changes are those that were sent from the request on, until a while after its answer; the others \
         were sent before the request."
            .to_owned(),
    ];
    if found.kinds.iter().any(|kind| kind.silence != Silence::Neither) {
        text.push(
            "Packets of some states do not leave by any port of --port. Their loss cannot be told from that, so losses are \
             counted only where packets leave in both states."
                .to_owned(),
        );
    }
    if found.unsent > 0 {
        text.push(format!("{} packets could not be sent: the interface was busy.", found.unsent));
    }
    text.extend(found.unimplemented.iter().map(|(atomicity, refusal)| {
        format!(
            "The switch does not implement the atomicity {}; it answered {}: {}.",
            atomicity.name(),
            refusal.code,
            refusal.message.trim_end_matches('.')
        )
    }));
    Section {
        id: "effects".to_owned(),
        title: "Effects on packets".to_owned(),
        text,
        tables: vec![times(found), outcomes(found), batches(found)],
        ..Section::default()
    }
}

fn times(found: &Measured) -> Table {
    let mut table = Table::of_values(
        "When packets obey",
        [
            "request",
            "requests",
            "request to answer, p50",
            "answer to packets, p50",
            "request to packets, p50",
            "bracket, p50",
            "before",
            "undecided",
            "after",
        ],
    );
    for kind in &found.kinds {
        let summary = &kind.summary;
        let widths: Vec<Range> =
            summary.widths.iter().map(|width| Range { least: *width, most: *width }).collect();
        // The widths of the rules of a request are no independent samples.
        let width = median(&widths).map(|width| Value::new(width.value, Unit::Seconds));
        table.row([
            Cell::text(name(kind)),
            count(summary.requests),
            Cell::optional(median(&summary.answered)),
            Cell::optional(median(&summary.lags)),
            Cell::optional(median(&summary.obeyed)),
            Cell::optional(width),
            count(summary.late),
            count(summary.undecided),
            count(summary.early),
        ]);
    }
    table
}

fn outcomes(found: &Measured) -> Table {
    let mut table = Table::of_values(
        "What packets met",
        [
            "request",
            "packets",
            "old",
            "new",
            "both",
            "twice",
            "altered",
            "elsewhere",
            "lost",
            "before: packets",
            "before: lost",
            "excess",
        ],
    );
    for kind in &found.kinds {
        let (changes, control) = (&kind.summary.changes, &kind.summary.control);
        let losses: Excess = kind.summary.losses;
        let visible = kind.silence == Silence::Neither;
        let excess = match (visible, losses.is_found() || kind.summary.astray().is_found()) {
            (_, true) => "yes",
            (true, false) => "no",
            (false, false) => "not shown",
        };
        table.row([
            Cell::text(name(kind)),
            count(changes.all()),
            count(changes.old),
            count(changes.new),
            count(changes.both),
            count(changes.repeated),
            count(changes.altered),
            count(changes.elsewhere),
            count(changes.lost),
            count(control.all()),
            count(control.lost),
            Cell::text(excess),
        ]);
    }
    table
}

fn batches(found: &Measured) -> Table {
    let mut table = Table::of_values(
        "Batches",
        [
            "request",
            "requests",
            "visible in part",
            "first to last rule, p50",
            "least tau",
            "greatest tau",
            "rules that went back",
            "rules not shown",
        ],
    );
    for kind in &found.kinds {
        let summary = &kind.summary;
        let order = summary.order();
        let tau =
            |end: usize| Cell::optional(order.map(|order| Value::new(order[end], Unit::Index)));
        table.row([
            Cell::text(name(kind)),
            count(summary.batches),
            count(summary.torn),
            Cell::optional(median(&summary.spreads)),
            tau(0),
            tau(1),
            count(summary.flapped),
            count(summary.unbounded),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use ::dut::Operation;

    use super::*;

    #[test]
    fn only_an_atomic_request_must_not_be_visible_in_part() {
        let kind = |atomicity, torn| {
            let mut summary = Summary::default();
            (summary.batches, summary.torn) = (20, torn);
            let silence = Silence::Neither;
            Kind { operation: Operation::Modify, rules: 8, atomicity, silence, summary }
        };
        let found = torn(&kind(BatchAtomicity::DataplaneAtomic, 3)).expect("it is forbidden");
        let words = "modify of 8 rules, dataplane-atomic: 3 of 20 requests were visible in part";
        assert!(found.starts_with(words), "{found}");
        assert_eq!(torn(&kind(BatchAtomicity::DataplaneAtomic, 0)), None);
        assert_eq!(torn(&kind(BatchAtomicity::RollbackOnError, 3)), None);
    }
}
