//! Estimates the rate at which a controller answers packet-ins while it has a backlog.

use super::course::{BLOCKS, lower, upper};
use super::{Course, Evidence};

/// The share of the window for which the controller must have had a backlog, so that its service
/// rate can be estimated.
const LONG: f64 = 0.5;
/// The share of the answers whose round-trip time must fit the model of a queue (`MAX_FIT`). A
/// round-trip time fits if it differs from the time in which the controller serves the packet-ins
/// that were ahead in the queue by at most the relative error `WITHIN`.
const MAX_FIT: f64 = 0.8;
const WITHIN: f64 = 0.25;
/// The number of packet-ins that must wait at the start of an interval so that the queue does not
/// run empty within the interval, as a multiple of the number answered in one interval.
const AHEAD: f64 = 1.5;
/// The ratio of the longest to the shortest round-trip time from which a service rate is estimated.
/// If the times vary less, the controller may answer each packet-in after a constant delay, which
/// looks like a steady backlog.
const SPREAD: f64 = 1.5;

/// The rate at which a controller with a backlog answers, in answers per second, and bounds on it.
/// The controller is assumed to work whenever packet-ins wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Service {
    pub(crate) rate: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Service {
    /// Estimates the service rate. Returns `None` if no backlog lasted long enough, or if the
    /// round-trip times do not fit the model of a queue (see `fits`). `elsewhere` is the number of
    /// unanswered packet-ins that may have been in the network or in sockets instead of the
    /// controller's queue.
    pub(super) fn of(evidence: &Evidence<'_>, course: &Course, elsewhere: u64) -> Option<Self> {
        let guess = course.answers as f64 / evidence.seconds();
        let trip = evidence.network_rtt.unwrap_or(evidence.rtt_from_sent.min_ns) as f64 / 1e9;
        let enough = 2.0 * guess * trip + 2.0 + AHEAD * guess * course.length + elsewhere as f64;
        let had_backlog = |place: &usize| {
            // If the probe's receive windows were closed, answers of this interval may arrive in a
            // later one.
            if course.is_hidden.get(*place) == Some(&true) {
                return false;
            }
            let before = place.checked_sub(1).and_then(|place| course.outstanding_at.get(place));
            before.is_some_and(|before| *before >= enough)
        };
        let places: Vec<usize> = (course.first..course.end).filter(had_backlog).collect();
        if (places.len() as f64) < LONG * (course.end - course.first) as f64 {
            return None;
        }
        let rates = |blocks: usize| -> Vec<f64> {
            let cut = |block: usize| block * places.len() / blocks;
            (0..blocks)
                .filter_map(|block| {
                    let own = places.get(cut(block)..cut(block + 1))?;
                    let answers: u64 = own.iter().map(|at| course.intervals[*at].answers).sum();
                    (!own.is_empty()).then(|| answers as f64 / (own.len() as f64 * course.length))
                })
                .collect()
        };
        let all: Vec<Vec<f64>> = BLOCKS.iter().map(|blocks| rates(*blocks)).collect();
        let answers: u64 = places.iter().map(|at| course.intervals[*at].answers).sum();
        let time = places.len() as f64 * course.length;
        // The number of answers between two edges is exact to one answer.
        let (rate, one) = (answers as f64 / time, 1.0 / time);
        let low = all.iter().filter_map(|rates| lower(rates)).reduce(f64::max)?.min(rate) - one;
        let high = all.iter().filter_map(|rates| upper(rates)).reduce(f64::min)?.max(rate) + one;
        let service = Self { rate, low: low.max(0.0), high };
        (rate > 0.0 && service.fits(course, &places)).then_some(service)
    }

    /// Returns whether the round-trip times vary, and are in proportion to the number of packet-ins
    /// that were ahead in the queue.
    fn fits(&self, course: &Course, places: &[usize]) -> bool {
        let (mut all, mut fit) = (0, 0);
        let (mut shortest, mut longest) = (f64::INFINITY, 0.0f64);
        for place in places {
            let Some(interval) = course.intervals.get(*place) else { continue };
            if interval.timed == 0 {
                continue;
            }
            let rtt = interval.rtt as f64 / interval.timed as f64 / 1e9;
            (shortest, longest) = (shortest.min(rtt), longest.max(rtt));
            // The position on the time axis is in intervals since the start of the first interval.
            let left = (*place as f64 + 0.5) - rtt / course.length;
            let ahead = outstanding(course, left);
            let expected = ahead / self.rate;
            all += interval.timed;
            if (rtt - expected).abs() <= WITHIN * expected {
                fit += interval.timed;
            }
        }
        all > 0 && fit as f64 >= MAX_FIT * all as f64 && longest >= SPREAD * shortest
    }
}

/// Returns the number of outstanding packet-ins at a moment, interpolated between the ends of
/// intervals. The moment is a number of intervals since the start of the first one.
fn outstanding(course: &Course, at: f64) -> f64 {
    let at = at.max(0.0);
    let (place, part) = (at.floor() as usize, at.fract());
    let value = |end: usize| match end.checked_sub(1) {
        Some(place) => course.outstanding_at.get(place).copied().unwrap_or(0.0),
        None => 0.0,
    };
    value(place) + part * (value(place + 1) - value(place))
}
