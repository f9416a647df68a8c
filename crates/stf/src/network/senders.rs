//! Senders that react to the network as TCP does. Each packet that arrives is acknowledged, and
//! losses and ECN marks reduce the window of [`Congestion`].
//!
//! An acknowledgement reaches the sender a fixed time after the last bit of its packet has left the
//! network. It does not cross the network itself, so it is neither delayed by queues nor dropped by
//! programs.

use super::agenda::Rank;
use super::congestion::{Congestion, Counts};
use super::travel::{Event, Journey, Origin, Travel, Travelling};
use crate::outcome::End;
use crate::record::PacketRecord;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// A sender as a script describes it.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    pub(super) line: usize,
    /// The script's number for the port at which the sender's packets enter the network.
    pub(super) from: u32,
    /// The script's number for the port at which they leave the network.
    pub(super) to: u32,
    /// The same port at which the packets enter, as a port of a switch.
    pub(super) at: End,
    pub(super) data: Vec<u8>,
    /// The time between the departure of a packet from the network and the arrival of its
    /// acknowledgement.
    pub(super) back: Duration,
    /// The time at which the sender stops.
    pub(super) until: Duration,
}

/// A sender that has started.
pub(super) struct Responding {
    sender: Sender,
    congestion: Congestion,
    /// Whether an event for the retransmission timeout is scheduled.
    is_timed: bool,
}

/// A transmission whose acknowledgement a sender waits for: the index of the sender and the number
/// of the transmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transmission {
    pub(super) sender: usize,
    pub(super) number: u64,
}

/// An acknowledgement on its way to the sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acknowledgement {
    transmission: Transmission,
    is_marked: bool,
}

impl Travel<'_> {
    /// Schedules the first packets of a sender.
    pub(super) fn begin_sender(&mut self, sender: Sender, first: Duration) {
        let index = self.senders.len();
        self.senders.push(Responding { sender, congestion: Congestion::new(), is_timed: false });
        self.agenda.add(first, Rank::Arrival, Event::Sender(index));
    }

    /// Sends as many packets as the window of a sender permits.
    pub(super) fn fill_window(&mut self, now: Duration, index: usize, record: &mut PacketRecord) {
        while let Some(Responding { sender, congestion, .. }) = self.senders.get_mut(index)
            && now < sender.until
            && congestion.may_send()
        {
            let number = congestion.send(now);
            record.report.from_sources += 1;
            let origin = Rc::new(Origin {
                line: sender.line,
                time: now,
                port: sender.from,
                from: record.report.port(sender.from),
                is_of_source: true,
                transmission: Some(Transmission { sender: index, number }),
                copies: Cell::new(0),
                has_left: Cell::new(false),
            });
            let journey = Journey::begin(origin);
            let packet = Travelling { at: sender.at, packet: sender.data.clone(), journey };
            self.arrive(now, packet, record);
        }
        self.plan_timeout(index);
    }

    /// Schedules the acknowledgement of a packet that leaves the network at `time` by the port with
    /// this number, if a sender waits for an acknowledgement from that port.
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

    /// Delivers an acknowledgement to its sender, which then sends more packets if its window
    /// permits.
    pub(super) fn acknowledge(
        &mut self,
        now: Duration,
        answer: Acknowledgement,
        record: &mut PacketRecord,
    ) {
        let Acknowledgement { transmission: Transmission { sender, number }, is_marked } = answer;
        if let Some(responding) = self.senders.get_mut(sender) {
            responding.congestion.acknowledge(now, number, is_marked);
        }
        self.fill_window(now, sender, record);
    }

    /// Handles the event for the retransmission timeout of a sender. The deadline may have moved
    /// since the event was scheduled, so it is checked again.
    pub(super) fn time_out(&mut self, now: Duration, index: usize, record: &mut PacketRecord) {
        let Some(responding) = self.senders.get_mut(index) else { return };
        responding.is_timed = false;
        if responding.congestion.deadline().is_some_and(|deadline| deadline <= now) {
            responding.congestion.time_out(now);
        }
        self.fill_window(now, index, record);
    }

    /// Schedules the next event for a sender's retransmission timeout, unless one is scheduled
    /// already.
    fn plan_timeout(&mut self, index: usize) {
        let Some(responding) = self.senders.get_mut(index) else { return };
        if let Some(deadline) = responding.congestion.deadline().filter(|_| !responding.is_timed) {
            responding.is_timed = true;
            self.agenda.add(deadline, Rank::Arrival, Event::Timeout(index));
        }
    }

    /// Adds the counters of all senders to the report.
    pub(super) fn report_senders(&self, record: &mut PacketRecord) {
        for Responding { sender, congestion, .. } in &self.senders {
            let Counts { sent, arrived, lost, marked, halvings, timeouts } = congestion.counts();
            let (from, to) = (record.report.port(sender.from), record.report.port(sender.to));
            let text = format!(
                "sender {from} > {to}: {sent} packets, {arrived} arrived, {marked} of them with a mark, {lost} lost; \
                 {halvings} times a smaller window, {timeouts} of them after silence; the window is {} packets",
                congestion.window()
            );
            record.report.values.push((sender.line, text));
        }
    }
}
