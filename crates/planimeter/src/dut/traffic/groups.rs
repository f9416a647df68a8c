//! Generates a group of an action selector whose members send packets to different ports, and
//! packets of random flows that the group forwards. Both are found by trial on the reference
//! interpreter.

use std::time::Duration;

use ::dut::groups::{Member, Traffic};
use ::dut::live::Outcome;
use entities::schema::ActionProfile;
use ir::bits::Bits;
use ir::{ExternId, TableId, TableImplementation};
use pipeline::{ActionCall, EntryAction, Group, GroupMember, Switch, TableEntry, Value};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};

use super::{Made, TAG, Trial, Wire};

/// The number of the group, and that of its first member, while they are tried.
const FIRST: u32 = 0x504c_4101;
/// The largest number of members of the group.
const MEMBERS: usize = 4;
/// The number of random values that are tried for a byte of the packet, to find out whether the
/// selector's choice depends on the byte.
const VALUES: usize = 8;

impl Made {
    /// Returns a group, and the packets of `count` flows that the group forwards. If there are
    /// none, returns the reason as a sentence.
    pub(in crate::dut) fn groups(&self, wires: Vec<Wire>, count: usize) -> Result<Traffic, String> {
        let trial = self.trial(&wires);
        let mut reason = "The program has no action selector.".to_owned();
        for (number, table) in self.workload.program().tables.iter().enumerate() {
            let Some(TableImplementation::ActionSelector(selector)) = table.implementation else {
                continue;
            };
            let name = &table.name;
            let profile = self.schema.tables().by_name(name).and_then(|table| {
                let mut profiles = self.schema.action_profiles().iter();
                profiles.find(|profile| profile.tables.contains(&table.id))
            });
            let Some(profile) = profile else { continue };
            let id = TableId(number as u32);
            let found = self.workload.entries().enumerate().find_map(|(position, (of, _))| {
                let place = Grouped { trial: &trial, table: id, selector, position };
                (of == id).then(|| place.traffic(profile, count))
            });
            match found {
                Some(Ok(Distributed { members, flows })) => {
                    return self.traffic(&trial, id, profile, members, flows);
                }
                Some(Err(why)) => {
                    reason = format!("Groups of table {name} are not measured: {why}.")
                }
                None => {
                    reason = format!(
                        "Groups of table {name} are not measured: no generated packet looks an entry up in it."
                    );
                }
            }
        }
        Err(reason)
    }

    fn traffic(
        &self,
        trial: &Trial<'_>,
        table: TableId,
        profile: &ActionProfile,
        members: Vec<(u32, ActionCall)>,
        packets: Vec<Vec<u8>>,
    ) -> Result<Traffic, String> {
        let unknown = || "The group's entry or action is not in P4Info.".to_owned();
        let entry = self.workload.entries().find(|(of, _)| *of == table);
        let entry = entry.and_then(|(_, entry)| trial.key(table, entry)).ok_or_else(unknown)?;
        let beside = trial.messages(&mut |of, _| of != table).ok_or(
            "Groups are not measured: packets of the program need entries of other tables whose actions are in an \
             action profile.",
        )?;
        let weights = weights(profile, members.len());
        let members = members.into_iter().zip(&weights).map(|((port, call), weight)| {
            Some(Member { port, action: trial.call(&call)?, weight: *weight })
        });
        let members: Option<Vec<Member>> = members.collect();
        Ok(Traffic {
            p4info: self.p4info.clone(),
            table: self.workload.program().tables[table.index()].name.clone(),
            wires: trial.wires.to_vec(),
            beside,
            entry,
            profile: profile.id.into(),
            members: members.ok_or_else(unknown)?,
            has_weights: !profile.weights_disallowed,
            ingress: self.workload.port(),
            packets,
        })
    }
}

/// Returns the weights of the group's members: 1, 2 and so on if the selector permits their sum,
/// and otherwise equal ones.
fn weights(profile: &ActionProfile, members: usize) -> Vec<u32> {
    let different: Vec<u32> = (1..).take(members).collect();
    let fits = profile.max_group_size.is_none_or(|most| different.iter().sum::<u32>() <= most);
    if fits && !profile.weights_disallowed { different } else { vec![1; members] }
}

/// The members of a group, which send packets to different ports, and packets of random flows that
/// the group forwards.
struct Distributed {
    members: Vec<(u32, ActionCall)>,
    flows: Vec<Vec<u8>>,
}

/// A generated entry of a table with an action selector. The entry is made to refer to groups that
/// are tried.
struct Grouped<'a> {
    trial: &'a Trial<'a>,
    table: TableId,
    selector: ExternId,
    /// The index of the entry among all generated entries.
    position: usize,
}

