//! The sentences that explain a verdict to the user.

use statistics::can_state;

use super::{Edges, Evidence, Explained};
use crate::ledger::{Hindered, LATE};
use crate::outcome::{Backlog, Latency, Saturated, Silence, SwitchOutcome};
use crate::trial::delays::{in_words, own_percentiles};

/// The number of standard deviations up to which the growth of a queue counts as chance.
const CHANCE: f64 = 3.0;
/// The largest number of switches that a sentence lists.
const NAMED: usize = 4;

/// The evidence and the account of a trial, from which the sentences of its verdict are formed.
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    pub(super) evidence: &'a Evidence<'a>,
    pub(super) explained: &'a Explained,
}

impl Words<'_> {
    /// Explains why `side` was the limit. Also mentions the other sides that delayed or lost more
    /// packet-ins than the tolerance.
    pub(super) fn limit(
        &self,
        side: Saturated,
        apart: &[&SwitchOutcome],
        others: &[(Saturated, u64)],
    ) -> String {
        let mut text = match side {
            Saturated::Controller => self.controller(apart),
            Saturated::Probe => self.probe(),
            _ => self.network(),
        };
        for (other, low) in others {
            let name = match other {
                Saturated::Controller => "The controller",
                Saturated::Probe => "The probe",
                _ => "The network",
            };
            let low = grouped(*low);
            text.push_str(&format!(" {name} accounts for {low} or more as well."));
        }
        text.push_str(&both_cpus(self.evidence));
        text.push_str(&self.caveat());
        text
    }

    /// Explains a verdict that the controller was the limit.
    fn controller(&self, apart: &[&SwitchOutcome]) -> String {
        let Hindered { held_back, refused, cut_off } = self.evidence.observed.hindered;
        let due = grouped(self.evidence.wanted());
        let mut parts = Vec::new();
        if !apart.is_empty() {
            parts.push(self.apart(apart));
        }
        let by_network = self.evidence.refused_by_network();
        let closed = ((held_back + refused) as f64 * (1.0 - by_network)) as u64;
        if closed > self.explained.tolerance {
            parts.push(format!(
                "It did not read its connections fast enough: they refused {} of {due} packet-ins, of \
                 which {} never left.",
                grouped(closed),
                grouped((refused as f64 * (1.0 - by_network)) as u64)
            ));
        }
        if cut_off > self.explained.tolerance {
            parts.push(format!(
                "It ended {} connections, or did not accept them: {} of {due} packet-ins that were due could not \
                 leave.",
                self.evidence.counts.disconnects,
                grouped(cut_off)
            ));
        }
        if self.explained.dropped > self.explained.tolerance {
            let passed = grouped(self.explained.course.passed_over);
            let late = self.explained.course.late;
            let excused = match late {
                0 => "nothing in the probe explains any of it".to_owned(),
                late => format!("the probe's late bursts explain at most {}", grouped(late)),
            };
            parts.push(format!(
                "It dropped {passed} of {due} packet-ins, since it answered later ones: {excused}."
            ));
        }
        if self.explained.backlog > self.explained.tolerance || parts.is_empty() {
            parts.push(self.grew());
        }
        parts.join(" ")
    }

    /// Describes by how much the controller's backlog grew, and how fast.
    fn grew(&self) -> String {
        let seconds = self.evidence.seconds();
        let offered = self.evidence.wanted() as f64 / seconds;
        let Edges { start, end } = self.explained.course.backlog();
        let (answered, bounds, rate) = match &self.explained.service {
            Some(service) => (
                rate(service.rate),
                format!(" ({} to {})", rate(service.low), rate(service.high)),
                service.rate,
            ),
            None => {
                let mean = self.evidence.answers_in_window as f64 / seconds;
                (rate(mean), String::new(), mean)
            }
        };
        let work = match rate > 0.0 {
            true => format!(", {} of work", duration(end as f64 / rate)),
            false => String::new(),
        };
        let counts = self.evidence.counts;
        let in_time = counts.answered - counts.answered_after;
        let earlier = match self.evidence.answers_in_window {
            0 => "",
            _ if in_time == 0 => {
                " All answers in the window were to packet-ins that were due before it."
            }
            _ => "",
        };
        format!(
            "Of {}/s due it answered {answered}/s{bounds}; its backlog grew from {} to {} \
             packet-ins{work}.{earlier}",
            self::rate(offered),
            grouped(start),
            grouped(end)
        )
    }

    /// Explains a verdict that the probe was the limit.
    fn probe(&self) -> String {
        let course = &self.explained.course;
        let seconds = self.evidence.seconds();
        let offered = rate(self.evidence.wanted() as f64 / seconds);
        let unsent = self.evidence.unsent_by_probe();
        let unread = self.evidence.unread_at_least();
        if course.held.growth().max(unsent) >= unread.max(course.hidden.sure_growth) {
            let left: u64 = course
                .intervals
                .get(course.first..course.end)
                .map_or(0, |inside| inside.iter().map(|one| one.left).sum());
            let never = match unsent {
                0 => String::new(),
                unsent => format!(" It never sent {} of the packet-ins.", grouped(unsent)),
            };
            let takes = match self.explained.account.controller.low > self.explained.tolerance {
                true => String::new(),
                false => format!(
                    "; the controller takes {}/s or more",
                    rate(self.evidence.answers_in_window as f64 / seconds)
                ),
            };
            return format!(
                "It sent {} of {offered}/s that were due{takes}.{never}",
                rate(left as f64 / seconds)
            );
        }
        let hidden = course.hidden.sure_growth;
        if hidden > unread {
            return format!(
                "Its own receive windows were closed while {} packet-ins more came to wait for their answers: it did \
                 not keep up with reading what the controller sent.",
                grouped(hidden)
            );
        }
        format!(
            "It had no time for its answers: {} more of them waited in its sockets at the end of the \
             window than at its start.",
            grouped(unread)
        )
    }

    fn network(&self) -> String {
        format!(
            "{} more packet-ins were on their way, or were refused by connections, at the end of the \
             window than at its start, although the controller's receive windows were open.{}",
            grouped(self.explained.account.network.high),
            retransmissions(self.evidence)
        )
    }

    /// Describes the switches that lost a larger share of their packet-ins than the others.
    pub(super) fn apart(&self, switches: &[&SwitchOutcome]) -> String {
        let named: Vec<String> = switches
            .iter()
            .take(NAMED)
            .map(|switch| {
                let counts = &switch.counts;
                let (answered, sent) = (grouped(counts.answered), grouped(counts.sent));
                format!("at switch {} {answered} of {sent} packet-ins were answered", switch.index)
            })
            .collect();
        let more = match switches.len().checked_sub(NAMED) {
            Some(more) if more > 0 => format!("; {more} more switches are like that"),
            _ => String::new(),
        };
        let (lost, sent) = self.evidence.switches.iter().fold((0, 0), |(lost, sent), one| {
            match switches.iter().any(|apart| apart.index == one.index) {
                true => (lost, sent),
                false => (lost + one.counts.lost, sent + one.counts.sent),
            }
        });
        let rest = format!(
            "at the other switches {} of {}",
            grouped(sent.saturating_sub(lost)),
            grouped(sent)
        );
        capital(&format!("{}{more}; {rest}.", named.join("; ")))
    }

    /// Describes for how long the host stalled on which both the probe and the controller run.
    /// Empty if the stalls delayed few packet-ins.
    fn stalls(&self) -> String {
        match self.evidence.stalled() {
            stalled if stalled > self.explained.tolerance => format!(
                " Nothing ran on the host of both for {:.3} s, which may explain {} of it.",
                self.evidence.host.stalled as f64 / 1e9,
                grouped(stalled)
            ),
            _ => String::new(),
        }
    }

    /// Explains that the controller waited for cores, and that it might have kept up without
    /// waiting.
    pub(super) fn shared_host(&self, reachable: f64) -> String {
        format!(
            "{} The controller's threads waited for a core so long that with cores of its own it might \
             reach {}/s, which is the load or more. Give it and the probe cores of their own.{}",
            self.grew(),
            rate(reachable),
            both_cpus(self.evidence)
        )
    }

    pub(super) fn bursts(&self) -> String {
        let missing = grouped(self.evidence.counts.unanswered());
        format!(
            "{missing} packet-ins were lost after it had sent {} late and in bursts; of those that left \
             on time fewer than 1 % were.{}",
            grouped(self.explained.course.late),
            self.away()
        )
    }

    pub(super) fn neither(&self) -> String {
        let counts = self.evidence.counts;
        format!(
            "{} and {:.3} % was answered.{}{}",
            departures(self.evidence.send_lag),
            100.0 * counts.answered as f64 / counts.sent.max(1) as f64,
            self.away(),
            self.caveat()
        )
    }

    /// Returns whether the backlog grew by more than can be explained. The growth is explained up
    /// to the tolerance plus chance plus the larger of two numbers: the packet-ins that were due
    /// during a pause of the controller, and those that the probe, the network and stalls of the
    /// host may have delayed.
    pub(super) fn is_unexplained(&self) -> bool {
        let course = &self.explained.course;
        let Edges { start, end } = course.backlog();
        let grown = end.saturating_sub(start) as f64;
        let rate = course.due as f64 / self.evidence.seconds();
        let pause = rate * self.evidence.observed.longest_gap as f64 / 1e9;
        let chance = CHANCE * (start as f64 + end as f64).sqrt();
        let probe = course.held_most + self.evidence.unread().end + course.hidden.growth;
        let elsewhere = probe + self.explained.account.network.high + self.evidence.stalled();
        grown > self.explained.tolerance as f64 + chance + pause.max(elsewhere as f64)
    }

    pub(super) fn growth_undecided(&self) -> String {
        let Edges { start, end } = self.explained.course.backlog();
        format!(
            "All packet-ins were answered in the end, but {} packet-ins were outstanding at the start of the window \
             and {} at its end, which may be growth or chance. Lengthen --duration.{}",
            grouped(start),
            grouped(end),
            self.away()
        )
    }

    pub(super) fn undecided(&self) -> String {
        let account = &self.explained.account;
        let missing = self.evidence.counts.unanswered();
        let (probe, controller) = (account.probe, account.controller);
        format!(
            "{} packet-ins have no answer; the probe explains {} to {} of what is missing, the \
             controller {} to {}. Lengthen --duration.{}{}",
            grouped(missing),
            grouped(probe.low),
            grouped(probe.high),
            grouped(controller.low),
            grouped(controller.high),
            self.away(),
            self.stalls()
        )
    }

    /// Describes the longest time for which the probe did not run (empty if it was short).
    fn away(&self) -> String {
        match self.evidence.observed.absent {
            0 => String::new(),
            absent => format!(" The probe did not run for {:.3} s in a row.", absent as f64 / 1e9),
        }
    }

    /// Returns a caveat that lists the percentiles of the round-trip time that delays of the probe
    /// may have raised (empty if there are none).
    fn caveat(&self) -> String {
        let own = own_percentiles(self.evidence.times);
        if own.is_empty() {
            return String::new();
        }
        format!(" Round-trip times at {} are the probe's own by a quarter or more.", in_words(&own))
    }
}

