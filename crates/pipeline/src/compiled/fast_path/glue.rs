//! The rules of v1model for what happens between blocks, resolved for one program: they name fields
//! by their offsets in the frame.
//!
//! The rules ([`architectures`]) are the same for all programs, but the block path
//! applies them to each packet. What cannot affect a packet of this program is therefore removed
//! here once: assignments to fields that the metadata lack or that no code reads, and cases whose
//! condition never holds.

use crate::compiled::host::{read, write};
use crate::layout::{MetadataField as Of, MetadataFields};
use crate::resolved::Field;
use architectures::{
    Case, Condition, Fate, Glue, Input, Inputs, Packet, Port, REPLICA, Rules, Set, TO_GROUP,
    TO_PORT,
};

/// The rules of v1model for what happens between blocks, with the offsets of this program's fields.
#[derive(Debug)]
pub(super) struct ResolvedGlue {
    /// The assignments to a packet's metadata when it is received. Assignments of zero are left
    /// out, because the metadata are zero before.
    pub(super) received: Assignments,
    /// The assignments before ingress runs.
    pub(super) before_ingress: Assignments,
    /// The rules that decide about a packet after ingress.
    pub(super) after_ingress: Decision,
    /// The assignments to the metadata of a packet that goes to one port. The next two fields hold
    /// the assignments for a packet that goes to a multicast group, and for each of its replicas.
    pub(super) to_port: Assignments,
    pub(super) to_group: Assignments,
    pub(super) replica: Assignments,
    /// The rules that decide whether a packet enters the queue of its output port.
    pub(super) before_queue: Decision,
    /// The assignments to a packet that enters a queue.
    pub(super) queued: Assignments,
    /// The assignments before egress runs.
    pub(super) before_egress: Assignments,
    /// The rules that decide about a packet after egress.
    pub(super) after_egress: Decision,
}

impl ResolvedGlue {
    /// Adapts the rules of v1model to one program. `standard` holds the storage of the metadata
    /// fields, indexed by the field's number. Blocks write numbers other than zero only to the
    /// fields in `written`.
    pub(super) fn new(
        glue: &'static Glue,
        standard: &[Option<Field>],
        written: MetadataFields,
    ) -> Self {
        let assignments = |sets: &[Set]| Assignments::new(sets, standard);
        let mut received = assignments(glue.received);
        received.0.extend(assignments(glue.before_parser).0);
        received.0.retain(|(_, input)| *input != Input::Number(0));
        let sets = [glue.received, glue.before_parser, glue.before_ingress, TO_PORT, TO_GROUP];
        let sets = sets.into_iter().chain([REPLICA, glue.queued, glue.before_egress]);
        let set: Vec<Of> = sets.flatten().map(|(field, _)| *field).collect();
        let may_be_set = |field: Of| written.contains(field) || set.contains(&field);
        let decision = |rules| Decision::new(rules, standard, may_be_set);
        Self {
            received,
            before_ingress: assignments(glue.before_ingress),
            after_ingress: decision(&glue.after_ingress),
            to_port: assignments(TO_PORT),
            to_group: assignments(TO_GROUP),
            replica: assignments(REPLICA),
            before_queue: decision(&glue.before_queue),
            queued: assignments(glue.queued),
            before_egress: assignments(glue.before_egress),
            after_egress: decision(&glue.after_egress),
        }
    }
}

/// Assignments by the architecture to those metadata fields that the program has.
#[derive(Debug)]
pub(super) struct Assignments(Vec<(Field, Input)>);

impl Assignments {
    fn new(sets: &[Set], standard: &[Option<Field>]) -> Self {
        let resolved = sets.iter().filter_map(|(of, input)| Some((place(standard, *of)?, *input)));
        Self(resolved.collect())
    }

    #[inline]
    pub(super) fn run(&self, inputs: &Inputs<u64>, frame: &mut [u8]) {
        for (field, input) in &self.0 {
            write(frame, *field, inputs.number(*input));
        }
    }
}

/// The rules that decide where a packet goes after a block, with the offsets of the fields that
/// they read. A field that the program's metadata lack counts as zero.
#[derive(Debug)]
pub(super) struct Decision {
    cases: Vec<Case<Option<Field>>>,
    otherwise: Port<Option<Field>>,
}

impl Decision {
    /// Adapts the rules to one program. Fields for which `may_be_set` returns false are always
    /// zero, so cases that need another value are left out.
    fn new(rules: &Rules, standard: &[Option<Field>], may_be_set: impl Fn(Of) -> bool) -> Self {
        let field = |of| place(standard, of);
        let possible = rules.cases.iter().filter(|(condition, _)| match condition {
            // No block on this path can request a pass.
            Condition::Requests(_) => false,
            // Each port has at least the queue of priority zero.
            Condition::IsSet(field) | Condition::HasNoQueue(field) => may_be_set(*field),
            Condition::IsDropPort(_) | Condition::GoesTo(_) | Condition::GoesNowhere => true,
        });
        let cases = possible.map(|(condition, outcome)| (condition.map(field), outcome.map(field)));
        Self { cases: cases.collect(), otherwise: rules.otherwise.map(field) }
    }

    /// Decides what happens to a packet whose output port is `port`: whether it is dropped, goes to
    /// a port, or is replicated for a multicast group.
    #[inline]
    pub(super) fn decide(&self, frame: &[u8], port: u32, drop_port: u16, queues: u32) -> Fate {
        let number = |field: Option<Field>| field.map_or(0, |field| read(frame, field).into());
        let packet = Packet { requests: None, number, port: Some(port), drop_port, queues };
        packet.fate(&self.cases, self.otherwise)
    }
}

fn place(standard: &[Option<Field>], of: Of) -> Option<Field> {
    standard.get(of as usize).copied().flatten()
}
