//! The access that a role has to a device.
//!
//! P4Runtime leaves the meaning of `Role.config` to an agreement outside the specification (1.5,
//! section "Role Config"). The agreement used in practice is the message `stratum.P4RoleConfig` of
//! the Stratum project, which ONOS and finsy send and which this module understands. Any other
//! configuration is refused, because a role that asked to be restricted must not have full access.

use prost::Message;
use prost_types::Any;
use thiserror::Error;

use crate::{
    arbitration::RoleKey,
    conversion::{Found, object_id},
    proto::{
        roles::{self, PacketFilter, RoleConfig},
        v1,
    },
};

/// The reason why a role configuration is refused. The status code is `INVALID_ARGUMENT`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RoleConfigError {
    /// The bytes of the configuration are not a message of the type that its URL names.
    #[error("The configuration of {role} is not a {}: {cause}", roles::NAME)]
    Malformed {
        /// The role with the configuration.
        role: RoleKey,
        /// The error of decoding the configuration.
        cause: prost::DecodeError,
    },
    /// The configuration is a message of another type, whose meaning is not known.
    #[error(
        "The configuration of {role} has the type '{type_url}'; configure it with a {}, or not at all.",
        roles::NAME
    )]
    Unknown {
        /// The role with the configuration.
        role: RoleKey,
        /// The type URL of the configuration.
        type_url: String,
    },
    /// The default role has full access and cannot be restricted.
    #[error("The default role cannot have a configuration; name the role.")]
    DefaultRole,
    /// The configuration has a filter for packet-ins, but the role does not receive packet-ins.
    #[error("The configuration of {0} has a packet-in filter but receives no packet-ins.")]
    FilterWithoutPacketIns(RoleKey),
    /// Two roles claim the same entity, and at least one of them claims it exclusively.
    #[error("The configuration of {role} names P4 id {id:#x}, which belongs to {owner}.")]
    Overlap {
        /// The role whose configuration is refused.
        role: RoleKey,
        /// The role that already has the entity.
        owner: RoleKey,
        /// The id that P4Info assigns to the object, such as a table, to which the entity belongs.
        id: u32,
    },
}

/// The access of one role: unrestricted, unless its configuration restricts it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RoleAccess(Option<RoleConfig>);

impl RoleAccess {
    /// Parses the configuration of a role. Without a configuration, the role is unrestricted.
    pub(crate) fn parse(role: &RoleKey, config: Option<&Any>) -> Result<Self, RoleConfigError> {
        let Some(config) = config else { return Ok(Self(None)) };
        if !names(&config.type_url, roles::NAME) {
            let type_url = config.type_url.clone();
            return Err(RoleConfigError::Unknown { role: role.clone(), type_url });
        }
        if *role == RoleKey::Default {
            return Err(RoleConfigError::DefaultRole);
        }
        let config = RoleConfig::decode(config.value.as_slice())
            .map_err(|cause| RoleConfigError::Malformed { role: role.clone(), cause })?;
        if config.packet_in_filter.is_some() && !config.receives_packet_ins {
            return Err(RoleConfigError::FilterWithoutPacketIns(role.clone()));
        }
        Ok(Self(Some(config)))
    }

    /// Checks two roles: an entity that one of them claims exclusively must not belong to the
    /// other.
    pub(crate) fn check_disjoint(
        &self,
        role: &RoleKey,
        other: &Self,
        owner: &RoleKey,
    ) -> Result<(), RoleConfigError> {
        let (Some(own), Some(other)) = (&self.0, &other.0) else { return Ok(()) };
        let exclusive = own.exclusive_p4_ids.iter();
        let clash = exclusive
            .filter(|id| other.exclusive_p4_ids.contains(id) || other.shared_p4_ids.contains(id))
            .chain(own.shared_p4_ids.iter().filter(|id| other.exclusive_p4_ids.contains(id)))
            .next();
        match clash {
            Some(id) => {
                Err(RoleConfigError::Overlap { role: role.clone(), owner: owner.clone(), id: *id })
            }
            None => Ok(()),
        }
    }

    /// Returns whether the role has full access.
    pub(crate) fn is_full(&self) -> bool {
        self.0.is_none()
    }

    /// Returns whether the role may write the entity. Reads by the role return the same entities.
    pub(crate) fn covers(&self, entity: &v1::Entity) -> bool {
        // Entities without an object in P4Info, such as multicast groups and clone sessions, belong
        // to all roles.
        object_id(entity).is_none_or(|id| self.covers_id(id))
    }

    /// Returns whether a Read by the role returns an entity that was found; see
    /// [`RoleAccess::covers`].
    pub(crate) fn covers_found(&self, found: &Found) -> bool {
        found.object_id().is_none_or(|id| self.covers_id(id))
    }

    /// Returns whether the object with this id in P4Info belongs to the role.
    pub(crate) fn covers_id(&self, id: u32) -> bool {
        self.0.as_ref().is_none_or(|config| {
            config.exclusive_p4_ids.contains(&id) || config.shared_p4_ids.contains(&id)
        })
    }

    /// Returns whether the role may load a pipeline.
    pub(crate) fn can_push_pipeline(&self) -> bool {
        self.0.as_ref().is_none_or(|config| config.can_push_pipeline)
    }

    /// Returns whether the primary of this role receives packet-ins.
    pub(crate) fn receives_packet_ins(&self) -> bool {
        self.0.as_ref().is_none_or(|config| config.receives_packet_ins)
    }

