//! The answers of an emulated switch in OpenFlow 1.3.

mod checks;
mod features;
mod groups;
mod meters;
mod pipeline;
mod statistics;

use std::collections::BTreeSet;

use openflow::v1_3::{
    Action, AsyncConfig, ControllerRole, FlowMod, FlowModCommand, FlowModFlags, FlowRemoved,
    FlowRemovedReason, GroupId, Instruction, Match, MatchKey, Message, MeterId, RoleMessage,
    TableId,
};
use openflow::v1_3::{MultipartRequest, QueueGetConfigReply, RequestJoiner};
use openflow::{ErrorReason, PortNumber, Version, Xid};

use super::awaiting::Rule;
use super::flow_key::Condition;
use super::flow_table::{Compile, Expiry, FlowEntry, FlowTable, Hits, Searched};
use super::packet::Packet;
use super::port_counters::PortCounters;
use super::{FlowTables, Received, SwitchOptions, refuse, sent};
use groups::Groups;
use meters::Meters;

/// The number of tables of a switch.
pub(super) const TABLES: u8 = 64;

/// The maximum number of parts of a multipart request.
const REQUEST_PARTS: usize = 16;

pub(super) type Entry = FlowEntry<Match, FlowModFlags, Vec<Instruction>>;

/// The key of a flow entry in OpenFlow 1.3: table, priority and match.
type Key = (u8, u16, MatchKey);

/// The state of a switch that is specific to OpenFlow 1.3.
#[derive(Debug)]
pub(super) struct Personality {
    pub(super) ports: PortCounters,
    flows: FlowTable<Key, Match, FlowModFlags, Vec<Instruction>>,
    /// The packet that is passing the tables. Its memory is reused for every packet.
    packet: Packet,
    /// The table and the cookie of the table-miss entry that sends unmatched packets to the
    /// controller, or `None` if there is no such entry.
    table_miss: Option<(u8, u64)>,
    groups: Groups,
    meters: Meters,
    pub(super) session: Session,
    /// The ports whose links are down.
    pub(super) down: BTreeSet<u16>,
    /// The largest generation id that a controller has sent. Requests with smaller ids are stale
    /// (OpenFlow 1.3.5, 6.3.6).
    generation: Option<u64>,
}

/// The state of a switch that belongs to the connection with one controller.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) role: ControllerRole,
    pub(super) asynchronous: AsyncConfig,
    /// The parts of a multipart request that have arrived, as long as parts are missing.
    partial: RequestJoiner,
}

impl Default for Session {
    fn default() -> Self {
        Self {
            role: ControllerRole::EQUAL,
            asynchronous: AsyncConfig::default(),
            partial: RequestJoiner::new(REQUEST_PARTS),
        }
    }
}

/// Computes the priority and the condition under which a lookup finds an entry of OpenFlow 1.3.
const COMPILE: Compile<Match> = |priority, rule| {
    Some(Searched { priority: priority.into(), condition: Condition::v1_3(rule)? })
};

/// Returns the rule that a controller's message adds or changes, in the form that is compared with
/// packets. Returns `None` if the message adds or changes no rule.
pub(super) fn rule_of(message: &Message) -> Option<Rule> {
    let Message::FlowMod(flow_mod) = message else { return None };
    let priority = match flow_mod.command {
        FlowModCommand::ADD | FlowModCommand::MODIFY_STRICT => flow_mod.priority.into(),
        // This command changes entries of any priority.
        FlowModCommand::MODIFY => u32::MAX,
        _ => return None,
    };
    let condition = Condition::v1_3(&flow_mod.match_fields)?;
    Some(Rule { table: flow_mod.table_id.0, priority, condition })
}

impl Personality {
    pub(super) fn new(options: &SwitchOptions) -> Self {
        Self {
            ports: PortCounters::default(),
            flows: match options.flow_tables {
                FlowTables::Bypass => FlowTable::new(options.table_size),
                FlowTables::Run => FlowTable::searchable(options.table_size, TABLES, COMPILE),
            },
            packet: Packet::default(),
            table_miss: None,
            groups: Groups::default(),
            meters: Meters::default(),
            session: Session::default(),
            down: BTreeSet::new(),
            generation: None,
        }
    }

