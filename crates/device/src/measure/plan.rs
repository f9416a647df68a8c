//! Reads and checks plans: TOML files that describe which measurements of a device a campaign
//! makes.

mod cells;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Deserialize;

use super::function::{ActionKind, MatchKind};
use super::part::{self, Part};
use super::task::Task;
use super::traffic::Subject;
use crate::campaign::{Cell, Function, Setting};

/// The content of a plan's TOML file. `docs/device-measure.md` documents each setting.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PlanFile {
    device: DeviceFile,
    #[serde(default)]
    functions: FunctionsFile,
    #[serde(default)]
    settings: SettingsFile,
    #[serde(default)]
    campaign: CampaignFile,
    #[serde(default)]
    wire: WireFile,
    rates: Option<RatesFile>,
}

/// The section `[device]` of a plan.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct DeviceFile {
    kind: String,
    name: Option<String>,
    openflow: Option<String>,
    listen: Option<std::net::SocketAddr>,
    address: Option<String>,
    device_id: Option<u64>,
    path: Option<String>,
    ports: Option<[u32; 2]>,
}

impl DeviceFile {
    /// Returns the numbers of the ports by which packets enter and leave.
    fn ports(&self) -> [u32; 2] {
        self.ports.unwrap_or([1, 2])
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct FunctionsFile {
    matches: Vec<String>,
    actions: Vec<String>,
    combinations: Combinations,
    program: Option<String>,
    parts: Option<Vec<String>>,
    tests: Option<u32>,
}

/// The combinations of a match and an action that are measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Combinations {
    /// Every match is measured with every action.
    #[default]
    All,
    /// Each match is measured with the action `output`, and each action with the match `port`.
    /// These are the combinations from which a model is derived.
    Training,
}

/// The section `[settings]` of a plan.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct SettingsFile {
    packet_bytes: Vec<u32>,
    rules: Vec<u32>,
    headers: Vec<u32>,
    packets_per_second: Vec<f64>,
}

/// The section `[campaign]` of a plan.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct CampaignFile {
    repetitions: u32,
    packets: u32,
    warm_up: u32,
    steady_machine: Option<bool>,
    seed: Option<u64>,
    wait_ms: u64,
}

/// The section `[wire]` of a plan.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct WireFile {
    send: Option<String>,
    receive: Option<String>,
    timestamps: Timestamps,
    line_rate: Option<u64>,
    cores: Option<[usize; 2]>,
    keep_awake: Option<bool>,
}

/// The section `[rates]` of a plan.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RatesFile {
    from: f64,
    #[serde(default = "precision")]
    precision: f64,
    #[serde(default = "seconds")]
    seconds: f64,
    #[serde(default)]
    cells: RateCells,
}

fn precision() -> f64 {
    0.1
}

fn seconds() -> f64 {
    0.5
}

impl Default for FunctionsFile {
    fn default() -> Self {
        Self {
            matches: MatchKind::ALL.iter().map(ToString::to_string).collect(),
            actions: ActionKind::ALL.iter().map(ToString::to_string).collect(),
            combinations: Combinations::All,
            program: None,
            parts: None,
            tests: None,
        }
    }
}

impl Default for SettingsFile {
    fn default() -> Self {
        Self {
            packet_bytes: vec![64],
            rules: vec![1],
            headers: vec![0],
            packets_per_second: vec![5000.0],
        }
    }
}

impl Default for CampaignFile {
    fn default() -> Self {
        Self {
            repetitions: 10,
            packets: 300,
            warm_up: 100,
            steady_machine: None,
            seed: None,
            wait_ms: 1000,
        }
    }
}

/// The combinations of functions for which the highest rate without loss is searched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateCells {
    /// Only the baseline, under each packet length, number of rules and other conditions.
    #[default]
    Baseline,
    /// All combinations that the plan measures.
    All,
}

