//! The loading of programs from files, for `compile`, `stf` and other commands.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::Args;
use ir::with_large_stack;
use ir::{Architecture, Program};
use p4lang::bmv2::load_bmv2_json;
use p4lang::diagnostic::Style;
use p4lang::preprocess::{DiskFiles, MemoryFiles, Options};
use p4lang::source::SourceMap;
use p4lang::{compile_file, compile_text};
use p4runtime::p4info::GivenNumbers;
use p4runtime::proto::config::P4Info;
use p4runtime::proto::v1::ForwardingPipelineConfig;

use crate::failure::Failure;
use crate::mappings::Mappings;

/// The heading of the flags in [`Sources`] in the manual.
pub(crate) const HEADING: &str = "The program";

/// The architectures of P4 programs that `--arch` may name.
const ARCHITECTURES: [&str; 3] = ["v1model", "psa", "pna"];

/// The flags that say how P4 sources are read: `-I`, `-D`, `-U`, `--arch`.
#[derive(Debug, Default, Clone, Args)]
pub(crate) struct Sources {
    /// Look for included files in this directory, before the built-in architectures
    #[arg(short = 'I', value_name = "DIR", help_heading = HEADING)]
    include: Vec<PathBuf>,
    /// Define a macro; its value is 1 if none is given
    #[arg(short = 'D', value_name = "NAME[=VALUE]", help_heading = HEADING)]
    define: Vec<String>,
    /// Undefine a macro
    #[arg(short = 'U', value_name = "NAME", help_heading = HEADING)]
    undefine: Vec<String>,
    /// Refuse programs of another architecture than this one
    #[arg(long, value_name = "ARCHITECTURE", value_parser = ARCHITECTURES, help_heading = HEADING)]
    arch: Option<String>,
    /// Read numbers of strings of translated types from this TOML file
    #[arg(
        long,
        value_name = "FILE",
        help_heading = HEADING,
        long_help = "Read numbers of strings of translated types (@p4runtime_translation with string) from this TOML file, \
                     in addition to those that @p4runtime_translation_mappings in the program gives. It has a table for \
                     each type, with a number for each string: [vrf_id_t] and \"vrf-1\" = 1."
    )]
    mappings: Option<PathBuf>,
}

impl Sources {
    /// Returns the options of the P4 preprocessor that the flags select.
    pub(crate) fn preprocessor(&self) -> Options {
        Options {
            include_directories: self.include.clone(),
            defines: self.define.clone(),
            undefines: self.undefine.clone(),
            ..Options::default()
        }
    }

    /// Returns the numbers of the file that `--mappings` names, by type.
    pub(crate) fn numbers(&self) -> Result<GivenNumbers, Failure> {
        let mappings = self.mappings.as_deref().map(Mappings::read).transpose()?;
        Ok(mappings.map(Mappings::numbers).unwrap_or_default())
    }
}

/// Returns whether a file contains a compiled program (BMv2 JSON or the IR), according to its
/// extension.
pub(crate) fn is_compiled(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

/// Reads a program from P4 source, BMv2 JSON or the IR. Prints the compiler's messages on standard
/// error.
pub(crate) fn load(path: &Path, flags: &Sources) -> Result<Program, Failure> {
    load_with_sources(path, flags).map(|(program, _)| program)
}

/// Reads a program like [`load`], and returns the program and its source files. Programs in BMv2
/// JSON or the IR have no source files.
pub(crate) fn load_with_sources(
    path: &Path,
    flags: &Sources,
) -> Result<(Program, SourceMap), Failure> {
    if let Some(what) = something_else(path) {
        return Err(Failure::input(format!("{}: {what}", path.display())));
    }
    let (mut program, sources) = if is_compiled(path) {
        (load_json(path)?, SourceMap::new())
    } else {
        compile(path, &flags.preprocessor())?
    };
    if let Some(file) = &flags.mappings {
        Mappings::read(file)?.annotate(&mut program)?;
    }
    match &flags.arch {
        Some(wanted) if wanted != architecture(&program) => Err(Failure::input(format!(
            "{}: --arch {wanted}, but `main` makes it a program for {}",
            path.display(),
            architecture(&program)
        ))),
        _ => Ok((program, sources)),
    }
}

/// Returns a message about a file whose extension shows that it contains no program, or `None` for
/// other files. If such a file were compiled, each of its lines would cause an error.
fn something_else(path: &Path) -> Option<&'static str> {
    Some(match path.extension()?.to_str()? {
        "stf" => {
            "this is a script; name the program before it: planimeter stf PROGRAM.p4 SCRIPT.stf"
        }
        "txtpb" | "txt" => {
            "this is text, perhaps P4Info, and not a program; name the P4 source, or the JSON that p4c made of it"
        }
        "toml" => {
            "this is a file of settings and not a program; name the P4 source, or the JSON that p4c made of it"
        }
        "md" => {
            "this is a document and not a program; name the P4 source, or the JSON that p4c made of it"
        }
        "pcap" | "pcapng" => {
            "this is a capture and not a program; name the P4 source, or the JSON that p4c made of it"
        }
        _ => return None,
    })
}

