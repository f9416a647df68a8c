//! Resolves type references, such as `bit<W>` or the name of a struct, to types (P4_16 §7), and
//! checks that each type may be used where it is.

use std::sync::Arc;

use super::checker::{Checker, Wanted};
use super::{Constant, Named, Type};
use crate::ast::{self, Expression, TypeKind};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// The largest width of `bit<W>` and `int<W>`, as in p4c.
pub(super) const WIDEST: u32 = 2048;
/// The largest width of a `varbit`. It is far larger than any real protocol needs.
const WIDEST_VARBIT: u32 = 1 << 20;
/// The largest size of a header stack.
const LARGEST_STACK: u32 = 1 << 16;

impl Checker<'_, '_> {
    /// Resolves a type reference. Reports an error if type arguments are missing.
    pub(super) fn resolve_type(&mut self, ty: &ast::Type) -> Type {
        let resolved = self.resolve_type_or_generic(ty);
        if let Some(named) = resolved.named() {
            let wanted = self.out.type_parameters(named.declaration).len();
            if named.arguments.len() != wanted {
                self.error(
                    "type-arguments",
                    ty.span,
                    format!(
                        "`{}` is generic: it needs {wanted} type argument{}",
                        self.out.name(named.declaration),
                        if wanted == 1 { "" } else { "s" }
                    ),
                );
                self.set_type_at(ty, Type::Unknown);
                return Type::Unknown;
            }
        }
        resolved
    }

    /// Resolves a type reference like [`Self::resolve_type`], but also accepts a generic type
    /// without type arguments, since these can be inferred in a constructor call.
    pub(super) fn resolve_type_or_generic(&mut self, ty: &ast::Type) -> Type {
        let mut resolved = self.resolve_kind(ty);
        if resolved.is_huge() {
            self.error("type-not-allowed", ty.span, "this type has too many parts");
            resolved = Type::Unknown;
        }
        let resolved = self.admitted(resolved, ty.span);
        self.set_type_at(ty, resolved.clone());
        resolved
    }

    /// Records the type to which a type reference was resolved.
    pub(super) fn set_type_at(&mut self, ty: &ast::Type, resolved: Type) {
        if let Some(place) = self.out.types.get_mut(ty.id.index()) {
            *place = resolved;
        }
    }

    /// Resolves a type reference by the rules for its kind. Reports an error and returns
    /// [`Type::Unknown`] if that is not possible.
    fn resolve_kind(&mut self, ty: &ast::Type) -> Type {
        match &ty.kind {
            TypeKind::Boolean => Type::Bool,
            TypeKind::Error => Type::Error,
            TypeKind::MatchKind => Type::MatchKind,
            TypeKind::String => Type::String,
            TypeKind::Void => Type::Void,
            TypeKind::Bit(None) => Type::bit(1),
            TypeKind::Int(None) => Type::Integer,
            TypeKind::Bit(Some(width)) => match self.width(width, 0, WIDEST) {
                Some(width) => Type::bit(width),
                None => Type::Unknown,
            },
            TypeKind::Int(Some(width)) => match self.width(width, 1, WIDEST) {
                Some(width) => Type::int(width),
                None => Type::Unknown,
            },
            TypeKind::Varbit(width) => match self.width(width, 0, WIDEST_VARBIT) {
                Some(max_width) => Type::Varbit { max_width },
                None => Type::Unknown,
            },
            TypeKind::Named(path) => self.resolve_named(path),
            TypeKind::Specialized { base, arguments } => {
                self.resolve_specialized(ty, base, arguments)
            }
            TypeKind::Stack { element, size } => self.resolve_stack(element, size),
            TypeKind::Tuple(elements) => {
                let elements: Arc<[Type]> = elements
                    .iter()
                    .map(|element| {
                        let ty = self.resolve_type(element);
                        self.must_be_value(&ty, element.span, "the element of a tuple")
                    })
                    .collect();
                Type::Tuple(elements)
            }
            TypeKind::List(element) => {
                let ty = self.resolve_type(element);
                Type::List(Arc::new(self.must_be_value(&ty, element.span, "the element of a list")))
            }
            TypeKind::Infer => self.fresh(),
        }
    }

    /// Returns the type if its values are data. Otherwise reports that it cannot be used as `what`,
    /// such as the type of a variable, and returns [`Type::Unknown`].
    fn must_be_value(&mut self, ty: &Type, span: Span, what: &str) -> Type {
        if matches!(
            ty,
            Type::Extern(_) | Type::Parser(_) | Type::Control(_) | Type::Package(_) | Type::Void
        ) {
            self.error(
                "type-not-allowed",
                span,
                format!("`{}` cannot be {what}", self.out.show(ty)),
            );
            return Type::Unknown;
        }
        ty.clone()
    }

