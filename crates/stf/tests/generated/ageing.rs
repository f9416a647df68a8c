//! Tests in which time passes between the packets, so that entries expire (PNA).

use super::portable::pna;
use super::sequences::{pass, searched, test_of, verdict_on};
use super::{compiled, failures, script};
use ir::Program;
use pipeline::Switch;
use stf::{Options as StfOptions, Script};
use symbolic::equivalence::{Difference, Equivalence, equivalent};
use symbolic::generated::{ExpireTime, Output, Test};
use symbolic::search::{Options, Report, Verdict};

/// Returns a program whose table gets entries for its keys by packets. `on_hit` is what the action
/// of an entry does, and `property` says what becomes of idle entries.
fn adding(on_hit: &str, property: &str, objects: &str, main: &str) -> String {
    let table = "
    action known(bit<8> value) { m.m = value; ON_HIT }
    action unknown() {
        add_entry(action_name = \"known\", action_params = (arguments_t) { value = 5 },
                  expire_time_profile_id = (ExpireTimeProfileId_t) 1);
    }
    table t {
        key = { h.a.x: exact; }
        actions = { @tableonly known; @defaultonly unknown; }
        const default_action = unknown();
        add_on_miss = true;
        PROPERTY
        size = 64;
    }";
    let table = table.replace("ON_HIT", on_hit).replace("PROPERTY", property);
    let text = pna(&format!("{objects}{table}"), main);
    text.replace("struct meta_t", "struct arguments_t { bit<8> value; }\nstruct meta_t")
}

const DELETES: &str = "pna_idle_timeout = PNA_IdleTimeout_t.AUTO_DELETE;";

/// A register that remembers which keys have been hit. Only a packet that misses after such a hit
/// leaves by port 2.
const REMEMBERS: &str = "Register<bit<8>, bit<8>>(256, 8w0) seen;";
const MISSES_AGAIN: &str = "if (h.a.isValid()) {
            bit<8> before = seen.read(h.a.x);
            send_to_port((PortId_t) 1);
            if (t.apply().hit) {
                seen.write(h.a.x, 1);
            } else if (before == 1) {
                send_to_port((PortId_t) 2);
            }
        }";
const AGAIN: &str = "send_to_port((PortId_t) 2);";

/// Returns the seconds at which the packets of a test arrive.
fn times(test: &Test) -> Vec<u32> {
    test.exchanges().iter().map(|exchange| exchange.seconds).collect()
}

/// Searches for tests of up to three packets, and checks that they pass and reach what they say.
fn passing(text: &str) -> Report {
    let program = compiled(text);
    let report = searched(&program, 3, true);
    pass(&program, &report);
    report
}

#[test]
fn an_entry_is_missed_once_it_has_expired() {
    let text = adding("", DELETES, REMEMBERS, MISSES_AGAIN);
    let report = passing(&text);
    let test = test_of(&report, &text, AGAIN);
    let [ExpireTime { profile: 1, seconds }] = test.expire_times[..] else {
        panic!("{}", test.stf());
    };
    // The entry is still there a second before its time has passed, and gone when it has.
    assert_eq!(times(test), [0, seconds - 1, seconds], "{}", test.stf());
    let ports: Vec<u32> = test
        .exchanges()
        .iter()
        .map(|exchange| {
            let [Output { port, digits }] = exchange.outputs.as_slice() else {
                panic!("{}", test.stf());
            };
            assert_eq!(*digits, exchange.packet, "{}", test.stf());
            assert_eq!(exchange.packet[..2], test.packet[..2], "{}", test.stf());
            *port
        })
        .collect();
    assert_eq!(ports, [1, 1, 2], "{}", test.stf());
    // No time passes in a test that does without.
    let hit = test_of(&report, &text, "seen.write(h.a.x, 1);");
    assert_eq!(times(hit), [0, 0], "{}", hit.stf());
    assert!(hit.expire_times.is_empty(), "{}", hit.stf());
    let shorter = searched(&compiled(&text), 2, true);
    assert_eq!(verdict_on(&shorter, &text, AGAIN), Verdict::NotWithin(2));
}

