//! From the name of a file to a program: what `compile`, `stf` and other verbs begin with.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, value_parser};
use ir::with_large_stack;
use ir::{Architecture, Program};
use p4lang::bmv2::load_bmv2_json;
use p4lang::compile_file;
use p4lang::diagnostic::Style;
use p4lang::preprocess::{DiskFiles, Options};
use p4lang::source::SourceMap;

use crate::failure::Failure;

/// Heading of the arguments below in the manual.
const HEADING: &str = "The program";

/// What programs are compiled with: `-I`, `-D`, `-U`, `--arch`.
pub(crate) fn arguments() -> [Arg; 4] {
    [
        Arg::new("include")
            .short('I')
            .value_name("DIR")
            .action(ArgAction::Append)
            .value_parser(value_parser!(PathBuf))
            .help_heading(HEADING)
            .help("Look for included files here, before the built-in architectures"),
        Arg::new("define")
            .short('D')
            .value_name("NAME[=VALUE]")
            .action(ArgAction::Append)
            .help_heading(HEADING)
            .help("Define a macro; its value is 1 if none is given"),
        Arg::new("undefine")
            .short('U')
            .value_name("NAME")
            .action(ArgAction::Append)
            .help_heading(HEADING)
            .help("Take a macro back"),
        Arg::new("arch")
            .long("arch")
            .value_name("ARCHITECTURE")
            .value_parser(PossibleValuesParser::new(["v1model", "psa", "pna"]))
            .help_heading(HEADING)
            .help("Refuse programs of another architecture; `main` says which one it is"),
    ]
}

/// What the command line says about the preprocessor.
pub(crate) fn preprocessor(matches: &ArgMatches) -> Options {
    let words = |name: &str| {
        matches.get_many::<String>(name).unwrap_or_default().cloned().collect::<Vec<String>>()
    };
    Options {
        include_directories: matches
            .get_many::<PathBuf>("include")
            .unwrap_or_default()
            .cloned()
            .collect(),
        defines: words("define"),
        undefines: words("undefine"),
        ..Options::default()
    }
}

/// Whether a file is what a compiler made of a source: BMv2 JSON, or the IR. Its ending says so.
pub(crate) fn is_compiled(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

/// Reads a program, P4, BMv2 JSON or the IR, and says on standard error what is wrong with it.
pub(crate) fn load(path: &Path, matches: &ArgMatches) -> Result<Program, Failure> {
    load_with_sources(path, matches).map(|(program, _)| program)
}

/// Reads a program as [`load`] does, and returns the files that it was read from; there are none
/// for BMv2 JSON and the IR.
pub(crate) fn load_with_sources(
    path: &Path,
    matches: &ArgMatches,
) -> Result<(Program, SourceMap), Failure> {
    if let Some(what) = something_else(path) {
        return Err(Failure::input(format!("{}: {what}", path.display())));
    }
    let (program, sources) = if is_compiled(path) {
        (load_json(path)?, SourceMap::new())
    } else {
        compile(path, &preprocessor(matches))?
    };
    match matches.get_one::<String>("arch") {
        Some(wanted) if wanted != architecture(&program) => Err(Failure::input(format!(
            "{}: --arch {wanted}, but `main` makes it a program for {}",
            path.display(),
            architecture(&program)
        ))),
        _ => Ok((program, sources)),
    }
}

/// What a file is by its ending, where that is none of a program: an error for each of its lines would help nobody.
fn something_else(path: &Path) -> Option<&'static str> {
    Some(match path.extension()?.to_str()? {
        "stf" => {
            "this is a script; name the program before it: planimeter stf PROGRAM.p4 SCRIPT.stf"
        }
        "txtpb" | "txt" => {
            "this is text, P4Info perhaps, and no program; name the P4 source, or the JSON that p4c made of it"
        }
        "toml" => {
            "this is a file of settings, and no program; name the P4 source, or the JSON that p4c made of it"
        }
        "md" => {
            "this is a document, and no program; name the P4 source, or the JSON that p4c made of it"
        }
        "pcap" | "pcapng" => {
            "this is a capture, and no program; name the P4 source, or the JSON that p4c made of it"
        }
        _ => return None,
    })
}

/// As `--arch` has it.
pub(crate) fn architecture(program: &Program) -> &str {
    match &program.architecture {
        Architecture::V1model => "v1model",
        Architecture::Psa => "psa",
        Architecture::Pna => "pna",
        Architecture::Other(name) if name.is_empty() => "no architecture",
        Architecture::Other(name) => name,
    }
}

fn load_json(path: &Path) -> Result<Program, Failure> {
    let text = read(path)?;
    if Program::is_json(&text) {
        return Program::from_json(&text).map_err(|error| unreadable(path, &error));
    }
    with_large_stack(|| load_bmv2_json(&text))
        .map_err(Failure::run)?
        .map_err(|error| Failure::input(format!("{}: {error}", path.display())))
}

fn compile(path: &Path, options: &Options) -> Result<(Program, SourceMap), Failure> {
    let compiled = with_large_stack(|| compile_file(path, options, &DiskFiles))
        .map_err(Failure::run)?
        .map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
    eprint!("{}", compiled.messages(style()));
    match compiled.program {
        Some(program) => Ok((program, compiled.sources)),
        None => Err(Failure::input(format!("{} was not compiled", path.display()))),
    }
}

/// Whether messages have colours.
pub(crate) fn style() -> Style {
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    if colour { Style::Colour } else { Style::Plain }
}

/// The text of a file.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    input::read_text(path).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::input(format!("{}: {error}", path.display()))
}
