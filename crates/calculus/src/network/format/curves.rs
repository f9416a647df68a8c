//! Reads the curves in network files of Planimeter's own format.
//!
//! A curve is a TOML table or JSON object with one field, whose name is the kind of the curve. For
//! example, `{ rate-latency = { rate = "1Gbps", latency = "2us" } }` is a rate-latency curve. A
//! list of curves stands for their minimum where the file describes an upper bound (an arrival,
//! shaping or maximum service curve), and for their maximum where it describes a service curve.
//!
//! Two curves whose common period is too long to compute with are replaced by their outlines before
//! they are combined. The outline of an upper bound is the least concave curve above it. The
//! outline of a lower bound is the greatest convex curve below it. The combined curve is then still
//! a valid bound, and [`Given::outlined`] records that it is not exact.

use super::FormatError;
use super::quantity::{Dimension, Units};
use super::tree::{Fields, Node, Tree};
use crate::network::operations;
use crate::{AlgebraError, Curve, CurveError, Extended, Piece, Rational};

/// The kinds of curves: the names that the only field of a curve may have.
const KINDS: [&str; 14] = [
    "token-bucket",
    "leaky-bucket",
    "t-spec",
    "rate-latency",
    "rate",
    "burst-delay",
    "staircase",
    "events",
    "tdma",
    "segments",
    "minimum",
    "maximum",
    "sum",
    "convolution",
];

/// The side from which a curve bounds the traffic or the service. A list of upper bounds stands for
/// their minimum, and a list of lower bounds for their maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bounds {
    FromAbove,
    FromBelow,
}

/// A curve that was read from a file.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) curve: Curve,
    /// Whether the curve was computed from outlines (simple bounds) of the curves in the file. It
    /// is then a looser bound than the one that the file describes: an upper bound is larger, and a
    /// lower bound is smaller.
    pub(super) outlined: bool,
}

impl From<Curve> for Given {
    fn from(curve: Curve) -> Self {
        Self { curve, outlined: false }
    }
}

/// Reads a curve, or a list of curves, from a node of a file.
pub(super) fn curve(node: &Node<'_>, units: &Units, bounds: Bounds) -> Result<Given, FormatError> {
    if let Tree::Array(nodes) = &node.value {
        let kind = if bounds == Bounds::FromAbove { "minimum" } else { "maximum" };
        return combined(node, nodes, kind, units, bounds);
    }
    let fields = node.fields(&KINDS)?;
    let mut kinds = fields.iter();
    let (Some((kind, description)), None) = (kinds.next(), kinds.next()) else {
        let kinds = KINDS.join(", ");
        return Err(node.fault(format!("is not a curve; give exactly one of {kinds}")));
    };
    let built = match kind {
        "minimum" | "maximum" | "sum" | "convolution" => {
            return combined(description, description.list()?, kind, units, bounds);
        }
        "segments" => return segments(description, units).map(Given::from),
        "token-bucket" => {
            let of = Parameters::new(description, units, &["burst", "rate"])?;
            Curve::token_bucket(of.data("burst")?, of.rate("rate")?)
        }
        "leaky-bucket" => {
            let known = ["burst", "rate", "peak-rate", "packet"];
            let of = Parameters::new(description, units, &known)?;
            let packet = of.optional("packet", Dimension::Data)?.unwrap_or(Rational::ZERO);
            Curve::leaky_bucket(packet, of.rate("peak-rate")?, of.data("burst")?, of.rate("rate")?)
        }
        "t-spec" => {
            let known = ["burst", "rate", "peak-rate", "packet"];
            let of = Parameters::new(description, units, &known)?;
            let (packet, peak) = (of.data("packet")?, of.rate("peak-rate")?);
            Curve::t_spec(packet, peak, of.rate("rate")?, of.data("burst")?)
        }
        "rate-latency" => {
            let of = Parameters::new(description, units, &["rate", "latency"])?;
            Curve::rate_latency(of.rate("rate")?, of.time("latency")?)
        }
        "rate" => Curve::rate_latency(units.read(description, Dimension::Rate)?, Rational::ZERO),
        "burst-delay" => Curve::burst_delay(units.read(description, Dimension::Time)?),
        "staircase" => {
            let of = Parameters::new(description, units, &["height", "length", "offset"])?;
            let offset = of.optional("offset", Dimension::Time)?;
            let (height, length) = (of.data("height")?, of.time("length")?);
            match offset {
                None => Curve::staircase(height, length),
                Some(offset) => Curve::delayed_staircase(offset, height, length),
            }
        }
        "events" => {
            let known = ["height", "period", "jitter", "distance"];
            let of = Parameters::new(description, units, &known)?;
            let time = |name| of.optional(name, Dimension::Time).map(Option::unwrap_or_default);
            let (jitter, distance) = (time("jitter")?, time("distance")?);
            Curve::events(of.data("height")?, of.time("period")?, jitter, distance)
        }
        _ => {
            let of = Parameters::new(description, units, &["rate", "slot", "cycle"])?;
            Curve::tdma(of.rate("rate")?, of.time("slot")?, of.time("cycle")?)
        }
    };
    let fault = |error: CurveError| description.fault(format!("is not a curve: {error}"));
    built.map(Given::from).map_err(fault)
}

