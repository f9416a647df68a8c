//! Why a switch refused a request (specification 1.3.5, section 7.4.4).
//!
//! A type and a code say why, and both are open: what this crate has no name for keeps its numbers.

use std::fmt;

use super::codec::{Wire, put_u16, put_u32};
use crate::cursor::Reader;
use crate::error::{DecodeError, EncodeError};

open_enum! {
    /// What kind of request failed, `ofp_error_type`.
    pub ErrorType: u16 {
        /// Version negotiation failed.
        HELLO_FAILED = 0,
        /// The request was not understood.
        BAD_REQUEST = 1,
        /// An action is wrong.
        BAD_ACTION = 2,
        /// An instruction is wrong.
        BAD_INSTRUCTION = 3,
        /// A match is wrong.
        BAD_MATCH = 4,
        /// A flow-mod failed.
        FLOW_MOD_FAILED = 5,
        /// A group-mod failed.
        GROUP_MOD_FAILED = 6,
        /// A port-mod failed.
        PORT_MOD_FAILED = 7,
        /// A table-mod failed.
        TABLE_MOD_FAILED = 8,
        /// A queue operation failed.
        QUEUE_OP_FAILED = 9,
        /// A switch configuration failed.
        SWITCH_CONFIG_FAILED = 10,
        /// A role request failed.
        ROLE_REQUEST_FAILED = 11,
        /// A meter-mod failed.
        METER_MOD_FAILED = 12,
        /// Setting table features failed.
        TABLE_FEATURES_FAILED = 13,
        /// Defined by an experimenter.
        EXPERIMENTER = 0xffff,
    }
}

/// Why a request failed: a type and a code that means something within it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErrorCode {
    /// What kind of request failed.
    pub kind: ErrorType,
    /// Why, in the numbering of the type.
    pub code: u16,
}

