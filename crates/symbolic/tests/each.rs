//! The search for a test for each of several wishes.

use ir::Program;
use p4lang::preprocess::{MemoryFiles, Options as Sources};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use symbolic::Ends;
use symbolic::generated::Test;
use symbolic::search::{
    FindError, Options, Progress, SearchError, Taker, Verdict, Wants, WishAnswer, Wishes,
    find_each, search,
};
use symbolic::wanted::Wanted;

/// Packets hit the table `second` if `first` marks them; a register, a default action or another
/// port would do for `third`, `fourth` and `fifth`.
const PROGRAM: &str = "#include <v1model.p4>
    header h_t { bit<32> a; bit<32> b; }
    struct H { h_t h; } struct M { bit<32> mark; }
    parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
        state start { p.extract(h.h); transition accept; }
    }
    control V(inout H h, inout M m) { apply { } }
    control I(inout H h, inout M m, inout standard_metadata_t s) {
        register<bit<32>>(1) cell;
        action mark(bit<32> value) { m.mark = value; }
        action go(bit<9> port) { s.egress_spec = port; }
        table first { key = { h.h.a: exact; } actions = { mark; } }
        table second { key = { h.h.b: exact; } actions = { go; } }
        table third { key = { h.h.b: exact; } actions = { go; } }
        table chosen { actions = { mark; NoAction; } default_action = NoAction(); }
        table fourth { key = { h.h.b: exact; } actions = { go; } }
        table fifth { key = { h.h.b: exact; } actions = { go; } }
        apply {
            bit<32> held;
            cell.read(held, 0);
            if (held == 7) { third.apply(); }
            chosen.apply();
            if (m.mark == 5) { fourth.apply(); }
            if (s.ingress_port == 9) { fifth.apply(); }
            if (first.apply().hit && m.mark == h.h.b) { second.apply(); }
        }
    }
    control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
    control D(packet_out p, in H h) { apply { p.emit(h); } }
    V1Switch(P(), V(), I(), E(), V(), D()) main;";

fn program() -> Program {
    let sources = Sources::default();
    let compiled = p4lang::compile_text("each.p4", PROGRAM, &sources, &MemoryFiles::default());
    let messages = compiled.messages(p4lang::diagnostic::Style::Plain);
    compiled.program.unwrap_or_else(|| panic!("{messages}"))
}

fn wish(formulas: &[&str]) -> Vec<Wanted> {
    formulas.iter().map(|formula| formula.parse().expect("a formula")).collect()
}

/// A taker that refuses the first tests of each wish.
struct Refusing {
    refused: usize,
    wants: fn(usize) -> Wants,
    offered: Vec<(usize, Test)>,
}

impl Taker for Refusing {
    fn wants(&mut self, wish: usize, _: Progress) -> Wants {
        (self.wants)(wish)
    }

    fn takes(&mut self, wish: usize, test: &Test) -> bool {
        self.offered.push((wish, test.clone()));
        self.offered.iter().filter(|(of, _)| *of == wish).count() > self.refused
    }
}

/// Answers to wishes, and the tests that were offered, each with the position of its wish.
type Searched = (Vec<WishAnswer>, Vec<(usize, Test)>);

fn searched(
    wishes: &[Vec<Wanted>],
    refused: usize,
    wants: fn(usize) -> Wants,
) -> Result<Searched, FindError> {
    let mut taker = Refusing { refused, wants, offered: Vec::new() };
    let wishes = Wishes { wishes, port: 1, offers: 3 };
    let answers = find_each(&program(), &wishes, &Options::default(), &mut taker)?;
    Ok((answers, taker.offered))
}

fn each(wishes: &[&[&str]], refused: usize) -> Searched {
    let wishes: Vec<Vec<Wanted>> = wishes.iter().map(|formulas| wish(formulas)).collect();
    searched(&wishes, refused, |_| Wants::Test).expect("it is executed")
}

