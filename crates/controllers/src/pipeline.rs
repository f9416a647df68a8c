//! The P4 pipeline that the controllers push to P4Runtime switches: Ethernet forwarding by rules.
//!
//! Its source is `programs/l2.p4`. The P4Info in the same folder is a compiler's output for this
//! program. The program itself sets its identifiers, and a test compares them with [`ids`].

use bytes::Bytes;
use p4runtime::p4info::{Schema, SchemaError, text};
use p4runtime::packet_io::{ByteString, PacketInLayout, PacketOutLayout};
use p4runtime::proto::config::P4Info;
use p4runtime::proto::v1::forwarding_pipeline_config::Cookie;
use p4runtime::proto::v1::{ForwardingPipelineConfig, PacketMetadata};

use crate::application::Port;

/// The P4Info of the pipeline, in text format.
pub const P4INFO: &str = include_str!("../../../programs/l2.p4info.txtpb");

/// The device configuration that the controllers push: the source of the program, which
/// Planimeter's own switches compile. Other switches need the output of their own compiler instead.
pub const DEVICE_CONFIG: &[u8] = include_bytes!("../../../programs/l2.p4");

/// The identifiers of the table, its match fields and its actions in the P4Info.
pub mod ids {
    /// The identifier of the table with the rules.
    pub const TABLE: u32 = 0x0200_0001;
    /// The identifier of the match field for the ingress port, which has 9 bits.
    pub const IN_PORT: u32 = 1;
    /// The identifier of the match field for the Ethernet source, which has 48 bits.
    pub const ETH_SRC: u32 = 2;
    /// The identifier of the match field for the Ethernet destination, which has 48 bits.
    pub const ETH_DST: u32 = 3;
    /// The identifier of the match field for the EtherType, which has 16 bits.
    pub const ETH_TYPE: u32 = 4;
    /// The identifier of the action that sends the packet out of a port.
    pub const SET_EGRESS_PORT: u32 = 0x0100_0001;
    /// The identifier of the parameter of [`SET_EGRESS_PORT`], the port.
    pub const PORT: u32 = 1;
    /// The identifier of the action that sends the packet to the controller.
    pub const SEND_TO_CPU: u32 = 0x0100_0002;
    /// The identifier of the packet-out metadata with the packet's ingress port.
    pub const PACKET_OUT_INGRESS: u32 = 2;
}

/// The number of a pseudo port for packet-outs. A packet-out to this port is sent out of all ports
/// of [`FLOOD_GROUP`] except its ingress port.
pub const FLOOD_PORT: Port = Port(508);
/// The identifier of the multicast group that contains all ports.
pub const FLOOD_GROUP: u32 = 1;

