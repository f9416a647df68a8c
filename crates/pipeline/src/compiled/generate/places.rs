//! The storage of values in generated code: in the frame, or in variables of the function as a
//! [`Plan`] assigns them. All of the code generator uses this module to read and write values.
//!
//! In a function with variables ([`Places`]), calls are inlined, and the inlined bodies end with
//! jumps instead of returns.

use super::function::{Function, context_offset};
use super::variables::{
    ALL_BITS, End, Flag, Fused, HeaderPlace, Known, Places, Pointer, Precomputed, Readable, data,
    has_known_key,
};
use crate::compiled::burst::{Burst, Column};
use crate::compiled::context::flow;
use crate::compiled::plan::Plan;
use crate::resolved::shape::{DATA, Shape, Storage, TAIL};
use crate::resolved::{Address, Body, Callee, Field, Offset, Table};
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use cranelift_frontend::Variable;
use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;
use std::ops::Range;

/// The message of the internal error for a function that keeps values in variables although it was
/// begun without the plan that assigns them.
const NO_PLACES: &str = "a stage that was begun without a plan";
/// The message of the internal error for a value that is exchanged with the interpreter in a
/// function that keeps values in variables, although the plan covers no value of its shape.
const NOT_PLANNED: &str = "a value of a shape that no plan has";
/// The message of the internal error for an attempt to generate code that only the fused function
/// may have in another function.
const NOT_FUSED: &str = "code of the fused function in another stage";

/// The offsets of those context fields that generated functions for bursts keep in variables.
const FIELDS: [usize; 11] = [
    context_offset::PACKET,
    context_offset::LENGTH,
    context_offset::CURSOR,
    context_offset::EMITTED,
    context_offset::EMITTED_LENGTH,
    context_offset::ERROR,
    context_offset::LENGTH_CHANGE,
    context_offset::TRUNCATE,
    context_offset::DESTINATION,
    context_offset::WORK_LEFT,
    context_offset::TABLES,
];

