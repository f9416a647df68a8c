//! Translates calls of meters, and of the direct counters and meters of table entries.
//!
//! An action uses the counters and meters of the entry for which it runs, so generated code keeps
//! the entry's address while the action runs ([`Directs`]). On a hit, BMv2's switches run all
//! meters of the entry before its action, and the action reads their results.

use crate::externs::meter::Color;
use crate::resolved::{Block, Directs, Expression, Metered, Outcome, Resolver, Statement};
use crate::table::EntryLayout;
use ir::{Argument, ExternId, ExternMethod, ExternType, Place, TableId};

impl Resolver<'_> {
    /// Returns the fields that generated code uses for the direct counters and meters of a table's
    /// entries, and allocates them on the first call for that table. Returns `None` if the table
    /// has no direct counters or meters, or is not packed.
    pub(in crate::resolved) fn directs_of(&mut self, id: TableId) -> Outcome<Option<Directs>> {
        if let Some(known) = self.directs.get(&id) {
            return Ok(known.clone());
        }
        let layout = self.layout;
        let table = layout.program.tables.get(id.index());
        let table = table.filter(|table| !table.direct_externs.is_empty());
        let table = table.filter(|table| EntryLayout::new(layout, table).is_ok());
        let found = match table {
            Some(table) => {
                let is_bmv2 = layout.dialect.is_bmv2();
                let entry = self.temporary(64, false)?;
                let mut directs = Directs {
                    entry,
                    counts_hits: false,
                    has_default: !is_bmv2,
                    meters: Vec::new(),
                };
                for instance in &table.direct_externs {
                    let kind = layout.program.externs.get(instance.index());
                    match kind.map(|kind| &kind.extern_type) {
                        Some(ExternType::V1DirectCounter | ExternType::DirectCounter) => {
                            directs.counts_hits = is_bmv2;
                        }
                        _ if is_bmv2 => {
                            directs.meters.push((instance.0, self.temporary(64, false)?, None))
                        }
                        _ => {}
                    }
                }
                Some(directs)
            }
            None => None,
        };
        self.directs.insert(id, found.clone());
        Ok(found)
    }

    /// Returns the table whose entries have the direct counter or meter `id`, and the fields that
    /// generated code uses for all direct counters and meters of that table.
    fn directs_of_instance(&mut self, id: ExternId) -> Outcome<(TableId, Directs)> {
        let table = self.layout.program.externs.get(id.index()).and_then(|one| one.table);
        let Some(table) = table else { return self.refuse("a counter or meter of no table") };
        match self.directs_of(table)? {
            Some(directs) => Ok((table, directs)),
            None => self.refuse("a counter or meter of entries that are not packed"),
        }
    }

    /// Translates a call of PSA's or PNA's `DirectCounter.count`.
    pub(super) fn count_entry(
        &mut self,
        id: ExternId,
        arguments: &[Argument],
        out: &mut Block,
    ) -> Outcome {
        let (table, directs) = self.directs_of_instance(id)?;
        let bytes = match arguments.first() {
            None | Some(Argument::Absent) => None,
            Some(_) => Some(self.input(arguments, 0)?),
        };
        let entry = directs.entry;
        out.push(Statement::CountEntry { counter: id.0, table: table.0, entry, bytes });
        Ok(())
    }

    /// Translates a call of v1model's `direct_meter.read`, or of PSA's or PNA's
    /// `DirectMeter.execute`.
    pub(super) fn entry_meter(
        &mut self,
        id: ExternId,
        method: &ExternMethod,
        arguments: &[Argument],
        result: Option<&Place>,
        out: &mut Block,
    ) -> Outcome {
        let (_, directs) = self.directs_of_instance(id)?;
        let place = match (method, arguments.first()) {
            (ExternMethod::Read, Some(Argument::Out(place))) => Some(place),
            (ExternMethod::Read, _) => return self.refuse("a colour read without a destination"),
            _ => result,
        };
        let to = place.map(|place| self.field(place)).transpose()?;
        if self.layout.dialect.is_bmv2() {
            let known = directs.meters.iter().find(|(meter, ..)| *meter == id.0);
            if let (Some((meter, color, _)), Some(to)) = (known, to) {
                out.push(Statement::Color { meter: *meter, color: *color, to });
            }
            return Ok(());
        }
        let (before, length) = self.color_and_length(arguments, 0, method)?;
        let meter = Metered { meter: id.0, before, length, to };
        out.push(Statement::MeterEntry { meter, entry: directs.entry });
        Ok(())
    }

    /// Translates a call of v1model's `meter.execute_meter`, or of PSA's or PNA's `Meter.execute`.
    pub(super) fn meter(
        &mut self,
        id: ExternId,
        method: &ExternMethod,
        arguments: &[Argument],
        result: Option<&Place>,
        out: &mut Block,
    ) -> Outcome {
        let index = self.input(arguments, 0)?;
        let is_v1model = *method == ExternMethod::ExecuteMeter;
        let metered = if is_v1model {
            let Some(Argument::Out(place)) = arguments.get(1) else {
                return self.refuse("a colour without a destination");
            };
            let (before, to) = (Expression::Constant(Color::Green as u64), self.field(place)?);
            Metered { meter: id.0, before, length: None, to: Some(to) }
        } else {
            let to = result.map(|place| self.field(place)).transpose()?;
            let (before, length) = self.color_and_length(arguments, 1, method)?;
            Metered { meter: id.0, before, length, to }
        };
        out.push(Statement::Meter { meter: metered, index, stays: is_v1model });
        Ok(())
    }

    /// Translates the arguments of a meter's `execute(colour)` or, for DPDK, `dpdk_execute(colour,
    /// length)`, which begin at position `first`. If a call omits the colour, green is used.
    fn color_and_length(
        &mut self,
        arguments: &[Argument],
        first: usize,
        method: &ExternMethod,
    ) -> Outcome<(Expression, Option<Expression>)> {
        let given = arguments.len();
        let green = Expression::Constant(self.layout.names.color(Color::Green).into());
        if *method != ExternMethod::DpdkExecute {
            let before = match arguments.get(first) {
                None | Some(Argument::Absent) => green,
                Some(_) => self.input(arguments, first)?,
            };
            return Ok((before, None));
        }
        let with_color = given > first + 1;
        let before = if with_color { self.input(arguments, first)? } else { green };
        Ok((before, Some(self.input(arguments, given.saturating_sub(1))?)))
    }
}
