//! Translation of BMv2 JSON to the IR. The compiler p4c-bm2-ss writes this format, and controllers
//! send it to switches as `p4_device_config`.
//!
//! The JSON describes a v1model program in which all parsers and controls are inlined, and so does
//! the resulting IR. Headers, stacks and unions become the fields of one struct. The fields of all
//! metadata headers become those of a second, flat struct, with names such as `scalars.tmp`. The
//! third struct is `standard_metadata`, with the fields that v1model declares. All parsers and
//! controls share these three variables, so an action that both pipelines use exists only once.
//! BMv2 computes with arbitrary-precision integers and truncates on assignment. `expression.rs`
//! determines fixed widths for which the results are the same.

mod expression;
mod flow;
mod headers;
mod json;
mod objects;
mod operand;
mod parser;
mod pipeline;
mod primitive;

use std::collections::HashMap;

use serde::Deserialize;

use headers::Layout;
use ir::{CompileLimits, Violation};
use json::Document;

/// An error for BMv2 JSON that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Bmv2Error {
    /// The text is not JSON, or not JSON of the expected shape.
    #[error("not BMv2 JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The JSON object does not describe a program.
    #[error(
        "not BMv2 JSON: it has neither `header_types` nor `parsers` nor `pipelines`; give the file that p4c-bm2-ss \
         writes, or the program's source"
    )]
    NoProgram,
    /// The version of the format is not supported.
    #[error(
        "BMv2 JSON version {major}.{minor} is not supported, only 2.x is: compile again with p4c-bm2-ss"
    )]
    Version {
        /// The major version number.
        major: u32,
        /// The minor version number.
        minor: u32,
    },
    /// The JSON is nested more deeply than the output of any compiler.
    #[error("not BMv2 JSON: nested more than {limit} levels deep")]
    Depth {
        /// The largest nesting depth that is read.
        limit: usize,
    },
    /// The program exceeds one of the [`CompileLimits`].
    #[error("BMv2 JSON, {0}")]
    Exceeded(Violation),
    /// The content of the JSON violates the format, or uses a feature that is not supported.
    #[error("BMv2 JSON, {part}: {problem}")]
    Content {
        /// The element of the JSON that has the problem, such as a table.
        part: String,
        /// A description of the problem.
        problem: String,
    },
}

/// The largest nesting depth of the JSON. Each operator of an expression adds three levels.
const DEPTH_LIMIT: usize = 1_500;

/// Translates BMv2 JSON to the IR, with the default [`CompileLimits`].
///
/// # Errors
/// Returns a [`Bmv2Error`] if the text is not a supported program or exceeds a limit.
pub fn load_bmv2_json(text: &str) -> Result<ir::Program, Bmv2Error> {
    load_bmv2_json_within(text, &CompileLimits::default())
}

/// Translates BMv2 JSON to the IR, with the given limits.
///
/// # Errors
/// Returns a [`Bmv2Error`] if the text is not a supported program or exceeds a limit.
pub fn load_bmv2_json_within(text: &str, limits: &CompileLimits) -> Result<ir::Program, Bmv2Error> {
    if ir::nesting(text) > DEPTH_LIMIT {
        return Err(Bmv2Error::Depth { limit: DEPTH_LIMIT });
    }
    ir::with_large_stack(|| load(text, limits)).map_err(|error| {
        content("the program", format!("no thread can be started to read it: {error}"))
    })?
}

fn load(text: &str, limits: &CompileLimits) -> Result<ir::Program, Bmv2Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.disable_recursion_limit();
    let document = Document::deserialize(&mut deserializer)?;
    deserializer.end()?;
    if let Some(meta) = &document.meta
        && meta.version.0 != 2
    {
        let (major, minor) = meta.version;
        return Err(Bmv2Error::Version { major, minor });
    }
    // Each part of a program is optional, so any JSON object, such as a settings file, would
    // otherwise be taken for an empty program.
    let (types, parsers) = (&document.header_types, &document.parsers);
    if types.is_empty() && parsers.is_empty() && document.pipelines.is_empty() {
        return Err(Bmv2Error::NoProgram);
    }
    if let Some(object) = document.extern_instances.first() {
        return Err(content(
            format!("extern `{}`", object.name),
            "instances of extern objects are not supported: compile the program's source instead",
        ));
    }
    if document.parsers.len() > 1 {
        return Err(content(
            "the program",
            "it has more than one parser, as programs for PSA have: compile the program's source instead",
        ));
    }
    let is_known = |name: &str| matches!(name, "ingress" | "egress");
    if let Some(other) = document.pipelines.iter().find(|pipeline| !is_known(&pipeline.name)) {
        return Err(content(
            format!("pipeline `{}`", other.name),
            "it is neither `ingress` nor `egress`, which are those of v1model: compile the program's source instead",
        ));
    }
    let mut loader = Loader::new(&document)?;
    loader.objects()?;
    loader.actions()?;
    loader.profiles()?;
    let package = loader.blocks()?;
    loader.program.main = package;
    loader.program.validate_within(limits).map_err(|violation| match violation.limit {
        Some(_) => Bmv2Error::Exceeded(violation),
        None => content(violation.part, violation.problem),
    })?;
    Ok(loader.program)
}

