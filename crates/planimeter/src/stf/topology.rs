//! `--topology`: runs a network that a topology.json of the p4lang tutorials describes. Every
//! switch runs the program of the command line, or the one that the file names for the switch, with
//! its own entries.
//!
//! Scripts name ports as the file does: `h1`, or `s1-p4` for a port to which nothing is attached.
//! Captures name all ports in the form `s1-p4`, so that the direction is always that of the switch.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ir::Program;
use pipeline::{Coverage, Digest, Switch, Way};
use queues::Configuration;
use softswitch::topology_json::{Attachment, TopologyJson};
use stf::{Covered, End, Network, Ran, Report, Script, run_network_covered};

use super::{Arguments, ScriptFile, captures, fresh, of_all_ways, parsed, with_entries};
use crate::failure::Failure;
use crate::program;
use crate::storage::Stored;

/// The maximum number of ports of a switch in a script. Scripts number the ports of all switches:
/// port `p` of the first switch is `PORTS + p`, and of the second `2 * PORTS + p`.
const PORTS: u32 = 1000;

/// The parsed content of a `topology.json` file, with the path of the file.
pub(crate) struct Topology {
    path: PathBuf,
    read: TopologyJson,
}

/// A program of the network, and the indices of the switches that run it.
pub(super) struct Running {
    pub(super) path: PathBuf,
    program: Program,
    pub(super) switches: Vec<usize>,
}

impl Running {
    /// Returns an empty coverage of the program, to which [`Topology::run`] adds.
    pub(super) fn uncovered(&self) -> Covered {
        Covered { coverage: Coverage::new(&self.program), switches: self.switches.clone() }
    }
}

impl Topology {
    /// Creates a topology from a parsed file, whose path appears in messages.
    pub(crate) fn new(path: impl Into<PathBuf>, read: TopologyJson) -> Self {
        Self { path: path.into(), read }
    }

    pub(super) fn read(path: &Path, queues: &[(String, String)]) -> Result<Self, Failure> {
        let mut read = TopologyJson::parse(&program::read(path)?)
            .map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
        for attached in read.links.iter().flatten() {
            if let Attachment::Switch { name, port } = attached
                && *port >= PORTS
            {
                return Err(Failure::input(format!(
                    "{}: port {port} of switch {name} is beyond the last port that a script can name, {}",
                    path.display(),
                    PORTS - 1
                )));
            }
        }
        for (name, switch) in &mut read.switches {
            let own = queues.iter().filter(|(of, _)| of == name).map(|(_, line)| line);
            let own: Vec<&String> = own.collect();
            let more = Configuration::parse(&own).map_err(Failure::input)?;
            // The command line replaces the queues of a port.
            switch.queues.0.extend(more.0);
        }
        if let Some((name, _)) = queues.iter().find(|(name, _)| !read.switches.contains_key(name)) {
            return Err(Failure::input(format!(
                "--queue {name}: {} has no switch of this name",
                path.display()
            )));
        }
        Ok(Self::new(path, read))
    }

    /// Reads a script that refers to ports by names such as `h1` or `s1-p4`.
    pub(super) fn script(&self, path: &Path) -> Result<Script, Failure> {
        self.parse(path, &program::read(path)?)
    }

    /// Parses the text of a script, whose path appears in messages.
    pub(crate) fn parse(&self, path: &Path, text: &str) -> Result<Script, Failure> {
        let numbers: BTreeMap<String, u32> =
            self.outside().into_iter().map(|(number, _, name)| (name, number)).collect();
        let mut numbered = String::with_capacity(text.len());
        for (line, text) in (1..).zip(text.lines()) {
            let names = match text.split_whitespace().next() {
                Some("packet" | "expect" | "source") => 1,
                Some("check_delay" | "check_packets" | "sender") => 2,
                _ => 0,
            };
            let mut rest = text;
            // The keyword comes before the names.
            for position in 0..=names {
                let (blanks, word, behind) = next_word(rest);
                rest = behind;
                numbered.push_str(blanks);
                if position == 0 || word.is_empty() {
                    numbered.push_str(word);
                    continue;
                }
                let number = numbers.get(word).copied().or_else(|| self.unattached(word));
                let number = number.ok_or_else(|| {
                    let known: Vec<&str> = numbers.keys().map(String::as_str).collect();
                    let known = match known.as_slice() {
                        [] => "no host has a link there".to_owned(),
                        known => format!("there are {}", known.join(", ")),
                    };
                    Failure::input(format!(
                        "{}:{line}: '{word}' is not a port of {}; {known}, and ports of switches to which nothing is \
                         attached are called such as s1-p9",
                        path.display(),
                        self.path.display(),
                    ))
                })?;
                numbered.push_str(&number.to_string());
            }
            numbered.push_str(rest);
            numbered.push('\n');
        }
        parsed(path, &numbered)
    }

    /// Returns the programs of the network with the switches that run them. A switch for which the
    /// topology names no program runs the program at `path`. Paths to the same file count as one
    /// program.
    pub(super) fn programs(&self, path: &Path, stored: &Stored) -> Result<Vec<Running>, Failure> {
        let running = |path: &Path| -> Result<Running, Failure> {
            let program = stored.load(path)?;
            Ok(Running { path: path.to_owned(), program, switches: Vec::new() })
        };
        let mut all = vec![running(path)?];
        for (index, switch) in self.read.switches.values().enumerate() {
            let own = switch.program.as_deref().map(|file| self.program(file)).transpose()?;
            let path = own.as_deref().unwrap_or(path);
            match all.iter_mut().find(|one| is_same(&one.path, path)) {
                Some(one) => one.switches.push(index),
                None => all.push(Running { switches: vec![index], ..running(path)? }),
            }
        }
        all.retain(|one| !one.switches.is_empty());
        Ok(all)
    }

