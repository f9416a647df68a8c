//! The preprocessor, which executes `#include`, `#define`, `#if` and the other directives that
//! programs for p4c use. Its output is the tokens that the parser reads.
//!
//! It works on tokens instead of text, so that every token keeps its location in the user's source.
//! The rules are those of GNU `cpp` as p4c invokes it, with `-x assembler-with-cpp`: a `#` in a
//! macro body need not be followed by a parameter, and unmatched quotes and `$` are accepted.
//! Features that no P4 program uses, such as `#assert` and `__DATE__`, are not supported. The depth
//! of includes, the nesting of macros and the number of tokens are limited, so preprocessing
//! terminates for every input.

mod condition;
mod directive;
mod expansion;
mod files;
mod in_string;
mod macros;
mod print;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::path::PathBuf;

pub use files::{DiskFiles, Files, MemoryFiles};
pub use print::print_preprocessed;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::lexer::{Interner, Lexer, Symbol, Token, TokenKind};
use crate::source::{FileId, SourceMap, Span};
use condition::Conditions;
use expansion::Expansion;
use macros::Macros;

/// The largest depth of nested includes, as in GNU `cpp`.
const DEEPEST_INCLUDE: usize = 200;

/// The largest number of files that a program includes. Without this limit, a file that includes
/// itself twice would take exponential time.
const MAX_FILES: usize = 4096;

/// The largest number of tokens after preprocessing. It is limited because macro expansion can grow
/// exponentially. Tests use a smaller limit to be fast.
const MAX_TOKENS: usize = if cfg!(test) { 1 << 17 } else { 4 << 20 };

/// Options of the command line for preprocessing and compiling a program.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// `-I`: the directories in which `#include` searches before it searches the built-in files.
    pub include_directories: Vec<PathBuf>,
    /// `-D NAME` or `-D NAME=value`: the text after each `-D`. If none of them defines a name that
    /// starts with `__TARGET_`, the macro `__TARGET_BMV2__` is defined as 1.
    pub defines: Vec<String>,
    /// `-U NAME`: the names that are undefined after all of `defines` are defined.
    pub undefines: Vec<String>,
    /// The limits on the compiled program. The limits on preprocessing cannot be changed.
    pub limits: ir::CompileLimits,
}

/// The tokens of a program after preprocessing.
#[derive(Debug)]
pub struct Tokens {
    pub(crate) list: Vec<Token>,
    pub(crate) symbols: Interner,
    /// An empty span at the end of the program.
    pub(crate) end: Span,
    /// The symbol of the empty string.
    pub(crate) empty: Symbol,
}

/// Preprocesses the file `program` of `sources` and the files that it includes.
///
/// Errors are reported to `diagnostics`. Even after an error, the tokens that could be read are
/// returned.
pub fn preprocess(
    program: FileId,
    options: &Options,
    files: &dyn Files,
    sources: &mut SourceMap,
    diagnostics: &mut Diagnostics,
) -> Tokens {
    let mut symbols = Interner::default();
    let names = Names::new(&mut symbols);
    let mut preprocessor = Preprocessor {
        options,
        files,
        sources,
        diagnostics,
        symbols,
        names,
        macros: Macros::default(),
        expansion: Expansion::default(),
        open: Vec::new(),
        once: HashSet::new(),
        opened: 0,
        produced: 0,
        exhausted: false,
        in_condition: false,
    };
    preprocessor.define_from_command_line();
    preprocessor.enter(program, None);
    let mut list = Vec::new();
    let mut end = Span::new(program, 0, 0);
    loop {
        let token = preprocessor.next_expanded();
        if token.kind != TokenKind::End {
            list.push(token);
            continue;
        }
        if token.span.file == program {
            end = token.span;
        }
        if !preprocessor.leave() {
            break;
        }
    }
    let empty = preprocessor.symbols.intern("");
    Tokens { list, symbols: preprocessor.symbols, end, empty }
}

/// The symbols of the names that the preprocessor treats specially, such as `__LINE__`.
#[derive(Debug, Clone, Copy)]
struct Names {
    defined: Symbol,
    line: Symbol,
    file: Symbol,
    counter: Symbol,
    variadic: Symbol,
}

