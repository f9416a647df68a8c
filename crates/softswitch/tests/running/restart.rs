//! What is there again after a restart.

use crate::support::{Bench, Controller, Names, PROGRAM};
use p4runtime::proto::v1::{self, entity::Entity as Kind};
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
