//! The control plane's operations on action profiles and action selectors.

use super::{Done, unknown};
use crate::error::ControlError;
use crate::externs::ExternState;
use crate::switch::Core;
use crate::table::{ActionCall, EntryAction, Group, Profile};
use ir::{ExternId, TableImplementation};

/// The operations on action profiles and action selectors.
impl Core {
    pub(crate) fn profile(&self, id: ExternId) -> Result<&Profile, ControlError> {
        match self.state.externs.get(id.index()) {
            Some(ExternState::Profile(profile)) => Ok(profile),
            _ => Err(unknown("action profile", id.0)),
        }
    }

    /// Adds a member to an action profile or selector.
    ///
    /// # Errors
    /// Fails if the member already exists, or the profile is full.
    pub fn add_member(&self, profile: ExternId, member: u32, action: ActionCall) -> Done {
        self.profile(profile)?.add_member(member, action)
    }

    /// Replaces the action of a member.
    ///
    /// # Errors
    /// Fails if the member does not exist.
    pub fn modify_member(&self, profile: ExternId, member: u32, action: ActionCall) -> Done {
        let cell = self.profile(profile)?.modify_member(member, action)?;
        self.state.refresh_choosers(&|runs| runs.may_run(&cell));
        Ok(())
    }

    /// Removes a member.
    ///
    /// # Errors
    /// Fails if the member does not exist, or is used by groups or entries.
    pub fn delete_member(&self, profile: ExternId, member: u32) -> Done {
        self.check_unused(profile, &EntryAction::Member(member), "member")?;
        self.profile(profile)?.remove_member(member)
    }

    /// Adds a group to an action selector.
    ///
    /// # Errors
    /// Fails if the group already exists, if one of its members does not exist, is named twice or
    /// has the weight zero, or if the sum of the weights is too large. Also fails if `selector` is
    /// an action profile without groups.
    pub fn add_group(&self, selector: ExternId, group: u32, members: Group) -> Done {
        self.profile(selector)?.add_group(group, members)
    }

    /// Replaces the members of a group.
    ///
    /// # Errors
    /// Fails if the group does not exist, or as [`Core::add_group`] does.
    pub fn modify_group(&self, selector: ExternId, group: u32, members: Group) -> Done {
        let cell = self.profile(selector)?.modify_group(group, members)?;
        self.state.refresh_choosers(&|runs| runs.is_group(&cell));
        Ok(())
    }

    /// Removes a group.
    ///
    /// # Errors
    /// Fails if the group does not exist, or is used by entries.
    pub fn delete_group(&self, selector: ExternId, group: u32) -> Done {
        self.check_unused(selector, &EntryAction::Group(group), "group")?;
        self.profile(selector)?.remove_group(group)
    }

    /// Returns the members of a profile with their actions.
    ///
    /// # Errors
    /// Fails if there is no such profile.
    pub fn members(
        &self,
        profile: ExternId,
    ) -> Result<impl Iterator<Item = (u32, ActionCall)> + use<>, ControlError> {
        let members = self.profile(profile)?.members().clone();
        Ok(members.into_iter().map(|(id, cell)| (id, (*cell.call()).clone())))
    }

    /// Returns the groups of a selector.
    ///
    /// # Errors
    /// Fails if there is no such selector.
    pub fn groups(
        &self,
        selector: ExternId,
    ) -> Result<impl Iterator<Item = (u32, Group)> + use<>, ControlError> {
        let groups = self.profile(selector)?.groups().clone();
        Ok(groups.into_iter().map(|(id, cell)| (id, cell.choice().group.clone())))
    }

    pub(crate) fn check_unused(
        &self,
        profile: ExternId,
        used: &EntryAction,
        what: &'static str,
    ) -> Done {
        let tables = self.program().tables.iter().zip(&self.state.tables);
        let users = tables.filter(|(table, _)| {
            matches!(
                table.implementation,
                Some(
                    TableImplementation::ActionProfile(id)
                        | TableImplementation::ActionSelector(id)
                ) if id == profile
            )
        });
        for (_, state) in users {
            if state.iter().any(|entry| entry.state().runs.uses(used)) {
                return Err(ControlError::InUse(what));
            }
        }
        Ok(())
    }

    /// Sets whether a port is up. A member of a group that watches a port is only chosen while that
    /// port is up, and a replica for a port that is down is replaced by its first backup whose port
    /// is up. All ports are up at first.
    pub fn set_port_up(&self, port: u32, up: bool) {
        self.state.change_ports_down(|down| {
            if up {
                down.remove(&port);
            } else {
                down.insert(port);
            }
        });
    }
}
