//! Action profiles and selectors.

use super::{Done, unknown};
use crate::error::ControlError;
use crate::externs::ExternState;
use crate::switch::Switch;
use crate::table::{ActionCall, EntryAction, Group, Profile};
use ir::{ExternId, TableImplementation};

/// Action profiles and selectors.
impl Switch {
    pub(crate) fn profile(&self, id: ExternId) -> Result<&Profile, ControlError> {
        match self.state.externs.get(id.index()) {
            Some(ExternState::Profile(profile)) => Ok(profile),
            _ => Err(unknown("action profile", id.0)),
        }
    }

    pub(crate) fn profile_mut(&mut self, id: ExternId) -> Result<&mut Profile, ControlError> {
        match self.state.externs.get_mut(id.index()) {
            Some(ExternState::Profile(profile)) => Ok(profile),
            _ => Err(unknown("action profile", id.0)),
        }
    }

    /// Adds a member to an action profile or selector.
    ///
    /// # Errors
    /// If it is there already, or the profile is full.
    pub fn add_member(&mut self, profile: ExternId, member: u32, action: ActionCall) -> Done {
        self.profile_mut(profile)?.add_member(member, action)
    }

    /// Gives a member another action.
    ///
    /// # Errors
    /// If it is not there.
    pub fn modify_member(&mut self, profile: ExternId, member: u32, action: ActionCall) -> Done {
        self.profile_mut(profile)?.modify_member(member, action)
    }

    /// Removes a member.
    ///
    /// # Errors
    /// If it is not there, or groups or entries use it.
    pub fn delete_member(&mut self, profile: ExternId, member: u32) -> Done {
        self.check_unused(profile, &EntryAction::Member(member), "member")?;
        self.profile_mut(profile)?.remove_member(member)
    }

    /// Adds a group to an action selector.
    ///
    /// # Errors
    /// If it is there already, a member is not, or it weighs too much.
    pub fn add_group(&mut self, selector: ExternId, group: u32, members: Group) -> Done {
        self.profile_mut(selector)?.add_group(group, members)
    }

    /// Gives a group other members.
    ///
    /// # Errors
    /// If it is not there, and as [`Switch::add_group`].
    pub fn modify_group(&mut self, selector: ExternId, group: u32, members: Group) -> Done {
        self.profile_mut(selector)?.modify_group(group, members)
    }

    /// Removes a group.
    ///
    /// # Errors
    /// If it is not there, or entries use it.
    pub fn delete_group(&mut self, selector: ExternId, group: u32) -> Done {
        self.check_unused(selector, &EntryAction::Group(group), "group")?;
        self.profile_mut(selector)?.remove_group(group)
    }

    /// Members of a profile with their actions.
    ///
    /// # Errors
    /// If there is no such profile.
    pub fn members(
        &self,
        profile: ExternId,
    ) -> Result<impl Iterator<Item = (u32, &ActionCall)>, ControlError> {
        Ok(self.profile(profile)?.members.iter().map(|(id, call)| (*id, call)))
    }

    /// Groups of a selector.
    ///
    /// # Errors
    /// If there is no such selector.
    pub fn groups(
        &self,
        selector: ExternId,
    ) -> Result<impl Iterator<Item = (u32, &Group)>, ControlError> {
        Ok(self.profile(selector)?.groups.iter().map(|(id, group)| (*id, group)))
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
            if state.iter().any(|(_, stored)| stored.entry.action == *used) {
                return Err(ControlError::InUse(what));
            }
        }
        Ok(())
    }

    /// Tells selectors that a port is up or down; members that watch a port that is down are not
    /// chosen. All are up at first.
    pub fn set_port_up(&mut self, port: u32, up: bool) {
        if up {
            self.state.ports_down.remove(&port);
        } else {
            self.state.ports_down.insert(port);
        }
    }
}
