//! Parsing of tables (P4_16 §14.2).

use super::scope::Binding;
use super::{Parse, Parser, is_name};
use crate::ast::{
    ActionReference, Annotation, Declaration, DeclarationKind, Entry, ExpressionKind, KeyElement,
    Table, TableProperty, TablePropertyKind,
};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// Parses a table. The current token must be `table`.
    pub(super) fn table(&mut self, annotations: Vec<Annotation>) -> Parse<Declaration> {
        let start = self.advance().span;
        let id = self.declaration_id();
        let name = self.declared_name("the name of the table", Binding::Value)?;
        let open = self.expect(TokenKind::LeftBrace)?;
        let mut properties = Vec::new();
        let empty = self.is(TokenKind::RightBrace);
        while !self.take(TokenKind::RightBrace) {
            if self.is(TokenKind::End) {
                return Err(self.expected_or_brace("a property of the table", open));
            }
            let before = self.at;
            let depth = self.depth;
            match self.property() {
                Ok(property) => properties.push(property),
                Err(_) => {
                    self.depth = depth;
                    self.recover(before);
                    if self.at == before && !self.is(TokenKind::RightBrace) {
                        self.advance();
                    }
                }
            }
        }
        let span = self.since(start);
        if empty {
            self.error(span, "a table needs at least one property");
        }
        Ok(Declaration {
            id,
            span,
            annotations,
            name,
            kind: DeclarationKind::Table(Table { properties }),
        })
    }

    fn property(&mut self) -> Parse<TableProperty> {
        let annotations = self.annotations()?;
        let start = self.token().span;
        let is_const = self.take(TokenKind::Const);
        let kind = self.kind();
        let name = self.name(
            "a property: `key`, `actions`, `entries`, `default_action`, `size` or another name",
        )?;
        if !self.take(TokenKind::Assign) {
            return Err(self.expected("`=` after the name of a property"));
        }
        let kind = match kind {
            TokenKind::Key | TokenKind::Actions if is_const || !annotations.is_empty() => {
                return Err(
                    self.error(start, format!("`{name}` takes neither `const` nor annotations"))
                );
            }
            TokenKind::Key => {
                TablePropertyKind::Key(self.braced("an element of the key", Self::key_element)?)
            }
            TokenKind::Actions => {
                TablePropertyKind::Actions(self.braced("an action", Self::listed_action)?)
            }
            TokenKind::Entries => TablePropertyKind::Entries(self.braced("an entry", Self::entry)?),
            _ => {
                let value = self.any_expression()?;
                self.semicolon("the value of a property")?;
                TablePropertyKind::Value(value)
            }
        };
        Ok(TableProperty { span: self.since(start), annotations, is_const, name, kind })
    }

    /// Parses the items of a table property, which is enclosed in braces. Items with syntax errors
    /// are omitted.
    fn braced<T>(
        &mut self,
        what: &str,
        mut item: impl FnMut(&mut Self) -> Parse<T>,
    ) -> Parse<Vec<T>> {
        let open = self.expect(TokenKind::LeftBrace)?;
        let mut out = Vec::new();
        while !self.take(TokenKind::RightBrace) {
            if self.is(TokenKind::End) {
                return Err(self.expected_or_brace(what, open));
            }
            let before = self.at;
            let depth = self.depth;
            match item(self) {
                Ok(item) => out.push(item),
                Err(_) => {
                    self.depth = depth;
                    self.recover(before);
                    if self.at == before && !self.is(TokenKind::RightBrace) {
                        self.advance();
                    }
                }
            }
        }
        Ok(out)
    }

    fn key_element(&mut self) -> Parse<KeyElement> {
        let start = self.token().span;
        let expression = self.any_expression()?;
        if !self.take(TokenKind::Colon) {
            return Err(self.expected("`:` and a match kind after a key expression"));
        }
        let match_kind = self.name("a match kind")?;
        let annotations = self.annotations()?;
        let span = self.since(start);
        self.semicolon("an element of the key")?;
        Ok(KeyElement { span, annotations, expression, match_kind })
    }

    fn listed_action(&mut self) -> Parse<ActionReference> {
        let annotations = self.annotations()?;
        let action = self.action_reference(annotations)?;
        self.semicolon("an action")?;
        Ok(action)
    }

    fn action_reference(&mut self, annotations: Vec<Annotation>) -> Parse<ActionReference> {
        let start = self.token().span;
        if !is_name(self.kind()) && !self.is(TokenKind::Dot) {
            return Err(self.expected("the name of an action"));
        }
        let path = self.path("the name of an action")?;
        let span = self.since(start);
        let action = self.expression(span, ExpressionKind::Path(path));
        let arguments =
            if self.is(TokenKind::LeftParenthesis) { Some(self.arguments()?) } else { None };
        Ok(ActionReference { span: self.since(start), annotations, action, arguments })
    }

    fn entry(&mut self) -> Parse<Entry> {
        let start = self.token().span;
        let is_const = self.take(TokenKind::Const);
        let priority = if self.is(TokenKind::Priority) && self.kind_ahead(1) == TokenKind::Assign {
            self.advance();
            self.advance();
            let priority = match self.kind() {
                TokenKind::Number | TokenKind::LeftParenthesis => self.postfix()?,
                _ => {
                    return Err(
                        self.expected("a number or an expression in parentheses as the priority")
                    );
                }
            };
            if !self.take(TokenKind::Colon) {
                return Err(self.expected("`:` after the priority of an entry"));
            }
            Some(priority)
        } else {
            None
        };
        let keyset = self.keyset()?;
        if !self.take(TokenKind::Colon) {
            return Err(self.expected("`:` and an action after the key set of an entry"));
        }
        let action = self.action_reference(Vec::new())?;
        let annotations = self.annotations()?;
        let span = self.since(start);
        self.semicolon("an entry")?;
        Ok(Entry { span, annotations, is_const, priority, keyset, action })
    }
}
