//! Recognition of P4_14, the predecessor of P4_16. Its source files have the extension `.p4` too.
//!
//! Only programs with syntax errors are tested. The test searches for tokens with which
//! declarations begin in nearly every P4_14 program, and which do not occur in a P4_16 program,
//! even in one with common mistakes.

use crate::diagnostic::Diagnostic;
use crate::preprocess::Tokens;
use crate::source::Span;

/// The tokens with which P4_14 declarations start. `_` matches any name.
const DECLARATIONS: [&[&str]; 13] = [
    &["header_type", "_", "{"],
    &["metadata", "_", "_", ";"],
    &["field_list", "_", "{"],
    &["field_list_calculation", "_", "{"],
    &["calculated_field", "_", "."],
    &["table", "_", "{", "reads", "{"],
    &["table", "_", "{", "actions", "{"],
    &["parser", "_", "{", "extract", "("],
    &["parser", "_", "{", "return"],
    &["control", "_", "{", "apply", "("],
    &["counter", "_", "{", "type", ":"],
    &["register", "_", "{", "width", ":"],
    &["action_selector", "_", "{"],
];

/// If the program is written in P4_14, returns an error that says so and replaces all other errors.
/// Returns `None` otherwise.
pub(crate) fn recognise(tokens: &Tokens) -> Option<Diagnostic> {
    let span = (0..tokens.list.len()).find_map(|position| declaration(tokens, position))?;
    Some(
        Diagnostic::error("p4-14", span, "this is P4_14, but Planimeter reads P4_16")
            .label("P4_16 has no such declaration")
            .note(
                "p4c converts it, includes and all: p4test --std p4-14 OLD.p4 --pp NEW.p4 (older releases: --p4v 14); the \
                 result is P4_16 for v1model",
            ),
    )
}

/// Returns the span of the token at `position` if a P4_14 declaration starts there.
fn declaration(tokens: &Tokens, position: usize) -> Option<Span> {
    let text = |offset: usize| {
        let token = tokens.list.get(position + offset)?;
        Some(token.kind.text().unwrap_or_else(|| tokens.symbols.str(token.symbol)))
    };
    let is_name = |word: &str| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let fits = |words: &&[&str]| {
        words.iter().enumerate().all(|(offset, word)| match *word {
            "_" => text(offset).is_some_and(is_name),
            word => text(offset) == Some(word),
        })
    };
    DECLARATIONS.iter().find(|words| fits(words))?;
    tokens.list.get(position).map(|token| token.span)
}

#[cfg(test)]
mod tests {
    use crate::compile_text;
    use crate::diagnostic::Style;
    use crate::preprocess::{MemoryFiles, Options};

    fn messages(text: &str, files: &MemoryFiles) -> String {
        compile_text("old.p4", text, &Options::default(), files).messages(Style::Plain)
    }

    #[test]
    fn p4_14_is_one_error_that_says_so_and_how_to_convert_it() {
        let program = "#include <tofino/intrinsic_metadata.p4>
header_type ethernet_t { fields { dst : 48; src : 48; etype : 16; } }
header ethernet_t ethernet;
parser start { extract(ethernet); return ingress; }
action forward(port) { modify_field(standard_metadata.egress_spec, port); }
table l2 { reads { ethernet.dst : exact; } actions { forward; } size : 1024; }
control ingress { apply(l2); }
";
        insta::assert_snapshot!(messages(program, &MemoryFiles::new()));
    }

    #[test]
    fn each_declaration_is_recognised_alone_and_in_an_included_file() {
        for declaration in [
            "header_type h_t { fields { a : 8; } }",
            "metadata m_t m;",
            "field_list l { h.a; }",
            "field_list_calculation c { input { l; } algorithm : csum16; output_width : 16; }",
            "calculated_field h.a { verify c; }",
            "table t { reads { h.a : exact; } actions { a; } }",
            "table t { actions { a; } }",
            "parser start { extract(h); return ingress; }",
            "parser start { return ingress; }",
            "control ingress { apply(t); }",
            "counter c { type : packets; static : t; }",
            "register r { width : 32; instance_count : 4; }",
            "action_selector s { selection_key : c; }",
        ] {
            let files = MemoryFiles::new().with("headers.p4", declaration);
            for text in [declaration, "#include \"headers.p4\"\n"] {
                let found = messages(text, &files);
                assert!(found.contains("this is P4_14"), "{text}: {found}");
                assert!(found.contains("1 error"), "{text}: {found}");
            }
        }
    }

    /// Common mistakes in P4_16 do not look like P4_14.
    #[test]
    fn p4_16_with_errors_is_p4_16() {
        for text in [
            "control C { apply { } }",
            "parser P { state start { transition accept; } }",
            "control C() { table t { reads = { } } apply { } }",
            "control C() { table t { key = { x: exact } actions = { a; } } apply { t.apply() } }",
            "header h_t { bit<8> a }",
            "struct metadata { bit<8> a; } control C(in metadata m) { apply { metadata x = m } }",
            "const bit<8> register = ;",
        ] {
            let found = messages(text, &MemoryFiles::new());
            assert!(found.contains("error") && !found.contains("P4_14"), "{text}: {found}");
        }
    }
}
