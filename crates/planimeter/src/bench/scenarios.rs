//! The scenarios of a file, which `planimeter bench --scenarios` measures.
//!
//! A scenario is a list of parts. A part is text of an STF script, which may be repeated with
//! numbers that count up. Its statements configure the switch, and each of its packets becomes a
//! flow.

mod template;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use ::throughput::traffic::{Given, Setup};
use ir::Program;
use pipeline::{Switch, internet_checksum};
use serde::Deserialize;
use stf::{Options, PortOperand, Script, Statement, StatementKind, StfError};

use crate::failure::Failure;
use crate::{program, translated};

/// The length to which packets are padded if the file names none. It is the default of
/// `--packet-size`.
const PACKET_BYTES: usize = 84;
/// The largest number of lines that the parts of a scenario may have together.
const MOST_LINES: u64 = 10_000_000;
/// The bytes of the IPv4 header after the Ethernet header, without options.
const IPV4: std::ops::Range<usize> = 14..34;

/// The content of a scenario file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// The length in bytes to which packets are padded with zeros.
    packet_bytes: Option<usize>,
    #[serde(default)]
    part: BTreeMap<String, Part>,
    scenario: Vec<Listed>,
}

/// A part of a scenario, which several scenarios may share.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    /// The number of times that the script is repeated, once if absent.
    repeat: Option<u64>,
    script: String,
}

/// A scenario as it is written in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    name: String,
    parts: Vec<String>,
    /// The largest number of outcomes of a packet. If it is set, all outcomes that a packet could
    /// have are computed and measured.
    outcomes: Option<u64>,
}

/// A scenario: the configuration of a switch, and the packets that it receives.
#[derive(Debug, Clone)]
pub(super) struct Scenario {
    pub(super) name: String,
    /// The statements of the script that configure the switch.
    configuration: Script,
    origins: Arc<Origins>,
    packets: Vec<Vec<u8>>,
    /// The port by which all packets arrive.
    port: PortOperand,
    /// The largest number of outcomes of a packet. If it is set, all outcomes that a packet could
    /// have are computed and measured.
    outcomes: Option<u64>,
}

/// For each line of a scenario's script, its position in the scenario file.
#[derive(Debug)]
struct Origins(Vec<Origin>);

/// The position in the scenario file of one line of a script.
#[derive(Debug, Clone)]
struct Origin {
    part: Arc<str>,
    /// The number of the line in the script of its part, from 1.
    line: usize,
    /// The number of the repetition, if the part is repeated.
    repetition: Option<u64>,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "part `{}`, line {}", self.part, self.line)?;
        self.repetition.map_or(Ok(()), |repetition| write!(f, ", n = {repetition}"))
    }
}

impl Origins {
    /// Returns an error message that names the position of a line of the script, which is counted
    /// from 1.
    fn error(&self, line: usize, why: impl fmt::Display) -> String {
        let origin = line.checked_sub(1).and_then(|line| self.0.get(line));
        origin.map_or_else(|| why.to_string(), |origin| format!("{origin}: {why}"))
    }
}

/// Reads the scenarios of a file.
///
/// # Errors
/// Returns an error that names the position if the file or a script in it is wrong.
pub(super) fn read(path: &Path) -> Result<Vec<Scenario>, Failure> {
    let wrong = |why: String| Failure::input(format!("{}: {why}", path.display()));
    parse(&program::read(path)?).map_err(wrong)
}

fn parse(text: &str) -> Result<Vec<Scenario>, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string().trim().to_owned())?;
    if file.scenario.is_empty() {
        return Err("it has no [[scenario]]".to_owned());
    }
    let mut scenarios: Vec<Scenario> = Vec::new();
    for listed in &file.scenario {
        if scenarios.iter().any(|known| known.name == listed.name) {
            return Err(format!("two scenarios have the name `{}`", listed.name));
        }
        let scenario = listed.scenario(&file);
        scenarios.push(scenario.map_err(|why| format!("scenario `{}`: {why}", listed.name))?);
    }
    Ok(scenarios)
}

