//! Digests that switches send instead of packet-ins, if the load consists of digests.
//!
//! The data of a digest are those that a P4 program would learn from an emulated packet: its
//! addresses and ports, its ingress port and, in a member that is wide enough, its sequence number.
//! An acknowledgement is matched to its digest by the list ID, so the data do not matter for the
//! measurement.

use entities::schema::DigestId;
use entities::{BitsType, Data, DataType};
use openflow::v1_3::OxmField;
use p4runtime::proto::config::p4_data_type_spec::TypeSpec;
use p4runtime::proto::v1;
use p4runtime::session::Pipeline;

use crate::engine::recorder::Recorder;
use crate::ledger::Answer;
use openflow_switch::Packet;

/// The digest of a pipeline's P4Info that switches send, and the type of its data.
#[derive(Clone, Debug)]
pub(super) struct DigestForm {
    pub(super) id: DigestId,
    pub(super) name: String,
    data: DataType,
    /// The names of the digest's members if it is a struct, and otherwise empty.
    names: Vec<String>,
}

/// The reason why a pipeline does not have the configured digest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoDigest {
    #[error(
        "the pipeline declares no digest, and traffic.load is digest; push one whose program calls \
         digest(), or leave traffic.load at packet-in"
    )]
    None,
    #[error(
        "the pipeline declares no digest \"{wanted}\" (p4runtime.digest); it declares {declared}"
    )]
    Unknown { wanted: String, declared: String },
}

impl DigestForm {
    /// Returns the digest of the pipeline with the name `wanted`, or its first digest if `wanted`
    /// is empty.
    pub(super) fn of(pipeline: &Pipeline, wanted: &str) -> Result<Self, NoDigest> {
        let digests = pipeline.schema().digests();
        let digest = match wanted {
            "" => digests.iter().next(),
            name => digests.by_name(name),
        };
        let Some(digest) = digest else {
            let declared: Vec<&str> = digests.iter().map(|one| one.name.as_str()).collect();
            return Err(match declared.as_slice() {
                [] => NoDigest::None,
                _ => NoDigest::Unknown { wanted: wanted.to_owned(), declared: declared.join(", ") },
            });
        };
        let (id, name, data) = (digest.id, digest.name.clone(), digest.data.clone());
        Ok(Self { id, name, data, names: member_names(pipeline, id) })
    }

    /// Returns the data of the digest that a switch would send for a packet that enters at a port.
    pub(super) fn data(&self, packet: &Packet, ingress_port: u16, sequence: u64) -> Data {
        let mut learned = Learned { packet, ingress_port, sequence, bits_seen: Vec::new() };
        match &self.data {
            DataType::Struct(members) => {
                let names = self.names.iter().map(|name| Some(name.as_str()));
                let named = members.iter().zip(names.chain(std::iter::repeat(None)));
                Data::Struct(named.map(|(ty, name)| learned.value(ty, name)).collect())
            }
            ty => learned.value(ty, None),
        }
    }
}

/// Returns the list ID of the digest with a given sequence number. List IDs begin with 1, and
/// sequence numbers with 0.
pub(super) fn list_id(sequence: u64) -> u64 {
    sequence + 1
}

/// Returns the sequence number of the digest with a given list ID, or `None` if no digest has this
/// ID.
pub(super) fn sequence_of(list_id: u64) -> Option<u64> {
    list_id.checked_sub(1)
}

/// Records an acknowledgement at a switch that sends the digest `digest`. It arrived `at`
/// nanoseconds after the start of traffic.
pub(super) fn acknowledged(
    recorder: &mut Recorder,
    switch: usize,
    digest: DigestId,
    ack: &v1::DigestListAck,
    at: u64,
) -> Answer {
    match sequence_of(ack.list_id) {
        Some(sequence) if ack.digest_id == digest.0 => recorder.answer(switch, sequence, at),
        _ => Answer::Unmatched,
    }
}

fn member_names(pipeline: &Pipeline, id: DigestId) -> Vec<String> {
    let p4info = pipeline.p4info();
    let of_id = |digest: &&p4runtime::proto::config::Digest| {
        digest.preamble.as_ref().is_some_and(|preamble| preamble.id == id.0)
    };
    let spec = p4info.digests.iter().find(of_id).and_then(|digest| digest.type_spec.as_ref());
    let Some(TypeSpec::Struct(named)) = spec.and_then(|spec| spec.type_spec.as_ref()) else {
        return Vec::new();
    };
    let types = p4info.type_info.as_ref();
    let declared = types.and_then(|types| types.structs.get(&named.name));
    declared.map_or_else(Vec::new, |declared| {
        declared.members.iter().map(|member| member.name.clone()).collect()
    })
}

