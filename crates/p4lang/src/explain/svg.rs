//! Output of graphs as SVG. The width of a text is estimated from its number of characters in a
//! fixed-width font, so the layout needs no font.

use std::fmt::Write;

use super::graph::{Graph, Node, Shape};
use super::layout::{Drawing, place};

/// The width of a character in pixels, at font size 12.
const CHARACTER: f64 = 7.3;
const LINE: f64 = 16.0;
const TITLE: f64 = 28.0;
/// The width in pixels of each pointed end of a decision, which is drawn as a hexagon.
const SLANT: f64 = 12.0;

pub(super) fn svg(graphs: &[Graph]) -> String {
    let drawings: Vec<Drawing> = graphs
        .iter()
        .map(|graph| place(graph, &graph.nodes.iter().map(size).collect::<Vec<_>>()))
        .collect();
    let title = |graph: &Graph| graph.name.chars().count() as f64 * CHARACTER + 24.0;
    let width = drawings
        .iter()
        .zip(graphs)
        .map(|(drawing, graph)| drawing.width.max(title(graph)))
        .fold(100.0, f64::max);
    let height: f64 = drawings.iter().map(|drawing| drawing.height + TITLE).sum();
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"monospace\" font-size=\"12\">\n\
         <defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" \
         markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let mut top = 0.0;
    for (graph, drawing) in graphs.iter().zip(&drawings) {
        let _ = writeln!(
            text,
            "<rect x=\"3\" y=\"{:.0}\" width=\"{:.0}\" height=\"{:.0}\" rx=\"6\" fill=\"none\" stroke=\"#bbb\"/>",
            top + 3.0,
            width - 6.0,
            drawing.height + TITLE - 6.0
        );
        let _ = writeln!(
            text,
            "<text x=\"12\" y=\"{:.0}\" font-weight=\"bold\">{}</text>",
            top + 20.0,
            escaped(&graph.name)
        );
        let _ = writeln!(text, "<g transform=\"translate(0 {:.0})\">", top + TITLE);
        for places in &drawing.edges {
            draw_edge(&mut text, places);
        }
        for (node, middle) in graph.nodes.iter().zip(&drawing.nodes) {
            draw_node(&mut text, node, middle.0, middle.1);
        }
        // Labels are drawn last, since edges may pass beneath nodes.
        for (edge, places) in graph.edges.iter().zip(&drawing.edges) {
            draw_label(&mut text, places, &edge.label);
        }
        text.push_str("</g>\n");
        top += drawing.height + TITLE;
    }
    text.push_str("</svg>\n");
    text
}

fn size(node: &Node) -> (f64, f64) {
    let longest = node.label.lines().map(|line| line.chars().count()).max().unwrap_or(0) as f64;
    let lines = node.label.lines().count().max(1) as f64;
    let (width, height) = (longest * CHARACTER + 20.0, lines * LINE + 14.0);
    match node.shape {
        Shape::Decision => (width + 2.0 * SLANT, height),
        _ => (width.max(40.0), height),
    }
}

fn draw_node(text: &mut String, node: &Node, x: f64, y: f64) {
    let (width, height) = size(node);
    let (left, top) = (x - width / 2.0, y - height / 2.0);
    let fill = match node.shape {
        Shape::Terminal => "#e8e8e8",
        Shape::State => "#e3f0fb",
        Shape::Statements => "#ffffff",
        Shape::Decision => "#fff4d6",
        Shape::Table => "#dff3df",
        Shape::Call => "#f1e5f7",
    };
    let _ = match node.shape {
        Shape::Decision => writeln!(
            text,
            "<polygon points=\"{left:.1},{y:.1} {0:.1},{top:.1} {1:.1},{top:.1} {2:.1},{y:.1} {1:.1},{3:.1} {0:.1},{3:.1}\" \
             fill=\"{fill}\" stroke=\"black\"/>",
            left + SLANT,
            left + width - SLANT,
            left + width,
            top + height
        ),
        _ => {
            let radius = match node.shape {
                Shape::Terminal => height / 2.0,
                Shape::State => 8.0,
                _ => 0.0,
            };
            writeln!(
                text,
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
                 rx=\"{radius:.1}\" fill=\"{fill}\" stroke=\"black\"/>"
            )
        }
    };
    let lines = node.label.lines().count().max(1) as f64;
    let mut line_y = y - (lines - 1.0) * LINE / 2.0 + 4.0;
    for (position, line) in node.label.lines().enumerate() {
        let weight = if position == 0 && matches!(node.shape, Shape::State | Shape::Table) {
            " font-weight=\"bold\""
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "<text x=\"{x:.1}\" y=\"{line_y:.1}\" text-anchor=\"middle\"{weight}>{}</text>",
            escaped(line)
        );
        line_y += LINE;
    }
}

fn draw_edge(text: &mut String, places: &[(f64, f64)]) {
    let Some(((x, y), rest)) = places.split_first() else { return };
    let mut path = format!("M{x:.1} {y:.1}");
    let mut before = (*x, *y);
    for (x, y) in rest {
        let bend = (before.1 + y) / 2.0;
        let _ = write!(path, "C{:.1} {bend:.1} {x:.1} {bend:.1} {x:.1} {y:.1}", before.0);
        before = (*x, *y);
    }
    let _ = writeln!(
        text,
        "<path d=\"{path}\" fill=\"none\" stroke=\"black\" marker-end=\"url(#arrow)\"/>"
    );
}

/// Draws the label of an edge halfway between its start and its first bend.
fn draw_label(text: &mut String, places: &[(f64, f64)], label: &str) {
    let [(x, y), rest @ ..] = places else { return };
    if let (false, Some((next_x, next_y))) = (label.is_empty(), rest.first()) {
        let (x, y) = (x + (next_x - x) * 0.5, y + (next_y - y) * 0.5);
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{y:.1}\" font-size=\"11\" fill=\"#333\" stroke=\"white\" \
             stroke-width=\"3\" paint-order=\"stroke\">{}</text>",
            x + 4.0,
            escaped(label)
        );
    }
}

fn escaped(label: &str) -> String {
    let mut text = String::with_capacity(label.len());
    for character in label.chars() {
        match character {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            // XML does not allow control characters, even escaped.
            control if control.is_control() => text.push('\u{fffd}'),
            other => text.push(other),
        }
    }
    text
}
