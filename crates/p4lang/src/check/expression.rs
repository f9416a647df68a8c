//! Types of expressions (P4_16 §8), and rules for their operands.

use std::collections::HashSet;
use std::sync::Arc;

use num_bigint::BigInt;

use super::checker::{Checker, Info, Wanted};
use super::type_reference::WIDEST;
use super::{Builtin, Constant, Node, Resolution, Type};
use crate::ast::{
    self, DeclarationId, DeclarationKind, Direction, Expression, ExpressionKind, IntegerLiteral,
    Name, NamedExpression, UnaryOperator,
};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

impl Checker<'_, '_> {
    /// Checks an expression, and records its type and its value.
    pub(super) fn expression(&mut self, expression: &Expression) -> Info {
        ir::meter::count(1);
        let info = self.expression_kind(expression);
        self.record(expression, &info);
        info
    }

    pub(super) fn record(&mut self, expression: &Expression, info: &Info) {
        self.set_type(expression, info.ty.clone());
        if info.known {
            self.marks.known.insert(expression.id);
            let has_own_value = !matches!(
                expression.kind,
                ExpressionKind::List { .. }
                    | ExpressionKind::Record { .. }
                    | ExpressionKind::DefaultValue
            );
            if has_own_value && let Some(value) = self.out.evaluate_own(expression) {
                self.out.constants.insert(expression.id, value);
            }
        }
    }

    /// Checks an expression, converts it to the type `target`, and returns its type and properties.
    pub(super) fn expression_of(&mut self, expression: &Expression, target: &Type) -> Info {
        let info = self.expression(expression);
        self.convert(expression, target);
        info
    }

    /// Checks a condition, which must be of type `bool`. `of` names the statement or expression to
    /// which the condition belongs, for error messages.
    pub(super) fn condition(&mut self, expression: &Expression, of: &str) {
        let info = self.expression(expression);
        if info.ty != Type::Bool && !info.ty.is_unknown() {
            let mut diagnostic = Diagnostic::error(
                "type-mismatch",
                expression.span,
                format!("the condition of {of} is a `{}`", self.out.show(&info.ty)),
            )
            .label("`bool` was expected");
            if info.ty.is_numeric() {
                diagnostic = diagnostic.note("compare it: `!= 0`");
            }
            self.report(diagnostic);
        }
    }

    /// Checks an expression by the rules for its kind, and returns its type and properties.
    fn expression_kind(&mut self, expression: &Expression) -> Info {
        let span = expression.span;
        match &expression.kind {
            ExpressionKind::Boolean(_) => Info::known(Type::Bool),
            ExpressionKind::Integer(literal) => self.integer(literal, span),
            ExpressionKind::String(_) => Info::known(Type::String),
            ExpressionKind::This => self.this(span),
            ExpressionKind::Path(path) => self.path(expression, path),
            ExpressionKind::Type(ty) => {
                let resolved = self.resolve_type(ty);
                if resolved.is_unknown() {
                    Info::unknown()
                } else {
                    Info::known(Type::Name(Arc::new(resolved)))
                }
            }
            ExpressionKind::Member { base, member } => self.member(expression, base, member),
            ExpressionKind::Index { base, index } => self.index(base, index),
            ExpressionKind::Slice { base, high, low } => self.slice(base, high, low),
            ExpressionKind::PartSelect { base, low, width } => self.part_select(base, low, width),
            ExpressionKind::Call { callee, type_arguments, arguments } => {
                self.call(expression, callee, type_arguments, arguments)
            }
            ExpressionKind::Cast { target, operand } => self.cast(target, operand, span),
            ExpressionKind::Unary { operator, operand } => self.unary(*operator, operand, span),
            ExpressionKind::Binary { operator, left, right } => {
                self.binary(*operator, left, right, span)
            }
            ExpressionKind::Conditional { condition, then, otherwise } => {
                self.conditional(condition, then, otherwise, span)
            }
            ExpressionKind::List { elements, default_rest } => self.list(elements, *default_rest),
            ExpressionKind::Record { fields, default_rest } => {
                self.record_literal(fields, *default_rest)
            }
            ExpressionKind::TupleKeyset(elements) => {
                let mut known = true;
                let mut types = Vec::new();
                for element in elements {
                    let info = self.expression(element);
                    known &= info.known;
                    types.push(match info.ty {
                        Type::Set(inner) => (*inner).clone(),
                        other => other,
                    });
                }
                Info { ty: Type::Set(Arc::new(Type::Tuple(types.into()))), place: false, known }
            }
            ExpressionKind::InvalidHeader | ExpressionKind::DefaultValue => Info::known(Type::Any),
            ExpressionKind::DefaultKeyset | ExpressionKind::DontCare => {
                if !self.context.in_key_set {
                    self.error(
                        "misplaced",
                        span,
                        "`_` and `default` are key sets: they cannot stand here",
                    );
                    return Info::unknown();
                }
                Info::known(Type::Any)
            }
        }
    }

