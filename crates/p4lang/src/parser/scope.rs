//! Scopes of the parser, which record whether each name is currently a type or a value.

use crate::ast::Name;
use crate::lexer::{Interner, Symbol};

/// The meaning of a name (a type or a value), as far as the parser needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Binding {
    /// The parser has seen no declaration of the name.
    #[default]
    Unknown,
    Type,
    Value,
}

/// The current meanings of all names. At the end of a scope, a log of changes serves to restore the
/// meanings before it.
#[derive(Debug)]
pub(super) struct Scopes {
    current: Vec<Binding>,
    /// The meaning of each name at top level, to which `.name` refers.
    top: Vec<Binding>,
    log: Vec<(Symbol, Binding)>,
    open: usize,
    /// A number that is incremented with each change of a name's meaning.
    version: u64,
}

/// The start of a scope: the length of the log of changes at that point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark(usize);

impl Scopes {
    pub(super) fn new(symbols: usize) -> Self {
        Self {
            current: vec![Binding::Unknown; symbols],
            top: vec![Binding::Unknown; symbols],
            log: Vec::new(),
            open: 0,
            version: 0,
        }
    }

    /// Returns a number that changes whenever the meaning of a name changes, so that results for an
    /// earlier number are recognised as outdated.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    pub(super) fn enter(&mut self) -> Mark {
        self.open += 1;
        Mark(self.log.len())
    }

    pub(super) fn leave(&mut self, mark: Mark) {
        while self.log.len() > mark.0 {
            if let Some((symbol, before)) = self.log.pop()
                && let Some(binding) = self.current.get_mut(symbol.index())
            {
                *binding = before;
                self.version += 1;
            }
        }
        self.open = self.open.saturating_sub(1);
    }

    /// Leaves all scopes. After a syntax error, some may still be open.
    pub(super) fn leave_all(&mut self) {
        self.leave(Mark(0));
        self.open = 0;
    }

    pub(super) fn declare(&mut self, symbol: Symbol, binding: Binding) {
        let index = symbol.index();
        let (Some(current), Some(top)) = (self.current.get_mut(index), self.top.get_mut(index))
        else {
            return;
        };
        if self.open == 0 {
            *top = binding;
        } else {
            self.log.push((symbol, *current));
        }
        *current = binding;
        self.version += 1;
    }

    pub(super) fn declare_name(&mut self, name: &Name, symbols: &Interner, binding: Binding) {
        if let Some(symbol) = symbols.get(&name.text) {
            self.declare(symbol, binding);
        }
    }

    pub(super) fn get(&self, symbol: Symbol) -> Binding {
        self.current.get(symbol.index()).copied().unwrap_or_default()
    }

    pub(super) fn get_top(&self, symbol: Symbol) -> Binding {
        self.top.get(symbol.index()).copied().unwrap_or_default()
    }
}
