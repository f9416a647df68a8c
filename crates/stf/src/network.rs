//! Runs a script on several switches that are connected by links.
//!
//! To the script, the network looks like one switch, whose ports are those without a link. A packet
//! crosses the whole network at one point in time: links neither delay nor lose packets.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::books::Books;
use super::observe::{Arrival, process};
use super::run::{Options, Report};
use super::script::{Script, Statement, StatementKind};
use super::{Failure, StfError};
use ir::Architecture;
use pipeline::{Coverage, Switch};

/// The largest number of switches that a packet may cross. A packet that crosses more is assumed to
/// circulate in a loop.
const MAX_HOPS: usize = 64;

/// The largest number of copies that one packet may become. In a loop of switches, the number of
/// copies can double with each round.
const MAX_COPIES: usize = 4096;

/// A port of a switch in a network, to which a link can be connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    /// The index of the switch in the network.
    pub switch: usize,
    /// The port of that switch.
    pub port: u32,
}

/// Switches, the links between them, and their ports to the outside.
#[derive(Default)]
pub struct Network {
    switches: Vec<(String, Switch)>,
    /// The port at the other end of each link. A link has an element for each of its two ends.
    links: BTreeMap<End, End>,
    /// The ports to the outside, by the numbers that scripts use for them. Each has a name for
    /// messages.
    outside: BTreeMap<u32, (End, String)>,
}

impl Network {
    /// Adds a switch to the network, and returns its index. The switch must have just been loaded.
    pub fn switch(&mut self, name: impl Into<String>, switch: Switch) -> usize {
        self.switches.push((name.into(), switch));
        self.switches.len() - 1
    }

    /// Adds a link between two ports to the network.
    pub fn link(&mut self, one: End, other: End) {
        self.links.insert(one, other);
        self.links.insert(other, one);
    }

    /// Declares a port of the network to the outside. `number` is the number that scripts use for
    /// it, and `name` its name in messages.
    pub fn outside(&mut self, number: u32, end: End, name: impl Into<String>) {
        self.outside.insert(number, (end, name.into()));
    }

    /// Returns the switch with this index, to configure it before a script runs.
    pub fn switch_mut(&mut self, index: usize) -> Option<&mut Switch> {
        self.switches.get_mut(index).map(|(_, switch)| switch)
    }

    fn name(&self, switch: usize) -> &str {
        self.switches.get(switch).map_or("", |(name, _)| name)
    }

    /// Returns the number that scripts use for a port, or `None` if it is not declared as a port to
    /// the outside.
    fn number(&self, end: End) -> Option<u32> {
        self.outside.iter().find(|(_, (known, _))| *known == end).map(|(number, _)| *number)
    }
}

/// The coverage of a program that several switches of a network may run.
#[derive(Debug)]
pub struct Covered {
    /// The coverage of the program, added up over its switches.
    pub coverage: Coverage,
    /// The indices of the switches that run the program. A switch belongs to at most one program.
    pub switches: Vec<usize>,
}

/// Runs a script against a network. Its switches must be configured before, because statements that
/// apply to a single switch are refused.
///
/// # Errors
/// Returns the line of the first statement that a network does not accept, and the reason.
pub fn run_network(
    network: &mut Network,
    script: &Script,
    options: Options,
) -> Result<Report, (usize, StfError)> {
    run_network_covered(network, script, options, &mut [])
}

/// Runs a script against a network on the interpreter and records in `covered` which parts of each
/// program its packets reach.
///
/// # Errors
/// Returns the errors of [`run_network`].
pub fn run_network_covered(
    network: &mut Network,
    script: &Script,
    options: Options,
    covered: &mut [Covered],
) -> Result<Report, (usize, StfError)> {
    for (index, (_, switch)) in network.switches.iter_mut().enumerate() {
        if let Some(coverage) = coverage_of(covered, index) {
            coverage.note_entries(switch);
        }
        let is_psa = switch.program().architecture == Architecture::Psa;
        switch.follow_psa_switch(is_psa && !options.specification);
        switch.set_priority_queues(options.priority_queues);
    }
    let mut books = Books::new();
    let names = network.outside.iter().map(|(number, (_, name))| (*number, name.clone()));
    books.report.port_names = names.collect();
    for Statement { line, kind } in &script.statements {
        match kind {
            StatementKind::Packet { port, data } => {
                let Some((end, _)) = network.outside.get(port) else {
                    return Err((*line, StfError::NoPort(*port)));
                };
                let end = *end;
                books.arrives(*port, data);
                let from = (*port, end);
                let came = forward(network, *line, from, data, &mut books, options, covered);
                books.leaves(*line, came);
            }
            StatementKind::Expect { port, .. } if !network.outside.contains_key(port) => {
                return Err((*line, StfError::NoPort(*port)));
            }
            StatementKind::Expect { port, pattern } => books.expect(*line, *port, pattern.clone()),
            StatementKind::NoPacket => books.no_packet(),
            StatementKind::Wait => {
                books.after_command = true;
                books.now += Duration::from_secs(1);
            }
            StatementKind::HalfByte => return Err((*line, StfError::HalfByte)),
            StatementKind::Unknown { word } => {
                return Err((*line, StfError::NoStatement(word.clone())));
            }
            _ => return Err((*line, StfError::NotInNetwork)),
        }
    }
    Ok(books.finish(options))
}

