//! Lowering of annotations. They remain as they are written, except that constant expressions are
//! replaced by their values.

use super::Lowering;
use crate::ast::{Annotation, AnnotationBody, Expression};
use crate::check::{Constant, Environment};
use num_bigint::BigInt;

impl Lowering<'_> {
    pub(super) fn annotations(&self, annotations: &[Annotation]) -> Vec<ir::Annotation> {
        annotations.iter().map(|annotation| self.annotation(annotation)).collect()
    }

    fn annotation(&self, annotation: &Annotation) -> ir::Annotation {
        let body = match &annotation.body {
            AnnotationBody::Empty => ir::AnnotationBody::Empty,
            AnnotationBody::Unstructured(tokens) => ir::AnnotationBody::Tokens(
                tokens.iter().map(|token| token.text.to_string()).collect(),
            ),
            AnnotationBody::Evaluated { values, .. } => {
                let mut tokens = Vec::new();
                for value in values {
                    if !tokens.is_empty() {
                        tokens.push(",".to_owned());
                    }
                    tokens.extend(self.annotation_number(value).map(|number| number.to_string()));
                }
                ir::AnnotationBody::Tokens(tokens)
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

    /// Evaluates an expression in an annotation to a number. Returns `None` if its value is not a
    /// number. The value does not depend on the instance in which the annotation occurs.
    pub(super) fn annotation_number(&self, value: &Expression) -> Option<BigInt> {
        super::types::number(&self.checked.evaluate(value, &Environment::default())?)
    }

    fn annotation_value(&self, value: &Expression) -> ir::AnnotationValue {
        match self.checked.evaluate(value, &Environment::default()) {
            Some(Constant::String(text)) => ir::AnnotationValue::String(text.to_string()),
            Some(Constant::Bool(value)) => ir::AnnotationValue::Bool(value),
            constant => match constant.as_ref().and_then(super::types::number) {
                Some(number) => ir::AnnotationValue::Integer(number),
                // The checker refuses expressions without a value.
                None => ir::AnnotationValue::String(self.sources.text(value.span).to_owned()),
            },
        }
    }
}
