//! Searches on devices whose tables refer to each other, and whose keys and parameters are strings.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use made_server::{Faults, Proxy, serve, serve_checking_references};
use protos::v1::{self, entity::Entity as Kind, field_match::FieldMatchType as Match};
use tonic::Status;

use super::{at, lines};
use crate::bench::Bench;
use crate::fuzz::fuzz_on;
use crate::subject::{Subject, Target};
use crate::{ConstraintDuty, Fuzzed, Means, Settings, Verdict, judge};

const PROGRAM: &str = include_str!("../../tests/referring.p4");

fn search(address: String, seed: u64) -> Fuzzed {
    let mut bench = Bench::open(&at(address)).expect("it can be judged");
    let settings = Settings { seed, requests: 500, constraints: ConstraintDuty::Checked };
    fuzz_on(&mut bench, &settings, &AtomicBool::new(false), &mut |_, _| {}).expect("it has tables")
}

/// Counts the tables of whose entries the device has taken one.
#[derive(Default)]
struct Counting(Mutex<BTreeSet<u32>>);

impl Faults for Counting {
    fn entities(&self, answer: Result<Vec<v1::Entity>, Status>) -> Result<Vec<v1::Entity>, Status> {
        let found = answer.iter().flatten().filter_map(|entity| match &entity.entity {
            Some(Kind::TableEntry(entry)) if !entry.is_default_action => Some(entry.table_id),
            _ => None,
        });
        self.0.lock().expect("no holder panics").extend(found);
        answer
    }
}

#[test]
fn entries_of_all_tables_are_written_and_show_no_fault_where_there_is_none() {
    for served in [serve(PROGRAM), serve_checking_references(PROGRAM)] {
        let counting = Arc::new(Counting::default());
        let address = Proxy::start(&served, Arc::<Counting>::clone(&counting));
        let mut accepted = 0;
        for seed in 1..=3 {
            let found = search(address.clone(), seed);
            if let Some(finding) = found.finding {
                panic!("seed {seed}: {}\n{}", finding.why, lines(&finding));
            }
            assert_eq!((found.left, found.left_out), (None, Vec::new()), "seed {seed}");
            let entries = found.counts.iter().filter(|count| count.what == "insert of an entry");
            accepted += entries.map(|count| count.accepted).sum::<u64>();
        }
        assert_eq!(counting.0.lock().expect("no holder panics").len(), 7);
        assert!(accepted > 300, "{accepted} entries were accepted");
    }
}

/// Requirements are tried on tables with strings.
#[test]
fn requirements_are_tried_with_strings() {
    let stop = AtomicBool::new(false);
    let outcome = judge(&at(serve(PROGRAM)), Means::default(), &stop, &mut |_, _| {});
    let outcome = outcome.expect("it can be judged");
    assert_eq!(outcome.left, Vec::<String>::new());
    let broken: Vec<_> = outcome
        .tried
        .iter()
        .filter(|tried| matches!(tried.verdict, Verdict::Broken { .. } | Verdict::Untried { .. }))
        .map(|tried| (tried.requirement.id, &tried.verdict))
        .collect();
    assert!(broken.is_empty(), "{broken:?}");
    let met = outcome.tried.iter().filter(|tried| tried.verdict == Verdict::Met).count();
    assert!(met > 70, "{met}");
}

#[test]
fn references_of_the_program_are_read() {
    let p4info = made_server::compile(PROGRAM).p4info.expect("a P4Info");
    let subject = Subject::new(&p4info);
    let table = |name: &str| {
        let mut tables = subject.tables.iter();
        tables.find(|table| table.name == format!("MyIngress.{name}")).expect("it is there")
    };
    for table in &subject.tables {
        assert_eq!(table.unfit(), None, "{}", table.name);
    }
    let [to_neighbor] = table("hops").restricted_actions.as_slice() else { panic!("one action") };
    let targets: Vec<(Target, usize)> =
        to_neighbor.references.iter().map(|one| (one.target, one.pairs.len())).collect();
    let of = |name| Target::Table(table(name).id);
    assert_eq!(targets, [(of("interfaces"), 1), (of("neighbors"), 2)]);
    let routes = table("routes");
    assert_eq!(routes.references.iter().map(|one| one.target).collect::<Vec<_>>(), [of("domains")]);
    let mut groups = routes.restricted_actions.iter().flat_map(|action| &action.references);
    assert!(groups.any(|one| one.target == Target::MulticastGroups));
    assert!(table("domains").keys[0].is_text() && !table("interfaces").keys[0].is_text());
}

/// Writes one string in the place of another.
struct OtherString;

impl Faults for OtherString {
    fn write(&self, mut request: v1::WriteRequest) -> Result<v1::WriteRequest, Status> {
        for update in &mut request.updates {
            let entity = update.entity.as_mut().and_then(|entity| entity.entity.as_mut());
            let Some(Kind::TableEntry(entry)) = entity else { continue };
            for field in &mut entry.r#match {
                if let Some(Match::Exact(exact)) = &mut field.field_match_type
                    && exact.value == "3"
                {
                    exact.value = "03".into();
                }
            }
        }
        Ok(request)
    }
}

/// Refuses entries whose references lead to what is there, beside all others of one table.
struct RefusesReferring(u32);

impl Faults for RefusesReferring {
    fn write(&self, request: v1::WriteRequest) -> Result<v1::WriteRequest, Status> {
        let is_of_table = |update: &v1::Update| {
            let entity = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
            // The first entries, by which the device is tried, have this value.
            matches!(entity, Some(Kind::TableEntry(entry))
                if entry.table_id == self.0 && update.r#type() == v1::update::Type::Insert)
        };
        match request.updates.len() > 1 && request.updates.iter().all(is_of_table) {
            true => Err(Status::failed_precondition("it refers to nothing")),
            false => Ok(request),
        }
    }
}

#[test]
fn a_device_that_confuses_strings_or_refuses_references_is_found() {
    let address = Proxy::start(&serve(PROGRAM), Arc::new(OtherString));
    let finding = search(address, 1).finding.expect("a fault");
    assert!(finding.why.contains("\"03\""), "{}\n{}", finding.why, lines(&finding));
    assert_eq!(finding.repeated, 3);

    let p4info = made_server::compile(PROGRAM).p4info.expect("a P4Info");
    let subject = Subject::new(&p4info);
    let hops = subject.tables.iter().find(|table| table.name == "MyIngress.hops");
    let faults = RefusesReferring(hops.expect("it is there").id);
    let address = Proxy::start(&serve(PROGRAM), Arc::new(faults));
    let finding = search(address, 1).finding.expect("a fault");
    let why = format!("{}\n{}", finding.why, lines(&finding));
    assert!(why.contains("was answered FAILED_PRECONDITION where OK is demanded"), "{why}");
}
