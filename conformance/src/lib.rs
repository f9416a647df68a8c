//! Real controllers, clients and peers, driven against Planimeter.
