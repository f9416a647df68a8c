//! Runs a script on several switches that are connected by links.
//!
//! To the script, the network looks like a single switch, whose ports are those to which no link is
//! connected. While the statements of the script run, sources and senders also send packets. Links
//! neither delay nor lose packets. Without queues, a packet crosses the whole network in an
//! instant. At a port with queues it waits, in virtual time, and it reaches the other end of the
//! link when its last bit has been sent.

mod agenda;
mod congestion;
mod senders;
mod sources;
mod switches;
mod travel;

pub use self::switches::{Covered, Network};

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use self::agenda::{Agenda, Rank};
use self::senders::Sender;
use self::sources::Source;
use self::switches::coverage_of;
use self::travel::{Event, Journey, Origin, Travel, Travelling};
use super::outcome::{End, Options, QueueRecord, Report};
use super::record::PacketRecord;
use super::run::{Command, run_on};
use super::script::{Arrivals, Script, Statement, StatementKind};
use super::{StfError, strings};
use ir::Architecture;
use pipeline::{QueuedPorts, Switch};
use queues::Configuration;

/// The largest number of senders that one statement starts.
const MAX_SENDERS: u32 = 1000;

/// Runs a script against a network. Its switches must already be configured, because statements
/// that apply to a single switch are refused.
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
    for (index, (name, switch)) in network.switches.iter_mut().enumerate() {
        let kinds = script.statements.iter().filter_map(|statement| match &statement.kind {
            StatementKind::On { switch, statement } if switch.as_str() == name.as_str() => {
                Some(&**statement)
            }
            _ => None,
        });
        strings::reserve(switch.program(), switch.translated(), kinds);
        if let Some(coverage) = coverage_of(covered, index) {
            coverage.note_entries(switch);
        }
        let is_psa = switch.program().architecture == Architecture::Psa;
        switch.follow_psa_switch(is_psa && !options.specification);
        switch.set_priority_queues(options.priority_queues);
    }
    let mut record = PacketRecord::new();
    let names = network.outside.iter().map(|(number, (_, name))| (*number, name.clone()));
    record.report.port_names = names.collect();
    let queued = queued(network);
    let changes_queues =
        |statement: &Statement| matches!(statement.kind, StatementKind::Queues { .. });
    let mut travel = Travel {
        has_queues: queued.iter().any(|queued| !queued.is_empty())
            || script.statements.iter().any(changes_queues),
        queued,
        network,
        agenda: Agenda::default(),
        options,
        covered,
        left: Vec::new(),
        pending: Vec::new(),
        sources: Vec::new(),
        senders: Vec::new(),
    };
    // A check concerns all packets of the script, even those of statements before it.
    for Statement { line, kind } in &script.statements {
        if let StatementKind::Check(check) = kind {
            record.check(*line, check);
        }
    }
    for Statement { line, kind } in &script.statements {
        statement(&mut travel, &mut record, *line, kind).map_err(|error| (*line, error))?;
    }
    travel.advance(Duration::MAX, &mut record);
    for origin in travel.pending.iter().filter(|origin| !origin.has_left.get()) {
        record.vanishes(origin.line);
    }
    travel.report_senders(&mut record);
    record.report.queues = records(&travel);
    Ok(record.finish(options))
}

/// Creates the queues of all switches, and informs the switches which of their ports have queues.
fn queued(network: &mut Network) -> Vec<QueuedPorts<Journey>> {
    let Network { switches, queues, .. } = network;
    let create = |(index, (_, switch)): (usize, &mut (String, Switch))| {
        let none = Configuration::default();
        let configuration = queues.get(&index).unwrap_or(&none);
        let queued = QueuedPorts::new(configuration, Duration::ZERO, index as u64);
        switch.set_port_queues(queued.port_queues());
        queued
    };
    switches.iter_mut().enumerate().map(create).collect()
}

fn records(travel: &Travel<'_>) -> Vec<QueueRecord> {
    let of_switch = |(switch, queued): (usize, &QueuedPorts<Journey>)| {
        let name = travel.network.name(switch);
        let queue_record = |(port, queue, counts)| QueueRecord {
            end: End { switch, port },
            switch: name.to_owned(),
            queue,
            counts,
        };
        queued.counts().map(queue_record).collect::<Vec<_>>()
    };
    travel.queued.iter().enumerate().flat_map(of_switch).collect()
}

