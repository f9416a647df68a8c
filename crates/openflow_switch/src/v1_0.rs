//! The answers of an emulated switch in OpenFlow 1.0.

mod pipeline;

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use openflow::v1_0::{
    Action, AggregateStats, DescStats, FlowMod, FlowModCommand, FlowModFlags, FlowRemoved,
    FlowRemovedReason, FlowStats, FlowStatsRequest, Match, Message, PhyPort, PortFeatures, PortNo,
    PortState, PortStats, QueueGetConfigReply, StatsReplyBody, StatsRequestBody, TableStats,
    Wildcards,
};
use openflow::{ErrorReason, FixedText, Version, Xid};

use super::awaiting::Rule;
use super::flow_key::Condition;
use super::flow_table::{Compile, Expiry, FlowEntry, FlowTable, Hits, Searched};
use super::packet::Packet;
use super::port_counters::PortCounters;
use super::{
    DESCRIPTION, FlowTables, Received, SwitchOptions, hardware_address, port_name, refuse, sent,
};

type Entry = FlowEntry<Match, FlowModFlags, Vec<Action>>;

/// The key of a flow entry in OpenFlow 1.0: priority and match.
type Key = (u16, Match);

/// The state of a switch that is specific to OpenFlow 1.0.
#[derive(Debug)]
pub(super) struct Personality {
    pub(super) ports: PortCounters,
    flows: FlowTable<Key, Match, FlowModFlags, Vec<Action>>,
    /// The packet that is passing the table. Its memory is reused for every packet.
    packet: Packet,
    /// The ports whose links are down.
    pub(super) down: BTreeSet<u16>,
}

/// The number that is added to the priority of an entry without wildcards, so that it precedes all
/// others (OpenFlow 1.0.0, 3.4).
const EXACT: u32 = 1 << 16;

/// Returns the priority by which an entry is compared with others. Entries without wildcards
/// precede all others.
fn rank(priority: u16, rule: &Match) -> u32 {
    let is_exact = rule.wildcards.0 & Wildcards::ALL.0 == 0;
    u32::from(priority) + if is_exact { EXACT } else { 0 }
}

/// Computes the priority and the condition under which a lookup finds an entry of OpenFlow 1.0.
const COMPILE: Compile<Match> = |priority, rule| {
    Some(Searched { priority: rank(priority, rule), condition: Condition::v1_0(rule) })
};

/// Returns the rule that a controller's message adds or changes, in the form that is compared with
/// packets. Returns `None` if the message adds or changes no rule.
pub(super) fn rule_of(message: &Message) -> Option<Rule> {
    let Message::FlowMod(flow_mod) = message else { return None };
    let priority = match flow_mod.command {
        FlowModCommand::ADD | FlowModCommand::MODIFY_STRICT => {
            rank(flow_mod.priority, &flow_mod.match_fields)
        }
        // This command changes entries of any priority.
        FlowModCommand::MODIFY => u32::MAX,
        _ => return None,
    };
    Some(Rule { table: 0, priority, condition: Condition::v1_0(&flow_mod.match_fields) })
}

impl Personality {
    pub(super) fn new(options: &SwitchOptions) -> Self {
        let flows = match options.flow_tables {
            FlowTables::Bypass => FlowTable::new(options.table_size),
            FlowTables::Run => FlowTable::searchable(options.table_size, 1, COMPILE),
        };
        Self {
            ports: PortCounters::default(),
            flows,
            packet: Packet::default(),
            down: BTreeSet::new(),
        }
    }

    /// Returns the number of entries in all tables.
    pub(super) fn entries(&self) -> usize {
        self.flows.len()
    }

