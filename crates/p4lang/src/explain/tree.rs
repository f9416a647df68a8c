//! The description of a program as a tree: its pipeline, headers, parsers, tables, actions, extern
//! instances and value sets.

use ir::{
    ActionId, Composite, CompositeKind, Excerpts, ExternId, ExternInstance, Package, PackageValue,
    Program, Replicas, Table, TableImplementation, Target, Transition, UpdateMethod,
};

/// A node of the tree: its label and its children.
struct Branch {
    label: String,
    children: Vec<Branch>,
}

impl Branch {
    fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), children: Vec::new() }
    }

    fn with(label: impl Into<String>, children: Vec<Self>) -> Self {
        Self { label: label.into(), children }
    }

    fn print(&self, text: &mut String, indent: &str) {
        for (position, child) in self.children.iter().enumerate() {
            let last = position + 1 == self.children.len();
            text.push_str(indent);
            text.push_str(if last { "└─ " } else { "├─ " });
            text.push_str(&child.label);
            text.push('\n');
            let deeper = if last { "   " } else { "│  " };
            child.print(text, &format!("{indent}{deeper}"));
        }
    }
}

pub(super) fn tree(program: &Program) -> String {
    let parts = Excerpts::new(program);
    let root = Branch::with(
        format!("{} program", architecture(program)),
        [
            section("pipeline", pipeline(program, &program.main)),
            section("headers", headers(program)),
            section("parsers", parsers(program, &parts)),
            section("tables", program.tables.iter().map(|t| table(program, t, &parts)).collect()),
            section("actions", actions(program)),
            section(
                "extern instances",
                program.externs.iter().map(|e| instance(program, e, &parts)).collect(),
            ),
            section("value sets", value_sets(program)),
        ]
        .into_iter()
        .flatten()
        .collect(),
    );
    let mut text = format!("{}\n", root.label);
    root.print(&mut text, "");
    text
}

fn architecture(program: &Program) -> &str {
    match &program.architecture {
        ir::Architecture::V1model => "v1model",
        ir::Architecture::Psa => "PSA",
        ir::Architecture::Pna => "PNA",
        ir::Architecture::Other(name) => name,
    }
}

fn section(name: &str, children: Vec<Branch>) -> Option<Branch> {
    (!children.is_empty()).then(|| Branch::with(name, children))
}

fn pipeline(program: &Program, package: &Package) -> Vec<Branch> {
    package
        .arguments
        .iter()
        .filter_map(|argument| {
            let name = &argument.name;
            Some(match &argument.value {
                PackageValue::Parser(id) => {
                    let parser = program.parsers.get(id.index()).map_or("?", |p| &p.name);
                    Branch::new(format!("{name}: parser {parser}"))
                }
                PackageValue::Control(id) => {
                    let control = program.controls.get(id.index()).map_or("?", |c| &c.name);
                    Branch::new(format!("{name}: control {control}"))
                }
                PackageValue::Extern(id) => {
                    Branch::new(format!("{name}: {}", instance_name(program, *id)))
                }
                PackageValue::Package(inner) => {
                    Branch::with(format!("{name}: {}", inner.name), pipeline(program, inner))
                }
                PackageValue::Value(_) => return None,
            })
        })
        .collect()
}

fn instance_name(program: &Program, id: ExternId) -> &str {
    program.externs.get(id.index()).map_or("?", |instance| &instance.name)
}

fn headers(program: &Program) -> Vec<Branch> {
    program
        .types
        .composites
        .iter()
        .filter(|composite| {
            matches!(composite.kind, CompositeKind::Header | CompositeKind::HeaderUnion)
        })
        .map(|composite| header(program, composite))
        .collect()
}

fn header(program: &Program, composite: &Composite) -> Branch {
    let widths = composite.fields.iter().map(|field| program.types.width_in_bits(field.type_id));
    let bits: u64 = widths.flatten().sum();
    let size = match (composite.kind, bits % 8) {
        (CompositeKind::HeaderUnion, _) => "one of".to_owned(),
        (_, 0) => format!("{} bytes", bits / 8),
        _ => format!("{bits} bits"),
    };
    let fields = composite
        .fields
        .iter()
        .map(|field| {
            let ty = field
                .user_type
                .and_then(|id| program.types.user_types.get(id.index()))
                .map_or_else(|| program.type_name(field.type_id), |user| user.name.clone());
            Branch::new(format!("{}: {ty}", field.name))
        })
        .collect();
    Branch::with(format!("{} ({size})", composite.name), fields)
}

fn parsers(program: &Program, parts: &Excerpts<'_>) -> Vec<Branch> {
    program
        .parsers
        .iter()
        .map(|parser| {
            let target = |target: Target| match target {
                Target::State(id) => {
                    parser.states.get(id.index()).map_or("?", |state| state.name.as_str())
                }
                Target::Accept => "accept",
                Target::Reject => "reject",
            };
            let states = parser
                .states
                .iter()
                .map(|state| match &state.transition {
                    Transition::Direct(to) => {
                        Branch::new(format!("{} → {}", state.name, target(*to)))
                    }
                    Transition::Select { subjects, cases } => {
                        let subjects: Vec<String> =
                            subjects.iter().map(|subject| parts.expression(subject)).collect();
                        let cases = cases
                            .iter()
                            .map(|case| {
                                let sets: Vec<String> =
                                    case.key_sets.iter().map(|set| parts.key_set(set)).collect();
                                Branch::new(format!(
                                    "{} → {}",
                                    sets.join(", "),
                                    target(case.target)
                                ))
                            })
                            .collect();
                        Branch::with(
                            format!("{} selects on {}", state.name, subjects.join(", ")),
                            cases,
                        )
                    }
                })
                .collect();
            Branch::with(&parser.name, states)
        })
        .collect()
}

