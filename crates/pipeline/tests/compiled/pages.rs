//! Tests that pages of machine code are first written and then executed, and never both at the same
//! time.

use crate::program::{V1model, compile};
use pipeline::Switch;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

/// Returns the permissions of each mapping of this process, as the kernel reports them.
fn permissions() -> Vec<String> {
    let maps = fs::read_to_string("/proc/self/maps").expect("the map of this process");
    let of = |line: &str| line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    maps.lines().map(of).collect()
}

/// Returns the number of anonymous mappings that can be executed.
fn code_pages() -> usize {
    let maps = fs::read_to_string("/proc/self/maps").expect("the map of this process");
    let is_code = |line: &&str| {
        let mut words = line.split_whitespace();
        words.nth(1).is_some_and(|permissions| permissions.contains('x')) && words.nth(3).is_none()
    };
    maps.lines().filter(is_code).count()
}

#[test]
fn pages_of_code_are_never_writable_and_executable_at_once() {
    let program = compile(
        &V1model {
            declarations: "header A { bit<8> a; } struct H { A a; } struct M { }",
            parser: "state start { b.extract(h.a); transition accept; }",
            ingress: "apply { h.a.a = h.a.a + 1; s.egress_spec = 1; }",
            ..V1model::default()
        }
        .text(),
    );
    let (is_over, looks) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        // This thread looks at the permissions while others compile.
        let watch = scope.spawn(|| {
            let mut times = 0;
            while !is_over.load(Ordering::Relaxed) {
                for permissions in permissions() {
                    let both = permissions.contains('w') && permissions.contains('x');
                    assert!(!both, "a page with {permissions}");
                }
                looks.store(true, Ordering::Relaxed);
                times += 1;
            }
            times
        });
        while !looks.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        for _ in 0..50 {
            let mut switch = Switch::new(program.clone()).expect("a program that can be run");
            switch.compile().expect("a program that can be compiled");
            assert!(code_pages() > 0, "code that is nowhere");
            let outputs = switch.process(0, &[7], std::time::Duration::ZERO).expect("outputs");
            assert_eq!(outputs.first().map(|output| output.packet.as_slice()), Some(&[8][..]));
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(watch.join().expect("the watch") > 0);
    });
}
