//! The blocks of a package, and the parameters that an architecture passes to them.

/// The parsers and controls of a package, in the order of its arguments.
#[derive(Debug)]
pub struct Package {
    /// The blocks, in the order of the package's arguments.
    pub blocks: &'static [Block],
}

/// A parser or control of a package.
#[derive(Debug)]
pub struct Block {
    /// The stage that the block implements.
    pub stage: Stage,
    /// The roles of the block's parameters, except for the packet itself.
    pub parameters: &'static [Role],
}

/// The stage of packet processing that a block of the package implements. The main control of PNA
/// counts as ingress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The parser of received packets.
    Parser,
    /// The verification of checksums (v1model).
    Verify,
    /// The pre control (PNA).
    Pre,
    /// The control before the queues of ports.
    Ingress,
    /// The deparser of packets that leave ingress (PSA).
    IngressDeparser,
    /// The parser of packets that enter egress (PSA).
    EgressParser,
    /// The control after the queues of ports.
    Egress,
    /// The update of checksums (v1model).
    Update,
    /// The deparser of packets that leave the switch.
    Deparser,
}

/// The role of a block's parameter. Parameters with the same role and type share their storage, so
/// that a block finds the values that the previous block left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The headers.
    Headers,
    /// The user's metadata.
    Metadata,
    /// The output metadata of ingress, such as the output port, by which ingress decides about the
    /// packet.
    Decides,
    /// Metadata that are both input and output of blocks.
    Standard,
    /// The headers in egress, if they are not those of ingress.
    EgressHeaders,
    /// The user's metadata in egress, if they are not those of ingress.
    EgressMetadata,
    /// The output metadata of egress, such as a request to drop the packet.
    EgressDecides,
    /// Metadata that the architecture passes only to this block.
    Received,
    /// Any other value. It is not passed on to other blocks.
    Own,
}

impl Role {
    /// Returns whether parameters with this role and the same type share their storage.
    #[must_use]
    pub fn is_shared(self) -> bool {
        !matches!(self, Self::Received | Self::Own)
    }
}

impl Package {
    /// Returns the position in the package of the block that implements a stage, if there is one.
    #[must_use]
    pub fn position(&self, stage: Stage) -> Option<usize> {
        self.blocks.iter().position(|block| block.stage == stage)
    }

    /// Returns the position in the package of the block that implements a stage, and the position
    /// of its first parameter with one of the given roles.
    #[must_use]
    pub fn parameter(&self, stage: Stage, roles: &[Role]) -> Option<(usize, usize)> {
        let position = self.position(stage)?;
        let mut parameters = self.blocks.get(position)?.parameters.iter();
        Some((position, parameters.position(|role| roles.contains(role))?))
    }
}
