//! The configuration that two programs share: the control plane writes the same entries into paired
//! tables, and the same contents into registers and sessions of the same name.

use super::tables::{Pair, Positions, TablePairs};
use crate::execute::{
    DefaultChoice, Execution, Lookup, Narrowing, has_exact_keys, keys_with_entries, limit_of,
    may_be_entry, several_keys,
};
use crate::term::{Term, Terms};
use ir::{ExternId, ExternType, Program, Table, TableId, TableImplementation, Value};
use std::collections::BTreeSet;

/// One of the two programs, with its execution.
type Side<'e> = (&'e Program, &'e Execution);

/// The outcome of a lookup, or a default action, in one program.
struct Outcome<'e> {
    exists: Term,
    action: Term,
    data: &'e [Vec<Term>],
}

impl<'e> From<&'e Lookup> for Outcome<'e> {
    fn from(lookup: &'e Lookup) -> Self {
        Self { exists: lookup.hit, action: lookup.action, data: &lookup.data }
    }
}

impl<'e> From<&'e DefaultChoice> for Outcome<'e> {
    fn from(choice: &'e DefaultChoice) -> Self {
        Self { exists: choice.changed, action: choice.action, data: &choice.data }
    }
}

/// The result of pairing the configurations of two programs.
pub(super) struct Paired {
    /// The conditions under which both programs have the same configuration.
    pub(super) assumed: Vec<Term>,
    /// The conditions under which two lookups, of the same program or of both, hit the same entry
    /// but select a member of its group by different values. The actions of the members may then be
    /// any, although a hash may select the same member. Tests have groups of one member, so they
    /// show no difference that needs several.
    pub(super) selected_apart: Vec<Term>,
    /// Conditions that hold for all tests, but not for all configurations.
    pub(super) narrowings: Vec<Narrowing>,
    /// The reasons why the programs may not be called equal, if they do not differ otherwise.
    pub(super) doubts: Vec<String>,
}

/// Returns the conditions under which both programs have the same configuration, with at most
/// `most` entries of the control plane in each table.
///
/// # Errors
///
/// Returns a reason if paired objects cannot have the same contents in both programs.
pub(super) fn pair(
    terms: &mut Terms,
    [first, second]: [Side<'_>; 2],
    tables: &TablePairs,
    most: Option<u64>,
) -> Result<Paired, String> {
    let mut paired = Paired {
        assumed: Vec::new(),
        selected_apart: Vec::new(),
        narrowings: Vec::new(),
        doubts: Vec::new(),
    };
    for pair in tables.all() {
        paired_table(terms, [first, second], pair, &mut paired)?;
    }
    limit_entries(terms, [first, second], tables, most, &mut paired);
    for side in [first, second] {
        selected_apart(terms, side, &mut paired.selected_apart)?;
    }
    for cell in &first.1.cells {
        for other in &second.1.cells {
            let name = |side: Side<'_>, id: ir::ExternId| {
                side.0.externs.get(id.index()).map(|instance| instance.name.clone())
            };
            if name(first, cell.register) != name(second, other.register) {
                continue;
            }
            if terms.width_of(cell.value) != terms.width_of(other.value) {
                return Err("a register has cells of other widths".to_owned());
            }
            let (index, other_index) =
                (terms.resize(cell.index, 64), terms.resize(other.index, 64));
            let same_cell = terms.equal(index, other_index);
            let same_value = terms.equal(cell.value, other.value);
            paired.assumed.push(terms.implies(same_cell, same_value));
        }
    }
    paired_copies(terms, [first.1, second.1], &mut paired.assumed)?;
    Ok(paired)
}

/// Adds the conditions under which two lookups of one program hit the same entry, but select a
/// member of its group by different values.
fn selected_apart(
    terms: &mut Terms,
    (program, execution): Side<'_>,
    apart: &mut Vec<Term>,
) -> Result<(), String> {
    for (position, lookup) in execution.lookups.iter().enumerate() {
        let Some(table) = program.tables.get(lookup.table.index()) else { continue };
        if table.keys.iter().all(|key| key.match_kind != ir::MatchKind::Selector) {
            continue;
        }
        let earlier = execution.lookups.iter().take(position);
        for other in earlier.filter(|other| other.table == lookup.table) {
            let (same, selects_same) = same_keys(terms, [table, table], lookup, other)?;
            let selects_other = terms.not(selects_same);
            let here = [lookup.on, other.on, lookup.hit, same, selects_other];
            apart.push(terms.all(&here));
        }
    }
    Ok(())
}

