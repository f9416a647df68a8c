//! Runs a script on a single switch.

mod arrays;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use super::observe::{Arrival, process};
use super::outcome::{Options, Report};
use super::record::PacketRecord;
use super::script::{Call, Indirect, MatchText, PortOperand, Script, Statement, StatementKind};
use super::{StfError, resolve, strings};
use ir::{Architecture, ExternId, ExternType, TableId, TableImplementation};
use pipeline::{
    Batch, CloneSession, ControlError, Coverage, EntryAction, EntryHandle, FieldMatch, Group,
    GroupMember, Replica, Switch, TableEntry,
};

/// Runs a script on a switch, which must be in its initial state.
///
/// The virtual time advances by one second before the first packet and before each packet that
/// follows a command, because p4c's runner waits at these points. It advances by one millisecond
/// before every other packet. `expect` and `no_packet` do not count as commands.
///
/// # Errors
/// Returns the line of the first statement that does not fit the program, and the reason.
pub fn run(
    switch: &mut Switch,
    script: &Script,
    options: Options,
) -> Result<Report, (usize, StfError)> {
    run_script(switch, script, options, None)
}

/// Runs a script on the interpreter and records in `coverage` which parts of the program its
/// packets reach.
///
/// # Errors
/// Returns the errors of [`run`].
pub fn run_covered(
    switch: &mut Switch,
    script: &Script,
    options: Options,
    coverage: &mut Coverage,
) -> Result<Report, (usize, StfError)> {
    run_script(switch, script, options, Some(coverage))
}

fn run_script(
    switch: &mut Switch,
    script: &Script,
    options: Options,
    mut coverage: Option<&mut Coverage>,
) -> Result<Report, (usize, StfError)> {
    if let Some(coverage) = &mut coverage {
        coverage.note_entries(switch);
    }
    let kinds = script.statements.iter().map(|statement| &statement.kind);
    strings::reserve(switch.program(), switch.translated(), kinds);
    let is_psa = switch.program().architecture == Architecture::Psa;
    switch.follow_psa_switch(is_psa && !options.specification);
    switch.set_priority_queues(options.priority_queues);
    let mut runner = Runner::new(switch, options);
    runner.coverage = coverage;
    runner.note_accelerators(script);
    let mut statements: Vec<&Statement> = script.statements.iter().collect();
    if runner.is_for_bpf && !options.strict {
        // p4c's runner for BPF fills the maps before it sends the first packet.
        statements.sort_by_key(|statement| !fills_maps(&statement.kind));
    }
    for Statement { line, kind } in statements {
        if let Err(error) = runner.statement(*line, kind) {
            if options.strict || !is_tolerated(kind, &error) {
                return Err((*line, error));
            }
            runner.record.report.notes.push((*line, format!("without effect: {error}")));
        }
    }
    runner.burst();
    Ok(runner.record.finish(options))
}

/// A statement that is addressed to one switch of a network, with its line in the script.
#[derive(Clone, Copy)]
pub(super) struct Command<'s> {
    pub(super) line: usize,
    pub(super) kind: &'s StatementKind,
}

/// Executes a statement on a switch of a network at the time `now`. Returns a report that contains
/// the values that the statement read and its failed checks.
///
/// # Errors
/// Returns an error if the switch refuses the statement, or if the statement depends on other
/// statements.
pub(super) fn run_on(
    switch: &mut Switch,
    Command { line, kind }: Command<'_>,
    now: Duration,
    options: Options,
    coverage: Option<&mut Coverage>,
) -> Result<Report, StfError> {
    if !stands_alone(kind) {
        return Err(StfError::NotOnSwitch);
    }
    let mut runner = Runner::new(switch, options);
    runner.record.now = now;
    runner.coverage = coverage;
    runner.command(line, kind)?;
    Ok(runner.record.report)
}

