//! Tests that a dump is a file of commands that restores the same state.

use crate::support::{Memory, run};
use ctl::Session;
use proptest::prelude::*;

/// Runs commands on one device, and those of its dump on another. Returns both dumps.
fn both(lines: &[String]) -> (String, String) {
    let mut first = Memory::new();
    let mut session = Session::new(&mut first, false).expect("it has a pipeline");
    for line in lines {
        let found = run(&mut session, line);
        assert!(found.is_empty() || found.contains("AlreadyExists"), "{line}: {found}");
    }
    let dumped = run(&mut session, "dump");
    let mut second = Memory::new();
    let mut session = Session::new(&mut second, false).expect("it has a pipeline");
    for line in dumped.lines() {
        assert_eq!(run(&mut session, line), "", "{line}");
    }
    let again = run(&mut session, "dump");
    (dumped, again)
}

#[test]
fn every_kind_of_state_is_restored() {
    let lines = [
        "member add choices 1 forward port=1",
        "member add choices 2 NoAction",
        "group add choices 3 1*2@4 2 --max-size 7",
        "table add balanced 10.0.0.1 --group 3",
        "table add exact_match 1:2:3:4:5:6 classify class=9 --idle-timeout 1ms --metadata 00",
        "table add filters 0x0a000000&&&0xff0000ff 17 7..9 limited 1 --priority 3 --meter 1:2,3:4",
        "table set-default always classify 3",
        "multicast add 4 1:1 1:2 5",
        "clone add 6 1 2:3 --truncate 64",
        "digest enable learned_t --max-list 9",
        "value-set write types 1 2",
    ];
    let (first, second) = both(&lines.map(str::to_owned));
    assert_eq!(first, second);
    assert!(first.lines().count() >= lines.len(), "{first}");
    // A selector has either groups or one-shot groups.
    let one_shot =
        "table add balanced 10.0.0.2 one-shot forward port=1 --weight 2 , NoAction --watch 9";
    let (first, second) = both(&[one_shot.to_owned()]);
    assert_eq!(first, second);
    assert!(first.contains("--watch 9"), "{first}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn any_entries_are_restored(
        routes in proptest::collection::vec((any::<u32>(), 1_u32..33, 0_u16..512), 0..8),
        filters in proptest::collection::vec(
            (any::<u32>(), any::<u32>(), any::<u8>(), any::<u16>(), any::<u16>(), 1_u32..1000), 0..8,
        ),
    ) {
        let routes = routes.iter().map(|(address, length, port)| {
            format!("table add routes dst={address}/{length} counted port={port}")
        });
        let filters = filters.iter().map(|(value, mask, protocol, one, other, priority)| {
            let (low, high) = (one.min(other), one.max(other));
            format!(
                "table add filters src={value}&&&{mask} protocol={protocol} length={low}..{high} drop --priority {priority}"
            )
        });
        let lines: Vec<String> = routes.chain(filters).collect();
        let (first, second) = both(&lines);
        prop_assert_eq!(first, second);
    }
}
