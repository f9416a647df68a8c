//! The [`Host`], by which generated code accesses the tables and extern objects of a running
//! switch.
//!
//! Generated code and the interpreter read and write the same entries, counters and registers.
//! Generated code makes host calls to access this shared state, and they are implemented here. A
//! lookup in a packed table needs no host call (`tables`), except to run a default action whose
//! parameters packets write.

use super::tables::TableAccess;
use crate::error::{InternalError, RunError};
use crate::externs::ExternState;
use crate::layout::Layout;
use crate::resolved::moves::StepKind;
use crate::resolved::shape::{Scalar, Storage};
use crate::resolved::{Field, ResolvedProgram, Table, TableAction};
use crate::state::{State, is_member};
use crate::switch::Core;
use crate::table::{
    ActionCall, ActionCell, Ageing, Direct, Left, NO_ACTION, Runs, Stored, TableState,
};
use crate::value::Value;
use ir::TableId;
use ir::bits::Bits;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

/// The position of the bit in the result of [`Host::apply`] that is set if the lookup found an
/// entry.
pub(super) const HIT: u32 = 32;
/// The message of the internal error for an action to run that is not in the table's list of
/// actions.
const NO_ACTION_THERE: &str = "an action that is not among those of its table";
/// The message of the internal error for an argument that does not fit the parameters of its
/// action.
const NO_PARAMETER: &str = "an argument that does not fit the parameters of its action";

/// The environment of host calls, the functions that generated code calls for what it cannot do
/// itself: the resolved program, the state of the switch and reusable buffers.
pub(super) struct Host<'s> {
    pub(super) resolved: &'s ResolvedProgram,
    pub(super) layout: &'s Layout,
    pub(super) state: &'s State,
    pub(super) now: Duration,
    /// The length in bytes of the packet as it was received. Byte counters count this length.
    pub(super) received_length: u64,
    /// The running table action, if it changes its own parameters. The parameters are written back
    /// to the table when the action ends. `None` if no such action is running.
    pub(super) found: Option<Found>,
    /// A buffer for the key of a lookup, which is reused.
    pub(super) key: &'s mut Vec<Bits>,
    /// A buffer for bytes to be hashed, which is reused.
    pub(super) data: &'s mut Vec<u8>,
    /// The error with which a host call has ended the processing of the packet, if there is one.
    pub(super) fault: Option<RunError>,
    /// The first violated invariant that a host call has found. Generated code continues after such
    /// a call, so its caller must read this field before it uses the results.
    broken: Option<InternalError>,
}

/// A running table action that changes its own parameters. When it ends, they are written back to
/// the entry, or to the default action.
pub(super) struct Found {
    /// The lock on `cell`, if the program requests one (`synced` in `@tableconfig`). The field
    /// precedes `cell` so that it is dropped first.
    turn: Option<MutexGuard<'static, ()>>,
    cell: Arc<ActionCell>,
    call: Arc<ActionCall>,
    /// The entry whose action runs, or `None` for the default action.
    entry: Option<Arc<Stored>>,
    /// The position of the action in the table's list of actions.
    ran: usize,
}

impl Found {
    /// Records that the action in `cell` runs, after acquiring the cell's lock if `synchronised` is
    /// set. The caller sets `ran` once it knows the action's position.
    fn new(cell: Arc<ActionCell>, synchronised: bool) -> Self {
        if synchronised {
            return Self::alone(&cell);
        }
        Self { turn: None, call: cell.call(), cell, entry: None, ran: 0 }
    }

    /// Acquires the lock on an action's cell, waiting if necessary, and records that the action
    /// runs. The record holds the lock until it is dropped.
    fn alone(cell: &Arc<ActionCell>) -> Self {
        let turn = cell.turn();
        // SAFETY: the guard borrows from the cell behind the `Arc` stored beside it. Moving the
        // `Arc` does not move the cell, and fields are dropped in order of declaration, so the
        // guard is dropped before the `Arc`.
        let turn =
            unsafe { std::mem::transmute::<MutexGuard<'_, ()>, MutexGuard<'static, ()>>(turn) };
        Self { turn: Some(turn), call: cell.call(), cell: Arc::clone(cell), entry: None, ran: 0 }
    }
}

/// A function that copies an action's parameters to the frame (the packet's working memory). It
/// receives the frame, the action's position in the table's list, and the values of the parameters.
type Put<'p> = dyn Fn(&mut [u8], usize, &[Value]) -> Result<(), InternalError> + 'p;

