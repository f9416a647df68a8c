//! Statements (P4_16 §12): checks where each may occur, and whether execution can continue after
//! it.

use super::checker::{Checker, Info};
use super::operator::Operands;
use super::signature::Signature;
use super::whole_program::root;
use super::{Call, Constant, DirectApplication, Resolution, Type};
use crate::ast::{
    self, Argument, BinaryOperator, Block, DeclarationKind, Expression, ExpressionKind, Statement,
    StatementKind, SwitchCase, SwitchLabel,
};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

impl<'program> Checker<'program, '_> {
    /// Checks a block in a new scope. Returns true if execution never reaches the end of the block.
    pub(super) fn block(&mut self, block: &'program Block) -> bool {
        self.annotations(&block.annotations);
        self.scoped(|checker| checker.statements(&block.statements))
    }

    pub(super) fn statements(&mut self, statements: &'program [Statement]) -> bool {
        let mut ends = false;
        for statement in statements {
            ends |= self.statement(statement);
        }
        ends
    }

    /// Checks a statement. Returns true if execution never continues after it.
    fn statement(&mut self, statement: &'program Statement) -> bool {
        ir::meter::count(1);
        let span = statement.span;
        self.annotations(&statement.annotations);
        match &statement.kind {
            StatementKind::Empty => false,
            StatementKind::Declaration(declaration) => {
                self.statement_declaration(declaration);
                false
            }
            StatementKind::Block(block) => self.block(block),
            StatementKind::Assign { target, operator, value } => {
                self.assignment(target, *operator, value, span);
                false
            }
            StatementKind::Call(expression) => {
                self.expression(expression);
                false
            }
            StatementKind::DirectApplication { target, arguments } => {
                self.direct_application(target, arguments, span);
                false
            }
            StatementKind::If { condition, then, otherwise } => {
                self.condition(condition, "`if`");
                let first = self.scoped(|checker| checker.statement(then));
                match otherwise {
                    Some(otherwise) => self.scoped(|checker| checker.statement(otherwise)) && first,
                    None => false,
                }
            }
            StatementKind::Switch { subject, cases } => self.switch(subject, cases, span),
            StatementKind::Return(value) => {
                self.return_statement(value.as_ref(), span);
                true
            }
            StatementKind::Exit => {
                if self.context.parser.is_some() {
                    self.error("misplaced", span, "`exit` cannot be used in parsers");
                } else if self.context.function.is_some() {
                    self.error("misplaced", span, "`exit` cannot be used in functions");
                }
                true
            }
            StatementKind::Break | StatementKind::Continue => {
                if self.context.loops == 0 {
                    let word = if matches!(statement.kind, StatementKind::Break) {
                        "break"
                    } else {
                        "continue"
                    };
                    self.error("misplaced", span, format!("`{word}` outside of a loop"));
                }
                false
            }
            StatementKind::For { initial, condition, update, body } => {
                self.scoped(|checker| {
                    checker.statements(initial);
                    checker.condition(condition, "`for`");
                    checker.context.loops += 1;
                    checker.statements(update);
                    checker.scoped(|checker| checker.statement(body));
                    checker.context.loops -= 1;
                });
                false
            }
            StatementKind::ForIn { variable, collection, body } => {
                self.for_in(variable, collection, body);
                false
            }
        }
    }

    fn statement_declaration(&mut self, declaration: &'program ast::Declaration) {
        if let DeclarationKind::Instantiation(_) = declaration.kind {
            let place = if self.context.parser.is_some() {
                "parser states"
            } else if self.context.action.is_some() {
                "actions"
            } else if self.context.function.is_some() {
                "functions"
            } else {
                "an `apply` block"
            };
            self.report(
                Diagnostic::error(
                    "misplaced",
                    declaration.span,
                    format!("instances cannot be declared in {place}"),
                )
                .note("declare it beside the tables and actions of the control, or the states of the parser"),
            );
        }
        self.declaration(declaration);
    }

    /// Checks an assignment, or a compound assignment such as `+=`.
    fn assignment(
        &mut self,
        target: &Expression,
        operator: Option<BinaryOperator>,
        value: &Expression,
        span: Span,
    ) {
        let place = self.expression(target);
        self.writes(target);
        if !place.place && !place.ty.is_unknown() {
            self.not_assignable(target, &place);
            self.expression(value);
            return;
        }
        let Some(operator) = operator else {
            self.expression_of(value, &place.ty);
            return;
        };
        let info = self.expression(value);
        if place.ty.is_unknown() || info.ty.is_unknown() {
            return;
        }
        let shift = matches!(operator, BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight);
        if !place.ty.is_bits() {
            self.error(
                "bad-operand",
                span,
                format!(
                    "`{}=` is not defined on `{}`",
                    operator.as_str(),
                    self.out.show(&place.ty)
                ),
            );
        } else if shift {
            self.shift(&Operands { operator, left: target, right: value, span }, &place, &info);
        } else {
            self.convert(value, &place.ty);
            if matches!(operator, BinaryOperator::Divide | BinaryOperator::Modulo) {
                self.division(&Operands { operator, left: target, right: value, span }, &place.ty);
            }
        }
    }

    /// Reports that the target of an assignment cannot be written, with the reason.
    fn not_assignable(&mut self, target: &Expression, info: &Info) {
        let mut diagnostic =
            Diagnostic::error("not-a-place", target.span, "this cannot be assigned to")
                .label("a variable, a field or an `out` parameter was expected");
        let root = root(target);
        if let Some(Resolution::Declaration(id)) = self.out.resolution(root.id)
            && let Some(node) = self.out.index.get(*id)
        {
            let why = match node {
                super::Node::Parameter(parameter) => match parameter.direction {
                    ast::Direction::In => Some("an `in` parameter"),
                    ast::Direction::None => Some("a parameter without direction"),
                    ast::Direction::Out | ast::Direction::InOut => None,
                },
                super::Node::Declaration(declaration) => match declaration.kind {
                    DeclarationKind::Variable { .. } => None,
                    _ => Some(declaration.kind.noun()),
                },
                _ => None,
            };
            if let Some(why) = why {
                diagnostic = diagnostic.secondary(node.span(), why);
            }
        }
        if info.known {
            diagnostic = diagnostic.note("its value is fixed at compile time");
        }
        self.report(diagnostic);
    }

    /// Checks a direct application `T.apply(...)`, which applies a parser or control without
    /// declaring an instance: `T` is its type.
    fn direct_application(
        &mut self,
        target: &'program ast::Type,
        arguments: &[Argument],
        span: Span,
    ) {
        let ty = self.resolve_type_or_generic(target);
        if ty.is_unknown() {
            self.argument_infos(arguments);
            return;
        }
        if !matches!(ty, Type::Parser(_) | Type::Control(_)) {
            self.argument_infos(arguments);
            self.error(
                "not-callable",
                target.span,
                format!("only parsers and controls are applied, not `{}`", self.out.show(&ty)),
            );
            return;
        }
        let Some(instance) = self.construction(ty, target.span, target.span, &[], None) else {
            self.argument_infos(arguments);
            return;
        };
        let object = instance.return_type.clone();
        self.set_type_at(target, object.clone());
        let signature: Signature<'program> = self.apply_signature(&object, span);
        let infos = self.argument_infos(arguments);
        if let Some(matched) = self.match_arguments(&signature, &[], arguments, &infos, span) {
            let apply = Call {
                callee: signature.callee,
                type_arguments: matched.type_arguments,
                arguments: matched.arguments,
                parameter_types: matched.parameter_types,
                return_type: matched.return_type,
            };
            self.out.direct_applications.insert(target.id, DirectApplication { instance, apply });
        }
    }

    fn return_statement(&mut self, value: Option<&Expression>, span: Span) {
        if self.context.parser.is_some() {
            self.error("misplaced", span, "`return` cannot be used in parsers");
        }
        let returned = self.context.function.as_ref().map(|(_, returned)| returned.clone());
        match (returned, value) {
            (Some(Type::Void) | None, Some(value)) => {
                self.expression(value);
                let place = if self.context.function.is_some() {
                    "a function that returns `void`"
                } else if self.context.action.is_some() {
                    "an action"
                } else {
                    "`apply`"
                };
                self.error("return", value.span, format!("{place} returns no value"));
            }
            (Some(Type::Void) | None, None) => {}
            (Some(ty), Some(value)) => {
                self.expression_of(value, &ty);
            }
            (Some(ty), None) => {
                self.error("return", span, format!("a `{}` must be returned", self.out.show(&ty)));
            }
        }
    }

    /// Checks a loop over the elements of a range, header stack or list.
    fn for_in(
        &mut self,
        variable: &'program ast::Declaration,
        collection: &'program Expression,
        body: &'program Statement,
    ) {
        let info = self.expression(collection);
        self.scoped(|checker| {
            checker.declaration(variable);
            let ty = checker.out.declared_type(variable.id).clone();
            match (&info.ty, &collection.kind) {
                (Type::Unknown, _) => {}
                (
                    Type::Set(_),
                    ExpressionKind::Binary { operator: BinaryOperator::Range, left, right },
                ) => {
                    checker.convert(left, &ty);
                    checker.convert(right, &ty);
                }
                (Type::Stack { element, .. } | Type::List(element), _) => {
                    let element = (**element).clone();
                    if !checker.may_cast(&element, &ty) && !ty.is_unknown() {
                        checker.error(
                            "type-mismatch",
                            variable.span,
                            format!(
                                "`{}` holds `{}`, not `{}`",
                                checker.out.show(&info.ty),
                                checker.out.show(&element),
                                checker.out.show(&ty)
                            ),
                        );
                    }
                }
                _ => checker.error(
                    "type-mismatch",
                    collection.span,
                    format!(
                        "a loop goes over a range, a list or a stack, not over `{}`",
                        checker.out.show(&info.ty)
                    ),
                ),
            }
            checker.context.loops += 1;
            checker.scoped(|checker| checker.statement(body));
            checker.context.loops -= 1;
        });
    }

    /// Checks a `switch` statement. Returns true if execution never continues after it.
    fn switch(
        &mut self,
        subject: &'program Expression,
        cases: &'program [SwitchCase],
        span: Span,
    ) -> bool {
        if self.context.parser.is_some() {
            self.error("misplaced", span, "`switch` cannot be used in parsers");
        }
        let outer = self.context.switch_subject.replace(subject.id);
        let info = self.expression(subject);
        self.context.switch_subject = outer;
        let table = match info.ty {
            Type::ActionRun(table) => {
                self.out.switch_on_actions.insert(subject.id, table);
                Some(table)
            }
            _ => None,
        };
        let allowed = matches!(
            info.ty,
            Type::Bits { .. }
                | Type::Integer
                | Type::Bool
                | Type::NewType(_)
                | Type::Enum(_)
                | Type::SerializableEnum(_)
                | Type::Error
                | Type::ActionRun(_)
                | Type::Unknown
        );
        if !allowed {
            self.error(
                "type-mismatch",
                subject.span,
                format!("there is no `switch` on a `{}`", self.out.show(&info.ty)),
            );
        }
        let mut default: Option<Span> = None;
        let mut seen: Vec<(Constant, Span, bool)> = Vec::new();
        let mut seen_actions: Vec<(ast::DeclarationId, Span)> = Vec::new();
        let mut ends = true;
        for case in cases {
            if let (Some(default), SwitchLabel::Expression(label)) = (default, &case.label) {
                self.report(
                    Diagnostic::error("misplaced", label.span, "a case after `default`")
                        .secondary(default, "this one must be the last"),
                );
            }
            match &case.label {
                SwitchLabel::Default => {
                    if let Some(first) = default {
                        self.report(
                            Diagnostic::error("duplicate", case.span, "a second `default`")
                                .secondary(first, "the first one"),
                        );
                    }
                    default = Some(case.span);
                }
                SwitchLabel::Expression(label) => match table {
                    Some(table) => self.action_label(table, label, &mut seen_actions),
                    None => self.value_label(&info.ty, label, &mut seen),
                },
            }
            if let Some(body) = &case.body {
                ends &= self.block(body);
            }
        }
        let last_has_body = cases.last().is_some_and(|case| case.body.is_some());
        if let Some(last) = cases.last().filter(|case| case.body.is_none()) {
            self.report(
                Diagnostic::warning(
                    "empty",
                    last.span,
                    "a case with no block that it falls through to",
                )
                .note("it has no effect; give it a block, or `{}` if that is meant"),
            );
        }
        ends && default.is_some() && last_has_body
    }

    /// Checks a label of a `switch` on `action_run`. The label names an action of the table.
    fn action_label(
        &mut self,
        table: ast::DeclarationId,
        label: &Expression,
        seen: &mut Vec<(ast::DeclarationId, Span)>,
    ) {
        let ExpressionKind::Path(path) = &label.kind else {
            self.expression(label);
            self.report(
                Diagnostic::error(
                    "type-mismatch",
                    label.span,
                    "this is not an action of the table",
                )
                .label("the name of an action was expected"),
            );
            return;
        };
        let actions: Vec<ast::DeclarationId> = self
            .out
            .table(table)
            .map(|facts| facts.actions.iter().map(|action| action.action).collect())
            .unwrap_or_default();
        let found =
            actions.iter().copied().find(|action| *self.out.name(*action) == *path.name.text);
        let Some(action) = found else {
            let names: Vec<String> =
                actions.iter().map(|action| format!("`{}`", self.out.name(*action))).collect();
            self.report(
                Diagnostic::error(
                    "undeclared-name",
                    label.span,
                    format!("`{path}` is not an action of table `{}`", self.out.name(table)),
                )
                .note(format!("its actions are {}", names.join(", "))),
            );
            return;
        };
        if let Some((_, first)) = seen.iter().find(|(other, _)| *other == action) {
            let first = *first;
            self.report(
                Diagnostic::error("duplicate", label.span, format!("a second case for `{path}`"))
                    .secondary(first, "the first one"),
            );
        }
        seen.push((action, label.span));
        self.out.resolutions.insert(label.id, Resolution::Declaration(action));
        self.set_type(label, Type::Callable);
    }

    /// Checks a label of a `switch` on a value. The label is a constant.
    fn value_label(
        &mut self,
        subject: &Type,
        label: &Expression,
        seen: &mut Vec<(Constant, Span, bool)>,
    ) {
        let info = self.expression(label);
        if info.ty.is_unknown() || subject.is_unknown() {
            return;
        }
        if !info.known {
            self.error(
                "not-constant",
                label.span,
                "a label of `switch` must be known at compile time",
            );
            return;
        }
        let target = match (subject, &info.ty) {
            // A number may be a label if the subject is of a serializable enumeration.
            (Type::SerializableEnum(_), Type::Bits { .. } | Type::Integer) => {
                let bits = self.representation(subject);
                if !self.unify(&bits, &info.ty, false) { subject.clone() } else { bits }
            }
            _ => subject.clone(),
        };
        if !self.convert(label, &target) {
            return;
        }
        let value = self
            .out
            .evaluate(label, &super::Environment::default())
            .map(|value| self.out.cast_constant(&value, subject).unwrap_or(value));
        if let Some(value) = value {
            let is_member = matches!(info.ty, Type::SerializableEnum(_));
            if let Some((_, first, member)) = seen.iter().find(|(other, ..)| *other == value) {
                let (first, alike) = (*first, *member == is_member);
                let message = "a second case for the same value: it never runs";
                let diagnostic = if alike {
                    Diagnostic::error("duplicate", label.span, message)
                } else {
                    Diagnostic::warning("duplicate", label.span, message)
                        .note("one is a member of an enum, the other its number")
                };
                self.report(diagnostic.secondary(first, "the first one"));
            }
            seen.push((value, label.span, is_member));
        }
    }
}
