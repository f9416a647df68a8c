//! Output of graphs in the DOT language of Graphviz.

use std::fmt::Write;

use super::graph::{Graph, Shape};

pub(super) fn dot(graphs: &[Graph]) -> String {
    let mut text = String::from(
        "digraph program {\n  graph [fontname=\"Helvetica\", style=rounded, color=gray];\n  \
         node [fontname=\"Helvetica\", fontsize=11, style=filled, fillcolor=white];\n  \
         edge [fontname=\"Helvetica\", fontsize=10];\n",
    );
    for (position, graph) in graphs.iter().enumerate() {
        let _ = writeln!(text, "  subgraph cluster_{position} {{");
        let _ = writeln!(text, "    label={};", quoted(&graph.name));
        for (node, of) in graph.nodes.iter().enumerate() {
            let shape = match of.shape {
                Shape::Terminal => "oval, fillcolor=\"#e8e8e8\"",
                Shape::State => "box, style=\"rounded,filled\", fillcolor=\"#e3f0fb\"",
                Shape::Statements => "box",
                Shape::Decision => "hexagon, fillcolor=\"#fff4d6\"",
                Shape::Table => "box3d, fillcolor=\"#dff3df\"",
                Shape::Call => "component, fillcolor=\"#f1e5f7\"",
            };
            let _ = writeln!(
                text,
                "    n{position}_{node} [label={}, shape={shape}];",
                quoted(&of.label)
            );
        }
        for edge in &graph.edges {
            let _ = write!(text, "    n{position}_{} -> n{position}_{}", edge.from.0, edge.to.0);
            if edge.label.is_empty() {
                text.push_str(";\n");
            } else {
                let _ = writeln!(text, " [label={}];", quoted(&edge.label));
            }
        }
        text.push_str("  }\n");
    }
    text.push_str("}\n");
    text
}

fn quoted(label: &str) -> String {
    let mut text = String::from("\"");
    for character in label.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            other => text.push(other),
        }
    }
    text.push('"');
    text
}
