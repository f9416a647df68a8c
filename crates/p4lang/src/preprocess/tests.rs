//! Tests of the preprocessor: macros, conditionals, includes, and the errors that it reports.

use super::*;
use crate::diagnostic::Style;

/// Preprocesses `text`. Returns the tokens separated by single blanks, and the diagnostics.
fn run_with(files: &MemoryFiles, options: &Options, text: &str) -> (String, String) {
    let mut sources = SourceMap::new();
    let mut diagnostics = Diagnostics::new();
    let program = sources.add("dir/main.p4", text);
    let tokens = preprocess(program, options, files, &mut sources, &mut diagnostics);
    let out: Vec<&str> = tokens.list.iter().map(|token| tokens.symbols.str(token.symbol)).collect();
    (out.join(" "), diagnostics.render(&sources, Style::Plain))
}

fn run(text: &str) -> String {
    let (out, messages) = run_with(&MemoryFiles::new(), &Options::default(), text);
    assert_eq!(messages, "", "in {text}");
    out
}

fn messages(text: &str) -> String {
    run_with(&MemoryFiles::new(), &Options::default(), text).1
}

#[test]
fn the_macro_of_the_target_is_defined() {
    assert_eq!(run("#ifdef __TARGET_BMV2__\nx __TARGET_BMV2__\n#endif"), "x 1");
    assert_eq!(run("#define __TARGET_BMV2__\n#if defined(__TARGET_BMV2__)\nx\n#endif"), "x");
    let with = |defines: &[&str], undefines: &[&str]| {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let options =
            Options { defines: owned(defines), undefines: owned(undefines), ..Options::default() };
        let text = "#if __TARGET_BMV2__\nbmv2\n#else\nother\n#endif";
        run_with(&MemoryFiles::new(), &options, text).0
    };
    assert_eq!(with(&[], &["__TARGET_BMV2__"]), "other");
    assert_eq!(with(&["__TARGET_DPDK__"], &[]), "other");
    assert_eq!(with(&["X=1"], &[]), "bmv2");
}

#[test]
fn macros_without_arguments_are_expanded() {
    assert_eq!(run("#define A 1 + B\n#define B 2\nA A"), "1 + 2 1 + 2");
    assert_eq!(run("#define A\nx A y"), "x y");
    assert_eq!(run("#define A (x)\nA"), "( x )");
    assert_eq!(run("#define A 1\n#undef A\nA"), "A");
    // A keyword of P4 may be a macro too.
    assert_eq!(run("#define action table\naction"), "table");
}

#[test]
fn a_macro_is_not_expanded_within_itself() {
    assert_eq!(run("#define A A + B\n#define B A\nA"), "A + A");
    assert_eq!(run("#define f(x) x + f(x)\nf(1)"), "1 + f ( 1 )");
    // C17 §6.10.3.5, example 3: a name that was marked once stays marked.
    let example = "#define x 3\n#define f(a) f(x * (a))\n#undef x\n#define x 2\n#define g f\n#define z z[0]\n\
                   #define h g(~\n#define m(a) a(w)\n#define w 0,1\n#define t(a) a\n#define p() int\n\
                   #define q(x) x\n#define r(x,y) x ## y\n#define str(x) # x\n";
    let first = format!("{example}f(y+1) + f(f(z)) % t(t(g)(0) + t)(1);");
    assert_eq!(run(&first), run("f(2 * (y+1)) + f(2 * (f(2 * (z[0])))) % f(2 * (0)) + t(1);"));
    let second = format!("{example}g(x+(3,4)-w) | h 5) & m(f)^m(m);");
    assert_eq!(run(&second), run("f(2 * (2+(3,4)-0,1)) | f(2 * (~ 5)) & f(2 * (0,1))^m(0,1);"));
    let third = format!("{example}p() i[q()] = {{ q(1), r(2,3), r(4,), r(,5), r(,) }};");
    assert_eq!(run(&third), run("int i[] = { 1, 23, 4, 5, };"));
    let fourth = format!("{example}c[2][6] = {{ str(hello), str() }};");
    assert_eq!(run(&fourth), run("c[2][6] = { \"hello\", \"\" };"));
}

#[test]
fn arguments_span_lines_and_nest() {
    assert_eq!(run("#define f(a, b) b a\nf((1, 2),\n  g(3, 4))"), "g ( 3 , 4 ) ( 1 , 2 )");
    assert_eq!(run("#define f(a) <a>\nf\n(x) f"), "< x > f");
    assert_eq!(run("#define f() x\nf() f ()"), "x x");
    assert_eq!(run("#define f(a) a\n#define g f\ng(1)"), "1");
}

