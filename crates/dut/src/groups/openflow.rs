//! Measures a select group of an OpenFlow 1.3 switch.

use std::sync::atomic::AtomicBool;

use openflow::v1_3::{Action, Bucket, GroupId, GroupMod, GroupModCommand, GroupType, Message};
use openflow::{PortNumber, Version};

use super::{Distribution, Measured, Offering, Subject, distribute};
use crate::error::DutError;
use crate::flows::{FlowEntry, Output, Selector};
use crate::live::{Control as _, OpenFlowControl};
use crate::session::OpenFlowChannel;
use crate::stream::PacketStream;
use crate::window::Operation;

/// The number at which the search for an unused group number begins.
const FIRST: u32 = 1;
/// The largest number of members (buckets) of the group.
const MEMBERS: usize = 4;

/// Measures a select group. Packets enter by the first port. Each member sends packets out of
/// another port. If there is only one other port, one member sends packets out of it, and one back
/// out of the first port. Deletes the group and the flow entry, also if the test fails.
pub(crate) async fn over_openflow(
    channel: &mut OpenFlowChannel,
    offering: &Offering<'_>,
    stop: &AtomicBool,
) -> Result<Measured, DutError> {
    through(PacketStream::open(offering.wires)?, channel, offering, stop).await
}

/// Measures a select group through interfaces that are already open.
pub(super) async fn through(
    mut stream: PacketStream,
    channel: &mut OpenFlowChannel,
    offering: &Offering<'_>,
    stop: &AtomicBool,
) -> Result<Measured, DutError> {
    let mut measured = Measured::default();
    if channel.version() == Version::V1_0 {
        measured.reasons.push("OpenFlow 1.0 has no groups.".to_owned());
        return Ok(measured);
    }
    let mut ports = offering.wires.iter().map(|wire| wire.0.number);
    let Some(ingress) = ports.next() else { return Err(DutError::NoRules) };
    let mut ports: Vec<u32> = ports.take(MEMBERS).collect();
    if ports.len() < 2 {
        ports.push(ingress);
    }
    let before = match channel.groups() {
        Ok(before) => before,
        Err(DutError::Request { cause, .. }) => {
            measured.reasons.push(format!("The switch does not list its groups: {cause}."));
            return Ok(measured);
        }
        Err(error) => return Err(error),
    };
    let is_free = |id: &u32| !before.iter().any(|group| group.group_id.0 == *id);
    let id = GroupId((FIRST..GroupId::MAX.0).find(is_free).unwrap_or(FIRST));
    let weights: Vec<u32> = (1..).take(ports.len()).collect();
    let buckets = ports.iter().zip(&weights).map(|(port, weight)| {
        let back = PortNumber::IN_PORT;
        let port = if *port == ingress { back } else { PortNumber(*port) };
        let weight = u16::try_from(*weight).unwrap_or(u16::MAX);
        Bucket { weight, ..Bucket::new(vec![Action::output(port)]) }
    });
    let add = group(GroupModCommand::ADD, id, buckets.collect());
    match channel.carry_out("group-mod", &add) {
        Ok(()) => {}
        Err(DutError::Request { cause, .. }) => {
            measured.reasons.push(format!("The switch refuses a select group: {cause}."));
            return Ok(measured);
        }
        Err(error) => return Err(error),
    }
    let mut control = OpenFlowControl::new(channel);
    let made = SelectGroup { id, ingress, ports, weights };
    let found = flows(&mut stream, &mut control, made, offering, stop).await;
    // A switch deletes flow entries with their group, so the flow entry comes first.
    let restored = control.restore().await;
    channel.carry_out("group-mod", &group(GroupModCommand::DELETE, id, Vec::new()))?;
    restored?;
    if channel.groups()? != before {
        return Err(DutError::GroupsNotRestored);
    }
    measured.groups.extend(found?);
    Ok(measured)
}

fn group(command: GroupModCommand, group_id: GroupId, buckets: Vec<Bucket>) -> Message {
    let group_type = GroupType::SELECT;
    Message::GroupMod(GroupMod { command, group_type, group_id, buckets })
}

/// The group, with the ports and weights of its members.
struct SelectGroup {
    id: GroupId,
    /// The port by which packets enter the switch.
    ingress: u32,
    ports: Vec<u32>,
    weights: Vec<u32>,
}

async fn flows(
    stream: &mut PacketStream,
    control: &mut OpenFlowControl<'_>,
    group: SelectGroup,
    offering: &Offering<'_>,
    stop: &AtomicBool,
) -> Result<Option<Distribution>, DutError> {
    let settings = offering.settings;
    let SelectGroup { id, ingress, ports, weights } = group;
    let packets = control.channel().maker().spread_packets(settings.seed, settings.flows);
    let entry = FlowEntry { selects: Selector::Rest, output: Output::Group(id.0) };
    control.carry_out(Operation::Insert, &[entry]).await?;
    let name = "select group".to_owned();
    let subject = Subject { name, ports, weights, ingress, packets: &packets };
    let mut tend = || {
        control.channel().look(&mut |_| {})?;
        control.channel().flush()
    };
    distribute(stream, subject, settings.packets_per_second, &mut tend, stop).await
}
