//! Parsing of functions, actions, externs and initializer blocks of instances (P4_16 §10, §11.3,
//! §14.1).

use super::scope::Binding;
use super::statement::Body;
use super::{Parse, Parser, is_name};
use crate::ast::{
    Annotation, Constructor, Declaration, DeclarationKind, ExternObject, FunctionPrototype, Method,
    Name, Type,
};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// Parses an action. The current token must be `action`.
    pub(super) fn action(&mut self, annotations: Vec<Annotation>) -> Parse<Declaration> {
        let start = self.advance().span;
        let id = self.declaration_id();
        let name = self.declared_name("the name of the action", Binding::Value)?;
        let kind = self.scoped(|parser| {
            let parameters = parser.parameters()?;
            let body = parser.block(Body::Control)?;
            Ok(DeclarationKind::Action { parameters, body })
        })?;
        Ok(Declaration { id, span: self.since(start), annotations, name, kind })
    }

    /// Parses a function whose annotations were already parsed.
    pub(super) fn function(&mut self, annotations: Vec<Annotation>) -> Parse<Declaration> {
        let start = self.token().span;
        let id = self.declaration_id();
        let return_type = self.return_type()?;
        let name = self.declared_name("the name of the function", Binding::Value)?;
        let kind = self.scoped(|parser| {
            let prototype = parser.signature(return_type)?;
            if !parser.is(TokenKind::LeftBrace) {
                return Err(parser.expected("`{` after the parameters of a function"));
            }
            let body = parser.block(Body::Control)?;
            Ok(DeclarationKind::Function { prototype, body })
        })?;
        Ok(Declaration { id, span: self.since(start), annotations, name, kind })
    }

    /// Parses the type parameters and the parameters of a function in the current scope.
    /// `return_type` was already parsed.
    fn signature(&mut self, return_type: Type) -> Parse<FunctionPrototype> {
        let type_parameters = self.type_parameters()?;
        let parameters = self.parameters()?;
        Ok(FunctionPrototype { return_type, type_parameters, parameters })
    }

    /// Parses an extern object or function. The current token must be `extern`. Returns `None` for
    /// a forward declaration, `extern Name;`.
    pub(super) fn extern_declaration(
        &mut self,
        annotations: Vec<Annotation>,
    ) -> Parse<Option<Declaration>> {
        let start = self.advance().span;
        if self.object_follows() {
            let id = self.declaration_id();
            let name = self.declared_name("the name of the extern", Binding::Type)?;
            if self.take(TokenKind::Semicolon) {
                return Ok(None);
            }
            let object = self.scoped(|parser| parser.extern_object(&name))?;
            let kind = DeclarationKind::ExternObject(object);
            return Ok(Some(Declaration { id, span: self.since(start), annotations, name, kind }));
        }
        let id = self.declaration_id();
        let return_type = self.return_type()?;
        let name = self.declared_name("the name of the extern function", Binding::Value)?;
        let prototype = self.scoped(|parser| parser.signature(return_type))?;
        self.semicolon("an extern function")?;
        let kind = DeclarationKind::ExternFunction(prototype);
        Ok(Some(Declaration { id, span: self.since(start), annotations, name, kind }))
    }

    /// Returns whether `extern` is followed by the declaration of an extern object, and not of a
    /// function.
    fn object_follows(&self) -> bool {
        if !is_name(self.kind()) {
            return false;
        }
        match self.kind_ahead(1) {
            TokenKind::LeftBrace | TokenKind::Semicolon => true,
            TokenKind::Less => self
                .type_arguments_end(self.at + 1, 0)
                .is_some_and(|end| self.token_at(end).kind == TokenKind::LeftBrace),
            _ => false,
        }
    }

    fn extern_object(&mut self, name: &Name) -> Parse<ExternObject> {
        let type_parameters = self.type_parameters()?;
        let open = self.expect(TokenKind::LeftBrace)?;
        let mut object =
            ExternObject { type_parameters, constructors: Vec::new(), methods: Vec::new() };
        while !self.take(TokenKind::RightBrace) {
            if self.is(TokenKind::End) {
                return Err(self.expected_or_brace("a method", open));
            }
            let before = self.at;
            if self.method(name, &mut object).is_err() {
                self.recover(before);
                if self.at == before && !self.is(TokenKind::RightBrace) {
                    self.advance();
                }
            }
        }
        Ok(object)
    }

    fn method(&mut self, object_name: &Name, object: &mut ExternObject) -> Parse<()> {
        let annotations = self.annotations()?;
        let start = self.token().span;
        let id = self.declaration_id();
        let is_abstract = self.take(TokenKind::Abstract);
        if is_name(self.kind()) && self.kind_ahead(1) == TokenKind::LeftParenthesis {
            let name = self.name("the name of the extern")?;
            if name != *object_name {
                return Err(self.error(
                    name.span,
                    format!("`{name}` has no return type, and a constructor must be called `{object_name}`"),
                ));
            }
            let parameters = self.scoped(Self::parameters)?;
            self.semicolon("a constructor")?;
            object.constructors.push(Constructor {
                id,
                span: self.since(start),
                annotations,
                parameters,
            });
            return Ok(());
        }
        let return_type = self.return_type()?;
        let name = self.name("the name of the method")?;
        let prototype = self.scoped(|parser| parser.signature(return_type))?;
        self.semicolon("a method")?;
        object.methods.push(Method {
            id,
            span: self.since(start),
            annotations,
            is_abstract,
            name,
            prototype,
        });
        Ok(())
    }

    /// Parses the initializer block of an instance, which contains functions and instances.
    pub(super) fn instance_initializer(&mut self) -> Parse<Vec<Declaration>> {
        let open = self.expect(TokenKind::LeftBrace)?;
        self.scoped(|parser| {
            let mut out = Vec::new();
            while !parser.take(TokenKind::RightBrace) {
                if parser.is(TokenKind::End) {
                    return Err(parser.expected_or_brace("a function, an instance", open));
                }
                let annotations = parser.annotations()?;
                out.push(parser.nested(|parser| parser.function_or_instance(annotations))?);
            }
            Ok(out)
        })
    }

    /// Parses a declaration that starts with a type, at top level or in an initializer block.
    pub(super) fn function_or_instance(
        &mut self,
        annotations: Vec<Annotation>,
    ) -> Parse<Declaration> {
        let end = self.type_end(self.at, 0);
        match end.map(|end| self.token_at(end).kind) {
            Some(TokenKind::LeftParenthesis) => {
                let instance = self.variable_or_instance(annotations, true)?;
                self.semicolon("an instance")?;
                Ok(instance)
            }
            Some(kind) if is_name(kind) => {
                let after = end.map_or(TokenKind::End, |end| self.token_at(end + 1).kind);
                if matches!(after, TokenKind::Assign | TokenKind::Semicolon) {
                    return Err(self.error_here(
                        "a variable cannot stand here: declare it in a control, a parser or a function, or make it `const`",
                    ));
                }
                self.function(annotations)
            }
            Some(_) => {
                self.type_reference()?;
                Err(self.expected("`(` of an instance or the name of a function"))
            }
            None => Err(self.expected("a declaration")),
        }
    }
}
