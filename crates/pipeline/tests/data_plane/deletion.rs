//! Tests of entries that packets added, and that time out without a notification.

use entities::schema::TableId;
use entities::{Cursor, DataPlane, EntrySelection, Nanos, Selection, Target as _};
use pipeline::{InterpreterTarget, Ports};
use std::ops::ControlFlow;
use std::time::Duration;

const PROGRAM: &str = "#include <core.p4>
    #include <pna.p4>
    header R { bit<8> a; bit<8> b; } struct H { R r; } struct M { }
    struct None { }
    parser P(packet_in p, out H h, inout M m, in pna_main_parser_input_metadata_t i) {
        state start { p.extract(h.r); transition accept; } }
    control C(inout H h, inout M m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {
        action hit() { h.r.b = 1; }
        action miss() { add_entry(\"hit\", (None){ }, (ExpireTimeProfileId_t)3); h.r.b = 2; }
        table t { key = { h.r.a: exact; } actions = { hit; @defaultonly miss; } default_action = miss();
            add_on_miss = true; size = 8; pna_idle_timeout = PNA_IdleTimeout_t.AUTO_DELETE; }
        apply { send_to_port((PortId_t)1); t.apply(); } }
    control D(packet_out p, in H h, in M m, in pna_main_output_metadata_t o) { apply { p.emit(h.r); } }
    PNA_NIC(P(), C(), D()) main;";

fn load() -> (Box<dyn DataPlane>, Ports, TableId) {
    let program = crate::both::compile(PROGRAM.as_bytes()).expect("compiles");
    let p4info = p4lang::p4info::generate(&program).expect("P4Info");
    let schema = p4runtime::p4info::Schema::new(p4info).expect("valid");
    let table = schema.tables().by_name("t").expect("a table").id;
    let target = InterpreterTarget::new(Box::new(crate::both::compile));
    let ports = target.ports();
    ports.set_expire_time_profile(3, Some(Duration::from_secs(10)));
    let mut plane = target.load(schema.objects(), PROGRAM.as_bytes()).expect("runs");
    plane.activate();
    (plane, ports, table)
}

fn entries(plane: &dyn DataPlane, table: TableId, second: u64) -> usize {
    let selection = Selection::Entries(EntrySelection::all(table));
    let mut found = 0;
    let end = plane.reader(at(second)).read(&selection, &mut Cursor::default(), &mut |entity| {
        found += usize::from(entity.is_some());
        ControlFlow::Continue(())
    });
    assert_eq!(end, ControlFlow::Continue(()));
    found
}

fn at(second: u64) -> Nanos {
    Nanos(second * 1_000_000_000)
}

#[test]
fn an_entry_that_times_out_is_deleted_and_frees_its_slot() {
    let (mut plane, ports, table) = load();
    let mut worker = ports.worker();
    let mut run = |key: u8, second: u64| {
        let mut outputs = Vec::new();
        worker.process(0, &[key, 0], Duration::from_secs(second), &mut outputs).expect("runs");
        outputs[0].packet[1]
    };
    let held = || ports.table_usage()[0].entries;
    assert_eq!((run(1, 0), run(1, 5), run(2, 5)), (2, 1, 2));
    assert_eq!((entries(&*plane, table, 9), held()), (2, 2));
    // Reads no longer see the entry when its time is over, even if it still takes up space.
    assert_eq!((entries(&*plane, table, 10), held()), (1, 2));
    assert!(
        plane.next_expiry().is_some_and(|time| time <= at(11)),
        "packets add entries at any time"
    );
    assert_eq!(plane.expire(at(11)), [], "nobody is told");
    assert_eq!((entries(&*plane, table, 11), held()), (1, 1));
    assert_eq!((run(1, 12), run(2, 12)), (2, 1));
    assert!(plane.next_expiry().is_some_and(|time| time <= at(13)));
}
