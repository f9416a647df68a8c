//! Trees whose packets continue from checkpoints, against trees whose packets are tried as a whole
//! for each outcome.

use crate::support::{
    SPREAD, Spread, add_group, copy, discard, forward, load, mirror, multicast, rewrite, spread,
};
use ir::Location;
use ir::bits::Bits;
use pipeline::{
    AtQueues, Checkpoint, ControlChanges, Core, Detail, Event, Output, RunError, Selection, Switch,
};
use std::time::Duration;
use traces::{Arrival, Recorder, Trace, Traceable, all_outcomes};

const FORKS: &str = include_str!("forks.p4");

/// A switch whose packets are tried as a whole for each outcome.
struct Whole(Switch);

/// A recorder that receives no checkpoints.
struct WithoutCheckpoints<'r>(&'r mut Recorder);

impl pipeline::Trace for WithoutCheckpoints<'_> {
    fn event(&mut self, event: Event) {
        self.0.event(event);
    }

    fn lookup(&mut self, table: ir::TableId, keys: &[Bits], hit: bool) {
        self.0.lookup(table, keys, hit);
    }

    fn branch(&mut self, at: Location, side: usize) {
        self.0.branch(at, side);
    }

    fn selected(&mut self, parser: &str, state: &str, case: Option<usize>) {
        self.0.selected(parser, state, case);
    }

    fn choose(&mut self, selection: &Selection<'_>) -> usize {
        self.0.choose(selection)
    }

    fn checkpoint(&mut self, _: Checkpoint) {
        panic!("a checkpoint that the trace does not want");
    }

    fn detail(&self) -> Detail {
        self.0.detail()
    }
}

impl Traceable for Whole {
    fn adopt_program(&mut self) {}

    fn program(&self) -> Option<&Core> {
        Some(&self.0)
    }

    fn changes(&self) -> Option<ControlChanges> {
        None
    }

    fn process(&mut self, arrival: Arrival<'_>) -> Result<Vec<Output>, RunError> {
        Traceable::process(&mut self.0, arrival)
    }

    fn record(
        &mut self,
        arrival: Arrival<'_>,
        recorder: &mut Recorder,
    ) -> Result<Vec<Output>, RunError> {
        Traceable::record(&mut self.0, arrival, recorder)
    }

    fn attempt(
        &mut self,
        arrival: Arrival<'_>,
        at_queues: AtQueues,
        recorder: &mut Recorder,
    ) -> Result<Vec<Output>, RunError> {
        assert!(recorder.starts_from().is_none());
        let Arrival { port, packet, now } = arrival;
        self.0.try_process(port, packet, now, at_queues, &mut WithoutCheckpoints(recorder))
    }
}

/// A switch that counts how often packets are tried as a whole.
struct Counting {
    switch: Switch,
    whole: u64,
    resumed: u64,
}

impl Traceable for Counting {
    fn adopt_program(&mut self) {}

    fn program(&self) -> Option<&Core> {
        Some(&self.switch)
    }

    fn changes(&self) -> Option<ControlChanges> {
        None
    }

    fn process(&mut self, arrival: Arrival<'_>) -> Result<Vec<Output>, RunError> {
        Traceable::process(&mut self.switch, arrival)
    }

    fn record(
        &mut self,
        arrival: Arrival<'_>,
        recorder: &mut Recorder,
    ) -> Result<Vec<Output>, RunError> {
        Traceable::record(&mut self.switch, arrival, recorder)
    }

    fn attempt(
        &mut self,
        arrival: Arrival<'_>,
        at_queues: AtQueues,
        recorder: &mut Recorder,
    ) -> Result<Vec<Output>, RunError> {
        match recorder.starts_from() {
            Some(_) => self.resumed += 1,
            None => self.whole += 1,
        }
        self.switch.attempt(arrival, at_queues, recorder)
    }
}

/// Makes both trees of a packet, which must be the same, and returns one of them.
fn compared(make: &dyn Fn() -> Switch, packet: &[u8], limit: u64) -> Trace {
    let arrival = Arrival { port: 4, packet, now: Duration::ZERO };
    let mut counting = Counting { switch: make(), whole: 0, resumed: 0 };
    let mut whole = Whole(make());
    let mut last = None;
    for detail in [Detail::Steps, Detail::Values] {
        (counting.whole, counting.resumed) = (0, 0);
        let (outputs, trace) = all_outcomes(&mut counting, arrival, detail, limit);
        let expected = all_outcomes(&mut whole, arrival, detail, limit);
        assert_eq!((&outputs, &trace), (&expected.0, &expected.1), "packet {packet:?}");
        let explored = trace.outcomes.expect("counts").explored;
        assert_eq!((counting.whole, counting.resumed), (1, explored - 1), "packet {packet:?}");
        last = Some(trace);
    }
    // Trying has changed nothing, and the next packet draws the same random numbers.
    let process = |switch: &mut Switch| switch.process(4, packet, Duration::ZERO);
    assert_eq!(process(&mut counting.switch), process(&mut make()));
    last.expect("a trace")
}

