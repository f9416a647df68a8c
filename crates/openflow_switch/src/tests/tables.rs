//! Tests of switches that run their tables: the fate of packets, and the contents of packet-ins.

use std::net::Ipv4Addr;

use etherparse::PacketBuilder;
use openflow::v1_3::{
    Action, Bucket, FlowMod, GroupId, GroupMod, GroupModCommand, GroupType, Instruction, Match,
    MaxLen, Message, MultipartRequestBody, NO_COOKIE, Oxm, PacketIn, PacketInReason, PacketOut,
    TableId, VlanVid,
};
use proptest::prelude::*;

use super::*;

fn running(version: Version) -> OpenFlowSwitch {
    let options =
        SwitchOptions { flow_tables: FlowTables::Run, table_size: 1000, ..options(version) };
    ready_with(options)
}

fn tcp(source: u8, destination: u8, port: u16) -> Vec<u8> {
    let mut out = Vec::new();
    PacketBuilder::ethernet2([2, 0, 0, 0, 0, source], [2, 0, 0, 0, 0, destination])
        .ipv4([10, 0, 0, source], [10, 0, 0, destination], 64)
        .tcp(1024, port, 0, 0)
        .write(&mut out, &[0; 20])
        .expect("a frame");
    out
}

fn mac(last: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, last])
}

/// Passes a packet to the switch, and returns its fate and the packet-ins.
fn enter(switch: &mut OpenFlowSwitch, port: u32, frame: &[u8]) -> (Fate, Vec<PacketIn>) {
    enter_buffered(switch, BufferId::NO_BUFFER, port, frame)
}

fn enter_buffered(
    switch: &mut OpenFlowSwitch,
    buffer: BufferId,
    port: u32,
    frame: &[u8],
) -> (Fate, Vec<PacketIn>) {
    let mut out = Vec::new();
    let fate = switch.packet(arriving(buffer, port, frame), 2 * SECOND, &mut out);
    let packet_ins = frames(&out).iter().map(|frame| packet_in(frame)).collect();
    (fate, packet_ins)
}

fn arriving(buffer_id: BufferId, port: u32, frame: &[u8]) -> Arriving<'_> {
    Arriving { frame, port, xid: Xid(5), buffer_id, awaits: Some(1) }
}

fn packet_in(frame: &[u8]) -> PacketIn {
    match Message::decode(frame).expect("a message") {
        (Xid(5), Message::PacketIn(packet_in)) => packet_in,
        other => panic!("{other:?}"),
    }
}

fn install(switch: &mut OpenFlowSwitch, flow_mod: FlowMod) {
    let (received, answers) = ask(switch, Message::FlowMod(flow_mod));
    assert_eq!(received, Received::installed(1), "{answers:?}");
}

fn rule(
    table: u8,
    priority: u16,
    cookie: u64,
    rule: Match,
    instructions: Vec<Instruction>,
) -> FlowMod {
    let mut flow_mod = FlowMod::add(rule, instructions);
    flow_mod.table_id = TableId(table);
    flow_mod.priority = priority;
    flow_mod.cookie = cookie;
    flow_mod
}

fn apply(actions: Vec<Action>) -> Instruction {
    Instruction::ApplyActions(actions)
}

fn to(port: u32) -> Action {
    Action::output(PortNumber(port))
}

const TO_CONTROLLER: Action = Action::to_controller(MaxLen(40));

#[test]
fn without_a_table_miss_entry_unmatched_packets_are_dropped() {
    let mut switch = running(Version::V1_3);
    assert_eq!(enter(&mut switch, 1, &tcp(1, 2, 80)), (Fate::Dropped, vec![]));
}

#[test]
fn the_reason_of_a_packet_in_distinguishes_a_table_miss_from_an_action() {
    let mut switch = running(Version::V1_3);
    install(&mut switch, rule(0, 0, 70, Match::any(), vec![apply(vec![TO_CONTROLLER])]));
    let http = Match::any().with_eth_type(0x0800).with_ip_proto(6).with_tcp_dst(80);
    install(&mut switch, rule(0, 9, 71, http, vec![apply(vec![TO_CONTROLLER, to(2)])]));
    let frame = tcp(1, 2, 22);
    let (fate, packet_ins) = enter(&mut switch, 3, &frame);
    assert_eq!(fate, Fate::ToController);
    let expected = PacketIn {
        buffer_id: BufferId::NO_BUFFER,
        total_len: frame.len() as u16,
        reason: PacketInReason::NO_MATCH,
        table_id: TableId(0),
        cookie: 70,
        match_fields: Match::any().with_in_port(PortNumber(3)),
        data: frame,
    };
    assert_eq!(packet_ins, [expected]);
    // A buffered packet is truncated to the length that the action requests.
    let frame = tcp(1, 2, 80);
    let (_, packet_ins) = enter_buffered(&mut switch, BufferId(8), 3, &frame);
    let [packet_in] = packet_ins.as_slice() else { panic!("{packet_ins:?}") };
    assert_eq!((packet_in.reason, packet_in.cookie), (PacketInReason::ACTION, 71));
    assert_eq!((packet_in.buffer_id, packet_in.data.as_slice()), (BufferId(8), &frame[..40]));
    assert_eq!(usize::from(packet_in.total_len), frame.len());
}

