//! The translated types of a program (`@p4runtime_translation`): the keys, parameters and ports
//! that have them, and the numbers that stand for the strings of controllers.
//!
//! Tables and packets contain only the numbers. Traces and scripts show and accept the strings too.

use entities::schema::TranslatedTypeId;
use entities::{EntityError, Translations, Used};
use ir::bits::Bits;
use ir::{ActionId, TableId};
use std::collections::HashMap;
use std::sync::Arc;

/// The translated types of a program, whose values controllers see as strings.
#[derive(Debug, Default)]
pub struct Translated {
    pub(crate) translations: Arc<Translations>,
    /// The type of the ports of replicas and watched ports, if controllers see these ports as
    /// strings.
    pub(crate) port: Option<TranslatedTypeId>,
    /// The type of the ports of packets: [`Self::port`], or, if that is `None`, the type of ports
    /// in controller headers.
    pub(crate) port_of_packets: Option<TranslatedTypeId>,
    /// The translated types of table keys, by table and position of the key.
    pub(crate) keys: HashMap<(TableId, usize), TranslatedTypeId>,
    /// The translated types of action parameters, by action and position of the parameter.
    pub(crate) parameters: HashMap<(ActionId, usize), TranslatedTypeId>,
}

impl Translated {
    /// Returns the current assignment of numbers to strings for all translated types.
    #[must_use]
    pub fn translations(&self) -> &Arc<Translations> {
        &self.translations
    }

    /// Returns the type of a key of a table, if it is translated.
    #[must_use]
    pub fn of_key(&self, table: TableId, position: usize) -> Option<TranslatedTypeId> {
        self.keys.get(&(table, position)).copied()
    }

    /// Returns the type of a parameter of an action, if it is translated. The position is that
    /// among all parameters of the action.
    #[must_use]
    pub fn of_parameter(&self, action: ActionId, position: usize) -> Option<TranslatedTypeId> {
        self.parameters.get(&(action, position)).copied()
    }

    /// Returns the type of the ports of packets, if it is translated.
    #[must_use]
    pub fn of_port(&self) -> Option<TranslatedTypeId> {
        self.port_of_packets
    }

    /// Returns the number of a string. If the string has none, the smallest free number is assigned
    /// to it for good. This is meant for scripts: strings that only scripts use are not counted
    /// among those in use when entities are deleted.
    ///
    /// # Errors
    /// Returns an error if the string is no value of the type, or if all numbers are in use.
    pub fn number(&self, of: TranslatedTypeId, text: &[u8]) -> Result<Bits, EntityError> {
        // No update begins here, so all strings count as those of the present one, and none loses
        // its number.
        let _ = self.translations.assign(of, text, &mut Used::default)?;
        match (self.translations.number(of, text), self.translations.bits(of)) {
            (Some(number), Some(width)) => Ok(Bits::unsigned(width, number)),
            _ => Err(self.translations.unknown(of, text)),
        }
    }

    /// Returns the string of a number if the type is translated. Returns `None` if the string is
    /// just the number in decimal digits.
    #[must_use]
    pub fn text(&self, of: Option<TranslatedTypeId>, number: &Bits) -> Option<String> {
        let number = number.to_u128()?;
        let text = self.translations.text(of?, number)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        Some(text).filter(|text| *text != number.to_string())
    }

    /// Returns the string of a port, like [`Self::text`].
    #[must_use]
    pub fn text_of_port(&self, port: u32) -> Option<String> {
        self.text(self.port_of_packets, &Bits::unsigned(u32::BITS, port.into()))
    }
}
