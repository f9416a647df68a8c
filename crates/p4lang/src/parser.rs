//! The parser: tokens to a syntax tree, by recursive descent.
//!
//! P4's grammar depends on which names are types: `(x) - 1` is a cast if `x` is one, `a < b > (c)` is a call if `b`
//! is one. The parser therefore keeps scopes, but only of that one fact (`scope`); where a name was never
//! declared it guesses from the tokens that follow, so that the checker can say "undeclared". An error is reported
//! where it is met and the construct is given up with `Err(Failed)`; lists of declarations and statements then skip
//! to the next place where one can start, so that one run reports several errors. Nesting is bounded
//! ([`DEEPEST_NESTING`], [`LONGEST_CHAIN`]), and so is every recursive walk over the tree.

mod annotation;
mod callable;
mod control;
mod declaration;
mod expression;
mod literal;
mod lookahead;
mod scope;
mod state;
mod statement;
mod table;
#[cfg(test)]
pub(crate) mod tests;
mod types;

use crate::ast::{
    Declaration, DeclarationId, Expression, ExpressionId, ExpressionKind, Name, Program, Type,
    TypeId, TypeKind,
};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::lexer::{Interner, Token, TokenKind};
use crate::preprocess::Tokens;
use crate::source::Span;
use scope::{Binding, Scopes};

/// Expressions, statements and types nested deeper than this, taken together, are an error.
///
/// Passes may recurse over the tree; each must get by with this many levels on the stack that
/// [`ir::with_large_stack`] gives it.
pub const DEEPEST_NESTING: usize = 400;

/// Longer chains are an error: of operators in one expression (`a + b + c`), and of `else if`.
///
/// A chain is a tree as deep as it is long, although nobody who reads it would call it deep.
pub const LONGEST_CHAIN: usize = 10_000;

/// Parses a whole program. What is wrong goes to `diagnostics`; the tree holds what could be understood.
pub fn parse(tokens: &Tokens, diagnostics: &mut Diagnostics) -> Program {
    let mut parser = Parser::new(tokens, diagnostics);
    let declarations = parser.program();
    Program {
        declarations,
        expression_count: parser.expressions,
        type_count: parser.types,
        declaration_count: parser.declarations,
    }
}

/// A construct was given up; the error is reported already.
#[derive(Debug, Clone, Copy)]
struct Failed;

type Parse<T> = Result<T, Failed>;

struct Parser<'run> {
    tokens: &'run [Token],
    symbols: &'run Interner,
    diagnostics: &'run mut Diagnostics,
    at: usize,
    /// What stands behind the last token.
    end: Token,
    scopes: Scopes,
    /// It was said that the program ends too early.
    ended: bool,
    depth: usize,
    /// Levels of `else if` around the current place.
    alternatives: usize,
    /// Binary operators so far in the outermost expression around the current place; `None` outside of all.
    operators: Option<usize>,
    /// Within the angle brackets of a width, outside of inner brackets: `>` closes and compares nothing.
    in_width: bool,
    looked_ahead: lookahead::LookedAhead,
    expressions: u32,
    types: u32,
    declarations: u32,
}

impl<'run> Parser<'run> {
    fn new(tokens: &'run Tokens, diagnostics: &'run mut Diagnostics) -> Self {
        Self {
            tokens: &tokens.list,
            symbols: &tokens.symbols,
            diagnostics,
            at: 0,
            end: Token {
                kind: TokenKind::End,
                space_before: true,
                line_start: true,
                no_expand: false,
                symbol: tokens.empty,
                span: tokens.end,
            },
            scopes: Scopes::new(tokens.symbols.len()),
            ended: false,
            depth: 0,
            alternatives: 0,
            operators: None,
            in_width: false,
            looked_ahead: lookahead::LookedAhead::default(),
            expressions: 0,
            types: 0,
            declarations: 0,
        }
    }

    fn program(&mut self) -> Vec<Declaration> {
        let mut out = Vec::new();
        while !self.is(TokenKind::End) {
            let before = self.at;
            if self.take(TokenKind::Semicolon) {
                continue;
            }
            if self.is(TokenKind::RightBrace) {
                // After an error the braces may be out of step; then this one says nothing new.
                if !self.diagnostics.has_errors() {
                    self.error_here("this `}` closes nothing");
                }
                self.advance();
                continue;
            }
            if self.top_level_declaration(&mut out).is_err() {
                self.scopes.leave_all();
                self.recover(before);
            }
        }
        out
    }

    // Tokens.

    fn token(&self) -> Token {
        self.tokens.get(self.at).copied().unwrap_or(self.end)
    }