    /// Resets the state of a connection that has ended.
    pub(super) fn closed(&mut self) {
        self.session = Session::default();
    }

    /// Returns the number of entries in all tables.
    pub(super) fn entries(&self) -> usize {
        self.flows.len()
    }

    /// Handles a message of OpenFlow 1.3.
    pub(super) fn receive(
        &mut self,
        options: &SwitchOptions,
        xid: Xid,
        message: Message,
        request: &[u8],
        now: u64,
        out: &mut Vec<u8>,
    ) -> Received {
        let changes = matches!(
            message,
            Message::PacketOut(_)
                | Message::FlowMod(_)
                | Message::GroupMod(_)
                | Message::MeterMod(_)
                | Message::PortMod(_)
                | Message::TableMod(_)
        );
        if changes && self.session.role == ControllerRole::SLAVE {
            refuse(Version::V1_3, ErrorReason::BadRequestIsSlave, xid, request, out);
            return match message {
                Message::FlowMod(_) => Received::refused(),
                _ => Received::Nothing,
            };
        }
        let refused = match message {
            Message::FlowMod(flow_mod) => {
                let may_miss = flow_mod.priority == 0
                    || matches!(flow_mod.command, FlowModCommand::MODIFY | FlowModCommand::DELETE);
                let outcome = self.flow_mod(flow_mod, now, out);
                if may_miss {
                    self.find_table_miss();
                }
                return match outcome {
                    Ok(received) => received,
                    Err(reason) => {
                        refuse(Version::V1_3, reason, xid, request, out);
                        Received::refused()
                    }
                };
            }
            Message::GroupMod(group_mod) => self.groups.modify(group_mod, now).map(|removed| {
                if let Some(group) = removed {
                    self.remove_flows_of_group(group, now, out);
                    self.find_table_miss();
                }
            }),
            Message::MeterMod(meter_mod) => self.meters.modify(meter_mod, now).map(|removed| {
                if let Some(meter) = removed {
                    self.flows.remove(|_, entry| uses_meter(entry, meter));
                    self.find_table_miss();
                }
            }),
            Message::PortMod(port_mod) => {
                known_port(options, port_mod.port_no, ErrorReason::PortModBadPort)
            }
            Message::TableMod(table_mod) => match table_mod.table_id {
                TableId(table) if table < TABLES || TableId(table) == TableId::ALL => Ok(()),
                _ => Err(ErrorReason::TableModBadTable),
            },
            Message::MultipartRequest(part) => self.multipart(options, xid, part, now, out),
            Message::BarrierRequest => {
                reply(&Message::BarrierReply, xid, out);
                Ok(())
            }
            Message::QueueGetConfigRequest(port) => match port == PortNumber::ANY {
                true => Ok(()),
                false => known_port(options, port, ErrorReason::QueueOpBadPort),
            }
            .map(|()| {
                let answer = QueueGetConfigReply { port, queues: Vec::new() };
                reply(&Message::QueueGetConfigReply(answer), xid, out);
            }),
            Message::RoleRequest(role) => self.role_request(role).map(|answer| {
                reply(&Message::RoleReply(answer), xid, out);
            }),
            Message::GetAsyncRequest => {
                reply(&Message::GetAsyncReply(self.session.asynchronous), xid, out);
                Ok(())
            }
            Message::SetAsync(config) => {
                self.session.asynchronous = config;
                Ok(())
            }
            Message::PacketOut(packet_out)
                if options.buffers == 0 && packet_out.buffer_id.is_buffered() =>
            {
                Err(ErrorReason::BadRequestBufferUnknown)
            }
            Message::Experimenter(_) => Err(ErrorReason::BadRequestBadExperimenter),
            // The handshake answers the first of these messages, packet-outs are counted elsewhere,
            // and only a switch sends the remaining messages.
            Message::Hello(_)
            | Message::EchoRequest(_)
            | Message::EchoReply(_)
            | Message::FeaturesRequest
            | Message::GetConfigRequest
            | Message::SetConfig(_)
            | Message::Error(_)
            | Message::PacketOut(_)
            | Message::FeaturesReply(_)
            | Message::GetConfigReply(_)
            | Message::PacketIn(_)
            | Message::FlowRemoved(_)
            | Message::PortStatus(_)
            | Message::MultipartReply(_)
            | Message::BarrierReply
            | Message::QueueGetConfigReply(_)
            | Message::RoleReply(_)
            | Message::GetAsyncReply(_) => Ok(()),
        };
        match refused {
            Ok(()) => Received::Nothing,
            Err(reason) => {
                refuse(Version::V1_3, reason, xid, request, out);
                Received::Nothing
            }
        }
    }

