//! Groups: sets of action buckets that flow entries point to (specification 1.3.5, sections 7.3.4.2
//! and 7.3.5.9 to 7.3.5.11).

use super::actions::Action;
use super::codec::{Wire, body, decode_list, encode_list, put_u16, put_u32};
use crate::PortNumber;
use crate::cursor::{Reader, pad, patch_length};
use crate::error::{DecodeError, DecodeErrorKind, EncodeError};

open_enum! {
    /// A group's id, `ofp_group`.
    pub GroupId: u32 {
        /// The largest id that a group can have.
        MAX = 0xffff_ff00,
        /// All groups, in requests and deletions.
        ALL = 0xffff_fffc,
        /// Any group, in requests that do not restrict the group.
        ANY = 0xffff_ffff,
    }
}

open_enum! {
    /// The rule by which a group chooses among its buckets, `ofp_group_type`.
    pub GroupType: u8 {
        /// Executes all buckets, for multicast and broadcast.
        ALL = 0,
        /// Executes one bucket, chosen by an algorithm of the switch and by the weights.
        SELECT = 1,
        /// Executes the only bucket.
        INDIRECT = 2,
        /// Executes the first live bucket.
        FAST_FAILOVER = 3,
    }
}

open_enum! {
    /// The command of a group-mod, `ofp_group_mod_command`.
    pub GroupModCommand: u16 {
        /// Adds a group that must not exist.
        ADD = 0,
        /// Replaces the buckets and the type of a group that exists.
        MODIFY = 1,
        /// Deletes a group, or all groups for [`GroupId::ALL`].
        DELETE = 2,
    }
}

/// A bucket of a group: a list of actions (`ofp_bucket`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bucket {
    /// The bucket's weight in select groups.
    pub weight: u16,
    /// The port whose state determines whether the bucket is live, or [`PortNumber::ANY`] for none.
    pub watch_port: PortNumber,
    /// The group whose state determines whether the bucket is live, or [`GroupId::ANY`] for none.
    pub watch_group: GroupId,
    /// The actions that are executed on a packet, as an action set.
    pub actions: Vec<Action>,
}

impl Bucket {
    /// Creates a bucket that watches nothing and has no weight, for groups of type all and
    /// indirect.
    pub const fn new(actions: Vec<Action>) -> Self {
        Self { weight: 0, watch_port: PortNumber::ANY, watch_group: GroupId::ANY, actions }
    }
}

impl Wire for Bucket {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let start = *reader;
        let mut body = body(reader, 2, 16, "ofp_bucket.len")?;
        let length = body.remaining() + 2;
        if !length.is_multiple_of(8) {
            let kind = DecodeErrorKind::Alignment { value: length, multiple: 8 };
            return Err(start.error("ofp_bucket.len", kind));
        }
        let weight = body.u16("ofp_bucket.weight")?;
        let watch_port = PortNumber(body.u32("ofp_bucket.watch_port")?);
        let watch_group = GroupId(body.u32("ofp_bucket.watch_group")?);
        body.skip(4, "ofp_bucket.pad")?;
        Ok(Self { weight, watch_port, watch_group, actions: decode_list(&mut body)? })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = out.len();
        put_u16(out, 0);
        put_u16(out, self.weight);
        put_u32(out, self.watch_port.0);
        put_u32(out, self.watch_group.0);
        pad(out, 4);
        encode_list(&self.actions, out)?;
        patch_length(out, start, start, "ofp_bucket.len")
    }
}

/// A message that adds, changes or deletes a group (`ofp_group_mod`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GroupMod {
    /// The change that the group-mod makes.
    pub command: GroupModCommand,
    /// The rule by which the group chooses among its buckets.
    pub group_type: GroupType,
    /// The id of the group to change.
    pub group_id: GroupId,
    /// The buckets that the group will have.
    pub buckets: Vec<Bucket>,
}

impl Wire for GroupMod {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let command = GroupModCommand(reader.u16("ofp_group_mod.command")?);
        let group_type = GroupType(reader.u8("ofp_group_mod.type")?);
        reader.skip(1, "ofp_group_mod.pad")?;
        let group_id = GroupId(reader.u32("ofp_group_mod.group_id")?);
        Ok(Self { command, group_type, group_id, buckets: decode_list(reader)? })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        put_u16(out, self.command.0);
        out.push(self.group_type.0);
        pad(out, 1);
        put_u32(out, self.group_id.0);
        encode_list(&self.buckets, out)
    }
}

/// A group with its buckets as the switch describes it, `ofp_group_desc`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GroupDesc {
    /// The rule by which the group chooses among its buckets.
    pub group_type: GroupType,
    /// The group's id.
    pub group_id: GroupId,
    /// The group's buckets.
    pub buckets: Vec<Bucket>,
}

