//! Requirements of sections 14 and 15 about commits. They commit the same pipeline that the device
//! runs, with another cookie.

use protos::v1::{
    self, get_forwarding_pipeline_config_request::ResponseType,
    set_forwarding_pipeline_config_request::Action,
};
use tonic::Code;

use super::pipelines::{get, request, set, whole};
use super::{Trial, must};
use crate::bench::{Bench, demand_code, of_number};
use crate::demands::{Fault, demand};
use crate::entities::{insert, of_entry};

pub(super) const ALL: &[Trial] = &[
    must(
        "14",
        "commit-clears-the-tables",
        "A pipeline is verified and committed: the entries that were there are gone.",
        commit_clears_the_tables,
    ),
    must(
        "14",
        "commit-of-another-than-the-primary",
        "A backup commits a pipeline: PERMISSION_DENIED, and the entries and the cookie stay.",
        commit_of_another_than_the_primary,
    ),
    must(
        "14",
        "saved-pipeline-is-committed",
        "A pipeline is saved, an entry inserted and the pipeline committed: it runs, with the entry.",
        saved_pipeline_is_committed,
    ),
    must(
        "14",
        "commit-without-a-saved-pipeline",
        "A pipeline is to be committed, but none is saved: NOT_FOUND.",
        commit_without_a_saved_pipeline,
    ),
    must(
        "14",
        "commit-with-a-pipeline",
        "A saved pipeline is to be committed, but the request has one too: INVALID_ARGUMENT.",
        commit_with_a_pipeline,
    ),
    must(
        "14",
        "reconciliation-keeps-the-tables",
        "The same pipeline is reconciled and committed: the entries stay, and its cookie is returned.",
        reconciliation_keeps_the_tables,
    ),
    must(
        "14",
        "reconciliation-without-configuration",
        "A pipeline is to be reconciled, but there is none in the request: INVALID_ARGUMENT.",
        reconciliation_without_configuration,
    ),
    must(
        "15",
        "pipeline-is-read-as-written",
        "A pipeline is committed: P4Info, cookie and, if the device returns it, the program are returned.",
        pipeline_is_read_as_written,
    ),
];

/// Sends a request to set a pipeline, and demands that the device accepts it.
fn accept(
    bench: &mut Bench,
    action: Action,
    config: Option<v1::ForwardingPipelineConfig>,
) -> Result<(), Fault> {
    let request = request(bench, action, config);
    let code = set(bench, request)?;
    demand_code(code, &[Code::Ok])
}

/// Inserts a generated entry, and returns it.
fn inserted(bench: &mut Bench) -> Result<v1::TableEntry, Fault> {
    let table = bench.any_open_table()?;
    let entry = bench.entry(&table);
    bench.accept(vec![insert(of_entry(&entry))])?;
    Ok(entry)
}

fn has_cookie(bench: &mut Bench, config: &v1::ForwardingPipelineConfig) -> Result<(), Fault> {
    let found = get(bench, ResponseType::CookieOnly)?;
    demand(found.cookie == config.cookie, || {
        "the cookie of the committed pipeline is not returned".to_owned()
    })
}

fn commit_clears_the_tables(bench: &mut Bench) -> Result<(), Fault> {
    let config = bench.committable()?;
    let entry = inserted(bench)?;
    accept(bench, Action::VerifyAndCommit, Some(config.clone()))?;
    bench.holds_no(&entry)?;
    has_cookie(bench, &config)
}

fn commit_of_another_than_the_primary(bench: &mut Bench) -> Result<(), Fault> {
    let config = bench.committable()?;
    let before = whole(bench)?;
    let entry = inserted(bench)?;
    if bench.election_id() < 2 {
        bench.raise_election_id(2)?;
    }
    let lower = bench.election_id() - 1;
    let (_backup, _) = bench.rival(Some(lower))?;
    let request = request(bench, Action::VerifyAndCommit, Some(config));
    let election_id = Some(of_number(lower));
    let request = v1::SetForwardingPipelineConfigRequest { election_id, ..request };
    let code = set(bench, request)?;
    demand_code(code, &[Code::PermissionDenied])?;
    bench.holds(&entry)?;
    has_cookie(bench, &before)
}

fn saved_pipeline_is_committed(bench: &mut Bench) -> Result<(), Fault> {
    let config = bench.committable()?;
    accept(bench, Action::VerifyAndSave, Some(config.clone()))?;
    let entry = inserted(bench)?;
    accept(bench, Action::Commit, None)?;
    has_cookie(bench, &config)?;
    bench.holds(&entry)
}

fn commit_without_a_saved_pipeline(bench: &mut Bench) -> Result<(), Fault> {
    let config = bench.committable()?;
    accept(bench, Action::VerifyAndCommit, Some(config))?;
    let entry = inserted(bench)?;
    let request = request(bench, Action::Commit, None);
    let code = set(bench, request)?;
    demand_code(code, &[Code::NotFound])?;
    bench.holds(&entry)
}

fn commit_with_a_pipeline(bench: &mut Bench) -> Result<(), Fault> {
    let config = bench.committable()?;
    accept(bench, Action::VerifyAndSave, Some(config.clone()))?;
    let request = request(bench, Action::Commit, Some(config));
    let code = set(bench, request)?;
    demand_code(code, &[Code::InvalidArgument])
}

/// Sends the pipeline with the action RECONCILE_AND_COMMIT, which a device need not support.
fn reconcile(
    bench: &mut Bench,
    config: Option<v1::ForwardingPipelineConfig>,
) -> Result<Code, Fault> {
    let request = request(bench, Action::ReconcileAndCommit, config);
    match bench.channel.set_pipeline(request)? {
        Code::Unimplemented => {
            Err(Fault::NotApplicable("the device does not reconcile pipelines".to_owned()))
        }
        code => Ok(code),
    }
}

fn reconciliation_keeps_the_tables(bench: &mut Bench) -> Result<(), Fault> {
    let config = bench.committable()?;
    let entry = inserted(bench)?;
    let code = reconcile(bench, Some(config.clone()))?;
    demand_code(code, &[Code::Ok])?;
    bench.holds(&entry)?;
    has_cookie(bench, &config)
}

fn reconciliation_without_configuration(bench: &mut Bench) -> Result<(), Fault> {
    bench.committable()?;
    let code = reconcile(bench, None)?;
    demand_code(code, &[Code::InvalidArgument])
}

fn pipeline_is_read_as_written(bench: &mut Bench) -> Result<(), Fault> {
    let config = bench.committable()?;
    accept(bench, Action::VerifyAndCommit, Some(config.clone()))?;
    let found = whole(bench)?;
    demand(found.cookie == config.cookie, || "another cookie is returned".to_owned())?;
    demand(found.p4info == config.p4info, || "another P4Info is returned".to_owned())?;
    let program = &found.p4_device_config;
    demand(program.is_empty() || *program == config.p4_device_config, || {
        "another program is returned".to_owned()
    })
}
