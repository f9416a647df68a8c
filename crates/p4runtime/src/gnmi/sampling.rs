//! Subscriptions whose values are sent at intervals (gNMI 0.7, section 3.5.1.5.2), and the
//! suppression of values that have not changed.
//!
//! The specification requires a target to refuse an interval that it cannot keep. Clients, however,
//! request 10 µs to be sampled at the highest possible rate. An interval below [`SHORTEST`] is
//! therefore raised to it, and the owner of the device is notified. Samples are taken on the thread
//! that serves controllers. If samples take long, as with many ports, later ones are delayed so
//! that all of them together use at most a tenth of the thread's time ([`Samples::rest`]).

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use super::{
    form::Form,
    messages::{Notification, Path, Subscription, SubscriptionMode},
    port::Seen,
    tree,
};

/// The shortest interval, which is the resolution of the timer. A subscription with an interval of
/// 0 is sampled at this interval.
pub(super) const SHORTEST: Duration = Duration::from_millis(1);

/// The pause after a sample, as a multiple of the product of the sample's duration and the number
/// of streams that are sampled.
const REST: u32 = 9;

/// The sampled subscriptions of one stream.
#[derive(Debug, Default)]
pub(super) struct Samples {
    sampled: Vec<Sampled>,
    /// The time before which no sample may be taken, because of the pause after the last one.
    /// `None` if there is no such time.
    rested: Option<Instant>,
    /// The shortest interval that was requested and raised to [`SHORTEST`], or `None` if none was.
    raised: Option<Duration>,
}

/// A sampled subscription.
#[derive(Debug)]
struct Sampled {
    path: Path,
    interval: Duration,
    due: Instant,
    /// The state for suppressing unchanged values between heartbeats, or `None` if the client has
    /// not requested this.
    redundancy: Option<Redundancy>,
}

/// The values that were last sent, by which unchanged values are recognised and suppressed.
#[derive(Debug)]
struct Redundancy {
    /// The state of each port when it was last sent, by name.
    sent: HashMap<String, Seen>,
    heartbeat: Option<(Duration, Instant)>,
}

impl Samples {
    /// Returns those of a client's subscriptions that are sent at intervals. `paths` are the paths
    /// of all its subscriptions, joined with the prefix.
    pub(super) fn of(subscriptions: &[Subscription], paths: &[Path], now: Instant) -> Self {
        let mut samples = Self::default();
        for (subscription, path) in subscriptions.iter().zip(paths) {
            let heartbeat = match subscription.heartbeat_interval {
                0 => None,
                nanoseconds => Some(samples.kept(nanoseconds)),
            };
            let every = match subscription.sample_interval {
                _ if !is_sampled(subscription) => heartbeat,
                0 => Some(SHORTEST),
                nanoseconds => Some(samples.kept(nanoseconds)),
            };
            let Some(interval) = every else { continue };
            let suppresses = is_sampled(subscription) && subscription.suppress_redundant;
            let redundancy = suppresses.then(|| Redundancy {
                sent: HashMap::new(),
                heartbeat: heartbeat.map(|heartbeat| (heartbeat, now + heartbeat)),
            });
            let path = path.clone();
            samples.sampled.push(Sampled { path, interval, due: now + interval, redundancy });
        }
        samples
    }

    /// Returns the interval that is used when a client requests an interval of `nanoseconds`. An
    /// interval that is too short is raised.
    fn kept(&mut self, nanoseconds: u64) -> Duration {
        let requested = Duration::from_nanos(nanoseconds);
        if requested < SHORTEST {
            self.raised = Some(self.raised.map_or(requested, |raised| raised.min(requested)));
        }
        requested.max(SHORTEST)
    }

    /// Returns the shortest interval that was requested and raised, or `None` if none was.
    pub(super) fn raised(&self) -> Option<Duration> {
        self.raised
    }

    /// Returns whether none of the subscriptions is sent at intervals.
    pub(super) fn is_empty(&self) -> bool {
        self.sampled.is_empty()
    }

