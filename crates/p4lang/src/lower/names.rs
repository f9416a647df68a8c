//! Names for the control plane (P4_16 specification, section 18.3.2; key names as p4c makes them).

use num_bigint::BigInt;

use super::Lowering;
use crate::ast::{
    Annotation, BinaryOperator, DeclarationKind, Expression, ExpressionKind, KeyElement,
};
use crate::check::{Builtin, Constant, Resolution};

/// The name that `@name` gives, or the declared one.
pub(super) fn local_name(annotations: &[Annotation], declared: &str) -> String {
    annotations
        .iter()
        .rev()
        .filter(|annotation| annotation.name.as_str() == "name")
        .find_map(Annotation::string)
        .unwrap_or(declared)
        .to_owned()
}

/// A local name behind the names of the instances around it; a leading dot makes it absolute.
pub(super) fn qualified(prefix: &str, local: &str) -> String {
    if let Some(absolute) = local.strip_prefix('.') {
        absolute.to_owned()
    } else if prefix.is_empty() {
        local.to_owned()
    } else {
        format!("{prefix}.{local}")
    }
}

fn in_base(value: &BigInt, base: u8) -> String {
    match base {
        2 => format!("0b{}", value.to_str_radix(2)),
        8 => format!("0o{}", value.to_str_radix(8)),
        16 => format!("0x{}", value.to_str_radix(16)),
        _ => value.to_string(),
    }
}

impl Lowering<'_> {
    /// The name of a table key: `@name`, or the text of its expression if that is a simple one.
    pub(super) fn key_name(&self, key: &KeyElement, position: usize) -> String {
        let annotated = local_name(&key.annotations, "");
        if !annotated.is_empty() {
            return annotated.strip_prefix('.').unwrap_or(&annotated).to_owned();
        }
        self.name_of_expression(&key.expression).unwrap_or_else(|| format!("key{position}"))
    }

    pub(super) fn name_of_expression(&self, expression: &Expression) -> Option<String> {
        if !matches!(expression.kind, ExpressionKind::Integer(_))
            && let Some(Constant::Integer(_) | Constant::Bits(_)) =
                self.checked.constant(expression.id)
        {
            return self.name_of_constant(expression);
        }
        match &expression.kind {
            ExpressionKind::Path(path) => Some(path.to_string()),
            ExpressionKind::Member { base, member } => {
                let name = match self.checked.resolution(expression.id) {
                    Some(Resolution::Builtin(Builtin::IsValid)) => "$valid$".to_owned(),
                    Some(Resolution::Field { declaration: Some(field), .. }) => self
                        .checked
                        .index
                        .get(*field)
                        .map(|node| local_name(node.annotations(), member.as_str()))
                        .unwrap_or_else(|| member.text.to_string()),
                    _ => member.text.to_string(),
                };
                if let Some(absolute) = name.strip_prefix('.') {
                    return Some(absolute.to_owned());
                }
                Some(format!("{}.{name}", self.name_of_expression(base)?))
            }
            ExpressionKind::Index { base, index } => Some(format!(
                "{}[{}]",
                self.name_of_expression(base)?,
                self.name_of_expression(index)?
            )),
            ExpressionKind::Slice { base, high, low } => Some(format!(
                "{}[{}:{}]",
                self.name_of_expression(base)?,
                self.name_of_expression(high)?,
                self.name_of_expression(low)?
            )),
            ExpressionKind::Binary { operator: BinaryOperator::BitAnd, left, right } => Some(
                format!("{} & {}", self.name_of_expression(left)?, self.name_of_expression(right)?),
            ),
            ExpressionKind::Call { callee, arguments, .. } if arguments.is_empty() => {
                self.name_of_expression(callee).filter(|name| name.ends_with("$valid$"))
            }
            ExpressionKind::Integer(literal) => {
                Some(in_base(&literal.value.clone().into(), literal.base))
            }
            _ => None,
        }
    }

    /// The number behind a name or an operation: p4c folds constants before it names keys, and a
    /// number keeps the base in which it was declared.
    fn name_of_constant(&self, expression: &Expression) -> Option<String> {
        let value = super::types::number(self.checked.constant(expression.id)?)?;
        let declared = match self.checked.resolution(expression.id) {
            Some(Resolution::Declaration(id)) => self.checked.index.get_declaration(*id),
            _ => None,
        };
        let base = match declared.map(|declaration| &declaration.kind) {
            Some(DeclarationKind::Constant { value, .. }) => match &value.kind {
                ExpressionKind::Integer(literal) => literal.base,
                _ => 10,
            },
            _ => 10,
        };
        Some(in_base(&value, base))
    }
}
