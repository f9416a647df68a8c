//! Round robin: deficit round robin and weighted round robin.
//!
//! Let the link send y bits while a class is backlogged, x of them of that class. The number of
//! turns of the other classes follows from x, so that y <= psi(x) with a staircase psi. Conversely,
//! x is at least the lower pseudo-inverse of psi at y, which is a strict service curve with y = c
//! t.
//!
//! * Deficit round robin: after p complete turns with quantum Q, x >= p Q - d, where d bounds what
//!   is left of a quantum at the end of a turn. It is less than the largest packet L, so d = L - 1
//!   bit if quanta are whole bits. Other classes have at most p + 1 turns, in which they send
//!   (p + 1) Q_j + d_j. So psi(x) is x plus the sum, over the other classes, of
//!   (floor((x + d) / Q) + 1) Q_j + d_j. This is the service curve of Tabatabaee and Le Boudec
//!   ("Deficit round-robin: a second network calculus analysis", RTAS 2021, theorem 1), which is
//!   nowhere below that of Boyer, Stea and Sofack ("Deficit round robin with network calculus",
//!   VALUETOOLS 2012).
//! * Weighted round robin: a turn has w packets of at least l bits, so that x >= p w l. Turns of
//!   the others have at most w_j packets of at most L_j. So psi(x) = x + (floor(x / (w l)) + 1)
//!   times the sum of w_j L_j.
//! * Interleaved weighted round robin: while a class sends p packets, and up to its next one,
//!   another class sends at most floor(p / w) w_j + max(0, w_j - w) + min(p mod w + 1, w_j) packets
//!   (Tabatabaee, Le Boudec and Boyer, "Interleaved weighted round-robin: a network calculus
//!   analysis", ITC 32, 2020). psi(x) is x plus the sum of these numbers, with p = floor(x / l),
//!   times L_j.

use super::{Class, Port, PortError, Scheduler, Share, by_priority};
use crate::network::elements::Priority;
use crate::{Curve, Period, Piece, Rational};

/// The largest weight in interleaved weighted round robin. The service curve of a class has a piece
/// for each packet.
const MAX_WEIGHT: u32 = 4_096;

pub(super) fn deficits(port: &Port, classes: &[Class<Rational>]) -> Result<Vec<Share>, PortError> {
    for class in classes {
        if !class.share.is_positive() {
            return Err(port.class_fault(class.priority, "needs a quantum above zero"));
        }
    }
    let share =
        |class: &Class<Rational>| turns(class.priority, deficit(classes, class, &[])?, &port.rate);
    by_priority(classes).into_iter().map(share).collect()
}

pub(super) fn weights(
    port: &Port,
    classes: &[Class<u32>],
    interleaved: bool,
) -> Result<Vec<Share>, PortError> {
    for class in classes {
        if class.share == 0 {
            return Err(port.class_fault(class.priority, "needs a weight above zero"));
        }
        if interleaved && class.share > MAX_WEIGHT {
            return Err(port
                .class_fault(class.priority, "has a weight above 4096; lower all in proportion"));
        }
    }
    let share = |class: &Class<u32>| {
        turns(class.priority, weight(classes, class, &[], interleaved)?, &port.rate)
    };
    by_priority(classes).into_iter().map(share).collect()
}

/// Returns a lower bound on the data of the class `priority` that the link sends, as a curve over
/// the amount of data that the link sends of all classes together. The bound holds while the class
/// is backlogged, if the classes in `without` send nothing. Returns `None` if the scheduler is not
/// a form of round robin.
pub(super) fn own(
    scheduler: &Scheduler,
    priority: Priority,
    without: &[Priority],
) -> Result<Option<Curve>, PortError> {
    fn of<S>(classes: &[Class<S>], priority: Priority) -> Option<&Class<S>> {
        classes.iter().find(|class| class.priority == priority)
    }
    let psi = match scheduler {
        Scheduler::DeficitRoundRobin(classes) => {
            of(classes, priority).map(|class| deficit(classes, class, without))
        }
        Scheduler::WeightedRoundRobin(classes) => {
            of(classes, priority).map(|class| weight(classes, class, without, false))
        }
        Scheduler::InterleavedWeightedRoundRobin(classes) => {
            of(classes, priority).map(|class| weight(classes, class, without, true))
        }
        Scheduler::CreditBased(_) | Scheduler::Gated { .. } => None,
    };
    Ok(psi.transpose()?.map(|psi| psi.lower_pseudo_inverse()).transpose()?)
}

