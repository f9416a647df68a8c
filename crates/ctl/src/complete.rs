//! The completion of a line that a user is typing, with the names of commands and of objects of the
//! pipeline.

use crate::catalogue::{self, Command};
use crate::names::{Named, find};
use crate::words::placed;
use entities::schema::{Action, ActionProfile, ActionRef, MatchField, Table};
use p4runtime::p4info::Schema;

/// The ways in which the last word of a line can be completed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The position in the line, in bytes, of the word that is completed.
    pub start: usize,
    /// The words that can replace the unfinished word, in alphabetical order.
    pub words: Vec<String>,
}

/// Returns the words by which the last word of a line can be completed. They include the names of
/// objects of the pipeline, if there is one.
#[must_use]
pub fn complete(schema: Option<&Schema>, line: &str) -> Completion {
    let (mut found, quote) = placed(line);
    if quote.is_some() {
        return Completion { start: line.len(), words: Vec::new() };
    }
    let is_begun = !line.is_empty() && !line.ends_with(char::is_whitespace);
    let last = if is_begun { found.pop() } else { None };
    let (start, begun) = last.map_or((line.len(), String::new()), |word| (word.at, word.text));
    let before: Vec<String> = found.into_iter().map(|word| word.text).collect();
    let mut words = candidates(schema, &before, &begun);
    words.retain(|word| word.starts_with(&begun));
    words.sort();
    words.dedup();
    Completion { start, words }
}

fn candidates(schema: Option<&Schema>, before: &[String], begun: &str) -> Vec<String> {
    let names = || catalogue::all().map(|command| command.name);
    let Some(first) = before.first() else {
        return names().filter_map(first_word).collect();
    };
    if first == "help" {
        let rest = before.get(1..).unwrap_or_default().join(" ");
        return next_words(&rest, names());
    }
    let Some((command, count)) = catalogue::find(before) else {
        return if before.len() == 1 { next_words(first, names()) } else { Vec::new() };
    };
    let given = before.get(count..).unwrap_or_default();
    if begun.starts_with("--") {
        return options(command);
    }
    // A value has no completion, except that a translated type might have one.
    let given: Vec<&str> = without_options(given);
    schema.map_or_else(Vec::new, |schema| operands(schema, command, &given, begun))
}

fn first_word(name: &str) -> Option<String> {
    name.split(' ').next().map(|word| format!("{word} "))
}

/// Returns the words that follow the words `before` in any of the names.
fn next_words<'n>(before: &str, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    if before.is_empty() {
        return names.filter_map(first_word).collect();
    }
    let rest = |name: &str| {
        let rest = name.strip_prefix(before)?.strip_prefix(' ')?;
        Some(format!("{rest} "))
    };
    names.filter_map(rest).collect()
}

/// Returns the options that the synopsis of a command lists.
fn options(command: &Command) -> Vec<String> {
    let words = command.operands.split_whitespace();
    let words = words.map(|word| word.trim_matches(['[', ']']));
    words.filter(|word| word.starts_with("--")).map(|word| format!("{word} ")).collect()
}

/// Returns the words that are neither options nor values of options.
fn without_options(words: &[String]) -> Vec<&str> {
    let mut found = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.strip_prefix("--") {
            Some(option) if !option.contains('=') => {
                words.next();
            }
            Some(_) => {}
            None => found.push(word.as_str()),
        }
    }
    found
}

/// Returns the words that can complete an operand of a command. `given` are the complete words
/// before it, and `begun` is the beginning of the word.
fn operands(schema: &Schema, command: &Command, given: &[&str], begun: &str) -> Vec<String> {
    let first = command.operands.split_whitespace().next().unwrap_or_default();
    let kind = first.trim_matches(['[', ']']);
    match (kind, given) {
        ("TABLE", []) => shorts(schema.tables().iter()),
        ("TABLE", [name, rest @ ..]) => match find("table", name, schema.tables().iter()) {
            Ok(table) => of_table(schema, command, table, rest, begun),
            Err(_) => Vec::new(),
        },
        ("PROFILE" | "SELECTOR", []) => {
            let wanted = |profile: &&ActionProfile| kind == "PROFILE" || profile.with_selector;
            shorts(schema.action_profiles().iter().filter(wanted))
        }
        ("PROFILE", [name, rest @ ..]) => {
            match find("action profile", name, schema.action_profiles().iter()) {
                Ok(profile) => of_profile(schema, command, profile, rest),
                Err(_) => Vec::new(),
            }
        }
        ("NAME", []) => named(schema, command.name),
        ("NAME", [name, rest @ ..]) => match crate::arrays::counter(schema, name) {
            Ok(crate::arrays::Place::Table(table)) if command.name.starts_with("counter ") => {
                fields(&table.match_fields, rest, begun)
            }
            _ => Vec::new(),
        },
        ("HEXADECIMAL", [_, rest @ ..]) => {
            let fields = schema.packet_out().map_or(&[][..], |header| &header.fields);
            let names = fields.iter().map(|field| field.name.as_str());
            parameters(names, rest)
        }
        ("packets]" | "packets", _) => ["packets ", "digests ", "idle "].map(str::to_owned).into(),
        _ => Vec::new(),
    }
}

