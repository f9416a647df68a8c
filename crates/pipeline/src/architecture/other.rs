//! The driver of user-defined packages: all parsers and controls run once, in the order of the
//! package.
//!
//! Parameters of one type share a value that is passed from block to block. The packet is dropped
//! if a parser rejects it, or if an `out bool` parameter of a control is false (a filter). The
//! output of deparsers precedes the payload; if no control emits, the packet leaves unchanged. The
//! packet leaves through the port on which it arrived.

use super::{Output, begin, drop_packet, output};
use crate::error::{LoadError, RunError};
use crate::interpreter::Interpreter;
use crate::layout::{Layout, each_statement_in};
use crate::value::Value;
use ir::{
    Block, ControlId, Direction, Package, PackageValue, Parameter, ParserId, StatementKind, TypeId,
};
use std::collections::{HashMap, HashSet};

/// The blocks of a package that is not built in, in order.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    blocks: Vec<Step>,
    /// Whether any control of the package emits headers, as a deparser does.
    emits: bool,
}

/// A block of the package.
#[derive(Clone, Copy, Debug)]
enum Step {
    Parser(ParserId),
    Control(ControlId),
}

impl Blocks {
    pub(super) fn new(layout: &Layout) -> Result<Self, LoadError> {
        let mut blocks = Vec::new();
        collect(&layout.program.main, &mut blocks);
        if blocks.is_empty() {
            return Err(LoadError::NothingToRun(layout.program.main.name.clone()));
        }
        let emits = blocks.iter().any(|step| match step {
            Step::Control(id) => {
                let control = layout.program.controls.get(id.index());
                control.is_some_and(|control| emits(layout, &control.body))
            }
            Step::Parser(_) => false,
        });
        Ok(Self { blocks, emits })
    }

    /// Runs the blocks of the package one after the other on a packet.
    pub(super) fn process(
        &self,
        interpreter: &mut Interpreter<'_>,
        port: u32,
        packet: &[u8],
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        begin(interpreter, port, packet)?;
        let layout = interpreter.layout;
        let mut values = HashMap::new();
        for block in &self.blocks {
            match block {
                Step::Parser(id) => {
                    let parser = layout.program.parsers.get(id.index());
                    let parser = parser.ok_or_else(|| RunError::internal("parser"))?;
                    let mut arguments = gather(interpreter, &parser.parameters, &values)?;
                    let outcome = interpreter.run_parser(*id, &mut arguments)?;
                    if !outcome.accepted {
                        drop_packet(interpreter, "the parser rejects");
                        return Ok(());
                    }
                    keep(&parser.parameters, arguments, &mut values);
                }
                Step::Control(id) => {
                    let control = layout.program.controls.get(id.index());
                    let control = control.ok_or_else(|| RunError::internal("control"))?;
                    let mut arguments = gather(interpreter, &control.parameters, &values)?;
                    interpreter.run_control(*id, &mut arguments)?;
                    let refused = control.parameters.iter().zip(&arguments).any(|(at, value)| {
                        at.direction == Direction::Out && *value == Value::Bool(false)
                    });
                    if refused {
                        drop_packet(interpreter, "a control refuses");
                        return Ok(());
                    }
                    keep(&control.parameters, arguments, &mut values);
                }
            }
        }
        let leaving = if self.emits { interpreter.take_deparsed_packet() } else { packet.to_vec() };
        output(interpreter, outputs, port, leaving, 0);
        Ok(())
    }
}

fn collect(package: &Package, blocks: &mut Vec<Step>) {
    for argument in &package.arguments {
        match &argument.value {
            PackageValue::Parser(id) => blocks.push(Step::Parser(*id)),
            PackageValue::Control(id) => blocks.push(Step::Control(*id)),
            PackageValue::Package(inner) => collect(inner, blocks),
            PackageValue::Extern(_) | PackageValue::Value(_) => {}
        }
    }
}

/// Returns whether statements emit headers, directly or in a control that they call.
fn emits(layout: &Layout, block: &Block) -> bool {
    let (mut found, mut seen, mut open) = (false, HashSet::new(), vec![block]);
    while let Some(block) = open.pop().filter(|_| !found) {
        each_statement_in(vec![block], &mut |statement| match &statement.kind {
            StatementKind::Emit(_) => found = true,
            StatementKind::CallControl { control, .. } if seen.insert(*control) => {
                let called = layout.program.controls.get(control.index());
                open.extend(called.map(|control| &control.body));
            }
            _ => {}
        });
    }
    found
}

fn gather(
    interpreter: &Interpreter<'_>,
    parameters: &[Parameter],
    values: &HashMap<TypeId, Value>,
) -> Result<Vec<Value>, RunError> {
    parameters
        .iter()
        .map(|parameter| match values.get(&parameter.type_id) {
            Some(value) => Ok(value.clone()),
            None => interpreter.initial(parameter.type_id),
        })
        .collect()
}

fn keep(parameters: &[Parameter], arguments: Vec<Value>, values: &mut HashMap<TypeId, Value>) {
    for (parameter, value) in parameters.iter().zip(arguments) {
        values.insert(parameter.type_id, value);
    }
}
