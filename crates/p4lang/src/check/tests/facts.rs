//! Tests of the facts that the checker records about valid programs.

use super::super::{
    BoundArgument, Builtin, Callee, Checked, Constant, Node, Resolution, Type, check,
};
use super::program;
use crate::ast::{Declaration, DeclarationKind, Expression, Statement, StatementKind};
use crate::diagnostic::Style;
use crate::parse_text;
use crate::preprocess::{MemoryFiles, Options};
use ir::bits::Bits;

fn with_checked(text: &str, look: impl FnOnce(&Checked<'_>)) {
    let mut parsed =
        parse_text("test.p4", &program(text), &Options::default(), &MemoryFiles::new());
    let checked = check(&parsed.program, &parsed.sources, &mut parsed.diagnostics);
    assert!(
        !parsed.diagnostics.has_errors(),
        "{}",
        parsed.diagnostics.render(&parsed.sources, Style::Plain)
    );
    look(&checked);
}

fn declaration<'program>(checked: &Checked<'program>, name: &str) -> &'program Declaration {
    checked.program.declarations.iter().find(|found| found.name.as_str() == name).expect("declared")
}

fn constant(checked: &Checked<'_>, name: &str) -> Constant {
    match &declaration(checked, name).kind {
        DeclarationKind::Constant { value, .. } => {
            checked.evaluate(value, &Default::default()).expect("a value")
        }
        _ => panic!("{name} is not a constant"),
    }
}

/// Returns the statements of the `apply` block of control `X`.
fn applied<'program>(checked: &Checked<'program>) -> &'program [Statement] {
    match &declaration(checked, "X").kind {
        DeclarationKind::Control(control) => &control.apply.statements,
        _ => panic!("X is not a control"),
    }
}

fn assigned(statement: &Statement) -> &Expression {
    match &statement.kind {
        StatementKind::Assign { value, .. } => value,
        _ => panic!("no assignment"),
    }
}

fn bits(width: u32, value: u128) -> Constant {
    Constant::Bits(Bits::unsigned(width, value))
}

#[test]
fn constants_are_converted_as_their_context_requires() {
    with_checked(
        "const bit<8> a = 300 - 50; const bit<16> b = a ++ 8w1; const int c = (1 << 70) >> 68; const bit<8> d = b[15:8];\n\
         const S e = { y = 2, ... }; const bit<16> f = e.y + 1; const bit<8> g = 8w255 + 2; const bit<8> h = 8w255 |+| 2;\n\
         const int<8> i = (int<8>) 8w200; const bit<8> j = E8.B; const E8 k = (E8) 2; const tuple<bit<8>, bool> l = { 1, 2 > 1 };\n\
         const bool m = l[1]; const bit<8> n = true ? 3 : 8w4; const int o = 7 % 4 * 2; const Port p = (Port) 511; const int<8> q = -1;",
        |checked| {
            assert_eq!(constant(checked, "a"), bits(8, 250));
            assert_eq!(constant(checked, "b"), bits(16, 0xfa01));
            assert_eq!(constant(checked, "c"), Constant::Integer(4.into()));
            assert_eq!(constant(checked, "d"), bits(8, 0xfa));
            assert_eq!(constant(checked, "e"), Constant::Composite(vec![bits(8, 0), bits(16, 2)]));
            assert_eq!(constant(checked, "f"), bits(16, 3));
            assert_eq!(constant(checked, "g"), bits(8, 1));
            assert_eq!(constant(checked, "h"), bits(8, 255));
            assert_eq!(constant(checked, "i"), Constant::Bits(Bits::signed(8, -56)));
            assert_eq!(constant(checked, "j"), bits(8, 2));
            assert!(matches!(
                constant(checked, "k"),
                Constant::SerializableEnum { member: Some(_), .. }
            ));
            assert_eq!(
                constant(checked, "l"),
                Constant::Composite(vec![bits(8, 1), Constant::Bool(true)])
            );
            assert_eq!(constant(checked, "m"), Constant::Bool(true));
            assert_eq!(constant(checked, "n"), bits(8, 3));
            assert_eq!(constant(checked, "o"), Constant::Integer(6.into()));
            assert_eq!(constant(checked, "p"), bits(9, 511));
            assert_eq!(constant(checked, "q"), Constant::Bits(Bits::signed(8, -1)));
        },
    );
}

