//! Strategies for every encodable message of OpenFlow 1.0, for property tests.

use std::net::Ipv4Addr;

use openflow::v1_0::*;
use openflow::{BufferId, DatapathId, FixedText, MacAddress};
use proptest::collection::vec;
use proptest::prelude::*;

fn mac() -> impl Strategy<Value = MacAddress> {
    any::<[u8; 6]>().prop_map(MacAddress)
}

fn address() -> impl Strategy<Value = Ipv4Addr> {
    any::<[u8; 4]>().prop_map(Ipv4Addr::from)
}

fn port_no() -> impl Strategy<Value = PortNo> {
    prop_oneof![any::<u16>(), 0xfff0..=0xffff_u16].prop_map(PortNo)
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..80)
}

fn text<const N: usize>() -> impl Strategy<Value = FixedText<N>> {
    vec(any::<u8>(), N).prop_map(|bytes| {
        let mut text = FixedText::default();
        text.0.copy_from_slice(&bytes);
        text
    })
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    vec(action(), 0..6)
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        (port_no(), any::<u16>()).prop_map(|(port, max_len)| Action::Output { port, max_len }),
        any::<u16>().prop_map(Action::SetVlanVid),
        any::<u8>().prop_map(Action::SetVlanPcp),
        Just(Action::StripVlan),
        mac().prop_map(Action::SetDlSrc),
        mac().prop_map(Action::SetDlDst),
        address().prop_map(Action::SetNwSrc),
        address().prop_map(Action::SetNwDst),
        any::<u8>().prop_map(Action::SetNwTos),
        any::<u16>().prop_map(Action::SetTpSrc),
        any::<u16>().prop_map(Action::SetTpDst),
        (port_no(), any::<u32>()).prop_map(|(port, queue_id)| Action::Enqueue { port, queue_id }),
        (any::<u32>(), vec(any::<[u8; 8]>(), 0..4))
            .prop_map(|(vendor, body)| Action::Vendor { vendor, body: body.concat() }),
        (12..0xffff_u16, any::<[u8; 4]>(), vec(any::<[u8; 8]>(), 0..4)).prop_map(
            |(kind, first, rest)| Action::Other {
                kind,
                body: [&first[..], &rest.concat()].concat()
            }
        ),
    ]
}

fn match_fields() -> impl Strategy<Value = Match> {
    let link = (any::<u32>(), port_no(), mac(), mac(), any::<u16>(), any::<u8>(), any::<u16>());
    let network = (any::<u8>(), any::<u8>(), address(), address(), any::<u16>(), any::<u16>());
    (link, network).prop_map(|(link, network)| {
        let (wildcards, in_port, dl_src, dl_dst, dl_vlan, dl_vlan_pcp, dl_type) = link;
        let (nw_tos, nw_proto, nw_src, nw_dst, tp_src, tp_dst) = network;
        Match {
            wildcards: Wildcards(wildcards),
            in_port,
            dl_src,
            dl_dst,
            dl_vlan,
            dl_vlan_pcp,
            dl_type,
            nw_tos,
            nw_proto,
            nw_src,
            nw_dst,
            tp_src,
            tp_dst,
        }
    })
}

fn phy_port() -> impl Strategy<Value = PhyPort> {
    (port_no(), mac(), text(), any::<[u32; 6]>()).prop_map(|(port_no, hw_addr, name, words)| {
        let [config, state, curr, advertised, supported, peer] = words;
        PhyPort {
            port_no,
            hw_addr,
            name,
            config: PortConfig(config),
            state: PortState(state),
            curr: PortFeatures(curr),
            advertised: PortFeatures(advertised),
            supported: PortFeatures(supported),
            peer: PortFeatures(peer),
        }
    })
}

fn features_reply() -> impl Strategy<Value = FeaturesReply> {
    (any::<u64>(), any::<[u32; 3]>(), any::<u8>(), vec(phy_port(), 0..5)).prop_map(
        |(datapath_id, [n_buffers, capabilities, actions], n_tables, ports)| FeaturesReply {
            datapath_id: DatapathId(datapath_id),
            n_buffers,
            n_tables,
            capabilities: Capabilities(capabilities),
            actions: ActionTypes(actions),
            ports,
        },
    )
}

fn switch_config() -> impl Strategy<Value = SwitchConfig> {
    any::<(u16, u16)>().prop_map(|(flags, miss_send_len)| SwitchConfig {
        flags: FragmentHandling(flags),
        miss_send_len,
    })
}

fn packet_in() -> impl Strategy<Value = PacketIn> {
    (any::<u32>(), any::<u16>(), port_no(), any::<u8>(), bytes()).prop_map(
        |(buffer_id, total_len, in_port, reason, data)| PacketIn {
            buffer_id: BufferId(buffer_id),
            total_len,
            in_port,
            reason: PacketInReason(reason),
            data,
        },
    )
}

