//! The thread that sends background packets and looks for them.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::effects::Moment;
use crate::error::DutError;
use crate::forwarded::Forwarded;
use crate::live::{Flow, Outcome};
use crate::pace::Pace;
use crate::stream::{Departure, PacketStream, Passage, Seen};

/// The time in nanoseconds for which missing packets are awaited after the last packet was sent or
/// arrived.
const GRACE: u64 = 100_000_000;
/// The largest number of overdue packets that are sent back to back.
const CATCH_UP: u64 = 16;
/// The longest sleep of the thread when no packet is due and none has arrived. Sleeping leaves the
/// processor to the switch, if that runs on this host.
const PAUSE: Duration = Duration::from_micros(10);
/// The time in nanoseconds before a packet is due in which the thread does not sleep, because the
/// kernel may wake it up that much too late.
const NEARLY_DUE: u64 = 10_000;

/// A packet of a flow whose entry is in the switch.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    /// The port by which the packet enters the switch.
    enters: u32,
    bytes: Vec<u8>,
    /// The port by which the packet leaves the switch.
    leaves: u32,
}

impl Packet {
    /// Returns the packets of those flows whose packets leave the switch.
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

/// The thread that is sending packets.
pub(super) struct Passing {
    over: Over,
    thread: JoinHandle<(PacketStream, Result<Forwarded, DutError>)>,
}

/// A flag that ends the thread when it is dropped.
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

    /// Ends the sending, waits for packets that have not arrived yet, and returns the interfaces
    /// with what became of the packets. Returns `None` if the thread panicked.
    pub(super) fn end(self) -> Option<(PacketStream, Result<Forwarded, DutError>)> {
        drop(self.over);
        self.thread.join().ok()
    }
}

/// Sends packets until `over` is set. Then waits until all have arrived, or none has arrived for a
/// while.
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
        if is_idle {
            let due = goes_on.then(|| pace.due());
            match pause(stream.now(), due) {
                Some(time) => thread::sleep(time),
                None => thread::yield_now(),
            }
        }
    }
    Ok(fates(stream.passages()))
}

/// Returns how long the thread may sleep until the next packet is `due`. Returns `None` if the
/// packet is due so soon that the thread might wake up too late.
fn pause(now: Moment, due: Option<Moment>) -> Option<Duration> {
    let Some(due) = due else { return Some(PAUSE) };
    let left = due.0.saturating_sub(now.0).saturating_sub(NEARLY_DUE);
    (left > 0).then(|| Duration::from_nanos(left).min(PAUSE))
}

/// Returns how many packets were sent and lost, and the delays of those that arrived.
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
    use crate::effects::Span;
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

    /// Returns the share of the time in which the thread is awake while packets are due every
    /// `spacing` nanoseconds, if each sleep ends in time.
    fn awake(spacing: u64) -> f64 {
        let (due, mut now, mut slept) = (Moment(spacing), Moment(0), 0);
        while let Some(time) = pause(now, Some(due)) {
            let time = u64::try_from(time.as_nanos()).expect("it is short");
            (now, slept) = (Moment(now.0 + time), slept + time);
        }
        assert!(now <= due);
        (spacing - slept) as f64 / spacing as f64
    }

    #[test]
    fn the_thread_sleeps_until_just_before_a_packet_is_due() {
        for packets_per_second in [1_000, 8_000, 25_000, 50_000] {
            let spacing = 1_000_000_000 / packets_per_second;
            let share = awake(spacing);
            assert!(share <= NEARLY_DUE as f64 / spacing as f64, "{packets_per_second}: {share}");
        }
        // At 100,000 packets per second, a packet is always nearly due.
        assert_eq!(pause(Moment(0), Some(Moment(10_000))), None);
        assert_eq!(pause(Moment(20), Some(Moment(10))), None);
        assert_eq!(pause(Moment(0), None), Some(PAUSE));
    }
}
