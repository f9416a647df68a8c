//! Tests of queues that a client sets, reads and watches while traffic runs.

use crate::support::{Bench, CPU_PORT, Controller, DEVICE, Names, PROGRAM, TIMEOUT, options};
use p4runtime::control;
use p4runtime::proto::switch::{
    GetQueuesRequest, GetQueuesResponse, PortQueues, QueueState, SetQueuesRequest,
    SetQueuesResponse, WatchQueuesRequest,
};
use packetio::{Port, memory};
use queues::Configuration;
use softswitch::{Durability, Options, StartError, SwitchLimits};
use std::path::Path;
use std::time::Instant;
use tonic::{Code, Status};

/// A queue that releases its first packet at once, and the next ones after hours.
pub(crate) const SLOW: &[&str] = &["port=2 queue=0 rate=1bps depth=100"];

pub(crate) fn messages(lines: &[&str]) -> Vec<PortQueues> {
    let parsed = Configuration::parse(lines).expect("a configuration");
    parsed.0.iter().map(|(port, config)| control::message(*port, config)).collect()
}

/// Returns a change that removes the queues of a port.
fn removed(port: u32) -> Vec<PortQueues> {
    vec![PortQueues { port, ..PortQueues::default() }]
}

pub(crate) async fn set(
    controller: &Controller,
    ports: Vec<PortQueues>,
) -> Result<SetQueuesResponse, Status> {
    let request = SetQueuesRequest { device_id: DEVICE, ports, ..SetQueuesRequest::default() };
    request_set(controller, request).await
}

async fn request_set(
    controller: &Controller,
    request: SetQueuesRequest,
) -> Result<SetQueuesResponse, Status> {
    let mut control = controller.client.switch_control();
    Ok(control.set_queues(request).await?.into_inner())
}

async fn get(controller: &Controller) -> GetQueuesResponse {
    let request = GetQueuesRequest { device_id: DEVICE, ports: Vec::new() };
    let read = controller.client.switch_control().get_queues(request).await;
    read.expect("the device has queues").into_inner()
}

/// Waits until a queue of port 2 has a state, and returns it.
async fn wait_for(
    controller: &Controller,
    queue: usize,
    what: impl Fn(&QueueState) -> bool,
) -> QueueState {
    let start = Instant::now();
    loop {
        let read = get(controller).await;
        let state = read.states.iter().find(|state| state.port == 2);
        if let Some(found) = state.and_then(|state| state.queues.get(queue)).filter(|one| what(one))
        {
            return *found;
        }
        assert!(start.elapsed() < TIMEOUT, "{:?}", read.states);
        tokio::task::yield_now().await;
    }
}

/// Starts a switch that sends packets to port 2 whose first byte is 9.
async fn forwarding() -> (Bench, Controller) {
    let bench = Bench::new(2);
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    controller.insert([Names::new().entry(9, "forward", &[2])]).await;
    (bench, controller)
}

/// Packets that wait are kept in their order when the rate changes, and none is lost.
#[tokio::test]
async fn what_waits_leaves_in_order_when_the_rate_is_removed() {
    let (mut bench, controller) = forwarding().await;
    let changed = set(&controller, messages(SLOW)).await.expect("a change");
    assert_eq!((changed.dropped, changed.revision), (0, 1));
    for number in 0..10 {
        bench.send(1, &[9, number]);
    }
    assert_eq!(bench.receive(2, 1), [[9, 0]]);
    let state = wait_for(&controller, 0, |state| state.enqueued == 10).await;
    assert_eq!((state.sent, state.depth_packets, state.depth_bytes), (1, 9, 18));
    // A depth below the number of waiting packets drops none of them, and another rate keeps them
    // waiting.
    let slower = messages(&["port=2 queue=0 rate=2bps depth=3"]);
    assert_eq!(set(&controller, slower).await.expect("a change").dropped, 0);
    bench.send(1, &[9, 99]);
    let state = wait_for(&controller, 0, |state| state.dropped_depth == 1).await;
    assert_eq!((state.enqueued, state.sent, state.depth_packets), (10, 1, 9));
    let changed = set(&controller, messages(&["port=2"])).await.expect("a change");
    assert_eq!((changed.dropped, changed.revision), (0, 3));
    let sent: Vec<Vec<u8>> = (1..10).map(|number| vec![9, number]).collect();
    assert_eq!(bench.receive(2, 9), sent);
    let state = wait_for(&controller, 0, |state| state.sent == 10).await;
    assert_eq!((state.enqueued, state.depth_packets, state.depth_bytes), (10, 0, 0));
}

