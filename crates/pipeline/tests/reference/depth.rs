//! Deep programs: what the front-end lets through runs in the stack of a thread, or is an error.

use super::support::V1model;
use std::time::Duration;

/// What leaves, or the error. Loading takes a large stack, running that of a test's thread.
fn run(declarations: &str, apply: &str) -> Result<Vec<u8>, String> {
    let declarations =
        format!("header R {{ bit<8> a; }} struct H {{ R r; }} struct M {{}} {declarations}");
    let apply = format!("apply {{ {apply} }}");
    ir::with_large_stack(|| {
        V1model {
            declarations: &declarations,
            parser: "state start { b.extract(h.r); transition accept; }",
            ingress: &apply,
            ..V1model::default()
        }
        .load()
    })
    .map(|mut switch| {
        let outputs = switch.process(0, &[0], Duration::ZERO).map_err(|error| error.to_string());
        // Dropping a deep program recurses too.
        let _ = ir::with_large_stack(move || drop(switch));
        Ok(outputs?.remove(0).packet)
    })
    .map_err(|error| error.to_string())?
}

#[test]
fn deep_expressions() {
    let depth = 95;
    let text = format!("h.r.a = {}h.r.a{};", "(h.r.a + 1 + ".repeat(depth), ")".repeat(depth));
    assert_eq!(run("", &text), Ok(vec![(depth % 256) as u8]));
}

#[test]
fn deep_statements() {
    let depth = 95;
    let text = format!("{}h.r.a = 7;{}", "if (h.r.a == 0) { ".repeat(depth), "}".repeat(depth));
    assert_eq!(run("", &text), Ok(vec![7]));
}

#[test]
fn deep_calls() {
    let mut functions = "bit<8> f0(in bit<8> x) { return x; } ".to_owned();
    for level in 1..150 {
        functions +=
            &format!("bit<8> f{level}(in bit<8> x) {{ return f{}(x + 1) + 0; }} ", level - 1);
    }
    assert_eq!(run(&functions, "h.r.a = f149(1);"), Ok(vec![150]));
}

#[test]
fn deeper_calls_are_an_error_and_not_a_crash() {
    let mut functions = "bit<8> f0(in bit<8> x) { return x; } ".to_owned();
    for level in 1..400 {
        functions += &format!(
            "bit<8> f{level}(in bit<8> x) {{ if (x == 0) {{ return 0; }} return f{}(x); }} ",
            level - 1
        );
    }
    let error = run(&functions, "h.r.a = f399(1);").expect_err("too deep");
    assert!(error.contains("500 deep"), "{error}");
}

#[test]
fn long_chains_are_not_deep() {
    let sum = format!("h.r.a = h.r.a{};", " + 1".repeat(5000));
    assert_eq!(run("", &sum), Ok(vec![(5000 % 256) as u8]));
    let all = format!("if (h.r.a == 0{}) {{ h.r.a = 9; }}", " && h.r.a < 1".repeat(3000));
    assert_eq!(run("", &all), Ok(vec![9]));
    // Of a chain of `else if`, one branch runs: here the 1,500th, the last `else`, or none.
    let chain = |value: &str, last: &str| {
        let mut text = format!("bit<16> x = {value}; ");
        for position in 0..2000 {
            text +=
                &format!("if (x == {position}) {{ h.r.a = h.r.a + {}; }} else ", position % 256);
        }
        run("", &(text + last))
    };
    assert_eq!(chain("1500", "{ h.r.a = 1; }"), Ok(vec![(1500 % 256) as u8]));
    assert_eq!(chain("0xffff", "{ h.r.a = 1; }"), Ok(vec![1]));
    assert_eq!(chain("0xffff", "{}"), Ok(vec![0]));
    assert_eq!(chain("31", "if (x == 31) { h.r.a = 200; }"), Ok(vec![31]));
    assert_eq!(chain("32", "{ h.r.a = 1; }"), Ok(vec![32]));
}
