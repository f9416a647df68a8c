//! The devices of a switch: their programs and ports, from the command line or a file.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use p4lang::device_config::to_pipeline_config;
use p4runtime::p4info::text;
use p4runtime::proto::config::P4Info;
use p4runtime::proto::v1::{ForwardingPipelineConfig, Update};
use packetio::af_packet::RingMemory;
use packetio::tap::record;
use packetio::{PortSpec, Source, SpecError};
use prost::Message;
use queues::Configuration;
use serde::Deserialize;
use softswitch::runtime_json::RuntimeJson;
use softswitch::{DeviceConfig, Durability, V1ModelSettings};

use super::arguments;
use crate::entry_commands::{self, Configured};
use crate::failure::Failure;
use crate::program;
use crate::storage::Stored;

/// The configuration of a device whose ports have not been opened yet.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) id: u64,
    cpu_port: u32,
    program: Option<PathBuf>,
    pipeline: Option<ForwardingPipelineConfig>,
    updates: Vec<Update>,
    state: Option<PathBuf>,
    ports: Vec<PortName>,
    queues: Configuration,
}

/// A port of a device: its specification, and the text from which the specification was parsed.
#[derive(Clone, Debug)]
pub(crate) struct PortName {
    written: String,
    spec: PortSpec,
}

impl std::str::FromStr for PortName {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self { written: text.to_owned(), spec: text.parse()? })
    }
}

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "device {}", self.id)?;
        match &self.program {
            Some(program) => write!(f, " runs {}", program.display())?,
            None => f.write_str(" waits for a pipeline")?,
        }
        if self.ports.is_empty() {
            return f.write_str(" without ports (-i NUMBER@INTERFACE adds one)");
        }
        let ports: Vec<&str> = self.ports.iter().map(|port| port.written.as_str()).collect();
        write!(f, " on {}", ports.join(" "))
    }
}

/// The content of the file that `--devices` names.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DevicesFile {
    device: Vec<DeviceTable>,
}

/// A table `[[device]]` of the file that `--devices` names.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct DeviceTable {
    id: u64,
    p4: Option<PathBuf>,
    runtime_json: Option<PathBuf>,
    cpu_port: Option<u32>,
    state: Option<PathBuf>,
    #[serde(default)]
    ports: Vec<String>,
    #[serde(default)]
    queues: Vec<String>,
}

/// Returns the devices of the switch, as the command line or the file of `--devices` describes
/// them.
pub(crate) fn planned(matches: &ArgMatches) -> Result<Vec<Planned>, Failure> {
    let cpu_port = *matches.get_one::<u32>("cpu-port").unwrap_or(&255);
    let Some(file) = matches.get_one::<PathBuf>("devices") else {
        let id = *matches.get_one::<u64>("device-id").unwrap_or(&0);
        let ports = matches.get_many::<PortName>("interface").unwrap_or_default();
        let path = |name: &str| matches.get_one::<PathBuf>(name).map(PathBuf::as_path);
        let program = arguments::program(matches);
        let (runtime_json, state) = (path("runtime-json"), path("state"));
        let queues: Vec<String> =
            matches.get_many::<String>("queue").unwrap_or_default().cloned().collect();
        let wanted = Wanted { id, cpu_port, program, runtime_json, state, queues: &queues };
        return Ok(vec![wanted.plan(ports.cloned().collect(), matches)?]);
    };
    let wrong = |error: &dyn fmt::Display| Failure::input(format!("{}: {error}", file.display()));
    let listed: DevicesFile =
        toml::from_str(&program::read(file)?).map_err(|error| wrong(&error.to_string().trim()))?;
    let devices = listed.device.into_iter().map(|device| {
        let ports = device.ports.iter().map(|port| port.parse());
        let ports = ports.collect::<Result<_, SpecError>>().map_err(|error| wrong(&error))?;
        let wanted = Wanted {
            id: device.id,
            cpu_port: device.cpu_port.unwrap_or(cpu_port),
            program: device.p4.as_deref(),
            runtime_json: device.runtime_json.as_deref(),
            state: device.state.as_deref(),
            queues: &device.queues,
        };
        wanted.plan(ports, matches)
    });
    devices.collect()
}

/// The description of a device on the command line or in the file.
struct Wanted<'a> {
    id: u64,
    cpu_port: u32,
    program: Option<&'a Path>,
    runtime_json: Option<&'a Path>,
    state: Option<&'a Path>,
    /// The lines that configure queues of ports.
    queues: &'a [String],
}

