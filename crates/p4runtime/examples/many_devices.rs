//! Measures the time to connect many emulated devices, and the memory that each takes.
//!
//! The devices are in this process and the controller in a second one, so that the measured memory
//! is that of the devices alone. The controller arbitrates for every device, pushes the same
//! pipeline, and keeps the stream open. The controller needs one file descriptor per device; the
//! devices need one each and one for every listener, so `ulimit -n` may have to be raised.
//!
//!     cargo run --release -p p4runtime --example many_devices -- [devices] [devices per listener]

use std::{
    env,
    error::Error,
    io::{Read, Write},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use p4runtime::{
    arbitration::ElectionId,
    client::{Client, ClientOptions},
    proto::{config::P4Info, v1::ForwardingPipelineConfig},
    server::{DeviceHandle, DeviceObserver, Server, ServerOptions},
    session::{Device, DeviceOptions, Pipeline, PipelineRegistry},
};
use tokio::{net::TcpListener, runtime, time::sleep};

type Failure = Box<dyn Error + Send + Sync>;

#[derive(Default)]
struct Count(AtomicU64);

impl DeviceObserver for Count {
    fn pipeline_committed(&self, _device: &DeviceHandle, _pipeline: &Arc<Pipeline>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Returns the resident memory of this process in bytes, as Linux counts it.
fn resident() -> Result<u64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes * 1024)
}

async fn serve(devices: u64, per_listener: u64) -> Result<(), Failure> {
    let registry = Arc::new(PipelineRegistry::new());
    let ready = Arc::new(Count::default());
    let empty = resident()?;
    let mut addresses = String::new();
    let ids: Vec<_> = (1..=devices).collect();
    for ids in ids.chunks(usize::try_from(per_listener)?) {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let mut handles = Vec::new();
        for id in ids {
            addresses += &format!("{} {id}\n", listener.local_addr()?);
            let device = Device::new(*id, DeviceOptions::default(), Arc::clone(&registry));
            handles.push(DeviceHandle::new(device, Arc::clone(&ready) as _));
        }
        let server = Server::new(handles, ServerOptions::default())?;
        tokio::spawn(server.serve(listener, std::future::pending()));
    }
    sleep(Duration::from_millis(100)).await;
    let listening = resident()?;
    println!("listening: {} bytes for each device", (listening - empty) / devices);

    let start = Instant::now();
    let mut controller =
        Command::new(env::current_exe()?).arg("controller").stdin(Stdio::piped()).spawn()?;
    if let Some(mut input) = controller.stdin.take() {
        input.write_all(addresses.as_bytes())?;
    }
    while ready.0.load(Ordering::Relaxed) < devices {
        if controller.try_wait()?.is_some() {
            return Err("the controller has given up".into());
        }
        sleep(Duration::from_millis(1)).await;
    }
    let took = start.elapsed();
    sleep(Duration::from_millis(500)).await;
    let connected = resident()?;
    println!("{devices} devices connected and loaded in {took:.2?}");
    println!("connected: {} bytes for each device", (connected - empty) / devices);
    println!("in total:  {} MiB", connected >> 20);
    controller.kill()?;
    controller.wait()?;
    Ok(())
}

async fn control() -> Result<(), Failure> {
    let mut addresses = String::new();
    std::io::stdin().read_to_string(&mut addresses)?;
    let mut sessions = Vec::new();
    for line in addresses.lines() {
        let Some((address, id)) = line.split_once(' ') else { continue };
        let (address, id) = (address.to_owned(), id.parse()?);
        sessions.push(tokio::spawn(async move {
            let mut client = Client::connect(&address, id, &ClientOptions::default()).await?;
            let session = client.become_primary("", ElectionId(1), Duration::from_secs(60)).await?;
            let config = ForwardingPipelineConfig {
                p4info: Some(P4Info::default()),
                p4_device_config: vec![0; 50_000].into(),
                ..Default::default()
            };
            client.ensure_pipeline(config).await?;
            Ok::<_, Failure>((client, session))
        }));
    }
    let mut open = Vec::new();
    for session in sessions {
        open.push(session.await??);
    }
    std::future::pending().await
}

fn main() -> Result<(), Failure> {
    let mut arguments = env::args().skip(1).peekable();
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    if arguments.peek().is_some_and(|first| first == "controller") {
        return runtime.block_on(control());
    }
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse());
    runtime.block_on(serve(number(1000)?.max(1), number(1)?.max(1)))
}
