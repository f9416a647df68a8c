//! The trials of one meter: how the meter is configured, and what the packets say about its token
//! buckets.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{Bucket, ByColour, Colour, Control, Found, MeasuredMeter, Offered, Settings};
use super::{TokenUnit, Treatment};
use crate::error::DutError;
use crate::live::Outcome;
use crate::stream::{Classify, Paced, PacketStream, Passage, Seen};

/// The ratio of the rate at which packets are sent to the rate that the measured bucket lets pass.
const OVERLOAD: f64 = 4.0;
/// The size of a bucket relative to its rate: the number of seconds in which the empty bucket
/// fills.
const DEPTH: f64 = 0.1;
/// The factor by which the rate and burst of a bucket that must never become empty exceed those of
/// the bucket that is measured.
const OUT_OF_REACH: u64 = 64;
/// The number of trials of each configuration. There are several because a pause of this program or
/// of the switch may spoil one.
const ROUNDS: usize = 3;
/// The greatest share of packets that may be lost, while no meter limits them, if the switch is to
/// count as forwarding them.
const LOST: f64 = 0.001;
/// The share of packets lost without a limiting meter above which the meter is not measured.
const WRONG: f64 = 0.1;
/// The packets per second below which the rate is not halved any further.
const SLOWEST: f64 = 1_000.0;

/// The algorithm by which a meter colours packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Two rates and three colours (RFC 2698).
    TwoRates,
    /// One rate and three colours (RFC 2697).
    OneRate,
    /// One rate and two colours: packets that are not green are red. The drop bands of OpenFlow
    /// work like this.
    TwoColours,
}

/// The configuration of a meter. Rates are in tokens per second, bursts in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The committed rate, in tokens per second.
    pub committed_rate: u64,
    /// The committed burst, in tokens.
    pub committed_burst: u64,
    /// The peak rate, in tokens per second.
    pub peak_rate: u64,
    /// The peak burst, in tokens.
    pub peak_burst: u64,
}

/// One of the token buckets of a meter, in one of the configurations in which it is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The committed bucket, which decides whether a packet is green, while the peak bucket never
    /// becomes empty.
    Committed,
    /// The peak bucket, which decides whether a packet is red.
    Peak,
    /// The committed bucket, while the peak bucket has only twice its rate and burst.
    BesidePeak,
}

impl Level {
    /// Returns the name that reports give the bucket.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Committed => "committed",
            Self::Peak => "peak",
            Self::BesidePeak => "committed, beside peak",
        }
    }
}

/// A bucket that can be measured in a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// The bucket of the meter.
    pub level: Level,
    /// The configured rate and burst.
    pub bucket: Bucket,
    /// Whether packets of each colour have passed the bucket, in the order of [`Colour::ALL`].
    pub passes: [bool; 3],
    /// Whether packets of each colour were refused by the bucket, in the order of `Colour::ALL`.
    pub refuses: [bool; 3],
}

/// A trial: a configuration of the meter, and the buckets that are measured with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The configuration of the meter.
    pub config: Config,
    /// Whether packets can get each colour in this configuration, in the order of [`Colour::ALL`].
    pub possible: [bool; 3],
    /// The buckets that are measured in the trial.
    pub judged: Vec<Judged>,
}

