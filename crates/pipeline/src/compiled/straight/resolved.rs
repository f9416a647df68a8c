//! The glue of v1model, resolved for one program: fields are given by their places instead of their
//! names.
//!
//! The glue is the same for all programs, but the block path runs it for each packet. Fields that
//! the metadata of the program lack, and requests that no block of the path can make, are removed
//! here once.

use crate::architecture::glue::{
    Condition, Fate, Glue, Input, Inputs, Outcome, Port, REPLICA, Rules, Set, TO_GROUP, TO_PORT,
};
use crate::bound::Field;
use crate::compiled::host::{read, write};
use crate::layout::MetadataField as Of;

/// The resolved glue between v1model's blocks.
#[derive(Debug)]
pub(super) struct Resolved {
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

impl Resolved {
    /// Resolves the glue for metadata whose fields have the places in `standard`, by the fields'
    /// numbers.
    pub(super) fn new(glue: &'static Glue, standard: &[Option<Field>]) -> Self {
        let assignments = |sets: &[Set]| Assignments::new(sets, standard);
        let mut received = assignments(glue.received);
        received.0.extend(assignments(glue.before_parser).0);
        received.0.retain(|(_, input)| *input != Input::Number(0));
        let decision = |rules| Decision::new(rules, standard);
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
    cases: Vec<(Test, Answer)>,
    /// The field that holds the port, or `None` if the packet keeps its port.
    port: Option<Option<Field>>,
}

/// A test of a packet's metadata or port, whose fields are resolved. `None` stands for a field that
/// the metadata lack.
#[derive(Clone, Copy, Debug)]
enum Test {
    IsSet(Option<Field>),
    IsDropPort(Option<Field>),
    HasNoQueue(Option<Field>),
    GoesTo(u64),
}

/// The decision about a packet for which the test of a case holds.
#[derive(Clone, Copy, Debug)]
enum Answer {
    Drop(&'static str),
    Resubmit,
    Recirculate,
    Replicate(Option<Field>),
}

impl Decision {
    fn new(rules: &Rules, standard: &[Option<Field>]) -> Self {
        let field = |of| place(standard, of);
        let cases = rules.cases.iter().filter_map(|(condition, outcome)| {
            let test = match *condition {
                Condition::IsSet(of) => Test::IsSet(field(of)),
                Condition::IsDropPort(of) => Test::IsDropPort(field(of)),
                Condition::HasNoQueue(of) => Test::HasNoQueue(field(of)),
                Condition::GoesTo(port) => Test::GoesTo(port),
                // The path has no blocks that request another pass, and each packet has a port.
                Condition::Requests(_) | Condition::GoesNowhere => return None,
            };
            let answer = match *outcome {
                Outcome::Drop(reason) => Answer::Drop(reason),
                Outcome::Resubmit => Answer::Resubmit,
                Outcome::Recirculate => Answer::Recirculate,
                Outcome::Replicate(of) => Answer::Replicate(field(of)),
            };
            Some((test, answer))
        });
        let port = match rules.otherwise {
            Port::In(of) => Some(field(of)),
            Port::Own => None,
        };
        Self { cases: cases.collect(), port }
    }

    /// Decides about a packet that goes to `port`.
    #[inline]
    pub(super) fn decide(&self, frame: &[u8], port: u32, drop_port: u64, queues: u64) -> Fate {
        let number = |field: Option<Field>| field.map_or(0, |field| read(frame, field));
        let holds = |test: Test| match test {
            Test::IsSet(field) => number(field) != 0,
            Test::IsDropPort(field) => number(field) == drop_port,
            Test::HasNoQueue(field) => number(field) >= queues,
            Test::GoesTo(other) => u64::from(port) == other,
        };
        match self.cases.iter().find(|(test, _)| holds(*test)) {
            Some((_, Answer::Drop(reason))) => Fate::Drop { reason },
            Some((_, Answer::Resubmit)) => Fate::Resubmit,
            Some((_, Answer::Recirculate)) => Fate::Recirculate,
            Some((_, Answer::Replicate(group))) => Fate::Multicast { group: number(*group) as u32 },
            None => Fate::Unicast { port: self.port.map_or(port, |field| number(field) as u32) },
        }
    }
}

fn place(standard: &[Option<Field>], of: Of) -> Option<Field> {
    standard.get(of as usize).copied().flatten()
}