/// A hit does not restart the timer, but the functions of PNA do.
#[test]
fn the_action_of_an_entry_restarts_its_timer() {
    let text = adding("restart_expire_timer();", DELETES, REMEMBERS, MISSES_AGAIN);
    let report = passing(&text);
    let test = test_of(&report, &text, AGAIN);
    let [ExpireTime { profile: 1, seconds }] = test.expire_times[..] else {
        panic!("{}", test.stf());
    };
    assert_eq!(times(test), [0, seconds - 1, 2 * seconds - 1], "{}", test.stf());

    let other = "set_entry_expire_time((ExpireTimeProfileId_t) 2);";
    let text = adding(other, DELETES, REMEMBERS, MISSES_AGAIN);
    let report = passing(&text);
    let test = test_of(&report, &text, AGAIN);
    let second = test.expire_times.iter().find(|time| time.profile == 2).expect("a timeout");
    let [_, restarted, last] = times(test)[..] else { panic!("{}", test.stf()) };
    assert_eq!(last - restarted, second.seconds, "{}", test.stf());

    // A false condition leaves the timer, and a true one starts it.
    let some = "update_expire_info(h.a.x[0:0] == 1, h.a.x[1:1] == 1, (ExpireTimeProfileId_t) 2);";
    let text = adding(some, DELETES, REMEMBERS, MISSES_AGAIN);
    let report = passing(&text);
    test_of(&report, &text, AGAIN);
}

/// What packets have changed in an entry expires with it, so that counting begins anew.
#[test]
fn changes_of_an_entry_expire_with_it() {
    let main = "if (h.a.isValid()) {
            bit<8> before = seen.read(h.a.x);
            send_to_port((PortId_t) 1);
            if (t.apply().hit) {
                if (m.m == 6) {
                    if (before == 1) {
                        send_to_port((PortId_t) 2);
                    }
                    seen.write(h.a.x, 1);
                }
            }
        }";
    let text = adding("", DELETES, REMEMBERS, main);
    let counts = "known(@__ref bit<8> value) { value = value + 1; m.m = value;";
    let text = text.replace("known(bit<8> value) { m.m = value;", counts);
    let program = compiled(&text);
    let report = searched(&program, 4, true);
    pass(&program, &report);
    let test = test_of(&report, &text, AGAIN);
    let [ExpireTime { profile: 1, seconds }] = test.expire_times[..] else {
        panic!("{}", test.stf());
    };
    let expected = [0, seconds - 1, seconds, 2 * seconds - 1];
    assert_eq!(times(test), expected, "{}", test.stf());
    let shorter = searched(&program, 3, true);
    assert_eq!(verdict_on(&shorter, &text, AGAIN), Verdict::NotWithin(3));
}

/// Idle entries of other tables remain, however much time passes.
#[test]
fn entries_remain_where_the_table_does_not_delete_them() {
    for property in ["", "pna_idle_timeout = PNA_IdleTimeout_t.NOTIFY_CONTROL;"] {
        let text = adding("", property, REMEMBERS, MISSES_AGAIN);
        let report = passing(&text);
        assert_eq!(verdict_on(&report, &text, AGAIN), Verdict::NotWithin(3), "{property}");
    }
}

/// The profile of a call may be a choice between constants. A number from the packet is not
/// followed.
#[test]
fn profiles_are_constants_or_choices_between_them() {
    let text = adding("", DELETES, REMEMBERS, MISSES_AGAIN);
    let profile = "(ExpireTimeProfileId_t) 1)";
    let chosen = "(h.a.x == 9 ? (ExpireTimeProfileId_t) 3 : (ExpireTimeProfileId_t) 4))";
    let chosen = text.replace(profile, chosen);
    let report = passing(&chosen);
    let test = test_of(&report, &chosen, AGAIN);
    let profile_of_key = if test.packet.starts_with("09") { 3 } else { 4 };
    let profiles: Vec<u32> = test.expire_times.iter().map(|time| time.profile).collect();
    assert_eq!(profiles, [profile_of_key], "{}", test.stf());

    let number = "(ExpireTimeProfileId_t) (ExpireTimeProfileIdUint_t) h.a.x)";
    let unknown = text.replace(profile, number);
    let report = passing(&unknown);
    // Two packets do not reach it, since the second one must hit.
    let verdict = verdict_on(&report, &unknown, AGAIN);
    assert_eq!(verdict, Verdict::NotWithin(1), "longer sequences are not followed");
}

