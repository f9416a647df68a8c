//! Requirements of section 5: which of several controllers is the primary, and what the others may
//! do.

use tonic::Code;

use super::{Trial, must};
use crate::bench::{Bench, arbitration, arbitration_of, number, standing};
use crate::demands::{Fault, demand};
use crate::entities::{insert, of_entry};
use protos::v1::{self, stream_message_request::Update};

pub(super) const ALL: &[Trial] = &[
    must(
        "5.3",
        "unknown-device",
        "The first arbitration of a stream names a device that the server does not have: the stream ends with NOT_FOUND.",
        unknown_device,
    ),
    must(
        "5.3",
        "duplicate-election-id",
        "A controller joins with the election id of another one that is connected: its stream ends with INVALID_ARGUMENT.",
        duplicate_election_id,
    ),
    must(
        "5.3",
        "duplicate-election-id-later",
        "A connected controller changes its election id to that of another one: its stream ends with INVALID_ARGUMENT.",
        duplicate_election_id_later,
    ),
    must(
        "5.3",
        "several-without-election-id",
        "Several controllers without an election id are connected at the same time, as backups that may not write.",
        several_without_election_id,
    ),
    must(
        "5.3",
        "higher-election-id-wins",
        "A controller with a higher election id becomes the primary, both are notified, and the former primary may not write.",
        higher_election_id_wins,
    ),
    must(
        "5.3",
        "backup-joins-unnoticed",
        "A controller joins with a lower election id than the primary's: only it is notified.",
        backup_joins_unnoticed,
    ),
    must(
        "5.4",
        "loss-of-primary-is-notified",
        "The stream of the primary ends: every backup is notified that there is no primary, and may still not write.",
        loss_of_primary_is_notified,
    ),
    must(
        "5.3",
        "election-after-loss",
        "Without a primary, only a controller whose election id is at least the highest one seen becomes the primary.",
        election_after_loss,
    ),
    must(
        "5.3",
        "primary-steps-down",
        "The primary lowers its election id: it is a backup then, all are notified, and nobody may write.",
        primary_steps_down,
    ),
    must(
        "5.3",
        "repeated-arbitration-is-notified",
        "The primary repeats its arbitration: it and the backups are notified again.",
        repeated_arbitration_is_notified,
    ),
    must(
        "5.3",
        "device-of-a-stream-is-fixed",
        "A later arbitration of a stream names another device: the stream ends with FAILED_PRECONDITION.",
        device_of_a_stream_is_fixed,
    ),
    must(
        "5.3",
        "role-of-a-stream-is-fixed",
        "A later arbitration of a stream names another role: the stream ends with FAILED_PRECONDITION.",
        role_of_a_stream_is_fixed,
    ),
    must(
        "5",
        "roles-are-independent",
        "Controllers of two roles have the same election id, and each is the primary of its role.",
        roles_are_independent,
    ),
];

fn unknown_device(bench: &mut Bench) -> Result<(), Fault> {
    let device = bench.unknown_device()?;
    let election_id = bench.next_election_id();
    bench.refuse_stream(arbitration(device, Some(election_id)), Code::NotFound)?;
    still_primary(bench)
}

fn duplicate_election_id(bench: &mut Bench) -> Result<(), Fault> {
    let first = arbitration(bench.device_id(), Some(bench.election_id()));
    bench.refuse_stream(first, Code::InvalidArgument)?;
    still_primary(bench)
}

fn duplicate_election_id_later(bench: &mut Bench) -> Result<(), Fault> {
    let (lower, _) = lower_ids(bench)?;
    let (mut backup, _) = bench.rival(Some(lower))?;
    let again = arbitration(bench.device_id(), Some(bench.election_id()));
    bench.send_on(&backup, again)?;
    bench.ends(&mut backup, Code::InvalidArgument)?;
    still_primary(bench)
}

fn several_without_election_id(bench: &mut Bench) -> Result<(), Fault> {
    let (_first, one) = bench.rival(None)?;
    let (_second, other) = bench.rival(None)?;
    for update in [one, other] {
        demand_standing(standing(&update), Code::AlreadyExists, bench.election_id())?;
    }
    let table = bench.any_open_table()?;
    let entry = bench.entry(&table);
    bench.refuse_writer(None, vec![insert(of_entry(&entry))])?;
    bench.holds_no(&entry)?;
    still_primary(bench)
}

fn higher_election_id_wins(bench: &mut Bench) -> Result<(), Fault> {
    let (former, id) = (bench.election_id(), bench.next_election_id());
    let (_rival, update) = bench.rival(Some(id))?;
    demand_standing(standing(&update), Code::Ok, id)?;
    let (code, _) = bench.update_of_primary()?;
    demand(code == Code::AlreadyExists, || {
        "the former primary is not notified that there is another one".to_owned()
    })?;
    let table = bench.any_open_table()?;
    let entry = bench.entry(&table);
    bench.refuse_writer(Some(former), vec![insert(of_entry(&entry))])?;
    bench.holds_no(&entry)?;
    bench.accept_of(id, vec![insert(of_entry(&entry))])
}

fn backup_joins_unnoticed(bench: &mut Bench) -> Result<(), Fault> {
    let (lower, lowest) = lower_ids(bench)?;
    let (mut other, _) = bench.rival(Some(lower))?;
    let (_backup, update) = bench.rival(Some(lowest))?;
    demand_standing(standing(&update), Code::AlreadyExists, bench.election_id())?;
    bench.silent(is_arbitration)?;
    bench.silent_on(&mut other, is_arbitration)?;
    still_primary(bench)
}

