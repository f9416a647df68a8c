//! Emulated OpenFlow switches, which connect to the controller.

pub(crate) mod connection;
mod flood;
mod shard;
mod tls;
mod transport;

use std::io;
use std::sync::Arc;

use openflow::{BufferId, DatapathId, Version, Xid};
use rustix::event::epoll;

use super::mailbox::{Slot, mailbox};
use super::pace::Pace;
use super::{Live, Orders, Started, SwitchHandshake, TrialPlan, spawn};
use crate::config::{Matching, Mode, Protocol};
use connection::Connection;
use flood::FloodBlock;
use openflow_switch::{OpenFlowSwitch, SwitchOptions};
use shard::{Member, Shard};

pub(crate) use tls::client_config;
pub(crate) use transport::Dialler;

/// The reason why the engine could not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error("cannot start an engine thread: {0}")]
    Io(#[from] io::Error),
    #[error("there is no switch {0}")]
    NoSwitch(u32),
}

/// Starts the engine threads, each of which runs a part of the switches. Returns the threads with
/// the senders of their mailboxes. If the trial is spread over several ranks, a thread sends
/// messages for switches of other ranks to `abroad`.
pub(crate) fn start(
    plan: &Arc<TrialPlan>,
    orders: &Arc<Orders>,
    live: &Arc<Live>,
    dialler: &Dialler,
    abroad: Option<Slot>,
) -> Result<Started, StartError> {
    let pairs = (0..plan.threads).map(|_| mailbox()).collect::<io::Result<Vec<_>>>()?;
    let own: Vec<_> = pairs.iter().map(|(slot, _)| slot.clone()).collect();
    let slots: Vec<_> = own.iter().cloned().chain(abroad).collect();
    let shards = pairs
        .into_iter()
        .enumerate()
        .map(|(thread, (_, mailbox))| {
            Ok(Shard {
                recorder: plan.recorder(thread),
                pace: Pace::new(plan, orders, thread),
                members: plan
                    .members(thread)
                    .map(|switch| member(plan, switch))
                    .collect::<Result<_, _>>()?,
                plan: plan.clone(),
                orders: orders.clone(),
                live: live.clone(),
                dialler: dialler.clone(),
                mailbox,
                slots: slots.clone(),
                epoll: epoll::create(epoll::CreateFlags::CLOEXEC).map_err(io::Error::from)?,
                dirty: Vec::new(),
                frame: Vec::new(),
                next_dial: 0,
            })
        })
        .collect::<Result<Vec<_>, StartError>>()?;
    let threads = shards
        .into_iter()
        .enumerate()
        .map(|(thread, shard)| Ok(spawn(plan, orders, thread, move || shard.run())?))
        .collect::<Result<_, StartError>>()?;
    Ok((threads, own))
}

/// Creates an emulated switch. Its connection to the controller is not open yet.
fn member(plan: &TrialPlan, switch: u32) -> Result<Member, StartError> {
    let config = &plan.config;
    let options = SwitchOptions {
        version: match config.protocol {
            Protocol::OpenFlow10 => Version::V1_0,
            Protocol::OpenFlow13 | Protocol::P4Runtime => Version::V1_3,
        },
        datapath_id: DatapathId(config.switches.first_id + u64::from(switch)),
        ports: config.switches.ports,
        buffers: config.switches.buffers,
        table_size: config.switches.table_size,
        flow_tables: config.switches.flow_tables,
        awaiting: match config.traffic.matching {
            Matching::Rule => {
                config.traffic.outstanding_limit.div_ceil(config.switches.count.max(1) as usize)
            }
            _ => 0,
        },
    };
    let emulated = OpenFlowSwitch::new(options);
    let mut source = plan.source(switch).ok_or(StartError::NoSwitch(switch))?;
    let flood = matches!(config.traffic.mode, Mode::Flood).then(|| {
        let (mut sequence, mut frame) = (0, Vec::new());
        FloodBlock::prepare(|out| {
            frame.clear();
            let port = source.next(sequence, &mut frame);
            let xid = Xid(sequence as u32);
            emulated.packet_in(xid, BufferId::NO_BUFFER, u32::from(port.0), &frame, out);
            sequence += 1;
        })
    });
    Ok(Member {
        switch: emulated,
        connection: Connection::new(),
        source,
        flood,
        ready: false,
        handshake: SwitchHandshake::default(),
    })
}
