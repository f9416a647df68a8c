//! Tests that the kernel timestamps frames where they leave and enter an interface, and that an
//! interface without a hardware clock is refused one.

use crate::namespace::Namespace;
use crate::{frame, send, wait_until};
use packetio::timestamp::{Direction, StampedBy, Timestamper};
use packetio::{OpenError, af_packet};
use std::time::{SystemTime, UNIX_EPOCH};

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later than 1970");
    since.as_nanos() as u64
}

#[test]
fn frames_are_stamped_where_they_leave_and_where_they_come_in() {
    let Some(namespace) = Namespace::new() else { return };
    namespace.link("left", &namespace, "right", 1500);
    namespace.run(|| {
        let mut port = af_packet::open("left", 1).expect("it is there");
        let mut leaving =
            Timestamper::open("left", Direction::Outgoing, false).expect("it is there");
        let mut coming =
            Timestamper::open("right", Direction::Incoming, false).expect("it is there");
        // The kernel begins to stamp frames at its edge only after a moment.
        wait_until("that the kernel stamps", || {
            send(&mut port, &frame(64, 200));
            let mut by = [None; 2];
            leaving.take(|stamped| by[0] = Some(stamped.by));
            coming.take(|stamped| by[1] = Some(stamped.by));
            by == [Some(StampedBy::Kernel); 2]
        });
        // The kernel removes the VLAN tag of this frame on the way.
        let mut tagged = frame(60, 9);
        tagged.splice(12..12, [0x81, 0, 0, 5]);
        let frames: Vec<Vec<u8>> =
            (0..20).map(|seed| frame(60 + usize::from(seed), seed)).chain([tagged]).collect();
        let before = now();
        frames.iter().for_each(|frame| send(&mut port, frame));
        let (mut left, mut came) = (Vec::new(), Vec::new());
        wait_until("that all were seen", || {
            for (timestamper, seen) in [(&mut leaving, &mut left), (&mut coming, &mut came)] {
                timestamper.take(|stamped| {
                    // The stack may send frames of its own when an interface comes up.
                    if frames.iter().any(|frame| frame == stamped.frame) {
                        seen.push((stamped.frame.to_vec(), stamped.nanoseconds, stamped.by));
                    }
                });
            }
            left.len() >= frames.len() && came.len() >= frames.len()
        });
        let after = now();
        let bytes = |seen: &[(Vec<u8>, u64, StampedBy)]| -> Vec<Vec<u8>> {
            seen.iter().map(|(frame, ..)| frame.clone()).collect()
        };
        assert_eq!((bytes(&left), bytes(&came)), (frames.clone(), frames.clone()));
        let mut last = before;
        for ((_, out, by), (_, into, by_receiver)) in left.iter().zip(&came) {
            assert!(last <= *out && out <= into && *into <= after, "{last} {out} {into} {after}");
            assert_eq!([*by, *by_receiver], [StampedBy::Kernel; 2]);
            last = *out;
        }
        assert_eq!(leaving.missed().expect("it says"), 0);
        // The timestamper of outgoing frames does not see incoming ones, and vice versa.
        assert_eq!(coming.take(|_| {}), 0);
    });
}

#[test]
fn a_virtual_interface_has_no_hardware_clock() {
    let Some(namespace) = Namespace::new() else { return };
    namespace.link("left", &namespace, "right", 1500);
    namespace.run(|| {
        let error = Timestamper::open("left", Direction::Incoming, true).expect_err("it has none");
        assert!(matches!(error, OpenError::NoHardwareClock { .. }), "{error}");
        assert!(error.to_string().contains("ethtool -T"), "{error}");
        let error = Timestamper::open("nothing", Direction::Incoming, false).expect_err("none");
        assert!(matches!(error, OpenError::NoInterface { .. }), "{error}");
    });
}