/// Adds the conditions under which clone sessions and multicast groups with the same number have
/// the same member in both programs.
fn paired_copies(
    terms: &mut Terms,
    [left, right]: [&Execution; 2],
    assumed: &mut Vec<Term>,
) -> Result<(), String> {
    let mut paired = BTreeSet::new();
    for one in &left.copies {
        for other in right.copies.iter().filter(|other| other.is_group == one.is_group) {
            if one.member.widths(terms) != other.member.widths(terms) {
                return Err("the programs have ports of different widths".to_owned());
            }
            // Most copies of a packet in several layouts go to the same session.
            if paired.insert((one.is_group, one.number, other.number)) {
                let same = terms.equal(one.number, other.number);
                let equal = one.member.equal(terms, &other.member);
                assumed.push(terms.implies(same, equal));
            }
        }
    }
    Ok(())
}

/// Adds the conditions under which a table has the same entries and default action in both
/// programs.
fn paired_table(
    terms: &mut Terms,
    sides: [Side<'_>; 2],
    pair: &Pair,
    paired: &mut Paired,
) -> Result<(), String> {
    let ids = pair.tables;
    let table = |side: usize| sides[side].0.tables.get(ids[side].index());
    let (Some(left), Some(right)) = (table(0), table(1)) else { return Ok(()) };
    let tables = [left, right];
    let Paired { assumed, selected_apart, narrowings: _, doubts } = paired;
    let of = |side: usize| sides[side].1.lookups.iter().filter(move |one| one.table == ids[side]);
    let both_used = of(0).next().is_some() && of(1).next().is_some();
    if !both_used {
        return Ok(());
    }
    if left.entries.is_empty() != right.entries.is_empty() {
        return Err(format!("{} has entries in the source of one program only", left.name));
    }
    let programs = [sides[0].0, sides[1].0];
    if !have_same_selector(programs, tables) {
        return Err(format!("{} has another action profile in the second program", left.name));
    }
    let actions = pair.actions(programs);
    let mut common: Option<Vec<Positions>> = None;
    if left.entries.is_empty() {
        for lookup in of(0) {
            for other in of(1) {
                let (same, selects_same) = same_keys(terms, tables, lookup, other)?;
                let selects_other = terms.not(selects_same);
                let apart = [lookup.on, other.on, lookup.hit, same, selects_other];
                selected_apart.push(terms.all(&apart));
                let positions = shared_actions(terms, &actions, (&lookup.data, &other.data));
                let (outcome, other) = (Outcome::from(lookup), Outcome::from(other));
                let exist = terms.equal(outcome.exists, other.exists);
                assumed.push(terms.implies(same, exist));
                let equal = same_outcome(terms, &outcome, &other, &positions);
                let same = terms.and(same, selects_same);
                assumed.push(terms.implies(same, equal));
                common = Some(positions);
            }
        }
        let positions = common.unwrap_or_default();
        for (first, second) in actions.iter().filter(|one| !positions.contains(*one)) {
            let name = |side: usize, position: usize| {
                let reference = tables[side].actions.get(position);
                let action =
                    reference.and_then(|one| sides[side].0.actions.get(one.action.index()));
                action.map_or_else(String::new, |action| action.name.clone())
            };
            doubts.push(format!(
                "{} of {} and {} of {} have parameters of different widths",
                name(0, *first),
                left.name,
                name(1, *second),
                right.name
            ));
        }
        let (first, second): (Vec<usize>, Vec<usize>) = positions.into_iter().unzip();
        for lookup in of(0) {
            assumed.push(is_one_of(terms, &lookup.into(), &first));
        }
        for lookup in of(1) {
            assumed.push(is_one_of(terms, &lookup.into(), &second));
        }
    }
    let choices = [sides[0].1.defaults.get(&ids[0]), sides[1].1.defaults.get(&ids[1])];
    match choices {
        [Some(choice), Some(other)] => {
            let positions = shared_actions(terms, &actions, (&choice.data, &other.data));
            let (outcome, other) = (Outcome::from(choice), Outcome::from(other));
            assumed.push(same_outcome(terms, &outcome, &other, &positions));
            let first: Vec<usize> = positions.iter().map(|(first, _)| *first).collect();
            assumed.push(is_one_of(terms, &outcome, &first));
        }
        [Some(choice), None] | [None, Some(choice)] => assumed.push(terms.not(choice.changed)),
        [None, None] => {}
    }
    Ok(())
}

/// Limits the entries that lookups of both programs hit in paired tables: the control plane writes
/// the same entries into both, of which each has room for all of them.
///
/// If packets add entries to a table, it has only entries that packets look up when the first one
/// arrives, since tests of two programs fill no table.
fn limit_entries(
    terms: &mut Terms,
    sides: [Side<'_>; 2],
    tables: &TablePairs,
    most: Option<u64>,
    paired: &mut Paired,
) {
    let of = |side: usize, id: TableId| {
        let lookups = sides[side].1.lookups.iter();
        lookups.filter(move |one| one.table == id && one.is_free)
    };
    for pair in tables.all() {
        let ids = pair.tables;
        let table = |side: usize| sides[side].0.tables.get(ids[side].index());
        let (Some(left), Some(right)) = (table(0), table(1)) else { continue };
        let lookups: Vec<&Lookup> = of(0, ids[0]).chain(of(1, ids[1])).collect();
        let is_compared = of(0, ids[0]).next().is_some() && of(1, ids[1]).next().is_some();
        let limit = limit_of(terms, &[left, right], most, lookups.len());
        let (true, Some(limit)) = (is_compared, limit) else { continue };
        let keys = keys_with_entries(terms, left, &lookups);
        let holds = terms.less_or_equal(keys, limit);
        if has_exact_keys(left) {
            paired.assumed.push(holds);
        } else {
            paired.narrowings.push(Narrowing { holds, without: several_keys(left) });
        }
    }
    for (side, (program, execution)) in sides.into_iter().enumerate() {
        for (id, room) in &execution.rooms {
            let Some(table) = program.tables.get(id.index()) else { continue };
            let other = tables.of(side, *id).map(|pair| pair.tables[1 - side]);
            let lookups = of(side, *id).chain(other.into_iter().flat_map(|id| of(1 - side, id)));
            let lookups: Vec<&Lookup> = lookups.collect();
            if table.entries.is_empty() {
                let keys = keys_with_entries(terms, table, &lookups);
                let holds = terms.equal(keys, room.written);
                let without = format!("entries of {} that no packet looks up", table.name);
                paired.narrowings.push(Narrowing { holds, without });
                if has_exact_keys(table) {
                    paired.assumed.push(terms.less_or_equal(keys, room.written));
                }
            }
        }
    }
}

/// Returns in words the configurations that a comparison leaves out: entries and default actions
/// that only one of two paired tables can have, and copies with several members.
pub(super) fn left_out(sides: [Side<'_>; 2], tables: &TablePairs) -> Vec<String> {
    let mut without = Vec::new();
    let programs = [sides[0].0, sides[1].0];
    for pair in tables.all() {
        let ids = pair.tables;
        let table = |side: usize| programs[side].tables.get(ids[side].index());
        let (Some(left), Some(right)) = (table(0), table(1)) else { continue };
        let is_used = |side: usize| sides[side].1.lookups.iter().any(|one| one.table == ids[side]);
        if !is_used(0) || !is_used(1) {
            continue;
        }
        let shared = pair.actions(programs);
        for (side, table) in [left, right].into_iter().enumerate() {
            if !table.entries.is_empty() {
                continue;
            }
            for (position, reference) in table.actions.iter().enumerate() {
                let is_shared = shared.iter().any(|pair| [pair.0, pair.1][side] == position);
                let action = programs[side].actions.get(reference.action.index());
                if let (false, true, Some(action)) = (is_shared, may_be_entry(reference), action) {
                    let (action, of) = (&action.name, &table.name);
                    without.push(format!("entries of {of} with {action}, which one program has"));
                }
            }
        }
        let is_const = [left, right].map(|table| table.default_action_is_const);
        if is_const[0] != is_const[1] {
            let name = &left.name;
            without.push(format!("another default action of {name}, constant in one program"));
        }
    }
    if sides.iter().any(|(_, execution)| !execution.copies.is_empty()) {
        without.push("clone sessions and multicast groups of several members".to_owned());
    }
    let has_meters = |program: &Program| {
        let mut externs = program.externs.iter();
        externs
            .any(|one| matches!(one.extern_type, ExternType::V1Meter | ExternType::V1DirectMeter))
    };
    if programs.into_iter().any(has_meters) {
        without.push("meters that do not mark all packets green".to_owned());
    }
    without
}

/// Returns whether two tables take their actions from action profiles or selectors that are
/// declared in the same way.
fn have_same_selector(programs: [&Program; 2], [left, right]: [&Table; 2]) -> bool {
    use TableImplementation as Of;
    let arguments = |program: &Program, id: ExternId| -> Vec<Value> {
        let instance = program.externs.get(id.index());
        let arguments = instance.into_iter().flat_map(|instance| &instance.arguments);
        arguments.map(|argument| argument.value.clone()).collect()
    };
    match (&left.implementation, &right.implementation) {
        (None, None) | (Some(Of::ActionProfile(_)), Some(Of::ActionProfile(_))) => true,
        (Some(Of::ActionSelector(left)), Some(Of::ActionSelector(right))) => {
            arguments(programs[0], *left) == arguments(programs[1], *right)
        }
        (None | Some(Of::ActionProfile(_) | Of::ActionSelector(_)), _) => false,
    }
}

/// Returns two conditions: that two lookups have the same key, and that they select a member of a
/// group by the same values.
fn same_keys(
    terms: &mut Terms,
    [left, right]: [&Table; 2],
    lookup: &Lookup,
    other: &Lookup,
) -> Result<(Term, Term), String> {
    let kinds = |table: &Table| -> Vec<ir::MatchKind> {
        table.keys.iter().map(|key| key.match_kind.clone()).collect()
    };
    let widths = |lookup: &Lookup| -> Vec<u32> {
        lookup.keys.iter().map(|key| terms.width_of(*key)).collect()
    };
    if kinds(left) != kinds(right) || widths(lookup) != widths(other) {
        return Err(format!("{} has other keys in the second program", left.name));
    }
    let mut same = terms.truth(true);
    let mut selects_same = terms.truth(true);
    for ((key, of), other) in left.keys.iter().zip(&lookup.keys).zip(&other.keys) {
        let equal = terms.equal(*of, *other);
        let all =
            if key.match_kind == ir::MatchKind::Selector { &mut selects_same } else { &mut same };
        *all = terms.and(*all, equal);
    }
    Ok((same, selects_same))
}

/// Returns those of the paired actions whose parameters have the same widths.
fn shared_actions(
    terms: &Terms,
    actions: &[Positions],
    data: (&[Vec<Term>], &[Vec<Term>]),
) -> Vec<Positions> {
    let widths = |data: Option<&Vec<Term>>| -> Option<Vec<u32>> {
        Some(data?.iter().map(|term| terms.width_of(*term)).collect())
    };
    let are_alike = |(first, second): &Positions| {
        let (left, right) = (widths(data.0.get(*first)), widths(data.1.get(*second)));
        left.is_some() && left == right
    };
    actions.iter().copied().filter(are_alike).collect()
}

/// Returns the condition under which two outcomes run the same action with the same arguments, or
/// do not exist.
fn same_outcome(
    terms: &mut Terms,
    outcome: &Outcome<'_>,
    other: &Outcome<'_>,
    positions: &[Positions],
) -> Term {
    let mut same = terms.equal(outcome.exists, other.exists);
    for (first, second) in positions {
        let (runs, other_runs) =
            (runs(terms, outcome.action, *first), runs(terms, other.action, *second));
        let both = terms.equal(runs, other_runs);
        same = terms.and(same, both);
        let data = (outcome.data.get(*first), other.data.get(*second));
        let (Some(left), Some(right)) = data else { continue };
        for (left, right) in left.iter().zip(right) {
            let equal = terms.equal(*left, *right);
            let equal = terms.implies(runs, equal);
            same = terms.and(same, equal);
        }
    }
    same
}

/// Returns the condition that, if an outcome exists, its action is one of those at these positions.
fn is_one_of(terms: &mut Terms, outcome: &Outcome<'_>, positions: &[usize]) -> Term {
    let mut any = terms.truth(false);
    for position in positions {
        let runs = runs(terms, outcome.action, *position);
        any = terms.or(any, runs);
    }
    terms.implies(outcome.exists, any)
}

fn runs(terms: &mut Terms, action: Term, position: usize) -> Term {
    let wanted = terms.number(terms.width_of(action), position as u128);
    terms.equal(action, wanted)
}
