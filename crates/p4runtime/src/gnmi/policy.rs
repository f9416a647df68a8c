//! Scheduler policies of `openconfig-qos`: Set requests that replace a whole
//! `qos/scheduler-policies/scheduler-policy[name=PORT]`, and thereby the queues of the port with
//! that name.
//!
//! The schedulers of a policy are the priority levels of the port, of which the one with the lowest
//! sequence is the most urgent. The inputs of a scheduler are queues, with weights. If a scheduler
//! has only one queue, it may set the queue's rate, burst and depth (`one-rate-two-color`). The
//! rate of the port, its overhead and its buffer are not in the model, and a Set request leaves
//! them unchanged. It removes a setting of a queue that the model cannot express, such as ECN.
//! Everything else in a policy is refused with an error that names it.

use std::{
    collections::BTreeMap,
    num::{NonZeroU32, NonZeroU64},
};

use queues::{Limit, PortConfig, QueueConfig, Shaper, config::Share};
use serde_json::{Map, Value};

use super::{
    leaf::{CONFIG, ID, NAME},
    messages::{Path, SetRequest},
    paths,
    port::Port,
    qos::{ONE_RATE, POLICIES, POLICY, QOS, QUEUE, SEQUENCE, WEIGHT},
    setting,
};
use crate::{
    control::QueueChange,
    status::{Code, EntityError},
};

/// Returns whether a path of a Set request belongs to this model.
pub(super) fn is_of_model(path: &Path) -> bool {
    path.elem.first().is_some_and(|elem| elem.name == QOS)
}

/// Returns the change of queues that a Set request describes. `paths` are the joined paths of its
/// replacements and updates, and `configured` returns the queues of a port before the change.
pub(super) fn change(
    request: &SetRequest,
    paths: &[Path],
    ports: &[Port],
    configured: impl Fn(u32) -> Option<PortConfig>,
) -> Result<QueueChange, EntityError> {
    let mut change = QueueChange::default();
    for (position, path) in paths.iter().enumerate() {
        let port = named(path, ports)?;
        let Some(update) = request.replace.get(position) else {
            return Err(unimplemented(path, "can only be replaced as a whole"));
        };
        let policy = plain(setting::json(update)?);
        let before = configured(port.number).unwrap_or_else(|| PortConfig::new(1));
        let config = port_config(&policy, port, &before);
        let config = config.map_err(|error| error.within(paths::shown(path)))?;
        if change.ports.insert(port.number, Some(config)).is_some() {
            return Err(EntityError::invalid(format!("{} is set twice.", paths::shown(path))));
        }
    }
    Ok(change)
}

/// Returns the port whose policy a path names.
fn named<'p>(path: &Path, ports: &'p [Port]) -> Result<&'p Port, EntityError> {
    let [qos, policies, policy] = path.elem.as_slice() else {
        return Err(unimplemented(path, INSTEAD));
    };
    let names = [qos, policies, policy].map(|elem| elem.name.as_str());
    let name = policy.key.get(NAME).filter(|_| policy.key.len() == 1);
    let (Some(name), [QOS, POLICIES, POLICY]) = (name, names) else {
        return Err(unimplemented(path, INSTEAD));
    };
    let missing = || EntityError::not_found(format!("There is no interface {name:?}."));
    ports.iter().find(|port| port.name == *name).ok_or_else(missing)
}

/// The end of the error message about a path that cannot be set. It names a path that can be set
/// instead.
const INSTEAD: &str = "cannot be set; replace qos/scheduler-policies/scheduler-policy[name=INTERFACE], or use SetQueues \
                       of planimeter.switch.v1.SwitchControl";

fn unimplemented(path: &Path, what: &str) -> EntityError {
    EntityError::new(Code::Unimplemented, format!("{} {what}.", paths::shown(path)))
}

