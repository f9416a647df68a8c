//! Subscriptions that are told again and again (gNMI 0.7, section 3.5.1.5.2): SAMPLE, and the
//! heartbeats of the others.

use std::time::{Duration, Instant};

use super::{
    Seen,
    messages::{Notification, Path, Subscription, SubscriptionMode},
    tree,
};
use crate::status::EntityError;

/// The shortest interval, which a subscription that leaves the choice to us gets.
const SHORTEST: Duration = Duration::from_millis(100);

/// Those of a stream.
#[derive(Debug, Default)]
pub(super) struct Samples(Vec<Sampled>);

#[derive(Debug)]
struct Sampled {
    path: Path,
    interval: Duration,
    due: Instant,
    /// What has not changed since it was told is left out, until it has to be told anyway.
    redundancy: Option<Redundancy>,
}

#[derive(Debug)]
struct Redundancy {
    told: Vec<Notification>,
    heartbeat: Option<(Duration, Instant)>,
}

impl Samples {
    /// Of a list of subscriptions, whose paths are those with the prefix before them.
    pub(super) fn of(
        subscriptions: &[Subscription],
        paths: &[Path],
        now: Instant,
    ) -> Result<Self, EntityError> {
        let mut samples = Vec::new();
        for (subscription, path) in subscriptions.iter().zip(paths) {
            let heartbeat = interval(subscription.heartbeat_interval, "heartbeat_interval")?;
            let is_sampled =
                SubscriptionMode::try_from(subscription.mode) == Ok(SubscriptionMode::Sample);
            let sample = interval(subscription.sample_interval, "sample_interval")?;
            let every = if is_sampled { Some(sample.unwrap_or(SHORTEST)) } else { heartbeat };
            let Some(interval) = every else { continue };
            let suppresses = is_sampled && subscription.suppress_redundant;
            let redundancy = suppresses.then(|| Redundancy {
                told: Vec::new(),
                heartbeat: heartbeat.map(|heartbeat| (heartbeat, now + heartbeat)),
            });
            samples.push(Sampled { path: path.clone(), interval, due: now + interval, redundancy });
        }
        Ok(Self(samples))
    }

    /// When there is something to tell next.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.0.iter().map(|sampled| sampled.due).min()
    }

    /// What is to be told by now. Intervals that were missed are not made up for.
    pub(super) fn take(
        &mut self,
        ports: &[Seen],
        now: Instant,
        timestamp: i64,
    ) -> Vec<Notification> {
        let due = self.0.iter_mut().filter(|sampled| sampled.due <= now);
        due.flat_map(|sampled| sampled.take(ports, now, timestamp)).collect()
    }
}

impl Sampled {
    fn take(&mut self, ports: &[Seen], now: Instant, timestamp: i64) -> Vec<Notification> {
        self.due += self.interval;
        if self.due <= now {
            self.due = now + self.interval;
        }
        let path = std::slice::from_ref(&self.path);
        let found = tree::select(ports, path, timestamp).unwrap_or_default();
        match &mut self.redundancy {
            Some(redundancy) => redundancy.left(found, now),
            None => found,
        }
    }
}

impl Redundancy {
    /// What is new of what was found.
    fn left(&mut self, found: Vec<Notification>, now: Instant) -> Vec<Notification> {
        let told = std::mem::replace(&mut self.told, found.clone());
        if let Some((interval, due)) = &mut self.heartbeat
            && *due <= now
        {
            *due = now + *interval;
            return found;
        }
        let is_new = |update: &_| !told.iter().any(|earlier| earlier.update.contains(update));
        let mut left = found;
        left.iter_mut().for_each(|one| one.update.retain(is_new));
        left.retain(|one| !one.update.is_empty());
        left
    }
}

fn interval(nanoseconds: u64, name: &str) -> Result<Option<Duration>, EntityError> {
    let interval = Duration::from_nanos(nanoseconds);
    match nanoseconds {
        0 => Ok(None),
        _ if interval < SHORTEST => Err(EntityError::invalid(format!(
            "{name} is {nanoseconds} ns; {} ns is the shortest.",
            SHORTEST.as_nanos()
        ))),
        _ => Ok(Some(interval)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Port, PortCounters, messages::PathElem};
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
        vec![Seen { port, counters }]
    }

    fn samples(subscription: &Subscription, now: Instant) -> Samples {
        let samples = Samples::of(std::slice::from_ref(subscription), &[path()], now);
        samples.expect("it is right")
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
        assert_eq!(samples.take(&port(1), begin, 0), []);
        assert_eq!(samples.take(&port(1), at(1), 0)[0].update.len(), 7);
        assert_eq!(samples.next_due(), Some(at(2)));
        assert_eq!(samples.take(&port(1), at(9), 0).len(), 1);
        assert_eq!(samples.next_due(), Some(at(10)));
    }

    #[test]
    fn what_has_not_changed_waits_for_the_heartbeat() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let quiet =
            Subscription { suppress_redundant: true, heartbeat_interval: 4 * SECOND, ..sampled() };
        let mut samples = samples(&quiet, begin);
        let mut leaves = |packets, second| {
            let told = samples.take(&port(packets), at(second), 0);
            told.iter().map(|one| one.update.len()).sum::<usize>()
        };
        assert_eq!([leaves(1, 1), leaves(1, 2), leaves(2, 3), leaves(2, 4)], [7, 0, 1, 7]);
    }

    #[test]
    fn intervals_that_cannot_be_kept_are_refused() {
        let hasty = Subscription { sample_interval: 1, ..sampled() };
        let refused = Samples::of(&[hasty], &[path()], Instant::now()).expect_err("too short");
        assert!(refused.message().contains("100000000 ns is the shortest"), "{refused}");
        let now = Instant::now();
        let any = Subscription { sample_interval: 0, ..sampled() };
        assert_eq!(samples(&any, now).next_due(), Some(now + SHORTEST));
        assert_eq!(samples(&Subscription::default(), now).next_due(), None);
    }
}
