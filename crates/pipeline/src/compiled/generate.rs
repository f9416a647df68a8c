//! Generates machine code from the resolved program with Cranelift. `Compiled::new` calls
//! [`MachineCode::new`] for each program that is loaded.
//!
//! Each parser, control, action and function becomes one generated function over the frame and the
//! context. Numbers are loaded where they are used and stored where they are written: Cranelift
//! forwards stores to loads within a block. Code pages are first written and then made executable;
//! they are never both.

mod arrays;
mod assemble;
mod burst;
mod calls;
mod checksum;
mod cold;
mod crc;
mod effort;
mod expression;
mod host_call;
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
use self::burst::prefetch::Prefetched;
use self::effort::Effort;
use self::host_call::{HostCall, HostCalls, signature_of_words};
use self::places::Places;
pub use self::stack::WORKER_STACK_BYTES;
use super::burst::{BatchLookup, Owned, Stage, Stages};
use super::context::{self, Code, Context, flow};
use super::fast_path::FastPath;
use super::plan::Plan;
use crate::error::{CompileError, InternalError};
use crate::resolved::{Body, Callee, ResolvedProgram};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    self as clif, InstBuilder, MemFlagsData, Signature, UserFuncName, Value, types,
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
    pub(super) const REQUESTS: usize = offset_of!(Context, requests);
    pub(super) const RECEIVED_LENGTH: usize = offset_of!(Context, received_length);
    pub(super) const TABLES: usize = offset_of!(Context, tables);
    pub(super) const ARRAYS: usize = offset_of!(Context, arrays);
    pub(super) const IS_ALONE: usize = offset_of!(Context, is_alone);
    pub(super) const HAS_LEFT: usize = offset_of!(Context, has_left);
}

/// A function that processes packets in bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StageKind {
    /// Parses all packets of a burst.
    Parse,
    /// Processes all packets of a burst after their parser.
    Pass,
    /// Processes each packet from parser to deparser.
    Fused,
    /// Computes buckets and keys ahead of the fused function.
    Prefetch,
}

impl StageKind {
    /// Returns the name by which the module declares the function.
    fn name(self) -> &'static str {
        match self {
            Self::Parse => "parse",
            Self::Pass => "pass",
            Self::Fused => "whole",
            Self::Prefetch => "ask",
        }
    }

    /// Returns the stages of a program, in the order in which they are generated.
    fn of_plan(
        resolved: &ResolvedProgram,
        plan: &Plan,
        prefetched: Option<&Prefetched<'_>>,
    ) -> Vec<Self> {
        let mut kinds = vec![Self::Parse, Self::Pass];
        if burst::fused::is_possible(plan, prefetched) {
            kinds.push(Self::Fused);
            if prefetched.is_some() && !resolved.samples {
                kinds.push(Self::Prefetch);
            }
        }
        kinds
    }
}

/// The generated code of a program.
pub(super) struct MachineCode {
    /// The module that owns the code pages; taken when they are freed.
    module: Option<JITModule>,
    /// The code of the package's blocks.
    blocks: Vec<Code>,
    /// The stages for packets that are processed in bursts, if the program has them.
    pub(super) stages: Option<Stages>,
    /// The packed tables in which all packets of a burst are looked up at once.
    pub(super) batch_lookups: Vec<BatchLookup>,
    /// The packed tables whose counters and timers are prefetched for all packets of a burst.
    pub(super) owned: Vec<Owned>,
    /// Whether the buckets or keys that packets need can be computed before the packets are parsed.
    pub(super) prefetches: bool,
    /// The tables whose buckets are prefetched ahead of the fused function.
    pub(super) prefetched: Vec<u32>,
    /// The size of the code in bytes.
    pub(super) size: usize,
    /// The most bytes of stack that the code takes.
    pub(super) stack: u64,
}

impl fmt::Debug for MachineCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MachineCode").field("size", &self.size).finish_non_exhaustive()
    }
}

// SAFETY: after `MachineCode::new`, nothing writes the pages or the module until they are dropped,
// so the thread that owns them does not matter.
unsafe impl Send for MachineCode {}
// SAFETY: shared access only reads and runs code, which nothing writes after `MachineCode::new`.
unsafe impl Sync for MachineCode {}

impl Drop for MachineCode {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: code runs only inside `MachineCode::run` and the stages, which borrow the
            // machine code, and no pointer to the code outlives it.
            unsafe { module.free_memory() };
        }
    }
}

