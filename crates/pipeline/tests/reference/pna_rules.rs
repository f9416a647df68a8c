//! Tests of the rules of PNA, by section of the specification (version 0.7), and by the
//! declarations of version 0.5.

use super::support::{add_exact, call, exact, load, outputs, outputs_at, packet};
use pipeline::{
    CloneSession, CrcParameters, EntryAction, EntryHandle, Event, FieldMatch, Group, MeterConfig,
    Replica, Switch, TableEntry,
};
use std::time::Duration;

/// Returns a program of version 0.7. `parser` are the statements after the extraction. `locals` and
/// `apply` are parts of the main control.
fn pna(parser: &str, locals: &str, apply: &str) -> Switch {
    load(&format!(
        "#include <core.p4>
        #include <pna.p4>
        header R {{ bit<8> a; bit<8> b; bit<8> c; bit<8> d; }} struct H {{ R r; }} struct M {{ bit<8> x; }}
        struct Two {{ bit<8> first; bit<16> second; }} struct None {{ }}
        parser P(packet_in p, out H h, inout M m, in pna_main_parser_input_metadata_t i) {{
            state start {{ p.extract(h.r); {parser} transition accept; }} }}
        control C(inout H h, inout M m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {{
            {locals} apply {{ {apply} }} }}
        control D(packet_out p, in H h, in M m, in pna_main_output_metadata_t o) {{ apply {{ p.emit(h); }} }}
        PNA_NIC(P(), C(), D()) main;"
    ))
}

/// Returns a program of version 0.5, whose pre control has the types of the main control.
fn pna_with_pre(pre: &str, apply: &str) -> Switch {
    load(&format!(
        "#include <core.p4>
        #include <dpdk/pna.p4>
        header R {{ bit<8> a; bit<8> b; bit<8> c; bit<8> d; }} struct H {{ R r; }} struct M {{ bit<8> x; }}
        parser P(packet_in p, out H h, inout M m, in pna_main_parser_input_metadata_t i) {{
            state start {{ p.extract(h.r); transition accept; }} }}
        control Pre(in H h, inout M m, in pna_pre_input_metadata_t i, inout pna_pre_output_metadata_t o) {{ apply {{ {pre} }} }}
        control C(inout H h, inout M m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {{
            ipsec_accelerator() accelerator;
            apply {{ {apply} }} }}
        control D(packet_out p, in H h, in M m, in pna_main_output_metadata_t o) {{ apply {{ p.emit(h); }} }}
        PNA_NIC(P(), Pre(), C(), D()) main;"
    ))
}

#[test]
fn metadata_have_their_initial_values() {
    let parser = "m.x = (bit<8>)(PortIdUint_t)i.input_port + (i.recirculated ? 8w100 : 0);";
    let apply = "send_to_port((PortId_t)1); h.r.a = m.x; h.r.b = (bit<8>)(PortIdUint_t)i.input_port;
        h.r.c = (bit<8>)(TimestampUint_t)i.timestamp; h.r.d = (i.parser_error == error.NoError ? 8w1 : 0)
            + (i.recirculated ? 8w0 : 2) + (i.class_of_service == (ClassOfService_t) 0 ? 8w4 : 0)
            + (o.class_of_service == (ClassOfService_t) 0 ? 8w8 : 0);";
    let mut switch = pna(parser, "", apply);
    let outputs = outputs_at(&mut switch, 7, &[0; 4], Duration::from_micros(9));
    assert_eq!(outputs, [(1, vec![7, 7, 9, 15])]);
    let apply = "send_to_port((PortId_t)1); h.r.setValid(); h.r.a = i.parser_error == error.PacketTooShort ? 8w1 : 0;";
    let mut switch = pna("", "", apply);
    assert_eq!(packet(&mut switch, 0, &[5, 6]), [1, 0, 0, 0, 5, 6]);
}

/// Section 5.6: slots are independent, the last call for a slot counts, and dropping does not
/// affect mirroring.
#[test]
fn mirror_slots_are_independent() {
    let apply = "if (h.r.a[0:0] == 1) { mirror_packet((MirrorSlotId_t)0, (MirrorSessionId_t)5); }
        if (h.r.a[1:1] == 1) { mirror_packet((MirrorSlotId_t)0, (MirrorSessionId_t)6); }
        if (h.r.a[2:2] == 1) { mirror_packet((MirrorSlotId_t)1, (MirrorSessionId_t)5); }
        if (h.r.a[3:3] == 1) { mirror_packet((MirrorSlotId_t)2, (MirrorSessionId_t)7); }
        if (h.r.a[4:4] == 1) { drop_packet(); } else { send_to_port((PortId_t)1); }";
    let mut switch = pna("", "", apply);
    for (session, port) in [(5, 50), (6, 60)] {
        let replicas = vec![Replica { port, instance: 0 }];
        switch.set_clone_session(session, Some(CloneSession { replicas, ..Default::default() }));
    }
    let mut ports = |flags: u8| {
        let outputs = outputs(&mut switch, 0, &[flags, 0, 0, 0]);
        outputs.into_iter().map(|(port, _)| port).collect::<Vec<_>>()
    };
    assert_eq!(ports(0), [1]);
    assert_eq!(ports(0b0_0001), [50, 1]);
    assert_eq!(ports(0b0_0011), [60, 1], "the last call");
    assert_eq!(ports(0b0_0111), [60, 50, 1], "two slots");
    assert_eq!(ports(0b1_0101), [50, 50], "dropped");
    assert_eq!(ports(0b0_1000), [1], "a session that is not configured");
    let replicas = vec![Replica { port: 50, instance: 0 }];
    let session = CloneSession { replicas, packet_length: Some(3), ..Default::default() };
    switch.set_clone_session(5, Some(session));
    let truncated = outputs(&mut switch, 0, &[1, 2, 3, 4, 5]);
    assert_eq!(truncated, [(50, vec![1, 2, 3]), (1, vec![1, 2, 3, 4, 5])]);
}

/// Section 5.6 defines `packet_contents` of a session.
#[test]
fn a_session_mirrors_the_packet_before_or_after_the_main_control() {
    let apply = "mirror_packet((MirrorSlotId_t)0, (MirrorSessionId_t)5); mirror_packet((MirrorSlotId_t)1, (MirrorSessionId_t)6);
        h.r.a = 9; drop_packet();";
    let mut switch = pna("", "", apply);
    for (session, before_main_control) in [(5, true), (6, false)] {
        let replicas = vec![Replica { port: session, instance: 0 }];
        let config = CloneSession { replicas, before_main_control, ..Default::default() };
        switch.set_clone_session(session, Some(config));
    }
    let expected = [(5, vec![1, 2, 3, 4, 5]), (6, vec![9, 2, 3, 4, 5])];
    assert_eq!(outputs(&mut switch, 0, &[1, 2, 3, 4, 5]), expected);
}

/// Version 0.5 has a direction, a pass number and recirculation. The pre control runs between the
/// parser and the main control.
#[test]
fn the_pre_control_sees_directions_and_passes() {
    let pre = "m.x = h.r.a + (i.direction == PNA_Direction_t.HOST_TO_NET ? 8w100 : 0);
        if (i.pass == (PassNumber_t)0 && !i.loopedback && i.parser_error == error.NoError) { m.x = m.x + 1; } ";
    let apply = "h.r.b = m.x; h.r.c = h.r.c + (bit<8>)(PassNumberUint_t)i.pass;
        h.r.d = SelectByDirection(i.direction, 8w3, 8w4);
        if (i.pass == (PassNumber_t)3) { send_to_port((PortId_t)2); } else { recirculate(); }";
    let mut switch = pna_with_pre(pre, apply);
    switch.set_host_port(8, true);
    assert_eq!(outputs(&mut switch, 1, &[5, 0, 0, 0]), [(2, vec![5, 5, 6, 3])]);
    assert_eq!(outputs(&mut switch, 8, &[5, 0, 0, 0]), [(2, vec![5, 105, 6, 4])]);
}

/// Section 7.1: the action parameters are given by name, or there are none. `add_entry_if` adds an
/// entry only if its condition holds.
#[test]
fn packets_add_entries_with_any_parameters() {
    let locals = |call: &str| {
        format!(
            "action two(bit<8> first, bit<16> second) {{ h.r.b = first; h.r.c = second[15:8]; h.r.d = second[7:0]; }}
            action nothing() {{ h.r.b = 200; }}
            action miss() {{ h.r.b = {call} == ADD_ENTRY_SUCCESS ? 8w100 : 101; }}
            table t {{ key = {{ h.r.a: exact; h.r.d: exact; }} actions = {{ two; nothing; @defaultonly miss; }}
                default_action = miss(); add_on_miss = true; size = 3; }}"
        )
    };
    let profile = "(ExpireTimeProfileId_t)1";
    let run = |call: &str| {
        let mut switch = pna("", &locals(call), "send_to_port((PortId_t)1); t.apply();");
        [1, 1, 2].map(|key| packet(&mut switch, 0, &[key, 0, 0, 0]))
    };
    let two = run(&format!("add_entry(\"two\", {{ first = 8w9, second = 16w0x1234 }}, {profile})"));
    assert_eq!(two, [[1, 100, 0, 0], [1, 9, 0x12, 0x34], [2, 100, 0, 0]]);
    let two = run(&format!("add_entry(\"two\", (Two){{ first = 8w9, second = 16w7 }}, {profile})"));
    assert_eq!(two[1], [1, 9, 0, 7]);
    let nothing = run(&format!("add_entry(\"nothing\", (None){{ }}, {profile})"));
    assert_eq!(nothing[1][1], 200);
    let conditional = format!("add_entry_if(h.r.a == 2, \"nothing\", (None){{ }}, {profile})");
    assert_eq!(run(&conditional).map(|packet| packet[1]), [101, 101, 100]);
}

/// Entries of the control plane count for the size of the table. A full table accepts no entry
/// until one is removed.
#[test]
fn added_entries_share_the_table_with_those_of_the_control_plane() {
    let locals = "action hit() { h.r.b = 1; } action other() { h.r.b = 2; }
        action miss() { AddEntryErrorStatus_t s = add_entry(\"hit\", (None){ }, (ExpireTimeProfileId_t)0); h.r.b = 100 + (bit<8>)s; }
        table t { key = { h.r.a: exact; } actions = { hit; other; @defaultonly miss; } default_action = miss();
            add_on_miss = true; size = 2; }";
    let mut switch = pna("", locals, "send_to_port((PortId_t)1); t.apply();");
    let table = switch.table_named("t").expect("table");
    add_exact(&mut switch, "t", 1, "other", &[]);
    let run = |switch: &mut Switch, key: u8| packet(switch, 0, &[key, 0, 0, 0])[1];
    assert_eq!([1, 2, 2, 3].map(|key| run(&mut switch, key)), [2, 100, 1, 101]);
    switch.delete_entry(table, &[exact(1)], 0).expect("deleted");
    assert_eq!([3, 3, 1].map(|key| run(&mut switch, key)), [100, 1, 101]);
}

/// Packets may write an entry that a packet added, through `@__ref` or through `rmw` of p4-spec
/// pull request 1239.
#[test]
fn packets_write_entries_that_packets_added() {
    for reference in ["@__ref bit<8>", "rmw bit<8>"] {
        let locals = format!(
            "action swap({reference} first) {{ bit<8> old = first; first = h.r.b; h.r.b = old; }}
            action miss() {{ add_entry(\"swap\", {{ first = h.r.b }}, (ExpireTimeProfileId_t)0); h.r.b = 99; }}
            table t {{ key = {{ h.r.a: exact; }} actions = {{ swap; @defaultonly miss; }} default_action = miss();
                add_on_miss = true; size = 8; }}"
        );
        let mut switch = pna("", &locals, "send_to_port((PortId_t)1); t.apply();");
        let mut swap = |key: u8, value: u8| packet(&mut switch, 0, &[key, value, 0, 0])[1];
        let old = [swap(1, 10), swap(1, 11), swap(2, 20), swap(1, 12), swap(2, 21)];
        assert_eq!(old, [99, 10, 99, 11, 20], "{reference}");
    }
}

/// Sections 7.1 and 7.2: if the table has no timeout, an entry stays, regardless of its profile.
#[test]
fn entries_expire_as_the_table_says() {
    let run = |idle: &str, again: &[u64]| {
        let locals = format!(
            "action hit() {{ h.r.b = 1; }}
            action miss() {{ add_entry(\"hit\", (None){{ }}, (ExpireTimeProfileId_t)3); }}
            table t {{ key = {{ h.r.a: exact; }} actions = {{ hit; @defaultonly miss; }} default_action = miss();
                add_on_miss = true; size = 2; {idle} }}"
        );
        let mut switch = pna("", &locals, "send_to_port((PortId_t)1); t.apply();");
        switch.set_expire_time_profile(3, Some(Duration::from_secs(10)));
        packet(&mut switch, 0, &[1, 0, 0, 0]);
        again
            .iter()
            .map(|second| {
                let now = Duration::from_secs(*second);
                let gone = switch.expire(now);
                let hit = outputs_at(&mut switch, 0, &[1, 0, 0, 0], now)[0].1[1];
                (gone.len(), hit)
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(run("", &[9, 100]), [(0, 1), (0, 1)]);
    let no = "pna_idle_timeout = PNA_IdleTimeout_t.NO_TIMEOUT;";
    assert_eq!(run(no, &[9, 100]), [(0, 1), (0, 1)]);
    let notify = "pna_idle_timeout = PNA_IdleTimeout_t.NOTIFY_CONTROL;";
    assert_eq!(run(notify, &[9, 18, 28]), [(0, 1), (0, 1), (1, 1)], "a hit restarts the timer");
    let delete = "pna_idle_timeout = PNA_IdleTimeout_t.AUTO_DELETE;";
    assert_eq!(run(delete, &[9, 11]), [(0, 1), (1, 0)], "a hit does not");
}

/// Version 0.5 has a separate property for automatic deletion.
#[test]
fn entries_are_deleted_by_a_property_in_version_0_5() {
    let text = "#include <core.p4>
        #include <dpdk/pna.p4>
        header R { bit<8> a; bit<8> b; } struct H { R r; } struct M { } struct None { }
        parser P(packet_in p, out H h, inout M m, in pna_main_parser_input_metadata_t i) {
            state start { p.extract(h.r); transition accept; } }
        control Pre(in H h, inout M m, in pna_pre_input_metadata_t i, inout pna_pre_output_metadata_t o) { apply { } }
        control C(inout H h, inout M m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {
            action hit() { h.r.b = 1; }
            action miss() { h.r.b = add_entry(\"hit\", (None){ }, (ExpireTimeProfileId_t)3) ? 8w2 : 3; }
            table t { key = { h.r.a: exact; } actions = { hit; @defaultonly miss; } default_action = miss();
                add_on_miss = true; idle_timeout_with_auto_delete = true; }
            apply { send_to_port((PortId_t)1); t.apply(); } }
        control D(packet_out p, in H h, in M m, in pna_main_output_metadata_t o) { apply { p.emit(h.r); } }
        PNA_NIC(P(), Pre(), C(), D()) main;";
    let mut switch = load(text);
    switch.set_expire_time_profile(3, Some(Duration::from_secs(10)));
    let results = [0, 9, 10, 11]
        .map(|second| outputs_at(&mut switch, 0, &[1, 0], Duration::from_secs(second))[0].1[1]);
    assert_eq!(results, [2, 1, 2, 1]);
}

/// `set_entry_expire_time_if` and other calls change the timer of the entry that was hit only.
#[test]
fn only_the_timer_of_the_entry_that_was_hit_changes() {
    let locals = "action hit() { set_entry_expire_time_if(h.r.b == 1, (ExpireTimeProfileId_t)2); h.r.c = 1; }
        action miss() { add_entry(\"hit\", (None){ }, (ExpireTimeProfileId_t)1); restart_expire_timer(); }
        table t { key = { h.r.a: exact; } actions = { hit; @defaultonly miss; } default_action = miss();
            add_on_miss = true; size = 8; pna_idle_timeout = PNA_IdleTimeout_t.AUTO_DELETE; }";
    let mut switch = pna("", locals, "send_to_port((PortId_t)1); t.apply();");
    switch.set_expire_time_profile(1, Some(Duration::from_secs(10)));
    switch.set_expire_time_profile(2, Some(Duration::from_secs(100)));
    let mut run = |key: u8, longer: u8, second: u64| {
        let now = Duration::from_secs(second);
        outputs_at(&mut switch, 0, &[key, longer, 0, 0], now)[0].1[2]
    };
    assert_eq!([run(1, 0, 0), run(2, 0, 0)], [0, 0]);
    assert_eq!([run(1, 1, 5), run(2, 0, 5)], [1, 1]);
    assert_eq!([run(1, 0, 104), run(2, 0, 104)], [1, 0]);
    assert_eq!(run(1, 0, 105), 0, "a false condition leaves the timer");
}

/// The hash is an algorithm of DPDK, and the control plane sets its key.
#[test]
fn toeplitz_hashes_use_the_key_of_the_control_plane() {
    let apply = "Hash<bit<32>>(PNA_HashAlgorithm_t.TOEPLITZ) hash; apply { bit<32> v = hash.get_hash({ h.r.a, h.r.b });
        h.r.c = v[31:24]; h.r.d = v[7:0]; send_to_port((PortId_t)1); }";
    let text = format!(
        "#include <core.p4>
        #include <dpdk/pna.p4>
        header R {{ bit<8> a; bit<8> b; bit<8> c; bit<8> d; }} struct H {{ R r; }} struct M {{ }}
        parser P(packet_in p, out H h, inout M m, in pna_main_parser_input_metadata_t i) {{
            state start {{ p.extract(h.r); transition accept; }} }}
        control Pre(in H h, inout M m, in pna_pre_input_metadata_t i, inout pna_pre_output_metadata_t o) {{ apply {{ }} }}
        control C(inout H h, inout M m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {{ {apply} }}
        control D(packet_out p, in H h, in M m, in pna_main_output_metadata_t o) {{ apply {{ p.emit(h.r); }} }}
        PNA_NIC(P(), Pre(), C(), D()) main;"
    );
    let mut switch = load(&text);
    assert_eq!(packet(&mut switch, 0, &[0x80, 0x01, 9, 9]), [0x80, 0x01, 0, 0]);
    // With bits 0 and 15 set, the hash combines the key from its first and from its sixteenth bit
    // on.
    switch.set_toeplitz_key(vec![0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0]);
    let expected: u32 = 0x1234_5678 ^ ((0x34_5678_9abc_u64 >> 1) as u32);
    let bytes = expected.to_be_bytes();
    let got = packet(&mut switch, 0, &[0x80, 0x01, 9, 9]);
    assert_eq!(got, [0x80, 0x01, bytes[0], bytes[3]]);
}

#[test]
fn flow_identifiers_differ() {
    let apply = "send_to_port((PortId_t)1); FlowIdUint_t f = (FlowIdUint_t)allocate_flow_id(); FlowIdUint_t g = (FlowIdUint_t)allocate_flow_id();
        h.r.a = f[7:0]; h.r.b = g[7:0];";
    let mut switch = pna("", "", apply);
    let ids: Vec<u8> = (0..4).flat_map(|_| packet(&mut switch, 0, &[0; 4])[..2].to_vec()).collect();
    let different: std::collections::BTreeSet<u8> = ids.iter().copied().collect();
    assert_eq!(different.len(), 8, "{ids:?}");
}

/// Section 6: the externs are those of PSA.
#[test]
fn externs_of_psa_have_the_same_results_in_pna() {
    let locals = "Hash<bit<16>>(PNA_HashAlgorithm_t.CRC16) hash; Checksum<bit<16>>(PNA_HashAlgorithm_t.ONES_COMPLEMENT16) sum;
        InternetChecksum() ck; Register<bit<8>, bit<8>>(2, 7) r; Random<bit<8>>(9, 9) random;
        Counter<bit<32>, bit<8>>(2, PNA_CounterType_t.BYTES) c; Meter<bit<8>>(2, PNA_MeterType_t.BYTES) meter_;";
    let run = |apply: &str| {
        let mut switch = pna("", locals, &format!("send_to_port((PortId_t)1); {apply}"));
        let id = switch.extern_named("meter_").expect("meter");
        let config = MeterConfig::TwoRate {
            committed_rate: 0,
            committed_burst: 4,
            peak_rate: 0,
            peak_burst: 8,
        };
        switch.configure_meter(id, 1, Some(config), Duration::ZERO).expect("rates");
        let results = [(); 3].map(|()| packet(&mut switch, 0, &[1, 2, 0, 0]));
        let id = switch.extern_named("c").expect("counter");
        (results, switch.counter(id, 1).expect("element").bytes)
    };
    let word = "h.r.c = v[15:8]; h.r.d = v[7:0];";
    let crc = CrcParameters::CRC16.checksum(&[1, 2]);
    let result = run(&format!("bit<16> v = hash.get_hash({{ h.r.a, h.r.b }}); {word}")).0;
    assert_eq!(result[0][2..], (crc as u16).to_be_bytes());
    let in_range = format!("bit<16> v = hash.get_hash(16w1000, {{ h.r.a, h.r.b }}, 16w77); {word}");
    assert_eq!(run(&in_range).0[0][2..], (1000 + crc % 77).to_be_bytes()[6..]);
    let sum = format!("sum.update(h.r.a); sum.update(h.r.b); bit<16> v = sum.get(); {word}");
    assert_eq!(run(&sum).0[0][2..], [0xfe, 0xfd]);
    let ck = format!("ck.add({{ h.r.a, h.r.b }}); ck.subtract(16w1); bit<16> v = ck.get(); {word}");
    assert_eq!(run(&ck).0.map(|packet| packet[2..].to_vec()), [(); 3].map(|()| vec![0xfe, 0xfe]));
    let registers = run("h.r.c = r.read(1); r.write(1, h.r.c + random.read()); c.count(1);");
    assert_eq!((registers.0.map(|packet| packet[2]), registers.1), ([7, 16, 25], 12));
    let meters = run(
        "PNA_MeterColor_t m1 = meter_.execute(1); h.r.c = m1 == PNA_MeterColor_t.GREEN ? 8w1 : (m1 == PNA_MeterColor_t.YELLOW ? 8w2 : 3);
        h.r.d = meter_.execute(0, PNA_MeterColor_t.YELLOW) == PNA_MeterColor_t.YELLOW ? 8w1 : 0;",
    );
    assert_eq!(meters.0.map(|packet| [packet[2], packet[3]]), [[1, 1], [2, 1], [3, 1]]);
}

/// Section 6, and sections 7.7.3 and 7.8 of PSA: the default entry counts and meters too.
#[test]
fn direct_externs_include_the_default_entry() {
    let locals = "DirectCounter<bit<32>>(PNA_CounterType_t.PACKETS_AND_BYTES) c; DirectMeter(PNA_MeterType_t.PACKETS) meter_;
        action run() { c.count(); h.r.b = meter_.execute() == PNA_MeterColor_t.GREEN ? 8w1 : 2; } action no() { }
        table t { key = { h.r.a: exact; } actions = { run; no; } default_action = run(); pna_direct_counter = c; pna_direct_meter = meter_; }";
    let mut switch = pna("", locals, "send_to_port((PortId_t)1); t.apply();");
    add_exact(&mut switch, "t", 1, "run", &[]);
    add_exact(&mut switch, "t", 2, "no", &[]);
    let table = switch.table_named("t").expect("table");
    let meter = switch.extern_named("meter_").expect("meter");
    let config =
        MeterConfig::TwoRate { committed_rate: 0, committed_burst: 1, peak_rate: 0, peak_burst: 1 };
    let default = EntryHandle::DEFAULT;
    switch
        .configure_direct_meter(table, default, meter, Some(config), Duration::ZERO)
        .expect("rates");
    assert_eq!(switch.direct_meter_config(table, default, meter), Ok(Some(config)));
    let colours = [1, 1, 2, 3, 3].map(|key| packet(&mut switch, 0, &[key, 0, 0, 0])[1]);
    assert_eq!(colours, [1, 1, 0, 1, 2]);
    let counter = switch.extern_named("c").expect("counter");
    let mut handles: Vec<_> =
        switch.entries(table).expect("table").map(|(handle, _)| handle).collect();
    handles.push(default);
    let counted: Vec<_> = handles
        .into_iter()
        .map(|handle| {
            let value = switch.direct_counter(table, handle, counter).expect("entry");
            (value.packets, value.bytes)
        })
        .collect();
    assert_eq!(counted, [(2, 8), (0, 0), (2, 8)]);
}

/// Section 7 defines `pna_implementation` and `pna_empty_group_action`.
#[test]
fn an_empty_group_runs_the_action_that_the_table_names() {
    let locals = "ActionSelector(PNA_HashAlgorithm_t.CRC32, 8, 8) selector; action set(bit<8> v) { h.r.b = v; }
        table t { key = { h.r.a: exact; h.r.d: selector; } actions = { NoAction; set; }
            pna_implementation = selector; pna_empty_group_action = set(8w77); }";
    let mut switch = pna("", locals, "send_to_port((PortId_t)1); t.apply();");
    let table = switch.table_named("t").expect("table");
    let selector = switch.extern_named("selector").expect("selector");
    let action = call(&switch, "t", "set", &[5]);
    switch.add_member(selector, 1, action).expect("member");
    switch.add_group(selector, 1, Group::default()).expect("group");
    for (key, action) in [(1, EntryAction::Group(1)), (2, EntryAction::Member(1))] {
        let matches = vec![exact(key), FieldMatch::Any];
        let entry = TableEntry { matches, priority: 0, action, idle_timeout: None };
        switch.add_entry(table, entry, Duration::ZERO).expect("entry");
    }
    assert_eq!([1, 2, 3].map(|key| packet(&mut switch, 0, &[key, 0, 0, 0])[1]), [77, 5, 0]);
}

/// PNA adopts the action selectors of PSA, where the action is `NoAction` if the table names none.
#[test]
fn an_empty_group_runs_no_action_by_default() {
    let locals = "ActionSelector(PNA_HashAlgorithm_t.CRC32, 8, 8) selector; action set(bit<8> v) { h.r.b = v; }
        table t { key = { h.r.a: exact; h.r.d: selector; } actions = { NoAction; set; }
            default_action = set(9); pna_implementation = selector; }";
    let apply = "send_to_port((PortId_t)1);
        switch (t.apply().action_run) { NoAction: { h.r.c = 7; } default: { h.r.c = 8; } }";
    let mut switch = pna("", locals, apply);
    let table = switch.table_named("t").expect("table");
    let selector = switch.extern_named("selector").expect("selector");
    switch.add_group(selector, 1, Group::default()).expect("group");
    let matches = vec![exact(1), FieldMatch::Any];
    let entry =
        TableEntry { matches, priority: 0, action: EntryAction::Group(1), idle_timeout: None };
    switch.add_entry(table, entry, Duration::ZERO).expect("entry");
    assert_eq!(packet(&mut switch, 0, &[1, 0, 0, 0])[1..3], [0, 7]);
    assert_eq!(packet(&mut switch, 0, &[2, 0, 0, 0])[1..3], [9, 8]);
}

/// The deparser of later versions may write headers. With the `tc` architecture it also gets the
/// socket buffer.
#[test]
fn deparsers_of_later_versions_may_write_headers() {
    let program = |include: &str, extra: &str| {
        load(&format!(
            "#include <core.p4>
            #include <{include}>
            header R {{ bit<8> a; bit<8> b; }} struct H {{ R r; }} struct M {{ bit<8> x; }}
            parser P(packet_in p, out H h, inout M m, in pna_main_parser_input_metadata_t i) {{
                state start {{ p.extract(h.r); transition accept; }} }}
            control C(inout H h, inout M m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o {extra}) {{
                Counter<bit<32>, bit<8>>(2, PNA_CounterType_t.PACKETS) c;
                apply {{ c.count(1); m.x = h.r.a; send_to_port((PortId_t)1); }} }}
            control D(packet_out p, inout H h, in M m, in pna_main_output_metadata_t o {extra}) {{
                InternetChecksum() ck;
                apply {{ ck.add({{ h.r.a, m.x }}); bit<16> v = ck.get_state(); h.r.b = v[15:8]; p.emit(h.r); }} }}
            PNA_NIC(P(), C(), D()) main;"
        ))
    };
    for (include, extra) in [("bmv2/pna.p4", ""), ("tc/pna.p4", ", tc_skb_metadata skb")] {
        let mut switch = program(include, extra);
        assert_eq!(outputs(&mut switch, 0, &[5, 0, 9]), [(1, vec![5, 5, 9])], "{include}");
        let id = switch.extern_named("c").expect("counter");
        assert_eq!(switch.counter(id, 1).expect("element").packets, 1);
    }
}

/// The accelerator encrypts nothing. The trace says so, and a packet that is recirculated finds an
/// error status.
#[test]
fn accelerators_let_packets_pass() {
    let apply = "ipsec_status status; bool back = accelerator.from_ipsec(status);
        if (back) { h.r.c = status == ipsec_status.IPSEC_ERROR ? 8w9 : 8; send_to_port((PortId_t)1); }
        else { accelerator.set_sa_index(32w7); accelerator.enable(); if (h.r.a == 1) { accelerator.disable(); }
            if (h.r.b == 1) { recirculate(); } else { send_to_port((PortId_t)2); } }";
    let mut switch = pna_with_pre("", apply);
    let mut tell = |bytes: &[u8; 4]| {
        let mut trace: Vec<Event> = Vec::new();
        let outputs = switch.process_traced(0, bytes, Duration::ZERO, &mut trace).expect("runs");
        let told = trace
            .iter()
            .filter(|event| matches!(event, Event::Log { text } if text.contains("accelerator")))
            .count();
        (outputs[0].port, outputs[0].packet.clone(), told)
    };
    assert_eq!(tell(&[0, 0, 0, 0]), (2, vec![0, 0, 0, 0], 1));
    assert_eq!(tell(&[1, 0, 0, 0]), (2, vec![1, 0, 0, 0], 0), "disabled again");
    assert_eq!(tell(&[0, 1, 0, 0]), (1, vec![0, 1, 9, 0], 1));
}
