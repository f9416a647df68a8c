//! Tests of the checker: for each rule, programs that it accepts and programs that it refuses.

mod accepted;
mod facts;
mod fuzz;
mod refused;
mod rendered;

use super::check;
use crate::diagnostic::{Severity, Style};
use crate::parse_text;
use crate::preprocess::{MemoryFiles, Options};

/// Checks a program. Returns the kind and location (`line:column`) of each diagnostic of the given
/// severity, and all diagnostics as text.
fn diagnostics_of(text: &str, severity: Severity) -> (Vec<(&'static str, String)>, String) {
    let text = text.to_owned();
    ir::with_large_stack(move || {
        let mut parsed = parse_text("test.p4", &text, &Options::default(), &MemoryFiles::new());
        check(&parsed.program, &parsed.sources, &mut parsed.diagnostics);
        let found = parsed
            .diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.severity == severity)
            .map(|diagnostic| {
                let place = parsed.sources.location(diagnostic.primary.span);
                (diagnostic.kind, format!("{}:{}", place.line, place.column))
            })
            .collect();
        (found, parsed.diagnostics.render(&parsed.sources, Style::Plain))
    })
    .expect("a thread")
}

/// Fails if checking the program reports any error.
#[track_caller]
fn accepts(text: &str) {
    let (errors, shown) = diagnostics_of(text, Severity::Error);
    assert!(errors.is_empty(), "refused:\n{shown}\n{text}");
}

/// Fails unless checking the program reports errors, all of them of the given kind.
#[track_caller]
fn refuses(text: &str, kind: &str) {
    let (errors, shown) = diagnostics_of(text, Severity::Error);
    assert!(!errors.is_empty(), "accepted, but {kind} was expected:\n{text}");
    assert!(
        errors.iter().all(|(found, _)| *found == kind),
        "{kind} was expected:\n{shown}\n{text}"
    );
}

/// Fails unless checking the program reports no error and a warning of the given kind.
#[track_caller]
fn warns(text: &str, kind: &str) {
    accepts(text);
    let (warnings, shown) = diagnostics_of(text, Severity::Warning);
    assert!(
        warnings.iter().any(|(found, _)| *found == kind),
        "{kind} was expected:\n{shown}\n{text}"
    );
}

/// Fails if checking the program reports an error or a warning of the given kind.
#[track_caller]
fn does_not_warn(text: &str, kind: &str) {
    accepts(text);
    let (warnings, shown) = diagnostics_of(text, Severity::Warning);
    assert!(
        warnings.iter().all(|(found, _)| *found != kind),
        "{kind} was not expected:\n{shown}\n{text}"
    );
}

/// Declarations that most of the tests use.
const PRELUDE: &str = r"
#include <core.p4>
#include <v1model.p4>
enum Suits { Clubs, Hearts }
enum bit<8> E8 { A = 1, B = 2 } enum bit<8> F8 { A = 1, B = 2 }
type bit<9> Port;
header H { bit<8> a; bit<16> b; }
header V { bit<8> n; varbit<320> options; }
header_union U { H h; V v; }
struct S { bit<8> x; bit<16> y; }
struct G<T> { T f; bit<8> g; }
struct Headers { H h; H[4] hs; U u; V v; }
struct Meta { bit<8> m; bit<16> w; S s; E8 e; Suits su; error er; Port p; bool flag; int<8> i; G<bit<8>> g; bit<8>[4] arr; }
";

/// Returns a program with a control that has the given locals and `apply` block.
fn control(locals: &str, apply: &str) -> String {
    format!(
        "{PRELUDE}control C(inout Headers hdr, inout Meta m, in bit<8> ro, inout standard_metadata_t sm) {{\n\
         {locals}\napply {{\n{apply}\n}} }}\n"
    )
}

/// Returns a program with a parser that has the given locals and states.
fn parser(locals: &str, states: &str) -> String {
    format!(
        "{PRELUDE}parser P(packet_in p, out Headers hdr, inout Meta m, in bit<8> ro) {{\n{locals}\n{states}\n}}\n"
    )
}

/// Returns a program with the prelude and the given declarations.
fn program(declarations: &str) -> String {
    format!("{PRELUDE}{declarations}\n")
}

/// Returns a program with the given statements in an `apply` block.
fn statements(text: &str) -> String {
    control("bit<8> v = 1; bit<16> w = 2; bit<32> l = 3; bool q = true; int<8> n = 1;", text)
}
