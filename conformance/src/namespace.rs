//! Hosts of tests: network namespaces with virtual cables between them.

use std::process::{Command, Output};

use packetio::namespace::{Namespace, NamespaceError};

/// The MTU of a cable, in bytes.
const MTU: u32 = 1500;

/// Namespaces by names and the cables between them; dropping it removes them.
#[derive(Debug)]
pub struct Lab {
    namespaces: Vec<(String, Namespace)>,
}

impl Lab {
    /// A lab with one namespace, that of the switch, `s`. Returns nothing if namespaces cannot be made here, and says so
    /// past the test harness; a test then has nothing to do.
    ///
    /// # Panics
    ///
    /// If they cannot be made and `PLANIMETER_REQUIRE_PEERS` is 1.
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

    /// Adds a namespace with loopback up. That of the switch, `s`, is there from the start.
    ///
    /// # Panics
    ///
    /// When it cannot be made.
    pub fn add(&mut self, name: &str) {
        self.try_add(name).expect("a namespace was made before");
    }

    fn try_add(&mut self, name: &str) -> Result<(), NamespaceError> {
        self.namespaces.push((name.to_owned(), Namespace::new()?));
        Ok(())
    }

    /// Lays a cable between interfaces of two namespaces, which it makes; both are up.
    ///
    /// # Panics
    ///
    /// When that is not possible.
    pub fn cable(&self, (name, interface): (&str, &str), (other, peer): (&str, &str)) {
        let (here, there) = (self.namespace(name), self.namespace(other));
        here.link(interface, there, peer, MTU).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Runs `ip` in a namespace.
    ///
    /// # Panics
    ///
    /// When it fails.
    pub fn configure(&self, name: &str, arguments: &str) {
        self.namespace(name).ip(arguments).unwrap_or_else(|error| panic!("{error}"));
    }

    /// A program to be run in a namespace.
    ///
    /// # Panics
    ///
    /// When there is no such namespace.
    pub fn command(&self, name: &str, program: impl AsRef<std::ffi::OsStr>) -> Command {
        self.namespace(name).command(program)
    }

    /// A command that was made for elsewhere, in a namespace.
    pub fn within(&self, name: &str, inner: &Command) -> Command {
        let mut command = self.command(name, inner.get_program());
        command.args(inner.get_args());
        command
    }

    /// Runs a program in a namespace to its end and returns what it printed.
    ///
    /// # Panics
    ///
    /// When it does not run.
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
