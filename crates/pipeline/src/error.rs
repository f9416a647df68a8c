//! The errors of this crate, with one enumeration for each operation.

use ir::bits::ParseBitsError;
use std::fmt;
use std::panic::Location;

/// A violated invariant of this crate. It is a bug in the crate, not a fault of a program or
/// packet. Nothing is computed from a state in which an invariant does not hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct InternalError {
    /// A description of the object that is missing or inconsistent.
    what: &'static str,
    place: &'static Location<'static>,
}

impl InternalError {
    /// Creates the error for an invariant whose violation was found at the place where this
    /// function is called.
    #[track_caller]
    pub(crate) const fn new(what: &'static str) -> Self {
        Self { what, place: Location::caller() }
    }
}

impl fmt::Display for InternalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, place } = self;
        write!(f, "{}:{}: {what}", place.file(), place.line())
    }
}

impl fmt::Debug for InternalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InternalError({self})")
    }
}

impl std::error::Error for InternalError {}

impl From<InternalError> for RunError {
    fn from(error: InternalError) -> Self {
        Self::Internal(error)
    }
}

/// An error in loading a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The program's file was written with another version of the IR.
    #[error(
        "the program is in version {found} of the IR, and this version of planimeter reads {known}: compile it again"
    )]
    Version {
        /// The version of the IR that the file has.
        found: u32,
        /// The version of the IR that this crate reads.
        known: u32,
    },
    /// The program violates an invariant of the IR: its file was damaged or written by hand.
    #[error("the program is damaged: {0}; compile it again")]
    Invalid(String),
    /// The program exceeds a limit within which every compiler stays, so it was not written by one.
    #[error("{0}")]
    Exceeded(String),
    /// A program that is valid cannot be loaded, because of a bug of this crate.
    #[error("internal error in the loader at {0}; please report it with the program")]
    Internal(InternalError),
    /// The thread that computes the costs of the program's blocks and functions could not be
    /// started.
    #[error("no thread can be started to load the program: {0}")]
    Thread(String),
    /// There is not enough memory for the program's entries.
    #[error("no memory for the tables of the program: make them smaller")]
    Memory,
    /// The program's registers and counters take too much memory.
    #[error(
        "the program's registers and counters take {bytes} bytes, and at most {limit} are allowed \
         (--pipeline-memory of a switch)"
    )]
    State {
        /// The number of bytes that the registers and counters would take.
        bytes: u64,
        /// The maximum number of bytes that they may take.
        limit: u64,
    },
    /// The program declares a v1model of its own, whose port numbers are wider than those of a
    /// switch.
    #[error("egress_spec has {bits} bits in the program's v1model; a port has at most 32")]
    PortWidth {
        /// The width of `egress_spec` in bits.
        bits: u64,
    },
    /// The program's variables hold too many single values (fields and elements).
    #[error(
        "the program's variables hold {values} values, more than the maximum of {most}: shorten its header stacks"
    )]
    TooLarge {
        /// The number of single values (fields and elements) in the program's variables.
        values: u64,
        /// The maximum number of single values (fields and elements) in a program's variables.
        most: u64,
    },
    /// The package lacks a block that the architecture needs.
    #[error("the package {package} binds no {block}")]
    MissingBlock {
        /// The name of the package.
        package: String,
        /// The name of the block's parameter in the package.
        block: &'static str,
    },
    /// A block of the package does not have the parameters that the architecture passes to it.
    #[error("{block} has {found} parameters beside the packet, the architecture gives {expected}")]
    BlockParameters {
        /// The name of the block that lacks the expected parameters.
        block: String,
        /// The number of parameters that the block has.
        found: usize,
        /// The number of parameters that the architecture passes.
        expected: usize,
    },
    /// The package has no block that this crate can run.
    #[error("nothing in the package {0} can be run: it needs a parser or a control")]
    NothingToRun(String),
    /// The program uses an extern that this crate does not implement.
    #[error("{place}: {name} is not an extern that can be run")]
    UnknownExtern {
        /// The place of the call in the source.
        place: String,
        /// The name of the function, or of the type and method.
        name: String,
    },
}