/// Creates a switch that runs `forks.p4`, with random groups.
fn forks(seed: u64) -> Switch {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut switch = load("forks.p4", FORKS);
    for (pick, first) in [("early", 1_000), ("late", 2_000)] {
        let members: Vec<Spread> = (0..random.u32(0..3))
            .map(|_| Spread { action: "change", arguments: vec![(8, random.u64(0..4))] })
            .collect();
        if !members.is_empty() {
            let [table, selector] = ["picks", "picked"].map(|name| format!("{pick}.{name}"));
            add_group(&mut switch, [&table, &selector], (8, 7), (first, &members));
        }
    }
    let route = |random: &mut fastrand::Rng| match random.u32(0..8) {
        0 => Spread { action: "discard", arguments: Vec::new() },
        1 | 2 => Spread { action: "copy", arguments: vec![(16, random.u64(1..3))] },
        3 | 4 => Spread { action: "once_more", arguments: Vec::new() },
        _ => Spread { action: "forward", arguments: vec![(9, random.u64(1..4))] },
    };
    let members: Vec<Spread> = (0..random.usize(1..4)).map(|_| route(&mut random)).collect();
    add_group(&mut switch, ["route", "members"], (8, 7), (3_000, &members));
    for port in 1..4 {
        if random.bool() {
            let rewrites = |random: &mut fastrand::Rng| Spread {
                action: "rewrite",
                arguments: vec![(8, random.u64(10..14))],
            };
            let members: Vec<Spread> = (0..2).map(|_| rewrites(&mut random)).collect();
            let first = 4_000 + 10 * u32::try_from(port).expect("a port");
            add_group(&mut switch, ["rewrites", "marks"], (9, port), (first, &members));
        }
    }
    multicast(&mut switch, 1, &[1, 2, 3]);
    multicast(&mut switch, 2, &[2]);
    if random.bool() {
        mirror(&mut switch, 7, 3);
    }
    switch
}

/// Choices nest in calls, `if` statements and further passes, and a tree may be cut.
#[test]
fn trees_from_checkpoints_are_those_of_whole_packets() {
    let (mut largest, mut cut) = (0, 0);
    for seed in 0..24 {
        let packet = [7, seed as u8, (seed * 37) as u8, 0, 9];
        let trace = compared(&|| forks(seed), &packet, 40);
        let counts = trace.outcomes.expect("counts");
        largest = largest.max(counts.explored);
        cut += u64::from(counts.left_out > 0);
    }
    assert!(largest == 40 && cut > 0, "at most {largest} outcomes, {cut} trees are cut");
}

/// The groups of the other tests, with a packet of a kind that has none.
#[test]
fn packets_of_a_flat_program_continue_from_checkpoints() {
    let make = || {
        let mut switch = load("spread.p4", SPREAD);
        spread(&mut switch, "route", 7, &[forward(1, 3, 1), copy(1, 2), discard(1)]);
        spread(&mut switch, "rewrites", 2, &[rewrite(10, 1), rewrite(11, 1)]);
        multicast(&mut switch, 1, &[1, 2, 3]);
        mirror(&mut switch, 7, 2);
        switch
    };
    let explored = |packet: &[u8]| compared(&make, packet, 1024).outcomes.expect("counts").explored;
    // Three members, of which one is a copy to three ports; a copy of each to port 2, which has two
    // members. The replica at port 2 has two as well.
    assert_eq!(explored(&[7, 1, 9, 64]), 1 + 2 + 3 + 1);
    assert_eq!(explored(&[8, 1, 9, 64]), 1);
}

/// A packet with many copies has no checkpoints in egress, because each would keep all copies.
#[test]
fn many_copies_are_tried_as_a_whole() {
    let ports: Vec<u32> = (1..40).collect();
    let make = || {
        let mut switch = load("spread.p4", SPREAD);
        spread(&mut switch, "route", 7, &[copy(1, 1)]);
        spread(&mut switch, "rewrites", 2, &[rewrite(10, 1), rewrite(11, 1)]);
        multicast(&mut switch, 1, &ports);
        switch
    };
    let packet = [7, 1, 9, 64];
    let arrival = Arrival { port: 4, packet: &packet, now: Duration::ZERO };
    let mut counting = Counting { switch: make(), whole: 0, resumed: 0 };
    let found = all_outcomes(&mut counting, arrival, Detail::Steps, 64);
    assert_eq!(found, all_outcomes(&mut Whole(make()), arrival, Detail::Steps, 64));
    // The checkpoint of ingress is before the copies.
    assert_eq!((counting.whole, counting.resumed), (1, 1));
}
