//! Matching of arguments with parameters (P4_16 §6.8, §8.20): by position or name, with checks of
//! directions and types, and inference of type arguments.

use std::collections::HashSet;

use super::checker::{Checker, Info};
use super::signature::{Formal, Signature, Style};
use super::{Bindings, BoundArgument, Type};
use crate::ast::{self, Argument, Direction, ExpressionKind, Name, Parameter};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// The type arguments and the arguments of a call, as [`Checker::match_arguments`] determines them.
pub(super) struct Matched {
    pub(super) type_arguments: Vec<Type>,
    pub(super) arguments: Vec<BoundArgument>,
    pub(super) parameter_types: Vec<Type>,
    pub(super) return_type: Type,
}

/// Returns whether a call may omit the argument for a parameter.
pub(super) fn may_be_omitted(parameter: &Parameter) -> bool {
    parameter.default.is_some() || parameter.annotation("optional").is_some()
}

/// Returns whether the number and names of the arguments fit the parameters (§6.8.2).
pub(super) fn could_match(parameters: &[Parameter], arguments: &[Argument]) -> bool {
    if arguments.len() > parameters.len() {
        return false;
    }
    let mut given: HashSet<&str> = HashSet::new();
    for (position, argument) in arguments.iter().enumerate() {
        let parameter = match &argument.name {
            Some(name) => parameters.iter().find(|parameter| parameter.name == *name),
            None => parameters.get(position),
        };
        match parameter {
            Some(parameter) => given.insert(parameter.name.as_str()),
            None => return false,
        };
    }
    parameters
        .iter()
        .all(|parameter| given.contains(parameter.name.as_str()) || may_be_omitted(parameter))
}

