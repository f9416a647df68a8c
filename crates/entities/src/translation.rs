//! The numbers that a program uses in place of the strings that controllers use
//! (`@p4runtime_translation` with `string`; specification of P4Runtime 1.5, "Translation of
//! User-defined Types").
//!
//! A type is identified by its name, since the URIs of programs are often empty. Some pairs of
//! string and number are given by the program (`@p4runtime_translation_mappings`). Any other string
//! is assigned the least free number when an update first contains it. If an update is refused or
//! rolled back, the numbers that it was assigned become free again. Reads and deletions assign no
//! numbers. A string that no entity contains any more keeps its number until numbers run out. Then
//! the string that was written least recently loses its number.
//!
//! Which strings are in use is determined only when numbers run out, by visiting all entities.
//! Counting references at each write instead would miss the entries that packets add and that
//! expire.
//!
//! If the values of a type are ports, the decimal digits and the name of a port denote the port's
//! number. Other strings get numbers that no port has.

mod pairs;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::error::{Code, EntityError};
use crate::schema::TranslatedTypeId;

pub use self::pairs::{LONGEST_TEXT, PortNames, TypeOfProgram, Used};
use self::pairs::{NotAssigned, PairUndo, Pairs, shown};

/// The translated types of a loaded program, each with its pairs of strings and numbers. The
/// control plane changes the pairs, and threads that process packets read them.
#[derive(Debug, Default)]
pub struct Translations {
    types: RwLock<Vec<Pairs>>,
    names: HashMap<String, TranslatedTypeId>,
}

/// A pair of a string and the number that it was assigned, with the name of its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranslationPair {
    /// The name of the type in P4Info.
    pub type_name: String,
    /// The string that controllers use.
    pub text: Box<[u8]>,
    /// The number that the program uses.
    pub number: u128,
}

/// The information that is needed to undo the assignment of a number to a string.
#[derive(Debug)]
#[must_use = "a refused update must return the numbers that it was assigned"]
pub struct TranslationUndo {
    of: TranslatedTypeId,
    pair: PairUndo,
}

impl TranslationUndo {
    /// Returns whether there is nothing to undo, because the string already had a number.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        matches!(self.pair, PairUndo::Nothing)
    }
}

impl Translations {
    /// Creates the translations of these types, which must be in the order of their identifiers.
    ///
    /// # Errors
    /// Returns an error if a given number does not fit its type.
    pub fn new(types: Vec<TypeOfProgram>) -> Result<Self, EntityError> {
        let ids = (0..).map(TranslatedTypeId);
        let names = types.iter().map(|of| of.name.clone()).zip(ids).collect();
        let types = types.into_iter().map(Pairs::new).collect::<Result<_, _>>()?;
        Ok(Self { types: RwLock::new(types), names })
    }

    /// Returns whether the program has no translated types.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the number of a string, or `None` if the string has none.
    #[must_use]
    pub fn number(&self, of: TranslatedTypeId, text: &[u8]) -> Option<u128> {
        self.read().get(of.index())?.number(text)
    }

    /// Returns the string of a number, or `None` if the number has no string. If the values of the
    /// type are ports, every number has one.
    #[must_use]
    pub fn text(&self, of: TranslatedTypeId, number: u128) -> Option<Arc<[u8]>> {
        self.read().get(of.index())?.text(number)
    }

    /// Returns the width that values of a type have in the program, in bits.
    #[must_use]
    pub fn bits(&self, of: TranslatedTypeId) -> Option<u32> {
        self.read().get(of.index()).map(|pairs| pairs.bits)
    }

    /// Returns the error for a string that has no number.
    #[must_use]
    pub fn unknown(&self, of: TranslatedTypeId, text: &[u8]) -> EntityError {
        let types = self.read();
        let name = types.get(of.index()).map_or("", |pairs| &pairs.name);
        EntityError::not_found(format!(
            "the string '{}' of type '{name}' has no number, because no entity was written with it",
            shown(text)
        ))
    }

    /// Returns the error for a number that has no string.
    #[must_use]
    pub fn unnamed(&self, of: TranslatedTypeId, number: u128) -> EntityError {
        let types = self.read();
        let name = types.get(of.index()).map_or("", |pairs| &pairs.name);
        EntityError::new(
            Code::FailedPrecondition,
            format!(
                "the number {number} of type '{name}' has no string; \
                 @p4runtime_translation_mappings can give it one"
            ),
        )
    }

