//! Computes the layout of a graph: the positions of its boxes and of the lines between them.
//!
//! Boxes stand in columns by their distance from the starts of paths, so that paths lead from one
//! column to the next (Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical
//! system structures", IEEE Transactions on Systems, Man, and Cybernetics 11, 1981). Columns that
//! do not fit side by side continue in the next row, in the opposite direction. Within its column a
//! box stands near the mean position of its neighbours. A line that skips columns has a bend in
//! each of them, and one that leads back to an earlier column runs below all boxes.

use std::collections::BTreeMap;

use super::super::frame::LETTER;
use super::{Graph, arrow};
use crate::put::put;

/// The height of a box in a drawing of a graph, in pixels.
pub(super) const HEIGHT: f64 = 32.0;
/// The height in pixels that a box occupies, including the space above and below it.
const ROW: f64 = 46.0;
/// The space in pixels between two rows of columns.
const BETWEEN: f64 = 26.0;
/// The height in pixels that a line occupies in a column that it passes without a box.
const BEND: f64 = 13.0;
/// The smallest and the largest number of columns in one row.
const COLUMNS: [usize; 2] = [3, 8];
/// The largest width of a box (`WIDEST`), and the space beside each box (`BESIDE`), in pixels.
const WIDEST: f64 = 120.0;
const BESIDE: f64 = 38.0;
/// The number of times that boxes are moved towards their neighbours.
const SWEEPS: usize = 8;
/// The distance in pixels between lines that lead back to earlier columns.
const LANE: f64 = 9.0;

/// The connection from one box to another, by the indices of both.
pub(super) type Step = (usize, usize);

/// The position of a box, or of a bend of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct LayoutPoint {
    pub(super) x: f64,
    pub(super) y: f64,
    /// The direction in which paths cross this row: 1 to the right, -1 to the left.
    pub(super) direction: f64,
    row: usize,
}

impl LayoutPoint {
    /// Returns the x coordinate at which lines enter a box of this width.
    pub(super) fn entry(&self, width: f64) -> f64 {
        self.x - self.direction * width / 2.0
    }

    /// Returns the x coordinate at which lines leave a box of this width.
    pub(super) fn exit(&self, width: f64) -> f64 {
        self.x + self.direction * width / 2.0
    }
}

/// The positions of all boxes of a graph, and of the bends of the lines between them.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) places: Vec<LayoutPoint>,
    pub(super) box_width: f64,
    pub(super) height: f64,
    /// The bends of the line for each connection.
    bends: BTreeMap<Step, Vec<LayoutPoint>>,
    /// The y coordinates of the lines that lead back to earlier columns. These lines run below all
    /// boxes.
    lanes: BTreeMap<Step, f64>,
}

/// Returns each connection between two boxes, with the number of paths that contain it.
pub(super) fn steps(graph: &Graph) -> BTreeMap<Step, usize> {
    let mut steps = BTreeMap::new();
    for step in graph.ways.iter().flat_map(super::GraphWay::steps) {
        let is_there = |node: usize| node < graph.nodes.len();
        if is_there(step.0) && is_there(step.1) && step.0 != step.1 {
            *steps.entry(step).or_insert(0) += 1;
        }
    }
    steps
}

impl Layout {
    /// Computes the layout of a graph that begins at the height `top`, in a drawing of width
    /// `edge`.
    pub(super) fn of(graph: &Graph, top: f64, edge: f64) -> Self {
        let count = graph.nodes.len();
        let steps: Vec<Step> = steps(graph).into_keys().collect();
        let backward = backward(count, &steps);
        let forward: Vec<Step> =
            steps.iter().copied().filter(|step| !backward.contains(step)).collect();
        let layers = layers(count, &forward);
        let mut columns = Columns::of(&layers, &forward);
        columns.sort();
        let longest = graph.nodes.iter().map(|node| node.name.chars().count()).max().unwrap_or(0);
        let drawn = columns.place(top, (longest.max(6) as f64 * LETTER + 10.0).min(WIDEST), edge);
        let of_item = |item: &usize| drawn.places.get(*item).copied().unwrap_or_default();
        let bends = columns
            .bends
            .iter()
            .map(|(step, items)| (*step, items.iter().map(of_item).collect()))
            .collect();
        let lanes: BTreeMap<Step, f64> = backward
            .iter()
            .enumerate()
            .map(|(number, step)| (*step, drawn.bottom + LANE * number as f64))
            .collect();
        let height = drawn.bottom + LANE * lanes.len() as f64 + 8.0;
        let mut places = drawn.places;
        places.truncate(count);
        Self { places, box_width: drawn.box_width, height, bends, lanes }
    }

