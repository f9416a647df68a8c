use super::document::place;
use super::*;

/// Returns a packet of some bytes that reaches goals and takes this many cycles.
fn packet(bytes: usize, reached: &[usize], cycles: f64) -> Measured {
    let test = Test {
        number: 1,
        goal: String::new(),
        entries: Vec::new(),
        defaults: Vec::new(),
        registers: Vec::new(),
        sessions: Vec::new(),
        groups: Vec::new(),
        earlier: Vec::new(),
        port: 0,
        packet: "00".repeat(bytes),
        outputs: Vec::new(),
    };
    Measured { test, reached: reached.to_vec(), cycles }
}

#[test]
fn the_costs_of_goals_and_bytes_are_found() {
    // Each packet costs 1,000 cycles and 10 for 64 bytes. Goal 0 costs 200, and goal 2 costs 500.
    let cost = |bytes: usize, reached: &[usize]| {
        let goals: f64 = reached.iter().map(|goal| [200.0, 0.0, 500.0][*goal]).sum();
        1_000.0 + 10.0 * bytes as f64 / 64.0 + goals
    };
    let mut packets = Vec::new();
    for bytes in [64, 640, 1_280] {
        for reached in [&[][..], &[0], &[1], &[2], &[0, 1], &[0, 2], &[1, 2]] {
            packets.push(packet(bytes, reached, cost(bytes, reached)));
        }
    }
    let costs = Costs::fit(3, &packets);
    assert!(costs.error(&packets) < 0.01, "{}", costs.error(&packets));
    // No packet reached all goals.
    let (all, expected) = (costs.of(640.0, &[0, 1, 2]), cost(640, &[0, 1, 2]));
    assert!((all / expected - 1.0).abs() < 0.01, "{all} instead of {expected}");
}

#[test]
fn the_place_counts_all_packets_that_cost_more() {
    let predicted = |cycles: f64| Predicted {
        measured: packet(64, &[], cycles),
        length: 64,
        predicted: 0.0,
        bound: 0.0,
    };
    let findings = Findings {
        path: Path::Interpreter,
        refused: None,
        origin: String::new(),
        fitted: vec![packet(64, &[], 5.0), packet(64, &[], 9.0)],
        error: 0.0,
        predicted: vec![predicted(7.0), predicted(10.0)],
    };
    let places: Vec<usize> =
        findings.predicted.iter().map(|one| place(&findings, &one.measured)).collect();
    assert_eq!(places, [3, 1]);
}
