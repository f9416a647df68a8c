//! The flags of `planimeter switch` that limit the resources of pipelines which controllers push.

use std::time::Duration;

use clap::{Args, ValueEnum};
use ir::CompileLimits;
use softswitch::{Isolation, LoadLimits, Pushes};

use crate::parsers::binary;

/// The name of the hidden subcommand that runs in a child process of a switch and loads a pipeline.
pub(crate) const LOAD: &str = "load";

const HEADING: &str = "Pushed pipelines";

/// The flags for the limits on pipelines that controllers push, and for the thread or process that
/// loads them.
#[derive(Args, Clone, Debug)]
pub(crate) struct PushArguments {
    /// The place where a pushed pipeline is loaded: process or thread
    ///
    /// The place where a pushed pipeline is loaded. With process, a child process loads it first,
    /// and the switch loads it only if that succeeds. A program that exhausts memory, time or
    /// stack, or meets a defect of the compiler, then ends the child alone, and packets and other
    /// controllers notice nothing. A push takes twice as long. With thread, there is no child:
    /// --push-memory has no effect, and such a program may end the switch.
    #[arg(long, value_enum, default_value_t = Place::Process, value_name = "PLACE", help_heading = HEADING)]
    push_isolation: Place,

    /// The most seconds that loading a push may take
    ///
    /// The most seconds that loading a push may take, in the child process and then in the switch.
    /// Other clients are served meanwhile.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 30,
        value_parser = clap::value_parser!(u32).range(1..=86_400),
        help_heading = HEADING
    )]
    push_seconds: u32,

    /// The most address space of the child process that loads a push
    ///
    /// The most address space of the child process that loads a push, in bytes, or with K, M or G
    /// for powers of 1,024. The process itself, with its stacks, takes a few hundred M of it.
    #[arg(long, value_name = "BYTES", default_value = "2G", value_parser = bytes, help_heading = HEADING)]
    push_memory: u64,

    /// The most levels of a type in a pushed program
    #[arg(long, value_name = "NUMBER", default_value_t = CompileLimits::default().type_depth,
        value_parser = type_depth, help_heading = HEADING)]
    push_type_depth: u32,

    /// The most calls inside one another in a pushed program
    #[arg(long, value_name = "NUMBER", default_value_t = CompileLimits::default().call_depth,
        value_parser = call_depth, help_heading = HEADING)]
    push_call_depth: u32,

    /// The most calls and blocks of statements inside one another in a pushed program
    #[arg(long, value_name = "NUMBER", default_value_t = CompileLimits::default().nesting,
        value_parser = nesting, help_heading = HEADING)]
    push_nesting: u32,

    /// The most parts of a type in a pushed program: fields, elements, and their parts
    #[arg(long, value_name = "NUMBER", default_value_t = CompileLimits::default().parts,
        value_parser = parts, help_heading = HEADING)]
    push_parts: u64,

    /// The most memory of the registers and counters of a pipeline
    ///
    /// The most memory of the arrays of registers and counters of a pipeline, in bytes, or with K,
    /// M or G for powers of 1,024. Entries, and arrays of more than 2^24 elements, take memory as
    /// they are used and are not counted. The limit also holds for the program at the start.
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = bytes, help_heading = HEADING)]
    pipeline_memory: u64,

    /// The most work of a packet, with all its passes and copies
    ///
    /// The most work of a packet, with all its passes and copies, in units of one statement, one
    /// comparison, or 16 bytes that are copied. A packet that needs more is dropped, and counted as
    /// an error. The limit also holds for the program at the start.
    #[arg(long, value_name = "UNITS", default_value_t = LoadLimits::default().packet_work,
        value_parser = clap::value_parser!(u32).range(1..=1 << 31), help_heading = HEADING)]
    packet_work: u32,
}

/// The thread or process in which a pushed pipeline is loaded first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Place {
    /// A process of its own.
    Process,
    /// A thread of the switch.
    Thread,
}

