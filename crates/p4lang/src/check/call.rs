//! Calls (P4_16 §8.20): resolution of the callee, and checks that depend on the kind of callee.

use std::sync::Arc;

use super::checker::{Checker, Info, Wanted};
use super::overload::Overloaded;
use super::signature::{Signature, Style};
use super::{Bindings, Call, Callee, Node, Type};
use crate::ast::{
    self, Argument, DeclarationId, DeclarationKind, Expression, ExpressionKind, Parameter,
};
use crate::diagnostic::Diagnostic;

impl<'program> Checker<'program, '_> {
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

    /// Checks a call whose callee is a name: of a function, an action or the constructor of a type.
    fn call_path(
        &mut self,
        expression: &Expression,
        callee: &Expression,
        path: &ast::Path,
        type_arguments: &[ast::Type],
        arguments: &[Argument],
    ) -> Info {
        let found = self.lookup(path, Wanted::Any);
        self.marks.used.extend(found.iter().copied());
        let Some(first) = found.first().copied() else {
            self.argument_infos(arguments);
            self.undeclared(&path.name, "a function, method or action");
            return Info::unknown();
        };
        if self.is_type(first) {
            return self.construct_named(expression, callee, path, type_arguments, arguments);
        }
        let no_bindings = Bindings::new();
        let overloaded = Overloaded {
            name: path.name.as_str(),
            span: path.span(),
            bindings: &no_bindings,
            arguments,
        };
        let Some((id, infos)) = self.choose(overloaded, &found) else { return Info::unknown() };
        let info = self.declared(callee, id);
        self.record(callee, &info);
        let Some(declaration) = self.out.index.get_declaration(id) else {
            return self.not_callable(callee);
        };
        match &declaration.kind {
            DeclarationKind::Function { prototype, .. }
            | DeclarationKind::ExternFunction(prototype) => {
                let is_extern = matches!(declaration.kind, DeclarationKind::ExternFunction(_));
                if self.context.function.as_ref().is_some_and(|(function, _)| *function == id) {
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
                self.finish_call(expression, &signature, type_arguments, arguments, &infos)
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
                self.finish_call(expression, &signature, type_arguments, arguments, &infos)
            }
            _ => self.not_callable(callee),
        }
    }

    pub(super) fn parameters_of(&self, id: DeclarationId) -> &'program [Parameter] {
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

    fn not_callable(&mut self, callee: &Expression) -> Info {
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

    /// Checks the arguments of a call and records the call. Returns the type and properties of the
    /// call expression.
    pub(super) fn finish_call(
        &mut self,
        expression: &Expression,
        signature: &Signature<'program>,
        type_arguments: &[ast::Type],
        arguments: &[Argument],
        infos: &[Info],
    ) -> Info {
        if self.context.in_key_set {
            self.error("misplaced", expression.span, "nothing can be called in a key set");
        }
        let Some(matched) =
            self.match_arguments(signature, type_arguments, arguments, infos, expression.span)
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
}