/// Returns whether a statement can be executed without any other statement of the script.
/// Statements that use entry handles or multicast nodes cannot, because these are known only within
/// a script for one switch.
fn stands_alone(kind: &StatementKind) -> bool {
    match kind {
        StatementKind::Add { .. }
        | StatementKind::AddIndirect { .. }
        | StatementKind::MemberCreate { .. }
        | StatementKind::SelectorGroupCreate { .. }
        | StatementKind::GroupAdd { .. }
        | StatementKind::GroupRemove { .. }
        | StatementKind::SetDefault { .. }
        | StatementKind::RemoveAll
        | StatementKind::CheckCounter { .. }
        | StatementKind::MirroringAdd { .. }
        | StatementKind::MirroringDelete { .. }
        | StatementKind::MirroringGet { .. }
        | StatementKind::CounterRead { .. }
        | StatementKind::CounterWrite { .. }
        | StatementKind::RegisterRead { .. }
        | StatementKind::RegisterWrite { .. }
        | StatementKind::RegisterReset { .. }
        | StatementKind::MeterGetRates { .. }
        | StatementKind::MeterSetRates { .. }
        | StatementKind::ExpireTime { .. } => true,
        StatementKind::Packet { .. }
        | StatementKind::Expect { .. }
        | StatementKind::At(_)
        | StatementKind::Queues { .. }
        | StatementKind::Source { .. }
        | StatementKind::Sender { .. }
        | StatementKind::On { .. }
        | StatementKind::Check(_)
        | StatementKind::NoPacket
        | StatementKind::Unknown { .. }
        | StatementKind::HalfByte
        | StatementKind::Remove { .. }
        | StatementKind::Wait
        | StatementKind::MirroringAddGroup { .. }
        | StatementKind::GroupCreate { .. }
        | StatementKind::NodeCreate { .. }
        | StatementKind::NodeUpdate { .. }
        | StatementKind::LagMembers { .. }
        | StatementKind::NodeAssociate { .. } => false,
    }
}

fn fills_maps(kind: &StatementKind) -> bool {
    matches!(kind, StatementKind::Add { .. } | StatementKind::SetDefault { .. })
}

/// Returns whether p4c's runner would continue after this error. The runner looks up tables, keys,
/// actions and parameters itself, and stops if one does not exist. All other errors come from BMv2,
/// and the runner does not notice them.
fn is_tolerated(kind: &StatementKind, error: &StfError) -> bool {
    let looks_up = matches!(
        kind,
        StatementKind::Add { .. }
            | StatementKind::AddIndirect { .. }
            | StatementKind::SetDefault { .. }
            | StatementKind::MemberCreate { .. }
    );
    let not_found = matches!(
        error,
        StfError::Unknown { .. } | StfError::Ambiguous { .. } | StfError::Missing { .. }
    );
    // p4c's scripts contain no strings.
    let is_of_string = matches!(error, StfError::NoText { .. } | StfError::Text(_));
    !(looks_up && not_found || is_of_string)
}

const PROFILES: [&str; 4] =
    ["action_profile", "action_selector", "ActionProfile", "ActionSelector"];

/// A node of the packet replication engine. All copies that the node makes have the same
/// replication id.
#[derive(Clone, Debug)]
struct MulticastNode {
    replication_id: u16,
    ports: Vec<u32>,
    lags: Vec<u32>,
}

/// The state of executing a script on a switch.
struct Runner<'s> {
    switch: &'s mut Switch,
    options: Options,
    /// Whether the program is for BPF. Its scripts then refer to BPF maps instead of tables.
    is_for_bpf: bool,
    coverage: Option<&'s mut Coverage>,
    record: PacketRecord,
    /// The line, port and bytes of each packet of the burst that is being collected.
    burst: Vec<(usize, u32, Vec<u8>)>,
    handles: HashMap<String, (TableId, EntryHandle)>,
    nodes: Vec<MulticastNode>,
    groups: BTreeMap<u32, Vec<usize>>,
    /// The member ports of each link aggregation group.
    lags: BTreeMap<u32, Vec<u32>>,
}

impl<'s> Runner<'s> {
    fn new(switch: &'s mut Switch, options: Options) -> Self {
        Self {
            is_for_bpf: switch.program().architecture.is_for_bpf(),
            switch,
            options,
            coverage: None,
            record: PacketRecord::new(),
            burst: Vec::new(),
            handles: HashMap::new(),
            nodes: Vec::new(),
            groups: BTreeMap::new(),
            lags: BTreeMap::new(),
        }
    }

    /// Adds a note for each accelerator extern of the program that is not simulated, so packets
    /// pass it unchanged. The script cannot expect encrypted bytes from it.
    fn note_accelerators(&mut self, script: &Script) {
        let first = script.statements.first().map_or(1, |statement| statement.line);
        for instance in &self.switch.program().externs {
            if matches!(
                instance.extern_type,
                ExternType::IpsecAccelerator | ExternType::CryptoAccelerator
            ) {
                let text = format!("packets pass the accelerator {} as they are", instance.name);
                self.record.report.notes.push((first, text));
            }
        }
    }

