//! The virtual wires of one campaign, in a network namespace that has no other traffic.

use packetio::namespace::{Namespace, NamespaceError};

/// The MTU of the virtual interfaces, in bytes.
const MTU: u32 = 1500;

/// The names of the virtual interfaces at the generator's ends of the wires, and at the device's
/// ends.
#[derive(Debug, Clone)]
pub(super) struct Wires {
    pub(super) generator: [String; 2],
    pub(super) device: [String; 2],
}

impl Wires {
    /// Creates two pairs of virtual interfaces in a new namespace. The calling thread enters this
    /// namespace, and processes that it starts run in it.
    pub(super) fn create() -> Result<(Self, Namespace), NamespaceError> {
        let namespace = Namespace::new()?;
        namespace.enter()?;
        let names = |end: &str| [0, 1].map(|number| format!("{end}{number}"));
        let wires = Self { generator: names("generator"), device: names("device") };
        for (here, there) in wires.generator.iter().zip(&wires.device) {
            namespace.link(here, &namespace, there, MTU)?;
        }
        Ok((wires, namespace))
    }
}
