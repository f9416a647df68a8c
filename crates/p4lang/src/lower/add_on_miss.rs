//! Resolution of action names in calls of PNA's `add_entry`, which names an action of the table by
//! a string. The string is replaced by the action here, so that it need not be looked up for each
//! packet.

use ir::{
    Argument, Block, ExpressionKind, ExternCallee, ExternFunction, Program, StatementKind, Value,
};

/// Replaces the names of actions in calls of `add_entry` by the actions, in the default actions of
/// all tables with `add_on_miss`. A name that is not in the table's list of actions remains, and
/// such a call adds no entry. The checker refuses such names in source programs.
pub(super) fn resolve_added_actions(program: &mut Program) {
    for table in program.tables.iter().filter(|table| table.add_on_miss) {
        let listed: Vec<(ir::ActionId, String)> = table
            .actions
            .iter()
            .filter_map(|reference| {
                let action = program.actions.get(reference.action.index())?;
                Some((reference.action, action.name.clone()))
            })
            .collect();
        let named = |name: &str| {
            let is_it = |known: &str| known == name || known.rsplit('.').next() == Some(name);
            listed.iter().find(|(_, known)| is_it(known)).map(|(id, _)| *id)
        };
        let default = table.actions.get(table.default_action.position as usize);
        let Some(default) = default else { continue };
        if let Some(action) = program.actions.get_mut(default.action.index()) {
            resolve_in(&mut action.body, &named);
        }
    }
}

/// Replaces the names in a block and in the blocks inside it.
fn resolve_in(block: &mut Block, named: &dyn Fn(&str) -> Option<ir::ActionId>) {
    for statement in block {
        match &mut statement.kind {
            StatementKind::CallExtern {
                callee: ExternCallee::Function(function),
                arguments,
                ..
            } => {
                let position = match function {
                    ExternFunction::AddEntry => 0,
                    ExternFunction::AddEntryIf => 1,
                    _ => continue,
                };
                if let Some(argument) = arguments.get_mut(position)
                    && let Argument::In(expression) = &*argument
                    && let ExpressionKind::Constant(Value::String(name)) = &expression.kind
                    && let Some(action) = named(name)
                {
                    *argument = Argument::Action(action);
                }
            }
            StatementKind::If { then, otherwise, .. } => {
                resolve_in(then, named);
                resolve_in(otherwise, named);
            }
            StatementKind::Switch { cases, default, .. } => {
                cases.iter_mut().for_each(|case| resolve_in(&mut case.body, named));
                resolve_in(default, named);
            }
            StatementKind::For { before_condition, update, body, .. } => {
                for block in [before_condition, update, body] {
                    resolve_in(block, named);
                }
            }
            _ => {}
        }
    }
}
