//! Printing of statements and parser states.

use super::{Commas, Printer};
use crate::ast::{
    Block, ParserState, Statement, StatementKind, SwitchCase, SwitchLabel, Transition,
    TransitionKind,
};

impl Printer {
    pub(super) fn statement(&mut self, statement: &Statement) {
        self.start();
        self.statement_inline(statement);
        self.out.push('\n');
    }

    /// Prints a statement in the current line, without ending the line.
    fn statement_inline(&mut self, statement: &Statement) {
        self.annotations(&statement.annotations);
        match &statement.kind {
            StatementKind::Empty => self.out.push(';'),
            StatementKind::Declaration(declaration) => self.declaration_inline(declaration),
            StatementKind::Block(block) => self.block(block),
            StatementKind::Assign { .. }
            | StatementKind::Call(_)
            | StatementKind::DirectApplication { .. } => {
                self.simple(statement);
                self.out.push(';');
            }
            StatementKind::If { condition, then, otherwise } => {
                self.add(format_args!("if ({condition})"));
                // Without braces, the `else` would belong to an inner `if` that has none.
                let braces = otherwise.is_some() && ends_in_open_if(then);
                self.body(then, braces);
                if let Some(otherwise) = otherwise {
                    if braces || matches!(then.kind, StatementKind::Block(_)) {
                        self.out.push_str(" else");
                    } else {
                        self.out.push('\n');
                        self.start();
                        self.out.push_str("else");
                    }
                    self.body(otherwise, false);
                }
            }
            StatementKind::Switch { subject, cases } => {
                self.add(format_args!("switch ({subject}) "));
                self.open();
                for case in cases {
                    self.case(case);
                }
                self.close();
            }
            StatementKind::Return(None) => self.out.push_str("return;"),
            StatementKind::Return(Some(value)) => self.add(format_args!("return {value};")),
            StatementKind::Exit => self.out.push_str("exit;"),
            StatementKind::Break => self.out.push_str("break;"),
            StatementKind::Continue => self.out.push_str("continue;"),
            StatementKind::For { initial, condition, update, body } => {
                self.out.push_str("for (");
                self.simple_list(initial);
                self.add(format_args!("; {condition}; "));
                self.simple_list(update);
                self.out.push(')');
                self.body(body, false);
            }
            StatementKind::ForIn { variable, collection, body } => {
                self.out.push_str("for (");
                self.variable_head(variable);
                self.add(format_args!(" in {collection})"));
                self.body(body, false);
            }
        }
    }

    /// Prints the statement that an `if`, `else` or loop controls. A block, or an `if` after
    /// `else`, is printed in the current line, and any other statement is indented.
    fn body(&mut self, statement: &Statement, braces: bool) {
        if let StatementKind::Block(block) = &statement.kind {
            self.out.push(' ');
            self.block(block);
            return;
        }
        if matches!(statement.kind, StatementKind::If { .. }) && self.out.ends_with("else") {
            self.out.push(' ');
            self.statement_inline(statement);
            return;
        }
        if braces {
            self.out.push(' ');
            self.open();
            self.statement(statement);
            self.close();
            return;
        }
        self.out.push('\n');
        self.indent += 1;
        self.statement(statement);
        self.indent -= 1;
        // This removes the line break, since the caller ends the line.
        self.out.pop();
    }

    fn simple_list(&mut self, statements: &[Statement]) {
        for (index, statement) in statements.iter().enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            self.simple(statement);
        }
    }

    /// Prints a statement that may occur in the head of a `for`, without a semicolon.
    fn simple(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Assign { target, operator, value } => {
                let operator = operator.map_or("", |operator| operator.as_str());
                self.add(format_args!("{target} {operator}= {value}"));
            }
            StatementKind::Call(call) => self.add(format_args!("{call}")),
            StatementKind::DirectApplication { target, arguments } => {
                self.add(format_args!("{target}.apply({})", Commas(arguments)));
            }
            StatementKind::Declaration(declaration) => self.variable_head(declaration),
            _ => {}
        }
    }

    pub(super) fn block(&mut self, block: &Block) {
        self.annotations(&block.annotations);
        self.open();
        for statement in &block.statements {
            self.statement(statement);
        }
        self.close();
    }

    fn case(&mut self, case: &SwitchCase) {
        self.start();
        match &case.label {
            SwitchLabel::Default => self.out.push_str("default:"),
            SwitchLabel::Expression(label) => self.add(format_args!("{label}:")),
        }
        if let Some(body) = &case.body {
            self.out.push(' ');
            self.block(body);
        }
        self.out.push('\n');
    }

    pub(super) fn state(&mut self, state: &ParserState) {
        self.start();
        self.annotations(&state.annotations);
        self.add(format_args!("state {} ", state.name));
        self.open();
        for statement in &state.statements {
            self.statement(statement);
        }
        if let Some(transition) = &state.transition {
            self.transition(transition);
        }
        self.close();
        self.out.push('\n');
    }

    fn transition(&mut self, transition: &Transition) {
        self.start();
        match &transition.kind {
            TransitionKind::Direct(next) => self.add(format_args!("transition {next};\n")),
            TransitionKind::Select { subjects, cases } => {
                self.add(format_args!("transition select({}) ", Commas(subjects)));
                self.open();
                for case in cases {
                    self.start();
                    self.add(format_args!("{}: {};\n", case.keyset, case.next));
                }
                self.close();
                self.out.push('\n');
            }
        }
    }
}

/// Returns whether a statement ends in an `if` without `else`. An `else` after the statement would
/// belong to that `if`.
fn ends_in_open_if(statement: &Statement) -> bool {
    match &statement.kind {
        StatementKind::If { otherwise: None, .. } => true,
        StatementKind::If { otherwise: Some(inner), .. } => ends_in_open_if(inner),
        StatementKind::For { body, .. } | StatementKind::ForIn { body, .. } => {
            ends_in_open_if(body)
        }
        _ => false,
    }
}
