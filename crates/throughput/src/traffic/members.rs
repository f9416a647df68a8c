//! Members of action profiles and groups of selectors, which entries of such tables run: as few as values that entries take.

use ir::{ExternId, TableImplementation};
use pipeline::{ActionCall, ControlError, EntryAction, Group, GroupMember, Switch};
use std::collections::BTreeSet;

/// Members of a group.
const OF_A_GROUP: u32 = 4;

/// What was made, in the order in which it was.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    members: Vec<(ExternId, u32, ActionCall)>,
    groups: Vec<(ExternId, u32, Group)>,
}

impl Members {
    /// What an entry of this number runs, of so many that differ; `call` gives the action for a number.
    pub(super) fn action(
        &mut self,
        switch: &Switch,
        implementation: TableImplementation,
        (number, differ): (u32, u32),
        call: &dyn Fn(u32) -> Result<ActionCall, String>,
    ) -> Result<EntryAction, String> {
        let id = match implementation {
            TableImplementation::ActionProfile(profile) => {
                return Ok(EntryAction::Member(self.member(switch, profile, number, call)?));
            }
            TableImplementation::ActionSelector(selector) => selector,
        };
        if !self.groups.iter().any(|(of, group, _)| (*of, *group) == (id, number)) {
            let members = (0..OF_A_GROUP).map(|next| (number + next) % differ);
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

    /// The member of this number, or another one where there is no room for it.
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

    /// Puts all into a switch that has none.
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