    fn integer(&mut self, literal: &IntegerLiteral, span: Span) -> Info {
        let Some(width) = literal.width else { return Info::known(Type::Integer) };
        if width.bits > 2048 || (width.signed && width.bits == 0) {
            self.error("bad-width", span, format!("{} is not a possible width", width.bits));
            return Info::unknown();
        }
        let value = BigInt::from(literal.value.clone());
        self.warn_if_truncated(span, &value, width.bits, width.signed);
        Info::known(Type::Bits { width: width.bits, signed: width.signed })
    }

    fn this(&mut self, span: Span) -> Info {
        match (self.context.instance, &self.context.function) {
            (Some(instance), Some(_)) => Info::known(self.out.declared_type(instance).clone()),
            _ => {
                self.error(
                    "misplaced",
                    span,
                    "`this` stands only in the functions of an instance's block",
                );
                Info::unknown()
            }
        }
    }

    fn path(&mut self, expression: &Expression, path: &ast::Path) -> Info {
        let found = self.lookup(path, Wanted::Any);
        let Some(id) = found.first().copied() else {
            if let Some(member) = self.members.match_kinds.get(&path.name.text).copied() {
                self.out.resolutions.insert(expression.id, Resolution::MatchKindMember(member));
                return Info::known(Type::MatchKind);
            }
            self.undeclared(&path.name, "a value");
            return Info::unknown();
        };
        self.marks.used.extend(found.iter().copied());
        self.declared(expression, id)
    }

    /// Records that the path `expression` refers to the declaration `id`, and returns the type and
    /// properties of the expression.
    pub(super) fn declared(&mut self, expression: &Expression, id: DeclarationId) -> Info {
        self.out.resolutions.insert(expression.id, Resolution::Declaration(id));
        let ty = self.out.declared_type(id).clone();
        match self.out.index.get(id) {
            Some(Node::Parameter(parameter)) => {
                let reference = parameter.annotation("__ref").is_some();
                Info {
                    ty,
                    place: matches!(parameter.direction, Direction::Out | Direction::InOut)
                        || reference,
                    known: parameter.direction == Direction::None && !reference,
                }
            }
            Some(Node::State(_)) => Info::value(Type::State),
            Some(Node::TypeParameter(_)) => {
                self.out.resolutions.insert(expression.id, Resolution::Type);
                Info::known(Type::Name(Arc::new(Type::Variable(id))))
            }
            Some(Node::Declaration(declaration)) => match &declaration.kind {
                DeclarationKind::Instantiation(_) if self.context.instance == Some(id) => {
                    self.report(
                        Diagnostic::error(
                            "recursion",
                            expression.span,
                            format!("`{}` is named in its own block", declaration.name),
                        )
                        .note("the functions of the block call it `this`"),
                    );
                    Info::unknown()
                }
                DeclarationKind::Constant { .. } | DeclarationKind::Instantiation(_) => {
                    Info::known(ty)
                }
                DeclarationKind::Variable { .. } => Info { ty, place: true, known: false },
                DeclarationKind::Function { .. }
                | DeclarationKind::ExternFunction(_)
                | DeclarationKind::Action { .. } => Info::value(Type::Callable),
                DeclarationKind::Table(_) => {
                    if self.context.table == Some(id) {
                        self.error("recursion", expression.span, "a table cannot refer to itself");
                        return Info::unknown();
                    }
                    Info::value(Type::Table(id))
                }
                DeclarationKind::ValueSet(_) => Info::known(Type::Set(Arc::new(ty))),
                _ if self.is_type(id) => {
                    self.out.resolutions.insert(expression.id, Resolution::Type);
                    Info::known(Type::Name(Arc::new(ty)))
                }
                _ => Info::unknown(),
            },
            _ => Info::unknown(),
        }
    }

