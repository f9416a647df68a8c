//! Where values are: in the frame, or in variables of the function as a plan has it.
//!
//! With [`Places`] what is called is written out where it is called, and ends by jumps.

use super::burst::ask::has_told_key;
use super::memory::{Pointer, data};
use super::probe::Told;
use super::{Function, context_offset, flow};
use crate::bound::shape::{DATA, Shape, Storage, TAIL};
use crate::bound::{Address, Body, Callee, Field, Offset, Table};
use crate::compiled::burst::{Burst, Column};
use crate::compiled::plan::Plan;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use cranelift_frontend::Variable;
use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;
use std::ops::Range;

/// Variables of a function; see the module.
pub(super) struct Places<'p> {
    pub(super) plan: &'p Plan,
    /// Numbers by offset.
    slots: BTreeMap<Offset, Variable>,
    /// Where the bits of each header are, by the offset of its flag.
    pointers: BTreeMap<Offset, Variable>,
    /// Headers that were extracted are read where the packet came in, which may end with them.
    reads_input: bool,
    /// Nobody wants to know what checksums that are verified came to.
    ignores_verification: bool,
    /// If packets are parsed and brought to their end by one function.
    whole: Option<Whole>,
    /// What would be in the context.
    fields: Vec<(usize, Variable)>,
    /// Of what is written out, the innermost last.
    ends: Vec<End>,
    /// Where a packet goes that cannot be processed.
    fault: Block,
    /// Native tables in which the burst was sought already.
    ahead: Vec<u32>,
    /// The burst, and which of its packets is at hand.
    columns: Option<(Value, Variable)>,
}

/// Of a header, whatever is written.
pub(super) const ALL_BITS: Range<u32> = 0..u32::MAX;

impl Whole {
    /// Whether a header lies where it did in the packet that came in, and nothing was written in these of its bits.
    fn lies_as_told(&self, flag: Offset, bits: &Range<u32>) -> bool {
        matches!(self.known.get(&flag), Some(Known::At(_)))
            && self.extracted.contains(&flag)
            && !self.is_written(flag, bits)
    }

    fn is_written(&self, flag: Offset, bits: &Range<u32>) -> bool {
        self.writes(flag, bits).next().is_some()
    }

    fn is_written_in_part(&self, flag: Offset, bits: &Range<u32>) -> bool {
        self.writes(flag, bits).any(|other| other.start > bits.start || other.end < bits.end)
    }

    /// What may have been written of some bits of a header, with others around them.
    fn writes(&self, flag: Offset, bits: &Range<u32>) -> impl Iterator<Item = &Range<u32>> {
        let written = self.written.get(&flag).into_iter().flatten();
        written.filter(|other| other.start < bits.end && bits.start < other.end)
    }
}

/// Where headers are read while the packet was just copied to where it leaves from: what a processor stores in some pieces
/// it can read again in others only when it has come to the cache. So fields are read where the packet came in, as long as
/// nothing was written there; code is made in the order in which it may run.
struct Whole {
    /// Where the packet leaves from; nothing once it is parsed there.
    output: Option<Value>,
    /// Where the bits of each header are, or were, in the packet that came in.
    sources: BTreeMap<Offset, Variable>,
    /// Bits of headers that may have been written.
    written: BTreeMap<Offset, Vec<Range<u32>>>,
    /// Headers that were extracted, whichever way the packet came here.
    extracted: BTreeSet<Offset>,
    /// Where headers lie in the packet, as long as that is known: nothing has touched them as a whole since.
    known: BTreeMap<Offset, Known>,
    /// Where the payload begins, if that is known.
    payload: Option<u32>,
    /// Buckets of native tables for the key as the packet came in with it, by the tables' numbers.
    told: BTreeMap<u32, Value>,
    /// Native tables in which the key as the packet came in with it was sought.
    sought: BTreeSet<u32>,
    /// The state of the outermost parser that is written out.
    state: Option<u32>,
    /// Where that parser accepts, and in which of its states.
    accepts: Vec<(Block, u32)>,
}

/// What is known of a header whichever way the packet came, without a look at the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// It was extracted at this byte.
    At(u32),
    /// It was not extracted.
    Absent,
}

/// Fields of the context that are variables.
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

/// Where control goes from the body of something that is called.
#[derive(Clone, Copy)]
pub(super) struct End {
    pub(super) next: Block,
    /// If it has such an end.
    pub(super) exit: Option<Block>,
    pub(super) reject: Option<Block>,
}

