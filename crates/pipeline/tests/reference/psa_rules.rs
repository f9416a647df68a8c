//! Tests of the rules of PSA, by section of the specification (version 1.2). psa_switch behaves
//! alike unless a test says otherwise.

use super::psa::{Psa, session};
use super::support::{CRC16_CCITT, call, exact, outputs, outputs_at, packet};
use pipeline::{
    CloneSession, CrcParameters, EntryAction, FieldMatch, Group, MeterConfig, Replica, Switch,
    TableEntry,
};
use std::time::Duration;

const CPU: u32 = 0xffff_fffd;
const RECIRCULATE: u32 = 0xffff_fffa;

/// Returns a switch that follows the specification, and one that follows psa_switch.
fn both(program: Psa<'_>) -> [Switch; 2] {
    [false, true].map(|follow| {
        let mut switch = program.load();
        switch.follow_psa_switch(follow);
        switch
    })
}

/// Section 6.2: the order is clone, drop, resubmit, multicast, unicast.
#[test]
fn clone_and_drop_precede_the_other_paths_after_ingress() {
    // The bits of the first byte are clone, drop, resubmit and multicast. The port is always 1.
    let ingress = "if (i.packet_path == PSA_PacketPath_t.NORMAL) {
            o.clone = h.r.a[0:0] == 1; o.clone_session_id = (CloneSessionId_t) 8; o.drop = h.r.a[1:1] == 1;
            o.resubmit = h.r.a[2:2] == 1; if (h.r.a[3:3] == 1) { o.multicast_group = (MulticastGroup_t) 5; }
            o.egress_port = (PortId_t) 1;
        } else { send_to_port(o, (PortId_t) 2); }";
    for mut switch in both(Psa { ingress, ..Psa::default() }) {
        switch.set_clone_session(8, Some(session(9, 0)));
        switch.set_multicast_group(5, vec![Replica { port: 5, instance: 1 }]);
        for flags in 0..16_u8 {
            let mut expected = Vec::new();
            if flags & 1 != 0 {
                expected.push(9);
            }
            match flags {
                _ if flags & 2 != 0 => {}
                _ if flags & 4 != 0 => expected.push(2),
                _ if flags & 8 != 0 => expected.push(5),
                _ => expected.push(1),
            }
            let outputs = outputs(&mut switch, 0, &[flags, 0, 0, 0]);
            let ports: Vec<u32> = outputs.into_iter().map(|(port, _)| port).collect();
            assert_eq!(ports, expected, "flags {flags:04b}");
        }
    }
}

/// Section 6.5: the order is clone, drop, recirculation, unicast.
#[test]
fn clone_and_drop_precede_recirculation_after_egress() {
    let ingress = "if (i.packet_path != PSA_PacketPath_t.RECIRCULATE) {
            send_to_port(o, h.r.a[2:2] == 1 ? PSA_PORT_RECIRCULATE : (PortId_t) 1); } else { send_to_port(o, (PortId_t) 2); h.r.a = 0; }";
    let egress = "if (i.packet_path == PSA_PacketPath_t.NORMAL_UNICAST) {
            o.clone = h.r.a[0:0] == 1; o.clone_session_id = (CloneSessionId_t) 8; o.drop = h.r.a[1:1] == 1; }";
    for mut switch in both(Psa { ingress, egress, ..Psa::default() }) {
        switch.set_clone_session(8, Some(session(9, 0)));
        for flags in 0..8_u8 {
            let clone = (flags & 1 != 0).then_some(9);
            let rest = match flags {
                _ if flags & 2 != 0 => None,
                _ if flags & 4 != 0 => Some(2),
                _ => Some(1),
            };
            let outputs = outputs(&mut switch, 0, &[flags, 0, 0, 0]);
            let mut ports: Vec<u32> = outputs.into_iter().map(|(port, _)| port).collect();
            ports.sort_by_key(|port| *port != 9);
            let expected: Vec<u32> = clone.into_iter().chain(rest).collect();
            assert_eq!(ports, expected, "flags {flags:03b}");
        }
    }
}

