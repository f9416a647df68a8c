//! `--topology`: a topology.json of the p4lang tutorials, every switch running the program with its own entries.
//!
//! In scripts ports are called as the file calls them: `h1`, or `s1-p4` where nothing is attached.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use ir::Program;
use pipeline::stf::{End, Network, Options, Report, Script, run_network};
use softswitch::topology_json::{Attachment, TopologyJson};

use super::{parsed, with_entries};
use crate::failure::Failure;
use crate::program;

/// Ports of a switch in a script, at most: the first number of a port is its switch.
const PORTS: u32 = 1000;

/// A topology, read.
pub(super) struct Topology {
    path: PathBuf,
    read: TopologyJson,
}

impl Topology {
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let read = TopologyJson::parse(&program::read(path)?)
            .map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
        for (name, switch) in &read.switches {
            if switch.cli_input.is_some() {
                return Err(Failure::input(format!(
                    "{}: switch {name} has cli_input, which is for simple_switch_CLI; write the same as runtime_json",
                    path.display()
                )));
            }
        }
        Ok(Self { path: path.to_owned(), read })
    }

    /// Reads a script in which ports have names.
    pub(super) fn script(&self, path: &Path) -> Result<Script, Failure> {
        let numbers: BTreeMap<String, u32> =
            self.outside().into_iter().map(|(number, _, name)| (name, number)).collect();
        let text = program::read(path)?;
        let mut numbered = String::with_capacity(text.len());
        for (line, text) in (1..).zip(text.lines()) {
            let mut words = text.split_whitespace();
            let (first, second) = (words.next(), words.next());
            if let (Some("packet" | "expect"), Some(name)) = (first, second) {
                let number = numbers.get(name).copied().or_else(|| self.unattached(name));
                let number = number.ok_or_else(|| {
                    let known: Vec<&str> = numbers.keys().map(String::as_str).collect();
                    let known = match known.as_slice() {
                        [] => "no host has a link there".to_owned(),
                        known => format!("there are {}", known.join(", ")),
                    };
                    Failure::input(format!(
                        "{}:{line}: '{name}' is no port of {}; {known}, and ports of switches to which nothing is attached \
                         are called such as s1-p9",
                        path.display(),
                        self.path.display(),
                    ))
                })?;
                numbered.push_str(&text.replacen(name, &number.to_string(), 1));
            } else {
                numbered.push_str(text);
            }
            numbered.push('\n');
        }
        parsed(path, &numbered)
    }

    /// Runs a script in a network of fresh switches.
    pub(super) fn run(
        &self,
        program: &Program,
        path: &Path,
        script: &Script,
        options: Options,
        matches: &ArgMatches,
    ) -> Result<Report, Failure> {
        let mut network = Network::default();
        for (name, switch) in &self.read.switches {
            let runtime =
                switch.runtime_json.as_deref().map(|file| self.beside(file)).transpose()?;
            let files: Vec<PathBuf> = runtime.into_iter().collect();
            network.switch(name, with_entries(program, &files, options, matches)?);
        }
        for [one, other] in &self.read.links {
            if let (Some(one), Some(other)) = (self.end(one), self.end(other)) {
                network.link(one, other);
            }
        }
        for (number, end, name) in self.outside() {
            network.outside(number, end, name);
        }
        // Ports to which nothing is attached are there as soon as a packet leaves by one.
        for (name, index) in self.read.switches.keys().zip(0_usize..) {
            for port in 0..PORTS {
                let end = End { switch: index, port };
                if !self.is_attached(end) {
                    network.outside(number(end), end, format!("{name}-p{port}"));
                }
            }
        }
        run_network(&mut network, script, options)
            .map_err(|(line, error)| Failure::input(format!("{}:{line}: {error}", path.display())))
    }

    /// A file that the topology names: beside it, in the folder of its exercise, or from here.
    fn beside(&self, file: &str) -> Result<PathBuf, Failure> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let places = [
            folder.join(file),
            folder.parent().unwrap_or(Path::new("")).join(file),
            PathBuf::from(file),
        ];
        places.into_iter().find(|place| place.is_file()).ok_or_else(|| {
            Failure::input(format!(
                "{}: its file {file} is neither here nor beside it",
                self.path.display()
            ))
        })
    }

    /// Ports at which a host is: number, end, name.
    fn outside(&self) -> Vec<(u32, End, String)> {
        let of = |link: &[Attachment; 2]| {
            let (host, end) = match link {
                [Attachment::Host(host), end] | [end, Attachment::Host(host)] => (host, end),
                _ => return None,
            };
            let end = self.end(end)?;
            Some((number(end), end, host.clone()))
        };
        self.read.links.iter().filter_map(of).collect()
    }

    /// The number of a port such as s1-p9 to which nothing is attached.
    fn unattached(&self, name: &str) -> Option<u32> {
        let (switch, port) = name.rsplit_once("-p")?;
        let port: u32 = port.parse().ok().filter(|port| *port < PORTS)?;
        let end = self.end(&Attachment::Switch { name: switch.to_owned(), port })?;
        (!self.is_attached(end)).then(|| number(end))
    }

    fn is_attached(&self, end: End) -> bool {
        self.read.links.iter().flatten().any(|attached| self.end(attached) == Some(end))
    }

    fn end(&self, attached: &Attachment) -> Option<End> {
        let Attachment::Switch { name, port } = attached else { return None };
        let switch = self.read.switches.keys().position(|known| known == name)?;
        Some(End { switch, port: *port })
    }
}

fn number(end: End) -> u32 {
    u32::try_from(end.switch + 1).unwrap_or(u32::MAX).saturating_mul(PORTS).saturating_add(end.port)
}