/// Where the bits of a header may be read.
#[derive(Clone, Copy)]
pub(super) struct Readable {
    pub(super) at: Pointer,
    /// So many bytes are there; where that is not given, more than the header has.
    pub(super) bytes: Option<u32>,
    /// They are those of the packet that came in, which no code writes.
    pub(super) is_input: bool,
}

/// A header as code finds it.
#[derive(Clone, Copy)]
pub(super) struct HeaderPlace {
    flag: Flag,
    pub(super) data: Pointer,
}

#[derive(Clone, Copy)]
enum Flag {
    Memory(Pointer),
    Variable(Variable),
}

impl<'m> Function<'_, 'm> {
    /// Makes a variable of each number and header of a plan; the function's frame is that of the packet at hand.
    pub(super) fn use_plan(&mut self, plan: &'m Plan, fault: Block) {
        let mut variables = || self.builder.declare_var(types::I64);
        let slots = plan.slots.keys().map(|offset| (*offset, variables())).collect();
        let pointers = plan.headers.keys().map(|offset| (*offset, variables())).collect();
        let fields = FIELDS.iter().map(|field| (*field, variables())).collect();
        let (ends, ahead) = (Vec::new(), Vec::new());
        let (reads_input, whole, columns) = (false, None, None);
        self.places = Some(Places {
            plan,
            slots,
            pointers,
            reads_input,
            ignores_verification: false,
            whole,
            fields,
            ends,
            fault,
            ahead,
            columns,
        });
    }

    /// Says which burst the packet at hand is of, and which of its packets it is.
    pub(super) fn set_columns(&mut self, burst: Value, index: Variable) {
        if let Some(places) = &mut self.places {
            places.columns = Some((burst, index));
        }
    }

    /// Says whether headers that are extracted are read where the packet came in.
    pub(super) fn reads_input(&mut self, reads: bool) {
        if let Some(places) = &mut self.places {
            places.reads_input = reads;
        }
    }

    /// Says that nobody wants to know what checksums that are verified came to.
    pub(super) fn ignore_verification(&mut self) {
        if let Some(places) = &mut self.places {
            places.ignores_verification = true;
        }
    }

    pub(super) fn ignores_verification(&self) -> bool {
        self.places.as_ref().is_some_and(|places| places.ignores_verification)
    }

    /// Says that the function brings each packet to its end, where that leaves from.
    pub(super) fn begin_whole(&mut self, output: Value) {
        let Some(places) = &mut self.places else { return };
        let mut variables = || self.builder.declare_var(types::I64);
        let sources = places.pointers.keys().map(|flag| (*flag, variables())).collect();
        places.whole = Some(Whole {
            output: Some(output),
            sources,
            written: BTreeMap::new(),
            extracted: BTreeSet::new(),
            known: BTreeMap::new(),
            payload: None,
            told: BTreeMap::new(),
            sought: BTreeSet::new(),
            state: None,
            accepts: Vec::new(),
        });
    }

    /// Says that the packet is parsed, from now on, where it leaves from.
    pub(super) fn parses_output(&mut self) {
        if let Some(Places { whole: Some(whole), .. }) = &mut self.places {
            whole.output = None;
            whole.known.clear();
            whole.payload = None;
        }
    }

    /// Whether the function brings each packet to its end.
    pub(super) fn is_whole(&self) -> bool {
        self.whole().is_some()
    }

    /// Whether all tables are used in their place, as they are at the beginning of a burst for such a function.
    pub(super) fn stays_in_place(&self) -> bool {
        self.is_whole() && self.plan().is_some_and(|plan| !plan.leaves_gate)
    }

    fn whole(&self) -> Option<&Whole> {
        self.places.as_ref()?.whole.as_ref()
    }

    /// Says which state of a parser is written out.
    pub(super) fn begin_state(&mut self, state: u32) {
        if let Some(Places { whole: Some(whole), ends, .. }) = &mut self.places
            && ends.len() == 1
            && whole.output.is_some()
        {
            whole.state = Some(state);
        }
    }

    /// Where the parser accepts, and in which states; nothing was written in a header there.
    pub(super) fn end_of_parser(&mut self) -> Vec<(Block, u32)> {
        let Some(Places { whole: Some(whole), .. }) = &mut self.places else { return Vec::new() };
        whole.state = None;
        std::mem::take(&mut whole.accepts)
    }

    /// Goes on with a packet of which nothing was written in a header, and these headers were extracted; of some it is
    /// known where they lie, and where the payload begins.
    pub(super) fn begin_way(
        &mut self,
        extracted: BTreeSet<Offset>,
        (known, payload): (BTreeMap<Offset, Known>, Option<u32>),
    ) {
        if let Some(Places { whole: Some(whole), .. }) = &mut self.places {
            whole.written.clear();
            whole.extracted = extracted;
            (whole.known, whole.payload) = (known, payload);
            whole.told.clear();
            whole.sought.clear();
        }
    }

    /// Says which buckets were told for a packet whose headers lie as they were told to, and in which tables it was sought.
    pub(super) fn set_told(&mut self, told: BTreeMap<u32, Value>, sought: BTreeSet<u32>) {
        if let Some(Places { whole: Some(whole), .. }) = &mut self.places {
            (whole.told, whole.sought) = (told, sought);
        }
    }

    /// What was told of the key of a native table, if nothing that the key is made of was written since.
    pub(super) fn told(&mut self, number: u32, table: &Table) -> Option<Told> {
        let whole = self.whole()?;
        let bucket = whole.told.get(&number).copied()?;
        if !has_told_key(table, &|flag, bits| whole.lies_as_told(flag, bits)) {
            return None;
        }
        let column = self.plan().and_then(|plan| plan.keys.get(&number).copied());
        let found = column.and_then(|column| self.left_number(column));
        Some(Told { bucket, found })
    }

    /// Whether a packet was sought in a native table with the key that it has: nothing that is made of was written since.
    pub(super) fn is_sought_as_told(&self, number: u32, table: &Table) -> bool {
        self.whole().is_some_and(|whole| {
            whole.sought.contains(&number)
                && has_told_key(table, &|flag, bits| whole.lies_as_told(flag, bits))
        })
    }

    /// Where a header lies in the packet, if that is known without a look.
    pub(super) fn known_place(&self, header: Address) -> Option<Known> {
        let whole = self.whole().filter(|_| header.element.is_none())?;
        whole.known.get(&header.offset).copied()
    }

    /// Where in the packet the payload begins, if that is known without a look.
    pub(super) fn known_payload(&self) -> Option<u32> {
        self.whole()?.payload
    }

    fn written_in(&mut self, flag: Offset, bits: Range<u32>) {
        if let Some(Places { whole: Some(whole), .. }) = &mut self.places {
            let written = whole.written.entry(flag).or_default();
            if !written.contains(&bits) {
                written.push(bits);
            }
        }
    }

    /// A header may come to lie elsewhere from now on, or to be there no more.
    fn moved(&mut self, flag: Offset) {
        if let Some(Places { whole: Some(whole), .. }) = &mut self.places {
            whole.known.remove(&flag);
        }
    }

    /// Says where the bits of a header are, and where they may be read.
    pub(super) fn point_to(&mut self, flag: Offset, at: Value, source: Value) {
        self.moved(flag);
        if let Some(Places { whole: Some(whole), .. }) = &mut self.places
            && at == source
        {
            // It is not in the packet that came in.
            whole.extracted.remove(&flag);
        }
        let whole = self.whole().and_then(|whole| whole.sources.get(&flag).copied());
        for (variable, at) in [(self.header_pointer(flag), at), (whole, source)] {
            if let Some(variable) = variable {
                self.builder.def_var(variable, at);
            }
        }
    }

    /// Says that the burst was sought in these native tables.
    pub(super) fn set_ahead(&mut self, numbers: Vec<u32>) {
        if let Some(places) = &mut self.places {
            places.ahead = numbers;
        }
    }

    /// Which of the burst's columns has what was sought in a native table, and what was found.
    pub(super) fn found_ahead(&self, number: u32) -> Option<usize> {
        let places = self.places.as_ref().filter(|places| places.ahead.contains(&number))?;
        places.plan.ahead.get(&number).copied()
    }

    /// Where the key of the packet at hand lies in one of the burst's columns, and where what was found for it.
    fn in_column(&mut self, column: usize) -> Option<[Pointer; 2]> {
        let (burst, index) = self.places.as_ref()?.columns?;
        let columns = Pointer { base: burst, offset: offset_of!(Burst, columns) as i32 };
        let columns = self.load(columns, 8);
        let at = self.builder.use_var(index);
        let of_key = self.builder.ins().imul_imm_s(at, size_of::<[u64; 2]>() as i64);
        let of_found = self.builder.ins().imul_imm_s(at, size_of::<u32>() as i64);
        let of_column = column * size_of::<Column>();
        let parts = [(of_key, offset_of!(Column, keys)), (of_found, offset_of!(Column, found))];
        Some(parts.map(|(distance, part)| Pointer {
            base: self.builder.ins().iadd(columns, distance),
            offset: (of_column + part) as i32,
        }))
    }

    /// Leaves a key of two words of the packet at hand, the low one first.
    pub(super) fn leave_key(&mut self, column: usize, key: [Value; 2]) {
        let Some([at, _]) = self.in_column(column) else { return };
        for (word, place) in key.into_iter().zip([at, at.plus(8)]) {
            self.store(place, 8, word);
        }
    }

    /// The number that was found for the key that was left of the packet at hand.
    pub(super) fn left_number(&mut self, column: usize) -> Option<Value> {
        let [_, found] = self.in_column(column)?;
        Some(self.load(found, 4))
    }

    /// The key that was left of the packet at hand, the low word first, and the number that was found for it.
    pub(super) fn left_key(&mut self, column: usize) -> Option<([Value; 2], Value)> {
        let [at, found] = self.in_column(column)?;
        let key = [at, at.plus(8)].map(|place| self.load(place, 8));
        Some((key, self.load(found, 4)))
    }

    pub(super) fn plan(&self) -> Option<&'m Plan> {
        self.places.as_ref().map(|places| places.plan)
    }

    pub(super) fn slot(&self, offset: Offset) -> Option<Variable> {
        self.places.as_ref().and_then(|places| places.slots.get(&offset).copied())
    }

    pub(super) fn header_pointer(&self, flag: Offset) -> Option<Variable> {
        self.places.as_ref().and_then(|places| places.pointers.get(&flag).copied())
    }

    pub(super) fn context_variable(&self, field: usize) -> Option<Variable> {
        let places = self.places.as_ref()?;
        places.fields.iter().find(|(known, _)| *known == field).map(|(_, variable)| *variable)
    }

    /// The variable that a number is in.
    pub(super) fn variable_of(&self, field: Field) -> Option<Variable> {
        match field.scalar.storage {
            Storage::Native { .. } => self.slot(field.address.offset),
            Storage::Packed { .. } | Storage::Wide { .. } => None,
        }
    }

    /// Where the address of a header's first bit leads; see [`Field`].
    pub(super) fn bits_at(&mut self, address: Address) -> Pointer {
        match self.header_pointer(address.offset.wrapping_sub(DATA)) {
            Some(pointer) => Pointer { base: self.builder.use_var(pointer), offset: 0 },
            None => self.pointer(address),
        }
    }

    /// Whether some of these bits of a header may have been written by themselves.
    pub(super) fn is_written_in_part(&self, address: Address, bits: &Range<u32>) -> bool {
        let flag = address.offset.wrapping_sub(DATA);
        self.whole().is_some_and(|whole| whole.is_written_in_part(flag, bits))
    }

    /// As [`Self::bits_at`] for who reads these of them.
    pub(super) fn bits_to_read(&mut self, address: Address, bits: Range<u32>) -> Readable {
        let flag = address.offset.wrapping_sub(DATA);
        let header = self.plan().and_then(|plan| plan.headers.get(&flag));
        let extracted = header.and_then(|header| header.extracted);
        let whole = self.whole().filter(|whole| !whole.is_written(flag, &bits));
        match whole.and_then(|whole| whole.sources.get(&flag).copied()) {
            Some(source) => {
                let is_input = whole.is_some_and(|whole| whole.extracted.contains(&flag));
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

    /// As [`Self::bits_at`] for who writes these of them.
    pub(super) fn bits_to_write(&mut self, address: Address, bits: Range<u32>) -> Pointer {
        self.written_in(address.offset.wrapping_sub(DATA), bits);
        self.bits_at(address)
    }

    /// A header as a whole, in which the caller may write.
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

    /// Takes a header from the packet; where it has a variable for that, it stays there.
    pub(super) fn take_header(
        &mut self,
        header: Address,
        to: HeaderPlace,
        from: Pointer,
        bytes: u32,
    ) {
        if self.header_pointer(header.offset).is_some() {
            let source = self.builder.ins().iadd_imm_s(from.base, i64::from(from.offset));
            let output = self.whole().and_then(|whole| whole.output);
            let at = match output {
                Some(output) => {
                    let cursor = self.context_field(context_offset::CURSOR);
                    self.builder.ins().iadd(output, cursor)
                }
                None => source,
            };
            self.point_to(header.offset, at, source);
            if let Some(Places { whole: Some(whole), .. }) = &mut self.places {
                whole.written.remove(&header.offset);
            }
        } else {
            self.copy(to.data, from, bytes);
        }
        let valid = self.number(1);
        self.set_flag(to, valid);
    }

    /// Bits that the varbit at the end of a header holds.
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

    /// Copies what a varbit of so many bits holds; most often nothing.
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

    /// All of a header but its flag, to where it lies if no packet has it: it may be longer than what is there.
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

    /// All of a range of the frame, or zeros, goes to another one. `false` if the values are in the frame.
    pub(super) fn move_variables(&mut self, to: Offset, from: Option<Offset>, bytes: u32) -> bool {
        let Some(plan) = self.plan() else { return false };
        let start = from.unwrap_or(to);
        let slots = plan.slots_in(start, bytes);
        let values: Vec<Value> = slots
            .iter()
            .map(|(offset, _)| match (from, self.slot(*offset)) {
                (Some(_), Some(variable)) => self.builder.use_var(variable),
                _ => self.number(0),
            })
            .collect();
        for ((offset, _), value) in slots.iter().zip(values) {
            if let Some(variable) = self.slot(offset - start + to) {
                self.builder.def_var(variable, value);
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

    /// Writes out the body of what is called; control goes on where it ends as usual. How else it ends is for the caller.
    pub(super) fn written_out(&mut self, callee: Callee) -> End {
        let next = self.builder.create_block();
        if let Some(places) = &mut self.places {
            places.ends.push(End { next, exit: None, reject: None });
        }
        let loops = std::mem::take(&mut self.loops);
        let state_end = self.state_end.take();
        let bound = self.bound;
        match bound.bodies.get(callee) {
            Some(Body::Block(block)) => {
                if !self.block(block) {
                    self.builder.ins().jump(next, &[]);
                }
            }
            Some(Body::Parser(parser)) => self.parser(parser),
            None => {
                self.builder.ins().jump(next, &[]);
            }
        }
        (self.loops, self.state_end) = (loops, state_end);
        self.builder.switch_to_block(next);
        let end = self.places.as_mut().and_then(|places| places.ends.pop());
        end.unwrap_or(End { next, exit: None, reject: None })
    }

    /// Goes to where the body that is written out ends this way. `false` if this is no such body.
    pub(super) fn jump_to_end(&mut self, how: i64) -> bool {
        let Some(places) = &mut self.places else { return false };
        let fault = places.fault;
        if let (flow::NEXT, [_], Some(whole)) = (how, &places.ends[..], &mut places.whole)
            && let Some(state) = whole.state
        {
            let accept = self.builder.create_block();
            whole.accepts.push((accept, state));
            self.builder.ins().jump(accept, &[]);
            return true;
        }
        let to = match (how, places.ends.last_mut()) {
            (flow::NEXT, Some(end)) => end.next,
            (flow::EXIT, Some(end)) => *end.exit.get_or_insert_with(|| self.builder.create_block()),
            (flow::REJECT, Some(end)) => {
                *end.reject.get_or_insert_with(|| self.builder.create_block())
            }
            _ => fault,
        };
        self.builder.ins().jump(to, &[]);
        true
    }

    /// Calls what is written out here; `behind` comes after it, however it ended.
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

    /// Puts a value where the interpreter takes it from the frame.
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
            // Wide numbers are there; a plan has nothing else.
            _ => {}
        }
    }

    /// Takes a value that the interpreter left in the frame.
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
            _ => {}
        }
    }

    /// Puts a number that is a variable where it would be in the frame.
    pub(super) fn spill(&mut self, offset: Offset, bytes: u32) {
        if let Some(variable) = self.slot(offset) {
            let value = self.builder.use_var(variable);
            self.store(Pointer { base: self.frame, offset: offset as i32 }, bytes, value);
        }
    }

    /// Takes a number from the frame to where it is.
    pub(super) fn fetch(&mut self, offset: Offset, bytes: u32) {
        if let Some(variable) = self.slot(offset) {
            let value = self.load(Pointer { base: self.frame, offset: offset as i32 }, bytes);
            self.builder.def_var(variable, value);
        }
    }

    /// As [`Self::spill`] for what the varbit holds that is so many bytes behind the first bit of a header.
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

    /// As [`Self::spill`] for a header and so many of its bytes.
    pub(super) fn spill_header(&mut self, flag: Offset, bytes: u32) {
        self.spill(flag, 1);
        if self.header_pointer(flag).is_none() {
            return;
        }
        let from = self.bits_at(Address::fixed(flag + DATA));
        let to = Pointer { base: self.frame, offset: (flag + DATA) as i32 };
        // If it lies there, this changes nothing.
        self.copy(to, from, bytes);
    }
}
