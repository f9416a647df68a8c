//! Packets that a program processes for ever: a loop without an end, or one that recirculates, resubmits or clones each time.
//!
//! A switch would never be done with them, so there is no rate to be measured. The interpreter stops each after a budget of
//! statements or passes, which takes as long as thousands of ordinary packets: a few of them say enough.

use pipeline::RunError;
use std::fmt;

/// Packets after which no more are tried.
const ENOUGH: usize = 4;
/// Bytes of a packet that are shown.
const SHOWN: usize = 64;

/// Packets that never end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endless {
    /// Their positions among the flows.
    flows: Vec<usize>,
    /// Flows that were tried until then, and all.
    tried: usize,
    of: usize,
    /// The first packet.
    packet: Vec<u8>,
    /// The budget that it exceeded.
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
            ". Bound what the program repeats, or give packets that end with --traffic FILE.pcap",
        )
    }
}

impl std::error::Error for Endless {}

/// The budgets that packets of one pass exceeded.
#[derive(Debug, Default)]
pub(super) struct Budgets {
    flows: Vec<usize>,
    first: Option<(Vec<u8>, RunError)>,
}

impl Budgets {
    /// Records a packet that exceeded one.
    pub(super) fn exceeded(&mut self, flow: usize, packet: &[u8], budget: &RunError) {
        self.flows.push(flow);
        self.first.get_or_insert_with(|| (packet.to_vec(), budget.clone()));
    }

    /// Whether more packets would say no more.
    pub(super) fn are_enough(&self) -> bool {
        self.flows.len() >= ENOUGH
    }

    /// Returns what there is to say of a pass over so many flows.
    pub(super) fn endless(self, of: usize) -> Option<Endless> {
        let (packet, budget) = self.first?;
        let last = self.flows.last().copied().unwrap_or_default();
        let tried = if self.flows.len() >= ENOUGH { last + 1 } else { of };
        Some(Endless { flows: self.flows, tried, of, packet, budget })
    }
}
