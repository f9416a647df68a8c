//! Tests that generated programs use everything that the architecture files declare. The test fails
//! for a new extern that the grammar lacks.

use crate::differential::Case;
use p4lang::ast::{DeclarationId, DeclarationKind, ExpressionId, Program};
use p4lang::check::{Callee, Checked, Resolution, check};
use p4lang::diagnostic::Style;
use p4lang::preprocess::{MemoryFiles, Options};
use p4lang::{Parsed, parse_text};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};

/// The number of programs, which together must use everything.
const PROGRAMS: u64 = 2000;

/// The files of the architectures that machine code supports, with macros that change what they
/// declare.
const FILES: [&str; 9] = [
    "#define V1MODEL_VERSION 20180101\n#include <v1model.p4>",
    "#define V1MODEL_VERSION 20200408\n#include <v1model.p4>",
    "#include <psa.p4>",
    "#include <bmv2/psa.p4>",
    "#include <dpdk/psa.p4>",
    "#include <pna.p4>",
    "#include <bmv2/pna.p4>",
    "#include <tc/pna.p4>",
    "#include <dpdk/pna.p4>",
];

/// Declarations that have no effect on packets, each with the reason.
const IMPOSSIBLE: [(&str, &str); 2] = [
    (
        "static_assert/1",
        "it is decided when a program is compiled, and nothing of it is left to run",
    ),
    (
        "static_assert/2",
        "it is decided when a program is compiled, and nothing of it is left to run",
    ),
];

/// Returns the constructors, methods, functions and members of enumerations that a program
/// declares. A name has the architecture's package in front, and the number of parameters after it.
fn declared(program: &Program) -> BTreeMap<DeclarationId, String> {
    let mut all = BTreeMap::new();
    let packages = ["V1Switch", "PSA_Switch", "PNA_NIC"];
    let is_there = |package: &&&str| {
        program.declarations.iter().any(|declaration| declaration.name.as_str() == **package)
    };
    let package = packages.iter().find(is_there).expect("an architecture");
    for declaration in &program.declarations {
        let name = declaration.name.as_str();
        match &declaration.kind {
            DeclarationKind::ExternObject(object) => {
                for constructor in &object.constructors {
                    all.insert(constructor.id, format!("{name}/{}", constructor.parameters.len()));
                }
                for method in &object.methods {
                    let parameters = method.prototype.parameters.len();
                    all.insert(method.id, format!("{name}.{}/{parameters}", method.name.as_str()));
                }
            }
            DeclarationKind::ExternFunction(prototype)
            | DeclarationKind::Function { prototype, .. } => {
                all.insert(declaration.id, format!("{name}/{}", prototype.parameters.len()));
            }
            DeclarationKind::Enum { members, .. } => {
                all.extend(
                    members
                        .iter()
                        .map(|member| (member.id, format!("{name}.{}", member.name.as_str()))),
                );
            }
            _ => {}
        }
    }
    all.values_mut().for_each(|name| *name = format!("{package}: {name}"));
    all
}

fn parsed(text: &str) -> Parsed {
    let parsed = parse_text("generated.p4", text, &Options::default(), &MemoryFiles::new());
    assert_eq!(parsed.diagnostics.render(&parsed.sources, Style::Plain), "");
    parsed
}

/// Returns the declarations that a checked program uses.
fn used(program: &Program, checked: &Checked<'_>) -> BTreeSet<DeclarationId> {
    let mut used = BTreeSet::new();
    for expression in (0..program.expression_count).map(ExpressionId::new) {
        if let Some(Resolution::EnumMember(id) | Resolution::Method(id)) =
            checked.resolution(expression)
        {
            used.extend([*id]);
        }
        match checked.call(expression).map(|call| &call.callee) {
            Some(
                Callee::ExternFunction(id)
                | Callee::Function(id)
                | Callee::Method { method: id, .. },
            ) => used.extend([*id]),
            Some(Callee::Constructor { constructor, .. }) => used.extend(*constructor),
            _ => {}
        }
    }
    let instances = (0..program.declaration_count).map(DeclarationId::new);
    used.extend(instances.filter_map(|id| checked.instance(id)?.constructor));
    used
}

/// Returns a generated program that is never of the simple kind. The seed selects the architecture,
/// and whether the program uses the older version of its architecture file, so that successive
/// seeds cover all combinations.
fn case(seed: u64) -> Case {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut first = [[0, 2, 4][seed as usize % 3], seed as u32 / 3 % 2, 0].into_iter();
    Case::new(&mut |bound| first.next().unwrap_or_else(|| random.random_range(0..bound.max(1))), 0)
}

#[test]
fn generated_programs_use_all_that_architectures_declare() {
    let mut missing: BTreeSet<String> = FILES
        .iter()
        .flat_map(|file| {
            declared(&parsed(&format!("#include <core.p4>\n{file}\n")).program).into_values()
        })
        .collect();
    for (name, reason) in IMPOSSIBLE {
        let before = missing.len();
        missing.retain(|known| known.split_once(": ").is_none_or(|(_, known)| known != name));
        assert!(missing.len() < before, "{name} is not declared ({reason})");
    }
    assert!(missing.len() > 200, "the files have moved: {missing:?}");
    for seed in 1..=PROGRAMS {
        let case = case(seed);
        let mut parsed = parsed(&case.source.text());
        let checked = check(&parsed.program, &parsed.sources, &mut parsed.diagnostics);
        let names = declared(&parsed.program);
        for id in used(&parsed.program, &checked) {
            if let Some(name) = names.get(&id) {
                missing.remove(name);
            }
        }
        if missing.is_empty() {
            println!("all is used by the seeds up to {seed}");
            return;
        }
    }
    panic!("no generated program uses {missing:?}");
}
