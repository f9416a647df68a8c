//! Calls of the host's functions in generated code.

use super::function::Function;
use super::host_call::HostCall;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_module::Module;

impl Function<'_, '_> {
    /// Emits a call of a host function that returns a word. Returns the word.
    pub(super) fn call_host(&mut self, call: HostCall, arguments: &[Value]) -> Value {
        match self.emit_host_call(call, arguments) {
            Some(result) => result,
            None => self.broken_value("a host call whose function returns nothing"),
        }
    }

    /// Emits a call of a host function whose result, if any, is not used.
    pub(super) fn run_on_host(&mut self, call: HostCall, arguments: &[Value]) {
        self.emit_host_call(call, arguments);
    }

    fn emit_host_call(&mut self, call: HostCall, arguments: &[Value]) -> Option<Value> {
        if call.parameters() != arguments.len() {
            self.broken("a host call with arguments of another function");
            return None;
        }
        let id = self.names.host_calls.id(call);
        let function = self.module.declare_func_in_func(id, self.builder.func);
        let call = self.builder.ins().call(function, arguments);
        self.builder.inst_results(call).first().copied()
    }

    /// Emits a host call on a cold path ([`Self::call_cold`]), and returns its result. The result
    /// is unspecified if the function returns nothing.
    pub(super) fn call_host_cold(&mut self, call: HostCall, arguments: &[Value]) -> Value {
        if call.parameters() != arguments.len() {
            return self.broken_value("a host call with arguments of another function");
        }
        let id = self.names.host_calls.id(call);
        let function = self.module.declare_func_in_func(id, self.builder.func);
        let address = self.builder.ins().func_addr(types::I64, function);
        let [result, _] = self.call_cold(address, arguments);
        result
    }
}
