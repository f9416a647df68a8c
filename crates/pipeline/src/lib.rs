//! Runs a checked P4 program on packets.