impl MachineCode {
    /// Generates and compiles the code of a program: its blocks and, if the program has a plan, the
    /// stages.
    pub(super) fn new(
        resolved: &ResolvedProgram,
        fast_path: Option<&FastPath>,
    ) -> Result<Self, CompileError> {
        let mut generator = Generator::new(resolved)?;
        generator.bodies()?;
        let planned =
            fast_path.and_then(|fast_path| Some((fast_path, fast_path.plan.as_ref().ok()?)));
        let prefetched = planned
            .and_then(|(fast_path, plan)| burst::prefetch::prefetched(resolved, fast_path, plan));
        let mut stages = Vec::new();
        if let Some((fast_path, plan)) = planned {
            for kind in StageKind::of_plan(resolved, plan, prefetched.as_ref()) {
                stages.push((kind, generator.stage(kind, (fast_path, plan), prefetched.as_ref())?));
            }
        }
        let Generator { mut module, names, made, .. } = generator;
        let (size, stack) = made.define(&mut module)?;
        module.finalize_definitions().map_err(CompileError::generator)?;
        let code = |id: FuncId| {
            let pointer = module.get_finalized_function(id);
            // SAFETY: the function was defined with the signature of `Code`: two pointers in, a
            // 64-bit number out, in the calling convention of the platform.
            unsafe { std::mem::transmute::<*const u8, Code>(pointer) }
        };
        let blocks = resolved.blocks.iter().map(|block| {
            let id = names.bodies.get(&block.callee).copied();
            id.map(code).ok_or_else(|| CompileError::internal("a block without code"))
        });
        let blocks = blocks.collect::<Result<_, _>>()?;
        let stage = |wanted: StageKind| {
            let (_, id) = stages.iter().find(|(kind, _)| *kind == wanted)?;
            let pointer = module.get_finalized_function(*id);
            // SAFETY: the function was defined with two 64-bit parameters and one 64-bit result in
            // the calling convention of the platform, which is the signature of `Stage`.
            Some(unsafe { std::mem::transmute::<*const u8, Stage>(pointer) })
        };
        let stages = match (stage(StageKind::Parse), stage(StageKind::Pass)) {
            (Some(parse), Some(pass)) => {
                let (fused, prefetch_stage) = (stage(StageKind::Fused), stage(StageKind::Prefetch));
                Some(Stages { parse, pass, fused, prefetch_stage })
            }
            _ => None,
        };
        let batch_lookups =
            planned.map(|(fast_path, plan)| burst::batch_lookups(resolved, fast_path, plan));
        let batch_lookups = batch_lookups.unwrap_or_default();
        let owned = planned.map(|(fast_path, plan)| burst::owned(resolved, fast_path, plan));
        let owned = owned.unwrap_or_default();
        let prefetches = prefetched.is_some();
        let prefetched = prefetched.iter().flat_map(|prefetched| prefetched.numbers()).collect();
        Ok(Self {
            prefetches,
            prefetched,
            blocks,
            stages,
            batch_lookups,
            owned,
            module: Some(module),
            size,
            stack,
        })
    }

    /// Runs a block of the package by its position there, and returns how it ended ([`flow`]).
    ///
    /// # Safety
    ///
    /// The frame must have the length that the resolved program states and be aligned to eight
    /// bytes. The context's packet and its output buffer must be as long as the context states, and
    /// the buffer as long as the resolved program needs. The context's host must be alive.
    pub(super) unsafe fn run(&self, block: usize, frame: *mut u8, context: &mut Context) -> i64 {
        let Some(code) = self.blocks.get(block) else {
            context.fault = context::NO_BLOCK;
            return flow::FAULT;
        };
        // SAFETY: the caller guarantees that frame and context are valid, and the pages live as
        // long as `self`.
        unsafe { code(frame, context) }
    }
}

/// The functions of a program that are generated and not yet compiled.
struct Generator<'b> {
    resolved: &'b ResolvedProgram,
    module: JITModule,
    names: Names,
    builders: FunctionBuilderContext,
    made: Made,
}

impl<'b> Generator<'b> {
    fn new(resolved: &'b ResolvedProgram) -> Result<Self, CompileError> {
        let isa = Effort::Full.isa()?;
        let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
        host_call::define_symbols(&mut builder);
        let mut module = JITModule::new(builder);
        let names = Names::new(&mut module, resolved)?;
        let (builders, made) = (FunctionBuilderContext::new(), Made::default());
        Ok(Self { resolved, module, names, builders, made })
    }

    /// Generates the functions of all bodies, and the one that makes calls on cold paths.
    fn bodies(&mut self) -> Result<(), CompileError> {
        let Self { resolved, module, names, builders, made } = self;
        for (callee, body) in &resolved.bodies {
            let id = names.bodies.get(callee).copied();
            let id = id.ok_or_else(|| CompileError::internal("a body that is not declared"))?;
            let mut context = names.context(module, id);
            let builder = FunctionBuilder::new(&mut context.func, builders);
            Function::new(builder, module, names, resolved).body(body)?;
            made.push(id, context);
        }
        made.push(names.cold, cold::make(names.cold, module, builders)?);
        Ok(())
    }