#[test]
fn tests_write_entries_only_and_arrive_by_the_port() {
    let (answers, offered) = each(&[&["hit I.second && port 2"], &["hit I.first"]], 0);
    assert_eq!(answers, [WishAnswer::Taken, WishAnswer::Taken]);
    for (_, test) in &offered {
        assert_eq!((test.port, test.earlier.len(), test.defaults.len()), (1, 0, 0), "{test:?}");
        assert_eq!((test.registers.len(), test.sessions.len(), test.groups.len()), (0, 0, 0));
    }
    let (_, second) = &offered[0];
    let tables: Vec<&str> = second.entries.iter().map(|entry| entry.table.as_str()).collect();
    assert!(tables.contains(&"I.first") && tables.contains(&"I.second"), "{tables:?}");
    assert_eq!(second.outputs.iter().map(|output| output.port).collect::<Vec<_>>(), [2]);
}

#[test]
fn what_needs_more_than_entries_is_not_found() {
    for table in ["third", "fourth", "fifth"] {
        let formula = format!("hit I.{table}");
        let (answers, offered) = each(&[&[formula.as_str()]], 0);
        let [WishAnswer::Without(verdict)] = answers.as_slice() else { panic!("{answers:?}") };
        let proved = matches!(verdict, Verdict::Unreachable | Verdict::NotWithin(1));
        assert!(proved && offered.is_empty(), "{table}: {verdict:?}");
    }
}

#[test]
fn other_values_follow_a_test_that_is_refused() {
    let (answers, offered) = each(&[&["hit I.second"]], 2);
    assert_eq!(answers, [WishAnswer::Taken]);
    let mut packets: Vec<&str> = offered.iter().map(|(_, test)| test.packet.as_str()).collect();
    packets.sort_unstable();
    packets.dedup();
    assert_eq!((offered.len(), packets.len()), (3, 3));
    let (answers, offered) = each(&[&["hit I.second && drop", "hit I.second"]], usize::MAX);
    assert_eq!((answers, offered.len()), (vec![WishAnswer::Refused(6)], 6));
}

#[test]
fn a_weaker_formula_is_tried_last() {
    let impossible = "hit I.second && !hit I.first";
    let (answers, offered) = each(&[&[impossible, "hit I.second"]], 0);
    assert_eq!((answers, offered.len()), (vec![WishAnswer::Taken], 1));
    let (answers, _) = each(&[&[impossible]], 0);
    assert!(matches!(answers.as_slice(), [WishAnswer::Without(_)]), "{answers:?}");
}

#[test]
fn the_caller_says_what_it_wants() {
    let wishes: Vec<Vec<Wanted>> = (0..3).map(|_| wish(&["hit I.first"])).collect();
    let found = searched(&wishes, 0, |wish| if wish == 0 { Wants::Nothing } else { Wants::End });
    let (answers, offered) = found.expect("it is executed");
    let open = WishAnswer::Without(Verdict::Open);
    assert_eq!(answers, [WishAnswer::Unwanted, open.clone(), open]);
    assert!(offered.is_empty());
    let unknown = searched(&[wish(&["hit I.sixth"])], 0, |_| Wants::Test);
    assert!(unknown.is_err_and(|error| error.to_string().contains("no table I.sixth")));
}

#[test]
fn nothing_is_executed_once_the_time_has_ended() {
    let wishes = [wish(&["hit I.first"])];
    let wishes = Wishes { wishes: &wishes, port: 1, offers: 3 };
    let ends = Ends { at: Some(Instant::now()), asked: None };
    let options = Options { ends, ..Options::default() };
    let mut taker = Refusing { refused: 0, wants: |_| Wants::Test, offered: Vec::new() };
    let found = find_each(&program(), &wishes, &options, &mut taker);
    assert_eq!(found.unwrap_err(), FindError::Search(SearchError::Ended));
    assert!(taker.offered.is_empty());
}

#[test]
fn a_search_that_is_asked_to_end_returns_what_it_has() {
    static ASKED: AtomicBool = AtomicBool::new(false);
    let ends = Ends { at: None, asked: Some(&ASKED) };
    let options = Options { ends, ..Options::default() };
    let mut goes_on = |progress: Progress| {
        ASKED.store(progress.tests > 0, Ordering::Relaxed);
        true
    };
    let report = search(&program(), &options, &mut goes_on).expect("it is executed");
    assert!(!report.tests.is_empty());
    assert!(report.goals.iter().any(|(_, verdict)| *verdict == Verdict::Open));
    // The flag is still set.
    let report = search(&program(), &options, &mut |_| true);
    assert_eq!(report.unwrap_err(), SearchError::Ended);
}
