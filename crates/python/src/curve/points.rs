//! Curves from points of their graphs.

use std::path::Path;

use calculus::{Curve, Extended, Period, Piece, Rational};

use super::not_a_curve;
use crate::errors::{Fault, Kind};

/// The behaviour of a curve after its last point.
pub(super) enum Tail {
    /// The curve goes on at this rate.
    Rate(Rational),
    /// From the time `from` on, the curve repeats its part between that time and the last point.
    /// Each repetition is higher by `increment`.
    Repeats { from: Rational, increment: Rational },
}

/// The values of a curve at one time: a single value, or those around a jump.
struct Corner {
    time: Rational,
    /// The limit from the left.
    before: Rational,
    at: Rational,
    /// The limit from the right.
    after: Rational,
}

/// Returns the curve through points, which are joined by straight lines.
pub(super) fn curve(points: Vec<(Rational, Rational)>, tail: Tail) -> Result<Curve, Fault> {
    let corners = corners(points)?;
    let mut pieces = Vec::with_capacity(corners.len());
    for pair in corners.windows(2) {
        let [corner, next] = pair else { continue };
        let rise = (&next.before - &corner.after).checked_div(&(&next.time - &corner.time));
        // Corners have different times, so the quotient exists.
        pieces.push(piece(corner, rise.unwrap_or_default()));
    }
    let Some(last) = corners.last() else {
        return Err(Fault::new(Kind::Curve, "there are no points")
            .at("points")
            .mended_by("give at least the point at time 0"));
    };
    match tail {
        Tail::Rate(rate) => {
            pieces.push(piece(last, rate));
            Curve::ultimately_affine(pieces).map_err(|error| not_a_curve(&error))
        }
        Tail::Repeats { from, increment } => {
            let length = &last.time - &from;
            let period = Period { start: from, length, increment };
            Curve::pseudo_periodic(pieces, period).map_err(|error| not_a_curve(&error))
        }
    }
}

fn piece(corner: &Corner, slope: Rational) -> Piece {
    let (at, after) = (Extended::from(&corner.at), Extended::from(&corner.after));
    Piece::new(corner.time.clone(), at, after, slope)
}

/// Returns the points with those of one time together.
fn corners(points: Vec<(Rational, Rational)>) -> Result<Vec<Corner>, Fault> {
    let mut corners: Vec<Corner> = Vec::new();
    let mut of_last = 0;
    for (index, (time, value)) in points.into_iter().enumerate() {
        let fault = |what: String| Fault::new(Kind::Curve, what).at(format!("points[{index}]"));
        match corners.last_mut() {
            Some(last) if last.time == time => {
                of_last += 1;
                match of_last {
                    // Two points: the curve is left-continuous.
                    2 => last.after = value,
                    3 if !time.is_zero() => {
                        last.at = std::mem::replace(&mut last.after, value);
                    }
                    _ => {
                        let most = if time.is_zero() { "two" } else { "three" };
                        return Err(fault(format!(
                            "there are more than {most} points at time {time}"
                        )));
                    }
                }
            }
            Some(last) if last.time > time => {
                let what =
                    format!("time {time} is before that of the previous point, {}", last.time);
                return Err(fault(what).mended_by("order the points by time"));
            }
            None if !time.is_zero() => {
                let what = format!("the first point is at time {time}");
                return Err(fault(what).mended_by("begin with the point at time 0"));
            }
            _ => {
                of_last = 1;
                corners.push(Corner {
                    time,
                    before: value.clone(),
                    at: value.clone(),
                    after: value,
                });
            }
        }
    }
    Ok(corners)
}

/// Reads points from a file with two columns, separated by commas, semicolons, tabs or spaces.
/// Lines that are empty or begin with `#`, and a first line of words, are skipped.
pub(super) fn read(path: &Path) -> Result<Vec<(Rational, Rational)>, Fault> {
    let name = path.display();
    let text = input::read_text(path).map_err(|error| {
        Fault::new(Kind::Input, format!("the file cannot be read: {error}")).at(name.to_string())
    })?;
    let mut points = Vec::new();
    let mut is_first = true;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let is_header = std::mem::take(&mut is_first);
        let mut columns =
            line.split([',', ';', '\t', ' ']).map(str::trim).filter(|c| !c.is_empty());
        let (time, value) = (columns.next(), columns.next());
        let numbers = [time, value].map(|column| column.and_then(|text| text.parse().ok()));
        match numbers {
            [Some(time), Some(value)] => points.push((time, value)),
            [None, None] if is_header => {}
            _ => {
                return Err(Fault::new(Kind::Input, "the line does not begin with two numbers")
                    .at(format!("{name}:{}", index + 1))
                    .mended_by("write the time and the value, such as 0.5,12"));
            }
        }
    }
    Ok(points)
}
