//! From a file or a text to its syntax tree, in one call.

use std::io;
use std::path::Path;

use crate::ast::Program;
use crate::diagnostic::Diagnostics;
use crate::p4_14;
use crate::parser;
use crate::preprocess::{Files, Options, preprocess};
use crate::source::SourceMap;

/// What came out of a program's text.
#[derive(Debug)]
pub struct Parsed {
    /// The files that were read.
    pub sources: SourceMap,
    /// The tree; after errors, what could be understood.
    pub program: Program,
    /// What the preprocessor and the parser have to say.
    pub diagnostics: Diagnostics,
}

/// Reads and parses a program and all that it includes.
///
/// # Errors
/// If the program itself cannot be read. Everything else is in [`Parsed::diagnostics`].
pub fn parse_file(path: &Path, options: &Options, files: &dyn Files) -> io::Result<Parsed> {
    let text = files.read(path)?;
    Ok(parse_text(&path.display().to_string(), &text, options, files))
}

/// Parses a program that is at hand, and all that it includes. `name` is how messages call it; `#include "..."`
/// looks in its directory.
pub fn parse_text(name: &str, text: &str, options: &Options, files: &dyn Files) -> Parsed {
    let mut sources = SourceMap::new();
    let mut diagnostics = Diagnostics::new();
    let file = sources.add(name, text);
    let tokens = preprocess(file, options, files, &mut sources, &mut diagnostics);
    let program = parser::parse(&tokens, &mut diagnostics);
    if diagnostics.has_errors()
        && let Some(other_language) = p4_14::recognise(&tokens)
    {
        diagnostics = Diagnostics::new();
        diagnostics.push(other_language);
    }
    Parsed { sources, program, diagnostics }
}
