//! Converts the command line to the plan of a measurement and its target, the switch.

use std::net::{ToSocketAddrs as _, UdpSocket};
use std::time::Duration;

use ::dut::updates::{Load, OtherTables};
use ::dut::{
    BatchAtomicity, Device, Listening, Plan, SwitchProcess, Target, background, capacity,
    commits as pipelines, counters as ages, digests as digest_lists, groups as spreading, live,
    meters as policing, reads, roles as hand_overs, slow_path as slow, sustained as search,
    timeouts as expiry, updates as rates,
};
use clap::ValueEnum;
use probe::usage;

use super::arguments::{Arguments, EACH_KIND, Test};
use super::traffic;
use crate::failure::Failure;
use crate::program;

/// The largest number of packets per second that are sent through meters, to groups, and during
/// updates and reads.
const METERED: u64 = 8_000;
/// The longest time for which entries are replaced at each level of the table's occupancy.
const LEVEL: Duration = Duration::from_millis(500);
/// The length of one trial in the search for the highest forwarding rate at each level of
/// occupancy.
const FORWARDS: Duration = Duration::from_millis(100);
/// The tests during which packets are sent through the switch, if its ports are connected.
const WITH_BACKGROUND: [Test; 3] = [Test::Updates, Test::Reads, Test::Capacity];

impl Arguments {
    pub(super) fn plan(&self) -> Result<Plan, Failure> {
        let (rounds, time) = match self.quick {
            true => (3, Duration::from_millis(200)),
            false => (self.rounds, self.time),
        };
        let window = self.window();
        if self.other_tables() == OtherTables::OfEachKind && self.table.len() > 2 {
            return Err(Failure::input(
                "--table each-kind chooses the other tables itself: name at most one table beside it, which all tests measure",
            ));
        }
        let has = |test| self.plan.contains(&test);
        if let Some(most) = self.controllers.0.iter().max().filter(|most| **most > window) {
            return Err(Failure::input(format!(
                "{most} controllers need a window of {most} requests or more: name it with --window"
            )));
        }
        let entries = usize::try_from(self.entries.count()).unwrap_or(usize::MAX);
        let with_packets = self.has_packets()?;
        let effects = (with_packets && has(Test::Effects)).then(|| self.effects());
        let is_openflow = self.openflow.openflow.is_some();
        let slow_path = (with_packets && has(Test::SlowPath)).then_some(slow::Settings {
            rounds,
            time,
            window: self.window(),
            reactions: 20,
        });
        Ok(Plan {
            entries: self.entries.count(),
            updates: has(Test::Updates).then(|| rates::Settings {
                loads: self.loads(),
                base: self.base_load(),
                tables: self.other_tables(),
                rounds,
                time,
                seed: crate::environment::SEED,
            }),
            sustained: has(Test::Sustained).then(|| search::Settings {
                batch: self.base_load().batch,
                window,
                occupancy: self.base_load().occupancy,
                time,
                is_rough: self.quick,
            }),
            reads: has(Test::Reads).then_some(reads::Settings { entries, rounds, time }),
            counters: (with_packets && has(Test::Reads))
                .then_some(ages::Settings { readings: if self.quick { 50 } else { 500 } }),
            capacity: has(Test::Capacity).then(|| capacity::Settings {
                batch: 100,
                window,
                time: time.min(LEVEL),
                trial: if self.quick { Duration::ZERO } else { FORWARDS },
                process: self.process(),
                tables: self.other_tables(),
            }),
            background: (with_packets && WITH_BACKGROUND.iter().any(|test| has(*test))).then_some(
                background::Settings {
                    packets_per_second: self.packets.probes.min(METERED) as f64,
                },
            ),
            effects,
            slow_path,
            digests: (with_packets && !is_openflow && has(Test::Digests))
                .then_some(digest_lists::Settings { rounds }),
            roles: (!is_openflow && has(Test::Roles))
                .then_some(hand_overs::Settings { rounds: if self.quick { 5 } else { 20 } }),
            timeouts: has(Test::Timeouts).then_some(expiry::Settings {
                entries: if self.quick { 10 } else { 50 },
                grace: Duration::from_secs(5),
            }),
            meters: (with_packets && has(Test::Meters)).then(|| policing::Settings {
                packets_per_second: self.packets.probes.min(METERED) as f64,
                time: Duration::from_millis(if self.quick { 500 } else { 2_000 }),
                traffic: None,
            }),
            groups: (with_packets && has(Test::Groups)).then(|| spreading::Settings {
                flows: if self.quick { 1_000 } else { 10_000 },
                packets_per_second: self.packets.probes.min(METERED) as f64,
                seed: crate::environment::SEED,
                traffic: None,
            }),
            commits: self.commits()?,
        })
    }

