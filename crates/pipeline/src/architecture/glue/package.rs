//! The blocks of a package, and the parameters that an architecture gives them.

/// The parsers and controls of a package, in its order.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) blocks: &'static [Block],
}

/// A parser or control of a package.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) stage: Stage,
    /// The roles of its parameters, without the packet.
    pub(crate) parameters: &'static [Role],
}

/// The stage of a packet's way that a block is. The main control of PNA is its ingress.
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

/// The role of a parameter. Parameters of one role have one place if they have one type: a block
/// finds there what the block before left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Headers,
    Metadata,
    /// What ingress says about the packet.
    Says,
    /// What blocks are told and say of the packet, in one.
    Standard,
    EgressHeaders,
    EgressMetadata,
    /// What egress says about the packet.
    EgressSays,
    /// What the block is told of the packet, in a place of its own.
    Told,
    /// Any other value, in a place of its own.
    Own,
}

impl Role {
    /// Whether parameters of this role have one place.
    pub(crate) fn is_shared(self) -> bool {
        !matches!(self, Self::Told | Self::Own)
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
