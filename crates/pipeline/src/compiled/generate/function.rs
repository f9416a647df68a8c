//! The function that is being generated: how it returns, how it reports faults, and how it accesses
//! the context.

use super::cold;
use super::host_call::{HostCall, HostCalls, signature_of_words};
use super::variables::Places;
use crate::compiled::context::{self, flow};
use crate::error::{CompileError, InternalError};
use crate::resolved::{Body, Callee, ResolvedProgram};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    self as clif, InstBuilder, MemFlagsData, Signature, UserFuncName, Value, types,
};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_frontend::FunctionBuilder;
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Linkage, Module};
use std::collections::HashMap;

/// The offsets of the fields of the context that generated code accesses.
pub(super) mod context_offset {
    use crate::compiled::context::Context;
    use std::mem::offset_of;

    pub(in crate::compiled::generate) const PACKET: usize = offset_of!(Context, packet);
    pub(in crate::compiled::generate) const LENGTH: usize = offset_of!(Context, length);
    pub(in crate::compiled::generate) const CURSOR: usize = offset_of!(Context, cursor);
    pub(in crate::compiled::generate) const EMITTED: usize = offset_of!(Context, emitted);
    pub(in crate::compiled::generate) const EMITTED_LENGTH: usize =
        offset_of!(Context, emitted_length);
    pub(in crate::compiled::generate) const WORK_LEFT: usize = offset_of!(Context, work_left);
    pub(in crate::compiled::generate) const ERROR: usize = offset_of!(Context, error);
    pub(in crate::compiled::generate) const FAULT: usize = offset_of!(Context, fault);
    pub(in crate::compiled::generate) const LENGTH_CHANGE: usize =
        offset_of!(Context, length_change);
    pub(in crate::compiled::generate) const TRUNCATE: usize = offset_of!(Context, truncate);
    pub(in crate::compiled::generate) const DESTINATION: usize = offset_of!(Context, destination);
    pub(in crate::compiled::generate) const TIMED: usize = offset_of!(Context, timed);
    pub(in crate::compiled::generate) const NOW: usize = offset_of!(Context, now);
    pub(in crate::compiled::generate) const CHECKSUM_ERROR: usize =
        offset_of!(Context, checksum_error);
    pub(in crate::compiled::generate) const REQUESTS: usize = offset_of!(Context, requests);
    pub(in crate::compiled::generate) const CLONE_SESSION: usize =
        offset_of!(Context, clone_session);
    pub(in crate::compiled::generate) const CLONE_LIST: usize = offset_of!(Context, clone_list);
    pub(in crate::compiled::generate) const RESUBMIT_LIST: usize =
        offset_of!(Context, resubmit_list);
    pub(in crate::compiled::generate) const RECIRCULATE_LIST: usize =
        offset_of!(Context, recirculate_list);
    pub(in crate::compiled::generate) const RECEIVED_LENGTH: usize =
        offset_of!(Context, received_length);
    pub(in crate::compiled::generate) const TABLES: usize = offset_of!(Context, tables);
    pub(in crate::compiled::generate) const ARRAYS: usize = offset_of!(Context, arrays);
    pub(in crate::compiled::generate) const IS_ALONE: usize = offset_of!(Context, is_alone);
    pub(in crate::compiled::generate) const HAS_LEFT: usize = offset_of!(Context, has_left);
}

/// The functions that the module of generated code declares.
pub(super) struct Names {
    pub(super) block: Signature,
    pub(super) bodies: HashMap<Callee, FuncId>,
    pub(super) host_calls: HostCalls,
    /// The function that makes calls on cold paths; see [`cold`].
    pub(super) cold: FuncId,
}

