//! Small reference controllers over OpenFlow and P4Runtime.