/// Section 6.2.1: a group may include the CPU port and the recirculation port, and the copies keep
/// the class of service.
#[test]
fn multicast_groups_may_have_every_kind_of_port() {
    let ingress = "if (i.packet_path == PSA_PacketPath_t.NORMAL) { multicast(o, (MulticastGroup_t) 5); o.class_of_service = (ClassOfService_t) 3; }
        else { send_to_port(o, (PortId_t) 7); h.r.d = i.ingress_port == PSA_PORT_RECIRCULATE ? 8w9 : 0; }";
    let egress = "h.r.a = (bit<8>)(EgressInstanceUint_t)i.instance; h.r.b = (bit<8>)(ClassOfServiceUint_t)i.class_of_service;
        h.r.c = h.r.c + 1;";
    for mut switch in both(Psa { ingress, egress, ..Psa::default() }) {
        let members = [(RECIRCULATE, 1), (CPU, 2), (4, 3), (4, 5)];
        let members = members.map(|(port, instance)| Replica { port, instance });
        switch.set_multicast_group(5, members.to_vec());
        let expected = [
            (CPU, vec![2, 3, 1, 0]),
            (4, vec![3, 3, 1, 0]),
            (4, vec![5, 3, 1, 0]),
            (7, vec![0, 0, 2, 9]),
        ];
        assert_eq!(outputs(&mut switch, 0, &[0; 4]), expected);
        switch.set_multicast_group(5, Vec::new());
        assert_eq!(outputs(&mut switch, 0, &[0; 4]), [], "an empty group");
    }
}

/// Section 6.8: a session has any number of copies, a class of service and a length.
#[test]
fn a_clone_session_has_copies_a_class_and_a_length() {
    let ingress = "if (i.packet_path == PSA_PacketPath_t.NORMAL) { o.clone = true; o.clone_session_id = (CloneSessionId_t) 8; }
        else { send_to_port(o, (PortId_t) 7); }";
    let egress = "h.r.a = (bit<8>)(EgressInstanceUint_t)i.instance; h.r.b = (bit<8>)(ClassOfServiceUint_t)i.class_of_service;
        h.r.c = i.packet_path == PSA_PacketPath_t.CLONE_I2E ? 8w1 : 2;";
    for mut switch in both(Psa { ingress, egress, ..Psa::default() }) {
        let replicas = [(RECIRCULATE, 1), (CPU, 2), (3, 4)];
        let replicas = replicas.map(|(port, instance)| Replica { port, instance }).to_vec();
        let session = CloneSession {
            replicas,
            class_of_service: 6,
            packet_length: Some(5),
            ..CloneSession::default()
        };
        switch.set_clone_session(8, Some(session));
        let expected =
            [(CPU, vec![2, 6, 1, 0, 0]), (3, vec![4, 6, 1, 0, 0]), (7, vec![0, 0, 2, 0, 0])];
        assert_eq!(outputs(&mut switch, 0, &[0; 9]), expected);
        switch.set_clone_session(8, None);
        assert_eq!(outputs(&mut switch, 0, &[0; 9]), [], "a session that is not configured");
    }
}

/// Section 6.1: a packet that was recirculated and then resubmitted has the recirculation port.
#[test]
fn a_packet_that_is_resubmitted_after_recirculation_keeps_its_port() {
    let ingress = "if (i.packet_path == PSA_PacketPath_t.NORMAL) { send_to_port(o, PSA_PORT_RECIRCULATE); }
        else if (i.packet_path == PSA_PacketPath_t.RECIRCULATE) { o.drop = false; o.resubmit = true; }
        else { send_to_port(o, (PortId_t) 1); h.r.a = i.ingress_port == PSA_PORT_RECIRCULATE ? 8w1 : 2; }";
    let mut switch = Psa { ingress, ..Psa::default() }.load();
    assert_eq!(packet(&mut switch, 3, &[0; 4])[0], 1);
}

