//! Measures the digests of a P4Runtime switch: how long after its packet a digest arrives, which
//! digests are lost or repeated, and whether acknowledgements have the effect that the
//! specification demands (P4Runtime 1.5, sections 9.8 and 16.3).
//!
//! Each packet makes the switch emit a digest with unique contents, by which the digest is matched
//! with its packet. One thread sends packets and serves the control channel, with one monotonic
//! clock.

mod bench;
mod config;
mod control;
mod packets;
mod tally;

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use p4runtime::proto::v1;
use statistics::Ordered;

use self::bench::{Acknowledge, Bench, Pass};
use self::control::{Control, P4RuntimeControl};
use crate::error::DutError;
use crate::live::{self, Control as _};
use crate::outlet::Outlet;
use crate::session::P4RuntimeChannel;
use crate::window::Operation;

pub use self::config::Config;
pub use self::packets::{Emitting, Packets, Traffic};
pub use self::tally::Counts;

/// The time, beyond `max_timeout_ns`, for which missing digests are awaited after the last packet
/// was sent.
const GRACE: Duration = Duration::from_secs(1);
/// The acknowledgement timeout while latencies are measured. It is so long that it cannot expire,
/// so a digest is only sent again after an acknowledgement.
const LONG: Duration = Duration::from_secs(60);
/// The acknowledgement timeout in the test of whether digests are repeated.
const SHORT: Duration = Duration::from_secs(1);
/// The time beyond [`SHORT`] after which the switch should again send digests that were not
/// acknowledged.
const MARGIN: Duration = Duration::from_millis(100);
/// The number of packets in the test of whether digests are repeated.
const REPEATED: usize = 16;
/// The digest configurations with which latencies are measured: each digest sent at once, digests
/// collected for some time, and digests collected up to a number.
const CONFIGS: [Config; 3] = [
    Config { max_timeout: Duration::ZERO, max_list_size: 1, ack_timeout: LONG },
    Config { max_timeout: Duration::from_millis(50), max_list_size: 10_000, ack_timeout: LONG },
    Config { max_timeout: Duration::from_secs(1), max_list_size: 16, ack_timeout: LONG },
];

/// The settings of the test of digests.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The number of rounds with each configuration.
    pub rounds: u32,
}

/// The measurement of the digests that a switch sent with one configuration.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The configuration of the digest.
    pub config: Config,
    /// The times from the sending of a packet to the arrival of its digest, one distribution per
    /// round.
    pub latencies: Vec<Ordered<Duration>>,
    /// The numbers of digests that arrived, were lost, or were repeated.
    pub counts: Counts,
}

/// The result of sending the same packets several times: when the switch sends their digests again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repetition {
    /// The acknowledgement timeout.
    pub ack_timeout: Duration,
    /// The number of different packets, each of which was sent four times.
    pub packets: u64,
    /// The number of digests that came again before the acknowledgement timeout although they had
    /// not been acknowledged. The switch should have suppressed them.
    pub too_early: u64,
    /// The number of digests that did not come again although the acknowledgement timeout was over.
    pub missing_after_timeout: u64,
    /// The number of digests that did not come again although they had been acknowledged.
    pub missing_after_acknowledgement: u64,
}

/// The measured digests of a switch.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The name of the digest in P4Info.
    pub name: String,
    /// The number of packets in a round.
    pub packets: usize,
    /// The measurements of digests, one for each configuration.
    pub deliveries: Vec<Delivery>,
    /// Whether the digests of packets that were sent again came again; `None` if this was not
    /// measured.
    pub repetition: Option<Repetition>,
    /// The reason why nothing was measured, as a sentence.
    pub lack: Option<String>,
}

/// The settings and the progress of a measurement.
pub(crate) struct Rounds<'a> {
    pub(crate) settings: &'a Settings,
    /// A flag that ends the measurement when it is set.
    pub(crate) stop: &'a AtomicBool,
    /// A callback that receives the number of completed steps, and the number of all steps.
    pub(crate) progress: &'a mut dyn FnMut(u64, u64),
}

