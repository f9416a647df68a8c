//! Macro expansion.
//!
//! Tokens are read from a stack of token lists, which are the bodies of macros that are being
//! expanded, and after that from the file. A macro is not expanded inside its own expansion (C17
//! §6.10.3.4): its name is marked there and is never expanded later. A token from the body of a
//! macro has the location of the macro call, and a token from an argument keeps its own location.

use std::rc::Rc;

use super::macros::{Macro, is_name};
use super::{Preprocessor, end_token};
use crate::diagnostic::Diagnostic;
use crate::lexer::{Lexer, Symbol, Token, TokenKind};
use crate::source::Span;

/// The largest nesting depth of macro calls inside arguments of macro calls.
const DEEPEST_NESTING: usize = 100;

/// The lists of tokens that macro expansion has produced. They are read before reading the file
/// continues.
#[derive(Debug, Default)]
pub(super) struct Expansion {
    stack: Vec<Context>,
    /// Whether a blank must precede the next token, because it follows the body of a macro.
    apart: bool,
    nesting: usize,
    /// A token of the file that was read ahead, to find out whether `(` follows the name of a
    /// macro.
    held: Option<Token>,
}

/// A list of tokens that is being read, such as the body of a macro that is being expanded.
#[derive(Debug)]
struct Context {
    tokens: Rc<[Token]>,
    at: usize,
    /// The macro of which the list is the body. `None` if the list is an argument or the line of a
    /// directive.
    name: Option<Symbol>,
    /// Whether the list is an argument or the line of a directive, which is expanded separately.
    /// Lists below it on the stack must not be read until it ends.
    barrier: bool,
}

/// The arguments of a macro call, as written and after expansion.
struct Arguments {
    written: Vec<Vec<Token>>,
    expanded: Vec<Option<Vec<Token>>>,
}

