//! Tests of programs that are pushed, refused and replaced.

use crate::support::{Bench, Controller, Names, PROGRAM, TIMEOUT, pushed};
use p4runtime::proto::v1::set_forwarding_pipeline_config_request::Action;
use packetio::{Burst, Frame, Port, Transmitted};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// Returns [`PROGRAM`] with a call of an unknown extern.
fn broken() -> String {
    PROGRAM.replace("apply {\n        if", "apply { nothing_like_this();\n        if")
}

#[tokio::test]
async fn a_refused_program_leaves_the_old_one_running() {
    let mut bench = Bench::new(2);
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    controller.insert([Names::new().entry(20, "forward", &[2])]).await;
    let config = p4runtime::proto::v1::ForwardingPipelineConfig {
        p4_device_config: broken().into(),
        ..pushed(PROGRAM)
    };
    for action in [Action::Verify, Action::VerifyAndSave, Action::VerifyAndCommit] {
        let refused = controller.client.set_pipeline(action, Some(config.clone())).await;
        let status = refused.expect_err("there is no such extern");
        assert_eq!(status.code() as i32, 3, "{status}");
        assert!(status.message().contains("nothing_like_this"), "{status}");
    }
    bench.send(1, &[20, 1]);
    assert_eq!(bench.receive(2, 1), [[20, 1]]);
}

#[tokio::test]
async fn a_push_under_traffic_loses_no_received_packet() {
    let mut bench = Bench::new(2);
    // Each program sends everything to port 2 and marks the packets with its number.
    let source = |mark: u8| {
        PROGRAM.replace("stations.apply();", &format!("s.egress_spec = 2; h.h.from = {mark};"))
    };
    let mut controller = Controller::with(&bench.switch, &source(0)).await;
    let config = pushed(&source(1));
    for _ in 0..2_000 {
        bench.send(1, &[1, 9]);
    }
    let push = controller.client.set_pipeline(Action::VerifyAndCommit, Some(config));
    push.await.expect("the switch runs it");
    for _ in 0..100 {
        bench.send(1, &[1, 9]);
    }
    let left = bench.receive(2, 2_100);
    let marks: Vec<u8> = left.iter().map(|packet| packet[1]).collect();
    assert!(marks.is_sorted(), "old ones first");
    assert!(marks.iter().filter(|mark| **mark == 1).count() >= 100);
}

/// The maximum number of packets in flight.
const UNDER_WAY: u32 = 256;

/// Packets arrive continuously while programs are replaced. All of them leave, once, in order, and
/// each is processed entirely by one program.
#[tokio::test]
async fn programs_are_exchanged_under_traffic_without_a_lost_packet() {
    const PUSHES: u8 = 12;
    let mut bench = Bench::new(2);
    // The programs differ in shape, mark packets with their number, and send all of them to port 2.
    let source = |mark: u8| {
        let looks = if mark.is_multiple_of(3) { "stations.apply();" } else { "" };
        let leaves =
            format!("{looks} s.egress_spec = 2; h.packet_in.setInvalid(); h.h.from = {mark};");
        PROGRAM.replace("stations.apply();", &leaves)
    };
    let mut controller = Controller::with(&bench.switch, &source(0)).await;
    let mut lines = std::mem::take(&mut bench.lines);
    let (stop, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU8::new(0)));
    let _stop = Stop(Arc::clone(&stop));
    let (told, marked) = (Arc::clone(&stop), Arc::clone(&seen));
    let traffic = std::thread::spawn(move || traffic(&mut lines, &told, &marked));
    for mark in 1..=PUSHES {
        let config = Some(pushed(&source(mark)));
        if mark.is_multiple_of(2) {
            let save = controller.client.set_pipeline(Action::VerifyAndSave, config);
            save.await.expect("the switch would run it");
            let commit = controller.client.set_pipeline(Action::Commit, None);
            commit.await.expect("the switch runs it");
        } else {
            let push = controller.client.set_pipeline(Action::VerifyAndCommit, config);
            push.await.expect("the switch runs it");
        }
        let start = Instant::now();
        while seen.load(Ordering::Relaxed) < mark && !traffic.is_finished() {
            assert!(start.elapsed() < TIMEOUT, "no packet went through program {mark}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    stop.store(true, Ordering::Relaxed);
    let sent = traffic.join().expect("every packet left");
    let packets = bench.switch.state()[0].packets.clone();
    assert_eq!((packets.received, packets.without_output), (u64::from(sent), 0), "{packets:?}");
    assert!(packets.errors.is_empty() && seen.load(Ordering::Relaxed) == PUSHES, "{packets:?}");
}

/// Stops the traffic when dropped, even if the test panics.
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Sends numbered packets until `stop` is set, and receives the results. Each packet must be the
/// next one, and carry the mark of the previous packet's program or of a later program. Returns the
/// number of packets sent.
fn traffic(lines: &mut [Port], stop: &AtomicBool, seen: &AtomicU8) -> u32 {
    let (mut sent, mut received, mut last) = (0_u32, 0_u32, 0_u8);
    let mut burst = Burst::new(64);
    let mut start = Instant::now();
    while received < sent || !stop.load(Ordering::Relaxed) {
        assert!(start.elapsed() < TIMEOUT, "{received} of {sent} packets left");
        while sent - received < UNDER_WAY && !stop.load(Ordering::Relaxed) {
            let packet = [&[1, 9][..], &sent.to_be_bytes()].concat();
            assert_eq!(lines[0].queues[0].transmit(&packet), Transmitted::Taken);
            sent += 1;
        }
        lines[0].queues[0].flush();
        burst.clear();
        lines[1].queues[0].receive(&mut burst).expect("a line is never down");
        for packet in burst.frames().iter().map(Frame::bytes) {
            assert_eq!(packet[2..], received.to_be_bytes(), "behind {received} packets");
            assert!(packet[1] >= last, "{} behind {last}", packet[1]);
            (last, received, start) = (packet[1], received + 1, Instant::now());
            seen.store(last, Ordering::Relaxed);
        }
        std::thread::yield_now();
    }
    sent
}