    /// Resolves the name of a type.
    fn resolve_named(&mut self, path: &ast::Path) -> Type {
        let found = self.lookup(path, Wanted::Type);
        let Some(id) = found.first().copied() else {
            let other = self.lookup(path, Wanted::Any);
            if let Some(other) = other.first() {
                let span = self.span_of(*other);
                self.report(
                    Diagnostic::error("not-a-type", path.span(), format!("`{path}` is not a type"))
                        .label("a type was expected")
                        .secondary(span, "declared here"),
                );
            } else {
                self.undeclared(&path.name, "a type");
            }
            return Type::Unknown;
        };
        self.marks.used.extend(found.iter().copied());
        if self.context.parser == Some(id) || self.context.control == Some(id) {
            self.error(
                "recursion",
                path.span(),
                format!("`{path}` cannot contain an instance of itself"),
            );
            return Type::Unknown;
        }
        if self.is_typedef(id) {
            let ty = self.self_type(id);
            return self.with_fresh_variables(&ty);
        }
        // `own` is the type with the declaration's own type parameters as type arguments. They are
        // removed, because this reference has other type arguments or none.
        let own = self.self_type(id);
        let plain = Named::plain(id);
        match own {
            Type::Struct(_) => Type::Struct(plain),
            Type::Header(_) => Type::Header(plain),
            Type::HeaderUnion(_) => Type::HeaderUnion(plain),
            Type::Extern(_) => Type::Extern(plain),
            Type::Parser(_) => Type::Parser(plain),
            Type::Control(_) => Type::Control(plain),
            Type::Package(_) => Type::Package(plain),
            other => other,
        }
    }

    fn is_typedef(&self, id: ast::DeclarationId) -> bool {
        self.out
            .index
            .get_declaration(id)
            .is_some_and(|declaration| matches!(declaration.kind, ast::DeclarationKind::Typedef(_)))
    }

    /// Resolves a generic type with its type arguments.
    fn resolve_specialized(
        &mut self,
        ty: &ast::Type,
        base: &ast::Path,
        arguments: &[ast::Type],
    ) -> Type {
        let resolved: Arc<[Type]> = arguments
            .iter()
            .map(|argument| {
                let ty = self.resolve_type(argument);
                if matches!(ty, Type::Parser(_) | Type::Control(_) | Type::Package(_)) {
                    self.error(
                        "type-not-allowed",
                        argument.span,
                        format!("`{}` cannot be a type argument", self.out.show(&ty)),
                    );
                    return Type::Unknown;
                }
                ty
            })
            .collect();
        let candidates = self.lookup(base, Wanted::Type);
        let fitting = candidates.iter().copied().find(|id| {
            self.out.type_parameters(*id).len() == resolved.len() && !resolved.is_empty()
        });
        let generic = self.resolve_named(base);
        let generic = match (fitting, generic.named()) {
            (Some(id), Some(named)) if named.declaration != id => self.plain_of(id, generic),
            _ => generic,
        };
        if generic.is_unknown() {
            return Type::Unknown;
        }
        let Some(named) = generic.named() else {
            self.error(
                "type-arguments",
                ty.span,
                format!("`{base}` is not generic: it takes no type arguments"),
            );
            return Type::Unknown;
        };
        let wanted = self.out.type_parameters(named.declaration).len();
        if wanted != resolved.len() || !named.arguments.is_empty() {
            self.error(
                "type-arguments",
                ty.span,
                format!("`{base}` takes {wanted} type arguments, not {}", resolved.len()),
            );
            return Type::Unknown;
        }
        let own = named.declaration;
        let contains_itself = |argument: &Type| {
            argument.any(&mut |part| part.named().is_some_and(|part| part.declaration == own))
        };
        if matches!(generic, Type::Extern(_)) && resolved.iter().any(contains_itself) {
            self.error(
                "recursion",
                ty.span,
                format!("`{base}` cannot be a type argument of itself"),
            );
            return Type::Unknown;
        }
        let named = Named { declaration: own, arguments: resolved };
        let specialized = match generic {
            Type::Struct(_) => Type::Struct(named),
            Type::Header(_) => Type::Header(named),
            Type::HeaderUnion(_) => Type::HeaderUnion(named),
            Type::Extern(_) => Type::Extern(named),
            Type::Parser(_) => Type::Parser(named),
            Type::Control(_) => Type::Control(named),
            Type::Package(_) => Type::Package(named),
            other => other,
        };
        let specialized = self.admitted(specialized, ty.span);
        if let Some((field, held)) = self.misfit(&specialized) {
            self.error(
                "type-not-allowed",
                ty.span,
                format!("the field `{field}` of `{base}` cannot be of type `{held}`"),
            );
            return Type::Unknown;
        }
        specialized
    }