    /// Checks `base.member`, where `base` is a value or a type.
    fn member(&mut self, expression: &Expression, base: &Expression, member: &Name) -> Info {
        let info = self.expression(base);
        let span = expression.span;
        match &info.ty {
            Type::Unknown => Info::unknown(),
            Type::Name(inner) => self.type_member(expression, &inner.clone(), member),
            Type::Struct(_) | Type::Header(_) | Type::HeaderUnion(_) => {
                self.field(expression, &info, member)
            }
            Type::Record(fields) => {
                match fields.iter().position(|(name, _)| *name == member.text) {
                    Some(position) => {
                        self.out.resolutions.insert(
                            expression.id,
                            Resolution::Field { declaration: None, position },
                        );
                        let ty = fields.get(position).map_or(Type::Unknown, |(_, ty)| ty.clone());
                        Info { ty, place: info.place, known: info.known }
                    }
                    None => self.no_member(&info.ty, member),
                }
            }
            Type::ApplyResult(table) => self.apply_result(expression, *table, member),
            Type::Stack { element, .. } => {
                self.stack_member(expression, &info, &element.clone(), member)
            }
            Type::Extern(_)
            | Type::Parser(_)
            | Type::Control(_)
            | Type::Table(_)
            | Type::Callable => {
                self.error(
                    "not-a-value",
                    span,
                    format!("`{member}` is a method: it can only be called"),
                );
                Info::unknown()
            }
            other => self.no_member(&other.clone(), member),
        }
    }

    pub(super) fn no_member(&mut self, ty: &Type, member: &Name) -> Info {
        let mut diagnostic = Diagnostic::error(
            "no-such-field",
            member.span,
            format!("`{}` has no member `{member}`", self.out.show(ty)),
        );
        let fields = self.out.fields(ty);
        if !fields.is_empty() {
            let names: Vec<String> =
                fields.iter().take(12).map(|field| format!("`{}`", field.field.name)).collect();
            diagnostic = diagnostic.note(format!(
                "its fields are {}{}",
                names.join(", "),
                if fields.len() > 12 { ", ..." } else { "" }
            ));
        }
        self.report(diagnostic);
        Info::unknown()
    }

    /// Checks a member of a type, such as a member of an enumeration or of `error`.
    fn type_member(&mut self, expression: &Expression, ty: &Type, member: &Name) -> Info {
        match ty {
            Type::Error => match self.members.errors.get(&member.text).copied() {
                Some(id) => {
                    self.marks.used.insert(id);
                    self.out.resolutions.insert(expression.id, Resolution::ErrorMember(id));
                    Info::known(Type::Error)
                }
                None => {
                    self.error(
                        "no-such-field",
                        member.span,
                        format!("`error` has no member `{member}`"),
                    );
                    Info::unknown()
                }
            },
            Type::Enum(id) | Type::SerializableEnum(id) => {
                let found = self
                    .out
                    .enum_members(*id)
                    .iter()
                    .find(|other| other.name == *member)
                    .map(|found| found.id);
                match found {
                    Some(found) => {
                        self.marks.used.insert(found);
                        self.out.resolutions.insert(expression.id, Resolution::EnumMember(found));
                        Info::known(ty.clone())
                    }
                    None => {
                        let names: Vec<String> = self
                            .out
                            .enum_members(*id)
                            .iter()
                            .take(12)
                            .map(|member| format!("`{}`", member.name))
                            .collect();
                        self.report(
                            Diagnostic::error(
                                "no-such-field",
                                member.span,
                                format!("`{}` has no member `{member}`", self.out.show(ty)),
                            )
                            .note(format!("its members are {}", names.join(", "))),
                        );
                        Info::unknown()
                    }
                }
            }
            _ => {
                self.error(
                    "no-such-field",
                    member.span,
                    format!("the type `{}` has no member `{member}`", self.out.show(ty)),
                );
                Info::unknown()
            }
        }
    }

    fn field(&mut self, expression: &Expression, base: &Info, member: &Name) -> Info {
        let Some((position, field)) = self.out.field_named(&base.ty, member) else {
            return self.no_member(&base.ty, member);
        };
        self.marks.used.insert(field.field.id);
        self.out.resolutions.insert(
            expression.id,
            Resolution::Field { declaration: Some(field.field.id), position },
        );
        Info { ty: field.ty, place: base.place, known: base.known }
    }

