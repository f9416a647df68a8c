//! The reasons why a switch rejects a request, with the type and code that each has in OpenFlow 1.0
//! and 1.3.
//!
//! An emulated switch determines the reason and encodes it in the version that it speaks. A
//! controller reads the type and the code of an error message and looks up the name of the reason.
//! OpenFlow 1.0.0, 5.4.4; OpenFlow 1.3.5, 7.4.4.

use std::fmt;

use crate::Version;

macro_rules! error_reasons {
    ($($(#[$meta:meta])* $reason:ident $name:literal $v1_0:expr, $v1_3:expr;)*) => {
        /// A reason for rejecting a request, to which at least one version assigns a type and a
        /// code.
        ///
        /// The names are those of the specification, formed from type and code. Where the versions
        /// differ only in the name, the name in 1.3 is used.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorReason {
            $($(#[$meta])* $reason,)*
        }

        impl ErrorReason {
            /// Every reason that this crate knows.
            pub const ALL: &[Self] = &[$(Self::$reason,)*];

            /// Returns the specification's names for type and code, such as `BAD_REQUEST/BAD_TYPE`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$reason => $name,)* }
            }

            /// Returns the type and the code of the reason in a version, or `None` if the version
            /// does not define it.
            pub const fn codes(self, version: Version) -> Option<(u16, u16)> {
                match version {
                    Version::V1_0 => match self { $(Self::$reason => $v1_0,)* },
                    Version::V1_3 => match self { $(Self::$reason => $v1_3,)* },
                }
            }
        }
    };
}

error_reasons! {
    /// The two sides have no version in common.
    HelloIncompatible "HELLO_FAILED/INCOMPATIBLE" Some((0, 0)), Some((0, 0));
    /// The peer has no permission to connect.
    HelloEperm "HELLO_FAILED/EPERM" Some((0, 1)), Some((0, 1));

    /// The version in the request's header differs from the negotiated one.
    BadRequestBadVersion "BAD_REQUEST/BAD_VERSION" Some((1, 0)), Some((1, 0));
    /// The message type is unknown.
    BadRequestBadType "BAD_REQUEST/BAD_TYPE" Some((1, 1)), Some((1, 1));
    /// The type of statistics is unknown. OpenFlow 1.0 calls it `BAD_STAT`.
    BadRequestBadMultipart "BAD_REQUEST/BAD_MULTIPART" Some((1, 2)), Some((1, 2));
    /// The experimenter is unknown. OpenFlow 1.0 calls it `BAD_VENDOR`.
    BadRequestBadExperimenter "BAD_REQUEST/BAD_EXPERIMENTER" Some((1, 3)), Some((1, 3));
    /// The experimenter's subtype is unknown. OpenFlow 1.0 calls it `BAD_SUBTYPE`.
    BadRequestBadExpType "BAD_REQUEST/BAD_EXP_TYPE" Some((1, 4)), Some((1, 4));
    /// The sender of the request has no permission for it.
    BadRequestEperm "BAD_REQUEST/EPERM" Some((1, 5)), Some((1, 5));
    /// The length of the request is wrong for its type.
    BadRequestBadLen "BAD_REQUEST/BAD_LEN" Some((1, 6)), Some((1, 6));
    /// The buffer that the request names was used already.
    BadRequestBufferEmpty "BAD_REQUEST/BUFFER_EMPTY" Some((1, 7)), Some((1, 7));
    /// The buffer that the request names does not exist.
    BadRequestBufferUnknown "BAD_REQUEST/BUFFER_UNKNOWN" Some((1, 8)), Some((1, 8));
    /// The table that the request names does not exist.
    BadRequestBadTableId "BAD_REQUEST/BAD_TABLE_ID" None, Some((1, 9));
    /// The request would change the switch, but the controller has the role slave and may only
    /// read.
    BadRequestIsSlave "BAD_REQUEST/IS_SLAVE" None, Some((1, 10));
    /// The port that the request names is not valid.
    BadRequestBadPort "BAD_REQUEST/BAD_PORT" None, Some((1, 11));
    /// The packet in a packet-out is not valid.
    BadRequestBadPacket "BAD_REQUEST/BAD_PACKET" None, Some((1, 12));
    /// The parts of a multipart request exceed what the switch can buffer.
    BadRequestMultipartBufferOverflow "BAD_REQUEST/MULTIPART_BUFFER_OVERFLOW" None, Some((1, 13));

    /// The action type is unknown.
    BadActionBadType "BAD_ACTION/BAD_TYPE" Some((2, 0)), Some((2, 0));
    /// An action's length is wrong.
    BadActionBadLen "BAD_ACTION/BAD_LEN" Some((2, 1)), Some((2, 1));
    /// The experimenter of an action is unknown. OpenFlow 1.0 calls it `BAD_VENDOR`.
    BadActionBadExperimenter "BAD_ACTION/BAD_EXPERIMENTER" Some((2, 2)), Some((2, 2));
    /// The type of an experimenter's action is unknown. OpenFlow 1.0 calls it `BAD_VENDOR_TYPE`.
    BadActionBadExpType "BAD_ACTION/BAD_EXP_TYPE" Some((2, 3)), Some((2, 3));
    /// The port to which an action sends the packet is not valid.
    BadActionBadOutPort "BAD_ACTION/BAD_OUT_PORT" Some((2, 4)), Some((2, 4));
    /// An argument of an action is not valid.
    BadActionBadArgument "BAD_ACTION/BAD_ARGUMENT" Some((2, 5)), Some((2, 5));
    /// The sender has no permission for an action.
    BadActionEperm "BAD_ACTION/EPERM" Some((2, 6)), Some((2, 6));
    /// There are more actions than the switch supports.
    BadActionTooMany "BAD_ACTION/TOO_MANY" Some((2, 7)), Some((2, 7));
    /// The queue through which an action sends the packet is not valid.
    BadActionBadQueue "BAD_ACTION/BAD_QUEUE" Some((2, 8)), Some((2, 8));
    /// The group to which an action sends the packet is not valid.
    BadActionBadOutGroup "BAD_ACTION/BAD_OUT_GROUP" None, Some((2, 9));
    /// An action does not apply to the packets that the entry matches.
    BadActionMatchInconsistent "BAD_ACTION/MATCH_INCONSISTENT" None, Some((2, 10));
    /// The switch cannot execute the actions in the given order.
    BadActionUnsupportedOrder "BAD_ACTION/UNSUPPORTED_ORDER" None, Some((2, 11));
    /// An action uses a tag or an encapsulation that is not supported.
    BadActionBadTag "BAD_ACTION/BAD_TAG" None, Some((2, 12));
    /// An action sets a field that is not supported.
    BadActionBadSetType "BAD_ACTION/BAD_SET_TYPE" None, Some((2, 13));
    /// The length of the field that an action sets is wrong.
    BadActionBadSetLen "BAD_ACTION/BAD_SET_LEN" None, Some((2, 14));
    /// The value that an action writes to a field is not valid.
    BadActionBadSetArgument "BAD_ACTION/BAD_SET_ARGUMENT" None, Some((2, 15));

    /// An instruction is of an unknown type.
    BadInstructionUnknownInst "BAD_INSTRUCTION/UNKNOWN_INST" None, Some((3, 0));
    /// An instruction is not supported.
    BadInstructionUnsupInst "BAD_INSTRUCTION/UNSUP_INST" None, Some((3, 1));
    /// An instruction sends packets to a table that does not exist.
    BadInstructionBadTableId "BAD_INSTRUCTION/BAD_TABLE_ID" None, Some((3, 2));
    /// An instruction writes a metadata value that is not supported.
    BadInstructionUnsupMetadata "BAD_INSTRUCTION/UNSUP_METADATA" None, Some((3, 3));
    /// An instruction writes metadata under a mask that is not supported.
    BadInstructionUnsupMetadataMask "BAD_INSTRUCTION/UNSUP_METADATA_MASK" None, Some((3, 4));
    /// The experimenter of an instruction is unknown.
    BadInstructionBadExperimenter "BAD_INSTRUCTION/BAD_EXPERIMENTER" None, Some((3, 5));
    /// The type of an experimenter's instruction is unknown.
    BadInstructionBadExpType "BAD_INSTRUCTION/BAD_EXP_TYPE" None, Some((3, 6));
    /// An instruction's length is wrong.
    BadInstructionBadLen "BAD_INSTRUCTION/BAD_LEN" None, Some((3, 7));
    /// The sender has no permission for an instruction.
    BadInstructionEperm "BAD_INSTRUCTION/EPERM" None, Some((3, 8));

    /// The type of the match is not supported.
    BadMatchBadType "BAD_MATCH/BAD_TYPE" None, Some((4, 0));
    /// The length of the match is wrong.
    BadMatchBadLen "BAD_MATCH/BAD_LEN" None, Some((4, 1));
    /// The match uses a tag or an encapsulation that is not supported.
    BadMatchBadTag "BAD_MATCH/BAD_TAG" None, Some((4, 2));
    /// The match has a mask of an Ethernet address, and the switch does not support that mask.
    BadMatchBadDlAddrMask "BAD_MATCH/BAD_DL_ADDR_MASK" None, Some((4, 3));
    /// The match has a mask of an IP address, and the switch does not support that mask.
    BadMatchBadNwAddrMask "BAD_MATCH/BAD_NW_ADDR_MASK" None, Some((4, 4));
    /// The match wildcards a combination of fields that is not supported.
    BadMatchBadWildcards "BAD_MATCH/BAD_WILDCARDS" None, Some((4, 5));
    /// The match has a field that is not supported.
    BadMatchBadField "BAD_MATCH/BAD_FIELD" None, Some((4, 6));
    /// The match has a value that is not supported.
    BadMatchBadValue "BAD_MATCH/BAD_VALUE" None, Some((4, 7));
    /// The match has a mask that is not supported.
    BadMatchBadMask "BAD_MATCH/BAD_MASK" None, Some((4, 8));
    /// The match lacks a field that another of its fields presupposes, such as the Ethernet type
    /// before an IP address.
    BadMatchBadPrereq "BAD_MATCH/BAD_PREREQ" None, Some((4, 9));
    /// The match has a field twice.
    BadMatchDupField "BAD_MATCH/DUP_FIELD" None, Some((4, 10));
    /// The sender has no permission for the match.
    BadMatchEperm "BAD_MATCH/EPERM" None, Some((4, 11));

    /// The flow-mod failed for an unspecified reason.
    FlowModUnknown "FLOW_MOD_FAILED/UNKNOWN" None, Some((5, 0));
    /// The table is full. OpenFlow 1.0 calls it `ALL_TABLES_FULL`.
    FlowModTableFull "FLOW_MOD_FAILED/TABLE_FULL" Some((3, 0)), Some((5, 1));
    /// The table that the flow-mod names does not exist.
    FlowModBadTableId "FLOW_MOD_FAILED/BAD_TABLE_ID" None, Some((5, 2));
    /// The entry overlaps another one, and the flow-mod requests a check for overlaps.
    FlowModOverlap "FLOW_MOD_FAILED/OVERLAP" Some((3, 1)), Some((5, 3));
    /// The sender has no permission for the flow-mod.
    FlowModEperm "FLOW_MOD_FAILED/EPERM" Some((3, 2)), Some((5, 4));
    /// A timeout in the flow-mod is not supported. In 1.0 this is `BAD_EMERG_TIMEOUT`, for
    /// emergency entries with a timeout.
    FlowModBadTimeout "FLOW_MOD_FAILED/BAD_TIMEOUT" Some((3, 3)), Some((5, 5));
    /// The command of the flow-mod is unknown.
    FlowModBadCommand "FLOW_MOD_FAILED/BAD_COMMAND" Some((3, 4)), Some((5, 6));
    /// A flag of the flow-mod is unknown.
    FlowModBadFlags "FLOW_MOD_FAILED/BAD_FLAGS" None, Some((5, 7));
    /// The switch cannot execute the actions of the flow-mod in the given order.
    FlowModUnsupported "FLOW_MOD_FAILED/UNSUPPORTED" Some((3, 5)), None;

    /// The group to be added exists already.
    GroupModGroupExists "GROUP_MOD_FAILED/GROUP_EXISTS" None, Some((6, 0));
    /// The group that the group-mod describes is not valid.
    GroupModInvalidGroup "GROUP_MOD_FAILED/INVALID_GROUP" None, Some((6, 1));
    /// Unequal weights are not supported.
    GroupModWeightUnsupported "GROUP_MOD_FAILED/WEIGHT_UNSUPPORTED" None, Some((6, 2));
    /// The switch has no room for another group.
    GroupModOutOfGroups "GROUP_MOD_FAILED/OUT_OF_GROUPS" None, Some((6, 3));
    /// The switch has no room for another bucket.
    GroupModOutOfBuckets "GROUP_MOD_FAILED/OUT_OF_BUCKETS" None, Some((6, 4));
    /// Groups that send packets to other groups are not supported.
    GroupModChainingUnsupported "GROUP_MOD_FAILED/CHAINING_UNSUPPORTED" None, Some((6, 5));
    /// The switch cannot watch the port or group that a bucket names.
    GroupModWatchUnsupported "GROUP_MOD_FAILED/WATCH_UNSUPPORTED" None, Some((6, 6));
    /// Groups would send packets to each other in a loop.
    GroupModLoop "GROUP_MOD_FAILED/LOOP" None, Some((6, 7));
    /// The group to be changed does not exist.
    GroupModUnknownGroup "GROUP_MOD_FAILED/UNKNOWN_GROUP" None, Some((6, 8));
    /// The group to be removed still receives packets from another group.
    GroupModChainedGroup "GROUP_MOD_FAILED/CHAINED_GROUP" None, Some((6, 9));
    /// The type of the group is unknown.
    GroupModBadType "GROUP_MOD_FAILED/BAD_TYPE" None, Some((6, 10));
    /// The command of the group-mod is unknown.
    GroupModBadCommand "GROUP_MOD_FAILED/BAD_COMMAND" None, Some((6, 11));
    /// A bucket of the group is not valid.
    GroupModBadBucket "GROUP_MOD_FAILED/BAD_BUCKET" None, Some((6, 12));
    /// A port or group that a bucket watches is not valid.
    GroupModBadWatch "GROUP_MOD_FAILED/BAD_WATCH" None, Some((6, 13));
    /// The sender has no permission for the group-mod.
    GroupModEperm "GROUP_MOD_FAILED/EPERM" None, Some((6, 14));

    /// The port that the port-mod names does not exist.
    PortModBadPort "PORT_MOD_FAILED/BAD_PORT" Some((4, 0)), Some((7, 0));
    /// The Ethernet address in the port-mod is not that of the port.
    PortModBadHwAddr "PORT_MOD_FAILED/BAD_HW_ADDR" Some((4, 1)), Some((7, 1));
    /// The configuration in the port-mod is not valid.
    PortModBadConfig "PORT_MOD_FAILED/BAD_CONFIG" None, Some((7, 2));
    /// The features that the port should advertise are not valid.
    PortModBadAdvertise "PORT_MOD_FAILED/BAD_ADVERTISE" None, Some((7, 3));
    /// The sender has no permission for the port-mod.
    PortModEperm "PORT_MOD_FAILED/EPERM" None, Some((7, 4));

    /// The table that the table-mod names does not exist.
    TableModBadTable "TABLE_MOD_FAILED/BAD_TABLE" None, Some((8, 0));
    /// The configuration in the table-mod is not valid.
    TableModBadConfig "TABLE_MOD_FAILED/BAD_CONFIG" None, Some((8, 1));
    /// The sender has no permission for the table-mod.
    TableModEperm "TABLE_MOD_FAILED/EPERM" None, Some((8, 2));

    /// The port whose queues are requested does not exist.
    QueueOpBadPort "QUEUE_OP_FAILED/BAD_PORT" Some((5, 0)), Some((9, 0));
    /// The queue that the request names does not exist.
    QueueOpBadQueue "QUEUE_OP_FAILED/BAD_QUEUE" Some((5, 1)), Some((9, 1));
    /// The sender has no permission for the request about queues.
    QueueOpEperm "QUEUE_OP_FAILED/EPERM" Some((5, 2)), Some((9, 2));

    /// A flag of the switch configuration is not valid.
    SwitchConfigBadFlags "SWITCH_CONFIG_FAILED/BAD_FLAGS" None, Some((10, 0));
    /// The switch configuration has an invalid `miss_send_len`, the number of bytes of an unmatched
    /// packet that are sent to the controller.
    SwitchConfigBadLen "SWITCH_CONFIG_FAILED/BAD_LEN" None, Some((10, 1));
    /// The sender has no permission to configure the switch.
    SwitchConfigEperm "SWITCH_CONFIG_FAILED/EPERM" None, Some((10, 2));

    /// The generation id of the role request is older than one that the switch has seen.
    RoleRequestStale "ROLE_REQUEST_FAILED/STALE" None, Some((11, 0));
    /// Changing roles is not supported.
    RoleRequestUnsup "ROLE_REQUEST_FAILED/UNSUP" None, Some((11, 1));
    /// The requested role is not valid.
    RoleRequestBadRole "ROLE_REQUEST_FAILED/BAD_ROLE" None, Some((11, 2));

    /// The meter-mod failed for an unspecified reason.
    MeterModUnknown "METER_MOD_FAILED/UNKNOWN" None, Some((12, 0));
    /// The meter to be added exists already.
    MeterModMeterExists "METER_MOD_FAILED/METER_EXISTS" None, Some((12, 1));
    /// The meter that the meter-mod describes is not valid.
    MeterModInvalidMeter "METER_MOD_FAILED/INVALID_METER" None, Some((12, 2));
    /// The meter to be changed does not exist.
    MeterModUnknownMeter "METER_MOD_FAILED/UNKNOWN_METER" None, Some((12, 3));
    /// The command of the meter-mod is unknown.
    MeterModBadCommand "METER_MOD_FAILED/BAD_COMMAND" None, Some((12, 4));
    /// A flag of the meter is not supported.
    MeterModBadFlags "METER_MOD_FAILED/BAD_FLAGS" None, Some((12, 5));
    /// A rate of the meter is not supported.
    MeterModBadRate "METER_MOD_FAILED/BAD_RATE" None, Some((12, 6));
    /// A burst size of the meter is not supported.
    MeterModBadBurst "METER_MOD_FAILED/BAD_BURST" None, Some((12, 7));
    /// A band of the meter is of a type that is not supported.
    MeterModBadBand "METER_MOD_FAILED/BAD_BAND" None, Some((12, 8));
    /// A value in a band of the meter is not supported.
    MeterModBadBandValue "METER_MOD_FAILED/BAD_BAND_VALUE" None, Some((12, 9));
    /// The switch has no room for another meter.
    MeterModOutOfMeters "METER_MOD_FAILED/OUT_OF_METERS" None, Some((12, 10));
    /// The meter-mod has more bands than a meter can have.
    MeterModOutOfBands "METER_MOD_FAILED/OUT_OF_BANDS" None, Some((12, 11));

    /// The table whose features are to be set does not exist.
    TableFeaturesBadTable "TABLE_FEATURES_FAILED/BAD_TABLE" None, Some((13, 0));
    /// A metadata mask in the table features is not valid.
    TableFeaturesBadMetadata "TABLE_FEATURES_FAILED/BAD_METADATA" None, Some((13, 1));
    /// The type of a property in the table features is unknown.
    TableFeaturesBadType "TABLE_FEATURES_FAILED/BAD_TYPE" None, Some((13, 2));
    /// The length of a property in the table features is wrong.
    TableFeaturesBadLen "TABLE_FEATURES_FAILED/BAD_LEN" None, Some((13, 3));
    /// The value of a property in the table features is not supported.
    TableFeaturesBadArgument "TABLE_FEATURES_FAILED/BAD_ARGUMENT" None, Some((13, 4));
    /// The sender has no permission to set table features.
    TableFeaturesEperm "TABLE_FEATURES_FAILED/EPERM" None, Some((13, 5));
}

impl ErrorReason {
    /// The error type of 1.3 whose code is an experimenter's own (`OFPET_EXPERIMENTER`).
    pub const EXPERIMENTER_TYPE: u16 = 0xffff;

    /// Returns the reason for a type and a code in a version, or `None` if the specification does
    /// not define it.
    pub fn from_codes(version: Version, error_type: u16, code: u16) -> Option<Self> {
        Self::ALL.iter().copied().find(|reason| reason.codes(version) == Some((error_type, code)))
    }
}

impl fmt::Display for ErrorReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn types_and_codes_stand_for_one_reason_each() {
        for (version, count) in [(Version::V1_0, 31), (Version::V1_3, 111)] {
            let reasons =
                ErrorReason::ALL.iter().filter_map(|reason| Some((reason, reason.codes(version)?)));
            let mut seen = HashSet::new();
            for (&reason, (error_type, code)) in reasons {
                assert!(seen.insert((error_type, code)), "{reason} is not alone in {version}");
                assert_eq!(ErrorReason::from_codes(version, error_type, code), Some(reason));
            }
            assert_eq!(seen.len(), count, "{version}");
        }
        assert_eq!(ErrorReason::from_codes(Version::V1_0, 6, 0), None);
        assert_eq!(ErrorReason::from_codes(Version::V1_3, 0xffff, 0), None);
    }

    /// Both specifications number the codes of each type from 0 without gaps.
    #[test]
    fn codes_have_no_gaps() {
        for version in [Version::V1_0, Version::V1_3] {
            let mut codes: Vec<_> =
                ErrorReason::ALL.iter().filter_map(|reason| reason.codes(version)).collect();
            codes.sort_unstable();
            let mut expected = (0, 0);
            for code in codes {
                assert!(code == expected || code == (expected.0 + 1, 0), "{version} {code:?}");
                expected = (code.0, code.1 + 1);
            }
        }
    }
}