impl Wanted<'_> {
    fn plan(self, ports: Vec<PortName>, matches: &ArgMatches) -> Result<Planned, Failure> {
        let mut planned = Planned {
            id: self.id,
            cpu_port: self.cpu_port,
            program: self.program.map(Path::to_owned),
            pipeline: None,
            updates: Vec::new(),
            state: self.state.map(Path::to_owned),
            ports,
            queues: Configuration::default(),
        };
        planned.check_ports(matches)?;
        if let Some(path) = self.program {
            let program = Stored::of(matches)?.load(path)?;
            let pipeline = to_pipeline_config(&program);
            planned.pipeline = Some(pipeline.map_err(|error| {
                Failure::input(format!("{} has no P4Info: {error}", path.display()))
            })?);
        }
        if let Some(path) = self.runtime_json {
            planned.take_runtime_json(path)?;
        }
        // The command line and the file of devices replace the queues of a port.
        planned.queues.0.extend(Configuration::parse(self.queues).map_err(Failure::input)?.0);
        planned.check_queues()?;
        Ok(planned)
    }
}

impl Planned {
    /// Returns an error unless all ports of the device have different numbers, none of which is
    /// that of the CPU port. Prints a warning if a port has the number of the drop port.
    fn check_ports(&self, matches: &ArgMatches) -> Result<(), Failure> {
        let drop_port = u32::from(arguments::v1model(matches).drop_port);
        let mut seen = BTreeMap::new();
        for port in &self.ports {
            let (number, written) = (port.spec.number, &port.written);
            if let Some(other) = seen.insert(number, written) {
                return Err(Failure::input(format!(
                    "port {number} of device {} is given twice, as {other} and {written}: give each its own number",
                    self.id
                )));
            }
            if number == self.cpu_port {
                return Err(Failure::input(format!(
                    "{written}: port {number} is that of the controllers: give the interface another number, or \
                     them another port with --cpu-port"
                )));
            }
            if number == drop_port {
                eprintln!(
                    "planimeter: {written}: no program of v1model sends to port {number}, which is the drop port: \
                     --drop-port chooses another"
                );
            }
        }
        Ok(())
    }

    /// Returns an error unless each port with queues is a port of the device.
    fn check_queues(&self) -> Result<(), Failure> {
        let is_port = |number: &u32| self.ports.iter().any(|port| port.spec.number == *number);
        match self.queues.0.keys().find(|number| !is_port(number)) {
            Some(number) => Err(Failure::input(format!(
                "port {number} of device {} has queues, but no interface: add it with -i {number}@INTERFACE",
                self.id
            ))),
            None => Ok(()),
        }
    }

    /// Adds the entries in the file at `path` to the device. If the file is a `runtime.json`, the
    /// pipeline that it names is used too, unless another program was given. Otherwise the file
    /// contains commands of simple_switch_CLI.
    fn take_runtime_json(&mut self, path: &Path) -> Result<(), Failure> {
        let wrong =
            |error: &dyn fmt::Display| Failure::input(format!("{}: {error}", path.display()));
        let text = program::read(path)?;
        if entry_commands::has_commands(&text) {
            let p4info = self.pipeline.as_ref().and_then(|pipeline| pipeline.p4info.as_ref());
            let none = || wrong(&"its commands need a program; give it with --p4");
            let Configured { updates, queues } =
                entry_commands::run(path, &text, p4info.ok_or_else(none)?)?;
            (self.updates, self.queues) = (updates, queues);
            return Ok(());
        }
        let runtime = RuntimeJson::parse(&text).map_err(|error| wrong(&error))?;
        if self.pipeline.is_none() {
            let (Some(p4info), Some(program)) = (&runtime.p4info, &runtime.bmv2_json) else {
                return Err(wrong(&"it names no p4info and bmv2_json; give the program with --p4"));
            };
            let (p4info, program) = (beside(path, p4info), beside(path, program));
            if let Some(missing) = [&p4info, &program].into_iter().find(|file| !file.exists()) {
                return Err(wrong(&format!(
                    "there is no {}, which it names; compile the program first (`planimeter compile PROGRAM.p4 --p4info {} \
                     --ir {}`), or give its source with --p4",
                    missing.display(),
                    p4info.display(),
                    program.display()
                )));
            }
            self.pipeline = Some(ForwardingPipelineConfig {
                p4info: Some(read_p4info(&p4info)?),
                p4_device_config: super::read(&program)?.into(),
                cookie: None,
            });
            self.program = Some(program);
        }
        let p4info = self.pipeline.as_ref().and_then(|pipeline| pipeline.p4info.as_ref());
        let updates = p4info.map(|p4info| runtime.updates(p4info)).transpose();
        self.updates = updates.map_err(|error| wrong(&error))?.unwrap_or_default();
        self.queues = runtime.queues;
        Ok(())
    }
}

