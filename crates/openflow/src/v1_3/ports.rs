//! Ports: their numbers, descriptions and counters, and the messages about them (specification
//! 1.3.5, sections 7.2.1, 7.3.4.3, 7.3.5.6, 7.3.5.7 and 7.4.3).

use std::time::Duration;

use super::codec::{Wire, put_u32, put_u64};
use crate::cursor::{Reader, pad};
use crate::error::{DecodeError, EncodeError};
use crate::{FixedText, MacAddress, PortNumber};

bit_set! {
    /// How a port is configured, `ofp_port_config`.
    pub PortConfig: u32 {
        /// Administratively down.
        PORT_DOWN = 1 << 0,
        /// All packets that it receives are dropped.
        NO_RECV = 1 << 2,
        /// All packets forwarded to it are dropped.
        NO_FWD = 1 << 5,
        /// It sends no packet-ins.
        NO_PACKET_IN = 1 << 6,
    }
}

bit_set! {
    /// What state a port is in, `ofp_port_state`.
    pub PortState: u32 {
        /// There is no link.
        LINK_DOWN = 1 << 0,
        /// A protocol outside OpenFlow blocks it.
        BLOCKED = 1 << 1,
        /// Live, for fast-failover groups.
        LIVE = 1 << 2,
    }
}

bit_set! {
    /// What a port can do, `ofp_port_features`.
    pub PortFeatures: u32 {
        /// 10 Mb/s half-duplex.
        RATE_10MB_HD = 1 << 0,
        /// 10 Mb/s full-duplex.
        RATE_10MB_FD = 1 << 1,
        /// 100 Mb/s half-duplex.
        RATE_100MB_HD = 1 << 2,
        /// 100 Mb/s full-duplex.
        RATE_100MB_FD = 1 << 3,
        /// 1 Gb/s half-duplex.
        RATE_1GB_HD = 1 << 4,
        /// 1 Gb/s full-duplex.
        RATE_1GB_FD = 1 << 5,
        /// 10 Gb/s full-duplex.
        RATE_10GB_FD = 1 << 6,
        /// 40 Gb/s full-duplex.
        RATE_40GB_FD = 1 << 7,
        /// 100 Gb/s full-duplex.
        RATE_100GB_FD = 1 << 8,
        /// 1 Tb/s full-duplex.
        RATE_1TB_FD = 1 << 9,
        /// Another rate.
        RATE_OTHER = 1 << 10,
        /// Copper.
        COPPER = 1 << 11,
        /// Fibre.
        FIBER = 1 << 12,
        /// Auto-negotiation.
        AUTONEG = 1 << 13,
        /// Pause.
        PAUSE = 1 << 14,
        /// Asymmetric pause.
        PAUSE_ASYM = 1 << 15,
    }
}

/// A port's description, `ofp_port`, 64 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Port {
    /// The number by which flow entries name it.
    pub port_no: PortNumber,
    /// Its Ethernet address.
    pub hw_addr: MacAddress,
    /// Its name, at most 15 bytes.
    pub name: FixedText<16>,
    /// How it is configured.
    pub config: PortConfig,
    /// What state it is in.
    pub state: PortState,
    /// Features in use.
    pub curr: PortFeatures,
    /// Features that it advertises.
    pub advertised: PortFeatures,
    /// Features that it has.
    pub supported: PortFeatures,
    /// Features that its peer advertises.
    pub peer: PortFeatures,
    /// Bit rate in use, kb/s.
    pub curr_speed: u32,
    /// Highest bit rate, kb/s.
    pub max_speed: u32,
}

impl Port {
    /// A live port of 10 Gb/s over copper, as a virtual switch shows its ports. The name is cut to
    /// 15 bytes.
    pub fn new(port_no: PortNumber, hw_addr: MacAddress, name: &str) -> Self {
        let features = PortFeatures::RATE_10GB_FD | PortFeatures::COPPER;
        Self {
            port_no,
            hw_addr,
            name: FixedText::truncated(name),
            config: PortConfig::NONE,
            state: PortState::LIVE,
            curr: features,
            advertised: PortFeatures::NONE,
            supported: features,
            peer: PortFeatures::NONE,
            curr_speed: 10_000_000,
            max_speed: 10_000_000,
        }
    }
}

