//! Parsing of expressions (P4_16 §8), by precedence climbing, and of key sets.

use super::scope::Binding;
use super::{Parse, Parser, is_name, literal};
use crate::ast::{
    Argument, BinaryOperator, Expression, ExpressionKind, NamedExpression, TypeKind, UnaryOperator,
};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// Parses an expression.
    pub(super) fn any_expression(&mut self) -> Parse<Expression> {
        self.whole_expression(false)
    }

    /// Parses the width in a type such as `bit<W + 1>`. It is an expression in which `>` is not an
    /// operator, except inside brackets.
    pub(super) fn width_expression(&mut self) -> Parse<Expression> {
        self.whole_expression(true)
    }

    fn whole_expression(&mut self, in_width: bool) -> Parse<Expression> {
        let outermost = self.operators.is_none();
        self.operators.get_or_insert(0);
        let around = std::mem::replace(&mut self.in_width, in_width);
        let result = self.inner_expression();
        self.in_width = around;
        if outermost {
            self.operators = None;
        }
        result
    }

    fn inner_expression(&mut self) -> Parse<Expression> {
        self.nested(|parser| {
            // A chain `a ? b : c ? d : e` is parsed in a loop, since it must not count as nesting.
            let mut choices = Vec::new();
            let mut last = parser.binary(0)?;
            while parser.take(TokenKind::Question) {
                parser.one_more_operator()?;
                let then = parser.inner_expression()?;
                parser.expect(TokenKind::Colon)?;
                choices.push((last, then));
                last = parser.binary(0)?;
            }
            for (condition, then) in choices.into_iter().rev() {
                let span = condition.span.to(last.span);
                let kind = ExpressionKind::Conditional {
                    condition: Box::new(condition),
                    then: Box::new(then),
                    otherwise: Box::new(last),
                };
                last = parser.expression(span, kind);
            }
            Ok(last)
        })
    }

    /// Parses operands joined by binary operators whose precedence is higher than `weakest`. All
    /// binary operators are left-associative.
    fn binary(&mut self, weakest: u8) -> Parse<Expression> {
        let mut left = self.unary()?;
        while let Some((operator, strength, tokens)) = self.binary_operator() {
            if strength <= weakest {
                break;
            }
            self.one_more_operator()?;
            for _ in 0..tokens {
                self.advance();
            }
            let right = self.binary(strength)?;
            let span = left.span.to(right.span);
            let kind =
                ExpressionKind::Binary { operator, left: Box::new(left), right: Box::new(right) };
            left = self.expression(span, kind);
        }
        Ok(left)
    }

    /// Returns the binary operator at the current token, its precedence and its length in tokens,
    /// or `None` if there is none. Unlike in C, bitwise operators have a higher precedence than
    /// comparisons.
    fn binary_operator(&self) -> Option<(BinaryOperator, u8, usize)> {
        use BinaryOperator as B;
        use TokenKind as K;
        let next = self.token_at(self.at + 1);
        let adjacent = if next.space_before { K::End } else { next.kind };
        Some(match self.kind() {
            K::Or => (B::Or, 1, 1),
            K::And => (B::And, 2, 1),
            K::Equal => (B::Equal, 3, 1),
            K::NotEqual => (B::NotEqual, 3, 1),
            K::Less => (B::Less, 4, 1),
            K::LessOrEqual => (B::LessOrEqual, 4, 1),
            K::Greater if self.in_width => return None,
            K::Greater => match adjacent {
                K::Assign => (B::GreaterOrEqual, 4, 2),
                // `>>=` is a compound assignment.
                K::Greater if self.is_shift_assign() => return None,
                K::Greater => (B::ShiftRight, 8, 2),
                _ => (B::Greater, 4, 1),
            },
            K::Bar => (B::BitOr, 5, 1),
            K::Caret => (B::BitXor, 6, 1),
            K::Ampersand => (B::BitAnd, 7, 1),
            K::ShiftLeft => (B::ShiftLeft, 8, 1),
            K::PlusPlus => (B::Concatenate, 9, 1),
            // `+:` is part of a slice.
            K::Plus if adjacent == K::Colon => return None,
            K::Plus => (B::Add, 9, 1),
            K::Minus => (B::Subtract, 9, 1),
            K::PlusSaturating => (B::AddSaturating, 9, 1),
            K::MinusSaturating => (B::SubtractSaturating, 9, 1),
            K::Star => (B::Multiply, 10, 1),
            K::Slash => (B::Divide, 10, 1),
            K::Percent => (B::Modulo, 10, 1),
            _ => return None,
        })
    }

    /// Returns whether the operator `>>=` starts at the current token. It consists of three tokens
    /// without white space between them.
    pub(super) fn is_shift_assign(&self) -> bool {
        let follows = |distance: usize, kind: TokenKind| {
            let token = self.token_at(self.at + distance);
            token.kind == kind && !token.space_before
        };
        self.is(TokenKind::Greater)
            && follows(1, TokenKind::Greater)
            && follows(2, TokenKind::Assign)
    }

    fn unary(&mut self) -> Parse<Expression> {
        let start = self.token().span;
        let operator = match self.kind() {
            TokenKind::Not => UnaryOperator::Not,
            TokenKind::Complement => UnaryOperator::Complement,
            TokenKind::Minus => UnaryOperator::Negate,
            TokenKind::Plus => UnaryOperator::Plus,
            TokenKind::LeftParenthesis if self.cast_follows() => {
                return self.nested(|parser| {
                    parser.advance();
                    let target = parser.type_reference()?;
                    parser.expect(TokenKind::RightParenthesis)?;
                    let operand = parser.unary()?;
                    let span = start.to(operand.span);
                    let kind = ExpressionKind::Cast {
                        target: Box::new(target),
                        operand: Box::new(operand),
                    };
                    Ok(parser.expression(span, kind))
                });
            }
            _ => return self.postfix(),
        };
        self.nested(|parser| {
            parser.advance();
            let operand = parser.unary()?;
            let span = start.to(operand.span);
            Ok(parser
                .expression(span, ExpressionKind::Unary { operator, operand: Box::new(operand) }))
        })
    }

    /// Parses a primary expression and the member accesses, indices and calls that follow it.
    pub(super) fn postfix(&mut self) -> Parse<Expression> {
        let start = self.token().span;
        let depth = self.depth;
        let mut base = self.primary()?;
        loop {
            let kind = match self.kind() {
                TokenKind::Dot => {
                    self.advance();
                    let member = self.name("the name of a member after `.`")?;
                    ExpressionKind::Member { base: Box::new(base), member }
                }
                TokenKind::LeftBracket => {
                    self.advance();
                    self.index(base)?
                }
                TokenKind::LeftParenthesis => self.call(base)?,
                TokenKind::Less if self.call_with_type_arguments() => self.call(base)?,
                // The base is a type, so `<` starts its type arguments and is not a comparison.
                TokenKind::Less if self.is_type_path(&base) => self.specialized(base)?,
                _ => break,
            };
            // The tree for a chain of member accesses is as deep as the chain is long, so each
            // element counts as a level of nesting.
            self.deeper()?;
            let span = self.since(start);
            base = self.expression(span, kind);
        }
        self.depth = depth;
        Ok(base)
    }

    fn is_type_path(&self, base: &Expression) -> bool {
        // The path has just been parsed, so its name still has the same binding.
        matches!(base.kind, ExpressionKind::Path(_))
            && self.at.checked_sub(1).is_some_and(|before| {
                let absolute =
                    before.checked_sub(1).filter(|dot| self.token_at(*dot).kind == TokenKind::Dot);
                self.binding_at(absolute.unwrap_or(before)) == Binding::Type
            })
    }

    /// Parses the type arguments in `Type<arguments>.member`. `base` is the type.
    fn specialized(&mut self, base: Expression) -> Parse<ExpressionKind> {
        let ExpressionKind::Path(path) = base.kind else {
            return Err(self.expected("an operator"));
        };
        let arguments = self.type_arguments()?;
        if !self.is(TokenKind::Dot) {
            return Err(self.expected("`(` or `.` after the type arguments"));
        }
        let span = self.since(base.span);
        let ty = self.ty(span, TypeKind::Specialized { base: path, arguments });
        Ok(ExpressionKind::Type(Box::new(ty)))
    }

    /// Parses an index or a slice of `base`. The opening bracket was already consumed.
    fn index(&mut self, base: Expression) -> Parse<ExpressionKind> {
        let first = Box::new(self.any_expression()?);
        let base = Box::new(base);
        let kind = if self.take(TokenKind::Colon) {
            ExpressionKind::Slice { base, high: first, low: Box::new(self.any_expression()?) }
        } else if self.is(TokenKind::Plus) && self.kind_ahead(1) == TokenKind::Colon {
            self.advance();
            self.advance();
            ExpressionKind::PartSelect { base, low: first, width: Box::new(self.any_expression()?) }
        } else {
            ExpressionKind::Index { base, index: first }
        };
        if !self.is(TokenKind::RightBracket) {
            return Err(self.expected("`]` after an index"));
        }
        self.advance();
        Ok(kind)
    }

    fn call(&mut self, callee: Expression) -> Parse<ExpressionKind> {
        let type_arguments =
            if self.is(TokenKind::Less) { self.type_arguments()? } else { Vec::new() };
        let arguments = self.arguments()?;
        Ok(ExpressionKind::Call { callee: Box::new(callee), type_arguments, arguments })
    }

    /// Parses the arguments of a call, including their parentheses.
    pub(super) fn arguments(&mut self) -> Parse<Vec<Argument>> {
        self.expect(TokenKind::LeftParenthesis)?;
        self.list(TokenKind::RightParenthesis, "an argument", |parser| {
            let named = is_name(parser.kind()) && parser.kind_ahead(1) == TokenKind::Assign;
            let name = if named {
                let name = parser.name("the name of a parameter")?;
                parser.advance();
                Some(name)
            } else {
                None
            };
            let value = if parser.is(TokenKind::DontCare) {
                let span = parser.advance().span;
                parser.expression(span, ExpressionKind::DontCare)
            } else {
                parser.any_expression()?
            };
            Ok(Argument { name, value })
        })
    }

    fn primary(&mut self) -> Parse<Expression> {
        let token = self.token();
        let kind = match token.kind {
            TokenKind::Number => return self.number(),
            TokenKind::String => {
                let text = literal::string(self.symbols.str(token.symbol));
                ExpressionKind::String(text.into())
            }
            TokenKind::True => ExpressionKind::Boolean(true),
            TokenKind::False => ExpressionKind::Boolean(false),
            TokenKind::This => ExpressionKind::This,
            TokenKind::Dots => ExpressionKind::DefaultValue,
            TokenKind::Error => {
                self.advance();
                if !self.is(TokenKind::Dot) {
                    return Err(self.expected("`.` and the name of an error"));
                }
                let ty = self.ty(token.span, TypeKind::Error);
                return Ok(self.expression(token.span, ExpressionKind::Type(Box::new(ty))));
            }
            TokenKind::LeftBrace => return self.braces(),
            TokenKind::LeftParenthesis => {
                self.advance();
                let inner = self.any_expression()?;
                if !self.is(TokenKind::RightParenthesis) {
                    return Err(self.expected("`)` after an expression in parentheses"));
                }
                self.advance();
                return Ok(inner);
            }
            kind if is_name(kind) || kind == TokenKind::Dot => {
                let path = self.path("a name after `.`")?;
                let span = self.since(token.span);
                return Ok(self.expression(span, ExpressionKind::Path(path)));
            }
            _ => return Err(self.expected("an expression")),
        };
        self.advance();
        Ok(self.expression(token.span, kind))
    }

    /// Parses an integer literal.
    pub(super) fn number(&mut self) -> Parse<Expression> {
        let token = self.token();
        if token.kind != TokenKind::Number {
            return Err(self.expected("a number"));
        }
        match literal::integer(self.symbols.str(token.symbol)) {
            Ok(value) => {
                self.advance();
                Ok(self.expression(token.span, ExpressionKind::Integer(value)))
            }
            Err(message) => {
                let failed = self.error(token.span, message);
                self.advance();
                Err(failed)
            }
        }
    }

    /// Parses a list, a record or an invalid header, including its braces.
    fn braces(&mut self) -> Parse<Expression> {
        let start = self.expect(TokenKind::LeftBrace)?;
        if self.is(TokenKind::Hash) && self.kind_ahead(1) == TokenKind::RightBrace {
            self.advance();
            self.advance();
            let span = self.since(start);
            return Ok(self.expression(span, ExpressionKind::InvalidHeader));
        }
        let record = is_name(self.kind()) && self.kind_ahead(1) == TokenKind::Assign;
        let mut default_rest = None;
        let mut fields = Vec::new();
        let mut elements = Vec::new();
        while !self.take(TokenKind::RightBrace) {
            if let Some(dots) = default_rest {
                return Err(self.error(dots, "`...` must stand last"));
            }
            if self.is(TokenKind::Dots)
                && matches!(self.kind_ahead(1), TokenKind::Comma | TokenKind::RightBrace)
            {
                default_rest = Some(self.advance().span);
            } else if record {
                let name = self.name("the name of a field")?;
                self.expect(TokenKind::Assign)?;
                let value = self.any_expression()?;
                fields.push(NamedExpression { name, value });
            } else {
                elements.push(self.any_expression()?);
            }
            if self.take(TokenKind::RightBrace) {
                break;
            }
            if !self.take(TokenKind::Comma) {
                return Err(self.expected("`,` or `}` after an element"));
            }
        }
        let span = self.since(start);
        let kind = if record {
            ExpressionKind::Record { fields, default_rest }
        } else {
            ExpressionKind::List { elements, default_rest }
        };
        Ok(self.expression(span, kind))
    }

    /// Parses the key set of a `select` case or a table entry.
    pub(super) fn keyset(&mut self) -> Parse<Expression> {
        let inner_marks = [TokenKind::Comma, TokenKind::Mask, TokenKind::DotDot];
        let tuple = self.is(TokenKind::LeftParenthesis)
            && (self.holds_directly(&inner_marks)
                || matches!(self.kind_ahead(1), TokenKind::Default | TokenKind::DontCare));
        if !tuple {
            return self.simple_keyset();
        }
        let start = self.expect(TokenKind::LeftParenthesis)?;
        let elements = self.list(TokenKind::RightParenthesis, "a key set", Self::simple_keyset)?;
        let span = self.since(start);
        Ok(self.expression(span, ExpressionKind::TupleKeyset(elements)))
    }

    fn simple_keyset(&mut self) -> Parse<Expression> {
        let token = self.token();
        match token.kind {
            TokenKind::Default => {
                self.advance();
                Ok(self.expression(token.span, ExpressionKind::DefaultKeyset))
            }
            TokenKind::DontCare => {
                self.advance();
                Ok(self.expression(token.span, ExpressionKind::DontCare))
            }
            _ => {
                let left = self.any_expression()?;
                let operator = match self.kind() {
                    TokenKind::Mask => BinaryOperator::Mask,
                    TokenKind::DotDot => BinaryOperator::Range,
                    _ => return Ok(left),
                };
                self.advance();
                let right = self.any_expression()?;
                let span = left.span.to(right.span);
                let kind = ExpressionKind::Binary {
                    operator,
                    left: Box::new(left),
                    right: Box::new(right),
                };
                Ok(self.expression(span, kind))
            }
        }
    }

    /// Parses the collection of a `for` loop: an expression or a range.
    pub(super) fn collection(&mut self) -> Parse<Expression> {
        let left = self.any_expression()?;
        if !self.take(TokenKind::DotDot) {
            return Ok(left);
        }
        let right = self.any_expression()?;
        let span = left.span.to(right.span);
        let kind = ExpressionKind::Binary {
            operator: BinaryOperator::Range,
            left: Box::new(left),
            right: Box::new(right),
        };
        Ok(self.expression(span, kind))
    }
}
