//! Detects lines of a plot that coincide, so that a reader would see only one line.
//!
//! Such lines are drawn so that all are visible: a line is wider than the line above it. A line of
//! text below the legend names them, since not every reader can distinguish them by colour or
//! width.

use super::{Line, Marker, Point};

/// The distance in pixels up to which two lines look like one: a little more than half of their
/// widths together.
const APART: f64 = 2.5;
/// The largest number of steps by which a line is widened because other lines hide it. Still wider
/// lines would hide their surroundings.
pub(super) const DEEPEST: usize = 3;

/// A line of a plot as its pixels show it.
pub(super) struct Drawn {
    /// The points of the line in pixels, or `None` where the line is interrupted.
    points: Vec<Option<(f64, f64)>>,
    marked: bool,
    /// The name of the line in the legend. Lines with equal names need not be distinguished.
    legend: String,
}

impl Drawn {
    /// Returns the positions of a line's points in pixels, which `place` computes. Returns `None`
    /// for lines that need not be distinguished: dots, thin lines that are one of many, and lines
    /// without a name in the legend.
    pub(super) fn of(
        line: &Line,
        points: &[Point],
        place: impl Fn(&Point) -> (f64, f64),
    ) -> Option<Self> {
        let style = line.style;
        let is_one_of_many = style.faint || style.marker == Marker::Dot;
        if is_one_of_many || line.legend.is_empty() {
            return None;
        }
        let seen = |point: &Point| point.x.is_finite() && point.y.is_finite();
        Some(Self {
            points: points.iter().map(|point| seen(point).then(|| place(point))).collect(),
            marked: style.marker != Marker::None,
            legend: line.legend.clone(),
        })
    }

    fn seen(&self) -> impl Iterator<Item = (f64, f64)> {
        self.points.iter().flatten().copied()
    }

    /// Returns whether this line passes the position `point`. If `only_points`, one of its own
    /// points must lie there.
    fn is_at(&self, point: (f64, f64), only_points: bool) -> bool {
        let near = |own: (f64, f64)| (own.0 - point.0).hypot(own.1 - point.1) <= APART;
        let passes = |pair: &[Option<(f64, f64)>]| match pair {
            [Some(from), Some(to)] => near(nearest(*from, *to, point)),
            _ => false,
        };
        self.seen().any(near) || !only_points && self.points.windows(2).any(passes)
    }

    /// Returns whether this line coincides with `other` over its whole length. The points of a line
    /// with markers must coincide with points of the other line, because a segment does not hide a
    /// marker.
    fn lies_on(&self, other: &Self) -> bool {
        if self.legend == other.legend || self.marked && !other.marked {
            return false;
        }
        let (from, to) =
            self.seen().fold((f64::INFINITY, f64::NEG_INFINITY), |(from, to), (x, _)| {
                (from.min(x), to.max(x))
            });
        let beside = |point: &(f64, f64)| point.0 >= from - APART && point.0 <= to + APART;
        from <= to
            && self.seen().all(|point| other.is_at(point, self.marked))
            && other.seen().filter(beside).all(|point| self.is_at(point, self.marked))
    }
}

/// Returns the point of the line segment between `from` and `to` that is nearest to `point`.
fn nearest(from: (f64, f64), to: (f64, f64), point: (f64, f64)) -> (f64, f64) {
    let (along, up) = (to.0 - from.0, to.1 - from.1);
    let square = along * along + up * up;
    if square == 0.0 {
        return from;
    }
    let share = ((point.0 - from.0) * along + (point.1 - from.1) * up) / square;
    let share = share.clamp(0.0, 1.0);
    (from.0 + share * along, from.1 + share * up)
}

/// The groups of lines in a plot that coincide.
pub(super) struct Coincidence {
    /// For each line, how many times it must be widened to stay visible: one more than the line
    /// that is drawn over it, or 0 if no line is. The number is at most [`DEEPEST`].
    pub(super) depths: Vec<usize>,
    /// The groups of lines that look like one line, as the names of the lines in each.
    pub(super) groups: Vec<Vec<String>>,
}

impl Coincidence {
    /// Finds the lines of a plot that coincide. `lines` is in drawing order, and `None` stands for
    /// a line that need not be distinguished.
    pub(super) fn of(lines: &[Option<Drawn>]) -> Self {
        let mut depths = vec![0; lines.len()];
        let mut groups: Vec<Vec<usize>> = Vec::new();
        // The lines are visited from the topmost one down, so that the lines above a line are known
        // before it.
        for (number, line) in lines.iter().enumerate().rev() {
            let Some(line) = line else { continue };
            let on = lines.iter().enumerate().skip(number + 1).find(|(_, above)| {
                above.as_ref().is_some_and(|above| line.lies_on(above) || above.lies_on(line))
            });
            let Some((above, _)) = on else { continue };
            depths[number] = (depths[above] + 1).min(DEEPEST);
            match groups.iter_mut().find(|group| group.contains(&above)) {
                Some(group) => group.push(number),
                None => groups.push(vec![above, number]),
            }
        }
        let legend = |number: &usize| lines[*number].as_ref().map(|line| line.legend.clone());
        let names = |mut group: Vec<usize>| {
            group.sort_unstable();
            group.iter().filter_map(legend).collect()
        };
        groups.sort_by_key(|group| group.iter().min().copied());
        Self { depths, groups: groups.into_iter().map(names).collect() }
    }