    /// Returns the filter that a packet-in must pass to reach this role, or `None` if all
    /// packet-ins reach it.
    pub(crate) fn packet_in_filter(&self) -> Option<&PacketFilter> {
        self.0.as_ref()?.packet_in_filter.as_ref()
    }
}

/// Returns whether the metadata of a packet-in passes a filter. Leading zero bytes of values are
/// ignored.
#[must_use]
pub(crate) fn passes(filter: &PacketFilter, metadata: &[v1::PacketMetadata]) -> bool {
    let wanted = significant(&filter.value);
    let field = metadata.iter().find(|one| one.metadata_id == filter.metadata_id);
    field.is_some_and(|one| significant(&one.value) == wanted)
}

fn significant(value: &[u8]) -> &[u8] {
    let first = value.iter().position(|byte| *byte != 0).unwrap_or(value.len());
    &value[first..]
}

fn names(type_url: &str, name: &str) -> bool {
    type_url.rsplit('/').next() == Some(name)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::proto::v1::entity::Entity as Kind;

    fn table(table_id: u32) -> v1::Entity {
        let entry = v1::TableEntry { table_id, ..Default::default() };
        v1::Entity { entity: Some(Kind::TableEntry(entry)) }
    }

    fn named() -> RoleKey {
        RoleKey::Named("a".to_owned())
    }

    #[test]
    fn without_configuration_everything_is_allowed() {
        for role in [RoleKey::Default, named()] {
            let access = RoleAccess::parse(&role, None).expect("accepted");
            assert!(access.is_full() && access.covers(&table(1)));
            assert!(access.can_push_pipeline() && access.receives_packet_ins());
        }
    }

    #[test]
    fn a_configured_role_may_use_the_listed_objects() {
        let config = RoleConfig {
            exclusive_p4_ids: vec![1],
            shared_p4_ids: vec![2],
            packet_in_filter: Some(PacketFilter { metadata_id: 4, value: vec![0, 9].into() }),
            receives_packet_ins: true,
            can_push_pipeline: false,
        };
        let access = RoleAccess::parse(&named(), Some(&config.to_any())).expect("accepted");
        assert!(!access.is_full() && !access.can_push_pipeline());
        let covered: Vec<_> = (0..4).map(|id| access.covers(&table(id))).collect();
        // Table 0 selects all tables in a read. The role then restricts the entities that were
        // found.
        assert_eq!(covered, [true, true, true, false]);

        let filter = access.packet_in_filter().expect("filter");
        let metadata = |metadata_id, value: &'static [u8]| {
            [v1::PacketMetadata { metadata_id, value: Bytes::from_static(value) }]
        };
        assert!(passes(filter, &metadata(4, &[9])));
        assert!(!passes(filter, &metadata(4, &[9, 0])));
        assert!(!passes(filter, &metadata(5, &[9])));
        assert!(!passes(filter, &[]));
    }

    #[test]
    fn invalid_configurations_are_refused() {
        let type_url = "type.googleapis.com/else.Config".to_owned();
        let other = Any { type_url: type_url.clone(), value: vec![255] };
        let error = RoleAccess::parse(&named(), Some(&other));
        assert_eq!(error, Err(RoleConfigError::Unknown { role: named(), type_url }));

        let plain = RoleConfig { can_push_pipeline: true, ..RoleConfig::default() }.to_any();
        let error = RoleAccess::parse(&RoleKey::Default, Some(&plain));
        assert_eq!(error, Err(RoleConfigError::DefaultRole));

        let garbage = Any { value: vec![0xff], ..plain };
        let error = RoleAccess::parse(&named(), Some(&garbage));
        assert!(matches!(error, Err(RoleConfigError::Malformed { .. })));

        let filter = PacketFilter { metadata_id: 1, value: Bytes::new() };
        let deaf = RoleConfig { packet_in_filter: Some(filter), ..RoleConfig::default() }.to_any();
        let error = RoleAccess::parse(&named(), Some(&deaf));
        assert_eq!(error, Err(RoleConfigError::FilterWithoutPacketIns(named())));
    }

    #[test]
    fn exclusive_objects_belong_to_one_role() {
        let parse = |exclusive: &[u32], shared: &[u32]| {
            let config = RoleConfig {
                exclusive_p4_ids: exclusive.to_vec(),
                shared_p4_ids: shared.to_vec(),
                ..RoleConfig::default()
            };
            RoleAccess::parse(&named(), Some(&config.to_any())).expect("accepted")
        };
        let owner = RoleKey::Named("b".to_owned());
        let clash = |one: &RoleAccess, two: &RoleAccess| {
            one.check_disjoint(&named(), two, &owner).err().map(|error| match error {
                RoleConfigError::Overlap { id, .. } => id,
                other => panic!("{other}"),
            })
        };
        assert_eq!(clash(&parse(&[1], &[2]), &parse(&[3], &[2])), None);
        assert_eq!(clash(&parse(&[1], &[2]), &parse(&[1], &[])), Some(1));
        assert_eq!(clash(&parse(&[1], &[2]), &parse(&[2], &[])), Some(2));
        assert_eq!(clash(&parse(&[1], &[2]), &parse(&[], &[1])), Some(1));
        assert_eq!(clash(&parse(&[1], &[2]), &RoleAccess::default()), None);
    }
}
