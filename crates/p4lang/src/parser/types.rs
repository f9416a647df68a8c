//! Parsing of type references (P4_16 §7), type parameters and parameters.

use super::lookahead::starts_base_type;
use super::scope::Binding;
use super::{Parse, Parser, is_name};
use crate::ast::{
    Annotation, AnnotationBody, Direction, Expression, Name, Parameter, Path, Type, TypeKind,
    TypeParameter,
};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// Parses a type, which must be neither `void` nor `_`.
    pub(super) fn type_reference(&mut self) -> Parse<Type> {
        match self.kind() {
            TokenKind::Void => Err(self.error_here("`void` is only a return type")),
            TokenKind::DontCare => Err(self.error_here("`_` is only a type argument")),
            _ => self.any_type(),
        }
    }

    /// Parses a return type, which may be `void`.
    pub(super) fn return_type(&mut self) -> Parse<Type> {
        match self.kind() {
            TokenKind::DontCare => Err(self.error_here("`_` is only a type argument")),
            _ => self.any_type(),
        }
    }

    fn any_type(&mut self) -> Parse<Type> {
        self.nested(Self::any_type_unbounded)
    }

    fn any_type_unbounded(&mut self) -> Parse<Type> {
        let start = self.token().span;
        let kind = match self.kind() {
            TokenKind::Bool => self.simple(TypeKind::Boolean),
            TokenKind::Error => self.simple(TypeKind::Error),
            TokenKind::MatchKind => self.simple(TypeKind::MatchKind),
            TokenKind::StringType => self.simple(TypeKind::String),
            TokenKind::Void => self.simple(TypeKind::Void),
            TokenKind::DontCare => self.simple(TypeKind::Infer),
            TokenKind::Bit => {
                self.advance();
                TypeKind::Bit(self.optional_width()?)
            }
            TokenKind::Int => {
                self.advance();
                TypeKind::Int(self.optional_width()?)
            }
            TokenKind::Varbit => {
                self.advance();
                match self.optional_width()? {
                    Some(width) => TypeKind::Varbit(width),
                    None => return Err(self.expected("`<` and the largest width of the `varbit`")),
                }
            }
            TokenKind::Tuple => {
                self.advance();
                TypeKind::Tuple(self.type_arguments()?)
            }
            TokenKind::List if self.kind_ahead(1) == TokenKind::Less => {
                self.advance();
                let mut arguments = self.type_arguments()?;
                match (arguments.pop(), arguments.is_empty()) {
                    (Some(element), true) => TypeKind::List(Box::new(element)),
                    _ => {
                        return Err(self.error(
                            self.since(start),
                            "a `list` has exactly one type of elements",
                        ));
                    }
                }
            }
            kind if is_name(kind) || kind == TokenKind::Dot => {
                let base = self.path("a type")?;
                if self.is(TokenKind::Less) {
                    let arguments = self.type_arguments()?;
                    TypeKind::Specialized { base, arguments }
                } else {
                    TypeKind::Named(base)
                }
            }
            _ => return Err(self.expected("a type")),
        };
        let mut ty = self.ty(self.since(start), kind);
        let depth = self.depth;
        while self.take(TokenKind::LeftBracket) {
            self.deeper()?;
            let size = self.any_expression()?;
            self.expect(TokenKind::RightBracket)?;
            let span = self.since(start);
            ty = self.ty(span, TypeKind::Stack { element: Box::new(ty), size: Box::new(size) });
        }
        self.depth = depth;
        Ok(ty)
    }

    /// Parses array sizes after the name of a variable or field, as in C. p4c accepts this notation
    /// in addition to `type[size] name`.
    pub(super) fn sizes_behind_name(&mut self, mut ty: Type) -> Parse<Type> {
        let mut sizes = Vec::new();
        let depth = self.depth;
        while self.take(TokenKind::LeftBracket) {
            self.deeper()?;
            sizes.push(self.any_expression()?);
            self.expect(TokenKind::RightBracket)?;
        }
        self.depth = depth;
        // As in C, the first size is that of the outermost array.
        while let Some(size) = sizes.pop() {
            let span = ty.span;
            ty = self.ty(span, TypeKind::Stack { element: Box::new(ty), size: Box::new(size) });
        }
        Ok(ty)
    }

    fn simple(&mut self, kind: TypeKind) -> TypeKind {
        self.advance();
        kind
    }

    /// Parses the optional width of a type: `<W>`, `<(expression)>`, or `<expression>`. Returns
    /// `None` if there is no width. Version 1.2.5 of the specification does not have the form
    /// `<expression>` yet.
    fn optional_width(&mut self) -> Parse<Option<Box<Expression>>> {
        if !self.take(TokenKind::Less) {
            return Ok(None);
        }
        let width = match self.kind() {
            TokenKind::Greater => return Err(self.expected("the width")),
            _ => self.width_expression()?,
        };
        self.expect(TokenKind::Greater)?;
        Ok(Some(Box::new(width)))
    }

    /// Parses type arguments, `<T, ...>`.
    pub(super) fn type_arguments(&mut self) -> Parse<Vec<Type>> {
        self.expect(TokenKind::Less)?;
        self.list(TokenKind::Greater, "a type argument", Self::any_type)
    }

    /// Parses a reference to a name, `name` or `.name`. `what` describes the name in errors.
    pub(super) fn path(&mut self, what: &str) -> Parse<Path> {
        let absolute = self.take(TokenKind::Dot);
        let name = self.name(what)?;
        Ok(Path { absolute, name })
    }

    /// Parses the declaration of type parameters, `<T, ...>`, and declares them as types.
    pub(super) fn type_parameters(&mut self) -> Parse<Vec<TypeParameter>> {
        if !self.take(TokenKind::Less) {
            return Ok(Vec::new());
        }
        self.list(TokenKind::Greater, "a type parameter", |parser| {
            let id = parser.declaration_id();
            let name = parser.declared_name("the name of a type parameter", Binding::Type)?;
            Ok(TypeParameter { id, name })
        })
    }

    /// Parses a list of parameters, including its parentheses.
    pub(super) fn parameters(&mut self) -> Parse<Vec<Parameter>> {
        self.expect(TokenKind::LeftParenthesis)?;
        let parameters = self.list(TokenKind::RightParenthesis, "a parameter", Self::parameter)?;
        Ok(parameters)
    }

    fn parameter(&mut self) -> Parse<Parameter> {
        let mut annotations = self.annotations()?;
        annotations.extend(self.read_modify_write());
        let start = self.token().span;
        let direction = match self.kind() {
            TokenKind::In => Direction::In,
            TokenKind::Out => Direction::Out,
            TokenKind::InOut => Direction::InOut,
            _ => Direction::None,
        };
        if direction != Direction::None {
            self.advance();
        }
        if !starts_base_type(self.kind()) && !is_name(self.kind()) && !self.is(TokenKind::Dot) {
            return Err(self.expected("a parameter: a direction or a type, then a name"));
        }
        let id = self.declaration_id();
        let ty = self.type_reference()?;
        let name = self.declared_name("the name of the parameter", Binding::Value)?;
        let default =
            if self.take(TokenKind::Assign) { Some(self.any_expression()?) } else { None };
        Ok(Parameter { id, span: self.since(start), annotations, direction, ty, name, default })
    }

    /// Parses `rmw` in the place of a parameter's direction, and returns the annotation `@__ref`,
    /// by which it is represented. `rmw` is a proposed direction (p4-spec pull request 1239) for
    /// parameters of an action that are read from the table entry and written back to it.
    fn read_modify_write(&mut self) -> Option<Annotation> {
        let token = self.token();
        if !is_name(token.kind) || &*self.symbols.text(token.symbol) != "rmw" {
            return None;
        }
        let end = self.type_end(self.at + 1, 0)?;
        if !is_name(self.token_at(end).kind) {
            return None;
        }
        self.advance();
        let name = Name { text: "__ref".into(), span: token.span };
        Some(Annotation { span: token.span, name, body: AnnotationBody::Empty })
    }
}
