//! Generates code that applies a table. It packs the key, looks up the entry, and copies the
//! entry's values to the action's parameters. It then calls the action, and copies the parameters
//! that the action has changed back to the entry.
//!
//! Packed tables are searched inline (`probe`) or by functions of the crate `tables`, which return
//! the address of the entry's values. All other tables are looked up by a host call, in the tables
//! of the interpreter.

use super::function::{Function, context_offset};
use super::host_call::HostCall;
use super::probe::{IS_ALONE, Lookup, LookupEnds, MISSES};
use super::variables::Pointer;
use crate::compiled::added::{Adding, DATA, NO_PROFILE};
use crate::compiled::context::flow;
use crate::compiled::host::HIT;
use crate::compiled::tables::{BY_HOST_CALL, SAMPLE, TableAccess};
use crate::resolved::shape::Storage;
use crate::resolved::{Added, Callee, Field, Offset, Table, TableAction};
use crate::table::NO_ACTION;
use crate::table::{Ageing, EntryLayout, Tally};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, InstBuilder, MemFlagsData, StackSlotData, StackSlotKind, Value, types,
};
use cranelift_frontend::Switch;
use std::mem::offset_of;
use tables::{Access, Searcher};

/// The offset of `Access::leave` in a [`TableAccess`]. The next constants are the offsets of other
/// fields.
const LEAVE: usize = offset_of!(TableAccess, access) + offset_of!(Access, leave);
const DEFAULT_ACTION: usize = offset_of!(TableAccess, default_action);
const DEFAULT: usize = offset_of!(TableAccess, default);
const MADE: usize = offset_of!(TableAccess, made);
const SEARCHER: usize = offset_of!(TableAccess, searcher);
const SEARCH: usize = SEARCHER + offset_of!(Searcher, find);
const SEARCH_WIDE: usize = SEARCHER + offset_of!(Searcher, find_wide);
const IS_EMPTY: usize = offset_of!(TableAccess, is_empty);

/// The largest number of actions among which the code chooses by comparisons. For more actions, it
/// uses a jump table, which must load the target before it can jump.
const FEW_ACTIONS: usize = 4;

/// The largest number of tables of a program whose lookups do not first test whether the table is
/// empty. In a program with few tables, the tables usually have entries, and the test only takes
/// time.
const FEW_TABLES: usize = 4;

/// The message of the internal error for an action that changes a parameter which it does not have.
const NO_REFERENCE: &str = "a parameter that an action writes and does not have";

/// The largest number of statements of a program in which actions are inlined twice: once for all
/// lookups, and once for hits alone.
const SHORT: usize = 128;

/// A table that the program applies, and the fields that receive the results of the lookup.
#[derive(Clone, Copy)]
struct Applied<'t> {
    id: u32,
    table: &'t Table,
    hit: Option<Field>,
    action_run: Option<Field>,
}

/// The results of a table lookup that the program may read.
#[derive(Clone, Copy)]
struct Results {
    /// The position in the table's list of the action that runs.
    position: Value,
    /// Whether an entry was found.
    is_hit: Value,
}

/// A block of code that runs an action of a table.
#[derive(Clone, Copy)]
struct Branch<'t> {
    index: usize,
    action: &'t TableAction,
    block: Block,
}

/// An entry that was found in a packed table, or the default action in place of an entry.
#[derive(Clone, Copy)]
struct Entry<'l> {
    layout: &'l EntryLayout,
    /// The address of the table's [`TableAccess`].
    access: Value,
    /// The address of the packed action parameters of the entry or of the default action.
    values: Value,
    is_hit: Value,
    /// Whether it is known at compile time that this is an entry that was found, not the default
    /// action.
    is_certain: bool,
    /// The address of the entry's counters and timer. It is zero if entries have none, or if no
    /// entry was found.
    owner: Value,
    key: Lookup,
}

impl Function<'_, '_> {
    /// Emits the application of a table: its lookup, its actions, and the stores of the results.
    pub(super) fn apply(&mut self, id: u32, hit: Option<Field>, action_run: Option<Field>) {
        let resolved = self.resolved;
        let Some(table) = resolved.tables.get(id as usize) else {
            return self.broken("a table that is not there");
        };
        self.block(&table.before_keys);
        let applied = Applied { id, table, hit, action_run };
        if table.general.is_some() {
            return self.apply_general(applied);
        }
        let end = self.builder.create_block();
        let (results, entry) = match &table.packed {
            Some((number, layout)) => self.find(applied, *number, layout, end),
            None => {
                let key = self.packed_key(table);
                let number = self.number(u64::from(id));
                let arguments = [self.frame, self.context, number, key];
                let found = self.call_host(HostCall::Apply, &arguments);
                let is_hit = self.builder.ins().ushr_imm_u(found, i64::from(HIT));
                (Results { position: self.masked(found, 32), is_hit }, None)
            }
        };
        self.begin_action(applied, entry);
        if self.places.is_some() {
            let (branches, none) = self.chosen(table, results.position);
            self.actions_written_out(applied, &branches, Some(none), results, entry);
        } else {
            let how = self.action(id, table, results.position, entry);
            self.end_action(applied, results, entry);
            self.return_unless_next(how);
        }
        self.builder.ins().jump(end, &[]);
        self.builder.switch_to_block(end);
    }

