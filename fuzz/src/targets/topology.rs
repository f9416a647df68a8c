//! Fuzzes the readers of topologies in GraphML and as lists of links.

use crate::{scratch, text};
use probe::config::TopologySource;
use probe::topology::{Topology, survey_graphml, survey_links};

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let path = scratch::file("topology", data);
    let survey = survey_graphml(&path);
    let built = Topology::build(&TopologySource::GraphMl(path.clone()), 3, 8);
    assert!(built.is_err() || survey.is_ok_and(|survey| survey.nodes >= 3));
    let survey = survey_links(&path, 3);
    let built = Topology::build(&TopologySource::Links(path), 3, 8);
    assert!(built.is_err() || survey.is_ok());
}

/// Mutates an input, as [`crate::bytes::mutate`] does.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    text::mutate(data, size, max_size, seed)
}
