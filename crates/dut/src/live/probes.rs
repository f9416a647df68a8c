//! The packets that are used as probes: how they are tagged before they are sent, and how those
//! that arrive are classified.

use p4runtime::proto::v1;
use packetio::PortSpec;

use crate::effects::{Class, Fate, Moment, Probe, Silence, Span};
use crate::entry_number::EntryNumber;
use crate::error::DutError;
use crate::flows::{FlowEntry, FlowMaker, Output, OwnFlows, Selector, Shown, Treatment};
use crate::tag::{TAG, Tag};

/// A port of the switch, and the interface of this machine that is connected to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wire(pub PortSpec);

/// The way in which the packets of a flow leave the switch while its rule is in one of its states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The packet leaves by no port that is connected to this machine.
    Unseen,
    /// The packet leaves by a port.
    Leaves {
        /// The number of the port.
        port: u32,
        /// The contents with which the packet leaves. The last 16 bytes, where a probe carries its
        /// tag, are ignored in comparisons.
        packet: Vec<u8>,
    },
}

impl Outcome {
    /// Returns whether a packet that left by this port with these contents has this outcome.
    pub(crate) fn is_like(&self, port: u32, bytes: &[u8]) -> bool {
        match self {
            Self::Unseen => false,
            Self::Leaves { port: right, packet } => *right == port && body(packet) == body(bytes),
        }
    }
}

/// The packets that one rule applies to, and how they leave the switch in each state of the rule.
/// `E` is the type of a table entry in the protocol of the switch.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow<E> {
    /// The port by which the packets enter the switch.
    pub port: u32,
    /// The bytes of the packet. The last 16 carry the tag of a probe, so the switch must neither
    /// change them nor let its treatment of the packet depend on them.
    pub packet: Vec<u8>,
    /// The entry that is inserted.
    pub first: E,
    /// The entry with the action that it has after its modification; `None` if no modification
    /// would change how packets leave the switch.
    pub second: Option<E>,
    /// The outcome of the packet while the entry is not in the switch.
    pub absent: Outcome,
    /// The outcome of the packet after the entry was inserted.
    pub inserted: Outcome,
    /// The outcome of the packet after the entry was modified.
    pub modified: Outcome,
}

/// The packets and entries of a measurement over P4Runtime.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// The program for which the packets were generated. The switch must run it.
    pub p4info: p4runtime::proto::config::P4Info,
    /// The name of the table whose entries change.
    pub table: String,
    /// The ports of the switch that are connected to this machine.
    pub wires: Vec<Wire>,
    /// Entries of other tables that the packets need on their way, in the order of insertion.
    pub beside: Vec<v1::TableEntry>,
    /// The flows, one for each rule. In each state of their rules, packets of all flows must leave
    /// the switch, or packets of none. Likewise, all entries can be modified, or none.
    pub flows: Vec<Flow<v1::TableEntry>>,
    /// Notes on how the packets were generated, as sentences.
    pub notes: Vec<String>,
}

impl Traffic {
    /// Returns the identifiers of the tables whose entries are written, each once.
    pub(crate) fn tables(&self) -> Vec<u32> {
        let mut tables: Vec<u32> = self.beside.iter().map(|entry| entry.table_id).collect();
        tables.extend(self.flows.iter().map(|flow| flow.first.table_id));
        tables.sort_unstable();
        tables.dedup();
        tables
    }
}

/// The ports of a measurement over OpenFlow.
///
/// Packets enter by the first port, and a rule sends them out of the second. A modified rule sends
/// them out of the fourth port, or back out of the first if there are fewer than four. Packets
/// without a rule leave by the third port, or are dropped if there are only two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports {
    /// The ports of the switch that are connected to this machine, at least two.
    pub wires: Vec<Wire>,
    /// The number of rules.
    pub rules: usize,
}

/// The rules of a measurement over OpenFlow.
#[derive(Debug)]
pub(crate) struct MadeFlows {
    pub(crate) flows: Vec<Flow<FlowEntry>>,
    /// The catch-all entry for packets whose rule is not there, if such an entry is used.
    pub(crate) beside: Vec<FlowEntry>,
}

