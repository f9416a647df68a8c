//! The package, its blocks, and everything that they call.

use super::shape::Shape;
use super::{
    Binder, Body, Callee, Case, Field, Offset, Outcome, Parser, Set, State, Subject, Target,
};
use crate::layout::{CoreError, MetadataField};
use ir::{KeySet, PackageValue, Parameter, Transition, TypeId};

/// What the traffic manager reads and writes.
pub(crate) const STANDARD: [MetadataField; 16] = [
    MetadataField::ChecksumError,
    MetadataField::DeqQdepth,
    MetadataField::DeqTimedelta,
    MetadataField::EgressGlobalTimestamp,
    MetadataField::EgressPort,
    MetadataField::EgressRid,
    MetadataField::EgressSpec,
    MetadataField::EnqQdepth,
    MetadataField::EnqTimestamp,
    MetadataField::IngressGlobalTimestamp,
    MetadataField::IngressPort,
    MetadataField::InstanceType,
    MetadataField::McastGrp,
    MetadataField::PacketLength,
    MetadataField::ParserError,
    MetadataField::Priority,
];

/// Which of headers, metadata and standard metadata the parameters of each block stand for.
const ROLES: [&[usize]; 6] = [&[0, 1, 2], &[0, 1], &[0, 1, 2], &[0, 1, 2], &[0, 1], &[0]];

