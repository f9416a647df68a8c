//! The description of a campaign: its functions, its cells, the device and the clock. The measuring
//! code writes it before the first packet, and the model and the reports read it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Picoseconds;

/// The value of `schema` in every `campaign.json` that this version writes.
pub const SCHEMA: &str = "planimeter.device-campaign/1";

/// The description of a campaign, which is the content of `campaign.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// The identifier of the file's format, [`SCHEMA`].
    pub schema: String,
    /// The start time of the campaign, in RFC 3339.
    pub created: String,
    /// Whether the delays were measured, imported or generated.
    pub origin: Origin,
    /// The device that is measured.
    pub device: Device,
    /// The functions of the baseline f0, which the device performs in every measurement.
    /// Predictions may name them, and they cost nothing beyond the baseline.
    pub baseline: Vec<Function>,
    /// The functions f_1, f_2, ... that are measured in addition to the baseline.
    pub functions: Vec<Function>,
    /// The cells to measure: sets of functions, each under one setting. The id of a cell is its
    /// index in this list.
    pub cells: Vec<Cell>,
    /// The line rate R_max of the device's ports in bit/s, or `None` if unknown.
    pub line_rate: Option<u64>,
    /// The clock that timestamps packets before and after the device.
    pub clock: Clock,
    /// The seed of the random order in which the cells were measured.
    pub seed: u64,
    /// Facts about the measuring machine: kernel, processor, isolation, versions of tools.
    #[serde(default)]
    pub host: BTreeMap<String, String>,
}

/// The origin of a campaign's delays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Origin {
    /// The delays were measured by this program.
    Measured,
    /// The delays were read from files that other tools wrote.
    Imported {
        /// The names of the imported files.
        files: Vec<String>,
    },
    /// The delays were generated from a known distribution, to test the method.
    Synthetic {
        /// The known distribution, in words.
        truth: String,
    },
}

/// The device that a campaign measures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// The name of the device, for people.
    pub name: String,
    /// The driver that configures the device: `openflow`, `p4runtime`, `memory`, `manual` or
    /// `import`.
    pub driver: String,
    /// Further facts about the device by name, such as version, ports and options.
    #[serde(default)]
    pub details: BTreeMap<String, String>,
}

/// The name of a function, as the command line spells it: `five-tuple`, `set-nw-src`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FunctionName(String);

impl FunctionName {
    /// Creates the name of a function from a text.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// Returns the name of the function as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FunctionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A basic function of a device, such as matching on a five-tuple or setting a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Function {
    /// The name of the function, unique in the campaign.
    pub name: FunctionName,
    /// The kind of function. A heat map shows functions of one kind on each axis.
    pub dimension: Dimension,
    /// A description of what the device does for this function, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The parts of a P4 program that this function consists of, as
    /// `planimeter device predict --program` names them: `table exact 32`, `extract 112`,
    /// `assign 48`. To predict the delay of a program, Planimeter splits the program into such
    /// parts and adds the costs of the functions that consist of these parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consists_of: Vec<String>,
}

/// The kinds of basic functions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Dimension {
    /// The function matches packets on some fields.
    Match,
    /// The function applies an action to packets.
    Action,
    /// The function is a step of the parser, such as the extraction of a header of a given width.
    Parser,
    /// The function applies a table, named by the match kinds and widths of its keys.
    Key,
    /// The function is a primitive of an action, such as an assignment.
    Primitive,
    /// The function emits a header in the deparser.
    Deparser,
    /// The function is of any other kind, which the text names.
    Other(String),
}

impl Dimension {
    /// Returns the name of this kind of function in files.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Match => "match",
            Self::Action => "action",
            Self::Parser => "parser",
            Self::Key => "key",
            Self::Primitive => "primitive",
            Self::Deparser => "deparser",
            Self::Other(name) => name,
        }
    }
}

impl From<String> for Dimension {
    fn from(name: String) -> Self {
        match name.as_str() {
            "match" => Self::Match,
            "action" => Self::Action,
            "parser" => Self::Parser,
            "key" => Self::Key,
            "primitive" => Self::Primitive,
            "deparser" => Self::Deparser,
            _ => Self::Other(name),
        }
    }
}

impl From<Dimension> for String {
    fn from(dimension: Dimension) -> Self {
        dimension.as_str().to_owned()
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The number of a cell: its index in [`Description::cells`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CellId(pub u32);

/// A set of functions that are measured together under one setting.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// The functions that the device performs in addition to the baseline, in order of execution.
    /// The baseline cell has none.
    pub functions: Vec<FunctionName>,
    /// The conditions under which the cell is measured.
    pub setting: Setting,
}

/// The conditions under which a set of functions (a cell) is measured. Only cells with equal
/// settings are compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// The packet length in bytes, as rates count it: an Ethernet frame with its frame check
    /// sequence.
    pub packet_bytes: u32,
    /// The number of rules in the device's table.
    pub rules: u32,
    /// Any other condition that varies between cells, by name, such as load or headers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub conditions: BTreeMap<String, String>,
}

/// The clock that timestamps the packets of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// The component that takes the timestamps.
    pub source: ClockSource,
    /// The resolution of the clock. Measured delays are multiples of the tick, and the true delay
    /// lies within one tick of the measured one.
    pub tick: Picoseconds,
    /// The delays of a path without a device, which show the error of the clock, or `None` if they
    /// were not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<ClockReference>,
}

/// The component that takes the timestamps of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockSource {
    /// The network interface timestamps packets.
    Hardware,
    /// The kernel timestamps frames when it hands them to the driver or receives them from it.
    Kernel,
    /// The measuring program reads a clock before and after each packet.
    Program,
    /// The processor's cycle counter is read before and after the processing of each packet.
    CycleCounter,
    /// The clock is unknown, because the imported files do not name it.
    Unknown,
}