    fn token_at(&self, index: usize) -> Token {
        self.tokens.get(index).copied().unwrap_or(self.end)
    }

    fn kind(&self) -> TokenKind {
        self.token().kind
    }

    fn kind_ahead(&self, distance: usize) -> TokenKind {
        self.token_at(self.at + distance).kind
    }

    fn is(&self, kind: TokenKind) -> bool {
        self.kind() == kind
    }

    fn advance(&mut self) -> Token {
        ir::meter::count(1);
        let token = self.token();
        self.at = (self.at + 1).min(self.tokens.len());
        token
    }

    fn take(&mut self, kind: TokenKind) -> bool {
        let matches = self.is(kind);
        if matches {
            self.advance();
        }
        matches
    }

    /// Where the last token that was taken stands.
    fn previous(&self) -> Span {
        self.at.checked_sub(1).map_or(self.token().span, |before| self.token_at(before).span)
    }

    /// From `start` to the last token that was taken.
    fn since(&self, start: Span) -> Span {
        start.to(self.previous())
    }

    // Errors.

    fn error(&mut self, span: Span, message: impl Into<String>) -> Failed {
        self.diagnostics.push(Diagnostic::error("syntax", span, message));
        Failed
    }

    fn error_here(&mut self, message: impl Into<String>) -> Failed {
        let token = self.token();
        match token.kind {
            TokenKind::UnterminatedString => self.error(token.span, "this string is not closed"),
            TokenKind::UnterminatedComment => self.error(token.span, "this comment is not closed"),
            _ => self.error(token.span, message),
        }
    }

    /// Reports that something else stands where `what` must.
    fn expected(&mut self, what: &str) -> Failed {
        let token = self.token();
        if matches!(token.kind, TokenKind::UnterminatedString | TokenKind::UnterminatedComment) {
            return self.error_here("");
        }
        if token.kind == TokenKind::End && std::mem::replace(&mut self.ended, true) {
            // The program ends inside several constructs at once: once is enough.
            return Failed;
        }
        let found = self.describe(token);
        // What is missing at the end of a line is shown there and not on the next.
        let span = match self.at.checked_sub(1).map(|before| self.token_at(before)) {
            Some(before) if token.line_start || token.kind == TokenKind::End => {
                Span::new(before.span.file, before.span.end, before.span.end)
            }
            _ => token.span,
        };
        let label = format!("expected {what}");
        self.diagnostics.push(
            Diagnostic::error("syntax", span, format!("expected {what}, found {found}"))
                .label(label),
        );
        Failed
    }

    fn describe(&self, token: Token) -> String {
        let text = self.symbols.str(token.symbol);
        match token.kind {
            TokenKind::End => "the end of the program".to_owned(),
            TokenKind::String => "a string".to_owned(),
            kind if kind.is_keyword() => format!("the keyword `{text}`"),
            _ => format!("`{text}`"),
        }
    }

    fn expect(&mut self, kind: TokenKind) -> Parse<Span> {
        if self.is(kind) {
            return Ok(self.advance().span);
        }
        let what =
            kind.text().map_or_else(|| "something else".to_owned(), |text| format!("`{text}`"));
        Err(self.expected(&what))
    }

    /// Reports that something else stands where `what` or the brace must that closes the one at `open`.
    fn expected_or_brace(&mut self, what: &str, open: Span) -> Failed {
        let failed = self.expected(&format!("{what} or `}}`"));
        if self.is(TokenKind::End) {
            self.diagnostics.add_secondary(open, "this `{` is not closed");
        }
        failed
    }

    /// Goes on to where a declaration or statement can start after one that began at `started` and was given up.
    /// At least one token is taken unless a brace or the end stands there.
    fn recover(&mut self, started: usize) {
        let taken = self.tokens.get(started..self.at).unwrap_or(&[]);
        // Braces that the given-up construct opened.
        let mut depth = taken.iter().fold(0usize, |depth, token| match token.kind {
            TokenKind::LeftBrace => depth + 1,
            TokenKind::RightBrace => depth.saturating_sub(1),
            _ => depth,
        });
        if depth == 0 && taken.last().is_some_and(|token| token.kind == TokenKind::RightBrace) {
            return;
        }
        loop {
            let token = self.token();
            match token.kind {
                TokenKind::End => return,
                TokenKind::RightBrace if depth == 0 => return,
                TokenKind::RightBrace if depth == 1 => {
                    self.advance();
                    return;
                }
                TokenKind::RightBrace => depth -= 1,
                TokenKind::LeftBrace => depth += 1,
                TokenKind::Semicolon if depth == 0 => {
                    self.advance();
                    return;
                }
                kind if depth == 0
                    && token.line_start
                    && self.at > started
                    && starts_declaration(kind) =>
                {
                    return;
                }
                _ => {}
            }
            self.advance();
        }
    }

