//! A measurement of a switch that needs no thread: its ports forward a packet when it is sent, and
//! its rules change when the control channel is polled. The moment of each change is known, so
//! brackets can be checked against it.
//!
//! It also shows how narrow brackets are where neither the kernel nor a second thread widens them:
//!
//! ```text
//! cargo test --release -p dut brackets_contain -- --nocapture
//! ```

use std::collections::{HashMap, VecDeque};
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use packetio::{Burst, Port, PortCounters, PortDown, Queue, Transmitted};

use super::super::bench::Bench;
use super::super::control::{Control, Moments};
use super::super::{Ports, Settings, Wire};
use crate::effects::{Moment, Span, Transition};
use crate::entry_number::EntryNumber;
use crate::error::DutError;
use crate::flows::{FlowEntry, FlowMaker, FlowMatch, Output, Selector};
use crate::outlet::Outlet;
use crate::window::{BatchAtomicity, Operation};

const RULES: usize = 4;
const ROUNDS: usize = 50;
const PORTS: u32 = 4;
const ATOMICITY: BatchAtomicity = BatchAtomicity::ContinueOnError;

/// The bytes by which the switch distinguishes flows: the Ethernet destination.
type Destination = [u8; 6];

/// The rules of the switch, and the packets that wait at its ports.
#[derive(Debug, Default)]
struct State {
    rules: HashMap<Destination, u32>,
    /// The port of packets without a rule.
    rest: u32,
    /// The packets that have left by each port, numbered from 1.
    left: [VecDeque<Vec<u8>>; PORTS as usize],
}

/// A switch, which its ports and its control channel share.
#[derive(Clone, Debug, Default)]
struct Switch(Arc<Mutex<State>>);

impl Switch {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no test has panicked")
    }
}

/// A port of the switch.
#[derive(Debug)]
struct InlineQueue {
    switch: Switch,
    number: u32,
}

impl Queue for InlineQueue {
    fn receive(&mut self, burst: &mut Burst) -> Result<usize, PortDown> {
        let mut state = self.switch.state();
        let left = &mut state.left[self.number as usize - 1];
        let mut count = 0;
        while burst.room() > 0 {
            let Some(packet) = left.pop_front() else { break };
            burst.push(&packet);
            count += 1;
        }
        Ok(count)
    }

    fn transmit(&mut self, packet: &[u8]) -> Transmitted {
        let mut state = self.switch.state();
        let destination = packet.first_chunk().expect("an Ethernet header");
        let port = *state.rules.get(destination).unwrap_or(&state.rest);
        state.left[port as usize - 1].push_back(packet.to_vec());
        Transmitted::Taken
    }

    fn flush(&mut self) -> bool {
        true
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn reopen(&mut self) -> bool {
        true
    }
}

/// A control channel that changes the rules of the switch in the same thread, at known moments.
struct InlineControl {
    switch: Switch,
    maker: FlowMaker,
    prepared: VecDeque<(Operation, FlowEntry)>,
    moments: Moments,
    /// The number of turns after the request until the first rule changes; each further rule
    /// changes a turn later. The answer comes when half of them have changed.
    turns: usize,
    turn: usize,
    /// The times at which the rules of the last request changed, in the order of its updates.
    changes: Vec<Span>,
}

impl InlineControl {
    fn apply(&self, operation: Operation, entry: FlowEntry) {
        let port = match entry.output {
            Output::Port(port) => port,
            Output::Back => 1,
            Output::Nowhere
            | Output::Controller
            | Output::Metered { .. }
            | Output::Group(_)
            | Output::OfFile(_) => panic!("every state is visible"),
        };
        let mut state = self.switch.state();
        match entry.selects {
            Selector::Rest | Selector::Beneath => state.rest = port,
            Selector::One(number) => {
                let packet = self.maker.packet(number);
                let destination = *packet.first_chunk().expect("an Ethernet header");
                match operation {
                    Operation::Delete => state.rules.remove(&destination),
                    Operation::Insert | Operation::Modify => state.rules.insert(destination, port),
                };
            }
        }
    }
}

impl Control for InlineControl {
    type Entry = FlowEntry;

