//! Translates tables to the resolved form: their keys, and the actions that run for their entries.

use super::statement::Formal;
use super::{
    Expression, Field, General, Key, KeyPart, Offset, Outcome, Resolver, Table, TableAction,
};
use crate::dialect::Dialect;
use crate::error::CompileError;
use crate::layout::{Touched, each_statement_in, field_of_key};
use crate::resolved::shape::{Scalar, Shape, Storage};
use crate::table::{EntryLayout, design};
use ir::{ExpressionKind, ExternCallee, MatchKind, StatementKind, TableId};
use std::collections::HashSet;
use std::sync::Arc;
use tables::Requirements;

impl Resolver<'_> {
    pub(super) fn table(&mut self, id: TableId) -> Outcome {
        if self.tables.get(id.index()).is_some_and(Option::is_some) {
            return Ok(());
        }
        let layout = self.layout;
        let Some(table) = layout.program.tables.get(id.index()) else {
            return self.refuse("a table that does not exist");
        };
        self.here = table.location.or(self.here);
        let found = match self.packed_table(id, table) {
            Ok(found) => found,
            Err(error) => {
                let why = self.soft(error)?;
                self.general_table(table, why)?
            }
        };
        if let Some(place) = self.tables.get_mut(id.index()) {
            *place = Some(found);
        }
        Ok(())
    }

    /// Translates a packed table, in which generated code looks up packets, to the resolved form.
    fn packed_table(&mut self, id: TableId, table: &ir::Table) -> Outcome<Table> {
        let layout = self.layout;
        let packed = EntryLayout::new(layout, table);
        if table.implementation.is_some() && packed.is_err() {
            return self.refuse("a table with an action profile or selector in this form");
        }
        if let Ok(packed) = &packed {
            let refused = |reason| CompileError::Design { table: table.name.clone(), reason };
            design(table.storage, packed).check(Requirements::default()).map_err(refused)?;
        }
        // Externs of such tables read the entry, which is only available for packed tables.
        let tells =
            layout.dialect == Dialect::Pna && (table.add_on_miss || table.idle_timeout.is_some());
        if tells && packed.is_err() {
            return self.refuse("a table that packets add entries to");
        }
        let mut directs = self.directs_of(id)?;
        if directs.is_none() && !table.direct_externs.is_empty() {
            return self.refuse("a table with counters or meters whose entries are not packed");
        }
        for (meter, _, result) in directs.iter_mut().flat_map(|directs| &mut directs.meters) {
            let place = layout.meter_result(ir::ExternId(*meter));
            *result = place.map(|place| self.field(place)).transpose()?;
        }
        let before_keys = self.block(&table.before_keys)?;
        let mut keys = Vec::with_capacity(table.keys.len());
        let mut offset = 0;
        let chooses = table.implementation.is_some();
        for key in table.keys.iter().filter(|key| !chooses || key.match_kind != MatchKind::Selector)
        {
            let (width, signed, parts) = match self.shape(key.expression.type_id) {
                Shape::Wide { .. } if packed.is_err() => {
                    return self.refuse("a key of more than 64 bits in a table that is not packed");
                }
                Shape::Wide { width, signed } => (width, signed, self.wide_key(&key.expression)?),
                _ => {
                    let (width, signed) = self.number(key.expression.type_id)?;
                    let value = self.key(&key.expression)?;
                    (width, signed, vec![KeyPart { value, width, above: 0 }])
                }
            };
            keys.push(Key { parts, width, signed, offset });
            offset += width.div_ceil(8);
        }
        let members = match table.implementation {
            Some(implementation) => Some(self.members(implementation, &table.keys)?),
            None => None,
        };
        let mut actions = Vec::with_capacity(table.actions.len());
        for reference in &table.actions {
            let (mut action, data) = self.table_action(reference)?;
            action.reads_lookup = tells && self.reads_lookup(reference.action)?;
            if table.add_on_miss && self.adds_entry(reference.action) {
                action.adds = self.missed()?;
            }
            // An action that adds an entry leaves the read-side critical section, during which it
            // must not hold the address of an entry.
            let may_add = action.reads_lookup || action.adds.is_some();
            if may_add && !action.references.is_empty() {
                return self
                    .refuse("a table whose entries are written by an action that may add some");
            }
            for (offset, shape) in data {
                let scalar = match shape {
                    Shape::Scalar(scalar) => scalar,
                    Shape::Wide { width: width @ 65..=128, signed } => {
                        let storage = Storage::Wide { bit: 0, bytes: width.div_ceil(8) };
                        Scalar { width, signed, storage }
                    }
                    _ => return self.refuse("action data of more than 128 bits, or with parts"),
                };
                action.data.push(Field { address: super::Address::fixed(offset), scalar });
            }
            let is_wide = |position: &usize| {
                let field = action.data.get(*position);
                field.is_some_and(|field| matches!(field.scalar.storage, Storage::Wide { .. }))
            };
            if action.references.iter().any(is_wide) {
                return self.refuse("an action that writes data of more than 64 bits");
            }
            actions.push(action);
        }
        let (packed, interpreted) = match packed {
            Ok(layout) => {
                self.packed.push(id.index());
                (Some((self.packed.len() as u32 - 1, Arc::new(layout))), None)
            }
            // A table without keys has only its default action.
            Err(why) => (None, (!table.keys.is_empty()).then(|| self.lookups_of(table, why))),
        };
        let general = None;
        Ok(Table { before_keys, keys, actions, packed, members, general, directs, interpreted })
    }

    /// Returns the place in the source of a table in which the interpreter looks up packets, and a
    /// description with the reason `why`.
    fn lookups_of(&self, table: &ir::Table, why: &str) -> (String, String) {
        let name = &table.name;
        (self.layout.place_in_source(table.location), format!("the lookup in table {name} ({why})"))
    }

    /// Translates a table in which the interpreter looks up packets, for the reason `why`, to the
    /// resolved form. Generated code runs the table's actions.
    fn general_table(&mut self, table: &ir::Table, why: String) -> Outcome<Table> {
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
        let (general, interpreted) = (Some(general), Some(self.lookups_of(table, &why)));
        let (keys, packed, members, directs) = (Vec::new(), None, None, None);
        Ok(Table { before_keys, keys, actions, packed, members, general, directs, interpreted })
    }

    /// Returns an error unless generated code can compute the value of a table's key.
    pub(super) fn is_bound_key(&mut self, key: &ir::Expression) -> Outcome {
        match self.shape(key.type_id) {
            Shape::Wide { .. } => self.wide_key(key).map(|_| ()),
            _ => self.key(key).map(|_| ()),
        }
    }

    /// Translates a table's key to an expression of the resolved program. A field of an invalid
    /// header counts as zero, as in BMv2 (`src/bm_sim/match_units.cpp`), even if the key is only a
    /// slice of the field or the field under a mask.
    pub(super) fn key(&mut self, key: &ir::Expression) -> Outcome<Expression> {
        let value = self.expression(key)?;
        let header = self.header_of_key(key)?;
        Ok(if_valid(header, value))
    }

    /// Returns the header on whose validity a table's key depends, if there is one.
    fn header_of_key(&mut self, key: &ir::Expression) -> Outcome<Option<super::Address>> {
        Ok(match &field_of_key(key).kind {
            ExpressionKind::Read(place) if self.is_wide(place) => {
                let whole = self.sliced_wide(place).map(|(whole, ..)| whole);
                self.wide_place(&whole.unwrap_or_else(|| place.clone()))?.header()
            }
            ExpressionKind::Read(place) => self.resolve(place)?.header,
            _ => None,
        })
    }

    /// Translates a table's key of more than 64 bits to its parts, the least significant one first.
    pub(super) fn wide_key(&mut self, key: &ir::Expression) -> Outcome<Vec<KeyPart>> {
        let header = self.header_of_key(key)?;
        let parts = self.parts_of_key(key)?;
        let valid = |part: KeyPart| KeyPart { value: if_valid(header, part.value), ..part };
        Ok(parts.into_iter().map(valid).collect())
    }

    /// Translates an action of a table to the resolved form. Returns it with the offset and shape
    /// of each parameter that the control plane sets.
    fn table_action(
        &mut self,
        reference: &ir::ActionReference,
    ) -> Outcome<(TableAction, Vec<(Offset, Shape)>)> {
        let layout = self.layout;
        let id = reference.action;
        let Some(action) = layout.program.actions.get(id.index()) else {
            return self.refuse("an action that does not exist");
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
        let action = TableAction {
            action: id,
            is_default_only: reference.has_annotation("defaultonly"),
            data: Vec::new(),
            references,
            before,
            after,
            reads_lookup: false,
            adds: None,
        };
        Ok((action, data))
    }

    /// Returns whether an action of PNA calls externs that run in the interpreter and may depend on
    /// the lookup that selected the action.
    fn reads_lookup(&mut self, id: ir::ActionId) -> Outcome<bool> {
        use ir::ExternFunction as Of;
        let adds = self.missed()?.is_some();
        let (mut asks, mut instances) = (false, Vec::new());
        self.each_call(id, &mut |callee| match callee {
            ExternCallee::Function(Of::AddEntry | Of::AddEntryIf) => asks |= !adds,
            ExternCallee::Function(Of::Other(_)) => asks = true,
            ExternCallee::Function(_) => {}
            ExternCallee::Method { instance, .. } => instances.push(*instance),
        });
        for instance in instances {
            let table = self.layout.program.externs.get(instance.index()).and_then(|one| one.table);
            if let Some(table) = table {
                asks |= self.directs_of(table)?.is_none();
            }
        }
        Ok(asks)
    }

    /// Returns whether an action, or code that it calls, may add an entry to its table.
    pub(super) fn adds_entry(&self, id: ir::ActionId) -> bool {
        use ir::ExternFunction as Of;
        let mut adds = false;
        self.each_call(id, &mut |callee| {
            adds |= matches!(callee, ExternCallee::Function(Of::AddEntry | Of::AddEntryIf));
        });
        adds
    }

    /// Calls `with` for each call of an extern in an action, and in the code that the action calls.
    fn each_call(&self, id: ir::ActionId, with: &mut dyn FnMut(&ExternCallee)) {
        let program = &self.layout.program;
        let body = program.actions.get(id.index()).map(|action| &action.body);
        let mut blocks: Vec<&ir::Block> = body.into_iter().collect();
        let mut seen: HashSet<*const ir::Block> = HashSet::new();
        while let Some(block) = blocks.pop() {
            if !seen.insert(block) {
                continue;
            }
            let mut called = Vec::new();
            each_statement_in(vec![block], &mut |statement| match &statement.kind {
                StatementKind::CallExtern { callee, .. } => with(callee),
                StatementKind::CallAction { action, .. } => {
                    called.extend(program.actions.get(action.index()).map(|one| &one.body));
                }
                StatementKind::CallFunction { function, .. } => {
                    called.extend(program.functions.get(function.index()).map(|one| &one.body));
                }
                _ => {}
            });
            blocks.extend(called);
        }
    }
}

/// Returns an expression for a table's key that is a field of `header`. The expression is zero if
/// the header is invalid.
fn if_valid(header: Option<super::Address>, value: Expression) -> Expression {
    match header {
        Some(header) => Expression::LoadIfValid { header, value: Box::new(value) },
        None => value,
    }
}
