//! Requirements of sections 9.1.7, 9.1.8, 9.3, 9.4 and 9.6 to 9.8: direct counters, direct meters
//! and idle timeouts of entries, arrays, value sets, and digests.

use protos::v1::{self, entity::Entity as Kind};
use tonic::Code;

use super::{Trial, must};
use crate::bench::{Bench, REFUSED};
use crate::demands::{Fault, demand, lacks};
use crate::entities::{delete, insert, modify, of_entry};
use crate::subject::{Array, Counts, Marker, Table};

pub(super) const ALL: &[Trial] = &[
    must(
        "9.1.7",
        "direct-counter-on-demand",
        "The counter of an entry is set with it, kept by a MODIFY without data, and returned only if the Read asks for it.",
        direct_counter_on_demand,
    ),
    must(
        "9.1.7",
        "direct-meter-on-demand",
        "The meter of an entry is set with it, reset by a MODIFY without configuration, and returned only if the Read asks for it.",
        direct_meter_on_demand,
    ),
    must(
        "9.1.7",
        "no-counter-without-one",
        "An entry has counter data, but its table has no counter: it is refused.",
        no_counter_without_one,
    ),
    must(
        "9.1.8",
        "no-idle-time-without-one",
        "An entry has an idle timeout, but its table has none: it is refused.",
        no_idle_time_without_one,
    ),
    must(
        "9.1.8",
        "idle-time-is-returned",
        "The idle timeout of an entry is returned as written, and the time since the last packet if the Read asks for it.",
        idle_time_is_returned,
    ),
    must(
        "9.3.2",
        "counter-is-set",
        "A cell of a counter is set by MODIFY, and no other cell.",
        counter_is_set,
    ),
    must(
        "9.3.2",
        "counter-is-modified-only",
        "A cell of a counter is inserted or deleted: it is refused.",
        counter_is_modified_only,
    ),
    must(
        "9.3.2",
        "counter-index",
        "An index of a counter is negative or beyond its end: INVALID_ARGUMENT or OUT_OF_RANGE.",
        counter_index,
    ),
    must(
        "9.3.1",
        "direct-counter-without-entry",
        "The counter of an entry is written that is not there: NOT_FOUND.",
        direct_counter_without_entry,
    ),
    must(
        "9.4.2",
        "meter-is-set-and-reset",
        "A cell of a meter is set by MODIFY, and is as in the beginning after a MODIFY without configuration.",
        meter_is_set_and_reset,
    ),
    must(
        "9.4.2",
        "meter-is-modified-only",
        "A cell of a meter is inserted or deleted: it is refused.",
        meter_is_modified_only,
    ),
    must(
        "9.4.2",
        "meter-index",
        "An index of a meter is negative or beyond its end: INVALID_ARGUMENT or OUT_OF_RANGE.",
        meter_index,
    ),
    must(
        "9.6",
        "value-set-is-modified-only",
        "Members of a value set are inserted or deleted: it is refused.",
        value_set_is_modified_only,
    ),
    must(
        "9.7",
        "register-index",
        "An index of a register is negative or beyond its end: INVALID_ARGUMENT or OUT_OF_RANGE.",
        register_index,
    ),
    must(
        "9.8",
        "digest-is-configured",
        "A digest is configured by INSERT, read as written, and no longer there after DELETE.",
        digest_is_configured,
    ),
];

const COUNT: v1::CounterData = v1::CounterData { byte_count: 500, packet_count: 5 };

const METER: v1::MeterConfig =
    v1::MeterConfig { cir: 1000, cburst: 2000, pir: 1000, pburst: 2000, eburst: 0 };

/// Returns a table whose entries have a direct counter.
fn counting_table(bench: &Bench) -> Result<Table, Fault> {
    let has_one = |table: &Table| bench.subject.counts(table).is_some();
    bench.open_table("table with a direct counter", has_one)
}

/// Inserts an entry to which `make` adds a direct counter or meter, and returns it. Tries the
/// actions of the table until the device accepts one, because P4Info does not say which actions use
/// the resource, and a device may refuse it for the others.
fn with_resource(
    bench: &mut Bench,
    table: &Table,
    make: impl Fn(v1::TableEntry) -> v1::TableEntry,
) -> Result<v1::TableEntry, Fault> {
    for action in table.actions.iter().filter(|action| action.in_entries) {
        let entry = bench.entry(table);
        let entry =
            make(v1::TableEntry { action: Some(crate::entities::call(action, 1)), ..entry });
        let request = bench.write_request(vec![insert(of_entry(&entry))]);
        if bench.write(request)?.is_ok() {
            return Ok(entry);
        }
    }
    Err(Fault::NotApplicable("no action of the table seems to use the resource".to_owned()))
}

