//! Implicit conversions (P4_16 §8.10.2), which are recorded for the lowering, and explicit casts
//! (§8.10.1).

use std::sync::Arc;

use num_bigint::BigInt;

use super::checker::Checker;
use super::{Constant, Type};
use crate::ast::{Expression, ExpressionKind, NamedExpression};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

impl Checker<'_, '_> {
    fn set_conversion(&mut self, expression: &Expression, ty: Type) {
        self.out.conversions.insert(expression.id, ty);
    }

    /// Converts an expression to `target`, the type that its context requires. The expression must
    /// have been checked. Reports an error and returns false if the conversion is not possible.
    pub(super) fn convert(&mut self, expression: &Expression, target: &Type) -> bool {
        let target = self.resolved(target);
        let own = self.resolved(&self.out.type_of(expression.id).clone());
        if own.is_unknown() || target.is_unknown() || matches!(target, Type::Inferred(_)) {
            return true;
        }
        match &expression.kind {
            ExpressionKind::List { elements, default_rest } => {
                return self.convert_list(expression, elements, *default_rest, &target);
            }
            ExpressionKind::Record { fields, default_rest } => {
                return self.convert_record(expression, fields, *default_rest, &target);
            }
            ExpressionKind::DefaultValue => {
                if self.out.default_value(&target).is_none() && !self.has_variables(&target) {
                    self.error(
                        "type-mismatch",
                        expression.span,
                        format!("`{}` has no default value", self.out.show(&target)),
                    );
                    return false;
                }
                self.set_conversion(expression, target);
                return true;
            }
            ExpressionKind::InvalidHeader => {
                if !matches!(
                    target,
                    Type::Header(_) | Type::HeaderUnion(_) | Type::Any | Type::Variable(_)
                ) {
                    self.error(
                        "type-mismatch",
                        expression.span,
                        format!(
                            "`{{#}}` is an invalid header or header union, not a `{}`",
                            self.out.show(&target)
                        ),
                    );
                    return false;
                }
                self.set_conversion(expression, target);
                return true;
            }
            ExpressionKind::Conditional { condition, then, otherwise } if own != target => {
                let fits = match self.out.evaluate_own(condition) {
                    Some(Constant::Bool(true)) => self.convert(then, &target),
                    Some(Constant::Bool(false)) => self.convert(otherwise, &target),
                    _ => self.convert(then, &target) && self.convert(otherwise, &target),
                };
                if fits {
                    self.set_conversion(expression, target);
                }
                return fits;
            }
            ExpressionKind::DontCare | ExpressionKind::DefaultKeyset => return true,
            _ => {}
        }
        if own == target || own == Type::Any {
            return true;
        }
        match (&target, &own) {
            (Type::Bits { width, signed }, Type::Integer) => {
                if let Some(Constant::Integer(value)) = self.out.evaluate_own(expression) {
                    self.warn_if_truncated(expression.span, &value, *width, *signed);
                }
                self.set_conversion(expression, target);
                true
            }
            (Type::Bits { .. }, Type::SerializableEnum(_))
                if self.out.underlying(&own) == Some(&target) =>
            {
                self.set_conversion(expression, target);
                true
            }
            (Type::NewType(_), Type::Integer) if self.base_type(&target).is_bits() => {
                if let (Type::Bits { width, signed }, Some(Constant::Integer(value))) =
                    (self.base_type(&target), self.out.evaluate_own(expression))
                {
                    self.warn_if_truncated(expression.span, &value, width, signed);
                }
                self.set_conversion(expression, target);
                true
            }
            (Type::Integer, Type::Bits { .. }) if self.marks.known.contains(&expression.id) => {
                self.set_conversion(expression, target);
                true
            }
            (Type::Any, _) => true,
            (Type::Parser(_) | Type::Control(_), Type::Parser(_) | Type::Control(_))
                if self.unify(&target, &own, true) =>
            {
                true
            }
            // List expressions were handled above. Any other tuple must already have the target
            // type.
            (Type::Tuple(to), Type::Tuple(from))
                if to.len() == from.len() && self.unify(&target, &own, false) =>
            {
                self.settled(&own) == self.settled(&target)
                    || self.mismatch(expression.span, &target, &own)
            }
            _ if self.same_named(&target, &own) && self.unify(&target, &own, false) => true,
            _ => self.mismatch(expression.span, &target, &own),
        }
    }

