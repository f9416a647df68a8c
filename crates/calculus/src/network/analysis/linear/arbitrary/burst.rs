//! Bursts after a server under arbitrary multiplexing, and joint arrival curves of flows over one
//! link.
//!
//! Consider the data of some flows that leave a server from s until t. They are at most the data
//! that have arrived in the tree by t and have not left by s. Let r be the flows' long-term rate.
//! The data that have arrived by t, less r (t - s), are at most what the arrival curves allow from
//! each time of the program until s. The largest such difference is the burst after the server.

use std::collections::BTreeMap;

use super::super::super::fixed_point::Delays;
use super::super::rows::{minus, plus};
use super::{Class, Formulation, LONGEST_PATH, Node, classes, unfold};
use crate::Rational;
use crate::network::analysis::AnalysisError;
use crate::network::arrival::{Bounder, Common};
use crate::network::elements::{FlowId, ServerId};
use crate::network::pmoo;

/// Returns a bound on the burst of some flows together after a server, with which a token bucket of
/// their long-term rate is an arrival curve. Returns `None` if there is no bound.
pub(in crate::network::analysis) fn burst(
    common: &Common<'_>,
    delays: &Delays,
    behind: ServerId,
    flows: &[FlowId],
) -> Result<Option<Rational>, AnalysisError> {
    let bounder = Bounder::new(common);
    let nodes = unfold(&bounder, delays, &[behind], false)?;
    if nodes.len() > LONGEST_PATH * LONGEST_PATH {
        return Ok(None);
    }
    let classes = classes(&bounder, &nodes, flows)?;
    let mut formulation = Formulation::of(&nodes, &classes);
    formulation.share_links(&bounder, &nodes, &classes)?;
    let root = |class: &Class| class.way.last().is_some_and(|last| nodes[*last].next.is_none());
    let is_target = |class: &Class| root(class) && class.flows.iter().all(|id| flows.contains(id));
    let targets: Vec<usize> =
        (0..classes.len()).filter(|place| is_target(&classes[*place])).collect();
    let found = formulation.burst(&targets);
    common.go_on()?;
    Ok(found)
}

impl Formulation {
    /// Adds rows to the program which state that all traffic that enters the tree over one link
    /// together obeys the known arrival curve of that link.
    pub(super) fn share_links(
        &mut self,
        bounder: &Bounder<'_, '_>,
        nodes: &[Node],
        classes: &[Class],
    ) -> Result<(), AnalysisError> {
        let mut links = BTreeMap::<(usize, ServerId), Vec<usize>>::new();
        for (place, class) in classes.iter().enumerate() {
            if let Some(from) = class.from {
                links.entry((class.way[0], from)).or_default().push(place);
            }
        }
        for ((first, from), members) in links {
            if members.len() < 2 {
                continue;
            }
            let server = nodes[first].server;
            let sets = &bounder.common.sets;
            let [flows, _] = sets.over(from, server, &sets.at(server));
            let arrival = bounder.arrival(server, &flows, None)?;
            let longest = members.iter().map(|place| classes[*place].way.len()).max().unwrap_or(0);
            for late in 1..=longest {
                // The classes whose paths include this time.
                let along = members.iter().filter(|place| classes[**place].way.len() >= late);
                let along: Vec<usize> = along.copied().collect();
                for early in 0..late {
                    self.arrive_together(&pmoo::token_buckets(&arrival), &along, early, late);
                }
            }
        }
        Ok(())
    }

    /// Adds rows to the program which state that the data of some classes together obey one arrival
    /// curve between two times that these classes share.
    fn arrive_together(
        &mut self,
        buckets: &[pmoo::TokenBucket],
        members: &[usize],
        early: usize,
        late: usize,
    ) {
        let Some(first) = members.first().and_then(|place| self.classes.get(*place)) else {
            return;
        };
        let (since, until) = (first.ages[early], first.ages[late]);
        let mut come = Vec::new();
        for class in members.iter().filter_map(|place| self.classes.get(*place)) {
            come.extend([plus(class.come[late]), minus(class.come[early])]);
        }
        for bucket in buckets {
            let rate = self.rate(&bucket.rate);
            let times = [(since, -&rate), (until, rate)];
            let terms: Vec<_> = come.iter().cloned().chain(times).collect();
            self.program.row(terms, &bucket.burst / &self.data);
        }
    }

    /// Returns a bound on the burst of some classes together after the root.
    fn burst(&self, targets: &[usize]) -> Option<Rational> {
        let mut program = self.program.clone();
        let mut objective = Vec::with_capacity(targets.len());
        for class in targets.iter().filter_map(|place| self.classes.get(*place)) {
            let bucket = class.buckets.last()?;
            let come_by_then = Some(program.variable(class.most.1.clone()));
            let waiting = program.variable(class.most.1.clone());
            let (rate, burst) = (self.rate(&bucket.rate), &bucket.burst / &self.data);
            for (age, come) in class.ages.iter().zip(&class.come) {
                let terms = [plus(come_by_then), minus(*come), (*age, -&rate)];
                program.row(terms, burst.clone());
            }
            let left = class.left.last().copied().flatten();
            program.row([plus(Some(waiting)), plus(left), minus(come_by_then)], Rational::ZERO);
            objective.push((waiting, Rational::ONE));
        }
        let bound = program.maximum(&objective)?;
        Some(bound.value * &self.data)
    }
}
