//! Tests of the constraints on entries and actions, on a switch and in batches.

use super::batch::contents;
use super::*;
use crate::proto::config::P4Info;
use crate::proto::v1::write_request::Atomicity;

/// Returns the P4Info of the tests with constraints on the table `acl` and the action `forward`.
fn restricted() -> P4Info {
    let text = include_str!("../../../tests/data/everything.p4info.txtpb");
    let mut p4info: P4Info = text::parse(text).unwrap();
    let acl = p4info
        .tables
        .iter_mut()
        .find_map(|table| table.preamble.as_mut().filter(|preamble| preamble.id == ACL));
    acl.unwrap().annotations.push(
        "@entry_restriction(\"\n  // TCP has ports.\n  dport::low != 0 -> protocol == 6;\n  \
         source::mask != 0 -> ::priority >= 10;\n\")"
            .into(),
    );
    let forward = p4info
        .actions
        .iter_mut()
        .find_map(|action| action.preamble.as_mut().filter(|preamble| preamble.id == FORWARD));
    let forward = &mut forward.unwrap().annotations;
    forward.push("@action_restriction(\"port != 0 && port != 511\")".into());
    p4info
}

fn switch() -> Switch {
    Switch { store: Store::new(Schema::new(restricted()).unwrap()) }
}

