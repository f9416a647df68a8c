//! The numbers and strings of translated types that entities contain. They are only collected when
//! the numbers of a type run out, to find numbers that can be reused.

use super::binding::BoundAction;
use super::shared::{Configuration, Shared};
use super::texts::Texts;
use crate::externs::ExternState;
use crate::table::{self, FieldMatch, Runs};
use crate::value::Value;
use entities::schema::{ActionProfileId, TranslatedTypeId};
use entities::{DataType, Entity, Used};

/// Visits all entities, and returns the numbers and strings of a translated type that they contain.
pub(super) fn used(shared: &Shared, configuration: &Configuration, of: TranslatedTypeId) -> Used {
    let mut used = Used::default();
    for (id, bound) in &shared.binding.tables {
        let Some(state) = shared.core.state.tables.get(bound.id.index()) else { continue };
        let keys: Vec<usize> = positions(&bound.keys, |key| {
            key.as_ref().is_some_and(|field| field.translated == Some(of))
        });
        let profiled =
            shared.schema.tables().get(*id).is_some_and(|table| table.implementation.is_some());
        let has_params = bound
            .actions
            .iter()
            .any(|action| action.params.iter().any(|param| param.translated == Some(of)));
        used_in_call(&bound.actions, &state.default().cell.call(), of, &mut used);
        if keys.is_empty() && !has_params && !profiled {
            continue;
        }
        for stored in state.iter() {
            for position in &keys {
                if let Some(FieldMatch::Exact(bits)) = stored.matches.get(*position) {
                    used.numbers.extend(bits.to_u128());
                }
            }
            let entry = stored.state();
            match &entry.runs {
                Runs::Action(cell) => {
                    cell.with_call(|call| used_in_call(&bound.actions, call, of, &mut used));
                }
                // Members and groups are entities of their own.
                Runs::Member(..) | Runs::Group(..) | Runs::OneShot(_) => {}
            }
            let one_shot = entry.note.as_ref().and_then(|note| note.one_shot.as_ref());
            if let Some(one_shot) = one_shot {
                texts_of(shared, of, &mut used, |texts| texts.of_one_shot(one_shot));
            }
        }
    }
    for (id, instance) in &shared.binding.profiles {
        if let Some(ExternState::Profile(profile)) = shared.core.state.externs.get(instance.index())
        {
            let members = profile.members().clone();
            let actions = actions_of_profile(shared, *id);
            for cell in members.values() {
                used_in_call(actions.iter().copied(), &cell.call(), of, &mut used);
            }
        }
    }
    for (id, instance) in &shared.binding.registers {
        let declared = shared.schema.registers().get(*id).filter(|one| one.data.has_text());
        let state = shared.core.state.externs.get(instance.index());
        if let (Some(declared), Some(ExternState::Register(register))) = (declared, state) {
            // Cells that nothing was written to contain the initial value.
            used_in_value(&declared.data, &register.initial, of, &mut used);
            let mut from = 0;
            loop {
                let some = register.cells.written_from(from);
                let Some((last, _)) = some.last() else { break };
                from = last.saturating_add(1);
                for (_, value) in &some {
                    used_in_value(&declared.data, value, of, &mut used);
                }
            }
        }
    }
    used_in_configuration(shared, configuration, of, &mut used);
    used
}

/// Adds the strings in entities that are stored exactly as a controller wrote them.
fn used_in_configuration(
    shared: &Shared,
    configuration: &Configuration,
    of: TranslatedTypeId,
    used: &mut Used,
) {
    texts_of(shared, of, used, |texts| {
        for group in configuration.profiles.values().flat_map(|profile| profile.groups.values()) {
            group.members.iter().for_each(|member| texts.of_watch(&member.watch));
        }
        configuration
            .multicast_groups
            .values()
            .for_each(|group| texts.of_replicas(&group.replicas));
        configuration
            .clone_sessions
            .values()
            .for_each(|session| texts.of_replicas(&session.replicas));
        for set in configuration.value_sets.values() {
            texts.of_entity(&Entity::ValueSet(set.clone()));
        }
    });
}

/// Adds the strings of type `of` to `used`. `visit` passes all strings of some entities to a
/// visitor.
fn texts_of(
    shared: &Shared,
    of: TranslatedTypeId,
    used: &mut Used,
    visit: impl FnOnce(&mut Texts<'_>),
) {
    let mut add = |found: TranslatedTypeId, text: &[u8]| {
        if found == of {
            used.texts.insert(text.into());
        }
    };
    visit(&mut Texts { shared, visit: &mut add });
}

fn actions_of_profile(shared: &Shared, profile: ActionProfileId) -> Vec<&BoundAction> {
    let declared = shared.schema.action_profiles().get(profile);
    let tables = declared.into_iter().flat_map(|profile| &profile.tables);
    let bound = tables.filter_map(|table| shared.binding.tables.get(table));
    bound.flat_map(|table| &table.actions).collect()
}

fn used_in_call<'a>(
    actions: impl IntoIterator<Item = &'a BoundAction>,
    call: &table::ActionCall,
    of: TranslatedTypeId,
    used: &mut Used,
) {
    let found = actions.into_iter().find(|action| action.of_program == call.action);
    let Some(action) = found else { return };
    for (param, value) in action.params.iter().zip(&call.arguments) {
        if param.translated == Some(of) {
            used.numbers.extend(value.to_pattern().and_then(|bits| bits.to_u128()));
        }
    }
}

fn used_in_value(declared: &DataType, value: &Value, of: TranslatedTypeId, used: &mut Used) {
    match (declared, value) {
        (DataType::Text(Some(found)), Value::Bits(bits)) if *found == of => {
            used.numbers.extend(bits.to_u128());
        }
        (DataType::Struct(types) | DataType::Tuple(types), Value::Struct(values)) => {
            let members = types.iter().zip(values);
            members.for_each(|(declared, value)| used_in_value(declared, value, of, used));
        }
        _ => {}
    }
}

fn positions<T>(list: &[T], is_wanted: impl Fn(&T) -> bool) -> Vec<usize> {
    list.iter().enumerate().filter(|(_, one)| is_wanted(one)).map(|(at, _)| at).collect()
}
