//! Calls (§8.20): which declaration is called, how arguments meet parameters, what type parameters stand for.

use std::collections::HashSet;
use std::sync::Arc;

use super::checker::{Checker, Info, Wanted};
use super::{Bindings, BoundArgument, Builtin, Call, Callee, Named, Node, Resolution, Type};
use crate::ast::{
    self, Argument, DeclarationId, DeclarationKind, Direction, Expression, ExpressionKind, Name,
    Parameter, TypeParameter,
};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// What can be called.
pub(super) struct Signature<'program> {
    pub(super) callee: Callee,
    pub(super) name: String,
    pub(super) type_parameters: &'program [TypeParameter],
    pub(super) parameters: Vec<Formal<'program>>,
    pub(super) return_type: Type,
    pub(super) style: Style,
}

/// A parameter with its type in this use.
#[derive(Clone)]
pub(super) struct Formal<'program> {
    pub(super) parameter: &'program Parameter,
    pub(super) ty: Type,
}

/// Rules for arguments differ.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Functions, methods, `apply`: no direction means known at compile time.
    Function,
    /// Actions: no direction means `in`.
    Action,
    /// Constructors: everything is known at compile time.
    Constructor,
}

/// The result of [`Checker::match_arguments`].
pub(super) struct Matched {
    pub(super) type_arguments: Vec<Type>,
    pub(super) arguments: Vec<BoundArgument>,
    pub(super) parameter_types: Vec<Type>,
    pub(super) return_type: Type,
}

/// Whether a parameter may be left out.
pub(super) fn may_lack(parameter: &Parameter) -> bool {
    parameter.default.is_some() || parameter.annotation("optional").is_some()
}

/// Whether a call with these arguments could mean these parameters: by number and names (§6.8.2).
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
        .all(|parameter| given.contains(parameter.name.as_str()) || may_lack(parameter))
}

