//! The objects of a device's program, read from its P4Info, as far as requirements need them.

mod externs;
mod references;
mod restrictions;
mod translation;

use protos::config::{self, action_ref::Scope, match_field::MatchType, table::IdleTimeoutBehavior};

pub(crate) use self::externs::{Array, Counts, Direct, Marker, ValueSet, Width};
use self::references::references;
pub(crate) use self::references::{Reference, Target};
pub(crate) use self::restrictions::{Breach, Restriction};
pub(crate) use self::translation::Translated;
use self::translation::translated;

/// The smallest width of a table's key for which entries are generated. It permits eight different
/// entries.
const LEAST_BITS: u32 = 3;
/// The width, in bits, of the generated numbers that are written as strings, for fields whose
/// values are strings.
const TEXT_BITS: u32 = 32;

/// The match kind of a key field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Exact,
    Lpm,
    Ternary,
    Range,
    Optional,
}

/// A key field of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) id: u32,
    /// The width of the field in bits, or 0 if its values are strings.
    pub(crate) bits: u32,
    pub(crate) kind: Kind,
    /// The form in which controllers write the values; `None` if the device does not translate
    /// them.
    pub(crate) translated: Option<Translated>,
}

/// A parameter of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Param {
    pub(crate) id: u32,
    /// The width of the parameter in bits, or 0 if its values are strings.
    pub(crate) bits: u32,
    /// The form in which controllers write the values; `None` if the device does not translate
    /// them.
    pub(crate) translated: Option<Translated>,
}

impl Key {
    /// Returns whether controllers write the values of the field as strings.
    pub(crate) fn is_text(&self) -> bool {
        self.translated.as_ref().is_some_and(|one| one.is_text)
    }

    /// Returns the width in bits of the numbers from which values of the field are generated.
    pub(crate) fn room(&self) -> u32 {
        if self.is_text() { TEXT_BITS } else { self.bits }
    }
}

impl Param {
    /// Returns whether controllers write the values of the parameter as strings.
    pub(crate) fn is_text(&self) -> bool {
        self.translated.as_ref().is_some_and(|one| one.is_text)
    }

    /// Returns the width in bits of the numbers from which values of the parameter are generated.
    pub(crate) fn room(&self) -> u32 {
        if self.is_text() { TEXT_BITS } else { self.bits }
    }
}

/// An action of a table.
#[derive(Clone, Debug)]
pub(crate) struct Action {
    pub(crate) id: u32,
    pub(crate) params: Vec<Param>,
    /// The constraint on the action's arguments, if there is one.
    pub(crate) restriction: Option<Restriction>,
    /// The references from the action's arguments to other entities.
    pub(crate) references: Vec<Reference>,
    /// Whether table entries may call the action.
    pub(crate) in_entries: bool,
    /// Whether the action may be a default action.
    pub(crate) in_default: bool,
}

/// A table of the program.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) keys: Vec<Key>,
    /// The actions whose arguments are neither constrained nor refer to other entities.
    pub(crate) actions: Vec<Action>,
    /// The actions whose arguments are constrained or refer to other entities.
    pub(crate) restricted_actions: Vec<Action>,
    /// The actions that are never called, each as a text with the reason.
    pub(crate) unfit_actions: Vec<String>,
    /// The constraint on the table's entries, if there is one.
    pub(crate) restriction: Option<Restriction>,
    /// The references from the keys of the table's entries to other entities.
    pub(crate) references: Vec<Reference>,
    pub(crate) is_const: bool,
    pub(crate) has_const_default: bool,
    /// The identifier of the action profile or selector that the table's entries use, if any.
    pub(crate) profile: Option<u32>,
    pub(crate) notifies_idle_entries: bool,
    /// The identifiers of the table's direct counter and direct meter.
    direct: Vec<u32>,
    /// The reason why no entries can be generated that the device must accept; `None` if they can
    /// be.
    unfit: Option<String>,
}

