//! Constraints against an evaluator that follows the specification word by word, on all entries of
//! a small table, and against what p4-constraints' specification says about syntax and types.

mod expressions;

use constraints::{Constraint, Entry, Goal, Key, KeyType, Kind, Match, Subject, Wishes};
use expressions::{Generator, Small, all_entries, keys};

#[test]
fn evaluation_agrees_with_the_specification_on_every_entry() {
    const WIDTH: u32 = 2;
    let entries = all_entries(WIDTH);
    let (mut held, mut failed) = (0_u64, 0_u64);
    for seed in 0..200 {
        let expression = Generator::new(seed, WIDTH).condition(3);
        let text = expression.to_string();
        let compiled = Constraint::compile(&text, Subject::Table(&keys(WIDTH)));
        let constraint = compiled.unwrap_or_else(|error| panic!("{text}: {error}")).constraint;
        for small in entries.iter().step_by(11) {
            let wanted = expression.holds(small, WIDTH);
            let matches = small.matches();
            let entry = Entry { matches: &matches, priority: small.priority };
            assert_eq!(constraint.is_satisfied(&entry), wanted, "{text}: {small:?}");
            let violation = constraint.check(&entry).err();
            assert_eq!(violation.is_none(), wanted, "{text}");
            *if wanted { &mut held } else { &mut failed } += 1;
        }
    }
    assert!(held > 50_000 && failed > 50_000, "{held} held, {failed} failed");
}

/// The explanation of a violation is a part of the constraint that is false by itself.
#[test]
fn the_failing_part_fails_by_itself() {
    const WIDTH: u32 = 2;
    let entries = all_entries(WIDTH);
    let mut explained = 0;
    for seed in 0..200 {
        let expression = Generator::new(seed, WIDTH).conjunction(4);
        let text = expression.to_string();
        let constraint = Constraint::compile(&text, Subject::Table(&keys(WIDTH)))
            .expect("it compiles")
            .constraint;
        for small in entries.iter().step_by(997) {
            let matches = small.matches();
            let entry = Entry { matches: &matches, priority: small.priority };
            let Err(violation) = constraint.check(&entry) else { continue };
            let part = Constraint::compile(violation.conjunct(), Subject::Table(&keys(WIDTH)));
            let part = part.expect("a part of a constraint is one").constraint;
            assert!(!part.is_satisfied(&entry), "{text}: {}", violation.conjunct());
            assert_eq!(part.conjuncts(), 1, "{text}: {}", violation.conjunct());
            explained += 1;
        }
    }
    assert!(explained > 500, "{explained}");
}

/// A solution satisfies the oracle. If the table has an entry that does, one is found.
#[test]
fn solutions_satisfy_the_oracle_and_are_found_where_there_are_any() {
    const WIDTH: u32 = 2;
    let entries = all_entries(WIDTH);
    let (mut solved, mut impossible) = (0, 0);
    for seed in 0..200 {
        let expression = Generator::new(seed, WIDTH).conjunction(3);
        let text = expression.to_string();
        let constraint = Constraint::compile(&text, Subject::Table(&keys(WIDTH)))
            .expect("it compiles")
            .constraint;
        let exists = entries.iter().any(|small| expression.holds(small, WIDTH));
        let solution = constraint.solve(Goal::Satisfy, Wishes::default(), seed);
        // The search may find a priority that the entries above lack.
        assert!(solution.is_some() || !exists, "{text}");
        let Some(solution) = solution else {
            impossible += 1;
            continue;
        };
        let small = Small::of(&solution.matches, solution.priority.into());
        assert!(expression.holds(&small, WIDTH), "{text}: {small:?}");
        assert_eq!(constraint.solve(Goal::Satisfy, Wishes::default(), seed), Some(solution));
        solved += 1;
    }
    assert!(solved > 100 && impossible > 2, "{solved} solved, {impossible} impossible");
}

/// A near miss breaks the part that it is to break, and no other.
#[test]
fn near_misses_break_one_part() {
    const WIDTH: u32 = 4;
    let mut broken = 0;
    for seed in 0..200 {
        let text = Generator::new(seed, WIDTH).conjunction(3).to_string();
        let constraint = Constraint::compile(&text, Subject::Table(&keys(WIDTH)))
            .expect("it compiles")
            .constraint;
        for number in 0..constraint.conjuncts() {
            let Some(miss) = constraint.solve(Goal::Break(number), Wishes::default(), seed) else {
                continue;
            };
            for other in 0..constraint.conjuncts() {
                let part = constraint.conjunct(other).expect("a part");
                let part = Constraint::compile(&part, Subject::Table(&keys(WIDTH)));
                let part = part.expect("a part of a constraint is one").constraint;
                assert_eq!(part.is_satisfied(&miss.entry()), other != number, "{text}: {miss:?}");
            }
            assert_eq!(constraint.broken(&miss.entry()), [number], "{text}: {miss:?}");
            broken += 1;
        }
        assert_eq!(constraint.solve(Goal::Break(99), Wishes::default(), seed), None);
    }
    assert!(broken > 200, "{broken}");
}

