//! Compares the packets that a switch sent through a port with those that the script expects on
//! that port.

use super::Failure;
use super::script::Pattern;

/// An `expect` statement of the script for one port.
#[derive(Clone, Debug)]
pub(super) struct Expectation {
    pub(super) line: usize,
    /// The pattern that the packet must match, or `None` if any packet is accepted.
    pub(super) pattern: Option<Pattern>,
}

/// A packet that the switch sent through one port.
#[derive(Clone, Debug)]
pub(super) struct Output {
    /// The line of the `packet` statement that caused this output packet.
    pub(super) cause: usize,
    pub(super) packet: Vec<u8>,
    /// The number of the batch to which the causing packet belongs. A batch is a sequence of
    /// packets of the script without a statement in between that changes the switch.
    pub(super) batch: usize,
    /// Whether the packet was recirculated, resubmitted or cloned.
    pub(super) went_round: bool,
}

/// The largest product of the numbers of expected and sent packets for which they are aligned. The
/// time of an alignment is proportional to the product. Longer lists are compared position by
/// position.
const MAX_ALIGNED: usize = 1_000_000;

/// Reorders the packets that were sent, so that they match the expected ones, if BMv2 could have
/// sent them in that order. Returns `None` otherwise. BMv2 holds all packets of a batch in its
/// threads and queues at the same time, so a packet that is recirculated, resubmitted or cloned may
/// leave after packets that arrived later.
pub(super) fn in_order_of_expectations(
    expected: &[Expectation],
    got: &[Output],
) -> Option<Vec<Output>> {
    let may_wait = |waiting: &Output, other: &Output| {
        waiting.went_round && waiting.batch == other.batch && waiting.cause < other.cause
    };
    if expected.len() != got.len() || !got.iter().any(|output| output.went_round) {
        return None;
    }
    let mut rest: Vec<&Output> = got.iter().collect();
    let mut ordered = Vec::with_capacity(got.len());
    for want in expected {
        let position = (0..rest.len())
            .take_while(|position| {
                rest.iter().take(*position).all(|before| may_wait(before, rest[*position]))
            })
            .find(|position| {
                want.pattern.as_ref().is_none_or(|pattern| pattern.matches(&rest[*position].packet))
            })?;
        ordered.push(rest.remove(position).clone());
    }
    Some(ordered)
}

/// Compares the packets that were sent through a port with the expected ones, and appends the
/// differences to `failures`. There are no differences if both lists have the same length and match
/// position by position. Otherwise the lists are aligned, so that a single missing or additional
/// packet causes a single failure.
pub(super) fn compare(
    port: u32,
    expected: &[Expectation],
    got: &[Output],
    failures: &mut Vec<Failure>,
) {
    let fits = |expected: &Expectation, got: &Output| {
        expected.pattern.as_ref().is_none_or(|pattern| pattern.matches(&got.packet))
    };
    let steps = if expected.len().saturating_mul(got.len()) > MAX_ALIGNED {
        by_position(expected.len(), got.len())
    } else {
        align(expected.len(), got.len(), |want, have| fits(&expected[want], &got[have]))
    };
    for step in steps {
        match step {
            Step::Both(want, have) => {
                let (want, have) = (&expected[want], &got[have]);
                if let (false, Some(pattern)) = (fits(want, have), &want.pattern) {
                    failures.push(Failure::Different {
                        line: want.line,
                        port,
                        expected: pattern.clone(),
                        got: have.packet.clone(),
                        cause: have.cause,
                    });
                }
            }
            Step::Expected(want) => failures.push(Failure::Missing {
                line: expected[want].line,
                port,
                expected: expected[want].pattern.clone(),
            }),
            Step::Got(have) => failures.push(Failure::Unexpected {
                port,
                got: got[have].packet.clone(),
                cause: got[have].cause,
            }),
        }
    }
}

/// A step of the comparison. It contains the position of an expected packet, that of a sent packet,
/// or both if they correspond to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Both(usize, usize),
    Expected(usize),
    Got(usize),
}

fn by_position(expected: usize, got: usize) -> Vec<Step> {
    let both = expected.min(got);
    let mut steps: Vec<Step> = (0..both).map(|position| Step::Both(position, position)).collect();
    steps.extend((both..expected).map(Step::Expected));
    steps.extend((both..got).map(Step::Got));
    steps
}

