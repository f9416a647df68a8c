//! Tests of the checks and the index of P4Info.

use super::*;
use crate::status::Code;
use crate::value::ValueType;

fn everything() -> Arc<Schema> {
    let text = include_str!("../../tests/data/everything.p4info.txtpb");
    Schema::new(text::parse(text).unwrap()).unwrap()
}

fn refused(p4info: &str) -> String {
    let error = Schema::new(text::parse(p4info).unwrap()).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    error.to_string()
}

#[test]
fn objects_are_found_by_id_name_and_alias() {
    let schema = everything();
    let table = schema.tables().by_name("acl").unwrap();
    assert_eq!(table.name, "ingress.acl");
    assert_eq!(schema.tables().by_name("ingress.acl").unwrap().id, table.id);
    assert_eq!(schema.tables().get(table.id).unwrap().alias, "acl");
    assert_eq!(schema.actions().by_name("forward").unwrap().id, ActionId(0x0100_0001));
    assert_eq!(schema.action_profiles().len(), 3);
    assert_eq!(schema.counters().by_name("hits").unwrap().size, Some(3));
    assert_eq!(schema.counters().by_name("by_name").unwrap().size, None);
    assert_eq!(schema.direct_counters().len(), 2);
    assert_eq!(schema.meters().len(), 3);
    assert_eq!(schema.direct_meters().by_name("exact_meter").unwrap().table, TableId(0x0200_0001));
    assert_eq!(
        schema.registers().by_name("flows").unwrap().data.to_string(),
        "struct of 2 members"
    );
    assert_eq!(schema.digests().by_name("learn_t").unwrap().id, DigestId(0x1700_0001));
    assert_eq!(schema.value_sets().by_name("types").unwrap().match_fields.len(), 2);
    assert_eq!(schema.externs().by_name("oracle").unwrap().type_id, ExternTypeId(0x81));
    assert_eq!(schema.p4info().pkg_info.as_ref().unwrap().name, "everything");
}

#[test]
fn tables_describe_what_updates_may_contain() {
    let schema = everything();
    let exact = schema.tables().by_name("exact").unwrap();
    assert!(!exact.needs_priority && exact.idle_timeout && !exact.is_const);
    assert_eq!(exact.size, Some(4));
    assert_eq!(exact.direct_counter, Some(DirectCounterId(0x1300_0001)));
    assert_eq!(exact.direct_meter, Some(DirectMeterId(0x1500_0001)));
    assert_eq!(exact.match_field(MatchFieldId(2)).unwrap().value.bits(), Some(48));
    assert_eq!(exact.action(ActionId(0x0100_0003)).unwrap().scope, ActionScope::TableOnly);
    assert!(exact.action(ActionId(0x0100_0005)).is_none());
    assert!(schema.tables().by_name("acl").unwrap().needs_priority);
    let constant = schema.tables().by_name("constant").unwrap();
    assert!(constant.is_const && constant.has_initial_entries && !constant.default_is_const);
    let weighted = schema.tables().by_name("weighted").unwrap();
    assert_eq!(
        weighted.implementation,
        Some(Implementation::ActionProfile(ActionProfileId(0x1100_0002)))
    );
    assert!(weighted.default_is_const);
    let strange = schema.tables().by_name("strange").unwrap();
    assert_eq!(strange.implementation, Some(Implementation::Extern(ExternId(0x8100_0001))));
    let named = schema.tables().by_name("named").unwrap();
    assert_eq!(named.match_fields[0].value, ValueType::Text);
    assert_eq!(named.match_fields[3].kind, MatchKind::Other("odd".to_owned()));
}

#[test]
fn packet_headers_are_found_by_name() {
    let schema = everything();
    let packet_in = schema.packet_in().unwrap();
    assert_eq!(packet_in.field_by_name("ingress_port").unwrap().id, MetadataId(1));
    assert_eq!(packet_in.field(MetadataId(3)).unwrap().value, ValueType::Text);
    assert_eq!(schema.packet_out().unwrap().field(MetadataId(1)).unwrap().name, "egress_port");
    assert!(Schema::new(P4Info::default()).unwrap().packet_in().is_none());
}

#[test]
fn a_translated_width_replaces_a_missing_width() {
    let p4info = "actions { preamble { id: 1 name: 'a' } params { id: 1 name: 'p' type_name { name: 'port_t' } } }
                  type_info { new_types { key: 'port_t' value { translated_type { sdn_bitwidth: 32 } } } }";
    let schema = Schema::new(text::parse(p4info).unwrap()).unwrap();
    assert_eq!(schema.actions().by_name("a").unwrap().params[0].value.bits(), Some(32));
}

