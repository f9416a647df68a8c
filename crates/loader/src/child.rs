//! The child process that loads a pipeline before a switch does. It reads the pipeline from
//! standard input, loads it, and writes the outcome to standard output.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use entities::{EntityError, Target};
use ir::{CompileLimits, LimitError, with_large_stack};
use p4runtime::proto::v1::ForwardingPipelineConfig;
use p4runtime::session::{Device, DeviceOptions, PipelineRegistry};
use pipeline::{Path, V1ModelSettings};
use prost::Message;
use rustix::process::{
    Resource, Rlimit, Signal, getppid, set_parent_process_death_signal, setrlimit,
};
use serde::{Deserialize, Serialize};

use crate::outcome::Answer;
use crate::{LoadLimits, Settings};

/// The maximum size of a file, in bytes, that the child process may write. Its standard output and
/// standard error are files in memory.
const OUTPUT_BYTES: u64 = 1 << 20;

/// The settings that a parent sends to its child process, in JSON on the first line of the child's
/// standard input. A `ForwardingPipelineConfig` follows the line, or nothing if the parent only
/// checks whether a child can be started.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Header {
    parent: u32,
    /// Whether a pipeline follows. The length of the input does not tell, because a pipeline whose
    /// fields are all unset is encoded in no bytes.
    has_pipeline: bool,
    milliseconds: u64,
    memory: u64,
    state: u64,
    packet_work: u32,
    type_depth: u32,
    call_depth: u32,
    nesting: u32,
    parts: u64,
    is_compiled: bool,
    drop_port: u16,
    priority_queues: u32,
}

impl Header {
    /// Returns the header that this process sends to a child process, which is to load a pipeline
    /// with `settings` if there is one.
    pub(crate) fn new(settings: &Settings, has_pipeline: bool) -> Self {
        let Settings { limits, path, v1model } = settings;
        Self {
            parent: std::process::id(),
            has_pipeline,
            milliseconds: u64::try_from(limits.time.as_millis()).unwrap_or(u64::MAX),
            memory: limits.memory,
            state: limits.state,
            packet_work: limits.packet_work,
            type_depth: limits.compile.type_depth,
            call_depth: limits.compile.call_depth,
            nesting: limits.compile.nesting,
            parts: limits.compile.parts,
            is_compiled: *path == Path::Compiled,
            drop_port: v1model.drop_port,
            priority_queues: v1model.priority_queues,
        }
    }

    fn settings(&self) -> Result<Settings, LimitError> {
        let compile = CompileLimits::default()
            .with_type_depth(self.type_depth)?
            .with_call_depth(self.call_depth)?
            .with_nesting(self.nesting)?
            .with_parts(self.parts)?;
        let limits = LoadLimits {
            compile,
            time: Duration::from_millis(self.milliseconds),
            memory: self.memory,
            state: self.state,
            packet_work: self.packet_work,
        };
        let (drop_port, priority_queues) = (self.drop_port, self.priority_queues);
        let path = if self.is_compiled { Path::Compiled } else { Path::Interpreter };
        Ok(Settings { limits, path, v1model: V1ModelSettings { drop_port, priority_queues } })
    }
}

/// Runs a child process that loads one pipeline for a switch, as an
/// [`Executable`](crate::Executable) starts it. It reads the settings and the pipeline from
/// standard input, loads the pipeline on the target that `target` creates for the settings, and
/// writes the outcome to standard output. Returns the exit status of the process, which must do
/// nothing else.
pub fn serve(target: impl FnOnce(&Settings) -> Box<dyn Target>) -> ExitCode {
    match try_serve(target) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot load a pipeline for another process: {error}");
            ExitCode::FAILURE
        }
    }
}

fn try_serve(target: impl FnOnce(&Settings) -> Box<dyn Target>) -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut line = String::new();
    input.read_line(&mut line)?;
    let header: Header = serde_json::from_str(&line)?;
    restrict(&header)?;
    let mut body = Vec::new();
    io::Read::read_to_end(&mut input, &mut body)?;
    let outcome = outcome(&header, &body, target)?;
    let mut output = io::stdout().lock();
    serde_json::to_writer(&mut output, &Answer::from(outcome))?;
    output.flush()
}

/// Loads the pipeline of `body`, if the parent sent one, and returns whether that succeeded.
fn outcome(
    header: &Header,
    body: &[u8],
    target: impl FnOnce(&Settings) -> Box<dyn Target>,
) -> io::Result<Result<(), EntityError>> {
    let settings = header.settings().map_err(io::Error::other)?;
    match header.has_pipeline {
        true => Ok(load(body, target(&settings))),
        // The check proves that a thread with the large stack can be started.
        false => with_large_stack(|| Ok(())),
    }
}

/// Sets the resource limits of this child process, and makes the kernel kill it when its parent
/// ends. Returns an error if the parent has already ended.
fn restrict(header: &Header) -> io::Result<()> {
    // The parent kills the child after a timeout, but cannot do so if the parent ends first.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let parent = getppid().map(|parent| parent.as_raw_nonzero().get().cast_unsigned());
    if parent != Some(header.parent) {
        return Err(io::Error::other("the process that started this one has ended"));
    }
    // If the host runs out of memory, the kernel should end this process and not the switch.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let limit =
        |resource, most| setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, OUTPUT_BYTES)?;
    limit(Resource::Cpu, header.milliseconds.div_ceil(1000).max(1))?;
    limit(Resource::As, header.memory)?;
    Ok(())
}

fn load(body: &[u8], target: Box<dyn Target>) -> Result<(), EntityError> {
    let config = ForwardingPipelineConfig::decode(body)
        .map_err(|error| EntityError::invalid(error.to_string()))?;
    let registry = Arc::new(PipelineRegistry::new());
    Device::over(target, 0, DeviceOptions::default(), registry).preload(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_has_the_settings_of_its_parent() {
        let compile = CompileLimits::default().with_type_depth(3).expect("it is possible");
        let time = Duration::from_millis(1500);
        let limits = LoadLimits { compile, time, memory: 7, state: 8, packet_work: 9 };
        let v1model = V1ModelSettings { drop_port: 9, priority_queues: 3 };
        for path in [Path::Interpreter, Path::Compiled] {
            let settings = Settings { limits, path, v1model };
            let header = Header::new(&settings, true);
            let line = serde_json::to_string(&header).expect("plain numbers");
            let header: Header = serde_json::from_str(&line).expect("it was just written");
            assert_eq!(header.settings(), Ok(settings));
        }
    }

    /// A pipeline whose fields are all unset is encoded in no bytes. It is still a pipeline, which
    /// cannot be loaded.
    #[test]
    fn an_empty_pipeline_is_loaded_as_any_other() {
        let settings = Settings::default();
        let outcome = |has_pipeline| {
            let header = Header::new(&settings, has_pipeline);
            outcome(&header, &[], |settings| Box::new(settings.target())).expect("a thread")
        };
        assert_eq!(outcome(false), Ok(()));
        assert!(outcome(true).is_err());
    }
}
