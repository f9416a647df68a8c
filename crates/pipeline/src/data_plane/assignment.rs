//! Assigns numbers to the strings in controllers' updates, and strings to the numbers in a program.

use super::shared::{Configuration, Shared};
use super::texts::Texts;
use super::used::used;
use super::write::Writer;
use entities::schema::TranslatedTypeId;
use entities::{EntityError, Update, UpdateKind};

impl Shared {
    /// Assigns strings to the numbers of translated types that occur in the program's own entries,
    /// default actions and initial registers.
    pub(super) fn name_numbers_of_program(&self) {
        let translations = &self.translated.translations;
        for of in (0..).map(TranslatedTypeId).take(self.schema.translated_types().len()) {
            let used = used(self, &Configuration::default(), of);
            let mut numbers: Vec<_> = used.numbers.into_iter().collect();
            numbers.sort_unstable();
            numbers.into_iter().for_each(|number| translations.give_digits(of, number));
        }
    }
}

impl Writer<'_> {
    /// Assigns a number to every string in an update that has none yet.
    pub(super) fn assign(&mut self, update: &Update) -> Result<(), EntityError> {
        let (shared, configuration) = (self.shared, &*self.configuration);
        let translations = &shared.translated.translations;
        if translations.is_empty() || update.kind == UpdateKind::Delete {
            return Ok(());
        }
        translations.begin_update();
        let mut undos = Vec::new();
        let mut outcome = Ok(());
        Texts {
            shared,
            visit: &mut |of, text| {
                if outcome.is_ok() {
                    match translations.assign(of, text, &mut || used(shared, configuration, of)) {
                        Ok(undo) if undo.is_nothing() => {}
                        Ok(undo) => undos.push(undo),
                        Err(error) => outcome = Err(error),
                    }
                }
            },
        }
        .of_entity(&update.entity);
        for undo in undos {
            self.undo(move |shared, _| shared.translated.translations.undo(undo));
        }
        outcome
    }
}
