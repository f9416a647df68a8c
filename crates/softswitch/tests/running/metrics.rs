//! Tests of the metrics that Prometheus fetches.

use crate::support::{Bench, Controller, Names, PROGRAM};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

pub(crate) fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
        .expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

#[tokio::test]
async fn ports_tables_and_drops_are_counted() {
    let mut bench = Bench::with_metrics(2);
    let address = bench.switch.metrics_address().expect("it was asked for");
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    controller.insert([Names::new().entry(20, "forward", &[2])]).await;
    for _ in 0..5 {
        bench.send(1, &[20, 1]);
    }
    bench.receive(2, 5);
    let answer = get(address, "/metrics");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    for sample in [
        "planimeter_switch_port_received_packets_total{device=\"7\",port=\"1\",name=\"port1-a\"} 5\n",
        "planimeter_switch_port_transmitted_bytes_total{device=\"7\",port=\"2\",name=\"port2-a\"} 10\n",
        "planimeter_switch_table_entries{device=\"7\",table=\"i.stations\"} 1\n",
        "planimeter_switch_table_hits_total{device=\"7\",table=\"i.stations\"} 5\n",
        "planimeter_switch_controllers{device=\"7\"} 1\n",
    ] {
        assert!(answer.contains(sample), "{sample}{answer}");
    }
    assert!(get(address, "/other").starts_with("HTTP/1.1 404"));
}

/// Clients that are silent, or do not read their answers, are cut off for others. A connection has
/// one answer, however many requests it carries.
#[test]
fn silent_and_greedy_clients_give_way() {
    let bench = Bench::with_metrics(1);
    let address = bench.switch.metrics_address().expect("it was asked for");
    let request = "GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n";
    let mut hostile = Vec::new();
    for number in 0..200 {
        let mut stream = TcpStream::connect(address).expect("it listens");
        if number % 2 == 0 {
            // The switch may have closed the connection.
            let _ = stream.write_all(request.as_bytes());
        }
        hostile.push(stream);
    }
    assert!(get(address, "/metrics").starts_with("HTTP/1.1 200 OK\r\n"));
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.write_all(request.repeat(20).as_bytes()).expect("it reads");
    let mut answers = Vec::new();
    // The connection may end with a reset, because the switch does not read all requests.
    let _ = stream.read_to_end(&mut answers);
    let answers = String::from_utf8_lossy(&answers).matches("HTTP/1.1 200 OK").count();
    assert!(answers <= 1, "{answers} answers");
    drop(hostile);
}