impl Ports {
    /// Returns the rules for the first ones of `numbers`; no rules if there are fewer than two
    /// ports. With a user's file, returns the flows of the file whose effect packets can show.
    ///
    /// # Errors
    /// Returns an error if packets can show no flow of the user's file.
    pub(crate) fn flows(
        &self,
        maker: &FlowMaker,
        numbers: &[EntryNumber],
    ) -> Result<MadeFlows, DutError> {
        let port = |position: usize| self.wires.get(position).map(|wire| wire.0.number);
        let absent = port(2).map_or(Output::Nowhere, Output::Port);
        let modified = port(3).map_or(Output::Back, Output::Port);
        let beside = vec![FlowEntry { selects: Selector::Rest, output: absent }];
        let (Some(ingress), Some(egress)) = (port(0), port(1)) else {
            return Ok(MadeFlows { flows: Vec::new(), beside });
        };
        if let Some(own) = maker.own() {
            return self.own_flows(own, ingress);
        }
        let flow = |number: &EntryNumber| {
            let packet = maker.packet(*number);
            let outcome = |output| outcome(output, ingress, &packet);
            let entry = |output| FlowEntry { selects: Selector::One(*number), output };
            Flow {
                port: ingress,
                first: entry(Output::Port(egress)),
                second: Some(entry(modified)),
                absent: outcome(absent),
                inserted: outcome(Output::Port(egress)),
                modified: outcome(modified),
                packet: packet.clone(),
            }
        };
        let flows = numbers.iter().take(self.rules).map(flow).collect();
        Ok(MadeFlows { flows, beside })
    }

    /// Returns the rules for flows of a user's file.
    ///
    /// While the entry of a flow is not in the switch, the flow's packets must still leave in a
    /// known way. If they have the Ethernet source of generated packets, a catch-all entry sends
    /// them out of a port that no flow uses for its own packets, or drops them if there is no such
    /// port. The switch must drop the packets of all other flows by itself.
    fn own_flows(&self, own: &OwnFlows, ingress: u32) -> Result<MadeFlows, DutError> {
        let is_wired = |port| self.wires.iter().any(|wire| wire.0.number == port);
        let not_shown = |why: String| DutError::NotShown { file: own.file().to_owned(), why };
        let shown = own.shown(ingress, &is_wired, self.rules).map_err(not_shown)?;
        // A flow without a priority above others leaves no room beneath it.
        let has_room = |one: &Shown| one.is_above_rest() && own.priority(one.number) > 0;
        let outputs = match shown.iter().all(has_room) {
            false => Vec::new(),
            true => {
                let ports = self.wires.iter().skip(2).map(|wire| Output::Port(wire.0.number));
                ports.chain([Output::Nowhere]).collect()
            }
        };
        let made = |absent: Option<Output>| {
            let flows = shown.iter().map(|one| own_flow(one, absent));
            flows.filter(has_distinct_states).collect::<Vec<Flow<FlowEntry>>>()
        };
        let best = outputs.into_iter().map(Some).rev().max_by_key(|absent| made(*absent).len());
        let absent = best.flatten();
        let flows = made(absent);
        if flows.is_empty() {
            return Err(not_shown("packets leave alike with and without its flows".to_owned()));
        }
        let entry = |output| FlowEntry { selects: Selector::Beneath, output };
        Ok(MadeFlows { flows, beside: absent.into_iter().map(entry).collect() })
    }
}

/// Returns the rule for a flow of a user's file. `absent` is the output of packets whose flow is
/// not there; `None` if the switch drops them.
fn own_flow(one: &Shown, absent: Option<Output>) -> Flow<FlowEntry> {
    let packet = one.frame.bytes();
    let entry = |of| FlowEntry { selects: Selector::One(one.number), output: Output::OfFile(of) };
    let inserted = treated(one.inserted.clone());
    let modified = one.modified.clone().map(treated);
    let in_port = one.frame.in_port;
    Flow {
        port: in_port,
        first: entry(one.number),
        second: modified.as_ref().map(|_| entry(one.second)),
        absent: absent.map_or(Outcome::Unseen, |output| outcome(output, in_port, &packet)),
        modified: modified.unwrap_or_else(|| inserted.clone()),
        inserted,
        packet,
    }
}

/// Returns whether the insertion and the deletion of a flow change how its packets leave the
/// switch.
fn has_distinct_states(flow: &Flow<FlowEntry>) -> bool {
    flow.absent != flow.inserted && flow.absent != flow.modified
}

/// Returns how a packet that enters by `ingress` leaves the switch because of an output.
fn outcome(output: Output, ingress: u32, packet: &[u8]) -> Outcome {
    match output {
        Output::Controller | Output::Nowhere | Output::Group(_) | Output::OfFile(_) => {
            Outcome::Unseen
        }
        Output::Back => Outcome::Leaves { port: ingress, packet: packet.to_vec() },
        Output::Port(port) | Output::Metered { port, .. } => {
            Outcome::Leaves { port, packet: packet.to_vec() }
        }
    }
}