#[test]
fn a_controller_that_takes_no_buffers_gets_the_whole_packet() {
    let mut switch = running(Version::V1_3);
    let whole = Action::to_controller(MaxLen::NO_BUFFER);
    install(&mut switch, rule(0, 0, 1, Match::any(), vec![apply(vec![whole])]));
    let frame = tcp(1, 2, 80);
    let (_, packet_ins) = enter_buffered(&mut switch, BufferId(8), 1, &frame);
    assert_eq!((packet_ins[0].buffer_id, &packet_ins[0].data), (BufferId::NO_BUFFER, &frame));
}

/// The tables are those of Faucet for an untagged port: VLAN, source, destination, flood.
#[test]
fn a_packet_passes_the_tables_of_faucet_with_a_pushed_tag() {
    let mut switch = running(Version::V1_3);
    let untagged = Match::any().with_in_port(PortNumber(1)).with_vlan_vid(VlanVid::UNTAGGED);
    let tag = apply(vec![
        Action::PushVlan(0x8100),
        Action::SetField(Oxm::VlanVid(VlanVid::tagged(100).into())),
    ]);
    install(&mut switch, rule(0, 20, 5, untagged, vec![Instruction::GotoTable(TableId(3)), tag]));
    let vlan = Match::any().with_vlan_vid(VlanVid::tagged(100));
    let learn = vec![apply(vec![TO_CONTROLLER]), Instruction::GotoTable(TableId(4))];
    install(&mut switch, rule(3, 10, 6, vlan.clone(), learn));
    install(&mut switch, rule(4, 10, 7, vlan.clone(), vec![apply(vec![Action::PopVlan, to(2)])]));
    let frame = tcp(1, 2, 80);
    let (fate, packet_ins) = enter(&mut switch, 1, &frame);
    assert_eq!((fate, packet_ins.len()), (Fate::ToController, 1));
    let packet_in = &packet_ins[0];
    assert_eq!((packet_in.table_id, packet_in.cookie), (TableId(3), 6));
    assert_eq!(packet_in.reason, PacketInReason::ACTION);
    assert_eq!(packet_in.data, [&frame[..12], &[0x81, 0, 0, 100], &frame[12..]].concat());
    // Once the host is known, its packets cause no packet-ins any more.
    let known = vlan.with_in_port(PortNumber(1)).with_eth_src(mac(1));
    install(&mut switch, rule(3, 11, 8, known, vec![Instruction::GotoTable(TableId(4))]));
    assert_eq!(enter(&mut switch, 1, &frame), (Fate::Forwarded, vec![]));
    assert_eq!(enter(&mut switch, 1, &tcp(3, 2, 80)).0, Fate::ToController);
    assert_eq!(enter(&mut switch, 2, &frame), (Fate::Dropped, vec![]));
    // A condition with an empty mask is none.
    let none = MacAddress([0; 6]);
    let anything = Match::any().with_eth_dst((none, none));
    let mut arp = frame.clone();
    arp[12..14].copy_from_slice(&[0x08, 0x06]);
    install(&mut switch, rule(0, 0, 9, anything, vec![apply(vec![TO_CONTROLLER])]));
    let (_, packet_ins) = enter(&mut switch, 2, &arp);
    assert_eq!((packet_ins[0].cookie, packet_ins[0].reason), (9, PacketInReason::NO_MATCH));
    // The counters of the entries can be read back.
    let length = frame.len() as u64;
    let counted: Vec<_> = flows(&mut switch)
        .iter()
        .map(|flow| (flow.cookie, flow.packet_count, flow.byte_count))
        .collect();
    assert_eq!(
        counted,
        [
            (5, 3, 3 * length),
            (6, 2, 2 * (length + 4)),
            (7, 3, 3 * (length + 4)),
            (8, 1, length + 4),
            (9, 1, length)
        ]
    );
    let tables = match multipart(&mut switch, MultipartRequestBody::Table) {
        MultipartReplyBody::Table(tables) => tables,
        other => panic!("{other:?}"),
    };
    assert_eq!((tables[0].lookup_count, tables[0].matched_count), (5, 4));
    assert_eq!((tables[3].lookup_count, tables[3].matched_count), (3, 3));
}

