//! Compares this crate's protos with those that the P4 consortium publishes (PyPI package p4runtime
//! 1.6.0).
//!
//! The descriptors are compared in both directions: every message, field (name, number, type,
//! label, type name, oneof), enumeration value and service method. Anything that is not transmitted
//! is ignored: comments, options, JSON names and the order of declaration.
//!
//! `conformance/install.sh p4runtime-descriptors` fetches the published descriptors into
//! `conformance/.peers`, or below the directory in the environment variable PLANIMETER_PEERS.
//! Without them the comparison is skipped with a message, or fails if PLANIMETER_REQUIRE_PEERS is
//! 1.

use std::collections::BTreeMap;
use std::io::{Write as _, stderr};
use std::path::{Path, PathBuf};
use std::{env, fs};

use prost::Message as _;
use prost_types::{DescriptorProto, EnumDescriptorProto, FileDescriptorProto, FileDescriptorSet};
use protos::DESCRIPTORS;

/// The transmitted properties of descriptors, by the name of what they describe.
type Facts = BTreeMap<String, String>;

#[test]
fn our_protos_are_the_published_ones() {
    let Some(directory) = published() else {
        let message = "the published descriptors are not here; \
                       conformance/install.sh p4runtime-descriptors fetches them";
        let required = env::var("PLANIMETER_REQUIRE_PEERS").is_ok_and(|value| value == "1");
        assert!(!required, "{message}");
        // The test harness would hide the output of `eprintln!` when a test passes.
        writeln!(stderr(), "SKIPPED: our_protos_are_the_published_ones: {message}").unwrap();
        return;
    };
    let published: Vec<FileDescriptorProto> = fs::read_dir(&directory)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|file| file.extension().is_some_and(|extension| extension == "binpb"))
        .map(|file| {
            let bytes = fs::read(&file).unwrap();
            FileDescriptorProto::decode(bytes.as_slice())
                .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
        })
        .collect();
    let ours = FileDescriptorSet::decode(DESCRIPTORS).unwrap();

    let published = facts(&published);
    let ours = facts(&ours.file);
    assert!(
        published.len() > 500,
        "the published descriptors are complete: {} facts",
        published.len()
    );
    let missing: Vec<_> =
        published.iter().filter(|(name, fact)| ours.get(*name) != Some(fact)).collect();
    let extra: Vec<_> =
        ours.iter().filter(|(name, fact)| published.get(*name) != Some(fact)).collect();
    assert!(
        missing.is_empty() && extra.is_empty(),
        "published but not ours: {missing:#?}\nours but not published: {extra:#?}"
    );
}

#[test]
fn a_difference_is_found() {
    let ours = FileDescriptorSet::decode(DESCRIPTORS).unwrap().file;
    let mut changed = ours.clone();
    let file = changed.iter_mut().find(|file| file.name() == "p4/v1/p4runtime.proto").unwrap();
    let message =
        file.message_type.iter_mut().find(|message| message.name() == "TableEntry").unwrap();
    let field = message.field.iter_mut().find(|field| field.name() == "priority").unwrap();
    field.r#type = Some(prost_types::field_descriptor_proto::Type::Sint32 as i32);
    let (ours, changed) = (facts(&ours), facts(&changed));
    let differences: Vec<_> =
        ours.iter().filter(|(name, fact)| changed.get(*name) != Some(fact)).collect();
    assert_eq!(differences.len(), 1);
    assert_eq!(differences[0].0, "field p4.v1.TableEntry 4");
}

/// Returns the directory of the published descriptors, if it exists.
fn published() -> Option<PathBuf> {
    let peers = match env::var_os("PLANIMETER_PEERS") {
        Some(peers) => PathBuf::from(peers),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/.peers"),
    };
    let directory = peers.join("p4runtime-descriptors");
    directory.is_dir().then_some(directory)
}

fn facts(files: &[FileDescriptorProto]) -> Facts {
    let mut facts = Facts::new();
    // Imports that are part of every protobuf runtime are not compared, and the consortium does not
    // publish the service of this project.
    let others = ["google.protobuf", "planimeter."];
    let is_compared =
        |file: &&FileDescriptorProto| !others.iter().any(|other| file.package().starts_with(other));
    for file in files.iter().filter(is_compared) {
        let scope = file.package();
        facts.insert(format!("file {}", file.name()), format!("{scope} {}", file.syntax()));
        for message in &file.message_type {
            message_facts(scope, message, &mut facts);
        }
        for enumeration in &file.enum_type {
            enum_facts(scope, enumeration, &mut facts);
        }
        for service in &file.service {
            for method in &service.method {
                let name = format!("method {scope}.{}.{}", service.name(), method.name());
                let fact = format!(
                    "{} (streaming {}) -> {} (streaming {})",
                    method.input_type(),
                    method.client_streaming(),
                    method.output_type(),
                    method.server_streaming()
                );
                facts.insert(name, fact);
            }
        }
    }
    facts
}

fn message_facts(scope: &str, message: &DescriptorProto, facts: &mut Facts) {
    let name = format!("{scope}.{}", message.name());
    let is_map = message.options.as_ref().is_some_and(|options| options.map_entry());
    facts.insert(format!("message {name}"), format!("map entry {is_map}"));
    for field in &message.field {
        let oneof = field
            .oneof_index
            .and_then(|index| message.oneof_decl.get(usize::try_from(index).ok()?))
            .map_or("none", |oneof| oneof.name());
        let fact = format!(
            "{} {:?} {:?} {} oneof {oneof} optional {}",
            field.name(),
            field.label(),
            field.r#type(),
            field.type_name(),
            field.proto3_optional()
        );
        facts.insert(format!("field {name} {}", field.number()), fact);
    }
    for range in &message.reserved_range {
        facts.insert(format!("reserved {name} {}", range.start()), range.end().to_string());
    }
    for nested in &message.nested_type {
        message_facts(&name, nested, facts);
    }
    for enumeration in &message.enum_type {
        enum_facts(&name, enumeration, facts);
    }
}

fn enum_facts(scope: &str, enumeration: &EnumDescriptorProto, facts: &mut Facts) {
    for value in &enumeration.value {
        let name = format!("value {scope}.{}.{}", enumeration.name(), value.name());
        facts.insert(name, value.number().to_string());
    }
}
