//! The sizes of HTTP/2 windows and buffers of a connection.

/// The number of bytes that a peer may send on a stream before this end has read them. This is a
/// limit and not an allocation.
pub(crate) const STREAM_WINDOW: u32 = 4 << 20;
/// The number of bytes that a peer may send on a connection before this end has read them.
pub(crate) const CONNECTION_WINDOW: u32 = 16 << 20;
/// The number of bytes that a client may send on a connection and on each of its streams, before it
/// has sent a complete message.
pub(crate) const FIRST_WINDOW: u32 = 64 << 10;
/// The number of bytes per stream that h2 buffers before it sends them.
pub(crate) const SEND_BUFFER: usize = 400 << 10;
/// The maximum size of received frames in bytes. It is large because a batch of packets is handled
/// best in few frames.
pub(crate) const MAX_FRAME: u32 = 64 << 10;
/// The budget of h2, in bytes, for the overhead of frames that were not read yet. h2 charges 256
/// bytes less its payload for each unread frame. Peers such as grpc-java and grpc-go send each
/// message in a frame of its own, so that a window full of 64-byte packets costs three times the
/// window. The default budget of half a window would close connections whose packets are read
/// slightly late.
pub(crate) const FRAME_BUDGET: usize = 16 * CONNECTION_WINDOW as usize;