/// An action profile or action selector of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Profile {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) tables: Vec<u32>,
    pub(crate) is_selector: bool,
    pub(crate) max_group_size: i32,
    pub(crate) counts_members: bool,
    /// The largest weight of a member, which applies if `counts_members` is set; 0 if there is no
    /// limit.
    pub(crate) max_member_weight: i32,
}

/// The objects of a device's program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subject {
    pub(crate) tables: Vec<Table>,
    pub(crate) profiles: Vec<Profile>,
    pub(crate) counters: Vec<Array<Counts>>,
    direct_counters: Vec<Direct<Counts>>,
    pub(crate) meters: Vec<Array<Marker>>,
    direct_meters: Vec<Direct<Marker>>,
    pub(crate) registers: Vec<Array<Width>>,
    pub(crate) digests: Vec<u32>,
    pub(crate) value_sets: Vec<ValueSet>,
    /// The metadata fields of packet-outs.
    pub(crate) packet_out: Vec<Param>,
    /// The metadata fields of packet-ins.
    pub(crate) packet_in: Vec<Param>,
    /// The largest identifier of an object in the P4Info.
    highest_id: u32,
}

impl Table {
    /// Returns whether the table's entries have priorities (9.1.1).
    pub(crate) fn has_priority(&self) -> bool {
        self.keys.iter().any(|key| matches!(key.kind, Kind::Ternary | Kind::Range | Kind::Optional))
    }

    /// Returns the first key field of this kind whose values are plain numbers, which the device
    /// does not translate.
    pub(crate) fn key(&self, kind: Kind) -> Option<&Key> {
        self.keys.iter().find(|key| key.kind == kind && key.translated.is_none())
    }

    /// Returns whether the values of all keys, and of the arguments of [`Self::action`], are plain
    /// numbers, which the device does not translate.
    pub(crate) fn is_numeric(&self) -> bool {
        let params = self.action().map(|action| action.params.as_slice()).unwrap_or_default();
        self.keys.iter().all(|key| key.translated.is_none())
            && params.iter().all(|param| param.translated.is_none())
    }

    /// Returns an action that entries may call: the first one with parameters, or the first one if
    /// none has parameters.
    pub(crate) fn action(&self) -> Option<&Action> {
        let mut usable = self.actions.iter().filter(|action| action.in_entries);
        usable.clone().find(|action| !action.params.is_empty()).or_else(|| usable.next())
    }

    /// Returns an action that entries may call, even if its arguments are constrained.
    pub(crate) fn any_action(&self) -> Option<&Action> {
        let restricted = || self.restricted_actions.iter().find(|action| action.in_entries);
        self.action().or_else(restricted)
    }

    /// Returns all actions that can be called, whether or not their arguments are constrained.
    pub(crate) fn all_actions(&self) -> impl Iterator<Item = &Action> {
        self.actions.iter().chain(&self.restricted_actions)
    }

    /// Returns whether at least eight different entries that contain their action can be inserted,
    /// and no constraint restricts them.
    pub(crate) fn takes_entries(&self) -> bool {
        self.profile.is_none() && self.is_unrestricted()
    }

    /// Returns whether entries that refer to members of a profile can be inserted, and no
    /// constraint restricts them.
    pub(crate) fn takes_members(&self) -> bool {
        self.profile.is_some() && self.is_unrestricted()
    }

    fn is_unrestricted(&self) -> bool {
        let is_free = self.restriction.is_none() && self.references.is_empty();
        self.unfit().is_none() && is_free && self.action().is_some()
    }

    /// Returns the reason why no entries of the table can be generated, even ones that satisfy its
    /// constraint. Returns `None` if they can be.
    pub(crate) fn unfit(&self) -> Option<&str> {
        let bits: u32 = self.keys.iter().map(Key::room).sum();
        match &self.unfit {
            Some(why) => Some(why),
            None if self.is_const => Some("its entries are constant"),
            None if bits < LEAST_BITS => Some("its key has fewer than eight values"),
            None if self.any_action().is_none() => {
                Some("it has no action for entries whose arguments can be made")
            }
            None => None,
        }
    }
}

