//! Searches for sequences of packets that reach goals which no single packet reaches. Each packet
//! finds the registers, entries and default actions that earlier packets have written.
//!
//! The control plane of a test can already write most of what packets write, such as the contents
//! of registers. Sequences reach more only where packets write what the control plane cannot, such
//! as the arguments of constant entries. The length of sequences grows by one packet at a time, so
//! each goal gets a test of minimal length.

use super::lanes::{Outcome, Results};
use super::{Options, Progress, Search, SearchError, Verdict};
use crate::goals::Goal;
use ir::Program;

/// Tries to reach the remaining goals with sequences of up to `options.packets` packets. The
/// verdict "unreachable" for a single packet is then replaced by one about sequences of the length
/// for which it was proved.
pub(super) fn sequences(
    program: &Program,
    options: &Options,
    goals: &[Goal],
    results: &mut Results,
    goes_on: &mut dyn FnMut(Progress) -> bool,
) -> Result<(), SearchError> {
    for verdict in &mut results.verdicts {
        if *verdict == Verdict::Unreachable {
            *verdict = Verdict::NotWithin(1);
        }
    }
    for packets in 2..=options.packets {
        if !results.verdicts.iter().any(is_tried) {
            break;
        }
        let mut search = match Search::prepared(program, options, packets) {
            Ok((search, _)) => search,
            // A sequence may have too many terms where a single packet has not.
            Err(SearchError::Unsupported(_) | SearchError::Ended) => break,
            Err(error) => return Err(error),
        };
        for (position, goal) in goals.iter().enumerate() {
            // An earlier test of this length may have reached the goal.
            let verdict = results.verdicts.get(position);
            if !verdict.is_some_and(is_tried) {
                continue;
            }
            if !goes_on(results.progress()) || results.are_enough() || results.has_ended() {
                return Ok(());
            }
            let Some(condition) = search.of_last.get(position).copied() else { continue };
            match search.attempt(condition, goal, 0)? {
                Ok(found) => results.add(Outcome::Found(Box::new(found))),
                // Where a shorter sequence was given up, nothing is known of all up to this length.
                Err(Verdict::Unreachable) => {
                    if let Some(Verdict::NotWithin(known)) = results.verdicts.get_mut(position)
                        && *known + 1 == packets
                    {
                        *known = packets;
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

/// Returns whether a goal with this verdict is tried again with longer sequences. This is so even
/// if the search for shorter ones was given up.
fn is_tried(verdict: &Verdict) -> bool {
    match verdict {
        Verdict::NotWithin(_) | Verdict::GivenUp(_) => true,
        Verdict::Covered(_) | Verdict::Unreachable | Verdict::Open => false,
    }
}
