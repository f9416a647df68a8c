//! Drawings of a graph: boxes that are joined by paths, such as the servers and flows of a network.
//! A box with a larger value has a darker fill.
//!
//! If there are few paths, each is drawn in a colour of its own, so that the eye can follow it.
//! Otherwise each pair of consecutive boxes is joined by one line, which is labelled with the
//! number of paths that contain the pair.

mod layout;

use super::frame::LETTER;
use super::heat::{DEEPEST, Square, square};
use super::{Unit, Width};
use crate::format::figure;
use crate::page::escape;
use crate::put::put;
use layout::{HEIGHT, Layout, LayoutPoint};

/// The largest number of paths that are drawn in different colours.
const COLOURED: usize = super::palette::SERIES;
/// The distance in pixels between the lines of paths that run side by side.
const APART: f64 = 3.4;
/// The length in pixels of the short line that leads into the first box of a path, and of the one
/// that leads out of its last box.
const STUB: f64 = 12.0;

/// A graph of boxes that are joined by paths, such as servers and flows.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Graph {
    /// The title of the graph.
    pub title: String,
    /// A description of the graph in one or two sentences, for screen readers.
    pub description: String,
    /// The noun for a box, such as `server`.
    pub node_title: String,
    /// The noun for a path, such as `flow`.
    pub way_title: String,
    /// The noun for the value of a box, such as `load`.
    pub value_title: String,
    /// The boxes of the graph.
    pub nodes: Vec<GraphNode>,
    /// The paths from box to box.
    pub ways: Vec<GraphWay>,
}

/// A box of a graph, such as a server.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct GraphNode {
    /// The name of the box.
    pub name: String,
    /// The value of the box, such as the load of a server: 1 is full, and more is overload.
    pub value: f64,
    /// The tool tip of the box.
    pub tip: String,
}

/// A path from box to box, such as a flow.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct GraphWay {
    /// The name of the path, such as that of a flow.
    pub name: String,
    /// The indices of the boxes along the path, in order. `None` stands for something on the path
    /// that is not drawn.
    pub nodes: Vec<Option<usize>>,
}

impl GraphWay {
    /// Returns the pairs of consecutive boxes on the path, without those that are not drawn.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (usize, usize)> {
        self.nodes.windows(2).filter_map(|pair| match pair {
            [Some(from), Some(to)] => Some((*from, *to)),
            _ => None,
        })
    }
}

