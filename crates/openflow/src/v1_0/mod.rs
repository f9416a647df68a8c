//! OpenFlow 1.0 (wire version 0x01).
