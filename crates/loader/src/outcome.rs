//! The outcome of a child process, which its parent reports to the controller.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use entities::{Code, EntityError};
use p4runtime::session::too_slow;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use crate::LoadLimits;

/// The text by which the parent recognises a failed allocation on a child's standard error. The
/// Rust runtime prints it.
const NO_MEMORY: &str = "memory allocation of ";
/// The text by which the parent recognises a stack overflow on a child's standard error. The Rust
/// runtime prints it.
const STACK_OVERFLOW: &str = "has overflowed its stack";

/// The outcome of loading a pipeline, as the child process writes it to standard output in JSON.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Answer {
    Loaded,
    Refused { code: i32, message: String },
}

impl From<Result<(), EntityError>> for Answer {
    fn from(outcome: Result<(), EntityError>) -> Self {
        match outcome {
            Ok(()) => Self::Loaded,
            Err(error) => {
                Self::Refused { code: error.code() as i32, message: error.message().to_owned() }
            }
        }
    }
}

impl From<Answer> for Result<(), EntityError> {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Loaded => Ok(()),
            Answer::Refused { code, message } => {
                Err(EntityError::new(Code::from_number(code), message))
            }
        }
    }
}

/// The exit status of a child process that has ended, its standard output and its standard error.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// Whether the parent killed the child because it took too long.
    pub(crate) was_too_slow: bool,
    pub(crate) output: Vec<u8>,
    pub(crate) errors: Vec<u8>,
}

impl Ended {
    /// Returns the outcome of loading the pipeline. If the child ended without a valid answer, the
    /// error is RESOURCE_EXHAUSTED if it exceeded a limit, and INTERNAL otherwise.
    pub(crate) fn outcome(&self, limits: &LoadLimits) -> Result<(), EntityError> {
        if self.status.success()
            && let Ok(answer) = serde_json::from_slice::<Answer>(&self.output)
        {
            return answer.into();
        }
        let signal = self.status.signal().and_then(Signal::from_named_raw);
        let errors = String::from_utf8_lossy(&self.errors);
        Err(match signal {
            _ if self.was_too_slow => too_slow(limits.time),
            Some(Signal::XCPU) => too_slow(limits.time),
            _ if errors.contains(NO_MEMORY) => too_large(limits.memory),
            // The kernel kills a process if memory runs out.
            Some(Signal::KILL) => too_large(limits.memory),
            _ if errors.contains(STACK_OVERFLOW) => {
                failed("the compiler overflowed its stack, which is a bug in planimeter")
            }
            _ => {
                let message = errors.lines().find(|line| !line.trim().is_empty());
                let message = message.unwrap_or("without a word");
                failed(&format!(
                    "the process that tries pipelines ended ({}): {message}",
                    self.status
                ))
            }
        })
    }
}

fn too_large(limit: u64) -> EntityError {
    EntityError::exhausted(format!(
        "Loading the pipeline takes more than {limit} bytes of memory (--push-memory). The pipeline \
         that runs is unchanged."
    ))
}

fn failed(reason: &str) -> EntityError {
    let message =
        format!("The pipeline was not loaded: {reason}. The pipeline that runs is unchanged.");
    EntityError::new(Code::Internal, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(raw_status: i32, output: &str, errors: &str) -> Ended {
        let status = ExitStatus::from_raw(raw_status);
        let (output, errors) = (output.into(), errors.into());
        Ended { status, was_too_slow: false, output, errors }
    }

    #[test]
    fn an_answer_is_handed_on() {
        for outcome in [Ok(()), Err(EntityError::exists("a"))] {
            let text = serde_json::to_string(&Answer::from(outcome.clone())).expect("plain");
            assert_eq!(ended(0, &text, "").outcome(&LoadLimits::default()), outcome);
        }
    }

    /// Each way in which a child can end without an answer has an error code and a reason. The
    /// cases contain raw exit statuses: a signal number, or an exit status times 256.
    #[test]
    fn each_end_without_an_answer_has_a_code_and_a_reason() {
        let abort = Signal::ABORT.as_raw();
        let cases = [
            (ended(Signal::XCPU.as_raw(), "", ""), Code::ResourceExhausted, "--push-seconds"),
            (ended(Signal::KILL.as_raw(), "", ""), Code::ResourceExhausted, "--push-memory"),
            (
                ended(abort, "", "memory allocation of 16 bytes failed\n"),
                Code::ResourceExhausted,
                "--push-memory",
            ),
            (
                ended(abort, "", "\nthread 'load' (7) has overflowed its stack\n"),
                Code::Internal,
                "overflowed its stack",
            ),
            (ended(abort, "", "\nthread 'load' panicked at x.rs:1:\n"), Code::Internal, "panicked"),
            (ended(1 << 8, "{", ""), Code::Internal, "exit status: 1"),
            // A successful exit without an answer is an error.
            (ended(0, "{", ""), Code::Internal, "exit status: 0"),
        ];
        for (ended, code, reason) in cases {
            let error = ended.outcome(&LoadLimits::default()).expect_err("no answer");
            assert_eq!(error.code(), code, "{ended:?}");
            assert!(error.message().contains(reason), "{}", error.message());
        }
    }
}
