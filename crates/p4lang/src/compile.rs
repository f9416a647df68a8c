//! Compilation of P4 source to the IR with one call, which runs the front end, the checker, the
//! lowering and the validation of the IR.

use std::io;
use std::path::Path;

use crate::ast::Program;
use crate::diagnostic::{Diagnostic, Diagnostics, LIMIT, Style};
use crate::frontend::{Parsed, parse_text};
use crate::preprocess::{Files, Options};
use crate::source::{SourceMap, Span};
use crate::{check, lower, restrictions};
use ir::Violation;

/// The result of compiling a P4 program.
#[derive(Debug)]
pub struct Compiled {
    /// The program in the IR, or `None` if there were errors.
    pub program: Option<ir::Program>,
    /// The errors and warnings of all passes.
    pub diagnostics: Diagnostics,
    /// The source files of the program, to which the diagnostics refer.
    pub sources: SourceMap,
    /// The macro that selects the version of PNA for which the program was compiled, or `None` for
    /// the default version in the built-in pna.p4.
    pub pna_version: Option<&'static str>,
}

impl Compiled {
    /// Formats the errors and warnings as text.
    pub fn messages(&self, style: Style) -> String {
        self.diagnostics.render(&self.sources, style)
    }
}

/// Compiles a program and the files that it includes.
///
/// Passes recurse over the syntax tree, so untrusted programs should be compiled inside
/// [`ir::with_large_stack`].
///
/// # Errors
/// Returns an error if the file `path` cannot be read. All other errors are in
/// [`Compiled::diagnostics`].
pub fn compile_file(path: &Path, options: &Options, files: &dyn Files) -> io::Result<Compiled> {
    let text = files.read(path)?;
    Ok(compile_text(&path.display().to_string(), &text, options, files))
}

/// Compiles the program `text` and the files that it includes. Diagnostics use `name` as the file
/// name of the program.
pub fn compile_text(name: &str, text: &str, options: &Options, files: &dyn Files) -> Compiled {
    let mut best = compile_once(name, text, options, files);
    if !best.diagnostics.has_errors() || !includes_our_pna(&best.sources) {
        return best;
    }
    // Programs for different versions of PNA all include a file called pna.p4. The version for
    // which the program has the fewest errors is selected.
    for version in ["_PNA_0_5_", "_PNA_DEV_"] {
        let mut options = options.clone();
        options.defines.push(version.to_owned());
        let other = compile_once(name, text, &options, files);
        if other.diagnostics.error_count() < best.diagnostics.error_count() {
            best = Compiled { pna_version: Some(version), ..other };
        }
    }
    best
}

/// Returns whether a program itself includes the built-in pna.p4, with its default version of PNA,
/// and not a target-specific variant.
fn includes_our_pna(sources: &SourceMap) -> bool {
    let built_in = |name: &str| {
        sources.files().iter().any(|file| file.is_built_in() && file.name().ends_with(name))
    };
    built_in("pna.p4")
        && !["bmv2/pna.p4", "dpdk/pna.p4", "tc/pna.p4"].iter().any(|name| built_in(name))
}

fn compile_once(name: &str, text: &str, options: &Options, files: &dyn Files) -> Compiled {
    let Parsed { sources, program: tree, mut diagnostics } = parse_text(name, text, options, files);
    if diagnostics.has_errors() {
        return Compiled { program: None, diagnostics, sources, pna_version: None };
    }
    let checked = check::check_within(&tree, &sources, &options.limits, &mut diagnostics);
    let program = if diagnostics.has_errors() {
        None
    } else {
        lower::lower(&checked, &sources, &mut diagnostics)
    };
    let program = program.filter(|program| {
        let violation = program.validate_within(&options.limits).err();
        violation.is_none_or(|violation| {
            refuse(violation, program, &tree, &sources, &mut diagnostics);
            false
        })
    });
    let program = program.filter(|program| {
        let errors = diagnostics.error_count();
        restrictions::check(&tree, program, &sources, &mut diagnostics);
        diagnostics.error_count() == errors
    });
    Compiled { program, diagnostics, sources, pna_version: None }
}

