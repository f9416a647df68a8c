//! The part of `planimeter compile --explain` about machine code: whether it processes packets in
//! bursts, and which statements it leaves to the interpreter.

use super::paths::wrapped;
use ir::Program;
use pipeline::{Compiled, Switch};
use report::page::document::Section;
use report::page::{Cell, Table};

/// Returns a line that says whether machine code processes packets in bursts, and a list of the
/// statements that it leaves to the interpreter, each with its position in the source.
pub(super) fn text(program: &Program) -> String {
    let Code { way, interpreted } = match Code::of(program) {
        Ok(code) => code,
        Err(error) => return wrapped("", &error),
    };
    if interpreted.is_empty() {
        return wrapped("", &format!("{way}; the interpreter runs nothing"));
    }
    let mut text = wrapped("", &format!("{way}; the interpreter runs"));
    for Left { place, what } in interpreted {
        text.push_str(&wrapped("  ", &format!("{place}: {what}")));
    }
    text
}

/// Returns the content of [`text`] as a section of a document, which other programs can read.
pub(super) fn section(program: &Program) -> Section {
    let mut section = Section {
        id: "machine-code".to_owned(),
        title: "Machine code".to_owned(),
        ..Section::default()
    };
    match Code::of(program) {
        Err(error) => section.text.push(error),
        Ok(Code { way, interpreted }) => {
            section.text.push(way);
            let mut table = Table::of_values("Interpreted", ["place", "operation"]);
            for Left { place, what } in interpreted {
                table.row([Cell::text(place), Cell::text(what)]);
            }
            section.tables.push(table);
        }
    }
    section
}

/// The result of generating machine code for a program.
struct Code {
    /// A description of how the machine code processes packets.
    way: String,
    interpreted: Vec<Left>,
}

/// An operation that machine code leaves to the interpreter.
struct Left {
    place: String,
    what: String,
}

impl Code {
    /// Generates machine code for a program. Returns the reason instead if the program has no
    /// machine code.
    fn of(program: &Program) -> Result<Self, String> {
        let switch =
            Switch::new(program.clone()).map_err(|error| format!("machine code: {error}"))?;
        let code = Compiled::new(&switch).map_err(|error| format!("machine code: {error}"))?;
        let way = match code.one_by_one() {
            Some(why) => format!("machine code: packets one by one, because {why}"),
            None => "machine code: packets in bursts".to_owned(),
        };
        let left =
            |(place, what): (&str, &str)| Left { place: place.to_owned(), what: what.to_owned() };
        Ok(Self { way, interpreted: code.interpreted().map(left).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use p4lang::preprocess::{MemoryFiles, Options};

    fn explained(key: &str) -> String {
        let source = format!(
            "#include <v1model.p4>
            header R {{ bit<1024> a; bit<8> b; }} struct H {{ R r; }} struct M {{ }}
            parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {{
                state start {{ p.extract(h.r); transition accept; }} }}
            control V(inout H h, inout M m) {{ apply {{ }} }}
            control I(inout H h, inout M m, inout standard_metadata_t s) {{
                action to(bit<9> port) {{ s.egress_spec = port; }}
                table t {{ key = {{ {key} }} actions = {{ to; }} const default_action = to(1); }}
                apply {{ t.apply(); }} }}
            control E(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ }} }}
            control C(inout H h, inout M m) {{ apply {{ }} }}
            control D(packet_out p, in H h) {{ apply {{ p.emit(h); }} }}
            V1Switch(P(), V(), I(), E(), C(), D()) main;"
        );
        let compiled =
            p4lang::compile_text("wide.p4", &source, &Options::default(), &MemoryFiles::default());
        text(&compiled.program.expect("a program"))
    }

    #[test]
    fn lookups_that_are_left_to_the_interpreter_are_listed() {
        assert_eq!(
            explained("h.r.a: exact;"),
            "machine code: packets in bursts; the interpreter runs nothing\n"
        );
        let text = explained("h.r.a: exact; h.r.b: exact;");
        assert!(text.contains("the interpreter runs\n  wide.p4:8:"), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains("the lookup in table I.t (the key has more than 1024 bits)")
                || words.contains("a key of more than 64 bits"),
            "{text}"
        );
    }
}