    /// Assigns a number to a string that has none, and records that an update contains the string.
    /// `used` returns the numbers and strings that entities contain. It is called only if it is
    /// needed, because it visits all entities.
    ///
    /// # Errors
    /// Returns an error if the string is no value of the type, or if all numbers are in use.
    pub fn assign(
        &self,
        of: TranslatedTypeId,
        text: &[u8],
        used: &mut dyn FnMut() -> Used,
    ) -> Result<TranslationUndo, EntityError> {
        let mut known = None;
        loop {
            // The lock is not held while entities are visited, since a reader of an entity may wait
            // for it.
            let assigned = match self.write().get_mut(of.index()) {
                Some(pairs) => pairs.assign(text, known.as_ref()),
                None => {
                    let message = format!("the program has no translated type {}", of.0);
                    Err(NotAssigned::Refused(EntityError::new(Code::Internal, message)))
                }
            };
            match assigned {
                Ok(pair) => return Ok(TranslationUndo { of, pair }),
                Err(NotAssigned::Refused(error)) => return Err(error),
                Err(NotAssigned::Undetermined) => known = Some(used()),
            }
        }
    }

    /// Undoes an assignment. Assignments must be undone in the reverse order.
    pub fn undo(&self, undo: TranslationUndo) {
        if let Some(pairs) = self.write().get_mut(undo.of.index()) {
            pairs.undo(undo.pair);
        }
    }

    /// Begins a batch of updates. [`Self::changed`] returns the pairs that were assigned since
    /// then.
    pub fn begin_batch(&self) {
        self.write().iter_mut().for_each(Pairs::begin_batch);
    }

    /// Begins an update. Strings that it contains cannot lose their numbers before the next update
    /// begins.
    pub fn begin_update(&self) {
        self.write().iter_mut().for_each(Pairs::begin_update);
    }

    /// Records that an update was undone. Entities may then contain strings that were unused
    /// before.
    pub fn undone(&self) {
        self.write().iter_mut().for_each(Pairs::forget_unused);
    }

    /// Assigns a number that the program itself writes, such as one in a constant entry, to the
    /// string of its decimal digits, if both the number and the string are free.
    pub fn give_digits(&self, of: TranslatedTypeId, number: u128) {
        if let Some(pairs) = self.write().get_mut(of.index()) {
            pairs.give_digits(number);
        }
    }

    /// Reserves a number, so that it is not assigned to a string in the future. If a string has the
    /// number already, it keeps it.
    pub fn reserve(&self, of: TranslatedTypeId, number: u128) {
        if let Some(pairs) = self.write().get_mut(of.index()) {
            pairs.reserve(number);
        }
    }

    /// Returns the pairs that were assigned to the updates of the current batch.
    #[must_use]
    pub fn changed(&self) -> Vec<TranslationPair> {
        let types = self.read();
        let changed = types.iter().flat_map(|pairs| {
            let found = pairs.changed.iter().filter_map(|number| {
                pairs.assigned(*number).map(|pair| shown_pair(pairs, *number, &pair.text))
            });
            found.collect::<Vec<_>>()
        });
        changed.collect()
    }

    /// Returns those pairs of [`Self::changed`] whose type stands for ports, but whose string
    /// denotes no existing port.
    #[must_use]
    pub fn changed_without_port(&self) -> Vec<TranslationPair> {
        let mut changed = self.changed();
        let types = self.read();
        changed.retain(|pair| {
            let of = self.names.get(&pair.type_name).and_then(|id| types.get(id.index()));
            of.is_some_and(|pairs| pairs.is_no_port(&pair.text))
        });
        changed
    }

    /// Returns all pairs except those that the program itself assigned, ordered by type and number.
    #[must_use]
    pub fn assigned(&self) -> Vec<TranslationPair> {
        let types = self.read();
        let all = types.iter().flat_map(|pairs| {
            pairs.all_assigned().map(|(number, pair)| shown_pair(pairs, number, &pair.text))
        });
        all.collect()
    }

    /// Plans assignments. When one of these strings is next assigned a number, it gets the planned
    /// one. Pairs of types that the program does not have are ignored.
    pub fn plan(&self, planned: &[TranslationPair]) {
        let mut types = self.write();
        for pair in planned {
            let id = self.names.get(&pair.type_name);
            if let Some(pairs) = id.and_then(|id| types.get_mut(id.index())) {
                pairs.plan(&pair.text, pair.number);
            }
        }
    }

    /// Ends the plan. Strings that no update has contained get their planned numbers, if these are
    /// free.
    pub fn settle(&self) {
        self.write().iter_mut().for_each(Pairs::settle);
    }

    fn read(&self) -> RwLockReadGuard<'_, Vec<Pairs>> {
        self.types.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Vec<Pairs>> {
        self.types.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn shown_pair(of: &Pairs, number: u128, text: &[u8]) -> TranslationPair {
    TranslationPair { type_name: of.name.clone(), text: text.into(), number }
}
