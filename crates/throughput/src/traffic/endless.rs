//! Packets whose processing never ends: the program loops, or recirculates, resubmits or clones
//! them each time.
//!
//! Such packets have no rate, so traffic with them is refused. The interpreter stops the processing
//! of such a packet after a limit of statements or passes, its budget, which takes as long as
//! thousands of ordinary packets. The search for such packets therefore ends after a few of them.

use pipeline::RunError;
use std::fmt;

/// The number of endlessly processed packets after which the search for further ones stops.
const ENOUGH: usize = 4;
/// The largest number of bytes of a packet that the error message shows.
const SHOWN: usize = 64;

/// The error for traffic with packets whose processing never ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endless {
    /// The numbers of the flows whose packets are processed endlessly.
    flows: Vec<usize>,
    /// The number of flows whose packets were tried until the search stopped.
    tried: usize,
    /// The number of flows in the traffic, whether or not they were tried.
    of: usize,
    /// The first packet whose processing did not end.
    packet: Vec<u8>,
    /// The limit on statements or passes that the first packet exceeded.
    budget: RunError,
}

impl fmt::Display for Endless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { flows, tried, of, packet, budget } = self;
        let names: Vec<String> = flows.iter().map(ToString::to_string).collect();
        let (s, never) = if flows.len() == 1 { ("", "never ends") } else { ("s", "never end") };
        write!(
            f,
            "packet{s} {} of the first {tried} of {of} {never}: {budget} ",
            names.join(", ")
        )?;
        write!(f, "Packet {} is ", flows.first().copied().unwrap_or_default())?;
        packet.iter().take(SHOWN).try_for_each(|byte| write!(f, "{byte:02x}"))?;
        if packet.len() > SHOWN {
            write!(f, "... ({} bytes)", packet.len())?;
        }
        f.write_str(
            ". Limit the repetitions in the program, or name packets that end with --traffic FILE.pcap",
        )
    }
}

impl std::error::Error for Endless {}

/// The packets that exceeded the interpreter's limit on statements or passes while all flows were
/// processed once.
#[derive(Debug, Default)]
pub(super) struct Budgets {
    flows: Vec<usize>,
    first: Option<(Vec<u8>, RunError)>,
}

impl Budgets {
    /// Records a packet whose processing exceeded the interpreter's limit on statements or passes.
    pub(super) fn exceeded(&mut self, flow: usize, packet: &[u8], budget: &RunError) {
        self.flows.push(flow);
        self.first.get_or_insert_with(|| (packet.to_vec(), budget.clone()));
    }

    /// Returns whether enough endlessly processed packets have been found to stop the search.
    pub(super) fn are_enough(&self) -> bool {
        self.flows.len() >= ENOUGH
    }

    /// Returns the error for traffic of `of` flows, or `None` if the processing of every packet
    /// ended.
    pub(super) fn endless(self, of: usize) -> Option<Endless> {
        let (packet, budget) = self.first?;
        let last = self.flows.last().copied().unwrap_or_default();
        let tried = if self.flows.len() >= ENOUGH { last + 1 } else { of };
        Some(Endless { flows: self.flows, tried, of, packet, budget })
    }
}
