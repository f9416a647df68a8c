//! Tests of digests as load, against a controller with configurable behaviour.

use std::time::Duration;

use p4runtime::arbitration::ElectionId;
use p4runtime::client::Client;
use p4runtime::proto::v1::{
    self, entity::Entity, stream_message_response::Update as Response, update,
    write_request::Atomicity,
};
use probe::outcome::{Completion, Trial};

use super::p4runtime::{beside, p4info_file, refused};

const LOAD: (&str, &str) = ("traffic.load", "digest");

const DIGEST: u32 = 0x1700_0001;

const P4INFO: &str = r#"
    digests {
      preamble { id: 0x17000001 name: "ingress.learn" alias: "learn" }
      type_spec { struct { name: "learn_t" } }
    }
    type_info {
      structs {
        key: "learn_t"
        value {
          members { name: "src_addr" type_spec { bitstring { bit { bitwidth: 48 } } } }
          members { name: "ingress_port" type_spec { bitstring { bit { bitwidth: 9 } } } }
          members { name: "number" type_spec { bitstring { bit { bitwidth: 64 } } } }
        }
      }
    }
"#;

/// The behaviour of the controller.
#[derive(Clone, Copy, Debug)]
struct Behaviour {
    /// Whether it enables the digest, with settings that make a data plane bundle digests.
    enables: bool,
    /// The number of times that it acknowledges each list.
    acknowledges: usize,
}

/// Runs a trial of one switch with 30 due times in 300 ms and a preloaded pipeline, and returns the
/// lists that arrived at the controller.
fn with_controller(behaviour: Behaviour, more: &[(&str, &str)]) -> (Trial, Vec<v1::DigestList>) {
    let p4info = p4info_file(P4INFO);
    let path = p4info.path().to_str().expect("a name");
    beside(path, &[&[LOAD], more].concat(), move |client| control(client, behaviour))
}

async fn control(mut client: Client, behaviour: Behaviour) -> Vec<v1::DigestList> {
    let elected = client.become_primary("", ElectionId(1), Duration::from_secs(20)).await;
    let (sender, mut receiver) = elected.expect("primary");
    if behaviour.enables {
        let config = v1::digest_entry::Config {
            max_timeout_ns: 1_000_000_000,
            max_list_size: 100,
            ack_timeout_ns: 1_000_000_000,
        };
        let entry = v1::DigestEntry { digest_id: DIGEST, config: Some(config) };
        let entity = v1::Entity { entity: Some(Entity::DigestEntry(entry)) };
        let update = v1::Update { r#type: update::Type::Insert.into(), entity: Some(entity) };
        client
            .write(vec![update], Atomicity::ContinueOnError)
            .await
            .expect("the digest is enabled");
    }
    let mut lists = Vec::new();
    // The switch ends the stream when the trial is over.
    while let Ok(Some(message)) = receiver.next().await {
        if let Response::Digest(list) = message {
            (0..behaviour.acknowledges).for_each(|_| sender.acknowledge(&list));
            lists.push(list);
        }
    }
    lists
}

#[test]
fn every_digest_that_is_acknowledged_is_answered() {
    let behaviour = Behaviour { enables: true, acknowledges: 1 };
    let (trial, lists) = with_controller(behaviour, &[("timing.drain", "10s")]);
    let counts = trial.counts;
    assert_eq!((counts.due, counts.sent, counts.answered), (30, 30, 30), "{counts:?}");
    assert_eq!((counts.lost, counts.duplicated, counts.unmatched), (0, 0, 0), "{counts:?}");
    assert_eq!(trial.completion, Completion::Complete);
    assert!(
        trial.notes.iter().any(|note| note.contains("lists of one digest")),
        "{:?}",
        trial.notes
    );
    // Each due time yields a list with a single element, although the controller allows bundling.
    let ids: Vec<u64> = lists.iter().map(|list| list.list_id).collect();
    assert_eq!(ids, (1..=30).collect::<Vec<u64>>());
    for (number, list) in lists.iter().enumerate() {
        let [v1::P4Data { data: Some(v1::p4_data::Data::Struct(data)) }] = list.data.as_slice()
        else {
            panic!("{list:?}")
        };
        let bits = |member: &v1::P4Data| match &member.data {
            Some(v1::p4_data::Data::Bitstring(bytes)) => bytes.to_vec(),
            other => panic!("{other:?}"),
        };
        let members: Vec<Vec<u8>> = data.members.iter().map(bits).collect();
        assert_eq!(members[0].len(), 6, "an address: {members:?}");
        assert_ne!(members[1], [0], "a port: {members:?}");
        assert_eq!(members[2], [number as u8], "its number: {members:?}");
    }
}

#[test]
fn unacknowledged_digests_are_unanswered() {
    let (trial, lists) = with_controller(Behaviour { enables: true, acknowledges: 0 }, &[]);
    let counts = trial.counts;
    assert_eq!((counts.due, counts.sent), (30, 30), "{counts:?}");
    assert_eq!((counts.answered, counts.lost, lists.len()), (0, 30, 30), "{counts:?}");
}

#[test]
fn acknowledgements_that_come_twice_are_duplicates() {
    let behaviour = Behaviour { enables: true, acknowledges: 2 };
    // The drain leaves time for the second acknowledgement of the last list.
    let calm = [("timing.drain", "10s"), ("switch", "0:stop-delay=100ms")];
    let (trial, _) = with_controller(behaviour, &calm);
    let counts = trial.counts;
    assert_eq!((counts.sent, counts.answered, counts.duplicated), (20, 20, 20), "{counts:?}");
    assert!(!trial.notes.iter().any(|note| note.contains("floods")), "{:?}", trial.notes);
}

#[test]
fn acknowledgements_set_the_pace_of_a_closed_loop() {
    let closed = [("traffic.mode", "closed"), ("traffic.window", "2")];
    let (trial, _) = with_controller(Behaviour { enables: true, acknowledges: 1 }, &closed);
    assert!(trial.counts.answered > 10, "{:?}", trial.counts);
    let (trial, _) = with_controller(Behaviour { enables: true, acknowledges: 0 }, &closed);
    assert_eq!((trial.counts.sent, trial.counts.answered), (2, 0), "{:?}", trial.counts);
}

#[test]
fn a_controller_that_does_not_enable_the_digest_is_reported() {
    let behaviour = Behaviour { enables: false, acknowledges: 1 };
    let (trial, lists) = with_controller(behaviour, &[("timing.connect-timeout", "1s")]);
    let Completion::Failed { reason } = &trial.completion else { panic!("{:?}", trial.completion) };
    assert!(reason.contains("0 of 1 switches were ready"), "{reason}");
    let why = trial.handshake.why_zero.as_deref().unwrap_or_default();
    assert!(why.contains("enable digest \"ingress.learn\""), "{why}");
    assert!(lists.is_empty(), "{lists:?}");
}

#[test]
fn a_pipeline_without_the_digest_is_refused() {
    let error = refused(P4INFO, &[LOAD, ("p4runtime.digest", "mac_learn")]);
    assert!(error.contains("no digest \"mac_learn\""), "{error}");
    assert!(error.contains("it declares ingress.learn"), "{error}");
}
