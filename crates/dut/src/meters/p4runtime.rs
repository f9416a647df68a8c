//! Measures the meters of a P4Runtime switch.

use std::sync::atomic::{AtomicBool, Ordering};

use p4runtime::client::Client;
use p4runtime::proto::v1::{self, entity::Entity as Kind};

use super::trial::{Algorithm, Config, Metering, Subject, measure, settings};
use super::{Bucket, ByColour, Measured, Settings, TokenUnit};
use crate::error::DutError;
use crate::live::{Control as _, P4RuntimeControl, Wire, check_program};
use crate::session::{read_entities, write_updates};
use crate::stream::PacketStream;
use crate::window::Operation;

/// The meter instance that packets pass.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// A cell of an indirect meter.
    Cell {
        /// The identifier of the meter in P4Info.
        meter_id: u32,
        /// The index of the cell.
        index: i64,
    },
    /// The direct meter of this table entry, which is one of [`Traffic::entries`].
    Direct(Box<v1::TableEntry>),
}

/// A meter, with packets that pass it.
#[derive(Clone, Debug, PartialEq)]
pub struct MeteredFlow {
    /// The name of the meter.
    pub name: String,
    /// The cell of the meter, or the table entry that the meter belongs to.
    pub place: Place,
    /// The unit of the meter's tokens.
    pub unit: TokenUnit,
    /// The algorithm by which the meter colours packets.
    pub algorithm: Algorithm,
    /// The port by which the packets enter the switch.
    pub port: u32,
    /// The bytes of the packet. The last 16 carry the identity of the packet, so the switch must
    /// not change them.
    pub packet: Vec<u8>,
    /// The outcomes of the packet for each colour that the meter may assign.
    pub outcomes: ByColour,
}

/// The meters of a program that are measured, and the entries that their packets need.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// The program for which the packets were generated. The switch must run it.
    pub p4info: p4runtime::proto::config::P4Info,
    /// The ports of the switch that are connected to this machine.
    pub wires: Vec<Wire>,
    /// Entries that the packets need on their way, in the order of insertion.
    pub entries: Vec<v1::TableEntry>,
    /// The meters whose colours packets can show.
    pub flows: Vec<MeteredFlow>,
    /// The reasons why other meters cannot be measured with packets, as sentences.
    pub reasons: Vec<String>,
}

