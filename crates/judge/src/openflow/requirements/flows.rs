//! Requirements about flow entries: how a switch adds, modifies, deletes and reports them.

use crate::demands::{Fault, demand};
use crate::openflow::bench::{
    Bench, CHECK_OVERLAP, COOKIE, Change, Command, PRIORITY, SEND_FLOW_REM,
};
use crate::openflow::{Trial, both, v1_3};
use openflow::ErrorReason;

pub(super) const ALL: &[Trial] = &[
    both(
        "4.6",
        "6.4",
        "flow-is-returned",
        "A flow entry that was added is returned with its priority, cookie, timeouts and output.",
        flow_is_returned,
    ),
    both(
        "4.6",
        "6.4",
        "same-flow-is-replaced",
        "A flow entry is added with the match and priority of another: it takes its place.",
        same_flow_is_replaced,
    ),
    both(
        "4.6",
        "6.4",
        "priority-tells-flows-apart",
        "Flow entries with the same match and different priorities are different entries.",
        priority_tells_flows_apart,
    ),
    both(
        "4.6",
        "6.4",
        "overlap-is-refused-on-demand",
        "A flow entry overlaps another of the same priority, and a check was asked for: OVERLAP, and it is not added.",
        overlap_is_refused_on_demand,
    ),
    both(
        "4.6",
        "6.4",
        "overlap-is-accepted-otherwise",
        "A flow entry overlaps another of the same priority, and no check was asked for: it is added.",
        overlap_is_accepted_otherwise,
    ),
    both(
        "4.6",
        "6.4",
        "modify-all",
        "A modification changes the actions of all entries that its match covers, of any priority.",
        modify_all,
    ),
    both(
        "4.6",
        "6.4",
        "modify-strict",
        "A strict modification changes only the entry with its match and priority.",
        modify_strict,
    ),
    both(
        "4.6",
        "6.4",
        "modify-what-is-not-there",
        "A modification meets no entry: no error; an entry is added in 1.0, and none in 1.3.",
        modify_what_is_not_there,
    ),
    both(
        "4.6",
        "6.4",
        "delete-all",
        "A deletion removes all entries that its match covers, of any priority.",
        delete_all,
    ),
    both(
        "4.6",
        "6.4",
        "delete-strict",
        "A strict deletion removes only the entry with its match and priority.",
        delete_strict,
    ),
    both(
        "4.6",
        "6.4",
        "delete-what-is-not-there",
        "A deletion meets no entry: there is no error.",
        delete_what_is_not_there,
    ),
    both(
        "4.6",
        "6.4",
        "delete-by-output",
        "A deletion with an output port removes only entries that send packets there.",
        delete_by_output,
    ),
    v1_3(
        "6.4",
        "delete-by-cookie",
        "A deletion with a cookie and a mask removes only entries with that cookie.",
        delete_by_cookie,
    ),
    both(
        "5.4.2",
        "7.4.2",
        "removal-is-notified",
        "An entry that asked for it is deleted: a message has its cookie, its priority and the reason.",
        removal_is_notified,
    ),
    both(
        "5.4.2",
        "7.4.2",
        "removal-is-not-notified-otherwise",
        "An entry that did not ask for it is deleted: there is no message.",
        removal_is_not_notified_otherwise,
    ),
    both(
        "5.3.5",
        "7.3.5.3",
        "aggregate-counts-flows",
        "The sums over flow entries have the number of those that were added.",
        aggregate_counts_flows,
    ),
];

fn flow_is_returned(bench: &mut Bench) -> Result<(), Fault> {
    let change = Change {
        output: Some(1),
        idle: 600,
        hard: 900,
        cookie: 0x0123_4567_89ab_cdef,
        ..Change::new(Command::Add, 1)
    };
    bench.change(&change)?;
    let flows = bench.has_flows(&[1])?;
    let found = &flows[0];
    let is_right = (found.priority, found.cookie, found.idle, found.hard)
        == (PRIORITY, change.cookie, 600, 900)
        && found.outputs == [1];
    demand(is_right, || format!("the entry is returned as {found:?}"))
}

