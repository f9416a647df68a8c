//! From a program's text to the IR, in one call.

use std::io;
use std::path::Path;

use crate::diagnostic::{Diagnostics, Style};
use crate::frontend::{Parsed, parse_text};
use crate::preprocess::{Files, Options};
use crate::source::SourceMap;
use crate::{check, ir, lower};

/// What came out of a program's text.
#[derive(Debug)]
pub struct Compiled {
    /// The program; `None` if there were errors.
    pub program: Option<ir::Program>,
    /// Errors and warnings.
    pub diagnostics: Diagnostics,
    /// The files that were read, for printing those.
    pub sources: SourceMap,
}

impl Compiled {
    /// Errors and warnings as text.
    #[must_use]
    pub fn messages(&self, style: Style) -> String {
        self.diagnostics.render(&self.sources, style)
    }
}

/// Compiles a program and all that it includes.
///
/// Passes recurse over the tree: programs that others wrote are best compiled inside
/// [`crate::with_large_stack`].
///
/// # Errors
/// If the program itself cannot be read. Everything else is in [`Compiled::diagnostics`].
pub fn compile_file(path: &Path, options: &Options, files: &dyn Files) -> io::Result<Compiled> {
    let text = files.read(path)?;
    Ok(compile_text(&path.display().to_string(), &text, options, files))
}

/// Compiles a program that is at hand, and all that it includes. `name` is how messages call it.
pub fn compile_text(name: &str, text: &str, options: &Options, files: &dyn Files) -> Compiled {
    let Parsed { sources, program: tree, mut diagnostics } = parse_text(name, text, options, files);
    if diagnostics.has_errors() {
        return Compiled { program: None, diagnostics, sources };
    }
    let checked = check::check(&tree, &sources, &mut diagnostics);
    let program = if diagnostics.has_errors() {
        None
    } else {
        lower::lower(&checked, &sources, &mut diagnostics)
    };
    Compiled { program, diagnostics, sources }
}
