//! Gates that open and close at set times of a cycle.
//!
//! A packet of L bits starts only if it ends before its gate closes. So of a window of length w,
//! the first w - L / c are used as long as packets wait, where L is the largest packet. If no other
//! gate is open at these times, the class (or the classes whose gates open together) is served at
//! the rate c of the link within these parts and, in the worst case, not at all between them. A
//! backlogged period may start anywhere in the cycle. The service within a time t is least if that
//! time begins at the end of one of these parts, so the strict service curve is the minimum over
//! these ends, as for a time-division cycle (Bouillard, Boyer and Le Corronc, chapter 8; Zhao, Pop
//! and Craciunas, "Worst-case latency analysis for IEEE 802.1Qbv time sensitive networks using
//! network calculus", IEEE Access 6, 2018). No assumption is made about the arrival times of
//! packets or about the cycles of other ports.

use super::{Class, Gate, Port, PortError, Share, Window, by_priority, frozen};
use crate::network::elements::Priority;
use crate::{Curve, Extended, Period, Piece, Rational};

/// The largest number of windows of a class. Its service curve is the minimum of one periodic curve
/// per window.
const MAX_WINDOWS: usize = 64;

/// Classes whose gates are open at the same times. `packet` is the largest packet of all of them.
struct GateClasses {
    priorities: Vec<Priority>,
    windows: Vec<Window>,
    packet: Rational,
}

/// Returns the service that gates grant the classes of a port.
pub(super) fn shares(
    port: &Port,
    cycle: &Rational,
    classes: &[Class<Gate>],
) -> Result<Vec<Share>, PortError> {
    if !cycle.is_positive() {
        return Err(port.fault("needs a cycle above zero"));
    }
    let mut groups = Vec::<GateClasses>::new();
    let mut others = Vec::new();
    for class in by_priority(classes) {
        let Gate::Open(windows) = &class.share else {
            others.push(class);
            continue;
        };
        let windows =
            merged(windows, cycle).map_err(|fault| port.class_fault(class.priority, fault))?;
        match groups.iter_mut().find(|group| group.windows == windows) {
            Some(group) => {
                group.priorities.push(class.priority);
                group.packet = group.packet.clone().max(class.maximum_packet.clone());
            }
            None => groups.push(GateClasses {
                priorities: vec![class.priority],
                windows,
                packet: class.maximum_packet.clone(),
            }),
        }
    }
    for (place, group) in groups.iter().enumerate() {
        for other in groups.iter().take(place) {
            if meet(&group.windows, &other.windows, cycle) {
                let (first, second) = (other.priorities[0], group.priorities[0]);
                return Err(PortError::Overlap { port: port.name.clone(), first, second });
            }
        }
    }
    let shut: Vec<Window> = groups.iter().flat_map(|group| group.windows.clone()).collect();
    let share = |group: GateClasses| {
        let service = service(&group, &port.rate, cycle)?;
        let Some(service) = service else {
            let fault = "has no window in which its largest packet fits; make one longer";
            return Err(port.class_fault(group.priorities[0], fault));
        };
        Ok(Share { priorities: group.priorities, service, strict: true, shaping: None })
    };
    let mut shares = groups.into_iter().map(share).collect::<Result<Vec<Share>, _>>()?;
    shares.extend(frozen::shares(port, cycle, &shut, &others)?);
    Ok(shares)
}

/// Returns the windows in which the gate of each class is open, in the order of the classes.
pub(in crate::network) fn openings<'c>(
    classes: impl Iterator<Item = &'c Class<Gate>> + Clone,
    cycle: &Rational,
) -> Vec<Vec<Window>> {
    let own = |class: &Class<Gate>| match &class.share {
        Gate::Open(windows) => merged(windows, cycle).ok(),
        _ => None,
    };
    let mut shut: Vec<Window> = classes.clone().filter_map(own).flatten().collect();
    shut.sort();
    shut.dedup();
    let open = left_open(&shut, cycle);
    classes.map(|class| own(class).unwrap_or_else(|| open.clone())).collect()
}

/// Returns the parts of a cycle that lie outside of the given windows, which must not overlap.
pub(super) fn left_open(shut: &[Window], cycle: &Rational) -> Vec<Window> {
    let mut shut = shut.to_vec();
    shut.sort();
    let Some(first) = shut.first() else {
        return vec![Window { at: Rational::ZERO, length: cycle.clone() }];
    };
    let again = Window { at: &first.at + cycle, length: first.length.clone() };
    let behind = shut.iter().skip(1).chain([&again]);
    let gap = |(before, behind): (&Window, &Window)| {
        let length = &behind.at - end(before);
        let at = end(before);
        let at = if at >= *cycle { at - cycle } else { at };
        length.is_positive().then_some(Window { at, length })
    };
    let mut open: Vec<Window> = shut.iter().zip(behind).filter_map(gap).collect();
    open.sort();
    open
}

