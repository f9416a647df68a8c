//! Checks that the code and the descriptors in `src/generated` correspond to the protos in `proto`.
//!
//! They are checked in, so that a build needs no protobuf compiler.
//! `PLANIMETER_UPDATE_PROTO=1 cargo test -p planimeter-protos --test generated` regenerates them.
//!
//! The descriptors are unchanged from the protos. The code is generated without the `deprecated`
//! marks, because a server must serve the deprecated forms too and would otherwise need an
//! `#[allow]` at every use.

use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

use prost::Message as _;
use prost_types::{DescriptorProto, FileDescriptorSet};

#[test]
fn the_generated_files_correspond_to_the_protos() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let protos = package.join("proto");
    let services = [
        "p4/v1/p4runtime.proto",
        "planimeter/switch/v1/control.proto",
        "planimeter/testgen/v1/tests.proto",
    ];
    let mut generated = generate(&protos, &services, "descriptors.bin");
    let traces = ["planimeter/trace/v1/trace.proto"];
    generated.extend(generate(&protos, &traces, "trace_descriptors.bin"));
    let kept = package.join("src/generated");
    if env::var_os("PLANIMETER_UPDATE_PROTO").is_some() {
        for (name, content) in &generated {
            fs::write(kept.join(name), content).unwrap();
        }
    }
    let stale: Vec<&str> = generated
        .iter()
        .filter(|(name, content)| fs::read(kept.join(name)).ok().as_ref() != Some(content))
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(generated.len(), 8, "a module for each package and two sets of descriptors");
    assert!(
        stale.is_empty(),
        "{stale:?} in src/generated are stale; \
         run PLANIMETER_UPDATE_PROTO=1 cargo test -p planimeter-protos --test generated"
    );
}

/// Returns the files by name that are generated from protos and those that they import.
fn generate(protos: &Path, services: &[&str], set: &str) -> BTreeMap<String, Vec<u8>> {
    let services = services.iter().map(|service| protos.join(service));
    let mut descriptors = protox::compile(services, [protos]).unwrap();
    let mut files = BTreeMap::new();

    let mut without_comments = descriptors.clone();
    without_comments.file.iter_mut().for_each(|file| file.source_code_info = None);
    files.insert(set.to_owned(), without_comments.encode_to_vec());

    undeprecate(&mut descriptors);
    let directory = tempfile::tempdir().unwrap();
    tonic_prost_build::configure()
        .build_server(false)
        .build_transport(false)
        .bytes(".")
        .btree_map(".")
        .emit_rerun_if_changed(false)
        .out_dir(directory.path())
        .compile_fds(descriptors)
        .unwrap();
    for entry in fs::read_dir(directory.path()).unwrap() {
        let entry = entry.unwrap();
        files.insert(entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap());
    }
    files
}

fn undeprecate(descriptors: &mut FileDescriptorSet) {
    fn of_message(message: &mut DescriptorProto) {
        for field in &mut message.field {
            if let Some(options) = &mut field.options {
                options.deprecated = None;
            }
        }
        message.nested_type.iter_mut().for_each(of_message);
    }
    for file in &mut descriptors.file {
        file.message_type.iter_mut().for_each(of_message);
    }
}
