//! Meters: rate limits that flow entries point to (specification 1.3.5, sections 7.3.4.4 and
//! 7.3.5.12 to 7.3.5.14).

use super::codec::{
    Wire, aligned_tlv, begin, body, decode_list, encode_list, end_aligned, put_u32, put_u64,
    refuse_known,
};
use crate::cursor::{Reader, pad, patch_length};
use crate::error::{DecodeError, EncodeError};

open_enum! {
    /// A meter's id, `ofp_meter`.
    pub MeterId: u32 {
        /// The largest id of an ordinary meter, to which flow entries can send packets.
        MAX = 0xffff_0000,
        /// The meter for packets that the switch processes in its slow path.
        SLOWPATH = 0xffff_fffd,
        /// The meter for packets that are sent to the controller.
        CONTROLLER = 0xffff_fffe,
        /// All meters, in requests and deletions.
        ALL = 0xffff_ffff,
    }
}

open_enum! {
    /// The command of a meter-mod, `ofp_meter_mod_command`.
    pub MeterModCommand: u16 {
        /// Adds a meter that must not exist.
        ADD = 0,
        /// Replaces the bands and flags of a meter that exists.
        MODIFY = 1,
        /// Deletes a meter, or all meters for [`MeterId::ALL`].
        DELETE = 2,
    }
}

bit_set! {
    /// The flags of a meter, `ofp_meter_flags`.
    pub MeterFlags: u16 {
        /// The rates are in kilobits per second.
        KBPS = 1 << 0,
        /// The rates are in packets per second.
        PKTPS = 1 << 1,
        /// The bands have burst sizes.
        BURST = 1 << 2,
        /// The switch keeps statistics of the meter.
        STATS = 1 << 3,
    }
}

open_enum! {
    /// The type of a meter band, `ofp_meter_band_type`.
    pub MeterBandType: u16 {
        /// Drops packets.
        DROP = 1,
        /// Raises the drop precedence in the IP header.
        DSCP_REMARK = 2,
        /// A treatment that an experimenter defines.
        EXPERIMENTER = 0xffff,
    }
}

/// A meter band: the treatment of packets above a rate, `ofp_meter_band_header`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MeterBand {
    /// The rate above which the band applies, in the unit of the meter's flags.
    pub rate: u32,
    /// The burst size of the band, in kilobits or packets, depending on the meter's flags.
    pub burst_size: u32,
    /// The treatment of packets above the rate.
    pub kind: MeterBandKind,
}

/// The treatment of packets by a meter band.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MeterBandKind {
    /// Drops the packet.
    Drop,
    /// Raises the drop precedence of the packet.
    DscpRemark {
        /// The number of levels by which the drop precedence is raised.
        prec_level: u8,
    },
    /// A treatment that an experimenter defines.
    Experimenter {
        /// The experimenter's id.
        experimenter: u32,
        /// The bytes of the band after the experimenter's id. Their length must be a multiple of
        /// eight.
        data: Vec<u8>,
    },
    /// A band of a type that the specification does not define.
    Unknown {
        /// The type of the band.
        kind: MeterBandType,
        /// The bytes of the band after its burst size. Their length must be four more than a
        /// multiple of eight.
        data: Vec<u8>,
    },
}

impl MeterBandKind {
    /// Returns the type of the band.
    pub const fn kind(&self) -> MeterBandType {
        match self {
            Self::Drop => MeterBandType::DROP,
            Self::DscpRemark { .. } => MeterBandType::DSCP_REMARK,
            Self::Experimenter { .. } => MeterBandType::EXPERIMENTER,
            Self::Unknown { kind, .. } => *kind,
        }
    }
}

const BAND_LENGTH: &str = "ofp_meter_band_header.len";

impl Wire for MeterBand {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (kind, mut body) = aligned_tlv(reader, BAND_LENGTH)?;
        let rate = body.u32("ofp_meter_band_header.rate")?;
        let burst_size = body.u32("ofp_meter_band_header.burst_size")?;
        let kind = match MeterBandType(kind) {
            MeterBandType::DROP => {
                body.skip(4, "ofp_meter_band_drop.pad")?;
                MeterBandKind::Drop
            }
            MeterBandType::DSCP_REMARK => {
                let prec_level = body.u8("ofp_meter_band_dscp_remark.prec_level")?;
                body.skip(3, "ofp_meter_band_dscp_remark.pad")?;
                MeterBandKind::DscpRemark { prec_level }
            }
            MeterBandType::EXPERIMENTER => {
                let experimenter = body.u32("ofp_meter_band_experimenter.experimenter")?;
                MeterBandKind::Experimenter { experimenter, data: body.rest().to_vec() }
            }
            kind => MeterBandKind::Unknown { kind, data: body.rest().to_vec() },
        };
        body.finish(BAND_LENGTH)?;
        Ok(Self { rate, burst_size, kind })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = begin(out, self.kind.kind().0);
        put_u32(out, self.rate);
        put_u32(out, self.burst_size);
        match &self.kind {
            MeterBandKind::Drop => pad(out, 4),
            MeterBandKind::DscpRemark { prec_level } => {
                out.push(*prec_level);
                pad(out, 3);
            }
            MeterBandKind::Experimenter { experimenter, data } => {
                put_u32(out, *experimenter);
                out.extend_from_slice(data);
            }
            MeterBandKind::Unknown { kind, data } => {
                refuse_known(kind.0, kind.name().is_some(), "ofp_meter_band_header.type")?;
                out.extend_from_slice(data);
            }
        }
        end_aligned(out, start, BAND_LENGTH)
    }
}

