//! The entities that a control plane writes to a switch and reads from it, and the interface of a
//! data plane.
//!
//! The crate defines the common types: table entries with their matches and actions, members and
//! groups of action profiles, counters, meters, registers, multicast groups, clone sessions,
//! digests and value sets. These types know neither the messages of a protocol nor the processing
//! of packets. A protocol layer is above them, a data plane below, and [`DataPlane`] is the
//! interface between the two.
//!
//! * [`schema`]: the objects of a program, by identifier and by name.
//! * [`value`], [`Value`], [`Data`]: values in canonical form.
//! * [`names`], [`plain`]: objects, values and matches in the forms in which people write them.
//!   [`written`]: numbers and addresses in these forms.
//! * [`Entity`], [`Update`], [`Selection`]: what is written and read.
//! * [`Translations`]: the numbers that stand for the strings that controllers use.
//! * [`DataPlane`], [`Reader`], [`Target`]: the interface of a data plane; [`write()`] applies a
//!   batch of updates to it.

mod action;
mod array;
mod data;
mod entity;
mod entry;
mod error;
pub mod names;
pub mod plain;
mod plane;
mod replication;
mod scalar;
pub mod schema;
mod time;
mod translation;
mod usage;
pub mod value;
pub mod written;

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
pub use self::translation::{
    LONGEST_TEXT, PortNames, TranslationPair, TranslationUndo, Translations, TypeOfProgram, Used,
};
pub use self::usage::ProfileUsage;
pub use self::value::ValueType;