/// Returns the name of the program's architecture in the form that `--arch` accepts.
pub(crate) fn architecture(program: &Program) -> &str {
    match &program.architecture {
        Architecture::V1model => "v1model",
        Architecture::Psa => "psa",
        Architecture::Pna => "pna",
        Architecture::Other(name) if name.is_empty() => "no architecture",
        Architecture::Other(name) => name,
    }
}

/// Returns the pipeline in files, as a controller pushes it: a program in P4 source, BMv2 JSON or
/// the IR, or a P4Info in text form and a device configuration.
pub(crate) fn pipeline(
    files: &[&str],
    flags: &Sources,
) -> Result<ForwardingPipelineConfig, Failure> {
    let of = |file: &str, why: String| Failure::input(format!("{file}: {why}"));
    match files {
        [file] => {
            let path = Path::new(file);
            let program = load(path, flags)?;
            let made = p4lang::device_config::to_pipeline_config(&program);
            let made = made.map_err(Failure::input)?;
            // Other switches than this one read BMv2 JSON, and not the IR.
            let text = if is_compiled(path) { Some(read(path)?) } else { None };
            Ok(match text.filter(|text| !Program::is_json(text)) {
                Some(bmv2) => {
                    ForwardingPipelineConfig { p4_device_config: bmv2.into_bytes().into(), ..made }
                }
                None => made,
            })
        }
        [p4info, program] => {
            let parsed = p4info_in(Path::new(p4info))?;
            let bytes =
                input::read(Path::new(program)).map_err(|why| of(program, why.to_string()))?;
            Ok(ForwardingPipelineConfig {
                p4info: Some(parsed),
                p4_device_config: bytes.into(),
                cookie: None,
            })
        }
        _ => {
            Err(Failure::input("a pipeline is one program, or a P4Info and a device configuration"))
        }
    }
}

/// Reads a P4Info in text form.
pub(crate) fn p4info_in(path: &Path) -> Result<P4Info, Failure> {
    let parsed = p4runtime::p4info::text::parse(&read(path)?);
    parsed.map_err(|why| Failure::input(format!("{}: it is no P4Info: {why}", path.display())))
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

/// Compiles a program that is part of this one.
pub(crate) fn embedded(name: &str, source: &str) -> Result<Program, Failure> {
    let options = Options::default();
    let compile = || compile_text(name, source, &options, &MemoryFiles::default());
    let compiled = with_large_stack(compile).map_err(Failure::run)?;
    let messages = compiled.messages(Style::Plain);
    compiled.program.ok_or_else(|| Failure::run(messages))
}

/// Returns the style of compiler messages, which has colours if standard error is a terminal and
/// `NO_COLOR` is not set.
pub(crate) fn style() -> Style {
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    if colour { Style::Colour } else { Style::Plain }
}

/// Reads a text file. Errors name the file.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    input::read_text(path).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::input(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_configuration_without_an_end_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let p4info = folder.path().join("p4info.txtpb");
        std::fs::write(&p4info, "").expect("there is room");
        let files = [p4info.to_str().expect("a name"), "/dev/zero"];
        let refused = pipeline(&files, &Sources::default()).expect_err("it has no end");
        let refused = refused.to_string();
        assert!(refused.contains("/dev/zero: it is longer than"), "{refused}");
    }
}
