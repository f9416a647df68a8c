//! `planimeter testgen --entries`: reads the entries of files. Tables contain these entries and no
//! others.

use std::path::PathBuf;

use ir::bits::Bits;
use ir::{Program, TableId};
use pipeline::{ActionCall, EntryAction, FieldMatch, Switch, Value};
use symbolic::generated::{Matched, Test};
use symbolic::given::{Filled, Given, GivenCall, GivenEntry};

use crate::failure::Failure;
use crate::translated;

/// A program that is executed symbolically, with the entries of files if there are any.
pub(super) struct Subject<'p> {
    /// The program as it was loaded.
    pub(super) program: &'p Program,
    filled: Option<Filled>,
}

impl<'p> Subject<'p> {
    /// Reads the entries and default actions of files, which a switch in memory gets.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read, or if its entries do not fit the program.
    pub(super) fn new(program: &'p Program, files: &[PathBuf]) -> Result<Self, Failure> {
        if files.is_empty() {
            return Ok(Self { program, filled: None });
        }
        let mut switch = Switch::new(program.clone()).map_err(Failure::input)?;
        switch.set_translated(translated::of(program)?);
        let defaults = defaults(&switch, program)?;
        crate::stf::install(&mut switch, program, stf::Options::default(), files)?;
        let mut given = Given::default();
        for (id, table) in (0_u32..).map(TableId).zip(&program.tables) {
            let entries: Vec<_> = switch.entries(id).map_err(Failure::input)?.collect();
            if !table.entries.is_empty() {
                if entries.len() != table.entries.len() {
                    return Err(Failure::input(format!(
                        "--entries: {} has entries in the source, so no others can be given",
                        table.name
                    )));
                }
                continue;
            }
            for (_, entry) in entries {
                let EntryAction::Action(call) = &entry.action else {
                    return Err(Failure::input(format!(
                        "--entries: {} has an action profile, whose entries cannot be given",
                        table.name
                    )));
                };
                given.entries.push(GivenEntry {
                    table: id,
                    matches: entry.matches.iter().map(matched).collect(),
                    priority: entry.priority,
                    call: given_call(call)?,
                });
            }
        }
        for (before, (id, call)) in defaults.iter().zip(self::defaults(&switch, program)?) {
            if before.1 != call {
                given.defaults.push((id, given_call(&call)?));
            }
        }
        let filled = Filled::new(program, &given);
        let filled = filled.map_err(|error| Failure::input(format!("--entries: {error}")))?;
        Ok(Self { program, filled: Some(filled) })
    }

    /// Returns the program that is executed symbolically, whose source has the entries of the
    /// files.
    pub(super) fn searched(&self) -> &Program {
        self.filled.as_ref().map_or(self.program, |filled| &filled.program)
    }

    /// Adds the entries of the files to what a test writes.
    pub(super) fn complete(&self, test: &mut Test) {
        let Some(Filled { entries, defaults, .. }) = &self.filled else { return };
        test.entries.splice(0..0, entries.iter().cloned());
        test.defaults.splice(0..0, defaults.iter().cloned());
    }
}

/// Returns the default action of each table.
fn defaults(switch: &Switch, program: &Program) -> Result<Vec<(TableId, ActionCall)>, Failure> {
    let mut defaults = Vec::with_capacity(program.tables.len());
    for (id, _) in (0_u32..).map(TableId).zip(&program.tables) {
        defaults.push((id, switch.default_action(id).map_err(Failure::input)?));
    }
    Ok(defaults)
}

/// Returns the match of a key; `None` if any value matches.
fn matched(field: &FieldMatch) -> Option<Matched> {
    Some(match field.clone() {
        FieldMatch::Exact(value) => Matched::Exact(value),
        FieldMatch::Lpm { value, prefix_length } => Matched::Lpm { value, prefix: prefix_length },
        FieldMatch::Ternary { value, mask } => Matched::Ternary { value, mask },
        FieldMatch::Range { low, high } => Matched::Range { low, high },
        FieldMatch::Any => return None,
    })
}

fn given_call(call: &ActionCall) -> Result<GivenCall, Failure> {
    let arguments: Result<Vec<Bits>, Failure> = call.arguments.iter().map(bits).collect();
    Ok(GivenCall { action: call.action, arguments: arguments? })
}

/// Returns a number, a truth value or an enumerator as bits.
fn bits(value: &Value) -> Result<Bits, Failure> {
    if let Value::Bits(bits) = value {
        return Ok(bits.clone());
    }
    if let Value::Bool(value) = value {
        return Ok(Bits::from_bool(*value));
    }
    if let Value::Error(position) | Value::Enum(position) = value {
        return Ok(Bits::unsigned(32, (*position).into()));
    }
    Err(Failure::input("--entries: an argument of an action is no number"))
}
