//! Checks of runs that a test interrupts once the controller has answered every packet-in, so that
//! the results do not depend on the speed of the machine.

use conformance::{OneTrial, Running};
use probe::outcome::{Completion, Counts, RunResult};

/// Checks that the controller answered each packet-in of each switch once, and installed the rules
/// that it names in its output. Returns the counts of the run.
pub(crate) fn assert_answered(
    controller: &mut Running,
    result: &RunResult,
    switches: u32,
    packets: u32,
) -> Counts {
    let trial = result.trial();
    let Completion::Partial { reason } = &trial.completion else {
        panic!("{:?} {:?}", trial.completion, trial.handshake);
    };
    assert!(reason.contains("interrupted"), "{reason}");
    assert_eq!(trial.handshake.ready, switches);
    let counts = trial.counts;
    assert_eq!(counts.sent, u64::from(switches * packets), "{counts:?}");
    assert_eq!((counts.answered, counts.lost), (counts.sent, 0), "{counts:?}");
    assert_eq!((counts.duplicated, counts.unmatched), (0, 0), "{counts:?}");
    assert_eq!((counts.disconnects, counts.malformed), (0, 0), "{counts:?}");
    let said = controller.output().lines().filter(|line| line.starts_with("rule ")).count();
    assert_eq!(counts.rules_installed, said as u64, "{}", controller.output());
    assert_eq!(counts.rules_refused, 0, "{counts:?}");
    counts
}
