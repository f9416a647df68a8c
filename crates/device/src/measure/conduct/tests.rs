//! Tests of campaigns on synthetic benches with known delays.

use super::*;
use crate::campaign::{
    Clock, ClockSource, Description, Device, Origin, Picoseconds, SCHEMA, Sample,
};
use crate::measure::function::{ActionKind, MatchKind};
use std::collections::BTreeMap;
use std::ops::Range;

const PLAN: &str = "
    device.kind = 'memory'
    functions.matches = ['port', 'tp-dst']
    functions.actions = ['output', 'set-nw-src']
    [campaign]
    repetitions = 8
    packets = 5
    warm-up = 2";

/// A bench whose baseline takes 1000 ps, tp-dst 10 ps and set-nw-src 100 ps, with a drift per run.
#[derive(Default)]
struct Synthetic {
    configured: Option<Task>,
    runs: u32,
    drift: i64,
    /// The rate in packets per second above which the device loses packets.
    limit: f64,
    altered: u64,
    fails_at: Option<u32>,
    /// The runs during which the machine takes twice as long for everything.
    slow: Vec<Range<u32>>,
    /// The runs during which another program competes for the device's processor. The fixed
    /// workload does not notice it.
    crowded: Vec<Range<u32>>,
    /// Whether the kernel records how long threads wait.
    observes_waiting: bool,
    waited: Duration,
}

impl Synthetic {
    fn is_slow(&self) -> bool {
        self.slow.iter().any(|runs| runs.contains(&self.runs))
    }
}

impl Bench for Synthetic {
    fn configure(&mut self, task: &Task) -> Result<(), BenchError> {
        self.configured = Some(task.clone());
        Ok(())
    }

    fn run(&mut self, order: &RunOrder) -> Result<RunRecord, BenchError> {
        let subject = self.configured.as_ref().and_then(Task::rule).expect("a rule");
        self.runs += 1;
        if self.fails_at == Some(self.runs) {
            let (device, problem) = ("synthetic".to_owned(), "it fell".to_owned());
            return Err(BenchError::Device { device, problem });
        }
        let matched = if subject.matched == MatchKind::TpDst { 10 } else { 0 };
        let action = if subject.action == ActionKind::SetNwSrc { 100 } else { 0 };
        let delay = 1000 + matched + action + self.drift * i64::from(self.runs);
        let delay = if self.is_slow() { delay * 2 } else { delay };
        let is_crowded = self.crowded.iter().any(|runs| runs.contains(&self.runs));
        let delay = if is_crowded { delay * 30 } else { delay };
        if is_crowded {
            self.waited += Duration::from_micros(3);
        }
        let lost = order.packets_per_second.is_some_and(|rate| rate > self.limit);
        let packets = order.packets - u32::from(lost);
        let samples =
            (0..packets).map(|packet| Sample { packet, delay: Picoseconds(delay) }).collect();
        let counts = Counts {
            sent: u64::from(order.packets),
            received: u64::from(packets),
            lost: u64::from(lost),
            ..Counts::default()
        };
        Ok(RunRecord {
            outcome: Outcome { counts, altered: self.altered, late: 0, samples },
            controls: Vec::new(),
            duration: Duration::from_micros(7),
            offered: order.packets_per_second,
            notes: Vec::new(),
        })
    }

    fn yardstick(&mut self) -> Option<Duration> {
        Some(Duration::from_micros(if self.is_slow() { 40 } else { 20 }))
    }

    fn contention(&mut self) -> Option<Contention> {
        let ran = Duration::ZERO;
        self.observes_waiting.then_some(Contention { waited: self.waited, ran, busy: ran })
    }
}

/// An observer that stops the campaign when it is called for this time.
struct StopAtCall(u32);

