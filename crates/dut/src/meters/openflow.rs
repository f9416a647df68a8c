//! Measures the meters of an OpenFlow 1.3 switch, with a single drop band (OpenFlow 1.3.5, section
//! 5.7).

use std::sync::atomic::{AtomicBool, Ordering};

use openflow::Version;
use openflow::v1_3::{
    Message, MeterBand, MeterBandKind, MeterFlags, MeterId, MeterMod, MeterModCommand,
};

use super::trial::{Algorithm, Config, Metering, Subject, measure};
use super::{ByColour, Measured, MeasuredMeter, Offering, TokenUnit};
use crate::entry_number::EntryNumber;
use crate::error::DutError;
use crate::flows::{FlowEntry, Output, Selector};
use crate::live::{Control as _, OpenFlowControl, Outcome};
use crate::session::OpenFlowChannel;
use crate::stream::PacketStream;
use crate::window::Operation;

/// The number at which the search for an unused meter number begins.
const FIRST: u32 = 1;

/// Measures two meters, one whose tokens are bytes and one whose tokens are packets. Packets pass
/// the meter on their way from the first port to the second. Deletes the meters and the flow entry,
/// also if the test fails.
pub(crate) async fn over_openflow(
    channel: &mut OpenFlowChannel,
    offering: &Offering<'_>,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Measured, DutError> {
    let stream = PacketStream::open(offering.wires.get(..2).unwrap_or(offering.wires))?;
    through(stream, channel, offering, stop, progress).await
}

/// Measures meters through interfaces that are already open.
pub(super) async fn through(
    mut stream: PacketStream,
    channel: &mut OpenFlowChannel,
    offering: &Offering<'_>,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Measured, DutError> {
    let mut measured = Measured::default();
    if channel.version() == Version::V1_0 {
        measured.reasons.push("OpenFlow 1.0 has no meters.".to_owned());
        return Ok(measured);
    }
    let [Some(ingress), Some(egress)] =
        [0, 1].map(|position| offering.wires.get(position).map(|wire| wire.0.number))
    else {
        return Err(DutError::NoRules);
    };
    let before = match channel.meters() {
        Ok(before) => before,
        Err(DutError::Request { cause, .. }) => {
            measured.reasons.push(format!("The switch does not list its meters: {cause}."));
            return Ok(measured);
        }
        Err(error) => return Err(error),
    };
    let is_free = |id: &u32| !before.iter().any(|meter| meter.meter_id.0 == *id);
    let id = (FIRST..MeterId::MAX.0).find(is_free).unwrap_or(FIRST);
    // The packet is the same for all numbers: the flow entry matches its Ethernet source.
    let packet = channel.maker().packet(EntryNumber(0));
    let green = Outcome::Leaves { port: egress, packet: packet.clone() };
    let outcomes = ByColour([green, Outcome::Unseen, Outcome::Unseen]);
    let units = [TokenUnit::Bytes, TokenUnit::Packets];
    for (done, unit) in (1..).zip(units) {
        let meter = OpenFlowMeter {
            control: OpenFlowControl::new(channel),
            id: MeterId(id),
            egress,
            unit,
            is_there: false,
            has_flow: false,
        };
        let subject = Subject {
            name: format!("drop band, {}", unit.name()),
            unit,
            algorithm: Algorithm::TwoColours,
            granule: granule(unit),
            port: ingress,
            packet: &packet,
            outcomes: &outcomes,
        };
        match one(&mut stream, meter, subject, offering, stop).await {
            Ok(found) => measured.meters.extend(found),
            Err(DutError::Request { what: "meter-mod", cause }) => {
                let unit = unit.name();
                measured.reasons.push(format!("The switch refuses a meter of {unit}: {cause}."));
            }
            Err(error) => return Err(error),
        }
        progress(done, units.len() as u64);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    if channel.meters()? != before {
        return Err(DutError::MeterNotRestored { name: id.to_string() });
    }
    Ok(measured)
}

/// Returns the number of tokens in the unit in which a drop band states its rate and burst. The
/// unit for bytes is 1,000 bits, which are 125 bytes.
fn granule(unit: TokenUnit) -> u64 {
    match unit {
        TokenUnit::Bytes => 125,
        TokenUnit::Packets => 1,
    }
}

async fn one(
    stream: &mut PacketStream,
    mut meter: OpenFlowMeter<'_>,
    subject: Subject<'_>,
    offering: &Offering<'_>,
    stop: &AtomicBool,
) -> Result<Option<MeasuredMeter>, DutError> {
    let found = measure(stream, &mut meter, subject, offering.settings, stop).await;
    // A switch deletes flow entries with their meter, so the flow entry comes first.
    let flows = meter.control.restore().await;
    let meters = meter.remove();
    flows?;
    meters?;
    found
}

/// A meter of an OpenFlow switch, with the flow entry that sends packets through it.
struct OpenFlowMeter<'a> {
    control: OpenFlowControl<'a>,
    id: MeterId,
    /// The port by which the packets that pass the meter leave the switch.
    egress: u32,
    unit: TokenUnit,
    /// Whether the meter has been created in the switch.
    is_there: bool,
    /// Whether the flow entry has been inserted into the switch.
    has_flow: bool,
}

impl OpenFlowMeter<'_> {
    async fn flow(&mut self, output: Output) -> Result<(), DutError> {
        let entry = FlowEntry { selects: Selector::Rest, output };
        let operation = if self.has_flow { Operation::Modify } else { Operation::Insert };
        self.control.carry_out(operation, &[entry]).await?;
        self.has_flow = true;
        Ok(())
    }

    fn change(&mut self, command: MeterModCommand, bands: Vec<MeterBand>) -> Result<(), DutError> {
        let unit = match self.unit {
            TokenUnit::Bytes => MeterFlags::KBPS,
            TokenUnit::Packets => MeterFlags::PKTPS,
        };
        let flags = unit | MeterFlags::BURST;
        let change = MeterMod { command, flags, meter_id: self.id, bands };
        self.control.channel().carry_out("meter-mod", &Message::MeterMod(change))
    }

    fn remove(&mut self) -> Result<(), DutError> {
        if !self.is_there {
            return Ok(());
        }
        self.is_there = false;
        self.change(MeterModCommand::DELETE, Vec::new())
    }
}

impl Metering for OpenFlowMeter<'_> {
    async fn configure(&mut self, config: Option<Config>) -> Result<(), DutError> {
        let Some(config) = config else { return self.flow(Output::Port(self.egress)).await };
        let granule = granule(self.unit);
        let whole = |number: u64| u32::try_from(number / granule).unwrap_or(u32::MAX);
        let band = MeterBand {
            rate: whole(config.committed_rate),
            burst_size: whole(config.committed_burst),
            kind: MeterBandKind::Drop,
        };
        let command = if self.is_there { MeterModCommand::MODIFY } else { MeterModCommand::ADD };
        self.is_there = true;
        let changed = self.change(command, vec![band]);
        if changed.is_err() && command == MeterModCommand::ADD {
            self.is_there = false;
        }
        changed?;
        self.flow(Output::Metered { meter: self.id.0, port: self.egress }).await
    }

    fn tend(&mut self) -> Result<(), DutError> {
        self.control.channel().look(&mut |_| {})?;
        self.control.channel().flush()
    }
}
