//! Delays the answers of a controller that is modelled to take a known time for each packet-in.
//!
//! All switches share one [`Station`], whose [`ServiceQueue`] determines when each packet-in is
//! answered. Each switch has a [`Line`] with its waiting answers. The controller sleeps until an
//! answer is due instead of computing, so that the rate does not depend on the speed of the
//! processor.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ::p4runtime::proto::v1;
use grpc::timer::Timer;

use crate::application::Rule;
use crate::model::{Overload, Row, ServiceQueue, StageTimes};

/// The maximum number of packet-ins of one switch that may wait to be answered. While so many wait,
/// the controller reads nothing from the switch.
const MAX_WAITING: usize = 1 << 20;

/// The time that a controller takes for each packet-in, if it serves the packet-ins of all switches
/// one after the other. If all times are zero, the controller answers as fast as it can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceTime {
    /// The time for a packet-in while only one switch is connected.
    pub one_switch: Duration,
    /// The time for a packet-in while several switches are connected.
    pub several_switches: Duration,
    /// The time for a packet-in while several switches are connected and more than a hundred
    /// packet-ins wait to be answered.
    pub with_backlog: Duration,
}

/// The number of waiting packet-ins above which [`ServiceTime::with_backlog`] applies.
const BACKLOG: usize = 100;

impl ServiceTime {
    /// The service times of ONOS 2.5.0 over P4Runtime with reactive forwarding, derived from the
    /// P4RCProbe paper (Harkous et al., IEEE NFV-SDN 2021). With one switch, ONOS answered 1471
    /// packets/s (Table I, P3). With 50 switches, it answered all of 500/s (Fig. 5), so the assumed
    /// 526/s leaves a margin. Once a backlog grows, the rate is 396/s. This is the mean of the
    /// rates that follow from the outstanding packet-ins after 60 s in Fig. 7b and 7c (2550 of
    /// 3000, and 5500 of 6000 packet-ins of each switch).
    pub const ONOS: Self = Self {
        one_switch: Duration::from_micros(680),
        several_switches: Duration::from_micros(1_900),
        with_backlog: Duration::from_micros(2_525),
    };

    /// Returns a service time that is the same for every packet-in.
    pub fn constant(time: Duration) -> Self {
        Self { one_switch: time, several_switches: time, with_backlog: time }
    }

    /// Returns a queue that serves packet-ins in these times, or `None` if all times are zero.
    #[must_use]
    pub fn queue(self) -> Option<ServiceQueue> {
        let overload = Overload { above: BACKLOG, cost: self.with_backlog };
        let rows = vec![
            Row { from: 0, cost: self.one_switch, overload: None },
            Row { from: 2, cost: self.several_switches, overload: Some(overload) },
        ];
        (self != Self::default()).then(|| ServiceQueue::new(vec![StageTimes(rows)]))
    }
}

/// The queue of a modelled controller, which serves the packet-ins of all switches one after the
/// other.
#[derive(Debug)]
pub(super) struct Station {
    began: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The queue, or `None` for a controller that answers as fast as it can.
    queue: Option<ServiceQueue>,
    waiting: usize,
    switches: usize,
}

impl Station {
    pub(super) fn new(queue: Option<ServiceQueue>) -> Self {
        let state = Mutex::new(State { queue, waiting: 0, switches: 0 });
        Self { began: Instant::now(), state }
    }

    /// Adds a packet-in that arrives at `now` to the queue, and returns the time at which it is
    /// answered.
    fn admit(&self, now: Instant) -> Admission {
        let mut state = self.state();
        let switches = state.switches;
        let Some(queue) = &mut state.queue else { return Admission::AtOnce };
        match queue.admit(now.saturating_duration_since(self.began), switches) {
            None => Admission::Lost,
            Some(at) => {
                state.waiting += 1;
                Admission::At(self.began + at)
            }
        }
    }

    fn served(&self, count: usize) {
        let mut state = self.state();
        state.waiting = state.waiting.saturating_sub(count);
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time at which a packet-in is answered, if it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Admission {
    AtOnce,
    At(Instant),
    /// The modelled controller loses the packet-in.
    Lost,
}

/// An answer to a packet-in, and the rule that is installed with it, if there is one.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) packet: v1::PacketOut,
    pub(super) rule: Option<Rule>,
}

/// The answers to one switch that wait until the queue has served their packet-ins.
#[derive(Debug)]
pub(super) struct Line {
    station: Arc<Station>,
    /// The timer that wakes the task for the next answer. It is `None` if the controller has no
    /// queue, or if the system refused a timer. In the latter case, the timer of the runtime is
    /// used, which is precise to a millisecond.
    timer: Option<Timer>,
    waiting: VecDeque<(Option<Instant>, Answer)>,
}

impl Line {
    /// Counts a switch that has just connected, and creates the list of its answers.
    pub(super) fn open(station: &Arc<Station>) -> Self {
        let mut state = station.state();
        state.switches += 1;
        let timer = state.queue.as_ref().and_then(|_| Timer::new().ok());
        drop(state);
        Self { station: Arc::clone(station), timer, waiting: VecDeque::new() }
    }

