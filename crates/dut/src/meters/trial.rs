//! The trials of one meter: how it is configured, and what packets show of its buckets.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{Bucket, ByColour, Colour, Control, Found, MeasuredMeter, Offered, Settings};
use super::{TokenUnit, Treatment};
use crate::error::DutError;
use crate::live::Outcome;
use crate::stream::{Classify, Paced, PacketStream, Passage, Seen};

/// The rate of packets that is offered, divided by the rate that a bucket lets pass.
const OVERLOAD: f64 = 4.0;
/// The size of a bucket, as the number of seconds in which it gets that many tokens.
const DEPTH: f64 = 0.1;
/// The rate and the burst of a bucket that is out of reach, divided by those of the bucket that is
/// measured.
const OUT_OF_REACH: u64 = 64;
/// The number of trials of each configuration. A pause of this program or of the switch may spoil
/// one.
const ROUNDS: usize = 3;
/// The greatest share of packets that may be lost without a meter.
const LOST: f64 = 0.001;
/// The greatest share of packets that may be lost without a meter if the meter is to be measured.
const WRONG: f64 = 0.1;
/// The packets per second below which the rate is not halved.
const SLOWEST: f64 = 1_000.0;

/// The algorithm of a meter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Two rates and three colours (RFC 2698).
    TwoRates,
    /// One rate and three colours (RFC 2697).
    OneRate,
    /// One rate and two colours: the packets that are not green are red. So are the drop bands of
    /// OpenFlow.
    TwoColours,
}

/// The configuration of a meter, in tokens and tokens per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The committed rate.
    pub committed_rate: u64,
    /// The committed burst.
    pub committed_burst: u64,
    /// The peak rate.
    pub peak_rate: u64,
    /// The peak burst.
    pub peak_burst: u64,
}

/// A bucket of a meter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The bucket of green packets.
    Committed,
    /// The bucket of packets that are not red.
    Peak,
    /// The bucket of green packets, while the peak rate and burst are twice as high.
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

/// A bucket that a trial shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// The bucket.
    pub level: Level,
    /// Its rate and burst.
    pub bucket: Bucket,
    /// Whether packets of each colour have passed it, in the order of [`Colour::ALL`].
    pub passes: [bool; 3],
    /// Whether packets of each colour were refused by it.
    pub refuses: [bool; 3],
}

/// A trial: a configuration, and the buckets that it shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The configuration of the meter.
    pub config: Config,
    /// Whether packets of each colour can occur, in the order of [`Colour::ALL`].
    pub possible: [bool; 3],
    /// The buckets.
    pub judged: Vec<Judged>,
}

/// Returns the trials that show buckets of a meter if packets leave as `outcomes` says, for a
/// bucket with `config.committed_rate` and `config.committed_burst`. There is none if the colours
/// of no bucket can be distinguished.
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

/// Returns whether packets that pass a bucket arrive, and differ from all others, and whether some
/// of those that are refused by it differ from all that are not.
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

/// Returns what packets show of a bucket.
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
    /// Configures the meter. Without a configuration, it lets all packets pass.
    async fn configure(&mut self, config: Option<Config>) -> Result<(), DutError>;

    /// Keeps the control channel alive while packets are sent.
    fn tend(&mut self) -> Result<(), DutError>;
}

/// A meter, and the packets that pass it.
pub(super) struct Subject<'a> {
    pub(super) name: String,
    pub(super) unit: TokenUnit,
    pub(super) algorithm: Algorithm,
    /// The number of tokens of which rates and bursts are multiples.
    pub(super) granule: u64,
    /// The port by which the packets enter the switch.
    pub(super) port: u32,
    pub(super) packet: &'a [u8],
    pub(super) outcomes: &'a ByColour,
}

/// Makes the trials of one meter. Returns `None` if the measurement was stopped before the first
/// one ended.
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

/// The packets of a meter, which are sent again and again.
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