/// Sequences of two packets are given up, because the second one may find an entry whose timeout is
/// not known. That is no reason to give up longer ones.
#[test]
fn longer_sequences_are_tried_after_shorter_ones_were_given_up() {
    let main = "if (h.a.isValid()) {
            send_to_port((PortId_t) 1);
            if (h.a.x > 9) { t.apply(); }
            bit<8> n = count.read(8w0);
            n = n + 1;
            count.write(8w0, n);
            if (n == 3) {
                send_to_port((PortId_t) 2);
            }
        }";
    let text = adding("", DELETES, "Register<bit<8>, bit<8>>(1, 8w0) count;", main);
    let number = "(ExpireTimeProfileId_t) (ExpireTimeProfileIdUint_t) h.a.x)";
    let text = text.replace("(ExpireTimeProfileId_t) 1)", number);
    let report = passing(&text);
    let test = test_of(&report, &text, AGAIN);
    assert_eq!(test.earlier.len(), 2, "{}", test.stf());
}

/// Returns a program whose entries get a timeout by their action, and that sends packets which miss
/// to port 2, unless their key is 1.
fn refreshing(refresh: &str, kind: &str, entries: &str) -> String {
    let table = "
    action refresh() { REFRESH }
    table t {
        key = { h.a.x: KIND; }
        actions = { refresh; NoAction; }
        const default_action = NoAction();
        ENTRIES
        pna_idle_timeout = PNA_IdleTimeout_t.AUTO_DELETE;
        size = 64;
    }";
    let table = table.replace("REFRESH", refresh).replace("KIND", kind).replace("ENTRIES", entries);
    let main = "if (h.a.isValid()) {
            send_to_port((PortId_t) 1);
            if (t.apply().hit) {
            } else if (h.a.x != 1) {
                send_to_port((PortId_t) 2);
            }
        }";
    pna(&table, main)
}

/// Only packets whose key is 1 set a timeout, and a miss of theirs has no effect. If each key has
/// its own entry, this changes nothing. But an entry that matches several keys is then gone for the
/// others too.
#[test]
fn programs_whose_keys_may_share_a_timer_are_not_proved_equal() {
    let sets = "set_entry_expire_time_if(h.a.x == 1, (ExpireTimeProfileId_t) 1);";
    let both = |kind: &str| [sets, ""].map(|refresh| compiled(&refreshing(refresh, kind, "")));
    let [first, second] = both("exact");
    let verdict = compared(&first, &second, 2);
    assert!(matches!(verdict, Equivalence::Equal { .. }), "{verdict:?}");
    for kind in ["ternary", "lpm"] {
        let [first, second] = both(kind);
        let verdict = compared(&first, &second, 2);
        assert!(matches!(verdict, Equivalence::Undecided(_)), "{kind}: {verdict:?}");
    }
}

/// A single packet does not miss an entry that is constant, but a later one may, since the entry
/// has expired.
#[test]
fn a_miss_of_a_constant_entry_that_may_expire_is_not_unreachable() {
    let sets = "set_entry_expire_time((ExpireTimeProfileId_t) 1);";
    let entries = "const entries = { 1 : refresh(); 2 : refresh(); }";
    let text = refreshing(sets, "exact", entries).replace("h.a.x != 1", "h.a.x == 2");
    let report = passing(&text);
    assert_eq!(verdict_on(&report, &text, AGAIN), Verdict::NotWithin(1));
    let text = text.replace(DELETES, "");
    let report = passing(&text);
    assert_eq!(verdict_on(&report, &text, AGAIN), Verdict::Unreachable);
}

/// No test gives a timeout to an entry of the control plane, but a control plane may, so that the
/// entry is missed after it was hit.
#[test]
fn timeouts_of_single_entries_prove_nothing() {
    let table = "
    action found() { }
    table t {
        key = { h.a.x: exact; }
        actions = { found; NoAction; }
        const default_action = NoAction();
        pna_idle_timeout = PNA_IdleTimeout_t.AUTO_DELETE;
        size = 64;
    }";
    let text = pna(&format!("{REMEMBERS}{table}"), MISSES_AGAIN);
    let report = passing(&text);
    assert_eq!(verdict_on(&report, &text, AGAIN), Verdict::NotWithin(1));
    let keeps = text.replace(DELETES, "");
    assert_ne!(keeps, text);
    let report = passing(&keeps);
    assert_eq!(verdict_on(&report, &keeps, AGAIN), Verdict::NotWithin(3));
}

