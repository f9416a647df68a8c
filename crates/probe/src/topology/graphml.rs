//! Reads topologies from GraphML files, such as those of the Internet Topology Zoo.
//!
//! The nodes and edges are those of the first `graph` element (GraphML Primer, sections "The Graph"
//! and "Nested Graphs": nodes of nested graphs count as well). Nodes become switches in the order
//! of the file, regardless of their labels and coordinates, and edges become links in the order of
//! the file. An undirected edge is one link. Parallel edges are parallel links. A directed edge and
//! its reverse are the two directions of one link. A directed edge without a reverse is also a
//! link, because emulated links have no direction. An edge from a node to itself is not a link: it
//! is dropped, and a note says so.
//!
//! OFCProbe and P4RCProbe read these files differently: they merge nodes at nearly equal
//! coordinates, skip nodes without coordinates, and keep only a spanning tree of shortest paths.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

use quick_xml::events::attributes::AttrError;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::{Survey, Topology, TopologyError};

/// Reads only the numbers of nodes, links and ports from a GraphML file.
///
/// # Errors
///
/// Returns an error if the file cannot be read or is not GraphML.
pub fn survey(path: &Path) -> Result<Survey, TopologyError> {
    let graph = Graph::read(path)?;
    let links = graph.links();
    let mut degrees = vec![0usize; graph.nodes];
    for end in links.iter().flat_map(|(a, b)| [*a, *b]) {
        if let Some(degree) = degrees.get_mut(end as usize) {
            *degree += 1;
        }
    }
    Ok(Survey {
        nodes: graph.nodes,
        links: links.len(),
        ports: degrees.into_iter().max().unwrap_or(0),
        left_out: 0,
    })
}

pub(super) fn build(path: &Path, switch_count: u32, ports: u16) -> Result<Topology, TopologyError> {
    let graph = Graph::read(path)?;
    if graph.nodes < switch_count as usize {
        return Err(TopologyError::TooFewNodes {
            path: path.to_owned(),
            nodes: graph.nodes,
            switches: switch_count,
        });
    }
    let all = graph.links();
    let kept = all.iter().copied().filter(|(a, b)| *a < switch_count && *b < switch_count);
    let mut topology = Topology::wired(kept, switch_count, ports)?;
    topology.notes = graph.notes;
    let left_out = graph.nodes - switch_count as usize;
    if left_out > 0 {
        topology.notes.push(format!(
            "{}: the last {left_out} of {} nodes are left out, and with them {} of {} links",
            path.display(),
            graph.nodes,
            all.len() - topology.links,
            all.len(),
        ));
    }
    Ok(topology)
}

/// The nodes and edges of a GraphML file.
struct Graph {
    nodes: usize,
    edges: Vec<Edge>,
    notes: Vec<String>,
}

/// An edge between two different nodes, which are given by their indices in the file.
#[derive(Clone, Copy)]
struct Edge {
    source: u32,
    target: u32,
    directed: bool,
}

/// An edge as the file defines it, by the names of its nodes. The nodes may be defined later in the
/// file.
struct NamedEdge {
    source: String,
    target: String,
    directed: bool,
    line: usize,
}

impl Graph {
    fn read(path: &Path) -> Result<Self, TopologyError> {
        // Labels may have any encoding. The parts that are used here are ASCII in practice.
        let bytes = input::read(path)
            .map_err(|source| TopologyError::Read { path: path.to_owned(), source })?;
        Self::parse(&String::from_utf8_lossy(&bytes), path)
    }

    /// Parses a GraphML document.
    fn parse(text: &str, path: &Path) -> Result<Self, TopologyError> {
        let walk = Walk { path, text, line: 1, counted_to: 0 };
        let mut parser = Parser::new(walk);
        let mut reader = Reader::from_str(text);
        let mut depth = 0usize;
        loop {
            let start = reader.buffer_position();
            let event = reader.read_event().map_err(|error| {
                parser.walk.advance(reader.error_position());
                parser.walk.syntax(format!("not well-formed XML: {error}"))
            })?;
            parser.walk.advance(start);
            match event {
                Event::Start(element) => {
                    depth += 1;
                    parser.open(&element, false)?;
                }
                Event::Empty(element) => parser.open(&element, true)?,
                Event::End(element) => {
                    depth = depth.saturating_sub(1);
                    if element.local_name().as_ref() == "graph" {
                        parser.graphs.pop();
                    }
                }
                Event::Eof if depth > 0 => {
                    return Err(parser.walk.syntax("the file ends inside an element".to_owned()));
                }
                Event::Eof => return parser.finish(),
                _ => {}
            }
        }
    }