/// Returns the backlog of the controller, or `None` if it does not exceed the tolerance.
pub(super) fn backlog(words: &Words<'_>) -> Option<Backlog> {
    let Words { evidence, explained } = words;
    let Edges { start, end } = explained.course.backlog();
    if explained.backlog <= explained.tolerance {
        return None;
    }
    let seconds = evidence.seconds();
    let mean = evidence.answers_in_window as f64 / seconds;
    let service = explained.service;
    let rate = service.map_or(mean, |service| service.rate);
    let offered = evidence.wanted() as f64 / seconds;
    Some(Backlog {
        answer_rate: rate,
        answer_rate_low: service.map(|service| service.low),
        answer_rate_high: service.map(|service| service.high),
        at_start: start,
        at_end: end,
        growth_rate: offered - rate,
        time_to_answer_s: (rate > 0.0).then(|| end as f64 / rate),
    })
}

/// Describes the CPU time that the probe and the controller used, as far as it is known.
pub(super) fn both_cpus(evidence: &Evidence<'_>) -> String {
    let probe = evidence.probe.cpu_percent;
    match evidence.controller {
        Some(controller) => {
            let controller = controller.cpu_percent;
            format!(" The controller used {controller:.0} % of a core, the probe {probe:.0} %.")
        }
        None => format!(" The probe used {probe:.0} % of a core."),
    }
}

