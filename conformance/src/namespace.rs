//! The hosts of tests: network namespaces with virtual cables between them.

use std::process::{Command, Output};

use packetio::namespace::{Namespace, NamespaceError};

/// The MTU of a cable, in bytes.
const MTU: u32 = 1500;

/// Named network namespaces and the virtual cables between them. Dropping the lab removes both.
#[derive(Debug)]
pub struct Lab {
    namespaces: Vec<(String, Namespace)>,
}

impl Lab {
    /// Creates a lab with a single namespace, which is named `s` and contains the switch. Returns
    /// `None` if namespaces cannot be created on this machine. The test must then return, and a
    /// message that the test harness does not capture reports that it was skipped.
    ///
    /// # Panics
    ///
    /// Panics if namespaces cannot be created and `PLANIMETER_REQUIRE_PEERS` is 1.
    pub fn new() -> Option<Self> {
        let mut lab = Self { namespaces: Vec::new() };
        match lab.try_add("s") {
            Ok(()) => Some(lab),
            Err(why) => {
                crate::peer::skip(&format!("network namespaces cannot be made here: {why}"));
                None
            }
        }
    }

    /// Adds a namespace whose loopback interface is up. The switch's namespace, `s`, exists from
    /// the start.
    ///
    /// # Panics
    ///
    /// Panics if the namespace cannot be created.
    pub fn add(&mut self, name: &str) {
        self.try_add(name).expect("a namespace was made before");
    }

    fn try_add(&mut self, name: &str) -> Result<(), NamespaceError> {
        self.namespaces.push((name.to_owned(), Namespace::new()?));
        Ok(())
    }

    /// Connects two namespaces by a cable (a veth pair). Each end is given as the name of its
    /// namespace and the name of the interface that is created there. Both interfaces are up.
    ///
    /// # Panics
    ///
    /// Panics if the interfaces cannot be created.
    pub fn cable(&self, (name, interface): (&str, &str), (other, peer): (&str, &str)) {
        let (here, there) = (self.namespace(name), self.namespace(other));
        here.link(interface, there, peer, MTU).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Runs `ip` in a namespace.
    ///
    /// # Panics
    ///
    /// Panics if the command fails.
    pub fn configure(&self, name: &str, arguments: &str) {
        self.namespace(name).ip(arguments).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Returns the command that runs a program in a namespace.
    ///
    /// # Panics
    ///
    /// Panics if there is no such namespace.
    pub fn command(&self, name: &str, program: impl AsRef<std::ffi::OsStr>) -> Command {
        self.namespace(name).command(program)
    }

    /// Returns a command that runs another command in a namespace.
    pub fn within(&self, name: &str, inner: &Command) -> Command {
        let mut command = self.command(name, inner.get_program());
        command.args(inner.get_args());
        command
    }

    /// Runs a program in a namespace to its end and returns its output.
    ///
    /// # Panics
    ///
    /// Panics if the program cannot be run.
    pub fn run(&self, name: &str, program: &str, arguments: &str) -> Output {
        let mut command = self.command(name, "timeout");
        command.args(["--kill-after=1", "30", program]).args(arguments.split_whitespace());
        command.output().expect("ip runs")
    }

    fn namespace(&self, name: &str) -> &Namespace {
        let found = self.namespaces.iter().find(|(known, _)| known == name);
        &found.unwrap_or_else(|| panic!("no namespace {name} was added")).1
    }
}
