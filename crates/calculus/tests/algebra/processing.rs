//! Tests that compare greedy processing components with a simulated processor.

use calculus::processing::{Bounds, BoundsError, Processed, process};
use calculus::{Curve, Extended, Rational};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn number(value: i64) -> Extended {
    Extended::from(Rational::from(value))
}

/// A stream of events: work, period, jitter.
type Stream = (i64, i64, i64);

fn bounds((work, period, jitter): Stream) -> Bounds {
    Bounds::events(work, period, jitter, 0).expect("curves")
}

/// Returns the components of streams in the order of priority, on a processor of rate 1.
fn chain(streams: &[Stream]) -> Vec<Processed> {
    let mut left = Bounds::exactly(Curve::line(0, 1));
    let mut found = Vec::new();
    for stream in streams {
        let processed = process(&bounds(*stream), &left).expect("curves");
        left = processed.remaining.clone();
        found.push(processed);
    }
    found
}

/// Simulates a processor in slots of one unit of time. Returns the work of each stream that was
/// done by each time, and the longest delay of each stream.
fn run(streams: &[Stream], late: &[i64], slots: usize) -> (Vec<Vec<i64>>, Vec<i64>) {
    let mut done = vec![vec![0]; streams.len()];
    let mut worst = vec![0; streams.len()];
    // The pending events of each stream: when they arrived and the work that is left.
    let mut waiting: Vec<std::collections::VecDeque<(i64, i64)>> =
        vec![Default::default(); streams.len()];
    let mut arrivals: Vec<Vec<i64>> = Vec::new();
    for (index, (_, period, jitter)) in streams.iter().enumerate() {
        let late = |event: usize| late[(7 * event + 3 * index) % late.len()] % (jitter + 1);
        let mut times: Vec<i64> = (0..slots / *period as usize)
            .map(|event| event as i64 * period + late(event))
            .collect();
        times.sort_unstable();
        arrivals.push(times);
    }
    for now in 0..slots as i64 {
        for (index, times) in arrivals.iter().enumerate() {
            let here = times.iter().filter(|at| **at == now);
            waiting[index].extend(here.map(|at| (*at, streams[index].0)));
        }
        let served = waiting.iter().position(|queue| !queue.is_empty());
        for (index, done) in done.iter_mut().enumerate() {
            done.push(done[now as usize] + i64::from(Some(index) == served));
        }
        let Some(index) = served else { continue };
        let Some((came, left)) = waiting[index].front_mut() else { continue };
        *left -= 1;
        if *left == 0 {
            worst[index] = worst[index].max(now + 1 - *came);
            waiting[index].pop_front();
        }
    }
    (done, worst)
}

/// Checks that the work within any span is within bounds.
fn within(bounds: &Bounds, happened: &[i64], what: &str) -> Result<(), TestCaseError> {
    for from in 0..happened.len() {
        for to in from..happened.len() {
            let (span, amount) = (Rational::from(to - from), number(happened[to] - happened[from]));
            let most = bounds.most().right_limit_at(&span);
            prop_assert!(amount <= most, "{what}: {amount} > {most} within {span}");
            let least = bounds.least().left_limit_at(&span);
            prop_assert!(amount >= least, "{what}: {amount} < {least} within {span}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(20),
        failure_persistence: None,
        ..ProptestConfig::with_cases(60)
    })]

    #[test]
    fn what_happens_is_within_bounds(
        streams in prop::collection::vec((1_i64..3, 4_i64..9, 0_i64..7), 1..4),
        late in prop::collection::vec(0_i64..7, 5),
    ) {
        let load: Rational = streams.iter().map(|(work, period, _)| Rational::ratio(*work, *period)).sum();
        prop_assume!(load <= Rational::ONE);
        let found = chain(&streams);
        let slots = 90;
        let (done, worst) = run(&streams, &late, slots);
        let mut idle: Vec<i64> = (0..=slots as i64).collect();
        for (index, processed) in found.iter().enumerate() {
            prop_assert!(number(worst[index]) <= processed.delay, "{} > {}", worst[index], processed.delay);
            // After the last event, less arrives than the lower curve requires.
            let end = slots - 20;
            within(&processed.output, &done[index][..end], "output")?;
            for (idle, done) in idle.iter_mut().zip(&done[index]) {
                *idle -= done;
            }
            within(&processed.remaining, &idle[..end], "remaining")?;
        }
    }
}