    /// Generates the function of a stage.
    fn stage(
        &mut self,
        kind: StageKind,
        (fast_path, plan): (&FastPath, &Plan),
        prefetched: Option<&Prefetched<'_>>,
    ) -> Result<FuncId, CompileError> {
        let Self { resolved, module, names, builders, made } = self;
        let id = module
            .declare_function(kind.name(), Linkage::Local, &names.block)
            .map_err(CompileError::generator)?;
        let mut context = names.context(module, id);
        let builder = FunctionBuilder::new(&mut context.func, builders);
        let function = Function::new(builder, module, names, resolved);
        match kind {
            StageKind::Parse => function.parse_stage(fast_path, plan)?,
            StageKind::Pass => function.pass_stage(fast_path, plan)?,
            StageKind::Fused => {
                let precomputed = prefetched.filter(|_| !resolved.samples);
                function.fused_stage((fast_path, plan), precomputed)?;
            }
            StageKind::Prefetch => {
                let prefetched =
                    prefetched.ok_or_else(|| CompileError::internal("tables to prefetch"))?;
                function.prefetch_stage((fast_path, plan), prefetched)?;
            }
        }
        made.push(id, context);
        Ok(id)
    }
}

/// The functions that the module declares.
struct Names {
    block: Signature,
    bodies: HashMap<Callee, FuncId>,
    host_calls: HostCalls,
    /// The function that makes calls on cold paths; see [`cold`].
    cold: FuncId,
}

impl Names {
    fn new(module: &mut JITModule, resolved: &ResolvedProgram) -> Result<Self, CompileError> {
        let block = signature_of_words(module, 2, true);
        let mut bodies = HashMap::new();
        for (number, (callee, _)) in resolved.bodies.iter().enumerate() {
            let name = format!("block_{number}");
            let id = module
                .declare_function(&name, Linkage::Local, &block)
                .map_err(CompileError::generator)?;
            bodies.insert(*callee, id);
        }
        let host_calls = HostCalls::declare(module)?;
        let cold = cold::declare(module)?;
        Ok(Self { block, bodies, host_calls, cold })
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
    resolved: &'m ResolvedProgram,
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
    /// The first invariant that was found violated, for which the program is refused.
    broken: Option<InternalError>,
}

impl<'f, 'm> Function<'f, 'm> {
    fn new(
        mut builder: FunctionBuilder<'f>,
        module: &'m mut JITModule,
        names: &'m Names,
        resolved: &'m ResolvedProgram,
    ) -> Self {
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let parameters = match builder.block_params(entry) {
            [frame, context] => Some((*frame, *context)),
            _ => None,
        };
        let (frame, context) = parameters.unwrap_or_else(|| {
            let none = builder.ins().iconst(types::I64, 0);
            (none, none)
        });
        let mut function = Self {
            config: module.target_config(),
            builder,
            module,
            names,
            resolved,
            frame,
            context,
            loops: Vec::new(),
            state_end: None,
            places: None,
            broken: None,
        };
        if parameters.is_none() {
            function.broken("a function whose parameters are not the frame and the context");
        }
        function
    }

    fn body(mut self, body: &Body) -> Result<(), InternalError> {
        match body {
            Body::Block(block) => {
                if !self.block(block) {
                    self.leave(flow::NEXT);
                }
            }
            Body::Parser(parser) => self.parser(parser),
        }
        self.finish()
    }

    /// Completes the function. Returns the first invariant that was violated while the function was
    /// generated, if any.
    fn finish(mut self) -> Result<(), InternalError> {
        if let Some(broken) = self.broken {
            return Err(broken);
        }
        self.builder.seal_all_blocks();
        let frontend = self.module.target_config();
        self.builder.finalize(frontend);
        Ok(())
    }

    /// Records that an invariant of the code generator is violated where this function is called.
    /// [`Function::finish`] then refuses the program, so code that is generated after the call
    /// never runs.
    #[track_caller]
    fn broken(&mut self, what: &'static str) {
        self.broken.get_or_insert(InternalError::new(what));
    }

    /// Records a violated invariant as [`Function::broken`] does, and returns a value in place of
    /// the one that cannot be computed.
    #[track_caller]
    fn broken_value(&mut self, what: &'static str) -> Value {
        self.broken(what);
        self.number(0)
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
            let left = self.call_host(HostCall::Refill, &[self.context]);
            let is_left = self.builder.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, left, 0);
            self.fault_unless(is_left, context::WORK_LIMIT);
            self.builder.ins().jump(goes_on, &[]);
            self.builder.switch_to_block(goes_on);
        }
    }

    /// Emits a call of the code of a block, and returns how it ended.
    fn call_block(&mut self, callee: Callee) -> Value {
        let Some(id) = self.names.bodies.get(&callee).copied() else {
            return self.broken_value("a callee without a body");
        };
        let function = self.module.declare_func_in_func(id, self.builder.func);
        let call = self.builder.ins().call(function, &[self.frame, self.context]);
        match self.builder.inst_results(call).first().copied() {
            Some(result) => result,
            None => self.broken_value("a block whose code returns nothing"),
        }
    }
}
