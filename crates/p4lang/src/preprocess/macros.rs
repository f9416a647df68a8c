//! Definitions of macros by `#define` and on the command line.

use std::collections::HashMap;
use std::rc::Rc;

use super::Preprocessor;
use crate::diagnostic::Diagnostic;
use crate::lexer::{Lexer, Symbol, Token, TokenKind};
use crate::source::Span;

/// The definition of a macro.
#[derive(Debug)]
pub(super) struct Macro {
    /// The parameters, or `None` for an object-like macro, which takes no arguments.
    pub(super) parameters: Option<Vec<Symbol>>,
    /// Whether the last parameter takes all remaining arguments.
    pub(super) variadic: bool,
    pub(super) body: Vec<Token>,
    /// The location of the name in the definition.
    pub(super) span: Span,
}

impl Macro {
    fn same_as(&self, other: &Self) -> bool {
        let bodies = self.body.len() == other.body.len()
            && self.body.iter().zip(&other.body).enumerate().all(|(index, (left, right))| {
                left.symbol == right.symbol
                    && (index == 0 || left.space_before == right.space_before)
            });
        self.parameters == other.parameters && self.variadic == other.variadic && bodies
    }
}

/// The macros that are currently defined.
#[derive(Debug, Default)]
pub(super) struct Macros {
    by_name: HashMap<Symbol, Rc<Macro>>,
    /// Whether each symbol, by its index, was ever the name of a macro. Most names are not macros,
    /// and this test is faster than a lookup in a map.
    seen: Vec<bool>,
    pub(super) counter: u64,
}

impl Macros {
    pub(super) fn get(&self, name: Symbol) -> Option<Rc<Macro>> {
        if !self.seen.get(name.index()).copied().unwrap_or(false) {
            return None;
        }
        self.by_name.get(&name).cloned()
    }

    pub(super) fn is_defined(&self, name: Symbol) -> bool {
        self.by_name.contains_key(&name)
    }

    fn insert(&mut self, name: Symbol, definition: Macro) {
        if self.seen.len() <= name.index() {
            self.seen.resize(name.index() + 1, false);
        }
        self.seen[name.index()] = true;
        self.by_name.insert(name, Rc::new(definition));
    }

    pub(super) fn remove(&mut self, name: Symbol) {
        self.by_name.remove(&name);
    }
}

