//! The translated types of a program (`@p4runtime_translation`): which keys, parameters and ports
//! have them, and the numbers of the strings that controllers use for their values.
//!
//! Tables and packets have numbers only. Traces and scripts show and take the strings too.

use entities::schema::TranslatedTypeId;
use entities::{EntityError, Translations, Used};
use ir::bits::Bits;
use ir::{ActionId, TableId};
use std::collections::HashMap;
use std::sync::Arc;

/// The translated types of a program.
#[derive(Debug, Default)]
pub struct Translated {
    pub(crate) translations: Arc<Translations>,
    /// The type of ports in replicas and of watched ports, if controllers see it as a string.
    pub(crate) port: Option<TranslatedTypeId>,
    /// The type of the ports of packets: [`Self::port`], or else that of ports in controller
    /// headers.
    pub(crate) port_of_packets: Option<TranslatedTypeId>,
    /// The types of keys, by their positions in the program's tables.
    pub(crate) keys: HashMap<(TableId, usize), TranslatedTypeId>,
    /// The types of parameters, by their positions in the program's actions.
    pub(crate) parameters: HashMap<(ActionId, usize), TranslatedTypeId>,
}

impl Translated {
    /// Returns the numbers and strings of the types.
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

    /// Returns the number of a string. A string that has none is assigned the least free one, and
    /// keeps it: this is for scripts, whose strings are not counted when entities are deleted.
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

    /// Returns the string of a number, if the type is translated and the number has another string
    /// than its decimal digits.
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
