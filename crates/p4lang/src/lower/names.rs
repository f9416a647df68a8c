//! Control-plane names (P4_16 specification, section 18.3.2). Table keys are named as in p4c.

use num_bigint::BigInt;

use super::Lowering;
use crate::ast::{
    Annotation, BinaryOperator, DeclarationKind, Expression, ExpressionKind, KeyElement,
};
use crate::check::{Builtin, Constant, Resolution};

/// Returns the name that the annotation `@name` sets, or the declared name.
pub(super) fn local_name(annotations: &[Annotation], declared: &str) -> String {
    annotations
        .iter()
        .rev()
        .filter(|annotation| annotation.name.as_str() == "name")
        .find_map(Annotation::string)
        .unwrap_or(declared)
        .to_owned()
}

/// Returns `local` with `prefix`, the name of the enclosing instances, before it. A name with a
/// leading dot is absolute and has no prefix.
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
    /// Returns a name for the copy that p4c makes of a parser or control at top level when it
    /// substitutes arguments for constructor parameters. The name is the declared name if it is
    /// unique at top level, and otherwise the declared name followed by the first number that makes
    /// it unique.
    pub(super) fn specialized_name(&mut self, declared: &str) -> String {
        let stem = declared.trim_end_matches(|last: char| last.is_ascii_digit());
        let base = stem.strip_suffix('_').filter(|base| !base.is_empty()).unwrap_or(declared);
        let taken = &mut self.reused.specialized_names;
        if taken.is_empty() {
            let declarations = &self.checked.program.declarations;
            taken.extend(declarations.iter().map(|known| known.name.as_str().to_owned()));
        }
        if taken.insert(base.to_owned()) {
            return base.to_owned();
        }
        // All smaller numbers are in use, since names are never released.
        let next = self.reused.next_numbers.entry(base.to_owned()).or_default();
        loop {
            ir::meter::count(1);
            let name = format!("{base}_{next}");
            *next += 1;
            if taken.insert(name.clone()) {
                return name;
            }
        }
    }

    /// Returns the name of a table key: the name that `@name` sets, or else the text of the key's
    /// expression if it is a simple one, or else `key` followed by `position`.
    pub(super) fn key_name(&self, key: &KeyElement, position: usize) -> String {
        let annotated = local_name(&key.annotations, "");
        if !annotated.is_empty() {
            return annotated.strip_prefix('.').unwrap_or(&annotated).to_owned();
        }
        self.name_of_expression(&key.expression).unwrap_or_else(|| format!("key{position}"))
    }

    /// Returns the name that p4c derives from the expression of a key, or `None` if it derives
    /// none.
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

    /// If an expression evaluates to a number, returns the text of the number, as a part of a key's
    /// name. p4c folds constants before it names keys, and prints a number in the base in which the
    /// constant was declared.
    fn name_of_constant(&self, expression: &Expression) -> Option<String> {
        let value = super::types::number(self.checked.constant(expression.id)?)?;
        Some(in_base(&value, self.base_of(expression, 0)))
    }

    /// Returns the base in which p4c prints a constant, which is the base of the first literal in
    /// the constant's expression.
    fn base_of(&self, expression: &Expression, depth: usize) -> u8 {
        const DEEPEST: usize = 100;
        if depth > DEEPEST {
            return 10;
        }
        if let ExpressionKind::Integer(literal) = &expression.kind {
            return literal.base;
        }
        let declared = match self.checked.resolution(expression.id) {
            Some(Resolution::Declaration(id)) => self.checked.index.get_declaration(*id),
            _ => None,
        };
        match (declared.map(|declaration| &declaration.kind), &expression.kind) {
            (Some(DeclarationKind::Constant { value, .. }), _) => self.base_of(value, depth + 1),
            (_, ExpressionKind::Binary { left, .. }) => self.base_of(left, depth + 1),
            _ => 10,
        }
    }
}
