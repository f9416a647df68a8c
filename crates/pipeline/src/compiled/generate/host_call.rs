//! The host functions: functions of this crate, written in Rust, that generated machine code calls
//! for whatever it does not do itself. One table names them; the enumeration [`HostCall`], the
//! symbols and the signatures follow from it, so a new host call is one line here and its function.

use crate::compiled::{added, context, meters};
use crate::error::CompileError;
use cranelift_codegen::ir::{AbiParam, Signature, types};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module};

/// A type of host function parameters that generated code passes as one 64-bit word.
trait Word {}

impl Word for u64 {}
impl<T> Word for *const T {}
impl<T> Word for *mut T {}

/// A type of host function results that generated code receives as one 64-bit word, or as no word.
trait Returned {
    const HAS_RESULT: bool;
}

impl Returned for () {
    const HAS_RESULT: bool = false;
}

impl Returned for u64 {
    const HAS_RESULT: bool = true;
}

impl Returned for i64 {
    const HAS_RESULT: bool = true;
}

/// The properties of a host function that generated code needs to call it.
#[derive(Clone, Copy)]
struct HostFunction {
    address: *const u8,
    parameters: usize,
    has_result: bool,
}

macro_rules! describe_functions_of_each_arity {
    ($($($parameter:ident)+;)+) => {$(
        impl<$($parameter: Word,)+ R: Returned> From<unsafe extern "C" fn($($parameter),+) -> R>
            for HostFunction
        {
            fn from(function: unsafe extern "C" fn($($parameter),+) -> R) -> Self {
                Self {
                    address: function as *const u8,
                    parameters: [$(stringify!($parameter)),+].len(),
                    has_result: R::HAS_RESULT,
                }
            }
        }
    )+};
}

describe_functions_of_each_arity! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
}

/// Expands to `_`, so that the compiler infers a parameter's type from the function.
macro_rules! inferred {
    ($parameter:ident) => {
        _
    };
}

macro_rules! host_calls {
    ($($call:ident = $module:ident::$function:ident($($parameter:ident),+);)+) => {
        /// A function of the host that generated code calls.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum HostCall {
            $($call),+
        }

        impl HostCall {
            const ALL: [Self; [$(stringify!($call)),+].len()] = [$(Self::$call),+];

            /// Returns the name of the symbol by which generated code is linked to this host
            /// function.
            fn symbol(self) -> &'static str {
                match self {
                    $(Self::$call => concat!("planimeter_", stringify!($function))),+
                }
            }

            /// Returns the number of parameters of this host function. Each parameter is a word.
            pub(super) fn parameters(self) -> usize {
                self.function().parameters
            }

            fn function(self) -> HostFunction {
                match self {
                    $(Self::$call => HostFunction::from(
                        $module::$function
                            as unsafe extern "C" fn($(inferred!($parameter)),+) -> _,
                    )),+
                }
            }
        }
    };
}

host_calls! {
    Apply = context::apply(frame, context, table, key);
    DefaultAction = context::default_action(context, table, access);
    Leave = context::leave(frame, context, table);
    ReadRegister = context::read_register(context, register, index, current);
    WriteRegister = context::write_register(context, register, index, value);
    Count = context::count(context, counter, index);
    Interpret = context::interpret(frame, context, step);
    LookUp = context::look_up(frame, context, table);
    EndLookUp = context::end_look_up(frame, context, table);
    Hash = context::hash(frame, context, gather, found);
    Expire = context::expire(context, table, address, access);
    BeginLookUp = context::begin_look_up(context, table, low, high, address);
    RestartTimer = context::restart_timer(context, profile);
    Meter = meters::meter(context, id, index, before, length);
    EntryMeter = meters::entry_meter(context, id, address, before, length);
    IsMember = context::is_member(context, set, number, width, signed);
    AddEntry = added::add_entry(context, adding);
    CountEntry = meters::count_entry(context, id, address, length);
    Defer = context::defer(context, table, access, values, position);
    Refill = context::refill(context);
}

/// Registers the addresses of all host functions with the builder of a module.
pub(super) fn define_symbols(builder: &mut JITBuilder) {
    for call in HostCall::ALL {
        builder.symbol(call.symbol(), call.function().address);
    }
}

/// The host functions that a module of generated code declares.
pub(super) struct HostCalls {
    /// The identifier of each host function in the module, in the order of [`HostCall::ALL`].
    ids: [FuncId; HostCall::ALL.len()],
}

impl HostCalls {
    /// Declares all host functions in a module of generated code.
    pub(super) fn declare(module: &mut JITModule) -> Result<Self, CompileError> {
        let mut ids = [FuncId::from_u32(0); HostCall::ALL.len()];
        for (call, id) in HostCall::ALL.into_iter().zip(&mut ids) {
            let HostFunction { parameters, has_result, .. } = call.function();
            let signature = signature_of_words(module, parameters, has_result);
            *id = module
                .declare_function(call.symbol(), Linkage::Import, &signature)
                .map_err(CompileError::generator)?;
        }
        Ok(Self { ids })
    }

    pub(super) fn id(&self, call: HostCall) -> FuncId {
        self.ids[call as usize]
    }
}

/// Returns the signature of a function with `parameters` words as parameters that returns one word
/// or none.
pub(super) fn signature_of_words(
    module: &JITModule,
    parameters: usize,
    has_result: bool,
) -> Signature {
    let mut signature = module.make_signature();
    signature.params.extend((0..parameters).map(|_| AbiParam::new(types::I64)));
    signature.returns.extend(has_result.then(|| AbiParam::new(types::I64)));
    signature
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_describes_the_functions_of_the_host() {
        let described = HostCall::ALL.map(|call| {
            let HostFunction { parameters, has_result, .. } = call.function();
            (call.symbol(), parameters, has_result)
        });
        assert_eq!(described[0], ("planimeter_apply", 4, true));
        assert_eq!(described[HostCall::Expire as usize], ("planimeter_expire", 4, false));
        assert_eq!(described[HostCall::Refill as usize], ("planimeter_refill", 1, true));
        for (position, call) in HostCall::ALL.into_iter().enumerate() {
            assert_eq!(call as usize, position);
        }
    }
}