fn content(part: impl Into<String>, problem: impl Into<String>) -> Bmv2Error {
    Bmv2Error::Content { part: part.into(), problem: problem.into() }
}

type Outcome<T = ()> = Result<T, Bmv2Error>;

/// A direct meter and the field that receives its color, before an action of the meter's table
/// runs.
struct DirectMeter {
    meter: ir::ExternId,
    result: Option<(String, String)>,
}

/// The state of translating one JSON document.
struct Loader<'d> {
    document: &'d Document,
    program: ir::Program,
    layout: Layout,
    /// The element of the JSON that is being translated. Error messages name it.
    part: String,
    /// The translated statements of the block (an action, parser state or pipeline) that is being
    /// translated.
    block: ir::Block,
    /// The parameters of the action that is being translated, with their widths in bits.
    runtime_data: Vec<(ir::VariableId, u32)>,
    /// The actions, by the ids that they have in the JSON.
    actions: HashMap<i64, ir::ActionId>,
    externs: HashMap<String, ir::ExternId>,
    /// The action profiles and selectors by name.
    profiles: HashMap<String, ir::ExternId>,
    /// The direct meters, by the name of the table to which each belongs.
    direct_meters: HashMap<String, DirectMeter>,
    direct_counters: HashMap<String, Vec<ir::ExternId>>,
    value_sets: HashMap<String, ir::ValueSetId>,
    hash_algorithm: ir::TypeId,
    clone_type: ir::TypeId,
    /// The source files that locations refer to, by name.
    files: HashMap<String, u32>,
}

impl<'d> Loader<'d> {
    fn new(document: &'d Document) -> Outcome<Self> {
        let mut program = ir::Program::empty(ir::Architecture::V1model);
        let layout = Layout::new(document, &mut program)?;
        let mut enumeration = |name: &str, members: &[&str]| {
            let id = ir::EnumId(program.types.enums.len() as u32);
            program.types.enums.push(ir::EnumType {
                name: name.to_owned(),
                members: members.iter().map(|member| (*member).to_owned()).collect(),
                annotations: Vec::new(),
            });
            program.types.intern(ir::Type::Enum(id))
        };
        let hash_algorithm = enumeration("HashAlgorithm", &objects::HASH_ALGORITHMS);
        let clone_type = enumeration("CloneType", &["I2E", "E2E"]);
        Ok(Self {
            document,
            program,
            layout,
            part: String::new(),
            block: Vec::new(),
            runtime_data: Vec::new(),
            actions: HashMap::new(),
            externs: HashMap::new(),
            profiles: HashMap::new(),
            direct_meters: HashMap::new(),
            direct_counters: HashMap::new(),
            value_sets: HashMap::new(),
            hash_algorithm,
            clone_type,
            files: HashMap::new(),
        })
    }

    fn fail<T>(&self, problem: impl Into<String>) -> Outcome<T> {
        Err(content(self.part.clone(), problem))
    }

    fn location(&mut self, info: Option<&json::SourceInfo>) -> Option<ir::Location> {
        let info = info?;
        let name = info.filename.as_ref().filter(|name| !name.is_empty())?;
        let (line, column) = (info.line?, info.column.unwrap_or(0).saturating_add(1));
        let file = match self.files.get(name) {
            Some(file) => *file,
            None => {
                let file = self.program.files.len() as u32;
                self.program.files.push(name.clone());
                self.files.insert(name.clone(), file);
                file
            }
        };
        Some(ir::Location { file, line, column })
    }

    fn variable(&mut self, name: &str, type_id: ir::TypeId) -> ir::VariableId {
        let id = ir::VariableId(self.program.variables.len() as u32);
        self.program.variables.push(ir::Variable { name: name.to_owned(), type_id });
        id
    }

    fn bit_type(&mut self, width: u32) -> ir::TypeId {
        self.program.types.intern(ir::Type::Bits { width, signed: false })
    }

    fn push(&mut self, kind: ir::StatementKind) {
        self.block.push(ir::Statement { location: None, kind });
    }

    fn collect(&mut self, write: impl FnOnce(&mut Self) -> Outcome) -> Outcome<ir::Block> {
        let outer = std::mem::take(&mut self.block);
        let outcome = write(self);
        let block = std::mem::replace(&mut self.block, outer);
        outcome.map(|()| block)
    }
}