structure! {
    /// A message that adds, changes or deletes a meter (`ofp_meter_mod`).
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub struct MeterMod = "ofp_meter_mod" {
        /// The change that the meter-mod makes.
        pub command: MeterModCommand,
        /// The unit of the meter's rates, and whether it has burst sizes and statistics.
        pub flags: MeterFlags,
        /// The meter's id.
        pub meter_id: MeterId,
        /// The meter's bands.
        pub bands: Vec<MeterBand>,
    }
}

structure! {
    /// A meter as the switch describes it, `ofp_meter_config`.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub struct MeterConfig = "ofp_meter_config" {
        counts length >= 8;
        /// The unit of the meter's rates, and whether it has burst sizes and statistics.
        pub flags: MeterFlags,
        /// The meter's id.
        pub meter_id: MeterId,
        /// The meter's bands.
        pub bands: Vec<MeterBand>,
    }
}

structure! {
    /// The counters of one band of a meter, `ofp_meter_band_stats`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct MeterBandStats = "ofp_meter_band_stats" {
        /// The number of packets to which the band applied.
        pub packet_band_count: u64,
        /// The number of bytes in the packets to which the band applied.
        pub byte_band_count: u64,
    }
}

/// A meter's counters, `ofp_meter_stats`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MeterStats {
    /// The meter's id.
    pub meter_id: MeterId,
    /// The number of flow entries that send packets through this meter.
    pub flow_count: u32,
    /// The number of packets that the meter processed.
    pub packet_in_count: u64,
    /// The number of bytes in the packets that the meter processed.
    pub byte_in_count: u64,
    /// The whole seconds for which the meter has existed.
    pub duration_sec: u32,
    /// The nanoseconds beyond `duration_sec` for which the meter has existed.
    pub duration_nsec: u32,
    /// The counters of the meter's bands.
    pub bands: Vec<MeterBandStats>,
}

impl Wire for MeterStats {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let meter_id = MeterId(reader.u32("ofp_meter_stats.meter_id")?);
        let mut body = body(reader, 6, 40, "ofp_meter_stats.len")?;
        body.skip(6, "ofp_meter_stats.pad")?;
        Ok(Self {
            meter_id,
            flow_count: body.u32("ofp_meter_stats.flow_count")?,
            packet_in_count: body.u64("ofp_meter_stats.packet_in_count")?,
            byte_in_count: body.u64("ofp_meter_stats.byte_in_count")?,
            duration_sec: body.u32("ofp_meter_stats.duration_sec")?,
            duration_nsec: body.u32("ofp_meter_stats.duration_nsec")?,
            bands: decode_list(&mut body)?,
        })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = out.len();
        put_u32(out, self.meter_id.0);
        pad(out, 8);
        put_u32(out, self.flow_count);
        put_u64(out, self.packet_in_count);
        put_u64(out, self.byte_in_count);
        put_u32(out, self.duration_sec);
        put_u32(out, self.duration_nsec);
        encode_list(&self.bands, out)?;
        patch_length(out, start, start + 4, "ofp_meter_stats.len")
    }
}

structure! {
    /// The features of a switch's meters, `ofp_meter_features`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct MeterFeatures = "ofp_meter_features" {
        /// The largest number of meters, or 0 if the switch has none.
        pub max_meter: u32,
        /// The supported types of band, as bits `1 << type` for each [`MeterBandType`].
        pub band_types: u32,
        /// The supported flags, as the bits of [`MeterFlags`] in 32 bits.
        pub capabilities: u32,
        /// The largest number of bands of a meter.
        pub max_bands: u8,
        /// The largest color value of a band that remarks the DSCP.
        pub max_color: u8; pad 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_nest_in_meters() {
        let band = |kind| MeterBand { rate: 1000, burst_size: 10, kind };
        let meter = MeterMod {
            command: MeterModCommand::ADD,
            flags: MeterFlags::KBPS | MeterFlags::BURST,
            meter_id: MeterId(100),
            bands: vec![
                band(MeterBandKind::Drop),
                band(MeterBandKind::DscpRemark { prec_level: 1 }),
                band(MeterBandKind::Experimenter { experimenter: 999, data: vec![7; 8] }),
            ],
        };
        let mut out = Vec::new();
        meter.encode(&mut out).unwrap();
        assert_eq!(out.len(), 8 + 16 + 16 + 24);
        assert_eq!(MeterMod::decode(&mut Reader::new(&out)), Ok(meter));
        // A drop band has exactly sixteen bytes.
        for length in [8, 24] {
            out[11] = length;
            assert!(MeterMod::decode(&mut Reader::new(&out)).is_err());
        }
    }

    #[test]
    fn the_length_of_meter_statistics_counts_the_id_before_it() {
        let stats = MeterStats {
            meter_id: MeterId(1),
            flow_count: 2,
            packet_in_count: 3,
            byte_in_count: 4,
            duration_sec: 5,
            duration_nsec: 6,
            bands: vec![MeterBandStats::default()],
        };
        let mut out = Vec::new();
        stats.encode(&mut out).unwrap();
        assert_eq!((out.len(), out[5]), (56, 56));
        assert_eq!(MeterStats::decode(&mut Reader::new(&out)), Ok(stats));
        out[5] = 32;
        assert!(MeterStats::decode(&mut Reader::new(&out)).is_err());
        out[5] = 57;
        assert!(MeterStats::decode(&mut Reader::new(&out)).is_err());
    }
}
