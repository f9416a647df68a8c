//! The port on which simple_switch serves Thrift. Networks such as those of p4-utils wait until a
//! process listens there before they go on. This switch has no such control plane. It answers the
//! first call of a client with an exception that says what to use instead, so that the client ends
//! with that sentence and not with a connection that no process serves.

mod message;

use crate::log::{Log, Verbosity};
use message::{Parsed, parse};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// The most connections at a time; more are closed at once.
const CONNECTIONS: usize = 64;
/// The time that a client may take from the first byte of its call to the last byte of its header,
/// and the time that it may take to hang up once it was answered.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most bytes that are read of what follows the header of a call.
const READ_LIMIT: u64 = 1 << 20;
/// The pause before another try when no connection can be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Answers clients until it is dropped. `grpc` is where P4Runtime is served.
pub(crate) async fn serve(listener: TcpListener, grpc: SocketAddr, log: Arc<Log>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            // Out of descriptors: others will be closed.
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            let said = format_args!("Thrift: {peer} is one client too many and is cut off");
            log.line(Verbosity::Warn, said);
            continue;
        };
        let log = Arc::clone(&log);
        tokio::spawn(async move {
            // Whoever hangs up wants no answer.
            let _ = answer(stream, peer, grpc, &log).await;
            drop(place);
        });
    }
}

/// The sentence that a client is answered with.
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

/// Answers the first call of a client and hangs up.
async fn answer(
    mut stream: TcpStream,
    peer: SocketAddr,
    grpc: SocketAddr,
    log: &Log,
) -> io::Result<()> {
    // A client may wait with its first call for as long as it likes.
    stream.readable().await?;
    match timeout(PATIENCE, call(&mut stream)).await {
        Ok(Ok(Parsed::Call(call))) => {
            let called = call.name();
            let instead = Instead { called: &called, grpc };
            log.line(Verbosity::Warn, format_args!("Thrift: {peer}: {instead}"));
            if let Some(exception) = call.exception(&instead.to_string()) {
                stream.write_all(&exception).await?;
            }
            stream.shutdown().await?;
            // Hanging up with bytes unread would take the answer away from a client that has not
            // read it yet.
            let rest = async {
                tokio::io::copy(&mut stream.take(READ_LIMIT), &mut tokio::io::sink()).await
            };
            let _ = timeout(PATIENCE, rest).await;
        }
        // Somebody who looked whether the port is open.
        Ok(Ok(Parsed::Beginning)) => {}
        Ok(Ok(Parsed::Foreign)) => {
            let said = format_args!("Thrift: {peer} speaks another protocol and is cut off");
            log.line(Verbosity::Warn, said);
        }
        Ok(Err(error)) => return Err(error),
        Err(_) => {
            let said = format_args!("Thrift: {peer} began a call and did not end it: cut off");
            log.line(Verbosity::Warn, said);
        }
    }
    Ok(())
}

/// Reads the header of the first call, or what there is of it if the client hangs up.
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
