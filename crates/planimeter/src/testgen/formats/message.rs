//! Converts generated tests to a message of protocol buffers, `planimeter.testgen.v1.Suite`.

use p4runtime::proto::testgen as proto;
use p4runtime::proto::v1::Update;
use symbolic::generated::{Exchange, ExpireTime, Output, Test};

use super::JsonGoal;
use super::entities::{NoUpdate, bytes, masked};

/// Converts a test, and the updates that configure the switch for it, to a message.
pub(super) fn test(test: &Test, updates: Vec<Update>) -> Result<proto::Test, NoUpdate> {
    let earlier = test.earlier.iter().map(exchange).collect::<Result<_, _>>()?;
    Ok(proto::Test {
        number: small(test.number),
        goal: test.goal.clone(),
        updates,
        received: Some(packet(test.seconds, test.port, &test.packet)?),
        expected: expected(&test.outputs)?,
        earlier,
        expire_times: test.expire_times.iter().map(expire_time).collect(),
    })
}

fn exchange(exchange: &Exchange) -> Result<proto::Exchange, NoUpdate> {
    Ok(proto::Exchange {
        received: Some(packet(exchange.seconds, exchange.port, &exchange.packet)?),
        expected: expected(&exchange.outputs)?,
    })
}

fn expire_time(time: &ExpireTime) -> proto::ExpireTime {
    proto::ExpireTime { profile: time.profile, seconds: time.seconds }
}

fn packet(seconds: u32, port: u32, digits: &str) -> Result<proto::Packet, NoUpdate> {
    let payload = bytes(digits).ok_or_else(|| NoUpdate::Number(digits.to_owned()))?;
    Ok(proto::Packet { port, payload: payload.into(), seconds })
}

fn expected(outputs: &[Output]) -> Result<Vec<proto::Expected>, NoUpdate> {
    let expected = |output: &Output| {
        let found = masked(&output.digits)?;
        Ok(proto::Expected {
            port: output.port,
            payload: found.payload.into(),
            mask: found.mask.into(),
        })
    };
    outputs.iter().map(expected).collect()
}

/// Converts a goal with its verdict to a message.
pub(super) fn goal(goal: &JsonGoal<'_>) -> proto::Goal {
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    proto::Goal {
        kind: goal.kind.to_owned(),
        name: goal.name.to_owned(),
        place: text(goal.place),
        verdict: goal.verdict.to_owned(),
        test: goal.test.map_or(0, small),
        reason: text(goal.reason),
        packets: goal.packets.unwrap_or(0),
    }
}

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
