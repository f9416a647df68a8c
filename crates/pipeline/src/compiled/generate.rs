//! Generates machine code from the resolved program with Cranelift. `Compiled::new` calls
//! [`Machine::new`] for each program that is loaded.
//!
//! Each parser, control, action and function becomes one generated function over the frame and the
//! context. Numbers are loaded where they are used and stored where they are written: Cranelift
//! forwards stores to loads within a block. Code pages are first written and then made executable;
//! they are never both.

mod arrays;
mod assemble;
mod burst;
mod checksum;
mod cold;
mod crc;
mod effort;
mod expression;
mod members;
mod memory;
mod meters;
mod parser;
mod places;
mod probe;
mod stack;
mod statement;
mod table;
mod timers;

use self::assemble::Made;
use self::effort::Effort;
use self::places::Places;
pub use self::stack::WORKER_STACK_BYTES;
use super::added;
use super::burst::{Owned, Sought, Stage, Stages};
use super::context::{self, Code, Context, flow};
use super::meters as meters_of_host;
use super::straight::Straight;
use crate::bound::{Body, Bound, Callee};
use crate::error::CompileError;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    self as clif, AbiParam, InstBuilder, MemFlagsData, Signature, UserFuncName, Value, types,
};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};
use std::collections::HashMap;
use std::fmt;
use std::mem::offset_of;

/// The offsets of the fields of the context.
mod context_offset {
    use super::{Context, offset_of};

    pub(super) const PACKET: usize = offset_of!(Context, packet);
    pub(super) const LENGTH: usize = offset_of!(Context, length);
    pub(super) const CURSOR: usize = offset_of!(Context, cursor);
    pub(super) const EMITTED: usize = offset_of!(Context, emitted);
    pub(super) const EMITTED_LENGTH: usize = offset_of!(Context, emitted_length);
    pub(super) const WORK_LEFT: usize = offset_of!(Context, work_left);
    pub(super) const ERROR: usize = offset_of!(Context, error);
    pub(super) const FAULT: usize = offset_of!(Context, fault);
    pub(super) const LENGTH_CHANGE: usize = offset_of!(Context, length_change);
    pub(super) const TRUNCATE: usize = offset_of!(Context, truncate);
    pub(super) const DESTINATION: usize = offset_of!(Context, destination);
    pub(super) const TIMED: usize = offset_of!(Context, timed);
    pub(super) const NOW: usize = offset_of!(Context, now);
    pub(super) const CHECKSUM_ERROR: usize = offset_of!(Context, checksum_error);
    pub(super) const ASKED: usize = offset_of!(Context, asked);
    pub(super) const RECEIVED_LENGTH: usize = offset_of!(Context, received_length);
    pub(super) const TABLES: usize = offset_of!(Context, tables);
    pub(super) const ARRAYS: usize = offset_of!(Context, arrays);
    pub(super) const IS_ALONE: usize = offset_of!(Context, is_alone);
    pub(super) const HAS_LEFT: usize = offset_of!(Context, has_left);
}

/// The functions of the host that generated code calls: name, pointer, number of parameters, and
/// whether the function returns a value. The order is that of [`CallOut`].
fn call_outs() -> [(&'static str, *const u8, usize, bool); 20] {
    [
        ("apply", context::apply as *const u8, 4, true),
        ("default_action", context::default_action as *const u8, 3, true),
        ("leave", context::leave as *const u8, 3, false),
        ("read_register", context::read_register as *const u8, 4, true),
        ("write_register", context::write_register as *const u8, 4, false),
        ("count", context::count as *const u8, 3, false),
        ("interpret", context::interpret as *const u8, 3, true),
        ("look_up", context::look_up as *const u8, 3, true),
        ("end_look_up", context::end_look_up as *const u8, 3, true),
        ("hash", context::hash as *const u8, 4, true),
        ("expire", context::expire as *const u8, 4, false),
        ("begin_look_up", context::begin_look_up as *const u8, 5, false),
        ("restart_timer", context::restart_timer as *const u8, 2, false),
        ("meter", meters_of_host::meter as *const u8, 5, true),
        ("entry_meter", meters_of_host::entry_meter as *const u8, 5, true),
        ("is_member", context::is_member as *const u8, 5, true),
        ("add_entry", added::add_entry as *const u8, 2, true),
        ("count_entry", meters_of_host::count_entry as *const u8, 4, false),
        ("defer", context::defer as *const u8, 5, false),
        ("refill", context::refill as *const u8, 1, true),
    ]
}

/// A function of the host that generated code calls, in the order of [`call_outs`].
#[derive(Clone, Copy)]
enum CallOut {
    Apply,
    DefaultAction,
    Leave,
    ReadRegister,
    WriteRegister,
    Count,
    Interpret,
    LookUp,
    EndLookUp,
    Hash,
    Expire,
    BeginLookUp,
    RestartTimer,
    Meter,
    EntryMeter,
    IsMember,
    AddEntry,
    CountEntry,
    Defer,
    Refill,
}

/// The generated code of a program.
pub(super) struct Machine {
    /// The module that owns the code pages; taken when they are freed.
    module: Option<JITModule>,
    /// The code of the package's blocks.
    blocks: Vec<Code>,
    /// The stages for packets that are processed in bursts, if the program has them.
    pub(super) stages: Option<Stages>,
    /// The packed tables in which all packets of a burst are looked up at once.
    pub(super) sought: Vec<Sought>,
    /// The packed tables whose counters and timers are prefetched for all packets of a burst.
    pub(super) owned: Vec<Owned>,
    /// Whether the buckets or keys that packets need can be computed before the packets are parsed.
    pub(super) asks: bool,
    /// The tables whose buckets are prefetched ahead of the fused function.
    pub(super) asked: Vec<u32>,
    /// The size of the code in bytes.
    pub(super) size: usize,
    /// The most bytes of stack that the code takes.
    pub(super) stack: u64,
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").field("size", &self.size).finish_non_exhaustive()
    }
}

