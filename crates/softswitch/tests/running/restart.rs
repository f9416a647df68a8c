//! Tests of the state that a switch restores after a restart.

use crate::support::{Bench, Controller, Names, PROGRAM, options, pushed};
use p4runtime::proto::v1::{
    self, entity::Entity as Kind, set_forwarding_pipeline_config_request::Action,
};
use softswitch::Durability;
use std::path::Path;

pub(crate) async fn entries(controller: &mut Controller) -> Vec<v1::Entity> {
    let wanted = v1::TableEntry { table_id: Names::new().table(), ..Default::default() };
    let read = controller.client.read(vec![v1::Entity { entity: Some(Kind::TableEntry(wanted)) }]);
    read.await.expect("it is there")
}

/// Starts a switch, writes entries to it and stops it.
async fn start_write_stop(state: &Path) {
    let bench = Bench::with_state(2, state);
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    let names = Names::new();
    controller.insert((0..100).map(|to| names.entry(to, "forward", &[2]))).await;
}

#[tokio::test]
async fn entries_are_there_again_and_forward() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state");
    start_write_stop(&state).await;
    let mut bench = Bench::with_state(2, &state);
    bench.send(1, &[99, 1]);
    assert_eq!(bench.receive(2, 1), [[99, 1]]);
    let mut controller = Controller::of(&bench.switch, 2).await;
    assert_eq!(entries(&mut controller).await.len(), 100);
}

/// A file that was truncated after the switch had ended lacks acknowledged writes. The switch
/// refuses to start from it, the file stays unchanged, and a repaired copy holds the remaining
/// writes.
#[tokio::test]
async fn a_file_that_was_cut_off_is_refused_and_can_be_repaired() {
    let directory = tempfile::tempdir().expect("a directory");
    let [state, repaired] = ["state", "repaired"].map(|name| directory.path().join(name));
    start_write_stop(&state).await;
    let whole = std::fs::read(&state).expect("it is there");
    for missing in [1, 100, 1_000] {
        let cut = &whole[..whole.len() - missing];
        std::fs::write(&state, cut).expect("it is written");
        let refused = Bench::try_start(2, &state).expect_err("an acknowledged batch is missing");
        assert!(refused.to_string().contains("--state-repair"), "{refused}");
        assert_eq!(std::fs::read(&state).expect("it is there"), cut);
        let _ = std::fs::remove_file(&repaired);
        let report = softswitch::repair_state(&state, &repaired).expect("it can be read");
        assert_eq!(report.copied, 1, "the pipeline");
        let bench = Bench::with_state(2, &repaired);
        let mut controller = Controller::of(&bench.switch, 2).await;
        assert_eq!(entries(&mut controller).await.len(), 0, "a batch is whole or not there");
    }
}

/// Answered writes also survive a restart if answers wait until the writes are on the storage
/// medium.
#[tokio::test]
async fn answered_writes_survive_with_sync_to_the_medium() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state");
    let durability = Durability::Medium;
    let bench = Bench::started(2, Some(&state), durability, options()).expect("it starts");
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    let names = Names::new();
    for to in 0..20 {
        controller.insert([names.entry(to, "forward", &[2])]).await;
    }
    drop(bench);
    let bench = Bench::with_state(2, &state);
    let mut controller = Controller::of(&bench.switch, 2).await;
    assert_eq!(entries(&mut controller).await.len(), 20);
}

/// Between VERIFY_AND_SAVE and COMMIT, writes go to a pipeline that does not run yet. A restart
/// before COMMIT restores the running pipeline unchanged and forgets the saved one; after COMMIT,
/// it restores the committed pipeline with its entries.
#[tokio::test]
async fn writes_to_a_saved_pipeline_are_kept_when_it_is_committed() {
    let directory = tempfile::tempdir().expect("a directory");
    let [state, before, after] =
        ["state", "before", "after"].map(|name| directory.path().join(name));
    let bench = Bench::with_state(2, &state);
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    let names = Names::new();
    controller.insert((0..10).map(|to| names.entry(to, "forward", &[2]))).await;
    let client = &mut controller.client;
    client.set_pipeline(Action::VerifyAndSave, Some(pushed(PROGRAM))).await.expect("it is right");
    controller.insert((5..25).map(|to| names.entry(to, "forward", &[1]))).await;
    // The copy is what `kill -9` leaves: records are in the file before they are answered.
    std::fs::copy(&state, &before).expect("it is copied");
    controller.client.set_pipeline(Action::Commit, None).await.expect("one is saved");
    std::fs::copy(&state, &after).expect("it is copied");
    drop(bench);

    let mut bench = Bench::with_state(2, &before);
    let mut controller = Controller::of(&bench.switch, 2).await;
    assert_eq!(entries(&mut controller).await.len(), 10);
    bench.send(1, &[9, 1]);
    assert_eq!(bench.receive(2, 1), [[9, 1]]);
    let nothing = controller.client.set_pipeline(Action::Commit, None).await;
    assert_eq!(nothing.expect_err("what was saved is gone").code() as i32, 5);

    let mut bench = Bench::with_state(2, &after);
    let mut controller = Controller::of(&bench.switch, 2).await;
    assert_eq!(entries(&mut controller).await.len(), 20);
    bench.send(2, &[9, 1]);
    assert_eq!(bench.receive(1, 1), [[9, 1]]);
}
