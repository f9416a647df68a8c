//! Decisions for which the parser examines tokens without consuming them: where a type ends, and
//! what kind of statement starts with a name.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use super::scope::{Binding, Scopes};
use super::{DEEPEST_NESTING, Parser, is_name};
use crate::lexer::TokenKind;

/// The kind of construct that starts with a type or a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// The declaration of a variable or an instance.
    Declaration,
    /// A direct invocation, `Type.apply(...)`.
    DirectApplication,
    /// An assignment or a call.
    Other,
}

/// A cache for lookaheads over type arguments. It maps the index of a token `<` to the index after
/// the `>` that closes it. A declaration of a name makes the cache invalid.
#[derive(Debug, Default)]
pub(super) struct LookedAhead {
    ends: RefCell<HashMap<usize, Option<usize>>>,
    /// The [`Scopes::version`] of the scopes for which the cache is valid.
    version: Cell<u64>,
}

impl LookedAhead {
    fn at(&self, open: usize, scopes: &Scopes) -> Option<Option<usize>> {
        if self.version.replace(scopes.version()) != scopes.version() {
            self.ends.take();
        }
        self.ends.borrow().get(&open).copied()
    }

    fn note(&self, open: usize, end: Option<usize>, scopes: &Scopes) {
        debug_assert_eq!(self.version.get(), scopes.version());
        self.ends.borrow_mut().insert(open, end);
    }
}

