//! Generation of P4Info from the IR. P4Info describes a program to its control plane.
//!
//! The messages are the same as those that p4c writes with `--p4runtime-files`, including
//! identifiers, aliases, annotations and order, so a controller that was built with p4c's P4Info
//! works unchanged. The rules are those of the P4Runtime specification (section 6), and where it
//! leaves a choice, those of p4c's `control-plane` directory.
//!
//! ```text
//! reach      what is used, in p4c's order
//! symbols    names -> identifiers, aliases
//! objects    tables, actions, externs, headers, value sets
//! types      type_info
//! package    pkg_info
//! entries    const entries -> WriteRequest
//! ```

mod annotations;
mod bytes;
mod entries;
mod fault;
mod objects;
mod package;
mod reach;
mod symbols;
mod types;

use p4runtime::proto::config::P4Info;
use p4runtime::proto::v1::entity::Entity;
use p4runtime::proto::v1::{TableEntry, WriteRequest};

use self::annotations::{control_plane_name, find};
use self::fault::Faults;
pub use self::fault::{P4InfoError, P4InfoErrorKind};
use self::objects::{Builder, role};
use self::reach::{Reach, reach};
use self::symbols::{Collector, Kind, Symbols};
use self::types::{TypeCollector, composite_name};
use crate::diagnostic::{Diagnostic, Style};
use crate::source::SourceMap;
use ir::{Architecture, CompositeKind, Location, Program, TypeId};

/// Generates the P4Info of `program`.
///
/// # Errors
/// Returns all faults that were found, in the order of the program.
pub fn generate(program: &Program) -> Result<P4Info, Vec<P4InfoError>> {
    let Prepared { reach, symbols, digests, errors } = prepare(program)?;
    let mut builder = Builder {
        program,
        symbols: &symbols,
        types: TypeCollector::new(program),
        info: P4Info::default(),
        errors,
        digests,
    };
    builder.actions(&reach);
    builder.tables(&reach);
    builder.instances();
    builder.digest_calls();
    builder.controller_headers();
    builder.value_sets(&reach);
    let Builder { types, mut info, mut errors, .. } = builder;
    errors.at(None);
    info.pkg_info = has_main(program).then(|| package::package_info(program, &mut errors));
    info.type_info = has_type_info(program, &reach, &info).then(|| types.finish());
    errors.at(None);
    duplicates(program, &info, &mut errors);
    if errors.is_empty() { Ok(info) } else { Err(errors.found) }
}

/// Formats errors of a program as text that ends with a line break. If `sources` contains the
/// location of an error, the error is printed with its source line and a caret. For an error
/// without a location, `name` is printed in its place.
pub fn render(
    program: &Program,
    errors: &[P4InfoError],
    sources: &SourceMap,
    name: &str,
    style: Style,
) -> String {
    let mut text = String::new();
    for error in errors {
        let place = error.location.and_then(|location| {
            let file = program.files.get(location.file as usize)?;
            Some((file.as_str(), location.line, location.column))
        });
        let span = place.and_then(|(file, line, column)| sources.word_at(file, line, column));
        text += &match (span, place) {
            (Some(span), _) => {
                Diagnostic::error("p4info", span, error.to_string()).render(sources, style)
            }
            (None, Some((file, line, column))) => {
                format!("{file}:{line}:{column}: error[p4info]: {error}\n")
            }
            (None, None) => format!("{name}: error[p4info]: {error}\n"),
        };
    }
    text
}

/// Returns the errors for which a program is refused even if its P4Info is not requested. They
/// concern annotations and types that controllers see.
///
/// Two kinds of errors are not included, because p4c compiles programs that have them unless their
/// P4Info is requested. These are duplicate names, and value sets of structs with fields that are
/// not `bit<W>`. Returns no errors for architectures other than v1model, PSA and PNA.
pub fn faults(program: &Program) -> Vec<P4InfoError> {
    if let Architecture::Other(_) = program.architecture {
        return Vec::new();
    }
    let mut faults = generate(program).err().unwrap_or_default();
    faults.retain(|fault| {
        !matches!(
            fault.kind,
            P4InfoErrorKind::Program(_)
                | P4InfoErrorKind::ValueSetField { .. }
                | P4InfoErrorKind::DuplicateName { .. }
                | P4InfoErrorKind::DuplicateKey { .. }
        )
    });
    faults
}

/// Converts the table entries that `program` declares to a write request, like p4c's option
/// `--p4runtime-entries-files`.
///
/// # Errors
/// Returns all faults that were found, including those of the program's P4Info.
pub fn entries(program: &Program) -> Result<WriteRequest, Vec<P4InfoError>> {
    let Prepared { reach, symbols, mut errors, .. } = prepare(program)?;
    let request = entries::write_request(program, &reach, &symbols, &mut errors);
    if errors.is_empty() { Ok(request) } else { Err(errors.found) }
}

/// Returns the table entries that `program` declares as messages, each with its location.
pub(crate) fn located_entries(
    program: &Program,
) -> Result<Vec<(Option<Location>, TableEntry)>, Vec<P4InfoError>> {
    let request = entries(program)?;
    let messages = request.updates.into_iter().filter_map(|update| match update.entity?.entity? {
        Entity::TableEntry(entry) => Some(entry),
        _ => None,
    });
    let reach = reach(program);
    let tables = reach.tables.iter().filter_map(|id| program.tables.get(id.index()));
    let locations = tables.flat_map(|table| table.entries.iter().map(|entry| entry.location));
    Ok(locations.zip(messages).collect())
}

/// The inputs of [`generate`] and [`entries()`], which result from an analysis of the whole
/// program.
struct Prepared {
    reach: Reach,
    symbols: Symbols,
    digests: Vec<(TypeId, String)>,
    errors: Faults,
}