    fn same_named(&self, a: &Type, b: &Type) -> bool {
        match (a.named(), b.named()) {
            (Some(x), Some(y)) => {
                x.declaration == y.declaration
                    && std::mem::discriminant(a) == std::mem::discriminant(b)
            }
            _ => matches!(
                (a, b),
                (Type::Stack { .. }, Type::Stack { .. }) | (Type::List(_), Type::List(_))
            ),
        }
    }

    pub(super) fn has_variables(&self, ty: &Type) -> bool {
        ty.any(&mut |part| matches!(part, Type::Variable(_) | Type::Inferred(_)))
    }

    fn mismatch(&mut self, span: Span, target: &Type, own: &Type) -> bool {
        let mut diagnostic = Diagnostic::error(
            "type-mismatch",
            span,
            format!("`{}` does not fit `{}`", self.out.show(own), self.out.show(target)),
        )
        .label(format!("`{}` was expected", self.out.show(target)));
        match (target, own) {
            (Type::Bits { .. } | Type::Integer, Type::Bits { .. }) => {
                diagnostic = diagnostic
                    .note(format!("write a cast if this is meant: `({})`", self.out.show(target)));
            }
            (Type::SerializableEnum(_), Type::Bits { .. } | Type::Integer)
            | (Type::NewType(_), _)
            | (_, Type::NewType(_)) => {
                diagnostic =
                    diagnostic.note(format!("write a cast: `({})`", self.out.show(target)));
            }
            (Type::Bool, Type::Bits { .. } | Type::Integer) => {
                diagnostic =
                    diagnostic.note("P4 does not take numbers for `bool`: compare it, `!= 0`");
            }
            _ => {}
        }
        self.report(diagnostic);
        false
    }

    pub(super) fn warn_if_truncated(
        &mut self,
        span: Span,
        value: &BigInt,
        width: u32,
        signed: bool,
    ) {
        let (least, most) = bounds(width, signed);
        if *value < least || *value > most {
            let kind = if signed { "int" } else { "bit" };
            self.warn(Diagnostic::warning(
                "overflow",
                span,
                format!("{value} does not fit `{kind}<{width}>`: it is cut to {width} bits"),
            ));
        }
    }

    /// Converts the elements of a list expression to the fields or elements of `target`. Reports an
    /// error and returns false if that is not possible.
    fn convert_list(
        &mut self,
        expression: &Expression,
        elements: &[Expression],
        default_rest: Option<Span>,
        target: &Type,
    ) -> bool {
        let parts: Vec<Type> = match target {
            Type::Tuple(parts) => parts.to_vec(),
            Type::Struct(_) | Type::Header(_) => {
                self.out.fields(target).into_iter().map(|field| field.ty).collect()
            }
            Type::Stack { element, size } => vec![(**element).clone(); *size as usize],
            Type::List(element) => vec![(**element).clone(); elements.len()],
            Type::Any | Type::Variable(_) if matches!(target, Type::Any) => return true,
            _ => {
                let own = self.out.type_of(expression.id).clone();
                return self.mismatch(expression.span, target, &own);
            }
        };
        let fits = if default_rest.is_some() {
            elements.len() <= parts.len()
        } else {
            elements.len() == parts.len()
        };
        if !fits {
            self.error(
                "wrong-count",
                expression.span,
                format!(
                    "`{}` takes {} values, not {}",
                    self.out.show(target),
                    parts.len(),
                    elements.len()
                ),
            );
            return false;
        }
        let mut good = true;
        for (element, part) in elements.iter().zip(&parts) {
            good &= self.convert(element, part);
        }
        if let Some(rest) = default_rest {
            good &= self.must_have_default(parts.get(elements.len()..).unwrap_or(&[]), rest);
        }
        self.set_conversion(expression, self.settled(target));
        good
    }

