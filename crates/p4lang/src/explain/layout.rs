//! Layout of graphs: a layered drawing after Sugiyama, Tagawa and Toda (1981).
//!
//! Edges that close a cycle are reversed. Every node is placed one layer below the lowest of its
//! predecessors. An edge that spans several layers has a dummy node in each layer between. Within a
//! layer, nodes are ordered by the mean position of their neighbours, in several sweeps down and
//! up. Finally, nodes are moved towards their neighbours as far as the other nodes of the layer
//! permit.

use super::graph::Graph;

/// The space between nodes of a layer, in pixels.
const GAP: f64 = 24.0;
/// The space between layers, in pixels.
const LAYER_GAP: f64 = 48.0;
/// The number of sweeps over the layers that order the nodes, alternately down and up.
const SWEEPS: usize = 6;

/// The positions of nodes and edges, in pixels from the upper left corner.
pub(super) struct Drawing {
    pub(super) width: f64,
    pub(super) height: f64,
    /// The centre of each node of the graph.
    pub(super) nodes: Vec<(f64, f64)>,
    /// The points along each edge of the graph, from its source to its target.
    pub(super) edges: Vec<Vec<(f64, f64)>>,
}

/// Computes the positions of the nodes and edges of a graph. `sizes` are the width and height of
/// each node in pixels.
pub(super) fn place(graph: &Graph, sizes: &[(f64, f64)]) -> Drawing {
    let reversed = reversed_edges(graph);
    let layers = layers(graph, &reversed);
    let mut net = Net::new(graph, sizes, &reversed, &layers);
    net.order();
    net.spread();
    net.drawing(graph, &reversed)
}

/// Returns, for each edge, whether it must be reversed so that the graph has no cycles.
fn reversed_edges(graph: &Graph) -> Vec<bool> {
    let mut outgoing = vec![Vec::new(); graph.nodes.len()];
    for (position, edge) in graph.edges.iter().enumerate() {
        if let Some(edges) = outgoing.get_mut(edge.from.0) {
            edges.push(position);
        }
    }
    let mut reversed = vec![false; graph.edges.len()];
    // 0: not visited, 1: on the current path, 2: finished.
    let mut seen = vec![0_u8; graph.nodes.len()];
    for root in 0..graph.nodes.len() {
        if seen[root] != 0 {
            continue;
        }
        seen[root] = 1;
        let mut path = vec![(root, 0)];
        while let Some((node, next)) = path.last_mut() {
            let Some(edge) = outgoing[*node].get(*next) else {
                seen[*node] = 2;
                path.pop();
                continue;
            };
            *next += 1;
            let to = graph.edges[*edge].to.0;
            match seen[to] {
                0 => {
                    seen[to] = 1;
                    path.push((to, 0));
                }
                1 => reversed[*edge] = true,
                _ => {}
            }
        }
    }
    reversed
}