/// Measures the meters of a P4Runtime switch. Deletes the entries of the measurement and restores
/// the meters' configurations, also if the test fails.
pub(crate) async fn over_p4runtime(
    client: &Client,
    traffic: &Traffic,
    settings: &Settings,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Measured, DutError> {
    check_program(client, &traffic.p4info).await?;
    let mut tables: Vec<u32> = traffic.entries.iter().map(|entry| entry.table_id).collect();
    tables.sort_unstable();
    tables.dedup();
    let mut control = P4RuntimeControl::read(client.clone(), tables).await?;
    let mut measured = Measured { reasons: traffic.reasons.clone(), ..Measured::default() };
    let entries = traffic.entries.iter().filter(|entry| !control.was_there(entry)).cloned();
    let entries: Vec<v1::TableEntry> = entries.collect();
    let stream = PacketStream::open(&traffic.wires)?;
    let found = async {
        control.carry_out(Operation::Insert, &entries).await?;
        let flows = traffic.flows.iter().filter(|flow| match &flow.place {
            Place::Cell { .. } => true,
            Place::Direct(entry) => !control.was_there(entry),
        });
        let flows: Vec<&MeteredFlow> = flows.collect();
        let others = traffic.flows.len() - flows.len();
        if others > 0 {
            measured.reasons.push(format!(
                "{others} meters are those of entries that the switch had before the measurement; they were not changed."
            ));
        }
        all(client, &flows, stream, settings, stop, progress).await
    };
    let found = found.await;
    match control.restore().await? {
        0 => {}
        count => return Err(DutError::NotRestored { count }),
    }
    let found = found?;
    measured.meters = found.meters;
    measured.reasons.extend(found.reasons);
    Ok(measured)
}

/// Measures meters one after the other, and restores the configuration of each. If the switch
/// refuses to let a meter be read or configured, that meter is left out, which is not an error.
pub(super) async fn all(
    client: &Client,
    flows: &[&MeteredFlow],
    mut stream: PacketStream,
    settings: &Settings,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Measured, DutError> {
    let mut measured = Measured::default();
    for (done, flow) in flows.iter().enumerate() {
        let title = flow.title();
        let mut meter = P4RuntimeMeter { client: client.clone(), place: &flow.place };
        let before = match meter.read().await {
            Ok(before) => before,
            Err(DutError::Request { cause, .. }) => {
                measured.reasons.push(format!("Meter {title} cannot be read: {cause}."));
                continue;
            }
            Err(error) => return Err(error),
        };
        let subject = Subject {
            name: title.clone(),
            unit: flow.unit,
            algorithm: flow.algorithm,
            granule: 1,
            port: flow.port,
            packet: &flow.packet,
            outcomes: &flow.outcomes,
        };
        let found = measure(&mut stream, &mut meter, subject, settings, stop).await;
        // A switch that refused the first change may refuse this one, which then changes nothing.
        match meter.write(before).await {
            Ok(()) | Err(DutError::Request { .. }) => {}
            Err(error) => return Err(error),
        }
        if meter.read().await? != before {
            return Err(DutError::MeterNotRestored { name: title });
        }
        match found {
            Ok(found) => measured.meters.extend(found),
            Err(DutError::Request { cause, .. }) => {
                measured.reasons.push(format!("Meter {title} cannot be configured: {cause}."));
            }
            Err(error) => return Err(error),
        }
        progress(done as u64 + 1, flows.len() as u64);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(measured)
}

impl MeteredFlow {
    /// Returns the name of the meter with the index of its cell, or with its table entry.
    fn title(&self) -> String {
        match &self.place {
            Place::Cell { index, .. } => format!("{}[{index}]", self.name),
            Place::Direct(_) => format!("{} (direct)", self.name),
        }
    }

    /// Returns whether packets that leave in these ways, depending on their colour, can show at
    /// least one bucket of a meter with this algorithm.
    #[must_use]
    pub fn shows(algorithm: Algorithm, outcomes: &ByColour) -> bool {
        let any = Bucket { rate: 1.0, burst: 1.0 };
        !settings(algorithm, any, outcomes).is_empty()
    }
}

/// A meter of a P4Runtime switch.
struct P4RuntimeMeter<'a> {
    client: Client,
    place: &'a Place,
}

impl P4RuntimeMeter<'_> {
    fn entity(&self, config: Option<v1::MeterConfig>) -> v1::Entity {
        let kind = match self.place {
            Place::Cell { meter_id, index } => Kind::MeterEntry(v1::MeterEntry {
                meter_id: *meter_id,
                index: Some(v1::Index { index: *index }),
                config,
                ..Default::default()
            }),
            Place::Direct(entry) => Kind::DirectMeterEntry(v1::DirectMeterEntry {
                table_entry: Some(v1::TableEntry {
                    table_id: entry.table_id,
                    r#match: entry.r#match.clone(),
                    priority: entry.priority,
                    ..Default::default()
                }),
                config,
                ..Default::default()
            }),
        };
        v1::Entity { entity: Some(kind) }
    }

    /// Returns the configuration of the meter.
    async fn read(&mut self) -> Result<Option<v1::MeterConfig>, DutError> {
        let wanted = vec![self.entity(None)];
        let found = read_entities(&mut self.client, wanted).await?;
        Ok(found.into_iter().find_map(|entity| match entity.entity {
            Some(Kind::MeterEntry(entry)) => entry.config,
            Some(Kind::DirectMeterEntry(entry)) => entry.config,
            _ => None,
        }))
    }

    async fn write(&mut self, config: Option<v1::MeterConfig>) -> Result<(), DutError> {
        let update = v1::Update {
            r#type: v1::update::Type::Modify as i32,
            entity: Some(self.entity(config)),
        };
        write_updates(&mut self.client, vec![update]).await
    }
}

impl Metering for P4RuntimeMeter<'_> {
    async fn configure(&mut self, config: Option<Config>) -> Result<(), DutError> {
        let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let config = config.map(|config| v1::MeterConfig {
            cir: whole(config.committed_rate),
            cburst: whole(config.committed_burst),
            pir: whole(config.peak_rate),
            pburst: whole(config.peak_burst),
            eburst: 0,
        });
        self.write(config).await
    }

    fn tend(&mut self) -> Result<(), DutError> {
        Ok(())
    }
}
