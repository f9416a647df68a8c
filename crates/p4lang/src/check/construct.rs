//! Constructors (§8.21, §11.3).

use std::sync::Arc;

use super::arguments::{Signature, Style, could_match};
use super::checker::{Checker, Info, Wanted};
use super::{Bindings, Call, Callee, Named, Resolution, Type};
use crate::ast::{self, Argument, DeclarationId, DeclarationKind, Expression, Name, Parameter};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

impl<'program> Checker<'program, '_> {
    pub(super) fn construct_named(
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

    pub(super) fn construct(
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
        let open = |argument: &Type| argument.any(&mut |part| *part == Type::Any);
        // The blocks of a package may be left out, and what they would tell with them.
        let may_be_open = matches!(ty, Type::Package(_));
        if given
            && !may_be_open
            && object.named().is_some_and(|named| named.arguments.iter().any(open))
        {
            self.error(
                "type-arguments",
                type_span,
                format!("nothing tells what `_` stands for in `{}`", self.out.show(&object)),
            );
            return None;
        }
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
    pub(super) fn constructor(
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