/// Describes how many TCP segments were retransmitted (empty if none were).
pub(super) fn retransmissions(evidence: &Evidence<'_>) -> String {
    match evidence.sockets.map_or(0, |sockets| sockets.retransmissions) {
        0 => String::new(),
        again => format!(" TCP retransmitted {} segments.", grouped(again)),
    }
}

/// Describes whether packet-ins were sent on time.
fn departures(send_lag: &Latency) -> String {
    let median = send_lag.p50_ns as f64 / 1e3;
    let milliseconds = |ns: u64| ns as f64 / 1e6;
    if !can_state(0.99, send_lag.samples) {
        let most = milliseconds(send_lag.max_ns);
        return match send_lag.max_ns <= LATE {
            true => format!("Everything left on time (send lag {most:.3} ms at most)"),
            false => format!("Not everything left on time (send lag {most:.3} ms at most)"),
        };
    }
    if send_lag.p99_ns <= LATE {
        format!("Everything left on time (median send lag {median:.1} µs)")
    } else if send_lag.p95_ns <= LATE {
        format!(
            "Nearly everything left on time (send lag {median:.1} µs in the median, {:.3} ms at p99)",
            milliseconds(send_lag.p99_ns)
        )
    } else {
        format!(
            "Not everything left on time (send lag {median:.1} µs in the median, {:.3} ms at p95, \
             {:.3} ms at p99)",
            milliseconds(send_lag.p95_ns),
            milliseconds(send_lag.p99_ns)
        )
    }
}