/// The clock that timestamps packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timestamps {
    /// The clock of the kernel, which timestamps frames when it hands them to the driver or
    /// receives them from it.
    #[default]
    Kernel,
    /// The clock of the network card. The plan's interfaces `send` and `receive` must then be taps,
    /// which receive copies of the packets that enter and leave the device.
    Hardware,
}

/// The kind of device to measure, and the protocol that configures it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceKind {
    /// Open vSwitch with the userspace datapath, started for the campaign and configured over
    /// OpenFlow.
    OpenVSwitch {
        /// The version of OpenFlow that the controller offers to the switch.
        version: openflow::Version,
    },
    /// An OpenFlow switch, which connects to a given address of this machine.
    OpenFlow {
        /// The version of OpenFlow that the controller offers to the switch.
        version: openflow::Version,
        /// The address on which the controller listens for the switch.
        listen: std::net::SocketAddr,
    },
    /// The software switch of this project, started for the campaign and configured over P4Runtime.
    SoftwareSwitch {
        /// The way in which the switch executes P4 programs.
        path: ProgramPath,
    },
    /// A P4 switch, which listens for its controller on a given address.
    P4Runtime {
        /// The address of the switch, as `host:port`.
        address: String,
        /// The P4Runtime device id of the switch.
        device_id: u64,
    },
    /// The pipeline library, called in memory without a network.
    Memory {
        /// The way in which the library executes P4 programs.
        path: ProgramPath,
    },
    /// A device that a person configures, following printed instructions.
    Manual,
}

/// The way in which a switch of this project executes a P4 program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramPath {
    /// The reference interpreter executes the program.
    Interpreter,
    /// The compiler translates the program to machine code.
    Compiled,
}

/// A combination of functions to measure, and the rate at which packets are sent meanwhile.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedCell {
    /// The rules or the program that the device runs.
    pub task: Task,
    /// The rate at which packets are sent, in packets per second, or `None` if each packet waits
    /// for the arrival of the previous one.
    pub packets_per_second: Option<f64>,
}

/// The parameters of the search for the highest rate at which a device loses no packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatePlan {
    /// The first rate that is tried, in packets per second.
    pub from: f64,
    /// The precision at which the search ends: the distance between the highest rate without loss
    /// and the lowest rate with loss, as a share of the rate.
    pub precision: f64,
    /// The time for which each rate is tried.
    pub duration: Duration,
    /// The combinations of functions whose rate is searched.
    pub cells: RateCells,
}

/// The connection between this machine and the measured device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WirePlan {
    /// The interfaces to which packets for the device are sent and on which they return, or `None`
    /// if pairs of virtual interfaces are created for the campaign.
    pub interfaces: Option<[String; 2]>,
    /// The clock that timestamps packets before and after the device.
    pub timestamps: Timestamps,
    /// The line rate R_max of the device's ports in bit/s, or `None` if the plan does not state it.
    pub line_rate: Option<u64>,
    /// The processor cores of the packet generator and of a device that is started on this machine,
    /// or `None` for the last two that this process may use.
    pub cores: Option<[usize; 2]>,
    /// Whether idle processor cores are kept from sleeping, because a sleeping core notices packets
    /// late.
    pub keep_awake: bool,
}

/// A checked plan, which states the device and the measurements of a campaign.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The kind of device to measure.
    pub device: DeviceKind,
    /// The name of the device, for people.
    pub name: String,
    /// The numbers of the ports by which packets enter and leave, as the device counts them.
    pub ports: [u32; 2],
    /// The combinations of functions to measure, each under one set of conditions.
    pub cells: Vec<PlannedCell>,
    /// The number of runs of packets through each cell (a combination of functions under one set of
    /// conditions).
    pub repetitions: u32,
    /// The number of packets in each run whose delays are recorded.
    pub packets: u32,
    /// The number of packets that are sent first in each run and whose delays are not recorded.
    pub warm_up: u32,
    /// Whether a run of packets is repeated if the measuring machine was slow during it.
    pub steady_machine: bool,
    /// The seed of the random order of measurements, or `None` if a seed is drawn.
    pub seed: Option<u64>,
    /// The time after which a packet that has not returned counts as lost.
    pub wait: Duration,
    /// The connection between this machine and the device.
    pub wire: WirePlan,
    /// The parameters of the search for the highest rate without loss, or `None` if the plan has no
    /// such search.
    pub rates: Option<RatePlan>,
    /// The parts of the P4 program named by the plan that cannot be measured alone, because no
    /// generated program can contain them.
    pub not_measured: Vec<String>,
    /// Whether cells differ in the rate at which packets are sent, so that the rate is recorded as
    /// a condition of each cell.
    several_loads: bool,
}