impl Binder<'_> {
    /// Parser, verification, ingress, egress, update, deparser.
    pub(super) fn package(&self) -> Outcome<[Callee; 6]> {
        let arguments = &self.layout.program.main.arguments;
        let block = |position: usize| match arguments.get(position).map(|one| &one.value) {
            Some(PackageValue::Parser(id)) if position == 0 => Ok(Callee::Parser(*id)),
            Some(PackageValue::Control(id)) if position > 0 => Ok(Callee::Control(*id)),
            _ => self.refuse("a package without all blocks of v1model"),
        };
        Ok([block(0)?, block(1)?, block(2)?, block(3)?, block(4)?, block(5)?])
    }

    /// Gives the parameters of all blocks that stand for the same thing one place; gives the fields of the standard
    /// metadata.
    pub(super) fn parameters_of_blocks(
        &mut self,
        blocks: &[Callee; 6],
    ) -> Outcome<Vec<Option<Field>>> {
        let mut shared: [Option<(TypeId, Offset, Shape)>; 3] = [None, None, None];
        for (callee, roles) in blocks.iter().zip(ROLES) {
            let parameters = self.parameters(*callee).to_vec();
            if parameters.len() != roles.len() {
                return self.refuse("a block with other parameters than v1model gives");
            }
            for (parameter, role) in parameters.iter().zip(roles) {
                self.share(parameter, &mut shared[*role])?;
            }
        }
        let [_, _, Some((type_id, standard, of_standard))] = shared else {
            return self.refuse("a package without headers and metadata");
        };
        let mut fields = Vec::new();
        if let Shape::Struct(parts, _) = of_standard {
            for name in STANDARD {
                let slot = self.layout.names.slot(type_id, name);
                if let Some((at, Shape::Scalar(scalar))) = slot.and_then(|slot| parts.get(slot)) {
                    let address = super::Address::fixed(standard + at);
                    let number = name as usize;
                    if fields.len() <= number {
                        fields.resize(number + 1, None);
                    }
                    fields[number] = Some(Field { address, scalar: *scalar });
                }
            }
        }
        Ok(fields)
    }

    fn share(
        &mut self,
        parameter: &Parameter,
        shared: &mut Option<(TypeId, Offset, Shape)>,
    ) -> Outcome {
        let (type_id, offset, _) = match shared {
            Some(known) => known.clone(),
            None => {
                let shape = self.shape(parameter.type_id);
                let offset = self.allocate(&shape)?;
                shared.insert((parameter.type_id, offset, shape)).clone()
            }
        };
        if type_id != parameter.type_id {
            return self.refuse("blocks whose headers or metadata are of different types");
        }
        match self.places.get_mut(parameter.variable.index()) {
            Some(place) if place.is_none() => {
                *place = Some(offset);
                Ok(())
            }
            _ => self.refuse("a block that is in the package twice"),
        }
    }

    fn parameters(&self, callee: Callee) -> &[Parameter] {
        let program = &self.layout.program;
        match callee {
            Callee::Parser(id) => program.parsers.get(id.index()).map(|one| &one.parameters),
            Callee::Control(id) => program.controls.get(id.index()).map(|one| &one.parameters),
            Callee::Action(_) | Callee::Function(_) => None,
        }
        .map_or(&[], |parameters| parameters)
    }

    /// Binds what is called, once.
    pub(super) fn callee(&mut self, callee: Callee) -> Outcome {
        if self.bodies.iter().any(|(known, _)| *known == callee) {
            return Ok(());
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
                    None => return self.refuse("a parser that is not there"),
                }
            }
            Callee::Control(id) => match program.controls.get(id.index()) {
                Some(control) => {
                    self.in_parser = false;
                    self.here = control.location.or(self.here);
                    Body::Block(self.block(&control.body)?)
                }
                None => return self.refuse("a control that is not there"),
            },
            Callee::Action(id) => match program.actions.get(id.index()) {
                Some(action) => {
                    self.here = action.location.or(self.here);
                    Body::Block(self.block(&action.body)?)
                }
                None => return self.refuse("an action that is not there"),
            },
            Callee::Function(id) => match program.functions.get(id.index()) {
                Some(function) => {
                    if let Some(type_id) = function.return_type {
                        self.returns = self.return_field(type_id)?;
                        self.returned.extend(self.returns.map(|field| (id, field)));
                    }
                    // A function that a parser and a control call is code once.
                    let reads_parser = std::mem::replace(&mut self.in_parser, false);
                    let block = self.block(&function.body);
                    self.in_parser = reads_parser;
                    Body::Block(block?)
                }
                None => return self.refuse("a function that is not there"),
            },
        };
        (self.in_parser, self.in_action, self.returns) = outer;
        self.bodies.push((callee, body));
        Ok(())
    }

    fn parser(&mut self, parser: &ir::Parser) -> Outcome<Parser> {
        let prologue = self.block(&parser.prologue)?;
        let mut states = Vec::with_capacity(parser.states.len());
        for state in &parser.states {
            self.here = state.location.or(self.here);
            let body = self.block(&state.body)?;
            self.here = state.location.or(self.here);
            states.push(self.transition(body, &state.transition)?);
        }
        Ok(Parser { prologue, states, start: parser.start.0 })
    }

    fn transition(&mut self, body: super::Block, transition: &Transition) -> Outcome<State> {
        let target = |target: &ir::Target| match target {
            ir::Target::State(id) => Target::State(id.0),
            ir::Target::Accept => Target::Accept,
            ir::Target::Reject => Target::Reject,
        };
        let (written, written_cases) = match transition {
            Transition::Direct(to) => {
                let otherwise = Ok(target(to));
                return Ok(State { body, subjects: Vec::new(), cases: Vec::new(), otherwise });
            }
            Transition::Select { subjects, cases } => (subjects, cases),
        };
        let mut subjects = Vec::with_capacity(written.len());
        for subject in written {
            let (width, signed) = self.number(subject.type_id)?;
            subjects.push(Subject { value: self.expression(subject)?, width, signed });
        }
        let mut cases = Vec::with_capacity(written_cases.len());
        for case in written_cases {
            let mut sets = Vec::new();
            if !matches!(case.key_sets.as_slice(), [KeySet::Any]) {
                for (set, subject) in case.key_sets.iter().zip(written) {
                    sets.push(self.set(set, subject.type_id)?);
                }
            }
            cases.push(Case { sets, target: target(&case.target) });
        }
        // See the interpreter: BMv2 ends such a parser without an error.
        let otherwise = Err(self.layout.names.error(CoreError::NoError));
        Ok(State { body, subjects, cases, otherwise })
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
            KeySet::ValueSet(_) => return self.refuse("a parser value set"),
        })
    }

    /// A number in a set, which has the type of the subject if it has none.
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