    /// Checks a member of the result of a table's `apply`: `hit`, `miss` or `action_run`.
    fn apply_result(
        &mut self,
        expression: &Expression,
        table: DeclarationId,
        member: &Name,
    ) -> Info {
        let (builtin, ty) = match member.as_str() {
            "hit" => (Builtin::Hit, Type::Bool),
            "miss" => (Builtin::Miss, Type::Bool),
            "action_run" => {
                if self.context.switch_subject != Some(expression.id) {
                    self.error(
                        "misplaced",
                        expression.span,
                        "`action_run` can only be the subject of a `switch`",
                    );
                    return Info::unknown();
                }
                (Builtin::ActionRun, Type::ActionRun(table))
            }
            _ => {
                self.report(
                    Diagnostic::error(
                        "no-such-field",
                        member.span,
                        format!("the result of `apply` has no member `{member}`"),
                    )
                    .note("it has `hit`, `miss` and `action_run`"),
                );
                return Info::unknown();
            }
        };
        self.out.resolutions.insert(expression.id, Resolution::Builtin(builtin));
        Info::value(ty)
    }

    /// Checks a member of a header stack: `next`, `last`, `lastIndex` or `size`.
    fn stack_member(
        &mut self,
        expression: &Expression,
        base: &Info,
        element: &Type,
        member: &Name,
    ) -> Info {
        let in_parser = self.context.parser.is_some();
        if !is_header(element) {
            return self.no_member(&base.ty, member);
        }
        let (builtin, ty, place) = match member.as_str() {
            "next" => (Builtin::Next, element.clone(), base.place),
            "last" => (Builtin::Last, element.clone(), false),
            "lastIndex" => (Builtin::LastIndex, Type::bit(32), false),
            "size" => (Builtin::Size, Type::bit(32), false),
            _ => return self.no_member(&base.ty, member),
        };
        if builtin != Builtin::Size && !in_parser {
            self.error(
                "misplaced",
                expression.span,
                format!("`{member}` of a header stack can only be used in parsers"),
            );
            return Info::unknown();
        }
        self.out.resolutions.insert(expression.id, Resolution::Builtin(builtin));
        Info { ty, place, known: builtin == Builtin::Size }
    }

    /// Checks the access of an element of a header stack or tuple.
    fn index(&mut self, base: &Expression, index: &Expression) -> Info {
        let info = self.expression(base);
        let position = self.expression(index);
        if info.ty.is_unknown() || position.ty.is_unknown() {
            return Info::unknown();
        }
        if !position.ty.is_numeric() && !matches!(position.ty, Type::SerializableEnum(_)) {
            self.error(
                "type-mismatch",
                index.span,
                format!("an index must be an integer, not `{}`", self.out.show(&position.ty)),
            );
            return Info::unknown();
        }
        let value = self.out.evaluate_own(index).as_ref().and_then(Constant::to_integer);
        let (size, parts) = match &info.ty {
            Type::Stack { size, element } => (*size as usize, Err(element.clone())),
            Type::Tuple(elements) => (elements.len(), Ok(elements.clone())),
            _ => {
                self.error(
                    "type-mismatch",
                    base.span,
                    format!(
                        "only stacks and tuples have an index, not `{}`",
                        self.out.show(&info.ty)
                    ),
                );
                return Info::unknown();
            }
        };
        if let Some(value) = &value
            && !usize::try_from(value).is_ok_and(|value| value < size)
        {
            self.error(
                "out-of-range",
                index.span,
                format!(
                    "index {value} is out of range: `{}` has {size} elements",
                    self.out.show(&info.ty)
                ),
            );
            return Info::unknown();
        }
        match parts {
            Err(element) => Info { ty: (*element).clone(), place: info.place, known: false },
            Ok(elements) => {
                let Some(position) = value.and_then(|value| usize::try_from(value).ok()) else {
                    self.error(
                        "not-constant",
                        index.span,
                        "the index of a tuple must be known at compile time",
                    );
                    return Info::unknown();
                };
                let ty = elements.get(position).cloned().unwrap_or(Type::Unknown);
                Info { ty, place: info.place, known: info.known }
            }
        }
    }

