//! The lookup of objects of a pipeline by names that people write: the full name, the alias, or the
//! end of the full name if no other has it.

use crate::error::CommandError;
use entities::schema::{
    Action, ActionProfile, Counter, Digest, DirectCounter, DirectMeter, MatchField, Meter,
    PacketField, Param, Register, Table, ValueSet,
};

/// An object with a full name and a short one.
pub(crate) trait Named {
    fn name(&self) -> &str;
    fn alias(&self) -> &str;

    /// Returns the shorter name of the object, which P4Info calls its alias.
    fn short(&self) -> &str {
        if self.alias().is_empty() { self.name() } else { self.alias() }
    }
}

macro_rules! named {
    ($($object:ident)*) => {$(
        impl Named for $object {
            fn name(&self) -> &str {
                &self.name
            }

            fn alias(&self) -> &str {
                &self.alias
            }
        }
    )*};
    (without alias: $($object:ident)*) => {$(
        impl Named for $object {
            fn name(&self) -> &str {
                &self.name
            }

            fn alias(&self) -> &str {
                ""
            }
        }
    )*};
}

named! { Table Action ActionProfile Counter DirectCounter Meter DirectMeter Register Digest ValueSet }
named! { without alias: MatchField Param PacketField }

/// Returns the object with a name.
///
/// # Errors
/// Returns an error that names the objects of the kind if there is none, or several.
pub(crate) fn find<'o, T: Named>(
    kind: &'static str,
    given: &str,
    all: impl Iterator<Item = &'o T>,
) -> Result<&'o T, CommandError> {
    let all: Vec<&'o T> = all.collect();
    let all = || all.iter().copied();
    let exact = all().find(|one| one.name() == given);
    if let Some(found) = exact.or_else(|| all().find(|one| one.alias() == given)) {
        return Ok(found);
    }
    let ends = |one: &&T| {
        let before = one.name().strip_suffix(given);
        !given.is_empty() && before.is_some_and(|before| before.ends_with('.'))
    };
    let mut found = all().filter(ends);
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(only),
        (Some(_), Some(_)) => {
            let candidates = all().filter(ends).map(|one| one.name().to_owned()).collect();
            Err(CommandError::Ambiguous { kind, name: given.to_owned(), candidates })
        }
        (None, _) => {
            let names = all().flat_map(|one| [one.short(), one.name()]);
            let meant = meant(given, names).map(str::to_owned);
            let known = all().map(|one| one.short().to_owned()).collect();
            Err(CommandError::NoName { kind, name: given.to_owned(), meant, known })
        }
    }
}

/// Returns the name that a word probably means: the nearest one, if a third of its letters or fewer
/// are wrong, or one of which it is the beginning.
pub(crate) fn meant<'n>(given: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    /// The number of letters from which the beginning of a name stands for it.
    const BEGINNING: usize = 3;
    let given = given.to_lowercase();
    let length = given.chars().count();
    let most = (length / 3).max(1);
    let distance = |name: &str| {
        let name = name.to_lowercase();
        let begins = length >= BEGINNING && name.starts_with(&given);
        if begins { 1 } else { strsim::damerau_levenshtein(&given, &name) }
    };
    names
        .map(|name| (distance(name), name))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}
