//! Tests of idle timeouts as load, against a controller with configurable behaviour.

use std::time::Duration;

use p4runtime::arbitration::ElectionId;
use p4runtime::client::Client;
use p4runtime::proto::v1::{
    self, entity::Entity, stream_message_response::Update as Response, table_action::Type, update,
    write_request::Atomicity,
};
use probe::outcome::{Completion, Trial};

use super::p4runtime::{beside, p4info_file, refused};

const LOAD: (&str, &str) = ("traffic.load", "idle-timeout");

/// A P4Info with two tables. The key of the first one is too short for the probe. The second one is
/// so small that entries which the controller leaves are replaced.
const P4INFO: &str = r#"
    tables {
      preamble { id: 0x02000001 name: "ingress.ports" alias: "ports" }
      match_fields { id: 1 name: "port" bitwidth: 9 match_type: EXACT }
      action_refs { id: 0x01000001 }
      size: 512
      idle_timeout_behavior: NOTIFY_CONTROL
    }
    tables {
      preamble { id: 0x02000002 name: "ingress.flows" alias: "flows" }
      match_fields { id: 1 name: "source" bitwidth: 32 match_type: TERNARY }
      match_fields { id: 2 name: "destination" bitwidth: 32 match_type: LPM }
      action_refs { id: 0x01000001 }
      size: 12
      idle_timeout_behavior: NOTIFY_CONTROL
    }
    actions {
      preamble { id: 0x01000001 name: "ingress.forward" alias: "forward" }
      params { id: 1 name: "port" bitwidth: 9 }
    }
"#;

/// The controller's answer to an idle entry.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Answer {
    Delete,
    Modify,
    /// Deletes the entry twice.
    DeleteTwice,
    /// Deletes a different entry.
    DeleteAnother,
    Nothing,
}

/// Runs a trial of one switch with 30 due times in 300 ms and a preloaded pipeline. Returns the
/// entries of which the controller was notified, and the number of its Writes that failed.
fn with_controller(answer: Answer, more: &[(&str, &str)]) -> (Trial, Vec<v1::TableEntry>, usize) {
    let p4info = p4info_file(P4INFO);
    let path = p4info.path().to_str().expect("a name");
    let settings = [&[LOAD], more].concat();
    let (trial, (entries, failed)) = beside(path, &settings, move |client| control(client, answer));
    (trial, entries, failed)
}

async fn control(mut client: Client, answer: Answer) -> (Vec<v1::TableEntry>, usize) {
    let elected = client.become_primary("", ElectionId(1), Duration::from_secs(20)).await;
    let (_sender, mut receiver) = elected.expect("primary");
    let (mut entries, mut failed) = (Vec::new(), 0);
    // The switch ends the stream when the trial is over.
    while let Ok(Some(message)) = receiver.next().await {
        let Response::IdleTimeoutNotification(told) = message else { continue };
        for entry in told.table_entry {
            for update in updates(answer, &entry) {
                let outcome = client.write(vec![update], Atomicity::ContinueOnError).await;
                failed += usize::from(outcome.is_err());
            }
            entries.push(entry);
        }
    }
    (entries, failed)
}

/// Returns the updates that the controller writes for an idle entry.
fn updates(answer: Answer, entry: &v1::TableEntry) -> Vec<v1::Update> {
    let update = |kind: update::Type, entry: v1::TableEntry| v1::Update {
        r#type: kind.into(),
        entity: Some(v1::Entity { entity: Some(Entity::TableEntry(entry)) }),
    };
    let deleted = || update(update::Type::Delete, entry.clone());
    match answer {
        Answer::Delete => vec![deleted()],
        Answer::DeleteTwice => vec![deleted(), deleted()],
        Answer::Modify => {
            let params = vec![v1::action::Param { param_id: 1, value: vec![7].into() }];
            let action = Type::Action(v1::Action { action_id: 0x0100_0001, params });
            let action = Some(v1::TableAction { r#type: Some(action) });
            vec![update(update::Type::Modify, v1::TableEntry { action, ..entry.clone() })]
        }
        Answer::DeleteAnother => {
            let mut entry = entry.clone();
            entry.r#match.truncate(1);
            vec![update(update::Type::Delete, entry)]
        }
        Answer::Nothing => Vec::new(),
    }
}

#[test]
fn an_idle_entry_is_answered_by_its_deletion_or_by_setting_it_again() {
    for (answer, removed) in [(Answer::Delete, 30), (Answer::Modify, 0)] {
        let (trial, entries, failed) = with_controller(answer, &[("timing.drain", "10s")]);
        let counts = trial.counts;
        assert_eq!((counts.due, counts.sent, counts.answered), (30, 30, 30), "{counts:?}");
        assert_eq!((counts.lost, counts.duplicated, counts.unmatched), (0, 0, 0), "{counts:?}");
        // The entries exist, so no update of the controller is refused.
        assert_eq!((failed, counts.rules_removed), (0, removed), "{counts:?}");
        assert_eq!(trial.completion, Completion::Complete);
        assert!(
            trial.notes.iter().any(|note| note.contains("notifications that a table entry")),
            "{:?}",
            trial.notes
        );
        // The key of the first table is too short.
        assert!(entries.iter().all(|entry| entry.table_id == 0x0200_0002), "{entries:?}");
        let keys: std::collections::HashSet<_> =
            entries.iter().map(|entry| format!("{:?}", entry.r#match)).collect();
        assert_eq!(keys.len(), 30, "each is told of once");
    }
}

#[test]
fn idle_entries_without_an_update_are_unanswered_and_make_room() {
    let (trial, entries, _) = with_controller(Answer::Nothing, &[]);
    let counts = trial.counts;
    assert_eq!((counts.due, counts.sent), (30, 30), "{counts:?}");
    assert_eq!((counts.answered, counts.lost, entries.len()), (0, 30, 30), "{counts:?}");
}

#[test]
fn an_update_of_another_entry_is_no_answer_and_a_second_one_is_a_duplicate() {
    let calm = [("timing.drain", "1s"), ("switch", "0:stop-delay=100ms")];
    let (trial, _, failed) = with_controller(Answer::DeleteAnother, &calm);
    assert_eq!((trial.counts.sent, trial.counts.answered, failed), (20, 0, 20));
    let (trial, _, failed) = with_controller(Answer::DeleteTwice, &calm);
    let counts = trial.counts;
    assert_eq!((counts.sent, counts.answered, counts.duplicated), (20, 20, 20), "{counts:?}");
    assert_eq!(failed, 20, "the second deletion finds nothing");
}

#[test]
fn answers_set_the_pace_of_a_closed_loop() {
    let closed = [("traffic.mode", "closed"), ("traffic.window", "2")];
    let (trial, ..) = with_controller(Answer::Delete, &closed);
    assert!(trial.counts.answered > 10, "{:?}", trial.counts);
    let (trial, ..) = with_controller(Answer::Nothing, &closed);
    assert_eq!((trial.counts.sent, trial.counts.answered), (2, 0), "{:?}", trial.counts);
}

#[test]
fn a_pipeline_without_such_a_table_is_refused() {
    let error = refused(P4INFO, &[LOAD, ("p4runtime.idle-table", "ports")]);
    assert!(error.contains("no table \"ports\" whose entries can be idle"), "{error}");
    assert!(error.contains("it declares ingress.flows"), "{error}");
}
