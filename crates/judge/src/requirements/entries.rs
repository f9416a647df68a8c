//! Requirements of sections 9.1, 9.1.1 and 9.1.2: table entries, their matches and actions.

use bytes::Bytes;
use protos::v1::{self, field_match::FieldMatchType as Match};
use tonic::Code;

use super::formatting::{BAD_VALUE, demand_same, with_match};
use super::{Trial, must, should};
use crate::bench::{Bench, REFUSED};
use crate::channel::name;
use crate::demands::{Fault, demand, lacks};
use crate::entities::{
    all_ones, bare_call, bytes, delete, insert, modify, of_entry, too_large, with_action,
};
use crate::subject::{Action, Kind, Param, Table};

pub(super) const ALL: &[Trial] = &[
    must("9.1", "valid-entry", "An entry whose values fit the P4Info is accepted.", valid_entry),
    must(
        "9.1",
        "priority-where-needed",
        "An entry of a table with ternary, range or optional fields has the priority 0: it is refused.",
        priority_where_needed,
    ),
    must(
        "9.1",
        "no-priority-elsewhere",
        "An entry of a table without such fields has a priority: it is refused.",
        no_priority_elsewhere,
    ),
    must(
        "9.1",
        "priority-is-part-of-the-key",
        "Entries with the same match and different priorities are different entries.",
        priority_is_part_of_the_key,
    ),
    must(
        "9.1",
        "delete-by-key",
        "A DELETE has nonsense in the fields beside the key: the entry is deleted.",
        delete_by_key,
    ),
    must(
        "9.1",
        "no-entry-without-key-fields",
        "An entry is inserted into a table without key fields: it is refused.",
        no_entry_without_key_fields,
    ),
    must(
        "9.1",
        "no-constant-entry",
        "An entry is inserted or modified with is_const: it is refused.",
        no_constant_entry,
    ),
    must(
        "9.1",
        "metadata-is-returned",
        "The metadata of an entry is returned with it, byte by byte.",
        metadata_is_returned,
    ),
    must(
        "9.1.1",
        "unknown-field",
        "A match has a field that the table does not have: the update is refused.",
        unknown_field,
    ),
    must(
        "9.1.1",
        "missing-exact-field",
        "A match lacks an exact field: the update is refused.",
        missing_exact_field,
    ),
    must(
        "9.1.1",
        "field-without-match",
        "A field of a match has no value at all: the update is refused.",
        field_without_match,
    ),
    must(
        "9.1.1",
        "wrong-kind-of-match",
        "A field has a match of another kind than in the P4Info: the update is refused.",
        wrong_kind_of_match,
    ),
    should(
        "9.1.1",
        "field-twice",
        "A match has a field twice: the update is refused.",
        field_twice,
    ),
    must(
        "9.1.1",
        "field-left-out",
        "A field that is not exact is left out: it matches every value, and is left out when the entry is read.",
        field_left_out,
    ),
    must(
        "9.1.1",
        "prefix-length",
        "A prefix has the length 0 or less: the update is refused.",
        prefix_length,
    ),
    must(
        "9.1.1",
        "bits-behind-a-prefix",
        "A value has bits behind its prefix: the update is refused.",
        bits_behind_a_prefix,
    ),
    must(
        "9.1.1",
        "empty-mask",
        "A ternary match has an empty mask: the update is refused.",
        empty_mask,
    ),
    must(
        "9.1.1",
        "bits-outside-a-mask",
        "A ternary value has bits that its mask does not have: the update is refused.",
        bits_outside_a_mask,
    ),
    must(
        "9.1.1",
        "range-backwards",
        "A range begins behind its end: the update is refused.",
        range_backwards,
    ),
    must(
        "9.1.1",
        "range-of-everything",
        "A range has all values of its field: the update is refused, since the field has to be left out.",
        range_of_everything,
    ),
    must("9.1.2", "no-action", "An entry is inserted without an action: it is refused.", no_action),
    must(
        "9.1.2",
        "action-of-another-table",
        "An entry has an action that its table does not have: it is refused.",
        action_of_another_table,
    ),
    must(
        "9.1.2",
        "action-only-for-default",
        "An entry has an action that only the default entry may have: it is refused.",
        action_only_for_default,
    ),
    must(
        "9.1.2",
        "missing-parameter",
        "An action lacks a parameter: the update is refused.",
        missing_parameter,
    ),
    must(
        "9.1.2",
        "unknown-parameter",
        "An action has a parameter that it does not have in the P4Info: the update is refused.",
        unknown_parameter,
    ),
    must(
        "9.1.2",
        "parameter-too-large",
        "A parameter has more bits than in the P4Info: the update is refused.",
        parameter_too_large,
    ),
    must(
        "9.1.2",
        "parameter-without-bytes",
        "A parameter has a value without bytes: the update is refused.",
        parameter_without_bytes,
    ),
    must(
        "9.1.2",
        "member-without-a-profile",
        "An entry of a table without an action profile refers to a member or a group: it is refused.",
        member_without_a_profile,
    ),
    must(
        "9.1.2",
        "modify-without-action",
        "A MODIFY has no action: the entry keeps the one it has.",
        modify_without_action,
    ),
];

