//! Tests of deeply nested programs. What can be loaded runs on any thread, in the same way on the
//! interpreter and in machine code; what nests deeper is refused when it is loaded.

use super::support::V1model;
use std::time::Duration;

/// Runs a program and returns the output or the error. Loading uses a large stack, and running the
/// stack of the test's thread.
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
        // Dropping a deeply nested program recurses too.
        let _ = ir::with_large_stack(move || drop(switch));
        Ok(outputs?.remove(0).packet)
    })
    .map_err(|error| error.to_string())?
}

#[test]
fn deep_expressions_run_in_the_stack_of_a_thread() {
    let depth = 95;
    let text = format!("h.r.a = {}h.r.a{};", "(h.r.a + 1 + ".repeat(depth), ")".repeat(depth));
    assert_eq!(run("", &text), Ok(vec![(depth % 256) as u8]));
}

#[test]
fn deep_statements_run_in_the_stack_of_a_thread() {
    let depth = 95;
    let text = format!("{}h.r.a = 7;{}", "if (h.r.a == 0) { ".repeat(depth), "}".repeat(depth));
    assert_eq!(run("", &text), Ok(vec![7]));
}

#[test]
fn deep_calls_run_in_the_stack_of_a_thread() {
    let mut functions = "bit<8> f0(in bit<8> x) { return x; } ".to_owned();
    for level in 1..150 {
        functions +=
            &format!("bit<8> f{level}(in bit<8> x) {{ return f{}(x + 1) + 0; }} ", level - 1);
    }
    assert_eq!(run(&functions, "h.r.a = f149(1);"), Ok(vec![150]));
}

/// Returns functions that call one another `calls` deep, each call inside `blocks` conditions, and
/// the call of the outermost function.
fn conditional_calls(calls: usize, blocks: usize) -> (String, String) {
    let conditions = "if (x != 0) { ".repeat(blocks);
    let ends = "} ".repeat(blocks);
    let functions = (1..calls).map(|level| {
        let called = level - 1;
        format!(
            "bit<8> f{level}(in bit<8> x) {{ bit<8> y = 0; {conditions} y = f{called}(x + 1); {ends} \
             return y; }} "
        )
    });
    let innermost = "bit<8> f0(in bit<8> x) { return x; } ".to_owned();
    (innermost + &functions.collect::<String>(), format!("h.r.a = f{}(1);", calls - 1))
}

#[test]
fn the_deepest_program_that_loads_runs_on_the_interpreter_and_in_machine_code() {
    // The calls and their blocks, the block of the innermost function, and that of the control.
    let (functions, apply) = conditional_calls(228, 16);
    let expected = Ok(vec![228]);
    assert_eq!(run(&functions, &apply), expected);
    assert_eq!(run_as_code(&functions, &apply), expected);
}

/// Loads a program, then compiles and runs it with the stack of this thread, as a server does with
/// a pushed program.
fn run_as_code(declarations: &str, apply: &str) -> Result<Vec<u8>, String> {
    let declarations =
        format!("header R {{ bit<8> a; }} struct H {{ R r; }} struct M {{}} {declarations}");
    let apply = format!("apply {{ {apply} }}");
    let parts = V1model {
        declarations: &declarations,
        parser: "state start { b.extract(h.r); transition accept; }",
        ingress: &apply,
        ..V1model::default()
    };
    let mut switch = ir::with_large_stack(|| parts.load()).map_err(|error| error.to_string())?;
    switch.compile().map_err(|error| error.to_string())?;
    let outputs = switch.process(0, &[1], Duration::ZERO).map_err(|error| error.to_string());
    Ok(outputs?.remove(0).packet)
}

#[test]
fn the_deepest_calls_are_compiled_on_any_thread() {
    let chain = |link: &dyn Fn(usize) -> String| (1..256).map(link).collect::<String>();
    let functions = chain(&|level| {
        format!("bit<8> f{level}(in bit<8> x) {{ return f{}(x) + 1; }} ", level - 1)
    });
    let functions = format!("bit<8> f0(in bit<8> x) {{ return x; }} {functions}");
    assert_eq!(run_as_code(&functions, "h.r.a = f255(h.r.a);"), Ok(vec![0]));
    let actions = chain(&|level| {
        format!("action a{level}(inout bit<8> x) {{ a{}(x); x = x + 1; }} ", level - 1)
    });
    let actions = format!("action a0(inout bit<8> x) {{ }} {actions}");
    assert_eq!(run_as_code(&actions, "a255(h.r.a);"), Ok(vec![0]));
    let controls = chain(&|level| {
        format!(
            "control C{level}(inout bit<8> x) {{ C{}() c; apply {{ c.apply(x); x = x + 1; }} }} ",
            level - 1
        )
    });
    let controls = format!("control C0(inout bit<8> x) {{ apply {{ }} }} {controls}");
    assert_eq!(run_as_code(&controls, "C255.apply(h.r.a);"), Ok(vec![0]));
}

#[test]
fn calls_that_double_at_each_level_are_compiled_fast() {
    let actions: String = (1..60)
        .map(|level| format!("action a{level}() {{ a{0}(); a{0}(); }} ", level - 1))
        .collect();
    // The work is limited, and this would be 2^59 calls. The condition is false, so that none of
    // them runs.
    let text = format!("action a0() {{ }} {actions}");
    assert_eq!(run_as_code(&text, "if (h.r.a != 1) { a59(); }"), Ok(vec![1]));
}

#[test]
fn parsers_inside_of_parsers_are_resolved_once() {
    let parsers: String = (1..40)
        .map(|level| {
            format!(
                "parser Q{level}(packet_in b, out S s) {{ Q{}() q; state start {{ q.apply(b, s); transition accept; }} }} ",
                level - 1
            )
        })
        .collect();
    let declarations = format!(
        "header R {{ bit<8> a; }} struct S {{ R[2] r; }} struct H {{ R[2] r; }} struct M {{}}
         parser Q0(packet_in b, out S s) {{ state start {{ b.extract(s.r.next); transition accept; }} }} {parsers}"
    );
    let parser = "Q39() q; state start { S t; q.apply(b, t); h.r[0] = t.r[0]; transition accept; }";
    let parts = V1model { declarations: &declarations, parser, ..V1model::default() };
    let mut switch = ir::with_large_stack(|| parts.load()).expect("it loads");
    switch.compile().expect("it compiles");
    let outputs = switch.process(0, &[7], Duration::ZERO).expect("it runs");
    assert_eq!(outputs[0].packet, vec![7]);
}

#[test]
fn long_chains_are_not_deep() {
    let sum = format!("h.r.a = h.r.a{};", " + 1".repeat(5000));
    assert_eq!(run("", &sum), Ok(vec![(5000 % 256) as u8]));
    let all = format!("if (h.r.a == 0{}) {{ h.r.a = 9; }}", " && h.r.a < 1".repeat(3000));
    assert_eq!(run("", &all), Ok(vec![9]));
    // One branch of a chain of `else if` runs: the 1,500th one, the last `else`, or none.
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
