//! P4Info, checked and indexed.
//!
//! A [`Schema`] is made once from a P4Info message and then only read: thousands of emulated
//! switches share one behind an [`Arc`]. It holds no state of a switch.
//!
//! The check refuses what would make an update ambiguous or an index dangle: identifiers that
//! are zero or used twice, references to objects that do not exist, widths and sizes below zero,
//! types that do not resolve. It does not insist on the identifier prefixes of the specification
//! or on unique names, so that a P4Info written by hand serves too.

mod build;
mod error;
mod print;
mod resolve;
#[cfg(test)]
mod tests;
pub mod text;

use std::ops::Deref;
use std::sync::Arc;

pub use entities::ValueType;
pub use entities::schema::*;

pub use self::error::SchemaError;
#[cfg(test)]
pub(crate) use self::resolve::Resolver;
use crate::proto::config::P4Info;

/// A checked P4Info: the message, and the objects in it by identifier and by name.
#[derive(Debug)]
pub struct Schema {
    p4info: P4Info,
    objects: Arc<entities::schema::Schema>,
}

impl Schema {
    /// Checks `p4info` and indexes it.
    pub fn new(p4info: P4Info) -> Result<Arc<Self>, SchemaError> {
        let objects = Arc::new(build::schema(&p4info)?);
        Ok(Arc::new(Self { p4info, objects }))
    }

    /// The message that the schema was made from.
    pub fn p4info(&self) -> &P4Info {
        &self.p4info
    }

    /// The objects without the message, as a data plane knows them.
    pub fn objects(&self) -> &Arc<entities::schema::Schema> {
        &self.objects
    }
}

impl Deref for Schema {
    type Target = entities::schema::Schema;

    fn deref(&self) -> &Self::Target {
        &self.objects
    }
}
