//! Where nodes go: a layered drawing after Sugiyama, Tagawa and Toda (1981).
//!
//! Edges that would go round in a circle are turned; every node goes one layer below the lowest
//! of its predecessors; edges over several layers get an invisible node in each; the order within
//! a layer follows the middle of the neighbours, down and up a few times; then nodes are moved
//! towards their neighbours as far as the others let them.

use super::graph::Graph;

/// Room between nodes of a layer, in pixels.
const GAP: f64 = 24.0;
/// Room between layers.
const LAYER_GAP: f64 = 48.0;
/// How often the order is swept down and up.
const SWEEPS: usize = 6;

/// A drawing without its looks. Places are in pixels from the left upper corner.
pub(super) struct Drawing {
    pub(super) width: f64,
    pub(super) height: f64,
    /// Middle of each node of the graph.
    pub(super) nodes: Vec<(f64, f64)>,
    /// For each edge of the graph, the places that it runs through, from its start to its end.
    pub(super) edges: Vec<Vec<(f64, f64)>>,
}

/// Places nodes of the given sizes (width and height).
pub(super) fn place(graph: &Graph, sizes: &[(f64, f64)]) -> Drawing {
    let turned = turned_edges(graph);
    let layers = layers(graph, &turned);
    let mut net = Net::new(graph, sizes, &turned, &layers);
    net.order();
    net.spread();
    net.drawing(graph, &turned)
}

/// Which edges must be turned so that no way leads back.
fn turned_edges(graph: &Graph) -> Vec<bool> {
    let mut outgoing = vec![Vec::new(); graph.nodes.len()];
    for (position, edge) in graph.edges.iter().enumerate() {
        if let Some(edges) = outgoing.get_mut(edge.from.0) {
            edges.push(position);
        }
    }
    let mut turned = vec![false; graph.edges.len()];
    // 0: not seen, 1: on the way here, 2: done.
    let mut seen = vec![0_u8; graph.nodes.len()];
    for root in 0..graph.nodes.len() {
        if seen[root] != 0 {
            continue;
        }
        seen[root] = 1;
        let mut way = vec![(root, 0)];
        while let Some((node, next)) = way.last_mut() {
            let Some(edge) = outgoing[*node].get(*next) else {
                seen[*node] = 2;
                way.pop();
                continue;
            };
            *next += 1;
            let to = graph.edges[*edge].to.0;
            match seen[to] {
                0 => {
                    seen[to] = 1;
                    way.push((to, 0));
                }
                1 => turned[*edge] = true,
                _ => {}
            }
        }
    }
    turned
}

/// The layer of each node: the length of the longest way to it.
fn layers(graph: &Graph, turned: &[bool]) -> Vec<usize> {
    let mut layers = vec![0; graph.nodes.len()];
    // As many rounds as the longest way has edges.
    for _ in 0..graph.nodes.len() {
        let mut changed = false;
        for (edge, turned) in graph.edges.iter().zip(turned) {
            if edge.from == edge.to {
                continue;
            }
            let (from, to) =
                if *turned { (edge.to.0, edge.from.0) } else { (edge.from.0, edge.to.0) };
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

/// Nodes and the invisible ones of long edges.
struct Net {
    /// Width and height.
    sizes: Vec<(f64, f64)>,
    /// Middle of each, from the left.
    x: Vec<f64>,
    /// Nodes of each layer from left to right.
    layers: Vec<Vec<usize>>,
    above: Vec<Vec<usize>>,
    below: Vec<Vec<usize>>,
    /// The nodes that each edge of the graph runs through, from the upper end to the lower.
    ways: Vec<Vec<usize>>,
}

impl Net {
    fn new(graph: &Graph, sizes: &[(f64, f64)], turned: &[bool], of: &[usize]) -> Self {
        let count = of.iter().max().map_or(0, |last| last + 1);
        let mut net = Self {
            sizes: sizes.to_vec(),
            x: vec![0.0; sizes.len()],
            layers: vec![Vec::new(); count],
            above: vec![Vec::new(); sizes.len()],
            below: vec![Vec::new(); sizes.len()],
            ways: Vec::new(),
        };
        for (node, layer) in of.iter().enumerate() {
            net.layers[*layer].push(node);
        }
        for (edge, turned) in graph.edges.iter().zip(turned) {
            let (from, to) =
                if *turned { (edge.to.0, edge.from.0) } else { (edge.from.0, edge.to.0) };
            let mut way = vec![from];
            for layer in of[from] + 1..of[to] {
                let invisible = net.sizes.len();
                net.sizes.push((8.0, 0.0));
                net.x.push(0.0);
                net.above.push(Vec::new());
                net.below.push(Vec::new());
                net.layers[layer].push(invisible);
                way.push(invisible);
            }
            way.push(to);
            if from != to {
                for pair in way.windows(2) {
                    net.below[pair[0]].push(pair[1]);
                    net.above[pair[1]].push(pair[0]);
                }
            }
            net.ways.push(way);
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

    /// Moves the nodes of a layer towards the middle of their neighbours, left to right and right
    /// to left, and takes the mean of the two.
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

    fn drawing(&self, graph: &Graph, turned: &[bool]) -> Drawing {
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
            .ways
            .iter()
            .zip(turned)
            .zip(&graph.edges)
            .map(|((way, turned), edge)| {
                if edge.from == edge.to {
                    return self.round(edge.from.0, y[edge.from.0]);
                }
                let last = way.len() - 1;
                let mut places: Vec<(f64, f64)> = way
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
                if *turned {
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

    /// From a node to itself.
    fn round(&self, node: usize, y: f64) -> Vec<(f64, f64)> {
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
