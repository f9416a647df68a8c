//! The commands of simple_switch_CLI about multicast groups and mirroring sessions.

use crate::error::CommandError;
use crate::nodes::{Node, replica};
use crate::operands::Operands;
use crate::replication::entity;
use crate::session::{Item, Session, Sink};
use crate::view::View;
use p4runtime::proto::v1::packet_replication_engine_entry::Type as Replication;
use p4runtime::proto::v1::{
    CloneSessionEntry, MulticastGroupEntry, Replica, entity::Entity as Kind, update::Type,
};
use serde_json::json;

/// Parses the ports and the link aggregation groups of a node: `PORT ... [| LAG ...]`. The
/// separator may also stand at the end, without groups, as in some command files.
fn ports_and_lags(words: &mut Operands) -> Result<(Vec<u32>, Vec<u32>), CommandError> {
    let (mut ports, mut lags) = (Vec::new(), Vec::new());
    let mut is_behind = false;
    while words.peek().is_some() {
        if !is_behind && words.take("|") {
            is_behind = true;
        } else if is_behind {
            lags.push(words.number("the number of a link aggregation group")?);
        } else {
            ports.push(words.number("the number of a port")?);
        }
    }
    Ok((ports, lags))
}

fn group_id(words: &mut Operands) -> Result<u32, CommandError> {
    match words.number("the number of a multicast group")? {
        0 => Err(words.problem("P4Runtime has no multicast group 0; groups count from 1")),
        id => Ok(id),
    }
}

/// Runs the command `mc_mgrp_create`, which creates a multicast group without copies.
pub(crate) fn create_group(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let multicast_group_id = group_id(&mut words)?;
    words.end()?;
    let group = MulticastGroupEntry { multicast_group_id, ..MulticastGroupEntry::default() };
    session.write(Type::Insert, entity(Replication::MulticastGroupEntry(group)))
}

/// Runs the command `mc_mgrp_destroy`, which deletes a multicast group.
pub(crate) fn destroy_group(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let multicast_group_id = group_id(&mut words)?;
    words.end()?;
    let group = MulticastGroupEntry { multicast_group_id, ..MulticastGroupEntry::default() };
    session.write(Type::Delete, entity(Replication::MulticastGroupEntry(group)))?;
    session.nodes.dissociate(multicast_group_id);
    Ok(())
}

/// Runs the command `mc_node_create`, which creates a node of multicast groups.
pub(crate) fn create_node(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let instance = words.number("a replication id")?;
    let (ports, lags) = ports_and_lags(&mut words)?;
    let number = session.nodes.add(Node { instance, ports, lags, group: None });
    let text = format!("node {number} was created");
    sink(View::new(text, json!({ "kind": "created", "what": "node", "handle": number })).into());
    Ok(())
}

/// Changes the replicas of a multicast group: removes those in `gone`, and then adds those in
/// `more`.
fn change(
    session: &mut Session<'_>,
    group: u32,
    gone: &[Replica],
    more: Vec<Replica>,
) -> Result<(), CommandError> {
    let mut entry = read_group(session, group)?.ok_or_else(|| {
        CommandError::Missing(format!(
            "there is no multicast group {group}; `mc_mgrp_create {group}` makes it"
        ))
    })?;
    for one in gone {
        if let Some(at) = entry.replicas.iter().position(|replica| is_same(replica, one)) {
            entry.replicas.remove(at);
        }
    }
    entry.replicas.extend(more);
    session.write(Type::Modify, entity(Replication::MulticastGroupEntry(entry)))
}

/// Returns whether two replicas go to the same port with the same instance number. A port may be
/// given as a number or as bytes.
fn is_same(first: &Replica, second: &Replica) -> bool {
    use p4runtime::proto::v1::replica::PortKind;

    let port = |replica: &Replica| match &replica.port_kind {
        None => Some(0),
        Some(PortKind::EgressPort(port)) => Some(u128::from(*port)),
        Some(PortKind::Port(port)) => entities::value::decode(port),
    };
    first.instance == second.instance && port(first) == port(second)
}

fn read_group(
    session: &mut Session<'_>,
    multicast_group_id: u32,
) -> Result<Option<MulticastGroupEntry>, CommandError> {
    let group = MulticastGroupEntry { multicast_group_id, ..MulticastGroupEntry::default() };
    let request = entity(Replication::MulticastGroupEntry(group));
    let found = session.read_as(request, |kind| match kind {
        Kind::PacketReplicationEngineEntry(entry) => match entry.r#type {
            Some(Replication::MulticastGroupEntry(group)) => Some(group),
            _ => None,
        },
        _ => None,
    })?;
    Ok(found.into_iter().next())
}

/// Runs the command `mc_node_associate`, which adds the copies of a node to a multicast group.
pub(crate) fn associate(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let (group, number) = (group_id(&mut words)?, words.number("the number of a node")?);
    words.end()?;
    let node = session.nodes.get(number)?.clone();
    if let Some(other) = node.group {
        return Err(CommandError::Missing(format!(
            "node {number} belongs to group {other}; `mc_node_dissociate {other} {number}` frees it"
        )));
    }
    let more = session.nodes.replicas(&node);
    change(session, group, &[], more)?;
    session.nodes.get(number)?.group = Some(group);
    Ok(())
}

/// Runs the command `mc_node_dissociate`, which removes the copies of a node from a multicast
/// group.
pub(crate) fn dissociate(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let (group, number) = (group_id(&mut words)?, words.number("the number of a node")?);
    words.end()?;
    let node = session.nodes.get(number)?.clone();
    if node.group != Some(group) {
        return Err(CommandError::Missing(format!(
            "node {number} does not belong to group {group}"
        )));
    }
    let gone = session.nodes.replicas(&node);
    change(session, group, &gone, Vec::new())?;
    session.nodes.get(number)?.group = None;
    Ok(())
}

