//! Tests of `@entry_restriction` and `@action_restriction` in programs: which constraints are
//! refused, and the position of the error inside the string.

use p4lang::diagnostic::{Severity, Style};
use p4lang::preprocess::{MemoryFiles, Options};

/// Returns a program with annotations before its table `acl` and its action `send`.
fn program(before: &str, of_table: &str, of_action: &str, rest: &str) -> String {
    format!(
        "#include <core.p4>
#include <v1model.p4>
{before}
header ethernet_t {{ bit<48> dst; bit<48> src; bit<16> type; }}
header ipv4_t {{ bit<32> src; bit<32> dst; bit<8> protocol; }}
struct headers_t {{ ethernet_t ethernet; ipv4_t ipv4; }}
@p4runtime_translation(\"\", string)
@p4runtime_translation_mappings({{ {{ \"\", 0 }} }})
type bit<10> vrf_t;
struct metadata_t {{ vrf_t vrf; }}
parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {{
    state start {{ p.extract(h.ethernet); p.extract(h.ipv4); transition accept; }}
}}
control V(inout headers_t h, inout metadata_t m) {{ apply {{}} }}
control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {{
    {of_action}
    action send(@name(\"port\") bit<9> to) {{ s.egress_spec = to; }}
    {of_table}
    table acl {{
        key = {{
            h.ipv4.isValid(): exact @name(\"is_ipv4\");
            h.ipv4.dst: ternary @name(\"dst\");
            m.vrf: optional @name(\"vrf_id\");
            h.ipv4.protocol: ternary;
        }}
        actions = {{ send; NoAction; }}
        {rest}
    }}
    apply {{ acl.apply(); }}
}}
control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {{ apply {{}} }}
control D(packet_out p, in headers_t h) {{ apply {{ p.emit(h); }} }}
V1Switch(P(), V(), I(), E(), V(), D()) main;
"
    )
}

/// Returns the diagnostics of a program as text, and whether it was accepted.
fn compiled(text: &str) -> (String, bool) {
    let text = text.to_owned();
    ir::with_large_stack(move || {
        let options = Options { defines: vec!["WITH_VRF=1".to_owned()], ..Options::default() };
        let compiled = p4lang::compile_text("acl.p4", &text, &options, &MemoryFiles::new());
        let kinds = compiled.diagnostics.iter().filter(|one| one.severity == Severity::Error);
        assert!(
            kinds.into_iter().all(|one| one.kind == "constraint"),
            "{}",
            compiled.messages(Style::Plain)
        );
        (compiled.messages(Style::Plain), compiled.program.is_some())
    })
    .expect("a thread")
}

/// Fails unless the only message is this one, at the text that is marked in the program.
#[track_caller]
fn reports(text: &str, marked: &str, message: &str, accepted: bool) {
    let (shown, is_accepted) = compiled(text);
    assert_eq!(is_accepted, accepted, "{shown}");
    let mut lines = shown.lines();
    let first = lines.next().unwrap_or("");
    assert!(first.ends_with(message), "{shown}");
    let (source, carets) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
    let start = carets.find('^').unwrap_or_else(|| panic!("no carets: {shown}"));
    let length = carets.matches('^').count();
    assert_eq!(source.get(start..start + length), Some(marked), "{shown}");
}

const NO_KEY: &str = "error[constraint]: constraint on the entries: the table has no key `dts`";

#[test]
fn constraints_that_are_right_are_accepted() {
    let (shown, accepted) = compiled(&program(
        "",
        "@entry_restriction(\"
            // Addresses of IPv4 packets only.
            dst::mask != 0 -> is_ipv4 == 1;
            vrf_id != 0;
            h.ipv4.protocol::mask == 0 || h.ipv4.protocol::mask == -1;
        \")",
        "@action_restriction(\"port != 0 && port < 0x100\")",
        "const default_action = send(3);",
    ));
    assert_eq!((shown.as_str(), accepted), ("", true));
}

#[test]
fn an_error_has_its_place_inside_a_string_of_several_lines() {
    let text = |of_table| program("", of_table, "", "");
    reports(&text("@entry_restriction(\"dts::mask != 0\")"), "dts", NO_KEY, false);
    reports(
        &text("@entry_restriction(\"\n  dst == 1;\n\t  // é\n  is_ipv4 == 1 -> dts == 1;\n\")"),
        "dts",
        NO_KEY,
        false,
    );
    reports(
        &text("@entry_restriction(\"is_ipv4 == 1\n\n   == 0\")"),
        "==",
        "comparisons do not associate",
        false,
    );
    reports(
        &text("@entry_restriction(\"dst < \n 5\")"),
        "dst < ",
        "a `ternary<32>` has no order",
        false,
    );
    reports(
        &text("@entry_restriction(\"(dst == 1\")"),
        "\"",
        "an operator or `)` was expected",
        false,
    );
    reports(
        &text("@entry_restriction(\"h.ipv4.protocol::value == 300\")"),
        "300",
        "warning[constraint]: constraint on the entries: 300 does not fit a `bit<8>`",
        true,
    );
    reports(
        &text("@entry_restriction(\"vrf_id != 7\")"),
        "7",
        "no string of `vrf_id` stands for 7",
        true,
    );
}

#[test]
fn an_error_has_its_place_in_joined_literals_and_after_directives() {
    let text = |of_table| program("", of_table, "", "");
    reports(&text("@entry_restriction(\"is_ipv4 == 1; \" ++ \"dts == 1\")"), "dts", NO_KEY, false);
    reports(
        &text("@entry_restriction(\"is_ipv4 == 1; \"\n    \"dts == 1\")"),
        "dts",
        NO_KEY,
        false,
    );
    reports(
        &text(
            "@entry_restriction(\"\n#ifdef WITH_VRF\n  vrf_id != 0;\n#else\n  oh no;\n#endif\n  dts == 1;\n\")",
        ),
        "dts",
        NO_KEY,
        false,
    );
}

#[test]
fn the_line_of_a_string_from_a_macro_is_in_a_note() {
    let text =
        program("#define RULES \"is_ipv4 == 1; dts == 1\"", "@entry_restriction(RULES)", "", "");
    let (shown, accepted) = compiled(&text);
    assert!(
        !accepted && shown.lines().next().is_some_and(|line| line.ends_with(NO_KEY)),
        "{shown}"
    );
    let note = "note: line 1, column 15 of the string: `is_ipv4 == 1; dts == 1`";
    assert!(shown.contains(note), "{shown}");
}

#[test]
fn constraints_of_actions_are_about_parameters() {
    reports(
        &program("", "", "@action_restriction(\"to != 0\")", ""),
        "to",
        "error[constraint]: constraint on the arguments: the action has no parameter `to`",
        false,
    );
    reports(
        &program("", "", "@entry_restriction(\"port != 0\")", ""),
        "@entry_restriction(\"port != 0\")",
        "warning[constraint]: `@entry_restriction` has no effect on an action",
        true,
    );
    reports(
        &program("", "", "@action_restriction(port)", ""),
        "@action_restriction(port)",
        "error[constraint]: `@action_restriction` takes one string",
        false,
    );
    reports(
        &program("", "@entry_restriction[\"dst == 1\"]", "", ""),
        "@entry_restriction[\"dst == 1\"]",
        "error[constraint]: a constraint stands in parentheses",
        false,
    );
}

#[test]
fn entries_and_default_actions_in_the_source_meet_the_constraints() {
    let without_vrf = |text: String| text.replace("m.vrf: optional @name(\"vrf_id\");", "");
    let entries = |list: &str| {
        without_vrf(program(
            "",
            "@entry_restriction(\"dst::mask != 0 -> is_ipv4 == 1\")",
            "@action_restriction(\"port != 0\")",
            &format!("const entries = {{\n{list}\n}}"),
        ))
    };
    let (shown, accepted) = compiled(&entries("(true, 0x0a000000 &&& 0xff000000, _): send(1);"));
    assert_eq!((shown.as_str(), accepted), ("", true));
    let (shown, accepted) = compiled(&entries("(false, 0x0a000000 &&& 0xff000000, _): send(1);"));
    assert!(!accepted);
    assert!(
        shown.contains(
            "this entry is refused: the constraint `dst::mask != 0 -> is_ipv4 == 1` does not hold \
             for dst = 0xa000000 &&& 0xff000000, is_ipv4 = 0"
        ),
        "{shown}"
    );
    let (shown, accepted) = compiled(&entries("(true, _, _): send(0);"));
    assert!(!accepted && shown.contains("`port != 0` does not hold for port = 0"), "{shown}");
    let text = without_vrf(program(
        "",
        "",
        "@action_restriction(\"port != 0\")",
        "default_action = send(0);",
    ));
    let (shown, accepted) = compiled(&text);
    assert!(!accepted && shown.contains("the default action is refused"), "{shown}");
}
