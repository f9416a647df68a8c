//! What verbs that leave a result have in common: the flags of it, the run directory, and what they print.

use std::io::{ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use report::directory::WriteError;
use report::page::document::{Document, json, terminal};
use report::{Layout, RunDirectory};

use crate::failure::{Failure, INTERRUPTED};
use crate::words::flag;

/// `--output`, where the result goes.
pub(crate) fn output(help: impl Into<String>) -> Arg {
    Arg::new("output")
        .long("output")
        .short('o')
        .value_name("DIRECTORY")
        .value_parser(value_parser!(PathBuf))
        .help(help.into())
}

/// The runs that were measured before.
pub(crate) fn runs() -> Arg {
    Arg::new("runs")
        .value_name("RUN")
        .help("Run directory, or a result.json")
        .required(true)
        .num_args(1..)
        .value_parser(value_parser!(PathBuf))
}

/// The text of a result, at its path or in the run directory there, and which file that is.
pub(crate) fn result_at(path: &Path) -> Result<(PathBuf, String), Failure> {
    let file = if path.is_dir() { path.join("result.json") } else { path.to_owned() };
    let text = std::fs::read_to_string(&file).map_err(|error| match error.kind() {
        ErrorKind::NotFound if path.join("campaign.json").exists() => Failure::input(format!(
            "{0} is a campaign, which has no result yet; `planimeter device verify {0}` makes one",
            path.display()
        )),
        ErrorKind::NotFound => Failure::input(format!(
            "{} {}; name a run directory that a verb left, or its result.json",
            path.display(),
            if path.is_dir() { "has no result.json" } else { "does not exist" }
        )),
        _ => Failure::input(format!("cannot read {}: {error}", file.display())),
    })?;
    Ok((file, text))
}

/// `--json`, the result in place of tables.
pub(crate) fn json_flag() -> Arg {
    flag("json", "Print result.json in place of the tables")
}

/// `--quiet`.
pub(crate) fn quiet() -> Arg {
    flag("quiet", "Show no progress").short('q')
}

/// `--threshold`, which may be given several times.
pub(crate) fn threshold(help: &'static str) -> Arg {
    Arg::new("threshold")
        .long("threshold")
        .short('t')
        .value_name("CONDITION")
        .action(ArgAction::Append)
        .help(help)
}

/// The run directory that `--output` names, else a new one of the verb.
pub(crate) fn directory(matches: &ArgMatches, verb: &str) -> Result<RunDirectory, Failure> {
    let given = matches.get_one::<PathBuf>("output").map(PathBuf::as_path);
    RunDirectory::create_for(given, verb).map_err(Failure::input)
}

/// Prints a result, as JSON or as text, then writes it, since a disk may be full, and says where its report is.
pub(crate) fn leave<W>(
    directory: &RunDirectory,
    as_json: bool,
    json: impl FnOnce() -> String,
    text: impl FnOnce() -> String,
    write: impl FnOnce(&RunDirectory) -> Result<W, WriteError>,
) -> Result<(), Failure> {
    match as_json {
        true => print!("{}", json()),
        false => print!("{}", text()),
    }
    write(directory).map_err(Failure::run)?;
    if !as_json {
        println!("\nReport: {}", directory.path().join("report.html").display());
    }
    Ok(())
}

/// Leaves a document; the exit status says whether it holds all that was asked for.
pub(crate) fn leave_document(
    directory: &RunDirectory,
    document: &Document,
    as_json: bool,
    interrupted: bool,
) -> Result<ExitCode, Failure> {
    let text = || terminal::text(document, layout());
    let write = |directory: &RunDirectory| directory.write_document(document);
    leave(directory, as_json, || json::to_json(document), text, write)?;
    Ok(match document.partial {
        None => ExitCode::SUCCESS,
        Some(_) if interrupted => ExitCode::from(INTERRUPTED),
        Some(_) => ExitCode::from(1),
    })
}

/// How text is laid out on this terminal.
pub(crate) fn layout() -> Layout {
    let told = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let width = told.or_else(terminal_width).unwrap_or(100);
    let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    Layout { width, colour }
}

fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}
