//! A relay between controller and server that counts connections and can cut them.

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
        // The thread waits for connections until the process ends.
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

    /// Returns the number of connections that were opened since they were last cut.
    pub(super) fn connections(&self) -> usize {
        self.open.lock().unwrap().len()
    }

    pub(super) fn cut(&self) {
        for connection in self.open.lock().unwrap().drain(..) {
            // The connection may be gone already.
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    std::thread::spawn(move || {
        // A cut causes an error or an end of stream; in either case the other side must learn of
        // it.
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
}