impl Listed {
    fn scenario(&self, file: &File) -> Result<Scenario, String> {
        let (text, origins) = self.expanded(file)?;
        let script = Script::parse(&text).map_err(|errors| {
            let error = errors.first().map(|error| origins.error(error.line, &error.message));
            error.unwrap_or_else(|| "its script is wrong".to_owned())
        })?;
        let least = file.packet_bytes.unwrap_or(PACKET_BYTES);
        let mut configuration = Vec::new();
        let (mut packets, mut port) = (Vec::new(), None);
        for Statement { line, kind } in script.statements {
            match kind {
                StatementKind::Packet { port: from, data } => {
                    if *port.get_or_insert_with(|| from.clone()) != from {
                        let why = "the packets of a scenario arrive by one port";
                        return Err(origins.error(line, why));
                    }
                    packets.push(completed(data, least));
                }
                StatementKind::Expect { .. }
                | StatementKind::NoPacket
                | StatementKind::CheckCounter { .. }
                | StatementKind::At(_)
                | StatementKind::Wait => {
                    let why = "a scenario has packets and statements that configure the switch";
                    return Err(origins.error(line, why));
                }
                StatementKind::Unknown { word } => {
                    return Err(origins.error(line, StfError::NoStatement(word)));
                }
                StatementKind::HalfByte => return Err(origins.error(line, StfError::HalfByte)),
                kind => configuration.push(Statement { line, kind }),
            }
        }
        let port = port.ok_or("it has no packet")?;
        let configuration = Script { statements: configuration };
        let origins = Arc::new(origins);
        let (name, outcomes) = (self.name.clone(), self.outcomes);
        Ok(Scenario { name, configuration, origins, packets, port, outcomes })
    }

    /// Returns the script of the scenario with all repetitions written out, and the origin of each
    /// of its lines.
    fn expanded(&self, file: &File) -> Result<(String, Origins), String> {
        let (mut text, mut origins) = (String::new(), Vec::new());
        let mut lines: u64 = 0;
        for name in &self.parts {
            let part = file.part.get(name).ok_or_else(|| {
                let known: Vec<_> = file.part.keys().map(String::as_str).collect();
                format!("there is no part `{name}`; there is {}", known.join(", "))
            })?;
            let repetitions = part.repeat.unwrap_or(1);
            let of_part = u64::try_from(part.script.lines().count()).unwrap_or(u64::MAX);
            lines = lines.saturating_add(of_part.saturating_mul(repetitions));
            if lines > MOST_LINES {
                return Err(format!("its parts have more than {MOST_LINES} lines"));
            }
            let shown: Arc<str> = name.as_str().into();
            for number in 0..repetitions {
                for (line, one) in (1..).zip(part.script.lines()) {
                    let repetition = part.repeat.is_some().then_some(number);
                    let origin = Origin { part: Arc::clone(&shown), line, repetition };
                    let expanded = template::expand(one, number.into())
                        .map_err(|why| format!("{origin}: {why}"))?;
                    text.push_str(&expanded);
                    text.push('\n');
                    origins.push(origin);
                }
            }
        }
        Ok((text, Origins(origins)))
    }
}

/// Pads a packet with zeros to at least `least` bytes, and computes the checksum of its IPv4 header
/// if the checksum is zero. Another checksum is kept, so that a scenario can contain a wrong one.
fn completed(mut packet: Vec<u8>, least: usize) -> Vec<u8> {
    packet.resize(packet.len().max(least), 0);
    let is_ipv4 = packet.get(12..15) == Some([0x08, 0x00, 0x45].as_slice());
    if let Some(header) = packet.get_mut(IPV4).filter(|_| is_ipv4)
        && header.get(10..12) == Some([0, 0].as_slice())
    {
        let sum = internet_checksum(header).to_be_bytes();
        header[10..12].copy_from_slice(&sum);
    }
    packet
}

