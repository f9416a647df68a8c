//! Measures a device: drives it through the functions of a [`Plan`], and keeps (packet, delay) pairs.
//!
//! What can be decided without a clock is decided without one: which [cells](PlannedCell) there are, in which
//! [order](schedule) they are visited, which [packets](Traffic) are sent and how they must come out, how what was sent and
//! what came out [go together](Ledger), which rate is [offered next](RateSearch), whether the machine
//! [drifted](drift). [`conduct`] puts these together over a [`Bench`]; [`measure`] gives it benches of this machine.
//!
//! Delays are differences of stamps of one clock at the two edges of the device, and are kept as they are: nothing is
//! subtracted, since what the clock shows without a device is part of every cell and falls out of differences.

mod conduct;
pub mod drift;
mod edge;
mod function;
mod matching;
mod part;
mod plan;
mod program;
mod rate_search;
mod rule;
mod schedule;
mod steadiness;
mod task;
mod traffic;

pub use conduct::{
    Bench, BenchError, ConductError, Ending, RunOrder, RunRecord, Step, Watch, conduct, stability,
};
pub use edge::{Job, MeasureError, Measured, clock_line, measure};
pub use function::{ActionKind, MatchKind};
pub use matching::{Ledger, Outcome};
pub use part::Part;
pub use plan::{
    DeviceKind, Plan, PlanError, PlannedCell, ProgramPath, RateCells, RatePlan, Timestamps,
    WirePlan,
};
pub use rate_search::{Offered, RateSearch, SearchEnd};
pub use schedule::{Visit, schedule};
pub use task::{PartsSubject, Task};
pub use traffic::{Arrival, PacketId, Subject, Traffic};
