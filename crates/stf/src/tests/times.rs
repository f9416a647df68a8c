//! Tests of `expire_time`: the timeouts of entries that packets add (PNA).

use super::*;

/// A program for PNA that sends a packet to port 1 if its first byte was seen before and is not
/// forgotten, and to port 2 otherwise.
const REMEMBERING: &str = r#"
#include <core.p4>
#include <pna.p4>
header h_t { bit<8> a; }
struct headers_t { h_t h; }
struct meta_t { }
struct none_t { }
parser P(packet_in packet, out headers_t hdr, inout meta_t meta,
         in pna_main_parser_input_metadata_t i) {
    state start { packet.extract(hdr.h); transition accept; }
}
control C(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t i,
          inout pna_main_output_metadata_t o) {
    action known() { send_to_port((PortId_t) 1); }
    action unknown() {
        add_entry(action_name = "known", action_params = (none_t) { },
                  expire_time_profile_id = (ExpireTimeProfileId_t) 3);
        send_to_port((PortId_t) 2);
    }
    table seen {
        key = { hdr.h.a: exact; }
        actions = { @tableonly known; @defaultonly unknown; }
        const default_action = unknown();
        add_on_miss = true;
        pna_idle_timeout = PNA_IdleTimeout_t.AUTO_DELETE;
        size = 64;
    }
    apply { seen.apply(); }
}
control D(packet_out packet, in headers_t hdr, in meta_t meta,
          in pna_main_output_metadata_t o) { apply { packet.emit(hdr.h); } }
PNA_NIC(P(), C(), D()) main;
"#;

/// Returns the ports by which the packets of a script leave a switch that remembers bytes.
fn ports(script: &str) -> Vec<u32> {
    let compiled = p4lang::compile_text(
        "test.p4",
        REMEMBERING,
        &Preprocessor::default(),
        &MemoryFiles::default(),
    );
    let messages = compiled.messages(Style::Plain);
    let mut switch = Switch::new(compiled.program.unwrap_or_else(|| panic!("{messages}"))).unwrap();
    let script = Script::parse(script).unwrap_or_else(|errors| panic!("{errors:?}"));
    let report = run(&mut switch, &script, Options::default());
    let report = report.unwrap_or_else(|(line, error)| panic!("{line}: {error}"));
    report.sent.iter().map(|(_, port, _)| *port).collect()
}

#[test]
fn an_entry_is_forgotten_when_its_timeout_is_over() {
    let arrivals = "
        at 1s
        packet 1 07
        at 5999999999ns
        packet 1 07
        at 6s
        packet 1 07";
    assert_eq!(ports(&format!("expire_time 3 5s\n{arrivals}")), [2, 1, 2]);
    assert_eq!(ports(&format!("expire_time 3 5s\nexpire_time 3 3600s\n{arrivals}")), [2, 1, 1]);
    // Another profile has another timeout, and this one has none.
    assert_eq!(ports(&format!("expire_time 4 1s\n{arrivals}")), [2, 1, 1]);
    // An entry keeps the timeout that its profile had before.
    let changed = arrivals.replace("at 5999999999ns", "expire_time 3 3600s\nat 5999999999ns");
    assert_eq!(ports(&format!("expire_time 3 5s\n{changed}")), [2, 1, 2]);
}

#[test]
fn other_programs_have_no_expire_time_profiles() {
    let report = report("expire_time 3 5s\npacket 1 00010000");
    let notes = notes_of(&report);
    assert!(
        notes.contains("1: without effect: only programs for PNA have expire time profiles"),
        "{notes}"
    );
    for wrong in ["expire_time", "expire_time 3", "expire_time x 5s", "expire_time 3 5"] {
        let script = format!("packet 1 00\n{wrong}\n");
        assert!(Script::parse(&script).is_err(), "{wrong}");
    }
}