impl Wire for Port {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let port_no = PortNumber(reader.u32("ofp_port.port_no")?);
        reader.skip(4, "ofp_port.pad")?;
        let hw_addr = MacAddress(reader.array("ofp_port.hw_addr")?);
        reader.skip(2, "ofp_port.pad2")?;
        Ok(Self {
            port_no,
            hw_addr,
            name: FixedText(reader.array("ofp_port.name")?),
            config: PortConfig(reader.u32("ofp_port.config")?),
            state: PortState(reader.u32("ofp_port.state")?),
            curr: PortFeatures(reader.u32("ofp_port.curr")?),
            advertised: PortFeatures(reader.u32("ofp_port.advertised")?),
            supported: PortFeatures(reader.u32("ofp_port.supported")?),
            peer: PortFeatures(reader.u32("ofp_port.peer")?),
            curr_speed: reader.u32("ofp_port.curr_speed")?,
            max_speed: reader.u32("ofp_port.max_speed")?,
        })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        put_u32(out, self.port_no.0);
        pad(out, 4);
        out.extend_from_slice(&self.hw_addr.0);
        pad(out, 2);
        out.extend_from_slice(&self.name.0);
        put_u32(out, self.config.0);
        put_u32(out, self.state.0);
        for features in [self.curr, self.advertised, self.supported, self.peer] {
            put_u32(out, features.0);
        }
        put_u32(out, self.curr_speed);
        put_u32(out, self.max_speed);
        Ok(())
    }
}

open_enum! {
    /// What happened to a port, `ofp_port_reason`.
    pub PortReason: u8 {
        /// It was added.
        ADD = 0,
        /// It was removed.
        DELETE = 1,
        /// Its description changed.
        MODIFY = 2,
    }
}

/// Tells the controller that a port changed, `ofp_port_status`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PortStatus {
    /// What happened.
    pub reason: PortReason,
    /// The port as it is now.
    pub desc: Port,
}

impl Wire for PortStatus {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let reason = PortReason(reader.u8("ofp_port_status.reason")?);
        reader.skip(7, "ofp_port_status.pad")?;
        Ok(Self { reason, desc: Port::decode(reader)? })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.push(self.reason.0);
        pad(out, 7);
        self.desc.encode(out)
    }
}

/// Changes how a port is configured, `ofp_port_mod`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PortMod {
    /// The port.
    pub port_no: PortNumber,
    /// Its Ethernet address, which must be the one described, as a check.
    pub hw_addr: MacAddress,
    /// The configuration to take on.
    pub config: PortConfig,
    /// Which bits of it.
    pub mask: PortConfig,
    /// Features to advertise; none leaves them as they are.
    pub advertise: PortFeatures,
}

impl Wire for PortMod {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let port_no = PortNumber(reader.u32("ofp_port_mod.port_no")?);
        reader.skip(4, "ofp_port_mod.pad")?;
        let hw_addr = MacAddress(reader.array("ofp_port_mod.hw_addr")?);
        reader.skip(2, "ofp_port_mod.pad2")?;
        let config = PortConfig(reader.u32("ofp_port_mod.config")?);
        let mask = PortConfig(reader.u32("ofp_port_mod.mask")?);
        let advertise = PortFeatures(reader.u32("ofp_port_mod.advertise")?);
        reader.skip(4, "ofp_port_mod.pad3")?;
        Ok(Self { port_no, hw_addr, config, mask, advertise })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        put_u32(out, self.port_no.0);
        pad(out, 4);
        out.extend_from_slice(&self.hw_addr.0);
        pad(out, 2);
        put_u32(out, self.config.0);
        put_u32(out, self.mask.0);
        put_u32(out, self.advertise.0);
        pad(out, 4);
        Ok(())
    }
}

