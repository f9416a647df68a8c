//! The initial entities of a pipeline, which are distinguished from those that controllers have
//! written.

use std::collections::HashSet;

use entities::DataPlane;
use prost::Message as _;

use super::config::everything;
use crate::{
    fingerprint::Fingerprints,
    proto::v1,
    status::EntityError,
    store::{Nanos, Store},
};

/// The entities that a pipeline contained before anything was written to it: default entries,
/// entries of the program, and counters at zero. Only a keyed fingerprint of each entity is stored,
/// so no controller can construct an entity that is mistaken for an initial one.
#[derive(Debug, Default)]
pub(super) struct InitialEntities {
    fingerprints: Fingerprints,
    digests: HashSet<u128>,
}

impl InitialEntities {
    /// Records the entities of a store to which nothing has been written yet.
    pub(super) fn of(store: &Store<Box<dyn DataPlane>>, now: Nanos) -> Result<Self, EntityError> {
        let mut initial = Self::default();
        for (_, request) in everything() {
            store.read(&request, now, &mut |found| {
                let digest = initial.digest(&found);
                initial.digests.insert(digest);
            })?;
        }
        Ok(initial)
    }

    /// Returns whether an entity equals one of the initial entities.
    pub(super) fn contains(&self, entity: &v1::Entity) -> bool {
        self.digests.contains(&self.digest(entity))
    }

    fn digest(&self, entity: &v1::Entity) -> u128 {
        self.fingerprints.of(&entity.encode_to_vec())
    }
}
