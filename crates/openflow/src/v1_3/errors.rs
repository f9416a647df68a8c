//! Why a switch refused a request (specification 1.3.5, section 7.4.4).
//!
//! Type and code stay as they are on the wire; [`ErrorReason`] names those that the specification
//! defines.

use super::codec::{Wire, put_u16, put_u32};
use crate::cursor::Reader;
use crate::error::{DecodeError, EncodeError};
use crate::{ErrorReason, Version};

/// Bytes of a request that an error quotes, at least, if it has as many.
const QUOTED: usize = 64;

/// Says that a request failed, `ofp_error_msg`; its transaction id is that of the request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ErrorMessage {
    /// An error that the specification defines, or whose type is unknown.
    Standard {
        /// What kind of request failed.
        error_type: u16,
        /// Why, in the numbering of the type.
        code: u16,
        /// At least 64 bytes of the request, or a text if the hello failed.
        data: Vec<u8>,
    },
    /// An error that an experimenter defines, `ofp_error_experimenter_msg`.
    Experimenter {
        /// Why, in the numbering of the experimenter.
        exp_type: u16,
        /// The experimenter's id.
        experimenter: u32,
        /// What the experimenter puts there.
        data: Vec<u8>,
    },
}

impl ErrorMessage {
    /// Refuses `request`, of which as much as the specification asks for is sent back.
    ///
    /// The one reason that this version has no code for, [`ErrorReason::FlowModUnsupported`], is
    /// sent as `FLOW_MOD_FAILED/UNKNOWN`.
    pub fn refusing(request: &[u8], reason: ErrorReason) -> Self {
        let (error_type, code) = reason.codes(Version::V1_3).unwrap_or((5, 0));
        let data = request.get(..QUOTED).unwrap_or(request).to_vec();
        Self::Standard { error_type, code, data }
    }

    /// The reason, if it is one that the specification defines.
    pub fn reason(&self) -> Option<ErrorReason> {
        match self {
            Self::Standard { error_type, code, .. } => {
                ErrorReason::from_codes(Version::V1_3, *error_type, *code)
            }
            Self::Experimenter { .. } => None,
        }
    }
}

/// The reason with which a switch of this version refuses a message that
/// [`Message::decode`](super::Message::decode) could not read.
pub fn refusal_reason(error: &DecodeError) -> ErrorReason {
    let field = error.field;
    let within = |structure: &str| field.starts_with(structure);
    match field {
        "ofp_header.version" => ErrorReason::BadRequestBadVersion,
        "ofp_header.type" => ErrorReason::BadRequestBadType,
        "ofp_match.type" => ErrorReason::BadMatchBadType,
        _ if within("oxm_id") || within("ofp_table_feature") => ErrorReason::TableFeaturesBadLen,
        _ if within("ofp_match") || within("oxm") => ErrorReason::BadMatchBadLen,
        _ if within("ofp_action_set_field") => ErrorReason::BadActionBadSetLen,
        _ if within("ofp_action") => ErrorReason::BadActionBadLen,
        _ if within("ofp_instruction") => ErrorReason::BadInstructionBadLen,
        _ if within("ofp_bucket") => ErrorReason::GroupModBadBucket,
        _ if within("ofp_meter_band") => ErrorReason::MeterModBadBand,
        _ => ErrorReason::BadRequestBadLen,
    }
}

impl Wire for ErrorMessage {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let error_type = reader.u16("ofp_error_msg.type")?;
        let code = reader.u16("ofp_error_msg.code")?;
        if error_type == ErrorReason::EXPERIMENTER_TYPE {
            let experimenter = reader.u32("ofp_error_experimenter_msg.experimenter")?;
            let data = reader.rest().to_vec();
            return Ok(Self::Experimenter { exp_type: code, experimenter, data });
        }
        Ok(Self::Standard { error_type, code, data: reader.rest().to_vec() })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self {
            Self::Standard { error_type, code, data } => {
                if *error_type == ErrorReason::EXPERIMENTER_TYPE {
                    let expected = "a type other than OFPET_EXPERIMENTER, which has a variant";
                    let value = u64::from(*error_type);
                    return Err(EncodeError::Value {
                        field: "ofp_error_msg.type",
                        value,
                        expected,
                    });
                }
                put_u16(out, *error_type);
                put_u16(out, *code);
                out.extend_from_slice(data);
            }
            Self::Experimenter { exp_type, experimenter, data } => {
                put_u16(out, ErrorReason::EXPERIMENTER_TYPE);
                put_u16(out, *exp_type);
                put_u32(out, *experimenter);
                out.extend_from_slice(data);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PortNumber;
    use crate::Xid;
    use crate::v1_3::{Action, FlowMod, Instruction, Match, Message, Oxm};

    #[test]
    fn a_refusal_quotes_the_request() {
        let error = ErrorMessage::refusing(&[4; 100], ErrorReason::BadRequestBadLen);
        let mut out = Vec::new();
        error.encode(&mut out).unwrap();
        assert_eq!(out.len(), 4 + 64);
        assert_eq!(out[..5], [0, 1, 0, 6, 4]);
        assert_eq!(error.reason(), Some(ErrorReason::BadRequestBadLen));
        assert_eq!(ErrorMessage::decode(&mut Reader::new(&out)), Ok(error));
        let short = ErrorMessage::refusing(&[4; 8], ErrorReason::FlowModUnsupported);
        assert_eq!(short, ErrorMessage::Standard { error_type: 5, code: 0, data: vec![4; 8] });
    }

    #[test]
    fn an_experimenter_error_has_a_variant_of_its_own() {
        let bytes = [0xff, 0xff, 0, 7, 0, 0, 0, 9, 1];
        let error = ErrorMessage::decode(&mut Reader::new(&bytes)).unwrap();
        let data = vec![1];
        assert_eq!(error, ErrorMessage::Experimenter { exp_type: 7, experimenter: 9, data });
        assert_eq!(error.reason(), None);
        let posing = ErrorMessage::Standard { error_type: 0xffff, code: 7, data: vec![] };
        assert!(posing.encode(&mut Vec::new()).is_err());
    }

    #[test]
    fn what_cannot_be_read_is_refused_for_what_it_is() {
        let flow_mod = FlowMod::add(
            Match::any().with_in_port(PortNumber(1)),
            vec![Instruction::ApplyActions(vec![
                Action::SetField(Oxm::VlanPcp(1)),
                Action::PopVlan,
            ])],
        );
        let mut good = Vec::new();
        Message::FlowMod(flow_mod).encode(Xid(1), &mut good).unwrap();
        for (at, value, reason) in [
            (0, 5, ErrorReason::BadRequestBadVersion),
            (1, 99, ErrorReason::BadRequestBadType),
            (3, 1, ErrorReason::BadRequestBadLen),
            (49, 0, ErrorReason::BadMatchBadType),
            (51, 200, ErrorReason::BadMatchBadLen),
            (55, 3, ErrorReason::BadMatchBadLen),
            (67, 9, ErrorReason::BadInstructionBadLen),
            (75, 9, ErrorReason::BadActionBadLen),
            (79, 2, ErrorReason::BadActionBadSetLen),
        ] {
            let mut frame = good.clone();
            frame[at] = value;
            let error = Message::decode(&frame).unwrap_err();
            assert_eq!(refusal_reason(&error), reason, "byte {at}: {error}");
        }
    }
}
