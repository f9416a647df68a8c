//! Requirements of sections 10 and 12: the effects of a Write request, and the form of a refusal.

use protos::v1::{self, write_request::Atomicity};
use tonic::Code;

use super::formatting::demand_same;
use super::{Trial, must, should};
use crate::bench::{Bench, all_entries, demand_code, of_number, table_entry};
use crate::channel::{WriteAnswer, name};
use crate::demands::{Fault, demand};
use crate::entities::{bare_call, delete, insert, modify, of_entry, with_action};

pub(super) const ALL: &[Trial] = &[
    must(
        "12",
        "write-to-an-unknown-device",
        "A Write names a device that the server does not have: it is refused with NOT_FOUND, whoever sends it.",
        write_to_an_unknown_device,
    ),
    must(
        "12",
        "write-of-another-than-the-primary",
        "A Write has another election id than the primary's: it is refused as a whole with PERMISSION_DENIED.",
        write_of_another_than_the_primary,
    ),
    must(
        "12",
        "insert-what-is-there",
        "An entry is inserted whose key the table has: ALREADY_EXISTS, and the old entry stays.",
        insert_what_is_there,
    ),
    must(
        "12",
        "modify-what-is-not-there",
        "An entry is modified whose key the table does not have: NOT_FOUND, and none is created.",
        modify_what_is_not_there,
    ),
    must(
        "12",
        "delete-what-is-not-there",
        "An entry is deleted whose key the table does not have: NOT_FOUND.",
        delete_what_is_not_there,
    ),
    must(
        "12",
        "modify-replaces-everything",
        "A MODIFY leaves out what the entry has: it falls back to its default.",
        modify_replaces_everything,
    ),
    must(
        "12.1",
        "written-means-in-force",
        "A Write was answered: its updates are seen by the next Read, fifty times.",
        written_means_in_force,
    ),
    must(
        "12.1",
        "same-key-twice-in-a-batch",
        "A batch inserts two entries with one key: one of them is accepted, and that is the one in the table.",
        same_key_twice_in_a_batch,
    ),
    must(
        "12.2",
        "batch-goes-on",
        "An update in the middle of a batch is refused: the others are carried out.",
        batch_goes_on,
    ),
    must(
        "12.2",
        "batch-rolls-back",
        "An update of a batch with ROLLBACK_ON_ERROR is refused: none is in force. A device may answer UNIMPLEMENTED.",
        batch_rolls_back,
    ),
    must(
        "12.2",
        "batch-as-a-transaction",
        "An update of a batch with DATAPLANE_ATOMIC is refused: none is in force. A device may answer UNIMPLEMENTED.",
        batch_as_a_transaction,
    ),
    must(
        "12.3",
        "errors-in-the-order-of-updates",
        "Some updates of a batch are refused: UNKNOWN, with the code of each update in their order.",
        errors_in_the_order_of_updates,
    ),
    should(
        "12.3",
        "single-update-is-a-batch",
        "A single update is refused: UNKNOWN, with one code among the details.",
        single_update_is_a_batch,
    ),
];

fn write_to_an_unknown_device(bench: &mut Bench) -> Result<(), Fault> {
    let device_id = bench.unknown_device()?;
    let table = bench.any_open_table()?;
    let entry = bench.entry(&table);
    let unused = bench.next_election_id();
    for election_id in [bench.election_id(), unused] {
        let request = bench.write_request(vec![insert(of_entry(&entry))]);
        let election_id = Some(of_number(election_id));
        let answer = bench.write(v1::WriteRequest { device_id, election_id, ..request })?;
        demand_code(answer.code, &[Code::NotFound])?;
    }
    bench.holds_no(&entry)
}

fn write_of_another_than_the_primary(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.any_open_table()?;
    let entry = bench.entry(&table);
    let unused = bench.next_election_id();
    let malformed = v1::TableEntry { table_id: 0, ..entry.clone() };
    for election_id in [Some(bench.election_id() - 1), Some(unused), None] {
        bench.refuse_writer(election_id, vec![insert(of_entry(&entry))])?;
        bench.refuse_writer(election_id, vec![insert(of_entry(&malformed))])?;
    }
    bench.holds_no(&entry)
}

/// Returns two entries with the same key. They are equal if no action of the table has parameters.
fn two_of_one_key(bench: &mut Bench) -> Result<(v1::TableEntry, v1::TableEntry), Fault> {
    let with_params = bench
        .open_table("", |table| table.action().is_some_and(|action| !action.params.is_empty()));
    let table = with_params.or_else(|_| bench.any_open_table())?;
    let entry = bench.entry(&table);
    let other = table.action().map(|action| with_action(&entry, bare_call(action, 0)));
    Ok((entry.clone(), other.unwrap_or(entry)))
}

fn insert_what_is_there(bench: &mut Bench) -> Result<(), Fault> {
    let (entry, other) = two_of_one_key(bench)?;
    bench.accept(vec![insert(of_entry(&entry))])?;
    for again in [&other, &entry] {
        bench.refuse(insert(of_entry(again)), &[Code::AlreadyExists])?;
    }
    bench.holds(&entry)
}

fn modify_what_is_not_there(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.any_open_table()?;
    let entry = bench.entry(&table);
    bench.refuse(modify(of_entry(&entry)), &[Code::NotFound])?;
    bench.holds_no(&entry)
}

fn delete_what_is_not_there(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.any_open_table()?;
    let entry = bench.entry(&table);
    bench.refuse(delete(of_entry(&entry)), &[Code::NotFound])
}

