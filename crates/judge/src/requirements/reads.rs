//! Requirements of sections 9.1.6 and 13: which entities a Read request returns.

use bytes::Bytes;
use protos::v1;
use tonic::Code;

use super::{Trial, must, should};
use crate::bench::{Bench, REFUSED, all_entries, demand_code, table_entry};
use crate::demands::{Fault, demand};
use crate::entities::{bare_call, insert, of_entry, with_action};
use crate::subject::Table;

pub(super) const ALL: &[Trial] = &[
    must(
        "9.1.6",
        "read-all-tables",
        "A Read of table 0 returns the entries of all tables.",
        read_all_tables,
    ),
    must(
        "9.1.6",
        "read-one-table",
        "A Read of a table returns its entries, and neither those of others nor the default entry.",
        read_one_table,
    ),
    must(
        "9.1.6",
        "read-by-key",
        "A Read with a match returns that entry alone, or nothing if there is none.",
        read_by_key,
    ),
    must(
        "9.1.6",
        "read-by-action",
        "A Read with an action returns only entries with that action.",
        read_by_action,
    ),
    must(
        "9.1.6",
        "read-by-priority",
        "A Read with a priority returns only entries with that priority.",
        read_by_priority,
    ),
    must(
        "9.1.6",
        "read-by-metadata",
        "A Read with metadata returns only entries with that metadata.",
        read_by_metadata,
    ),
    must(
        "13",
        "read-of-an-unknown-device",
        "A Read names a device that the server does not have: NOT_FOUND.",
        read_of_an_unknown_device,
    ),
    must(
        "13.2",
        "read-of-nothing",
        "A Read has an entity of no kind: it is refused.",
        read_of_nothing,
    ),
    should(
        "13.3",
        "read-of-several-kinds",
        "A Read of two entries by their keys returns both.",
        read_of_several,
    ),
];

fn read_all_tables(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.any_open_table()?;
    let entry = bench.entry(&table);
    let mut wanted = vec![entry.clone()];
    bench.accept(vec![insert(of_entry(&entry))])?;
    let second = bench.open_table("", |other| other.id != table.id);
    if let Ok(second) = second {
        let entry = bench.entry(&second);
        bench.accept(vec![insert(of_entry(&entry))])?;
        wanted.push(entry);
    }
    let found = bench.read(vec![all_entries(0)])?;
    let found: Vec<_> = found.into_iter().filter_map(table_entry).collect();
    demand(wanted.iter().all(|wanted| has_key(&found, wanted)), || {
        "an entry that was inserted is not among those of all tables".to_owned()
    })
}

fn read_one_table(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.any_open_table()?;
    let entry = bench.entry(&table);
    bench.accept(vec![insert(of_entry(&entry))])?;
    if let Ok(second) = bench.open_table("", |other| other.id != table.id) {
        let other = bench.entry(&second);
        bench.accept(vec![insert(of_entry(&other))])?;
    }
    let found = bench.read(vec![all_entries(table.id)])?;
    let found: Vec<_> = found.into_iter().filter_map(table_entry).collect();
    demand(has_key(&found, &entry), || "the entry that was inserted is missing".to_owned())?;
    let is_right = |found: &v1::TableEntry| found.table_id == table.id && !found.is_default_action;
    demand(found.iter().all(is_right), || {
        "entries of other tables or the default entry are returned".to_owned()
    })
}

fn has_key(entries: &[v1::TableEntry], wanted: &v1::TableEntry) -> bool {
    let fields = |entry: &v1::TableEntry| {
        let mut fields = entry.r#match.clone();
        fields.sort_by_key(|field| field.field_id);
        fields
    };
    entries.iter().any(|entry| {
        entry.table_id == wanted.table_id
            && entry.priority == wanted.priority
            && fields(entry) == fields(wanted)
    })
}