/// An error in processing a packet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The condition of an `assert` or `assume` is false.
    #[error("{place}: {function} failed")]
    Assertion {
        /// The place of the call in the source.
        place: String,
        /// The name of the function: `assert` or `assume`.
        function: String,
    },
    /// The packet, with all its passes and copies, takes more units of work than it may.
    #[error(
        "one packet would take more than {0} units of work: check that loops end, that the program stops \
         recirculating, and that no large values are copied in a loop"
    )]
    WorkLimit(u64),
    /// Another thread has requested that the worker stop.
    #[error("the packet was dropped because its worker ended")]
    Stopped,
    /// The packet causes too many passes by recirculation, resubmission or cloning.
    #[error(
        "one packet takes more than {0} passes: check that the program stops recirculating, resubmitting and cloning"
    )]
    PassLimit(u64),
    /// An invariant of this crate was violated while the packet was processed. This is a bug of the
    /// crate.
    #[error("internal error at {0}; please report it with the program and the packet")]
    Internal(InternalError),
    /// There is not enough memory for the data that a worker needs in the tables.
    #[error("no memory for the table entries of a worker: make the tables smaller")]
    Memory,
    /// A packet that is processed without lasting effects looks up an entry that it has added
    /// itself. The outcome of such a lookup cannot be determined.
    #[error(
        "a packet that is only tried adds no entries, so its second lookup in {table} cannot be followed: process \
         it for good to see what happens"
    )]
    NotTried {
        /// The name of the table to which the packet would have added an entry.
        table: String,
    },
    /// The program uses an extern that this crate does not implement.
    #[error("{place}: {name} is not an extern that can be run")]
    UnknownExtern {
        /// The place of the call in the source.
        place: String,
        /// The name of the function, or of the type and method.
        name: String,
    },
    /// The program uses a hash algorithm that this crate does not implement.
    #[error("{0} is not a hash algorithm that can be run")]
    UnknownAlgorithm(String),
}

impl LoadError {
    /// Creates the error for an invariant whose violation was found at the place where this
    /// function is called.
    #[track_caller]
    pub(crate) const fn internal(what: &'static str) -> Self {
        Self::Internal(InternalError::new(what))
    }
}

impl RunError {
    /// Creates the error for an invariant whose violation was found at the place where this
    /// function is called.
    #[track_caller]
    pub(crate) const fn internal(what: &'static str) -> Self {
        Self::Internal(InternalError::new(what))
    }

    /// Returns the error for a program that uses an algorithm that is not implemented.
    pub(crate) fn algorithm(algorithm: &ir::hash::Algorithm) -> Self {
        Self::UnknownAlgorithm(match algorithm {
            ir::hash::Algorithm::Unknown(name) => name.clone(),
            other => format!("{other:?}").to_ascii_lowercase(),
        })
    }

    /// Returns whether the packet exceeded its limit of work or of passes, so that its processing
    /// might never have ended.
    #[must_use]
    pub fn is_endless(&self) -> bool {
        matches!(self, Self::WorkLimit(_) | Self::PassLimit(_))
    }

    /// Returns the kind of the error in one word, by which errors can be counted.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Assertion { .. } => "assertion",
            Self::WorkLimit(_) => "work_limit",
            Self::Stopped => "stopped",
            Self::PassLimit(_) => "pass_limit",
            Self::Internal(_) => "internal",
            Self::Memory => "memory",
            Self::NotTried { .. } => "not_tried",
            Self::UnknownExtern { .. } => "unknown_extern",
            Self::UnknownAlgorithm(_) => "unknown_algorithm",
        }
    }
}

