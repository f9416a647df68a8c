//! Collects the paths through a P4 program, statement by statement. Partial paths that become equal
//! are merged.

use std::collections::{BTreeMap, BTreeSet};

use ir::{
    ActionId, Argument, BinaryOperator, Block, Choice, ControlId, Excerpts, Expression,
    ExpressionKind, ExternCallee, PackageValue, Parameter, ParserId, Place, Program, StateId,
    Statement, StatementKind, TableId, Target, Transition, Type, TypeId, VariableId,
};

use super::uncounted::{bound, further_pass, more_turns, more_visits};
use super::validity::{KnownSlots, Passed, Slots, Validity};
use super::ways::{Ended, Record, Way, Ways, split};
use super::{Overview, Parts, Path, PathError, Permits};

/// The largest number of different partial paths that are followed at the same time.
const MAX: usize = 4096;

/// Returns the paths through a program that make only permitted choices, each with its parts: the
/// statements, tables and headers that cost time.
pub(super) fn program<'p>(
    program: &'p Program,
    permits: Permits<'p>,
) -> Result<Vec<Path>, PathError> {
    let walker = Walker { permits, ..Walker::new(program, Record::new(true)) };
    let ways = walker.package(&program.main, walker.record.start(true))?;
    // The state of a finished path no longer matters. It is cleared, so that more paths are equal
    // and merge.
    let ways = walker.record.map(ways, |way| {
        way.state.ended = Ended::No;
        way.state.valid = None;
    });
    Ok(walker.record.paths(ways))
}

/// Returns statistics of all paths through a program without listing them.
///
/// If there are too many combinations of valid headers, the walk does not record which headers are
/// valid, and follows both sides of every condition on validity.
pub(super) fn overview(program: &Program) -> Result<Overview, PathError> {
    let walk = |follows_validity: bool| {
        let walker = Walker::new(program, Record::new(false));
        let ways = walker.package(&program.main, walker.record.start(follows_validity))?;
        let ways = walker.record.map(ways, |way| {
            way.state.ended = Ended::No;
            way.state.valid = None;
        });
        Ok(walker.record.overview(ways, follows_validity))
    };
    let found = match walk(true) {
        Err(PathError::TooMany { .. }) => walk(false)?,
        found => found?,
    };
    found.ok_or(PathError::None)
}

pub(super) struct Walker<'p> {
    program: &'p Program,
    excerpts: Excerpts<'p>,
    slots: Slots<'p>,
    record: Record,
    /// The function that returns whether a choice is permitted. Paths that make another choice are
    /// not followed.
    permits: Permits<'p>,
}

impl<'p> Walker<'p> {
    pub(super) fn new(program: &'p Program, record: Record) -> Self {
        Self {
            program,
            excerpts: Excerpts::new(program),
            slots: Slots::new(program),
            record,
            permits: &|_| true,
        }
    }

    /// Returns the parts of a statement itself, without those of the statements inside it, of the
    /// actions of a table, and of what it calls. If the statement has several outcomes with
    /// different parts, returns the parts of the one with the most.
    pub(super) fn own_parts(&self, statement: &Statement) -> Parts {
        let kind = match &statement.kind {
            StatementKind::If { condition, .. } => StatementKind::If {
                condition: condition.clone(),
                then: Block::default(),
                otherwise: Block::default(),
            },
            StatementKind::Switch { subject, .. } => StatementKind::Switch {
                subject: subject.clone(),
                cases: Vec::new(),
                default: Block::default(),
            },
            StatementKind::For { condition, .. } => StatementKind::For {
                before_condition: Block::default(),
                condition: condition.clone(),
                update: Block::default(),
                body: Block::default(),
            },
            StatementKind::ApplyTable { .. }
            | StatementKind::CallAction { .. }
            | StatementKind::CallFunction { .. }
            | StatementKind::CallControl { .. }
            | StatementKind::CallParser { .. } => return Parts::new(),
            other => other.clone(),
        };
        let bare = Statement { location: statement.location, kind };
        let ways = self.statement(&bare, self.record.start(false)).unwrap_or_default();
        let most =
            self.record.paths(ways).into_iter().max_by_key(|path| -> u64 {
                path.parts.values().map(|count| u64::from(*count)).sum()
            });
        most.map(|path| path.parts).unwrap_or_default()
    }