fn port_config(
    policy: &Value,
    port: &Port,
    before: &PortConfig,
) -> Result<PortConfig, EntityError> {
    let policy = members(policy, "the policy", &[NAME, CONFIG, "schedulers"])?;
    let config = policy.get(CONFIG).map(|config| members(config, CONFIG, &[NAME])).transpose()?;
    for name in [policy.get(NAME), config.and_then(|config| config.get(NAME))] {
        if let Some(name) = name.filter(|name| name.as_str() != Some(&port.name)) {
            return Err(EntityError::invalid(format!("The name {name} differs from the path's.")));
        }
    }
    let mut levels = BTreeMap::new();
    for scheduler in list(policy, "schedulers", "scheduler")? {
        let (sequence, queues) = level(scheduler)?;
        let place = format!("scheduler[{SEQUENCE}={sequence}]");
        if levels.insert(sequence, queues).is_some() {
            return Err(EntityError::invalid(format!("{place} is there twice.")));
        }
    }
    if levels.len() > usize::from(queues::MAX_QUEUES) {
        return Err(EntityError::invalid(format!("There are {} schedulers.", levels.len())));
    }
    let mut queues = BTreeMap::new();
    // The lowest sequence comes first and is the most urgent.
    for (level, (_, inputs)) in (0..).zip(levels.into_iter().rev()) {
        for (number, queue) in inputs {
            if queues.insert(number, QueueConfig { level, ..queue }).is_some() {
                return Err(EntityError::invalid(format!("Queue {number} is in two inputs.")));
            }
        }
    }
    let count = queues.len();
    if count == 0 || queues.keys().last().map(|last| usize::from(*last) + 1) != Some(count) {
        return Err(EntityError::invalid(
            "The queues of the inputs must be numbered from 0 without gaps, and at least one.",
        ));
    }
    let config = PortConfig { queues: queues.into_values().collect(), ..before.clone() };
    config.check().map_err(|problem| EntityError::invalid(format!("{problem}.")))?;
    Ok(config)
}

/// The queues of a scheduler, each with its number. Their priority level is not known yet.
type Inputs = Vec<(u8, QueueConfig)>;

/// Parses a scheduler. Returns its sequence and its queues.
fn level(scheduler: &Value) -> Result<(u64, Inputs), EntityError> {
    let known = [SEQUENCE, CONFIG, "inputs", ONE_RATE];
    let scheduler = members(scheduler, "scheduler", &known)?;
    let none = || EntityError::invalid("A scheduler has no sequence.");
    let sequence = scheduler.get(SEQUENCE).ok_or_else(none);
    let sequence = number(sequence?, SEQUENCE)?;
    let within = |error: EntityError| error.within(format!("scheduler[{SEQUENCE}={sequence}]"));
    if let Some(config) = scheduler.get(CONFIG) {
        let config = members(config, CONFIG, &[SEQUENCE, "priority"]).map_err(within)?;
        if config.get("priority").is_some_and(|priority| priority.as_str() != Some("STRICT")) {
            return Err(within(EntityError::invalid("priority is STRICT or left out.")));
        }
    }
    let inputs = list(scheduler, "inputs", "input").map_err(within)?;
    let queues = inputs.iter().map(input).collect::<Result<Inputs, _>>();
    let mut queues = queues.map_err(within)?;
    if let Some(rate) = scheduler.get(ONE_RATE) {
        let [(_, queue)] = queues.as_mut_slice() else {
            let message = format!("{ONE_RATE} needs exactly one input, whose queue it shapes.");
            return Err(within(EntityError::invalid(message)));
        };
        shape(rate, queue).map_err(within)?;
    }
    Ok((sequence, queues))
}

/// Parses an input of a scheduler. Returns the number of its queue, and the queue with its weight.
fn input(input: &Value) -> Result<(u8, QueueConfig), EntityError> {
    let input = members(input, "input", &[ID, CONFIG])?;
    let none = || EntityError::invalid("An input has no config with its queue.");
    let config = input.get(CONFIG).ok_or_else(none)?;
    let config = members(config, CONFIG, &[ID, "input-type", QUEUE, WEIGHT])?;
    if config.get("input-type").is_some_and(|kind| kind.as_str() != Some("QUEUE")) {
        return Err(EntityError::invalid("input-type is QUEUE or left out."));
    }
    let wrong =
        || EntityError::invalid("queue is the number of a queue as a string, from 0 to 63.");
    let number = config.get(QUEUE).and_then(Value::as_str).and_then(|text| text.parse().ok());
    let number: u8 = number.filter(|number| *number < queues::MAX_QUEUES).ok_or_else(wrong)?;
    let mut queue = QueueConfig::new(number);
    if let Some(weight) = config.get(WEIGHT) {
        let weight = self::number(weight, WEIGHT)?;
        let weight = u32::try_from(weight).ok().and_then(NonZeroU32::new);
        let wrong = || EntityError::invalid(format!("weight is from 1 to {}.", u32::MAX));
        queue.share = Share::Packets(weight.ok_or_else(wrong)?);
    }
    Ok((number, queue))
}