    /// Returns the number of requests that wait for their answers at the same time, in all tests.
    fn window(&self) -> usize {
        self.window.0.first().copied().unwrap_or(1)
    }

    /// Returns the base load, from which each of the other loads differs in one property. Its
    /// requests have the largest requested number of updates up to 100, at which most switches are
    /// close to their highest rate.
    fn base_load(&self) -> Load {
        let batches = self.batch.0.iter().copied();
        let batch = batches.clone().filter(|batch| *batch <= 100).max().or(batches.min());
        Load {
            batch: batch.unwrap_or(1),
            window: self.window(),
            occupancy: self.occupancy.first().copied().unwrap_or(0),
            atomicity: self.atomicity.0.first().copied().unwrap_or_default(),
            controllers: 1,
            has_packets: false,
        }
    }

    /// Returns the process of the switch, or the way to find it, so that its memory can be read.
    /// Returns `None` if the switch is not on this host.
    fn process(&self) -> Option<SwitchProcess> {
        if let Some(id) = self.switch_process {
            return Some(SwitchProcess::Id(id));
        }
        if let Some(address) = self.openflow.openflow {
            let find = |address| usage::diallers_of(address).unwrap_or_default();
            return Some(SwitchProcess::At(address, find));
        }
        let address = self.address.as_deref()?.to_socket_addrs().ok()?.next()?;
        // Only addresses of this host can be bound.
        UdpSocket::bind((address.ip(), 0)).ok()?;
        let find = |address| usage::listeners_at(address).unwrap_or_default();
        Some(SwitchProcess::At(address, find))
    }

    /// Returns the loads of the test of updates: one for each batch size, and then, at the batch
    /// size of the base load, one for each window, occupancy, atomicity and number of controllers,
    /// and one during which packets are sent.
    fn loads(&self) -> Vec<Load> {
        let base = self.base_load();
        // Single updates, one at a time, show the latency of an update.
        let mut loads = vec![Load { batch: 1, window: 1, ..base }];
        let batches = self.batch.0.iter().map(|batch| Load { batch: *batch, ..base });
        let windows = self.window.0.iter().map(|window| Load { window: *window, ..base });
        let occupancies = self.occupancy.iter().map(|percent| Load { occupancy: *percent, ..base });
        let atomicities = self.atomicity.0.iter().map(|one| Load { atomicity: *one, ..base });
        let controllers =
            self.controllers.0.iter().map(|count| Load { controllers: *count, ..base });
        // Without packets, the last one is left out.
        let others = controllers.chain([Load { has_packets: true, ..base }]);
        let varied = batches.chain(windows).chain(occupancies).chain(atomicities);
        for load in varied.chain(others) {
            if !loads.contains(&load) {
                loads.push(load);
            }
        }
        loads
    }

    /// Returns the name of the table that all tests use, or `None` for the largest table.
    fn first_table(&self) -> Option<&str> {
        self.table.iter().map(String::as_str).find(|name| *name != EACH_KIND)
    }