    /// Returns the part that stands for the application of a table.
    pub(super) fn table_part(&self, id: TableId) -> String {
        let table = &self.program.tables[id.index()];
        let keys = table
            .keys
            .iter()
            .map(|key| format!("{} {}", key.match_kind.name(), self.width(key.expression.type_id)));
        let part = format!("table {}", keys.collect::<Vec<_>>().join(", "));
        part.trim_end().to_owned()
    }

    /// Returns the part that stands for the selection of the next state of a parser, or `None` if
    /// the next state is fixed.
    pub(super) fn select_part(&self, transition: &Transition) -> Option<String> {
        match transition {
            Transition::Direct(_) => None,
            Transition::Select { subjects, .. } => {
                let width: u64 = subjects.iter().map(|subject| self.width(subject.type_id)).sum();
                Some(format!("select {width}"))
            }
        }
    }
}

impl Walker<'_> {
    fn package(&self, package: &ir::Package, mut ways: Ways) -> Result<Ways, PathError> {
        for argument in &package.arguments {
            ways = match &argument.value {
                PackageValue::Parser(parser) => {
                    let parameters = &self.program.parsers[parser.index()].parameters;
                    self.top(parameters, true, ways, |ways| self.parser(*parser, ways))?
                }
                PackageValue::Control(control) => {
                    let parameters = &self.program.controls[control.index()].parameters;
                    self.top(parameters, false, ways, |ways| self.control(*control, ways))?
                }
                PackageValue::Package(package) => self.package(package, ways)?,
                PackageValue::Extern(_) | PackageValue::Value(_) => ways,
            };
        }
        Ok(ways)
    }

    /// Extends all partial paths by one of the architecture's blocks: a parser or control, whose
    /// statements `run` follows. An `exit` or a parser error has no effect on later blocks: in
    /// v1model and PSA, a packet that a parser rejects continues, with the error in its metadata.
    fn top(
        &self,
        parameters: &[Parameter],
        is_parser: bool,
        ways: Ways,
        run: impl FnOnce(Ways) -> Result<Ways, PathError>,
    ) -> Result<Ways, PathError> {
        let ways = self.validity(ways, |valid| {
            valid.enter_block(&self.slots, parameters, is_parser);
        });
        Ok(self.record.map(run(ways)?, |way| {
            way.state.ended = Ended::No;
            self.record.choose(way, Choice::BlockEnd);
            if let Some(valid) = &mut way.state.valid {
                valid.leave_block(&self.slots, parameters);
            }
        }))
    }

    /// Applies `change` to the recorded validity of headers on each partial path, if the walk
    /// through the program records validity.
    fn validity(&self, ways: Ways, change: impl Fn(&mut Validity)) -> Ways {
        if ways.iter().all(|way| way.state.valid.is_none()) {
            return ways;
        }
        self.record.map(ways, |way| {
            if let Some(valid) = &mut way.state.valid {
                change(valid);
            }
        })
    }

    /// Extends partial paths by a call of an action, function, control or parser, whose statements
    /// `run` follows. The validity of headers in arguments is copied to the parameters before the
    /// call and back after it.
    fn call(
        &self,
        variables: impl Iterator<Item = VariableId>,
        arguments: &[Argument],
        ways: Ways,
        run: impl FnOnce(Ways) -> Result<Ways, PathError>,
    ) -> Result<Ways, PathError> {
        let passed: Vec<Passed<'_>> = variables
            .zip(arguments)
            .enumerate()
            .filter(|(_, (_, argument))| self.slots.passes_headers(argument))
            .map(|(position, (variable, argument))| Passed { position, variable, argument })
            .collect();
        let kept = self.variables(&ways);
        let ways = match passed.is_empty() {
            true => ways,
            false => self.validity(ways, |valid| valid.enter(&self.slots, &passed)),
        };
        let ways = run(ways)?;
        // Most callees neither take headers nor have variables with headers.
        if passed.is_empty() && self.variables(&ways).is_subset(&kept) {
            return Ok(ways);
        }
        Ok(self.validity(ways, |valid| valid.leave(&self.slots, &passed, &kept)))
    }

    /// Returns the variables that contain headers of known validity on some path.
    fn variables(&self, ways: &Ways) -> BTreeSet<VariableId> {
        let mut known = KnownSlots::default();
        ways.iter().filter_map(|way| way.state.valid.as_ref()).for_each(|valid| known.add(valid));
        known.variables(&self.slots)
    }

    fn parser(&self, id: ParserId, ways: Ways) -> Result<Ways, PathError> {
        let parser = &self.program.parsers[id.index()];
        let ways = self.block(&parser.prologue, ways)?;
        let mut done = Ways::new();
        let mut under_way = BTreeMap::from([(parser.start, ways)]);
        while !under_way.is_empty() {
            // Partial paths that reach a state after the same number of steps continue together.
            let mut next: BTreeMap<StateId, Ways> = BTreeMap::new();
            for (at, ways) in under_way {
                let ways = self.entered(id, at, ways);
                for (target, ways) in self.state(id, at, ways, &mut done)? {
                    next.entry(target).or_default().extend(ways);
                }
            }
            under_way =
                next.into_iter().map(|(state, ways)| (state, self.record.united(ways))).collect();
            let place = || format!("parser {}", parser.name);
            limited(&done, place)?;
            under_way.values().try_for_each(|ways| limited(ways, place))?;
        }
        Ok(self.record.map(done, |way| {
            way.state.visits.retain(|(parser, _), _| *parser != id);
            if way.state.ended == Ended::Returned {
                way.state.ended = Ended::No;
            }
        }))
    }

    /// Returns those partial paths that may enter a parser state, which has a limit if it is on a
    /// loop. Those that reach a limit which packets may exceed are marked.
    fn entered(&self, parser: ParserId, state: StateId, mut ways: Ways) -> Ways {
        let Some(bound) = bound(self.program, parser, state) else { return ways };
        let name = &self.program.parsers[parser.index()].states[state.index()].name;
        for way in &mut ways {
            let visits = way.state.visits.entry((parser, state)).or_default();
            *visits += 1;
            if !bound.is_certain && *visits == bound.most {
                way.state.uncounted.insert(more_visits(name));
            }
        }
        ways.retain(|way| {
            way.state.visits.get(&(parser, state)).is_none_or(|visits| *visits <= bound.most)
        });
        ways
    }

    /// Extends partial paths by the parser state `at`. Returns those that continue, grouped by
    /// their next state, and adds those that ended to `done`.
    fn state(
        &self,
        parser: ParserId,
        at: StateId,
        ways: Ways,
        done: &mut Ways,
    ) -> Result<BTreeMap<StateId, Ways>, PathError> {
        let state = &self.program.parsers[parser.index()].states[at.index()];
        let (open, closed) = split(ways);
        self.record.merge(done, closed);
        let mut onward = BTreeMap::new();
        if open.is_empty() {
            return Ok(onward);
        }
        let decision = format!("state {}", state.name);
        let open = self.record.map(open, |way| {
            self.record.decide(way, &decision);
            self.record.choose(way, Choice::State(parser, at));
        });
        let (mut open, closed) = split(self.block(&state.body, open)?);
        self.record.merge(done, closed);
        if let Some(part) = self.select_part(&state.transition) {
            open = self.record.map(open, |way| self.record.add(way, &part));
        }
        let permits = |case| self.permitted(Choice::Case(parser, at, case));
        for target in targets(&state.transition, &permits) {
            match target {
                Target::State(next) => {
                    onward.insert(next, open.clone());
                }
                Target::Accept => self.record.merge(done, open.clone()),
                Target::Reject => {
                    let rejected = |way: &mut Way| {
                        way.state.ended = Ended::Rejected;
                        self.record.choose(way, Choice::Rejected);
                    };
                    self.record.merge(done, self.record.map(open.clone(), rejected));
                }
            }
        }
        Ok(onward)
    }

    fn control(&self, id: ControlId, ways: Ways) -> Result<Ways, PathError> {
        let control = &self.program.controls[id.index()];
        let ways = self.block(&control.body, ways)?;
        limited(&ways, || format!("control {}", control.name))?;
        Ok(self.returned(ways))
    }

    fn block(&self, block: &Block, mut ways: Ways) -> Result<Ways, PathError> {
        for statement in block {
            let (open, closed) = split(ways);
            ways = closed;
            if !open.is_empty() {
                self.record.merge(&mut ways, self.statement(statement, open)?);
            }
        }
        Ok(ways)
    }

    /// Extends partial paths by one statement. The function is long because each kind of statement
    /// has an arm of its own.
    fn statement(&self, statement: &Statement, ways: Ways) -> Result<Ways, PathError> {
        let one =
            |ways: Ways, part: String| self.record.map(ways, |way| self.record.add(way, &part));
        let ways = match further_pass(self.program, statement) {
            None => ways,
            Some(pass) => self.record.map(ways, |way| {
                way.state.uncounted.insert(pass.clone());
            }),
        };
        Ok(match &statement.kind {
            StatementKind::Assign { place, value } => {
                let ways = self.expression(value, ways);
                let part =
                    format!("assign {}", self.width(value.type_id).max(self.width_of(place)));
                let ways = one(ways, part);
                if !self.slots.has_headers(value.type_id) {
                    return Ok(ways);
                }
                self.validity(ways, |valid| valid.assign(&self.slots, place, value))
            }
            StatementKind::Reset(place) if self.slots.holds_headers(place) => {
                self.validity(ways, |valid| valid.reset(&self.slots, place))
            }
            StatementKind::Reset(_) => ways,
            StatementKind::If { condition, then, otherwise } => {
                let sides = [side(statement, 0), side(statement, 1)];
                self.condition(condition, [(otherwise, sides[0]), (then, sides[1])], ways)?
            }
            StatementKind::Switch { cases, default, subject } => {
                let ways = one(self.expression(subject, ways), "branch".to_owned());
                let of = |labels: &str, choice: Choice| {
                    // Each label of a switch on `action_run` names the action that ran.
                    let decision = match self.program.types.get(subject.type_id) {
                        Type::ActionRun(_) => format!("switch: {labels}"),
                        _ => format!("switch {}: {labels}", self.excerpts.expression(subject)),
                    };
                    self.record.map(ways.clone(), |way| {
                        self.record.decide(way, &decision);
                        self.record.choose(way, choice);
                    })
                };
                let choice = side(statement, 0);
                let mut all = match self.permitted(choice) {
                    true => self.block(default, of("default", choice))?,
                    false => Ways::new(),
                };
                for (number, case) in (1..).zip(cases) {
                    let choice = side(statement, number);
                    if !self.permitted(choice) {
                        continue;
                    }
                    let labels: Vec<String> = case
                        .values
                        .iter()
                        .map(|value| self.excerpts.value(subject.type_id, value))
                        .collect();
                    self.record
                        .merge(&mut all, self.block(&case.body, of(&labels.join(", "), choice))?);
                }
                all
            }
            StatementKind::For { before_condition, condition, update, body } => {
                // The number of turns may depend on the packet. Each path takes none or one, and
                // says that there may be more.
                let ways = self.block(before_condition, ways)?;
                let ways = one(self.expression(condition, ways), "branch".to_owned());
                let [no_turn, one_turn] = [0, 1].map(|number| turns(statement, number));
                let chosen = |ways: Ways, choice: Choice| {
                    self.record.map(ways, |way| self.record.choose(way, choice))
                };
                let mut all = chosen(ways.clone(), no_turn);
                if !self.permitted(one_turn) {
                    return Ok(self.record.map(all, |way| {
                        self.record.decide(way, "a loop, not run");
                    }));
                }
                let more = more_turns(statement);
                let ways = self.record.map(self.block(body, chosen(ways, one_turn))?, |way| {
                    if way.state.ended == Ended::Left {
                        way.state.ended = Ended::No;
                    }
                    if way.state.ended == Ended::No {
                        way.state.uncounted.insert(more.clone());
                    }
                });
                self.record.merge(&mut all, self.block(update, ways)?);
                self.record.map(all, |way| self.record.decide(way, "a loop, run at most once here"))
            }
            StatementKind::Break | StatementKind::Continue => {
                self.record.map(ways, |way| way.state.ended = Ended::Left)
            }
            StatementKind::ApplyTable { table, .. } => self.table(*table, ways)?,
            StatementKind::CallAction { action, arguments } => {
                self.action(*action, arguments, ways)?
            }
            StatementKind::CallFunction { function, arguments, result } => {
                let function = &self.program.functions[function.index()];
                let variables = function.parameters.iter().map(|parameter| parameter.variable);
                let ways = self.call(variables, arguments, ways, |ways| {
                    Ok(self.returned(self.block(&function.body, ways)?))
                })?;
                self.unknown(result.as_ref(), ways)
            }
            StatementKind::CallControl { control, arguments } => {
                let parameters = &self.program.controls[control.index()].parameters;
                let variables = parameters.iter().map(|parameter| parameter.variable);
                self.call(variables, arguments, ways, |ways| self.control(*control, ways))?
            }
            StatementKind::CallParser { parser, arguments } => {
                let parameters = &self.program.parsers[parser.index()].parameters;
                let variables = parameters.iter().map(|parameter| parameter.variable);
                self.call(variables, arguments, ways, |ways| self.parser(*parser, ways))?
            }
            StatementKind::CallExtern { callee, arguments, result, .. } => {
                let part = match callee {
                    ExternCallee::Function(function) => format!("extern {function}"),
                    ExternCallee::Method { instance, method } => {
                        let of = &self.program.externs[instance.index()].extern_type;
                        format!("extern {of}.{method}")
                    }
                };
                let ways = one(ways, part);
                if !arguments.iter().any(|argument| self.slots.passes_headers(argument)) {
                    return Ok(self.unknown(result.as_ref(), ways));
                }
                let ways =
                    self.validity(ways, |valid| valid.forget_arguments(&self.slots, arguments));
                self.unknown(result.as_ref(), ways)
            }
            StatementKind::Extract { header, header_type, .. } => {
                let width = self.width(*header_type);
                self.record.map(ways, |way| {
                    self.record.add(way, &format!("extract {width}"));
                    if let (Some(header), Some(valid)) = (header, &mut way.state.valid) {
                        valid.extract(&self.slots, header);
                    }
                })
            }
            StatementKind::Lookahead { type_id, result } => {
                let ways = one(ways, format!("lookahead {}", self.width(*type_id)));
                self.unknown(Some(result), ways)
            }
            StatementKind::Advance(_) => one(ways, "advance".to_owned()),
            StatementKind::Emit(value) => self.record.map(ways, |way| {
                // If the validity of headers is not recorded, all headers are emitted, which is an
                // upper limit.
                let headers = match &way.state.valid {
                    Some(valid) => valid.emitted(&self.slots, value),
                    None => Validity::default().emitted(&self.slots, value),
                };
                for header in headers {
                    self.record.add(way, &format!("emit {}", self.width(header)));
                }
            }),
            StatementKind::Verify { condition, .. } => {
                let ways = self.expression(condition, ways);
                let decision = format!("{} fails", self.excerpts.expression(condition));
                let failed = self.record.map(ways.clone(), |way| {
                    self.record.add(way, "verify");
                    way.state.ended = Ended::Rejected;
                    self.record.decide(way, &decision);
                    self.record.choose(way, Choice::Rejected);
                });
                let mut all = one(ways, "verify".to_owned());
                self.record.merge(&mut all, failed);
                all
            }
            StatementKind::SetValidity { header, valid } => {
                let part = format!("set {}", if *valid { "valid" } else { "invalid" });
                self.validity(one(ways, part), |validity| {
                    validity.set(&self.slots, header, Some(*valid));
                })
            }
            StatementKind::PushFront { stack, count } => {
                self.validity(one(ways, "push".to_owned()), |valid| {
                    valid.shift(&self.slots, stack, i64::from(*count));
                })
            }
            StatementKind::PopFront { stack, count } => {
                self.validity(one(ways, "pop".to_owned()), |valid| {
                    valid.shift(&self.slots, stack, -i64::from(*count));
                })
            }
            StatementKind::Return(value) => {
                let ways = value.iter().fold(ways, |ways, value| self.expression(value, ways));
                self.record.map(ways, |way| way.state.ended = Ended::Returned)
            }
            StatementKind::Exit => self.record.map(ways, |way| way.state.ended = Ended::Exited),
        })
    }

    /// Returns whether a choice is permitted. Choices of a branch or loop without a position in the
    /// source always are.
    fn permitted(&self, choice: Choice) -> bool {
        choice == Choice::Unplaced || (self.permits)(choice)
    }

    /// Extends partial paths by a condition and the block of the side that is taken. A side whose
    /// choice is not permitted is not followed.
    fn condition(
        &self,
        condition: &Expression,
        [(otherwise, not_taken), (then, taken)]: [(&Block, Choice); 2],
        ways: Ways,
    ) -> Result<Ways, PathError> {
        let ways =
            self.expression(condition, self.record.map(ways, |way| self.record.add(way, "branch")));
        let (mut yes, mut no) = (Ways::new(), Ways::new());
        for mut way in ways {
            match self.decided(condition, &way) {
                Some(true) => {
                    self.record.choose(&mut way, taken);
                    yes.push(way);
                }
                Some(false) => {
                    self.record.choose(&mut way, not_taken);
                    no.push(way);
                }
                // The packet determines the condition, so both sides are followed.
                None => {
                    let text = self.excerpts.expression(condition);
                    let bare = match &condition.kind {
                        ExpressionKind::Binary(..) => {
                            text.strip_prefix('(').and_then(|text| text.strip_suffix(')'))
                        }
                        _ => None,
                    };
                    let mut other = way.clone();
                    self.record.decide(&mut way, &format!("if {}", bare.unwrap_or(&text)));
                    self.record.decide(&mut other, &format!("if not {text}"));
                    self.record.choose(&mut way, taken);
                    self.record.choose(&mut other, not_taken);
                    yes.push(way);
                    no.push(other);
                }
            }
        }
        let mut all = Ways::new();
        for (block, choice, ways) in [(then, taken, yes), (otherwise, not_taken, no)] {
            if self.permitted(choice) {
                self.record.merge(&mut all, self.block(block, ways)?);
            }
        }
        limited(&all, || format!("the condition {}", self.excerpts.expression(condition)))?;
        Ok(all)
    }

    /// Returns the value of a condition for packets on this path, or `None` if the valid headers do
    /// not determine it.
    fn decided(&self, condition: &Expression, way: &Way) -> Option<bool> {
        match &condition.kind {
            ExpressionKind::IsValid(place) => {
                way.state.valid.as_ref()?.is_valid(&self.slots, place)
            }
            ExpressionKind::Unary(ir::UnaryOperator::Not, operand) => {
                Some(!self.decided(operand, way)?)
            }
            ExpressionKind::Binary(BinaryOperator::And, a, b) => {
                match (self.decided(a, way), self.decided(b, way)) {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (Some(true), Some(true)) => Some(true),
                    _ => None,
                }
            }
            ExpressionKind::Binary(BinaryOperator::Or, a, b) => {
                match (self.decided(a, way), self.decided(b, way)) {
                    (Some(true), _) | (_, Some(true)) => Some(true),
                    (Some(false), Some(false)) => Some(false),
                    _ => None,
                }
            }
            ExpressionKind::Constant(ir::Value::Bool(value)) => Some(*value),
            _ => None,
        }
    }

    /// Records that the validity of the headers at a place is unknown, because a statement wrote
    /// the value there.
    fn unknown(&self, place: Option<&Place>, ways: Ways) -> Ways {
        match place {
            Some(place) if self.slots.holds_headers(place) => {
                self.validity(ways, |valid| valid.set(&self.slots, place, None))
            }
            _ => ways,
        }
    }

    fn action(
        &self,
        action: ActionId,
        arguments: &[Argument],
        ways: Ways,
    ) -> Result<Ways, PathError> {
        let action = &self.program.actions[action.index()];
        let variables = action.parameters.iter().map(|parameter| parameter.variable);
        self.call(variables, arguments, ways, |ways| {
            Ok(self.returned(self.block(&action.body, ways)?))
        })
    }

    fn table(&self, id: TableId, ways: Ways) -> Result<Ways, PathError> {
        let table = &self.program.tables[id.index()];
        let ways = self.block(&table.before_keys, ways)?;
        let part = self.table_part(id);
        let ways = self.record.map(ways, |way| self.record.add(way, &part));
        let mut all = Ways::new();
        for (position, reference) in table.actions.iter().enumerate() {
            let choice = Choice::Action(id, position);
            if !self.permitted(choice) {
                continue;
            }
            let action = &self.program.actions[reference.action.index()];
            let decision = format!("{}: {}", table.name, action.name);
            let chosen = self.record.map(ways.clone(), |way| {
                self.record.decide(way, &decision);
                self.record.choose(way, choice);
            });
            let chosen = self.block(&reference.before_arguments, chosen)?;
            let ran = self.action(reference.action, &reference.arguments, chosen)?;
            self.record.merge(&mut all, ran);
        }
        limited(&all, || format!("table {}", table.name))?;
        Ok(all)
    }

    /// Lets paths that left an action, function or control by `return` continue with the statement
    /// after its call.
    fn returned(&self, ways: Ways) -> Ways {
        self.record.map(ways, |way| {
            if way.state.ended == Ended::Returned {
                way.state.ended = Ended::No;
            }
        })
    }

    /// Adds the arithmetic and comparisons of an expression to the parts of each path.
    fn expression(&self, expression: &Expression, ways: Ways) -> Ways {
        let mut parts = Vec::new();
        self.operators(expression, &mut parts);
        self.record
            .map(ways, |way| parts.iter().for_each(|part: &String| self.record.add(way, part)))
    }

    fn operators(&self, expression: &Expression, parts: &mut Vec<String>) {
        match &expression.kind {
            ExpressionKind::Binary(operator, a, b) => {
                self.operators(a, parts);
                self.operators(b, parts);
                let name = match operator {
                    BinaryOperator::And | BinaryOperator::Or | BinaryOperator::Concatenate => {
                        return;
                    }
                    BinaryOperator::Equal
                    | BinaryOperator::NotEqual
                    | BinaryOperator::Less
                    | BinaryOperator::LessOrEqual
                    | BinaryOperator::Greater
                    | BinaryOperator::GreaterOrEqual => "compare".to_owned(),
                    operator => format!("{operator:?}").to_lowercase(),
                };
                parts.push(format!("compute {name} {}", self.width(a.type_id)));
            }
            ExpressionKind::Unary(_, operand)
            | ExpressionKind::Cast(operand)
            | ExpressionKind::Slice { operand, .. } => self.operators(operand, parts),
            ExpressionKind::Conditional { condition, then, otherwise } => {
                parts.push("branch".to_owned());
                [condition, then, otherwise]
                    .into_iter()
                    .for_each(|part| self.operators(part, parts));
            }
            ExpressionKind::Composite(members) | ExpressionKind::Stack(members) => {
                members.iter().for_each(|member| self.operators(member, parts));
            }
            _ => {}
        }
    }

    fn width(&self, type_id: TypeId) -> u64 {
        self.program.types.width_in_bits(type_id).unwrap_or(0)
    }

    fn width_of(&self, place: &Place) -> u64 {
        self.program.place_type(place).map_or(0, |type_id| self.width(type_id))
    }
}

fn limited(ways: &Ways, place: impl Fn() -> String) -> Result<(), PathError> {
    if ways.len() > MAX { Err(PathError::TooMany { most: MAX, place: place() }) } else { Ok(()) }
}

/// Returns the choice that takes the side with this number of a branch.
fn side(statement: &Statement, number: usize) -> Choice {
    statement.location.map_or(Choice::Unplaced, |location| Choice::Side(location, number))
}

/// Returns the choice that takes this number of turns of a loop.
fn turns(statement: &Statement, number: usize) -> Choice {
    statement.location.map_or(Choice::Unplaced, |location| Choice::Turns(location, number))
}

/// Returns the distinct targets of a parser transition. A target of a `select` is returned only if
/// a permitted case leads to it.
fn targets(transition: &Transition, permits: &dyn Fn(usize) -> bool) -> Vec<Target> {
    let mut targets: Vec<Target> = match transition {
        Transition::Direct(target) => vec![*target],
        Transition::Select { cases, .. } => {
            let permitted = cases.iter().enumerate().filter(|(number, _)| permits(*number));
            permitted.map(|(_, case)| case.target).collect()
        }
    };
    targets.sort_by_key(|target| format!("{target:?}"));
    targets.dedup();
    targets
}
