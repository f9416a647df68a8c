//! The counters of the ports of an emulated switch.
//!
//! Packets from hosts and from the other ends of links count as received. Packets that packet-outs
//! and rules send out of a port count as sent, whether or not the caller delivers them. Packet-ins
//! that the caller prepares in advance, as for a flood, enter by no port and are not counted.

use openflow::PortNumber;

/// The number of packets in one direction, and the number of their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) packets: u64,
    pub(super) bytes: u64,
}

impl Counted {
    fn add(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }
}

/// The counters of all ports.
#[derive(Clone, Debug, Default)]
pub(super) struct PortCounters {
    /// The counters of each port, with those of port n at index n. Ports without traffic may be
    /// missing.
    ports: Vec<Port>,
    /// The packets that were sent out of every port except their ingress port.
    flooded: Counted,
}

/// The counters of one port.
#[derive(Clone, Copy, Debug, Default)]
struct Port {
    received: Counted,
    sent: Counted,
    /// The flooded packets that entered by this port and were therefore not sent out of it.
    not_flooded: Counted,
}

impl PortCounters {
    /// Counts a packet that entered a port.
    pub(super) fn received(&mut self, port: u32, bytes: usize) {
        if let Some(port) = self.port(port) {
            port.received.add(bytes);
        }
    }

    /// Counts a packet that is sent out of `port`. `in_port` is the port by which the packet
    /// entered, or a number that no port of the switch has if the packet entered by none.
    pub(super) fn sent(&mut self, port: PortNumber, in_port: u32, bytes: usize, ports: u16) {
        let own = 1..=u32::from(ports);
        match port {
            PortNumber::FLOOD | PortNumber::ALL | PortNumber::NORMAL => {
                self.flooded.add(bytes);
                if let Some(port) = self.port(in_port).filter(|_| own.contains(&in_port)) {
                    port.not_flooded.add(bytes);
                }
            }
            PortNumber::IN_PORT if own.contains(&in_port) => self.direct(in_port, bytes),
            // A packet leaves by its ingress port only through the reserved port IN_PORT.
            PortNumber(port) if own.contains(&port) && port != in_port => self.direct(port, bytes),
            _ => {}
        }
    }

    /// Returns the numbers of packets and bytes that a port received, and the numbers that it sent.
    pub(super) fn of(&self, port: u32) -> (Counted, Counted) {
        let port = self.ports.get(port as usize).copied().unwrap_or_default();
        let sent = Counted {
            packets: port.sent.packets + self.flooded.packets - port.not_flooded.packets,
            bytes: port.sent.bytes + self.flooded.bytes - port.not_flooded.bytes,
        };
        (port.received, sent)
    }

    fn direct(&mut self, port: u32, bytes: usize) {
        if let Some(port) = self.port(port) {
            port.sent.add(bytes);
        }
    }

    /// Returns the counters of a port, or `None` if the port number has more than 16 bits, which a
    /// port of the switch never has.
    fn port(&mut self, port: u32) -> Option<&mut Port> {
        let place = usize::from(u16::try_from(port).ok()?);
        if place >= self.ports.len() {
            self.ports.resize(place + 1, Port::default());
        }
        self.ports.get_mut(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floods_leave_by_all_ports_but_one() {
        let mut counters = PortCounters::default();
        counters.received(1, 60);
        counters.sent(PortNumber::FLOOD, 1, 60, 3);
        counters.sent(PortNumber(2), 1, 100, 3);
        counters.sent(PortNumber(1), 1, 100, 3);
        counters.sent(PortNumber(4), 1, 100, 3);
        counters.sent(PortNumber::IN_PORT, 1, 7, 3);
        counters.sent(PortNumber::ALL, PortNumber::CONTROLLER.0, 40, 3);
        let of = |port| {
            let (received, sent) = counters.of(port);
            (received.packets, received.bytes, sent.packets, sent.bytes)
        };
        assert_eq!(of(1), (1, 60, 2, 47));
        assert_eq!(of(2), (0, 0, 3, 200));
        assert_eq!(of(3), (0, 0, 2, 100));
    }
}
