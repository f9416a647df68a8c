//! The section of the report on the commit of a pipeline.

use std::time::Duration;

use ::dut::commits::{Commit, Committed, Forwarding, Measured};
use report::page::document::Section;
use report::page::{Cell, Table};
use report::value::Value;
use statistics::{Estimate, Unit};

/// Returns sentences about committing a pipeline: how long each action takes, what happens to
/// packets meanwhile, and which entries were wrongly kept or deleted.
pub(super) fn findings(measured: &Measured) -> Vec<String> {
    let mut findings = Vec::new();
    for (commit, all) in actions(measured) {
        let name = commit.name();
        if let Some(answer) = mean(all.iter().map(|one| Some(one.answer))) {
            let packets = mean(forwarded(all)).map_or_else(String::new, |time| {
                format!("; the first packet after the answer is forwarded after {}", time.words())
            });
            findings
                .push(format!("pipeline: {name} is answered after {}{packets}.", answer.words()));
        }
        let sum = |of: fn(&Committed) -> usize| all.iter().map(of).sum::<usize>();
        let (entries, kept) = (sum(|one| one.entries), sum(|one| one.kept));
        match commit {
            Commit::Verify if kept > 0 => findings.push(format!(
                "pipeline: {kept} of {entries} entries were still there after {name}, which must clear the tables."
            )),
            Commit::Reconcile if kept < entries => findings.push(format!(
                "pipeline: {} of {entries} entries were lost by {name}, which must keep them.",
                entries - kept
            )),
            Commit::Verify | Commit::Reconcile => {}
        }
        let packets = || all.iter().filter_map(|one| one.forwarding);
        let lost: usize = packets().map(|one| one.lost).sum();
        let never = packets().filter(|one| one.first.is_none()).count();
        if lost > 0 {
            let sent: usize = packets().map(|one| one.sent).sum();
            findings.push(format!("pipeline: {lost} of {sent} packets were lost during {name}."));
        }
        if never > 0 {
            findings.push(format!(
                "pipeline: after {never} {name}, no packet was forwarded within 5 s."
            ));
        }
    }
    if let Some(refusal) = &measured.refusal {
        findings.push(format!(
            "pipeline: the switch refuses RECONCILE_AND_COMMIT with {}. P4Runtime does not demand that a switch supports it.",
            refusal.code
        ));
    }
    findings
}

fn actions(measured: &Measured) -> [(Commit, &[Committed]); 2] {
    [(Commit::Verify, &measured.verified), (Commit::Reconcile, &measured.reconciled)]
}

/// Returns, for each commit, the time until a packet was forwarded, or `None` if none was.
fn forwarded(all: &[Committed]) -> impl Iterator<Item = Option<Duration>> {
    all.iter().map(|one| one.forwarding.and_then(|packets| packets.first))
}

/// Returns the mean of these times, or `None` if one is unknown or there are none.
fn mean(times: impl Iterator<Item = Option<Duration>>) -> Option<Value> {
    let times: Option<Vec<f64>> = times.map(|time| Some(time?.as_secs_f64())).collect();
    Estimate::of(&times?).map(|time| Value::told(&time, Unit::Seconds))
}

pub(super) fn section(measured: &Measured) -> Section {
    let mut table = Table::of_values(
        "Commits of a pipeline",
        ["action", "commits", "answer", "entries before", "entries kept"],
    );
    let mut packets = Table::of_values(
        "Packets during commits",
        ["action", "first packet", "longest pause", "sent meanwhile", "lost"],
    );
    let count = |count: usize| Cell::from(Value::new(count as f64, Unit::Count));
    for (commit, all) in actions(measured) {
        let sum = |of: fn(&Committed) -> usize| all.iter().map(of).sum::<usize>();
        table.row([
            Cell::text(commit.name()),
            count(all.len()),
            Cell::optional(mean(all.iter().map(|one| Some(one.answer)))),
            count(sum(|one| one.entries)),
            count(sum(|one| one.kept)),
        ]);
        let sent: Vec<Forwarding> = all.iter().filter_map(|one| one.forwarding).collect();
        if !sent.is_empty() {
            packets.row([
                Cell::text(commit.name()),
                Cell::optional(mean(forwarded(all))),
                Cell::optional(mean(sent.iter().map(|one| one.pause))),
                count(sent.iter().map(|one| one.sent).sum()),
                count(sent.iter().map(|one| one.lost).sum()),
            ]);
        }
    }
    let has_packets = measured.verified.iter().any(|one| one.forwarding.is_some());
    let what = match measured.is_same {
        true => "The switch's own pipeline was committed again.",
        false => {
            "The pipeline of --program was committed, which is another one than the switch ran."
        }
    };
    let refused = measured.refusal.as_ref().map(|refusal| {
        let message = refusal.message.trim_end_matches('.');
        format!("The switch refused RECONCILE_AND_COMMIT: {} ({message}).", refusal.code)
    });
    Section {
        id: "pipeline".to_owned(),
        title: "Commit of a pipeline".to_owned(),
        text: std::iter::once(format!(
            "{what} VERIFY_AND_COMMIT clears the tables; RECONCILE_AND_COMMIT keeps the entries, if the switch supports it. The \
             pipeline that ran before was put back. Intervals are over commits."
        ))
        .chain(refused)
        .collect(),
        tables: std::iter::once(table).chain(has_packets.then_some(packets)).collect(),
        ..Section::default()
    }
}

#[cfg(test)]
mod tests {
    use ::dut::Refusal;

    use super::*;

    fn committed(kept: usize, forwarding: Option<Forwarding>) -> Committed {
        Committed { answer: Duration::from_millis(20), entries: 50, kept, forwarding }
    }

    #[test]
    fn entries_that_are_lost_or_left_and_packets_that_are_lost_are_findings() {
        let good = Measured {
            verified: vec![committed(0, None); 2],
            reconciled: vec![committed(50, None); 2],
            ..Measured::default()
        };
        assert_eq!(findings(&good).len(), 2, "{:?}", findings(&good));
        let lost = Forwarding { first: None, sent: 9, lost: 7, pause: None };
        let bad = Measured {
            verified: vec![committed(1, Some(lost))],
            reconciled: vec![committed(48, None)],
            refusal: Some(Refusal {
                code: "Internal".to_owned(),
                message: "no".to_owned(),
                entry: None,
            }),
            ..Measured::default()
        };
        let found = findings(&bad).join("\n");
        for words in [
            "1 of 50 entries were still there after VERIFY_AND_COMMIT",
            "7 of 9 packets were lost during VERIFY_AND_COMMIT",
            "after 1 VERIFY_AND_COMMIT, no packet was forwarded",
            "2 of 50 entries were lost by RECONCILE_AND_COMMIT",
            "refuses RECONCILE_AND_COMMIT with Internal",
        ] {
            assert!(found.contains(words), "{words}: {found}");
        }
        assert_eq!(section(&bad).tables.len(), 2);
        assert_eq!(section(&good).tables.len(), 1);
    }
}