/// Sections 6.1 and 6.4 define the initial values of metadata.
#[test]
fn metadata_have_their_initial_values() {
    let ingress = "h.r.a = (o.class_of_service == (ClassOfService_t) 0 ? 8w1 : 0) + (o.clone ? 8w0 : 2) + (o.drop ? 8w4 : 0)
            + (o.resubmit ? 8w0 : 8) + (o.multicast_group == (MulticastGroup_t) 0 ? 8w16 : 0)
            + (i.parser_error == error.NoError ? 8w32 : 0) + (i.packet_path == PSA_PacketPath_t.NORMAL ? 8w64 : 0);
        h.r.b = (bit<8>)(PortIdUint_t)i.ingress_port; h.r.c = (bit<8>)(TimestampUint_t)i.ingress_timestamp;
        send_to_port(o, (PortId_t) 5);";
    let egress = "h.r.d = (o.clone ? 8w0 : 1) + (o.drop ? 8w0 : 2) + (i.instance == (EgressInstance_t) 0 ? 8w4 : 0)
            + (i.egress_port == (PortId_t) 5 ? 8w8 : 0) + (i.parser_error == error.NoError ? 8w16 : 0)
            + ((bit<8>)(TimestampUint_t)i.egress_timestamp == h.r.c ? 8w32 : 0);";
    for mut switch in both(Psa { ingress, egress, ..Psa::default() }) {
        let outputs = outputs_at(&mut switch, 9, &[0; 4], Duration::from_micros(77));
        assert_eq!(outputs, [(5, vec![127, 9, 77, 63])]);
    }
}

/// Section 6.4.5: the egress parser has an error of its own.
#[test]
fn the_egress_parser_has_its_own_error() {
    let ingress = "h.r.setInvalid(); send_to_port(o, (PortId_t) 5);";
    let egress = "bool failed = i.parser_error == error.PacketTooShort; h.r.setValid(); h.r.a = failed ? 8w1 : 0; h.r.b = 0; h.r.c = 0; h.r.d = 0;";
    for mut switch in both(Psa { ingress, egress, ..Psa::default() }) {
        assert_eq!(packet(&mut switch, 0, &[1, 2, 3, 4, 5]), [1, 0, 0, 0, 5]);
        assert_eq!(packet(&mut switch, 0, &[1, 2, 3, 4, 5, 6, 7, 8])[0], 0);
    }
}

/// Section 4.1: the types in headers have the same numbers.
#[test]
fn conversions_to_and_from_headers_keep_the_numbers() {
    let ingress = "send_to_port(o, psa_PortId_header_to_int((PortIdInHeader_t)(PortIdInHeaderUint_t)((bit<32>)h.r.a)));
        o.class_of_service = psa_ClassOfService_header_to_int((ClassOfServiceInHeader_t)h.r.b);
        MulticastGroup_t g = psa_MulticastGroup_header_to_int((MulticastGroupInHeader_t)(MulticastGroupInHeaderUint_t)0);
        o.multicast_group = g;
        h.r.c = (bit<8>)(TimestampInHeaderUint_t)psa_Timestamp_int_to_header(i.ingress_timestamp);";
    let egress = "h.r.a = (bit<8>)(PortIdInHeaderUint_t)psa_PortId_int_to_header(i.egress_port) + 1;
        h.r.b = (bit<8>)(ClassOfServiceInHeaderUint_t)psa_ClassOfService_int_to_header(i.class_of_service) + 1;
        h.r.d = (bit<8>)(EgressInstanceInHeaderUint_t)psa_EgressInstance_int_to_header(i.instance);";
    for mut switch in both(Psa { ingress, egress, ..Psa::default() }) {
        let outputs = outputs_at(&mut switch, 0, &[6, 2, 0, 9], Duration::from_micros(5));
        assert_eq!(outputs, [(6, vec![7, 3, 5, 0])]);
    }
}

