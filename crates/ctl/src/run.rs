//! Runs commands, which are given as a line or as separate words.

use crate::catalogue::{self, Command, OWN, SIMPLE_SWITCH, Support};
use crate::error::CommandError;
use crate::names::meant;
use crate::operands::Operands;
use crate::session::{Item, Session, Sink};
use crate::view::View;
use crate::words::split;
use serde_json::json;

/// Whether the session continues after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Further commands may follow.
    Continue,
    /// The command ends the session.
    Quit,
}

/// Runs the command on a line, and passes its results to `sink`. An empty line does nothing.
///
/// # Errors
/// Returns the reason why the command failed. Results from before the failure have been passed to
/// `sink`.
pub fn run_line(
    session: &mut Session<'_>,
    line: &str,
    sink: &mut Sink<'_>,
) -> Result<Flow, CommandError> {
    run_words(session, split(line)?, sink)
}

/// Runs the command that the words consist of, and passes its results to `sink`.
///
/// # Errors
/// Returns the reason why the command failed. Results from before the failure have been passed to
/// `sink`.
pub fn run_words(
    session: &mut Session<'_>,
    mut words: Vec<String>,
    sink: &mut Sink<'_>,
) -> Result<Flow, CommandError> {
    if words.is_empty() {
        return Ok(Flow::Continue);
    }
    let Some((command, count)) = catalogue::find(&words) else { return Err(unknown(&words)) };
    let operands = Operands::new(words.split_off(count), command.usage());
    match command.support {
        Support::Quit => {
            operands.end()?;
            return Ok(Flow::Quit);
        }
        Support::Help => help(operands, sink)?,
        Support::Impossible(reason) => {
            return Err(CommandError::Impossible {
                command: command.name,
                reason: reason.to_owned(),
            });
        }
        Support::Runs(run) => {
            let outcome = run(session, operands, sink);
            session.shown.drain(..).for_each(&mut *sink);
            outcome?;
        }
    }
    Ok(Flow::Continue)
}

/// Returns the error for a command that does not exist.
fn unknown(words: &[String]) -> CommandError {
    let first = words.first().cloned().unwrap_or_default();
    let both = words.get(1).map(|second| format!("{first} {second}"));
    let names = || catalogue::all().map(|command| command.name);
    let start = format!("{first} ");
    let begins = names().any(|name| name.starts_with(&start));
    // Both words are compared first: either of them may be misspelt.
    let of_both = both.as_ref().and_then(|both| meant(both, names()));
    let first_words = || names().filter_map(|name| name.split(' ').next());
    let word = both.filter(|_| begins || of_both.is_some()).unwrap_or_else(|| first.clone());
    let meant = of_both.or_else(|| meant(&first, first_words().filter(|_| !begins)));
    if meant.is_none() && begins {
        let known: Vec<&str> = names().filter(|name| name.starts_with(&start)).collect();
        return CommandError::Missing(format!("there are {}", known.join(", ")));
    }
    CommandError::NoCommand { word, meant: meant.map(str::to_owned) }
}

/// Runs the command `help`, which shows all commands, those that begin with a given word, or one
/// command in detail.
fn help(mut words: Operands, sink: &mut Sink<'_>) -> Result<(), CommandError> {
    let wanted = words.rest().join(" ");
    let show = |command: &Command| -> Item {
        let about = match command.refusal() {
            Some(reason) => format!("{}: {reason}", command.about),
            None => command.about.to_owned(),
        };
        let json = json!({ "kind": "command", "usage": command.usage(), "about": about });
        View::new(format!("{}\n    {about}", command.usage()), json).into()
    };
    if wanted.is_empty() {
        OWN.iter().for_each(|command| sink(show(command)));
        let text = format!(
            "\n{} commands of simple_switch_CLI are understood too; `help table_add` and the like show them",
            SIMPLE_SWITCH.iter().filter(|command| command.refusal().is_none()).count()
        );
        sink(View::new(text, json!({ "kind": "note" })).into());
        return Ok(());
    }
    let found: Vec<&Command> = catalogue::all()
        .filter(|command| {
            command.name == wanted
                || command.name.starts_with(&format!("{wanted} "))
                || command.name.starts_with(&format!("{wanted}_"))
        })
        .collect();
    if found.is_empty() {
        let meant = meant(&wanted, catalogue::all().map(|command| command.name));
        return Err(CommandError::NoCommand {
            word: wanted.clone(),
            meant: meant.map(str::to_owned),
        });
    }
    found.into_iter().for_each(|command| sink(show(command)));
    Ok(())
}