#[test]
fn members_may_use_the_actions_of_the_tables_behind_them() {
    let schema = everything();
    let actions: Vec<u32> = schema
        .action_profiles()
        .by_name("by_weight")
        .unwrap()
        .actions
        .iter()
        .map(|action| action.id.0)
        .collect();
    assert_eq!(actions, [0x0100_0001, 0x0100_0002]);
    let p4info = "actions { preamble { id: 1 name: 'a' } } action_profiles { preamble { id: 2 name: 'p' } }
                  tables { preamble { id: 3 name: 't' } action_refs { id: 1 } implementation_id: 2 }";
    let schema = Schema::new(text::parse(p4info).unwrap()).unwrap();
    assert_eq!(schema.action_profiles().by_name("p").unwrap().actions.len(), 1);
}

#[test]
fn identifiers_are_present_and_unique() {
    assert_eq!(refused("tables {}"), "a table without preamble has no id");
    assert_eq!(refused("actions { preamble { name: 'a' } }"), "action 'a' has no id");
    assert_eq!(
        refused(
            "actions { preamble { id: 1 name: 'a' } } counters { preamble { id: 1 name: 'c' } }"
        ),
        "id 0x00000001 is used twice: by action 'a' and by counter 'c'"
    );
    assert_eq!(
        refused("actions { preamble { id: 1 name: 'a' } params { name: 'p' bitwidth: 1 } }"),
        "'p' of action 'a' has no id"
    );
    assert_eq!(
        refused(
            "tables { preamble { id: 1 name: 't' } match_fields { id: 2 name: 'f' bitwidth: 1 match_type: EXACT }
             match_fields { id: 2 name: 'g' bitwidth: 1 match_type: EXACT } }"
        ),
        "id 2 is used twice: by 'f' of table 't' and by 'g'"
    );
}

#[test]
fn unresolved_references_are_refused() {
    let table =
        |field: &str| refused(&format!("tables {{ preamble {{ id: 1 name: 't' }} {field} }}"));
    assert_eq!(
        table("action_refs { id: 7 }"),
        "table 't' refers to action 0x00000007, which is not in the P4Info"
    );
    assert!(table("const_default_action_id: 7").contains("action 0x00000007"));
    assert!(table("initial_default_action { action_id: 7 }").contains("action 0x00000007"));
    assert!(table("implementation_id: 7").contains("action profile or extern 0x00000007"));
    assert!(table("direct_resource_ids: 7").contains("direct resource 0x00000007"));
    assert!(
        refused("action_profiles { preamble { id: 1 } table_ids: 7 }").contains("table 0x00000007")
    );
    assert!(
        refused("direct_counters { preamble { id: 1 } direct_table_id: 7 }")
            .contains("table 0x00000007")
    );
    assert!(
        refused("direct_meters { preamble { id: 1 } direct_table_id: 7 }")
            .contains("table 0x00000007")
    );
    assert_eq!(
        refused(
            "actions { preamble { id: 2 name: 'a' } } tables { preamble { id: 1 name: 't' }
             initial_default_action { action_id: 2 arguments { param_id: 3 value: 'x' } } }"
        ),
        "table 't', initial default action refers to parameter 0x00000003, which is not in the P4Info"
    );
}

#[test]
fn invalid_numbers_and_types_are_refused() {
    let field = |field: &str| {
        refused(&format!(
            "tables {{ preamble {{ id: 1 name: 't' }} match_fields {{ id: 1 name: 'f' {field} }} }}"
        ))
    };
    assert_eq!(
        field("bitwidth: -1 match_type: EXACT"),
        "field 'f' of table 't': bitwidth is -1, which is not possible"
    );
    assert_eq!(field("bitwidth: 1"), "field 'f' of table 't': match is unset");
    assert_eq!(
        field("bitwidth: 1 match_type: UNSPECIFIED"),
        "field 'f' of table 't': match_type is unset"
    );
    assert_eq!(
        refused("counters { preamble { id: 1 name: 'c' } size: -5 }"),
        "counter 'c': size is -5, which is not possible"
    );
    assert_eq!(
        refused("action_profiles { preamble { id: 1 name: 'p' } max_group_size: -1 }"),
        "action profile 'p': max_group_size is -1, which is not possible"
    );
    assert_eq!(
        refused("registers { preamble { id: 1 name: 'r' } }"),
        "register 'r': the type is unset"
    );
    assert_eq!(
        refused("digests { preamble { id: 1 name: 'd' } type_spec { struct { name: 's' } } }"),
        "digest 'd': type_info has no struct 's'"
    );
    assert_eq!(
        refused(
            "actions { preamble { id: 2 name: 'a' } params { id: 1 name: 'p' bitwidth: 3 } }
             tables { preamble { id: 1 name: 't' }
             initial_default_action { action_id: 2 arguments { param_id: 1 value: '\\010' } } }"
        ),
        "table 't', initial default action: the value needs 4 bits, the type has 3"
    );
}