pub(super) fn stopped(silence: &Silence) -> String {
    format!(
        "The controller stopped answering: nothing came after {:.3} s of traffic until the end at {:.3} s, and {} \
         packet-ins that left from {:.3} s on have no answer. The first is number {} of switch {} ({}). That is not \
         a limit of a rate.",
        silence.last_answer_s,
        silence.until_s,
        silence.unanswered,
        silence.sent_s,
        silence.sequence,
        silence.switch,
        silence.frame
    )
}

/// Lists the switches that had no answer.
pub(super) fn dead(switches: &[&SwitchOutcome]) -> String {
    let named: Vec<String> =
        switches.iter().take(NAMED).map(|switch| switch.index.to_string()).collect();
    let more = match switches.len().checked_sub(NAMED) {
        Some(more) if more > 0 => format!(" and {more} more"),
        _ => String::new(),
    };
    let noun = if switches.len() == 1 { "Switch" } else { "Switches" };
    format!("{noun} {}{more} had no answer.", named.join(", "))
}

/// Formats a number with separators between the thousands, as in `186,002`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a rate per second, with a decimal if it is low.
fn rate(value: f64) -> String {
    if value >= 100.0 { grouped(value.round() as u64) } else { format!("{value:.1}") }
}

fn duration(seconds: f64) -> String {
    if seconds >= 100.0 {
        format!("{} s", grouped(seconds.round() as u64))
    } else {
        format!("{seconds:.1} s")
    }
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}
