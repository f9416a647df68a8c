//! Tests of several controllers of one switch, of links that go down, and of packets that leave by
//! ports.
//!
//! A switch has the state of one controller's connection at a time. `swap` exchanges it for the
//! state of another connection, a [`Channel`], before that controller's messages are processed.

use openflow::v1_3::{
    Action, ControllerRole, FlowMod, Instruction, Match, Message, MultipartRequestBody, PacketOut,
    PortState, RoleMessage,
};

use super::*;

/// Returns a switch that runs its flow tables and keeps the packets that it sends out of ports.
fn running(version: Version) -> OpenFlowSwitch {
    let options =
        SwitchOptions { flow_tables: FlowTables::Run, table_size: 10, ..options(version) };
    let mut switch = ready_with(options);
    switch.hand_out();
    switch
}

/// Requests a role for the current controller, and checks that the switch grants it.
fn role(switch: &mut OpenFlowSwitch, role: ControllerRole, generation_id: u64) {
    let request = RoleMessage { role, generation_id };
    let (_, answers) = ask(switch, Message::RoleRequest(request));
    assert_eq!(answers, [Message::RoleReply(RoleMessage { role, generation_id })]);
}

fn forward(port: u32) -> FlowMod {
    let output = Action::output(PortNumber(port));
    FlowMod::add(Match::any(), vec![Instruction::ApplyActions(vec![output])])
}

#[test]
fn a_slave_cannot_change_the_switch_and_receives_only_port_status() {
    let mut switch = running(Version::V1_3);
    let mut other = Channel::new(&switch.options);
    role(&mut switch, ControllerRole::MASTER, 1);
    assert!(switch.sends_packet_ins());
    // The other controller connects and requests to be the master, with a newer generation.
    switch.swap(&mut other);
    assert_eq!(switch.role(), Role::Equal);
    let config = v1_0::SwitchConfig { flags: FragmentHandling::NORMAL, miss_send_len: 128 };
    let mut controller = Handshake::controller(&[Version::V1_3], config);
    let (mut up, mut down) = (Vec::new(), Vec::new());
    switch.opened(0, &mut up);
    controller.start(&mut down);
    while !(up.is_empty() && down.is_empty()) {
        for frame in frames(&std::mem::take(&mut down)) {
            switch.receive(&frame, 0, &mut up).expect("a session");
        }
        for frame in frames(&std::mem::take(&mut up)) {
            controller.receive(&frame, &mut down).expect("a session");
        }
    }
    role(&mut switch, ControllerRole::MASTER, 2);
    switch.swap(&mut other);
    assert_eq!(switch.role(), Role::Master);
    // The owner of the connections makes the first controller a slave.
    switch.swap(&mut other);
    let mut first = Channel::new(&switch.options);
    std::mem::swap(&mut first, &mut other);
    first.demote();
    switch.swap(&mut first);
    assert_eq!(switch.role(), Role::Slave);
    assert!(!switch.sends_packet_ins());
    let (received, answers) = ask(&mut switch, Message::FlowMod(forward(2)));
    assert_eq!(received, Received::refused());
    assert_eq!(error(&answers), Some(ErrorReason::BadRequestIsSlave));
    assert_eq!(switch.entries(), 0);
    let packet_out = PacketOut {
        buffer_id: BufferId::NO_BUFFER,
        in_port: PortNumber::CONTROLLER,
        actions: vec![Action::output(PortNumber(3))],
        data: vec![5; 60],
    };
    let (received, answers) = ask(&mut switch, Message::PacketOut(packet_out));
    assert_eq!(error(&answers), Some(ErrorReason::BadRequestIsSlave));
    assert_eq!(received, Received::Nothing, "a packet-out is no rule");
    let mut out = Vec::new();
    assert!(switch.port_status(1, &mut out));
    // The master's rules are visible to both controllers.
    switch.swap(&mut first);
    let (received, _) = ask(&mut switch, Message::FlowMod(forward(2)));
    assert_eq!(received, Received::installed(1));
    switch.swap(&mut first);
    assert_eq!(switch.entries(), 1);
}

