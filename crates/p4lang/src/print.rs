//! The pretty printer, which formats the syntax tree as P4 text.
//!
//! Parsing the text again results in an equal tree, so parentheses are printed only where
//! precedence requires them. Comments, macros and the layout of the source are lost. Expressions,
//! types and annotations implement [`std::fmt::Display`], and [`print_program`] formats whole
//! programs.

mod declaration;
mod expression;
mod statement;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use crate::ast::{Annotation, Program};

/// Formats a whole program, including the files that it includes.
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

/// A buffer for the text of a program. Each line is indented by the number of braces that are open.
#[derive(Debug, Default)]
struct Printer {
    out: String,
    indent: usize,
}

impl Printer {
    /// Starts a line by appending its indentation.
    fn start(&mut self) {
        for _ in 0..self.indent {
            self.out.push_str("    ");
        }
    }

    /// Appends a complete line: indentation, text and line break.
    fn line(&mut self, text: &str) {
        self.start();
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// Appends text to the current line.
    fn add(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.out.write_fmt(text);
    }

    /// Appends `{` to the current line, and increases the indentation of the lines that follow.
    fn open(&mut self) {
        self.out.push_str("{\n");
        self.indent += 1;
    }

    /// Decreases the indentation, and appends the `}` that belongs to an earlier [`Printer::open`].
    /// Does not end the line.
    fn close(&mut self) {
        self.indent = self.indent.saturating_sub(1);
        self.start();
        self.out.push('}');
    }

    /// Appends annotations, each followed by a blank.
    fn annotations(&mut self, annotations: &[Annotation]) {
        for annotation in annotations {
            self.add(format_args!("{annotation} "));
        }
    }
}

/// A list whose items are formatted with `, ` between them.
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
