//! The errors with which a switch rejects a request (specification 1.3.5, section 7.4.4).
//!
//! Type and code are numbers, as in the message. [`ErrorReason`] provides names for the
//! combinations that the specification defines.

use super::codec::{Wire, put_u16, put_u32};
use crate::cursor::Reader;
use crate::error::{DecodeError, EncodeError};
use crate::{ErrorReason, Version};

/// An error message (`ofp_error_msg`). Its transaction id is that of the failed request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ErrorMessage {
    /// An error that the specification defines, or whose type is unknown.
    Standard {
        /// The type of the error, which states what kind of request failed.
        error_type: u16,
        /// The reason of the error, as a number whose meaning depends on the type.
        code: u16,
        /// The beginning of the request, at least 64 bytes, or a text if the hello failed.
        data: Vec<u8>,
    },
    /// An error that an experimenter defines, `ofp_error_experimenter_msg`.
    Experimenter {
        /// The reason of the error, as a number that the experimenter defines.
        exp_type: u16,
        /// The experimenter's id.
        experimenter: u32,
        /// The experimenter's data.
        data: Vec<u8>,
    },
}

impl ErrorMessage {
    /// Returns the reason of the error, or `None` if the specification does not define it.
    pub fn reason(&self) -> Option<ErrorReason> {
        match self {
            Self::Standard { error_type, code, .. } => {
                ErrorReason::from_codes(Version::V1_3, *error_type, *code)
            }
            Self::Experimenter { .. } => None,
        }
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
}
