//! Requirements of section 9.5: multicast groups and clone sessions.

use protos::v1;
use tonic::Code;

use super::{Trial, must};
use crate::bench::Bench;
use crate::demands::{Fault, demand};
use crate::entities::{bytes, clone_session, delete, insert, modify, multicast_group, replicas};

pub(super) const ALL: &[Trial] = &[
    must(
        "9.5.1",
        "multicast-group-is-read-as-written",
        "A multicast group is inserted, modified and deleted, and read as it was written.",
        |bench| is_read_as_written(bench, group),
    ),
    must(
        "9.5.1",
        "multicast-group-zero",
        "A multicast group with the identifier 0 is inserted or modified: it is refused.",
        |bench| zero_is_refused(bench, group),
    ),
    must(
        "9.5.1",
        "multicast-group-keys",
        "A multicast group is inserted that is there, or modified or deleted that is not: ALREADY_EXISTS or NOT_FOUND.",
        |bench| keys(bench, group),
    ),
    must(
        "9.5.1",
        "replica-twice",
        "A multicast group has a port with the same instance twice: it is refused.",
        replica_twice,
    ),
    must(
        "9.5.1",
        "backup-replicas",
        "A replica has backups: it is read as written, and refused if a backup has its port, or the port and instance of \
         another. A device without backups refuses all with UNIMPLEMENTED.",
        backup_replicas,
    ),
    must(
        "9.5.2",
        "clone-session-is-read-as-written",
        "A clone session is inserted, modified and deleted, and read as it was written.",
        |bench| is_read_as_written(bench, session),
    ),
    must(
        "9.5.2",
        "clone-session-zero",
        "A clone session with the identifier 0 is inserted or modified: it is refused.",
        |bench| zero_is_refused(bench, session),
    ),
    must(
        "9.5.2",
        "clone-session-keys",
        "A clone session is inserted that is there, or modified or deleted that is not: ALREADY_EXISTS or NOT_FOUND.",
        |bench| keys(bench, session),
    ),
];

/// The number of the bench's multicast group and clone session, which other controllers are not
/// likely to use.
const ID: u32 = 431;

/// A function that builds a multicast group or clone session with this number. Its replicas send
/// copies to port 1 with these instance numbers.
type Make = fn(u32, &[u32]) -> v1::Entity;

fn group(id: u32, instances: &[u32]) -> v1::Entity {
    multicast_group(id, replicas(instances.iter().copied()))
}

fn session(id: u32, instances: &[u32]) -> v1::Entity {
    clone_session(id, replicas(instances.iter().copied()), 128)
}

/// Inserts a valid multicast group or clone session. If the device answers UNIMPLEMENTED, it does
/// not support them, and the requirement is not applicable.
fn insert_first(bench: &mut Bench, entity: v1::Entity) -> Result<(), Fault> {
    let request = bench.write_request(vec![insert(entity)]);
    let answer = bench.write(request)?;
    if answer.of(0) == Code::Unimplemented {
        return Err(Fault::NotApplicable("the device does not replicate packets".to_owned()));
    }
    if answer.of(0) == Code::InvalidArgument {
        // The P4Info does not list ports.
        return Err(Fault::NotApplicable("the device has no port 1".to_owned()));
    }
    demand(answer.is_ok(), || "the device refused a valid Write".to_owned())
}

fn is_read_as_written(bench: &mut Bench, make: Make) -> Result<(), Fault> {
    insert_first(bench, make(ID, &[1]))?;
    let found = bench.read(vec![make(ID, &[])])?;
    demand(found == [make(ID, &[1])], || "it is not returned as it was inserted".to_owned())?;
    bench.accept(vec![modify(make(ID, &[0]))])?;
    let found = bench.read(vec![make(ID, &[])])?;
    demand(found == [make(ID, &[0])], || "it is not returned as it was modified".to_owned())?;
    bench.accept(vec![delete(make(ID, &[0]))])?;
    let found = bench.read(vec![make(ID, &[])])?;
    demand(found.is_empty(), || "it is there after it was deleted".to_owned())
}

fn zero_is_refused(bench: &mut Bench, make: Make) -> Result<(), Fault> {
    insert_first(bench, make(ID, &[1]))?;
    for update in [insert, modify] {
        bench.refuse(update(make(0, &[1])), &[Code::InvalidArgument])?;
    }
    Ok(())
}

fn keys(bench: &mut Bench, make: Make) -> Result<(), Fault> {
    insert_first(bench, make(ID, &[1]))?;
    bench.refuse(insert(make(ID, &[2])), &[Code::AlreadyExists])?;
    for update in [modify, delete] {
        bench.refuse(update(make(ID + 1, &[1])), &[Code::NotFound])?;
    }
    let found = bench.read(vec![make(ID, &[])])?;
    demand(found == [make(ID, &[1])], || "it was changed by a refused update".to_owned())
}

fn backup_replicas(bench: &mut Bench) -> Result<(), Fault> {
    let backed = |id: u32, backups: &[(u128, u32)]| {
        let mut replicas = replicas([1]);
        if let Some(replica) = replicas.first_mut() {
            let backups = backups.iter();
            let backups = backups.map(|(port, instance)| v1::BackupReplica {
                port: bytes(*port),
                instance: *instance,
            });
            replica.backup_replicas = backups.collect();
        }
        multicast_group(id, replicas)
    };
    insert_first(bench, group(ID + 1, &[1]))?;
    let request = bench.write_request(vec![insert(backed(ID, &[(2, 1), (2, 2)]))]);
    let answer = bench.write(request)?;
    if answer.of(0) == Code::Unimplemented {
        return Err(Fault::NotApplicable("the device has no backups of replicas".to_owned()));
    }
    if answer.of(0) == Code::InvalidArgument {
        return Err(Fault::NotApplicable("the device has no port 2".to_owned()));
    }
    demand(answer.is_ok(), || "the device refused a valid Write".to_owned())?;
    let found = bench.read(vec![group(ID, &[])])?;
    let is_as_written = found == [backed(ID, &[(2, 1), (2, 2)])];
    demand(is_as_written, || "it is not returned as it was inserted".to_owned())?;
    for wrong in [&[(1, 2)][..], &[(2, 1), (2, 1)]] {
        bench.refuse(modify(backed(ID, wrong)), &[Code::InvalidArgument])?;
    }
    Ok(())
}

fn replica_twice(bench: &mut Bench) -> Result<(), Fault> {
    insert_first(bench, group(ID, &[1, 2]))?;
    bench.refuse(insert(group(ID + 1, &[1, 1])), &[Code::InvalidArgument])?;
    bench.refuse(modify(group(ID, &[1, 1])), &[Code::InvalidArgument])
}