impl Parser<'_> {
    /// Returns whether the name at the token `index` is a type or a value. If that token is a dot,
    /// this concerns the name after it, which is looked up at top level.
    pub(super) fn binding_at(&self, index: usize) -> Binding {
        let token = self.token_at(index);
        if token.kind == TokenKind::Dot {
            return self.scopes.get_top(self.token_at(index + 1).symbol);
        }
        self.scopes.get(token.symbol)
    }

    /// Returns the kind of statement that starts at the current token.
    pub(super) fn statement_start(&self) -> Start {
        let kind = self.kind();
        if starts_base_type(kind) {
            return Start::Declaration;
        }
        let name_at = self.at + usize::from(kind == TokenKind::Dot);
        if !is_name(self.token_at(name_at).kind) {
            return Start::Other;
        }
        if kind == TokenKind::List && self.kind_ahead(1) == TokenKind::Less {
            return Start::Declaration;
        }
        match self.binding_at(self.at) {
            Binding::Value => Start::Other,
            Binding::Type => match self.type_end(self.at, 0) {
                Some(end) if self.token_at(end).kind == TokenKind::Dot => Start::DirectApplication,
                _ => Start::Declaration,
            },
            Binding::Unknown => self.unknown_start(name_at + 1),
        }
    }

    /// Guesses the kind of a statement that starts with an undeclared name. `after_name` is the
    /// index of the token after the name, and the tokens from there on decide.
    fn unknown_start(&self, after_name: usize) -> Start {
        let mut at = after_name;
        if self.token_at(at).kind == TokenKind::Less
            && let Some(end) = self.type_arguments_end(at, 0)
        {
            at = end;
        }
        while self.token_at(at).kind == TokenKind::LeftBracket
            && let Some(end) = self.closing(at)
        {
            at = end + 1;
        }
        if self.token_at(at).kind == TokenKind::LeftParenthesis
            && let Some(end) = self.closing(at)
        {
            at = end + 1;
        }
        if is_name(self.token_at(at).kind) { Start::Declaration } else { Start::Other }
    }

    /// Returns the index of the bracket that closes the one at the token `open`, or `None` if the
    /// statement ends before that.
    pub(super) fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0usize;
        for (index, token) in self.tokens.iter().enumerate().skip(open) {
            ir::meter::count(1);
            match token.kind {
                TokenKind::LeftParenthesis | TokenKind::LeftBracket | TokenKind::LeftBrace => {
                    depth += 1
                }
                TokenKind::RightParenthesis | TokenKind::RightBracket | TokenKind::RightBrace => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        return Some(index);
                    }
                }
                // A closing bracket is never after the end of the statement.
                TokenKind::Semicolon => return None,
                _ => {}
            }
        }
        None
    }

    /// Returns whether a token of one of `kinds` occurs between the bracket at the current token
    /// and its closing bracket, outside nested brackets.
    pub(super) fn holds_directly(&self, kinds: &[TokenKind]) -> bool {
        let mut depth = 0usize;
        for token in self.tokens.iter().skip(self.at) {
            ir::meter::count(1);
            match token.kind {
                TokenKind::LeftParenthesis | TokenKind::LeftBracket | TokenKind::LeftBrace => {
                    depth += 1
                }
                TokenKind::RightParenthesis | TokenKind::RightBracket | TokenKind::RightBrace => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return false;
                    }
                }
                TokenKind::Semicolon => return false,
                kind if depth == 1 && kinds.contains(&kind) => return true,
                _ => {}
            }
        }
        false
    }

    /// Returns the index after the type that starts at the token `at`, or `None` if no type starts
    /// there. The name of a value is not a type.
    pub(super) fn type_end(&self, at: usize, depth: usize) -> Option<usize> {
        if depth > DEEPEST_NESTING {
            return None;
        }
        ir::meter::count(1);
        let kind = self.token_at(at).kind;
        let end = match kind {
            TokenKind::Bool
            | TokenKind::Error
            | TokenKind::MatchKind
            | TokenKind::StringType
            | TokenKind::Void
            | TokenKind::DontCare => at + 1,
            TokenKind::Bit | TokenKind::Int | TokenKind::Varbit => {
                if self.token_at(at + 1).kind == TokenKind::Less {
                    self.width_end(at + 1, depth + 1)?
                } else {
                    at + 1
                }
            }
            TokenKind::Tuple => self.type_arguments_end(at + 1, depth + 1)?,
            TokenKind::List if self.token_at(at + 1).kind == TokenKind::Less => {
                self.type_arguments_end(at + 1, depth + 1)?
            }
            _ => {
                let name = at + usize::from(kind == TokenKind::Dot);
                if !is_name(self.token_at(name).kind) || self.binding_at(at) == Binding::Value {
                    return None;
                }
                match self.token_at(name + 1).kind {
                    TokenKind::Less => {
                        self.type_arguments_end(name + 1, depth + 1).unwrap_or(name + 1)
                    }
                    _ => name + 1,
                }
            }
        };
        let mut end = end;
        while self.token_at(end).kind == TokenKind::LeftBracket {
            end = self.closing(end)? + 1;
        }
        Some(end)
    }

    /// Returns the index after the width `<expression>` of a type. The expression ends at the first
    /// `>` that is outside brackets and does not close type arguments inside the expression.
    fn width_end(&self, open: usize, depth: usize) -> Option<usize> {
        let mut at = open + 1;
        loop {
            ir::meter::count(1);
            at = match self.token_at(at).kind {
                TokenKind::Greater => return (at > open + 1).then_some(at + 1),
                TokenKind::LeftParenthesis | TokenKind::LeftBracket | TokenKind::LeftBrace => {
                    self.closing(at)? + 1
                }
                TokenKind::Less => self.type_arguments_end(at, depth + 1).unwrap_or(at + 1),
                TokenKind::End
                | TokenKind::Semicolon
                | TokenKind::RightParenthesis
                | TokenKind::RightBracket
                | TokenKind::RightBrace => return None,
                _ => at + 1,
            };
        }
    }

    /// Returns the index after the `>` that closes the type arguments whose `<` is at `open`.
    pub(super) fn type_arguments_end(&self, open: usize, depth: usize) -> Option<usize> {
        if self.token_at(open).kind != TokenKind::Less || depth > DEEPEST_NESTING {
            return None;
        }
        // If the lookahead from one `<` fails, the tokens after it are examined one by one, and a
        // new lookahead starts at each later `<`. The cache prevents this from taking exponential
        // time.
        if let Some(known) = self.looked_ahead.at(open, &self.scopes) {
            return known;
        }
        let end = self.new_type_arguments_end(open, depth);
        self.looked_ahead.note(open, end, &self.scopes);
        end
    }

    fn new_type_arguments_end(&self, open: usize, depth: usize) -> Option<usize> {
        let mut at = open + 1;
        if self.token_at(at).kind == TokenKind::Greater {
            return Some(at + 1);
        }
        loop {
            at = self.type_end(at, depth + 1)?;
            match self.token_at(at).kind {
                TokenKind::Comma => at += 1,
                TokenKind::Greater => return Some(at + 1),
                _ => return None,
            }
        }
    }

    /// Returns whether the `<` at the current token starts the type arguments of a call.
    pub(super) fn call_with_type_arguments(&self) -> bool {
        self.is(TokenKind::Less)
            && self
                .type_arguments_end(self.at, 0)
                .is_some_and(|end| self.token_at(end).kind == TokenKind::LeftParenthesis)
    }

    /// Returns whether the `(` at the current token starts a cast.
    pub(super) fn cast_follows(&self) -> bool {
        let inner = self.at + 1;
        let Some(end) = self.type_end(inner, 0) else { return false };
        if self.token_at(end).kind != TokenKind::RightParenthesis {
            return false;
        }
        let kind = self.token_at(inner).kind;
        if starts_base_type(kind)
            || kind == TokenKind::List
            || self.binding_at(inner) == Binding::Type
        {
            return true;
        }
        // If the name is undeclared, a cast is assumed if the next token can start an operand but
        // cannot follow one.
        let next = self.token_at(end + 1).kind;
        is_name(next)
            || matches!(
                next,
                TokenKind::Number
                    | TokenKind::String
                    | TokenKind::True
                    | TokenKind::False
                    | TokenKind::This
                    | TokenKind::LeftBrace
                    | TokenKind::LeftParenthesis
                    | TokenKind::Complement
                    | TokenKind::Not
            )
    }
}

/// Returns whether a keyword starts a type in every context.
pub(super) fn starts_base_type(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Bool
            | TokenKind::Error
            | TokenKind::MatchKind
            | TokenKind::StringType
            | TokenKind::Void
            | TokenKind::Bit
            | TokenKind::Int
            | TokenKind::Varbit
            | TokenKind::Tuple
    )
}
