//! OpenFlow 1.0 and 1.3 on the wire, without sockets or clocks.
