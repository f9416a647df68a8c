//! Flow prolongation: assumes that cross traffic stays on a tandem for longer than it does.
//!
//! Flows that come onto a tandem over one link and leave it at different servers are bounded
//! separately. Each of them has the others as its cross traffic, so that bursts count twice. If all
//! of them are assumed to stay as long as the longest one, they are one aggregate, whose arrivals
//! are bounded once, from the server at which its flows come together. The price is that flows are
//! assumed to load servers which they do not visit (Bondorf, "Better bounds by worse assumptions:
//! improving network calculus accuracy by adding pessimism to the network model", ICC 2017).
//!
//! Prolongation is sound for the residual service of PMOO. The proof of PMOO goes backwards over
//! the servers of the tandem, from the start of one backlogged period to that of the previous one,
//! t(last) to t(first - 1), and a crossing flow takes away at most its arrivals at its first server
//! in between. A flow that left earlier took away its arrivals up to an earlier time, which are
//! fewer. So the arrivals of the aggregate up to the last of these times bound what all its flows
//! took away. The times do not depend on the prolongation, so the maximum of the residual service
//! curves with and without it is a service curve.

use super::elements::{FlowId, ServerId};

/// The largest number of variants of cross traffic that are tried.
const MAX_VARIANTS: usize = 64;

/// A stay: cross flows, in ascending order, that visit exactly the servers `first..=last` of a
/// tandem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stay {
    pub(crate) first: usize,
    pub(crate) last: usize,
    pub(crate) flows: Vec<FlowId>,
}

/// The stays of cross flows that come onto a tandem over the same link, in the order of the servers
/// at which they leave. A stay may be merged into the next one.
type LinkStays = Vec<Stay>;

/// Returns variants of the cross traffic on a tandem: the given stays, and stays in which some
/// flows are prolonged.
///
/// `from` returns the server from which a flow comes onto the tandem at the given index, or `None`
/// if the flow begins there. Flows that begin there are not merged, because the arrival curves of
/// sources are always added.
pub(crate) fn variants(
    stays: Vec<Stay>,
    from: impl Fn(FlowId, usize) -> Option<ServerId>,
) -> Vec<Vec<Stay>> {
    // Stays are sorted by first and last server.
    let mut groups: Vec<((usize, ServerId), LinkStays)> = Vec::new();
    for stay in &stays {
        let Stay { first, last, flows } = stay;
        for id in flows {
            let Some(link) = from(*id, *first).map(|from| (*first, from)) else { continue };
            let group = match groups.iter_mut().find(|(known, _)| *known == link) {
                Some((_, group)) => group,
                None => {
                    groups.push((link, LinkStays::new()));
                    let Some((_, group)) = groups.last_mut() else { continue };
                    group
                }
            };
            match group.last_mut().filter(|stay| stay.last == *last) {
                Some(stay) => stay.flows.push(*id),
                None => group.push(Stay { first: *first, last: *last, flows: vec![*id] }),
            }
        }
    }
    let groups: Vec<LinkStays> =
        groups.into_iter().map(|(_, group)| group).filter(|group| group.len() > 1).collect();
    if groups.is_empty() {
        return vec![stays];
    }
    merges(&groups).iter().map(|merges| variant(&stays, &groups, merges)).collect()
}

