//! Measures a group of an action selector in a P4Runtime switch.

use std::sync::atomic::AtomicBool;

use p4runtime::client::Client;
use p4runtime::proto::v1::{self, entity::Entity as Kind};

use super::{Distribution, Measured, Settings, Subject, distribute};
use crate::error::DutError;
use crate::live::{Control as _, P4RuntimeControl, Wire, check_program};
use crate::session::{read_entities, write_updates};
use crate::stream::PacketStream;
use crate::window::Operation;

/// The number at which the search for unused member and group numbers begins.
const FIRST: u32 = 0x504c_4101;

/// A member of the group over which packets are distributed.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The port to which the member's action sends packets.
    pub port: u32,
    /// The action that the member runs, which sends the packet to `port`.
    pub action: v1::Action,
    /// The weight of the member.
    pub weight: u32,
}

/// A group, with packets of many flows that are sent to it.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// The program for which the packets were generated. The switch must run it.
    pub p4info: p4runtime::proto::config::P4Info,
    /// The name of the table whose entry refers to the group.
    pub table: String,
    /// The ports of the switch that are connected to this machine.
    pub wires: Vec<Wire>,
    /// Entries of other tables that the packets need on their way, in the order of insertion.
    pub beside: Vec<v1::TableEntry>,
    /// The entry that refers to the group. Its action is filled in when the group has a number.
    pub entry: v1::TableEntry,
    /// The identifier of the action selector in P4Info.
    pub profile: u32,
    /// The members of the group, each of which sends packets to a different port.
    pub members: Vec<Member>,
    /// Whether the controller may set the weights of members. Otherwise all weights are 0, and each
    /// member is expected to receive the same share of the flows.
    pub has_weights: bool,
    /// The port by which packets enter the switch.
    pub ingress: u32,
    /// One packet of each flow.
    pub packets: Vec<Vec<u8>>,
}

