//! Trees of packets while the control plane changes the state of the switch.

use crate::support::{SPREAD, forward, load, spread};
use entities::{DataPlane, EntityError, Target as _};
use ir::bits::Bits;
use p4runtime::p4info::Schema;
use pipeline::{
    AtQueues, ControlChanges, Core, Detail, InterpreterTarget, Output, Ports, RunError, Switch,
    Worker,
};
use protos::trace::{Node, node::Next};
use std::time::Duration;
use traces::{Arrival, Contents, Effects, Recorder, Trace, Traceable, all_outcomes, trace_packet};

const ARRIVAL: Arrival<'_> = Arrival { port: 4, packet: &[7, 1, 0, 64], now: Duration::ZERO };

/// A switch that runs `spread.p4`. The control plane writes its register after packets were tried,
/// and from then on, all packets are dropped.
struct Written {
    switch: Switch,
    /// The number of writes that follow.
    left: usize,
    /// Whether the register is also written before a packet is processed.
    is_late: bool,
    /// The ports of another switch, whose changes are counted instead of those of `switch`.
    ports: Ports,
    worker: Worker,
    _plane: Box<dyn DataPlane>,
}

impl Written {
    fn new(left: usize, is_late: bool) -> Self {
        let mut switch = load("spread.p4", SPREAD);
        let members = [1, 2, 3].map(|port| forward(port, 0, 1));
        spread(&mut switch, "route", 7, &members);
        let compile = |_: &[u8]| -> Result<ir::Program, EntityError> {
            let switch = load("spread.p4", SPREAD);
            Ok(Core::program(&switch).clone())
        };
        let target = InterpreterTarget::new(Box::new(compile));
        let ports = target.ports();
        let p4info = p4lang::p4info::generate(Core::program(&switch)).expect("it has a P4Info");
        let schema = Schema::new(p4info).expect("it is right");
        let mut plane = target.load(schema.objects(), SPREAD.as_bytes()).expect("it loads");
        plane.activate();
        let mut worker = ports.worker();
        worker.adopt_program();
        Self { switch, left, is_late, ports, worker, _plane: plane }
    }

    fn write(&mut self) {
        let register = self.switch.extern_named("seen").expect("a register");
        let value = Bits::unsigned(8, 201);
        self.switch.set_register(register, 0, &value).expect("it is there");
        self.ports.set_port_up(9, self.left.is_multiple_of(2));
    }
}

impl Traceable for Written {
    fn adopt_program(&mut self) {}

    fn program(&self) -> Option<&Core> {
        Some(&self.switch)
    }

    fn changes(&self) -> Option<ControlChanges> {
        self.worker.control_changes()
    }

    fn process(&mut self, arrival: Arrival<'_>) -> Result<Vec<Output>, RunError> {
        if self.is_late {
            self.write();
        }
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
        let outputs = self.switch.attempt(arrival, at_queues, recorder);
        if self.left > 0 {
            self.left -= 1;
            self.write();
        }
        outputs
    }
}

/// Returns whether the packet leaves at each leaf of a tree.
fn leaving(trace: &Trace) -> Vec<bool> {
    fn add(node: &Node, leaving: &mut Vec<bool>) {
        match &node.next {
            Some(Next::Output(_)) => leaving.push(true),
            Some(Next::Drop(_)) => leaving.push(false),
            Some(Next::One(choice)) => {
                let nodes = choice.alternatives.iter().flat_map(|one| &one.node);
                nodes.for_each(|node| add(node, leaving));
            }
            other => panic!("{other:?}"),
        }
    }
    let mut all = Vec::new();
    add(trace.root.as_ref().expect("a tree"), &mut all);
    all
}

fn is_mixed(trace: &Trace) -> bool {
    trace.outcomes.expect("counts").mixed_states
}

#[test]
fn a_tree_that_meets_a_write_is_made_again() {
    let tree = |left| all_outcomes(&mut Written::new(left, false), ARRIVAL, Detail::Steps, 64).1;
    let before = tree(0);
    assert_eq!((leaving(&before), is_mixed(&before)), (vec![true; 3], false));
    // The write follows the first outcome, and the others meet it.
    let after = tree(1);
    assert_eq!((leaving(&after), is_mixed(&after)), (vec![false; 3], false));
}

#[test]
fn a_tree_says_that_writes_never_paused() {
    let mut switch = Written::new(usize::MAX, false);
    let (_, trace) = all_outcomes(&mut switch, ARRIVAL, Detail::Steps, 64);
    assert!(is_mixed(&trace));
    let text = traces::text(&trace, false);
    assert!(text.contains("the control plane changed the switch meanwhile"), "{text}");
}

#[test]
fn a_packet_that_was_processed_after_a_write_may_not_be_in_its_tree() {
    let contents = Contents { detail: Detail::Steps, outcomes: Some(64) };
    for is_late in [false, true] {
        let mut switch = Written::new(0, is_late);
        let traced = trace_packet(&mut switch, ARRIVAL, contents, Effects::Lasting);
        assert_eq!(leaving(&traced.trace), [true; 3]);
        assert_eq!(traced.outputs.expect("it runs").is_empty(), is_late);
        assert_eq!(is_mixed(&traced.trace), is_late);
    }
}
