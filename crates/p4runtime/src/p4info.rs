//! P4Info, checked and indexed.
//!
//! A [`Schema`] is built once from a P4Info message and then only read: thousands of emulated
//! switches share one behind an [`Arc`]. It holds no state of a switch.
//!
//! The check refuses anything that would make an update ambiguous or leave a reference dangling:
//! identifiers that are zero or used twice, references to missing objects, negative widths and
//! sizes, and types that do not resolve. It does not require the identifier prefixes of the
//! specification or unique names, so that handwritten P4Infos are accepted too.

mod build;
mod error;
mod print;
mod resolve;
mod restrictions;
#[cfg(test)]
mod tests;
pub mod text;
mod translation;

use std::ops::Deref;
use std::sync::Arc;

pub use entities::ValueType;
pub use entities::schema::*;

pub use self::error::SchemaError;
#[cfg(test)]
pub(crate) use self::resolve::Resolver;
pub use self::restrictions::{Owner, Restricted, Restrictions, restricted};
pub use self::translation::{
    GivenNumber, GivenNumbers, mappings_body, new_mappings, translation_mappings,
};
use crate::conversion;
use crate::proto::{
    config::{self, P4Info},
    v1,
};
use crate::status::EntityError;

/// A checked P4Info: the message, and the objects in it by identifier and by name.
#[derive(Debug)]
pub struct Schema {
    p4info: P4Info,
    objects: Arc<entities::schema::Schema>,
    restrictions: Restrictions,
}

impl Schema {
    /// Checks `p4info` and indexes it.
    pub fn new(p4info: P4Info) -> Result<Arc<Self>, SchemaError> {
        Self::with_numbers(p4info, &GivenNumbers::new())
    }

    /// Checks `p4info` and indexes it. Strings of translated types are given these numbers, as if
    /// the P4Info had annotations for them.
    ///
    /// # Errors
    /// Returns an error if the P4Info is inconsistent, or contradicts a given number.
    pub fn with_numbers(p4info: P4Info, given: &GivenNumbers) -> Result<Arc<Self>, SchemaError> {
        let mut annotated = None;
        if let Some(types) = p4info.type_info.as_ref().filter(|_| !given.is_empty()) {
            let mut types = types.clone();
            translation::give(&mut types, given)?;
            annotated = Some(P4Info { type_info: Some(types), ..p4info.clone() });
        }
        let read = annotated.as_ref().unwrap_or(&p4info);
        let objects = Arc::new(build::schema(read)?);
        let restrictions = Restrictions::new(read, &objects)?;
        Ok(Arc::new(Self { p4info, objects, restrictions }))
    }

    /// Returns the message that the schema was built from.
    pub fn p4info(&self) -> &P4Info {
        &self.p4info
    }

    /// Returns the constraints on entries and actions that annotations state.
    pub fn restrictions(&self) -> &Restrictions {
        &self.restrictions
    }

    /// Checks an entry that the program declares: its form, and whether it meets the constraints.
    ///
    /// # Errors
    /// Returns the reason why a switch would refuse the entry.
    pub fn check_initial_entry(&self, entry: &v1::TableEntry) -> Result<(), EntityError> {
        let entry = conversion::initial_entry(&self.objects, entry)?;
        self.restrictions.check_entry(&self.objects, &entry)
    }

    /// Returns the annotations of a match field, such as `@format(MAC_ADDRESS)`.
    #[must_use]
    pub fn field_annotations(&self, table: TableId, field: MatchFieldId) -> &[String] {
        let is_it = |of: &&config::Table| has_id(of.preamble.as_ref(), table.0);
        let of = self.p4info.tables.iter().find(is_it);
        let field = of.and_then(|of| of.match_fields.iter().find(|one| one.id == field.0));
        field.map_or(&[], |field| field.annotations.as_slice())
    }

    /// Returns the annotations of a parameter of an action.
    #[must_use]
    pub fn param_annotations(&self, action: ActionId, param: ParamId) -> &[String] {
        let is_it = |of: &&config::Action| has_id(of.preamble.as_ref(), action.0);
        let of = self.p4info.actions.iter().find(is_it);
        let param = of.and_then(|of| of.params.iter().find(|one| one.id == param.0));
        param.map_or(&[], |param| param.annotations.as_slice())
    }

    /// Returns the objects of the P4Info without the message, in the form that data planes use.
    pub fn objects(&self) -> &Arc<entities::schema::Schema> {
        &self.objects
    }
}

fn has_id(preamble: Option<&config::Preamble>, id: u32) -> bool {
    preamble.is_some_and(|preamble| preamble.id == id)
}

impl Deref for Schema {
    type Target = entities::schema::Schema;

    fn deref(&self) -> &Self::Target {
        &self.objects
    }
}
