//! Calls of constructors (P4_16 §8.21, §11.3).

use std::sync::Arc;

use super::arguments::{Matched, could_match};
use super::checker::{Checker, Info, Wanted};
use super::overload::Overloaded;
use super::signature::{Open, Signature, Style};
use super::{Bindings, Call, Callee, Named, Resolution, Type};
use crate::ast::{
    self, Argument, DeclarationId, DeclarationKind, Expression, ExpressionId, Parameter,
};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

impl<'program> Checker<'program, '_> {
    /// Checks a constructor call, which creates an anonymous instance of the type that `path`
    /// names.
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
            // If the name is a typedef, the type to which it refers has type arguments already.
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

    /// Reports an error for an anonymous instance of an extern with abstract methods. Only a named
    /// instance can implement them, in the initializer block of its declaration.
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
            self.error("misplaced", expression.span, "instances cannot be created in actions");
        }
        match self.construction(ty, span, expression.span, arguments, Some(expression.id)) {
            Some(call) => {
                let ty = call.return_type.clone();
                self.not_abstract(&ty, expression.span);
                self.out.calls.insert(expression.id, call);
                Info::known(ty)
            }
            None => Info::unknown(),
        }
    }

    /// Checks a constructor call and returns it. Its return type is the type of the instance. If
    /// the call is the anonymous instance `expression` that is an argument of another constructor,
    /// its type arguments may be inferred from that constructor's parameter. They are then known
    /// only after the outermost constructor call is checked.
    pub(super) fn construction(
        &mut self,
        ty: Type,
        type_span: Span,
        span: Span,
        arguments: &[Argument],
        expression: Option<ExpressionId>,
    ) -> Option<Call> {
        self.constructing.depth += 1;
        let infos = self.argument_infos(arguments);
        self.constructing.depth -= 1;
        let call = self.constructed(ty, type_span, span, arguments, &infos, expression);
        if self.constructing.depth == 0 {
            self.settle_open(call.is_some());
        }
        call
    }

    /// Completes the types of the anonymous instances in a constructor call, after all nested calls
    /// have contributed to type inference. Types that are still missing are reported only if `good`
    /// is true.
    fn settle_open(&mut self, good: bool) {
        for open in std::mem::take(&mut self.constructing.open) {
            let Some(mut call) = self.out.calls.remove(&open.expression) else { continue };
            for ty in call.type_arguments.iter_mut().chain(&mut call.parameter_types) {
                *ty = self.settled(ty);
            }
            call.return_type = self.settled(&call.return_type);
            if let Callee::Constructor { object, .. } = &mut call.callee {
                *object = call.return_type.clone();
            }
            if let Some(place) = self.out.expression_types.get_mut(open.expression.index()) {
                *place = call.return_type.clone();
            }
            if good {
                let matched = Matched {
                    type_arguments: call.type_arguments.clone(),
                    arguments: call.arguments.clone(),
                    parameter_types: call.parameter_types.clone(),
                    return_type: call.return_type.clone(),
                };
                if open.signature.type_parameters.is_empty() {
                    self.all_inferred(&matched.return_type, open.span);
                }
                self.must_be_inferred(&open.signature, &matched, open.span);
            }
            self.out.calls.insert(open.expression, call);
        }
    }

    /// Checks that every `_` among the type arguments of an instance was inferred. Otherwise
    /// reports an error and returns false. The type arguments of a package may remain unknown,
    /// because the parsers and controls that determine them may be omitted.
    fn all_inferred(&mut self, object: &Type, span: Span) -> bool {
        let open = |argument: &Type| argument.any(&mut |part| *part == Type::Any);
        if matches!(object, Type::Package(_))
            || !object.named().is_some_and(|named| named.arguments.iter().any(open))
        {
            return true;
        }
        self.error(
            "type-arguments",
            span,
            format!("the type `_` in `{}` cannot be inferred", self.out.show(object)),
        );
        false
    }

    /// Checks the arguments of a constructor, and returns its call. Returns `None` if the call has
    /// an error.
    fn constructed(
        &mut self,
        ty: Type,
        type_span: Span,
        span: Span,
        arguments: &[Argument],
        infos: &[Info],
        expression: Option<ExpressionId>,
    ) -> Option<Call> {
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
                    "`{}` has no constructor, so it cannot be instantiated",
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
                    "`{}` is a {}, which cannot be instantiated",
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
                    let overloaded = Overloaded {
                        name: declaration.name.as_str(),
                        span,
                        bindings: &self.out.bindings(&named),
                        arguments,
                    };
                    let constructor = self.constructor(object, overloaded, infos)?;
                    (Some(constructor.id), &constructor.parameters)
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
        let matched = self.match_arguments(&signature, &[], arguments, infos, span)?;
        let object = matched.return_type.clone();
        if self.constructing.depth > 0
            && let Some(expression) = expression
        {
            self.constructing.open.push(Open { expression, signature, span });
        }
        if given && !self.all_inferred(&object, type_span) {
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

    /// Returns the constructor of an extern that the arguments select.
    fn constructor(
        &mut self,
        object: &'program ast::ExternObject,
        overloaded: Overloaded<'_>,
        infos: &[Info],
    ) -> Option<&'program ast::Constructor> {
        if object.constructors.is_empty() {
            self.error(
                "not-callable",
                overloaded.span,
                format!("`{}` has no constructor, so it cannot be instantiated", overloaded.name),
            );
            return None;
        }
        let ids: Vec<DeclarationId> =
            object.constructors.iter().map(|constructor| constructor.id).collect();
        let chosen = self.choose_for(overloaded, &ids, infos)?;
        object.constructors.iter().find(|constructor| constructor.id == chosen)
    }
}