    fn statement(&mut self, line: usize, kind: &StatementKind) -> Result<(), StfError> {
        if !matches!(kind, StatementKind::Packet { .. } | StatementKind::Expect { .. }) {
            self.burst();
        }
        match kind {
            StatementKind::Packet { port, data } => {
                let port = self.port(port)?;
                for _ in 0..self.record.arrivals() {
                    self.packet(line, port, data);
                }
            }
            StatementKind::At(arrivals) => self.record.at(*arrivals)?,
            StatementKind::Queues { .. } => return Err(StfError::QueuesWithoutNetwork),
            StatementKind::Expect { port, pattern } => {
                let port = self.port(port)?;
                self.record.expect(line, port, pattern.clone());
            }
            StatementKind::NoPacket => self.record.no_packet(),
            StatementKind::HalfByte => return Err(StfError::HalfByte),
            StatementKind::Unknown { word } => return Err(StfError::NoStatement(word.clone())),
            StatementKind::Source { .. }
            | StatementKind::Sender { .. }
            | StatementKind::On { .. }
            | StatementKind::Check(_) => return Err(StfError::OnlyInNetwork),
            other => {
                self.record.after_command = true;
                self.command(line, other)?;
            }
        }
        Ok(())
    }

    fn packet(&mut self, line: usize, port: u32, data: &[u8]) {
        self.record.arrives(port, data);
        if self.options.together {
            self.burst.push((line, port, data.to_vec()));
            return;
        }
        let arrival = Arrival { port, data, now: self.record.now };
        let coverage = self.coverage.as_deref_mut();
        let seen = process(self.switch, arrival, coverage, self.options.trace);
        self.record.report.trace.extend(seen.trace.map(|trace| (line, trace)));
        match seen.outputs {
            Ok(outputs) => {
                let of =
                    |output: pipeline::Output| (output.port, output.packet, output.generation > 0);
                self.record.leaves(line, outputs.into_iter().map(of).collect());
            }
            Err(error) => self.record.fails(line, error),
        }
    }

    /// Processes the packets that were collected for a burst, at the arrival time of the last one.
    fn burst(&mut self) {
        let burst = std::mem::take(&mut self.burst);
        if burst.is_empty() {
            return;
        }
        let packets: Vec<(u32, &[u8])> =
            burst.iter().map(|(_, port, data)| (*port, data.as_slice())).collect();
        let mut batch = Batch::default();
        self.switch.expire(self.record.now);
        self.switch.process_batch(&packets, self.record.now, &mut batch);
        self.switch.answer_entry_changes();
        for (position, (line, ..)) in burst.iter().enumerate() {
            let of = |(from, port, packet): (usize, u32, &[u8])| {
                (from == position).then(|| (port, packet.to_vec(), false))
            };
            let mut errors = batch.errors().iter();
            match errors.find(|(failed, _)| *failed == position) {
                None => self.record.leaves(*line, batch.sent().filter_map(of).collect()),
                Some((_, error)) => self.record.fails(*line, error.clone()),
            }
        }
    }

    fn command(&mut self, line: usize, kind: &StatementKind) -> Result<(), StfError> {
        match kind {
            StatementKind::Add { table, priority, matches, action, handle } => {
                self.add(line, table, *priority, matches, action, handle.as_deref())
            }
            StatementKind::AddIndirect { table, priority, matches, target } => {
                let id = resolve::table(self.switch.program(), table)?;
                let action = match target {
                    Indirect::Member(member) => EntryAction::Member(*member),
                    Indirect::Group(group) => EntryAction::Group(*group),
                };
                self.insert(line, id, *priority, matches, action).map(|_| ())
            }
            StatementKind::SetDefault { table, action } => self.set_default(table, action),
            StatementKind::RemoveAll => {
                for table in 0..self.switch.program().tables.len() {
                    self.switch.clear_table(TableId(table as u32))?;
                }
                self.handles.clear();
                Ok(())
            }
            StatementKind::Remove { handle } => self.remove(handle),
            StatementKind::Wait => {
                self.record.now += Duration::from_secs(1);
                Ok(())
            }
            StatementKind::ExpireTime { profile, time } => self.expire_time(*profile, *time),
            StatementKind::CheckCounter { counter, cell, condition } => {
                self.check_counter(line, counter, cell, *condition)
            }
            StatementKind::MirroringAdd { .. }
            | StatementKind::MirroringAddGroup { .. }
            | StatementKind::MirroringDelete { .. }
            | StatementKind::MirroringGet { .. }
            | StatementKind::GroupCreate { .. }
            | StatementKind::NodeCreate { .. }
            | StatementKind::NodeUpdate { .. }
            | StatementKind::LagMembers { .. }
            | StatementKind::NodeAssociate { .. } => self.replication(line, kind),
            StatementKind::MemberCreate { .. }
            | StatementKind::SelectorGroupCreate { .. }
            | StatementKind::GroupAdd { .. }
            | StatementKind::GroupRemove { .. } => self.profile(kind),
            _ => self.array(line, kind),
        }
    }

