//! Compiles the protos without protoc.
//!
//! The descriptors are kept as they are for `proto::descriptors`; for the generated code the
//! `deprecated` marks are taken off, because a server has to serve the deprecated forms too and
//! would otherwise need an `#[allow]` at every use.

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message as _;
use prost_types::{DescriptorProto, FileDescriptorSet};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto");
    let mut descriptors = protox::compile(["p4/v1/p4runtime.proto"], ["proto"])?;

    let out = PathBuf::from(env::var("OUT_DIR")?);
    let without_comments = FileDescriptorSet {
        file: descriptors
            .file
            .iter()
            .cloned()
            .map(|mut file| {
                file.source_code_info = None;
                file
            })
            .collect(),
    };
    fs::write(out.join("descriptors.bin"), without_comments.encode_to_vec())?;

    for file in &mut descriptors.file {
        file.message_type.iter_mut().for_each(undeprecate);
    }
    tonic_prost_build::configure()
        .build_server(false)
        .build_transport(false)
        .bytes(".")
        .btree_map(".")
        .emit_rerun_if_changed(false)
        .compile_fds(descriptors)?;
    Ok(())
}

fn undeprecate(message: &mut DescriptorProto) {
    for field in &mut message.field {
        if let Some(options) = &mut field.options {
            options.deprecated = None;
        }
    }
    message.nested_type.iter_mut().for_each(undeprecate);
}