impl Wire for GroupDesc {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut body = body(reader, 2, 8, "ofp_group_desc.length")?;
        let group_type = GroupType(body.u8("ofp_group_desc.type")?);
        body.skip(1, "ofp_group_desc.pad")?;
        let group_id = GroupId(body.u32("ofp_group_desc.group_id")?);
        Ok(Self { group_type, group_id, buckets: decode_list(&mut body)? })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = out.len();
        put_u16(out, 0);
        out.push(self.group_type.0);
        pad(out, 1);
        put_u32(out, self.group_id.0);
        encode_list(&self.buckets, out)?;
        patch_length(out, start, start, "ofp_group_desc.length")
    }
}

structure! {
    /// The counters of one bucket of a group, `ofp_bucket_counter`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct BucketCounter = "ofp_bucket_counter" {
        /// The number of packets that the bucket processed.
        pub packet_count: u64,
        /// The number of bytes in the packets that the bucket processed.
        pub byte_count: u64,
    }
}

structure! {
    /// A group's counters, `ofp_group_stats`.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub struct GroupStats = "ofp_group_stats" {
        counts length >= 40;
        pad 2;
        /// The group's id.
        pub group_id: GroupId,
        /// The number of flow entries and groups that send packets to this group.
        pub ref_count: u32; pad 4,
        /// The number of packets that the group processed.
        pub packet_count: u64,
        /// The number of bytes in the packets that the group processed.
        pub byte_count: u64,
        /// The whole seconds for which the group has existed.
        pub duration_sec: u32,
        /// The nanoseconds beyond `duration_sec` for which the group has existed.
        pub duration_nsec: u32,
        /// The counters of the group's buckets.
        pub buckets: Vec<BucketCounter>,
    }
}

bit_set! {
    /// The capabilities of a switch for groups, `ofp_group_capabilities`.
    pub GroupCapabilities: u32 {
        /// Select groups can have buckets with different weights.
        SELECT_WEIGHT = 1 << 0,
        /// Select groups can choose among live buckets.
        SELECT_LIVENESS = 1 << 1,
        /// Groups can send packets to other groups.
        CHAINING = 1 << 2,
        /// The switch checks chained groups for loops.
        CHAINING_CHECKS = 1 << 3,
    }
}

/// The features of a switch's groups, `ofp_group_features`. The arrays have one element for each
/// [`GroupType`] and are indexed by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct GroupFeatures {
    /// The supported group types, as bits `1 << type`.
    pub types: u32,
    /// The capabilities of the switch.
    pub capabilities: GroupCapabilities,
    /// The largest number of groups of each type.
    pub max_groups: [u32; 4],
    /// The supported actions of each group type, as bits `1 << type` for each
    /// [`super::ActionType`].
    pub actions: [u32; 4],
}

impl Wire for GroupFeatures {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let types = reader.u32("ofp_group_features.types")?;
        let capabilities = GroupCapabilities(reader.u32("ofp_group_features.capabilities")?);
        let mut four = |field| {
            let mut values = [0; 4];
            for value in &mut values {
                *value = reader.u32(field)?;
            }
            Ok(values)
        };
        let max_groups = four("ofp_group_features.max_groups")?;
        let actions = four("ofp_group_features.actions")?;
        Ok(Self { types, capabilities, max_groups, actions })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        put_u32(out, self.types);
        put_u32(out, self.capabilities.0);
        for value in self.max_groups.into_iter().chain(self.actions) {
            put_u32(out, value);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_nest_in_groups() {
        let group = GroupMod {
            command: GroupModCommand::ADD,
            group_type: GroupType::SELECT,
            group_id: GroupId(1),
            buckets: vec![
                Bucket { weight: 3, ..Bucket::new(vec![Action::output(PortNumber(1))]) },
                Bucket::new(vec![]),
            ],
        };
        let mut out = Vec::new();
        group.encode(&mut out).unwrap();
        assert_eq!(out.len(), 8 + 32 + 16);
        assert_eq!(GroupMod::decode(&mut Reader::new(&out)), Ok(group));

        // The first bucket ends in the middle of its action. The second one is shorter than its
        // header.
        out[9] = 24;
        let error = GroupMod::decode(&mut Reader::new(&out)).unwrap_err();
        assert_eq!((error.offset, error.field), (26, "ofp_action_header.len"));
        out[9] = 8;
        let error = GroupMod::decode(&mut Reader::new(&out)).unwrap_err();
        assert_eq!((error.offset, error.field), (8, "ofp_bucket.len"));
        out[9] = 28;
        let error = GroupMod::decode(&mut Reader::new(&out)).unwrap_err();
        assert_eq!(error.kind, DecodeErrorKind::Alignment { value: 28, multiple: 8 });
    }

    #[test]
    fn group_statistics_end_with_whole_buckets() {
        let mut bytes = vec![0; 56];
        bytes[1] = 56;
        let stats = GroupStats::decode(&mut Reader::new(&bytes)).unwrap();
        assert_eq!(stats.buckets.len(), 1);
        bytes[1] = 48;
        assert!(GroupStats::decode(&mut Reader::new(&bytes)).is_err());
    }
}