    /// Handles a message of OpenFlow 1.0.
    pub(super) fn receive(
        &mut self,
        options: &SwitchOptions,
        xid: Xid,
        message: &Message,
        request: &[u8],
        now: u64,
        out: &mut Vec<u8>,
    ) -> Received {
        match message {
            Message::BarrierRequest => reply(&Message::BarrierReply, xid, out),
            Message::FlowMod(flow_mod) => return self.flow_mod(xid, flow_mod, request, now, out),
            Message::StatsRequest(stats) => match self.stats(options, &stats.body, now) {
                Some(body) => {
                    for part in body.into_parts() {
                        reply(&Message::StatsReply(part), xid, out);
                    }
                }
                None => {
                    refuse(Version::V1_0, ErrorReason::BadRequestBadMultipart, xid, request, out)
                }
            },
            Message::QueueGetConfigRequest(queue) => {
                let answer = QueueGetConfigReply { port: queue.port, queues: Vec::new() };
                reply(&Message::QueueGetConfigReply(answer), xid, out);
            }
            Message::PacketOut(packet_out)
                if options.buffers == 0 && packet_out.buffer_id.is_buffered() =>
            {
                refuse(Version::V1_0, ErrorReason::BadRequestBufferUnknown, xid, request, out);
            }
            Message::PortMod(port_mod) if !(1..=options.ports).contains(&port_mod.port_no.0) => {
                refuse(Version::V1_0, ErrorReason::PortModBadPort, xid, request, out);
            }
            Message::Vendor { .. } => {
                refuse(Version::V1_0, ErrorReason::BadRequestBadExperimenter, xid, request, out);
            }
            // The handshake answers the first of these messages, packet-outs are counted elsewhere,
            // a change of a known port has no effect here, and only a switch sends the remaining
            // messages.
            Message::Hello(_)
            | Message::EchoRequest(_)
            | Message::EchoReply(_)
            | Message::FeaturesRequest
            | Message::GetConfigRequest
            | Message::SetConfig(_)
            | Message::Error(_)
            | Message::PacketOut(_)
            | Message::PortMod(_)
            | Message::FeaturesReply(_)
            | Message::GetConfigReply(_)
            | Message::PacketIn(_)
            | Message::FlowRemoved(_)
            | Message::PortStatus(_)
            | Message::StatsReply(_)
            | Message::BarrierReply
            | Message::QueueGetConfigReply(_) => {}
        }
        Received::Nothing
    }

    /// Adds, changes or removes flow entries.
    fn flow_mod(
        &mut self,
        xid: Xid,
        flow_mod: &FlowMod,
        request: &[u8],
        now: u64,
        out: &mut Vec<u8>,
    ) -> Received {
        let key = (flow_mod.priority, flow_mod.match_fields);
        let sends = |entry: &Entry| sends_to(&entry.instructions, flow_mod.out_port);
        let is_deletion =
            matches!(flow_mod.command, FlowModCommand::DELETE | FlowModCommand::DELETE_STRICT);
        let is_unknown = |action: &Action| matches!(action, Action::Other { .. });
        if !is_deletion && flow_mod.actions.iter().any(is_unknown) {
            refuse(Version::V1_0, ErrorReason::BadActionBadType, xid, request, out);
            return Received::refused();
        }
        match flow_mod.command {
            FlowModCommand::ADD => self.add(xid, flow_mod, request, now, out),
            FlowModCommand::MODIFY => {
                let covers = |_: &Key, entry: &Entry| covers(&flow_mod.match_fields, &entry.rule);
                match self.flows.modify(covers, &flow_mod.actions, false) {
                    // A modification that finds no entry adds one (OpenFlow 1.0.0, section 4.6).
                    0 => self.add(xid, flow_mod, request, now, out),
                    changed => Received::installed(changed),
                }
            }
            FlowModCommand::MODIFY_STRICT => {
                if self.flows.modify_exactly(&key, &flow_mod.actions, false) {
                    Received::installed(1)
                } else {
                    self.add(xid, flow_mod, request, now, out)
                }
            }
            FlowModCommand::DELETE => {
                let wanted = |_: &Key, entry: &Entry| {
                    covers(&flow_mod.match_fields, &entry.rule) && sends(entry)
                };
                let removed = self.flows.remove(wanted);
                tell_removed(&removed, FlowRemovedReason::DELETE, now, out);
                Received::removed(removed.len())
            }
            FlowModCommand::DELETE_STRICT => {
                let removed: Vec<_> = self.flows.remove_exactly(&key, sends).into_iter().collect();
                tell_removed(&removed, FlowRemovedReason::DELETE, now, out);
                Received::removed(removed.len())
            }
            _ => {
                refuse(Version::V1_0, ErrorReason::FlowModBadCommand, xid, request, out);
                Received::refused()
            }
        }
    }

    fn add(
        &mut self,
        xid: Xid,
        flow_mod: &FlowMod,
        request: &[u8],
        now: u64,
        out: &mut Vec<u8>,
    ) -> Received {
        if self.overlaps(flow_mod) {
            refuse(Version::V1_0, ErrorReason::FlowModOverlap, xid, request, out);
            return Received::refused();
        }
        let entry = Entry {
            table: 0,
            priority: flow_mod.priority,
            rule: flow_mod.match_fields,
            cookie: flow_mod.cookie,
            idle_timeout: flow_mod.idle_timeout,
            hard_timeout: flow_mod.hard_timeout,
            flags: flow_mod.flags,
            instructions: flow_mod.actions.clone(),
            installed_at: now,
            hits: Hits::default(),
        };
        match self.flows.add((flow_mod.priority, flow_mod.match_fields), entry) {
            Ok(()) => Received::installed(1),
            Err(_full) => {
                refuse(Version::V1_0, ErrorReason::FlowModTableFull, xid, request, out);
                Received::refused()
            }
        }
    }