// SAFETY: after `Machine::new`, nothing writes the pages or the module until they are dropped, so
// the thread that owns them does not matter.
unsafe impl Send for Machine {}
// SAFETY: shared access only reads and runs code, which nothing writes after `Machine::new`.
unsafe impl Sync for Machine {}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: code runs only inside `Machine::run` and the stages, which borrow the
            // machine, and no pointer to the code outlives the machine.
            unsafe { module.free_memory() };
        }
    }
}

impl Machine {
    /// Generates and compiles the code of a program: its blocks and, if the program has a plan, the
    /// stages.
    pub(super) fn new(bound: &Bound, straight: Option<&Straight>) -> Result<Self, CompileError> {
        let isa = Effort::Full.isa()?;
        let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
        for (name, pointer, _, _) in call_outs() {
            builder.symbol(format!("planimeter_{name}"), pointer);
        }
        let mut module = JITModule::new(builder);
        let names = Names::new(&mut module, bound)?;
        let mut builders = FunctionBuilderContext::new();
        let mut made = Made::default();
        for (callee, body) in &bound.bodies {
            let Some(id) = names.bodies.get(callee).copied() else { continue };
            let mut context = names.context(&module, id);
            let builder = FunctionBuilder::new(&mut context.func, &mut builders);
            Function::new(builder, &mut module, &names, bound).body(body);
            made.push(id, context);
        }
        made.push(names.cold, cold::make(names.cold, &module, &mut builders));
        let planned = straight.and_then(|straight| Some((straight, straight.plan.as_ref().ok()?)));
        let asked = planned.and_then(|(straight, plan)| burst::ask::asked(bound, straight, plan));
        let mut stages = Vec::new();
        for name in ["parse", "pass", "whole", "ask"] {
            let Some((straight, plan)) = planned else { break };
            if name == "whole" && !burst::whole::is_possible(plan, asked.as_ref()) {
                break;
            }
            if name == "ask" && (bound.samples || asked.is_none()) {
                break;
            }
            let id = module
                .declare_function(name, Linkage::Local, &names.block)
                .map_err(CompileError::generator)?;
            let mut context = names.context(&module, id);
            let builder = FunctionBuilder::new(&mut context.func, &mut builders);
            let function = Function::new(builder, &mut module, &names, bound);
            match (name, &asked) {
                ("parse", _) => function.parse_stage(straight, plan),
                ("pass", _) => function.pass_stage(straight, plan),
                ("ask", Some(asked)) => function.ask_stage((straight, plan), asked),
                _ => {
                    let told = asked.as_ref().filter(|_| !bound.samples);
                    function.whole_stage((straight, plan), told);
                }
            }
            made.push(id, context);
            stages.push(id);
        }
        let (size, stack) = made.define(&mut module)?;
        module.finalize_definitions().map_err(CompileError::generator)?;
        let code = |id: FuncId| {
            let pointer = module.get_finalized_function(id);
            // SAFETY: the function was defined with the signature of `Code`: two pointers in, a
            // 64-bit number out, in the calling convention of the platform.
            unsafe { std::mem::transmute::<*const u8, Code>(pointer) }
        };
        let blocks = bound.blocks.iter().map(|block| {
            let id = names.bodies.get(&block.callee).copied();
            id.map(code).ok_or_else(|| CompileError::generator("a block without code"))
        });
        let blocks = blocks.collect::<Result<_, _>>()?;
        let stage = |id: FuncId| {
            let pointer = module.get_finalized_function(id);
            // SAFETY: the function was defined with two 64-bit parameters and one 64-bit result in
            // the calling convention of the platform, which is the signature of `Stage`.
            unsafe { std::mem::transmute::<*const u8, Stage>(pointer) }
        };
        let stages = match stages.as_slice() {
            [parse, pass, others @ ..] => Some(Stages {
                parse: stage(*parse),
                pass: stage(*pass),
                whole: others.first().map(|whole| stage(*whole)),
                ask: others.get(1).map(|ask| stage(*ask)),
            }),
            _ => None,
        };
        let sought = planned.map(|(straight, plan)| burst::sought(bound, straight, plan));
        let sought = sought.unwrap_or_default();
        let owned = planned.map(|(straight, plan)| burst::owned(bound, straight, plan));
        let owned = owned.unwrap_or_default();
        let asks = asked.is_some();
        let asked = asked.iter().flat_map(|asked| asked.numbers()).collect();
        Ok(Self { asks, asked, blocks, stages, sought, owned, module: Some(module), size, stack })
    }