    /// Replaces the names of the nodes of all edges by their indices. Returns the number of edges
    /// from a node to itself, which are dropped.
    fn resolve(
        &mut self,
        edges: Vec<NamedEdge>,
        nodes: &HashMap<String, u32>,
        path: &Path,
    ) -> Result<usize, TopologyError> {
        let mut self_loops = 0;
        for edge in edges {
            let find = |id: &str| {
                nodes.get(id).copied().ok_or_else(|| TopologyError::Syntax {
                    path: path.to_owned(),
                    line: edge.line,
                    reason: format!("the edge names node \"{id}\", which the graph does not have"),
                })
            };
            let (source, target) = (find(&edge.source)?, find(&edge.target)?);
            if source == target {
                self_loops += 1;
            } else {
                self.edges.push(Edge { source, target, directed: edge.directed });
            }
        }
        Ok(self_loops)
    }

    /// Returns the links that result from the edges. A directed edge and its reverse become one
    /// link.
    fn links(&self) -> Vec<(u32, u32)> {
        // The directed edges so far whose reverse is missing, by (source, target).
        let mut unpaired: HashMap<(u32, u32), usize> = HashMap::new();
        let mut links = Vec::with_capacity(self.edges.len());
        for edge in &self.edges {
            if edge.directed {
                if let Some(reverse) = unpaired.get_mut(&(edge.target, edge.source))
                    && *reverse > 0
                {
                    *reverse -= 1;
                    continue;
                }
                *unpaired.entry((edge.source, edge.target)).or_default() += 1;
            }
            links.push((edge.source, edge.target));
        }
        links
    }
}

/// The state of the GraphML parser.
struct Parser<'a> {
    walk: Walk<'a>,
    root_seen: bool,
    /// Whether edges are directed by default, for each enclosing `graph` element from the outermost
    /// one, or `None` if the graph is ignored.
    graphs: Vec<Option<bool>>,
    graph_seen: bool,
    nodes: HashMap<String, u32>,
    edges: Vec<NamedEdge>,
    hyperedges: usize,
    ignored_graphs: usize,
}

impl<'a> Parser<'a> {
    fn new(walk: Walk<'a>) -> Self {
        Self {
            walk,
            root_seen: false,
            graphs: Vec::new(),
            graph_seen: false,
            nodes: HashMap::new(),
            edges: Vec::new(),
            hyperedges: 0,
            ignored_graphs: 0,
        }
    }