    /// Adds, changes or removes flow entries.
    fn flow_mod(
        &mut self,
        flow_mod: FlowMod,
        now: u64,
        out: &mut Vec<u8>,
    ) -> Result<Received, ErrorReason> {
        let all_tables = flow_mod.table_id == TableId::ALL;
        let deletes =
            matches!(flow_mod.command, FlowModCommand::DELETE | FlowModCommand::DELETE_STRICT);
        if flow_mod.table_id.0 >= TABLES && !(deletes && all_tables) {
            return Err(ErrorReason::FlowModBadTableId);
        }
        checks::matching(&flow_mod.match_fields)?;
        if !deletes {
            checks::instructions(&flow_mod.instructions, flow_mod.table_id.0)?;
        }
        let resets = flow_mod.flags.contains(FlowModFlags::RESET_COUNTS);
        let wanted = |entry: &Entry| {
            (all_tables || entry.table == flow_mod.table_id.0)
                && entry.cookie & flow_mod.cookie_mask == flow_mod.cookie & flow_mod.cookie_mask
        };
        let sends = |entry: &Entry| {
            wanted(entry) && sends_to(&entry.instructions, flow_mod.out_port, flow_mod.out_group)
        };
        let key = || {
            let key = flow_mod.key();
            (key.table_id.0, key.priority, key.match_key)
        };
        Ok(match flow_mod.command {
            FlowModCommand::ADD => {
                self.check_groups(&flow_mod)?;
                self.check_overlap(&flow_mod)?;
                let key = key();
                self.add(key, flow_mod, now)?
            }
            FlowModCommand::MODIFY => {
                self.check_groups(&flow_mod)?;
                let covered = |_: &Key, entry: &Entry| {
                    wanted(entry) && flow_mod.match_fields.covers(&entry.rule)
                };
                Received::installed(self.flows.modify(covered, &flow_mod.instructions, resets))
            }
            FlowModCommand::MODIFY_STRICT => {
                self.check_groups(&flow_mod)?;
                let changed = self.flows.modify_exactly(&key(), &flow_mod.instructions, resets);
                Received::installed(usize::from(changed))
            }
            FlowModCommand::DELETE => {
                let covered = |_: &Key, entry: &Entry| {
                    sends(entry) && flow_mod.match_fields.covers(&entry.rule)
                };
                let removed = self.flows.remove(covered);
                tell_removed(&removed, FlowRemovedReason::DELETE, now, out);
                Received::removed(removed.len())
            }
            FlowModCommand::DELETE_STRICT => {
                let (_, priority, match_key) = key();
                let tables = match all_tables {
                    true => 0..TABLES,
                    false => flow_mod.table_id.0..flow_mod.table_id.0 + 1,
                };
                let removed: Vec<Entry> = tables
                    .filter_map(|table| {
                        let key = (table, priority, match_key.clone());
                        self.flows.remove_exactly(&key, sends)
                    })
                    .collect();
                tell_removed(&removed, FlowRemovedReason::DELETE, now, out);
                Received::removed(removed.len())
            }
            _ => return Err(ErrorReason::FlowModBadCommand),
        })
    }

