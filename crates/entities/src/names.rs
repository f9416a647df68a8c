//! The lookup of a program's objects by the names that people write. Such a name can be the full
//! name of an object, its alias, or the end of the full name after a dot, if no other object's name
//! has this end.
//!
//! Commands, scripts, files with entries and bindings share these rules, so that a name denotes the
//! same object everywhere.

use crate::schema::{
    Action, ActionProfile, Counter, Digest, DirectCounter, DirectMeter, MatchField, Meter,
    PacketField, Param, Register, Table, ValueSet,
};

/// The reason why a name does not denote an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The program has no object of this name.
    #[error("there is no {kind} '{name}'; {}", among(meant.as_deref(), known))]
    Unknown {
        /// The kind of object.
        kind: &'static str,
        /// The name as it was written.
        name: String,
        /// The name of an object that was probably meant, if there is a similar one.
        meant: Option<String>,
        /// The names of the objects of that kind.
        known: Vec<String>,
    },
    /// Several objects of the program end with this name.
    #[error("{kind} '{name}' is ambiguous: {}", candidates.join(", "))]
    Ambiguous {
        /// The kind of object.
        kind: &'static str,
        /// The name as it was written.
        name: String,
        /// The full names that end with the written name.
        candidates: Vec<String>,
    },
}

/// Returns the advice in the error message about an unknown name.
fn among(meant: Option<&str>, known: &[String]) -> String {
    /// The largest number of known names that the message lists.
    const MOST: usize = 12;
    match (meant, known) {
        (Some(meant), _) => format!("did you mean '{meant}'?"),
        (None, []) => "the pipeline has none".to_owned(),
        (None, known) if known.len() <= MOST => format!("there are {}", known.join(", ")),
        (None, known) => {
            let first = known.get(..MOST).unwrap_or_default().join(", ");
            format!("there are {}: {first}, ...", known.len())
        }
    }
}

/// An object with a full name and a short one.
pub trait Named {
    /// Returns the full name of the object.
    fn name(&self) -> &str;

    /// Returns the alias of the object in P4Info, which is empty if it has none.
    fn alias(&self) -> &str;

    /// Returns the short name of the object: its alias or, if it has none, its full name.
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

/// Returns the object that the name `given` denotes. `kind` is the kind of the objects in errors.
///
/// # Errors
/// Returns an error if the name denotes no object or several. It lists the objects in question.
pub fn find<'o, T: Named>(
    kind: &'static str,
    given: &str,
    all: impl Iterator<Item = &'o T>,
) -> Result<&'o T, NameError> {
    let all: Vec<&'o T> = all.collect();
    let all = || all.iter().copied();
    let exact = all().find(|one| one.name() == given);
    // An object without alias has an empty one, which names nothing.
    let of_alias = || all().find(|one| !given.is_empty() && one.alias() == given);
    if let Some(found) = exact.or_else(of_alias) {
        return Ok(found);
    }
    let names = all().map(Named::name);
    match only(names, &[&|name| is_end(name, given)]) {
        Ok(Some(position)) => all().nth(position).ok_or_else(|| unknown(kind, given, all())),
        Ok(None) => Err(unknown(kind, given, all())),
        Err(_) => {
            let alike = all().filter(|one| is_end(one.name(), given));
            let candidates = alike.map(|one| one.name().to_owned()).collect();
            Err(NameError::Ambiguous { kind, name: given.to_owned(), candidates })
        }
    }
}

fn unknown<'o, T: Named + 'o>(
    kind: &'static str,
    given: &str,
    all: impl Iterator<Item = &'o T> + Clone,
) -> NameError {
    let names = all.clone().flat_map(|one| [one.short(), one.name()]);
    let meant = meant(given, names).map(str::to_owned);
    let known = all.map(|one| one.short().to_owned()).collect();
    NameError::Unknown { kind, name: given.to_owned(), meant, known }
}

/// Returns whether `name` consists of a prefix, a dot and `end`.
#[must_use]
pub fn is_end(name: &str, end: &str) -> bool {
    let before = name.strip_suffix(end);
    !end.is_empty() && before.is_some_and(|before| before.ends_with('.'))
}

/// Returns the position of the only name that satisfies a condition. The conditions are tried in
/// order, and only the first condition that any name satisfies is considered. Returns `None` if no
/// name satisfies a condition.
///
/// # Errors
/// Returns two of the names if several satisfy that condition.
pub fn only<'n>(
    names: impl Iterator<Item = &'n str> + Clone,
    conditions: &[&dyn Fn(&str) -> bool],
) -> Result<Option<usize>, [&'n str; 2]> {
    for satisfies in conditions {
        let mut found = names.clone().enumerate().filter(|(_, name)| satisfies(name));
        match (found.next(), found.next()) {
            (Some((position, _)), None) => return Ok(Some(position)),
            (Some((_, first)), Some((_, second))) => return Err([first, second]),
            (None, _) => {}
        }
    }
    Ok(None)
}

/// Returns the name that a word probably stands for, or `None` if no name is similar enough. A name
/// is similar if at most a third of the word's letters, but at least one letter, may differ, or if
/// the name begins with the word.
pub fn meant<'n>(given: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    /// The number of letters that a word must have to stand for a name that begins with it.
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

#[cfg(test)]
mod tests {
    use super::*;

    struct Object(&'static str, &'static str);

    impl Named for Object {
        fn name(&self) -> &str {
            self.0
        }

        fn alias(&self) -> &str {
            self.1
        }
    }

    #[test]
    fn a_name_may_be_cut_in_front_at_a_dot_where_one_object_remains() {
        let all = [
            Object("Ingress.acl.filter", "acl.filter"),
            Object("Egress.acl.filter", "Egress.acl.filter"),
            Object("Ingress.routes", "routes"),
            Object("routes6", ""),
        ];
        let found = |given| find("table", given, all.iter()).map(|one| one.0);
        assert_eq!(found("Ingress.routes"), Ok("Ingress.routes"));
        assert_eq!(found("routes"), Ok("Ingress.routes"));
        // The alias of one decides before the ends of both.
        assert_eq!(found("acl.filter"), Ok("Ingress.acl.filter"));
        let error = found("filter").unwrap_err().to_string();
        assert_eq!(error, "table 'filter' is ambiguous: Ingress.acl.filter, Egress.acl.filter");
        // An end within a word is no name.
        let error = found("outes").unwrap_err().to_string();
        assert_eq!(error, "there is no table 'outes'; did you mean 'routes'?");
        let error = found("x").unwrap_err().to_string();
        let known = "acl.filter, Egress.acl.filter, routes, routes6";
        assert_eq!(error, format!("there is no table 'x'; there are {known}"));
        assert!(found("").is_err());
    }

    #[test]
    fn the_first_condition_that_any_name_satisfies_decides() {
        let names = || ["a.t1", "b.t1", "xt1", "t2"].into_iter();
        let is = |wanted: &'static str| move |name: &str| name == wanted;
        let ends = |wanted: &'static str| move |name: &str| is_end(name, wanted);
        assert_eq!(only(names(), &[&is("t2"), &ends("t2")]), Ok(Some(3)));
        assert_eq!(only(names(), &[&is("t1"), &ends("t1")]), Err(["a.t1", "b.t1"]));
        assert_eq!(only(names(), &[&is("t3"), &ends("t3")]), Ok(None));
    }
}
