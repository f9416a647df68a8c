//! Tests of finding packets that take the slow path of a program.

use p4lang::preprocess::{MemoryFiles, Options};

use super::*;

const L2: &str = include_str!("../../../../../../programs/l2.p4");

fn program(text: &str) -> Program {
    let compiled =
        p4lang::compile_text("program.p4", text, &Options::default(), &MemoryFiles::default());
    compiled.program.expect("it is valid")
}

fn wires(ports: std::ops::RangeInclusive<u32>) -> Vec<Wire> {
    ports.map(|number| Wire(format!("{number}@lo").parse().expect("a port"))).collect()
}

fn made(text: &str, cpu_port: u32) -> Traffic {
    made_with(text, cpu_port, wires(1..=3))
}

fn made_with(text: &str, cpu_port: u32, wires: Vec<Wire>) -> Traffic {
    let place = Place { table: None, cpu_port };
    make(program(text), wires, place).unwrap_or_else(|_| panic!("its packets can be made"))
}

#[test]
fn a_default_action_sends_packets_to_the_controller_and_an_entry_forwards_them() {
    let found = made(L2, 255);
    assert_eq!(found.lacks, Vec::<String>::new());
    let default = found.default_entry.expect("the program drops packets");
    let Some(v1::table_action::Type::Action(action)) =
        default.action.and_then(|action| action.r#type)
    else {
        panic!("the entry has an action")
    };
    // send_to_cpu
    assert_eq!((action.action_id, action.params.len()), (0x0100_0002, 0));
    assert_eq!((default.is_default_action, default.r#match.len()), (true, 0));
    assert_eq!(found.beside, []);
    assert_eq!(found.packets.flows.len(), FLOWS);
    for flow in &found.packets.flows {
        assert_eq!((flow.port, flow.egress, &flow.before), (1, 2, &None));
    }
    // egress_port, and zero in the others.
    let values: Vec<&[u8]> = found.metadata.iter().map(|field| &field.value[..]).collect();
    let port = found.packets.from_controller.expect("a packet").port;
    assert_eq!((port, values), (2, vec![&[2][..], &[0], &[0]]));
}

#[test]
fn a_program_of_psa_shows_all_parts() {
    let text = include_str!("../../../../../dut/tests/psa_controller.p4");
    let found = made(text, 0xffff_fffd);
    assert_eq!(found.lacks, Vec::<String>::new());
    assert_eq!((found.default_entry, found.packets.flows.len()), (None, FLOWS));
    let values: Vec<&[u8]> = found.metadata.iter().map(|field| &field.value[..]).collect();
    assert_eq!(values, [&[2][..]]);
}

#[test]
fn entries_send_packets_to_the_controller_if_the_default_action_cannot() {
    let constant = L2.replace("default_action = drop();", "const default_action = drop();");
    let found = made(&constant, 255);
    assert_eq!(found.lacks, Vec::<String>::new());
    assert_eq!((found.default_entry, found.beside.len()), (None, 1));
    assert_eq!(found.packets.flows.len(), FLOWS - 1);
    for flow in &found.packets.flows {
        let before = flow.before.as_ref().expect("an entry to the controller");
        assert_eq!(before.r#match, flow.entry.r#match);
        assert_ne!(before.action, flow.entry.action);
    }
}

#[test]
fn what_a_program_does_not_show_is_named() {
    let another_port = made(L2, 254).lacks;
    assert_eq!(another_port.len(), 2, "{another_port:?}");
    assert!(another_port[0].contains("reaches the controller by port 254"), "{another_port:?}");
    let learning = made(include_str!("../../../../../../programs/learning_switch.p4"), 255);
    assert!(learning.lacks[0].contains("no header packet_in"), "{:?}", learning.lacks);
    assert!(learning.lacks[1].contains("no header packet_out"), "{:?}", learning.lacks);
    assert_eq!((learning.packets.to_controller, learning.packets.flows.len()), (None, 0));
    let unconnected = made_with(L2, 255, wires(2..=3)).lacks;
    assert!(unconnected[0].contains("port 1, which is not among --port"), "{unconnected:?}");
}

#[test]
fn a_flag_of_the_metadata_is_found() {
    // Packets of the controller are dropped unless a bit says that they are meant so.
    let guarded = L2
        .replace(
            "@id(3) bit<6> _pad;\n}\n\nheader ethernet_t",
            "@id(3) bit<1> is_meant;\n @id(4) bit<5> _pad;\n}\n\nheader ethernet_t",
        )
        .replace("headers.packet_out.egress_port == FLOOD_PORT", "headers.packet_out.is_meant == 0")
        .replace("standard.mcast_grp = FLOOD_GROUP;", "mark_to_drop(standard);");
    let found = made(&guarded, 255);
    let values: Vec<&[u8]> = found.metadata.iter().map(|field| &field.value[..]).collect();
    assert_eq!(values, [&[2][..], &[0], &[1], &[0]]);
}
