//! Which side was the limit, and why nothing was answered.
//!
//! The rules are few and stated in the sentence that goes with each verdict, so that a reader can
//! disagree. The probe is checked first: when it fell behind its own schedule, nothing else that
//! was measured speaks about the controller.

use crate::config::{Mode, Protocol};
use crate::outcome::{Counts, HandshakeOutcome, Latency, Saturated, Verdict};

/// What a verdict rests on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence<'a> {
    pub(crate) mode: Mode,
    pub(crate) counts: &'a Counts,
    /// Packet-ins that left late since the controller did not read its connection.
    pub(crate) held_back: u64,
    /// Packet-ins that were due and did not leave, at switches whose connection the controller
    /// ended.
    pub(crate) cut_off: u64,
    pub(crate) send_lag: &'a Latency,
    pub(crate) read_delay: &'a Latency,
    pub(crate) rtt_from_sent: &'a Latency,
    /// First answers that arrived in the window, whenever their packet-in was due.
    pub(crate) answers_in_window: u64,
    /// Packet-ins outstanding at the start and at the end of the window.
    pub(crate) outstanding: (u64, u64),
    /// The probe's CPU, percent of one core, and its engine threads.
    pub(crate) probe_cpu_percent: f64,
    pub(crate) threads: usize,
}

/// Send lag of half of the packet-ins, or ten times it of a tenth, beyond which the schedule counts
/// as missed; and the same for the time that answers wait to be read. A probe that is too slow falls
/// ever further behind and exceeds both at once; a shared host that withholds the processor for
/// milliseconds now and then spoils a tail but limits no rate. Such tails are noted beside the
/// result.
pub(super) const LAG_LIMIT_NS: u64 = 1_000_000;
/// Share of packets whose absence is more than an edge of the window.
pub(crate) const NOTABLE: f64 = 0.01;

/// Packet-ins that piled up over the window: answers stayed behind, and more were outstanding at
/// its end than at its start. Where arrivals are random the number that happens to be outstanding
/// has about the variance of a Poisson variate, its mean; what three standard deviations of the
/// difference explain is chance and counts as nothing.
pub(crate) fn piled_up(sent: u64, answers_in_window: u64, outstanding: (u64, u64)) -> u64 {
    let (before, after) = outstanding;
    let pile = sent.saturating_sub(answers_in_window).min(after.saturating_sub(before));
    let chance = 3.0 * (before as f64 + after as f64).sqrt();
    if pile as f64 > chance { pile } else { 0 }
}

pub(crate) fn verdict(evidence: &Evidence<'_>) -> Verdict {
    let counts = evidence.counts;
    let handled = counts.handled_by_rules();
    if counts.sent == 0 && handled > 0 && counts.unsent() == 0 {
        return judge(
            Saturated::Neither,
            format!(
                "No packet-in left: rules handled all of the {handled} packets in the switches."
            ),
        );
    }
    match evidence.mode {
        Mode::Open => open_loop(evidence),
        Mode::Closed { window, .. } => closed_loop(evidence, window),
        Mode::Flood => flood(evidence),
    }
}

