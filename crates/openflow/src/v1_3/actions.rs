//! The actions on packets: `ofp_action_*` (specification 1.3.5, section 7.2.5).

use super::codec::{
    Wire, aligned_tlv, begin, end_aligned, end_counting_padding, put_u16, put_u32, refuse_known,
};
use super::groups::GroupId;
use super::oxm::Oxm;
use super::queues::QueueId;
use crate::PortNumber;
use crate::cursor::{Reader, pad};
use crate::error::{DecodeError, EncodeError};

open_enum! {
    /// The type of an action, `ofp_action_type`.
    pub ActionType: u16 {
        /// Sends the packet out of a port.
        OUTPUT = 0,
        /// Copies the TTL from the second-outermost header with a TTL to the outermost one.
        COPY_TTL_OUT = 11,
        /// Copies the TTL from the outermost header with a TTL to the second-outermost one.
        COPY_TTL_IN = 12,
        /// Sets the MPLS TTL.
        SET_MPLS_TTL = 15,
        /// Decrements the MPLS TTL.
        DEC_MPLS_TTL = 16,
        /// Pushes a VLAN tag.
        PUSH_VLAN = 17,
        /// Pops the outer VLAN tag.
        POP_VLAN = 18,
        /// Pushes an MPLS label.
        PUSH_MPLS = 19,
        /// Pops the outer MPLS label.
        POP_MPLS = 20,
        /// Chooses the queue for output.
        SET_QUEUE = 21,
        /// Sends the packet through a group.
        GROUP = 22,
        /// Sets the IP TTL.
        SET_NW_TTL = 23,
        /// Decrements the IP TTL.
        DEC_NW_TTL = 24,
        /// Sets a header field.
        SET_FIELD = 25,
        /// Pushes a provider backbone bridge tag.
        PUSH_PBB = 26,
        /// Pops the outer provider backbone bridge tag.
        POP_PBB = 27,
        /// An experimenter defines the action.
        EXPERIMENTER = 0xffff,
    }
}

open_enum! {
    /// The number of bytes of a packet that are sent to the controller, `ofp_controller_max_len`.
    pub MaxLen: u16 {
        /// The largest number of bytes that an action can request of a packet that the switch
        /// buffers.
        MAX = 0xffe5,
        /// The request for the whole packet, which the switch then does not buffer.
        NO_BUFFER = 0xffff,
    }
}

/// An action on a packet. It is an element of an action list, which is executed immediately and in
/// order, or of the packet's action set, which is executed at the end of the pipeline.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Sends the packet out of a port.
    Output {
        /// The port to which the packet is sent.
        port: PortNumber,
        /// The number of bytes of the packet to send, if the port is [`PortNumber::CONTROLLER`].
        max_len: MaxLen,
    },
    /// Copies the TTL from the second-outermost header with a TTL to the outermost one.
    CopyTtlOut,
    /// Copies the TTL from the outermost header with a TTL to the second-outermost one.
    CopyTtlIn,
    /// Sets the TTL of the outermost MPLS label.
    SetMplsTtl(u8),
    /// Decrements the TTL of the outermost MPLS label.
    DecMplsTtl,
    /// Pushes a VLAN tag with this Ethernet type (0x8100 or 0x88a8).
    PushVlan(u16),
    /// Pops the outermost VLAN tag.
    PopVlan,
    /// Pushes an MPLS label with this Ethernet type (0x8847 or 0x8848).
    PushMpls(u16),
    /// Pops the outermost MPLS label. The value is the Ethernet type of the packet without it.
    PopMpls(u16),
    /// Chooses the queue of the port to which the packet is sent.
    SetQueue(QueueId),
    /// Sends the packet through a group.
    Group(GroupId),
    /// Sets the IP TTL.
    SetNwTtl(u8),
    /// Decrements the IP TTL.
    DecNwTtl,
    /// Sets a header field. The specification allows no mask in this action.
    SetField(Oxm),
    /// Pushes a provider backbone bridge tag with this Ethernet type (0x88e7).
    PushPbb(u16),
    /// Pops the outermost provider backbone bridge tag.
    PopPbb,
    /// An action that an experimenter defines.
    Experimenter {
        /// The experimenter's id.
        experimenter: u32,
        /// The bytes of the action after the experimenter's id. Their length must be a multiple of
        /// eight.
        data: Vec<u8>,
    },
    /// An action of a type that the specification does not define.
    Unknown {
        /// The type of the action, which the specification does not define.
        kind: ActionType,
        /// The bytes of the action after its type and length. Their length must be four more than a
        /// multiple of eight.
        data: Vec<u8>,
    },
}

impl Action {
    /// Creates an action that sends the packet out of `port`. If the port is the controller, the
    /// packet-in contains the whole packet.
    pub const fn output(port: PortNumber) -> Self {
        Self::Output { port, max_len: MaxLen::NO_BUFFER }
    }

