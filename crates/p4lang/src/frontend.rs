//! Reading, preprocessing and parsing of a P4 program with one call.

use std::io;
use std::path::Path;

use crate::ast::Program;
use crate::diagnostic::Diagnostics;
use crate::p4_14;
use crate::parser;
use crate::preprocess::{Files, Options, preprocess};
use crate::source::SourceMap;

/// The result of parsing a program.
#[derive(Debug)]
pub struct Parsed {
    /// The source files that were read: the program and the files that it includes.
    pub sources: SourceMap,
    /// The syntax tree. If there were errors, it contains the parts of the program that could be
    /// parsed.
    pub program: Program,
    /// The errors and warnings of the preprocessor and the parser.
    pub diagnostics: Diagnostics,
}

/// Reads and parses a program and the files that it includes.
///
/// # Errors
/// Returns an error if the file `path` cannot be read. All other errors are in
/// [`Parsed::diagnostics`].
pub fn parse_file(path: &Path, options: &Options, files: &dyn Files) -> io::Result<Parsed> {
    let text = files.read(path)?;
    Ok(parse_text(&path.display().to_string(), &text, options, files))
}

/// Parses the program `text` and the files that it includes. `name` is the file name of the program
/// in diagnostics, and `#include "..."` searches the directory of this file first.
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
