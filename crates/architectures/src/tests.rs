//! Tests of the rules by which architectures decide about packets. The expected decisions are in
//! tables taken from the architectures' documents. Each case of each rule, and the order of any two
//! cases, affects at least one row.

use super::MetadataField as Of;
use super::{
    Condition, Copies, DROP_PORT, Fate, Outcome, PNA, PSA, PSA_PORT_RECIRCULATE, Packet, Port,
    Request, Requests, Rules, V1MODEL,
};

const DROP: Fate = Fate::Drop { reason: "" };

/// A packet after a block has run, and the decision that is expected for it.
struct Row {
    /// The metadata fields that are not zero, with their numbers.
    fields: &'static [(Of, u128)],
    calls: &'static [Call],
    /// The output port of the packet, if it has one already.
    port: Option<u32>,
    copies: &'static [u32],
    fate: Fate,
}

/// A request that a block makes to the architecture.
enum Call {
    Clone(u32),
    Mirror(u32),
    Resubmit,
    Recirculate,
}

use Call::{Clone, Mirror, Recirculate, Resubmit};

impl Requests for &[Call] {
    fn sessions(&self) -> Vec<u32> {
        let session = |call: &Call| match call {
            Clone(session) | Mirror(session) => Some(*session),
            Resubmit | Recirculate => None,
        };
        self.iter().filter_map(session).collect()
    }

    fn pass(&self, pass: Request) -> bool {
        self.iter().any(|call| match call {
            Resubmit => pass == Request::Resubmit,
            Recirculate => pass == Request::Recirculate,
            Clone(_) | Mirror(_) => false,
        })
    }
}

const fn to(port: u32) -> Fate {
    Fate::Unicast { port }
}

/// Returns a row for a packet that has no output port yet.
const fn row(
    fields: &'static [(Of, u128)],
    calls: &'static [Call],
    copies: &'static [u32],
    fate: Fate,
) -> Row {
    Row { fields, calls, port: None, copies, fate }
}

/// Returns a row for a packet that goes to a port.
const fn row_to(
    port: u32,
    fields: &'static [(Of, u128)],
    calls: &'static [Call],
    copies: &'static [u32],
    fate: Fate,
) -> Row {
    Row { fields, calls, port: Some(port), copies, fate }
}

/// The expected decisions of v1model at the end of ingress (`docs/simple_switch.md`).
const V1MODEL_INGRESS: &[Row] = &[
    row(&[], &[], &[], to(0)),
    row(&[(Of::EgressSpec, 4)], &[], &[], to(4)),
    row(&[(Of::EgressSpec, 511)], &[], &[], DROP),
    row(&[(Of::EgressSpec, 511)], &[Clone(3)], &[3], DROP),
    row(&[(Of::McastGrp, 5)], &[], &[], Fate::Multicast { group: 5 }),
    row(&[(Of::McastGrp, 5), (Of::EgressSpec, 511)], &[], &[], Fate::Multicast { group: 5 }),
    row(&[(Of::McastGrp, 5)], &[Resubmit], &[], Fate::Resubmit),
    row(&[(Of::EgressSpec, 511)], &[Resubmit, Clone(3)], &[3], Fate::Resubmit),
];

/// The expected decisions of v1model before a packet enters the queue of a port. Ports have one
/// queue here.
const V1MODEL_QUEUE: &[Row] =
    &[row_to(4, &[], &[], &[], to(4)), row_to(4, &[(Of::Priority, 1)], &[], &[], DROP)];

/// The expected decisions of v1model at the end of egress (`docs/simple_switch.md`).
const V1MODEL_EGRESS: &[Row] = &[
    row_to(4, &[], &[], &[], to(4)),
    row_to(4, &[(Of::EgressSpec, 7)], &[Clone(3)], &[3], to(4)),
    row_to(4, &[(Of::EgressSpec, 511)], &[Clone(3)], &[3], DROP),
    row_to(4, &[], &[Recirculate], &[], Fate::Recirculate),
    row_to(4, &[(Of::EgressSpec, 511)], &[Recirculate], &[], DROP),
];