/// Section 7.5 defines each algorithm, without and with a range.
#[test]
fn every_algorithm_hashes_with_and_without_a_range() {
    let data = [0x12_u8, 0x34, 0x56];
    let crc32 = CrcParameters::CRC32.checksum(&data);
    for (algorithm, expected) in [
        ("IDENTITY", 0x12_3456),
        ("CRC32", crc32),
        ("CRC32_CUSTOM", crc32),
        ("CRC16", CrcParameters::CRC16.checksum(&data)),
        ("CRC16_CUSTOM", CRC16_CCITT.checksum(&data)),
        ("ONES_COMPLEMENT16", u64::from(!(0x1234_u16 + 0x5600))),
        ("TARGET_DEFAULT", crc32),
    ] {
        let locals = format!("Hash<bit<32>>(PSA_HashAlgorithm_t.{algorithm}) hash;");
        let run = |call: &str| {
            let ingress = format!(
                "send_to_port(o, (PortId_t) 1); bit<32> v = {call};
                h.r.a = v[31:24]; h.r.b = v[23:16]; h.r.c = v[15:8]; h.r.d = v[7:0];"
            );
            both(Psa { locals: &locals, ingress: &ingress, ..Psa::default() }).map(|mut switch| {
                switch.set_crc16(CRC16_CCITT);
                let packet = packet(&mut switch, 0, &[0x12, 0x34, 0x56, 0]);
                u64::from(u32::from_be_bytes([packet[0], packet[1], packet[2], packet[3]]))
            })
        };
        assert_eq!(run("hash.get_hash({ h.r.a, h.r.b, h.r.c })"), [expected; 2], "{algorithm}");
        let in_range = 1000 + expected % 77;
        let ranged = "hash.get_hash(32w1000, { h.r.a, h.r.b, h.r.c }, 32w77)";
        assert_eq!(run(ranged), [in_range; 2], "{algorithm} in a range");
    }
}

/// Section 7.6.1: a checksum covers all data since `clear`.
#[test]
fn a_checksum_covers_all_updates_since_clear() {
    let locals = "Checksum<bit<16>>(PSA_HashAlgorithm_t.CRC16) sum;";
    let ingress = "send_to_port(o, (PortId_t) 1); sum.update(h.r.d); sum.clear(); sum.update(h.r.a); sum.update({ h.r.b, h.r.c });
        bit<16> v = sum.get(); h.r.a = v[15:8]; h.r.b = v[7:0];";
    let mut switch = Psa { locals, ingress, ..Psa::default() }.load();
    let crc = CrcParameters::CRC16.checksum(&[1, 2, 3]) as u16;
    assert_eq!(packet(&mut switch, 0, &[1, 2, 3, 4])[..2], crc.to_be_bytes());
}

/// A hash or checksum of a whole header covers the fields that a list of them would, whether or not
/// the header is valid.
#[test]
fn a_whole_header_is_hashed_like_its_fields_even_if_it_is_invalid() {
    let locals = "Checksum<bit<16>>(PSA_HashAlgorithm_t.CRC16) updated; InternetChecksum() sum;
        Hash<bit<16>>(PSA_HashAlgorithm_t.CRC16) hashed;";
    let sum = |data: &str| format!("sum.clear(); sum.add({data}); bit<16> v = sum.get();");
    let difference =
        |data: &str| format!("sum.clear(); sum.subtract({data}); bit<16> v = sum.get();");
    let hash = |data: &str| format!("bit<16> v = hashed.get_hash({data});");
    let update =
        |data: &str| format!("updated.clear(); updated.update({data}); bit<16> v = updated.get();");
    let calls: [&dyn Fn(&str) -> String; 4] = [&sum, &difference, &hash, &update];
    for (position, call) in calls.into_iter().enumerate() {
        let run = |data: &str| {
            let call = call(data);
            let ingress = format!(
                "send_to_port(o, (PortId_t) 1); h.r.setInvalid(); {call} h.r.setValid(); h.r.a = v[15:8]; h.r.b = v[7:0];"
            );
            both(Psa { locals, ingress: &ingress, ..Psa::default() })
                .map(|mut switch| packet(&mut switch, 0, &[0x12, 0x34, 0x56, 0x78])[..2].to_vec())
        };
        let fields = run("{ h.r.a, h.r.b, h.r.c, h.r.d }");
        for data in ["h.r", "{ h.r }", "h"] {
            assert_eq!(run(data), fields, "call {position} of {data}");
        }
    }
}