fn same_flow_is_replaced(bench: &mut Bench) -> Result<(), Fault> {
    bench.add(1)?;
    let other = Change { output: Some(2), cookie: 7, ..Change::new(Command::Add, 1) };
    bench.change(&other)?;
    let flows = bench.has_flows(&[1])?;
    demand((flows[0].cookie, flows[0].outputs.as_slice()) == (7, &[2]), || {
        format!("the entry is {:?}", flows[0])
    })
}

fn priority_tells_flows_apart(bench: &mut Bench) -> Result<(), Fault> {
    bench.add(1)?;
    let other = Change { priority: PRIORITY + 1, ..Change::new(Command::Add, 1) };
    bench.change(&other)?;
    bench.has_flows(&[1, 1]).map(|_| ())
}

fn overlap_is_refused_on_demand(bench: &mut Bench) -> Result<(), Fault> {
    bench.add(1)?;
    let all = Change { flags: CHECK_OVERLAP, ..Change::new(Command::Add, None) };
    let frame = bench.flow_mod(&all);
    bench.refuse(&frame, &[ErrorReason::FlowModOverlap])?;
    let flows = bench.flows()?;
    demand(flows.len() == 1, || "the entry was added".to_owned())?;
    let other = Change { flags: CHECK_OVERLAP, ..Change::new(Command::Add, 2) };
    bench.change(&other)?;
    bench.has_flows(&[1, 2]).map(|_| ())
}

fn overlap_is_accepted_otherwise(bench: &mut Bench) -> Result<(), Fault> {
    bench.add(1)?;
    bench.change(&Change::new(Command::Add, None))?;
    let flows = bench.flows()?;
    demand(flows.len() == 2, || format!("the switch has {} of two entries", flows.len()))
}

/// Adds three entries, of which the second has a higher priority than the others.
fn three(bench: &mut Bench) -> Result<(), Fault> {
    bench.add(1)?;
    let higher = Change { priority: PRIORITY + 1, output: Some(1), ..Change::new(Command::Add, 1) };
    bench.change(&higher)?;
    bench.add(2)
}

fn modify_all(bench: &mut Bench) -> Result<(), Fault> {
    three(bench)?;
    bench.change(&Change { output: Some(2), ..Change::new(Command::Modify, 1) })?;
    outputs_are(bench, &[2, 2, 1])?;
    bench.change(&Change { output: Some(3), ..Change::new(Command::Modify, None) })?;
    outputs_are(bench, &[3, 3, 3])
}

fn modify_strict(bench: &mut Bench) -> Result<(), Fault> {
    three(bench)?;
    bench.change(&Change { output: Some(2), ..Change::new(Command::ModifyStrict, 1) })?;
    outputs_are(bench, &[2, 1, 1])
}

/// Demands that the bench's entries, ordered by destination and priority, send packets to these
/// ports.
fn outputs_are(bench: &mut Bench, wanted: &[u32]) -> Result<(), Fault> {
    let flows = bench.flows()?;
    let found: Vec<u32> = flows.iter().flat_map(|flow| flow.outputs.clone()).collect();
    demand(found == wanted, || {
        format!("the entries send packets to ports {found:?} where {wanted:?} are demanded")
    })
}

fn modify_what_is_not_there(bench: &mut Bench) -> Result<(), Fault> {
    for command in [Command::Modify, Command::ModifyStrict] {
        bench.change(&Change { output: Some(1), ..Change::new(command, 1) })?;
        let wanted: &[u8] = if bench.is_v1_0() { &[1] } else { &[] };
        bench.has_flows(wanted)?;
        bench.change(&Change::new(Command::Delete, 1))?;
    }
    Ok(())
}

fn delete_all(bench: &mut Bench) -> Result<(), Fault> {
    three(bench)?;
    bench.change(&Change::new(Command::Delete, 1))?;
    bench.has_flows(&[2])?;
    bench.add(1)?;
    bench.change(&Change::new(Command::Delete, None))?;
    bench.has_flows(&[]).map(|_| ())
}

