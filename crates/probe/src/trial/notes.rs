//! Notes on the quality of a measurement, which a trial's result shows with its figures.

use super::delays::{in_words, own_percentiles};
use crate::account::Times;
use crate::config::Mode;
use crate::engine::TrialPlan;
use crate::engine::recorder::DETAIL_LIMIT;
use crate::ledger::{Hindered, LATE};
use crate::outcome::{Counts, Latency};

/// The delays that the probe caused in sending packet-ins and in reading answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delays<'a> {
    pub(super) send_lag: &'a Latency,
    pub(super) read_delay: &'a Latency,
    pub(super) times: Times<'a>,
    /// The share of the packet-ins refused by connections for which the network is responsible and
    /// not the controller.
    pub(super) by_network: f64,
}

/// Returns notes that help users not to misread a trial's figures.
pub(super) fn of_trial(
    plan: &TrialPlan,
    counts: &Counts,
    hindered: &Hindered,
    delays: Delays<'_>,
) -> Vec<String> {
    let Delays { send_lag, read_delay, times, by_network } = delays;
    let culprit = match by_network > 0.5 {
        true => "the network did not carry what its connection held",
        false => "the controller did not read its connection",
    };
    let mut notes: Vec<String> = plan.topology.notes().to_vec();
    notes.extend_from_slice(plan.frames.notes());
    if plan.config.switches.count > DETAIL_LIMIT {
        notes.push(format!(
            "Values over time are kept in sum only, since there are more than {DETAIL_LIMIT} \
             switches."
        ));
    }
    if counts.untimed > 0 {
        notes.push(format!(
            "{} answers came after the times of their packet-ins were forgotten: they are missing \
             from the round-trip times. Raise --outstanding-limit.",
            counts.untimed
        ));
    }
    if send_lag.p99_ns > LATE {
        // The note contains no figures, so that it is equal in all trials and is printed once.
        notes.push(
            "At least one packet-in in a hundred left more than 1 ms late: the tail of the \
             round-trip time from due includes that, the one from sent does not."
                .into(),
        );
    }
    let own = own_percentiles(times);
    if !own.is_empty() {
        notes.push(format!(
            "Round-trip times at {} are the probe's own by a quarter or more: they are as much longer \
             than those of packet-ins that no late burst of the probe delayed, and whose answers it \
             read as they came. Lower the rate, or give the probe more threads and cores.",
            in_words(&own)
        ));
    } else if read_delay.p99_ns > LATE && plan.config.traffic.mode != Mode::Flood {
        notes.push(
            "For at least a hundredth of the time the probe read nothing for more than 1 ms: answers \
             that came then waited in its sockets, and their round-trip times include that."
                .into(),
        );
    }
    if counts.unsent > 0 {
        notes.push(never_left(counts, *hindered, culprit));
    }
    if hindered.held_back > 0 {
        let held_back = hindered.held_back;
        notes.push(format!(
            "{held_back} packet-ins left late since {culprit}; the round-trip time from due includes \
             that wait, the one from sent does not."
        ));
    }
    if counts.handled_by_rules() > 0 {
        notes.push(if counts.sent == 0 {
            "No packet-in was sent: the controller's rules handled every packet in the switches."
                .into()
        } else {
            format!(
                "Rules handled {} of {} packets in the switches, so that they became no \
                 packet-ins: the rate of packet-ins is lower than the offered one.",
                counts.handled_by_rules(),
                counts.due
            )
        });
    }
    if plan.config.traffic.mode == Mode::Flood {
        notes.push(
            "Flood: packet-ins are prepared once and repeated, answers are counted and not \
             matched, so there is no round-trip time."
                .into(),
        );
    }
    notes
}

/// Describes how many packet-ins were never sent, and why.
fn never_left(counts: &Counts, hindered: Hindered, culprit: &str) -> String {
    let Hindered { refused, cut_off, .. } = hindered;
    let rest = counts.unsent.saturating_sub(refused + cut_off);
    let refused_since = format!("were refused by connections, since {culprit}");
    let reasons: Vec<String> = [
        (cut_off, "had no connection to leave by"),
        (refused, refused_since.as_str()),
        (rest, "were not sent by the probe in time"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, reason)| format!("{count} {reason}"))
    .collect();
    format!(
        "{} of {} packet-ins that were due never left: {}. They have no round-trip times.",
        counts.unsent,
        counts.due,
        reasons.join(", ")
    )
}