    /// Returns whether some packet matches both a new entry and an existing one of equal priority,
    /// if the flow-mod requests this check.
    fn overlaps(&self, flow_mod: &FlowMod) -> bool {
        if !flow_mod.flags.contains(FlowModFlags::CHECK_OVERLAP) {
            return false;
        }
        let condition = Condition::v1_0(&flow_mod.match_fields);
        let overlaps = |entry: &Entry| {
            entry.priority == flow_mod.priority && Condition::v1_0(&entry.rule).overlaps(&condition)
        };
        self.flows.any(overlaps)
    }

    pub(super) fn expire(&mut self, now: u64, out: &mut Vec<u8>) {
        for (entry, expiry) in self.flows.expire(now) {
            let reason = match expiry {
                Expiry::Idle => FlowRemovedReason::IDLE_TIMEOUT,
                Expiry::Hard => FlowRemovedReason::HARD_TIMEOUT,
            };
            tell_removed(&[entry], reason, now, out);
        }
    }

    /// Answers a statistics request.
    fn stats(
        &self,
        options: &SwitchOptions,
        request: &StatsRequestBody,
        now: u64,
    ) -> Option<StatsReplyBody> {
        let wanted = |request: &FlowStatsRequest| {
            let request = *request;
            let any_table = [0, 0xfe, FlowStatsRequest::ALL_TABLES].contains(&request.table_id);
            move |entry: &Entry| {
                any_table
                    && covers(&request.match_fields, &entry.rule)
                    && sends_to(&entry.instructions, request.out_port)
            }
        };
        Some(match request {
            StatsRequestBody::Desc => StatsReplyBody::Desc(Box::new(DescStats {
                mfr_desc: FixedText::truncated(DESCRIPTION.manufacturer),
                hw_desc: FixedText::truncated(DESCRIPTION.hardware),
                sw_desc: FixedText::truncated(DESCRIPTION.software),
                serial_num: FixedText::truncated(DESCRIPTION.serial),
                dp_desc: FixedText::truncated(&options.datapath_id.to_string()),
            })),
            StatsRequestBody::Flow(request) => StatsReplyBody::Flow(
                self.flows
                    .select(wanted(request))
                    .into_iter()
                    .map(|e| flow_stats(e, now))
                    .collect(),
            ),
            StatsRequestBody::Aggregate(request) => {
                let entries = self.flows.select(wanted(request));
                StatsReplyBody::Aggregate(AggregateStats {
                    packet_count: entries.iter().map(|entry| entry.hits.packets).sum(),
                    byte_count: entries.iter().map(|entry| entry.hits.bytes).sum(),
                    flow_count: entries.len() as u32,
                })
            }
            StatsRequestBody::Table => StatsReplyBody::Table(vec![TableStats {
                table_id: 0,
                name: FixedText::truncated("table0"),
                wildcards: Wildcards::ALL,
                max_entries: options.table_size,
                active_count: self.flows.len() as u32,
                lookup_count: self.flows.lookups(0).searched,
                matched_count: self.flows.lookups(0).matched,
            }]),
            StatsRequestBody::Port(PortNo::NONE) => StatsReplyBody::Port(
                (1..=options.ports).map(|port| port_stats(&self.ports, PortNo(port))).collect(),
            ),
            StatsRequestBody::Port(port) => StatsReplyBody::Port(
                Some(*port)
                    .filter(|port| (1..=options.ports).contains(&port.0))
                    .map(|port| port_stats(&self.ports, port))
                    .into_iter()
                    .collect(),
            ),
            StatsRequestBody::Queue(_) => StatsReplyBody::Queue(Vec::new()),
            _ => return None,
        })
    }
}

pub(super) fn phy_port(options: &SwitchOptions, port: u16, down: &BTreeSet<u16>) -> PhyPort {
    let speed = PortFeatures::GB10_FULL | PortFeatures::COPPER;
    PhyPort {
        port_no: PortNo(port),
        hw_addr: hardware_address(options.datapath_id, port),
        name: FixedText::truncated(&port_name(options.datapath_id, port)),
        curr: speed,
        supported: speed,
        state: if down.contains(&port) { PortState::LINK_DOWN } else { PortState::default() },
        ..PhyPort::default()
    }
}

