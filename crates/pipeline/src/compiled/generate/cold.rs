//! Calls from where packets seldom come.
//!
//! A call in a loop over packets costs every packet something, whether it happens or not: values that live across it go to
//! the stack and come from there wherever the allocator of registers has split them. A function that leaves all registers as
//! they are, but for the processor's flags, makes such a call for the loop: what it costs is paid where it happens.

use super::{CallOut, Function};
use crate::error::CompileError;
use cranelift_codegen::Context;
use cranelift_codegen::ir::{
    AbiParam, InstBuilder, MemFlagsData, Signature, StackSlotData, StackSlotKind, UserFuncName,
    Value, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Linkage, Module};

/// Arguments that are handed on, as many as there are at most.
const ARGUMENTS: usize = 4;
/// Words that the function gives, or that are in the registers for them.
const RESULTS: usize = 2;

/// What is called, its arguments, and where what it gives is left.
fn signature() -> Signature {
    let mut signature = Signature::new(CallConv::PreserveAll);
    signature.params.extend((0..ARGUMENTS + 2).map(|_| AbiParam::new(types::I64)));
    signature
}

/// Declares the function that calls others; it has to be defined.
pub(super) fn declare(module: &mut JITModule) -> Result<FuncId, CompileError> {
    module.declare_function("cold", Linkage::Local, &signature()).map_err(CompileError::generator)
}

/// Makes it.
pub(super) fn make(
    id: FuncId,
    module: &JITModule,
    builders: &mut FunctionBuilderContext,
) -> Context {
    let mut context = module.make_context();
    context.func.signature = signature();
    context.func.name = UserFuncName::user(0, id.as_u32());
    let mut of_called = module.make_signature();
    of_called.params.extend((0..ARGUMENTS).map(|_| AbiParam::new(types::I64)));
    of_called.returns.extend((0..RESULTS).map(|_| AbiParam::new(types::I64)));
    let mut builder = FunctionBuilder::new(&mut context.func, builders);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    let of_called = builder.import_signature(of_called);
    if let [called, arguments @ .., left] = &*builder.block_params(entry).to_vec() {
        let call = builder.ins().call_indirect(of_called, *called, arguments);
        let results = builder.inst_results(call).to_vec();
        for (result, at) in results.into_iter().zip((0..).step_by(8)) {
            builder.ins().store(MemFlagsData::new().with_notrap(), result, *left, at);
        }
    }
    builder.ins().return_(&[]);
    builder.seal_all_blocks();
    builder.finalize(module.target_config());
    context
}

impl Function<'_, '_> {
    /// Calls a function by its address, from where packets seldom come. What it gives less than two words is whatever, as
    /// it is given words for arguments that it does not have.
    pub(super) fn call_cold(&mut self, function: Value, arguments: &[Value]) -> [Value; RESULTS] {
        debug_assert!(arguments.len() <= ARGUMENTS);
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, RESULTS as u32 * 8, 3);
        let slot = self.builder.create_sized_stack_slot(slot);
        let left = self.builder.ins().stack_addr(types::I64, slot, 0);
        let cold = self.module.declare_func_in_func(self.names.cold, self.builder.func);
        let mut handed = [left; ARGUMENTS + 2];
        handed[0] = function;
        handed[1..=ARGUMENTS].iter_mut().zip(arguments).for_each(|(to, from)| *to = *from);
        self.builder.ins().call(cold, &handed);
        [0, 8].map(|at| self.builder.ins().stack_load(types::I64, types::I64, slot, at))
    }

    /// As [`Self::call_cold`] for a call-out.
    pub(super) fn call_out_cold(
        &mut self,
        call_out: CallOut,
        arguments: &[Value],
    ) -> Option<Value> {
        let id = self.names.call_outs.get(call_out as usize).copied()?;
        let function = self.module.declare_func_in_func(id, self.builder.func);
        let address = self.builder.ins().func_addr(types::I64, function);
        let [result, _] = self.call_cold(address, arguments);
        Some(result)
    }
}
