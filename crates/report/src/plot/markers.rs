//! The shapes of markers, which are drawn around a point and about 8 pixels wide.

use crate::put::put;

/// The number of different shapes of markers.
pub(super) const SHAPES: usize = 7;

/// Appends the outline of the marker shape with this number, around a point, to SVG path data.
pub(super) fn outline(path: &mut String, number: usize, x: f64, y: f64) {
    match number % SHAPES {
        0 => put!(path, "M{:.1} {y:.1}a3.7 3.7 0 1 0 7.4 0a3.7 3.7 0 1 0-7.4 0z", x - 3.7),
        1 => put!(path, "M{:.1} {:.1}h6.8v6.8h-6.8z", x - 3.4, y - 3.4),
        2 => put!(path, "M{x:.1} {:.1}l4.3 7.5h-8.6z", y - 4.8),
        3 => put!(path, "M{x:.1} {:.1}l4.6 4.6-4.6 4.6-4.6-4.6z", y - 4.6),
        4 => put!(path, "M{x:.1} {:.1}l4.3-7.5h-8.6z", y + 4.8),
        5 => {
            let (left, top) = (x - 1.4, y - 4.3);
            put!(path, "M{left:.1} {top:.1}h2.8v2.9h2.9v2.8h-2.9v2.9h-2.8v-2.9h-2.9v-2.8h2.9z");
        }
        _ => put!(path, "M{x:.1} {:.1}l4.4 3.2-1.7 5.2h-5.4l-1.7-5.2z", y - 4.6),
    }
}