fn open_loop(evidence: &Evidence<'_>) -> Verdict {
    let Evidence { counts, send_lag, .. } = *evidence;
    if counts.due == 0 {
        return judge(Saturated::Unknown, "No packet-in was due in the measure window.".into());
    }
    let share = |count: u64| count as f64 / counts.due as f64;
    let unsent = counts.unsent();
    if share(evidence.held_back.saturating_add(unsent)) > NOTABLE && evidence.held_back > unsent / 2
    {
        return judge(
            Saturated::Controller,
            format!(
                "It did not read its connections fast enough: {} of {} packet-ins were held back \
                 by flow control.",
                evidence.held_back.saturating_add(unsent),
                counts.due
            ),
        );
    }
    if share(evidence.cut_off) > NOTABLE && evidence.cut_off > unsent / 2 {
        return judge(
            Saturated::Controller,
            format!(
                "It ended {} connections: {} of {} packet-ins that were due could not leave.",
                counts.disconnects, evidence.cut_off, counts.due
            ),
        );
    }
    if is_behind(send_lag) || share(unsent) > NOTABLE {
        return judge(
            Saturated::Probe,
            format!(
                "It fell behind its own schedule: half of the packet-ins left more than {:.3} ms \
                 late, a tenth more than {:.3} ms, and {unsent} of {} that were due did not leave.",
                send_lag.p50_ns as f64 / 1e6,
                send_lag.p90_ns as f64 / 1e6,
                counts.due
            ),
        );
    }
    // Packet-ins go before answers, so a probe that is too slow shows here first.
    let read_delay = evidence.read_delay;
    if is_behind(read_delay) {
        return judge(
            Saturated::Probe,
            format!(
                "It had no time for its answers: for half of the time it read nothing for more \
                 than {:.3} ms, for a tenth more than {:.3} ms.",
                read_delay.p50_ns as f64 / 1e6,
                read_delay.p90_ns as f64 / 1e6,
            ),
        );
    }
    let (before, after) = evidence.outstanding;
    let grown = after.saturating_sub(before);
    let pile = piled_up(counts.sent, evidence.answers_in_window, evidence.outstanding);
    // What was lost stays outstanding as well; a sentence of its own tells of it.
    if pile.saturating_sub(counts.lost) as f64 > NOTABLE * counts.sent as f64 {
        return judge(
            Saturated::Controller,
            format!(
                "{}, but only {} answers came in the window for {} packet-ins, and {grown} more \
                 were outstanding at its end than at its start.{}",
                departures(send_lag),
                evidence.answers_in_window,
                counts.sent,
                caveat(evidence)
            ),
        );
    }
    if counts.lost as f64 > NOTABLE * counts.sent as f64 {
        return judge(
            Saturated::Controller,
            format!(
                "{}, but {} of {} packet-ins were never answered.{}",
                departures(send_lag),
                counts.lost,
                counts.sent,
                caveat(evidence)
            ),
        );
    }
    judge(
        Saturated::Neither,
        format!(
            "{} and {:.3} % was answered.{}",
            departures(send_lag),
            100.0 * counts.answered as f64 / counts.sent.max(1) as f64,
            caveat(evidence)
        ),
    )
}

/// How punctual packet-ins were that left on time on the whole.
fn departures(send_lag: &Latency) -> String {
    let median = send_lag.p50_ns as f64 / 1e3;
    match send_lag.p99_ns {
        ..=LAG_LIMIT_NS => format!("Everything left on time (median send lag {median:.1} us)"),
        late => format!(
            "Nearly everything left on time (send lag {median:.1} us in the median, {:.3} ms at p99)",
            late as f64 / 1e6
        ),
    }
}

/// What a reader must not take for the controller's although it was not the probe that limited the
/// rates.
fn caveat(evidence: &Evidence<'_>) -> String {
    let own = own_percentiles(evidence.read_delay, evidence.rtt_from_sent);
    if own.is_empty() {
        return String::new();
    }
    format!(" Round-trip times are mostly the probe's own at {}.", in_words(&own))
}

/// The percentiles at which the time that answers may wait for the probe to read them makes up more
/// than half of the round-trip time. Beyond p99 single pauses of the host decide, on both sides.
pub(super) fn own_percentiles(read_delay: &Latency, rtt: &Latency) -> Vec<&'static str> {
    if rtt.samples == 0 {
        return Vec::new();
    }
    let at = |latency: &Latency| [latency.p50_ns, latency.p90_ns, latency.p95_ns, latency.p99_ns];
    let pairs = at(read_delay).into_iter().zip(at(rtt));
    ["p50", "p90", "p95", "p99"]
        .into_iter()
        .zip(pairs)
        .filter(|(_, (read_delay, rtt))| read_delay > &(rtt / 2))
        .map(|(name, _)| name)
        .collect()
}

