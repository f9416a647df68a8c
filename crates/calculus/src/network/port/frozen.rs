//! Credit-based shapers beside gates.
//!
//! Classes with windows of their own leave a part of the cycle in which no gate of theirs is open. In that part the gates of all
//! other classes are open: those with an idle slope have credit-based shapers, the rest is best effort. Credit is frozen while
//! gates are shut, and an idle slope is that of the whole cycle, so that credit rises by I = (idle slope) cycle / (open part) while
//! gates are open (IEEE 802.1Q, 8.6.8.2). So all of `credit` is told in open time, with one difference: at the end of each window
//! a packet that does not fit waits for the next one. It gathers credit meanwhile (the "guard band" in which credit is not
//! frozen; Zhao, Pop, Zheng, Daigmorte and Boyer, "Latency analysis of multiple classes of AVB traffic in TSN with standard
//! credit behavior using network calculus", IEEE Transactions on Industrial Electronics 68, 2021).
//!
//! With windows of w together in a cycle, and G the parts of these in which the largest packet of a class, L, does not fit (L / c of
//! each window), within an open time d no more than G (d / w + 1) is such a part. Let credit V be 0 at u and above until t, d
//! later. At u a packet of a lower class may be on its way, for l / c at most. Behind it, within d, the link is never idle and begins no
//! packet of a lower class but in these parts, where one that begins ends before the gate closes. So with l, H and K as in
//! `credit`, the class sends at least c (d - G (d / w + 1)) - (H d + K) within d, and V is at most I l / c + I d less that: at most
//! v = I (l / c + (K + c G) / (c - H - c G / w)), as long as that divisor is at least I.
//!
//! The class is served I max(0, d - v / I) within an open time d, and within t the open time is at least that which is
//! least from the end of a window on. It never sends more than I d + v + (c - I) L / c within d, and of t no more is open than what
//! the windows of others leave. Best effort is served what is left of c (d - G (d / w + 1)), its own G, by the most
//! that shapers send; that is strict.

use super::gates::{least, left_open, length};
use super::{Class, Gate, Port, PortError, Share, Window, check_idle_slope};
use crate::{Curve, Rational};

/// Of classes without windows, in the order of priorities, behind others that have these.
pub(super) fn shares(
    port: &Port,
    cycle: &Rational,
    shut: &[Window],
    classes: &[&Class<Gate>],
) -> Result<Vec<Share>, PortError> {
    let open = left_open(shut, cycle);
    let (Some(first), false) = (classes.first(), open.is_empty()) else {
        let fault = "has windows at all times; leave some of its cycle to classes without windows";
        return match classes.is_empty() {
            true => Ok(Vec::new()),
            false => Err(port.fault(fault)),
        };
    };
    let whole = length(&open);
    // Open and shut time within any span, at least.
    let opened = least(&open, &Rational::ONE, cycle)?;
    let closed = match shut {
        [] => Curve::zero(),
        // Windows of others that touch as one.
        _ => least(&left_open(&open, cycle), &Rational::ONE, cycle)?,
    };
    let rate = &port.rate;
    // Parts in which a packet does not fit; where gates never shut there are none.
    let guards = |packet: &Rational| -> Rational {
        let each = open.iter().map(|window| window.length.clone().min(packet / rate));
        if shut.is_empty() { Rational::ZERO } else { each.sum() }
    };
    let narrow = |packet: &Rational| {
        !shut.is_empty() && open.iter().all(|window| window.length < packet / rate)
    };
    let mut shares = Vec::with_capacity(classes.len());
    let mut best_effort: Vec<&Class<Gate>> = Vec::new();
    // Idle slopes and ranges of credit of the classes so far.
    let (mut slopes, mut ranges) = (Rational::ZERO, Rational::ZERO);
    for (place, class) in classes.iter().enumerate() {
        if narrow(&class.maximum_packet) {
            let fault = "has no window in which its largest packet fits; make one longer";
            return Err(port.class_fault(class.priority, fault));
        }
        let Gate::Shaped(slope) = &class.share else {
            best_effort.push(class);
            continue;
        };
        check_idle_slope(port, class, slope, best_effort.is_empty())?;
        let slope = slope * cycle / &whole;
        let guard = guards(&class.maximum_packet);
        let left = rate - &slopes - rate * &guard / &whole;
        if slope > left {
            let fault = "has idle slopes of more than what its windows and the ends of these, in which packets do not fit, \
                         leave over; lower them";
            return Err(port.fault(fault));
        }
        let lower = classes.iter().skip(place + 1).map(|class| &class.maximum_packet);
        let lower = lower.max().cloned().unwrap_or(Rational::ZERO);
        let most = &slope * &(lower / rate + (&ranges + &(rate * &guard)) / &left);
        let under = (rate - &slope) * &class.maximum_packet / rate;
        let range = &most + &under;
        let served = Curve::rate_latency(slope.clone(), &most / &slope)?;
        let sent = Curve::token_bucket(range.clone(), slope.clone())?;
        shares.push(Share {
            priorities: vec![class.priority],
            service: served.composition(&opened)?,
            strict: false,
            // Of any span, no more than what is not shut is open.
            shaping: Some(sent.difference(&closed.scaled(&slope))?),
        });
        slopes += &slope;
        ranges += &range;
    }
    if best_effort.is_empty() {
        return Ok(shares);
    }
    let packet = best_effort.iter().map(|class| &class.maximum_packet).max();
    let guard = guards(packet.unwrap_or(&first.maximum_packet));
    let left = rate - &slopes - rate * &guard / &whole;
    let service = match left.is_positive() {
        true => {
            let latency = (ranges + rate * &guard) / &left;
            Curve::rate_latency(left, latency)?.composition(&opened)?
        }
        false => Curve::zero(),
    };
    let priorities = best_effort.iter().map(|class| class.priority).collect();
    shares.push(Share { priorities, service, strict: true, shaping: None });
    Ok(shares)
}
