//! The ways in which a packet can be processed: by the interpreter, or by generated code of several
//! forms.
//!
//! The fastest way depends on the program, on the sizes of its tables, and on whether times are
//! measured. All ways have the same results; tests and scripts choose each in turn to show that.

use super::Compiled;
use std::fmt;

/// A way in which a program's packets are processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Way {
    /// The interpreter runs the program.
    Interpreter,
    /// Machine code with a function for each block. The driver, which implements the architecture,
    /// calls the functions.
    Driver,
    /// Machine code with a function for each block. The functions are called directly, without the
    /// driver of the architecture. Exists only for v1model.
    Blocks,
    /// Machine code in two functions. The first parses all packets of a burst, and the second
    /// processes them to completion.
    Stages,
    /// Machine code in a single fused function, which takes each packet from the parser to the
    /// deparser.
    Fused,
    /// Machine code in a fused function, as in [`Way::Fused`]. A loop before it prefetches the
    /// table entries that the packets of a burst will need.
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
    /// Returns the ways in which packets of this program can be processed by generated code.
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