/// Sections 7.7 to 7.9: with an index beyond the end, nothing is counted, metered or written.
#[test]
fn an_index_beyond_the_end_has_no_effect() {
    let locals = "Counter<bit<32>, bit<8>>(2, PSA_CounterType_t.BYTES) c; Meter<bit<8>>(2, PSA_MeterType_t.PACKETS) meter_;
        Register<bit<8>, bit<8>>(2, 7) r;";
    let ingress = "send_to_port(o, (PortId_t) 1); c.count(h.r.a); r.write(h.r.a, 9); h.r.b = r.read(0) + r.read(1);
        PSA_MeterColor_t colour = meter_.execute(h.r.a); h.r.c = h.r.a == 2 || colour == PSA_MeterColor_t.GREEN ? 8w1 : 0;";
    for mut switch in both(Psa { locals, ingress, ..Psa::default() }) {
        assert_eq!(packet(&mut switch, 0, &[2, 0, 0, 0]), [2, 14, 1, 0]);
        assert_eq!(packet(&mut switch, 0, &[1, 0, 0, 0]), [1, 16, 1, 0]);
        let id = switch.extern_named("c").expect("counter");
        let counted = [0, 1].map(|index| switch.counter(id, index).expect("element").bytes);
        assert_eq!(counted, [0, 4]);
    }
}

/// Section 7.8: meters are colour-aware or colour-blind, and count packets or bytes.
#[test]
fn meters_respect_colours_and_count_packets_or_bytes() {
    let locals = "Meter<bit<8>>(3, PSA_MeterType_t.PACKETS) packets; Meter<bit<8>>(3, PSA_MeterType_t.BYTES) bytes;";
    let ingress = "send_to_port(o, (PortId_t) 1); PSA_MeterColor_t colour = PSA_MeterColor_t.RED;
        if (h.r.a == 0) { colour = packets.execute(h.r.b); } else if (h.r.a == 1) { colour = bytes.execute(h.r.b); }
        else if (h.r.a == 2) { colour = packets.execute(h.r.b, PSA_MeterColor_t.YELLOW); }
        h.r.c = colour == PSA_MeterColor_t.GREEN ? 8w1 : (colour == PSA_MeterColor_t.YELLOW ? 8w2 : 3);";
    for mut switch in both(Psa { locals, ingress, ..Psa::default() }) {
        let config = |committed_burst, peak_burst| MeterConfig::TwoRate {
            committed_rate: 0,
            committed_burst,
            peak_rate: 0,
            peak_burst,
        };
        let id = |switch: &Switch, name| switch.extern_named(name).expect("meter");
        let (packets, bytes) = (id(&switch, "packets"), id(&switch, "bytes"));
        switch.configure_meter(packets, 1, Some(config(1, 2)), Duration::ZERO).expect("rates");
        switch.configure_meter(bytes, 1, Some(config(8, 12)), Duration::ZERO).expect("rates");
        switch.configure_meter(packets, 2, Some(config(1, 2)), Duration::ZERO).expect("rates");
        let mut colours =
            |kind: u8, index: u8| [(); 4].map(|()| packet(&mut switch, 0, &[kind, index, 0, 0])[2]);
        assert_eq!(colours(0, 1), [1, 2, 3, 3]);
        assert_eq!(colours(1, 1), [1, 1, 2, 3]);
        assert_eq!(colours(2, 2), [2, 2, 3, 3]);
        assert_eq!(colours(0, 0), [1; 4], "not configured");
    }
}

/// Section 7.9: elements of registers have any type, and an initial value.
#[test]
fn registers_may_have_structs_and_initial_values() {
    let locals = "Register<Note, bit<8>>(2, { 8w40 }) notes; Register<bool, bit<8>>(2) flags;";
    let ingress = "send_to_port(o, (PortId_t) 1); Note n = notes.read(1); h.r.b = n.v; n.v = n.v + 1; notes.write(1, n);
        h.r.c = flags.read(0) ? 8w1 : 0; flags.write(0, true);";
    for mut switch in both(Psa { locals, ingress, ..Psa::default() }) {
        assert_eq!(packet(&mut switch, 0, &[0; 4]), [0, 40, 0, 0]);
        assert_eq!(packet(&mut switch, 0, &[0; 4]), [0, 41, 1, 0]);
    }
}

