//! Commits pipelines on the bench.

use protos::v1::{
    self, forwarding_pipeline_config::Cookie, get_forwarding_pipeline_config_request::ResponseType,
    set_forwarding_pipeline_config_request::Action,
};
use tonic::Code;

use super::{Bench, of_number};
use crate::channel::name;
use crate::demands::Fault;

/// Returns a request to commit a pipeline.
pub(super) fn commit(
    device_id: u64,
    election_id: u128,
    config: v1::ForwardingPipelineConfig,
) -> v1::SetForwardingPipelineConfigRequest {
    v1::SetForwardingPipelineConfigRequest {
        device_id,
        election_id: Some(of_number(election_id)),
        action: Action::VerifyAndCommit as i32,
        config: Some(config),
        ..Default::default()
    }
}

impl Bench {
    /// Returns the pipeline that the device runs, with another cookie, so that an attempt can
    /// commit it. After the attempt, the original is committed again.
    ///
    /// # Errors
    /// Not applicable if the user did not permit commits, or if the device does not return its
    /// program and the user did not give it.
    pub(crate) fn committable(&mut self) -> Result<v1::ForwardingPipelineConfig, Fault> {
        if !self.means.commits {
            return Err(Fault::NotApplicable(
                "it clears the tables of the device, which was not permitted (--commit)".to_owned(),
            ));
        }
        let request = v1::GetForwardingPipelineConfigRequest {
            device_id: self.device_id(),
            response_type: ResponseType::All as i32,
        };
        let found = self.channel.get_pipeline(request)?.map_err(|status| {
            let code = name(status.code());
            Fault::Broken(format!("the device refused to return its pipeline with {code}"))
        })?;
        let program = match (&self.means.pushed, found.p4_device_config.is_empty()) {
            (_, false) => found.p4_device_config.clone(),
            (Some(pushed), true) => pushed.p4_device_config.clone(),
            (None, true) => {
                return Err(Fault::NotApplicable(
                    "the device does not return its own program, and none was given (--push)"
                        .to_owned(),
                ));
            }
        };
        let p4info = Some(self.p4info.clone());
        let config = v1::ForwardingPipelineConfig { p4info, p4_device_config: program, ..found };
        self.replaced = Some(config.clone());
        let cookie = config.cookie.unwrap_or_default().cookie.wrapping_add(1);
        Ok(v1::ForwardingPipelineConfig { cookie: Some(Cookie { cookie }), ..config })
    }

    /// Commits the pipeline again that the device ran before. Returns the reason if that fails.
    pub(super) fn put_back(&mut self, config: v1::ForwardingPipelineConfig) -> Result<(), String> {
        let request = commit(self.device_id(), self.election_id, config);
        let code = self.channel.set_pipeline(request).map_err(|lost| lost.0)?;
        match code {
            Code::Ok => Ok(()),
            code => Err(format!("the pipeline could not be committed again: {}", name(code))),
        }
    }
}
