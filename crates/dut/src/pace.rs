//! The times at which packets are due.

use crate::effects::Moment;

/// Due times at even distances. After a pause of this program, not all packets that are overdue are
/// sent in one burst.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// The time between two packets in nanoseconds.
    spacing: u64,
    /// The largest number of overdue packets that are due at once.
    catch_up: u64,
    due: Moment,
}

impl Pace {
    /// Creates due times, the first of which is `begin`.
    pub(crate) fn new(begin: Moment, spacing: u64, catch_up: u64) -> Self {
        Self { spacing, catch_up, due: begin }
    }

    /// Returns whether a packet is due. If so, the next one becomes due later.
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

    /// Returns how many packets are due at each of these times.
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