    fn check_groups(&self, flow_mod: &FlowMod) -> Result<(), ErrorReason> {
        let unknown = actions(&flow_mod.instructions)
            .any(|action| matches!(action, Action::Group(group) if !self.groups.contains(*group)));
        if unknown { Err(ErrorReason::BadActionBadOutGroup) } else { Ok(()) }
    }

    /// Checks that no packet matches both a new entry and an existing one of equal priority, if the
    /// flow-mod requests this check.
    fn check_overlap(&self, flow_mod: &FlowMod) -> Result<(), ErrorReason> {
        if !flow_mod.flags.contains(FlowModFlags::CHECK_OVERLAP) {
            return Ok(());
        }
        let condition = Condition::v1_3(&flow_mod.match_fields);
        let overlaps = |entry: &Entry| {
            let other = Condition::v1_3(&entry.rule);
            (entry.table, entry.priority) == (flow_mod.table_id.0, flow_mod.priority)
                && condition.zip(other).is_some_and(|(one, other)| one.overlaps(&other))
        };
        if self.flows.any(overlaps) { Err(ErrorReason::FlowModOverlap) } else { Ok(()) }
    }

    fn add(&mut self, key: Key, flow_mod: FlowMod, now: u64) -> Result<Received, ErrorReason> {
        let resets = flow_mod.flags.contains(FlowModFlags::RESET_COUNTS);
        // The new entry inherits the counters of the entry that it replaces (OpenFlow 1.3.5, 6.4).
        let hits = match self.flows.get(&key) {
            Some(replaced) if !resets => replaced.hits,
            _ => Hits::default(),
        };
        let entry = Entry {
            table: flow_mod.table_id.0,
            priority: flow_mod.priority,
            rule: flow_mod.match_fields,
            cookie: flow_mod.cookie,
            idle_timeout: flow_mod.idle_timeout,
            hard_timeout: flow_mod.hard_timeout,
            flags: flow_mod.flags,
            instructions: flow_mod.instructions,
            installed_at: now,
            hits,
        };
        match self.flows.add(key, entry) {
            Ok(()) => Ok(Received::installed(1)),
            Err(_full) => Err(ErrorReason::FlowModTableFull),
        }
    }

    fn remove_flows_of_group(&mut self, group: GroupId, now: u64, out: &mut Vec<u8>) {
        let removed = self.flows.remove(|_, entry| {
            actions(&entry.instructions).any(|action| {
                matches!(action, Action::Group(of) if *of == group || group == GroupId::ALL)
            })
        });
        tell_removed(&removed, FlowRemovedReason::GROUP_DELETE, now, out);
    }

    fn role_request(&mut self, request: RoleMessage) -> Result<RoleMessage, ErrorReason> {
        match request.role {
            ControllerRole::NO_CHANGE => {}
            ControllerRole::EQUAL => self.session.role = request.role,
            ControllerRole::MASTER | ControllerRole::SLAVE => {
                // Generation ids wrap around, so the sign of their difference determines which one
                // is older.
                if let Some(known) = self.generation
                    && (request.generation_id.wrapping_sub(known) as i64) < 0
                {
                    return Err(ErrorReason::RoleRequestStale);
                }
                self.generation = Some(request.generation_id);
                self.session.role = request.role;
            }
            _ => return Err(ErrorReason::RoleRequestBadRole),
        }
        let generation_id = self.generation.unwrap_or(u64::MAX);
        Ok(RoleMessage { role: self.session.role, generation_id })
    }

    pub(super) fn expire(&mut self, now: u64, out: &mut Vec<u8>) {
        let expired = self.flows.expire(now);
        if !expired.is_empty() {
            self.find_table_miss();
        }
        for (entry, expiry) in expired {
            let reason = match expiry {
                Expiry::Idle => FlowRemovedReason::IDLE_TIMEOUT,
                Expiry::Hard => FlowRemovedReason::HARD_TIMEOUT,
            };
            tell_removed(&[entry], reason, now, out);
        }
    }

