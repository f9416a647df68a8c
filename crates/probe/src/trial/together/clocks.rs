//! Compares the clock of the first rank with those of the other ranks, one after the other. Ranks
//! are the processes that run a trial together.

use std::time::Duration;

use ranks::{ClockOffset, Exchange, Rank};

use super::{RankMessage, TIMEOUT, Together};
use crate::engine::TrialPlan;

/// The number of round trips with each rank. Only the fastest one is used.
const EXCHANGES: u32 = 16;
/// The timeout of one round trip.
const EACH: Duration = Duration::from_secs(5);

impl Together<'_> {
    /// Compares the clocks of all ranks, either before traffic or after it. A rank that does not
    /// answer counts as lost.
    pub(in crate::trial) fn compare_clocks(&mut self, plan: &TrialPlan, is_before: bool) {
        if !self.is_first() {
            return self.show_clock(plan);
        }
        let there: Vec<Rank> =
            self.group.others().filter(|rank| !self.records.contains_key(rank)).collect();
        for rank in there {
            let exchanges: Vec<Exchange> =
                (0..EXCHANGES).map_while(|_| self.exchange(plan, rank)).collect();
            self.group.send(rank, &RankMessage::Compared);
            if let Some(offset) = ClockOffset::of(exchanges) {
                let offsets = if is_before { &mut self.before } else { &mut self.after };
                offsets.insert(rank, offset);
            }
        }
    }

    fn exchange(&mut self, plan: &TrialPlan, rank: Rank) -> Option<Exchange> {
        let left = self.clock.now();
        self.group.send(rank, &RankMessage::Clock);
        let deadline = left.saturating_add(crate::engine::nanos(EACH));
        loop {
            let found = self.words.iter().position(|(from, word)| {
                *from == rank && matches!(word, RankMessage::Shows(_) | RankMessage::Failed(_))
            });
            match found.and_then(|index| self.words.remove(index)) {
                Some((_, RankMessage::Shows(there))) => {
                    return Some(Exchange { left, there, back: self.clock.now() });
                }
                Some((_, RankMessage::Failed(reason))) => self.group.give_up(rank, reason),
                _ => {}
            }
            if self.group.lost().contains_key(&rank) {
                return None;
            }
            if self.clock.now() >= deadline {
                self.group.give_up(rank, format!("it sent nothing for {} s", EACH.as_secs()));
                return None;
            }
            self.look(plan, Duration::from_millis(100));
        }
    }

    /// Answers the first rank's requests for readings of this rank's clock, until the comparison of
    /// clocks is complete.
    fn show_clock(&mut self, plan: &TrialPlan) {
        // The first rank compares clocks with other ranks first, and waits for those that may be
        // gone.
        let patience = TIMEOUT + EACH * self.group.size();
        while let Ok(RankMessage::Clock) = self.of_first(plan, patience) {
            self.group.send(Rank::FIRST, &RankMessage::Shows(self.clock.now()));
        }
    }
}