/// An error in an operation of the control plane.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// The program has no object with this name or number.
    #[error("the program has no {kind} {name}")]
    Unknown {
        /// The kind of object: a table, an action and so on.
        kind: &'static str,
        /// The name or number of the object.
        name: String,
    },
    /// The number of match values differs from the number of the table's keys.
    #[error("{found} match values for {expected} keys")]
    KeyCount {
        /// The number of match values given.
        found: usize,
        /// The number of the table's keys.
        expected: usize,
    },
    /// A match value is of another kind than the key of the table.
    #[error("key {key} is matched {expected}, not {found}")]
    MatchKind {
        /// The name of the key in the table.
        key: String,
        /// The match kind of the table's key.
        expected: String,
        /// The kind of the match value given.
        found: &'static str,
    },
    /// A match value is of the right kind but not valid, such as a range whose start is above its
    /// end.
    #[error("key {key}: {reason}")]
    MatchValue {
        /// The name of the key in the table.
        key: String,
        /// The reason why the value is not valid.
        reason: &'static str,
    },
    /// A number is too wide for its key or parameter.
    #[error("{what} has {expected} bits, the value needs {found}")]
    Width {
        /// The name of the key or parameter.
        what: String,
        /// The width in bits that the program declares.
        expected: u32,
        /// The width in bits that the number needs.
        found: u32,
    },
    /// A text cannot be read as a value.
    #[error(transparent)]
    Number(#[from] ParseBitsError),
    /// The entry has no priority, but entries of its table need one.
    #[error(
        "the table has ternary, range or optional keys, so its entries need a priority above 0"
    )]
    PriorityMissing,
    /// The entry has a priority, but entries of its table must not have one.
    #[error("the table has only exact and lpm keys, so its entries have no priority")]
    PriorityUnexpected,
    /// The table already has an entry with the same match.
    #[error("an entry with this match exists already")]
    Duplicate,
    /// The table or profile has no such entry, member or group.
    #[error("no such {0}")]
    NotFound(&'static str),
    /// The table or profile has no space for another entry, member or group.
    #[error("{name} is full: it holds {size}")]
    Full {
        /// The name of the table or profile.
        name: String,
        /// The maximum number of entries, or the size of the profile.
        size: u64,
    },
    /// The object cannot be changed because the program declares it constant.
    #[error("{0} is constant in the program")]
    Constant(&'static str),
    /// The table does not have this action.
    #[error("the table has no action {0}")]
    ActionNotInTable(String),
    /// The annotation `@defaultonly` or `@tableonly` does not permit this use of the action.
    #[error("action {action} may be used only {only}")]
    ActionScope {
        /// The name of the action.
        action: String,
        /// The only permitted use of the action.
        only: &'static str,
    },
    /// The number of arguments differs from the number of the action's parameters.
    #[error("action {action} has {expected} parameters, {found} were given")]
    ParameterCount {
        /// The name of the action.
        action: String,
        /// The number of the action's parameters.
        expected: usize,
        /// The number of arguments given.
        found: usize,
    },
    /// The entry runs the wrong kind of object. In a table with an action profile, entries must run
    /// members; in a table with a selector, members or groups; in any other table, actions.
    #[error("the table takes {0}")]
    ActionKind(&'static str),
    /// The member or group cannot be removed because entries or groups use it.
    #[error("the {0} is in use")]
    InUse(&'static str),
    /// An index is beyond the end of a counter, meter or register array.
    #[error("index {index} is beyond the {size} elements of {name}")]
    Index {
        /// The index that was given.
        index: u64,
        /// The number of elements of the array.
        size: u64,
        /// The name of the counter, meter or register array.
        name: String,
    },
    /// The weight of a group's member is zero.
    #[error("the weight of a member is 1 or more")]
    Weight,
    /// An entry has an idle timeout, but its table does not support idle timeouts.
    #[error("the table does not support idle timeouts")]
    NoIdleTimeout,
}

/// An error in compiling a program to machine code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// The program contains a construct that machine code cannot express yet.
    #[error("{place}: {what} cannot be compiled yet: run the program on the interpreter")]
    Unsupported {
        /// A description of the construct that machine code cannot express.
        what: String,
        /// The place of the construct in the source.
        place: String,
    },
    /// The library that generates machine code refused the program.
    #[error("the code generator refused the program: {0}")]
    Generator(String),
    /// The program cannot be compiled, because of a bug of this crate.
    #[error("internal error in the code generator at {0}; please report it with the program")]
    Internal(InternalError),
    /// The machine code would need more stack than a thread that processes packets has.
    #[error(
        "the calls of this program take {bytes} bytes of stack when it is compiled, and at most {most} are allowed: \
         nest fewer calls, or run the program on the interpreter"
    )]
    Stack {
        /// The number of bytes of stack that the machine code needs.
        bytes: u64,
        /// The maximum number of bytes of stack that machine code may need.
        most: u64,
    },
    /// The entries of a table cannot be stored in the way that its `@tableconfig` annotation
    /// specifies.
    #[error("table {table}: {reason}")]
    Design {
        /// The name of the table.
        table: String,
        /// The reason, and a design of the table that is possible.
        reason: tables::DesignError,
    },
    /// There is not enough memory to store existing entries in the form that machine code reads.
    #[error("there is no memory for the tables of the compiled program: run it on the interpreter")]
    Memory,
}

impl From<InternalError> for CompileError {
    fn from(error: InternalError) -> Self {
        Self::Internal(error)
    }
}

impl CompileError {
    /// Returns the error for a failure in the library that generates machine code.
    pub(crate) fn generator(error: impl fmt::Display) -> Self {
        Self::Generator(error.to_string())
    }

    /// Creates the error for an invariant whose violation was found at the place where this
    /// function is called.
    #[track_caller]
    pub(crate) const fn internal(what: &'static str) -> Self {
        Self::Internal(InternalError::new(what))
    }
}

impl CompileError {
    /// Returns the construct that machine code cannot express, if that is the error, otherwise
    /// `None`.
    #[must_use]
    pub fn unsupported(&self) -> Option<&str> {
        match self {
            Self::Unsupported { what, .. } => Some(what),
            _ => None,
        }
    }
}