    /// Checks the base of a slice. Returns its type and properties and its width in bits, or `None`
    /// after an error.
    fn sliced(&mut self, base: &Expression) -> Option<(Info, u32)> {
        let info = self.expression(base);
        if info.ty.is_unknown() {
            return None;
        }
        match self.representation(&info.ty) {
            Type::Bits { width, .. } => Some((info, width)),
            // An `int` is extended to the width that the slice needs (§8.9).
            Type::Integer => Some((info, u32::MAX)),
            _ => {
                self.error(
                    "type-mismatch",
                    base.span,
                    format!(
                        "a slice is taken of `bit<W>`, `int<W>` or `int`, not of `{}`",
                        self.out.show(&info.ty)
                    ),
                );
                None
            }
        }
    }

    fn slice_bound(&mut self, expression: &Expression, what: &str) -> Option<BigInt> {
        let info = self.expression(expression);
        if info.ty.is_unknown() {
            return None;
        }
        let value = self.out.evaluate_own(expression).as_ref().and_then(Constant::to_integer);
        if value.is_none() {
            self.error(
                "not-constant",
                expression.span,
                format!("{what} of a slice must be an integer known at compile time"),
            );
        }
        value
    }

    /// Checks a bit slice `base[high:low]`.
    fn slice(&mut self, base: &Expression, high: &Expression, low: &Expression) -> Info {
        let sliced = self.sliced(base);
        let high_value = self.slice_bound(high, "the upper bound");
        let low_value = self.slice_bound(low, "the lower bound");
        let (Some((info, width)), Some(high_value), Some(low_value)) =
            (sliced, high_value, low_value)
        else {
            return Info::unknown();
        };
        let (Ok(top), Ok(bottom)) = (u32::try_from(&high_value), u32::try_from(&low_value)) else {
            let (span, value) = if u32::try_from(&high_value).is_err() {
                (high.span, high_value)
            } else {
                (low.span, low_value)
            };
            self.error(
                "out-of-range",
                span,
                format!("a value with {width} bits has no bit {value}"),
            );
            return Info::unknown();
        };
        if top >= width || bottom > top {
            let (span, message) = if top >= width {
                (high.span, format!("a value with {width} bits has no bit {top}"))
            } else {
                (low.span, format!("the lower bound {bottom} is above the upper bound {top}"))
            };
            self.error("out-of-range", span, message);
            return Info::unknown();
        }
        if top - bottom >= WIDEST {
            self.error(
                "bad-width",
                high.span,
                format!("a slice of {} bits is too wide", top - bottom + 1),
            );
            return Info::unknown();
        }
        Info { ty: Type::bit(top - bottom + 1), place: info.place, known: info.known }
    }

    /// Checks a bit slice with a variable start and a constant width.
    fn part_select(&mut self, base: &Expression, low: &Expression, width: &Expression) -> Info {
        let sliced = self.sliced(base);
        let start = self.expression(low);
        if !start.ty.is_unknown() && !self.representation(&start.ty).is_numeric() {
            self.error(
                "type-mismatch",
                low.span,
                format!(
                    "the start of a slice must be an integer, not `{}`",
                    self.out.show(&start.ty)
                ),
            );
        }
        let size = self.slice_bound(width, "the width");
        let (Some((info, whole)), Some(size)) = (sliced, size) else { return Info::unknown() };
        let widest = whole.min(WIDEST);
        let Some(size) = u32::try_from(&size).ok().filter(|size| *size <= widest) else {
            self.error(
                "out-of-range",
                width.span,
                format!("{size} bits cannot be taken of a value with {widest} bits"),
            );
            return Info::unknown();
        };
        if let Some(start) = self.out.evaluate_own(low).as_ref().and_then(Constant::to_integer)
            && !u32::try_from(&start)
                .is_ok_and(|start| start.checked_add(size).is_some_and(|end| end <= whole))
        {
            self.error(
                "out-of-range",
                low.span,
                format!("{size} bits from bit {start} on exceed a value with {whole} bits"),
            );
            return Info::unknown();
        }
        // A slice of no bits is permitted as a value, since widths may be computed (§7.1.6.2), but
        // not as an l-value.
        Info {
            ty: Type::bit(size),
            place: info.place && size > 0,
            known: info.known && start.known,
        }
    }

