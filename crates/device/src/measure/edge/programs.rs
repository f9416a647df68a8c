//! The P4 program of a cell, and the packets that the program must produce.

use std::time::Duration;

use p4lang::diagnostic::Style;
use p4lang::preprocess::{MemoryFiles, Options};
use pipeline::Switch;

use super::super::conduct::BenchError;
use super::super::task::Task;
use super::super::traffic::Traffic;
use super::super::{part, program, traffic};

/// Returns the P4 program that a device must run for a task, as text. Packets enter and leave by
/// `ports`.
pub(super) fn source(task: &Task, ports: [u32; 2]) -> String {
    match task {
        Task::Rule(subject) => program::source(*subject),
        Task::Program(subject) => part::source(&subject.parts, ports[1], subject.rules),
    }
}

/// Compiles the P4 program that a device must run for a task. Packets enter and leave by `ports`.
pub(super) fn compile(task: &Task, ports: [u32; 2]) -> Result<ir::Program, BenchError> {
    let text = source(task, ports);
    let compiled =
        p4lang::compile_text("cell.p4", &text, &Options::default(), &MemoryFiles::default());
    let messages = compiled.messages(Style::Plain);
    compiled
        .program
        .ok_or_else(|| failed(format!("the cell's program does not compile:\n{messages}")))
}

/// Returns the packets for a task as they are sent, and as they must come out of the device. For a
/// program of given parts, the reference interpreter computes the expected packets.
pub(super) fn traffic(task: &Task, ports: [u32; 2], secret: u64) -> Result<Traffic, BenchError> {
    let subject = match task {
        Task::Rule(subject) => return Ok(Traffic::new(*subject, secret)),
        Task::Program(subject) => subject,
    };
    let headers = part::header_bytes(&subject.parts);
    let sent = traffic::opaque_frame(headers, subject.packet_bytes.max(subject.least_bytes()));
    let mut switch =
        Switch::new(compile(task, ports)?).map_err(|error| failed(error.to_string()))?;
    let outputs = switch
        .process(ports[0], &sent, Duration::ZERO)
        .map_err(|error| failed(error.to_string()))?;
    match &outputs[..] {
        [output] if output.port == ports[1] && output.packet.len() == sent.len() => {
            Ok(Traffic::of_frames(sent, output.packet.to_vec(), headers, secret))
        }
        _ => Err(failed(format!(
            "the cell's program makes {} packets of one: it is not measured",
            outputs.len()
        ))),
    }
}

fn failed(problem: String) -> BenchError {
    BenchError::Device { device: "generated program".to_owned(), problem }
}