/// Reports that the lowered program violates an invariant or a limit of the IR, with the location
/// in the source. Code that reads the IR would refuse the program as well, but could not report the
/// location.
fn refuse(
    violation: Violation,
    program: &ir::Program,
    tree: &Program,
    sources: &SourceMap,
    diagnostics: &mut Diagnostics,
) {
    let span = violation.location.and_then(|location| {
        let file = program.files.get(location.file as usize)?;
        sources.word_at(file, location.line, location.column)
    });
    let main = || tree.declarations.iter().rfind(|declaration| declaration.name.as_str() == "main");
    let span = span.or_else(|| main().map(|main| main.name.span));
    let span = span.unwrap_or_else(Span::nowhere);
    let diagnostic = match violation.limit {
        Some(_) => Diagnostic::error(LIMIT, span, violation.problem),
        None => {
            let message = format!("this cannot be run: {}", violation.problem);
            Diagnostic::error("unsupported", span, message)
        }
    };
    diagnostics.push(diagnostic.note(format!("it is in {}", violation.part)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preprocess::MemoryFiles;

    /// Compiles a PNA program whose deparser takes headers with `direction`. `pre` is the argument
    /// of `main` before the main control.
    fn nic(include: &str, direction: &str, pre: &str) -> Compiled {
        let text = format!(
            "#include {include}
            header h_t {{ bit<8> f; }}
            struct m_t {{ }}
            parser P(packet_in p, out h_t h, inout m_t m, in pna_main_parser_input_metadata_t i) {{
                state start {{ p.extract(h); transition accept; }}
            }}
            control Pre(in h_t h, inout m_t m, in pna_pre_input_metadata_t i,
                        inout pna_pre_output_metadata_t o) {{ apply {{ }} }}
            control C(inout h_t h, inout m_t m, in pna_main_input_metadata_t i,
                      inout pna_main_output_metadata_t o) {{ apply {{ send_to_port(i.input_port); }} }}
            control D(packet_out p, {direction} h_t h, in m_t m, in pna_main_output_metadata_t o) {{
                apply {{ p.emit(h); }}
            }}
            PNA_NIC(P(), {pre} C(), D()) main;"
        );
        // Only version 0.5 of PNA has the types of the control that precedes the main control.
        let text = if pre.is_empty() {
            text.lines().filter(|line| !line.contains("pna_pre_")).collect::<Vec<_>>().join("\n")
        } else {
            text
        };
        compile_text("nic.p4", &text, &Options::default(), &MemoryFiles::new())
    }

    #[test]
    fn the_version_of_pna_is_the_one_that_fits() {
        for (include, direction, pre, version) in [
            ("<pna.p4>", "in", "", None),
            ("<pna.p4>", "inout", "", Some("_PNA_DEV_")),
            ("<pna.p4>", "in", "Pre(),", Some("_PNA_0_5_")),
            ("<dpdk/pna.p4>", "in", "Pre(),", None),
            ("<bmv2/pna.p4>", "inout", "", None),
        ] {
            let compiled = nic(include, direction, pre);
            assert_eq!(compiled.messages(Style::Plain), "", "{include} {direction} {pre}");
            assert!(compiled.program.is_some());
            assert_eq!(compiled.pna_version, version, "{include} {direction} {pre}");
        }
    }

    #[test]
    fn a_named_version_of_pna_is_kept() {
        for (include, direction, pre) in
            [("<bmv2/pna.p4>", "in", ""), ("<dpdk/pna.p4>", "in", ""), ("<pna.p4>", "out", "")]
        {
            let compiled = nic(include, direction, pre);
            assert!(compiled.diagnostics.has_errors(), "{include} {direction} {pre}");
        }
    }
}
