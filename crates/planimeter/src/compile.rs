//! `planimeter compile`: checks a P4 program, and writes its P4Info, its initial entries, its
//! intermediate representation (IR) or its graphs.

mod constraints;
mod machine_code;
mod paths;
mod tree;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Parser, ValueEnum, ValueHint};
use ir::Program;
use ir::with_large_stack;
use p4lang::explain;
use p4lang::p4info::{self, P4InfoError};
use p4lang::preprocess::DiskFiles;
use p4lang::source::SourceMap;
use p4runtime::p4info::text;
use provenance::Provenance;
use report::page::document::{Document, Section, json};
use report::page::{Cell, Table};
use report::value::Value;
use statistics::Unit;

use crate::failure::Failure;
use crate::invocation;
use crate::output::layout;
use crate::program::{self, Sources, architecture};
use crate::testgen;

/// The largest width of the help in columns.
const WIDTH: usize = 100;
const ABOUT: &str = "Check a P4 program; emit P4Info and the IR";

const LONG_ABOUT: &str = "\
Check a P4 program; emit P4Info and the IR.

The program is P4_16 for v1model, PSA or PNA, or the output of p4c for BMv2 (a file that ends in .json). \
core.p4, v1model.p4, psa.p4 and pna.p4 are built in; a file of the same name in a directory of -I takes \
precedence. All errors of the program are printed on standard error, each with its place, and if there \
are any, no file is written.

Without any of the options below, one line on standard output says what was compiled.";

const OUTPUTS: &str = "\
Files:
  Where a file is written, `-` stands for standard output.

  --p4info   The P4Info message of P4Runtime, which controllers need. Identifiers and aliases are
             those that p4c assigns to the same program.
  --entries  The entries in the source, as a WriteRequest of P4Runtime.
  --ir       The checked program in the intermediate representation (IR) that all of Planimeter
             uses. The text format is for people. The JSON format is complete, and every command
             that reads a program also reads it.
  --graph    A graph of each parser and the control flow of each control, as SVG or for Graphviz,
             depending on the file's ending: .svg or .dot.

  --format chooses text, json or binary for all files except graphs. Without it, the ending of the
  file decides: .json, .bin, or anything else for text.";

const EXAMPLES: &str = "\
Examples:
  Check a program:
    planimeter compile programs/router.p4

  P4Info for a controller, as p4c --p4runtime-files writes it:
    planimeter compile programs/l2.p4 --p4info l2.p4info.txtpb

  The parts of a program, and the ways of packets through it:
    planimeter compile programs/router.p4 --explain --graph router.svg

  The constraints on what controllers may write:
    planimeter compile acl.p4 --constraints

  What no packet reaches, whatever the tables contain:
    planimeter compile programs/router.p4 --dead

  The same for other programs:
    planimeter compile programs/router.p4 --explain --json

  The parts of a program of which only the BMv2 JSON is available:
    planimeter compile l2.json --explain

  A program with included files and macros of its own:
    planimeter compile -I include -D WITH_IPV6 switch.p4

Exit status: 0 the program is correct; 2 it has errors, or a file cannot be read or written.";

/// The arguments of `planimeter compile`.
#[derive(Debug, Parser)]
#[command(
    name = "compile",
    about = ABOUT,
    long_about = LONG_ABOUT,
    after_long_help = format!("{OUTPUTS}\n\n{EXAMPLES}"),
    max_term_width = WIDTH
)]
pub(crate) struct Arguments {
    /// The program, as P4_16 source, BMv2 JSON, or the IR that --ir writes as JSON
    #[arg(value_name = "PROGRAM")]
    program: PathBuf,
    #[command(flatten)]
    sources: Sources,
    /// Write the P4Info of the program
    #[arg(long, value_name = "FILE")]
    p4info: Option<PathBuf>,
    /// Write the entries in the source as a P4Runtime WriteRequest
    #[arg(long, value_name = "FILE")]
    entries: Option<PathBuf>,
    /// Write the checked program in the intermediate representation (IR)
    #[arg(long, value_name = "FILE")]
    ir: Option<PathBuf>,
    /// Draw parsers and controls, as .svg or .dot
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::AnyPath,
        value_parser = PathBufValueParser::new().try_map(Drawing::to)
    )]
    graph: Option<Drawing>,
    /// The format of the files: text, json or binary [by their endings] (--ir: text or json)
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Print headers, parsers, tables, actions and externs as a tree, the functions of device
    /// models that a packet needs on each path through the program, and what machine code leaves to
    /// the interpreter
    #[arg(long)]
    explain: bool,
    /// List the constraints on entries and actions, from @entry_restriction and @action_restriction
    #[arg(long)]
    constraints: bool,
    /// List the statements, branches, parser states, select cases and actions that no packet
    /// reaches
    #[arg(long)]
    dead: bool,
    /// Print the program as P4 with includes and macros resolved
    #[arg(long)]
    pp: bool,
    /// Print what was compiled, and what --explain and --dead find, as JSON in the format of
    /// result.json
    #[arg(long, conflicts_with_all = ["pp", "constraints"])]
    json: bool,
}

