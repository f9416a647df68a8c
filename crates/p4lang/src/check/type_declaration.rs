//! Declarations of types (P4_16 §7.2, §7.5, §7.6), and of the members of `error` and `match_kind`.

use std::collections::HashMap;

use super::checker::Checker;
use super::convert::bounds;
use super::{Constant, Type};
use crate::ast::{self, Declaration, DeclarationId, EnumMember, Name, StructField, TypeParameter};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use ir::bits::Bits;

impl<'program> Checker<'program, '_> {
    pub(super) fn error_declaration(&mut self, members: &'program [EnumMember]) {
        for member in members {
            self.annotations(&member.annotations);
            self.set_declared_type(member.id, Type::Error);
            if let Some(first) = self.members.errors.get(&member.name.text).copied() {
                self.duplicate(&member.name, first);
                continue;
            }
            self.members.errors.insert(member.name.text.clone(), member.id);
            // `NoError` is always the first member, wherever core.p4 is included, because it is the
            // value for packets without an error.
            let position =
                if member.name.as_str() == "NoError" { 0 } else { self.out.errors.len() };
            self.out.errors.insert(position, member.id);
        }
    }

    pub(super) fn match_kind_declaration(&mut self, members: &'program [EnumMember]) {
        for member in members {
            self.annotations(&member.annotations);
            self.set_declared_type(member.id, Type::MatchKind);
            if let Some(first) = self.members.match_kinds.get(&member.name.text).copied() {
                self.duplicate(&member.name, first);
                continue;
            }
            self.members.match_kinds.insert(member.name.text.clone(), member.id);
        }
    }

    pub(super) fn duplicate(&mut self, name: &Name, first: DeclarationId) {
        let span = self.span_of(first);
        self.report(
            Diagnostic::error("duplicate", name.span, format!("`{name}` is declared twice"))
                .label("declared again here")
                .secondary(span, "first declared here"),
        );
    }

    /// Checks the declaration of a struct, header or header union. `ty` is the type that it
    /// declares.
    pub(super) fn composite(
        &mut self,
        declaration: &'program Declaration,
        type_parameters: &'program [TypeParameter],
        fields: &'program [StructField],
        ty: Type,
    ) {
        let refers_to_itself = |span: Span| {
            Diagnostic::error(
                "recursion",
                span,
                format!("`{}` cannot contain itself", declaration.name),
            )
        };
        self.scoped(|checker| {
            checker.declare_type_parameters(type_parameters);
            let mut seen: HashMap<&str, Span> = HashMap::new();
            for field in fields {
                checker.annotations(&field.annotations);
                if let Some(first) = seen.insert(field.name.as_str(), field.name.span) {
                    checker.report(
                        Diagnostic::error(
                            "duplicate",
                            field.name.span,
                            format!("the field `{}` is declared twice", field.name),
                        )
                        .secondary(first, "first declared here"),
                    );
                }
                if field.name.as_str() == "_" {
                    checker.error("reserved-name", field.name.span, "`_` cannot be declared");
                }
                if mentions(&field.ty, &declaration.name) && checker.is_new(&declaration.name) {
                    checker.report(refers_to_itself(field.ty.span));
                    checker.set_declared_type(field.id, Type::Unknown);
                    continue;
                }
                let resolved = checker.resolve_type(&field.ty);
                let resolved = checker.refuse_open(resolved, field.ty.span);
                let allowed = match &ty {
                    Type::Header(_) => checker.fits_header(&resolved),
                    Type::HeaderUnion(_) => {
                        matches!(resolved, Type::Header(_) | Type::Variable(_) | Type::Unknown)
                    }
                    _ => checker.fits_struct(&resolved),
                };
                checker.set_declared_type(field.id, resolved.clone());
                if !allowed {
                    let noun = declaration.kind.noun();
                    checker.error(
                        "type-not-allowed",
                        field.ty.span,
                        format!(
                            "a field of a {noun} cannot be of type `{}`",
                            checker.out.show(&resolved)
                        ),
                    );
                    checker.set_type_at(&field.ty, Type::Unknown);
                    checker.set_declared_type(field.id, Type::Unknown);
                }
            }
        });
        let inner: Vec<Type> =
            fields.iter().map(|field| self.out.declared_type(field.id).clone()).collect();
        let fits = self.declare_extent(declaration.id, &inner, declaration.name.span);
        self.set_declared_type(declaration.id, if fits { ty } else { Type::Unknown });
        self.declare(declaration.id, &declaration.name);
    }

    /// Returns whether the name is not declared as a type yet.
    fn is_new(&self, name: &Name) -> bool {
        self.lookup(
            &ast::Path { absolute: false, name: name.clone() },
            super::checker::Wanted::Type,
        )
        .is_empty()
    }

    pub(super) fn fits_header(&mut self, ty: &Type) -> bool {
        match self.base_type(ty) {
            Type::Bits { .. }
            | Type::Varbit { .. }
            | Type::Bool
            | Type::SerializableEnum(_)
            | Type::Variable(_)
            | Type::Inferred(_)
            | Type::Unknown => true,
            inner @ (Type::Struct(_) | Type::Stack { .. }) => self.only_bits(&inner),
            _ => false,
        }
    }

    fn only_bits(&mut self, ty: &Type) -> bool {
        match self.base_type(ty) {
            Type::Bits { .. }
            | Type::Bool
            | Type::SerializableEnum(_)
            | Type::Variable(_)
            | Type::Inferred(_)
            | Type::Unknown => true,
            inner @ Type::Struct(_) => {
                if let Some(known) = self.fitting.only_bits.get(&inner) {
                    return *known;
                }
                let fields = self.out.fields(&inner);
                let only_bits = fields.iter().all(|field| self.only_bits(&field.ty));
                self.fitting.only_bits.insert(inner, only_bits);
                only_bits
            }
            Type::Stack { element, .. } => self.only_bits(&element),
            _ => false,
        }
    }

    pub(super) fn fits_struct(&self, ty: &Type) -> bool {
        matches!(
            self.base_type(ty),
            Type::Struct(_)
                | Type::Bits { .. }
                | Type::Header(_)
                | Type::HeaderUnion(_)
                | Type::Enum(_)
                | Type::Error
                | Type::Bool
                | Type::Stack { .. }
                | Type::Varbit { .. }
                | Type::Tuple(_)
                | Type::SerializableEnum(_)
                | Type::Variable(_)
                | Type::Inferred(_)
                | Type::MatchKind
                | Type::Unknown
        )
    }

    /// Checks the declaration of an enum with or without an underlying type.
    pub(super) fn enumeration(
        &mut self,
        declaration: &'program Declaration,
        underlying: Option<&ast::Type>,
        members: &'program [EnumMember],
    ) {
        let id = declaration.id;
        let representation = underlying.map(|ty| {
            let resolved = self.resolve_type(ty);
            if !resolved.is_bits() && !resolved.is_unknown() {
                self.report(
                    Diagnostic::error(
                        "type-not-allowed",
                        ty.span,
                        format!(
                            "`{}` cannot represent the members of an enum",
                            self.out.show(&resolved)
                        ),
                    )
                    .label("`bit<W>` or `int<W>` was expected"),
                );
                return Type::Unknown;
            }
            resolved
        });
        let own = if underlying.is_some() { Type::SerializableEnum(id) } else { Type::Enum(id) };
        // The value of a member may refer to earlier members.
        self.set_declared_type(id, own.clone());
        self.declare(id, &declaration.name);
        let mut seen: HashMap<&str, DeclarationId> = HashMap::new();
        for member in members {
            self.annotations(&member.annotations);
            self.set_declared_type(member.id, own.clone());
            if let Some(first) = seen.insert(member.name.as_str(), member.id) {
                self.duplicate(&member.name, first);
            }
            match (&representation, &member.value) {
                (None, Some(value)) => {
                    self.error(
                        "enum-value",
                        value.span,
                        format!(
                            "`{}` has no representation: its members have no values",
                            declaration.name
                        ),
                    );
                }
                (Some(_), None) => {
                    self.error(
                        "enum-value",
                        member.name.span,
                        format!("`{}` needs a value: the enum has a representation", member.name),
                    );
                }
                (Some(ty), Some(value)) => self.enum_member(member, ty, value),
                (None, None) => {}
            }
        }
        if members.is_empty() {
            self.error("enum-value", declaration.name.span, "an enum needs at least one member");
        }
    }

    /// Checks the value of a member of an enum with an underlying type.
    pub(super) fn enum_member(&mut self, member: &EnumMember, ty: &Type, value: &ast::Expression) {
        let info = self.expression(value);
        let Type::Bits { width, signed } = *ty else { return };
        let number = self.out.evaluate_own(value).as_ref().and_then(Constant::to_integer);
        let Some(number) = number.filter(|_| self.representation(&info.ty).is_numeric()) else {
            if !info.ty.is_unknown() {
                self.error(
                    "not-constant",
                    value.span,
                    format!(
                        "the value of `{}` must be a number known at compile time",
                        member.name
                    ),
                );
            }
            return;
        };
        let (least, most) = bounds(width, signed);
        if number < least || number > most {
            self.error(
                "out-of-range",
                value.span,
                format!("{number} does not fit `{}`", self.out.show(ty)),
            );
            return;
        }
        self.convert(value, ty);
        self.out.enum_values.insert(member.id, Bits::from_bigint(width, signed, &number));
    }

    pub(super) fn new_type(&mut self, declaration: &'program Declaration, ty: &ast::Type) {
        let resolved = self.resolve_type(ty);
        let allowed =
            matches!(resolved, Type::Bits { .. } | Type::Bool | Type::NewType(_) | Type::Unknown);
        if !allowed {
            self.report(
                Diagnostic::error(
                    "type-not-allowed",
                    ty.span,
                    format!("`type` makes no new type of `{}`", self.out.show(&resolved)),
                )
                .label("`bit<W>`, `int<W>`, `bool` or another `type` was expected"),
            );
            self.set_type_at(ty, Type::Unknown);
        }
        let fits = self.declare_extent(declaration.id, &[resolved], declaration.name.span);
        let own = if fits { Type::NewType(declaration.id) } else { Type::Unknown };
        self.set_declared_type(declaration.id, own);
        self.declare(declaration.id, &declaration.name);
    }
}

/// Returns whether a type reference contains the name `name`.
fn mentions(ty: &ast::Type, name: &Name) -> bool {
    match &ty.kind {
        ast::TypeKind::Named(path) => path.name == *name,
        ast::TypeKind::Specialized { base, arguments } => {
            base.name == *name || arguments.iter().any(|argument| mentions(argument, name))
        }
        ast::TypeKind::Stack { element, .. } => mentions(element, name),
        ast::TypeKind::Tuple(elements) => elements.iter().any(|element| mentions(element, name)),
        ast::TypeKind::List(element) => mentions(element, name),
        _ => false,
    }
}
