//! Programs that are pushed, refused and exchanged.

use crate::support::{Bench, Controller, Names, PROGRAM, pushed};
use p4runtime::proto::v1::set_forwarding_pipeline_config_request::Action;

/// As [`PROGRAM`], but with an extern that nobody has.
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
async fn a_push_under_traffic_loses_nothing_that_is_in() {
    let mut bench = Bench::new(2);
    // Everything goes to port 2, marked by which program it went through.
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