impl Grouped<'_> {
    /// Returns a switch in which the entry refers to a group of these members.
    fn switch(&self, members: &[&ActionCall]) -> Option<Switch> {
        let switch = Switch::new(self.trial.workload.program().clone()).ok()?;
        self.trial.workload.add_members(&switch).ok()?;
        let mut group = Group { members: Vec::new(), max_size: 0 };
        for (member, call) in (FIRST..).zip(members) {
            switch.add_member(self.selector, member, (*call).clone()).ok()?;
            group.members.push(GroupMember { member, weight: 1, watch_port: None });
        }
        switch.add_group(self.selector, FIRST, group).ok()?;
        for (number, (table, entry)) in self.trial.workload.entries().enumerate() {
            let is_other = table == self.table && number != self.position;
            let action = match number == self.position {
                true => EntryAction::Group(FIRST),
                false => entry.action.clone(),
            };
            if !is_other {
                let entry = TableEntry { action, ..entry.clone() };
                switch.add_entry(table, entry, Duration::ZERO).ok()?;
            }
        }
        Some(switch)
    }

    /// Returns the port by which a packet leaves the switch.
    fn port(&self, switch: &Switch, packet: &[u8]) -> Option<u32> {
        match self.trial.outcome(switch, packet)? {
            Outcome::Leaves { port, .. } => Some(port),
            Outcome::Unseen => None,
        }
    }

    /// Returns calls of actions by which a packet leaves the switch through different ports, each
    /// with its port.
    fn members(&self, packet: &[u8]) -> Vec<(u32, ActionCall)> {
        let mut found: Vec<(u32, ActionCall)> = Vec::new();
        let Some(generated) = self.trial.switch(usize::MAX, None) else { return found };
        let Ok(calls) = generated.members(self.selector) else { return found };
        let ingress = self.trial.workload.port();
        let mut ports: Vec<u32> = self.trial.wires.iter().map(|wire| wire.0.number).collect();
        // A member that sends packets back is the last choice.
        ports.sort_by_key(|port| *port == ingress);
        for (_, call) in calls {
            for (at, argument) in call.arguments.iter().enumerate() {
                let Value::Bits(old) = argument else { continue };
                for port in &ports {
                    if found.len() == MEMBERS || found.iter().any(|(known, _)| known == port) {
                        continue;
                    }
                    let mut arguments = call.arguments.clone();
                    let value = Value::Bits(Bits::unsigned(old.width(), u128::from(*port)));
                    arguments.iter_mut().skip(at).take(1).for_each(|one| *one = value.clone());
                    let other = ActionCall { action: call.action, arguments };
                    let switch = self.switch(&[&other]);
                    if switch.and_then(|switch| self.port(&switch, packet)) == Some(*port) {
                        found.push((*port, other));
                    }
                }
            }
        }
        found
    }

    /// Returns the members of a group, which send packets to different ports, and packets of random
    /// flows that the group forwards. Returns the reason instead if there are none.
    fn traffic(&self, profile: &ActionProfile, count: usize) -> Result<Distributed, &'static str> {
        let packets = self.trial.workload.packets();
        let found = packets.iter().map(|packet| (self.members(packet), packet));
        let (mut members, packet) =
            found.max_by_key(|(members, _)| members.len()).ok_or("there is no packet")?;
        members.truncate(profile.max_group_size.map_or(MEMBERS, |most| most as usize));
        if members.len() < 2 {
            return Err("no action of its members sends packets to two of the connected ports");
        }
        const REFUSED: &str = "the interpreter refuses the group";
        let alone = members.iter().take(2).map(|(port, call)| Some((*port, self.switch(&[call])?)));
        let alone: Option<Vec<(u32, Switch)>> = alone.collect();
        let alone = alone.ok_or(REFUSED)?;
        let calls: Vec<&ActionCall> = members.iter().map(|(_, call)| call).collect();
        let all = self.switch(&calls).ok_or(REFUSED)?;
        // A packet meets the group if it leaves by the port of whichever member is the only one.
        let meets = |packet: &[u8]| {
            alone.iter().all(|(port, switch)| self.port(switch, packet) == Some(*port))
        };
        let mut random = ChaCha8Rng::seed_from_u64(crate::environment::SEED);
        let mut free = Vec::new();
        for at in 0..packet.len().saturating_sub(TAG) {
            let before = self.port(&all, packet);
            let mut selects = false;
            let is_free = (0..VALUES).all(|_| {
                let mut other = packet.to_vec();
                other[at] = random.random();
                selects |= self.port(&all, &other) != before;
                meets(&other)
            });
            if is_free && selects {
                free.push(at);
            }
        }
        if free.is_empty() {
            return Err("no field that the selector uses can be changed in a generated packet");
        }
        let mut flows = Vec::with_capacity(count);
        for _ in 0..4 * count {
            let mut flow = packet.to_vec();
            free.iter().for_each(|at| flow[*at] = random.random());
            if meets(&flow) {
                flows.push(flow);
            }
            if flows.len() == count {
                return Ok(Distributed { members, flows });
            }
        }
        Err("too few random packets meet the group")
    }
}