impl Scenario {
    /// Returns the packets of the scenario and the configuration of the switch, for a program.
    ///
    /// # Errors
    /// Returns an error if a string in the script, or the name of the port, is not translated to a
    /// number in the program.
    pub(super) fn given(&self, program: &Program) -> Result<Given, String> {
        let translated = translated::of(program).map_err(|error| error.to_string())?;
        let port = stf::port_before(program, &translated, &self.configuration, &self.port);
        let port = port.map_err(|error| error.to_string())?;
        let (configuration, origins) = (self.configuration.clone(), Arc::clone(&self.origins));
        let sets_meters = configuration
            .statements
            .iter()
            .any(|statement| matches!(statement.kind, StatementKind::MeterSetRates { .. }));
        let setup = move |switch: &mut Switch| {
            let options = Options { strict: true, ..Options::default() };
            // All switches have the same numbers, because strings keep those that they have.
            switch.set_translated(Arc::clone(&translated));
            let done = stf::run(switch, &configuration, options);
            done.map(drop).map_err(|(line, error)| origins.error(line, error))
        };
        Ok(Given {
            packets: self.packets.clone(),
            port,
            setup: Setup::new(setup),
            sets_meters,
            outcomes: self.outcomes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        packet_bytes = 40
        [part.entries]
        repeat = 3
        script = "add t k:0x{0x10 + n:2} a(p:{n})"
        [part.packets]
        repeat = 2
        script = """
        # Two flows.
        packet 7 000000000001 000000000002 0800 45000014 00000000 4011 0000 0a00000{n} 0a000001"""
        [[scenario]]
        name = "both"
        parts = ["entries", "packets"]
    "#;

    #[test]
    fn parts_are_repeated_and_packets_completed() {
        let scenarios = parse(FILE).expect("a file");
        let [scenario] = scenarios.as_slice() else { panic!("{scenarios:?}") };
        let expected =
            Script::parse("add t k:0x10 a(p:0)\nadd t k:0x11 a(p:1)\nadd t k:0x12 a(p:2)");
        assert_eq!(scenario.configuration, expected.expect("a script"));
        assert_eq!((&scenario.port, scenario.packets.len()), (&PortOperand::Number(7), 2));
        for (packet, sum) in scenario.packets.iter().zip([0x66d9_u16, 0x66d8]) {
            assert_eq!(packet.len(), 40);
            assert_eq!(packet[24..26], sum.to_be_bytes(), "{packet:02x?}");
            assert_eq!(internet_checksum(&packet[IPV4]), 0);
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (from, to, expected) in [
            ("add t", "ad t", "scenario `both`: part `entries`, line 1, n = 0: `ad` is not"),
            (
                "0x10 + n",
                "m",
                "scenario `both`: part `entries`, line 1, n = 0: `{m:2}`: `m` is not",
            ),
            ("\"packets\"]", "\"rest\"]", "there is no part `rest`; there is entries, packets"),
            ("packet 7", "packet {n}", "part `packets`, line 2, n = 1: the packets of a scenario"),
            ("# Two flows.", "wait", "part `packets`, line 1, n = 0: a scenario has packets and"),
            ("repeat = 3", "repeat = 20000000", "its parts have more than 10000000 lines"),
            ("repeat = 2", "repeat = 0", "it has no packet"),
            ("repeat = 2", "repeats = 2", "unknown field `repeats`"),
        ] {
            let error = parse(&FILE.replace(from, to)).expect_err(to);
            assert!(error.contains(expected), "no {expected:?} in {error}");
        }
        let twice = format!("{FILE}[[scenario]]\nname = \"both\"\nparts = [\"packets\"]\n");
        assert_eq!(parse(&twice).expect_err("twice"), "two scenarios have the name `both`");
    }
}