impl Names {
    fn new(symbols: &mut Interner) -> Self {
        Self {
            defined: symbols.intern("defined"),
            line: symbols.intern("__LINE__"),
            file: symbols.intern("__FILE__"),
            counter: symbols.intern("__COUNTER__"),
            variadic: symbols.intern("__VA_ARGS__"),
        }
    }
}

/// A file that is being read.
#[derive(Debug)]
struct OpenFile {
    id: FileId,
    lexer: Lexer,
    conditions: Conditions,
    /// The path of the file. `#include "..."` in the file searches its directory.
    path: PathBuf,
}

/// The state of preprocessing one program.
struct Preprocessor<'run> {
    options: &'run Options,
    files: &'run dyn Files,
    sources: &'run mut SourceMap,
    diagnostics: &'run mut Diagnostics,
    symbols: Interner,
    names: Names,
    macros: Macros,
    expansion: Expansion,
    /// The files that are being read. Each is included by the file before it in the list.
    open: Vec<OpenFile>,
    /// The paths of the files that contain `#pragma once`. They are not included a second time.
    once: HashSet<PathBuf>,
    /// The number of files that were opened so far, which is limited by `MAX_FILES`.
    opened: usize,
    /// The number of tokens that were produced so far, which is limited by `MAX_TOKENS`.
    produced: usize,
    /// Whether a limit of the preprocessor was exceeded, so that no more tokens are read.
    exhausted: bool,
    /// Whether the line of an `#if` is being expanded. `defined` is an operator only there.
    in_condition: bool,
}

impl Preprocessor<'_> {
    fn error(&mut self, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error("preprocessor", span, message));
    }

    /// Starts reading a file. Its tokens precede the rest of the file that includes it.
    fn enter(&mut self, id: FileId, path: Option<PathBuf>) {
        let Some(file) = self.sources.file(id) else { return };
        let path = path.unwrap_or_else(|| PathBuf::from(file.name()));
        let lexer = Lexer::new(id, file.text().clone());
        self.opened += 1;
        self.open.push(OpenFile { id, lexer, conditions: Conditions::default(), path });
    }

    /// Stops reading the innermost file, and reports its conditionals that are still open. Returns
    /// whether another file is still open.
    fn leave(&mut self) -> bool {
        if let Some(mut file) = self.open.pop()
            && !self.exhausted
        {
            for span in file.conditions.unclosed() {
                self.diagnostics.push(
                    Diagnostic::error("preprocessor", span, "this conditional is not closed")
                        .label("expected an `#endif` before the end of the file"),
                );
            }
        }
        !self.open.is_empty()
    }

    /// Adds `tokens` to the number of tokens produced. If there are too many, reports an error once
    /// and stops preprocessing.
    fn count(&mut self, span: Span, tokens: usize) {
        self.produced = self.produced.saturating_add(tokens);
        if self.produced > MAX_TOKENS && !self.exhausted {
            self.exhausted = true;
            self.error(span, format!("the program grows beyond {MAX_TOKENS} tokens here"));
        }
    }

    /// Executes the directives at the current position of the innermost file, and returns the token
    /// that follows them, without expanding macros. The end of an included file counts as a token.
    fn next_from_file(&mut self) -> Token {
        loop {
            let Some(file) = self.open.last_mut() else {
                return end_token(Span::nowhere(), &mut self.symbols);
            };
            let token = if self.exhausted {
                let at = file.lexer.offset() as u32;
                end_token(Span::new(file.id, at, at), &mut self.symbols)
            } else {
                file.lexer.next(&mut self.symbols)
            };
            if token.kind == TokenKind::Hash && token.line_start {
                self.directive(token);
                continue;
            }
            if token.kind != TokenKind::End {
                self.count(token.span, 1);
            }
            return self.execute_conditionals_in_string(token);
        }
    }
}

fn end_token(span: Span, symbols: &mut Interner) -> Token {
    Token {
        kind: TokenKind::End,
        space_before: true,
        line_start: true,
        no_expand: false,
        symbol: symbols.intern(""),
        span,
    }
}
