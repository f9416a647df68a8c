//! Generates machine code from the resolved program with Cranelift. `Compiled::new` calls
//! [`MachineCode::new`] for each program that is compiled.
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
mod function;
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
mod variables;

use self::assemble::Made;
use self::burst::prefetch::Prefetched;
use self::effort::Effort;
use self::function::{Function, Names};
pub use self::stack::WORKER_STACK_BYTES;
use super::burst::{BatchLookup, Owned, Stage, Stages};
use super::context::{self, Code, Context, flow};
use super::fast_path::FastPath;
use super::plan::Plan;
use crate::error::CompileError;
use crate::resolved::ResolvedProgram;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};
use std::fmt;

/// A function that processes packets in bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StageKind {
    /// The function that parses all packets of a burst.
    Parse,
    /// The function that processes all packets of a burst after they have been parsed.
    Pass,
    /// The function that takes each packet of a burst from the parser to the deparser before the
    /// next one.
    Fused,
    /// The function that computes the table keys and buckets that the packets of a burst need,
    /// before the fused function processes them.
    Prefetch,
}

impl StageKind {
    /// Returns the name by which the module of generated code declares the function.
    fn name(self) -> &'static str {
        match self {
            Self::Parse => "parse",
            Self::Pass => "pass",
            Self::Fused => "whole",
            Self::Prefetch => "ask",
        }
    }

    /// Returns the functions for bursts that a program has, in the order in which they are
    /// generated.
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

/// The machine code of a program, and facts about it.
pub(super) struct MachineCode {
    /// The module that owns the pages with the code. `None` once they are freed.
    module: Option<JITModule>,
    /// The functions of the package's blocks, in the package's order.
    blocks: Vec<Code>,
    /// The functions that process packets in bursts, if the program has them.
    pub(super) stages: Option<Stages>,
    /// The packed tables in which all packets of a burst are looked up at once.
    pub(super) batch_lookups: Vec<BatchLookup>,
    /// The packed tables whose entries have counters or timers that are prefetched for all packets
    /// of a burst.
    pub(super) owned: Vec<Owned>,
    /// Whether the buckets or keys that packets need can be computed before the packets are parsed.
    /// If so, a program with a fused function also has a prefetch stage, unless it is compiled
    /// without table lookups.
    pub(super) prefetches: bool,
    /// The numbers of the tables whose buckets the prefetch stage computes. These buckets are
    /// prefetched before the fused function processes the packets.
    pub(super) prefetched: Vec<u32>,
    /// The size of the machine code in bytes.
    pub(super) size: usize,
    /// The maximum number of bytes of stack that the machine code takes.
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
    /// functions that process packets in bursts.
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

    /// Runs the block at a position of the package. Returns how it ended, a value of [`flow`].
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

/// The functions of a program that have been generated and are not yet compiled.
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

    /// Generates a function for each parser, control, action and function of the program, and the
    /// function that makes calls on cold paths.
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

    /// Generates a function that processes packets in bursts.
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
                function.fused_stage(fast_path, plan, precomputed)?;
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
