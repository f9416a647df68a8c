//! Priorities of table entries: numbers that decide which of several matching entries wins.

/// The form in which a program states priorities.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// Whether the entry with the larger number wins. If false, the entry with the smaller number
    /// wins.
    pub(crate) largest_wins: bool,
    /// The smallest priority that an entry may have in the resulting program.
    pub(crate) least: u32,
}

/// Converts the priorities that a program states to numbers of which the larger one wins. Only
/// their order matters. The numbers are kept if they are in range, shifted into range if that is
/// possible, and otherwise replaced by their ranks, so that different priorities never become
/// equal.
pub(crate) fn numbers(priorities: &[i64], scale: Scale) -> Vec<u32> {
    // 128 bits are enough for sums and differences of three numbers of 64 bits.
    let wide: Vec<i128> = priorities.iter().copied().map(i128::from).collect();
    let (Some(least), Some(most)) = (wide.iter().min(), wide.iter().max()) else {
        return Vec::new();
    };
    let floor = i128::from(scale.least);
    let shift = (floor - least).max(0);
    let upward: Vec<i128> = wide
        .iter()
        .map(|value| shift + if scale.largest_wins { *value } else { least + (most - value) })
        .collect();
    let kept: Result<Vec<u32>, _> = upward.iter().map(|value| u32::try_from(*value)).collect();
    kept.unwrap_or_else(|_| {
        let mut order = upward.clone();
        order.sort_unstable();
        order.dedup();
        let rank = |value| u32::try_from(order.partition_point(|other| other < value));
        let ranks = upward.iter().map(|value| rank(value).unwrap_or(u32::MAX));
        ranks.map(|rank| rank.saturating_add(scale.least)).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_priorities_stay_different_and_in_order() {
        let beyond = i64::from(u32::MAX) + 7;
        for priorities in [
            &[0, 1, 2][..],
            &[-3, 0, 5],
            &[1, beyond, beyond + 1],
            &[i64::MIN, 0, i64::MAX - 1, i64::MAX],
        ] {
            for least in [0, 1] {
                let up = numbers(priorities, Scale { largest_wins: true, least });
                assert!(up.is_sorted_by(|one, next| one < next), "{priorities:?}: {up:?}");
                let down = numbers(priorities, Scale { largest_wins: false, least });
                assert!(down.is_sorted_by(|one, next| one > next), "{priorities:?}: {down:?}");
                assert!(up.iter().chain(&down).all(|number| *number >= least));
            }
        }
        assert_eq!(numbers(&[5, 9], Scale { largest_wins: true, least: 1 }), [5, 9]);
        assert_eq!(numbers(&[5, 9], Scale { largest_wins: false, least: 1 }), [9, 5]);
        assert_eq!(numbers(&[-2, 3], Scale { largest_wins: true, least: 0 }), [0, 5]);
        assert!(numbers(&[], Scale { largest_wins: true, least: 0 }).is_empty());
    }
}