    fn cast(&mut self, target: &ast::Type, operand: &Expression, span: Span) -> Info {
        let to = self.resolve_type(target);
        let info = self.expression(operand);
        if to.is_unknown() || info.ty.is_unknown() {
            return if to.is_unknown() {
                Info::unknown()
            } else {
                Info { ty: to, ..Info::unknown() }
            };
        }
        let literal = matches!(
            operand.kind,
            ExpressionKind::List { .. }
                | ExpressionKind::Record { .. }
                | ExpressionKind::InvalidHeader
                | ExpressionKind::DefaultValue
        );
        let composite = matches!(
            to,
            Type::Struct(_)
                | Type::Header(_)
                | Type::HeaderUnion(_)
                | Type::List(_)
                | Type::Stack { .. }
        );
        if literal && (composite || matches!(operand.kind, ExpressionKind::DefaultValue)) {
            self.convert(operand, &to);
            return Info { ty: to, place: false, known: info.known };
        }
        // A cast of a composite value, such as a struct or header, must not change its type.
        let castable = (composite && to == info.ty)
            || matches!(
                to,
                Type::Bits { .. }
                    | Type::Bool
                    | Type::NewType(_)
                    | Type::SerializableEnum(_)
                    | Type::Integer
            );
        if !castable || !self.may_cast(&to, &info.ty) {
            let mut diagnostic = Diagnostic::error(
                "bad-cast",
                span,
                format!(
                    "there is no cast from `{}` to `{}`",
                    self.out.show(&info.ty),
                    self.out.show(&to)
                ),
            );
            if let (Type::Bits { .. }, Type::Bits { .. }) = (&to, &info.ty) {
                diagnostic =
                    diagnostic.note("change width and sign one after the other, with two casts");
            }
            self.report(diagnostic);
            return Info { ty: to, place: false, known: info.known };
        }
        if let (Type::Bits { width, signed }, Type::Integer) = (&to, &info.ty)
            && let Some(Constant::Integer(value)) = self.out.evaluate_own(operand)
        {
            self.warn_if_truncated(operand.span, &value, *width, *signed);
        }
        if to == Type::Bool
            && let Some(Constant::Integer(value)) = self.out.evaluate_own(operand)
            && (value < BigInt::ZERO || value > BigInt::from(1))
        {
            self.error(
                "bad-cast",
                span,
                format!("only 0 and 1 can be cast to `bool`, not {value}"),
            );
        }
        Info { ty: to, place: false, known: info.known }
    }

    fn unary(&mut self, operator: UnaryOperator, operand: &Expression, span: Span) -> Info {
        let info = self.expression(operand);
        if info.ty.is_unknown() {
            return Info::unknown();
        }
        let ty = self.representation(&info.ty);
        let fits = match operator {
            UnaryOperator::Not => ty == Type::Bool,
            UnaryOperator::Complement => ty.is_bits(),
            UnaryOperator::Negate | UnaryOperator::Plus => ty.is_numeric(),
        };
        if !fits {
            let mut diagnostic = Diagnostic::error(
                "bad-operand",
                span,
                format!("`{}` is not defined on `{}`", operator.as_str(), self.out.show(&info.ty)),
            );
            if operator == UnaryOperator::Complement && ty == Type::Integer {
                diagnostic =
                    diagnostic.note("an `int` has no width to flip bits in: write it as `8w1`");
            }
            self.report(diagnostic);
            return Info::unknown();
        }
        Info { ty, place: false, known: info.known }
    }

