//! Counters of switches whose values are old by a known time.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ::openflow::Version;
use packetio::{BURST, Burst, Port, memory};

use super::*;
use crate::effects::{Gap, Moment};
use crate::flows::FlowMatch;
use crate::live::{Flow, Outcome, Ports, Wire};
use crate::outlet::Outlet;
use crate::session::{Listening, OpenFlowChannel};
use crate::testing::made_switch::{Connects, Faults, MadeSwitch};
use crate::testing::ticking::Ticking;

const SETTINGS: Settings = Settings { readings: 50 };
/// The number of looks until an answer arrives.
const LOOKS: usize = 4;

/// The age of the values of a switch.
#[derive(Clone, Copy, Debug)]
enum Stale {
    /// Each value is old by this time.
    By(Duration),
    /// Values are copied whenever this time has passed.
    Each(Duration),
}

/// A switch in virtual time, which forwards packets from port 1 to port 2 and counts them.
struct Counting {
    clock: Ticking,
    ports: [Port; 2],
    burst: Burst,
    stale: Stale,
    /// The moments at which packets were counted.
    counted: Vec<u64>,
    /// One of this number of packets is not counted; `None` if all are.
    misses: Option<u64>,
    forwarded: u64,
    looks: usize,
}

impl Counter for Counting {
    fn ask(&mut self) -> Result<(), DutError> {
        self.looks = 0;
        self.tend()
    }

    async fn look(&mut self) -> Result<Option<u64>, DutError> {
        self.tend()?;
        self.looks += 1;
        if self.looks < LOOKS {
            return Ok(None);
        }
        let now = self.clock.reading();
        let taken = match self.stale {
            Stale::By(time) => now.saturating_sub(nanos(time)),
            Stale::Each(time) => now - now % nanos(time),
        };
        Ok(Some(self.counted.iter().filter(|at| **at <= taken).count() as u64))
    }

    fn tend(&mut self) -> Result<(), DutError> {
        self.burst.clear();
        let [near, far] = &mut self.ports;
        near.queues[0].receive(&mut self.burst)?;
        for frame in self.burst.frames() {
            self.forwarded += 1;
            if self.misses.is_none_or(|each| !self.forwarded.is_multiple_of(each)) {
                self.counted.push(self.clock.reading());
            }
            far.queues[0].transmit(frame.bytes());
        }
        far.queues[0].flush();
        Ok(())
    }
}

fn measured(stale: Stale, misses: Option<u64>) -> Measured {
    let clock = Ticking::default();
    let [near, there] = memory::line("in", 1 << 12);
    let [back, out] = memory::line("out", 1 << 12);
    let mut switch = Counting {
        clock: clock.clone(),
        ports: [there, out],
        burst: Burst::new(BURST),
        stale,
        counted: Vec::new(),
        misses,
        forwarded: 0,
        looks: 0,
    };
    let packet = vec![7; 128];
    let leaves = Outcome::Leaves { port: 2, packet: packet.clone() };
    let flow = Flow {
        port: 1,
        packet,
        first: (),
        second: None,
        absent: Outcome::Unseen,
        inserted: leaves.clone(),
        modified: leaves,
    };
    let flow = LeavingFlow::of(&[flow], &[]).expect("its packets leave");
    let outlets = vec![Outlet::new(1, near), Outlet::new(2, back)];
    let mut stream = PacketStream::with_clock(outlets, clock);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let stop = AtomicBool::new(false);
    let mut readings = Readings {
        counter: &mut switch,
        flow: &flow,
        stream: &mut stream,
        pace: Pace::new(Moment(0), 1, 1),
    };
    let mut progress = |_, _| {};
    let wanted = Wanted { settings: &SETTINGS, stop: &stop, progress: &mut progress };
    let found = readings.make(wanted);
    runtime.block_on(found).expect("it can be measured")
}

fn gap(time: Duration) -> Gap {
    Gap(nanos(time) as i64)
}