/// Returns the total length of some windows.
pub(super) fn length(windows: &[Window]) -> Rational {
    windows.iter().map(|window| window.length.clone()).sum()
}

/// Returns windows in ascending order, with adjacent ones merged into one. A window that continues
/// in the next cycle is one window that ends after this cycle's end.
fn merged(windows: &[Window], cycle: &Rational) -> Result<Vec<Window>, &'static str> {
    if windows.is_empty() || windows.len() > MAX_WINDOWS {
        return Err("needs one to 64 windows in which its gate is open");
    }
    let mut windows = windows.to_vec();
    windows.sort();
    let mut merged = Vec::<Window>::with_capacity(windows.len());
    for window in windows {
        if window.at.is_negative() || !window.length.is_positive() || end(&window) > *cycle {
            return Err("has a window that is empty or not within the cycle");
        }
        match merged.last_mut() {
            Some(last) if end(last) > window.at => return Err("has windows that overlap"),
            Some(last) if end(last) == window.at => last.length += &window.length,
            _ => merged.push(window),
        }
    }
    let wraps = merged.first().is_some_and(|first| first.at.is_zero())
        && merged.last().is_some_and(|last| end(last) == *cycle);
    if wraps && merged.len() > 1 {
        let first = merged.remove(0);
        if let Some(last) = merged.last_mut() {
            last.length += &first.length;
        }
    }
    Ok(merged)
}

fn end(window: &Window) -> Rational {
    &window.at + &window.length
}

/// Returns whether a window of one class overlaps a window of another class in a cycle.
fn meet(a: &[Window], b: &[Window], cycle: &Rational) -> bool {
    let overlap = |a: &Window, b: &Window| {
        // The start of `b` relative to the start of `a`, within a cycle.
        let ahead = &b.at - &a.at;
        let ahead = if ahead.is_negative() { ahead + cycle } else { ahead };
        ahead < a.length || ahead + &b.length > *cycle
    };
    a.iter().any(|a| b.iter().any(|b| overlap(a, b)))
}

/// Returns the strict service curve of classes whose gates are open at the same times, or `None` if
/// their largest packet fits in no window.
fn service(
    group: &GateClasses,
    rate: &Rational,
    cycle: &Rational,
) -> Result<Option<Curve>, PortError> {
    if let [window] = group.windows.as_slice()
        && window.length == *cycle
    {
        return Ok(Some(Curve::line(Rational::ZERO, rate.clone())));
    }
    let guard = &group.packet / rate;
    let used = |window: &Window| {
        let length = &window.length - &guard;
        length.is_positive().then(|| Window { at: window.at.clone(), length })
    };
    let windows: Vec<Window> = group.windows.iter().filter_map(used).collect();
    match windows.is_empty() {
        true => Ok(None),
        false => least(&windows, rate, cycle).map(Some),
    }
}

/// Returns the strict service curve of a server that serves at `rate` throughout the given windows
/// of a cycle, and not outside of them. The windows must not overlap.
pub(super) fn least(
    windows: &[Window],
    rate: &Rational,
    cycle: &Rational,
) -> Result<Curve, PortError> {
    if length(windows) == *cycle {
        return Ok(Curve::line(Rational::ZERO, rate.clone()));
    }
    // Windows must be in ascending order, because each one follows the previous one.
    let mut windows = windows.to_vec();
    windows.sort();
    let mut least: Option<Curve> = None;
    for last in 0..windows.len() {
        let curve = behind(&windows, last, rate, cycle)?;
        least = Some(match least {
            None => curve,
            Some(least) => least.minimum(&curve)?,
        });
    }
    Ok(least.unwrap_or_else(Curve::zero))
}

/// Returns the service over time, beginning at the end of the window with index `last`, of a server
/// that serves only within the given windows.
fn behind(
    windows: &[Window],
    last: usize,
    rate: &Rational,
    cycle: &Rational,
) -> Result<Curve, PortError> {
    let Some(before) = windows.get(last) else { return Ok(Curve::zero()) };
    let from = end(before);
    let mut pieces = vec![Piece::continuous(Rational::ZERO, Extended::ZERO, Rational::ZERO)];
    let mut served = Rational::ZERO;
    for step in 1..=windows.len() {
        let Some(window) = windows.get((last + step) % windows.len()) else { continue };
        let mut at = &window.at - &from;
        if at.is_negative() {
            at += cycle;
        }
        let until = &at + &window.length;
        pieces.push(Piece::continuous(at, served.clone(), rate.clone()));
        served += &(rate * &window.length);
        if until < *cycle {
            pieces.push(Piece::continuous(until, served.clone(), Rational::ZERO));
        }
    }
    let period = Period { start: Rational::ZERO, length: cycle.clone(), increment: served };
    Ok(Curve::pseudo_periodic(pieces, period)?)
}
