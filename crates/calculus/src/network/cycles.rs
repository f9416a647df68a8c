//! Makes cyclic networks feed-forward by cutting links.
//!
//! The recursion over arrivals (`arrival`) would not end where flows depend on each other
//! cyclically. It ends at cut links, a set of links without which the network is feed-forward. The
//! arrivals over cut links are known beforehand, as a curve for each flow and possibly one for
//! several flows together. `analysis::bursts` computes these curves.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::elements::{FlowId, ServerId};
use super::model::Network;
use super::sets::Group;
use super::{AnalysisError, operations};
use crate::{Curve, interrupt};

/// A link at which cycles may be cut: from one server to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct CutLink {
    pub(crate) from: ServerId,
    pub(crate) to: ServerId,
}

/// The links at which the cycles of a network are cut, each with the arrival curves of the flows
/// over it.
#[derive(Debug, Default)]
pub(crate) struct Cuts(HashMap<CutLink, OverCut>);

/// The joint arrival curve of some flows over a cut link.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct KnownArrival {
    pub(crate) link: CutLink,
    pub(crate) flows: Vec<FlowId>,
    pub(crate) arrival: Arc<Curve>,
}

/// The arrival curves over one cut link: of each flow, and of several flows together.
#[derive(Debug, Default)]
struct OverCut {
    flows: HashMap<FlowId, Arc<Curve>>,
    /// The joint arrival curves of several flows.
    groups: Vec<(Box<[FlowId]>, Arc<Curve>)>,
}

impl Cuts {
    /// Cuts a link, if it is not cut yet, and sets the joint arrival curve of some flows over it.
    pub(crate) fn set(&mut self, link: CutLink, flows: &[FlowId], curve: Arc<Curve>) {
        let over = self.0.entry(link).or_default();
        match flows {
            [flow] => drop(over.flows.insert(*flow, curve)),
            several => over.groups.push((several.into(), curve)),
        }
    }

    /// Returns the arrival curves over all cut links, of single flows and of several flows
    /// together, in the order of links and flows.
    pub(crate) fn known(&self) -> Vec<KnownArrival> {
        let mut known = Vec::new();
        for (link, over) in &self.0 {
            let of = |flows: &[FlowId], curve: &Arc<Curve>| KnownArrival {
                link: *link,
                flows: flows.to_vec(),
                arrival: Arc::clone(curve),
            };
            known.extend(over.flows.iter().map(|(flow, curve)| of(&[*flow], curve)));
            known.extend(over.groups.iter().map(|(flows, curve)| of(flows, curve)));
        }
        known.sort_by(|a, b| {
            (a.link, a.flows.len(), &a.flows).cmp(&(b.link, b.flows.len(), &b.flows))
        });
        known
    }

    /// Returns the number of arrival curves over all cut links.
    pub(crate) fn count(&self) -> usize {
        self.0.values().map(|over| over.flows.len() + over.groups.len()).sum()
    }

    pub(crate) fn is_cut(&self, link: CutLink) -> bool {
        self.0.contains_key(&link)
    }

    /// Returns the joint arrival curve of some flows over a link, or `None` if the link is not cut,
    /// or if the curve of one of the flows is not known.
    pub(crate) fn arrival(
        &self,
        link: CutLink,
        flows: &Group,
    ) -> Result<Option<Arc<Curve>>, AnalysisError> {
        let Some(over) = self.0.get(&link) else { return Ok(None) };
        let mut total: Option<Arc<Curve>> = None;
        for id in flows.iter() {
            let Some(curve) = over.flows.get(&id) else { return Ok(None) };
            total = Some(match total {
                None => Arc::clone(curve),
                Some(sum) => Arc::new(operations::sum(&sum, curve)?),
            });
        }
        let mut total = total.unwrap_or_else(|| Arc::new(Curve::zero()));
        let is_same =
            |group: &[FlowId]| group.len() == flows.len() && group.iter().copied().eq(flows.iter());
        for (_, curve) in over.groups.iter().filter(|(group, _)| is_same(group)) {
            total = Arc::new(operations::minimum(&total, curve)?);
        }
        Ok(Some(total))
    }
}

/// Returns a set of links of the network. Without these links, no servers depend on each other
/// cyclically.
///
/// The servers are ordered such that few flows go backwards, and the links that go backwards are
/// returned. The heuristic is that of Eades, Lin and Smyth ("A fast and effective heuristic for the
/// feedback arc set problem", Information Processing Letters 47, 1993): sinks are last and sources
/// are first. If there are neither, the next server is that whose outgoing flows exceed its
/// incoming flows by most.
///
/// # Errors
///
/// Returns an [`AnalysisError`] if the interrupt of the thread is set.
pub(crate) fn cut_links(network: &Network) -> Result<Vec<CutLink>, AnalysisError> {
    let servers = network.servers().len();
    let mut weights = BTreeMap::<(usize, usize), usize>::new();
    for (from, to) in network.hops() {
        weights.insert((from.index(), to.index()), network.flows_over(from, to).len());
    }
    let mut is_open = vec![true; servers];
    let (mut first, mut last) = (Vec::new(), Vec::new());
    while first.len() + last.len() < servers {
        interrupt::check()?;
        let (mut out, mut into) = (vec![0_usize; servers], vec![0_usize; servers]);
        for ((from, to), weight) in &weights {
            if is_open[*from] && is_open[*to] {
                out[*from] += weight;
                into[*to] += weight;
            }
        }
        let open: Vec<usize> = (0..servers).filter(|server| is_open[*server]).collect();
        let (sinks, others): (Vec<usize>, Vec<usize>) =
            open.into_iter().partition(|server| out[*server] == 0);
        let sources = || others.iter().copied().filter(|server| into[*server] == 0);
        let excess = |server: &usize| out[*server] as i64 - into[*server] as i64;
        let mut taken = sinks.clone();
        if !sinks.is_empty() {
            last.extend(sinks);
        } else if sources().next().is_some() {
            first.extend(sources());
            taken.extend(sources());
        } else {
            // `rev` causes the first of equal servers to be chosen.
            let best = others.iter().copied().rev().max_by_key(excess);
            first.extend(best);
            taken.extend(best);
        }
        for server in taken {
            is_open[server] = false;
        }
    }
    last.reverse();
    let mut place = vec![0; servers];
    for (index, server) in first.into_iter().chain(last).enumerate() {
        place[server] = index;
    }
    let goes_back = |link: &CutLink| place[link.from.index()] > place[link.to.index()];
    Ok(network.hops().map(|(from, to)| CutLink { from, to }).filter(goes_back).collect())
}
