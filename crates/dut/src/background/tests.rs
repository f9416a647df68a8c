//! Packets, on ports in memory, that pass through an OpenFlow switch of known behaviour.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use openflow::Version;
use packetio::{Port, memory};
use tokio::runtime::Runtime;

use super::*;
use crate::flows::FlowMatch;
use crate::live::Wire;
use crate::session::Listening;
use crate::testing::made_switch::{Connects, Faults, MadeSwitch};
use crate::updates::{self, Load, Measured, OtherTables};
use crate::{capacity, reads};

const VERSIONS: [Version; 2] = [Version::V1_0, Version::V1_3];
const TIME: Duration = Duration::from_millis(150);

/// A switch with packets on two of its ports.
struct Bench {
    runtime: Runtime,
    session: Session,
    packets: Background,
    connects: Connects,
    stop: AtomicBool,
}

impl Bench {
    fn new(version: Version, faults: Faults) -> Self {
        let lines = [1, 2].map(|number: u32| (number, memory::line(&number.to_string(), 1 << 14)));
        let (mut here, mut there): (Vec<Outlet>, Vec<Port>) = (Vec::new(), Vec::new());
        for (number, [near, far]) in lines {
            here.push(Outlet::new(number, near));
            there.push(far);
        }
        let wires = [1, 2].map(|number| Wire(format!("{number}@lo").parse().expect("a port")));
        let ports = Ports { wires: wires.to_vec(), rules: 3 };
        let made = MadeSwitch { ports: there, table_size: 400, ..MadeSwitch::new(version, faults) };
        let (mut connects, stop) = (Connects::new(made), AtomicBool::new(false));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        let address = ([127, 0, 0, 1], 0).into();
        let (versions, matching) = (vec![version], FlowMatch::Mac);
        let listening = Listening { address, versions, tls: None, matching, flows: None };
        let session = Session::over_openflow(&listening, 1000, &stop, &mut connects);
        let mut session = session.expect("it connects");
        let settings = Settings { packets_per_second: 2000.0 };
        let opened = Background::over_openflow(&mut session, &ports, here, settings);
        let packets = runtime.block_on(opened).expect("it takes the flows");
        Self { runtime, session, packets, connects, stop }
    }

    fn updates(&mut self) -> Vec<Measured> {
        let load = Load::new(10, 4);
        let settings = updates::Settings {
            loads: vec![load, Load { has_packets: true, ..load }],
            base: load,
            tables: OtherTables::None,
            rounds: 2,
            time: TIME,
            seed: 1,
        };
        let Self { runtime, session, packets, stop, .. } = self;
        let mut progress = |_, _| {};
        let found = updates::measure(session, &settings, &[], Some(packets), stop, &mut progress);
        runtime.block_on(found).expect("it can be measured")
    }

    fn reads(&mut self) -> reads::Measured {
        let settings = reads::Settings { entries: 100, rounds: 2, time: TIME };
        let Self { runtime, session, packets, stop, .. } = self;
        let mut progress = |_, _| {};
        let found = reads::measure(session, &settings, Some(packets), stop, &mut progress);
        runtime.block_on(found).expect("it can be measured")
    }

    fn capacity(&mut self) -> capacity::Measured {
        let settings = capacity::Settings {
            batch: 10,
            window: 2,
            trial: Duration::ZERO,
            time: TIME,
            process: None,
            tables: OtherTables::None,
        };
        let Self { runtime, session, packets, stop, .. } = self;
        let mut progress = |_, _| {};
        let found = capacity::measure(session, &settings, Some(packets), stop, &mut progress);
        runtime.block_on(found).expect("it can be measured")
    }

    /// Ends the measurement. Returns the number of flows that the switch has more than before, as
    /// the session finds it, and that of all.
    fn end(self) -> (i64, usize) {
        let Self { runtime, mut session, packets, connects, .. } = self;
        runtime.block_on(packets.close(&mut session)).expect("it deletes the flows");
        let more = runtime.block_on(session.restore()).expect("it answers");
        drop(session);
        (more, connects.flows_left())
    }
}

