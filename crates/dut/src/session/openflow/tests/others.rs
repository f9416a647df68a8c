//! Several connections of one switch.

use super::*;
use crate::updates::Measured;
use crate::window::Operation;

const RATE: f64 = 20_000.0;

fn with_controllers(made: MadeSwitch, faults: Faults) -> (Vec<Measured>, usize) {
    let loads = [1, 2, 3].map(|controllers| Load { controllers, ..Load::new(10, 6) }).to_vec();
    let updates = Some(updates_of(loads, 2, Duration::from_millis(100)));
    let plan = Plan { updates, reads: None, capacity: None, ..short_plan() };
    let (found, left) = measured(MadeSwitch { connections: 3, faults, ..made }, &plan);
    assert_eq!((found.failures, found.late_errors), (Vec::new(), 0));
    (found.updates, left)
}

#[test]
fn several_connections_update_one_table() {
    for version in VERSIONS {
        let made = MadeSwitch::new(version, Faults::default());
        let (found, left) = with_controllers(made, Faults::default());
        assert_eq!((found.len(), left), (9, 0), "{version}");
        for one in &found {
            let what = format!("{version}, {:?}", one.load);
            assert_eq!((&one.unimplemented, one.refused()), (&None, 0), "{what}");
            assert_eq!(one.missing().unwrap_or(0), 0, "{what}");
            let accepted = |phase: &crate::Phase| {
                let sum: u64 = phase.by_controller.iter().sum();
                sum == phase.accepted.len() as u64
            };
            match one.load.controllers {
                1 => assert_eq!(one.least_share(), None, "{what}"),
                2.. => {
                    assert!(one.rounds.iter().all(accepted), "{what}");
                    // On a busy machine, series may be too short to tell.
                    assert!(one.least_share().is_none_or(|share| share > 0.0), "{what}");
                }
                0 => panic!("{what}"),
            }
        }
        // All inserted entries are also modified and deleted, whichever connection sends the
        // update.
        for load in found.chunks(Operation::ALL.len()) {
            let counts: Vec<usize> = load
                .iter()
                .flat_map(|one| one.rounds.first())
                .map(|one| one.accepted.len())
                .collect();
            assert!(counts.iter().all(|count| *count == counts[0] && *count > 0), "{counts:?}");
        }
    }
}

#[test]
fn a_cap_that_all_connections_share_bounds_their_sum() {
    let faults = Faults { rate: Some(RATE), ..Faults::default() };
    let (found, left) = with_controllers(MadeSwitch::new(Version::V1_3, faults), faults);
    assert_eq!(left, 0);
    for one in found {
        assert!(one.rates().iter().all(|rate| *rate <= RATE), "{:?}: {:?}", one.load, one.rates());
    }
}

#[test]
fn a_switch_with_fewer_connections_is_told() {
    let mut connects = Connects::new(MadeSwitch::new(Version::V1_3, Faults::default()));
    let stop = AtomicBool::new(false);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let target = target(Version::V1_3, FlowMatch::Mac);
    let session = runtime.expect("a runtime").block_on(target.open(100, &stop, &mut connects));
    let mut session = session.expect("it connects");
    let Channel::OpenFlow(channel) = session.channel() else { panic!("it is OpenFlow") };
    let refusal = channel.accept_others(2, Duration::from_millis(300), &stop).expect("it waits");
    let refusal = refusal.expect("there is one");
    assert_eq!(refusal.code, "no connection");
    assert!(refusal.message.starts_with("1 of 2 connections came to 127.0.0.1:"), "{refusal:?}");
}
