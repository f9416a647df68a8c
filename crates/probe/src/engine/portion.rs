//! Divides the switches of a trial among several processes (ranks).

use std::ops::Range;

use ranks::Rank;

/// The switches of a trial that one rank runs. They are consecutive, so that most links of a chain
/// or a tree connect switches of the same rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Portion {
    /// The indices of the switches in the whole trial.
    pub(crate) switches: Range<u32>,
    /// The number of ranks among which all switches are divided.
    pub(crate) of: u32,
}

impl Portion {
    /// Returns the part of `switches` switches that the rank `rank` runs if there are `of` ranks.
    /// Each group of `group` consecutive switches belongs to one rank.
    pub(crate) fn new(switches: u32, group: u32, rank: Rank, of: u32) -> Self {
        let (group, of) = (group.max(1), of.max(1));
        let groups = u64::from(switches.div_ceil(group));
        let edge = |rank: u32| {
            let first = groups * u64::from(rank) / u64::from(of) * u64::from(group);
            u32::try_from(first).unwrap_or(u32::MAX).min(switches)
        };
        Self { switches: edge(rank.0)..edge(rank.0.saturating_add(1)), of }
    }

    /// Returns the portion of a rank that runs all switches.
    pub(crate) fn whole(switches: u32) -> Self {
        Self { switches: 0..switches, of: 1 }
    }

    /// Returns the number of switches that this rank runs.
    pub(crate) fn len(&self) -> u32 {
        self.switches.end - self.switches.start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_switch_has_one_rank_and_groups_stay_together() {
        for (switches, group, of) in [(10, 1, 4), (4, 1, 4), (3, 1, 4), (100, 8, 3), (0, 1, 2)] {
            let portions: Vec<_> =
                (0..of).map(|rank| Portion::new(switches, group, Rank(rank), of)).collect();
            let all: Vec<u32> = portions.iter().flat_map(|own| own.switches.clone()).collect();
            assert_eq!(all, (0..switches).collect::<Vec<_>>());
            assert!(portions.iter().all(|own| own.switches.start % group == 0 || own.len() == 0));
            let fair = (switches.div_ceil(group)).div_ceil(of) * group;
            assert!(portions.iter().all(|own| own.len() <= fair), "{portions:?}");
        }
        assert_eq!(Portion::new(7, 2, Rank::FIRST, 1), Portion::whole(7));
    }
}