    /// Returns the tables that tests compare with the first one, in which all tests are made.
    fn other_tables(&self) -> OtherTables {
        match self.table.as_slice() {
            names if names.iter().any(|name| name == EACH_KIND) => OtherTables::OfEachKind,
            [] | [_] => OtherTables::None,
            [_, others @ ..] => OtherTables::Named(others.to_vec()),
        }
    }

    /// Returns whether the plan consists of the tests that are made by default.
    fn has_default_plan(&self) -> bool {
        let mut by_default = Test::value_variants().iter().filter(|test| !test.is_only_named());
        by_default.all(|test| self.plan.contains(test))
    }

    /// Returns whether the tests with packets can be made, for which an OpenFlow switch needs two
    /// ports, and a P4Runtime switch the program that it runs. If these are missing, returns false
    /// if the plan has no such test, or if it is the default plan and no port was given, and
    /// otherwise an error. Also returns an error if the user named a test that does not apply to
    /// the protocol of the switch.
    fn has_packets(&self) -> Result<bool, Failure> {
        let packets = &self.packets;
        let has = |test: &Test| self.plan.contains(test);
        let is_default = self.has_default_plan();
        let is_openflow = self.openflow.openflow.is_some();
        if has(&Test::Digests) && is_openflow && !is_default {
            return Err(Failure::input(
                "digests are measured for P4Runtime switches: leave digests out of --plan",
            ));
        }
        if has(&Test::Roles) && is_openflow && !is_default {
            return Err(Failure::input(
                "hand-overs between controllers are measured for P4Runtime switches: leave roles out of --plan",
            ));
        }
        let is_possible = match is_openflow {
            true => packets.port.len() >= 2,
            false => packets.program.is_some() && !packets.port.is_empty(),
        };
        let with_packets =
            [Test::Effects, Test::SlowPath, Test::Digests, Test::Meters, Test::Groups];
        let is_wanted = with_packets.iter().any(has);
        if is_possible
            || !is_wanted
            || (is_default && packets.port.is_empty() && packets.program.is_none())
        {
            return Ok(is_possible);
        }
        Err(Failure::input(match is_openflow {
            false => {
                "tests with packets need the program of the switch and its ports: --program FILE --port \
                 NUMBER@INTERFACE"
            }
            true => {
                "tests with packets need two ports of the switch or more, by which packets enter and \
                 leave: --port NUMBER@INTERFACE --port NUMBER@INTERFACE"
            }
        }))
    }

    /// Returns the settings of [`Test::Pipeline`], or `None` if the plan does not name this test.
    /// Returns an error if no program was given, or if the switch speaks OpenFlow.
    fn commits(&self) -> Result<Option<pipelines::Settings>, Failure> {
        if !self.plan.contains(&Test::Pipeline) {
            return Ok(None);
        }
        let Some(file) = &self.packets.program else {
            return Err(Failure::input(
                "the test of the pipeline commits a program to a P4Runtime switch: name it with --program FILE",
            ));
        };
        let program = program::load(file, &self.packets.sources)?;
        let config = p4lang::device_config::to_pipeline_config(&program).map_err(Failure::input)?;
        let rounds = if self.quick { 3 } else { self.rounds };
        Ok(Some(pipelines::Settings { config, rounds, entries: 100 }))
    }

    /// Returns the settings of [`Test::Effects`], the test that sends probe packets through the
    /// switch to measure how updates of its rules affect packets.
    fn effects(&self) -> live::Settings {
        let packets = &self.packets;
        let rounds = if self.quick { 10 } else { packets.changes };
        live::Settings {
            rounds: usize::try_from(rounds).unwrap_or(usize::MAX),
            probes_per_second: packets.probes as f64,
            beside: Duration::from_millis(5),
            atomicities: self
                .atomicity
                .0
                .iter()
                .copied()
                .filter(|one| *one != BatchAtomicity::ContinueOnError)
                .collect(),
        }
    }