#[test]
fn values_that_are_old_by_a_known_time_are_found_to_be_so() {
    for stale in [0, 3, 20].map(Duration::from_millis) {
        let found = measured(Stale::By(stale), None);
        assert_eq!((found.ages.len(), found.too_high), (50, 0), "{stale:?}");
        assert_eq!((found.arrived, found.counted as usize), (found.sent, found.sent), "{stale:?}");
        for age in &found.ages {
            assert!(age.contains(gap(stale)), "{stale:?}: {age:?}");
            // Packets are 0.5 ms apart, and an answer takes less.
            assert!(age.width() <= gap(Duration::from_millis(2)), "{stale:?}: {age:?}");
        }
        let is_old = stale > Duration::from_millis(2);
        assert_eq!(found.ages.iter().any(|age| age.least > Gap(0)), is_old, "{stale:?}");
    }
}

#[test]
fn a_copy_that_is_renewed_now_and_then_is_at_most_as_old_as_its_period() {
    let period = Duration::from_millis(100);
    let found = measured(Stale::Each(period), None);
    let oldest = found.ages.iter().map(|age| age.least).max().expect("there are values");
    assert!(oldest > gap(period / 2) && oldest <= gap(period), "{oldest:?}");
    assert!(found.ages.iter().all(|age| age.least <= gap(period)), "{:?}", found.ages);
    assert_eq!(found.counted as usize, found.sent);
}

#[test]
fn packets_that_are_not_counted_are_missing_in_the_end() {
    let found = measured(Stale::By(Duration::ZERO), Some(10));
    assert_eq!(found.counted as usize, found.sent - found.sent / 10);
    assert_eq!(found.arrived, found.sent);
}

/// Measures an OpenFlow switch with two ports in memory. Checks that no flow is left in it.
fn over_openflow(version: Version, faults: Faults) -> Measured {
    let [near, far] = memory::line("in", 1 << 12);
    let [back, out] = memory::line("out", 1 << 12);
    let outlets = vec![Outlet::new(1, near), Outlet::new(2, back)];
    let made = MadeSwitch { ports: vec![far, out], ..MadeSwitch::new(version, faults) };
    let mut connects = Connects::new(made);
    let stop = AtomicBool::new(false);
    let address = ([127, 0, 0, 1], 0).into();
    let versions = vec![version];
    let listening =
        Listening { address, versions, tls: None, matching: FlowMatch::Mac, flows: None };
    let mut channel = OpenFlowChannel::open(&listening, &stop, &mut connects).expect("it connects");
    let numbers = channel.absent(1);
    let wires = (1..=2).map(|number| Wire(format!("{number}@lo").parse().expect("a port")));
    let ports = Ports { wires: wires.collect(), rules: 1 };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let mut progress = |_, _| {};
    let wanted = Wanted { settings: &SETTINGS, stop: &stop, progress: &mut progress };
    let found = super::openflow::through(outlets, &mut channel, &ports, &numbers, wanted);
    let found = runtime.block_on(found).expect("it can be measured");
    drop(channel);
    assert_eq!(connects.flows_left(), 0);
    found
}

#[test]
fn the_packets_of_a_flow_are_read_while_they_pass() {
    for version in [Version::V1_0, Version::V1_3] {
        let found = over_openflow(version, Faults::default());
        assert_eq!((found.ages.len(), found.too_high), (50, 0), "{version}");
        assert!(found.sent > 100, "{version}: {found:?}");
        assert_eq!((found.arrived, found.counted as usize), (found.sent, found.sent), "{version}");
    }
}

#[test]
fn statistics_from_a_copy_are_older_than_their_request() {
    let copies = Some(Duration::from_millis(200));
    for version in [Version::V1_0, Version::V1_3] {
        let found =
            over_openflow(version, Faults { copies_statistics: copies, ..Faults::default() });
        let old = found.ages.iter().filter(|age| age.least > Gap(0)).count();
        assert!(old > 0, "{version}: {:?}", found.ages);
        // The copy is renewed within the time for which the counter may still change.
        assert_eq!(found.counted as usize, found.sent, "{version}");
    }
}
