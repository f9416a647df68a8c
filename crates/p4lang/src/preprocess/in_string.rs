//! Conditional directives inside string literals that span several lines.
//!
//! GNU `cpp` does not support string literals that span lines, so it executes an `#if` even in the
//! middle of one. The programs of SONiC rely on this, since their `@entry_restriction` differs
//! between switches. Here, every conditional directive and every skipped line is replaced by an
//! empty line. Other directives in a string are not executed.

use super::Preprocessor;
use crate::lexer::{Lexer, Token, TokenKind};

/// A conditional directive in a string literal whose `#endif` has not been read yet.
struct Open {
    /// Whether the text around the conditional is kept.
    outer: bool,
    /// Whether the text of the current branch is kept.
    holds: bool,
    /// Whether the condition of an earlier branch was true, so that later branches are skipped.
    taken: bool,
}

impl Preprocessor<'_> {
    /// If the token is a string, returns it without the text that conditional directives inside it
    /// skip. Returns any other token unchanged.
    pub(super) fn execute_conditionals_in_string(&mut self, token: Token) -> Token {
        if token.kind != TokenKind::String {
            return token;
        }
        let text = self.symbols.str(token.symbol).to_owned();
        let directive = |line: &str| line.trim_start().starts_with('#');
        if !text.lines().skip(1).any(directive) {
            return token;
        }
        let mut open: Vec<Open> = Vec::new();
        let mut kept = String::with_capacity(text.len());
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                kept.push('\n');
            }
            let is_directive =
                number > 0 && directive(line) && self.conditional_in_string(line, token, &mut open);
            let there = open.last().is_none_or(|open| open.outer && open.holds);
            // The last line with the closing quote is always kept.
            let last = number > 0 && line.ends_with('"') && text.ends_with(line);
            if !is_directive && (there || last) {
                kept.push_str(line);
            }
        }
        Token { symbol: self.symbols.intern(&kept), ..token }
    }

    /// If a line of a string literal is a conditional directive, executes it. Returns whether it is
    /// one.
    fn conditional_in_string(&mut self, line: &str, token: Token, open: &mut Vec<Open>) -> bool {
        let directive = line.trim_start().trim_start_matches('#').trim_start();
        let end = directive.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(directive.len());
        let (name, rest) = directive.split_at(end);
        let outer = open.last().is_none_or(|open| open.outer && open.holds);
        match name {
            "if" | "ifdef" | "ifndef" => {
                let holds = outer && self.holds_in_string(name, rest, token);
                open.push(Open { outer, holds, taken: holds });
            }
            "elif" | "elifdef" | "elifndef" | "else" => {
                let Some(Open { outer, taken, .. }) = open.pop() else { return false };
                let holds =
                    outer && !taken && (name == "else" || self.holds_in_string(name, rest, token));
                open.push(Open { outer, holds, taken: taken || holds });
            }
            "endif" => return open.pop().is_some(),
            _ => return false,
        }
        true
    }

    fn holds_in_string(&mut self, name: &str, rest: &str, token: Token) -> bool {
        let mut lexer = Lexer::new(token.span.file, rest.into());
        let mut line = self.line_tokens(&mut lexer);
        // Diagnostics about the condition refer to the string as a whole.
        for part in &mut line {
            part.span = token.span;
        }
        match name {
            "if" | "elif" => self.condition(&line, token.span),
            _ => {
                let defined = line.first().is_some_and(|name| self.is_macro(name.symbol));
                defined != name.ends_with("ndef")
            }
        }
    }
}
