//! Tests of `planimeter compile` and `planimeter stf`: their output, their files and their exit
//! status.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

fn planimeter(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_planimeter"))
        .args(arguments)
        .env("NO_COLOR", "1")
        .output()
        .expect("the command")
}

fn program(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs").join(name);
    path.canonicalize().expect("the program").display().to_string()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Writes a file with this text to `folder` and returns its path.
fn file(folder: &TempDir, name: &str, content: &str) -> String {
    let path = folder.path().join(name);
    fs::write(&path, content).expect("a file");
    path.display().to_string()
}

fn scratch() -> TempDir {
    TempDir::new().expect("a folder")
}

const WRONG: &str = "#include <core.p4>\n#include <v1model.p4>
control c() { apply { bit<8> x = 16w3; y = 3; } }\n";

#[test]
fn a_valid_program_prints_one_line_and_ends_with_status_0() {
    let output = planimeter(&["compile", &program("router.p4")]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let line = text(&output.stdout);
    assert!(
        line.ends_with("router.p4: v1model, 3 tables, 7 actions, 2 extern instances\n"),
        "{line}"
    );
    assert!(output.stderr.is_empty());
}

#[test]
fn an_invalid_program_fails_with_all_errors_and_status_2() {
    let scratch = scratch();
    let source = file(&scratch, "wrong.p4", WRONG);
    let p4info = scratch.path().join("wrong.txtpb");
    let output = planimeter(&["compile", &source, "--p4info", &p4info.display().to_string()]);
    assert_eq!(output.status.code(), Some(2));
    let errors = text(&output.stderr);
    assert!(errors.contains("wrong.p4:3:34: error"), "{errors}");
    assert!(errors.contains("wrong.p4:3:40: error"), "{errors}");
    assert!(output.stdout.is_empty() && !p4info.exists());
}

#[test]
fn invalid_commands_and_missing_files_fail_with_status_2() {
    for arguments in [
        &["compile", "missing.p4"][..],
        &["compile", "missing.json"],
        &["stf", "missing.p4", "missing.stf"],
        &["compile"],
        &["compile", "--graph", "x.png", "missing.p4"],
        &["stf", "--pcap-in", "web.pcap", "missing.p4"],
    ] {
        let output = planimeter(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stderr));
        assert!(!output.stderr.is_empty(), "{arguments:?}");
    }
    for arguments in [&["compile", "missing.p4"], &["stf", "missing.p4"]] {
        let output = planimeter(arguments);
        assert!(text(&output.stderr).starts_with("planimeter: missing.p4: "), "{arguments:?}");
    }
}

/// A file of another kind is reported in one line, and not with an error for each of its lines.
#[test]
fn a_file_of_another_kind_fails_with_one_line_and_status_2() {
    let (router, script) = (program("router.p4"), program("router.stf"));
    let readme = program("../README.md");
    for (arguments, reason) in [
        (["compile", &script, "--explain"], "this is a script; name the program before it"),
        (["compile", &readme, "--explain"], "this is a document and not a program"),
        (["bench", "settings.toml", "--quiet"], "this is a file of settings and not a program"),
        (["stf", &router, &router], "this is a program in place of a script"),
        (["stf", &script, &script], "this is a script; name the program before it"),
    ] {
        let output = planimeter(&arguments);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(reason) && errors.lines().count() == 1, "{arguments:?}: {errors}");
    }
}

