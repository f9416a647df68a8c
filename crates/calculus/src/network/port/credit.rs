//! Credit-based shapers.
//!
//! Consider a class with idle slope I at a link of rate c. Its credit V rises at rate I while its
//! packets wait, and while it is negative. It falls at rate c - I while they are sent. A packet
//! starts only at V >= 0, and positive credit is lost when nothing waits. Let s be a time at which
//! V is 0 and the class has nothing to send. The class has then sent I (t - s) - V(t) by time t. So
//! it has the service curve I max(0, t - v / I), where v is the largest possible V. V never falls
//! below -(c - I) L / c, where L is the class's largest packet, so the class sends at most I d + v
//! + (c - I) L / c within a span d.
//!
//! To bound V, let V be 0 at u and positive until t, so that the class waits throughout and the
//! link never idles. At u a packet of a lower class may be in transmission, for at most l / c,
//! where l is the largest packet of lower classes. After it, only higher classes and the class
//! itself send. Higher classes with the total idle slope H send at most H d + K within d, where K
//! is the sum of the ranges of their credit. The class itself must send the rest. So V is at most I
//! l / c + I d - max(0, (c - H) d - K), which is largest at d = K / (c - H): v = I (l / c + K / (c
//! - H)).
//!
//! For two classes these are the bounds of de Azua and Boyer ("Complete modelling of AVB in network
//! calculus framework", RTNS 2014) and of Mohammadpour, Stai and Le Boudec ("Improved credit bounds
//! for the credit-based shaper in time-sensitive networking", IEEE Networking Letters 1, 2019). The
//! residual service for best effort follows from the most that the shaped classes send. It is
//! strict, since the link never idles while best effort waits.

use super::{Class, Port, PortError, Share, by_priority, check_idle_slope};
use crate::{Curve, Rational};

/// Returns the service that credit-based shapers grant each class of a port.
pub(super) fn shares(
    port: &Port,
    classes: &[Class<Option<Rational>>],
) -> Result<Vec<Share>, PortError> {
    let classes = by_priority(classes);
    let mut shares = Vec::with_capacity(classes.len());
    let mut best_effort = Vec::new();
    // The sums of the idle slopes and of the credit ranges of the classes so far.
    let (mut slopes, mut ranges) = (Rational::ZERO, Rational::ZERO);
    for (place, class) in classes.iter().enumerate() {
        let Some(slope) = &class.share else {
            best_effort.push(class.priority);
            continue;
        };
        check_idle_slope(port, class, slope, best_effort.is_empty())?;
        let left = &port.rate - &slopes;
        if *slope > left {
            return Err(port.fault("has idle slopes of more than its rate together; lower them"));
        }
        let lower = classes.iter().skip(place + 1).map(|class| &class.maximum_packet);
        let lower = lower.max().cloned().unwrap_or(Rational::ZERO);
        let most = slope * &(lower / &port.rate + &ranges / &left);
        let least = (&port.rate - slope) * &class.maximum_packet / &port.rate;
        let range = most.clone() + &least;
        shares.push(Share {
            priorities: vec![class.priority],
            service: Curve::rate_latency(slope.clone(), most / slope)?,
            strict: false,
            shaping: Some(Curve::token_bucket(range.clone(), slope.clone())?),
        });
        slopes += slope;
        ranges += &range;
    }
    if !best_effort.is_empty() {
        let left = &port.rate - &slopes;
        let latency = ranges.checked_div(&left).unwrap_or(Rational::ZERO);
        shares.push(Share {
            priorities: best_effort,
            service: Curve::rate_latency(left, latency)?,
            strict: true,
            shaping: None,
        });
    }
    Ok(shares)
}
