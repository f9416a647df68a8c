//! Where packets come from and go.

pub mod pcap;
pub mod tcp;
pub mod tls;
