//! Wires for one campaign, in a network namespace of its own: what is measured meets no other traffic.

use packetio::namespace::{Namespace, NamespaceError};

/// The MTU of the wires, in bytes.
const MTU: u32 = 1500;

/// Interfaces of the generator, and of the device at their other ends.
#[derive(Debug, Clone)]
pub(super) struct Wires {
    pub(super) generator: [String; 2],
    pub(super) device: [String; 2],
}

impl Wires {
    /// Two pairs of virtual interfaces in a namespace, which the calling thread is in from now on, and so is what it
    /// starts.
    pub(super) fn lay() -> Result<(Self, Namespace), NamespaceError> {
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
