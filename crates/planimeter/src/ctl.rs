//! `planimeter ctl`: commands of a P4Runtime client.

mod arguments;
mod failures;
mod link;
mod nothing;
mod remote;
mod shell;

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal as _, Read as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use ::ctl::{CommandError, DeviceError, Flow, Item, Session, View, run_line, run_words, view};
use serde_json::{Value, json};

use crate::failure::{Failure, INTERRUPTED};
use crate::interrupt;
use nothing::Nothing;
use remote::Remote;

pub(crate) use arguments::Arguments;

/// The interval at which the interrupt flag is checked while the command waits for lines of input.
const LOOK: Duration = Duration::from_millis(50);

/// The longest line of commands in bytes. Programs and entries in files are named in commands.
const LONGEST_LINE: u64 = 16 << 20;

/// The address that stands for no device, so that commands are only checked.
const NO_DEVICE: &str = "-";

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let interrupt = interrupt::flag();
    let mut nothing;
    let mut remote;
    let device: &mut dyn ::ctl::Device = match arguments.address == NO_DEVICE {
        true => {
            nothing = Nothing::new(arguments)?;
            &mut nothing
        }
        false => {
            remote = Remote::connect(arguments, &interrupt)?;
            &mut remote
        }
    };
    let session = Session::new(device, arguments.dry_run).map_err(|error| failure(&error))?;
    let mut front = Front { session, arguments, interrupt };
    match (&arguments.file, arguments.command.as_slice()) {
        (Some(file), _) if file == Path::new("-") => {
            front.lines(BufReader::new(io::stdin()), "stdin")
        }
        (Some(file), _) => {
            let opened = File::open(file).map_err(|error| {
                Failure::input(format!("cannot read {}: {error}", file.display()))
            })?;
            front.lines(BufReader::new(opened), &file.display().to_string())
        }
        (None, []) if io::stdin().is_terminal() => shell::run(&mut front),
        (None, []) => front.lines(BufReader::new(io::stdin()), "stdin"),
        (None, [line]) => front.one(|session, sink| run_line(session, line, sink)),
        (None, words) => front.one(|session, sink| run_words(session, words.to_vec(), sink)),
    }
}

/// The connection between a session and its user: it runs commands and prints their results.
struct Front<'a> {
    session: Session<'a>,
    arguments: &'a Arguments,
    interrupt: Arc<AtomicBool>,
}

impl Front<'_> {
    /// Runs one command, and prints each result as soon as it arrives.
    fn command(
        &mut self,
        run: impl FnOnce(&mut Session<'_>, &mut dyn FnMut(Item)) -> Result<Flow, CommandError>,
    ) -> Result<Flow, CommandError> {
        let schema = self.session.schema().ok();
        let as_json = self.arguments.json;
        let mut sink = |item: Item| {
            let shown = match &item {
                Item::Trace { trace, has_values } => trace_view(trace, *has_values),
                Item::Entity(_) | Item::Fact { .. } => view(schema.as_deref(), &item),
            };
            match as_json {
                true => println!("{}", shown.json),
                false => println!("{}", shown.text),
            }
        };
        run(&mut self.session, &mut sink)
    }

    /// Runs the command that the command line contains, and returns the exit status.
    fn one(
        &mut self,
        run: impl FnOnce(&mut Session<'_>, &mut dyn FnMut(Item)) -> Result<Flow, CommandError>,
    ) -> Result<ExitCode, Failure> {
        match self.command(run) {
            Ok(_) => Ok(ExitCode::SUCCESS),
            Err(error) => {
                if self.arguments.json && !error.is_interrupt() {
                    println!("{}", json!({ "kind": "error", "error": error.to_string() }));
                }
                Err(failure(&error))
            }
        }
    }

    /// Runs the commands in the lines of the input `from`. After a command has failed, the
    /// following ones run only with `--keep-going`.
    fn lines(
        &mut self,
        from: impl BufRead + Send + 'static,
        name: &str,
    ) -> Result<ExitCode, Failure> {
        let lines = lines(from).map_err(Failure::run)?;
        let mut worst = ExitCode::SUCCESS;
        let mut number = 0;
        loop {
            if self.interrupt.load(Ordering::Relaxed) {
                return Ok(ExitCode::from(INTERRUPTED));
            }
            let line = match lines.recv_timeout(LOOK) {
                Ok(Ok(line)) => line,
                Ok(Err(error)) => return Err(Failure::input(format!("{name}: {error}"))),
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Ok(worst),
            };
            number += 1;
            match self.command(|session, sink| run_line(session, &line, sink)) {
                Ok(Flow::Continue) => {}
                Ok(Flow::Quit) => return Ok(worst),
                Err(error) if error.is_interrupt() => return Ok(ExitCode::from(INTERRUPTED)),
                Err(error) => {
                    if self.arguments.json {
                        let error = error.to_string();
                        println!("{}", json!({ "kind": "error", "line": number, "error": error }));
                    }
                    let failure = failure(&error);
                    eprintln!("planimeter: {name}:{number}: {failure}");
                    worst = failure.exit_code();
                    let is_lost = matches!(failure, Failure::OutOfReach(_));
                    if is_lost || !self.arguments.keep_going {
                        return Ok(worst);
                    }
                }
            }
        }
    }
}

/// Returns a trace as text and as JSON, in the forms in which `planimeter switch --trace` writes
/// it.
fn trace_view(trace: &traces::Trace, has_values: bool) -> View {
    let json = traces::Format::Json.bytes(trace);
    let json: Value = serde_json::from_slice(&json).unwrap_or_default();
    let text = traces::text(trace, has_values).trim_end().to_owned();
    View { text, json: json!({ "kind": "trace", "trace": json }) }
}

/// Starts to read the input, and returns a channel with its lines. A separate thread reads them,
/// because reading cannot be interrupted.
fn lines(mut from: impl BufRead + Send + 'static) -> io::Result<Receiver<io::Result<String>>> {
    /// The number of lines that are read ahead.
    const AHEAD: usize = 64;
    let (sender, receiver) = sync_channel(AHEAD);
    thread::Builder::new().spawn(move || {
        while let Some(line) = next_line(&mut from).transpose() {
            let is_last = line.is_err();
            if sender.send(line).is_err() || is_last {
                break;
            }
        }
    })?;
    Ok(receiver)
}

/// Reads the next line without its end. Returns `None` at the end of the input.
fn next_line(from: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    let read = from.take(LONGEST_LINE + 1).read_until(b'\n', &mut bytes)?;
    if read == 0 {
        return Ok(None);
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
    } else if read as u64 > LONGEST_LINE {
        let message = format!("a line is longer than {} MiB", LONGEST_LINE >> 20);
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    let not_text = |_| io::Error::new(io::ErrorKind::InvalidData, "a line is not UTF-8 text");
    String::from_utf8(bytes).map(Some).map_err(not_text)
}

/// Returns the exit status for a failed command: 2 for wrong input, 3 for a device that cannot be
/// reached, and 1 for a request that the device refuses.
fn failure(error: &CommandError) -> Failure {
    match error {
        CommandError::Device(DeviceError::Interrupted) => Failure::Interrupted,
        CommandError::Device(DeviceError::Connection(text)) => Failure::OutOfReach(text.clone()),
        CommandError::Device(DeviceError::File(_) | DeviceError::NoDevice) => Failure::input(error),
        CommandError::Device(_) | CommandError::Missing(_) => Failure::run(error),
        _ => Failure::input(error),
    }
}