    /// Returns whether the maximum number of answers waits. The caller must then stop reading from
    /// the connection.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= MAX_WAITING
    }

    /// Adds the answer to a packet-in that has just arrived, unless the modelled controller loses
    /// the packet-in.
    pub(super) fn push(&mut self, answer: Answer) {
        match self.station.admit(Instant::now()) {
            Admission::AtOnce => self.waiting.push_back((None, answer)),
            Admission::At(at) => self.waiting.push_back((Some(at), answer)),
            Admission::Lost => {}
        }
    }

    /// Waits until the next answer is due, or forever if no answer waits.
    pub(super) async fn due(&self) {
        match (self.waiting.front(), &self.timer) {
            (Some((Some(at), _)), timer) => {
                let left = at.saturating_duration_since(Instant::now());
                let nanoseconds = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
                let slept = match timer {
                    _ if left.is_zero() => return,
                    Some(timer) => timer.sleep(nanoseconds).await.is_ok(),
                    None => false,
                };
                if !slept {
                    tokio::time::sleep_until((*at).into()).await;
                }
            }
            (Some((None, _)), _) => {}
            (None, _) => std::future::pending().await,
        }
    }

    /// Returns the next answer if it is due.
    pub(super) fn next(&mut self) -> Option<Answer> {
        let (at, _) = self.waiting.front()?;
        if at.is_some_and(|at| at > Instant::now()) {
            return None;
        }
        let (at, answer) = self.waiting.pop_front()?;
        if at.is_some() {
            self.station.served(1);
        }
        Some(answer)
    }
}

impl Drop for Line {
    /// Stops counting the switch, which has disconnected, and its waiting packet-ins. The common
    /// queue is cleared once no packet-in of any switch waits.
    fn drop(&mut self) {
        let mut state = self.station.state();
        state.waiting = state.waiting.saturating_sub(self.waiting.len());
        state.switches = state.switches.saturating_sub(1);
        if state.waiting == 0
            && let Some(queue) = &mut state.queue
        {
            queue.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICROSECOND: Duration = Duration::from_micros(1);

    fn station(times: ServiceTime) -> Arc<Station> {
        Arc::new(Station::new(times.queue()))
    }

    /// Returns the times at which `count` packet-ins that arrive together are answered, in
    /// microseconds from their arrival.
    fn served(station: &Station, count: usize) -> Vec<u128> {
        let now = station.began;
        let at = |_| match station.admit(now) {
            Admission::At(at) => (at - now).as_micros(),
            other => panic!("{other:?}"),
        };
        (0..count).map(at).collect()
    }

    #[tokio::test]
    async fn packet_ins_of_all_switches_are_served_one_after_the_other() {
        let station = station(ServiceTime::constant(100 * MICROSECOND));
        let _lines = [Line::open(&station), Line::open(&station)];
        assert_eq!(served(&station, 3), [100, 200, 300]);
    }

    #[tokio::test]
    async fn onos_takes_longer_for_several_switches_and_longer_still_with_a_backlog() {
        let station = station(ServiceTime::ONOS);
        let one = Line::open(&station);
        assert_eq!(served(&station, 2), [680, 1_360]);
        station.served(2);
        station.state().queue.as_mut().expect("a queue").clear();
        let another = Line::open(&station);
        let times = served(&station, 103);
        assert_eq!(&times[..2], [1_900, 3_800]);
        assert_eq!(times[101] - times[100], 2_525);
        // 1471, 526 and 396 per second are the rates of the P4RCProbe paper.
        for (time, rate) in [(680_u32, 1_471.0), (1_900, 526.0), (2_525, 396.0)] {
            assert!((1e6 / f64::from(time) - rate).abs() < 1.0, "{time}");
        }
        drop((one, another));
    }

    #[tokio::test]
    async fn packet_ins_of_a_switch_that_is_gone_do_not_delay_others() {
        let station = station(ServiceTime::constant(Duration::from_secs(3_600)));
        let mut line = Line::open(&station);
        line.push(Answer { packet: v1::PacketOut::default(), rule: None });
        assert!(line.next().is_none());
        drop(line);
        let of = |state: &State| (state.waiting, state.switches);
        assert_eq!(of(&station.state()), (0, 0));
        assert_eq!(served(&station, 1), [3_600_000_000]);
    }

    #[tokio::test]
    async fn without_a_service_time_every_answer_is_due_at_once() {
        let station = station(ServiceTime::default());
        let mut line = Line::open(&station);
        line.push(Answer { packet: v1::PacketOut::default(), rule: None });
        assert!(line.next().is_some() && line.next().is_none());
        assert_eq!(station.state().waiting, 0);
    }
}