/// Measures the digests of a P4Runtime switch. Deletes the entries of the measurement and restores
/// the configuration of the digest, also if the test fails.
pub(crate) async fn over_p4runtime(
    channel: &mut P4RuntimeChannel,
    traffic: &Traffic,
    rounds: Rounds<'_>,
) -> Result<Measured, DutError> {
    let packets = match &traffic.packets {
        Ok(packets) => packets,
        Err(lack) => {
            let mut measured = Measured::of(&traffic.name, 0);
            measured.lack = Some(lack.clone());
            return Ok(measured);
        }
    };
    live::check_program(&channel.client, &traffic.p4info).await?;
    let outlets = Outlet::open(&traffic.wires)?;
    let mut tables: Vec<u32> = traffic.beside.iter().map(|entry| entry.table_id).collect();
    tables.sort_unstable();
    tables.dedup();
    let client = channel.client.clone();
    let mut updates = live::P4RuntimeControl::read(client.clone(), tables).await?;
    let beside = traffic.beside.iter().filter(|entry| !updates.was_there(entry));
    let beside: Vec<v1::TableEntry> = beside.cloned().collect();
    let mut control = P4RuntimeControl::read(client, channel.stream(), traffic.digest_id).await?;
    let found = match updates.carry_out(Operation::Insert, &beside).await {
        Ok(()) => {
            let clock = Instant::now();
            let bench = Bench::new(&mut control, outlets, packets, rounds.stop, &clock);
            measure(bench, Measured::of(&traffic.name, packets.emitting.len()), rounds).await
        }
        Err(error) => Err(error),
    };
    let put_back = control.restore().await;
    let left = updates.restore().await?;
    put_back?;
    match left {
        0 => found,
        count => Err(DutError::NotRestored { count }),
    }
}

/// Measures all rounds, and then tests whether digests are repeated.
async fn measure<C: Control>(
    mut bench: Bench<'_, C>,
    mut measured: Measured,
    Rounds { settings, stop: _, progress }: Rounds<'_>,
) -> Result<Measured, DutError> {
    let steps = u64::from(settings.rounds) * CONFIGS.len() as u64 + 1;
    let mut done = 0;
    for config in CONFIGS {
        bench.configure(config).await?;
        let mut delivery = Delivery { config, latencies: Vec::new(), counts: Counts::default() };
        // The first round warms the caches of the switch and is not counted.
        for round in 0..=settings.rounds {
            let acknowledge = Acknowledge::AtOnce;
            let patience = config.max_timeout + GRACE;
            let pass = Pass { packets: measured.packets, acknowledge, patience };
            let tally = bench.pass(pass).await?;
            if bench.is_stopped() {
                return Ok(measured);
            }
            if round > 0 {
                delivery.latencies.push(Ordered::of(tally.latencies()));
                delivery.counts.add(tally.counts());
                done += 1;
                progress(done, steps);
            }
        }
        measured.deliveries.push(delivery);
    }
    measured.repetition = repetition(&mut bench).await?;
    progress(steps, steps);
    Ok(measured)
}

/// Tests whether the switch suppresses repeated digests. Sends the same packets four times: twice
/// in succession, then after the acknowledgement timeout, and then after an acknowledgement.
/// Returns `None` if the test was stopped.
async fn repetition<C: Control>(bench: &mut Bench<'_, C>) -> Result<Option<Repetition>, DutError> {
    let config = Config { max_timeout: Duration::ZERO, max_list_size: 1, ack_timeout: SHORT };
    bench.configure(config).await?;
    let awaited = Pass { packets: REPEATED, acknowledge: Acknowledge::Later, patience: GRACE };
    let first = bench.pass(awaited).await?;
    let again = bench.pass(Pass { patience: Duration::ZERO, ..awaited }).await?;
    bench.pause(SHORT + MARGIN).await?;
    bench.forget_lists();
    let after_timeout = bench.pass(awaited).await?;
    bench.acknowledge_all().await?;
    let after_acknowledgement = bench.pass(awaited).await?;
    Ok((!bench.is_stopped()).then(|| Repetition {
        ack_timeout: SHORT,
        packets: first.len() as u64,
        too_early: again.too_early(&first, SHORT),
        missing_after_timeout: after_timeout.waiting() as u64,
        missing_after_acknowledgement: after_acknowledgement.waiting() as u64,
    }))
}

impl Measured {
    fn of(name: &str, packets: usize) -> Self {
        let (deliveries, repetition, lack) = (Vec::new(), None, None);
        Self { name: name.to_owned(), packets, deliveries, repetition, lack }
    }
}

#[cfg(test)]
mod tests;
