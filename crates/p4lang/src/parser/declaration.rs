//! Parsing of declarations at top level, of types and of constants (P4_16 §7.2, §11).

use super::scope::Binding;
use super::{Parse, Parser, is_name};
use crate::ast::{Annotation, Declaration, DeclarationKind, EnumMember, Name, StructField};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// Parses a declaration at top level. A `typedef` that declares a type inside it results in two
    /// declarations.
    pub(super) fn top_level_declaration(&mut self, out: &mut Vec<Declaration>) -> Parse<()> {
        self.depth = 0;
        self.alternatives = 0;
        self.operators = None;
        let annotations = self.annotations()?;
        let declaration = match self.kind() {
            TokenKind::Const => self.constant(annotations)?,
            TokenKind::Extern => match self.extern_declaration(annotations)? {
                Some(declaration) => declaration,
                None => return Ok(()),
            },
            TokenKind::Action => self.action(annotations)?,
            TokenKind::Parser => self.parser_declaration(annotations)?,
            TokenKind::Control => self.control_declaration(annotations)?,
            TokenKind::Package => self.package(annotations)?,
            TokenKind::Header | TokenKind::HeaderUnion | TokenKind::Struct | TokenKind::Enum => {
                self.derived_type(annotations)?
            }
            TokenKind::Typedef | TokenKind::Type => return self.type_definition(annotations, out),
            TokenKind::Error if self.kind_ahead(1) == TokenKind::LeftBrace => {
                self.members_of(annotations, DeclarationKind::Error)?
            }
            TokenKind::MatchKind if self.kind_ahead(1) == TokenKind::LeftBrace => {
                self.members_of(annotations, DeclarationKind::MatchKind)?
            }
            TokenKind::Table => {
                return Err(self.error_here("a table cannot stand outside a control"));
            }
            TokenKind::State => {
                return Err(self.error_here("a state cannot stand outside a parser"));
            }
            _ => self.function_or_instance(annotations)?,
        };
        out.push(declaration);
        Ok(())
    }

    /// Parses a constant. The current token must be `const`.
    pub(super) fn constant(&mut self, annotations: Vec<Annotation>) -> Parse<Declaration> {
        let start = self.advance().span;
        let id = self.declaration_id();
        let ty = self.type_reference()?;
        let name = self.name("the name of the constant")?;
        if !self.take(TokenKind::Assign) {
            return Err(self.expected("`=` and the value of the constant"));
        }
        let value = self.any_expression()?;
        self.scopes.declare_name(&name, self.symbols, Binding::Value);
        self.semicolon("the value of a constant")?;
        Ok(Declaration {
            id,
            span: self.since(start),
            annotations,
            name,
            kind: DeclarationKind::Constant { ty, value },
        })
    }

    /// Parses a header, header union, struct or enumeration. The current token must be its keyword.
    fn derived_type(&mut self, annotations: Vec<Annotation>) -> Parse<Declaration> {
        let keyword = self.kind();
        if keyword == TokenKind::Enum {
            return self.enumeration(annotations);
        }
        let start = self.advance().span;
        let id = self.declaration_id();
        let name = self.declared_name("the name of the type", Binding::Type)?;
        let (type_parameters, fields) = self.scoped(|parser| {
            let type_parameters = parser.type_parameters()?;
            Ok((type_parameters, parser.fields()?))
        })?;
        let kind = match keyword {
            TokenKind::Header => DeclarationKind::Header { type_parameters, fields },
            TokenKind::HeaderUnion => DeclarationKind::HeaderUnion { type_parameters, fields },
            _ => DeclarationKind::Struct { type_parameters, fields },
        };
        Ok(Declaration { id, span: self.since(start), annotations, name, kind })
    }

    fn fields(&mut self) -> Parse<Vec<StructField>> {
        let open = self.expect(TokenKind::LeftBrace)?;
        let mut out = Vec::new();
        while !self.take(TokenKind::RightBrace) {
            if self.is(TokenKind::End) {
                return Err(self.expected_or_brace("a field", open));
            }
            let before = self.at;
            match self.field() {
                Ok(field) => out.push(field),
                Err(_) => {
                    self.recover(before);
                    if self.at == before && !self.is(TokenKind::RightBrace) {
                        self.advance();
                    }
                }
            }
        }
        Ok(out)
    }

    fn field(&mut self) -> Parse<StructField> {
        let annotations = self.annotations()?;
        let start = self.token().span;
        let id = self.declaration_id();
        let ty = self.type_reference()?;
        let name = self.name("the name of the field")?;
        let ty = self.sizes_behind_name(ty)?;
        let span = self.since(start);
        self.semicolon("a field")?;
        Ok(StructField { id, span, annotations, ty, name })
    }

    fn enumeration(&mut self, annotations: Vec<Annotation>) -> Parse<Declaration> {
        let start = self.advance().span;
        let id = self.declaration_id();
        let plain = is_name(self.kind()) && self.kind_ahead(1) == TokenKind::LeftBrace;
        let underlying = if plain { None } else { Some(self.type_reference()?) };
        let name = self.declared_name("the name of the enum", Binding::Type)?;
        let members = self.members()?;
        let kind = DeclarationKind::Enum { underlying, members };
        Ok(Declaration { id, span: self.since(start), annotations, name, kind })
    }

    /// Parses `error { ... }` or `match_kind { ... }`.
    fn members_of(
        &mut self,
        annotations: Vec<Annotation>,
        kind: fn(Vec<EnumMember>) -> DeclarationKind,
    ) -> Parse<Declaration> {
        let keyword = self.advance();
        let id = self.declaration_id();
        let name = Name { text: self.symbols.text(keyword.symbol), span: keyword.span };
        let members = self.members()?;
        Ok(Declaration {
            id,
            span: self.since(keyword.span),
            annotations,
            name,
            kind: kind(members),
        })
    }

    fn members(&mut self) -> Parse<Vec<EnumMember>> {
        self.expect(TokenKind::LeftBrace)?;
        if self.is(TokenKind::RightBrace) {
            return Err(self.expected("at least one member"));
        }
        self.list_with_trailing_comma(TokenKind::RightBrace, "a member", |parser| {
            let annotations = parser.annotations()?;
            let id = parser.declaration_id();
            let name = parser.name("the name of a member")?;
            let value =
                if parser.take(TokenKind::Assign) { Some(parser.any_expression()?) } else { None };
            Ok(EnumMember { id, annotations, name, value })
        })
    }

    /// Parses a type definition. The current token must be `typedef` or `type`.
    fn type_definition(
        &mut self,
        annotations: Vec<Annotation>,
        out: &mut Vec<Declaration>,
    ) -> Parse<()> {
        let keyword = self.advance();
        let id = self.declaration_id();
        let is_declared_here = matches!(
            self.kind(),
            TokenKind::Header | TokenKind::HeaderUnion | TokenKind::Struct | TokenKind::Enum
        );
        let ty = if is_declared_here {
            let inner = self.derived_type(Vec::new())?;
            let name = inner.name.clone();
            out.push(inner);
            let span = name.span;
            self.ty(span, crate::ast::TypeKind::Named(crate::ast::Path { absolute: false, name }))
        } else {
            self.type_reference()?
        };
        let name = self.declared_name("the name of the new type", Binding::Type)?;
        self.semicolon("a type definition")?;
        let kind = match keyword.kind {
            TokenKind::Typedef => DeclarationKind::Typedef(ty),
            _ => DeclarationKind::NewType(ty),
        };
        out.push(Declaration { id, span: self.since(keyword.span), annotations, name, kind });
        Ok(())
    }
}
