//! Parsing of statements (P4_16 §12).

use super::lookahead::Start;
use super::scope::Binding;
use super::{LONGEST_CHAIN, Parse, Parser, is_name};
use crate::ast::{
    Annotation, BinaryOperator, Block, Declaration, DeclarationKind, Expression, ExpressionKind,
    Instantiation, Statement, StatementKind, SwitchCase, SwitchLabel,
};
use crate::lexer::TokenKind;
use crate::source::Span;

/// The kind of declaration whose body contains a statement. It determines which statements are
/// permitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// The body of a control, an action or a function.
    Control,
    /// The body of a parser state.
    Parser,
}

impl Parser<'_> {
    /// Parses a block, `{ ... }`, in a new scope. `body` is the kind of body that contains it.
    pub(super) fn block(&mut self, body: Body) -> Parse<Block> {
        let annotations = self.annotations()?;
        self.block_after(annotations, body)
    }

    fn block_after(&mut self, annotations: Vec<Annotation>, body: Body) -> Parse<Block> {
        let start = self.expect(TokenKind::LeftBrace)?;
        let mark = self.scopes.enter();
        let statements = self.statements(body);
        self.scopes.leave(mark);
        if !self.take(TokenKind::RightBrace) {
            return Err(self.expected_or_brace("a statement", start));
        }
        Ok(Block { span: self.since(start), annotations, statements })
    }

    /// Parses statements up to `}`. Statements with syntax errors are omitted.
    pub(super) fn statements(&mut self, body: Body) -> Vec<Statement> {
        let mut out = Vec::new();
        while !matches!(self.kind(), TokenKind::RightBrace | TokenKind::End) {
            if body == Body::Parser && self.is(TokenKind::Transition) {
                break;
            }
            let before = self.at;
            let depth = self.depth;
            match self.statement(body) {
                Ok(statement) => out.push(statement),
                Err(_) => {
                    self.depth = depth;
                    self.recover(before);
                    if self.at == before {
                        self.advance();
                    }
                }
            }
        }
        out
    }

    fn statement(&mut self, body: Body) -> Parse<Statement> {
        self.nested(|parser| {
            let annotations = parser.annotations()?;
            let start = parser.token().span;
            if parser.is(TokenKind::LeftBrace) {
                let block = parser.block_after(annotations, body)?;
                let span = block.span;
                return Ok(Statement {
                    span,
                    annotations: Vec::new(),
                    kind: StatementKind::Block(block),
                });
            }
            let kind = parser.statement_kind(&annotations, body)?;
            // A declaration stores its annotations itself, so the statement has none.
            let annotations = if matches!(kind, StatementKind::Declaration(_)) {
                Vec::new()
            } else {
                annotations
            };
            Ok(Statement { span: parser.since(start), annotations, kind })
        })
    }

    fn statement_kind(&mut self, annotations: &[Annotation], body: Body) -> Parse<StatementKind> {
        let kind = self.kind();
        if body == Body::Parser
            && matches!(kind, TokenKind::Switch | TokenKind::Return | TokenKind::Exit)
        {
            let text = kind.text().unwrap_or("");
            return Err(self.error_here(format!("`{text}` cannot stand in a parser's state")));
        }
        match kind {
            TokenKind::Semicolon => {
                self.advance();
                Ok(StatementKind::Empty)
            }
            TokenKind::If => self.if_statement(body),
            TokenKind::Switch => self.switch_statement(),
            TokenKind::For => self.for_statement(body),
            TokenKind::Return => {
                self.advance();
                let value =
                    if self.is(TokenKind::Semicolon) { None } else { Some(self.any_expression()?) };
                self.semicolon("the value to return")?;
                Ok(StatementKind::Return(value))
            }
            TokenKind::Exit => self.word(StatementKind::Exit),
            TokenKind::Break => self.word(StatementKind::Break),
            TokenKind::Continue => self.word(StatementKind::Continue),
            TokenKind::Const => {
                let declaration = self.constant(annotations.to_vec())?;
                Ok(StatementKind::Declaration(Box::new(declaration)))
            }
            TokenKind::Else => Err(self.error_here("`else` without `if`")),
            TokenKind::Transition => {
                Err(self.error_here("`transition` can stand only at the end of a parser's state"))
            }
            _ => {
                let kind = self.simple_statement(annotations, true)?;
                match &kind {
                    StatementKind::Declaration(declaration) => match &declaration.kind {
                        DeclarationKind::Instantiation(_) => self.semicolon("an instance")?,
                        _ => self.semicolon("a variable")?,
                    },
                    StatementKind::Assign { .. } => self.semicolon("an assignment")?,
                    _ => self.semicolon("a call")?,
                }
                Ok(kind)
            }
        }
    }

    fn word(&mut self, kind: StatementKind) -> Parse<StatementKind> {
        self.advance();
        self.expect(TokenKind::Semicolon)?;
        Ok(kind)
    }

    /// Parses the `;` after a construct. `after` describes the construct in errors.
    pub(super) fn semicolon(&mut self, after: &str) -> Parse<()> {
        if self.take(TokenKind::Semicolon) {
            return Ok(());
        }
        Err(self.expected(&format!("`;` after {after}")))
    }

    /// Parses a declaration, an assignment or a call, without the semicolon that follows it.
    /// `instances` states whether the declaration may be an instantiation.
    fn simple_statement(
        &mut self,
        annotations: &[Annotation],
        instances: bool,
    ) -> Parse<StatementKind> {
        match self.statement_start() {
            Start::Declaration => {
                let declaration = self.variable_or_instance(annotations.to_vec(), instances)?;
                Ok(StatementKind::Declaration(Box::new(declaration)))
            }
            Start::DirectApplication => {
                let target = self.type_reference()?;
                self.expect(TokenKind::Dot)?;
                if !self.is(TokenKind::Apply) {
                    return Err(self.expected("`apply` after the name of a type and `.`"));
                }
                self.advance();
                let arguments = self.arguments()?;
                Ok(StatementKind::DirectApplication { target, arguments })
            }
            Start::Other => self.assignment_or_call(),
        }
    }

    fn assignment_or_call(&mut self) -> Parse<StatementKind> {
        let kind = self.kind();
        let starts = is_name(kind)
            || matches!(kind, TokenKind::Dot | TokenKind::This | TokenKind::LeftParenthesis);
        if !starts {
            return Err(self.expected("a statement"));
        }
        let target = self.postfix()?;
        if let Some((operator, tokens)) = self.assignment_operator() {
            for _ in 0..tokens {
                self.advance();
            }
            let value = self.any_expression()?;
            return Ok(StatementKind::Assign { target, operator, value });
        }
        match target.kind {
            ExpressionKind::Call { .. } => Ok(StatementKind::Call(target)),
            _ => Err(self.expected("`=` or `(` in a statement that starts with an expression")),
        }
    }

    /// Returns the assignment operator at the current token and its length in tokens, or `None` if
    /// there is none. For `=` the operator is `None`, and for a compound assignment such as `+=` it
    /// is the binary operator.
    fn assignment_operator(&self) -> Option<(Option<BinaryOperator>, usize)> {
        use BinaryOperator as B;
        Some(match self.kind() {
            TokenKind::Assign => (None, 1),
            TokenKind::StarAssign => (Some(B::Multiply), 1),
            TokenKind::SlashAssign => (Some(B::Divide), 1),
            TokenKind::PercentAssign => (Some(B::Modulo), 1),
            TokenKind::PlusAssign => (Some(B::Add), 1),
            TokenKind::MinusAssign => (Some(B::Subtract), 1),
            TokenKind::PlusSaturatingAssign => (Some(B::AddSaturating), 1),
            TokenKind::MinusSaturatingAssign => (Some(B::SubtractSaturating), 1),
            TokenKind::ShiftLeftAssign => (Some(B::ShiftLeft), 1),
            TokenKind::Greater if self.is_shift_assign() => (Some(B::ShiftRight), 3),
            TokenKind::AmpersandAssign => (Some(B::BitAnd), 1),
            TokenKind::BarAssign => (Some(B::BitOr), 1),
            TokenKind::CaretAssign => (Some(B::BitXor), 1),
            _ => return None,
        })
    }

    /// Parses the declaration of a variable or, if `instances` is true, of an instance. The
    /// semicolon at its end is not consumed.
    pub(super) fn variable_or_instance(
        &mut self,
        annotations: Vec<Annotation>,
        instances: bool,
    ) -> Parse<Declaration> {
        let start = self.token().span;
        let id = self.declaration_id();
        let ty = self.type_reference()?;
        if instances && self.is(TokenKind::LeftParenthesis) {
            let arguments = self.arguments()?;
            let name = self.declared_name("the name of the instance", Binding::Value)?;
            let initializer = if self.take(TokenKind::Assign) {
                Some(self.instance_initializer()?)
            } else {
                None
            };
            let kind = DeclarationKind::Instantiation(Instantiation { ty, arguments, initializer });
            return Ok(Declaration { id, span: self.since(start), annotations, name, kind });
        }
        let name = self.name("a name after the type")?;
        let ty = self.sizes_behind_name(ty)?;
        let initial =
            if self.take(TokenKind::Assign) { Some(self.any_expression()?) } else { None };
        self.scopes.declare_name(&name, self.symbols, Binding::Value);
        Ok(Declaration {
            id,
            span: self.since(start),
            annotations,
            name,
            kind: DeclarationKind::Variable { ty, initial },
        })
    }

    /// Parses an `if` statement with all of its `else if` branches. They are parsed in a loop
    /// instead of by recursion, because generated programs contain chains of thousands of branches.
    fn if_statement(&mut self, body: Body) -> Parse<StatementKind> {
        let outer = self.alternatives;
        let result = self.alternatives(body);
        self.alternatives = outer;
        result
    }

    /// Parses the branches of an `if` statement and counts them in `self.alternatives`. The tree is
    /// then built from the last branch to the first, since each `else if` is nested in the branch
    /// before it.
    fn alternatives(&mut self, body: Body) -> Parse<StatementKind> {
        let mut chain = vec![self.alternative(body)?];
        let mut last = None;
        while self.take(TokenKind::Else) {
            if !self.is(TokenKind::If) {
                last = Some(Box::new(self.branch(body)?));
                break;
            }
            self.alternatives += 1;
            if self.alternatives > LONGEST_CHAIN {
                return Err(
                    self.error_here(format!("a chain has more than {LONGEST_CHAIN} `else if`"))
                );
            }
            chain.push(self.alternative(body)?);
        }
        let end = self.previous();
        let mut otherwise = last;
        while let Some((start, condition, then)) = chain.pop() {
            let kind = StatementKind::If { condition, then, otherwise };
            if chain.is_empty() {
                return Ok(kind);
            }
            let span = start.to(end);
            otherwise = Some(Box::new(Statement { span, annotations: Vec::new(), kind }));
        }
        Err(self.expected("`if`"))
    }

    /// Parses `if (condition) statement`, without the `else` that may follow.
    fn alternative(&mut self, body: Body) -> Parse<(Span, Expression, Box<Statement>)> {
        let start = self.token().span;
        self.advance();
        self.expect(TokenKind::LeftParenthesis)?;
        let condition = self.any_expression()?;
        self.expect(TokenKind::RightParenthesis)?;
        Ok((start, condition, Box::new(self.branch(body)?)))
    }

    /// Parses the statement of an `if` or `else`, which must not be a declaration (§12.6).
    fn branch(&mut self, body: Body) -> Parse<Statement> {
        let declares = self.is(TokenKind::Const) || self.statement_start() == Start::Declaration;
        if declares && !self.is(TokenKind::LeftBrace) {
            return Err(self.expected("a statement and no declaration"));
        }
        self.statement(body)
    }

    fn switch_statement(&mut self) -> Parse<StatementKind> {
        self.advance();
        self.expect(TokenKind::LeftParenthesis)?;
        let subject = self.any_expression()?;
        self.expect(TokenKind::RightParenthesis)?;
        let open = self.expect(TokenKind::LeftBrace)?;
        let mut cases = Vec::new();
        while !self.take(TokenKind::RightBrace) {
            if self.is(TokenKind::End) {
                return Err(self.expected_or_brace("a case of the `switch`", open));
            }
            cases.push(self.switch_case()?);
        }
        Ok(StatementKind::Switch { subject, cases })
    }

    fn switch_case(&mut self) -> Parse<SwitchCase> {
        let start = self.token().span;
        let label = match self.kind() {
            TokenKind::Default => {
                self.advance();
                SwitchLabel::Default
            }
            TokenKind::LeftBrace => {
                return Err(self.expected("`default` or an expression as the label of a case"));
            }
            _ => SwitchLabel::Expression(self.any_expression()?),
        };
        let span = self.since(start);
        if !self.take(TokenKind::Colon) {
            return Err(self.expected("`:` after the label of a case"));
        }
        let body = match self.kind() {
            TokenKind::LeftBrace | TokenKind::At => Some(self.block(Body::Control)?),
            _ => None,
        };
        Ok(SwitchCase { span, label, body })
    }

    fn for_statement(&mut self, body: Body) -> Parse<StatementKind> {
        self.advance();
        self.expect(TokenKind::LeftParenthesis)?;
        self.scoped(|parser| {
            let mut initial = Vec::new();
            while !parser.take(TokenKind::Semicolon) {
                let annotations = parser.annotations()?;
                let start = parser.token().span;
                let kind = parser.simple_statement(&annotations, false)?;
                if parser.is(TokenKind::In) {
                    return parser.for_in(kind, initial.is_empty(), body);
                }
                initial.push(Statement {
                    span: parser.since(start),
                    annotations: Vec::new(),
                    kind,
                });
                if !parser.is(TokenKind::Semicolon) && !parser.take(TokenKind::Comma) {
                    return Err(parser.expected("`;`, `,` or `in` in the head of a `for`"));
                }
            }
            let condition = parser.any_expression()?;
            parser.semicolon("the condition of a `for`")?;
            let update = parser.list(TokenKind::RightParenthesis, "a statement", |parser| {
                let start = parser.token().span;
                let kind = parser.assignment_or_call()?;
                Ok(Statement { span: parser.since(start), annotations: Vec::new(), kind })
            })?;
            let body = Box::new(parser.statement(body)?);
            Ok(StatementKind::For { initial, condition, update, body })
        })
    }

    /// Parses the rest of a statement `for (T name in ...) body`, from the token `in` on.
    /// `declared` is the declaration before `in`. `first` is false if other statements precede this
    /// declaration.
    fn for_in(&mut self, declared: StatementKind, first: bool, body: Body) -> Parse<StatementKind> {
        let variable = match declared {
            StatementKind::Declaration(variable)
                if first
                    && matches!(variable.kind, DeclarationKind::Variable { initial: None, .. }) =>
            {
                variable
            }
            _ => {
                return Err(self.error_here(
                    "one variable with its type and without a value must stand before `in`",
                ));
            }
        };
        self.expect(TokenKind::In)?;
        let collection = self.collection()?;
        self.expect(TokenKind::RightParenthesis)?;
        let body = Box::new(self.statement(body)?);
        Ok(StatementKind::ForIn { variable, collection, body })
    }
}
