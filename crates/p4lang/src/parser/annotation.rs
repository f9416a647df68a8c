//! Parsing of annotations (P4_16 §20).

use std::sync::Arc;

use super::{Parse, Parser, is_name, literal};
use crate::ast::{
    Annotation, AnnotationBody, AnnotationToken, Expression, HOLDS_EXPRESSIONS, KeyValue,
};
use crate::lexer::{Token, TokenKind};

impl Parser<'_> {
    /// Parses the annotations at the current token, of which there may be none.
    pub(super) fn annotations(&mut self) -> Parse<Vec<Annotation>> {
        let mut out = Vec::new();
        while self.is(TokenKind::At) {
            out.push(self.annotation()?);
        }
        Ok(out)
    }

    fn annotation(&mut self) -> Parse<Annotation> {
        let start = self.expect(TokenKind::At)?;
        let token = self.token();
        if !is_name(token.kind) && !token.kind.is_keyword() {
            return Err(self.expected("the name of an annotation"));
        }
        self.advance();
        let name = self.name_of(token);
        if name.as_str() == "pragma"
            && !self.is(TokenKind::LeftParenthesis)
            && !self.is(TokenKind::LeftBracket)
        {
            return self.pragma(start);
        }
        let body = match self.kind() {
            TokenKind::LeftParenthesis => {
                self.advance();
                let first = self.at;
                let tokens = self.annotation_tokens()?;
                if HOLDS_EXPRESSIONS.contains(&name.as_str()) {
                    let behind = self.at;
                    let values = self.annotation_values(first, behind - 1)?;
                    self.at = behind;
                    let body = AnnotationBody::Evaluated { tokens, values };
                    return Ok(Annotation { span: self.since(start), name, body });
                }
                let takes_string = matches!(
                    name.as_str(),
                    "brief" | "deprecated" | "description" | "name" | "noWarn"
                );
                AnnotationBody::Unstructured(match concatenated(&tokens) {
                    Some(token) if takes_string => vec![token],
                    _ => tokens,
                })
            }
            TokenKind::LeftBracket => {
                self.advance();
                self.structured_body()?
            }
            _ => AnnotationBody::Empty,
        };
        Ok(Annotation { span: self.since(start), name, body })
    }

    /// Parses `@pragma name anything` up to the end of the line, as in P4_14.
    fn pragma(&mut self, start: crate::source::Span) -> Parse<Annotation> {
        let token = self.token();
        if token.line_start || (!is_name(token.kind) && !token.kind.is_keyword()) {
            return Err(self.expected("the name of the pragma"));
        }
        self.advance();
        let name = self.name_of(token);
        let mut tokens = Vec::new();
        let mut depth = 0usize;
        while !self.token().line_start && !self.is(TokenKind::End) {
            let token = self.token();
            match token.kind {
                TokenKind::LeftParenthesis => depth += 1,
                TokenKind::RightParenthesis if depth == 0 => {
                    return Err(self.error_here("this `)` closes nothing in the pragma"));
                }
                TokenKind::RightParenthesis => depth -= 1,
                TokenKind::UnterminatedString | TokenKind::UnterminatedComment => {
                    return Err(self.error_here(""));
                }
                _ => {}
            }
            self.advance();
            tokens.push(self.annotation_token(token));
        }
        if depth > 0 {
            return Err(self.expected("`)` before the end of the pragma's line"));
        }
        let body = if HOLDS_EXPRESSIONS.contains(&name.as_str()) {
            let behind = self.at;
            let first = behind - tokens.len();
            AnnotationBody::Evaluated { tokens, values: self.annotation_values(first, behind)? }
        } else {
            AnnotationBody::Unstructured(tokens)
        };
        Ok(Annotation { span: self.since(start), name, body })
    }

    /// Parses the tokens of an annotation a second time, as expressions separated by commas. They
    /// are the tokens with the indices from `first` up to, but not including, `behind`.
    fn annotation_values(&mut self, first: usize, behind: usize) -> Parse<Vec<Expression>> {
        self.at = first;
        let mut values = Vec::new();
        if first == behind {
            return Ok(values);
        }
        loop {
            values.push(self.any_expression()?);
            if self.at == behind {
                return Ok(values);
            }
            if self.at > behind || !self.is(TokenKind::Comma) {
                return Err(self.expected("`,` or the end of the annotation"));
            }
            self.advance();
        }
    }

    /// Collects the tokens of an unstructured annotation up to its closing parenthesis.
    fn annotation_tokens(&mut self) -> Parse<Vec<AnnotationToken>> {
        let mut depth = 0usize;
        let mut out: Vec<AnnotationToken> = Vec::new();
        loop {
            match self.kind() {
                TokenKind::LeftParenthesis => depth += 1,
                TokenKind::RightParenthesis if depth == 0 => {
                    self.advance();
                    return Ok(out);
                }
                TokenKind::RightParenthesis => depth -= 1,
                TokenKind::End | TokenKind::UnterminatedString | TokenKind::UnterminatedComment => {
                    return Err(self.expected("`)` at the end of the annotation"));
                }
                _ => {}
            }
            let token = self.advance();
            let token = self.annotation_token(token);
            // The lexer never produces `>=`, because `>` may close type arguments.
            match out.last_mut() {
                Some(last) if &*last.text == ">" && &*token.text == "=" && !token.space_before => {
                    last.text = ">=".into();
                    last.span = last.span.to(token.span);
                }
                _ => out.push(token),
            }
        }
    }

    fn annotation_token(&self, token: Token) -> AnnotationToken {
        let text = self.symbols.text(token.symbol);
        let string: Option<Arc<str>> =
            (token.kind == TokenKind::String).then(|| literal::string(&text).into());
        AnnotationToken { span: token.span, text, string, space_before: token.space_before }
    }

    /// Parses the body of a structured annotation, which consists of expressions or of `key =
    /// value` pairs, up to the closing bracket.
    fn structured_body(&mut self) -> Parse<AnnotationBody> {
        let pairs = is_name(self.kind()) && self.kind_ahead(1) == TokenKind::Assign;
        if !pairs {
            let expressions = self.list_with_trailing_comma(
                TokenKind::RightBracket,
                "an expression",
                Self::any_expression,
            )?;
            return Ok(AnnotationBody::Expressions(expressions));
        }
        let pairs = self.list_with_trailing_comma(
            TokenKind::RightBracket,
            "a `key = value` pair",
            |parser| {
                let key = parser.name("the key of a `key = value` pair")?;
                parser.expect(TokenKind::Assign)?;
                let value = parser.any_expression()?;
                Ok(KeyValue { key, value })
            },
        )?;
        Ok(AnnotationBody::KeyValues(pairs))
    }
}

/// If the tokens are strings joined by `++`, such as `"a" ++ "b"`, returns a single string token.
/// Returns `None` for any other tokens.
fn concatenated(tokens: &[AnnotationToken]) -> Option<AnnotationToken> {
    let (first, rest) = tokens.split_first()?;
    let mut whole = first.string.as_deref()?.to_owned();
    let mut text = first.text.to_string();
    let mut span = first.span;
    let mut rest = rest.iter();
    while let Some(operator) = rest.next() {
        let string = rest.next()?;
        if &*operator.text != "++" {
            return None;
        }
        whole.push_str(string.string.as_deref()?);
        // Drop the closing quote of the first string and the opening quote of the second.
        text.pop();
        text.push_str(string.text.get(1..)?);
        span = span.to(string.span);
    }
    Some(AnnotationToken {
        span,
        text: text.into(),
        string: Some(whole.into()),
        space_before: first.space_before,
    })
}
