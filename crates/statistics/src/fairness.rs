//! The fairness with which a total is shared.

/// Returns Jain's fairness index of n shares (R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984): the
/// square of their sum, divided by n times the sum of their squares. The index is 1 if all shares
/// are equal, and 1/n if all shares but one are zero. Returns `None` if there is no share or all
/// are zero.
pub fn jain_index(shares: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut n, mut sum, mut squares) = (0u64, 0.0, 0.0);
    for share in shares {
        n += 1;
        sum += share;
        squares += share * share;
    }
    if squares == 0.0 {
        return None;
    }
    // Rounding must not raise the index of equal shares above 1.
    Some((sum * sum / (n as f64 * squares)).min(1.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_jain_index_of_known_shares_is_exact() {
        assert_eq!(jain_index([]), None);
        assert_eq!(jain_index([0.0, 0.0]), None);
        assert_eq!(jain_index([0.0, 7.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain_index([1.0, 2.0, 3.0]), Some(36.0 / 42.0));
    }

    proptest! {
        #[test]
        fn jain_is_between_one_nth_and_one(shares in proptest::collection::vec(0.0f64..1e9, 1..50)) {
            if let Some(index) = jain_index(shares.iter().copied()) {
                prop_assert!(index <= 1.0);
                prop_assert!(index >= 1.0 / shares.len() as f64 - 1e-12);
            }
        }

        #[test]
        fn jain_of_equal_shares_is_one(share in 1e-3f64..1e9, n in 1usize..50) {
            let index = jain_index(std::iter::repeat_n(share, n)).expect("positive shares");
            prop_assert!((index - 1.0).abs() < 1e-9);
        }
    }
}
