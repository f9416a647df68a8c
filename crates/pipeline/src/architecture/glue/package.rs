//! The blocks of a package, and the parameters that an architecture passes to them.

/// The parsers and controls of a package, in the order of its arguments.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) blocks: &'static [Block],
}

/// A parser or control of a package.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) stage: Stage,
    /// The roles of the block's parameters, except for the packet itself.
    pub(crate) parameters: &'static [Role],
}

/// The stage of packet processing that a block of the package implements. The main control of PNA
/// counts as ingress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Parser,
    Verify,
    Pre,
    Ingress,
    IngressDeparser,
    EgressParser,
    Egress,
    Update,
    Deparser,
}

/// The role of a block's parameter. Parameters with the same role and type share their storage, so
/// that a block finds the values that the previous block left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Headers,
    Metadata,
    /// The output metadata of ingress, by which it decides about the packet.
    Decides,
    /// Metadata that are both input and output of blocks.
    Standard,
    EgressHeaders,
    EgressMetadata,
    /// The output metadata of egress, by which it decides about the packet.
    EgressDecides,
    /// The input metadata of the block, in storage of their own.
    Received,
    /// Any other value, in storage of its own.
    Own,
}

impl Role {
    /// Returns whether parameters with this role and the same type share their storage.
    pub(crate) fn is_shared(self) -> bool {
        !matches!(self, Self::Received | Self::Own)
    }
}

impl Package {
    /// Returns the position in the package of the block that implements a stage, if there is one.
    pub(crate) fn position(&self, stage: Stage) -> Option<usize> {
        self.blocks.iter().position(|block| block.stage == stage)
    }

    /// Returns the position in the package of the block that implements a stage, and the position
    /// of its first parameter with one of the given roles.
    pub(crate) fn parameter(&self, stage: Stage, roles: &[Role]) -> Option<(usize, usize)> {
        let position = self.position(stage)?;
        let mut parameters = self.blocks.get(position)?.parameters.iter();
        Some((position, parameters.position(|role| roles.contains(role))?))
    }
}