/// Returns the layer of each node: the number of edges on the longest path to it. Edges for which
/// `reversed` is true are followed backwards.
fn layers(graph: &Graph, reversed: &[bool]) -> Vec<usize> {
    let mut layers = vec![0; graph.nodes.len()];
    // One iteration per node suffices, since the longest path has fewer edges than there are nodes.
    for _ in 0..graph.nodes.len() {
        let mut changed = false;
        for (edge, reversed) in graph.edges.iter().zip(reversed) {
            if edge.from == edge.to {
                continue;
            }
            let (from, to) =
                if *reversed { (edge.to.0, edge.from.0) } else { (edge.from.0, edge.to.0) };
            if layers[to] < layers[from] + 1 {
                layers[to] = layers[from] + 1;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    layers
}

/// The nodes of a graph in layers. Where a long edge passes a layer, the layer contains a dummy
/// node.
struct Net {
    /// The width and height of each node.
    sizes: Vec<(f64, f64)>,
    /// The horizontal centre of each node.
    x: Vec<f64>,
    /// The nodes of each layer, from left to right.
    layers: Vec<Vec<usize>>,
    above: Vec<Vec<usize>>,
    below: Vec<Vec<usize>>,
    /// For each edge of the graph, the nodes through which it passes, including dummy nodes, from
    /// its upper to its lower end.
    paths: Vec<Vec<usize>>,
}

impl Net {
    fn new(graph: &Graph, sizes: &[(f64, f64)], reversed: &[bool], of: &[usize]) -> Self {
        let count = of.iter().max().map_or(0, |last| last + 1);
        let mut net = Self {
            sizes: sizes.to_vec(),
            x: vec![0.0; sizes.len()],
            layers: vec![Vec::new(); count],
            above: vec![Vec::new(); sizes.len()],
            below: vec![Vec::new(); sizes.len()],
            paths: Vec::new(),
        };
        for (node, layer) in of.iter().enumerate() {
            net.layers[*layer].push(node);
        }
        for (edge, reversed) in graph.edges.iter().zip(reversed) {
            let (from, to) =
                if *reversed { (edge.to.0, edge.from.0) } else { (edge.from.0, edge.to.0) };
            let mut path = vec![from];
            for layer in of[from] + 1..of[to] {
                let invisible = net.sizes.len();
                net.sizes.push((8.0, 0.0));
                net.x.push(0.0);
                net.above.push(Vec::new());
                net.below.push(Vec::new());
                net.layers[layer].push(invisible);
                path.push(invisible);
            }
            path.push(to);
            if from != to {
                for pair in path.windows(2) {
                    net.below[pair[0]].push(pair[1]);
                    net.above[pair[1]].push(pair[0]);
                }
            }
            net.paths.push(path);
        }
        net
    }

    fn order(&mut self) {
        let mut places = vec![0.0; self.sizes.len()];
        for sweep in 0..SWEEPS {
            let down = sweep % 2 == 0;
            for step in 0..self.layers.len() {
                let layer = if down { step } else { self.layers.len() - 1 - step };
                let neighbours = if down { &self.above } else { &self.below };
                let mut weighted: Vec<(f64, usize)> = self.layers[layer]
                    .iter()
                    .enumerate()
                    .map(|(place, node)| {
                        let middle = mean(neighbours[*node].iter().map(|other| places[*other]));
                        (middle.unwrap_or(place as f64), *node)
                    })
                    .collect();
                weighted.sort_by(|left, right| left.0.total_cmp(&right.0));
                for (place, (_, node)) in weighted.iter().enumerate() {
                    places[*node] = place as f64;
                    self.layers[layer][place] = *node;
                }
            }
        }
    }

    fn spread(&mut self) {
        for layer in &self.layers {
            let mut left = 0.0;
            for node in layer {
                self.x[*node] = left + self.sizes[*node].0 / 2.0;
                left += self.sizes[*node].0 + GAP;
            }
        }
        for sweep in 0..2 * SWEEPS {
            let down = sweep % 2 == 0;
            for step in 0..self.layers.len() {
                let layer = if down { step } else { self.layers.len() - 1 - step };
                self.pull(layer, down);
            }
        }
        let leftmost = (0..self.sizes.len())
            .map(|node| self.x[node] - self.sizes[node].0 / 2.0)
            .fold(f64::INFINITY, f64::min);
        for x in &mut self.x {
            *x -= leftmost - GAP;
        }
    }

    /// Moves the nodes of a layer towards the mean position of their neighbours, which are those in
    /// the layer above if `down` is true, and those in the layer below otherwise. The new positions
    /// are the means of the positions that a pass from left to right and a pass from right to left
    /// compute.
    fn pull(&mut self, layer: usize, down: bool) {
        let nodes = &self.layers[layer];
        let neighbours = if down { &self.above } else { &self.below };
        let wanted: Vec<f64> = nodes
            .iter()
            .map(|node| {
                mean(neighbours[*node].iter().map(|other| self.x[*other])).unwrap_or(self.x[*node])
            })
            .collect();
        let apart = |left: usize, right: usize| {
            (self.sizes[nodes[left]].0 + self.sizes[nodes[right]].0) / 2.0 + GAP
        };
        let mut rightward = wanted.clone();
        for place in 1..nodes.len() {
            let least = rightward[place - 1] + apart(place - 1, place);
            rightward[place] = rightward[place].max(least);
        }
        let mut leftward = wanted;
        for place in (1..nodes.len()).rev() {
            let most = leftward[place] - apart(place - 1, place);
            leftward[place - 1] = leftward[place - 1].min(most);
        }
        for (place, node) in nodes.iter().enumerate() {
            self.x[*node] = f64::midpoint(rightward[place], leftward[place]);
        }
    }

    fn drawing(&self, graph: &Graph, reversed: &[bool]) -> Drawing {
        let mut y = vec![0.0; self.sizes.len()];
        let mut top = GAP;
        for layer in &self.layers {
            let height = layer.iter().map(|node| self.sizes[*node].1).fold(0.0, f64::max);
            for node in layer {
                y[*node] = top + height / 2.0;
            }
            top += height + LAYER_GAP;
        }
        let width = (0..self.sizes.len())
            .map(|node| self.x[node] + self.sizes[node].0 / 2.0)
            .fold(0.0, f64::max)
            + GAP;
        let edges = self
            .paths
            .iter()
            .zip(reversed)
            .zip(&graph.edges)
            .map(|((path, reversed), edge)| {
                if edge.from == edge.to {
                    return self.self_loop(edge.from.0, y[edge.from.0]);
                }
                let last = path.len() - 1;
                let mut places: Vec<(f64, f64)> = path
                    .iter()
                    .enumerate()
                    .map(|(place, node)| {
                        let half = self.sizes[*node].1 / 2.0;
                        let y = match place {
                            0 => y[*node] + half,
                            _ if place == last => y[*node] - half,
                            _ => y[*node],
                        };
                        (self.x[*node], y)
                    })
                    .collect();
                if *reversed {
                    places.reverse();
                }
                places
            })
            .collect();
        Drawing {
            width,
            height: (top - LAYER_GAP + GAP).max(2.0 * GAP),
            nodes: (0..graph.nodes.len()).map(|node| (self.x[node], y[node])).collect(),
            edges,
        }
    }

    /// Returns the points of an edge that leads from a node to itself. `y` is the vertical position
    /// of the node.
    fn self_loop(&self, node: usize, y: f64) -> Vec<(f64, f64)> {
        let (width, height) = self.sizes[node];
        let (right, quarter) = (self.x[node] + width / 2.0, height / 4.0);
        vec![
            (right, y - quarter),
            (right + GAP / 2.0, y - quarter),
            (right + GAP / 2.0, y + quarter),
            (right, y + quarter),
        ]
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value;
        count += 1.0;
    }
    (count > 0.0).then(|| sum / count)
}