/// Formats the component in words for people, such as "the card's clock".
impl fmt::Display for ClockSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hardware => "the card's clock",
            Self::Kernel => "the kernel's clock, at the edge to the driver",
            Self::Program => "this program's clock",
            Self::CycleCounter => "the processor's cycle counter",
            Self::Unknown => "a clock that is not known",
        })
    }
}

/// The delays of packets on a path without a device, which show the error of the clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockReference {
    /// The path that was measured: a loop-back, a wire or a pair of virtual interfaces.
    pub path: String,
    /// The number of packets whose delay was measured.
    pub samples: u64,
    /// The smallest delay that was measured on the path without a device.
    pub minimum: Picoseconds,
    /// The median delay of the path without a device.
    pub median: Picoseconds,
    /// The 99th percentile of the delay of the path without a device.
    pub percentile_99: Picoseconds,
    /// The largest delay that was measured on the path without a device.
    pub maximum: Picoseconds,
}

/// The reason why the description of a campaign is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DescriptionError {
    /// The schema of the file is not the one that this version reads.
    #[error("schema is '{found}'; this version reads '{SCHEMA}'")]
    Schema {
        /// The schema that the file of the campaign names.
        found: String,
    },
    /// Two functions of the campaign have the same name.
    #[error("function '{name}' is given twice; names must differ, those of the baseline too")]
    TwoFunctions {
        /// The name that both functions have.
        name: FunctionName,
    },
    /// A cell (a set of functions to measure) names a function that the description does not
    /// declare.
    #[error("cell {cell} names function '{name}', which is not among the functions")]
    UnknownFunction {
        /// The index of the cell that names the function.
        cell: u32,
        /// The name of the undeclared function.
        name: FunctionName,
    },
    /// A cell (a set of functions to measure) lists a function twice, or repeats an earlier cell.
    #[error("cell {cell} is a copy: each set of functions is measured once for each setting")]
    TwoCells {
        /// The index of the cell that repeats a function or a cell.
        cell: u32,
    },
    /// A cell (a set of functions to measure) has functions, but there is no cell without functions
    /// under its setting with which it could be compared.
    #[error("cell {cell} has no baseline: a cell without functions of the same setting is missing")]
    NoBaseline {
        /// The index of the cell that has no baseline.
        cell: u32,
    },
    /// A packet length or line rate is zero, or the clock tick is negative.
    #[error("{what} must be positive")]
    NotPositive {
        /// The name of the invalid figure.
        what: &'static str,
    },
}

impl Description {
    /// Checks that the functions, cells and figures of the description are consistent.
    ///
    /// # Errors
    /// Returns a [`DescriptionError`] for the first inconsistency.
    pub fn check(&self) -> Result<(), DescriptionError> {
        if self.schema != SCHEMA {
            return Err(DescriptionError::Schema { found: self.schema.clone() });
        }
        let mut names = BTreeSet::new();
        for function in self.baseline.iter().chain(&self.functions) {
            if !names.insert(&function.name) {
                return Err(DescriptionError::TwoFunctions { name: function.name.clone() });
            }
        }
        let mut cells = BTreeSet::new();
        for (place, cell) in (0..).zip(&self.cells) {
            if let Some(name) = cell.functions.iter().find(|name| self.function(name).is_none()) {
                return Err(DescriptionError::UnknownFunction { cell: place, name: name.clone() });
            }
            let functions: BTreeSet<_> = cell.functions.iter().collect();
            if functions.len() < cell.functions.len() || !cells.insert((functions, &cell.setting)) {
                return Err(DescriptionError::TwoCells { cell: place });
            }
            if self.baseline_of(&cell.setting).is_none() {
                return Err(DescriptionError::NoBaseline { cell: place });
            }
            if cell.setting.packet_bytes == 0 {
                return Err(DescriptionError::NotPositive { what: "the packet length" });
            }
        }
        if self.clock.tick.0 < 0 {
            return Err(DescriptionError::NotPositive { what: "the tick of the clock" });
        }
        if self.line_rate == Some(0) {
            return Err(DescriptionError::NotPositive { what: "the line rate" });
        }
        Ok(())
    }

    /// Returns the function with this name, if it is one of those that are measured in addition to
    /// the baseline.
    #[must_use]
    pub fn function(&self, name: &FunctionName) -> Option<&Function> {
        self.functions.iter().find(|function| function.name == *name)
    }

    /// Returns the baseline cell of a setting: the cell without functions.
    #[must_use]
    pub fn baseline_of(&self, setting: &Setting) -> Option<CellId> {
        self.ids().find(|id| {
            let cell = self.cell(*id);
            cell.functions.is_empty() && cell.setting == *setting
        })
    }

    /// Returns the ids of all cells of the campaign.
    pub fn ids(&self) -> impl Iterator<Item = CellId> + use<> {
        (0..u32::try_from(self.cells.len()).unwrap_or(u32::MAX)).map(CellId)
    }

    /// Returns the cell with this id.
    ///
    /// # Panics
    /// Panics if the campaign has no cell with this id.
    #[must_use]
    pub fn cell(&self, id: CellId) -> &Cell {
        &self.cells[id.0 as usize]
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.functions.is_empty() {
            return f.pad("baseline");
        }
        let names: Vec<&str> = self.functions.iter().map(FunctionName::as_str).collect();
        f.pad(&names.join(" + "))
    }
}

/// Formats a setting, such as `64 B, 1 rule, load 90 %`.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = if self.rules == 1 { "rule" } else { "rules" };
        write!(f, "{} B, {} {rules}", self.packet_bytes, self.rules)?;
        self.conditions.iter().try_for_each(|(name, value)| write!(f, ", {name} {value}"))
    }
}