    /// Checks a conditional expression `condition ? then : otherwise`.
    fn conditional(
        &mut self,
        condition: &Expression,
        then: &Expression,
        otherwise: &Expression,
        span: Span,
    ) -> Info {
        self.condition(condition, "`?:`");
        let first = self.expression(then);
        let second = self.expression(otherwise);
        if first.ty.is_unknown() || second.ty.is_unknown() {
            return Info::unknown();
        }
        let known = self.marks.known.contains(&condition.id) && first.known && second.known;
        // p4c folds constants before it checks types, so if the condition is constant, only the
        // selected operand matters.
        if let Some(Constant::Bool(chosen)) = self.out.evaluate_own(condition) {
            let (value, info) = if chosen { (then, first) } else { (otherwise, second) };
            let known = self.marks.known.contains(&value.id);
            return Info { ty: info.ty, place: false, known };
        }
        if first.ty == Type::Integer && second.ty == Type::Integer {
            self.report(
                Diagnostic::error("no-width", span, "the width of this value is not known")
                    .note("write the width of one of the two values: `8w1`"),
            );
            return Info::unknown();
        }
        let ty = match (&first.ty, &second.ty) {
            (Type::Integer, Type::Bits { .. }) => second.ty.clone(),
            (Type::Bits { .. }, Type::Integer) => first.ty.clone(),
            (Type::Tuple(_) | Type::Record(_) | Type::Any, _)
                if !matches!(second.ty, Type::Tuple(_)) =>
            {
                second.ty.clone()
            }
            _ => first.ty.clone(),
        };
        let fits = match (&first.ty, &second.ty) {
            (a, b) if a == b => true,
            _ => self.unify(&ty, &first.ty, false) && self.unify(&ty, &second.ty, false),
        };
        if !fits {
            self.report(
                Diagnostic::error(
                    "type-mismatch",
                    span,
                    format!(
                        "the two values of `?:` have different types, `{}` and `{}`",
                        self.out.show(&first.ty),
                        self.out.show(&second.ty)
                    ),
                )
                .secondary(then.span, format!("`{}`", self.out.show(&first.ty)))
                .secondary(otherwise.span, format!("`{}`", self.out.show(&second.ty))),
            );
            return Info::unknown();
        }
        self.convert(then, &ty);
        self.convert(otherwise, &ty);
        Info { ty, place: false, known }
    }

    /// Checks a list expression. Its type is a tuple, or a set of tuples if it contains sets.
    fn list(&mut self, elements: &[Expression], default_rest: Option<Span>) -> Info {
        let mut known = true;
        let mut types = Vec::with_capacity(elements.len() + 1);
        let mut any_set = false;
        for element in elements {
            let info = self.expression(element);
            known &= info.known;
            self.must_be_data(&info.ty, element.span);
            types.push(match info.ty {
                Type::Set(inner) => {
                    any_set = true;
                    (*inner).clone()
                }
                other => other,
            });
        }
        if default_rest.is_some() {
            types.push(Type::DefaultRest);
        }
        let tuple = Type::Tuple(types.into());
        if tuple.is_huge() {
            let span = elements.first().map_or_else(Span::nowhere, |first| first.span);
            self.error("type-not-allowed", span, "this list has too many parts");
            return Info::unknown();
        }
        let span = elements.first().map_or_else(Span::nowhere, |first| first.span);
        let tuple = self.admitted(tuple, span);
        if tuple.is_unknown() {
            return Info::unknown();
        }
        Info { ty: if any_set { Type::Set(Arc::new(tuple)) } else { tuple }, place: false, known }
    }

    fn must_be_data(&mut self, ty: &Type, span: Span) {
        if !ty.is_value() || matches!(ty, Type::Void) {
            self.error("type-mismatch", span, format!("`{}` is not a value", self.out.show(ty)));
        }
    }

    /// Checks a record expression, `{x = a, y = b}`.
    fn record_literal(&mut self, fields: &[NamedExpression], default_rest: Option<Span>) -> Info {
        let mut known = true;
        let mut seen = HashSet::new();
        let mut types: Vec<(Arc<str>, Type)> = Vec::with_capacity(fields.len() + 1);
        for field in fields {
            if !seen.insert(field.name.text.clone()) {
                self.error(
                    "duplicate",
                    field.name.span,
                    format!("`{}` is given twice", field.name),
                );
            }
            let info = self.expression(&field.value);
            known &= info.known;
            self.must_be_data(&info.ty, field.value.span);
            types.push((field.name.text.clone(), info.ty));
        }
        if default_rest.is_some() {
            types.push(("...".into(), Type::DefaultRest));
        }
        let record = Type::Record(types.into());
        if record.is_huge() {
            let span = fields.first().map_or_else(Span::nowhere, |first| first.name.span);
            self.error("type-not-allowed", span, "this list has too many parts");
            return Info::unknown();
        }
        let span = fields.first().map_or_else(Span::nowhere, |first| first.name.span);
        Info { ty: self.admitted(record, span), place: false, known }
    }
}

/// Returns whether an array with elements of this type is a header stack, which has methods and
/// properties.
pub(super) fn is_header(element: &Type) -> bool {
    matches!(element, Type::Header(_) | Type::HeaderUnion(_) | Type::Variable(_) | Type::Unknown)
}
