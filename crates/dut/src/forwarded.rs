//! The forwarding of packets by the switch while its control channel was busy.

use std::time::Duration;

use statistics::Ordered;

use crate::effects::{Excess, Window};

/// The numbers of packets that the switch forwarded and lost, and their delays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forwarded {
    /// The number of packets that were sent.
    pub sent: u64,
    /// The number of packets that did not leave by the right port.
    pub lost: u64,
    /// The delay of each packet that was not lost, as an upper bound: from the clock reading just
    /// before the packet was sent until the one just after its arrival was seen.
    pub delays: Vec<Duration>,
}

impl Forwarded {
    /// Adds the numbers and delays of further packets.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.sent += other.sent;
        self.lost += other.lost;
        self.delays.append(&mut other.delays);
    }

    /// Returns the percentile of the delays at `share`, between 0 and 1; `None` if too few packets
    /// arrived for it.
    #[must_use]
    pub fn delay(&self, share: f64) -> Option<Duration> {
        Ordered::of(self.delays.clone()).tail_at(share)
    }

    fn window(&self) -> Window {
        Window { probes: self.sent, wrong: self.lost }
    }
}

/// The cost of control traffic for forwarding: packets that passed through the switch while its
/// control channel was idle, compared with those that passed while it was busy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cost {
    /// The rate at which packets were sent, in packets per second.
    pub rate: f64,
    /// The packets that were sent while the control channel was idle.
    pub idle: Forwarded,
    /// The packets that were sent while the control channel was busy.
    pub busy: Forwarded,
}

impl Cost {
    /// Returns whether more packets were lost while the control channel was busy than chance
    /// explains. The rate of false alarms is one in a million measurements.
    #[must_use]
    pub fn has_excess(&self) -> bool {
        Excess { changes: self.busy.window(), control: self.idle.window() }.is_found()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_beside_work_are_told_from_those_of_the_path() {
        let of = |sent, lost| Forwarded { sent, lost, delays: Vec::new() };
        let cost = |idle, busy| Cost { rate: 1000.0, idle, busy };
        assert!(!cost(of(1000, 10), of(1000, 12)).has_excess());
        assert!(cost(of(1000, 0), of(1000, 40)).has_excess());
        // Without packets beside an idle channel, nothing can be compared.
        assert!(!cost(of(0, 0), of(1000, 40)).has_excess());
    }
}