fn valid_entry(bench: &mut Bench) -> Result<(), Fault> {
    let refused = bench.refused_tables();
    if let Some((table, code)) = refused.first() {
        return Err(Fault::Broken(format!(
            "no table takes an entry; {table} answers {}",
            name(*code)
        )));
    }
    let table = bench.any_open_table()?;
    let entry = bench.entry(&table);
    bench.accept(vec![insert(of_entry(&entry))])?;
    bench.holds(&entry)
}

fn priority_where_needed(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.open_table("table whose entries have priorities", Table::has_priority)?;
    let entry = bench.entry(&table);
    let wrong = v1::TableEntry { priority: 0, ..entry.clone() };
    bench.refuse(insert(of_entry(&wrong)), REFUSED)?;
    bench.holds_no(&entry)
}

fn no_priority_elsewhere(bench: &mut Bench) -> Result<(), Fault> {
    let without = |table: &Table| !table.has_priority();
    let table = bench.open_table("table whose entries have no priorities", without)?;
    let entry = bench.entry(&table);
    let wrong = v1::TableEntry { priority: 1, ..entry.clone() };
    bench.refuse(insert(of_entry(&wrong)), REFUSED)?;
    bench.holds_no(&entry)
}

fn priority_is_part_of_the_key(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.open_table("table whose entries have priorities", Table::has_priority)?;
    let entry = bench.entry(&table);
    let with = |priority| v1::TableEntry { priority, ..entry.clone() };
    bench.accept(vec![insert(of_entry(&with(10)))])?;
    bench.accept(vec![insert(of_entry(&with(20)))])?;
    bench.refuse(modify(of_entry(&with(30))), &[Code::NotFound])?;
    bench.refuse(delete(of_entry(&with(30))), &[Code::NotFound])?;
    bench.holds(&with(10))?;
    bench.holds(&with(20))?;
    bench.holds_no(&with(30))
}

fn delete_by_key(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.any_open_table()?;
    let entry = bench.entry(&table);
    bench.accept(vec![insert(of_entry(&entry))])?;
    let params = vec![v1::action::Param { param_id: 99, value: Bytes::new() }];
    let mut nonsense = with_action(&entry, v1::Action { action_id: 0x01ff_ffff, params });
    nonsense.metadata = Bytes::from_static(b"x");
    bench.accept(vec![delete(of_entry(&nonsense))])?;
    bench.holds_no(&entry)
}

fn no_entry_without_key_fields(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.table("table without key fields that has an action", |table| {
        table.keys.is_empty()
            && !table.is_const
            && table.profile.is_none()
            && table.action().is_some()
    })?;
    let entry = crate::entities::entry(&table, 0);
    bench.refuse(insert(of_entry(&entry)), &[Code::InvalidArgument])
}

