//! Translates calls of those functions of PNA that generated code implements: adding entries,
//! restarting their timers, and `SelectByDirection`.
//!
//! `add_entry` adds an entry for the lookup whose action runs, with that lookup's key. Generated
//! code records the lookup if it was a miss in a table to which packets add entries ([`Missed`]).

use crate::dialect::Dialect;
use crate::resolved::{Added, Block, Expression, Missed, Outcome, Resolver, Statement};
use crate::table::EntryLayout;
use ir::{ActionId, Argument, ExpressionKind, ExternFunction, Place, Projection, Type};

/// The numbers for "not added" and "added": `ADD_ENTRY_NOT_DONE` and `ADD_ENTRY_SUCCESS`. Before
/// version 0.7, `add_entry` returned a `bool` instead.
const STATUS: [u64; 2] = [1, 0];

impl Resolver<'_> {
    /// Translates a call of PNA's `add_entry` or `add_entry_if`.
    pub(super) fn add_entry(
        &mut self,
        function: &ExternFunction,
        arguments: &[Argument],
        result: Option<&Place>,
        out: &mut Block,
    ) -> Outcome {
        let Some(missed) = self.missed()? else {
            return self.refuse("an entry that is added to a table whose entries are not packed");
        };
        let first = usize::from(*function == ExternFunction::AddEntryIf);
        let Some(Argument::Action(action)) = arguments.get(first) else {
            return self.refuse("an entry without an action");
        };
        let values = self.added_values(arguments.get(first + 1), *action)?;
        let profile = match arguments.get(first + 2) {
            None | Some(Argument::Absent) => None,
            Some(_) => Some(self.input(arguments, first + 2)?),
        };
        let status = match result {
            Some(place) => {
                let type_id = self.layout.program.place_type(place);
                let is_bool = type_id.and_then(|known| self.layout.get(known)) == Some(Type::Bool);
                let [not_done, done] = if is_bool { [0, 1] } else { STATUS };
                Some((self.field(place)?, not_done, done))
            }
            None => None,
        };
        let added = Added { missed, action: action.0, values, profile, status };
        let adds = Statement::AddEntry(Box::new(added));
        if first == 0 {
            out.push(adds);
            return Ok(());
        }
        let condition = self.input(arguments, 0)?;
        let otherwise = status.map(|(field, not_done, _)| {
            vec![Statement::Store { field, value: Expression::Constant(not_done) }]
        });
        let otherwise = otherwise.unwrap_or_default();
        out.push(Statement::If { condition, then: vec![adds], otherwise });
        Ok(())
    }

    /// Returns the arguments of the new entry's action. For each parameter: its value, its offset
    /// in the packed parameters, and its size in bytes.
    fn added_values(
        &mut self,
        given: Option<&Argument>,
        action: ActionId,
    ) -> Outcome<Vec<(Expression, u32, u32)>> {
        let Some(Argument::In(given)) = given else {
            return self.refuse("an entry without data");
        };
        let layout = self.layout;
        let positions = layout.added_arguments(given.type_id, action);
        let packed = EntryLayout::parameters(layout, action);
        let (Some(positions), Ok(packed)) = (positions, packed) else {
            return self.refuse("an entry whose data are not packed");
        };
        let mut values = Vec::with_capacity(packed.len());
        if packed.iter().any(|(_, bytes)| *bytes > 8) {
            return self.refuse("an entry with data of more than 64 bits");
        }
        for (position, (offset, bytes)) in positions.iter().zip(packed) {
            let value = match &given.kind {
                ExpressionKind::Composite(parts) => match parts.get(*position) {
                    Some(part) => self.expression(part)?,
                    None => return self.refuse("an entry without all of its data"),
                },
                ExpressionKind::Read(place) => {
                    let mut field = place.clone();
                    let position = u32::try_from(*position).unwrap_or(u32::MAX);
                    field.path.push(Projection::Field(position));
                    Expression::Load(self.field(&field)?)
                }
                _ => return self.refuse("an entry with data that are computed as a whole"),
            };
            values.push((value, offset, bytes));
        }
        Ok(values)
    }

    /// Returns the fields that record missed lookups for which packets add entries. Returns `None`
    /// if generated code does not implement the lookups of all tables to which packets add entries;
    /// then the interpreter adds the entries.
    pub(in crate::resolved) fn missed(&mut self) -> Outcome<Option<Missed>> {
        if let Some(known) = self.missed {
            return Ok(known);
        }
        let layout = self.layout;
        let mut has_all = layout.dialect == Dialect::Pna;
        for table in layout.program.tables.iter().filter(|table| table.add_on_miss) {
            has_all &= EntryLayout::new(layout, table).is_ok();
            for key in &table.keys {
                has_all &= match self.is_bound_key(&key.expression) {
                    Ok(()) => true,
                    Err(error) => self.soft(error).map(|_| false)?,
                };
            }
            has_all &= table.actions.iter().all(|reference| {
                let action = layout.program.actions.get(reference.action.index());
                action.is_some_and(|action| {
                    action.control_plane_parameters().all(|parameter| !parameter.reference)
                        || !self.adds_entry(reference.action)
                })
            });
        }
        let found = match has_all {
            true => Some(Missed {
                table: self.temporary(64, false)?,
                low: self.temporary(64, false)?,
                high: self.temporary(64, false)?,
            }),
            false => None,
        };
        self.missed = Some(found);
        Ok(found)
    }

    /// Translates a call of PNA's `set_entry_expire_time_if` or `update_expire_info`.
    pub(super) fn expire_if(
        &mut self,
        function: &ExternFunction,
        arguments: &[Argument],
        out: &mut Block,
    ) -> Outcome {
        let condition = self.input(arguments, 0)?;
        let then = if *function == ExternFunction::SetEntryExpireTimeIf {
            vec![Statement::RestartTimer(Some(self.input(arguments, 1)?))]
        } else {
            let (new_time, profile) = (self.input(arguments, 1)?, self.input(arguments, 2)?);
            vec![Statement::If {
                condition: new_time,
                then: vec![Statement::RestartTimer(Some(profile))],
                otherwise: vec![Statement::RestartTimer(None)],
            }]
        };
        out.push(Statement::If { condition, then, otherwise: Vec::new() });
        Ok(())
    }

    /// Translates a call of `SelectByDirection`, which returns the first of two numbers for packets
    /// from the network, and the second for packets from the host.
    pub(super) fn select_by_direction(
        &mut self,
        arguments: &[Argument],
        result: Option<&Place>,
        out: &mut Block,
    ) -> Outcome {
        let Some(place) = result else { return Ok(()) };
        let field = self.field(place)?;
        let Some(Argument::In(direction)) = arguments.first() else {
            return self.refuse("a direction-dependent value without a direction");
        };
        let given = self.expression(direction)?;
        let from_network = match self.layout.get(direction.type_id) {
            Some(Type::Bool) => given,
            _ => Expression::Binary {
                operator: ir::BinaryOperator::Equal,
                width: 32,
                signed: false,
                left: Box::new(given),
                right: Box::new(Expression::Constant(self.layout.names.direction(false).into())),
            },
        };
        let [of_network, of_host] = [self.input(arguments, 1)?, self.input(arguments, 2)?];
        let value = Expression::Conditional {
            condition: Box::new(from_network),
            then: Box::new(of_network),
            otherwise: Box::new(of_host),
        };
        out.push(Statement::Store { field, value });
        Ok(())
    }
}