fn modify_replaces_everything(bench: &mut Bench) -> Result<(), Fault> {
    let (entry, other) = two_of_one_key(bench)?;
    let with_metadata = v1::TableEntry { metadata: bytes::Bytes::from_static(b"old"), ..entry };
    bench.accept(vec![insert(of_entry(&with_metadata))])?;
    bench.accept(vec![modify(of_entry(&other))])?;
    demand_same(bench.find(&other)?, &other)
}

fn written_means_in_force(bench: &mut Bench) -> Result<(), Fault> {
    let (entry, other) = two_of_one_key(bench)?;
    for _ in 0..50 {
        bench.accept(vec![insert(of_entry(&entry))])?;
        bench.holds(&entry)?;
        bench.accept(vec![modify(of_entry(&other))])?;
        bench.holds(&other)?;
        bench.accept(vec![delete(of_entry(&entry))])?;
        bench.holds_no(&entry)?;
    }
    Ok(())
}

fn same_key_twice_in_a_batch(bench: &mut Bench) -> Result<(), Fault> {
    let (entry, other) = two_of_one_key(bench)?;
    let request = bench.write_request(vec![insert(of_entry(&entry)), insert(of_entry(&other))]);
    let answer = bench.write(request)?;
    demand_code(answer.code, &[Code::Unknown])?;
    match (answer.of(0), answer.of(1)) {
        (Code::Ok, Code::AlreadyExists) => bench.holds(&entry),
        (Code::AlreadyExists, Code::Ok) => bench.holds(&other),
        (one, two) => Err(Fault::Broken(format!(
            "the device answered {} and {} where one of them has to be accepted and the other ALREADY_EXISTS",
            name(one),
            name(two)
        ))),
    }
}

fn batch_goes_on(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.any_open_table()?;
    for wrong in 0..3 {
        let entries = [0; 3].map(|_| bench.entry(&table));
        let updates = entries.iter().enumerate().map(|(index, entry)| match index == wrong {
            true => delete(of_entry(entry)),
            false => insert(of_entry(entry)),
        });
        let request = bench.write_request(updates.collect());
        let answer = bench.write(request)?;
        demand_code(answer.code, &[Code::Unknown])?;
        for (index, entry) in entries.iter().enumerate() {
            if index == wrong {
                demand_code(answer.of(index), &[Code::NotFound])?;
            } else {
                bench.holds(entry)?;
            }
        }
    }
    Ok(())
}

fn batch_rolls_back(bench: &mut Bench) -> Result<(), Fault> {
    all_or_nothing(bench, Atomicity::RollbackOnError)
}

fn batch_as_a_transaction(bench: &mut Bench) -> Result<(), Fault> {
    all_or_nothing(bench, Atomicity::DataplaneAtomic)
}

/// Demands that the device executes either all updates of a batch with this atomicity, or none. The
/// atomicity is optional.
fn all_or_nothing(bench: &mut Bench, atomicity: Atomicity) -> Result<(), Fault> {
    let table = bench.any_open_table()?;
    let [first, second, third, absent] = [0; 4].map(|_| bench.entry(&table));
    let write = |bench: &mut Bench, updates| -> Result<WriteAnswer, Fault> {
        let request = bench.write_request(updates);
        bench.write(v1::WriteRequest { atomicity: atomicity as i32, ..request })
    };
    let answer = write(bench, vec![insert(of_entry(&first)), insert(of_entry(&second))])?;
    if answer.of(0) == Code::Unimplemented {
        bench.holds_no(&first)?;
        return bench.holds_no(&second);
    }
    demand_code(answer.code, &[Code::Ok])?;
    bench.holds(&first)?;
    bench.holds(&second)?;
    let updates =
        vec![insert(of_entry(&third)), delete(of_entry(&absent)), delete(of_entry(&first))];
    let answer = write(bench, updates)?;
    demand_code(answer.code, &[Code::Unknown, Code::NotFound, Code::Aborted])?;
    bench.holds_no(&third)?;
    bench.holds(&first)
}

fn errors_in_the_order_of_updates(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.any_open_table()?;
    let [present, one, absent, two] = [0; 4].map(|_| bench.entry(&table));
    bench.accept(vec![insert(of_entry(&present))])?;
    let request = bench.write_request(vec![
        insert(of_entry(&one)),
        insert(of_entry(&present)),
        delete(of_entry(&absent)),
        insert(of_entry(&two)),
    ]);
    let answer = bench.write(request)?;
    demand_code(answer.code, &[Code::Unknown])?;
    let wanted = [Code::Ok, Code::AlreadyExists, Code::NotFound, Code::Ok];
    demand(answer.updates == wanted, || {
        let names: Vec<_> = answer.updates.iter().map(|code| name(*code)).collect();
        format!(
            "the updates are answered {} where OK, ALREADY_EXISTS, NOT_FOUND, OK are demanded",
            if names.is_empty() { "without details".to_owned() } else { names.join(", ") }
        )
    })?;
    let entries = bench.read(vec![all_entries(table.id)])?;
    let entries: Vec<_> = entries.into_iter().filter_map(table_entry).collect();
    let is_there =
        |wanted: &v1::TableEntry| entries.iter().any(|entry| entry.r#match == wanted.r#match);
    demand(is_there(&present) && is_there(&one) && is_there(&two) && !is_there(&absent), || {
        "the table has other entries than the answer says".to_owned()
    })
}

fn single_update_is_a_batch(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.any_open_table()?;
    let absent = bench.entry(&table);
    let request = bench.write_request(vec![delete(of_entry(&absent))]);
    let answer = bench.write(request)?;
    demand(answer.code == Code::Unknown && answer.updates == [Code::NotFound], || {
        format!("the device answered {} with {} details", name(answer.code), answer.updates.len())
    })
}
