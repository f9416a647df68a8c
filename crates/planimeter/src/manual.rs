//! `planimeter manual`: man pages, shell completions and the reference of the book, from the definitions that parse the
//! command line.
//!
//! roff and completion scripts are made by the crates of clap's own family, which know its definitions. Markdown is made
//! here: what those crates leave out (headings of options, defaults, examples) is what the reference is for.

mod markdown;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::PossibleValue;
use clap::{Command, Parser, ValueEnum};
use clap_complete::Shell;

use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
    planimeter manual man ~/.local/share/man/man1
    planimeter manual bash ~/.local/share/bash-completion/completions
    planimeter manual zsh ~/.zfunc";

/// What is written.
#[derive(Debug, Clone, Copy)]
enum Format {
    Man,
    Markdown,
    Completions(Shell),
}

impl ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self::Man,
            Self::Markdown,
            Self::Completions(Shell::Bash),
            Self::Completions(Shell::Zsh),
            Self::Completions(Shell::Fish),
            Self::Completions(Shell::Elvish),
            Self::Completions(Shell::PowerShell),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Man => Some(PossibleValue::new("man").help("A man page for each verb")),
            Self::Markdown => Some(
                PossibleValue::new("markdown").help("The reference of the book, docs/reference"),
            ),
            Self::Completions(shell) => shell.to_possible_value(),
        }
    }
}

/// The arguments of the verb.
#[derive(Debug, Parser)]
#[command(
    name = "manual",
    about = "Write man pages, shell completions or the reference",
    after_help = EXAMPLES
)]
pub(crate) struct Arguments {
    /// What to write
    #[arg(value_name = "FORMAT")]
    format: Format,
    /// Where; it is made if it is not there, and files of the same names are replaced
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Arguments { format, directory } = arguments;
    let unwritable = |path: &Path, error: std::io::Error| {
        Failure::input(format!("{} cannot be written: {error}", path.display()))
    };
    fs::create_dir_all(directory).map_err(|error| unwritable(directory, error))?;
    for (name, text) in files(*format, crate::command()).map_err(Failure::run)? {
        let path = directory.join(name);
        fs::write(&path, text).map_err(|error| unwritable(&path, error))?;
        println!("{}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// The files of a format, by name.
fn files(format: Format, mut command: Command) -> std::io::Result<Vec<(String, Vec<u8>)>> {
    // Arguments that clap adds by itself are there then, and usage lines have the whole name.
    command.build();
    match format {
        Format::Man => {
            let mut pages = Vec::new();
            man(&command, &mut pages)?;
            Ok(pages)
        }
        Format::Markdown => Ok(markdown::pages(&command)),
        Format::Completions(shell) => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut command, "planimeter", &mut script);
            let name = match shell {
                Shell::Zsh => "_planimeter".to_owned(),
                Shell::Fish => "planimeter.fish".to_owned(),
                Shell::Elvish => "planimeter.elv".to_owned(),
                Shell::PowerShell => "planimeter.ps1".to_owned(),
                _ => "planimeter".to_owned(),
            };
            Ok(vec![(name, script)])
        }
    }
}

/// The page of a command and those of its verbs, as `planimeter-device-measure.1`.
fn man(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> std::io::Result<()> {
    let name = full_name(command).replace(' ', "-");
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).title(name.to_uppercase()).render(&mut page)?;
    pages.push((format!("{name}.1"), page));
    verbs(command).try_for_each(|verb| man(verb, pages))
}

/// `planimeter device measure`.
fn full_name(command: &Command) -> String {
    command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned()
}

/// Its verbs, without clap's own `help`.
fn verbs(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|verb| verb.get_name() != "help" && !verb.is_hide_set())
}

#[cfg(test)]
mod tests;
