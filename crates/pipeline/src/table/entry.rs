//! The entries of tables as the control plane sees them: their matches, and the actions that they
//! run.

use super::shape::KeyShape;
use crate::error::ControlError;
use crate::layout::Layout;
use crate::value::Value;
use ir::bits::Bits;
use ir::{self, ActionId, KeySet, MatchKind};
use std::time::Duration;

/// An entry of a table, as the control plane writes and reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableEntry {
    /// The match for each key of the table, in order. It is [`FieldMatch::Any`] for selector keys.
    pub matches: Vec<FieldMatch>,
    /// The priority. If several entries match, the one with the largest priority wins. It is zero
    /// in tables that have only exact and lpm keys.
    pub priority: u32,
    /// The action that runs on a hit.
    pub action: EntryAction,
    /// The time without a hit after which the entry times out. `None` if it does not time out.
    pub idle_timeout: Option<Duration>,
}

/// The match for one key of an entry. Values of enumerations and errors are represented by their
/// position, in 32 bits, and `bool` by one bit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FieldMatch {
    /// The key equals this value.
    Exact(Bits),
    /// The key has this prefix.
    Lpm {
        /// The prefix. The bits after it are zero.
        value: Bits,
        /// The length of the prefix in bits. Zero matches every key.
        prefix_length: u32,
    },
    /// The key equals a value under a mask.
    Ternary {
        /// The value. Bits outside the mask are zero.
        value: Bits,
        /// The mask. The bits that are set in it are compared.
        mask: Bits,
    },
    /// The key is in a range. Both ends belong to the range, and values are ordered as in the key's
    /// type.
    Range {
        /// The smallest value of the range.
        low: Bits,
        /// The largest value of the range.
        high: Bits,
    },
    /// Any key matches. This stands for an lpm, ternary, range or optional key that the entry
    /// leaves out, and for all selector keys.
    Any,
}

/// The action, member or group that an entry runs when a packet hits it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryAction {
    /// An action with its arguments.
    Action(ActionCall),
    /// The member of the table's action profile with this identifier.
    Member(u32),
    /// The group of the table's action selector with this identifier.
    Group(u32),
    /// A group of actions that belongs to this entry alone (one-shot action selector programming).
    OneShot(Vec<WeightedAction>),
}

/// An action with the values of its control-plane parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionCall {
    /// The action that is called.
    pub action: ActionId,
    /// The value of each parameter that the control plane sets, in order.
    pub arguments: Vec<Value>,
}

/// A member of a one-shot group, which belongs to a single entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightedAction {
    /// The action that runs if the hash chooses this member.
    pub action: ActionCall,
    /// The weight of the member, at least 1. The hash chooses members in proportion to it.
    pub weight: u32,
    /// The port that must be up for the member to be chosen, if any.
    pub watch_port: Option<u32>,
}

/// A group of an action selector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// The members. The switch orders them by their identifiers, and a hash chooses a position in
    /// that order.
    pub members: Vec<GroupMember>,
    /// The maximum sum of the members' weights. Zero stands for no limit.
    pub max_size: u32,
}

/// A member of a group, with its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupMember {
    /// The identifier of the member.
    pub member: u32,
    /// The weight of the member, at least 1. The hash chooses members in proportion to it.
    pub weight: u32,
    /// The port that must be up for the member to be chosen, if any.
    pub watch_port: Option<u32>,
}

impl FieldMatch {
    /// Returns whether a packet with this key value matches.
    #[must_use]
    pub fn matches(&self, key: &Bits) -> bool {
        match self {
            Self::Exact(value) => value.compare(key).is_eq(),
            Self::Lpm { value, prefix_length } => {
                key.matches_under(value, &Bits::prefix_mask(key.width(), *prefix_length))
            }
            Self::Ternary { value, mask } => key.matches_under(value, mask),
            Self::Range { low, high } => key.compare(low).is_ge() && key.compare(high).is_le(),
            Self::Any => true,
        }
    }

    pub(super) fn prefix_length(&self) -> u64 {
        match self {
            Self::Lpm { prefix_length, .. } => u64::from(*prefix_length),
            _ => 0,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Exact(_) => "exact",
            Self::Lpm { .. } => "lpm",
            Self::Ternary { .. } => "ternary",
            Self::Range { .. } => "range",
            Self::Any => "left out",
        }
    }

