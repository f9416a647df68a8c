//! Compiles the generated functions to machine code. This takes most of the time in which a program
//! loads, so functions are compiled in parallel, with one thread per core, up to
//! [`MAX_THREADS`]. One thread then writes the pages in the order in which the functions were
//! added, so that the code does not depend on the number of threads.

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

/// The largest number of threads. More would not help: the largest function alone takes about a
/// quarter of the time.
const MAX_THREADS: usize = 4;

/// The largest number of Cranelift instructions that a function may have to be compiled with
/// optimisation and backtracking register allocation. The time that these take grows faster than
/// the size of the function. Larger functions are compiled with [`Effort::Little`] instead, whose
/// compile time grows only in proportion to the size.
const LARGE: usize = 50_000;

/// The functions of a program that exist as Cranelift's IR and are not yet compiled.
#[derive(Default)]
pub(super) struct Made {
    functions: Vec<(FuncId, Context)>,
}

impl Made {
    /// Adds a function to be compiled. Its instructions count as work of the compiler
    /// ([`ir::meter`]).
    pub(super) fn push(&mut self, id: FuncId, context: Context) {
        ir::meter::count(context.func.dfg.num_insts());
        self.functions.push((id, context));
    }

    /// Compiles all functions and defines them in the module. Returns the size of the code and the
    /// stack that it takes, both in bytes.
    pub(super) fn define(mut self, module: &mut JITModule) -> Result<(usize, u64), CompileError> {
        self.compile(module)?;
        let stack = stack::needed(&self.functions)?;
        let mut size = 0;
        for (id, context) in &self.functions {
            let code = context.compiled_code();
            let code = code.ok_or_else(|| CompileError::internal("a function without code"))?;
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

    /// Compiles all functions, in parallel.
    fn compile(&mut self, module: &JITModule) -> Result<(), CompileError> {
        let (full, little) = (module.isa(), Effort::Little.isa()?);
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let threads = threads.min(MAX_THREADS).min(self.functions.len());
        let mut functions: Vec<&mut Context> =
            self.functions.iter_mut().map(|(_, context)| context).collect();
        // The largest function is taken first, so that no thread waits for it at the end.
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
                    Err(CompileError::generator("a thread of the code generator failed"))
                })
            });
            others.fold(own, Result::and)
        })
    }
}
