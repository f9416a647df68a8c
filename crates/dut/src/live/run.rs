//! The measurement of the effects of updates: rounds in which rules are inserted, modified and
//! deleted, and the resulting figures.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use p4runtime::client::Client;
use p4runtime::proto::config::P4Info;
use p4runtime::proto::v1::{self, get_forwarding_pipeline_config_request::ResponseType};

use super::bench::Bench;
use super::control::{Control, OpenFlowControl, P4RuntimeControl};
use super::probes::{Flow, Ports, Traffic};
use crate::effects::{Observation, Silence, Summary};
use crate::entry_number::EntryNumber;
use crate::error::DutError;
use crate::outlet::Outlet;
use crate::session::OpenFlowChannel;
use crate::window::{BatchAtomicity, Operation, Refusal};

/// The settings of the test of effects on packets.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The number of rounds. In each, one rule alone and then all rules in one request are
    /// inserted, modified and deleted.
    pub rounds: usize,
    /// The greatest number of probes per second, for all rules of a request together. It is halved
    /// until the switch forwards the probes, but not below 500, because an overloaded switch would
    /// lose probes for other reasons than an update.
    pub probes_per_second: f64,
    /// The time for which probes are sent before each request, and again after its answer.
    pub beside: Duration,
    /// The atomicities with which requests for all rules are made, in addition to
    /// continue-on-error. They do not apply to OpenFlow.
    pub atomicities: Vec<BatchAtomicity>,
}

/// The figures of all requests of one kind: with the same operation, atomicity and number of rules.
#[derive(Clone, Debug)]
pub struct Kind {
    /// The operation of the requests' updates.
    pub operation: Operation,
    /// The number of updates in each request.
    pub rules: usize,
    /// The atomicity of the requests.
    pub atomicity: BatchAtomicity,
    /// The state of a rule in which the switch drops the rule's probes.
    pub silence: Silence,
    /// The statistics of the requests.
    pub summary: Summary,
}

/// The measured effects of updates on packets.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The name of the table whose entries the updates changed.
    pub table: String,
    /// The number of rules that were used.
    pub rules: usize,
    /// The intended number of probes per second.
    pub due_per_second: f64,
    /// The number of probes per second that were really sent.
    pub probes_per_second: f64,
    /// The figures for each kind of request.
    pub kinds: Vec<Kind>,
    /// The number of probes that could not be sent, because the interface's queue was full.
    pub unsent: u64,
    /// The atomicities that the switch does not implement, each with the answer by which the switch
    /// refused it.
    pub unimplemented: Vec<(BatchAtomicity, Refusal)>,
}

/// The settings and the progress of a measurement.
pub(crate) struct Changes<'a> {
    pub(crate) settings: &'a Settings,
    /// The atomicities of [`Settings::atomicities`] that the switch implements.
    pub(crate) atomicities: Vec<BatchAtomicity>,
    /// A flag that ends the measurement when it is set.
    pub(crate) stop: &'a AtomicBool,
    /// A callback that receives the number of completed rounds, and the number of all rounds.
    pub(crate) progress: &'a mut dyn FnMut(u64, u64),
}

/// Measures when packets begin to obey updates of a P4Runtime switch, and which packets are lost or
/// misdirected while rules change. Deletes the entries of the measurement, also if the test fails.
pub(crate) async fn over_p4runtime(
    client: &Client,
    traffic: &Traffic,
    changes: Changes<'_>,
) -> Result<Measured, DutError> {
    check_program(client, &traffic.p4info).await?;
    let control = P4RuntimeControl::read(client.clone(), traffic.tables()).await?;
    let flows = traffic.flows.iter().filter(|flow| !control.was_there(&flow.first)).collect();
    let beside: Vec<v1::TableEntry> =
        traffic.beside.iter().filter(|entry| !control.was_there(entry)).cloned().collect();
    let rules = Rules { table: &traffic.table, flows, beside: &beside };
    restored(control, Outlet::open(&traffic.wires)?, rules, changes).await
}

/// Measures an OpenFlow switch like [`over_p4runtime`]. The flows that are used are the first ones
/// of `numbers`.
pub(crate) async fn over_openflow(
    channel: &mut OpenFlowChannel,
    ports: &Ports,
    numbers: &[EntryNumber],
    changes: Changes<'_>,
) -> Result<Measured, DutError> {
    through(Outlet::open(&ports.wires)?, channel, ports, numbers, changes).await
}

/// Measures an OpenFlow switch through interfaces that are already open.
pub(super) async fn through(
    outlets: Vec<Outlet>,
    channel: &mut OpenFlowChannel,
    ports: &Ports,
    numbers: &[EntryNumber],
    changes: Changes<'_>,
) -> Result<Measured, DutError> {
    let made = ports.flows(&channel.maker(), numbers)?;
    let table = channel.table().to_string();
    let rules = Rules { table: &table, flows: made.flows.iter().collect(), beside: &made.beside };
    restored(OpenFlowControl::new(channel), outlets, rules, changes).await
}

