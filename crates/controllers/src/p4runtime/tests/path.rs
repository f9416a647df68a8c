//! A way to a server on which connections are counted and cut.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

pub(super) struct Path {
    pub(super) address: SocketAddr,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Path {
    pub(super) fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let open = Arc::new(Mutex::new(Vec::new()));
        let opened = Arc::clone(&open);
        // It waits for connections until the process ends.
        std::thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                let server = TcpStream::connect(server).unwrap();
                opened.lock().unwrap().push(client.try_clone().unwrap());
                copy(client.try_clone().unwrap(), server.try_clone().unwrap());
                copy(server, client);
            }
        });
        Self { address, open }
    }

    /// How many connections were opened, or since the last cut.
    pub(super) fn connections(&self) -> usize {
        self.open.lock().unwrap().len()
    }

    pub(super) fn cut(&self) {
        for connection in self.open.lock().unwrap().drain(..) {
            // It may be gone already.
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    std::thread::spawn(move || {
        // A cut shows as an error or as an end; the other side is to hear of it in any case.
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
}