/// Returns the names that can follow a command about arrays, digests or value sets, namely the
/// names of all such objects in the pipeline.
fn named(schema: &Schema, command: &str) -> Vec<String> {
    let kind = command.split([' ', '_']).next().unwrap_or_default();
    match kind {
        "counter" => {
            let direct = shorts(schema.direct_counters().iter());
            [shorts(schema.counters().iter()), direct].concat()
        }
        "meter" => {
            let direct = shorts(schema.direct_meters().iter());
            [shorts(schema.meters().iter()), direct].concat()
        }
        "register" => shorts(schema.registers().iter()),
        "digest" => shorts(schema.digests().iter()),
        "value-set" | "pvs" => shorts(schema.value_sets().iter()),
        _ => Vec::new(),
    }
}

fn shorts<'o, T: Named + 'o>(all: impl Iterator<Item = &'o T>) -> Vec<String> {
    all.map(|one| format!("{} ", one.short())).collect()
}

/// Returns the words that can complete an operand after the name of a table.
fn of_table(
    schema: &Schema,
    command: &Command,
    table: &Table,
    given: &[&str],
    begun: &str,
) -> Vec<String> {
    let has = |word: &str| command.operands.split_whitespace().any(|one| one == word);
    let called = given.iter().position(|word| action(schema, &table.actions, word).is_some());
    let call = called.and_then(|at| {
        Some((action(schema, &table.actions, given.get(at)?)?, given.get(at + 1..)?))
    });
    match (has("FIELD=VALUE"), has("ACTION"), call) {
        // In simple_switch_CLI, parameters have no names, and the key follows the action.
        (false, true, Some((action, rest))) if command.name.contains(' ') => {
            parameters(action.params.iter().map(|param| param.name.as_str()), rest)
        }
        (true, true, Some((action, rest))) => {
            parameters(action.params.iter().map(|param| param.name.as_str()), rest)
        }
        (true, true, None) => {
            let mut words = fields(&table.match_fields, given, begun);
            words.extend(actions(schema, &table.actions));
            words
        }
        (true, false, _) => fields(&table.match_fields, given, begun),
        (false, true, None) => actions(schema, &table.actions),
        (false, true, Some(_)) | (false, false, _) => Vec::new(),
    }
}

/// Returns the words that can complete an operand after the name of an action profile.
fn of_profile(
    schema: &Schema,
    command: &Command,
    profile: &ActionProfile,
    given: &[&str],
) -> Vec<String> {
    let place = command.operands.split_whitespace().position(|word| word == "ACTION");
    let Some(place) = place.and_then(|place| place.checked_sub(1)) else { return Vec::new() };
    if given.len() == place {
        return actions(schema, &profile.actions);
    }
    let found = given.get(place).and_then(|name| action(schema, &profile.actions, name));
    match (found, given.get(place + 1..)) {
        (Some(action), Some(rest)) if command.name.contains(' ') => {
            parameters(action.params.iter().map(|param| param.name.as_str()), rest)
        }
        _ => Vec::new(),
    }
}

fn action<'s>(schema: &'s Schema, actions: &[ActionRef], name: &str) -> Option<&'s Action> {
    crate::entries::action(schema, actions, name).ok()
}

fn actions(schema: &Schema, actions: &[ActionRef]) -> Vec<String> {
    shorts(actions.iter().filter_map(|action| schema.actions().get(action.id)))
}

/// Returns `NAME=` for each parameter that has no value yet.
fn parameters<'n>(names: impl Iterator<Item = &'n str>, given: &[&str]) -> Vec<String> {
    let is_given = |name: &str| {
        given.iter().any(|word| word.split_once('=').is_some_and(|(given, _)| given == name))
    };
    names.filter(|name| !is_given(name)).map(|name| format!("{name}=")).collect()
}

/// Returns `FIELD=` for each field of a key that has no value yet. The short name of a field is
/// used if it is unique and begins with the word to complete, and the full name otherwise.
fn fields(fields: &[MatchField], given: &[&str], begun: &str) -> Vec<String> {
    let is_given = |field: &&MatchField| {
        given.iter().any(|word| {
            let name = word.split_once('=').map(|(name, _)| name);
            let known = name.and_then(|name| find("match field", name, fields.iter()).ok());
            known.is_some_and(|known| known.id == field.id)
        })
    };
    let left = fields.iter().filter(|field| !is_given(field));
    let name = |field: &MatchField| {
        let short = field.name.rsplit('.').next().unwrap_or(&field.name);
        let is_unique = find("match field", short, fields.iter()).is_ok();
        let short = if is_unique { short } else { &field.name };
        let name = if short.starts_with(begun) { short } else { &field.name };
        format!("{name}=")
    };
    left.map(name).collect()
}