fn treated(treatment: Treatment) -> Outcome {
    match treatment {
        Treatment::Dropped => Outcome::Unseen,
        Treatment::Leaves { port, packet } => Outcome::Leaves { port, packet },
    }
}

/// The outcomes of a packet before and after an update.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected<'a> {
    pub(super) old: &'a Outcome,
    pub(super) new: &'a Outcome,
}

impl Expected<'_> {
    /// Returns the state of the rule in which no probes arrive, or [`Silence::Neither`] if they
    /// arrive in both. Returns `None` if the states cannot be distinguished: probes arrive in
    /// neither state, or leave in the same way in both.
    pub(super) fn silence(&self) -> Option<Silence> {
        match (self.old, self.new) {
            (Outcome::Unseen, Outcome::Unseen) => None,
            (Outcome::Unseen, Outcome::Leaves { .. }) => Some(Silence::Old),
            (Outcome::Leaves { .. }, Outcome::Unseen) => Some(Silence::New),
            (old, new) => (old != new).then_some(Silence::Neither),
        }
    }

    /// Returns the class of a packet that left by this port with these contents.
    fn class(&self, port: u32, bytes: &[u8]) -> Class {
        let mut is_known_port = false;
        for (outcome, class) in [(self.old, Class::Old), (self.new, Class::New)] {
            if let Outcome::Leaves { port: right, packet } = outcome
                && *right == port
            {
                is_known_port = true;
                let [sent, came] = [packet, bytes].map(body);
                if sent == came {
                    return class;
                }
            }
        }
        if is_known_port { Class::Altered } else { Class::Elsewhere }
    }
}

/// Returns a packet without the tag at its end.
fn body<T: AsRef<[u8]> + ?Sized>(packet: &T) -> &[u8] {
    let packet = packet.as_ref();
    packet.get(..packet.len().saturating_sub(TAG)).unwrap_or_default()
}

/// A probe that was sent around a request.
#[derive(Debug)]
struct Recorded {
    /// The position of the probe's rule in the request.
    rule: usize,
    probe: Probe,
    /// The class of the first copy of the probe that arrived.
    first: Option<Class>,
}

/// The record of the probes that are sent around one request.
#[derive(Debug)]
pub(super) struct Record {
    key: u64,
    /// The number of the first probe of the request.
    first: u64,
    probes: Vec<Recorded>,
    /// For each rule, the latest arrival of a probe that met the old state.
    last_old: Vec<Moment>,
    /// For each rule, whether a probe that met the new state has arrived.
    is_shown: Vec<bool>,
    /// The number of probes that have not arrived.
    missing: usize,
    /// The latest moment at which a probe was sent or arrived.
    last: Moment,
}

impl Record {
    /// Creates a record of probes for `rules` rules.
    pub(super) fn new(key: u64, first: u64, rules: usize) -> Self {
        Self {
            key,
            first,
            probes: Vec::new(),
            last_old: vec![Moment(0); rules],
            is_shown: vec![false; rules],
            missing: 0,
            last: Moment(0),
        }
    }

