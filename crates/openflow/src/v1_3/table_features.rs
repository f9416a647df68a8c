//! The features of flow tables, which a switch reports and which a controller may request to
//! change: `ofp_table_features` (specification 1.3.5, section 7.3.5.5).

use super::actions::ActionType;
use super::codec::{Wire, begin, end_then_pad, padding, put_u16, put_u32, refuse_known, tlv};
use super::instructions::InstructionType;
use super::oxm::OxmId;
use super::tables::TableId;
use crate::FixedText;
use crate::cursor::Reader;
use crate::error::{DecodeError, DecodeErrorKind, EncodeError};
use crate::structure::Field;

structure! {
    /// A table and its features.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub struct TableFeatures = "ofp_table_features" {
        counts length >= 64;
        /// The table's id.
        pub table_id: TableId; pad 5,
        /// The table's name, of at most 31 bytes.
        pub name: FixedText<32>,
        /// The bits of the metadata register that the table can match.
        pub metadata_match: u64,
        /// The bits of the metadata register that the table can write.
        pub metadata_write: u64,
        /// Configuration bits that only earlier versions of OpenFlow defined.
        pub config: u32,
        /// The largest number of entries.
        pub max_entries: u32,
        /// The properties of the table. If a type of property is absent, the table supports nothing
        /// of this kind. If only its counterpart for the table-miss entry (`..Miss`) is absent, the
        /// property also applies to the table-miss entry.
        pub properties: Vec<TableFeatureProperty>,
    }
}

impl TableFeatures {
    /// Creates the features of a table with this name and size. The table can match and write all
    /// bits of the metadata, and supports nothing else until properties are added. The name is
    /// truncated to 31 bytes.
    pub fn new(table_id: TableId, name: &str, max_entries: u32) -> Self {
        Self {
            table_id,
            name: FixedText::truncated(name),
            metadata_match: u64::MAX,
            metadata_write: u64::MAX,
            config: 0,
            max_entries,
            properties: Vec::new(),
        }
    }
}

open_enum! {
    /// The type of a table property (`ofp_table_feature_prop_type`). A type with `MISS` concerns
    /// the table-miss entry, and the other types concern all entries.
    pub TableFeaturePropertyType: u16 {
        /// The instructions that entries can have.
        INSTRUCTIONS = 0,
        /// The instructions that the table-miss entry can have.
        INSTRUCTIONS_MISS = 1,
        /// The tables to which entries can send packets next.
        NEXT_TABLES = 2,
        /// The tables to which the table-miss entry can send packets next.
        NEXT_TABLES_MISS = 3,
        /// The actions that entries can write to the action set.
        WRITE_ACTIONS = 4,
        /// The actions that the table-miss entry can write to the action set.
        WRITE_ACTIONS_MISS = 5,
        /// The actions that entries can apply immediately.
        APPLY_ACTIONS = 6,
        /// The actions that the table-miss entry can apply immediately.
        APPLY_ACTIONS_MISS = 7,
        /// The fields that can be matched.
        MATCH = 8,
        /// The fields that a match may leave out.
        WILDCARDS = 10,
        /// The fields that entries can set in the action set.
        WRITE_SETFIELD = 12,
        /// The fields that the table-miss entry can set in the action set.
        WRITE_SETFIELD_MISS = 13,
        /// The fields that entries can set immediately.
        APPLY_SETFIELD = 14,
        /// The fields that the table-miss entry can set immediately.
        APPLY_SETFIELD_MISS = 15,
        /// A property of entries that an experimenter defines.
        EXPERIMENTER = 0xfffe,
        /// A property of the table-miss entry that an experimenter defines.
        EXPERIMENTER_MISS = 0xffff,
    }
}

/// The type of an instruction or action without its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FeatureId {
    /// The type of the instruction or action.
    pub kind: u16,
    /// The experimenter's id, if an experimenter defines the type. The encoding then has eight
    /// bytes instead of four.
    pub experimenter: Option<u32>,
}

