//! The port on which BMv2's simple_switch serves Thrift. Emulated networks such as those of
//! p4-utils wait until a process listens there. This switch has no Thrift control plane: it answers
//! the first call of a client with an exception that says what to use instead, so that the client
//! ends with a clear message and not with a refused connection.

mod message;

use crate::log::{Log, Verbosity};
use grpc::LimitedConnections;
use message::{Parsed, parse};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

/// The time that a client has for the header of its call, counted from its first byte. The client
/// has the same time to close the connection after the answer.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The largest number of bytes that are read and discarded after the header of a call.
const READ_LIMIT: u64 = 1 << 20;
/// The pause before another attempt when no connection can be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Answers Thrift clients until the future is dropped. Answers refer them to `grpc`, the address of
/// P4Runtime.
pub(crate) async fn serve(listener: TcpListener, grpc: SocketAddr, log: Arc<Log>) {
    let mut connections = LimitedConnections::default();
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            // No descriptors are left. Other connections will close and free some.
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let log_of_client = Arc::clone(&log);
        let is_full = connections.serve(async move {
            // A client that hangs up needs no answer.
            let _ = answer(stream, peer, grpc, &log_of_client).await;
        });
        if is_full {
            let message = format_args!(
                "Thrift: the oldest client is disconnected for {peer}, since there are too many \
                 clients"
            );
            log.line(Verbosity::Warn, message);
        }
    }
}

/// The message that refers a Thrift client to P4Runtime.
struct Instead<'a> {
    called: &'a str,
    grpc: SocketAddr,
}

impl fmt::Display for Instead<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { called, grpc } = self;
        write!(
            f,
            "{called} was not carried out: this is `planimeter switch`, which has no Thrift control plane. Use \
             P4Runtime "
        )?;
        match grpc.ip().is_unspecified() {
            true => write!(f, "on port {}", grpc.port())?,
            false => write!(f, "at {grpc}")?,
        }
        f.write_str(
            " (p4runtime-shell, finsy, or SimpleSwitchP4RuntimeAPI of p4-utils), or start the switch with its \
             entries, --runtime-json FILE; see `planimeter switch --help`",
        )
    }
}

/// Answers the first call of a Thrift client and closes the connection.
async fn answer(
    mut stream: TcpStream,
    peer: SocketAddr,
    grpc: SocketAddr,
    log: &Log,
) -> io::Result<()> {
    // A client may wait with its first call for any length of time.
    stream.readable().await?;
    match timeout(TIMEOUT, call(&mut stream)).await {
        Ok(Ok(Parsed::Call(call))) => {
            let called = call.name();
            let instead = Instead { called: &called, grpc };
            log.line(Verbosity::Warn, format_args!("Thrift: {peer}: {instead}"));
            if let Some(exception) = call.exception(&instead.to_string()) {
                stream.write_all(&exception).await?;
            }
            stream.shutdown().await?;
            // Closing a socket with unread bytes resets the connection, and the client might lose
            // the answer.
            let rest = async {
                tokio::io::copy(&mut stream.take(READ_LIMIT), &mut tokio::io::sink()).await
            };
            let _ = timeout(TIMEOUT, rest).await;
        }
        // The client only checked whether the port is open.
        Ok(Ok(Parsed::Beginning)) => {}
        Ok(Ok(Parsed::Foreign)) => {
            let message =
                format_args!("Thrift: {peer} is disconnected, since it speaks another protocol");
            log.line(Verbosity::Warn, message);
        }
        Ok(Err(error)) => return Err(error),
        Err(_) => {
            let message =
                format_args!("Thrift: {peer} is disconnected, since it did not complete its call");
            log.line(Verbosity::Warn, message);
        }
    }
    Ok(())
}

/// Reads the header of the first call, or as much of it as arrives before the client hangs up.
async fn call(stream: &mut TcpStream) -> io::Result<Parsed> {
    let mut bytes = Vec::new();
    loop {
        let mut chunk = [0; 512];
        let count = stream.read(&mut chunk).await?;
        bytes.extend_from_slice(&chunk[..count]);
        match parse(&bytes) {
            Parsed::Beginning if count > 0 => {}
            parsed => return Ok(parsed),
        }
    }
}
