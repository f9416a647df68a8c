//! The settings of the code generator.

use crate::error::CompileError;
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};

/// The effort that the code generator spends on optimisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    /// Optimises, and allocates registers with backtracking. Compile time grows faster than the
    /// size of the function.
    Full,
    /// Allocates registers in one pass and optimises nothing. Compile time grows in proportion to
    /// the size of the function.
    Little,
}

impl Effort {
    /// Returns the code generator for this machine's processor.
    pub(super) fn isa(self) -> Result<OwnedTargetIsa, CompileError> {
        // Debug builds, and so tests, verify the generated code.
        let verifies = if cfg!(debug_assertions) { "true" } else { "false" };
        let (optimisation, registers) = match self {
            Effort::Full => ("speed", "backtracking"),
            Effort::Little => ("none", "single_pass"),
        };
        let mut flags = settings::builder();
        for (name, value) in [
            ("use_colocated_libcalls", "false"),
            ("is_pic", "false"),
            ("opt_level", optimisation),
            ("regalloc_algorithm", registers),
            // Without probes, a frame larger than the guard page could step over it.
            ("enable_probestack", "true"),
            ("probestack_strategy", "inline"),
            ("enable_verifier", verifies),
        ] {
            flags.set(name, value).map_err(CompileError::generator)?;
        }
        let isa = cranelift_native::builder().map_err(CompileError::generator)?;
        isa.finish(settings::Flags::new(flags)).map_err(CompileError::generator)
    }
}
