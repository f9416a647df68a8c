//! The parser, which builds the syntax tree from tokens by recursive descent.
//!
//! The grammar of P4 depends on which names are types: `(x) - 1` is a cast if `x` is a type, and `a
//! < b > (c)` is a call if `b` is a type. The parser therefore tracks scopes, but only to
//! distinguish types from values (`scope`). If a name was never declared, the parser guesses from
//! the tokens that follow, so that the checker can report the undeclared name. A syntax error is
//! reported where it is detected, and the construct is abandoned with `Err(Failed)`. Lists of
//! declarations and statements then skip to the next token at which a declaration or statement can
//! start, so that one run reports several errors. The nesting depth of the tree is limited
//! ([`DEEPEST_NESTING`], [`LONGEST_CHAIN`]), which limits the depth of every recursive traversal.

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

/// The largest nesting depth of expressions, statements and types together.
///
/// Passes may recurse over the tree. Each of them must be able to recurse to this depth on the
/// stack that [`ir::with_large_stack`] provides.
pub const DEEPEST_NESTING: usize = 400;

/// The largest length of a chain of binary operators in one expression (`a + b + c`), and of a
/// chain of `else if` branches.
///
/// The tree for a chain is as deep as the chain is long, although the source text does not look
/// nested. Chains therefore have a higher limit than [`DEEPEST_NESTING`].
pub const LONGEST_CHAIN: usize = 10_000;

/// Parses a whole program. Errors are reported to `diagnostics`. The tree contains the parts that
/// could be parsed.
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

/// The error of a parsing function, which has already reported it and abandoned the construct.
#[derive(Debug, Clone, Copy)]
struct Failed;

/// The result of parsing a construct. An error in it was already reported.
type Parse<T> = Result<T, Failed>;

/// The state of parsing one program.
struct Parser<'run> {
    tokens: &'run [Token],
    symbols: &'run Interner,
    diagnostics: &'run mut Diagnostics,
    /// The index of the current token.
    at: usize,
    /// A token for the end of the program. It follows the last token.
    end: Token,
    scopes: Scopes,
    /// Whether an unexpected end of the program was reported. It is reported only once.
    ended: bool,
    /// The nesting depth of the current construct, which is limited by [`DEEPEST_NESTING`].
    depth: usize,
    /// The number of `else if` branches that enclose the current token.
    alternatives: usize,
    /// The number of binary operators so far in the outermost expression that is being parsed, or
    /// `None` outside expressions.
    operators: Option<usize>,
    /// Whether the parser is inside the angle brackets of a width, as in `bit<W>`, and not inside
    /// further brackets within them. There, `>` is not an operator but ends the width.
    in_width: bool,
    looked_ahead: lookahead::LookedAhead,
    /// The number of expressions so far, which is the id of the next expression. The next two
    /// fields are the same numbers for types and declarations.
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
                // After another error, the braces may be unbalanced, so a surplus brace would only
                // be a consequence of it.
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

    /// Returns the location of the token that was consumed last.
    fn previous(&self) -> Span {
        self.at.checked_sub(1).map_or(self.token().span, |before| self.token_at(before).span)
    }

    /// Returns the location from the start of `start` to the end of the token that was consumed
    /// last.
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

    /// Reports that `what` was expected in the place of the current token.
    fn expected(&mut self, what: &str) -> Failed {
        let token = self.token();
        if matches!(token.kind, TokenKind::UnterminatedString | TokenKind::UnterminatedComment) {
            return self.error_here("");
        }
        if token.kind == TokenKind::End && std::mem::replace(&mut self.ended, true) {
            // An unexpected end of the program is inside several constructs at the same time, but
            // is reported only once.
            return Failed;
        }
        let found = self.describe(token);
        // If a token is missing at the end of a line, the error is reported there and not in the
        // next line.
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

    /// Reports that the current token is neither `what` nor the brace that closes the one at
    /// `open`.
    fn expected_or_brace(&mut self, what: &str, open: Span) -> Failed {
        let failed = self.expected(&format!("{what} or `}}`"));
        if self.is(TokenKind::End) {
            self.diagnostics.add_secondary(open, "this `{` is not closed");
        }
        failed
    }

    /// Skips tokens after an error, up to a token at which a declaration or statement can start.
    /// `started` is the position of the first token of the construct with the error. Skips nothing
    /// if the construct already ended with its `}`, or if the current token is a `}`, the end of
    /// the program, or a keyword that starts a declaration in a new line after `started`.
    fn recover(&mut self, started: usize) {
        let taken = self.tokens.get(started..self.at).unwrap_or(&[]);
        // The number of braces that the abandoned construct opened.
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

    /// Runs `parse` with the nesting depth increased by one. If the depth then exceeds the limit,
    /// reports an error instead.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        self.deeper()?;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// Increments the nesting depth, which the caller must decrement later. Reports an error if it
    /// exceeds the limit.
    fn deeper(&mut self) -> Parse<()> {
        if self.depth >= DEEPEST_NESTING {
            return Err(self.error_here(format!("this nests deeper than {DEEPEST_NESTING} levels")));
        }
        self.depth += 1;
        Ok(())
    }

    /// Counts a binary operator of the outermost expression. Reports an error if there are too
    /// many.
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

    /// Runs `parse` in a new scope.
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

    /// Parses a name that the parser's scopes need not record, such as the name of a field. `what`
    /// describes the name in errors.
    fn name(&mut self, what: &str) -> Parse<Name> {
        if !is_name(self.kind()) {
            return Err(self.expected(what));
        }
        let token = self.advance();
        Ok(self.name_of(token))
    }

    /// Parses a name, and declares it as a type or a value for the rest of the current scope.
    /// `what` describes the name in errors.
    fn declared_name(&mut self, what: &str, binding: Binding) -> Parse<Name> {
        if !is_name(self.kind()) {
            return Err(self.expected(what));
        }
        let token = self.advance();
        self.scopes.declare(token.symbol, binding);
        Ok(self.name_of(token))
    }

    /// Parses items separated by commas up to `close`, which is consumed.
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

    /// Parses items like [`Parser::list`], but accepts a comma after the last one.
    fn list_with_trailing_comma<T>(
        &mut self,
        close: TokenKind,
        what: &str,
        mut item: impl FnMut(&mut Self) -> Parse<T>,
    ) -> Parse<Vec<T>> {
        let mut items = self.list(close, what, |parser| {
            if parser.is(close) { Ok(None) } else { item(parser).map(Some) }
        })?;
        // An item is `None` only directly before `close`, so only the last one can be `None`.
        if items.last().is_some_and(Option::is_none) {
            items.pop();
        }
        Ok(items.into_iter().flatten().collect())
    }
}

/// Returns whether a token can be a name: an identifier, or a keyword that the grammar also accepts
/// as a name (§6.4.2).
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

/// Returns whether a keyword at the beginning of a line always starts a declaration, whatever the
/// tokens before it are.
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
