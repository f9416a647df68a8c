//! What is there again after a restart.

use crate::support::{Bench, Controller, Names, PROGRAM, pushed};
use p4runtime::proto::v1::{
    self, entity::Entity as Kind, set_forwarding_pipeline_config_request::Action,
};
use std::path::Path;

async fn entries(controller: &mut Controller) -> Vec<v1::Entity> {
    let wanted = v1::TableEntry { table_id: Names::new().table(), ..Default::default() };
    let read = controller.client.read(vec![v1::Entity { entity: Some(Kind::TableEntry(wanted)) }]);
    read.await.expect("it is there")
}

/// A switch that was told something, and was let go.
async fn told(state: &Path) {
    let bench = Bench::with_state(2, state);
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    let names = Names::new();
    controller.insert((0..100).map(|to| names.entry(to, "forward", &[2]))).await;
}

#[tokio::test]
async fn entries_are_there_again_and_forward() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state");
    told(&state).await;
    let mut bench = Bench::with_state(2, &state);
    bench.send(1, &[99, 1]);
    assert_eq!(bench.receive(2, 1), [[99, 1]]);
    let mut controller = Controller::of(&bench.switch, 2).await;
    assert_eq!(entries(&mut controller).await.len(), 100);
}

/// As after `kill -9`: the file is cut off anywhere, and a batch is there whole or not at all.
#[tokio::test]
async fn a_batch_is_there_whole_or_not_at_all() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state");
    told(&state).await;
    let whole = std::fs::read(&state).expect("it is there");
    for missing in [1, 100, 1_000] {
        std::fs::write(&state, &whole[..whole.len() - missing]).expect("it is written");
        let bench = Bench::with_state(2, &state);
        let mut controller = Controller::of(&bench.switch, 2).await;
        assert_eq!(entries(&mut controller).await.len(), 0, "{missing} bytes are missing");
    }
}

/// Between VERIFY_AND_SAVE and COMMIT writes are for a pipeline that does not run yet: a restart
/// brings back what runs, as it is, and what was saved is gone; after COMMIT it runs with its entries.
#[tokio::test]
async fn what_is_written_to_a_saved_pipeline_is_kept_when_it_is_committed() {
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
    // What `kill -9` leaves: records are in the file before they are answered.
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
