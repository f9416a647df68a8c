//! What is wrong with a program that has no P4Info.

use ir::{Location, Violation};

/// Why a program has no P4Info, and where the source says so.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{kind}")]
#[non_exhaustive]
pub struct P4InfoError {
    /// The fault.
    pub kind: P4InfoErrorKind,
    /// The declaration that it is wrong with, in the files of the program; `None` for a program
    /// that has no source, or where it is wrong with the whole program.
    pub location: Option<Location>,
}

impl From<P4InfoErrorKind> for P4InfoError {
    fn from(kind: P4InfoErrorKind) -> Self {
        Self { kind, location: None }
    }
}

/// The faults for which a program has no P4Info.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum P4InfoErrorKind {
    /// The program breaks a promise of the intermediate representation.
    #[error("the program is not consistent: {0}")]
    Program(#[from] Violation),
    /// P4Info knows the externs of v1model, PSA and PNA.
    #[error("P4Info is defined for v1model, PSA and PNA, not for `{0}`")]
    Architecture(String),
    /// `@id` is no identifier.
    #[error("{name}: {text}: an identifier is a number below 2^32")]
    Id {
        /// What has it.
        name: String,
        /// The annotation.
        text: String,
    },
    /// The most significant byte of `@id` says another kind of object.
    #[error("{name}: @id({id:#x}): the most significant byte must be 0 or {prefix:#04x}")]
    Prefix {
        /// What has it.
        name: String,
        /// The identifier.
        id: u32,
        /// What objects of this kind have there.
        prefix: u8,
    },
    /// Two objects have the same `@id`.
    #[error("{name}: @id({id:#x}) is already that of another object")]
    DuplicateId {
        /// The second of them.
        name: String,
        /// The identifier.
        id: u32,
    },
    /// `@id` of a parameter, match field or header field is 0, not a number, or used twice.
    #[error("{owner}: {text}: identifiers of fields are numbers above 0, each used once")]
    FieldId {
        /// The action, table or header.
        owner: String,
        /// The annotation.
        text: String,
    },
    /// Two objects of one kind have one name.
    #[error("two {kind} have the name `{name}`; rename one with @name")]
    DuplicateName {
        /// In plural.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// Two keys of a table have one name, which was given to both.
    #[error("table {table}: two keys have the name `{name}`; rename one with @name")]
    DuplicateKey {
        /// The table.
        table: String,
        /// The name.
        name: String,
    },
    /// An action can be in neither entries nor as default.
    #[error("table {table}: {action} is both @tableonly and @defaultonly")]
    Scope {
        /// The table.
        table: String,
        /// The action.
        action: String,
    },
    /// An integer of a structured annotation does not fit 64 bits.
    #[error("@{annotation}[...]: an integer does not fit 64 bits; write it as a string")]
    WideAnnotation {
        /// The annotation's name.
        annotation: String,
    },
    /// `@p4runtime_translation` needs a type of a fixed number of bits below.
    #[error("type {name}: @p4runtime_translation needs bit<W> or int<W> as the original type")]
    Translation {
        /// The type.
        name: String,
    },
    /// `@p4runtime_translation` says something else.
    #[error(
        "type {name}: @p4runtime_translation takes a string and what controllers use: \
         `string`, `bit<W>` or W"
    )]
    TranslationArguments {
        /// The type.
        name: String,
    },
    /// A parameter of an action has a type of which a controller has no values.
    #[error("action {action}: parameter `{parameter}` must be bits, `bool` or an enumeration")]
    ParameterType {
        /// The action.
        action: String,
        /// The parameter.
        parameter: String,
    },
    /// A value set holds what match fields cannot be of.
    #[error(
        "value set {name}: P4Runtime has sets of bit<W>, of structs of bit<W> and of enumerations \
         with representation, matched in any way but `selector`"
    )]
    ValueSetType {
        /// The value set.
        name: String,
    },
    /// A value set holds structs with fields that match fields cannot be.
    #[error("value set {name}: P4Runtime has no sets of structs with other fields than bit<W>")]
    ValueSetField {
        /// The value set.
        name: String,
    },
    /// `@controller_header` without a name.
    #[error("header {header}: @controller_header needs a string, \"packet_in\" or \"packet_out\"")]
    ControllerHeader {
        /// The header.
        header: String,
    },
    /// `@selector_size_semantics` has another value.
    #[error(
        "{name}: @selector_size_semantics is \"sum_of_weights\" or \"sum_of_members\", not \"{given}\""
    )]
    SizeSemantics {
        /// The selector.
        name: String,
        /// What it says.
        given: String,
    },
    /// A value of `@pkginfo` or `@platform_property` has another type.
    #[error("@{annotation}: `{key}` must be {expected}")]
    Package {
        /// The annotation's name.
        annotation: &'static str,
        /// The key.
        key: String,
        /// What is expected.
        expected: &'static str,
    },
    /// An entry cannot be written in P4Runtime.
    #[error("table {table}, entry {entry}: {reason}")]
    Entry {
        /// The table.
        table: String,
        /// Counted from 1.
        entry: usize,
        /// Why.
        reason: &'static str,
    },
}

/// Collects what is wrong with the object that is looked at.
#[derive(Default)]
pub(super) struct Faults {
    pub(super) found: Vec<P4InfoError>,
    pub(super) at: Option<Location>,
}

impl Faults {
    /// Sets the place of what is looked at next; returns that of what was looked at before.
    pub(super) fn at(&mut self, location: Option<Location>) -> Option<Location> {
        std::mem::replace(&mut self.at, location)
    }

    pub(super) fn push(&mut self, kind: P4InfoErrorKind) {
        self.found.push(P4InfoError { kind, location: self.at });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }
}
