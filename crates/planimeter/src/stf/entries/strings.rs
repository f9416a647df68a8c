//! Converts strings of translated types in entries (`@p4runtime_translation`) to numbers, because
//! scripts contain only numbers.

use std::sync::Arc;

use entities::EntityError;
use entities::schema::TranslatedTypeId;
use entities::value::encode;
use p4runtime::p4info::Schema;
use p4runtime::proto::config::{P4Info, P4NamedType};
use p4runtime::proto::v1::{
    Update, entity::Entity, field_match::FieldMatchType, table_action::Type as ActionType,
};
use pipeline::Translated;

use crate::failure::Failure;

/// The strings of a program and their numbers. Some numbers are stated by the program, and the
/// others were assigned to strings in entries and scripts.
#[derive(Debug)]
pub(crate) struct Strings {
    schema: Arc<Schema>,
    translated: Arc<Translated>,
}

impl Strings {
    /// Creates the strings of a program with this P4Info and these translated types.
    pub(crate) fn new(p4info: P4Info, translated: Arc<Translated>) -> Result<Self, Failure> {
        let schema = Schema::new(p4info).map_err(Failure::input)?;
        Ok(Self { schema, translated })
    }

    /// Returns the P4Info of the program.
    pub(crate) fn p4info(&self) -> &P4Info {
        self.schema.p4info()
    }

    /// Replaces the strings in updates by their numbers. If an update is refused, returns its
    /// position, counted from 1, and the reason.
    pub(super) fn replace(&self, updates: &mut [Update]) -> Result<(), (usize, EntityError)> {
        for (position, update) in (1..).zip(updates) {
            self.replace_in(update).map_err(|error| (position, error))?;
        }
        Ok(())
    }

    fn replace_in(&self, update: &mut Update) -> Result<(), EntityError> {
        let entity = update.entity.as_mut().and_then(|entity| entity.entity.as_mut());
        let Some(Entity::TableEntry(entry)) = entity else { return Ok(()) };
        let has_id =
            |id: u32| move |preamble: &p4runtime::proto::config::Preamble| preamble.id == id;
        let mut tables = self.p4info().tables.iter();
        let table =
            tables.find(|table| table.preamble.as_ref().is_some_and(has_id(entry.table_id)));
        for field in &mut entry.r#match {
            let mut declared = table.into_iter().flat_map(|table| &table.match_fields);
            let declared = declared.find(|declared| declared.id == field.field_id);
            let Some(of) = declared.and_then(|declared| self.of(declared.type_name.as_ref()))
            else {
                continue;
            };
            match &mut field.field_match_type {
                Some(FieldMatchType::Exact(exact)) => {
                    exact.value = encode(self.number(of, &exact.value)?);
                }
                Some(FieldMatchType::Optional(optional)) => {
                    optional.value = encode(self.number(of, &optional.value)?);
                }
                // P4Runtime has strings in exact and optional matches only.
                Some(
                    FieldMatchType::Ternary(_)
                    | FieldMatchType::Lpm(_)
                    | FieldMatchType::Range(_)
                    | FieldMatchType::Other(_),
                )
                | None => {}
            }
        }
        let action = entry.action.as_mut().and_then(|action| action.r#type.as_mut());
        let Some(ActionType::Action(action)) = action else { return Ok(()) };
        let mut actions = self.p4info().actions.iter();
        let known =
            actions.find(|known| known.preamble.as_ref().is_some_and(has_id(action.action_id)));
        for param in &mut action.params {
            let mut declared = known.into_iter().flat_map(|known| &known.params);
            let declared = declared.find(|declared| declared.id == param.param_id);
            if let Some(of) = declared.and_then(|declared| self.of(declared.type_name.as_ref())) {
                param.value = encode(self.number(of, &param.value)?);
            }
        }
        Ok(())
    }

    /// Returns the translated type with this name, if it is one.
    fn of(&self, name: Option<&P4NamedType>) -> Option<TranslatedTypeId> {
        self.schema.translated_type(&name?.name)
    }

    /// Returns the number of a string. A string without a number is assigned one.
    fn number(&self, of: TranslatedTypeId, text: &[u8]) -> Result<u128, EntityError> {
        let number = self.translated.number(of, text)?.to_u128();
        number.ok_or_else(|| self.translated.translations().unknown(of, text))
    }
}
