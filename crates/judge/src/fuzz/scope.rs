//! The parts of a device's state that are read and compared as a whole.

use protos::v1::{self, entity::Entity as Kind, packet_replication_engine_entry::Type};

/// A part of the state. The order is that in which parts are deleted: what refers to others comes
/// before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
    /// The entries of a table, without the default entry.
    Entries(u32),
    /// The default entry of a table.
    DefaultEntry(u32),
    /// The groups of an action profile.
    Groups(u32),
    /// The members of an action profile.
    Members(u32),
    MulticastGroups,
    CloneSessions,
}

impl Scope {
    /// Returns the part to which an entity belongs; `None` for kinds that are not written here.
    pub(super) fn of(entity: &v1::Entity) -> Option<Self> {
        Some(match entity.entity.as_ref()? {
            Kind::TableEntry(entry) if entry.is_default_action => {
                Self::DefaultEntry(entry.table_id)
            }
            Kind::TableEntry(entry) => Self::Entries(entry.table_id),
            Kind::ActionProfileGroup(group) => Self::Groups(group.action_profile_id),
            Kind::ActionProfileMember(member) => Self::Members(member.action_profile_id),
            Kind::PacketReplicationEngineEntry(entry) => match entry.r#type.as_ref()? {
                Type::MulticastGroupEntry(_) => Self::MulticastGroups,
                Type::CloneSessionEntry(_) => Self::CloneSessions,
            },
            _ => return None,
        })
    }

    /// Returns the entity that selects the whole part in a Read.
    pub(super) fn wildcard(self) -> v1::Entity {
        let replication = |kind| v1::PacketReplicationEngineEntry { r#type: Some(kind) }.into();
        match self {
            Self::Entries(table_id) => v1::TableEntry { table_id, ..Default::default() }.into(),
            Self::DefaultEntry(table_id) => {
                v1::TableEntry { table_id, is_default_action: true, ..Default::default() }.into()
            }
            Self::Groups(action_profile_id) => {
                v1::ActionProfileGroup { action_profile_id, ..Default::default() }.into()
            }
            Self::Members(action_profile_id) => {
                v1::ActionProfileMember { action_profile_id, ..Default::default() }.into()
            }
            Self::MulticastGroups => replication(Type::MulticastGroupEntry(Default::default())),
            Self::CloneSessions => replication(Type::CloneSessionEntry(Default::default())),
        }
    }

    /// Returns the name of an entity of the part.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Entries(_) => "entry",
            Self::DefaultEntry(_) => "default entry",
            Self::Groups(_) => "group",
            Self::Members(_) => "member",
            Self::MulticastGroups => "multicast group",
            Self::CloneSessions => "clone session",
        }
    }
}