    /// Runs a script in a network of fresh switches, and returns the report. The coverage of each
    /// program is added to `covered`, unless that is empty.
    pub(super) fn run(
        &self,
        programs: &[Running],
        script: ScriptFile<'_>,
        covered: &mut [Covered],
        arguments: &Arguments,
    ) -> Result<Report, Failure> {
        let options = arguments.options();
        let mut ways: Vec<Option<Way>> = vec![None];
        if arguments.path == pipeline::Path::Compiled {
            let mut all = BTreeSet::new();
            for Running { program, .. } in programs {
                all.extend(fresh(program, options, arguments)?.ways());
            }
            ways = all.into_iter().map(Some).collect();
        }
        let mut runs = Vec::new();
        for way in ways {
            let (report, digests) = self.run_on(programs, script, way, covered, arguments)?;
            let way = way.unwrap_or(Way::Interpreter);
            runs.push(Ran { way, together: false, report, digests });
        }
        Ok(of_all_ways(runs))
    }

    /// Runs a script in a network of fresh switches. `way` selects how switches execute a compiled
    /// program, if the program can be executed in that way.
    fn run_on(
        &self,
        programs: &[Running],
        ScriptFile { path, script, .. }: ScriptFile<'_>,
        way: Option<Way>,
        covered: &mut [Covered],
        arguments: &Arguments,
    ) -> Result<(Report, Vec<Digest>), Failure> {
        let options = arguments.options();
        let mut network = Network::default();
        for (index, (name, switch)) in self.read.switches.iter().enumerate() {
            let running = programs.iter().find(|one| one.switches.contains(&index));
            let Some(Running { program, .. }) = running else { continue };
            // The commands come first, as in the tutorials.
            let files = switch.cli_input.iter().chain(&switch.runtime_json);
            let files: Vec<PathBuf> =
                files.map(|file| self.beside(file)).collect::<Result<_, _>>()?;
            let (own, of_files) = with_entries(program, &files, options, way, arguments)?;
            let at = network.switch(name, own);
            let mut queues = Configuration::default();
            queues.0.extend(of_files.into_iter().flat_map(|of_file| of_file.0));
            // Queues that the topology configures replace those of the switch's file of entries.
            queues.0.extend(switch.queues.0.clone());
            network.set_queues(at, queues);
        }
        self.connect(&mut network);
        let report = run_network_covered(&mut network, script, options, covered).map_err(
            |(line, error)| Failure::input(format!("{}:{line}: {error}", path.display())),
        )?;
        let mut digests = Vec::new();
        for index in 0..self.read.switches.len() {
            digests.extend(network.switch_mut(index).into_iter().flat_map(Switch::take_digests));
        }
        Ok((report, digests))
    }

    /// Connects the switches of a network, which must have been added in the order of the file, and
    /// declares its ports to the outside.
    pub(crate) fn connect(&self, network: &mut Network) {
        for [one, other] in &self.read.links {
            if let (Some(one), Some(other)) = (self.end(one), self.end(other)) {
                network.link(one, other);
            }
        }
        for (number, end, name) in self.outside() {
            network.outside(number, end, name);
        }
        // A port without an attachment is created so that packets can leave by it.
        for (name, index) in self.read.switches.keys().zip(0_usize..) {
            for port in 0..PORTS {
                let end = End { switch: index, port };
                if !self.is_attached(end) {
                    network.outside(number(end), end, format!("{name}-p{port}"));
                }
            }
        }
    }

    /// Writes a capture into `directory` for each port of each switch and each direction.
    pub(super) fn captures(&self, directory: &Path, report: &Report) -> Result<(), Failure> {
        let name = |End { switch, port }| format!("{}-p{port}", self.switch(switch));
        captures::write(directory, [&report.entered, &report.left], name)
    }

    /// Returns the path of the topology file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name of the switch with this index in the topology.
    pub(super) fn switch(&self, index: usize) -> &str {
        self.read.switches.keys().nth(index).map_or("", String::as_str)
    }

    /// Returns the path of the program file that the topology names for a switch.
    fn program(&self, file: &str) -> Result<PathBuf, Failure> {
        self.beside(file).map_err(|failure| match program::is_compiled(Path::new(file)) {
            true => Failure::input(format!(
                "{failure}; planimeter compile SOURCE.p4 --ir {file} makes it of its source"
            )),
            false => failure,
        })
    }

    /// Finds a file that the topology names, and returns its path. The name may be relative to the
    /// directory of the topology, to the parent of that directory, or to the current directory.
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

    /// Returns the switch ports to which a host is attached: the number of each port in scripts,
    /// the end of the link at the switch, and the name of the host.
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

    /// Returns the number that a port such as `s1-p9` has in scripts. Returns `None` if there is no
    /// such switch, or something is attached to the port.
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

/// Splits a text into the blanks at its start, its first word, and the rest.
fn next_word(text: &str) -> (&str, &str, &str) {
    let start = text.len() - text.trim_start().len();
    let (blanks, rest) = text.split_at(start);
    let (word, behind) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
    (blanks, word, behind)
}

/// Returns whether two paths lead to the same existing file.
fn is_same(one: &Path, other: &Path) -> bool {
    let [one, other] = [one, other].map(std::fs::canonicalize);
    matches!((one, other), (Ok(one), Ok(other)) if one == other)
}

fn number(end: End) -> u32 {
    u32::try_from(end.switch + 1).unwrap_or(u32::MAX).saturating_mul(PORTS).saturating_add(end.port)
}
