//! The answers to multipart requests, such as requests for statistics.

use std::time::Duration;

use openflow::v1_3::{
    AggregateStats, FlowStats, FlowStatsRequest, GroupCapabilities, GroupFeatures, Message,
    MeterFeatures, MultipartReply, MultipartReplyBody, MultipartRequestBody, Port, PortFeatures,
    PortState, PortStats, SwitchDesc, TableId, TableStats,
};
use openflow::{ErrorReason, FixedText, PortNumber, Xid};

use super::super::{DESCRIPTION, hardware_address, port_name, sent};
use super::{
    Entry, Personality, SwitchOptions, TABLES, features, known_port, reply, sends_to, uses_meter,
};

/// Appends the answer to a multipart request, divided into parts if it is too long for one message.
pub(super) fn send(body: MultipartReplyBody, xid: Xid, out: &mut Vec<u8>) {
    match MultipartReply::split(body) {
        Ok(parts) => {
            for part in parts {
                reply(&Message::MultipartReply(part), xid, out);
            }
        }
        Err(error) => sent(Err(error)),
    }
}

impl Personality {
    pub(super) fn statistics(
        &self,
        options: &SwitchOptions,
        request: MultipartRequestBody,
        now: u64,
    ) -> Result<MultipartReplyBody, ErrorReason> {
        use MultipartReplyBody as Reply;
        use MultipartRequestBody as Request;
        let ports = || (1..=u32::from(options.ports)).map(PortNumber);
        Ok(match request {
            Request::Desc => Reply::Desc(Box::new(description(options))),
            Request::Flow(request) => {
                Reply::Flow(self.select(&request).into_iter().map(|e| flow_stats(e, now)).collect())
            }
            Request::Aggregate(request) => {
                let entries = self.select(&request);
                Reply::Aggregate(AggregateStats {
                    packet_count: entries.iter().map(|entry| entry.hits.packets).sum(),
                    byte_count: entries.iter().map(|entry| entry.hits.bytes).sum(),
                    flow_count: entries.len() as u32,
                })
            }
            Request::Table => Reply::Table(self.table_stats()),
            Request::PortStats(PortNumber::ANY) => {
                Reply::PortStats(ports().map(|port| self.port_stats(port, now)).collect())
            }
            Request::PortStats(port) => {
                known_port(options, port, ErrorReason::BadRequestBadPort)?;
                Reply::PortStats(vec![self.port_stats(port, now)])
            }
            Request::Queue(_) => Reply::Queue(Vec::new()),
            Request::Group(group) => Reply::Group(self.groups.statistics(group, now)),
            Request::GroupDesc => Reply::GroupDesc(self.groups.descriptions()),
            Request::GroupFeatures => Reply::GroupFeatures(GroupFeatures {
                types: 0b1111,
                capabilities: GroupCapabilities::SELECT_WEIGHT
                    | GroupCapabilities::SELECT_LIVENESS
                    | GroupCapabilities::CHAINING,
                max_groups: [options.table_size; 4],
                // The bits stand for output, push and pop, set-queue, group, set-field and so on.
                actions: [0x0fff_9801; 4],
            }),
            Request::Meter(meter) => {
                let flows =
                    |meter| self.flows.select(|entry| uses_meter(entry, meter)).len() as u32;
                Reply::Meter(self.meters.statistics(meter, now, flows)?)
            }
            Request::MeterConfig(meter) => Reply::MeterConfig(self.meters.configurations(meter)?),
            Request::MeterFeatures => Reply::MeterFeatures(MeterFeatures {
                max_meter: options.table_size,
                // Bits 1 and 2 stand for drop and DSCP remark.
                band_types: 0b110,
                // The bits stand for kb/s, packets/s, burst, and statistics.
                capabilities: 0b1111,
                max_bands: 8,
                max_color: 0,
            }),
            Request::TableFeatures(wanted) if wanted.is_empty() => {
                Reply::TableFeatures(features::tables(options.table_size))
            }
            Request::TableFeatures(_) => return Err(ErrorReason::TableFeaturesEperm),
            Request::PortDesc => {
                Reply::PortDesc(ports().map(|port| self.describe_port(options, port)).collect())
            }
            Request::Experimenter(_) => return Err(ErrorReason::BadRequestBadExperimenter),
            Request::Unknown { .. } => return Err(ErrorReason::BadRequestBadMultipart),
        })
    }

