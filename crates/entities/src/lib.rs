//! What a control plane writes to a switch and reads from it, and the seam to a data plane.
//!
//! The crate is a vocabulary: table entries with their matches and actions, members and groups of
//! action profiles, counters, meters, registers, multicast groups, clone sessions, digests and
//! value sets exist here once, as types, for everything that speaks of them. Nothing here knows of
//! messages of a protocol or of the way in which packets are processed; a protocol is above, a
//! data plane below, and [`DataPlane`] is what lies between.
//!
//! * [`schema`]: what a program has, by identifier and by name.
//! * [`value`], [`Value`], [`Data`]: values in canonical form.
//! * [`Entity`], [`Update`], [`Selection`]: what is written and what is read.
//! * [`DataPlane`], [`Reader`], [`Target`]: who takes it; [`write()`] carries a batch over.

mod action;
mod array;
mod data;
mod entity;
mod entry;
mod error;
mod plane;
mod replication;
mod scalar;
pub mod schema;
mod time;
mod usage;
pub mod value;

pub use self::action::{
    ActionCall, Argument, Group, GroupId, GroupMember, Member, MemberId, OneShot, OneShotMember,
    Port, SelectionMode, SizeCounts, TableAction, Watch,
};
pub use self::array::{
    CounterCell, CounterData, MeterCell, MeterConfig, MeterCounters, RegisterCell,
};
pub use self::data::{BitsType, Data, DataType, Header, Union};
pub use self::entity::{
    Cells, DigestConfig, Entity, EntrySelection, Selection, Update, UpdateKind,
};
pub use self::entry::{EntryKey, FieldMatch, MatchKey, Matching, TableEntry, ValueSet};
pub use self::error::{Code, EntityError, LONGEST_MESSAGE, shortened};
pub use self::plane::{Atomicity, Cursor, DataPlane, Keep, Reader, Target, Visibility, write};
pub use self::replication::{
    Backup, CloneSession, CloneSessionId, MulticastGroup, MulticastGroupId, Replica,
};
pub use self::scalar::Value;
pub use self::time::Nanos;
pub use self::usage::ProfileUsage;
pub use self::value::ValueType;
