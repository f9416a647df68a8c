//! Calls on cold paths, which generated code rarely takes.
//!
//! A call inside a loop over packets costs every packet time, whether or not the call happens:
//! values that live across it go through the stack wherever the register allocator has split them.
//! The function generated here preserves all registers except for the processor's flags and makes
//! the call on behalf of the loop, so that the cost is paid only if the call happens.

use super::function::Function;
use crate::error::{CompileError, InternalError};
use cranelift_codegen::Context;
use cranelift_codegen::ir::{
    AbiParam, InstBuilder, MemFlagsData, Signature, StackSlotData, StackSlotKind, UserFuncName,
    Value, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Linkage, Module};

/// The number of arguments that a call on a cold path can have, which is enough for all host
/// functions.
const ARGUMENTS: usize = 4;
/// The number of words that a called function returns, one in each of the two result registers.
const RESULTS: usize = 2;

/// Returns the signature of the function that makes calls on cold paths. Its parameters are the
/// function to call, its arguments, and the address to which its results are written.
fn signature() -> Signature {
    let mut signature = Signature::new(CallConv::PreserveAll);
    signature.params.extend((0..ARGUMENTS + 2).map(|_| AbiParam::new(types::I64)));
    signature
}

/// Declares the function that makes calls on cold paths. It must be defined with [`make`].
pub(super) fn declare(module: &mut JITModule) -> Result<FuncId, CompileError> {
    module.declare_function("cold", Linkage::Local, &signature()).map_err(CompileError::generator)
}

/// Generates the function that makes calls on cold paths, which [`declare`] declares.
pub(super) fn make(
    id: FuncId,
    module: &JITModule,
    builders: &mut FunctionBuilderContext,
) -> Result<Context, InternalError> {
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
    let parameters = builder.block_params(entry).to_vec();
    let [called, arguments @ .., left] = &parameters[..] else {
        return Err(InternalError::new("the parameters of the function for cold calls"));
    };
    let call = builder.ins().call_indirect(of_called, *called, arguments);
    let results = builder.inst_results(call).to_vec();
    for (result, at) in results.into_iter().zip((0..).step_by(8)) {
        builder.ins().store(MemFlagsData::new().with_notrap(), result, *left, at);
    }
    builder.ins().return_(&[]);
    builder.seal_all_blocks();
    builder.finalize(module.target_config());
    Ok(context)
}

impl Function<'_, '_> {
    /// Emits a call of a function by its address on a cold path. If the function returns fewer than
    /// two words, the others are unspecified. Parameter registers beyond `arguments` hold
    /// unspecified words.
    pub(super) fn call_cold(&mut self, function: Value, arguments: &[Value]) -> [Value; RESULTS] {
        if arguments.len() > ARGUMENTS {
            self.broken("a call on a cold path with more arguments than are passed on");
        }
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
}