/// Returns the ways to merge stays (cross flows that visit the same servers). Each way says, for
/// each stay of each group, whether it is merged into the next stay. The first way merges none.
fn merges(groups: &[LinkStays]) -> Vec<Vec<Vec<bool>>> {
    let joints: usize = groups.iter().map(|group| group.len() - 1).sum();
    if joints <= MAX_VARIANTS.ilog2() as usize {
        let choice = |mask: usize| {
            let mut place = 0..joints;
            let mut next = || place.next().is_some_and(|place| mask >> place & 1 == 1);
            groups.iter().map(|group| (1..group.len()).map(|_| next()).collect()).collect()
        };
        return (0..1_usize << joints).map(choice).collect();
    }
    // There are too many choices, so only these are tried: merging nothing, merging everything, and
    // merging each group alone.
    let all = |is: &dyn Fn(usize) -> bool| -> Vec<Vec<bool>> {
        let groups = groups.iter().enumerate();
        groups.map(|(place, group)| vec![is(place); group.len() - 1]).collect()
    };
    let mut choices = vec![all(&|_| false), all(&|_| true)];
    if groups.len() > 1 {
        choices
            .extend((0..groups.len().min(MAX_VARIANTS)).map(|alone| all(&|place| place == alone)));
    }
    choices
}

/// Returns the stays (cross flows that visit the same servers) on a tandem after the given merges.
fn variant(stays: &[Stay], groups: &[LinkStays], merges: &[Vec<bool>]) -> Vec<Stay> {
    let mut stays = stays.to_vec();
    for (group, merges) in groups.iter().zip(merges) {
        let mut merged: Vec<FlowId> = Vec::new();
        for (place, stay) in group.iter().enumerate() {
            let to_next = merges.get(place).copied().unwrap_or(false);
            if !to_next && merged.is_empty() {
                continue;
            }
            // Removes the merged flows from the stays to which they belonged.
            for other in stays.iter_mut().filter(|o| o.first == stay.first && o.last == stay.last) {
                other.flows.retain(|id| !stay.flows.contains(id));
            }
            merged.extend(&stay.flows);
            if !to_next {
                merged.sort_unstable();
                let flows = std::mem::take(&mut merged);
                stays.push(Stay { first: stay.first, last: stay.last, flows });
            }
        }
    }
    stays.retain(|stay| !stay.flows.is_empty());
    stays.sort_by(|a, b| (a.first, a.last, &a.flows).cmp(&(b.first, b.last, &b.flows)));
    stays
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stay(first: usize, last: usize, flows: &[usize]) -> Stay {
        Stay { first, last, flows: flows.iter().map(|id| FlowId::new(*id)).collect() }
    }

    #[test]
    fn flows_of_one_link_may_stay_as_long_as_the_longest() {
        // Flow 0 begins at the tandem; 1 to 3 come over one link, 4 over another.
        let stays = vec![stay(0, 1, &[0, 1]), stay(0, 2, &[2, 4]), stay(0, 3, &[3])];
        let from = |id: FlowId, _| match id.index() {
            0 => None,
            4 => Some(ServerId::new(9)),
            _ => Some(ServerId::new(8)),
        };
        let found = variants(stays.clone(), from);
        assert_eq!(found.len(), 4);
        assert_eq!(found[0], stays);
        let first = vec![stay(0, 1, &[0]), stay(0, 2, &[1, 2]), stay(0, 2, &[4]), stay(0, 3, &[3])];
        assert_eq!(found[1], first);
        let second = vec![stay(0, 1, &[0, 1]), stay(0, 2, &[4]), stay(0, 3, &[2, 3])];
        assert_eq!(found[2], second);
        let all = vec![stay(0, 1, &[0]), stay(0, 2, &[4]), stay(0, 3, &[1, 2, 3])];
        assert_eq!(found[3], all);
    }

    #[test]
    fn what_begins_at_a_tandem_is_not_prolonged() {
        let stays = vec![stay(0, 1, &[0]), stay(0, 2, &[1]), stay(1, 2, &[2])];
        assert_eq!(variants(stays.clone(), |_, _| None), vec![stays]);
    }

    #[test]
    fn many_ways_are_not_all_tried() {
        let stays: Vec<Stay> = (0..80).map(|last| stay(0, last, &[last])).collect();
        let found = variants(stays, |_, _| Some(ServerId::new(90)));
        assert_eq!(found.len(), 2);
        assert_eq!(found[1].len(), 1);
        assert_eq!(found[1][0].flows.len(), 80);
    }
}