impl Subject {
    pub(crate) fn new(p4info: &config::P4Info) -> Self {
        let mut subject = Self {
            tables: p4info.tables.iter().map(|table| self::table(p4info, table)).collect(),
            profiles: p4info.action_profiles.iter().map(profile).collect(),
            counters: externs::counters(p4info),
            direct_counters: externs::direct_counters(p4info),
            meters: externs::meters(p4info),
            direct_meters: externs::direct_meters(p4info),
            registers: externs::registers(p4info),
            value_sets: externs::value_sets(p4info),
            digests: ids(p4info.digests.iter().map(|one| one.preamble.as_ref())),
            packet_out: metadata(p4info, "packet_out"),
            packet_in: metadata(p4info, "packet_in"),
            highest_id: 0,
        };
        let actions = p4info.actions.iter().filter_map(|action| action.preamble.as_ref());
        subject.highest_id = actions.map(|preamble| preamble.id).max().unwrap_or(0);
        subject
    }

    /// Returns an identifier that no object has, of the same type of object as `like`.
    pub(crate) fn unused_id(&self, like: u32) -> u32 {
        let is_used = |id: u32| {
            let mut ids = self
                .counters
                .iter()
                .map(|counter| counter.id)
                .chain(self.meters.iter().map(|meter| meter.id))
                .chain(self.registers.iter().map(|register| register.id))
                .chain(self.value_sets.iter().map(|set| set.id))
                .chain(self.tables.iter().map(|table| table.id))
                .chain(self.tables.iter().flat_map(Table::all_actions).map(|action| action.id))
                .chain(self.profiles.iter().map(|profile| profile.id))
                .chain(self.digests.iter().copied());
            ids.any(|other| other == id)
        };
        // The most significant byte of an identifier is its type (6.3).
        let of_type = like & 0xff00_0000;
        (1..=0x00ff_ffff).rev().map(|low| of_type | low).find(|id| !is_used(*id)).unwrap_or(of_type)
    }

    /// Returns the units that the direct counter of a table counts, or `None` if the table has no
    /// direct counter.
    pub(crate) fn counts(&self, table: &Table) -> Option<Counts> {
        let of_table = |counter: &&Direct<Counts>| table.direct.contains(&counter.id);
        self.direct_counters.iter().find(of_table).map(|counter| counter.form)
    }

    /// Returns the algorithm of a table's direct meter, or `None` if the table has no direct meter.
    pub(crate) fn marker(&self, table: &Table) -> Option<Marker> {
        let of_table = |meter: &&Direct<Marker>| table.direct.contains(&meter.id);
        self.direct_meters.iter().find(of_table).map(|meter| meter.form)
    }

    /// Returns a table whose entries refer to members of this profile and are not constrained.
    pub(crate) fn member_table(&self, profile: u32) -> Option<&Table> {
        self.tables.iter().find(|table| table.profile == Some(profile) && table.takes_members())
    }

    /// Returns a table whose entries refer to members of this profile, whether or not they are
    /// constrained.
    pub(crate) fn any_member_table(&self, profile: u32) -> Option<&Table> {
        self.tables.iter().find(|table| table.profile == Some(profile) && table.unfit().is_none())
    }

    /// Returns the constraints on all tables and actions, each once.
    pub(crate) fn restrictions(&self) -> Vec<&Restriction> {
        let mut found: Vec<&Restriction> = Vec::new();
        for table in &self.tables {
            let actions = table.restricted_actions.iter();
            let of_table = table.restriction.iter();
            for one in of_table.chain(actions.filter_map(|action| action.restriction.as_ref())) {
                if !found.iter().any(|other| other.owner == one.owner) {
                    found.push(one);
                }
            }
        }
        found
    }
}