#[test]
fn a_rule_answers_the_packet_in_whose_sender_it_replaces() {
    let options = SwitchOptions {
        flow_tables: FlowTables::Run,
        awaiting: 10,
        table_size: 10,
        ..options(Version::V1_3)
    };
    let mut switch = ready_with(options);
    let go = |table| Instruction::GotoTable(TableId(table));
    install(&mut switch, rule(0, 0, 1, Match::any(), vec![go(1)]));
    install(&mut switch, rule(1, 5, 1, Match::any(), vec![apply(vec![TO_CONTROLLER]), go(2)]));
    for (sequence, source) in [(7, 1), (8, 2), (9, 1)] {
        let frame = tcp(source, 3, 80);
        let awaits = Some(sequence);
        let packet = Arriving { awaits, ..arriving(BufferId::NO_BUFFER, 1, &frame) };
        assert_eq!(switch.packet(packet, 0, &mut Vec::new()), Fate::ToController);
    }
    // The rule that leads to the host is not the one that admits it.
    install(&mut switch, rule(2, 9, 2, Match::any().with_eth_dst(mac(1)), vec![]));
    assert!(switch.answered_by_rules().is_empty());
    let learned = Match::any().with_in_port(PortNumber(1)).with_eth_src(mac(1));
    install(&mut switch, rule(1, 6, 2, learned.clone(), vec![go(2)]));
    assert_eq!(switch.answered_by_rules(), [7, 9]);
    install(&mut switch, rule(1, 6, 3, learned, vec![go(2)]));
    assert!(switch.answered_by_rules().is_empty());
}

#[test]
fn counters_outlive_their_entry_unless_they_are_reset() {
    let mut switch = running(Version::V1_3);
    let counted = |switch: &mut OpenFlowSwitch| flows(switch)[0].packet_count;
    let resetting = |command| {
        let mut flow_mod = rule(0, 1, 1, Match::any(), vec![]);
        flow_mod.command = command;
        flow_mod.flags = v1_3::FlowModFlags::RESET_COUNTS;
        flow_mod
    };
    for command in [v1_3::FlowModCommand::ADD, v1_3::FlowModCommand::MODIFY_STRICT] {
        install(&mut switch, rule(0, 1, 1, Match::any(), vec![apply(vec![to(2)])]));
        assert_eq!(enter(&mut switch, 1, &tcp(1, 2, 80)).0, Fate::Forwarded);
        install(&mut switch, rule(0, 1, 1, Match::any(), vec![]));
        assert_eq!(counted(&mut switch), 1);
        install(&mut switch, resetting(command));
        assert_eq!(counted(&mut switch), 0);
    }
}

#[test]
fn metadata_goes_from_table_to_table_and_to_the_controller() {
    let mut switch = running(Version::V1_3);
    let write = |metadata, mask| Instruction::WriteMetadata { metadata, mask };
    let go = |table| Instruction::GotoTable(TableId(table));
    install(&mut switch, rule(0, 1, 1, Match::any(), vec![write(0xabcd, 0xff00), go(1)]));
    install(&mut switch, rule(1, 1, 2, Match::any(), vec![write(0x0077, 0x00ff), go(2)]));
    let seen = Match::any().with_metadata((0xab70, 0xfff0));
    install(&mut switch, rule(2, 1, 3, seen, vec![apply(vec![TO_CONTROLLER])]));
    let (_, packet_ins) = enter(&mut switch, 1, &tcp(1, 2, 80));
    assert_eq!(packet_ins[0].match_fields.metadata().map(|m| m.value), Some(0xab77));
    assert_eq!(packet_ins[0].in_port(), Some(PortNumber(1)));
}

