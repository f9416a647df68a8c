//! The thread that sends background packets and looks for them.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::error::DutError;
use crate::forwarded::Forwarded;
use crate::live::{Flow, Outcome};
use crate::pace::Pace;
use crate::stream::{Departure, PacketStream, Passage, Seen};

/// The time in nanoseconds to wait for missing packets after a packet was last sent or arrived.
const GRACE: u64 = 100_000_000;
/// The largest number of overdue packets that are sent without a pause between them.
const CATCH_UP: u64 = 16;
/// The pause when no packet is due and none has arrived. It leaves the processor to the switch, if
/// that runs on this host.
const PAUSE: Duration = Duration::from_micros(10);
/// The time in nanoseconds between two packets below which there is no pause: it could take longer.
const SHORT: u64 = 50_000;

/// A packet of a flow whose entry the switch has.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    /// The port by which it enters the switch.
    enters: u32,
    bytes: Vec<u8>,
    /// The port by which it leaves the switch.
    leaves: u32,
}

impl Packet {
    /// Returns the packets of the flows whose packets leave the switch.
    pub(super) fn of<E>(flows: &[&Flow<E>]) -> Vec<Self> {
        let packets = flows.iter().filter_map(|flow| match flow.inserted {
            Outcome::Leaves { port: leaves, .. } => {
                Some(Self { enters: flow.port, bytes: flow.packet.clone(), leaves })
            }
            Outcome::Unseen => None,
        });
        packets.collect()
    }
}

/// Packets that are being sent.
pub(super) struct Passing {
    over: Over,
    thread: JoinHandle<(PacketStream, Result<Forwarded, DutError>)>,
}

/// Ends the thread when it is dropped.
struct Over(Arc<AtomicBool>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Passing {
    /// Begins to send `rate` packets per second.
    pub(super) fn start(
        mut stream: PacketStream,
        packets: Arc<[Packet]>,
        rate: f64,
    ) -> Result<Self, DutError> {
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let thread = thread::Builder::new().name("packets".to_owned()).spawn(move || {
            // By default, the kernel may delay the end of every sleep by 50 us (timer slack). If it
            // cannot be changed, packets are seen later by this time.
            let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
            let passed = pass(&mut stream, &packets, rate, &is_over);
            (stream, passed)
        })?;
        Ok(Self { over: Over(over), thread })
    }

    /// Ends the sending, and waits for missing packets. Returns `None` if the thread panicked.
    pub(super) fn end(self) -> Option<(PacketStream, Result<Forwarded, DutError>)> {
        drop(self.over);
        self.thread.join().ok()
    }
}

/// Sends packets until `over` is set, and then waits until all have arrived or none has for a while.
fn pass(
    stream: &mut PacketStream<Instant>,
    packets: &[Packet],
    rate: f64,
    over: &AtomicBool,
) -> Result<Forwarded, DutError> {
    let class = |position: usize, port: u32, _: &[u8]| match packets.get(position) {
        Some(packet) if packet.leaves == port => Seen::As(0),
        Some(_) | None => Seen::Nothing,
    };
    stream.start();
    // Packets of earlier measurements are read, and the interfaces are looked at from now on.
    stream.receive(&class)?;
    let mut last = stream.now();
    let spacing = (1e9 / rate.max(1.0)) as u64;
    let mut pace = Pace::new(last, spacing, CATCH_UP);
    let mut turns = (0..packets.len()).cycle();
    loop {
        let goes_on = !over.load(Ordering::Relaxed);
        let now = stream.now();
        if !goes_on && (!stream.is_missing_packets() || now.0 >= last.0 + GRACE) {
            break;
        }
        let mut is_idle = true;
        if goes_on && pace.is_due(now) {
            is_idle = false;
            if let Some(packet) = turns.next()
                && let Some(Packet { enters, bytes, .. }) = packets.get(packet)
                && stream.send(Departure { port: *enters, packet, bytes })?
            {
                last = stream.now();
            }
        }
        if stream.receive(&class)? {
            (is_idle, last) = (false, stream.now());
        }
        match (is_idle, goes_on && spacing < SHORT) {
            (true, true) => thread::yield_now(),
            (true, false) => thread::sleep(PAUSE),
            (false, _) => {}
        }
    }
    Ok(fates(stream.passages()))
}

/// Returns the fates of packets.
fn fates(passages: &[Passage]) -> Forwarded {
    let arrived = passages.iter().filter_map(|one| {
        let latest = one.arrival.filter(|arrival| arrival.class.is_some())?.at.latest;
        Some(Duration::from_nanos(latest.0.saturating_sub(one.sent.earliest.0)))
    });
    let delays: Vec<Duration> = arrived.collect();
    let sent = passages.len() as u64;
    Forwarded { sent, lost: sent - delays.len() as u64, delays }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effects::{Moment, Span};
    use crate::stream::Arrival;

    #[test]
    fn packets_that_left_by_another_port_are_lost() {
        let at = |time| Span { earliest: Moment(time), latest: Moment(time + 10) };
        let passage = |arrival: Option<Option<usize>>| Passage {
            packet: 0,
            sent: at(100),
            arrival: arrival.map(|class| Arrival { at: at(500), class }),
        };
        let found = fates(&[passage(Some(Some(0))), passage(Some(None)), passage(None)]);
        assert_eq!((found.sent, found.lost), (3, 2));
        assert_eq!(found.delays, [Duration::from_nanos(410)]);
    }
}
