//! The parser: turns the tokens of a line into a statement, by recursive descent.

use super::MppgError;
use super::lexer::{Token, tokens};
use super::syntax::{Comparison, Expression, Kind, Part, Segment, Statement};

/// The deepest nesting of brackets in a statement. Together with the limit on operators it keeps
/// the syntax tree shallow enough for any stack.
const DEEPEST: usize = 200;
const MAX_OPERATORS: usize = 1000;

const PRODUCTS: [&str; 7] = ["*", "*_", "*^", "/", "/_", "/^", "÷"];
const SUMS: [&str; 4] = ["+", "-", "/\\", "\\/"];

/// A parser of one statement, by recursive descent.
struct Parser<'a> {
    source: &'a str,
    line: usize,
    tokens: Vec<(Token, usize)>,
    position: usize,
    depth: usize,
    operators: usize,
}

/// Parses one line of a program. `line` is its number, for errors.
pub(super) fn statement(source: &str, line: usize) -> Result<Statement, MppgError> {
    let tokens = tokens(source, line)?;
    let mut parser = Parser { source, line, tokens, position: 0, depth: 0, operators: 0 };
    let statement = parser.statement()?;
    parser.accept(";");
    match parser.peek() {
        Token::End => Ok(statement),
        other => {
            let message = format!("{} after the end of the statement", other.describe());
            Err(parser.fail(message))
        }
    }
}

