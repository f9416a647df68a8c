//! The queue of the passes through ingress and egress that one received packet causes.
//!
//! Passes run in order, except that a port sends packets of the highest priority first. Both the
//! next pass and the length of a queue are looked up in maps, because one packet may become tens of
//! thousands of waiting packets.

use super::super::PassBudget;
use super::passes::{Egress, Ingress};
use crate::error::RunError;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A pass of a packet through ingress or egress that waits to run.
pub(super) enum Pass<V> {
    Ingress(Ingress<V>),
    Egress(Box<Egress<V>>),
}

/// The passes that wait to run, in the order in which they run.
pub(super) struct Queue<V> {
    /// The only pass that waits. This is the usual case, which needs no sorting.
    only: Option<Pass<V>>,
    /// The waiting passes that are not in `only`, by a number that grows in the order of their
    /// arrival.
    passes: BTreeMap<u64, Pass<V>>,
    arrived: u64,
    /// The passes that wait for each port, each by its priority and its number. They are sorted
    /// from the highest priority to the lowest, and then by arrival.
    ports: BTreeMap<u32, BTreeSet<(Reverse<u128>, u64)>>,
    /// The number of passes that wait in each queue, by port and priority.
    depths: BTreeMap<(u32, u128), u64>,
    /// The number of passes that the received packet and its copies have taken so far.
    pub(super) budget: PassBudget,
}

impl<V> Default for Queue<V> {
    fn default() -> Self {
        Self {
            only: None,
            passes: BTreeMap::new(),
            arrived: 0,
            ports: BTreeMap::new(),
            depths: BTreeMap::new(),
            budget: PassBudget::default(),
        }
    }
}

impl<V> Pass<V> {
    /// Returns a copy of the pass whose values are converted with `convert`.
    fn converted<W>(
        &self,
        convert: &mut dyn FnMut(&V) -> Result<W, RunError>,
    ) -> Result<Pass<W>, RunError> {
        Ok(match self {
            Self::Ingress(pass) => Pass::Ingress(pass.converted(convert)?),
            Self::Egress(pass) => Pass::Egress(Box::new(pass.converted(convert)?)),
        })
    }
}

impl<V> Queue<V> {
    /// Returns a copy of the queue in which the values of all passes are converted with `convert`.
    pub(super) fn converted<W>(
        &self,
        convert: &mut dyn FnMut(&V) -> Result<W, RunError>,
    ) -> Result<Queue<W>, RunError> {
        let only = self.only.as_ref().map(|pass| pass.converted(convert)).transpose()?;
        let mut passes = BTreeMap::new();
        for (arrived, pass) in &self.passes {
            passes.insert(*arrived, pass.converted(convert)?);
        }
        Ok(Queue {
            only,
            passes,
            arrived: self.arrived,
            ports: self.ports.clone(),
            depths: self.depths.clone(),
            budget: self.budget.clone(),
        })
    }

    /// Returns the number of passes that wait.
    pub(super) fn len(&self) -> usize {
        usize::from(self.only.is_some()) + self.passes.len()
    }

    /// Returns whether no pass waits, so that a pass that is pushed now runs next.
    pub(super) fn is_empty(&self) -> bool {
        self.only.is_none() && self.passes.is_empty()
    }

    pub(super) fn push(&mut self, pass: Pass<V>) {
        if self.is_empty() {
            self.only = Some(pass);
            return;
        }
        if let Some(first) = self.only.take() {
            self.sort_in(first);
        }
        self.sort_in(pass);
    }

    fn sort_in(&mut self, pass: Pass<V>) {
        if let Pass::Egress(egress) = &pass {
            let waiting = self.ports.entry(egress.port).or_default();
            waiting.insert((Reverse(egress.priority), self.arrived));
            *self.depths.entry((egress.port, egress.priority)).or_default() += 1;
        }
        self.passes.insert(self.arrived, pass);
        self.arrived += 1;
    }

    /// Removes and returns the pass that runs next.
    pub(super) fn next(&mut self) -> Option<Pass<V>> {
        if self.only.is_some() {
            return self.only.take();
        }
        let (front, pass) = self.passes.first_key_value()?;
        let mut chosen = *front;
        if let Pass::Egress(egress) = pass
            && let Some(waiting) = self.ports.get_mut(&egress.port)
            && let Some((_, arrived)) = waiting.pop_first()
        {
            chosen = arrived;
        }
        let pass = self.passes.remove(&chosen)?;
        if let Pass::Egress(egress) = &pass
            && let Some(depth) = self.depths.get_mut(&(egress.port, egress.priority))
        {
            *depth = depth.saturating_sub(1);
        }
        Some(pass)
    }

    /// Returns the number of passes that wait for a port with a priority.
    pub(super) fn depth(&self, port: u32, priority: u128) -> u64 {
        if let Some(Pass::Egress(only)) = &self.only {
            return u64::from((only.port, only.priority) == (port, priority));
        }
        self.depths.get(&(port, priority)).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    fn egress(port: u32, priority: u128, length: u64) -> Pass<Value> {
        let nothing = || Value::Struct(Vec::new());
        Pass::Egress(Box::new(Egress {
            port,
            headers: nothing(),
            metadata: nothing(),
            standard: nothing(),
            payload: Vec::new(),
            length,
            received_length: 0,
            ingress_port: 0,
            most: None,
            truncated: None,
            priority,
            path: "normal",
            generation: 0,
            number: 0,
        }))
    }

    fn order(queue: &mut Queue<Value>) -> Vec<u64> {
        std::iter::from_fn(|| queue.next())
            .map(|pass| match pass {
                Pass::Egress(egress) => egress.length,
                Pass::Ingress(ingress) => ingress.packet.len() as u64,
            })
            .collect()
    }

    #[test]
    fn a_port_sends_the_highest_priority_first() {
        let mut queue = Queue::default();
        for (number, (port, priority)) in
            [(1, 0), (2, 0), (1, 3), (1, 3), (2, 1)].iter().enumerate()
        {
            queue.push(egress(*port, *priority, number as u64));
        }
        assert_eq!((queue.depth(1, 3), queue.depth(1, 0), queue.depth(3, 0)), (2, 1, 0));
        assert_eq!(order(&mut queue), [2, 3, 0, 4, 1]);
        assert_eq!(queue.depth(1, 3), 0);
    }

    #[test]
    fn one_that_waits_alone_counts_as_any_other() {
        let mut queue = Queue::default();
        queue.push(egress(1, 2, 7));
        assert_eq!((queue.depth(1, 2), queue.depth(1, 0), queue.depth(2, 2)), (1, 0, 0));
        queue.push(egress(1, 2, 8));
        queue.push(egress(1, 3, 9));
        assert_eq!((queue.depth(1, 2), queue.depth(1, 3)), (2, 1));
        assert_eq!(order(&mut queue), [9, 7, 8]);
        queue.push(egress(1, 2, 5));
        assert_eq!((queue.depth(1, 2), order(&mut queue)), (1, vec![5]));
        assert_eq!(queue.depth(1, 2), 0);
    }

    /// Tests that a hundred thousand waiting packets are sorted quickly. A linear search for each
    /// would take minutes.
    #[test]
    fn many_wait_in_order() {
        let mut queue = Queue::default();
        (0..100_000).for_each(|number| queue.push(egress(1, 0, number)));
        assert_eq!(queue.depth(1, 0), 100_000);
        assert!(order(&mut queue).into_iter().eq(0..100_000));
    }
}