macro_rules! error_codes {
    ($( $kind:ident { $( $(#[$meta:meta])* $constant:ident $name:ident = $code:literal, )* } )*) => {
        impl ErrorCode {
            $( $(
                $(#[$meta])*
                pub const $constant: Self = Self { kind: ErrorType::$kind, code: $code };
            )* )*

            /// The name of the code within its type, if it has one.
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $( $( Self::$constant => Some(stringify!($name)), )* )*
                    _ => None,
                }
            }

            /// All codes that the specification defines.
            pub const ALL: &'static [Self] = &[$( $( Self::$constant, )* )*];
        }
    };
}

error_codes! {
    HELLO_FAILED {
        /// There is no version that both sides speak.
        HELLO_FAILED_INCOMPATIBLE INCOMPATIBLE = 0,
        /// It is not permitted.
        HELLO_FAILED_EPERM EPERM = 1,
    }
    BAD_REQUEST {
        /// The version in the header is not supported.
        BAD_REQUEST_BAD_VERSION BAD_VERSION = 0,
        /// The message type is not supported.
        BAD_REQUEST_BAD_TYPE BAD_TYPE = 1,
        /// The multipart type is not supported.
        BAD_REQUEST_BAD_MULTIPART BAD_MULTIPART = 2,
        /// The experimenter is not supported.
        BAD_REQUEST_BAD_EXPERIMENTER BAD_EXPERIMENTER = 3,
        /// The experimenter's type is not supported.
        BAD_REQUEST_BAD_EXP_TYPE BAD_EXP_TYPE = 4,
        /// It is not permitted.
        BAD_REQUEST_EPERM EPERM = 5,
        /// The length is wrong for the type.
        BAD_REQUEST_BAD_LEN BAD_LEN = 6,
        /// The buffer has been used already.
        BAD_REQUEST_BUFFER_EMPTY BUFFER_EMPTY = 7,
        /// The buffer does not exist.
        BAD_REQUEST_BUFFER_UNKNOWN BUFFER_UNKNOWN = 8,
        /// The table is invalid or does not exist.
        BAD_REQUEST_BAD_TABLE_ID BAD_TABLE_ID = 9,
        /// The controller is a slave.
        BAD_REQUEST_IS_SLAVE IS_SLAVE = 10,
        /// The port is invalid.
        BAD_REQUEST_BAD_PORT BAD_PORT = 11,
        /// The packet in the packet-out is invalid.
        BAD_REQUEST_BAD_PACKET BAD_PACKET = 12,
        /// The multipart request overran the buffer.
        BAD_REQUEST_MULTIPART_BUFFER_OVERFLOW MULTIPART_BUFFER_OVERFLOW = 13,
    }
    BAD_ACTION {
        /// The action type is unknown.
        BAD_ACTION_BAD_TYPE BAD_TYPE = 0,
        /// A length is wrong.
        BAD_ACTION_BAD_LEN BAD_LEN = 1,
        /// The experimenter is unknown.
        BAD_ACTION_BAD_EXPERIMENTER BAD_EXPERIMENTER = 2,
        /// The experimenter's type is unknown.
        BAD_ACTION_BAD_EXP_TYPE BAD_EXP_TYPE = 3,
        /// The output port is invalid.
        BAD_ACTION_BAD_OUT_PORT BAD_OUT_PORT = 4,
        /// An argument is wrong.
        BAD_ACTION_BAD_ARGUMENT BAD_ARGUMENT = 5,
        /// It is not permitted.
        BAD_ACTION_EPERM EPERM = 6,
        /// There are too many actions.
        BAD_ACTION_TOO_MANY TOO_MANY = 7,
        /// The queue is invalid.
        BAD_ACTION_BAD_QUEUE BAD_QUEUE = 8,
        /// The group is invalid.
        BAD_ACTION_BAD_OUT_GROUP BAD_OUT_GROUP = 9,
        /// The action does not fit the match, or its prerequisite is missing.
        BAD_ACTION_MATCH_INCONSISTENT MATCH_INCONSISTENT = 10,
        /// The order of actions is not supported.
        BAD_ACTION_UNSUPPORTED_ORDER UNSUPPORTED_ORDER = 11,
        /// The tag or encapsulation is not supported.
        BAD_ACTION_BAD_TAG BAD_TAG = 12,
        /// The field cannot be set.
        BAD_ACTION_BAD_SET_TYPE BAD_SET_TYPE = 13,
        /// The field's length is wrong.
        BAD_ACTION_BAD_SET_LEN BAD_SET_LEN = 14,
        /// The field's value is wrong.
        BAD_ACTION_BAD_SET_ARGUMENT BAD_SET_ARGUMENT = 15,
    }
    BAD_INSTRUCTION {
        /// The instruction is unknown.
        BAD_INSTRUCTION_UNKNOWN_INST UNKNOWN_INST = 0,
        /// The switch or table does not support the instruction.
        BAD_INSTRUCTION_UNSUP_INST UNSUP_INST = 1,
        /// The table is invalid.
        BAD_INSTRUCTION_BAD_TABLE_ID BAD_TABLE_ID = 2,
        /// The metadata are not supported.
        BAD_INSTRUCTION_UNSUP_METADATA UNSUP_METADATA = 3,
        /// The metadata mask is not supported.
        BAD_INSTRUCTION_UNSUP_METADATA_MASK UNSUP_METADATA_MASK = 4,
        /// The experimenter is unknown.
        BAD_INSTRUCTION_BAD_EXPERIMENTER BAD_EXPERIMENTER = 5,
        /// The experimenter's type is unknown.
        BAD_INSTRUCTION_BAD_EXP_TYPE BAD_EXP_TYPE = 6,
        /// A length is wrong.
        BAD_INSTRUCTION_BAD_LEN BAD_LEN = 7,
        /// It is not permitted.
        BAD_INSTRUCTION_EPERM EPERM = 8,
    }
    BAD_MATCH {
        /// The kind of match is not supported.
        BAD_MATCH_BAD_TYPE BAD_TYPE = 0,
        /// A length is wrong.
        BAD_MATCH_BAD_LEN BAD_LEN = 1,
        /// The tag or encapsulation is not supported.
        BAD_MATCH_BAD_TAG BAD_TAG = 2,
        /// The mask of the link-layer address is not supported.
        BAD_MATCH_BAD_DL_ADDR_MASK BAD_DL_ADDR_MASK = 3,
        /// The mask of the network address is not supported.
        BAD_MATCH_BAD_NW_ADDR_MASK BAD_NW_ADDR_MASK = 4,
        /// The combination of fields left out is not supported.
        BAD_MATCH_BAD_WILDCARDS BAD_WILDCARDS = 5,
        /// The field is not supported.
        BAD_MATCH_BAD_FIELD BAD_FIELD = 6,
        /// The value is not supported.
        BAD_MATCH_BAD_VALUE BAD_VALUE = 7,
        /// The mask is not supported.
        BAD_MATCH_BAD_MASK BAD_MASK = 8,
        /// A prerequisite is missing.
        BAD_MATCH_BAD_PREREQ BAD_PREREQ = 9,
        /// A field occurs twice.
        BAD_MATCH_DUP_FIELD DUP_FIELD = 10,
        /// It is not permitted.
        BAD_MATCH_EPERM EPERM = 11,
    }
    FLOW_MOD_FAILED {
        /// For no stated reason.
        FLOW_MOD_FAILED_UNKNOWN UNKNOWN = 0,
        /// The table is full.
        FLOW_MOD_FAILED_TABLE_FULL TABLE_FULL = 1,
        /// The table does not exist.
        FLOW_MOD_FAILED_BAD_TABLE_ID BAD_TABLE_ID = 2,
        /// The entry overlaps another.
        FLOW_MOD_FAILED_OVERLAP OVERLAP = 3,
        /// It is not permitted.
        FLOW_MOD_FAILED_EPERM EPERM = 4,
        /// The timeout is not supported.
        FLOW_MOD_FAILED_BAD_TIMEOUT BAD_TIMEOUT = 5,
        /// The command is unknown.
        FLOW_MOD_FAILED_BAD_COMMAND BAD_COMMAND = 6,
        /// The flags are unknown.
        FLOW_MOD_FAILED_BAD_FLAGS BAD_FLAGS = 7,
    }
    GROUP_MOD_FAILED {
        /// The group exists already.
        GROUP_MOD_FAILED_GROUP_EXISTS GROUP_EXISTS = 0,
        /// The group is invalid.
        GROUP_MOD_FAILED_INVALID_GROUP INVALID_GROUP = 1,
        /// Unequal weights are not supported.
        GROUP_MOD_FAILED_WEIGHT_UNSUPPORTED WEIGHT_UNSUPPORTED = 2,
        /// There is no room for more groups.
        GROUP_MOD_FAILED_OUT_OF_GROUPS OUT_OF_GROUPS = 3,
        /// There is no room for more buckets.
        GROUP_MOD_FAILED_OUT_OF_BUCKETS OUT_OF_BUCKETS = 4,
        /// Groups that point to groups are not supported.
        GROUP_MOD_FAILED_CHAINING_UNSUPPORTED CHAINING_UNSUPPORTED = 5,
        /// The group cannot watch what it should.
        GROUP_MOD_FAILED_WATCH_UNSUPPORTED WATCH_UNSUPPORTED = 6,
        /// The group would make a loop.
        GROUP_MOD_FAILED_LOOP LOOP = 7,
        /// The group does not exist.
        GROUP_MOD_FAILED_UNKNOWN_GROUP UNKNOWN_GROUP = 8,
        /// Another group points to the group.
        GROUP_MOD_FAILED_CHAINED_GROUP CHAINED_GROUP = 9,
        /// The group type is unknown.
        GROUP_MOD_FAILED_BAD_TYPE BAD_TYPE = 10,
        /// The command is unknown.
        GROUP_MOD_FAILED_BAD_COMMAND BAD_COMMAND = 11,
        /// A bucket is wrong.
        GROUP_MOD_FAILED_BAD_BUCKET BAD_BUCKET = 12,
        /// The port or group to watch is wrong.
        GROUP_MOD_FAILED_BAD_WATCH BAD_WATCH = 13,
        /// It is not permitted.
        GROUP_MOD_FAILED_EPERM EPERM = 14,
    }
    PORT_MOD_FAILED {
        /// The port does not exist.
        PORT_MOD_FAILED_BAD_PORT BAD_PORT = 0,
        /// The Ethernet address is not the port's.
        PORT_MOD_FAILED_BAD_HW_ADDR BAD_HW_ADDR = 1,
        /// The configuration is invalid.
        PORT_MOD_FAILED_BAD_CONFIG BAD_CONFIG = 2,
        /// The advertised features are invalid.
        PORT_MOD_FAILED_BAD_ADVERTISE BAD_ADVERTISE = 3,
        /// It is not permitted.
        PORT_MOD_FAILED_EPERM EPERM = 4,
    }
    TABLE_MOD_FAILED {
        /// The table does not exist.
        TABLE_MOD_FAILED_BAD_TABLE BAD_TABLE = 0,
        /// The configuration is invalid.
        TABLE_MOD_FAILED_BAD_CONFIG BAD_CONFIG = 1,
        /// It is not permitted.
        TABLE_MOD_FAILED_EPERM EPERM = 2,
    }
    QUEUE_OP_FAILED {
        /// The port is invalid or does not exist.
        QUEUE_OP_FAILED_BAD_PORT BAD_PORT = 0,
        /// The queue does not exist.
        QUEUE_OP_FAILED_BAD_QUEUE BAD_QUEUE = 1,
        /// It is not permitted.
        QUEUE_OP_FAILED_EPERM EPERM = 2,
    }
    SWITCH_CONFIG_FAILED {
        /// The flags are invalid.
        SWITCH_CONFIG_FAILED_BAD_FLAGS BAD_FLAGS = 0,
        /// The length is invalid.
        SWITCH_CONFIG_FAILED_BAD_LEN BAD_LEN = 1,
        /// It is not permitted.
        SWITCH_CONFIG_FAILED_EPERM EPERM = 2,
    }
    ROLE_REQUEST_FAILED {
        /// The generation id is old.
        ROLE_REQUEST_FAILED_STALE STALE = 0,
        /// The role cannot be changed.
        ROLE_REQUEST_FAILED_UNSUP UNSUP = 1,
        /// The role is invalid.
        ROLE_REQUEST_FAILED_BAD_ROLE BAD_ROLE = 2,
    }
    METER_MOD_FAILED {
        /// For no stated reason.
        METER_MOD_FAILED_UNKNOWN UNKNOWN = 0,
        /// The meter exists already.
        METER_MOD_FAILED_METER_EXISTS METER_EXISTS = 1,
        /// The meter is invalid.
        METER_MOD_FAILED_INVALID_METER INVALID_METER = 2,
        /// The meter does not exist.
        METER_MOD_FAILED_UNKNOWN_METER UNKNOWN_METER = 3,
        /// The command is unknown.
        METER_MOD_FAILED_BAD_COMMAND BAD_COMMAND = 4,
        /// The flags are not supported.
        METER_MOD_FAILED_BAD_FLAGS BAD_FLAGS = 5,
        /// The rate is not supported.
        METER_MOD_FAILED_BAD_RATE BAD_RATE = 6,
        /// The burst size is not supported.
        METER_MOD_FAILED_BAD_BURST BAD_BURST = 7,
        /// The band is not supported.
        METER_MOD_FAILED_BAD_BAND BAD_BAND = 8,
        /// The band's value is not supported.
        METER_MOD_FAILED_BAD_BAND_VALUE BAD_BAND_VALUE = 9,
        /// There is no room for more meters.
        METER_MOD_FAILED_OUT_OF_METERS OUT_OF_METERS = 10,
        /// There is no room for more bands.
        METER_MOD_FAILED_OUT_OF_BANDS OUT_OF_BANDS = 11,
    }
    TABLE_FEATURES_FAILED {
        /// The table does not exist.
        TABLE_FEATURES_FAILED_BAD_TABLE BAD_TABLE = 0,
        /// The metadata mask is invalid.
        TABLE_FEATURES_FAILED_BAD_METADATA BAD_METADATA = 1,
        /// The property type is unknown.
        TABLE_FEATURES_FAILED_BAD_TYPE BAD_TYPE = 2,
        /// A length is wrong.
        TABLE_FEATURES_FAILED_BAD_LEN BAD_LEN = 3,
        /// A property's value is not supported.
        TABLE_FEATURES_FAILED_BAD_ARGUMENT BAD_ARGUMENT = 4,
        /// It is not permitted.
        TABLE_FEATURES_FAILED_EPERM EPERM = 5,
    }
}

impl ErrorCode {
    /// A code by its numbers.
    pub const fn new(kind: ErrorType, code: u16) -> Self {
        Self { kind, code }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{}/{name}", self.kind),
            None => write!(f, "{}/{:#x}", self.kind, self.code),
        }
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ErrorCode({self})")
    }
}

/// Says that a request failed, `ofp_error_msg`; its transaction id is that of the request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ErrorMessage {
    /// An error that the specification defines, or whose type is unknown.
    Standard {
        /// Why.
        code: ErrorCode,
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
    pub fn refusing(request: &[u8], code: ErrorCode) -> Self {
        let shown = request.len().min(64);
        Self::Standard { code, data: request[..shown].to_vec() }
    }
}

impl Wire for ErrorMessage {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let kind = ErrorType(reader.u16("ofp_error_msg.type")?);
        let code = reader.u16("ofp_error_msg.code")?;
        if kind == ErrorType::EXPERIMENTER {
            let experimenter = reader.u32("ofp_error_experimenter_msg.experimenter")?;
            let data = reader.rest().to_vec();
            return Ok(Self::Experimenter { exp_type: code, experimenter, data });
        }
        Ok(Self::Standard { code: ErrorCode { kind, code }, data: reader.rest().to_vec() })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self {
            Self::Standard { code, data } => {
                if code.kind == ErrorType::EXPERIMENTER {
                    let expected = "a type other than OFPET_EXPERIMENTER, which has a variant";
                    let value = code.kind.0.into();
                    return Err(EncodeError::Value {
                        field: "ofp_error_msg.type",
                        value,
                        expected,
                    });
                }
                put_u16(out, code.kind.0);
                put_u16(out, code.code);
                out.extend_from_slice(data);
            }
            Self::Experimenter { exp_type, experimenter, data } => {
                put_u16(out, ErrorType::EXPERIMENTER.0);
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
    fn codes_have_names_within_their_type() {
        assert_eq!(ErrorCode::BAD_MATCH_DUP_FIELD.to_string(), "BAD_MATCH/DUP_FIELD");
        assert_eq!(ErrorCode::new(ErrorType::BAD_MATCH, 99).to_string(), "BAD_MATCH/0x63");
        assert_eq!(ErrorCode::new(ErrorType(70), 1).to_string(), "0x46/0x1");
    }

    #[test]
    fn codes_count_up_from_zero_within_each_type() {
        let mut expected = ErrorCode::new(ErrorType(0), 0);
        for &code in ErrorCode::ALL {
            if code.kind != expected.kind {
                expected = ErrorCode::new(ErrorType(expected.kind.0 + 1), 0);
            }
            assert_eq!(code, expected);
            expected.code += 1;
        }
        assert_eq!(expected.kind, ErrorType::TABLE_FEATURES_FAILED);
    }

    #[test]
    fn a_refusal_quotes_the_request() {
        let error = ErrorMessage::refusing(&[4; 100], ErrorCode::BAD_REQUEST_BAD_LEN);
        let mut out = Vec::new();
        error.encode(&mut out).unwrap();
        assert_eq!(out.len(), 4 + 64);
        assert_eq!(out[..5], [0, 1, 0, 6, 4]);
        assert_eq!(ErrorMessage::decode(&mut Reader::new(&out)), Ok(error));
        let short = ErrorMessage::refusing(&[4; 8], ErrorCode::BAD_REQUEST_BAD_LEN);
        assert!(matches!(short, ErrorMessage::Standard { data, .. } if data.len() == 8));
    }

    #[test]
    fn an_experimenter_error_has_a_variant_of_its_own() {
        let bytes = [0xff, 0xff, 0, 7, 0, 0, 0, 9, 1];
        let error = ErrorMessage::decode(&mut Reader::new(&bytes)).unwrap();
        assert_eq!(
            error,
            ErrorMessage::Experimenter { exp_type: 7, experimenter: 9, data: vec![1] }
        );
        let code = ErrorCode::new(ErrorType::EXPERIMENTER, 7);
        let posing = ErrorMessage::Standard { code, data: vec![] };
        assert!(posing.encode(&mut Vec::new()).is_err());
    }
}
