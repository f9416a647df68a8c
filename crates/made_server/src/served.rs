//! A P4Runtime server without known faults, which emulates one device.

use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use p4lang::preprocess::{MemoryFiles, Options};
use p4runtime::arbitration::ElectionId;
use p4runtime::client::{Client, ClientOptions, Standing};
use p4runtime::server::{DeviceHandle, DeviceObserver, NoObserver, Server, ServerOptions};
use p4runtime::session::{Device, DeviceOptions, PipelineRegistry};
use protos::v1::{
    self, forwarding_pipeline_config::Cookie, set_forwarding_pipeline_config_request::Action,
};

use crate::{DEVICE_ID, runtime};

/// The time within which a controller must become the primary of the device.
const PATIENCE: Duration = Duration::from_secs(20);
/// The cookie in every pipeline configuration that `compile` returns.
const COOKIE: u64 = 7;

/// Starts a P4Runtime server in this process, and returns its address. The server emulates the
/// device [`DEVICE_ID`], which runs the program in `source`, which is P4.
///
/// # Panics
/// Panics if the system refuses a port, or the program does not compile.
#[must_use]
pub fn serve(source: &str) -> String {
    serve_with(source, Arc::new(NoObserver), DeviceOptions::default()).0
}

/// Starts a server as [`serve`] does. This server also enforces the references between tables that
/// a program declares with `@refers_to`.
///
/// # Panics
/// Panics if the system refuses a port, or the program does not compile.
#[must_use]
pub fn serve_checking_references(source: &str) -> String {
    let options = DeviceOptions { check_references: true, ..DeviceOptions::default() };
    serve_with(source, Arc::new(NoObserver), options).0
}

/// Starts a server as [`serve`] does. The observer acts as the device's data plane and receives the
/// packet-outs. Returns the server's address, and a handle by which the data plane sends packet-ins
/// and digests.
pub(crate) fn serve_with(
    source: &str,
    observer: Arc<dyn DeviceObserver>,
    options: DeviceOptions,
) -> (String, DeviceHandle) {
    let (listener, address) = listen();
    let registry = Arc::new(PipelineRegistry::new());
    let device = Device::new(DEVICE_ID, options, registry);
    let handle = DeviceHandle::new(device, observer);
    let served = handle.clone();
    thread::spawn(move || {
        runtime().block_on(async {
            let server = Server::new([served], ServerOptions::default()).expect("one device");
            let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
            server.serve(listener, std::future::pending()).await;
        });
    });
    let config = compile(source);
    as_controller(&address, 1, async |client| {
        let pushed = client.set_pipeline(Action::VerifyAndCommit, Some(config)).await;
        pushed.expect("it is valid");
    });
    (address, handle)
}

/// Returns a socket that listens on a free port of the loopback interface, and its address.
pub(crate) fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket");
    let address = listener.local_addr().expect("it is bound").to_string();
    (listener, address)
}

/// Compiles a program in P4 source, and returns the pipeline configuration to push to a device.
///
/// # Panics
/// Panics if the program does not compile.
#[must_use]
pub fn compile(source: &str) -> v1::ForwardingPipelineConfig {
    let (name, options) = ("served.p4", Options::default());
    let compiled = p4lang::compile_text(name, source, &options, &MemoryFiles::default());
    let messages = compiled.messages(p4lang::diagnostic::Style::Plain);
    let program = compiled.program.unwrap_or_else(|| panic!("{messages}"));
    let config = p4lang::device_config::to_pipeline_config(&program).expect("it has a P4Info");
    v1::ForwardingPipelineConfig { cookie: Some(Cookie { cookie: COOKIE }), ..config }
}

/// Runs `work` as the primary controller of the server at `address`, and returns its result. Before
/// this function returns, it waits until the server has noticed that the primary is gone, so that
/// the next controller can become the primary.
///
/// # Panics
/// Panics if the server has another primary or does not answer.
pub fn as_controller<T>(
    address: &str,
    election_id: u128,
    work: impl AsyncFnOnce(&mut Client) -> T,
) -> T {
    let connect = async || {
        let options = ClientOptions::default();
        Client::connect(address, DEVICE_ID, &options).await.expect("a server")
    };
    let done = runtime().block_on(async {
        let mut client = connect().await;
        let id = ElectionId(election_id);
        let _stream = client.become_primary("", id, PATIENCE).await.expect("no other");
        work(&mut client).await
    });
    runtime().block_on(async {
        let mut client = connect().await;
        loop {
            let (_sender, mut receiver) =
                client.open_stream("", None, None).await.expect("a stream");
            match receiver.arbitrated().await.expect("an answer") {
                Standing::Backup { .. } => tokio::time::sleep(Duration::from_millis(5)).await,
                Standing::Primary | Standing::NoPrimary { .. } => break,
            }
        }
    });
    done
}
