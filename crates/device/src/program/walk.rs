//! All ways through a program, step by step; ways that have become the same go on as one.

use std::collections::BTreeMap;

use ir::{
    BinaryOperator, Block, CompositeKind, ControlId, Excerpts, Expression, ExpressionKind,
    ExternCallee, PackageValue, ParserId, Place, Program, StateId, Statement, StatementKind,
    TableId, Target, Transition, Type, TypeId,
};

use super::{Parts, Path, PathError};

/// Ways that differ, at most.
const MOST: usize = 4096;
/// Times that a way enters one state of a parser, at most: a stack is taken header by header.
const VISITS: u32 = 8;

/// A way so far. Equal ones have the same future.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    parts: Parts,
    /// Valid headers by type.
    valid: BTreeMap<TypeId, u32>,
    ended: Ended,
}

/// How far statements are skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Ended {
    No,
    /// The action, function or control in which it is.
    Returned,
    /// The innermost loop.
    Left,
    /// The top-level control or parser.
    Exited,
    /// The parser, with an error.
    Rejected,
}

/// What came before, and in how many ways.
type Ways = BTreeMap<Key, (Vec<String>, u64)>;

pub(super) fn program(program: &Program) -> Result<Vec<Path>, PathError> {
    let walker = Walker { program, excerpts: Excerpts::new(program) };
    let start = Key { parts: Parts::new(), valid: BTreeMap::new(), ended: Ended::No };
    let mut ways = Ways::from([(start, (Vec::new(), 1))]);
    ways = walker.package(&program.main, ways)?;
    let mut merged: BTreeMap<Parts, (Vec<String>, u64)> = BTreeMap::new();
    for (key, (decisions, count)) in ways {
        merged.entry(key.parts).and_modify(|(_, sum)| *sum += count).or_insert((decisions, count));
    }
    let path =
        |(parts, (decisions, ways)): (Parts, (Vec<String>, u64))| Path { decisions, parts, ways };
    Ok(merged.into_iter().map(path).collect())
}

struct Walker<'p> {
    program: &'p Program,
    excerpts: Excerpts<'p>,
}

