//! The glue of v1model, resolved for one program: fields are given by their places instead of their
//! names.
//!
//! The glue is the same for all programs, but the block path runs it for each packet. What cannot
//! affect a packet of the program is therefore removed here once: assignments to fields that the
//! metadata lack or that nothing reads, and cases whose condition never holds.

use crate::architecture::glue::{
    Case, Condition, Fate, Glue, Input, Inputs, Packet, Port, REPLICA, Rules, Set, TO_GROUP,
    TO_PORT,
};
use crate::compiled::host::{read, write};
use crate::layout::{MetadataField as Of, MetadataFields};
use crate::resolved::Field;

/// The resolved glue between v1model's blocks.
#[derive(Debug)]
pub(super) struct ResolvedGlue {
    /// The assignments when a packet is received. Its metadata are zero before, so assignments of
    /// zero are left out.
    pub(super) received: Assignments,
    pub(super) before_ingress: Assignments,
    pub(super) after_ingress: Decision,
    pub(super) to_port: Assignments,
    pub(super) to_group: Assignments,
    pub(super) replica: Assignments,
    pub(super) before_queue: Decision,
    pub(super) queued: Assignments,
    pub(super) before_egress: Assignments,
    pub(super) after_egress: Decision,
}

impl ResolvedGlue {
    /// Resolves the glue for metadata whose fields have the places in `standard`, by the fields'
    /// numbers. Blocks write numbers other than zero only to the fields in `written`.
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

/// Assignments to fields that the program's metadata have.
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

/// Rules whose fields are resolved. A field that the metadata lack counts as zero.
#[derive(Debug)]
pub(super) struct Decision {
    cases: Vec<Case<Option<Field>>>,
    otherwise: Port<Option<Field>>,
}

impl Decision {
    /// Resolves rules. A field is zero if `may_be_set` returns false for it.
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

    /// Decides the fate of a packet that goes to `port`.
    #[inline]
    pub(super) fn decide(&self, frame: &[u8], port: u32, drop_port: u16, queues: u32) -> Fate {
        let number = |field: Option<Field>| field.map_or(0, |field| read(frame, field).into());
        let packet = Packet { effects: None, number, port: Some(port), drop_port, queues };
        packet.fate(&self.cases, self.otherwise)
    }
}

fn place(standard: &[Option<Field>], of: Of) -> Option<Field> {
    standard.get(of as usize).copied().flatten()
}
