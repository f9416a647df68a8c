//! The table features that an emulated switch reports: everything that the specification defines.

use openflow::v1_3::{
    ActionType, FeatureId, InstructionType, OxmField, OxmId, TableFeatureProperty, TableFeatures,
    TableId,
};

use super::TABLES;

pub(super) fn tables(max_entries: u32) -> Vec<TableFeatures> {
    (0..TABLES).map(|table| features(table, max_entries)).collect()
}

fn features(table: u8, max_entries: u32) -> TableFeatures {
    let instructions: Vec<FeatureId> = [
        InstructionType::GOTO_TABLE,
        InstructionType::WRITE_METADATA,
        InstructionType::WRITE_ACTIONS,
        InstructionType::APPLY_ACTIONS,
        InstructionType::CLEAR_ACTIONS,
        InstructionType::METER,
    ]
    .into_iter()
    // No table follows the last one, so it has no goto-table instruction.
    .filter(|kind| table + 1 < TABLES || *kind != InstructionType::GOTO_TABLE)
    .map(FeatureId::from)
    .collect();
    let actions: Vec<FeatureId> = [
        ActionType::OUTPUT,
        ActionType::PUSH_VLAN,
        ActionType::POP_VLAN,
        ActionType::PUSH_MPLS,
        ActionType::POP_MPLS,
        ActionType::SET_QUEUE,
        ActionType::GROUP,
        ActionType::SET_NW_TTL,
        ActionType::DEC_NW_TTL,
        ActionType::SET_FIELD,
    ]
    .into_iter()
    .map(FeatureId::from)
    .collect();
    let fields = |masked: bool| -> Vec<OxmId> {
        OxmField::ALL
            .iter()
            .map(|field| OxmId::basic(*field, masked && field.is_maskable()))
            .collect()
    };
    let next: Vec<TableId> = (table + 1..TABLES).map(TableId).collect();
    TableFeatures {
        properties: vec![
            TableFeatureProperty::Instructions(instructions),
            TableFeatureProperty::NextTables(next),
            TableFeatureProperty::WriteActions(actions.clone()),
            TableFeatureProperty::ApplyActions(actions),
            TableFeatureProperty::Match(fields(true)),
            TableFeatureProperty::Wildcards(fields(false)),
            TableFeatureProperty::WriteSetField(fields(false)),
            TableFeatureProperty::ApplySetField(fields(false)),
        ],
        ..TableFeatures::new(TableId(table), &format!("table{table}"), max_entries)
    }
}