impl From<InstructionType> for FeatureId {
    fn from(kind: InstructionType) -> Self {
        Self { kind: kind.0, experimenter: None }
    }
}

impl From<ActionType> for FeatureId {
    fn from(kind: ActionType) -> Self {
        Self { kind: kind.0, experimenter: None }
    }
}

impl Wire for FeatureId {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let start = *reader;
        let (kind, mut body) = tlv(reader, 4, "table feature id.len")?;
        let experimenter = match body.remaining() {
            0 => None,
            4 => Some(body.u32("table feature id.experimenter")?),
            more => {
                let kind = DecodeErrorKind::Length { value: more + 4, min: 4, max: 8 };
                return Err(start.error("table feature id.len", kind));
            }
        };
        Ok(Self { kind, experimenter })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        put_u16(out, self.kind);
        match self.experimenter {
            None => put_u16(out, 4),
            Some(experimenter) => {
                put_u16(out, 8);
                put_u32(out, experimenter);
            }
        }
        Ok(())
    }
}

structure! {
    /// A property of a table that an experimenter defines, `ofp_table_feature_prop_experimenter`.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub struct ExperimenterProperty = "ofp_table_feature_prop_experimenter" {
        /// The experimenter's id.
        pub experimenter: u32,
        /// The type of the property, in the experimenter's numbering.
        pub exp_type: u32,
        /// The bytes of the property after its experimenter type.
        pub data: Vec<u8>,
    }
}