/// Section 7.10: every value of the range occurs, including its ends.
#[test]
fn random_numbers_include_both_ends_of_their_range() {
    let locals = "Random<bit<16>>(250, 258) random;";
    let ingress = "send_to_port(o, (PortId_t) 1); bit<16> v = random.read(); h.r.a = v[15:8]; h.r.b = v[7:0];";
    let mut switch = Psa { locals, ingress, ..Psa::default() }.load();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..300 {
        let packet = packet(&mut switch, 0, &[0; 4]);
        seen.insert(u16::from_be_bytes([packet[0], packet[1]]));
    }
    assert!(seen.iter().copied().eq(250..=258), "{seen:?}");
}

/// Section 7.12: a hash of the selector keys chooses the member, and psa_switch uses all bits of
/// it. An empty group without its own action runs `NoAction`.
#[test]
fn a_selector_chooses_a_member_by_the_hash_of_its_keys() {
    let locals = "ActionSelector(PSA_HashAlgorithm_t.CRC16, 8, 4) selector;
        action set(bit<8> v) { h.r.b = v; }
        table t { key = { h.r.a: exact; h.r.d: selector; h.r.c: selector; } actions = { NoAction; set; }
            psa_implementation = selector; }";
    let ingress = "send_to_port(o, (PortId_t) 1); switch (t.apply().action_run) { NoAction: { h.r.c = 7; } default: { } }";
    let widths = [15, u64::MAX];
    for (mut switch, mask) in
        both(Psa { locals, ingress, ..Psa::default() }).into_iter().zip(widths)
    {
        let table = switch.table_named("t").expect("table");
        let selector = switch.extern_named("selector").expect("selector");
        for member in 0..3 {
            let action = call(&switch, "t", "set", &[u128::from(member) + 50]);
            switch.add_member(selector, member, action).expect("member");
        }
        let of = |member| pipeline::GroupMember { member, weight: 1, watch_port: None };
        let members = Group { members: vec![of(0), of(1), of(2)], ..Group::default() };
        switch.add_group(selector, 1, members).expect("group");
        switch.add_group(selector, 2, Group::default()).expect("group");
        for (key, action) in
            [(1, EntryAction::Group(1)), (2, EntryAction::Group(2)), (3, EntryAction::Member(2))]
        {
            let matches = vec![exact(key), FieldMatch::Any, FieldMatch::Any];
            let entry = TableEntry { matches, priority: 0, action, idle_timeout: None };
            switch.add_entry(table, entry, Duration::ZERO).expect("entry");
        }
        for low in 0..20_u8 {
            let chosen = (CrcParameters::CRC16.checksum(&[low, 9]) & mask) % 3;
            let got = packet(&mut switch, 0, &[1, 0, 9, low]);
            assert_eq!(got, [1, 50 + chosen as u8, 9, low]);
        }
        assert_eq!(packet(&mut switch, 0, &[2, 0, 9, 0]), [2, 0, 7, 0], "an empty group");
        assert_eq!(packet(&mut switch, 0, &[3, 0, 9, 0]), [3, 52, 9, 0], "a member");
        // For BMv2, p4c writes no default action of tables with an action profile
        // (`backends/bmv2/common/control.h`).
        let ran = if mask == 15 { 7 } else { 9 };
        assert_eq!(packet(&mut switch, 0, &[4, 0, 9, 0]), [4, 0, ran, 0], "a miss");
    }
}

/// Section 7.2.1: a hit restarts the timer. The control plane is notified once, and the entry
/// stays.
#[test]
fn an_idle_entry_is_reported_once_and_stays() {
    let locals =
        "action yes() { h.r.b = 1; } table t { key = { h.r.a: exact; } actions = { yes; NoAction; }
        psa_idle_timeout = PSA_IdleTimeout_t.NOTIFY_CONTROL; }";
    let ingress = "send_to_port(o, (PortId_t) 1); t.apply();";
    for mut switch in both(Psa { locals, ingress, ..Psa::default() }) {
        let table = switch.table_named("t").expect("table");
        let action = EntryAction::Action(call(&switch, "t", "yes", &[]));
        let idle_timeout = Some(Duration::from_secs(10));
        let entry = TableEntry { matches: vec![exact(1)], priority: 0, action, idle_timeout };
        switch.add_entry(table, entry, Duration::ZERO).expect("entry");
        let hit = |switch: &mut Switch, seconds| {
            outputs_at(switch, 0, &[1, 0, 0, 0], Duration::from_secs(seconds))[0].1[1]
        };
        let reported = |seconds| switch.expire(Duration::from_secs(seconds)).len();
        assert_eq!(reported(9), 0);
        assert_eq!(hit(&mut switch, 9), 1);
        let reported = |seconds| switch.expire(Duration::from_secs(seconds)).len();
        assert_eq!([reported(18), reported(19), reported(25)], [0, 1, 0]);
        assert_eq!(hit(&mut switch, 30), 1);
    }
}

