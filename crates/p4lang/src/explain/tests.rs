//! Tests of the layout and the output of graphs.

use super::*;

fn diamond() -> Graph {
    let mut graph = Graph { name: "control <c>".to_owned(), ..Graph::default() };
    let start = graph.node(Shape::Terminal, "start");
    let decision = graph.node(Shape::Decision, "a < b && \"x\"");
    let left = graph.node(Shape::Table, "t");
    let right = graph.node(Shape::Statements, "x = 1\ny = 2");
    let end = graph.node(Shape::Terminal, "end");
    graph.edge(start, decision, "");
    graph.edge(decision, left, "true");
    graph.edge(decision, right, "false");
    graph.edge(left, end, "");
    graph.edge(right, end, "");
    graph.edge(right, decision, "again");
    graph.edge(start, end, "never");
    graph.edge(left, left, "self");
    graph
}

#[test]
fn no_two_nodes_overlap_and_edges_end_at_their_nodes() {
    let graph = diamond();
    let sizes: Vec<(f64, f64)> = graph.nodes.iter().map(|_| (80.0, 30.0)).collect();
    let drawing = layout::place(&graph, &sizes);
    for (position, (x, y)) in drawing.nodes.iter().enumerate() {
        assert!(*x >= 40.0 && x + 40.0 <= drawing.width, "{x} of {}", drawing.width);
        assert!(*y >= 15.0 && y + 15.0 <= drawing.height, "{y} of {}", drawing.height);
        for (other_x, other_y) in &drawing.nodes[..position] {
            assert!((x - other_x).abs() >= 80.0 || (y - other_y).abs() >= 30.0);
        }
    }
    for (edge, places) in graph.edges.iter().zip(&drawing.edges) {
        let near = |(x, y): (f64, f64), node: NodeId| {
            let (middle_x, middle_y) = drawing.nodes[node.0];
            (x - middle_x).abs() <= 40.0 && (y - middle_y).abs() <= 15.0
        };
        assert!(near(places[0], edge.from), "{edge:?}");
        assert!(near(places[places.len() - 1], edge.to), "{edge:?}");
    }
    // The start is above all other nodes and the end is below them.
    assert!(drawing.nodes[0].1 < drawing.nodes[1].1);
    assert!(drawing.nodes[4].1 > drawing.nodes[2].1);
}

#[test]
fn svg_is_well_formed() {
    let text = svg(&[diamond(), Graph { name: "empty".to_owned(), ..Graph::default() }]);
    assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"));
    assert_eq!(text.matches("<text").count(), text.matches("</text>").count());
    assert_eq!(text.matches("<g ").count(), text.matches("</g>").count());
    assert!(text.contains("a &lt; b &amp;&amp; &quot;x&quot;"));
    assert!(!text.contains("NaN") && !text.contains("inf"));
}

#[test]
fn dot_quotes_what_it_must() {
    insta::assert_snapshot!(dot(&[diamond()]), @r##"
    digraph program {
      graph [fontname="Helvetica", style=rounded, color=gray];
      node [fontname="Helvetica", fontsize=11, style=filled, fillcolor=white];
      edge [fontname="Helvetica", fontsize=10];
      subgraph cluster_0 {
        label="control <c>";
        n0_0 [label="start", shape=oval, fillcolor="#e8e8e8"];
        n0_1 [label="a < b && \"x\"", shape=hexagon, fillcolor="#fff4d6"];
        n0_2 [label="t", shape=box3d, fillcolor="#dff3df"];
        n0_3 [label="x = 1\ny = 2", shape=box];
        n0_4 [label="end", shape=oval, fillcolor="#e8e8e8"];
        n0_0 -> n0_1;
        n0_1 -> n0_2 [label="true"];
        n0_1 -> n0_3 [label="false"];
        n0_2 -> n0_4;
        n0_3 -> n0_4;
        n0_3 -> n0_1 [label="again"];
        n0_0 -> n0_4 [label="never"];
        n0_2 -> n0_2 [label="self"];
      }
    }
    "##);
}
