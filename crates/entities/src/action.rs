//! The action of a table entry: an action call, a member, a group, or a one-shot group.

use crate::scalar::Value;
use crate::schema::{ActionId, ActionProfileId, ParamId};

/// An action with an argument for each of its control-plane parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionCall {
    /// The identifier of the called action.
    pub action: ActionId,
    /// The arguments, one for each parameter, by identifier.
    pub arguments: Box<[Argument]>,
}

/// The value of one action parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// The identifier of the parameter.
    pub param: ParamId,
    /// The value of the parameter.
    pub value: Value,
}

/// The identifier of a member of an action profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId(pub u32);

/// The identifier of a group of an action selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

/// The action of a table entry, which a packet that matches the entry runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableAction {
    /// A call of an action, with its arguments.
    Call(ActionCall),
    /// The action of this member of the table's action profile.
    Member(MemberId),
    /// The action of a member of this group. The action selector chooses the member for each
    /// packet.
    Group(GroupId),
    /// An action from a group that the entry itself contains. The action selector chooses it for
    /// each packet.
    OneShot(Box<OneShot>),
}

/// A group of actions that a table entry contains itself (specification of P4Runtime 1.5, "One Shot
/// Action Selector Programming").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneShot {
    /// The actions from which the selector chooses.
    pub members: Vec<OneShotMember>,
    /// An action for the group as a whole, if it has one.
    pub group_action: Option<ActionCall>,
    /// The method by which a member is chosen for a packet.
    pub mode: SelectionMode,
    /// The unit in which `size` is counted, as the controller declares it.
    pub counts: SizeCounts,
    /// The size of the group, in the unit that `counts` declares.
    pub size: u64,
}

/// A member of a one-shot group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneShotMember {
    /// The call of an action that is run if the member is chosen.
    pub action: ActionCall,
    /// The relative frequency with which the member is chosen, or 0 if the selector determines the
    /// weights itself.
    pub weight: u32,
    /// The port that must be up if the member is to be chosen.
    pub watch: Watch,
}

/// The method by which a one-shot group chooses a member.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SelectionMode {
    /// The method that the action selector uses for its other groups.
    #[default]
    Selector,
    /// A hash of the fields that the program names for the action selector.
    Hash,
    /// A random choice of a member.
    Random,
}

/// The unit in which the size of a one-shot group is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SizeCounts {
    /// The unit that the action selector uses for its other groups.
    #[default]
    Selector,
    /// The sum of the weights of the members.
    Weights,
    /// The number of members of the group.
    Members,
}

/// A port in the form in which the control plane wrote it. Reads return the same form.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Port {
    /// A number (P4Runtime before 1.4).
    Number(u32),
    /// A byte string without leading zeros, or a name if ports are translated to strings.
    Bytes(Box<[u8]>),
}

impl Port {
    /// Returns the number of the port, or `None` if the port is not a number of at most 32 bits.
    #[must_use]
    pub fn number(&self) -> Option<u32> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Bytes(bytes) => u32::try_from(crate::value::decode(bytes)?).ok(),
        }
    }
}

/// The port that must be up if a member of a group is to be chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Watch {
    /// No port: the member can be chosen regardless of the state of ports.
    #[default]
    Nothing,
    /// A port number of P4Runtime before 1.4, which may be negative.
    Number(i32),
    /// A port as a byte string.
    Port(Box<[u8]>),
}

/// A member of an action profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The identifier of the action profile.
    pub profile: ActionProfileId,
    /// The identifier of the member.
    pub id: MemberId,
    /// The action of the member. A deletion needs none.
    pub action: Option<ActionCall>,
}

/// A group of an action selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The identifier of the action selector.
    pub profile: ActionProfileId,
    /// The identifier of the group.
    pub id: GroupId,
    /// The members of the group, each of them once.
    pub members: Box<[GroupMember]>,
    /// The largest size of the group, or 0 if the controller does not limit it.
    pub max_size: u32,
    /// The size of the group, in the unit in which the selector counts sizes.
    pub size: u64,
}

/// A member of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupMember {
    /// The identifier of the member.
    pub member: MemberId,
    /// The relative frequency with which the member is chosen, or 0 if the selector determines the
    /// weights itself.
    pub weight: u32,
    /// The port that must be up if the member is to be chosen.
    pub watch: Watch,
}
