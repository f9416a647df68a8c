//! Conditional directives: the stack of open `#if`s, and the evaluation of the integer expressions
//! in them.
//!
//! The expressions are those of C (C17 §6.10.1). Arithmetic is signed and wraps at 64 bits, and a
//! name that is not a macro has the value 0. An operand that `&&`, `||` or `?:` skips causes no
//! error, so `defined(X) && 1 / X` is accepted.

use super::Preprocessor;
use super::macros::is_name;
use crate::lexer::{Token, TokenKind};
use crate::source::Span;

/// The conditional directives of one file whose `#endif` has not been read yet, outermost first.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    stack: Vec<Condition>,
}

/// A conditional directive such as `#if` whose `#endif` has not been read yet.
#[derive(Debug)]
pub(super) struct Condition {
    pub(super) span: Span,
    /// Whether the condition of an earlier branch was true, so that later branches are skipped.
    pub(super) taken: bool,
    pub(super) else_seen: bool,
}

impl Conditions {
    pub(super) fn open(&mut self, span: Span, taken: bool) {
        self.stack.push(Condition { span, taken, else_seen: false });
    }

    pub(super) fn innermost(&mut self) -> Option<&mut Condition> {
        self.stack.last_mut()
    }

    pub(super) fn close(&mut self) -> bool {
        self.stack.pop().is_some()
    }

    /// Removes all open conditionals and returns their locations.
    pub(super) fn unclosed(&mut self) -> Vec<Span> {
        self.stack.drain(..).map(|condition| condition.span).collect()
    }
}

/// The largest nesting depth of the expression of an `#if` directive.
const DEEPEST_EXPRESSION: usize = 100;

/// An error in the expression of an `#if` directive, with its location.
struct Fault {
    span: Span,
    message: String,
}

/// A parser that evaluates the expression of an `#if` directive.
struct Evaluator<'tokens> {
    tokens: &'tokens [Token],
    texts: Vec<String>,
    at: usize,
    end: Span,
    depth: usize,
}

impl Preprocessor<'_> {
    /// Evaluates the condition of an `#if` or `#elif`. `line` is the rest of its line. Returns
    /// false after an error.
    pub(super) fn condition(&mut self, line: &[Token], directive: Span) -> bool {
        self.in_condition = true;
        let tokens = self.expand_line(line.to_vec());
        self.in_condition = false;
        let texts = tokens.iter().map(|token| self.symbols.str(token.symbol).to_owned()).collect();
        let end = line.last().map_or(directive, |token| token.span);
        let mut evaluator = Evaluator { tokens: &tokens, texts, at: 0, end, depth: 0 };
        let result = evaluator.conditional(true).and_then(|value| {
            match evaluator.tokens.get(evaluator.at) {
                None => Ok(value),
                Some(token) => Err(Fault {
                    span: token.span,
                    message: "expected the condition to end here".into(),
                }),
            }
        });
        match result {
            Ok(value) => value != 0,
            Err(fault) => {
                self.error(fault.span, fault.message);
                false
            }
        }
    }

    /// Evaluates the operator `defined X` or `defined(X)` in a condition, and returns the token `1`
    /// or `0`. The name `X` is not expanded, even if `defined` comes from the body of a macro.
    pub(super) fn defined(&mut self, operator: Token) -> Token {
        let mut name = self.next_unexpanded();
        let open = name.kind == TokenKind::LeftParenthesis;
        if open {
            name = self.next_unexpanded();
        }
        let closed = !open
            || (is_name(name.kind) && self.next_unexpanded().kind == TokenKind::RightParenthesis);
        if !is_name(name.kind) || !closed {
            self.error(operator.span, "expected a name after `defined`");
        }
        let text = if self.is_macro(name.symbol) { "1" } else { "0" };
        Token { kind: TokenKind::Number, symbol: self.symbols.intern(text), ..operator }
    }
}

type Evaluated = Result<i64, Fault>;