/// A rectangle in the drawing of a graph.
struct Rectangle {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl Graph {
    /// Returns whether the graph has nothing to draw.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the graph as SVG in the given width. `id` must be unique in the page and a valid
    /// identifier.
    pub(crate) fn svg_at(&self, id: &str, width: Width) -> String {
        let edge = width.pixels();
        let mut legend = String::new();
        let top = self.legend(&mut legend, edge);
        let layout = Layout::of(self, top, edge);
        let mut svg = String::with_capacity(8192);
        put!(
            svg,
            "<svg class=\"plot\" data-axes=\"0\" viewBox=\"0 0 {edge} {:.0}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\" \
             xmlns=\"http://www.w3.org/2000/svg\"><title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>{legend}",
            layout.height,
            escape(&self.title),
            escape(&self.description),
        );
        match self.is_coloured() {
            true => self.coloured_ways(&mut svg, &layout),
            false => self.counted_ways(&mut svg, &layout),
        }
        for (node, place) in self.nodes.iter().zip(&layout.places) {
            draw_box(&mut svg, node, place, layout.box_width);
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn is_coloured(&self) -> bool {
        self.ways.len() <= COLOURED
    }

    /// Draws each path in its own colour, with a dot at its start and an arrow at its end.
    fn coloured_ways(&self, svg: &mut String, layout: &Layout) {
        for (number, way) in self.ways.iter().enumerate() {
            let aside = (number as f64 - (self.ways.len() as f64 - 1.0) / 2.0) * APART;
            put!(svg, "<g class=\"s{number}\"><title>{}</title>", escape(&way.name));
            let ends = (way.nodes.first().copied().flatten(), way.nodes.last().copied().flatten());
            if let Some(place) = ends.0.and_then(|node| layout.places.get(node)) {
                let (x, y) = (place.entry(layout.box_width), place.y + aside);
                let begin = x - place.direction * STUB;
                put!(svg, "<path class=\"line\" d=\"M{begin:.1} {y:.1}H{x:.1}\"/>");
                put!(svg, "<path class=\"dot\" d=\"M{begin:.1} {y:.1}h0\"/>");
            }
            for step in way.steps() {
                layout.line(svg, step, aside);
            }
            if let Some(place) = ends.1.and_then(|node| layout.places.get(node)) {
                let (x, y) = (place.exit(layout.box_width), place.y + aside);
                let end = x + place.direction * STUB;
                put!(svg, "<path class=\"line\" d=\"M{x:.1} {y:.1}H{end:.1}\"/>");
                arrow(svg, end, y, place.direction);
            }
            svg.push_str("</g>");
        }
    }

    /// Draws one line for each pair of consecutive boxes on a path, labelled with the number of
    /// paths that contain the pair.
    fn counted_ways(&self, svg: &mut String, layout: &Layout) {
        for (step, count) in layout::steps(self) {
            let name = |node: usize| self.nodes.get(node).map_or("", |node| node.name.as_str());
            put!(
                svg,
                "<g class=\"muted\"><title>{} to {}: {count}</title>",
                escape(name(step.0)),
                escape(name(step.1))
            );
            let middle = layout.line(svg, step, 0.0);
            if count > 1 {
                put!(
                    svg,
                    "<g class=\"tick\"><text class=\"note\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{count}</text></g>",
                    middle.0,
                    middle.1 + 4.0
                );
            }
            svg.push_str("</g>");
        }
    }

    /// Draws the legend, which explains the fill of boxes and the colours or labels of paths.
    /// Returns the y coordinate below the legend, at which the graph begins.
    fn legend(&self, svg: &mut String, edge: f64) -> f64 {
        svg.push_str("<g class=\"legend\">");
        let (mut x, mut y) = (8.0, 4.0);
        let mut room = |text: &str| {
            let width = 22.0 + text.chars().count() as f64 * LETTER + 16.0;
            if x + width > edge && x > 8.0 {
                (x, y) = (8.0, y + 20.0);
            }
            let at = (x, y);
            x += width;
            at
        };
        let share = |value: f64| figure(value, Unit::Fraction);
        let mut values = vec![
            (0.0, format!("{}: {}", self.value_title, share(0.0))),
            (0.5, share(0.5)),
            (1.0, share(1.0)),
        ];
        if self.nodes.iter().any(|node| node.value > 1.0) {
            values.push((2.0, "more".to_owned()));
        }
        for (value, text) in values {
            let (x, y) = room(&text);
            let place = Rectangle { left: x, top: y, width: 16.0, height: 14.0 };
            filled(svg, &place, value);
            put!(svg, "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>", x + 22.0, y + 12.0, escape(&text));
        }
        if self.is_coloured() {
            for (number, way) in self.ways.iter().enumerate() {
                let text = cut(&way.name, 40);
                let (x, y) = room(&text);
                put!(
                    svg,
                    "<g class=\"s{number}\"><path class=\"line\" d=\"M{x:.1} {:.1}h16\"/></g><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                    y + 7.0,
                    x + 22.0,
                    y + 12.0,
                    escape(&text)
                );
            }
        } else {
            let text = format!("{}s on the way, by number", self.way_title);
            let (x, y) = room(&text);
            put!(
                svg,
                "<g class=\"muted\"><path class=\"line\" d=\"M{x:.1} {:.1}h16\"/></g><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                y + 7.0,
                x + 22.0,
                y + 12.0,
                escape(&text)
            );
        }
        svg.push_str("</g>");
        y + 30.0
    }
}

/// Draws a box with its name and value.
fn draw_box(svg: &mut String, node: &GraphNode, place: &LayoutPoint, width: f64) {
    let (left, top) = (place.x - width / 2.0, place.y - HEIGHT / 2.0);
    put!(svg, "<g><title>{}</title>", escape(&node.tip));
    // An opaque background hides the paths that pass beneath.
    put!(
        svg,
        "<g class=\"hollow\"><path class=\"marker\" d=\"M{left:.1} {top:.1}h{width:.1}v{HEIGHT:.1}h-{width:.1}z\"/></g>"
    );
    filled(svg, &Rectangle { left, top, width, height: HEIGHT }, node.value);
    let name = cut(&node.name, ((width - 6.0) / LETTER) as usize);
    let value = match node.value.is_finite() {
        true => figure(node.value, Unit::Fraction),
        false => "∞".to_owned(),
    };
    for (text, down) in [(name, -3.0), (value, 12.0)] {
        put!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            place.x,
            place.y + down,
            escape(&text)
        );
    }
    svg.push_str("</g>");
}

/// Draws a rectangle that is filled by the value of a box: darker from 0 to 1, and in another
/// colour above 1.
fn filled(svg: &mut String, place: &Rectangle, value: f64) {
    if value <= 1.0 {
        let Rectangle { left: x, top: y, width, height } = *place;
        square(svg, Square { x, y, width, height }, DEEPEST * value.max(0.0));
        return;
    }
    let Rectangle { left: x, top: y, width, height } = place;
    put!(
        svg,
        "<g class=\"s1\"><rect class=\"cell\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
         fill-opacity=\"{DEEPEST:.2}\"/></g>\
         <path class=\"grid\" d=\"M{x:.1} {y:.1}h{width:.1}v{height:.1}h-{width:.1}z\"/>"
    );
}

/// Draws an arrowhead with its tip at (`x`, `y`). It points to the right if `across` is 1, and to
/// the left if it is -1.
fn arrow(svg: &mut String, x: f64, y: f64, across: f64) {
    let back = x - 6.0 * across;
    put!(
        svg,
        "<path class=\"marker\" d=\"M{x:.1} {y:.1}L{back:.1} {:.1}L{back:.1} {:.1}z\"/>",
        y + 3.0,
        y - 3.0
    );
}

/// Shortens a name to at most `letters` characters, by replacing its middle with an ellipsis. The
/// end often has the number that distinguishes the name from others.
fn cut(name: &str, letters: usize) -> String {
    let count = name.chars().count();
    if count <= letters {
        return name.to_owned();
    }
    let kept = letters.saturating_sub(1);
    let end = kept / 2;
    name.chars().take(kept - end).chain(['…']).chain(name.chars().skip(count - end)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Drawing;

    fn graph(nodes: usize, ways: &[&[usize]]) -> Graph {
        let node = |place: usize| GraphNode {
            name: format!("s{place}"),
            value: if place == 1 { 1.25 } else { 0.5 },
            tip: format!("tip of s{place}"),
        };
        let way = |(number, nodes): (usize, &&[usize])| GraphWay {
            name: format!("f{number} <x>"),
            nodes: nodes.iter().map(|node| Some(*node)).collect(),
        };
        Graph {
            title: "Network".to_owned(),
            description: String::new(),
            node_title: "server".to_owned(),
            way_title: "flow".to_owned(),
            value_title: "load".to_owned(),
            nodes: (0..nodes).map(node).collect(),
            ways: ways.iter().enumerate().map(way).collect(),
        }
    }

    #[test]
    fn few_ways_have_colours_and_many_have_numbers() {
        let few = graph(3, &[&[0, 1, 2], &[2, 0]]).svg_at("g", Width::PAGE);
        assert!(few.contains("f1 &lt;x&gt;") && few.contains("class=\"s1\""), "{few}");
        assert!(few.contains("more") && few.contains("125 %"), "{few}");
        let ways = [&[0_usize, 1][..]; 12];
        let many = graph(2, &ways).svg_at("g", Width::PAGE);
        assert!(many.contains(">12</text>") && !many.contains("f1 &lt;x&gt;"), "{many}");
        for svg in [few, many] {
            let file = Drawing::read(&svg).expect("understood").svg();
            assert!(!file.contains("class="), "{file}");
        }
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(cut("switch", 6), "switch");
        assert_eq!(cut("switch-12", 6), "swi…12");
        assert_eq!(cut("switch-12", 1), "…");
    }
}