impl<'m> Function<'_, 'm> {
    /// Creates a variable for each number and header of a plan. The function's frame becomes that
    /// of the current packet.
    pub(super) fn use_plan(&mut self, plan: &'m Plan, fault: Block) {
        let mut variables = || self.builder.declare_var(types::I64);
        let slots = plan.slots.keys().map(|offset| (*offset, variables())).collect();
        let pointers = plan.headers.keys().map(|offset| (*offset, variables())).collect();
        let fields = FIELDS.iter().map(|field| (*field, variables())).collect();
        let (ends, ahead) = (Vec::new(), Vec::new());
        let (reads_input, fused, columns) = (false, None, None);
        self.places = Some(Places {
            plan,
            slots,
            pointers,
            reads_input,
            ignores_verification: false,
            fused,
            fields,
            ends,
            fault,
            ahead,
            columns,
        });
    }

    /// Sets the address of the burst's columns of keys, and the variable that holds the index of
    /// the current packet.
    pub(super) fn set_columns(&mut self, burst: Value, index: Variable) {
        match &mut self.places {
            Some(places) => places.columns = Some((burst, index)),
            None => self.broken(NO_PLACES),
        }
    }

    /// Sets whether fields of extracted headers are read from the received packet, rather than from
    /// its copy in the output buffer.
    pub(super) fn reads_input(&mut self, reads: bool) {
        match &mut self.places {
            Some(places) => places.reads_input = reads,
            None => self.broken(NO_PLACES),
        }
    }

    /// Declares that no later code reads the results of checksum verification.
    pub(super) fn ignore_verification(&mut self) {
        match &mut self.places {
            Some(places) => places.ignores_verification = true,
            None => self.broken(NO_PLACES),
        }
    }

    pub(super) fn ignores_verification(&self) -> bool {
        self.places.as_ref().is_some_and(|places| places.ignores_verification)
    }

    /// Declares that the function takes each packet from the parser to the deparser. `output` is
    /// the address of the packet's copy in the output buffer.
    pub(super) fn begin_fused(&mut self, output: Value) {
        let Some(places) = &mut self.places else { return self.broken(NO_PLACES) };
        let mut variables = || self.builder.declare_var(types::I64);
        let sources = places.pointers.keys().map(|flag| (*flag, variables())).collect();
        places.fused = Some(Fused {
            output: Some(output),
            sources,
            written: BTreeMap::new(),
            extracted: BTreeSet::new(),
            known: BTreeMap::new(),
            payload: None,
            buckets: BTreeMap::new(),
            looked_up: BTreeSet::new(),
            state: None,
            accepts: Vec::new(),
        });
    }

    /// Declares that the code generated from here on parses the packet in the output buffer.
    pub(super) fn parses_output(&mut self) {
        if let Some(Places { fused: Some(fused), .. }) = &mut self.places {
            fused.output = None;
            fused.known.clear();
            fused.payload = None;
        }
    }

    /// Returns whether the function takes each packet from the parser to the deparser.
    pub(super) fn is_fused(&self) -> bool {
        self.fused().is_some()
    }

    /// Returns whether generated code may use the entries of all tables directly in their buckets,
    /// without a check. The fused function runs only if this is possible at the start of the burst.
    /// It remains possible as long as no packet leaves the gate of the tables.
    pub(super) fn stays_in_place(&self) -> bool {
        self.is_fused() && self.plan().is_some_and(|plan| !plan.leaves_gate)
    }

    fn fused(&self) -> Option<&Fused> {
        self.places.as_ref()?.fused.as_ref()
    }

    /// Records which state of the outermost parser the code generated from here on belongs to.
    pub(super) fn begin_state(&mut self, state: u32) {
        if let Some(Places { fused: Some(fused), ends, .. }) = &mut self.places
            && ends.len() == 1
            && fused.output.is_some()
        {
            fused.state = Some(state);
        }
    }

    /// Ends the inlined parser. Returns the blocks in which it accepts the packet, each with the
    /// state that accepts it. In those blocks, no header has been written yet.
    pub(super) fn end_of_parser(&mut self) -> Vec<(Block, u32)> {
        let Some(Places { fused: Some(fused), .. }) = &mut self.places else {
            self.broken(NOT_FUSED);
            return Vec::new();
        };
        fused.state = None;
        std::mem::take(&mut fused.accepts)
    }

    /// Begins the code for packets that took a certain path through the parser. The headers in
    /// `extracted` were extracted and not changed since. `known` has the headers whose position in
    /// the packet, or whose absence, is known. `payload` is the offset of the payload, if it is
    /// known.
    pub(super) fn begin_way(
        &mut self,
        extracted: BTreeSet<Offset>,
        known: BTreeMap<Offset, Known>,
        payload: Option<u32>,
    ) {
        let Some(Places { fused: Some(fused), .. }) = &mut self.places else {
            return self.broken(NOT_FUSED);
        };
        fused.written.clear();
        fused.extracted = extracted;
        (fused.known, fused.payload) = (known, payload);
        fused.buckets.clear();
        fused.looked_up.clear();
    }

    /// Sets the results of the prefetch stage for a packet whose headers are where that stage
    /// assumed them: the bucket addresses by table, and the tables in which it was looked up in a
    /// batch.
    pub(super) fn set_prefetched(
        &mut self,
        buckets: BTreeMap<u32, Value>,
        looked_up: BTreeSet<u32>,
    ) {
        match &mut self.places {
            Some(Places { fused: Some(fused), .. }) => {
                (fused.buckets, fused.looked_up) = (buckets, looked_up);
            }
            Some(_) | None => self.broken(NOT_FUSED),
        }
    }

    /// Returns the values that were precomputed for the key of a packed table. Returns `None` if
    /// there are none, or if a part of the key may have been written since.
    pub(super) fn prefetched(&mut self, number: u32, table: &Table) -> Option<Precomputed> {
        let fused = self.fused()?;
        let bucket = fused.buckets.get(&number).copied()?;
        if !has_known_key(table, &|flag, bits| fused.lies_as_assumed(flag, bits)) {
            return None;
        }
        let column = self.plan().and_then(|plan| plan.keys.get(&number).copied());
        let found = column.map(|column| self.left_number(column));
        Some(Precomputed { bucket, found })
    }

    /// Returns whether the packet was looked up in a packed table before this function, with the
    /// key that it still has because no part of the key was written since.
    pub(super) fn is_looked_up_unchanged(&self, number: u32, table: &Table) -> bool {
        self.fused().is_some_and(|fused| {
            fused.looked_up.contains(&number)
                && has_known_key(table, &|flag, bits| fused.lies_as_assumed(flag, bits))
        })
    }

    /// Returns whether and where a header is in the packet, if that is known at compile time.
    pub(super) fn known_place(&self, header: Address) -> Option<Known> {
        let fused = self.fused().filter(|_| header.element.is_none())?;
        fused.known.get(&header.offset).copied()
    }

    /// Returns the offset of the payload in the packet, if it is known at compile time.
    pub(super) fn known_payload(&self) -> Option<u32> {
        self.fused()?.payload
    }

    /// Records that some bits of a header may be written.
    fn written_in(&mut self, flag: Offset, bits: Range<u32>) {
        if let Some(Places { fused: Some(fused), .. }) = &mut self.places {
            let written = fused.written.entry(flag).or_default();
            if !written.contains(&bits) {
                written.push(bits);
            }
        }
    }

    /// Forgets the known position of a header, because the header may move or become invalid.
    fn moved(&mut self, flag: Offset) {
        if let Some(Places { fused: Some(fused), .. }) = &mut self.places {
            fused.known.remove(&flag);
        }
    }

    /// Sets the address of a header's bits, and the address `source` from which code may read them
    /// instead.
    pub(super) fn point_to(&mut self, flag: Offset, at: Value, source: Value) {
        self.moved(flag);
        if let Some(Places { fused: Some(fused), .. }) = &mut self.places
            && at == source
        {
            // The header does not lie in the received packet.
            fused.extracted.remove(&flag);
        }
        let fused = self.fused().and_then(|fused| fused.sources.get(&flag).copied());
        for (variable, at) in [(self.header_pointer(flag), at), (fused, source)] {
            if let Some(variable) = variable {
                self.builder.def_var(variable, at);
            }
        }
    }

    /// Sets the packed tables in which all packets of the burst were looked up before this
    /// function.
    pub(super) fn set_ahead(&mut self, numbers: Vec<u32>) {
        match &mut self.places {
            Some(places) => places.ahead = numbers,
            None => self.broken(NO_PLACES),
        }
    }

    /// Returns the position of the burst's column that holds the packets' keys for a packed table
    /// and the results of their batch lookup. Returns `None` if the table has no batch lookup.
    pub(super) fn found_ahead(&self, number: u32) -> Option<usize> {
        let places = self.places.as_ref().filter(|places| places.ahead.contains(&number))?;
        places.plan.ahead.get(&number).copied()
    }

    /// Returns pointers to the current packet's key and to the result of its lookup in a column of
    /// the burst.
    fn in_column(&mut self, column: usize) -> [Pointer; 2] {
        let Some((burst, index)) = self.places.as_ref().and_then(|places| places.columns) else {
            let base = self.broken_value("a column outside of a burst");
            return [Pointer { base, offset: 0 }; 2];
        };
        let columns = Pointer { base: burst, offset: offset_of!(Burst, columns) as i32 };
        let columns = self.load(columns, 8);
        let at = self.builder.use_var(index);
        let of_key = self.builder.ins().imul_imm_s(at, size_of::<[u64; 2]>() as i64);
        let of_found = self.builder.ins().imul_imm_s(at, size_of::<u32>() as i64);
        let of_column = column * size_of::<Column>();
        let parts = [(of_key, offset_of!(Column, keys)), (of_found, offset_of!(Column, found))];
        parts.map(|(distance, part)| Pointer {
            base: self.builder.ins().iadd(columns, distance),
            offset: (of_column + part) as i32,
        })
    }

    /// Emits the store of the current packet's key to a column of the burst.
    pub(super) fn leave_key(&mut self, column: usize, key: [Value; 2]) {
        let [at, _] = self.in_column(column);
        for (word, place) in key.into_iter().zip([at, at.plus(8)]) {
            self.store(place, 8, word);
        }
    }

    /// Emits the load of the result that the current packet's batch lookup has left in a column of
    /// the burst.
    pub(super) fn left_number(&mut self, column: usize) -> Value {
        let [_, found] = self.in_column(column);
        self.load(found, 4)
    }

    /// Emits the loads of the current packet's key, the low word first, and of the result of its
    /// lookup from a column of the burst.
    pub(super) fn left_key(&mut self, column: usize) -> ([Value; 2], Value) {
        let [at, found] = self.in_column(column);
        let key = [at, at.plus(8)].map(|place| self.load(place, 8));
        (key, self.load(found, 4))
    }

    /// Returns the plan, or `None` if all values of the function are in the frame.
    pub(super) fn plan(&self) -> Option<&'m Plan> {
        self.places.as_ref().map(|places| places.plan)
    }

    /// Returns the variable of the function that holds the number at an offset in the frame.
    /// Returns `None` if the number is only in the frame (the packet's working memory).
    pub(super) fn slot(&self, offset: Offset) -> Option<Variable> {
        self.places.as_ref().and_then(|places| places.slots.get(&offset).copied())
    }

    /// Returns the variable that points to the first bit of a header. Returns `None` if the header
    /// is in the frame, the packet's working memory.
    pub(super) fn header_pointer(&self, flag: Offset) -> Option<Variable> {
        self.places.as_ref().and_then(|places| places.pointers.get(&flag).copied())
    }

    /// Returns the variable of a field of the context, or `None` if the field is in memory.
    pub(super) fn context_variable(&self, field: usize) -> Option<Variable> {
        let places = self.places.as_ref()?;
        places.fields.iter().find(|(known, _)| *known == field).map(|(_, variable)| *variable)
    }

    /// Returns the variable of a field, or `None` if the field is in memory.
    pub(super) fn variable_of(&self, field: Field) -> Option<Variable> {
        match field.scalar.storage {
            Storage::Native { .. } => self.slot(field.address.offset),
            Storage::Packed { .. } | Storage::Wide { .. } => None,
        }
    }

    /// Returns a pointer to the first bit of a header. `address` is the address that all fields of
    /// the header have in their [`Field`].
    pub(super) fn bits_at(&mut self, address: Address) -> Pointer {
        match self.header_pointer(address.offset.wrapping_sub(DATA)) {
            Some(pointer) => Pointer { base: self.builder.use_var(pointer), offset: 0 },
            None => self.pointer(address),
        }
    }

    /// Returns whether a write may have changed a part of the given bits of a header, but not all
    /// of them.
    pub(super) fn is_written_in_part(&self, address: Address, bits: &Range<u32>) -> bool {
        let flag = address.offset.wrapping_sub(DATA);
        self.fused().is_some_and(|fused| fused.is_written_in_part(flag, bits))
    }

    /// Returns an address from which the given bits of a header can be read. The header's address
    /// is that of its first bit.
    pub(super) fn bits_to_read(&mut self, address: Address, bits: Range<u32>) -> Readable {
        let flag = address.offset.wrapping_sub(DATA);
        let header = self.plan().and_then(|plan| plan.headers.get(&flag));
        let extracted = header.and_then(|header| header.extracted);
        let fused = self.fused().filter(|fused| !fused.is_written(flag, &bits));
        match fused.and_then(|fused| fused.sources.get(&flag).copied()) {
            Some(source) => {
                let is_input = fused.is_some_and(|fused| fused.extracted.contains(&flag));
                let at = Pointer { base: self.builder.use_var(source), offset: 0 };
                Readable { at, bytes: extracted, is_input }
            }
            None => {
                let reads_input = self.places.as_ref().is_some_and(|places| places.reads_input);
                let bytes = extracted.filter(|_| reads_input);
                Readable { at: self.bits_at(address), bytes, is_input: false }
            }
        }
    }

    /// Returns a pointer to a header, and records that the given bits may be written. The header's
    /// address is that of its first bit.
    pub(super) fn bits_to_write(&mut self, address: Address, bits: Range<u32>) -> Pointer {
        self.written_in(address.offset.wrapping_sub(DATA), bits);
        self.bits_at(address)
    }

    /// Returns the places of a header's validity flag and bits. The caller may write all of them.
    pub(super) fn header(&mut self, address: Address) -> HeaderPlace {
        self.written_in(address.offset, ALL_BITS);
        self.moved(address.offset);
        match (self.slot(address.offset), self.header_pointer(address.offset)) {
            (Some(flag), Some(pointer)) => {
                let data = Pointer { base: self.builder.use_var(pointer), offset: 0 };
                HeaderPlace { flag: Flag::Variable(flag), data }
            }
            _ => self.header_in_frame(address),
        }
    }

    fn header_in_frame(&mut self, address: Address) -> HeaderPlace {
        let at = self.pointer(address);
        HeaderPlace { flag: Flag::Memory(at), data: data(at) }
    }

    pub(super) fn flag(&mut self, header: HeaderPlace) -> Value {
        match header.flag {
            Flag::Memory(at) => self.load(at, 1),
            Flag::Variable(variable) => self.builder.use_var(variable),
        }
    }

    pub(super) fn set_flag(&mut self, header: HeaderPlace, flag: Value) {
        match header.flag {
            Flag::Memory(at) => self.store(at, 1, flag),
            Flag::Variable(variable) => self.builder.def_var(variable, flag),
        }
    }

    pub(super) fn is_valid(&mut self, header: Address) -> Value {
        match self.slot(header.offset) {
            Some(flag) => self.builder.use_var(flag),
            None => {
                let at = self.pointer(header);
                self.load(at, 1)
            }
        }
    }

    /// Emits the extraction of a header. If the header has a pointer variable, its bits stay in the
    /// packet and the variable is set. Otherwise they are copied to the frame.
    pub(super) fn take_header(
        &mut self,
        header: Address,
        to: HeaderPlace,
        from: Pointer,
        bytes: u32,
    ) {
        if self.header_pointer(header.offset).is_some() {
            let source = self.builder.ins().iadd_imm_s(from.base, i64::from(from.offset));
            let output = self.fused().and_then(|fused| fused.output);
            let at = match output {
                Some(output) => {
                    let cursor = self.context_field(context_offset::CURSOR);
                    self.builder.ins().iadd(output, cursor)
                }
                None => source,
            };
            self.point_to(header.offset, at, source);
            if let Some(Places { fused: Some(fused), .. }) = &mut self.places {
                fused.written.remove(&header.offset);
            }
        } else {
            self.copy(to.data, from, bytes);
        }
        let valid = self.number(1);
        self.set_flag(to, valid);
    }

    /// Emits the load of the number of bits in the varbit at the end of a header.
    pub(super) fn tail_width(&mut self, header: Address) -> Value {
        match self.slot(header.offset + TAIL) {
            Some(width) => self.builder.use_var(width),
            None => {
                let at = self.pointer(header).plus(TAIL);
                self.load(at, 4)
            }
        }
    }

    pub(super) fn set_tail_width(&mut self, header: Address, width: Value) {
        match self.slot(header.offset + TAIL) {
            Some(variable) => self.builder.def_var(variable, width),
            None => {
                let at = self.pointer(header).plus(TAIL);
                self.store(at, 4, width);
            }
        }
    }

    /// Emits the copy of the contents of a varbit. Nothing is copied if its width is zero, which is
    /// the usual case.
    pub(super) fn copy_tail(&mut self, to: Pointer, from: Pointer, width: Value) {
        let (copies, end) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(width, copies, &[], end, &[]);
        self.builder.switch_to_block(copies);
        let to = self.builder.ins().iadd_imm_s(to.base, i64::from(to.offset));
        let from = self.builder.ins().iadd_imm_s(from.base, i64::from(from.offset));
        let bytes = self.builder.ins().ushr_imm_u(width, 3);
        let config = self.config;
        self.builder.call_memmove(config, to, from, bytes);
        self.builder.ins().jump(end, &[]);
        self.builder.switch_to_block(end);
    }

    /// Emits the copy of a header without its validity flag. If the target has a pointer variable,
    /// the copy goes to the header's place in the frame, since it may be longer than the header
    /// that lies in the packet.
    pub(super) fn copy_header_with_tail(&mut self, to: Address, from: Address, bytes: u32) {
        let source = self.header(from).data;
        let target = match self.header_pointer(to.offset) {
            Some(pointer) => {
                let at = Pointer { base: self.frame, offset: (to.offset + DATA) as i32 };
                let at = self.builder.ins().iadd_imm_s(at.base, i64::from(at.offset));
                self.builder.def_var(pointer, at);
                self.moved(to.offset);
                Pointer { base: at, offset: 0 }
            }
            None => self.header(to).data,
        };
        self.copy(target, source, bytes);
        let width = self.tail_width(from);
        self.set_tail_width(to, width);
        self.copy_tail(target.plus(bytes), source.plus(bytes), width);
    }

    /// Emits moves of the values in a range of the frame to another range. If there is no source,
    /// emits code that clears the target. Returns `false`, and emits nothing, if all values of the
    /// function are in the frame.
    pub(super) fn move_variables(&mut self, to: Offset, from: Option<Offset>, bytes: u32) -> bool {
        let Some(plan) = self.plan() else { return false };
        let start = from.unwrap_or(to);
        let slots = plan.slots_in(start, bytes);
        let values: Vec<Value> = slots
            .iter()
            .map(|(offset, _)| match (from, self.slot(*offset)) {
                (None, _) => self.number(0),
                (Some(_), Some(variable)) => self.builder.use_var(variable),
                (Some(_), None) => self.broken_value("a number of the plan without a variable"),
            })
            .collect();
        for ((offset, _), value) in slots.iter().zip(values) {
            // In the plan, each value on one side of a move has a counterpart on the other side.
            match self.slot(offset - start + to) {
                Some(variable) => self.builder.def_var(variable, value),
                None => self.broken("a number that is moved to a place without a variable"),
            }
        }
        for (offset, bytes) in plan.wide_in(start, bytes) {
            let place = |offset: Offset| Pointer { base: self.frame, offset: offset as i32 };
            let (there, here) = (place(offset - start + to), place(offset));
            match from {
                Some(_) => self.copy(there, here, bytes),
                None => self.clear(there, bytes),
            }
        }
        for (offset, header) in plan.headers_in(start, bytes) {
            let moved = Address::fixed(offset - start + to);
            let target = self.header(moved).data;
            if let (Some(_), Some(at)) = (from, header.tail) {
                self.copy_header_with_tail(moved, Address::fixed(offset), at);
            } else if from.is_some() {
                let source = self.header(Address::fixed(offset)).data;
                self.copy(target, source, header.bytes);
            } else {
                self.clear(target, header.bytes);
            }
        }
        true
    }

    /// Emits the body of a callee inline. The code that is emitted next runs when the body ends
    /// normally. The body may also end by `exit`, a rejection or a fault: the caller must emit code
    /// for the blocks of these ends, which are returned.
    pub(super) fn written_out(&mut self, callee: Callee) -> End {
        let next = self.builder.create_block();
        match &mut self.places {
            Some(places) => places.ends.push(End { next, exit: None, reject: None }),
            None => self.broken(NO_PLACES),
        }
        let loops = std::mem::take(&mut self.loops);
        let state_end = self.state_end.take();
        let resolved = self.resolved;
        match resolved.bodies.get(callee) {
            Some(Body::Block(block)) => {
                if !self.block(block) {
                    self.builder.ins().jump(next, &[]);
                }
            }
            Some(Body::Parser(parser)) => self.parser(parser),
            None => {
                self.broken("a callee without a body");
                self.builder.ins().jump(next, &[]);
            }
        }
        (self.loops, self.state_end) = (loops, state_end);
        self.builder.switch_to_block(next);
        let end = self.places.as_mut().and_then(|places| places.ends.pop());
        end.unwrap_or_else(|| {
            self.broken("the end of a body that was not begun");
            End { next, exit: None, reject: None }
        })
    }

    /// Emits a jump that ends the innermost inlined body in the way `how`, a value of [`flow`].
    /// Returns `false`, and emits nothing, if no body is being inlined.
    pub(super) fn jump_to_end(&mut self, how: i64) -> bool {
        let Some(places) = &mut self.places else { return false };
        let fault = places.fault;
        if let (flow::NEXT, [_], Some(fused)) = (how, &places.ends[..], &mut places.fused)
            && let Some(state) = fused.state
        {
            let accept = self.builder.create_block();
            fused.accepts.push((accept, state));
            self.builder.ins().jump(accept, &[]);
            return true;
        }
        let to = match (how, places.ends.last_mut()) {
            (flow::NEXT, Some(end)) => end.next,
            (flow::EXIT, Some(end)) => *end.exit.get_or_insert_with(|| self.builder.create_block()),
            (flow::REJECT, Some(end)) => {
                *end.reject.get_or_insert_with(|| self.builder.create_block())
            }
            (flow::FAULT, _) => fault,
            // Outside of a body, only a fault ends a stage.
            _ => {
                self.broken("an end of a body that is not being inlined");
                fault
            }
        };
        self.builder.ins().jump(to, &[]);
        true
    }

    /// Emits the body of a callee inline. `behind` emits the code that runs after the body, whether
    /// the body ends normally, with `exit` or by rejecting the packet. That code does not run after
    /// a fault.
    pub(super) fn call_written_out(&mut self, callee: Callee, behind: &mut dyn FnMut(&mut Self)) {
        let end = self.written_out(callee);
        behind(self);
        let goes_on = self.builder.create_block();
        self.builder.ins().jump(goes_on, &[]);
        for (block, how) in [(end.exit, flow::EXIT), (end.reject, flow::REJECT)] {
            if let Some(block) = block {
                self.builder.switch_to_block(block);
                behind(self);
                self.leave(how);
            }
        }
        self.builder.switch_to_block(goes_on);
    }

    /// Emits stores of a value to its place in the frame, where the interpreter reads it.
    pub(super) fn spill_shape(&mut self, offset: Offset, shape: &Shape) {
        match shape {
            Shape::Scalar(_) => self.spill(offset, shape.size()),
            Shape::Header(header) => {
                self.spill_header(offset, header.bytes());
                if header.tail > 0 {
                    self.spill_tail(offset, header.bytes());
                }
            }
            Shape::Struct(parts, _) => {
                parts.iter().for_each(|(at, part)| self.spill_shape(offset + at, part));
            }
            Shape::Stack { element, size } => {
                self.spill(offset, 4);
                let header = Shape::Header(element.clone());
                for index in 0..*size {
                    self.spill_shape(offset + DATA + index * element.size(), &header);
                }
            }
            // Wide numbers are in the frame already.
            Shape::Wide { .. } => {}
            Shape::Varbit { .. }
            | Shape::Loose(..)
            | Shape::Union(..)
            | Shape::Row { .. }
            | Shape::None(_) => self.broken(NOT_PLANNED),
        }
    }

    /// Emits loads of a value that the interpreter has left in the frame, to the function's
    /// variables.
    pub(super) fn fetch_shape(&mut self, offset: Offset, shape: &Shape) {
        match shape {
            Shape::Scalar(_) => self.fetch(offset, shape.size()),
            Shape::Header(header) => {
                self.fetch(offset, 1);
                if let Some(pointer) = self.header_pointer(offset) {
                    let distance = i64::from(offset + DATA);
                    let at = self.builder.ins().iadd_imm_s(self.frame, distance);
                    self.builder.def_var(pointer, at);
                }
                if header.tail > 0 {
                    self.fetch(offset + TAIL, 4);
                }
            }
            Shape::Struct(parts, _) => {
                parts.iter().for_each(|(at, part)| self.fetch_shape(offset + at, part));
            }
            Shape::Stack { element, size } => {
                self.fetch(offset, 4);
                let header = Shape::Header(element.clone());
                for index in 0..*size {
                    self.fetch_shape(offset + DATA + index * element.size(), &header);
                }
            }
            // Wide numbers stay in the frame.
            Shape::Wide { .. } => {}
            Shape::Varbit { .. }
            | Shape::Loose(..)
            | Shape::Union(..)
            | Shape::Row { .. }
            | Shape::None(_) => self.broken(NOT_PLANNED),
        }
    }

    /// Emits the store of a number's variable to its place in the frame.
    pub(super) fn spill(&mut self, offset: Offset, bytes: u32) {
        if let Some(variable) = self.slot(offset) {
            let value = self.builder.use_var(variable);
            self.store(Pointer { base: self.frame, offset: offset as i32 }, bytes, value);
        }
    }

    /// Emits the load of a number from its place in the frame to its variable.
    pub(super) fn fetch(&mut self, offset: Offset, bytes: u32) {
        if let Some(variable) = self.slot(offset) {
            let value = self.load(Pointer { base: self.frame, offset: offset as i32 }, bytes);
            self.builder.def_var(variable, value);
        }
    }

    /// Emits the copy of the varbit at the end of a header to its place in the frame. The varbit
    /// begins `bytes` bytes after the header's first bit.
    pub(super) fn spill_tail(&mut self, flag: Offset, bytes: u32) {
        if self.header_pointer(flag).is_none() {
            return;
        }
        self.spill(flag + TAIL, 4);
        let header = Address::fixed(flag);
        let from = self.header(header).data;
        let to = Pointer { base: self.frame, offset: (flag + DATA + bytes) as i32 };
        let width = self.tail_width(header);
        self.copy_tail(to, from.plus(bytes), width);
    }

    /// Emits the copy of a header's validity flag and of its first `bytes` bytes to their place in
    /// the frame.
    pub(super) fn spill_header(&mut self, flag: Offset, bytes: u32) {
        self.spill(flag, 1);
        if self.header_pointer(flag).is_none() {
            return;
        }
        let from = self.bits_at(Address::fixed(flag + DATA));
        let to = Pointer { base: self.frame, offset: (flag + DATA) as i32 };
        // The header may lie in the frame already; then the copy changes nothing.
        self.copy(to, from, bytes);
    }
}
