//! Tests of the import of delays, histograms and captures, and of the detection of clock steps.
use super::*;

fn of(samples: &[Sample]) -> Vec<(u32, i64)> {
    samples.iter().map(|sample| (sample.packet, sample.delay.0)).collect()
}

#[test]
fn packet_numbers_reveal_losses_duplicates_and_reordering() {
    let text = "packet;delay\n10;1.5\n# a pause\n12;1.25\n11;2\n12;9\n15;1\n";
    let imported = delays(text, 1e6).unwrap();
    assert_eq!(
        of(&imported.samples),
        [(10, 1_500_000), (12, 1_250_000), (11, 2_000_000), (15, 1_000_000)]
    );
    let expected =
        Counts { sent: 6, received: 4, lost: 2, reordered: 1, duplicated: 1, ..Counts::default() };
    assert_eq!(imported.counts, expected);
    assert_eq!(imported.remarks, Vec::<String>::new());
}

#[test]
fn delays_without_packet_numbers_come_with_a_remark_and_malformed_lines_are_named() {
    let imported = delays("51.058\n50\n", 1e6).unwrap();
    assert_eq!(of(&imported.samples), [(0, 51_058_000), (1, 50_000_000)]);
    assert!(imported.remarks[0].contains("cannot be seen"));
    for (text, message) in [
        ("1\nx\n", "line 2: 'x' is not a delay"),
        ("a,b\nc,1\n", "line 2: 'c,1' is not a number of a packet"),
        ("1,2,3\n", "line 1: '1,2,3' is not a delay, nor a packet and its delay"),
        ("1e30\n", "line 1: '1e30' is not a delay"),
        ("delay\n", "it contains no delay"),
    ] {
        assert_eq!(delays(text, 1.0).unwrap_err().to_string(), message);
    }
}

#[test]
fn lines_with_and_without_numbers_are_not_mixed() {
    for text in ["0\n3,.2\n2,51\n", "3,.2\n0\n"] {
        let error = delays(text, 1e-6).expect_err("half of it has no numbers").to_string();
        assert!(
            error.starts_with("line 2: ") && error.contains("in all of them or in none"),
            "{error}"
        );
    }
}

#[test]
fn histograms_of_moongen_are_read() {
    let imported = histogram("1867.2,3\n1879.7,2\n", 1e3).unwrap();
    assert_eq!(of(&imported.samples)[2..4], [(2, 1_867_200), (3, 1_879_700)]);
    assert_eq!(imported.counts.received, 5);
    assert!(histogram("5,4294967295\n", 1.0).unwrap_err().to_string().contains("more than"));
}

/// Returns packets with an id in their last bytes, at the given times.
fn packets(ids_and_times: &[(u8, u64)], header: &[u8]) -> Vec<(Vec<u8>, u64)> {
    ids_and_times.iter().map(|(id, time)| ([header, &[*id; 4]].concat(), *time)).collect()
}

fn captured(packets: &[(Vec<u8>, u64)]) -> Vec<Captured<'_>> {
    packets.iter().map(|(data, timestamp)| Captured { timestamp: *timestamp, data }).collect()
}

#[test]
fn captures_are_matched_by_bytes_that_the_device_does_not_change() {
    let before = packets(&[(1, 100), (2, 200), (3, 300), (4, 400)], &[0; 14]);
    // The device pops a tag, loses one packet, swaps two and duplicates one; a foreign packet
    // passes by.
    let after = packets(&[(2, 250), (1, 260), (4, 450), (4, 451), (9, 500)], &[0; 10]);
    let imported = match_captures(&captured(&before), &captured(&after), Identity::Tail(4));
    assert_eq!(of(&imported.samples), [(1, 50_000), (0, 160_000), (3, 50_000)]);
    let expected = Counts {
        sent: 4,
        received: 3,
        lost: 1,
        reordered: 1,
        duplicated: 1,
        unmatched: 1,
        clock_steps: 0,
    };
    assert_eq!(imported.counts, expected);
    assert_eq!(imported.duration_ns, 300);
    let at = match_captures(
        &captured(&before),
        &captured(&before),
        Identity::At { offset: 14, length: 4 },
    );
    assert_eq!(at.counts.received, 4);
    // The packets are too short to have an identity.
    let short = match_captures(&captured(&before), &captured(&before), Identity::Tail(40));
    assert_eq!((short.counts.lost, short.counts.unmatched), (4, 4));
    assert!(short.remarks[0].contains("too short"));
}

#[test]
fn identities_that_repeat_are_reported() {
    let before = packets(&[(1, 100), (1, 200)], &[]);
    let after = packets(&[(1, 150), (1, 260)], &[]);
    let imported = match_captures(&captured(&before), &captured(&after), Identity::Tail(4));
    assert_eq!(of(&imported.samples), [(0, 50_000), (1, 60_000)]);
    assert!(imported.remarks[0].contains("several packets"));
}

#[test]
fn clocks_that_jump_are_found_and_queues_are_not() {
    let sample = |(packet, delay): (u32, i64)| Sample { packet, delay: Picoseconds(delay) };
    let steady = |packet: u32| i64::from(packet * 7919 % 1000);
    let count = |delay: &dyn Fn(u32) -> i64| {
        clock_steps(&(0..1000).map(|p| sample((p, delay(p)))).collect::<Vec<_>>())
    };
    assert_eq!(count(&steady), 0);
    assert_eq!(count(&|packet| steady(packet) + if packet >= 500 { 1_000_000 } else { 0 }), 1);
    assert_eq!(count(&|packet| steady(packet) + if packet >= 512 { 1_000_000 } else { 0 }), 1);
    // A queue that fills and empties is no step.
    assert_eq!(count(&|packet| steady(packet) + 200 * i64::from(500 - packet.abs_diff(500))), 0);
    let before: Vec<(Vec<u8>, u64)> = packets(&[(1, 100), (2, 90)], &[]);
    assert_eq!(match_captures(&captured(&before), &[], Identity::Tail(4)).counts.clock_steps, 1);
}
