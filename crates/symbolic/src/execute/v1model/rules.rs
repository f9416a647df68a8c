//! The assignments and rules of v1model between blocks, as terms.

use super::Numbers;
use crate::execute::Executor;
use crate::state::{Special, State};
use crate::term::Term;
use architectures::{
    Condition, Input, Known, MetadataField, Outcome, Port, Request, Rules, Set, beyond_drop_port,
};
use ir::TypeId;

/// The conditions of packets by what rules decide about them.
pub(super) struct Decisions {
    pub(super) dropped: Option<Term>,
    pub(super) resubmitted: Option<Term>,
    pub(super) recirculated: Option<Term>,
    /// The packets that are replicated for a multicast group, and the number of the group.
    pub(super) replicated: Option<(Term, Term)>,
    /// The packets for which no case holds.
    pub(super) otherwise: Term,
    /// The port to which these go, unless they keep the one that they have.
    pub(super) port: Option<Term>,
}

impl Executor<'_> {
    /// Assigns the numbers that the architecture determines to fields of the standard metadata.
    pub(super) fn assign(
        &mut self,
        (value, type_id): (&mut Vec<Term>, TypeId),
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
                // v1model assigns none of these.
                Known::Direction
                | Known::Path
                | Known::ClassOfService
                | Known::Generation
                | Known::IsRecirculated => self.terms.zero(64),
            },
        }
    }

    /// Returns the position of the leaf of a metadata field.
    pub(super) fn field_leaf(&self, type_id: TypeId, field: MetadataField) -> Option<usize> {
        let position = self.field_named(type_id, field.name())?;
        Some(self.shapes.field(type_id, position)?.offset)
    }

    fn field_number(&mut self, value: &[Term], type_id: TypeId, field: MetadataField) -> Term {
        let at = self.field_leaf(type_id, field);
        match at.and_then(|at| value.get(at)) {
            Some(number) => *number,
            None => self.terms.zero(32),
        }
    }

    /// Returns what rules decide about packets.
    pub(super) fn decide(
        &mut self,
        rules: &Rules,
        state: &State,
        (standard, type_id): (&[Term], TypeId),
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
            let holds = self.condition(*condition, state, (standard, type_id));
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
                    let group = self.field_number(standard, type_id, *field);
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
            Port::In(field) => Some(self.field_number(standard, type_id, field)),
            Port::Own => None,
        };
        decisions
    }

    fn condition(
        &mut self,
        condition: Condition,
        state: &State,
        (standard, type_id): (&[Term], TypeId),
    ) -> Term {
        match condition {
            Condition::IsSet(field) => {
                let number = self.field_number(standard, type_id, field);
                let zero = self.terms.zero(self.terms.width_of(number));
                self.terms.not_equal(number, zero)
            }
            Condition::IsDropPort(field) => {
                let number = self.field_number(standard, type_id, field);
                let drop = self.terms.number(self.terms.width_of(number), self.drop_port.into());
                self.terms.equal(number, drop)
            }
            // A port has one queue, that of priority 0.
            Condition::HasNoQueue(field) => {
                let number = self.field_number(standard, type_id, field);
                let zero = self.terms.zero(self.terms.width_of(number));
                self.terms.not_equal(number, zero)
            }
            Condition::Requests(Request::Resubmit) => state.special(Special::Resubmit),
            Condition::Requests(Request::Recirculate) => state.special(Special::Recirculate),
            // v1model has no rules on these.
            Condition::GoesTo(_) | Condition::GoesNowhere => self.terms.truth(false),
        }
    }
}
