//! Tests of the links between emulated switches: generated topologies, link files and GraphML.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;

use proptest::prelude::*;
use tempfile::NamedTempFile;

use super::*;

fn at(switch: u32, port: u16) -> (SwitchIndex, Port) {
    (SwitchIndex(switch), Port(port))
}

fn pairs(topology: &Topology) -> Vec<(u32, u32)> {
    topology.links().map(|link| (link.a.0.0, link.b.0.0)).collect()
}

fn file(text: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(text.as_bytes()).expect("written");
    file
}

fn links(text: &str, switches: u32, ports: u16) -> Result<Topology, TopologyError> {
    let file = file(text);
    Topology::build(&TopologySource::Links(file.path().to_owned()), switches, ports)
}

fn graphml(text: &str, switches: u32, ports: u16) -> Result<Topology, TopologyError> {
    let file = file(text);
    Topology::build(&TopologySource::GraphMl(file.path().to_owned()), switches, ports)
}

/// Returns the message of an error, in which the name of the file is replaced by `FILE`.
fn message(result: Result<Topology, TopologyError>) -> String {
    let error = result.expect_err("must fail");
    let message = error.to_string();
    match &error {
        TopologyError::Read { path, .. }
        | TopologyError::Syntax { path, .. }
        | TopologyError::TooFewNodes { path, .. } => {
            message.replace(&path.display().to_string(), "FILE")
        }
        _ => message,
    }
}

#[test]
fn no_topology_has_no_links_and_every_port_is_free() {
    let topology = Topology::build(&TopologySource::None, 3, 4).expect("built");
    assert_eq!((topology.switch_count(), topology.link_count()), (3, 0));
    assert_eq!(topology.peer(SwitchIndex(0), Port(1)), None);
    assert_eq!(topology.free_ports(SwitchIndex(2)).map(|p| p.0).collect::<Vec<_>>(), [1, 2, 3, 4]);
}

#[test]
fn switches_without_links_are_in_no_part_that_others_reach() {
    let text = "2:1==4:1\n4:2==5:1\n7:1==8:1\n";
    let topology = links(text, 10, 4).expect("built");
    assert_eq!(topology.linked_switch_count(), 5);
    assert_eq!(topology.linked_prefixes(), Some(4..=8));
    assert_eq!(topology.largest_part(), [1, 3, 4]);
    let unlinked = Topology::build(&TopologySource::None, 3, 4).expect("built");
    assert_eq!(unlinked.linked_prefixes(), None);
    assert_eq!(unlinked.largest_part(), [0]);
    let file = file(text);
    let source = TopologySource::Links(file.path().to_owned());
    assert_eq!(switches_described(&source, 256).expect("read"), 8);
    assert_eq!(switches_described(&source, 5).expect("read"), 5);
}

#[test]
fn a_chain_links_neighbours() {
    let topology = Topology::build(&TopologySource::Linear, 4, 3).expect("built");
    assert_eq!(pairs(&topology), [(0, 1), (1, 2), (2, 3)]);
    assert_eq!(topology.peer(SwitchIndex(0), Port(1)), Some(at(1, 1)));
    assert_eq!(topology.peer(SwitchIndex(1), Port(2)), Some(at(2, 1)));
    assert_eq!(topology.peer(SwitchIndex(3), Port(2)), None);
    assert_eq!(topology.peer(SwitchIndex(4), Port(1)), None);
    assert_eq!(topology.peer(SwitchIndex(0), Port(0)), None);
    assert_eq!(topology.free_ports(SwitchIndex(1)).collect::<Vec<_>>(), [Port(3)]);
}

#[test]
fn a_tree_links_children_to_parents_over_port_1() {
    let topology = Topology::build(&TopologySource::Tree { fanout: 2 }, 7, 3).expect("built");
    assert_eq!(pairs(&topology), [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)]);
    assert_eq!(topology.peer(SwitchIndex(5), Port(1)), Some(at(2, 2)));
    assert_eq!(topology.link_ports(SwitchIndex(1)).len(), 3);
}

#[test]
fn leaves_are_linked_to_every_spine() {
    let topology = Topology::build(&TopologySource::LeafSpine { spines: 2 }, 5, 4).expect("built");
    assert_eq!(topology.link_count(), 6);
    assert_eq!(topology.peer(SwitchIndex(4), Port(2)), Some(at(1, 3)));
    assert_eq!(topology.peer(SwitchIndex(0), Port(2)), Some(at(3, 1)));
}