impl Preprocessor<'_> {
    /// Defines `__TARGET_BMV2__`, as p4c-bm2-ss does, unless `-D` defines another target.
    fn define_target(&mut self) {
        if self.options.defines.iter().any(|define| define.starts_with("__TARGET_")) {
            return;
        }
        let body = Token {
            kind: TokenKind::Number,
            space_before: true,
            line_start: false,
            no_expand: false,
            symbol: self.symbols.intern("1"),
            span: Span::nowhere(),
        };
        let definition =
            Macro { parameters: None, variadic: false, body: vec![body], span: Span::nowhere() };
        let name = self.symbols.intern("__TARGET_BMV2__");
        self.macros.insert(name, definition);
    }

    /// Applies the command-line options `-D` and `-U`.
    pub(super) fn define_from_command_line(&mut self) {
        self.define_target();
        let lines = self.options.defines.iter().map(|define| match define.split_once('=') {
            Some((name, value)) => format!("{name} {value}"),
            // A macro without a value is defined as 1, as in every C compiler.
            None => format!("{define} 1"),
        });
        for line in lines.collect::<Vec<_>>() {
            let id =
                self.sources.add_file("<command line>".to_owned(), line.clone().into(), None, true);
            let mut lexer = Lexer::new(id, line.into());
            let tokens = self.line_tokens(&mut lexer);
            let span = Span::new(id, 0, lexer.offset() as u32);
            self.define(&tokens, span);
        }
        for name in &self.options.undefines {
            let name = self.symbols.intern(name);
            self.macros.remove(name);
        }
    }

    pub(super) fn line_tokens(&mut self, lexer: &mut Lexer) -> Vec<Token> {
        std::iter::from_fn(|| lexer.next_in_line(&mut self.symbols)).collect()
    }

    /// Executes `#define`. `line` is the rest of its line.
    pub(super) fn define(&mut self, line: &[Token], directive: Span) {
        let Some((name, rest)) = line.split_first() else {
            self.error(directive, "`#define` needs a name");
            return;
        };
        if !is_name(name.kind) {
            self.error(name.span, "expected a name to define");
            return;
        }
        if name.symbol == self.names.defined || name.symbol == self.names.variadic {
            let text = self.symbols.text(name.symbol);
            self.error(name.span, format!("`{text}` cannot be a macro"));
            return;
        }
        let takes_arguments = rest
            .first()
            .is_some_and(|token| token.kind == TokenKind::LeftParenthesis && !token.space_before);
        let (parameters, variadic, body) = if takes_arguments {
            match self.parameters(&rest[1..], name.span) {
                Some((parameters, variadic, body)) => (Some(parameters), variadic, body),
                None => return,
            }
        } else {
            (None, false, rest)
        };
        let paste = |token: Option<&Token>| {
            token.filter(|token| token.kind == TokenKind::HashHash).copied()
        };
        if let Some(token) = paste(body.first()).or(paste(body.last())) {
            self.error(token.span, "`##` needs a token on either side");
            return;
        }
        let definition = Macro { parameters, variadic, body: body.to_vec(), span: name.span };
        if let Some(before) = self.macros.get(name.symbol)
            && !before.same_as(&definition)
            && before.span != Span::nowhere()
        {
            let text = self.symbols.text(name.symbol);
            self.diagnostics.push(
                Diagnostic::warning(
                    "redefined",
                    name.span,
                    format!("the macro `{text}` is defined again"),
                )
                .secondary(before.span, "the first definition, which differs, is here")
                .note("remove the first definition with #undef"),
            );
        }
        self.macros.insert(name.symbol, definition);
    }

    /// Parses the parameters of a macro definition up to `)`. Returns the parameters, whether the
    /// last one is variadic, and the remaining tokens, which are the body of the macro.
    fn parameters<'line>(
        &mut self,
        line: &'line [Token],
        name: Span,
    ) -> Option<(Vec<Symbol>, bool, &'line [Token])> {
        let mut parameters = Vec::new();
        let mut rest = line;
        let mut expect_name = false;
        loop {
            let Some((token, after)) = rest.split_first() else {
                self.error(name, "expected `)` after the parameters of this macro");
                return None;
            };
            rest = after;
            match token.kind {
                TokenKind::RightParenthesis if !expect_name => {
                    return Some((parameters, false, rest));
                }
                TokenKind::Dots => {
                    parameters.push(self.names.variadic);
                    return self.close_variadic(parameters, rest, token.span);
                }
                kind if is_name(kind) => {
                    if parameters.contains(&token.symbol) {
                        let text = self.symbols.text(token.symbol);
                        self.error(token.span, format!("the parameter `{text}` appears twice"));
                        return None;
                    }
                    parameters.push(token.symbol);
                }
                _ => {
                    self.error(token.span, "expected a parameter's name, `...` or `)`");
                    return None;
                }
            }
            match rest.split_first() {
                Some((next, after)) if next.kind == TokenKind::Comma => {
                    rest = after;
                    expect_name = true;
                }
                // `name...` is a variadic parameter with a name other than `__VA_ARGS__`.
                Some((next, after)) if next.kind == TokenKind::Dots => {
                    return self.close_variadic(parameters, after, next.span);
                }
                _ => expect_name = false,
            }
            if !expect_name
                && !rest.first().is_some_and(|token| token.kind == TokenKind::RightParenthesis)
            {
                let at = rest.first().map_or(token.span, |token| token.span);
                self.error(at, "expected `,` or `)` after a macro's parameter");
                return None;
            }
        }
    }

    fn close_variadic<'line>(
        &mut self,
        parameters: Vec<Symbol>,
        rest: &'line [Token],
        span: Span,
    ) -> Option<(Vec<Symbol>, bool, &'line [Token])> {
        match rest.split_first() {
            Some((token, body)) if token.kind == TokenKind::RightParenthesis => {
                Some((parameters, true, body))
            }
            _ => {
                self.error(span, "expected `)` after `...`");
                None
            }
        }
    }
}

/// Returns whether a token can be the name of a macro: an identifier or a keyword of P4.
pub(super) fn is_name(kind: TokenKind) -> bool {
    kind == TokenKind::Identifier || kind.is_keyword()
}