impl Evaluator<'_> {
    fn kind(&self) -> Option<TokenKind> {
        self.tokens.get(self.at).map(|token| token.kind)
    }

    fn take(&mut self, kind: TokenKind) -> bool {
        let matches = self.kind() == Some(kind);
        self.at += usize::from(matches);
        matches
    }

    fn fault(&self, message: &str) -> Fault {
        let span = self.tokens.get(self.at).map_or(self.end, |token| token.span);
        Fault { span, message: message.to_owned() }
    }

    /// Evaluates a conditional expression, `a ? b : c`, or an expression without `?`. `live` states
    /// whether the value is used. A division by zero is an error only if it is.
    fn conditional(&mut self, live: bool) -> Evaluated {
        self.depth += 1;
        if self.depth > DEEPEST_EXPRESSION {
            return Err(self.fault("this condition nests too deep"));
        }
        let condition = self.binary(0, live)?;
        let value = if self.take(TokenKind::Question) {
            let then = self.conditional(live && condition != 0)?;
            if !self.take(TokenKind::Colon) {
                return Err(self.fault("expected `:`"));
            }
            let otherwise = self.conditional(live && condition == 0)?;
            if condition != 0 { then } else { otherwise }
        } else {
            condition
        };
        self.depth -= 1;
        Ok(value)
    }

    /// Returns the binary operator at the current position, its precedence and its length in
    /// tokens, or `None` if there is none.
    fn operator(&self) -> Option<(Operator, u8, usize)> {
        use Operator as O;
        use TokenKind as K;
        let next = self
            .tokens
            .get(self.at + 1)
            .filter(|token| !token.space_before)
            .map(|token| token.kind);
        Some(match (self.kind()?, next) {
            (K::Or, _) => (O::Or, 1, 1),
            (K::And, _) => (O::And, 2, 1),
            (K::Bar, _) => (O::BitOr, 3, 1),
            (K::Caret, _) => (O::BitXor, 4, 1),
            (K::Ampersand, _) => (O::BitAnd, 5, 1),
            (K::Equal, _) => (O::Equal, 6, 1),
            (K::NotEqual, _) => (O::NotEqual, 6, 1),
            (K::Greater, Some(K::Greater)) => (O::ShiftRight, 8, 2),
            (K::Greater, Some(K::Assign)) => (O::GreaterOrEqual, 7, 2),
            (K::Greater, _) => (O::Greater, 7, 1),
            (K::Less, _) => (O::Less, 7, 1),
            (K::LessOrEqual, _) => (O::LessOrEqual, 7, 1),
            (K::ShiftLeft, _) => (O::ShiftLeft, 8, 1),
            (K::Plus, _) => (O::Add, 9, 1),
            (K::Minus, _) => (O::Subtract, 9, 1),
            (K::Star, _) => (O::Multiply, 10, 1),
            (K::Slash, _) => (O::Divide, 10, 1),
            (K::Percent, _) => (O::Modulo, 10, 1),
            _ => return None,
        })
    }

    fn binary(&mut self, weakest: u8, live: bool) -> Evaluated {
        let mut left = self.unary(live)?;
        while let Some((operator, strength, length)) = self.operator() {
            if strength <= weakest {
                break;
            }
            let at = self.at;
            self.at += length;
            let right_live = match operator {
                Operator::And => live && left != 0,
                Operator::Or => live && left == 0,
                _ => live,
            };
            let right = self.binary(strength, right_live)?;
            left = match operator.apply(left, right) {
                Some(value) => value,
                None if !live => 0,
                None => {
                    self.at = at;
                    return Err(self.fault("division by zero"));
                }
            };
        }
        Ok(left)
    }

    fn unary(&mut self, live: bool) -> Evaluated {
        self.depth += 1;
        if self.depth > DEEPEST_EXPRESSION {
            return Err(self.fault("this condition nests too deep"));
        }
        let value = if self.take(TokenKind::Not) {
            i64::from(self.unary(live)? == 0)
        } else if self.take(TokenKind::Minus) {
            self.unary(live)?.wrapping_neg()
        } else if self.take(TokenKind::Plus) {
            self.unary(live)?
        } else if self.take(TokenKind::Complement) {
            !self.unary(live)?
        } else if self.take(TokenKind::LeftParenthesis) {
            let value = self.conditional(live)?;
            if !self.take(TokenKind::RightParenthesis) {
                return Err(self.fault("expected `)`"));
            }
            value
        } else {
            self.primary()?
        };
        self.depth -= 1;
        Ok(value)
    }

    fn primary(&mut self) -> Evaluated {
        let Some(token) = self.tokens.get(self.at) else {
            return Err(self.fault("expected a value after this"));
        };
        let text = self.texts.get(self.at).map_or("", String::as_str);
        let value = match token.kind {
            TokenKind::Number => match number(text) {
                Some(value) => value,
                None => {
                    return Err(
                        self.fault(&format!("`{text}` is not an integer of the preprocessor"))
                    );
                }
            },
            // A name that is not a macro is 0, even if it is `true` or a keyword of P4.
            kind if is_name(kind) => 0,
            TokenKind::Unknown if text == "'" => return self.character(),
            _ => return Err(self.fault(&format!("expected an integer or a name, found `{text}`"))),
        };
        self.at += 1;
        Ok(value)
    }

    /// Evaluates a character constant. The current token is its opening quote. P4 has no character
    /// constants, so the rest of it consists of separate tokens: an optional backslash, a name or
    /// punctuation mark of one character, and the closing quote.
    fn character(&mut self) -> Evaluated {
        let text_at = |at: usize| self.texts.get(at).map_or("", String::as_str);
        let escaped = text_at(self.at + 1) == "\\";
        let at = self.at + 1 + usize::from(escaped);
        let mut characters = text_at(at).chars();
        let value = match (characters.next(), characters.next()) {
            (Some(character), None) if text_at(at + 1) == "'" => match (escaped, character) {
                (true, 'n') => 10,
                (true, 't') => 9,
                (true, 'r') => 13,
                (true, '0') => 0,
                (_, character) => i64::from(u32::from(character)),
            },
            _ => return Err(self.fault("expected a character and `'` after this")),
        };
        self.at = at + 2;
        Ok(value)
    }
}

