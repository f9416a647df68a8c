//! The packets of a switch by outcome, for tests that account for every packet.

use crate::support::{DEVICE, TIMEOUT};
use crate::traffic::{PASSING, Ports};
use packetio::Counters;
use softswitch::Switch;
use std::thread;
use std::time::{Duration, Instant};

/// The sums of packets by outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) received: u64,
    pub(crate) packet_outs: u64,
    pub(crate) processed: u64,
    pub(crate) without_output: u64,
    pub(crate) faults: u64,
    pub(crate) transmitted: u64,
    pub(crate) transmit_dropped: u64,
    pub(crate) no_such_port: u64,
    pub(crate) port_disabled: u64,
    pub(crate) packet_ins: u64,
}

impl Counted {
    fn of(switch: &Switch, ports: &Ports) -> Self {
        let state = switch.state();
        let device = state.iter().find(|device| device.id == DEVICE).expect("there is one device");
        let lasting = device.ports.iter().filter(|port| port.number != PASSING);
        let counters: Vec<_> = lasting.map(|port| port.counters).chain(ports.counters()).collect();
        let sum = |value: fn(&Counters) -> u64| counters.iter().map(value).sum();
        Self {
            received: sum(|one| one.received_packets),
            packet_outs: device.activity.packet_outs - device.activity.packet_outs_dropped,
            processed: device.packets.received,
            without_output: device.packets.without_output,
            faults: device.packets.errors.values().sum(),
            transmitted: sum(|one| one.transmitted_packets),
            transmit_dropped: sum(|one| one.transmit_dropped + one.bad_length),
            no_such_port: device.activity.no_such_port,
            port_disabled: device.activity.port_disabled,
            packet_ins: device.activity.packet_ins,
        }
    }

    /// Returns the number of packets that came in.
    pub(crate) fn arrived(&self) -> u64 {
        self.received + self.packet_outs
    }

    /// Returns the number of packets whose end was counted: sent, dropped or refused.
    fn left(&self) -> u64 {
        let sent = self.transmitted + self.transmit_dropped + self.packet_ins;
        let refused = self.no_such_port + self.port_disabled;
        sent + refused + self.without_output + self.faults
    }

    fn is_balanced(&self) -> bool {
        self.arrived() == self.processed && self.processed == self.left()
    }

    /// Checks that every packet is accounted for. The program produces at most one packet from
    /// each.
    pub(crate) fn check(&self) {
        assert_eq!(self.arrived(), self.processed, "came in: {self:?}");
        assert_eq!(self.processed, self.left(), "went out: {self:?}");
    }
}

/// Returns the counts once no packet moves any more and none is in flight. A busy machine may hold
/// a worker for longer than the interval between two looks, in the middle of a burst.
pub(crate) fn settled(switch: &Switch, ports: &Ports) -> Counted {
    let start = Instant::now();
    let mut before = Counted::default();
    loop {
        let now = Counted::of(switch, ports);
        if now == before && (now.is_balanced() || start.elapsed() > TIMEOUT) {
            return now;
        }
        assert!(start.elapsed() < 2 * TIMEOUT, "{now:?}");
        before = now;
        thread::sleep(Duration::from_millis(300));
    }
}
