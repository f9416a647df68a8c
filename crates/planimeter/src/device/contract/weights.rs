//! The costs of the parts of a program according to a device model, as weights with which the
//! costliest paths are searched for.

use std::collections::HashMap;

use device::campaign::Picoseconds;
use device::program::{OwnParts, Parts};
use device::{Level, Model, SettingModel};
use ir::{Location, Program};
use symbolic::goals::{self, Goal, Key};

/// Returns the cost of each goal (part of the program) in picoseconds. The cost of a part is that
/// of the costliest function of the model that contains it. The sum for a path is therefore at
/// least what the model predicts, except for parts that the path repeats.
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
