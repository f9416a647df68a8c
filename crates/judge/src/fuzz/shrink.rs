//! Shortens a sequence of requests that shows a fault.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use super::scope::Scope;
use super::sequence::Request;
use super::{Class, Finding, Mismatch, Run};

/// The largest number of sequences that are tried in the search for a shorter one.
const MOST_TRIALS: usize = 400;
/// The number of times that the shortest sequence is repeated, to see how reliably it shows the
/// fault.
const REPETITIONS: u32 = 3;

/// Searches for a short sequence that shows a fault of the same class as `mismatch`, and returns
/// the shortest one that was found. If `stop` is set, the search ends early.
pub(super) fn shortest(
    run: &mut Run<'_>,
    mut requests: Vec<Request>,
    mismatch: Mismatch,
    stop: &AtomicBool,
) -> Finding {
    let found_after = requests.len() as u64;
    // A device that closed the connection cannot be brought back to its state before.
    if mismatch.class == Class::Connection {
        return Finding {
            why: mismatch.why,
            steps: std::mem::take(&mut run.steps),
            found_after,
            repeated: 0,
        };
    }
    let mut trials = 0;
    let mut shows = |run: &mut Run<'_>, requests: &[Request]| {
        trials += 1;
        trials <= MOST_TRIALS
            && !stop.load(Ordering::Relaxed)
            && run.reset().is_ok()
            && run.all(requests).is_err_and(|found| found.class == mismatch.class)
    };
    // Most faults need no requests about other parts of the state than the last one.
    if let Some(fewer) = likely(&requests).into_iter().find(|fewer| shows(run, fewer)) {
        requests = fewer;
    }
    remove_parts(&mut requests, |fewer| shows(run, fewer));
    for index in 0..requests.len() {
        let mut request = requests[index].clone();
        let mut shows = |request: &Request| {
            let mut all = requests.clone();
            all[index] = request.clone();
            shows(run, &all)
        };
        for part in [
            Request { packets: Vec::new(), ..request.clone() },
            Request { updates: Vec::new(), ..request.clone() },
        ] {
            if !part.is_empty() && part != request && shows(&part) {
                request = part;
                break;
            }
        }
        let Request { mut packets, mut updates } = request;
        remove_parts(&mut packets, |fewer| {
            shows(&Request { packets: fewer.to_vec(), updates: updates.clone() })
        });
        remove_parts(&mut updates, |fewer| {
            shows(&Request { packets: packets.clone(), updates: fewer.to_vec() })
        });
        requests[index] = Request { packets, updates };
    }
    finding(run, requests, mismatch, found_after)
}

/// Returns the short sequences that most likely show the fault of the last request: that request
/// alone, and all requests that change the same parts of the state.
fn likely(requests: &[Request]) -> [Vec<Request>; 2] {
    let scopes = |request: &Request| -> BTreeSet<Scope> {
        request.updates.iter().filter_map(|update| Scope::of(update.entity.as_ref()?)).collect()
    };
    let alone: Vec<Request> = requests.last().cloned().into_iter().collect();
    let last = alone.first().map(scopes).unwrap_or_default();
    let shares = |request: &&Request| !scopes(request).is_disjoint(&last);
    [alone, requests.iter().filter(shares).cloned().collect()]
}

/// Removes parts of a list, beginning with large ones, as long as `shows` accepts the list that
/// remains.
fn remove_parts<T: Clone>(list: &mut Vec<T>, mut shows: impl FnMut(&[T]) -> bool) {
    let mut size = list.len().div_ceil(2);
    while size > 0 {
        let mut start = 0;
        while start < list.len() && list.len() > 1 {
            let end = (start + size).min(list.len());
            let fewer: Vec<T> = [&list[..start], &list[end..]].concat();
            match !fewer.is_empty() && shows(&fewer) {
                true => *list = fewer,
                false => start = end,
            }
        }
        size = if size == 1 { 0 } else { size.div_ceil(2) };
    }
}

/// Repeats a sequence several times. Returns it as a finding, with the answers of the last
/// repetition that showed the fault.
pub(super) fn finding(
    run: &mut Run<'_>,
    requests: Vec<Request>,
    mismatch: Mismatch,
    found_after: u64,
) -> Finding {
    let mut finding =
        Finding { why: mismatch.why, steps: run.steps.clone(), found_after, repeated: 0 };
    for _ in 0..REPETITIONS {
        if run.reset().is_err() {
            break;
        }
        if let Err(found) = run.all(&requests) {
            finding.repeated += 1;
            finding.why = found.why;
            finding.steps = run.steps.clone();
        }
    }
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_needed_is_removed() {
        let mut list: Vec<u32> = (0..100).collect();
        remove_parts(&mut list, |fewer| fewer.contains(&17) && fewer.contains(&80));
        assert_eq!(list, [17, 80]);
        let mut list = vec![1];
        remove_parts(&mut list, |_| true);
        assert_eq!(list, [1], "an empty sequence shows nothing");
    }
}
