//! Syntax, types and messages of constraints (p4-constraints, language specification).

use constraints::{Compiled, Constraint, Entry, Key, KeyType, Kind, Match, Problem, Subject};
use proptest::prelude::*;

fn keys() -> Vec<Key> {
    let key = |name: &str, kind, width| Key { name: name.into(), kind, ty: KeyType::Bits(width) };
    vec![
        key("ipv4.valid", Kind::Exact, 1),
        key("ipv4.dst", Kind::Ternary, 32),
        key("ipv6.dst", Kind::Lpm, 128),
        key("port", Kind::Range, 16),
        key("in_port", Kind::Optional, 9),
        key("mac", Kind::Exact, 48),
        Key {
            name: "vrf_id".into(),
            kind: Kind::Exact,
            ty: KeyType::Text(vec![(vec![0].into(), b"".as_slice().into())]),
        },
        Key { name: "out_port".into(), kind: Kind::Optional, ty: KeyType::Text(Vec::new()) },
    ]
}

fn compile(text: &str) -> Result<Compiled, Problem> {
    Constraint::compile(text, Subject::Table(&keys()))
}

#[track_caller]
fn refused(text: &str, at: &str, message: &str) {
    let problem = compile(text).expect_err(text);
    assert_eq!(problem.message, message, "{text}");
    assert_eq!(&text[problem.range.clone()], at, "{text}: {}", problem.message);
}