    /// Sets the timeout of an expire time profile. It applies to entries to which the profile is
    /// assigned from now on.
    fn expire_time(&self, profile: u64, time: Duration) -> Result<(), StfError> {
        if self.switch.program().architecture != Architecture::Pna {
            return Err(StfError::NoExpireTimes);
        }
        self.switch.set_expire_time_profile(profile, Some(time));
        Ok(())
    }

    /// Returns the number of a port.
    fn port(&mut self, port: &PortOperand) -> Result<u32, StfError> {
        let number = strings::port(self.switch.translated(), port)?;
        if let PortOperand::Text(text) = port {
            let name = || format!("port {text:?} ({number})");
            self.record.report.port_names.entry(number).or_insert_with(name);
        }
        Ok(number)
    }

    fn ports(&mut self, ports: &[PortOperand]) -> Result<Vec<u32>, StfError> {
        ports.iter().map(|port| self.port(port)).collect()
    }

    fn call(&self, table: Option<TableId>, call: &Call) -> Result<pipeline::ActionCall, StfError> {
        let program = self.switch.program();
        let table = table.and_then(|table| program.tables.get(table.index()));
        resolve::call(self.switch, table, call, self.options.strict)
    }

    fn add(
        &mut self,
        line: usize,
        table: &str,
        priority: Option<u32>,
        matches: &[(String, MatchText)],
        action: &Call,
        handle: Option<&str>,
    ) -> Result<(), StfError> {
        let id = resolve::table(self.switch.program(), table)?;
        let call = self.call(Some(id), action)?;
        let known = self.switch.program().tables.get(id.index());
        // The smaller number takes precedence in BMv2, and the larger one in STF, so p4c's runner
        // passes on 10000 minus the priority. Without a priority, BMv2's command line parses the
        // last argument as one and fails.
        if known.is_some_and(resolve::has_priorities) && priority.is_none() {
            // An unknown name takes precedence over this error, because it ends the script.
            self.matches(id, matches)?;
            return Err(ControlError::PriorityMissing.into());
        }
        let added = self.insert(line, id, priority, matches, EntryAction::Action(call))?;
        if let (Some(name), Some(entry)) = (handle, added) {
            self.handles.insert(name.to_owned(), (id, entry));
        }
        Ok(())
    }

    /// Sets the default action of a table.
    ///
    /// p4c's runner looks up the table and the action, but passes their names on to BMv2's command
    /// line as the script writes them. The command line accepts a full name, or the part of a full
    /// name after a dot if it matches only one object.
    fn set_default(&mut self, table: &str, action: &Call) -> Result<(), StfError> {
        let program = self.switch.program();
        let id = resolve::table(program, table)?;
        let call = self.call(Some(id), action)?;
        if !self.is_for_bpf {
            resolve::check_unique_end(program, table, &action.action)?;
        }
        if program.tables.get(id.index()).is_some_and(|table| table.implementation.is_some()) {
            let members = "members or groups of its action profile";
            return Err(ControlError::ActionKind(members).into());
        }
        Ok(self.switch.set_default_action(id, Some(call))?)
    }

    fn matches(
        &self,
        id: TableId,
        given: &[(String, MatchText)],
    ) -> Result<Vec<FieldMatch>, StfError> {
        let program = self.switch.program();
        match program.tables.get(id.index()) {
            Some(table) => resolve::matches(self.switch, id, table, given, self.options.strict),
            None => Err(ControlError::Unknown { kind: "table", name: id.0.to_string() }.into()),
        }
    }