fn acl(priority: i32, r#match: Vec<v1::FieldMatch>, port: u8) -> v1::TableEntry {
    let action = action(FORWARD, &[&[port]]);
    v1::TableEntry { table_id: ACL, r#match, action, priority, ..v1::TableEntry::default() }
}

fn refused(switch: &mut Switch, kind: Type, entity: impl Into<Entity>) -> String {
    let before = contents(&switch.store);
    let error = switch.store.write(&update(kind, entity), T0).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    assert_eq!(contents(&switch.store), before, "a refused write changes nothing");
    error.message().to_owned()
}

#[test]
fn entries_meet_the_constraint_of_their_table() {
    let mut switch = switch();
    let ports = || range(2, &[80], &[90]);
    assert_eq!(
        refused(&mut switch, Type::Insert, acl(1, vec![ports()], 1)),
        "table 'ingress.acl': the constraint `dport::low != 0 -> protocol == 6` does not hold for \
         dport = 0x50..0x5a, protocol = any"
    );
    assert_eq!(
        refused(&mut switch, Type::Insert, acl(1, vec![optional(3, &[17]), ports()], 1)),
        "table 'ingress.acl': the constraint `dport::low != 0 -> protocol == 6` does not hold for \
         dport = 0x50..0x5a, protocol = 0x11"
    );
    let tcp = acl(1, vec![optional(3, &[6]), ports()], 1);
    assert_eq!(switch.insert(tcp.clone()), Ok(()));
    let from = |priority| acl(priority, vec![ternary(1, &[10, 0, 0, 0], &[255, 0, 0, 0])], 1);
    assert_eq!(
        refused(&mut switch, Type::Insert, from(9)),
        "table 'ingress.acl': the constraint `source::mask != 0 -> ::priority >= 10` does not hold \
         for source = 0xa000000 &&& 0xff000000, priority = 9"
    );
    assert_eq!(switch.insert(from(10)), Ok(()));
    // The key of a deletion need not satisfy the constraint; there is no such entry.
    assert_eq!(switch.delete(from(9)), Err(Code::NotFound));
    assert_eq!(switch.delete(tcp), Ok(()));
}

#[test]
fn calls_meet_the_constraint_of_their_action_wherever_they_are() {
    let mut switch = switch();
    let constraint =
        "action 'ingress.forward': the constraint `port != 0` does not hold for port = 0";
    let within = |table| format!("table 'ingress.{table}': {constraint}");
    assert_eq!(refused(&mut switch, Type::Insert, acl(1, vec![], 0)), within("acl"));
    assert_eq!(switch.insert(acl(1, vec![], 1)), Ok(()));
    assert_eq!(refused(&mut switch, Type::Modify, acl(1, vec![], 0)), within("acl"));
    assert_eq!(switch.modify(acl(1, vec![], 2)), Ok(()));
    // A default entry has no key, so the constraint of the table does not concern it.
    let default = |port: u8| default_entry(ACL, action(FORWARD, &[&[port]]));
    assert_eq!(refused(&mut switch, Type::Modify, default(0)), within("acl"));
    assert_eq!(switch.modify(default(9)), Ok(()));

    let member = |port: &[u8]| v1::ActionProfileMember {
        action_profile_id: PROFILE,
        member_id: 1,
        action: Some(call(FORWARD, &[port])),
    };
    assert_eq!(refused(&mut switch, Type::Insert, member(&[0])), constraint);
    assert_eq!(switch.insert(member(&[1])), Ok(()));
    assert_eq!(
        refused(&mut switch, Type::Modify, member(&[1, 255])),
        "action 'ingress.forward': the constraint `port != 511` does not hold for port = 0x1ff"
    );

    // One-shot groups of these tests forward to ports 1, 2, ...
    let one_shot = |ports: [u8; 2]| {
        let mut action = one_shot(&[1, 1]);
        if let Some(ActionType::ActionProfileActionSet(set)) =
            action.as_mut().and_then(|action| action.r#type.as_mut())
        {
            for (member, port) in set.action_profile_actions.iter_mut().zip(ports) {
                member.action = Some(call(FORWARD, &[&[port]]));
            }
        }
        keyed(WEIGHTED, 7, action)
    };
    assert_eq!(refused(&mut switch, Type::Insert, one_shot([1, 0])), within("weighted"));
    assert_eq!(switch.insert(one_shot([1, 2])), Ok(()));
}

#[test]
fn a_broken_constraint_undoes_an_atomic_batch_and_only_one_update_of_another() {
    let updates = [
        update(Type::Insert, acl(1, vec![], 1)),
        update(Type::Insert, acl(2, vec![range(2, &[80], &[90])], 1)),
        update(Type::Insert, acl(3, vec![], 1)),
    ];
    for atomicity in [Atomicity::RollbackOnError, Atomicity::DataplaneAtomic] {
        let mut switch = switch();
        let before = contents(&switch.store);
        let outcomes = switch.store.write_batch(&updates, atomicity, T0);
        let codes: Vec<Code> =
            outcomes.into_iter().map(|outcome| outcome.unwrap_err().code()).collect();
        assert_eq!(codes, [Code::Aborted, Code::InvalidArgument, Code::Aborted]);
        assert_eq!(contents(&switch.store), before);
    }
    let mut switch = switch();
    let outcomes = switch.store.write_batch(&updates, Atomicity::ContinueOnError, T0);
    let accepted: Vec<bool> = outcomes.iter().map(Result::is_ok).collect();
    assert_eq!(accepted, [true, false, true]);
    assert_eq!(
        switch.entries(v1::TableEntry { table_id: ACL, ..Default::default() }).unwrap().len(),
        2
    );
}

#[test]
fn a_p4info_with_a_wrong_constraint_is_refused_with_its_place() {
    let refused = |annotation: &str| {
        let mut p4info = restricted();
        p4info.tables[1].preamble.as_mut().unwrap().annotations = vec![annotation.into()];
        Schema::new(p4info).unwrap_err().to_string()
    };
    assert_eq!(
        refused("@entry_restriction(\"dport::low == 1;\n  proto == 6\")"),
        "table 'ingress.acl': @entry_restriction, line 2, column 3: the table has no key `proto`"
    );
    assert_eq!(
        refused("@entry_restriction(dport == 1)"),
        "table 'ingress.acl': @entry_restriction, line 1, column 1: the annotation takes one string"
    );
}

/// A translated key is compared with the string that the program assigns to a number.
#[test]
fn constraints_know_the_strings_of_a_translation() {
    let mut p4info = restricted();
    let named = p4info
        .tables
        .iter_mut()
        .find_map(|table| table.preamble.as_mut().filter(|preamble| preamble.id == NAMED));
    let annotations = &mut named.unwrap().annotations;
    annotations.push("@entry_restriction(\"interface != 0 && peer != 3\")".into());
    let types = &mut p4info.type_info.get_or_insert_default().new_types;
    let pairs = "@p4runtime_translation_mappings({ { \"lo\" , 0 } , { \"peer-3\" , 3 } })";
    types.get_mut("name_t").unwrap().annotations.push(pairs.into());
    let schema = Schema::new(p4info).unwrap();
    let mut switch = Switch { store: Store::new(schema) };
    let named = |interface: &[u8], peer: &[u8]| v1::TableEntry {
        table_id: NAMED,
        r#match: vec![exact(1, interface), optional(2, peer)],
        action: action(TO_INTERFACE, &[b"eth0"]),
        priority: 1,
        ..v1::TableEntry::default()
    };
    assert_eq!(
        refused(&mut switch, Type::Insert, named(b"lo", b"x")),
        "table 'ingress.named': the constraint `interface != 0` does not hold for interface = 'lo'"
    );
    assert_eq!(
        refused(&mut switch, Type::Insert, named(b"eth0", b"peer-3")),
        "table 'ingress.named': the constraint `peer != 3` does not hold for peer = 'peer-3'"
    );
    assert_eq!(switch.insert(named(b"eth0", b"peer-4")), Ok(()));
}