fn no_constant_entry(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.any_open_table()?;
    let entry = bench.entry(&table);
    let constant = v1::TableEntry { is_const: true, ..entry.clone() };
    bench.refuse(insert(of_entry(&constant)), &[Code::InvalidArgument])?;
    bench.holds_no(&entry)?;
    bench.accept(vec![insert(of_entry(&entry))])?;
    bench.refuse(modify(of_entry(&constant)), &[Code::InvalidArgument])?;
    bench.holds(&entry)
}

fn metadata_is_returned(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.any_open_table()?;
    let mut entry = bench.entry(&table);
    entry.metadata = Bytes::from_static(b"\x00\xffcookie");
    bench.accept(vec![insert(of_entry(&entry))])?;
    demand_same(bench.find(&entry)?, &entry)
}

fn unknown_field(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.any_open_table()?;
    let entry = bench.entry(&table);
    let mut wrong = entry.clone();
    wrong.r#match.push(v1::FieldMatch {
        field_id: 0x7fff_ffff,
        field_match_type: Some(Match::Exact(v1::field_match::Exact { value: bytes(1) })),
    });
    bench.refuse(insert(of_entry(&wrong)), REFUSED)?;
    bench.holds_no(&entry)
}

fn missing_exact_field(bench: &mut Bench) -> Result<(), Fault> {
    let table = table_with(bench, Kind::Exact)?;
    let id = table.key(Kind::Exact).map(|key| key.id);
    let mut wrong = bench.entry(&table);
    wrong.r#match.retain(|field| Some(field.field_id) != id);
    bench.refuse(insert(of_entry(&wrong)), REFUSED)
}

fn field_without_match(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.any_open_table()?;
    let mut wrong = bench.entry(&table);
    if let Some(field) = wrong.r#match.first_mut() {
        field.field_match_type = None;
    }
    bench.refuse(insert(of_entry(&wrong)), REFUSED)
}

fn wrong_kind_of_match(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.any_open_table()?;
    let entry = bench.entry(&table);
    let key = table.keys.first().cloned().ok_or_else(|| lacks("key field"))?;
    let matched = match key.kind {
        Kind::Exact => {
            Match::Lpm(v1::field_match::Lpm { value: bytes(1), prefix_len: key.bits.cast_signed() })
        }
        Kind::Lpm | Kind::Ternary | Kind::Range | Kind::Optional => {
            Match::Exact(v1::field_match::Exact { value: bytes(1) })
        }
    };
    let wrong = with_match(&entry, key.id, matched);
    bench.refuse(insert(of_entry(&wrong)), REFUSED)?;
    bench.holds_no(&entry)
}

fn field_twice(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.any_open_table()?;
    let mut wrong = bench.entry(&table);
    let again = wrong.r#match.first().cloned();
    wrong.r#match.extend(again);
    bench.refuse(insert(of_entry(&wrong)), REFUSED)
}

fn field_left_out(bench: &mut Bench) -> Result<(), Fault> {
    let has_other = |table: &Table| table.keys.iter().any(|key| key.kind != Kind::Exact);
    let table = bench.open_table("table with a field that is not exact", has_other)?;
    let left_out = table.keys.iter().find(|key| key.kind != Kind::Exact).map(|key| key.id);
    let mut entry = bench.entry(&table);
    entry.r#match.retain(|field| Some(field.field_id) != left_out);
    // The table may already contain an entry that matches everything.
    if entry.r#match.is_empty() && bench.find(&entry)?.is_some() {
        return Err(Fault::NotApplicable(
            "the table has an entry that matches everything".to_owned(),
        ));
    }
    bench.accept(vec![insert(of_entry(&entry))])?;
    demand_same(bench.find(&entry)?, &entry)?;
    bench.accept(vec![delete(of_entry(&entry))])
}

fn prefix_length(bench: &mut Bench) -> Result<(), Fault> {
    for prefix_len in [0, -1] {
        let prefix = v1::field_match::Lpm { value: bytes(0), prefix_len };
        refuse_match(bench, Kind::Lpm, |_| Match::Lpm(prefix.clone()))?;
    }
    Ok(())
}