/// Declares the variants of table properties, and the lists that they contain.
macro_rules! properties {
    ($( $(#[$meta:meta])* $constant:ident $variant:ident($held:ty), )*) => {
        /// A property of a table (`ofp_table_feature_prop_header`).
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum TableFeatureProperty {
            $( $(#[$meta])* $variant($held), )*
            /// A property of a type that the specification does not define.
            Unknown {
                /// The type of the property.
                kind: TableFeaturePropertyType,
                /// The bytes of the property after its type and length.
                data: Vec<u8>,
            },
        }

        impl TableFeatureProperty {
            /// Returns the type of the property.
            pub const fn kind(&self) -> TableFeaturePropertyType {
                match self {
                    $( Self::$variant(_) => TableFeaturePropertyType::$constant, )*
                    Self::Unknown { kind, .. } => *kind,
                }
            }

            fn decode_body(
                kind: TableFeaturePropertyType,
                body: &mut Reader<'_>,
            ) -> Result<Self, DecodeError> {
                Ok(match kind {
                    $( TableFeaturePropertyType::$constant => {
                        Self::$variant(Field::read(body, "property")?)
                    } )*
                    kind => Self::Unknown { kind, data: body.rest().to_vec() },
                })
            }

            fn encode_body(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
                match self {
                    $( Self::$variant(held) => Field::write(held, out), )*
                    Self::Unknown { kind, data } => {
                        let known = kind.name().is_some();
                        refuse_known(kind.0, known, "ofp_table_feature_prop_header.type")?;
                        out.extend_from_slice(data);
                        Ok(())
                    }
                }
            }
        }
    };
}

properties! {
    /// The instructions that entries can have.
    INSTRUCTIONS Instructions(Vec<FeatureId>),
    /// The instructions that the table-miss entry can have.
    INSTRUCTIONS_MISS InstructionsMiss(Vec<FeatureId>),
    /// The tables to which entries can send packets next.
    NEXT_TABLES NextTables(Vec<TableId>),
    /// The tables to which the table-miss entry can send packets next.
    NEXT_TABLES_MISS NextTablesMiss(Vec<TableId>),
    /// The actions that entries can write to the action set.
    WRITE_ACTIONS WriteActions(Vec<FeatureId>),
    /// The actions that the table-miss entry can write to the action set.
    WRITE_ACTIONS_MISS WriteActionsMiss(Vec<FeatureId>),
    /// The actions that entries can apply immediately.
    APPLY_ACTIONS ApplyActions(Vec<FeatureId>),
    /// The actions that the table-miss entry can apply immediately.
    APPLY_ACTIONS_MISS ApplyActionsMiss(Vec<FeatureId>),
    /// The fields that can be matched. The mask bit of a field is set if any mask is possible.
    MATCH Match(Vec<OxmId>),
    /// The fields that a match can leave out.
    WILDCARDS Wildcards(Vec<OxmId>),
    /// The fields that entries can set in the action set.
    WRITE_SETFIELD WriteSetField(Vec<OxmId>),
    /// The fields that the table-miss entry can set in the action set.
    WRITE_SETFIELD_MISS WriteSetFieldMiss(Vec<OxmId>),
    /// The fields that entries can set immediately.
    APPLY_SETFIELD ApplySetField(Vec<OxmId>),
    /// The fields that the table-miss entry can set immediately.
    APPLY_SETFIELD_MISS ApplySetFieldMiss(Vec<OxmId>),
    /// A property of entries that an experimenter defines.
    EXPERIMENTER Experimenter(ExperimenterProperty),
    /// A property of the table-miss entry that an experimenter defines.
    EXPERIMENTER_MISS ExperimenterMiss(ExperimenterProperty),
}

const LENGTH: &str = "ofp_table_feature_prop_header.length";

impl Wire for TableFeatureProperty {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (kind, mut body) = tlv(reader, 4, LENGTH)?;
        let length = body.remaining() + 4;
        let property = Self::decode_body(TableFeaturePropertyType(kind), &mut body)?;
        reader.skip(padding(length), "ofp_table_feature_prop_header.pad")?;
        Ok(property)
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = begin(out, self.kind().0);
        self.encode_body(out)?;
        end_then_pad(out, start, LENGTH)
    }
}

#[cfg(test)]
mod tests {
    use super::super::oxm::OxmField;
    use super::*;

    #[test]
    fn properties_are_padded_without_counting_it() {
        let mut table = TableFeatures::new(TableId(0), "first", 1000);
        table.properties = vec![
            TableFeatureProperty::NextTables(vec![TableId(1), TableId(2)]),
            TableFeatureProperty::Instructions(vec![
                InstructionType::APPLY_ACTIONS.into(),
                FeatureId { kind: 0xffff, experimenter: Some(9) },
            ]),
            TableFeatureProperty::Match(vec![
                OxmId::basic(OxmField::IN_PORT, false),
                OxmId::experimenter(9, 1, true, 12),
            ]),
            TableFeatureProperty::Experimenter(ExperimenterProperty {
                experimenter: 9,
                exp_type: 1,
                data: vec![1],
            }),
            TableFeatureProperty::Unknown { kind: TableFeaturePropertyType(9), data: vec![] },
        ];
        let mut out = Vec::new();
        table.encode(&mut out).unwrap();
        assert_eq!(out.len(), 64 + 8 + 16 + 16 + 16 + 8);
        assert_eq!(out[64..72], [0, 2, 0, 6, 1, 2, 0, 0]);
        assert_eq!(TableFeatures::decode(&mut Reader::new(&out)), Ok(table));
    }

    #[test]
    fn an_id_is_four_or_eight_bytes() {
        for bytes in [&[0, 1, 0, 6, 0, 0][..], &[0, 1, 0, 3], &[0, 1, 0, 9, 0, 0, 0, 0, 0]] {
            assert!(FeatureId::decode(&mut Reader::new(bytes)).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn a_list_must_end_with_its_property() {
        let property = [0, 8, 0, 10, 0x80, 0, 0, 4, 0x80, 0, 0, 0, 0, 0, 0, 0];
        let error = TableFeatureProperty::decode(&mut Reader::new(&property)).unwrap_err();
        assert_eq!((error.offset, error.field), (10, "oxm_id.oxm_field"));
    }
}