fn table(p4info: &config::P4Info, table: &config::Table) -> Table {
    let preamble = table.preamble.clone().unwrap_or_default();
    let (keys, why) = keys(p4info, &table.match_fields);
    let why = why.or_else(|| special(&preamble.annotations));
    let (restriction, why) = match (why, Restriction::of_table(p4info, table)) {
        (None, Ok(restriction)) => (restriction, None),
        (None, Err(why)) => (None, Some(why)),
        (Some(why), _) => (None, Some(why.to_owned())),
    };
    let fields = table.match_fields.iter();
    let fields = fields.map(|field| (field.id, field.annotations.as_slice()));
    let (references, why) = match (why, references(p4info, fields)) {
        (None, Ok(references)) => (references, None),
        (None, Err(why)) => (Vec::new(), Some(why)),
        (Some(why), _) => (Vec::new(), Some(why)),
    };
    let actions = table.action_refs.iter().filter_map(|reference| action(p4info, reference));
    let (mut fit, mut unfit_actions): (Vec<Action>, Vec<String>) = Default::default();
    actions.for_each(|action| match action {
        Ok(action) => fit.push(action),
        Err(why) => unfit_actions.push(why),
    });
    let (restricted_actions, actions) = fit
        .into_iter()
        .partition(|action| action.restriction.is_some() || !action.references.is_empty());
    let notifies = IdleTimeoutBehavior::NotifyControl as i32;
    Table {
        id: preamble.id,
        unfit: why,
        name: preamble.name,
        keys,
        actions,
        restricted_actions,
        unfit_actions,
        restriction,
        references,
        is_const: table.is_const_table,
        has_const_default: table.const_default_action_id != 0,
        profile: (table.implementation_id != 0).then_some(table.implementation_id),
        notifies_idle_entries: table.idle_timeout_behavior == notifies,
        direct: table.direct_resource_ids.clone(),
    }
}

/// Returns the key fields of a table or value set. Also returns the reason if values for them
/// cannot be generated.
fn keys(
    p4info: &config::P4Info,
    fields: &[config::MatchField],
) -> (Vec<Key>, Option<&'static str>) {
    let (mut keys, mut why) = (Vec::new(), None);
    for field in fields {
        let translated = translated(p4info, field.type_name.as_ref());
        let is_text = translated.as_ref().is_some_and(|one| one.is_text);
        why = why.or_else(|| special(&field.annotations));
        why = why.or((field.bitwidth <= 0 && !is_text).then_some("a key is no number"));
        let kind = subject_kind(field);
        // A string has no mask, prefix or range.
        let is_matched = !is_text || matches!(kind, Some(Kind::Exact | Kind::Optional) | None);
        why = why.or((!is_matched).then_some("a string is not matched as a whole"));
        match kind {
            Some(kind) => {
                let bits = width(field.bitwidth);
                keys.push(Key { id: field.id, bits, kind, translated });
            }
            None => why = why.or(Some("a key has a kind of match that P4Runtime does not define")),
        }
    }
    (keys, why)
}

/// Returns the kind of a key field, or `None` for match kinds that are specific to an architecture.
fn subject_kind(field: &config::MatchField) -> Option<Kind> {
    match field.r#match {
        Some(config::match_field::Match::MatchType(kind)) => match MatchType::try_from(kind) {
            Ok(MatchType::Exact) => Some(Kind::Exact),
            Ok(MatchType::Lpm) => Some(Kind::Lpm),
            Ok(MatchType::Ternary) => Some(Kind::Ternary),
            Ok(MatchType::Range) => Some(Kind::Range),
            Ok(MatchType::Optional) => Some(Kind::Optional),
            Ok(MatchType::Unspecified) | Err(_) => None,
        },
        Some(config::match_field::Match::OtherMatchType(_)) | None => None,
    }
}