    /// Emits code that records the entry whose action runs next.
    fn begin_action(&mut self, applied: Applied<'_>, entry: Option<Entry<'_>>) {
        // Without an entry here, the host has looked up the table, and it knows the entry.
        if let Some(Entry { layout, owner, is_hit, .. }) = entry {
            if let Some(directs) = &applied.table.directs {
                self.set_entry(directs, Some((owner, is_hit)));
            }
            if layout.ageing != Ageing::None {
                self.set_timed(owner);
            }
        }
    }

    /// Emits the end of a table's action: writes the parameters that it has changed back to the
    /// entry, and stores the results of the lookup.
    fn end_action(
        &mut self,
        Applied { table, hit, action_run, .. }: Applied<'_>,
        Results { position, is_hit }: Results,
        entry: Option<Entry<'_>>,
    ) {
        if entry.is_some_and(|entry| entry.layout.ageing != Ageing::None) {
            let none = self.number(0);
            self.set_timed(none);
        }
        if let (Some(directs), Some(_)) = (&table.directs, entry) {
            self.set_entry(directs, None);
        }
        if let Some(field) = hit {
            self.store_field(field, is_hit);
        }
        if let Some(field) = action_run {
            self.store_field(field, position);
        }
    }

    /// Emits the application of a table that is not packed, in which the interpreter looks up the
    /// packet.
    fn apply_general(&mut self, applied: Applied<'_>) {
        let Applied { id, table, hit, action_run } = applied;
        let number = self.number(u64::from(id));
        let arguments = [self.frame, self.context, number];
        if let (Some(general), true) = (&table.general, self.places.is_some()) {
            for one in &general.loads {
                self.spill_shape(one.offset, &one.shape);
            }
        }
        let found = self.call_host(HostCall::LookUp, &arguments);
        let went_well = self.builder.ins().icmp_imm_s(IntCC::NotEqual, found, -1);
        self.unless(went_well, |function| function.leave(flow::FAULT));
        let position = self.masked(found, 32);
        if self.places.is_some() {
            return self.general_written_out(applied, found, position);
        }
        let how = self.action(id, table, position, None);
        let number = self.number(u64::from(id));
        let arguments = [self.frame, self.context, number];
        let ended = self.call_host(HostCall::EndLookUp, &arguments);
        self.return_unless_next(ended);
        if let Some(field) = hit {
            let is_hit = self.builder.ins().ushr_imm_u(found, i64::from(HIT));
            self.store_field(field, is_hit);
        }
        if let Some(field) = action_run {
            self.store_field(field, position);
        }
        self.return_unless_next(how);
    }

    /// Emits the second half of [`Self::apply_general`], with the actions inlined. `found` is the
    /// result of the host call that looked up the packet, and `position` the position of the action
    /// to run, which that result contains.
    fn general_written_out(&mut self, applied: Applied<'_>, found: Value, position: Value) {
        let Applied { id, table, hit, action_run } = applied;
        let Some(general) = &table.general else {
            return self.broken("a table that the interpreter does not look up");
        };
        for one in &general.stores {
            self.fetch_shape(one.offset, &one.shape);
        }
        let ended = |function: &mut Self| {
            let number = function.number(u64::from(id));
            let arguments = [function.frame, function.context, number];
            let ended = function.call_host(HostCall::EndLookUp, &arguments);
            let is_next = function.builder.ins().icmp_imm_s(IntCC::Equal, ended, flow::NEXT);
            function.unless(is_next, |function| function.leave(flow::FAULT));
            if let Some(field) = hit {
                let is_hit = function.builder.ins().ushr_imm_u(found, i64::from(HIT));
                function.store_field(field, is_hit);
            }
            if let Some(field) = action_run {
                function.store_field(field, position);
            }
        };
        let join = self.builder.create_block();
        let (branches, none) = self.chosen(table, position);
        if general.data.len() != table.actions.len() {
            self.broken("the data of the actions of a table");
        }
        for (Branch { action, block, .. }, data) in branches.into_iter().zip(&general.data) {
            self.builder.switch_to_block(block);
            data.iter().for_each(|(offset, shape)| self.fetch_shape(*offset, shape));
            self.block(&action.before);
            let end = self.written_out(Callee::Action(action.action));
            let leave = |function: &mut Self| {
                function.block(&action.after);
                for reference in &action.references {
                    match data.get(*reference) {
                        Some((offset, shape)) => function.spill_shape(*offset, shape),
                        None => function.broken(NO_REFERENCE),
                    }
                }
                ended(function);
            };
            leave(self);
            self.builder.ins().jump(join, &[]);
            if let Some(exit) = end.exit {
                self.builder.switch_to_block(exit);
                leave(self);
                self.leave(flow::EXIT);
            }
        }
        self.builder.switch_to_block(none);
        ended(self);
        self.builder.ins().jump(join, &[]);
        self.builder.switch_to_block(join);
    }

