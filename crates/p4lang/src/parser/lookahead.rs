//! Looking ahead without building anything: where types end, and what a statement that starts with a name is.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use super::scope::{Binding, Scopes};
use super::{DEEPEST_NESTING, Parser, is_name};
use crate::lexer::TokenKind;

/// What a run of tokens that starts with a type or a name turns out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// A variable or an instance.
    Declaration,
    /// `Type.apply(...)`.
    DirectApplication,
    /// An assignment or a call.
    Other,
}

/// Where type arguments end that start at a token, found once while no name is declared.
#[derive(Debug, Default)]
pub(super) struct LookedAhead {
    ends: RefCell<HashMap<usize, Option<usize>>>,
    /// The state of the scopes at that time.
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
    /// What the name at `index`, after an optional dot, is bound to.
    pub(super) fn binding_at(&self, index: usize) -> Binding {
        let token = self.token_at(index);
        if token.kind == TokenKind::Dot {
            return self.scopes.get_top(self.token_at(index + 1).symbol);
        }
        self.scopes.get(token.symbol)
    }

    /// What kind of statement stands here.
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

    /// A statement that starts with a name nobody declared: what follows it says what was meant.
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

    /// The index of the bracket that closes the one at `open`.
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
                // No bracket reaches over the end of a statement.
                TokenKind::Semicolon => return None,
                _ => {}
            }
        }
        None
    }

    /// Whether one of `kinds` stands between the bracket at the current place and its closing one, outside inner
    /// brackets.
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

    /// The index after the type that starts at `at`; `None` if none does. Names that are values are no types.
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

    /// The index after `<expression>`: the first `>` outside of brackets ends it, other than that of types and calls
    /// with arguments of their own.
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

    /// The index after the `>` that closes the type arguments whose `<` stands at `open`.
    pub(super) fn type_arguments_end(&self, open: usize, depth: usize) -> Option<usize> {
        if self.token_at(open).kind != TokenKind::Less || depth > DEEPEST_NESTING {
            return None;
        }
        // A width that turns out to be no type is looked at token by token, and each `<` in it again.
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

    /// Whether the `<` here opens the type arguments of a call.
    pub(super) fn call_with_type_arguments(&self) -> bool {
        self.is(TokenKind::Less)
            && self
                .type_arguments_end(self.at, 0)
                .is_some_and(|end| self.token_at(end).kind == TokenKind::LeftParenthesis)
    }

    /// Whether the `(` here opens a cast.
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
        // An unknown name: a cast if an operand follows that no operator could precede.
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

/// Whether a keyword starts a type wherever it stands.
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