/// Packets of a removed queue are dropped and counted, and later packets leave at once.
#[tokio::test]
async fn a_port_without_queues_is_as_before() {
    let (mut bench, controller) = forwarding().await;
    set(&controller, messages(SLOW)).await.expect("a change");
    for number in 0..5 {
        bench.send(1, &[9, number]);
    }
    wait_for(&controller, 0, |state| state.enqueued == 5).await;
    let changed = set(&controller, removed(2)).await.expect("a change");
    assert_eq!((changed.dropped, changed.revision), (4, 2));
    bench.send(1, &[9, 77]);
    assert_eq!(bench.receive(2, 2), [[9, 0], [9, 77]]);
    let read = get(&controller).await;
    assert_eq!((read.ports, read.states, read.revision), (vec![], vec![], 2));
    let state = bench.switch.finish().remove(0).queues;
    assert_eq!((state.removed, state.queues.len(), state.paces.len()), (4, 0, 0));
}

/// A change that is invalid for one port changes no port, and waiting packets continue to wait.
#[tokio::test]
async fn a_change_that_is_refused_leaves_everything_as_it_was() {
    let (bench, controller) = forwarding().await;
    set(&controller, messages(SLOW)).await.expect("a change");
    let mut bench = bench;
    for number in 0..3 {
        bench.send(1, &[9, number]);
    }
    wait_for(&controller, 0, |state| state.enqueued == 3).await;
    let before = get(&controller).await;
    assert_eq!((before.ports.clone(), before.revision), (messages(SLOW), 1));
    let good = || messages(&["port=1 rate=1Mbps"]);
    let with = |bad: PortQueues| good().into_iter().chain([bad]).collect::<Vec<_>>();
    let missing = messages(&["port=9 rate=1Mbps"]).remove(0);
    let mixed = {
        let mut ports = messages(&["port=2 queue=0 level=1", "port=2 queue=1 level=1"]);
        ports[0].queues[1].share = Some(p4runtime::proto::switch::queue::Share::Quantum(9));
        ports.remove(0)
    };
    let request = |ports| SetQueuesRequest { device_id: DEVICE, ports, ..Default::default() };
    for (request, code, reason) in [
        (request(with(missing)), Code::NotFound, "Device 7 has no port 9; there are 1, 2."),
        (request(with(mixed)), Code::InvalidArgument, "port 2: the queues of level 1 must all"),
        (
            request([good(), good()].concat()),
            Code::InvalidArgument,
            "port 1: The port is named twice",
        ),
        (
            SetQueuesRequest { expected_revision: Some(0), ..request(good()) },
            Code::Aborted,
            "The queues have revision 1",
        ),
        (SetQueuesRequest { device_id: 99, ..request(good()) }, Code::NotFound, "Device id 99"),
    ] {
        let refused = request_set(&controller, request).await.expect_err(reason);
        assert_eq!(refused.code(), code, "{refused}");
        assert!(refused.message().starts_with(reason), "{refused}");
    }
    // A change that is only checked has no effect either, and neither has one that changes nothing.
    let checked = SetQueuesRequest { validate_only: true, ..request(good()) };
    assert_eq!(request_set(&controller, checked).await.expect("it is right").revision, 1);
    assert_eq!(set(&controller, messages(SLOW)).await.expect("it is right").revision, 1);
    let after = get(&controller).await;
    assert_eq!((after.ports, after.revision), (before.ports, 1));
    assert_eq!(after.states[0].queues[0].depth_packets, 2);
    let expected = SetQueuesRequest { expected_revision: Some(1), ..request(good()) };
    assert_eq!(request_set(&controller, expected).await.expect("it is right").revision, 2);
}

