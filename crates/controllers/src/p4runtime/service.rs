//! The service time of a controller: the time that it takes for each packet-in, one after the
//! other.
//!
//! All switches share one [`Station`], which serves packet-ins in the order in which they were
//! read, without a limit on the queue. Each switch has a [`Line`], the queue of its own packet-ins
//! at the station. The moment at which a packet-in is answered is known when it arrives. No thread
//! works until then, so the rate does not depend on the speed of the processor.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::p4runtime::proto::v1;
use tokio::time::Instant;

use crate::application::Rule;

/// The maximum number of packet-ins of one switch that may wait to be served. While there are as
/// many, the switch's connection is not read.
const MOST_WAITING: usize = 1 << 20;

/// The time that a controller takes for each packet-in, where packet-ins of all switches are served
/// one after the other. With zero times, the controller answers as fast as it can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceTime {
    /// The time for a packet-in while only one switch is connected.
    pub one_switch: Duration,
    /// The time for a packet-in while several switches are connected.
    pub several_switches: Duration,
    /// The time for a packet-in while several switches are connected and more than a hundred
    /// packet-ins wait.
    pub with_backlog: Duration,
}

/// The number of waiting packet-ins above which [`ServiceTime::with_backlog`] applies.
const BACKLOG: u64 = 100;

impl ServiceTime {
    /// The service times of ONOS 2.5.0 over P4Runtime with reactive forwarding, derived from the
    /// P4RCProbe paper (Harkous et al., IEEE NFV-SDN 2021). One switch gets 1471 packets/s (Table
    /// I, P3). With 50 switches, 500/s are answered in full (Fig. 5), for which 526/s leaves a
    /// margin. Once a backlog grows the rate is 396/s, the mean of what Fig. 7b and 7c leave
    /// outstanding after 60 s (2550 of 3000, and 5500 of 6000 packet-ins of each switch).
    pub const ONOS: Self = Self {
        one_switch: Duration::from_micros(680),
        several_switches: Duration::from_micros(1_900),
        with_backlog: Duration::from_micros(2_525),
    };

    /// Returns a service time that is the same for every packet-in.
    pub fn constant(time: Duration) -> Self {
        Self { one_switch: time, several_switches: time, with_backlog: time }
    }

    fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    fn of(&self, switches: usize, waiting: u64) -> Duration {
        match (switches, waiting) {
            (0..=1, _) => self.one_switch,
            (_, 0..=BACKLOG) => self.several_switches,
            _ => self.with_backlog,
        }
    }
}

/// The common queue in which the packet-ins of all switches are served.
#[derive(Debug, Default)]
pub(super) struct Station {
    times: ServiceTime,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The time at which the last waiting packet-in is served.
    free_at: Option<Instant>,
    waiting: u64,
    switches: usize,
}

impl Station {
    pub(super) fn new(times: ServiceTime) -> Self {
        Self { times, state: Mutex::default() }
    }

    /// Adds a packet-in to the queue, and returns the time at which it is served.
    fn admit(&self, now: Instant) -> Instant {
        let mut state = self.state();
        let start = state.free_at.map_or(now, |free_at| free_at.max(now));
        let served = start + self.times.of(state.switches, state.waiting);
        state.free_at = Some(served);
        state.waiting += 1;
        served
    }

    fn served(&self, count: u64) {
        let mut state = self.state();
        state.waiting = state.waiting.saturating_sub(count);
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An answer to a packet-in, and the rule that is installed with it, if any.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) packet: v1::PacketOut,
    pub(super) rule: Option<Rule>,
}

/// The packet-ins of one switch that wait to be served, with the answers to them.
#[derive(Debug)]
pub(super) struct Line {
    station: Option<Arc<Station>>,
    waiting: VecDeque<(Option<Instant>, Answer)>,
}

impl Line {
    /// Creates the queue of a switch that has just connected.
    pub(super) fn open(station: &Arc<Station>) -> Self {
        let station = (!station.times.is_zero()).then(|| Arc::clone(station));
        if let Some(station) = &station {
            station.state().switches += 1;
        }
        Self { station, waiting: VecDeque::new() }
    }

