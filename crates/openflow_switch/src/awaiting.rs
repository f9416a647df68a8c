//! Packet-ins that are tracked until a rule answers them, for controllers that answer packet-ins
//! only with rules.
//!
//! A rule (a flow-mod) answers a packet-in if it takes precedence over the entry that sent the
//! packet-in: it is in the same table, its priority is not lower, and it matches the packet as it
//! was in that table. Later packets of this kind then cause no packet-in of that entry any more.
//! Rules by which controllers forward or admit a learned host match the host's complete Ethernet
//! source address, so packet-ins are indexed by that address. Other rules are compared with all
//! packet-ins.

use std::collections::{BTreeMap, HashMap};

use super::flow_key::{Condition, FlowKey};

/// A packet-in that no rule has answered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) table: u8,
    /// The priority of the entry that sent the packet-in.
    pub(super) priority: u32,
    pub(super) key: FlowKey,
}

/// A rule that a controller added or changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) table: u8,
    pub(super) priority: u32,
    pub(super) condition: Condition,
}

impl Rule {
    fn answers(&self, waiting: &Waiting) -> bool {
        self.table == waiting.table
            && self.priority >= waiting.priority
            && self.condition.matches(&waiting.key)
    }
}

/// The packet-ins of a switch that no rule has answered yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Awaiting {
    /// The unanswered packet-ins, by the sequence number that the caller assigned.
    waiting: BTreeMap<u64, Waiting>,
    by_source: HashMap<u64, Vec<u64>>,
    most: usize,
}

impl Awaiting {
    /// Creates an empty set of unanswered packet-ins. It contains at most `most` packet-ins, and
    /// forgets the oldest ones beyond this number.
    pub(super) fn new(most: usize) -> Self {
        Self { most: most.max(1), ..Self::default() }
    }

    pub(super) fn add(&mut self, sequence: u64, waiting: Waiting) {
        if self.waiting.len() >= self.most
            && let Some((sequence, forgotten)) = self.waiting.pop_first()
        {
            self.unlist(sequence, &forgotten);
        }
        self.by_source.entry(waiting.key.eth_src()).or_default().push(sequence);
        self.waiting.insert(sequence, waiting);
    }

    /// Removes the packet-ins that a rule answers, and appends their sequence numbers to
    /// `answered`.
    pub(super) fn answer(&mut self, rule: &Rule, answered: &mut Vec<u64>) {
        let from = answered.len();
        let is_answered = |sequence: &&u64| {
            self.waiting.get(sequence).is_some_and(|waiting| rule.answers(waiting))
        };
        match rule.condition.eth_src() {
            Some(source) => {
                let candidates = self.by_source.get(&source).map_or(&[][..], Vec::as_slice);
                answered.extend(candidates.iter().filter(is_answered));
            }
            None => answered.extend(self.waiting.keys().filter(is_answered)),
        }
        for sequence in &answered[from..] {
            if let Some(waiting) = self.waiting.remove(sequence) {
                self.unlist(*sequence, &waiting);
            }
        }
    }

    fn unlist(&mut self, sequence: u64, waiting: &Waiting) {
        let source = waiting.key.eth_src();
        if let Some(listed) = self.by_source.get_mut(&source) {
            listed.retain(|listed| *listed != sequence);
            if listed.is_empty() {
                self.by_source.remove(&source);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use openflow::v1_3::Match;
    use openflow::{MacAddress, PortNumber};

    use super::super::packet::Packet;
    use super::*;

    fn waiting(source: u8, port: u32) -> Waiting {
        let mut frame = [0; 60];
        frame[11] = source;
        let key = FlowKey::v1_3(&Packet::new(&frame), port, 0);
        Waiting { table: 3, priority: 5, key }
    }

    fn answered(awaiting: &mut Awaiting, table: u8, priority: u32, wanted: &Match) -> Vec<u64> {
        let condition = Condition::v1_3(wanted).expect("known fields");
        let mut answered = Vec::new();
        awaiting.answer(&Rule { table, priority, condition }, &mut answered);
        answered
    }

    #[test]
    fn a_rule_answers_each_waiting_packet_in_that_it_matches_once() {
        let mut awaiting = Awaiting::new(10);
        for (sequence, source, port) in [(1, 7, 1), (2, 8, 1), (3, 7, 2), (4, 7, 1)] {
            awaiting.add(sequence, waiting(source, port));
        }
        let host = Match::any().with_eth_src(MacAddress([0, 0, 0, 0, 0, 7]));
        let at_port = host.clone().with_in_port(PortNumber(1));
        assert!(answered(&mut awaiting, 4, 5, &at_port).is_empty(), "another table");
        assert!(answered(&mut awaiting, 3, 4, &at_port).is_empty(), "below the sender");
        assert_eq!(answered(&mut awaiting, 3, 5, &at_port), [1, 4]);
        assert!(answered(&mut awaiting, 3, 5, &at_port).is_empty());
        assert_eq!(answered(&mut awaiting, 3, 5, &Match::any()), [2, 3]);
        assert!(awaiting.by_source.is_empty() && awaiting.waiting.is_empty());
    }

    #[test]
    fn the_oldest_waiting_packet_in_is_dropped_first() {
        let mut awaiting = Awaiting::new(2);
        for sequence in 1..=3 {
            awaiting.add(sequence, waiting(7, 1));
        }
        assert_eq!(answered(&mut awaiting, 3, 9, &Match::any()), [2, 3]);
        assert!(awaiting.by_source.is_empty());
    }
}