    /// Draws the line of a connection, shifted by `aside` pixels, with an arrow at its end. Returns
    /// a point near its middle.
    pub(super) fn line(&self, svg: &mut String, step: Step, aside: f64) -> (f64, f64) {
        let (Some(from), Some(to)) = (self.places.get(step.0), self.places.get(step.1)) else {
            return (0.0, 0.0);
        };
        let width = self.box_width;
        let mut points = Vec::new();
        if let Some(lane) = self.lanes.get(&step) {
            let (out, into) = (from.exit(width), to.entry(width));
            let beside = 10.0 + aside;
            let (right, left) =
                (out + from.direction * beside, into - to.direction * (beside + 6.0));
            points.extend([(out, from.y + aside), (right, from.y + aside)]);
            points.extend([(right, lane + aside / 4.0), (left, lane + aside / 4.0)]);
            points.extend([(left, to.y + aside), (into, to.y + aside)]);
        } else {
            let bends = self.bends.get(&step).map_or(&[][..], Vec::as_slice);
            points.push((from.exit(width), from.y + aside));
            let mut before = *from;
            for at in bends.iter().chain([to]) {
                if at.row != before.row {
                    // The path leads around the end of the row.
                    let end = before.exit(width) + before.direction * (14.0 + aside);
                    points.extend([(end, before.y + aside), (end, at.y + aside)]);
                } else {
                    points.push((at.entry(width) - at.direction * 10.0, at.y + aside));
                }
                if at != to {
                    points.push((at.exit(width), at.y + aside));
                }
                before = *at;
            }
            points.push((to.entry(width), to.y + aside));
        }
        for (place, (x, y)) in points.iter().enumerate() {
            match place {
                0 => put!(svg, "<path class=\"line\" d=\"M{x:.1} {y:.1}"),
                _ => put!(svg, "L{x:.1} {y:.1}"),
            }
        }
        svg.push_str("\"/>");
        if let Some((x, y)) = points.last() {
            arrow(svg, *x, *y, to.direction);
        }
        let middle = points.len() / 2;
        match (points.get(middle - 1), points.get(middle)) {
            (Some(a), Some(b)) => ((a.0 + b.0) / 2.0, (a.1 + b.1) / 2.0),
            _ => (0.0, 0.0),
        }
    }
}

/// Returns the connections that a depth-first search identifies as leading back to an earlier box.
/// Without them the graph is acyclic.
fn backward(count: usize, steps: &[Step]) -> Vec<Step> {
    let mut next = vec![Vec::new(); count];
    let mut has_before = vec![false; count];
    for (from, to) in steps {
        next[*from].push(*to);
        has_before[*to] = true;
    }
    let mut state = vec![Visit::New; count];
    let mut backward = Vec::new();
    let (starts, others): (Vec<usize>, Vec<usize>) =
        (0..count).partition(|node| !has_before[*node]);
    for start in starts.into_iter().chain(others) {
        if state[start] != Visit::New {
            continue;
        }
        state[start] = Visit::Open;
        let mut open = vec![(start, 0)];
        while let Some((node, at)) = open.last_mut() {
            let from = *node;
            let Some(to) = next[from].get(*at).copied() else {
                state[from] = Visit::Done;
                open.pop();
                continue;
            };
            *at += 1;
            match state[to] {
                Visit::New => {
                    state[to] = Visit::Open;
                    open.push((to, 0));
                }
                Visit::Open => backward.push((from, to)),
                Visit::Done => {}
            }
        }
    }
    backward
}

/// The progress of the depth-first search at a box.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    New,
    Open,
    Done,
}