/// Measures a group of a P4Runtime switch. Deletes the entries, the group and its members also if
/// the test fails.
pub(crate) async fn over_p4runtime(
    client: &Client,
    traffic: &Traffic,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<Measured, DutError> {
    check_program(client, &traffic.p4info).await?;
    let mut client = client.clone();
    let mut tables: Vec<u32> = traffic.beside.iter().map(|entry| entry.table_id).collect();
    tables.push(traffic.entry.table_id);
    tables.sort_unstable();
    tables.dedup();
    let mut control = P4RuntimeControl::read(client.clone(), tables).await?;
    let mut measured = Measured::default();
    if control.was_there(&traffic.entry) {
        measured.reasons.push(format!(
            "Table {} has an entry with the key of the packets already; it was not changed.",
            traffic.table
        ));
        return Ok(measured);
    }
    let stream = PacketStream::open(&traffic.wires)?;
    let before = held(&mut client, traffic.profile).await?;
    let objects = Objects::new(traffic, &before);
    let found = objects.flows(&mut client, &mut control, stream, settings, stop).await;
    // The entry comes first: a group that an entry uses cannot be deleted (P4Runtime 1.5, 9.2.2).
    let restored = control.restore().await;
    // What was not inserted, because the test failed, is not there to be deleted.
    for entity in objects.members_and_group().into_iter().rev() {
        match write_updates(&mut client, vec![update(v1::update::Type::Delete, entity)]).await {
            Ok(()) | Err(DutError::Request { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    match restored? {
        0 => {}
        count => return Err(DutError::NotRestored { count }),
    }
    if held(&mut client, traffic.profile).await? != before {
        return Err(DutError::GroupsNotRestored);
    }
    match found {
        Ok(found) => measured.groups.extend(found),
        Err(DutError::Request { cause, .. }) => {
            measured.reasons.push(format!(
                "The switch refuses a group of table {}, or an entry that packets need: {cause}.",
                traffic.table
            ));
        }
        Err(error) => return Err(error),
    }
    Ok(measured)
}

/// The identifiers of the members and groups that an action profile has.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    members: Vec<u32>,
    groups: Vec<u32>,
}

async fn held(client: &mut Client, profile: u32) -> Result<Held, DutError> {
    let wanted = [
        Kind::ActionProfileMember(v1::ActionProfileMember {
            action_profile_id: profile,
            ..Default::default()
        }),
        Kind::ActionProfileGroup(v1::ActionProfileGroup {
            action_profile_id: profile,
            ..Default::default()
        }),
    ];
    let wanted = wanted.map(|kind| v1::Entity { entity: Some(kind) });
    let mut held = Held { members: Vec::new(), groups: Vec::new() };
    for entity in read_entities(client, wanted.into()).await? {
        match entity.entity {
            Some(Kind::ActionProfileMember(member)) => held.members.push(member.member_id),
            Some(Kind::ActionProfileGroup(group)) => held.groups.push(group.group_id),
            _ => {}
        }
    }
    held.members.sort_unstable();
    held.groups.sort_unstable();
    Ok(held)
}

fn update(kind: v1::update::Type, entity: Kind) -> v1::Update {
    v1::Update { r#type: kind as i32, entity: Some(v1::Entity { entity: Some(entity) }) }
}

/// The group and its members, with identifiers that the switch does not use yet.
struct Objects<'a> {
    traffic: &'a Traffic,
    /// The identifiers with which the members are inserted, in the order of [`Traffic::members`].
    members: Vec<u32>,
    group: u32,
}

impl<'a> Objects<'a> {
    fn new(traffic: &'a Traffic, held: &Held) -> Self {
        let free = |taken: &[u32]| {
            let taken = taken.to_vec();
            (FIRST..u32::MAX).filter(move |number| !taken.contains(number))
        };
        let members = free(&held.members).take(traffic.members.len()).collect();
        Self { traffic, members, group: free(&held.groups).next().unwrap_or(FIRST) }
    }

    /// Returns the weight with which a member is added to the group.
    fn weight(&self, member: &Member) -> u32 {
        if self.traffic.has_weights { member.weight } else { 1 }
    }

    /// Returns the members and then the group, which is the order in which they are inserted.
    fn members_and_group(&self) -> Vec<Kind> {
        let traffic = self.traffic;
        let members = traffic.members.iter().zip(&self.members);
        let each = members.clone().map(|(member, id)| {
            Kind::ActionProfileMember(v1::ActionProfileMember {
                action_profile_id: traffic.profile,
                member_id: *id,
                action: Some(member.action.clone()),
            })
        });
        let weighted = members.map(|(member, id)| v1::action_profile_group::Member {
            member_id: *id,
            weight: if traffic.has_weights {
                i32::try_from(member.weight).unwrap_or(i32::MAX)
            } else {
                0
            },
            ..Default::default()
        });
        let group = Kind::ActionProfileGroup(v1::ActionProfileGroup {
            action_profile_id: traffic.profile,
            group_id: self.group,
            members: weighted.collect(),
            ..Default::default()
        });
        each.chain([group]).collect()
    }

    async fn flows(
        &self,
        client: &mut Client,
        control: &mut P4RuntimeControl,
        mut stream: PacketStream,
        settings: &Settings,
        stop: &AtomicBool,
    ) -> Result<Option<Distribution>, DutError> {
        let traffic = self.traffic;
        for entity in self.members_and_group() {
            write_updates(client, vec![update(v1::update::Type::Insert, entity)]).await?;
        }
        let beside = traffic.beside.iter().filter(|entry| !control.was_there(entry)).cloned();
        let mut entries: Vec<v1::TableEntry> = beside.collect();
        let action = v1::table_action::Type::ActionProfileGroupId(self.group);
        let action = Some(v1::TableAction { r#type: Some(action) });
        entries.push(v1::TableEntry { action, ..traffic.entry.clone() });
        control.carry_out(Operation::Insert, &entries).await?;
        let subject = Subject {
            name: traffic.table.clone(),
            ports: traffic.members.iter().map(|member| member.port).collect(),
            weights: traffic.members.iter().map(|member| self.weight(member)).collect(),
            ingress: traffic.ingress,
            packets: &traffic.packets,
        };
        let rate = settings.packets_per_second;
        distribute(&mut stream, subject, rate, &mut || Ok(()), stop).await
    }
}
