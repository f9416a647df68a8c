//! Lets the parameters of a control share the storage of the arguments of its only call, so that
//! headers and metadata are not copied to it and back.
//!
//! P4 copies arguments to parameters before a call, and back after it (P4_16 specification, section
//! 6.8). Storing a parameter in the place of its argument has the same effect if the argument is
//! not accessed under another name during the call. A control sees only its parameters and its own
//! variables, so it suffices that an argument that is written overlaps with no other argument.

use super::shape::{Shape, Storage};
use super::{Address, Offset, Outcome, Resolver};
use crate::layout::each_statement;
use ir::{
    Argument, ControlId, Direction, ExpressionKind, ExternCallee, ExternFunction, Place, Program,
    Projection, StatementKind,
};
use std::collections::HashMap;

/// The facts about the calls of controls that decide whether parameters may share the storage of
/// arguments.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// The number of calls of each control by other controls and actions.
    counts: HashMap<ControlId, u32>,
    /// Whether the program sends messages with v1model's `digest`. If so, no parameter shares
    /// storage: the messages are evaluated at the end of ingress, with the values that parameters
    /// had at the end of their control.
    has_digests: bool,
}

impl Calls {
    pub(super) fn of(program: &Program) -> Self {
        let mut calls = Self::default();
        each_statement(program, &mut |statement| match &statement.kind {
            StatementKind::CallControl { control, .. } => {
                *calls.counts.entry(*control).or_default() += 1;
            }
            StatementKind::CallExtern {
                callee: ExternCallee::Function(ExternFunction::Digest),
                ..
            } => calls.has_digests = true,
            _ => {}
        });
        calls
    }

    fn is_only(&self, control: ControlId) -> bool {
        !self.has_digests && self.counts.get(&control) == Some(&1)
    }
}

/// The storage of an argument that is a variable or a part of one.
struct Stored {
    offset: Offset,
    size: u32,
    is_written: bool,
}

impl Stored {
    fn meets(&self, other: &Self) -> bool {
        let end = |one: &Self| one.offset.saturating_add(one.size);
        self.offset < end(other) && other.offset < end(self)
    }
}

impl Resolver<'_> {
    /// Lets parameters of a control share the storage of their arguments, where that has the same
    /// effect as copies. Must be called before the control is resolved.
    pub(super) fn share_parameters(&mut self, id: ControlId, arguments: &[Argument]) -> Outcome {
        if !self.calls.is_only(id) {
            return Ok(());
        }
        let Some(control) = self.layout.program.controls.get(id.index()) else { return Ok(()) };
        let mut stored = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let Some((place, is_written)) = place_of(argument.unordered()) else {
                stored.push(None);
                continue;
            };
            let found = match self.resolve(place) {
                Ok(found) => found,
                Err(error) => {
                    // The call itself is refused with the reason.
                    self.soft(error)?;
                    return Ok(());
                }
            };
            let Address { offset, element: None } = found.address else { return Ok(()) };
            stored.push(Some(Stored { offset, size: found.shape.size(), is_written }));
        }
        let parameters = control.parameters.iter().zip(arguments).enumerate();
        for (position, (parameter, argument)) in parameters {
            let place = match (parameter.direction, argument) {
                (Direction::InOut, Argument::InOut(place)) => place,
                (Direction::In, Argument::In(value)) => match &value.kind {
                    ExpressionKind::Read(place) => place,
                    _ => continue,
                },
                _ => continue,
            };
            let Some(Some(own)) = stored.get(position) else { continue };
            let others = stored.iter().enumerate().filter(|(other, _)| *other != position);
            let mut others = others.filter_map(|(_, other)| other.as_ref());
            let is_apart =
                !others.any(|other| other.meets(own) && (other.is_written || own.is_written));
            let is_same = self.layout.program.place_type(place) == Some(parameter.type_id)
                && place.path.iter().all(|step| matches!(step, Projection::Field(_)))
                && self.is_stored_alike(place)?;
            let offset = own.offset;
            if let Some(known) = self.places.get_mut(parameter.variable.index())
                && known.is_none()
                && is_apart
                && is_same
            {
                *known = Some(offset);
                self.shared.insert(parameter.variable);
            }
        }
        Ok(())
    }

    /// Returns whether the value in a place is stored in the same way as a variable of its type.
    fn is_stored_alike(&mut self, place: &Place) -> Outcome<bool> {
        let found = self.resolve(place)?;
        Ok(match found.shape {
            Shape::Scalar(scalar) => matches!(scalar.storage, Storage::Native { .. }),
            Shape::Header(_) | Shape::Struct(..) | Shape::Stack { .. } => true,
            Shape::Wide { .. }
            | Shape::Varbit { .. }
            | Shape::Loose(..)
            | Shape::Union(..)
            | Shape::Row { .. }
            | Shape::None(_) => false,
        })
    }
}

/// Returns the variable, or part of one, that an argument names, and whether the call writes it.
/// Returns `None` for an argument that is an expression.
fn place_of(argument: &Argument) -> Option<(&Place, bool)> {
    match argument {
        Argument::In(value) => match &value.kind {
            ExpressionKind::Read(place) => Some((place, false)),
            _ => None,
        },
        Argument::Out(place) | Argument::InOut(place) | Argument::Saved { place, .. } => {
            Some((place, true))
        }
        Argument::Ordered { .. } | Argument::Extern(_) | Argument::Action(_) | Argument::Absent => {
            None
        }
    }
}