impl<'program> Checker<'program, '_> {
    /// Returns the parameters of a callee with the types that they have in one call: each `_` in a
    /// type is replaced by a fresh inference variable, and each type parameter by the type that
    /// `bindings` has for it.
    pub(super) fn formals(
        &mut self,
        parameters: &'program [Parameter],
        bindings: &Bindings,
    ) -> Vec<Formal<'program>> {
        let mut formals = Vec::with_capacity(parameters.len());
        for parameter in parameters {
            let declared = self.out.declared_type(parameter.id).clone();
            let ty = self.with_fresh_variables(&declared).substitute(bindings);
            formals.push(Formal { parameter, ty });
        }
        formals
    }

    /// Matches arguments with parameters by position or name. Reports an error and returns `None`
    /// if there are too many arguments, if a name is unknown or occurs twice, or if only some
    /// arguments have names. A missing argument is no error here and becomes
    /// [`BoundArgument::Absent`].
    pub(super) fn pair(
        &mut self,
        parameters: &[Formal<'program>],
        arguments: &[Argument],
        span: Span,
        name: &str,
    ) -> Option<Vec<BoundArgument>> {
        let named = arguments.iter().filter(|argument| argument.name.is_some()).count();
        if named != 0 && named != arguments.len() {
            self.error("arguments", span, "either all arguments are named or none");
            return None;
        }
        if arguments.len() > parameters.len() {
            self.error(
                "arguments",
                span,
                format!("`{name}` takes {} arguments, not {}", parameters.len(), arguments.len()),
            );
            return None;
        }
        let mut bound: Vec<Option<BoundArgument>> = vec![None; parameters.len()];
        for (position, argument) in arguments.iter().enumerate() {
            let index = match &argument.name {
                Some(name) => parameters.iter().position(|formal| formal.parameter.name == *name),
                None => Some(position),
            };
            let place = index.and_then(|index| bound.get_mut(index));
            let Some(place) = place else {
                let written = argument.name.as_ref().map_or("", Name::as_str);
                self.error(
                    "arguments",
                    argument.span(),
                    format!("`{name}` has no parameter `{written}`"),
                );
                return None;
            };
            if place.is_some() {
                let written = argument.name.as_ref().map_or("", Name::as_str);
                self.error("arguments", argument.span(), format!("`{written}` is given twice"));
                return None;
            }
            *place = Some(match argument.value.kind {
                ExpressionKind::DontCare => BoundArgument::DontCare(position),
                _ => BoundArgument::Given(position),
            });
        }
        Some(
            bound
                .into_iter()
                .zip(parameters)
                .map(|(bound, formal)| match bound {
                    Some(bound) => bound,
                    None if formal.parameter.default.is_some() => BoundArgument::Default,
                    None => BoundArgument::Absent,
                })
                .collect(),
        )
    }

    /// Checks the arguments of a call as expressions, before it is known for which parameters they
    /// are. Returns the type and properties of each argument.
    pub(super) fn argument_infos(&mut self, arguments: &[Argument]) -> Vec<Info> {
        arguments
            .iter()
            .map(|argument| match argument.value.kind {
                ExpressionKind::DontCare => {
                    let info = Info { ty: Type::Any, place: true, known: true };
                    self.record(&argument.value, &info);
                    info
                }
                _ => self.expression(&argument.value),
            })
            .collect()
    }

    /// Checks the arguments of a call against the signature of the callee, and infers its type
    /// arguments. Returns `None` if the number or names of the arguments or type arguments do not
    /// fit, or if a type is too large. After any other error, which is reported, the result is
    /// still returned.
    pub(super) fn match_arguments(
        &mut self,
        signature: &Signature<'program>,
        type_arguments: &[ast::Type],
        arguments: &[Argument],
        infos: &[Info],
        span: Span,
    ) -> Option<Matched> {
        let bound = self.pair(&signature.parameters, arguments, span, &signature.name)?;
        let missing = bound.iter().zip(&signature.parameters).find(|(bound, formal)| {
            **bound == BoundArgument::Absent && formal.parameter.annotation("optional").is_none()
        });
        if let Some((_, formal)) = missing {
            let name = &formal.parameter.name;
            self.report(
                Diagnostic::error(
                    "arguments",
                    span,
                    format!("`{}` needs an argument for `{name}`", signature.name),
                )
                .secondary(name.span, "this parameter"),
            );
            return None;
        }
        let bindings = self.fresh_bindings(signature.type_parameters);
        if !type_arguments.is_empty() && type_arguments.len() != signature.type_parameters.len() {
            self.error(
                "type-arguments",
                span,
                format!(
                    "`{}` takes {} type arguments, not {}",
                    signature.name,
                    signature.type_parameters.len(),
                    type_arguments.len()
                ),
            );
            return None;
        }
        for (parameter, argument) in signature.type_parameters.iter().zip(type_arguments) {
            let ty = self.resolve_type(argument);
            if matches!(ty, Type::Parser(_) | Type::Control(_) | Type::Package(_)) {
                self.error(
                    "type-not-allowed",
                    argument.span,
                    format!("`{}` cannot be a type argument", self.out.show(&ty)),
                );
            }
            if let Some(variable) = bindings.get(parameter.id).cloned() {
                self.unify(&variable, &ty, false);
            }
        }
        let types: Vec<Type> =
            signature.parameters.iter().map(|formal| formal.ty.substitute(&bindings)).collect();
        let mut good = true;
        for ((bound, formal), ty) in bound.iter().zip(&signature.parameters).zip(&types) {
            let (BoundArgument::Given(position) | BoundArgument::DontCare(position)) = bound else {
                continue;
            };
            let (Some(argument), Some(info)) = (arguments.get(*position), infos.get(*position))
            else {
                continue;
            };
            let no_data = signature.style == Style::Function
                && matches!(info.ty, Type::Set(_) | Type::Parser(_) | Type::Control(_));
            if !info.ty.is_value() || no_data || info.ty == Type::Void {
                self.report(
                    Diagnostic::error(
                        "type-mismatch",
                        argument.value.span,
                        format!(
                            "`{}` is not a value: it cannot be an argument",
                            self.out.show(&info.ty)
                        ),
                    )
                    .secondary(formal.parameter.name.span, "the parameter"),
                );
                good = false;
                continue;
            }
            good &= self.check_direction(signature, formal, argument, info);
            let writes = matches!(formal.parameter.direction, Direction::Out | Direction::InOut);
            if !self.unify(ty, &info.ty, !writes) {
                let ty = self.settled(ty);
                self.argument_mismatch(&ty, info, argument, formal, &signature.name);
                good = false;
            }
        }
        // Convert the arguments after all of them have contributed to inference.
        for ((bound, formal), ty) in bound.iter().zip(&signature.parameters).zip(&types) {
            let BoundArgument::Given(position) = bound else { continue };
            let (Some(argument), true) = (arguments.get(*position), good) else { continue };
            let ty = self.resolved(ty);
            if matches!(formal.parameter.direction, Direction::Out | Direction::InOut) {
                self.must_be_the_same(&ty, argument, infos.get(*position));
            } else {
                self.convert(&argument.value, &ty);
            }
        }
        // If this call is itself an argument of a constructor (an anonymous instance), the
        // parameter of that constructor may contribute to inference too.
        let open = signature.style == Style::Constructor && self.constructing.depth > 0;
        let known = |ty: &Type| if open { self.still_open(ty) } else { self.settled(ty) };
        let matched = Matched {
            type_arguments: signature
                .type_parameters
                .iter()
                .map(|parameter| bindings.get(parameter.id).map_or(Type::Unknown, known))
                .collect(),
            parameter_types: types.iter().map(known).collect(),
            return_type: known(&signature.return_type.substitute(&bindings)),
            arguments: bound,
        };
        let huge =
            matched.return_type.is_huge() || matched.parameter_types.iter().any(Type::is_huge);
        if huge {
            self.error("type-not-allowed", span, "a type in this call has too many parts");
            return None;
        }
        let types = matched.type_arguments.iter().chain(&matched.parameter_types);
        let extents: Vec<_> =
            types.chain([&matched.return_type]).map(|ty| self.out.extent(ty)).collect();
        if !extents.iter().all(|extent| self.admits(extent, span)) {
            return None;
        }
        if good && type_arguments.is_empty() && !open {
            self.must_be_inferred(signature, &matched, span);
        }
        Some(matched)
    }

    /// Reports an argument whose type does not fit its parameter.
    fn argument_mismatch(
        &mut self,
        ty: &Type,
        info: &Info,
        argument: &Argument,
        formal: &Formal<'program>,
        name: &str,
    ) {
        let (wanted, got) = (self.out.show(ty), self.out.show(&info.ty));
        let mut diagnostic = Diagnostic::error(
            "type-mismatch",
            argument.value.span,
            format!("`{got}` does not fit the parameter `{}` of `{name}`", formal.parameter.name),
        )
        .label(format!("`{wanted}` was expected"))
        .secondary(formal.parameter.name.span, "the parameter");
        if let (Type::Parser(_), Type::Parser(_)) | (Type::Control(_), Type::Control(_)) =
            (ty, &info.ty)
            && let Some(reason) = self.block_mismatch(&ty.clone(), &info.ty.clone())
        {
            diagnostic = diagnostic.note(reason);
        }
        if matches!(formal.parameter.direction, Direction::Out | Direction::InOut)
            && matches!(
                (ty, &info.ty),
                (Type::Bits { .. }, Type::Bits { .. } | Type::SerializableEnum(_))
            )
        {
            diagnostic = diagnostic.note("what is written back must have exactly this type");
        }
        self.report(diagnostic);
    }

    /// Checks that an argument for an `out` or `inout` parameter has exactly the type of the
    /// parameter. Such an argument is not converted, since the call assigns to it.
    fn must_be_the_same(&mut self, ty: &Type, argument: &Argument, info: Option<&Info>) {
        let Some(info) = info else { return };
        let (wanted, got) = (self.settled(ty), self.settled(&info.ty));
        let loose = wanted.is_unknown()
            || got.is_unknown()
            || wanted.any(&mut |part| matches!(part, Type::Any | Type::Unknown))
            || got.any(&mut |part| matches!(part, Type::Any | Type::Unknown));
        if wanted != got && !loose {
            self.report(
                Diagnostic::error(
                    "type-mismatch",
                    argument.value.span,
                    format!("`{}` does not fit `{}`", self.out.show(&got), self.out.show(&wanted)),
                )
                .label(format!("`{}` was expected", self.out.show(&wanted)))
                .note("what is written back must have exactly this type"),
            );
        }
    }

    /// Checks that an argument can be written, or that it is a constant, if its parameter's
    /// direction requires this. Otherwise reports an error and returns false.
    fn check_direction(
        &mut self,
        signature: &Signature<'program>,
        formal: &Formal<'program>,
        argument: &Argument,
        info: &Info,
    ) -> bool {
        let span = argument.value.span;
        let name = &formal.parameter.name;
        let direction = formal.parameter.direction;
        if matches!(argument.value.kind, ExpressionKind::DontCare) {
            let of_package = matches!(signature.return_type, Type::Package(_));
            if direction == Direction::Out || of_package {
                return true;
            }
            self.error(
                "arguments",
                span,
                format!("`_` is only for `out` parameters and those of packages, and `{name}` is neither"),
            );
            return false;
        }
        if matches!(direction, Direction::Out | Direction::InOut) {
            self.writes(&argument.value);
        }
        match direction {
            Direction::Out | Direction::InOut if !info.place => {
                self.report(
                    Diagnostic::error(
                        "not-a-place",
                        span,
                        format!(
                            "parameter `{name}` is `{}`: its argument is written",
                            direction.as_str()
                        ),
                    )
                    .label("a variable, a field or an `out` parameter was expected")
                    .secondary(name.span, "the parameter"),
                );
                false
            }
            Direction::None if !info.known && signature.style != Style::Action => {
                let what = if signature.style == Style::Constructor {
                    "arguments of a constructor must be".to_owned()
                } else {
                    format!("parameter `{name}` has no direction: its argument must be")
                };
                self.report(
                    Diagnostic::error(
                        "not-constant",
                        span,
                        format!("{what} known at compile time"),
                    )
                    .label("a constant was expected")
                    .secondary(name.span, "the parameter"),
                );
                false
            }
            _ => true,
        }
    }

    /// Reports the type parameters of a callee for which no type was inferred in a call.
    pub(super) fn must_be_inferred(
        &mut self,
        signature: &Signature<'program>,
        matched: &Matched,
        span: Span,
    ) {
        for (parameter, ty) in signature.type_parameters.iter().zip(&matched.type_arguments) {
            if ty.any(&mut |part| *part == Type::Integer) {
                self.report(
                    Diagnostic::error(
                        "no-width",
                        span,
                        format!(
                            "the width of `{}` of `{}` cannot be inferred",
                            parameter.name, signature.name
                        ),
                    )
                    .note("write the widths of the numbers among the arguments: `8w1`"),
                );
                continue;
            }
            if !ty.any(&mut |part| *part == Type::Any) {
                continue;
            }
            // A type parameter need not be inferred if it occurs only in parameters that are
            // omitted. p4c also leaves it open if the blocks of a package are omitted with `_`.
            let left_out = |bound: &BoundArgument| match bound {
                BoundArgument::Absent | BoundArgument::Default => true,
                BoundArgument::DontCare(_) => signature.style == Style::Constructor,
                _ => false,
            };
            let names = |formal: &Formal<'_>| {
                formal.ty.any(&mut |part| *part == Type::Variable(parameter.id))
            };
            let mut formals = matched.arguments.iter().zip(&signature.parameters);
            let only_absent =
                formals.clone().all(|(bound, formal)| left_out(bound) || !names(formal));
            let in_optional = formals.any(|(bound, formal)| left_out(bound) && names(formal));
            let returned =
                signature.return_type.any(&mut |part| *part == Type::Variable(parameter.id))
                    && signature.style != Style::Constructor;
            if only_absent && in_optional && !returned {
                continue;
            }
            self.report(
                Diagnostic::error(
                    "type-arguments",
                    span,
                    format!(
                        "the type `{}` of `{}` cannot be inferred",
                        parameter.name, signature.name
                    ),
                )
                .note(format!("write it: `{}<...>(...)`", signature.name)),
            );
        }
    }
}
