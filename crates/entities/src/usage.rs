//! What an action profile or action selector has room for beside what it holds.

use crate::error::EntityError;
use crate::schema::ActionProfile;

/// How much of an action profile is in use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProfileUsage {
    /// Its members.
    pub members: u64,
    /// Its groups.
    pub groups: u64,
    /// Entries that bring their own group.
    pub one_shots: u64,
    /// The sizes of all groups, one-shot groups included, in what the selector counts.
    pub total_size: u64,
}

impl ProfileUsage {
    /// Checks that a member may be added.
    ///
    /// # Errors
    /// If the profile is full, or programmed in the other way.
    pub fn admits_member(&self, profile: &ActionProfile) -> Result<(), EntityError> {
        self.no_one_shots(profile)?;
        let members = self.members;
        if profile.size.is_some_and(|size| members >= size) {
            return Err(EntityError::exhausted(format!(
                "the action profile is full with {members} members"
            )));
        }
        Ok(())
    }

    /// Checks that groups of `size` more fit, in the place of one of size `replaced`.
    ///
    /// # Errors
    /// If there is no room.
    pub fn fits(
        &self,
        profile: &ActionProfile,
        size: u64,
        replaced: u64,
    ) -> Result<(), EntityError> {
        let others = self.total_size.saturating_sub(replaced);
        match profile.size {
            Some(limit) if others.saturating_add(size) > limit => {
                Err(EntityError::exhausted(format!(
                    "the size {size} does not fit: groups of size {others} out of {limit} are there already"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Checks that an entry may bring a group of `size`, in the place of one of size `replaced`.
    ///
    /// # Errors
    /// If there is no room, or the selector is programmed in the other way.
    pub fn admits_one_shot(
        &self,
        profile: &ActionProfile,
        size: u64,
        replaced: u64,
    ) -> Result<(), EntityError> {
        if self.members > 0 || self.groups > 0 {
            return Err(EntityError::invalid(format!(
                "action selector '{}' is programmed with members and groups; it takes no action sets besides",
                profile.name
            )));
        }
        self.fits(profile, size, replaced)
    }

    /// Checks that members and groups may be added.
    ///
    /// # Errors
    /// If the selector is programmed with groups that come with entries.
    pub fn no_one_shots(&self, profile: &ActionProfile) -> Result<(), EntityError> {
        if self.one_shots > 0 {
            return Err(EntityError::invalid(format!(
                "action selector '{}' is programmed with action sets; it takes no members and groups besides",
                profile.name
            )));
        }
        Ok(())
    }
}