    /// Handles the start tag of an element.
    fn open(&mut self, element: &BytesStart<'_>, empty: bool) -> Result<(), TopologyError> {
        let name = element.local_name();
        if !self.root_seen {
            self.root_seen = true;
            if name.as_ref() != "graphml" {
                return Err(self.walk.syntax(format!(
                    "the outermost element is <{}>, not <graphml>",
                    name.as_ref()
                )));
            }
        }
        let inside = self.graphs.last().copied().flatten();
        match (name.as_ref(), inside) {
            ("graph", _) => {
                let direction = self.graph(element)?;
                if !empty {
                    self.graphs.push(direction);
                }
                Ok(())
            }
            ("node", Some(_)) => self.node(element),
            ("edge", Some(default_directed)) => self.edge(element, default_directed),
            ("hyperedge", Some(_)) => {
                self.hyperedges += 1;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Returns whether the edges of a graph are directed by default, or `None` if the graph must be
    /// ignored.
    fn graph(&mut self, element: &BytesStart<'_>) -> Result<Option<bool>, TopologyError> {
        match self.graphs.last() {
            Some(None) => return Ok(None),
            None if self.graph_seen => {
                self.ignored_graphs += 1;
                return Ok(None);
            }
            Some(Some(_)) | None => self.graph_seen = true,
        }
        match self.walk.attribute(element, "edgedefault")?.as_deref() {
            Some("directed") => Ok(Some(true)),
            Some("undirected") | None => Ok(Some(false)),
            Some(other) => Err(self
                .walk
                .syntax(format!("edgedefault=\"{other}\" is neither directed nor undirected"))),
        }
    }

    fn node(&mut self, element: &BytesStart<'_>) -> Result<(), TopologyError> {
        let id = self.walk.required(element, "id")?;
        let index = u32::try_from(self.nodes.len())
            .map_err(|_| self.walk.syntax("more than 2^32 nodes".to_owned()))?;
        match self.nodes.entry(id) {
            Entry::Vacant(free) => {
                free.insert(index);
                Ok(())
            }
            Entry::Occupied(taken) => {
                Err(self.walk.syntax(format!("a second node has the id \"{}\"", taken.key())))
            }
        }
    }

    fn edge(
        &mut self,
        element: &BytesStart<'_>,
        default_directed: bool,
    ) -> Result<(), TopologyError> {
        let directed = match self.walk.attribute(element, "directed")?.as_deref() {
            Some("true" | "1") => true,
            Some("false" | "0") => false,
            None => default_directed,
            Some(other) => {
                return Err(self
                    .walk
                    .syntax(format!("directed=\"{other}\" is neither true nor false")));
            }
        };
        self.edges.push(NamedEdge {
            source: self.walk.required(element, "source")?,
            target: self.walk.required(element, "target")?,
            directed,
            line: self.walk.line,
        });
        Ok(())
    }

    fn finish(self) -> Result<Graph, TopologyError> {
        if !self.graph_seen {
            return Err(self.walk.syntax("no <graph> element; expected GraphML".to_owned()));
        }
        let path = self.walk.path;
        let mut graph = Graph { nodes: self.nodes.len(), edges: Vec::new(), notes: Vec::new() };
        let self_loops = graph.resolve(self.edges, &self.nodes, path)?;
        for (count, what) in [
            (self_loops, "self loops dropped: they are not links"),
            (self.hyperedges, "hyperedges dropped: links have two ends"),
            (self.ignored_graphs, "further graphs ignored: only the first is read"),
        ] {
            if count > 0 {
                graph.notes.push(format!("{}: {count} {what}", path.display()));
            }
        }
        Ok(graph)
    }
}

/// The position of the parser in the file, from which error messages take the line number.
struct Walk<'a> {
    path: &'a Path,
    text: &'a str,
    line: usize,
    counted_to: usize,
}

impl Walk<'_> {
    /// Moves forward to a byte position, and counts the lines up to it.
    fn advance(&mut self, position: u64) {
        let position = usize::try_from(position).unwrap_or(usize::MAX).min(self.text.len());
        if let Some(passed) = self.text.as_bytes().get(self.counted_to..position) {
            self.line += passed.iter().filter(|byte| **byte == b'\n').count();
            self.counted_to = position;
        }
    }

    fn syntax(&self, reason: String) -> TopologyError {
        TopologyError::Syntax { path: self.path.to_owned(), line: self.line, reason }
    }

    fn attribute(
        &self,
        element: &BytesStart<'_>,
        name: &str,
    ) -> Result<Option<String>, TopologyError> {
        let wrong = |error: AttrError| {
            self.syntax(format!(
                "<{}> has an attribute that cannot be read: {error}",
                element.local_name().as_ref()
            ))
        };
        let Some(attribute) = element.try_get_attribute(name).map_err(wrong)? else {
            return Ok(None);
        };
        let value = attribute
            .normalized_value(XmlVersion::Implicit1_0)
            .map_err(|error| self.syntax(format!("attribute {name} cannot be read: {error}")))?;
        Ok(Some(value.into_owned()))
    }

    fn required(&self, element: &BytesStart<'_>, name: &str) -> Result<String, TopologyError> {
        self.attribute(element, name)?.ok_or_else(|| {
            self.syntax(format!("<{}> has no attribute {name}", element.local_name().as_ref()))
        })
    }
}