#[test]
fn packets_beside_updates_reads_and_a_full_table_are_not_lost() {
    for version in VERSIONS {
        let mut bench = Bench::new(version, Faults::default());
        let own = bench.session.present();
        assert_eq!(own, 4, "three flows, and one for packets without a flow");
        let updates = bench.updates();
        let with: Vec<Cost> = updates.iter().filter_map(Measured::packets).collect();
        assert_eq!((updates.len(), with.len()), (6, 3), "{version}");
        for cost in &with {
            assert!(cost.idle.sent > 0 && cost.busy.sent > 0, "{version}: {cost:?}");
            assert!(!cost.has_excess(), "{version}: {} of {}", cost.busy.lost, cost.busy.sent);
        }
        for one in &updates {
            assert_eq!((one.refused(), one.missing().unwrap_or(0)), (0, 0), "{version}");
        }
        let reads = bench.reads();
        assert_eq!((reads.expected, reads.wrong), (104, 0), "{version}");
        let cost = reads.packets.expect("packets pass");
        assert!(cost.busy.sent > 0 && !cost.has_excess(), "{version}");
        let capacity = bench.capacity();
        assert_eq!((capacity.entries, capacity.missing), (400, Some(0)), "{version}");
        let entries: Vec<(u8, usize)> =
            capacity.levels.iter().map(|level| (level.percent, level.entries)).collect();
        assert_eq!(entries, [(0, 44), (50, 200), (90, 360), (100, 400)], "{version}");
        for level in &capacity.levels {
            let cost = level.packets(2000.0).expect("packets pass");
            assert!(cost.idle.sent > 0 && cost.busy.sent > 0, "{version}, {}", level.percent);
            assert!(!cost.has_excess(), "{version}, {}", level.percent);
            let accepted = level.replaced.iter().map(|(_, phase)| phase.accepted.len());
            let accepted: Vec<usize> = accepted.collect();
            assert!(accepted.iter().all(|count| *count == accepted[0] && *count > 0));
        }
        assert_eq!(bench.end(), (0, 0), "{version}");
    }
}

/// Returns the packets of several costs together. On a busy machine, one alone may have too few.
fn all(costs: impl Iterator<Item = Cost>) -> Cost {
    let mut sum = Cost::default();
    for Cost { rate, idle, busy } in costs {
        sum.rate = rate;
        sum.idle.append(idle);
        sum.busy.append(busy);
    }
    sum
}

#[test]
fn packets_that_updates_cost_are_found() {
    let faults = Faults { loses_packet_after_flow_mod: true, ..Faults::default() };
    let mut bench = Bench::new(Version::V1_3, faults);
    let updates = bench.updates();
    let cost = all(updates.iter().filter_map(Measured::packets));
    assert!(cost.has_excess(), "{} of {} lost", cost.busy.lost, cost.busy.sent);
    // Reads cost nothing.
    assert!(!bench.reads().packets.expect("packets pass").has_excess());
    let levels = bench.capacity().levels;
    let cost = all(levels.iter().filter_map(|level| level.packets(2000.0)));
    assert!(cost.has_excess(), "{} of {} lost", cost.busy.lost, cost.busy.sent);
    assert_eq!(bench.end(), (0, 0));
}

#[test]
fn packets_that_wait_for_reads_are_late() {
    let take = Duration::from_millis(8);
    let faults = Faults { statistics_take: take, ..Faults::default() };
    let mut bench = Bench::new(Version::V1_3, faults);
    let cost = bench.reads().packets.expect("packets pass");
    let delay = |packets: &Forwarded| packets.delay(0.5).expect("many arrived");
    // Half of the packets that arrive during a read wait for more than half of it.
    assert!(delay(&cost.busy) >= take / 4, "{:?}", delay(&cost.busy));
    assert!(delay(&cost.idle) < delay(&cost.busy), "{:?}", delay(&cost.idle));
    assert_eq!(bench.end(), (0, 0));
}