impl Watch for StopAtCall {
    fn step(&mut self, _: &Step) -> ControlFlow<()> {
        self.0 -= 1;
        if self.0 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// An observer that stops the campaign after some steps.
struct Stop(u64);

impl Watch for Stop {
    fn step(&mut self, step: &Step) -> ControlFlow<()> {
        if step.done >= self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn description(plan: &Plan) -> Description {
    Description {
        schema: SCHEMA.to_owned(),
        created: "2026-11-22T09:00:00Z".to_owned(),
        origin: Origin::Synthetic { truth: "sums".to_owned() },
        device: Device {
            name: plan.name.clone(),
            driver: plan.device.driver().to_owned(),
            details: BTreeMap::new(),
        },
        baseline: plan.baseline(),
        functions: plan.functions(),
        cells: plan.campaign_cells(),
        line_rate: None,
        clock: Clock { source: ClockSource::Program, tick: Picoseconds(1), reference: None },
        seed: 3,
        host: BTreeMap::new(),
    }
}

fn campaign(
    directory: &std::path::Path,
    plan: &Plan,
    bench: &mut Synthetic,
    steps: u64,
) -> (Result<Ending, ConductError>, Campaign) {
    watched_campaign(directory, plan, bench, &mut Stop(steps))
}

fn watched_campaign(
    directory: &std::path::Path,
    plan: &Plan,
    bench: &mut Synthetic,
    watch: &mut dyn Watch,
) -> (Result<Ending, ConductError>, Campaign) {
    let (mut writer, before) = if directory.join("campaign.json").exists() {
        Writer::resume(directory).expect("it can be read").expect("and written")
    } else {
        let description = description(plan);
        let writer = Writer::create(directory, &description).expect("a new directory");
        let (blocks, rates, notes) = (Vec::new(), Vec::new(), Vec::new());
        (writer, Campaign { description, blocks, rates, notes })
    };
    let mut time = before.blocks.len() as u64 * 100;
    let mut now = || {
        time += 100;
        time
    };
    let ending = conduct(plan, 3, &before, &mut writer, bench, &mut now, watch);
    drop(writer);
    (ending, Campaign::read(directory).expect("it can be read"))
}

fn no_programs(name: &str) -> Result<ir::Program, String> {
    Err(format!("{name}: none here"))
}

fn plan(text: &str) -> Plan {
    Plan::from_toml(text, &mut no_programs).expect("a plan")
}

#[test]
fn a_resumed_campaign_measures_nothing_twice() {
    let directory = tempfile::tempdir().expect("a directory");
    let plan = plan(PLAN);
    let mut bench = Synthetic::default();
    let (ending, part) = campaign(directory.path(), &plan, &mut bench, 13);
    assert!(matches!(ending, Ok(Ending::Interrupted)));
    assert_eq!(part.blocks.len(), 13);
    let (ending, whole) = campaign(directory.path(), &plan, &mut bench, 1000);
    assert!(matches!(ending, Ok(Ending::Complete)), "{ending:?}");
    assert_eq!((whole.blocks.len(), bench.runs), (32, 32));
    assert_eq!(whole.blocks[..13], part.blocks);
    let other = tempfile::tempdir().expect("a directory");
    let (_, uninterrupted) = campaign(other.path(), &plan, &mut Synthetic::default(), 1000);
    let order = |campaign: &Campaign| -> Vec<Visit> {
        campaign.blocks.iter().map(|measured| visit(&measured.block)).collect()
    };
    assert_eq!(order(&whole), order(&uninterrupted), "the order is the seed's");
    for (cell, delay) in [(0, 1000), (1, 1100), (2, 1010), (3, 1110)] {
        assert_eq!(whole.delays(CellId(cell)), vec![Picoseconds(delay); 40], "cell {cell}");
    }
}

#[test]
fn blocks_before_a_failure_are_kept() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut bench = Synthetic { fails_at: Some(6), ..Synthetic::default() };
    let (ending, campaign) = campaign(directory.path(), &plan(PLAN), &mut bench, 1000);
    let error = ending.expect_err("it fell").to_string();
    assert!(error.ends_with("synthetic: it fell"), "{error}");
    assert_eq!(campaign.blocks.len(), 5);
}

#[test]
fn a_device_that_does_something_else_is_not_measured() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut bench = Synthetic { altered: 2, ..Synthetic::default() };
    let (ending, campaign) = campaign(directory.path(), &plan(PLAN), &mut bench, 1000);
    let error = ending.expect_err("it is wrong").to_string();
    assert!(error.contains("of 5 packets 2 came out with other contents"), "{error}");
    assert!(campaign.blocks.is_empty());
}

#[test]
fn a_drift_is_reported_with_its_size() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut bench = Synthetic { drift: 2, ..Synthetic::default() };
    let (_, drifting) = campaign(directory.path(), &plan(PLAN), &mut bench, 1000);
    let remarks = stability(&drifting);
    // The drift is 2 ps per run. With four runs per repetition, it is 56 ps from the first
    // repetition to the eighth. The random position within a repetition changes this by up to 6 ps
    // at each end.
    let change = remarks[0].split('%').next().and_then(|text| text.rsplit_once('+'));
    let change: f64 = change.and_then(|(_, text)| text.trim().parse().ok()).expect("a percentage");
    assert!(remarks[0].starts_with("drift: the baseline's median (64 B, 1 rules)"), "{remarks:?}");
    assert!((4.4..6.8).contains(&change), "{remarks:?}");
    let directory = tempfile::tempdir().expect("a directory");
    let (_, steady) = campaign(directory.path(), &plan(PLAN), &mut Synthetic::default(), 1000);
    let remarks = stability(&steady);
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    assert!(remarks[0].contains("varies by ±0.00 %"), "{remarks:?}");
}

#[test]
fn blocks_of_a_slow_machine_are_measured_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let slow = vec![3..6, 20..21];
    let mut bench = Synthetic { slow: slow.clone(), ..Synthetic::default() };
    let (_, steady) = campaign(directory.path(), &plan(PLAN), &mut bench, 1000);
    for (cell, delay) in [(0, 1000), (1, 1100), (2, 1010), (3, 1110)] {
        assert_eq!(steady.delays(CellId(cell)), vec![Picoseconds(delay); 40], "cell {cell}");
    }
    // The three runs and the single run were slow. The run after each of the two periods is
    // repeated too, because the machine was slow right before it.
    assert_eq!(bench.runs, 32 + 6);
    let remarks = stability(&steady);
    assert!(remarks[0].starts_with("machine: 6 attempts at blocks were repeated"), "{remarks:?}");
    assert!(remarks[0].ends_with("and 0 of 32 were kept all the same"), "{remarks:?}");

