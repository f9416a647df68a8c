//! The effects of updates on packets: from which moment packets obey a changed rule, and which
//! packets are lost or misdirected during the change.
//!
//! Probes are test packets, of one flow per rule. The way in which a probe leaves the switch shows
//! which state of its rule it met ([`Class`]). From the times at which probes were sent and
//! received follow, for each update:
//!
//! * the moment from which packets obey, between two probes ([`Bracket`]), or a proof that the rule
//!   changed more than once ([`Flap`]);
//! * whether the switch answered before or after that moment ([`Timing`]);
//! * whether the rules of a batch changed at different moments, and in which order ([`Batch`]);
//! * the number of probes that met neither state ([`Classes`]), and whether this happened more
//!   often during updates than otherwise ([`Excess`]).
//!
//! This module reads no clock and opens no socket: times are arguments. Every time is known only to
//! lie between two readings of a clock ([`Span`]), and every result includes that uncertainty.

mod answer;
mod batch;
mod bracket;
mod excess;
mod observation;
mod probe;
mod summary;
mod time;

pub use answer::Timing;
pub use batch::{Batch, Order};
pub use bracket::{Bracket, Flap, Transition};
pub use excess::{Excess, Window};
pub use observation::{Assessment, Observation};
pub use probe::{Class, Classes, Fate, Probe, Silence, read_silence};
pub use summary::{Percentile, Summary};
pub use time::{Gap, Moment, Range, Span};
