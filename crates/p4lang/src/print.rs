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

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::ast::{Annotation, DeclarationKind, Expression, Program};
use crate::source::{SourceMap, Span};

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

/// A program with `#include` in place of what built-in files declare.
pub fn print_program_with_includes(program: &Program, sources: &SourceMap) -> String {
    let built_in = |span: Span| sources.file(span.file).filter(|file| file.is_built_in());
    let mut printer = Printer::default();
    let mut included = HashSet::new();
    for declaration in &program.declarations {
        let Some(mut file) = built_in(declaration.span) else {
            if !printer.out.is_empty() {
                printer.out.push('\n');
            }
            printer.declaration(declaration);
            continue;
        };
        // The user included only the outermost.
        while let Some(outer) = file.included_from().and_then(built_in) {
            file = outer;
        }
        if let (DeclarationKind::Constant { value, .. }, "__v1model_version") =
            (&declaration.kind, declaration.name.as_str())
        {
            version(&mut printer.out, file.name(), value);
        }
        if included.insert(file.name()) {
            printer.line(&format!("#include <{}>", file.name()));
        }
    }
    printer.out
}

/// Puts the variant of v1model before its `#include`.
fn version(out: &mut String, file: &str, value: &Expression) {
    let include = format!("#include <{file}>\n");
    if let Some(at) = out.find(&include) {
        out.insert_str(at, &format!("#define V1MODEL_VERSION {value}\n"));
    }
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