/// A direct resource of an entry, such as a counter or a meter, that is read and written together
/// with the entry.
struct Resource<T> {
    name: &'static str,
    value: T,
    put: fn(v1::TableEntry, Option<T>) -> v1::TableEntry,
    get: fn(v1::TableEntry) -> Option<T>,
    /// Returns whether a value that was read is the one that was written.
    is_set: fn(Option<T>) -> bool,
    /// Returns whether a value is the specified one after a MODIFY that does not contain the
    /// resource.
    is_right_without: fn(Option<T>) -> bool,
}

/// Demands that a Read request returns a direct resource only if it asks for it, that the resource
/// has the written value, and that a MODIFY without the resource has the specified effect.
fn on_demand<T: Copy + Default + std::fmt::Debug>(
    bench: &mut Bench,
    table: &Table,
    resource: &Resource<T>,
) -> Result<(), Fault> {
    let Resource { name, put, get, .. } = *resource;
    let entry = with_resource(bench, table, |entry| put(entry, Some(resource.value)))?;
    let found = bench.find(&entry)?;
    demand(found.is_some_and(|found| get(found).is_none()), || {
        format!("the {name} is returned although the Read did not ask for it")
    })?;
    let wanted = put(v1::TableEntry { action: None, ..entry.clone() }, Some(T::default()));
    let read = |bench: &mut Bench| -> Result<Option<T>, Fault> {
        let found = bench.read(vec![of_entry(&wanted)])?;
        Ok(found.into_iter().find_map(crate::bench::table_entry).and_then(get))
    };
    let found = read(bench)?;
    demand((resource.is_set)(found), || format!("the {name} is {found:?} after it was set"))?;
    bench.accept(vec![modify(of_entry(&put(entry, None)))])?;
    let found = read(bench)?;
    demand((resource.is_right_without)(found), || {
        format!("the {name} is {found:?} after a MODIFY without it")
    })
}

fn direct_counter_on_demand(bench: &mut Bench) -> Result<(), Fault> {
    /// Returns whether the counts that were read are those that were written, as far as the counter
    /// counts them.
    fn is_kept(found: Option<v1::CounterData>) -> bool {
        let [packets, bytes] = [COUNT.packet_count, COUNT.byte_count];
        let found = found.map(|found| (found.packet_count, found.byte_count));
        found.is_some_and(|found| [(packets, bytes), (packets, 0), (0, bytes)].contains(&found))
    }
    let table = counting_table(bench)?;
    let counter = Resource {
        name: "counter",
        value: COUNT,
        put: |entry, counter_data| v1::TableEntry { counter_data, ..entry },
        get: |entry| entry.counter_data,
        is_set: is_kept,
        is_right_without: is_kept,
    };
    on_demand(bench, &table, &counter)
}

fn direct_meter_on_demand(bench: &mut Bench) -> Result<(), Fault> {
    let has_one = |table: &Table| bench.subject.marker(table).is_some();
    let table = bench.open_table("table with a direct meter", has_one)?;
    let meter = Resource {
        name: "meter",
        value: METER,
        put: |entry, meter_config| v1::TableEntry { meter_config, ..entry },
        get: |entry| entry.meter_config,
        is_set: |found| found == Some(METER),
        is_right_without: |found| found.is_none(),
    };
    on_demand(bench, &table, &meter)
}

fn no_counter_without_one(bench: &mut Bench) -> Result<(), Fault> {
    let has_none = |table: &Table| bench.subject.counts(table).is_none();
    let table = bench.open_table("table without a direct counter", has_none)?;
    let entry = bench.entry(&table);
    let wrong = v1::TableEntry { counter_data: Some(COUNT), ..entry.clone() };
    bench.refuse(insert(of_entry(&wrong)), &[Code::InvalidArgument])?;
    bench.holds_no(&entry)
}

fn no_idle_time_without_one(bench: &mut Bench) -> Result<(), Fault> {
    let has_none = |table: &Table| !table.notifies_idle_entries;
    let table = bench.open_table("table without idle timeouts", has_none)?;
    let entry = bench.entry(&table);
    let wrong = v1::TableEntry { idle_timeout_ns: 1_000_000_000, ..entry.clone() };
    bench.refuse(insert(of_entry(&wrong)), &[Code::InvalidArgument])?;
    bench.holds_no(&entry)
}