#[test]
fn the_action_set_is_executed_in_its_order_at_the_end() {
    let mut switch = running(Version::V1_3);
    let write = |actions| Instruction::WriteActions(actions);
    let first = vec![
        TO_CONTROLLER,
        Action::SetField(Oxm::EthDst(mac(9).into())),
        Action::SetField(Oxm::VlanVid(VlanVid::tagged(5).into())),
    ];
    let go = |table| Instruction::GotoTable(TableId(table));
    install(&mut switch, rule(0, 1, 1, Match::any(), vec![write(first), go(1)]));
    let second = vec![Action::SetField(Oxm::EthDst(mac(8).into())), Action::PushVlan(0x8100)];
    install(&mut switch, rule(1, 1, 2, Match::any(), vec![write(second)]));
    let frame = tcp(1, 2, 80);
    let (_, packet_ins) = enter(&mut switch, 1, &frame);
    let packet_in = &packet_ins[0];
    assert_eq!(packet_in.data[..16], [2, 0, 0, 0, 0, 8, 2, 0, 0, 0, 0, 1, 0x81, 0, 0, 5]);
    assert_eq!((packet_in.table_id, packet_in.cookie), (TableId(1), NO_COOKIE));
    assert_eq!(packet_in.reason, PacketInReason::ACTION);
    // An entry that clears the action set leaves nothing of it.
    install(&mut switch, rule(1, 2, 3, Match::any(), vec![Instruction::ClearActions]));
    assert_eq!(enter(&mut switch, 1, &frame), (Fate::Dropped, vec![]));
}

#[test]
fn groups_choose_their_buckets() {
    let mut switch = running(Version::V1_3);
    let group = |id, group_type, buckets| {
        Message::GroupMod(GroupMod {
            command: GroupModCommand::ADD,
            group_type,
            group_id: GroupId(id),
            buckets,
        })
    };
    let tagged = |vlan| {
        vec![
            Action::PushVlan(0x8100),
            Action::SetField(Oxm::VlanVid(VlanVid::tagged(vlan).into())),
            TO_CONTROLLER,
        ]
    };
    let weighted = |weight, vlan| Bucket { weight, ..Bucket::new(tagged(vlan)) };
    let watching =
        |port, vlan| Bucket { watch_port: PortNumber(port), ..Bucket::new(tagged(vlan)) };
    ask(
        &mut switch,
        group(1, GroupType::ALL, vec![Bucket::new(tagged(1)), Bucket::new(tagged(2))]),
    );
    ask(&mut switch, group(2, GroupType::INDIRECT, vec![Bucket::new(tagged(3))]));
    ask(
        &mut switch,
        group(3, GroupType::SELECT, vec![weighted(1, 4), weighted(0, 5), weighted(1, 6)]),
    );
    ask(&mut switch, group(4, GroupType::FAST_FAILOVER, vec![watching(99, 7), watching(2, 8)]));
    let chained = Bucket::new(vec![Action::Group(GroupId(2)), to(2)]);
    ask(&mut switch, group(5, GroupType::ALL, vec![chained]));
    for port in 1..=5 {
        let instructions = vec![apply(vec![Action::Group(GroupId(port)), to(3)])];
        install(
            &mut switch,
            rule(0, 1, 9, Match::any().with_in_port(PortNumber(port)), instructions),
        );
    }
    let mut vlans = |port, frame: &[u8]| -> Vec<u8> {
        let (_, packet_ins) = enter(&mut switch, port, frame);
        for packet_in in &packet_ins {
            assert_eq!((packet_in.cookie, packet_in.reason), (NO_COOKIE, PacketInReason::ACTION));
            assert_eq!(packet_in.data[12..14], [0x81, 0]);
        }
        packet_ins.iter().map(|packet_in| packet_in.data[15]).collect()
    };
    let frame = tcp(1, 2, 80);
    assert_eq!(vlans(1, &frame), [1, 2]);
    assert_eq!(vlans(2, &frame), [3]);
    assert_eq!(vlans(4, &frame), [8]);
    assert_eq!(vlans(5, &frame), [3]);
    // Flows are spread over the buckets with nonzero weight, and each flow keeps its bucket.
    let mut chosen = std::collections::BTreeMap::new();
    for port in 0..200 {
        let frame = tcp(1, 2, port);
        let bucket = vlans(3, &frame);
        assert_eq!(bucket, vlans(3, &frame));
        *chosen.entry(bucket).or_insert(0) += 1;
    }
    assert_eq!(chosen.keys().cloned().collect::<Vec<_>>(), [vec![4], vec![6]]);
    assert!(chosen.values().all(|count| *count > 50), "{chosen:?}");
    let statistics = match multipart(&mut switch, MultipartRequestBody::Group(GroupId::ALL)) {
        MultipartReplyBody::Group(groups) => groups,
        other => panic!("{other:?}"),
    };
    let packets: Vec<_> = statistics.iter().map(|group| group.packet_count).collect();
    assert_eq!(packets, [1, 2, 400, 1, 1]);
    let buckets: Vec<_> = statistics[0].buckets.iter().map(|bucket| bucket.packet_count).collect();
    assert_eq!(buckets, [1, 1]);
    assert_eq!(statistics[0].byte_count, frame.len() as u64);
}