    /// Returns whether probes have shown the new state of all rules. If the switch drops the probes
    /// of a rule in its new state, the rule counts as shown when no probe has met the old state for
    /// `silent` nanoseconds.
    pub(super) fn is_settled(&self, expected: &[Expected<'_>], now: Moment, silent: u64) -> bool {
        let rules = self.last_old.iter().zip(&self.is_shown).zip(expected);
        rules.into_iter().all(|((last_old, is_shown), expected)| match expected.silence() {
            Some(Silence::New) => now.0 >= last_old.0.saturating_add(silent),
            Some(Silence::Old | Silence::Neither) => *is_shown,
            None => true,
        })
    }

    /// Returns whether the record is complete: all probes have arrived, or for `silent` nanoseconds
    /// none was sent or arrived.
    pub(super) fn is_over(&self, now: Moment, silent: u64) -> bool {
        self.missing == 0 || now.0 >= self.last.0.saturating_add(silent)
    }

    /// Returns the tag for the next probe.
    pub(super) fn next(&self) -> Tag {
        Tag { key: self.key, number: self.first + self.probes.len() as u64 }
    }

    /// Records that the next probe was sent, which belongs to the rule at this position.
    pub(super) fn sent(&mut self, rule: usize, sent: Span) {
        let probe = Probe { sent, fate: Fate::Lost };
        self.probes.push(Recorded { rule, probe, first: None });
        self.missing += 1;
        self.last = sent.latest;
    }

    /// Records the arrival of a packet. Packets that are not probes of this request are ignored.
    pub(super) fn arrived(&mut self, arrival: &Arrival<'_>, at: Span, expected: &[Expected<'_>]) {
        let Some(tag) = Tag::read(arrival.packet).filter(|tag| tag.key == self.key) else { return };
        let position = tag.number.checked_sub(self.first).map(usize::try_from);
        let Some(Ok(position)) = position else { return };
        let Some(Recorded { rule, probe, first }) = self.probes.get_mut(position) else { return };
        let Some(expected) = expected.get(*rule) else { return };
        let class = expected.class(arrival.port, arrival.packet);
        self.last = at.latest;
        self.missing -= usize::from(probe.fate == Fate::Lost);
        match class {
            Class::Old => {
                self.last_old.iter_mut().skip(*rule).take(1).for_each(|last| *last = at.latest)
            }
            Class::New => {
                self.is_shown.iter_mut().skip(*rule).take(1).for_each(|shown| *shown = true)
            }
            _ => {}
        }
        first.get_or_insert(class);
        probe.fate = match probe.fate {
            Fate::Lost => Fate::Arrived { at, class },
            Fate::Arrived { at, class: before } => {
                let first = first.unwrap_or(before);
                Fate::Arrived { at, class: before.with_copy(first, class) }
            }
        };
    }

    /// Returns the number that follows the last probe's number.
    pub(super) fn end(&self) -> u64 {
        self.first + self.probes.len() as u64
    }

    /// Returns the probes, grouped by their rules, of which there are `rules`.
    pub(super) fn by_rule(self, rules: usize) -> Vec<Vec<Probe>> {
        let mut found = vec![Vec::new(); rules];
        for Recorded { rule, probe, .. } in self.probes {
            if let Some(own) = found.get_mut(rule) {
                own.push(probe);
            }
        }
        found
    }
}

/// A packet that left the switch and arrived at an interface of this machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival<'a> {
    /// The port by which the packet left the switch.
    pub(super) port: u32,
    pub(super) packet: &'a [u8],
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: u64) -> Span {
        Span { earliest: Moment(time), latest: Moment(time) }
    }

    #[test]
    fn arrivals_are_classed_by_port_and_contents() {
        let leaves = |port, byte| Outcome::Leaves { port, packet: vec![byte; 60] };
        let (old, new) = (leaves(2, 1), leaves(3, 2));
        let expected = [Expected { old: &old, new: &new }];
        let mut record = Record::new(7, 100, 1);
        let cases = [
            (&[(2, 1)][..], Some(Class::Old)),
            (&[(3, 2)], Some(Class::New)),
            (&[(2, 1), (3, 2)], Some(Class::Both)),
            (&[(2, 1), (2, 1)], Some(Class::Repeated)),
            (&[(3, 1)], Some(Class::Altered)),
            (&[(4, 1)], Some(Class::Elsewhere)),
            (&[], None),
        ];
        for (arrivals, _) in cases {
            let tag = record.next();
            record.sent(0, at(1));
            for (port, byte) in arrivals {
                let mut packet = vec![*byte; 60];
                tag.write(&mut packet);
                record.arrived(&Arrival { port: *port, packet: &packet }, at(2), &expected);
            }
        }
        // Neither packets of others nor those of earlier requests count.
        for tag in [Tag { key: 8, number: 106 }, Tag { key: 7, number: 99 }] {
            let mut packet = vec![1; 60];
            tag.write(&mut packet);
            record.arrived(&Arrival { port: 2, packet: &packet }, at(2), &expected);
        }
        assert_eq!(record.end(), 107);
        let found: Vec<Option<Class>> =
            record.by_rule(1)[0].iter().map(|probe| probe.class()).collect();
        assert_eq!(found, cases.map(|(_, class)| class));
    }

    #[test]
    fn states_that_look_alike_show_no_change() {
        let leaves = Outcome::Leaves { port: 2, packet: vec![1; 60] };
        let silence = |old, new| Expected { old, new }.silence();
        assert_eq!(silence(&leaves, &leaves), None);
        assert_eq!(silence(&Outcome::Unseen, &Outcome::Unseen), None);
        assert_eq!(silence(&Outcome::Unseen, &leaves), Some(Silence::Old));
        assert_eq!(silence(&leaves, &Outcome::Unseen), Some(Silence::New));
    }
}