fn table(program: &Program, table: &Table, parts: &Excerpts<'_>) -> Branch {
    let mut children = Vec::new();
    for key in &table.keys {
        children.push(Branch::new(format!(
            "key {}: {} {}",
            key.name,
            key.match_kind.name(),
            program.type_name(key.expression.type_id)
        )));
    }
    for reference in &table.actions {
        let only = |name: &str| reference.has_annotation(name);
        let scope = match (only("defaultonly"), only("tableonly")) {
            (true, _) => ", only as default",
            (_, true) => ", only in entries",
            _ => "",
        };
        children
            .push(Branch::new(format!("action {}{scope}", signature(program, reference.action))));
    }
    let constant = |is_const: bool| if is_const { "const " } else { "" };
    children.push(Branch::new(format!(
        "{}default {}",
        constant(table.default_action_is_const),
        parts.action_call(table, &table.default_action)
    )));
    if !table.entries.is_empty() {
        children.push(Branch::new(format!(
            "{} {}entries in the source",
            table.entries.len(),
            constant(table.entries_are_const)
        )));
    }
    if let Some(size) = table.size {
        children.push(Branch::new(format!("size {size}")));
    }
    match table.implementation {
        Some(TableImplementation::ActionProfile(id)) => {
            children.push(Branch::new(format!("action profile {}", instance_name(program, id))));
        }
        Some(TableImplementation::ActionSelector(id)) => {
            children.push(Branch::new(format!("action selector {}", instance_name(program, id))));
        }
        None => {}
    }
    for id in &table.direct_externs {
        let kind = program.externs.get(id.index()).map_or("?", |e| e.extern_type.name());
        children.push(Branch::new(format!("{kind} {}", instance_name(program, *id))));
    }
    if let Some(timeout) = &table.idle_timeout {
        children.push(Branch::new(format!("idle timeout {}", timeout.name())));
    }
    if table.add_on_miss {
        children.push(Branch::new("packets add entries on a miss"));
    }
    let references = table
        .actions
        .iter()
        .filter_map(|reference| program.actions.get(reference.action.index()))
        .any(|action| action.parameters.iter().any(|parameter| parameter.reference));
    if references {
        let update = match (table.storage.update, table.storage.replicas) {
            (UpdateMethod::Pointer, Replicas::Sharded) => "in a replica of their worker's own",
            (UpdateMethod::Pointer, _) => "in place",
            (UpdateMethod::Change, Replicas::Two) => "through two replicas",
            (UpdateMethod::Change, _) => "as the control plane does",
            (UpdateMethod::Digest, _) => "by a digest to a controller",
        };
        let lock = if table.storage.synchronised { ", a lock per entry" } else { "" };
        children.push(Branch::new(format!("packets write its entries {update}{lock}")));
    }
    Branch::with(&table.name, children)
}

fn signature(program: &Program, id: ActionId) -> String {
    let Some(action) = program.actions.get(id.index()) else { return "?".to_owned() };
    let parameters: Vec<String> = action
        .parameters
        .iter()
        .map(|parameter| {
            let reference = if parameter.reference { "@__ref " } else { "" };
            let direction = parameter
                .direction
                .map_or(String::new(), |direction| format!("{} ", direction.name()));
            let ty = program.type_name(parameter.type_id);
            format!("{reference}{direction}{}: {ty}", parameter.name)
        })
        .collect();
    format!("{}({})", action.name, parameters.join(", "))
}

fn actions(program: &Program) -> Vec<Branch> {
    (0_u32..)
        .zip(&program.actions)
        .map(|(position, _)| Branch::new(signature(program, ActionId(position))))
        .collect()
}

fn instance(program: &Program, instance: &ExternInstance, parts: &Excerpts<'_>) -> Branch {
    let types: Vec<String> =
        instance.type_arguments.iter().map(|ty| program.type_name(*ty)).collect();
    let types = if types.is_empty() { String::new() } else { format!("<{}>", types.join(", ")) };
    let arguments: Vec<String> = instance
        .arguments
        .iter()
        .map(|argument| {
            format!("{} = {}", argument.name, parts.value(argument.type_id, &argument.value))
        })
        .collect();
    Branch::new(format!(
        "{}{types} {}({})",
        instance.extern_type,
        instance.name,
        arguments.join(", ")
    ))
}

fn value_sets(program: &Program) -> Vec<Branch> {
    program
        .value_sets
        .iter()
        .map(|set| {
            let ty = program.type_name(set.type_id);
            Branch::new(format!("{}: {ty}, size {}", set.name, set.size))
        })
        .collect()
}