/// The fields of one packet from which the members of a digest are filled.
struct Learned<'a> {
    packet: &'a Packet,
    ingress_port: u16,
    sequence: u64,
    /// The widths in bits of the members filled so far. A member without a name is recognised by
    /// its width: the first member of a width is filled with a source address or port, and every
    /// later one of the same width with a destination.
    bits_seen: Vec<u32>,
}

impl Learned<'_> {
    fn value(&mut self, ty: &DataType, name: Option<&str>) -> Data {
        match ty {
            DataType::Bits(BitsType::Unsigned(bits)) => Data::Bits(self.bits(*bits, name)),
            DataType::Tuple(members) => {
                Data::Tuple(members.iter().map(|ty| self.value(ty, None)).collect())
            }
            DataType::Struct(members) => {
                Data::Struct(members.iter().map(|ty| self.value(ty, None)).collect())
            }
            DataType::Header(fields)
                if fields.iter().all(|ty| matches!(ty, BitsType::Unsigned(_))) =>
            {
                let field = |ty: &BitsType| match ty {
                    BitsType::Unsigned(bits) => self.bits(*bits, None),
                    BitsType::Signed(_) | BitsType::Varbit(_) => Box::from([0]),
                };
                Data::Header(Some(fields.iter().map(field).collect()))
            }
            other => other.initial(),
        }
    }

    fn bits(&mut self, bits: u32, name: Option<&str>) -> Box<[u8]> {
        let value = self.number(bits, &name.unwrap_or_default().to_ascii_lowercase());
        self.bits_seen.push(bits);
        let value = if bits < 128 { value & ((1 << bits) - 1) } else { value };
        let bytes = value.to_be_bytes();
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count().min(bytes.len() - 1);
        Box::from(&bytes[zeros..])
    }

    fn number(&self, bits: u32, name: &str) -> u128 {
        let field = |field| self.packet.field(field).unwrap_or(0);
        let either = |one, other| self.packet.field(one).unwrap_or_else(|| field(other));
        let destination = match name {
            "" => self.bits_seen.contains(&bits),
            name => name.contains("dst") || name.contains("dest"),
        };
        let is_ingress = bits == 9
            || name.contains("ingress")
            || name.contains("in_port")
            || (name.contains("port") && bits != 16);
        match bits {
            _ if is_ingress => self.ingress_port.into(),
            8 if name.is_empty() || name.contains("proto") => field(OxmField::IP_PROTO),
            16 if name.contains("type") => field(OxmField::ETH_TYPE),
            16 if destination => either(OxmField::TCP_DST, OxmField::UDP_DST),
            16 => either(OxmField::TCP_SRC, OxmField::UDP_SRC),
            32 if destination => field(OxmField::IPV4_DST),
            32 => field(OxmField::IPV4_SRC),
            48 if destination => field(OxmField::ETH_DST),
            48 => field(OxmField::ETH_SRC),
            64.. => self.sequence.into(),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use p4runtime::packet_io::ByteString;
    use p4runtime::session::PipelineRegistry;

    use super::*;
    use crate::ledger::{Tally, Window};

    /// An Ethernet frame from 02:00:00:00:00:01 to 02:00:00:00:00:02, with IPv4 10.0.0.1 to
    /// 10.0.0.2 and UDP 50000 to 50001.
    const FRAME: [u8; 42] = [
        2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0,
        0, 1, 10, 0, 0, 2, 0xc3, 0x50, 0xc3, 0x51, 0, 8, 0, 0,
    ];

    fn pipeline(text: &str) -> Arc<Pipeline> {
        let p4info = p4runtime::p4info::text::parse(text).expect("a P4Info");
        let registry = PipelineRegistry::new();
        registry.intern(p4info, &Bytes::new(), ByteString::Canonical).expect("a pipeline")
    }

    fn struct_of(members: &[(&str, u32)]) -> String {
        let member = |(name, bits): &(&str, u32)| {
            format!(
                "members {{ name: '{name}' type_spec {{ bitstring {{ bit {{ bitwidth: {bits} }} }} \
                 }} }}"
            )
        };
        let members: String = members.iter().map(member).collect();
        format!(
            "type_info {{ structs {{ key: 's' value {{ {members} }} }} }} digests {{ preamble {{ \
             id: 0x17000001 name: 'ingress.learn' alias: 'learn' }} type_spec {{ struct {{ name: \
             's' }} }} }}"
        )
    }

    fn learned(form: &DigestForm) -> Data {
        form.data(&Packet::new(&FRAME), 258, 0x0102)
    }

    fn bits(bytes: &[u8]) -> Data {
        Data::Bits(Box::from(bytes))
    }

    #[test]
    fn the_first_acknowledgement_of_a_list_that_left_is_its_answer() {
        const DIGEST: DigestId = DigestId(0x1700_0001);
        let tally = Tally::new(Window { from: 0, to: 1_000 }, 1_000, 100);
        let mut recorder = Recorder::new(tally, std::iter::once(0), false, 1_000_000);
        // The second packet waits for its turn and leaves later than it is due.
        for (due, left) in [(100, Some(110)), (200, Some(290)), (300, None)] {
            recorder.due_and_waits(0, due);
            let (_, sequence) = recorder.issue_waiting(0).expect("it waits");
            if let Some(left) = left {
                recorder.left(0, sequence, left);
            }
        }
        let mut ack = |digest_id, list_id, at| {
            let ack = v1::DigestListAck { digest_id, list_id };
            acknowledged(&mut recorder, 0, DIGEST, &ack, at)
        };
        assert_eq!(ack(DIGEST.0, 2, 400), Answer::First { frees_place: true });
        assert_eq!(ack(DIGEST.0, 2, 410), Answer::Duplicate);
        // In turn: no list id, the id of a list that has not left, the id of a list that does not
        // exist yet, another digest.
        for (digest, list) in [(DIGEST.0, 0), (DIGEST.0, 3), (DIGEST.0, 4), (DIGEST.0 + 1, 1)] {
            assert_eq!(ack(digest, list, 420), Answer::Unmatched, "{digest:#x} {list}");
        }
        assert_eq!(ack(DIGEST.0, 1, 1_300), Answer::First { frees_place: true });
        let counts = recorder.counts(0);
        assert_eq!((counts.due, counts.sent), (3, 2));
        assert_eq!((counts.answered, counts.late, counts.duplicated), (2, 1, 1));
        // The times count from due: 200 and 1,200 ns.
        let times = &recorder.tally.histograms.rtt_from_due;
        assert_eq!((times.len(), times.min(), times.max()), (2, 200, 1_200));
    }

    #[test]
    fn members_of_a_struct_are_filled_by_name_and_width() {
        let text = struct_of(&[
            ("dst_addr", 48),
            ("src_addr", 48),
            ("ingress_port", 9),
            ("ip", 32),
            ("destIp", 32),
            ("dst_port", 16),
            ("etherType", 16),
            ("id", 64),
            ("flag", 1),
            ("in_port", 4),
        ]);
        let form = DigestForm::of(&pipeline(&text), "learn").expect("it is there");
        assert_eq!((form.id, form.name.as_str()), (DigestId(0x1700_0001), "ingress.learn"));
        let expected = [
            &[2, 0, 0, 0, 0, 2][..],
            &[2, 0, 0, 0, 0, 1],
            &[1, 2],
            &[10, 0, 0, 1],
            &[10, 0, 0, 2],
            &[0xc3, 0x51],
            &[8, 0],
            &[1, 2],
            &[0],
            // The value is truncated to the width of the member.
            &[2],
        ];
        assert_eq!(learned(&form), Data::Struct(expected.map(bits).to_vec()));
    }

    #[test]
    fn without_names_the_first_of_a_width_is_the_source() {
        let member = |bits| format!("members {{ bitstring {{ bit {{ bitwidth: {bits} }} }} }}");
        let members: String = [32, 32, 16, 16, 8].map(member).concat();
        let text = format!(
            "digests {{ preamble {{ id: 0x17000001 name: 'd' alias: 'd' }} type_spec {{ tuple {{ \
             {members} }} }} }}"
        );
        let form = DigestForm::of(&pipeline(&text), "").expect("there is one");
        let expected = [&[10, 0, 0, 1][..], &[10, 0, 0, 2], &[0xc3, 0x50], &[0xc3, 0x51], &[17]];
        assert_eq!(learned(&form), Data::Tuple(expected.map(bits).to_vec()));
    }

    #[test]
    fn a_digest_that_is_missing_is_named_with_those_that_are_there() {
        let none = DigestForm::of(&pipeline(""), "").expect_err("there is none");
        assert_eq!(none, NoDigest::None);
        assert_eq!(DigestForm::of(&pipeline(""), "learn").expect_err("none"), NoDigest::None);
        let other =
            DigestForm::of(&pipeline(&struct_of(&[("a", 48)])), "mac").expect_err("another");
        assert_eq!(
            other.to_string(),
            "the pipeline declares no digest \"mac\" (p4runtime.digest); it declares ingress.learn"
        );
    }
}
