//! Lowering of arguments. They are evaluated and copied out in the order in which the call names
//! them.

use super::{Entity, Lowering};
use crate::ast::{self, ExpressionKind};
use crate::check::{BoundArgument, Call, Type};
use ir::{self, Argument, Expression, Place, StatementKind};

impl<'a> Lowering<'a> {
    /// Lowers the arguments of a call. Parameters for packets or extern objects, which hold no
    /// values, have none.
    pub(super) fn arguments(
        &mut self,
        facts: &Call,
        given: &'a [ast::Argument],
        parameters: &'a [ast::Parameter],
    ) -> Vec<Argument> {
        self.bound_arguments(&facts.arguments, &facts.parameter_types, given, parameters, false)
    }

    /// Lowers arguments that were matched with parameters. They are evaluated in the order in which
    /// the call names them. Extern objects are included only if `objects` is true.
    pub(super) fn bound_arguments(
        &mut self,
        bound: &[BoundArgument],
        parameter_types: &[Type],
        given: &'a [ast::Argument],
        parameters: &'a [ast::Parameter],
        objects: bool,
    ) -> Vec<Argument> {
        let order = order_of_call(bound.get(..parameters.len()).unwrap_or(bound));
        let value_of = |position: usize| match bound.get(position) {
            Some(BoundArgument::Given(at)) => given.get(*at).map(|given| &given.value),
            _ => None,
        };
        let last_effect =
            order.iter().rposition(|at| value_of(*at).is_some_and(|value| self.has_effects(value)));
        let mut arguments: Vec<Option<Argument>> = vec![None; order.len()];
        let mut ranks = vec![0; order.len()];
        for (rank, position) in order.into_iter().enumerate() {
            let ty = parameter_types.get(position).map_or(Type::Unknown, |ty| self.concrete(ty));
            let (Some(parameter), Some(bound)) = (parameters.get(position), bound.get(position))
            else {
                continue;
            };
            let value = value_of(position);
            let argument = if matches!(ty, Type::Extern(_)) {
                value.filter(|_| objects).map(|value| match self.object(value) {
                    Some(Entity::Extern(id)) => Argument::Extern(id),
                    _ => Argument::Absent,
                })
            } else if let Some(value) = value {
                let later = last_effect.is_some_and(|last| rank < last);
                Some(self.given_argument(value, parameter.direction, &ty, later))
            } else {
                Some(self.argument_not_given(*bound, parameter, &ty, objects))
            };
            (arguments[position], ranks[position]) = (argument, rank as u32);
        }
        let mut arguments: Vec<(Argument, u32)> = arguments
            .into_iter()
            .zip(ranks)
            .filter_map(|(argument, rank)| Some((argument?, rank)))
            .collect();
        rank_copies(&mut arguments);
        arguments.into_iter().map(|(argument, _)| argument).collect()
    }

    /// Returns the argument for a parameter for which the call has none: the parameter's default
    /// value, or, if the parameter is optional, an absent argument or the default value of its
    /// type.
    fn argument_not_given(
        &mut self,
        bound: BoundArgument,
        parameter: &'a ast::Parameter,
        ty: &Type,
        of_extern: bool,
    ) -> Argument {
        match (bound, &parameter.default) {
            (BoundArgument::Default, Some(default)) => {
                let value = self.expression(default);
                let type_id = self.type_id(ty);
                Argument::In(self.coerced(value, type_id))
            }
            _ if of_extern || parameter.direction == ast::Direction::Out => Argument::Absent,
            // Only externs can observe that an optional argument is absent.
            _ if parameter.direction == ast::Direction::InOut => {
                let value = self.default_value(ty);
                Argument::InOut(self.spilled(value))
            }
            _ => Argument::In(self.default_value(ty)),
        }
    }

