//! Explains why no packet-in was answered, with advice.

use crate::config::{Load, Protocol};
use crate::outcome::{Counts, HandshakeOutcome};

/// Returns advice for a controller that closes the connections of switches as soon as they have
/// become ready.
pub(super) fn ids_unknown(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::P4Runtime => "Does it know their device ids (--first-id)?",
        Protocol::OpenFlow10 | Protocol::OpenFlow13 => {
            "Does it know their datapath ids (--first-id)?"
        }
    }
}

/// The number of packet-ins that were answered, including those in the warm-up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answers {
    /// The number of packet-ins that were answered over the whole trial.
    pub(crate) ever: u64,
    /// The number of packet-ins whose first answer arrived in the measured window.
    pub(crate) in_window: u64,
}

/// Explains why nothing was answered in the measured window. Returns `None` if something was
/// answered. `met` says whether any connection with the controller was established.
pub(crate) fn why_zero(
    (protocol, load): (Protocol, Load),
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
    // Errors of handshakes that later succeeded do not explain the lack of answers.
    let overcome = handshake.ready > 0 && counts.disconnects == 0 && counts.malformed == 0;
    let errors = match handshake.errors.iter().max_by_key(|(_, count)| **count) {
        Some((error, count)) if !overcome => {
            let of = if *count == 1 { "1 switch".to_owned() } else { format!("{count} switches") };
            format!(" Most common error ({of}): {}.", error.trim_end_matches('.'))
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
    let elsewhere = match load {
        Load::PacketIn => None,
        Load::Digest => Some("does the controller acknowledge lists (DigestListAck)?"),
        Load::IdleTimeout => {
            Some("does the controller delete, or set again, entries that it did not write itself?")
        }
    };
    if let Some(question) = elsewhere {
        return Some(format!(
            "{} packet-ins left and none was answered: {question}{errors}",
            counts.sent
        ));
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
             the controller is not primary or is slave.{errors}",
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

    const OPENFLOW: (Protocol, Load) = (Protocol::OpenFlow13, Load::PacketIn);
    const NONE: Answers = Answers { ever: 0, in_window: 0 };

    fn counts(due: u64, sent: u64, answered: u64) -> Counts {
        Counts { due, sent, answered, lost: sent - answered, ..Counts::default() }
    }

    #[test]
    fn a_trial_without_answers_is_explained() {
        let mut handshake = HandshakeOutcome { wanted: 2, ..HandshakeOutcome::default() };
        handshake.stages.insert("dialled, no connection yet".into(), 2);
        handshake.errors.insert("Connection refused".into(), 2);
        let none = Counts::default();
        let text = why_zero(OPENFLOW, "10.0.0.1:6653", false, &handshake, &none, NONE);
        let text = text.unwrap_or_default();
        assert!(text.contains("10.0.0.1:6653") && text.contains("refused"), "{text}");
        handshake.ready = 2;
        let silent = Counts { sent: 5, ..none };
        let text = why_zero(OPENFLOW, "a", true, &handshake, &silent, NONE);
        assert!(text.is_some_and(|text| text.ends_with("active in the controller?")));
        let foreign = Counts { sent: 5, unmatched: 5, ..none };
        let text = why_zero(OPENFLOW, "a", true, &handshake, &foreign, NONE);
        assert!(text.is_some_and(|text| text.contains("--matching order")));
        let some = Answers { ever: 1, in_window: 1 };
        assert_eq!(why_zero(OPENFLOW, "a", true, &handshake, &foreign, some), None);
    }

    #[test]
    fn every_trial_without_answers_has_a_reason() {
        let handshake = HandshakeOutcome { ready: 2, wanted: 2, ..HandshakeOutcome::default() };
        let why = |counts: &Counts, answers| {
            why_zero(OPENFLOW, "a", true, &handshake, counts, answers)
                .expect("nothing was answered in the window")
        };
        // Packet-ins of the warm-up were answered, those of the window were not.
        let text = why(&counts(50, 50, 0), Answers { ever: 20, in_window: 0 });
        assert!(text.contains("although 20 were before"), "{text}");
        // All answers came after the window.
        let text = why(&counts(50, 50, 50), Answers { ever: 50, in_window: 0 });
        assert!(text.contains("all 50 answers to its packet-ins came while"), "{text}");
        // The controller closed connections.
        let text = why(&Counts { due: 50, disconnects: 9, ..Counts::default() }, NONE);
        assert!(text.contains("ended 9 connections") && text.contains("--first-id"), "{text}");
        let text = why(&Counts { not_taken: 9, ..counts(50, 50, 0) }, NONE);
        assert!(text.contains("9 packet-outs came that the switches did not take"), "{text}");
        // There is always an explanation.
        for counts in [Counts::default(), counts(50, 0, 0), counts(50, 50, 0)] {
            assert!(!why(&counts, NONE).is_empty());
        }
    }

    #[test]
    fn a_zero_because_of_rules_is_explained() {
        let all = Counts { due: 1000, forwarded_by_rules: 1000, ..Counts::default() };
        let ready = HandshakeOutcome { ready: 1, wanted: 1, ..HandshakeOutcome::default() };
        let text = why_zero(OPENFLOW, "a", false, &ready, &all, NONE);
        assert!(text.is_some_and(|text| text.contains("1000 forwarded, 0 dropped")));
    }

    #[test]
    fn the_advice_depends_on_the_kind_of_load() {
        let ready = HandshakeOutcome { ready: 2, ..HandshakeOutcome::default() };
        let silent = Counts { unmatched: 3, rules_installed: 4, ..counts(60, 60, 0) };
        for (load, question) in
            [(Load::Digest, "acknowledge lists"), (Load::IdleTimeout, "did not write itself")]
        {
            let text = why_zero((Protocol::P4Runtime, load), "a", true, &ready, &silent, NONE);
            let text = text.expect("a reason");
            assert!(text.contains(question) && !text.contains("packet-out"), "{text}");
        }
    }
}
