#![no_main]

planimeter_fuzz::target_with_mutator!(bmv2);