impl Found {
    pub(super) fn ran(&self) -> usize {
        self.ran
    }

    /// Returns the argument at a position of the action, as it was when the action started.
    pub(super) fn argument(&self, position: usize) -> Option<&Value> {
        self.call.arguments.get(position)
    }
}

impl<'s> Host<'s> {
    /// Creates a host that uses the given buffers for lookup keys and for the bytes to be hashed.
    pub(super) fn new(
        resolved: &'s ResolvedProgram,
        core: &'s Core,
        now: Duration,
        (key, data): (&'s mut Vec<Bits>, &'s mut Vec<u8>),
    ) -> Self {
        Self {
            resolved,
            layout: &core.layout,
            state: &core.state,
            now,
            received_length: 0,
            found: None,
            key,
            data,
            fault: None,
            broken: None,
        }
    }
}

impl<'s> Host<'s> {
    /// Records that an invariant is violated. The record names the caller of this function.
    #[track_caller]
    pub(super) fn broken(&mut self, what: &'static str) {
        self.broken.get_or_insert(InternalError::new(what));
    }

    /// Returns the value of `outcome`. If it is an error, records the violated invariant and
    /// returns `None`.
    pub(super) fn check<T>(&mut self, outcome: Result<T, InternalError>) -> Option<T> {
        match outcome {
            Ok(done) => Some(done),
            Err(broken) => {
                self.broken.get_or_insert(broken);
                None
            }
        }
    }

    /// Returns the first invariant that a host call found violated, if any, and clears the record.
    pub(super) fn take_broken(&mut self) -> Option<InternalError> {
        self.broken.take()
    }

    pub(super) fn frame_length(&self) -> usize {
        self.resolved.frame as usize
    }

    /// Returns the length in bytes of a packed key for a table.
    pub(super) fn key_length(&self, table: u64) -> usize {
        let table = usize::try_from(table).ok().and_then(|table| self.resolved.tables.get(table));
        let last = table.and_then(|table| table.keys.last());
        last.map_or(0, |key| (key.offset + key.width.div_ceil(8)) as usize)
    }

    /// Looks up a packed key in a table and copies the parameters of the action that is to run to
    /// the frame. Returns the action's position in the table's list, with bit [`HIT`] set if an
    /// entry was found.
    pub(super) fn apply(&mut self, frame: &mut [u8], table: u64, key: &[u8]) -> u64 {
        let position = usize::try_from(table).unwrap_or(usize::MAX);
        let (Some(resolved), Some(state)) =
            (self.resolved.tables.get(position), self.state.tables.get(position))
        else {
            self.broken("a table that is applied");
            return NO_ACTION;
        };
        self.unpack(resolved, key);
        let entry = state.lookup(self.key, self.now);
        let cell = match &entry {
            Some(entry) => self.hit(entry, state.ageing == Ageing::Notify),
            None => {
                let default = state.default();
                let is_there = !(default.is_left_out && self.layout.dialect.is_bmv2());
                is_there.then(|| Arc::clone(&default.cell))
            }
        };
        let ran = cell.and_then(|cell| {
            let ran = self.prepare(frame, resolved, state.synchronised, cell);
            self.check(ran)
        });
        let is_hit = entry.is_some();
        self.found_in(entry);
        looked_up(is_hit, ran)
    }

    /// Records the entry whose action is running. `None` stands for the default action.
    pub(super) fn found_in(&mut self, entry: Option<Arc<Stored>>) {
        if let Some(found) = &mut self.found {
            found.entry = entry;
        }
    }

    /// Prepares the default action of a packed table if the action changes its own parameters.
    /// Copies the parameters to `access` and returns the action's position in the table's list.
    pub(super) fn default_action(&mut self, table: u64, access: &mut TableAccess) -> u64 {
        let position = usize::try_from(table).unwrap_or(usize::MAX);
        let state = self.state.tables.get(position);
        let Some((state, layout)) = state.and_then(|state| Some((state, state.packing()?))) else {
            self.broken("the layout of a packed table");
            return NO_ACTION;
        };
        let cell = Arc::clone(&state.default().cell);
        let found = Found::new(cell, state.synchronised);
        let Some(default) = super::tables::pack(layout, &found.call) else {
            self.broken("a default action that cannot be packed");
            return NO_ACTION;
        };
        let ran = default.action;
        access.set_parameters(default);
        self.found = Some(Found { ran: ran as usize, ..found });
        ran
    }