    /// Returns the table and the cookie that a packet-in for an unmatched packet reports (OpenFlow
    /// 1.3.5, 7.4.1): those of the table-miss entry. Returns `None` if no table-miss entry sends
    /// packets to the controller.
    pub(super) fn table_miss(&self) -> Option<(u8, u64)> {
        self.table_miss
    }

    /// Finds the table-miss entry that sends unmatched packets to the controller. The search begins
    /// in the first table and follows each table-miss entry (priority 0, no conditions; OpenFlow
    /// 1.3.5, 5.4) to the table to which it sends packets.
    fn find_table_miss(&mut self) {
        let any = Match::any().key();
        let mut table = 0;
        self.table_miss = None;
        while let Some(entry) = self.flows.get(&(table, 0, any.clone())) {
            if sends_to(&entry.instructions, PortNumber::CONTROLLER, GroupId::ANY) {
                self.table_miss = Some((table, entry.cookie));
                return;
            }
            let next = entry.instructions.iter().find_map(|instruction| match instruction {
                Instruction::GotoTable(next) => Some(next.0),
                _ => None,
            });
            match next {
                // A packet can only continue in a later table.
                Some(next) if next > table => table = next,
                _ => return,
            }
        }
    }

    fn multipart(
        &mut self,
        options: &SwitchOptions,
        xid: Xid,
        part: MultipartRequest,
        now: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), ErrorReason> {
        let joined = self.session.partial.push(part);
        let Some(request) = joined.map_err(|_| ErrorReason::BadRequestMultipartBufferOverflow)?
        else {
            return Ok(());
        };
        let body = self.statistics(options, request, now)?;
        statistics::send(body, xid, out);
        Ok(())
    }
}

fn known_port(
    options: &SwitchOptions,
    port: PortNumber,
    unknown: ErrorReason,
) -> Result<(), ErrorReason> {
    if (1..=u32::from(options.ports)).contains(&port.0) { Ok(()) } else { Err(unknown) }
}

fn tell_removed(entries: &[Entry], reason: FlowRemovedReason, now: u64, out: &mut Vec<u8>) {
    for entry in entries.iter().filter(|e| e.flags.contains(FlowModFlags::SEND_FLOW_REM)) {
        let age = entry.age(now);
        let removed = FlowRemoved {
            cookie: entry.cookie,
            priority: entry.priority,
            reason,
            table_id: TableId(entry.table),
            duration_sec: u32::try_from(age.as_secs()).unwrap_or(u32::MAX),
            duration_nsec: age.subsec_nanos(),
            idle_timeout: entry.idle_timeout,
            hard_timeout: entry.hard_timeout,
            packet_count: entry.hits.packets,
            byte_count: entry.hits.bytes,
            match_fields: entry.rule.clone(),
        };
        reply(&Message::FlowRemoved(removed), Xid(0), out);
    }
}

fn reply(message: &Message, xid: Xid, out: &mut Vec<u8>) {
    sent(message.encode(xid, out));
}

fn actions(instructions: &[Instruction]) -> impl Iterator<Item = &Action> {
    instructions.iter().flat_map(|instruction| match instruction {
        Instruction::WriteActions(actions) | Instruction::ApplyActions(actions) => {
            actions.as_slice()
        }
        _ => &[],
    })
}

fn sends_to(instructions: &[Instruction], port: PortNumber, group: GroupId) -> bool {
    let to_port =
        |action: &Action| matches!(action, Action::Output { port: to, .. } if *to == port);
    let to_group = |action: &Action| matches!(action, Action::Group(to) if *to == group);
    (port == PortNumber::ANY || actions(instructions).any(to_port))
        && (group == GroupId::ANY || actions(instructions).any(to_group))
}

fn uses_meter(entry: &Entry, meter: MeterId) -> bool {
    entry.instructions.iter().any(|instruction| {
        matches!(instruction, Instruction::Meter(of) if *of == meter || meter == MeterId::ALL)
    })
}
