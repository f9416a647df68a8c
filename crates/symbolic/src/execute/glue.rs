//! Translates to terms the rules of an architecture between the blocks of a package
//! ([`architectures`]): assignments of metadata, and the decision where a packet goes.

use super::{Executor, Fill};
use crate::state::{Special, State};
use crate::term::Term;
use architectures::{
    Condition, Copies, Input, Known, MetadataField, Outcome, Port, Request, Rules, Set,
    beyond_drop_port,
};
use ir::TypeId;

/// The numeric properties of a packet from which the architecture assigns metadata.
#[derive(Clone, Copy)]
pub(super) struct Numbers {
    pub(super) port: Term,
    pub(super) length: Term,
    pub(super) parser_error: Term,
    pub(super) checksum_error: Term,
    pub(super) instance: Term,
    /// The number of the packet path, such as that of a clone (PSA).
    pub(super) path: Term,
    pub(super) class_of_service: Term,
    /// The number of the packet's direction, from the network or from the host (PNA).
    pub(super) direction: Term,
    /// The number of earlier passes of the packet through the program.
    pub(super) generation: Term,
}

/// The output port of a packet, in architectures in which no metadata field holds it.
#[derive(Clone, Copy, Default)]
pub(super) struct Destination {
    /// The output port; `None` if the architecture has no output port at this point.
    pub(super) port: Option<Term>,
    /// Whether the packet has no output port; `None` if it always has one.
    pub(super) nowhere: Option<Term>,
}

/// Metadata from which the architecture decides about a packet: the leaves of a value, and its type.
#[derive(Clone, Copy)]
pub(super) struct Metadata<'m> {
    pub(super) leaves: &'m [Term],
    pub(super) type_id: TypeId,
}

/// The conditions under which the rules of an architecture drop, repeat or send a packet.
pub(super) struct Decisions {
    pub(super) dropped: Option<Term>,
    pub(super) resubmitted: Option<Term>,
    pub(super) recirculated: Option<Term>,
    /// The condition under which packets are replicated for a multicast group, with the number of
    /// the group.
    pub(super) replicated: Option<(Term, Term)>,
    /// The condition under which none of the other cases applies.
    pub(super) otherwise: Term,
    /// The port to which packets in the case `otherwise` go; `None` if they keep the port that they
    /// have.
    pub(super) port: Option<Term>,
}