/// Returns the path of a file that the `runtime.json` file `file` names. The name may be relative
/// to the current directory or to a directory above `file`: in the p4lang tutorials, it is relative
/// to the directory in which the user runs them. Returns the name itself if there is no such file.
fn beside(file: &Path, named: &str) -> PathBuf {
    let here = PathBuf::from(named);
    if here.exists() {
        return here;
    }
    let above = file.ancestors().skip(1).map(|directory| directory.join(named));
    above.into_iter().find(|path| path.exists()).unwrap_or(here)
}

fn read_p4info(path: &Path) -> Result<P4Info, Failure> {
    let bytes = super::read(path)?;
    let wrong = |error: &dyn fmt::Display| Failure::input(format!("{}: {error}", path.display()));
    match std::str::from_utf8(&bytes) {
        Ok(text) if path.extension().is_none_or(|ending| ending != "bin") => {
            text::parse(text).map_err(|error| wrong(&error))
        }
        _ => P4Info::decode(bytes.as_slice()).map_err(|error| wrong(&error)),
    }
}

/// Returns the size of the receive ring of each packet socket: `requested` KiB, or a size that
/// suits this machine if `requested` is `None`.
pub(crate) fn ring_memory(
    planned: &[Planned],
    workers: usize,
    requested: Option<u32>,
) -> RingMemory {
    let ports = planned.iter().flat_map(|device| &device.ports);
    let sockets = ports.filter(|port| matches!(port.spec.source, Source::AfPacket { .. })).count();
    match requested {
        Some(kibibytes) => RingMemory::of_bytes(kibibytes as usize * 1024),
        None => RingMemory::here(sockets * workers),
    }
}

/// The settings that all devices of a switch share.
#[derive(Clone, Copy)]
pub(crate) struct Common {
    pub(crate) path: softswitch::Path,
    pub(crate) v1model: V1ModelSettings,
    pub(crate) durability: Durability,
    /// Whether the switch checks references between entities (`@refers_to`).
    pub(crate) check_references: bool,
    /// Whether clients may inject packets into devices.
    pub(crate) takes_injections: bool,
}

/// Opens the ports of all devices, and returns the configurations with which the devices start. If
/// `captures` is a directory, the packets at each port are recorded there.
pub(crate) fn open(
    planned: &[Planned],
    workers: usize,
    memory: RingMemory,
    common: Common,
    captures: Option<&Path>,
) -> Result<Vec<DeviceConfig>, Failure> {
    let Common { path, v1model, durability, check_references, takes_injections } = common;
    let devices = planned.iter().map(|device| {
        let ports = device.ports.iter().map(|port| {
            let failure = |error: &dyn fmt::Display| {
                Failure::input(format!("port {} of device {}: {error}", port.written, device.id))
            };
            let mut opened =
                packetio::open(&port.spec, workers, memory).map_err(|error| failure(&error))?;
            if let Some(directory) = captures {
                opened = record(opened, directory).map_err(|error| {
                    failure(&format_args!("cannot record in {}: {error}", directory.display()))
                })?;
            }
            Ok((port.spec.number, opened))
        });
        Ok(DeviceConfig {
            id: device.id,
            cpu_port: device.cpu_port,
            path,
            v1model,
            pipeline: device.pipeline.clone(),
            updates: device.updates.clone(),
            state: device.state.clone(),
            durability,
            queues: device.queues.clone(),
            check_references,
            takes_injections,
            ports: ports.collect::<Result<_, Failure>>()?,
        })
    });
    devices.collect()
}

/// Returns those ports that are network interfaces: the id of the device, the number of the port
/// and the name of the interface.
pub(crate) fn interfaces(planned: &[Planned]) -> impl Iterator<Item = (u64, u32, &str)> {
    planned.iter().flat_map(|device| {
        device.ports.iter().filter_map(|port| match &port.spec.source {
            Source::AfPacket { interface } | Source::Xdp { interface, .. } => {
                Some((device.id, port.spec.number, interface.as_str()))
            }
            _ => None,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str) -> String {
        let words = ["switch", "--no-p4"].into_iter().chain(line.split_whitespace());
        let matches =
            arguments::command().try_get_matches_from(words).expect("the flags are right");
        planned(&matches).expect_err(line).to_string()
    }

    #[test]
    fn port_numbers_are_unique() {
        let twice = refused("-i 1@veth0 -i 1@veth1");
        assert!(twice.contains("1@veth0") && twice.contains("1@veth1"), "{twice}");
        assert!(refused("-i 255@veth0").contains("--cpu-port"));
        assert!(refused("-i 7@veth0 --cpu-port 7").contains("7@veth0"));
    }
}