/// The reason why the built-in pipeline cannot be used, which is a defect of the build.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PipelineError {
    /// The P4Info is not in protobuf text format.
    #[error("the built-in P4Info cannot be read: {0}")]
    Text(#[from] text::TextError),
    /// The P4Info contradicts itself.
    #[error("the built-in P4Info cannot be used: {0}")]
    Schema(#[from] SchemaError),
    /// The P4Info does not define the metadata of packet-ins or packet-outs.
    #[error("the built-in P4Info has no header for {0}")]
    NoHeader(&'static str),
}

/// The pipeline as it is pushed to switches, with the layouts of the metadata of its packet-ins and
/// packet-outs.
#[derive(Clone, Debug)]
pub struct Pipeline {
    p4info: P4Info,
    device_config: Bytes,
    cookie: u64,
    packet_in: PacketInLayout,
    packet_out: PacketOutLayout,
}

impl Pipeline {
    /// Creates the pipeline. Its device configuration is `device_config`, a compiler's output for
    /// the program, or [`DEVICE_CONFIG`] if that is `None`.
    ///
    /// # Errors
    ///
    /// Returns an error if the built-in P4Info is defective.
    pub fn new(device_config: Option<Bytes>) -> Result<Self, PipelineError> {
        Self::of(text::parse(P4INFO)?, device_config, P4INFO.as_bytes())
    }

    /// Creates the pipeline with [`DEVICE_CONFIG`] under another package name, so that it can be
    /// distinguished from other pipelines.
    pub(crate) fn named(name: &str) -> Result<Self, PipelineError> {
        let mut p4info = text::parse(P4INFO)?;
        p4info.pkg_info.get_or_insert_default().name = name.to_owned();
        Self::of(p4info, None, name.as_bytes())
    }

    /// Creates a pipeline with the given P4Info. Its device configuration is `device_config`, or
    /// [`DEVICE_CONFIG`] if that is `None`. The cookie is a hash of `identity` and the device
    /// configuration.
    fn of(
        p4info: P4Info,
        device_config: Option<Bytes>,
        identity: &[u8],
    ) -> Result<Self, PipelineError> {
        let schema = Schema::new(p4info.clone())?;
        let form = ByteString::Canonical;
        let packet_in = PacketInLayout::from_schema(&schema, form)
            .ok_or(PipelineError::NoHeader("packet-ins"))?;
        let packet_out = PacketOutLayout::from_schema(&schema, form)
            .ok_or(PipelineError::NoHeader("packet-outs"))?;
        let device_config = device_config.unwrap_or(Bytes::from_static(DEVICE_CONFIG));
        let cookie = fnv1a(&[identity, &device_config]);
        Ok(Self { p4info, device_config, cookie, packet_in, packet_out })
    }

    /// Returns the configuration to push to a switch. Its cookie identifies the P4Info and the
    /// device configuration, so that the controller need not push them to a switch that reports
    /// this cookie.
    pub fn config(&self) -> ForwardingPipelineConfig {
        ForwardingPipelineConfig {
            p4info: Some(self.p4info.clone()),
            p4_device_config: self.device_config.clone(),
            cookie: Some(Cookie { cookie: self.cookie }),
        }
    }

    /// Returns the ingress port in the metadata of a packet-in, or `None` if it is missing.
    pub(crate) fn ingress(&self, metadata: &[PacketMetadata]) -> Option<Port> {
        self.packet_in.read_ingress_port(metadata).map(Port)
    }

    /// Returns the metadata of a packet-out to the port `egress`. They contain the ingress port if
    /// there is one.
    pub(crate) fn egress(&self, egress: Port, ingress: Option<Port>) -> Vec<PacketMetadata> {
        let mut metadata = self.packet_out.metadata(egress.0);
        if let Some(Port(ingress)) = ingress {
            let fields = metadata.iter_mut().zip(self.packet_out.fields());
            for (one, field) in fields.filter(|(_, field)| field.id() == ids::PACKET_OUT_INGRESS) {
                one.value = field.value(ingress, ByteString::Canonical);
            }
        }
        metadata
    }
}

/// Returns the 64-bit hash FNV-1a (Fowler, Noll and Vo) of `parts`. It is equal in every run and on
/// every machine, unlike the standard library's hash.
fn fnv1a(parts: &[&[u8]]) -> u64 {
    parts.iter().copied().flatten().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use p4runtime::p4info::{ActionId, TableId};

    use super::*;

    #[test]
    fn fnv1a_agrees_with_its_published_values() {
        assert_eq!(fnv1a(&[]), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(&[b"a"]), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(&[b"foo", b"bar"]), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn identifiers_are_those_of_the_p4info_and_the_program() {
        let schema = Schema::new(text::parse(P4INFO).unwrap()).unwrap();
        let table = schema.tables().get(TableId(ids::TABLE)).unwrap();
        let program = include_str!("../../../programs/l2.p4");
        for (id, name, width) in [
            (ids::IN_PORT, "in_port", 9),
            (ids::ETH_SRC, "eth_src", 48),
            (ids::ETH_DST, "eth_dst", 48),
            (ids::ETH_TYPE, "eth_type", 16),
        ] {
            let p4info = text::parse(P4INFO).unwrap();
            let field = p4info.tables[0].match_fields.iter().find(|field| field.id == id).unwrap();
            assert_eq!((field.name.as_str(), field.bitwidth), (name, width));
            assert!(program.contains(&format!("ternary @id({id}) @name(\"{name}\")")), "{name}");
        }
        assert_eq!(table.name, "L2Ingress.l2");
        for (id, name) in
            [(ids::SET_EGRESS_PORT, "set_egress_port"), (ids::SEND_TO_CPU, "send_to_cpu")]
        {
            let action = schema.actions().get(ActionId(id)).unwrap();
            assert_eq!(action.name, format!("L2Ingress.{name}"));
            assert!(program.contains(&format!("@id({id:#010x})\n    action {name}(")), "{name}");
        }
        assert!(program.contains(&format!("FLOOD_PORT = {};", FLOOD_PORT.0)));
        assert!(program.contains(&format!("FLOOD_GROUP = {FLOOD_GROUP};")));
    }

    #[test]
    fn metadata_are_written_and_read_by_the_p4info() {
        let pipeline = Pipeline::new(None).unwrap();
        let values = |metadata: &[PacketMetadata]| -> Vec<(u32, Vec<u8>)> {
            metadata.iter().map(|one| (one.metadata_id, one.value.to_vec())).collect()
        };
        let flood = pipeline.egress(FLOOD_PORT, Some(Port(3)));
        assert_eq!(values(&flood), [(1, vec![1, 0xfc]), (2, vec![3]), (3, vec![0])]);
        let direct = pipeline.egress(Port(7), None);
        assert_eq!(values(&direct), [(1, vec![7]), (2, vec![0]), (3, vec![0])]);
        let from_port_9 = [PacketMetadata { metadata_id: 1, value: Bytes::from_static(&[0, 9]) }];
        assert_eq!(pipeline.ingress(&from_port_9), Some(Port(9)));
        assert_eq!(pipeline.ingress(&[]), None);
    }

    #[test]
    fn the_cookie_tells_configurations_apart() {
        let cookie = |config: Option<&'static [u8]>| {
            let pipeline = Pipeline::new(config.map(Bytes::from_static)).unwrap();
            pipeline.config().cookie.unwrap().cookie
        };
        assert_eq!(cookie(None), cookie(Some(DEVICE_CONFIG)));
        assert_ne!(cookie(None), cookie(Some(b"compiled")));
    }
}
