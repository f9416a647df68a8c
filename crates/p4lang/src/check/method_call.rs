//! Calls of methods: those of externs, and those that the language defines (P4_16 §8.17 to §8.19,
//! §9).

use super::checker::{Checker, Info};
use super::overload::Overloaded;
use super::signature::{Formal, Signature, Style};
use super::{BoundArgument, Builtin, Call, Callee, Named, Resolution, Type};
use crate::ast::{self, Argument, DeclarationId, DeclarationKind, Expression, Name};
use crate::source::Span;

impl<'program> Checker<'program, '_> {
    /// Checks a call whose callee is a member expression: a method of an extern, or a method that
    /// the language defines for headers, stacks, tables, parsers, controls or types.
    pub(super) fn call_member(
        &mut self,
        expression: &Expression,
        callee: &Expression,
        base: &Expression,
        member: &Name,
        type_arguments: &[ast::Type],
        arguments: &[Argument],
    ) -> Info {
        let info = self.expression(base);
        self.writes(base);
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
            self.note_direct_call(named.declaration, base, expression.span);
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
        if let Some(argument) = type_arguments.first() {
            self.error(
                "type-arguments",
                argument.span,
                format!("`{member}` takes no type arguments"),
            );
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
                        format!("`{member}` writes to its object, which cannot be written here"),
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
                        format!("`{member}` writes to its object, which cannot be written here"),
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
                // The argument of an action would apply a table while another table is applied
                // (§14.2.1.2).
                if self.context.in_action_argument {
                    self.error(
                        "misplaced",
                        callee.span,
                        "a table cannot be applied in the arguments of a table's actions",
                    );
                }
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
                if self.out.field_named(&object, member).is_some() {
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
        let infos = self.argument_infos(arguments);
        self.finish_call(expression, &signature, &[], arguments, &infos)
    }

    /// Returns the signature of the `apply` method of a parser or control. Reports an error if
    /// `apply` cannot be called in the current context.
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
        let parameters = self.apply_parameters(object);
        Signature {
            callee: Callee::Builtin { builtin: Builtin::Apply, object: object.clone() },
            name: "apply".to_owned(),
            type_parameters: &[],
            parameters: parameters
                .into_iter()
                .map(|(parameter, ty)| Formal { parameter, ty: self.with_fresh_variables(&ty) })
                .collect(),
            return_type: Type::Void,
            style: Style::Function,
        }
    }

    /// Checks the call of a method of an extern.
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
        let ids: Vec<DeclarationId> = candidates.iter().map(|method| method.id).collect();
        let bindings = self.out.bindings(named);
        if self.is_open(&ty) && candidates.iter().any(|method| self.names_open(method, &bindings)) {
            self.argument_infos(arguments);
            self.report_open(&ty, member.span);
            return Info::unknown();
        }
        let overloaded =
            Overloaded { name: member.as_str(), span: member.span, bindings: &bindings, arguments };
        let Some((id, infos)) = self.choose(overloaded, &ids) else { return Info::unknown() };
        let Some(method) = candidates.into_iter().find(|method| method.id == id) else {
            return Info::unknown();
        };
        self.marks.used.insert(method.id);
        self.out.resolutions.insert(callee.id, Resolution::Method(method.id));
        let signature = Signature {
            callee: Callee::Method { method: method.id, object: ty },
            name: member.to_string(),
            type_parameters: &method.prototype.type_parameters,
            parameters: self.formals(&method.prototype.parameters, &bindings),
            return_type: self.out.type_at(method.prototype.return_type.id).substitute(&bindings),
            style: Style::Function,
        };
        self.finish_call(expression, &signature, type_arguments, arguments, &infos)
    }

    /// Returns whether the parameter types or the return type of `method` still contain types that
    /// must be inferred.
    fn names_open(&self, method: &ast::Method, bindings: &super::Bindings) -> bool {
        let prototype = &method.prototype;
        let returned = self.out.type_at(prototype.return_type.id).substitute(bindings);
        let parameters = prototype.parameters.iter();
        let mut types = parameters.map(|one| self.out.declared_type(one.id).substitute(bindings));
        self.is_open(&returned) || types.any(|ty| self.is_open(&ty))
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

    /// Checks `push_front` and `pop_front` of a header stack.
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