#[test]
fn packets_leave_by_ports_whose_link_is_up() {
    let mut switch = running(Version::V1_3);
    ask(&mut switch, Message::FlowMod(forward(PortNumber::FLOOD.0)));
    let enter = |switch: &mut OpenFlowSwitch| {
        let fate = switch.packet(Arriving::aside(1, &[7; 60]), SECOND, &mut Vec::new());
        assert_eq!(fate, Fate::Forwarded);
        switch.take_left().iter().map(|left| left.port).collect::<Vec<_>>()
    };
    assert_eq!(enter(&mut switch), [2, 3]);
    switch.set_link(2, false);
    assert_eq!(enter(&mut switch), [3]);
    switch.set_link(2, true);
    assert_eq!(enter(&mut switch), [2, 3]);
    assert_eq!(switch.take_left(), []);
}

#[test]
fn a_packet_out_leaves_by_its_ports_in_both_versions() {
    let mut switch = running(Version::V1_3);
    let packet_out = PacketOut {
        buffer_id: BufferId::NO_BUFFER,
        in_port: PortNumber::CONTROLLER,
        actions: vec![Action::output(PortNumber(3)), Action::output(PortNumber(9))],
        data: vec![5; 60],
    };
    let mut frame = Vec::new();
    Message::PacketOut(packet_out).encode(Xid(1), &mut frame).expect("a message");
    switch.packet_out(&frame, 0, &mut Vec::new());
    assert_eq!(switch.take_left(), [Left { port: 3, frame: vec![5; 60] }]);

    let mut switch = running(Version::V1_0);
    let packet_out = v1_0::PacketOut {
        buffer_id: BufferId::NO_BUFFER,
        in_port: v1_0::PortNo(2),
        actions: vec![v1_0::Action::output(v1_0::PortNo::FLOOD)],
        data: vec![5; 60],
    };
    let mut frame = Vec::new();
    v1_0::Message::PacketOut(packet_out).encode(Xid(1), &mut frame).expect("a message");
    switch.packet_out(&frame, 0, &mut Vec::new());
    let ports: Vec<u16> = switch.take_left().iter().map(|left| left.port).collect();
    assert_eq!(ports, [1, 3]);
}

#[test]
fn a_link_that_is_down_is_in_port_status_and_port_descriptions_in_both_versions() {
    let mut switch = running(Version::V1_3);
    switch.set_link(2, false);
    let mut out = Vec::new();
    assert!(switch.port_status(2, &mut out));
    let (_, message) = v1_3::Message::decode(&out).expect("a message");
    let Message::PortStatus(status) = message else { panic!("{message:?}") };
    assert_eq!((status.desc.port_no, status.desc.state), (PortNumber(2), PortState::LINK_DOWN));
    let request = MultipartRequest::from(MultipartRequestBody::PortDesc);
    let (_, answers) = ask(&mut switch, Message::MultipartRequest(request));
    let [Message::MultipartReply(reply)] = answers.as_slice() else { panic!("{answers:?}") };
    let MultipartReplyBody::PortDesc(ports) = &reply.body else { panic!("{reply:?}") };
    let down = |state: &PortState| *state == PortState::LINK_DOWN;
    assert_eq!(
        ports.iter().map(|port| down(&port.state)).collect::<Vec<_>>(),
        [false, true, false]
    );

    let mut switch = running(Version::V1_0);
    switch.set_link(3, false);
    let mut out = Vec::new();
    assert!(switch.port_status(3, &mut out));
    let (_, message) = v1_0::Message::decode(&out).expect("a message");
    let v1_0::Message::PortStatus(status) = message else { panic!("{message:?}") };
    assert_eq!((status.desc.port_no.0, status.desc.state), (3, v1_0::PortState::LINK_DOWN));
}
