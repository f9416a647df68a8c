//! Tests with one switch among many that the controller does not serve.

use std::time::Duration;

use p4runtime::arbitration::ElectionId;
use p4runtime::client::{Client, ClientOptions};
use p4runtime::proto::v1::{self, stream_message_response::Update as Response};
use probe::outcome::{Saturated, Trial};

use super::openflow_peer::{Behaviour, Peer};
use super::p4runtime::free_port;
use super::run;

const P4INFO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/l2.p4info.txtpb");

/// Returns the settings of a run with twenty packet-ins of each switch in a second.
fn settings<'a>(switches: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut all = vec![
        ("switches.count", switches),
        ("traffic.rate", "20"),
        ("traffic.arp-first", "false"),
        ("timing.settle", "0s"),
        ("timing.warm-up", "0s"),
        ("timing.measure", "1s"),
        ("timing.drain", "1s"),
        ("timing.connect-timeout", "20s"),
    ];
    all.extend(more);
    all
}

/// Asserts that the verdict names exactly the one switch without answers.
#[track_caller]
fn assert_named(trial: &Trial) {
    let dead = trial.per_switch.iter().filter(|switch| switch.counts.answered == 0);
    let dead: Vec<u32> = dead.map(|switch| switch.index).collect();
    assert_eq!(dead.len(), 1, "{:?}", trial.counts);
    let verdict = &trial.verdict;
    assert_eq!(verdict.switches, dead, "{verdict:?}");
    assert_eq!(verdict.saturated, Saturated::Controller, "{verdict:?}");
    let named = format!("t switch {} 0 of 20 packet-ins were answered", dead[0]);
    assert!(verdict.because.contains(&named), "{verdict:?}");
}

#[test]
fn a_dead_switch_is_named_over_openflow() {
    for switches in [16, 200] {
        let peer = Peer::start(Behaviour::AnswerAllBut { dead: 9, of: switches });
        let (address, count) = (peer.address().to_string(), switches.to_string());
        assert_named(&run::run(&settings(&count, &[("controller.address", &address)])));
    }
}

/// Two hundred switches take four seconds for their twenty packet-ins. If they took one second, an
/// unoptimised build and the controller would overload a busy machine. The verdict would name that.
#[test]
fn a_dead_switch_is_named_over_p4runtime() {
    for (switches, rate, measured) in [(16, "20", "1s"), (200, "5", "4s")] {
        let (port, count) = (free_port().to_string(), switches.to_string());
        let address = format!("127.0.0.1:{port}");
        let controller = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let devices = (1..=switches).map(|device| serve(address.clone(), device));
                let tasks: Vec<_> = devices.map(tokio::spawn).collect();
                for task in tasks {
                    task.await.expect("no panic");
                }
            });
        });
        let more = [
            ("protocol", "p4runtime"),
            ("p4runtime.first-port", port.as_str()),
            ("p4runtime.devices-per-port", count.as_str()),
            ("p4runtime.p4info", P4INFO),
            ("traffic.rate", rate),
            ("timing.measure", measured),
        ];
        let trial = run::run(&settings(&count, &more));
        controller.join().expect("the controller does as told");
        assert_named(&trial);
    }
}

/// Serves a device, and answers its packet-ins unless the device is the tenth.
async fn serve(address: String, device: u64) {
    let mut client = loop {
        match Client::connect(&address, device, &ClientOptions::default()).await {
            Ok(client) => break client,
            Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    };
    let stream = client.open_stream("", None, Some(ElectionId(1))).await;
    let (sender, mut receiver) = stream.expect("a stream");
    while let Ok(Some(message)) = receiver.next().await {
        let Response::Packet(packet) = message else { continue };
        let field = |metadata_id| v1::PacketMetadata { metadata_id, value: vec![1].into() };
        let metadata = (1..=3).map(field).collect();
        let out = v1::PacketOut { payload: packet.payload, metadata };
        sender.packet_outs(std::iter::repeat_n(out, usize::from(device != 10)));
    }
}

#[test]
fn a_search_names_the_switch_that_lowers_it() {
    let peer = Peer::start(Behaviour::AnswerAllBut { dead: 9, of: 16 });
    let address = peer.address().to_string();
    let result = run::try_run(&settings(
        "16",
        &[
            ("controller.address", &address),
            ("plan.kind", "search"),
            ("plan.low", "40"),
            ("plan.high", "41"),
            ("timing.measure", "400ms"),
        ],
    ))
    .expect("a result");
    let mut trials = result.points.iter().flat_map(|point| &point.trials);
    let dead = trials.find_map(|trial| trial.verdict.switches.first()).expect("a dead switch");
    let named = format!("at switch {dead} than at the others");
    assert!(result.notes.iter().any(|note| note.contains(&named)), "{:?}", result.notes);
    let search = result.search.expect("a search");
    assert_eq!((search.loss_free_rate, search.confidence), (None, None), "{search:?}");
    assert!(search.loss_free_method.contains("No rate was loss-free, down to"), "{search:?}");
}
