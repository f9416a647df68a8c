//! Checks the memory that a Read costs the server over gRPC: a response takes the memory of one
//! message and not of all its entities. The test runs in a process of its own, because it measures
//! memory.

#![cfg(target_os = "linux")]

use std::sync::Arc;

use p4runtime::{
    p4info::text,
    proto::v1::{self, entity::Entity as Kind},
    server::{DeviceHandle, NoObserver, Server, ServerOptions},
    session::{Device, DeviceOptions, MAX_OPEN_READS, PipelineRegistry},
};
use prost::Message as _;
use tokio::net::TcpListener;
use tonic::{Code, Streaming, transport::Channel};

type Raw = v1::p4_runtime_client::P4RuntimeClient<Channel>;

const REGISTER: u32 = 0x1500_0001;

/// Returns a pipeline with a register of 2^20 cells of 64 members each.
fn pipeline() -> v1::ForwardingPipelineConfig {
    let member = |index: usize| {
        format!(
            "members {{ name: \"m{index}\" type_spec {{ bitstring {{ bit {{ bitwidth: 32 }} }} }} }}"
        )
    };
    let members: String = (0..64).map(member).collect();
    let text = format!(
        r#"
        registers {{
          preamble {{ id: {REGISTER} name: "ingress.cells" alias: "cells" }}
          type_spec {{ struct {{ name: "cell" }} }}
          size: 1048576
        }}
        type_info {{ structs {{ key: "cell" value {{ {members} }} }} }}
        "#
    );
    let p4info = Some(text::parse(&text).expect("valid text"));
    v1::ForwardingPipelineConfig { p4info, ..Default::default() }
}

/// Starts a server with this pipeline and returns its address.
async fn serve() -> String {
    let registry = Arc::new(PipelineRegistry::new());
    let mut device = Device::new(1, DeviceOptions::default(), registry);
    device.preload(pipeline()).expect("valid");
    let device = DeviceHandle::new(device, Arc::new(NoObserver));
    let server = Server::new([device], ServerOptions::default()).expect("one device");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    tokio::spawn(server.serve(listener, std::future::pending()));
    address.to_string()
}

/// Connects a client that reads a response message by message.
async fn raw(address: &str) -> Raw {
    let channel = Channel::from_shared(format!("http://{address}")).expect("an address");
    // The server produces messages as long as they fit the window. The window is the client's, and
    // so is the memory.
    let channel = channel.initial_stream_window_size(65_535);
    Raw::new(channel.connect().await.expect("connected"))
}

fn all_cells() -> v1::Entity {
    let entry = v1::RegisterEntry { register_id: REGISTER, ..Default::default() };
    v1::Entity { entity: Some(Kind::RegisterEntry(entry)) }
}

fn request(entities: Vec<v1::Entity>) -> v1::ReadRequest {
    v1::ReadRequest { device_id: 1, entities, ..Default::default() }
}

async fn read(client: &mut Raw, request: &v1::ReadRequest) -> Streaming<v1::ReadResponse> {
    client.read(request.clone()).await.expect("a stream").into_inner()
}

/// Returns the largest resident memory that this process has had, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
    line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
}

#[tokio::test]
async fn a_large_answer_takes_the_memory_of_one_message() {
    let address = serve().await;
    let request = request(vec![all_cells(); 40]);
    assert!(request.encoded_len() <= 402, "{} bytes", request.encoded_len());

    let before = peak();
    let mut answers = Vec::new();
    for _ in 0..MAX_OPEN_READS {
        // Unread responses fill the window of a connection.
        let mut client = raw(&address).await;
        let mut answer = read(&mut client, &request).await;
        let first = answer.message().await.expect("in portions").expect("cells");
        assert!(first.encoded_len() < 1 << 20, "{} bytes at once", first.encoded_len());
        answers.push(answer);
    }
    // A client that continues to read receives the rest.
    for _ in 0..4 {
        answers[0].message().await.expect("in portions").expect("cells");
    }
    let taken = peak() - before;
    assert!(taken < 256 << 10, "{taken} KiB for {MAX_OPEN_READS} answers");

    // Each open response keeps its snapshot alive, so their number is limited.
    let mut client = raw(&address).await;
    let one_more = client.read(request.clone()).await.expect_err("too many");
    assert_eq!(one_more.code(), Code::ResourceExhausted);
    assert!(one_more.message().contains("have not been received"), "{}", one_more.message());
    drop(answers);
    let of_one_cell = v1::RegisterEntry {
        register_id: REGISTER,
        index: Some(v1::Index { index: 7 }),
        ..Default::default()
    };
    let short = v1::Entity { entity: Some(Kind::RegisterEntry(of_one_cell)) };
    let mut short = read(&mut client, &self::request(vec![short])).await;
    assert_eq!(short.message().await.expect("one").expect("one").entities.len(), 1);
    assert!(short.message().await.expect("the end").is_none());
}
