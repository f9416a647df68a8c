//! The ways by which a packet may go through a program.
//!
//! Which one a packet takes depends on the program, on how far its tables are from the processor, and on what is measured.
//! All ways give the same; tests and scripts choose each of them in turn to show that they do.

use super::Compiled;
use std::fmt;

/// A way by which packets go through a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Way {
    /// The interpreter.
    Interpreter,
    /// Machine code, a function for each block, which the driver of the architecture calls in order.
    Driver,
    /// Machine code, a function for each block, called in order over one frame; v1model alone.
    Blocks,
    /// Machine code, two functions over a burst: all packets are parsed before the first one goes on.
    Stages,
    /// Machine code, one fused function over a burst, from parser to deparser.
    Fused,
    /// The fused function as for tables that do not fit in the cache: a loop ahead of it prefetches their entries.
    Prefetched,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Interpreter => "the interpreter",
            Self::Driver => "machine code under the architecture's driver",
            Self::Blocks => "machine code block by block",
            Self::Stages => "machine code in two functions",
            Self::Fused => "machine code in one function",
            Self::Prefetched => "machine code in one function with entries prefetched",
        })
    }
}

impl Compiled {
    /// Returns the ways by which machine code can bring packets through this program.
    #[must_use]
    pub fn ways(&self) -> Vec<Way> {
        let mut ways = vec![Way::Driver];
        let Ok(straight) = &self.straight else { return ways };
        if straight.is_codes_alone {
            ways.push(Way::Blocks);
        }
        let stages = straight.plan.is_ok().then_some(self.machine.stages).flatten();
        if let Some(stages) = stages {
            ways.push(Way::Stages);
            if stages.whole.is_some() {
                ways.push(Way::Fused);
            }
            if stages.whole.is_some() && stages.ask.is_some() {
                ways.push(Way::Prefetched);
            }
        }
        ways
    }
}