/// Returns the trials in which the buckets of a meter are measured.
///
/// A measured bucket has the rate and burst of `base`, or half of them. Buckets are left out if the
/// colours that they decide between cannot be told apart, because packets leave the switch as
/// `outcomes` says. If no bucket is left, there is no trial.
#[must_use]
pub fn settings(algorithm: Algorithm, base: Bucket, outcomes: &ByColour) -> Vec<Setting> {
    let whole = |number: f64| number.round().max(1.0) as u64;
    let [rate, burst] = [whole(base.rate), whole(base.burst)];
    let bucket = |rate: u64, burst: u64| Bucket { rate: rate as f64, burst: burst as f64 };
    let committed = |level, rate, burst, refuses| Judged {
        level,
        bucket: bucket(rate, burst),
        passes: [true, false, false],
        refuses,
    };
    let mut found = match algorithm {
        Algorithm::TwoRates => {
            let alone = Setting {
                config: Config {
                    committed_rate: rate,
                    committed_burst: burst,
                    peak_rate: rate.saturating_mul(OUT_OF_REACH),
                    peak_burst: burst.saturating_mul(OUT_OF_REACH),
                },
                possible: [true, true, false],
                judged: vec![committed(Level::Committed, rate, burst, [false, true, false])],
            };
            let [half_rate, half_burst] = [rate, burst].map(|number| number.div_ceil(2));
            let peak = Judged {
                level: Level::Peak,
                bucket: bucket(rate, burst),
                passes: [true, true, false],
                refuses: [false, false, true],
            };
            let both = Setting {
                config: Config {
                    committed_rate: half_rate,
                    committed_burst: half_burst,
                    peak_rate: rate,
                    peak_burst: burst,
                },
                possible: [true; 3],
                judged: vec![
                    peak,
                    committed(Level::BesidePeak, half_rate, half_burst, [false, true, false]),
                ],
            };
            vec![alone, both]
        }
        Algorithm::OneRate | Algorithm::TwoColours => vec![Setting {
            config: Config {
                committed_rate: rate,
                committed_burst: burst,
                peak_rate: rate,
                peak_burst: burst,
            },
            possible: [true, algorithm == Algorithm::OneRate, true],
            judged: vec![committed(Level::Committed, rate, burst, [false, true, true])],
        }],
    };
    for setting in &mut found {
        let possible = setting.possible;
        setting.judged.retain(|judged| is_shown(judged, possible, outcomes));
    }
    found.retain(|setting| !setting.judged.is_empty());
    found
}

/// Returns whether packets reveal what a bucket does with them.
///
/// Each colour of packets that the bucket passes must leave the switch by a connected port, and no
/// other colour may leave in the same way. At least one colour of packets that the bucket refuses
/// must leave, or be dropped, in a way in which only refused packets do.
fn is_shown(judged: &Judged, possible: [bool; 3], ByColour(outcomes): &ByColour) -> bool {
    let colours = || Colour::ALL.into_iter().filter(|colour| possible[*colour as usize]);
    let outcome = |colour: Colour| &outcomes[colour as usize];
    // Whether all colours with the outcome of a colour are among some colours.
    let is_certain = |colour: Colour, among: &[bool; 3]| {
        colours().all(|other| outcome(other) != outcome(colour) || among[other as usize])
    };
    let mut passing = colours().filter(|colour| judged.passes[*colour as usize]);
    let mut refused = colours().filter(|colour| judged.refuses[*colour as usize]);
    passing.all(|colour| *outcome(colour) != Outcome::Unseen && is_certain(colour, &judged.passes))
        && refused.any(|colour| is_certain(colour, &judged.refuses))
}

/// Returns, for each packet, whether its arrival or loss shows that a bucket passed it or refused
/// it.
pub(super) fn treatments(
    passages: &[Passage],
    setting: &Setting,
    judged: &Judged,
    ByColour(outcomes): &ByColour,
) -> Vec<Offered> {
    let treatment = |passage: &Passage| {
        let is_like = |outcome: &Outcome| match passage.arrival {
            // The classes of arrivals are the positions of the outcomes that they are like.
            Some(arrival) => {
                arrival.class.is_some_and(|class| outcomes.get(class) == Some(outcome))
            }
            None => *outcome == Outcome::Unseen,
        };
        let mut colours = Colour::ALL.into_iter().filter(|colour| {
            setting.possible[*colour as usize] && is_like(&outcomes[*colour as usize])
        });
        let Some(first) = colours.next() else { return Treatment::Unknown };
        let rest: Vec<Colour> = colours.collect();
        let all =
            |is: &[bool; 3]| is[first as usize] && rest.iter().all(|colour| is[*colour as usize]);
        match passage.arrival {
            Some(arrival) if all(&judged.passes) => Treatment::Passed { arrived: arrival.at },
            _ if all(&judged.refuses) => Treatment::Refused,
            _ => Treatment::Unknown,
        }
    };
    let offered = |passage: &Passage| Offered { sent: passage.sent, treatment: treatment(passage) };
    passages.iter().map(offered).collect()
}

/// A meter whose configuration this program changes.
pub(super) trait Metering {
    /// Configures the meter. With `None`, the meter lets all packets pass.
    async fn configure(&mut self, config: Option<Config>) -> Result<(), DutError>;