/// An entry for a packet matches the packet.
#[test]
fn an_entry_for_a_packet_matches_it() {
    const WIDTH: u32 = 4;
    let mut found = 0;
    for seed in 0..300_u64 {
        let text = Generator::new(seed, WIDTH).conjunction(2).to_string();
        let constraint = Constraint::compile(&text, Subject::Table(&keys(WIDTH)))
            .expect("it compiles")
            .constraint;
        let packet: Vec<u8> = (0..5).map(|key| (seed >> key) as u8 & 15).collect();
        let accepts: Vec<Option<Box<[u8]>>> =
            packet.iter().map(|value| Some(vec![*value].into())).collect();
        let wishes = Wishes { accepts: &accepts, preferred: &[] };
        let Some(solution) = constraint.solve(Goal::Satisfy, wishes, seed) else { continue };
        assert!(constraint.is_satisfied(&solution.entry()));
        let small = Small::of(&solution.matches, solution.priority.into());
        let values: Vec<i64> = packet.into_iter().map(i64::from).collect();
        assert!(small.accepts(&values, WIDTH), "{text}: {small:?} for {values:?}");
        found += 1;
    }
    assert!(found > 100, "{found}");
}

/// Preferred matches of every kind are kept, value and all, where nothing speaks against them.
#[test]
fn preferred_matches_are_kept() {
    const WIDTH: u32 = 4;
    let constraint = Constraint::compile("e != 3", Subject::Table(&keys(WIDTH)));
    let constraint = constraint.expect("it compiles").constraint;
    let preferred = [
        Match::exact(&[5]),
        Match::ternary(&[9], &[13]),
        Match::lpm(&[12], 2),
        Match::range(&[3], &[7]),
        Match::exact(&[6]),
    ];
    for seed in 0..20 {
        let wishes = Wishes { accepts: &[], preferred: &preferred };
        let solution = constraint.solve(Goal::Satisfy, wishes, seed).expect("an entry");
        assert_eq!(solution.matches[..], preferred[..], "seed {seed}");
    }
}

/// The preferred matches are kept if they satisfy the constraint, and give way if they do not.
#[test]
fn preferred_matches_give_way_to_the_constraint() {
    let keys = [
        Key { name: "is_ipv4".into(), kind: Kind::Optional, ty: KeyType::Bits(1) },
        Key { name: "dst".into(), kind: Kind::Ternary, ty: KeyType::Bits(32) },
        Key { name: "port".into(), kind: Kind::Range, ty: KeyType::Bits(16) },
    ];
    let text = "dst::mask != 0 -> is_ipv4 == 1; port::low <= 80 && port::high >= 80;";
    let constraint =
        Constraint::compile(text, Subject::Table(&keys)).expect("it compiles").constraint;
    let preferred = [
        Match::exact(&[1]),
        Match::ternary(&[10, 0, 0, 4], &[255, 255, 255, 252]),
        Match::range(&[80], &[90]),
    ];
    let packet = |is_ipv4: u8| {
        [Some(vec![is_ipv4].into()), Some(vec![10, 0, 0, 5].into()), Some(vec![85].into())]
    };
    for seed in 0..20 {
        let accepts = packet(1);
        let wishes = Wishes { accepts: &accepts, preferred: &preferred };
        let solution = constraint.solve(Goal::Satisfy, wishes, seed).expect("an entry");
        // A branch may leave the address out instead.
        if solution.matches[1] != Match::Any {
            assert_eq!(solution.matches[..], preferred[..], "seed {seed}");
        }
        let accepts = packet(0);
        let wishes = Wishes { accepts: &accepts, preferred: &preferred };
        let solution = constraint.solve(Goal::Satisfy, wishes, seed).expect("an entry");
        assert_eq!(solution.matches[1], Match::Any, "no address of a packet without IPv4");
        assert_eq!(solution.matches[2], preferred[2]);
    }
}

/// Each condition permits a mask only for packets of one protocol, and the packet has another one.
/// The branches that name the protocol must be left at once: there are 2^24 combinations.
#[test]
fn an_entry_for_a_packet_is_found_among_many_conditions() {
    let count = 24;
    let mut keys = vec![Key { name: "p".to_owned(), kind: Kind::Optional, ty: KeyType::Bits(1) }];
    let mut text = String::new();
    for number in 0..count {
        let name = format!("k{number}");
        text += &format!("{name}::mask != 0 -> p == 1;");
        keys.push(Key { name, kind: Kind::Ternary, ty: KeyType::Bits(8) });
    }
    let constraint = Constraint::compile(&text, Subject::Table(&keys));
    let constraint = constraint.expect("it compiles").constraint;
    for packet in [0_u8, 1] {
        let accepts: Vec<Option<Box<[u8]>>> =
            std::iter::once(packet).chain(0..count).map(|value| Some(vec![value].into())).collect();
        let wishes = Wishes { accepts: &accepts, preferred: &[] };
        for seed in 0..4 {
            let solution = constraint.solve(Goal::Satisfy, wishes, seed).expect("an entry");
            assert!(constraint.is_satisfied(&solution.entry()));
            let masks = solution.matches.iter().skip(1).filter(|one| **one != Match::Any).count();
            assert!(packet == 1 || masks == 0, "{solution:?}");
        }
    }
}