/// A port's counters, `ofp_port_stats`, 112 bytes. A counter that the switch does not keep is
/// [`u64::MAX`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PortStats {
    /// The port.
    pub port_no: PortNumber,
    /// Packets received.
    pub rx_packets: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets dropped on receipt.
    pub rx_dropped: u64,
    /// Packets dropped on sending.
    pub tx_dropped: u64,
    /// Errors on receipt, of all kinds.
    pub rx_errors: u64,
    /// Errors on sending, of all kinds.
    pub tx_errors: u64,
    /// Frame alignment errors.
    pub rx_frame_err: u64,
    /// Packets that overran the receiver.
    pub rx_over_err: u64,
    /// Checksum errors.
    pub rx_crc_err: u64,
    /// Collisions.
    pub collisions: u64,
    /// Whole seconds that the port has been alive.
    pub duration_sec: u32,
    /// Nanoseconds beyond those.
    pub duration_nsec: u32,
}

impl PortStats {
    /// A port that has counted nothing yet.
    pub const fn zero(port_no: PortNumber) -> Self {
        Self {
            port_no,
            rx_packets: 0,
            tx_packets: 0,
            rx_bytes: 0,
            tx_bytes: 0,
            rx_dropped: 0,
            tx_dropped: 0,
            rx_errors: 0,
            tx_errors: 0,
            rx_frame_err: 0,
            rx_over_err: 0,
            rx_crc_err: 0,
            collisions: 0,
            duration_sec: 0,
            duration_nsec: 0,
        }
    }

    /// How long the port has been alive.
    pub fn duration(&self) -> Duration {
        Duration::from_secs(self.duration_sec.into())
            + Duration::from_nanos(self.duration_nsec.into())
    }
}

impl Wire for PortStats {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let port_no = PortNumber(reader.u32("ofp_port_stats.port_no")?);
        reader.skip(4, "ofp_port_stats.pad")?;
        Ok(Self {
            port_no,
            rx_packets: reader.u64("ofp_port_stats.rx_packets")?,
            tx_packets: reader.u64("ofp_port_stats.tx_packets")?,
            rx_bytes: reader.u64("ofp_port_stats.rx_bytes")?,
            tx_bytes: reader.u64("ofp_port_stats.tx_bytes")?,
            rx_dropped: reader.u64("ofp_port_stats.rx_dropped")?,
            tx_dropped: reader.u64("ofp_port_stats.tx_dropped")?,
            rx_errors: reader.u64("ofp_port_stats.rx_errors")?,
            tx_errors: reader.u64("ofp_port_stats.tx_errors")?,
            rx_frame_err: reader.u64("ofp_port_stats.rx_frame_err")?,
            rx_over_err: reader.u64("ofp_port_stats.rx_over_err")?,
            rx_crc_err: reader.u64("ofp_port_stats.rx_crc_err")?,
            collisions: reader.u64("ofp_port_stats.collisions")?,
            duration_sec: reader.u32("ofp_port_stats.duration_sec")?,
            duration_nsec: reader.u32("ofp_port_stats.duration_nsec")?,
        })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        put_u32(out, self.port_no.0);
        pad(out, 4);
        for counter in [
            self.rx_packets,
            self.tx_packets,
            self.rx_bytes,
            self.tx_bytes,
            self.rx_dropped,
            self.tx_dropped,
            self.rx_errors,
            self.tx_errors,
            self.rx_frame_err,
            self.rx_over_err,
            self.rx_crc_err,
            self.collisions,
        ] {
            put_u64(out, counter);
        }
        put_u32(out, self.duration_sec);
        put_u32(out, self.duration_nsec);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_sizes_of_the_specification() {
        let port = Port::new(PortNumber(1), MacAddress([2, 0, 0, 0, 0, 1]), "s1-eth1");
        let mut out = Vec::new();
        port.encode(&mut out).unwrap();
        assert_eq!(out.len(), 64);
        assert_eq!(&out[16..24], b"s1-eth1\0");
        assert_eq!(Port::decode(&mut Reader::new(&out)), Ok(port));

        let mut out = Vec::new();
        let mut stats = PortStats::zero(PortNumber(1));
        stats.duration_sec = 1;
        stats.duration_nsec = 4_000_000_000;
        stats.encode(&mut out).unwrap();
        assert_eq!(out.len(), 112);
        assert_eq!(stats.duration(), Duration::from_secs(5));
        assert_eq!(PortStats::decode(&mut Reader::new(&out)), Ok(stats));
    }
}