/// The reason why a plan cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The plan is not valid TOML, or it has unknown settings.
    #[error("{0}")]
    Syntax(String),
    /// A setting of the plan has an invalid value.
    #[error("{setting}: {problem}")]
    Value {
        /// The name of the setting, with the TOML table that contains it.
        setting: &'static str,
        /// The reason why the value is invalid, and the allowed values.
        problem: String,
    },
}

fn wrong(setting: &'static str, problem: impl Into<String>) -> PlanError {
    PlanError::Value { setting, problem: problem.into() }
}

impl Plan {
    /// Reads and checks the TOML text of a plan. `read_program` compiles the P4 program that the
    /// plan names.
    ///
    /// # Errors
    /// Returns a [`PlanError`] if the text is malformed or a setting is invalid.
    pub fn from_toml(
        text: &str,
        read_program: &mut dyn FnMut(&str) -> Result<ir::Program, String>,
    ) -> Result<Self, PlanError> {
        let file: PlanFile =
            toml::from_str(text).map_err(|error| PlanError::Syntax(error.to_string()))?;
        let device = device_kind(&file.device)?;
        let (cells, not_measured) = cells::cells(&file, &device, read_program)?;
        let campaign = file.campaign;
        if campaign.repetitions == 0 || campaign.packets == 0 {
            return Err(wrong("campaign", "repetitions and packets must be at least 1"));
        }
        if campaign.packets.saturating_add(campaign.warm_up) > 1_000_000 {
            return Err(wrong("campaign.packets", "a block has at most 1,000,000 packets"));
        }
        let interfaces = match (file.wire.send, file.wire.receive) {
            (Some(send), Some(receive)) => Some([send, receive]),
            (None, None) => None,
            _ => return Err(wrong("wire", "give both send and receive, or neither")),
        };
        let starts =
            matches!(device, DeviceKind::OpenVSwitch { .. } | DeviceKind::SoftwareSwitch { .. });
        let in_memory = matches!(device, DeviceKind::Memory { .. });
        if interfaces.is_none() && !starts && !in_memory {
            return Err(wrong("wire", "send and receive must name the interfaces to this device"));
        }
        if interfaces.is_some() && (starts || in_memory) {
            return Err(wrong(
                "wire",
                "this device has interfaces of its own: remove send and receive",
            ));
        }
        if file.wire.timestamps == Timestamps::Hardware && interfaces.is_none() {
            return Err(wrong("wire.timestamps", "virtual interfaces have no clock in hardware"));
        }
        if campaign.steady_machine == Some(true) && interfaces.is_some() {
            let problem = "the speed of a device on another machine cannot be checked from here";
            return Err(wrong("campaign.steady-machine", problem));
        }
        let rates = file.rates.map(|rates| rate_plan(&rates)).transpose()?;
        if rates.is_some() && in_memory {
            return Err(wrong("rates", "nothing is lost in memory: there is no rate to search"));
        }
        Ok(Self {
            ports: file.device.ports(),
            name: file.device.name.unwrap_or_else(|| device.name().to_owned()),
            several_loads: file.settings.packets_per_second.len() > 1,
            device,
            cells,
            repetitions: campaign.repetitions,
            packets: campaign.packets,
            warm_up: campaign.warm_up,
            steady_machine: campaign.steady_machine.unwrap_or(starts || in_memory),
            seed: campaign.seed,
            wait: Duration::from_millis(campaign.wait_ms),
            wire: WirePlan {
                interfaces,
                timestamps: file.wire.timestamps,
                line_rate: file.wire.line_rate,
                cores: file.wire.cores,
                keep_awake: file.wire.keep_awake.unwrap_or(starts),
            },
            rates,
            not_measured,
        })
    }

