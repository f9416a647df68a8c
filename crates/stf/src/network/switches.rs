//! The switches of a network, the links between them, and the ports to the outside.

use crate::outcome::End;
use pipeline::{Coverage, Switch};
use queues::Configuration;
use std::collections::BTreeMap;

/// Switches, the links between them, and their ports to the outside.
#[derive(Default)]
pub struct Network {
    pub(super) switches: Vec<(String, Switch)>,
    /// The port at the other end of each link. A link has an element for each of its two ends.
    pub(super) links: BTreeMap<End, End>,
    /// The ports to the outside, by the numbers that scripts use for them. Each has a name for
    /// messages.
    pub(super) outside: BTreeMap<u32, (End, String)>,
    /// The number of each port in `outside`.
    numbers: BTreeMap<End, u32>,
    /// The queues of the ports of switches that have any.
    pub(super) queues: BTreeMap<usize, Configuration>,
}

impl Network {
    /// Adds a switch to the network, and returns its index. The switch must have just been loaded.
    pub fn switch(&mut self, name: impl Into<String>, switch: Switch) -> usize {
        self.switches.push((name.into(), switch));
        self.switches.len() - 1
    }

    /// Adds a link between two ports to the network.
    pub fn link(&mut self, one: End, other: End) {
        self.links.insert(one, other);
        self.links.insert(other, one);
    }

    /// Declares a port of the network to the outside. `number` is the number that scripts use for
    /// it, and `name` its name in messages.
    pub fn outside(&mut self, number: u32, end: End, name: impl Into<String>) {
        self.outside.insert(number, (end, name.into()));
        self.numbers.insert(end, number);
    }

    /// Sets the queues of ports of a switch.
    pub fn set_queues(&mut self, switch: usize, configuration: Configuration) {
        self.queues.insert(switch, configuration);
    }

    /// Returns the switch with this index, to configure it before a script runs.
    pub fn switch_mut(&mut self, index: usize) -> Option<&mut Switch> {
        self.switches.get_mut(index).map(|(_, switch)| switch)
    }

    pub(super) fn name(&self, switch: usize) -> &str {
        self.switches.get(switch).map_or("", |(name, _)| name)
    }

    /// Returns the number that scripts use for a port, or `None` if it is not declared as a port to
    /// the outside.
    pub(super) fn number(&self, end: End) -> Option<u32> {
        self.numbers.get(&end).copied()
    }
}

/// The coverage of a program that several switches of a network may run.
#[derive(Debug)]
pub struct Covered {
    /// The coverage of the program, added up over its switches.
    pub coverage: Coverage,
    /// The indices of the switches that run the program. A switch belongs to at most one program.
    pub switches: Vec<usize>,
}

/// Returns the coverage of the program that a switch runs, if it is recorded.
pub(super) fn coverage_of(covered: &mut [Covered], switch: usize) -> Option<&mut Coverage> {
    covered.iter_mut().find(|one| one.switches.contains(&switch)).map(|one| &mut one.coverage)
}
