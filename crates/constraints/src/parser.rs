//! The parser of constraints (p4-constraints, language specification, "Grammar" and "Precedence and
//! Associativity").

use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use num_bigint::{BigInt, BigUint};

use crate::Problem;
use crate::lexer::{Token, TokenKind, tokens};

/// The largest nesting depth of parentheses and unary operators.
const DEEPEST: usize = 100;
/// The largest number of digits of a numeral. The limit exists because the time to parse a decimal
/// numeral is quadratic in its length.
const MAX_DIGITS: usize = 10_000;

/// An operator that compares two expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// Returns whether the comparison holds if `order` is the order of its left operand relative to
    /// the right one.
    pub(crate) fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }

    /// Returns the negated comparison, which holds exactly if this one does not.
    pub(crate) fn negated(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
        }
    }

    /// Returns the comparison that is equivalent to this one after its operands are exchanged.
    pub(crate) fn reversed(self) -> Self {
        match self {
            Self::Equal | Self::NotEqual => self,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
        }
    }
}

/// An expression as it is written, before its types are checked.
#[derive(Debug, Clone)]
pub(crate) struct Expression {
    pub(crate) range: Range<usize>,
    pub(crate) form: Form,
}

/// The form of an expression.
#[derive(Debug, Clone)]
pub(crate) enum Form {
    Bool(bool),
    Integer(BigInt),
    Key(String),
    /// `::name`, an attribute of the entry, such as its priority.
    Attribute(String),
    /// `key::name`, a field of the match for a key, such as its mask.
    Projection(Box<Expression>, String),
    Not(Box<Expression>),
    Minus(Box<Expression>),
    /// Operands of `&&` or `;`. Both operators are conjunctions.
    All(Vec<Expression>),
    /// Operands of `||`.
    Any(Vec<Expression>),
    Implies(Box<[Expression; 2]>),
    Compare(Comparison, Box<[Expression; 2]>),
}

