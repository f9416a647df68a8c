//! P4_16 source, or BMv2 JSON, to one checked program and its P4Info.