fn idle_time_is_returned(bench: &mut Bench) -> Result<(), Fault> {
    let has_one = |table: &Table| table.notifies_idle_entries;
    let table = bench.open_table("table with idle timeouts", has_one)?;
    let entry = bench.entry(&table);
    // The timeout is so long that no idle notification is sent during the attempt.
    let entry = v1::TableEntry { idle_timeout_ns: 12_345_678_901_234, ..entry };
    bench.accept(vec![insert(of_entry(&entry))])?;
    let found =
        bench.find(&entry)?.ok_or_else(|| Fault::Broken("the entry is not returned".to_owned()))?;
    demand(found.idle_timeout_ns == entry.idle_timeout_ns, || {
        format!("the timeout is returned as {} ns", found.idle_timeout_ns)
    })?;
    demand(found.time_since_last_hit.is_none(), || {
        "the time since the last packet is returned although the Read did not ask for it".to_owned()
    })?;
    let wanted = v1::TableEntry {
        action: None,
        idle_timeout_ns: 0,
        time_since_last_hit: Some(v1::table_entry::IdleTimeout::default()),
        ..entry
    };
    let found = bench.read(vec![of_entry(&wanted)])?;
    let found = found.into_iter().find_map(crate::bench::table_entry);
    demand(found.is_some_and(|found| found.time_since_last_hit.is_some()), || {
        "the time since the last packet is not returned".to_owned()
    })
}

fn counter_is_set(bench: &mut Bench) -> Result<(), Fault> {
    let counter = counter(bench)?;
    let before = read_counter(bench, &counter, 0)?;
    let beside = read_counter(bench, &counter, 1).ok();
    let of = |data| counter_cell(&counter, 0, Some(data));
    bench.accept(vec![modify(of(COUNT))])?;
    let set = read_counter(bench, &counter, 0)?;
    bench.accept(vec![modify(of(before))])?;
    let is_set = set.packet_count == COUNT.packet_count || set.byte_count == COUNT.byte_count;
    demand(is_set, || format!("the cell is {set:?} after it was set"))?;
    let after = read_counter(bench, &counter, 1).ok();
    demand(counter.size < 2 || beside == after, || "another cell was set too".to_owned())
}

fn counter_is_modified_only(bench: &mut Bench) -> Result<(), Fault> {
    let counter = counter(bench)?;
    for update in [insert, delete] {
        bench.refuse(update(counter_cell(&counter, 0, Some(COUNT))), &[Code::InvalidArgument])?;
    }
    Ok(())
}

fn counter_index(bench: &mut Bench) -> Result<(), Fault> {
    let counter = counter(bench)?;
    for (index, code) in wrong_indices(&counter) {
        bench.refuse(modify(counter_cell(&counter, index, Some(COUNT))), &[code])?;
    }
    Ok(())
}

fn counter(bench: &Bench) -> Result<Array<Counts>, Fault> {
    let found = bench.subject.counters.iter().find(|counter| counter.size > 0);
    found.cloned().ok_or_else(|| lacks("counter with an index"))
}

fn counter_cell(counter: &Array<Counts>, index: i64, data: Option<v1::CounterData>) -> v1::Entity {
    let index = Some(v1::Index { index });
    let entry = v1::CounterEntry { counter_id: counter.id, index, data };
    v1::Entity::from(entry)
}

fn read_counter(
    bench: &mut Bench,
    counter: &Array<Counts>,
    index: i64,
) -> Result<v1::CounterData, Fault> {
    let found = bench.read(vec![counter_cell(counter, index, None)])?;
    let found = found.into_iter().find_map(|entity| match entity.entity {
        Some(Kind::CounterEntry(entry)) => Some(entry.data.unwrap_or_default()),
        _ => None,
    });
    found.ok_or_else(|| Fault::Broken(format!("cell {index} of the counter is not returned")))
}

/// Returns indices that are outside an array, each with the status code that the specification
/// demands.
fn wrong_indices<T>(array: &Array<T>) -> [(i64, Code); 2] {
    [(-1, Code::InvalidArgument), (array.size.saturating_add(1), Code::OutOfRange)]
}

fn direct_counter_without_entry(bench: &mut Bench) -> Result<(), Fault> {
    let table = counting_table(bench)?;
    let entry = v1::TableEntry { action: None, ..bench.entry(&table) };
    let direct = v1::DirectCounterEntry { table_entry: Some(entry.clone()), data: Some(COUNT) };
    let entity = v1::Entity::from(direct);
    bench.refuse(modify(entity), &[Code::NotFound])?;
    bench.holds_no(&entry)
}

fn meter(bench: &Bench) -> Result<Array<Marker>, Fault> {
    let found = bench.subject.meters.iter().find(|meter| meter.size > 0);
    found.cloned().ok_or_else(|| lacks("meter with an index"))
}

fn meter_cell(meter: &Array<Marker>, index: i64, config: Option<v1::MeterConfig>) -> v1::Entity {
    let index = Some(v1::Index { index });
    let entry = v1::MeterEntry { meter_id: meter.id, index, config, ..Default::default() };
    v1::Entity::from(entry)
}