    /// Returns a sentence that names the lines which coincide, or `None` if all lines are visible.
    pub(super) fn sentence(&self) -> Option<String> {
        let groups: Vec<String> = self.groups.iter().map(|names| names.join(" and ")).collect();
        (!groups.is_empty()).then(|| format!("One on another: {}", groups.join("; ")))
    }

    /// Returns the sentence that names the lines which coincide, or a shorter one without names if
    /// it has more than `most` characters. Returns `None` if all lines are visible.
    pub(super) fn note(&self, most: usize) -> Option<String> {
        let sentence = self.sentence()?;
        if sentence.chars().count() <= most {
            return Some(sentence);
        }
        let lines: usize = self.groups.iter().map(Vec::len).sum();
        let groups: Vec<String> = self.groups.iter().map(|group| group.len().to_string()).collect();
        Some(format!(
            "One on another: {lines} lines, by {}; the wider is beneath",
            groups.join(" and ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Style;

    fn line(name: &str, style: Style, points: &[(f64, f64)]) -> Option<Drawn> {
        let points: Vec<Point> = points.iter().map(|&(x, y)| Point::new(x, y)).collect();
        Drawn::of(&Line::new(name, points.clone(), style), &points, |point| (point.x, point.y))
    }

    fn sentence(lines: &[Option<Drawn>]) -> Option<String> {
        Coincidence::of(lines).sentence()
    }

    #[test]
    fn lines_on_one_another_are_named_together_and_the_lowest_is_deepest() {
        let style = Style::series(0).filled();
        let at = |y: f64| [(0.0, y), (50.0, y + 30.0), (100.0, y)];
        let lines = [
            line("a", style, &at(10.0)),
            line("b", style, &at(80.0)),
            line("c", style, &at(11.0)),
            line("d", style.hollow(), &at(10.5)),
            line("e", style, &at(81.0)),
        ];
        let found = Coincidence::of(&lines);
        assert_eq!(found.depths, [2, 1, 1, 0, 0]);
        assert_eq!(found.sentence().as_deref(), Some("One on another: a and c and d; b and e"));
    }

    #[test]
    fn lines_that_part_somewhere_are_seen() {
        let style = Style::series(0);
        let flat = line("flat", style, &[(0.0, 0.0), (100.0, 0.0)]);
        let bent = line("bent", style, &[(0.0, 0.0), (50.0, 9.0), (100.0, 0.0)]);
        assert_eq!(sentence(&[flat, bent]), None, "a spike between two points");
        let long = line("long", style, &[(0.0, 0.0), (100.0, 0.0)]);
        let short = line("short", style, &[(20.0, 1.0), (60.0, 1.0)]);
        let both = Some("One on another: long and short");
        assert_eq!(sentence(&[long, short]).as_deref(), both, "the lower one goes on");
        let short = line("short", style, &[(20.0, 1.0), (60.0, 1.0)]);
        let long = line("long", style, &[(0.0, 0.0), (100.0, 0.0)]);
        assert_eq!(sentence(&[short, long]).as_deref(), Some("One on another: short and long"));
    }

    #[test]
    fn markers_are_hidden_by_markers_only() {
        let style = Style::series(0);
        let point = || line("point", style.filled(), &[(50.0, 0.0)]);
        let passing = line("passing", style.filled(), &[(0.0, 0.0), (100.0, 0.0)]);
        assert_eq!(sentence(&[point(), passing]), None);
        let meeting = line("meeting", style.filled(), &[(0.0, 0.0), (50.0, 0.0), (100.0, 9.0)]);
        assert_eq!(
            sentence(&[point(), meeting]).as_deref(),
            Some("One on another: point and meeting")
        );
    }

    #[test]
    fn what_needs_no_telling_apart_is_left_out() {
        let points = [(0.0, 0.0), (10.0, 5.0)];
        let all = |style: Style, name: &str| line(name, style, &points);
        for style in [Style::series(1).faint(), Style::series(1).dots()] {
            assert_eq!(sentence(&[all(style, "a"), all(Style::series(2), "b")]), None);
        }
        assert_eq!(sentence(&[all(Style::series(1), ""), all(Style::series(2), "b")]), None);
        // Both lines have one entry in the legend.
        assert_eq!(sentence(&[all(Style::series(1), "b"), all(Style::series(2), "b")]), None);
        let gap = [(0.0, 0.0), (5.0, f64::NAN), (10.0, 5.0)];
        let gap = line("gap", Style::series(1), &gap);
        assert_eq!(
            sentence(&[gap, all(Style::series(2), "b")]).as_deref(),
            Some("One on another: gap and b")
        );
    }
}