/// Returns the column of each of `count` boxes: the length of the longest path that leads to it.
/// The connections `forward` must not form a cycle.
fn layers(count: usize, forward: &[Step]) -> Vec<usize> {
    let mut layers = vec![0; count];
    // Each round determines at least one more layer.
    for _ in 0..count {
        let mut changed = false;
        for (from, to) in forward {
            if layers[*to] <= layers[*from] {
                layers[*to] = layers[*from] + 1;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    layers
}

/// The boxes of a graph, and the bends of its lines, arranged in columns. Both are called items.
/// Boxes are numbered first, then bends.
struct Columns {
    /// The number of items that are boxes.
    nodes: usize,
    columns: Vec<Vec<usize>>,
    bends: BTreeMap<Step, Vec<usize>>,
    /// The neighbours of each item in the previous column (`before`) and in the next column
    /// (`behind`).
    before: Vec<Vec<usize>>,
    behind: Vec<Vec<usize>>,
}

/// The positions of all items, with the width of boxes and the lower end of the layout.
struct Drawn {
    places: Vec<LayoutPoint>,
    box_width: f64,
    bottom: f64,
}

impl Columns {
    fn of(layers: &[usize], forward: &[Step]) -> Self {
        let mut columns = vec![Vec::new(); layers.iter().max().map_or(0, |last| last + 1)];
        for (node, layer) in layers.iter().enumerate() {
            columns[*layer].push(node);
        }
        let mut items = layers.len();
        let (mut bends, mut joined) = (BTreeMap::new(), Vec::new());
        for (from, to) in forward {
            let mut at = *from;
            let mut of_step = Vec::new();
            for column in columns.iter_mut().take(layers[*to]).skip(layers[*from] + 1) {
                column.push(items);
                of_step.push(items);
                joined.push((at, items));
                at = items;
                items += 1;
            }
            joined.push((at, *to));
            bends.insert((*from, *to), of_step);
        }
        let (mut before, mut behind) = (vec![Vec::new(); items], vec![Vec::new(); items]);
        for (from, to) in joined {
            behind[from].push(to);
            before[to].push(from);
        }
        Self { nodes: layers.len(), columns, bends, before, behind }
    }

    /// Orders the items of each column by the positions of their neighbours, alternately from the
    /// first column on and from the last one back.
    fn sort(&mut self) {
        let mut height = vec![0.0; self.before.len()];
        let level = |column: &[usize], height: &mut [f64]| {
            for (place, item) in column.iter().enumerate() {
                height[*item] = (place as f64 + 0.5) / column.len() as f64;
            }
        };
        self.columns.iter().for_each(|column| level(column, &mut height));
        for sweep in 0..SWEEPS {
            let (joined, order): (_, Vec<usize>) = match sweep % 2 {
                0 => (&self.before, (0..self.columns.len()).collect()),
                _ => (&self.behind, (0..self.columns.len()).rev().collect()),
            };
            for column in order {
                let column = &mut self.columns[column];
                let middle = |item: &usize| match joined[*item].as_slice() {
                    [] => height[*item],
                    some => {
                        some.iter().map(|other| height[*other]).sum::<f64>() / some.len() as f64
                    }
                };
                let mut keyed: Vec<(f64, usize)> =
                    column.iter().map(|item| (middle(item), *item)).collect();
                keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
                *column = keyed.into_iter().map(|(_, item)| item).collect();
                level(column, &mut height);
            }
        }
    }

    /// Computes the positions of all items. `wanted` is the preferred width of a box.
    fn place(&self, top: f64, wanted: f64, edge: f64) -> Drawn {
        let [least, most] = COLUMNS;
        let room = edge - 24.0;
        let fit = ((room / (wanted + BESIDE)) as usize).clamp(least, most);
        let across = self.columns.len().clamp(1, fit);
        let column_width = room / across as f64;
        let box_width = (column_width - BESIDE).min(WIDEST);
        let mut places = vec![LayoutPoint::default(); self.before.len()];
        let height = |item: &usize| if *item < self.nodes { ROW } else { BEND };
        let mut y = top;
        for (row, columns) in self.columns.chunks(across).enumerate() {
            let direction = if row % 2 == 0 { 1.0 } else { -1.0 };
            let heights = columns.iter().map(|column| column.iter().map(height).sum::<f64>());
            let tallest = heights.fold(ROW, f64::max);
            for (number, column) in columns.iter().enumerate() {
                let number = if row % 2 == 0 { number } else { across - 1 - number };
                let x = 12.0 + (number as f64 + 0.5) * column_width;
                // The remaining height is distributed between the items.
                let own: f64 = column.iter().map(height).sum();
                let between = (tallest - own) / column.len() as f64;
                let mut from = y;
                for item in column {
                    let middle = from + (height(item) + between) / 2.0;
                    places[*item] = LayoutPoint { x, y: middle, direction, row };
                    from += height(item) + between;
                }
            }
            y += tallest + BETWEEN;
        }
        Drawn { places, box_width, bottom: y - BETWEEN + 10.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_stands_in_a_later_column() {
        let steps = [(0, 1), (1, 2), (0, 2), (2, 0)];
        assert_eq!(backward(3, &steps), [(2, 0)]);
        let forward = &steps[..3];
        assert_eq!(layers(3, forward), [0, 1, 2]);
        let columns = Columns::of(&layers(3, forward), forward);
        // The step from the first to the last node passes the second column.
        assert_eq!(columns.bends[&(0, 2)].len(), 1);
        assert_eq!(columns.columns.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2, 1]);
    }

    #[test]
    fn no_two_boxes_overlap() {
        let steps: Vec<Step> =
            (0..40).flat_map(|n| [(n, (n + 7) % 40), (n, (n * 3 + 1) % 40)]).collect();
        let backward = backward(40, &steps);
        let forward: Vec<Step> =
            steps.into_iter().filter(|step| !backward.contains(step)).collect();
        let mut columns = Columns::of(&layers(40, &forward), &forward);
        columns.sort();
        let drawn = columns.place(0.0, 80.0, 640.0);
        for (number, a) in drawn.places.iter().take(40).enumerate() {
            for b in &drawn.places[..number] {
                let apart = (a.x - b.x).abs() >= drawn.box_width || (a.y - b.y).abs() >= HEIGHT;
                assert!(apart, "{a:?} {b:?}");
            }
        }
    }
}
