//! The syntax tree as P4 text.
//!
//! The text parses to the same tree again: parentheses are written where precedence needs them and nowhere else.
//! Comments, the layout of the source and the use of macros are gone. Expressions, types and annotations have
//! [`std::fmt::Display`]; [`print_program`] and its kin write whole programs and parts of them.

mod declaration;
mod expression;
mod statement;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use crate::ast::{Annotation, Program};

/// A whole program, what it included among it.
pub fn print_program(program: &Program) -> String {
    let mut printer = Printer::default();
    for (index, declaration) in program.declarations.iter().enumerate() {
        if index > 0 {
            printer.out.push('\n');
        }
        printer.declaration(declaration);
    }
    printer.out
}

/// Writes lines, indented as deep as braces are open.
#[derive(Debug, Default)]
struct Printer {
    out: String,
    indent: usize,
}

impl Printer {
    /// Starts a line.
    fn start(&mut self) {
        for _ in 0..self.indent {
            self.out.push_str("    ");
        }
    }

    /// A whole line.
    fn line(&mut self, text: &str) {
        self.start();
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// Adds to the line that was started.
    fn add(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.out.write_fmt(text);
    }

    /// `{`, and what follows one level deeper.
    fn open(&mut self) {
        self.out.push_str("{\n");
        self.indent += 1;
    }

    /// The brace that goes with [`Printer::open`], the line not ended.
    fn close(&mut self) {
        self.indent = self.indent.saturating_sub(1);
        self.start();
        self.out.push('}');
    }

    /// Annotations, each with a blank behind it.
    fn annotations(&mut self, annotations: &[Annotation]) {
        for annotation in annotations {
            self.add(format_args!("{annotation} "));
        }
    }
}

/// Items separated by `, `.
struct Commas<'list, T>(&'list [T]);

impl<T: std::fmt::Display> std::fmt::Display for Commas<'_, T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, item) in self.0.iter().enumerate() {
            if index > 0 {
                formatter.write_str(", ")?;
            }
            item.fmt(formatter)?;
        }
        Ok(())
    }
}
