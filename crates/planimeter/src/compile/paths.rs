//! What a packet costs on each way through a program, in the parts that device models are made of.

use super::tree;
use device::program::{Path, PathError, paths};
use ir::Program;

/// Columns of a terminal.
const WIDTH: usize = 80;

/// Ways that are shown; more help nobody.
const MOST: usize = 12;

/// Every way through the program that differs in its parts, the one with most parts first.
pub(super) fn text(program: &Program) -> String {
    let mut found = match paths(program) {
        Ok(found) => found,
        Err(PathError::TooMany { most, place }) => {
            return wrapped(
                "",
                &format!("paths: more than {most} differ, in {place}; they are not listed"),
            );
        }
        Err(error) => return wrapped("", &format!("paths: {error}")),
    };
    found.sort_by(|a, b| {
        let parts = |path: &Path| path.parts.values().sum::<u32>();
        parts(b).cmp(&parts(a)).then_with(|| a.decisions.cmp(&b.decisions))
    });
    let ways: u64 = found.iter().map(|path| path.ways).sum();
    let mut text = format!("{ways} ways through it, {} with different parts\n", found.len());
    for path in found.iter().take(MOST) {
        let decisions = match path.decisions.as_slice() {
            [] => "always the same".to_owned(),
            decisions => decisions.join("; "),
        };
        text.push_str(&wrapped("  ", &decisions));
        let parts: Vec<String> = path
            .parts
            .iter()
            .map(|(part, count)| match count {
                1 => part.clone(),
                count => format!("{count} x {part}"),
            })
            .collect();
        text.push_str(&wrapped("    ", &parts.join("; ")));
        match path.ways {
            1 => {}
            2 => text.push_str("    and so is one more way\n"),
            ways => text.push_str(&format!("    and so are {} more ways\n", ways - 1)),
        }
    }
    if found.len() > MOST {
        text.push_str(&format!("  and {} with fewer parts\n", found.len() - MOST));
    }
    text
}

/// Lines of a terminal's width, broken at blanks.
fn wrapped(indent: &str, words: &str) -> String {
    let parts = tree::parts(words, WIDTH - indent.len(), 0);
    parts.iter().map(|part| format!("{indent}{part}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use p4lang::preprocess::{MemoryFiles, Options};

    #[test]
    fn every_way_is_told_with_its_parts() {
        let source = "#include <v1model.p4>
            header e_t { bit<8> a; bit<16> b; }
            struct H { e_t e; e_t f; }
            struct M { }
            parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
                state start { p.extract(h.e); transition select(h.e.a) { 1: more; default: accept; } }
                state more { p.extract(h.f); transition accept; }
            }
            control I(inout H h, inout M m, inout standard_metadata_t s) {
                action to(bit<9> port) { s.egress_spec = port; h.e.b = h.e.b - 1; }
                table t { key = { h.e.b: lpm; } actions = { to; NoAction; } }
                apply { t.apply(); }
            }
            control V(inout H h, inout M m) { apply { } }
            control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
            control D(packet_out p, in H h) { apply { p.emit(h); } }
            V1Switch(P(), V(), I(), E(), V(), D()) main;";
        let compiled =
            p4lang::compile_text("p.p4", source, &Options::default(), &MemoryFiles::default());
        let shown = text(&compiled.program.expect("it compiles"));
        assert!(shown.lines().all(|line| line.chars().count() <= WIDTH), "{shown}");
        insta::assert_snapshot!(shown);
    }
}