#[test]
fn groups_that_refer_to_each_other_terminate() {
    let mut switch = running(Version::V1_3);
    let calls = |id: u32| vec![Bucket::new(vec![Action::Group(GroupId(id)), to(2)]); 100];
    for (command, id) in [(GroupModCommand::ADD, 1), (GroupModCommand::ADD, 2)] {
        let group_type = GroupType::ALL;
        let group_mod =
            GroupMod { command, group_type, group_id: GroupId(id), buckets: calls(3 - id) };
        ask(&mut switch, Message::GroupMod(group_mod));
    }
    let instructions = vec![apply(vec![Action::Group(GroupId(1))])];
    install(&mut switch, rule(0, 1, 1, Match::any(), instructions));
    assert_eq!(enter(&mut switch, 1, &tcp(1, 2, 80)).1, []);
}

#[test]
fn a_packet_out_to_the_tables_runs_through_them() {
    let mut switch = running(Version::V1_3);
    let rewritten = Match::any().with_in_port(PortNumber(2)).with_eth_dst(mac(7));
    install(&mut switch, rule(0, 1, 4, rewritten, vec![apply(vec![TO_CONTROLLER])]));
    let packet_out = |actions| {
        let message = PacketOut::unbuffered(PortNumber(2), actions, tcp(1, 2, 80));
        let mut bytes = Vec::new();
        Message::PacketOut(message).encode(Xid(1), &mut bytes).expect("a message");
        bytes
    };
    let rewrite = Action::SetField(Oxm::EthDst(mac(7).into()));
    let mut out = Vec::new();
    switch.packet_out(&packet_out(vec![to(1), rewrite.clone()]), 0, &mut out);
    assert!(out.is_empty());
    let through = vec![rewrite, Action::output(PortNumber::TABLE)];
    switch.packet_out(&packet_out(through), 0, &mut out);
    let (_, message) = Message::decode(&out).expect("a message");
    assert!(matches!(message, Message::PacketIn(packet_in) if packet_in.cookie == 4));
    assert_eq!(flows(&mut switch)[0].packet_count, 1);
}