    /// Runs a block of the package by its position there, and returns how it ended ([`flow`]).
    ///
    /// # Safety
    ///
    /// The frame must have the length that the resolved program states and be aligned to eight
    /// bytes. The context's packet and its output buffer must be as long as the context states, and
    /// the buffer as long as the resolved program needs. The context's host must be alive.
    pub(super) unsafe fn run(&self, block: usize, frame: *mut u8, context: &mut Context) -> i64 {
        let Some(code) = self.blocks.get(block) else { return flow::NEXT };
        // SAFETY: the caller guarantees that frame and context are valid, and the pages live as
        // long as `self`.
        unsafe { code(frame, context) }
    }
}

/// The functions that the module declares.
struct Names {
    block: Signature,
    bodies: HashMap<Callee, FuncId>,
    call_outs: Vec<FuncId>,
    /// The function that makes calls on cold paths; see [`cold`].
    cold: FuncId,
}

impl Names {
    fn new(module: &mut JITModule, bound: &Bound) -> Result<Self, CompileError> {
        let signature = |module: &JITModule, parameters: usize, gives: bool| {
            let mut signature = module.make_signature();
            signature.params.extend((0..parameters).map(|_| AbiParam::new(types::I64)));
            signature.returns.extend(gives.then(|| AbiParam::new(types::I64)));
            signature
        };
        let block = signature(module, 2, true);
        let mut bodies = HashMap::new();
        for (number, (callee, _)) in bound.bodies.iter().enumerate() {
            let name = format!("block_{number}");
            let id = module
                .declare_function(&name, Linkage::Local, &block)
                .map_err(CompileError::generator)?;
            bodies.insert(*callee, id);
        }
        let mut ids = Vec::new();
        for (name, _, parameters, gives) in call_outs() {
            let signature = signature(module, parameters, gives);
            let name = format!("planimeter_{name}");
            ids.push(
                module
                    .declare_function(&name, Linkage::Import, &signature)
                    .map_err(CompileError::generator)?,
            );
        }
        let cold = cold::declare(module)?;
        Ok(Self { block, bodies, call_outs: ids, cold })
    }

    /// Creates the context of a block or a stage that is to be generated.
    fn context(&self, module: &JITModule, id: FuncId) -> cranelift_codegen::Context {
        let mut context = module.make_context();
        context.func.signature = self.block.clone();
        context.func.name = UserFuncName::user(0, id.as_u32());
        context
    }
}

/// A function that is being generated.
struct Function<'f, 'm> {
    builder: FunctionBuilder<'f>,
    module: &'m mut JITModule,
    names: &'m Names,
    bound: &'m Bound,
    config: TargetFrontendConfig,
    frame: Value,
    context: Value,
    /// The blocks to which `continue` and `break` jump, for each loop, the innermost last.
    loops: Vec<(clif::Block, clif::Block)>,
    /// The block to which `return` jumps in a state of a parser.
    state_end: Option<clif::Block>,
    /// The places of values that are variables of the function. `None` if all values are in the
    /// frame.
    places: Option<Places<'m>>,
}

impl<'f, 'm> Function<'f, 'm> {
    fn new(
        mut builder: FunctionBuilder<'f>,
        module: &'m mut JITModule,
        names: &'m Names,
        bound: &'m Bound,
    ) -> Self {
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let (frame, context) = match builder.block_params(entry) {
            [frame, context] => (*frame, *context),
            _ => {
                let none = builder.ins().iconst(types::I64, 0);
                (none, none)
            }
        };
        let config = module.target_config();
        let loops = Vec::new();
        let (state_end, places) = (None, None);
        Self { builder, module, names, bound, config, frame, context, loops, state_end, places }
    }