/// Returns the staircase psi of a class in deficit round robin: an upper bound on the data that the
/// link sends of all classes, as a function of the data that it sends of this class. The classes in
/// `without` send nothing.
fn deficit(
    classes: &[Class<Rational>],
    class: &Class<Rational>,
    without: &[Priority],
) -> Result<Curve, PortError> {
    let whole = classes.iter().all(|class| class.share.is_integer());
    let left = |class: &Class<Rational>| {
        let unit = if whole { Rational::ONE } else { Rational::ZERO };
        &class.maximum_packet - &unit
    };
    let others = || others(classes, class, without);
    let turn = others().map(|other| &other.share).sum();
    let once = others().map(left).sum();
    staircase(&class.share, &left(class), turn, once)
}

/// Returns the staircase psi of a class in weighted round robin, interleaved or not: an upper bound
/// on the data that the link sends of all classes, as a function of the data that it sends of this
/// class. The classes in `without` send nothing.
fn weight(
    classes: &[Class<u32>],
    class: &Class<u32>,
    without: &[Priority],
    interleaved: bool,
) -> Result<Curve, PortError> {
    let others = || others(classes, class, without);
    if interleaved {
        return interleaved_staircase(class, others);
    }
    let own = Rational::from(class.share) * &class.minimum_packet;
    let turn = others().map(|o| Rational::from(o.share) * &o.maximum_packet).sum();
    staircase(&own, &Rational::ZERO, turn, Rational::ZERO)
}

fn others<'a, S>(
    classes: &'a [Class<S>],
    class: &'a Class<S>,
    without: &'a [Priority],
) -> impl Iterator<Item = &'a Class<S>> {
    let counts =
        |other: &&Class<S>| other.priority != class.priority && !without.contains(&other.priority);
    classes.iter().filter(counts)
}

fn turns(priority: Priority, psi: Curve, rate: &Rational) -> Result<Share, PortError> {
    let own = psi.lower_pseudo_inverse()?;
    // The curve is for a link of rate 1, so its time is scaled to the rate of the link.
    let service = own.stretched(&(Rational::ONE / rate))?;
    Ok(Share { priorities: vec![priority], service, strict: true, shaping: None })
}

/// Returns the staircase `x + (floor((x + left) / own) + 1) turn + once`, as a curve over x.
fn staircase(
    own: &Rational,
    left: &Rational,
    turn: Rational,
    once: Rational,
) -> Result<Curve, PortError> {
    let passed = (left / own).floor() + Rational::ONE;
    let first = &passed * &turn + once;
    let step = &passed * own - left;
    let behind = &step + &first + &turn;
    let pieces = vec![
        Piece::continuous(Rational::ZERO, first, Rational::ONE),
        Piece::continuous(step.clone(), behind, Rational::ONE),
    ];
    let period = Period { start: step, length: own.clone(), increment: own + &turn };
    Ok(Curve::pseudo_periodic(pieces, period)?)
}

/// Returns the staircase psi of a class in interleaved weighted round robin (see `weight`).
/// `others` returns the other classes that send.
fn interleaved_staircase<'a, I: Iterator<Item = &'a Class<u32>>>(
    class: &Class<u32>,
    others: impl Fn() -> I,
) -> Result<Curve, PortError> {
    let weight = class.share;
    let piece = |sent: u32| {
        let of = |other: &Class<u32>| {
            let packets = other.share.saturating_sub(weight) + (sent + 1).min(other.share);
            Rational::from(packets) * &other.maximum_packet
        };
        let between: Rational = others().map(of).sum();
        let own = Rational::from(sent) * &class.minimum_packet;
        Piece::continuous(own.clone(), own + &between, Rational::ONE)
    };
    let own = Rational::from(weight) * &class.minimum_packet;
    let round: Rational =
        others().map(|other| Rational::from(other.share) * &other.maximum_packet).sum();
    let period = Period { start: Rational::ZERO, length: own.clone(), increment: own + &round };
    Ok(Curve::pseudo_periodic((0..weight).map(piece).collect(), period)?)
}