fn port_stats(counters: &PortCounters, port: PortNo) -> PortStats {
    let (received, sent) = counters.of(port.0.into());
    PortStats {
        port_no: port,
        rx_packets: received.packets,
        rx_bytes: received.bytes,
        tx_packets: sent.packets,
        tx_bytes: sent.bytes,
        ..PortStats::default()
    }
}

fn flow_stats(entry: &Entry, now: u64) -> FlowStats {
    let age = entry.age(now);
    FlowStats {
        table_id: entry.table,
        match_fields: entry.rule,
        duration_sec: u32::try_from(age.as_secs()).unwrap_or(u32::MAX),
        duration_nsec: age.subsec_nanos(),
        priority: entry.priority,
        idle_timeout: entry.idle_timeout,
        hard_timeout: entry.hard_timeout,
        cookie: entry.cookie,
        packet_count: entry.hits.packets,
        byte_count: entry.hits.bytes,
        actions: entry.instructions.clone(),
    }
}

fn tell_removed(entries: &[Entry], reason: FlowRemovedReason, now: u64, out: &mut Vec<u8>) {
    for entry in entries.iter().filter(|e| e.flags.contains(FlowModFlags::SEND_FLOW_REM)) {
        let age = entry.age(now);
        let removed = FlowRemoved {
            match_fields: entry.rule,
            cookie: entry.cookie,
            priority: entry.priority,
            reason,
            duration_sec: u32::try_from(age.as_secs()).unwrap_or(u32::MAX),
            duration_nsec: age.subsec_nanos(),
            idle_timeout: entry.idle_timeout,
            packet_count: entry.hits.packets,
            byte_count: entry.hits.bytes,
        };
        reply(&Message::FlowRemoved(removed), Xid(0), out);
    }
}

fn reply(message: &Message, xid: Xid, out: &mut Vec<u8>) {
    sent(message.encode(xid, out));
}

fn sends_to(actions: &[Action], port: PortNo) -> bool {
    port == PortNo::NONE
        || actions.iter().any(|action| match action {
            Action::Output { port: to, .. } | Action::Enqueue { port: to, .. } => *to == port,
            _ => false,
        })
}

/// Returns whether every packet that matches `narrow` also matches `wide`. A flow-mod without
/// "strict" applies to all entries whose match is covered in this sense by that of the flow-mod
/// (OpenFlow 1.0.0, 4.6).
fn covers(wide: &Match, narrow: &Match) -> bool {
    fn field<T: PartialEq>(wide: Option<T>, narrow: Option<T>) -> bool {
        wide.is_none() || wide == narrow
    }
    fn prefix(wide: Option<(Ipv4Addr, u32)>, narrow: Option<(Ipv4Addr, u32)>) -> bool {
        match (wide, narrow) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some((wide, length)), Some((narrow, narrow_length))) => {
                let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
                length <= narrow_length && (wide.to_bits() ^ narrow.to_bits()) & mask == 0
            }
        }
    }
    field(wide.in_port(), narrow.in_port())
        && field(wide.dl_src(), narrow.dl_src())
        && field(wide.dl_dst(), narrow.dl_dst())
        && field(wide.dl_vlan(), narrow.dl_vlan())
        && field(wide.dl_vlan_pcp(), narrow.dl_vlan_pcp())
        && field(wide.dl_type(), narrow.dl_type())
        && field(wide.nw_tos(), narrow.nw_tos())
        && field(wide.nw_proto(), narrow.nw_proto())
        && prefix(wide.nw_src(), narrow.nw_src())
        && prefix(wide.nw_dst(), narrow.nw_dst())
        && field(wide.tp_src(), narrow.tp_src())
        && field(wide.tp_dst(), narrow.tp_dst())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_match_covers_a_narrow_one_but_not_the_reverse() {
        let net = Match::any().with_dl_type(0x0800).with_nw_dst(Ipv4Addr::new(10, 1, 0, 0), 16);
        let host = net.with_nw_dst(Ipv4Addr::new(10, 1, 2, 3), 32).with_in_port(PortNo(3));
        assert!(covers(&Match::any(), &net) && covers(&net, &host));
        assert!(!covers(&host, &net) && !covers(&net, &Match::any()));
        let other = net.with_nw_dst(Ipv4Addr::new(10, 2, 2, 3), 32);
        assert!(!covers(&net, &other));
    }
}