fn loss_of_primary_is_notified(bench: &mut Bench) -> Result<(), Fault> {
    let (lower, _) = lower_ids(bench)?;
    let highest = bench.election_id();
    let (mut backup, _) = bench.rival(Some(lower))?;
    bench.leave();
    demand_standing(bench.arbitration_update(&mut backup)?, Code::NotFound, highest)?;
    let table = bench.any_open_table()?;
    let entry = bench.entry(&table);
    bench.refuse_writer(Some(lower), vec![insert(of_entry(&entry))])
}

fn election_after_loss(bench: &mut Bench) -> Result<(), Fault> {
    let (lower, _) = lower_ids(bench)?;
    let (device, highest) = (bench.device_id(), bench.election_id());
    let (mut backup, _) = bench.rival(Some(lower))?;
    bench.leave();
    bench.arbitration_update(&mut backup)?;
    bench.send_on(&backup, arbitration(device, Some(lower)))?;
    demand_standing(bench.arbitration_update(&mut backup)?, Code::NotFound, highest)?;
    bench.send_on(&backup, arbitration(device, Some(highest)))?;
    demand_standing(bench.arbitration_update(&mut backup)?, Code::Ok, highest)?;
    let table = bench.any_open_table()?;
    let entry = bench.entry(&table);
    bench.accept_of(highest, vec![insert(of_entry(&entry))])
}

fn primary_steps_down(bench: &mut Bench) -> Result<(), Fault> {
    let (lower, lowest) = lower_ids(bench)?;
    let (device, highest) = (bench.device_id(), bench.election_id());
    let (mut backup, _) = bench.rival(Some(lower))?;
    bench.send(arbitration(device, Some(lowest)))?;
    bench.becomes_backup();
    demand_standing(bench.update_of_primary()?, Code::NotFound, highest)?;
    demand_standing(bench.arbitration_update(&mut backup)?, Code::NotFound, highest)?;
    let table = bench.any_open_table()?;
    let entry = bench.entry(&table);
    for election_id in [highest, lower, lowest] {
        bench.refuse_writer(Some(election_id), vec![insert(of_entry(&entry))])?;
    }
    bench.holds_no(&entry)
}

fn repeated_arbitration_is_notified(bench: &mut Bench) -> Result<(), Fault> {
    let (lower, _) = lower_ids(bench)?;
    let (device, own) = (bench.device_id(), bench.election_id());
    let (mut backup, _) = bench.rival(Some(lower))?;
    bench.send(arbitration(device, Some(own)))?;
    demand_standing(bench.update_of_primary()?, Code::Ok, own)?;
    demand_standing(bench.arbitration_update(&mut backup)?, Code::AlreadyExists, own)?;
    still_primary(bench)
}

fn device_of_a_stream_is_fixed(bench: &mut Bench) -> Result<(), Fault> {
    let device = bench.unknown_device()?;
    let (lower, _) = lower_ids(bench)?;
    let (mut backup, _) = bench.rival(Some(lower))?;
    bench.send_on(&backup, arbitration(device, Some(lower)))?;
    bench.ends(&mut backup, Code::FailedPrecondition)?;
    still_primary(bench)
}

fn role_of_a_stream_is_fixed(bench: &mut Bench) -> Result<(), Fault> {
    let (lower, _) = lower_ids(bench)?;
    let (mut backup, _) = bench.rival(Some(lower))?;
    let update = of_role(bench, lower);
    bench.send_on(&backup, update)?;
    bench.ends(&mut backup, Code::FailedPrecondition)?;
    still_primary(bench)
}

fn roles_are_independent(bench: &mut Bench) -> Result<(), Fault> {
    let own = bench.election_id();
    let update = of_role(bench, own);
    let refused = || Fault::NotApplicable("the device takes no roles with names".to_owned());
    let mut stream = bench.stream(update)?.map_err(|_| refused())?;
    let found = bench.received(&mut stream).ok_or_else(refused)?;
    if let Err(status) = &found {
        demand(status.code() != Code::InvalidArgument, || {
            "the device takes the election id for a duplicate of that of another role".to_owned()
        })?;
    }
    let message = found.map_err(|_| refused())?;
    let Some(v1::stream_message_response::Update::Arbitration(update)) = message.update else {
        return Err(Fault::Broken("the device sent no arbitration update".to_owned()));
    };
    let highest = update.election_id.map_or(0, number);
    let (code, _) = standing(&update);
    demand(code == Code::Ok || highest > own, || {
        "the controller is not the primary of its role, although no higher election id was used"
            .to_owned()
    })?;
    bench.silent(is_arbitration)?;
    still_primary(bench)
}

/// Returns an arbitration request for a role that no other attempt uses.
fn of_role(bench: &Bench, election_id: u128) -> Update {
    let role = v1::Role { name: "planimeter-conformance".to_owned(), ..Default::default() };
    arbitration_of(bench.device_id(), Some(role), Some(election_id))
}

/// Raises the primary's election id so that at least two lower ids exist, and returns two of these.
fn lower_ids(bench: &mut Bench) -> Result<(u128, u128), Fault> {
    if bench.election_id() < 3 {
        bench.raise_election_id(3)?;
    }
    let own = bench.election_id();
    Ok((own - 1, own - 2))
}

fn is_arbitration(message: &v1::stream_message_response::Update) -> bool {
    matches!(message, v1::stream_message_response::Update::Arbitration(_))
}

/// Demands that the bench's client is still the primary, which shows in the device accepting its
/// writes.
fn still_primary(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.any_open_table()?;
    let entry = bench.entry(&table);
    bench.accept(vec![insert(of_entry(&entry))])
}

fn demand_standing(found: (Code, u128), code: Code, election_id: u128) -> Result<(), Fault> {
    demand(found == (code, election_id), || {
        format!(
            "a controller is notified of {} and election id {} where {} and {election_id} are demanded",
            crate::channel::name(found.0),
            found.1,
            crate::channel::name(code)
        )
    })
}
