//! The interactive shell of `planimeter ctl`: a prompt with history and completion.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ::ctl::{Completion, Flow, complete, run_line};
use p4runtime::p4info::Schema;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};

use super::{Front, failure};
use crate::failure::Failure;
use crate::interrupt;

/// The number of lines that the history keeps.
const HISTORY: usize = 1000;

/// A completer of lines with the names of objects in the device's pipeline.
struct Names(Option<Arc<Schema>>);

impl Completer for Names {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let before = line.get(..position).unwrap_or(line);
        let Completion { start, words } = complete(self.0.as_deref(), before);
        Ok((start, words))
    }
}

impl Hinter for Names {
    type Hint = String;
}

impl Highlighter for Names {}
impl Validator for Names {}
impl Helper for Names {}

/// Reads and runs lines until the user ends the shell.
pub(super) fn run(front: &mut Front<'_>) -> Result<ExitCode, Failure> {
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .max_history_size(HISTORY)
        .and_then(|config| config.history_ignore_dups(true))
        .map_err(Failure::run)?
        .build();
    let history = MemHistory::with_config(&config);
    let mut editor: Editor<Names, MemHistory> =
        Editor::with_history(config, history).map_err(Failure::run)?;
    let mut stored = Stored::open();
    for line in stored.lines() {
        editor.add_history_entry(line).map_err(Failure::run)?;
    }
    eprintln!("{} commands; `help` lists them, Tab completes, Ctrl-D ends", ::ctl::OWN.len());
    let prompt = format!("device {}> ", front.arguments.device_id);
    loop {
        editor.set_helper(Some(Names(front.session.schema().ok())));
        let line = match editor.readline(&prompt) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => return Ok(ExitCode::SUCCESS),
            Err(error) => return Err(Failure::run(error)),
        };
        if line.trim().is_empty() {
            continue;
        }
        if editor.add_history_entry(line.as_str()).map_err(Failure::run)? {
            stored.add(&line);
        }
        match front.command(|session, sink| run_line(session, &line, sink)) {
            Ok(Flow::Continue) => {}
            Ok(Flow::Quit) => return Ok(ExitCode::SUCCESS),
            Err(error) if error.is_interrupt() => {
                // Ctrl-C ends the command and not the shell.
                front.interrupt.store(false, Ordering::Relaxed);
                interrupt::flag();
                eprintln!("interrupted");
            }
            Err(error) => match failure(&error) {
                lost @ Failure::OutOfReach(_) => return Err(lost),
                other => eprintln!("{other}"),
            },
        }
    }
}

/// The file with the history of earlier shells, if there is one. The shell works without it, too.
struct Stored {
    path: Option<PathBuf>,
    file: Option<File>,
}

impl Stored {
    /// Opens the file in the user's directory for the state of programs (XDG Base Directory
    /// Specification).
    fn open() -> Self {
        let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state"));
        let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
        let folder = state.filter(|path| path.is_absolute()).or_else(home);
        let folder = folder.map(|folder| folder.join("planimeter"));
        let path = folder.as_ref().map(|folder| folder.join("ctl_history"));
        let file = folder.zip(path.as_ref()).and_then(|(folder, path)| {
            fs::create_dir_all(folder).ok()?;
            OpenOptions::new().create(true).append(true).open(path).ok()
        });
        Self { path, file }
    }

    /// Returns the last lines of the history.
    fn lines(&self) -> Vec<String> {
        let text = self.path.as_ref().and_then(|path| fs::read_to_string(path).ok());
        let lines: Vec<String> = text.unwrap_or_default().lines().map(str::to_owned).collect();
        let first = lines.len().saturating_sub(HISTORY);
        lines.into_iter().skip(first).collect()
    }

    fn add(&mut self, line: &str) {
        if let Some(file) = &mut self.file {
            // Without the file, the history lasts as long as the shell.
            let _ = writeln!(file, "{line}");
        }
    }
}