    /// Creates an action that sends the packet to the controller. If the switch can buffer the
    /// packet, it sends at most the first `max_len` bytes.
    pub const fn to_controller(max_len: MaxLen) -> Self {
        Self::Output { port: PortNumber::CONTROLLER, max_len }
    }

    /// Returns the type of the action.
    pub const fn kind(&self) -> ActionType {
        match self {
            Self::Output { .. } => ActionType::OUTPUT,
            Self::CopyTtlOut => ActionType::COPY_TTL_OUT,
            Self::CopyTtlIn => ActionType::COPY_TTL_IN,
            Self::SetMplsTtl(_) => ActionType::SET_MPLS_TTL,
            Self::DecMplsTtl => ActionType::DEC_MPLS_TTL,
            Self::PushVlan(_) => ActionType::PUSH_VLAN,
            Self::PopVlan => ActionType::POP_VLAN,
            Self::PushMpls(_) => ActionType::PUSH_MPLS,
            Self::PopMpls(_) => ActionType::POP_MPLS,
            Self::SetQueue(_) => ActionType::SET_QUEUE,
            Self::Group(_) => ActionType::GROUP,
            Self::SetNwTtl(_) => ActionType::SET_NW_TTL,
            Self::DecNwTtl => ActionType::DEC_NW_TTL,
            Self::SetField(_) => ActionType::SET_FIELD,
            Self::PushPbb(_) => ActionType::PUSH_PBB,
            Self::PopPbb => ActionType::POP_PBB,
            Self::Experimenter { .. } => ActionType::EXPERIMENTER,
            Self::Unknown { kind, .. } => *kind,
        }
    }
}

const LENGTH: &str = "ofp_action_header.len";

impl Wire for Action {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (kind, mut body) = aligned_tlv(reader, LENGTH)?;
        let kind = ActionType(kind);
        let action = match kind {
            ActionType::OUTPUT => {
                let port = PortNumber(body.u32("ofp_action_output.port")?);
                let max_len = MaxLen(body.u16("ofp_action_output.max_len")?);
                body.skip(6, "ofp_action_output.pad")?;
                Self::Output { port, max_len }
            }
            ActionType::SET_MPLS_TTL => Self::SetMplsTtl(ttl(&mut body)?),
            ActionType::SET_NW_TTL => Self::SetNwTtl(ttl(&mut body)?),
            ActionType::PUSH_VLAN => Self::PushVlan(ethertype(&mut body)?),
            ActionType::PUSH_MPLS => Self::PushMpls(ethertype(&mut body)?),
            ActionType::POP_MPLS => Self::PopMpls(ethertype(&mut body)?),
            ActionType::PUSH_PBB => Self::PushPbb(ethertype(&mut body)?),
            ActionType::SET_QUEUE => {
                Self::SetQueue(QueueId(body.u32("ofp_action_set_queue.queue_id")?))
            }
            ActionType::GROUP => Self::Group(GroupId(body.u32("ofp_action_group.group_id")?)),
            ActionType::SET_FIELD => {
                let name = "ofp_action_set_field.field";
                let field =
                    Oxm::decode(&mut body).map_err(|error| DecodeError { field: name, ..error })?;
                // The length counts the padding, of which there can be at most seven bytes.
                let padding = body.remaining().min(7);
                body.skip(padding, name)?;
                Self::SetField(field)
            }
            ActionType::EXPERIMENTER => {
                let experimenter = body.u32("ofp_action_experimenter_header.experimenter")?;
                Self::Experimenter { experimenter, data: body.rest().to_vec() }
            }
            ActionType::COPY_TTL_OUT => bare(&mut body, Self::CopyTtlOut)?,
            ActionType::COPY_TTL_IN => bare(&mut body, Self::CopyTtlIn)?,
            ActionType::DEC_MPLS_TTL => bare(&mut body, Self::DecMplsTtl)?,
            ActionType::POP_VLAN => bare(&mut body, Self::PopVlan)?,
            ActionType::DEC_NW_TTL => bare(&mut body, Self::DecNwTtl)?,
            ActionType::POP_PBB => bare(&mut body, Self::PopPbb)?,
            kind => Self::Unknown { kind, data: body.rest().to_vec() },
        };
        body.finish(LENGTH)?;
        Ok(action)
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = begin(out, self.kind().0);
        match self {
            Self::Output { port, max_len } => {
                put_u32(out, port.0);
                put_u16(out, max_len.0);
                pad(out, 6);
            }
            Self::SetMplsTtl(ttl) | Self::SetNwTtl(ttl) => {
                out.push(*ttl);
                pad(out, 3);
            }
            Self::PushVlan(ethertype)
            | Self::PushMpls(ethertype)
            | Self::PopMpls(ethertype)
            | Self::PushPbb(ethertype) => {
                put_u16(out, *ethertype);
                pad(out, 2);
            }
            Self::SetQueue(queue) => put_u32(out, queue.0),
            Self::Group(group) => put_u32(out, group.0),
            Self::SetField(field) => {
                field.write(out);
                return end_counting_padding(out, start, LENGTH);
            }
            Self::Experimenter { experimenter, data } => {
                put_u32(out, *experimenter);
                out.extend_from_slice(data);
            }
            Self::Unknown { kind, data } => {
                refuse_known(kind.0, kind.name().is_some(), "ofp_action_header.type")?;
                out.extend_from_slice(data);
            }
            Self::CopyTtlOut
            | Self::CopyTtlIn
            | Self::DecMplsTtl
            | Self::PopVlan
            | Self::DecNwTtl
            | Self::PopPbb => pad(out, 4),
        }
        end_aligned(out, start, LENGTH)
    }
}