/// The rules that a measurement changes, and the entries that their packets need.
struct Rules<'a, E> {
    table: &'a str,
    /// The flows of packets, one for each rule.
    flows: Vec<&'a Flow<E>>,
    /// The other entries that the packets need on their way.
    beside: &'a [E],
}

/// Makes all rounds, and deletes the entries of the measurement even if a round fails.
async fn restored<C: Control>(
    mut control: C,
    outlets: Vec<Outlet>,
    rules: Rules<'_, C::Entry>,
    changes: Changes<'_>,
) -> Result<Measured, DutError> {
    let bench = Bench::new(outlets, changes.settings);
    let found = rounds(&mut control, bench, rules, changes).await;
    match control.restore().await? {
        0 => found,
        count => Err(DutError::NotRestored { count }),
    }
}

/// Checks that the switch runs the program for which the packets were generated.
pub(crate) async fn check_program(client: &Client, p4info: &P4Info) -> Result<(), DutError> {
    let mut client = client.clone();
    let config = client.get_pipeline(ResponseType::P4infoAndCookie).await.map_err(|status| {
        DutError::Request { what: "GetForwardingPipelineConfig", cause: status.message().into() }
    })?;
    match has_same_tables(&config.p4info.unwrap_or_default(), p4info) {
        true => Ok(()),
        false => Err(DutError::OtherProgram),
    }
}

/// Returns whether two programs have the same tables with the same keys. This holds if one program
/// was compiled twice, even if the two P4Infos are not equal in all details.
pub(crate) fn has_same_tables(one: &P4Info, other: &P4Info) -> bool {
    let tables = |p4info: &P4Info| {
        let tables = p4info.tables.iter().map(|table| {
            let preamble = table.preamble.clone().unwrap_or_default();
            let fields = table.match_fields.iter().map(|field| (field.id, field.bitwidth));
            (preamble.id, preamble.name, fields.collect::<Vec<_>>())
        });
        tables.collect::<Vec<_>>()
    };
    tables(one) == tables(other)
}

async fn rounds<C: Control>(
    control: &mut C,
    mut bench: Bench,
    Rules { table, flows, beside }: Rules<'_, C::Entry>,
    Changes { settings, atomicities, stop, progress }: Changes<'_>,
) -> Result<Measured, DutError> {
    control.carry_out(Operation::Insert, beside).await?;
    let mut measured = Measured {
        table: table.to_owned(),
        rules: flows.len(),
        due_per_second: 0.0,
        probes_per_second: 0.0,
        kinds: Vec::new(),
        unsent: 0,
        unimplemented: Vec::new(),
    };
    if flows.is_empty() {
        return Err(DutError::NoRules);
    }
    bench.find_rate(&flows, control).await?;
    measured.due_per_second = bench.due_per_second();
    // The first round warms the caches of the switch and is not counted.
    for round in 0..=settings.rounds {
        let single = [flows[round % flows.len()]];
        let mut groups = vec![(&single[..], BatchAtomicity::ContinueOnError)];
        if flows.len() > 1 {
            let others = atomicities.iter().copied();
            let all = [BatchAtomicity::ContinueOnError].into_iter().chain(others);
            groups.extend(all.map(|atomicity| (&flows[..], atomicity)));
        }
        for (group, atomicity) in groups {
            for operation in Operation::ALL {
                if stop.load(Ordering::Relaxed) {
                    return Ok(measured);
                }
                let observation = bench.change(operation, atomicity, group, control).await?;
                if let Some(observation) = observation.filter(|_| round > 0) {
                    measured.note(operation, atomicity, observation);
                }
            }
        }
        measured.unsent = bench.unsent();
        measured.probes_per_second = bench.probes_per_second();
        progress(round as u64, settings.rounds as u64);
    }
    Ok(measured)
}

impl Measured {
    fn note(&mut self, operation: Operation, atomicity: BatchAtomicity, observation: Observation) {
        let (rules, silence) = (observation.rules.len(), observation.silence);
        let known = self.kinds.iter().position(|kind| {
            (kind.operation, kind.rules, kind.atomicity) == (operation, rules, atomicity)
        });
        let position = known.unwrap_or_else(|| {
            let summary = Summary::default();
            self.kinds.push(Kind { operation, rules, atomicity, silence, summary });
            self.kinds.len() - 1
        });
        if let Some(kind) = self.kinds.get_mut(position) {
            kind.summary.add(&observation.assess());
        }
    }
}
