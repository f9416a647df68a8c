//! Runs a script on several switches that are connected by links.
//!
//! To the script, the network looks like one switch, whose ports are those without a link. Sources
//! and senders send beside the statements of the script. Links neither delay nor lose packets.
//! Without queues, a packet crosses the whole network at one point in time. At a port with queues
//! it waits, in virtual time, and reaches the other end of the link when its last bit has left.

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
use super::books::Books;
use super::outcome::{End, Options, QueueRecord, Report};
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
    let mut books = Books::new();
    let names = network.outside.iter().map(|(number, (_, name))| (*number, name.clone()));
    books.report.port_names = names.collect();
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
    // A check is about all packets of the script, wherever it stands.
    for Statement { line, kind } in &script.statements {
        if let StatementKind::Check(check) = kind {
            books.check(*line, check);
        }
    }
    for Statement { line, kind } in &script.statements {
        statement(&mut travel, &mut books, *line, kind).map_err(|error| (*line, error))?;
    }
    travel.advance(Duration::MAX, &mut books);
    for origin in travel.pending.iter().filter(|origin| !origin.has_left.get()) {
        books.vanishes(origin.line);
    }
    travel.report_senders(&mut books);
    books.report.queues = records(&travel);
    Ok(books.finish(options))
}

/// Creates the queues of all switches, and declares them to the switches.
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
        let record = |(port, queue, counts)| QueueRecord {
            end: End { switch, port },
            switch: name.to_owned(),
            queue,
            counts,
        };
        queued.counts().map(record).collect::<Vec<_>>()
    };
    travel.queued.iter().enumerate().flat_map(of_switch).collect()
}

fn statement(
    travel: &mut Travel<'_>,
    books: &mut Books,
    line: usize,
    kind: &StatementKind,
) -> Result<(), StfError> {
    match kind {
        StatementKind::Packet { port, data } => {
            for _ in 0..books.arrivals() {
                packet(travel, books, line, (port.number()?, data))?;
            }
        }
        StatementKind::Source { port, data } => {
            let port = port.number()?;
            let Some((at, _)) = travel.network.outside.get(&port) else {
                return Err(StfError::NoPort(port));
            };
            let arrivals = books.source_arrivals();
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
            senders(travel, &sender, books.source_arrivals())?;
        }
        StatementKind::On { switch, statement } => {
            for _ in 0..books.arrivals() {
                books.advance_to_arrival();
                travel.advance(books.now, books);
                command(travel, books, switch, Command { line, kind: statement })?;
            }
        }
        // Checks were added before the script began.
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
            books.expect(line, port, pattern.clone());
        }
        StatementKind::NoPacket => match books.last_line {
            Some(line) if travel.has_queues => books.no_packet_of(line),
            _ => books.no_packet(),
        },
        StatementKind::At(arrivals) => books.at(*arrivals)?,
        StatementKind::Queues { at, switch, queues } => {
            let index = switch_called(travel, switch)?;
            books.pass_to(*at)?;
            travel.advance(*at, books);
            travel.configure(*at, index, queues, books);
        }
        StatementKind::Wait => {
            books.after_command = true;
            books.now += Duration::from_secs(1);
        }
        StatementKind::HalfByte => return Err(StfError::HalfByte),
        StatementKind::Unknown { word } => return Err(StfError::NoStatement(word.clone())),
        _ => return Err(StfError::NotInNetwork),
    }
    Ok(())
}

/// Begins senders of one kind at the times of `arrivals`.
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

/// Returns the index of the switch with a name.
fn switch_called(travel: &Travel<'_>, name: &str) -> Result<usize, StfError> {
    let switches = &travel.network.switches;
    switches.iter().position(|(known, _)| known == name).ok_or_else(|| {
        let known: Vec<&str> = switches.iter().map(|(name, _)| name.as_str()).collect();
        StfError::NoSwitch { name: name.to_owned(), known: known.join(", ") }
    })
}

/// Carries out a statement on a switch, at the time that the script has reached.
fn command(
    travel: &mut Travel<'_>,
    books: &mut Books,
    name: &str,
    command: Command<'_>,
) -> Result<(), StfError> {
    let index = switch_called(travel, name)?;
    let Some((_, switch)) = travel.network.switches.get_mut(index) else { return Ok(()) };
    let coverage = coverage_of(travel.covered, index);
    let now = books.now;
    let report = run_on(switch, command, now, travel.options, coverage)?;
    let named = move |(line, text): (usize, String)| (line, format!("{name} at {now:?}: {text}"));
    books.report.values.extend(report.values.into_iter().map(named));
    books.report.notes.extend(report.notes.into_iter().map(named));
    books.report.failures.extend(report.failures);
    Ok(())
}

/// Carries out the events before a packet of the script arrives, and lets it arrive.
fn packet(
    travel: &mut Travel<'_>,
    books: &mut Books,
    line: usize,
    (port, data): (u32, &[u8]),
) -> Result<(), StfError> {
    let Some((at, _)) = travel.network.outside.get(&port) else {
        return Err(StfError::NoPort(port));
    };
    let at = *at;
    books.arrives(port, data);
    books.last_line = Some(line);
    let origin = Rc::new(Origin {
        line,
        time: books.now,
        port,
        from: books.report.port(port),
        is_of_source: false,
        transmission: None,
        copies: Cell::new(0),
        has_left: Cell::new(false),
    });
    let journey = Journey::begin(Rc::clone(&origin));
    let packet = Travelling { at, packet: data.to_vec(), journey };
    travel.agenda.add(books.now, Rank::Arrival, Event::Arrival(packet));
    travel.advance(books.now, books);
    if travel.has_queues {
        travel.pending.push(origin);
    } else {
        // Without queues, packets of sources cross the network at their own times and are not here.
        let left = std::mem::take(&mut travel.left);
        books.leaves(line, left);
    }
    Ok(())
}
