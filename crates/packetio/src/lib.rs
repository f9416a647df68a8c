//! Where packets come from and go.

pub mod pcap;