#[test]
fn too_few_ports_names_the_switch_and_the_need() {
    let build = |source: TopologySource, n, ports| message(Topology::build(&source, n, ports));
    assert_eq!(
        build(TopologySource::Tree { fanout: 3 }, 9, 3),
        "switch 2 (counted from 1) needs 4 ports for its links but has 3; raise switches.ports"
    );
    assert_eq!(
        build(TopologySource::LeafSpine { spines: 2 }, 10, 4),
        "switch 1 (counted from 1) needs 8 ports for its links but has 4; raise switches.ports"
    );
    assert_eq!(
        build(TopologySource::LeafSpine { spines: 9 }, 10, 4),
        "switch 10 (counted from 1) needs 9 ports for its links but has 4; raise switches.ports"
    );
    // The topology would have 10^18 links, so it must be rejected before they are traversed.
    assert_eq!(
        build(TopologySource::LeafSpine { spines: 2_000_000_000 }, u32::MAX, 4),
        "switch 1 (counted from 1) needs 2294967295 ports for its links but has 4; raise \
         switches.ports"
    );
}

#[test]
fn shapes_that_cannot_be_are_refused() {
    assert!(matches!(
        Topology::build(&TopologySource::Tree { fanout: 0 }, 3, 3),
        Err(TopologyError::NoFanout)
    ));
    assert!(matches!(
        Topology::build(&TopologySource::LeafSpine { spines: 3 }, 3, 3),
        Err(TopologyError::NoLeaves { spines: 3, switches: 3 })
    ));
}

