//! What an entry does on a hit: one call, a member, a group, or a group of its own.

use crate::scalar::Value;
use crate::schema::{ActionId, ActionProfileId, ParamId};

/// An action with a value for every parameter of the control plane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionCall {
    /// The action.
    pub action: ActionId,
    /// One for each parameter, by identifier.
    pub arguments: Box<[Argument]>,
}

/// The value of one parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// The parameter.
    pub param: ParamId,
    /// Its value.
    pub value: Value,
}

/// A member of an action profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId(pub u32);

/// A group of an action selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

/// What an entry does on a hit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableAction {
    /// An action.
    Call(ActionCall),
    /// What this member of the table's action profile does.
    Member(MemberId),
    /// What one of the members of this group does.
    Group(GroupId),
    /// What one of these actions does.
    OneShot(Box<OneShot>),
}

/// A group that comes with an entry (specification of P4Runtime 1.5, "One Shot Action Selector
/// Programming").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneShot {
    /// The actions to choose from.
    pub members: Vec<OneShotMember>,
    /// For the whole group.
    pub group_action: Option<ActionCall>,
    /// How a member is chosen.
    pub mode: SelectionMode,
    /// What the size of the group counts, as the controller says.
    pub counts: SizeCounts,
    /// Its size, in what it counts.
    pub size: u64,
}

/// One of the actions of a one-shot group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneShotMember {
    /// The action.
    pub action: ActionCall,
    /// How often it is chosen in relation to others; 0 where the selector sets weights itself.
    pub weight: u32,
    /// The port that has to be up.
    pub watch: Watch,
}

/// How a one-shot group chooses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SelectionMode {
    /// As the selector does.
    #[default]
    Selector,
    /// By the hash of what the program says.
    Hash,
    /// At random.
    Random,
}

/// What the size of a one-shot group counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SizeCounts {
    /// What the selector counts.
    #[default]
    Selector,
    /// The weights of its members.
    Weights,
    /// Its members.
    Members,
}

/// A port in the form in which the control plane wrote it: it reads what it wrote.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Port {
    /// A number (P4Runtime before 1.4).
    Number(u32),
    /// A byte string without leading zeros, or a name where ports are translated to strings.
    Bytes(Box<[u8]>),
}

impl Port {
    /// The number of the port, if its name is one.
    #[must_use]
    pub fn number(&self) -> Option<u32> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Bytes(bytes) => u32::try_from(crate::value::decode(bytes)?).ok(),
        }
    }
}

/// The port that a member of a group needs up to be chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Watch {
    /// None.
    #[default]
    Nothing,
    /// By the number of P4Runtime before 1.4, which may be negative.
    Number(i32),
    /// By its byte string.
    Port(Box<[u8]>),
}

/// A member of an action profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The action profile.
    pub profile: ActionProfileId,
    /// Its identifier.
    pub id: MemberId,
    /// What it does. A deletion needs none.
    pub action: Option<ActionCall>,
}

/// A group of an action selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The action selector.
    pub profile: ActionProfileId,
    /// Its identifier.
    pub id: GroupId,
    /// Who is in it, each once.
    pub members: Box<[GroupMember]>,
    /// The size that it will not exceed, 0 if the controller does not say.
    pub max_size: u32,
    /// Its size, in what the selector counts.
    pub size: u64,
}

/// A member of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupMember {
    /// The member.
    pub member: MemberId,
    /// How often it is chosen in relation to others; 0 where the selector sets weights itself.
    pub weight: u32,
    /// The port that has to be up.
    pub watch: Watch,
}