    /// Checks the match against a key of a table. Returns its canonical form, with values of the
    /// key's type.
    pub(crate) fn checked(&self, key: &KeyShape) -> Result<Self, ControlError> {
        let invalid = |reason| ControlError::MatchValue { key: key.name.clone(), reason };
        Ok(match (&key.kind, self) {
            (MatchKind::Exact | MatchKind::Optional | MatchKind::Other(_), Self::Exact(value)) => {
                Self::Exact(key.fit(value)?)
            }
            (MatchKind::Lpm, Self::Lpm { value, prefix_length }) => {
                if *prefix_length > key.width {
                    return Err(invalid("the prefix is longer than the key"));
                }
                if *prefix_length == 0 {
                    return Ok(Self::Any);
                }
                let mask = Bits::prefix_mask(key.width, *prefix_length);
                let value = key.fit(value)?;
                if value != value.bit_and(&mask) {
                    return Err(invalid("bits are set after the prefix"));
                }
                Self::Lpm { value, prefix_length: *prefix_length }
            }
            (MatchKind::Ternary, Self::Ternary { value, mask }) => {
                let (value, mask) = (key.fit(value)?, key.fit(mask)?);
                if value != value.bit_and(&mask) {
                    return Err(invalid("bits are set outside the mask"));
                }
                if mask.is_zero() { Self::Any } else { Self::Ternary { value, mask } }
            }
            (MatchKind::Range, Self::Range { low, high }) => {
                let (low, high) = (key.fit(low)?, key.fit(high)?);
                if low.compare(&high).is_gt() {
                    return Err(invalid("the range ends before it starts"));
                }
                let all = low == Bits::minimum(key.width, key.signed)
                    && high == Bits::maximum(key.width, key.signed);
                if all { Self::Any } else { Self::Range { low, high } }
            }
            (MatchKind::Exact, Self::Any) => {
                return Err(invalid("an exact key needs a value"));
            }
            (_, Self::Any) => Self::Any,
            (kind, found) => {
                return Err(ControlError::MatchKind {
                    key: key.name.clone(),
                    expected: format!("{kind:?}").to_lowercase(),
                    found: found.kind(),
                });
            }
        })
    }
}

/// Converts an action call that the program declares for a table, in an entry or as the default
/// action. Returns `None` if the program is damaged.
pub(super) fn from_program(
    layout: &Layout,
    table: &ir::Table,
    call: &ir::ActionCall,
) -> Option<ActionCall> {
    let action_id = table.actions.get(call.position as usize)?.action;
    let action = layout.program.actions.get(action_id.index())?;
    let arguments = action
        .control_plane_parameters()
        .zip(&call.arguments)
        .map(|(parameter, value)| layout.constant(parameter.type_id, value))
        .collect::<Option<Vec<_>>>()?;
    Some(ActionCall { action: action_id, arguments })
}

/// Returns the matches of an entry that the program declares, or `None` if the program is damaged.
pub(super) fn matches_from_program(
    layout: &Layout,
    keys: &[KeyShape],
    table: &ir::Table,
    entry: &ir::Entry,
) -> Option<Vec<FieldMatch>> {
    let mut sets = entry.key_sets.iter();
    keys.iter()
        .zip(&table.keys)
        .map(|(shape, key)| {
            let pattern = |value: &ir::Value| {
                let value = layout.constant(key.expression.type_id, value)?;
                Some(value.to_pattern()?.cast(shape.width, shape.signed))
            };
            let Some(set) = sets.next() else { return Some(FieldMatch::Any) };
            Some(match (set, &shape.kind) {
                (_, MatchKind::Selector) | (KeySet::Any | KeySet::ValueSet(_), _) => {
                    FieldMatch::Any
                }
                (KeySet::Exact(value), MatchKind::Lpm) => {
                    FieldMatch::Lpm { value: pattern(value)?, prefix_length: shape.width }
                }
                (KeySet::Exact(value), MatchKind::Ternary) => FieldMatch::Ternary {
                    value: pattern(value)?,
                    mask: Bits::ones(shape.width, shape.signed),
                },
                (KeySet::Exact(value), MatchKind::Range) => {
                    FieldMatch::Range { low: pattern(value)?, high: pattern(value)? }
                }
                (KeySet::Exact(value), _) => FieldMatch::Exact(pattern(value)?),
                (KeySet::Mask { value, mask }, kind) => {
                    let mask = pattern(mask)?;
                    let value = pattern(value)?.bit_and(&mask);
                    match (kind, prefix_of(&mask)) {
                        (_, Some(0)) => FieldMatch::Any,
                        (MatchKind::Lpm, Some(prefix_length)) => {
                            FieldMatch::Lpm { value, prefix_length }
                        }
                        _ => FieldMatch::Ternary { value, mask },
                    }
                }
                (KeySet::Range { low, high }, _) => {
                    FieldMatch::Range { low: pattern(low)?, high: pattern(high)? }
                }
            })
        })
        .collect()
}

/// Returns the length of the prefix that a mask selects, or `None` if its set bits do not form a
/// prefix.
fn prefix_of(mask: &Bits) -> Option<u32> {
    let length = (0..mask.width()).rev().take_while(|position| mask.bit(*position)).count() as u32;
    let prefix = Bits::prefix_mask(mask.width(), length);
    mask.compare(&prefix.cast(mask.width(), mask.is_signed())).is_eq().then_some(length)
}

/// Formats the match in the usual notation of tools: `0x0a`, `0x0a000000/8`, `0x1&&&0xf`, `1..5`,
/// `*`.
impl std::fmt::Display for FieldMatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exact(value) => write!(f, "{value:#x}"),
            Self::Lpm { value, prefix_length } => write!(f, "{value:#x}/{prefix_length}"),
            Self::Ternary { value, mask } => write!(f, "{value:#x}&&&{mask:#x}"),
            Self::Range { low, high } => write!(f, "{low}..{high}"),
            Self::Any => f.write_str("*"),
        }
    }
}
