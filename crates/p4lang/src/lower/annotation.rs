//! Annotations go along as written.

use super::Lowering;
use crate::ast::{
    Annotation, AnnotationBody, DeclarationKind, Expression, ExpressionKind, UnaryOperator,
};
use crate::check::Constant;

impl Lowering<'_> {
    pub(super) fn annotations(&self, annotations: &[Annotation]) -> Vec<ir::Annotation> {
        annotations.iter().map(|annotation| self.annotation(annotation)).collect()
    }

    fn annotation(&self, annotation: &Annotation) -> ir::Annotation {
        let body = match &annotation.body {
            AnnotationBody::Empty => ir::AnnotationBody::Empty,
            AnnotationBody::Unstructured(tokens) => {
                // p4c reads the numbers of field lists as expressions; programs name them.
                let numbered = *annotation.name.text == *"field_list";
                let text = |text: &str| {
                    numbered.then(|| self.constant_named(text)).flatten().unwrap_or(text.to_owned())
                };
                ir::AnnotationBody::Tokens(tokens.iter().map(|token| text(&token.text)).collect())
            }
            AnnotationBody::Expressions(values) => ir::AnnotationBody::Expressions(
                values.iter().map(|value| self.annotation_value(value)).collect(),
            ),
            AnnotationBody::KeyValues(pairs) => ir::AnnotationBody::KeyValues(
                pairs
                    .iter()
                    .map(|pair| (pair.key.text.to_string(), self.annotation_value(&pair.value)))
                    .collect(),
            ),
        };
        ir::Annotation { name: annotation.name.text.to_string(), body }
    }

    /// The value of the top-level constant of this name, in digits.
    fn constant_named(&self, name: &str) -> Option<String> {
        let declarations = &self.checked.program.declarations;
        let declaration = declarations.iter().find(|known| known.name.as_str() == name)?;
        let DeclarationKind::Constant { value, .. } = &declaration.kind else { return None };
        let number = super::types::number(self.checked.constant(value.id)?)?;
        Some(number.to_string())
    }

    fn annotation_value(&self, value: &Expression) -> ir::AnnotationValue {
        match self.checked.constant(value.id) {
            Some(Constant::String(text)) => return ir::AnnotationValue::String(text.to_string()),
            Some(Constant::Bool(value)) => return ir::AnnotationValue::Bool(*value),
            Some(constant) => {
                if let Some(number) = super::types::number(constant) {
                    return ir::AnnotationValue::Integer(number);
                }
            }
            None => {}
        }
        match &value.kind {
            ExpressionKind::String(text) => ir::AnnotationValue::String(text.to_string()),
            ExpressionKind::Boolean(value) => ir::AnnotationValue::Bool(*value),
            ExpressionKind::Integer(literal) => {
                ir::AnnotationValue::Integer(literal.value.clone().into())
            }
            ExpressionKind::Unary { operator: UnaryOperator::Negate, operand } => {
                match self.annotation_value(operand) {
                    ir::AnnotationValue::Integer(value) => ir::AnnotationValue::Integer(-value),
                    other => other,
                }
            }
            _ => ir::AnnotationValue::String(self.sources.text(value.span).to_owned()),
        }
    }
}
