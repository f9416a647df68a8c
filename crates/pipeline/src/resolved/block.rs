//! Translates the blocks of the package to the resolved form, and all parsers, controls, actions
//! and functions that they call.

use super::shape::Shape;
use super::unrolled::can_unroll;
use super::{
    Address, BlockParameter, Body, Callee, Case, Expression, Field, Offset, Outcome, PackageBlock,
    ParameterType, Parser, Resolver, Set, State, Subject, Target,
};
use crate::layout::{CoreError, MetadataField};
use architectures::{Glue, Role};
use ir::{KeySet, Package, PackageValue, Transition, TypeId};

impl Resolver<'_> {
    /// Returns the parsers and controls of the package, in the order of its arguments.
    pub(super) fn package(&self) -> Outcome<Vec<Callee>> {
        fn collect(package: &Package, blocks: &mut Vec<Callee>) {
            for argument in &package.arguments {
                match &argument.value {
                    PackageValue::Parser(id) => blocks.push(Callee::Parser(*id)),
                    PackageValue::Control(id) => blocks.push(Callee::Control(*id)),
                    PackageValue::Package(inner) => collect(inner, blocks),
                    PackageValue::Extern(_) | PackageValue::Value(_) => {}
                }
            }
        }
        let mut blocks = Vec::new();
        collect(&self.layout.program.main, &mut blocks);
        Ok(blocks)
    }

    /// Allocates space in the frame (the packet's working memory) for the parameters of the
    /// package's blocks.
    pub(super) fn parameters_of_blocks(
        &mut self,
        blocks: &[Callee],
    ) -> Outcome<(Vec<PackageBlock>, Vec<ParameterType>)> {
        let Some(glue) = Glue::of(&self.layout.program.architecture) else {
            return self.refuse("a package that the program declares itself");
        };
        let Some(package) = glue.package(blocks.len()) else {
            return self.refuse("a package without all blocks of its architecture");
        };
        let mut shared: Vec<(Role, TypeId, Offset)> = Vec::new();
        let (mut places, mut types) = (Vec::new(), Vec::new());
        for (callee, block) in blocks.iter().zip(package.blocks) {
            let roles = block.parameters;
            let parameters = self.parameters(*callee).to_vec();
            if parameters.len() != roles.len() {
                return self
                    .refuse("a block whose parameters differ from those of its architecture");
            }
            let mut placed = Vec::with_capacity(parameters.len());
            for (parameter, role) in parameters.iter().zip(roles) {
                self.parameter_type(glue, parameter.type_id, &mut types);
                let first = shared.iter().find(|(known, ..)| known == role).copied();
                let shape = self.shape(parameter.type_id);
                let offset = match first {
                    Some((_, type_id, offset)) if type_id == parameter.type_id => offset,
                    _ => self.allocate(&shape)?,
                };
                if role.is_shared() && first.is_none() {
                    shared.push((*role, parameter.type_id, offset));
                }
                match self.places.get_mut(parameter.variable.index()) {
                    // Programs of BMv2 JSON have one variable for a role in all blocks.
                    Some(place) if place.is_none_or(|known| known == offset) => {
                        *place = Some(offset);
                    }
                    _ => return self.refuse("a block that is in the package twice"),
                }
                let (size, direction) = (shape.size(), parameter.direction);
                placed.push(BlockParameter { offset, size, direction });
            }
            places.push(PackageBlock { callee: *callee, parameters: placed, emits: false });
        }
        Ok((places, types))
    }

    /// Records the offsets of those fields of a parameter's type that the architecture knows.
    /// Leaves out fields that no block and no rule of the architecture reads.
    fn parameter_type(&mut self, glue: &Glue, type_id: TypeId, types: &mut Vec<ParameterType>) {
        if types.iter().any(|known| known.type_id == type_id) {
            return;
        }
        let shape = self.shape(type_id);
        let fields = MetadataField::ALL.iter().map(|name| {
            let Shape::Struct(parts, _) = &shape else { return None };
            if !self.layout.metadata.read.contains(*name) && !glue.reads(*name) {
                return None;
            }
            let slot = self.layout.names.slot(type_id, *name)?;
            match parts.get(slot)? {
                (at, Shape::Scalar(scalar)) => {
                    Some(Field { address: Address::fixed(*at), scalar: *scalar })
                }
                _ => None,
            }
        });
        let fields = fields.collect();
        types.push(ParameterType { type_id, shape, fields });
    }

    fn parameters(&self, callee: Callee) -> &[ir::Parameter] {
        let program = &self.layout.program;
        match callee {
            Callee::Parser(id) => program.parsers.get(id.index()).map(|one| &one.parameters),
            Callee::Control(id) => program.controls.get(id.index()).map(|one| &one.parameters),
            Callee::Action(_) | Callee::Function(_) => None,
        }
        .map_or(&[], |parameters| parameters)
    }

    /// Translates the body of a parser, control, action or function to the resolved form, unless
    /// that has been done already.
    pub(super) fn callee(&mut self, callee: Callee) -> Outcome {
        if self.bodies.contains(callee) {
            return Ok(());
        }
        if !ir::has_room() {
            return self.refuse_for_good("statements and calls that nest so deeply together");
        }
        let layout = self.layout;
        let program = &layout.program;
        let outer = (self.in_parser, self.in_action, self.returns.take());
        self.in_action = matches!(callee, Callee::Action(_) | Callee::Function(_));
        let body = match callee {
            Callee::Parser(id) => {
                self.in_parser = true;
                match program.parsers.get(id.index()) {
                    Some(parser) => self.parser(parser).map(Body::Parser)?,
                    None => return self.refuse("a parser that does not exist"),
                }
            }
            Callee::Control(id) => match program.controls.get(id.index()) {
                Some(control) => {
                    self.in_parser = false;
                    self.here = control.location.or(self.here);
                    Body::Block(self.block(&control.body)?)
                }
                None => return self.refuse("a control that does not exist"),
            },
            Callee::Action(id) => match program.actions.get(id.index()) {
                Some(action) => {
                    self.here = action.location.or(self.here);
                    Body::Block(self.block(&action.body)?)
                }
                None => return self.refuse("an action that does not exist"),
            },
            Callee::Function(id) => match program.functions.get(id.index()) {
                Some(function) => {
                    if let Some(type_id) = function.return_type {
                        let shape = self.shape(type_id);
                        let offset = self.allocate(&shape)?;
                        self.returns = Some((offset, shape.clone()));
                        self.returned.insert(id, (offset, shape));
                    }
                    // A function has only one body, even if both a parser and a control call it.
                    let reads_parser = std::mem::replace(&mut self.in_parser, false);
                    let block = self.block(&function.body);
                    self.in_parser = reads_parser;
                    Body::Block(block?)
                }
                None => return self.refuse("a function that does not exist"),
            },
        };
        let body = match (layout.costs.of_entry(callee), body) {
            (Some(cost), Body::Block(mut block)) => {
                block.insert(0, super::Statement::Charge(cost));
                Body::Block(block)
            }
            (Some(cost), Body::Parser(mut parser)) => {
                parser.prologue.insert(0, super::Statement::Charge(cost));
                Body::Parser(parser)
            }
            (None, body) => body,
        };
        (self.in_parser, self.in_action, self.returns) = outer;
        self.bodies.push(callee, body);
        Ok(())
    }

    fn parser(&mut self, parser: &ir::Parser) -> Outcome<Parser> {
        // A parser that cannot be unrolled is resolved without unrolling, or refused.
        if can_unroll(parser)
            && let Ok(Some(unrolled)) = self.unrolled(parser)
        {
            return Ok(unrolled);
        }
        let prologue = self.block(&parser.prologue)?;
        let mut states = Vec::with_capacity(parser.states.len());
        for state in &parser.states {
            self.here = state.location.or(self.here);
            let body = self.state_body(state)?;
            self.here = state.location.or(self.here);
            states.push(self.transition(body, &state.transition)?);
        }
        Ok(Parser { prologue, states, start: parser.start.0 })
    }

    /// Translates the statements of a parser's state to the resolved form.
    pub(super) fn state_body(&mut self, state: &ir::State) -> Outcome<super::Block> {
        let visit = self.layout.costs.of_state(state).map(super::Statement::Charge);
        let mut body: super::Block = visit.into_iter().collect();
        body.extend(self.block(&state.body)?);
        Ok(body)
    }

    pub(super) fn transition(
        &mut self,
        body: super::Block,
        transition: &Transition,
    ) -> Outcome<State> {
        let (written, written_cases) = match transition {
            Transition::Direct(to) => {
                let otherwise = Ok(target(to));
                return Ok(State { body, subjects: Vec::new(), cases: Vec::new(), otherwise });
            }
            Transition::Select { subjects, cases } => (subjects, cases),
        };
        // In BMv2, a `select` without a matching case ends the parser without an error, as in the
        // interpreter.
        let error =
            if self.layout.dialect.is_bmv2() { CoreError::NoError } else { CoreError::NoMatch };
        let otherwise = Err(self.layout.names.error(error));
        let why = match self.select(written, written_cases) {
            Ok((subjects, cases)) => return Ok(State { body, subjects, cases, otherwise }),
            Err(error) => self.soft(error)?,
        };
        let mut body = body;
        let found = self.selected(written, written_cases, why, &mut body)?;
        let value = Expression::Load(found);
        let subjects = vec![Subject { value, width: 32, signed: false }];
        let cases = written_cases.iter().enumerate().map(|(position, case)| Case {
            sets: vec![Set::Exact(Expression::Constant(position as u64))],
            target: target(&case.target),
        });
        Ok(State { body, subjects, cases: cases.collect(), otherwise })
    }

    fn select(
        &mut self,
        written: &[ir::Expression],
        written_cases: &[ir::SelectCase],
    ) -> Outcome<(Vec<Subject>, Vec<Case>)> {
        let mut subjects = Vec::with_capacity(written.len());
        for subject in written {
            let (width, signed) = self.number(subject.type_id)?;
            subjects.push(Subject { value: self.expression(subject)?, width, signed });
        }
        let mut cases = Vec::with_capacity(written_cases.len());
        for case in written_cases {
            let mut sets = Vec::new();
            if matches!(case.key_sets.as_slice(), [KeySet::ValueSet(_)]) && written.len() > 1 {
                return self.refuse("a parser value set of several subjects");
            }
            if !matches!(case.key_sets.as_slice(), [KeySet::Any]) {
                for (set, subject) in case.key_sets.iter().zip(written) {
                    sets.push(self.set(set, subject.type_id)?);
                }
            }
            cases.push(Case { sets, target: target(&case.target) });
        }
        Ok((subjects, cases))
    }

    fn set(&mut self, set: &KeySet<ir::Expression>, type_id: TypeId) -> Outcome<Set> {
        Ok(match set {
            KeySet::Any => Set::Any,
            KeySet::Exact(value) => Set::Exact(self.key_value(value, type_id)?),
            KeySet::Mask { value, mask } => Set::Mask {
                value: self.key_value(value, type_id)?,
                mask: self.key_value(mask, type_id)?,
            },
            KeySet::Range { low, high } => Set::Range {
                low: self.key_value(low, type_id)?,
                high: self.key_value(high, type_id)?,
            },
            KeySet::ValueSet(id) => Set::Members(id.0),
        })
    }

    /// Translates a number in a set of a `select` case to the resolved form. A constant without a
    /// type gets the type `like`, which is the type of the value that is matched.
    fn key_value(&mut self, value: &ir::Expression, like: TypeId) -> Outcome<super::Expression> {
        match &value.kind {
            ir::ExpressionKind::Constant(constant) => {
                let constant = self.constant(like, constant)?;
                Ok(super::Expression::Constant(constant))
            }
            _ => self.expression(value),
        }
    }
}

fn target(target: &ir::Target) -> Target {
    match target {
        ir::Target::State(id) => Target::State(id.0),
        ir::Target::Accept => Target::Accept,
        ir::Target::Reject => Target::Reject,
    }
}
