//! Tables: what is looked up, and what runs for an entry.

use super::statement::Formal;
use super::{Binder, Expression, Field, General, Key, Offset, Outcome, Table, TableAction};
use crate::bound::shape::Shape;
use crate::dialect::Dialect;
use crate::layout::{Touched, field_of_key};
use crate::table::EntryLayout;
use ir::{ExpressionKind, ExternType, TableId};
use std::sync::Arc;

impl Binder<'_> {
    pub(super) fn table(&mut self, id: TableId) -> Outcome {
        if self.tables.get(id.index()).is_some_and(Option::is_some) {
            return Ok(());
        }
        let layout = self.layout;
        let Some(table) = layout.program.tables.get(id.index()) else {
            return self.refuse("a table that is not there");
        };
        self.here = table.location.or(self.here);
        let found = match self.native_table(id, table) {
            Ok(found) => found,
            Err(error) => {
                self.soft(error)?;
                self.general_table(table)?
            }
        };
        if let Some(place) = self.tables.get_mut(id.index()) {
            *place = Some(found);
        }
        Ok(())
    }

    /// A table that code looks up.
    fn native_table(&mut self, id: TableId, table: &ir::Table) -> Outcome<Table> {
        let layout = self.layout;
        if table.implementation.is_some() {
            return self.refuse("a table with an action profile or selector");
        }
        // Externs of such tables ask for the entry.
        if layout.dialect == Dialect::Pna && (table.add_on_miss || table.idle_timeout.is_some()) {
            return self.refuse("a table that packets add entries to");
        }
        for instance in &table.direct_externs {
            let known = layout.program.externs.get(instance.index());
            if !known.is_some_and(|known| known.extern_type == ExternType::V1DirectCounter) {
                return self.refuse("a table with a direct meter");
            }
        }
        let before_keys = self.block(&table.before_keys)?;
        let mut keys = Vec::with_capacity(table.keys.len());
        let mut offset = 0;
        for key in &table.keys {
            let (width, signed) = self.number(key.expression.type_id)?;
            let value = self.key(&key.expression)?;
            keys.push(Key { value, width, signed, offset });
            offset += width.div_ceil(8);
        }
        let mut actions = Vec::with_capacity(table.actions.len());
        for reference in &table.actions {
            let (mut action, data) = self.table_action(reference)?;
            for (offset, shape) in data {
                let Shape::Scalar(scalar) = shape else {
                    return self.refuse("action data of more than 64 bits, or with parts");
                };
                action.data.push(Field { address: super::Address::fixed(offset), scalar });
            }
            actions.push(action);
        }
        let native = EntryLayout::new(layout, table).ok().map(|layout| {
            self.natives.push(id.index());
            (self.natives.len() as u32 - 1, Arc::new(layout))
        });
        Ok(Table { before_keys, keys, actions, native, general: None })
    }

    /// A table that the interpreter looks up; code runs the action.
    fn general_table(&mut self, table: &ir::Table) -> Outcome<Table> {
        let layout = self.layout;
        let before_keys = self.block(&table.before_keys)?;
        let mut touched = Touched::default();
        table.keys.iter().for_each(|key| touched.expression(&key.expression));
        let results = table.direct_externs.iter().filter_map(|id| layout.meter_result(*id));
        let results: Vec<&ir::Place> = results.collect();
        let mut all = touched.reads().to_vec();
        all.extend(&results);
        let mut general = General { loads: self.moves(&all)?, ..General::default() };
        general.stores = self.moves(&results)?;
        let mut actions = Vec::with_capacity(table.actions.len());
        for reference in &table.actions {
            let (action, data) = self.table_action(reference)?;
            general.data.push(data);
            actions.push(action);
        }
        let general = Some(general);
        Ok(Table { before_keys, keys: Vec::new(), actions, native: None, general })
    }

    /// A field of an invalid header matches as zero, as in BMv2 (`src/bm_sim/match_units.cpp`), also where only a
    /// slice of it or the field under a mask is the key.
    fn key(&mut self, key: &ir::Expression) -> Outcome<Expression> {
        let field = field_of_key(key);
        let value = self.expression(key)?;
        if let ExpressionKind::Read(place) = &field.kind
            && let Some(header) = self.resolve(place)?.header
        {
            return Ok(Expression::LoadIfValid { header, value: Box::new(value) });
        }
        Ok(value)
    }

    /// An action, and where the control plane's parameters of it are.
    fn table_action(
        &mut self,
        reference: &ir::ActionReference,
    ) -> Outcome<(TableAction, Vec<(Offset, Shape)>)> {
        let layout = self.layout;
        let id = reference.action;
        let Some(action) = layout.program.actions.get(id.index()) else {
            return self.refuse("an action that is not there");
        };
        let here = self.here;
        self.callee(super::Callee::Action(id))?;
        self.here = here;
        let mut before = self.block(&reference.before_arguments)?;
        let mut after = Vec::new();
        let formals: Vec<Formal> = action
            .parameters
            .iter()
            .filter_map(|one| Some(Formal { variable: one.variable, direction: one.direction? }))
            .collect();
        self.arguments(&formals, &reference.arguments, &mut before, &mut after)?;
        let mut data = Vec::new();
        let mut references = Vec::new();
        for (position, parameter) in action.control_plane_parameters().enumerate() {
            data.push(self.variable(parameter.variable)?);
            if parameter.reference {
                references.push(position);
            }
        }
        let action = TableAction { action: id, data: Vec::new(), references, before, after };
        Ok((action, data))
    }
}