/// Returns an action of a table; `None` if the P4Info does not contain it.
///
/// # Errors
/// Returns the name of the action with the reason why it cannot be called: its arguments cannot be
/// generated from numbers, or its constraint cannot be parsed.
fn action(
    p4info: &config::P4Info,
    reference: &config::ActionRef,
) -> Option<Result<Action, String>> {
    let of_id = |action: &&config::Action| {
        action.preamble.as_ref().is_some_and(|preamble| preamble.id == reference.id)
    };
    let action = p4info.actions.iter().find(of_id)?;
    let name = action.preamble.as_ref().map_or("", |preamble| &preamble.name);
    Some(fit_action(p4info, reference, action).map_err(|why| format!("action {name}: {why}")))
}

fn fit_action(
    p4info: &config::P4Info,
    reference: &config::ActionRef,
    action: &config::Action,
) -> Result<Action, String> {
    let annotations = action.preamble.iter().flat_map(|preamble| &preamble.annotations);
    let annotations = annotations.chain(action.params.iter().flat_map(|param| &param.annotations));
    if let Some(why) = special(annotations) {
        return Err(why.to_owned());
    }
    let params: Vec<Param> = action
        .params
        .iter()
        .map(|param| Param {
            id: param.id,
            bits: width(param.bitwidth),
            translated: translated(p4info, param.type_name.as_ref()),
        })
        .collect();
    if params.iter().any(|param| param.bits == 0 && !param.is_text()) {
        return Err("a parameter is no number".to_owned());
    }
    let restriction = Restriction::of_action(p4info, action)?;
    let annotated = action.params.iter().map(|param| (param.id, param.annotations.as_slice()));
    let references = references(p4info, annotated)?;
    let scope = reference.scope;
    Ok(Action {
        id: reference.id,
        params,
        restriction,
        references,
        in_entries: scope == Scope::TableAndDefault as i32 || scope == Scope::TableOnly as i32,
        in_default: scope == Scope::TableAndDefault as i32 || scope == Scope::DefaultOnly as i32,
    })
}

/// Returns the reason why an object with these annotations is left out; `None` if it is not left
/// out.
fn special<'a>(annotations: impl IntoIterator<Item = &'a String>) -> Option<&'static str> {
    let is_hidden = annotations.into_iter().any(|text| text.starts_with("@hidden"));
    is_hidden.then_some("it is hidden from controllers (@hidden)")
}

/// Returns the metadata fields of packet-ins or packet-outs, which the P4Info lists under this
/// header name.
fn metadata(p4info: &config::P4Info, name: &str) -> Vec<Param> {
    let named = |header: &&config::ControllerPacketMetadata| {
        header.preamble.as_ref().is_some_and(|preamble| preamble.name == name)
    };
    let header = p4info.controller_packet_metadata.iter().find(named);
    let fields = header.map(|header| header.metadata.as_slice()).unwrap_or_default();
    let param = |id, bits| Param { id, bits: width(bits), translated: None };
    fields.iter().map(|field| param(field.id, field.bitwidth)).collect()
}

fn profile(profile: &config::ActionProfile) -> Profile {
    use config::action_profile::SelectorSizeSemantics;
    let preamble = profile.preamble.clone().unwrap_or_default();
    Profile {
        id: preamble.id,
        name: preamble.name,
        tables: profile.table_ids.clone(),
        is_selector: profile.with_selector,
        max_group_size: profile.max_group_size,
        counts_members: matches!(
            profile.selector_size_semantics,
            Some(SelectorSizeSemantics::SumOfMembers(_))
        ),
        max_member_weight: match profile.selector_size_semantics {
            Some(SelectorSizeSemantics::SumOfMembers(limit)) => limit.max_member_weight,
            Some(SelectorSizeSemantics::SumOfWeights(_)) | None => 0,
        },
    }
}

fn ids<'a>(preambles: impl Iterator<Item = Option<&'a config::Preamble>>) -> Vec<u32> {
    preambles.flatten().map(|preamble| preamble.id).collect()
}

fn width(bits: i32) -> u32 {
    u32::try_from(bits).unwrap_or(0)
}
