//! Sources, which send packets into a network at fixed times while later statements of a script
//! run.

use super::agenda::Rank;
use super::travel::{Event, Journey, Origin, Travel, Travelling};
use crate::outcome::End;
use crate::record::PacketRecord;
use crate::script::Arrivals;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// A source as a script describes it.
pub(super) struct Source {
    pub(super) line: usize,
    /// The script's number for the port at which the packets arrive.
    pub(super) port: u32,
    /// The same port, as a port of a switch.
    pub(super) at: End,
    pub(super) data: Vec<u8>,
    pub(super) arrivals: Arrivals,
}

/// A source that has started.
pub(super) struct Sending {
    source: Source,
    /// The reserved number of the source's events. Of packets that arrive at the same time, those
    /// of the source that starts earlier in the script come first.
    number: u64,
    sent: u32,
}

impl Travel<'_> {
    /// Schedules the first packet of a source. Each packet schedules the next one, so a source
    /// needs memory for only one packet.
    pub(super) fn begin_source(&mut self, source: Source) {
        if source.arrivals.times == 0 {
            return;
        }
        let first = source.arrivals.first;
        let number = self.agenda.number();
        let event = Event::Source(self.sources.len());
        self.sources.push(Sending { source, number, sent: 0 });
        self.agenda.add_numbered(first, Rank::Arrival, number, event);
    }

    /// Handles the arrival of a source's next packet.
    pub(super) fn send(&mut self, now: Duration, index: usize, record: &mut PacketRecord) {
        let Some(Sending { source, number, sent }) = self.sources.get_mut(index) else { return };
        *sent += 1;
        if *sent < source.arrivals.times {
            let next = now.saturating_add(source.arrivals.every);
            self.agenda.add_numbered(next, Rank::Arrival, *number, Event::Source(index));
        }
        record.report.from_sources += 1;
        let origin = Rc::new(Origin {
            line: source.line,
            time: now,
            port: source.port,
            from: record.report.port(source.port),
            is_of_source: true,
            transmission: None,
            copies: Cell::new(0),
            has_left: Cell::new(false),
        });
        let journey = Journey::begin(origin);
        let packet = Travelling { at: source.at, packet: source.data.clone(), journey };
        self.arrive(now, packet, record);
    }
}