/// Parses a constraint. Returns `None` if the text contains no expression.
pub(crate) fn parse(text: &str) -> Result<Option<Expression>, Problem> {
    let tokens = tokens(text)?;
    if tokens.len() == 1 {
        return Ok(None);
    }
    let mut parser = Parser { text, tokens, at: 0, depth: 0 };
    let whole = parser.sequence()?;
    match parser.kind() {
        TokenKind::End => Ok(Some(whole)),
        _ => Err(parser.unexpected("an operator or the end of the constraint")),
    }
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

type Parse = Result<Expression, Problem>;

impl Parser<'_> {
    fn kind(&self) -> TokenKind {
        self.tokens.get(self.at).map_or(TokenKind::End, |token| token.kind)
    }

    fn range(&self) -> Range<usize> {
        let end = self.text.len();
        self.tokens.get(self.at).map_or(end..end, |token| token.range.clone())
    }

    /// Consumes the current token and returns its range in the text.
    fn take(&mut self) -> Range<usize> {
        let range = self.range();
        self.at += 1;
        range
    }

    fn takes(&mut self, kind: TokenKind) -> bool {
        let is = self.kind() == kind;
        self.at += usize::from(is);
        is
    }

    fn text(&self, range: Range<usize>) -> &str {
        self.text.get(range).unwrap_or("")
    }

    fn unexpected(&self, wanted: &str) -> Problem {
        let range = self.range();
        let found = match self.kind() {
            TokenKind::End => "the constraint ends".to_owned(),
            _ => format!("found `{}`", self.text(range.clone())),
        };
        Problem::new(range, format!("{found} where {wanted} was expected"))
    }

    /// Parses a sequence of operands that `;` separates. A `;` may also follow the last operand.
    fn sequence(&mut self) -> Parse {
        let first = self.implication()?;
        let mut all = vec![first];
        while self.takes(TokenKind::Semicolon) {
            if matches!(self.kind(), TokenKind::End | TokenKind::RightParenthesis) {
                break;
            }
            all.push(self.implication()?);
        }
        Ok(joined(all, Form::All))
    }

    fn implication(&mut self) -> Parse {
        let left = self.disjunction()?;
        if !self.takes(TokenKind::Arrow) {
            return Ok(left);
        }
        let right = self.disjunction()?;
        if self.kind() == TokenKind::Arrow {
            return Err(Problem::new(self.range(), "`->` does not associate")
                .note("write parentheses around one of the implications"));
        }
        let range = left.range.start..right.range.end;
        Ok(Expression { range, form: Form::Implies(Box::new([left, right])) })
    }

    fn disjunction(&mut self) -> Parse {
        let mut any = vec![self.conjunction()?];
        while self.takes(TokenKind::Or) {
            any.push(self.conjunction()?);
        }
        Ok(joined(any, Form::Any))
    }

    fn conjunction(&mut self) -> Parse {
        let mut all = vec![self.comparison()?];
        while self.takes(TokenKind::And) {
            all.push(self.comparison()?);
        }
        Ok(joined(all, Form::All))
    }

    fn comparison(&mut self) -> Parse {
        let left = self.unary()?;
        let Some(operator) = self.comparison_operator() else { return Ok(left) };
        self.at += 1;
        let right = self.unary()?;
        if self.comparison_operator().is_some() {
            return Err(Problem::new(self.range(), "comparisons do not associate")
                .note("write parentheses, or two comparisons with `&&` between"));
        }
        let range = left.range.start..right.range.end;
        Ok(Expression { range, form: Form::Compare(operator, Box::new([left, right])) })
    }

    fn comparison_operator(&self) -> Option<Comparison> {
        Some(match self.kind() {
            TokenKind::Equal => Comparison::Equal,
            TokenKind::NotEqual => Comparison::NotEqual,
            TokenKind::Less => Comparison::Less,
            TokenKind::LessOrEqual => Comparison::LessOrEqual,
            TokenKind::Greater => Comparison::Greater,
            TokenKind::GreaterOrEqual => Comparison::GreaterOrEqual,
            TokenKind::Identifier
            | TokenKind::Numeral
            | TokenKind::Quoted
            | TokenKind::LeftParenthesis
            | TokenKind::RightParenthesis
            | TokenKind::Dot
            | TokenKind::Semicolon
            | TokenKind::Projection
            | TokenKind::Arrow
            | TokenKind::Or
            | TokenKind::And
            | TokenKind::Not
            | TokenKind::Minus
            | TokenKind::End => return None,
        })
    }

    fn unary(&mut self) -> Parse {
        let form: fn(Box<Expression>) -> Form = match self.kind() {
            TokenKind::Not => Form::Not,
            TokenKind::Minus => Form::Minus,
            _ => return self.projection(),
        };
        let start = self.take().start;
        let operand = self.nested(Self::unary)?;
        Ok(Expression { range: start..operand.range.end, form: form(Box::new(operand)) })
    }

    fn nested(&mut self, parse: impl FnOnce(&mut Self) -> Parse) -> Parse {
        if self.depth == DEEPEST {
            let message = format!("expressions nest more than {DEEPEST} deep here");
            return Err(Problem::new(self.range(), message));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn projection(&mut self) -> Parse {
        let mut of = self.primary()?;
        let mut count = 0;
        while self.takes(TokenKind::Projection) {
            count += 1;
            if self.kind() != TokenKind::Identifier || count > DEEPEST {
                return Err(self.unexpected("the name of a field"));
            }
            let field = self.take();
            let name = self.text(field.clone()).to_owned();
            let range = of.range.start..field.end;
            of = Expression { range, form: Form::Projection(Box::new(of), name) };
        }
        Ok(of)
    }

    fn primary(&mut self) -> Parse {
        let range = self.range();
        match self.kind() {
            TokenKind::LeftParenthesis => {
                self.at += 1;
                let inner = self.nested(Self::sequence)?;
                if self.kind() != TokenKind::RightParenthesis {
                    return Err(self.unexpected("an operator or `)`"));
                }
                Ok(Expression { range: range.start..self.take().end, ..inner })
            }
            TokenKind::Numeral => {
                self.at += 1;
                let value = numeral(self.text(range.clone()), &range)?;
                Ok(Expression { range, form: Form::Integer(value) })
            }
            TokenKind::Projection => {
                self.at += 1;
                if self.kind() != TokenKind::Identifier {
                    return Err(self.unexpected("the name of an attribute"));
                }
                let name = self.take();
                let text = self.text(name.clone()).to_owned();
                Ok(Expression { range: range.start..name.end, form: Form::Attribute(text) })
            }
            TokenKind::Identifier => self.identifier(),
            TokenKind::Quoted => Err(Problem::new(range, "text stands here without its type")
                .note("write `ipv4('...')`, `ipv6('...')` or `mac('...')`")),
            _ => Err(self.unexpected("an expression")),
        }
    }

    fn identifier(&mut self) -> Parse {
        let range = self.take();
        let word = self.text(range.clone());
        match (word, self.kind()) {
            ("true" | "false", _) => {
                let form = Form::Bool(word == "true");
                return Ok(Expression { range, form });
            }
            ("ipv4" | "ipv6" | "mac", TokenKind::LeftParenthesis) => return self.address(range),
            _ => {}
        }
        let mut name = word.to_owned();
        let mut end = range.end;
        while self.takes(TokenKind::Dot) {
            if self.kind() != TokenKind::Identifier {
                return Err(self.unexpected("the next part of the name"));
            }
            let part = self.take();
            name.push('.');
            name.push_str(self.text(part.clone()));
            end = part.end;
        }
        Ok(Expression { range: range.start..end, form: Form::Key(name) })
    }

    /// Parses the remainder of an address such as `ipv4('...')`. The token `ipv4` was consumed
    /// before.
    fn address(&mut self, kind: Range<usize>) -> Parse {
        self.at += 1;
        if self.kind() != TokenKind::Quoted {
            return Err(self.unexpected("an address in single quotes"));
        }
        let quoted = self.take();
        let inner = self.text(quoted.start + 1..quoted.end.saturating_sub(1));
        let kind_text = self.text(kind.clone());
        let value = match kind_text {
            "ipv4" => inner.parse().ok().map(|address: Ipv4Addr| u128::from(address.to_bits())),
            "ipv6" => inner.parse().ok().map(|address: Ipv6Addr| address.to_bits()),
            _ => mac(inner),
        };
        let Some(value) = value else {
            let name = match kind_text {
                "ipv4" => "an IPv4 address",
                "ipv6" => "an IPv6 address",
                _ => "a MAC address",
            };
            let shown = inner.escape_default();
            return Err(Problem::new(quoted, format!("'{shown}' is not {name}")));
        };
        if self.kind() != TokenKind::RightParenthesis {
            return Err(self.unexpected("`)`"));
        }
        let range = kind.start..self.take().end;
        Ok(Expression { range, form: Form::Integer(value.into()) })
    }
}

/// Joins the operands to an expression of the given form. A single operand is returned as it is.
fn joined(mut operands: Vec<Expression>, form: fn(Vec<Expression>) -> Form) -> Expression {
    if operands.len() == 1
        && let Some(only) = operands.pop()
    {
        return only;
    }
    let start = operands.first().map_or(0, |first| first.range.start);
    let end = operands.last().map_or(0, |last| last.range.end);
    Expression { range: start..end, form: form(operands) }
}

fn mac(text: &str) -> Option<u128> {
    let mut value = 0;
    let mut count = 0;
    for octet in text.split(':') {
        let is_octet = octet.len() == 2 && octet.bytes().all(|byte| byte.is_ascii_hexdigit());
        value = value << 8 | u128::from(u8::from_str_radix(octet, 16).ok().filter(|_| is_octet)?);
        count += 1;
        if count > 6 {
            return None;
        }
    }
    (count == 6).then_some(value)
}

fn numeral(text: &str, range: &Range<usize>) -> Result<BigInt, Problem> {
    let (base, digits) = match text.get(..2) {
        Some("0b" | "0B") => (2, text.get(2..)),
        Some("0o" | "0O") => (8, text.get(2..)),
        Some("0d" | "0D") => (10, text.get(2..)),
        Some("0x" | "0X") => (16, text.get(2..)),
        _ => (10, Some(text)),
    };
    let digits = digits.unwrap_or("");
    if let Some(wrong) = digits.chars().find(|digit| !digit.is_digit(base)) {
        let message = format!("`{wrong}` is not a digit of a number in base {base}");
        return Err(Problem::new(range.clone(), message));
    }
    if digits.len() > MAX_DIGITS {
        let message = format!("this number has more than {MAX_DIGITS} digits");
        return Err(Problem::new(range.clone(), message));
    }
    match BigUint::parse_bytes(digits.as_bytes(), base) {
        Some(value) => Ok(value.into()),
        None => Err(Problem::new(range.clone(), "this number has no digits")),
    }
}