    fn unpack(&mut self, resolved: &Table, key: &[u8]) {
        self.key.clear();
        for field in &resolved.keys {
            let (from, bytes) = (field.offset as usize, field.width.div_ceil(8) as usize);
            let Some(bytes) = key.get(from..from + bytes) else {
                return self.broken("a key that is shorter than its fields");
            };
            let number = bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte));
            let bits = Bits::unsigned(field.width, number);
            self.key.push(if field.signed { bits.cast(field.width, true) } else { bits });
        }
    }

    /// Returns the direction of a PNA packet that arrived on `port`, from the host or from the
    /// network, as the number that the program uses for it.
    pub(super) fn direction(&self, port: u32) -> u64 {
        self.layout.names.direction(self.state.is_host_port(port)).into()
    }

    /// Returns the number of words that a packed table's key has if it is passed in memory. Returns
    /// `None` if keys have at most 128 bits, which are passed in registers.
    pub(super) fn words_in_memory(&self, table: u64) -> Option<usize> {
        let table = self.resolved.tables.get(usize::try_from(table).ok()?)?;
        table.packed.as_ref().and_then(|(_, layout)| layout.words_in_memory)
    }

    pub(super) fn table(&self, table: u64) -> Option<&'s TableState> {
        self.state.tables.get(usize::try_from(table).ok()?)
    }

    /// Restarts the idle timer of an entry that was hit, if `restarts` is set, and returns the
    /// entry's action.
    fn hit(&mut self, entry: &Stored, restarts: bool) -> Option<Arc<ActionCell>> {
        if restarts {
            entry.timer().restart(self.now);
        }
        let mut stored = entry.state();
        // BMv2 counts every hit in a direct counter. The interpreter looks up tables with direct
        // counters that are not packed, so none of them reaches this loop.
        for (_, direct) in &mut stored.directs {
            if let Direct::Counter(value) = direct {
                value.count(self.received_length);
            }
        }
        match &stored.runs {
            Runs::Action(cell) => Some(Arc::clone(cell)),
            // The resolved program refuses tables with action profiles.
            Runs::Member(..) | Runs::Group(..) | Runs::OneShot(_) => {
                self.broken("an entry of an action profile");
                None
            }
        }
    }

    /// Copies the parameters of an action to the frame before it runs. Returns the action's
    /// position in the table's list.
    fn prepare(
        &mut self,
        frame: &mut [u8],
        resolved: &Table,
        synchronised: bool,
        cell: Arc<ActionCell>,
    ) -> Result<usize, InternalError> {
        self.prepare_with(frame, resolved, synchronised, cell, &|frame, ran, values| {
            let action =
                resolved.actions.get(ran).ok_or_else(|| InternalError::new(NO_ACTION_THERE))?;
            put(frame, action, values)
        })
    }

    /// Prepares an action that is about to run: `put` copies its parameters to the frame. Returns
    /// the action's position in the table's list.
    pub(super) fn prepare_with(
        &mut self,
        frame: &mut [u8],
        resolved: &Table,
        synchronised: bool,
        cell: Arc<ActionCell>,
        put: &Put<'_>,
    ) -> Result<usize, InternalError> {
        let of = |call: &ActionCall| {
            let mut actions = resolved.actions.iter().enumerate();
            let ran = actions.find(|(_, action)| action.action == call.action);
            ran.ok_or_else(|| InternalError::new(NO_ACTION_THERE))
        };
        let call = cell.call();
        let (ran, action) = of(&call)?;
        if action.references.is_empty() {
            put(frame, ran, &call.arguments)?;
            return Ok(ran);
        }
        // If the program asks for it, an action that writes its entry holds the cell's lock from
        // before it reads the entry. Another action may have been stored in the cell before the
        // lock was acquired, so the cell is read again.
        let mut found = Found::new(cell, synchronised);
        let (ran, _) = of(&found.call)?;
        found.ran = ran;
        put(frame, ran, &found.call.arguments)?;
        self.found = Some(found);
        Ok(ran)
    }

    /// Ends a table action: writes the parameters that it has changed in the frame back to the
    /// table.
    pub(super) fn leave(&mut self, frame: &[u8], table: u64) {
        let position = usize::try_from(table).unwrap_or(usize::MAX);
        let Some(found) = self.found.take() else {
            return self.broken("the end of an action that was not begun");
        };
        let resolved = self.resolved.tables.get(position);
        let Some(action) = resolved.and_then(|resolved| resolved.actions.get(found.ran)) else {
            return self.broken(NO_ACTION_THERE);
        };
        let values = action.references.iter().map(|reference| {
            let (field, before) =
                (action.data.get(*reference)?, found.call.arguments.get(*reference)?);
            let pattern = Bits::unsigned(64, u128::from(read(frame, *field)));
            Some((*reference, Value::from_pattern(before, &pattern)))
        });
        match values.collect::<Option<Vec<_>>>() {
            Some(values) => self.left(table, found, values),
            None => self.broken(NO_PARAMETER),
        }
    }

    /// Ends the table action `found`: writes `values`, the parameters that it has changed, back to
    /// the table. Each value comes with its position among the parameters.
    pub(super) fn left(&mut self, table: u64, found: Found, values: Vec<(usize, Value)>) {
        let Found { turn, cell, call, entry, .. } = found;
        match (u32::try_from(table), self.table(table)) {
            (Ok(id), Some(state)) => {
                let left = Left { entry: entry.as_deref(), cell: &cell, call, values };
                state.leave(TableId(id), left, &self.state.entry_changes);
            }
            _ => self.broken("the table of an action that wrote its entry"),
        }
        drop(turn);
    }

    /// Writes the changed parameters of an action back to a packed table whose entries generated
    /// code does not write itself. The action is at `position` in the table's list; the last
    /// argument holds its parameters before and after it ran.
    pub(super) fn defer(
        &self,
        table: u64,
        entry: &Arc<Stored>,
        position: u16,
        (before, after): (&[u8], &[u8]),
    ) -> Result<(), InternalError> {
        let packed = self.table(table).and_then(|state| Some((state, state.packing()?)));
        let (Ok(id), Some((state, layout))) = (u32::try_from(table), packed) else {
            return Err(InternalError::new("the layout of a packed table"));
        };
        let (Some(call), Some(made)) =
            (layout.unpack(position, before), layout.unpack(position, after))
        else {
            return Err(InternalError::new(NO_ACTION_THERE));
        };
        let references = layout.references(position).iter();
        let values = references.map(|at| Some((*at, made.arguments.get(*at)?.clone())));
        let values = values.collect::<Option<_>>();
        let values = values.ok_or_else(|| InternalError::new(NO_PARAMETER))?;
        let Runs::Action(cell) = entry.state().runs.clone() else {
            return Err(InternalError::new("an entry of an action profile"));
        };
        let left = Left { entry: Some(entry), cell: &cell, call: Arc::new(call), values };
        state.leave(TableId(id), left, &self.state.entry_changes);
        Ok(())
    }

    /// Returns whether a parser value set whose members are single numbers contains a number.
    pub(super) fn is_member(
        &mut self,
        set: u64,
        number: u64,
        (width, signed): (u32, bool),
    ) -> bool {
        let set = usize::try_from(set).unwrap_or(usize::MAX);
        let bits = Bits::unsigned(width, number.into()).cast(width, signed);
        let Some(members) = self.state.value_sets.get(set) else {
            self.broken("a value set of a parser");
            return false;
        };
        let members = Arc::clone(&crate::sync::read(members));
        is_member(&members, &[bits])
    }

    fn extern_state(&self, id: u64) -> Option<&'s ExternState> {
        self.state.externs.get(usize::try_from(id).ok()?)
    }

    /// Returns an element of a register array, or `None` if the index is out of range.
    pub(super) fn read_register(&mut self, id: u64, index: u64) -> Option<u64> {
        let Some(ExternState::Register(registers)) = self.extern_state(id) else {
            self.broken("a register that is read");
            return None;
        };
        if index >= registers.size {
            return None;
        }
        let pattern = match registers.cells.get(index) {
            Some(value) => value.to_pattern(),
            None => registers.initial.to_pattern(),
        };
        pattern.map(|pattern| pattern.low_u64())
    }

    pub(super) fn write_register(&mut self, id: u64, index: u64, value: u64) {
        let Some(ExternState::Register(registers)) = self.extern_state(id) else {
            return self.broken("a register that is written");
        };
        if index < registers.size {
            let pattern = Bits::unsigned(64, u128::from(value));
            let value = Value::from_pattern(&registers.initial, &pattern);
            registers.cells.set(index, Some(value));
        }
    }

    pub(super) fn count(&mut self, id: u64, index: u64) {
        let Some(ExternState::Counter(counters)) = self.extern_state(id) else {
            return self.broken("a counter that counts");
        };
        counters.count(index, self.received_length);
    }
}

