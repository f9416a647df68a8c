//! Tests of the distribution of work among ranks, which are threads of one process here. They cover
//! the assignment, lost and slow ranks, and interrupts.
use super::*;
use crate::in_memory;

const BRIEF: Patience = Patience {
    begin: Duration::from_secs(1),
    silence: Duration::from_millis(300),
    rest: Duration::from_millis(300),
    beat: Duration::from_millis(30),
};

fn work(items: usize) -> Work {
    Work { items: (0..items).map(|item| item.to_string()).collect(), ..Work::default() }
}

fn square(item: usize) -> usize {
    item * item
}

/// Time limits for tests in which no rank may count as late, however busy the machine is.
const PATIENT: Patience = Patience { beat: BRIEF.beat, ..TIMEOUT };

/// Runs all ranks except those in `absent`, and returns the result of each rank.
fn run_ranks(
    size: u32,
    work: impl Fn(u32) -> Work + Sync,
    absent: &[u32],
    each: impl Fn(u32, usize) -> usize + Sync,
) -> Vec<Option<Result<Shared<usize>, ShareError>>> {
    let patience = if absent.is_empty() { PATIENT } else { BRIEF };
    run_ranks_patiently(size, work, absent, each, patience)
}

fn run_ranks_patiently(
    size: u32,
    work: impl Fn(u32) -> Work + Sync,
    absent: &[u32],
    each: impl Fn(u32, usize) -> usize + Sync,
    patience: Patience,
) -> Vec<Option<Result<Shared<usize>, ShareError>>> {
    let (mut away, mut here) = (Vec::new(), Vec::new());
    for (rank, link) in (0..).zip(in_memory(size)) {
        if absent.contains(&rank) { away.push(link) } else { here.push((rank, link)) }
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = here
            .into_iter()
            .map(|(rank, link)| {
                let (work, each) = (&work, &each);
                let run = move || {
                    let mut group = Group::from(link);
                    let interrupt = AtomicBool::new(false);
                    let each = |item| each(rank, item);
                    share_patiently(Some(&mut group), work(rank), &interrupt, each, patience)
                };
                (rank, scope.spawn(run))
            })
            .collect();
        let mut found: Vec<_> = (0..size).map(|_| None).collect();
        for (rank, thread) in threads {
            found[rank as usize] = Some(thread.join().expect("no panic"));
        }
        drop(away);
        found
    })
}

fn first(found: Vec<Option<Result<Shared<usize>, ShareError>>>) -> Shared<usize> {
    found.into_iter().next().flatten().expect("a first rank").expect("results")
}

#[test]
fn every_item_is_worked_on_once_and_all_results_are_at_the_first_rank() {
    let interrupt = AtomicBool::new(false);
    let alone = share(None, work(10), &interrupt, square).expect("results");
    let all: Vec<_> = (0..10).map(|item| Some(item * item)).collect();
    assert_eq!(alone.results, all);
    let found = run_ranks(4, |_| work(10), &[], |_, item| square(item));
    let third = found[2].clone().expect("it was there").expect("results");
    assert_eq!(third.results.into_iter().flatten().collect::<Vec<_>>(), [4, 36]);
    let shared = first(found);
    assert_eq!(shared.results, all);
    let owners: Vec<u32> = shared.owners.iter().map(|rank| rank.0).collect();
    assert_eq!(owners, [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]);
    assert_eq!((shared.about.len(), shared.lost.len(), shared.idle.len()), (4, 0, 0));
}

/// Checks that a rank that works on an item for longer than it may send nothing does not count as
/// lost.
#[test]
fn a_rank_that_works_on_a_long_item_is_not_lost() {
    let slow = |rank, item| {
        std::thread::sleep(if rank == 1 { 2 * BRIEF.silence } else { Duration::ZERO });
        square(item)
    };
    let patience = Patience { silence: BRIEF.silence, ..PATIENT };
    let shared = first(run_ranks_patiently(2, |_| work(2), &[], slow, patience));
    assert_eq!(shared.results, [Some(0), Some(1)]);
}

#[test]
fn an_absent_rank_gets_no_items_and_a_lost_rank_leaves_its_items_without_results() {
    let shared = first(run_ranks(3, |_| work(5), &[2], |_, item| square(item)));
    assert!(shared.results.iter().all(Option::is_some), "{shared:?}");
    assert!(shared.lost[&Rank(2)].contains("not ready"), "{shared:?}");

    // The rank joins and receives its items; then it is gone or silent.
    for is_gone in [true, false] {
        let patience = if is_gone { PATIENT } else { Patience { begin: TIMEOUT.begin, ..BRIEF } };
        let mut links = in_memory(2).into_iter();
        let (own, other) = (links.next().expect("two"), links.next().expect("two"));
        let shared = std::thread::scope(|scope| {
            let (ended, end) = channel::<()>();
            scope.spawn(move || {
                let mut group = Group::from(other);
                await_assignment::<usize>(&mut group, work(4), patience).expect("an assignment");
                if !is_gone {
                    let _ = end.recv();
                }
            });
            let (mut group, interrupt) = (Group::from(own), AtomicBool::new(false));
            let shared = share_patiently(Some(&mut group), work(4), &interrupt, square, patience);
            drop(ended);
            shared.expect("results")
        });
        assert_eq!(shared.results, [Some(0), None, Some(4), None]);
        let cause = &shared.lost[&Rank(1)];
        assert!(cause.contains(if is_gone { "it ended" } else { "sent nothing" }), "{cause}");
    }
}

