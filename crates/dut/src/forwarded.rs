//! The fates of packets that passed through the switch while its control channel was busy.

use std::time::Duration;

use statistics::Ordered;

use crate::effects::{Excess, Window};

/// The fates of packets that passed through the switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forwarded {
    /// The number of packets that were sent.
    pub sent: u64,
    /// The number of packets that did not leave by the port by which they should.
    pub lost: u64,
    /// The delay of each other packet, at most: from a reading of the clock before it was sent until
    /// one after it was seen.
    pub delays: Vec<Duration>,
}

impl Forwarded {
    /// Adds further packets.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.sent += other.sent;
        self.lost += other.lost;
        self.delays.append(&mut other.delays);
    }

    /// Returns a percentile of the delay; `None` if too few packets arrived to state it.
    #[must_use]
    pub fn delay(&self, share: f64) -> Option<Duration> {
        Ordered::of(self.delays.clone()).tail_at(share)
    }

    fn window(&self) -> Window {
        Window { probes: self.sent, wrong: self.lost }
    }
}

/// The packets that passed through the switch while its control channel was idle, and while it was
/// busy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cost {
    /// The packets per second.
    pub rate: f64,
    /// The packets that were sent while the control channel was idle.
    pub idle: Forwarded,
    /// The packets that were sent while it was busy.
    pub busy: Forwarded,
}

impl Cost {
    /// Returns whether more packets were lost while the control channel was busy than chance
    /// explains. That is reported of a switch without this fault once in a million measurements.
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
