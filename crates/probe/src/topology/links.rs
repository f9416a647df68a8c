//! Reads topologies from files that list links, in the format of OFCProbe and P4RCProbe
//! (`topology.ini`).
//!
//! Each line is one link, `switch:port==switch:port`. Switches and ports count from 1. A line that
//! is empty or contains `#` is a comment: the original tools recognise the `#` anywhere in a line.
//! Links of switches that do not exist are ignored as in these tools, with a note. Ports that are
//! used twice are an error, whereas in the tools the last link replaces the others silently.

use std::collections::HashMap;
use std::path::Path;

use super::{Port, Survey, SwitchIndex, Topology, TopologyError};

pub(super) fn build(path: &Path, switch_count: u32, ports: u16) -> Result<Topology, TopologyError> {
    let text = read(path)?;
    parse(&text, path, switch_count, ports)
}

/// Reads only the numbers of switches, links and ports from a file of links. Links of switches
/// beyond `switch_count` are only counted as left out.
///
/// # Errors
///
/// Returns an error if the file cannot be read or a line is not a link.
pub fn survey(path: &Path, switch_count: u64) -> Result<Survey, TopologyError> {
    let text = read(path)?;
    let mut survey = Survey::default();
    for line in lines(&text, path) {
        let (_, ends) = line?;
        if ends.iter().any(|(switch, _)| u64::from(switch.0) >= switch_count) {
            survey.left_out += 1;
            continue;
        }
        survey.links += 1;
        for (switch, port) in ends {
            survey.nodes = survey.nodes.max(switch.0 as usize + 1);
            survey.ports = survey.ports.max(usize::from(port.0));
        }
    }
    Ok(survey)
}

fn read(path: &Path) -> Result<String, TopologyError> {
    input::read_text(path).map_err(|source| TopologyError::Read { path: path.to_owned(), source })
}

/// Parses a file of links, and builds the topology.
fn parse(
    text: &str,
    path: &Path,
    switch_count: u32,
    ports: u16,
) -> Result<Topology, TopologyError> {
    let mut topology = Topology::unwired(switch_count, ports);
    let mut used: HashMap<(SwitchIndex, Port), usize> = HashMap::new();
    let mut left_out = 0usize;
    for line in lines(text, path) {
        let (number, [a, b]) = line?;
        let syntax = |reason| TopologyError::Syntax { path: path.to_owned(), line: number, reason };
        if [a, b].iter().any(|(switch, _)| switch.0 >= switch_count) {
            left_out += 1;
            continue;
        }
        for (switch, port) in [a, b] {
            if port.0 > ports {
                return Err(syntax(format!(
                    "port {port} does not exist: switches.ports is {ports}"
                )));
            }
            if let Some(before) = used.insert((switch, port), number) {
                return Err(syntax(format!(
                    "port {port} of switch {} is used already in line {before}",
                    u64::from(switch.0) + 1
                )));
            }
        }
        topology.connect(a, b);
    }
    if left_out > 0 {
        topology.notes.push(format!(
            "{}: {left_out} links of switches beyond the {switch_count} of this trial are left out.",
            path.display()
        ));
    }
    Ok(topology)
}

type Ends = [(SwitchIndex, Port); 2];

/// Returns the links of a file with their line numbers.
fn lines<'a>(
    text: &'a str,
    path: &'a Path,
) -> impl Iterator<Item = Result<(usize, Ends), TopologyError>> + 'a {
    (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.contains('#')).map(
        move |(number, line)| match link(line) {
            Ok(ends) => Ok((number, ends)),
            Err(reason) => {
                Err(TopologyError::Syntax { path: path.to_owned(), line: number, reason })
            }
        },
    )
}

fn link(line: &str) -> Result<Ends, String> {
    let (left, right) = line.split_once("==").ok_or_else(|| {
        format!("\"{}\" is not a link; expected switch:port==switch:port", line.trim())
    })?;
    Ok([endpoint(left)?, endpoint(right)?])
}

fn endpoint(text: &str) -> Result<(SwitchIndex, Port), String> {
    let text = text.trim();
    let wrong = || format!("\"{text}\" is not switch:port with both counted from 1");
    let (switch, port) = text.split_once(':').ok_or_else(wrong)?;
    let switch = switch.trim().parse::<u32>().ok().and_then(|switch| switch.checked_sub(1));
    let port = port.trim().parse::<u16>().ok().filter(|port| *port > 0);
    match (switch, port) {
        (Some(switch), Some(port)) => Ok((SwitchIndex(switch), Port(port))),
        _ => Err(wrong()),
    }
}
