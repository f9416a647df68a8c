//! The language of goals.

use symbolic::term::{Origin, Terms};
use symbolic::wanted::{Atom, Position, Wanted, is_name};

fn parsed(text: &str) -> Wanted {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn fault(text: &str) -> (usize, String) {
    match text.parse::<Wanted>() {
        Ok(wanted) => panic!("{text} is {wanted}"),
        Err(error) => (error.column, error.message),
    }
}

#[test]
fn a_conjunction_binds_more_than_a_disjunction() {
    let wanted = parsed("hit Ingress.acl && drop || !miss nat");
    let hit = Wanted::Atom(Atom::Hit("Ingress.acl".to_owned()));
    let miss = Wanted::Atom(Atom::Miss("nat".to_owned()));
    let both = Wanted::All(vec![hit, Wanted::Atom(Atom::Drop)]);
    assert_eq!(wanted, Wanted::Any(vec![both, Wanted::Not(Box::new(miss))]));
    assert_eq!(wanted.to_string(), "(hit Ingress.acl && drop) || (!(miss nat))");
    assert_eq!(parsed(&wanted.to_string()), wanted);
    assert_eq!(wanted.atoms().len(), 3);
}

#[test]
fn atoms() {
    let position = |file: &str, line, column| {
        Wanted::Atom(Atom::Statement(Position { file: file.to_owned(), line, column }))
    };
    assert_eq!(parsed("statement router.p4:120"), position("router.p4", 120, None));
    assert_eq!(parsed("statement a/router.p4:120:7"), position("a/router.p4", 120, Some(7)));
    assert_eq!(parsed("((port 3))"), Wanted::Atom(Atom::Port(3)));
    let error = Wanted::Atom(Atom::Error("PacketTooShort".to_owned()));
    assert_eq!(parsed("error error.PacketTooShort"), error);
    for text in ["clone", "recirculate", "resubmit", "state MyParser.start", "action set_port"] {
        assert_eq!(parsed(text).to_string(), text);
    }
}

#[test]
fn faults_say_where_they_are() {
    assert_eq!(fault("hit"), (4, "expected the name of a table".to_owned()));
    assert_eq!(fault("hit t & drop").0, 7);
    assert_eq!(fault("drop drop"), (6, "expected `&&`, `||` or the end".to_owned()));
    assert_eq!(fault("(drop"), (6, "expected `)`".to_owned()));
    assert_eq!(fault("port x"), (6, "expected a port number".to_owned()));
    assert_eq!(fault("statement router.p4").0, 11);
    assert_eq!(fault("statement :3").0, 11);
    assert!(fault("").1.starts_with("expected hit"));
    let (column, message) = fault("drop && fly");
    assert_eq!(column, 9);
    assert!(message.ends_with("found `fly`"), "{message}");
    assert!(fault(&"!".repeat(10_000)).1.contains("nests"));
    assert!(fault(&"(".repeat(10_000)).1.contains("nests"));
}

#[test]
fn names_match_by_their_last_parts() {
    assert!(is_name("Ingress.acl", "Ingress.acl") && is_name("Ingress.acl", "acl"));
    assert!(!is_name("Ingress.acl", "cl") && !is_name("Ingress.acl", ""));
    assert!(!is_name("acl", "Ingress.acl"));
    let at = Position { file: "router.p4".to_owned(), line: 3, column: None };
    assert!(at.is_at("programs/router.p4", 3, 9) && !at.is_at("programs/xrouter.p4", 3, 9));
    assert!(!at.is_at("programs/router.p4", 4, 9));
    assert!(!Position { column: Some(8), ..at }.is_at("router.p4", 3, 9));
}

#[test]
fn the_condition_combines_those_of_the_atoms() {
    let mut terms = Terms::new();
    let [hit, drop] = [0, 1].map(|id| terms.input(Origin::chosen(id), 1));
    let mut resolve = |_: &mut Terms, atom: &Atom| match atom {
        Atom::Hit(_) => Ok(hit),
        Atom::Drop => Ok(drop),
        other => Err(other.to_string()),
    };
    let condition = parsed("!hit t && (drop || hit t)").condition(&mut terms, &mut resolve);
    let missed = terms.not(hit);
    let expected = terms.and(missed, drop);
    assert_eq!(condition, Ok(expected));
    let unknown = parsed("drop && clone").condition(&mut terms, &mut resolve);
    assert_eq!(unknown, Err("clone".to_owned()));
}