    /// Runs `parse` one level deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        self.deeper()?;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// Counts a level of nesting; the caller counts it back.
    fn deeper(&mut self) -> Parse<()> {
        if self.depth >= DEEPEST_NESTING {
            return Err(self.error_here(format!("this nests deeper than {DEEPEST_NESTING} levels")));
        }
        self.depth += 1;
        Ok(())
    }

    /// Counts an operator of the outermost expression.
    fn one_more_operator(&mut self) -> Parse<()> {
        let count = self.operators.get_or_insert(0);
        *count += 1;
        if *count > LONGEST_CHAIN {
            return Err(self.error_here(format!(
                "an expression has at most {LONGEST_CHAIN} binary operators"
            )));
        }
        Ok(())
    }

    /// Runs `parse` in a scope of its own.
    fn scoped<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        let mark = self.scopes.enter();
        let result = parse(self);
        self.scopes.leave(mark);
        result
    }

    // Nodes.

    fn declaration_id(&mut self) -> DeclarationId {
        self.declarations += 1;
        DeclarationId::new(self.declarations - 1)
    }

    fn expression(&mut self, span: Span, kind: ExpressionKind) -> Expression {
        self.expressions += 1;
        Expression { id: ExpressionId::new(self.expressions - 1), span, kind }
    }

    fn ty(&mut self, span: Span, kind: TypeKind) -> Type {
        self.types += 1;
        Type { id: TypeId::new(self.types - 1), span, kind }
    }

    // Names.

    fn name_of(&self, token: Token) -> Name {
        Name { text: self.symbols.text(token.symbol), span: token.span }
    }

    /// A name where one is declared or follows a dot.
    fn name(&mut self, what: &str) -> Parse<Name> {
        if !is_name(self.kind()) {
            return Err(self.expected(what));
        }
        let token = self.advance();
        Ok(self.name_of(token))
    }

    /// A name that is declared to be a type or a value from here on.
    fn declared_name(&mut self, what: &str, binding: Binding) -> Parse<Name> {
        if !is_name(self.kind()) {
            return Err(self.expected(what));
        }
        let token = self.advance();
        self.scopes.declare(token.symbol, binding);
        Ok(self.name_of(token))
    }

    /// Items separated by commas up to `close`, which is taken.
    fn list<T>(
        &mut self,
        close: TokenKind,
        what: &str,
        mut item: impl FnMut(&mut Self) -> Parse<T>,
    ) -> Parse<Vec<T>> {
        let mut out = Vec::new();
        if self.take(close) {
            return Ok(out);
        }
        loop {
            out.push(item(self)?);
            if self.take(close) {
                return Ok(out);
            }
            if !self.take(TokenKind::Comma) {
                let close = close.text().unwrap_or("");
                return Err(self.expected(&format!("`,` or `{close}` after {what}")));
            }
        }
    }

    /// As [`Parser::list`]; a comma may stand behind the last item.
    fn list_with_trailing_comma<T>(
        &mut self,
        close: TokenKind,
        what: &str,
        mut item: impl FnMut(&mut Self) -> Parse<T>,
    ) -> Parse<Vec<T>> {
        let mut items = self.list(close, what, |parser| {
            if parser.is(close) { Ok(None) } else { item(parser).map(Some) }
        })?;
        // Only the last can be missing, since nothing but `close` stands where it is.
        if items.last().is_some_and(Option::is_none) {
            items.pop();
        }
        Ok(items.into_iter().flatten().collect())
    }
}

/// Whether a token can name something: identifiers and the keywords that are none everywhere (§6.4.2).
fn is_name(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Identifier
            | TokenKind::Apply
            | TokenKind::Key
            | TokenKind::Actions
            | TokenKind::State
            | TokenKind::Entries
            | TokenKind::Type
            | TokenKind::Priority
            | TokenKind::List
    )
}

/// Keywords that start a declaration at the beginning of a line, whatever came before.
fn starts_declaration(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Action
            | TokenKind::Const
            | TokenKind::Control
            | TokenKind::Enum
            | TokenKind::Extern
            | TokenKind::Header
            | TokenKind::HeaderUnion
            | TokenKind::Package
            | TokenKind::Parser
            | TokenKind::Struct
            | TokenKind::Table
            | TokenKind::Typedef
    )
}
