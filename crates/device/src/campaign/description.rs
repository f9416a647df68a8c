//! What is to be measured: functions, cells, the device, the clock.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Picoseconds;

/// What `campaign.json` calls its form.
pub const SCHEMA: &str = "planimeter.device-campaign/1";

/// The head of a campaign, `campaign.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// [`SCHEMA`].
    pub schema: String,
    /// When it began, RFC 3339.
    pub created: String,
    /// Where the figures come from.
    pub origin: Origin,
    /// What was measured.
    pub device: Device,
    /// Functions that the baseline f0 has: predictions may name them, they add nothing.
    pub baseline: Vec<Function>,
    /// Functions beyond the baseline, f_1, f_2, ...
    pub functions: Vec<Function>,
    /// What is measured; the id of a cell is its place here.
    pub cells: Vec<Cell>,
    /// Line rate in bit/s, R_max; `None` where it is not known.
    pub line_rate: Option<u64>,
    /// What delays are measured with.
    pub clock: Clock,
    /// Seed of the order of blocks.
    pub seed: u64,
    /// Facts about the machine that measured: kernel, processor, isolation, versions of tools.
    #[serde(default)]
    pub host: BTreeMap<String, String>,
}

/// Where a campaign's figures come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Origin {
    /// Measured by Planimeter.
    Measured,
    /// Read from files of other tools.
    Imported {
        /// The files.
        files: Vec<String>,
    },
    /// Made from a known truth, to test the method.
    Synthetic {
        /// The truth.
        truth: String,
    },
}

/// The device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// A name for people.
    pub name: String,
    /// What configures it: `openflow`, `p4runtime`, `memory`, `manual`, `import`.
    pub driver: String,
    /// Version, ports, options.
    #[serde(default)]
    pub details: BTreeMap<String, String>,
}

/// The name of a function, as the command line has it: `five-tuple`, `set-nw-src`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FunctionName(String);

impl FunctionName {
    /// A name.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name as text.
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

/// A basic function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Function {
    /// Its name, unique in the campaign.
    pub name: FunctionName,
    /// What kind of function it is; a heat map has one dimension on each axis.
    pub dimension: Dimension,
    /// What exactly the device does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The parts of a P4 program that it consists of, as `planimeter device predict --program` names them: `table exact 32`,
    /// `extract 112`, `assign 48`. A program is taken apart into such parts, and a function that consists of them says
    /// what they cost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consists_of: Vec<String>,
}

/// Kinds of basic functions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Dimension {
    /// What packets are matched on.
    Match,
    /// What is done with a packet.
    Action,
    /// A state of a parser, by what it extracts.
    Parser,
    /// A key of a table, by kind and width.
    Key,
    /// A primitive of an action.
    Primitive,
    /// What a deparser emits.
    Deparser,
    /// Anything else.
    Other(String),
}

impl Dimension {
    /// The name in files.
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

/// The place of a cell in [`Description::cells`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CellId(pub u32);

/// What is measured together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Functions beyond the baseline, in order of execution; none is the baseline itself.
    pub functions: Vec<FunctionName>,
    /// Under what.
    pub setting: Setting,
}

/// Under what a cell is measured. Only cells of one setting are compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Packet length in bytes as rates count it: an Ethernet frame with its frame check sequence.
    pub packet_bytes: u32,
    /// Rules in the table.
    pub rules: u32,
    /// Anything else that is varied: load, headers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub conditions: BTreeMap<String, String>,
}

/// What delays are measured with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// Who takes the time.
    pub source: ClockSource,
    /// Its resolution: delays are multiples of it, a reading of d may be anything in (d - tick, d + tick).
    pub tick: Picoseconds,
    /// What it showed for a path without a device, if that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<ClockReference>,
}

/// Who takes the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockSource {
    /// The network interface.
    Hardware,
    /// The kernel, at its edge to the interface.
    Kernel,
    /// The measuring program.
    Program,
    /// The processor's cycle counter.
    CycleCounter,
    /// Not said by the files that were read.
    Unknown,
}

/// Whose clock it is, in words.
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

/// Delays of a path without a device: the error of the clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockReference {
    /// The path: a loop-back, a wire, a pair of virtual interfaces.
    pub path: String,
    /// Packets.
    pub samples: u64,
    /// Least delay.
    pub minimum: Picoseconds,
    /// Median delay.
    pub median: Picoseconds,
    /// 99th percentile.
    pub percentile_99: Picoseconds,
    /// Largest delay.
    pub maximum: Picoseconds,
}

/// Why a description is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DescriptionError {
    /// Another form.
    #[error("schema is '{found}'; this version reads '{SCHEMA}'")]
    Schema {
        /// What it says.
        found: String,
    },
    /// A name stands for two functions.
    #[error("function '{name}' is there twice; names must differ, those of the baseline too")]
    TwoFunctions {
        /// The name.
        name: FunctionName,
    },
    /// A cell names no function.
    #[error("cell {cell} names function '{name}', which is not among the functions")]
    UnknownFunction {
        /// The cell's place.
        cell: u32,
        /// The name.
        name: FunctionName,
    },
    /// A cell has a function twice, or is there twice.
    #[error("cell {cell} is a copy: each set of functions is measured once for each setting")]
    TwoCells {
        /// The place of the second.
        cell: u32,
    },
    /// There is nothing to compare a cell with.
    #[error("cell {cell} has no baseline: a cell without functions of the same setting is missing")]
    NoBaseline {
        /// The cell's place.
        cell: u32,
    },
    /// A packet of no length, or a clock that runs backwards.
    #[error("{what} must be positive")]
    NotPositive {
        /// Which figure.
        what: &'static str,
    },
}

impl Description {
    /// Checks it.
    ///
    /// # Errors
    /// See [`DescriptionError`].
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

    /// A function beyond the baseline.
    #[must_use]
    pub fn function(&self, name: &FunctionName) -> Option<&Function> {
        self.functions.iter().find(|function| function.name == *name)
    }

    /// The cell without functions of a setting.
    #[must_use]
    pub fn baseline_of(&self, setting: &Setting) -> Option<CellId> {
        self.ids().find(|id| {
            let cell = self.cell(*id);
            cell.functions.is_empty() && cell.setting == *setting
        })
    }

    /// The places of all cells.
    pub fn ids(&self) -> impl Iterator<Item = CellId> + use<> {
        (0..u32::try_from(self.cells.len()).unwrap_or(u32::MAX)).map(CellId)
    }

    /// A cell of this campaign.
    ///
    /// # Panics
    /// If the id is another campaign's.
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

/// `64 B, 1 rule, load 90 %`.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = if self.rules == 1 { "rule" } else { "rules" };
        write!(f, "{} B, {} {rules}", self.packet_bytes, self.rules)?;
        self.conditions.iter().try_for_each(|(name, value)| write!(f, ", {name} {value}"))
    }
}
