//! Tests that a violated invariant of this crate is reported as an internal error. The code
//! generator then refuses the program, and a host call ends the packet with the error. No packet is
//! processed as if nothing had happened.

use super::{Batch, Compiled, Way};
use crate::error::{CompileError, InternalError, RunError};
use crate::resolved::{Body, Expression, ResolvedProgram, Statement};
use crate::switch::{Processor, Switch};
use p4lang::preprocess::{MemoryFiles, Options};
use std::time::Duration;

/// A program with a packed table, a hash that the host computes, and a statement that the
/// interpreter runs.
const PROGRAM: &str = "#include <core.p4>
#include <v1model.p4>
header A { bit<32> one; bit<32> other; bit<128> wide; bit<72> odd; } struct H { A a; } struct M { }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
    state start { p.extract(h.a); transition accept; } }
control V(inout H h, inout M m) { apply {} }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    register<bit<32>>(16) seen;
    action set(bit<32> key) { h.a.other = key; }
    action none() { }
    table packed { key = { h.a.one: exact; } actions = { set; none; } default_action = set(7); }
    apply {
        packed.apply();
        bit<32> sum;
        hash(sum, HashAlgorithm.identity, 32w0, { h.a.one }, 32w0xffff);
        h.a.one = sum;
        h.a.wide = h.a.wide + 1;
        seen.write(3, h.a.one); } }
control E(inout H h, inout M m, inout standard_metadata_t s) { apply {} }
control C(inout H h, inout M m) { apply {} }
control D(packet_out p, in H h) { apply { p.emit(h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;";

fn switch() -> Switch {
    let files = MemoryFiles::default();
    let compiled = p4lang::compile_text("broken.p4", PROGRAM, &Options::default(), &files);
    Switch::new(compiled.program.expect("a program")).expect("a switch")
}

/// Compiles a program whose resolved form `change` has damaged, and returns the error.
fn refusal(change: impl FnOnce(&mut ResolvedProgram)) -> InternalError {
    let switch = switch();
    let mut resolved = ResolvedProgram::new(&switch.layout).expect("a resolved program");
    change(&mut resolved);
    match Compiled::of(&switch, resolved) {
        Err(CompileError::Internal(error)) => error,
        Err(error) => panic!("not an internal error: {error}"),
        Ok(_) => panic!("a broken program was compiled"),
    }
}

/// Returns the statements of the first block of the program that has any.
fn statements(resolved: &mut ResolvedProgram) -> &mut Vec<Statement> {
    let callees: Vec<_> = resolved.blocks.iter().map(|block| block.callee).collect();
    let callee = callees.into_iter().find(
        |callee| matches!(resolved.bodies.get(*callee), Some(Body::Block(block)) if !block.is_empty()),
    );
    match callee.and_then(|callee| resolved.bodies.get_mut(callee)) {
        Some(Body::Block(block)) => block,
        _ => panic!("no block has statements"),
    }
}

#[test]
fn a_program_with_a_broken_invariant_is_refused_with_the_place() {
    let cases: [(&str, &str, InternalError); 7] = [
        ("table.rs", "a table that is not there", refusal(|resolved| resolved.tables.clear())),
        ("statement.rs", "the fields of a hash", refusal(|resolved| resolved.gathers.clear())),
        (
            "statement.rs",
            "outside of a loop",
            refusal(|resolved| statements(resolved).insert(0, Statement::Break)),
        ),
        (
            "expression.rs",
            "a concatenation as a binary operator",
            refusal(|resolved| {
                let zero = || Box::new(Expression::Constant(0));
                let condition = Expression::Binary {
                    operator: ir::BinaryOperator::Concatenate,
                    width: 1,
                    signed: false,
                    left: zero(),
                    right: zero(),
                };
                statements(resolved).insert(0, Statement::Assert { condition, fault: 0 });
            }),
        ),
        (
            "parser.rs",
            "a state of a parser",
            refusal(|resolved| {
                let callee = resolved.blocks[0].callee;
                match resolved.bodies.get_mut(callee) {
                    Some(Body::Parser(parser)) => parser.start = 99,
                    _ => panic!("no parser"),
                }
            }),
        ),
        (
            "host.rs",
            "a parameter of an action",
            refusal(|resolved| {
                for table in &mut resolved.tables {
                    let data = table.actions.iter_mut().flat_map(|action| &mut action.data);
                    data.for_each(|field| field.address.offset = u32::MAX - 8);
                }
            }),
        ),
        (
            "generate.rs",
            "a block without code",
            refusal(|resolved| {
                resolved.blocks[2].callee = crate::resolved::Callee::Action(ir::ActionId(99));
            }),
        ),
    ];
    for (file, what, error) in cases {
        let error = error.to_string();
        assert!(error.contains(file) && error.contains(what), "{error}");
    }
    let shown = CompileError::Internal(refusal(|resolved| resolved.tables.clear())).to_string();
    assert!(shown.contains("internal error in the code generator"), "{shown}");
    assert!(shown.contains("please report"), "{shown}");
}

#[test]
fn a_packet_that_finds_a_broken_invariant_has_an_error_and_no_output() {
    let switch = switch();
    let mut code = Compiled::new(&switch).expect("code");
    assert_eq!((code.one_by_one(), code.resolved.steps.len()), (None, 1));
    let packet: Vec<u8> = (0..40).collect();
    let packets: Vec<(u32, &[u8])> = vec![(0, &packet); 3];
    let (mut worker, mut batch) = (Processor::with_seed(1), Batch::default());
    code.process_batch(&switch, &mut worker, &packets, Duration::ZERO, &mut batch);
    assert_eq!((batch.sent().len(), batch.errors().len()), (3, 0));
    let mut outputs = Vec::new();
    code.process(&switch, &mut worker, packets[0], Duration::ZERO, &mut outputs).expect("a packet");
    assert_eq!(outputs.len(), 1);

    // Generated code calls the host for the hash and for the step, neither of which is there now.
    let (gathers, steps) =
        (std::mem::take(&mut code.resolved.gathers), code.resolved.steps.clone());
    for has_steps in [true, false] {
        code.resolved.steps = if has_steps { steps.clone() } else { Vec::new() };
        if !has_steps {
            code.resolved.gathers = gathers.clone();
        }
        code.process_batch(&switch, &mut worker, &packets, Duration::ZERO, &mut batch);
        assert_eq!(batch.sent().len(), 0);
        let at: Vec<usize> = batch.errors().iter().map(|(at, _)| *at).collect();
        assert_eq!(at, [0, 1, 2]);
        for (_, error) in batch.errors() {
            assert!(matches!(error, RunError::Internal(_)), "{error}");
        }
        for way in [None, Some(Way::Stages), Some(Way::Driver)] {
            worker.choose_way(way);
            outputs.clear();
            let outcome =
                code.process(&switch, &mut worker, packets[0], Duration::ZERO, &mut outputs);
            assert!(matches!(outcome, Err(RunError::Internal(_))), "{way:?}: {outcome:?}");
            assert!(outputs.is_empty());
        }
        worker.choose_way(None);
    }
    // The worker is usable again once the program is.
    code.resolved.steps = steps;
    code.process_batch(&switch, &mut worker, &packets, Duration::ZERO, &mut batch);
    assert_eq!((batch.sent().len(), batch.errors().len()), (3, 0));
}