    /// Searches the fields of `ty`, at any depth, for one whose type is not permitted, after type
    /// arguments are substituted. Returns the field's name and type, or `None` if the types of all
    /// fields are permitted.
    fn misfit(&mut self, ty: &Type) -> Option<(String, String)> {
        if !self.fitting.fit.insert(ty.clone()) {
            return None;
        }
        let found = self.out.fields(ty).into_iter().find_map(|field| {
            let allowed = match ty {
                Type::Header(_) => self.fits_header(&field.ty),
                Type::HeaderUnion(_) => {
                    matches!(field.ty, Type::Header(_) | Type::Variable(_) | Type::Unknown)
                }
                _ => self.fits_struct(&field.ty),
            };
            if !allowed {
                return Some((field.field.name.to_string(), self.out.show(&field.ty)));
            }
            let element = match &field.ty {
                Type::Stack { element, .. } => element,
                other => other,
            };
            element.named().filter(|named| !named.arguments.is_empty())?;
            self.misfit(element)
        });
        if found.is_some() {
            self.fitting.fit.remove(ty);
        }
        found
    }

    /// Returns the type that `id` declares, without type arguments, if it is a declaration of a
    /// kind that can be overloaded (a parser, control, package or extern). Returns `other` for any
    /// other declaration.
    fn plain_of(&self, id: ast::DeclarationId, other: Type) -> Type {
        match self.self_type(id) {
            Type::Parser(_) => Type::Parser(Named::plain(id)),
            Type::Control(_) => Type::Control(Named::plain(id)),
            Type::Package(_) => Type::Package(Named::plain(id)),
            Type::Extern(_) => Type::Extern(Named::plain(id)),
            _ => other,
        }
    }

    fn resolve_stack(&mut self, element: &ast::Type, size: &Expression) -> Type {
        let ty = self.resolve_type(element);
        let size = self.width(size, 0, LARGEST_STACK);
        // As in p4c and the working draft of the specification, arrays of all types that a struct
        // may contain are permitted (§7.2.8), except arrays of header stacks.
        let of_stacks = matches!(&ty, Type::Stack { element, .. } if is_stack_element(element));
        if !self.fits_struct(&ty) || of_stacks {
            self.error(
                "type-not-allowed",
                element.span,
                format!("an array cannot hold `{}`", self.out.show(&ty)),
            );
            return Type::Unknown;
        }
        match size {
            Some(size) if !ty.is_unknown() => Type::Stack { element: Arc::new(ty), size },
            _ => Type::Unknown,
        }
    }

    /// Evaluates the expression for the width or size of a type. Reports an error if the value is
    /// not between `least` and `most`.
    fn width(&mut self, expression: &Expression, least: u32, most: u32) -> Option<u32> {
        let info = self.expression(expression);
        if info.ty.is_unknown() {
            return None;
        }
        if !info.ty.is_numeric() && !matches!(info.ty, Type::SerializableEnum(_)) {
            self.error(
                "type-mismatch",
                expression.span,
                format!("a width must be an integer, not `{}`", self.out.show(&info.ty)),
            );
            return None;
        }
        let Some(value) = self.out.evaluate_own(expression).as_ref().and_then(Constant::to_integer)
        else {
            self.report(
                Diagnostic::error(
                    "not-constant",
                    expression.span,
                    "a width must be known at compile time",
                )
                .label("a constant was expected"),
            );
            return None;
        };
        match u32::try_from(&value) {
            Ok(value) if (least..=most).contains(&value) => Some(value),
            _ => {
                self.error(
                    "bad-width",
                    expression.span,
                    format!(
                        "{value} is not a possible width or size: it must be from {least} to {most}"
                    ),
                );
                None
            }
        }
    }
}

/// Returns whether an array of elements of type `ty` is a header stack.
fn is_stack_element(ty: &Type) -> bool {
    matches!(ty, Type::Header(_) | Type::HeaderUnion(_))
}