/// Collects the reachable objects and assigns their identifiers and aliases.
fn prepare(program: &Program) -> Result<Prepared, Vec<P4InfoError>> {
    program.validate().map_err(|violation| vec![P4InfoErrorKind::from(violation).into()])?;
    if let Architecture::Other(name) = architecture(program)
        && has_main(program)
    {
        return Err(vec![P4InfoErrorKind::Architecture(name.clone()).into()]);
    }
    let mut errors = Faults::default();
    let mut names = Collector::default();
    let reach = reach(program);
    for action in reach.actions.iter().filter_map(|id| program.actions.get(id.index())) {
        errors.at(action.location);
        names.add(Kind::Action, &action.name, &action.annotations, &mut errors);
    }
    for table in reach.tables.iter().filter_map(|id| program.tables.get(id.index())) {
        errors.at(table.location);
        names.add(Kind::Table, &table.name, &table.annotations, &mut errors);
    }
    for instance in &program.externs {
        if let Some(kind) = role(program, instance) {
            errors.at(instance.location);
            names.add(kind, &instance.name, &instance.annotations, &mut errors);
        }
    }
    for set in reach.value_sets.iter().filter_map(|id| program.value_sets.get(id.index())) {
        errors.at(set.location);
        names.add(Kind::ValueSet, &set.name, &set.annotations, &mut errors);
    }
    for composite in &program.types.composites {
        if composite.kind == CompositeKind::Header
            && find(&composite.annotations, "controller_header").is_some()
        {
            let name = control_plane_name(&composite.annotations, &composite.name);
            errors.at(composite.location);
            names.add(Kind::ControllerHeader, name, &composite.annotations, &mut errors);
        }
    }
    let digests = digests(program, &reach);
    for (_, name) in &digests {
        names.add(Kind::Digest, name, &[], &mut errors);
    }
    Ok(Prepared { reach, symbols: names.finish(), digests, errors })
}

/// Returns the digests that a v1model program sends, each as the type of its data and its name. The
/// name is that of the type. A call of `digest` whose data has no named type is a separate digest,
/// with a name such as `digest_0`.
fn digests(program: &Program, reach: &Reach) -> Vec<(TypeId, String)> {
    let mut unnamed = 0_usize;
    let mut digests: Vec<(TypeId, String)> = Vec::new();
    for ty in &reach.digests {
        let name = match program.types.composite(*ty) {
            Some(composite) if composite.kind != CompositeKind::Tuple => {
                composite_name(program, composite)
            }
            _ => {
                unnamed += 1;
                format!("digest_{}", unnamed - 1)
            }
        };
        if digests.iter().all(|(_, other)| *other != name) {
            digests.push((*ty, name));
        }
    }
    digests
}

/// Returns the architecture for which P4Info is written. p4c has a command-line option for it.
/// Here, it is the built-in architecture whose externs the program includes, even if the program
/// declares its own package.
fn architecture(program: &Program) -> &Architecture {
    program.included.as_ref().unwrap_or(&program.architecture)
}

/// Returns whether the program has a `main`. If it has none, the name of its architecture is empty.
fn has_main(program: &Program) -> bool {
    !matches!(&program.architecture, Architecture::Other(name) if name.is_empty())
}

/// Returns whether p4c writes the message `type_info` for the program, which may be empty. p4c adds
/// the message when it looks up a type, as it does for each extern object with a name.
fn has_type_info(program: &Program, reach: &Reach, info: &P4Info) -> bool {
    program.externs.iter().any(|instance| instance.name != instance.extern_type.name())
        || !info.tables.is_empty()
        || info.actions.iter().any(|action| !action.params.is_empty())
        || info.controller_packet_metadata.iter().any(|header| !header.metadata.is_empty())
        || *architecture(program) == Architecture::V1model && reach.calls_extern_functions
}

/// Reports objects of the same kind that have the same name.
fn duplicates(program: &Program, info: &P4Info, errors: &mut Faults) {
    // Of the objects with the same name, the last one is reported, since the first one may keep the
    // name.
    let table = |name: &str| {
        let mut tables = program.tables.iter().rev();
        tables.find(|table| table.name == name).and_then(|table| table.location)
    };
    let instance = |name: &str| {
        let mut instances = program.externs.iter().rev();
        instances.find(|instance| instance.name == name).and_then(|instance| instance.location)
    };
    let value_set = |name: &str| {
        let mut sets = program.value_sets.iter().rev();
        sets.find(|set| set.name == name).and_then(|set| set.location)
    };
    let composite = |name: &str| {
        let mut composites = program.types.composites.iter().rev();
        let named = |composite: &&ir::Composite| {
            let controller = find(&composite.annotations, "controller_header");
            let controller = controller.and_then(ir::Annotation::single_string);
            controller == Some(name)
                || control_plane_name(&composite.annotations, &composite.name) == name
        };
        composites.find(named).and_then(|composite| composite.location)
    };
    macro_rules! check {
        ($($field:ident: $kind:literal, $place:ident),* $(,)?) => {$(
            let mut seen = std::collections::BTreeSet::new();
            for name in info.$field.iter().filter_map(|object| Some(&object.preamble.as_ref()?.name)) {
                if !seen.insert(name) {
                    errors.at($place(name));
                    errors.push(P4InfoErrorKind::DuplicateName { kind: $kind, name: name.clone() });
                }
            }
        )*};
    }
    check! {
        tables: "tables", table,
        action_profiles: "action profiles", instance,
        counters: "counters", instance,
        direct_counters: "direct counters", instance,
        meters: "meters", instance,
        direct_meters: "direct meters", instance,
        controller_packet_metadata: "controller headers", composite,
        value_sets: "value sets", value_set,
        registers: "registers", instance,
        digests: "digests", composite,
    }
}
