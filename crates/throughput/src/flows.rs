//! The packets of flows, close together.
//!
//! To make the packets of a turn, those of random flows are read, and what the cache takes for that it lacks for tables. So
//! what all packets have alike is kept once, and of each flow only where packets differ.

use crate::ring::Ring;
use std::ops::Range;

/// Most bytes of a flow that are kept so: packets that differ in more are copied from where they are.
const CLOSE: usize = 48;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    /// The first packet; empty where packets are not kept so.
    alike: Vec<u8>,
    /// Where others differ from it.
    runs: Vec<Range<usize>>,
    /// Bytes of a flow: those of all runs.
    width: usize,
    /// Of each flow.
    differing: Vec<u8>,
}

impl Flows {
    pub(crate) fn new(packets: &[Vec<u8>]) -> Self {
        let Some(first) = packets.first() else { return Self::default() };
        if packets.iter().any(|packet| packet.len() != first.len()) {
            return Self::default();
        }
        let mut differs = vec![0; first.len()];
        for packet in packets {
            for (differs, (one, other)) in differs.iter_mut().zip(packet.iter().zip(first)) {
                *differs |= one ^ other;
            }
        }
        let mut runs: Vec<Range<usize>> = Vec::new();
        for at in (0..first.len()).filter(|at| differs[*at] != 0) {
            match runs.last_mut() {
                Some(run) if run.end == at => run.end += 1,
                _ => runs.push(at..at + 1),
            }
        }
        let width = runs.iter().map(ExactSizeIterator::len).sum();
        if width > CLOSE {
            return Self::default();
        }
        let mut differing = Vec::with_capacity(width * packets.len());
        for packet in packets {
            for run in &runs {
                differing.extend_from_slice(&packet[run.clone()]);
            }
        }
        Self { alike: first.clone(), runs, width, differing }
    }

    /// Puts the packet of a flow, one of those that this was made of, into a slot.
    pub(crate) fn put(&self, packets: &[Vec<u8>], flow: usize, ring: &mut Ring, position: usize) {
        let begin = flow * self.width;
        let own = self.differing.get(begin..begin + self.width).filter(|_| !self.alike.is_empty());
        match own {
            Some(mut own) if ring.put(position, &self.alike) => {
                let slot = ring.get_mut(position);
                for run in &self.runs {
                    let (here, rest) = own.split_at(run.len());
                    if let Some(place) = slot.get_mut(run.clone()) {
                        place.copy_from_slice(here);
                    }
                    own = rest;
                }
            }
            _ => {
                ring.put(position, packets.get(flow).map_or(&[], Vec::as_slice));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn come_out(packets: &[Vec<u8>]) -> Flows {
        let flows = Flows::new(packets);
        let longest = packets.iter().map(Vec::len).max().unwrap_or(0);
        let mut ring = Ring::new(2, longest);
        for (flow, packet) in packets.iter().enumerate().chain(packets.iter().enumerate().rev()) {
            flows.put(packets, flow, &mut ring, 1);
            assert_eq!(ring.get(1), packet, "flow {flow}");
        }
        flows
    }

    #[test]
    fn every_flow_has_its_own_packet() {
        let packet = |number: u8| {
            let mut packet = vec![7; 90];
            (packet[0], packet[3], packet[4], packet[89]) = (number, number / 2, 1, number ^ 9);
            packet
        };
        let flows = come_out(&(0..50).map(packet).collect::<Vec<_>>());
        assert_eq!((flows.runs.as_slice(), flows.width), ([0..1, 3..4, 89..90].as_slice(), 3));
        // One flow, and packets that are alike.
        assert_eq!(come_out(&[packet(1)]).width, 0);
        assert_eq!(come_out(&[packet(1), packet(1)]).width, 0);
    }

    #[test]
    fn packets_of_several_lengths_or_of_nothing_alike_are_copied_as_they_are() {
        let flows = come_out(&[vec![1, 2], vec![3], vec![]]);
        assert!(flows.alike.is_empty());
        let random = |number: u8| (0..90).map(|at: u8| at.wrapping_mul(number)).collect();
        assert!(come_out(&[random(3), random(5), random(9)]).alike.is_empty());
        assert!(come_out(&[]).alike.is_empty());
    }
}
