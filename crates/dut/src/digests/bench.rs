//! The interfaces, the control channel and the clock of a measurement of digests.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use entities::{Data, DataType};
use p4runtime::proto::v1;

use super::config::Config;
use super::control::Control;
use super::packets::Packets;
use super::tally::Tally;
use crate::clock::{Clock, nanos};
use crate::error::DutError;
use crate::outlet::Outlet;

/// The time between two packets.
const SPACING: Duration = Duration::from_millis(1);
/// The time for which further digests are awaited after the last one. Meanwhile, acknowledgements
/// reach the switch.
const SETTLES: Duration = Duration::from_millis(100);

/// The time at which lists of digests are acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acknowledge {
    /// Lists are acknowledged as soon as they arrive.
    AtOnce,
    /// Lists are acknowledged later by [`Bench::acknowledge_all`], or never.
    Later,
}

/// The settings of a pass, in which each packet is sent once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    /// The number of packets that are sent in the pass.
    pub(super) packets: usize,
    pub(super) acknowledge: Acknowledge,
    /// The time for which missing digests are awaited after the last packet was sent.
    pub(super) patience: Duration,
}

/// The interfaces, the control channel and the clock of a measurement of digests.
pub(super) struct Bench<'a, C> {
    control: &'a mut C,
    outlets: Vec<Outlet>,
    packets: &'a Packets,
    /// The position of the packet that emits a digest, by the contents of the digest.
    emitters: HashMap<&'a Data, usize>,
    config: Config,
    /// The lists of digests that are not acknowledged yet.
    open: Vec<v1::DigestList>,
    stop: &'a AtomicBool,
    clock: &'a dyn Clock,
}

impl<'a, C: Control> Bench<'a, C> {
    pub(super) fn new(
        control: &'a mut C,
        outlets: Vec<Outlet>,
        packets: &'a Packets,
        stop: &'a AtomicBool,
        clock: &'a dyn Clock,
    ) -> Self {
        let emitters = packets.emitting.iter().enumerate();
        let emitters = emitters.map(|(position, one)| (&one.digest, position)).collect();
        let (config, open) = (Config::default(), Vec::new());
        Self { control, outlets, packets, emitters, config, open, stop, clock }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) async fn configure(&mut self, config: Config) -> Result<(), DutError> {
        self.config = config;
        self.control.configure(config).await
    }

    /// Discards the lists that were not acknowledged, so that they never will be.
    pub(super) fn forget_lists(&mut self) {
        self.open.clear();
    }

    /// Acknowledges all lists that have arrived, and waits until the acknowledgements should have
    /// reached the switch.
    pub(super) async fn acknowledge_all(&mut self) -> Result<(), DutError> {
        for list in self.open.drain(..) {
            self.control.acknowledge(&list);
        }
        self.pause(SETTLES).await
    }

    /// Waits for some time, and ignores digests that arrive meanwhile.
    pub(super) async fn pause(&mut self, time: Duration) -> Result<(), DutError> {
        let end = self.clock.now().0.saturating_add(nanos(time));
        let mut forgotten = Tally::default();
        while self.clock.now().0 < end && !self.is_stopped() {
            self.look(&mut forgotten, Acknowledge::Later).await?;
            self.clock.idle();
        }
        Ok(())
    }

    /// Sends each packet once, and records when the digests arrive.
    pub(super) async fn pass(&mut self, pass: Pass) -> Result<Tally, DutError> {
        let emitting = self.packets.emitting.get(..pass.packets).unwrap_or(&self.packets.emitting);
        let mut tally = Tally::default();
        let begin = self.clock.now();
        let mut complete = None;
        while !self.is_stopped() {
            let now = self.clock.now();
            let due = begin.0 + nanos(SPACING) * tally.len() as u64;
            match emitting.get(tally.len()) {
                Some(one) if now.0 >= due => {
                    let outlet = Outlet::find(&mut self.outlets, self.packets.port)?;
                    let at = self.clock.now();
                    if outlet.send(&one.packet)? {
                        tally.sent(at);
                    }
                }
                Some(_) => {}
                None => {
                    let last = tally.last_sent().unwrap_or(begin).0;
                    let is_over = now.0 >= last.saturating_add(nanos(pass.patience));
                    if complete.is_none() && (tally.waiting() == 0 || is_over) {
                        complete = Some(now);
                    }
                }
            }
            if complete.is_some_and(|complete| now.0 >= complete.0 + nanos(SETTLES)) {
                break;
            }
            self.look(&mut tally, pass.acknowledge).await?;
            self.clock.idle();
        }
        Ok(tally)
    }

    /// Checks once, without waiting, for lists of digests that have arrived, and records their
    /// digests.
    async fn look(&mut self, tally: &mut Tally, acknowledge: Acknowledge) -> Result<(), DutError> {
        let mut lists = Vec::new();
        self.control.look(&mut lists).await?;
        let now = self.clock.now();
        for list in lists {
            tally.list(list.data.len(), self.config.max_list_size);
            for data in &list.data {
                tally.arrived(self.emitter(&self.packets.data_type, data), now);
            }
            match acknowledge {
                Acknowledge::AtOnce => self.control.acknowledge(&list),
                Acknowledge::Later => self.open.push(list),
            }
        }
        Ok(())
    }

    /// Returns the position of the packet that emits a digest with these contents; `None` if no
    /// packet does.
    fn emitter(&self, data_type: &DataType, data: &v1::P4Data) -> Option<usize> {
        let data = p4runtime::read_data(data_type, data).ok()?;
        self.emitters.get(&data).copied()
    }
}