/// Waiting packets never take more memory than the limit, whatever depths clients set.
#[tokio::test]
async fn the_memory_of_packets_that_wait_is_bounded() {
    let limits = SwitchLimits { queued: 4096, ..SwitchLimits::default() };
    let mut bench = Bench::start(2, None, Options { limits, ..options() });
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    controller.insert([Names::new().entry(9, "forward", &[2])]).await;
    set(&controller, messages(&["port=2 queue=0 rate=1bps depth=4000000000"])).await.expect("set");
    for number in 0..10 {
        bench.send(1, &[9, number]);
    }
    let start = Instant::now();
    while bench.switch.state()[0].packets.received < 10 {
        assert!(start.elapsed() < TIMEOUT, "{:?}", bench.switch.state());
        tokio::task::yield_now().await;
    }
    // The first packet leaves at once. A packet counts for 1,026 bytes, so the fifth waiting packet
    // exceeds the limit.
    let state = wait_for(&controller, 0, |state| state.enqueued == 5).await;
    assert_eq!((state.sent, state.depth_packets), (1, 4));
    let state = bench.switch.finish().remove(0).queues;
    assert_eq!((state.beyond_memory, state.queues[0].2.enqueued), (5, 5));
}

/// Returns a port with a queue for each of two workers, and the far ends of its lines.
fn port_of_two_workers(number: u32) -> ([Port; 2], (u32, Port)) {
    let [first, second] = [0, 1].map(|worker| memory::line(&format!("{number}-{worker}"), 1024));
    let ([mut near, far], [other, other_far]) = (first, second);
    near.queues.extend(other.queues);
    ([far, other_far], (number, near))
}

/// Two workers receive packets for a port with queues. The first worker owns the queues, so all
/// packets leave by its queue of the port, and those of each worker in their order.
#[tokio::test]
async fn one_of_several_workers_owns_the_queues() {
    let (far_in, port_in) = port_of_two_workers(1);
    let (far_out, port_out) = port_of_two_workers(2);
    let workers = Options { workers: 2, ..options() };
    let bench = Bench::configured(0, workers, |device| device.ports = vec![port_in, port_out]);
    let mut bench = bench.expect("it starts");
    bench.lines.extend(far_in.into_iter().chain(far_out));
    // The lines of port 1 at both workers, and those of port 2.
    let (in_by, out_by) = ([1, 2], [3, 4]);
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    controller.insert([Names::new().entry(9, "forward", &[2])]).await;
    // Without queues, each worker transmits what it received.
    for worker in [0, 1] {
        bench.send(in_by[worker], &[9, 0]);
        assert_eq!(bench.receive(out_by[worker], 1), [[9, 0]]);
    }
    set(&controller, messages(SLOW)).await.expect("a change");
    for number in 1..6 {
        bench.send(in_by[1], &[9, number]);
        bench.send(in_by[0], &[9, 100 + number]);
    }
    let state = wait_for(&controller, 0, |state| state.enqueued == 10).await;
    assert_eq!((state.sent, state.depth_packets), (1, 9));
    set(&controller, messages(&["port=2"])).await.expect("a change");
    let left = bench.receive(out_by[0], 10);
    let of = |own: fn(u8) -> bool| -> Vec<u8> {
        left.iter().map(|packet| packet[1]).filter(|number| own(*number)).collect()
    };
    assert_eq!(of(|number| number < 100), [1, 2, 3, 4, 5]);
    assert_eq!(of(|number| number >= 100), [101, 102, 103, 104, 105]);
    // Without queues, each worker transmits by itself again.
    set(&controller, removed(2)).await.expect("a change");
    for worker in [0, 1] {
        bench.send(in_by[worker], &[9, 7]);
        assert_eq!(bench.receive(out_by[worker], 1), [[9, 7]]);
    }
    let state = bench.switch.finish().remove(0);
    assert_eq!((state.activity.queues_overrun, state.queues.removed), (0, 0));
}

/// A message about a port that does not exist names those that do.
#[tokio::test]
async fn a_switch_without_ports_says_so() {
    for (ports, end) in [
        (0, "has no port 2, and no others; start the switch with -i NUMBER@INTERFACE for each."),
        (1, "has no port 2; there is 1."),
    ] {
        let bench = Bench::new(ports);
        let controller = Controller::of(&bench.switch, 1).await;
        let refused = set(&controller, messages(SLOW)).await.expect_err("no such port");
        assert_eq!(refused.code(), Code::NotFound, "{refused}");
        assert_eq!(refused.message(), format!("Device {DEVICE} {end}"));
        assert_eq!(set(&controller, removed(2)).await.expect("nothing to do").revision, 0);
    }
}