    async fn carry_out(
        &mut self,
        operation: Operation,
        entries: &[FlowEntry],
    ) -> Result<(), DutError> {
        entries.iter().for_each(|entry| self.apply(operation, *entry));
        Ok(())
    }

    fn prepare(
        &mut self,
        operation: Operation,
        _: BatchAtomicity,
        entries: &[&FlowEntry],
    ) -> Result<(), DutError> {
        self.prepared = entries.iter().map(|entry| (operation, **entry)).collect();
        (self.moments, self.turn) = (Moments::default(), 0);
        self.changes.clear();
        Ok(())
    }

    async fn turn(&mut self, now: &dyn Fn() -> Moment) -> Result<(), DutError> {
        let before = now();
        self.moments.request.get_or_insert(Span { earliest: before, latest: before });
        self.turn += 1;
        if self.turn <= self.turns {
            return Ok(());
        }
        if let Some((operation, entry)) = self.prepared.pop_front() {
            self.apply(operation, entry);
            self.changes.push(Span { earliest: before, latest: now() });
        }
        if self.changes.len() > self.prepared.len() {
            self.moments.answer.get_or_insert(Span { earliest: before, latest: before });
        }
        Ok(())
    }

    fn moments(&self) -> Moments {
        self.moments
    }

    async fn restore(&mut self) -> Result<usize, DutError> {
        Ok(0)
    }
}

#[test]
fn brackets_contain_the_moment_of_change() {
    let switch = Switch::default();
    let outlets = (1..=PORTS).map(|number| {
        let queue = InlineQueue { switch: switch.clone(), number };
        let counters = Arc::new(PortCounters::default());
        let queues: Vec<Box<dyn Queue>> = vec![Box::new(queue)];
        Outlet::new(number, Port { name: number.to_string(), queues, counters, recording: None })
    });
    let settings = Settings {
        rounds: ROUNDS,
        probes_per_second: 1e6,
        beside: Duration::from_micros(500),
        atomicities: Vec::new(),
    };
    let mut bench = Bench::new(outlets.collect(), &settings);
    let maker = FlowMaker::new(FlowMatch::Mac, 1);
    let wires = (1..=PORTS).map(|number| Wire(format!("{number}@lo").parse().expect("a port")));
    let ports = Ports { wires: wires.collect(), rules: RULES };
    let numbers: Vec<EntryNumber> = (0..RULES as u64).map(EntryNumber).collect();
    let made = ports.flows(&maker, &numbers).expect("they are made");
    let flows: Vec<_> = made.flows.iter().collect();
    let mut control = InlineControl {
        switch,
        maker,
        prepared: VecDeque::new(),
        moments: Moments::default(),
        turns: 20,
        turn: 0,
        changes: Vec::new(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let widths = runtime.expect("a runtime").block_on(async {
        let mut widths = Vec::new();
        control.carry_out(Operation::Insert, &made.beside).await.expect("it is there");
        for _ in 0..ROUNDS {
            for operation in Operation::ALL {
                let observed = bench.change(operation, ATOMICITY, &flows, &mut control).await;
                let observation = observed.expect("no fault").expect("every state is visible");
                assert_eq!(observation.rules.len(), RULES);
                for (probes, truth) in observation.rules.iter().zip(&control.changes) {
                    let Transition::Once(bracket) = Transition::of(probes) else {
                        panic!("{operation:?}: each rule changes once: {probes:?}");
                    };
                    assert!(bracket.after < truth.latest, "{operation:?}: {bracket:?}, {truth:?}");
                    assert!(
                        truth.earliest < bracket.until,
                        "{operation:?}: {bracket:?}, {truth:?}"
                    );
                    widths.push(bracket.width().0);
                }
            }
        }
        widths
    });
    let sorted = statistics::Ordered::of(widths);
    let at = |share| sorted.tail_at(share).map_or(f64::NAN, |width: i64| width as f64 / 1e3);
    eprintln!(
        "{} brackets at {:.0} packets/s, each flow a {RULES}th: median {:.2} us, 99th percentile {:.2} us",
        sorted.len(),
        bench.probes_per_second(),
        at(0.5),
        at(0.99)
    );
}
