//! The numbers and sizes of the members and groups in an action profile or selector, and the checks
//! against its limits.

use crate::error::EntityError;
use crate::schema::ActionProfile;

/// The numbers of members and groups of an action profile, and their sizes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProfileUsage {
    /// The number of members of the profile.
    pub members: u64,
    /// The number of groups of the profile, without one-shot groups.
    pub groups: u64,
    /// The number of entries with a one-shot group.
    pub one_shots: u64,
    /// The sum of the sizes of all groups, including one-shot groups, in the unit in which the
    /// selector counts sizes.
    pub total_size: u64,
}

impl ProfileUsage {
    /// Checks that a member may be added to the profile.
    ///
    /// # Errors
    /// Returns an error if the profile is full, or if the selector has one-shot groups.
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

    /// Checks that a group of size `size` can replace a group of size `replaced` (0 for a new
    /// group).
    ///
    /// # Errors
    /// Returns RESOURCE_EXHAUSTED if the sizes of all groups would exceed the limit.
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

    /// Checks that a table entry can have a one-shot group of size `size` in place of one of size
    /// `replaced` (0 for none).
    ///
    /// # Errors
    /// Returns an error if the group does not fit, or the selector has members or groups.
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

    /// Checks that the selector has no one-shot groups, so that members and groups may be added.
    ///
    /// # Errors
    /// Returns INVALID_ARGUMENT if the selector has one-shot groups.
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
