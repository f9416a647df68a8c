//! The part of `planimeter compile --explain` about machine code: whether packets go in bursts, and
//! what is left to the interpreter.

use super::paths::wrapped;
use ir::Program;
use pipeline::{Compiled, Switch};

/// Returns a line that says how packets run in machine code, and a list of what the interpreter runs
/// for it, each with its place in the source.
pub(super) fn text(program: &Program) -> String {
    let switch = match Switch::new(program.clone()) {
        Ok(switch) => switch,
        Err(error) => return wrapped("", &format!("machine code: {error}")),
    };
    let code = match Compiled::new(&switch) {
        Ok(code) => code,
        Err(error) => return wrapped("", &format!("machine code: {error}")),
    };
    let way = match code.one_by_one() {
        Some(why) => format!("machine code: packets one by one, because {why}"),
        None => "machine code: packets in bursts".to_owned(),
    };
    let mut text = wrapped("", &format!("{way}; the interpreter runs"));
    let left: Vec<String> =
        code.interpreted().map(|(place, what)| format!("{place}: {what}")).collect();
    if left.is_empty() {
        return wrapped("", &format!("{way}; the interpreter runs nothing"));
    }
    left.iter().for_each(|one| text.push_str(&wrapped("  ", one)));
    text
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
