//! Tests with requests of OpenFlow 1.0 that another implementation encoded.
//!
//! The corpus of os-ken has few messages of 1.0. These bytes were written by the encoder of os-ken
//! 4.2.2 from the values beside them. Each pair is tested in both directions.

use openflow::v1_0::*;
use openflow::{BufferId, MacAddress, Xid};

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).expect("hexadecimal digits") as u8)
        .collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn check(hex: &str, message: Message) {
    let bytes = from_hex(hex);
    assert_eq!(Message::decode(&bytes), Ok((Xid(0x55), message.clone())));
    let mut encoded = Vec::new();
    message.encode(Xid(0x55), &mut encoded).unwrap();
    assert_eq!(encoded, bytes, "{message:?}");
}

const MAC: MacAddress = MacAddress([1, 2, 3, 4, 5, 6]);

fn match_fields() -> Match {
    Match::any()
        .with_in_port(PortNo(9))
        .with_dl_src(MAC)
        .with_dl_dst(MacAddress([9, 8, 7, 6, 5, 4]))
        .with_dl_vlan(100)
        .with_dl_vlan_pcp(3)
        .with_dl_type(0x0800)
        .with_nw_tos(0x20)
        .with_nw_proto(6)
        .with_nw_src([10, 0, 0, 1].into(), 32)
        .with_nw_dst([10, 0, 0, 0].into(), 8)
        .with_tp_src(1000)
        .with_tp_dst(2000)
}

#[test]
fn requests_without_parameters_have_the_foreign_bytes() {
    check("0100000800000055", Message::Hello(Vec::new()));
    check("0102000a000000556162", Message::EchoRequest(b"ab".to_vec()));
    check("0105000800000055", Message::FeaturesRequest);
    check("0107000800000055", Message::GetConfigRequest);
    check("0112000800000055", Message::BarrierRequest);
}

#[test]
fn configuration_messages_have_the_foreign_bytes() {
    let config = SwitchConfig { flags: FragmentHandling::DROP, miss_send_len: 77 };
    check("0109000c000000550001004d", Message::SetConfig(config));
    check(
        "010f002000000055000701020304050600000011000000220000003300000000",
        Message::PortMod(PortMod {
            port_no: PortNo(7),
            hw_addr: MAC,
            config: PortConfig(0x11),
            mask: PortConfig(0x22),
            advertise: PortFeatures(0x33),
        }),
    );
    let request = QueueGetConfigRequest { port: PortNo(5) };
    check("0114000c0000005500050000", Message::QueueGetConfigRequest(request));
    // This is NXT_ROLE_REQUEST of Nicira's extensions.
    let body = vec![0, 0, 0, 10, 0, 0, 0, 2];
    check(
        "0104001400000055000023200000000a00000002",
        Message::Vendor(Vendor { vendor: 0x2320, body }),
    );
}

#[test]
fn a_packet_out_with_every_action() {
    let address = [1, 2, 3, 4].into();
    let actions = vec![
        Action::Output { port: PortNo(1), max_len: 2 },
        Action::SetDlSrc(MAC),
        Action::SetDlDst(MAC),
        Action::Enqueue { port: PortNo(1), queue_id: 3 },
        Action::SetVlanVid(5),
        Action::SetVlanPcp(2),
        Action::StripVlan,
        Action::SetNwTos(4),
        Action::SetNwSrc(address),
        Action::SetNwDst(address),
        Action::SetTpSrc(80),
        Action::SetTpDst(81),
    ];
    check(
        "010d008c00000055 ffffffff00030078
         0000000800010002
         00040010010203040506000000000000
         00050010010203040506000000000000
         000b0010000100000000000000000003
         0001000800050000 0002000802000000 0003000800000000 0008000804000000
         0006000801020304 0007000801020304 0009000800500000 000a000800510000
         64617461",
        Message::PacketOut(PacketOut {
            buffer_id: BufferId::NO_BUFFER,
            in_port: PortNo(3),
            actions,
            data: b"data".to_vec(),
        }),
    );
}

#[test]
fn a_flow_mod_with_every_match_field() {
    check(
        "010e005000000055
         00060000 0009 010203040506 090807060504 0064 03 00 0800 20 06 0000 0a000001 0a000000
         03e8 07d0 000000000000000b 0002 000c 000d 000e 0000000f 0010 0003 0000000800010002",
        Message::FlowMod(FlowMod {
            match_fields: match_fields(),
            cookie: 11,
            command: FlowModCommand::MODIFY_STRICT,
            idle_timeout: 12,
            hard_timeout: 13,
            priority: 14,
            buffer_id: BufferId(15),
            out_port: PortNo(16),
            flags: FlowModFlags::SEND_FLOW_REM | FlowModFlags::CHECK_OVERLAP,
            actions: vec![Action::Output { port: PortNo(1), max_len: 2 }],
        }),
    );
}

#[test]
fn statistics_requests_have_the_foreign_bytes() {
    let stats = |body: StatsRequestBody| Message::StatsRequest(body.into());
    check("0110000c0000005500000000", stats(StatsRequestBody::Desc));
    check("0110000c0000005500030000", stats(StatsRequestBody::Table));
    check("0110001400000055000400000005000000000000", stats(StatsRequestBody::Port(PortNo(5))));
    let queue = QueueStatsRequest { port_no: PortNo(5), queue_id: 6 };
    check("0110001400000055000500000005000000000006", stats(StatsRequestBody::Queue(queue)));
    let mut flows =
        FlowStatsRequest { match_fields: match_fields(), table_id: 1, out_port: PortNo(2) };
    check(
        "0110003800000055 00010000
         00060000 0009 010203040506 090807060504 0064 03 00 0800 20 06 0000 0a000001 0a000000
         03e8 07d0 01 00 0002",
        stats(StatsRequestBody::Flow(flows)),
    );
    flows.table_id = FlowStatsRequest::ALL_TABLES;
    flows.out_port = PortNo::NONE;
    check(
        "0110003800000055 00020000
         00060000 0009 010203040506 090807060504 0064 03 00 0800 20 06 0000 0a000001 0a000000
         03e8 07d0 ff 00 ffff",
        stats(StatsRequestBody::Aggregate(flows)),
    );
}
