//! Names for the control plane (P4_16 specification, section 18.3.2; key names as p4c makes them).

use super::Lowering;
use crate::ast::{Annotation, BinaryOperator, Expression, ExpressionKind, KeyElement};
use crate::check::{Builtin, Resolution};

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
            ExpressionKind::Integer(literal) => Some(match literal.base {
                2 => format!("0b{}", literal.value.to_str_radix(2)),
                8 => format!("0o{}", literal.value.to_str_radix(8)),
                16 => format!("0x{}", literal.value.to_str_radix(16)),
                _ => literal.value.to_string(),
            }),
            _ => None,
        }
    }
}
