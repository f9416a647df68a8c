//! Compares the reports of a script that was run in several ways: by the interpreter and by the
//! variants of machine code. All ways must have the same results.

use super::{Failure, Report, report};
use pipeline::{Digest, Way};
use std::collections::BTreeMap;
use std::fmt;

/// The results of one run of a script, during which all packets were processed in the same way.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The way in which packets were processed, such as by the interpreter.
    pub way: Way,
    /// Whether packets of consecutive statements arrived as a burst ([`super::Options::together`]).
    pub together: bool,
    /// The report of the run.
    pub report: Report,
    /// The digests that packets sent to the control plane, ordered by switch.
    pub digests: Vec<Digest>,
}

/// A line of a script for which running the program in two different ways had different results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// The line of the packet or statement, or zero if the results cannot be assigned to a line.
    pub line: usize,
    /// Whether packets of consecutive statements arrived as a burst.
    pub together: bool,
    /// The two ways in which the program was run, each with the results for this line as text.
    pub found: [(Way, String); 2],
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, together, found: [(one, here), (other, there)] } = self;
        let burst = if *together { ", packets in bursts" } else { "" };
        writeln!(f, "line {line}: {other} differs from {one}{burst}")?;
        for (way, found) in [(one, here), (other, there)] {
            writeln!(f, "        {way}: {found}")?;
        }
        Ok(())
    }
}

/// Compares the results of all runs of a script with those of the first run. Returns the first
/// differing line of each run that has a difference. Runs with bursts are compared only with each
/// other, since their packets arrive at different times.
#[must_use]
pub fn disagreements(runs: &[Ran]) -> Vec<Failure> {
    let mut failures = Vec::new();
    for together in [false, true] {
        let mut own = runs.iter().filter(|ran| ran.together == together);
        let Some(reference) = own.next() else { continue };
        let expected = by_line(reference);
        for other in own {
            let found = by_line(other);
            let mut lines = expected.keys().chain(found.keys()).collect::<Vec<_>>();
            lines.sort_unstable();
            let of = |side: &BTreeMap<usize, Vec<String>>, line: &usize| match side.get(line) {
                Some(found) => found.join("; "),
                None => "nothing".to_owned(),
            };
            let differs = |line: &&&usize| expected.get(**line) != found.get(**line);
            if let Some(line) = lines.iter().find(differs) {
                failures.push(Failure::Ways(Disagreement {
                    line: **line,
                    together,
                    found: [(reference.way, of(&expected, line)), (other.way, of(&found, line))],
                }));
            } else if reference.digests != other.digests {
                let messages = |ran: &Ran| (ran.way, format!("messages {:?}", ran.digests));
                let found = [messages(reference), messages(other)];
                failures.push(Failure::Ways(Disagreement { line: 0, together, found }));
            }
        }
    }
    failures
}

/// Groups the results of a run by the line to which they belong. The results of a line keep their
/// order.
fn by_line(ran: &Ran) -> BTreeMap<usize, Vec<String>> {
    let Report { sent, causes, failures, values, left, source_hash, .. } = &ran.report;
    let mut lines: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let mut say = |line: usize, what: String| lines.entry(line).or_default().push(what);
    for ((time, port, packet), cause) in sent.iter().zip(causes) {
        say(*cause, format!("port {port} at {time:?} {}", report::hex(packet)));
    }
    for (time, end, packet) in left {
        say(0, format!("{end:?} at {time:?} {}", report::hex(packet)));
    }
    if *source_hash != 0 {
        say(0, format!("packets of sources with hash {source_hash:016x}"));
    }
    for (line, value) in values {
        say(*line, value.clone());
    }
    for failure in failures {
        match failure {
            Failure::Run { line, error } => say(*line, error.to_string()),
            Failure::Counter { line, got, .. } => say(*line, got.to_string()),
            // These failures follow from the packets in `sent`, which are compared already.
            Failure::Different { .. }
            | Failure::Missing { .. }
            | Failure::Unexpected { .. }
            | Failure::Check { .. }
            | Failure::Ways(_) => {}
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn ran(way: Way, together: bool, sent: &[(usize, u32, u8)]) -> Ran {
        let mut report = Report::default();
        for (line, port, byte) in sent {
            report.sent.push((Duration::from_millis(*line as u64), *port, vec![*byte]));
            report.causes.push(*line);
        }
        Ran { way, together, report, digests: Vec::new() }
    }

    fn sentences(runs: &[Ran]) -> Vec<String> {
        disagreements(runs).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn runs_that_agree_are_no_failure() {
        let runs = [
            ran(Way::Interpreter, false, &[(1, 2, 7), (3, 4, 8)]),
            ran(Way::Fused, false, &[(1, 2, 7), (3, 4, 8)]),
            // Other times pass in bursts.
            ran(Way::Interpreter, true, &[(1, 2, 7), (3, 4, 9)]),
        ];
        assert_eq!(sentences(&runs), [""; 0]);
    }

    #[test]
    fn a_difference_names_both_ways_and_the_first_line_that_differs() {
        let runs = [
            ran(Way::Interpreter, false, &[(1, 2, 7), (3, 4, 8), (5, 1, 1)]),
            ran(Way::Fused, false, &[(1, 2, 7), (5, 1, 2)]),
            ran(Way::Interpreter, true, &[]),
            ran(Way::Stages, true, &[(9, 1, 1)]),
        ];
        assert_eq!(
            sentences(&runs),
            [
                "line 3: compiled, fused differs from the interpreter\n        the interpreter: port 4 at \
                 3ms 08\n        compiled, fused: nothing\n",
                "line 9: compiled, in two functions differs from the interpreter, packets in bursts\n        the \
                 interpreter: nothing\n        compiled, in two functions: port 1 at 9ms 01\n",
            ]
        );
    }
}