/// Returns the alignment of expected and sent packets that has the fewest failures (Wagner and
/// Fischer, 1974). Lists of equal length are compared position by position instead, because an
/// alignment would hide that packets were sent in the wrong order.
fn align(expected: usize, got: usize, fits: impl Fn(usize, usize) -> bool) -> Vec<Step> {
    if expected == got {
        return by_position(expected, got);
    }
    let width = got + 1;
    let mut cost = vec![0_u32; (expected + 1) * width];
    for want in (0..=expected).rev() {
        for have in (0..=got).rev() {
            let at = |want: usize, have: usize| cost[want * width + have];
            cost[want * width + have] = match (want < expected, have < got) {
                (false, false) => 0,
                (true, false) => at(want + 1, have) + 1,
                (false, true) => at(want, have + 1) + 1,
                (true, true) => {
                    let both = at(want + 1, have + 1) + u32::from(!fits(want, have));
                    both.min(at(want + 1, have) + 1).min(at(want, have + 1) + 1)
                }
            };
        }
    }
    let at = |want: usize, have: usize| cost[want * width + have];
    let mut steps = Vec::new();
    let (mut want, mut have) = (0, 0);
    while want < expected || have < got {
        let here = at(want, have);
        if want < expected
            && have < got
            && here == at(want + 1, have + 1) + u32::from(!fits(want, have))
        {
            steps.push(Step::Both(want, have));
            want += 1;
            have += 1;
        } else if want < expected && here == at(want + 1, have) + 1 {
            steps.push(Step::Expected(want));
            want += 1;
        } else {
            steps.push(Step::Got(have));
            have += 1;
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failures(expected: &[&str], got: &[&[u8]]) -> Vec<String> {
        let expected: Vec<Expectation> = expected
            .iter()
            .enumerate()
            .map(|(line, text)| Expectation { line, pattern: pattern(text) })
            .collect();
        let got: Vec<Output> = got
            .iter()
            .enumerate()
            .map(|(cause, packet)| Output {
                cause,
                packet: packet.to_vec(),
                batch: 0,
                went_round: false,
            })
            .collect();
        let mut failures = Vec::new();
        compare(1, &expected, &got, &mut failures);
        failures
            .iter()
            .map(|failure| match failure {
                Failure::Different { line, cause, .. } => format!("different {line} {cause}"),
                Failure::Missing { line, .. } => format!("missing {line}"),
                Failure::Unexpected { cause, .. } => format!("unexpected {cause}"),
                other => format!("{other:?}"),
            })
            .collect()
    }

    fn pattern(text: &str) -> Option<Pattern> {
        if text.is_empty() {
            return None;
        }
        let digits = text.trim_end_matches('$').chars().map(|c| c.to_digit(16).map(|d| d as u8));
        Some(Pattern { digits: digits.collect(), exact_length: text.ends_with('$') })
    }

    #[test]
    fn packets_are_compared_in_order() {
        assert_eq!(failures(&["01", "02"], &[&[1], &[2]]), [""; 0]);
        assert_eq!(failures(&["02", "01"], &[&[1], &[2]]), ["different 0 0", "different 1 1"]);
    }

    #[test]
    fn packets_that_go_round_may_be_overtaken_by_those_that_were_sent_later() {
        let output = |cause, batch, went_round, byte| Output {
            cause,
            packet: vec![byte],
            batch,
            went_round,
        };
        let orders = |expected: &[&str], got: &[Output]| {
            let expected: Vec<Expectation> = expected
                .iter()
                .map(|text| Expectation { line: 0, pattern: pattern(text) })
                .collect();
            let ordered = in_order_of_expectations(&expected, got)?;
            Some(ordered.iter().map(|output| output.cause).collect::<Vec<_>>())
        };
        let round = [output(1, 0, true, 1), output(2, 0, false, 2), output(3, 0, false, 3)];
        assert_eq!(orders(&["02", "01", "03"], &round), Some(vec![2, 1, 3]));
        assert_eq!(orders(&["02", "03", "01"], &round), Some(vec![2, 3, 1]));
        assert_eq!(orders(&["03", "02", "01"], &round), None);
        assert_eq!(orders(&["01", "03", "02"], &round), None);
        let apart = [output(1, 0, true, 1), output(2, 1, false, 2)];
        assert_eq!(orders(&["02", "01"], &apart), None);
    }

    #[test]
    fn one_too_few_or_too_many_is_one_failure() {
        assert_eq!(failures(&["01", "02", "03"], &[&[1], &[3]]), ["missing 1"]);
        assert_eq!(failures(&["01", "03"], &[&[1], &[2], &[3]]), ["unexpected 1"]);
        assert_eq!(failures(&[], &[&[1]]), ["unexpected 0"]);
    }

    #[test]
    fn an_expectation_without_data_takes_any_packet() {
        assert_eq!(failures(&["", "02"], &[&[9, 9], &[2]]), [""; 0]);
        assert_eq!(failures(&["", ""], &[&[9, 9]]), ["missing 1"]);
    }

    #[test]
    fn patterns_are_beginnings_with_wildcards_unless_they_end_with_a_dollar() {
        assert_eq!(failures(&["0*"], &[&[0x05, 6]]), [""; 0]);
        assert_eq!(failures(&["0*$"], &[&[0x05, 6]]), ["different 0 0"]);
        assert_eq!(failures(&["0*$"], &[&[0x05]]), [""; 0]);
        assert_eq!(failures(&["0506"], &[&[0x05]]), ["different 0 0"]);
        assert_eq!(failures(&["1*"], &[&[0x05]]), ["different 0 0"]);
    }
}
