//! Sources: packets that arrive while later statements of a script run.

use super::agenda::Rank;
use super::travel::{Event, Journey, Origin, Travel, Travelling};
use crate::books::Books;
use crate::outcome::End;
use crate::script::Arrivals;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// A source as a script describes it.
pub(super) struct Source {
    pub(super) line: usize,
    /// The number of the port in the script.
    pub(super) port: u32,
    /// The port of a switch at which its packets arrive.
    pub(super) at: End,
    pub(super) data: Vec<u8>,
    pub(super) arrivals: Arrivals,
}

/// A source that sends.
pub(super) struct Sending {
    source: Source,
    /// The number of its events in the agenda: of packets that arrive at one time, those of the
    /// source that begins first in the script are first.
    number: u64,
    sent: u32,
}

impl Travel<'_> {
    /// Plans the first packet of a source. Each packet plans the next one, so a source takes the
    /// memory of one packet.
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

    /// Lets the next packet of a source arrive.
    pub(super) fn send(&mut self, now: Duration, index: usize, books: &mut Books) {
        let Some(Sending { source, number, sent }) = self.sources.get_mut(index) else { return };
        *sent += 1;
        if *sent < source.arrivals.times {
            let next = now.saturating_add(source.arrivals.every);
            self.agenda.add_numbered(next, Rank::Arrival, *number, Event::Source(index));
        }
        books.report.from_sources += 1;
        let origin = Rc::new(Origin {
            line: source.line,
            time: now,
            port: source.port,
            from: books.report.port(source.port),
            is_of_source: true,
            transmission: None,
            copies: Cell::new(0),
            has_left: Cell::new(false),
        });
        let journey = Journey::begin(origin);
        let packet = Travelling { at: source.at, packet: source.data.clone(), journey };
        self.arrive(now, packet, books);
    }
}