/// Returns whether a name is a spelling of infinity, such as `inf`. A variable may have a name that
/// only begins with one.
fn is_infinity(name: &str) -> bool {
    ["inf", "infinity"].iter().any(|word| name.eq_ignore_ascii_case(word))
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        self.look(0)
    }

    fn look(&self, ahead: usize) -> &Token {
        self.tokens.get(self.position + ahead).map_or(&Token::End, |token| &token.0)
    }

    fn column(&self) -> usize {
        let at = self.position.min(self.tokens.len().saturating_sub(1));
        self.tokens.get(at).map_or(1, |token| token.1)
    }

    fn fail(&self, message: String) -> MppgError {
        MppgError { line: self.line, column: self.column(), message }
    }

    fn advance(&mut self) {
        self.position += 1;
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.peek(), Token::Symbol(found) if *found == symbol)
    }

    fn accept(&mut self, symbol: &str) -> bool {
        let found = self.is(symbol);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<(), MppgError> {
        if self.accept(symbol) {
            return Ok(());
        }
        Err(self.fail(format!("expected `{symbol}`, found {}", self.peek().describe())))
    }

    fn name(&mut self) -> Result<String, MppgError> {
        match self.peek() {
            Token::Name(name) => {
                let name = name.clone();
                self.advance();
                Ok(name)
            }
            other => Err(self.fail(format!("expected a name, found {}", other.describe()))),
        }
    }

    fn statement(&mut self) -> Result<Statement, MppgError> {
        let name = match self.peek() {
            Token::End => return Ok(Statement::Empty),
            Token::Name(name) => name.clone(),
            _ => return Ok(Statement::Show(self.expression()?)),
        };
        match (name.as_str(), self.look(1)) {
            (_, Token::Symbol(":=")) => {
                self.advance();
                self.advance();
                let from = self.position;
                let expression = self.expression()?;
                Ok(Statement::Assign { name, expression, text: self.text_since(from) })
            }
            ("plot" | "plotTikz", Token::Symbol("(")) => self.plot(name == "plotTikz"),
            ("assert", Token::Symbol("(")) => self.assertion(),
            ("printExpression", Token::Symbol("(")) => {
                self.advance();
                self.advance();
                let column = self.column();
                let name = self.name()?;
                self.expect(")")?;
                Ok(Statement::PrintExpression { name, column })
            }
            _ => Ok(Statement::Show(self.expression()?)),
        }
    }

    /// Returns the source text from the token with index `from` up to, but without, the current
    /// token.
    fn text_since(&self, from: usize) -> String {
        let start = self.tokens.get(from).map_or(1, |token| token.1);
        let text: String = self
            .source
            .chars()
            .skip(start.saturating_sub(1))
            .take(self.column().saturating_sub(start))
            .collect();
        text.trim_end().to_owned()
    }

    fn assertion(&mut self) -> Result<Statement, MppgError> {
        self.advance();
        self.advance();
        let from = self.position;
        let left = self.expression()?;
        let comparison = match self.peek() {
            Token::Symbol("=") => Comparison::Equal,
            Token::Symbol("!=") => Comparison::NotEqual,
            Token::Symbol("<") => Comparison::Less,
            Token::Symbol("<=") => Comparison::AtMost,
            Token::Symbol(">") => Comparison::Greater,
            Token::Symbol(">=") => Comparison::AtLeast,
            other => {
                let found = other.describe();
                return Err(self.fail(format!("expected a comparison such as `<=`, found {found}")));
            }
        };
        self.advance();
        let right = self.expression()?;
        let text = self.text_since(from);
        self.expect(")")?;
        Ok(Statement::Assert { left, comparison, right, text })
    }

    fn plot(&mut self, tikz: bool) -> Result<Statement, MppgError> {
        self.advance();
        self.advance();
        let (mut functions, mut options) = (Vec::new(), Vec::new());
        loop {
            let column = self.column();
            let name = self.name()?;
            if self.accept("=") {
                options.push((name, self.option()?));
            } else {
                functions.push((name, column));
            }
            if !self.accept(",") {
                break;
            }
        }
        self.expect(")")?;
        Ok(Statement::Plot { tikz, functions, options })
    }

    /// Parses the value of a plot option: an interval, or texts, numbers and variables that are
    /// joined by `+`.
    fn option(&mut self) -> Result<Vec<Part>, MppgError> {
        let mut parts = Vec::new();
        if self.accept("[") {
            parts.push(Part::Literal("[".to_owned()));
            parts.push(self.option_part()?);
            self.expect(",")?;
            parts.push(Part::Literal(",".to_owned()));
            parts.push(self.option_part()?);
            self.expect("]")?;
            parts.push(Part::Literal("]".to_owned()));
            return Ok(parts);
        }
        loop {
            parts.push(self.option_part()?);
            if !self.accept("+") {
                return Ok(parts);
            }
        }
    }

    /// Parses one part of the value of a plot option.
    fn option_part(&mut self) -> Result<Part, MppgError> {
        let column = self.column();
        let sign = if self.accept("-") {
            "-"
        } else {
            self.accept("+");
            ""
        };
        let part = match self.peek().clone() {
            Token::Text(text) => Part::Literal(text),
            Token::Name(name) if is_infinity(&name) => Part::Literal(format!("{sign}inf")),
            Token::Name(name) => Part::Variable(name, column),
            Token::Number(number) => {
                let divisor = match (self.look(1), self.look(2)) {
                    (Token::Symbol("/"), Token::Number(divisor)) => divisor.checked_div(&number),
                    _ => None,
                };
                match divisor.and_then(|inverse| inverse.reciprocal()) {
                    Some(quotient) => {
                        self.advance();
                        self.advance();
                        Part::Literal(format!("{sign}{quotient}"))
                    }
                    None => Part::Literal(format!("{sign}{number}")),
                }
            }
            other => {
                return Err(self.fail(format!("expected a value, found {}", other.describe())));
            }
        };
        self.advance();
        Ok(part)
    }

    fn expression(&mut self) -> Result<Expression, MppgError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.fail(format!("brackets are nested deeper than {DEEPEST}")));
        }
        let mut left = self.product()?;
        loop {
            let column = self.column();
            // In `f(3+)` and `f(3~-)`, the sign before the closing bracket denotes a limit.
            let ends = matches!(self.look(1), Token::Symbol(")"));
            let Token::Symbol(symbol) = self.peek() else { break };
            let Some(operator) = SUMS.iter().find(|sum| *sum == symbol) else { break };
            if ends && (*operator == "+" || *operator == "-") {
                break;
            }
            self.operator()?;
            let right = self.product()?;
            left = binary(operator, left, right, column);
        }
        self.depth -= 1;
        Ok(left)
    }

    fn product(&mut self) -> Result<Expression, MppgError> {
        let mut left = self.factor()?;
        loop {
            let column = self.column();
            let operator = match self.peek() {
                Token::Symbol(symbol) => PRODUCTS.iter().find(|product| *product == symbol),
                Token::Name(name) => ["comp", "div", "mod"].iter().find(|word| *word == name),
                _ => None,
            };
            let Some(operator) = operator else { return Ok(left) };
            self.operator()?;
            let right = self.factor()?;
            left = binary(operator, left, right, column);
        }
    }

    /// Consumes a binary operator, and fails if the statement has too many of them.
    fn operator(&mut self) -> Result<(), MppgError> {
        self.operators += 1;
        if self.operators > MAX_OPERATORS {
            let message = format!("the statement has more than {MAX_OPERATORS} operators");
            return Err(self.fail(message));
        }
        self.advance();
        Ok(())
    }

    fn factor(&mut self) -> Result<Expression, MppgError> {
        let column = self.column();
        let mut is_negative = false;
        loop {
            if self.accept("-") {
                is_negative = !is_negative;
            } else if !self.accept("+") {
                break;
            }
        }
        let operand = self.operand()?;
        if is_negative {
            return Ok(Expression { kind: Kind::Negate(Box::new(operand)), column });
        }
        Ok(operand)
    }

    fn operand(&mut self) -> Result<Expression, MppgError> {
        let column = self.column();
        let kind = match self.peek().clone() {
            Token::Number(number) => {
                self.advance();
                Kind::Number(number)
            }
            Token::Symbol("(") => {
                self.advance();
                let inner = self.expression()?;
                self.expect(")")?;
                return Ok(inner);
            }
            Token::Name(name) => {
                self.advance();
                if self.is("(") { self.call(name)? } else { Kind::Variable(name) }
            }
            other => {
                let found = other.describe();
                return Err(self.fail(format!("expected a value, found {found}")));
            }
        };
        Ok(Expression { kind, column })
    }

    /// Parses the arguments of a function of the language.
    fn call(&mut self, name: String) -> Result<Kind, MppgError> {
        self.expect("(")?;
        match name.as_str() {
            "uaf" => {
                let segments = self.segments()?;
                self.expect(")")?;
                return Ok(Kind::Affine(segments));
            }
            "upp" => return self.periodic(),
            _ => {}
        }
        let mut arguments = Vec::new();
        if !self.is(")") {
            loop {
                arguments.push(self.expression()?);
                if !self.accept(",") {
                    break;
                }
            }
        }
        self.accept("~");
        if (self.is("+") || self.is("-")) && arguments.len() == 1 {
            let from_right = self.is("+");
            self.advance();
            self.expect(")")?;
            let at = arguments.remove(0);
            return Ok(Kind::Limit { name, at: Box::new(at), from_right });
        }
        self.expect(")")?;
        Ok(Kind::Call { name, arguments })
    }

    fn periodic(&mut self) -> Result<Kind, MppgError> {
        let mut transient = Vec::new();
        if !matches!(self.peek(), Token::Name(_)) {
            transient = self.segments()?;
            self.expect(",")?;
        }
        match self.peek() {
            Token::Name(name) if name == "period" => self.advance(),
            other => {
                let found = other.describe();
                return Err(self.fail(format!("expected `period(...)`, found {found}")));
            }
        }
        self.expect("(")?;
        let period = self.segments()?;
        self.expect(")")?;
        let mut increment = None;
        if self.accept(",") {
            increment = Some(Box::new(self.expression()?));
            if self.accept(",") {
                // The length is redundant: it follows from the segments.
                self.expression()?;
            }
        }
        self.expect(")")?;
        Ok(Kind::Periodic { transient, period, increment })
    }

    fn segments(&mut self) -> Result<Vec<Segment>, MppgError> {
        let mut segments = Vec::new();
        while self.is("[") || self.is("]") {
            segments.push(self.segment()?);
        }
        if segments.is_empty() {
            let found = self.peek().describe();
            return Err(
                self.fail(format!("expected a segment such as `[(0,0)1(2,2)[`, found {found}"))
            );
        }
        Ok(segments)
    }

    fn segment(&mut self) -> Result<Segment, MppgError> {
        let column = self.column();
        let has_start = self.is("[");
        self.advance();
        let start = self.point()?;
        let is_spot = self.is("]") || self.is("[");
        let (mut slope, mut end) = (None, None);
        if !is_spot {
            if !self.is("(") {
                slope = Some(self.slope()?);
            }
            end = Some(self.point()?);
        }
        let has_end = self.accept("]");
        if !has_end {
            self.expect("[")?;
        }
        if end.is_none() && !(has_start && has_end) {
            let message = "a spot is closed on both sides: `[(x, y)]`".to_owned();
            return Err(MppgError { line: self.line, column, message });
        }
        Ok(Segment { column, has_start, start, slope, end, has_end })
    }

    fn point(&mut self) -> Result<(Expression, Expression), MppgError> {
        self.expect("(")?;
        let x = self.expression()?;
        self.expect(",")?;
        let y = self.expression()?;
        self.expect(")")?;
        Ok((x, y))
    }

    /// Parses the slope of a segment: a number, a fraction or a variable. An opening bracket after
    /// it belongs to the end point of the segment.
    fn slope(&mut self) -> Result<Expression, MppgError> {
        let column = self.column();
        let mut is_negative = false;
        loop {
            if self.accept("-") {
                is_negative = !is_negative;
            } else if !self.accept("+") {
                break;
            }
        }
        let mut slope = self.slope_operand()?;
        while self.is("/") || self.is("÷") {
            let at = self.column();
            self.operator()?;
            let divisor = self.slope_operand()?;
            slope = binary("/", slope, divisor, at);
        }
        if is_negative {
            slope = Expression { kind: Kind::Negate(Box::new(slope)), column };
        }
        Ok(slope)
    }

    fn slope_operand(&mut self) -> Result<Expression, MppgError> {
        let column = self.column();
        let kind = match self.peek().clone() {
            Token::Number(number) => Kind::Number(number),
            Token::Name(name) => Kind::Variable(name),
            other => {
                let found = other.describe();
                return Err(self.fail(format!("expected a slope or a point, found {found}")));
            }
        };
        self.advance();
        Ok(Expression { kind, column })
    }
}

fn binary(
    operator: &'static str,
    left: Expression,
    right: Expression,
    column: usize,
) -> Expression {
    let (left, right) = (Box::new(left), Box::new(right));
    Expression { kind: Kind::Binary { operator, left, right }, column }
}