fn bits_behind_a_prefix(bench: &mut Bench) -> Result<(), Fault> {
    refuse_match(bench, Kind::Lpm, |bits| {
        Match::Lpm(v1::field_match::Lpm { value: bytes(1), prefix_len: bits.cast_signed() - 1 })
    })
}

fn empty_mask(bench: &mut Bench) -> Result<(), Fault> {
    refuse_match(bench, Kind::Ternary, |_| {
        Match::Ternary(v1::field_match::Ternary { value: bytes(0), mask: bytes(0) })
    })
}

fn bits_outside_a_mask(bench: &mut Bench) -> Result<(), Fault> {
    refuse_match(bench, Kind::Ternary, |_| {
        Match::Ternary(v1::field_match::Ternary { value: bytes(1), mask: bytes(2) })
    })
}

fn range_backwards(bench: &mut Bench) -> Result<(), Fault> {
    refuse_match(bench, Kind::Range, |_| {
        Match::Range(v1::field_match::Range { low: bytes(2), high: bytes(1) })
    })
}

fn range_of_everything(bench: &mut Bench) -> Result<(), Fault> {
    refuse_match(bench, Kind::Range, |bits| {
        Match::Range(v1::field_match::Range { low: bytes(0), high: all_ones(bits) })
    })
}

/// Demands that the device refuses an entry with an invalid match. `matched` returns the match for
/// a key field of this kind, given the field's width, which is at least two bits.
fn refuse_match(
    bench: &mut Bench,
    kind: Kind,
    matched: impl Fn(u32) -> Match,
) -> Result<(), Fault> {
    let table = table_with(bench, kind)?;
    let key = table.key(kind).cloned().ok_or_else(|| lacks("such a field"))?;
    let entry = bench.entry(&table);
    let wrong = with_match(&entry, key.id, matched(key.bits));
    bench.refuse(insert(of_entry(&wrong)), &[Code::InvalidArgument])?;
    bench.holds_no(&entry)
}

/// Returns a table that accepts entries and has a key field of this kind with at least two bits.
fn table_with(bench: &Bench, kind: Kind) -> Result<Table, Fault> {
    let what = format!("table with a field of kind {kind:?} that takes entries").to_lowercase();
    bench.open_table(&what, |table| table.key(kind).is_some_and(|key| key.bits >= 2))
}

fn no_action(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.any_open_table()?;
    let entry = bench.entry(&table);
    let wrong = v1::TableEntry { action: None, ..entry.clone() };
    bench.refuse(insert(of_entry(&wrong)), REFUSED)?;
    bench.holds_no(&entry)
}

fn action_of_another_table(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.any_open_table()?;
    let own: Vec<u32> = table.actions.iter().map(|action| action.id).collect();
    let mut others = bench.subject.tables.iter().flat_map(|table| &table.actions);
    let like = own.first().copied().unwrap_or(0x0100_0000);
    let other = others.find(|action| !own.contains(&action.id)).map(|action| bare_call(action, 1));
    let other = other.unwrap_or_else(|| v1::Action {
        action_id: bench.subject.unused_id(like),
        ..Default::default()
    });
    let entry = bench.entry(&table);
    let wrong = with_action(&entry, other);
    bench.refuse(insert(of_entry(&wrong)), &[Code::InvalidArgument])?;
    bench.holds_no(&entry)?;
    bench.accept(vec![insert(of_entry(&entry))])?;
    bench.refuse(modify(of_entry(&wrong)), &[Code::InvalidArgument])?;
    bench.holds(&entry)
}

fn action_only_for_default(bench: &mut Bench) -> Result<(), Fault> {
    let is_only_default = |table: &Table| table.actions.iter().any(|action| !action.in_entries);
    let table = bench.open_table("action that only default entries may have", is_only_default)?;
    let action = table.actions.iter().find(|action| !action.in_entries);
    let action = action.map(|action| bare_call(action, 1)).ok_or_else(|| lacks("action"))?;
    let entry = bench.entry(&table);
    bench.refuse(insert(of_entry(&with_action(&entry, action))), &[Code::PermissionDenied])?;
    bench.holds_no(&entry)
}

