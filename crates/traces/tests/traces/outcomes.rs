//! All outcomes against an oracle: runs in which the groups have one member each.

use crate::support::{
    Member, SPREAD, copy, discard, forward, load, mirror, multicast, rewrite, spread,
};
use pipeline::{Detail, Switch};
use protos::trace::{Choice, Node, node::Next};
use std::collections::BTreeSet;
use std::time::Duration;
use traces::{Arrival, Contents, Effects, Trace, all_outcomes, trace_packet};

/// The packets that leave: port and bytes.
type Left = BTreeSet<(u32, Vec<u8>)>;

/// The groups of a switch that runs `spread.p4`.
#[derive(Clone, Debug)]
struct Groups {
    route: Vec<Member>,
    /// The group of egress at each port.
    marks: Vec<(u32, Vec<Member>)>,
    mirror: Option<u32>,
}

impl Groups {
    fn switch(&self) -> Switch {
        let mut switch = load("spread.p4", SPREAD);
        spread(&mut switch, "route", 7, &self.route);
        for (port, members) in &self.marks {
            spread(&mut switch, "rewrites", u64::from(*port), members);
        }
        multicast(&mut switch, 1, &[1, 2, 3]);
        multicast(&mut switch, 2, &[2]);
        if let Some(port) = self.mirror {
            mirror(&mut switch, 7, port);
        }
        switch
    }

    /// Returns the groups with one member of each: `route` of ingress, and of each group of egress
    /// the one at this position, or its last one.
    fn single(&self, route: usize, mark: usize) -> Self {
        let one = |members: &[Member], position: usize| {
            vec![Member { weight: 1, ..members[position.min(members.len() - 1)] }]
        };
        let marks = self.marks.iter().map(|(port, members)| (*port, one(members, mark)));
        Self { route: one(&self.route, route), marks: marks.collect(), ..self.clone() }
    }
}

fn outcomes(switch: &mut Switch, packet: &[u8], limit: u64) -> Trace {
    let arrival = Arrival { port: 4, packet, now: Duration::ZERO };
    all_outcomes(switch, arrival, Detail::Steps, limit).1
}

/// Adds the packets of all leaves below a node.
fn leaves(node: &Node, left: &mut Left) {
    match &node.next {
        Some(Next::Output(output)) => {
            left.insert((output.port, output.packet.to_vec()));
        }
        Some(Next::All(all)) => {
            all.copies.iter().flat_map(|copy| &copy.node).for_each(|node| leaves(node, left));
        }
        Some(Next::One(choice)) => {
            let alternatives = choice.alternatives.iter();
            alternatives.flat_map(|one| &one.node).for_each(|node| leaves(node, left));
        }
        Some(Next::Drop(_)) => {}
        other => panic!("{other:?}"),
    }
}

/// Returns the first choice of a trace.
fn choice(trace: &Trace) -> &Choice {
    match &trace.root.as_ref().expect("a tree").next {
        Some(Next::One(choice)) => choice,
        other => panic!("{other:?}"),
    }
}

fn process(switch: &mut Switch, packet: &[u8]) -> Left {
    let outputs = switch.process(4, packet, Duration::ZERO).expect("runs");
    outputs.into_iter().map(|output| (output.port, output.packet)).collect()
}

/// Checks the tree of a packet: below each alternative of ingress are the packets that leave when
/// the group has only its members, with each choice of egress.
fn check(groups: &Groups, packet: &[u8]) {
    let mut switch = groups.switch();
    let trace = outcomes(&mut switch, packet, 1024);
    let counts = trace.outcomes.expect("counts");
    assert_eq!((counts.left_out, counts.limit), (0, 1024));
    let marks = groups.marks.iter().map(|(_, members)| members.len()).max().unwrap_or(1);
    let expected = |route: usize| -> Left {
        (0..marks)
            .flat_map(|mark| process(&mut groups.single(route, mark).switch(), packet))
            .collect()
    };
    let different: BTreeSet<(&str, [u64; 2])> =
        groups.route.iter().map(|member| (member.action, member.arguments)).collect();
    if different.len() == 1 {
        let mut found = Left::new();
        leaves(trace.root.as_ref().expect("a tree"), &mut found);
        assert_eq!(found, expected(0), "{groups:?}");
    } else {
        let choice = choice(&trace);
        assert_eq!(choice.alternatives.len(), different.len(), "equal members are one");
        let weights: u64 = groups.route.iter().map(|member| u64::from(member.weight)).sum();
        assert_eq!(choice.weight, weights);
        for alternative in &choice.alternatives {
            let mut found = Left::new();
            leaves(alternative.node.as_ref().expect("a node"), &mut found);
            let mut weight = 0;
            for number in &alternative.members {
                let position = (*number - 7000) as usize;
                weight += u64::from(groups.route[position].weight);
                assert_eq!(found, expected(position), "member {number} of {groups:?}");
            }
            assert_eq!(alternative.weight, weight);
        }
        let by_hash = choice.alternatives.iter().filter(|alternative| alternative.by_hash);
        assert_eq!(by_hash.count(), 1);
    }
    // Nothing remains of what was tried, and the packet's own outcome is in the tree.
    let mut twin = groups.switch();
    let own = process(&mut switch, packet);
    assert_eq!(own, process(&mut twin, packet));
    let [seen, hits] = ["seen", "hits"].map(|name| switch.extern_named(name).expect("there"));
    assert_eq!(switch.register(seen, 0), twin.register(seen, 0));
    assert_eq!(switch.counter(hits, 1), twin.counter(hits, 1));
    let mut all = Left::new();
    leaves(trace.root.as_ref().expect("a tree"), &mut all);
    assert!(own.is_subset(&all));
}

