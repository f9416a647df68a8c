//! Runs the tests of `running` with programs compiled to machine code: every result must be the
//! same.

use softswitch::Path;

const PATH: Path = Path::Compiled;

#[path = "running/accounts.rs"]
mod accounts;
#[path = "running/changes.rs"]
mod changes;
#[path = "running/devices.rs"]
mod devices;
#[path = "running/entities.rs"]
mod entities;
#[path = "running/faults.rs"]
mod faults;
#[path = "running/hostile.rs"]
mod hostile;
#[path = "running/injection.rs"]
mod injection;
#[path = "running/killed.rs"]
mod killed;
#[path = "running/metrics.rs"]
mod metrics;
#[path = "running/mixture.rs"]
mod mixture;
#[path = "running/outcomes.rs"]
mod outcomes;
#[path = "running/packets.rs"]
mod packets;
#[path = "running/pipelines.rs"]
mod pipelines;
#[path = "running/ports.rs"]
mod ports;
#[path = "running/queues.rs"]
mod queues;
#[path = "running/restart.rs"]
mod restart;
#[path = "running/support.rs"]
mod support;
#[path = "running/traffic.rs"]
mod traffic;
#[path = "running/translated_ports.rs"]
mod translated_ports;
#[path = "running/translated_state.rs"]
mod translated_state;
#[path = "running/translation.rs"]
mod translation;

use support::{Bench, Controller, Names, PROGRAM, pushed};

/// A program that cannot be compiled is refused with the unsupported construct and its position. It
/// is never silently interpreted.
#[tokio::test]
async fn a_program_that_does_not_compile_is_refused_and_the_old_one_stays() {
    use p4runtime::proto::v1::set_forwarding_pipeline_config_request::Action;
    let mut bench = Bench::new(2);
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    controller.insert([Names::new().entry(20, "forward", &[2])]).await;
    let bitwise = PROGRAM.replace("header h_t { bit<8> to;", "header h_t { bit<7> odd; bit<8> to;");
    for action in [Action::Verify, Action::VerifyAndSave, Action::VerifyAndCommit] {
        let refused = controller.client.set_pipeline(action, Some(pushed(&bitwise))).await;
        let status = refused.expect_err("a header ends within a byte");
        assert_eq!(status.code() as i32, 12, "{status}");
        assert!(status.message().contains("p4_device_config:"), "the place: {status}");
        assert!(status.message().contains("does not end with a byte"), "{status}");
    }
    bench.send(1, &[20, 1]);
    assert_eq!(bench.receive(2, 1), [[20, 1]]);
}

/// Steps of a compiled program that the interpreter executes are reported in the log.
#[tokio::test]
async fn steps_that_the_interpreter_does_are_in_the_log() {
    let (bench, log) = Bench::logging(2);
    let wide = PROGRAM
        .replace("struct meta { }", "struct meta { bit<2000> wide; }")
        .replace("stations.apply();", "m.wide = m.wide * m.wide; stations.apply();");
    let _controller = Controller::with(&bench.switch, &wide).await;
    let line = 1 + wide.lines().position(|line| line.contains("m.wide *")).expect("it is there");
    let place = format!("device 7: p4_device_config:{line}:");
    let text = log.text();
    assert!(
        text.lines().any(|line| line.contains(&place) && line.contains("is interpreted")),
        "{text}"
    );
}
