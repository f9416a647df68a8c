//! The blocks of a package, and the parameters that an architecture passes to them.

/// The parsers and controls of a package, in its order.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) blocks: &'static [Block],
}

/// A parser or control of a package.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) stage: Stage,
    /// The roles of the block's parameters, without the packet.
    pub(crate) parameters: &'static [Role],
}

/// The stage of packet processing that a block implements. The main control of PNA is its ingress.
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

/// The role of a parameter. Parameters with the same role and type share their storage, so that a
/// block finds the values that the previous block left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Headers,
    Metadata,
    /// The output metadata of ingress.
    Decides,
    /// Metadata that are both input and output of blocks.
    Standard,
    EgressHeaders,
    EgressMetadata,
    /// The output metadata of egress.
    EgressDecides,
    /// The input metadata of the block, in storage of their own.
    Received,
    /// Any other value, in storage of its own.
    Own,
}

impl Role {
    /// Whether parameters of this role share their storage.
    pub(crate) fn is_shared(self) -> bool {
        !matches!(self, Self::Received | Self::Own)
    }
}

impl Package {
    /// Returns the position of a stage's block, if the package has one.
    pub(crate) fn position(&self, stage: Stage) -> Option<usize> {
        self.blocks.iter().position(|block| block.stage == stage)
    }

    /// Returns the positions of a stage's block and of its first parameter with one of these roles.
    pub(crate) fn parameter(&self, stage: Stage, roles: &[Role]) -> Option<(usize, usize)> {
        let position = self.position(stage)?;
        let mut parameters = self.blocks.get(position)?.parameters.iter();
        Some((position, parameters.position(|role| roles.contains(role))?))
    }
}