    fn body(mut self, body: &Body) {
        match body {
            Body::Block(block) => {
                if !self.block(block) {
                    self.leave(flow::NEXT);
                }
            }
            Body::Parser(parser) => self.parser(parser),
        }
        self.builder.seal_all_blocks();
        let frontend = self.module.target_config();
        self.builder.finalize(frontend);
    }

    /// Ends the function, or the current inlined body, with the given [`flow`].
    fn leave(&mut self, how: i64) {
        if self.jump_to_end(how) {
            return;
        }
        let how = self.builder.ins().iconst(types::I64, how);
        self.builder.ins().return_(&[how]);
    }

    /// Returns a field of the context, from its variable or from memory.
    fn context_field(&mut self, offset: usize) -> Value {
        if let Some(variable) = self.context_variable(offset) {
            return self.builder.use_var(variable);
        }
        let flags = MemFlagsData::new().with_notrap();
        self.builder.ins().load(types::I64, flags, self.context, offset as i32)
    }

    /// Sets a field of the context, in its variable or in memory.
    fn set_context_field(&mut self, offset: usize, value: Value) {
        if let Some(variable) = self.context_variable(offset) {
            return self.builder.def_var(variable, value);
        }
        let flags = MemFlagsData::new().with_notrap();
        self.builder.ins().store(flags, value, self.context, offset as i32);
    }

    /// Continues in a new block if the condition holds; otherwise runs the code that `otherwise`
    /// emits, which must end in a terminator.
    fn unless(&mut self, condition: Value, otherwise: impl FnOnce(&mut Self)) {
        let (fails, goes_on) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(fails);
        self.builder.ins().brif(condition, goes_on, &[], fails, &[]);
        self.builder.switch_to_block(fails);
        otherwise(self);
        self.builder.switch_to_block(goes_on);
    }

    /// Returns from the function with the result of a call, unless that is [`flow::NEXT`].
    fn return_unless_next(&mut self, how: Value) {
        let is_next = self.builder.ins().icmp_imm_s(IntCC::Equal, how, flow::NEXT);
        self.unless(is_next, |function| {
            function.builder.ins().return_(&[how]);
        });
    }

    /// Ends the parser with an error.
    fn reject(&mut self, error: Value) {
        self.set_context_field(context_offset::ERROR, error);
        self.leave(flow::REJECT);
    }

    /// Ends the parser with the given error unless the condition holds.
    fn reject_unless(&mut self, condition: Value, error: u64) {
        self.unless(condition, |function| {
            let error = function.number(error);
            function.reject(error);
        });
    }

    /// Ends the function with the given fault unless the condition holds.
    fn fault_unless(&mut self, condition: Value, fault: u64) {
        self.unless(condition, |function| {
            let fault = function.number(fault);
            function.set_context_field(context_offset::FAULT, fault);
            function.leave(flow::FAULT);
        });
    }

    /// Charges units of work to the packet, and emits a fault for a packet that has none left.
    fn charge(&mut self, units: u32) {
        let left = self.context_field(context_offset::WORK_LEFT);
        let left = self.builder.ins().iadd_imm_s(left, -i64::from(units));
        self.set_context_field(context_offset::WORK_LEFT, left);
        // In a burst, the budget covers all that one pass through the program can do, so it is not
        // checked.
        if self.places.is_none() {
            let is_left = self.builder.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, left, 0);
            let (refills, goes_on) = (self.builder.create_block(), self.builder.create_block());
            self.builder.set_cold_block(refills);
            self.builder.ins().brif(is_left, goes_on, &[], refills, &[]);
            self.builder.switch_to_block(refills);
            let left = self.call_out(CallOut::Refill, &[self.context]).unwrap_or(left);
            let is_left = self.builder.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, left, 0);
            self.fault_unless(is_left, context::WORK_LIMIT);
            self.builder.ins().jump(goes_on, &[]);
            self.builder.switch_to_block(goes_on);
        }
    }

    /// Emits a host call, and returns its result if it has one.
    fn call_out(&mut self, call_out: CallOut, arguments: &[Value]) -> Option<Value> {
        let id = self.names.call_outs.get(call_out as usize).copied()?;
        let function = self.module.declare_func_in_func(id, self.builder.func);
        let call = self.builder.ins().call(function, arguments);
        self.builder.inst_results(call).first().copied()
    }

    /// Emits a call of the code of a block, and returns how it ended.
    fn call_block(&mut self, callee: Callee) -> Value {
        let id = self.names.bodies.get(&callee).copied();
        let arguments = [self.frame, self.context];
        let result = id.and_then(|id| {
            let function = self.module.declare_func_in_func(id, self.builder.func);
            let call = self.builder.ins().call(function, &arguments);
            self.builder.inst_results(call).first().copied()
        });
        match result {
            Some(result) => result,
            None => self.number(flow::FAULT.cast_unsigned()),
        }
    }
}
