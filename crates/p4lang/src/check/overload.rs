//! Overload resolution: selects one of several declarations that have the same name.
//!
//! The number and names of the arguments decide (P4_16 §7.2.10.2, §10.1). If several declarations
//! remain, the types of the arguments decide, as in p4c: a declaration that accepts all arguments
//! without conversion is preferred to one for which some arguments must be converted.

use super::arguments::could_match;
use super::checker::{Checker, Info};
use super::{Bindings, Type};
use crate::ast::{Argument, DeclarationId, Direction, Parameter};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// Returns whether two parameter lists have the same length and the same names. Two methods of an
/// extern with the same name must differ in this respect, and so must two constructors.
pub(super) fn same_names(one: &[Parameter], other: &[Parameter]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.name == b.name)
}

/// Returns whether no call can distinguish two parameter lists, because they agree in length, names
/// and types as written.
pub(super) fn same_parameters(one: &[Parameter], other: &[Parameter]) -> bool {
    same_names(one, other)
        && one.iter().zip(other).all(|(a, b)| a.ty.to_string() == b.ty.to_string())
}

/// A call of a name that several declarations share.
#[derive(Clone, Copy)]
pub(super) struct Overloaded<'call> {
    pub(super) name: &'call str,
    pub(super) span: Span,
    /// For each type parameter of the method's object, the type for which it stands in this call.
    pub(super) bindings: &'call Bindings,
    pub(super) arguments: &'call [Argument],
}

impl Checker<'_, '_> {
    /// Selects the declaration to which a call refers, and checks the arguments. Reports an error
    /// if no declaration or more than one fits. A single candidate is selected even if it does not
    /// fit.
    pub(super) fn choose(
        &mut self,
        call: Overloaded<'_>,
        candidates: &[DeclarationId],
    ) -> Option<(DeclarationId, Vec<Info>)> {
        let infos = self.argument_infos(call.arguments);
        let chosen = self.choose_for(call, candidates, &infos)?;
        Some((chosen, infos))
    }

    /// Does the same as [`Self::choose`], for arguments that were already checked.
    pub(super) fn choose_for(
        &mut self,
        call: Overloaded<'_>,
        candidates: &[DeclarationId],
        infos: &[Info],
    ) -> Option<DeclarationId> {
        if let [only] = candidates {
            return Some(*only);
        }
        let fitting: Vec<DeclarationId> = candidates
            .iter()
            .copied()
            .filter(|id| could_match(self.parameters_of(*id), call.arguments))
            .collect();
        let fitting = match fitting.as_slice() {
            [_, _, ..] => self.choose_by_type(call, &fitting, infos),
            _ => fitting,
        };
        match fitting.as_slice() {
            [] => {
                self.no_overload(candidates, call.span, call.name);
                None
            }
            [only] => Some(*only),
            [first, second, ..] => {
                let (first, second) = (self.span_of(*first), self.span_of(*second));
                self.report(
                    Diagnostic::error(
                        "ambiguous",
                        call.span,
                        format!("more than one `{}` fits this call", call.name),
                    )
                    .secondary(first, "this one")
                    .secondary(second, "and this one"),
                );
                None
            }
        }
    }

    fn choose_by_type(
        &mut self,
        call: Overloaded<'_>,
        candidates: &[DeclarationId],
        infos: &[Info],
    ) -> Vec<DeclarationId> {
        let mut exact = Vec::new();
        let mut converting = Vec::new();
        for id in candidates {
            match self.takes(call, *id, infos) {
                Some(Fit::AsTheyAre) => exact.push(*id),
                Some(Fit::Converted) => converting.push(*id),
                None => {}
            }
        }
        if exact.is_empty() { converting } else { exact }
    }

    /// Returns how the declaration `id` accepts the arguments of a call: as they are, or after
    /// conversions. Returns `None` if it does not accept them. Neither reports nor records
    /// anything.
    fn takes(&mut self, call: Overloaded<'_>, id: DeclarationId, infos: &[Info]) -> Option<Fit> {
        let before = self.inferred.clone();
        let own = self.fresh_bindings(self.out.type_parameters(id));
        let formals = self.formals(self.parameters_of(id), call.bindings);
        let mut fit = Some(Fit::AsTheyAre);
        for (position, (argument, info)) in call.arguments.iter().zip(infos).enumerate() {
            let formal = match &argument.name {
                Some(name) => formals.iter().find(|formal| formal.parameter.name == *name),
                None => formals.get(position),
            };
            let Some(formal) = formal else {
                fit = None;
                break;
            };
            let writes = matches!(formal.parameter.direction, Direction::Out | Direction::InOut);
            let wanted = formal.ty.substitute(&own);
            if (writes && !info.place) || !self.unify(&wanted, &info.ty, !writes) {
                fit = None;
                break;
            }
            let same = self.resolved(&wanted) == self.resolved(&info.ty) || info.ty == Type::Any;
            if !same {
                fit = Some(Fit::Converted);
            }
        }
        self.inferred = before;
        fit
    }

    /// Reports that none of the declarations in `found`, which all have the same name, accepts the
    /// arguments of a call.
    fn no_overload(&mut self, found: &[DeclarationId], span: Span, name: &str) {
        let mut diagnostic =
            Diagnostic::error("arguments", span, format!("no `{name}` takes these arguments"))
                .label("by their number, names and types");
        for id in found.iter().take(4) {
            let parameters: Vec<String> = self
                .parameters_of(*id)
                .iter()
                .map(|parameter| format!("{} {}", parameter.ty, parameter.name))
                .collect();
            let takes = format!("takes ({})", parameters.join(", "));
            diagnostic = diagnostic.secondary(self.span_of(*id), takes);
        }
        self.report(diagnostic);
    }
}

/// The way in which a declaration accepts the arguments of a call.
enum Fit {
    AsTheyAre,
    Converted,
}
