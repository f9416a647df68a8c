//! Senders that react to the network: each packet that arrives is acknowledged, and losses and
//! marks make the window of [`Congestion`] smaller.
//!
//! An acknowledgement comes back a fixed time after the last bit of its packet has left the
//! network. It does not cross the network, so no queue delays it and no program drops it.

use super::agenda::Rank;
use super::congestion::{Congestion, Counts};
use super::travel::{Event, Journey, Origin, Travel, Travelling};
use crate::books::Books;
use crate::outcome::End;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// A sender as a script describes it.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    pub(super) line: usize,
    /// The number in the script of the port at which its packets arrive.
    pub(super) from: u32,
    /// The number in the script of the port by which they leave.
    pub(super) to: u32,
    /// The port of a switch at which its packets arrive.
    pub(super) at: End,
    pub(super) data: Vec<u8>,
    /// The time that an acknowledgement takes.
    pub(super) back: Duration,
    /// The time from which on nothing is sent.
    pub(super) until: Duration,
}

/// A sender that has begun to send.
pub(super) struct Responding {
    sender: Sender,
    congestion: Congestion,
    /// Whether the agenda has an event for the retransmission timeout.
    is_timed: bool,
}

/// The number of a transmission, and the sender that waits for its acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transmission {
    pub(super) sender: usize,
    pub(super) number: u64,
}

/// An acknowledgement on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acknowledgement {
    transmission: Transmission,
    is_marked: bool,
}

impl Travel<'_> {
    /// Plans the first packets of a sender.
    pub(super) fn begin_sender(&mut self, sender: Sender, first: Duration) {
        let index = self.senders.len();
        self.senders.push(Responding { sender, congestion: Congestion::new(), is_timed: false });
        self.agenda.add(first, Rank::Arrival, Event::Sender(index));
    }

    /// Sends all packets for which the window of a sender has room.
    pub(super) fn fill_window(&mut self, now: Duration, index: usize, books: &mut Books) {
        while let Some(Responding { sender, congestion, .. }) = self.senders.get_mut(index)
            && now < sender.until
            && congestion.may_send()
        {
            let number = congestion.send(now);
            books.report.from_sources += 1;
            let origin = Rc::new(Origin {
                line: sender.line,
                time: now,
                port: sender.from,
                from: books.report.port(sender.from),
                is_of_source: true,
                transmission: Some(Transmission { sender: index, number }),
                copies: Cell::new(0),
                has_left: Cell::new(false),
            });
            let journey = Journey::begin(origin);
            let packet = Travelling { at: sender.at, packet: sender.data.clone(), journey };
            self.arrive(now, packet, books);
        }
        self.plan_timeout(index);
    }

    /// Plans the acknowledgement of a packet that leaves the network at `time`, if a sender waits
    /// for one from there.
    pub(super) fn answer(
        &mut self,
        time: Duration,
        number: u32,
        transmission: Option<Transmission>,
        packet: &[u8],
    ) {
        let Some(transmission) = transmission else { return };
        let Some(Responding { sender, .. }) = self.senders.get(transmission.sender) else { return };
        if sender.to != number {
            return;
        }
        let back = time.saturating_add(sender.back);
        let answer = Acknowledgement { transmission, is_marked: queues::ecn::is_marked(packet) };
        self.agenda.add(back, Rank::Arrival, Event::Acknowledgement(answer));
    }

    /// Hands an acknowledgement to its sender, which may then send more.
    pub(super) fn acknowledge(
        &mut self,
        now: Duration,
        answer: Acknowledgement,
        books: &mut Books,
    ) {
        let Acknowledgement { transmission: Transmission { sender, number }, is_marked } = answer;
        if let Some(responding) = self.senders.get_mut(sender) {
            responding.congestion.acknowledge(now, number, is_marked);
        }
        self.fill_window(now, sender, books);
    }

    /// Checks the retransmission timeout of a sender, whose deadline may have moved since the event
    /// was planned.
    pub(super) fn time_out(&mut self, now: Duration, index: usize, books: &mut Books) {
        let Some(responding) = self.senders.get_mut(index) else { return };
        responding.is_timed = false;
        if responding.congestion.deadline().is_some_and(|deadline| deadline <= now) {
            responding.congestion.time_out(now);
        }
        self.fill_window(now, index, books);
    }

    /// Plans the next check of a sender's timeout, unless one is planned.
    fn plan_timeout(&mut self, index: usize) {
        let Some(responding) = self.senders.get_mut(index) else { return };
        if let Some(deadline) = responding.congestion.deadline().filter(|_| !responding.is_timed) {
            responding.is_timed = true;
            self.agenda.add(deadline, Rank::Arrival, Event::Timeout(index));
        }
    }

    /// Reports the counts of all senders.
    pub(super) fn report_senders(&self, books: &mut Books) {
        for Responding { sender, congestion, .. } in &self.senders {
            let Counts { sent, arrived, lost, marked, halvings, timeouts } = congestion.counts();
            let (from, to) = (books.report.port(sender.from), books.report.port(sender.to));
            let text = format!(
                "sender {from} > {to}: {sent} packets, {arrived} arrived, {marked} of them with a mark, {lost} lost; \
                 {halvings} times a smaller window, {timeouts} of them after silence; the window is {} packets",
                congestion.window()
            );
            books.report.values.push((sender.line, text));
        }
    }
}
