//! Tests of entries that the switch's internal controller writes on behalf of packets
//! (`update = "digest"`).

use crate::support::{Bench, Controller, Names, TIMEOUT};
use std::time::Instant;

/// A program that counts the packets of a station in its entry, and writes the count into the
/// packet.
const COUNTING: &str = r#"
#include <v1model.p4>
header h_t { bit<8> to; bit<8> seen; }
struct headers { h_t h; }
struct meta { }
parser p(packet_in b, out headers h, inout meta m, inout standard_metadata_t s) {
    state start { b.extract(h.h); transition accept; }
}
control v(inout headers h, inout meta m) { apply { } }
control i(inout headers h, inout meta m, inout standard_metadata_t s) {
    action count(@__ref bit<8> packets) { h.h.seen = packets; packets = packets + 1; }
    @tableconfig(impl = "dpdk", update = "digest")
    table stations {
        key = { h.h.to: exact; }
        actions = { count; NoAction; }
        default_action = NoAction();
        const size = 64;
    }
    apply { stations.apply(); s.egress_spec = 2; }
}
control e(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }
control d(packet_out b, in headers h) { apply { b.emit(h.h); } }
V1Switch(p(), v(), i(), e(), v(), d()) main;
"#;

#[tokio::test]
async fn a_packet_finds_what_the_previous_packet_wrote_when_the_controller_has_answered() {
    const PACKETS: u64 = 20;
    let mut bench = Bench::new(2);
    let mut controller = Controller::with(&bench.switch, COUNTING).await;
    controller.insert([Names::of(COUNTING).entry(20, "count", &[0])]).await;
    for number in 0..PACKETS {
        bench.send(1, &[20, 0]);
        assert_eq!(bench.receive(2, 1), [vec![20, number as u8]]);
        // Another thread writes the entry, after the packet has been processed.
        let start = Instant::now();
        while bench.switch.state()[0].activity.entry_changes <= number {
            assert!(start.elapsed() < TIMEOUT, "the entry is not written");
            tokio::task::yield_now().await;
        }
    }
    let activity = bench.switch.state()[0].activity;
    assert_eq!(
        (activity.entry_changes, activity.entry_changes_overwritten, activity.entry_changes_lost),
        (PACKETS, 0, 0)
    );
}