/// Checks that the first rank may leave when it has all results, even if the threads of the other
/// ranks have not finished.
#[test]
fn the_first_rank_may_leave_a_rank_that_has_reported_all() {
    for has_finished in [true, false] {
        let mut links = in_memory(2).into_iter();
        let (own, other) = (links.next().expect("two"), links.next().expect("two"));
        drop(own);
        let (sender, results) = channel();
        if has_finished {
            sender.send((1, square(1))).expect("it is heard");
        }
        let mut shared = Shared {
            owners: vec![Rank::FIRST, Rank(1)],
            results: vec![None, None],
            ..Shared::default()
        };
        let (mut group, interrupt) = (Group::from(other), AtomicBool::new(false));
        let reported = report_results(&mut group, &results, &mut shared, &interrupt, PATIENT);
        assert_eq!(reported.is_ok(), has_finished, "{reported:?}");
    }
}

#[test]
fn ranks_that_share_a_core_do_not_work_at_the_same_time() {
    let on = |cores: &'static [&'static [usize]]| {
        move |rank: u32| Work { cores: Some(cores[rank as usize].to_vec()), ..work(4) }
    };
    let shared = first(run_ranks(3, on(&[&[0, 1], &[1, 2], &[2, 3]]), &[], |_, item| square(item)));
    assert!(shared.results.iter().all(Option::is_some));
    let owners: Vec<u32> = shared.owners.iter().map(|rank| rank.0).collect();
    assert_eq!(owners, [0, 2, 0, 2]);
    assert!(shared.idle[&Rank(1)].contains("core 1 is used by rank 0"), "{shared:?}");
    // Cores of different machines are different cores.
    let places: BTreeMap<_, _> = [("a", 0), ("b", 1), ("a", 2)]
        .into_iter()
        .map(|(kernel, rank)| (Rank(rank), Some(CoreSet { kernel: kernel.into(), cores: vec![0] })))
        .collect();
    let (at_work, idle) = workers(&places);
    assert_eq!((at_work, idle.into_keys().collect()), (vec![Rank(0), Rank(1)], vec![Rank(2)]));
}

#[test]
fn ranks_with_different_work_are_refused() {
    let other =
        |rank| Work { items: vec!["a".into(), format!("b{}", rank / 2)], ..Work::default() };
    let found = run_ranks(3, other, &[], |_, item| square(item));
    let error = found[0].clone().expect("it was there").expect_err("refused");
    assert_eq!(error, ShareError::Differs { rank: Rank(2), what: "b1 instead of b0".into() });
    for rank in [1, 2] {
        let error = found[rank].clone().expect("it was there").expect_err("refused");
        assert!(error.to_string().contains("rank 2 would do other work"), "{error}");
    }
    let other = |rank: u32| Work { basis: rank.to_string(), ..work(2) };
    let error = run_ranks(2, other, &[], |_, item| square(item)).remove(0).expect("it was there");
    assert!(error.expect_err("refused").to_string().contains("another file"));
}

#[test]
fn an_interrupt_of_the_first_rank_ends_the_work_of_all() {
    let mut links = in_memory(2).into_iter();
    let (own, other) = (links.next().expect("two"), links.next().expect("two"));
    let (interrupt, theirs) = (AtomicBool::new(false), AtomicBool::new(false));
    let shared = std::thread::scope(|scope| {
        let follows = scope.spawn(|| {
            let slow = |item| {
                std::thread::sleep(Duration::from_millis(5));
                square(item)
            };
            let mut group = Group::from(other);
            share_patiently(Some(&mut group), work(100_000), &theirs, slow, PATIENT)
        });
        let each = |item: usize| {
            interrupt.store(item >= 20, Ordering::Relaxed);
            square(item)
        };
        let mut group = Group::from(own);
        let shared = share_patiently(Some(&mut group), work(100_000), &interrupt, each, PATIENT);
        assert!(follows.join().expect("no panic").is_ok());
        shared.expect("results")
    });
    assert!(theirs.load(Ordering::Relaxed));
    assert!(shared.lost.is_empty(), "{:?}", shared.lost);
    let done = shared.results.iter().flatten().count();
    assert!((11..1_000).contains(&done), "{done}");
}
