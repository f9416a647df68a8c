//! Measures the age of the packet count in a flow's statistics, which are read over OpenFlow.

use std::time::Instant;

use super::{Counter, Measured, Readings, Wanted};
use crate::effects::Moment;
use crate::entry_number::EntryNumber;
use crate::error::DutError;
use crate::flows::FlowEntry;
use crate::leaving_flow::LeavingFlow;
use crate::live::{Control as _, OpenFlowControl, Ports};
use crate::outlet::Outlet;
use crate::pace::Pace;
use crate::session::{CountRequest, OpenFlowChannel};
use crate::stream::PacketStream;
use crate::window::{Operation, TIMEOUT};

/// Reads the statistics of one flow while its packets pass. With a file of flows, the flow is one
/// of the file whose packets can be recognised; otherwise it is generated. Deletes the flow entries
/// of the measurement, also if the test fails.
///
/// # Errors
/// Returns an error if a request fails, or if no packets can be sent.
pub(crate) async fn measure(
    channel: &mut OpenFlowChannel,
    ports: &Ports,
    numbers: &[EntryNumber],
    wanted: Wanted<'_>,
) -> Result<Measured, DutError> {
    let outlets = Outlet::open(&ports.wires)?;
    through(outlets, channel, ports, numbers, wanted).await
}

/// Measures through interfaces that are already open.
pub(super) async fn through(
    outlets: Vec<Outlet>,
    channel: &mut OpenFlowChannel,
    ports: &Ports,
    numbers: &[EntryNumber],
    wanted: Wanted<'_>,
) -> Result<Measured, DutError> {
    let made = ports.flows(&channel.maker(), numbers)?;
    let flow = LeavingFlow::of(&made.flows, &made.beside).ok_or(DutError::NoRules)?;
    let mut stream = PacketStream::new(outlets);
    let mut control = OpenFlowControl::new(channel);
    let entries: Vec<FlowEntry> = flow.entries().copied().collect();
    let found = match control.carry_out(Operation::Insert, &entries).await {
        Ok(()) => {
            let mut counter =
                FlowCounter { channel: control.channel(), entry: *flow.entry(), asked: None };
            let pace = Pace::new(Moment(0), 1, 1);
            let (counter, stream) = (&mut counter, &mut stream);
            let mut readings = Readings { counter, flow: &flow, stream, pace };
            readings.make(wanted).await
        }
        Err(error) => Err(error),
    };
    match control.restore().await? {
        0 => found.map(|found| Measured { counter: "packets of a flow".to_owned(), ..found }),
        count => Err(DutError::NotRestored { count }),
    }
}

/// The packet count in the statistics of a flow.
struct FlowCounter<'a> {
    channel: &'a mut OpenFlowChannel,
    entry: FlowEntry,
    /// The unanswered request for statistics, with the time at which it was sent.
    asked: Option<(CountRequest, Instant)>,
}

impl Counter for FlowCounter<'_> {
    fn ask(&mut self) -> Result<(), DutError> {
        self.asked = Some((self.channel.ask_packets(self.entry)?, Instant::now()));
        Ok(())
    }

    async fn look(&mut self) -> Result<Option<u64>, DutError> {
        let Some((request, sent)) = &mut self.asked else { return Ok(None) };
        if sent.elapsed() > TIMEOUT {
            return Err(DutError::NoAnswer { what: "flow statistics", patience: TIMEOUT });
        }
        self.channel.look_for_packets(request)
    }

    fn tend(&mut self) -> Result<(), DutError> {
        self.channel.look(&mut |_| {})?;
        self.channel.flush()
    }
}
