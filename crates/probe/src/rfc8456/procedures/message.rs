//! The test of the asynchronous message processing time (RFC 8456, section 5.1.2).
//!
//! The switches send packet-ins in turn, so that only one in the whole network is unanswered at a
//! time. The next packet-in is sent when the previous one has been answered. The result is the mean
//! time between a packet-in and its answer.

use super::{Terms, seconds};
use crate::metrics::Unit;
use crate::rfc8456::bench::{Measured, Procedure};
use crate::rfc8456::scene::Scene;
use crate::rfc8456::seen::{Order, Seen, What};
use crate::traffic::PacketId;

/// The state of the test of the message processing time.
pub(in crate::rfc8456) struct MessageTime {
    terms: Terms,
    scene: Scene,
    end: u64,
    /// The packet-in that waits for its answer, and the time at which it was sent.
    asked: Option<(PacketId, u64)>,
    next: u32,
    times: Vec<u64>,
    lost: u64,
    measured: Option<Measured>,
}

impl MessageTime {
    pub(in crate::rfc8456) fn new(terms: Terms, scene: Scene) -> Self {
        Self {
            terms,
            scene,
            end: u64::MAX,
            asked: None,
            next: 0,
            times: Vec::new(),
            lost: 0,
            measured: None,
        }
    }

    fn ask(&mut self, now: u64, orders: &mut Vec<Order>) {
        if now >= self.end {
            return self.conclude();
        }
        // The sources of consecutive pairs cycle through all hosts, and so through all switches.
        let pairs = self.scene.pairs().max(1);
        let Some(pair) = self.scene.pair(self.next % pairs) else {
            self.measured = Some(Measured::failed(
                "there are no two hosts behind different switches; see --switches and --hosts",
            ));
            return;
        };
        let id = PacketId { switch: self.next, sequence: 0 };
        self.asked = Some((id, now));
        orders.push(self.scene.packet(pair, self.next, 0));
        self.next = (self.next + 1) % PacketId::MAX_SWITCHES;
    }

    fn conclude(&mut self) {
        let (total, count) = (self.times.iter().sum::<u64>(), self.times.len());
        if count == 0 {
            let why = format!("{} packet-ins were sent, and none was answered", self.lost);
            self.measured = Some(Measured::failed(why));
            return;
        }
        let largest = self.times.iter().copied().max().unwrap_or_default();
        let measured = Measured::of(seconds(total) / count as f64)
            .with("messages", count as f64, Unit::Count)
            .with("unanswered", self.lost as f64, Unit::Count)
            .with("longest", seconds(largest), Unit::Seconds);
        self.measured = Some(measured);
    }
}

impl Procedure for MessageTime {
    fn begin(&mut self, now: u64, orders: &mut Vec<Order>) {
        self.end = now.saturating_add(self.terms.duration);
        self.ask(now, orders);
    }

    fn see(&mut self, seen: &Seen, orders: &mut Vec<Order>) {
        match (&seen.what, &mut self.asked) {
            // The measured time begins when the switch sends the packet-in.
            (What::PacketIn { id: Some(id), .. }, Some((asked, at))) if id == asked => {
                *at = seen.at;
            }
            (What::PacketOut { id, .. }, Some((asked, at))) if id == asked => {
                self.times.push(seen.at.saturating_sub(*at));
                self.asked = None;
                self.ask(seen.at, orders);
            }
            _ => {}
        }
    }

    fn wake(&mut self, now: u64, orders: &mut Vec<Order>) {
        self.lost += u64::from(self.asked.take().is_some());
        self.ask(now, orders);
    }

    fn due(&self) -> u64 {
        self.asked.map_or(self.end, |(_, at)| at.saturating_add(self.terms.patience))
    }

    fn measured(&self) -> Option<Measured> {
        self.measured.clone()
    }
}
