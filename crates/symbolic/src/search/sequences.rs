//! Sequences of packets, for goals that no single packet reaches: each packet finds the registers,
//! entries and default actions that the packets before it have written.
//!
//! A configuration may already contain most of what packets write, such as the contents of registers.
//! Sequences reach more where packets write what no test can, such as the arguments of constant
//! entries. They become longer packet by packet, so that a goal gets a shortest test.

use super::lanes::{Outcome, Results};
use super::{Options, Progress, Search, SearchError, Verdict};
use crate::goals::Goal;
use ir::Program;

/// Tries to reach what no test reaches with sequences of up to `options.packets` packets. What was
/// proved unreachable for a single packet is so only for sequences of the length for which that was
/// proved, too.
pub(super) fn sequences(
    program: &Program,
    options: &Options,
    goals: &[Goal],
    (results, goes_on): (&mut Results, &mut dyn FnMut(Progress) -> bool),
) -> Result<(), SearchError> {
    for verdict in &mut results.verdicts {
        if *verdict == Verdict::Unreachable {
            *verdict = Verdict::NotWithin(1);
        }
    }
    for packets in 2..=options.packets {
        if !results.verdicts.iter().any(|verdict| is_tried(verdict, packets)) {
            break;
        }
        let mut search = match Search::prepared(program, options, packets) {
            Ok((search, _)) => search,
            // A sequence may have too many terms where a single packet has not.
            Err(SearchError::Unsupported(_)) => break,
            Err(error) => return Err(error),
        };
        for (position, goal) in goals.iter().enumerate() {
            // An earlier test of this length may have reached the goal.
            let verdict = results.verdicts.get(position);
            if !verdict.is_some_and(|verdict| is_tried(verdict, packets)) {
                continue;
            }
            if !goes_on(results.progress()) || results.are_enough() {
                return Ok(());
            }
            let Some(condition) = search.of_last.get(position).copied() else { continue };
            match search.attempt(condition, goal, 0)? {
                Ok(found) => results.add(Outcome::Found(Box::new(found))),
                Err(Verdict::Unreachable) => {
                    if let Some(verdict @ Verdict::NotWithin(_)) =
                        results.verdicts.get_mut(position)
                    {
                        *verdict = Verdict::NotWithin(packets);
                    }
                }
                // What is known of shorter sequences remains.
                Err(
                    Verdict::NotWithin(_)
                    | Verdict::GivenUp(_)
                    | Verdict::Covered(_)
                    | Verdict::Open,
                ) => {}
            }
        }
    }
    Ok(())
}

/// Returns whether a goal is tried with sequences of a number of packets.
fn is_tried(verdict: &Verdict, packets: u32) -> bool {
    match verdict {
        // A goal about which nothing is known for the next shorter sequences is given up.
        Verdict::NotWithin(known) => known + 1 == packets,
        Verdict::GivenUp(_) => true,
        Verdict::Covered(_) | Verdict::Unreachable | Verdict::Open => false,
    }
}
