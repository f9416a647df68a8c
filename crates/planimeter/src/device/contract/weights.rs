//! The costs that a device model has for the pieces of a program, as weights for the search of the
//! costliest paths.

use std::collections::HashMap;

use device::campaign::Picoseconds;
use device::program::{OwnParts, Parts};
use device::{Level, Model, SettingModel};
use ir::{Location, Program};
use symbolic::goals::{self, Goal, Key};

/// Returns the cost of each goal of a program in picoseconds, by its position. A part of the
/// program costs as much as the costliest function that contains it, so the sum for a path is above what
/// the model predicts, except for what a path repeats.
pub(crate) fn weights(
    program: &Program,
    goals: &[(Key, Goal)],
    model: &Model,
    under: &SettingModel,
    level: Level,
) -> Vec<i64> {
    let own = OwnParts::new(program);
    let cost = |parts: &Parts| {
        let Picoseconds(cost) = model.largest_cost(under, parts, level);
        cost
    };
    let mut statements: HashMap<Location, i64> = HashMap::new();
    for statement in goals::statements(program) {
        if let Some(at) = statement.location {
            let cost = cost(&own.of_statement(statement));
            let most = statements.entry(at).or_default();
            *most = cost.max(*most);
        }
    }
    let weight = |(key, _): &(Key, Goal)| match key {
        Key::Statement(at) => statements.get(at).copied().unwrap_or(0),
        Key::State(parser, state) => cost(&own.of_state(*parser, *state)),
        Key::Hit(table) | Key::Miss(table) => cost(&own.of_table(*table)),
        Key::Side(..) | Key::Case(..) | Key::Action(..) => 0,
    };
    goals.iter().map(weight).collect()
}