/// A binary operator in the expression of an `#if` directive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Or,
    And,
    BitOr,
    BitXor,
    BitAnd,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl Operator {
    /// Returns the result of the operator, or `None` for a division by zero.
    fn apply(self, left: i64, right: i64) -> Option<i64> {
        // A shift by a negative amount is undefined in C. Here it does not change the value.
        let shift = u32::try_from(right.clamp(0, 64)).unwrap_or(0);
        Some(match self {
            Self::Or => i64::from(left != 0 || right != 0),
            Self::And => i64::from(left != 0 && right != 0),
            Self::BitOr => left | right,
            Self::BitXor => left ^ right,
            Self::BitAnd => left & right,
            Self::Equal => i64::from(left == right),
            Self::NotEqual => i64::from(left != right),
            Self::Less => i64::from(left < right),
            Self::LessOrEqual => i64::from(left <= right),
            Self::Greater => i64::from(left > right),
            Self::GreaterOrEqual => i64::from(left >= right),
            Self::ShiftLeft => left.checked_shl(shift).unwrap_or(0),
            Self::ShiftRight => left.checked_shr(shift).unwrap_or(left >> 63),
            Self::Add => left.wrapping_add(right),
            Self::Subtract => left.wrapping_sub(right),
            Self::Multiply => left.wrapping_mul(right),
            Self::Divide if right == 0 => return None,
            Self::Divide => left.wrapping_div(right),
            Self::Modulo if right == 0 => return None,
            Self::Modulo => left.wrapping_rem(right),
        })
    }
}

/// Parses an integer in C's notation, which may have a suffix such as `UL`. Returns `None` for any
/// other text, and for a number that does not fit in 64 bits.
fn number(text: &str) -> Option<i64> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    u64::from_str_radix(digits, radix).ok().map(u64::cast_signed)
}
