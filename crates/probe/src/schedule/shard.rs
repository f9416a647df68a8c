//! Merges the due times of many switches in the order of time.
//!
//! The merge is a loser tree (Knuth, The Art of Computer Programming, volume 3, section 5.4.1): a
//! binary tree for a tournament, in which each inner node remembers the loser of the match at that
//! node. The next due time of the last winner therefore climbs one path, with one comparison per
//! level. The outcome of a comparison is nearly random, so the code selects values instead of
//! branching, and all leaves have the same depth. A heap would need two comparisons per level and
//! could end at any level. An entry contains a due time and an index in one integer, so that equal
//! due times are taken in the order of the switches' indices.

use std::hint::select_unpredictable;

use super::{Due, Nanos, SwitchSchedule};

/// The due times of all switches of one engine thread, in order. If times are equal, the switch
/// with the lower index comes first.
#[derive(Debug)]
pub struct ShardSchedule {
    /// The schedules, ordered by switch index.
    switches: Vec<SwitchSchedule>,
    /// The loser tree. The overall winner is at index 0, and the loser of the match between nodes 2
    /// i and 2 i + 1 is at node i > 0. There are n leaves, where n is a power of two, and node n +
    /// i stands for the switch at index i. Leaves without a switch count as exhausted.
    losers: Vec<DueTime>,
}

/// A due time in the upper 96 bits, and an index into `switches` in the lower 32 bits.
type DueTime = u128;

/// The number of bits of the index in a [`DueTime`].
const PLACE_BITS: u32 = 32;

impl ShardSchedule {
    /// Merges the schedules of switches. Each switch should occur only once.
    pub fn new(switches: impl IntoIterator<Item = SwitchSchedule>) -> Self {
        let mut switches: Vec<_> = switches.into_iter().collect();
        switches.sort_by_key(SwitchSchedule::switch);
        let n = switches.len().next_power_of_two();
        let mut winners = vec![DueTime::MAX; 2 * n];
        for (place, switch) in switches.iter_mut().enumerate() {
            winners[n + place] = entry(switch.next(), place);
        }
        let mut losers = vec![DueTime::MAX; n];
        for node in (1..n).rev() {
            let (a, b) = (winners[2 * node], winners[2 * node + 1]);
            winners[node] = a.min(b);
            losers[node] = a.max(b);
        }
        if let (Some(root), Some(winner)) = (losers.first_mut(), winners.get(1)) {
            *root = *winner;
        }
        Self { switches, losers }
    }

    /// Returns the next packet-in that is due, without removing it.
    pub fn peek(&self) -> Option<Due> {
        let winner = *self.losers.first()?;
        let at = time(winner)?;
        let switch = self.switches.get(winner as u32 as usize)?.switch();
        Some(Due { at, switch })
    }

    /// Removes and returns the next packet-in that is due.
    pub fn pop(&mut self) -> Option<Due> {
        let winner = *self.losers.first()?;
        let at = time(winner)?;
        let place = winner as u32 as usize;
        let n = self.losers.len();
        let schedule = self.switches.get_mut(place)?;
        let switch = schedule.switch();
        let mut climber = entry(schedule.next(), place);
        let mut node = (n + place) / 2;
        while node > 0 {
            if let Some(loser) = self.losers.get_mut(node) {
                let rival = *loser;
                let rival_wins = rival < climber;
                *loser = select_unpredictable(rival_wins, climber, rival);
                climber = select_unpredictable(rival_wins, rival, climber);
            }
            node /= 2;
        }
        if let Some(root) = self.losers.first_mut() {
            *root = climber;
        }
        Some(Due { at, switch })
    }

    /// Removes and returns the next packet-in if it is due at `now` or earlier.
    pub fn pop_due(&mut self, now: Nanos) -> Option<Due> {
        if time(*self.losers.first()?)? > now { None } else { self.pop() }
    }
}

impl Iterator for ShardSchedule {
    type Item = Due;

    fn next(&mut self) -> Option<Due> {
        self.pop()
    }
}

/// Returns the entry for a due time of the switch at index `place`. An exhausted schedule sorts
/// after all others.
fn entry(at: Option<Nanos>, place: usize) -> DueTime {
    at.map_or(DueTime::MAX, |at| DueTime::from(at.0) << PLACE_BITS | place as DueTime)
}

fn time(entry: DueTime) -> Option<Nanos> {
    (entry != DueTime::MAX).then_some(Nanos((entry >> PLACE_BITS) as u64))
}
