//! Tests of verbs that print figures and leave no run directory: the figures of their JSON are
//! those of their text.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::command::{planimeter, stderr, stdout};

/// A program with two branches that exclude each other.
const BRANCHES: &str = "#include <core.p4>
#include <v1model.p4>
header t { bit<8> x; }
struct H { t a; } struct M { bit<8> x; bit<16> y; bit<24> z; }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
    state start { p.extract(h.a); transition accept; }
}
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    apply {
        if (h.a.x > 100) { m.x = 1; if (h.a.x < 50) { m.y = 2; } }
        s.egress_spec = 1;
    }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in H h) { apply { p.emit(h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
";

/// Writes the program into a folder, and returns its path.
fn program(folder: &Path) -> PathBuf {
    let path = folder.join("branches.p4");
    std::fs::write(&path, BRANCHES).expect("a file");
    path
}

/// Runs a verb, and returns what it prints.
fn printed(verb: &str, arguments: &[&str]) -> String {
    let output = planimeter(verb, arguments);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    stdout(&output)
}

/// Runs a verb with `--json`, checks the form of the result, and returns it.
fn as_json(verb: &str, arguments: &[&str]) -> Value {
    let text = printed(verb, &[arguments, &["--json"]].concat());
    let result: Value = serde_json::from_str(&text).expect("JSON");
    let schema = serde_json::from_str(report::page::document::json::SCHEMA).expect("a schema");
    let validator = jsonschema::validator_for(&schema).expect("the schema compiles");
    if let Err(error) = validator.validate(&result) {
        panic!("{error} at {}", error.instance_path());
    }
    result
}

/// Returns the rows of the table with a caption, each as its cells by the names of their columns.
fn rows(result: &Value, caption: &str) -> Vec<Map<String, Value>> {
    let sections = result["sections"].as_array().expect("sections");
    let mut tables =
        sections.iter().flat_map(|section| section["tables"].as_array().expect("tables"));
    let table = tables.find(|table| table["caption"] == caption);
    let table = table.unwrap_or_else(|| panic!("{caption}: {result}"));
    let columns = table["columns"].as_array().expect("columns");
    let names = columns.iter().map(|column| column.as_str().expect("a name").to_owned());
    let names: Vec<String> = names.collect();
    let rows = table["rows"].as_array().expect("rows").iter();
    let row = |row: &Value| -> Map<String, Value> {
        let cells = row.as_array().expect("cells").iter().cloned();
        names.iter().cloned().zip(cells).collect()
    };
    rows.map(row).collect()
}

/// Returns the number in a cell.
fn number(row: &Map<String, Value>, column: &str) -> f64 {
    row[column]["value"].as_f64().unwrap_or_else(|| panic!("{column}: {row:?}"))
}

#[test]
fn an_explained_program_has_the_paths_of_the_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = program(folder.path()).display().to_string();
    let text = printed("compile", &[&path, "--explain"]);
    let result = as_json("compile", &[&path, "--explain"]);
    let paths = rows(&result, "Paths");
    let ways: f64 = paths.iter().map(|path| number(path, "ways")).sum();
    let line = format!("{ways} ways through it, {} with different parts", paths.len());
    assert!(text.contains(&line), "{line}: {text}");
    assert_eq!(paths.len(), 3, "{text}");
    // The two branches with their comparisons and assignments are the most expensive.
    let parts = paths[0]["parts"].as_str().expect("parts");
    assert!(parts.contains("assign 16") && parts.contains("2 x branch"), "{parts}");
    let of_program = &rows(&result, "Program")[0];
    let one_line = printed("compile", &[&path]);
    let counts = [("tables", "table"), ("actions", "action")].map(|(column, one)| {
        let count = number(of_program, column);
        format!("{count} {}", if count == 1.0 { one } else { column })
    });
    let words = format!(": v1model, {}", counts.join(", "));
    assert!(one_line.contains(&words), "{one_line}: {result}");
}

#[test]
fn what_tests_reach_is_the_same_as_text_and_as_json() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = program(folder.path()).display().to_string();
    let text = printed("testgen", &[&path]);
    let result = as_json("testgen", &[&path]);
    let tests = number(&rows(&result, "Tests")[0], "number");
    assert!(text.contains(&format!(": {tests} test")), "{tests}: {text}");
    let kinds = rows(&result, "Parts of the program");
    for kind in &kinds {
        let name = kind["kind"].as_str().expect("a name");
        let line = text.lines().find(|line| line.trim_start().starts_with(name));
        let line = line.unwrap_or_else(|| panic!("{name}: {text}"));
        let counts = format!("{} of {}", number(kind, "reached"), number(kind, "all"));
        assert!(line.contains(&counts), "{counts}: {line}");
        let unreachable = number(kind, "unreachable");
        let words = format!(", {unreachable} unreachable");
        assert_eq!(line.contains(&words), unreachable > 0.0, "{words}: {line}");
    }
    assert!(kinds.len() >= 3, "{result}");
    // The parts that no packet reaches are listed, also by `compile --dead`.
    let missed = rows(&result, "Not reached");
    assert!(!missed.is_empty(), "{text}");
    assert!(missed.iter().all(|row| row["verdict"] == "unreachable"), "{missed:?}");
    assert_eq!(text.matches("unreachable: ").count(), missed.len(), "{text}");
    assert_eq!(rows(&as_json("compile", &[&path, "--dead"]), "Not reached"), missed);
}

#[test]
fn the_verdict_on_two_programs_is_the_same_as_text_and_as_json() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = program(folder.path()).display().to_string();
    let text = printed("testgen", &[&path, "--equivalent", &path]);
    let result = as_json("testgen", &[&path, "--equivalent", &path]);
    let comparison = &rows(&result, "Comparison")[0];
    assert_eq!(comparison["verdict"], "equal");
    let layouts = format!("({} layouts of packets)", number(comparison, "layouts"));
    assert!(text.contains(&layouts), "{layouts}: {text}");
    let other = folder.path().join("other.p4");
    std::fs::write(&other, BRANCHES.replace("egress_spec = 1", "egress_spec = 2")).expect("a file");
    let other = other.display().to_string();
    let output = planimeter("testgen", &[&path, "--equivalent", &other, "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let result: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(rows(&result, "Comparison")[0]["verdict"], "different");
    // The script of the other program equals the one in the text output.
    let text = stdout(&planimeter("testgen", &[&path, "--equivalent", &other]));
    let script = result["sections"][2]["text"].as_array().expect("lines");
    let lines: Vec<&str> = script.iter().map(|line| line.as_str().expect("a line")).collect();
    assert!(lines.iter().any(|line| line.starts_with("expect 2 ")), "{lines:?}");
    assert!(text.ends_with(&format!("{}\n", lines.join("\n"))), "{text}");
}

/// Returns [`BRANCHES`] with a table of this name that chooses the port.
fn routed(table: &str) -> String {
    let declared = format!(
        "action send(bit<9> port) {{ s.egress_spec = port; }}
    table {table} {{
        key = {{ h.a.x: exact; }}
        actions = {{ send; NoAction; }}
        default_action = NoAction();
    }}
    apply {{
        if (h.a.x > 100)"
    );
    let text = BRANCHES.replace("apply {\n        if (h.a.x > 100)", &declared);
    text.replace("s.egress_spec = 1;", &format!("s.egress_spec = 1; {table}.apply();"))
}

#[test]
fn tests_and_wishes_have_the_entries_of_a_file_and_no_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let [path, entries] = ["routed.p4", "entries.txt"].map(|name| folder.path().join(name));
    std::fs::write(&path, routed("routes")).expect("a file");
    std::fs::write(&entries, "table_add routes send 7 => 5\n").expect("a file");
    let [path, entries] = [path, entries].map(|path| path.display().to_string());
    let wish = |port: &str| {
        let goal = format!("port {port}");
        planimeter("testgen", &[&path, "--entries", &entries, "--goal", &goal])
    };
    let found = wish("5");
    assert_eq!(found.status.code(), Some(0), "{}", stderr(&found));
    let script = stdout(&found);
    assert!(script.contains("add I.routes h.a.x:0x07 I.send(port:0x5)\n"), "{script}");
    assert!(script.lines().any(|line| line.starts_with("packet") && line.contains(" 07")));
    let missing = wish("6");
    assert_eq!(missing.status.code(), Some(1), "{}", stderr(&missing));
    assert!(stdout(&missing).contains("no packet does this"), "{}", stdout(&missing));
}

#[test]
fn tables_with_other_names_are_paired_by_hand() {
    let folder = tempfile::tempdir().expect("a folder");
    let [path, other] = ["routes", "paths"].map(|table| {
        let path = folder.path().join(format!("{table}.p4"));
        std::fs::write(&path, routed(table)).expect("a file");
        path.display().to_string()
    });
    let compare = |pair: &[&str]| {
        let arguments = [&[path.as_str(), "--equivalent", other.as_str()][..], pair].concat();
        planimeter("testgen", &arguments)
    };
    let found = compare(&["--pair", "I.routes=paths"]);
    assert_eq!(found.status.code(), Some(0), "{}{}", stdout(&found), stderr(&found));
    assert!(stdout(&found).contains("transmit the same packets"), "{}", stdout(&found));
    assert!(stdout(&found).contains("any number of entries in each table"), "{}", stdout(&found));
    let bounds = ["--pair", "I.routes=paths", "--packets", "2", "--entries-per-table", "3"];
    let bounded = stdout(&compare(&bounds));
    let bound = "all sequences of up to 2 packets of up to 1514 bytes, and up to 3 entries in each";
    assert!(bounded.contains(bound), "{bounded}");
    assert_eq!(compare(&[]).status.code(), Some(1));
    let unknown = compare(&["--pair", "roads=paths"]);
    assert_eq!(unknown.status.code(), Some(2));
    let message = stderr(&unknown);
    assert!(message.contains("--pair: the first program has no table roads"), "{message}");
}