/// The switch reports its clock, from which the timestamps of packets count.
#[tokio::test]
async fn a_switch_tells_its_clock() {
    let bench = Bench::start(0, None, Options { workers: 3, ..options() });
    let controller = Controller::of(&bench.switch, 1).await;
    let first = controller.client.about_switch().await.expect("it has the service");
    assert_eq!((first.cpu_port, first.workers), (CPU_PORT, 3));
    assert!(first.version.starts_with("planimeter switch "), "{}", first.version);
    let second = controller.client.about_switch().await.expect("it has the service");
    let passed = second.elapsed_ns.checked_sub(first.elapsed_ns).expect("time passes");
    assert!(passed > 0 && second.timestamp_ns > first.timestamp_ns, "{first:?} {second:?}");
}

/// The states are sent at the interval, and count the packets that passed in between.
#[tokio::test]
async fn a_watcher_sees_the_counters_rise() {
    let (mut bench, controller) = forwarding().await;
    set(&controller, messages(&["port=1", "port=2 queues=2"])).await.expect("a change");
    let request = WatchQueuesRequest { device_id: DEVICE, ports: vec![2], interval_ns: 10_000_000 };
    let watching = controller.client.switch_control().watch_queues(request).await;
    let mut watching = watching.expect("the device has queues").into_inner();
    let first = watching.message().await.expect("no error").expect("not the end");
    assert_eq!(first.states.len(), 1, "port 1 was not asked for");
    assert_eq!((first.states[0].port, first.states[0].queues.len(), first.revision), (2, 2, 1));
    assert_eq!(first.states[0].queues[0].enqueued, 0);
    bench.send(1, &[9, 1]);
    bench.receive(2, 1);
    let (start, mut last) = (Instant::now(), first.timestamp_ns);
    let queue = loop {
        let next = watching.message().await.expect("no error").expect("not the end");
        assert!(next.timestamp_ns > last && start.elapsed() < TIMEOUT, "{next:?}");
        last = next.timestamp_ns;
        if let Some(queue) = next.states[0].queues.first().filter(|queue| queue.sent == 1) {
            break *queue;
        }
    };
    assert_eq!((queue.enqueued, queue.sent_bytes, queue.depth_packets), (1, 2, 0));
}

fn restarted(state: &Path, lines: &[&str]) -> Result<Bench, StartError> {
    Bench::configured(2, options(), |device| {
        device.state = Some(state.to_owned());
        device.durability = Durability::Medium;
        device.queues = Configuration::parse(lines).expect("a configuration");
    })
}

/// Queues that a client has set are there after a restart, whatever is configured then, and after
/// the file was rewritten. Without such a change, those of the configuration apply.
#[tokio::test]
async fn queues_survive_a_restart() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state");
    let configured = ["port=1 rate=3Mbps"];
    {
        let bench = restarted(&state, &configured).expect("it starts");
        let controller = Controller::of(&bench.switch, 1).await;
        assert_eq!(get(&controller).await.ports, messages(&configured));
    }
    {
        // No client has set queues, so those of the configuration apply again.
        let bench = restarted(&state, &["port=1 rate=4Mbps"]).expect("it starts");
        let controller = Controller::of(&bench.switch, 1).await;
        assert_eq!(get(&controller).await.ports, messages(&["port=1 rate=4Mbps"]));
        set(&controller, [removed(1), messages(SLOW)].concat()).await.expect("a change");
    }
    // The second start without a pipeline has nothing else to restore.
    for _ in 0..2 {
        let bench = restarted(&state, &configured).expect("it starts");
        let controller = Controller::of(&bench.switch, 1).await;
        let read = get(&controller).await;
        assert_eq!((read.ports, read.revision), (messages(SLOW), 0));
    }
    {
        let bench = restarted(&state, &configured).expect("it starts");
        let mut controller = Controller::with(&bench.switch, PROGRAM).await;
        controller.insert([Names::new().entry(9, "forward", &[2])]).await;
    }
    let mut bench = restarted(&state, &configured).expect("it starts");
    let controller = Controller::of(&bench.switch, 1).await;
    assert_eq!(get(&controller).await.ports, messages(SLOW));
    for number in 0..3 {
        bench.send(1, &[9, number]);
    }
    wait_for(&controller, 0, |state| state.enqueued == 3 && state.depth_packets == 2).await;
    assert_eq!(bench.receive(2, 1), [[9, 0]]);
}