    /// Returns whether the maximum number of packet-ins waits. No more must then be read from the
    /// connection.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= MOST_WAITING
    }

    /// Adds the answer to a packet-in that has just arrived.
    pub(super) fn push(&mut self, answer: Answer) {
        let at = self.station.as_ref().map(|station| station.admit(Instant::now()));
        self.waiting.push_back((at, answer));
    }

    /// Waits until the time of the next answer has come. Waits forever if there is no answer.
    pub(super) async fn due(&self) {
        match self.waiting.front() {
            Some((Some(at), _)) => tokio::time::sleep_until(*at).await,
            Some((None, _)) => {}
            None => std::future::pending().await,
        }
    }

    /// Returns the next answer if its time has come.
    pub(super) fn next(&mut self) -> Option<Answer> {
        let (at, _) = self.waiting.front()?;
        if at.is_some_and(|at| at > Instant::now()) {
            return None;
        }
        let (_, answer) = self.waiting.pop_front()?;
        if let Some(station) = &self.station {
            station.served(1);
        }
        Some(answer)
    }
}

impl Drop for Line {
    /// Removes the waiting packet-ins of this switch, which has disconnected, from the common
    /// queue.
    fn drop(&mut self) {
        let Some(station) = &self.station else { return };
        station.served(self.waiting.len() as u64);
        let mut state = station.state();
        state.switches = state.switches.saturating_sub(1);
        if state.waiting == 0 {
            state.free_at = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICROSECOND: Duration = Duration::from_micros(1);

    fn station(times: ServiceTime) -> Arc<Station> {
        Arc::new(Station::new(times))
    }

    /// Returns the moments at which `count` packet-ins that arrive at once are served, in
    /// microseconds from now.
    fn served(station: &Station, count: usize) -> Vec<u128> {
        let now = Instant::now();
        let at = |_| (station.admit(now) - now).as_micros();
        (0..count).map(at).collect()
    }

    #[test]
    fn packet_ins_of_all_switches_are_served_one_after_the_other() {
        let station = station(ServiceTime::constant(100 * MICROSECOND));
        let _lines = [Line::open(&station), Line::open(&station)];
        assert_eq!(served(&station, 3), [100, 200, 300]);
    }

    #[test]
    fn onos_takes_longer_for_several_switches_and_longer_still_with_a_backlog() {
        let station = station(ServiceTime::ONOS);
        let one = Line::open(&station);
        assert_eq!(served(&station, 2), [680, 1_360]);
        station.served(2);
        station.state().free_at = None;
        let another = Line::open(&station);
        let times = served(&station, 103);
        assert_eq!(&times[..2], [1_900, 3_800]);
        assert_eq!(times[101] - times[100], 2_525);
        // 1471, 526 and 396 per second are the rates of the paper.
        for (time, rate) in [(680_u32, 1_471.0), (1_900, 526.0), (2_525, 396.0)] {
            assert!((1e6 / f64::from(time) - rate).abs() < 1.0, "{time}");
        }
        drop((one, another));
    }

    #[test]
    fn packet_ins_of_a_switch_that_is_gone_do_not_delay_others() {
        let station = station(ServiceTime::constant(Duration::from_secs(3_600)));
        let mut line = Line::open(&station);
        line.push(Answer { packet: v1::PacketOut::default(), rule: None });
        assert!(line.next().is_none());
        drop(line);
        let state = station.state();
        assert_eq!((state.waiting, state.switches, state.free_at), (0, 0, None));
    }

    #[test]
    fn without_a_service_time_every_answer_is_due_at_once() {
        let station = station(ServiceTime::default());
        let mut line = Line::open(&station);
        line.push(Answer { packet: v1::PacketOut::default(), rule: None });
        assert!(line.next().is_some() && line.next().is_none());
        assert_eq!(station.state().waiting, 0);
    }
}
