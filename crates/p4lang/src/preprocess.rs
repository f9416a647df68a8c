//! The preprocessor: `#include`, `#define`, `#if` and the rest of what programs written for p4c rely on.
//!
//! It works on tokens, not on text, so that every token keeps the place where the user wrote it. The rules are those
//! of the C preprocessor as p4c calls it (GNU `cpp` for assembler files: a `#` that starts no known directive inside
//! a macro body is harmless, `$` and quotes may stray), minus what no P4 program uses (`#assert`, `__DATE__`).
//! Includes, macro nesting and the number of tokens are bounded, so every input ends.

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

/// Includes nested deeper than this are an error, as with GNU `cpp`.
const DEEPEST_INCLUDE: usize = 200;

/// More files than this are an error: a file that includes itself twice would never end.
const MOST_FILES: usize = 4096;

/// A program of more tokens than this is an error: macros can grow exponentially. Tests need not wait for so many.
const MOST_TOKENS: usize = if cfg!(test) { 1 << 17 } else { 4 << 20 };

/// What the command line says about reading a program.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// `-I`: where `#include` looks before the built-in files.
    pub include_directories: Vec<PathBuf>,
    /// `-D NAME`, `-D NAME=value`: as written behind `-D`. Without a name that starts with `__TARGET_` among them,
    /// `__TARGET_BMV2__` is 1.
    pub defines: Vec<String>,
    /// `-U NAME`: taken back after the defines.
    pub undefines: Vec<String>,
    /// The largest program that is compiled. Preprocessing itself has limits of its own.
    pub limits: ir::CompileLimits,
}

/// The tokens of a program after preprocessing.
#[derive(Debug)]
pub struct Tokens {
    pub(crate) list: Vec<Token>,
    pub(crate) symbols: Interner,
    /// The empty span at the end of the program.
    pub(crate) end: Span,
    /// The empty text.
    pub(crate) empty: Symbol,
}

/// Reads a program that `sources` holds already, with all that it includes.
///
/// Errors go to `diagnostics`; the tokens are what could be read in spite of them.
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

/// Names that the preprocessor itself knows.
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

/// A file being read.
#[derive(Debug)]
struct OpenFile {
    id: FileId,
    lexer: Lexer,
    conditions: Conditions,
    /// The path that `#include "..."` starts from.
    path: PathBuf,
}

struct Preprocessor<'run> {
    options: &'run Options,
    files: &'run dyn Files,
    sources: &'run mut SourceMap,
    diagnostics: &'run mut Diagnostics,
    symbols: Interner,
    names: Names,
    macros: Macros,
    expansion: Expansion,
    open: Vec<OpenFile>,
    /// Paths with `#pragma once`.
    once: HashSet<PathBuf>,
    opened: usize,
    produced: usize,
    /// A bound was hit: nothing more is read.
    exhausted: bool,
    /// The line of an `#if` is being expanded, where `defined` is an operator.
    in_condition: bool,
}

impl Preprocessor<'_> {
    fn error(&mut self, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error("preprocessor", span, message));
    }

    /// Starts to read a file.
    fn enter(&mut self, id: FileId, path: Option<PathBuf>) {
        let Some(file) = self.sources.file(id) else { return };
        let path = path.unwrap_or_else(|| PathBuf::from(file.name()));
        let lexer = Lexer::new(id, file.text().clone());
        self.opened += 1;
        self.open.push(OpenFile { id, lexer, conditions: Conditions::default(), path });
    }

    /// Ends the file being read; false when it was the program itself.
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

    /// Counts a token; when there are too many, says so once and ends everything.
    fn count(&mut self, span: Span, tokens: usize) {
        self.produced = self.produced.saturating_add(tokens);
        if self.produced > MOST_TOKENS && !self.exhausted {
            self.exhausted = true;
            self.error(span, format!("the program grows beyond {MOST_TOKENS} tokens here"));
        }
    }

    /// The next token of the file being read, directives obeyed, macros not expanded. The end of an included file
    /// is a token too.
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
            return self.obey_in_string(token);
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