fn statement(
    travel: &mut Travel<'_>,
    record: &mut PacketRecord,
    line: usize,
    kind: &StatementKind,
) -> Result<(), StfError> {
    match kind {
        StatementKind::Packet { port, data } => {
            for _ in 0..record.arrivals() {
                packet(travel, record, line, port.number()?, data)?;
            }
        }
        StatementKind::Source { port, data } => {
            let port = port.number()?;
            let Some((at, _)) = travel.network.outside.get(&port) else {
                return Err(StfError::NoPort(port));
            };
            let arrivals = record.source_arrivals();
            let source = Source { line, port, at: *at, data: data.clone(), arrivals };
            travel.begin_source(source);
        }
        StatementKind::Sender { from, to, data, back, until } => {
            let outside = &travel.network.outside;
            let (from, to) = (from.number()?, to.number()?);
            let Some((at, _)) = outside.get(&from) else { return Err(StfError::NoPort(from)) };
            if !outside.contains_key(&to) {
                return Err(StfError::NoPort(to));
            }
            let (data, back, until) = (data.clone(), *back, *until);
            let sender = Sender { line, from, to, at: *at, data, back, until };
            senders(travel, &sender, record.source_arrivals())?;
        }
        StatementKind::On { switch, statement } => {
            for _ in 0..record.arrivals() {
                record.advance_to_arrival();
                travel.advance(record.now, record);
                command(travel, record, switch, Command { line, kind: statement })?;
            }
        }
        // All checks were added before the first statement.
        StatementKind::Check(check) => {
            let ports = [check.from, check.to];
            if let Some(unknown) =
                ports.iter().find(|port| !travel.network.outside.contains_key(port))
            {
                return Err(StfError::NoPort(*unknown));
            }
        }
        StatementKind::Expect { port, pattern } => {
            let port = port.number()?;
            if !travel.network.outside.contains_key(&port) {
                return Err(StfError::NoPort(port));
            }
            record.expect(line, port, pattern.clone());
        }
        StatementKind::NoPacket => match record.last_line {
            Some(line) if travel.has_queues => record.no_packet_of(line),
            _ => record.no_packet(),
        },
        StatementKind::At(arrivals) => record.at(*arrivals)?,
        StatementKind::Queues { at, switch, queues } => {
            let index = switch_called(travel, switch)?;
            record.pass_to(*at)?;
            travel.advance(*at, record);
            travel.configure(*at, index, queues, record);
        }
        StatementKind::Wait => {
            record.after_command = true;
            record.now += Duration::from_secs(1);
        }
        StatementKind::HalfByte => return Err(StfError::HalfByte),
        StatementKind::Unknown { word } => return Err(StfError::NoStatement(word.clone())),
        _ => return Err(StfError::NotInNetwork),
    }
    Ok(())
}

/// Starts one copy of `sender` at each time of `arrivals`.
fn senders(travel: &mut Travel<'_>, sender: &Sender, arrivals: Arrivals) -> Result<(), StfError> {
    let Arrivals { first, every, times } = arrivals;
    if times > MAX_SENDERS {
        return Err(StfError::ManySenders { times, most: MAX_SENDERS });
    }
    for number in 0..times {
        let later = every.saturating_mul(number);
        travel.begin_sender(sender.clone(), first.saturating_add(later));
    }
    Ok(())
}

/// Returns the index of the switch with the given name.
fn switch_called(travel: &Travel<'_>, name: &str) -> Result<usize, StfError> {
    let switches = &travel.network.switches;
    switches.iter().position(|(known, _)| known == name).ok_or_else(|| {
        let known: Vec<&str> = switches.iter().map(|(name, _)| name.as_str()).collect();
        StfError::NoSwitch { name: name.to_owned(), known: known.join(", ") }
    })
}

/// Executes a statement on a switch, at the time that the script has reached.
fn command(
    travel: &mut Travel<'_>,
    record: &mut PacketRecord,
    name: &str,
    command: Command<'_>,
) -> Result<(), StfError> {
    let index = switch_called(travel, name)?;
    let Some((_, switch)) = travel.network.switches.get_mut(index) else { return Ok(()) };
    let coverage = coverage_of(travel.covered, index);
    let now = record.now;
    let report = run_on(switch, command, now, travel.options, coverage)?;
    let named = move |(line, text): (usize, String)| (line, format!("{name} at {now:?}: {text}"));
    record.report.values.extend(report.values.into_iter().map(named));
    record.report.notes.extend(report.notes.into_iter().map(named));
    record.report.failures.extend(report.failures);
    Ok(())
}

/// Executes the events that precede the arrival of a packet of the script, and then its arrival.
fn packet(
    travel: &mut Travel<'_>,
    record: &mut PacketRecord,
    line: usize,
    port: u32,
    data: &[u8],
) -> Result<(), StfError> {
    let Some((at, _)) = travel.network.outside.get(&port) else {
        return Err(StfError::NoPort(port));
    };
    let at = *at;
    record.arrives(port, data);
    record.last_line = Some(line);
    let origin = Rc::new(Origin {
        line,
        time: record.now,
        port,
        from: record.report.port(port),
        is_of_source: false,
        transmission: None,
        copies: Cell::new(0),
        has_left: Cell::new(false),
    });
    let journey = Journey::begin(Rc::clone(&origin));
    let packet = Travelling { at, packet: data.to_vec(), journey };
    travel.agenda.add(record.now, Rank::Arrival, Event::Arrival(packet));
    travel.advance(record.now, record);
    if travel.has_queues {
        travel.pending.push(origin);
    } else {
        // If the network has no queues, packets of sources cross it at their own times and do not
        // appear here.
        let left = std::mem::take(&mut travel.left);
        record.leaves(line, left);
    }
    Ok(())
}