    /// Returns the functions that every measurement of this plan includes, to which others are
    /// added.
    #[must_use]
    pub fn baseline(&self) -> Vec<Function> {
        match self.cells.first().map(|cell| &cell.task) {
            Some(Task::Program(_)) => vec![part::baseline()],
            _ => vec![MatchKind::Port.function(), ActionKind::Output.function()],
        }
    }

    /// Returns each function that the plan adds to the baseline once: matches and actions in the
    /// order of Table I of Helm et al., or the program parts that are measured alone.
    #[must_use]
    pub fn functions(&self) -> Vec<Function> {
        let rules = || self.cells.iter().filter_map(|cell| cell.task.rule());
        let matches: BTreeSet<_> = rules().map(|subject| subject.matched).collect();
        let actions: BTreeSet<_> = rules().map(|subject| subject.action).collect();
        let matches = matches.into_iter().filter(|kind| !kind.is_baseline());
        let actions = actions.into_iter().filter(|kind| !kind.is_baseline());
        let alone = |cell: &PlannedCell| match &cell.task {
            Task::Program(subject) => match &subject.parts[..] {
                [part] => Some(part.clone()),
                _ => None,
            },
            Task::Rule(_) => None,
        };
        let parts: BTreeSet<_> = self.cells.iter().filter_map(alone).collect();
        matches
            .map(MatchKind::function)
            .chain(actions.map(ActionKind::function))
            .chain(parts.iter().map(Part::function))
            .collect()
    }

    /// Returns the planned cells as a campaign records them, in the order of `self.cells`.
    #[must_use]
    pub fn campaign_cells(&self) -> Vec<Cell> {
        self.cells.iter().map(|cell| self.campaign_cell(cell)).collect()
    }

    fn campaign_cell(&self, cell: &PlannedCell) -> Cell {
        let mut conditions = BTreeMap::new();
        if let Some(load) = cell.packets_per_second.filter(|_| self.several_loads) {
            conditions.insert("load".to_owned(), format!("{load} packets/s"));
        }
        let (functions, packet_bytes, rules) = match &cell.task {
            Task::Rule(Subject { matched, action, packet_bytes, rules, headers }) => {
                let matched = (!matched.is_baseline()).then(|| matched.function().name);
                let action = (!action.is_baseline()).then(|| action.function().name);
                if *headers > 0 {
                    conditions.insert("headers".to_owned(), headers.to_string());
                }
                (matched.into_iter().chain(action).collect(), *packet_bytes, *rules)
            }
            Task::Program(subject) => {
                let names = subject.parts.iter().map(|part| part.function().name);
                (names.collect(), subject.packet_bytes, subject.rules)
            }
        };
        Cell { functions, setting: Setting { packet_bytes, rules, conditions } }
    }
}

impl ProgramPath {
    /// Returns the name of this way of executing programs, which is its spelling in plans and the
    /// value of `--path` of `planimeter switch`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Interpreter => "interpreter",
            Self::Compiled => "compiled",
        }
    }
}

impl DeviceKind {
    /// Returns the name of this kind of device in plans.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::OpenVSwitch { .. } => "open-vswitch",
            Self::OpenFlow { .. } => "openflow",
            Self::SoftwareSwitch { .. } => "software-switch",
            Self::P4Runtime { .. } => "p4runtime",
            Self::Memory { .. } => "memory",
            Self::Manual => "manual",
        }
    }

    /// Returns the name of the protocol that configures the device, as campaigns record it.
    #[must_use]
    pub fn driver(&self) -> &'static str {
        match self {
            Self::OpenVSwitch { .. } | Self::OpenFlow { .. } => "openflow",
            Self::SoftwareSwitch { .. } | Self::P4Runtime { .. } => "p4runtime",
            Self::Memory { .. } => "memory",
            Self::Manual => "manual",
        }
    }

    /// Returns whether the device runs P4 programs. Only then can packets have additional headers
    /// between Ethernet and IPv4.
    fn is_programmable(&self) -> bool {
        matches!(self, Self::SoftwareSwitch { .. } | Self::P4Runtime { .. } | Self::Memory { .. })
    }
}