impl Names {
    pub(super) fn new(
        module: &mut JITModule,
        resolved: &ResolvedProgram,
    ) -> Result<Self, CompileError> {
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

    /// Creates Cranelift's context for generating a block or a stage of the program.
    pub(super) fn context(&self, module: &JITModule, id: FuncId) -> cranelift_codegen::Context {
        let mut context = module.make_context();
        context.func.signature = self.block.clone();
        context.func.name = UserFuncName::user(0, id.as_u32());
        context
    }
}

/// A function that is being generated.
pub(super) struct Function<'f, 'm> {
    pub(super) builder: FunctionBuilder<'f>,
    pub(super) module: &'m mut JITModule,
    pub(super) names: &'m Names,
    pub(super) resolved: &'m ResolvedProgram,
    pub(super) config: TargetFrontendConfig,
    /// The first parameter of the function: the address of the frame, which holds the program's
    /// variables.
    pub(super) frame: Value,
    /// The second parameter: the address of the state that generated code shares with its caller.
    pub(super) context: Value,
    /// The blocks to which `continue` and `break` jump, for each loop that is being generated, the
    /// innermost last.
    pub(super) loops: Vec<(clif::Block, clif::Block)>,
    /// The block to which `return` jumps in a state of a parser. `None` outside of parsers.
    pub(super) state_end: Option<clif::Block>,
    /// The storage of values in variables of the function. `None` if all values are in the frame,
    /// the packet's working memory.
    pub(super) places: Option<Places<'m>>,
    /// The first violated invariant that was found while the function was generated. If there is
    /// one, the program is not compiled.
    pub(super) broken: Option<InternalError>,
}

impl<'f, 'm> Function<'f, 'm> {
    pub(super) fn new(
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

    pub(super) fn body(mut self, body: &Body) -> Result<(), InternalError> {
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

    /// Completes the function. Returns an error if an invariant was violated while the function was
    /// generated.
    pub(super) fn finish(mut self) -> Result<(), InternalError> {
        if let Some(broken) = self.broken {
            return Err(broken);
        }
        self.builder.seal_all_blocks();
        let frontend = self.module.target_config();
        self.builder.finalize(frontend);
        Ok(())
    }

    /// Records that an invariant of the code generator is violated. The record names the caller of
    /// this function. [`Function::finish`] then returns an error, so the code that is generated
    /// after the call never runs.
    #[track_caller]
    pub(super) fn broken(&mut self, what: &'static str) {
        self.broken.get_or_insert(InternalError::new(what));
    }

    /// Records a violated invariant as [`Function::broken`] does. Returns a value in place of the
    /// one that cannot be computed.
    #[track_caller]
    pub(super) fn broken_value(&mut self, what: &'static str) -> Value {
        self.broken(what);
        self.number(0)
    }

    /// Emits a return from the function with the value `how`, a constant of [`flow`]. In code that
    /// is inlined from another body, emits a jump to the block that handles `how` instead.
    pub(super) fn leave(&mut self, how: i64) {
        if self.jump_to_end(how) {
            return;
        }
        let how = self.builder.ins().iconst(types::I64, how);
        self.builder.ins().return_(&[how]);
    }

    /// Emits the load of a field of the context, from its variable or from memory.
    pub(super) fn context_field(&mut self, offset: usize) -> Value {
        if let Some(variable) = self.context_variable(offset) {
            return self.builder.use_var(variable);
        }
        let flags = MemFlagsData::new().with_notrap();
        self.builder.ins().load(types::I64, flags, self.context, offset as i32)
    }

    /// Emits the store of a field of the context, to its variable or to memory.
    pub(super) fn set_context_field(&mut self, offset: usize, value: Value) {
        if let Some(variable) = self.context_variable(offset) {
            return self.builder.def_var(variable, value);
        }
        let flags = MemFlagsData::new().with_notrap();
        self.builder.ins().store(flags, value, self.context, offset as i32);
    }

    /// Emits a branch. If the condition holds, the code that is emitted next runs; otherwise the
    /// code that `otherwise` emits, which must end in a terminator.
    pub(super) fn unless(&mut self, condition: Value, otherwise: impl FnOnce(&mut Self)) {
        let (fails, goes_on) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(fails);
        self.builder.ins().brif(condition, goes_on, &[], fails, &[]);
        self.builder.switch_to_block(fails);
        otherwise(self);
        self.builder.switch_to_block(goes_on);
    }

    /// Emits a return with the result of a call, unless the result is [`flow::NEXT`].
    pub(super) fn return_unless_next(&mut self, how: Value) {
        let is_next = self.builder.ins().icmp_imm_s(IntCC::Equal, how, flow::NEXT);
        self.unless(is_next, |function| {
            function.builder.ins().return_(&[how]);
        });
    }

    /// Emits code that ends the parser with the error whose number is `error`, which rejects the
    /// packet.
    pub(super) fn reject(&mut self, error: Value) {
        self.set_context_field(context_offset::ERROR, error);
        self.leave(flow::REJECT);
    }

    /// Emits code that rejects the packet with the given parser error unless the condition holds.
    pub(super) fn reject_unless(&mut self, condition: Value, error: u64) {
        self.unless(condition, |function| {
            let error = function.number(error);
            function.reject(error);
        });
    }

    /// Emits code that ends the packet with the given fault unless the condition holds.
    pub(super) fn fault_unless(&mut self, condition: Value, fault: u64) {
        self.unless(condition, |function| {
            let fault = function.number(fault);
            function.set_context_field(context_offset::FAULT, fault);
            function.leave(flow::FAULT);
        });
    }

    /// Emits code that charges the packet units of work, and ends it with a fault if it may not
    /// take that much.
    pub(super) fn charge(&mut self, units: u32) {
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

    /// Emits a call of the function of a parser, control, action or function of the program.
    /// Returns the value of [`flow`] with which it ended.
    pub(super) fn call_block(&mut self, callee: Callee) -> Value {
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