#[test]
fn macro_arguments_are_stringified_and_pasted() {
    assert_eq!(run("#define s(x) #x\ns(a  +b \"c\\n\")"), r#""a +b \"c\\n\"""#);
    assert_eq!(run("#define p(a, b) a##b\np(x, 1) p(8w, 0xFF) p(, y)"), "x1 8w0xFF y");
    assert_eq!(run("#define p(a) a ## _t x_ ## a\np(q)"), "q_t x_q");
    // Two operands of `##` that do not form one token stay separate. Programs paste an argument
    // to an operator in this way.
    assert_eq!(run("#define set(a, b) a = ## b ## _t\nset(x, y)"), "x = y_t");
    assert_eq!(run("#define one(p) bit<16> ## p ## _id\none(a)"), "bit < 16 > a_id");
    // Arguments of `##` are not expanded, but the result is.
    assert_eq!(run("#define A 1\n#define AB 2\n#define p(a, b) a##b\np(A, B)"), "2");
}

#[test]
fn variadic_macros_are_expanded() {
    assert_eq!(run("#define f(a, ...) a(__VA_ARGS__)\nf(x, 1, (2, 3)) f(y) f(z,)"), {
        "x ( 1 , ( 2 , 3 ) ) y ( ) z ( )"
    });
    assert_eq!(run("#define log(m, ...) log_msg(m, ## __VA_ARGS__)\nlog(1) log(1, 2)"), {
        "log_msg ( 1 ) log_msg ( 1 , 2 )"
    });
    assert_eq!(run("#define f(rest...) {rest}\nf(1, 2)"), "{ 1 , 2 }");
}

#[test]
fn conditions_of_directives_are_evaluated() {
    let choose = |condition: &str| run(&format!("#if {condition}\nyes\n#else\nno\n#endif"));
    for condition in [
        "1",
        "!0",
        "defined(__LINE__)",
        "!defined X && !defined(X)",
        "0 || 2",
        "(1 + 2) * 3 == 9",
        "1 + 2 * 3 == 7",
        "-1 < 0",
        "5 >> 1 == 2",
        "5 >= 5",
        "1 << 4 == 0x10",
        "010 == 8",
        "0b11 == 3UL",
        "~0 == -1",
        "X == 0",
        "0 ? 0 : 1",
        "1 ? 1 : 1 / 0",
        "1 || 1 / 0",
        "!(0 && 1 / 0)",
        "7 % 4 == 3",
        "6 ^ 3 == 3 || 1",
        "20180101 >= 20180101",
        "'a' == 97 && '\\n' == 10 && '\\'' == 39 && '0' == 48",
    ] {
        assert_eq!(choose(condition), "yes", "{condition}");
    }
    for condition in ["0", "X", "defined X", "1 - 1", "2 > 3", "5 & 2", "1 != 1", "true"] {
        assert_eq!(choose(condition), "no", "{condition}");
    }
    assert_eq!(
        run("#define V 3\n#if V == 3 && defined(V)\na\n#elif V == 4\nb\n#else\nc\n#endif"),
        "a"
    );
    assert_eq!(run("#if 0\na\n#elif 1\nb\n#elif 1\nc\n#else\nd\n#endif e"), "b");
    assert_eq!(run("#ifdef A\na\n#else\n#ifndef B\nb\n#endif\n#endif"), "b");
    assert_eq!(run("#if 0\n#if 1\na\n#else\nb\n#endif\n#else\nc\n#endif"), "c");
    // `defined` may come from the body of a macro. The name after it is not expanded.
    assert_eq!(run("#define X\n#define HAS defined(X) && !defined Y\n#if HAS\na\n#endif"), "a");
    // Skipped text need not be valid P4.
    assert_eq!(run("#if 0\n don't \" #else x\n#unknown\n /* #else */\n#endif\nx"), "x");
    assert_eq!(run("#if 0\n a \" b\n#else\nx\n#endif\n\"y\""), "x \"y\"");
    assert_eq!(run("#ifdef A\n@a(\"b\n#if 1\nc // d\n#endif\n\")\n#else\nx\n#endif"), "x");
}

#[test]
fn includes_and_where_they_are_looked_for() {
    let files = MemoryFiles::new()
        .with("dir/a.p4", "beside")
        .with("inc/a.p4", "included")
        .with("inc/sub/b.p4", "#include \"c.p4\"\n#include \"a.p4\"")
        .with("inc/sub/c.p4", "neighbour");
    let options = Options { include_directories: vec!["inc".into()], ..Options::default() };
    let run = |text: &str| run_with(&files, &options, text);
    assert_eq!(run("#include \"a.p4\"\nx").0, "beside x");
    assert_eq!(run("#include <a.p4>\nx").0, "included x");
    assert_eq!(run("#define FILE <sub/b.p4>\n#include FILE\nx").0, "neighbour included x");
    assert_eq!(run("#include<a.p4> // why\nx"), ("included x".into(), String::new()));
    insta::assert_snapshot!(run("\n  #include \"missing.p4\"\n").1);
}

#[test]
fn pragma_once_includes_a_file_once() {
    let files = MemoryFiles::new()
        .with("dir/a.p4", "#pragma once\na")
        .with("dir/b.p4", "#include \"a.p4\"\nb");
    let (out, messages) = run_with(
        &files,
        &Options::default(),
        "#include \"a.p4\"\n#include \"b.p4\"\n#include \"../dir/./a.p4\"",
    );
    assert_eq!((out.as_str(), messages.as_str()), ("a b", ""));
}

#[test]
fn built_in_files_do_not_include_files_of_the_working_directory() {
    let files = MemoryFiles::new().with("core.p4", "mine").with("inc/core.p4", "included");
    let core = |options: &Options| run_with(&files, options, "#include <v1model.p4>").0;
    assert!(core(&Options::default()).contains("packet_in { void extract"));
    let options = Options { include_directories: vec!["inc".into()], ..Options::default() };
    assert!(core(&options).starts_with("included match_kind"));
}

#[test]
fn recursive_includes_terminate() {
    let files = MemoryFiles::new().with("dir/a.p4", "#include \"a.p4\"\n#include \"a.p4\"\n");
    let (_, messages) = run_with(&files, &Options::default(), "#include \"a.p4\"");
    assert!(messages.contains("includes nest deeper than 200"), "{messages}");
}

#[test]
fn exponential_expansion_terminates() {
    let mut text = String::from("#define m0 x x x x x x x x\n");
    for level in 1..30 {
        let before = format!(" m{}", level - 1);
        text.push_str(&format!("#define m{level}{}\n", before.repeat(8)));
    }
    text.push_str("m29\n");
    let messages = messages(&text);
    assert!(messages.contains("the program grows beyond"), "{messages}");
    let nested = format!("#define f(x) x\n{}1{}", "f(".repeat(5000), ")".repeat(5000));
    assert!(self::messages(&nested).contains("macro calls nest deeper"));
}

#[test]
fn macros_are_defined_on_the_command_line() {
    let options = Options {
        defines: vec!["A".into(), "B=2 + 3".into(), "C".into(), "F(x)=<x>".into()],
        undefines: vec!["C".into()],
        ..Options::default()
    };
    let (out, messages) = run_with(&MemoryFiles::new(), &options, "A B C F(4)");
    assert_eq!((out.as_str(), messages.as_str()), ("1 2 + 3 C < 4 >", ""));
}

#[test]
fn line_and_file_follow_line_directives() {
    assert_eq!(run("__LINE__\n__LINE__ __FILE__"), "1 2 \"dir/main.p4\"");
    assert_eq!(run("#line 70 \"other.p4\"\n__LINE__ __FILE__"), "70 \"other.p4\"");
    assert_eq!(run("# 7 \"x.p4\" 1\n__LINE__"), "7");
    assert_eq!(run("#define L __LINE__\n\nL"), "3");
    assert_eq!(run("a \\\n b\n#define X 1 \\\n + 2\nX __LINE__"), "a b 1 + 2 5");
}

#[test]
fn a_macro_does_not_join_with_the_token_that_follows() {
    let mut sources = SourceMap::new();
    let mut diagnostics = Diagnostics::new();
    let program = sources.add("m.p4", "#define GT >\nGT> -GT");
    let files = MemoryFiles::new();
    let tokens = preprocess(program, &Options::default(), &files, &mut sources, &mut diagnostics);
    assert!(
        tokens
            .list
            .iter()
            .skip(1)
            .all(|token| token.kind != TokenKind::Greater || token.space_before)
    );
    assert!(print_preprocessed(&tokens, &sources).contains("> > - >"));
}

#[test]
fn the_printed_program_preprocesses_to_itself() {
    let text = "#define TWICE(x) x x\nheader h {\n    TWICE(bit<8> a;)\n}\n\n\n\n\n\n\n\n\n\n\n\n\nconst int c = 8w3;";
    let mut sources = SourceMap::new();
    let mut diagnostics = Diagnostics::new();
    let program = sources.add("m.p4", text);
    let files = MemoryFiles::new();
    let tokens = preprocess(program, &Options::default(), &files, &mut sources, &mut diagnostics);
    let printed = print_preprocessed(&tokens, &sources);
    assert_eq!(run(&printed), run(text));
    insta::assert_snapshot!(printed);
}

#[test]
fn errors() {
    insta::assert_snapshot!(messages(
        "#define\n#define 1\n#define f(a, a) x\n#define g(a b) x\n#define h(a\n#define defined\n#define p ## x\n\
         #undef\n#ifdef\n#endif\n#else\n#endif\n#nonsense\n#include\n#error out of order\n#warning careful\n\
         #line x\n#if 1 +\n#endif\n#if 1 / 0\n#endif\n#if (1\n#endif\n#if \"s\"\n#endif\n#if 8w1\n#endif\n\
         #if 1 2\n#endif\n#if defined\n#endif\n#define two(a, b) a\ntwo(1)\n#define paste(a, b) a ## b\npaste(-, x)\n\
         two(1,\n"
    ));
    insta::assert_snapshot!(messages("#if 1\n#ifdef X\n"));
    insta::assert_snapshot!(messages("#define A 1\n#define A 1\n#define A 2\n"));
    insta::assert_snapshot!(messages("#if 1\n#else\n#else\n#endif\n"));
}

#[test]
fn conditionals_are_obeyed_in_strings_that_span_lines() {
    let text = "#define A\n#define N 2\n\"one // don't\n#if defined(A) || defined(B)\n  two\n#ifdef B\n  no\n\
                #elif N == 2\n  N\n#endif\n#else\n  no\n#endif\n#1 is none\nend\" y";
    assert_eq!(run(text), "\"one // don't\n\n  two\n\n\n\n  N\n\n\n\n\n#1 is none\nend\" y");
    // A conditional that is not closed ends with the string.
    assert_eq!(run("\"one\n#ifdef B\ntwo\nthree\""), "\"one\n\n\nthree\"");
    assert!(messages("\"one\n#if 1 +\n#endif\n\"").contains("error[preprocessor]"));
}

#[test]
fn a_line_that_ends_in_a_backslash_continues_in_the_next() {
    for (text, expected) in [
        ("ab\\\ncd", "abcd"),
        ("12\\\n34 8\\\nw\\\n1", "1234 8w1"),
        ("a &\\\n&\\\n& b", "a &&& b"),
        ("#def\\\nine A 1\\\n2\nA", "12"),
        ("#\\\ndefine A x\\\n\\\n y\nA", "x y"),
        ("// a \\\n b\nc", "c"),
        ("/\\\n/ a\nb", "b"),
        ("/\\\n* a *\\\n/ b", "b"),
        ("\"a\\\nb\\\\\"", "\"ab\\\\\""),
        ("#if 0\nx\\\n#endif\n#end\\\nif\ny", "y"),
        ("#ifdef A\\\nB\nx\n#el\\\nse\ny\n#endif", "y"),
        ("#define f(a) a a\nf(x\\\ny)", "xy xy"),
        ("__LI\\\nNE__\n__LINE__", "1 3"),
        ("#line 7\\\n0\n__LINE__", "70"),
    ] {
        assert_eq!(run(text), expected, "{text:?}");
    }
    let files = MemoryFiles::new().with("lib/other.p4", "found");
    let include = |line: &str| {
        let options = Options { include_directories: vec!["lib".into()], ..Options::default() };
        run_with(&files, &options, line)
    };
    assert_eq!(include("#include <ot\\\nher.p4>\nx"), ("found x".to_owned(), String::new()));
    assert!(messages("#error one \\\n  two\nx").contains("#error one   two"));
    let shown = messages("x\\\ny\\\nz \\\n w\n#include <no\\\nne.p4>\n#nonsense");
    assert!(
        shown.contains("main.p4:5:10: error") && shown.contains("main.p4:7:1: error"),
        "{shown}"
    );
}
