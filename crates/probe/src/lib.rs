//! Emulated switches, traffic and statistics against an SDN controller.
