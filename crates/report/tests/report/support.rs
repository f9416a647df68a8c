//! Makes results from a small model of a controller, which is a FIFO queue for all switches that is
//! served at a fixed rate. Below this rate round-trip times are those of the service. Above it they
//! grow with the queue, as in the P4RCProbe paper.

use std::collections::BTreeMap;

use probe::outcome::{
    Completion, ControllerFacts, Counts, HandshakeOutcome, Histograms, InWindow, Latency, Point,
    Rates, RunResult, SCHEMA, SCHEMA_VERSION, Saturated, SearchOutcome, Series, SwitchOutcome,
    ThresholdOutcome, Trial, Usage, Verdict,
};
use provenance::{Build, Host, Provenance};
use statistics::Estimate;

/// The parameters of a single point.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) protocol: &'static str,
    pub(crate) switches: u32,
    /// The number of packet-ins per second and switch.
    pub(crate) rate: f64,
    /// The number of packet-ins that the controller answers per second.
    pub(crate) capacity: f64,
    /// The median time of an answer without load, in seconds.
    pub(crate) service_s: f64,
    pub(crate) warm_up_s: u32,
    pub(crate) measure_s: u32,
    pub(crate) drain_s: u32,
    pub(crate) sample_s: f64,
    pub(crate) repetitions: u32,
    /// The number of times that are drawn per sample interval. Each represents an equal share of
    /// the packets.
    pub(crate) draws: u64,
    /// The CPU load in percent of one core per 1,000 answers per second.
    pub(crate) cpu_per_thousand: f64,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            protocol: "openflow13",
            switches: 16,
            rate: 500.0,
            capacity: 24_000.0,
            service_s: 420e-6,
            warm_up_s: 2,
            measure_s: 20,
            drain_s: 2,
            sample_s: 0.25,
            repetitions: 1,
            draws: 20,
            cpu_per_thousand: 7.0,
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014), a small generator that produces the same numbers from a
/// seed on every machine.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number between 0 and 1, without the ends.
    fn share(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Returns a standard normal number (Box and Muller).
    fn normal(&mut self) -> f64 {
        (-2.0 * self.share().ln()).sqrt() * (std::f64::consts::TAU * self.share()).cos()
    }

    /// Returns a number near one with the given deviation.
    fn about_one(&mut self, deviation: f64) -> f64 {
        (1.0 + deviation * self.normal()).max(0.0)
    }
}

/// Returns a point with all trials of a scenario.
pub(crate) fn point(scenario: &Scenario) -> Point {
    let trials: Vec<Trial> =
        (1..=scenario.repetitions).map(|repetition| trial(scenario, repetition)).collect();
    let offered = scenario.rate * f64::from(scenario.switches);
    Point {
        protocol: scenario.protocol.to_owned(),
        mode: "open".to_owned(),
        switches: scenario.switches,
        rate_per_switch: Some(scenario.rate),
        offered_rate: Some(offered),
        window: None,
        summary: probe::summary::summarize(&trials),
        trials,
    }
}

