//! A test network: two hosts with a switch between them.

use crate::namespace::Namespace;
use packetio::{Burst, OpenError, Port};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Connects two hosts by a switch that forwards all frames, and runs `body`. `vlan` is the VLAN of
/// the hosts, if any.
pub(crate) fn with_hosts(
    open: impl Fn(&str) -> Result<Port, OpenError> + Sync,
    vlan: Option<u16>,
    body: impl FnOnce(&Namespace, &Namespace),
) {
    let (Some(switch), Some(one), Some(two)) =
        (Namespace::new(), Namespace::new(), Namespace::new())
    else {
        return;
    };
    for (host, port, address) in [(&one, "s1", 1), (&two, "s2", 2)] {
        switch.link(port, host, "eth0", 1500);
        let mut interface = "eth0".to_owned();
        if let Some(vlan) = vlan {
            interface = format!("eth0.{vlan}");
            let link = format!("link add link eth0 name {interface} type vlan id {vlan}");
            if let Err(reason) = (**host).ip(&link) {
                let _ = writeln!(std::io::stderr(), "SKIPPED: this kernel has no VLANs: {reason}");
                return;
            }
            host.ip(&format!("link set {interface} up"));
        }
        host.ip(&format!("address add 10.0.0.{address}/24 dev {interface}"));
        // Without this setting, there are no IPv6 addresses.
        host.run(|| {
            let _ = std::fs::write(
                format!("/proc/sys/net/ipv6/conf/{}/disable_ipv6", interface.replace('.', "/")),
                "0",
            );
            let _ =
                std::fs::write(format!("/proc/sys/net/ipv6/conf/{interface}/disable_ipv6"), "0");
        });
        host.ip(&format!("address add fd00::{address}/64 dev {interface} nodad"));
    }
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            switch.run(|| {
                let mut ports = ["s1", "s2"].map(|name| open(name).expect("there"));
                let mut burst = Burst::new(32);
                while !stop.load(Ordering::Relaxed) {
                    for (from, to) in [(0, 1), (1, 0)] {
                        ports[from].queues[0].receive(&mut burst).expect("it is up");
                        for packet in burst.frames() {
                            assert!(packet.bytes().len() <= 1518, "{}", packet.bytes().len());
                            ports[to].queues[0].transmit(packet.bytes());
                        }
                        ports[to].queues[0].flush();
                        burst.clear();
                    }
                }
            });
        });
        let stopping = StopOnDrop(&stop);
        body(&one, &two);
        drop(stopping);
    });
}

struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Sends bytes over TCP from one host to another, and checks that they arrive.
pub(crate) fn transfer(one: &Namespace, two: &Namespace, address: &str) {
    const BYTES: usize = 20 << 20;
    let listener = two.run(|| TcpListener::bind(address).expect("an address"));
    let address = listener.local_addr().expect("it has one");
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut stream = one.run(|| TcpStream::connect(address).expect("a connection"));
            let data: Vec<u8> = (0..BYTES).map(|index| (index ^ (index >> 8)) as u8).collect();
            stream.write_all(&data).expect("it takes them");
        });
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut data = Vec::new();
        stream.read_to_end(&mut data).expect("they come");
        assert_eq!(data.len(), BYTES);
        assert!(data.iter().enumerate().all(|(index, byte)| *byte == (index ^ (index >> 8)) as u8));
    });
}
