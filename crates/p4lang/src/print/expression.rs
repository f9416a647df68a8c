//! Formatting of expressions, types and annotations in one line.

use std::fmt::{self, Display, Formatter};

use super::Commas;
use crate::ast::{
    Annotation, AnnotationBody, Argument, BinaryOperator, Expression, ExpressionKind,
    IntegerLiteral, KeyValue, NamedExpression, Type, TypeKind,
};

/// The precedence of an expression. The expression is printed in parentheses if its precedence is
/// lower than the context requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    Keyset,
    Conditional,
    Binary(u8),
    Prefix,
    Postfix,
}

fn operator_strength(operator: BinaryOperator) -> Strength {
    use BinaryOperator as B;
    match operator {
        B::Mask | B::Range => Strength::Keyset,
        B::Or => Strength::Binary(1),
        B::And => Strength::Binary(2),
        B::Equal | B::NotEqual => Strength::Binary(3),
        B::Less | B::LessOrEqual | B::Greater | B::GreaterOrEqual => Strength::Binary(4),
        B::BitOr => Strength::Binary(5),
        B::BitXor => Strength::Binary(6),
        B::BitAnd => Strength::Binary(7),
        B::ShiftLeft | B::ShiftRight => Strength::Binary(8),
        B::Concatenate | B::Add | B::Subtract | B::AddSaturating | B::SubtractSaturating => {
            Strength::Binary(9)
        }
        B::Multiply | B::Divide | B::Modulo => Strength::Binary(10),
    }
}

fn strength(expression: &Expression) -> Strength {
    match &expression.kind {
        ExpressionKind::Conditional { .. } => Strength::Conditional,
        ExpressionKind::Binary { operator, .. } => operator_strength(*operator),
        ExpressionKind::Unary { .. } | ExpressionKind::Cast { .. } => Strength::Prefix,
        _ => Strength::Postfix,
    }
}

/// An expression that is formatted in parentheses if its precedence is lower than the given one.
struct AtLeast<'tree>(&'tree Expression, Strength);

impl Display for AtLeast<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        if strength(self.0) < self.1 {
            write!(formatter, "({})", self.0)
        } else {
            self.0.fmt(formatter)
        }
    }
}

impl Display for Expression {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExpressionKind::Boolean(value) => write!(formatter, "{value}"),
            ExpressionKind::Integer(literal) => literal.fmt(formatter),
            ExpressionKind::String(text) => quoted(text, formatter),
            ExpressionKind::This => formatter.write_str("this"),
            ExpressionKind::Path(path) => path.fmt(formatter),
            ExpressionKind::Type(ty) => ty.fmt(formatter),
            ExpressionKind::Member { base, member } => {
                write!(formatter, "{}.{member}", AtLeast(base, Strength::Postfix))
            }
            ExpressionKind::Index { base, index } => {
                write!(formatter, "{}[{index}]", AtLeast(base, Strength::Postfix))
            }
            ExpressionKind::Slice { base, high, low } => {
                write!(formatter, "{}[{high}:{low}]", AtLeast(base, Strength::Postfix))
            }
            ExpressionKind::PartSelect { base, low, width } => {
                write!(formatter, "{}[{low} +: {width}]", AtLeast(base, Strength::Postfix))
            }
            ExpressionKind::Call { callee, type_arguments, arguments } => {
                write!(formatter, "{}", AtLeast(callee, Strength::Postfix))?;
                if !type_arguments.is_empty() {
                    write!(formatter, "<{}>", Commas(type_arguments))?;
                }
                write!(formatter, "({})", Commas(arguments))
            }
            ExpressionKind::Cast { target, operand } => {
                write!(formatter, "({target}){}", AtLeast(operand, Strength::Prefix))
            }
            ExpressionKind::Unary { operator, operand } => {
                // A blank separates `- -x` and `+ +x`, which would otherwise become `--x` and
                // `++x`.
                let apart = matches!(operand.kind, ExpressionKind::Unary { .. });
                let gap = if apart { " " } else { "" };
                write!(
                    formatter,
                    "{}{gap}{}",
                    operator.as_str(),
                    AtLeast(operand, Strength::Prefix)
                )
            }
            ExpressionKind::Binary { operator, left, right } => {
                let own = operator_strength(*operator);
                let right_least = match own {
                    Strength::Keyset => Strength::Conditional,
                    Strength::Binary(10) => Strength::Prefix,
                    Strength::Binary(level) => Strength::Binary(level + 1),
                    other => other,
                };
                let left_least = if own == Strength::Keyset { Strength::Conditional } else { own };
                write!(
                    formatter,
                    "{} {} {}",
                    AtLeast(left, left_least),
                    operator.as_str(),
                    AtLeast(right, right_least)
                )
            }
            ExpressionKind::Conditional { condition, then, otherwise } => write!(
                formatter,
                "{} ? {} : {}",
                AtLeast(condition, Strength::Binary(1)),
                AtLeast(then, Strength::Conditional),
                AtLeast(otherwise, Strength::Conditional)
            ),
            ExpressionKind::List { elements, default_rest } => {
                braced(elements, default_rest.is_some(), formatter)
            }
            ExpressionKind::Record { fields, default_rest } => {
                braced(fields, default_rest.is_some(), formatter)
            }
            ExpressionKind::TupleKeyset(elements) => write!(formatter, "({})", Commas(elements)),
            ExpressionKind::InvalidHeader => formatter.write_str("{#}"),
            ExpressionKind::DefaultValue => formatter.write_str("..."),
            ExpressionKind::DefaultKeyset => formatter.write_str("default"),
            ExpressionKind::DontCare => formatter.write_str("_"),
        }
    }
}

