//! Errors for programs whose P4Info cannot be generated.

use ir::{Location, Violation};

/// An error for a program whose P4Info cannot be generated, with its location in the source.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{kind}")]
#[non_exhaustive]
pub struct P4InfoError {
    /// The kind of error.
    pub kind: P4InfoErrorKind,
    /// The location of the declaration that has the error, in the files of the program. `None` if
    /// the program has no source, or if the error concerns the whole program.
    pub location: Option<Location>,
}

impl From<P4InfoErrorKind> for P4InfoError {
    fn from(kind: P4InfoErrorKind) -> Self {
        Self { kind, location: None }
    }
}

/// The reason why the P4Info of a program cannot be generated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum P4InfoErrorKind {
    /// The program violates an invariant of the intermediate representation.
    #[error("the program is not consistent: {0}")]
    Program(#[from] Violation),
    /// The architecture is not v1model, PSA or PNA. P4Info supports the externs of only these
    /// three.
    #[error("P4Info is defined for v1model, PSA and PNA, not for `{0}`")]
    Architecture(String),
    /// The body of the annotation `@id` is not an identifier.
    #[error("{name}: {text}: an identifier is a number below 2^32")]
    Id {
        /// The name of the object with the annotation.
        name: String,
        /// The text of the annotation.
        text: String,
    },
    /// The identifier that `@id` sets for an object is that of another kind of object, as its most
    /// significant byte shows.
    #[error("{name}: @id({id:#x}): the most significant byte must be 0 or {prefix:#04x}")]
    Prefix {
        /// The name of the object.
        name: String,
        /// The identifier.
        id: u32,
        /// The most significant byte of identifiers for this kind of object.
        prefix: u8,
    },
    /// Two objects have the same identifier, which their annotations `@id` set.
    #[error("{name}: @id({id:#x}) is already that of another object")]
    DuplicateId {
        /// The name of the second object.
        name: String,
        /// The identifier.
        id: u32,
    },
    /// The `@id` of a parameter, match field or header field is 0, is not a number, or occurs
    /// twice.
    #[error("{owner}: {text}: identifiers of fields are numbers above 0, each used once")]
    FieldId {
        /// The name of the action, table or header to which the parameter or field belongs.
        owner: String,
        /// The text of the annotation.
        text: String,
    },
    /// Two objects of the same kind have the same name.
    #[error("two {kind} have the name `{name}`; rename one with @name")]
    DuplicateName {
        /// The kind of object, in the plural.
        kind: &'static str,
        /// The name that the two objects have.
        name: String,
    },
    /// Two keys of a table have the same name, which annotations set.
    #[error("table {table}: two keys have the name `{name}`; rename one with @name")]
    DuplicateKey {
        /// The name of the table.
        table: String,
        /// The name that the two keys have.
        name: String,
    },
    /// An action of a table is both `@tableonly` and `@defaultonly`, so it can be used neither in
    /// entries nor as the default action.
    #[error("table {table}: {action} is both @tableonly and @defaultonly")]
    Scope {
        /// The name of the table.
        table: String,
        /// The name of the action.
        action: String,
    },
    /// An integer in a structured annotation does not fit in 64 bits.
    #[error("@{annotation}[...]: an integer does not fit 64 bits; write it as a string")]
    WideAnnotation {
        /// The name of the annotation.
        annotation: String,
    },
    /// A type has the annotation `@p4runtime_translation`, but the type on which it is based has no
    /// fixed number of bits.
    #[error("type {name}: @p4runtime_translation needs bit<W> or int<W> as the original type")]
    Translation {
        /// The name of the type.
        name: String,
    },
    /// The numbers that `@p4runtime_translation_mappings` assigns to strings are invalid.
    #[error("type {name}: @p4runtime_translation_mappings {reason}")]
    TranslationMappings {
        /// The name of the type.
        name: String,
        /// The reason. In the message, it follows the name of the annotation.
        reason: String,
    },
    /// The arguments of `@p4runtime_translation` are invalid.
    #[error(
        "type {name}: @p4runtime_translation takes a string and what controllers use: \
         `string`, `bit<W>` or W"
    )]
    TranslationArguments {
        /// The name of the type.
        name: String,
    },
    /// The type of an action parameter is one whose values P4Runtime cannot express.
    #[error("action {action}: parameter `{parameter}` must be bits, `bool` or an enumeration")]
    ParameterType {
        /// The name of the action.
        action: String,
        /// The name of the parameter.
        parameter: String,
    },
    /// The elements of a value set have a type that a match field cannot have.
    #[error(
        "value set {name}: P4Runtime has sets of bit<W>, of structs of bit<W> and of enumerations \
         with representation, matched in any way but `selector`"
    )]
    ValueSetType {
        /// The name of the value set.
        name: String,
    },
    /// The elements of a value set are structs, and one of their fields cannot be a match field.
    #[error("value set {name}: P4Runtime has no sets of structs with other fields than bit<W>")]
    ValueSetField {
        /// The name of the value set.
        name: String,
    },
    /// The argument of the annotation `@controller_header` of a header is not a name.
    #[error("header {header}: @controller_header needs a string, \"packet_in\" or \"packet_out\"")]
    ControllerHeader {
        /// The name of the header.
        header: String,
    },
    /// The value of `@selector_size_semantics` is invalid.
    #[error(
        "{name}: @selector_size_semantics is \"sum_of_weights\" or \"sum_of_members\", not \"{given}\""
    )]
    SizeSemantics {
        /// The name of the action selector.
        name: String,
        /// The value of the annotation, as written.
        given: String,
    },
    /// A value of `@pkginfo` or `@platform_property` has the wrong type.
    #[error("@{annotation}: `{key}` must be {expected}")]
    Package {
        /// The name of the annotation.
        annotation: &'static str,
        /// The key whose value has the wrong type.
        key: String,
        /// A description of the expected type.
        expected: &'static str,
    },
    /// A table entry cannot be expressed in P4Runtime.
    #[error("table {table}, entry {entry}: {reason}")]
    Entry {
        /// The name of the table.
        table: String,
        /// The number of the entry in the table, counted from 1.
        entry: usize,
        /// The reason why P4Runtime cannot express the entry.
        reason: &'static str,
    },
}

/// A collector of the errors in a program. It adds the location of the object that is being
/// processed.
#[derive(Default)]
pub(super) struct Faults {
    pub(super) found: Vec<P4InfoError>,
    pub(super) at: Option<Location>,
}

impl Faults {
    /// Sets the location of the object that is processed from now on, which is the location of
    /// further errors. Returns the location that was set before.
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