impl PushArguments {
    /// Returns the limits and the isolation for pushed pipelines that the flags select.
    pub(crate) fn pushes(&self) -> Result<Pushes, ir::LimitError> {
        let compile = CompileLimits::default()
            .with_type_depth(self.push_type_depth)?
            .with_call_depth(self.push_call_depth)?
            .with_nesting(self.push_nesting)?
            .with_parts(self.push_parts)?;
        let limits = LoadLimits {
            compile,
            time: Duration::from_secs(self.push_seconds.into()),
            memory: self.push_memory,
            state: self.pipeline_memory,
            packet_work: self.packet_work,
        };
        let isolation = match self.push_isolation {
            Place::Process => Isolation::Process(super::loader()),
            Place::Thread => Isolation::Thread,
        };
        Ok(Pushes { limits, isolation })
    }
}

fn type_depth(text: &str) -> Result<u32, String> {
    let limits = CompileLimits::default().with_type_depth(number(text)?);
    limits.map(|limits| limits.type_depth).map_err(|error| error.to_string())
}

fn call_depth(text: &str) -> Result<u32, String> {
    let limits = CompileLimits::default().with_call_depth(number(text)?);
    limits.map(|limits| limits.call_depth).map_err(|error| error.to_string())
}

fn nesting(text: &str) -> Result<u32, String> {
    let limits = CompileLimits::default().with_nesting(number(text)?);
    limits.map(|limits| limits.nesting).map_err(|error| error.to_string())
}

fn parts(text: &str) -> Result<u64, String> {
    let limits = CompileLimits::default().with_parts(number(text)?);
    limits.map(|limits| limits.parts).map_err(|error| error.to_string())
}

fn number<T: std::str::FromStr<Err = std::num::ParseIntError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: std::num::ParseIntError| error.to_string())
}

/// Parses a number of bytes above zero, such as `1500`, `64K`, `512M` or `2G`.
fn bytes(text: &str) -> Result<u64, String> {
    match binary(text)? {
        0 => Err(format!("{text} is not a possible number of bytes")),
        bytes => Ok(bytes as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, FromArgMatches};

    fn pushes(line: &str) -> Result<Pushes, String> {
        let command = PushArguments::augment_args(Command::new("switch"));
        let words = std::iter::once("switch").chain(line.split_whitespace());
        let matches = command.try_get_matches_from(words).map_err(|error| error.to_string())?;
        let arguments = PushArguments::from_arg_matches(&matches).expect("clap has checked them");
        arguments.pushes().map_err(|error| error.to_string())
    }

    #[test]
    fn without_flags_the_limits_are_those_of_the_library_and_a_process_tries_pushes() {
        let pushes = pushes("").expect("nothing is wrong");
        assert_eq!(pushes.limits, LoadLimits::default());
        let Isolation::Process(executable) = pushes.isolation else { panic!("{pushes:?}") };
        assert_eq!(executable, super::super::loader());
    }

    #[test]
    fn every_flag_sets_its_limit() {
        let line = "--push-type-depth 3 --push-call-depth 4 --push-nesting 10 --push-parts 5 \
                    --push-seconds 6 --push-memory 7M --pipeline-memory 8K --packet-work 9 --push-isolation thread";
        let pushes = pushes(line).expect("nothing is wrong");
        let LoadLimits { compile, time, memory, state, packet_work } = pushes.limits;
        assert_eq!((compile.type_depth, compile.call_depth, compile.parts), (3, 4, 5));
        assert_eq!(compile.nesting, 10);
        assert_eq!((time, memory, state), (Duration::from_secs(6), 7 << 20, 8 << 10));
        assert_eq!(packet_work, 9);
        assert!(matches!(pushes.isolation, Isolation::Thread));
    }

    #[test]
    fn invalid_limits_are_refused_with_the_flag() {
        for line in [
            "--push-type-depth 0",
            "--push-call-depth 1000000",
            "--push-nesting 1000000",
            "--push-parts 0",
            "--push-seconds 0",
            "--push-memory 0",
            "--push-memory 2T",
            "--push-memory 99999999999G",
            "--pipeline-memory G",
            "--packet-work 0",
        ] {
            let refused = pushes(line).expect_err(line);
            let flag = line.split(' ').next().expect("it has one");
            assert!(refused.contains(flag), "{refused}");
        }
    }
}
