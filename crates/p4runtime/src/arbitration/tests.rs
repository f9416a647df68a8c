//! Tests of client arbitration (P4Runtime specification, "Client Arbitration and Controller
//! Replication"): by scenarios, and by random sequences that are compared with a simple model.

use proptest::{prelude::*, test_runner::RngSeed};

use super::*;

const DEVICE: u64 = 7;
const OK: i32 = Code::Ok as i32;
const EXISTS: i32 = Code::AlreadyExists as i32;
const NONE: i32 = Code::NotFound as i32;

fn message(role: &str, id: Option<u128>) -> v1::MasterArbitrationUpdate {
    v1::MasterArbitrationUpdate {
        device_id: DEVICE,
        role: (!role.is_empty()).then(|| v1::Role { name: role.to_owned(), ..Default::default() }),
        election_id: id.map(|id| ElectionId(id).into()),
        status: None,
    }
}

fn config(url: &str) -> Any {
    Any { type_url: url.to_owned(), value: vec![1] }
}

/// An action of a controller in a scenario.
enum Action {
    Id(u128),
    Unset,
    Leave,
}

/// A step of a scenario: the stream, its action, and the expected notifications as (stream, status
/// code, election id).
type Step = (u64, Action, &'static [(u64, i32, Option<u128>)]);

fn play(scenario: &[Step]) {
    let mut device = Arbitration::new(DEVICE, 16, ElectionMemory::Kept);
    for (number, (stream, say, expected)) in scenario.iter().enumerate() {
        let mut notifications = Vec::new();
        let stream = StreamId(*stream);
        match say {
            Action::Id(id) => {
                device
                    .update(stream, &message("", Some(*id)), &mut notifications)
                    .expect("accepted");
            }
            Action::Unset => {
                device.update(stream, &message("", None), &mut notifications).expect("accepted");
            }
            Action::Leave => {
                device.closed(stream, &mut notifications);
            }
        }
        let notifications: Vec<_> = notifications
            .iter()
            .map(|notification| {
                let update = &notification.update;
                assert_eq!(update.device_id, DEVICE);
                let code = update.status.as_ref().expect("status is always set").code;
                let id = update.election_id.as_ref().map(|id| ElectionId::from(id).0);
                (notification.to.0, code, id)
            })
            .collect();
        assert_eq!(notifications, *expected, "step {number}");
    }
}

#[test]
fn the_first_controller_becomes_primary_and_receives_its_own_id() {
    play(&[(1, Action::Id(10), &[(1, OK, Some(10))])]);
}

#[test]
fn zero_is_an_id_like_any_other() {
    play(&[
        (1, Action::Id(0), &[(1, OK, Some(0))]),
        (2, Action::Id(1), &[(1, EXISTS, Some(1)), (2, OK, Some(1))]),
    ]);
}

#[test]
fn unset_id_never_wins() {
    play(&[
        (1, Action::Unset, &[(1, NONE, None)]),
        (2, Action::Unset, &[(2, NONE, None)]),
        (3, Action::Id(0), &[(1, EXISTS, Some(0)), (2, EXISTS, Some(0)), (3, OK, Some(0))]),
        (3, Action::Unset, &[(1, NONE, Some(0)), (2, NONE, Some(0)), (3, NONE, Some(0))]),
    ]);
}

#[test]
fn lower_id_becomes_backup_and_only_it_is_notified() {
    play(&[
        (1, Action::Id(10), &[(1, OK, Some(10))]),
        (2, Action::Id(9), &[(2, EXISTS, Some(10))]),
        (2, Action::Id(8), &[(2, EXISTS, Some(10))]),
    ]);
}

#[test]
fn a_higher_id_takes_over_and_the_former_primary_is_notified_first() {
    play(&[
        (1, Action::Id(10), &[(1, OK, Some(10))]),
        (2, Action::Id(9), &[(2, EXISTS, Some(10))]),
        (3, Action::Id(11), &[(1, EXISTS, Some(11)), (2, EXISTS, Some(11)), (3, OK, Some(11))]),
    ]);
}

#[test]
fn a_backup_may_raise_its_id() {
    play(&[
        (1, Action::Id(10), &[(1, OK, Some(10))]),
        (2, Action::Id(9), &[(2, EXISTS, Some(10))]),
        (2, Action::Id(12), &[(1, EXISTS, Some(12)), (2, OK, Some(12))]),
    ]);
}

#[test]
fn a_primary_may_raise_or_repeat_its_id() {
    play(&[
        // ONOS arbitrates twice, with a higher id the second time.
        (1, Action::Id(20), &[(1, OK, Some(20))]),
        (1, Action::Id(40), &[(1, OK, Some(40))]),
        (1, Action::Id(40), &[(1, OK, Some(40))]),
    ]);
}

#[test]
fn a_primary_that_lowers_its_id_leaves_the_role_without_primary() {
    play(&[
        (1, Action::Id(10), &[(1, OK, Some(10))]),
        (2, Action::Id(9), &[(2, EXISTS, Some(10))]),
        (1, Action::Id(5), &[(1, NONE, Some(10)), (2, NONE, Some(10))]),
        (2, Action::Id(9), &[(2, NONE, Some(10))]),
        (2, Action::Id(10), &[(1, EXISTS, Some(10)), (2, OK, Some(10))]),
    ]);
}

#[test]
fn no_backup_is_promoted_when_the_primary_leaves() {
    play(&[
        (1, Action::Id(10), &[(1, OK, Some(10))]),
        (2, Action::Id(9), &[(2, EXISTS, Some(10))]),
        (1, Action::Leave, &[(2, NONE, Some(10))]),
        (
            3,
            Action::Id(9 + (1 << 100)),
            &[(2, EXISTS, Some(9 + (1 << 100))), (3, OK, Some(9 + (1 << 100)))],
        ),
    ]);
}

#[test]
fn the_highest_id_survives_its_holder_and_may_be_shown_again() {
    play(&[
        (1, Action::Id(10), &[(1, OK, Some(10))]),
        (1, Action::Leave, &[]),
        (2, Action::Id(9), &[(2, NONE, Some(10))]),
        (3, Action::Id(10), &[(2, EXISTS, Some(10)), (3, OK, Some(10))]),
    ]);
}

#[test]
fn no_controller_is_notified_when_a_backup_leaves() {
    play(&[
        (1, Action::Id(10), &[(1, OK, Some(10))]),
        (2, Action::Id(9), &[(2, EXISTS, Some(10))]),
        (2, Action::Leave, &[]),
        (9, Action::Leave, &[]),
    ]);
}

#[test]
fn refusals_carry_the_code_that_the_specification_names() {
    let mut device = Arbitration::new(DEVICE, 2, ElectionMemory::Kept);
    let mut notifications = Vec::new();
    device.update(StreamId(1), &message("", Some(10)), &mut notifications).expect("accepted");
    device.update(StreamId(2), &message("", Some(9)), &mut notifications).expect("accepted");
    notifications.clear();

    let mut elsewhere = message("", Some(11));
    elsewhere.device_id = 8;
    let cases = [
        (3, elsewhere.clone(), Code::NotFound),
        (1, elsewhere, Code::FailedPrecondition),
        (1, message("other", Some(11)), Code::FailedPrecondition),
        (1, message("", Some(9)), Code::InvalidArgument),
        (3, message("", Some(10)), Code::InvalidArgument),
        (3, message("", Some(12)), Code::ResourceExhausted),
        (3, message("", None), Code::ResourceExhausted),
    ];
    for (stream, update, code) in cases {
        let error =
            device.update(StreamId(stream), &update, &mut notifications).expect_err("refused");
        assert_eq!(error.code(), code, "{error}");
    }
    assert_eq!(notifications, []);
    assert_eq!(device.primary(&RoleKey::Default), Some(StreamId(1)));
    assert!(device.update(StreamId(3), &message("other", Some(10)), &mut notifications).is_ok());
    assert!(device.update(StreamId(1), &message("", Some(10)), &mut notifications).is_ok());
}

#[test]
fn the_text_that_clients_match_is_exact() {
    assert_eq!(ArbitrationError::ElectionIdInUse.to_string(), "Election id already exists");
}

#[test]
fn the_number_of_roles_is_bounded() {
    let mut device = Arbitration::new(DEVICE, 2, ElectionMemory::Kept);
    let mut notifications = Vec::new();
    for number in 0..MAX_ROLES as u64 {
        let role = message(&format!("role {number}"), Some(1));
        device.update(StreamId(number), &role, &mut notifications).expect("accepted");
    }
    let error = device.update(StreamId(9_999), &message("one more", Some(1)), &mut notifications);
    assert_eq!(error, Err(ArbitrationError::TooManyRoles));
    let known = device.update(StreamId(9_999), &message("role 0", Some(2)), &mut notifications);
    assert_eq!(known, Ok(PrimaryChange::Became(StreamId(9_999))));
}

#[test]
fn roles_do_not_disturb_each_other() {
    let mut device = Arbitration::new(DEVICE, 2, ElectionMemory::Kept);
    let mut notifications = Vec::new();
    device.update(StreamId(1), &message("", Some(10)), &mut notifications).expect("accepted");
    device.update(StreamId(2), &message("a", Some(10)), &mut notifications).expect("accepted");
    let mut numbered = message("", Some(3));
    numbered.role = Some(v1::Role { id: 4, ..Default::default() });
    device.update(StreamId(3), &numbered, &mut notifications).expect("accepted");

    let answered: Vec<_> = notifications.iter().map(|one| one.update.role.clone()).collect();
    assert_eq!(answered, [None, message("a", None).role, numbered.role]);
    assert_eq!(device.primaries().count(), 3);
    assert_eq!(device.primary(&RoleKey::new("a", 0)), Some(StreamId(2)));
    assert_eq!(device.primary(&RoleKey::new("", 4)), Some(StreamId(3)));
    assert_eq!(device.role_of(StreamId(3)), Some(&RoleKey::Numbered(4)));
    assert_eq!(device.closed(StreamId(2), &mut notifications), PrimaryChange::Lost(StreamId(2)));
    assert!(device.is_primary(StreamId(1)) && device.is_primary(StreamId(3)));
}

#[test]
fn the_role_configuration_is_that_of_the_latest_primary() {
    let mut device = Arbitration::new(DEVICE, 4, ElectionMemory::Kept);
    let mut notifications = Vec::new();
    let with = |id, url: &str| {
        let mut update = message("a", Some(id));
        update.role.as_mut().expect("role").config = Some(config(url));
        update
    };
    device.update(StreamId(1), &with(5, "first"), &mut notifications).expect("accepted");
    device.update(StreamId(2), &with(4, "of a backup"), &mut notifications).expect("accepted");
    let config_of =
        |one: &Notification| one.update.role.as_ref().and_then(|role| role.config.clone());
    assert!(notifications.iter().all(|one| config_of(one) == Some(config("first"))));

    notifications.clear();
    device.update(StreamId(2), &with(6, "second"), &mut notifications).expect("accepted");
    assert_eq!(notifications.len(), 2);
    assert!(notifications.iter().all(|one| config_of(one) == Some(config("second"))));
    assert_eq!(device.role_config(&RoleKey::new("a", 0)), Some(&config("second")));

    notifications.clear();
    device.update(StreamId(2), &message("a", Some(6)), &mut notifications).expect("accepted");
    assert!(notifications.iter().all(|one| config_of(one).is_none()));
}

#[test]
fn only_the_primary_of_the_role_is_authorized() {
    let mut device = Arbitration::new(DEVICE, 4, ElectionMemory::Kept);
    let mut notifications = Vec::new();
    let id = |id: u128| v1::Uint128::from(ElectionId(id));
    let default = RoleKey::Default;
    let code = |device: &Arbitration, role: &RoleKey, id: Option<v1::Uint128>| {
        device.authorize(role, id.as_ref()).map_err(|error| error.code())
    };

    assert_eq!(code(&device, &default, None), Err(Code::PermissionDenied));
    assert_eq!(code(&device, &default, Some(id(0))), Err(Code::PermissionDenied));
    assert_eq!(code(&device, &RoleKey::new("a", 0), Some(id(1))), Err(Code::NotFound));

    device.update(StreamId(1), &message("", Some(10)), &mut notifications).expect("accepted");
    device.update(StreamId(2), &message("", Some(9)), &mut notifications).expect("accepted");
    device.update(StreamId(3), &message("a", Some(9)), &mut notifications).expect("accepted");
    assert_eq!(code(&device, &default, Some(id(10))), Ok(()));
    assert_eq!(code(&device, &default, Some(id(9))), Err(Code::PermissionDenied));
    assert_eq!(code(&device, &default, Some(id(11))), Err(Code::PermissionDenied));
    assert_eq!(code(&device, &default, None), Err(Code::PermissionDenied));
    assert_eq!(code(&device, &RoleKey::new("a", 0), Some(id(9))), Ok(()));
    assert_eq!(code(&device, &RoleKey::new("a", 0), Some(id(10))), Err(Code::PermissionDenied));

    device.closed(StreamId(1), &mut notifications);
    assert_eq!(code(&device, &default, Some(id(10))), Err(Code::PermissionDenied));
    assert_eq!(code(&device, &default, Some(id(9))), Err(Code::PermissionDenied));
}

#[test]
fn a_forgetful_device_forgets_when_the_last_controller_disconnects() {
    let mut device = Arbitration::new(DEVICE, 4, ElectionMemory::ForgottenWhenAlone);
    let mut notifications = Vec::new();
    let mut say =
        |stream, id| device.update(StreamId(stream), &message("", Some(id)), &mut notifications);
    say(1, 10).expect("accepted");
    assert_eq!(say(2, 5), Ok(PrimaryChange::None));
    device.closed(StreamId(1), &mut notifications);
    // Stream 2 is still connected, so its role's highest id is remembered.
    let update = device.update(StreamId(2), &message("", Some(6)), &mut notifications);
    assert_eq!(update, Ok(PrimaryChange::None));
    device.closed(StreamId(2), &mut notifications);
    let update = device.update(StreamId(3), &message("", Some(1)), &mut notifications);
    assert_eq!(update, Ok(PrimaryChange::Became(StreamId(3))));
}

#[test]
fn a_refused_writer_receives_the_election_id_to_use() {
    let mut device = Arbitration::new(DEVICE, 4, ElectionMemory::Kept);
    let mut notifications = Vec::new();
    device.update(StreamId(1), &message("", Some(10)), &mut notifications).expect("accepted");
    device.closed(StreamId(1), &mut notifications);
    let error = device.authorize(&RoleKey::Default, Some(&ElectionId(1).into())).expect_err("no");
    assert!(error.to_string().ends_with("an election id of 10 or higher."), "{error}");
}

#[test]
fn election_ids_are_128_bits_wide() {
    let id = ElectionId(0x0123_4567_89ab_cdef_fedc_ba98_7654_3210);
    let wire = v1::Uint128::from(id);
    assert_eq!((wire.high, wire.low), (0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210));
    assert_eq!(ElectionId::from(&wire), id);
    assert!(ElectionId(1 << 64) > ElectionId(u128::from(u64::MAX)));
}

/// The rules of the specification in their simplest form: everything is recomputed from the list of
/// accepted messages and the set of open streams.
#[derive(Default)]
struct Oracle {
    accepted: Vec<(u64, usize, Option<u128>)>,
    gone: Vec<usize>,
}

impl Oracle {
    /// Returns the stream, role and id of the latest accepted message of every open stream.
    fn live(&self) -> Vec<(u64, usize, Option<u128>)> {
        let mut live: Vec<(u64, usize, Option<u128>)> = Vec::new();
        for (index, message) in self.accepted.iter().enumerate() {
            live.retain(|one| one.0 != message.0);
            live.push(*message);
            if self.gone.contains(&index) {
                live.retain(|one| one.0 != message.0);
            }
        }
        live
    }

    fn highest(&self, role: usize) -> Option<u128> {
        self.accepted.iter().filter(|one| one.1 == role).filter_map(|one| one.2).max()
    }

    fn primary(&self, role: usize) -> Option<u64> {
        let highest = self.highest(role)?;
        self.live().iter().find(|one| one.1 == role && one.2 == Some(highest)).map(|one| one.0)
    }

    fn accepts(&self, stream: u64, role: usize, id: Option<u128>) -> bool {
        self.live().iter().all(|one| {
            if one.0 == stream {
                one.1 == role
            } else {
                one.1 != role || id.is_none() || one.2 != id
            }
        })
    }

    fn leave(&mut self, stream: u64) {
        if let Some(index) = self.accepted.iter().rposition(|one| one.0 == stream) {
            self.gone.push(index);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        rng_seed: RngSeed::Fixed(0x9559),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn agrees_with_the_oracle(
        steps in prop::collection::vec(
            (0..5_u64, 0..3_usize, prop::option::of(0..6_u128), 0..4_u8),
            1..60,
        )
    ) {
        let names = ["", "a", "b"];
        let mut device = Arbitration::new(DEVICE, 16, ElectionMemory::Kept);
        let mut oracle = Oracle::default();
        let mut last_heard = std::collections::BTreeMap::new();
        for (stream, role, id, choice) in steps {
            let mut notifications = Vec::new();
            if choice == 0 {
                device.closed(StreamId(stream), &mut notifications);
                oracle.leave(stream);
                last_heard.remove(&stream);
            } else {
                let update = message(names[role], id);
                let result = device.update(StreamId(stream), &update, &mut notifications);
                prop_assert_eq!(result.is_ok(), oracle.accepts(stream, role, id));
                if result.is_ok() {
                    oracle.accepted.push((stream, role, id));
                    prop_assert!(notifications.iter().any(|one| one.to == StreamId(stream)));
                }
            }
            for one in notifications {
                let code = one.update.status.expect("status is always set").code;
                last_heard.insert(one.to.0, (code, one.update.election_id));
            }

            for (role, name) in names.iter().enumerate() {
                let primary = oracle.primary(role);
                prop_assert_eq!(device.primary(&RoleKey::new(name, 0)), primary.map(StreamId));
            }
            // The last notification of every stream still describes the current state.
            for (stream, role, _) in oracle.live() {
                let code = match oracle.primary(role) {
                    Some(primary) if primary == stream => OK,
                    Some(_) => EXISTS,
                    None => NONE,
                };
                let highest = oracle.highest(role).map(|id| ElectionId(id).into());
                prop_assert_eq!(last_heard.get(&stream), Some(&(code, highest)));
            }
        }
    }
}
