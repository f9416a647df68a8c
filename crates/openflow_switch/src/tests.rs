//! Tests of an emulated switch as a controller sees it, message by message.

mod channels;
mod packets;
mod tables;

use openflow::handshake::{Handshake, HandshakeError};
use openflow::v1_0::{self, FragmentHandling};
use openflow::v1_3::{self, MultipartReply, MultipartReplyBody, MultipartRequest};
use openflow::{ErrorReason, PortNumber};

use super::*;

const SECOND: u64 = 1_000_000_000;

fn options(version: Version) -> SwitchOptions {
    SwitchOptions {
        version,
        datapath_id: DatapathId(7),
        ports: 3,
        buffers: 0,
        table_size: 2,
        flow_tables: FlowTables::Bypass,
        awaiting: 0,
    }
}

/// Returns a switch whose session with a controller of a version is open.
fn ready(version: Version) -> OpenFlowSwitch {
    ready_with(options(version))
}

fn ready_with(options: SwitchOptions) -> OpenFlowSwitch {
    let version = options.version;
    let mut switch = OpenFlowSwitch::new(options);
    let config = v1_0::SwitchConfig { flags: FragmentHandling::NORMAL, miss_send_len: 128 };
    let mut controller = Handshake::controller(&[version], config);
    let (mut to_controller, mut to_switch) = (Vec::new(), Vec::new());
    switch.opened(0, &mut to_controller);
    controller.start(&mut to_switch);
    while !(to_controller.is_empty() && to_switch.is_empty()) {
        for frame in frames(&std::mem::take(&mut to_switch)) {
            switch.receive(&frame, 0, &mut to_controller).expect("a session");
        }
        for frame in frames(&std::mem::take(&mut to_controller)) {
            controller.receive(&frame, &mut to_switch).expect("a session");
        }
    }
    assert!(switch.is_ready() && controller.is_ready());
    assert_eq!(controller.features().map(|features| features.datapath_id), Some(DatapathId(7)));
    switch
}

fn frames(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut framer = openflow::framing::Framer::new();
    framer.frames(bytes).map(|frame| frame.expect("whole messages").to_vec()).collect()
}

/// Sends a message of 1.3 and decodes the answers.
fn ask(switch: &mut OpenFlowSwitch, message: v1_3::Message) -> (Received, Vec<v1_3::Message>) {
    let (mut request, mut out) = (Vec::new(), Vec::new());
    message.encode(Xid(99), &mut request).expect("a message");
    let received = switch.receive(&request, SECOND, &mut out).expect("a session");
    let answers = frames(&out)
        .iter()
        .map(|frame| {
            let (xid, message) = v1_3::Message::decode(frame).expect("a message");
            assert_eq!(xid, Xid(99), "answers carry the transaction id of what they answer");
            message
        })
        .collect();
    (received, answers)
}

fn error(answers: &[v1_3::Message]) -> Option<ErrorReason> {
    match answers {
        [v1_3::Message::Error(error)] => error.reason(),
        _ => None,
    }
}

fn multipart(switch: &mut OpenFlowSwitch, body: v1_3::MultipartRequestBody) -> MultipartReplyBody {
    let request = v1_3::Message::MultipartRequest(MultipartRequest::from(body));
    let mut joiner = v1_3::ReplyJoiner::new(1000);
    for answer in ask(switch, request).1 {
        let v1_3::Message::MultipartReply(part) = answer else { panic!("{answer:?}") };
        let _: &MultipartReply = &part;
        if let Some(body) = joiner.push(part).expect("parts of one reply") {
            return body;
        }
    }
    panic!("the reply has no last part");
}

fn flow(port: u32) -> v1_3::FlowMod {
    let rule = v1_3::Match::any().with_in_port(PortNumber(port));
    let output = v1_3::Action::output(PortNumber(port + 1));
    v1_3::FlowMod::add(rule, vec![v1_3::Instruction::ApplyActions(vec![output])])
}

fn flows(switch: &mut OpenFlowSwitch) -> Vec<v1_3::FlowStats> {
    let all = v1_3::MultipartRequestBody::Flow(v1_3::FlowStatsRequest::all());
    match multipart(switch, all) {
        MultipartReplyBody::Flow(flows) => flows,
        other => panic!("{other:?}"),
    }
}

