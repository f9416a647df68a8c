//! Members of action profiles and groups of action selectors, to which generated table entries
//! refer. A profile has at most one member for each different list of action arguments.

use ir::{ExternId, TableImplementation};
use pipeline::{ActionCall, ControlError, EntryAction, Group, GroupMember, Switch};
use std::collections::BTreeSet;

/// The number of members in each generated group of an action selector.
const MEMBERS_PER_GROUP: u32 = 4;

/// The number of an action call, among several calls of the same action with different arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variant {
    pub(super) number: u32,
    /// The number of different calls.
    pub(super) count: u32,
}

/// The generated members and groups, in the order of their creation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    members: Vec<(ExternId, u32, ActionCall)>,
    groups: Vec<(ExternId, u32, Group)>,
}

impl Members {
    /// Returns the action of a table entry that runs the action call `variant` through an action
    /// profile or selector. Members and groups that do not exist yet are added to the switch.
    /// `call` returns the action call with a given number.
    pub(super) fn action(
        &mut self,
        switch: &Switch,
        implementation: TableImplementation,
        variant: Variant,
        call: &dyn Fn(u32) -> Result<ActionCall, String>,
    ) -> Result<EntryAction, String> {
        let Variant { number, count } = variant;
        let id = match implementation {
            TableImplementation::ActionProfile(profile) => {
                return Ok(EntryAction::Member(self.member(switch, profile, number, call)?));
            }
            TableImplementation::ActionSelector(selector) => selector,
        };
        if !self.groups.iter().any(|(of, group, _)| (*of, *group) == (id, number)) {
            let members = (0..MEMBERS_PER_GROUP).map(|next| (number + next) % count);
            let members: BTreeSet<u32> = members
                .map(|member| self.member(switch, id, member, call))
                .collect::<Result<_, _>>()?;
            let member = |member| GroupMember { member, weight: 1, watch_port: None };
            let members = members.into_iter().map(member).collect();
            let group = Group { members, max_size: 0 };
            switch.add_group(id, number, group.clone()).map_err(|error| error.to_string())?;
            self.groups.push((id, number, group));
        }
        Ok(EntryAction::Group(number))
    }

    /// Returns the id of the action profile's member with this number, or of another member if the
    /// profile is full.
    fn member(
        &mut self,
        switch: &Switch,
        profile: ExternId,
        number: u32,
        call: &dyn Fn(u32) -> Result<ActionCall, String>,
    ) -> Result<u32, String> {
        let known: Vec<u32> = self
            .members
            .iter()
            .filter_map(|(of, member, _)| (*of == profile).then_some(*member))
            .collect();
        if known.contains(&number) {
            return Ok(number);
        }
        let action = call(number)?;
        match (switch.add_member(profile, number, action.clone()), known.len()) {
            (Ok(()), _) => {
                self.members.push((profile, number, action));
                Ok(number)
            }
            (Err(ControlError::Full { .. }), count @ 1..) => Ok(known[number as usize % count]),
            (Err(error), _) => Err(error.to_string()),
        }
    }

    /// Adds a member that runs an action call to an action profile of a switch, unless the profile
    /// has such a member already. Returns the member's id, or `None` if the switch refuses it.
    pub(super) fn running(
        &mut self,
        switch: &Switch,
        profile: ExternId,
        action: ActionCall,
    ) -> Option<u32> {
        let of_profile = || self.members.iter().filter(|(of, ..)| *of == profile);
        if let Some((_, known, _)) = of_profile().find(|(_, _, known)| *known == action) {
            return Some(*known);
        }
        let next = of_profile().map(|(_, member, _)| member + 1).max().unwrap_or(0);
        switch.add_member(profile, next, action.clone()).ok()?;
        self.members.push((profile, next, action));
        Some(next)
    }

    /// Adds all generated members and groups to a switch that has none.
    pub(super) fn put(&self, switch: &Switch) -> Result<(), ControlError> {
        for (profile, member, action) in &self.members {
            switch.add_member(*profile, *member, action.clone())?;
        }
        for (selector, group, members) in &self.groups {
            switch.add_group(*selector, *group, members.clone())?;
        }
        Ok(())
    }
}
