//! The times at which packets are due.

use crate::effects::Moment;

/// Evenly spaced due times of packets. If this program was paused, only a limited number of overdue
/// packets are sent in a burst.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// The time between two due times, in nanoseconds.
    spacing: u64,
    /// The largest number of overdue packets that may be sent in a burst.
    catch_up: u64,
    due: Moment,
}

impl Pace {
    /// Creates due times that are `spacing` nanoseconds apart, beginning with `begin`.
    pub(crate) fn new(begin: Moment, spacing: u64, catch_up: u64) -> Self {
        Self { spacing, catch_up, due: begin }
    }

    /// Returns the time at which the next packet is due.
    pub(crate) fn due(&self) -> Moment {
        self.due
    }

    /// Returns whether a packet is due. If so, moves on to the due time of the next packet.
    pub(crate) fn is_due(&mut self, now: Moment) -> bool {
        if now < self.due {
            return false;
        }
        let earliest = now.0.saturating_sub(self.catch_up.saturating_mul(self.spacing));
        self.due = Moment(self.due.0.max(earliest) + self.spacing);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many packets are sent at each of these times, if as many are sent as are due.
    fn due(catch_up: u64, times: &[u64]) -> Vec<usize> {
        let mut pace = Pace::new(Moment(100), 10, catch_up);
        let count = |time: &u64| (0..1000).take_while(|_| pace.is_due(Moment(*time))).count();
        times.iter().map(count).collect()
    }

    #[test]
    fn packets_are_due_at_even_distances_and_a_pause_is_not_made_up_for() {
        assert_eq!(due(1, &[99, 100, 105, 110, 119, 120]), [0, 1, 0, 1, 0, 1]);
        // 90 packets are overdue.
        assert_eq!(due(1, &[100, 1000, 1005, 1010]), [1, 2, 0, 1]);
        assert_eq!(due(16, &[100, 1000, 1005, 1010]), [1, 17, 0, 1]);
    }
}
