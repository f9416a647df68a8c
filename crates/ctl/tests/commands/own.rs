//! Tests of the commands in their own words.

use crate::support::{Memory, error, run, run_json, silent};
use ctl::{CommandError, Flow, Message, PushAction, Session, run_line};
use p4runtime::proto::v1::{self, p4_data::Data};

#[test]
fn entries_of_all_match_kinds_are_written_and_shown() {
    let mut device = Memory::new();
    let mut session = Session::new(&mut device, false).expect("it has a pipeline");
    let session = &mut session;
    silent(
        session,
        &[
            "table add exact_match dst=08:00:00:00:01:11 forward port=1 --idle-timeout 5s --metadata 0aff",
            "table add routes hdr.ipv4.dst=10.1.2.3/8 counted port=2",
            "table add routes 192.168.0.0/16 forward 3",
            "table add filters src=10.0.0.0/8 length=80..443 limited port=4 --priority 10 --meter 1000:100,2000:200",
            "table add filters 10.0.0.1 6 * drop --priority=11",
            "table set-default always classify class=7",
        ],
    );
    assert_eq!(
        run(session, "table dump exact_match"),
        "table add exact_match hdr.ethernet.dst=08:00:00:00:01:11 forward port=1 --idle-timeout 5000000000ns \
         --metadata 0aff  # last hit 0 ns ago\ntable set-default exact_match NoAction"
    );
    assert_eq!(
        run(session, "table dump routes"),
        "table add routes hdr.ipv4.dst=10.0.0.0/8 counted port=2  # 0 packets, 0 bytes\n\
         table add routes hdr.ipv4.dst=192.168.0.0/16 forward port=3  # 0 packets, 0 bytes\n\
         table set-default routes drop"
    );
    let filters = run(session, "table dump filters");
    for line in [
        "table add filters hdr.ipv4.src=10.0.0.0&&&255.0.0.0 hdr.ipv4.length=80..443 limited port=4 --priority 10 \
         --meter 1000:100,2000:200",
        "table add filters hdr.ipv4.src=10.0.0.1 hdr.ipv4.protocol=6 drop --priority 11",
        "# constant: table set-default filters drop",
    ] {
        assert!(filters.lines().any(|found| found == line), "{filters}");
    }
    assert_eq!(run(session, "table dump always"), "table set-default always classify class=7");
    assert_eq!(
        run_json(session, "table dump routes dst=10.0.0.0/8"),
        r#"{"action":"MyIngress.counted","bytes":0,"kind":"entry","match":{"hdr.ipv4.dst":"10.0.0.0/8"},"packets":0,"parameters":{"port":"2"},"table":"MyIngress.routes"}"#
    );
    silent(
        session,
        &["table modify routes dst=10.0.0.0/8 drop", "table delete routes 192.168.0.0/16"],
    );
    assert_eq!(
        run(session, "table dump routes"),
        "table add routes hdr.ipv4.dst=10.0.0.0/8 drop  # 0 packets, 0 bytes\ntable set-default routes drop"
    );
    assert_eq!(run(session, "table count filters"), "filters: 2 entries");
    silent(session, &["table clear filters", "table reset-default always", "table clear"]);
    assert_eq!(run(session, "table count filters"), "filters: 0 entries");
    assert_eq!(run(session, "table count exact_match"), "exact_match: 0 entries");
    assert_eq!(run(session, "table dump always"), "table set-default always NoAction");
}