    /// Returns the switch as the target of the measurement, with its ports and packets if the plan
    /// has a test with packets. Adds the packets for the tests of meters and groups to the plan.
    pub(super) fn target(&self, plan: &mut Plan) -> Result<Target, Failure> {
        let wires: Vec<live::Wire> = self.packets.port.iter().cloned().map(live::Wire).collect();
        let rules = usize::from(self.packets.rules);
        if let Some(address) = self.openflow.openflow {
            let versions = self.openflow.openflow_version.into_iter().collect();
            let matching = self.openflow.matching;
            let flows = self.entries.of_openflow()?;
            let tls = self.tls.openflow()?;
            let listening = Listening { address, versions, tls, matching, flows };
            let has_packets = plan.effects.is_some()
                || plan.counters.is_some()
                || plan.background.is_some()
                || plan.slow_path.is_some()
                || plan.meters.is_some()
                || plan.groups.is_some();
            let ports = has_packets.then_some(live::Ports { wires, rules });
            return Ok(Target::OpenFlow { listening, ports });
        }
        let table = self.first_table();
        let entries = self.entries.of_p4runtime()?;
        let (mut traffic, mut slow_path, mut digests) = (None, None, None);
        if let Some(file) = &self.packets.program {
            let program = program::load(file, &self.packets.sources)?;
            let is_beside =
                plan.counters.is_some() || plan.commits.is_some() || plan.background.is_some();
            let has_effects = plan.effects.is_some() || (is_beside && !wires.is_empty());
            if let Some(file) = entries.as_deref().filter(|_| has_effects) {
                let made =
                    traffic::own::effects(program.clone(), wires.clone(), file, table, rules);
                traffic = match made {
                    Ok(made) => Some(Box::new(made)),
                    Err(refused) if plan.effects.is_some() => return Err(refused),
                    // The tests beside that of effects can be made without packets.
                    Err(_) => None,
                };
            }
            let has_made = has_effects && entries.is_none();
            if has_made || plan.meters.is_some() || plan.groups.is_some() {
                let made = traffic::Made::of(program.clone(), rules, table)?;
                if has_made {
                    traffic = match made.effects(wires.clone(), table) {
                        Ok(made) => Some(Box::new(made)),
                        // Updates, reads and capacity can be measured without packets.
                        Err(_) if plan.effects.is_none() && plan.commits.is_none() => None,
                        Err(refused) => return Err(refused),
                    };
                }
                if let Some(settings) = &mut plan.meters {
                    settings.traffic = Some(made.meters(wires.clone()));
                }
                if let Some(settings) = &mut plan.groups {
                    settings.traffic = Some(made.groups(wires.clone(), settings.flows));
                }
            }
            if plan.slow_path.is_some() {
                let place = traffic::slow_path::Place { table, cpu_port: self.packets.cpu_port };
                let made = traffic::slow_path::make(program.clone(), wires.clone(), place)?;
                self.is_measurable(made.packets.is_empty(), &made.lacks)?;
                slow_path = Some(Box::new(made));
            }
            if plan.digests.is_some() {
                let made = traffic::digests::make(program, wires)?;
                let lack = made.packets.as_ref().err().cloned();
                self.is_measurable(lack.is_some(), lack.as_slice())?;
                digests = Some(Box::new(made));
            }
        }
        let device = Device {
            address: self.address.clone().unwrap_or_default(),
            device_id: self.device_id,
            tls: self.tls.p4runtime()?,
        };
        let table = table.map(str::to_owned);
        Ok(Target::P4Runtime { device, table, entries, traffic, slow_path, digests })
    }

    /// Returns an error if the user named a test for which the program yields no packets or
    /// entries. `lacks` are the reasons.
    fn is_measurable(&self, is_empty: bool, lacks: &[String]) -> Result<(), Failure> {
        match is_empty && !self.has_default_plan() {
            true => Err(Failure::input(lacks.join(" "))),
            false => Ok(()),
        }
    }
}
