//! Requirements of sections 14, 15 and 17 about pipelines and capabilities that can be tried
//! without a commit.

use protos::v1::{
    self, forwarding_pipeline_config::Cookie, get_forwarding_pipeline_config_request::ResponseType,
    set_forwarding_pipeline_config_request::Action,
};
use tonic::Code;

use super::{Trial, must};
use crate::bench::{Bench, OTHER_DEVICES, demand_code, of_number};
use crate::channel::name;
use crate::demands::{Fault, demand};
use crate::entities::{insert, of_entry};

pub(super) const ALL: &[Trial] = &[
    must(
        "14",
        "pipeline-of-an-unknown-device",
        "A pipeline is sent to a device that the server does not have: NOT_FOUND.",
        pipeline_of_an_unknown_device,
    ),
    must(
        "14",
        "pipeline-of-another-than-the-primary",
        "A pipeline is sent with another election id than the primary's: PERMISSION_DENIED.",
        pipeline_of_another_than_the_primary,
    ),
    must(
        "14",
        "pipeline-without-configuration",
        "A pipeline is to be verified or saved, but there is none in the request: INVALID_ARGUMENT.",
        pipeline_without_configuration,
    ),
    must(
        "14",
        "verify-changes-nothing",
        "A pipeline is verified: the entries and the cookie of the present one stay.",
        verify_changes_nothing,
    ),
    must(
        "15",
        "read-pipeline-of-an-unknown-device",
        "The pipeline of a device is read that the server does not have: NOT_FOUND.",
        read_pipeline_of_an_unknown_device,
    ),
    must(
        "15",
        "parts-of-a-pipeline",
        "A pipeline is read in parts: each answer has the parts that were asked for, and no others.",
        parts_of_a_pipeline,
    ),
    must("17", "version", "The device names the version of P4Runtime that it implements.", version),
];

/// Returns a request of the primary to set the pipeline, with this action.
pub(super) fn request(
    bench: &Bench,
    action: Action,
    config: Option<v1::ForwardingPipelineConfig>,
) -> v1::SetForwardingPipelineConfigRequest {
    v1::SetForwardingPipelineConfigRequest {
        device_id: bench.device_id(),
        election_id: Some(of_number(bench.election_id())),
        action: action as i32,
        config,
        ..Default::default()
    }
}

/// Returns the complete forwarding-pipeline configuration of the device.
pub(super) fn whole(bench: &mut Bench) -> Result<v1::ForwardingPipelineConfig, Fault> {
    get(bench, ResponseType::All)
}

pub(super) fn get(
    bench: &mut Bench,
    response_type: ResponseType,
) -> Result<v1::ForwardingPipelineConfig, Fault> {
    let request = v1::GetForwardingPipelineConfigRequest {
        device_id: bench.device_id(),
        response_type: response_type as i32,
    };
    bench.channel.get_pipeline(request)?.map_err(|status| {
        Fault::Broken(format!(
            "the device refused to return its pipeline with {}",
            name(status.code())
        ))
    })
}

/// Returns the status code with which the device answers a request to set a pipeline. Not
/// applicable if the device accepts no pipelines.
pub(super) fn set(
    bench: &mut Bench,
    request: v1::SetForwardingPipelineConfigRequest,
) -> Result<Code, Fault> {
    match bench.channel.set_pipeline(request)? {
        Code::Unimplemented => {
            Err(Fault::NotApplicable("the device takes no pipelines".to_owned()))
        }
        code => Ok(code),
    }
}

fn pipeline_of_an_unknown_device(bench: &mut Bench) -> Result<(), Fault> {
    let device_id = bench.unknown_device()?;
    let config = whole(bench)?;
    let request = request(bench, Action::Verify, Some(config));
    let request = v1::SetForwardingPipelineConfigRequest { device_id, ..request };
    let code = set(bench, request)?;
    demand_code(code, &[Code::NotFound])
}

fn pipeline_of_another_than_the_primary(bench: &mut Bench) -> Result<(), Fault> {
    let config = whole(bench)?;
    let unused = bench.next_election_id();
    for election_id in [Some(bench.election_id() - 1), Some(unused), None] {
        let request = request(bench, Action::Verify, Some(config.clone()));
        let election_id = election_id.map(of_number);
        let request = v1::SetForwardingPipelineConfigRequest { election_id, ..request };
        let code = set(bench, request)?;
        demand_code(code, &[Code::PermissionDenied])?;
    }
    Ok(())
}

fn pipeline_without_configuration(bench: &mut Bench) -> Result<(), Fault> {
    for action in [Action::Verify, Action::VerifyAndSave, Action::VerifyAndCommit] {
        let request = request(bench, action, None);
        let code = set(bench, request)?;
        demand_code(code, &[Code::InvalidArgument])?;
    }
    Ok(())
}

fn verify_changes_nothing(bench: &mut Bench) -> Result<(), Fault> {
    let before = whole(bench)?;
    if before.p4_device_config.is_empty() {
        return Err(Fault::NotApplicable("the device does not return its own program".to_owned()));
    }
    let table = bench.any_open_table()?;
    let entry = bench.entry(&table);
    bench.accept(vec![insert(of_entry(&entry))])?;
    let cookie = before.cookie.unwrap_or_default().cookie.wrapping_add(1);
    let other = v1::ForwardingPipelineConfig { cookie: Some(Cookie { cookie }), ..before.clone() };
    let request = request(bench, Action::Verify, Some(other));
    let code = set(bench, request)?;
    demand_code(code, &[Code::Ok])?;
    bench.holds(&entry)?;
    let after = whole(bench)?;
    demand(after.cookie == before.cookie, || {
        "the cookie of the verified pipeline is returned".to_owned()
    })
}

fn read_pipeline_of_an_unknown_device(bench: &mut Bench) -> Result<(), Fault> {
    // If no identifier is unknown to the server, one that no server is likely to have is taken.
    let likely = bench.device_id().wrapping_add(OTHER_DEVICES[0]);
    let device = bench.unknown_device().unwrap_or(likely);
    let code = bench.pipeline_code(device)?;
    demand_code(code, &[Code::NotFound])
}

fn parts_of_a_pipeline(bench: &mut Bench) -> Result<(), Fault> {
    let all = whole(bench)?;
    demand(all.p4info.is_some(), || "the pipeline has no P4Info".to_owned())?;
    let parts = [
        (ResponseType::CookieOnly, false, false),
        (ResponseType::P4infoAndCookie, true, false),
        (ResponseType::DeviceConfigAndCookie, false, true),
    ];
    for (kind, has_p4info, may_have_program) in parts {
        let part = get(bench, kind)?;
        let is_right = part.p4info.is_some() == has_p4info
            && (part.p4_device_config.is_empty() || may_have_program)
            && part.cookie == all.cookie;
        demand(is_right, || format!("the answer to {kind:?} has other parts than those"))?;
    }
    Ok(())
}

fn version(bench: &mut Bench) -> Result<(), Fault> {
    let device_id = bench.device_id();
    let answer = bench.channel.capabilities(device_id)?;
    let found = answer.map_err(|status| {
        Fault::Broken(format!("the device answers with {}", name(status.code())))
    })?;
    // Semantic versions begin with three numbers (19).
    let mut numbers = found.p4runtime_api_version.split(['.', '-', '+']);
    let is_version =
        numbers.by_ref().take(3).filter(|part| part.parse::<u32>().is_ok()).count() == 3;
    demand(is_version, || format!("{:?} is no version", found.p4runtime_api_version))
}
