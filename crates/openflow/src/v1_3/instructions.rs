//! The instructions of flow entries: `ofp_instruction_*` (specification 1.3.5, section 7.2.4).

use super::actions::Action;
use super::codec::{
    Wire, aligned_tlv, begin, decode_list, encode_list, end_aligned, put_u32, put_u64, refuse_known,
};
use super::meters::MeterId;
use super::tables::TableId;
use crate::cursor::{Reader, pad};
use crate::error::{DecodeError, EncodeError};

open_enum! {
    /// The type of an instruction, `ofp_instruction_type`.
    pub InstructionType: u16 {
        /// Continues in another table.
        GOTO_TABLE = 1,
        /// Writes the metadata register.
        WRITE_METADATA = 2,
        /// Adds to the action set.
        WRITE_ACTIONS = 3,
        /// Applies actions immediately.
        APPLY_ACTIONS = 4,
        /// Empties the action set.
        CLEAR_ACTIONS = 5,
        /// Applies a meter.
        METER = 6,
        /// An experimenter defines the instruction.
        EXPERIMENTER = 0xffff,
    }
}

/// An instruction of a flow entry, which has at most one instruction of each type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    /// Continues in a table with a higher id.
    GotoTable(TableId),
    /// Writes bits of the metadata register.
    WriteMetadata {
        /// The value whose bits are written to the metadata register.
        metadata: u64,
        /// The bits that are written.
        mask: u64,
    },
    /// Adds actions to the packet's action set.
    WriteActions(Vec<Action>),
    /// Applies actions immediately, in order.
    ApplyActions(Vec<Action>),
    /// Empties the packet's action set.
    ClearActions,
    /// Sends the packet through a meter before the other instructions are executed.
    Meter(MeterId),
    /// An instruction that an experimenter defines.
    Experimenter {
        /// The experimenter's id.
        experimenter: u32,
        /// The bytes of the instruction after the experimenter's id. Their length must be a
        /// multiple of eight.
        data: Vec<u8>,
    },
    /// An instruction of a type that the specification does not define.
    Unknown {
        /// The type of the instruction.
        kind: InstructionType,
        /// The bytes of the instruction after its type and length. Their length must be four more
        /// than a multiple of eight.
        data: Vec<u8>,
    },
}

impl Instruction {
    /// Returns the type of the instruction.
    pub const fn kind(&self) -> InstructionType {
        match self {
            Self::GotoTable(_) => InstructionType::GOTO_TABLE,
            Self::WriteMetadata { .. } => InstructionType::WRITE_METADATA,
            Self::WriteActions(_) => InstructionType::WRITE_ACTIONS,
            Self::ApplyActions(_) => InstructionType::APPLY_ACTIONS,
            Self::ClearActions => InstructionType::CLEAR_ACTIONS,
            Self::Meter(_) => InstructionType::METER,
            Self::Experimenter { .. } => InstructionType::EXPERIMENTER,
            Self::Unknown { kind, .. } => *kind,
        }
    }
}

const LENGTH: &str = "ofp_instruction.len";

impl Wire for Instruction {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (kind, mut body) = aligned_tlv(reader, LENGTH)?;
        let instruction = match InstructionType(kind) {
            InstructionType::GOTO_TABLE => {
                let table_id = TableId(body.u8("ofp_instruction_goto_table.table_id")?);
                body.skip(3, "ofp_instruction_goto_table.pad")?;
                Self::GotoTable(table_id)
            }
            InstructionType::WRITE_METADATA => {
                body.skip(4, "ofp_instruction_write_metadata.pad")?;
                let metadata = body.u64("ofp_instruction_write_metadata.metadata")?;
                let mask = body.u64("ofp_instruction_write_metadata.metadata_mask")?;
                Self::WriteMetadata { metadata, mask }
            }
            InstructionType::WRITE_ACTIONS => Self::WriteActions(actions(&mut body)?),
            InstructionType::APPLY_ACTIONS => Self::ApplyActions(actions(&mut body)?),
            InstructionType::CLEAR_ACTIONS => {
                body.skip(4, "ofp_instruction_actions.pad")?;
                Self::ClearActions
            }
            InstructionType::METER => {
                Self::Meter(MeterId(body.u32("ofp_instruction_meter.meter_id")?))
            }
            InstructionType::EXPERIMENTER => {
                let experimenter = body.u32("ofp_instruction_experimenter.experimenter")?;
                Self::Experimenter { experimenter, data: body.rest().to_vec() }
            }
            kind => Self::Unknown { kind, data: body.rest().to_vec() },
        };
        body.finish(LENGTH)?;
        Ok(instruction)
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = begin(out, self.kind().0);
        match self {
            Self::GotoTable(table_id) => {
                out.push(table_id.0);
                pad(out, 3);
            }
            Self::WriteMetadata { metadata, mask } => {
                pad(out, 4);
                put_u64(out, *metadata);
                put_u64(out, *mask);
            }
            Self::WriteActions(actions) | Self::ApplyActions(actions) => {
                pad(out, 4);
                encode_list(actions, out)?;
            }
            Self::ClearActions => pad(out, 4),
            Self::Meter(meter_id) => put_u32(out, meter_id.0),
            Self::Experimenter { experimenter, data } => {
                put_u32(out, *experimenter);
                out.extend_from_slice(data);
            }
            Self::Unknown { kind, data } => {
                refuse_known(kind.0, kind.name().is_some(), "ofp_instruction.type")?;
                out.extend_from_slice(data);
            }
        }
        end_aligned(out, start, LENGTH)
    }
}

fn actions(body: &mut Reader<'_>) -> Result<Vec<Action>, DecodeError> {
    body.skip(4, "ofp_instruction_actions.pad")?;
    decode_list(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PortNumber;
    use crate::error::DecodeErrorKind;

    #[test]
    fn actions_nest_in_instructions() {
        let instruction =
            Instruction::ApplyActions(vec![Action::PopVlan, Action::output(PortNumber(1))]);
        let mut out = Vec::new();
        instruction.encode(&mut out).unwrap();
        assert_eq!(out[..8], [0, 4, 0, 32, 0, 0, 0, 0]);
        assert_eq!(Instruction::decode(&mut Reader::new(&out)), Ok(instruction));
        // The action claims to be longer than its instruction.
        out[11] = 32;
        let error = Instruction::decode(&mut Reader::new(&out)).unwrap_err();
        assert_eq!((error.offset, error.field), (10, "ofp_action_header.len"));
        assert_eq!(error.kind, DecodeErrorKind::Length { value: 32, min: 8, max: 24 });
    }

    #[test]
    fn lengths_are_checked() {
        for bytes in [
            &[0, 1, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..],
            &[0, 2, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0, 5, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0, 6, 0, 4],
        ] {
            assert!(Instruction::decode(&mut Reader::new(bytes)).is_err(), "{bytes:?}");
        }
    }
}
