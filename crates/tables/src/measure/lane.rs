//! The thread of one core of a case: the loop that calls the table, first untimed, then timed, then
//! with one key at a time.

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::apply::{Hit, TableWorker};
use crate::digest::DigestLoop;
use crate::machine;

use super::Operation;
use super::counters::CacheMisses;
use super::samples::Samples;

/// One in this number of consecutive calls is timed. If calls are slow, each call is timed.
const STRIDE: usize = 16;
/// The number of unanswered digests at which a thread waits for the answers. It is lower than the
/// number at which digests are dropped.
const WINDOW: u64 = 512;
/// The largest number of calls with a single key in one turn.
const SINGLES: usize = 20_000;

/// The inputs of a thread that calls the table.
pub(super) struct Lane<'a> {
    pub(super) worker: &'a mut TableWorker,
    /// The numbers of the entries to access, in order. After the last number, the thread begins
    /// again with the first.
    pub(super) draws: &'a [u32],
    /// The index in `draws` of the first entry to access.
    pub(super) at: usize,
    pub(super) batch: usize,
    pub(super) operation: Operation,
    pub(super) announce: bool,
    pub(super) controller: Option<&'a DigestLoop>,
    /// Whether calls take so long that each can be timed.
    pub(super) slow: bool,
    /// A flag that is set to end the turn early.
    pub(super) interrupt: &'a AtomicBool,
}

/// The durations of the three phases of a turn.
#[derive(Clone, Copy)]
pub(super) struct Phases {
    pub(super) warm_up: Duration,
    pub(super) timed: Duration,
    pub(super) single: Duration,
}

/// The results of one thread in one turn. A turn is one repetition of one case.
#[derive(Default)]
pub(super) struct LaneTurn {
    /// The number of operations of the timed phase.
    pub(super) operations: u64,
    pub(super) wall: Duration,
    pub(super) processor: Duration,
    pub(super) call: Samples,
    pub(super) single: Samples,
    pub(super) misses: Option<u64>,
    /// The number of operations of all phases.
    pub(super) total: u64,
    /// The index in `draws` at which the next turn begins.
    pub(super) at: usize,
}

impl Lane<'_> {
    /// Runs one turn: the untimed phase, the timed phase, and the phase of calls with a single key.
    /// All threads of a case wait for each other at `start`.
    pub(super) fn turn(mut self, phases: Phases, start: &Barrier) -> LaneTurn {
        let mut turn = LaneTurn::default();
        let mut misses = CacheMisses::of_this_thread().ok();
        let mut now = vec![[0; 2]; self.batch];
        let mut next = now.clone();
        self.write_keys(&mut now);
        let stride = if self.slow { 1 } else { STRIDE };
        let mut call = |lane: &mut Self| {
            lane.write_keys(&mut next);
            if lane.announce {
                lane.worker.prefetch(&next);
            }
            lane.run(&now);
            std::mem::swap(&mut now, &mut next);
        };
        start.wait();
        let warm = Instant::now() + phases.warm_up;
        while Instant::now() < warm && !self.interrupted() {
            for _ in 0..stride {
                call(&mut self);
            }
            turn.total += (stride * self.batch) as u64;
        }
        self.drain();

        turn.call = Samples::with_capacity(1 << 12);
        if let Some(misses) = &mut misses {
            misses.start();
        }
        let (began, ran) = (Instant::now(), machine::thread_time());
        let end = began + phases.timed;
        loop {
            for _ in 1..stride {
                call(&mut self);
            }
            let before = Instant::now();
            call(&mut self);
            let after = Instant::now();
            turn.call.add(after - before);
            turn.operations += (stride * self.batch) as u64;
            if after >= end || self.interrupted() {
                break;
            }
        }
        self.drain();
        turn.wall = began.elapsed();
        turn.processor = machine::thread_time() - ran;
        turn.misses = misses.and_then(|mut misses| misses.stop().ok());
        turn.total += turn.operations;

        turn.single = Samples::with_capacity(SINGLES);
        let end = Instant::now() + phases.single;
        while turn.single.len() < SINGLES {
            let key = &mut now[..1];
            self.write_keys(key);
            let before = Instant::now();
            self.run(key);
            self.drain();
            let after = Instant::now();
            turn.single.add(after - before);
            turn.total += 1;
            if after >= end || self.interrupted() {
                break;
            }
        }
        turn.at = self.at;
        turn
    }

    /// Returns whether the turn must end early. The flag is written rarely, so reading it costs
    /// little compared with reading the clock.
    #[inline(always)]
    fn interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Writes the keys of the next entries to `keys`. The time that this takes is part of the
    /// measured work.
    #[inline(always)]
    fn write_keys(&mut self, keys: &mut [[u64; 2]]) {
        for key in keys {
            *key = [u64::from(self.draws[self.at]), 0];
            self.at += 1;
            if self.at == self.draws.len() {
                self.at = 0;
            }
        }
    }

    /// Calls the table once, with these keys.
    #[inline(always)]
    fn run(&mut self, keys: &[[u64; 2]]) {
        match self.operation {
            Operation::Update => {
                self.worker.apply(keys, &mut |_: usize, hit: &mut Hit<'_>| next_value(hit));
                if let Some(controller) = self.controller {
                    let counts = controller.counts();
                    let under_way = counts.sent.saturating_sub(counts.applied + counts.refused);
                    if under_way + keys.len() as u64 > WINDOW {
                        self.drain();
                    }
                }
            }
            Operation::Read => {
                let mut sum = 0_u64;
                self.worker.apply(keys, &mut |_: usize, hit: &mut Hit<'_>| {
                    sum += value(hit.parameters());
                });
                black_box(sum);
            }
        }
    }

    /// Waits until the controller has answered every digest that was sent, by any thread of the
    /// case.
    #[inline(always)]
    fn drain(&self) {
        if let Some(controller) = self.controller {
            loop {
                let counts = controller.counts();
                if counts.applied + counts.refused >= counts.sent {
                    break;
                }
                std::thread::yield_now();
            }
        }
    }
}

/// The size, in bytes, of the number in an entry that each update increments.
pub(super) const NUMBER: usize = 4;

/// Returns the number that an entry holds, given the entry's parameters. If they are shorter than
/// the number, returns their first byte.
#[inline(always)]
pub(super) fn value(parameters: &[u8]) -> u64 {
    match parameters.first_chunk::<NUMBER>() {
        Some(number) => u64::from(u32::from_le_bytes(*number)),
        None => parameters.first().map_or(0, |&byte| u64::from(byte)),
    }
}

/// Reads the number that the matched entry holds and writes the number plus one.
#[inline(always)]
pub(super) fn next_value(hit: &mut Hit<'_>) {
    let parameters = hit.parameters_mut();
    if let Some(number) = parameters.first_chunk_mut::<NUMBER>() {
        *number = u32::from_le_bytes(*number).wrapping_add(1).to_le_bytes();
    } else if let Some(byte) = parameters.first_mut() {
        *byte = byte.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_increments_the_number() {
        let next = |mut parameters: Vec<u8>| {
            next_value(&mut Hit::of(&mut parameters));
            parameters
        };
        assert_eq!(next(vec![255, 0, 0, 0, 9]), vec![0, 1, 0, 0, 9]);
        assert_eq!(next(vec![255, 7]), vec![0, 7]);
        assert_eq!(value(&[1, 1, 0, 0]), 257);
    }
}
