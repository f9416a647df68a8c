//! The group table of an emulated switch.

use std::collections::BTreeMap;
use std::time::Duration;

use openflow::ErrorReason;
use openflow::v1_3::{
    Bucket, BucketCounter, GroupDesc, GroupId, GroupMod, GroupModCommand, GroupStats, GroupType,
};

use super::pipeline::GroupHit;

/// The group table of a switch.
#[derive(Debug, Default)]
pub(super) struct Groups {
    groups: BTreeMap<GroupId, Group>,
}

/// A group, with its counters.
#[derive(Debug)]
struct Group {
    group_type: GroupType,
    buckets: Vec<Bucket>,
    created_at: u64,
    counter: BucketCounter,
    /// The counters of the group's buckets, one for each.
    bucket_counters: Vec<BucketCounter>,
}

const NOTHING: BucketCounter = BucketCounter { packet_count: 0, byte_count: 0 };

fn count(counter: &mut BucketCounter, bytes: u64) {
    counter.packet_count += 1;
    counter.byte_count += bytes;
}

impl Groups {
    pub(super) fn contains(&self, group: GroupId) -> bool {
        self.groups.contains_key(&group)
    }

    pub(super) fn get(&self, group: GroupId) -> Option<(GroupType, &[Bucket])> {
        self.groups.get(&group).map(|group| (group.group_type, group.buckets.as_slice()))
    }

    /// Counts a packet that a bucket of a group has processed.
    pub(super) fn count(&mut self, hit: GroupHit) {
        let Some(group) = self.groups.get_mut(&hit.group) else { return };
        if hit.is_first {
            count(&mut group.counter, hit.bytes);
        }
        if let Some(counter) = group.bucket_counters.get_mut(hit.bucket) {
            count(counter, hit.bytes);
        }
    }

    /// Executes a group-mod message. If it deletes a group, returns the group whose flow entries
    /// must be removed ([`GroupId::ALL`] for every group).
    pub(super) fn modify(
        &mut self,
        request: GroupMod,
        now: u64,
    ) -> Result<Option<GroupId>, ErrorReason> {
        let id = request.group_id;
        if id > GroupId::MAX && !(id == GroupId::ALL && request.command == GroupModCommand::DELETE)
        {
            return Err(ErrorReason::GroupModInvalidGroup);
        }
        let group = |request: GroupMod| Group {
            group_type: request.group_type,
            counter: NOTHING,
            bucket_counters: vec![NOTHING; request.buckets.len()],
            buckets: request.buckets,
            created_at: now,
        };
        match request.command {
            GroupModCommand::ADD | GroupModCommand::MODIFY => check(&request)?,
            _ => {}
        }
        match request.command {
            GroupModCommand::ADD if self.contains(id) => {
                return Err(ErrorReason::GroupModGroupExists);
            }
            GroupModCommand::MODIFY if !self.contains(id) => {
                return Err(ErrorReason::GroupModUnknownGroup);
            }
            GroupModCommand::ADD | GroupModCommand::MODIFY => {
                self.groups.insert(id, group(request));
            }
            GroupModCommand::DELETE => {
                // Deleting a group that does not exist is not an error (OpenFlow 1.3.5, 6.7).
                match id {
                    GroupId::ALL => self.groups.clear(),
                    id => drop(self.groups.remove(&id)),
                }
                return Ok(Some(id));
            }
            _ => return Err(ErrorReason::GroupModBadCommand),
        }
        Ok(None)
    }

    pub(super) fn descriptions(&self) -> Vec<GroupDesc> {
        self.groups
            .iter()
            .map(|(id, group)| GroupDesc {
                group_type: group.group_type,
                group_id: *id,
                buckets: group.buckets.clone(),
            })
            .collect()
    }

    pub(super) fn statistics(&self, wanted: GroupId, now: u64) -> Vec<GroupStats> {
        self.groups
            .iter()
            .filter(|(id, _)| wanted == GroupId::ALL || **id == wanted)
            .map(|(id, group)| {
                let age = Duration::from_nanos(now.saturating_sub(group.created_at));
                GroupStats {
                    group_id: *id,
                    ref_count: 0,
                    packet_count: group.counter.packet_count,
                    byte_count: group.counter.byte_count,
                    duration_sec: u32::try_from(age.as_secs()).unwrap_or(u32::MAX),
                    duration_nsec: age.subsec_nanos(),
                    buckets: group.bucket_counters.clone(),
                }
            })
            .collect()
    }
}

fn check(request: &GroupMod) -> Result<(), ErrorReason> {
    match request.group_type {
        GroupType::ALL | GroupType::SELECT | GroupType::FAST_FAILOVER => Ok(()),
        GroupType::INDIRECT if request.buckets.len() == 1 => Ok(()),
        GroupType::INDIRECT => Err(ErrorReason::GroupModBadBucket),
        _ => Err(ErrorReason::GroupModBadType),
    }
}