fn read_by_key(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.any_open_table()?;
    let [first, second, absent] = [0; 3].map(|_| bench.entry(&table));
    bench.accept(vec![insert(of_entry(&first)), insert(of_entry(&second))])?;
    for (wanted, count) in [(&first, 1), (&second, 1), (&absent, 0)] {
        let key = v1::TableEntry { action: None, ..wanted.clone() };
        let found = bench.read(vec![of_entry(&key)])?;
        demand(found.len() == count, || {
            format!("{} entries are returned for a key that {count} have", found.len())
        })?;
        let found: Vec<_> = found.into_iter().filter_map(table_entry).collect();
        demand(count == 0 || has_key(&found, wanted), || {
            "another entry is returned than that with the key".to_owned()
        })?;
    }
    Ok(())
}

fn read_by_action(bench: &mut Bench) -> Result<(), Fault> {
    let usable = |table: &Table| table.actions.iter().filter(|action| action.in_entries).count();
    let table =
        bench.open_table("table with two actions for entries", |table| usable(table) > 1)?;
    let mut actions = table.actions.iter().filter(|action| action.in_entries);
    let (Some(one), Some(two)) = (actions.next(), actions.next()) else { return Ok(()) };
    let first = with_action(&bench.entry(&table), bare_call(one, 1));
    let second = with_action(&bench.entry(&table), bare_call(two, 1));
    bench.accept(vec![insert(of_entry(&first)), insert(of_entry(&second))])?;
    let bare = v1::Action { action_id: one.id, params: Vec::new() };
    let all = v1::TableEntry { table_id: table.id, ..Default::default() };
    filters(bench, &with_action(&all, bare), &first, &second)
}

fn read_by_priority(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.open_table("table whose entries have priorities", Table::has_priority)?;
    let first = v1::TableEntry { priority: 11, ..bench.entry(&table) };
    let second = v1::TableEntry { priority: 12, ..bench.entry(&table) };
    bench.accept(vec![insert(of_entry(&first)), insert(of_entry(&second))])?;
    let wanted = v1::TableEntry { table_id: table.id, priority: 11, ..Default::default() };
    filters(bench, &wanted, &first, &second)
}

fn read_by_metadata(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.any_open_table()?;
    let with = |entry, metadata: &'static [u8]| v1::TableEntry {
        metadata: Bytes::from_static(metadata),
        ..entry
    };
    let first = with(bench.entry(&table), b"m1");
    let second = with(bench.entry(&table), b"m2");
    bench.accept(vec![insert(of_entry(&first)), insert(of_entry(&second))])?;
    let all = v1::TableEntry { table_id: table.id, ..Default::default() };
    filters(bench, &with(all, b"m1"), &first, &second)
}

/// Demands that a Read request with `wanted` returns the entry `first` but not the entry `second`.
fn filters(
    bench: &mut Bench,
    wanted: &v1::TableEntry,
    first: &v1::TableEntry,
    second: &v1::TableEntry,
) -> Result<(), Fault> {
    let found = bench.read(vec![of_entry(wanted)])?;
    let found: Vec<_> = found.into_iter().filter_map(table_entry).collect();
    demand(has_key(&found, first), || "the entry that fits is not returned".to_owned())?;
    demand(!has_key(&found, second), || "an entry that does not fit is returned".to_owned())
}

fn read_of_an_unknown_device(bench: &mut Bench) -> Result<(), Fault> {
    let device_id = bench.unknown_device()?;
    let request = v1::ReadRequest { device_id, ..bench.read_request(vec![all_entries(0)]) };
    let answer = bench.channel.read(request)?;
    let code = answer.map_or_else(|status| status.code(), |_| Code::Ok);
    demand_code(code, &[Code::NotFound])
}

fn read_of_nothing(bench: &mut Bench) -> Result<(), Fault> {
    bench.refuse_read(vec![v1::Entity::default()], REFUSED)
}

fn read_of_several(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.any_open_table()?;
    let [first, second] = [0; 2].map(|_| bench.entry(&table));
    bench.accept(vec![insert(of_entry(&first)), insert(of_entry(&second))])?;
    let key = |entry: &v1::TableEntry| of_entry(&v1::TableEntry { action: None, ..entry.clone() });
    let found = bench.read(vec![key(&first), key(&second)])?;
    let found: Vec<_> = found.into_iter().filter_map(table_entry).collect();
    demand(found.len() == 2 && has_key(&found, &first) && has_key(&found, &second), || {
        format!("{} entries are returned for two keys", found.len())
    })
}