    fn must_have_default(&mut self, types: &[Type], span: Span) -> bool {
        let missing = types
            .iter()
            .find(|ty| self.out.default_value(ty).is_none() && !self.has_variables(ty))
            .cloned();
        if let Some(ty) = missing {
            self.error(
                "type-mismatch",
                span,
                format!("`{}` has no default value", self.out.show(&ty)),
            );
            return false;
        }
        true
    }

    /// Converts the fields of a record expression to the fields of `target`. Reports an error and
    /// returns false if that is not possible.
    fn convert_record(
        &mut self,
        expression: &Expression,
        given: &[NamedExpression],
        default_rest: Option<Span>,
        target: &Type,
    ) -> bool {
        let fields: Vec<(Arc<str>, Type)> = match target {
            Type::Record(fields) => fields.to_vec(),
            Type::Struct(_) | Type::Header(_) => self
                .out
                .fields(target)
                .into_iter()
                .map(|field| (field.field.name.text.clone(), field.ty))
                .collect(),
            Type::Any => return true,
            _ => {
                let own = self.out.type_of(expression.id).clone();
                return self.mismatch(expression.span, target, &own);
            }
        };
        let mut good = true;
        for value in given {
            match fields.iter().find(|(name, _)| *name == value.name.text) {
                Some((_, ty)) => good &= self.convert(&value.value, ty),
                None => {
                    self.error(
                        "no-such-field",
                        value.name.span,
                        format!("`{}` has no field `{}`", self.out.show(target), value.name),
                    );
                    good = false;
                }
            }
        }
        let missing: Vec<(Arc<str>, Type)> = fields
            .into_iter()
            .filter(|(name, _)| !given.iter().any(|value| value.name.text == *name))
            .collect();
        match default_rest {
            Some(rest) => {
                let types: Vec<Type> = missing.into_iter().map(|(_, ty)| ty).collect();
                good &= self.must_have_default(&types, rest);
            }
            None => {
                if let Some((name, _)) = missing.first() {
                    self.report(
                        Diagnostic::error(
                            "missing-field",
                            expression.span,
                            format!("no value for field `{name}` of `{}`", self.out.show(target)),
                        )
                        .note("`...` at the end gives the fields that are left their default"),
                    );
                    good = false;
                }
            }
        }
        self.set_conversion(expression, self.settled(target));
        good
    }

    /// Returns whether the language permits a cast to the type `to` from the type `from`.
    pub(super) fn may_cast(&self, to: &Type, from: &Type) -> bool {
        if to == from {
            return true;
        }
        match (to, from) {
            // If a `type` is based on another `type`, and so on, a cast moves one step along this
            // chain.
            (_, Type::NewType(_)) if self.out.underlying(from) == Some(to) => true,
            (Type::NewType(_), _) => self.out.underlying(to).is_some_and(|inner| {
                inner == from || (*from == Type::Integer && self.may_cast(inner, from))
            }),
            (Type::Bits { width: a, signed: s }, Type::Bits { width: b, signed: t }) => {
                a == b || s == t
            }
            (Type::Bool, Type::Bits { width: 1, signed: false })
            | (Type::Bits { width: 1, signed: false }, Type::Bool)
            | (Type::Integer, Type::Bits { .. })
            | (Type::Bits { .. } | Type::Bool | Type::SerializableEnum(_), Type::Integer) => true,
            (Type::SerializableEnum(_), Type::Bits { .. }) => self.out.underlying(to) == Some(from),
            (Type::Bits { .. }, Type::SerializableEnum(_)) => self.out.underlying(from) == Some(to),
            (Type::SerializableEnum(_), Type::SerializableEnum(_)) => {
                self.out.underlying(to) == self.out.underlying(from)
            }
            _ => false,
        }
    }
}

/// Returns the smallest and the largest value of `bit<width>` or `int<width>`.
pub(super) fn bounds(width: u32, signed: bool) -> (BigInt, BigInt) {
    let one = BigInt::from(1);
    if signed {
        let half = &one << width.saturating_sub(1);
        (-half.clone(), half - one)
    } else {
        (BigInt::ZERO, (&one << width) - one)
    }
}
