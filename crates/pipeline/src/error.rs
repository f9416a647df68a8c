//! What can go wrong, one enumeration per operation.

use ir::bits::ParseBitsError;

/// A program cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// Of another form of the IR.
    #[error(
        "the program is in version {found} of the IR, this one reads {known}: compile it again"
    )]
    Version {
        /// Of the program.
        found: u32,
        /// That this crate reads.
        known: u32,
    },
    /// The IR breaks a promise of its form.
    #[error("the program is damaged: {0}; compile it again")]
    Invalid(String),
    /// Something refers to what is not there.
    #[error("the program is damaged ({0} not found): compile it again")]
    Malformed(&'static str),
    /// Its entries find no room.
    #[error("no memory for the tables of the program: make them smaller")]
    Memory,
    /// Its registers and counters take too much memory.
    #[error(
        "the program's registers and counters take {bytes} bytes, and at most {limit} are allowed \
         (--pipeline-memory of a switch)"
    )]
    State {
        /// The bytes that they take.
        bytes: u64,
        /// The bytes that they may take.
        limit: u64,
    },
    /// Its variables hold too much.
    #[error(
        "the program's variables hold {values} values, more than {most}: shorten its header stacks"
    )]
    TooLarge {
        /// How many.
        values: u64,
        /// How many there may be.
        most: u64,
    },
    /// The architecture needs a block that the package does not bind.
    #[error("the package {package} binds no {block}")]
    MissingBlock {
        /// The package.
        package: String,
        /// Parameter of the package.
        block: &'static str,
    },
    /// A block has parameters that the architecture does not give.
    #[error("{block} has {found} parameters beside the packet, the architecture gives {expected}")]
    BlockParameters {
        /// Name of the block.
        block: String,
        /// How many it has.
        found: usize,
        /// How many it should have.
        expected: usize,
    },
    /// A package of which no block can be run.
    #[error("nothing in the package {0} can be run: it needs a parser or a control")]
    NothingToRun(String),
    /// An extern that is not built in.
    #[error("{place}: {name} is not an extern that can be run")]
    UnknownExtern {
        /// In the source.
        place: String,
        /// Function, or type and method.
        name: String,
    },
    /// An entry in the source.
    #[error("table {table}, entry {position}: {cause}")]
    Entry {
        /// Name of the table.
        table: String,
        /// From 0.
        position: usize,
        /// Why it cannot be added.
        cause: ControlError,
    },
}

/// A packet could not be processed to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// `assert` or `assume` with a false condition.
    #[error("{place}: {function} failed")]
    Assertion {
        /// In the source.
        place: String,
        /// `assert` or `assume`.
        function: String,
    },
    /// More work than one packet may take, with all its passes and copies.
    #[error(
        "one packet would take more than {0} units of work: does a loop end, does the program stop to recirculate, \
         are large values copied in a loop?"
    )]
    WorkLimit(u64),
    /// The worker is to end.
    #[error("the packet was dropped since its worker ends")]
    Stopped,
    /// Recirculation, resubmission or cloning that does not end.
    #[error(
        "one packet became more than {0} passes: does the program stop to recirculate, resubmit and clone?"
    )]
    PassLimit(u64),
    /// Deeper than the stack may be.
    #[error("calls, blocks and expressions nest more than {0} deep: flatten the program")]
    Depth(u32),
    /// Something refers to what is not there.
    #[error("the program is damaged ({0}): compile it again")]
    Malformed(&'static str),
    /// An extern that is not built in.
    #[error("{place}: {name} is not an extern that can be run")]
    UnknownExtern {
        /// In the source.
        place: String,
        /// Function, or type and method.
        name: String,
    },
    /// A hash of an algorithm that is not built in.
    #[error("{0} is not a hash algorithm that can be run")]
    UnknownAlgorithm(String),
}

impl RunError {
    /// Whether the packet was stopped since it would never have ended, as far as its budget of work and passes tells.
    #[must_use]
    pub fn is_endless(&self) -> bool {
        matches!(self, Self::WorkLimit(_) | Self::PassLimit(_))
    }

    /// What it is in one word, to be counted by.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Assertion { .. } => "assertion",
            Self::WorkLimit(_) => "work_limit",
            Self::Stopped => "stopped",
            Self::PassLimit(_) => "pass_limit",
            Self::Depth(_) => "depth",
            Self::Malformed(_) => "malformed",
            Self::UnknownExtern { .. } => "unknown_extern",
            Self::UnknownAlgorithm(_) => "unknown_algorithm",
        }
    }
}