    /// Keeps the control channel alive while packets are sent.
    fn tend(&mut self) -> Result<(), DutError>;
}

/// A meter that is measured, with the packets that pass it.
pub(super) struct Subject<'a> {
    pub(super) name: String,
    pub(super) unit: TokenUnit,
    pub(super) algorithm: Algorithm,
    /// The number of tokens of which every configured rate and burst must be a multiple.
    pub(super) granule: u64,
    /// The port by which the packets enter the switch.
    pub(super) port: u32,
    pub(super) packet: &'a [u8],
    pub(super) outcomes: &'a ByColour,
}

/// Makes all trials of one meter. Returns `None` if the measurement was stopped before the first
/// trial ended.
pub(super) async fn measure<M: Metering>(
    stream: &mut PacketStream,
    meter: &mut M,
    subject: Subject<'_>,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<Option<MeasuredMeter>, DutError> {
    let packets = [subject.packet.to_vec()];
    let class = |_: usize, port: u32, bytes: &[u8]| {
        let colour = subject.outcomes.0.iter().position(|outcome| outcome.is_like(port, bytes));
        colour.map_or(Seen::Astray, Seen::As)
    };
    let mut offer = Offer { stream, class: &class, port: subject.port, packets: &packets, stop };
    meter.configure(None).await?;
    let mut rate = settings.packets_per_second;
    let control = loop {
        let passages = offer.send(meter, rate, settings.time).await?;
        let is_green =
            |passage: &&Passage| passage.arrival.is_some_and(|arrival| arrival.class == Some(0));
        let lost = passages.len() - passages.iter().filter(is_green).count();
        let control = Control { sent: passages.len(), lost };
        if control.lost as f64 <= LOST * control.sent as f64 || rate / 2.0 < SLOWEST {
            break control;
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        rate /= 2.0;
    };
    let mut measured = MeasuredMeter {
        name: subject.name,
        unit: subject.unit,
        length: subject.packet.len(),
        offered: rate,
        control,
        found: Vec::new(),
    };
    if control.lost as f64 > WRONG * control.sent as f64 {
        return Ok(Some(measured));
    }
    let tokens = subject.unit.of_packet(subject.packet.len());
    let granule = subject.granule.max(1) as f64;
    let whole = |tokens: f64| (tokens / granule).round() * granule;
    let base = rate / OVERLOAD * tokens;
    let base = Bucket { rate: whole(base), burst: whole(base * DEPTH) };
    for setting in super::settings(subject.algorithm, base, subject.outcomes) {
        meter.configure(Some(setting.config)).await?;
        let mut rounds: Vec<Option<Found>> = vec![None; setting.judged.len()];
        for _ in 0..ROUNDS {
            // A bucket that is twice as large, or gets half the tokens, is full then, too.
            offer.pause(meter, Duration::from_secs_f64(2.0 * DEPTH)).await?;
            let passages = offer.send(meter, rate, settings.time).await?;
            if stop.load(Ordering::Relaxed) {
                break;
            }
            for (judged, round) in setting.judged.iter().zip(&mut rounds) {
                let offered = treatments(&passages, &setting, judged, subject.outcomes);
                let new = Found::new(judged.level, judged.bucket, tokens, &offered);
                *round = Some(round.map_or(new, |before| before.with(new)));
            }
        }
        measured.found.extend(rounds.into_iter().flatten());
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok((!measured.found.is_empty()).then_some(measured))
}

/// The packets that are sent through a meter again and again.
struct Offer<'a> {
    stream: &'a mut PacketStream,
    class: Classify<'a>,
    port: u32,
    packets: &'a [Vec<u8>],
    stop: &'a AtomicBool,
}

impl Offer<'_> {
    async fn send<M: Metering>(
        &mut self,
        meter: &mut M,
        rate: f64,
        time: Duration,
    ) -> Result<Vec<Passage>, DutError> {
        let count = (rate * time.as_secs_f64()) as usize;
        let paced =
            Paced { port: self.port, packets: self.packets, rate, count, class: self.class };
        self.stream.run(&paced, &mut || meter.tend(), self.stop).await
    }

    async fn pause<M: Metering>(&mut self, meter: &mut M, time: Duration) -> Result<(), DutError> {
        self.stream.pause(time, &mut || meter.tend()).await
    }
}
