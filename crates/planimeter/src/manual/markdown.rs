//! The reference manual in Markdown, with a page for each subcommand.

use std::fmt::Write;

use clap::{Arg, Command};

use super::{full_name, verbs};

/// The comment at the start of each page, which says that the page is generated.
const MADE: &str = "<!-- Written by `planimeter manual markdown docs/reference`. -->\n\n";

/// Returns the Markdown pages of all subcommands, each with its file name and content. The first
/// page is a table of contents.
pub(super) fn pages(command: &Command) -> Vec<(String, Vec<u8>)> {
    let mut contents = format!("{MADE}# Reference\n\nThe verbs, and every option of each.\n\n");
    let mut pages = Vec::new();
    for verb in verbs(command) {
        let file = format!("{}.md", verb.get_name());
        let about = plain(verb.get_about().map(ToString::to_string).unwrap_or_default());
        line(&mut contents, format_args!("* [`{}`]({file}): {about}", full_name(verb)));
        let mut text = MADE.to_owned();
        page(verb, 1, &mut text);
        pages.push((file, text.into_bytes()));
    }
    pages.insert(0, ("README.md".to_owned(), contents.into_bytes()));
    pages
}

fn page(command: &Command, depth: usize, text: &mut String) {
    line(text, format_args!("{} `{}`\n", "#".repeat(depth), full_name(command)));
    let about = command.get_long_about().or_else(|| command.get_about());
    if let Some(about) = about {
        line(text, format_args!("{}\n", plain(about.to_string())));
    }
    let usage = command.clone().render_usage().to_string();
    let usage: Vec<String> = usage
        .trim_start_matches("Usage: ")
        .lines()
        .map(|usage| format!("`{}`", usage.trim()))
        .collect();
    line(text, format_args!("Usage: {}\n", usage.join(" or ")));
    for (heading, arguments) in by_heading(command) {
        line(text, format_args!("{} {heading}\n", "#".repeat(depth + 1)));
        arguments.iter().for_each(|argument| item(argument, text));
        text.push('\n');
    }
    if let Some(after) = command.get_after_long_help().or_else(|| command.get_after_help()) {
        let after = after.to_string();
        let indented: Vec<String> = after.lines().map(|line| format!("    {line}")).collect();
        line(text, format_args!("{}\n", indented.join("\n").replace("    \n", "\n")));
    }
    verbs(command).for_each(|verb| page(verb, depth + 1, text));
}

/// Groups the visible arguments of a command by their headings, in the order of the manual.
fn by_heading(command: &Command) -> Vec<(String, Vec<&Arg>)> {
    let mut headings: Vec<(String, Vec<&Arg>)> = Vec::new();
    let shown = command.get_arguments().filter(|argument| {
        !argument.is_hide_set() && !matches!(argument.get_id().as_str(), "help" | "version")
    });
    for argument in shown {
        let heading = match argument.get_help_heading() {
            Some(heading) => heading,
            None if argument.is_positional() => "Arguments",
            None => "Options",
        };
        match headings.iter_mut().find(|(name, _)| name == heading) {
            Some((_, arguments)) => arguments.push(argument),
            None => headings.push((heading.to_owned(), vec![argument])),
        }
    }
    headings
}

fn item(argument: &Arg, text: &mut String) {
    let mut names: Vec<String> = Vec::new();
    names.extend(argument.get_short().map(|short| format!("-{short}")));
    names.extend(argument.get_long().map(|long| format!("--{long}")));
    let values: Vec<String> = argument
        .get_value_names()
        .unwrap_or_default()
        .iter()
        .map(ToString::to_string)
        .filter(|_| argument.get_action().takes_values())
        .collect();
    let spelled = match (names.is_empty(), values.is_empty()) {
        (true, _) => values.join(" "),
        (false, true) => names.join(", "),
        (false, false) => format!("{} {}", names.join(", "), values.join(" ")),
    };
    let help = argument.get_long_help().or_else(|| argument.get_help());
    let mut help = plain(help.map(ToString::to_string).unwrap_or_default());
    if !help.ends_with(['.', ']', ')']) {
        help.push('.');
    }
    let _ = write!(text, "* `{spelled}`: {}", help.replace('\n', "\n  "));
    let possible: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !possible.is_empty() && argument.get_action().takes_values() {
        let _ = write!(text, " One of {}.", possible.join(", "));
    }
    let defaults: Vec<String> = argument
        .get_default_values()
        .iter()
        .map(|value| format!("`{}`", value.to_string_lossy()))
        .filter(|_| argument.get_action().takes_values())
        .collect();
    if !defaults.is_empty() {
        let _ = write!(text, " Default: {}.", defaults.join(", "));
    }
    text.push('\n');
}

/// Converts help text to Markdown. Removes trailing spaces, makes a code block of lines that the
/// terminal shows indented, and escapes angle brackets in all others.
fn plain(text: String) -> String {
    let line = |line: &str| match line.starts_with("  ") {
        // Indented text is a table, whose columns a code block keeps.
        true => format!("  {}", line.trim_end()),
        false => line.trim_end().replace('<', "&lt;").replace('>', "&gt;"),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string never fails.
    let _ = text.write_fmt(line);
    text.push('\n');
}