fn packet_out() -> impl Strategy<Value = PacketOut> {
    (any::<u32>(), port_no(), actions(), bytes()).prop_map(|(buffer_id, in_port, actions, data)| {
        PacketOut { buffer_id: BufferId(buffer_id), in_port, actions, data }
    })
}

fn flow_removed() -> impl Strategy<Value = FlowRemoved> {
    (match_fields(), any::<[u64; 3]>(), any::<[u32; 2]>(), any::<[u16; 2]>(), any::<u8>()).prop_map(
        |(match_fields, wide, durations, [priority, idle_timeout], reason)| FlowRemoved {
            match_fields,
            cookie: wide[0],
            priority,
            reason: FlowRemovedReason(reason),
            duration_sec: durations[0],
            duration_nsec: durations[1],
            idle_timeout,
            packet_count: wide[1],
            byte_count: wide[2],
        },
    )
}

fn flow_mod() -> impl Strategy<Value = FlowMod> {
    (match_fields(), any::<u64>(), any::<[u16; 5]>(), any::<u32>(), port_no(), actions()).prop_map(
        |(match_fields, cookie, fields, buffer_id, out_port, actions)| {
            let [command, idle_timeout, hard_timeout, priority, flags] = fields;
            FlowMod {
                match_fields,
                cookie,
                command: FlowModCommand(command),
                idle_timeout,
                hard_timeout,
                priority,
                buffer_id: BufferId(buffer_id),
                out_port,
                flags: FlowModFlags(flags),
                actions,
            }
        },
    )
}

fn port_mod() -> impl Strategy<Value = PortMod> {
    (port_no(), mac(), any::<[u32; 3]>()).prop_map(
        |(port_no, hw_addr, [config, mask, advertise])| PortMod {
            port_no,
            hw_addr,
            config: PortConfig(config),
            mask: PortConfig(mask),
            advertise: PortFeatures(advertise),
        },
    )
}

fn flow_stats_request() -> impl Strategy<Value = FlowStatsRequest> {
    (match_fields(), any::<u8>(), port_no()).prop_map(|(match_fields, table_id, out_port)| {
        FlowStatsRequest { match_fields, table_id, out_port }
    })
}

fn stats_request() -> impl Strategy<Value = StatsRequest> {
    let body = prop_oneof![
        Just(StatsRequestBody::Desc),
        flow_stats_request().prop_map(StatsRequestBody::Flow),
        flow_stats_request().prop_map(StatsRequestBody::Aggregate),
        Just(StatsRequestBody::Table),
        port_no().prop_map(StatsRequestBody::Port),
        (port_no(), any::<u32>()).prop_map(|(port_no, queue_id)| {
            StatsRequestBody::Queue(QueueStatsRequest { port_no, queue_id })
        }),
        (any::<u32>(), bytes())
            .prop_map(|(vendor, body)| StatsRequestBody::Vendor(Vendor { vendor, body })),
        (6..0xffff_u16, bytes())
            .prop_map(|(kind, data)| StatsRequestBody::Other { kind: StatsType(kind), data }),
    ];
    (any::<u16>(), body).prop_map(|(flags, body)| StatsRequest { flags, body })
}

fn desc_stats() -> impl Strategy<Value = DescStats> {
    (text(), text(), text(), text(), text()).prop_map(
        |(mfr_desc, hw_desc, sw_desc, serial_num, dp_desc)| DescStats {
            mfr_desc,
            hw_desc,
            sw_desc,
            serial_num,
            dp_desc,
        },
    )
}

fn flow_stats() -> impl Strategy<Value = FlowStats> {
    (
        any::<u8>(),
        match_fields(),
        any::<[u32; 2]>(),
        any::<[u16; 3]>(),
        any::<[u64; 3]>(),
        actions(),
    )
        .prop_map(|(table_id, match_fields, durations, fields, wide, actions)| FlowStats {
            table_id,
            match_fields,
            duration_sec: durations[0],
            duration_nsec: durations[1],
            priority: fields[0],
            idle_timeout: fields[1],
            hard_timeout: fields[2],
            cookie: wide[0],
            packet_count: wide[1],
            byte_count: wide[2],
            actions,
        })
}

fn table_stats() -> impl Strategy<Value = TableStats> {
    (any::<u8>(), text(), any::<[u32; 3]>(), any::<[u64; 2]>()).prop_map(
        |(
            table_id,
            name,
            [wildcards, max_entries, active_count],
            [lookup_count, matched_count],
        )| {
            TableStats {
                table_id,
                name,
                wildcards: Wildcards(wildcards),
                max_entries,
                active_count,
                lookup_count,
                matched_count,
            }
        },
    )
}