#[test]
fn a_chain_by_priority_is_response_time_analysis() {
    // Without jitter the delay is the smallest w with w = C + sum over urgent tasks of ceil(w / T)
    // C (Joseph and Pandya, "Finding response times in a real-time system", The Computer Journal
    // 29, 1986).
    for streams in [vec![(1, 4, 0), (2, 6, 0), (3, 12, 0)], vec![(2, 5, 0), (3, 10, 0), (1, 14, 0)]]
    {
        let found = chain(&streams);
        for (index, processed) in found.iter().enumerate() {
            let mut window = streams[index].0;
            loop {
                let urgent = streams[..index].iter();
                let all: i64 =
                    urgent.map(|(work, period, _)| (window + period - 1) / period * work).sum();
                let next = streams[index].0 + all;
                if next == window {
                    break;
                }
                window = next;
            }
            assert_eq!(processed.delay, number(window), "{streams:?} {index}");
        }
    }
}

/// Compares response times with published ones: work, period, and the longest response of each
/// task, by priority.
#[test]
fn a_chain_by_priority_has_the_response_times_that_were_published() {
    let published: [&[(i64, i64, i64)]; 3] = [
        // Lehoczky, "Fixed priority scheduling of periodic task sets with arbitrary deadlines",
        // RTSS 1990, example 3: the longest response is that of the fifth job of a busy period,
        // beyond its period.
        &[(26, 70, 26), (62, 100, 118)],
        // Burns and Wellings, "Real-time systems and programming languages", response time
        // analysis, process sets B and C.
        &[(3, 7, 3), (3, 12, 6), (5, 20, 20)],
        &[(5, 20, 5), (10, 40, 15), (40, 80, 80)],
    ];
    for tasks in published {
        let streams: Vec<Stream> =
            tasks.iter().map(|(work, period, _)| (*work, *period, 0)).collect();
        for (processed, (work, period, response)) in chain(&streams).iter().zip(tasks) {
            assert_eq!(processed.delay, number(*response), "{work} of {period}");
        }
    }
}

#[test]
fn a_resource_that_is_full_has_nothing_left() {
    let all = process(&bounds((4, 4, 0)), &Bounds::exactly(Curve::line(0, 1))).expect("curves");
    assert_eq!(*all.remaining.least(), Curve::zero());
    assert_eq!(*all.remaining.most(), Curve::zero());
    assert_eq!(all.delay, number(4));
}

#[test]
fn whole_events_of_an_output() {
    // Events of 3 units of work every 10, on a processor of rate 1: output events are 10 apart,
    // without jitter.
    let alone = process(&bounds((3, 10, 0)), &Bounds::exactly(Curve::line(0, 1))).expect("curves");
    let events = alone.output.in_events(&Rational::from(3)).expect("curves");
    for (span, most, least) in [(1, 1, 0), (9, 1, 0), (13, 2, 1), (20, 2, 2), (33, 4, 3)] {
        let span = Rational::from(span);
        assert_eq!(events.most().value_at(&span), number(most), "most within {span}");
        assert_eq!(events.least().value_at(&span), number(least), "least within {span}");
    }
}

#[test]
fn bounds_that_cross_are_refused() {
    let (slow, fast) = (Curve::line(0, 1), Curve::line(0, 2));
    assert!(Bounds::new(fast.clone(), slow.clone()).is_ok());
    assert_eq!(Bounds::new(slow, fast), Err(BoundsError::Crossed));
}