    /// Emits the lookup in a packed table. Returns its results, and the entry that was found or the
    /// default action in its place. In short programs, the actions that entries can have are also
    /// inlined a second time for hits alone; the code after these continues at `end`.
    fn find<'l>(
        &mut self,
        applied: Applied<'_>,
        number: u32,
        layout: &'l EntryLayout,
        end: Block,
    ) -> (Results, Option<Entry<'l>>) {
        let Applied { id, table, .. } = applied;
        let samples = self.resolved.samples;
        let access = self.access(number);
        let (yes, no) = (self.number(1), self.number(0));
        let (miss, fetch) = (self.builder.create_block(), self.builder.create_block());
        let needs_key = table.actions.iter().any(TableAction::needs_key);
        if !samples && !needs_key && self.tests_for_entries(layout) {
            self.miss_if_empty(access, miss);
        }
        let (key, lookup) = if samples {
            let key = self.key(access, table, layout);
            (key, key)
        } else {
            self.lookup((number, access), table, layout)
        };
        let join = self.builder.create_block();
        let values = self.builder.append_block_param(join, types::I64);
        let position = self.builder.append_block_param(join, types::I64);
        let is_hit = self.builder.append_block_param(join, types::I64);
        let owner = self.builder.append_block_param(join, types::I64);
        let hit = self.builder.create_block();
        let address = self.builder.append_block_param(hit, types::I64);
        let action = self.builder.append_block_param(hit, types::I64);
        if samples {
            self.sample(access, LookupEnds { hit, miss });
        } else {
            if layout.fields().is_some() {
                self.miss_if_none(lookup, miss);
            }
            let precomputed = self.prefetched(number, table);
            self.look_up(layout.probe(), (lookup, precomputed), LookupEnds { hit, miss });
        }

        self.builder.switch_to_block(hit);
        let found = match layout.owner {
            Some(owner) => self.load(Pointer { base: address, offset: owner as i32 }, 8),
            None => no,
        };
        match layout.ageing {
            Ageing::None => {}
            Ageing::Delete => self.expire_if_idle(id, access, found, miss),
            Ageing::Notify => {
                self.restart(found);
            }
        }
        if let Some(directs) = &table.directs {
            if directs.counts_hits {
                let length = self.received_length();
                self.count_entry(access, found, length);
            }
            self.meter_hit(directs, found);
        }
        let (address, action) = match &table.members {
            Some(members) => self.member(members, address),
            None => (address, action),
        };
        let address = self.values_at(layout, address);
        let is_short = self.plan().is_some_and(|plan| plan.statements <= SHORT);
        if self.is_fused() && is_short {
            let (values, is_hit, owner) = (address, yes, found);
            let entry = Entry { layout, access, values, is_hit, is_certain: true, owner, key };
            self.usual_actions(applied, action, entry, end);
        }
        let known = [address, action, yes, found].map(Into::into);
        self.builder.ins().jump(join, &known);

        self.builder.switch_to_block(miss);
        let position_of = Pointer { base: access, offset: DEFAULT_ACTION as i32 };
        let default_action = self.load(position_of, 8);
        let default = self.builder.ins().iadd_imm_s(access, DEFAULT as i64);
        let default = self.values_at(layout, default);
        let is_here =
            self.builder.ins().icmp_imm_s(IntCC::NotEqual, default_action, BY_HOST_CALL as i64);
        let known = [default, default_action, no, no].map(Into::into);
        self.builder.ins().brif(is_here, join, &known, fetch, &[]);

        self.builder.switch_to_block(fetch);
        self.builder.set_cold_block(fetch);
        let number = self.number(u64::from(id));
        let fetched = self.call_host_cold(HostCall::DefaultAction, &[self.context, number, access]);
        let known = [default, fetched, no, no].map(Into::into);
        self.builder.ins().jump(join, &known);

        self.builder.switch_to_block(join);
        let is_certain = false;
        let entry = Entry { layout, access, values, is_hit, is_certain, owner, key };
        (Results { position, is_hit }, Some(entry))
    }

    /// Returns whether generated code tests that a table has entries before it computes a key.
    fn tests_for_entries(&self, layout: &EntryLayout) -> bool {
        layout.words_in_memory.is_some() || self.resolved.packed.len() > FEW_TABLES
    }

    /// Emits a jump to `miss` if a table has no entries, so that no key is computed. Otherwise, the
    /// code that is emitted next runs.
    fn miss_if_empty(&mut self, access: Value, miss: Block) {
        let (goes_on, none) = (self.builder.create_block(), self.builder.create_block());
        let is_empty = self.load(Pointer { base: access, offset: IS_EMPTY as i32 }, 8);
        self.builder.ins().brif(is_empty, none, &[], goes_on, &[]);
        self.builder.switch_to_block(none);
        self.count_lookup(access, MISSES);
        self.builder.ins().jump(miss, &[]);
        self.builder.switch_to_block(goes_on);
    }

    /// Emits the computation of the address of the action parameters of an entry or of the default
    /// action. `held` is the address of the bytes that the entry holds.
    fn values_at(&mut self, layout: &EntryLayout, held: Value) -> Value {
        if layout.by_address { self.load(Pointer { base: held, offset: 0 }, 8) } else { held }
    }

    /// Emits the actions that entries of a table can have inline, for an entry that was found, so
    /// that the code after them need not test for a hit. Code that is emitted next runs if the
    /// entry has none of these actions.
    fn usual_actions(
        &mut self,
        applied: Applied<'_>,
        position: Value,
        entry: Entry<'_>,
        end: Block,
    ) {
        let other = self.builder.create_block();
        self.builder.set_cold_block(other);
        // An entry that was found has no action that only the default action may be.
        let branches = self.branches(applied.table, |action| !action.is_default_only);
        self.begin_action(applied, Some(entry));
        self.choose(&branches, position, other);
        let results = Results { position, is_hit: entry.is_hit };
        self.actions_written_out(applied, &branches, None, results, Some(entry));
        self.builder.ins().jump(end, &[]);
        self.builder.switch_to_block(other);
    }

    /// Emits a jump to `hit` with the sample entry, which all packets use in a program that is
    /// compiled without lookups. Emits a jump to `miss` for the case that the table is empty.
    fn sample(&mut self, access: Value, ends: LookupEnds) {
        let action = self.load(Pointer { base: access, offset: DEFAULT_ACTION as i32 }, 8);
        let address = self.builder.ins().iadd_imm_s(access, DEFAULT as i64);
        let is_there = self.builder.ins().band_imm_u(action, SAMPLE.cast_signed());
        let action = self.masked(action, 32);
        let found = [address.into(), action.into()];
        self.builder.ins().brif(is_there, ends.hit, &found, ends.miss, &[]);
    }

    /// Emits code that records the lookup for actions that refer to it: by `add_entry`, or by
    /// externs that the interpreter runs. [`Self::end_look_up`] ends the record.
    fn begin_look_up(&mut self, id: u32, entry: Option<Entry<'_>>, action: &TableAction) {
        if let (Some(entry), Some(missed)) = (entry, action.adds) {
            let (none, table) = (self.number(0), self.number(u64::from(id) + 1));
            let table = self.builder.ins().select(entry.is_hit, none, table);
            self.store_field(missed.table, table);
            self.store_field(missed.low, entry.key.low);
            self.store_field(missed.high, entry.key.high);
        }
        if let Some(Entry { key, owner, .. }) = entry.filter(|_| action.reads_lookup) {
            let id = self.number(u64::from(id));
            let arguments = [self.context, id, key.low, key.high, owner];
            self.run_on_host(HostCall::BeginLookUp, &arguments);
        }
    }

    /// Emits code that adds an entry with the key for which the packet missed.
    pub(super) fn add_entry(&mut self, added: &Added) {
        let Added { missed, action, values, profile, status } = added;
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, size_of::<Adding>() as u32, 3);
        let slot = self.builder.create_sized_stack_slot(slot);
        let adding = self.builder.ins().stack_addr(types::I64, slot, 0);
        let place = |part: usize| Pointer { base: adding, offset: part as i32 };
        let data = place(offset_of!(Adding, data));
        self.clear(data, DATA as u32);
        for (value, offset, bytes) in values {
            let value = self.expression(value);
            self.store(data.plus(*offset), *bytes, value);
        }
        let profile = match profile {
            Some(profile) => self.expression(profile),
            None => self.number(NO_PROFILE),
        };
        let [table, low, high] =
            [missed.table, missed.low, missed.high].map(|field| self.load_field(field));
        let action = self.number(u64::from(*action));
        for (part, value) in [
            (offset_of!(Adding, table), table),
            (offset_of!(Adding, action), action),
            (offset_of!(Adding, low), low),
            (offset_of!(Adding, high), high),
            (offset_of!(Adding, profile), profile),
        ] {
            self.store(place(part), 8, value);
        }
        let done = self.call_host_cold(HostCall::AddEntry, &[self.context, adding]);
        if let Some((field, not_done, is_done)) = status {
            let (yes, no) = (self.number(*is_done), self.number(*not_done));
            let value = self.builder.ins().select(done, yes, no);
            self.store_field(*field, value);
        }
    }

    /// Emits code that ends the record of [`Self::begin_look_up`], so that nothing refers to the
    /// lookup any more.
    fn end_look_up(&mut self, id: u32, action: &TableAction) {
        if let Some(missed) = action.adds {
            let none = self.number(0);
            self.store_field(missed.table, none);
        }
        if action.reads_lookup {
            let id = self.number(u64::from(id));
            self.run_on_host(HostCall::EndLookUp, &[self.frame, self.context, id]);
        }
    }

    /// Emits code that counts the packet in the direct counter of an entry. `entry` is the address
    /// of the entry's counters.
    pub(super) fn count_entry(&mut self, access: Value, entry: Value, length: Value) {
        let one = self.number(1);
        let is_alone = self.load(Pointer { base: access, offset: IS_ALONE }, 8);
        self.add_up(is_alone, entry, [(Tally::PACKETS, one), (Tally::BYTES, length)]);
    }

    /// Emits a prefetch of the entry that a packet is going to need from a table. For a table that
    /// matches prefixes or rules, only stores the key, for the batch lookup.
    pub(super) fn prefetch(&mut self, number: u32, table: &Table, layout: &EntryLayout) {
        let Some(probe) = layout.probe() else {
            // The table is searched by a function, so its buckets are not known.
            return;
        };
        let ahead = self.plan().and_then(|plan| plan.ahead.get(&number).copied());
        if layout.fields().is_some() && ahead.is_none() {
            return;
        }
        let access = self.access(number);
        let column = self.plan().and_then(|plan| plan.column(number));
        let end = self.builder.create_block();
        // The keys in the column of a table with exact keys are looked up even if the table has no
        // entries.
        let needs_key = layout.fields().is_none() && column.is_some();
        if !needs_key && self.tests_for_entries(layout) {
            let goes_on = self.builder.create_block();
            let is_empty = self.load(Pointer { base: access, offset: IS_EMPTY as i32 }, 8);
            self.builder.ins().brif(is_empty, end, &[], goes_on, &[]);
            self.builder.switch_to_block(goes_on);
        }
        let key = self.key(access, table, layout);
        if let Some(column) = column {
            self.leave_key(column, [key.low, key.high]);
        }
        if ahead.is_none() {
            self.prefetch_bucket(probe, key);
        }
        self.builder.ins().jump(end, &[]);
        self.builder.switch_to_block(end);
    }

    /// Emits the packet's key, and the key by which the entry is looked up. The two differ for
    /// tables that match prefixes or rules: there, entries are stored by the number that a search
    /// for the packet's key returns.
    fn lookup(
        &mut self,
        (number, access): (u32, Value),
        table: &Table,
        layout: &EntryLayout,
    ) -> (Lookup, Lookup) {
        let key = self.key(access, table, layout);
        if layout.fields().is_none() {
            return (key, key);
        }
        if layout.words_in_memory.is_some() {
            return (key, self.search(key, SEARCH_WIDE));
        }
        let column = self.found_ahead(number);
        if let Some(column) = column.filter(|_| self.is_looked_up_unchanged(number, table)) {
            let low = self.left_number(column);
            let high = self.number(0);
            return (key, Lookup { low, high, ..key });
        }
        let Some(column) = column else {
            // The burst has not been looked up in this table.
            return (key, self.search(key, SEARCH));
        };
        let ([low, high], found) = self.left_key(column);
        let low = self.builder.ins().bxor(low, key.low);
        let high = self.builder.ins().bxor(high, key.high);
        let differs = self.builder.ins().bor(low, high);
        let (again, join) = (self.builder.create_block(), self.builder.create_block());
        let number = self.builder.append_block_param(join, types::I64);
        self.builder.set_cold_block(again);
        self.builder.ins().brif(differs, again, &[], join, &[found.into()]);
        // The packet's key has changed since the batch lookup.
        self.builder.switch_to_block(again);
        let found = self.search(key, SEARCH).low;
        self.builder.ins().jump(join, &[found.into()]);
        self.builder.switch_to_block(join);
        let high = self.number(0);
        (key, Lookup { low: number, high, ..key })
    }

    /// Emits the search of a table whose entries are stored by number. `function` is the offset of
    /// the search function in the table's access. The function for keys in memory is
    /// [`SEARCH_WIDE`], which ignores the high word. Returns the lookup of the best entry by its
    /// number.
    fn search(&mut self, key: Lookup, function: usize) -> Lookup {
        let searcher = self.builder.ins().iadd_imm_s(key.access, SEARCHER as i64);
        let find = self.load(Pointer { base: key.access, offset: function as i32 }, 8);
        let arguments = [searcher, key.low, key.high];
        let arguments = if function == SEARCH_WIDE { &arguments[..2] } else { &arguments[..] };
        let found = match self.is_fused() {
            true => self.call_cold(find, arguments).first().copied(),
            false => self.call_pointer(find, arguments, 1).first().copied(),
        };
        let high = self.number(0);
        let low = match found {
            Some(found) => found,
            None => self.broken_value("a search without a result"),
        };
        Lookup { low, high, ..key }
    }

    /// Emits the address of the [`TableAccess`] of a packed table.
    pub(super) fn access(&mut self, number: u32) -> Value {
        let accesses = self.context_field(context_offset::TABLES);
        let distance = size_of::<TableAccess>() as i64 * i64::from(number);
        self.builder.ins().iadd_imm_s(accesses, distance)
    }

    /// Emits the packet's key for a packed table with the given [`TableAccess`]. A key of more than
    /// 128 bits is stored to the stack, and its address takes the place of the low word.
    pub(super) fn key(&mut self, access: Value, table: &Table, layout: &EntryLayout) -> Lookup {
        let words = self.key_words(table, layout);
        if let ([low, high], None) = (&words[..], layout.words_in_memory) {
            return Lookup { access, low: *low, high: *high };
        }
        let size = 8 * words.len() as u32;
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, size, 3);
        let slot = self.builder.create_sized_stack_slot(slot);
        let low = self.builder.ins().stack_addr(types::I64, slot, 0);
        for (word, offset) in words.into_iter().rev().zip((0..).step_by(8)) {
            self.store(Pointer { base: low, offset }, 8, word);
        }
        let high = self.number(0);
        Lookup { access, low, high }
    }

    /// Emits the words of the packet's key for a packed table, the least significant one first.
    fn key_words(&mut self, table: &Table, layout: &EntryLayout) -> Vec<Value> {
        let zero = self.number(0);
        let mut words = vec![zero; layout.words_in_memory.unwrap_or(2)];
        let parts = table.keys.iter().zip(layout.keys()).flat_map(|(key, (_, place))| {
            key.parts.iter().map(move |part| (&part.value, part.width, place + part.above))
        });
        for (value, width, above) in parts {
            let value = self.expression(value);
            let (index, shift) = (above as usize / 64, above % 64);
            let placed = self.builder.ins().ishl_imm_u(value, i64::from(shift));
            let mut pieces = vec![(index, placed)];
            if shift + width > 64 {
                let rest = self.builder.ins().ushr_imm_u(value, i64::from(64 - shift));
                pieces.push((index + 1, rest));
            }
            for (index, piece) in pieces {
                match words.get_mut(index) {
                    Some(word) => *word = self.builder.ins().bor(*word, piece),
                    None => self.broken("a key that is wider than its layout"),
                }
            }
        }
        words
    }

    /// Emits a call of a function by its address, with words as arguments and results.
    pub(super) fn call_pointer(
        &mut self,
        function: Value,
        arguments: &[Value],
        results: usize,
    ) -> Vec<Value> {
        use cranelift_module::Module;
        let mut signature = self.module.make_signature();
        signature.params.extend(arguments.iter().map(|_| AbiParam::new(types::I64)));
        signature.returns.extend((0..results).map(|_| AbiParam::new(types::I64)));
        let signature = self.builder.import_signature(signature);
        let call = self.builder.ins().call_indirect(signature, function, arguments);
        self.builder.inst_results(call).to_vec()
    }

    /// Emits stores of the fields of the key to the stack, one after another, each in whole bytes
    /// in big-endian order. Returns their address.
    fn packed_key(&mut self, table: &Table) -> Value {
        let last = table.keys.last();
        // The store of the last field writes eight bytes, which must end inside the slot.
        let size = last.map_or(0, |key| key.offset + key.width.div_ceil(8)) + 8;
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, size, 3);
        let slot = self.builder.create_sized_stack_slot(slot);
        let packed = self.builder.ins().stack_addr(types::I64, slot, 0);
        for key in &table.keys {
            let [part] = &key.parts[..] else {
                self.broken("a key of more than 64 bits in a table that is not packed");
                continue;
            };
            let value = self.expression(&part.value);
            let above = 64 - 8 * key.width.div_ceil(8);
            let value = self.builder.ins().ishl_imm_u(value, i64::from(above));
            let value = self.builder.ins().bswap(value);
            let at = Pointer { base: packed, offset: key.offset as i32 };
            let flags = MemFlagsData::new().with_notrap();
            self.builder.ins().store(flags, value, at.base, at.offset);
        }
        packed
    }

    /// Emits code that runs the action at a position of the table's list, and ends the function if
    /// the action faults. Returns how the action ended, a value of [`flow`].
    fn action(
        &mut self,
        id: u32,
        table: &Table,
        position: Value,
        entry: Option<Entry<'_>>,
    ) -> Value {
        let join = self.builder.create_block();
        let how = self.builder.append_block_param(join, types::I64);
        let (branches, none) = self.chosen(table, position);
        for Branch { index, action, block } in branches {
            self.builder.switch_to_block(block);
            self.begin_look_up(id, entry, action);
            self.values_of(entry, index, action);
            self.block(&action.before);
            let ended = self.call_block(Callee::Action(action.action));
            let is_fault = self.builder.ins().icmp_imm_s(IntCC::Equal, ended, flow::FAULT);
            let goes_on = self.builder.ins().bxor_imm_u(is_fault, 1);
            self.unless(goes_on, |function| function.leave(flow::FAULT));
            self.block(&action.after);
            if table.general.is_none() {
                self.leave_references(id, entry, index, action);
            }
            self.end_look_up(id, action);
            self.builder.ins().jump(join, &[ended.into()]);
        }
        self.builder.switch_to_block(none);
        let next = self.number(flow::NEXT.cast_unsigned());
        self.builder.ins().jump(join, &[next.into()]);
        self.builder.switch_to_block(join);
        how
    }

    /// Emits [`Self::choose`] for all actions of a table. Returns the blocks of the actions, and
    /// the block that runs if no action is chosen.
    fn chosen<'t>(&mut self, table: &'t Table, position: Value) -> (Vec<Branch<'t>>, Block) {
        let branches = self.branches(table, |_| true);
        let none = self.builder.create_block();
        self.choose(&branches, position, none);
        (branches, none)
    }

    /// Creates a block for each action of a table for which `has_branch` returns true.
    fn branches<'t>(
        &mut self,
        table: &'t Table,
        has_branch: impl Fn(&TableAction) -> bool,
    ) -> Vec<Branch<'t>> {
        let actions = table.actions.iter().enumerate().filter(|(_, action)| has_branch(action));
        let branch = |(index, action)| Branch { index, action, block: self.builder.create_block() };
        actions.map(branch).collect()
    }

    /// Emits a jump to the block of the action at a position of the table's list, or to `none` if
    /// it has no block.
    fn choose(&mut self, branches: &[Branch<'_>], position: Value, none: Block) {
        if branches.len() > FEW_ACTIONS {
            let mut switch = Switch::new();
            for Branch { index, block, .. } in branches {
                switch.set_entry(*index as u128, *block);
            }
            switch.emit(&mut self.builder, position, none);
        } else {
            for Branch { index, block, .. } in branches.iter().copied() {
                let next = self.builder.create_block();
                let is_it = self.builder.ins().icmp_imm_s(IntCC::Equal, position, index as i64);
                self.builder.ins().brif(is_it, block, &[], next, &[]);
                self.builder.switch_to_block(next);
            }
            self.builder.ins().jump(none, &[]);
        }
        if branches.len() as u64 >= NO_ACTION {
            self.broken("a table with as many actions as the position of no action");
        }
    }

    /// Emits the actions inline, each in its block, and then the block `none` for no action if it
    /// is given. The results of the lookup are stored after each action. The code that is emitted
    /// next runs after all of them.
    fn actions_written_out(
        &mut self,
        applied: Applied<'_>,
        branches: &[Branch<'_>],
        none: Option<Block>,
        results: Results,
        entry: Option<Entry<'_>>,
    ) {
        let id = applied.id;
        let join = self.builder.create_block();
        let mut exit = None;
        for Branch { index, action, block } in branches.iter().copied() {
            self.builder.switch_to_block(block);
            self.begin_look_up(id, entry, action);
            self.values_of(entry, index, action);
            self.block(&action.before);
            let end = self.written_out(Callee::Action(action.action));
            self.block(&action.after);
            self.leave_references(id, entry, index, action);
            self.end_look_up(id, action);
            self.builder.ins().jump(join, &[]);
            if let Some(block) = end.exit {
                let exit = *exit.get_or_insert_with(|| self.builder.create_block());
                self.builder.switch_to_block(block);
                self.block(&action.after);
                self.leave_references(id, entry, index, action);
                self.end_look_up(id, action);
                self.builder.ins().jump(exit, &[]);
            }
        }
        if let Some(none) = none {
            self.builder.switch_to_block(none);
            self.builder.ins().jump(join, &[]);
        }
        if let Some(exit) = exit {
            self.builder.switch_to_block(exit);
            self.end_action(applied, results, entry);
            self.leave(flow::EXIT);
        }
        self.builder.switch_to_block(join);
        self.end_action(applied, results, entry);
    }

    /// Emits copies of an entry's action parameters to the parameters of its action. If there is no
    /// entry, a host call has stored them in the frame, and they are loaded from there.
    fn values_of(&mut self, entry: Option<Entry<'_>>, index: usize, action: &TableAction) {
        let Some(entry) = entry else {
            for (offset, bytes) in in_frame(action.data.iter()) {
                self.fetch(offset, bytes);
            }
            return;
        };
        let packed = entry.layout.actions.get(index).map(|packed| &packed.parameters);
        let Some(packed) = packed.filter(|packed| packed.len() == action.data.len()) else {
            return self.broken("the packed parameters of an action");
        };
        for (field, packed) in action.data.iter().zip(packed) {
            let at = Pointer { base: entry.values, offset: packed.offset as i32 };
            if let Storage::Wide { bytes, .. } = field.scalar.storage {
                let to = self.pointer(field.address);
                self.copy(to, at, bytes);
                continue;
            }
            let value = self.load(at, packed.bytes);
            self.store_field(*field, value);
        }
    }

    /// Emits code that writes those parameters back to the entry that the action may change. Emits
    /// nothing if there are none.
    fn leave_references(
        &mut self,
        id: u32,
        entry: Option<Entry<'_>>,
        index: usize,
        action: &TableAction,
    ) {
        match &entry {
            _ if action.references.is_empty() => {}
            Some(entry) => self.leave_entry(id, entry, index, action),
            None => self.leave_by_host_call(id, action),
        }
    }

    /// Emits the stores to an entry of the parameters that its action may have changed, and the end
    /// of the update. After a miss, the host ends the update instead.
    fn leave_entry(&mut self, id: u32, entry: &Entry<'_>, index: usize, action: &TableAction) {
        let Some(packed) = entry.layout.actions.get(index) else {
            return self.broken("the packed parameters of an action");
        };
        let updates_out_of_place = entry.layout.updates_out_of_place;
        let to = if updates_out_of_place { (entry.access, MADE as i32) } else { (entry.values, 0) };
        for reference in &action.references {
            let (Some(field), Some(packed)) =
                (action.data.get(*reference), packed.parameters.get(*reference))
            else {
                return self.broken(NO_REFERENCE);
            };
            let value = self.load_field(*field);
            let at = Pointer { base: to.0, offset: to.1 + packed.offset as i32 };
            self.store(at, packed.bytes, value);
        }
        if entry.is_certain {
            return self.leave_in_entry(id, entry, index);
        }
        let (of_entry, of_default) = (self.builder.create_block(), self.builder.create_block());
        let end = self.builder.create_block();
        self.builder.ins().brif(entry.is_hit, of_entry, &[], of_default, &[]);
        self.builder.switch_to_block(of_entry);
        self.leave_in_entry(id, entry, index);
        self.builder.ins().jump(end, &[]);
        self.builder.switch_to_block(of_default);
        self.builder.set_cold_block(of_default);
        self.leave_by_host_call(id, action);
        self.builder.ins().jump(end, &[]);
        self.builder.switch_to_block(end);
    }

    /// Emits the end of an update of an entry, after the stores of its new values. If they were
    /// stored outside of the entry, they are passed to the host. Otherwise, the table's function
    /// for the end of an update is called, if the table has one.
    fn leave_in_entry(&mut self, id: u32, entry: &Entry<'_>, index: usize) {
        if self.resolved.samples {
            return;
        }
        if entry.layout.updates_out_of_place {
            let (id, position) = (self.number(u64::from(id)), self.number(index as u64));
            let arguments = [self.context, id, entry.access, entry.values, position];
            self.run_on_host(HostCall::Defer, &arguments);
        } else if !self.stays_in_place() {
            let (call, end) = (self.builder.create_block(), self.builder.create_block());
            let leave = self.load(Pointer { base: entry.access, offset: LEAVE as i32 }, 8);
            self.builder.ins().brif(leave, call, &[], end, &[]);
            self.builder.switch_to_block(call);
            if self.is_fused() {
                self.builder.set_cold_block(call);
                self.call_cold(leave, &[entry.access]);
            } else {
                self.call_pointer(leave, &[entry.access], 0);
            }
            self.builder.ins().jump(end, &[]);
            self.builder.switch_to_block(end);
        }
    }

    fn leave_by_host_call(&mut self, id: u32, action: &TableAction) {
        let references: Option<Vec<_>> =
            action.references.iter().map(|at| action.data.get(*at)).collect();
        let Some(references) = references else { return self.broken(NO_REFERENCE) };
        for (offset, bytes) in in_frame(references.into_iter()) {
            self.spill(offset, bytes);
        }
        let number = self.number(u64::from(id));
        let arguments = [self.frame, self.context, number];
        self.call_host_cold(HostCall::Leave, &arguments);
    }
}

/// Returns the offset and size of those fields that are not part of a header. Host calls access
/// them in the frame.
fn in_frame<'f>(fields: impl Iterator<Item = &'f Field>) -> Vec<(Offset, u32)> {
    let place = |field: &Field| match field.scalar.storage {
        Storage::Native { bytes } => Some((field.address.offset, bytes)),
        Storage::Packed { .. } | Storage::Wide { .. } => None,
    };
    fields.filter_map(place).collect()
}