fn read_meter(bench: &mut Bench, meter: &Array<Marker>) -> Result<Option<v1::MeterConfig>, Fault> {
    let found = bench.read(vec![meter_cell(meter, 0, None)])?;
    let found = found.into_iter().find_map(|entity| match entity.entity {
        Some(Kind::MeterEntry(entry)) => Some(entry.config),
        _ => None,
    });
    found.ok_or_else(|| Fault::Broken("cell 0 of the meter is not returned".to_owned()))
}

fn meter_is_set_and_reset(bench: &mut Bench) -> Result<(), Fault> {
    let meter = meter(bench)?;
    let before = read_meter(bench, &meter)?;
    bench.accept(vec![modify(meter_cell(&meter, 0, Some(METER)))])?;
    let set = read_meter(bench, &meter)?;
    bench.accept(vec![modify(meter_cell(&meter, 0, None))])?;
    let reset = read_meter(bench, &meter)?;
    if before.is_some() {
        bench.accept(vec![modify(meter_cell(&meter, 0, before))])?;
    }
    demand(set == Some(METER), || format!("the meter is {set:?} after it was set"))?;
    demand(reset.is_none(), || format!("the meter is {reset:?} after it was reset"))
}

fn meter_is_modified_only(bench: &mut Bench) -> Result<(), Fault> {
    let meter = meter(bench)?;
    for update in [insert, delete] {
        bench.refuse(update(meter_cell(&meter, 0, Some(METER))), &[Code::InvalidArgument])?;
    }
    Ok(())
}

fn meter_index(bench: &mut Bench) -> Result<(), Fault> {
    let meter = meter(bench)?;
    for (index, code) in wrong_indices(&meter) {
        bench.refuse(modify(meter_cell(&meter, index, Some(METER))), &[code])?;
    }
    Ok(())
}

fn value_set_is_modified_only(bench: &mut Bench) -> Result<(), Fault> {
    let value_set_id = bench.subject.value_sets.first().map(|set| set.id);
    let value_set_id = value_set_id.ok_or_else(|| lacks("value set"))?;
    let entry = v1::ValueSetEntry { value_set_id, members: Vec::new() };
    let entity = v1::Entity::from(entry);
    for update in [insert, delete] {
        bench.refuse(update(entity.clone()), &[Code::InvalidArgument])?;
    }
    Ok(())
}

fn register_index(bench: &mut Bench) -> Result<(), Fault> {
    let register = bench.subject.registers.iter().find(|register| register.size > 0).cloned();
    let register = register.ok_or_else(|| lacks("register"))?;
    for (index, code) in wrong_indices(&register) {
        let index = Some(v1::Index { index });
        let entry = v1::RegisterEntry { register_id: register.id, index, data: None };
        bench.refuse_read(vec![v1::Entity::from(entry)], &[code])?;
    }
    Ok(())
}

fn digest_is_configured(bench: &mut Bench) -> Result<(), Fault> {
    let digest_id = bench.subject.digests.first().copied().ok_or_else(|| lacks("digest"))?;
    let of = |config| v1::Entity {
        entity: Some(Kind::DigestEntry(v1::DigestEntry { digest_id, config })),
    };
    let read = |bench: &mut Bench| -> Result<Option<v1::digest_entry::Config>, Fault> {
        let found = bench.read(vec![of(None)])?;
        Ok(found.into_iter().find_map(|entity| match entity.entity {
            Some(Kind::DigestEntry(entry)) => entry.config,
            _ => None,
        }))
    };
    if read(bench)?.is_some() {
        return Err(Fault::NotApplicable("the digest is configured already".to_owned()));
    }
    let config = |max_list_size| v1::digest_entry::Config {
        max_timeout_ns: 1_000_000,
        max_list_size,
        ack_timeout_ns: 1_000_000_000,
    };
    bench.accept(vec![insert(of(Some(config(10))))])?;
    let found = read(bench)?;
    demand(found == Some(config(10)), || format!("the digest is {found:?} after INSERT"))?;
    // The section names no codes for these.
    bench.refuse(insert(of(Some(config(30)))), REFUSED)?;
    bench.accept(vec![modify(of(Some(config(20))))])?;
    let found = read(bench)?;
    demand(found == Some(config(20)), || format!("the digest is {found:?} after MODIFY"))?;
    bench.accept(vec![delete(of(Some(config(20))))])?;
    let found = read(bench)?;
    demand(found.is_none(), || "the digest is there after DELETE".to_owned())?;
    bench.refuse(modify(of(Some(config(20)))), REFUSED)
}