/// The control plane asked for something that cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// No such thing in the program.
    #[error("the program has no {kind} {name}")]
    Unknown {
        /// Table, action and so on.
        kind: &'static str,
        /// Name or number.
        name: String,
    },
    /// Number of match values.
    #[error("{found} match values for {expected} keys")]
    KeyCount {
        /// Given.
        found: usize,
        /// Of the table.
        expected: usize,
    },
    /// A match value of another kind.
    #[error("key {key} is matched {expected}, not {found}")]
    MatchKind {
        /// Name of the key.
        key: String,
        /// Of the table.
        expected: String,
        /// Given.
        found: &'static str,
    },
    /// A match value that is no value of its kind.
    #[error("key {key}: {reason}")]
    MatchValue {
        /// Name of the key.
        key: String,
        /// Why.
        reason: &'static str,
    },
    /// A number beyond the width.
    #[error("{what} has {expected} bits, the value needs {found}")]
    Width {
        /// Key or parameter.
        what: String,
        /// Of the program.
        expected: u32,
        /// Given.
        found: u32,
    },
    /// A text that is not a value.
    #[error(transparent)]
    Number(#[from] ParseBitsError),
    /// Entries of this table need one.
    #[error(
        "the table has ternary, range or optional keys, so its entries need a priority above 0"
    )]
    PriorityMissing,
    /// Entries of this table have none.
    #[error("the table has only exact and lpm keys, so its entries have no priority")]
    PriorityUnexpected,
    /// An entry with the same match is there.
    #[error("an entry with this match is already there")]
    Duplicate,
    /// No such entry, member or group.
    #[error("no such {0}")]
    NotFound(&'static str),
    /// No room.
    #[error("{name} is full: it holds {size}")]
    Full {
        /// Table or profile.
        name: String,
        /// Its size.
        size: u64,
    },
    /// The program says that it is constant.
    #[error("{0} is constant in the program")]
    Constant(&'static str),
    /// An action that this table does not have.
    #[error("the table has no action {0}")]
    ActionNotInTable(String),
    /// `@defaultonly` or `@tableonly`.
    #[error("action {action} may be used only {only}")]
    ActionScope {
        /// Name of the action.
        action: String,
        /// Where it may be used.
        only: &'static str,
    },
    /// Number of action parameters.
    #[error("action {action} has {expected} parameters, {found} were given")]
    ParameterCount {
        /// Name of the action.
        action: String,
        /// Of the program.
        expected: usize,
        /// Given.
        found: usize,
    },
    /// A table with an action profile takes members, one without takes actions, one with a
    /// selector takes groups too.
    #[error("the table takes {0}")]
    ActionKind(&'static str),
    /// A member that entries or groups refer to.
    #[error("the {0} is in use")]
    InUse(&'static str),
    /// Beyond the array.
    #[error("index {index} is beyond the {size} elements of {name}")]
    Index {
        /// Asked for.
        index: u64,
        /// Of the array.
        size: u64,
        /// Name of the array.
        name: String,
    },
    /// A weight that no member can have.
    #[error("the weight of a member is 1 or more")]
    Weight,
    /// An idle timeout for a table that has none.
    #[error("the table does not support idle timeouts")]
    NoIdleTimeout,
}

/// A program cannot be compiled to machine code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// The compiled path does not have this yet.
    #[error(
        "{place}: {what} cannot be compiled to machine code yet: run the program on the interpreter"
    )]
    Unsupported {
        /// What it is.
        what: String,
        /// In the source.
        place: String,
    },
    /// The code generator gave up.
    #[error("no machine code for this program: {0}")]
    Generator(String),
    /// The code would take more stack than a thread that processes packets has to give.
    #[error(
        "the calls of this program take {bytes} bytes of stack in machine code, and at most {most} are \
         allowed: let fewer calls nest, or run the program on the interpreter"
    )]
    Stack {
        /// The bytes that they take.
        bytes: u64,
        /// The bytes that they may take.
        most: u64,
    },
    /// The entries of a table cannot be kept as its `@tableconfig` asks.
    #[error("table {table}: {reason}")]
    Design {
        /// The name of the table.
        table: String,
        /// The reason, and a design that can be had.
        reason: tables::DesignError,
    },
    /// Entries that are there already find no room where machine code has them.
    #[error("no memory for the tables of this program in machine code: run it on the interpreter")]
    Memory,
}

impl CompileError {
    /// The code generator refused something.
    pub(crate) fn generator(error: impl std::fmt::Display) -> Self {
        Self::Generator(error.to_string())
    }
}

impl CompileError {
    /// What is missing, if that is why.
    #[must_use]
    pub fn unsupported(&self) -> Option<&str> {
        match self {
            Self::Unsupported { what, .. } => Some(what),
            _ => None,
        }
    }
}
