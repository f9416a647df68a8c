//! The reasons why a switch rejects a request, with their numbers in either version.
//!
//! An emulated switch determines the reason once and answers in whichever version it speaks; a
//! controller reads an error and looks up its name. OpenFlow 1.0.0, 5.4.4; OpenFlow 1.3.5, 7.4.4.

use std::fmt;

use crate::Version;

macro_rules! error_reasons {
    ($($(#[$meta:meta])* $reason:ident $name:literal $v1_0:expr, $v1_3:expr;)*) => {
        /// A reason for which at least one version has a type and a code.
        ///
        /// The names are those of the specification, formed from type and code; where the versions
        /// differ in the name only, that of 1.3 is used.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorReason {
            $($(#[$meta])* $reason,)*
        }

        impl ErrorReason {
            /// Every reason.
            pub const ALL: &[Self] = &[$(Self::$reason,)*];

            /// Returns the specification's names for type and code, such as `BAD_REQUEST/BAD_TYPE`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$reason => $name,)* }
            }

            /// Returns the type and the code in a version, if the version has them.
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
    /// No version in common.
    HelloIncompatible "HELLO_FAILED/INCOMPATIBLE" Some((0, 0)), Some((0, 0));
    /// No permission to connect.
    HelloEperm "HELLO_FAILED/EPERM" Some((0, 1)), Some((0, 1));

    /// The header's version is not the one agreed on.
    BadRequestBadVersion "BAD_REQUEST/BAD_VERSION" Some((1, 0)), Some((1, 0));
    /// The message type is unknown.
    BadRequestBadType "BAD_REQUEST/BAD_TYPE" Some((1, 1)), Some((1, 1));
    /// The type of statistics is unknown; `BAD_STAT` in 1.0.
    BadRequestBadMultipart "BAD_REQUEST/BAD_MULTIPART" Some((1, 2)), Some((1, 2));
    /// The experimenter is unknown; `BAD_VENDOR` in 1.0.
    BadRequestBadExperimenter "BAD_REQUEST/BAD_EXPERIMENTER" Some((1, 3)), Some((1, 3));
    /// The experimenter's subtype is unknown; `BAD_SUBTYPE` in 1.0.
    BadRequestBadExpType "BAD_REQUEST/BAD_EXP_TYPE" Some((1, 4)), Some((1, 4));
    /// Permission is denied.
    BadRequestEperm "BAD_REQUEST/EPERM" Some((1, 5)), Some((1, 5));
    /// The length is wrong for the type.
    BadRequestBadLen "BAD_REQUEST/BAD_LEN" Some((1, 6)), Some((1, 6));
    /// The buffer was used already.
    BadRequestBufferEmpty "BAD_REQUEST/BUFFER_EMPTY" Some((1, 7)), Some((1, 7));
    /// There is no such buffer.
    BadRequestBufferUnknown "BAD_REQUEST/BUFFER_UNKNOWN" Some((1, 8)), Some((1, 8));
    /// There is no such table.
    BadRequestBadTableId "BAD_REQUEST/BAD_TABLE_ID" None, Some((1, 9));
    /// The controller may only read.
    BadRequestIsSlave "BAD_REQUEST/IS_SLAVE" None, Some((1, 10));
    /// The port is not valid.
    BadRequestBadPort "BAD_REQUEST/BAD_PORT" None, Some((1, 11));
    /// The packet in a packet-out is not valid.
    BadRequestBadPacket "BAD_REQUEST/BAD_PACKET" None, Some((1, 12));
    /// The parts of a request exceed what the switch buffers.
    BadRequestMultipartBufferOverflow "BAD_REQUEST/MULTIPART_BUFFER_OVERFLOW" None, Some((1, 13));

    /// The action type is unknown.
    BadActionBadType "BAD_ACTION/BAD_TYPE" Some((2, 0)), Some((2, 0));
    /// An action's length is wrong.
    BadActionBadLen "BAD_ACTION/BAD_LEN" Some((2, 1)), Some((2, 1));
    /// The experimenter is unknown; `BAD_VENDOR` in 1.0.
    BadActionBadExperimenter "BAD_ACTION/BAD_EXPERIMENTER" Some((2, 2)), Some((2, 2));
    /// The experimenter's action is unknown; `BAD_VENDOR_TYPE` in 1.0.
    BadActionBadExpType "BAD_ACTION/BAD_EXP_TYPE" Some((2, 3)), Some((2, 3));
    /// The port to send to is not valid.
    BadActionBadOutPort "BAD_ACTION/BAD_OUT_PORT" Some((2, 4)), Some((2, 4));
    /// An argument is not valid.
    BadActionBadArgument "BAD_ACTION/BAD_ARGUMENT" Some((2, 5)), Some((2, 5));
    /// Permission is denied.
    BadActionEperm "BAD_ACTION/EPERM" Some((2, 6)), Some((2, 6));
    /// There are more actions than the switch supports.
    BadActionTooMany "BAD_ACTION/TOO_MANY" Some((2, 7)), Some((2, 7));
    /// The queue to send through is not valid.
    BadActionBadQueue "BAD_ACTION/BAD_QUEUE" Some((2, 8)), Some((2, 8));
    /// The group to send to is not valid.
    BadActionBadOutGroup "BAD_ACTION/BAD_OUT_GROUP" None, Some((2, 9));
    /// The action does not apply to the packets matched.
    BadActionMatchInconsistent "BAD_ACTION/MATCH_INCONSISTENT" None, Some((2, 10));
    /// The order of the actions is not supported.
    BadActionUnsupportedOrder "BAD_ACTION/UNSUPPORTED_ORDER" None, Some((2, 11));
    /// The tag or encapsulation is not supported.
    BadActionBadTag "BAD_ACTION/BAD_TAG" None, Some((2, 12));
    /// The field to set is not supported.
    BadActionBadSetType "BAD_ACTION/BAD_SET_TYPE" None, Some((2, 13));
    /// The length of the field to set is wrong.
    BadActionBadSetLen "BAD_ACTION/BAD_SET_LEN" None, Some((2, 14));
    /// The value of the field to set is not valid.
    BadActionBadSetArgument "BAD_ACTION/BAD_SET_ARGUMENT" None, Some((2, 15));

    /// The instruction is unknown.
    BadInstructionUnknownInst "BAD_INSTRUCTION/UNKNOWN_INST" None, Some((3, 0));
    /// The instruction is not supported.
    BadInstructionUnsupInst "BAD_INSTRUCTION/UNSUP_INST" None, Some((3, 1));
    /// There is no such table to go to.
    BadInstructionBadTableId "BAD_INSTRUCTION/BAD_TABLE_ID" None, Some((3, 2));
    /// The metadata value is not supported.
    BadInstructionUnsupMetadata "BAD_INSTRUCTION/UNSUP_METADATA" None, Some((3, 3));
    /// The metadata mask is not supported.
    BadInstructionUnsupMetadataMask "BAD_INSTRUCTION/UNSUP_METADATA_MASK" None, Some((3, 4));
    /// The experimenter is unknown.
    BadInstructionBadExperimenter "BAD_INSTRUCTION/BAD_EXPERIMENTER" None, Some((3, 5));
    /// The experimenter's instruction is unknown.
    BadInstructionBadExpType "BAD_INSTRUCTION/BAD_EXP_TYPE" None, Some((3, 6));
    /// An instruction's length is wrong.
    BadInstructionBadLen "BAD_INSTRUCTION/BAD_LEN" None, Some((3, 7));
    /// Permission is denied.
    BadInstructionEperm "BAD_INSTRUCTION/EPERM" None, Some((3, 8));

    /// The match type is not supported.
    BadMatchBadType "BAD_MATCH/BAD_TYPE" None, Some((4, 0));
    /// The match's length is wrong.
    BadMatchBadLen "BAD_MATCH/BAD_LEN" None, Some((4, 1));
    /// The tag or encapsulation is not supported.
    BadMatchBadTag "BAD_MATCH/BAD_TAG" None, Some((4, 2));
    /// The mask of an Ethernet address is not supported.
    BadMatchBadDlAddrMask "BAD_MATCH/BAD_DL_ADDR_MASK" None, Some((4, 3));
    /// The mask of an IP address is not supported.
    BadMatchBadNwAddrMask "BAD_MATCH/BAD_NW_ADDR_MASK" None, Some((4, 4));
    /// The combination of wildcarded fields is not supported.
    BadMatchBadWildcards "BAD_MATCH/BAD_WILDCARDS" None, Some((4, 5));
    /// The field is not supported.
    BadMatchBadField "BAD_MATCH/BAD_FIELD" None, Some((4, 6));
    /// The value is not supported.
    BadMatchBadValue "BAD_MATCH/BAD_VALUE" None, Some((4, 7));
    /// The mask is not supported.
    BadMatchBadMask "BAD_MATCH/BAD_MASK" None, Some((4, 8));
    /// A field that this one presupposes is missing.
    BadMatchBadPrereq "BAD_MATCH/BAD_PREREQ" None, Some((4, 9));
    /// A field occurs twice.
    BadMatchDupField "BAD_MATCH/DUP_FIELD" None, Some((4, 10));
    /// Permission is denied.
    BadMatchEperm "BAD_MATCH/EPERM" None, Some((4, 11));

    /// The flow-mod failed for an unspecified reason.
    FlowModUnknown "FLOW_MOD_FAILED/UNKNOWN" None, Some((5, 0));
    /// The table is full; `ALL_TABLES_FULL` in 1.0.
    FlowModTableFull "FLOW_MOD_FAILED/TABLE_FULL" Some((3, 0)), Some((5, 1));
    /// There is no such table.
    FlowModBadTableId "FLOW_MOD_FAILED/BAD_TABLE_ID" None, Some((5, 2));
    /// The entry overlaps another, which the flow-mod asked to check.
    FlowModOverlap "FLOW_MOD_FAILED/OVERLAP" Some((3, 1)), Some((5, 3));
    /// Permission is denied.
    FlowModEperm "FLOW_MOD_FAILED/EPERM" Some((3, 2)), Some((5, 4));
    /// A timeout is not supported. In 1.0 this is `BAD_EMERG_TIMEOUT`, for emergency entries with a
    /// timeout.
    FlowModBadTimeout "FLOW_MOD_FAILED/BAD_TIMEOUT" Some((3, 3)), Some((5, 5));
    /// The command is unknown.
    FlowModBadCommand "FLOW_MOD_FAILED/BAD_COMMAND" Some((3, 4)), Some((5, 6));
    /// A flag is unknown.
    FlowModBadFlags "FLOW_MOD_FAILED/BAD_FLAGS" None, Some((5, 7));
    /// The actions cannot be carried out in their order.
    FlowModUnsupported "FLOW_MOD_FAILED/UNSUPPORTED" Some((3, 5)), None;

    /// The group exists already.
    GroupModGroupExists "GROUP_MOD_FAILED/GROUP_EXISTS" None, Some((6, 0));
    /// The group is not valid.
    GroupModInvalidGroup "GROUP_MOD_FAILED/INVALID_GROUP" None, Some((6, 1));
    /// Unequal weights are not supported.
    GroupModWeightUnsupported "GROUP_MOD_FAILED/WEIGHT_UNSUPPORTED" None, Some((6, 2));
    /// The switch has no room for another group.
    GroupModOutOfGroups "GROUP_MOD_FAILED/OUT_OF_GROUPS" None, Some((6, 3));
    /// The switch has no room for another bucket.
    GroupModOutOfBuckets "GROUP_MOD_FAILED/OUT_OF_BUCKETS" None, Some((6, 4));
    /// Groups that send to groups are not supported.
    GroupModChainingUnsupported "GROUP_MOD_FAILED/CHAINING_UNSUPPORTED" None, Some((6, 5));
    /// Watching the port or group that the group names is not supported.
    GroupModWatchUnsupported "GROUP_MOD_FAILED/WATCH_UNSUPPORTED" None, Some((6, 6));
    /// Groups would send to each other in a loop.
    GroupModLoop "GROUP_MOD_FAILED/LOOP" None, Some((6, 7));
    /// There is no such group.
    GroupModUnknownGroup "GROUP_MOD_FAILED/UNKNOWN_GROUP" None, Some((6, 8));
    /// Another group sends to the group to be removed.
    GroupModChainedGroup "GROUP_MOD_FAILED/CHAINED_GROUP" None, Some((6, 9));
    /// The group type is unknown.
    GroupModBadType "GROUP_MOD_FAILED/BAD_TYPE" None, Some((6, 10));
    /// The command is unknown.
    GroupModBadCommand "GROUP_MOD_FAILED/BAD_COMMAND" None, Some((6, 11));
    /// A bucket is not valid.
    GroupModBadBucket "GROUP_MOD_FAILED/BAD_BUCKET" None, Some((6, 12));
    /// A port or group to watch is not valid.
    GroupModBadWatch "GROUP_MOD_FAILED/BAD_WATCH" None, Some((6, 13));
    /// Permission is denied.
    GroupModEperm "GROUP_MOD_FAILED/EPERM" None, Some((6, 14));

    /// There is no such port.
    PortModBadPort "PORT_MOD_FAILED/BAD_PORT" Some((4, 0)), Some((7, 0));
    /// The Ethernet address is not the port's.
    PortModBadHwAddr "PORT_MOD_FAILED/BAD_HW_ADDR" Some((4, 1)), Some((7, 1));
    /// The configuration is not valid.
    PortModBadConfig "PORT_MOD_FAILED/BAD_CONFIG" None, Some((7, 2));
    /// The features to advertise are not valid.
    PortModBadAdvertise "PORT_MOD_FAILED/BAD_ADVERTISE" None, Some((7, 3));
    /// Permission is denied.
    PortModEperm "PORT_MOD_FAILED/EPERM" None, Some((7, 4));

    /// There is no such table.
    TableModBadTable "TABLE_MOD_FAILED/BAD_TABLE" None, Some((8, 0));
    /// The configuration is not valid.
    TableModBadConfig "TABLE_MOD_FAILED/BAD_CONFIG" None, Some((8, 1));
    /// Permission is denied.
    TableModEperm "TABLE_MOD_FAILED/EPERM" None, Some((8, 2));

    /// There is no such port.
    QueueOpBadPort "QUEUE_OP_FAILED/BAD_PORT" Some((5, 0)), Some((9, 0));
    /// There is no such queue.
    QueueOpBadQueue "QUEUE_OP_FAILED/BAD_QUEUE" Some((5, 1)), Some((9, 1));
    /// Permission is denied.
    QueueOpEperm "QUEUE_OP_FAILED/EPERM" Some((5, 2)), Some((9, 2));

    /// A flag is not valid.
    SwitchConfigBadFlags "SWITCH_CONFIG_FAILED/BAD_FLAGS" None, Some((10, 0));
    /// The length of packets to send to the controller is not valid.
    SwitchConfigBadLen "SWITCH_CONFIG_FAILED/BAD_LEN" None, Some((10, 1));
    /// Permission is denied.
    SwitchConfigEperm "SWITCH_CONFIG_FAILED/EPERM" None, Some((10, 2));

    /// The generation id is older than one already seen.
    RoleRequestStale "ROLE_REQUEST_FAILED/STALE" None, Some((11, 0));
    /// Changing roles is not supported.
    RoleRequestUnsup "ROLE_REQUEST_FAILED/UNSUP" None, Some((11, 1));
    /// The role is not valid.
    RoleRequestBadRole "ROLE_REQUEST_FAILED/BAD_ROLE" None, Some((11, 2));

    /// The meter-mod failed for an unspecified reason.
    MeterModUnknown "METER_MOD_FAILED/UNKNOWN" None, Some((12, 0));
    /// The meter exists already.
    MeterModMeterExists "METER_MOD_FAILED/METER_EXISTS" None, Some((12, 1));
    /// The meter is not valid.
    MeterModInvalidMeter "METER_MOD_FAILED/INVALID_METER" None, Some((12, 2));
    /// There is no such meter.
    MeterModUnknownMeter "METER_MOD_FAILED/UNKNOWN_METER" None, Some((12, 3));
    /// The command is unknown.
    MeterModBadCommand "METER_MOD_FAILED/BAD_COMMAND" None, Some((12, 4));
    /// A flag is not supported.
    MeterModBadFlags "METER_MOD_FAILED/BAD_FLAGS" None, Some((12, 5));
    /// The rate is not supported.
    MeterModBadRate "METER_MOD_FAILED/BAD_RATE" None, Some((12, 6));
    /// The burst is not supported.
    MeterModBadBurst "METER_MOD_FAILED/BAD_BURST" None, Some((12, 7));
    /// The band is not supported.
    MeterModBadBand "METER_MOD_FAILED/BAD_BAND" None, Some((12, 8));
    /// A value in the band is not supported.
    MeterModBadBandValue "METER_MOD_FAILED/BAD_BAND_VALUE" None, Some((12, 9));
    /// The switch has no room for another meter.
    MeterModOutOfMeters "METER_MOD_FAILED/OUT_OF_METERS" None, Some((12, 10));
    /// There are more bands than a meter can have.
    MeterModOutOfBands "METER_MOD_FAILED/OUT_OF_BANDS" None, Some((12, 11));

    /// There is no such table.
    TableFeaturesBadTable "TABLE_FEATURES_FAILED/BAD_TABLE" None, Some((13, 0));
    /// The metadata mask is not valid.
    TableFeaturesBadMetadata "TABLE_FEATURES_FAILED/BAD_METADATA" None, Some((13, 1));
    /// The property type is unknown.
    TableFeaturesBadType "TABLE_FEATURES_FAILED/BAD_TYPE" None, Some((13, 2));
    /// A property's length is wrong.
    TableFeaturesBadLen "TABLE_FEATURES_FAILED/BAD_LEN" None, Some((13, 3));
    /// A property's value is not supported.
    TableFeaturesBadArgument "TABLE_FEATURES_FAILED/BAD_ARGUMENT" None, Some((13, 4));
    /// Permission is denied.
    TableFeaturesEperm "TABLE_FEATURES_FAILED/EPERM" None, Some((13, 5));
}

impl ErrorReason {
    /// The error type of 1.3 whose code is an experimenter's own (`OFPET_EXPERIMENTER`).
    pub const EXPERIMENTER_TYPE: u16 = 0xffff;

    /// Returns the reason for a type and a code in a version, if the specification defines it.
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

    /// In both specifications, the codes of a type count from 0 without gaps.
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
