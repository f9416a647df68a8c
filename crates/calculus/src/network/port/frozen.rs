//! Credit-based shapers combined with gates.
//!
//! Classes with windows of their own leave a part of the cycle in which none of their gates is
//! open. In that part the gates of all other classes are open: classes with an idle slope have
//! credit-based shapers, and the others are best effort. Credit is frozen while gates are closed,
//! and an idle slope refers to the whole cycle, so credit rises at rate I = (idle slope) cycle /
//! (open part) while gates are open (IEEE 802.1Q, 8.6.8.2). The derivation in `credit` therefore
//! holds in open time, with one difference: at the end of each window, a packet that does not fit
//! waits for the next window and gathers credit meanwhile (the "guard band" in which credit is not
//! frozen; Zhao, Pop, Zheng, Daigmorte and Boyer, "Latency analysis of multiple classes of AVB
//! traffic in TSN with standard credit behavior using network calculus", IEEE Transactions on
//! Industrial Electronics 68, 2021).
//!
//! Let w be the open time per cycle, and G the part of it in which the class's largest packet L
//! does not fit (L / c of each window). Within an open time d, at most G (d / w + 1) belongs to
//! such parts. Let credit V be 0 at u and positive until t, a time d later. At u a packet of a
//! lower class may be in transmission, for at most l / c. After it, within d, the link never idles.
//! It starts a packet of a lower class only in the parts at the ends of windows, where such a
//! packet ends before the gate closes. So with l, H and K as in `credit`, the class sends at least
//! c (d - G (d / w + 1)) - (H d + K) within d, and V is at most I l / c + I d less that amount.
//! Hence v = I (l / c + (K + c G) / (c - H - c G / w)), provided that the divisor is at least I.
//!
//! The class is served I max(0, d - v / I) within an open time d, and the open time within t is at
//! least that from the worst end of a window on. The class sends at most I d + v + (c - I) L / c
//! within d, and the open time within t is at most t less the windows of others. Best effort is
//! served the rest of c (d - G (d / w + 1)), with its own G, after the most that shaped classes
//! send; that service is strict.

use super::gates::{least, left_open, length};
use super::{Class, Gate, Port, PortError, Share, Window, check_idle_slope};
use crate::{Curve, Rational};

/// Returns the service of the classes without windows of their own, which are given in the order of
/// priorities. `shut` has the windows of all other classes.
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
    // The least open time and the least closed time within any span.
    let opened = least(&open, &Rational::ONE, cycle)?;
    let closed = match shut {
        [] => Curve::zero(),
        // The complement of the open part merges adjacent windows of others.
        _ => least(&left_open(&open, cycle), &Rational::ONE, cycle)?,
    };
    let rate = &port.rate;
    // The time per cycle in which a packet does not fit, or zero if the gates never close.
    let guards = |packet: &Rational| -> Rational {
        let each = open.iter().map(|window| window.length.clone().min(packet / rate));
        if shut.is_empty() { Rational::ZERO } else { each.sum() }
    };
    let narrow = |packet: &Rational| {
        !shut.is_empty() && open.iter().all(|window| window.length < packet / rate)
    };
    let mut shares = Vec::with_capacity(classes.len());
    let mut best_effort: Vec<&Class<Gate>> = Vec::new();
    // The sums of the idle slopes and of the credit ranges of the classes so far.
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
            // Within any span, the open time is at most the span less the least closed time.
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
    let latent = ranges + rate * &guard;
    shares.push(best_effort_share(&best_effort, left, latent, &opened)?);
    Ok(shares)
}

/// Returns the service of the classes without an idle slope. In open time they are served at the
/// rate `left`, after the time in which the data `latent` could be sent at that rate.
fn best_effort_share(
    classes: &[&Class<Gate>],
    left: Rational,
    latent: Rational,
    opened: &Curve,
) -> Result<Share, PortError> {
    let service = match left.is_positive() {
        true => {
            let latency = latent / &left;
            Curve::rate_latency(left, latency)?.composition(opened)?
        }
        false => Curve::zero(),
    };
    let priorities = classes.iter().map(|class| class.priority).collect();
    Ok(Share { priorities, service, strict: true, shaping: None })
}