fn port_stats() -> impl Strategy<Value = PortStats> {
    (port_no(), any::<[u64; 12]>()).prop_map(|(port_no, counters)| {
        let [rx_packets, tx_packets, rx_bytes, tx_bytes, rx_dropped, tx_dropped, ..] = counters;
        let [.., rx_errors, tx_errors, rx_frame_err, rx_over_err, rx_crc_err, collisions] =
            counters;
        PortStats {
            port_no,
            rx_packets,
            tx_packets,
            rx_bytes,
            tx_bytes,
            rx_dropped,
            tx_dropped,
            rx_errors,
            tx_errors,
            rx_frame_err,
            rx_over_err,
            rx_crc_err,
            collisions,
        }
    })
}

fn queue_stats() -> impl Strategy<Value = QueueStats> {
    (port_no(), any::<u32>(), any::<[u64; 3]>()).prop_map(
        |(port_no, queue_id, [tx_bytes, tx_packets, tx_errors])| QueueStats {
            port_no,
            queue_id,
            tx_bytes,
            tx_packets,
            tx_errors,
        },
    )
}

fn stats_reply() -> impl Strategy<Value = StatsReply> {
    let body = prop_oneof![
        desc_stats().prop_map(|desc| StatsReplyBody::Desc(Box::new(desc))),
        vec(flow_stats(), 0..4).prop_map(StatsReplyBody::Flow),
        any::<(u64, u64, u32)>().prop_map(|(packet_count, byte_count, flow_count)| {
            StatsReplyBody::Aggregate(AggregateStats { packet_count, byte_count, flow_count })
        }),
        vec(table_stats(), 0..4).prop_map(StatsReplyBody::Table),
        vec(port_stats(), 0..4).prop_map(StatsReplyBody::Port),
        vec(queue_stats(), 0..4).prop_map(StatsReplyBody::Queue),
        (any::<u32>(), bytes())
            .prop_map(|(vendor, body)| StatsReplyBody::Vendor(Vendor { vendor, body })),
        (6..0xffff_u16, bytes())
            .prop_map(|(kind, data)| StatsReplyBody::Other { kind: StatsType(kind), data }),
    ];
    (any::<u16>(), body)
        .prop_map(|(flags, body)| StatsReply { flags: StatsReplyFlags(flags), body })
}

fn queue_get_config_reply() -> impl Strategy<Value = QueueGetConfigReply> {
    let property = prop_oneof![
        any::<u16>().prop_map(QueueProperty::MinRate),
        (prop_oneof![Just(0), 2..=u16::MAX], bytes())
            .prop_map(|(kind, body)| QueueProperty::Other { kind, body }),
    ];
    let queue = (any::<u32>(), vec(property, 0..4))
        .prop_map(|(queue_id, properties)| PacketQueue { queue_id, properties });
    (port_no(), vec(queue, 0..4)).prop_map(|(port, queues)| QueueGetConfigReply { port, queues })
}

/// Returns a strategy for any message, with all types equally likely.
pub(crate) fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        bytes().prop_map(Message::Hello),
        (any::<u16>(), any::<u16>(), bytes()).prop_map(|(error_type, code, data)| {
            Message::Error(ErrorMessage { error_type, code, data })
        }),
        bytes().prop_map(Message::EchoRequest),
        bytes().prop_map(Message::EchoReply),
        (any::<u32>(), bytes()).prop_map(|(vendor, body)| Message::Vendor(Vendor { vendor, body })),
        Just(Message::FeaturesRequest),
        features_reply().prop_map(Message::FeaturesReply),
        Just(Message::GetConfigRequest),
        switch_config().prop_map(Message::GetConfigReply),
        switch_config().prop_map(Message::SetConfig),
        packet_in().prop_map(Message::PacketIn),
        flow_removed().prop_map(Message::FlowRemoved),
        (any::<u8>(), phy_port()).prop_map(|(reason, desc)| {
            Message::PortStatus(PortStatus { reason: PortReason(reason), desc })
        }),
        packet_out().prop_map(Message::PacketOut),
        flow_mod().prop_map(Message::FlowMod),
        port_mod().prop_map(Message::PortMod),
        stats_request().prop_map(Message::StatsRequest),
        stats_reply().prop_map(Message::StatsReply),
        Just(Message::BarrierRequest),
        Just(Message::BarrierReply),
        port_no().prop_map(|port| Message::QueueGetConfigRequest(QueueGetConfigRequest { port })),
        queue_get_config_reply().prop_map(Message::QueueGetConfigReply),
    ]
}