/// Reads a list of curves and combines them into one by the operation `kind`, such as "minimum".
fn combined(
    node: &Node<'_>,
    nodes: &[Node<'_>],
    kind: &str,
    units: &Units,
    bounds: Bounds,
) -> Result<Given, FormatError> {
    let mut whole: Option<Given> = None;
    for node in nodes {
        let next = curve(node, units, bounds)?;
        whole = Some(match whole {
            None => next,
            Some(whole) => joined(&whole, &next, kind, bounds)
                .map_err(|error| node.fault(format!("cannot be combined: {error}")))?,
        });
    }
    whole.ok_or_else(|| node.fault("is empty; give at least one curve"))
}

/// Combines two curves by the operation `kind`. If the exact result would have too many pieces, the
/// outlines of the curves are combined instead. Every operation is monotone in both curves, so the
/// result then bounds the exact one.
fn joined(a: &Given, b: &Given, kind: &str, bounds: Bounds) -> Result<Given, AlgebraError> {
    let operation = |a: &Curve, b: &Curve| match kind {
        "minimum" => a.minimum(b),
        "maximum" => a.maximum(b),
        "sum" => a.sum(b),
        _ => a.convolution(b),
    };
    if !operations::sum_is_long([&a.curve, &b.curve].into_iter()) {
        match operation(&a.curve, &b.curve) {
            Ok(curve) => return Ok(Given { curve, outlined: a.outlined || b.outlined }),
            Err(AlgebraError::TooManyPieces { .. } | AlgebraError::TooManyPairs { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let outline = match bounds {
        Bounds::FromAbove => operations::concave_above,
        Bounds::FromBelow => operations::convex_below,
    };
    let curve = operation(&outline(&a.curve), &outline(&b.curve))?;
    Ok(Given { curve, outlined: true })
}

/// Reads a curve from a list of breakpoints. Each has a time, and the value and the slope of the
/// curve from that time until the next breakpoint. The slope of the last one continues for ever.
/// The curve is zero before the first breakpoint, and at time zero.
fn segments(node: &Node<'_>, units: &Units) -> Result<Curve, FormatError> {
    let mut pieces = vec![Piece::continuous(Rational::ZERO, Extended::ZERO, Rational::ZERO)];
    for node in node.list()? {
        let of = Parameters::new(node, units, &["time", "value", "slope"])?;
        let (time, value, slope) = (of.time("time")?, of.data("value")?, of.rate("slope")?);
        if time.is_zero() {
            pieces.clear();
            pieces.push(Piece::new(time, Extended::ZERO, value, slope));
        } else {
            // At a jump, the value is the limit from the left, as is usual for arrival and service
            // curves.
            let last = pieces.last().and_then(|before| {
                let height = before.right_limit().finite()?;
                Some(height + &(before.slope() * &(&time - before.start())))
            });
            let at = last.unwrap_or_else(|| value.clone());
            pieces.push(Piece::new(time, at, value, slope));
        }
    }
    Curve::ultimately_affine(pieces).map_err(|error| node.fault(format!("is not a curve: {error}")))
}

/// The parameters of a curve, such as `rate` and `latency`, as fields of the file.
struct Parameters<'a> {
    fields: Fields<'a>,
    units: &'a Units,
}

impl<'a> Parameters<'a> {
    fn new(node: &'a Node<'a>, units: &'a Units, known: &[&str]) -> Result<Self, FormatError> {
        Ok(Self { fields: node.fields(known)?, units })
    }

    fn data(&self, name: &str) -> Result<Rational, FormatError> {
        self.units.read(self.fields.need(name)?, Dimension::Data)
    }

    fn rate(&self, name: &str) -> Result<Rational, FormatError> {
        self.units.read(self.fields.need(name)?, Dimension::Rate)
    }

    fn time(&self, name: &str) -> Result<Rational, FormatError> {
        self.units.read(self.fields.need(name)?, Dimension::Time)
    }

    fn optional(&self, name: &str, of: Dimension) -> Result<Option<Rational>, FormatError> {
        self.fields.get(name).map(|node| self.units.read(node, of)).transpose()
    }
}