    /// Lowers an explicit argument. If `later` is true, a later argument has side effects that
    /// might change the value of this one, so the value must be saved.
    fn given_argument(
        &mut self,
        value: &'a ast::Expression,
        direction: ast::Direction,
        ty: &Type,
        later: bool,
    ) -> Argument {
        if matches!(direction, ast::Direction::None | ast::Direction::In) {
            let mut of = self.expression(value);
            if *ty != Type::Unknown {
                let type_id = self.type_id(ty);
                of = self.coerced(of, type_id);
            }
            return Argument::In(if later { self.saved(of) } else { of });
        }
        if matches!(value.kind, ExpressionKind::DontCare) {
            return Argument::Absent;
        }
        let Some(place) = self.target(value) else { return Argument::Absent };
        let place = self.with_saved_indices(place);
        if direction == ast::Direction::Out {
            Argument::Out(place)
        } else if later && *ty != Type::Unknown {
            let type_id = self.type_id(ty);
            let kind = ir::ExpressionKind::Read(place.clone());
            let value = self.saved(Expression { type_id, kind });
            Argument::Saved { place, value }
        } else {
            Argument::InOut(place)
        }
    }

    /// Changes an `Ordered` argument, so that the caller copies it out and not the callee. In the
    /// argument, the place is replaced by a temporary variable. Returns the argument's position in
    /// the order of copies, and an assignment from the temporary variable to the place, which must
    /// follow the call. Returns `None` for any other argument.
    pub(super) fn copied_by_caller(
        &mut self,
        argument: &mut Argument,
        ty: &Type,
    ) -> Option<(u32, StatementKind)> {
        let Argument::Ordered { rank, argument: inner } = argument else { return None };
        let (rank, inner) = (*rank, std::mem::replace(&mut **inner, Argument::Absent));
        let type_id = self.type_id(ty);
        let variable = Place::variable(self.temporary(type_id));
        let read =
            |place: &Place| Expression { type_id, kind: ir::ExpressionKind::Read(place.clone()) };
        let place = match inner {
            Argument::Out(place) => {
                *argument = Argument::Out(variable.clone());
                place
            }
            Argument::InOut(place) => {
                let value = read(&place);
                *argument = Argument::Saved { place: variable.clone(), value };
                place
            }
            Argument::Saved { place, value } => {
                *argument = Argument::Saved { place: variable.clone(), value };
                place
            }
            other => {
                *argument = other;
                return None;
            }
        };
        Some((rank, StatementKind::Assign { place, value: read(&variable) }))
    }
}

/// Returns the positions of the parameters in the order in which the call names their arguments.
/// Parameters without an explicit argument come first.
pub(super) fn order_of_call(bound: &[BoundArgument]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..bound.len()).collect();
    order.sort_by_key(|position| match bound[*position] {
        BoundArgument::Given(at) | BoundArgument::DontCare(at) => Some(at),
        BoundArgument::Default | BoundArgument::Absent | BoundArgument::ControlPlane => None,
    });
    order
}

/// Marks the arguments that are copied out as `Ordered` if their order may matter. It may matter if
/// two of them assign to the same variable, and the order of these two in the call is the reverse
/// of the order of their parameters.
fn rank_copies(arguments: &mut [(Argument, u32)]) {
    let variable = |argument: &Argument| match argument {
        Argument::Out(place) | Argument::InOut(place) | Argument::Saved { place, .. } => {
            Some(place.variable)
        }
        _ => None,
    };
    let copied: Vec<(ir::VariableId, u32)> = arguments
        .iter()
        .filter_map(|(argument, rank)| Some((variable(argument)?, *rank)))
        .collect();
    let is_reversed = copied.iter().enumerate().any(|(position, (variable, rank))| {
        let mut behind = copied.iter().skip(position + 1);
        behind.any(|(other, later)| other == variable && later < rank)
    });
    if !is_reversed {
        return;
    }
    for (argument, rank) in arguments {
        if variable(argument).is_some() {
            let inner = std::mem::replace(argument, Argument::Absent);
            *argument = Argument::Ordered { rank: *rank, argument: Box::new(inner) };
        }
    }
}
