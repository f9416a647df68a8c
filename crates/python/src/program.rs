//! P4 programs: compiled from source, with diagnostics as objects.

use std::path::{Path, PathBuf};

use ir::with_large_stack;
use p4lang::device_config::{from_device_config, to_pipeline_config};
use p4lang::diagnostic::{Diagnostic, Style};
use p4lang::preprocess::{DiskFiles, Options};
use p4lang::source::SourceMap;
use p4runtime::proto::config::P4Info;
use p4runtime::proto::v1::ForwardingPipelineConfig;
use prost::Message as _;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors::{Fault, Kind};

/// A compiled P4 program, with its P4Info.
#[pyclass(frozen, module = "planimeter._native")]
pub(crate) struct Program {
    config: ForwardingPipelineConfig,
}

/// The result of a compilation: the program, if there is one, and the diagnostics.
type Compiled<'py> = (Option<Program>, Vec<Bound<'py, PyDict>>);

/// A diagnostic, as the constructor of its Python class takes it.
struct Found {
    severity: &'static str,
    kind: &'static str,
    what: String,
    place: String,
    notes: Vec<String>,
    text: String,
}

impl Found {
    fn new(diagnostic: &Diagnostic, sources: &SourceMap) -> Self {
        Self {
            severity: diagnostic.severity.name(),
            kind: diagnostic.kind,
            what: diagnostic.message.clone(),
            place: sources.location(diagnostic.primary.span).to_string(),
            notes: diagnostic.notes.clone(),
            text: diagnostic.render(sources, Style::Plain),
        }
    }

    fn dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("severity", self.severity)?;
        dict.set_item("kind", self.kind)?;
        dict.set_item("what", &self.what)?;
        dict.set_item("where", &self.place)?;
        dict.set_item("notes", &self.notes)?;
        dict.set_item("text", &self.text)?;
        Ok(dict)
    }
}

/// Compiles P4 source.
fn compiled(path: &Path, options: &Options) -> Result<(Option<ir::Program>, Vec<Found>), Fault> {
    let place = path.display().to_string();
    let compile = || p4lang::compile_file(path, options, &DiskFiles);
    let compiled = with_large_stack(compile)
        .map_err(|error| Fault::new(Kind::System, error.to_string()))?
        .map_err(|error| Fault::new(Kind::Program, error.to_string()).at(place))?;
    let found = compiled.diagnostics.iter();
    let found = found.map(|one| Found::new(one, &compiled.sources)).collect();
    Ok((compiled.program, found))
}

/// Reads a compiled program: BMv2 JSON, or the IR.
fn read(path: &Path) -> Result<ir::Program, Fault> {
    let place = path.display().to_string();
    let bytes = input::read(path)
        .map_err(|error| Fault::new(Kind::Program, error.to_string()).at(place.as_str()))?;
    from_device_config(&bytes).map_err(|error| {
        Fault::new(Kind::Program, error.message().to_owned())
            .at(place)
            .mended_by("name the P4 source, or the JSON that p4c made of it")
    })
}

/// Returns the configuration of a program, which has its P4Info.
fn configured(program: &ir::Program, path: &Path) -> Result<ForwardingPipelineConfig, Fault> {
    to_pipeline_config(program).map_err(|error| {
        Fault::new(Kind::Program, format!("no P4Info can be made of the program: {error}"))
            .at(path.display().to_string())
            .mended_by("test it with an STF script: planimeter stf PROGRAM.p4 SCRIPT.stf")
    })
}

#[pymethods]
impl Program {
    /// Compiles the program in a file. Returns no program if there are errors.
    #[staticmethod]
    fn compile<'py>(
        py: Python<'py>,
        path: PathBuf,
        include: Vec<PathBuf>,
        defines: Vec<String>,
    ) -> PyResult<Compiled<'py>> {
        let (program, found) = py.detach(|| {
            let is_json = path.extension().is_some_and(|extension| extension == "json");
            let (program, found) = if is_json {
                (Some(read(&path)?), Vec::new())
            } else {
                let options =
                    Options { include_directories: include, defines, ..Options::default() };
                compiled(&path, &options)?
            };
            let config = program.as_ref().map(|program| configured(program, &path)).transpose()?;
            Ok::<_, Fault>((config.map(|config| Self { config }), found))
        })?;
        let found = found.iter().map(|one| one.dict(py)).collect::<PyResult<_>>()?;
        Ok((program, found))
    }

    /// Returns the program that `pickled` returned the bytes of.
    #[staticmethod]
    fn unpickled(bytes: &[u8]) -> PyResult<Self> {
        let config = ForwardingPipelineConfig::decode(bytes)
            .map_err(|error| Fault::new(Kind::Program, format!("it is no program: {error}")))?;
        Ok(Self { config })
    }

    /// Returns the program as bytes.
    fn pickled<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.config.encode_to_vec())
    }

    /// The P4Info, as an encoded message.
    #[getter]
    fn p4info<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.info().encode_to_vec())
    }

    /// The P4Info in the text form of protocol buffers.
    #[getter]
    fn p4info_text(&self) -> PyResult<String> {
        p4runtime::p4info::text::print(&self.info())
            .map_err(|error| Fault::new(Kind::Internal, error.to_string()).into())
    }
}

impl Program {
    /// Returns the pipeline as a controller would push it.
    pub(crate) fn config(&self) -> &ForwardingPipelineConfig {
        &self.config
    }

    fn info(&self) -> P4Info {
        self.config.p4info.clone().unwrap_or_default()
    }
}