    /// Records that the client has received all values in `ports`, before the first sample.
    pub(super) fn sent_all(&mut self, ports: &[Seen]) {
        let redundancies = self.sampled.iter_mut().filter_map(|one| one.redundancy.as_mut());
        redundancies.for_each(|redundancy| redundancy.keep(ports));
    }

    /// Returns the time at which the next sample must be taken, or `None` if there are no sampled
    /// subscriptions.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let due = self.sampled.iter().map(|sampled| sampled.due).min()?;
        Some(self.rested.map_or(due, |rested| due.max(rested)))
    }

    /// Returns the notifications of all samples whose time has come. Missed intervals are skipped.
    pub(super) fn take(
        &mut self,
        ports: &[Seen],
        form: &Form,
        now: Instant,
        timestamp: i64,
    ) -> Vec<Notification> {
        let due = self.sampled.iter_mut().filter(|sampled| sampled.due <= now);
        due.flat_map(|sampled| sampled.take(ports, form, now, timestamp)).collect()
    }

    /// Delays the next samples in proportion to the time that the last ones took and to the number
    /// of sampled streams, so that all streams together use at most a tenth of the thread's time.
    /// `now` is the time at which the last samples ended.
    pub(super) fn rest(&mut self, took: Duration, streams: usize, now: Instant) {
        let streams = u32::try_from(streams.max(1)).unwrap_or(u32::MAX);
        self.rested = Some(now + took.saturating_mul(REST.saturating_mul(streams)));
    }
}

/// Returns whether a subscription is sent at intervals, as opposed to on change.
pub(super) fn is_sampled(subscription: &Subscription) -> bool {
    SubscriptionMode::try_from(subscription.mode) == Ok(SubscriptionMode::Sample)
}

impl Sampled {
    fn take(
        &mut self,
        ports: &[Seen],
        form: &Form,
        now: Instant,
        timestamp: i64,
    ) -> Vec<Notification> {
        self.due += self.interval;
        if self.due <= now {
            self.due = now + self.interval;
        }
        let path = std::slice::from_ref(&self.path);
        let Some(redundancy) = &mut self.redundancy else {
            return tree::select(ports, path, form, timestamp);
        };
        let is_all = redundancy.is_heartbeat(now);
        let notification = |seen: &Seen| {
            let sent = redundancy.sent.get(&seen.port.name).filter(|_| !is_all);
            tree::notification(seen, path, form, timestamp, sent)
        };
        let notifications = ports.iter().map(notification).filter(|one| !one.update.is_empty());
        let left = notifications.collect();
        redundancy.keep(ports);
        left
    }
}

impl Redundancy {
    /// Returns whether the time of a heartbeat has come, at which all values are sent again.
    fn is_heartbeat(&mut self, now: Instant) -> bool {
        match &mut self.heartbeat {
            Some((interval, due)) if *due <= now => {
                *due = now + *interval;
                true
            }
            _ => false,
        }
    }

    fn keep(&mut self, ports: &[Seen]) {
        self.sent = ports.iter().map(|seen| (seen.port.name.clone(), seen.clone())).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::super::messages::{Encoding, PathElem, SubscriptionList};
    use super::super::{Port, PortCounters};
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn path() -> Path {
        let elem = |name: &str| PathElem { name: name.to_owned(), ..PathElem::default() };
        let elem = ["interfaces", "interface", "state", "counters"].map(elem).to_vec();
        Path { elem, ..Path::default() }
    }

    fn port(in_pkts: u64) -> Vec<Seen> {
        let port = Port { number: 1, name: "eth1".to_owned(), up: true, enabled: true };
        let counters = Some(PortCounters { in_pkts, ..PortCounters::default() });
        vec![Seen { port, counters, queues: Vec::new(), config: None }]
    }

    fn samples(subscription: &Subscription, now: Instant) -> Samples {
        Samples::of(std::slice::from_ref(subscription), &[path()], now)
    }

    fn scalars() -> Form {
        let encoding = Encoding::Proto as i32;
        let list = SubscriptionList { encoding, ..SubscriptionList::default() };
        Form::of_subscription(&list).expect("it is right")
    }

    fn sampled() -> Subscription {
        let mode = SubscriptionMode::Sample as i32;
        Subscription { mode, sample_interval: SECOND, ..Subscription::default() }
    }

    #[test]
    fn samples_come_at_their_interval_and_none_is_made_up_for() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut samples = samples(&sampled(), begin);
        assert_eq!(samples.next_due(), Some(at(1)));
        assert_eq!(samples.take(&port(1), &scalars(), begin, 0), []);
        assert_eq!(samples.take(&port(1), &scalars(), at(1), 0)[0].update.len(), 7);
        assert_eq!(samples.next_due(), Some(at(2)));
        assert_eq!(samples.take(&port(1), &scalars(), at(9), 0).len(), 1);
        assert_eq!(samples.next_due(), Some(at(10)));
    }

