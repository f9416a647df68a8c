//! Measures a device: runs it through the cells of a [`Plan`] and records (packet, delay) pairs.
//!
//! Everything that can be decided without a clock is computed by pure code: the
//! [cells](PlannedCell), the [order](schedule) of visits, the [packets](Traffic) that are sent and
//! that are expected from the device, the [matching](PacketTracker) of sent and received packets,
//! the [next rate](RateSearch) to offer, and whether the machine [drifted](drift). [`conduct`]
//! combines these parts over a [`Bench`]; [`measure`] runs it with benches on this machine.
//!
//! A delay is the difference of two timestamps of one clock, taken at the two edges of the device.
//! Delays are stored unchanged: the error of the clock is part of every cell and cancels in
//! differences.

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
    Bench, BenchError, ConductError, Contention, Ending, RunOrder, RunRecord, Step, Watch, conduct,
    stability,
};
pub use edge::{
    Job, MeasureError, Measured, Repeat, SwitchProcess, TimedPacket, clock_line, measure,
    time_packet,
};
pub use function::{ActionKind, MatchKind};
pub use matching::{Outcome, PacketTracker};
pub use part::Part;
pub use plan::{
    DeviceKind, Plan, PlanError, PlannedCell, ProgramPath, RateCells, RatePlan, Timestamps,
    WirePlan,
};
pub use rate_search::{Offered, RateSearch, SearchEnd};
pub use schedule::{Visit, schedule};
pub use task::{PartsSubject, Task};
pub use traffic::{Arrival, PacketId, Subject, Traffic};