#[test]
fn the_examples_of_the_specification_compile() {
    for text in [
        "ipv4.valid == 1",
        "ipv6.dst::prefix_length <= 64",
        "::priority < 0x7ffffff",
        "ipv4.valid == 0 -> ipv4.dst::mask == 0",
        "\n  ipv4.valid == 1;\n  port::low < 3;\n  true;  // The trailing ';' is optional.\n",
        "(ipv4.valid == 1 -> mac == 0) && (mac == 1 -> ipv4.valid == 0)",
        "mac::value < mac('00:00:00:00:00:05'); ipv4.dst == ipv4('0.0.0.255'); ipv6.dst::value > ipv6('::');",
        "!true || !(mac == 2) || !!false",
        "-1 < -ipv6.dst::prefix_length || --2 == 2",
        "2 == 4 || 1 > -12 || true != false",
        "ipv4.dst::mask == 0 || ipv4.dst::mask == -1",
        "0b101 == 0D5 && 0o17 == 0X0f /* both */",
    ] {
        let compiled = compile(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(compiled.warnings, [], "{text}");
    }
}

#[test]
fn syntax_errors_have_their_place() {
    refused("ipv4.valid == mac == 0", "==", "comparisons do not associate");
    refused("true -> true -> true", "->", "`->` does not associate");
    refused("mac ==", "", "the constraint ends where an expression was expected");
    refused("mac == 0x", "0x", "this number has no digits");
    refused("mac == 0b12", "0b12", "`2` is not a digit of a number in base 2");
    refused("mac == 12ab", "12ab", "`a` is not a digit of a number in base 10");
    refused("mac = 1", "=", "`=` has no meaning here");
    refused("mac == 1 & true", "&", "`&` has no meaning here");
    refused("(mac == 1", "", "the constraint ends where an operator or `)` was expected");
    refused(
        "mac == 1)",
        ")",
        "found `)` where an operator or the end of the constraint was expected",
    );
    refused("; mac == 1", ";", "found `;` where an expression was expected");
    refused("mac == 1;; true", ";", "found `;` where an expression was expected");
    refused("mac == '1'", "'1'", "text stands here without its type");
    refused("mac == mac('1:2:3:4:5:6')", "'1:2:3:4:5:6'", "'1:2:3:4:5:6' is not a MAC address");
    refused("mac == ipv4('1.2.3')", "'1.2.3'", "'1.2.3' is not an IPv4 address");
    refused("mac == ipv4('1.2.3.4)", "'", "the quote is not closed");
    refused("mac == 1 /* so", "/*", "the comment has no end");
    refused("mac. == 1", "==", "found `==` where the next part of the name was expected");
    let deep = format!("{}true{}", "(".repeat(101), ")".repeat(101));
    assert_eq!(compile(&deep).unwrap_err().message, "expressions nest more than 100 deep here");
    let deepest = format!("{}true{}", "(".repeat(100), ")".repeat(100));
    assert!(compile(&deepest).is_ok());
}

#[test]
fn type_errors_have_their_place() {
    refused("dst == 1", "dst", "the table has no key `dst`");
    refused("mac == 1 && mac", "mac", "this is a `bit<48>` where a `bool` was expected");
    refused("1", "1", "this is a `int` where a `bool` was expected");
    refused("mac::mask == 1", "mac::mask", "`mac` is matched as exact and has no field `mask`");
    refused(
        "ipv4.dst::low == 1",
        "ipv4.dst::low",
        "`ipv4.dst` is matched as ternary and has no field `low`",
    );
    refused("(mac == 1)::value == 1", "(mac == 1)", "only keys have fields");
    refused("::size == 1", "::size", "an entry has no attribute `::size`");
    refused("ipv4.dst < 5", "ipv4.dst < 5", "a `ternary<32>` has no order");
    refused("true < false", "true < false", "a `bool` has no order");
    refused(
        "(ipv4.valid == 1) == 0",
        "(ipv4.valid == 1) == 0",
        "a `bool` is not comparable with a `int`",
    );
    refused(
        "ipv4.valid == true",
        "ipv4.valid == true",
        "a `bit<1>` is not comparable with a `bool`",
    );
    refused(
        "mac == port::low",
        "mac == port::low",
        "a `bit<48>` is not comparable with a `bit<16>`",
    );
    refused(
        "ipv4.dst == ipv6.dst",
        "ipv4.dst == ipv6.dst",
        "a `ternary<32>` is not comparable with a `lpm<128>`",
    );
    refused("!mac", "mac", "this is a `bit<48>` where a `bool` was expected");
    refused("-ipv4.dst == 1", "ipv4.dst", "`-` does not apply to a `ternary<32>`");
    refused("vrf_id < 1", "vrf_id < 1", "a `string` has no order");
    let parameters = [Key { name: "port".into(), kind: Kind::Exact, ty: KeyType::Bits(9) }];
    let compile = |text| Constraint::compile(text, Subject::Action(&parameters));
    assert!(compile("port != 0").is_ok());
    assert_eq!(
        compile("port::value != 0").unwrap_err().message,
        "the parameter `port` has no fields"
    );
    assert_eq!(
        compile("::priority != 0").unwrap_err().message,
        "an action has no attribute `::priority`"
    );
    let problem = compile("prot != 0").unwrap_err();
    assert_eq!(problem.message, "the action has no parameter `prot`");
    assert_eq!(problem.note, "its parameters are `port`");
}

#[test]
fn constants_that_do_not_fit_are_warned_of() {
    let warning = |text| match compile(text).expect(text).warnings.as_slice() {
        [warning] => (text[warning.range.clone()].to_owned(), warning.message.clone()),
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(
        warning("in_port::value == 512"),
        ("512".to_owned(), "512 does not fit a `bit<9>`".to_owned())
    );
    assert_eq!(warning("in_port::mask == -257").1, "-257 does not fit a `bit<9>`");
    assert_eq!(warning("vrf_id != 7").1, "no string of `vrf_id` stands for 7");
    assert_eq!(warning(" // nothing").1, "the constraint is empty");
    assert_eq!(compile("in_port::mask == -256").expect("it fits").warnings, []);
}

/// A key that controllers write as a string is compared with the number of the string.
#[test]
fn a_translated_key_is_compared_with_the_number_of_its_string() {
    let entry = |vrf: &'static [u8], out_port: Match<'static>| {
        let mut matches = vec![Match::Any; 8];
        matches[6] = Match::exact(vrf);
        matches[7] = out_port;
        matches
    };
    let holds = |text: &str, matches: &[Match<'_>]| {
        let constraint = compile(text).expect(text).constraint;
        constraint.is_satisfied(&Entry { matches, priority: 1 })
    };
    let default = entry(b"", Match::Any);
    let other = entry(b"vrf-80", Match::exact(b"Ethernet0"));
    assert!(!holds("vrf_id != 0", &default) && holds("vrf_id != 0", &other));
    assert!(holds("vrf_id == 0", &default) && !holds("vrf_id == 0", &other));
    assert!(holds("out_port::mask == 0", &default) && !holds("out_port::mask == 0", &other));
    assert!(holds("out_port::mask == -1", &other) && !holds("out_port::mask == -1", &default));
    assert!(!holds("vrf_id == 7", &default) && !holds("vrf_id == 7", &other));
    assert!(!holds("vrf_id == out_port", &other));
    let broken = compile("vrf_id == 0").expect("it compiles").constraint;
    let violation = broken.check(&Entry { matches: &other, priority: 1 }).unwrap_err();
    assert_eq!(violation.to_string(), "`vrf_id == 0` does not hold for vrf_id = 'vrf-80'");
}

#[test]
fn a_violation_names_the_smallest_part_and_its_values() {
    let text = "// Ports first.\nport::low > 1000; in_port == 3 &&\n  (ipv4.dst::mask != 0 -> // so\n \
                ipv4.valid == 1) && ::priority < 5;";
    let constraint = compile(text).expect("it compiles").constraint;
    let mut matches = vec![Match::Any; 8];
    matches[0] = Match::exact(&[0]);
    matches[1] = Match::ternary(&[10, 0, 0, 0], &[255, 0, 0, 0]);
    matches[3] = Match::range(&[4, 0], &[5, 0]);
    matches[4] = Match::exact(&[3]);
    let violation = constraint.check(&Entry { matches: &matches, priority: 9 }).unwrap_err();
    assert_eq!(
        violation.to_string(),
        "`(ipv4.dst::mask != 0 -> ipv4.valid == 1)` does not hold for \
         ipv4.dst = 0xa000000 &&& 0xff000000, ipv4.valid = 0"
    );
    assert_eq!(violation.place(), (3, 3));
    matches[0] = Match::exact(&[1]);
    let violation = constraint.check(&Entry { matches: &matches, priority: 9 }).unwrap_err();
    assert_eq!(violation.to_string(), "`::priority < 5` does not hold for priority = 9");
    matches[3] = Match::Any;
    let violation = constraint.check(&Entry { matches: &matches, priority: 4 }).unwrap_err();
    assert_eq!(violation.to_string(), "`port::low > 1000` does not hold for port = any");
    matches[3] = Match::range(&[4, 0], &[5, 0]);
    assert_eq!(constraint.check(&Entry { matches: &matches, priority: 4 }), Ok(()));
    let never = compile("false").expect("it compiles").constraint;
    let violation = never.check(&Entry { matches: &matches, priority: 4 }).unwrap_err();
    assert_eq!(violation.to_string(), "`false` never holds");
}

/// All annotations of one table count, whatever their texts end with.
#[test]
fn several_constraints_are_one() {
    let keys = keys();
    let all = |texts: &[&str]| Constraint::all_of(texts, Subject::Table(&keys));
    let constraint = all(&["mac != 0; // first", " // nothing", "mac < 5 || mac == 9;"]);
    let constraint = constraint.expect("they compile");
    assert_eq!(constraint.conjuncts(), 2);
    let holds = |mac: u8| {
        let mut matches = vec![Match::Any; 8];
        let mac = [mac];
        matches[5] = Match::exact(&mac);
        constraint.is_satisfied(&Entry { matches: &matches, priority: 0 })
    };
    assert_eq!([0, 1, 5, 9].map(holds), [false, true, false, true]);
    assert_eq!(all(&["true", "mac == mask"]).unwrap_err().0, 1);
    assert_eq!(all(&["true) || (false", "true"]).unwrap_err().0, 0);
    assert_eq!(all(&[]).expect("no constraint").conjuncts(), 0);
}

/// Values wider than any machine word.
#[test]
fn keys_may_be_wider_than_a_machine_word() {
    let keys = [Key { name: "k".into(), kind: Kind::Exact, ty: KeyType::Bits(1000) }];
    let text = format!("k >= 0x1{}", "0".repeat(240));
    let constraint =
        Constraint::compile(&text, Subject::Table(&keys)).expect("it compiles").constraint;
    let mut large = vec![0_u8; 125];
    large[4] = 1;
    let holds = |bytes: &[u8]| {
        constraint.is_satisfied(&Entry { matches: &[Match::exact(bytes)], priority: 0 })
    };
    assert!(holds(&large));
    large[4] = 0;
    large[5] = 255;
    assert!(!holds(&large));
    let keys = [Key { name: "k".into(), kind: Kind::Exact, ty: KeyType::Bits(1 << 31) }];
    let problem = Constraint::compile("k == 1", Subject::Table(&keys)).unwrap_err();
    assert_eq!(problem.message, "`k` has more than 65536 bits");
}

proptest! {
    /// No text makes the compiler panic, and every problem is at a place in the text.
    #[test]
    fn any_text_is_accepted_or_refused_with_a_place(text: String) {
        in_place(&text);
    }

    #[test]
    fn any_tokens_are_accepted_or_refused_with_a_place(
        tokens in prop::collection::vec(
            prop::sample::select(vec![
                "ipv4.valid", "ipv4.dst", "ipv6.dst", "port", "in_port", "mac", "vrf_id", "::",
                "value", "mask", "prefix_length", "low", "::priority", "(", ")", "!", "-", "&&",
                "||", "->", ";", "==", "!=", "<", ">=", "1", "0x1ff", "true", "ipv4('1.2.3.4')",
                "mac('", "'", "//", "/*", "\n", "é",
            ]),
            0..24,
        )
    ) {
        in_place(&tokens.join(" "));
    }
}

fn in_place(text: &str) {
    match compile(text) {
        Ok(compiled) => {
            let entry = Entry { matches: &[], priority: 1 };
            let satisfied = compiled.constraint.is_satisfied(&entry);
            assert_eq!(compiled.constraint.check(&entry).is_ok(), satisfied);
            for warning in compiled.warnings {
                assert!(text.get(warning.range).is_some());
            }
        }
        Err(problem) => {
            assert!(text.get(problem.range.clone()).is_some(), "{problem:?} in {text:?}");
            assert!(problem.place(text).0 <= text.matches('\n').count() + 1);
        }
    }
}