/// Section 7.14: the digests of several instances are in the order in which they were made.
#[test]
fn digests_of_the_deparser_keep_their_order() {
    let program = Psa {
        ingress: "send_to_port(o, (PortId_t) 1);",
        deparser_locals: "Digest<Note>() first; Digest<bit<8>>() second;",
        ingress_deparser: "first.pack({ h.r.a }); if (h.r.b == 1) { second.pack(h.r.b); }",
        ..Psa::default()
    };
    for mut switch in both(program) {
        packet(&mut switch, 0, &[4, 1, 0, 0]);
        packet(&mut switch, 0, &[5, 0, 0, 0]);
        let (first, second) =
            (switch.extern_named("first").ok(), switch.extern_named("second").ok());
        let digests: Vec<_> = switch
            .take_digests()
            .into_iter()
            .map(|digest| (digest.instance, digest.value.to_string()))
            .collect();
        let expected = [(first, "{0x4}"), (second, "0x1"), (first, "{0x5}")];
        assert_eq!(digests, expected.map(|(id, text)| (id, text.to_owned())));
    }
}

/// P4_16 specification, section 13.11: the control plane sets the members of a value set.
#[test]
fn value_sets_match_the_members_of_the_control_plane() {
    let text = "#include <core.p4>
        #include <bmv2/psa.p4>
        header R { bit<8> a; bit<8> b; } struct H { R r; } struct M { } struct Key { bit<8> a; bit<8> b; }
        parser IP(packet_in p, out H h, inout M m, in psa_ingress_parser_input_metadata_t i, in M n, in M o) {
            value_set<bit<8>>(2) ones; value_set<Key>(2) twos;
            state start { p.extract(h.r); transition select(h.r.a, h.r.b) { twos: two; (_, _): more; } }
            state more { transition select(h.r.a) { ones: one; default: accept; } }
            state one { h.r.b = 101; transition accept; } state two { h.r.b = 102; transition accept; } }
        control I(inout H h, inout M m, in psa_ingress_input_metadata_t i, inout psa_ingress_output_metadata_t o) {
            apply { send_to_port(o, (PortId_t) 1); } }
        control ID(packet_out p, out M c, out M r, out M n, inout H h, in M m, in psa_ingress_output_metadata_t i) {
            apply { p.emit(h); } }
        parser EP(packet_in p, out H h, inout M m, in psa_egress_parser_input_metadata_t i, in M n, in M c, in M d) {
            state start { transition accept; } }
        control E(inout H h, inout M m, in psa_egress_input_metadata_t i, inout psa_egress_output_metadata_t o) { apply { } }
        control ED(packet_out p, out M c, out M r, inout H h, in M m, in psa_egress_output_metadata_t i,
            in psa_egress_deparser_input_metadata_t d) { apply { p.emit(h); } }
        IngressPipeline(IP(), I(), ID()) ip; EgressPipeline(EP(), E(), ED()) ep;
        PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;";
    let mut switch = super::support::load(text);
    assert_eq!(packet(&mut switch, 0, &[1, 2]), [1, 2]);
    let id = |switch: &Switch, name| switch.value_set_named(name).expect("value set");
    let (ones, twos) = (id(&switch, "ones"), id(&switch, "twos"));
    switch.set_value_set(ones, &[vec![exact(1)], vec![exact(3)]]).expect("members");
    switch.set_value_set(twos, &[vec![exact(3), exact(4)]]).expect("members");
    let found = [[1, 2], [3, 4], [3, 5], [4, 4]].map(|bytes| packet(&mut switch, 0, &bytes)[1]);
    assert_eq!(found, [101, 102, 101, 4]);
}