    /// Inserts an entry into a table and returns its handle. Returns `None` if the table already
    /// contains the entry, which is not an error on BMv2 either.
    fn insert(
        &mut self,
        line: usize,
        id: TableId,
        priority: Option<u32>,
        matches: &[(String, MatchText)],
        action: EntryAction,
    ) -> Result<Option<EntryHandle>, StfError> {
        let program = self.switch.program();
        let Some(table) = program.tables.get(id.index()) else {
            return Err(ControlError::Unknown { kind: "table", name: id.0.to_string() }.into());
        };
        let priority = if resolve::has_priorities(table) {
            // The lowest priority is 1 in a switch and 0 in a script.
            priority.unwrap_or(0).saturating_add(1)
        } else {
            0
        };
        // BMv2 refuses new entries for tables with entries in the program, whether they are
        // constant or not (`P4Objects.cpp`).
        let is_closed = !table.entries.is_empty();
        let matches = self.matches(id, matches)?;
        if is_closed {
            return Err(ControlError::Constant("the list of entries").into());
        }
        let entry = TableEntry { matches, priority, action, idle_timeout: None };
        let added = match self.switch.add_entry(id, entry.clone(), self.record.now) {
            // The newer value replaces the older one in a BPF map (`BPF_ANY`).
            Err(ControlError::Duplicate) if self.is_for_bpf => {
                self.switch.modify_entry(id, entry, self.record.now)
            }
            added => added,
        };
        match added {
            Ok(handle) => {
                if let Some(coverage) = &mut self.coverage {
                    let added = self.switch.entries(id)?.find(|(known, _)| *known == handle);
                    if let (Some((_, entry)), Some(table)) =
                        (added, self.switch.program().tables.get(id.index()))
                    {
                        coverage.note_entry(&table.name, &entry);
                    }
                }
                Ok(Some(handle))
            }
            Err(ControlError::Duplicate) => {
                self.record.report.notes.push((line, "this entry exists already".to_owned()));
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn remove(&mut self, handle: &str) -> Result<(), StfError> {
        let Some((table, entry)) = self.handles.remove(handle) else {
            return Err(StfError::NotMade { kind: "entry", name: handle.to_owned() });
        };
        let found = self
            .switch
            .entries(table)?
            .find(|(known, _)| *known == entry)
            .map(|(_, entry)| (entry.matches.clone(), entry.priority));
        if let Some((matches, priority)) = found {
            self.switch.delete_entry(table, &matches, priority)?;
        }
        Ok(())
    }

    fn handle(&self, name: &str) -> Result<EntryHandle, StfError> {
        match self.handles.get(name) {
            Some((_, entry)) => Ok(*entry),
            None => Err(StfError::NotMade { kind: "entry", name: name.to_owned() }),
        }
    }

    fn replication(&mut self, line: usize, kind: &StatementKind) -> Result<(), StfError> {
        match kind {
            StatementKind::MirroringAdd { session, port } => {
                let replicas = vec![Replica { port: self.port(port)?, instance: 0 }];
                let config = CloneSession { replicas, ..CloneSession::default() };
                self.switch.set_clone_session(*session, Some(config));
            }
            StatementKind::MirroringAddGroup { session, group } => {
                let config =
                    CloneSession { multicast_group: Some(*group), ..CloneSession::default() };
                self.switch.set_clone_session(*session, Some(config));
            }
            StatementKind::MirroringDelete { session } => {
                self.switch.set_clone_session(*session, None);
            }
            StatementKind::MirroringGet { session } => {
                let text = match self.switch.clone_session(*session) {
                    None => format!("clone session {session}: not configured"),
                    Some(config) => {
                        let ports: Vec<String> = config
                            .replicas
                            .iter()
                            .map(|replica| replica.port.to_string())
                            .collect();
                        let group = config
                            .multicast_group
                            .map(|group| format!(" multicast group {group}"))
                            .unwrap_or_default();
                        format!("clone session {session}: ports [{}]{group}", ports.join(", "))
                    }
                };
                self.record.report.values.push((line, text));
            }
            StatementKind::GroupCreate { group } => {
                self.groups.entry(*group).or_default();
            }
            StatementKind::NodeCreate { replication_id, ports, lags } => {
                // BMv2's replication ids have 16 bits.
                let replication_id = *replication_id as u16;
                let (ports, lags) = (in_order(self.ports(ports)?), in_order(lags.clone()));
                self.nodes.push(MulticastNode { replication_id, ports, lags });
            }
            StatementKind::LagMembers { lag, ports } => {
                let ports = in_order(self.ports(ports)?);
                self.lags.insert(*lag, ports);
                self.refresh_groups();
            }
            StatementKind::NodeUpdate { node, ports, lags } => {
                let not_made = StfError::NotMade { kind: "node", name: node.to_string() };
                let ports = in_order(self.ports(ports)?);
                let found = self.nodes.get_mut(*node as usize).ok_or(not_made)?;
                found.ports = ports;
                found.lags = in_order(lags.clone());
                self.refresh_groups();
            }
            StatementKind::NodeAssociate { group, node } => {
                if *node as usize >= self.nodes.len() {
                    return Err(StfError::NotMade { kind: "node", name: node.to_string() });
                }
                let not_made =
                    StfError::NotMade { kind: "multicast group", name: group.to_string() };
                self.groups.get_mut(group).ok_or(not_made)?.push(*node as usize);
                self.refresh_groups();
            }
            _ => {}
        }
        Ok(())
    }

    fn refresh_groups(&mut self) {
        for (group, nodes) in &self.groups {
            let replicas = nodes
                .iter()
                .filter_map(|node| self.nodes.get(*node))
                .flat_map(|node| {
                    let instance = node.replication_id;
                    // A hash would choose among the ports of a group, but simple_switch passes none
                    // to its replication engine, which then takes the first port.
                    let first = |lag| self.lags.get(lag).and_then(|ports| ports.first());
                    let of_lags = node.lags.iter().filter_map(first);
                    node.ports
                        .iter()
                        .chain(of_lags)
                        .map(move |port| Replica { port: *port, instance })
                })
                .collect();
            self.switch.set_multicast_group(*group, replicas);
        }
    }

    fn profile(&mut self, kind: &StatementKind) -> Result<(), StfError> {
        let (StatementKind::MemberCreate { profile, .. }
        | StatementKind::SelectorGroupCreate { profile, .. }
        | StatementKind::GroupAdd { profile, .. }
        | StatementKind::GroupRemove { profile, .. }) = kind
        else {
            return Ok(());
        };
        let id = resolve::instance(self.switch.program(), "action profile", &PROFILES, profile)?;
        match kind {
            StatementKind::MemberCreate { member, action, .. } => {
                let table = self.table_of(id);
                let call = self.call(table, action)?;
                self.switch.add_member(id, *member, call)?;
            }
            StatementKind::SelectorGroupCreate { group, .. } => {
                self.switch.add_group(id, *group, Group::default())?;
            }
            StatementKind::GroupAdd { member, group, .. } => {
                let mut changed = self.group(id, *group)?;
                changed.members.push(GroupMember { member: *member, weight: 1, watch_port: None });
                self.switch.modify_group(id, *group, changed)?;
            }
            StatementKind::GroupRemove { member, group, .. } => {
                let mut changed = self.group(id, *group)?;
                changed.members.retain(|known| known.member != *member);
                self.switch.modify_group(id, *group, changed)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns a table that uses the given action profile. The table's actions are also those of
    /// the profile.
    fn table_of(&self, profile: ExternId) -> Option<TableId> {
        let uses = |implementation: &TableImplementation| {
            let (TableImplementation::ActionProfile(id) | TableImplementation::ActionSelector(id)) =
                implementation;
            *id == profile
        };
        let tables = &self.switch.program().tables;
        tables
            .iter()
            .position(|table| table.implementation.as_ref().is_some_and(uses))
            .map(|position| TableId(position as u32))
    }

    fn group(&self, selector: ExternId, group: u32) -> Result<Group, StfError> {
        let not_made = StfError::NotMade { kind: "group", name: group.to_string() };
        self.switch
            .groups(selector)?
            .find(|(id, _)| *id == group)
            .map(|(_, group)| group.clone())
            .ok_or(not_made)
    }
}

fn in_order(ports: Vec<u32>) -> Vec<u32> {
    // BMv2 keeps the ports of a node in a bitmap.
    ports.into_iter().collect::<BTreeSet<u32>>().into_iter().collect()
}
