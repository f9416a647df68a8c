//! Tests of several devices behind one address.

use crate::support::{CPU_PORT, Controller, Names, PROGRAM, lines, options, pushed};
use p4runtime::proto::v1::set_forwarding_pipeline_config_request::Action;
use packetio::{Burst, Frame, Port, memory};
use softswitch::{DeviceConfig, StartError, Switch, V1ModelSettings};
use std::time::{Duration, Instant};

fn device(id: u64, ports: Vec<(u32, Port)>) -> DeviceConfig {
    DeviceConfig {
        queues: Default::default(),
        id,
        cpu_port: CPU_PORT,
        path: crate::PATH,
        v1model: V1ModelSettings::default(),
        pipeline: None,
        updates: Vec::new(),
        state: None,
        durability: softswitch::Durability::default(),
        check_references: false,
        takes_injections: false,
        ports,
    }
}

fn received(port: &mut Port, patience: Duration) -> Vec<Vec<u8>> {
    let mut burst = Burst::new(8);
    let start = Instant::now();
    while burst.frames().is_empty() && start.elapsed() < patience {
        port.queues[0].receive(&mut burst).expect("a line is never down");
    }
    burst.frames().iter().map(|frame: &Frame| frame.bytes().to_vec()).collect()
}

#[tokio::test]
async fn devices_behind_one_address_are_separate() {
    let ((mut one, near_one), (mut other, near_other)) = (lines(2), lines(2));
    let devices = vec![device(crate::support::DEVICE, near_one), device(8, near_other)];
    let switch = Switch::start(options(), devices).expect("it starts");
    let mut first = Controller::with(&switch, PROGRAM).await;
    let mut second = Controller::of_device(&switch, 8, 1).await;
    let push = second.client.set_pipeline(Action::VerifyAndCommit, Some(pushed(PROGRAM)));
    push.await.expect("the switch runs it");
    first.insert([Names::new().entry(20, "forward", &[2])]).await;
    second.insert([Names::new().entry(20, "forward", &[1])]).await;
    for lines in [&mut one, &mut other] {
        lines[0].queues[0].transmit(&[20, 1]);
        lines[0].queues[0].flush();
    }
    let patience = Duration::from_secs(10);
    assert_eq!(received(&mut one[1], patience), [[20, 1]]);
    assert_eq!(received(&mut other[0], patience), [[20, 1]]);
    assert!(received(&mut other[1], Duration::from_millis(20)).is_empty());
}

/// The settings correspond to `--drop-port` and `--priority-queues` of simple_switch.
#[test]
fn v1model_runs_with_the_settings_of_the_device() {
    let ingress = "if (h.h.to == 1) { mark_to_drop(s); } \
                   else { s.egress_spec = 511; s.priority = (bit<3>)h.h.to; }";
    let program = pushed(&PROGRAM.replace("stations.apply();", ingress));
    let ([near, mut dropped], [other_near, mut last]) =
        (memory::line("drop", 8), memory::line("last", 8));
    let [input, mut far] = memory::line("in", 8);
    // The input port is attached last, since ports are attached in this order.
    let ports = vec![(300, near), (511, other_near), (1, input)];
    let device = DeviceConfig {
        queues: Default::default(),
        v1model: V1ModelSettings { drop_port: 300, priority_queues: 4 },
        pipeline: Some(program),
        ..device(1, ports)
    };
    let switch = Switch::start(options(), vec![device]).expect("it starts");
    // The program drops the first packet, the second has a priority without a queue, and only the
    // third leaves.
    for packet in [[1, 0], [4, 0], [3, 0]] {
        far.queues[0].transmit(&packet);
    }
    far.queues[0].flush();
    assert_eq!(received(&mut last, Duration::from_secs(10)), [[3, 0]]);
    assert!(received(&mut dropped, Duration::ZERO).is_empty());
    let packets = switch.state()[0].packets.clone();
    assert_eq!((packets.received, packets.without_output), (3, 2));
}

#[test]
fn devices_that_cannot_start_report_the_reason() {
    let twice = Switch::start(options(), vec![device(1, Vec::new()), device(1, Vec::new())]);
    assert!(matches!(twice, Err(StartError::Serve(_))), "{twice:?}");
    let (_far, near) = lines(1);
    let two_workers = softswitch::Options { workers: 2, ..options() };
    let mismatched = Switch::start(two_workers, vec![device(1, near)]);
    assert!(matches!(mismatched, Err(StartError::Queues { queues: 1, workers: 2, .. })));
    let broken = DeviceConfig {
        queues: Default::default(),
        pipeline: Some(p4runtime::proto::v1::ForwardingPipelineConfig {
            p4_device_config: "control c() {".into(),
            ..pushed(PROGRAM)
        }),
        ..device(1, Vec::new())
    };
    let refused = Switch::start(options(), vec![broken]);
    assert!(matches!(refused, Err(StartError::Program { device: 1, .. })), "{refused:?}");
}
