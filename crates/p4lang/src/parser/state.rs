//! Parsing of P4 parsers and their states (P4_16 §13).

use super::scope::Binding;
use super::statement::Body;
use super::{Parse, Parser, is_name};
use crate::ast::{
    Annotation, Declaration, DeclarationKind, ParserDeclaration, ParserState, ParserType,
    SelectCase, Transition, TransitionKind, ValueSet,
};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// Parses a parser or a parser type. The current token must be `parser`.
    pub(super) fn parser_declaration(
        &mut self,
        annotations: Vec<Annotation>,
    ) -> Parse<Declaration> {
        let start = self.advance().span;
        let id = self.declaration_id();
        let name = self.declared_name("the name of the parser", Binding::Type)?;
        let kind = self.scoped(|parser| {
            let type_parameters = parser.type_parameters()?;
            let parameters = parser.parameters()?;
            if parser.take(TokenKind::Semicolon) {
                return Ok(DeclarationKind::ParserType(ParserType { type_parameters, parameters }));
            }
            let constructor_parameters = if parser.is(TokenKind::LeftParenthesis) {
                parser.parameters()?
            } else {
                Vec::new()
            };
            let open = parser.open_body("the parameters of a parser")?;
            let mut locals = Vec::new();
            let mut states = Vec::new();
            let mut failed = false;
            while !parser.take(TokenKind::RightBrace) {
                if parser.is(TokenKind::End) {
                    return Err(parser.expected_or_brace("a state", open));
                }
                let before = parser.at;
                let depth = parser.depth;
                if parser.parser_element(&mut locals, &mut states).is_err() {
                    failed = true;
                    parser.depth = depth;
                    parser.recover(before);
                    if parser.at == before && !parser.is(TokenKind::RightBrace) {
                        parser.advance();
                    }
                }
            }
            if states.is_empty() && !failed {
                let span = parser.previous();
                parser.error(span, "a parser needs at least one state");
            }
            Ok(DeclarationKind::Parser(ParserDeclaration {
                type_parameters,
                parameters,
                constructor_parameters,
                locals,
                states,
            }))
        })?;
        Ok(Declaration { id, span: self.since(start), annotations, name, kind })
    }

    /// Parses the `{` with which the body of a parser or control starts. If it is missing, the
    /// error also mentions `;`, with which the declaration of a parser or control type ends.
    pub(super) fn open_body(&mut self, after: &str) -> Parse<crate::source::Span> {
        if !self.is(TokenKind::LeftBrace) {
            return Err(self.expected(&format!("`{{` or `;` after {after}")));
        }
        Ok(self.advance().span)
    }

    fn parser_element(
        &mut self,
        locals: &mut Vec<Declaration>,
        states: &mut Vec<ParserState>,
    ) -> Parse<()> {
        let annotations = self.annotations()?;
        if self.is(TokenKind::State)
            && is_name(self.kind_ahead(1))
            && self.kind_ahead(2) == TokenKind::LeftBrace
        {
            states.push(self.state(annotations)?);
            return Ok(());
        }
        if !states.is_empty() {
            return Err(self.expected("a state: what a parser declares stands before its states"));
        }
        let local = match self.kind() {
            TokenKind::Const => self.constant(annotations)?,
            TokenKind::ValueSet => self.value_set(annotations)?,
            TokenKind::State => {
                self.advance();
                self.name("the name of the state")?;
                return Err(self.expected("`{` after the name of a state"));
            }
            _ => {
                let local = self.variable_or_instance(annotations, true)?;
                self.semicolon("a declaration")?;
                local
            }
        };
        locals.push(local);
        Ok(())
    }

    fn state(&mut self, annotations: Vec<Annotation>) -> Parse<ParserState> {
        let start = self.advance().span;
        let id = self.declaration_id();
        let name = self.name("the name of the state")?;
        let open = self.expect(TokenKind::LeftBrace)?;
        self.scoped(|parser| {
            let statements = parser.statements(Body::Parser);
            let transition =
                if parser.is(TokenKind::Transition) { Some(parser.transition()?) } else { None };
            if !parser.take(TokenKind::RightBrace) {
                let what = if transition.is_some() {
                    "nothing after the transition"
                } else {
                    "a statement, `transition`"
                };
                return Err(parser.expected_or_brace(what, open));
            }
            Ok(ParserState {
                id,
                span: parser.since(start),
                annotations,
                name,
                statements,
                transition,
            })
        })
    }

    fn transition(&mut self) -> Parse<Transition> {
        let start = self.expect(TokenKind::Transition)?;
        if !self.is(TokenKind::Select) {
            let next = self.name("the name of a state or `select`")?;
            self.semicolon("a transition")?;
            return Ok(Transition { span: self.since(start), kind: TransitionKind::Direct(next) });
        }
        self.advance();
        self.expect(TokenKind::LeftParenthesis)?;
        let subjects =
            self.list(TokenKind::RightParenthesis, "an expression", Self::any_expression)?;
        let open = self.expect(TokenKind::LeftBrace)?;
        let mut cases = Vec::new();
        while !self.take(TokenKind::RightBrace) {
            if self.is(TokenKind::End) {
                return Err(self.expected_or_brace("a case of the `select`", open));
            }
            let before = self.at;
            let depth = self.depth;
            match self.select_case() {
                Ok(case) => cases.push(case),
                Err(_) => {
                    self.depth = depth;
                    self.recover(before);
                }
            }
        }
        let span = self.since(start);
        Ok(Transition { span, kind: TransitionKind::Select { subjects, cases } })
    }

    fn select_case(&mut self) -> Parse<SelectCase> {
        let start = self.token().span;
        let keyset = self.keyset()?;
        if !self.take(TokenKind::Colon) {
            return Err(self.expected("`:` and a state after the key set of a case"));
        }
        let next = self.name("the name of a state")?;
        self.semicolon("a case of a `select`")?;
        Ok(SelectCase { span: self.since(start), keyset, next })
    }

    fn value_set(&mut self, annotations: Vec<Annotation>) -> Parse<Declaration> {
        let start = self.advance().span;
        let id = self.declaration_id();
        self.expect(TokenKind::Less)?;
        let element = self.type_reference()?;
        self.expect(TokenKind::Greater)?;
        self.expect(TokenKind::LeftParenthesis)?;
        let size = self.any_expression()?;
        self.expect(TokenKind::RightParenthesis)?;
        let name = self.declared_name("the name of the value set", Binding::Value)?;
        self.semicolon("a value set")?;
        let kind = DeclarationKind::ValueSet(ValueSet { element, size });
        Ok(Declaration { id, span: self.since(start), annotations, name, kind })
    }
}