#[test]
fn conversions_are_recorded_down_to_the_parts() {
    with_checked("control X(inout S s) { apply { s = { 1, 2 }; s.x = 3 + s.x; } }", |checked| {
        let list = assigned(&applied(checked)[0]);
        assert!(matches!(checked.conversion(list.id), Some(Type::Struct(_))));
        let crate::ast::ExpressionKind::List { elements, .. } = &list.kind else {
            panic!("no list")
        };
        assert_eq!(checked.converted_type_of(elements[1].id), &Type::bit(16));
        let sum = assigned(&applied(checked)[1]);
        assert_eq!(checked.type_of(sum.id), &Type::bit(8));
        let crate::ast::ExpressionKind::Binary { left, .. } = &sum.kind else { panic!("no sum") };
        assert_eq!(checked.type_of(left.id), &Type::Integer);
        assert_eq!(checked.conversion(left.id), Some(&Type::bit(8)));
    });
}

#[test]
fn calls_have_a_callee_type_arguments_and_bound_arguments() {
    with_checked(
        "extern bit<8> f<T>(in T x, in bit<8> y = 3, @optional in bit<8> z);\n\
         control X(inout bit<8> v, inout S s) { apply { v = f(y = 1, x = s); v = f(v); } }",
        |checked| {
            let call = checked.call(assigned(&applied(checked)[0]).id).expect("a call");
            assert!(matches!(call.callee, Callee::ExternFunction(_)));
            assert!(matches!(call.type_arguments.as_slice(), [Type::Struct(_)]));
            assert_eq!(
                call.arguments,
                [BoundArgument::Given(1), BoundArgument::Given(0), BoundArgument::Absent]
            );
            let call = checked.call(assigned(&applied(checked)[1]).id).expect("a call");
            assert_eq!(call.type_arguments, [Type::bit(8)]);
            assert_eq!(
                call.arguments,
                [BoundArgument::Given(0), BoundArgument::Default, BoundArgument::Absent]
            );
            assert_eq!(call.parameter_types[0], Type::bit(8));
        },
    );
}

#[test]
fn tables_have_keys_actions_and_entries() {
    with_checked(
        "control X(inout bit<8> v) { action a(bit<8> x) { v = x; }\n\
         table t { key = { v: lpm; } actions = { a; } const entries = { 3: a(1); 4 &&& 0xfc: a(2); } size = 7; }\n\
         apply { if (t.apply().hit) { v = 1; } } }",
        |checked| {
            let DeclarationKind::Control(control) = &declaration(checked, "X").kind else {
                panic!("no control")
            };
            let facts = checked.table(control.locals[1].id).expect("a table");
            assert_eq!(&*facts.keys[0].match_kind, "lpm");
            assert_eq!(facts.keys[0].ty, Type::bit(8));
            assert_eq!(facts.actions.len(), 2);
            assert!(facts.actions[1].is_implicit);
            assert_eq!(facts.actions[0].arguments, [BoundArgument::ControlPlane]);
            assert_eq!(facts.default_action.as_ref().map(|call| call.position), Some(1));
            assert_eq!(facts.entries.len(), 2);
            assert!(facts.entries_are_const);
            assert_eq!(facts.size, Some(7));
            let StatementKind::If { condition, .. } = &applied(checked)[0].kind else {
                panic!("no if")
            };
            assert_eq!(checked.resolution(condition.id), Some(&Resolution::Builtin(Builtin::Hit)));
        },
    );
}

#[test]
fn constructor_parameters_get_their_values_from_the_environment() {
    with_checked(
        "control X(inout bit<8> v)(bit<8> k) { const bit<8> twice = k * 2; apply { v = twice + 1; } }",
        |checked| {
            let sum = assigned(&applied(checked)[0]);
            assert_eq!(checked.evaluate(sum, &Default::default()), None);
            let DeclarationKind::Control(control) = &declaration(checked, "X").kind else {
                panic!("no control")
            };
            let mut environment = super::super::Environment::default();
            environment.values.insert(control.constructor_parameters[0].id, bits(8, 20));
            assert_eq!(checked.evaluate(sum, &environment), Some(bits(8, 41)));
        },
    );
}

#[test]
fn packages_infer_their_type_arguments() {
    with_checked(
        "control Pipe<T>(inout T x); package Top<T>(Pipe<T> g); control C(inout S s) { apply {} } Top(C()) main;",
        |checked| {
            let main = checked.main().expect("main");
            let instance = checked.instance(main).expect("an instance");
            let Type::Package(named) = &instance.ty else { panic!("no package") };
            assert!(matches!(&*named.arguments, [Type::Struct(_)]));
            assert!(matches!(checked.index.get(main), Some(Node::Declaration(_))));
        },
    );
}