fn braced<T: Display>(
    items: &[T],
    default_rest: bool,
    formatter: &mut Formatter<'_>,
) -> fmt::Result {
    write!(formatter, "{{{}", Commas(items))?;
    match (items.is_empty(), default_rest) {
        (_, false) => {}
        (true, true) => formatter.write_str("...")?,
        (false, true) => formatter.write_str(", ...")?,
    }
    formatter.write_str("}")
}

fn quoted(text: &str, formatter: &mut Formatter<'_>) -> fmt::Result {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    write!(formatter, "\"{escaped}\"")
}

impl Display for IntegerLiteral {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        if let Some(width) = self.width {
            write!(formatter, "{}{}", width.bits, if width.signed { 's' } else { 'w' })?;
        }
        match self.base {
            2 => write!(formatter, "0b{:b}", self.value),
            8 => write!(formatter, "0o{:o}", self.value),
            16 => write!(formatter, "0x{:x}", self.value),
            _ => write!(formatter, "{}", self.value),
        }
    }
}

impl Display for NamedExpression {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} = {}", self.name, self.value)
    }
}

impl Display for Argument {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(formatter, "{name} = ")?;
        }
        self.value.fmt(formatter)
    }
}

impl Display for Type {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let width =
            |keyword: &str, width: &Expression, formatter: &mut Formatter<'_>| match &width.kind {
                ExpressionKind::Integer(_) => write!(formatter, "{keyword}<{width}>"),
                _ => write!(formatter, "{keyword}<({width})>"),
            };
        match &self.kind {
            TypeKind::Boolean => formatter.write_str("bool"),
            TypeKind::Error => formatter.write_str("error"),
            TypeKind::MatchKind => formatter.write_str("match_kind"),
            TypeKind::String => formatter.write_str("string"),
            TypeKind::Void => formatter.write_str("void"),
            TypeKind::Bit(None) => formatter.write_str("bit"),
            TypeKind::Int(None) => formatter.write_str("int"),
            TypeKind::Bit(Some(bits)) => width("bit", bits, formatter),
            TypeKind::Int(Some(bits)) => width("int", bits, formatter),
            TypeKind::Varbit(bits) => width("varbit", bits, formatter),
            TypeKind::Named(path) => path.fmt(formatter),
            TypeKind::Specialized { base, arguments } => {
                write!(formatter, "{base}<{}>", Commas(arguments))
            }
            TypeKind::Stack { element, size } => write!(formatter, "{element}[{size}]"),
            TypeKind::Tuple(elements) => write!(formatter, "tuple<{}>", Commas(elements)),
            TypeKind::List(element) => write!(formatter, "list<{element}>"),
            TypeKind::Infer => formatter.write_str("_"),
        }
    }
}

impl Display for KeyValue {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} = {}", self.key, self.value)
    }
}

impl Display for Annotation {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "@{}", self.name)?;
        match &self.body {
            AnnotationBody::Empty => Ok(()),
            AnnotationBody::Unstructured(_) | AnnotationBody::Evaluated { .. } => {
                write!(formatter, "({})", self.text())
            }
            AnnotationBody::Expressions(expressions) => {
                write!(formatter, "[{}]", Commas(expressions))
            }
            AnnotationBody::KeyValues(pairs) => write!(formatter, "[{}]", Commas(pairs)),
        }
    }
}