impl Preprocessor<'_> {
    /// Returns the next token after macro expansion.
    pub(super) fn next_expanded(&mut self) -> Token {
        loop {
            let mut token = self.next_unexpanded();
            if self.in_condition && token.symbol == self.names.defined {
                return self.defined(token);
            }
            if is_name(token.kind) && !token.no_expand {
                if let Some(definition) = self.macros.get(token.symbol) {
                    if self.under_expansion(token.symbol) {
                        token.no_expand = true;
                        return token;
                    }
                    if self.expand(token, &definition) {
                        continue;
                    }
                } else if let Some(token) = self.special(token) {
                    return token;
                }
            }
            return token;
        }
    }

    fn under_expansion(&self, name: Symbol) -> bool {
        self.expansion.stack.iter().any(|context| context.name == Some(name))
    }

    /// Returns the next token of the innermost list without expanding it. If no list remains,
    /// returns the next token of the file.
    pub(super) fn next_unexpanded(&mut self) -> Token {
        if self.exhausted {
            self.expansion.stack.clear();
        }
        while let Some(context) = self.expansion.stack.last_mut() {
            if let Some(token) = context.tokens.get(context.at) {
                let mut token = *token;
                context.at += 1;
                token.space_before |= std::mem::take(&mut self.expansion.apart);
                return token;
            }
            if context.barrier {
                return end_token(Span::nowhere(), &mut self.symbols);
            }
            self.expansion.stack.pop();
            self.expansion.apart = true;
        }
        let mut token = match self.expansion.held.take() {
            Some(token) => token,
            None => self.next_from_file(),
        };
        token.space_before |= std::mem::take(&mut self.expansion.apart);
        token
    }

    /// If `token` is `__LINE__`, `__FILE__` or `__COUNTER__`, returns the token that replaces it.
    /// Returns `None` for any other token.
    fn special(&mut self, token: Token) -> Option<Token> {
        let names = self.names;
        let (kind, text) = if token.symbol == names.line {
            (TokenKind::Number, self.sources.location(token.span).line.to_string())
        } else if token.symbol == names.file {
            let file = self.sources.location(token.span).file;
            (TokenKind::String, format!("\"{}\"", file.replace('\\', "\\\\").replace('"', "\\\"")))
        } else if token.symbol == names.counter {
            self.macros.counter += 1;
            (TokenKind::Number, (self.macros.counter - 1).to_string())
        } else {
            return None;
        };
        Some(Token { kind, symbol: self.symbols.intern(&text), ..token })
    }

    /// Expands a use of a macro: tokens are next read from the body of the macro, in which
    /// arguments are substituted. If the macro has parameters and no `(` follows its name, expands
    /// nothing and returns false.
    fn expand(&mut self, name: Token, definition: &Rc<Macro>) -> bool {
        if self.expansion.nesting >= DEEPEST_NESTING {
            self.error(name.span, format!("macro calls nest deeper than {DEEPEST_NESTING}"));
            self.exhausted = true;
            return false;
        }
        let mut arguments = Arguments { written: Vec::new(), expanded: Vec::new() };
        if let Some(parameters) = &definition.parameters {
            if !self.opening_follows() {
                return false;
            }
            let Some(written) = self.collect_arguments(name, definition, parameters.len()) else {
                return true;
            };
            arguments.expanded = vec![None; written.len()];
            arguments.written = written;
        }
        let mut body = self.substitute(name, definition, &mut arguments);
        if let Some(first) = body.first_mut() {
            first.space_before = true;
            first.line_start = name.line_start;
        }
        self.count(name.span, body.len());
        self.expansion.stack.push(Context {
            tokens: body.into(),
            at: 0,
            name: Some(name.symbol),
            barrier: false,
        });
        true
    }

    /// Consumes the next token if it is `(`. Returns whether it was.
    fn opening_follows(&mut self) -> bool {
        let mut ended = 0;
        for context in self.expansion.stack.iter().rev() {
            match context.tokens.get(context.at) {
                Some(token) if token.kind == TokenKind::LeftParenthesis => {
                    // The lists above this one on the stack have no more tokens.
                    let keep = self.expansion.stack.len() - ended;
                    self.expansion.stack.truncate(keep);
                    self.next_unexpanded();
                    return true;
                }
                Some(_) => return false,
                None if context.barrier => return false,
                None => ended += 1,
            }
        }
        let token = match self.expansion.held.take() {
            Some(token) => token,
            None => self.next_from_file(),
        };
        if token.kind == TokenKind::LeftParenthesis {
            self.expansion.stack.clear();
            return true;
        }
        self.expansion.held = Some(token);
        false
    }

    /// Reads the arguments of a macro call, up to the closing parenthesis. Returns `None` after an
    /// error.
    fn collect_arguments(
        &mut self,
        name: Token,
        definition: &Macro,
        count: usize,
    ) -> Option<Vec<Vec<Token>>> {
        let mut arguments = vec![Vec::new()];
        let mut depth = 0usize;
        loop {
            let mut token = self.next_unexpanded();
            match token.kind {
                TokenKind::End => {
                    let text = self.symbols.text(name.symbol);
                    self.error(
                        name.span,
                        format!("the arguments of the macro `{text}` are not closed"),
                    );
                    if self.expansion.stack.is_empty() {
                        self.expansion.held = Some(token);
                    }
                    return None;
                }
                TokenKind::LeftParenthesis => depth += 1,
                TokenKind::RightParenthesis if depth == 0 => break,
                TokenKind::RightParenthesis => depth -= 1,
                TokenKind::Comma if depth == 0 => {
                    let rest = definition.variadic && arguments.len() >= count;
                    if !rest {
                        arguments.push(Vec::new());
                        continue;
                    }
                }
                _ => {}
            }
            // The name of a macro inside the macro's own expansion is never expanded later.
            if is_name(token.kind) && self.under_expansion(token.symbol) {
                token.no_expand = true;
            }
            token.line_start = false;
            if let Some(argument) = arguments.last_mut() {
                argument.push(token);
            }
        }
        if count == 0 && arguments.len() == 1 && arguments[0].is_empty() {
            arguments.clear();
        }
        if definition.variadic && arguments.len() + 1 == count {
            arguments.push(Vec::new());
        }
        if arguments.len() != count {
            let text = self.symbols.text(name.symbol);
            let given = arguments.len();
            self.diagnostics.push(
                Diagnostic::error(
                    "preprocessor",
                    name.span,
                    format!("the macro `{text}` takes {count} arguments, not {given}"),
                )
                .secondary(definition.span, "defined here"),
            );
            return None;
        }
        Some(arguments)
    }

    /// Returns the body of a macro after parameters are replaced by arguments, and after `#` and
    /// `##` are applied.
    fn substitute(
        &mut self,
        name: Token,
        definition: &Macro,
        arguments: &mut Arguments,
    ) -> Vec<Token> {
        let parameters = definition.parameters.as_deref().unwrap_or(&[]);
        let parameter = |token: &Token| {
            is_name(token.kind)
                .then(|| parameters.iter().position(|name| *name == token.symbol))
                .flatten()
        };
        let mut out: Vec<Token> = Vec::with_capacity(definition.body.len());
        let mut at = 0;
        // Whether the left operand of `##` was an empty argument.
        let mut nothing_to_paste = false;
        while let Some(token) = definition.body.get(at) {
            let before_paste =
                definition.body.get(at + 1).is_some_and(|next| next.kind == TokenKind::HashHash);
            if token.kind == TokenKind::Hash
                && let Some(index) = definition.body.get(at + 1).and_then(parameter)
            {
                let string = self.stringify(&arguments.written[index], name.span);
                out.push(Token { space_before: token.space_before, ..string });
                at += 2;
                continue;
            }
            if token.kind == TokenKind::HashHash && at > 0 {
                let Some(right) = definition.body.get(at + 1) else { break };
                let (right_tokens, index) = match parameter(right) {
                    Some(index) => (arguments.written[index].clone(), Some(index)),
                    None => (vec![Token { span: name.span, ..*right }], None),
                };
                // GNU extension: `, ## __VA_ARGS__` removes the comma if the argument is empty.
                // Otherwise it pastes nothing.
                let after_comma = out.last().is_some_and(|last| last.kind == TokenKind::Comma);
                let rest =
                    definition.variadic && index.is_some_and(|index| index + 1 == parameters.len());
                if rest && after_comma && !nothing_to_paste {
                    if right_tokens.is_empty() {
                        out.pop();
                    } else if let Some(index) = index {
                        let expanded = self.expanded_argument(arguments, index);
                        out.extend(expanded);
                    }
                } else {
                    nothing_to_paste =
                        self.paste(&mut out, &right_tokens, nothing_to_paste, name.span);
                }
                at += 2;
                continue;
            }
            match parameter(token) {
                Some(index) if before_paste => {
                    nothing_to_paste = arguments.written[index].is_empty();
                    out.extend(spaced(&arguments.written[index], token.space_before));
                }
                Some(index) => {
                    let expanded = self.expanded_argument(arguments, index);
                    out.extend(spaced(&expanded, token.space_before));
                }
                None => {
                    nothing_to_paste = false;
                    out.push(Token { span: name.span, line_start: false, ..*token });
                }
            }
            at += 1;
        }
        out
    }

    /// Returns the argument at `index` after macro expansion. The expansion is computed only once.
    fn expanded_argument(&mut self, arguments: &mut Arguments, index: usize) -> Vec<Token> {
        if let Some(done) = &arguments.expanded[index] {
            return done.clone();
        }
        let out = self.expand_line(arguments.written[index].clone());
        arguments.expanded[index] = Some(out.clone());
        out
    }

    /// Returns `tokens` with macros expanded. A macro call in them does not extend into the tokens
    /// that follow the list.
    pub(super) fn expand_line(&mut self, tokens: Vec<Token>) -> Vec<Token> {
        let tokens: Rc<[Token]> = tokens.into();
        let depth = self.expansion.stack.len();
        let held = self.expansion.held.take();
        self.expansion.stack.push(Context { tokens, at: 0, name: None, barrier: true });
        self.expansion.nesting += 1;
        let mut out = Vec::new();
        while !self.exhausted {
            let token = self.next_expanded();
            if token.kind == TokenKind::End {
                break;
            }
            self.count(token.span, 1);
            out.push(token);
        }
        self.expansion.nesting -= 1;
        self.expansion.stack.truncate(depth);
        self.expansion.apart = false;
        self.expansion.held = held;
        out
    }

    /// Returns a string literal that contains the text of an argument. `#parameter` in a macro body
    /// is replaced by it.
    fn stringify(&mut self, argument: &[Token], span: Span) -> Token {
        let mut text = String::from("\"");
        for (index, token) in argument.iter().enumerate() {
            if token.space_before && index > 0 {
                text.push(' ');
            }
            let written = self.symbols.str(token.symbol);
            if token.kind == TokenKind::String {
                text.push_str(&written.replace('\\', "\\\\").replace('"', "\\\""));
            } else {
                text.push_str(written);
            }
        }
        text.push('"');
        Token {
            kind: TokenKind::String,
            space_before: false,
            line_start: false,
            no_expand: false,
            symbol: self.symbols.intern(&text),
            span,
        }
    }

    /// Applies the operator `left ## right`. The left operand is the last token of `out`, which is
    /// replaced by the result, or it is empty if `left_empty` is true. Returns whether the result
    /// is empty.
    fn paste(
        &mut self,
        out: &mut Vec<Token>,
        right: &[Token],
        left_empty: bool,
        span: Span,
    ) -> bool {
        let Some((first, rest)) = right.split_first() else { return left_empty };
        if left_empty {
            out.extend_from_slice(right);
            return false;
        }
        let Some(left) = out.pop() else {
            out.extend_from_slice(right);
            return false;
        };
        let text = format!("{}{}", self.symbols.str(left.symbol), self.symbols.str(first.symbol));
        let mut lexer = Lexer::new(span.file, text.as_str().into());
        let pasted = self.line_tokens(&mut lexer);
        match pasted.as_slice() {
            [token] => out.push(Token {
                span,
                space_before: left.space_before,
                line_start: left.line_start,
                no_expand: false,
                ..*token
            }),
            // The two do not form a single token, so they remain separate tokens. `cpp` accepts
            // this too, because p4c invokes it for assembler files.
            _ => {
                let apart = first.space_before && left.kind != TokenKind::Greater;
                out.push(left);
                out.push(Token { space_before: apart, ..*first });
            }
        }
        out.extend_from_slice(rest);
        false
    }
}

/// Returns the tokens, where `space_before` states whether white space precedes the first one.
fn spaced(tokens: &[Token], space_before: bool) -> impl Iterator<Item = Token> {
    tokens.iter().enumerate().map(move |(index, token)| {
        if index == 0 { Token { space_before, line_start: false, ..*token } } else { *token }
    })
}