/// Parses the rate, burst and depth in `rate` and stores them in `queue`.
fn shape(rate: &Value, queue: &mut QueueConfig) -> Result<(), EntityError> {
    let Some(config) = members(rate, ONE_RATE, &[CONFIG])?.get(CONFIG) else { return Ok(()) };
    let known =
        ["cir", "bc", "queuing-behavior", "max-queue-depth-packets", "max-queue-depth-bytes"];
    let config = members(config, ONE_RATE, &known)?;
    let get = |name: &str| config.get(name).map(|value| number(value, name)).transpose();
    if config.get("queuing-behavior").is_some_and(|kind| kind.as_str() != Some("SHAPE")) {
        return Err(EntityError::invalid("queuing-behavior is SHAPE or left out."));
    }
    let burst = get("bc")?;
    let bits = get("cir")?.map(|rate| {
        let zero = || EntityError::invalid("cir must not be 0; leave it out for no rate.");
        let rate = NonZeroU64::new(rate).ok_or_else(zero)?;
        Ok::<_, EntityError>(Limit { rate, burst: burst.unwrap_or(0).saturating_mul(8) })
    });
    let bits = bits.transpose()?;
    if bits.is_none() && burst.is_some() {
        return Err(EntityError::invalid("bc has no effect without cir."));
    }
    queue.shaper = Shaper { bits, packets: None };
    let packets = get("max-queue-depth-packets")?.map(|packets| {
        let wrong = |_| EntityError::invalid("max-queue-depth-packets has at most 32 bits.");
        u32::try_from(packets).map_err(wrong)
    });
    queue.set_depth(packets.transpose()?, get("max-queue-depth-bytes")?);
    Ok(())
}

/// Removes the prefix with this model's module, which RFC 7951 allows, from the names of all
/// members of a JSON value.
fn plain(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let name = |name: String| match name.strip_prefix("openconfig-qos:") {
                Some(plain) => plain.to_owned(),
                None => name,
            };
            members.into_iter().map(|(key, value)| (name(key), plain(value))).collect()
        }
        Value::Array(entries) => entries.into_iter().map(plain).collect(),
        other => other,
    }
}

/// Returns the members of a JSON object. Returns an error if the name of a member is not in
/// `known`.
fn members<'v>(
    value: &'v Value,
    place: &str,
    known: &[&str],
) -> Result<&'v Map<String, Value>, EntityError> {
    let Value::Object(members) = value else {
        return Err(EntityError::invalid(format!("{place} is a container, and {value} is not.")));
    };
    match members.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(members),
        Some(name) => Err(EntityError::unimplemented(format!(
            "{place}/{name} is not served; served are {}.",
            known.join(", ")
        ))),
    }
}

/// Returns the entries of the list `name` in a container of `object`, or none if the container is
/// absent.
fn list<'v>(
    object: &'v Map<String, Value>,
    container: &str,
    name: &str,
) -> Result<&'v [Value], EntityError> {
    let Some(found) = object.get(container) else { return Ok(&[]) };
    match members(found, container, &[name])?.get(name) {
        None => Ok(&[]),
        Some(Value::Array(entries)) => Ok(entries),
        Some(other) => {
            Err(EntityError::invalid(format!("{container}/{name} is a list, and {other} is not.")))
        }
    }
}

/// Parses an unsigned number. In RFC 7951, 64-bit numbers are strings, so a string of digits is
/// accepted, too.
fn number(value: &Value, name: &str) -> Result<u64, EntityError> {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok());
    number.ok_or_else(|| EntityError::invalid(format!("{name} is a number, and {value} is not.")))
}
