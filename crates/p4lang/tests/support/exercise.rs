//! The body of the fuzz target and of the smoke test: runs the compiler and the pretty printer on a
//! text.
//!
//! Apart from panics, it checks that
//! * a refused text has an error, and every diagnostic can be rendered;
//! * the pretty-printed form of an accepted text is accepted, and is printed unchanged;
//! * the output of the preprocessor parses to the same program.

use p4lang::diagnostic::{Diagnostics, Severity, Style};
use p4lang::preprocess::{MemoryFiles, Options, preprocess, print_preprocessed};
use p4lang::print::print_program;
use p4lang::source::SourceMap;
use p4lang::{compile_text, parse_text};

/// The result for a text, with which a test can check that some of its inputs are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Refused,
    Accepted,
}

/// Runs every stage on `data`. Panics if the results are inconsistent.
pub(crate) fn exercise(data: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(data);
    // The tree may be as deep as the parser allows, and debug builds need large stack frames.
    ir::with_large_stack(|| exercise_text(&text)).expect("a thread starts")
}

fn exercise_text(text: &str) -> Outcome {
    let files = MemoryFiles::new()
        .with("other.p4", "#pragma once\nconst int other = 1;\n")
        .with("itself.p4", "#include \"itself.p4\"\n");
    let options = Options::default();
    let parsed = parse_text("fuzz.p4", text, &options, &files);
    parsed.diagnostics.render(&parsed.sources, Style::Colour);
    for diagnostic in &parsed.diagnostics {
        let shown = diagnostic.render(&parsed.sources, Style::Plain);
        assert!(shown.contains(&diagnostic.message), "{shown}");
        let location = parsed.sources.location(diagnostic.primary.span);
        assert!(location.line >= 1 && location.column >= 1);
    }
    let errors = parsed.diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
    assert_eq!(parsed.diagnostics.has_errors(), errors > 0);
    let printed = print_program(&parsed.program);
    if parsed.diagnostics.has_errors() {
        return Outcome::Refused;
    }
    let again = parse_text("printed.p4", &printed, &options, &files);
    assert!(
        !again.diagnostics.has_errors(),
        "{text:?} is printed as\n{printed}\n{}",
        again.diagnostics.render(&again.sources, Style::Plain)
    );
    assert_eq!(print_program(&again.program), printed, "of {text:?}");
    assert_eq!(
        again.program.expression_count, parsed.program.expression_count,
        "{text:?} became\n{printed}"
    );

    let mut sources = SourceMap::new();
    let mut diagnostics = Diagnostics::new();
    let file = sources.add("fuzz.p4", text);
    let tokens = preprocess(file, &options, &files, &mut sources, &mut diagnostics);
    let expanded = print_preprocessed(&tokens, &sources);
    let third = parse_text("expanded.p4", &expanded, &options, &files);
    assert_eq!(print_program(&third.program), printed, "{text:?} was preprocessed to\n{expanded}");

    let compiled = compile_text("fuzz.p4", text, &options, &files);
    compiled.messages(Style::Plain);
    assert!(compiled.program.is_none() || !compiled.diagnostics.has_errors());
    Outcome::Accepted
}