fn trial(scenario: &Scenario, repetition: u32) -> Trial {
    let seed = 1_000 + u64::from(repetition);
    let key =
        u64::from(scenario.switches) << 32 ^ scenario.rate.to_bits() ^ u64::from(repetition) << 7;
    let mut noise = Noise(key ^ scenario.protocol.len() as u64);
    let capacity = scenario.capacity * noise.about_one(0.012);
    let n = f64::from(scenario.switches);
    let offered = scenario.rate * n;
    let step = scenario.sample_s;
    let (from, to) =
        (f64::from(scenario.warm_up_s), f64::from(scenario.warm_up_s + scenario.measure_s));
    let end = to + f64::from(scenario.drain_s);
    let steps = (end / step).round() as usize;
    let seconds = end.ceil() as usize;

    let mut histograms = Histograms::default();
    let mut series = Series {
        measure_from_s: from,
        measure_to_s: to,
        sent_per_s: vec![0; seconds],
        received_per_s: vec![0; seconds],
        rules_per_s: vec![0; seconds],
        sample_interval_s: step,
        ..Series::default()
    };
    let weights: Vec<f64> = (0..scenario.switches).map(|_| noise.about_one(0.02)).collect();
    let mut per_switch: Vec<SwitchOutcome> = (0..scenario.switches)
        .map(|index| SwitchOutcome { index, id: 1 + u64::from(index), ..SwitchOutcome::default() })
        .collect();
    let mut counts = Counts::default();
    let (mut queue, mut received_in_window) = (0.0_f64, 0.0_f64);
    let (mut sent_rest, mut received_rest) = (0.0, 0.0);
    let mut cpu = Vec::new();
    for i in 0..steps {
        let time = i as f64 * step;
        let active = time < to;
        let measured = time >= from && active;
        let arrivals = if active { offered * step } else { 0.0 };
        let served = (queue + arrivals).min(capacity * step * noise.about_one(0.015));
        // An arrival waits until the packets before it have been answered.
        let wait = (queue + arrivals / 2.0 - served / 2.0).max(0.0) / capacity;
        queue = queue + arrivals - served;
        let second = (time as usize).min(seconds - 1);
        let whole = |value: f64, rest: &mut f64| {
            let sum = value + *rest;
            *rest = sum.fract();
            sum as u64
        };
        let (sent, received) = (whole(arrivals, &mut sent_rest), whole(served, &mut received_rest));
        series.sent_per_s[second] += sent;
        series.received_per_s[second] += received;
        series.rules_per_s[second] += received / 4;
        if measured {
            counts.due += sent;
            counts.sent += sent;
            received_in_window += served;
            counts.rules_installed += received / 4;
            counts.packet_outs += received;
            let draws = sent.clamp(1, scenario.draws);
            for draw in 0..draws {
                let weight = sent / draws + u64::from(draw < sent % draws);
                let load = (offered / capacity).min(0.97);
                let service =
                    scenario.service_s * (0.45 * noise.normal()).exp() / (1.0 - load).sqrt();
                let rare = if noise.share() > 0.998 { 6.0 } else { 1.0 };
                let rtt = wait * noise.about_one(0.04) + service * rare;
                let late = 4_000.0 * (0.9 * noise.normal()).exp()
                    + if noise.share() > 0.995 { 60_000.0 } else { 0.0 };
                record(&mut histograms.rtt_from_sent, rtt * 1e9, weight);
                record(&mut histograms.rtt_from_due, rtt * 1e9 + late, weight);
                record(&mut histograms.send_lag, late, weight);
                // The probe sleeps half of the time.
                record(&mut histograms.read_delay, if late > 4_000.0 { late } else { 1.0 }, weight);
            }
        }
        let waiting = queue + served / step * scenario.service_s;
        series.outstanding.push(waiting as u64);
        for (switch, weight) in per_switch.iter_mut().zip(&weights) {
            let own = waiting / n * weight * noise.about_one(0.015);
            if scenario.switches <= 1_000 {
                switch.outstanding.push(own.round() as u32);
            }
        }
        let controller = served / step / 1_000.0 * scenario.cpu_per_thousand + 6.0;
        cpu.push(controller * noise.about_one(0.06));
        series.controller_cpu_percent.push((i > 0).then_some(controller * noise.about_one(0.06)));
        series
            .controller_rss_bytes
            .push(Some(300_000_000 + (queue * 900.0) as u64 + i as u64 * 40_000));
        series
            .probe_cpu_percent
            .push((i > 0).then_some((offered / 1_000.0 * 0.35 + 1.5) * noise.about_one(0.1)));
    }
    counts.answered = counts.due.saturating_sub(queue as u64);
    counts.lost = counts.due - counts.answered;
    let measured_s = f64::from(scenario.measure_s);
    for (switch, weight) in per_switch.iter_mut().zip(&weights) {
        let of = |total: u64| (total as f64 / n * weight) as u64;
        switch.counts = Counts {
            due: counts.due / u64::from(scenario.switches),
            sent: counts.sent / u64::from(scenario.switches),
            answered: of(counts.answered),
            lost: of(counts.lost),
            ..Counts::default()
        };
        switch.sent_rate = offered / n;
        switch.received_rate = received_in_window / measured_s / n * weight;
        switch.rtt_mean_ns = Some(histograms.rtt_from_due.mean() * noise.about_one(0.01));
        switch.rtt_max_ns = Some(histograms.rtt_from_due.max());
        if scenario.switches <= 1_000 {
            switch.sent_per_s = vec![scenario.rate as u32; seconds];
            switch.received_per_s = vec![switch.received_rate as u32; seconds];
        }
    }
    let overloaded = offered > capacity * 1.001;
    let usage = |values: &[f64], rss: u64| Usage {
        cpu_percent: values.iter().sum::<f64>() / values.len() as f64,
        cpu_percent_max: values.iter().copied().fold(0.0, f64::max),
        rss_bytes_max: rss,
        samples: values.len() as u32,
    };
    let probe: Vec<f64> = series.probe_cpu_percent.iter().flatten().copied().collect();
    Trial {
        repetition,
        seed,
        completion: Completion::Complete,
        measured_s,
        counts,
        rates: Rates {
            offered,
            sent: counts.sent as f64 / measured_s,
            received: received_in_window / measured_s,
            rules: counts.rules_installed as f64 / measured_s,
            loss: counts.lost as f64 / counts.sent.max(1) as f64,
        },
        rtt_from_due: Latency::of(&histograms.rtt_from_due),
        rtt_from_sent: Latency::of(&histograms.rtt_from_sent),
        send_lag: Latency::of(&histograms.send_lag),
        read_delay: Latency::of(&histograms.read_delay),
        in_window: InWindow {
            left: counts.sent,
            answers: received_in_window as u64,
            answers_to_earlier: 0,
            rtt_from_sent: Latency::of(&histograms.rtt_from_sent),
            undisturbed_answers: received_in_window as u64,
            undisturbed_rtt_mean_ns: Some(histograms.rtt_from_sent.mean()),
            longest_gap_s: 0.01,
        },
        ranks: Vec::new(),
        fairness: statistics::jain_index(per_switch.iter().map(|s| s.counts.answered as f64)),
        controller_usage: Some(usage(&cpu[1..], 512 << 20)),
        probe_usage: usage(&probe, 48 << 20),
        verdict: if overloaded {
            Verdict {
                because: format!(
                    "packet-ins left on time (99 % within 60 µs of due), but {:.0} of {:.0} per second were answered and \
                     the number outstanding grew to {:.0}",
                    received_in_window / measured_s,
                    offered,
                    queue.max(1.0)
                ),
                ..Verdict::new(Saturated::Controller)
            }
        } else {
            Verdict {
                because: "every packet-in left on time and was answered".to_owned(),
                ..Verdict::new(Saturated::Neither)
            }
        },
        silence: None,
        pipelines: BTreeMap::new(),
        handshake: HandshakeOutcome {
            ready: scenario.switches,
            ready_at_end: Some(scenario.switches),
            wanted: scenario.switches,
            ready_after_s: Some(0.02 + 0.001 * n),
            stages: BTreeMap::from([("ready".to_owned(), scenario.switches)]),
            errors: BTreeMap::new(),
            why_zero: None,
        },
        notes: Vec::new(),
        series,
        per_switch,
        histograms,
    }
}