impl Walker<'_> {
    fn package(&self, package: &ir::Package, mut ways: Ways) -> Result<Ways, PathError> {
        for argument in &package.arguments {
            ways = match &argument.value {
                PackageValue::Parser(parser) => {
                    self.top(ways, |ways| self.parser(*parser, ways))?
                }
                PackageValue::Control(control) => {
                    self.top(ways, |ways| self.control(*control, ways))?
                }
                PackageValue::Package(package) => self.package(package, ways)?,
                PackageValue::Extern(_) | PackageValue::Value(_) => ways,
            };
        }
        Ok(ways)
    }

    /// A block of the architecture: `exit` ends it and not the program, and a packet that a parser rejects goes on, with
    /// the error beside it (v1model, and PSA alike).
    fn top(
        &self,
        ways: Ways,
        run: impl FnOnce(Ways) -> Result<Ways, PathError>,
    ) -> Result<Ways, PathError> {
        Ok(map(run(ways)?, |key| key.ended = Ended::No))
    }

    fn parser(&self, id: ParserId, ways: Ways) -> Result<Ways, PathError> {
        let parser = &self.program.parsers[id.index()];
        let ways = self.block(&parser.prologue, ways)?;
        let mut done = Ways::new();
        let mut under_way: Vec<(StateId, BTreeMap<StateId, u32>, Ways)> =
            vec![(parser.start, BTreeMap::new(), ways)];
        while let Some((id, mut visits, ways)) = under_way.pop() {
            let (open, closed) = split(ways);
            merge(&mut done, closed);
            let visited = visits.entry(id).or_default();
            *visited += 1;
            if open.is_empty() || *visited > VISITS {
                continue;
            }
            let state = &parser.states[id.index()];
            let open =
                map_all(open, |_, decisions| decisions.push(format!("state {}", state.name)));
            let (open, closed) = split(self.block(&state.body, open)?);
            merge(&mut done, closed);
            let mut targets = match &state.transition {
                Transition::Direct(target) => vec![*target],
                Transition::Select { cases, .. } => cases.iter().map(|case| case.target).collect(),
            };
            let open = match &state.transition {
                Transition::Direct(_) => open,
                Transition::Select { subjects, .. } => {
                    let width: u64 =
                        subjects.iter().map(|subject| self.width(subject.type_id)).sum();
                    map(open, |key| add(key, format!("select {width}")))
                }
            };
            targets.sort_by_key(|target| format!("{target:?}"));
            targets.dedup();
            for target in targets {
                match target {
                    Target::State(next) => under_way.push((next, visits.clone(), open.clone())),
                    Target::Accept => merge(&mut done, open.clone()),
                    Target::Reject => {
                        merge(&mut done, map(open.clone(), |key| key.ended = Ended::Rejected))
                    }
                }
            }
            limited(&done, || format!("parser {}", parser.name))?;
            if under_way.len() > MOST {
                return Err(PathError::TooMany {
                    most: MOST,
                    place: format!("parser {}", parser.name),
                });
            }
        }
        Ok(map(done, |key| {
            if matches!(key.ended, Ended::Returned) {
                key.ended = Ended::No;
            }
        }))
    }

    fn control(&self, id: ControlId, ways: Ways) -> Result<Ways, PathError> {
        let control = &self.program.controls[id.index()];
        let ways = self.block(&control.body, ways)?;
        limited(&ways, || format!("control {}", control.name))?;
        Ok(returned(ways))
    }

    fn block(&self, block: &Block, mut ways: Ways) -> Result<Ways, PathError> {
        for statement in block {
            let (open, closed) = split(ways);
            ways = closed;
            if !open.is_empty() {
                merge(&mut ways, self.statement(statement, open)?);
            }
        }
        Ok(ways)
    }

    fn statement(&self, statement: &Statement, ways: Ways) -> Result<Ways, PathError> {
        let one = |ways: Ways, part: String| map(ways, |key| add(key, part.clone()));
        Ok(match &statement.kind {
            StatementKind::Assign { place, value } => {
                let ways = self.expression(value, ways);
                one(ways, format!("assign {}", self.width(value.type_id).max(self.width_of(place))))
            }
            StatementKind::Reset(_) => ways,
            StatementKind::If { condition, then, otherwise } => {
                self.condition(condition, then, otherwise, ways)?
            }
            StatementKind::Switch { cases, default, subject } => {
                let ways = one(self.expression(subject, ways), "branch".to_owned());
                let of = |labels: &str| {
                    // What ran is told by the labels.
                    let decision = match self.program.types.get(subject.type_id) {
                        Type::ActionRun(_) => format!("switch: {labels}"),
                        _ => format!("switch {}: {labels}", self.excerpts.expression(subject)),
                    };
                    map_all(ways.clone(), |_, decisions| decisions.push(decision.clone()))
                };
                let mut all = self.block(default, of("default"))?;
                for case in cases {
                    let labels: Vec<String> = case
                        .values
                        .iter()
                        .map(|value| self.excerpts.value(subject.type_id, value))
                        .collect();
                    merge(&mut all, self.block(&case.body, of(&labels.join(", ")))?);
                }
                all
            }
            StatementKind::For { before_condition, condition, update, body } => {
                // How often it runs is not known without the packet: once, and its parts are there.
                let ways = self.block(before_condition, ways)?;
                let ways = one(self.expression(condition, ways), "branch".to_owned());
                let mut all = ways.clone();
                let ways = map(self.block(body, ways)?, |key| {
                    if key.ended == Ended::Left {
                        key.ended = Ended::No;
                    }
                });
                merge(&mut all, self.block(update, ways)?);
                map_all(all, |_, decisions| {
                    decisions.push("a loop, run at most once here".to_owned())
                })
            }
            StatementKind::Break | StatementKind::Continue => {
                map(ways, |key| key.ended = Ended::Left)
            }
            StatementKind::ApplyTable { table, .. } => self.table(*table, ways)?,
            StatementKind::CallAction { action, .. } => {
                returned(self.block(&self.program.actions[action.index()].body, ways)?)
            }
            StatementKind::CallFunction { function, .. } => {
                returned(self.block(&self.program.functions[function.index()].body, ways)?)
            }
            StatementKind::CallControl { control, .. } => self.control(*control, ways)?,
            StatementKind::CallParser { parser, .. } => self.parser(*parser, ways)?,
            StatementKind::CallExtern { callee, .. } => one(
                ways,
                match callee {
                    ExternCallee::Function(function) => format!("extern {function}"),
                    ExternCallee::Method { instance, method } => {
                        let of = &self.program.externs[instance.index()].extern_type;
                        format!("extern {of}.{method}")
                    }
                },
            ),
            StatementKind::Extract { header, header_type, .. } => {
                let width = self.width(*header_type);
                map(ways, |key| {
                    add(key, format!("extract {width}"));
                    if header.is_some() {
                        *key.valid.entry(*header_type).or_default() += 1;
                    }
                })
            }
            StatementKind::Lookahead { type_id, .. } => {
                one(ways, format!("lookahead {}", self.width(*type_id)))
            }
            StatementKind::Advance(_) => one(ways, "advance".to_owned()),
            StatementKind::Emit(value) => map(ways, |key| {
                let mut left = key.valid.clone();
                self.emit(value.type_id, key, &mut left);
            }),
            StatementKind::Verify { condition, .. } => {
                let ways = self.expression(condition, ways);
                let decision = format!("{} fails", self.excerpts.expression(condition));
                let failed = map_all(ways.clone(), |key, decisions| {
                    add(key, "verify".to_owned());
                    key.ended = Ended::Rejected;
                    decisions.push(decision.clone());
                });
                let mut all = one(ways, "verify".to_owned());
                merge(&mut all, failed);
                all
            }
            StatementKind::SetValidity { header, valid } => {
                let header = self.program.place_type(header);
                map(ways, |key| {
                    add(key, format!("set {}", if *valid { "valid" } else { "invalid" }));
                    if let Some(header) = header {
                        key.valid.insert(header, u32::from(*valid));
                    }
                })
            }
            StatementKind::PushFront { .. } => one(ways, "push".to_owned()),
            StatementKind::PopFront { .. } => one(ways, "pop".to_owned()),
            StatementKind::Return(value) => {
                let ways = value.iter().fold(ways, |ways, value| self.expression(value, ways));
                map(ways, |key| key.ended = Ended::Returned)
            }
            StatementKind::Exit => map(ways, |key| key.ended = Ended::Exited),
        })
    }

    fn condition(
        &self,
        condition: &Expression,
        then: &Block,
        otherwise: &Block,
        ways: Ways,
    ) -> Result<Ways, PathError> {
        let ways = self.expression(condition, map(ways, |key| add(key, "branch".to_owned())));
        let (mut yes, mut no) = (Ways::new(), Ways::new());
        for (key, came) in ways {
            match self.decided(condition, &key) {
                Some(true) => insert(&mut yes, key, came),
                Some(false) => insert(&mut no, key, came),
                // The packet decides.
                None => {
                    let text = self.excerpts.expression(condition);
                    let after = |decision: String| {
                        let (mut decisions, count) = came.clone();
                        decisions.push(decision);
                        (decisions, count)
                    };
                    // Operations stand in parentheses.
                    let bare = match condition.kind {
                        ExpressionKind::Binary(..) => {
                            text.strip_prefix('(').and_then(|text| text.strip_suffix(')'))
                        }
                        _ => None,
                    };
                    let bare = bare.unwrap_or(&text);
                    insert(&mut yes, key.clone(), after(format!("if {bare}")));
                    insert(&mut no, key, after(format!("if not {text}")));
                }
            }
        }
        let mut all = self.block(then, yes)?;
        merge(&mut all, self.block(otherwise, no)?);
        Ok(all)
    }

    /// What the valid headers say to a condition.
    fn decided(&self, condition: &Expression, key: &Key) -> Option<bool> {
        match &condition.kind {
            ExpressionKind::IsValid(place) => {
                let header = self.program.place_type(place)?;
                self.is_single(header)
                    .then(|| key.valid.get(&header).is_some_and(|count| *count > 0))
            }
            ExpressionKind::Unary(ir::UnaryOperator::Not, operand) => {
                Some(!self.decided(operand, key)?)
            }
            ExpressionKind::Binary(BinaryOperator::And, a, b) => {
                match (self.decided(a, key), self.decided(b, key)) {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (Some(true), Some(true)) => Some(true),
                    _ => None,
                }
            }
            ExpressionKind::Binary(BinaryOperator::Or, a, b) => {
                match (self.decided(a, key), self.decided(b, key)) {
                    (Some(true), _) | (_, Some(true)) => Some(true),
                    (Some(false), Some(false)) => Some(false),
                    _ => None,
                }
            }
            ExpressionKind::Constant(ir::Value::Bool(value)) => Some(*value),
            _ => None,
        }
    }

    /// Whether no struct has two headers of a type, so that the type says which header is meant.
    fn is_single(&self, header: TypeId) -> bool {
        let fields = |composite: &ir::Composite| {
            composite.fields.iter().filter(|f| f.type_id == header).count()
        };
        let stacked = self
            .program
            .types
            .iter()
            .any(|(_, ty)| matches!(ty, Type::Stack { element, .. } if element == header));
        !stacked && self.program.types.composites.iter().map(fields).sum::<usize>() <= 1
    }

    fn table(&self, id: TableId, ways: Ways) -> Result<Ways, PathError> {
        let table = &self.program.tables[id.index()];
        let ways = self.block(&table.before_keys, ways)?;
        let keys = table
            .keys
            .iter()
            .map(|key| format!("{} {}", key.match_kind.name(), self.width(key.expression.type_id)));
        let part = format!("table {}", keys.collect::<Vec<_>>().join(", "));
        let ways = map(ways, |key| add(key, part.trim_end().to_owned()));
        let mut all = Ways::new();
        for reference in &table.actions {
            let action = &self.program.actions[reference.action.index()];
            let chosen = map_all(ways.clone(), |_, decisions| {
                decisions.push(format!("{}: {}", table.name, action.name));
            });
            let ran = self.block(&action.body, self.block(&reference.before_arguments, chosen)?)?;
            merge(&mut all, returned(ran));
        }
        limited(&all, || format!("table {}", table.name))?;
        Ok(all)
    }

    /// Arithmetic in an expression.
    fn expression(&self, expression: &Expression, ways: Ways) -> Ways {
        let mut parts = Vec::new();
        self.operators(expression, &mut parts);
        map(ways, |key| parts.iter().for_each(|part: &String| add(key, part.clone())))
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

    /// Headers of a type that are valid, each put out once.
    fn emit(&self, type_id: TypeId, key: &mut Key, left: &mut BTreeMap<TypeId, u32>) {
        match self.program.types.get(type_id) {
            Type::Composite(_) => {
                let Some(composite) = self.program.types.composite(type_id) else { return };
                if composite.kind == CompositeKind::Header {
                    if let Some(count) = left.get_mut(&type_id).filter(|count| **count > 0) {
                        *count -= 1;
                        add(key, format!("emit {}", self.width(type_id)));
                    }
                } else {
                    composite.fields.iter().for_each(|field| self.emit(field.type_id, key, left));
                }
            }
            Type::Stack { element, size } => (0..size).for_each(|_| self.emit(element, key, left)),
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

fn add(key: &mut Key, part: String) {
    *key.parts.entry(part).or_default() += 1;
}

/// Ways on which statements run, and those that are done.
fn split(ways: Ways) -> (Ways, Ways) {
    ways.into_iter().partition(|(key, _)| key.ended == Ended::No)
}

fn map(ways: Ways, change: impl Fn(&mut Key)) -> Ways {
    map_all(ways, |key, _| change(key))
}

fn map_all(ways: Ways, change: impl Fn(&mut Key, &mut Vec<String>)) -> Ways {
    let mut all = Ways::new();
    for (mut key, mut came) in ways {
        change(&mut key, &mut came.0);
        insert(&mut all, key, came);
    }
    all
}

/// Ends of the action, function or control in which they are.
fn returned(ways: Ways) -> Ways {
    map(ways, |key| {
        if key.ended == Ended::Returned {
            key.ended = Ended::No;
        }
    })
}

fn merge(all: &mut Ways, more: Ways) {
    more.into_iter().for_each(|(key, came)| insert(all, key, came));
}

fn insert(all: &mut Ways, key: Key, (decisions, count): (Vec<String>, u64)) {
    all.entry(key)
        .and_modify(|(_, sum)| *sum = sum.saturating_add(count))
        .or_insert((decisions, count));
}

fn limited(ways: &Ways, place: impl Fn() -> String) -> Result<(), PathError> {
    if ways.len() > MOST { Err(PathError::TooMany { most: MOST, place: place() }) } else { Ok(()) }
}