#[test]
fn a_links_file_counts_from_1_and_skips_comments() {
    let topology =
        links("###Topology\n#ofSwitch:Port==ofSwitch:Port\n\n1:1==2:2\r\n 3 : 1 == 1:4 \n", 3, 4)
            .expect("built");
    assert_eq!(topology.link_count(), 2);
    assert_eq!(topology.peer(SwitchIndex(0), Port(1)), Some(at(1, 2)));
    assert_eq!(topology.peer(SwitchIndex(0), Port(4)), Some(at(2, 1)));
    assert_eq!(topology.free_ports(SwitchIndex(0)).map(|port| port.0).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn a_links_file_is_refused_with_its_line() {
    for (text, expected) in [
        (
            "1:1==2:1\n1:1=2:1\n",
            "FILE:2: \"1:1=2:1\" is not a link; expected switch:port==switch:port",
        ),
        ("\n0:1==2:1\n", "FILE:2: \"0:1\" is not switch:port with both counted from 1"),
        ("1:0==2:1\n", "FILE:1: \"1:0\" is not switch:port with both counted from 1"),
        ("1:1==2:x\n", "FILE:1: \"2:x\" is not switch:port with both counted from 1"),
        ("1:5==2:1\n", "FILE:1: port 5 does not exist: switches.ports is 4"),
        ("1:1==2:1\n2:1==3:1\n", "FILE:2: port 1 of switch 2 is used already in line 1"),
        ("1:1==1:1\n", "FILE:1: port 1 of switch 1 is used already in line 1"),
    ] {
        assert_eq!(message(links(text, 3, 4)), expected);
    }
}

#[test]
fn a_links_file_that_is_absent_is_named() {
    let path = PathBuf::from("no/such/topology.ini");
    let error = Topology::build(&TopologySource::Links(path), 3, 4).expect_err("absent");
    assert!(error.to_string().starts_with("cannot read topology file no/such/topology.ini: "));
}

#[test]
fn a_survey_of_a_links_file_tells_what_it_needs() {
    let file = file("1:1==2:7\n3:2==1:2\n");
    let survey = survey_links(file.path(), 100).expect("read");
    assert_eq!(survey, Survey { nodes: 3, links: 2, ports: 7, left_out: 0 });
}

/// Checks that links of switches beyond the configured number are left out, with a note.
/// P4RCProbe's own files contain such links.
#[test]
fn links_of_switches_beyond_the_count_are_left_out_and_said() {
    let text = "1:1==2:1\n2:2==3:1\n3:2==4:1\n4:9==5:9\n";
    let file = file(text);
    let topology =
        Topology::build(&TopologySource::Links(file.path().to_owned()), 3, 4).expect("built");
    assert_eq!(topology.link_count(), 2);
    let note = "2 links of switches beyond the 3 of this trial are left out.";
    assert_eq!(topology.notes(), [format!("{}: {note}", file.path().display())]);
    let survey = survey_links(file.path(), 3).expect("read");
    assert_eq!(survey, Survey { nodes: 3, links: 2, ports: 2, left_out: 2 });
}

/// A GraphML file in the form of those of the Internet Topology Zoo.
const ZOO: &str = r#"<?xml version="1.0" encoding="utf-8"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <key attr.name="Latitude" attr.type="double" for="node" id="d29" />
  <key attr.name="label" attr.type="string" for="node" id="d33" />
  <graph edgedefault="undirected">
    <data key="d0">10/09/10</data>
    <node id="0">
      <data key="d29">-35.3</data>
      <data key="d33">Left &amp; Right</data>
    </node>
    <node id="1" />
    <node id="a&lt;b" />
    <node id="3" />
    <edge source="0" target="1">
      <data key="d33">&lt; 10 Gbps</data>
    </edge>
    <edge source="0" target="1" />
    <edge source="1" target="a&lt;b" />
    <edge source="3" target="3" />
    <edge source="3" target="0" />
  </graph>
</graphml>
"#;

#[test]
fn graphml_keeps_parallel_edges_and_drops_self_loops_with_a_note() {
    let topology = graphml(ZOO, 4, 3).expect("built");
    assert_eq!(pairs(&topology), [(0, 1), (0, 1), (0, 3), (1, 2)]);
    assert_eq!(topology.peer(SwitchIndex(0), Port(2)), Some(at(1, 2)));
    assert_eq!(topology.notes().len(), 1);
    assert!(
        topology
            .notes()
            .iter()
            .all(|note| note.ends_with(": 1 self loops dropped: they are not links"))
    );
}

#[test]
fn graphml_with_more_nodes_than_switches_keeps_the_first() {
    let topology = graphml(ZOO, 2, 3).expect("built");
    assert_eq!(pairs(&topology), [(0, 1), (0, 1)]);
    let note = topology.notes().last().expect("a note");
    assert!(
        note.ends_with("the last 2 of 4 nodes are left out, and with them 2 of 4 links"),
        "{note}"
    );
}

#[test]
fn graphml_with_fewer_nodes_than_switches_is_refused() {
    assert_eq!(message(graphml(ZOO, 5, 3)), "FILE has 4 nodes, too few for 5 switches");
}

#[test]
fn a_survey_of_graphml_tells_what_it_needs() {
    let file = file(ZOO);
    assert_eq!(
        survey_graphml(file.path()).expect("read"),
        Survey { nodes: 4, links: 4, ports: 3, left_out: 0 }
    );
}

#[test]
fn opposite_directed_edges_are_one_link() {
    let text = r#"<graphml><graph edgedefault="directed"><node id="x"/><node id="y"/><node id="z"/>
        <edge source="x" target="y"/><edge source="y" target="x"/>
        <edge source="y" target="z"/><edge source="y" target="z"/><edge source="z" target="y"/>
        <edge source="x" target="z" directed="false"/><edge source="z" target="x" directed="false"/>
        </graph></graphml>"#;
    let topology = graphml(text, 3, 4).expect("built");
    assert_eq!(pairs(&topology), [(0, 1), (0, 2), (0, 2), (1, 2), (1, 2)]);
}

#[test]
fn nested_graphs_count_and_second_graphs_do_not() {
    let text = r#"<g:graphml xmlns:g="x"><g:graph><g:node id="n0"><g:graph edgedefault="directed">
        <g:node id="n0::n0"/><g:edge source="n0" target="n0::n0"/></g:graph></g:node><hyperedge/>
        </g:graph><g:graph><g:node id="n0"/></g:graph><g:graph/></g:graphml>"#;
    let topology = graphml(text, 2, 4).expect("built");
    assert_eq!(pairs(&topology), [(0, 1)]);
    let notes = topology.notes().join("\n");
    assert!(notes.contains(": 1 hyperedges dropped"), "{notes}");
    assert!(notes.contains(": 2 further graphs ignored"), "{notes}");
}

#[test]
fn bad_graphml_is_refused_with_its_line() {
    for (text, expected) in [
        ("<html/>", "FILE:1: the outermost element is <html>, not <graphml>"),
        ("\n<html><graph/></html>", "FILE:2: the outermost element is <html>, not <graphml>"),
        ("<graphml>\n</graphml>", "FILE:2: no <graph> element; expected GraphML"),
        ("", "FILE:1: no <graph> element; expected GraphML"),
        ("<graphml><graph>\n<node/></graph></graphml>", "FILE:2: <node> has no attribute id"),
        (
            "<graphml><graph>\n<node id='1'/>\n<node id='1'/></graph></graphml>",
            "FILE:3: a second node has the id \"1\"",
        ),
        (
            "<graphml><graph>\n\n<edge source='1' target='2'/></graph></graphml>",
            "FILE:3: the edge names node \"1\", which the graph does not have",
        ),
        (
            "<graphml><graph edgedefault='both'/></graphml>",
            "FILE:1: edgedefault=\"both\" is neither directed nor undirected",
        ),
        (
            "<graphml><graph>\n<edge source='1' target='2' directed='no'/></graph></graphml>",
            "FILE:2: directed=\"no\" is neither true nor false",
        ),
        ("<graphml><graph>\n", "FILE:2: the file ends inside an element"),
    ] {
        assert_eq!(message(graphml(text, 1, 4)), expected, "{text}");
    }
    assert!(
        message(graphml("<graphml>\n</graph>", 1, 4)).starts_with("FILE:2: not well-formed XML: ")
    );
}

fn any_source() -> impl Strategy<Value = TopologySource> {
    prop_oneof![
        Just(TopologySource::None),
        Just(TopologySource::Linear),
        (1u32..6).prop_map(|fanout| TopologySource::Tree { fanout }),
        (1u32..6).prop_map(|spines| TopologySource::LeafSpine { spines }),
    ]
}

/// Checks the properties that every topology must have.
fn check(topology: &Topology, ports: u16) -> Result<(), TestCaseError> {
    let mut ends = 0;
    for index in 0..u32::try_from(topology.switch_count()).expect("small") {
        let switch = SwitchIndex(index);
        let linked: BTreeSet<Port> = topology.link_ports(switch).collect();
        for port in (0..=ports + 1).map(Port) {
            match topology.peer(switch, port) {
                Some((far, far_port)) => {
                    prop_assert_eq!(topology.peer(far, far_port), Some((switch, port)));
                    prop_assert!((far, far_port) != (switch, port));
                    prop_assert!(port.0 >= 1 && port.0 <= ports);
                    prop_assert!(linked.contains(&port));
                    ends += 1;
                }
                None => prop_assert!(!linked.contains(&port)),
            }
        }
        prop_assert_eq!(linked.len() + topology.free_ports(switch).count(), usize::from(ports));
    }
    prop_assert_eq!(ends, 2 * topology.link_count());
    prop_assert_eq!(topology.links().count(), topology.link_count());
    Ok(())
}

proptest! {
    #[test]
    fn peer_is_an_involution(source in any_source(), switches in 1u32..40, ports in 1u16..48) {
        if let Ok(topology) = Topology::build(&source, switches, ports) {
            check(&topology, ports)?;
        }
    }

    #[test]
    fn peer_is_an_involution_for_any_graph(
        edges in proptest::collection::vec((0u32..8, 0u32..8, any::<bool>()), 0..12),
        ports in 4u16..16,
    ) {
        let nodes: String = (0..8).map(|id| format!("<node id='{id}'/>\n")).collect();
        let edges: String = edges
            .iter()
            .map(|(a, b, d)| format!("<edge source='{a}' target='{b}' directed='{d}'/>\n"))
            .collect();
        let text = format!("<graphml><graph>{nodes}{edges}</graph></graphml>");
        if let Ok(topology) = graphml(&text, 8, ports) {
            check(&topology, ports)?;
        }
    }

    #[test]
    fn no_text_makes_the_readers_panic(text in "\\PC{0,80}") {
        let _ = links(&text, 4, 4);
        let _ = graphml(&text, 4, 4);
        let _ = graphml(&format!("<graphml><graph>{text}</graph></graphml>"), 4, 4);
    }
}