/// Runs a script, and returns whether an expectation fails in any way of running the program.
fn fails(program: &Program, script: &Script) -> bool {
    let mut switch = Switch::new(program.clone()).expect("a switch");
    switch.compile().expect("machine code");
    let verdicts: Vec<bool> = switch
        .ways()
        .into_iter()
        .map(|way| {
            switch.reset().expect("a reset");
            switch.choose_way(Some(way));
            match stf::run(&mut switch, script, StfOptions::default()) {
                Ok(report) => !failures(&report).is_empty(),
                Err((line, error)) => panic!("line {line}: {error}"),
            }
        })
        .collect();
    let fails = verdicts.contains(&true);
    assert_eq!(verdicts.contains(&false), !fails, "the ways differ: {verdicts:?}");
    fails
}

/// A switch that deletes entries a second too early, or a nanosecond too late, fails the test.
#[test]
fn a_switch_whose_timeouts_are_off_by_one_fails() {
    let text = adding("", DELETES, REMEMBERS, MISSES_AGAIN);
    let program = compiled(&text);
    let report = searched(&program, 3, true);
    let test = test_of(&report, &text, AGAIN);
    let [ExpireTime { seconds, .. }] = test.expire_times[..] else { panic!("{}", test.stf()) };
    let set = format!("expire_time 1 {seconds}s");
    let after = |nanoseconds: u64| {
        let wrong = test.stf().replace(&set, &format!("expire_time 1 {nanoseconds}ns"));
        let wrong = Script::parse(&wrong).unwrap_or_else(|errors| panic!("{errors:?}\n{wrong}"));
        fails(&program, &wrong)
    };
    let right = u64::from(seconds) * 1_000_000_000;
    assert!(!after(right), "{}", test.stf());
    assert!(after(right - 1_000_000_000), "{}", test.stf());
    assert!(after(right + 1), "{}", test.stf());
}

/// Returns the verdict on two programs for sequences of a number of packets.
fn compared(first: &Program, second: &Program, packets: u32) -> Equivalence {
    let options = Options { packets, ..Options::default() };
    let verdict = ir::with_large_stack(|| equivalent(first, second, &options));
    verdict.expect("a thread").unwrap_or_else(|error| panic!("{error}"))
}

/// Checks that two programs transmit the same packets of sequences that are a packet shorter, and
/// that a test tells them apart.
fn are_told_apart(texts: [&str; 2], packets: u32) {
    let [first, second] = texts.map(compiled);
    let shorter = compared(&first, &second, packets - 1);
    assert!(matches!(shorter, Equivalence::Equal { .. }), "{shorter:?}");
    let difference = match compared(&first, &second, packets) {
        Equivalence::Different(difference) => difference,
        verdict @ (Equivalence::Equal { .. } | Equivalence::Undecided(_)) => panic!("{verdict:?}"),
    };
    let Difference { first: of_first, second: of_second } = *difference;
    assert!(of_first.passes_time(), "{}", of_first.stf());
    assert!(!fails(&first, &script(&of_first)), "{}", of_first.stf());
    assert!(!fails(&second, &script(&of_second)), "{}", of_second.stf());
    assert!(fails(&second, &script(&of_first)), "{}", of_first.stf());
    assert!(fails(&first, &script(&of_second)), "{}", of_second.stf());
}

/// The programs transmit the same packets until time passes.
#[test]
fn programs_whose_entries_age_differently_are_told_apart() {
    const FORWARDS: &str = "if (h.a.isValid()) {
            if (t.apply().hit) { send_to_port((PortId_t) 1); } else { send_to_port((PortId_t) 2); }
        }";
    let deletes = adding("", DELETES, "", FORWARDS);
    let keeps = adding("", "", "", FORWARDS);
    are_told_apart([&deletes, &keeps], 2);
    are_told_apart([&keeps, &deletes], 2);
    let restarts = adding("restart_expire_timer();", DELETES, "", FORWARDS);
    are_told_apart([&restarts, &deletes], 3);
}
