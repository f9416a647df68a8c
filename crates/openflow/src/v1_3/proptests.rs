//! Properties that hold for all messages and all bytes.