/// Checks that the actions after an output to the tables are executed. The packet-out's own outputs
/// to the controller and to groups act as those of a table entry do.
#[test]
fn all_actions_of_a_packet_out_are_executed() {
    let mut switch = running(Version::V1_3);
    install(&mut switch, rule(0, 1, 4, Match::any(), vec![apply(vec![TO_CONTROLLER])]));
    let bucket = Bucket::new(vec![to(3)]);
    let group = GroupMod {
        command: GroupModCommand::ADD,
        group_type: GroupType::INDIRECT,
        group_id: GroupId(1),
        buckets: vec![bucket],
    };
    ask(&mut switch, Message::GroupMod(group));
    let rewrite = |last| Action::SetField(Oxm::EthDst(mac(last).into()));
    let through = || Action::output(PortNumber::TABLE);
    let actions = vec![
        TO_CONTROLLER,
        rewrite(7),
        through(),
        rewrite(8),
        through(),
        Action::Group(GroupId(1)),
        rewrite(9),
        TO_CONTROLLER,
    ];
    let message = PacketOut::unbuffered(PortNumber(2), actions, tcp(1, 2, 80));
    let (mut bytes, mut out) = (Vec::new(), Vec::new());
    Message::PacketOut(message).encode(Xid(1), &mut bytes).expect("a message");
    switch.packet_out(&bytes, 0, &mut out);
    let packet_ins: Vec<_> = frames(&out)
        .iter()
        .map(|frame| match Message::decode(frame).expect("a message").1 {
            Message::PacketIn(packet_in) => (packet_in.cookie, packet_in.data[5]),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(packet_ins, [(NO_COOKIE, 2), (4, 7), (4, 8), (NO_COOKIE, 9)]);
    // The group sent the packet out of port 3.
    match multipart(&mut switch, MultipartRequestBody::PortStats(PortNumber(3))) {
        MultipartReplyBody::PortStats(ports) => assert_eq!(ports[0].tx_packets, 1),
        other => panic!("{other:?}"),
    }
    assert_eq!(flows(&mut switch)[0].packet_count, 2);
    match multipart(&mut switch, MultipartRequestBody::Group(GroupId(1))) {
        MultipartReplyBody::Group(groups) => assert_eq!(groups[0].packet_count, 1),
        other => panic!("{other:?}"),
    }
}

#[test]
fn in_1_0_all_actions_of_a_packet_out_are_executed() {
    let mut switch = running(Version::V1_0);
    let port = |port: PortNumber| v1_0::Action::Output {
        port: v1_0::PortNo(port.0 as u16),
        max_len: u16::MAX,
    };
    let rewrite = |last| v1_0::Action::SetDlDst(mac(last));
    let message = v1_0::PacketOut {
        buffer_id: BufferId::NO_BUFFER,
        in_port: v1_0::PortNo(2),
        actions: vec![
            port(PortNumber::CONTROLLER),
            rewrite(7),
            port(PortNumber::TABLE),
            rewrite(8),
            port(PortNumber::TABLE),
        ],
        data: tcp(1, 2, 80),
    };
    let (mut bytes, mut out) = (Vec::new(), Vec::new());
    v1_0::Message::PacketOut(message).encode(Xid(1), &mut bytes).expect("a message");
    switch.packet_out(&bytes, 0, &mut out);
    let packet_ins: Vec<_> = frames(&out)
        .iter()
        .map(|frame| match v1_0::Message::decode(frame).expect("a message").1 {
            v1_0::Message::PacketIn(packet_in) => packet_in.data[5],
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(packet_ins, [2, 7, 8]);
}

#[test]
fn in_1_0_misses_go_to_the_controller_and_exact_entries_win() {
    let mut switch = running(Version::V1_0);
    let frame = tcp(1, 2, 80);
    let mut out = Vec::new();
    let fate = switch.packet(arriving(BufferId(9), 1, &frame), 0, &mut out);
    let (_, message) = v1_0::Message::decode(&out).expect("a message");
    let v1_0::Message::PacketIn(packet_in) = message else { panic!("{message:?}") };
    assert_eq!((fate, packet_in.reason), (Fate::ToController, v1_0::PacketInReason::NO_MATCH));
    // The handshake of these tests sets a miss_send_len of 128.
    assert_eq!(packet_in.data, frame[..frame.len().min(128)]);
    let exact = v1_0::Match {
        wildcards: v1_0::Wildcards(0),
        in_port: v1_0::PortNo(1),
        dl_src: mac(1),
        dl_dst: mac(2),
        dl_vlan: v1_0::Match::VLAN_NONE,
        dl_vlan_pcp: 0,
        dl_type: 0x0800,
        nw_tos: 0,
        nw_proto: 6,
        nw_src: Ipv4Addr::new(10, 0, 0, 1),
        nw_dst: Ipv4Addr::new(10, 0, 0, 2),
        tp_src: 1024,
        tp_dst: 80,
    };
    let net = v1_0::Match::any().with_dl_type(0x0800).with_nw_dst(Ipv4Addr::new(10, 0, 0, 0), 8);
    let mut add = |match_fields, priority, actions| {
        let flow_mod =
            v1_0::FlowMod { match_fields, actions, priority, ..v1_0::FlowMod::default() };
        let mut bytes = Vec::new();
        v1_0::Message::FlowMod(flow_mod).encode(Xid(1), &mut bytes).expect("a message");
        let received = switch.receive(&bytes, 0, &mut Vec::new()).expect("a session");
        assert_eq!(received, Received::installed(1));
    };
    let controller = v1_0::PortNo(PortNumber::CONTROLLER.to_v1_0().expect("a port of 1.0"));
    let to_controller = v1_0::Action::Output { port: controller, max_len: 20 };
    add(net, 65_535, vec![v1_0::Action::SetVlanVid(3), to_controller]);
    add(exact, 1, vec![v1_0::Action::output(v1_0::PortNo(2))]);
    let mut out = Vec::new();
    assert_eq!(switch.packet(arriving(BufferId(9), 1, &frame), 0, &mut out), Fate::Forwarded);
    assert!(out.is_empty());
    let other = tcp(1, 2, 443);
    assert_eq!(switch.packet(arriving(BufferId(9), 1, &other), 0, &mut out), Fate::ToController);
    let (_, message) = v1_0::Message::decode(&out).expect("a message");
    let v1_0::Message::PacketIn(packet_in) = message else { panic!("{message:?}") };
    assert_eq!(packet_in.reason, v1_0::PacketInReason::ACTION);
    assert_eq!(packet_in.data, [&other[..12], &[0x81, 0, 0, 3], &other[12..16]].concat());
    assert_eq!(usize::from(packet_in.total_len), other.len() + 4);
}

/// A packet in the form of the oracle.
#[derive(Clone, Copy, Debug)]
struct Plain {
    in_port: u32,
    source: u8,
    destination: u8,
    tcp_port: u16,
    vlan: Option<u16>,
    metadata: u64,
}

/// A rule in a compact form.
#[derive(Clone, Debug)]
struct Short {
    table: u8,
    priority: u16,
    in_port: Option<u32>,
    source: Option<u8>,
    /// An address and the length of its prefix.
    network: Option<(u8, u32)>,
    tcp_port: Option<u16>,
    vlan: Option<Option<u16>>,
    metadata: Option<u64>,
    actions: Vec<ShortAction>,
    write_metadata: Option<u64>,
    goto: Option<u8>,
}

#[derive(Clone, Copy, Debug)]
enum ShortAction {
    Controller,
    Port(u32),
    Source(u8),
    Tag(u16),
    Untag,
}

fn short() -> impl Strategy<Value = Short> {
    let action = prop_oneof![
        2 => Just(ShortAction::Controller),
        3 => (1u32..4).prop_map(ShortAction::Port),
        1 => (1u8..4).prop_map(ShortAction::Source),
        1 => (1u16..3).prop_map(ShortAction::Tag),
        1 => Just(ShortAction::Untag),
    ];
    let vlan = prop::option::of(prop::option::of(1u16..3));
    let wanted = (
        prop::option::of(1u32..3),
        prop::option::of(1u8..4),
        prop::option::of((1u8..4, 24u32..=32)),
        prop::option::of(80u16..82),
        prop::option::weighted(0.3, vlan.prop_map(Option::flatten)),
        prop::option::weighted(0.2, 0u64..2),
    );
    let done = (
        prop::collection::vec(action, 0..3),
        prop::option::weighted(0.3, 0u64..2),
        prop::option::weighted(0.5, 0u8..4),
    );
    (0u8..3, 0u16..4, wanted, done).prop_map(|(table, priority, wanted, done)| {
        let (in_port, source, network, tcp_port, vlan, metadata) = wanted;
        let (actions, write_metadata, goto) = done;
        let goto = goto.filter(|goto| *goto > table);
        Short {
            table,
            priority,
            in_port,
            source,
            network,
            tcp_port,
            vlan,
            metadata,
            actions,
            write_metadata,
            goto,
        }
    })
}

impl Short {
    fn flow_mod(&self, cookie: u64) -> FlowMod {
        let mut wanted = Match::any();
        if let Some(port) = self.in_port {
            wanted = wanted.with_in_port(PortNumber(port));
        }
        if let Some(source) = self.source {
            wanted = wanted.with_eth_src(mac(source));
        }
        if self.network.is_some() || self.tcp_port.is_some() {
            wanted = wanted.with_eth_type(0x0800);
        }
        if let Some((address, length)) = self.network {
            let mask = Ipv4Addr::from_bits(u32::MAX << (32 - length));
            let address = Ipv4Addr::new(10, 0, 0, address);
            wanted = wanted
                .with_ipv4_dst((Ipv4Addr::from_bits(address.to_bits() & mask.to_bits()), mask));
        }
        if let Some(port) = self.tcp_port {
            wanted = wanted.with_ip_proto(6).with_tcp_dst(port);
        }
        match self.vlan {
            Some(Some(vlan)) => wanted = wanted.with_vlan_vid(VlanVid::tagged(vlan)),
            Some(None) => wanted = wanted.with_vlan_vid(VlanVid::UNTAGGED),
            None => {}
        }
        if let Some(metadata) = self.metadata {
            wanted = wanted.with_metadata(metadata);
        }
        let mut actions = Vec::new();
        for action in &self.actions {
            match action {
                ShortAction::Controller => {
                    actions.push(Action::output(PortNumber::CONTROLLER));
                }
                ShortAction::Port(port) => actions.push(to(*port)),
                ShortAction::Source(source) => {
                    actions.push(Action::SetField(Oxm::EthSrc(mac(*source).into())));
                }
                ShortAction::Tag(vlan) => {
                    actions.push(Action::PushVlan(0x8100));
                    actions.push(Action::SetField(Oxm::VlanVid(VlanVid::tagged(*vlan).into())));
                }
                ShortAction::Untag => actions.push(Action::PopVlan),
            }
        }
        let mut instructions = vec![apply(actions)];
        if let Some(metadata) = self.write_metadata {
            instructions.push(Instruction::WriteMetadata { metadata, mask: u64::MAX });
        }
        if let Some(goto) = self.goto {
            instructions.push(Instruction::GotoTable(TableId(goto)));
        }
        rule(self.table, self.priority, cookie, wanted, instructions)
    }

    fn meets(&self, packet: &Plain) -> bool {
        self.in_port.is_none_or(|port| port == packet.in_port)
            && self.source.is_none_or(|source| source == packet.source)
            && self.network.is_none_or(|(address, length)| {
                let ignored = 32 - length;
                u32::from(address) >> ignored == u32::from(packet.destination) >> ignored
            })
            && self.tcp_port.is_none_or(|port| port == packet.tcp_port)
            && self.vlan.is_none_or(|vlan| vlan == packet.vlan)
            && self.metadata.is_none_or(|metadata| metadata == packet.metadata)
    }

    fn has_conditions(&self) -> bool {
        self.in_port.is_some()
            || self.source.is_some()
            || self.network.is_some()
            || self.tcp_port.is_some()
            || self.vlan.is_some()
            || self.metadata.is_some()
    }
}

/// A packet's fate; and of each packet-in table, cookie, reason, source and VLAN.
type Outcome = (Fate, Vec<(u8, u64, PacketInReason, u8, Option<u16>)>);

/// Runs a simple reference pipeline, which checks every rule. `rules` contains the installed rules
/// with their cookies, oldest first. VLAN tags are a stack.
fn oracle(rules: &[(u64, Short)], mut packet: Plain) -> Outcome {
    let (mut packet_ins, mut forwarded, mut table) = (Vec::new(), false, Some(0));
    let mut tags: Vec<u16> = Vec::new();
    while let Some(current) = table {
        packet.vlan = tags.last().copied();
        let candidates = rules.iter().filter(|(_, rule)| rule.table == current);
        let matching: Vec<_> = candidates.filter(|(_, rule)| rule.meets(&packet)).collect();
        let Some(best) = matching.iter().map(|(_, rule)| rule.priority).max() else { break };
        let Some((cookie, rule)) = matching.iter().find(|(_, rule)| rule.priority == best) else {
            break;
        };
        let is_miss = rule.priority == 0 && !rule.has_conditions();
        for action in &rule.actions {
            match action {
                ShortAction::Controller => {
                    let reason =
                        if is_miss { PacketInReason::NO_MATCH } else { PacketInReason::ACTION };
                    let vlan = tags.last().copied();
                    packet_ins.push((current, *cookie, reason, packet.source, vlan));
                }
                ShortAction::Port(port) => forwarded |= *port != packet.in_port && *port <= 3,
                ShortAction::Source(source) => packet.source = *source,
                ShortAction::Tag(vlan) => tags.push(*vlan),
                ShortAction::Untag => drop(tags.pop()),
            }
        }
        packet.metadata = rule.write_metadata.unwrap_or(packet.metadata);
        table = rule.goto;
    }
    let fate = match (packet_ins.is_empty(), forwarded) {
        (false, _) => Fate::ToController,
        (true, true) => Fate::Forwarded,
        (true, false) => Fate::Dropped,
    };
    (fate, packet_ins)
}

proptest! {
    /// Installs and removes rules, and compares the fate of every packet with the oracle.
    #[test]
    fn random_rules_treat_packets_as_the_oracle_does(
        steps in prop::collection::vec((short(), any::<bool>()), 1..25),
        packets in prop::collection::vec((1u32..3, 1u8..4, 1u8..4, 80u16..82), 1..8),
    ) {
        let mut switch = running(Version::V1_3);
        let mut rules: Vec<(u64, Short)> = Vec::new();
        let key = |rule: &Short| {
            let flow_mod = rule.flow_mod(0);
            (flow_mod.table_id, flow_mod.priority, flow_mod.match_fields.key())
        };
        for (number, (rule, deletes)) in steps.iter().enumerate() {
            let cookie = number as u64 + 1;
            rules.retain(|(_, known)| key(known) != key(rule));
            let mut flow_mod = rule.flow_mod(cookie);
            if *deletes {
                flow_mod.command = v1_3::FlowModCommand::DELETE_STRICT;
                flow_mod.cookie = 0;
                flow_mod.out_port = PortNumber::ANY;
            } else {
                rules.push((cookie, rule.clone()));
            }
            ask(&mut switch, Message::FlowMod(flow_mod));
        }
        for (in_port, source, destination, tcp_port) in packets {
            let packet = Plain { in_port, source, destination, tcp_port, vlan: None, metadata: 0 };
            let frame = tcp(source, destination, tcp_port);
            let (fate, packet_ins) = enter(&mut switch, in_port, &frame);
            let found = packet_ins
                .iter()
                .map(|packet_in| {
                    let data = &packet_in.data;
                    let tagged = data[12..14] == [0x81, 0];
                    let vlan = tagged.then(|| u16::from_be_bytes([data[14], data[15]]));
                    let (table, cookie) = (packet_in.table_id.0, packet_in.cookie);
                    (table, cookie, packet_in.reason, data[11], vlan)
                })
                .collect();
            prop_assert_eq!((fate, found), oracle(&rules, packet));
        }
    }
}
