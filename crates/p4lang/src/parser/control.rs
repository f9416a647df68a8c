//! Parsing of controls (P4_16 §14) and packages.

use super::scope::Binding;
use super::statement::Body;
use super::{Parse, Parser};
use crate::ast::{Annotation, Block, Control, ControlType, Declaration, DeclarationKind, Package};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// Parses a control or a control type. The current token must be `control`.
    pub(super) fn control_declaration(
        &mut self,
        annotations: Vec<Annotation>,
    ) -> Parse<Declaration> {
        let start = self.advance().span;
        let id = self.declaration_id();
        let name = self.declared_name("the name of the control", Binding::Type)?;
        let kind = self.scoped(|parser| {
            let type_parameters = parser.type_parameters()?;
            let parameters = parser.parameters()?;
            if parser.take(TokenKind::Semicolon) {
                return Ok(DeclarationKind::ControlType(ControlType {
                    type_parameters,
                    parameters,
                }));
            }
            let constructor_parameters = if parser.is(TokenKind::LeftParenthesis) {
                parser.parameters()?
            } else {
                Vec::new()
            };
            let open = parser.open_body("the parameters of a control")?;
            let mut locals = Vec::new();
            let apply = parser.control_body(&mut locals, open)?;
            Ok(DeclarationKind::Control(Control {
                type_parameters,
                parameters,
                constructor_parameters,
                locals,
                apply,
            }))
        })?;
        Ok(Declaration { id, span: self.since(start), annotations, name, kind })
    }

    /// Parses the declarations, the `apply` block and the closing brace of a control.
    fn control_body(
        &mut self,
        locals: &mut Vec<Declaration>,
        open: crate::source::Span,
    ) -> Parse<Block> {
        let mut apply = None;
        let mut failed = false;
        loop {
            match self.kind() {
                TokenKind::RightBrace => break,
                TokenKind::End => {
                    return Err(self.expected_or_brace("a declaration, `apply`", open));
                }
                _ => {}
            }
            let before = self.at;
            let depth = self.depth;
            if self.control_element(locals, &mut apply).is_err() {
                failed = true;
                self.depth = depth;
                self.recover(before);
                if self.at == before && !self.is(TokenKind::RightBrace) {
                    self.advance();
                }
            }
        }
        let Some(apply) = apply else {
            // After another error, the `apply` block may have been skipped, so it is not reported
            // as missing.
            let missing = if failed {
                super::Failed
            } else {
                self.expected("the `apply` block of the control")
            };
            self.advance();
            return Err(missing);
        };
        self.advance();
        Ok(apply)
    }

    fn control_element(
        &mut self,
        locals: &mut Vec<Declaration>,
        apply: &mut Option<Block>,
    ) -> Parse<()> {
        if self.is(TokenKind::Apply)
            && matches!(self.kind_ahead(1), TokenKind::LeftBrace | TokenKind::At)
        {
            if apply.is_some() {
                return Err(self.error_here("a control has only one `apply` block"));
            }
            self.advance();
            *apply = Some(self.block(Body::Control)?);
            return Ok(());
        }
        if apply.is_some() {
            return Err(
                self.expected("`}`: what a control declares stands before its `apply` block")
            );
        }
        let annotations = self.annotations()?;
        let local = match self.kind() {
            TokenKind::Const => self.constant(annotations)?,
            TokenKind::Action => self.action(annotations)?,
            TokenKind::Table => self.table(annotations)?,
            TokenKind::Apply => {
                self.advance();
                return Err(self.expected("`{` after `apply`"));
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

    /// Parses a package type. The current token must be `package`.
    pub(super) fn package(&mut self, annotations: Vec<Annotation>) -> Parse<Declaration> {
        let start = self.advance().span;
        let id = self.declaration_id();
        let name = self.declared_name("the name of the package", Binding::Type)?;
        let package = self.scoped(|parser| {
            let type_parameters = parser.type_parameters()?;
            let parameters = parser.parameters()?;
            Ok(Package { type_parameters, parameters })
        })?;
        self.semicolon("a package")?;
        Ok(Declaration {
            id,
            span: self.since(start),
            annotations,
            name,
            kind: DeclarationKind::Package(package),
        })
    }
}