    let directory = tempfile::tempdir().expect("a directory");
    let without = plan(&format!("{PLAN}\nsteady-machine = false"));
    let mut bench = Synthetic { slow, ..Synthetic::default() };
    let (_, campaign) = campaign(directory.path(), &without, &mut bench, 1000);
    assert_eq!(bench.runs, 32);
    let slower = (0..4).flat_map(|cell| campaign.delays(CellId(cell)));
    assert_eq!(slower.filter(|delay| delay.0 >= 2000).count(), 4 * 5);
    assert!(campaign.blocks.iter().all(|measured| measured.block.machine.is_none()));
}

#[test]
fn an_interrupt_is_obeyed_before_a_block_is_measured_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut bench = Synthetic { slow: vec![1..100; 1], ..Synthetic::default() };
    let mut watch = StopAtCall(2);
    let (ending, found) = watched_campaign(directory.path(), &plan(PLAN), &mut bench, &mut watch);
    assert!(matches!(ending, Ok(Ending::Interrupted)), "{ending:?}");
    assert_eq!((bench.runs, found.blocks.len()), (1, 1));
}

#[test]
fn blocks_beside_a_competing_program_are_measured_again() {
    let steady = |cell: u32, campaign: &Campaign| {
        let delay = [1000, 1100, 1010, 1110][cell as usize];
        assert_eq!(campaign.delays(CellId(cell)), vec![Picoseconds(delay); 40], "cell {cell}");
    };
    // The fixed workload takes as long as ever, but the medians are thirty times those of the
    // earlier blocks.
    let directory = tempfile::tempdir().expect("a directory");
    let mut bench =
        Synthetic { crowded: std::iter::once(10..14).collect(), ..Synthetic::default() };
    let (_, campaign) = self::campaign(directory.path(), &plan(PLAN), &mut bench, 1000);
    (0..4).for_each(|cell| steady(cell, &campaign));
    assert_eq!(bench.runs, 32 + 4);
    // The first blocks of the cells cannot be compared with others, but their threads wait.
    let directory = tempfile::tempdir().expect("a directory");
    let crowded: Vec<Range<u32>> = std::iter::once(1..4).collect();
    let mut bench =
        Synthetic { crowded: crowded.clone(), observes_waiting: true, ..Synthetic::default() };
    let (_, campaign) = self::campaign(directory.path(), &plan(PLAN), &mut bench, 1000);
    (0..4).for_each(|cell| steady(cell, &campaign));
    assert_eq!(bench.runs, 32 + 3);
    // Without that record, such blocks are kept and counted as disturbed.
    let directory = tempfile::tempdir().expect("a directory");
    let mut bench = Synthetic { crowded, ..Synthetic::default() };
    let (_, campaign) = self::campaign(directory.path(), &plan(PLAN), &mut bench, 1000);
    assert_eq!(bench.runs, 32);
    assert_eq!(campaign.disturbances().map(|found| (found.again, found.kept)), Some((0, 3)));
}

