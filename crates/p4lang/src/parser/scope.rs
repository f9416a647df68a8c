//! Which names are types at the place that is being parsed.

use crate::ast::Name;
use crate::lexer::{Interner, Symbol};

/// What the parser knows of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Binding {
    /// Never declared, as far as it goes.
    #[default]
    Unknown,
    Type,
    Value,
}

/// The bindings in force, with a log to undo those of inner scopes.
#[derive(Debug)]
pub(super) struct Scopes {
    current: Vec<Binding>,
    /// Those of the top level, for `.name`.
    top: Vec<Binding>,
    log: Vec<(Symbol, Binding)>,
    open: usize,
    /// Grows with each change of a binding.
    version: u64,
}

/// Where a scope began.
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

    /// A number that is another one whenever a name stands for something else.
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

    /// Ends all scopes, after an error that left some open.
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