/// The expected decisions of PSA at the end of ingress (PSA 1.2, section 6.2).
const PSA_INGRESS: &[Row] = &[
    row(&[(Of::EgressPort, 4)], &[], &[], to(4)),
    row(&[(Of::Drop, 1), (Of::EgressPort, 4)], &[], &[], DROP),
    row(&[(Of::Drop, 1), (Of::Resubmit, 1)], &[], &[], DROP),
    row(&[(Of::Drop, 1), (Of::MulticastGroup, 5)], &[], &[], DROP),
    row(&[(Of::Resubmit, 1), (Of::MulticastGroup, 5)], &[], &[], Fate::Resubmit),
    row(&[(Of::MulticastGroup, 5)], &[], &[], Fate::Multicast { group: 5 }),
    row(&[(Of::Clone, 1), (Of::CloneSessionId, 3), (Of::Drop, 1)], &[], &[3], DROP),
    row(&[(Of::CloneSessionId, 3), (Of::EgressPort, 4)], &[], &[], to(4)),
];

const AGAIN: u32 = PSA_PORT_RECIRCULATE as u32;

/// The expected decisions of PSA at the end of egress (PSA 1.2, section 6.5).
const PSA_EGRESS: &[Row] = &[
    row_to(4, &[], &[], &[], to(4)),
    row_to(4, &[(Of::Drop, 1)], &[], &[], DROP),
    row_to(AGAIN, &[], &[], &[], Fate::Recirculate),
    row_to(AGAIN, &[(Of::Drop, 1)], &[], &[], DROP),
    row_to(4, &[(Of::Clone, 1), (Of::CloneSessionId, 3), (Of::Drop, 1)], &[], &[3], DROP),
];

/// The expected decisions of PNA after the main control (PNA 0.7, section 3).
const PNA_MAIN: &[Row] = &[
    row(&[], &[], &[], DROP),
    row_to(4, &[], &[], &[], to(4)),
    row_to(4, &[], &[Mirror(3)], &[3], to(4)),
    row(&[], &[Mirror(3)], &[3], DROP),
    row(&[], &[Recirculate], &[], Fate::Recirculate),
    row_to(4, &[], &[Recirculate], &[], Fate::Recirculate),
];

/// Returns the rules of all architectures, each with its name and its rows.
fn all() -> [(&'static str, &'static Rules, &'static [Row]); 6] {
    [
        ("v1model, ingress", &V1MODEL.after_ingress, V1MODEL_INGRESS),
        ("v1model, queue", &V1MODEL.before_queue, V1MODEL_QUEUE),
        ("v1model, egress", &V1MODEL.after_egress, V1MODEL_EGRESS),
        ("PSA, ingress", &PSA.after_ingress, PSA_INGRESS),
        ("PSA, egress", &PSA.after_egress, PSA_EGRESS),
        ("PNA", &PNA.after_ingress, PNA_MAIN),
    ]
}

/// Returns whether rules make the decision that a row expects.
fn holds(rules: &Rules, row: &Row) -> bool {
    let number = |field| {
        let found = row.fields.iter().find(|(known, _)| *known == field);
        found.map_or(0, |(_, number)| *number)
    };
    let requests: Option<&dyn Requests> = Some(&row.calls);
    let packet = Packet { requests, number, port: row.port, drop_port: DROP_PORT, queues: 1 };
    let decision = rules.decide(&packet);
    let fate = match decision.fate {
        Fate::Drop { .. } => DROP,
        fate => fate,
    };
    (decision.copies.as_slice(), fate) == (row.copies, row.fate)
}

#[test]
fn packets_go_where_the_documents_say() {
    for (name, rules, rows) in all() {
        for (number, row) in rows.iter().enumerate() {
            assert!(holds(rules, row), "{name}, row {number}");
        }
    }
}

/// Returns a copy of rules with the given cases in place of their own.
fn with(rules: &Rules, cases: Vec<(Condition, Outcome)>) -> Rules {
    Rules { cases: Vec::leak(cases), ..*rules }
}

#[test]
fn each_part_of_the_rules_makes_a_difference() {
    for (name, rules, rows) in all() {
        let fails = |what: &str, other: &Rules| {
            assert!(rows.iter().any(|row| !holds(other, row)), "{name}: {what} passes all rows");
        };
        for position in 0..rules.cases.len() {
            let mut without = rules.cases.to_vec();
            without.remove(position);
            fails(&format!("without case {position}"), &with(rules, without));
            if position > 0 {
                let mut swapped = rules.cases.to_vec();
                swapped.swap(position - 1, position);
                fails(&format!("with case {position} first"), &with(rules, swapped));
            }
        }
        if !matches!(rules.copies, Copies::Never) {
            fails("without copies", &Rules { copies: Copies::Never, ..*rules });
        }
        let otherwise = match rules.otherwise {
            Port::In(_) => Port::Own,
            Port::Own => Port::In(Of::EgressPort),
        };
        fails("with another port", &Rules { otherwise, ..*rules });
    }
}