    #[test]
    fn unchanged_values_wait_for_the_heartbeat() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let quiet =
            Subscription { suppress_redundant: true, heartbeat_interval: 4 * SECOND, ..sampled() };
        let mut samples = samples(&quiet, begin);
        let mut leaves = |packets, second| {
            let notifications = samples.take(&port(packets), &scalars(), at(second), 0);
            notifications.iter().map(|one| one.update.len()).sum::<usize>()
        };
        assert_eq!([leaves(1, 1), leaves(1, 2), leaves(2, 3), leaves(2, 4)], [7, 0, 1, 7]);
    }

    /// Checks that values which were sent initially are not sent again while they are unchanged.
    #[test]
    fn the_initial_values_are_redundant() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let quiet = Subscription { suppress_redundant: true, ..sampled() };
        let mut samples = samples(&quiet, begin);
        samples.sent_all(&port(1));
        assert_eq!(samples.take(&port(1), &scalars(), at(1), 0), []);
        assert_eq!(samples.take(&port(2), &scalars(), at(2), 0)[0].update.len(), 1);
    }

    #[test]
    fn intervals_that_cannot_be_kept_are_raised() {
        let now = Instant::now();
        let shortest = 1_000_000;
        for (asked, kept, raised) in [
            (0, shortest, None),
            (1, shortest, Some(1)),
            (10_000, shortest, Some(10_000)),
            (shortest - 1, shortest, Some(shortest - 1)),
            (shortest, shortest, None),
            (99 * shortest, 99 * shortest, None),
        ] {
            let samples = samples(&Subscription { sample_interval: asked, ..sampled() }, now);
            assert_eq!(samples.next_due(), Some(now + Duration::from_nanos(kept)), "{asked}");
            assert_eq!(samples.raised(), raised.map(Duration::from_nanos), "{asked}");
        }
        assert_eq!(samples(&Subscription::default(), now).next_due(), None);
        let beats = Subscription { heartbeat_interval: 7, ..Subscription::default() };
        let beats = [Subscription { sample_interval: 9, ..sampled() }, beats];
        let samples = Samples::of(&beats, &[path(), path()], now);
        assert_eq!(samples.raised(), Some(Duration::from_nanos(7)));
    }

    /// Checks that the samples of all streams use at most a tenth of the thread's time, however
    /// short the interval is.
    #[test]
    fn samples_that_take_long_are_taken_less_often() {
        let begin = Instant::now();
        let at = |micros| begin + Duration::from_micros(micros);
        let took = Duration::from_micros;
        let mut samples = samples(&Subscription { sample_interval: 1, ..sampled() }, begin);
        assert_eq!(samples.take(&port(1), &scalars(), at(1000), 0).len(), 1);
        samples.rest(took(10), 1, at(1010));
        assert_eq!(samples.next_due(), Some(at(2000)));
        assert_eq!(samples.take(&port(1), &scalars(), at(2000), 0).len(), 1);
        samples.rest(took(1000), 1, at(3000));
        assert_eq!(samples.next_due(), Some(at(12_000)));
        assert_eq!(samples.take(&port(1), &scalars(), at(12_000), 0).len(), 1);
        samples.rest(took(1000), 4, at(13_000));
        assert_eq!(samples.next_due(), Some(at(49_000)));
        assert_eq!(samples.take(&port(1), &scalars(), at(49_000), 0).len(), 1);
        assert_eq!(Samples::default().next_due(), None);
    }
}
