//! Execution of directives, which start with a `#` at the beginning of a line.

use super::Preprocessor;
use super::macros::is_name;
use crate::diagnostic::Diagnostic;
use crate::lexer::{Symbol, Token, TokenKind};
use crate::source::Span;

impl Preprocessor<'_> {
    /// Executes the directive that starts with the token `hash`.
    pub(super) fn directive(&mut self, hash: Token) {
        let Some(name) = self.next_in_line() else { return };
        let span = hash.span.to(name.span);
        let text = self.symbols.text(name.symbol);
        match &*text {
            "include" => self.directive_include(span),
            "define" => {
                let line = self.rest_of_line();
                self.define(&line, span);
            }
            "undef" => {
                let line = self.rest_of_line();
                match line.as_slice() {
                    [name] if is_name(name.kind) => self.macros.remove(name.symbol),
                    _ => self.error(span, "`#undef` needs one name"),
                }
            }
            "if" => {
                let line = self.rest_of_line();
                let holds = self.condition(&line, span);
                self.open_condition(span, holds);
            }
            "ifdef" | "ifndef" => {
                let line = self.rest_of_line();
                let holds = match line.first() {
                    Some(name) if is_name(name.kind) => {
                        self.is_macro(name.symbol) == (&*text == "ifdef")
                    }
                    _ => {
                        self.error(span, format!("`#{text}` needs a name"));
                        false
                    }
                };
                self.open_condition(span, holds);
            }
            // The branch that was taken ends here, so the remaining branches are skipped.
            "elif" | "elifdef" | "elifndef" | "else" => {
                self.rest_of_line();
                let Some(condition) =
                    self.conditions().and_then(|conditions| conditions.innermost())
                else {
                    self.error(span, format!("`#{text}` without `#if`"));
                    return;
                };
                if condition.else_seen {
                    self.error(span, format!("`#{text}` after `#else`"));
                } else {
                    condition.else_seen = &*text == "else";
                }
                self.skip_branches();
            }
            "endif" => {
                self.rest_of_line();
                if !self.conditions().is_some_and(super::Conditions::close) {
                    self.error(span, "`#endif` without `#if`");
                }
            }
            "error" | "warning" => {
                let message = self.raw_rest_of_line();
                let kind = if &*text == "error" { "preprocessor" } else { "warning-directive" };
                let diagnostic = match &*text {
                    "error" => Diagnostic::error(kind, span, format!("#error {message}")),
                    _ => Diagnostic::warning(kind, span, format!("#warning {message}")),
                };
                self.diagnostics.push(diagnostic);
            }
            "line" => {
                let line = self.rest_of_line();
                let line = self.expand_line(line);
                self.directive_line(&line, span);
            }
            "pragma" => {
                let line = self.rest_of_line();
                let once = self.symbols.intern("once");
                if line.len() == 1 && line[0].symbol == once {
                    let path = self.open.last().map(|file| file.path.clone());
                    self.once.extend(path);
                }
            }
            "ident" => {
                self.rest_of_line();
            }
            // `# 12 "file.p4"` is a line marker in the output of another preprocessor.
            _ if name.kind == TokenKind::Number => {
                let mut line = vec![name];
                line.extend(self.rest_of_line());
                self.directive_line(&line, span);
            }
            _ => {
                self.rest_of_line();
                self.diagnostics.push(
                    Diagnostic::error("preprocessor", span, format!("there is no directive `#{text}`"))
                        .note("known are include, define, undef, if, ifdef, ifndef, elif, else, endif, pragma, error, warning, line"),
                );
            }
        }
    }

    fn next_in_line(&mut self) -> Option<Token> {
        let file = self.open.last_mut()?;
        file.lexer.next_in_line(&mut self.symbols)
    }

    /// Returns the tokens up to the end of the directive's line.
    fn rest_of_line(&mut self) -> Vec<Token> {
        let mut line = Vec::new();
        while let Some(token) = self.next_in_line() {
            if token.kind == TokenKind::UnterminatedComment {
                // A comment that is not closed contains the rest of the file, so it is reported
                // even if the directive ignores its line.
                self.error(token.span, "this comment is not closed");
            } else {
                line.push(token);
            }
        }
        line
    }

    fn raw_rest_of_line(&mut self) -> String {
        let Some(file) = self.open.last_mut() else { return String::new() };
        let text = file.lexer.rest_of_line().to_owned();
        file.lexer.skip_raw_line();
        text
    }

    fn conditions(&mut self) -> Option<&mut super::Conditions> {
        self.open.last_mut().map(|file| &mut file.conditions)
    }

    pub(super) fn is_macro(&self, name: Symbol) -> bool {
        let names = self.names;
        self.macros.is_defined(name)
            || name == names.line
            || name == names.file
            || name == names.counter
    }

    fn open_condition(&mut self, span: Span, holds: bool) {
        if let Some(conditions) = self.conditions() {
            conditions.open(span, holds);
        }
        if !holds {
            self.skip_branches();
        }
    }

    /// Skips text until a branch of the innermost conditional has a true condition, or until the
    /// conditional ends.
    fn skip_branches(&mut self) {
        // The number of conditionals that were opened inside the skipped text and not closed yet.
        let mut inner = 0usize;
        loop {
            let Some(token) = self.next_skipped() else { return };
            if token.kind != TokenKind::Hash || !token.line_start {
                continue;
            }
            let Some(name) = self.next_in_line() else { continue };
            let span = token.span.to(name.span);
            let text = self.symbols.text(name.symbol);
            match &*text {
                "if" | "ifdef" | "ifndef" => inner += 1,
                "endif" if inner > 0 => inner -= 1,
                "endif" => {
                    self.rest_of_line();
                    if let Some(conditions) = self.conditions() {
                        conditions.close();
                    }
                    return;
                }
                "elif" | "else" | "elifdef" | "elifndef" if inner == 0 => {
                    let Some(condition) =
                        self.conditions().and_then(|conditions| conditions.innermost())
                    else {
                        return;
                    };
                    let (taken, after_else) = (condition.taken, condition.else_seen);
                    condition.else_seen |= &*text == "else";
                    if after_else {
                        self.error(span, format!("`#{text}` after `#else`"));
                        continue;
                    }
                    if taken {
                        continue;
                    }
                    let line = self.rest_of_line();
                    let holds = match &*text {
                        "else" => true,
                        "elif" => self.condition(&line, span),
                        _ => {
                            line.first().is_some_and(|name| self.is_macro(name.symbol))
                                == (&*text == "elifdef")
                        }
                    };
                    if holds {
                        if let Some(condition) =
                            self.conditions().and_then(|conditions| conditions.innermost())
                        {
                            condition.taken = true;
                        }
                        return;
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns the next token of skipped text, or `None` at the end of the file.
    fn next_skipped(&mut self) -> Option<Token> {
        if self.exhausted {
            return None;
        }
        let file = self.open.last_mut()?;
        let token = file.lexer.next_in_skipped_text(&mut self.symbols);
        (token.kind != TokenKind::End).then_some(token)
    }

    fn directive_include(&mut self, span: Span) {
        // A file name in angle brackets is arbitrary text and not split into tokens.
        let bracketed = self.open.last().and_then(|file| file.lexer.bracketed());
        let (name, quoted, at) = match bracketed {
            Some((name, at)) => {
                self.raw_rest_of_line();
                (name, false, at)
            }
            None => {
                let line = self.rest_of_line();
                let line = self.expand_line(line);
                match self.include_name(&line) {
                    Some(found) => found,
                    None => {
                        self.error(span, "`#include` needs \"file\" or <file>");
                        return;
                    }
                }
            }
        };
        self.include(&name, quoted, at);
    }

    /// Returns the file name in the tokens of an `#include`, which is a string or the text between
    /// `<` and `>`. Also returns whether it is in quotes, and its location. Returns `None` for any
    /// other tokens.
    fn include_name(&self, line: &[Token]) -> Option<(String, bool, Span)> {
        let first = line.first()?;
        let last = line.last()?;
        match first.kind {
            TokenKind::String => {
                let name = self.symbols.str(first.symbol).trim_matches('"').to_owned();
                Some((name, true, first.span))
            }
            TokenKind::Less if last.kind == TokenKind::Greater => {
                let name = line[1..line.len() - 1]
                    .iter()
                    .map(|token| self.symbols.str(token.symbol))
                    .collect();
                Some((name, false, first.span.to(last.span)))
            }
            _ => None,
        }
    }

    /// Executes a directive such as `#line 12 "file.p4"`, which sets the number of the next line
    /// and the file name.
    fn directive_line(&mut self, line: &[Token], span: Span) {
        let number =
            line.first().and_then(|token| self.symbols.str(token.symbol).parse::<u32>().ok());
        let name = match line.get(1) {
            Some(token) if token.kind == TokenKind::String => {
                Some(self.symbols.str(token.symbol).trim_matches('"').to_owned())
            }
            _ => None,
        };
        let Some(number) = number else {
            self.error(span, "`#line` needs a line number");
            return;
        };
        if let Some(file) = self.open.last() {
            // The lexer has not yet read the line break at the end of the directive.
            let next = file.lexer.offset() as u32 + 1;
            self.sources.add_line_marker(file.id, next, number, name);
        }
    }
}
