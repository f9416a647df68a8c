//! The client's side of the connection to a measured P4Runtime switch: installs programs and table
//! entries.

use std::time::Duration;

use p4runtime::arbitration::ElectionId;
use p4runtime::client::{Client, ClientOptions, StreamReceiver, StreamSender};
use p4runtime::proto::config::P4Info;
use p4runtime::proto::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime::proto::v1::write_request::Atomicity;
use p4runtime::proto::v1::{self, entity::Entity as Kind, field_match};
use p4runtime::value;
use tokio::runtime::Runtime;

use super::super::conduct::BenchError;
use super::super::program::{self, Key};
use super::super::rule::rules;
use super::super::task::Task;
use super::programs;
use super::wire::Device;

/// The longest time to wait until the switch accepts a connection, and until this client becomes
/// primary.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The number of table entries in one Write request.
const BATCH: usize = 1000;

/// A measured switch. This client is its primary controller.
pub(super) struct P4RuntimeSwitch {
    runtime: Runtime,
    client: Client,
    /// The stream to the switch. This client remains the primary controller while the stream is
    /// open.
    _stream: (StreamSender, StreamReceiver),
    ports: [u32; 2],
}

impl P4RuntimeSwitch {
    /// Connects to a switch and becomes its primary controller. Retries while the switch starts.
    pub(super) fn connect(
        address: &str,
        device_id: u64,
        ports: [u32; 2],
    ) -> Result<Self, BenchError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime
            .map_err(|source| BenchError::System { what: "a runtime".to_owned(), source })?;
        let connected = runtime.block_on(async {
            let options = ClientOptions::default();
            let client = Client::connect_within(address, device_id, &options, TIMEOUT).await;
            let mut client = client.map_err(|error| failed(format!("{address}: {error}")))?;
            let stream = client.become_primary("", ElectionId(1), TIMEOUT).await;
            let stream = stream.map_err(|error| failed(error.to_string()))?;
            Ok::<_, BenchError>((client, stream))
        });
        let (client, stream) = connected?;
        Ok(Self { runtime, client, _stream: stream, ports })
    }
}

impl Device for P4RuntimeSwitch {
    fn configure(&mut self, task: &Task) -> Result<(), BenchError> {
        let [in_port, out_port] = self.ports;
        let compiled = programs::compile(task, self.ports)?;
        let p4info = p4lang::p4info::generate(&compiled)
            .map_err(|errors| failed(errors.iter().map(ToString::to_string).collect()))?;
        let updates: Vec<v1::Update> = match task.rule() {
            None => Vec::new(),
            Some(subject) => {
                let ids = Ids::of(&p4info)
                    .ok_or_else(|| failed("the program has no table".to_owned()))?;
                let arguments = program::arguments(subject.action, out_port);
                rules(subject, in_port)
                    .map(|rule| ids.insert(&program::keys(subject.matched, &rule), &arguments))
                    .collect()
            }
        };
        let config = v1::ForwardingPipelineConfig {
            p4info: Some(p4info),
            p4_device_config: programs::source(task, self.ports).into(),
            cookie: None,
        };
        let client = &mut self.client;
        self.runtime.block_on(async {
            let pushed = client.set_pipeline(Action::VerifyAndCommit, Some(config)).await;
            pushed.map_err(|status| {
                failed(format!("it does not accept the program: {}", status.message()))
            })?;
            for batch in updates.chunks(BATCH) {
                let written = client.write(batch.to_vec(), Atomicity::ContinueOnError).await;
                written.map_err(|error| failed(error.to_string()))?;
            }
            Ok(())
        })
    }
}

/// The ids of the program's table and action in its P4Info.
struct Ids {
    table: u32,
    action: u32,
}

impl Ids {
    fn of(p4info: &P4Info) -> Option<Self> {
        let table = p4info.tables.first()?.preamble.as_ref()?.id;
        let action = p4info.actions.iter().filter_map(|action| action.preamble.as_ref());
        let action = action.into_iter().find(|preamble| preamble.alias == program::ACTION)?.id;
        Some(Self { table, action })
    }

    /// Returns the update that inserts a rule with these keys and arguments.
    fn insert(&self, keys: &[Key], arguments: &[program::Argument]) -> v1::Update {
        let field = |(number, key): (u32, &Key)| v1::FieldMatch {
            field_id: number,
            field_match_type: Some(match key.mask {
                None => field_match::FieldMatchType::Exact(field_match::Exact {
                    value: value::encode(key.value),
                }),
                Some(mask) => field_match::FieldMatchType::Ternary(field_match::Ternary {
                    value: value::encode(key.value),
                    mask: value::encode(mask),
                }),
            }),
        };
        let parameter = |(number, argument): (u32, &program::Argument)| v1::action::Param {
            param_id: number,
            value: value::encode(argument.value),
        };
        let action = v1::Action {
            action_id: self.action,
            params: (1..).zip(arguments).map(parameter).collect(),
        };
        let ternary = keys.iter().any(|key| key.mask.is_some());
        let entry = v1::TableEntry {
            table_id: self.table,
            r#match: (1..).zip(keys).map(field).collect(),
            action: Some(v1::TableAction { r#type: Some(v1::table_action::Type::Action(action)) }),
            priority: i32::from(ternary),
            ..Default::default()
        };
        v1::Update {
            r#type: v1::update::Type::Insert as i32,
            entity: Some(v1::Entity { entity: Some(Kind::TableEntry(entry)) }),
        }
    }
}

fn failed(problem: String) -> BenchError {
    BenchError::Device { device: "P4Runtime switch".to_owned(), problem }
}
