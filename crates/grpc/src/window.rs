//! The sizes of what HTTP/2 holds of a connection.

/// The bytes that a peer may send on a stream before they are read. It is a limit and not an
/// allocation.
pub(crate) const STREAM_WINDOW: u32 = 4 << 20;
/// The bytes that a peer may send on a connection before they are read.
pub(crate) const CONNECTION_WINDOW: u32 = 16 << 20;
/// The window of a connection, and of its streams, before the client has sent a message.
pub(crate) const FIRST_WINDOW: u32 = 64 << 10;
/// The bytes of a stream that h2 keeps until they leave.
pub(crate) const SEND_BUFFER: usize = 400 << 10;
/// The largest frame that is received. Fewer, larger frames serve batches of packets.
pub(crate) const MAX_FRAME: u32 = 64 << 10;
/// The cost of received frames beside their payload, in bytes as h2 counts them: 256 less the
/// payload for each that has not been read. Peers such as grpc-java and grpc-go send each message
/// in a frame of its own, so that windows full of packets of 64 bytes cost three times the window,
/// and the default of half a window closes connections whose packets are a moment late to be read.
pub(crate) const FRAME_BUDGET: usize = 16 * CONNECTION_WINDOW as usize;