fn missing_parameter(bench: &mut Bench) -> Result<(), Fault> {
    refuse_action(bench, &[Code::InvalidArgument], has_params, |wrong, _| {
        wrong.params.pop();
    })
}

fn unknown_parameter(bench: &mut Bench) -> Result<(), Fault> {
    refuse_action(bench, &[Code::InvalidArgument], has_params, |wrong, _| {
        wrong.params.push(v1::action::Param { param_id: 0x7fff_ffff, value: bytes(1) });
    })
}

fn parameter_too_large(bench: &mut Bench) -> Result<(), Fault> {
    refuse_action(bench, BAD_VALUE, has_numbers, |wrong, action| {
        if let Some(number) = action.params.iter().find(|param| is_number(param)) {
            set(wrong, number.id, &too_large(number.bits));
        }
    })
}

fn parameter_without_bytes(bench: &mut Bench) -> Result<(), Fault> {
    refuse_action(bench, BAD_VALUE, has_numbers, |wrong, action| {
        if let Some(number) = action.params.iter().find(|param| is_number(param)) {
            set(wrong, number.id, &Bytes::new());
        }
    })
}

fn has_params(action: &Action) -> bool {
    !action.params.is_empty()
}

fn has_numbers(action: &Action) -> bool {
    action.params.iter().any(is_number)
}

/// Returns whether the values of a parameter are plain numbers, which the device does not
/// translate.
fn is_number(param: &Param) -> bool {
    param.translated.is_none()
}

/// Sets the argument that a call passes for one parameter.
fn set(call: &mut v1::Action, id: u32, value: &Bytes) {
    for param in call.params.iter_mut().filter(|param| param.param_id == id) {
        param.value = value.clone();
    }
}

/// Demands that the device refuses an action that `change` has made invalid, both when an entry is
/// inserted with it and when a valid entry is modified to it. Not applicable if no table has an
/// action that satisfies `fits`.
fn refuse_action(
    bench: &mut Bench,
    codes: &[Code],
    fits: fn(&Action) -> bool,
    change: impl Fn(&mut v1::Action, &Action),
) -> Result<(), Fault> {
    let has_action = |table: &Table| table.action().is_some_and(fits);
    let table = bench.open_table("table whose actions have such parameters", has_action)?;
    let action = table.action().ok_or_else(|| lacks("action"))?;
    let mut wrong = bare_call(action, 1);
    change(&mut wrong, action);
    let entry = bench.entry(&table);
    let wrong = with_action(&entry, wrong);
    bench.refuse(insert(of_entry(&wrong)), codes)?;
    bench.holds_no(&entry)?;
    bench.accept(vec![insert(of_entry(&entry))])?;
    bench.refuse(modify(of_entry(&wrong)), codes)?;
    bench.holds(&entry)
}

fn member_without_a_profile(bench: &mut Bench) -> Result<(), Fault> {
    use v1::table_action::Type;
    let table = bench.any_open_table()?;
    let entry = bench.entry(&table);
    let set = v1::ActionProfileActionSet::default();
    for kind in [
        Type::ActionProfileMemberId(1),
        Type::ActionProfileGroupId(1),
        Type::ActionProfileActionSet(set),
    ] {
        let action = Some(v1::TableAction { r#type: Some(kind) });
        let wrong = v1::TableEntry { action, ..entry.clone() };
        bench.refuse(insert(of_entry(&wrong)), &[Code::InvalidArgument])?;
    }
    bench.holds_no(&entry)
}

fn modify_without_action(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.any_open_table()?;
    let entry = bench.entry(&table);
    bench.accept(vec![insert(of_entry(&entry))])?;
    let without = v1::TableEntry { action: None, ..entry.clone() };
    bench.accept(vec![modify(of_entry(&without))])?;
    let found = bench.find(&entry)?;
    demand(found.is_some_and(|found| found.action == entry.action), || {
        "the entry does not have its action afterwards".to_owned()
    })
}
