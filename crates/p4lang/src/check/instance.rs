//! Checks of instantiations (P4_16 §11.3) and of the functions in their initializer blocks, which
//! implement abstract methods of externs.

use super::checker::{Checker, Context};
use super::{Callee, Instance, Resolution, Type};
use crate::ast::{
    self, Annotation, Declaration, DeclarationId, DeclarationKind, ExpressionKind, Instantiation,
    Method, walk,
};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

impl<'program> Checker<'program, '_> {
    /// Checks an instantiation and records the instance in the output of the checker.
    pub(super) fn instantiation(
        &mut self,
        declaration: &'program Declaration,
        instantiation: &'program Instantiation,
    ) {
        let hides = std::mem::take(&mut self.hides_parameters);
        let ty = self.resolve_constructed(instantiation);
        let call = self.construction(
            ty,
            instantiation.ty.span,
            declaration.span,
            &instantiation.arguments,
            None,
        );
        let Some(call) = call else {
            self.set_declared_type(declaration.id, Type::Unknown);
            self.hides_parameters = hides;
            self.declare(declaration.id, &declaration.name);
            return;
        };
        let ty = call.return_type.clone();
        if let Some(named) = ty.named() {
            self.warn_if_deprecated(named.declaration, instantiation.ty.span);
        }
        let at_top = self.context.control.is_none() && self.context.parser.is_none();
        match ty {
            Type::Parser(_) | Type::Control(_) if at_top => self.error(
                "misplaced",
                declaration.span,
                "parsers and controls cannot be instantiated at the top level",
            ),
            Type::Parser(_) if self.context.control.is_some() => {
                self.error(
                    "misplaced",
                    declaration.span,
                    "a control cannot contain an instance of a parser",
                );
            }
            Type::Control(_) if self.context.parser.is_some() => {
                self.error(
                    "misplaced",
                    declaration.span,
                    "a parser cannot contain an instance of a control",
                );
            }
            Type::Package(_) if !at_top => {
                self.error(
                    "misplaced",
                    declaration.span,
                    "packages can only be instantiated at the top level",
                );
            }
            _ => {}
        }
        self.set_type_at(&instantiation.ty, ty.clone());
        self.set_declared_type(declaration.id, ty.clone());
        self.hides_parameters = hides;
        self.declare(declaration.id, &declaration.name);
        let constructor = match call.callee {
            Callee::Constructor { constructor, .. } => constructor,
            _ => None,
        };
        let implementations = self.implementations(declaration, instantiation, &ty);
        if at_top && declaration.name.as_str() == "main" && matches!(ty, Type::Package(_)) {
            self.out.main = Some(declaration.id);
        }
        self.out.instances.insert(
            declaration.id,
            Instance {
                ty,
                constructor,
                arguments: call.arguments,
                parameter_types: call.parameter_types,
                implementations,
            },
        );
    }

    /// Returns the type of which an instantiation creates an instance. If several declarations have
    /// the type's name, selects the one whose constructor accepts the arguments.
    fn resolve_constructed(&mut self, instantiation: &'program Instantiation) -> Type {
        let ty = self.resolve_type_or_generic(&instantiation.ty);
        let crate::ast::TypeKind::Named(path) = &instantiation.ty.kind else { return ty };
        let candidates = self.lookup(path, super::checker::Wanted::Type);
        if candidates.len() < 2 {
            return ty;
        }
        let fitting = candidates.into_iter().find(|id| {
            let parameters = match self.out.index.get_declaration(*id).map(|found| &found.kind) {
                Some(DeclarationKind::Package(package)) => package.parameters.as_slice(),
                Some(DeclarationKind::Parser(parser)) => parser.constructor_parameters.as_slice(),
                Some(DeclarationKind::Control(control)) => {
                    control.constructor_parameters.as_slice()
                }
                _ => return false,
            };
            super::arguments::could_match(parameters, &instantiation.arguments)
        });
        match fitting.map(|id| self.self_type(id)) {
            Some(Type::Package(named)) => Type::Package(super::Named::plain(named.declaration)),
            Some(Type::Parser(named)) => Type::Parser(super::Named::plain(named.declaration)),
            Some(Type::Control(named)) => Type::Control(super::Named::plain(named.declaration)),
            _ => ty,
        }
    }

    /// Checks the functions in the initializer block of an instance. Returns pairs of an abstract
    /// method and the function that implements it.
    fn implementations(
        &mut self,
        declaration: &'program Declaration,
        instantiation: &'program Instantiation,
        ty: &Type,
    ) -> Vec<(DeclarationId, DeclarationId)> {
        let mut found = Vec::new();
        let object = match ty {
            Type::Extern(named) => {
                match self.out.index.get_declaration(named.declaration).map(|found| &found.kind) {
                    Some(DeclarationKind::ExternObject(object)) => Some((named, object)),
                    _ => None,
                }
            }
            _ => None,
        };
        let abstracts: Vec<&'program Method> = object
            .map(|(_, object)| object.methods.iter().filter(|method| method.is_abstract).collect())
            .unwrap_or_default();
        let Some(block) = &instantiation.initializer else {
            self.all_implemented(declaration, &abstracts, &found);
            return found;
        };
        if object.is_none() {
            self.error("misplaced", declaration.span, "only instances of externs have a block");
            return found;
        }
        if abstracts.is_empty() {
            self.error(
                "misplaced",
                declaration.span,
                format!("`{}` has no abstract methods to implement", self.out.show(ty)),
            );
        }
        let bindings = object.map(|(named, _)| self.out.bindings(named)).unwrap_or_default();
        let context = Context { instance: Some(declaration.id), ..self.context.clone() };
        self.scoped(|checker| {
            checker.within(context, |checker| {
                for inner in block {
                    checker.declaration(inner);
                    let DeclarationKind::Function { prototype, .. } = &inner.kind else { continue };
                    if !prototype.type_parameters.is_empty() {
                        checker.error(
                            "abstract-method",
                            inner.name.span,
                            "the implementation of an abstract method cannot be generic",
                        );
                    }
                    let Some(method) = abstracts.iter().find(|method| method.name == inner.name)
                    else {
                        if !abstracts.is_empty() {
                            checker.error(
                                "abstract-method",
                                inner.name.span,
                                format!(
                                    "`{}` has no abstract method `{}`",
                                    checker.out.show(ty),
                                    inner.name
                                ),
                            );
                        }
                        continue;
                    };
                    checker.same_prototype(inner, method, &bindings);
                    found.push((method.id, inner.id));
                }
            });
        });
        self.all_implemented(declaration, &abstracts, &found);
        self.no_recursion(&found);
        found
    }

    /// Reports recursion among the functions in an initializer block. These functions may call each
    /// other through `this`.
    fn no_recursion(&mut self, found: &[(DeclarationId, DeclarationId)]) {
        let calls: Vec<Vec<(usize, Span)>> =
            found.iter().map(|(_, function)| self.calls_of_this(*function, found)).collect();
        for start in 0..found.len() {
            let mut reached = vec![false; found.len()];
            let mut open: Vec<usize> = vec![start];
            while let Some(next) = open.pop() {
                for (to, span) in calls.get(next).into_iter().flatten() {
                    if *to == start {
                        self.error("recursion", *span, "this method calls itself through others");
                        return;
                    }
                    if let Some(known) = reached.get_mut(*to)
                        && !std::mem::replace(known, true)
                    {
                        open.push(*to);
                    }
                }
            }
        }
    }

    /// Returns the calls of methods of `this` in the body of a function. For each call, it contains
    /// the position of the called method in `found` and the location of the call.
    fn calls_of_this(
        &self,
        function: DeclarationId,
        found: &[(DeclarationId, DeclarationId)],
    ) -> Vec<(usize, Span)> {
        let mut calls = Vec::new();
        let Some(declaration) = self.out.index.get_declaration(function) else { return calls };
        walk::declaration(declaration, &mut |expression| {
            let ExpressionKind::Call { callee, .. } = &expression.kind else { return };
            let ExpressionKind::Member { base, .. } = &callee.kind else { return };
            let Some(Resolution::Method(method)) = self.out.resolution(callee.id) else { return };
            if matches!(base.kind, ExpressionKind::This)
                && let Some(position) = found.iter().position(|(known, _)| known == method)
            {
                calls.push((position, expression.span));
            }
        });
        calls
    }

    /// Checks that the function `inner` has the parameters and the return type of the abstract
    /// method that it implements. `bindings` are the type arguments of the instance's type.
    fn same_prototype(&mut self, inner: &Declaration, method: &Method, bindings: &super::Bindings) {
        let DeclarationKind::Function { prototype, .. } = &inner.kind else { return };
        let wanted = &method.prototype;
        // As in p4c, an implementation may omit optional parameters.
        let fits = |a: &ast::Parameter, b: &ast::Parameter| {
            a.direction == b.direction
                && self.out.declared_type(a.id).substitute(bindings)
                    == *self.out.declared_type(b.id)
        };
        let left_out = wanted.parameters.len().saturating_sub(prototype.parameters.len());
        let mut given = prototype.parameters.iter().peekable();
        let mut skipped = 0;
        let parameters_fit = wanted.parameters.iter().all(|parameter| {
            if given.next_if(|own| fits(parameter, own)).is_some() {
                return true;
            }
            skipped += 1;
            is_optional(&parameter.annotations) && skipped <= left_out
        });
        let same = parameters_fit
            && given.peek().is_none()
            && self.out.type_at(wanted.return_type.id).substitute(bindings)
                == *self.out.type_at(prototype.return_type.id);
        if !same {
            self.report(
                Diagnostic::error(
                    "abstract-method",
                    inner.name.span,
                    format!("`{}` differs from the abstract method that it implements", inner.name),
                )
                .label("other parameters, directions or another return type")
                .secondary(method.name.span, "the abstract method"),
            );
        }
    }

    /// Reports an error for each abstract method that is not implemented, unless it is optional.
    fn all_implemented(
        &mut self,
        declaration: &Declaration,
        abstracts: &[&'program Method],
        found: &[(DeclarationId, DeclarationId)],
    ) {
        for method in abstracts {
            if !is_optional(&method.annotations) && !found.iter().any(|(id, _)| *id == method.id) {
                self.report(
                    Diagnostic::error(
                        "abstract-method",
                        declaration.name.span,
                        format!(
                            "`{}` does not implement the method `{}`",
                            declaration.name, method.name
                        ),
                    )
                    .secondary(method.name.span, "abstract here")
                    .note("write it in a block after the instance: `= { ... }`"),
                );
            }
        }
    }
}

fn is_optional(annotations: &[Annotation]) -> bool {
    annotations.iter().any(|annotation| annotation.name.as_str() == "optional")
}