#[test]
fn leaves_are_the_packets_that_leave_with_each_member() {
    let mut random = fastrand::Rng::with_seed(47);
    for _ in 0..60 {
        let mut weight = || 1 + random.u32(0..3);
        let weights = [weight(), weight(), weight(), weight(), weight(), weight()];
        let member = |random: &mut fastrand::Rng, weight| match random.u32(0..8) {
            0 => discard(weight),
            1 => copy(1, weight),
            2 => copy(2, weight),
            _ => forward(random.u64(1..4), random.u64(0..2), weight),
        };
        let route = weights[..random.usize(1..6)].iter().map(|weight| member(&mut random, *weight));
        let route = route.collect();
        let ports: Vec<u32> = (1..4).filter(|_| random.bool()).collect();
        let size = random.usize(1..4);
        let marks = |random: &mut fastrand::Rng| {
            (0..size).map(|_| rewrite(random.u64(10..13), 1)).collect()
        };
        let marks = ports.iter().map(|port| (*port, marks(&mut random))).collect();
        let mirror = random.bool().then_some(3);
        check(&Groups { route, marks, mirror }, &[7, random.u8(..), 9, 64, 1, 2]);
    }
}

/// Replicas of a packet choose apart from each other: their choices add up and do not multiply.
#[test]
fn choices_of_replicas_add_up() {
    let marks: Vec<Member> = (0..4).map(|mark| rewrite(10 + mark, 1)).collect();
    let groups = Groups {
        route: vec![copy(1, 1)],
        marks: (1..4).map(|port| (port, marks.clone())).collect(),
        mirror: None,
    };
    let trace = outcomes(&mut groups.switch(), &[7, 1, 0, 64], 1024);
    assert_eq!(trace.outcomes.expect("counts").explored, 1 + 3 * 3);
    let Some(Next::All(all)) = &trace.root.as_ref().expect("a tree").next else { panic!("copies") };
    let kinds: Vec<&str> = all.copies.iter().map(|copy| &*copy.kind).collect();
    assert_eq!(kinds, ["replicated"; 3]);
    for copy in &all.copies {
        let Some(Next::One(choice)) = &copy.node.as_ref().expect("a node").next else {
            panic!("a choice")
        };
        assert_eq!(choice.alternatives.len(), 4);
    }
    check(&groups, &[7, 1, 0, 64]);
}

#[test]
fn a_limit_cuts_the_tree_and_is_counted() {
    let route: Vec<Member> = (0..16).map(|port| forward(port, 1, 1)).collect();
    let groups = Groups { route, marks: Vec::new(), mirror: None };
    let trace = outcomes(&mut groups.switch(), &[7, 1, 0, 64], 5);
    let counts = trace.outcomes.expect("counts");
    assert_eq!((counts.explored, counts.left_out, counts.limit), (5, 11, 5));
    let cut = |node: &Node| matches!(node.next, Some(Next::Cut(_)));
    let alternatives = &choice(&trace).alternatives;
    let nodes = alternatives.iter().flat_map(|alternative| &alternative.node);
    assert_eq!(nodes.filter(|node| cut(node)).count(), 11);
    let own = alternatives.iter().find(|alternative| alternative.by_hash).expect("its own");
    assert!(!cut(own.node.as_ref().expect("a node")), "what happens is never left out");
    assert!(traces::text(&trace, false).contains("limit of 5 outcomes"));
}

/// A packet that is processed while all its outcomes are traced leaves as one that is not traced,
/// and one that is only tried leaves nothing behind.
#[test]
fn tracing_does_not_change_what_happens() {
    let route = vec![forward(1, 3, 1), forward(2, 4, 2), copy(1, 1)];
    let groups =
        Groups { route, marks: vec![(2, vec![rewrite(10, 1), rewrite(11, 1)])], mirror: Some(3) };
    for compiled in [false, true] {
        let make = || {
            let mut switch = groups.switch();
            if compiled {
                switch.compile().expect("compiles");
            }
            switch
        };
        let (mut plain, mut traced) = (make(), make());
        for flow in 0..100 {
            let packet = [7, flow, 0, 64];
            let arrival = Arrival { port: 4, packet: &packet, now: Duration::ZERO };
            let outcomes = (flow % 2 == 0).then_some(1024);
            let contents = Contents { detail: Detail::Steps, outcomes };
            let tried = trace_packet(&mut traced, arrival, contents, Effects::None);
            let expected = plain.process(4, &packet, Duration::ZERO);
            assert_eq!(tried.outputs, expected);
            let lasting = trace_packet(&mut traced, arrival, contents, Effects::Lasting);
            assert_eq!(lasting.outputs, expected);
            assert_eq!(lasting.trace, tried.trace);
        }
        let id = plain.extern_named("seen").expect("there");
        assert_eq!(traced.register(id, 0), plain.register(id, 0), "compiled: {compiled}");
        let id = plain.extern_named("hits").expect("there");
        assert_eq!(traced.counter(id, 1), plain.counter(id, 1), "compiled: {compiled}");
    }
}
