//! Tests with random requests, many of which are wrong.

use bytes::Bytes;
use p4runtime::p4info::{Implementation, MatchKind, Schema};
use p4runtime::proto::v1;
use p4runtime::proto::v1::action_profile_group::Member as GroupMember;
use p4runtime::proto::v1::entity::Entity as Kind;
use p4runtime::proto::v1::field_match::{Exact, FieldMatchType, Lpm, Optional, Range, Ternary};
use p4runtime::proto::v1::packet_replication_engine_entry::Type as Replication;
use p4runtime::proto::v1::replica::PortKind;
use p4runtime::proto::v1::table_action::Type as ActionType;
use p4runtime::proto::v1::update::Type;
use p4runtime::proto::v1::write_request::Atomicity;
use p4runtime::status::Code;
use p4runtime::store::Nanos;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeMap;

use crate::both::{Both, everything, update};

struct Random<'a> {
    random: ChaCha8Rng,
    schema: &'a Schema,
}

impl Random<'_> {
    fn below(&mut self, bound: u32) -> u32 {
        self.random.random_range(0..bound)
    }

    fn one_in(&mut self, chances: u32) -> bool {
        self.below(chances) == 0
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u32) as usize]
    }

    /// Returns a small number, at times with leading zeros, too wide, or empty.
    fn bytes(&mut self, number: u32) -> Bytes {
        let mut bytes = vec![0; self.below(3) as usize];
        bytes.extend(number.to_be_bytes().into_iter().skip_while(|byte| *byte == 0));
        match self.below(60) {
            0 => Bytes::new(),
            1 => Bytes::from(vec![0xff; 9]),
            _ if bytes.is_empty() => Bytes::from_static(&[0]),
            _ => Bytes::from(bytes),
        }
    }

    fn number(&mut self) -> Bytes {
        let number = self.below(4);
        self.bytes(number)
    }

    fn kind(&mut self) -> Type {
        self.pick(&[
            Type::Insert,
            Type::Insert,
            Type::Insert,
            Type::Modify,
            Type::Modify,
            Type::Delete,
            Type::Delete,
            Type::Unspecified,
        ])
    }

    fn modify(&mut self) -> Type {
        if self.one_in(20) { self.kind() } else { Type::Modify }
    }

    fn fields(&mut self, declared: &[p4runtime::p4info::MatchField]) -> Vec<v1::FieldMatch> {
        let mut fields = Vec::new();
        for field in declared {
            let optional = field.kind != MatchKind::Exact;
            if (optional && self.one_in(3)) || self.one_in(40) {
                continue;
            }
            let found = match field.kind {
                MatchKind::Lpm => {
                    let prefix_len = self.pick(&[8, 16, 24, 0, 33]);
                    let value = self.pick(&[0x0a00_0000_u32, 0x0b00_0000]);
                    FieldMatchType::Lpm(Lpm { value: self.bytes(value), prefix_len })
                }
                MatchKind::Ternary => FieldMatchType::Ternary(Ternary {
                    value: self.number(),
                    mask: Bytes::from_static(&[3]),
                }),
                MatchKind::Range => {
                    let (low, high) = (self.below(4), self.below(6));
                    FieldMatchType::Range(Range { low: self.bytes(low), high: self.bytes(high) })
                }
                MatchKind::Optional => FieldMatchType::Optional(Optional { value: self.number() }),
                _ => FieldMatchType::Exact(Exact { value: self.number() }),
            };
            fields.push(v1::FieldMatch { field_id: field.id.0, field_match_type: Some(found) });
            if self.one_in(80) {
                fields.extend(fields.last().cloned());
            }
        }
        if self.one_in(2) {
            fields.reverse();
        }
        fields
    }

    fn action(&mut self) -> v1::Action {
        let actions: Vec<_> = self.schema.actions().iter().collect();
        let declared = self.pick(&actions);
        let mut params = Vec::new();
        for param in &declared.params {
            if !self.one_in(60) {
                params.push(v1::action::Param { param_id: param.id.0, value: self.number() });
            }
        }
        if self.one_in(2) {
            params.reverse();
        }
        v1::Action { action_id: declared.id.0, params }
    }

    /// Returns an action, mostly of this table.
    fn action_of(&mut self, table: &p4runtime::p4info::Table) -> v1::Action {
        let mut action = self.action();
        for _ in 0..20 {
            if table.actions.iter().any(|one| one.id.0 == action.action_id) {
                break;
            }
            action = self.action();
        }
        action
    }

    fn table_action(&mut self, table: &p4runtime::p4info::Table) -> v1::TableAction {
        let action = match table.implementation {
            None if !self.one_in(30) => ActionType::Action(self.action_of(table)),
            _ => match self.below(6) {
                0 | 1 => ActionType::ActionProfileMemberId(self.below(5)),
                2 | 3 => ActionType::ActionProfileGroupId(self.below(4)),
                4 => {
                    let actions = (0..self.below(3)).map(|_| self.weighted(table)).collect();
                    ActionType::ActionProfileActionSet(v1::ActionProfileActionSet {
                        action_profile_actions: actions,
                        ..Default::default()
                    })
                }
                _ => ActionType::Action(self.action_of(table)),
            },
        };
        v1::TableAction { r#type: Some(action) }
    }

    fn weighted(&mut self, table: &p4runtime::p4info::Table) -> v1::ActionProfileAction {
        v1::ActionProfileAction {
            action: Some(self.action_of(table)),
            weight: self.below(4) as i32,
            watch_kind: None,
        }
    }

    fn counter_data(&mut self) -> v1::CounterData {
        let number = |number: u32| i64::from(number) - 1;
        let (bytes, packets) = (self.below(100), self.below(40));
        v1::CounterData {
            byte_count: number(bytes.max(u32::from(packets > 0))),
            packet_count: number(packets),
        }
    }

    fn meter_config(&mut self) -> v1::MeterConfig {
        v1::MeterConfig {
            cir: i64::from(self.below(3)),
            cburst: i64::from(self.below(3)),
            pir: i64::from(self.below(9)),
            pburst: 5,
            eburst: i64::from(self.one_in(30)),
        }
    }

    fn entry(&mut self) -> v1::TableEntry {
        let tables: Vec<_> = self.schema.tables().iter().collect();
        let table = self.pick(&tables);
        let is_default_action = self.one_in(6);
        let priority = if table.needs_priority == self.one_in(40) { 0 } else { 1 + self.below(2) };
        let priority =
            if table.needs_priority { priority } else { i32::from(self.one_in(60)) as u32 };
        let mut entry = v1::TableEntry {
            table_id: table.id.0,
            is_default_action,
            action: (!self.one_in(8)).then(|| self.table_action(table)),
            controller_metadata: u64::from(self.below(3)),
            metadata: if self.one_in(3) { Bytes::from_static(b"note") } else { Bytes::new() },
            is_const: self.one_in(80),
            ..Default::default()
        };
        if is_default_action && !self.one_in(30) {
            entry.action = entry.action.map(|_| v1::TableAction {
                r#type: Some(ActionType::Action(self.action_of(table))),
            });
        } else {
            entry.r#match = self.fields(&table.match_fields);
            entry.priority = priority as i32;
        }
        if table.idle_timeout != self.one_in(30) && !is_default_action {
            entry.idle_timeout_ns = i64::from(self.below(3)) * 100;
        }
        if table.direct_counter.is_some() != self.one_in(40) && self.one_in(2) {
            entry.counter_data = Some(self.counter_data());
        }
        if table.direct_meter.is_some() != self.one_in(40) && self.one_in(2) {
            entry.meter_config = Some(self.meter_config());
        }
        entry
    }

    fn replicas(&mut self) -> Vec<v1::Replica> {
        let replica = |random: &mut Self| {
            let port_kind = match random.below(4) {
                0 => None,
                1 => Some(PortKind::EgressPort(random.below(3))),
                _ => {
                    let port = random.below(3);
                    // Only an emulated switch accepts ports with names.
                    let port = Some(random.bytes(port)).filter(|port| port.len() < 9);
                    Some(PortKind::Port(port.unwrap_or(Bytes::from_static(&[1]))))
                }
            };
            let backup = |random: &mut Self| {
                let port = random.below(5);
                let port = Some(random.bytes(port)).filter(|port| port.len() < 9);
                let port = port.unwrap_or(Bytes::from_static(&[4]));
                v1::BackupReplica { port, instance: random.below(3) }
            };
            let backups = if random.one_in(3) { random.below(3) } else { 0 };
            let backup_replicas = (0..backups).map(|_| backup(random)).collect();
            v1::Replica { port_kind, instance: random.below(3), backup_replicas }
        };
        (0..self.below(4)).map(|_| replica(self)).collect()
    }

    fn index(&mut self) -> Option<v1::Index> {
        (!self.one_in(8)).then(|| v1::Index { index: i64::from(self.below(20)) - 1 })
    }

    fn bits(&mut self) -> v1::P4Data {
        let number = self.pick(&[0, 1, 0x7ff, 0xfff, 0xf_ffff]);
        v1::P4Data { data: Some(v1::p4_data::Data::Bitstring(self.bytes(number))) }
    }

    fn update(&mut self) -> v1::Update {
        let schema = self.schema;
        match self.below(20) {
            0..=8 => {
                let kind = self.kind();
                let kind = if self.one_in(5) { Type::Modify } else { kind };
                update(kind, Kind::TableEntry(self.entry()))
            }
            9 => {
                let entry = v1::DirectCounterEntry {
                    table_entry: Some(self.entry()),
                    data: (!self.one_in(5)).then(|| self.counter_data()),
                };
                update(self.modify(), Kind::DirectCounterEntry(entry))
            }
            10 => {
                let entry = v1::DirectMeterEntry {
                    table_entry: Some(self.entry()),
                    config: (!self.one_in(5)).then(|| self.meter_config()),
                    counter_data: None,
                };
                update(self.modify(), Kind::DirectMeterEntry(entry))
            }
            11 | 12 => {
                let profiles: Vec<_> = schema.action_profiles().iter().collect();
                let profile = self.pick(&profiles);
                let implementation = Some(Implementation::ActionProfile(profile.id));
                let table =
                    schema.tables().iter().find(|table| table.implementation == implementation);
                let action = table.map(|table| self.action_of(table));
                let member = v1::ActionProfileMember {
                    action_profile_id: profile.id.0,
                    member_id: self.below(6),
                    action: action.filter(|_| !self.one_in(20)),
                };
                update(self.kind(), Kind::ActionProfileMember(member))
            }
            13 | 14 => {
                let profiles: Vec<_> = schema.action_profiles().iter().collect();
                let member = |random: &mut Self| GroupMember {
                    member_id: random.below(5),
                    weight: random.below(4) as i32,
                    watch_kind: None,
                };
                let group = v1::ActionProfileGroup {
                    action_profile_id: self.pick(&profiles).id.0,
                    group_id: self.below(4),
                    members: (0..self.below(3)).map(|_| member(self)).collect(),
                    max_size: self.pick(&[0, 0, 0, 6, 40]),
                };
                update(self.kind(), Kind::ActionProfileGroup(group))
            }
            15 => {
                let counters: Vec<_> = schema.counters().iter().collect();
                let entry = v1::CounterEntry {
                    counter_id: self.pick(&counters).id.0,
                    index: self.index(),
                    data: (!self.one_in(9)).then(|| self.counter_data()),
                };
                update(self.modify(), Kind::CounterEntry(entry))
            }
            16 if self.one_in(2) => {
                let meters: Vec<_> = schema.meters().iter().collect();
                let entry = v1::MeterEntry {
                    meter_id: self.pick(&meters).id.0,
                    index: self.index(),
                    config: (!self.one_in(5)).then(|| self.meter_config()),
                    counter_data: None,
                };
                update(self.modify(), Kind::MeterEntry(entry))
            }
            16 => {
                let registers: Vec<_> = schema.registers().iter().collect();
                let entry = v1::RegisterEntry {
                    register_id: self.pick(&registers).id.0,
                    index: self.index(),
                    data: (!self.one_in(9)).then(|| self.bits()),
                };
                update(self.modify(), Kind::RegisterEntry(entry))
            }
            17 => {
                let sets: Vec<_> = schema.value_sets().iter().collect();
                let set = self.pick(&sets);
                let members = (0..self.below(6))
                    .map(|_| v1::ValueSetMember { r#match: self.fields(&set.match_fields) });
                let members = members.collect();
                let entry = v1::ValueSetEntry { value_set_id: set.id.0, members };
                update(self.modify(), Kind::ValueSetEntry(entry))
            }
            18 => {
                let digests: Vec<_> = schema.digests().iter().collect();
                let config = v1::digest_entry::Config {
                    max_timeout_ns: i64::from(self.below(5)) - 1,
                    ..Default::default()
                };
                let entry = v1::DigestEntry {
                    digest_id: self.pick(&digests).id.0,
                    config: (!self.one_in(4)).then_some(config),
                };
                update(self.kind(), Kind::DigestEntry(entry))
            }
            _ => {
                let kind = if self.one_in(2) {
                    Replication::MulticastGroupEntry(v1::MulticastGroupEntry {
                        multicast_group_id: self.below(4),
                        replicas: self.replicas(),
                        metadata: Bytes::new(),
                    })
                } else {
                    Replication::CloneSessionEntry(v1::CloneSessionEntry {
                        session_id: self.below(4),
                        replicas: self.replicas(),
                        class_of_service: self.below(2),
                        packet_length_bytes: self.below(60) as i32 - 1,
                    })
                };
                let entry = v1::PacketReplicationEngineEntry { r#type: Some(kind) };
                update(self.kind(), Kind::PacketReplicationEngineEntry(entry))
            }
        }
    }

    /// Returns a read of entities that are likely to exist, or of a random selection.
    fn selection(&mut self) -> Kind {
        match self.update().entity.and_then(|entity| entity.entity) {
            Some(Kind::TableEntry(mut entry)) => {
                entry.is_const = false;
                if self.one_in(2) {
                    entry.controller_metadata = 0;
                    entry.metadata = Bytes::new();
                    entry.action = None;
                }
                if self.one_in(2) {
                    entry.r#match.clear();
                }
                Kind::TableEntry(entry)
            }
            Some(kind) => kind,
            None => Kind::TableEntry(v1::TableEntry::default()),
        }
    }
}

#[test]
fn random_requests_get_the_answers_of_the_emulated_switch() {
    let mut codes: BTreeMap<i32, usize> = BTreeMap::new();
    let (mut indirect, mut idle) = (0, 0);
    for seed in 0..6 {
        println!("seed {seed}");
        let mut both = Both::new();
        let schema = std::sync::Arc::clone(&both.schema);
        let random = ChaCha8Rng::seed_from_u64(seed);
        let mut random = Random { random, schema: &schema };
        for round in 0..300 {
            let now = Nanos(1_000 + round * 70);
            let updates: Vec<_> = (0..1 + random.below(8)).map(|_| random.update()).collect();
            let atomicity = random.pick(&[
                Atomicity::ContinueOnError,
                Atomicity::ContinueOnError,
                Atomicity::RollbackOnError,
                Atomicity::DataplaneAtomic,
            ]);
            for code in both.write(&updates, atomicity, now) {
                *codes.entry(code as i32).or_default() += 1;
            }
            let selections = (0..4).map(|_| random.selection()).collect();
            both.read(selections, now);
            if round % 5 == 0 {
                for found in both.read(everything(), now) {
                    let Some(Kind::TableEntry(entry)) = found.entity else { continue };
                    let table = schema.tables().get(p4runtime::p4info::TableId(entry.table_id));
                    let implementation = table.and_then(|table| table.implementation);
                    let is_indirect =
                        matches!(implementation, Some(Implementation::ActionProfile(_)));
                    indirect += usize::from(is_indirect && !entry.is_default_action);
                }
                idle += both.idle(now).len();
            }
        }
    }
    // The comparison is worth something only if requests succeed, and fail in every way.
    let enough = |code: Code, least| {
        let found = codes.get(&(code as i32)).copied().unwrap_or(0);
        assert!(found >= least, "{code:?} only {found} times: {codes:?}");
    };
    enough(Code::Ok, 300);
    enough(Code::InvalidArgument, 100);
    enough(Code::AlreadyExists, 30);
    enough(Code::NotFound, 100);
    enough(Code::ResourceExhausted, 5);
    enough(Code::PermissionDenied, 5);
    enough(Code::FailedPrecondition, 3);
    enough(Code::OutOfRange, 30);
    enough(Code::Aborted, 50);
    assert!(indirect > 20, "{indirect} entries of members and groups were read");
    assert!(idle > 5, "{idle} entries were told to be idle");
}
