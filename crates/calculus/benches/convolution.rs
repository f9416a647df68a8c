//! Benchmarks of convolution and deconvolution by the number of segments.
//!
//! `general` curves are irregular: jumps and slopes are random, so that hardly two segments form a
//! convex run; the tail is affine or periodic. `concave` with `convex` is the usual case of an
//! arrival curve and a service curve. `staircases` have equal rates and coprime periods, the case
//! in which the common period determines the cost.

use calculus::{Curve, Period, Piece, Rational};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

/// A generator of its own, so that the curves never change.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> i64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from((self.0 >> 33) % limit).unwrap_or(0)
    }
}

/// Returns a rising curve of `count` irregular pieces, and the time and value at which they end.
fn irregular(count: usize, seed: u64) -> (Vec<Piece>, Rational, Rational) {
    let mut draw = Draw(seed);
    let (mut t, mut level) = (Rational::ZERO, Rational::ZERO);
    let mut pieces = Vec::with_capacity(count);
    for _ in 0..count {
        let at = level.clone();
        level += Rational::from(draw.below(4));
        let slope = Rational::ratio(draw.below(8), 2);
        pieces.push(Piece::new(t.clone(), at, level.clone(), slope.clone()));
        let width = Rational::ratio(1 + draw.below(6), 2);
        level += &width * &slope;
        t += width;
    }
    (pieces, t, level)
}

fn with_affine_tail(count: usize, seed: u64) -> Curve {
    let (mut pieces, t, level) = irregular(count - 1, seed);
    pieces.push(Piece::continuous(t, level, Rational::from(2)));
    Curve::ultimately_affine(pieces).expect("a curve")
}

fn with_periodic_tail(count: usize, seed: u64) -> Curve {
    let (pieces, length, increment) = irregular(count, seed);
    let period = Period { start: Rational::ZERO, length, increment };
    Curve::pseudo_periodic(pieces, period).expect("a curve")
}

/// Returns a minimum of `count` token buckets, none of which is redundant.
fn concave(count: i64) -> Curve {
    let buckets = (1..=count).map(|k| (Rational::from(k * k), Rational::ratio(1000, k)));
    Curve::token_buckets(buckets).expect("buckets")
}

/// Returns a maximum of `count` rate-latency curves, none of which is redundant.
fn convex(count: i64) -> Curve {
    let servers = (1..=count).map(|k| (Rational::from(1000 + k), Rational::from(k)));
    Curve::rate_latencies(servers).expect("servers")
}

fn by_segments(criterion: &mut Criterion) {
    for (name, make) in [
        ("affine tail", with_affine_tail as fn(usize, u64) -> Curve),
        ("periodic tail", with_periodic_tail),
    ] {
        let mut group = criterion.benchmark_group(format!("general, {name}"));
        group.sample_size(10);
        for count in [4_usize, 8, 16, 32, 64] {
            let (f, g) = (make(count, 1), make(count, 2));
            group.throughput(Throughput::Elements(count as u64));
            group.bench_function(BenchmarkId::new("convolution", count), |bencher| {
                bencher.iter(|| black_box(&f).convolution(black_box(&g)));
            });
            group.bench_function(BenchmarkId::new("deconvolution", count), |bencher| {
                bencher.iter(|| black_box(&f).deconvolution(black_box(&f)));
            });
        }
        group.finish();
    }
}

fn usual_shapes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("concave and convex");
    for count in [1_i64, 4, 16, 64] {
        let (f, g) = (concave(count), convex(count));
        group.bench_function(BenchmarkId::new("convolution of convex", count), |bencher| {
            bencher.iter(|| black_box(&g).convolution(black_box(&g)));
        });
        group.bench_function(BenchmarkId::new("deconvolution", count), |bencher| {
            bencher.iter(|| black_box(&f).deconvolution(black_box(&g)));
        });
        group.bench_function(BenchmarkId::new("horizontal deviation", count), |bencher| {
            bencher.iter(|| black_box(&f).horizontal_deviation(black_box(&g)));
        });
    }
    group.finish();
}

fn staircases(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("staircases of equal rate");
    group.sample_size(10);
    for period in [5_i64, 11, 23, 47] {
        let stair = |length: i64| Curve::staircase(length, length).expect("a staircase");
        let (f, g) = (stair(period), stair(period + 1));
        group.bench_function(BenchmarkId::new("convolution", period), |bencher| {
            bencher.iter(|| black_box(&f).convolution(black_box(&g)));
        });
        group.bench_function(BenchmarkId::new("minimum", period), |bencher| {
            bencher.iter(|| black_box(&f).minimum(black_box(&g)));
        });
    }
    group.finish();
}

criterion_group!(benches, by_segments, usual_shapes, staircases);
criterion_main!(benches);