/// Encodes the result of a lookup for generated code: the position of the action in the table's
/// list, with bit [`HIT`] set if an entry was found.
pub(super) fn looked_up(is_hit: bool, ran: Option<usize>) -> u64 {
    u64::from(is_hit) << HIT | ran.map_or(NO_ACTION, |ran| ran as u64)
}

/// Copies the arguments of an action to the offsets of its parameters in the frame.
fn put(frame: &mut [u8], action: &TableAction, arguments: &[Value]) -> Result<(), InternalError> {
    if action.data.len() != arguments.len() {
        return Err(InternalError::new(NO_PARAMETER));
    }
    for (field, argument) in action.data.iter().zip(arguments) {
        let pattern = argument.to_pattern().ok_or_else(|| InternalError::new(NO_PARAMETER))?;
        if let Storage::Wide { bytes, .. } = field.scalar.storage {
            let start = field.address.offset as usize;
            let to = frame.get_mut(start..start + bytes as usize);
            let to = to.ok_or_else(|| InternalError::new(NO_PARAMETER))?;
            let pattern = pattern.cast(field.scalar.width, false).to_be_bytes();
            to.iter_mut().zip(pattern).for_each(|(to, from)| *to = from);
            continue;
        }
        write(frame, *field, pattern.low_u64());
    }
    Ok(())
}