/// `p90, p95 and p99`.
pub(super) fn in_words(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn is_behind(delay: &Latency) -> bool {
    delay.p50_ns > LAG_LIMIT_NS || delay.p90_ns > 10 * LAG_LIMIT_NS
}

fn closed_loop(evidence: &Evidence<'_>, window: u32) -> Verdict {
    let busy = evidence.probe_cpu_percent / (100.0 * evidence.threads.max(1) as f64);
    if evidence.counts.answered == 0 {
        return judge(Saturated::Unknown, "Nothing was answered.".into());
    }
    if busy > 0.9 {
        return judge(
            Saturated::Probe,
            format!("Its threads were {:.0} % busy: the controller may take more.", busy * 100.0),
        );
    }
    judge(
        Saturated::Controller,
        format!(
            "Its answers set the pace with {window} packet-ins outstanding per switch; the probe's \
             threads were {:.0} % busy.",
            busy * 100.0
        ),
    )
}

fn flood(evidence: &Evidence<'_>) -> Verdict {
    let busy = evidence.probe_cpu_percent / (100.0 * evidence.threads.max(1) as f64);
    if evidence.counts.answered == 0 {
        return judge(Saturated::Unknown, "Nothing was answered.".into());
    }
    let side = if busy > 0.9 { Saturated::Probe } else { Saturated::Controller };
    let sense = match side {
        Saturated::Probe => "so the controller may take more",
        _ => "waiting for the controller to read",
    };
    judge(side, format!("The probe's threads were {:.0} % busy, {sense}.", busy * 100.0))
}

fn judge(saturated: Saturated, because: String) -> Verdict {
    Verdict { saturated, because }
}

/// What may be wrong where a controller hangs up on switches that it has just welcomed.
pub(super) fn ids_unknown(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::P4Runtime => "Does it know their device ids (--first-id)?",
        Protocol::OpenFlow10 | Protocol::OpenFlow13 => {
            "Does it know their datapath ids (--first-id)?"
        }
    }
}

/// First answers to packet-ins, warm-up included.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answers {
    /// Over the whole trial.
    pub(crate) ever: u64,
    /// Those that arrived in the window.
    pub(crate) in_window: u64,
}

