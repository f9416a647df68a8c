//! Random messages for property tests: every value is derived from a string of bytes.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::v1_3::*;
use crate::{BufferId, DatapathId, FixedText, MacAddress, PortNumber};

/// The bytes from which samples are derived. Zeros follow when the bytes are exhausted.
pub(super) struct Source<'a> {
    bytes: &'a [u8],
}

impl<'a> Source<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        let taken = N.min(self.bytes.len());
        let (front, rest) = self.bytes.split_at(taken);
        array[..taken].copy_from_slice(front);
        self.bytes = rest;
        array
    }

    /// Returns a number below `end`.
    fn below(&mut self, end: u8) -> u8 {
        self.array::<1>()[0] % end
    }

    /// Returns up to three blocks of `multiple` bytes, and `extra` more bytes.
    fn data(&mut self, multiple: usize, extra: usize) -> Vec<u8> {
        let count = usize::from(self.below(4)) * multiple + extra;
        (0..count).map(|_| self.array::<1>()[0]).collect()
    }
}

/// A type whose random values can be derived from bytes.
pub(super) trait Sample: Sized {
    fn sample(source: &mut Source<'_>) -> Self;
}

fn draw<T: Sample>(source: &mut Source<'_>) -> T {
    T::sample(source)
}

macro_rules! sample_integers {
    ($($integer:ty),*) => {
        $( impl Sample for $integer {
            fn sample(source: &mut Source<'_>) -> Self {
                Self::from_be_bytes(source.array())
            }
        } )*
    };
}

/// Implements `Sample` for newtypes over a number.
macro_rules! sample_newtypes {
    ($($newtype:ident),* $(,)?) => {
        $( impl Sample for $newtype {
            fn sample(source: &mut Source<'_>) -> Self {
                Self(draw(source))
            }
        } )*
    };
}

macro_rules! sample_structs {
    ($( $name:ident { $($field:ident),* $(,)? } )*) => {
        $( impl Sample for $name {
            fn sample(source: &mut Source<'_>) -> Self {
                Self { $( $field: draw(source) ),* }
            }
        } )*
    };
}

sample_integers!(u8, u16, u32, u64);

sample_newtypes!(
    BufferId,
    Capabilities,
    ConfigFlags,
    ControllerRole,
    DatapathId,
    FlowModCommand,
    FlowModFlags,
    FlowRemovedReason,
    GroupCapabilities,
    GroupId,
    GroupModCommand,
    GroupType,
    Ipv6ExtensionHeaders,
    MaxLen,
    MeterFlags,
    MeterId,
    MeterModCommand,
    MultipartFlags,
    PacketInReason,
    PortConfig,
    PortFeatures,
    PortNumber,
    PortReason,
    PortState,
    QueueId,
    TableId,
    VlanVid,
);

sample_structs! {
    AggregateStats { packet_count, byte_count, flow_count }
    AsyncConfig { packet_in, port_status, flow_removed }
    AsyncMasks { master, slave }
    Bucket { weight, watch_port, watch_group, actions }
    BucketCounter { packet_count, byte_count }
    Experimenter { experimenter, exp_type, data }
    ExperimenterProperty { experimenter, exp_type, data }
    FeatureId { kind, experimenter }
    FlowMod {
        cookie, cookie_mask, table_id, command, idle_timeout, hard_timeout, priority, buffer_id,
        out_port, out_group, flags, match_fields, instructions,
    }
    FlowRemoved {
        cookie, priority, reason, table_id, duration_sec, duration_nsec, idle_timeout,
        hard_timeout, packet_count, byte_count, match_fields,
    }
    FlowStats {
        table_id, duration_sec, duration_nsec, priority, idle_timeout, hard_timeout, flags, cookie,
        packet_count, byte_count, match_fields, instructions,
    }
    FlowStatsRequest { table_id, out_port, out_group, cookie, cookie_mask, match_fields }
    GroupDesc { group_type, group_id, buckets }
    GroupFeatures { types, capabilities, max_groups, actions }
    GroupMod { command, group_type, group_id, buckets }
    GroupStats {
        group_id, ref_count, packet_count, byte_count, duration_sec, duration_nsec, buckets,
    }
    Hello { elements }
    Match { fields }
    MeterBand { rate, burst_size, kind }
    MeterBandStats { packet_band_count, byte_band_count }
    MeterConfig { flags, meter_id, bands }
    MeterFeatures { max_meter, band_types, capabilities, max_bands, max_color }
    MeterMod { command, flags, meter_id, bands }
    MeterStats {
        meter_id, flow_count, packet_in_count, byte_in_count, duration_sec, duration_nsec, bands,
    }
    MultipartExperimenter { experimenter, exp_type, data }
    MultipartReply { flags, body }
    MultipartRequest { flags, body }
    PacketIn { buffer_id, total_len, reason, table_id, cookie, match_fields, data }
    PacketOut { buffer_id, in_port, actions, data }
    PacketQueue { queue_id, port, properties }
    Port {
        port_no, hw_addr, name, config, state, curr, advertised, supported, peer, curr_speed,
        max_speed,
    }
    PortMod { port_no, hw_addr, config, mask, advertise }
    PortStats {
        port_no, rx_packets, tx_packets, rx_bytes, tx_bytes, rx_dropped, tx_dropped, rx_errors,
        tx_errors, rx_frame_err, rx_over_err, rx_crc_err, collisions, duration_sec, duration_nsec,
    }
    PortStatus { reason, desc }
    QueueGetConfigReply { port, queues }
    QueueStats {
        port_no, queue_id, tx_bytes, tx_packets, tx_errors, duration_sec, duration_nsec,
    }
    QueueStatsRequest { port_no, queue_id }
    RoleMessage { role, generation_id }
    SwitchConfig { flags, miss_send_len }
    SwitchDesc { mfr_desc, hw_desc, sw_desc, serial_num, dp_desc }
    SwitchFeatures { datapath_id, n_buffers, n_tables, auxiliary_id, capabilities, reserved }
    TableFeatures {
        table_id, name, metadata_match, metadata_write, config, max_entries, properties,
    }
    TableMod { table_id, config }
    TableStats { table_id, active_count, lookup_count, matched_count }
}

impl<T: Sample> Sample for Vec<T> {
    fn sample(source: &mut Source<'_>) -> Self {
        (0..source.below(4)).map(|_| draw(source)).collect()
    }
}

impl<T: Sample> Sample for Box<T> {
    fn sample(source: &mut Source<'_>) -> Self {
        Self::new(draw(source))
    }
}

impl<T: Sample> Sample for Option<T> {
    fn sample(source: &mut Source<'_>) -> Self {
        (source.below(2) == 1).then(|| draw(source))
    }
}

impl<const N: usize> Sample for [u32; N] {
    fn sample(source: &mut Source<'_>) -> Self {
        std::array::from_fn(|_| draw(source))
    }
}

impl<const N: usize> Sample for FixedText<N> {
    fn sample(source: &mut Source<'_>) -> Self {
        // Long texts would exhaust the source, so only the first bytes are sampled.
        let start: [u8; 8] = source.array();
        let mut bytes = [0; N];
        bytes[..8].copy_from_slice(&start);
        Self(bytes)
    }
}

impl Sample for MacAddress {
    fn sample(source: &mut Source<'_>) -> Self {
        Self(source.array())
    }
}

impl Sample for Ipv4Addr {
    fn sample(source: &mut Source<'_>) -> Self {
        source.array::<4>().into()
    }
}

impl Sample for Ipv6Addr {
    fn sample(source: &mut Source<'_>) -> Self {
        source.array::<16>().into()
    }
}

impl Sample for PbbIsid {
    fn sample(source: &mut Source<'_>) -> Self {
        Self::new(draw::<u32>(source) & 0x00ff_ffff).expect("24 bits are left")
    }
}

impl<T: Sample> Sample for Masked<T> {
    fn sample(source: &mut Source<'_>) -> Self {
        Self { value: draw(source), mask: draw(source) }
    }
}

impl Sample for HelloElement {
    fn sample(source: &mut Source<'_>) -> Self {
        match source.below(2) {
            0 => Self::VersionBitmap(draw(source)),
            _ => Self::Unknown { kind: draw::<u16>(source) | 0x8000, data: source.data(1, 0) },
        }
    }
}

impl Sample for ErrorMessage {
    fn sample(source: &mut Source<'_>) -> Self {
        match source.below(2) {
            0 => Self::Standard {
                error_type: draw::<u16>(source) & 0x7fff,
                code: draw(source),
                data: draw(source),
            },
            _ => Self::Experimenter {
                exp_type: draw(source),
                experimenter: draw(source),
                data: draw(source),
            },
        }
    }
}

impl Sample for Oxm {
    fn sample(source: &mut Source<'_>) -> Self {
        match source.below(42) {
            0 => Self::InPort(draw(source)),
            1 => Self::InPhyPort(draw(source)),
            2 => Self::Metadata(draw(source)),
            3 => Self::EthDst(draw(source)),
            4 => Self::EthSrc(draw(source)),
            5 => Self::EthType(draw(source)),
            6 => Self::VlanVid(draw(source)),
            7 => Self::VlanPcp(draw(source)),
            8 => Self::IpDscp(draw(source)),
            9 => Self::IpEcn(draw(source)),
            10 => Self::IpProto(draw(source)),
            11 => Self::Ipv4Src(draw(source)),
            12 => Self::Ipv4Dst(draw(source)),
            13 => Self::TcpSrc(draw(source)),
            14 => Self::TcpDst(draw(source)),
            15 => Self::UdpSrc(draw(source)),
            16 => Self::UdpDst(draw(source)),
            17 => Self::SctpSrc(draw(source)),
            18 => Self::SctpDst(draw(source)),
            19 => Self::Icmpv4Type(draw(source)),
            20 => Self::Icmpv4Code(draw(source)),
            21 => Self::ArpOp(draw(source)),
            22 => Self::ArpSpa(draw(source)),
            23 => Self::ArpTpa(draw(source)),
            24 => Self::ArpSha(draw(source)),
            25 => Self::ArpTha(draw(source)),
            26 => Self::Ipv6Src(draw(source)),
            27 => Self::Ipv6Dst(draw(source)),
            28 => Self::Ipv6Flabel(draw(source)),
            29 => Self::Icmpv6Type(draw(source)),
            30 => Self::Icmpv6Code(draw(source)),
            31 => Self::Ipv6NdTarget(draw(source)),
            32 => Self::Ipv6NdSll(draw(source)),
            33 => Self::Ipv6NdTll(draw(source)),
            34 => Self::MplsLabel(draw(source)),
            35 => Self::MplsTc(draw(source)),
            36 => Self::MplsBos(draw(source)),
            37 => Self::PbbIsid(draw(source)),
            38 => Self::TunnelId(draw(source)),
            39 => Self::Ipv6Exthdr(draw(source)),
            40 => {
                let (field, has_mask) = (source.below(128), source.below(2) == 1);
                let payload = source.data(4, 4);
                Self::Raw(
                    RawOxm::new(OxmClass::EXPERIMENTER, field, has_mask, payload)
                        .expect("the experimenter's id is there"),
                )
            }
            _ => {
                // The cleared top bit distinguishes the class from the known ones.
                let class = OxmClass(draw::<u16>(source) & 0x7fff);
                let (field, has_mask) = (source.below(128), source.below(2) == 1);
                let payload = source.data(5, 0);
                Self::Raw(RawOxm::new(class, field, has_mask, payload).expect("no known class"))
            }
        }
    }
}

impl Sample for OxmId {
    fn sample(source: &mut Source<'_>) -> Self {
        match source.below(2) {
            0 => Self::basic(OxmField(source.below(128)), source.below(2) == 1),
            _ => Self::experimenter(draw(source), draw(source), source.below(2) == 1, draw(source)),
        }
    }
}

impl Sample for Action {
    fn sample(source: &mut Source<'_>) -> Self {
        match source.below(18) {
            0 => Self::Output { port: draw(source), max_len: draw(source) },
            1 => Self::CopyTtlOut,
            2 => Self::CopyTtlIn,
            3 => Self::SetMplsTtl(draw(source)),
            4 => Self::DecMplsTtl,
            5 => Self::PushVlan(draw(source)),
            6 => Self::PopVlan,
            7 => Self::PushMpls(draw(source)),
            8 => Self::PopMpls(draw(source)),
            9 => Self::SetQueue(draw(source)),
            10 => Self::Group(draw(source)),
            11 => Self::SetNwTtl(draw(source)),
            12 => Self::DecNwTtl,
            13 => Self::SetField(draw(source)),
            14 => Self::PushPbb(draw(source)),
            15 => Self::PopPbb,
            16 => Self::Experimenter { experimenter: draw(source), data: source.data(8, 0) },
            _ => Self::Unknown {
                kind: ActionType(0x4000 | u16::from(source.below(200))),
                data: source.data(8, 4),
            },
        }
    }
}

impl Sample for Instruction {
    fn sample(source: &mut Source<'_>) -> Self {
        match source.below(8) {
            0 => Self::GotoTable(draw(source)),
            1 => Self::WriteMetadata { metadata: draw(source), mask: draw(source) },
            2 => Self::WriteActions(draw(source)),
            3 => Self::ApplyActions(draw(source)),
            4 => Self::ClearActions,
            5 => Self::Meter(draw(source)),
            6 => Self::Experimenter { experimenter: draw(source), data: source.data(8, 0) },
            _ => Self::Unknown {
                kind: InstructionType(0x4000 | u16::from(source.below(200))),
                data: source.data(8, 4),
            },
        }
    }
}

impl Sample for MeterBandKind {
    fn sample(source: &mut Source<'_>) -> Self {
        match source.below(4) {
            0 => Self::Drop,
            1 => Self::DscpRemark { prec_level: draw(source) },
            2 => Self::Experimenter { experimenter: draw(source), data: source.data(8, 0) },
            _ => Self::Unknown {
                kind: MeterBandType(0x4000 | u16::from(source.below(200))),
                data: source.data(8, 4),
            },
        }
    }
}

impl Sample for QueueProperty {
    fn sample(source: &mut Source<'_>) -> Self {
        match source.below(4) {
            0 => Self::MinRate(draw(source)),
            1 => Self::MaxRate(draw(source)),
            2 => Self::Experimenter { experimenter: draw(source), data: source.data(1, 0) },
            _ => Self::Unknown {
                kind: QueuePropertyType(0x4000 | u16::from(source.below(200))),
                data: source.data(3, 0),
            },
        }
    }
}

impl Sample for TableFeatureProperty {
    fn sample(source: &mut Source<'_>) -> Self {
        match source.below(17) {
            0 => Self::Instructions(draw(source)),
            1 => Self::InstructionsMiss(draw(source)),
            2 => Self::NextTables(draw(source)),
            3 => Self::NextTablesMiss(draw(source)),
            4 => Self::WriteActions(draw(source)),
            5 => Self::WriteActionsMiss(draw(source)),
            6 => Self::ApplyActions(draw(source)),
            7 => Self::ApplyActionsMiss(draw(source)),
            8 => Self::Match(draw(source)),
            9 => Self::Wildcards(draw(source)),
            10 => Self::WriteSetField(draw(source)),
            11 => Self::WriteSetFieldMiss(draw(source)),
            12 => Self::ApplySetField(draw(source)),
            13 => Self::ApplySetFieldMiss(draw(source)),
            14 => Self::Experimenter(draw(source)),
            15 => Self::ExperimenterMiss(draw(source)),
            _ => Self::Unknown {
                kind: TableFeaturePropertyType(0x4000 | u16::from(source.below(200))),
                data: source.data(3, 0),
            },
        }
    }
}

impl Sample for MultipartRequestBody {
    fn sample(source: &mut Source<'_>) -> Self {
        match source.below(16) {
            0 => Self::Desc,
            1 => Self::Flow(draw(source)),
            2 => Self::Aggregate(draw(source)),
            3 => Self::Table,
            4 => Self::PortStats(draw(source)),
            5 => Self::Queue(draw(source)),
            6 => Self::Group(draw(source)),
            7 => Self::GroupDesc,
            8 => Self::GroupFeatures,
            9 => Self::Meter(draw(source)),
            10 => Self::MeterConfig(draw(source)),
            11 => Self::MeterFeatures,
            12 => Self::TableFeatures(draw(source)),
            13 => Self::PortDesc,
            14 => Self::Experimenter(draw(source)),
            _ => Self::Unknown { kind: MultipartType(0x4000), data: draw(source) },
        }
    }
}

impl Sample for MultipartReplyBody {
    fn sample(source: &mut Source<'_>) -> Self {
        match source.below(16) {
            0 => Self::Desc(draw(source)),
            1 => Self::Flow(draw(source)),
            2 => Self::Aggregate(draw(source)),
            3 => Self::Table(draw(source)),
            4 => Self::PortStats(draw(source)),
            5 => Self::Queue(draw(source)),
            6 => Self::Group(draw(source)),
            7 => Self::GroupDesc(draw(source)),
            8 => Self::GroupFeatures(draw(source)),
            9 => Self::Meter(draw(source)),
            10 => Self::MeterConfig(draw(source)),
            11 => Self::MeterFeatures(draw(source)),
            12 => Self::TableFeatures(draw(source)),
            13 => Self::PortDesc(draw(source)),
            14 => Self::Experimenter(draw(source)),
            _ => Self::Unknown { kind: MultipartType(0x4000), data: draw(source) },
        }
    }
}

/// The number of message types, which are numbered from 0.
pub(super) const MESSAGE_TYPES: u8 = 30;

/// Returns a message of the given type, which is below [`MESSAGE_TYPES`].
pub(super) fn sample_message(message_type: u8, source: &mut Source<'_>) -> Message {
    match message_type {
        0 => Message::Hello(draw(source)),
        1 => Message::Error(draw(source)),
        2 => Message::EchoRequest(draw(source)),
        3 => Message::EchoReply(draw(source)),
        4 => Message::Experimenter(draw(source)),
        5 => Message::FeaturesRequest,
        6 => Message::FeaturesReply(draw(source)),
        7 => Message::GetConfigRequest,
        8 => Message::GetConfigReply(draw(source)),
        9 => Message::SetConfig(draw(source)),
        10 => Message::PacketIn(draw(source)),
        11 => Message::FlowRemoved(draw(source)),
        12 => Message::PortStatus(draw(source)),
        13 => Message::PacketOut(draw(source)),
        14 => Message::FlowMod(draw(source)),
        15 => Message::GroupMod(draw(source)),
        16 => Message::PortMod(draw(source)),
        17 => Message::TableMod(draw(source)),
        18 => Message::MultipartRequest(draw(source)),
        19 => Message::MultipartReply(draw(source)),
        20 => Message::BarrierRequest,
        21 => Message::BarrierReply,
        22 => Message::QueueGetConfigRequest(draw(source)),
        23 => Message::QueueGetConfigReply(draw(source)),
        24 => Message::RoleRequest(draw(source)),
        25 => Message::RoleReply(draw(source)),
        26 => Message::GetAsyncRequest,
        27 => Message::GetAsyncReply(draw(source)),
        28 => Message::SetAsync(draw(source)),
        29 => Message::MeterMod(draw(source)),
        _ => panic!("no message has type {message_type}"),
    }
}