fn record(histogram: &mut hdrhistogram::Histogram<u64>, nanoseconds: f64, times: u64) {
    histogram.record_n(nanoseconds.max(1.0) as u64, times).expect("the histogram grows");
}

/// Returns a whole run of some points.
pub(crate) fn run(points: Vec<Point>) -> RunResult {
    RunResult {
        schema: SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        provenance: Provenance {
            planimeter_version: "0.1.0".to_owned(),
            build: None,
            started_at: "2025-11-21T09:00:00Z".to_owned(),
            elapsed_s: points.iter().flat_map(|p| &p.trials).map(|t| t.measured_s + 6.5).sum(),
            command: [
                "planimeter",
                "probe",
                "--config",
                "examples/onos.toml",
                "--threshold",
                "rtt.p99 < 5ms",
            ]
            .map(str::to_owned)
            .to_vec(),
            shares: Vec::new(),
            host: Host {
                hostname: "probe-1".to_owned(),
                kernel: "Linux 6.1.0".to_owned(),
                cpu_model: "Intel Xeon E5-2630 v4 @ 2.20GHz".to_owned(),
                cpus: 8,
                memory_bytes: 64 << 30,
            },
        },
        completion: Completion::Complete,
        configuration: [
            ("protocol", "openflow13"),
            ("seed", "1"),
            ("switches.count", "16"),
            ("traffic.mode", "open"),
            ("traffic.rate", "500.0"),
            ("timing.measure", "20s"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into(),
        controller: ControllerFacts {
            address: "192.0.2.10:6653".to_owned(),
            process: Some("process 4711 (java), over ssh".to_owned()),
        },
        points,
        search: None,
        thresholds: Vec::new(),
        notes: Vec::new(),
    }
}

/// Returns a run of one point with one trial.
pub(crate) fn single() -> RunResult {
    let mut result = run(vec![point(&Scenario { draws: 100, ..Scenario::default() })]);
    result.thresholds = vec![
        threshold("rtt.p99 < 5ms", Some(0.003_1), true),
        threshold("loss == 0", Some(0.0), true),
        threshold("controller.cpu < 50", Some(62.0), false),
    ];
    result
}

pub(crate) fn threshold(condition: &str, value: Option<f64>, held: bool) -> ThresholdOutcome {
    ThresholdOutcome {
        condition: condition.to_owned(),
        point: "openflow13, 16 switches, 500/s each".to_owned(),
        value,
        held,
        testable: true,
        remark: None,
    }
}

/// Returns the sweep of the P4RCProbe paper, section IV, with both protocols, three rates, six
/// numbers of switches and five repetitions.
pub(crate) fn sweep() -> RunResult {
    let mut points = Vec::new();
    for (protocol, capacity, service_s, cpu) in
        [("openflow13", 42_000.0, 1.6e-3, 35.0), ("p4runtime", 1_470.0, 8.0e-3, 150.0)]
    {
        for rate in [10.0, 50.0, 100.0] {
            for switches in [1, 2, 5, 10, 20, 50] {
                points.push(point(&Scenario {
                    protocol,
                    switches,
                    rate,
                    // More connections lower the rate of the controller a little.
                    capacity: capacity / (1.0 + 0.012 * f64::from(switches)),
                    service_s: service_s * (1.0 + 0.03 * f64::from(switches)),
                    warm_up_s: 2,
                    measure_s: 12,
                    drain_s: 3,
                    sample_s: 0.5,
                    repetitions: 5,
                    draws: 20,
                    cpu_per_thousand: cpu,
                }));
            }
        }
    }
    run(points)
}

/// Returns rates for one switch, as in Fig. 4 of the paper.
pub(crate) fn rates() -> RunResult {
    let rates = [1_000.0, 5_000.0, 10_000.0, 20_000.0, 30_000.0, 40_000.0, 45_000.0, 50_000.0];
    let of = |protocol, rate, capacity, cpu_per_thousand| {
        point(&Scenario {
            protocol,
            switches: 1,
            rate,
            capacity,
            repetitions: 5,
            cpu_per_thousand,
            measure_s: 10,
            ..Scenario::default()
        })
    };
    let mut points: Vec<Point> =
        rates.iter().map(|rate| of("openflow13", *rate, 42_000.0, 5.5)).collect();
    points.extend(
        [250.0, 500.0, 1_000.0, 1_250.0, 1_500.0, 1_750.0, 2_000.0]
            .map(|rate| of("p4runtime", rate, 1_471.0, 160.0)),
    );
    run(points)
}

/// Returns Fig. 7 of the paper, with 50 switches that send 50 packet-ins per second each for 60
/// seconds.
pub(crate) fn figure_7() -> RunResult {
    let scenario = Scenario {
        protocol: "p4runtime",
        switches: 50,
        rate: 50.0,
        capacity: 900.0,
        service_s: 8e-3,
        warm_up_s: 0,
        measure_s: 60,
        drain_s: 10,
        sample_s: 0.5,
        repetitions: 3,
        draws: 100,
        cpu_per_thousand: 220.0,
    };
    let mut result = run(vec![point(&scenario)]);
    result.points[0].trials[0]
        .notes
        .push("the controller was not restarted before this trial".to_owned());
    result.notes.push("the probe and the controller share a host".to_owned());
    result
}

/// Returns a search for the highest loss-free rate.
pub(crate) fn search() -> RunResult {
    let rates = [
        1_000.0, 32_000.0, 16_000.0, 24_000.0, 20_000.0, 22_000.0, 23_000.0, 8_000.0, 4_000.0,
        2_000.0,
    ];
    let points = rates.map(|rate| {
        point(&Scenario {
            switches: 1,
            rate,
            capacity: 22_500.0,
            measure_s: 5,
            ..Scenario::default()
        })
    });
    let mut result = run(points.to_vec());
    result.search = Some(SearchOutcome {
        loss_free_rate: Some(22_000.0),
        lossy_rate: Some(23_000.0),
        confidence: Some(0.95),
        loss_free_method: "Loss-free: at most 0 % lost and nothing piled up. At each end at least \
            six of six, or nine of ten, fresh trials agreed."
            .to_owned(),
        disturbed_trials: 0,
        maximum_received_rate: 22_480.0,
        maximum_at_rate: Some(32_000.0),
        knee_rate: Some(20_100.0),
        knee_low_rate: Some(16_000.0),
        knee_high_rate: Some(22_000.0),
        knee_method: "the offered rate with the most power, interpolated between 7 loss-free rates"
            .to_owned(),
        limited_by_probe: false,
    });
    result
}

/// Returns a run in which no switch became ready.
pub(crate) fn failed() -> RunResult {
    let mut result = run(vec![point(&Scenario { measure_s: 1, ..Scenario::default() })]);
    let reason =
        "no controller at 192.0.2.10:6653: connection refused by all of 16 attempts within 10 s"
            .to_owned();
    result.completion = Completion::Failed { reason: reason.clone() };
    let trial = &mut result.points[0].trials[0];
    *trial = Trial {
        repetition: 1,
        seed: 1_001,
        completion: Completion::Failed { reason: reason.clone() },
        measured_s: 0.0,
        counts: Counts::default(),
        rates: Rates::default(),
        rtt_from_due: Latency::default(),
        rtt_from_sent: Latency::default(),
        send_lag: Latency::default(),
        read_delay: Latency::default(),
        in_window: InWindow::default(),
        ranks: Vec::new(),
        fairness: None,
        series: Series::default(),
        per_switch: Vec::new(),
        controller_usage: None,
        probe_usage: Usage::default(),
        verdict: Verdict {
            because: "nothing was sent".to_owned(),
            ..Verdict::new(Saturated::Unknown)
        },
        silence: None,
        pipelines: BTreeMap::new(),
        handshake: HandshakeOutcome {
            ready: 0,
            ready_at_end: Some(0),
            wanted: 16,
            ready_after_s: None,
            stages: BTreeMap::from([("connecting".to_owned(), 16)]),
            errors: BTreeMap::from([("connect to 192.0.2.10:6653: Connection refused (os error 111)".to_owned(), 16)]),
            why_zero: Some("no switch got a connection: nothing listens at 192.0.2.10:6653. Is the controller running, and its OpenFlow port 6653?".to_owned()),
        },
        notes: Vec::new(),
        histograms: Histograms::default(),
    };
    result.points[0].summary = BTreeMap::<String, Estimate>::new();
    result.provenance.elapsed_s = 10.4;
    result
}

/// Returns a run that was cut short, with some switches missing.
pub(crate) fn partial() -> RunResult {
    let mut result = run(vec![point(&Scenario { repetitions: 2, ..Scenario::default() })]);
    let reason = "interrupted by the user during trial 2 of 5".to_owned();
    result.completion = Completion::Partial { reason: reason.clone() };
    let point = &mut result.points[0];
    point.trials[1].completion = Completion::Partial { reason };
    point.trials[1].handshake.ready = 14;
    point.trials[1].handshake.stages =
        BTreeMap::from([("ready".to_owned(), 14), ("hello sent, none received".to_owned(), 2)]);
    point.trials[1].counts.disconnects = 2;
    point.summary = probe::summary::summarize(&point.trials);
    result
}

/// Returns a run of a thousand switches for a minute.
pub(crate) fn thousand() -> RunResult {
    run(vec![point(&Scenario {
        switches: 1_000,
        rate: 20.0,
        capacity: 18_000.0,
        measure_s: 60,
        warm_up_s: 5,
        drain_s: 5,
        sample_s: 0.5,
        ..Scenario::default()
    })])
}

/// Returns a run in closed loop, where no rate is offered, with several numbers of switches.
pub(crate) fn closed() -> RunResult {
    let mut points = Vec::new();
    for switches in [1, 4, 16] {
        let mut closed = point(&Scenario {
            switches,
            rate: 1_500.0,
            repetitions: 3,
            measure_s: 5,
            ..Scenario::default()
        });
        closed.mode = "closed".to_owned();
        (closed.rate_per_switch, closed.offered_rate, closed.window) = (None, None, Some(1));
        points.push(closed);
    }
    run(points)
}

/// The number of strings in [`hostile`].
pub(crate) const HOSTILE_STRINGS: usize = 19;

/// Returns a run in which every string from outside could break a page or a terminal.
pub(crate) fn hostile() -> RunResult {
    let mut used = 0;
    let mut evil = || {
        let text = format!("<img src=x onerror=alert({used})> \u{1b}[2J\u{7}\u{202e}\"&");
        used += 1;
        text
    };
    let mut result = partial();
    result.provenance.planimeter_version = evil();
    result.provenance.build = Some(Build { commit: None, modified: None, profile: evil() });
    result.provenance.started_at = evil();
    result.provenance.command.push(evil());
    result.provenance.host.hostname = evil();
    result.provenance.host.kernel = evil();
    result.provenance.host.cpu_model = evil();
    result.configuration.insert(evil(), evil());
    result.controller.address = evil();
    result.controller.process = Some(evil());
    result.notes.push(evil());
    result.thresholds.push(threshold(&evil(), None, false));
    result.completion = Completion::Partial { reason: evil() };
    let trial = &mut result.points[0].trials[1];
    trial.notes.push(evil());
    trial.verdict.because = evil();
    trial.verdict.saturated = Saturated::Controller;
    trial.handshake.errors.insert(evil(), 2);
    trial.handshake.stages.insert(evil(), 2);
    trial.handshake.why_zero = Some(evil());
    assert_eq!(used, HOSTILE_STRINGS);
    result
}