#[test]
fn members_groups_and_one_shots() {
    let mut device = Memory::new();
    let mut session = Session::new(&mut device, false).expect("it has a pipeline");
    let session = &mut session;
    silent(
        session,
        &[
            "member add choices 1 forward port=1",
            "member add choices 2 forward 2",
            "group add choices 5 1 2*3@7 --max-size 8",
            "table add balanced dst=10.0.0.1 --group 5",
            "table add balanced dst=10.0.0.2 --member 2",
        ],
    );
    assert_eq!(run(session, "group dump choices"), "group add choices 5 1 2*3@7 --max-size 8");
    assert_eq!(
        run(session, "member dump"),
        "member add choices 1 forward port=1\nmember add choices 2 forward port=2"
    );
    let entries = run(session, "table dump balanced");
    for line in [
        "table add balanced hdr.ipv4.dst=10.0.0.1 --group 5",
        "table add balanced hdr.ipv4.dst=10.0.0.2 --member 2",
    ] {
        assert!(entries.lines().any(|found| found == line), "{entries}");
    }
    assert_eq!(
        run_json(session, "group dump choices 5"),
        r#"{"group":5,"kind":"group","max_size":8,"members":[{"member":1,"watch":null,"weight":1},{"member":2,"watch":"7","weight":3}],"profile":"MyIngress.choices"}"#
    );
    // A member that is used cannot be deleted, and the device says so.
    let refusal = error(session, "member delete choices 2").to_string();
    assert!(refusal.starts_with("the device refuses: "), "{refusal}");
    silent(session, &["member modify choices 2 NoAction", "clear"]);
    assert_eq!(run(session, "group dump"), "");
    assert_eq!(run(session, "member dump"), "");
    let entry = "table add balanced hdr.ipv4.dst=10.0.0.3 one-shot forward port=1 , forward port=2 --weight 2 --watch 4";
    silent(session, &[entry]);
    assert_eq!(run(session, "table dump balanced").lines().next(), Some(entry));
    assert!(run_json(session, "table dump balanced").contains(r#""watch":"4","weight":2"#));
}

#[test]
fn counters_meters_and_registers_have_cells_ranges_and_entries() {
    let mut device = Memory::new();
    let mut session = Session::new(&mut device, false).expect("it has a pipeline");
    let session = &mut session;
    silent(session, &["counter write ports 1..2 --packets 3 --bytes 180"]);
    assert_eq!(run(session, "counter read ports 2"), "ports[2]: 3 packets, 180 bytes");
    assert_eq!(run(session, "counter read ports").lines().count(), 8);
    silent(session, &["counter reset ports 2"]);
    assert_eq!(
        run(session, "counter read ports 1..2"),
        "ports[1]: 3 packets, 180 bytes\nports[2]: 0 packets, 0 bytes"
    );
    silent(
        session,
        &["table add routes 10.0.0.0/8 drop", "counter write hits dst=10.0.0.0/8 --packets 5"],
    );
    assert_eq!(
        run(session, "counter read routes"),
        "routes hdr.ipv4.dst=10.0.0.0/8: 5 packets, 0 bytes"
    );
    silent(session, &["counter reset hits"]);
    assert_eq!(
        run_json(session, "counter read hits dst=10.0.0.0/8"),
        r#"{"bytes":0,"entry":{"hdr.ipv4.dst":"10.0.0.0/8"},"kind":"direct counter","packets":0}"#
    );
    silent(session, &["meter write rates 3 1000:100,2000:200", "meter write rates 4 5:6"]);
    assert_eq!(
        run(session, "meter read rates 3..5"),
        "rates[3]: committed 1000:100, peak 2000:200\nrates[4]: committed 5:6, peak 5:6\n\
         rates[5]: no rates, all packets are green"
    );
    silent(session, &["meter reset rates"]);
    assert_eq!(run(session, "meter read rates 3"), "rates[3]: no rates, all packets are green");
    silent(session, &["register write seen 2..3 0x2a"]);
    assert_eq!(run(session, "register read seen 2..4"), "seen[2] = 42\nseen[3] = 42\nseen[4] = 0");
    assert_eq!(
        run_json(session, "register read seen 2"),
        r#"{"index":2,"kind":"register","register":"MyIngress.seen","value":"42"}"#
    );
    silent(session, &["register reset seen 2", "register write seen 7 10.0.0.1"]);
    assert_eq!(run(session, "register read seen 2"), "seen[2] = 0");
    assert_eq!(run(session, "register read seen 7"), "seen[7] = 167772161");
    for (line, problem) in [
        ("register write seen 8 1", "index 8 is not below the size 8"),
        ("register write seen 3..2 1", "'3..2' is neither an index nor a range such as 2..5"),
        ("register write seen 1 0x1ffffffff", "the value needs 33 bits, the type has 32"),
        ("counter write ports 1", "--packets N and --bytes N are missing"),
        (
            "meter write rates 1 fast",
            "'fast' is not RATE:BURST[,RATE:BURST[,EXCESS]], in units per second",
        ),
    ] {
        let found = error(session, line).to_string();
        assert!(found.contains(problem), "{line}: {found}");
    }
}

#[test]
fn replication_digests_and_value_sets() {
    let mut device = Memory::new();
    let mut session = Session::new(&mut device, false).expect("it has a pipeline");
    let session = &mut session;
    silent(
        session,
        &[
            "multicast add 1 1 2:5 3",
            "clone add 9 4 --class 2 --truncate 128",
            "digest enable learned_t --max-timeout 10ms --max-list 4 --ack-timeout 1s",
            "value-set add types 0x88b5 0x0806",
        ],
    );
    assert_eq!(run(session, "multicast dump"), "multicast add 1 1 2:5 3");
    assert_eq!(run(session, "clone dump 9"), "clone add 9 4 --class 2 --truncate 128");
    assert_eq!(
        run(session, "digest dump"),
        "digest enable learned_t --max-timeout 10000000ns --max-list 4 --ack-timeout 1000000000ns"
    );
    assert_eq!(run(session, "value-set dump"), "value-set write types 34997 2054");
    silent(
        session,
        &[
            "value-set remove types 2054",
            "multicast modify 1 7",
            "clone modify 9 1 2",
            // A digest that is enabled can be enabled with other settings.
            "digest enable learned_t",
        ],
    );
    assert_eq!(run(session, "value-set dump types"), "value-set write types 34997");
    assert_eq!(run(session, "multicast dump 1"), "multicast add 1 7");
    assert_eq!(
        run_json(session, "clone dump"),
        r#"{"class_of_service":0,"kind":"clone session","packet_length_bytes":0,"replicas":[{"instance":0,"port":"1"},{"instance":0,"port":"2"}],"session":9}"#
    );
    silent(
        session,
        &[
            "value-set clear types",
            "multicast delete 1",
            "clone delete 9",
            "digest disable learned_t",
        ],
    );
    assert_eq!(
        run(session, "dump").lines().filter(|line| !line.contains("set-default")).count(),
        1
    );
}

#[test]
fn packets_are_sent_and_messages_are_shown() {
    let mut device = Memory::new();
    let id = |bytes: &'static [u8]| bytes::Bytes::from_static(bytes);
    let packet = v1::PacketIn {
        payload: id(&[0xde, 0xad]),
        metadata: vec![v1::PacketMetadata { metadata_id: 1, value: id(&[1, 4]) }],
    };
    let member = |data| v1::P4Data { data: Some(data) };
    let learned = v1::P4StructLike {
        members: vec![
            member(Data::Bitstring(id(&[8, 0, 0, 0, 1, 17]))),
            member(Data::Bitstring(id(&[3]))),
        ],
    };
    let digest_id = crate::support::schema().digests().iter().next().expect("a digest").id.0;
    let list = v1::DigestList {
        digest_id,
        data: vec![member(Data::Struct(learned))],
        ..v1::DigestList::default()
    };
    device.messages.extend([
        Message::Packet(packet.clone()),
        Message::Digest(list),
        Message::Packet(packet),
    ]);
    let mut session = Session::new(&mut device, false).expect("it has a pipeline");
    assert_eq!(run(&mut session, "listen packets --count 1"), "packet-in port=260: dead");
    assert_eq!(
        run(&mut session, "listen"),
        "digest learned_t: {08:00:00:00:01:11, 3}\npacket-in port=260: dead"
    );
    silent(&mut session, &["packet out dead port=7"]);
    assert!(
        error(&mut session, "packet out dead").to_string().starts_with("port=VALUE is missing")
    );
    assert!(
        error(&mut session, "packet out dea port=7").to_string().contains("pairs of hexadecimal")
    );
    drop(session);
    let metadata = &device.sent[0].metadata;
    assert_eq!((metadata[0].value.as_ref(), metadata[1].value.as_ref()), (&[7][..], &[0][..]));
}

#[test]
fn queues_change_setting_by_setting() {
    let mut device = Memory::new();
    let mut session = Session::new(&mut device, false).expect("it has a pipeline");
    let session = &mut session;
    silent(
        session,
        &["queue set port=2 rate=10Mbps queues=4", "queue set port=2 queue=3 rate=2Mbps burst=3kB"],
    );
    let lines = "queue set port=2 queues=4 rate=10000000bps\nqueue set port=2 queue=3 rate=2000000bps burst=3000B";
    assert_eq!(run(session, "queue dump"), lines);
    silent(session, &["set_queue_depth 16 2 3", "set_queue_rate 100 2 1"]);
    assert_eq!(
        run(session, "queue dump 2"),
        "queue set port=2 queues=4 rate=10000000bps\nqueue set port=2 queue=1 rate=100pps\n\
         queue set port=2 queue=3 rate=2000000bps burst=3000B depth=16"
    );
    silent(session, &["set_queue_depth 8"]);
    assert_eq!(run(session, "queue dump").matches("depth=8").count(), 4);
    silent(session, &["queue clear 2"]);
    assert_eq!(run(session, "queue dump"), "");
    assert!(error(session, "queue set port=2 rat=1").to_string().contains("there is no 'rat'"));
    let packet = "ffffffffffff00000000000108000000";
    assert_eq!(run(session, &format!("inject 1 {packet}")), format!("port 2: {packet}"));
    let tried = run(session, &format!("inject 1 {packet} --trace --without-effects"));
    assert!(tried.starts_with("trace {") && tried.contains("effects 1"), "{tried}");
    let both = error(session, &format!("inject 1 {packet} --send --without-effects")).to_string();
    assert!(both.contains("a packet without effects cannot leave"), "{both}");
    for (options, origin) in [
        ("--trace", "values false, all false"),
        ("--values", "values true, all false"),
        ("--all-outcomes --trace", "values false, all true"),
    ] {
        let traced = run(session, &format!("inject 1 {packet} {options}"));
        assert!(traced.starts_with("trace {") && traced.contains(origin), "{traced}");
        assert!(traced.ends_with(&format!("\nport 2: {packet}")), "{traced}");
    }
    let refusal = error(session, "inject 1 ff").to_string();
    assert_eq!(refusal, "the device refuses: the packet is too short (InvalidArgument)");
}

#[test]
fn a_dry_run_shows_requests_and_changes_nothing() {
    let mut device = Memory::new();
    let mut session = Session::new(&mut device, true).expect("it has a pipeline");
    let shown = run(&mut session, "table add routes 10.0.0.0/8 forward port=3");
    let start =
        "p4.v1.WriteRequest {device_id:3,updates:[{type:INSERT,entity{table_entry{table_id:";
    assert!(shown.starts_with(start), "{shown}");
    assert!(run(&mut session, "table dump routes").starts_with("p4.v1.ReadRequest {device_id:3"));
    assert!(
        run(&mut session, "packet out 00 port=1").starts_with("p4.v1.StreamMessageRequest {packet")
    );
    assert_eq!(
        run(&mut session, "pipeline push a.p4 --verify"),
        "SetForwardingPipelineConfig Verify a.p4"
    );
    assert!(run(&mut session, "queue set port=1 rate=1Mbps").contains("SetQueuesRequest"));
    drop(session);
    assert_eq!((device.writes, device.sent.len(), device.pushed.len()), (0, 0, 0));
    assert!(device.queues.0.is_empty());
}

#[test]
fn a_device_without_a_pipeline_gets_one() {
    let mut device = Memory::new();
    device.has_pipeline = false;
    let mut session = Session::new(&mut device, false).expect("it answers");
    assert!(matches!(error(&mut session, "tables"), CommandError::NoPipeline));
    silent(&mut session, &["pipeline push a.p4info.txt a.json"]);
    assert_eq!(run(&mut session, "table count routes"), "routes: 0 entries");
    silent(&mut session, &["pipeline push b.p4 --save", "pipeline commit"]);
    let problem = error(&mut session, "pipeline push a.p4 --save --verify").to_string();
    assert!(problem.contains("exclude each other"), "{problem}");
    drop(session);
    let actions: Vec<PushAction> = device.pushed.iter().map(|(_, action)| *action).collect();
    assert_eq!(actions, [PushAction::Commit, PushAction::Save, PushAction::CommitSaved]);
}

#[test]
fn the_shape_of_a_program_is_shown() {
    let mut device = Memory::new();
    let mut session = Session::new(&mut device, false).expect("it has a pipeline");
    let session = &mut session;
    assert_eq!(
        run(session, "tables filters"),
        "MyIngress.filters: key hdr.ipv4.src ternary (32 bits), hdr.ipv4.protocol optional (8 bits), hdr.ipv4.length \
         range (16 bits); actions limited, drop, forward, 1024 entries"
    );
    assert_eq!(run(session, "tables").lines().count(), 6);
    assert!(run(session, "actions").contains("MyIngress.forward: port (9 bits)"));
    assert_eq!(run(session, "ports"), "port 1: up\nport 2: down");
    assert!(run(session, "pipeline show").contains("name: \"MyIngress.routes\""));
    assert_eq!(run_line(session, "quit", &mut |_| {}).expect("it ends"), Flow::Quit);
    assert_eq!(run(session, "  # nothing"), "");
    assert!(
        run(session, "help table").contains("table set-default TABLE ACTION PARAMETER=VALUE ...")
    );
}
