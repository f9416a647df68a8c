//! Requirements about the roles of controllers in OpenFlow 1.3, and about the messages that each
//! role receives.

use openflow::ErrorReason;

use crate::demands::{Fault, demand};
use crate::openflow::bench::{Bench, Change, Command};
use crate::openflow::{Trial, v1_3};

pub(super) const ALL: &[Trial] = &[
    v1_3(
        "7.3.9",
        "role-is-returned",
        "A role request is answered by the role that was asked for.",
        role_is_returned,
    ),
    v1_3(
        "6.3.6",
        "slave-may-not-write",
        "A slave changes flow entries: BAD_REQUEST/IS_SLAVE.",
        slave_may_not_write,
    ),
    v1_3(
        "7.3.9",
        "unknown-role",
        "A role is asked for that does not exist: ROLE_REQUEST_FAILED/BAD_ROLE.",
        unknown_role,
    ),
    v1_3(
        "6.3.6",
        "stale-generation",
        "The role of master is asked for with a generation that is older than the last: ROLE_REQUEST_FAILED/STALE.",
        stale_generation,
    ),
    v1_3(
        "7.3.10",
        "asynchronous-messages",
        "A request for the selection of asynchronous messages is answered.",
        asynchronous_messages,
    ),
];

const NO_CHANGE: u32 = 0;
const EQUAL: u32 = 1;
const MASTER: u32 = 2;
const SLAVE: u32 = 3;
/// The generation id of role requests. It is higher than those that other controllers are likely to
/// have used, so the switch does not refuse the requests as stale.
const GENERATION: u64 = 1 << 40;

fn role_is_returned(bench: &mut Bench) -> Result<(), Fault> {
    for role in [MASTER, SLAVE, EQUAL] {
        let request = bench.role(role, GENERATION);
        let reply = bench.answered(&request, 25)?;
        demand(reply.body().starts_with(&role.to_be_bytes()), || {
            format!("the answer to a request for role {role} has another role")
        })?;
        let request = bench.role(NO_CHANGE, GENERATION);
        let reply = bench.answered(&request, 25)?;
        demand(reply.body().starts_with(&role.to_be_bytes()), || {
            format!("the role is another one than {role}, which was asked for")
        })?;
    }
    Ok(())
}

fn slave_may_not_write(bench: &mut Bench) -> Result<(), Fault> {
    let request = bench.role(SLAVE, GENERATION);
    bench.answered(&request, 25)?;
    let frame = bench.flow_mod(&Change::new(Command::Add, 1));
    bench.refuse(&frame, &[ErrorReason::BadRequestIsSlave])?;
    let request = bench.role(EQUAL, GENERATION);
    bench.answered(&request, 25)?;
    bench.has_flows(&[])?;
    bench.add(1)
}

fn unknown_role(bench: &mut Bench) -> Result<(), Fault> {
    let request = bench.role(77, GENERATION);
    bench.refuse(&request, &[ErrorReason::RoleRequestBadRole])
}

fn stale_generation(bench: &mut Bench) -> Result<(), Fault> {
    let request = bench.role(MASTER, GENERATION);
    bench.answered(&request, 25)?;
    let request = bench.role(MASTER, GENERATION - 1);
    bench.refuse(&request, &[ErrorReason::RoleRequestStale])
}

fn asynchronous_messages(bench: &mut Bench) -> Result<(), Fault> {
    let request = bench.session.frame(26, &[]);
    let reply = bench.answered(&request, 27)?;
    demand(reply.body().len() == 24, || "the selection has another length than 24 bytes".to_owned())
}