/// Directories are created, as for a Makefile that keeps its outputs apart.
#[test]
fn missing_folders_of_output_files_are_created() {
    let scratch = scratch();
    let p4info = scratch.path().join("build/p4info/router.txtpb");
    let output =
        planimeter(&["compile", &program("router.p4"), "--p4info", &p4info.display().to_string()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(p4info.is_file());
    let beneath = p4info.join("router.txtpb").display().to_string();
    let output = planimeter(&["compile", &program("router.p4"), "--p4info", &beneath]);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(
        errors.starts_with("planimeter: cannot write ") && errors.lines().count() == 1,
        "{errors}"
    );
}

#[test]
fn an_architecture_other_than_the_requested_one_is_refused() {
    let output = planimeter(&["compile", "--arch", "psa", &program("router.p4")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("a program for v1model"));
    let output = planimeter(&["compile", "--arch", "psa", &program("tunnel.p4")]);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn every_form_of_every_file_is_written() {
    let scratch = scratch();
    let path = |name: &str| scratch.path().join(name).display().to_string();
    let output = planimeter(&[
        "compile",
        &program("router.p4"),
        "--p4info",
        &path("p4info.txtpb"),
        "--entries",
        &path("entries.json"),
        "--ir",
        &path("ir.json"),
        "--graph",
        &path("graph.svg"),
        "--explain",
        "--pp",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let read = |name: &str| fs::read_to_string(scratch.path().join(name)).expect(name);
    assert!(read("p4info.txtpb").contains("name: \"RouterIngress.routes\""));
    let entries: serde_json::Value = serde_json::from_str(&read("entries.json")).expect("JSON");
    assert!(entries.is_object());
    let ir: serde_json::Value = serde_json::from_str(&read("ir.json")).expect("JSON");
    assert_eq!(ir["architecture"], "v1model");
    // A table is drawn with its keys and actions, and the common prefix of a control's names is
    // left out.
    let graph = read("graph.svg");
    for label in [
        "control RouterIngress",
        ">routes<",
        ">headers.ipv4.destination lpm<",
        ">action of routes<",
    ] {
        assert!(graph.contains(label), "{label}: {graph}");
    }
    assert!(graph.contains(">via | connected") && !graph.contains("RouterIngress."), "{graph}");
    let printed = text(&output.stdout);
    assert!(
        printed.contains("├─ RouterIngress.routes") && printed.contains("control RouterIngress")
    );
    assert!(printed.contains("ways through it") && printed.contains("table lpm 32"), "{printed}");

    let binary = path("p4info.bin");
    let json = path("p4info.json");
    for form in [&binary, &json] {
        let output = planimeter(&["compile", &program("router.p4"), "--p4info", form]);
        assert_eq!(output.status.code(), Some(0));
    }
    let p4info: serde_json::Value = serde_json::from_str(&read("p4info.json")).expect("JSON");
    assert_eq!(p4info["tables"][0]["preamble"]["name"], "RouterIngress.routes");
    assert!(fs::metadata(binary).expect("the file").len() > 100);
}

#[test]
fn an_ir_file_is_read_as_a_program() {
    let scratch = scratch();
    let path = |name: &str| scratch.path().join(name).display().to_string();
    let json_and_text = |from: &str, to: &str| {
        let to = path(to);
        for (format, ending) in [("text", "txt"), ("json", "json")] {
            let to = format!("{to}.{ending}");
            let output = planimeter(&["compile", from, "--ir", &to, "--format", format]);
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        }
        ["txt", "json"].map(|ending| fs::read_to_string(format!("{to}.{ending}")).expect("the IR"))
    };
    let source = json_and_text(&program("router.p4"), "source");
    assert_eq!(json_and_text(&path("source.json"), "json"), source);

    let half = path("half.json");
    fs::write(&half, &source[1][..source[1].len() / 2]).expect("half of the IR");
    let output = planimeter(&["compile", &half]);
    assert_eq!(output.status.code(), Some(2));
    let errors = text(&output.stderr);
    assert!(errors.contains("half.json: not the IR of a program: EOF while parsing"), "{errors}");

    let refused = planimeter(&["compile", &program("router.p4"), "--ir", &path("router.bin")]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("no binary form"), "{}", text(&refused.stderr));
}

#[test]
fn a_program_without_main_has_no_architecture() {
    let scratch = scratch();
    let output = planimeter(&["compile", &file(&scratch, "none.p4", "const bit<8> x = 1;\n")]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(
        printed.ends_with("none.p4: no architecture, 0 tables, 0 actions, 0 extern instances\n"),
        "{printed}"
    );
}

#[test]
fn macros_and_folders_of_the_command_line_count() {
    let scratch = scratch();
    fs::create_dir(scratch.path().join("include")).expect("a folder");
    fs::write(scratch.path().join("include/size.p4"), "const bit<32> SIZE = WANTED;\n")
        .expect("a file");
    let source = file(
        &scratch,
        "entries.p4",
        &fs::read_to_string(program("entry_update.p4"))
            .expect("the program")
            .replace("#include <v1model.p4>", "#include <v1model.p4>\n#include \"size.p4\"")
            .replace("size = ENTRIES", "size = SIZE"),
    );
    let include = scratch.path().join("include").display().to_string();
    let output =
        planimeter(&["compile", "-I", &include, "-D", "WANTED=77", &source, "--p4info", "-"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("size: 77"));
    assert_eq!(planimeter(&["compile", &source]).status.code(), Some(2));
}

#[test]
fn a_passing_script_ends_with_status_0() {
    let output = planimeter(&["stf", &program("router.p4")]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).ends_with("router.stf: passed, 10 packets\n"));
    let output = planimeter(&["stf", "-q", &program("router.p4"), &program("router.stf")]);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(0), ""));
}

#[test]
fn a_failing_script_shows_the_difference_and_fails_with_status_1() {
    let scratch = scratch();
    let script = file(
        &scratch,
        "wrong.stf",
        "add values entry:1 exchange(value:5)\n\
         packet 1 00000000000a 00000000000b 88b5 00000001 aaaaaaaa\n\
         expect 1 00000000000b 00000000000a 88b5 00000001 00000006 $\n",
    );
    let output = planimeter(&["stf", &program("entry_update.p4"), &script]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(printed.contains("line 3: the packet on port 1 (sent at line 2) differs"), "{printed}");
    assert!(printed.contains("^^") && printed.ends_with("1 failure, 1 packet\n"), "{printed}");
}

#[test]
fn an_invalid_script_fails_with_status_2() {
    let scratch = scratch();
    for (script, message) in [
        ("packet 1 0\nsend 1 00\n", "`send` is not a statement"),
        ("add nothing a:1 b()\n", "no table nothing"),
    ] {
        let script = file(&scratch, "wrong.stf", script);
        let output = planimeter(&["stf", &program("entry_update.p4"), &script]);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(message), "{}", text(&output.stderr));
    }
    // If a text is not a script at all, its first errors are enough.
    let script = file(&scratch, "prose.stf", &"Once upon a time\n".repeat(100));
    let output = planimeter(&["stf", &program("entry_update.p4"), &script]);
    let errors = text(&output.stderr);
    assert_eq!((output.status.code(), errors.lines().count()), (Some(2), 21), "{errors}");
    assert!(errors.contains("80 more lines are not statements"), "{errors}");
    // A mistake that p4c's runner does not notice is reported, and is refused only with --strict.
    let script = file(&scratch, "half.stf", "packet 1 0\nexpect 1 00\n");
    let output = planimeter(&["stf", &program("entry_update.p4"), &script]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("note: without effect: the packet has half a byte"));
    let output = planimeter(&["stf", "--strict", &program("entry_update.p4"), &script]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("half a byte"), "{}", text(&output.stderr));
}

#[test]
fn a_trace_names_states_tables_actions_and_outputs() {
    let output = planimeter(&["stf", "--trace", "--verbose", &program("entry_update.p4")]);
    let printed = text(&output.stdout);
    for part in ["UpdateParser.start", "values ", "exchange(", "port "] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    // Machine code has the same trace: its runs are compared with the run that is traced.
    let arguments =
        ["stf", "--path", "compiled", "--trace", "--verbose", &program("entry_update.p4")];
    assert_eq!(text(&planimeter(&arguments).stdout), printed);
}

#[test]
fn traces_are_written_as_json_and_protocol_buffers_and_drawn() {
    let scratch = scratch();
    let path = |name: &str| scratch.path().join(name).display().to_string();
    let [json, proto, run, both] = ["t.json", "t.pb", "run", "both"].map(path);
    for (format, file) in [("json", &json), ("proto", &proto)] {
        let flag = format!("--trace={file}");
        let program = program("load_balancer.p4");
        let arguments = ["stf", &flag, "--trace-format", format, "--all-outcomes", &program];
        let output = planimeter(&arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(!text(&output.stdout).contains("packet on port"), "it is in the file");
    }
    let read = |file: &str| traces::read(&fs::read(file).expect("the file")).expect("traces");
    let traces = read(&json);
    assert_eq!(traces, read(&proto));
    assert_eq!(traces.len(), 7, "a trace for each packet");
    assert!(traces[0].outcomes.is_some_and(|outcomes| outcomes.explored == 2));
    let lines = fs::read_to_string(&json).expect("the file");
    let first = lines.lines().next().expect("a line");
    let first: serde_json::Value = serde_json::from_str(first).expect("JSON");
    assert_eq!(first["port"], 1);
    let choice = &first["root"]["one"];
    assert_eq!(choice["alternatives"].as_array().map(Vec::len), Some(2), "{choice}");

    let output =
        planimeter(&["stf", "--output", &run, "--all-outcomes", &program("load_balancer.p4")]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let page = fs::read_to_string(scratch.path().join("run/report.html")).expect("a page");
    assert!(page.contains("one of 2") && page.contains("to_server"), "{page}");
    crate::browser::check_page(&scratch.path().join("run/report.html"));
    let output = planimeter(&["report", &run, "-o", &both]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let drawn = fs::read_to_string(scratch.path().join("both/report.html")).expect("a page");
    assert!(drawn.contains("one of 2"), "{drawn}");

    let output = planimeter(&["stf", "--trace", "--trace-format", "proto", &program("router.p4")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("name a file"), "{}", text(&output.stderr));
    fs::write(scratch.path().join("run/traces.json"), "{\"port\": 1}\n{\"prot\"").expect("damaged");
    let output = planimeter(&["report", &run, "-o", &both]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("line 2"), "{}", text(&output.stderr));
}

#[test]
fn coverage_lists_what_scripts_reach() {
    let scratch = scratch();
    let json = scratch.path().join("coverage.json");
    let script = file(&scratch, "one.stf", "packet 1 00\n");
    let flag = format!("--coverage={}", json.display());
    let output = planimeter(&["stf", &flag, &program("router.p4"), &script]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(printed.contains("not reached:") && printed.contains("parser states"), "{printed}");
    let json = fs::read_to_string(json).expect("the file");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["schema_version"], 1);
    let parts = json["parts"].as_array().expect("parts");
    let of = |kind: &str, reached: bool| {
        let is = |part: &&serde_json::Value| {
            part["kind"] == kind && (part["count"].as_u64() > Some(0)) == reached
        };
        parts.iter().filter(is).count()
    };
    // A packet of one byte reaches the first state, and the tables that are applied without
    // headers, if there are any.
    assert_eq!(of("state", true), 1);
    assert!(of("state", false) > 0 && of("action", false) > 0 && of("branch", false) > 0);
    let compiled = planimeter(&["stf", "--coverage", "--path", "compiled", &program("router.p4")]);
    assert_eq!(compiled.status.code(), Some(2), "{}", text(&compiled.stdout));
}

#[test]
fn captures_hold_received_and_sent_packets() {
    let scratch = scratch();
    let folder: PathBuf = scratch.path().join("captures");
    let directory = folder.display().to_string();
    let output = planimeter(&["stf", "--pcap-out", &directory, &program("entry_update.p4")]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let arrived = folder.join("pcap2_in.pcap");
    assert!(arrived.is_file() && folder.join("pcap1_out.pcap").is_file());
    // The capture has one packet of 22 bytes: file header, record header, packet.
    assert_eq!(fs::metadata(&arrived).expect("the capture").len(), 24 + 16 + 22);

    let again = scratch.path().join("again").display().to_string();
    let input = format!("7={}", arrived.display());
    let output = planimeter(&[
        "stf",
        "--pcap-in",
        &input,
        "--pcap-out",
        &again,
        &program("entry_update.p4"),
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(scratch.path().join("again/pcap7_out.pcap").is_file());
}

#[test]
fn captures_of_several_scripts_do_not_replace_each_other() {
    let scratch = scratch();
    let folder: PathBuf = scratch.path().join("captures");
    let directory = folder.display().to_string();
    let other = scratch.path().join("other");
    fs::create_dir(&other).expect("a folder");
    let one = file(&scratch, "one.stf", "packet 3 00112233\n");
    let two = file(&scratch, "two.stf", "packet 4 44556677 8899\n");
    let same = other.join("one.stf");
    fs::write(&same, "packet 5 aabbccdd eeff\n").expect("a script");
    let program = program("entry_update.p4");
    let scripts = [one.as_str(), two.as_str(), &same.display().to_string()].map(str::to_owned);
    let [one, two, same] = &scripts;
    let output = planimeter(&["stf", "--pcap-out", &directory, &program, one, two, same]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let arrived = |name: &str| frames(&folder.join(name));
    assert_eq!(arrived("one/pcap3_in.pcap"), [b"\x00\x11\x22\x33"]);
    assert_eq!(arrived("two/pcap4_in.pcap"), [b"\x44\x55\x66\x77\x88\x99"]);
    assert_eq!(arrived("one-2/pcap5_in.pcap"), [b"\xaa\xbb\xcc\xdd\xee\xff"]);
}

/// PSA initialises `drop` to true. Every way of executing the program is compared with the
/// interpreter, even if a script names no port.
#[test]
fn a_script_of_psa_passes_on_every_way_where_the_program_leaves_drop_alone() {
    let scratch = scratch();
    let source = "#include <core.p4>
        #include <psa.p4>
        header R { bit<8> a; } struct H { R r; } struct M { } struct N { }
        parser IP(packet_in p, out H h, inout M m, in psa_ingress_parser_input_metadata_t i, in N s, in N r) {
            state start { p.extract(h.r); transition accept; } }
        control I(inout H h, inout M m, in psa_ingress_input_metadata_t i, inout psa_ingress_output_metadata_t o) {
            apply { if (h.r.a == 1) { send_to_port(o, (PortId_t) 32w2); } } }
        control Silent(inout H h, inout M m, in psa_ingress_input_metadata_t i,
            inout psa_ingress_output_metadata_t o) { apply { h.r.a = 5; } }
        control ID(packet_out p, out N c, out N s, out N n, inout H h, in M m, in psa_ingress_output_metadata_t o) {
            apply { p.emit(h.r); } }
        parser EP(packet_in p, out H h, inout M m, in psa_egress_parser_input_metadata_t i, in N n, in N c, in N e) {
            state start { transition accept; } }
        control E(inout H h, inout M m, in psa_egress_input_metadata_t i, inout psa_egress_output_metadata_t o) {
            apply { } }
        control ED(packet_out p, out N c, out N r, inout H h, in M m, in psa_egress_output_metadata_t o,
            in psa_egress_deparser_input_metadata_t i) { apply { } }
        PSA_Switch(IngressPipeline(IP(), INGRESS(), ID()), PacketReplicationEngine(),
            EgressPipeline(EP(), E(), ED()), BufferingQueueingEngine()) main;";
    let path = |name: &str| scratch.path().join(name);
    std::fs::write(path("speaks.p4"), source.replace("INGRESS", "I")).expect("a program");
    std::fs::write(path("silent.p4"), source.replace("INGRESS", "Silent")).expect("a program");
    std::fs::write(
        path("speaks.stf"),
        "packet 1 0102\nexpect 2 0102 $\npacket 1 0202\nno_packet\n",
    )
    .expect("a script");
    std::fs::write(path("silent.stf"), "packet 1 0102\nno_packet\npacket 3 09\nno_packet\n")
        .expect("a script");
    for name in ["speaks.p4", "silent.p4"] {
        for specification in [&[][..], &["--specification"]] {
            let program = path(name).display().to_string();
            let arguments =
                [&["stf", "--every-port", "--path", "compiled"], specification, &[&program]];
            let output = planimeter(&arguments.concat());
            assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output.stdout));
        }
    }
}

#[test]
fn a_script_passes_as_machine_code_and_interpreted_parts_are_noted() {
    let compiled = |name: &str| {
        let output = planimeter(&["stf", "--path", "compiled", &program(name)]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let lines = compiled("learning_switch.p4");
    assert!(
        lines.contains("learning_switch.p4:83:13: note: the extern function digest"),
        "{lines}"
    );
    assert!(lines.ends_with("learning_switch.stf: passed, 5 packets\n"), "{lines}");
    let lines = compiled("router.p4");
    assert!(lines.ends_with("router.stf: passed, 10 packets\n"), "{lines}");
    assert!(!lines.contains("note: "), "all of it is machine code:\n{lines}");
}

#[test]
fn a_topology_of_the_tutorials_carries_packets_from_host_to_host() {
    let topology = program("../examples/mininet/tunnel/topology.json");
    let tunnel = program("tunnel.p4");
    for path in ["interpreter", "compiled"] {
        let output = planimeter(&["stf", "--path", path, "--topology", &topology, &tunnel]);
        assert_eq!(output.status.code(), Some(0), "{path}: {}", text(&output.stdout));
        let printed = text(&output.stdout);
        for way in
            ["h1 > s1 > s2 > h2", "h1 > s1 > s2 > s3 > h3", "h1 > s1, where it left by no port"]
        {
            assert!(printed.contains(way), "{path}: {printed}");
        }
    }
    let folder = scratch();
    let packet = "020000000100 020000000101 0800 4500001400000000 40 11 66d7 0a000101 0a000202";
    let script = file(&folder, "wrong.stf", &format!("packet h1 {packet}\nexpect h3 02\n"));
    let output = planimeter(&["stf", "--topology", &topology, &tunnel, &script]);
    assert_eq!(output.status.code(), Some(1));
    let printed = text(&output.stdout);
    assert!(printed.contains("line 2: no packet left by h3"), "{printed}");
    assert!(
        printed.contains("note: this packet left by h2, which the script does not name"),
        "{printed}"
    );
    for (script, error) in [
        ("packet h9 00\n", "'h9' is not a port of"),
        ("packet s1-p2 00\n", "'s1-p2' is not a port of"),
        ("packet h1 00\nremove all\n", "begins with `on` and its name, such as `on s1 add ...`"),
        ("pakcet h1 00\n", "`pakcet` is not a statement; `packet` is"),
    ] {
        let script = file(&folder, "wrong.stf", script);
        let output = planimeter(&["stf", "--topology", &topology, &tunnel, &script]);
        assert_eq!(output.status.code(), Some(2), "{script}");
        assert!(text(&output.stderr).contains(error), "{}", text(&output.stderr));
    }
}

/// The names of hosts may occur in the words before them.
#[test]
fn hosts_of_a_topology_have_any_name_and_ports_below_1000() {
    let tunnel = program("tunnel.p4");
    let folder = scratch();
    let original = program("../examples/mininet/tunnel/topology.json");
    let beside = Path::new(&original).parent().expect("a folder");
    let topology = fs::read_to_string(&original).expect("the topology");
    let renamed = topology.replace("\"h1\"", "\"p\"").replace("\"h2\"", "\"e\"");
    for entry in fs::read_dir(beside).expect("the folder").flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "json") {
            fs::copy(entry.path(), folder.path().join(entry.file_name())).expect("a copy");
        }
    }
    let packet = "020000000100 020000000101 0800 4500001400000000 40 11 66d7 0a000101 0a000202";
    let script = file(&folder, "names.stf", &format!("  packet p {packet}\nexpect e 02\n"));
    let named = file(&folder, "named.json", &renamed);
    let output = planimeter(&["stf", "--topology", &named, &tunnel, &script]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    // Port 1001 of switch s1 would have the number of port 1 of switch s2.
    let far = file(&folder, "far.json", &renamed.replace("s1-p1\"", "s1-p1001\""));
    let output = planimeter(&["stf", "--topology", &far, &tunnel, &script]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let printed = text(&output.stderr);
    assert!(printed.contains("port 1001 of switch s1 is beyond the last port"), "{printed}");
}

/// Returns the packets of a capture.
fn frames(path: &Path) -> Vec<Vec<u8>> {
    let mut reader = packetio::pcap::CaptureReader::open(path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().expect("whole") {
        frames.push(frame.data.to_vec());
    }
    frames
}

#[test]
fn captures_of_a_topology_are_those_of_each_port_of_each_switch() {
    let topology = program("../examples/mininet/tunnel/topology.json");
    let scratch = scratch();
    let ethernet = "020000000100 020000000101 0800";
    let ip = "4500001400000000 40 11 66d7 0a000101 0a000202";
    let script = file(&scratch, "one.stf", &format!("packet h1 {ethernet} {ip}\nexpect h2 02\n"));
    for path in ["interpreter", "compiled"] {
        let folder = scratch.path().join(path);
        let directory = folder.display().to_string();
        let output = planimeter(&[
            "stf",
            "--path",
            path,
            "--topology",
            &topology,
            "--pcap-out",
            &directory,
            &program("tunnel.p4"),
            &script,
        ]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let mut names: Vec<String> = fs::read_dir(&folder)
            .expect("the folder")
            .map(|entry| entry.expect("a file").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        // The packet passes h1, s1, s2 and h2, and never s3.
        assert_eq!(
            names,
            ["s1-p1_in.pcap", "s1-p2_out.pcap", "s2-p1_out.pcap", "s2-p2_in.pcap"],
            "{path}"
        );
        let of = |name: &str| {
            let frames = frames(&folder.join(format!("{name}.pcap")));
            assert_eq!(frames.len(), 1, "{name}");
            frames[0].clone()
        };
        let (sent, tunnelled, came) = (of("s1-p1_in"), of("s1-p2_out"), of("s2-p1_out"));
        assert_eq!(sent.len(), 14 + 20);
        // On the link, the packet has the tunnel's header of six bytes, which neither host sees.
        assert_eq!((&tunnelled[12..14], tunnelled.len()), (&[0x88, 0xb5][..], sent.len() + 6));
        assert_eq!(of("s2-p2_in"), tunnelled, "links change nothing");
        assert_eq!((&came[..6], &came[12..]), (&[2, 0, 0, 0, 2, 2][..], &sent[12..]));
    }
}

#[test]
fn coverage_of_a_topology_is_that_of_all_switches_with_one_program() {
    let topology = program("../examples/mininet/tunnel/topology.json");
    let tunnel = program("tunnel.p4");
    let scratch = scratch();
    let packet = |to: &str| {
        format!(
            "packet h1 020000000100 020000000101 0800 4500001400000000 40 11 66d7 0a000101 {to}\n"
        )
    };
    let covered = |script: &str| {
        let script = file(&scratch, "some.stf", script);
        let json = scratch.path().join("coverage.json");
        let flag = format!("--coverage={}", json.display());
        let output = planimeter(&["stf", &flag, "--topology", &topology, &tunnel, &script]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let json = fs::read_to_string(json).expect("the file");
        (text(&output.stdout), serde_json::from_str::<serde_json::Value>(&json).expect("JSON"))
    };
    let count = |json: &serde_json::Value, name: &str| {
        let parts = json["programs"][0]["parts"].as_array().expect("parts");
        let part =
            parts.iter().find(|part| part["name"] == name).unwrap_or_else(|| panic!("{name}"));
        part["count"].as_u64().expect("a number")
    };
    let (printed, json) = covered(&packet("0a000202"));
    let header = format!("{tunnel}: reached by 1 script\n  on s1, s2, s3\n  parser states ");
    assert!(printed.contains(&header), "{printed}");
    assert_eq!(json["schema_version"], 1);
    assert_eq!(json["topology"], topology.as_str());
    assert_eq!(json["programs"].as_array().map(Vec::len), Some(1));
    assert_eq!(json["programs"][0]["program"], tunnel.as_str());
    assert_eq!(json["programs"][0]["switches"], serde_json::json!(["s1", "s2", "s3"]));
    // One packet passes two switches: the first puts it into the tunnel, and the second takes it
    // out.
    assert_eq!(count(&json, "TunnelParser.start"), 2);
    assert_eq!(count(&json, "TunnelParser.tunnel"), 1);
    for action in ["TunnelIngress.enter", "TunnelIngress.leave"] {
        assert_eq!(count(&json, action), 1, "{action}");
    }
    assert_eq!(count(&json, "TunnelIngress.forward"), 0, "s2 is its far end");
    // The packet to h3 passes s2, where tunnels are forwarded.
    let (_, json) = covered(&packet("0a000303"));
    assert_eq!(count(&json, "TunnelIngress.forward"), 1);
    let refused =
        planimeter(&["stf", "--coverage", "--path", "compiled", "--topology", &topology, &tunnel]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stdout));
}

/// Returns a program that sends every packet to this port.
fn to_port(port: u8) -> String {
    format!(
        "#include <core.p4>\n#include <v1model.p4>\nstruct h {{}} struct m {{}}\n\
         parser P(packet_in p, out h x, inout m y, inout standard_metadata_t s) {{ state start {{ transition accept; }} }}\n\
         control V(inout h x, inout m y) {{ apply {{}} }}\n\
         control I(inout h x, inout m y, inout standard_metadata_t s) {{ apply {{ s.egress_spec = {port}; }} }}\n\
         control E(inout h x, inout m y, inout standard_metadata_t s) {{ apply {{}} }}\n\
         control D(packet_out p, in h x) {{ apply {{}} }}\n\
         V1Switch(P(), V(), I(), E(), V(), D()) main;\n"
    )
}

#[test]
fn a_switch_of_a_topology_may_have_a_program_of_its_own() {
    let folder = scratch();
    let second = file(&folder, "second.p4", &to_port(2));
    file(&folder, "third.p4", &to_port(3));
    // Packets enter every switch on port 1. s2 chooses the path to h3 instead of the one to h2.
    let topology = file(
        &folder,
        "chain.json",
        r#"{"hosts": {"h1": {}, "h2": {}, "h3": {}},
            "switches": {"s1": {}, "s2": {"program": "third.p4"}, "s3": {"program": "./second.p4"}},
            "links": [["h1", "s1-p1"], ["s1-p2", "s2-p1"], ["s2-p3", "s3-p1"], ["s2-p2", "h2"], ["s3-p2", "h3"]]}"#,
    );
    file(&folder, "chain.stf", "packet h1 00\nexpect h3 00\n");
    let output = planimeter(&["stf", "--coverage", "--topology", &topology, &second]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(printed.contains("h1 > s1 > s2 > s3 > h3"), "{printed}");
    // s1 and s3 run the same file, under different names.
    assert!(printed.contains("second.p4: reached by 1 script\n  on s1, s3\n"), "{printed}");
    assert!(printed.contains("third.p4: reached by 1 script\n  on s2\n"), "{printed}");
    assert_eq!(printed.matches(": reached by").count(), 2, "{printed}");

    let with_program = |program: &str| {
        let topology = file(
            &folder,
            "single.json",
            &format!(r#"{{"switches": {{"s1": {{"program": "{program}"}}}}}}"#),
        );
        file(&folder, "single.stf", "packet s1-p1 00\nexpect s1-p3 00\n");
        planimeter(&["stf", "--topology", &topology, &second])
    };
    let output = with_program("third.p4");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("note: no switch runs"), "{}", text(&output.stdout));
    let output = with_program("build/missing.json");
    assert_eq!(output.status.code(), Some(2));
    let errors = text(&output.stderr);
    assert!(errors.contains("build/missing.json is neither here nor beside it"), "{errors}");
    assert!(errors.contains("planimeter compile SOURCE.p4 --ir build/missing.json"), "{errors}");
}

#[test]
fn a_packet_that_circulates_is_noted() {
    let folder = scratch();
    let forward = file(&folder, "forward.p4", &to_port(2));
    // Packets that s1 sends on its port 2 arrive on port 2 of s2, which returns them on the same
    // port.
    let topology = file(
        &folder,
        "circle.json",
        r#"{"hosts": {"h1": {}}, "switches": {"s1": {}, "s2": {}},
            "links": [["h1", "s1-p1"], ["s1-p2", "s2-p2"]]}"#,
    );
    file(&folder, "circle.stf", "packet h1 00\n");
    let output = planimeter(&["stf", "--topology", &topology, &forward]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(printed.contains("passed 64 switches: it circulates in a loop"), "{printed}");
}

#[test]
fn constraints_are_listed_and_checked() {
    let scratch = scratch();
    let router = fs::read_to_string(program("router.p4")).expect("the program");
    let table = router.find("table ").expect("a table");
    let restricted = |text: &str| {
        let annotation = format!("@entry_restriction(\"{text}\")\n    ");
        format!("{}{annotation}{}", &router[..table], &router[table..])
    };
    let output = planimeter(&["compile", &program("router.p4"), "--constraints"]);
    assert_eq!(text(&output.stdout), "The program states no constraints on entries or actions.\n");

    let source = file(&scratch, "right.p4", &restricted("// one\n  ::priority == 0; !\n  false"));
    let output = planimeter(&["compile", &source, "--constraints"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let list = text(&output.stdout);
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines[0].starts_with("table "), "{list}");
    assert!(lines[1].contains("bit<"), "{list}");
    assert_eq!(lines[2..], ["    ::priority == 0;", "    ! false;"], "{list}");

    let source = file(&scratch, "wrong.p4", &restricted("::priority == 0;\n  ::size == 0"));
    let output = planimeter(&["compile", &source, "--constraints"]);
    assert_eq!(output.status.code(), Some(2));
    let errors = text(&output.stderr);
    assert!(errors.contains("an entry has no attribute `::size`"), "{errors}");
    assert!(errors.contains("   ::size == 0") && errors.contains("  ^^^^^^\n"), "{errors}");
    assert!(output.stdout.is_empty());
}

/// The program in the manner of SAI P4 is tested by its script, which must not leave out a part.
#[test]
fn the_script_of_the_data_centre_switch_reaches_all_of_it() {
    let scratch = scratch();
    let json = scratch.path().join("coverage.json");
    let flag = format!("--coverage={}", json.display());
    let output =
        planimeter(&["stf", &flag, "--every-port", "--strict", &program("middleblock.p4")]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let json = fs::read_to_string(json).expect("the file");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let parts = json["parts"].as_array().expect("parts");
    assert!(parts.len() > 250, "{}", parts.len());
    let missed = parts.iter().filter(|part| part["count"] == 0).collect::<Vec<_>>();
    assert!(missed.is_empty(), "{missed:?}");
}

/// The trace of a routed packet through the 31 tables of a switch fits a screen, and has the
/// strings of controllers beside their numbers, with and without what could have happened
/// otherwise.
#[test]
fn a_trace_through_a_large_program_fits_a_screen() {
    const SCREEN: usize = 50;
    let example = |name: &str| program(&format!("../examples/middleblock/{name}"));
    let (ports, entries) = (example("ports.toml"), example("entries.json"));
    let (middleblock, script) = (program("middleblock.p4"), example("routed.stf"));
    for flag in ["--trace", "--all-outcomes"] {
        let output = planimeter(&[
            "stf",
            flag,
            "--mappings",
            &ports,
            "--entries",
            &entries,
            &middleblock,
            &script,
        ]);
        let printed = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{printed}{}", text(&output.stderr));
        let traces: Vec<&str> = printed.split("routed.stf:").skip(1).collect();
        assert!(traces.len() >= 2, "{printed}");
        for trace in &traces {
            assert!(trace.lines().count() <= SCREEN, "{trace}");
            assert!(trace.lines().all(|line| line.chars().count() <= 200), "{trace}");
        }
        for part in [
            "packet on port \"Ethernet0\" (1)",
            "set_vrf(vrf_id = \"vrf-80\" (0x",
            "port \"Ethernet4\" (2), 46 bytes",
            "tables missed without effect",
        ] {
            assert!(traces[0].contains(part), "no {part} in {}", traces[0]);
        }
    }
    // The script of all tables has the packets with the longest traces.
    let output = planimeter(&["stf", "--all-outcomes", &middleblock]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{printed}{}", text(&output.stderr));
    for trace in printed.split("middleblock.stf:").skip(1) {
        assert!(trace.lines().count() <= SCREEN, "{trace}");
    }
}

/// Strings in entries have the numbers that files of `--mappings` give or that a switch assigns.
#[test]
fn entries_with_strings_are_installed_by_their_numbers() {
    let example = |name: &str| program(&format!("../examples/middleblock/{name}"));
    let (ports, entries) = (example("ports.toml"), example("entries.json"));
    let (middleblock, script) = (program("middleblock.p4"), example("routed.stf"));
    let run = |mappings: &str, script: &str| {
        let arguments = ["stf", "--every-port", "--path", "compiled", "--mappings", mappings];
        let files = ["--entries", entries.as_str(), middleblock.as_str(), script];
        planimeter(&[&arguments[..], &files].concat())
    };
    let scratch = scratch();
    let other = file(&scratch, "other.toml", "[port_id_t]\nEthernet0 = 1\nEthernet4 = 7\n");
    // The script has the names of the entries, whatever their numbers are. Only the header of the
    // packet to the controllers, which it writes byte by byte, has numbers.
    let output = run(&ports, &script);
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    let output = run(&other, &script);
    let printed = text(&output.stdout) + &text(&output.stderr);
    assert!(printed.contains("routed.stf: 1 failure, 2 packets"), "{printed}");
    assert!(printed.contains("the packet on port 255"), "{printed}");
    // With numbers in the script, those of the names decide.
    let names = fs::read_to_string(&script).expect("the script");
    let numbers = names.replace("\"Ethernet0\"", "1").replace("\"Ethernet4\"", "2");
    assert_ne!(names, numbers);
    let numbers = file(&scratch, "numbers.stf", &numbers);
    let output = run(&ports, &numbers);
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    let output = run(&other, &numbers);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let printed = text(&output.stdout) + &text(&output.stderr);
    assert!(printed.contains("by port 7, where nothing expects it"), "{printed}");
    let wrong = file(&scratch, "wrong.toml", "[port_id_t]\nEthernet0 = 1\nEthernet4 = 512\n");
    let output = run(&wrong, &script);
    assert_eq!(output.status.code(), Some(2));
    let message = "wrong.toml: line 3: type port_id_t: the number 512 needs more than 9 bits";
    assert!(text(&output.stderr).contains(message), "{}", text(&output.stderr));
}