#[test]
fn the_wait_for_a_machine_that_stays_slow_is_bounded() {
    let directory = tempfile::tempdir().expect("a directory");
    let slow = std::iter::once(8..u32::MAX).collect();
    let mut bench = Synthetic { slow, ..Synthetic::default() };
    let (ending, campaign) = campaign(directory.path(), &plan(PLAN), &mut bench, 1000);
    assert!(matches!(ending, Ok(Ending::Complete)), "{ending:?}");
    // The eighth run and all later ones are slow, and each of the 32 blocks may be measured twice
    // on average.
    assert_eq!((campaign.blocks.len(), bench.runs), (32, 64));
    let remarks = stability(&campaign);
    let remark = remarks.iter().find(|text| text.starts_with("machine: ")).expect("a remark");
    assert!(
        remark.contains("32 attempts at blocks were repeated")
            && remark.contains("25 of 32 were kept"),
        "{remark}"
    );
}

const RATES: &str = "
        device.kind = 'software-switch'
        functions.matches = ['port']
        functions.actions = ['output', 'set-nw-src']
        [settings]
        packets-per-second = [100]
        [campaign]
        repetitions = 1
        packets = 5
        [rates]
        from = 100
        precision = 0.05";

#[test]
fn an_interrupted_search_goes_on_after_its_last_trial() {
    let whole = tempfile::tempdir().expect("a directory");
    let mut bench = Synthetic { limit: 1000.0, ..Synthetic::default() };
    let (_, expected) = campaign(whole.path(), &plan(RATES), &mut bench, 1000);
    let trials = |campaign: &Campaign| -> Vec<(u64, bool)> {
        campaign.rates.iter().map(|trial| (trial.bits_per_second, trial.lost > 0)).collect()
    };
    // 2 blocks come first; the rate 1600 is the first that loses packets.
    for steps in 2..40 {
        let directory = tempfile::tempdir().expect("a directory");
        let mut bench = Synthetic { limit: 1000.0, ..Synthetic::default() };
        let (ending, _) = campaign(directory.path(), &plan(RATES), &mut bench, steps);
        assert!(ending.is_ok(), "{ending:?}");
        let (ending, found) = campaign(directory.path(), &plan(RATES), &mut bench, 1000);
        assert!(matches!(ending, Ok(Ending::Complete)), "{ending:?}");
        assert_eq!(trials(&found), trials(&expected), "interrupted after {steps} steps");
    }
}

#[test]
fn the_rate_without_loss_is_in_the_campaign() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut bench = Synthetic { limit: 1000.0, ..Synthetic::default() };
    let (ending, campaign) = campaign(directory.path(), &plan(RATES), &mut bench, 1000);
    assert!(matches!(ending, Ok(Ending::Complete)), "{ending:?}");
    let found = campaign.loss_free_rate(CellId(0)).expect("it was searched") as f64 / 512.0;
    assert!(found <= 1000.0 && found * 1.05 > 1000.0, "{found}");
    assert_eq!(campaign.loss_free_rate(CellId(1)), None, "only the baseline was asked for");
    assert!(
        campaign.notes.iter().any(|note| note.text.contains("R_min is")),
        "{:?}",
        campaign.notes
    );
}
