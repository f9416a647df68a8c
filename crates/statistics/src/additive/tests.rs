use super::*;

/// A sequence of pseudorandom numbers from 0 to 1 (a linear congruential generator).
struct Numbers(u64);

impl Numbers {
    fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a whole number below a limit.
    fn below(&mut self, limit: f64) -> f64 {
        (self.draw() * limit).floor()
    }

    /// Returns a factor near one, with a relative deviation of about a half of `share`.
    fn noise(&mut self, share: f64) -> f64 {
        1.0 + share * (self.draw() + self.draw() + self.draw() - 1.5)
    }
}

/// The planted costs of ten kinds, after the constant.
const PLANTED: [f64; 11] = [500.0, 3.0, 40.0, 1.5, 6.0, 80.0, 150.0, 60.0, 30.0, 45.0, 0.8];

fn planted(counts: &[f64]) -> f64 {
    PLANTED[0] + product(&PLANTED[1..], counts)
}

/// Returns the counts of a packet: lines, headers, bytes of headers, and so on.
fn packet(numbers: &mut Numbers) -> Vec<f64> {
    let (lines, headers) = (numbers.below(25.0), 1.0 + numbers.below(5.0));
    let bytes = headers * (8.0 + numbers.below(20.0));
    let mut counts = vec![lines, headers, bytes];
    counts.extend([30.0, 4.0, 3.0, 3.0, 3.0, 2.0, 64.0].map(|limit| numbers.below(limit)));
    counts
}

/// Returns observations with noise, of which every tenth is an outlier: it costs up to three times
/// as much.
fn observed(numbers: &mut Numbers, count: usize) -> Vec<Observation> {
    (0..count)
        .map(|number| {
            let counts = packet(numbers);
            let outlier = if number % 10 == 3 { 1.5 + 1.5 * numbers.draw() } else { 1.0 };
            let cost = planted(&counts) * numbers.noise(0.02) * outlier;
            Observation { counts, cost }
        })
        .collect()
}

/// Returns the position of the largest number.
fn largest(numbers: impl Iterator<Item = f64>) -> usize {
    let numbers: Vec<f64> = numbers.collect();
    (0..numbers.len()).max_by(|a, b| numbers[*a].total_cmp(&numbers[*b])).expect("numbers")
}

#[test]
fn the_worst_of_unseen_packets_is_ranked_first_despite_noise_and_outliers() {
    for seed in 0..10 {
        let mut numbers = Numbers(seed);
        let fit = AdditiveFit::of(&observed(&mut numbers, 60)).expect("a fit");
        let mut unseen: Vec<Vec<f64>> = (0..30).map(|_| packet(&mut numbers)).collect();
        // A packet with more of most kinds than any that was observed, but not of all.
        unseen.push(vec![24.0, 5.0, 130.0, 29.0, 3.0, 2.0, 2.0, 2.0, 1.0, 63.0]);
        let predictions: Vec<Prediction> =
            unseen.iter().map(|counts| fit.predict(counts)).collect();
        for (prediction, counts) in predictions.iter().zip(&unseen) {
            let error = prediction.cost / planted(counts) - 1.0;
            assert!(error.abs() < 0.04, "seed {seed}: {error}");
            assert!(prediction.undetermined.is_empty());
        }
        let found = LargestPrediction::of(&predictions).expect("predictions");
        let worst = largest(unseen.iter().map(|counts| planted(counts)));
        assert_eq!(found.position, worst, "seed {seed}");
    }
}

#[test]
fn intervals_contain_most_unseen_packets_and_exclude_large_errors() {
    let mut numbers = Numbers(7);
    let fit = AdditiveFit::of(&observed(&mut numbers, 100)).expect("a fit");
    let unseen = observed(&mut numbers, 200);
    let within = unseen.iter().filter(|one| {
        fit.predict(&one.counts).interval.is_some_and(|interval| interval.contains(one.cost))
    });
    let within = within.count();
    assert!(within >= 170, "{within} of 200");
    let error = fit.median_error().expect("errors");
    assert!(error > 0.001 && error < 0.03, "{error}");
}

#[test]
fn kinds_that_always_come_together_do_not_tell_their_costs() {
    let mut numbers = Numbers(3);
    let observations: Vec<Observation> = (0..40)
        .map(|_| {
            let (together, other) = (numbers.below(6.0), numbers.below(6.0));
            let cost = 100.0 + 30.0 * together + 7.0 * other;
            Observation { counts: vec![together, together, other], cost }
        })
        .collect();
    let fit = AdditiveFit::of(&observations).expect("a fit");
    let known = fit.predict(&[4.0, 4.0, 1.0]);
    assert!((known.cost - 227.0).abs() < 1.0 && known.undetermined.is_empty(), "{known:?}");
    // The observations cannot tell what the first kind costs without the second.
    let unknown = fit.predict(&[5.0, 0.0, 1.0]);
    assert_eq!(unknown.undetermined, [0, 1]);
    let found = LargestPrediction::of(&[known, unknown]).expect("predictions");
    assert_eq!(found.ties.len(), 1, "{found:?}");
}

#[test]
fn a_kind_whose_count_never_varies_is_in_the_constant() {
    let mut numbers = Numbers(5);
    let observations: Vec<Observation> = (0..30)
        .map(|_| {
            let varied = numbers.below(9.0);
            Observation { counts: vec![2.0, varied], cost: 50.0 + 2.0 * 10.0 + 4.0 * varied }
        })
        .collect();
    let fit = AdditiveFit::of(&observations).expect("a fit");
    assert_eq!(fit.unvaried(), [0]);
    assert_eq!(fit.predict(&[2.0, 5.0]).undetermined, [0_usize; 0]);
    assert!((fit.predict(&[2.0, 5.0]).cost - 90.0).abs() < 0.5, "{:?}", fit.predict(&[2.0, 5.0]));
    assert_eq!(fit.predict(&[3.0, 5.0]).undetermined, [0]);
}

#[test]
fn close_predictions_are_ties_and_distant_ones_are_not() {
    let prediction = |cost: f64, low: f64, high: f64| Prediction {
        cost,
        interval: Some(Interval { low, high }),
        undetermined: Vec::new(),
    };
    let all = [
        prediction(100.0, 90.0, 110.0),
        prediction(130.0, 121.0, 139.0),
        prediction(120.0, 108.0, 122.0),
    ];
    let found = LargestPrediction::of(&all).expect("predictions");
    assert_eq!(found, LargestPrediction { position: 1, ties: vec![2] });
    let without = Prediction { interval: None, ..prediction(10.0, 0.0, 0.0) };
    let found = LargestPrediction::of(&[all[1].clone(), without]).expect("predictions");
    assert_eq!(found.ties, [1], "nothing is known of the second");
    assert_eq!(LargestPrediction::of(&[]), None);
}

#[test]
fn few_observations_have_no_intervals_and_wrong_ones_no_fit() {
    let one = |counts: &[f64], cost: f64| Observation { counts: counts.to_vec(), cost };
    assert!(AdditiveFit::of(&[]).is_none());
    assert!(AdditiveFit::of(&[one(&[1.0], 0.0)]).is_none());
    assert!(AdditiveFit::of(&[one(&[1.0], f64::NAN)]).is_none());
    // Many observations of two pieces of work tell nothing of others.
    let two: Vec<Observation> =
        (0..40).map(|number| one(&[f64::from(number % 2)], 9.0 + f64::from(number % 2))).collect();
    let fit = AdditiveFit::of(&two).expect("a fit");
    assert_eq!((fit.predict(&[1.0]).interval, fit.median_error()), (None, None));
}