impl<'program> Checker<'program, '_> {
    pub(super) fn formals(
        &self,
        parameters: &'program [Parameter],
        bindings: &Bindings,
    ) -> Vec<Formal<'program>> {
        parameters
            .iter()
            .map(|parameter| Formal {
                parameter,
                ty: self.out.declared_type(parameter.id).substitute(bindings),
            })
            .collect()
    }

    /// Pairs arguments with parameters; says what is missing or too much.
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

    /// Looks at the arguments themselves, before it is known what they are for.
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

    /// Checks the arguments against a signature and infers what type parameters stand for.
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
            let set_of_values =
                matches!(info.ty, Type::Set(_)) && signature.style == Style::Function;
            if !info.ty.is_value() || set_of_values {
                self.report(
                    Diagnostic::error(
                        "type-mismatch",
                        argument.value.span,
                        format!(
                            "`{}` is no value: it cannot be an argument",
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
        // Conversions come when all arguments had their say on the type parameters.
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
        let matched = Matched {
            type_arguments: signature
                .type_parameters
                .iter()
                .map(|parameter| {
                    bindings.get(parameter.id).map_or(Type::Unknown, |ty| self.settled(ty))
                })
                .collect(),
            parameter_types: types.iter().map(|ty| self.settled(ty)).collect(),
            return_type: self.settled(&signature.return_type.substitute(&bindings)),
            arguments: bound,
        };
        if good && type_arguments.is_empty() {
            self.must_be_inferred(signature, &matched, span);
        }
        Some(matched)
    }

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

    /// An argument that is written back is not converted.
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
            if direction == Direction::Out || signature.style == Style::Constructor {
                return true;
            }
            self.error(
                "arguments",
                span,
                format!("`_` is only for `out` parameters; `{name}` is none"),
            );
            return false;
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
                    "arguments of a constructor are".to_owned()
                } else {
                    format!("parameter `{name}` has no direction: its argument is")
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

    /// Says which type parameter nothing tells about.
    fn must_be_inferred(&mut self, signature: &Signature<'program>, matched: &Matched, span: Span) {
        for (parameter, ty) in signature.type_parameters.iter().zip(&matched.type_arguments) {
            if ty.any(&mut |part| *part == Type::Integer) {
                self.report(
                    Diagnostic::error(
                        "no-width",
                        span,
                        format!(
                            "nothing tells how wide `{}` of `{}` is",
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
            // Nothing to tell it by if it stands only in parameters that were left out.
            let only_absent =
                matched.arguments.iter().zip(&signature.parameters).all(|(bound, formal)| {
                    matches!(
                        bound,
                        BoundArgument::Absent | BoundArgument::DontCare(_) | BoundArgument::Default
                    ) || !formal.ty.any(&mut |part| *part == Type::Variable(parameter.id))
                });
            let in_optional =
                matched.arguments.iter().zip(&signature.parameters).any(|(bound, formal)| {
                    matches!(
                        bound,
                        BoundArgument::Absent | BoundArgument::DontCare(_) | BoundArgument::Default
                    ) && formal.ty.any(&mut |part| *part == Type::Variable(parameter.id))
                });
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
                        "nothing tells what type `{}` of `{}` is",
                        parameter.name, signature.name
                    ),
                )
                .note(format!("write it: `{}<...>(...)`", signature.name)),
            );
        }
    }

    pub(super) fn call(
        &mut self,
        expression: &Expression,
        callee: &Expression,
        type_arguments: &[ast::Type],
        arguments: &[Argument],
    ) -> Info {
        match &callee.kind {
            ExpressionKind::Path(path) => {
                self.call_path(expression, callee, path, type_arguments, arguments)
            }
            ExpressionKind::Type(ty) => {
                let resolved = self.resolve_type_or_generic(ty);
                self.set_type(callee, Type::Name(Arc::new(resolved.clone())));
                self.construct(expression, resolved, ty.span, arguments)
            }
            ExpressionKind::Member { base, member } => {
                self.call_member(expression, callee, base, member, type_arguments, arguments)
            }
            _ => {
                self.expression(callee);
                self.argument_infos(arguments);
                self.error("not-callable", callee.span, "this cannot be called");
                Info::unknown()
            }
        }
    }

    fn call_path(
        &mut self,
        expression: &Expression,
        callee: &Expression,
        path: &ast::Path,
        type_arguments: &[ast::Type],
        arguments: &[Argument],
    ) -> Info {
        let found = self.lookup(path, Wanted::Any);
        self.used.extend(found.iter().copied());
        let Some(first) = found.first().copied() else {
            self.argument_infos(arguments);
            self.undeclared(&path.name, "a function, method or action");
            return Info::unknown();
        };
        if self.is_type(first) {
            return self.construct_named(expression, callee, path, type_arguments, arguments);
        }
        let fitting: Vec<DeclarationId> = found
            .iter()
            .copied()
            .filter(|id| found.len() == 1 || could_match(self.parameters_of(*id), arguments))
            .collect();
        let id = match fitting.as_slice() {
            [id] => *id,
            [] => {
                self.argument_infos(arguments);
                self.no_overload(&found, path.span(), path.name.as_str());
                return Info::unknown();
            }
            [first, second, ..] => {
                self.argument_infos(arguments);
                let (first, second) = (self.span_of(*first), self.span_of(*second));
                self.report(
                    Diagnostic::error(
                        "ambiguous",
                        path.span(),
                        format!("more than one `{path}` fits this call"),
                    )
                    .secondary(first, "this one")
                    .secondary(second, "and this one"),
                );
                return Info::unknown();
            }
        };
        let info = self.declared(callee, id);
        self.record(callee, &info);
        let Some(declaration) = self.out.index.get_declaration(id) else {
            return self.not_callable(callee, arguments);
        };
        let no_bindings = Bindings::new();
        match &declaration.kind {
            DeclarationKind::Function { prototype, .. }
            | DeclarationKind::ExternFunction(prototype) => {
                let is_extern = matches!(declaration.kind, DeclarationKind::ExternFunction(_));
                if self.context.function.as_ref().is_some_and(|(function, _)| *function == id) {
                    self.argument_infos(arguments);
                    self.error("recursion", callee.span, format!("`{path}` calls itself"));
                    return Info::unknown();
                }
                let signature = Signature {
                    callee: if is_extern {
                        Callee::ExternFunction(id)
                    } else {
                        Callee::Function(id)
                    },
                    name: path.to_string(),
                    type_parameters: &prototype.type_parameters,
                    parameters: self.formals(&prototype.parameters, &no_bindings),
                    return_type: self.out.type_at(prototype.return_type.id).clone(),
                    style: Style::Function,
                };
                self.finish_call(expression, &signature, type_arguments, arguments)
            }
            DeclarationKind::Action { parameters, .. } => {
                let signature = Signature {
                    callee: Callee::Action(id),
                    name: path.to_string(),
                    type_parameters: &[],
                    parameters: self.formals(parameters, &no_bindings),
                    return_type: Type::Void,
                    style: Style::Action,
                };
                if self.context.action == Some(id) {
                    self.error("recursion", callee.span, format!("`{path}` calls itself"));
                } else if self.context.parser.is_some() {
                    self.error("misplaced", callee.span, "actions cannot be called in parsers");
                } else if self.context.function.is_some() {
                    self.error("misplaced", callee.span, "actions cannot be called in functions");
                }
                self.finish_call(expression, &signature, type_arguments, arguments)
            }
            _ => self.not_callable(callee, arguments),
        }
    }

    fn parameters_of(&self, id: DeclarationId) -> &'program [Parameter] {
        match self.out.index.get(id) {
            Some(Node::Method(method)) => &method.prototype.parameters,
            Some(Node::Constructor(constructor)) => &constructor.parameters,
            Some(Node::Declaration(declaration)) => match &declaration.kind {
                DeclarationKind::Function { prototype, .. }
                | DeclarationKind::ExternFunction(prototype) => &prototype.parameters,
                DeclarationKind::Action { parameters, .. } => parameters,
                DeclarationKind::Package(package) => &package.parameters,
                DeclarationKind::Parser(parser) => &parser.constructor_parameters,
                DeclarationKind::Control(control) => &control.constructor_parameters,
                _ => &[],
            },
            _ => &[],
        }
    }

    fn not_callable(&mut self, callee: &Expression, arguments: &[Argument]) -> Info {
        self.argument_infos(arguments);
        let ty = self.out.type_of(callee.id).clone();
        if !ty.is_unknown() {
            let mut diagnostic = Diagnostic::error(
                "not-callable",
                callee.span,
                format!("a `{}` cannot be called", self.out.show(&ty)),
            );
            if matches!(ty, Type::Table(_) | Type::Parser(_) | Type::Control(_)) {
                diagnostic = diagnostic.note("it is run with `.apply(...)`");
            }
            self.report(diagnostic);
        }
        Info::unknown()
    }

    fn no_overload(&mut self, found: &[DeclarationId], span: Span, name: &str) {
        let mut diagnostic =
            Diagnostic::error("arguments", span, format!("no `{name}` takes these arguments"))
                .label("by their number and names");
        for id in found.iter().take(4) {
            let names: Vec<&str> =
                self.parameters_of(*id).iter().map(|parameter| parameter.name.as_str()).collect();
            diagnostic =
                diagnostic.secondary(self.span_of(*id), format!("takes ({})", names.join(", ")));
        }
        self.report(diagnostic);
    }

    /// Checks the arguments, records the call, and says what the call gives.
    pub(super) fn finish_call(
        &mut self,
        expression: &Expression,
        signature: &Signature<'program>,
        type_arguments: &[ast::Type],
        arguments: &[Argument],
    ) -> Info {
        let infos = self.argument_infos(arguments);
        if self.context.in_key_set {
            self.error("misplaced", expression.span, "nothing can be called in a key set");
        }
        let Some(matched) =
            self.match_arguments(signature, type_arguments, arguments, &infos, expression.span)
        else {
            return Info::unknown();
        };
        let ty = matched.return_type.clone();
        let all_known = infos.iter().all(|info| info.known);
        let pure = match &signature.callee {
            Callee::ExternFunction(id) => {
                &*self.out.name(*id) == "static_assert"
                    || matches!(ty, Type::Extern(_))
                    || self.out.index.get(*id).is_some_and(|node| {
                        node.annotations()
                            .iter()
                            .any(|annotation| annotation.name.as_str() == "pure")
                    })
            }
            _ => false,
        };
        self.out.calls.insert(
            expression.id,
            Call {
                callee: signature.callee.clone(),
                type_arguments: matched.type_arguments,
                arguments: matched.arguments,
                parameter_types: matched.parameter_types,
                return_type: ty.clone(),
            },
        );
        self.after_call(expression, arguments);
        Info { ty, place: false, known: pure && all_known }
    }

    fn call_member(
        &mut self,
        expression: &Expression,
        callee: &Expression,
        base: &Expression,
        member: &Name,
        type_arguments: &[ast::Type],
        arguments: &[Argument],
    ) -> Info {
        let info = self.expression(base);
        let object = match &info.ty {
            Type::Unknown => {
                self.argument_infos(arguments);
                return Info::unknown();
            }
            Type::Name(inner) => (**inner).clone(),
            other => other.clone(),
        };
        self.set_type(callee, Type::Callable);
        if let Type::Extern(named) = &object
            && !matches!(info.ty, Type::Name(_))
        {
            return self.call_method(
                expression,
                callee,
                &named.clone(),
                member,
                type_arguments,
                arguments,
            );
        }
        if let Some(builtin) = size_method(member.as_str()) {
            return self.size_call(expression, callee, builtin, &object, arguments);
        }
        match (&object, member.as_str()) {
            (Type::Header(_) | Type::HeaderUnion(_), "isValid") => self.builtin_call(
                expression,
                callee,
                Builtin::IsValid,
                &object,
                Type::Bool,
                arguments,
            ),
            (Type::Header(_), "setValid" | "setInvalid") => {
                if !info.place {
                    self.error(
                        "not-a-place",
                        base.span,
                        format!("`{member}` writes what it is called on"),
                    );
                }
                let builtin = if member.as_str() == "setValid" {
                    Builtin::SetValid
                } else {
                    Builtin::SetInvalid
                };
                self.builtin_call(expression, callee, builtin, &object, Type::Void, arguments)
            }
            (Type::Stack { element, .. }, "push_front" | "pop_front") => {
                if !matches!(**element, Type::Header(_) | Type::HeaderUnion(_) | Type::Variable(_))
                {
                    return self.no_member(&object, member);
                }
                if !info.place {
                    self.error(
                        "not-a-place",
                        base.span,
                        format!("`{member}` writes what it is called on"),
                    );
                }
                if self.context.parser.is_some() {
                    self.error(
                        "misplaced",
                        callee.span,
                        format!("`{member}` cannot be used in parsers"),
                    );
                }
                self.push_or_pop(expression, callee, &object, member, arguments)
            }
            (Type::Parser(_) | Type::Control(_), "apply") if !matches!(info.ty, Type::Name(_)) => {
                self.apply_call(expression, callee, &object, arguments)
            }
            (Type::Table(table), "apply") => {
                let table = *table;
                self.may_apply(callee.span);
                self.builtin_call(
                    expression,
                    callee,
                    Builtin::ApplyTable,
                    &object,
                    Type::ApplyResult(table),
                    arguments,
                )
            }
            _ => {
                self.argument_infos(arguments);
                let field =
                    self.out.fields(&object).iter().any(|field| field.field.name == *member);
                if field {
                    self.error(
                        "not-callable",
                        callee.span,
                        format!("`{member}` is a field, not a method"),
                    );
                    Info::unknown()
                } else {
                    self.no_member(&object, member)
                }
            }
        }
    }

    fn may_apply(&mut self, span: Span) {
        if self.context.action.is_some() {
            self.error("misplaced", span, "`apply` cannot be called in actions");
        } else if self.context.function.is_some() {
            self.error("misplaced", span, "`apply` cannot be called in functions");
        }
    }

    fn apply_call(
        &mut self,
        expression: &Expression,
        callee: &Expression,
        object: &Type,
        arguments: &[Argument],
    ) -> Info {
        self.out.resolutions.insert(callee.id, Resolution::Builtin(Builtin::Apply));
        let signature = self.apply_signature(object, callee.span);
        self.finish_call(expression, &signature, &[], arguments)
    }

    /// The signature of `apply` of a parser or control; says if it cannot be called here.
    pub(super) fn apply_signature(&mut self, object: &Type, span: Span) -> Signature<'program> {
        self.may_apply(span);
        match object {
            Type::Control(_) if self.context.parser.is_some() => {
                self.error("misplaced", span, "a control cannot be applied in a parser");
            }
            Type::Parser(_) if self.context.control.is_some() => {
                self.error("misplaced", span, "a parser cannot be applied in a control");
            }
            _ => {}
        }
        Signature {
            callee: Callee::Builtin { builtin: Builtin::Apply, object: object.clone() },
            name: "apply".to_owned(),
            type_parameters: &[],
            parameters: self
                .apply_parameters(object)
                .into_iter()
                .map(|(parameter, ty)| Formal { parameter, ty })
                .collect(),
            return_type: Type::Void,
            style: Style::Function,
        }
    }

    fn call_method(
        &mut self,
        expression: &Expression,
        callee: &Expression,
        named: &Named,
        member: &Name,
        type_arguments: &[ast::Type],
        arguments: &[Argument],
    ) -> Info {
        let object = match self
            .out
            .index
            .get_declaration(named.declaration)
            .map(|declaration| &declaration.kind)
        {
            Some(DeclarationKind::ExternObject(object)) => object,
            _ => return Info::unknown(),
        };
        let candidates: Vec<&'program ast::Method> =
            object.methods.iter().filter(|method| method.name == *member).collect();
        let ty = Type::Extern(named.clone());
        if candidates.is_empty() {
            self.argument_infos(arguments);
            return self.no_member(&ty, member);
        }
        let fitting: Vec<&&ast::Method> = candidates
            .iter()
            .filter(|method| {
                candidates.len() == 1 || could_match(&method.prototype.parameters, arguments)
            })
            .collect();
        let method = match fitting.as_slice() {
            [method] => **method,
            [] => {
                self.argument_infos(arguments);
                let ids: Vec<DeclarationId> = candidates.iter().map(|method| method.id).collect();
                self.no_overload(&ids, member.span, member.as_str());
                return Info::unknown();
            }
            [first, second, ..] => {
                let (first, second) = (first.name.span, second.name.span);
                self.argument_infos(arguments);
                self.report(
                    Diagnostic::error(
                        "ambiguous",
                        member.span,
                        format!("more than one `{member}` fits this call"),
                    )
                    .secondary(first, "this one")
                    .secondary(second, "and this one"),
                );
                return Info::unknown();
            }
        };
        self.used.insert(method.id);
        self.out.resolutions.insert(callee.id, Resolution::Method(method.id));
        let bindings = self.out.bindings(named);
        let signature = Signature {
            callee: Callee::Method { method: method.id, object: ty },
            name: member.to_string(),
            type_parameters: &method.prototype.type_parameters,
            parameters: self.formals(&method.prototype.parameters, &bindings),
            return_type: self.out.type_at(method.prototype.return_type.id).substitute(&bindings),
            style: Style::Function,
        };
        self.finish_call(expression, &signature, type_arguments, arguments)
    }

    fn builtin_call(
        &mut self,
        expression: &Expression,
        callee: &Expression,
        builtin: Builtin,
        object: &Type,
        ty: Type,
        arguments: &[Argument],
    ) -> Info {
        self.argument_infos(arguments);
        self.out.resolutions.insert(callee.id, Resolution::Builtin(builtin));
        if !arguments.is_empty() {
            self.error("arguments", expression.span, "this method takes no arguments");
        }
        if self.context.in_key_set && builtin != Builtin::IsValid {
            self.error("misplaced", expression.span, "nothing can be called in a key set");
        }
        self.record_builtin(expression, builtin, object, &ty, Vec::new());
        Info::value(ty)
    }

    fn record_builtin(
        &mut self,
        expression: &Expression,
        builtin: Builtin,
        object: &Type,
        ty: &Type,
        arguments: Vec<BoundArgument>,
    ) {
        let parameter_types = vec![Type::Integer; arguments.len()];
        self.out.calls.insert(
            expression.id,
            Call {
                callee: Callee::Builtin { builtin, object: object.clone() },
                type_arguments: Vec::new(),
                arguments,
                parameter_types,
                return_type: ty.clone(),
            },
        );
    }

    fn size_call(
        &mut self,
        expression: &Expression,
        callee: &Expression,
        builtin: Builtin,
        object: &Type,
        arguments: &[Argument],
    ) -> Info {
        self.builtin_call(expression, callee, builtin, object, Type::Integer, arguments);
        if self.out.size_in_bits(object, true).is_none() && !self.has_variables(object) {
            self.error("no-size", callee.span, format!("`{}` has no size", self.out.show(object)));
            return Info::unknown();
        }
        Info::known(Type::Integer)
    }

    fn push_or_pop(
        &mut self,
        expression: &Expression,
        callee: &Expression,
        object: &Type,
        member: &Name,
        arguments: &[Argument],
    ) -> Info {
        let builtin =
            if member.as_str() == "push_front" { Builtin::PushFront } else { Builtin::PopFront };
        self.out.resolutions.insert(callee.id, Resolution::Builtin(builtin));
        let infos = self.argument_infos(arguments);
        match (arguments, infos.as_slice()) {
            ([argument], [info]) => {
                if !info.ty.is_unknown() && (!info.ty.is_numeric() || !info.known) {
                    self.error(
                        "not-constant",
                        argument.value.span,
                        format!("`{member}` takes a number that is known at compile time"),
                    );
                } else if let Some(value) = self
                    .out
                    .evaluate_own(&argument.value)
                    .as_ref()
                    .and_then(super::Constant::to_integer)
                    && u32::try_from(&value).is_err()
                {
                    self.error(
                        "out-of-range",
                        argument.value.span,
                        format!("`{member}` cannot move by {value} elements"),
                    );
                }
            }
            _ => self.error("arguments", expression.span, format!("`{member}` takes one argument")),
        }
        self.record_builtin(
            expression,
            builtin,
            object,
            &Type::Void,
            vec![BoundArgument::Given(0)],
        );
        Info::value(Type::Void)
    }

    // Constructors.

    fn construct_named(
        &mut self,
        expression: &Expression,
        callee: &Expression,
        path: &ast::Path,
        type_arguments: &[ast::Type],
        arguments: &[Argument],
    ) -> Info {
        let ids: Vec<DeclarationId> = self
            .lookup(path, Wanted::Type)
            .into_iter()
            .filter(|id| {
                let named_type = matches!(
                    self.out.declared_type(*id),
                    Type::Extern(_) | Type::Parser(_) | Type::Control(_) | Type::Package(_)
                );
                named_type || self.out.declared_type(*id).is_unknown()
            })
            .collect();
        let id = ids
            .iter()
            .copied()
            .find(|id| ids.len() == 1 || could_match(self.parameters_of(*id), arguments))
            .or_else(|| self.lookup(path, Wanted::Type).first().copied());
        let Some(id) = id else { return Info::unknown() };
        if self.context.parser == Some(id) || self.context.control == Some(id) {
            self.argument_infos(arguments);
            self.error(
                "recursion",
                path.span(),
                format!("`{path}` cannot contain an instance of itself"),
            );
            return Info::unknown();
        }
        self.out.resolutions.insert(callee.id, Resolution::Type);
        let written: Arc<[Type]> =
            type_arguments.iter().map(|argument| self.resolve_type(argument)).collect();
        let own = self.out.declared_type(id).clone();
        let named = |base: &Named| Named {
            declaration: base.declaration,
            // A typedef has its arguments already.
            arguments: if written.is_empty() && base.declaration != id {
                base.arguments.clone()
            } else {
                written.clone()
            },
        };
        let ty = match &own {
            Type::Extern(base) => Type::Extern(named(base)),
            Type::Parser(base) => Type::Parser(named(base)),
            Type::Control(base) => Type::Control(named(base)),
            Type::Package(base) => Type::Package(named(base)),
            other => other.clone(),
        };
        self.set_type(callee, Type::Name(Arc::new(ty.clone())));
        self.construct(expression, ty, path.span(), arguments)
    }

    /// Abstract methods are implemented in the block of a declaration; a nameless instance has none.
    fn not_abstract(&mut self, ty: &Type, span: Span) {
        let methods = ty
            .named()
            .and_then(|named| self.out.index.get_declaration(named.declaration))
            .and_then(|declaration| match &declaration.kind {
                DeclarationKind::ExternObject(object) => {
                    object.methods.iter().find(|method| method.is_abstract)
                }
                _ => None,
            });
        if let Some(method) = methods {
            self.report(
                Diagnostic::error(
                    "abstract-method",
                    span,
                    format!(
                        "`{}` has abstract methods: an instance needs a name and a block",
                        self.out.show(ty)
                    ),
                )
                .secondary(method.name.span, "abstract here"),
            );
        }
    }

    fn construct(
        &mut self,
        expression: &Expression,
        ty: Type,
        span: Span,
        arguments: &[Argument],
    ) -> Info {
        if self.context.action.is_some() {
            self.error("misplaced", expression.span, "instances cannot be made in actions");
        }
        match self.construction(ty, span, expression.span, arguments) {
            Some(call) => {
                let ty = call.return_type.clone();
                self.not_abstract(&ty, expression.span);
                self.out.calls.insert(expression.id, call);
                Info::known(ty)
            }
            None => Info::unknown(),
        }
    }

    /// Checks a constructor's arguments; the call's return type is the type of the instance.
    pub(super) fn construction(
        &mut self,
        ty: Type,
        type_span: Span,
        span: Span,
        arguments: &[Argument],
    ) -> Option<Call> {
        let infos = self.argument_infos(arguments);
        if ty.is_unknown() {
            return None;
        }
        let is_type_only = |kind: &DeclarationKind| {
            matches!(kind, DeclarationKind::ParserType(_) | DeclarationKind::ControlType(_))
        };
        let declaration =
            ty.named().and_then(|named| self.out.index.get_declaration(named.declaration));
        let (Some(named), Some(declaration)) = (ty.named().cloned(), declaration) else {
            self.error(
                "not-callable",
                type_span,
                format!(
                    "`{}` has no constructor: no instance can be made of it",
                    self.out.show(&ty)
                ),
            );
            return None;
        };
        if is_type_only(&declaration.kind)
            || !matches!(
                ty,
                Type::Extern(_) | Type::Parser(_) | Type::Control(_) | Type::Package(_)
            )
        {
            self.error(
                "not-callable",
                type_span,
                format!(
                    "no instance can be made of `{}`, a {}",
                    declaration.name,
                    declaration.kind.noun()
                ),
            );
            return None;
        }
        let type_parameters = self.out.type_parameters(named.declaration);
        let (constructor, parameters): (Option<DeclarationId>, &'program [Parameter]) =
            match &declaration.kind {
                DeclarationKind::ExternObject(object) => {
                    match self.constructor(object, &declaration.name, arguments, span) {
                        Some(Some(constructor)) => (Some(constructor.id), &constructor.parameters),
                        Some(None) => (None, &[]),
                        None => return None,
                    }
                }
                _ => (None, self.parameters_of(named.declaration)),
            };
        let given = !named.arguments.is_empty();
        if given && named.arguments.len() != type_parameters.len() {
            self.error(
                "type-arguments",
                type_span,
                format!(
                    "`{}` takes {} type arguments, not {}",
                    declaration.name,
                    type_parameters.len(),
                    named.arguments.len()
                ),
            );
            return None;
        }
        let bindings = if given { self.out.bindings(&named) } else { Bindings::new() };
        let with = |arguments: Arc<[Type]>| {
            let named = Named { declaration: named.declaration, arguments };
            match ty {
                Type::Extern(_) => Type::Extern(named),
                Type::Parser(_) => Type::Parser(named),
                Type::Control(_) => Type::Control(named),
                _ => Type::Package(named),
            }
        };
        let generic =
            with(type_parameters.iter().map(|parameter| Type::Variable(parameter.id)).collect());
        let signature = Signature {
            callee: Callee::Constructor { object: generic.clone(), constructor },
            name: declaration.name.to_string(),
            type_parameters: if given { &[] } else { type_parameters },
            parameters: self.formals(parameters, &bindings),
            return_type: generic.substitute(&bindings),
            style: Style::Constructor,
        };
        let matched = self.match_arguments(&signature, &[], arguments, &infos, span)?;
        let object = matched.return_type.clone();
        Some(Call {
            callee: Callee::Constructor { object: object.clone(), constructor },
            type_arguments: object
                .named()
                .map(|named| named.arguments.to_vec())
                .unwrap_or_default(),
            arguments: matched.arguments,
            parameter_types: matched.parameter_types,
            return_type: object,
        })
    }

    /// The constructor of an extern that these arguments are for. `Some(None)`: an extern without constructor that
    /// is given no arguments.
    #[expect(clippy::option_option, reason = "the outer one is: an error was said")]
    fn constructor(
        &mut self,
        object: &'program ast::ExternObject,
        name: &Name,
        arguments: &[Argument],
        span: Span,
    ) -> Option<Option<&'program ast::Constructor>> {
        let fitting: Vec<&'program ast::Constructor> = object
            .constructors
            .iter()
            .filter(|constructor| could_match(&constructor.parameters, arguments))
            .collect();
        match fitting.as_slice() {
            [constructor] => Some(Some(constructor)),
            [] if object.constructors.len() == 1 => Some(object.constructors.first()),
            [] if object.constructors.is_empty() => {
                self.error(
                    "not-callable",
                    span,
                    format!("`{name}` has no constructor: no instance can be made of it"),
                );
                None
            }
            [] => {
                let ids: Vec<DeclarationId> =
                    object.constructors.iter().map(|constructor| constructor.id).collect();
                self.no_overload(&ids, span, name.as_str());
                None
            }
            [first, second, ..] => {
                let (first, second) = (first.span, second.span);
                self.report(
                    Diagnostic::error(
                        "ambiguous",
                        span,
                        format!("more than one constructor of `{name}` fits"),
                    )
                    .secondary(first, "this one")
                    .secondary(second, "and this one"),
                );
                None
            }
        }
    }
}

fn size_method(name: &str) -> Option<Builtin> {
    Some(match name {
        "minSizeInBits" => Builtin::MinSizeInBits,
        "minSizeInBytes" => Builtin::MinSizeInBytes,
        "maxSizeInBits" => Builtin::MaxSizeInBits,
        "maxSizeInBytes" => Builtin::MaxSizeInBytes,
        _ => return None,
    })
}
