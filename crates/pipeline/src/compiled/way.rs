//! The ways by which a packet can pass through a program.
//!
//! The program, the sizes of its tables and what is measured decide which way a packet takes. All
//! ways have the same results; tests and scripts choose each way in turn to show that.

use super::Compiled;
use std::fmt;

/// A way by which packets go through a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Way {
    /// The interpreter.
    Interpreter,
    /// Machine code with a function for each block, called by the architecture's driver.
    Driver,
    /// Machine code with a function for each block, called without the driver; v1model only.
    Blocks,
    /// Machine code in two functions: one parses all packets of a burst, the other does the rest.
    Stages,
    /// Machine code in one fused function, from parser to deparser.
    Fused,
    /// The fused function behind a loop that prefetches entries of tables.
    Prefetched,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Interpreter => "the interpreter",
            Self::Driver => "compiled, with the architecture's driver",
            Self::Blocks => "compiled, block by block",
            Self::Stages => "compiled, in two functions",
            Self::Fused => "compiled, fused",
            Self::Prefetched => "compiled, fused, with entries prefetched",
        })
    }
}

impl Compiled {
    /// Returns the ways by which generated code can process packets of this program.
    #[must_use]
    pub fn ways(&self) -> Vec<Way> {
        let mut ways = vec![Way::Driver];
        let Ok(fast_path) = &self.fast_path else {
            // The program has no fast path.
            return ways;
        };
        if fast_path.is_codes_alone {
            ways.push(Way::Blocks);
        }
        let stages = fast_path.plan.is_ok().then_some(self.machine_code.stages).flatten();
        if let Some(stages) = stages {
            ways.push(Way::Stages);
            if stages.fused.is_some() {
                ways.push(Way::Fused);
            }
            if stages.fused.is_some() && stages.prefetch_stage.is_some() {
                ways.push(Way::Prefetched);
            }
        }
        ways
    }
}