fn ttl(body: &mut Reader<'_>) -> Result<u8, DecodeError> {
    let ttl = body.u8("ofp_action_ttl.ttl")?;
    body.skip(3, "ofp_action_ttl.pad")?;
    Ok(ttl)
}

fn ethertype(body: &mut Reader<'_>) -> Result<u16, DecodeError> {
    let ethertype = body.u16("ofp_action_push.ethertype")?;
    body.skip(2, "ofp_action_push.pad")?;
    Ok(ethertype)
}

fn bare(body: &mut Reader<'_>, action: Action) -> Result<Action, DecodeError> {
    body.skip(4, "ofp_action_header.pad")?;
    Ok(action)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::error::DecodeErrorKind;
    use crate::v1_3::oxm::{OxmClass, RawOxm};

    fn round_trip(action: &Action) -> Vec<u8> {
        let mut out = Vec::new();
        action.encode(&mut out).unwrap();
        let mut reader = Reader::new(&out);
        assert_eq!(Action::decode(&mut reader).as_ref(), Ok(action));
        assert!(reader.is_empty());
        out
    }

    #[test]
    fn output_is_sixteen_bytes() {
        let bytes = round_trip(&Action::to_controller(MaxLen(128)));
        assert_eq!(bytes, [0, 0, 0, 16, 0xff, 0xff, 0xff, 0xfd, 0, 128, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn set_field_counts_its_padding() {
        let bytes = round_trip(&Action::SetField(Oxm::Ipv4Src(Ipv4Addr::new(10, 0, 0, 1).into())));
        assert_eq!(bytes, [0, 25, 0, 16, 0x80, 0, 0x16, 4, 10, 0, 0, 1, 0, 0, 0, 0]);
        let bytes = round_trip(&Action::SetField(Oxm::VlanPcp(5)));
        assert_eq!(bytes, [0, 25, 0, 16, 0x80, 0, 0x0e, 1, 5, 0, 0, 0, 0, 0, 0, 0]);
        let raw = RawOxm::new(OxmClass::EXPERIMENTER, 0, false, [0; 8]).unwrap();
        assert_eq!(round_trip(&Action::SetField(Oxm::Raw(raw))).len(), 16);
    }

    #[test]
    fn a_set_field_action_longer_than_its_field_is_refused() {
        let mut bytes = [0; 24];
        bytes[..9].copy_from_slice(&[0, 25, 0, 24, 0x80, 0, 0x0e, 1, 5]);
        let error = Action::decode(&mut Reader::new(&bytes)).unwrap_err();
        assert_eq!(error.kind, DecodeErrorKind::Trailing(8));
    }

    #[test]
    fn lengths_are_checked() {
        for bytes in [
            &[0, 0, 0, 8, 0, 0, 0, 1][..],
            &[0, 0, 0, 24, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0, 18, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0, 18, 0, 4],
            &[0, 18, 0, 0, 0, 0, 0, 0],
            &[0, 22, 0, 16, 0, 0, 0, 1],
        ] {
            assert!(Action::decode(&mut Reader::new(bytes)).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn unknown_types_are_kept_but_known_ones_do_not_pass_as_unknown() {
        let unknown = |kind, data: &[u8]| Action::Unknown { kind, data: data.to_vec() };
        assert_eq!(round_trip(&unknown(ActionType(99), &[1, 2, 3, 4])).len(), 8);
        assert!(unknown(ActionType::OUTPUT, &[0; 12]).encode(&mut Vec::new()).is_err());
        assert!(unknown(ActionType(99), &[0; 5]).encode(&mut Vec::new()).is_err());
        let data = vec![0; 3];
        assert!(Action::Experimenter { experimenter: 1, data }.encode(&mut Vec::new()).is_err());
    }
}