/// Checks the section `[device]` and returns the kind of device that it describes.
fn device_kind(file: &DeviceFile) -> Result<DeviceKind, PlanError> {
    let version = || match file.openflow.as_deref() {
        None | Some("1.0") => Ok(openflow::Version::V1_0),
        Some("1.3") => Ok(openflow::Version::V1_3),
        Some(other) => Err(wrong("device.openflow", format!("{other:?} is not 1.0 or 1.3"))),
    };
    let path = || match file.path.as_deref() {
        None | Some("interpreter") => Ok(ProgramPath::Interpreter),
        Some("compiled") => Ok(ProgramPath::Compiled),
        Some(other) => {
            Err(wrong("device.path", format!("{other:?} is not interpreter or compiled")))
        }
    };
    let kind = match file.kind.as_str() {
        "open-vswitch" => DeviceKind::OpenVSwitch { version: version()? },
        "openflow" => {
            let listen = file.listen.ok_or_else(|| {
                wrong(
                    "device.listen",
                    "give the address that the switch dials, such as 0.0.0.0:6653",
                )
            })?;
            DeviceKind::OpenFlow { version: version()?, listen }
        }
        "software-switch" => DeviceKind::SoftwareSwitch { path: path()? },
        "p4runtime" => {
            let address = file.address.clone().ok_or_else(|| {
                wrong(
                    "device.address",
                    "give the address that the switch listens on, such as 10.0.0.1:9559",
                )
            })?;
            DeviceKind::P4Runtime { address, device_id: file.device_id.unwrap_or(1) }
        }
        "memory" => DeviceKind::Memory { path: path()? },
        "manual" => DeviceKind::Manual,
        other => {
            return Err(wrong(
                "device.kind",
                format!(
                    "{other:?} is not a kind of device: open-vswitch, openflow, software-switch, p4runtime, memory, \
                     manual"
                ),
            ));
        }
    };
    let openflow = matches!(kind, DeviceKind::OpenVSwitch { .. } | DeviceKind::OpenFlow { .. });
    let runs_programs =
        matches!(kind, DeviceKind::Memory { .. } | DeviceKind::SoftwareSwitch { .. });
    for (setting, given, known) in [
        ("device.openflow", file.openflow.is_some(), openflow),
        ("device.listen", file.listen.is_some(), matches!(kind, DeviceKind::OpenFlow { .. })),
        ("device.address", file.address.is_some(), matches!(kind, DeviceKind::P4Runtime { .. })),
        (
            "device.device-id",
            file.device_id.is_some(),
            matches!(kind, DeviceKind::P4Runtime { .. }),
        ),
        ("device.path", file.path.is_some(), runs_programs),
    ] {
        if given && !known {
            return Err(wrong(setting, format!("a device of kind {} has none", file.kind)));
        }
    }
    Ok(kind)
}

fn rate_plan(file: &RatesFile) -> Result<RatePlan, PlanError> {
    if !(file.from >= 1.0 && file.from <= 1e8) {
        return Err(wrong("rates.from", "must be from 1 to 100,000,000 packets per second"));
    }
    if !(0.001..=1.0).contains(&file.precision) {
        return Err(wrong("rates.precision", "from 0.001 to 1"));
    }
    if !(0.01..=60.0).contains(&file.seconds) {
        return Err(wrong("rates.seconds", "from 0.01 to 60"));
    }
    let duration = Duration::from_secs_f64(file.seconds);
    Ok(RatePlan { from: file.from, precision: file.precision, duration, cells: file.cells })
}

#[cfg(test)]
mod tests;