#[test]
fn flow_entries_are_added_read_back_and_deleted() {
    let mut switch = ready(Version::V1_3);
    let (received, answers) = ask(&mut switch, v1_3::Message::FlowMod(flow(1)));
    assert_eq!(received, Received::Rules { installed: 1, removed: 0, refused: 0 });
    assert!(answers.is_empty());
    ask(&mut switch, v1_3::Message::FlowMod(flow(2)));
    let stored = flows(&mut switch);
    assert_eq!(stored.len(), 2);
    assert_eq!(stored[0].match_fields, flow(1).match_fields);
    assert_eq!(stored[0].instructions, flow(1).instructions);
    let narrow = v1_3::FlowMod::delete(flow(1).match_fields);
    let (received, _) = ask(&mut switch, v1_3::Message::FlowMod(narrow));
    assert_eq!(received, Received::Rules { installed: 0, removed: 1, refused: 0 });
    let all = v1_3::FlowMod::delete(v1_3::Match::any());
    ask(&mut switch, v1_3::Message::FlowMod(all));
    assert!(flows(&mut switch).is_empty());
}

#[test]
fn a_full_table_and_an_unknown_table_are_refused() {
    let mut switch = ready(Version::V1_3);
    for port in 1..=2 {
        ask(&mut switch, v1_3::Message::FlowMod(flow(port)));
    }
    let (received, answers) = ask(&mut switch, v1_3::Message::FlowMod(flow(3)));
    assert_eq!(received, Received::Rules { installed: 0, removed: 0, refused: 1 });
    assert_eq!(error(&answers), Some(ErrorReason::FlowModTableFull));
    let mut nowhere = flow(1);
    nowhere.table_id = v1_3::TableId(v1_3::TableId::MAX.0);
    let (_, answers) = ask(&mut switch, v1_3::Message::FlowMod(nowhere));
    assert_eq!(error(&answers), Some(ErrorReason::FlowModBadTableId));
}

#[test]
fn an_expired_entry_sends_flow_removed_if_its_flag_is_set() {
    let mut switch = ready(Version::V1_3);
    let mut short = flow(1);
    short.idle_timeout = 5;
    short.flags = v1_3::FlowModFlags::SEND_FLOW_REM;
    ask(&mut switch, v1_3::Message::FlowMod(short));
    let mut out = Vec::new();
    switch.tick(5 * SECOND, &mut out).expect("a session");
    assert!(out.is_empty());
    switch.tick(6 * SECOND, &mut out).expect("a session");
    let removed = frames(&out);
    assert!(matches!(
        removed.iter().map(|frame| v1_3::Message::decode(frame)).next(),
        Some(Ok((_, v1_3::Message::FlowRemoved(removed))))
            if removed.reason == v1_3::FlowRemovedReason::IDLE_TIMEOUT && removed.duration_sec == 5
    ));
    assert!(flows(&mut switch).is_empty());
}

#[test]
fn deleting_a_group_or_a_meter_deletes_the_flow_entries_that_use_it() {
    let mut switch = ready(Version::V1_3);
    let group = v1_3::GroupMod {
        command: v1_3::GroupModCommand::ADD,
        group_type: v1_3::GroupType::ALL,
        group_id: v1_3::GroupId(4),
        buckets: vec![v1_3::Bucket::new(vec![v1_3::Action::output(PortNumber(1))])],
    };
    let mut to_group = flow(1);
    let action = v1_3::Action::Group(v1_3::GroupId(4));
    to_group.instructions = vec![v1_3::Instruction::ApplyActions(vec![action])];
    let (_, answers) = ask(&mut switch, v1_3::Message::FlowMod(to_group.clone()));
    assert_eq!(error(&answers), Some(ErrorReason::BadActionBadOutGroup));
    ask(&mut switch, v1_3::Message::GroupMod(group.clone()));
    ask(&mut switch, v1_3::Message::FlowMod(to_group));
    let (_, answers) = ask(&mut switch, v1_3::Message::GroupMod(group.clone()));
    assert_eq!(error(&answers), Some(ErrorReason::GroupModGroupExists));
    let described = multipart(&mut switch, v1_3::MultipartRequestBody::GroupDesc);
    assert!(matches!(described, MultipartReplyBody::GroupDesc(groups)
        if groups.len() == 1 && groups[0].buckets == group.buckets));
    let delete = v1_3::GroupMod { command: v1_3::GroupModCommand::DELETE, ..group };
    ask(&mut switch, v1_3::Message::GroupMod(delete));
    assert!(flows(&mut switch).is_empty());

    let meter = v1_3::MeterMod {
        command: v1_3::MeterModCommand::MODIFY,
        flags: v1_3::MeterFlags::KBPS,
        meter_id: v1_3::MeterId(1),
        bands: Vec::new(),
    };
    let (_, answers) = ask(&mut switch, v1_3::Message::MeterMod(meter.clone()));
    assert_eq!(error(&answers), Some(ErrorReason::MeterModUnknownMeter));
    let add = v1_3::MeterMod { command: v1_3::MeterModCommand::ADD, ..meter };
    assert!(ask(&mut switch, v1_3::Message::MeterMod(add)).1.is_empty());
    let wanted = v1_3::MultipartRequestBody::MeterConfig(v1_3::MeterId::ALL);
    let configured = multipart(&mut switch, wanted);
    assert!(matches!(configured, MultipartReplyBody::MeterConfig(meters) if meters.len() == 1));
}

