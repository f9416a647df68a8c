//! The tests of a program do not depend on the number of threads.

use super::programs::program;
use symbolic::search::{self, search};

#[test]
fn threads_do_not_change_the_tests() {
    let program = program("router.p4");
    let on = |threads: usize| {
        let options = search::Options { threads, ..search::Options::default() };
        let report = ir::with_large_stack(|| search(&program, &options, &mut |_| true));
        report.expect("a thread").expect("tests")
    };
    let alone = on(1);
    // With fewer goals there is only one lane, and nothing to compare.
    assert!(alone.goals.len() > 32, "{} goals", alone.goals.len());
    for threads in [2, 5] {
        assert_eq!(on(threads), alone, "{threads} threads");
    }
    // A limit cuts off the same tests.
    let limited = |threads: usize| {
        let options = search::Options { threads, tests: Some(3), ..search::Options::default() };
        let report = ir::with_large_stack(|| search(&program, &options, &mut |_| true));
        report.expect("a thread").expect("tests").tests
    };
    assert_eq!(limited(2), alone.tests.get(..3).expect("three tests"));
}
