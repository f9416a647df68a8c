//! The switches of a network, the links between them, and the ports that connect the network to its
//! outside.

use crate::outcome::End;
use pipeline::{Coverage, Switch};
use queues::Configuration;
use std::collections::BTreeMap;

/// A network: switches, the links between them, and the ports that connect it to its outside.
#[derive(Default)]
pub struct Network {
    pub(super) switches: Vec<(String, Switch)>,
    /// For each port with a link, the port at the other end. The map contains each link in both
    /// directions.
    pub(super) links: BTreeMap<End, End>,
    /// The outside ports of the network, by the numbers that scripts use for them. The string is
    /// the name of the port in messages.
    pub(super) outside: BTreeMap<u32, (End, String)>,
    /// For each outside port, the number that scripts use for it.
    numbers: BTreeMap<End, u32>,
    /// The queues of each switch that has any, by the index of the switch.
    pub(super) queues: BTreeMap<usize, Configuration>,
}

impl Network {
    /// Adds a switch to the network, and returns its index. The switch must be in its initial
    /// state.
    pub fn switch(&mut self, name: impl Into<String>, switch: Switch) -> usize {
        self.switches.push((name.into(), switch));
        self.switches.len() - 1
    }

    /// Adds a link between two ports to the network.
    pub fn link(&mut self, one: End, other: End) {
        self.links.insert(one, other);
        self.links.insert(other, one);
    }

    /// Declares `end` as an outside port of the network. `number` is the number that scripts use
    /// for it, and `name` is its name in messages.
    pub fn outside(&mut self, number: u32, end: End, name: impl Into<String>) {
        self.outside.insert(number, (end, name.into()));
        self.numbers.insert(end, number);
    }

    /// Sets the queues of a switch's ports.
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

    /// Returns the number that scripts use for a port, or `None` if the port is not an outside port
    /// of the network.
    pub(super) fn number(&self, end: End) -> Option<u32> {
        self.numbers.get(&end).copied()
    }
}

/// The coverage of a program, which one or several switches of a network run.
#[derive(Debug)]
pub struct Covered {
    /// The coverage of the program, summed over these switches.
    pub coverage: Coverage,
    /// The indices of the switches that run the program. A switch appears in at most one `Covered`.
    pub switches: Vec<usize>,
}

/// Returns the coverage of the program that a switch runs, or `None` if it is not recorded.
pub(super) fn coverage_of(covered: &mut [Covered], switch: usize) -> Option<&mut Coverage> {
    covered.iter_mut().find(|one| one.switches.contains(&switch)).map(|one| &mut one.coverage)
}
