//! From a file or a text to its syntax tree, in one call.

use std::io;
use std::path::Path;

use crate::ast::Program;
use crate::diagnostic::Diagnostics;
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
    Parsed { sources, program, diagnostics }
}

/// The stack that [`with_large_stack`] gives. Pages that are not touched cost nothing.
const STACK_BYTES: usize = 256 << 20;

/// Runs `work` on a thread with a stack that is large enough for passes that recurse over a tree of
/// [`parser::DEEPEST_NESTING`] levels. Whoever compiles programs that others wrote should do so in here.
///
/// # Errors
/// If the thread cannot be started. A panic of `work` goes on in the caller.
pub fn with_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("p4lang".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, work)?;
        match thread.join() {
            Ok(result) => Ok(result),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