    pub(in super::super) fn describe_port(
        &self,
        options: &SwitchOptions,
        port: PortNumber,
    ) -> Port {
        let mut described = describe_port(options, port);
        if u16::try_from(port.0).is_ok_and(|port| self.down.contains(&port)) {
            described.state = PortState::LINK_DOWN;
        }
        described
    }

    fn select(&self, request: &FlowStatsRequest) -> Vec<&Entry> {
        self.flows.select(|entry| {
            (request.table_id == TableId::ALL || request.table_id.0 == entry.table)
                && entry.cookie & request.cookie_mask == request.cookie & request.cookie_mask
                && sends_to(&entry.instructions, request.out_port, request.out_group)
                && request.match_fields.covers(&entry.rule)
        })
    }

    fn port_stats(&self, port: PortNumber, now: u64) -> PortStats {
        let (received, sent) = self.ports.of(port.0);
        let alive = Duration::from_nanos(now);
        PortStats {
            rx_packets: received.packets,
            rx_bytes: received.bytes,
            tx_packets: sent.packets,
            tx_bytes: sent.bytes,
            duration_sec: u32::try_from(alive.as_secs()).unwrap_or(u32::MAX),
            duration_nsec: alive.subsec_nanos(),
            ..PortStats::zero(port)
        }
    }

    fn table_stats(&self) -> Vec<TableStats> {
        let mut active = [0; TABLES as usize];
        for entry in self.flows.select(|_| true) {
            if let Some(count) = active.get_mut(usize::from(entry.table)) {
                *count += 1;
            }
        }
        (0..TABLES)
            .zip(active)
            .map(|(table, active_count)| TableStats {
                table_id: TableId(table),
                active_count,
                lookup_count: self.flows.lookups(table).searched,
                matched_count: self.flows.lookups(table).matched,
            })
            .collect()
    }
}

fn description(options: &SwitchOptions) -> SwitchDesc {
    SwitchDesc {
        mfr_desc: FixedText::truncated(DESCRIPTION.manufacturer),
        hw_desc: FixedText::truncated(DESCRIPTION.hardware),
        sw_desc: FixedText::truncated(DESCRIPTION.software),
        serial_num: FixedText::truncated(DESCRIPTION.serial),
        dp_desc: FixedText::truncated(&options.datapath_id.to_string()),
    }
}

fn describe_port(options: &SwitchOptions, port: PortNumber) -> Port {
    let number = port.0 as u16;
    let speed = PortFeatures::RATE_10GB_FD | PortFeatures::COPPER;
    Port {
        curr: speed,
        supported: speed,
        // The speeds are in kb/s.
        curr_speed: 10_000_000,
        max_speed: 10_000_000,
        ..Port::new(
            port,
            hardware_address(options.datapath_id, number),
            &port_name(options.datapath_id, number),
        )
    }
}

fn flow_stats(entry: &Entry, now: u64) -> FlowStats {
    let age = entry.age(now);
    FlowStats {
        table_id: TableId(entry.table),
        duration_sec: u32::try_from(age.as_secs()).unwrap_or(u32::MAX),
        duration_nsec: age.subsec_nanos(),
        priority: entry.priority,
        idle_timeout: entry.idle_timeout,
        hard_timeout: entry.hard_timeout,
        flags: entry.flags,
        cookie: entry.cookie,
        packet_count: entry.hits.packets,
        byte_count: entry.hits.bytes,
        match_fields: entry.rule.clone(),
        instructions: entry.instructions.clone(),
    }
}