impl Arguments {
    /// Returns the format in which a file is written: that of `--format`, or otherwise the one that
    /// the file's extension implies.
    fn format_of(&self, path: &Path) -> Format {
        let ending = || match path.extension().and_then(|extension| extension.to_str()) {
            Some("json") => Format::Json,
            Some("binary" | "bin") => Format::Binary,
            _ => Format::Text,
        };
        self.format.unwrap_or_else(ending)
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let started = arguments.json.then(invocation::start);
    let path = &arguments.program;
    let (program, sources) = program::load_with_sources(path, &arguments.sources)?;
    let refused = |errors: &[P4InfoError]| refused(path, &program, &sources, errors);
    if !program::is_compiled(path) {
        let faults = p4info::faults(&program);
        if !faults.is_empty() {
            return Err(refused(&faults));
        }
    }
    let mut outputs = Vec::new();
    if arguments.pp {
        outputs.push((PathBuf::from("-"), pretty(path, &arguments.sources)?.into_bytes()));
    }
    if let Some(started) = &started {
        let found = document(arguments, &program, started.provenance())?;
        outputs.push((PathBuf::from("-"), json::to_json(&found).into_bytes()));
    }
    if arguments.explain && !arguments.json {
        let tree = tree::wrapped(&explain::tree(&program), layout().width.clamp(80, 160));
        let (paths, code) = (paths::text(&program), machine_code::text(&program));
        outputs.push((PathBuf::from("-"), format!("{tree}{paths}{code}").into_bytes()));
    }
    if arguments.constraints {
        let info = p4info::generate(&program).map_err(|errors| refused(&errors))?;
        let list = constraints::list(&info).map_err(Failure::run)?;
        outputs.push((PathBuf::from("-"), list.into_bytes()));
    }
    if arguments.dead && !arguments.json {
        outputs.push((PathBuf::from("-"), testgen::dead(path, &program)?.into_bytes()));
    }
    // All outputs are produced before the first is written, so that a refused program leaves no
    // file behind.
    if let Some(to) = &arguments.p4info {
        outputs.push((to.clone(), p4info_bytes(&program, arguments.format_of(to), refused)?));
    }
    if let Some(to) = &arguments.entries {
        outputs.push((to.clone(), entries_bytes(&program, arguments.format_of(to), refused)?));
    }
    if let Some(to) = &arguments.ir {
        outputs.push((to.clone(), ir_bytes(&program, arguments.format_of(to))?));
    }
    if let Some(drawing) = &arguments.graph {
        outputs.push((drawing.path.clone(), drawing.draw(&program).into_bytes()));
    }
    if outputs.is_empty() {
        let count = |count: usize, one: &str, several: &str| {
            format!("{count} {}", if count == 1 { one } else { several })
        };
        println!(
            "{}: {}, {}, {}, {}",
            path.display(),
            architecture(&program),
            count(program.tables.len(), "table", "tables"),
            count(program.actions.len(), "action", "actions"),
            count(program.externs.len(), "extern instance", "extern instances"),
        );
    }
    for (to, bytes) in outputs {
        write(&to, &bytes)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns a document about the compiled program, with the results of `--explain` and `--dead` if
/// they are requested.
fn document(
    arguments: &Arguments,
    program: &Program,
    provenance: Provenance,
) -> Result<Document, Failure> {
    let path = &arguments.program;
    let count = |number: usize| Cell::from(Value::new(number as f64, Unit::Count));
    let columns = ["program", "architecture", "tables", "actions", "extern instances"];
    let mut table = Table::of_values("Program", columns);
    table.row([
        Cell::text(path.display().to_string()),
        Cell::text(architecture(program)),
        count(program.tables.len()),
        count(program.actions.len()),
        count(program.externs.len()),
    ]);
    let tree = explain::tree(program);
    let lines = tree.lines().filter(|_| arguments.explain);
    let mut sections = vec![Section {
        id: "program".to_owned(),
        title: "Program".to_owned(),
        text: lines.map(str::to_owned).collect(),
        tables: vec![table],
        ..Section::default()
    }];
    if arguments.explain {
        sections.extend([paths::section(program), machine_code::section(program)]);
    }
    if arguments.dead {
        sections.push(testgen::dead_section(path, program)?);
    }
    Ok(Document {
        kind: "compile",
        title: path.display().to_string(),
        findings: Vec::new(),
        notes: Vec::new(),
        partial: None,
        claims: Vec::new(),
        sections,
        provenance,
    })
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
    Binary,
}

/// A file into which the graph of a program is drawn, in the format that its extension implies.
#[derive(Debug, Clone)]
struct Drawing {
    path: PathBuf,
    draw: fn(&[explain::Graph]) -> String,
}

impl Drawing {
    fn to(path: PathBuf) -> Result<Self, &'static str> {
        let draw = match path.extension().and_then(|extension| extension.to_str()) {
            Some("svg") => explain::svg,
            Some("dot" | "gv") => explain::dot,
            _ => return Err("the name must end in .svg or .dot"),
        };
        Ok(Self { path, draw })
    }

    fn draw(&self, program: &Program) -> String {
        (self.draw)(&explain::graphs(program))
    }
}

fn p4info_bytes(
    program: &Program,
    format: Format,
    refused: impl Fn(&[P4InfoError]) -> Failure,
) -> Result<Vec<u8>, Failure> {
    let info = p4info::generate(program).map_err(|errors| refused(&errors))?;
    Ok(match format {
        Format::Text => text::print(&info).map_err(Failure::run)?.into_bytes(),
        Format::Json => text::print_json(&info).map_err(Failure::run)?.into_bytes(),
        Format::Binary => prost::Message::encode_to_vec(&info),
    })
}

fn entries_bytes(
    program: &Program,
    format: Format,
    refused: impl Fn(&[P4InfoError]) -> Failure,
) -> Result<Vec<u8>, Failure> {
    let request = p4info::entries(program).map_err(|errors| refused(&errors))?;
    Ok(match format {
        Format::Text => text::print(&request).map_err(Failure::run)?.into_bytes(),
        Format::Json => text::print_json(&request).map_err(Failure::run)?.into_bytes(),
        Format::Binary => prost::Message::encode_to_vec(&request),
    })
}

fn ir_bytes(program: &Program, format: Format) -> Result<Vec<u8>, Failure> {
    Ok(match format {
        Format::Text => program.to_text().into_bytes(),
        Format::Json => {
            let mut text = program.to_json().map_err(Failure::run)?;
            text.push('\n');
            text.into_bytes()
        }
        Format::Binary => {
            return Err(Failure::input("--ir has no binary form: write it as text or JSON"));
        }
    })
}

/// Prints the reasons why a program has no P4Info, and returns the failure of the command.
fn refused(path: &Path, program: &Program, sources: &SourceMap, errors: &[P4InfoError]) -> Failure {
    let name = path.display().to_string();
    eprint!("{}", p4info::render(program, errors, sources, &name, program::style()));
    Failure::input(format!("{name} has no P4Info"))
}

/// Returns the program as P4 source with includes and macros resolved. A program for PNA is
/// preprocessed for the version of PNA with which it compiles.
fn pretty(path: &Path, flags: &Sources) -> Result<String, Failure> {
    if program::is_compiled(path) {
        return Err(Failure::input("--pp prints P4 source and needs a program in P4 source"));
    }
    let mut options = flags.preprocessor();
    with_large_stack(|| {
        let compiled = p4lang::compile_file(path, &options, &DiskFiles)?;
        options.defines.extend(compiled.pna_version.map(str::to_owned));
        let parsed = p4lang::parse_file(path, &options, &DiskFiles)?;
        Ok(p4lang::print::print_program(&parsed.program))
    })
    .map_err(Failure::run)?
    .map_err(|error: std::io::Error| Failure::input(format!("{}: {error}", path.display())))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let written = if path == Path::new("-") {
        std::io::stdout().write_all(bytes)
    } else {
        in_its_folder(path, bytes)
    };
    written.map_err(|error| Failure::input(format!("cannot write {}: {error}", path.display())))
}

/// Writes `bytes` to the file at `path`. Creates the directory of the file if it is missing,
/// because a build directory such as `build/` may not exist yet.
fn in_its_folder(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, bytes)
}