fn delete_strict(bench: &mut Bench) -> Result<(), Fault> {
    three(bench)?;
    bench.change(&Change::new(Command::DeleteStrict, 1))?;
    let flows = bench.has_flows(&[1, 2])?;
    demand(flows[0].priority == PRIORITY + 1, || {
        "the entry with the other priority was deleted".to_owned()
    })?;
    // A strict deletion must keep the remaining entries: its match covers theirs, but is not equal
    // to them.
    bench.change(&Change::new(Command::DeleteStrict, None))?;
    bench.has_flows(&[1, 2]).map(|_| ())
}

fn delete_what_is_not_there(bench: &mut Bench) -> Result<(), Fault> {
    bench.change(&Change::new(Command::Delete, 1))?;
    bench.change(&Change::new(Command::DeleteStrict, 1))?;
    bench.has_flows(&[]).map(|_| ())
}

fn delete_by_output(bench: &mut Bench) -> Result<(), Fault> {
    bench.add(1)?;
    bench.change(&Change { output: Some(2), ..Change::new(Command::Add, 2) })?;
    bench.change(&Change { out_port: Some(2), ..Change::new(Command::Delete, None) })?;
    bench.has_flows(&[1]).map(|_| ())
}

fn delete_by_cookie(bench: &mut Bench) -> Result<(), Fault> {
    bench.add(1)?;
    bench.change(&Change { cookie: COOKIE + 1, ..Change::new(Command::Add, 2) })?;
    let delete = Change { cookie_mask: u64::MAX, ..Change::new(Command::Delete, None) };
    bench.change(&delete)?;
    bench.has_flows(&[2]).map(|_| ())
}

fn removal_is_notified(bench: &mut Bench) -> Result<(), Fault> {
    let add = Change { flags: SEND_FLOW_REM, cookie: 0x77, ..Change::new(Command::Add, 1) };
    bench.change(&add)?;
    bench.change(&Change::new(Command::Delete, 1))?;
    let notice = bench.removed()?;
    let notice = notice.ok_or_else(|| Fault::Broken("the switch sent no message".to_owned()))?;
    // The cookie, the priority and the reason follow the match in 1.0, and are first in 1.3.
    let start = if bench.is_v1_0() { 40 } else { 0 };
    let fields = notice.body().get(start..start + 11).unwrap_or_default();
    let mut wanted = 0x77_u64.to_be_bytes().to_vec();
    wanted.extend(PRIORITY.to_be_bytes());
    wanted.push(2);
    demand(fields == wanted, || {
        "the message has another cookie, priority or reason than those".to_owned()
    })
}

fn removal_is_not_notified_otherwise(bench: &mut Bench) -> Result<(), Fault> {
    bench.add(1)?;
    bench.change(&Change::new(Command::Delete, 1))?;
    let notice = bench.removed()?;
    demand(notice.is_none(), || "the switch sent a message".to_owned())
}

fn aggregate_counts_flows(bench: &mut Bench) -> Result<(), Fault> {
    three(bench)?;
    // The match of all flows of the bench is that of a flow-mod.
    let frame = bench.flow_mod(&Change::new(Command::Delete, None));
    let (request, offset) = match bench.is_v1_0() {
        true => ([&frame[8..48], &[0xff, 0, 0xff, 0xff]].concat(), 4 + 16),
        false => {
            let mut body = vec![0xff, 0, 0, 0];
            body.extend([0xff; 8]);
            body.extend([0; 4]);
            body.extend([0; 16]);
            body.extend(&frame[48..]);
            (body, 8 + 16)
        }
    };
    let request = bench.statistics(2, &request);
    let kind = if bench.is_v1_0() { 17 } else { 19 };
    let reply = bench.answered(&request, kind)?;
    let count = reply.body().get(offset..offset + 4).and_then(|bytes| bytes.try_into().ok());
    let count = count.map(u32::from_be_bytes);
    demand(count == Some(3), || format!("the sums are over {count:?} entries where 3 were added"))
}
