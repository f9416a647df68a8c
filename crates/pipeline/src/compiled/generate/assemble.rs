//! Functions become machine code side by side, since that takes most of the time in which a program loads: each by itself, on
//! as many threads as there are cores. Pages are written by one thread, in the order in which the functions were made, so that
//! the code is the same whatever their number.

use super::effort::Effort;
use super::stack;
use crate::error::CompileError;
use crate::sync::lock;
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Module, ModuleError, ModuleReloc};
use std::sync::Mutex;
use std::thread;

/// Most threads: the largest function alone takes about a quarter of the time.
const MAXIMUM_THREADS: usize = 4;

/// The number of Cranelift instructions up to which a function is optimised. Beyond it, optimisation and backtracking
/// register allocation take time that grows faster than the function, and a push must load in a time that grows with
/// the program.
const LARGE: usize = 50_000;

/// Functions that are made, and not yet code.
#[derive(Default)]
pub(super) struct Made {
    functions: Vec<(FuncId, Context)>,
}

impl Made {
    /// A function, in a context of its own.
    pub(super) fn push(&mut self, id: FuncId, context: Context) {
        self.functions.push((id, context));
    }

    /// Defines all of them; how many bytes of code they are, and how many of stack they take.
    pub(super) fn define(mut self, module: &mut JITModule) -> Result<(usize, u64), CompileError> {
        self.compile(module)?;
        let stack = stack::needed(&self.functions)?;
        let mut size = 0;
        for (id, context) in &self.functions {
            let Some(code) = context.compiled_code() else { continue };
            let relocations = code.buffer.relocs().iter();
            let relocations: Vec<ModuleReloc> = relocations
                .map(|relocation| ModuleReloc::from_mach_reloc(relocation, &context.func, *id))
                .collect();
            let (bytes, alignment) = (code.code_buffer(), u64::from(code.buffer.alignment));
            module
                .define_function_bytes(*id, alignment, bytes, &relocations)
                .map_err(CompileError::generator)?;
            size += bytes.len();
        }
        Ok((size, stack))
    }

    fn compile(&mut self, module: &JITModule) -> Result<(), CompileError> {
        let (full, little) = (module.isa(), Effort::Little.isa()?);
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let threads = threads.min(MAXIMUM_THREADS).min(self.functions.len());
        let mut functions: Vec<&mut Context> =
            self.functions.iter_mut().map(|(_, context)| context).collect();
        // The largest is taken first, so that nobody waits for it at the end.
        functions.sort_by_key(|context| context.func.dfg.num_insts());
        let functions = Mutex::new(functions);
        let next = || lock(&functions).pop();
        let work = || {
            while let Some(context) = next() {
                let is_large = context.func.dfg.num_insts() > LARGE;
                let isa = if is_large { &*little } else { full };
                let compiled = context.compile(isa, &mut ControlPlane::default());
                compiled.map_err(|error| CompileError::generator(ModuleError::from(error)))?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let own = work();
            let others = others.into_iter().map(|other| {
                other.join().unwrap_or_else(|_| {
                    Err(CompileError::generator("a thread of the generator broke off"))
                })
            });
            others.fold(own, Result::and)
        })
    }
}
