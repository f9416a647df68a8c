//! Unification: determines whether one type fits another, and for which types the type parameters
//! stand (P4_16 §8.20).
//!
//! The variables are the inference variables of the current calls, [`Type::Inferred`]. An argument
//! of type `int` binds a variable only provisionally. A later `bit<W>` or `int<W>` replaces this
//! binding, since an `int` constant can have any width.

use std::collections::HashMap;

use super::checker::Checker;
use super::{Bindings, Type};
use crate::ast::{self, DeclarationId, DeclarationKind, Direction};
use crate::source::Span;

/// The largest depth to which two types are compared. Types in real programs are much less deep.
const DEEPEST: u32 = 200;

impl<'program> Checker<'program, '_> {
    /// Creates a new inference variable, which is not bound to a type, and returns it as a type.
    pub(super) fn fresh(&mut self) -> Type {
        self.inferred.push(None);
        Type::Inferred(u32::try_from(self.inferred.len() - 1).unwrap_or(u32::MAX))
    }

    /// Creates a new inference variable for each type parameter, and returns the bindings of the
    /// type parameters to these variables.
    pub(super) fn fresh_bindings(&mut self, parameters: &[ast::TypeParameter]) -> Bindings {
        parameters.iter().map(|parameter| (parameter.id, self.fresh())).collect()
    }

    /// Returns a declared type in which each unbound inference variable is replaced by a new one.
    pub(super) fn with_fresh_variables(&mut self, ty: &Type) -> Type {
        let resolved = self.resolved(ty);
        let mut free = Vec::new();
        resolved.any(&mut |part| {
            if let Type::Inferred(variable) = part {
                free.push(*variable);
            }
            false
        });
        if free.is_empty() {
            return resolved;
        }
        let with_fresh_variables: HashMap<u32, Type> =
            free.into_iter().map(|variable| (variable, self.fresh())).collect();
        resolved.map(&mut |part| match part {
            Type::Inferred(variable) => with_fresh_variables.get(variable).cloned(),
            _ => None,
        })
    }

    /// Returns whether a type contains an inference variable that is not bound to a type.
    pub(super) fn is_open(&self, ty: &Type) -> bool {
        self.resolved(ty).any(&mut |part| matches!(part, Type::Inferred(_)))
    }

    /// Reports that the `_` in a type could not be inferred.
    pub(super) fn report_open(&mut self, ty: &Type, span: Span) {
        let message = format!("the type `_` in `{}` cannot be inferred", self.out.show(ty));
        self.error("type-arguments", span, message);
    }

    /// Checks that `ty`, the type of a variable or another declaration that stores values, contains
    /// no `_` that could not be inferred, and returns it. Otherwise reports an error and returns
    /// [`Type::Unknown`].
    pub(super) fn refuse_open(&mut self, ty: Type, span: Span) -> Type {
        if !self.is_open(&ty) {
            return ty;
        }
        self.report_open(&ty, span);
        Type::Unknown
    }

    fn binding(&self, variable: u32) -> Option<&Type> {
        self.inferred.get(variable as usize).and_then(Option::as_ref)
    }

    /// Returns the type with each bound inference variable replaced by the type to which it is
    /// bound.
    pub(super) fn resolved(&self, ty: &Type) -> Type {
        self.resolved_within(ty, 0)
    }

    fn resolved_within(&self, ty: &Type, depth: u32) -> Type {
        if depth > DEEPEST || !ty.any(&mut |part| matches!(part, Type::Inferred(_))) {
            return ty.clone();
        }
        ty.map(&mut |part| match part {
            Type::Inferred(variable) => {
                self.binding(*variable).map(|bound| self.resolved_within(bound, depth + 1))
            }
            _ => None,
        })
    }

    /// Returns the type with each bound inference variable replaced by its type, except for
    /// variables that are bound to `int` only provisionally.
    pub(super) fn still_open(&self, ty: &Type) -> Type {
        self.still_open_within(ty, 0)
    }

    fn still_open_within(&self, ty: &Type, depth: u32) -> Type {
        if depth > DEEPEST || !ty.any(&mut |part| matches!(part, Type::Inferred(_))) {
            return ty.clone();
        }
        ty.map(&mut |part| match part {
            Type::Inferred(_) => Some(match self.chase(part) {
                (Some(last), Type::Integer) => Type::Inferred(last),
                (_, free @ Type::Inferred(_)) => free,
                (_, bound) => self.still_open_within(&bound, depth + 1),
            }),
            _ => None,
        })
    }

    /// Returns the type with each bound inference variable replaced by its type, and each unbound
    /// one by [`Type::Any`].
    pub(super) fn settled(&self, ty: &Type) -> Type {
        self.resolved(ty).map(&mut |part| match part {
            Type::Inferred(_) => Some(Type::Any),
            _ => None,
        })
    }

    /// Follows a chain of inference variables that are bound to one another. Returns the last
    /// variable of the chain and the type to which it is bound.
    fn chase(&self, ty: &Type) -> (Option<u32>, Type) {
        let mut current = ty.clone();
        let mut last = None;
        // Variables are bound only to older types, so the chain is finite. The limit on the
        // iterations is a safeguard.
        for _ in 0..=self.inferred.len() {
            let Type::Inferred(variable) = current else { return (last, current) };
            last = Some(variable);
            match self.binding(variable) {
                Some(bound) => current = bound.clone(),
                None => return (last, Type::Inferred(variable)),
            }
        }
        (last, current)
    }

    fn bind(&mut self, variable: u32, ty: Type) -> bool {
        let resolved = self.resolved(&ty);
        if resolved == Type::Inferred(variable) {
            return true;
        }
        if resolved.any(&mut |part| *part == Type::Inferred(variable)) {
            return false;
        }
        if let Some(place) = self.inferred.get_mut(variable as usize) {
            *place = Some(resolved);
        }
        true
    }

    /// Makes the type `source` fit `destination` by binding inference variables, and returns
    /// whether that is possible. If `cast` is true, a serializable enumeration fits its underlying
    /// type.
    pub(super) fn unify(&mut self, destination: &Type, source: &Type, cast: bool) -> bool {
        self.unify_within(destination, source, cast, 0)
    }

    /// Does the same as `unify`. `depth` limits the recursion.
    fn unify_within(&mut self, destination: &Type, source: &Type, cast: bool, depth: u32) -> bool {
        if depth > DEEPEST {
            return false;
        }
        let (to_variable, to) = self.chase(destination);
        let (from_variable, from) = self.chase(source);
        if to == from || to.is_unknown() {
            return true;
        }
        if from.is_unknown() {
            // An erroneous type binds a variable, so that no further errors are reported for it.
            return match to {
                Type::Inferred(variable) => self.bind(variable, Type::Unknown),
                _ => true,
            };
        }
        if matches!(from, Type::Any | Type::DefaultRest) || to == Type::Any {
            return true;
        }
        match (&to, &from) {
            (Type::Inferred(variable), _) => return self.bind(*variable, from),
            (_, Type::Inferred(variable)) => return self.bind(*variable, to),
            (Type::Integer, Type::Bits { .. }) => {
                if let Some(variable) = to_variable {
                    return self.bind(variable, from);
                }
                // A number of fixed width can be converted to `int` if it is constant. The
                // conversion checks that it is.
                return true;
            }
            (Type::Bits { .. }, Type::Integer) => {
                if let Some(variable) = from_variable {
                    return self.bind(variable, to);
                }
                return true;
            }
            // An `int` constant fits a `type` whose representation is `bit<W>` or `int<W>`.
            (Type::NewType(_), Type::Integer) => return self.base_type(&to).is_bits(),
            (Type::Integer, Type::NewType(_)) if to_variable.is_some() => {
                return self.base_type(&from).is_bits()
                    && to_variable.is_some_and(|variable| self.bind(variable, from.clone()));
            }
            (Type::Bits { .. }, Type::SerializableEnum(_)) if cast => {
                return self.out.underlying(&from) == Some(&to);
            }
            _ => {}
        }
        self.unify_structure(&to, &from, depth)
    }

    fn unify_all(&mut self, to: &[Type], from: &[Type], depth: u32) -> bool {
        let rest = matches!(from.last(), Some(Type::DefaultRest));
        let given = if rest { from.len() - 1 } else { from.len() };
        if given > to.len() || (!rest && given != to.len()) {
            return false;
        }
        to.iter()
            .zip(from.iter().take(given))
            .all(|(to, from)| self.unify_within(to, from, true, depth + 1))
    }

    /// Unifies the parts of two composite types.
    fn unify_structure(&mut self, to: &Type, from: &Type, depth: u32) -> bool {
        match (to, from) {
            (Type::Tuple(to), Type::Tuple(from)) => {
                let (to, from) = (to.clone(), from.clone());
                self.unify_all(&to, &from, depth)
            }
            (Type::Struct(_) | Type::Header(_), Type::Tuple(from)) => {
                let fields: Vec<Type> =
                    self.out.fields(to).into_iter().map(|field| field.ty).collect();
                self.unify_all(&fields, from, depth)
            }
            (Type::Struct(_) | Type::Header(_), Type::Record(from)) => {
                let fields = self.out.fields(to);
                from.iter().all(|(name, ty)| {
                    *ty == Type::DefaultRest
                        || fields
                            .iter()
                            .find(|field| field.field.name.text == *name)
                            .is_some_and(|field| self.unify_within(&field.ty, ty, true, depth + 1))
                })
            }
            (Type::Record(to), Type::Record(from)) => {
                to.len() == from.len()
                    && to.iter().zip(from.iter()).all(|(to, from)| {
                        to.0 == from.0 && self.unify_within(&to.1, &from.1, true, depth + 1)
                    })
            }
            (Type::Stack { element, size }, Type::Tuple(from)) => {
                let elements = vec![(**element).clone(); (*size).min(4096) as usize];
                self.unify_all(&elements, from, depth)
            }
            (Type::List(element), Type::Tuple(from)) => {
                from.iter().all(|from| self.unify_within(element, from, true, depth + 1))
            }
            (Type::Stack { element: to, size: a }, Type::Stack { element: from, size: b }) => {
                a == b && self.unify_within(to, from, false, depth + 1)
            }
            (Type::List(to), Type::List(from)) | (Type::Set(to), Type::Set(from)) => {
                self.unify_within(to, from, true, depth + 1)
            }
            (Type::Set(to), from) => self.unify_within(to, from, true, depth + 1),
            (Type::Parser(a), Type::Parser(b)) | (Type::Control(a), Type::Control(b)) => {
                if a.declaration == b.declaration {
                    a.arguments.len() == b.arguments.len()
                        && a.arguments
                            .iter()
                            .zip(b.arguments.iter())
                            .all(|(a, b)| self.unify_within(a, b, false, depth + 1))
                } else {
                    self.unify_blocks(to, from, depth)
                }
            }
            _ => match (to.named(), from.named()) {
                (Some(a), Some(b)) if a.declaration == b.declaration => {
                    std::mem::discriminant(to) == std::mem::discriminant(from)
                        && a.arguments.len() == b.arguments.len()
                        && a.arguments
                            .iter()
                            .zip(b.arguments.iter())
                            .all(|(a, b)| self.unify_within(a, b, false, depth + 1))
                }
                _ => false,
            },
        }
    }

    /// Returns the parameters of the `apply` method of a parser or control type, each with its type
    /// after type arguments are substituted.
    pub(super) fn apply_parameters(&self, ty: &Type) -> Vec<(&'program ast::Parameter, Type)> {
        let (Type::Parser(named) | Type::Control(named)) = ty else { return Vec::new() };
        let Some(declaration) = self.out.index.get_declaration(named.declaration) else {
            return Vec::new();
        };
        let parameters = match &declaration.kind {
            DeclarationKind::Parser(parser) => &parser.parameters,
            DeclarationKind::ParserType(parser) => &parser.parameters,
            DeclarationKind::Control(control) => &control.parameters,
            DeclarationKind::ControlType(control) => &control.parameters,
            _ => return Vec::new(),
        };
        let bindings = self.out.bindings(named);
        parameters
            .iter()
            .map(|parameter| {
                (parameter, self.out.declared_type(parameter.id).substitute(&bindings))
            })
            .collect()
    }

    /// Makes the parser or control type `from` fit `to`, by comparing the parameters of both (§17).
    /// Returns whether it fits.
    fn unify_blocks(&mut self, to: &Type, from: &Type, depth: u32) -> bool {
        let (to, from) = (self.apply_parameters(to), self.apply_parameters(from));
        let may_be_omitted = |parameter: &ast::Parameter| {
            parameter.default.is_some() || parameter.annotation("optional").is_some()
        };
        let common = to.len().min(from.len());
        to.iter().skip(common).all(|(parameter, _)| may_be_omitted(parameter))
            && from.iter().skip(common).all(|(parameter, _)| may_be_omitted(parameter))
            && to.iter().zip(from.iter()).all(|((a, to), (b, from))| {
                a.direction == b.direction && self.unify_within(to, from, false, depth + 1)
            })
    }

    /// Describes why the parser or control `from` does not fit the parser or control type `to`.
    pub(super) fn block_mismatch(&mut self, to: &Type, from: &Type) -> Option<String> {
        let (to, from) = (self.apply_parameters(to), self.apply_parameters(from));
        for ((a, to), (b, from)) in to.iter().zip(from.iter()) {
            if a.direction != b.direction {
                let written = |direction: Direction| match direction {
                    Direction::None => "no direction".to_owned(),
                    other => format!("direction `{}`", other.as_str()),
                };
                return Some(format!(
                    "parameter `{}` has {}, where {} is expected",
                    b.name,
                    written(b.direction),
                    written(a.direction)
                ));
            }
            if !self.unify(to, from, false) {
                let (to, from) = (self.settled(to), self.settled(from));
                return Some(format!(
                    "parameter `{}` has type `{}`, where `{}` is expected",
                    b.name,
                    self.out.show(&from),
                    self.out.show(&to)
                ));
            }
        }
        (to.len() != from.len())
            .then(|| format!("it has {} parameters, where {} are expected", from.len(), to.len()))
    }

    /// Returns the underlying type if the type is a serializable enumeration. Returns any other
    /// type unchanged.
    pub(super) fn representation(&self, ty: &Type) -> Type {
        match ty {
            Type::SerializableEnum(_) => self.out.underlying(ty).cloned().unwrap_or(Type::Unknown),
            _ => ty.clone(),
        }
    }

    /// If the type is declared by `type`, follows the chain of such declarations and returns the
    /// type on which it is based. Returns any other type unchanged.
    pub(super) fn base_type(&self, ty: &Type) -> Type {
        let mut current = ty.clone();
        // A `type` is based on a type that was declared before it, so the loop ends.
        while let Type::NewType(_) = current {
            match self.out.underlying(&current) {
                Some(inner) => current = inner.clone(),
                None => return Type::Unknown,
            }
        }
        current
    }

    /// Returns the type that a declaration declares, with the declaration's own type parameters as
    /// type arguments.
    pub(super) fn self_type(&self, id: DeclarationId) -> Type {
        self.out.declared_type(id).clone()
    }
}