fn coverage_of(covered: &mut [Covered], switch: usize) -> Option<&mut Coverage> {
    covered.iter_mut().find(|one| one.switches.contains(&switch)).map(|one| &mut one.coverage)
}

/// A packet on its way through a network, about to enter a switch.
struct Travelling {
    at: End,
    packet: Vec<u8>,
    /// The indices of the switches that the packet has crossed.
    way: Vec<usize>,
    /// Whether one of these switches has recirculated, resubmitted or cloned the packet.
    went_round: bool,
}

/// Forwards a packet and its copies until each has left the network or was dropped. Returns those
/// that left, as port, bytes, and whether a switch recirculated, resubmitted or cloned the packet.
fn forward(
    network: &mut Network,
    line: usize,
    (number, at): (u32, End),
    data: &[u8],
    books: &mut Books,
    options: Options,
    covered: &mut [Covered],
) -> Vec<(u32, Vec<u8>, bool)> {
    let now = books.now;
    let from = books.report.port(number);
    let first = Travelling { at, packet: data.to_vec(), way: Vec::new(), went_round: false };
    let mut queue = VecDeque::from([first]);
    let (mut out, mut copies) = (Vec::new(), 0_usize);
    let say = |network: &Network, way: &[usize], end: &str| {
        let mut text = from.clone();
        for switch in way {
            text.push_str(" > ");
            text.push_str(network.name(*switch));
        }
        format!("{text}{end}")
    };
    while let Some(Travelling { at, packet, mut way, went_round }) = queue.pop_front() {
        copies += 1;
        if way.len() >= MAX_HOPS || copies > MAX_COPIES {
            let text = match copies > MAX_COPIES {
                true => {
                    format!(
                        "the packet became more than {MAX_COPIES} copies: check the topology for a loop"
                    )
                }
                false => {
                    format!("the packet passed {MAX_HOPS} switches: it circulates in a loop")
                }
            };
            books.report.notes.push((line, text));
            break;
        }
        way.push(at.switch);
        let name = network.name(at.switch).to_owned();
        let Some(switch) = network.switch_mut(at.switch) else { continue };
        let coverage = coverage_of(covered, at.switch);
        let arrival = Arrival { port: at.port, data: &packet, now };
        let seen = process(switch, arrival, coverage, options.trace);
        books.report.entered.push((now, at, packet));
        if let Some(events) = seen.events {
            books.report.trace.push((line, events));
            books.report.passed.push(name);
        }
        let outputs = match seen.outputs {
            Ok(outputs) => outputs,
            Err(error) => {
                books.report.failures.push(Failure::Run { line, error });
                continue;
            }
        };
        if outputs.is_empty() {
            books.report.values.push((line, say(network, &way, ", where it left by no port")));
        }
        for output in outputs {
            let end = End { switch: at.switch, port: output.port };
            books.report.left.push((now, end, output.packet.clone()));
            let went_round = went_round || output.generation > 0;
            if let Some(next) = network.links.get(&end) {
                let (at, way) = (*next, way.clone());
                queue.push_back(Travelling { at, packet: output.packet, way, went_round });
            } else if let Some(number) = network.number(end) {
                let text = say(network, &way, &format!(" > {}", books.report.port(number)));
                books.report.values.push((line, text));
                out.push((number, output.packet, went_round));
            } else {
                let end = format!(", whose port {} leads nowhere", output.port);
                books.report.notes.push((line, say(network, &way, &end)));
            }
        }
    }
    out
}
