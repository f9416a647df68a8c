//! Checks calls of particular methods and functions of core.p4 and the architectures, such as
//! `extract` and `static_assert`, by rules that their signatures do not express.

use super::checker::Checker;
use super::size::MAX_PARTS;
use super::{Call, Callee, Type};
use crate::ast::{Argument, DeclarationId, Expression, ExpressionKind};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

impl Checker<'_, '_> {
    /// Checks the rules that core.p4 and the architectures state for the callee of a call. The call
    /// must have been checked and recorded.
    pub(super) fn after_call(&mut self, expression: &Expression, arguments: &[Argument]) {
        let Some(call) = self.out.calls.get(&expression.id).cloned() else { return };
        if let Callee::ExternFunction(id)
        | Callee::Function(id)
        | Callee::Method { method: id, .. } = call.callee
        {
            self.warn_if_deprecated(id, expression.span);
        }
        match &call.callee {
            Callee::Method { method, object: Type::Extern(object) } => {
                let (object, method) = (self.out.name(object.declaration), self.out.name(*method));
                if matches!(
                    (&*object, &*method),
                    ("packet_in", "extract" | "lookahead" | "advance")
                ) && (self.context.control.is_some() || self.context.action.is_some())
                {
                    self.error(
                        "misplaced",
                        expression.span,
                        format!("`{method}` of a packet can only be called in parsers"),
                    );
                }
                match (&*object, &*method) {
                    ("packet_in", "extract") => self.extract(&call, arguments),
                    ("packet_in", "lookahead") => {
                        if let Some(ty) = call.type_arguments.first() {
                            self.lookahead(&ty.clone(), expression.span);
                        }
                    }
                    ("packet_out", "emit") => {
                        if let Some(value) = call.given(0, arguments) {
                            let ty = self.out.converted_type_of(value.id).clone();
                            self.emit(&ty, value.span, &mut { MAX_PARTS });
                        }
                    }
                    _ => {}
                }
            }
            Callee::ExternFunction(id) => match &*self.out.name(*id) {
                "verify" if self.context.parser.is_none() => {
                    self.error(
                        "misplaced",
                        expression.span,
                        "`verify` can only be called in parsers",
                    );
                }
                "static_assert" => self.static_assert(expression, &call, arguments),
                "add_entry" => self.note_add_entry(expression, &call, arguments),
                _ => {}
            },
            _ => {}
        }
    }

    /// Reports a warning if a declaration that is used at `span` has the annotation `@deprecated`.
    pub(super) fn warn_if_deprecated(&mut self, id: DeclarationId, span: Span) {
        let Some(node) = self.out.index.get(id) else { return };
        let deprecated =
            node.annotations().iter().find(|annotation| annotation.name.as_str() == "deprecated");
        if let Some(annotation) = deprecated {
            let mut diagnostic = Diagnostic::warning(
                "deprecated",
                span,
                format!("`{}` is deprecated", self.out.name(id)),
            );
            if let Some(text) = annotation.string() {
                diagnostic = diagnostic.note(text);
            }
            self.warn(diagnostic);
        }
    }

    /// Checks that `extract` is called with a header, and with a second argument if and only if the
    /// header has a `varbit` field.
    fn extract(&mut self, call: &Call, arguments: &[Argument]) {
        let Some(header) = call.given(0, arguments) else { return };
        let ty = self.out.type_of(header.id).clone();
        if matches!(header.kind, ExpressionKind::DontCare) {
            return;
        }
        match ty {
            Type::Header(_) => {}
            Type::Unknown | Type::Variable(_) => return,
            _ => {
                self.report(
                    Diagnostic::error(
                        "type-mismatch",
                        header.span,
                        format!("only headers are extracted, not `{}`", self.out.show(&ty)),
                    )
                    .label("a header was expected"),
                );
                return;
            }
        }
        let fields = self.out.fields(&ty);
        let mut varbits = fields.iter().filter(|field| matches!(field.ty, Type::Varbit { .. }));
        let has_varbit = varbits.next().is_some();
        if let Some(second) = varbits.next() {
            self.report(
                Diagnostic::error(
                    "arguments",
                    header.span,
                    format!("`{}` has more than one `varbit` field", self.out.show(&ty)),
                )
                .secondary(second.field.name.span, "the second one")
                .note("`extract` takes the width of one: packets cannot have such a header"),
            );
        } else if arguments.len() == 1 && has_varbit {
            self.report(
                Diagnostic::error(
                    "arguments",
                    header.span,
                    format!("`{}` has a `varbit` field", self.out.show(&ty)),
                )
                .note("`extract` takes the width of that field as its second argument"),
            );
        } else if arguments.len() == 2 && !has_varbit {
            self.report(
                Diagnostic::error(
                    "arguments",
                    header.span,
                    format!("`{}` has no `varbit` field", self.out.show(&ty)),
                )
                .note("only then `extract` takes a second argument"),
            );
        }
    }

    /// Checks that the type argument of `lookahead` has a fixed size and is not a header union.
    fn lookahead(&mut self, ty: &Type, span: Span) {
        if self.has_variables(ty) || ty.any(&mut |part| matches!(part, Type::Any | Type::Unknown)) {
            return;
        }
        let union = matches!(ty, Type::HeaderUnion(_));
        if !self.out.has_fixed_size(ty) || union {
            self.error(
                "type-not-allowed",
                span,
                format!(
                    "`lookahead` needs a type of fixed width, and `{}` has none",
                    self.out.show(ty)
                ),
            );
        }
    }

    /// Checks that a value of this type can be emitted. `budget` is the number of types that may
    /// still be examined. It limits the work for nested types.
    fn emit(&mut self, ty: &Type, span: Span, budget: &mut u32) {
        let Some(left) = budget.checked_sub(1) else { return };
        *budget = left;
        match ty {
            Type::Header(_)
            | Type::HeaderUnion(_)
            | Type::Variable(_)
            | Type::Unknown
            | Type::Any
            | Type::Stack { .. } => {}
            Type::Struct(_) => {
                for field in self.out.fields(ty) {
                    self.emit(&field.ty, span, budget);
                }
            }
            Type::Tuple(elements) => {
                for element in elements.clone().iter() {
                    self.emit(element, span, budget);
                }
            }
            Type::Record(fields) => {
                for (_, element) in fields.clone().iter() {
                    self.emit(element, span, budget);
                }
            }
            _ => {
                self.report(
                    Diagnostic::error(
                        "type-mismatch",
                        span,
                        format!("`{}` cannot be emitted", self.out.show(ty)),
                    )
                    .label("a header, a stack, a union, or a struct of these was expected"),
                );
            }
        }
    }

    /// Evaluates the condition of a `static_assert`, and reports an error if it is false or not
    /// known at compile time.
    fn static_assert(&mut self, expression: &Expression, call: &Call, arguments: &[Argument]) {
        let Some(condition) = call.given(0, arguments) else { return };
        match self.out.evaluate_own(condition) {
            Some(super::Constant::Bool(true)) => {}
            Some(super::Constant::Bool(false)) => {
                let message = call.given(1, arguments);
                let message = match message.and_then(|message| self.out.evaluate_own(message)) {
                    Some(super::Constant::String(text)) => {
                        format!("static assertion failed: {text}")
                    }
                    _ => "static assertion failed".to_owned(),
                };
                self.error("static-assert", expression.span, message);
            }
            _ if self.marks.known.contains(&condition.id) => {}
            _ => self.error(
                "not-constant",
                condition.span,
                "the condition of `static_assert` must be known at compile time",
            ),
        }
    }
}