#[test]
fn a_slave_may_not_write_and_stale_generations_are_refused() {
    let mut switch = ready(Version::V1_3);
    let role =
        |role, generation_id| v1_3::Message::RoleRequest(v1_3::RoleMessage { role, generation_id });
    let (_, answers) = ask(&mut switch, role(v1_3::ControllerRole::SLAVE, 5));
    assert!(matches!(&answers[..], [v1_3::Message::RoleReply(reply)]
        if reply.role == v1_3::ControllerRole::SLAVE && reply.generation_id == 5));
    let (_, answers) = ask(&mut switch, v1_3::Message::FlowMod(flow(1)));
    assert_eq!(error(&answers), Some(ErrorReason::BadRequestIsSlave));
    let (_, answers) = ask(&mut switch, role(v1_3::ControllerRole::MASTER, 4));
    assert_eq!(error(&answers), Some(ErrorReason::RoleRequestStale));
    ask(&mut switch, role(v1_3::ControllerRole::MASTER, 6));
    let (received, _) = ask(&mut switch, v1_3::Message::FlowMod(flow(1)));
    assert_eq!(received, Received::Rules { installed: 1, removed: 0, refused: 0 });
}

/// Select groups pass over buckets that are not live, which controllers may rely on.
#[test]
fn select_groups_state_that_they_know_which_buckets_are_live() {
    let mut switch = ready(Version::V1_3);
    match multipart(&mut switch, v1_3::MultipartRequestBody::GroupFeatures) {
        MultipartReplyBody::GroupFeatures(features) => {
            assert!(features.capabilities.contains(v1_3::GroupCapabilities::SELECT_LIVENESS));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_kind_of_multipart_request_has_an_answer() {
    use v1_3::MultipartRequestBody as Request;
    let mut switch = ready(Version::V1_3);
    let queues =
        v1_3::QueueStatsRequest { port_no: PortNumber::ANY, queue_id: v1_3::QueueId(u32::MAX) };
    for request in [
        Request::Desc,
        Request::Aggregate(v1_3::FlowStatsRequest::all()),
        Request::Table,
        Request::PortStats(PortNumber::ANY),
        Request::Queue(queues),
        Request::Group(v1_3::GroupId::ALL),
        Request::GroupFeatures,
        Request::Meter(v1_3::MeterId::ALL),
        Request::MeterFeatures,
        Request::TableFeatures(Vec::new()),
    ] {
        multipart(&mut switch, request);
    }
    let ports = multipart(&mut switch, Request::PortDesc);
    let MultipartReplyBody::PortDesc(ports) = ports else { panic!("{ports:?}") };
    let numbers: Vec<u32> = ports.iter().map(|port| port.port_no.0).collect();
    assert_eq!(numbers, [1, 2, 3]);
    let (_, answers) = ask(&mut switch, v1_3::Message::BarrierRequest);
    assert_eq!(answers, [v1_3::Message::BarrierReply]);
}

#[test]
fn rules_of_version_1_0_are_stored_and_reported() {
    let mut switch = ready(Version::V1_0);
    let mut send = |message: v1_0::Message, now: u64| {
        let (mut request, mut out) = (Vec::new(), Vec::new());
        message.encode(Xid(5), &mut request).expect("a message");
        let received = switch.receive(&request, now, &mut out).expect("a session");
        let answers: Vec<_> =
            frames(&out).iter().map(|f| v1_0::Message::decode(f).expect("a message").1).collect();
        (received, answers)
    };
    let rule = v1_0::Match::any().with_in_port(v1_0::PortNo(1));
    let add = v1_0::FlowMod {
        match_fields: rule,
        actions: vec![v1_0::Action::output(v1_0::PortNo(2))],
        ..v1_0::FlowMod::default()
    };
    let (received, _) = send(v1_0::Message::FlowMod(add.clone()), SECOND);
    assert_eq!(received, Received::Rules { installed: 1, removed: 0, refused: 0 });
    let all = v1_0::FlowStatsRequest {
        match_fields: v1_0::Match::any(),
        table_id: v1_0::FlowStatsRequest::ALL_TABLES,
        out_port: v1_0::PortNo::NONE,
    };
    let request = v1_0::Message::StatsRequest(v1_0::StatsRequestBody::Flow(all).into());
    let (_, answers) = send(request, 3 * SECOND);
    let [v1_0::Message::StatsReply(reply)] = &answers[..] else { panic!("{answers:?}") };
    let v1_0::StatsReplyBody::Flow(stored) = &reply.body else { panic!("{reply:?}") };
    assert_eq!((stored.len(), stored[0].match_fields, stored[0].duration_sec), (1, rule, 2));
    assert_eq!(stored[0].actions, add.actions);
    let elsewhere = v1_0::FlowMod {
        command: v1_0::FlowModCommand::DELETE,
        out_port: v1_0::PortNo(3),
        match_fields: v1_0::Match::any(),
        ..add.clone()
    };
    let (received, _) = send(v1_0::Message::FlowMod(elsewhere.clone()), SECOND);
    assert_eq!(received, Received::Rules { installed: 0, removed: 0, refused: 0 });
    let there = v1_0::FlowMod { out_port: v1_0::PortNo(2), ..elsewhere };
    let (received, _) = send(v1_0::Message::FlowMod(there), SECOND);
    assert_eq!(received, Received::Rules { installed: 0, removed: 1, refused: 0 });
}

#[test]
fn bytes_that_are_no_message_are_answered_with_an_error() {
    for version in [Version::V1_0, Version::V1_3] {
        let mut switch = ready(version);
        let mut out = Vec::new();
        let unknown = [version.wire(), 77, 0, 8, 0, 0, 0, 1];
        let received = switch.receive(&unknown, 0, &mut out).expect("the session goes on");
        assert!(matches!(received, Received::Malformed(_)), "{received:?}");
        let answers = frames(&out);
        assert_eq!((answers.len(), answers[0][1]), (1, 1), "an error message");
        let short = [version.wire(), 14, 0, 12, 0, 0, 0, 1, 0, 0, 0, 0];
        let received = switch.receive(&short, 0, &mut out).expect("the session goes on");
        assert!(matches!(received, Received::Malformed(_)), "{received:?}");
    }
}

#[test]
fn a_hello_without_a_common_version_fails_the_handshake() {
    let mut switch = OpenFlowSwitch::new(options(Version::V1_3));
    let mut out = Vec::new();
    switch.opened(0, &mut out);
    let hello = [1, 0, 0, 8, 0, 0, 0, 1];
    let error = switch.receive(&hello, 0, &mut out);
    assert!(matches!(error, Err(SessionError::Handshake(HandshakeError::Incompatible { .. }))));
}

#[test]
fn a_buffered_packet_in_is_truncated_and_states_the_length_of_the_packet() {
    for version in [Version::V1_0, Version::V1_3] {
        let switch = ready(version);
        let mut out = Vec::new();
        switch.packet_in(Xid(3), BufferId(9), 2, &[0xab; 500], &mut out);
        let view = openflow::wire::PacketIn::new_checked(&out[..]).expect("a packet-in");
        assert_eq!((view.payload().len(), view.total_len()), (128, 500));
        assert_eq!((view.in_port(), view.buffer_id()), (PortNumber(2), BufferId(9)));
        out.clear();
        switch.packet_in(Xid(3), BufferId::NO_BUFFER, 2, &[0xab; 500], &mut out);
        let view = openflow::wire::PacketIn::new_checked(&out[..]).expect("a packet-in");
        assert_eq!(view.payload().len(), 500);
    }
}

/// Returns table and cookie of a packet-in.
fn origin(switch: &OpenFlowSwitch) -> (u8, u64) {
    let mut out = Vec::new();
    switch.packet_in(Xid(3), BufferId::NO_BUFFER, 2, &[0xab; 60], &mut out);
    match v1_3::Message::decode(&out).expect("a packet-in").1 {
        v1_3::Message::PacketIn(packet) => (packet.table_id.0, packet.cookie),
        other => panic!("{other:?}"),
    }
}

#[test]
fn packet_ins_name_the_table_miss_entry_that_sent_them() {
    let mut switch = ready(Version::V1_3);
    assert_eq!(origin(&switch), (0, u64::MAX));
    let entry = |table, cookie, priority, instruction| {
        let mut flow_mod = v1_3::FlowMod::add(v1_3::Match::any(), vec![instruction]);
        flow_mod.table_id = v1_3::TableId(table);
        (flow_mod.cookie, flow_mod.priority) = (cookie, priority);
        v1_3::Message::FlowMod(flow_mod)
    };
    let to_controller = || {
        let output = v1_3::Action::output(PortNumber::CONTROLLER);
        v1_3::Instruction::ApplyActions(vec![output])
    };
    // An entry with a priority is no table-miss entry, and a later table is not reached yet.
    ask(&mut switch, entry(0, 5, 1, to_controller()));
    ask(&mut switch, entry(4, 6, 0, to_controller()));
    assert_eq!(origin(&switch), (0, u64::MAX));
    ask(&mut switch, v1_3::Message::FlowMod(v1_3::FlowMod::delete(v1_3::Match::any())));
    ask(&mut switch, entry(0, 7, 0, v1_3::Instruction::GotoTable(v1_3::TableId(4))));
    ask(&mut switch, entry(4, 8, 0, to_controller()));
    assert_eq!(origin(&switch), (4, 8));
    ask(&mut switch, entry(0, 9, 0, to_controller()));
    assert_eq!(origin(&switch), (0, 9));
    ask(&mut switch, v1_3::Message::FlowMod(v1_3::FlowMod::delete(v1_3::Match::any())));
    assert_eq!(origin(&switch), (0, u64::MAX));
}

/// Packets of hosts count as received, those of packet-outs and rules as sent.
#[test]
fn ports_count_received_and_transmitted_packets() {
    use openflow::wire::PacketOut;
    let output = |port| v1_3::Action::Output { port, max_len: v1_3::MaxLen::NO_BUFFER };
    for flow_tables in [FlowTables::Bypass, FlowTables::Run] {
        let mut switch = ready_with(SwitchOptions { flow_tables, ..options(Version::V1_3) });
        if flow_tables == FlowTables::Run {
            let mut rule = flow(1);
            rule.match_fields = v1_3::Match::any();
            rule.instructions = vec![v1_3::Instruction::ApplyActions(vec![output(PortNumber(2))])];
            ask(&mut switch, v1_3::Message::FlowMod(rule));
        }
        let mut out = Vec::new();
        switch.packet(Arriving::aside(1, &[0; 60]), SECOND, &mut out);
        let packet_out = v1_3::Message::PacketOut(v1_3::PacketOut {
            buffer_id: BufferId::NO_BUFFER,
            in_port: PortNumber(1),
            actions: vec![output(PortNumber(3)), output(PortNumber::FLOOD)],
            data: vec![0; 100],
        });
        let mut request = Vec::new();
        packet_out.encode(Xid(1), &mut request).expect("a message");
        switch.count_outputs(&PacketOut::new_checked(request.as_slice()).expect("a packet-out"));
        let body = v1_3::MultipartRequestBody::PortStats(PortNumber::ANY);
        let MultipartReplyBody::PortStats(ports) = multipart(&mut switch, body) else {
            panic!("no port statistics")
        };
        let counted: Vec<_> = ports
            .iter()
            .map(|port| (port.rx_packets, port.rx_bytes, port.tx_packets, port.tx_bytes))
            .collect();
        let second = match flow_tables {
            FlowTables::Bypass => (0, 0, 1, 100),
            FlowTables::Run => (0, 0, 2, 160),
        };
        assert_eq!(counted, [(1, 60, 0, 0), second, (0, 0, 2, 200)]);
    }
}

/// A controller that answers by rules alone can be measured although its rules stop no packet.
#[test]
fn a_rule_answers_packets_that_bypass_the_tables() {
    for version in [Version::V1_0, Version::V1_3] {
        let mut switch = ready_with(SwitchOptions { awaiting: 10, ..options(version) });
        let mut out = Vec::new();
        for (sequence, port) in [(4, 1), (5, 2)] {
            let arriving = Arriving { awaits: Some(sequence), ..Arriving::aside(port, &[0; 60]) };
            assert_eq!(switch.packet(arriving, SECOND, &mut out), Fate::ToController);
        }
        let mut rule = Vec::new();
        let encoded = match version {
            Version::V1_0 => {
                let wanted = v1_0::Match::any().with_in_port(v1_0::PortNo(2));
                let add = v1_0::FlowMod { match_fields: wanted, ..v1_0::FlowMod::default() };
                v1_0::Message::FlowMod(add).encode(Xid(9), &mut rule)
            }
            Version::V1_3 => {
                let wanted = v1_3::Match::any().with_in_port(PortNumber(2));
                let add = v1_3::FlowMod { match_fields: wanted, ..flow(1) };
                v1_3::Message::FlowMod(add).encode(Xid(9), &mut rule)
            }
        };
        encoded.expect("a message");
        switch.receive(&rule, SECOND, &mut out).expect("a session");
        assert_eq!(switch.answered_by_rules(), [5], "{version:?}");
        assert!(switch.answered_by_rules().is_empty());
    }
}