/// Says why nothing was answered in the window; `None` if something was. `met` says whether any
/// connection was established.
pub(crate) fn why_zero(
    protocol: Protocol,
    address: &str,
    met: bool,
    handshake: &HandshakeOutcome,
    counts: &Counts,
    answers: Answers,
) -> Option<String> {
    if answers.in_window > 0 {
        return None;
    }
    if counts.answered > 0 {
        return Some(format!(
            "Nothing was answered within the measure window: all {} answers to its packet-ins came \
             while the probe waited afterwards.",
            counts.answered
        ));
    }
    // One that was overcome explains nothing.
    let overcome = handshake.ready > 0 && counts.disconnects == 0 && counts.malformed == 0;
    let errors = match handshake.errors.iter().max_by_key(|(_, count)| **count) {
        Some((error, count)) if !overcome => {
            format!(" Most common error ({count} switches): {}.", error.trim_end_matches('.'))
        }

        _ => String::new(),
    };
    if answers.ever > 0 && counts.sent > 0 {
        return Some(format!(
            "{} packet-ins left in the measure window and none was answered, although {} were \
             before: the controller stopped answering.{errors}",
            counts.sent, answers.ever
        ));
    }
    if handshake.ready == 0 {
        let stages: Vec<String> =
            handshake.stages.iter().map(|(stage, count)| format!("{count} {stage}")).collect();
        let advice = match (protocol, met) {
            (Protocol::P4Runtime, false) => format!(
                "The controller must dial the switches at {address}; is it configured with their \
                 addresses (see --netcfg-file and --list-file)?"
            ),
            (Protocol::P4Runtime, true) => format!(
                "A controller dialled the switches at {address}. It must open a stream for their \
                 device ids, become primary, and push a pipeline unless they have one (--p4info); \
                 do both sides use TLS, or neither?"
            ),
            (_, false) => format!("Is an OpenFlow controller listening at {address}?"),
            (_, true) => format!(
                "Something listens at {address}; is it an OpenFlow controller of this version, and \
                 do both sides use TLS, or neither?"
            ),
        };
        return Some(format!(
            "No switch completed its handshake ({}).{errors} {advice}",
            stages.join(", ")
        ));
    }
    if counts.sent == 0 && counts.handled_by_rules() > 0 {
        return Some(format!(
            "No packet-in left during the measure window: the controller's rules handled the \
             packets in the switches ({} forwarded, {} dropped). Let addresses change (--mac-addresses \
             random), or bypass the tables (--flow-tables bypass).",
            counts.forwarded_by_rules, counts.dropped_by_rules
        ));
    }
    if counts.sent == 0 && counts.disconnects > 0 {
        return Some(format!(
            "No packet-in left during the measure window: the controller ended {} connections of \
             switches that had finished their handshake. {}{errors}",
            counts.disconnects,
            ids_unknown(protocol)
        ));
    }
    if counts.sent == 0 {
        return Some(format!("No packet-in left during the measure window.{errors}"));
    }
    if counts.unmatched > 0 {
        return Some(format!(
            "{} packet-outs came back, but none carried the id of a packet-in: the controller \
             sends its own payload. Try --matching order.",
            counts.unmatched
        ));
    }
    if counts.malformed > 0 {
        return Some(format!(
            "{} messages of the controller were refused, since they are malformed or do not fit \
             the pipeline.{errors}",
            counts.malformed
        ));
    }
    if counts.not_taken > 0 {
        return Some(format!(
            "{} packet-outs came that the switches did not take, since they had no pipeline yet or \
             another client is primary.{errors}",
            counts.not_taken
        ));
    }
    if counts.rules_installed > 0 {
        return Some(format!(
            "The controller installed {} rules but sent no packet-out: it answers with rules \
             alone. Look at the rate of rules, let switches buffer (--buffers), or take rules as \
             answers (--flow-tables run --matching rule).",
            counts.rules_installed
        ));
    }
    Some(format!(
        "{} packet-ins left and nothing at all came back: is a forwarding application active in \
         the controller?{errors}",
        counts.sent
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Answers = Answers { ever: 0, in_window: 0 };

    const IN_TIME: Latency = Latency {
        samples: 1,
        mean_ns: 1_000.0,
        stddev_ns: 0.0,
        min_ns: 1_000,
        p50_ns: 1_000,
        p90_ns: 1_000,
        p95_ns: 1_000,
        p99_ns: 1_000,
        p999_ns: 1_000,
        max_ns: 1_000,
    };

    const MILLISECONDS: Latency = Latency {
        p50_ns: 2_000_000,
        p90_ns: 4_000_000,
        p95_ns: 5_000_000,
        p99_ns: 9_000_000,
        ..IN_TIME
    };

    fn evidence<'a>(counts: &'a Counts, send_lag: &'a Latency) -> Evidence<'a> {
        Evidence {
            mode: Mode::Open,
            counts,
            held_back: 0,
            cut_off: 0,
            send_lag,
            read_delay: &IN_TIME,
            rtt_from_sent: &MILLISECONDS,
            answers_in_window: counts.answered,
            outstanding: (0, 0),
            probe_cpu_percent: 10.0,
            threads: 1,
        }
    }

    fn counts(due: u64, sent: u64, answered: u64) -> Counts {
        Counts { due, sent, answered, lost: sent - answered, ..Counts::default() }
    }

    #[test]
    fn open_loop_verdicts() {
        let on_time = Latency { samples: 1, p90_ns: 20_000, ..Latency::default() };
        let late = Latency { p50_ns: 5_000_000, p90_ns: 50_000_000, ..on_time };
        let full = counts(1000, 1000, 1000);
        assert_eq!(verdict(&evidence(&full, &on_time)).saturated, Saturated::Neither);
        assert_eq!(verdict(&evidence(&full, &late)).saturated, Saturated::Probe);
        let held = Evidence { held_back: 500, ..evidence(&full, &late) };
        assert_eq!(verdict(&held).saturated, Saturated::Controller);
        let lossy = counts(1000, 1000, 900);
        assert_eq!(verdict(&evidence(&lossy, &on_time)).saturated, Saturated::Controller);
        let behind =
            Evidence { answers_in_window: 600, outstanding: (0, 400), ..evidence(&full, &on_time) };
        assert_eq!(verdict(&behind).saturated, Saturated::Controller);
        let unsent = counts(1000, 700, 700);
        assert_eq!(verdict(&evidence(&unsent, &on_time)).saturated, Saturated::Probe);
        let cut = Evidence { cut_off: 300, ..evidence(&unsent, &on_time) };
        assert_eq!(verdict(&cut).saturated, Saturated::Controller);
        let none = counts(0, 0, 0);
        assert_eq!(verdict(&evidence(&none, &on_time)).saturated, Saturated::Unknown);
    }

    #[test]
    fn what_rules_handle_accuses_nobody() {
        let on_time = Latency { samples: 1, p90_ns: 20_000, ..Latency::default() };
        let some =
            Counts { forwarded_by_rules: 600, dropped_by_rules: 300, ..counts(1000, 100, 100) };
        assert_eq!(verdict(&evidence(&some, &on_time)).saturated, Saturated::Neither);
        let fewer = Counts { dropped_by_rules: 0, ..some };
        assert_eq!(verdict(&evidence(&fewer, &on_time)).saturated, Saturated::Probe);
        let all = Counts { due: 1000, forwarded_by_rules: 1000, ..Counts::default() };
        for mode in
            [Mode::Open, Mode::Closed { window: 1, give_up: std::time::Duration::from_secs(1) }]
        {
            let evidence = Evidence { mode, ..evidence(&all, &on_time) };
            assert_eq!(verdict(&evidence).saturated, Saturated::Neither, "{mode:?}");
        }
        let ready = HandshakeOutcome { ready: 1, wanted: 1, ..HandshakeOutcome::default() };
        let text = why_zero(Protocol::OpenFlow13, "a", false, &ready, &all, NONE);
        assert!(text.is_some_and(|text| text.contains("1000 forwarded, 0 dropped")));
    }

    #[test]
    fn a_probe_without_time_for_answers_does_not_accuse_the_controller() {
        let on_time = Latency { samples: 1, p90_ns: 20_000, ..Latency::default() };
        let lossy = counts(1000, 1000, 900);
        let starved = Latency { p50_ns: 2_000_000, p90_ns: 4_000_000, ..IN_TIME };
        let evidence = Evidence { read_delay: &starved, ..evidence(&lossy, &on_time) };
        assert_eq!(verdict(&evidence).saturated, Saturated::Probe);
    }

    #[test]
    fn a_steady_backlog_does_not_accuse_the_controller() {
        let on_time = Latency { samples: 1, p90_ns: 20_000, ..Latency::default() };
        let counts = counts(1000, 1000, 1000);
        let steady = Evidence {
            answers_in_window: 950,
            outstanding: (50, 50),
            ..evidence(&counts, &on_time)
        };
        assert_eq!(verdict(&steady).saturated, Saturated::Neither);
    }

    #[test]
    fn round_trip_times_that_are_the_probes_own_are_named() {
        let full = counts(1000, 1000, 1000);
        let on_time = Latency { samples: 1, p50_ns: 2_000, p99_ns: 900_000, ..Latency::default() };
        // Over P4Runtime at 100 k/s on two cores.
        let rtt = Latency { p99_ns: 55_000_000, ..MILLISECONDS };
        let tail = Latency { p95_ns: 3_000_000, p99_ns: 60_000_000, ..IN_TIME };
        let evidence =
            Evidence { read_delay: &tail, rtt_from_sent: &rtt, ..evidence(&full, &on_time) };
        let said = verdict(&evidence);
        assert_eq!(said.saturated, Saturated::Neither);
        let expected = "Everything left on time (median send lag 2.0 us) and 100.000 % was \
                        answered. Round-trip times are mostly the probe's own at p95 and p99.";
        assert_eq!(said.because, expected);
        let lossy = counts(1000, 1000, 900);
        let said = verdict(&Evidence { counts: &lossy, ..evidence });
        assert_eq!(said.saturated, Saturated::Controller);
        assert!(said.because.ends_with("at p95 and p99."), "{}", said.because);
        let quiet = verdict(&Evidence { read_delay: &IN_TIME, ..evidence });
        assert!(quiet.because.ends_with("was answered."), "{}", quiet.because);
        assert!(own_percentiles(&tail, &Latency::default()).is_empty());
        assert_eq!(in_words(&["p50", "p90", "p99"]), "p50, p90 and p99");
    }

    #[test]
    fn a_late_tail_is_not_called_on_time() {
        let full = counts(1000, 1000, 1000);
        let tail = Latency { samples: 1, p50_ns: 1_600, p99_ns: 5_930_000, ..Latency::default() };
        let said = verdict(&evidence(&full, &tail)).because;
        assert!(
            said.starts_with("Nearly everything left on time (send lag 1.6 us in the"),
            "{said}"
        );
    }

    #[test]
    fn a_few_packets_at_the_edges_do_not_accuse_the_controller() {
        let on_time = Latency { samples: 1, p90_ns: 20_000, ..Latency::default() };
        // Twenty Poisson arrivals at a controller that takes 150 ms for each.
        let counts = counts(20, 20, 20);
        let few =
            Evidence { answers_in_window: 17, outstanding: (0, 3), ..evidence(&counts, &on_time) };
        assert_eq!(verdict(&few).saturated, Saturated::Neither);
        let many = Evidence { answers_in_window: 4, outstanding: (2, 18), ..few };
        assert_eq!(verdict(&many).saturated, Saturated::Controller);
    }

    #[test]
    fn closed_loop_and_flood_judge_by_the_probes_own_cpu() {
        let lag = Latency::default();
        let counts = counts(10, 10, 10);
        let closed = Mode::Closed { window: 1, give_up: std::time::Duration::from_secs(1) };
        for (mode, cpu, expected) in [
            (closed, 20.0, Saturated::Controller),
            (closed, 99.0, Saturated::Probe),
            (Mode::Flood, 50.0, Saturated::Controller),
            (Mode::Flood, 100.0, Saturated::Probe),
        ] {
            let evidence = Evidence { mode, probe_cpu_percent: cpu, ..evidence(&counts, &lag) };
            assert_eq!(verdict(&evidence).saturated, expected, "{mode:?} at {cpu} %");
        }
    }

    #[test]
    fn a_zero_is_explained() {
        let mut handshake = HandshakeOutcome { wanted: 2, ..HandshakeOutcome::default() };
        handshake.stages.insert("dialled, no connection yet".into(), 2);
        handshake.errors.insert("Connection refused".into(), 2);
        let none = Counts::default();
        let text = why_zero(Protocol::OpenFlow13, "10.0.0.1:6653", false, &handshake, &none, NONE);
        let text = text.unwrap_or_default();
        assert!(text.contains("10.0.0.1:6653") && text.contains("refused"), "{text}");
        handshake.ready = 2;
        let silent = Counts { sent: 5, ..none };
        let text = why_zero(Protocol::OpenFlow13, "a", true, &handshake, &silent, NONE);
        assert!(text.is_some_and(|text| text.ends_with("active in the controller?")));
        let foreign = Counts { sent: 5, unmatched: 5, ..none };
        let text = why_zero(Protocol::OpenFlow13, "a", true, &handshake, &foreign, NONE);
        assert!(text.is_some_and(|text| text.contains("--matching order")));
        let some = Answers { ever: 1, in_window: 1 };
        assert_eq!(why_zero(Protocol::OpenFlow13, "a", true, &handshake, &foreign, some), None);
    }

    #[test]
    fn no_zero_goes_without_a_reason() {
        let handshake = HandshakeOutcome { ready: 2, wanted: 2, ..HandshakeOutcome::default() };
        let why = |counts: &Counts, answers| {
            why_zero(Protocol::OpenFlow13, "a", true, &handshake, counts, answers)
                .expect("nothing was answered in the window")
        };
        // The warm-up was answered, the window was not.
        let text = why(&counts(50, 50, 0), Answers { ever: 20, in_window: 0 });
        assert!(text.contains("although 20 were before"), "{text}");
        // All answers came after the window.
        let text = why(&counts(50, 50, 50), Answers { ever: 50, in_window: 0 });
        assert!(text.contains("all 50 answers to its packet-ins came while"), "{text}");
        // The controller hung up.
        let text = why(&Counts { due: 50, disconnects: 9, ..Counts::default() }, NONE);
        assert!(text.contains("ended 9 connections") && text.contains("--first-id"), "{text}");
        let text = why(&Counts { not_taken: 9, ..counts(50, 50, 0) }, NONE);
        assert!(text.contains("9 packet-outs came that the switches did not take"), "{text}");
        // Whatever else is so.
        for counts in [Counts::default(), counts(50, 0, 0), counts(50, 50, 0)] {
            assert!(!why(&counts, NONE).is_empty());
        }
    }
}