/// Runs the command `mc_node_update`, which replaces the ports of a node.
pub(crate) fn update_node(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let number = words.number("the number of a node")?;
    let (ports, lags) = ports_and_lags(&mut words)?;
    let old = session.nodes.get(number)?.clone();
    let new = Node { ports, lags, ..old.clone() };
    if let Some(group) = old.group {
        let (gone, more) = (session.nodes.replicas(&old), session.nodes.replicas(&new));
        change(session, group, &gone, more)?;
    }
    *session.nodes.get(number)? = new;
    Ok(())
}

/// Runs the command `mc_node_destroy`, which deletes a node.
pub(crate) fn destroy_node(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let number = words.number("the number of a node")?;
    words.end()?;
    let node = session.nodes.get(number)?.clone();
    if let Some(group) = node.group {
        let gone = session.nodes.replicas(&node);
        change(session, group, &gone, Vec::new())?;
    }
    session.nodes.remove(number);
    Ok(())
}

/// Runs the command `mc_set_lag_membership`, which sets the ports of a link aggregation group.
/// Multicast groups with nodes that use it are changed, too.
pub(crate) fn set_lag(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let lag = words.number("the number of a link aggregation group")?;
    let mut ports: Vec<u32> = Vec::new();
    while words.peek().is_some() {
        let port = words.number("the number of a port")?;
        if ports.contains(&port) {
            return Err(words.problem(format!("port {port} is named twice")));
        }
        ports.push(port);
    }
    let nodes = session.nodes.with_lag(lag);
    let before: Vec<Vec<Replica>> = nodes.iter().map(|node| session.nodes.replicas(node)).collect();
    session.nodes.set_lag(lag, ports);
    for (node, gone) in nodes.iter().zip(before) {
        if let Some(group) = node.group {
            let more = session.nodes.replicas(node);
            change(session, group, &gone, more)?;
        }
    }
    Ok(())
}

/// Runs the command `mc_dump`, which shows multicast groups with their copies, and for each the
/// nodes of this session that the copies belong to.
pub(crate) fn dump(
    session: &mut Session<'_>,
    words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    words.end()?;
    let all = entity(Replication::MulticastGroupEntry(MulticastGroupEntry::default()));
    for found in session.query(vec![all])? {
        let group = match &found.entity {
            Some(Kind::PacketReplicationEngineEntry(entry)) => match &entry.r#type {
                Some(Replication::MulticastGroupEntry(group)) => group.multicast_group_id,
                _ => 0,
            },
            _ => 0,
        };
        let item = Item::Entity(Box::new(found));
        let nodes: Vec<String> =
            session.nodes.of(group).map(|(number, _)| number.to_string()).collect();
        if nodes.is_empty() {
            sink(item);
            continue;
        }
        let View { text, json } = crate::view::view(session.known_schema(), &item);
        sink(View::new(format!("{text}  # nodes {}", nodes.join(", ")), json).into());
    }
    Ok(())
}

fn session_id(words: &mut Operands) -> Result<u32, CommandError> {
    match words.number("the number of a session")? {
        0 => Err(words.problem(
            "P4Runtime has no clone session 0; sessions count from 1, so the program must use another too",
        )),
        id => Ok(id),
    }
}

/// Runs the command `mirroring_add`, which creates a mirroring session, or replaces the one that
/// has its number.
pub(crate) fn add_session(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let session_id = session_id(&mut words)?;
    let port = words.number("the number of a port")?;
    words.end()?;
    let replicas = vec![replica(port, 0)];
    let entry = CloneSessionEntry { session_id, replicas, ..CloneSessionEntry::default() };
    session.put(entity(Replication::CloneSessionEntry(entry)))
}

/// Runs the command `mirroring_add_mc`, which makes a mirroring session send the copies that a
/// multicast group has now.
pub(crate) fn add_session_of_group(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let (session_id, group) = (session_id(&mut words)?, group_id(&mut words)?);
    words.end()?;
    let found = read_group(session, group)?;
    let found = found.ok_or_else(|| {
        CommandError::Missing(format!(
            "there is no multicast group {group} whose copies the session could have; create it first"
        ))
    })?;
    let count = found.replicas.len();
    let replicas = found.replicas;
    let entry = CloneSessionEntry { session_id, replicas, ..CloneSessionEntry::default() };
    session.put(entity(Replication::CloneSessionEntry(entry)))?;
    let text = format!(
        "session {session_id} has the {count} copies that group {group} has now; it does not follow later changes"
    );
    let json =
        json!({ "kind": "session set", "session": session_id, "group": group, "replicas": count });
    sink(View::new(text, json).into());
    Ok(())
}

/// Runs the command `mirroring_delete`, which deletes a mirroring session.
pub(crate) fn delete_session(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let session_id = session_id(&mut words)?;
    words.end()?;
    let entry = CloneSessionEntry { session_id, ..CloneSessionEntry::default() };
    session.write(Type::Delete, entity(Replication::CloneSessionEntry(entry)))
}

/// Runs the command `mirroring_get`, which shows a mirroring session.
pub(crate) fn get_session(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let session_id = session_id(&mut words)?;
    words.end()?;
    let entry = CloneSessionEntry { session_id, ..CloneSessionEntry::default() };
    let found = session.query(vec![entity(Replication::CloneSessionEntry(entry))])?;
    if found.is_empty() && !session.is_dry {
        return Err(CommandError::Missing(format!("there is no clone session {session_id}")));
    }
    found.into_iter().for_each(|found| sink(Item::Entity(Box::new(found))));
    Ok(())
}