/// Returns an error unless every field that [`read`] and [`write`] access is a number outside of
/// headers and lies at a fixed offset inside the frame. A field in a parameter must lie inside the
/// parameter.
pub(super) fn check_fields(resolved: &ResolvedProgram) -> Result<(), InternalError> {
    let is_inside = |field: &Field, size: u32| {
        let Storage::Native { bytes } = field.scalar.storage else { return false };
        let end = field.address.offset.saturating_add(bytes);
        matches!(bytes, 1 | 2 | 4 | 8) && field.address.element.is_none() && end <= size
    };
    let mut metadata = resolved.parameter_types().iter().flat_map(|known| {
        known.fields().iter().flatten().map(|field| is_inside(field, known.shape.size()))
    });
    if !metadata.all(|is_inside| is_inside) {
        return Err(InternalError::new("metadata that is not numbers of its own"));
    }
    let mut chosen = resolved.steps.iter().filter_map(|step| match &step.kind {
        StepKind::Select(_, _, to) => Some(to),
        StepKind::Statement(_) | StepKind::Evaluate(..) | StepKind::Write(..) => None,
    });
    if !chosen.all(|to| is_inside(to, resolved.frame)) {
        return Err(InternalError::new("the chosen case of a select outside of the frame"));
    }
    let actions = resolved.tables.iter().filter(|table| table.general.is_none());
    let data = actions.flat_map(|table| table.actions.iter().flat_map(|action| &action.data));
    let mut data = data.filter(|field| !matches!(field.scalar.storage, Storage::Wide { .. }));
    match data.all(|field| is_inside(field, resolved.frame)) {
        true => Ok(()),
        false => Err(InternalError::new("a parameter of an action outside of the frame")),
    }
}

fn range(field: Field) -> Option<std::ops::Range<usize>> {
    let Field { address, scalar: Scalar { storage, .. } } = field;
    let Storage::Native { bytes } = storage else { return None };
    let start = address.offset as usize;
    Some(start..start + bytes as usize)
}

/// Reads a number outside of headers from the frame. Returns zero if `frame` is empty, which stands
/// for a value that was never written. Otherwise, [`check_fields`] has ensured that the field is a
/// number inside the frame.
#[inline]
pub(super) fn read(frame: &[u8], field: Field) -> u64 {
    let bytes = range(field).and_then(|range| frame.get(range)).unwrap_or(&[]);
    // Each size has its own arm so that it compiles to one load: this runs several times per
    // packet.
    match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        // The frame is empty.
        _ => 0,
    }
}

/// Writes a number outside of headers to the frame, truncated to its width. [`check_fields`] has
/// ensured that the field is a number inside the frame.
#[inline]
pub(super) fn write(frame: &mut [u8], field: Field, number: u64) {
    let number = (number & crate::resolved::mask(field.scalar.width)).to_le_bytes();
    let bytes = range(field).and_then(|range| frame.get_mut(range)).unwrap_or(&mut []);
    // Each size has its own arm so that it compiles to one store.
    match bytes.len() {
        1 => bytes.copy_from_slice(&number[..1]),
        2 => bytes.copy_from_slice(&number[..2]),
        4 => bytes.copy_from_slice(&number[..4]),
        8 => bytes.copy_from_slice(&number),
        // `check_fields` has shown that there are no others.
        _ => {}
    }
}