impl Executor<'_> {
    /// Returns the properties of a packet with this port and length. All other properties are zero.
    pub(super) fn numbers(&mut self, port: Term, length: Term) -> Numbers {
        let zero = self.terms.zero(32);
        Numbers {
            port,
            length,
            parser_error: zero,
            checksum_error: self.terms.zero(1),
            instance: zero,
            path: zero,
            class_of_service: zero,
            direction: zero,
            generation: zero,
        }
    }

    /// Returns the initial metadata of a type. Fields are zero, except those that the architecture
    /// assigns.
    pub(super) fn filled(&mut self, type_id: TypeId, sets: &[Set], of: &Numbers) -> Vec<Term> {
        let mut value = self.initial(type_id, Fill::Zero);
        self.assign(&mut value, type_id, sets, of);
        value
    }

    /// Assigns the properties of a packet to fields of the standard metadata, as the architecture
    /// says.
    pub(super) fn assign(
        &mut self,
        value: &mut [Term],
        type_id: TypeId,
        sets: &[Set],
        of: &Numbers,
    ) {
        for (field, input) in sets {
            let Some(at) = self.field_leaf(type_id, *field) else { continue };
            let Some(old) = value.get(at).copied() else { continue };
            let width = self.terms.width_of(old);
            let number = self.number(*input, of, width);
            let number = self.terms.resize(number, width);
            if let Some(leaf) = value.get_mut(at) {
                *leaf = number;
            }
        }
    }

    fn number(&mut self, input: Input, of: &Numbers, width: u32) -> Term {
        match input {
            Input::Number(number) => self.terms.number(64, number.into()),
            Input::Known(known) => match known {
                Known::Port => of.port,
                Known::Length => of.length,
                Known::ParserError => of.parser_error,
                Known::ChecksumFailed => of.checksum_error,
                Known::BehindDropPort => {
                    let number = beyond_drop_port(self.drop_port);
                    self.terms.number(64, number.into())
                }
                // No test controls the time and what waits in queues.
                Known::Now | Known::QueueDepth => self.undefined(width),
                Known::Instance => of.instance,
                Known::Direction => of.direction,
                Known::Path => of.path,
                Known::ClassOfService => of.class_of_service,
                Known::Generation => of.generation,
                Known::IsRecirculated => {
                    let zero = self.terms.zero(self.terms.width_of(of.generation));
                    self.terms.not_equal(of.generation, zero)
                }
            },
        }
    }

    /// Returns the position of the leaf for a metadata field; `None` if the type does not have the
    /// field.
    pub(super) fn field_leaf(&self, type_id: TypeId, field: MetadataField) -> Option<usize> {
        let position = self.field_named(type_id, field.name())?;
        Some(self.shapes.field(type_id, position)?.offset)
    }

    /// Returns the value of a metadata field, or zero if the type does not have the field.
    pub(super) fn field_number(&mut self, metadata: Metadata<'_>, field: MetadataField) -> Term {
        let at = self.field_leaf(metadata.type_id, field);
        match at.and_then(|at| metadata.leaves.get(at)) {
            Some(number) => *number,
            None => self.terms.zero(32),
        }
    }

    /// Returns the condition under which a metadata field makes the architecture clone packets,
    /// with the number of the clone session. Returns `None` if no field can do so.
    pub(super) fn copied_by_field(
        &mut self,
        rules: &Rules,
        state: &State,
        metadata: Metadata<'_>,
    ) -> Option<(Term, Term)> {
        let (when, session) = match rules.copies {
            Copies::ToField(when, session) => (when, session),
            Copies::Never | Copies::Requested => return None,
        };
        let copies =
            self.condition(Condition::IsSet(when), state, metadata, Destination::default());
        let guard = self.terms.and(state.guard, copies);
        if self.terms.truth_of(guard) == Some(false) {
            return None;
        }
        let session = self.field_number(metadata, session);
        Some((guard, self.terms.resize(session, 32)))
    }

    /// Returns what the rules decide about packets whose output port, if any, is in a metadata
    /// field.
    pub(super) fn decide(
        &mut self,
        rules: &Rules,
        state: &State,
        metadata: Metadata<'_>,
    ) -> Decisions {
        self.decide_at(rules, state, metadata, Destination::default())
    }

    /// Returns what the rules decide about packets with this output port.
    pub(super) fn decide_at(
        &mut self,
        rules: &Rules,
        state: &State,
        metadata: Metadata<'_>,
        destination: Destination,
    ) -> Decisions {
        let mut left = state.guard;
        let mut decisions = Decisions {
            dropped: None,
            resubmitted: None,
            recirculated: None,
            replicated: None,
            otherwise: left,
            port: None,
        };
        for (condition, outcome) in rules.cases {
            let holds = self.condition(*condition, state, metadata, destination);
            let guard = self.terms.and(left, holds);
            let not = self.terms.not(holds);
            left = self.terms.and(left, not);
            if self.terms.truth_of(guard) == Some(false) {
                continue;
            }
            let place = match outcome {
                Outcome::Drop(_) => &mut decisions.dropped,
                Outcome::Resubmit => &mut decisions.resubmitted,
                Outcome::Recirculate => &mut decisions.recirculated,
                Outcome::Replicate(field) => {
                    let group = self.field_number(metadata, *field);
                    decisions.replicated = Some((guard, group));
                    continue;
                }
            };
            *place = Some(match *place {
                Some(before) => self.terms.or(before, guard),
                None => guard,
            });
        }
        decisions.otherwise = left;
        decisions.port = match rules.otherwise {
            Port::In(field) => Some(self.field_number(metadata, field)),
            Port::Own => None,
        };
        decisions
    }

    fn condition(
        &mut self,
        condition: Condition,
        state: &State,
        metadata: Metadata<'_>,
        destination: Destination,
    ) -> Term {
        match condition {
            Condition::IsSet(field) => {
                let number = self.field_number(metadata, field);
                let zero = self.terms.zero(self.terms.width_of(number));
                self.terms.not_equal(number, zero)
            }
            Condition::IsDropPort(field) => {
                let number = self.field_number(metadata, field);
                let drop = self.terms.number(self.terms.width_of(number), self.drop_port.into());
                self.terms.equal(number, drop)
            }
            // A port has one queue, that of priority 0.
            Condition::HasNoQueue(field) => {
                let number = self.field_number(metadata, field);
                let zero = self.terms.zero(self.terms.width_of(number));
                self.terms.not_equal(number, zero)
            }
            Condition::Requests(Request::Resubmit) => state.special(Special::Resubmit),
            Condition::Requests(Request::Recirculate) => state.special(Special::Recirculate),
            Condition::GoesTo(wanted) => match destination.port {
                Some(port) => {
                    let wanted = self.terms.number(self.terms.width_of(port), wanted.into());
                    let equal = self.terms.equal(port, wanted);
                    match destination.nowhere {
                        Some(nowhere) => {
                            let goes = self.terms.not(nowhere);
                            self.terms.and(equal, goes)
                        }
                        None => equal,
                    }
                }
                None => self.terms.truth(false),
            },
            Condition::GoesNowhere => match destination.nowhere {
                Some(nowhere) => nowhere,
                None => self.terms.truth(destination.port.is_none()),
            },
        }
    }
}
