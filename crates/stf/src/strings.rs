//! Translates the strings in scripts, which stand for values of translated types, to the numbers
//! that the switch uses.
//!
//! If the program assigns a number to a string, the string has that number. Otherwise it has the
//! smallest number that no other string has and that does not occur in the script, so a script may
//! mix strings and numbers.

use super::StfError;
use super::resolve;
use super::script::{Call, MatchText, Operand, PortOperand, Script, Statement, StatementKind};
use entities::schema::TranslatedTypeId;
use ir::bits::Bits;
use ir::{Program, TableId};
use pipeline::Translated;

/// Returns the number for the string `text`. `of` is the translated type, or `None` if the value
/// has no such type. `what` returns a description of the key, parameter or port for error messages.
pub(super) fn number(
    translated: &Translated,
    of: Option<TranslatedTypeId>,
    text: &str,
    what: impl FnOnce() -> String,
) -> Result<Bits, StfError> {
    let Some(of) = of else { return Err(StfError::NoText { what: what(), text: text.to_owned() }) };
    Ok(translated.number(of, text.as_bytes())?)
}

/// Returns the number of a port, which is translated if the script has a string for it.
pub(super) fn port(translated: &Translated, port: &PortOperand) -> Result<u32, StfError> {
    let text = match port {
        PortOperand::Number(number) => return Ok(*number),
        PortOperand::Text(text) => text,
    };
    let what = || "port".to_owned();
    let number = number(translated, translated.of_port(), text, what)?;
    let number = number.to_u128().and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| StfError::NoText { what: what(), text: text.clone() })
}

/// Returns the number of a port before the script runs, for packets that arrive there in addition
/// to those of the script.
///
/// # Errors
/// Returns an error if the port is a string and the program has no strings for ports, or if no
/// number is left for the string.
pub fn port_before(
    program: &Program,
    translated: &Translated,
    script: &Script,
    operand: &PortOperand,
) -> Result<u32, StfError> {
    reserve(program, translated, script.statements.iter().map(|Statement { kind, .. }| kind));
    port(translated, operand)
}

/// Reserves the numbers that statements use for values of translated types, so that no string is
/// translated to one of them. Names that the program does not have are ignored here, and reported
/// when the statement runs.
pub(super) fn reserve<'s>(
    program: &Program,
    translated: &Translated,
    statements: impl Iterator<Item = &'s StatementKind>,
) {
    if translated.translations().is_empty() {
        return;
    }
    let reservation = Reservation { program, translated };
    statements.for_each(|statement| reservation.statement(statement));
}

/// The state of reserving the numbers in a script.
struct Reservation<'p> {
    program: &'p Program,
    translated: &'p Translated,
}

impl Reservation<'_> {
    fn statement(&self, statement: &StatementKind) {
        match statement {
            StatementKind::Packet { port, .. }
            | StatementKind::Expect { port, .. }
            | StatementKind::Source { port, .. }
            | StatementKind::MirroringAdd { port, .. } => self.port(port),
            StatementKind::Sender { from, to, .. } => {
                self.port(from);
                self.port(to);
            }
            StatementKind::NodeCreate { ports, .. }
            | StatementKind::NodeUpdate { ports, .. }
            | StatementKind::LagMembers { ports, .. } => {
                ports.iter().for_each(|port| self.port(port));
            }
            StatementKind::Add { table, matches, action, .. } => {
                self.matches(table, matches);
                self.call(Some(table), action);
            }
            StatementKind::AddIndirect { table, matches, .. } => self.matches(table, matches),
            StatementKind::SetDefault { table, action } => self.call(Some(table), action),
            StatementKind::MemberCreate { action, .. } => self.call(None, action),
            StatementKind::On { statement, .. } => self.statement(statement),
            StatementKind::At(_)
            | StatementKind::Queues { .. }
            | StatementKind::Check(_)
            | StatementKind::NoPacket
            | StatementKind::Unknown { .. }
            | StatementKind::HalfByte
            | StatementKind::SelectorGroupCreate { .. }
            | StatementKind::GroupAdd { .. }
            | StatementKind::GroupRemove { .. }
            | StatementKind::RemoveAll
            | StatementKind::Remove { .. }
            | StatementKind::CheckCounter { .. }
            | StatementKind::Wait
            | StatementKind::ExpireTime { .. }
            | StatementKind::MirroringAddGroup { .. }
            | StatementKind::MirroringDelete { .. }
            | StatementKind::MirroringGet { .. }
            | StatementKind::GroupCreate { .. }
            | StatementKind::NodeAssociate { .. }
            | StatementKind::CounterRead { .. }
            | StatementKind::CounterWrite { .. }
            | StatementKind::RegisterRead { .. }
            | StatementKind::RegisterWrite { .. }
            | StatementKind::RegisterReset { .. }
            | StatementKind::MeterGetRates { .. }
            | StatementKind::MeterSetRates { .. } => {}
        }
    }

    fn port(&self, port: &PortOperand) {
        if let PortOperand::Number(number) = port {
            self.number(self.translated.of_port(), Some((*number).into()));
        }
    }

    fn matches(&self, table: &str, given: &[(String, MatchText)]) {
        let Ok(id) = resolve::table(self.program, table) else { return };
        let Some(table) = self.program.tables.get(id.index()) else { return };
        for (name, found) in given {
            if let (MatchText::Value(value), Ok(position)) = (found, resolve::key(table, name)) {
                self.number(self.translated.of_key(id, position), value.to_u128());
            }
        }
    }

    fn call(&self, table: Option<&String>, call: &Call) {
        let table = table.and_then(|name| resolve::table(self.program, name).ok());
        let table = table.and_then(|TableId(id)| self.program.tables.get(id as usize));
        let Ok(id) = resolve::action(self.program, table, call) else { return };
        let Some(action) = self.program.actions.get(id.index()) else { return };
        for (name, value) in &call.arguments {
            let position = action.parameters.iter().position(|one| one.name == *name);
            if let (Operand::Number(value), Some(position)) = (value, position) {
                self.number(self.translated.of_parameter(id, position), value.to_u128());
            }
        }
    }

    fn number(&self, of: Option<TranslatedTypeId>, number: Option<u128>) {
        if let (Some(of), Some(number)) = (of, number) {
            self.translated.translations().reserve(of, number);
        }
    }
}
