//! Generates values of types that the device translates, and values that refer to other entities.

use bytes::Bytes;
use protos::v1::{self, field_match::FieldMatchType as Match};

use super::Generator;
use crate::bench::value_of;
use crate::entities;
use crate::fuzz::generate::id_of;
use crate::fuzz::model::Model;
use crate::fuzz::scope::Scope;
use crate::subject::{Action, Reference, Table, Target};

/// The number of different strings in the small set from which most values are chosen.
const STRINGS: u32 = 6;
/// The largest length of a string outside that set, in bytes.
const LONGEST: usize = 12;

impl Generator<'_> {
    /// Generates a string. Most are from a small set, so that keys repeat.
    pub(super) fn text(&mut self) -> Bytes {
        if self.random.u8(..8) > 0 {
            return entities::text(self.random.u32(1..=STRINGS).into());
        }
        let length = self.random.usize(1..=LONGEST);
        (0..length).map(|_| self.random.char('!'..='~')).collect::<String>().into()
    }

    /// Changes the fields of a key that are references, so that they refer to existing entities, in
    /// seven of eight cases.
    pub(super) fn refer_from_key(
        &mut self,
        table: &Table,
        fields: &mut [v1::FieldMatch],
        model: &Model,
    ) {
        for (id, value) in self.values(&table.references, model) {
            for field in fields.iter_mut().filter(|field| field.field_id == id) {
                match &mut field.field_match_type {
                    Some(Match::Exact(exact)) => exact.value = value.clone(),
                    Some(Match::Optional(optional)) => optional.value = value.clone(),
                    Some(Match::Lpm(_) | Match::Ternary(_) | Match::Range(_) | Match::Other(_))
                    | None => {}
                }
            }
        }
    }

    /// Changes the arguments of a call that are references, so that they refer to existing
    /// entities, in seven of eight cases.
    pub(super) fn refer_from_call(
        &mut self,
        action: &Action,
        call: &mut v1::Action,
        model: &Model,
    ) {
        for (id, value) in self.values(&action.references, model) {
            for param in call.params.iter_mut().filter(|param| param.param_id == id) {
                param.value = value.clone();
            }
        }
    }

    /// Returns values for fields or parameters, each with its identifier, so that the references
    /// among them refer to existing entities. References may share fields, so the values of
    /// references with more fields come later and override the earlier ones.
    fn values(&mut self, references: &[Reference], model: &Model) -> Vec<(u32, Bytes)> {
        if self.random.u8(..8) == 0 {
            return Vec::new();
        }
        let mut references: Vec<&Reference> = references.iter().collect();
        references.sort_by_key(|reference| reference.pairs.len());
        let mut values = Vec::new();
        for Reference { target, pairs } in references {
            match target {
                Target::Table(id) => {
                    let entries: Vec<&v1::TableEntry> = model.entries(*id).collect();
                    let Some(entry) = self.random.choice(&entries) else { continue };
                    let found = pairs
                        .iter()
                        .filter_map(|pair| Some((pair.own, value_of(&entry.r#match, pair.field)?)));
                    values.extend(found);
                }
                Target::MulticastGroups => {
                    values.extend(self.number(
                        pairs.first().map(|pair| pair.own),
                        Scope::MulticastGroups,
                        model,
                    ));
                }
                Target::CloneSessions => {
                    values.extend(self.number(
                        pairs.first().map(|pair| pair.own),
                        Scope::CloneSessions,
                        model,
                    ));
                }
            }
        }
        values
    }

    /// Chooses the number of an existing multicast group or clone session. Returns it with the
    /// identifier of the referring field or parameter.
    fn number(&mut self, own: Option<u32>, scope: Scope, model: &Model) -> Option<(u32, Bytes)> {
        let there = model.entities(scope);
        let entity = self.random.choice(&there)?;
        Some((own?, entities::bytes(id_of(entity).into())))
    }
}
